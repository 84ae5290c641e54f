# SPDX-License-Identifier: BSD-3-Clause
"""Actuator torques and activations, and gravity compensation.

MuJoCo's actuation model: ``force = gain u + bias``, with gain and bias affine in the length and velocity of the
actuator (`model.Actuator`), then ``tau = gear' force``. An actuator with dynamics has an activation ``w`` in place of
``u`` there: ``w' = u`` of an integrator, ``w' = (u - w) / T`` of a filter. A step of the time ``h`` takes it to
``w + h w'``, or where the filter is exact to ``w + T (1 - exp(-h / T)) w'``, then into its range.

| symbol   | meaning                                                                             |
|----------|-------------------------------------------------------------------------------------|
| u        | commands                                                                            |
| act      | activations, and ``act_rate`` their rates                                           |
| l, r     | length of an actuator, the sum of its coordinates times their gears, and its rate   |
| range    | lower and upper bound                                                               |
| J        | Jacobian of tendons (`tendons`): ``tau = J' gear force`` of an actuator that pulls  |

Cost: linear in the transmissions of actuators; gravity compensation O(n).
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.elementary import maximum, minimum
from linkwork.kernels.joints import rotate_to_child
from linkwork.kernels.scalar import Array, Scalar, any_below, kernel, prange, where
from linkwork.kernels.spatial import cross, linear, scale, set_angular, set_linear
from linkwork.kernels.thresholds import CANCELLED_FORCES
from linkwork.kernels.tree.force_elements import add_force_elements
from linkwork.kernels.tree.force_laws import FORCE_LAW_WORK
from linkwork.kernels.tree.kinematics import ACCELERATION, POSE, joint_transforms
from linkwork.kernels.tree.motors import (
    INTEGRAL_GAIN,
    decay,
    delayed_command,
    force_across_backlash,
    friction_force,
    motor_force,
)
from linkwork.kernels.tree.muscles import PULLS, STRETCHES, muscle_activation_rate, muscle_bias, muscle_gain
from linkwork.kernels.tree.networks import network_force
from linkwork.kernels.tree.rnea import FORCE, joint_torques, set_root_acceleration
from linkwork.kernels.tree.tendons import TENDON_WORK, add_passive_tendons, add_tendon_force, tendon_states
from linkwork.model.activations import (
    ERROR_INTEGRAL,
    FILTER_EXACT,
    INTEGRATOR,
    MUSCLE,
    NETWORK_MEMORY,
    REGISTER,
)
from linkwork.plans.actuation import ACTUATION_TREE


@kernel
def within(x: Scalar, range: Array) -> Scalar:
    """``x`` clamped to a range."""
    return minimum(range[1], maximum(x, range[0]))


@kernel
def next_activation(tree: Array, k: int, act: Scalar, rate: Scalar, h: Scalar) -> Scalar:
    """An activation after the time ``h``, in its range."""
    span = h
    if tree.act_dynamics[k] == FILTER_EXACT:
        span = tree.act_time_constant[k] * decay(h / tree.act_time_constant[k])
    if tree.act_dynamics[k] == REGISTER or tree.act_dynamics[k] == NETWORK_MEMORY:
        span = 1.0  # the rate is the change in a step, of whatever length
    if tree.act_dynamics[k] == ERROR_INTEGRAL:
        return act + span * rate  # its rate is zero at the ends of its range (`stopped_growth`)
    return within(act + span * rate, tree.act_range[k])


@kernel
def stopped_growth(rate: Scalar, x: Scalar, range: Array) -> Scalar:
    """The rate of an integral, zero where it would leave its range, as in MuJoCo's ``pid``."""
    grows = where(x, range[1], rate, minimum(rate, 0.0))
    return where(range[0], x, grows, maximum(rate, 0.0))


@kernel
def activation_rates(tree: Array, w: Array, u: Array, act: Array, rate: Array) -> None:
    """``rate``: rates of activations under the commands ``u``; after `actuator_lengths`, if one depends on these.

    ``network_output``: forces of networks.
    """
    if tree.nnetworks != 0:
        for a in prange(tree.nu):
            w.network_output[a] = 0.0
            if tree.actuator_network[a] >= 0:
                w.network_output[a] = network_force(tree, w, a, command_of(tree, a, u, act), act)
    for k in range(tree.na):
        a = tree.act_actuator[k]
        x = command_of(tree, a, u, act)
        if tree.act_dynamics[k] == REGISTER:
            x = within(u[a], tree.command_range[a]) if k == tree.actuator_register[a] else act[k - 1]
            x = x - act[k]
        elif tree.act_dynamics[k] == NETWORK_MEMORY:
            x = w.network_next[k] - act[k]
        elif tree.act_dynamics[k] == ERROR_INTEGRAL:
            x = stopped_growth(x - w.actuator_length[a], act[k], tree.act_range[k])
        elif tree.act_dynamics[k] == MUSCLE:
            x = muscle_activation_rate(tree.act_muscle[k], x, act[k])
        elif tree.act_dynamics[k] != INTEGRATOR:
            x = (x - act[k]) * (1.0 / tree.act_time_constant[k])
        rate[k] = x


@kernel
def actuator_lengths(tree: Array, w: Array, q: Array, v: Array) -> None:
    """``actuator_length, actuator_rate`` of all actuators; after `tendon_states`, if one pulls a tendon."""
    for a in prange(tree.nu):
        l = 0.0
        r = 0.0
        ten = tree.actuator_tendon[a]
        if ten >= 0:
            l = tree.tendon_gear[a] * w.ten_length[ten]
            r = tree.tendon_gear[a] * w.ten_rate[ten]
        for t in range(tree.transmission_start[a], tree.transmission_start[a] + tree.transmission_count[a]):
            l = l + tree.transmission_length[t] * q[tree.transmission_q[t]]
            r = r + tree.transmission_gear[t] * v[tree.transmission_v[t]]
        w.actuator_length[a] = l
        w.actuator_rate[a] = r


@kernel
def bound_tendon_forces(tree: Array, w: Array) -> None:
    """Scale forces of the actuators of each tendon so that their sum is in its range."""
    for t in range(tree.ntendons):
        w.ten_force[t] = 0.0
    for a in range(tree.nu):
        if tree.actuator_tendon[a] >= 0:
            w.ten_force[tree.actuator_tendon[a]] += w.actuator_force[a]
    for a in range(tree.nu):
        if tree.actuator_tendon[a] >= 0:
            x = w.ten_force[tree.actuator_tendon[a]]
            nearest = within(x, tree.tendon_force_range[tree.actuator_tendon[a]])
            balanced = where(x * x, CANCELLED_FORCES, 1.0, 0.0)  # a sum of zero is not scaled
            part = where(0.5, balanced, 1.0, nearest / where(0.5, balanced, 1.0, x))
            w.actuator_force[a] = part * w.actuator_force[a]


@kernel
def actuator_forces(tree: Array, w: Array, u: Array, act: Array, h: Scalar) -> None:
    """``actuator_force`` of all actuators, before their gears, after `actuator_lengths` and `activation_rates`.

    ``actuator_law``: those of their laws, before limits and friction.
    """
    for a in prange(tree.nu):
        l = w.actuator_length[a]
        r = w.actuator_rate[a]
        gain = tree.actuator_gain[a, 0] + tree.actuator_gain[a, 1] * l + tree.actuator_gain[a, 2] * r
        bias = tree.actuator_bias[a, 0] + tree.actuator_bias[a, 1] * l + tree.actuator_bias[a, 2] * r
        if tree.actuator_muscle[a] >= 0:
            m = tree.muscle[tree.actuator_muscle[a]]
            gain = where(0.5, m[PULLS], muscle_gain(m, l, r), gain)
            bias = where(0.5, m[STRETCHES], muscle_bias(m, l), bias)
        u_a = control_of(tree, w, a, u, act, h)
        force = gain * u_a + bias
        if tree.actuator_integral[a] >= 0:
            force = force + tree.motor[a, INTEGRAL_GAIN] * act[tree.actuator_integral[a]]
        if tree.actuator_play[a] != 0:
            force = force_across_backlash(
                tree.motor[a], -tree.actuator_gain[a, 1] * u_a - tree.actuator_bias[a, 1], force
            )
        if tree.actuator_network[a] >= 0:
            force = w.network_output[a]
        w.actuator_law[a] = force
        if tree.actuator_curve[a] != 0:
            force = motor_force(tree.motor[a], r, force)
        w.actuator_force[a] = force
    if tree.nbounded_tendons != 0:
        bound_tendon_forces(tree, w)
    for a in range(tree.nu):
        w.actuator_force[a] = within(w.actuator_force[a], tree.force_range[a])
        if tree.actuator_rubs[a] != 0:
            w.actuator_force[a] -= friction_force(tree.motor[a], w.actuator_rate[a])[0]


@kernel
def command_of(tree: Array, a: int, u: Array, act: Array) -> Scalar:
    """The command that an actuator follows now, within its range: that of some steps ago, where it is delayed."""
    x = within(u[a], tree.command_range[a])
    if tree.actuator_registers[a] > 0:
        first = tree.actuator_register[a]
        x = delayed_command(
            tree.motor[a], x, act[first : first + tree.actuator_registers[a]], tree.actuator_registers[a]
        )
    return x


@kernel
def actuator_torques(tree: Array, w: Array, u: Array, act: Array, h: Scalar, tau: Array) -> None:
    """``tau``: torques of all actuators under the commands ``u``, clamped to the ranges of joints.

    After `actuator_lengths` and `activation_rates`.
    """
    actuator_forces(tree, w, u, act, h)
    for k in range(tree.nv):
        tau[k] = 0.0
    for a in range(tree.nu):
        if tree.actuator_tendon[a] >= 0:
            add_tendon_force(tree, w, tree.actuator_tendon[a], tree.tendon_gear[a] * w.actuator_force[a], tau)
        for t in range(tree.transmission_start[a], tree.transmission_start[a] + tree.transmission_count[a]):
            tau[tree.transmission_v[t]] += tree.transmission_gear[t] * w.actuator_force[a]
    for k in range(tree.nv):
        tau[k] = within(tau[k], tree.actuation_range[k])


@kernel
def control_of(tree: Array, w: Array, a: int, u: Array, act: Array, h: Scalar) -> Scalar:
    """The input of an actuator's gain: its command within its range, or its activation."""
    k = tree.actuator_act[a]
    if k < 0:
        return command_of(tree, a, u, act)
    if tree.act_early[k] != 0:
        return next_activation(tree, k, act[k], w.act_rate[k], h)
    return act[k]


@kernel
def evaluate_actuator_torques(tree: Array, w: Array, q: Array, v: Array, u: Array, tau: Array) -> None:
    """Torques of all actuators; ``u`` are commands and, after them, activations that forces come from."""
    if tree.npulling != 0:
        tendon_states(tree, w, q, v)
    act = u[tree.nu : tree.nu + tree.na]
    actuator_lengths(tree, w, q, v)
    activation_rates(tree, w, u, act, w.act_rate)
    actuator_torques(tree, w, u, act, 0.0, tau)


@kernel
def evaluate_activations(tree: Array, w: Array, u: Array, time: Array, act1: Array, rate: Array) -> None:
    """Activations after a time, and their rates before; ``u`` are commands and, after them, activations."""
    act = u[tree.nu : tree.nu + tree.na]
    activation_rates(tree, w, u, act, rate)
    for k in range(tree.na):
        act1[k] = next_activation(tree, k, act[k], rate[k], time[0])


@kernel
def gravity_compensation(tree: Array, w: Array, q: Array, tau: Array) -> None:
    """``tau``: gravity torques of the compensated mass of all bodies."""
    joint_transforms(tree, w, q)
    set_root_acceleration(tree, w)
    for i in range(1, tree.n):
        a = rotate_to_child(tree, w, i, linear(w.a[tree.parent[i]]))  # -gravity in the axes of body i
        set_linear(a, w.a[i])
        set_angular(cross(tree.compensated_mc[i], a), w.f[i])
        set_linear(scale(tree.compensated_mass[i], a), w.f[i])
    joint_torques(tree, w, tau)


@kernel
def drive_joints(tree: Array, w: Array, q: Array, v: Array, u: Array, h: Scalar, switch: Scalar, torque: Array) -> None:
    """Add to ``torque`` those of gravity compensation, tendons and force elements and, where ``switch`` is one
    and not zero, of actuators with the activations ``w.act``; ``w.act_rate``: their rates, over a step of ``h``."""
    if tree.ncompensated != 0:
        gravity_compensation(tree, w, q, w.actuator_tau)
        for k in range(tree.nv):
            torque[k] += w.actuator_tau[k]
    if tree.npulling + tree.npassive_tendons != 0:
        tendon_states(tree, w, q, v)
    if tree.npassive_tendons != 0:
        add_passive_tendons(tree, w, torque)
    if tree.nforce_elements != 0:
        add_force_elements(tree, w, q, v, 1.0, torque)
    if tree.nu != 0:
        for k in range(tree.na):
            w.act_rate[k] = 0.0
        if any_below(0.5 - switch, 0.0):
            actuator_lengths(tree, w, q, v)
            activation_rates(tree, w, u, w.act, w.act_rate)
            for k in range(tree.na):
                w.act_rate[k] = switch * w.act_rate[k]
            actuator_torques(tree, w, u, w.act, h, w.actuator_tau)
            for k in range(tree.nv):
                torque[k] += switch * w.actuator_tau[k]


@kernel
def start_activations(tree: Array, u: Array, flat: Array) -> None:
    """Copy initial activations, which follow the commands in ``u``, to the end of ``flat``, the result of steps."""
    for k in range(tree.na):
        flat[tree.act_start + k] = u[tree.nu + k]


@kernel
def load_activations(tree: Array, w: Array, flat: Array) -> None:
    """``w.act``: activations before a step."""
    for k in range(tree.na):
        w.act[k] = flat[tree.act_start + k]


@kernel
def store_activations(tree: Array, w: Array, h: Scalar, before: Array, flat: Array) -> None:
    """Activations after a step, of those before it and ``w.act_rate``."""
    for k in range(tree.na):
        act = before[tree.act_start + k]
        flat[tree.act_start + k] = next_activation(tree, k, act, w.act_rate[k], h)


NETWORK_WORK: dict[str, Shape] = {
    "network_x": ("nu", "network_numbers"),
    "network_next": ("na",),
    "network_output": ("nu",),
}
ACTUATOR_WORK: dict[str, Shape] = TENDON_WORK | {
    "act_rate": ("na",),
    "actuator_length": ("nu",),
    "actuator_rate": ("nu",),
    "actuator_force": ("nu",),
    "actuator_law": ("nu",),
    "ten_force": ("ntendons",),
    **NETWORK_WORK,
}
DRIVE_WORK: dict[str, Shape] = ACTUATOR_WORK | FORCE_LAW_WORK | {"actuator_tau": ("nv",), "act": ("na",)}

ACTUATOR_TORQUES = Algorithm(
    "actuator_torques",
    evaluate_actuator_torques,
    {"q": ("nq",), "v": ("nv",), "commands": ("ncommands",)},
    {"tau": ("nv",)},
    POSE | ACTUATOR_WORK,
    ACTUATION_TREE,
)
ACTIVATIONS = Algorithm(
    "activations",
    evaluate_activations,
    {"commands": ("ncommands",), "time": (1,)},
    {"act": ("na",), "act_rate": ("na",)},
    {"actuator_length": ("nu",), "actuator_rate": ("nu",)} | NETWORK_WORK,
    ACTUATION_TREE,
)
GRAVITY_COMPENSATION = Algorithm(
    "gravity_compensation",
    gravity_compensation,
    {"q": ("nq",)},
    {"tau": ("nv",)},
    POSE | {"a": ACCELERATION["a"]} | FORCE,
    ACTUATION_TREE,
)
