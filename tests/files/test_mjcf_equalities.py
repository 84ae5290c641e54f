# SPDX-License-Identifier: BSD-3-Clause
"""MJCF: equalities are constraints that bind what MuJoCo's bind."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import linkwork as lw
from tests.support.mjcf_texts import EQUALITIES, SITES, agrees, body, both, chain, equality, model
from tests.support.mujoco_twin import MujocoTwin


@pytest.mark.parametrize("name", EQUALITIES)
def test_an_equality_binds_what_mujocos_binds(name: str) -> None:
    robot, _ = both(equality(EQUALITIES[name]))
    assert [constraint.name for constraint in robot.constraints] == ["e"]


@pytest.mark.parametrize("name", EQUALITIES)
def test_an_equality_is_violated_by_as_much_as_mujocos(name: str) -> None:
    """Points by their distance, couplings by the same number; of a weld the distance is compared."""
    text = equality(EQUALITIES[name])
    robot = lw.loads(text, "mjcf")
    twin = MujocoTwin(robot, text)
    for seed in range(5):
        q = robot.random(seed)
        ours, (_, theirs, _) = lw.constraint_error(robot, q), twin.equality(q)
        part = slice(3) if "weld" in name else slice(None)
        shift = slice(3, 6) if "weld" in name else slice(None)
        assert np.linalg.norm(ours[shift]) == pytest.approx(np.linalg.norm(theirs[part]), rel=1e-12, abs=1e-14)


@pytest.mark.parametrize(
    "name", [name for name in EQUALITIES if "body1" in EQUALITIES[name] and 'relpose="0.1' not in EQUALITIES[name]]
)
def test_an_equality_of_bodies_holds_in_the_model_as_it_is_drawn(name: str) -> None:
    robot = lw.loads(equality(EQUALITIES[name]), "mjcf")
    np.testing.assert_allclose(lw.constraint_error(robot, robot.poses["qpos0"]), 0, atol=1e-14)


def test_a_weld_holds_where_mujocos_pose_is_met() -> None:
    """The turn, too: at a pose of two free bodies that satisfies MuJoCo's weld, ours is satisfied."""
    weld = '<weld name="e" body1="a" body2="b" relpose="0.1 0.2 0.3 1 0.2 0 0.3" anchor="0.3 0.2 0.1"/>'
    text = model(body("<freejoint/>", "a") + body("<freejoint/>", "b"), "", f"<equality>{weld}</equality>")
    robot = lw.loads(text, "mjcf")
    q = robot.assemble(robot.random(1))
    _, violations, _ = MujocoTwin(robot, text).equality(q)
    np.testing.assert_allclose(violations, 0, atol=1e-10)


def test_a_weld_that_does_not_care_about_turning_is_a_connection() -> None:
    robot = lw.loads(equality('<weld name="e" body1="b1" body2="d" torquescale="0" anchor="0.1 0.2 0.3"/>'), "mjcf")
    assert robot.nc == 3
    agrees(robot, equality('<weld name="e" body1="b1" body2="d" torquescale="0" anchor="0.1 0.2 0.3"/>'))


def test_an_inactive_equality_is_a_constraint_that_is_switched_off() -> None:
    before = '<default><default class="off"><equality active="false"/></default></default>'
    after = (
        '<equality><connect name="a" class="off" body1="b1" anchor="0 0 1"/><weld name="b" body1="d" active="false"/>'
    )
    robot, _ = both(model(SITES, before, after + '<joint name="c" joint1="x"/></equality>'))
    assert [(c.name, c.enabled) for c in robot.constraints] == [("a", False), ("b", False), ("c", True)]
    off = lw.loads(
        model(SITES, '<option><flag equality="disable"/></option>', f"<equality>{EQUALITIES['weld']}</equality>"),
        "mjcf",
    )
    assert not off.constraints[0].enabled


def test_equalities_without_names_get_different_ones() -> None:
    twice = "".join(f'<connect body1="b1" body2="d" anchor="{x} 0 0"/>' for x in (0, 1))
    robot, _ = both(equality(twice + '<joint joint1="x"/>'))
    assert [constraint.name for constraint in robot.constraints] == ["b1:d", "b1:d_1", "x"]


def test_an_equality_between_parts_of_one_rigid_body_is_nothing() -> None:
    world = chain("<joint/>", "") + body("", "base")
    equalities = '<weld body1="b0" body2="b1"/><connect body1="base" anchor="1 2 3"/><joint joint1="j"/>'
    assert (
        lw.loads(
            model(world.replace("<joint/>", '<joint name="j"/>'), "", f"<equality>{equalities}</equality>"), "mjcf"
        ).nc
        == 1
    )


def test_a_robot_with_a_polynomial_of_a_tendon_can_be_stored_and_composed() -> None:
    robot = lw.loads(equality(EQUALITIES["polynomial of a tendon"]), "mjcf")
    q = robot.random(2)
    copy = pickle.loads(pickle.dumps(robot))
    np.testing.assert_array_equal(lw.constraint_error(copy, q), lw.constraint_error(robot, q))
    scene = lw.compose({"left": robot, "right": robot})
    np.testing.assert_allclose(lw.constraint_error(scene, [*q, *q]), [*lw.constraint_error(robot, q)] * 2)
