# SPDX-License-Identifier: BSD-3-Clause
"""The sort key of the states of a batch: lanes of a block share lists and iterations (`Algorithm.order`)."""

from __future__ import annotations

from typing import Any

from linkwork.kernels.algorithm import ORDER
from linkwork.kernels.contact.reduced.problem import FORCE
from linkwork.kernels.elementary import magnitude, maximum
from linkwork.kernels.scalar import Array, kernel, some_below
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.contact_reduced import LISTED


@kernel
def order_by_contacts(tree: Array, key: Array, start: Array, v: Array) -> None:
    """``key``: numbers of the first contact points that bear in ``start``, and the largest velocity.

    States with the same contacts have the same lists; of these, fast ones need the more iterations.
    """
    n = 0
    p = 0
    while p < tree.nlisted and n < ORDER - 1 and some_below(start[LISTED * p], UNBOUNDED):
        if some_below(0.0, start[LISTED * p + FORCE + 2]):
            key[n] = start[LISTED * p]
            n += 1
        p += 1
    for k in range(n, ORDER):
        key[k] = UNBOUNDED
    fastest = 0.0
    for k in range(tree.nv):
        fastest = maximum(fastest, magnitude(v[k]))
    key[ORDER - 1] = fastest


@kernel
def order_one_step(tree: Array, key: Array, problem: Any, end: Any) -> None:
    """The sort key of one step."""
    order_by_contacts(tree, key, problem.start, problem.v)
