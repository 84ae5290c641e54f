# SPDX-License-Identifier: BSD-3-Clause
"""Loops seen from the tree: supports, roots and groups, on hand-made mechanisms and by brute force on random ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkwork as lw
from linkwork.mechanism import Mechanism
from linkwork.model.constraints import Constraint
from linkwork.plans.loops import loops_of
from tests.support.catalog import NAMES, SEEDS, bound
from tests.support.states import random_state

BOX = lw.Inertia.box(1.5, (0.1, 0.2, 0.3), com=(0.05, -0.1, 0.2))


def tree(text: str) -> Mechanism:
    """A tree of revolute joints from ``"a<world b<a ..."``; the joint to ``a`` is ``ja``."""
    build = lw.Builder("tree")
    for k, pair in enumerate(text.split()):
        child, parent = pair.split("<")
        build.body(child, BOX).joint(f"j{child}", lw.joints.Revolute("xyz"[k % 3]), parent, child, (0.1, 0.2, 0.3))
    return build.frame("tip", on=text.split()[-1][0], at=(0, 0, 1)).build()


FORK = "a<world b<a c<b d<a e<d f<world"
"""Two arms b - c and d - e on the body a, and f beside it."""

LOOPS: dict[str, tuple[Constraint, str, str]] = {
    "between two arms": (lw.constraints.Point("c", "e"), "a", "jb jc jd je"),
    "along one arm": (lw.constraints.Weld("a", "c"), "a", "jb jc"),
    "to the world": (lw.constraints.Hinge("world", "c"), "world", "ja jb jc"),
    "from the world": (lw.constraints.Rod("d", "world", length=1.0), "world", "ja jd"),
    "between two trees": (lw.constraints.Slider("e", "f"), "world", "ja jd je jf"),
    "between neighbors": (lw.constraints.Cardan("b", "a"), "a", "jb"),
    "on a frame": (lw.constraints.Point("tip", "e"), "world", "ja jd je jf"),
    "two joints of two arms": (lw.constraints.Gear("jc", "je", 2.0), "a", "jc je"),
    "two joints of one arm": (lw.constraints.Gear("jb", "jc", 2.0), "a", "jb jc"),
    "one joint": (lw.constraints.JointLock("je", 0.1), "d", "je"),
    "the center of all": (lw.constraints.CenterOfMass(), "world", "ja jb jc jd je jf"),
    "the center of some": (lw.constraints.CenterOfMass(bodies=("b", "d")), "world", "ja jb jd"),
    "velocities of places": (
        lw.constraints.LinearCombination({"c": np.eye(6), "world": np.eye(6)}),
        "world",
        "ja jb jc",
    ),
}


@pytest.mark.parametrize("what", LOOPS)
def test_a_loop_has_a_root_and_the_joints_that_move_it(what: str) -> None:
    constraint, root, support = LOOPS[what]
    (loop,) = loops_of(tree(FORK).constrained(constraint)).loops
    assert (loop.constraint, loop.kind, loop.rows) == (constraint.name, type(constraint).__name__, constraint.rows)
    assert (loop.root, " ".join(loop.support), loop.group) == (root, support, 0)


GROUPS: dict[str, tuple[tuple[Constraint, ...], list[tuple[str, str, str]]]] = {
    "loops apart": (
        (lw.constraints.Weld("a", "c", name="1"), lw.constraints.Weld("a", "e", name="2")),
        [("1", "jb jc", "a"), ("2", "jd je", "a")],
    ),
    "loops that share a joint": (
        (lw.constraints.Point("c", "d", name="1"), lw.constraints.Weld("a", "e", name="2")),
        [("1 2", "jb jc jd je", "a")],
    ),
    "loops that a third connects": (
        (
            lw.constraints.Weld("a", "c", name="1"),
            lw.constraints.Weld("a", "e", name="2"),
            lw.constraints.Gear("jc", "jd", 2.0, name="3"),
        ),
        [("1 2 3", "jb jc jd je", "a")],
    ),
    "a loop below a contact": (
        (lw.constraints.Point("c", "e", name="1"), lw.constraints.Point("b", "world", name="2")),
        [("1 2", "ja jb jc jd je", "world")],
    ),
    "trees apart": (
        (lw.constraints.Point("c", "world", name="1"), lw.constraints.Point("f", "world", name="2")),
        [("1", "ja jb jc", "world"), ("2", "jf", "world")],
    ),
    "groups in the order of their first constraint": (
        (
            lw.constraints.JointLock("jf", name="1"),
            lw.constraints.JointLock("ja", name="2"),
            lw.constraints.Weld("f", "world", name="3"),
        ),
        [("1 3", "jf", "world"), ("2", "ja", "world")],
    ),
    "nothing": ((), []),
}


@pytest.mark.parametrize("what", GROUPS)
def test_loops_that_share_joints_are_a_group(what: str) -> None:
    constraints, expected = GROUPS[what]
    found = loops_of(tree(FORK).constrained(*constraints))
    assert [(" ".join(g.constraints), " ".join(g.joints), g.root) for g in found.groups] == expected
    assert all(loop.constraint in found.groups[loop.group].constraints for loop in found.loops)


def test_a_loop_on_merged_bodies_is_one_on_the_body_that_moves() -> None:
    build = lw.Builder().body("a", BOX).joint("ja", lw.joints.Revolute("x"), "world", "a")
    build.body("plate", BOX).joint("screws", lw.joints.Fixed(), "a", "plate", (1, 0, 0))
    build.body("ground", BOX).joint("bolts", lw.joints.Fixed(), "world", "ground", (1, 0, 0))
    (loop,) = loops_of(build.constrain(lw.constraints.Point("plate", "ground")).build()).loops
    assert (loop.root, loop.support) == ("world", ("ja",))


# By brute force ------------------------------------------------------------------------------------


def moved_by(robot: Mechanism, name: str) -> set[str]:
    """The joints that change the error, or the velocity of a constraint that has none, at a random pose.

    Not by columns of J: where points that should meet are apart, those also say how the gap turns with the whole.
    """
    q, rows, step = random_state(robot, 5).q, robot.row_slice(name), 1e-3
    ends = np.array([robot.integrate(q, step * direction) for direction in np.eye(robot.nv)])
    change = (lw.constraint_error(robot, ends) - lw.constraint_error(robot, q))[:, rows]
    if not all(robot.constraint(name).holonomic):
        change = np.concatenate([change, step * lw.constraint_jacobian(robot, q)[rows].T], axis=1)
    moves = np.abs(change).max(axis=1) > 1e-9
    return {joint for joint in robot.joint_names if moves[robot.v_slice(joint)].any()}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", NAMES)
def test_no_joint_outside_the_support_moves_a_constraint(name: str, seed: int) -> None:
    robot = bound(seed)
    loop = next(loop for loop in loops_of(robot).loops if loop.constraint == name)
    found = moved_by(robot, name)
    assert found <= set(loop.support)
    if name in ("Weld", "linear", "polynomial", "lock", "lock of two", "held"):  # which every motion there changes
        assert found == set(loop.support)


@st.composite
def welded(draw: st.DrawFn) -> Mechanism:
    """A random tree with up to four welds between random bodies."""
    robot = lw.zoo.random_tree(draw(st.integers(0, 50)), bodies=draw(st.integers(2, 8)))
    places = st.lists(st.sampled_from([*robot.body_names, "world"]), min_size=2, max_size=2, unique=True)
    ends = draw(st.lists(places, min_size=1, max_size=4))
    welds = [lw.constraints.Weld(*pair, name=f"w{k}") for k, pair in enumerate(ends)]
    return robot.constrained(*welds, at=random_state(robot, 0).q)


@settings(max_examples=40)
@given(welded())
def test_supports_and_groups_are_those_of_the_jacobian(robot: Mechanism) -> None:
    found = loops_of(robot)
    J = lw.constraint_jacobian(robot, random_state(robot, 0).q)  # where the welds are closed
    supports = {}
    for c in robot.constraints:
        moves = {
            name for name in robot.joint_names if np.abs(J[robot.row_slice(c.name), robot.v_slice(name)]).max() > 1e-9
        }
        supports[c.name] = moves
    assert {loop.constraint: set(loop.support) for loop in found.loops} == supports
    groups: list[tuple[set[str], set[str]]] = []
    for name, joints in supports.items():  # merge what shares joints until nothing does
        names, joints = {name}, set(joints)
        for other in [g for g in groups if g[1] & joints]:
            groups.remove(other)
            names, joints = names | other[0], joints | other[1]
        groups.append((names, joints))
    assert sorted(map(sorted, (names for names, _ in groups))) == sorted(sorted(g.constraints) for g in found.groups)
    parent = {joint.child: joint.parent for joint in robot.joints}
    for group in found.groups:
        lines = []
        for name in group.joints:
            line = [parent[robot.joint(name).child]]
            while line[-1] != "world":
                line.append(parent[line[-1]])
            lines.append(line)
        assert group.root == next(body for body in lines[0] if all(body in line for line in lines))


@settings(max_examples=25)
@given(welded())
def test_roots_are_the_bodies_where_both_ways_to_the_world_meet(robot: Mechanism) -> None:
    parent = {joint.child: joint.parent for joint in robot.joints}
    for loop, constraint in zip(loops_of(robot).loops, robot.constraints, strict=True):
        lines = []
        for place in constraint.places:
            line = [place]
            while line[-1] != "world":
                line.append(parent[line[-1]])
            lines.append(line)
        assert loop.root == next(body for body in lines[0] if body in lines[1])
