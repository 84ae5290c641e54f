# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of forward dynamics by articulated bodies: the same as by paths, operations growing as results do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.compilers.backends import runner_for
from linkwork.compilers.program import Backend, Program
from linkwork.dynamics.jacobians.trees import ForwardDerivatives
from linkwork.kernels.derivatives.aba import ABA_DERIVATIVES
from linkwork.kernels.derivatives.articulated import ARTICULATED_DERIVATIVES
from linkwork.mechanism import Mechanism
from linkwork.plans.aba_derivatives import path_tree
from linkwork.plans.articulated_derivatives import articulated_tree, products
from linkwork.plans.tree import tree_of
from tests.support.states import Floats, assert_close, random_state

EPS = float(np.finfo(float).eps)

BRANCHED: dict[str, Callable[[], Mechanism]] = {
    "pendulum": lambda: lw.zoo.pendulum(3),
    "floating limbs": lw.zoo.humanoid,
    "several roots": lw.zoo.stewart,
    "boxes, each a root": lambda: lw.zoo.stack(3),
    "twigs": lambda: twigs(5),
}


def twigs(size: int) -> Mechanism:
    """A chain with a link of its own at every joint: deep, and branching everywhere."""
    rng, b, parent = np.random.default_rng(size), lw.Builder(f"chain of {size} with twigs"), "world"
    for k in range(size):
        for name in (f"twig {k}", f"link {k}"):
            b.body(name, lw.Inertia.box(1.0, (0.1, 0.2, 0.3), com=tuple(rng.normal(size=3) / 10)))
            b.joint(name, lw.joints.Revolute("xyz"[k % 3]), parent, name, at=(0.1, 0.0, 0.3))
        parent = f"link {k}"
    return b.build()


def by_text(robot: Mechanism, algorithm: Any, plan: Callable[..., Any], inputs: Any, backend: str = "plain") -> Any:
    """All results of one of the texts."""
    frames = robot.body_names[-2:] if len(inputs[3]) else ()
    runner = runner_for(Program.of_robot(robot, algorithm, plan(robot, frames)), Backend(backend))
    return runner.evaluate(list(inputs), [None] * 4)


def state_of(robot: Mechanism, seed: int, wrenches: int = 0) -> tuple[Floats, ...]:
    """A random state, and random wrenches on some bodies."""
    s = random_state(robot, seed)
    return s.q, s.v, s.tau, np.random.default_rng(seed).normal(size=(wrenches, 6))


@pytest.mark.parametrize("seed", range(12))
def test_both_texts_agree_on_trees_over_all_joints(seed: int) -> None:
    robot = lw.zoo.random_tree(seed, bodies=2 + seed % 7, armature=seed % 2 == 1)
    inputs = state_of(robot, seed, wrenches=min(2, len(robot.body_names)))
    expected = by_text(robot, ABA_DERIVATIVES, path_tree, inputs)
    found = by_text(robot, ARTICULATED_DERIVATIVES, articulated_tree, inputs)
    condition = np.linalg.cond(lw.mass_matrix(robot, inputs[0]))
    for x, y in zip(found, expected, strict=True):
        assert_close(x, y, 64 * EPS * condition)


@pytest.mark.parametrize("name", BRANCHED)
def test_both_texts_agree_where_trees_branch(name: str) -> None:
    robot = BRANCHED[name]()
    inputs = state_of(robot, 1)
    condition = np.linalg.cond(lw.mass_matrix(robot, inputs[0]))
    expected = by_text(robot, ABA_DERIVATIVES, path_tree, inputs)
    for x, y in zip(by_text(robot, ARTICULATED_DERIVATIVES, articulated_tree, inputs), expected, strict=True):
        assert_close(x, y, 64 * EPS * condition)


def test_deep_chains_take_articulated_bodies_for_one_state_and_in_batches() -> None:
    robot = lw.zoo.serial_chain(40)
    derivatives = ForwardDerivatives(robot, threads=1)
    assert derivatives.program.algorithm is ARTICULATED_DERIVATIVES
    states = [state_of(robot, seed) for seed in range(9)]
    batch = derivatives(*(np.stack([s[k] for s in states]) for k in range(3)))
    for n, s in enumerate(states[:2]):
        expected = by_text(robot, ABA_DERIVATIVES, path_tree, s)
        condition = np.linalg.cond(lw.mass_matrix(robot, s[0]))
        for one, many, y in zip(derivatives(*s[:3]), batch, expected, strict=True):
            assert_close(one, y, 64 * EPS * condition)
            assert_close(many[n], y, 64 * EPS * condition)


def test_parameters_are_inputs_of_articulated_bodies() -> None:
    robot = lw.zoo.serial_chain(32)
    derivatives = ForwardDerivatives(robot, parameters=["mass"], threads=1)
    assert derivatives.program.algorithm.name == "articulated_derivatives_of_mass"
    inputs = state_of(robot, 0)
    expected = by_text(robot, ABA_DERIVATIVES, path_tree, inputs)
    condition = np.linalg.cond(lw.mass_matrix(robot, inputs[0]))
    for x, y in zip(derivatives.plain()(*inputs[:3]), expected, strict=True):
        assert_close(x, y, 64 * EPS * condition)


@pytest.mark.parametrize(("make", "sizes"), [(lw.zoo.serial_chain, (10, 20, 40)), (twigs, (8, 12, 20))])
def test_operations_grow_as_results_do(make: Callable[[int], Mechanism], sizes: tuple[int, ...]) -> None:
    counts = []
    for size in sizes:
        robot = make(size)
        program = Program.of_robot(robot, ARTICULATED_DERIVATIVES, articulated_tree(robot))
        counts.append(len(program.trace(10**7).reached()) / robot.nv**2)
    assert counts[0] > counts[1] > counts[2]


@pytest.mark.parametrize("size", [16, 24])
def test_products_tell_which_text_has_fewer_operations(size: int) -> None:
    robot = lw.zoo.serial_chain(size)
    texts = ((ABA_DERIVATIVES, path_tree), (ARTICULATED_DERIVATIVES, articulated_tree))
    counted = [len(Program.of_robot(robot, text, plan(robot)).trace(10**7).reached()) for text, plan in texts]
    by_paths, by_bodies = products(tree_of(robot))
    assert by_bodies / by_paths == pytest.approx(counted[1] / counted[0], rel=0.15)
