# SPDX-License-Identifier: BSD-3-Clause
"""Gaps, points and frames of near pairs."""

from __future__ import annotations

from linkwork.kernels.contact.convex.geometry import pair_geometry
from linkwork.kernels.contact.reduced.bounding_volumes import approach
from linkwork.kernels.contact.reduced.problem import NEAR
from linkwork.kernels.contact.shapes.geometry import given_pair, primitive_pair
from linkwork.kernels.scalar import Array, Scalar, in_warp, kernel, prange, where
from linkwork.kernels.thresholds import NO_CONTACT
from linkwork.plans.contacts import BOX_BOX, GIVEN


@kernel
def is_primitive(tree: Array, c: int) -> int:
    """1 of pairs whose geometry needs no work arrays beside those of their slots; else 0."""
    kind = tree.contact_kind[c]
    return 1 if kind > GIVEN and kind < BOX_BOX else 0


@kernel
def near_geometry(tree: Array, w: Array, given: Array, h: Scalar) -> None:
    """Gaps, points and frames of near pairs; ``given``: of those without kernel code.

    Convex shapes that cannot touch in the step ``h`` have no points.
    """
    if in_warp():
        for n in prange(w.counts[NEAR]):
            if is_primitive(tree, w.near[n]) == 1:
                primitive_pair(tree, w, w.near[n])
    for n in range(w.counts[NEAR]):
        c = w.near[n]
        if tree.contact_kind[c] == GIVEN:
            given_pair(tree, w, c, given)
        elif not in_warp() or is_primitive(tree, c) == 0:  # these share work arrays
            i = tree.contact_body_first[c]
            j = tree.contact_body_second[c]
            w.within[0] = tree.pair_margin[c] + approach(tree, w, i, j, h)
            if tree.contact_adhesive[c] > 0:
                w.within[0] += tree.pair_gap[c]
            pair_geometry(tree, w, c)
    for n in prange(w.counts[NEAR]):
        c = w.near[n]
        for s in range(tree.contact_slot[c], tree.contact_slot[c] + tree.contact_slots[c]):
            w.missed_distance[s] = 0.0
            w.gap[s] = where(w.gap[s], NO_CONTACT, w.gap[s] - tree.pair_margin[c], w.gap[s])
