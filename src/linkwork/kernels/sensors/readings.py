# SPDX-License-Identifier: BSD-3-Clause
"""Sensors of a robot: one vector of readings at a state, with accelerations and forces where sensors need these.

MuJoCo's ``mj_sensorPos``, ``mj_sensorVel`` and ``mj_sensorAcc`` in one function; only inputs and quantities of the
chosen sensors are read and computed: an algorithm for each set of inputs, by `sensors_of`.

| symbol            | meaning                                                                       |
|-------------------|-------------------------------------------------------------------------------|
| a                 | joint accelerations                                                           |
| constraint_forces | multipliers of the rows of constraints                                        |
| limit_forces      | torques of limits, by degree of freedom                                       |
| l, r              | length of an actuator and its rate                                            |
| commands          | of the actuators, and after them their activations                            |

Cost: O(n) in the number of bodies, and that of each sensor (`sensors.frames`, `sensors.forces`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.constrained.constraints import CLOSURE, constraint_rows
from linkwork.kernels.scalar import Array, Scalar, kernel, where
from linkwork.kernels.sensors.forces import (
    interaction_forces,
    is_inside,
    part_force,
    sense_force,
    sense_touch,
    tendon_tensions,
)
from linkwork.kernels.sensors.frames import (
    frame_axis,
    frame_position,
    in_frame,
    joint_quaternion,
    sense_acceleration,
    sense_inertially,
    sense_motion,
    sense_orientation,
    sense_pose,
    sense_subtree,
    subtree_moment,
)
from linkwork.kernels.sensors.rays import sense_range
from linkwork.kernels.spatial import cross, dot, sub, symmetric_product
from linkwork.kernels.tree.actuation import ACTUATOR_WORK, evaluate_actuator_torques, within
from linkwork.kernels.tree.kinematics import (
    ACCELERATION,
    MOTION,
    POSE,
    accelerations,
    angular_velocities,
    joint_transforms,
    velocities,
    world_transforms,
)
from linkwork.kernels.tree.rnea import FORCE, set_root_acceleration
from linkwork.kernels.tree.tendons import STIFFNESS, tendon_lengths, tendon_rates, tendon_rows, tendon_slack
from linkwork.plans.sensors import CODE, SENSOR_TREE

INPUTS: Mapping[str, Shape] = {
    "q": ("nq",),
    "v": ("nv",),
    "a": ("nv",),
    "constraint_forces": ("nc",),
    "commands": ("ncommands",),
    "contacts": ("nslots", 12),
    "limit_forces": ("nv",),
    "time": (1,),
    "wrenches": ("nf", 6),
}
"""All inputs that sensors may need, in their order."""

FORCE_SENSORS = (CODE["force"], CODE["torque"])
TOUCH, INSIDE_SITE, MAGNETOMETER = CODE["touch"], CODE["insidesite"], CODE["magnetometer"]
FRAMEQUAT, ZAXIS, FRAMEANGVEL = CODE["framequat"], CODE["framezaxis"], CODE["frameangvel"]
FRAMEANGACC, SUBTREEANGMOM = CODE["frameangacc"], CODE["subtreeangmom"]
JOINTPOS, JOINTVEL = CODE["jointpos"], CODE["jointvel"]
BALLQUAT, BALLANGVEL = CODE["ballquat"], CODE["ballangvel"]
LIMITPOS, LIMITVEL, LIMITFRC = CODE["jointlimitpos"], CODE["jointlimitvel"], CODE["jointlimitfrc"]
JOINTACTUATORFRC = CODE["jointactuatorfrc"]
ACTUATORPOS, ACTUATORVEL, ACTUATORFRC = CODE["actuatorpos"], CODE["actuatorvel"], CODE["actuatorfrc"]
TENDONPOS, TENDONVEL, TENDONACTUATORFRC = CODE["tendonpos"], CODE["tendonvel"], CODE["tendonactuatorfrc"]
TENDONLIMITPOS, TENDONLIMITVEL = CODE["tendonlimitpos"], CODE["tendonlimitvel"]
POTENTIAL, KINETIC, RANGEFINDER = CODE["e_potential"], CODE["e_kinetic"], CODE["rangefinder"]


class SensorInputs(NamedTuple):
    """All inputs; those that no sensor needs are arrays that are not read."""

    q: Any
    v: Any
    a: Any
    constraint_forces: Any
    commands: Any
    contacts: Any
    limit_forces: Any
    time: Any
    wrenches: Any


# Joints and actuators -----------------------------------------------------------------------------------------------


@kernel
def limit_distance(tree: Array, k: int, x: Scalar) -> Scalar:
    """The distance of a coordinate from its limit, less the margin, where that is negative; else zero."""
    low = x - tree.sensor_constants[k, 0] - tree.sensor_constants[k, 2]
    high = tree.sensor_constants[k, 1] - x - tree.sensor_constants[k, 2]
    return where(low, 0.0, low, where(high, 0.0, high, 0.0))


@kernel
def limit_rate(tree: Array, k: int, x: Scalar, rate: Scalar) -> Scalar:
    """The rate of `limit_distance`."""
    low = x - tree.sensor_constants[k, 0] - tree.sensor_constants[k, 2]
    high = tree.sensor_constants[k, 1] - x - tree.sensor_constants[k, 2]
    return where(low, 0.0, rate, where(high, 0.0, -rate, 0.0))


@kernel
def actuator_length(tree: Array, w: Array, q: Array, j: int) -> Scalar:
    """``l`` of an actuator, after lengths of tendons."""
    l = 0.0
    if tree.actuator_tendon[j] >= 0:
        l = tree.tendon_gear[j] * w.ten_length[tree.actuator_tendon[j]]
    for t in range(tree.transmission_start[j], tree.transmission_start[j] + tree.transmission_count[j]):
        l = l + tree.transmission_length[t] * q[tree.transmission_q[t]]
    return l


@kernel
def actuator_rate(tree: Array, w: Array, v: Array, j: int) -> Scalar:
    """``r`` of an actuator, after rates of tendons."""
    r = 0.0
    if tree.actuator_tendon[j] >= 0:
        r = tree.tendon_gear[j] * w.ten_rate[tree.actuator_tendon[j]]
    for t in range(tree.transmission_start[j], tree.transmission_start[j] + tree.transmission_count[j]):
        r = r + tree.transmission_gear[t] * v[tree.transmission_v[t]]
    return r


@kernel
def sense_tendon(tree: Array, w: Array, kind: int, k: int, o: int, values: Array) -> None:
    """Sensors of tendons."""
    t = tree.sensor_tendon[k]
    if kind == TENDONPOS:
        values[o] = w.ten_length[t]
    elif kind == TENDONVEL:
        values[o] = w.ten_rate[t]
    elif kind == TENDONLIMITPOS:
        values[o] = limit_distance(tree, k, w.ten_length[t])
    elif kind == TENDONLIMITVEL:
        values[o] = limit_rate(tree, k, w.ten_length[t], w.ten_rate[t])
    else:
        x = 0.0
        for e in range(tree.pulling_start[k], tree.pulling_start[k] + tree.pulling_count[k]):
            x = x + w.actuator_force[tree.pulling_actuator[e]]
        values[o] = x


@kernel
def sense_joint(tree: Array, w: Array, s: SensorInputs, kind: int, k: int, o: int, values: Array) -> None:
    """Sensors of joints."""
    i = tree.sensor_q[k]
    d = tree.sensor_v[k]
    if kind == JOINTPOS:
        values[o] = s.q[i]
    elif kind == JOINTVEL:
        values[o] = s.v[d]
    elif kind == BALLQUAT:
        x = joint_quaternion(s.q, i)
        for j in range(4):
            values[o + j] = x[j]
    elif kind == BALLANGVEL:
        for j in range(3):
            values[o + j] = s.v[d + j]
    elif kind == LIMITPOS:
        values[o] = limit_distance(tree, k, s.q[i])
    elif kind == LIMITVEL:
        values[o] = limit_rate(tree, k, s.q[i], s.v[d])
    elif kind == LIMITFRC:
        values[o] = where(s.limit_forces[d], 0.0, -s.limit_forces[d], s.limit_forces[d])
    else:
        values[o] = w.actuator_tau[d]


@kernel
def sense_actuator(tree: Array, w: Array, s: SensorInputs, kind: int, j: int, o: int, values: Array) -> None:
    """Sensors of actuators."""
    if kind == ACTUATORPOS:
        values[o] = actuator_length(tree, w, s.q, j)
    elif kind == ACTUATORVEL:
        values[o] = actuator_rate(tree, w, s.v, j)
    else:
        values[o] = w.actuator_force[j]


# The robot ----------------------------------------------------------------------------------------------------------


@kernel
def potential_energy(tree: Array, w: Array, q: Array, p: int) -> Scalar:
    """Energy of gravity, and of the springs of joints and tendons."""
    energy = -dot(tree.gravity, subtree_moment(tree, w, p))
    for t in range(tree.ntendons):
        slack = tendon_slack(tree, w, t)
        energy = energy + 0.5 * (tree.tendon_passive[t, STIFFNESS] * (slack * slack))
    for e in range(tree.nsprings):
        off = q[tree.spring_q[e]] - tree.rest[e]
        energy = energy + 0.5 * (tree.stiffness[e] * (off * off))
    return energy


@kernel
def kinetic_energy(tree: Array, w: Array, v: Array) -> Scalar:
    """Kinetic energy, with that of armatures."""
    twice = 0.0
    for i in range(1, tree.n):
        h = symmetric_product(tree.I[i], w.omega[i])
        mc_x_u = cross(tree.mc[i], w.u[i])
        u = w.u[i]
        twice = twice + (dot(w.omega[i], h) + 2.0 * dot(w.omega[i], mc_x_u) + tree.mass[i] * dot(u, u))
    for k in range(tree.nv):
        twice = twice + tree.armature[k] * (v[k] * v[k])
    return 0.5 * twice


@kernel
def sense(tree: Array, w: Array, s: SensorInputs, k: int, values: Array) -> None:
    """The numbers of sensor ``k``."""
    kind = tree.sensor_kind[k]
    o = tree.sensor_value[k]
    f = tree.sensor_frame[k]
    g = tree.sensor_reference[k]
    p = tree.sensor_part[k]
    if kind == FORCE_SENSORS[0] or kind == FORCE_SENSORS[1]:
        part_force(tree, w, p, s.constraint_forces, s.contacts, s.wrenches)
        sense_force(tree, w, kind, f, o, values)
    elif kind == TOUCH:
        values[o] = sense_touch(tree, w, k, f, s.contacts)
    elif kind == INSIDE_SITE:
        x = in_frame(tree, w, g, sub(frame_position(tree, w, f), frame_position(tree, w, g)))
        values[o] = is_inside(tree.sensor_volume[k], tree.sensor_constants[k], x)
    elif kind <= MAGNETOMETER:
        sense_inertially(tree, w, kind, f, k, o, values)
    elif kind == FRAMEQUAT:
        sense_orientation(tree, s.q, k, f, g, o, values)
    elif kind <= ZAXIS:
        sense_pose(tree, w, kind, f, g, o, values)
    elif kind <= FRAMEANGVEL:
        sense_motion(tree, w, kind, f, g, o, values)
    elif kind <= FRAMEANGACC:
        sense_acceleration(tree, w, kind, f, o, values)
    elif kind <= SUBTREEANGMOM:
        sense_subtree(tree, w, kind, p, o, values)
    elif kind <= JOINTACTUATORFRC:
        sense_joint(tree, w, s, kind, k, o, values)
    elif kind <= ACTUATORFRC:
        sense_actuator(tree, w, s, kind, tree.sensor_actuator[k], o, values)
    elif kind <= TENDONACTUATORFRC:
        sense_tendon(tree, w, kind, k, o, values)
    elif kind == POTENTIAL:
        values[o] = potential_energy(tree, w, s.q, p)
    elif kind == KINETIC:
        values[o] = kinetic_energy(tree, w, s.v)
    elif kind == RANGEFINDER:
        sense_range(tree, w, k, frame_position(tree, w, f), frame_axis(tree, w, f, 2), values)
    else:
        values[o] = s.time[0]


@kernel
def sensors(tree: Array, w: Array, s: SensorInputs, values: Array) -> None:
    """All sensors of a plan."""
    if tree.senses_poses != 0:
        joint_transforms(tree, w, s.q)
    if tree.senses_rows != 0:  # from poses of loops, whose arrays those in the world then take
        constraint_rows(tree, w, s.q, w.error)
    if tree.senses_poses != 0:
        world_transforms(tree, w)
    if tree.senses_velocities != 0:
        velocities(tree, w, s.v)
    if tree.senses_accelerations != 0:
        angular_velocities(tree, w, s.v)
        set_root_acceleration(tree, w)
        accelerations(tree, w, s.a)
    if tree.senses_tendons != 0:
        tendon_lengths(tree, w, s.q, w.ten_length)
    if tree.senses_tendon_rates != 0:
        tendon_rows(tree, w, s.q, w.ten_J)
        tendon_rates(tree, w.ten_J, s.v, w.ten_rate)
    if tree.senses_actuators != 0:
        evaluate_actuator_torques(tree, w, s.q, s.v, s.commands, w.actuator_tau)
    if tree.nlines != 0:
        tendon_tensions(tree, w)
    if tree.senses_forces != 0:
        interaction_forces(tree, w, s.constraint_forces, s.contacts, s.wrenches)
    for k in range(tree.nsensors):
        sense(tree, w, s, k, values)
    for j in range(tree.nvalues):
        values[j] = within(values[j], tree.value_range[j])


_POSES: dict[str, Shape] = {"E": ("nloop_or_world_poses", 3, 3), "o": ("nloop_or_world_poses", 3)}
_NOT_GIVEN: dict[str, Shape] = {f"no_{name}": shape for name, shape in INPUTS.items()}
"""Arrays in place of inputs that are not read."""

WORK: dict[str, Shape] = {
    **POSE,
    **MOTION,
    **ACCELERATION,
    **FORCE,
    **CLOSURE,
    **_POSES,
    "u": ("n", 3),
    "error": ("nc",),
    "part_f": (6,),
    "tension": ("ntendons",),
    "actuator_tau": ("nv",),
    **ACTUATOR_WORK,
    **_NOT_GIVEN,
}


def needed_inputs(needs: Iterable[str]) -> tuple[str, ...]:
    """Names of the inputs that sensors need, in their order."""
    wanted = {"q", *needs}
    return tuple(name for name in INPUTS if name in wanted)


@cache
def sensors_of(names: tuple[str, ...]) -> Algorithm:
    """The algorithm of sensors that need these inputs, of `needed_inputs`."""
    at = {name: names.index(name) if name in names else -1 for name in INPUTS}
    V, A, ROWS, COMMANDS = at["v"], at["a"], at["constraint_forces"], at["commands"]
    CONTACTS, LIMITS, TIME, WRENCHES = at["contacts"], at["limit_forces"], at["time"], at["wrenches"]
    RESULT = len(names)

    @kernel
    def text(tree: Array, w: Array, *arrays: Array) -> None:
        inputs = SensorInputs(
            arrays[0],
            arrays[V] if V > 0 else w.no_v,
            arrays[A] if A > 0 else w.no_a,
            arrays[ROWS] if ROWS > 0 else w.no_constraint_forces,
            arrays[COMMANDS] if COMMANDS > 0 else w.no_commands,
            arrays[CONTACTS] if CONTACTS > 0 else w.no_contacts,
            arrays[LIMITS] if LIMITS > 0 else w.no_limit_forces,
            arrays[TIME] if TIME > 0 else w.no_time,
            arrays[WRENCHES] if WRENCHES > 0 else w.no_wrenches,
        )
        sensors(tree, w, inputs, arrays[RESULT])

    shapes = {name: INPUTS[name] for name in names}
    return Algorithm(f"sensors_{'_'.join(names)}", text, shapes, {"values": ("nvalues",)}, WORK, SENSOR_TREE)


SENSORS = {names: sensors_of(names) for names in (("q", "v"), ("q", "v", "a"), tuple(INPUTS))}
"""Algorithms of sensors whose native code is compiled ahead."""
