# SPDX-License-Identifier: BSD-3-Clause
"""The order of states in lanes: those with the same contacts side by side."""

from __future__ import annotations

from linkwork.kernels.algorithm import ORDER
from linkwork.kernels.elementary import magnitude, maximum
from linkwork.kernels.scalar import Array, kernel, some_below
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.contact_reduced import LISTED

NORMAL_FORCE = 3
"""Where a listed contact point has its force along the normal (`step`)."""


@kernel
def order_by_contacts(tree: Array, key: Array, start: Array, v: Array) -> None:
    """``key``: numbers of the first contact points that bear in ``start``, and the largest velocity.

    States with the same contacts have the same lists; of these, fast ones need the more iterations.
    """
    n = 0
    p = 0
    while p < tree.nlisted and n < ORDER - 1 and some_below(start[LISTED * p], UNBOUNDED):
        if some_below(0.0, start[LISTED * p + NORMAL_FORCE]):
            key[n] = start[LISTED * p]
            n += 1
        p += 1
    for k in range(n, ORDER):
        key[k] = UNBOUNDED
    fastest = 0.0
    for k in range(tree.nv):
        fastest = maximum(fastest, magnitude(v[k]))
    key[ORDER - 1] = fastest
