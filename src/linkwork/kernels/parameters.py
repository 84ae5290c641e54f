# SPDX-License-Identifier: BSD-3-Clause
"""Parameters as inputs: kernels that compute the arrays of a tree from the user's parameters.

An algorithm with parameters (`parametrized`) first writes these arrays, which are work arrays then, and runs its kernel
on a tree that has them in place of the plan's.

| symbol       | meaning                                                                                             |
|--------------|-----------------------------------------------------------------------------------------------------|
| m, c, J      | mass, center of mass and rotational inertia about it, in the user's frame of a body                 |
| h, I         | first moment of mass and rotational inertia about the origin                                        |
| E, o         | the user's axes in the kernels', and the kernels' origin in the user's frame: ``x' = E (x - o)``     |
| rigid_*      | the same of bodies whose inertia depends on inputs; others stay as planned                          |
| tree_*       | arrays in place of those of the tree                                                                |

Inertias are Featherstone's Eq. 2.66 in another frame: ``h' = m c'``, ``I' = E J E' + m (c'.c' 1 - c' c'ᵀ)`` of a mass,
its center and its inertia; of inertial parameters, which are linear, ``h' = E (h - m o)``,
``I' = E (I + (m o.o - 2 o.h) 1 + o hᵀ + h oᵀ - m o oᵀ) E'``. Cost: about 30 operations for each body, less where axes
are parallel, plus those that zeros of the plan saved.
"""

from __future__ import annotations

from linkwork.kernels.elementary import maximum
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel
from linkwork.kernels.spatial import (
    add,
    dot,
    rotate,
    rotate_inverse,
    rotate_symmetric,
    scale,
    set_vector,
    sub,
)
from linkwork.kernels.steps.stage_dynamics import DAMPING, REST, STIFFNESS
from linkwork.kernels.tree.motors import (
    BACKLASH,
    COULOMB,
    DELAY,
    INTEGRAL_GAIN,
    MOTOR_WIDTH,
    NETWORK_SCALE,
    SLOPE,
    STALL,
    STATIC,
    STRIBECK,
)
from linkwork.plans.contact_friction import LEAST_FRICTION

# Inertias -------------------------------------------------------------------------------------------------------------


@kernel
def begin_inertias(tree: Array, w: Array) -> None:
    """Inertias as planned, and the robot's own where they depend on inputs."""
    for i in range(tree.n):
        w.tree_mass[i] = tree.mass[i]
        for j in range(3):
            w.tree_mc[i, j] = tree.mc[i, j]
        for j in range(6):
            w.tree_I[i, j] = tree.I[i, j]
    for k in range(tree.nrigid):
        w.rigid_m[k] = tree.rigid_mass[k]
        for j in range(3):
            w.rigid_c[k, j] = tree.rigid_com[k, j]
        for j in range(6):
            w.rigid_J[k, j] = tree.rigid_inertia[k, j]


@kernel
def set_mass(tree: Array, w: Array, x: Array) -> None:
    """Masses."""
    for k in range(tree.mass_count):
        w.rigid_m[tree.mass_place[k]] = x[k]


@kernel
def set_com(tree: Array, w: Array, x: Array) -> None:
    """Centers of mass."""
    for k in range(tree.com_count):
        for j in range(3):
            w.rigid_c[tree.com_place[k], j] = x[k, j]


@kernel
def set_inertia(tree: Array, w: Array, x: Array) -> None:
    """Rotational inertias about centers of mass."""
    for k in range(tree.inertia_count):
        for j in range(6):
            w.rigid_J[tree.inertia_place[k], j] = x[k, j]


@kernel
def add_inertia(w: Array, i: int, m: Scalar, h: Vector, I: Vector) -> None:
    """Inertia added to a body."""
    w.tree_mass[i] += m
    for j in range(3):
        w.tree_mc[i, j] += h[j]
    for j in range(6):
        w.tree_I[i, j] += I[j]


@kernel
def add_rigid_inertias(tree: Array, w: Array) -> None:
    """Inertias in the kernels' frames, of masses, their centers and inertias about these in the user's."""
    for k in range(tree.nrigid):
        m, J = w.rigid_m[k], w.rigid_J[k]
        c = rotate(tree.rigid_axes[k], sub(w.rigid_c[k], tree.rigid_origin[k]))
        h = scale(m, c)
        I = rotate_symmetric(tree.rigid_axes[k], (J[0], J[1], J[3], J[2], J[4], J[5]))
        xx, yy, zz = h[0] * c[0], h[1] * c[1], h[2] * c[2]
        total = (
            I[0] + (yy + zz),
            I[1] - h[0] * c[1],
            I[2] - h[0] * c[2],
            I[3] + (xx + zz),
            I[4] - h[1] * c[2],
            I[5] + (xx + yy),
        )
        add_inertia(w, tree.rigid_body[k], m, h, total)


@kernel
def set_inertial_parameters(tree: Array, w: Array, x: Array) -> None:
    """Inertias in the kernels' frames, of inertial parameters in the user's."""
    for k in range(tree.inertial_parameters_count):
        r = tree.inertial_parameters_place[k]
        o, m = tree.rigid_origin[r], x[k, 0]
        h = (x[k, 1], x[k, 2], x[k, 3])
        mo = scale(m, o)
        moment = sub(h, mo)
        shift = dot(o, sub(mo, add(h, h)))
        I = (
            x[k, 4] + (shift + o[0] * (h[0] + moment[0])),
            x[k, 5] + (o[0] * h[1] + o[1] * moment[0]),
            x[k, 7] + (o[0] * h[2] + o[2] * moment[0]),
            x[k, 6] + (shift + o[1] * (h[1] + moment[1])),
            x[k, 8] + (o[1] * h[2] + o[2] * moment[1]),
            x[k, 9] + (shift + o[2] * (h[2] + moment[2])),
        )
        E = tree.rigid_axes[r]
        add_inertia(w, tree.rigid_body[r], m, rotate(E, moment), rotate_symmetric(E, I))


# Joints ---------------------------------------------------------------------------------------------------------------


@kernel
def begin_elements(tree: Array, w: Array) -> None:
    """Rotors, dampers and springs of the robot."""
    for k in range(tree.nv):
        w.tree_armature[k] = tree.own_armature[k]
        w.damping[k] = tree.own_damping[k]
        w.stiffness[k] = tree.own_stiffness[k]
        w.rest[k] = tree.own_rest[k]


@kernel
def set_armature(tree: Array, w: Array, x: Array) -> None:
    """Reflected inertia of rotors."""
    for k in range(tree.armature_count):
        w.tree_armature[tree.armature_place[k]] = x[k]


@kernel
def set_damping(tree: Array, w: Array, x: Array) -> None:
    """Viscous damping."""
    for k in range(tree.damping_count):
        w.damping[tree.damping_place[k]] = x[k]


@kernel
def set_stiffness(tree: Array, w: Array, x: Array) -> None:
    """Stiffness of springs; that of joints that can have none has no effect."""
    for k in range(tree.stiffness_count):
        w.stiffness[tree.stiffness_place[k]] = tree.spring_factor[tree.stiffness_place[k]] * x[k]


@kernel
def set_rest(tree: Array, w: Array, x: Array) -> None:
    """Rest positions of springs."""
    for k in range(tree.rest_count):
        w.rest[tree.rest_place[k]] = x[k]


@kernel
def end_elements(tree: Array, w: Array) -> None:
    """Springs and dampers; for implicit steps of the time ``h``, ``h d + h² k`` is added to the armature."""
    h = tree.implicit_time[0]
    for k in range(tree.nv):
        w.tree_armature[k] += h * (w.damping[k] + h * w.stiffness[k])
    for d in range(tree.ndampers):
        w.tree_damping[d] = w.damping[tree.damper_v[d]]
    for s in range(tree.nsprings):
        w.tree_stiffness[s] = w.stiffness[tree.spring_v[s]]
        w.tree_rest[s] = w.rest[tree.spring_v[s]]


@kernel
def set_passive(tree: Array, w: Array, passive: Array) -> None:
    """Sets springs and dampers of steps in place of their input; stops stay."""
    for k in range(tree.nv):
        for j in range(7):
            w.passive_elements[k, j] = passive[k, j]
        w.passive_elements[k, STIFFNESS] = w.stiffness[k]
        w.passive_elements[k, REST] = w.rest[k]
        w.passive_elements[k, DAMPING] = w.damping[k]


@kernel
def set_gravity(tree: Array, w: Array, x: Array) -> None:
    """The acceleration of free fall."""
    for j in range(3):
        w.tree_gravity[j] = x[j]


@kernel
def set_time(tree: Array, w: Array, x: Array) -> None:
    """Seconds."""
    w.tree_time[0] = x[0]


@kernel
def begin_joint_position(tree: Array, w: Array) -> None:
    """Placements of joints, as planned."""
    for i in range(tree.n):
        for j in range(3):
            w.tree_p[i, j] = tree.p[i, j]


@kernel
def set_joint_position(tree: Array, w: Array, x: Array) -> None:
    """Placements of joints, in the kernels' frames of their parents."""
    for k in range(tree.joint_position_count):
        at = add(rotate(tree.joint_axes[k], x[k]), tree.joint_shift[k])
        set_vector(at, w.tree_p[tree.joint_position_place[k]])


# Constraints, actuators, contacts -------------------------------------------------------------------------------------


@kernel
def begin_anchor_position(tree: Array, w: Array) -> None:
    """Frames of constraints and other frames, as planned."""
    for f in range(tree.nframes):
        for j in range(3):
            w.tree_frame_position[f, j] = tree.frame_position[f, j]
    for p in range(tree.npairs):
        for j in range(3):
            w.tree_pair_lever[p, j] = tree.pair_lever[p, j]


@kernel
def set_anchor_position(tree: Array, w: Array, x: Array) -> None:
    """Points of pairs in the kernels' frames of their bodies, that of the first also in the axes of the pair."""
    for k in range(tree.anchor_position_count):
        p = tree.anchor_position_place[k]
        first = add(rotate(tree.anchor_rotation[k, 0], x[k, 0]), tree.anchor_shift[k, 0])
        second = add(rotate(tree.anchor_rotation[k, 1], x[k, 1]), tree.anchor_shift[k, 1])
        set_vector(first, w.tree_frame_position[tree.pair_first[p]])
        set_vector(second, w.tree_frame_position[tree.pair_second[p]])
        set_vector(rotate_inverse(tree.pair_axes[p], first), w.tree_pair_lever[p])


@kernel
def begin_length(tree: Array, w: Array) -> None:
    """Lengths of rods and radii of rolling bodies, as planned."""
    for p in range(tree.npairs):
        w.tree_pair_size[p] = tree.pair_size[p]


@kernel
def set_length(tree: Array, w: Array, x: Array) -> None:
    """Lengths of rods and radii of rolling bodies."""
    for k in range(tree.length_count):
        w.tree_pair_size[tree.length_place[k]] = x[k]


@kernel
def begin_gains(tree: Array, w: Array) -> None:
    """Baumgarte gains, as planned."""
    for r in range(tree.nc):
        w.tree_kp[r] = tree.kp[r]
        w.tree_kd[r] = tree.kd[r]


@kernel
def set_gains(tree: Array, w: Array, x: Array) -> None:
    """Baumgarte gains of all rows of a constraint."""
    for k in range(tree.gains_count):
        for j in range(tree.gains_rows[k]):
            w.tree_kp[tree.gains_place[k] + j] = x[k, 0]
            w.tree_kd[tree.gains_place[k] + j] = x[k, 1]


@kernel
def begin_actuator_gain(tree: Array, w: Array) -> None:
    """Factors of commands, as planned."""
    for k in range(tree.nu):
        for j in range(3):
            w.tree_actuator_gain[k, j] = tree.actuator_gain[k, j]


@kernel
def set_actuator_gain(tree: Array, w: Array, x: Array) -> None:
    """Factors of commands."""
    for k in range(tree.actuator_gain_count):
        for j in range(3):
            w.tree_actuator_gain[tree.actuator_gain_place[k], j] = x[k, j]


@kernel
def begin_actuator_bias(tree: Array, w: Array) -> None:
    """Forces without a command, as planned."""
    for k in range(tree.nu):
        for j in range(3):
            w.tree_actuator_bias[k, j] = tree.actuator_bias[k, j]


@kernel
def set_actuator_bias(tree: Array, w: Array, x: Array) -> None:
    """Forces without a command."""
    for k in range(tree.actuator_bias_count):
        for j in range(3):
            w.tree_actuator_bias[tree.actuator_bias_place[k], j] = x[k, j]


@kernel
def begin_motors(tree: Array, w: Array) -> None:
    """Numbers of motors, as planned."""
    for a in range(tree.nu):
        for j in range(MOTOR_WIDTH):
            w.tree_motor[a, j] = tree.motor[a, j]


@kernel
def set_motor_stall(tree: Array, w: Array, x: Array) -> None:
    """Forces at rest."""
    for k in range(tree.motor_stall_count):
        w.tree_motor[tree.motor_stall_place[k], STALL] = x[k]


@kernel
def set_motor_no_load(tree: Array, w: Array, x: Array) -> None:
    """Rates without load."""
    for k in range(tree.motor_no_load_count):
        w.tree_motor[tree.motor_no_load_place[k], SLOPE] = 1.0 / x[k]


@kernel
def set_motor_stribeck(tree: Array, w: Array, x: Array) -> None:
    """Rates over which friction falls."""
    for k in range(tree.motor_stribeck_count):
        w.tree_motor[tree.motor_stribeck_place[k], STRIBECK] = 1.0 / x[k]


@kernel
def set_motor_integral(tree: Array, w: Array, x: Array) -> None:
    """Forces per integral of the error."""
    for k in range(tree.motor_integral_count):
        w.tree_motor[tree.motor_integral_place[k], INTEGRAL_GAIN] = x[k]


@kernel
def set_motor_delay(tree: Array, w: Array, x: Array) -> None:
    """Delays, in steps."""
    for k in range(tree.motor_delay_count):
        w.tree_motor[tree.motor_delay_place[k], DELAY] = x[k]


@kernel
def set_motor_backlash(tree: Array, w: Array, x: Array) -> None:
    """Play of gears."""
    for k in range(tree.motor_backlash_count):
        w.tree_motor[tree.motor_backlash_place[k], BACKLASH] = x[k]


@kernel
def set_motor_network(tree: Array, w: Array, x: Array) -> None:
    """Factors of the outputs of networks."""
    for k in range(tree.motor_network_count):
        w.tree_motor[tree.motor_network_place[k], NETWORK_SCALE] = x[k]


@kernel
def set_motor_friction(tree: Array, w: Array, x: Array) -> None:
    """Sliding and static friction."""
    for k in range(tree.motor_friction_count):
        w.tree_motor[tree.motor_friction_place[k], COULOMB] = x[k, 0]
        w.tree_motor[tree.motor_friction_place[k], STATIC] = x[k, 1]


@kernel
def begin_contact_friction(tree: Array, w: Array) -> None:
    """Coefficients of friction, as planned."""
    for s in range(tree.nslots):
        w.tree_friction[s] = tree.friction[s]


@kernel
def set_contact_friction(tree: Array, w: Array, x: Array) -> None:
    """Coefficients of friction of all points of a pair."""
    for k in range(tree.contact_friction_slots):
        w.tree_friction[tree.contact_friction_slot[k]] = x[tree.contact_friction_place[k]]


@kernel
def begin_pair_friction(tree: Array, w: Array) -> None:
    """Coefficients of friction of pairs in all directions, as planned."""
    for c in range(tree.ncontacts):
        for j in range(5):
            w.tree_pair_friction[c, j] = tree.pair_friction[c, j]


@kernel
def set_pair_friction(tree: Array, w: Array, x: Array) -> None:
    """Coefficients of friction of pairs against sliding; impulses are divided by them."""
    for k in range(tree.contact_friction_slots):
        c = tree.slot_contact[tree.contact_friction_slot[k]]
        mu = maximum(x[tree.contact_friction_place[k]], LEAST_FRICTION)
        w.tree_pair_friction[c, 0] = mu
        w.tree_pair_friction[c, 1] = mu


@kernel
def begin_friction(tree: Array, w: Array) -> None:
    """Bounds of forces of limits and dry friction, as planned."""
    for b in range(tree.nboxes):
        w.tree_box_lower[b] = tree.box_lower[b]
        w.tree_box_upper[b] = tree.box_upper[b]


@kernel
def set_friction(tree: Array, w: Array, x: Array) -> None:
    """Dry friction of joints."""
    for k in range(tree.friction_count):
        w.tree_box_lower[tree.friction_place[k]] = -x[k]
        w.tree_box_upper[tree.friction_place[k]] = x[k]
