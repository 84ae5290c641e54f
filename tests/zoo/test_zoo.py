# SPDX-License-Identifier: BSD-3-Clause
"""The zoo: loops closed when assembled, degrees of freedom as textbooks count them, sizes as papers give them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkwork as lw
from linkwork import zoo
from linkwork.mechanism import Mechanism
from linkwork.model.constraints import JointCoupling, Pair
from linkwork.model.rotations import quaternion_matrix, quaternion_of
from linkwork.zoo.places import placements
from tests.support import REPOSITORY
from tests.support.states import assert_close

CLOSED = 1e-12


class Fact(NamedTuple):
    """A mechanism, and its moving bodies, velocities, constraint rows and degrees of freedom."""

    make: Callable[[], Mechanism]
    bodies: int
    nv: int
    rows: int
    dof: int


def of(make: Callable[..., Mechanism], *given: object, **named: object) -> Callable[[], Mechanism]:
    return functools.partial(make, *given, **named)


FACTS = {
    "four-bar, hinge": Fact(of(zoo.four_bar), 3, 3, 5, 1),
    "four-bar, point": Fact(of(zoo.four_bar, "point"), 3, 3, 3, 1),
    "four-bar, line": Fact(of(zoo.four_bar, "line"), 3, 3, 2, 1),
    "four-bar, weld": Fact(of(zoo.four_bar, "weld"), 4, 4, 6, 1),
    "four-bar, rod": Fact(of(zoo.four_bar, "rod"), 2, 2, 1, 1),
    "five-bar": Fact(of(zoo.five_bar), 4, 4, 5, 2),
    "five-bar, point": Fact(of(zoo.five_bar, "point"), 4, 4, 3, 2),
    "slider-crank": Fact(of(zoo.slider_crank), 3, 3, 5, 1),
    "slider-crank, line": Fact(of(zoo.slider_crank, "line"), 3, 3, 2, 1),
    "four-bar cart-pole": Fact(of(zoo.four_bar_cart_pole), 4, 4, 5, 2),
    "four-bar cart-pole, line": Fact(of(zoo.four_bar_cart_pole, "line"), 4, 4, 2, 2),
    "watt": Fact(of(zoo.watt), 5, 5, 10, 1),
    "watt, point": Fact(of(zoo.watt, "point"), 5, 5, 6, 1),
    "jansen": Fact(of(zoo.jansen), 7, 7, 15, 1),
    "jansen, line": Fact(of(zoo.jansen, "line"), 7, 7, 6, 1),
    "stewart": Fact(of(zoo.stewart), 13, 24, 18, 6),
    "stewart whose legs spin": Fact(of(zoo.stewart, foot="spherical"), 13, 30, 18, 12),
    "stewart, cardan heads": Fact(of(zoo.stewart, "spherical", "universal"), 13, 30, 24, 6),
    "stewart, universal at both ends": Fact(of(zoo.stewart, "universal", "universal"), 13, 24, 24, 4),
    "delta": Fact(of(zoo.delta), 10, 21, 18, 3),
    "delta whose rods spin": Fact(of(zoo.delta, "spherical"), 10, 27, 18, 9),
    "delta with rods of no mass": Fact(of(zoo.delta, "rod"), 4, 9, 6, 3),
    "loop of 7": Fact(of(zoo.single_loop, 7), 7, 12, 6, 6),
    "loop of 7 on the world": Fact(of(zoo.single_loop, 7, floating=False), 7, 7, 6, 1),
    "loop of 20": Fact(of(zoo.single_loop, 20), 20, 25, 6, 19),
    "chain of one loop": Fact(of(zoo.chain_of_loops, 1), 7, 12, 6, 6),
    "chain of 5 loops": Fact(of(zoo.chain_of_loops, 5), 31, 36, 30, 6),
    "chain of 5 loops, hinges": Fact(of(zoo.chain_of_loops, 5, closing="hinge"), 31, 36, 25, 11),
    "2 coupled loops": Fact(of(zoo.coupled_loops, 2), 13, 18, 12, 6),
    "5 coupled loops": Fact(of(zoo.coupled_loops, 5), 37, 42, 30, 12),
    "star": Fact(of(zoo.star_of_loops, 5), 36, 41, 24, 17),
    "star, path": Fact(of(zoo.star_of_loops, 5, tips="path"), 36, 41, 24, 17),
    "star, ring": Fact(of(zoo.star_of_loops, 5, tips="ring"), 36, 41, 30, 17),
    "held chain of 6": Fact(of(zoo.held_chain, 6), 6, 6, 6, 0),
    "held chain of 30": Fact(of(zoo.held_chain, 30), 30, 30, 6, 24),
    "ladder": Fact(of(zoo.ladder, 4), 40, 40, 24, 16),
    "stalk": Fact(of(zoo.stalk, 5, 2), 33, 38, 24, 14),
    "stalk on the world": Fact(of(zoo.stalk, 3, 1, floating=False), 17, 17, 12, 5),
    "geared chain": Fact(of(zoo.geared_chain), 24, 24, 12, 12),
    "belt chain": Fact(of(zoo.belt_chain), 24, 24, 12, 12),
    "belt chain, groups of three": Fact(of(zoo.belt_chain, 6, 3, belt=0.9), 12, 12, 6, 6),
    "swimmer": Fact(of(zoo.swimmer), 3, 5, 18, 0),
    "swimmer of 6": Fact(of(zoo.swimmer, 6), 6, 8, 36, 0),
    "stack of 3": Fact(of(zoo.stack, 3), 3, 18, 36, 0),
    "pyramid of 2 layers": Fact(of(zoo.pyramid, 2), 5, 30, 96, 0),
}


@functools.cache
def made(name: str) -> Mechanism:
    return FACTS[name].make()


def gap(robot: Mechanism, q: np.ndarray | None = None) -> float:
    """The largest error of a row."""
    return float(np.abs(lw.constraint_error(robot, robot.poses[zoo.ASSEMBLED] if q is None else q)).max(initial=0.0))


@pytest.mark.parametrize("name", FACTS)
def test_loops_are_closed_in_the_assembled_pose(name: str) -> None:
    assert gap(made(name)) <= CLOSED


@pytest.mark.parametrize("name", FACTS)
def test_sizes_and_degrees_of_freedom(name: str) -> None:
    robot, fact = made(name), FACTS[name]
    found = robot.mobility(robot.poses[zoo.ASSEMBLED])
    assert (len(robot.joints), robot.nv, robot.nc, found.dof) == fact[1:]
    assert found.singular.shape[1] == 0


@pytest.mark.parametrize("name", FACTS)
def test_every_body_has_a_mass_that_matter_can_have(name: str) -> None:
    for body, inertia in made(name).inertias.items():
        inertia.validate(body)
        assert inertia.mass > 0
    assert np.linalg.eigvalsh(lw.mass_matrix(made(name), made(name).poses[zoo.ASSEMBLED]))[0] > 0


@pytest.mark.parametrize("name", FACTS)
def test_a_disturbed_pose_can_be_assembled_again(name: str) -> None:
    robot = made(name)
    q = robot.poses[zoo.ASSEMBLED]
    moved = robot.integrate(q, 0.01 * np.random.default_rng(0).normal(size=robot.nv))
    assert gap(robot, robot.assemble(moved)) <= CLOSED


def test_the_catalog_names_every_function_of_the_zoo() -> None:

    text = (REPOSITORY / "docs" / "reference" / "zoo.md").read_text()
    missing = [name for name in zoo.__all__ if inspect.isfunction(getattr(zoo, name)) and f"`{name}(" not in text]
    assert not missing


# Linkages --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("closure", ["hinge", "point", "line", "weld", "rod"])
def test_bars_that_do_not_reach_cannot_be_assembled(closure: str) -> None:
    robot = zoo.four_bar(closure, coupler=2.0)  # type: ignore[arg-type]
    assert zoo.ASSEMBLED not in robot.poses
    with pytest.raises(lw.errors.AssemblyError):
        robot.assemble(attempts=3)


def test_a_four_bar_keeps_its_lengths() -> None:
    robot = zoo.four_bar(ground=0.5, crank=0.2, coupler=0.45, rocker=0.4, angle=0.7)
    where = placements(robot, robot.poses[zoo.ASSEMBLED], ["crank", "coupler", "rocker"])
    B, D = where["coupler"].position, where["rocker"].position
    C = (where["rocker"] * lw.Placement((0.4, 0, 0))).position
    lengths = [np.linalg.norm(B), np.linalg.norm(C - B), np.linalg.norm(C - D), np.linalg.norm(D)]
    assert_close(lengths, [0.2, 0.45, 0.4, 0.5], 1e-15)
    assert robot.poses[zoo.ASSEMBLED][robot.q_index("A")] == 0.7


@pytest.mark.slow
@pytest.mark.parametrize("make", [zoo.four_bar, zoo.slider_crank, zoo.watt, zoo.jansen])
def test_the_crank_turns_all_the_way_around(make: Callable[..., Mechanism]) -> None:
    for angle in np.linspace(0.0, 2 * np.pi, 13):
        robot = make(angle=float(angle))
        assert gap(robot) <= CLOSED
        assert robot.mobility(robot.poses[zoo.ASSEMBLED]).dof == 1


def test_turning_the_crank_by_assembly_leads_where_closed_form_leads() -> None:
    start, end = zoo.jansen(angle=1.0), zoo.jansen(angle=1.05)
    q = start.poses[zoo.ASSEMBLED].copy()
    q[start.q_index("O")] += 0.05
    found, expected = start.assemble(q, fixed=["O"]), end.poses[zoo.ASSEMBLED]
    assert_close(np.cos(found - expected), np.ones(start.nq), 1e-12)


@pytest.mark.slow
def test_jansens_foot_walks_on_a_flat_line() -> None:
    """Over the third of a turn in which it is lowest the foot rises by less than 3 % of its stride."""
    path = []
    for angle in np.linspace(0.0, 2 * np.pi, 121)[:-1]:
        robot = zoo.jansen(angle=float(angle))
        path.append(placements(robot, robot.poses[zoo.ASSEMBLED], ["foot"])["foot"].position)
    x, z = np.array(path)[:, 0], np.array(path)[:, 2]
    lowest = np.sort(z)[:40]
    assert lowest[-1] - lowest[0] < 0.03 * (x.max() - x.min())
    assert z.max() - z.min() > 0.2 * (x.max() - x.min())


def test_there_are_thirteen_holy_numbers() -> None:
    assert len(zoo.HOLY_NUMBERS) == 13


# Platforms -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("foot", ["universal", "spherical"])
def test_stewart_legs_follow_the_platform_anywhere(foot: str, seed: int) -> None:
    robot = zoo.stewart(foot=foot, head="spherical" if foot == "universal" else "universal")  # type: ignore[arg-type]
    rng = np.random.default_rng(seed)
    roll, pitch, yaw = rng.uniform(-0.6, 0.6, 3)
    at = lw.Placement.rpy(roll, pitch, yaw, position=rng.uniform((-0.3, -0.3, 0.4), (0.3, 0.3, 1.0)))
    q = zoo.stewart_pose(robot, at)
    assert gap(robot, q) <= CLOSED
    assert_close(placements(robot, q, ["platform"])["platform"].rotation, at.rotation, 1e-14)


def test_stewart_legs_are_equal_where_the_platform_is_in_the_middle() -> None:
    robot = zoo.stewart()
    q = zoo.stewart_pose(robot, (0, 0, 0.7))
    lengths = [q[robot.q_index(f"leg{k}")] for k in range(6)]
    assert_close(lengths, [lengths[0]] * 6, 1e-15)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rods", ["universal", "spherical", "rod"])
def test_delta_arms_follow_the_tool(rods: str, seed: int) -> None:
    robot = zoo.delta(rods)  # type: ignore[arg-type]
    tool = np.random.default_rng(seed).uniform((-0.15, -0.15, -0.65), (0.15, 0.15, -0.45))
    assert gap(robot, zoo.delta_pose(robot, tool)) <= CLOSED


def test_delta_arms_are_equal_where_the_tool_is_in_the_middle() -> None:
    robot = zoo.delta()
    q = zoo.delta_pose(robot, (0, 0, -0.5))
    angles = [q[robot.q_index(f"arm{k}")] for k in range(3)]
    assert_close(angles, [angles[0]] * 3, 1e-14)


@pytest.mark.parametrize("rods", ["universal", "spherical", "rod"])
def test_the_platform_of_a_delta_robot_does_not_turn(rods: str) -> None:
    robot = zoo.delta(rods)  # type: ignore[arg-type]
    freedom = robot.mobility(robot.poses[zoo.ASSEMBLED]).freedom[robot.v_slice("platform")]
    assert np.abs(freedom[3:]).max() < 1e-12
    assert np.linalg.matrix_rank(freedom[:3]) == 3


def test_a_tool_out_of_reach_is_refused() -> None:
    with pytest.raises(lw.errors.InputError, match="does not reach"):
        zoo.delta_pose(zoo.delta(), (0, 0, -2.0))


# Families of the papers --------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [3, 10, 60])
def test_a_loop_grows_by_links_and_keeps_six_rows(n: int) -> None:
    robot = zoo.single_loop(n)
    assert (len(robot.joints), robot.nv, robot.nc) == (n, n + 5, 6)
    assert robot.mass == pytest.approx(0.5 * n, rel=1e-14)


@pytest.mark.parametrize("n", [1, 4, 20])
def test_families_grow_linearly(n: int) -> None:
    chain, star, rungs = zoo.chain_of_loops(n), zoo.star_of_loops(n + 1), zoo.ladder(n)
    assert (len(chain.joints), chain.nc) == (6 * n + 1, 6 * n)
    assert (len(star.joints), star.nc) == (7 * (n + 1) + 1, 6 * n)
    assert (len(rungs.joints), rungs.nc) == (10 * n, 6 * n)
    for robot in (chain, star, rungs):
        assert gap(robot) <= CLOSED
        assert robot.mass == pytest.approx(0.5 * len(robot.joints), rel=1e-13)


def test_the_long_stalk_has_194_links() -> None:
    """lqr, Section IX-B: 54 + 10 x 7 x 2."""
    robot = zoo.stalk(54, 10)
    assert (len(robot.joints), robot.nc) == (194, 120)
    assert gap(robot) <= CLOSED


def path_to_world(robot: Mechanism, body: str) -> set[str]:
    """Joints between a body and the world."""
    by_child = {joint.child: joint for joint in robot.joints}
    found = set()
    while body != "world":
        found.add(by_child[body].name)
        body = by_child[body].parent
    return found


def joints_of_loops(robot: Mechanism) -> list[set[str]]:
    pairs = [c for c in robot.constraints if isinstance(c, Pair)]
    return [path_to_world(robot, c.first) ^ path_to_world(robot, c.second) for c in pairs]


@pytest.mark.parametrize("n", [2, 5])
def test_in_the_worst_case_each_loop_shares_joints_with_every_other(n: int) -> None:
    loops = joints_of_loops(zoo.coupled_loops(n))
    assert all(a & b for a in loops for b in loops)


def test_loops_of_a_chain_share_links_and_no_joints() -> None:
    loops = joints_of_loops(zoo.chain_of_loops(5))
    assert all(len(loop) == 6 for loop in loops)
    assert len(set().union(*loops)) == 30


def most_neighbors(robot: Mechanism) -> int:
    """Leaves of fewest neighbors eliminated first: how many other than its parent one ever has."""
    parent = {joint.child: joint.parent for joint in robot.joints}
    near = {body: set[str]() for body in ["world", *parent]}
    for c in robot.constraints:
        assert isinstance(c, Pair)
        near[c.first].add(c.second)
        near[c.second].add(c.first)
    most = 0
    while parent:
        leaves = [body for body in parent if body not in parent.values()]
        leaf = min(leaves, key=lambda body: len(near[body] - {parent[body]}))
        others = near.pop(leaf) - {parent[leaf]}
        most = max(most, len(others))
        for a in others | {parent[leaf]}:
            near[a] = (near[a] | others | {parent[leaf]}) - {a, leaf}
        del parent[leaf]
    return most


def test_in_the_favorable_star_a_leaf_has_at_most_one_neighbor() -> None:
    """loops, Section VI-C, of Fig. 9."""
    assert most_neighbors(zoo.star_of_loops(8)) == 1
    assert most_neighbors(zoo.coupled_loops(8)) == 8


def test_a_rotor_turns_as_far_as_its_gear_says() -> None:
    robot = zoo.geared_chain(5, ratio=7.0)
    q = robot.poses[zoo.ASSEMBLED]
    for k in range(5):
        assert q[robot.q_index(f"rotor{k}")] == pytest.approx(7.0 * q[robot.q_index(f"joint{k}")], rel=1e-14)


def test_a_belt_passes_over_the_joints_before_its_own() -> None:
    robot = zoo.belt_chain(6, 3, ratio=5.0, belt=0.5)
    belts = [c for c in robot.constraints if isinstance(c, JointCoupling)]
    assert belts[2].coefficients == {"rotor2": 1.0, "joint0": -2.5, "joint1": -1.25, "joint2": -0.625}
    assert set(belts[4].coefficients) == {"rotor4", "joint3", "joint4"}
    assert {robot.joint(f"rotor{k}").parent for k in range(3, 6)} == {"link2"}


def test_links_that_no_belt_groups_are_refused() -> None:
    with pytest.raises(lw.errors.InputError, match="no whole number of groups"):
        zoo.belt_chain(7, 2)


def test_the_swimmer_of_three_links_has_the_papers_sizes() -> None:
    """delassus, Section VI-C: 5 velocities, 6 contacts, 18 rows."""
    robot = zoo.swimmer(3)
    assert (robot.nv, len(robot.constraints), robot.nc) == (5, 6, 18)


def test_the_stack_of_boxes_has_the_papers_sizes() -> None:
    """delassus, Table I: 180 velocities, 120 contacts, 360 rows."""
    robot = zoo.stack()
    assert (robot.nv, len(robot.constraints), robot.nc) == (180, 120, 360)
    assert gap(robot) <= CLOSED


def test_the_pyramid_has_the_papers_sizes() -> None:
    """delassus, Table I: 288 contacts, 864 rows; 30 boxes as in the stack."""
    robot = zoo.pyramid()
    assert (robot.nv, len(robot.constraints), robot.nc) == (180, 288, 864)
    assert gap(robot) <= CLOSED
    assert np.linalg.matrix_rank(lw.constraint_jacobian(robot, robot.poses[zoo.ASSEMBLED])) == 180


# Random loops ----------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(st.integers(0, 2**31), st.integers(1, 12), st.integers(0, 5))
def test_random_loops_are_closed_in_the_assembled_pose(seed: int, bodies: int, loops: int) -> None:
    robot = zoo.random_loops(seed, bodies, loops)
    assert len(robot.constraints) == loops
    assert gap(robot) <= CLOSED


@pytest.mark.slow
@pytest.mark.parametrize("kind", zoo.LOOP_KINDS)
def test_every_kind_of_constraint_can_be_asked_for(kind: str) -> None:
    for seed in range(5):
        robot = zoo.random_loops(seed, 5, 2, kinds="rp", constraints=[kind])
        assert {type(c).__name__ for c in robot.constraints} == {kind}
        assert gap(robot) <= CLOSED


def test_one_seed_gives_one_mechanism() -> None:
    a, b = (zoo.random_loops(7, 6, 3) for _ in range(2))
    assert [repr(c) for c in a.constraints] == [repr(c) for c in b.constraints]
    assert np.array_equal(a.poses[zoo.ASSEMBLED], b.poses[zoo.ASSEMBLED])


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(lw.errors.InputError, match="none of Weld"):
        zoo.random_loops(0, constraints=["Glue"])


# Places ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_plain_placements_agree_with_the_library(seed: int) -> None:
    robot = zoo.random_tree(seed, 10)
    q = robot.random(seed)
    names = list(robot.frame_names)
    found, expected = placements(robot, q, names), lw.frame_placement(robot, q, names)
    for k, name in enumerate(names):
        assert_close(found[name].position, expected.position[k], 1e-14, scale=1.0)
        assert_close(found[name].rotation, expected.rotation[k], 1e-14)


@settings(max_examples=50)
@given(st.tuples(*[st.floats(-1, 1)] * 4).filter(lambda q: np.linalg.norm(q) > 0.01))
def test_a_quaternion_is_found_back_from_its_rotation(q: tuple[float, float, float, float]) -> None:
    unit = np.array(q) / np.linalg.norm(q)
    found = quaternion_of(quaternion_matrix(unit))
    assert min(np.abs(found - unit).max(), np.abs(found + unit).max()) < 1e-14
