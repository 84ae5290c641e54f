# SPDX-License-Identifier: BSD-3-Clause
"""Adhesion: a force that pulls at contact points whose gap is less than a distance, as MuJoCo has it.

It is known before the step, ``M (v+ - v_f) = A' (z - h F e_n)`` with the impulse ``z`` of the cone. So friction is
bounded by the force that presses and the adhesion together, and a contact opens where it is pulled by more.
"""

from __future__ import annotations

from linkwork.kernels.contact.reduced.matrix import add_multiple
from linkwork.kernels.contact.reduced.problem import POINTS
from linkwork.kernels.scalar import Array, Scalar, kernel, where

SLACK = 1e-3
"""Of ``reach``, a millionth of the robot's size: gaps of what touches are zero to the residual of solvers alone, and
what sticks is not to come off by rounding."""


@kernel
def adhesive_force(tree: Array, w: Array, p: int) -> Scalar:
    """Force that pulls at listed contact point ``p``."""
    c = w.point_contact[p]
    return where(w.gap[w.point_slot[p]], tree.pair_gap[c] + SLACK * tree.reach[0], tree.pair_adhesion[c], 0.0)


@kernel
def apply_adhesion(tree: Array, w: Array, h: Scalar) -> None:
    """Add impulses of adhesion at listed points to ``momentum``, in place of those of an earlier list, ``pulled``."""
    for k in range(tree.nv):
        w.momentum[k] = w.momentum[k] - w.pulled[k]
        w.pulled[k] = 0.0
    for p in range(w.counts[POINTS]):
        if tree.contact_adhesive[w.point_contact[p]] > 0:
            impulse = -h * adhesive_force(tree, w, p)
            for s in range(w.cone_side[p], w.cone_side[p] + w.cone_sides[p]):
                a = w.side_limb[s]
                add_multiple(impulse, w.A[w.cone_row[p]], w.side_column[s], w.pulled, tree.limb_v[a], tree.limb_size[a])
    for k in range(tree.nv):
        w.momentum[k] = w.momentum[k] + w.pulled[k]
