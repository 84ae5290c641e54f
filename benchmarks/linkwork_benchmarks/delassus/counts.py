# SPDX-License-Identifier: BSD-3-Clause
"""Exact operations: of a matrix, of what it is made from, and of its dense factor (**lqr** Fig. 2).

A part of an algorithm is counted by tracing its text up to there, and keeping what later parts read.

| part    | LTL                            | recursive methods                            |
|---------|--------------------------------|----------------------------------------------|
| inertia | mass matrix and its factor     | articulated-body inertias                    |
| rows    | Jacobian, and the factor's share | rows handed down through the joints         |
| matrix  | products of rows               | products of rows; inverse inertias handed up |
| factor  | ``L D L'`` of the dense matrix | the same                                     |

Kinematics is part of the inertia. PV-OSIM-fast makes no dense matrix: what is left is its factored form.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, cast

import linkwork as lw
from linkwork.compilers.trace.tracing import trace
from linkwork.dynamics.delassus import Delassus
from linkwork.dynamics.delassus.batches import METHODS
from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.constrained import bbo_factor, efpa, lcaba_factor, ltl, osim
from linkwork.kernels.constrained import constraints as loops
from linkwork.kernels.tree import aba, crba
from linkwork.plans.tree import Tree, tree_of
from linkwork.quantities.base import BaseEvaluator

Text = Callable[[Any, Any, Any], None]
"""``text(tree, work, q)``."""

PARTS = ("inertia", "rows", "matrix", "factor")


def total(robot: lw.Mechanism, method: str) -> int:
    """All operations of a method's text."""
    matrix = Delassus(robot, cast(Any, method)).matrix
    assert isinstance(matrix, BaseEvaluator)
    return matrix.operation_count().total


@cache
def dense_factor(rows: int) -> int:
    """``L D L'`` of a dense matrix of so many rows, by `aba.factorize_ldl`."""

    def text(tree: Any, w: Any, q: Any, given: Any, out: Any) -> None:
        aba.factorize_ldl(rows, given)
        for j in range(rows):
            for k in range(rows):
                out[j, k] = given[j, k] if k <= j else 0.0

    square: Shape = (rows, rows)
    algorithm = Algorithm("factor", text, {"q": ("nq",), "given": square}, {"out": square}, {})
    return _operations(algorithm, tree_of(lw.zoo.pendulum()))


def parts(robot: lw.Mechanism, method: str) -> dict[str, int]:
    """Operations by `PARTS`; of PV-OSIM-fast, ``factor`` is all that comes after the rows."""
    made = METHODS[method]
    assert made is not None
    tree, algorithm = made.arrays(robot), made.algorithm
    whole = total(robot, method)
    if method not in _STEPS:
        return {"matrix": whole, "factor": dense_factor(robot.nc)}
    found, before = {}, 0
    for part, (text, kept) in _STEPS[method].items():
        now = _until(algorithm, tree, text, kept)
        found[part], before = now - before, now
    if method == "pv_osim_fast":
        return found | {"factor": whole - before}
    return found | {"matrix": whole - before, "factor": dense_factor(robot.nc)}


def _until(algorithm: Algorithm, tree: Tree, text: Text, kept: Sequence[str]) -> int:
    """Operations of a text until some work arrays are known."""

    def known(tree: Any, w: Any, q: Any, *out: Any) -> None:
        text(tree, w, q)
        for name, array in zip(kept, out, strict=True):
            found = getattr(w, name)
            for place in range(found.size):
                x = found.flat[place]
                array.flat[place] = 0.0 if x is None else x  # what nobody has written is no number

    outputs: dict[str, Shape] = {f"{name}_known": algorithm.work[name] for name in kept}
    part = Algorithm(algorithm.name, known, {"q": ("nq",)}, outputs, algorithm.work, algorithm.layout)
    return _operations(part, tree)


def _operations(algorithm: Algorithm, tree: Tree) -> int:
    return sum(trace(algorithm, tree, limit=sys.maxsize).operation_count().values())


# Texts up to a point ---------------------------------------------------------------------------------------


def _mass(tree: Any, w: Any, q: Any) -> None:
    osim.rows_at(tree, w, q)
    crba.mass_matrix(tree, w, w.M)
    ltl.factorize_mass_matrix(tree, w)


def _reduced(tree: Any, w: Any, q: Any) -> None:
    osim.rows_at(tree, w, q)
    crba.mass_matrix(tree, w, w.M)
    loops.jacobian_from_rows(tree, w, q, w.Jc)
    ltl.factorize_mass_matrix(tree, w)
    ltl.rows_by_factor(tree, w)


def _articulated(tree: Any, w: Any, q: Any) -> None:
    osim.rows_at(tree, w, q)
    aba.articulate(tree, w)


def _handed_down(tree: Any, w: Any, q: Any) -> None:
    _passed(tree, w, q, range(tree.n - 1, 0, -1))


def _handed_to_base(tree: Any, w: Any, q: Any, rows: bool = True) -> None:
    """The same down to the floating base; ``Z`` is the inertia there."""
    _passed(tree, w, q, [i for i in range(tree.n - 1, 0, -1) if tree.parent[i] > 0], rows)
    for j in range(6):
        for k in range(j, 6):
            w.Z[j, k] = w.H[list(tree.parent).index(0, 1), j, k]


def _articulated_on_base(tree: Any, w: Any, q: Any) -> None:
    _handed_to_base(tree, w, q, rows=False)


def _passed(tree: Any, w: Any, q: Any, joints: Iterable[int], rows: bool = True) -> None:
    """Inertias, and rows with them, handed down through some joints."""
    osim.rows_at(tree, w, q)
    for r in range(tree.nc):
        w.none[r] = 0.0
    bbo_factor.init_rows(tree, w, w.none)
    aba.init_rigid_inertias(tree, w)
    for i in joints:
        aba.eliminate(tree, w, i)
        if rows:
            bbo_factor.project_rows_on_joint(tree, w, i)
            bbo_factor.rows_to_parent(tree, w, i)
        aba.inertia_to_parent(tree, w, i)


def _propagated(tree: Any, w: Any, q: Any) -> None:
    osim.rows_at(tree, w, q)
    lcaba_factor.joint_coupling_rows(tree, w)
    aba.articulate(tree, w)
    for i in range(tree.n - 1, 0, -1):
        for s in range(tree.path_start[i], tree.path_start[i] + tree.path_count[i]):
            if tree.k_body[tree.path_k[s]] == i:
                for j in range(6):
                    w.Kp[s, j] = w.K[tree.path_k[s], j]
            efpa.propagate_row(tree, w, i, s)


_ARTICULATED = (_articulated, ("D", "L"))

_STEPS: dict[str, dict[str, tuple[Text, tuple[str, ...]]]] = {
    "ltl": {"inertia": (_mass, ("M",)), "rows": (_reduced, ("M", "Jc"))},
    "pv_osim": {"inertia": _ARTICULATED, "rows": (_handed_down, ("D", "L", "Zs", "Ts"))},
    "pv_osim_fast": {
        "inertia": (_articulated_on_base, ("D", "L", "Z")),
        "rows": (_handed_to_base, ("D", "L", "Z", "Zs", "Ts", "Ks")),
    },
    "efpa": {"inertia": _ARTICULATED, "rows": (_propagated, ("D", "L", "Kp"))},
    "kjr": {"inertia": _ARTICULATED},
}
