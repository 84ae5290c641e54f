# SPDX-License-Identifier: BSD-3-Clause
"""Graphs of joints: which carry and which close loops, joints passed backwards, and the same motion for any cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import DisjointSet as Oracle

import linkwork as lw
from linkwork.mechanism import Mechanism
from linkwork.model.constraints import closing
from linkwork.model.graphs import DisjointSet, ancestors, common_ancestor, connected, named_ancestors
from linkwork.model.rotations import axis_rotation
from linkwork.model.spanning import Edge, Spanning, spanning_tree
from tests.support.states import Floats, assert_close, random_state

BOX = lw.Inertia.box(1.5, (0.1, 0.2, 0.3), com=(0.05, -0.1, 0.2))


# Sets and ancestors ------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=20))
def test_disjoint_sets_are_those_of_scipy(pairs: list[tuple[int, int]]) -> None:
    """The same sets, and the same answer to whether two were merged."""
    ours, oracle = DisjointSet[int](range(10)), Oracle(range(10))
    for x, y in pairs:
        assert ours.merge(x, y) == oracle.merge(x, y)
    assert sorted(map(sorted, ours.subsets())) == sorted(map(sorted, oracle.subsets()))
    assert all((ours[x] == ours[y]) == oracle.connected(x, y) for x in range(10) for y in range(10))


@given(st.lists(st.sets(st.integers(0, 12), max_size=4), max_size=8))
def test_supports_are_connected_through_others(supports: list[set[int]]) -> None:
    numbers = connected(supports)
    merged = [set(support) for support in supports]
    for _ in supports:
        merged = [set().union(*(other for other in merged if other & mine), mine) for mine in merged]
    for a in range(len(supports)):
        for b in range(len(supports)):
            assert (numbers[a] == numbers[b]) == (a == b or bool(merged[a] & merged[b]))
    assert list(dict.fromkeys(numbers)) == list(range(len(set(numbers))))  # numbered as they come


def test_the_common_ancestor_is_the_deepest() -> None:
    parent = [0, 0, 1, 2, 2, 1]
    assert ancestors(parent, 4) == [4, 2, 1, 0]
    assert common_ancestor(ancestors(parent, body) for body in (3, 4)) == 2
    assert common_ancestor(ancestors(parent, body) for body in (3, 5, 4)) == 1
    assert common_ancestor([ancestors(parent, 3)]) == 3
    assert named_ancestors({"hand": "arm", "arm": "world"}, "hand") == ["hand", "arm", "world"]


# Spanning trees --------------------------------------------------------------------------------------


@st.composite
def graphs(draw: st.DrawFn) -> list[Edge]:
    """Up to seven joints between the world and up to five bodies, any way around."""
    bodies = ["world", *"abcde"[: draw(st.integers(1, 5))]]
    ends = st.lists(st.sampled_from(bodies), min_size=2, max_size=2, unique=True)
    pairs = draw(st.lists(ends, min_size=1, max_size=7))
    wishes = draw(st.lists(st.integers(0, 3), min_size=len(pairs), max_size=len(pairs)))
    turnable = draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    return [Edge(f"j{k}", *pairs[k], (wishes[k], -k), turnable[k]) for k in range(len(pairs))]


def reached_by(edges: Sequence[Edge], directed: bool) -> set[str]:
    """The bodies that a path leads to from the world; with ``directed``, none against an edge that cannot turn."""
    found = {"world"}
    while True:
        new = {e.child for e in edges if e.parent in found}
        new |= {e.parent for e in edges if e.child in found and (e.reversible or not directed)}
        if new <= found:
            return found
        found |= new


def trees_of(edges: Sequence[Edge]) -> list[tuple[Edge, ...]]:
    """Every spanning tree of what the world reaches."""
    bodies = reached_by(edges, directed=False)
    inside = [e for e in edges if e.parent in bodies]
    return [t for t in combinations(inside, len(bodies) - 1) if reached_by(t, directed=False) == bodies]


@settings(max_examples=120)
@given(graphs())
def test_a_spanning_tree_leads_to_every_body_once(edges: list[Edge]) -> None:
    found = spanning_tree("world", edges)
    by_name = {e.name: e for e in edges}
    assert sorted([name for name, _ in found.order] + [*found.cut, *found.lost]) == sorted(by_name)
    seen = {"world"}
    for name, turned in found.order:
        e = by_name[name]
        start, end = (e.child, e.parent) if turned else (e.parent, e.child)
        assert start in seen
        assert end not in seen
        seen.add(end)
    assert seen == reached_by(edges, directed=False)
    if found.stuck is None:
        assert all(by_name[name].reversible for name, turned in found.order if turned)


@settings(max_examples=120)
@given(graphs())
def test_a_tree_is_stuck_only_where_every_tree_is(edges: list[Edge]) -> None:
    """A tree in which joints lead as they may exists just where each body has a path of such joints."""
    possible = reached_by(edges, directed=True) == reached_by(edges, directed=False)
    assert (spanning_tree("world", edges).stuck is None) == possible


@settings(max_examples=100)
@given(graphs())
def test_the_tree_is_the_most_preferred_where_all_joints_turn(edges: list[Edge]) -> None:
    edges = [e._replace(reversible=True) for e in edges]
    found = {name for name, _ in spanning_tree("world", edges).order}

    def wish(tree: Sequence[Edge]) -> list[tuple[int, ...]]:
        return sorted((e.preference for e in tree), reverse=True)

    assert wish([e for e in edges if e.name in found]) == max(wish(tree) for tree in trees_of(edges))


def test_the_walk_is_depth_first_in_the_order_of_the_edges() -> None:
    names = ["world-a", "a-b", "world-c", "a-d", "b-e"]
    edges = [Edge(name, *name.split("-"), (0,), True) for name in names]
    expected = tuple((name, False) for name in ("world-a", "a-b", "b-e", "a-d", "world-c"))
    assert spanning_tree("world", edges) == Spanning(expected, (), (), None)


# Which joint of a loop is cut ------------------------------------------------------------------------


class Loop(NamedTuple):
    """A triangle of three bodies on the world: ``j0`` carries, ``j1`` to ``j3`` form the loop."""

    types: tuple[lw.joints.Joint, lw.joints.Joint, lw.joints.Joint] = (
        lw.joints.Revolute("y"),
        lw.joints.Revolute("y"),
        lw.joints.Revolute("y"),
    )
    options: tuple[dict[str, object], dict[str, object], dict[str, object]] = ({}, {}, {})

    def build(self) -> Mechanism:
        build = lw.Builder("loop")
        for name in "abc":
            build.body(name, BOX)
        build.joint("j0", lw.joints.Free(), "world", "a")
        for k, (parent, child) in enumerate(("ab", "bc", "ac")):
            build.joint(f"j{k + 1}", self.types[k], parent, child, **self.options[k])  # type: ignore[arg-type]
        return build.build()


R, P, S, U = lw.joints.Revolute("y"), lw.joints.Prismatic("x"), lw.joints.Spherical(), lw.joints.Universal()

CUT: dict[str, tuple[Loop, str]] = {
    "the last of equals": (Loop(), "j3"),
    "the one that is asked for": (Loop(options=({"cut": True}, {}, {})), "j1"),
    "the one of more degrees of freedom": (Loop((R, S, R)), "j2"),
    "three rather than two": (Loop((U, S, U)), "j2"),
    "two rather than one": (Loop((R, U, P)), "j2"),
    "the passive one": (Loop(options=({"actuated": True}, {"actuated": False}, {"actuated": True})), "j2"),
    "passive rather than unsaid": (Loop(options=({}, {"actuated": False}, {})), "j2"),
    "unsaid rather than driven": (Loop(options=({"actuated": True}, {}, {"actuated": True})), "j2"),
    "passive before many": (Loop((R, R, S), ({}, {"actuated": False}, {})), "j2"),
    "none with armature": (Loop((S, R, R), ({"armature": 0.1}, {}, {"armature": 0.1})), "j2"),
    "none that is a screw": (Loop((lw.joints.Helical("y", 0.1), R, lw.joints.Helical("y", 0.1))), "j2"),
    "none that is fixed": (Loop((lw.joints.Fixed(), R, R)), "j3"),
    "asked for, though driven": (Loop(options=({}, {"cut": True, "actuated": True}, {})), "j2"),
    "asked for, though fixed": (Loop((lw.joints.Fixed(), R, R), ({"cut": True}, {}, {})), "j1"),
}


@pytest.mark.parametrize("what", CUT)
def test_a_loop_is_cut_at(what: str) -> None:
    loop, joint = CUT[what]
    robot = loop.build()
    assert [c.name for c in robot.constraints] == [joint]
    assert joint not in robot.joint_names


def test_a_joint_that_is_in_no_loop_is_kept_though_asked_to_be_cut() -> None:
    build = lw.Builder().body("a", BOX).joint("j", R, "world", "a", cut=True)
    assert build.build().joint_names == ("j",)


def test_a_free_joint_that_closes_a_loop_binds_nothing() -> None:
    assert Loop((R, lw.joints.Free(), R)).build().constraints == ()


def test_two_fixed_joints_that_agree_are_one() -> None:
    build = lw.Builder().body("a", BOX).joint("j", R, "world", "a").body("b", BOX)
    build.joint("f", lw.joints.Fixed(), "a", "b", (1, 0, 0)).joint(
        "g", lw.joints.Fixed(), "b", "a", (0, 1, 0), (1, 1, 0)
    )
    robot = build.build()
    assert robot.constraints == ()
    assert robot.mass == pytest.approx(2 * BOX.mass)


def test_a_pose_may_name_joints_that_were_cut() -> None:
    build = lw.Builder().body("a", BOX).body("b", BOX).joint("i", R, "world", "a").joint("j", R, "a", "b")
    robot = build.joint("k", R, "world", "b").pose("home", {"i": 0.5, "k": 0.3}).build()
    np.testing.assert_array_equal(robot.poses["home"], [0.5, 0.0])


def chained(*joints: tuple[str, lw.joints.Joint, str, str], **options: object) -> lw.Builder:
    build = lw.Builder("chain")
    for name in sorted({end for _, _, *ends in joints for end in ends} - {"world"}):
        build.body(name, BOX)
    for name, type, parent, child in joints:
        build.joint(name, type, parent, child, **options)  # type: ignore[arg-type]
    return build


REFUSED: dict[str, tuple[Callable[[], Mechanism], type[lw.errors.ModelError], str, str]] = {
    "a ball joint that would have to turn around": (
        chained(("i", R, "world", "a"), ("j", S, "b", "a")).build,
        lw.errors.TopologyError,
        "joint 'j' (spherical) would have to carry its parent 'b' from its child 'a', which no other joint leads to "
        "from the world: swap parent and child",
        "j",
    ),
    "bodies that the world does not reach": (
        chained(("i", R, "world", "a"), ("j", R, "b", "c"), ("k", R, "c", "b")).build,
        lw.errors.TopologyError,
        "joint 'j' is part of a cycle that does not reach the world",
        "j",
    ),
    "a root that nothing leads to": (
        chained(("i", R, "world", "a"), ("j", R, "b", "c")).build,
        lw.errors.TopologyError,
        "no joint leads to body 'b': add one from the world, e.g. joint('b_base', Free(), 'world', 'b')",
        "b",
    ),
    "a joint from a body to itself": (
        chained(("i", R, "world", "a"), ("j", R, "a", "a")).build,
        lw.errors.TopologyError,
        "joint 'j' leads from 'a' to itself",
        "j",
    ),
    "a joint between bodies that are fixed": (
        chained(("i", R, "world", "a"), ("j", lw.joints.Fixed(), "a", "b"), ("k", R, "a", "b")).build,
        lw.errors.TopologyError,
        "joint 'k' connects 'a' and 'b', which are fixed to each other",
        "k",
    ),
    "armature on every joint of a loop": (
        chained(("i", R, "world", "a"), ("j", R, "a", "b"), ("k", R, "world", "b"), armature=0.1).build,
        lw.errors.UnsupportedFeature,
        "joint 'k' closes a loop and has armature, which only joints of the tree can have: cut another joint",
        "k",
    ),
    "screws on every joint of a loop": (
        chained(
            ("i", lw.joints.Helical("x", 0.1), "world", "a"),
            ("j", lw.joints.Helical("x", 0.1), "a", "b"),
            ("k", lw.joints.Helical("x", 0.1), "world", "b"),
        ).build,
        lw.errors.ModelError,
        "joint 'k' (helical) would have to close a loop, which is not supported: let another joint of the loop",
        "k",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_graph_is_refused_with_the_reason(what: str) -> None:
    build, error, message, subject = REFUSED[what]
    with pytest.raises(error) as caught:
        build()
    assert message in str(caught.value)
    assert caught.value.subject == subject


def test_an_actuator_on_a_joint_that_was_cut_is_refused() -> None:
    build = chained(("i", R, "world", "a"), ("j", R, "a", "b"), ("k", R, "world", "b"))
    with pytest.raises(lw.errors.ModelError, match="actuator 'm' drives joint 'k', which does not move"):
        build.actuator("m", "k").build()


# Places on the child ---------------------------------------------------------------------------------

TYPES = {
    "revolute": lw.joints.Revolute((1, 2, 3)),
    "prismatic": lw.joints.Prismatic((3, 1, 2)),
    "helical": lw.joints.Helical((2, 3, 1), 0.2),
    "universal": lw.joints.Universal((1, 2, 2), (2, 1, -2)),
    "spherical": lw.joints.Spherical(),
    "planar": lw.joints.Planar((1, 1, 3)),
    "free": lw.joints.Free(),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", TYPES)
def test_a_place_on_the_child_is_a_fixed_joint(name: str, seed: int) -> None:
    rng = np.random.default_rng([seed, 21])
    at, child_at, there = (lw.zoo.random_placement(rng) for _ in range(3))
    inertias = [lw.zoo.random_inertia(rng) for _ in range(2)]

    def made(explicit: bool) -> Mechanism:
        build = lw.Builder().body("a", inertias[0])
        if explicit:
            build.body("stub").joint("j", TYPES[name], "world", "stub", at)
            build.joint("screws", lw.joints.Fixed(), "stub", "a", child_at.inverse())
        else:
            build.joint("j", TYPES[name], "world", "a", at, child_at)
        build.body("b", inertias[1]).joint("k", lw.joints.Revolute("y"), "a", "b", there, there)
        return build.frame("tip", on="a", at=there).build()

    ours, twin = made(False), made(True)
    s = random_state(ours, seed)
    assert_close(lw.mass_matrix(ours, s.q), lw.mass_matrix(twin, s.q), 1e-14)
    assert_close(lw.bias_forces(ours, s.q, s.v), lw.bias_forces(twin, s.q, s.v), 1e-13)
    for frame in ("a", "b", "tip"):
        found, expected = (lw.frame_placement(robot, s.q, frame) for robot in (ours, twin))
        assert_close(found.position, expected.position, 1e-14, scale=1.0)
        assert_close(found.rotation, expected.rotation, 1e-14)


# Joints passed backwards -----------------------------------------------------------------------------

REVERSIBLE = {name: TYPES[name] for name in ("revolute", "prismatic", "helical")} | {"fixed": lw.joints.Fixed()}


def motion(joint: lw.joints.Joint, q: float) -> lw.Placement:
    """The child in the parent, by the formula of the joint."""
    if isinstance(joint, lw.joints.Fixed):
        return lw.Placement()
    slide = (
        q * joint.pitch
        if isinstance(joint, lw.joints.Helical)
        else q
        if isinstance(joint, lw.joints.Prismatic)
        else 0.0
    )
    turn = np.eye(3) if isinstance(joint, lw.joints.Prismatic) else axis_rotation(joint.axis, q)
    return lw.Placement(slide * joint.axis, turn)


@cache
def two_ways(name: str, seed: int) -> tuple[Mechanism, Mechanism, tuple[lw.Placement, lw.Placement]]:
    """Two bodies that float, the joint leading from ``b`` to ``a``: once ``b`` is the base, once ``a``."""
    rng = np.random.default_rng([seed, 22])
    at, child_at = lw.zoo.random_placement(rng), lw.zoo.random_placement(rng)
    inertias = {name: lw.zoo.random_inertia(rng) for name in "ab"}

    def made(base: str) -> Mechanism:
        build = lw.Builder()
        for body, inertia in inertias.items():
            build.body(body, inertia)
        build.joint("free", lw.joints.Free(), "world", base)
        build.joint(
            "j", REVERSIBLE[name], "b", "a", at, child_at, lower=-1.0, upper=2.0, armature=0.3 * (name != "fixed")
        )
        return build.build()

    return made("b"), made("a"), (at, child_at)


def placed(robot: Mechanism, q: Floats, frame: str) -> lw.Placement:
    pose = lw.frame_placement(robot, q, frame)
    return lw.Placement(pose.position, pose.rotation)


def free_q(place: lw.Placement) -> Floats:
    """Coordinates of a free joint that leads there."""
    R = place.rotation
    K = np.zeros((4, 4))
    K[:3, :3] = R + R.T - np.trace(R) * np.eye(3)
    K[:3, 3] = K[3, :3] = [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]
    K[3, 3] = np.trace(R)
    return np.concatenate([place.position, np.linalg.eigh(K)[1][:, -1]])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", [name for name in REVERSIBLE if name != "fixed"])
def test_a_joint_passed_backwards_is_the_same_joint(name: str, seed: int) -> None:
    forward, backward, (at, child_at) = two_ways(name, seed)
    assert (backward.joint("j").parent, backward.joint("j").child) == ("a", "b")
    np.testing.assert_array_equal(backward.lower, [-np.inf] * 7 + [-1.0])
    s = random_state(forward, seed)
    expected = at * motion(REVERSIBLE[name], s.q[-1]) * child_at.inverse()
    other = np.append(free_q(placed(forward, s.q, "a")), s.q[-1])
    for robot, q in ((forward, s.q), (backward, other)):
        found = placed(robot, q, "b").inverse() * placed(robot, q, "a")
        assert_close(found.position, expected.position, 1e-14, scale=1.0)
        assert_close(found.rotation, expected.rotation, 1e-14)
    velocity = lw.frame_velocity(forward, s.q, s.v, "a")
    rate = np.concatenate([velocity[3:], velocity[:3], s.v[-1:]])
    assert_close(lw.energy(backward, other, rate).total, lw.energy(forward, s.q, s.v).total, 1e-13)
    tau = np.append(np.zeros(6), s.tau[-1])
    found = lw.ForwardDynamics(backward)(other, rate, tau).acceleration[-1]
    assert found == pytest.approx(lw.ForwardDynamics(forward)(s.q, s.v, tau).acceleration[-1], rel=1e-11)


@pytest.mark.parametrize("seed", range(4))
def test_a_fixed_joint_passed_backwards_holds_as_before(seed: int) -> None:
    forward, backward, (at, child_at) = two_ways("fixed", seed)
    expected = at * child_at.inverse()
    for robot in (forward, backward):
        q = random_state(robot, seed).q
        found = placed(robot, q, "b").inverse() * placed(robot, q, "a")
        assert_close(found.position, expected.position, 1e-14, scale=1.0)
        assert_close(found.rotation, expected.rotation, 1e-14)


@pytest.mark.parametrize("name", ["universal", "spherical", "planar", "free"])
def test_other_joints_are_not_passed_backwards_where_another_joint_may_be_cut(name: str) -> None:
    """The loop world - a - b - world, in which ``j`` leads from ``b`` to ``a``: that to ``b`` is kept."""
    build = chained(("i", R, "world", "a"), ("j", TYPES[name], "b", "a"), ("k", S, "world", "b"))
    assert "k" in build.build().joint_names


# The same motion, wherever the graph is cut --------------------------------------------------------------


class Graph(NamedTuple):
    """Bodies in their places, and joints of which every one fits there."""

    places: dict[str, lw.Placement]
    inertias: dict[str, lw.Inertia]
    joints: list[tuple[str, lw.joints.Joint, str, str, lw.Placement, lw.Placement]]

    def cut_at(self, *names: str) -> Mechanism:
        build = lw.Builder("graph")
        for body, inertia in self.inertias.items():
            build.body(body, inertia)
        for name, type, parent, child, at, child_at in self.joints:
            build.joint(name, type, parent, child, at, child_at, cut=name in names or None)
        return build.build()

    def apart(self) -> Mechanism:
        """Every body free and every joint (but screws) a constraint: what no choice of a tree can spoil."""
        build = lw.Builder("apart")
        for body, inertia in self.inertias.items():
            build.body(body, inertia).joint(f"{body}_free", lw.joints.Free(), "world", body)
        for name, type, parent, child, at, child_at in self.joints:
            pair = closing(name, type, parent, child, at, child_at)
            if pair is not None:
                build.constrain(pair)
        return build.build()


def graph_of(rng: np.random.Generator, joints: Sequence[tuple[lw.joints.Joint, str, str]]) -> Graph:
    names = sorted({end for _, *ends in joints for end in ends} - {"world"})
    places = {name: lw.zoo.random_placement(rng) for name in names} | {"world": lw.Placement()}
    made = []
    for k, (type, parent, child) in enumerate(joints):
        at = lw.zoo.random_placement(rng)
        made.append((f"j{k}", type, parent, child, at, places[child].inverse() * places[parent] * at))
    return Graph(places, {name: lw.zoo.random_inertia(rng) for name in names}, made)


def accelerations(robot: Mechanism, q: Floats, v: Floats, bodies: Sequence[str]) -> Floats:
    """Of the bodies, under gravity and the constraints: ``[M J'; J 0] [a; -f] = [-c; -bias]`` by least squares."""
    M, J = lw.mass_matrix(robot, q), lw.constraint_jacobian(robot, q)
    K = np.block([[M, J.T], [J, np.zeros((robot.nc, robot.nc))]])
    right = -np.concatenate([lw.bias_forces(robot, q, v), lw.constraint_bias(robot, q, v)])
    x = np.linalg.lstsq(K, right, rcond=1e-11)[0]
    assert_close(K @ x, right, 1e-9, scale=1.0)
    return lw.frame_acceleration(robot, q, v, x[: robot.nv], list(bodies), "aligned")


def spread(robot: Mechanism, q: Floats, v: Floats, bodies: Sequence[str]) -> tuple[Floats, Floats]:
    """The same state in coordinates of free bodies."""
    poses = lw.frame_placement(robot, q, list(bodies))
    velocities = lw.frame_velocity(robot, q, v, list(bodies))
    where = [free_q(lw.Placement(p, R)) for R, p in zip(poses.rotation, poses.position, strict=True)]
    return np.concatenate(where), np.roll(velocities, 3, axis=1).reshape(-1)


LOOPS: dict[str, tuple[list[lw.joints.Joint], list[str]]] = {
    "seven revolutes": ([lw.joints.Revolute(axis) for axis in "xyzxyzx"], ["j0", "j2", "j3", "j5", "j6"]),
    "all that turn around": (
        [
            *(
                lw.joints.Revolute("x"),
                lw.joints.Prismatic("z"),
                lw.joints.Revolute((1, 2, 3)),
                lw.joints.Helical("x", 0.2),
            ),
            *(
                lw.joints.Revolute("y"),
                lw.joints.Prismatic((1, 1, 0)),
                lw.joints.Revolute((0, 1, 2)),
                lw.joints.Revolute("z"),
            ),
        ],
        ["j0", "j1", "j2", "j4", "j5", "j7"],
    ),
    "a ball": (
        [lw.joints.Revolute("x"), lw.joints.Spherical(), *(lw.joints.Revolute(a) for a in "yzxy")],
        ["j1", "j2", "j4", "j5"],
    ),
    "a cross": (
        [lw.joints.Revolute("x"), lw.joints.Universal(), *(lw.joints.Revolute(a) for a in "yzxyz")],
        ["j1", "j2", "j4", "j6"],
    ),
    "a table": (
        [lw.joints.Prismatic("x"), lw.joints.Planar("y"), *(lw.joints.Revolute(a) for a in "yzxyz")],
        ["j1", "j3", "j5"],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", LOOPS)
def test_bodies_accelerate_alike_wherever_a_loop_is_cut(name: str, seed: int) -> None:
    types, cuts = LOOPS[name]
    rng = np.random.default_rng([seed, 23])
    ends = [("world", "b0"), *((f"b{k}", f"b{k + 1}") for k in range(len(types) - 2)), ("world", f"b{len(types) - 2}")]
    graph = graph_of(rng, [(type, *pair) for type, pair in zip(types, ends, strict=True)])
    screws = any(isinstance(type, lw.joints.Helical) for type in types)
    first = graph.cut_at(cuts[0])
    start = first.neutral()
    assert_close(lw.constraint_error(first, start), np.zeros(first.nc), 1e-13, scale=1.0)
    q = first.assemble(first.integrate(start, 0.3 * first.project_velocity(start, rng.normal(size=first.nv))))
    v = first.project_velocity(q, rng.normal(size=first.nv))
    assert np.abs(q - start).max() > 1e-2
    bodies = tuple(graph.inertias)
    far_q, far_v = spread(first, q, v, bodies)
    expected = accelerations(first if screws else graph.apart(), *((q, v) if screws else (far_q, far_v)), bodies)
    for cut in cuts:
        robot = graph.cut_at(cut)
        assert [c.name for c in robot.constraints] == [cut]
        common = [joint for joint in robot.joint_names if joint in first.joint_names]
        there, rate = robot.neutral(), np.zeros(robot.nv)
        for joint in common:
            there[robot.q_slice(joint)], rate[robot.v_slice(joint)] = q[first.q_slice(joint)], v[first.v_slice(joint)]
        there = robot.assemble(there, fixed=common)
        J = lw.constraint_jacobian(robot, there)
        left = np.ones(robot.nv, dtype=bool)
        for joint in common:
            left[robot.v_slice(joint)] = False
        if left.any():
            rate[left] = np.linalg.lstsq(J[:, left], -J @ rate, rcond=None)[0]
        assert_close(spread(robot, there, rate, bodies)[1], far_v, 1e-9, scale=1.0)
        assert_close(accelerations(robot, there, rate, bodies), expected, 1e-8)


@st.composite
def fitted(draw: st.DrawFn) -> tuple[int, list[tuple[str, str, str]]]:
    """Kinds and ends of joints of a connected graph, and a seed for all its numbers."""
    bodies = ["world", *(f"b{k}" for k in range(draw(st.integers(1, 4))))]
    joints = []
    for k, body in enumerate(bodies[1:], 1):  # so that the world reaches each, forwards or backwards
        other = draw(st.sampled_from(bodies[:k]))
        pair = (other, body) if draw(st.booleans()) else (body, other)
        joints.append((draw(st.sampled_from("rp")), *pair))
    ends = st.lists(st.sampled_from(bodies), min_size=2, max_size=2, unique=True)
    for pair in draw(st.lists(ends, max_size=3)):
        joints.append((draw(st.sampled_from("rpsuSf")), *pair))
    return draw(st.integers(0, 2**16)), joints


@settings(max_examples=25)
@given(fitted())
def test_any_graph_moves_as_its_bodies_apart(drawn: tuple[int, list[tuple[str, str, str]]]) -> None:
    """Degrees of freedom and accelerations of what the builder makes are those of free bodies with all joints."""
    seed, given_joints = drawn
    rng = np.random.default_rng(seed)

    def made(kind: str) -> lw.joints.Joint:
        x, y = rng.normal(size=(2, 3))
        types = {
            "r": lw.joints.Revolute(x),
            "p": lw.joints.Prismatic(x),
            "s": lw.joints.Spherical(),
            "u": lw.joints.Universal(x, np.cross(x, y)),
        }
        return (types | {"S": lw.joints.Planar(x), "f": lw.joints.Free()})[kind]

    graph = graph_of(rng, [(made(kind), parent, child) for kind, parent, child in given_joints])
    robot, apart = graph.cut_at(), graph.apart()
    q = robot.neutral()
    assert_close(lw.constraint_error(robot, q), np.zeros(robot.nc), 1e-13, scale=1.0)
    for body, place in graph.places.items():
        assert_close(placed(robot, q, body).position, place.position, 1e-13, scale=1.0)
    J = lw.constraint_jacobian(robot, q)
    v = robot.project_velocity(q, rng.normal(size=robot.nv))
    far_q, far_v = spread(robot, q, v, apart.body_names)
    far_J = lw.constraint_jacobian(apart, far_q)
    assert robot.nv - np.linalg.matrix_rank(J, tol=1e-9) == apart.nv - np.linalg.matrix_rank(far_J, tol=1e-9)
    assert_close(far_J @ far_v, np.zeros(apart.nc), 1e-9, scale=1.0)
    expected = accelerations(apart, far_q, far_v, apart.body_names)
    assert_close(accelerations(robot, q, v, apart.body_names), expected, 1e-7, scale=1.0)
