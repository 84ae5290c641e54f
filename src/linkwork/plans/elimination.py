# SPDX-License-Identifier: BSD-3-Clause
"""Orders in which LCABA may eliminate bodies: minimum degree, minimum fill, and a search among their ties.

All orders are leaves first, as joints are eliminated with the bodies they lead to. The cost of an order is estimated
from its couplings alone (`_work`): exact counts, which know zeros too, are for the few best (`Mechanism.optimized`).
"""

from __future__ import annotations

import random
from collections.abc import Callable

from linkwork.model.joints import DOF
from linkwork.model.model import Model
from linkwork.plans.constraints import constrained_tree
from linkwork.plans.lcaba import link_rows, single_joint_rows
from linkwork.plans.tree import LOCAL

SEARCHED = 48
"""Random orders that are estimated."""

Key = Callable[[int, list[set[int]]], tuple[float, ...]]
"""Score that is smallest for the next leaf, from the neighbors of all bodies."""


def elimination_orders(mechanism: Model, most: int = 4) -> list[tuple[str, ...]]:
    """The most promising orders, by names of bodies, each once.

    Args:
        mechanism: The mechanism, with constraints.
        most: Largest number of orders.
    """
    graph = _CouplingGraph(mechanism)
    keys: list[Key] = [
        lambda b, near: (len(near[b]), -b),
        lambda b, near: (len(near[b]), b),
        lambda b, near: (graph.fill(b, near), len(near[b]), -b),
        lambda b, near: (len(near[b]), graph.fill(b, near), b),
    ]
    for seed in range(SEARCHED):
        chance = random.Random(seed).random  # ties by chance, and every other time near ties too
        spread = 1.5 if seed % 2 else 0.5
        keys.append(lambda b, near, chance=chance, spread=spread: (len(near[b]) + spread * chance(),))  # type: ignore[misc]
    orders: dict[tuple[int, ...], int] = {}
    for key in keys:
        order, work = graph.eliminated(key)
        orders.setdefault(order, work)
    best = sorted(orders, key=orders.__getitem__)[:most]
    return [tuple(dict.fromkeys(graph.names[b] for b in order)) for order in best]


class _CouplingGraph:
    """Which bodies rows couple, and the tree they are in."""

    def __init__(self, mechanism: Model) -> None:
        tree = constrained_tree(mechanism, (), LOCAL)
        self.parent: list[int] = tree.parent.tolist()
        self.dof = [DOF[kind] for kind in tree.kind.tolist()]
        rows = link_rows(tree, single_joint_rows(tree))
        together: dict[int, set[int]] = {}
        for body, row in zip(rows.k_body, rows.k_row, strict=True):
            if body > 0:
                together.setdefault(row, set()).add(body)
        self.near: list[set[int]] = [set() for _ in self.parent]
        for bodies in together.values():
            for b in bodies:
                self.near[b] |= bodies - {b}
        numbers = dict(zip(tree.iv.tolist()[1:], range(1, tree.n), strict=True))
        self.names = [""] * int(tree.n)
        for joint in mechanism.joints:
            at = mechanism.v_slice(joint.name)
            for v in range(at.start, at.stop):
                if v in numbers:
                    self.names[numbers[v]] = joint.child

    def fill(self, body: int, near: list[set[int]]) -> int:
        """Couplings that eliminating a body would make."""
        joined = self._joined(body, near)
        return sum(b not in near[a] for a in joined for b in joined if a < b)

    def _joined(self, body: int, near: list[set[int]]) -> set[int]:
        parent = self.parent[body]
        return near[body] | ({parent} if parent > 0 else set()) if near[body] else set()

    def eliminated(self, key: Key) -> tuple[tuple[int, ...], int]:
        """The order of a key, and the work of its couplings."""
        near = [set(others) for others in self.near]
        children = [0] * len(self.parent)
        for parent in self.parent[1:]:
            children[parent] += 1
        leaves = {b for b in range(1, len(self.parent)) if children[b] == 0}
        order, work = [], 0
        while leaves:
            body = min(sorted(leaves), key=lambda b: key(b, near))
            leaves.remove(body)
            order.append(body)
            parent = self.parent[body]
            work += _work(self.dof[body], len(near[body]), parent > 0)
            joined = self._joined(body, near)
            for b in near[body]:
                near[b].discard(body)
            for b in joined:
                near[b] |= joined - {b}
            children[parent] -= 1
            if parent > 0 and children[parent] == 0:
                leaves.add(parent)
        return tuple(order), work


def _work(dof: int, neighbors: int, has_parent: bool) -> int:
    """Operations on couplings when a body is eliminated: of 6 x 6 blocks, for each neighbor and each pair of them."""
    each = 2 * dof * 21 + 6 * dof + (2 * dof * 36 + 120 if has_parent else 0)
    return neighbors * each + neighbors * (neighbors - 1) // 2 * 2 * dof * 36
