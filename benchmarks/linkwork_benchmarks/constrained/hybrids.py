# SPDX-License-Identifier: BSD-3-Clause
"""Operations of hybrids of LCABA and proxBBO, and of LCABA in other orders of elimination, by exact counts.

``python -m linkwork_benchmarks.constrained.hybrids`` prints, for the systems of the tables of **loops** and **lqr**, of
local loops and of linkages: operations of `lcaba` and of `prox_bbo` (its rows ending where that takes the fewest), of
the best hybrid of both in one elimination (**loops** Section VII-D), and of `lcaba` in the best of the orders that
`plans.elimination` searches.

A hybrid is counted as two halves, each exactly: ABA, what the constraints of one half add to it by `lcaba`, and what
those of the other half add by `prox_bbo`. That leaves out what the halves cost each other where rows pass bodies that
penalties couple, so that hybrids are counted too low, not too high. Halves are those of all constraints in the order of
how much `prox_bbo` saves on each of them alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import linkwork as lw
from linkwork import zoo
from linkwork.dynamics.methods import method_cost
from linkwork.inputs import ForwardMethod
from linkwork.model.constraints import Constraint
from linkwork.plans.elimination import elimination_orders
from linkwork_benchmarks import scenes
from linkwork_benchmarks.peers import Unable
from linkwork_benchmarks.runner import say

BY_ROWS: tuple[ForwardMethod, ...] = ("prox_bbo", "prox_pv")
LINKAGES: dict[str, Callable[[], lw.Mechanism]] = {
    "four-bar": zoo.four_bar,
    "Jansen's leg": zoo.jansen,
    "Stewart platform": zoo.stewart,
    "chain of 3 loops": lambda: zoo.chain_of_loops(3),
    "3 coupled loops": lambda: zoo.coupled_loops(3),
    "star of 3 loops": lambda: zoo.star_of_loops(3),
}


class Hybrid(NamedTuple):
    """Operations of one iteration on a system."""

    lcaba: int
    prox_bbo: int
    best: int
    """The best hybrid, pure ones included."""
    by_rows: int
    """Constraints that go by `prox_bbo` in it."""
    constraints: int
    ordered: int
    """`lcaba` in the best order that was searched."""


def hybrid(robot: lw.Mechanism) -> Hybrid:
    """Counts of a mechanism with constraints."""
    enabled = [c for c in robot.constraints if c.enabled]
    without = _operations(robot, (), ("aba",))
    lcaba, rows = (_operations(robot, enabled, methods) for methods in (("lcaba",), BY_ROWS))

    def saved(constraint: Constraint) -> int:
        return _operations(robot, (constraint,), ("lcaba",)) - _operations(robot, (constraint,), BY_ROWS)

    ordered = sorted(enabled, key=saved, reverse=True)
    totals = [
        _operations(robot, ordered[:k], BY_ROWS) + _operations(robot, ordered[k:], ("lcaba",)) - without
        for k in range(len(ordered) + 1)
    ]
    best = min(totals)
    return Hybrid(lcaba, rows, best, totals.index(best), len(enabled), min(lcaba, *_in_orders(robot)))


def _operations(robot: lw.Mechanism, constraints: Sequence[Constraint], methods: Iterable[ForwardMethod]) -> int:
    """Of the mechanism with these constraints alone, by the best of the methods; of ABA where there are none."""
    part = replace(robot, constraints=tuple(c for c in robot.constraints if c in constraints), elimination_order=())
    costs = (method_cost(part, method) for method in (methods if constraints else ("aba",)))
    return min(cost.total for cost in costs if cost is not None)


def _in_orders(robot: lw.Mechanism) -> list[int]:
    """Operations of `lcaba` in the orders that were searched."""
    costs = (method_cost(replace(robot, elimination_order=order), "lcaba") for order in elimination_orders(robot))
    return [cost.total for cost in costs if cost is not None]


def systems() -> dict[str, Callable[[], lw.Mechanism]]:
    """Those of the tables, and linkages, by name."""
    tables = {name: scene.make for name, scene in (scenes.LOOPS_TABLE | scenes.LQR_TABLE).items()}
    return tables | {"Cassie, feet welded": scenes.LOCAL_LOOPS["Cassie, feet welded"]} | LINKAGES


def main() -> None:
    """Count, and print a table."""
    say("| system | constraints | `lcaba` | `prox_bbo` | best hybrid | by `prox_bbo` | best order |")
    say("|---|---:|---:|---:|---:|---:|---:|")
    for name, make in systems().items():
        try:
            robot = make()
        except (FileNotFoundError, Unable) as error:
            say(f"{name}: {error}")
            continue
        if not any(c.enabled for c in robot.constraints):
            continue
        counts = hybrid(robot)
        numbers = (counts.constraints, counts.lcaba, counts.prox_bbo, counts.best, counts.by_rows, counts.ordered)
        say(f"| {name} | " + " | ".join(f"{n:,}".replace(",", " ") for n in numbers) + " |")


if __name__ == "__main__":
    main()
