# SPDX-License-Identifier: BSD-3-Clause
"""Adhesion: a force that pulls at contact points whose gap is less than a distance, as MuJoCo has it.

It is known before the step, ``M (v+ - v_f) = A' (z - h F e_n)`` with the impulse ``z`` of the cone. So friction is
bounded by the force that presses and the adhesion together, and a contact opens where it is pulled by more. Actuators
on bodies share their force among the contact points of the body that are within the gap.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.contact.reduced.matrix import add_multiple
from linkwork.kernels.contact.reduced.problem import POINTS
from linkwork.kernels.elementary import maximum
from linkwork.kernels.scalar import Array, Scalar, kernel, prange, where

ADHESION_WORK: dict[str, Shape] = {"adhesive": ("nlisted",), "adhesion_force": ("nadhesions",)}

SLACK = 1e-3
"""Of ``reach``, a millionth of the robot's size: gaps of what touches are zero to the residual of solvers alone, and
what sticks is not to come off by rounding."""


@kernel
def adhesive_forces(tree: Array, w: Array) -> None:
    """``adhesive``: forces that pull at listed contact points, of pairs and of actuators (``adhesion_force``)."""
    for p in prange(w.counts[POINTS]):
        w.adhesive[p] = within_gap(tree, w, p) * tree.pair_adhesion[w.point_contact[p]]
    for k in range(tree.nadhesions):
        n = 0.0
        for p in range(w.counts[POINTS]):
            if is_on(tree, w, p, tree.adhesion_body[k]) == 1:
                n = n + within_gap(tree, w, p)
        share = w.adhesion_force[k] / maximum(n, 1.0)
        for p in range(w.counts[POINTS]):
            if is_on(tree, w, p, tree.adhesion_body[k]) == 1:
                w.adhesive[p] = w.adhesive[p] + within_gap(tree, w, p) * share


@kernel
def is_on(tree: Array, w: Array, p: int, body: int) -> int:
    """1 where a listed contact point is on a body, else 0."""
    c = w.point_contact[p]
    if tree.contact_body_first[c] == body or tree.contact_body_second[c] == body:
        return 1
    return 0


@kernel
def within_gap(tree: Array, w: Array, p: int) -> Scalar:
    """One where adhesion acts at a listed contact point, else zero."""
    c = w.point_contact[p]
    return where(w.gap[w.point_slot[p]], tree.pair_gap[c] + SLACK * tree.reach[0], 1.0, 0.0)


@kernel
def apply_adhesion(tree: Array, w: Array, h: Scalar) -> None:
    """Add impulses of adhesion at listed points to ``momentum``, in place of those of an earlier list, ``pulled``."""
    for k in prange(tree.nv):
        w.momentum[k] = w.momentum[k] - w.pulled[k]
        w.pulled[k] = 0.0
    adhesive_forces(tree, w)
    for p in range(w.counts[POINTS]):
        if tree.contact_adhesive[w.point_contact[p]] > 0:
            impulse = -h * w.adhesive[p]
            for s in range(w.cone_side[p], w.cone_side[p] + w.cone_sides[p]):
                a = w.side_limb[s]
                add_multiple(impulse, w.A[w.cone_row[p]], w.side_column[s], w.pulled, tree.limb_v[a], tree.limb_size[a])
    for k in prange(tree.nv):
        w.momentum[k] = w.momentum[k] + w.pulled[k]
