# SPDX-License-Identifier: BSD-3-Clause
"""Mechanisms under other names, without some bodies, and in a mirror."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.mechanism import Mechanism
from linkwork.mechanism.mirroring import PLANES, mirrored_q, mirrored_v
from tests.support.catalog import SEEDS, bound
from tests.support.states import assert_close


@pytest.mark.parametrize("seed", SEEDS)
def test_names_change_nothing(seed: int) -> None:
    robot = bound(seed)
    other = robot.renamed(lambda name: f"new_{name}", name="other")
    assert other.name == "other"
    assert all(name.startswith("new_") for name in (*other.joint_names, *other.body_names))
    assert [c.name for c in other.constraints] == [f"new_{c.name}" for c in robot.constraints]
    q = robot.normalize(robot.random(seed))
    assert np.array_equal(lw.mass_matrix(other, q), lw.mass_matrix(robot, q))
    assert_close(lw.constraint_jacobian(other, q), lw.constraint_jacobian(robot, q), 1e-14)
    back = other.renamed(lambda name: name.removeprefix("new_"))
    assert (back.joint_names, back.frame_names) == (robot.joint_names, robot.frame_names)


def test_contacts_and_motors_are_renamed() -> None:
    robot = lw.zoo.boxes(2)
    names = {body: f"crate{k}" for k, body in enumerate(robot.body_names)}
    other = robot.renamed(names)
    assert {body for pair in other.contacts for body in pair.bodies} == {"world", "crate0", "crate1"}
    arm = lw.zoo.random_tree(0, bodies=2, kinds="r")
    driven = arm.with_actuators(arm.joint_names[0]).renamed({arm.joint_names[0]: "shoulder"})
    assert (driven.actuators[0].name, driven.actuators[0].joint) == ("shoulder", "shoulder")


def test_names_that_would_collide_or_do_not_exist() -> None:
    robot = lw.zoo.four_bar()
    first, second, *_ = robot.joint_names
    with pytest.raises(lw.errors.InputError, match=f"two joints would be called '{second}'"):
        robot.renamed({first: second})
    with pytest.raises(lw.errors.InputError, match="'nothing' is no body"):
        robot.renamed({"nothing": "x"})


def test_a_robot_without_an_arm() -> None:
    robot = lw.zoo.humanoid()
    last = robot.joints[-1]
    cut = next(j for j in robot.joints if j.child == last.parent)
    small = robot.without_bodies(cut.child)
    assert cut.child not in small.body_names
    assert last.child not in small.body_names
    q = robot.normalize(robot.random(0))
    names = small.joint_names
    in_q = np.concatenate([np.arange(robot.nq)[robot.q_slice(n)] for n in names])
    ours, whole = lw.frame_placement(small, q[in_q], small.body_names), lw.frame_placement(robot, q, small.body_names)
    assert_close(ours.position, whole.position, 1e-13, scale=1.0)
    masses = sum(robot.inertias[b].mass for b in small.body_names)
    assert small.mass == pytest.approx(masses)


def test_what_needs_a_body_goes_with_it() -> None:
    robot = lw.zoo.four_bar()
    small = robot.without_bodies(robot.body_names[-1])
    assert len(small.constraints) < len(robot.constraints)
    boxes = lw.zoo.boxes(3)
    top = boxes.without_bodies(boxes.body_names[-1])
    assert all(boxes.body_names[-1] not in pair.bodies for pair in top.contacts)
    with pytest.raises(lw.errors.InputError, match="'nothing' is no moving body"):
        robot.without_bodies("nothing")


def mirrored_places(robot: Mechanism, q: np.ndarray, plane: str) -> tuple[np.ndarray, np.ndarray]:
    """Where frames are in the mirror."""
    S = np.ones(3)
    S[PLANES[plane]] = -1.0
    seen = lw.frame_placement(robot, q, robot.frame_names)
    return S * seen.position, S[:, None] * seen.rotation * S


@pytest.mark.parametrize("plane", PLANES)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_mirror_shows_the_same_motion(seed: int, plane: str) -> None:
    robot = bound(seed)
    image = robot.mirrored(plane)
    q = robot.normalize(robot.random(seed))
    v, a = np.random.default_rng(seed).normal(size=(2, robot.nv))
    own_q, own_v, own_a = mirrored_q(robot, q, plane), mirrored_v(robot, v, plane), mirrored_v(robot, a, plane)
    position, rotation = mirrored_places(robot, q, plane)
    seen = lw.frame_placement(image, own_q, image.frame_names)
    assert_close(seen.position, position, 1e-12, scale=1.0)
    assert_close(seen.rotation, rotation, 1e-12)
    tau = lw.InverseDynamics(robot.unconstrained())(q, v, a)
    ours = lw.InverseDynamics(image.unconstrained())(own_q, own_v, own_a)
    assert_close(ours, mirrored_v(robot, tau, plane), 1e-11)
    # rows may turn among themselves, but what they measure stays as large
    for constraint in robot.constraints:
        rows = robot.row_slice(constraint.name)
        sizes = [np.linalg.norm(lw.constraint_error(r, x)[rows]) for r, x in ((robot, q), (image, own_q))]
        assert_close(sizes[1], sizes[0], 1e-10, scale=1.0)
    again = image.mirrored(plane)
    assert_close(lw.mass_matrix(again, q), lw.mass_matrix(robot, q), 1e-12)


def test_contacts_in_a_mirror() -> None:
    robot = lw.zoo.boxes_on_slope(2)
    image = robot.mirrored("yz")
    q = robot.poses["assembled"]
    v = np.random.default_rng(1).normal(size=robot.nv) * 0.1
    ours = lw.Stepper(image)(mirrored_q(robot, q, "yz"), mirrored_v(robot, v, "yz"), steps=5)
    whole = lw.Stepper(robot)(q, v, steps=5)
    assert_close(ours.q, mirrored_q(robot, whole.q, "yz"), 1e-8, scale=1.0)


def test_an_unknown_plane() -> None:
    with pytest.raises(lw.errors.InputError, match="needs one of xy, xz, yz"):
        lw.zoo.four_bar().mirrored("zx")
