# SPDX-License-Identifier: BSD-3-Clause
"""Contacts as data: the same operator as with constraints in the robot, and nothing made twice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.model.constraints import WORLD, Pair
from linkwork.model.placement import as_placement
from linkwork.zoo import ASSEMBLED

Floats = npt.NDArray[np.float64]


def as_data(scene: lw.Mechanism, q: Floats) -> tuple[list[tuple[str, str]], Floats]:
    """The pairs of bodies of a scene's points, and where they are in the world at ``q``."""
    bodies, points = [], []
    for c in scene.constraints:
        if isinstance(c, lw.constraints.Point):
            body, at = (c.second, c.second_at) if c.second != WORLD else (c.first, c.first_at)
            pose = lw.frame_placement(scene, q, body)
            points.append(pose.position + pose.rotation @ as_placement(at).position)
            bodies.append((scene.frames[c.first].body, scene.frames[c.second].body))
    return bodies, np.array(points).reshape(-1, 3)


def bare(scene: lw.Mechanism) -> lw.Mechanism:
    """A scene without its points."""
    return replace(scene, constraints=tuple(c for c in scene.constraints if not isinstance(c, Pair)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda: zoo.stack(4),
        lambda: zoo.pyramid(3),
        lambda: zoo.swimmer(4),
        lambda: zoo.quadruped_fallen(joint_friction=True),
        lambda: zoo.humanoid_standing(),
        lambda: zoo.robots_on_pyramid(),
    ],
)
def test_same_as_constraints(make: object) -> None:
    scene: lw.Mechanism = make()  # type: ignore[operator]
    q = scene.poses[ASSEMBLED]
    points = [c for c in scene.constraints if isinstance(c, lw.constraints.Point)]
    order = [c for c in scene.constraints if not isinstance(c, lw.constraints.Point)] + points
    scene = replace(scene, constraints=tuple(order))
    bodies, at = as_data(scene, q)
    D = lw.contact.Contacts(bare(scene)).at(q, bodies, at, axes=axes_of(scene, q))
    known = lw.Delassus(scene).at(q)
    f = np.random.default_rng(0).normal(size=scene.nc)
    assert D.shape == known.shape
    np.testing.assert_allclose(D @ f, known @ f, rtol=0, atol=1e-11 * np.abs(known @ f).max())
    back = known.damped_inverse(0.1) @ f
    np.testing.assert_allclose(D.damped_inverse(0.1) @ f, back, rtol=0, atol=1e-10 * np.abs(back).max())
    np.testing.assert_allclose(D.diagonal(), known.diagonal(), rtol=1e-10, atol=1e-10)


def axes_of(scene: lw.Mechanism, q: Floats) -> Floats:
    """Points look along the axes of their first body."""
    found = []
    for c in scene.constraints:
        if isinstance(c, lw.constraints.Point):
            turn = as_placement(c.first_at).rotation
            pose = np.eye(3) if c.first == WORLD else lw.frame_placement(scene, q, c.first).rotation
            found.append(pose @ turn)
    return np.array(found)


def test_axes_turn_rows() -> None:
    """Rows along other directions are turned rows; by default they are along the world's axes."""
    scene = zoo.quadruped_standing()
    q = scene.poses[ASSEMBLED]
    bodies, at = as_data(scene, q)
    contacts = lw.contact.Contacts(bare(scene))
    rng = np.random.default_rng(1)
    turns = np.array([np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in bodies])
    turns *= np.sign(np.linalg.det(turns))[:, None, None]
    plain, turned = contacts.at(q, bodies, at).toarray(), contacts.at(q, bodies, at, turns).toarray()
    T = np.zeros_like(plain)
    for k, turn in enumerate(turns):
        T[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = turn
    np.testing.assert_allclose(turned, T.T @ plain @ T, rtol=0, atol=1e-12 * np.abs(plain).max())


def test_plans_are_kept_and_memory_reused() -> None:
    scene = zoo.stack(3)
    q = scene.poses[ASSEMBLED]
    bodies, at = as_data(scene, q)
    contacts = lw.contact.Contacts(bare(scene), known=2)
    first = contacts.at(q, bodies, at)
    before = first @ np.ones(first.shape[0])
    family = first._family
    moved = contacts.at(q, bodies, at + 0.01)
    assert moved._family is family
    assert np.abs(moved @ np.ones(first.shape[0]) - before).max() > 1e-3
    np.testing.assert_array_equal(first @ np.ones(first.shape[0]), before)  # operators do not change
    del first, moved
    held = family.operator_memory._idle
    made = {id(x) for x in held}
    for k in range(20):
        contacts.at(q, bodies, at + 1e-3 * k) @ before
    assert {id(x) for x in held} <= made
    assert contacts.plans == 1
    contacts.at(q, bodies[:4], at[:4])
    contacts.at(q, bodies[4:], at[4:])
    assert contacts.plans == 2
    assert contacts.at(q, bodies, at)._family is not family
    assert contacts.at(q, [list(b) for b in bodies], at).shape == (len(before), len(before))  # type: ignore[misc]
    assert contacts.plans == 2


def test_no_contact_leaves_the_robots_own_rows() -> None:
    robot = bare(zoo.quadruped_standing(joint_friction=True))
    q = robot.poses[ASSEMBLED]
    D = lw.contact.Contacts(robot).at(q, [], np.zeros((0, 3)))
    np.testing.assert_allclose(D.toarray(), lw.Delassus(robot).at(q).toarray(), atol=1e-12)


def test_bad_contacts_are_explained() -> None:
    robot = bare(zoo.stack(2))
    q = robot.poses[ASSEMBLED]
    contacts = lw.contact.Contacts(robot)
    wrong = [
        ([("box0", "box9")], [[0, 0, 0]], "no body 'box9'"),
        ([("box0", "box0")], [[0, 0, 0]], "with itself"),
        ([("box0",)], [[0, 0, 0]], "two bodies"),
        ([("box0", ["box1"])], [[0, 0, 0]], "no body"),
        ([("box0", "box1")], [[0, 0]], "points"),
        ([("box0", "box1")], [[0, 0, np.nan]], "NaN"),
        ([], np.zeros((0, 3)), "no rows"),
    ]
    for bodies, points, words in wrong:
        with pytest.raises(lw.errors.InputError, match=words):
            contacts.at(q, bodies, points)  # type: ignore[arg-type]
    with pytest.raises(lw.errors.InputError, match="rotations"):
        contacts.at(q, [("box0", "box1")], [[0, 0, 0]], axes=[2 * np.eye(3)])
    with pytest.raises(lw.errors.InputError, match="q has"):
        contacts.at(q[:-1], [("box0", "box1")], [[0, 0, 0]])
    with pytest.raises(lw.errors.InputError, match="Mechanism"):
        lw.contact.Contacts("robot")  # type: ignore[arg-type]
