# SPDX-License-Identifier: BSD-3-Clause
"""The search for the best spanning tree: cuts, roots and orders of elimination by exact operation counts.

1. Trees: from the robot's own, exchanges of one connection for another (`connections`). The sum of degrees of freedom
   and rows ranks them; what is counted decides. All exchanges that save operations are tried together, then the best
   alone, and the search goes on from there.
2. Ends: which of two bodies a constraint's rows are expressed on.
3. Bases: a floating base goes from body to body as long as that saves operations.
4. Orders: in which LCABA eliminates bodies (`plans.elimination`).

The robot itself is among the candidates, so that the result is never worse.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from linkwork.dynamics.iterations import EXPECTED
from linkwork.dynamics.methods import method_cost, refusal
from linkwork.errors import InputError
from linkwork.mechanism.connections import ConnectionGraph
from linkwork.mechanism.rebuilding import Choice, Rebuilder, can_flip
from linkwork.plans.elimination import elimination_orders
from linkwork.quantities.evaluator import Evaluator

if TYPE_CHECKING:
    from linkwork.mechanism.mechanism import Mechanism

PROMISING = 1.1
"""Methods whose count is within this factor of the best one are counted for every candidate."""

CONDITION = 1e-4
"""The least eigenvalue of a scaled mass matrix, as a part of the robot's own, with which a tree is accepted."""

Progress = Callable[[str, int, int], None]
"""Called with the candidate's name, the number of candidates so far, and the fewest operations."""


@dataclass(frozen=True)
class Cost:
    """Operations of the forward dynamics of a robot."""

    method: str
    operations: int
    """Of `EXPECTED` iterations, by which ``auto`` chooses."""
    first: int
    """Of the first iteration."""
    iteration: int
    """Of each further one; 0 where there is none."""


def cost_of(robot: Mechanism, methods: Sequence[str]) -> Cost | None:
    """The least cost of a robot by these methods, or by ABA if it has no constraints; None if none can be counted."""
    names = methods if any(c.enabled for c in robot.constraints) else ["aba"]
    costs = []
    for name in names:
        counted = method_cost(robot, name) if refusal(robot, name) is None else None
        if counted is not None:
            costs.append(Cost(name, counted.in_iterations(EXPECTED), counted.total, counted.iteration))
    return min(costs, key=lambda cost: cost.operations, default=None)


class Search:
    """Counts candidates, each once, and remembers the best.

    Args:
        robot: The mechanism.
        graph: Its connections.
        methods: Methods of forward dynamics; the cheapest counts.
        seconds: Duration to search. The robot itself is always counted.
        progress: Called before each count.
    """

    def __init__(
        self,
        robot: Mechanism,
        graph: ConnectionGraph,
        methods: Sequence[str],
        seconds: float,
        progress: Progress | None = None,
    ) -> None:
        self._end = time.monotonic() + seconds
        self.robot, self.graph, self.methods, self.progress = robot, graph, methods, progress
        self.complete = True
        """Whether all candidates were counted in time."""
        self.counted = 1
        """Candidates so far."""
        self._rebuild = Rebuilder(robot, graph)
        self._least = _least_eigenvalue(robot)
        started = time.monotonic()
        before, self._promising = self._counted_by_all(robot)
        self._longest = (time.monotonic() - started) / len(methods)
        if before is None:
            raise InputError(
                f"robot '{robot.name}' has too many operations to count by {', '.join(methods)}: there is no cost to "
                "compare trees by"
            )
        self.before = self.after = before
        """Costs of the robot and of the best one."""
        self.best, self.choice = robot, Choice(graph.tree)
        self._costs: dict[Choice, float] = {self.choice: before.operations}

    def run(self, ends: bool, orders: bool) -> None:
        """Search all that may change; see `optimized.optimize`."""
        self.trees()
        self.ends(all_of_them=ends)
        self.bases()
        if orders:
            self.orders()

    # Trees -----------------------------------------------------------------------------------------------------

    def trees(self) -> None:
        """Exchange connections until no exchange saves operations, or time is up."""
        smallest = Choice(self._smallest_tree())
        self.count(smallest, "the smallest tree", by_all=True)
        while self._exchange():
            pass

    def _smallest_tree(self) -> frozenset[str]:
        """The tree that exchanges lead to which make its size smaller, one after the other."""
        tree, graph = self.graph.tree, self.graph
        while True:
            near = [t for add, cut in graph.exchanges(tree) if (t := graph.exchanged(tree, add, cut)) is not None]
            possible = sorted((t for t in near if graph.size(t) < graph.size(tree)), key=graph.size)
            following = next((t for t in possible if self._rebuild(Choice(t)) is not None), None)
            if following is None:
                return tree
            tree = following

    def _exchange(self) -> bool:
        """Count all exchanges of the best tree that make it no larger; whether one, or several together, are better."""
        graph, start, fewest = self.graph, self.choice.tree, self.after.operations
        size, _ = graph.size(start)
        near = [(add, cut, t) for add, cut in graph.exchanges(start) if (t := graph.exchanged(start, add, cut))]
        near = [exchange for exchange in near if graph.size(exchange[2])[0] <= size]
        near.sort(key=lambda exchange: graph.size(exchange[2]))
        savings = []
        for add, cut, tree in near:
            operations = self.count(Choice(tree), f"'{add}' in the tree, '{cut}' out of it")
            if operations < fewest:
                savings.append((operations, add, cut))
        together = start
        for _, add, cut in sorted(savings):
            together = graph.exchanged(together, add, cut) or together
        if len(savings) > 1:
            self.count(Choice(together), f"{len(savings)} exchanges together")
        return self.after.operations < fewest

    # Ends, bases and orders --------------------------------------------------------------------------------------

    def ends(self, all_of_them: bool) -> None:
        """Exchange the two places of constraints that are new, or of all."""
        own = set() if all_of_them else {c.name for c in self.robot.constraints}
        for constraint in self.best.constraints:
            if can_flip(constraint) and constraint.name not in own:
                flipped = self.choice.flipped | {constraint.name}
                self.count(replace(self.choice, flipped=flipped), f"the two places of '{constraint.name}' exchanged")

    def bases(self) -> None:
        """Move floating bases to bodies next to theirs until that saves nothing."""
        fewest = math.inf
        while self.after.operations < fewest:
            fewest, start = self.after.operations, self.choice
            for to, off in self.graph.base_moves(start.tree):
                tree = self.graph.exchanged(start.tree, to, off)
                if tree is not None:
                    self.count(replace(start, tree=tree), f"the base on '{self.graph.connections[to].second}'")

    def orders(self) -> None:
        """Orders of elimination, where LCABA is the method or nearly so."""
        costs = cost_of(self.best, ["lcaba"]) if "lcaba" in self.methods and self.best.nc else None
        if costs is None or costs.operations > 1.1 * self.after.operations:
            return
        start = self.best
        for k, order in enumerate(elimination_orders(start)):
            if not self._in_time():
                return
            ordered = replace(start, elimination_order=order)
            cost = self._counted(ordered, f"order of elimination {k + 1}")
            if cost is not None and cost.operations < self.after.operations:
                self.best, self.after = ordered, cost

    # Counting ------------------------------------------------------------------------------------------------------

    def count(self, choice: Choice, what: str, by_all: bool = False) -> float:
        """Operations of a choice, infinite where it cannot be built or time is up; it may become the best."""
        if choice in self._costs:
            return self._costs[choice]
        if not self._in_time():
            return math.inf
        by_all = by_all and self._in_time(len(self.methods))
        robot = self._rebuild(choice)
        cost = None if robot is None else self._counted(robot, what, by_all)
        self._costs[choice] = math.inf if cost is None else cost.operations
        if robot is not None and cost is not None and cost.operations < self.after.operations:
            self.best, self.choice, self.after = robot, choice, cost
        return self._costs[choice]

    def _counted(self, robot: Mechanism, what: str, by_all: bool = False) -> Cost | None:
        """The cost of a candidate; None for one that would be the best by a mass matrix that is all but singular."""
        started = time.monotonic()
        if self.progress is not None:
            self.progress(what, self.counted, self.after.operations)
        self.counted += 1
        cost, promising = self._counted_by_all(robot) if by_all else (cost_of(robot, self._promising), self._promising)
        if cost is not None and cost.operations < self.after.operations:
            if _least_eigenvalue(robot) < CONDITION * self._least:
                return None
            self._promising = promising
        if not by_all:
            self._longest = max(self._longest, time.monotonic() - started)
        return cost

    def _counted_by_all(self, robot: Mechanism) -> tuple[Cost | None, tuple[str, ...]]:
        """The cost by the cheapest of all methods, and the names of those near it."""
        each = [(name, cost) for name in self.methods if (cost := cost_of(robot, [name])) is not None]
        best = min((cost for _, cost in each), key=lambda cost: cost.operations, default=None)
        most = PROMISING * best.operations if best is not None else 0
        return best, tuple(name for name, cost in each if cost.operations <= most)

    def _in_time(self, counts: int = 1) -> bool:
        """Whether there is time for so many counts."""
        enough = time.monotonic() + counts * self._longest < self._end
        self.complete &= enough
        return enough


def _least_eigenvalue(robot: Mechanism) -> float:
    """Of mass matrices with a unit diagonal, at a few random configurations: zero where a joint moves no mass."""
    mass_matrix = Evaluator(robot, "mass_matrix").plain()
    eigenvalues = []
    for seed in range(2):
        M = mass_matrix(robot.random(seed))
        scale = np.sqrt(np.maximum(np.diag(M), np.finfo(float).tiny))
        eigenvalues.append(float(np.linalg.eigvalsh(M / np.outer(scale, scale)).min(initial=1.0)))
    return min(eigenvalues)
