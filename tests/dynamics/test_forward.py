# SPDX-License-Identifier: BSD-3-Clause
"""Physics of constrained motion: energy, momentum, work, gains, wrenches, gravity; switches and weights; the choice."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import linkwork as lw
from linkwork.compilers.program import Program
from linkwork.compilers.trace.tracing import Trace, trace
from linkwork.dynamics import costs, methods
from linkwork.dynamics.costs import MOST_COUNTED
from linkwork.dynamics.iterations import REGULARIZATION
from linkwork.dynamics.methods import AUTOMATIC, METHODS
from linkwork.dynamics.native_times import ESTIMATED_TO, native_time
from linkwork.mechanism import Mechanism
from tests.support import linkages
from tests.support.gauss import ROUNDING, Problem, closed_state, distance, open_state
from tests.support.states import assert_close
from tests.zoo import test_scenes

BOUND = tuple(name for name, method in METHODS.items() if name != "aba" and not method.closed)
GROUNDED = ("pv_early", "pv_soft", "constrained_aba")
each_method = pytest.mark.parametrize("method", AUTOMATIC)

LOOPS = ("four-bar", "floating four-bar", "five-bar", "RSSR", "universal joints")
each_loop = pytest.mark.parametrize("name", LOOPS)


@cache
def posed(name: str) -> tuple[Mechanism, np.ndarray]:
    robot = linkages.made(name)
    start = robot.random(seed=1)
    return robot, robot.assemble(start, limits=False)


def moving(name: str, seed: int = 0) -> Problem:
    robot, q = posed(name)
    return closed_state(robot, q, np.random.default_rng([seed, 9]))


def solve(p: Problem, method: str, **settings: float) -> lw.results.Solution:
    return lw.ForwardDynamics(p.robot, method, tolerance=1e-12, **settings)(p.q, p.v, p.tau)


# Identities ------------------------------------------------------------------------------------------


@each_method
@each_loop
def test_forces_of_constraints_do_no_work(name: str, method: str) -> None:
    """On velocities that the loops allow."""
    p = moving(name)
    s = solve(p, method)
    power = s.multipliers @ (p.J @ p.v)
    assert abs(power) <= 1e-10 * float(np.abs(s.multipliers) @ (np.abs(p.J) @ np.abs(p.v)))


@each_method
@each_loop
def test_energy_changes_by_the_power_of_torques(name: str, method: str) -> None:
    """d/dt energy = v . tau, by differences along the motion that starts with the acceleration found."""
    p = moving(name)
    a = solve(p, method).acceleration
    h = 3e-5

    def energy(t: float) -> float:
        # to second order in t: what is missing is odd, and differences of fourth order do not see it
        q = p.robot.integrate(p.q, t * p.v + 0.5 * t * t * a)
        return float(lw.energy(p.robot, q, p.v + t * a).total)

    rate = (8 * (energy(h) - energy(-h)) - (energy(2 * h) - energy(-2 * h))) / (12 * h)
    scale = float(np.abs(p.tau) @ np.abs(p.v)) + float(lw.energy(p.robot, p.q, p.v).kinetic)
    assert abs(rate - p.tau @ p.v) <= 1e-6 * scale


@each_method
def test_momentum_of_a_floating_robot_with_loops_changes_by_its_weight_alone(method: str) -> None:
    """Torques and loop constraints are internal: they change neither linear nor angular momentum."""
    robot, q = posed("floating four-bar")
    p = closed_state(robot, q, np.random.default_rng(3))
    tau = p.tau.copy()
    tau[robot.v_slice("free")] = 0.0
    a = solve(replace(p, tau=tau), method).acceleration
    h = 1e-3

    def momentum(t: float) -> np.ndarray:
        at = robot.integrate(p.q, t * p.v + 0.5 * t * t * a)
        return np.asarray(lw.centroidal_momentum(robot, at, p.v + t * a))

    rate = (8 * (momentum(h) - momentum(-h)) - (momentum(2 * h) - momentum(-2 * h))) / (12 * h)
    weight = robot.mass * robot.gravity
    scale = float(max(np.abs(weight).max(), np.abs(momentum(0.0)).max()))
    assert_close(rate, np.concatenate([np.zeros(3), weight]), 1e-7, scale=scale)


@each_method
def test_the_forces_of_feet_carry_the_weight_at_rest(method: str) -> None:
    """Of both feet of a humanoid at rest, held by torques: upwards, as much as it weighs."""
    robot = linkages.made("humanoid")
    q, v = robot.neutral(), np.zeros(robot.nv)
    tau = lw.gravity_forces(robot, q)
    tau[: robot.v_slice(robot.joint_names[0]).stop] = 0.0
    # What torques cannot hold the feet must: ask for the acceleration zero of everything else.
    J, g = lw.constraint_jacobian(robot, q), lw.gravity_forces(robot, q)
    wanted = np.linalg.lstsq(J.T[:6], g[:6], rcond=None)[0]
    tau[6:] = (g - J.T @ wanted)[6:]
    s = lw.ForwardDynamics(robot, method, tolerance=1e-12)(q, v, tau)
    assert np.abs(s.acceleration).max() <= 1e-7
    total = np.zeros(3)
    for name, force in s.forces.items():
        constraint = robot.constraint(name)
        second = constraint.second == "world"
        pose = lw.frame_placement(robot, q, constraint.first)
        axes = pose.rotation @ constraint.frames()[0].rotation
        total += (-1 if second else 1) * axes @ force[-3:]
    assert_close(total, -robot.mass * robot.gravity, 1e-7)


# What rows ask ---------------------------------------------------------------------------------------


@each_method
@pytest.mark.parametrize("gains", [(0.0, 0.0), (0.0, 5.0), (100.0, 20.0)], ids=str)
def test_rows_get_the_acceleration_that_gains_ask(gains: tuple[float, float], method: str) -> None:
    """``J a + dJ/dt v = -kp error - kd J v``, where loops are open and moving apart."""
    robot, q = posed("RSSR")
    robot = replace(robot, constraints=tuple(replace(c, gains=gains, time_constant=None) for c in robot.constraints))
    rng = np.random.default_rng(5)
    q = robot.integrate(q, 0.1 * rng.normal(size=robot.nv))
    p = Problem(robot, q, *rng.normal(size=(2, robot.nv)))
    s = solve(p, method)
    target = -gains[0] * lw.constraint_error(robot, q) - gains[1] * (p.J @ p.v)
    found = p.J @ s.acceleration + lw.constraint_bias(robot, q, p.v)
    assert_close(found, target, 1e-9, scale=10.0)


@pytest.mark.parametrize("method", [*AUTOMATIC, "kkt", "ltl", "pv"])
def test_external_wrenches_enter_as_forces_on_their_frames(method: str) -> None:
    robot = linkages.made("humanoid")
    p = open_state(robot, np.random.default_rng(6))
    frames = ("left_hand", "right_foot", "world") if "left_hand" in robot.frames else (*robot.body_names[-2:], "world")
    wrenches = 10 * np.random.default_rng(7).normal(size=(3, 6))
    pushed = replace(p, frames=frames, wrenches=wrenches)
    fd = lw.ForwardDynamics(robot, method, wrenches=frames, **({} if method == "kkt" else {"tolerance": 1e-12}))
    assert distance(fd(p.q, p.v, p.tau, wrenches).acceleration, pushed.hard[0]) <= 1e-9
    assert distance(fd(p.q, p.v, p.tau).acceleration, p.hard[0]) <= 1e-9
    batch = fd(p.q, p.v, p.tau, np.stack([wrenches, 0 * wrenches])).acceleration
    assert distance(batch[0], pushed.hard[0]) <= 1e-9 and distance(batch[1], p.hard[0]) <= 1e-9


ON_WORLD = {
    "center of mass": lw.constraints.CenterOfMass(axes="xz", name="com"),
    "center of mass of some": lw.constraints.CenterOfMass(bodies=("link1", "link3"), name="some"),
    "combination, aligned": lw.constraints.LinearCombination(
        {"link2": np.arange(12.0).reshape(2, 6), "link4": np.ones((2, 6))}, name="sum"
    ),
    "combination, local": lw.constraints.LinearCombination({"link4": np.eye(6)[3:] + 0.1}, "local", name="hand"),
    "point": lw.constraints.Point("world", "link6", name="tip"),
    "weld": lw.constraints.Weld("link6", "world", name="tip"),
    "coupling": lw.constraints.JointCoupling({"joint0": 1.0, "joint3": -2.0}, name="belt"),
    "lock": lw.constraints.JointLock("joint2", 0.1, name="lock"),
}


@pytest.mark.parametrize("floating", [False, True], ids=["on the world", "floating"])
@pytest.mark.parametrize("kind", ON_WORLD)
def test_gravity_leaves_what_rows_ask_of_the_world_alone(kind: str, floating: bool) -> None:
    """Kernels accelerate the root in place of gravity: rows that look at the world must not see it."""
    robot = lw.zoo.serial_chain(8)
    if floating:
        base = lw.Builder("base").body("base", lw.Inertia.box(3.0, (0.3, 0.2, 0.1)))
        base = base.joint("free", lw.joints.Free(), "world", "base").build()
        robot = lw.attach(base, robot, to="base", at=(0.1, 0.0, 0.05))
        names = {name.split("/")[-1]: name for name in (*robot.body_names, *robot.joint_names)}
        bound = _renamed(ON_WORLD[kind], names)
    else:
        bound = ON_WORLD[kind]
    heavy = robot.constrained(bound).with_gravity((3.0, -20.0, 9.0))
    p = open_state(heavy, np.random.default_rng(8))
    weightless = replace(p, robot=heavy.with_gravity((0.0, 0.0, 0.0)))
    assert_close(p.k, weightless.k, 1e-13, scale=1.0)
    for method in lw.methods.methods_for(heavy):
        if METHODS[method].closed:
            continue
        if method == "pv_soft":
            assert (
                distance(solve(p, method).acceleration, p.soft(REGULARIZATION)[0])
                <= 1e-8 + ROUNDING * p.stiffness / REGULARIZATION
            )
            continue
        s = solve(p, method)
        assert distance(p.J @ s.acceleration, p.k) <= 1e-8, method
        assert distance(s.acceleration, p.hard[0]) <= 1e-8, method


def _renamed(bound: lw.constraints.Constraint, names: dict[str, str]) -> lw.constraints.Constraint:
    if isinstance(bound, lw.constraints.LinearCombination):
        return replace(bound, matrices={names.get(place, place): m for place, m in bound.matrices.items()})
    if isinstance(bound, lw.constraints.CenterOfMass):
        return bound if bound.bodies is None else replace(bound, bodies=tuple(names[b] for b in bound.bodies))
    if isinstance(bound, lw.constraints.JointCoupling):
        return lw.constraints.JointCoupling({names["joint0"]: 1.0, names["joint3"]: -2.0}, name="belt")
    if isinstance(bound, lw.constraints.JointLock):
        return lw.constraints.JointLock(names["joint2"], 0.1, name="lock")
    return replace(bound, first=names.get(bound.first, bound.first), second=names.get(bound.second, bound.second))


# Switches and weights --------------------------------------------------------------------------------


def two_loops() -> Mechanism:
    return lw.zoo.random_loops(11, bodies=7, loops=3, constraints=["Weld", "Point", "JointCoupling", "Rod"])


@pytest.mark.parametrize("method", [name for name in BOUND if METHODS[name].internal])
def test_a_constraint_switched_off_might_as_well_not_be_there(method: str) -> None:
    robot = two_loops()
    p = open_state(robot, np.random.default_rng(9))
    for off in robot.constraints:
        switched = robot.switched({off.name: False})
        without = robot.unconstrained().constrained(*(c for c in robot.constraints if c is not off))
        s = lw.ForwardDynamics(switched, method, tolerance=1e-12)(p.q, p.v, p.tau)
        expected = lw.ForwardDynamics(without, method, tolerance=1e-12)(p.q, p.v, p.tau)
        assert distance(s.acceleration, expected.acceleration) <= 1e-9
        assert np.abs(s.forces[off.name]).max() <= 1e-20
        assert (s.residuals[robot.row_slice(off.name)] == 0.0).all()
        for other in without.constraints:
            assert distance(s.forces[other.name], expected.forces[other.name]) <= 1e-7


@pytest.mark.parametrize("method", GROUNDED)
def test_a_foot_switched_off_might_as_well_not_be_there(method: str) -> None:
    robot = linkages.made("humanoid")
    p = open_state(robot, np.random.default_rng(10))
    s = lw.ForwardDynamics(robot.switched({"left": False}), method)(p.q, p.v, p.tau)
    one = robot.unconstrained().constrained(robot.constraint("right"))
    assert distance(s.acceleration, lw.ForwardDynamics(one, method)(p.q, p.v, p.tau).acceleration) <= 1e-9
    assert np.abs(s.forces["left"]).max() <= 1e-20


@pytest.mark.parametrize("method", BOUND)
def test_all_constraints_switched_off_leave_the_tree(method: str) -> None:
    robot = linkages.made("humanoid")
    p = open_state(robot, np.random.default_rng(11))
    s = lw.ForwardDynamics(robot.switched({"left": False, "right": False}), method)(p.q, p.v, p.tau)
    assert distance(s.acceleration, p.free) <= 1e-9
    assert np.abs(s.multipliers).max() <= 1e-20
    assert s.residual == 0.0 and s.converged and s.iterations <= 2


def test_switching_prepares_nothing_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """One program serves all: the switch is the damping of rows, a number among the inputs."""
    from linkwork.compilers import llvm

    robot = two_loops()
    p = open_state(robot, np.random.default_rng(12))
    lw.ForwardDynamics(robot, "prox_bbo").compile(lanes=1, threads=1)(p.q, p.v, p.tau)
    monkeypatch.setattr(llvm, "object_code", lambda *_, **__: pytest.fail("compiled again"))
    for c in robot.constraints:
        off = robot.switched({c.name: False})
        s = lw.ForwardDynamics(off, "prox_bbo").compile(lanes=1, threads=1)(p.q, p.v, p.tau)
        native = lw.ForwardDynamics(off, "prox_bbo")(p.q, p.v, p.tau)
        assert_close(s.acceleration, native.acceleration, 1e-12 + 0.1 * ROUNDING * p.stiffness / REGULARIZATION)
        assert off.computed is robot.computed


def test_weights_and_gains_need_no_new_program_for_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    from linkwork.compilers import llvm

    robot = two_loops()
    p = open_state(robot, np.random.default_rng(12))
    lw.ForwardDynamics(robot, "prox_bbo").compile(lanes=1, threads=1)
    monkeypatch.setattr(llvm, "object_code", lambda *_, **__: pytest.fail("compiled again"))
    weighted = replace(robot, constraints=tuple(replace(c, compliance=3.0) for c in robot.constraints))
    s = lw.ForwardDynamics(weighted, "prox_bbo").compile(lanes=1, threads=1)(p.q, p.v, p.tau)
    assert distance(s.acceleration, p.hard[0]) <= 1e-8


def test_a_weight_is_the_softness_of_its_row() -> None:
    """Of a body on soft rows: each gives way by its weight, the damping and its inverse inertia, times its force."""
    build = (
        lw.Builder().body("box", lw.Inertia.box(2.0, (0.1, 0.2, 0.3))).joint("free", lw.joints.Free(), "world", "box")
    )
    compliance = (1.0, 2.0, 5.0)
    robot = build.constrain(lw.constraints.Point("world", "box", name="spring", compliance=compliance)).build()
    state = (robot.neutral(), np.zeros(6), np.zeros(6))
    s = lw.ForwardDynamics(robot, "pv_soft", regularization=0.1)(*state)
    # m (g + R f) = f along each axis: f = m g / (1 + m R), with R a part of 1 / m
    expected = -2.0 * robot.gravity / (1 + 0.1 * np.array(compliance))
    assert_close(s.forces["spring"], expected, 1e-13)
    given = lw.ForwardDynamics(robot, "pv_soft")(*state, regularization=[0.05, 0.1, 0.25])
    assert_close(given.forces["spring"], expected, 1e-13)
    assert s.converged and s.iterations == 1


# The choice ------------------------------------------------------------------------------------------

CHOICES = {
    "four-bar": lambda: lw.zoo.four_bar("weld"),
    "Stewart": lambda: lw.zoo.stewart(),
    "chain of loops": lambda: lw.zoo.chain_of_loops(3),
    "gears": lambda: lw.zoo.geared_chain(4),
    "ladder": lambda: lw.zoo.ladder(2),
    "standing humanoid": lambda: linkages.made("humanoid"),
}


def estimated(robot: Mechanism, name: str, iterations: int) -> float:
    """The time of a method in native code."""
    method, cost = METHODS[name], lw.methods.method_costs(robot)[name]
    assert method.algorithm is not None and method.arrays is not None
    further = cost.in_iterations(iterations) - cost.total
    return native_time(
        method.algorithm, methods.method_tree(robot, name, method.arrays), cost.total, further, iterations
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", CHOICES)
def test_auto_takes_a_fast_method_with_few_operations(name: str) -> None:
    """Of those that serve every redundancy and are about as fast as the fastest, for a first iteration and two more, or
    for the first alone; counts are those of the programs."""
    robot = CHOICES[name]()
    costs = lw.methods.method_costs(robot)
    assert set(costs) == set(lw.methods.methods_for(robot)) - {"kkt"}
    for method, cost in costs.items():
        counted = lw.operation_count(lw.ForwardDynamics(robot, method))
        assert (dict(counted), counted.iteration, counted.refinement) == (dict(cost), cost.iteration, cost.refinement)
    for iterations in (1, 3):
        times = {method: estimated(robot, method, iterations) for method in AUTOMATIC}
        near = [method for method in AUTOMATIC if times[method] <= (1.0 + ESTIMATED_TO) * min(times.values())]
        least = min(near, key=lambda method: costs[method].in_iterations(iterations))
        chosen = lw.ForwardDynamics(robot, max_iterations=iterations).method
        assert chosen == lw.methods.best_method(robot, iterations) == least


def test_four_bars_that_do_not_touch_are_no_dense_matrix() -> None:
    """Straight-line programs leave out the zeros of a factor of all rows, native code does not: 18 times the time."""
    robot = lw.compose({f"bar{k}": lw.zoo.four_bar() for k in range(28)})
    operations = {method: lw.methods.method_costs(robot)[method].total for method in AUTOMATIC}
    assert operations["prox_ltl"] < 1.05 * min(operations.values())
    assert estimated(robot, "prox_ltl", 3) > 5 * estimated(robot, "lcaba", 3)
    assert lw.methods.best_method(robot) != "prox_ltl"


def test_counts_are_the_same_for_the_same_robot() -> None:
    first, second = (lw.methods.method_costs(lw.zoo.stewart()) for _ in range(2))
    assert first == second
    assert {k: v.iteration for k, v in first.items()} == {k: v.iteration for k, v in second.items()}


def test_auto_takes_aba_where_nothing_binds() -> None:
    assert lw.ForwardDynamics(lw.zoo.humanoid()).method == "aba"
    assert lw.ForwardDynamics(lw.zoo.four_bar().switched({"C": False})).method == "aba"


@pytest.mark.slow
def test_counting_stops_where_a_dense_factor_outgrows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is traced that takes steps as the cube of 300 rows; of the others the cheapest is chosen."""
    traced = []

    def counted(program: Program, limit: int) -> Trace:
        algorithm, tree = program.algorithm, program.tree
        traced.append(algorithm.name)
        assert ("nc", "nc") not in algorithm.work.values() or tree.nc**3 <= 6 * MOST_COUNTED
        return trace(algorithm, tree, limit)

    monkeypatch.setattr(Program, "trace", counted)
    monkeypatch.setattr(costs.disk, "fetch", lambda key, make: make())
    few, many = (lw.compose({f"bar{k}": lw.zoo.four_bar() for k in range(n)}) for n in (4, 60))
    assert many.nc**3 > 6 * MOST_COUNTED
    assert lw.methods.best_method(few) in AUTOMATIC and traced.count("prox_ltl") == 1
    chosen = lw.methods.best_method(many)
    assert traced.count("prox_ltl") == 1 and traced.count("lcaba") == 2
    found = {name: methods.method_cost(many, name) for name in AUTOMATIC}
    assert found.pop("prox_ltl") is None
    assert found[chosen] is not None


@each_method
def test_further_iterations_cost_less_than_the_first(method: str) -> None:
    cost = lw.methods.method_costs(lw.zoo.stewart())[method]
    assert 0 < cost.iteration < 0.5 * cost.total


# How counts grow -------------------------------------------------------------------------------------


def count(robot: Mechanism, method: str) -> int:
    return lw.operation_count(lw.ForwardDynamics(robot, method)).total


def exponent(sizes: list[int], counts: list[int]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(counts), 1)[0])


@pytest.mark.slow
@pytest.mark.parametrize("method", ["lcaba", "prox_bbo"])
def test_operations_are_linear_in_the_links_of_a_loop(method: str) -> None:
    sizes = [20, 200]
    assert exponent(sizes, [count(lw.zoo.single_loop(n), method) for n in sizes]) <= 1.1


@pytest.mark.slow
@pytest.mark.parametrize("method", ["lcaba", "prox_bbo"])
def test_operations_are_linear_in_the_loops_of_a_chain(method: str) -> None:
    sizes = [4, 40]  # 25 and 241 links
    assert exponent(sizes, [count(lw.zoo.chain_of_loops(n), method) for n in sizes]) <= 1.1


@pytest.mark.slow
@pytest.mark.parametrize("method", ["pv_early", "pv_soft"])
def test_operations_are_linear_in_the_rungs_of_a_ladder(method: str) -> None:
    sizes = [3, 30]
    assert exponent(sizes, [count(lw.zoo.ladder(n), method) for n in sizes]) <= 1.1


def test_springs_to_the_ground_cost_the_same_by_any_name() -> None:
    """constrained_aba iterates what pv_soft does once; so does lcaba where no constraint is between bodies."""
    counts = {count(lw.zoo.ladder(2), method) for method in ("pv_soft", "constrained_aba", "lcaba")}
    assert len(counts) == 1


@pytest.mark.slow
def test_operations_of_lcaba_are_linear_in_the_branches_of_a_star() -> None:
    sizes = [4, 36]
    assert exponent(sizes, [count(lw.zoo.star_of_loops(n), "lcaba") for n in sizes]) <= 1.1


@pytest.mark.slow
def test_operations_of_factors_in_joint_space_grow_faster() -> None:
    assert exponent([10, 30], [count(lw.zoo.single_loop(n), "ltl") for n in (10, 30)]) > 1.3
    assert exponent([3, 9], [count(lw.zoo.ladder(n), "ltl") for n in (3, 9)]) > 1.6


def test_scenes_of_the_papers_have_a_method_that_counts() -> None:
    assert lw.methods.best_method(test_scenes.made("Go1 (4F3)")) in AUTOMATIC
