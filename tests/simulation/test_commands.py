# SPDX-License-Identifier: BSD-3-Clause
"""Steps under commands and wrenches: as MuJoCo's, the same in all ways to run them, kept with runs, quick to call."""

from __future__ import annotations

import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.mechanism import Mechanism
from tests.support.robots import model_file

Floats = npt.NDArray[np.float64]

ARM = """<mujoco><option timestep="0.001" integrator="{integrator}"><flag limit="disable" contact="disable"/></option>
<worldbody><body pos="0 0 1" gravcomp="0.6"><joint name="a" axis="0 1 0" damping="0.1"/><geom size=".05" pos=".3 0 0"/>
  <body pos=".5 0 0"><joint name="b" axis="0 1 .3" armature=".01"/><geom size=".06" pos=".2 .1 0"/>
    <body pos=".3 0 0"><joint name="c" type="slide" axis="1 0 0"/><geom size=".05"/></body></body></body></worldbody>
<tendon><fixed name="t"><joint joint="b" coef="1"/><joint joint="c" coef="-2"/></fixed></tendon>
<actuator><position joint="a" kp="80" kv="6" forcerange="-9 9"/><velocity joint="b" kv="2" ctrlrange="-1 1"/>
  <general tendon="t" gear="2" gainprm="12" biastype="affine" biasprm="0.2 -12 -1"/></actuator></mujoco>"""
COMMANDS = np.array([0.7, -3.0, 0.3])


def arm() -> Mechanism:
    return lw.loads(ARM.format(integrator="Euler"), "mjcf")


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_servos_move_an_arm_as_in_mujoco(integrator: str) -> None:
    """Semi-implicit Euler with all dampers at the end of the step, and RK4, are MuJoCo's too; stages see servos."""
    theirs = {"euler": "implicitfast", "rk4": "RK4"}[integrator]
    model = mujoco.MjModel.from_xml_string(ARM.format(integrator=theirs))
    data = mujoco.MjData(model)
    data.ctrl[:] = COMMANDS
    states = []
    for _ in range(300):
        mujoco.mj_step(model, data)
        states.append(data.qpos.copy())
    run = lw.simulate(arm(), seconds=0.3, integrator=integrator, commands=COMMANDS, limits=False)
    assert np.abs(run.q[1:] - np.array(states)).max() < 1e-10
    assert np.abs(run.q[-1] - run.q[0]).max() > 0.1


def test_a_run_keeps_commands_and_the_torques_that_came_of_them(tmp_path: Path) -> None:
    robot = arm()
    run = lw.simulate(robot, seconds=0.05, commands=COMMANDS, record_every=10)
    assert run.commands is not None and np.array_equal(run.commands, np.tile(COMMANDS, (6, 1)))
    assert np.array_equal(run.tau, lw.actuators.actuator_torques(robot, run.q, run.v, run.commands))
    again = lw.Trajectory.load(run.save(tmp_path / "run.npz"), robot)
    assert again.commands is not None and np.array_equal(again.commands, run.commands)
    assert lw.simulate(robot, seconds=0.05).commands is None


def waving(time: float, q: Floats, v: Floats) -> Floats:
    found: Floats = COMMANDS * np.cos(40 * time)
    return found


@pytest.mark.parametrize("controller", [None, waving])
def test_a_commanded_run_goes_on_to_the_last_bit(controller: Any) -> None:
    robot, tau = arm(), [0.1, 0.0, -0.2]
    controlled = {"controller": controller, "control_every": 7, "controller_output": "commands"}
    how: dict[str, Any] = {"commands": COMMANDS} if controller is None else controlled
    whole = lw.simulate(robot, seconds=0.05, tau=tau, **how)
    rest = whole.resume(20, seconds=0.03, controller=controller)
    for name in ("q", "v", "tau", "commands"):
        np.testing.assert_array_equal(getattr(rest, name), getattr(whole, name)[20:], err_msg=name)


def test_all_ways_to_give_commands_agree() -> None:
    robot = arm()
    run = lw.simulate(robot, seconds=0.05, commands=COMMANDS)
    by_name = lw.simulate(robot, seconds=0.05, controller=lambda t, q, v: COMMANDS, controller_output="commands")
    by_method = lw.simulate(robot, seconds=0.05, commands=COMMANDS, method="prox_ltl" if robot.nc else "aba")
    staged = lw.simulate(
        robot.constrained(lw.constraints.JointLock("c", 0.0)), seconds=0.05, commands=COMMANDS, method="minimal"
    )
    stepped = lw.simulate(
        robot.constrained(lw.constraints.JointLock("c", 0.0)), seconds=0.05, commands=COMMANDS, max_iterations=3
    )
    many = lw.rollouts(robot, np.zeros((9, 3)), seconds=0.05, commands=COMMANDS)
    step = lw.Stepper(robot, limits=False)
    q, v = np.zeros(3), np.zeros(3)
    for _ in range(50):
        q, v = step(q, v, commands=COMMANDS)[:2]
    assert np.array_equal(by_name.q, run.q) and np.array_equal(by_method.q, run.q)
    assert np.abs(many.q[-1] - run.q[-1]).max() < 1e-12 and np.abs(q - run.q[-1]).max() < 1e-12
    assert np.abs(step(np.zeros(3), np.zeros(3), commands=COMMANDS, steps=50).q - q).max() == 0
    assert np.abs(staged.q[-1] - stepped.q[-1]).max() < 1e-5  # which loops are closed exactly in one of them


def test_commands_differ_from_robot_to_robot() -> None:
    robot = arm()
    commands = COMMANDS * np.linspace(-1, 1, 12)[:, None]
    many = lw.rollouts(robot, np.zeros((12, 3)), seconds=0.03, commands=commands)
    with ThreadPoolExecutor(2) as executor:
        parts = lw.rollouts(robot, np.zeros((12, 3)), seconds=0.03, commands=commands, executor=executor, part=5)
    one = lw.simulate(robot, seconds=0.03, commands=commands[3])
    assert np.abs(many.q[-1, 3] - one.q[-1]).max() < 1e-12
    assert np.abs(parts.q - many.q).max() < 1e-12 and np.array_equal(parts.commands, many.commands)


def test_motors_of_a_robot_with_loops_take_commands() -> None:
    build = lw.Builder("arm")
    for k in range(2):
        build.body(f"link{k}", lw.Inertia.rod(1.0, (0, 0, 0), (0.5, 0, 0)))
        build.joint(
            f"joint{k}", lw.joints.Revolute("y"), "world" if k == 0 else "link0", f"link{k}", at=(0.5 * k, 0, 0)
        )
    build.actuator("motor", "joint0", gear=3.0, limits=(-2.0, 2.0), force_limits=(-1.5, 1.5))
    build.constrain(lw.constraints.JointCoupling({"joint0": 1.0, "joint1": -2.0}))
    robot = build.build()
    run = lw.simulate(robot, seconds=0.02, commands=[9.0])
    same = lw.simulate(robot, seconds=0.02, tau=[4.5, 0.0])
    assert np.array_equal(run.q, same.q) and np.array_equal(run.tau, same.tau)


def test_the_panda_holds_its_pose_by_its_servos() -> None:
    robot = lw.load(model_file("panda/panda_nomesh.xml"))
    q = robot.poses["home"]
    run = lw.simulate(robot, q, seconds=0.5, dt=2.5e-4, commands=[*q[:7], 255.0], record_every=200)
    assert not run.ended
    sag = np.abs(lw.gravity_forces(robot, q)[:7] / [4500, 4500, 3500, 3500, 2000, 2000, 2000])
    assert np.abs(run.q[-1, :7] - q[:7]).max() < 1.5 * sag.max()
    assert np.abs(run.v[-1]).max() < 1e-2
    fallen = lw.simulate(robot, q, seconds=0.5, record_every=500)
    assert np.abs(fallen.q[-1, :7] - q[:7]).max() > 0.5


def test_servos_that_chatter_with_long_steps_are_a_warning() -> None:
    robot = lw.load(model_file("panda/panda_nomesh.xml"))
    q = robot.poses["home"]
    how: dict[str, Any] = {"seconds": 0.01, "commands": [*q[:7], 255.0], "contact": False}
    with pytest.warns(RuntimeWarning, match=r"'joint1' .* chatter with steps of 0.001 s by rk4.*euler.*dt=0.0005"):
        lw.simulate(robot, q, integrator="rk4", **how)
    with pytest.warns(RuntimeWarning, match="joint1"):
        lw.rollouts(robot, q[None], integrator="rk4", compile=False, **how)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lw.simulate(robot, q, integrator="rk4", **how, dt=5e-4)
        lw.simulate(robot, q, **how)
        lw.simulate(robot, q, seconds=0.01)
        lw.simulate(robot, q, seconds=0.01, controller=lambda t, q, v: np.zeros(9))  # torques: servos do nothing


# What is wrong with commands --------------------------------------------------------------------------------


def test_wrong_commands_are_refused_in_words() -> None:
    robot, q = arm(), np.zeros(3)
    with pytest.raises(lw.errors.InputError, match=r"commands have shape \(2,\), robot .* has 3 actuators"):
        lw.simulate(robot, q, seconds=0.01, commands=[1.0, 2.0])
    with pytest.raises(lw.errors.InputError, match="command 1 is not finite"):
        lw.simulate(robot, q, seconds=0.01, commands=[1.0, np.nan, 0.0])
    with pytest.raises(lw.errors.InputError, match="has no actuators"):
        lw.simulate(zoo.pendulum(2), seconds=0.01, commands=[1.0, 2.0])
    with pytest.raises(lw.errors.InputError, match="has no actuators"):
        lw.Stepper(zoo.pendulum(2))(np.zeros(2), np.zeros(2), commands=[1.0, 2.0])
    with pytest.raises(lw.errors.InputError, match="controller_output is 'forces'"):
        lw.simulate(robot, q, seconds=0.01, controller=lambda t, q, v: q, controller_output="forces")  # type: ignore[arg-type]
    with pytest.raises(lw.errors.InputError, match="a kernel, which writes torques"):
        lw.simulate(robot, q, seconds=0.01, controller=rest, commands=COMMANDS)
    with pytest.raises(
        lw.errors.InputError, match=r"commands have shape \(2,\), robot .* has 3 actuators and needs \(3,\) or \(4, 3\)"
    ):
        lw.rollouts(robot, np.zeros((4, 3)), seconds=0.01, commands=[1.0, 2.0])


@lw.kernel
def rest(time: float, q: Floats, v: Floats, tau: Floats) -> None:
    tau[0] = 0.0


# Flight -----------------------------------------------------------------------------------------------------


def off(robot: Mechanism) -> Mechanism:
    return robot.switched(dict.fromkeys((c.name for c in robot.constraints), False))


@pytest.mark.parametrize("how", [{}, {"integrator": "rk4"}, {"method": "aba"}, {"integrator": "dopri5"}], ids=str)
def test_a_robot_whose_constraints_are_all_switched_off_flies(how: dict[str, Any]) -> None:
    robot = zoo.four_bar()
    q = robot.poses["assembled"]
    flown = lw.simulate(off(robot), q, seconds=0.05, record_every=10, **how)
    free = lw.simulate(robot.unconstrained(), q, seconds=0.05, record_every=10, **how)
    assert np.array_equal(flown.q, free.q)
    assert flown.multipliers.shape == (len(flown), robot.nc) and not flown.multipliers.any()
    assert {name: rows.shape for name, rows in flown.forces.items()} == {
        c.name: (len(flown), c.rows) for c in robot.constraints
    }


def test_flight_in_rollouts_steppers_and_under_kernels() -> None:
    robot = zoo.four_bar()
    q = robot.poses["assembled"]
    one = lw.simulate(off(robot), q, seconds=0.02)
    many = lw.rollouts(off(robot), np.tile(q, (3, 1)), seconds=0.02, compile=False)
    assert many.multipliers.shape == (2, 3, robot.nc) and np.abs(many.q[-1] - one.q[-1]).max() < 1e-12
    step = lw.Stepper(off(robot))(q, np.zeros(robot.nv), steps=20)
    assert step.multipliers.shape == (robot.nc,) and not step.multipliers.any()
    kernel = lw.simulate(off(robot), q, seconds=0.02, controller=rest)
    assert kernel.multipliers.shape == (21, robot.nc) and np.abs(kernel.q - one.q).max() < 1e-12
    closing = lw.simulate(off(robot), q, seconds=0.02, project_every=5)
    assert np.abs(closing.q - one.q).max() < 1e-9


# Wrenches ---------------------------------------------------------------------------------------------------


WRENCH = np.array([0.1, -0.2, 0.3, 1.0, 2.0, -3.0])


@pytest.mark.parametrize("name", ["pendulum", "four-bar"])
@pytest.mark.parametrize("how", [{}, {"integrator": "rk4"}, {"method": "prox_ltl"}, {"integrator": "dopri5"}], ids=str)
def test_wrenches_on_frames_are_torques_by_their_jacobians(name: str, how: dict[str, Any]) -> None:
    robot = {"pendulum": lambda: zoo.pendulum(3), "four-bar": zoo.four_bar}[name]()
    if how.get("method") == "prox_ltl" and not robot.nc:
        how = {"method": "aba"}
    body = robot.body_names[-1]
    q = robot.poses.get("assembled", robot.neutral() + 0.3)

    def pushed(time: float, q: Floats, v: Floats) -> Floats:
        torque: Floats = lw.frame_jacobian(robot, q, body).T @ WRENCH
        return torque

    dt, span = 1e-5, 1e-3
    run = lw.simulate(robot, q, seconds=span, dt=dt, wrenches={body: WRENCH}, **how)
    same = lw.simulate(robot, q, seconds=span, dt=dt, controller=pushed, **how)
    free = lw.simulate(robot, q, seconds=span, dt=dt, **how)
    moved = np.abs(run.v[-1] - free.v[-1]).max()
    assert moved > 1e-4
    assert np.abs(run.v[-1] - same.v[-1]).max() < 10 * dt * moved / span  # torques are held for a step
    resumed = run.resume(30, seconds=span - 30 * dt)
    assert np.array_equal(resumed.q, run.q[30:])


def test_rollouts_take_wrenches_and_the_pose_that_stops_are_made_for() -> None:
    robot = zoo.pendulum(3)
    q, body = np.zeros((5, 3)), robot.body_names[-1]
    one = lw.simulate(robot, q[0], seconds=0.05, wrenches={body: WRENCH})
    same = lw.rollouts(robot, q, seconds=0.05, wrenches={body: WRENCH}, stops_at=np.zeros(3))
    assert np.abs(same.q[-1] - one.q[-1]).max() < 1e-12
    each = WRENCH * np.arange(5)[:, None]
    many = lw.rollouts(robot, q, seconds=0.05, wrenches={body: each, robot.body_names[0]: WRENCH}, compile=False)
    third = lw.simulate(robot, q[0], seconds=0.05, wrenches={body: each[3], robot.body_names[0]: WRENCH})
    assert np.abs(many.q[-1, 3] - third.q[-1]).max() < 1e-12
    step = lw.Stepper(robot, wrenches=[body])
    assert np.abs(step(q[0], q[0], wrenches=[WRENCH], steps=50).q - one.q[-1]).max() < 1e-12


def test_wrenches_without_numbers_are_refused_in_words() -> None:
    robot = zoo.pendulum(3)
    with pytest.raises(lw.errors.InputError, match="wrenches is list, needs external wrenches by frame"):
        lw.rollouts(robot, np.zeros((2, 3)), seconds=0.01, wrenches=[robot.body_names[0]])  # type: ignore[arg-type]
    with pytest.raises(lw.errors.InputError, match=r"has shape \(3,\), needs \(6,\) or \(2, 6\)"):
        lw.rollouts(robot, np.zeros((2, 3)), seconds=0.01, wrenches={robot.body_names[0]: [1.0, 2.0, 3.0]})
    with pytest.raises(lw.errors.InputError, match="has no frame 'hand'"):
        lw.simulate(robot, seconds=0.01, wrenches={"hand": WRENCH})


# Calls ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["native", "compile"])
def test_a_bound_stepper_moves_its_arrays_on(way: str) -> None:
    robot = arm()
    stepper = getattr(lw.Stepper(robot, limits=False), way)()
    q, v, u = np.zeros(3), np.zeros(3), COMMANDS.copy()
    step = stepper.bind(q, v, commands=u)
    after = np.empty(3), np.empty(3)
    far = stepper.bind(q, v, np.zeros(3), commands=u, steps=30, out=after)
    far()
    assert not q.any()
    for _ in range(30):
        step()
    wanted = stepper(np.zeros(3), np.zeros(3), commands=COMMANDS, steps=30)
    assert np.array_equal(q, wanted.q) and np.array_equal(v, wanted.v)
    assert np.array_equal(after[0], q) and np.array_equal(after[1], v)
    u[:] = 0.0
    before = q.copy(), v.copy()
    step()
    assert np.array_equal(q, stepper(*before, commands=np.zeros(3)).q)


def test_a_bound_stepper_moves_a_batch_on() -> None:
    robot = arm()
    stepper = lw.Stepper(robot)
    q, v = np.zeros((6, 3)), np.zeros((6, 3))
    commands = COMMANDS * np.linspace(0, 1, 6)[:, None]
    step = stepper.bind(q, v, commands=commands, steps=5)
    step()
    step()
    assert np.abs(q - stepper(np.zeros((6, 3)), np.zeros((6, 3)), commands=commands, steps=10).q).max() < 1e-14


def test_a_bound_stepper_says_which_array_does_not_fit() -> None:
    robot = arm()
    stepper, q, v = lw.Stepper(robot), np.zeros(3), np.zeros(3)
    with pytest.raises(lw.errors.InputError, match=r"bind: commands has shape \(2,\), needs \(3,\)"):
        stepper.bind(q, v, commands=np.zeros(2))
    with pytest.raises(lw.errors.InputError, match="bind: tau is no C-contiguous float64 array"):
        stepper.bind(q, v, np.zeros(3, dtype=np.float32))
    with pytest.raises(lw.errors.InputError, match=r"bind: q is list, needs a NumPy array"):
        stepper.bind([0.0] * 3, v)  # type: ignore[arg-type]
    with pytest.raises(lw.errors.InputError, match=r"out is a pair of arrays, \(q, v\)"):
        stepper.bind(q, v, out=np.zeros(3))  # type: ignore[arg-type]
    with pytest.raises(lw.errors.InputError, match="shares memory"):
        stepper.bind(q, v, out=(q, np.zeros(3)))
    q.flags.writeable = False
    with pytest.raises(lw.errors.InputError, match="read-only; give out="):
        stepper.bind(q, v)


def best_of(rounds: int, *calls: Any) -> list[float]:
    """Seconds of one call each, taking turns."""
    best = [np.inf] * len(calls)
    for _ in range(rounds):
        for k, call in enumerate(calls):
            start = time.perf_counter()
            for _ in range(200):
                call()
            best[k] = min(best[k], (time.perf_counter() - start) / 200)
    return best


@pytest.mark.parametrize("name", ["pendulum", "arm"])
def test_one_step_a_call_costs_little_more_than_the_step(name: str) -> None:
    """At most as much more as three calls of forward dynamics that takes a microsecond; it was forty times that."""
    robot = zoo.pendulum(2) if name == "pendulum" else arm()
    stepper, fd = lw.Stepper(robot), lw.ForwardDynamics(zoo.pendulum(2))
    q, v, tau = robot.neutral(), np.zeros(robot.nv), np.zeros(robot.nv)
    small = np.zeros(2)
    commands = {"commands": COMMANDS} if name == "arm" else {}
    bound = stepper.bind(q.copy(), v.copy(), tau, out=(np.empty(robot.nq), np.empty(robot.nv)), **commands)
    one, called, reference = best_of(20, bound, lambda: stepper(q, v, tau, **commands), lambda: fd(small, small, small))
    assert called - one < 3 * reference
