# SPDX-License-Identifier: BSD-3-Clause
"""Contact points by the two bodies that they are on: forces on these, and accelerations of the points.

``K' lambda`` and ``K a`` of **delassus** Algorithms 1 and 3 for pairs of frames that meet at a point, three rows each,
without rows of K. Points between the same two bodies are a patch (`plans.delassus`): they share the rotation between
the bodies, and in the axes of the first one their forces and moments add up before they are turned to the second.

| symbol | meaning                                                                        |
|--------|--------------------------------------------------------------------------------|
| C      | rotation from the axes of the second body of a patch to those of the first     |
| arm    | position of a contact point on the second body, in the axes of the first       |

Cost: linear in points; a product is 54 operations a point between two moving bodies and 72 a patch.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel
from linkwork.kernels.spatial import (
    add,
    angular,
    column,
    cross,
    linear,
    rotate,
    rotate_inverse,
    set_angular,
    set_linear,
    set_vector,
    sub,
)

PATCHES: dict[str, Shape] = {"C": ("npatches", 3, 3), "arm": ("npoints", 3)}


@kernel
def contact_patches(tree: Array, w: Array) -> None:
    """``C`` of each patch, and the second lever arm of each point where there are several."""
    for g in range(tree.npatches):
        A = w.E[tree.patch_first_pose[g]]
        B = w.E[tree.patch_second_pose[g]]
        C = w.C[g]
        for k in range(3):
            x = rotate_inverse(A, column(B, k))
            C[0, k] = x[0]
            C[1, k] = x[1]
            C[2, k] = x[2]
        if tree.patch_count[g] > 1:
            for c in range(tree.patch_start[g], tree.patch_start[g] + tree.patch_count[g]):
                set_vector(rotate(C, tree.frame_position[tree.point_second[c]]), w.arm[c])


@kernel
def contact_errors(tree: Array, w: Array, error: Array) -> None:
    """Each point on the second body relative to that on the first, along the axes of its rows."""
    for g in range(tree.npatches):
        first = tree.patch_first_pose[g]
        between = rotate_inverse(w.E[first], sub(w.o[tree.patch_second_pose[g]], w.o[first]))
        for c in range(tree.patch_start[g], tree.patch_start[g] + tree.patch_count[g]):
            a = tree.point_first[c]
            there = add(between, rotate(w.C[g], tree.frame_position[tree.point_second[c]]))
            gap = rotate_inverse(tree.frame_rotation[a], sub(there, tree.frame_position[a]))
            for k in range(3):
                error[tree.point_row[c] + k] = gap[k]


@kernel
def apply_contact_forces(tree: Array, w: Array, g: int, forces: Array) -> None:
    """``f -= K' lambda`` of a patch."""
    if tree.patch_count[g] > 1:
        apply_patch_forces(tree, w, g, forces)
    else:
        apply_point_force(tree, w, g, tree.patch_start[g], forces)


@kernel
def apply_point_force(tree: Array, w: Array, g: int, c: int, forces: Array) -> None:
    """The force of one point, with its own arm on either body."""
    x = contact_force(tree, c, forces)
    y = rotate_inverse(w.C[g], x)
    f = w.f[tree.patch_second[g]]
    set_angular(sub(angular(f), cross(tree.frame_position[tree.point_second[c]], y)), f)
    set_linear(sub(linear(f), y), f)
    if tree.patch_first[g] > 0:
        b = w.f[tree.patch_first[g]]
        set_angular(add(angular(b), cross(tree.frame_position[tree.point_first[c]], x)), b)
        set_linear(add(linear(b), x), b)


@kernel
def apply_patch_forces(tree: Array, w: Array, g: int, forces: Array) -> None:
    """Forces and moments of several points add up in the axes of the first body, then act on both."""
    i = tree.patch_first[g]
    total = (0.0, 0.0, 0.0)
    moment = (0.0, 0.0, 0.0)
    first_moment = (0.0, 0.0, 0.0)
    for c in range(tree.patch_start[g], tree.patch_start[g] + tree.patch_count[g]):
        x = contact_force(tree, c, forces)
        total = add(total, x)
        moment = add(moment, cross(w.arm[c], x))
        if i > 0:
            first_moment = add(first_moment, cross(tree.frame_position[tree.point_first[c]], x))
    f = w.f[tree.patch_second[g]]
    set_angular(sub(angular(f), rotate_inverse(w.C[g], moment)), f)
    set_linear(sub(linear(f), rotate_inverse(w.C[g], total)), f)
    if i > 0:
        b = w.f[i]
        set_angular(add(angular(b), first_moment), b)
        set_linear(add(linear(b), total), b)


@kernel
def contact_force(tree: Array, c: int, forces: Array) -> tuple[Scalar, Scalar, Scalar]:
    """The force of a point on its second body, in the axes of the first."""
    r = tree.point_row[c]
    x = (forces[r], forces[r + 1], forces[r + 2])
    if tree.point_rotated[c] != 0:
        return rotate(tree.frame_rotation[tree.point_first[c]], x)
    return x


@kernel
def contact_accelerations(tree: Array, w: Array, g: int, rows: Array) -> None:
    """``a_c = K a`` of a patch: accelerations of the second body's points less those of the first's."""
    o = tree.patch_start[g]
    b = w.a[tree.patch_second[g]]
    if tree.patch_count[g] > 1:
        alpha = rotate(w.C[g], angular(b))
        at_origin = rotate(w.C[g], linear(b))
        for c in range(o, o + tree.patch_count[g]):
            set_contact_rows(tree, w, g, c, add(at_origin, cross(alpha, w.arm[c])), rows)
    else:
        at_point = add(linear(b), cross(angular(b), tree.frame_position[tree.point_second[o]]))
        set_contact_rows(tree, w, g, o, rotate(w.C[g], at_point), rows)


@kernel
def set_contact_rows(tree: Array, w: Array, g: int, c: int, x: Vector, rows: Array) -> None:
    """Rows of a point whose acceleration on the second body is ``x``, in the axes of the first."""
    i = tree.patch_first[g]
    a = tree.point_first[c]
    y = (x[0], x[1], x[2])
    if i > 0:
        y = sub(x, add(linear(w.a[i]), cross(angular(w.a[i]), tree.frame_position[a])))
    if tree.point_rotated[c] != 0:
        y = rotate_inverse(tree.frame_rotation[a], y)
    for k in range(3):
        rows[tree.point_row[c] + k] = y[k]
