# SPDX-License-Identifier: BSD-3-Clause
"""Operators on the columns of a matrix: a factor of one state, vectors in lanes; contact points in patches."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest

import linkwork as lw
from linkwork.compilers.workspace import Workspace
from linkwork.dynamics.delassus import Delassus
from linkwork.dynamics.delassus.linear import LEAST_COLUMNS, NUMBERS
from linkwork.errors import KernelError
from linkwork.kernels.constrained import delassus as texts
from linkwork.mechanism import Mechanism
from linkwork.plans.delassus import damped_tree, delassus_tree
from tests.support import linkages
from tests.support.states import Floats, assert_close


def mixed() -> Mechanism:
    """Points between moving bodies along turned axes, open ones among them, beside every other kind of rows."""
    robot = lw.zoo.random_loops(4, bodies=8, loops=6)
    rng, names = np.random.default_rng(1), robot.body_names
    more: list[lw.constraints.Constraint] = []
    for k in range(9):
        first, second = rng.choice([*names, "world"], 2, replace=False)
        at = {"first_at": lw.zoo.random_placement(rng), "second_at": lw.zoo.random_placement(rng)}
        more += [lw.constraints.Point(str(first), str(second), name=f"point{k}", **at)]
        more += [lw.constraints.Point(str(first), str(second), name=f"beside{k}", first_at=(0.1 * k, 0.0, 0.2))]
    bound = robot.constrained(*more, lw.constraints.CenterOfMass(axes="xz", name="com"))
    return replace(bound, poses={})


SYSTEMS: dict[str, Callable[[], Mechanism]] = {
    "mixed": mixed,
    "quadruped with friction": partial(lw.zoo.quadruped_fallen, True),
    "stack": partial(lw.zoo.stack, 3),
    "pyramid": partial(lw.zoo.pyramid, 2),
    "swimmer": partial(lw.zoo.swimmer, 4),
    "gears": partial(linkages.made, "gears"),
    "four-bar": lw.zoo.four_bar,
}
each_system = pytest.mark.parametrize("name", SYSTEMS)
COUNTS = (1, 2, 7, 8, 9, 40)


@cache
def made(name: str) -> Mechanism:
    return SYSTEMS[name]()


def posed(name: str) -> Floats:
    robot = made(name)
    return robot.random(np.random.default_rng(len(name)))  # loops are open there: lever arms differ


@each_system
def test_the_operator_and_its_parts_are_those_of_dense_algebra(name: str) -> None:
    robot, q = made(name), posed(name)
    J, M = lw.constraint_jacobian(robot, q), lw.mass_matrix(robot, q)
    op = Delassus(robot).at(q)
    assert_close(op @ np.eye(robot.nc), J @ np.linalg.solve(M, J.T), 1e-10)
    assert_close(op.jacobian @ np.eye(robot.nv), J, 1e-12)
    assert_close(op.jacobian.T @ np.eye(robot.nc), J.T, 1e-12)
    assert_close(op.error, lw.constraint_error(robot, q), 1e-12, scale=1.0)


@each_system
def test_columns_are_single_vectors(name: str) -> None:
    """Of all operators, whatever the number of columns and however many of them fill the lanes."""
    robot, rng = made(name), np.random.default_rng(2)
    op = Delassus(robot).at(posed(name))
    for operator in (op, op.damped_inverse(0.1), op.jacobian, op.jacobian.T, op.response, op.inverse_mass):
        for count in COUNTS:
            X = rng.normal(size=(operator.shape[1], count))
            expected = np.stack([operator @ x for x in X.T], axis=1)
            assert_close(operator @ X, expected, 1e-12)
            assert_close(operator @ np.asfortranarray(X), expected, 1e-12)


def test_many_columns_are_taken_some_at_a_time() -> None:
    robot = made("stack")
    op, count = Delassus(robot).at(posed("stack")), 3 * NUMBERS // robot.nc + 5
    X = np.random.default_rng(3).normal(size=(robot.nc, count))
    assert count > NUMBERS // robot.nc > LEAST_COLUMNS
    D = op.toarray()
    assert_close(op @ X, D @ X, 1e-12)
    assert_close(op @ (X + 2j * X), D @ X * (1 + 2j), 1e-12)
    assert (op @ X[:, :0]).shape == (robot.nc, 0)


def test_each_column_is_refined_as_often_as_it_needs() -> None:
    """Columns of one block need none, some, or most refinements: none changes what its neighbors get."""
    robot = lw.zoo.quadruped_standing()
    op = Delassus(robot).at(robot.poses["assembled"])
    inverse = op.damped_inverse(1e-8)
    felt = op @ np.random.default_rng(4).normal(size=(robot.nc, 4))
    X = np.concatenate([felt, np.random.default_rng(5).normal(size=(robot.nc, 4)), 0 * felt], axis=1)
    found = inverse @ X
    for k in range(X.shape[1]):
        assert_close(found[:, k], inverse @ X[:, k], 1e-9)
        assert_close(inverse @ np.stack([X[:, k]] * 8, axis=1), np.stack([found[:, k]] * 8, axis=1), 1e-9)


def test_contacts_that_were_moved_are_moved_in_lanes_too() -> None:
    boxes = lw.zoo.stack(2)
    contacts = lw.contact.Contacts(boxes.unconstrained())
    rng, q = np.random.default_rng(6), boxes.poses["assembled"]
    corners = np.array([[x, y, 0.2] for x in (-0.1, 0.1) for y in (-0.1, 0.1)])
    X = rng.normal(size=(12, 9))
    for shift in (0.0, 0.03):
        turned = np.stack([lw.zoo.random_placement(rng).rotation for _ in range(4)])
        op = contacts.at(q, [("box0", "box1")] * 4, corners + shift, turned)
        assert_close(op @ X, np.stack([op @ x for x in X.T], axis=1), 1e-12)
        inverse = op.damped_inverse(0.1)
        assert_close(inverse @ (op @ X + 0.1 * X), X, 1e-9)


def test_threads_have_lanes_of_their_own() -> None:
    robot = made("pyramid")
    op = Delassus(robot).at(posed("pyramid"))
    inverse, X = op.damped_inverse(0.1), np.random.default_rng(7).normal(size=(16, robot.nc, 24))
    expected = [inverse @ (op @ x) for x in X]
    with ThreadPoolExecutor(4) as pool:
        for found, wanted in zip(pool.map(lambda x: inverse @ (op @ x), X), expected, strict=True):
            assert_close(found, wanted, 0.0)


# Patches -------------------------------------------------------------------------------------------------------------


def test_points_of_the_same_bodies_are_one_patch() -> None:
    tree = delassus_tree(lw.zoo.pyramid(3))
    assert (tree.npatches, tree.npoints, tree.nk, tree.npairs) == (9 + 4 * 5, 4 * 29, 0, 0)
    assert sorted(tree.point_row.tolist()) == list(range(0, tree.nc, 3))
    assert not tree.point_rotated.any() and delassus_tree(lw.zoo.pyramid(3), moving=True).point_rotated.all()


def test_other_rows_stay_rows_of_K() -> None:
    robot = made("mixed")
    tree, damped = delassus_tree(robot), damped_tree(robot)
    points = {r for row in tree.point_row.tolist() for r in range(row, row + 3)}
    assert len(points) == 3 * tree.npoints > 0
    assert not points & set(tree.k_row.tolist())
    assert points | set(tree.k_row.tolist()) | set(tree.term_row.tolist()) == set(range(robot.nc))
    assert not points & set(damped.k_row[damped.other_k].tolist())


def test_a_shared_array_cannot_be_written() -> None:
    """Or lanes would write where others read."""
    wrong = replace(texts.APPLY_DELASSUS, name="wrong", shared=(*texts.FACTOR, "f"))
    family = Delassus(lw.zoo.stack(1))
    program = family.product.program
    with pytest.raises(KernelError, match="read-only"):
        Workspace(program, (wrong,))
