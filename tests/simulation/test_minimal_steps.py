# SPDX-License-Identifier: BSD-3-Clause
"""Compiled steps in minimal coordinates: loops closed to rounding, the same motion, all backends, dead centers."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.kernels.clusters.minimal import move_joint_transform
from linkwork.kernels.integration import displace
from linkwork.kernels.tree.kinematics import joint_transforms
from linkwork.mechanism import Mechanism
from linkwork.plans.tree import tree_of
from tests.kernels import test_clusters, test_tello
from tests.support import linkages
from tests.support.states import Floats
from tests.support.units import lengths_of_q, lengths_of_v, scaled

FREE: dict[str, Any] = {"passive": False, "limits": False, "threads": 1}
"""Steppers of joints that do nothing by themselves."""

NAMES = (
    *("zoo: four-bar, hinge", "zoo: five-bar", "zoo: geared chain", "zoo: stewart", "linkage: RSSR"),
    *("linkage: floating four-bar", "linkage: hexapod", "linkage: center of mass"),
    *("file: MIT humanoid", "file: Cassie", "file: Digit", "file: Kangaroo", "Tello"),
)
each_mechanism = pytest.mark.parametrize("name", NAMES)


@cache
def moving(name: str, speed: float = 0.5) -> tuple[Mechanism, Floats, Floats]:
    """A mechanism without actuators and contacts, its loops closed, and velocities that keep them so."""
    if name == "Tello":
        robot = test_tello.tello("legs")
        states = test_tello.states(robot, 1)
        q, v = states[0][0], states[1][0]
    else:
        p = test_clusters.problem(name)
        robot, q, v = p.robot, p.q, p.v
    robot = replace(robot, actuators=(), sensors=(), contacts=())
    minimal = lw.Minimal(robot)
    rate = v[minimal.index]
    return robot, q, minimal.velocity(q, speed * rate / max(1.0, float(np.abs(rate).max(initial=0.0))))


def opened(robot: Mechanism, q: Floats, v: Floats) -> tuple[float, float]:
    """How far loops are open, and how fast they open relative to the fastest joint."""
    J = lw.constraint_jacobian(robot, q)
    rate = np.abs(J @ v).max(initial=0.0) / max(1.0, float(np.abs(v).max()) * max(1.0, float(np.abs(J).max())))
    return float(np.abs(lw.constraint_error(robot, q)).max()), float(rate)


# Loops, and where the motion leads --------------------------------------------------------------------------------


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
@each_mechanism
def test_loops_are_closed_to_rounding_after_every_step(name: str, integrator: str) -> None:
    """Velocities as well by Runge and Kutta's method; by semi-implicit Euler to the square of the step."""
    robot, q, v = moving(name)
    stepper = lw.Stepper(robot, 1e-3, integrator, method="minimal", **FREE)  # type: ignore[arg-type]
    for _ in range(30):
        q, v = stepper(q, v)[:2]
        error, rate = opened(robot, q, v)
        assert error <= 1e-14 and rate <= {"euler": 1e-4, "rk4": 1e-12}[integrator]


@each_mechanism
def test_the_motion_is_that_of_all_joints(name: str) -> None:
    """Of Runge and Kutta's method, around a method that solves for all joints, without stabilization."""
    robot, q, v = moving(name)
    how: dict[str, Any] = {"passive": False, "limits": False, "integrator": "rk4", "seconds": 0.005}
    ours = lw.simulate(robot, q, v, method="minimal", **how)
    theirs = lw.simulate(robot, q, v, method="prox_ltl", time_constant=None, **how)
    assert np.abs(robot.difference(ours.q[-1], theirs.q[-1])).max() <= 1e-10
    assert np.abs(ours.v[-1] - theirs.v[-1]).max() <= 1e-8 * max(1.0, float(np.abs(theirs.v[-1]).max()))
    assert ours.errors.max() <= 1e-12 and ours.settings["method"] == "minimal"


@pytest.mark.parametrize("seed", range(16))
def test_random_mechanisms_stay_closed_and_move_as_all_joints_do(seed: int) -> None:
    robot = zoo.random_loops(seed)
    q, minimal = robot.poses["assembled"], lw.Minimal(robot)
    v = minimal.velocity(q, 0.3 * np.random.default_rng(seed).normal(size=minimal.ny))
    v /= max(1.0, float(np.abs(v).max(initial=0.0)))
    how: dict[str, Any] = {"passive": False, "limits": False, "integrator": "rk4", "seconds": 0.003}
    ours = lw.simulate(robot, q, v, method="minimal", **how)
    theirs = lw.simulate(robot, q, v, method="prox_ltl", time_constant=None, closed=False, **how)
    assert np.abs(robot.difference(ours.q[-1], theirs.q[-1])).max() <= 1e-9
    far = lw.Stepper(robot, 1e-3, "euler", method="minimal", **FREE)(q, v, steps=20)
    assert opened(robot, far.q, far.v)[0] <= 1e-11


@pytest.mark.parametrize("integrator", ["euler", "rk4", "dopri5"])
def test_every_integrator_goes_where_a_fine_one_goes(integrator: str) -> None:
    robot, q, v = moving("zoo: five-bar", 2.0)
    how: dict[str, Any] = {"passive": False, "limits": False, "method": "minimal", "record_every": 10_000}
    exact = lw.simulate(robot, q, v, seconds=0.2, integrator="dopri5", dt=1e-3, accuracy=1e-13, **how)
    run = lw.simulate(robot, q, v, seconds=0.2, integrator=integrator, dt=1e-3, **how)  # type: ignore[arg-type]
    assert np.abs(run.q[-1] - exact.q[-1]).max() <= {"euler": 1e-2, "rk4": 1e-8, "dopri5": 1e-6}[integrator]
    assert run.errors.max() <= 1e-14


@pytest.mark.parametrize("name", ["zoo: four-bar, hinge", "zoo: watt", "zoo: slider-crank"])
def test_semi_implicit_steps_keep_energy_as_those_of_all_joints_do(name: str) -> None:
    """To first order in the step, with a factor that is about theirs."""
    robot, q, v = moving(name, 2.0)
    how: dict[str, Any] = {"seconds": 2.0, "passive": False, "limits": False, "record_every": 10}

    def spread(method: Any, dt: float) -> float:
        return float(np.ptp(lw.simulate(robot, q, v, integrator="euler", method=method, dt=dt, **how).energy["total"]))

    ours = spread("minimal", 1e-3)
    assert ours <= 3 * spread("lcaba", 1e-3)
    assert ours / spread("minimal", 5e-4) == pytest.approx(2, rel=0.15)


def test_runge_and_kutta_keep_energy() -> None:
    robot, q, v = moving("linkage: RSSR", 2.0)
    run = lw.simulate(
        robot, q, v, seconds=1.0, integrator="rk4", method="minimal", passive=False, limits=False, record_every=50
    )
    energy = run.energy
    assert np.ptp(energy["total"]) <= 1e-9 * max(float(energy["kinetic"].max()), abs(float(energy["total"][0])))


def test_fast_joints_are_closed_as_well() -> None:
    """A crank at 30 rad/s, a tenth of a radian in three steps."""
    robot = zoo.four_bar(ground=1.0, crank=0.4, coupler=0.9, rocker=0.8).with_independent("A")
    q = robot.poses["assembled"]
    v = lw.Minimal(robot).velocity(q, [30.0])
    run = lw.simulate(robot, q, v, seconds=1.0, method="minimal", record_every=7)
    assert run.errors.max() <= 1e-13 and np.abs(run.v[:, robot.v_index("A")]).min() > 10


def test_velocities_of_dependent_joints_are_not_read() -> None:
    robot, q, v = moving("zoo: stewart")
    index = lw.Minimal(robot).index
    wrong = v + 1.0
    wrong[index] = v[index]
    stepper = lw.Stepper(robot, 1e-3, "rk4", method="minimal", **FREE)
    np.testing.assert_array_equal(stepper(q, v).q, stepper(q, wrong).q)


def test_velocities_off_the_loops_are_projected_by_constraint_forces() -> None:
    """In one semi-implicit step, without gravity and slowly: as an impact would, in the metric of kinetic energy."""
    robot, q, v = moving("zoo: stewart")
    robot = robot.with_gravity((0, 0, 0))
    wrong = 1e-4 * (v + np.linspace(-0.1, 0.1, robot.nv))
    after = lw.Stepper(robot, 1e-3, "euler", method="minimal", **FREE)(q, wrong)
    np.testing.assert_allclose(after.v, robot.project_velocity(q, wrong), rtol=0, atol=1e-9)


def test_units_do_not_matter() -> None:
    """Millimeters, grams and milliseconds."""
    robot, q, v = moving("linkage: RSSR")
    length, mass, time = 1e3, 1e3, 1e3
    tiny = scaled(robot, length, mass, time)
    at = np.concatenate([lengths_of_q(joint.type, length) for joint in robot.joints]) * q
    rate = np.concatenate([lengths_of_v(joint.type, length) for joint in robot.joints]) * v / time
    one = lw.Stepper(robot, 1e-3, "euler", method="minimal", **FREE)(q, v, steps=20)
    other = lw.Stepper(tiny, 1e-3 * time, "euler", method="minimal", **FREE)(at, rate, steps=20)
    np.testing.assert_allclose(other.v * time, one.v, rtol=1e-9, atol=1e-12)  # all joints turn
    assert np.abs(lw.constraint_error(tiny, other.q)).max() <= 1e-13 * length


def test_disabled_loops_do_not_bind() -> None:
    robot = zoo.five_bar()
    q = robot.poses["assembled"]
    name = robot.constraints[0].name
    off = robot.switched({name: False})
    v = np.full(robot.nv, 0.3)
    one, tree = (
        lw.Stepper(r, 1e-3, "euler", method="minimal", **FREE)(q, v, steps=10) for r in (off, off.unconstrained())
    )
    np.testing.assert_allclose(one.q, tree.q, atol=1e-14)


def test_forces_of_loops_are_those_of_all_joints() -> None:
    robot, q, v = moving("zoo: five-bar")
    how: dict[str, Any] = {"seconds": 0.01, "integrator": "rk4", "passive": False, "limits": False}
    wrenches = {robot.body_names[-1]: [0.1, -0.2, 0.3, 1.0, 2.0, -3.0]}
    ours = lw.simulate(robot, q, v, method="minimal", wrenches=wrenches, **how)
    theirs = lw.simulate(robot, q, v, method="prox_ltl", time_constant=None, wrenches=wrenches, **how)
    J = lw.constraint_jacobian(robot, ours.q[-1])  # rows may be redundant: what they do to joints is unique
    np.testing.assert_allclose(J.T @ ours.multipliers[-1], J.T @ theirs.multipliers[-1], atol=1e-6)


# Single precision ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["zoo: five-bar", "file: Cassie"])
def test_loops_are_closed_in_single_precision(name: str) -> None:
    """Nothing is stabilized, nothing regularized: what is left is the rounding of positions."""
    robot, q, v = moving(name)
    stepper = lw.Stepper(robot, 1e-3, "euler", method="minimal", **FREE).native("float32")
    at, rate = q.astype(np.float32), v.astype(np.float32)
    worst = 0.0
    for _ in range(20):
        after = stepper(at, rate, steps=10)
        at, rate = after.q, after.v
        assert at.dtype == rate.dtype == np.float32
        worst = max(worst, float(np.abs(lw.constraint_error(robot, robot.normalize(at.astype(np.float64)))).max()))
    assert worst <= 1e-6


# All ways to run them -----------------------------------------------------------------------------------------------


def test_backends_and_lanes_agree() -> None:
    """As plain Python, natively and specialized, alone and among others."""
    robot, q, v = moving("linkage: RSSR")
    native = lw.Stepper(robot, 1e-3, "euler", method="minimal", **FREE)
    wanted = native(q, v, steps=10)
    for other in (native.plain(), native.compile()):
        found = other(q, v, steps=10)
        np.testing.assert_allclose(found.q, wanted.q, rtol=0, atol=1e-13)
        np.testing.assert_allclose(found.v, wanted.v, rtol=0, atol=1e-12)
    factors = np.linspace(-1.0, 1.0, 11)[:, None]
    for backend in (native, native.compile()):
        many = backend(np.tile(q, (11, 1)), factors * v, steps=10)
        alone = [backend(q, x * v, steps=10) for x in factors[:, 0]]
        np.testing.assert_allclose(many.q, [one.q for one in alone], rtol=0, atol=1e-13)
        fewer = backend(np.tile(q, (3, 1)), factors[4:7] * v, steps=10)
        np.testing.assert_array_equal(fewer.q, many.q[4:7])


def test_rollouts_are_simulations_side_by_side() -> None:
    robot, q, v = moving("zoo: five-bar")
    factors = np.linspace(0.0, 1.0, 9)[:, None]
    how: dict[str, Any] = {"seconds": 0.05, "integrator": "rk4", "method": "minimal", "record_every": 10}
    many = lw.rollouts(robot, np.tile(q, (9, 1)), factors * v, compile=False, **how)
    assert many.errors.max() <= 1e-14 and not many.ended and many.settings["method"] == "minimal"
    for k in (0, 4, 8):
        one = lw.simulate(robot, q, factors[k] * v, stops_at=robot.neutral(), **how)
        np.testing.assert_allclose(many.q[:, k], one.q, rtol=0, atol=1e-12)


@lw.kernel
def hold(tree: Any, time: float, q: Any, v: Any, gain: float, rest: Any, tau: Any) -> None:
    for k in range(tree.nv):
        tau[k] = gain * (rest[k] - q[k]) - 0.1 * v[k]


def test_controllers_run_in_the_steps_and_go_on_to_the_last_bit() -> None:
    robot, q, v = moving("zoo: five-bar")
    controller = lw.Controller(hold, gain=5.0, rest=q + 0.1)
    how: dict[str, Any] = {"method": "minimal", "control_every": 3, "record_every": 5}
    run = lw.simulate(robot, q, v, seconds=0.06, controller=controller, **how)
    python = lw.simulate(
        robot, q, v, seconds=0.06, controller=lambda time, at, rate: 5.0 * (q + 0.1 - at) - 0.1 * rate, **how
    )
    np.testing.assert_allclose(run.q, python.q, rtol=0, atol=1e-13)
    assert run.errors.max() <= 1e-14
    rest = run.part(0, 5).resume(seconds=0.04, controller=controller, control_every=3)
    np.testing.assert_array_equal(rest.q, run.q[4:])
    np.testing.assert_array_equal(rest.v, run.v[4:])


def test_records_and_shorter_steps_change_nothing() -> None:
    robot, q, v = moving("linkage: RSSR")
    how: dict[str, Any] = {"seconds": 0.0305, "method": "minimal"}
    often, seldom = (lw.simulate(robot, q, v, record_every=every, **how) for every in (1, 30))
    np.testing.assert_array_equal(often.q[-1], seldom.q[-1])
    assert often.times[-1] == pytest.approx(0.0305) and often.errors.max() <= 1e-14


def test_a_bound_stepper_moves_on() -> None:
    robot, q, v = moving("zoo: five-bar")
    stepper = lw.Stepper(robot, 1e-3, "euler", method="minimal", **FREE)
    at, rate = q.copy(), v.copy()
    step = stepper.bind(at, rate)
    for _ in range(5):
        step()
    np.testing.assert_array_equal(at, stepper(q, v, steps=5).q)


# Dead centers, and other mistakes -----------------------------------------------------------------------------------


def on_the_rocker() -> tuple[Mechanism, Floats, Floats]:
    """A four-bar on its rocker, which cannot follow the crank around: a dead center is ahead."""
    robot = linkages.four_bar(ground=1.0, crank=0.5, coupler=1.2, rocker=0.9).with_independent("j3")
    q = robot.assemble(robot.neutral())
    return robot, q, robot.project_velocity(q, np.array([4.0 if j == "j1" else 0.0 for j in robot.joint_names]))


@pytest.mark.parametrize("integrator", ["euler", "rk4", "dopri5"])
def test_a_dead_center_ends_a_simulation_with_its_time_its_loop_and_its_joints(integrator: str) -> None:
    robot, q, v = on_the_rocker()
    words = r"^at [0-9.]+ s .*(dead center|stays open).*with_independent"
    with pytest.raises((lw.errors.SingularConstraints, lw.errors.AssemblyError), match=words) as told:
        lw.simulate(robot, q, v, seconds=3.0, integrator=integrator, method="minimal", record_every=10)  # type: ignore[arg-type]
    assert "'close'" in str(told.value) and "(j3)" in str(told.value)
    run = vars(told.value)["trajectory"]
    assert 10 < len(run) < 300 and run.errors.max() <= 1e-8
    assert abs(float(str(told.value).split()[1]) - run.times[-1]) <= 0.02
    other = robot.with_independent("j1")
    assert lw.simulate(other, q, v, seconds=3.0, method="minimal", record_every=10).errors.max() <= 1e-13


def test_a_robot_at_a_dead_center_leaves_a_batch() -> None:
    robot, q, v = on_the_rocker()
    factors = np.array([0.0, 1.0, 0.0])[:, None]
    still = robot.with_gravity((0, 0, 0))
    run = lw.rollouts(still, np.tile(q, (3, 1)), factors * v, seconds=3.0, method="minimal", compile=False)
    assert "1 of 3 robots" in run.ended and "with_independent" in run.ended
    assert np.isnan(run.q[-1, 1]).all() and np.isfinite(run.q[-1, [0, 2]]).all()


def test_steppers_say_after_how_many_steps_loops_opened() -> None:
    robot, q, v = on_the_rocker()
    stepper = lw.Stepper(robot, method="minimal", **FREE)
    with pytest.raises((lw.errors.SingularConstraints, lw.errors.AssemblyError), match=r"^after \d+ steps.*'close'"):
        stepper(q, v, steps=3000)
    with pytest.raises(
        (lw.errors.SingularConstraints, lw.errors.AssemblyError), match=r"^state \(1,\), after \d+ steps"
    ):
        stepper(np.tile(q, (2, 1)), np.array([0 * v, v]), steps=700)
    at, rate = q.copy(), v.copy()
    step = stepper.bind(at, rate, steps=3000)
    with pytest.raises((lw.errors.SingularConstraints, lw.errors.AssemblyError), match=r"'close'"):
        step()


@pytest.mark.parametrize("case", test_clusters.DEAD)
def test_a_start_at_a_dead_center_is_an_error(case: str) -> None:
    make, joint = test_clusters.DEAD[case]
    robot, q = make()
    with pytest.raises(lw.errors.SingularConstraints, match=rf"\({joint}\).*dead center"):
        lw.simulate(robot, q, seconds=0.1, method="minimal")
    with pytest.raises((lw.errors.SingularConstraints, lw.errors.AssemblyError), match=rf"\({joint}\)"):
        lw.Stepper(robot, method="minimal")(q, np.ones(robot.nv))


def test_steps_that_are_too_long_leave_loops_open() -> None:
    robot = zoo.four_bar(ground=1.0, crank=0.4, coupler=0.9, rocker=0.8).with_independent("A")
    q = robot.poses["assembled"]
    v = lw.Minimal(robot).velocity(q, [300.0])
    with pytest.raises(lw.errors.AssemblyError, match=r"'C' .*stays open after 2 corrections.*shorter dt") as told:
        lw.simulate(robot, q, v, seconds=0.1, dt=1e-2, method="minimal")
    assert told.value.constraint == "C"


def test_options_without_a_meaning_are_refused() -> None:
    robot = zoo.four_bar()
    for option in ({"max_iterations": 3}, {"regularization": 1e-6}):
        with pytest.raises(lw.errors.InputError, match="takes no max_iterations and no regularization"):
            lw.Stepper(robot, method="minimal", **option)  # type: ignore[arg-type]
        with pytest.raises(lw.errors.InputError, match="takes no max_iterations and no regularization"):
            lw.simulate(robot, seconds=0.1, method="minimal", **option)  # type: ignore[arg-type]
    with pytest.raises(lw.errors.InputError, match="no method 'lcaba' of compiled steps; there are auto, minimal"):
        lw.Stepper(robot, method="lcaba")  # type: ignore[arg-type]
    with pytest.raises(lw.errors.InputError, match="no method 'prox_ltl' of rollouts"):
        lw.rollouts(robot, robot.poses["assembled"][None], seconds=0.1, method="prox_ltl")  # type: ignore[arg-type]


# Kernels ------------------------------------------------------------------------------------------------------------


def test_small_displacements_are_those_of_the_exponential_map_to_first_order() -> None:
    robot = zoo.random_tree(4, bodies=24, kinds="rphsSf")
    tree, rng = tree_of(robot), np.random.default_rng(3)
    q, x = robot.random(rng), rng.normal(size=robot.nv)
    assert len({type(joint.type) for joint in robot.joints}) >= 5

    def off(h: float) -> float:
        at = q.copy()
        for i in range(1, tree.n):
            displace(tree, i, h * x, at)
        return float(np.abs(robot.difference(robot.integrate(q, h * x), at)).max())

    assert off(1e-2) <= 1e-3 and np.log2(off(1e-2) / off(5e-3)) == pytest.approx(2, abs=1.1)
    at = q.copy()
    for i in range(1, tree.n):
        displace(tree, i, 1e-3 * x, at)
    assert all(abs(np.linalg.norm(at[unit]) - 1.0) <= 1e-13 for unit in robot.unit_slices())


@pytest.mark.parametrize("turn", [0.0, 1e-9, 1e-3, 0.1, -0.3])
def test_joints_are_turned_as_exactly_as_by_a_sine_and_a_cosine(turn: float) -> None:
    robot = zoo.random_tree(5, bodies=8, kinds="rph")
    tree, q = tree_of(robot), zoo.random_tree(5, bodies=8, kinds="rph").random(1)
    arrays = [
        SimpleNamespace(cos=np.zeros(tree.n), sin=np.zeros(tree.n), R=np.zeros((tree.n, 3, 3)), r=np.zeros((tree.n, 3)))
        for _ in range(2)
    ]
    moved, fresh = arrays
    moved.at = q.copy()
    joint_transforms(tree, moved, q)
    for i in range(1, tree.n):
        move_joint_transform(tree, moved, i, q + turn)
    joint_transforms(tree, fresh, q + turn)
    for name in ("cos", "sin", "r"):
        np.testing.assert_allclose(getattr(moved, name), getattr(fresh, name), rtol=0, atol=4e-16)
