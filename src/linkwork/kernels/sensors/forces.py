# SPDX-License-Identifier: BSD-3-Clause
"""Force, torque and touch sensors: interaction forces by recursive Newton-Euler, and normal forces of contacts.

Featherstone, Rigid Body Dynamics Algorithms, Table 5.1, with accelerations and external forces known: constraints,
contacts, spatial tendons and given wrenches. The force across a cut is the one that accelerates its outboard side, the
*part*: MuJoCo's ``mj_rnePostConstraint``, ``cfrc_int``.

| symbol         | meaning                                                                                  |
|----------------|------------------------------------------------------------------------------------------|
| f              | force across the joint of body i: ``[moment; force]`` at its origin, in its own axes     |
| n, y           | moment and force of a wrench                                                             |
| K              | rows of constraints on bodies (see `constraints`), ``K lambda`` the force on one         |
| contacts       | point, normal (from the first shape to the second), force and moment on the second, in the world |
| tension        | force along a tendon, positive where it lengthens it                                     |

Cost: O(n) for all bodies, and for each part the joints, rows and contacts on it.
"""

from __future__ import annotations

from linkwork.kernels.elementary import magnitude
from linkwork.kernels.joints import rotate_to_parent
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel, where
from linkwork.kernels.sensors.ray_shapes import ray_meets
from linkwork.kernels.spatial import (
    Triple,
    add,
    angular,
    cross,
    dot,
    euler_moment,
    linear,
    rotate,
    rotate_inverse,
    scale,
    set_angular,
    set_linear,
    sub,
    subtract_scaled,
)
from linkwork.kernels.tree.rnea import apply_wrenches, force_to_parent, newton_euler_forces
from linkwork.kernels.tree.tendon_geometry import distance_of
from linkwork.kernels.tree.tendons import passive_force
from linkwork.plans.rays import BOX, CAPSULE, CYLINDER
from linkwork.plans.sensors import CODE

FORCE_SENSOR = CODE["force"]
# Interaction forces -------------------------------------------------------------------------------------------------


@kernel
def wrench_at(w: Array, b: int, x: Vector, force: Vector) -> tuple[Triple, Triple]:
    """Moment and force on body ``b`` of a force at the point ``x``, both in the world."""
    y = rotate_inverse(w.E[b], force)
    return cross(rotate_inverse(w.E[b], sub(x, w.o[b])), y), y


@kernel
def contact_wrench(w: Array, b: int, contact: Array) -> tuple[Triple, Triple]:
    """Moment and force of a contact, were it on body ``b`` as the second."""
    n, y = wrench_at(w, b, (contact[0], contact[1], contact[2]), (contact[6], contact[7], contact[8]))
    return add(n, rotate_inverse(w.E[b], (contact[9], contact[10], contact[11]))), y


@kernel
def tendon_tensions(tree: Array, w: Array) -> None:
    """``tension``: forces along tendons, which lengthen them; after lengths, rates and `actuator_forces`."""
    for t in range(tree.ntendons):
        w.tension[t] = passive_force(tree, w, t)
    for j in range(tree.nu):
        if tree.actuator_tendon[j] >= 0:
            w.tension[tree.actuator_tendon[j]] += tree.tendon_gear[j] * w.actuator_force[j]


@kernel
def line_force(tree: Array, w: Array, s: int) -> tuple[Triple, Triple, Triple]:
    """The ends of a line in the world, and the force on its second end."""
    i = tree.line_first_body[s]
    j = tree.line_second_body[s]
    first = add(w.o[i], rotate(w.E[i], tree.line_first[s]))
    second = add(w.o[j], rotate(w.E[j], tree.line_second[s]))
    d = sub(second, first)
    return first, second, scale(w.tension[tree.line_tendon[s]] * tree.line_scale[s] / distance_of(d), d)


@kernel
def subtract_wrench(sign: Scalar, n: Vector, y: Vector, f: Array) -> None:
    """``f = f - sign [n; y]``."""
    set_angular(sub(angular(f), scale(sign, n)), f)
    set_linear(sub(linear(f), scale(sign, y)), f)


@kernel
def interaction_forces(tree: Array, w: Array, rows: Array, contacts: Array, wrenches: Array) -> None:
    """``f`` of all bodies, from accelerations and all forces that act on them; ``rows`` are those of constraints."""
    newton_euler_forces(tree, w)
    for m in range(tree.nk_link):
        subtract_scaled(rows[tree.k_row[m]], w.K[m], w.f[tree.k_body[m]])
    for s in range(tree.nslots):
        if tree.slot_first[s] > 0:
            n, y = contact_wrench(w, tree.slot_first[s], contacts[s])
            subtract_wrench(-1.0, n, y, w.f[tree.slot_first[s]])
        if tree.slot_second[s] > 0:
            n, y = contact_wrench(w, tree.slot_second[s], contacts[s])
            subtract_wrench(1.0, n, y, w.f[tree.slot_second[s]])
    for s in range(tree.nlines):
        first, second, force = line_force(tree, w, s)
        if tree.line_first_body[s] > 0:
            n, y = wrench_at(w, tree.line_first_body[s], first, force)
            subtract_wrench(-1.0, n, y, w.f[tree.line_first_body[s]])
        if tree.line_second_body[s] > 0:
            n, y = wrench_at(w, tree.line_second_body[s], second, force)
            subtract_wrench(1.0, n, y, w.f[tree.line_second_body[s]])
    apply_wrenches(tree, w, wrenches)
    for i in range(tree.n - 1, 0, -1):
        force_to_parent(tree, w, i)


@kernel
def part_force(tree: Array, w: Array, p: int, rows: Array, contacts: Array, wrenches: Array) -> None:
    """``w.part_f``: the wrench across the cut inboard of a part, at the origin of its body."""
    b = tree.part_body[p]
    f = w.part_f
    a = linear(w.a[b])
    mc = tree.part_mc[p]
    set_angular(add(euler_moment(tree.part_I[p], w.accel_field[b]), cross(mc, a)), f)
    set_linear(add(scale(tree.part_mass[p], a), rotate(w.accel_field[b], mc)), f)
    for e in range(tree.part_joint_start[p], tree.part_joint_start[p] + tree.part_joint_count[p]):
        i = tree.part_joints[e]
        y = rotate_to_parent(tree, w, i, linear(w.f[i]))
        n = add(rotate_to_parent(tree, w, i, angular(w.f[i])), cross(w.r[i], y))
        subtract_wrench(-1.0, n, y, f)
    for e in range(tree.part_row_start[p], tree.part_row_start[p] + tree.part_row_count[p]):
        m = tree.part_rows[e]
        subtract_scaled(rows[tree.k_row[m]], w.K[m], f)
    for e in range(tree.part_wrench_start[p], tree.part_wrench_start[p] + tree.part_wrench_count[p]):
        k = tree.part_wrenches[e]
        y = rotate(tree.frame_rotation[k], linear(wrenches[k]))
        n = add(rotate(tree.frame_rotation[k], angular(wrenches[k])), cross(tree.frame_position[k], y))
        subtract_wrench(1.0, n, y, f)
    for e in range(tree.part_end_start[p], tree.part_end_start[p] + tree.part_end_count[p]):
        if tree.part_ends[e] > 0:
            first, second, force = line_force(tree, w, tree.part_ends[e] - 1)
            n, y = wrench_at(w, b, second, force)
            subtract_wrench(1.0, n, y, f)
        else:
            first, second, force = line_force(tree, w, -tree.part_ends[e] - 1)
            n, y = wrench_at(w, b, first, force)
            subtract_wrench(-1.0, n, y, f)
    for e in range(tree.part_contact_start[p], tree.part_contact_start[p] + tree.part_contact_count[p]):
        if tree.part_contacts[e] > 0:
            n, y = contact_wrench(w, b, contacts[tree.part_contacts[e] - 1])
            subtract_wrench(1.0, n, y, f)
        else:
            n, y = contact_wrench(w, b, contacts[-tree.part_contacts[e] - 1])
            subtract_wrench(-1.0, n, y, f)


@kernel
def sense_force(tree: Array, w: Array, kind: int, g: int, o: int, values: Array) -> None:
    """Force or torque of ``w.part_f`` at a frame, in its axes."""
    y = linear(w.part_f)
    x = y
    if kind != FORCE_SENSOR:
        x = sub(angular(w.part_f), cross(tree.frame_position[g], y))
    x = rotate_inverse(tree.frame_rotation[g], x)
    for k in range(3):
        values[o + k] = x[k]


# Touch --------------------------------------------------------------------------------------------------------------


@kernel
def is_inside(kind: int, size: Array, x: Vector) -> Scalar:
    """1 where a point is in a volume around the origin, else 0."""
    if kind == BOX:
        inside = 1.0
        for k in range(3):
            inside = where(size[k], magnitude(x[k]), 0.0, inside)
        return inside
    if kind == CYLINDER or kind == CAPSULE:
        along = magnitude(x[2])
        over = where(size[1], along, along - size[1], 0.0)
        across = x[0] * x[0] + x[1] * x[1]
        if kind == CAPSULE:
            return where(size[0] * size[0], across + over * over, 0.0, 1.0)
        return where(size[0] * size[0], across, 0.0, where(0.0, over, 0.0, 1.0))
    y = (x[0] / size[0], x[1] / size[1], x[2] / size[2])
    return where(1.0, dot(y, y), 0.0, 1.0)


@kernel
def sense_touch(tree: Array, w: Array, k: int, f: int, contacts: Array) -> Scalar:
    """The sum of the normal forces of contacts of a body whose normals meet the volume of a sensor."""
    b = tree.frame_body[f]
    total = 0.0
    origin = add(w.o[b], rotate(w.E[b], tree.frame_position[f]))
    for s in range(tree.nslots):
        if tree.slot_first[s] == b or tree.slot_second[s] == b:
            c = contacts[s]
            sign = 1.0 if tree.slot_first[s] == b else -1.0
            away = sub((c[0], c[1], c[2]), origin)
            x = rotate_inverse(tree.frame_rotation[f], rotate_inverse(w.E[b], away))
            normal = (c[3], c[4], c[5])
            d = rotate_inverse(tree.frame_rotation[f], rotate_inverse(w.E[b], scale(sign, normal)))
            force = dot(normal, (c[6], c[7], c[8]))
            met = ray_meets(tree.sensor_volume[k], tree.sensor_constants[k], x, d)
            total = total + where(force, 0.0, 0.0, met * force)
    return total
