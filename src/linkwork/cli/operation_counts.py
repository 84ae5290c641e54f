# SPDX-License-Identifier: BSD-3-Clause
"""Exact operation counts of the dynamics of a model, for ``linkwork count``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import linkwork as lw
from linkwork.cli.loading import ModelRequest, check_method, load_moving
from linkwork.cli.terminal import slow_notice
from linkwork.dynamics.delassus.batches import METHODS as DELASSUS_METHODS
from linkwork.dynamics.iterations import EXPECTED
from linkwork.dynamics.methods import METHODS, method_cost
from linkwork.errors import UnsupportedFeature
from linkwork.mechanism import Mechanism
from linkwork.quantities.base import BaseEvaluator

TREE_QUANTITIES = (
    "mass_matrix",
    "inverse_mass_product",
    "bias_forces",
    "gravity_forces",
    "center_of_mass",
    "centroidal_momentum",
    "energy",
)
CONSTRAINT_QUANTITIES = ("constraint_error", "constraint_jacobian", "constraint_bias")


@dataclass(frozen=True)
class Count:
    """Operations of one quantity by one method."""

    quantity: str
    method: str
    total: int
    """Of the first iteration."""
    iteration: int
    """Of each further one; 0 where there is none."""
    expected: int
    """Of `Counts.iterations` iterations, by which ``auto`` chooses."""
    ratio: float
    """Expected operations, as a multiple of those of the cheapest method for the quantity."""
    chosen: bool
    """Whether ``method="auto"`` takes it."""
    operations: dict[str, int]


@dataclass(frozen=True)
class Counts:
    """All counts of a model."""

    linkwork: str
    file: str
    name: str
    nv: int
    nc: int
    iterations: int
    """For which `expected` is."""
    counts: tuple[Count, ...]
    notes: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """The report for JSON; keys are explained in docs/reference/cli.md."""
        return asdict(self)


def count_file(file: Path, request: ModelRequest, methods: Sequence[str] = ()) -> Counts:
    """Load a model and count; forward dynamics by the given methods, or by all that are applicable."""
    robot = load_moving(file, request)
    chosen = [m for m in known_methods(robot, methods) if m in methods or METHODS[m].algorithm is not None]
    notes: list[str] = []
    rows: list[Count] = []
    with slow_notice(f"counting operations of '{robot.name}'"):
        best = lw.methods.best_method(robot)
        rows += _rows("forward_dynamics", _forward(robot, chosen, notes), best)
        rows += _rows("inverse_dynamics", _inverse(robot))
        for quantity in (*TREE_QUANTITIES, *(CONSTRAINT_QUANTITIES if robot.nc else ())):
            if quantity in ("center_of_mass", "centroidal_momentum") and robot.mass == 0:
                continue
            rows += _rows(quantity, [("", lw.Evaluator(robot, quantity).operation_count())])
        if any(c.enabled for c in robot.constraints):
            rows += _rows("delassus_matrix", _delassus(robot, notes))
    sizes = {"nv": robot.nv, "nc": robot.nc, "iterations": EXPECTED}
    return Counts(lw.__version__, str(file), robot.name, **sizes, counts=tuple(rows), notes=tuple(notes))


def known_methods(robot: Mechanism, asked: Sequence[str]) -> list[str]:
    """The chosen methods, which must be applicable to the robot, or all that are."""
    served = lw.methods.methods_for(robot)
    for name in asked:
        if check_method(name, ["auto", *METHODS]) != "auto":
            lw.ForwardDynamics(robot, cast(Any, name))  # raises where the method is not applicable, and says why
    named = [lw.methods.best_method(robot) if name == "auto" else name for name in asked]
    return list(dict.fromkeys(named or served))


_Counts = list[tuple[str, lw.results.OperationCount]]


def _rows(quantity: str, counts: _Counts, best: str = "") -> Iterator[Count]:
    def expected(count: lw.results.OperationCount) -> int:
        return count.in_iterations(EXPECTED)

    least = min((expected(count) for _, count in counts), default=0)
    for method, count in sorted(counts, key=lambda item: expected(item[1])):
        ratio = expected(count) / least if least else 1.0
        yield Count(
            quantity, method, count.total, count.iteration, expected(count), ratio, method == best != "", dict(count)
        )


def _forward(robot: Mechanism, methods: Sequence[str], notes: list[str]) -> _Counts:
    rows = []
    for name in methods:
        cost = method_cost(robot, name)
        if cost is not None:
            rows.append((name, cost))
        elif METHODS[name].algorithm is None:
            notes.append(f"{name} is dense linear algebra in NumPy: it has no operation count")
        else:
            notes.append(f"{name} has too many operations to count")
    for remark, those in (
        (
            "approximate: dependent bodies contribute their reflected inertia only",
            [m for m in methods if not METHODS[m].exact],
        ),
        ("valid only at configurations that close the loops", [m for m in methods if METHODS[m].closed]),
    ):
        if those:
            notes.append(f"{', '.join(those)}: {remark}")
    return rows


def _inverse(robot: Mechanism) -> _Counts:
    rows = [("rnea", lw.InverseDynamics(robot, "rnea").operation_count())]
    if any(c.enabled for c in robot.constraints):
        rows.append(("cluster", lw.InverseDynamics(robot, "cluster").operation_count()))
    return rows


def _delassus(robot: Mechanism, notes: list[str]) -> _Counts:
    rows = []
    for name, method in DELASSUS_METHODS.items():
        if method is None:
            continue
        try:
            matrix: Callable[..., Any] = lw.Delassus(robot, cast(Any, name)).matrix
        except UnsupportedFeature as error:
            notes.append(f"delassus matrix: {error}")
            continue
        assert isinstance(matrix, BaseEvaluator)
        rows.append((name, matrix.operation_count()))
    return rows
