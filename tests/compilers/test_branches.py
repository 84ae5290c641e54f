# SPDX-License-Identifier: BSD-3-Clause
"""Branches in straight-line programs: what one side of a select alone needs is skipped where no lane asks for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.compilers.trace.branches import Branch, scheduled
from linkwork.compilers.trace.tracing import trace
from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.scalar import any_below, kernel, sqrt, where
from linkwork.plans.tree import tree_of
from linkwork.quantities.evaluator import ProgramEvaluator

ROUNDS = 300


@kernel
def long_sum(x: Any) -> Any:
    """Something that takes many operations."""
    y = x
    for k in range(ROUNDS):
        y = 0.5 * y + sqrt(y * y + float(k) + x * x)
    return y


@kernel
def refined(tree: Any, w: Any, q: Any, limits: Any, out: Any) -> None:
    """Two corrections, each where the sum so far exceeds a limit; the second depends on the first."""
    total = 2.0 * q[0]
    out[1] = 0.0
    for k in range(2):
        if any_below(limits[k] - total, 0.0):
            before = total
            more = long_sum(total)
            out[1] = where(limits[k], before, out[1] + more, out[1])
            total = where(limits[k], before, before - 0.1 * more, before)
    out[0] = total
    # the same condition again, of numbers that depend on what it chose before
    again = long_sum(out[1])
    out[2] = where(limits[0], 2.0 * q[0], again, total)


REFINED = Algorithm("refined", refined, {"q": ("nq",), "limits": (2,)}, {"out": (3,)}, {})


@pytest.fixture(scope="module")
def evaluator() -> ProgramEvaluator:
    return ProgramEvaluator(lw.zoo.pendulum(1), "refined", REFINED, tree_of)


def test_corrections_are_behind_branches(evaluator: ProgramEvaluator) -> None:
    program = trace(evaluator.program.algorithm, evaluator.program.tree)
    order = scheduled(program)
    branches = [item for item in order if isinstance(item, Branch)]
    assert len(branches) == 3 - 1  # the third has the condition of the first, and needs its results
    nodes = [i for item in order for i in ((*item.body, *item.selects) if isinstance(item, Branch) else (item,))]
    assert sorted(nodes) == sorted(program.needed())
    inside = {i for branch in branches for i in branch.body}
    assert len(inside) > 2 * ROUNDS
    seen: set[int] = set()
    for item in order:  # operands come first
        if isinstance(item, Branch):
            assert set(item.externals) <= seen
            seen.update(item.selects)
        else:
            seen.add(item)


@pytest.mark.parametrize("lanes", [1, 2, 8])
def test_lanes_that_need_a_branch_do_not_disturb_others(evaluator: ProgramEvaluator, lanes: int) -> None:
    rng = np.random.default_rng(0)
    q, limits = rng.uniform(-1.0, 1.0, (37, 1)), rng.uniform(-2.0, 2.0, (37, 2))
    limits[8:16] = 10.0  # a whole vector that needs none
    compiled = evaluator.compile(lanes=lanes)
    expected = evaluator.plain()(q, limits)
    np.testing.assert_allclose(compiled(q, limits), expected, rtol=1e-12)
    np.testing.assert_allclose(compiled(q[3], limits[3]), expected[3], rtol=1e-12)
    needed = (expected[:, 1] != 0.0).mean()
    assert 0.2 < needed < 0.8
