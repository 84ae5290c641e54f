# SPDX-License-Identifier: BSD-3-Clause
"""Schedules of simulations: lengths that are no multiples of the step, and resumption at every recorded state."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.simulation.schedule import Schedule, in_steps

Floats = npt.NDArray[np.float64]
FREE: dict[str, Any] = {"passive": False, "limits": False}

ARM = """<mujoco><worldbody><body pos="0 0 1" gravcomp="0.6"><joint name="a" axis="0 1 0" damping="0.1"/>
  <geom size=".05" pos=".3 0 0"/><body pos=".5 0 0"><joint name="b" axis="0 1 .3" armature=".01"/>
  <geom size=".06" pos=".2 .1 0"/></body></body></worldbody>
<actuator><position joint="a" kp="80" kv="6" forcerange="-9 9"/></actuator></mujoco>"""


def moving(robot: lw.Mechanism) -> tuple[Floats, Floats]:
    q = robot.poses.get("assembled", robot.neutral())
    return q, robot.project_velocity(q, np.random.default_rng(0).normal(size=robot.nv))


def feedback(time: float, q: Floats, v: Floats) -> Floats:
    found: Floats = np.sin(30.0 * time) - 2.0 * q - 0.25 * v
    return found


def servo(time: float, q: Floats, v: Floats) -> Floats:
    return np.array([np.cos(20.0 * time)])


@lw.kernel
def brake(tree, time, q, v, tau):
    for k in range(tree.nv):
        tau[k] = time - 0.25 * v[k]


# The schedule ---------------------------------------------------------------------------------------------------


def test_times_are_steps_to_a_millionth_of_one() -> None:
    assert in_steps(0.3, 0.1) == 3.0  # 0.3 / 0.1 is less
    assert in_steps(0.05, 0.02) == 2.5
    assert in_steps(1e6, 1e-3) == 1e9
    assert in_steps(1.0, 3e-3) != 333.0


def test_stops_are_at_multiples_on_a_clock_that_starts_at_zero() -> None:
    schedule = Schedule.of(1.0, 0.1, 0.35, record=4, control=3)
    stops = schedule.stops()
    assert [s.at for s in stops] == [3.5, 4.0, 6.0, 8.0, 9.0, 12.0, 13.0, 13.5]
    assert [s.at for s in stops if s.record] == [3.5, 4.0, 8.0, 12.0, 13.5]
    assert [s.at for s in stops if s.control] == [6.0, 9.0, 12.0]
    assert [s.at for s in schedule.stops_of_kernel()] == [3.5, 4.0, 8.0, 12.0, 13.0, 13.5]
    assert [s.at for s in schedule.outer_stops()] == [3.5, 4.0, 13.0, 13.5]
    assert schedule.events().tolist()[:3] == [[4, 0, 1], [6, 1, 0], [8, 0, 1]]
    np.testing.assert_allclose(schedule.record_times, [0.35, 0.4, 0.8, 1.2, 1.35], rtol=1e-15)


def test_a_schedule_within_a_step_is_one_part_of_it() -> None:
    schedule = Schedule.of(0.02, 0.1, 0.33, record=1, control=1)
    assert [s.at for s in schedule.stops()] == [in_steps(0.33, 0.1), in_steps(0.33, 0.1) + in_steps(0.02, 0.1)]
    assert not any(s.control for s in schedule.stops())


# Lengths --------------------------------------------------------------------------------------------------------


def slider(**joint: Any) -> lw.Mechanism:
    build = lw.Builder("slider", gravity=(0, 0, 0))
    build.body("mass", lw.Inertia.box(2.0, (0.1, 0.1, 0.1)))
    build.joint("slide", lw.joints.Prismatic("x"), "world", "mass", **joint)
    return build.build()


@pytest.mark.parametrize("how", [{}, {"integrator": "rk4"}, {"integrator": "dopri5"}, {"method": "minimal"}], ids=str)
@pytest.mark.parametrize("controller", [None, lambda time, q, v: [0.0], brake], ids=["none", "function", "kernel"])
def test_a_simulation_ends_when_it_should(controller: Any, how: dict[str, Any]) -> None:
    """Under no force a slider is at ``v t``: the last step is as long as what is left."""
    run = lw.simulate(slider(), [0.0], [1.0], seconds=0.05, dt=0.02, controller=controller, **how)
    np.testing.assert_allclose(run.times, [0.0, 0.02, 0.04, 0.05], rtol=1e-15)
    if controller is not brake:
        np.testing.assert_allclose(run.q[:, 0], run.times, atol=1e-15)
    short = lw.simulate(slider(), [0.0], [1.0], seconds=0.005, dt=0.02, start=0.07, controller=controller, **how)
    np.testing.assert_allclose(short.times, [0.07, 0.075], rtol=1e-15)


def test_rollouts_end_when_they_should() -> None:
    robot = slider(stiffness=50.0, damping=1.0)
    states = np.full((5, 1), 0.3)
    for controller in (None, lambda time, q, v: np.zeros((5, 1)), brake):
        many = lw.rollouts(robot, states, seconds=0.05, dt=0.02, controller=controller, record_every=1, compile=False)
        alone = controller if controller in (None, brake) else lambda time, q, v: [0.0]
        one = lw.simulate(robot, [0.3], seconds=0.05, dt=0.02, controller=alone)
        np.testing.assert_array_equal(many.times, one.times)
        np.testing.assert_allclose(many.q[:, 2], one.q, rtol=1e-13)
        np.testing.assert_allclose(many.tau[:, 2], one.tau, rtol=1e-13)


@pytest.mark.parametrize("method", ["auto", "minimal"])
def test_a_shorter_step_of_euler_is_one_of_its_length(method: Any) -> None:
    """Springs and dampers are those at its end: as a simulation whose steps are all so short makes it."""
    robot = slider(stiffness=2000.0, damping=30.0)
    how: dict[str, Any] = {"method": method}
    run = lw.simulate(robot, [0.1], [1.0], seconds=0.05, dt=0.02, **how)
    last = lw.simulate(robot, run.q[-2], run.v[-2], seconds=0.01, dt=0.01, **how)
    np.testing.assert_allclose(run.q[-1], last.q[-1], rtol=1e-14)
    np.testing.assert_allclose(run.v[-1], last.v[-1], rtol=1e-14)


@pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="needs numba")
def test_controllers_of_numba_share_the_schedule() -> None:
    from numba import njit

    robot = zoo.four_bar()
    q, v = moving(robot)
    fast = njit(feedback)
    for how in ({"start": 0.0053}, {"start": 0.005}, {"seconds": 0.0004}):
        plan: dict[str, Any] = {"seconds": 0.0407, "control_every": 3, "record_every": 4, **how}
        slow, quick = (lw.simulate(robot, q, v, controller=c, **plan) for c in (feedback, fast))
        for name in ("times", "q", "v", "tau", "multipliers"):
            np.testing.assert_array_equal(getattr(quick, name), getattr(slow, name), err_msg=name)
        states = np.tile(q, (3, 1)), np.tile(v, (3, 1))
        both = (lw.rollouts(robot, *states, controller=c, compile=False, **plan) for c in (feedback, fast))
        many, others = both
        for name in ("times", "q", "v", "tau", "multipliers"):
            np.testing.assert_array_equal(getattr(others, name), getattr(many, name), err_msg=name)


# Resumption -----------------------------------------------------------------------------------------------------


CASES: dict[str, dict[str, Any]] = {
    "nothing": {},
    "torques": {"tau": [0.3, -0.2, 0.1]},
    "control": {"controller": feedback, "control_every": 3},
    "kernel": {"controller": brake, "control_every": 3},
    "projection": {"project_every": 4},
    "control and projection": {"controller": feedback, "control_every": 3, "project_every": 4},
    "kernel and projection": {"controller": brake, "control_every": 5, "project_every": 3},
    "python": {"method": "prox_ltl", "controller": feedback, "control_every": 2},
    "minimal": {"method": "minimal", "controller": feedback, "control_every": 2},
}


@pytest.mark.parametrize("seconds", [0.0205, 0.017, 0.0304])
@pytest.mark.parametrize("integrator", ["euler", "rk4", "dopri5"])
@pytest.mark.parametrize("name", CASES)
def test_resumption_is_exact_at_every_record(name: str, integrator: str, seconds: float) -> None:
    robot = zoo.four_bar()
    q, v = moving(robot)
    how = CASES[name]
    run = lw.simulate(robot, q, v, seconds=seconds, integrator=integrator, record_every=5, **how)
    controller = {"controller": how["controller"]} if "controller" in how else {}
    assert not run.ended and run.times[-1] == pytest.approx(seconds, abs=1e-9)
    for k in range(len(run) - 1):
        rest = run.resume(k, seconds=seconds - run.times[k], **controller)
        for array in ("times", "q", "v", "tau"):
            np.testing.assert_array_equal(getattr(rest, array), getattr(run, array)[k:], err_msg=f"{array} at {k}")


@pytest.mark.parametrize("integrator", ["euler", "rk4", "dopri5"])
@pytest.mark.parametrize("controller", [None, servo])
def test_resumption_under_commands_is_exact_at_every_record(controller: Any, integrator: str) -> None:
    robot = lw.loads(ARM, "mjcf")
    how: dict[str, Any] = {"integrator": integrator, "record_every": 4, "tau": [0.1, -0.2]}
    given = {"commands": [0.4]} if controller is None else {"controller": controller, "control_every": 3}
    run = lw.simulate(robot, [0.2, -0.1], seconds=0.0216, dt=5e-4, **how, **given)
    for k in range(len(run) - 1):
        rest = run.resume(k, seconds=0.0216 - run.times[k], controller=controller)
        for array in ("times", "q", "v", "tau", "commands"):
            np.testing.assert_array_equal(getattr(rest, array), getattr(run, array)[k:], err_msg=f"{array} at {k}")


def test_a_simulation_goes_on_from_between_two_steps() -> None:
    """The first step leads back to the clock."""
    robot = slider()
    run = lw.simulate(robot, [0.0], [1.0], seconds=0.05, dt=0.02)
    rest = run.resume(seconds=0.05)
    np.testing.assert_allclose(rest.times, [0.05, 0.06, 0.08, 0.1], rtol=1e-15)
    np.testing.assert_allclose(rest.q[:, 0], rest.times, rtol=1e-14)
