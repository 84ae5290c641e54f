# SPDX-License-Identifier: BSD-3-Clause
"""Implicit dampers of soft steps, as in MuJoCo's ``implicitfast``: forces of contacts first, damping after them.

Contacts, limits and constraints are solved with the mass matrix alone and dampers as they are before the step; their
impulses then act on the system with implicit dampers ``D``::

    M v_c = p + A' z                       p = M v + h (tau - bias), z: the law of contacts at v_c
    (M + h D) (v+ - v) = p - M v + A' z

Springs are as they are before the step.

| symbol     | meaning                                                          |
|------------|------------------------------------------------------------------|
| implicit   | ``h d`` of dampers on one degree of freedom                        |
| damper_set | the set of each damper on several degrees of freedom; -1: without  |
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.contact.reduced.dense import dense_mass_matrix
from linkwork.kernels.contact.reduced.joint_rows import damper_row
from linkwork.kernels.contact.reduced.mass_matrix import add_to_diagonal
from linkwork.kernels.contact.reduced.matrix import mass_times
from linkwork.kernels.contact.reduced.problem import CONES, SYMMETRIC
from linkwork.kernels.contact.reduced.smoothing_newton import linearize_equality, newton_direction, take_step
from linkwork.kernels.elementary import maximum
from linkwork.kernels.scalar import Array, Scalar, in_warp, kernel, prange, some_below

SPLIT_WORK: dict[str, Shape] = {"implicit": ("nv",)}


@kernel
def split_dampers(tree: Array, w: Array) -> None:
    """``implicit`` of stops and actuators, which leave ``implicit_armature``."""
    for k in prange(tree.nv):
        w.implicit[k] = w.implicit_armature[k] - tree.armature[k]
        w.implicit_armature[k] = tree.armature[k]


@kernel
def add_joint_dampers(tree: Array, w: Array, h: Scalar) -> None:
    """``implicit`` of joints, too."""
    for d in prange(tree.ndampers):
        w.implicit[tree.damper_v[d]] += h * tree.damping[d]


@kernel
def damps(tree: Array, w: Array) -> Scalar:
    """More than zero where there are implicit dampers."""
    largest = float(tree.ncoupled)
    for k in range(tree.nv):
        largest = maximum(largest, w.implicit[k])
    return largest


@kernel
def damp_velocities(tree: Array, w: Array, v: Array, h: Scalar) -> None:
    """``v_next`` under implicit dampers and the impulses ``z``; ``momentum`` loses ``M v``."""
    mass_times(tree, w, v, w.Mv)
    for k in prange(tree.nv):
        w.momentum[k] -= w.Mv[k]
        w.v_next[k] = 0.0
        add_to_diagonal(tree, w, k, w.implicit[k])
    if in_warp() and tree.nstride > 0:
        dense_mass_matrix(tree, w)
    for e in prange(w.counts[CONES]):
        for r in range(w.cone_row[e], w.cone_row[e] + w.cone_dim[e]):
            w.dz[r] = 0.0
            for j in range(w.cone_dim[e]):
                w.cone_G[r, j] = 0.0
    for c in range(tree.ncoupled):
        e = w.damper_set[c]
        if e >= 0:
            damper_row(tree, w, e, c, v, h, 1.0)
            w.row_y[w.cone_row[e]] = 0.0
            linearize_equality(w, e)
    w.counts[SYMMETRIC] = 1
    newton_direction(tree, w)
    take_step(tree, w, 1.0)
    for k in prange(tree.nv):
        w.v_next[k] += v[k]


@kernel
def damp_after_contacts(tree: Array, w: Array, v: Array, h: Scalar) -> None:
    """`damp_velocities`, where anything damps."""
    if some_below(-damps(tree, w), 0.0):
        damp_velocities(tree, w, v, h)
