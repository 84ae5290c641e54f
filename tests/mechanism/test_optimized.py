# SPDX-License-Identifier: BSD-3-Clause
"""The best spanning tree: the same mechanism in other coordinates, with fewer operations."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.compilers.trace.tracing import trace
from linkwork.dynamics.iterations import EXPECTED
from linkwork.dynamics.methods import AUTOMATIC, method_cost
from linkwork.kernels.constrained.lcaba import LCABA
from linkwork.mechanism import Mechanism
from linkwork.mechanism.connections import PROPERTIES, ConnectionGraph, Rules
from linkwork.mechanism.optimization import cost_of
from linkwork.mechanism.optimized import Optimized
from linkwork.mechanism.rebuilding import Choice, Rebuilder
from linkwork.model.constraints import Pair, closing, opening
from linkwork.plans.elimination import elimination_orders
from linkwork.plans.lcaba import lcaba_tree
from tests.support import robots
from tests.support.linkages import MECHANISMS, made, rod
from tests.support.states import assert_close

ALL: dict[str, Any] = {"root": True, "ends": True, "drop": PROPERTIES}
"""All that may change."""

LOOPS: dict[str, Callable[[], Mechanism]] = {
    **{f"four_bar {closure}": lambda c=closure: lw.zoo.four_bar(c) for closure in ("hinge", "point", "weld", "rod")},
    "slider_crank": lw.zoo.slider_crank,
    "watt": lw.zoo.watt,
    "jansen": lw.zoo.jansen,
    "stewart": lw.zoo.stewart,
    "delta": lw.zoo.delta,
    "single_loop": lambda: lw.zoo.single_loop(5),
    "chain_of_loops": lambda: lw.zoo.chain_of_loops(2, 4),
    "coupled_loops": lambda: lw.zoo.coupled_loops(2, 2),
    "star_of_loops": lambda: lw.zoo.star_of_loops(3, 3),
    "held_chain": lambda: lw.zoo.held_chain(7),
    "ladder": lambda: lw.zoo.ladder(1, 4, 2),
    **{name: lambda n=name: made(n) for name in MECHANISMS if name != "humanoid"},
    "ball of hinges": lambda: gimbals(),
    "held four-bar": lambda: held_four_bar(),
    "plunger": lambda: plunger(),
}


def gimbals() -> Mechanism:
    """Two cranks and a bar in two halves that are welded; at its ends three hinges, and two, on bodies without mass."""
    build = lw.Builder("gimbals").body("a", rod(0.4)).joint("a", lw.joints.Revolute("y"), "world", "a", actuated=True)
    build.body("b", rod(0.9)).joint("b", lw.joints.Revolute((1, 0, 1)), "world", "b", (1.0, 0.3, 0.2))
    for end, on, reach, axes in (("one", "a", 0.4, "xyz"), ("two", "b", 0.9, "zy")):
        parent, at = on, (reach, 0, 0)
        for k, axis in enumerate(axes):
            name = f"{end}_{axis}" if k < len(axes) - 1 else f"{end}_half"
            build.body(name, rod(0.6) if k == len(axes) - 1 else None)
            build.joint(f"{end}_{axis}", lw.joints.Revolute(axis), parent, name, at)
            parent, at = name, (0, 0, 0)
    build.body("sleeve", rod(0.2)).joint("sleeve", lw.joints.Prismatic("x"), "two_half", "sleeve", (0.3, 0, 0))
    robot = build.build()
    q = robot.integrate(robot.neutral(), 0.3 * np.cos(np.arange(robot.nv)))
    return replace(
        robot.constrained(lw.constraints.Weld("one_half", "sleeve", name="bar"), at=q), poses={"assembled": q}
    )


def plunger() -> Mechanism:
    """A crank on a bar that turns and slides in the world, in two joints on one axis; a ball, and a weld, between."""
    build = lw.Builder("plunger").body("crank", rod(0.3)).joint("crank", lw.joints.Revolute("z"), "world", "crank")
    build.body("rod", rod(0.5)).joint("ball", lw.joints.Spherical(), "crank", "rod", (0.3, 0, 0))
    build.body("ring").joint("turn", lw.joints.Revolute("x"), "world", "ring", (0.6, 0.1, 0.2))
    build.body("piston", rod(0.4)).joint("slide", lw.joints.Prismatic("x"), "ring", "piston")
    build.body("eye", rod(0.1)).joint("pin", lw.joints.Revolute("y"), "piston", "eye", (0.1, 0, 0))
    robot = build.build()
    q = robot.integrate(robot.neutral(), 0.3 * np.cos(np.arange(robot.nv)))
    return replace(robot.constrained(lw.constraints.Weld("rod", "eye", name="weld"), at=q), poses={"assembled": q})


def held_four_bar() -> Mechanism:
    """A floating four-bar whose crank is held in the world by a ball."""
    robot = made("floating four-bar")
    q = robot.assemble()
    return replace(robot.constrained(lw.constraints.Point("world", "crank", name="hold"), at=q), poses={"assembled": q})


def closed_state(robot: Mechanism, seed: int, *lead: int) -> tuple[Any, Any, Any]:
    """A state with closed loops, and torques."""
    rng = np.random.default_rng(seed)
    start = next(iter(robot.poses.values()), robot.neutral())
    q = robot.assemble(robot.integrate(start, 0.1 * rng.normal(size=(*lead, robot.nv))))
    v = robot.project_velocity(q, rng.normal(size=(*lead, robot.nv)))
    return q, v, rng.normal(size=(*lead, robot.nv))


def check_same(old: Mechanism, new: Mechanism, across: Optimized, rel: float = 1e-7) -> None:
    """Bodies are where they were, move as they did, and accelerate alike; loops are closed."""
    q, v, tau = closed_state(old, 1)
    new_q, new_v, new_tau = across.to(q, v, tau)
    bodies = [body for body in old.body_names if body in new.frames]
    if new.nc:
        assert np.abs(lw.constraint_error(new, new_q)).max() < 1e-9
        assert_close(lw.constraint_jacobian(new, new_q) @ new_v, np.zeros(new.nc), 1e-9, scale=1.0)
    here, there = lw.frame_placement(old, q, bodies), lw.frame_placement(new, new_q, bodies)
    assert_close(there.position, here.position, 1e-9, scale=1.0)
    assert_close(there.rotation, here.rotation, 1e-9)
    assert_close(lw.frame_velocity(new, new_q, new_v, bodies), lw.frame_velocity(old, q, v, bodies), 1e-9, scale=1.0)
    assert_close(lw.energy(new, new_q, new_v).kinetic, lw.energy(old, q, v).kinetic, 1e-9, scale=1e-6)
    assert_close(new_tau @ new_v, tau @ v, 1e-9, scale=1.0)
    a = lw.ForwardDynamics(old, "kkt" if old.nc else "aba")(q, v, tau).acceleration
    new_a = lw.ForwardDynamics(new, "kkt" if new.nc else "aba")(new_q, new_v, new_tau).acceleration
    wanted = lw.frame_acceleration(old, q, v, a, bodies)
    assert_close(lw.frame_acceleration(new, new_q, new_v, new_a, bodies), wanted, rel, scale=1.0)
    back_q, back_v, back_a = across.back(new_q, new_v, new_a)
    assert_close(lw.frame_placement(old, back_q, bodies).position, here.position, 1e-9, scale=1.0)
    assert_close(lw.frame_velocity(old, back_q, back_v, bodies), lw.frame_velocity(old, q, v, bodies), 1e-8, scale=1.0)
    assert_close(lw.frame_acceleration(old, back_q, back_v, back_a, bodies), wanted, rel, scale=1.0)
    for name in set(old.joint_names) & set(new.joint_names):
        if old.joint(name).type.nv == 1:
            assert new_q[new.q_slice(name)] == q[old.q_slice(name)] == back_q[old.q_slice(name)]
            assert_close(back_a[old.v_slice(name)], a[old.v_slice(name)], rel, scale=1.0 + float(np.abs(a).max()))


def moved(old: Mechanism, new: Mechanism) -> Optimized:
    """The way from one mechanism to another, whatever they cost."""
    nothing: Any = None
    return Optimized(old, new, nothing, nothing, (), 0, True, 0.0)


@cache
def optimized(name: str, everything: bool) -> Optimized:
    return LOOPS[name]().optimized(**(ALL if everything else {}), seconds=60.0)


# What is found -------------------------------------------------------------------------------------------------


LARGE = ("stewart", "delta", "jansen", "star_of_loops")


@pytest.mark.parametrize(
    ("name", "everything"), [(n, e) for n in LOOPS for e in (False, True) if not (e and n in LARGE)]
)
def test_the_best_is_never_worse_and_the_same_mechanism(name: str, everything: bool) -> None:
    found = optimized(name, everything)
    assert found.after.operations <= found.before.operations and found.saved >= 0
    for robot, cost in ((found.original, found.before), (found.robot, found.after)):
        counted = method_cost(robot, cost.method)
        assert counted is not None and counted.in_iterations(EXPECTED) == cost.operations
    assert (found.robot is found.original) == (not found.changes) == (found.saved == 0)
    assert found.robot.actuators == found.original.actuators
    assert set(found.robot.poses) == set(found.original.poses)
    check_same(found.original, found.robot, found)


@pytest.mark.parametrize(
    ("name", "least"), [("four_bar weld", 0.35), ("held_chain", 0.3), ("ball of hinges", 0.5), ("single_loop", 0.2)]
)
def test_welds_inside_loops_are_merged(name: str, least: float) -> None:
    found = optimized(name, False)
    assert found.saved > least
    assert found.robot.nc < found.original.nc and len(found.robot.joints) < len(found.original.joints)


def test_a_robot_that_is_held_needs_no_floating_base() -> None:
    robot = lw.zoo.quadruped()
    held = robot.constrained(lw.constraints.Weld(robot.body_names[-1], "world", name="hold"), at=robot.neutral())
    kept = held.optimized(orders=False)
    assert kept.robot is held  # by default neither the base nor what holds it changes
    found = held.optimized(root=True)
    assert found.after.method == "aba" and found.robot.nv == held.nv - 6 and found.robot.nc == 0
    check_same(held, found.robot, found)
    assert held.optimized(root=True, keep=["hold"]).robot.nc == 6


def test_a_floating_base_moves_to_where_it_costs_least() -> None:
    robot = lw.zoo.serial_chain(7)
    build = lw.Builder("chain").body("start", rod(0.3)).joint("free", lw.joints.Free(), "world", "start")
    floating = build.add_mechanism(robot, to="start").build()
    found = floating.optimized("aba", root=True)
    assert found.after.operations <= found.before.operations
    for choice in _all_bases(floating):
        check_same(floating, choice, moved(floating, choice))


def _all_bases(robot: Mechanism) -> list[Mechanism]:
    graph = ConnectionGraph.of(robot, Rules(root=True))
    rebuild = Rebuilder(robot, graph)
    trees = [(graph.tree - {c.base}) | {name} for name, c in graph.connections.items() if c.base]
    return [new for tree in trees if (new := rebuild(Choice(tree))) is not None]


# Every exchange ------------------------------------------------------------------------------------------------


EXCHANGED = {"watt": 8, "slider_crank": 3, "coupled_loops": 8, "RSSR": 2, "universal joints": 2}
EXCHANGED |= {"ball of hinges": 4, "held four-bar": 5, "plunger": 3}
"""Mechanisms, and how many exchanges they have at least."""


@pytest.mark.parametrize("name", EXCHANGED)
def test_every_exchange_is_the_same_mechanism(name: str) -> None:
    check_all_exchanges(LOOPS[name](), EXCHANGED[name])


@pytest.mark.parametrize("seed", range(5))
def test_every_exchange_of_random_loops_is_the_same_mechanism(seed: int) -> None:
    kinds = ("Weld", "Hinge", "Slider", "Cardan", "Point", "PlaneOnPlane", "Cylindrical")
    robot = lw.zoo.random_loops(seed, 7, 2, "rpusSf", kinds, armature=False)
    check_all_exchanges(robot, 1)


def check_all_exchanges(robot: Mechanism, least: int) -> None:
    graph = ConnectionGraph.of(robot, Rules(root=True, drop=frozenset(PROPERTIES)))
    rebuild = Rebuilder(robot, graph)
    trees = {graph.exchanged(graph.tree, *exchange) for exchange in graph.exchanges(graph.tree)}
    made_of = [new for tree in trees if tree is not None and (new := rebuild(Choice(tree))) is not None]
    flips = frozenset(
        c.name
        for c in robot.constraints
        if isinstance(c, lw.constraints.Weld | lw.constraints.Hinge | lw.constraints.Point | lw.constraints.Cardan)
    )
    turned = rebuild(Choice(graph.tree, flips))
    assert turned is not None and len(made_of) >= least
    for new in (*made_of, turned):
        check_same(robot, new, moved(robot, new), rel=1e-6)


@pytest.mark.parametrize("name", ["watt", "slider_crank", "ball of hinges"])
def test_the_search_finds_the_best_of_all_trees(name: str) -> None:
    robot = LOOPS[name]()
    graph = ConnectionGraph.of(robot, Rules())
    rebuild = Rebuilder(robot, graph)
    known, front = {graph.tree}, [graph.tree]
    while front:
        tree = front.pop()
        for exchange in graph.exchanges(tree):
            other = graph.exchanged(tree, *exchange)
            if other is not None and other not in known:
                known.add(other)
                front.append(other)
    costs = [cost_of(new, AUTOMATIC) for tree in known if (new := rebuild(Choice(tree))) is not None]
    found = optimized(name, False).after
    assert len(costs) > 3 and all(cost is not None and found.operations <= cost.operations for cost in costs)


def test_opening_is_the_inverse_of_closing() -> None:
    rng = np.random.default_rng(0)
    ends = lw.zoo.random_placement(rng), lw.zoo.random_placement(rng)
    joints = (
        lw.joints.Revolute("x"),
        lw.joints.Prismatic("y"),
        lw.joints.Planar("z"),
        lw.joints.Spherical(),
        lw.joints.Fixed(),
        lw.joints.Universal("y", "z"),
    )
    for joint in joints:
        constraint = closing("loop", joint, "a", "b", *ends)
        assert isinstance(constraint, Pair)
        opened = opening(constraint)
        assert opened is not None and type(opened.type) is type(joint) and constraint.rows == 6 - joint.nv
    assert (
        opening(lw.constraints.Rod("a", "b", length=1.0)) is None
        and opening(lw.constraints.Cylindrical("a", "b")) is None
    )


# What stays ----------------------------------------------------------------------------------------------------


PROPERTY: dict[str, dict[str, Any]] = {
    "actuated": {"actuated": True},
    "independent": {"independent": True},
    "armature": {"armature": 0.1},
    "stiffness": {"stiffness": 2.0},
    "damping": {"damping": 0.2},
    "friction": {"friction": 0.3},
    "limits": {"lower": -3.0, "upper": 3.0},
}


def welded_four_bar(**options: Any) -> Mechanism:
    """A four-bar whose coupler is welded of two halves; all its joints have these properties."""
    build = lw.Builder("four-bar")
    build.body("crank", rod(0.5)).joint("j1", lw.joints.Revolute("y"), "world", "crank", **options)
    build.body("half", rod(0.6)).joint("j2", lw.joints.Revolute("y"), "crank", "half", (0.5, 0, 0), **options)
    build.body("rocker", rod(0.9)).joint("j3", lw.joints.Revolute("y"), "world", "rocker", (1.0, 0, 0), **options)
    build.body("other", rod(-0.6)).joint("j4", lw.joints.Revolute("y"), "rocker", "other", (0.9, 0, 0), **options)
    return build.constrain(
        lw.constraints.Weld("half", "other", first_at=(0.6, 0, 0), second_at=(-0.6, 0, 0), name="cut")
    ).build()


@pytest.mark.parametrize("name", PROPERTY)
def test_what_a_constraint_cannot_carry_keeps_a_joint_in_the_tree(name: str) -> None:
    robot = welded_four_bar(**PROPERTY[name])
    assert robot.optimized().robot.nv == 4
    if name in PROPERTIES:
        assert robot.optimized(drop=[name]).robot.nv == 3


def test_names_that_are_used_or_kept_stay() -> None:
    robot = welded_four_bar()
    assert robot.optimized().robot.nv == 3
    assert robot.optimized(keep=robot.joint_names).robot is robot
    assert robot.optimized(keep=["cut"]).robot is robot
    assert robot.optimized(cuts=False).robot is robot
    assert robot.with_actuators(*robot.joint_names).optimized().robot.nv == 4
    coupled = robot.constrained(lw.constraints.Gear("j1", "j2", 1.0), lw.constraints.Gear("j3", "j4", 1.0))
    assert coupled.optimized().robot.joint_names == robot.joint_names
    three = robot.optimized(keep=["j1", "j2", "j3"]).robot
    assert three.joint_names == ("j1", "j2", "j3") and three.constraints[0].name == "j4"


def test_constraints_that_are_soft_or_switched_off_stay_constraints() -> None:
    robot = welded_four_bar()
    cut = robot.constraint("cut")
    assert replace(robot, constraints=(replace(cut, compliance=3.0),)).optimized().robot.nc == 6
    assert robot.switched({"cut": False}).optimized().robot.nc == 6


def test_new_constraints_have_the_gains_of_the_old() -> None:
    robot = welded_four_bar()
    stable = replace(robot, constraints=(replace(robot.constraint("cut"), gains=(100.0, 20.0)),))
    assert [c.gains for c in stable.optimized().robot.constraints] == [(100.0, 20.0)]


def test_frames_shapes_and_poses_stay() -> None:
    robot = welded_four_bar().with_frame("tool", "other", (0.1, 0.2, 0.3))
    q = robot.assemble(0.3 * np.ones(4))
    robot = replace(robot, poses={"bent": q})
    found = robot.optimized()
    assert found.robot.frames["tool"].body == found.robot.frames["other"].body in ("half", "other")
    bent = found.robot.poses["bent"]
    assert np.abs(lw.constraint_error(found.robot, bent)).max() < 1e-12
    here, there = lw.frame_placement(robot, q, "tool"), lw.frame_placement(found.robot, bent, "tool")
    assert_close(there.position, here.position, 1e-12)


# States, orders, messages --------------------------------------------------------------------------------------


def test_batches_of_states_move_across_as_single_ones_do() -> None:
    found = optimized("ball of hinges", False)
    q, v, tau = closed_state(found.original, 3, 2, 3)
    there = found.to(q, v, tau)
    assert [x.shape[:-1] for x in there] == [(2, 3)] * 3
    for one, many in zip(found.to(q[1, 2], v[1, 2], tau[1, 2]), there, strict=True):
        assert_close(one, many[1, 2], 1e-12)
    with pytest.raises(lw.errors.InputError, match="v has 3 numbers, robot 'gimbals' needs"):
        found.to(q, np.zeros(3))
    with pytest.raises(lw.errors.InputError, match="leading axes"):
        found.back(there[0], there[1][:, :2])
    back = found.back(*there[:2])
    assert_close(found.back(there[0][0, 1], there[1][0, 1])[0], back[0][0, 1], 1e-12)


@pytest.mark.parametrize("name", ["coupled_loops", "stewart", "star_of_loops", "universal joints", "gears"])
def test_any_order_of_elimination_gives_the_same_accelerations(name: str) -> None:
    robot = LOOPS[name]()
    q, v, tau = closed_state(robot, 2)
    wanted = lw.ForwardDynamics(robot, "lcaba")(q, v, tau).acceleration
    shuffled = np.random.default_rng(0).permutation(robot.body_names).tolist()
    for order in (*elimination_orders(robot, 3), shuffled):
        ordered = replace(robot, elimination_order=order)
        a = lw.ForwardDynamics(ordered, "lcaba")(q, v, tau).acceleration
        assert_close(a, wanted, 1e-8)
    again = pickle.loads(pickle.dumps(ordered))
    assert again.elimination_order == tuple(shuffled)
    assert np.array_equal(lcaba_tree(again).elimination_order, lcaba_tree(ordered).elimination_order)


def test_the_default_order_is_of_minimum_degree() -> None:
    robot = lw.zoo.coupled_loops(2, 2)
    by_name = replace(robot, elimination_order=elimination_orders(robot, 60)[0])
    assert method_cost(by_name, "lcaba") is not None
    with pytest.raises(lw.errors.InputError, match="no body 'nobody'"):
        replace(robot, elimination_order=("nobody",))


def test_counting_reaches_what_a_program_needs() -> None:
    traced = trace(LCABA, lcaba_tree(lw.zoo.watt()))
    for program in (traced, traced.iterate):
        assert program is not None and program.reached() == sorted(program.needed())


def test_methods_are_chosen_by_name() -> None:
    robot = welded_four_bar()
    for method in ("lcaba", "prox_ltl", "cluster"):
        found = robot.optimized(method)
        assert found.before.method == found.after.method == method and found.saved > 0.2
    with pytest.raises(lw.errors.InputError, match=r"no method 'lcabba'.*'lcaba'"):
        robot.optimized("lcabba")  # type: ignore[arg-type]
    with pytest.raises(lw.errors.InputError, match="dense linear algebra"):
        robot.optimized("kkt")
    with pytest.raises(lw.errors.InputError, match="cannot serve robot 'four-bar'"):
        robot.optimized("aba")


def test_wrong_arguments_are_refused_in_words() -> None:
    robot = welded_four_bar()
    with pytest.raises(lw.errors.InputError, match="keep names 'j9', which is neither a joint nor a constraint"):
        robot.optimized(keep=["j9"])
    with pytest.raises(lw.errors.InputError, match="keep and drop are lists of names"):
        robot.optimized(keep="j1")
    with pytest.raises(lw.errors.InputError, match="drop has 'armature', needs some of limits, damping, friction"):
        robot.optimized(drop=["armature"])  # type: ignore[list-item]
    with pytest.raises(lw.errors.InputError, match="seconds is 0, needs a number above zero"):
        robot.optimized(seconds=0)


def test_a_result_says_what_was_won_and_reports_progress() -> None:
    heard: list[tuple[str, int, int]] = []
    found = welded_four_bar().optimized(progress=lambda *said: heard.append(said))
    assert len(heard) == found.counted - 1 and heard[-1][2] >= found.after.operations
    for text in (f"{100 * found.saved:.1f} % saved", "nv 4 -> 3", "Weld 'cut' is in the tree", "closes a loop, with 5"):
        assert text in str(found)
    assert "<table>" in found._repr_html_() and "is in the tree" in found._repr_html_()
    unchanged = welded_four_bar().optimized(keep=["cut"])
    assert "nothing to change" in str(unchanged) and "0.0 % saved" in unchanged._repr_html_()


def test_the_code_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = (robots.REPOSITORY / "docs" / "how-to" / "spanning-trees.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(block, "spanning-trees.md", "exec"), names)
    shown = re.sub(r" in .* s$", "", capsys.readouterr().out, flags=re.MULTILINE).strip()
    assert shown in re.sub(r" in .* s$", "", page, flags=re.MULTILINE)


def test_a_trajectory_is_the_same_on_another_tree() -> None:
    robot = welded_four_bar()
    found = robot.optimized("lcaba")
    q = robot.assemble(0.3 * np.ones(4))
    new_q, _ = found.to(q, np.zeros(4))
    how: dict[str, Any] = {"seconds": 0.05, "integrator": "rk4"}
    old, new = lw.simulate(robot, q, **how), lw.simulate(found.robot, new_q, **how)
    here, there = lw.frame_placement(robot, old.q, "rocker"), lw.frame_placement(found.robot, new.q, "rocker")
    assert np.abs(here.rotation[-1] - here.rotation[0]).max() > 1e-3
    assert_close(there.rotation, here.rotation, 1e-8)


def test_time_that_is_up_leaves_the_best_so_far() -> None:
    found = lw.zoo.coupled_loops(3).optimized(seconds=1e-3)
    assert not found.complete and found.counted == 1 and found.robot is found.original


# Real models ---------------------------------------------------------------------------------------------------


MODELS = {
    "example_parallel_robots/5bar_linkage/robot.urdf": 0.18,
    "example_parallel_robots/5bar_linkage_iso6d/robot.urdf": 0.6,
    "example_parallel_robots/talos_like/robot.urdf": 0.4,
    "example_parallel_robots/robot_delta/robot.urdf": 0.19,
    "example_parallel_robots/cassie_like/robot.urdf": 0.4,
    "grbda_linkages/six_bar.urdf": 0.0,
    "cassie/cassie_nomesh.xml": 0.0,
}


@pytest.mark.parametrize("name", MODELS)
def test_models_with_loops_are_never_worse(name: str) -> None:
    robot = lw.load(robots.model_file(name), inertias="trust")
    found = robot.optimized()
    assert found.saved >= MODELS[name]
    check_same(robot, found.robot, found, rel=1e-5)
