# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of constrained dynamics by articulated bodies: the same as by paths, operations growing as n² m."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.compilers.backends import runner_for
from linkwork.compilers.program import Backend, Program
from linkwork.dynamics.jacobians.constrained import ConstrainedDerivatives
from linkwork.dynamics.jacobians.trees import FEWER
from linkwork.dynamics.rows.dependence import rows_depend
from linkwork.kernels.algorithm import resolve
from linkwork.kernels.derivatives.constrained import CONSTRAINED_DERIVATIVES
from linkwork.kernels.derivatives.constrained_articulated import CONSTRAINED_ARTICULATED_DERIVATIVES
from linkwork.mechanism import Mechanism
from linkwork.plans.constrained_articulated_derivatives import constrained_articulated_tree, constrained_products
from linkwork.plans.constraint_derivatives import derivative_tree
from tests.dynamics.test_constrained_derivatives import CASES, INDEPENDENT
from tests.support import catalog, linkages
from tests.support.states import Floats, assert_close, random_state

EPS = float(np.finfo(float).eps)
PATHS = CONSTRAINED_DERIVATIVES, derivative_tree
BODIES = CONSTRAINED_ARTICULATED_DERIVATIVES, constrained_articulated_tree
Text = tuple[Any, Callable[..., Any]]
BY_BOTH = [
    name for name in CASES if not any(isinstance(c, lw.constraints.TendonCoupling) for c in CASES[name]().constraints)
]
"""Mechanisms without tendons that follow others: derivatives of these are by paths."""


def held(links: int, kind: type[lw.constraints.Point] | type[lw.constraints.Weld] = lw.constraints.Weld) -> Mechanism:
    """A chain whose tip is held where a bent posture has it."""
    chain = lw.zoo.serial_chain(links)
    return chain.constrained(kind("world", chain.body_names[-1], name="tip"), at=chain.neutral() + 0.3)


def by_text(robot: Mechanism, text: Text, state: tuple[Floats, ...], backend: str = "plain", **options: Any) -> Any:
    """All results of one of the texts, but pivots; ``options`` are those of `ConstrainedDerivatives`."""
    evaluator = ConstrainedDerivatives(robot, **options)
    inputs = evaluator.input_arrays(state)
    program = Program.of_robot(robot, text[0], text[1](robot, evaluator.frames, soft=evaluator.method == "pv_soft"))
    results = runner_for(program, Backend(backend)).evaluate(list(inputs), [None] * len(program.algorithm.outputs))
    return results[:-1]


def assert_same(robot: Mechanism, q: Floats, found: Any, expected: Any, factor: float = 64.0) -> None:
    """Within rounding times the conditions of the mass matrix and of the rows in its metric."""
    M, J = lw.mass_matrix(robot, q), lw.constraint_jacobian(robot, q)
    rows = np.linalg.solve(np.linalg.cholesky(M), J.T)
    size = np.linalg.norm(rows, axis=0)
    values = np.linalg.svd(rows / np.where(size > 0.0, size, 1.0), compute_uv=False)
    condition = np.linalg.cond(M) * values[0] / values[values > INDEPENDENT * values[0]][-1]
    inverse = float(np.abs(np.linalg.inv(M)).max())  # of motion without constraints, where these leave none
    scales = [inverse * float(np.abs(M @ x).max()) for x in expected[:2]] + [inverse]
    scales = [*scales, *[0.0] * (len(expected) - len(scales))]
    for x, y, scale in zip(found, expected, scales, strict=True):
        assert_close(x, y, factor * EPS * condition, scale)


@pytest.mark.parametrize("name", BY_BOTH)
def test_both_texts_agree_on_constraints_of_every_kind(name: str) -> None:
    """Loops of one and of several bodies, couplings by functions, centers of mass; redundant rows and others."""
    robot = CASES[name]()
    s = random_state(robot, 7)
    state = s.q, s.v, s.tau
    assert_same(robot, s.q, by_text(robot, BODIES, state), by_text(robot, PATHS, state))


@pytest.mark.parametrize("seed", range(24))
def test_both_texts_agree_on_random_mechanisms(seed: int) -> None:
    robot = lw.zoo.random_loops(seed, bodies=3 + seed % 8, loops=1 + seed % 4)
    s = random_state(robot, seed)
    W = np.random.default_rng(seed).normal(size=(2, 6))
    state, frames = (s.q, s.v, s.tau, W), robot.body_names[-2:]
    expected = by_text(robot, PATHS, state, wrenches=frames)
    assert_same(robot, s.q, by_text(robot, BODIES, state, wrenches=frames), expected)


@pytest.mark.parametrize("seed", [0, 1])
def test_both_texts_agree_on_every_constraint_by_itself(seed: int) -> None:
    """One of each kind, between random places on random trees."""
    s = random_state(catalog.bound(seed), seed)
    for constraint in catalog.constraints(seed):
        if isinstance(constraint, lw.constraints.TendonCoupling):
            continue
        robot = catalog.free_tree(seed).constrained(constraint)
        state = s.q, s.v, s.tau
        assert_same(robot, s.q, by_text(robot, BODIES, state), by_text(robot, PATHS, state))


def test_soft_rows_are_soft_by_both_texts() -> None:
    robot = linkages.hexapod()
    s = random_state(robot, 3)
    state = s.q, s.v, s.tau
    soft: dict[str, Any] = {"method": "pv_soft", "regularization": 0.1}
    assert_same(robot, s.q, by_text(robot, BODIES, state, **soft), by_text(robot, PATHS, state, **soft))


def test_straight_line_programs_and_native_code_agree_with_the_text() -> None:
    robot = held(7, lw.constraints.Point)
    s = random_state(robot, 1)
    state = s.q, s.v, s.tau
    expected = by_text(robot, BODIES, state)
    for backend in ("native", "specialized"):
        assert_same(robot, s.q, by_text(robot, BODIES, state, backend), expected)


@pytest.mark.parametrize("name", ["RSSR", "functions", "all kinds", "four-bar, weld"])
def test_text_reads_no_memory_that_it_has_not_written(name: str) -> None:
    """Work and outputs start as NaN, which would spread."""
    robot = CASES[name]()
    s, (algorithm, plan) = random_state(robot, 4), BODIES
    tree = plan(robot)
    work = algorithm.work_type(*(np.full(resolve(shape, tree), np.nan) for shape in algorithm.work.values()))
    outputs = [np.full(resolve(shape, tree), np.nan) for shape in algorithm.outputs.values()]
    algorithm.text(tree, work, *ConstrainedDerivatives(robot).input_arrays((s.q, s.v, s.tau)), *outputs)
    assert all(np.isfinite(y).all() for y in outputs)


@pytest.mark.filterwarnings("ignore::linkwork.errors.StateWarning")
def test_deep_chains_take_articulated_bodies_in_every_call() -> None:
    robot = held(40)
    fd = lw.ForwardDynamics(robot, threads=1)
    assert fd.derivatives.program.algorithm is CONSTRAINED_ARTICULATED_DERIVATIVES
    assert ConstrainedDerivatives(held(16)).program.algorithm is CONSTRAINED_DERIVATIVES
    s = random_state(robot, 2, 9)
    batch = fd.derivatives(s.q, s.v, s.tau)
    state = s.q[4], s.v[4], s.tau[4]
    expected, one = by_text(robot, PATHS, state), fd.derivatives(*state)
    out = [np.empty_like(x) for x in one]
    fd.derivatives.bind(*state, out=out)()
    for found in (one, [x[4] for x in batch], out):
        assert_same(robot, s.q[4], found[:-1], expected)
    assert_close(one.a, fd(*state).acceleration, 1e-9)


def test_ropes_of_deep_chains_take_paths() -> None:
    chain = lw.zoo.serial_chain(40).with_frame("hook", "world", (0.4, 0.2, -0.3))
    rope = lw.constraints.TendonCoupling(
        lw.tendons.Tendon("rope", path=("hook", chain.body_names[20], chain.body_names[-1]))
    )
    robot = chain.constrained(rope, at=chain.neutral() + 0.3)
    assert ConstrainedDerivatives(robot).program.algorithm is CONSTRAINED_DERIVATIVES


def test_parameters_are_inputs_of_articulated_bodies() -> None:
    robot = held(40, lw.constraints.Point)
    derivatives = ConstrainedDerivatives(robot, parameters=["mass"], threads=1)
    assert derivatives.program.algorithm.name == "constrained_articulated_derivatives_of_mass"
    s = random_state(robot, 0)
    found = derivatives.plain()(s.q, s.v, s.tau)
    assert_same(robot, s.q, found[:-1], by_text(robot, PATHS, (s.q, s.v, s.tau)))


def operations(robot: Mechanism, text: Text) -> int:
    program = Program.of_robot(robot, text[0], text[1](robot, redundant=rows_depend(robot)))
    return len(program.trace(10**7).reached())


@pytest.mark.parametrize("kind", [lw.constraints.Point, lw.constraints.Weld])
def test_operations_of_held_chains_grow_as_their_squares(kind: Any) -> None:
    counts = [operations(held(n, kind), BODIES) / n**2 for n in (10, 20, 40)]
    assert counts[0] > counts[1] > counts[2]


DEEP: dict[str, Callable[[], Mechanism]] = {
    "held chain": lambda: held(36),
    "chain held at a point": lambda: held(36, lw.constraints.Point),
    "loop": lambda: lw.zoo.single_loop(36),
    "gears": lambda: lw.zoo.serial_chain(36).constrained(
        *(lw.constraints.Gear(f"joint{k}", f"joint{k + 1}", 2.0, name=f"gear{k}") for k in range(0, 36, 4))
    ),
}
SHALLOW: dict[str, Callable[[], Mechanism]] = {
    "short held chain": lambda: held(12),
    "balanced chain": lambda: lw.zoo.serial_chain(24).constrained(lw.constraints.CenterOfMass(axes="xy")),
    "standing humanoid": linkages.standing,
    "stewart platform": lw.zoo.stewart,
    "ladder": lambda: lw.zoo.ladder(3),
}


@pytest.mark.parametrize("name", [*DEEP, *SHALLOW])
def test_the_text_that_is_chosen_has_fewer_operations(name: str) -> None:
    robot = (DEEP | SHALLOW)[name]()
    by_paths, by_bodies = constrained_products(derivative_tree(robot))
    assert (by_bodies < FEWER * by_paths) == (name in DEEP)
    fewer, more = (BODIES, PATHS) if name in DEEP else (PATHS, BODIES)
    assert operations(robot, fewer) < operations(robot, more)
