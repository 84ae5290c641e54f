# SPDX-License-Identifier: BSD-3-Clause
"""Motors of actuators: delays, torque-speed curves, friction and integral action against closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.actuators import Motor
from linkwork.errors import InputError, ModelError, UnsupportedFeature


def wheel(motor: Motor | None, **options: Any) -> lw.Mechanism:
    """A flywheel of 0.5 kg m² on a motor, without gravity."""
    build = lw.Builder("wheel", gravity=(0, 0, 0))
    build.body("rim", lw.Inertia(1.0, (0, 0, 0), 0.5 * np.eye(3)))
    build.joint("axle", lw.joints.Revolute("z"), "world", "rim", actuated=True)
    build.actuator("motor", "axle", motor=motor, **options)
    return build.build()


def torques(robot: lw.Mechanism, v: Any, u: Any, act: Any = None) -> Any:
    v = np.asarray(v, dtype=float)
    return lw.actuators.actuator_torques(robot, np.zeros((*v.shape, 1)), v[..., None], np.full((*v.shape, 1), u), act)[
        ..., 0
    ]


@pytest.mark.parametrize("delay", [0.0, 1.0, 2.0, 0.5, 2.25])
@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_commands_come_so_many_steps_late(delay: float, integrator: Any) -> None:
    robot, u = wheel(Motor(delay=delay)), np.random.default_rng(0).normal(size=12)
    step = lw.Stepper(robot, dt=0.01, integrator=integrator)
    q, v = np.zeros(1), np.zeros(1)
    act: Any = np.zeros(robot.na)
    late = np.interp(np.arange(12) - delay, np.arange(-4, 12), [0, 0, 0, 0, *u])
    for k in range(12):
        result: Any = step(q, v, commands=u[k : k + 1], act=act if robot.na else None)
        np.testing.assert_allclose((result.v - v) / 0.01, late[k] / 0.5, atol=1e-12)
        q, v, act = result.q, result.v, result.act
    assert robot.na == int(np.ceil(delay))


def test_a_delay_comes_before_a_filter_and_is_named() -> None:
    robot = wheel(Motor(delay=2.0), dynamics="filter", time_constant=0.1)
    assert [state for a in robot.actuators for state in a.states] == ["motor", "motor.command[1]", "motor.command[2]"]
    act = np.zeros(3)
    for _ in range(2):
        act = lw.actuators.next_activations(robot, [1.0], act, 0.02).act
    np.testing.assert_allclose(act, [0.0, 1.0, 1.0])
    np.testing.assert_allclose(lw.actuators.next_activations(robot, [1.0], act, 0.02).act[0], 0.2)


def test_force_falls_along_the_torque_speed_curve() -> None:
    robot = wheel(Motor(stall=20.0, no_load=10.0), force_limits=(-15.0, 15.0))
    v = np.linspace(-15, 15, 31)
    np.testing.assert_allclose(torques(robot, v, 100.0), np.clip(20 * (1 - v / 10), 0, 15))
    np.testing.assert_allclose(torques(robot, v, -100.0), np.clip(-20 * (1 + v / 10), -15, 0))
    low, high = lw.actuators.torque_limits(wheel(Motor(stall=20.0, no_load=10.0), limits=(-50, 50)), [0.0], [5.0])
    np.testing.assert_allclose((low[0], high[0]), (-30.0, 10.0))


@pytest.mark.parametrize("dt", [1e-3, 2e-2])
def test_a_motor_without_load_runs_up_to_its_speed(dt: float) -> None:
    """``I v' = s (1 - v / v0)``: an exponential with the time constant ``I v0 / s``, which steps may exceed."""
    robot = wheel(Motor(stall=20.0, no_load=10.0))
    run = lw.simulate(robot, [0.0], seconds=1.0, dt=dt, commands=[100.0])
    exact = 10.0 * (1.0 - np.exp(-run.times * 20.0 / (0.5 * 10.0)))
    assert np.abs(run.v[:, 0] - exact).max() < 2.5 * dt * 20.0
    assert run.v.max() < 10.0 + 1e-9
    np.testing.assert_allclose(run.v[-1, 0], 10.0, atol=0.3)


def test_friction_has_stribecks_curve() -> None:
    motor = Motor(coulomb=2.0, static=3.0, stribeck=0.4, smoothing=1e-3)
    v = np.linspace(-2, 2, 41)
    expected = -(2.0 + np.exp(-((v / 0.4) ** 2))) * v / np.hypot(v, 1e-3)
    np.testing.assert_allclose(torques(wheel(motor), v, 0.0), expected, atol=1e-12)


def test_coulomb_friction_stops_a_wheel_when_it_should() -> None:
    robot = wheel(Motor(coulomb=2.0, smoothing=1e-4))
    run = lw.simulate(robot, [0.0], [4.0], seconds=1.5, dt=1e-3, commands=[0.0])
    np.testing.assert_allclose(run.v[:900, 0], 4.0 - 2.0 / 0.5 * run.times[:900], atol=2e-3)
    assert np.abs(run.v[1200:]).max() < 1e-3  # and it does not chatter
    np.testing.assert_allclose(run.q[-1, 0], 0.5 * 4.0**2 / 4.0, atol=1e-2)


def test_integral_action_takes_away_what_a_load_leaves() -> None:
    servo = {"gain": (40.0, 0, 0), "bias": (0, -40.0, -8.0)}
    for integral, offset in ((0.0, 3.0 / 40.0), (60.0, 0.0)):
        robot = wheel(Motor(integral=integral), **servo)
        run = lw.simulate(robot, [0.0], seconds=15.0, dt=5e-3, commands=[1.0], tau=[-3.0])
        np.testing.assert_allclose(run.q[-1, 0], 1.0 - offset, atol=1e-6)
    # the integral ends to grow at the windup
    wound: Any = lw.simulate(
        wheel(Motor(integral=60.0, windup=0.02), **servo), [0.0], seconds=15.0, dt=5e-3, commands=[1.0], tau=[-3.0]
    )
    assert 0.02 <= wound.act[-1, 0] <= 0.02 + 5e-3  # the step in which it ends to grow
    np.testing.assert_allclose(wound.q[-1, 0], 1.0 - (3.0 - 60.0 * wound.act[-1, 0]) / 40.0, atol=1e-6)


def test_backlash_is_play_about_the_target() -> None:
    """Within the gap nothing pushes; beyond it the servo pulls from the nearer side."""
    servo = {"gain": (40.0, 0, 0), "bias": (0, -40.0, -8.0)}
    robot, play = wheel(Motor(backlash=0.1), **servo), 0.05
    q = np.linspace(0.5, 1.5, 41)[:, None]
    tau = lw.actuators.actuator_torques(robot, q, np.zeros_like(q), np.ones_like(q))[:, 0]
    error = 1.0 - q[:, 0]
    np.testing.assert_allclose(tau, 40.0 * np.sign(error) * np.maximum(np.abs(error) - play, 0.0), atol=1e-12)
    free = lw.simulate(robot, [0.98], [0.01], seconds=1.0, dt=5e-3, commands=[1.0])
    np.testing.assert_allclose(free.v[:, 0], 0.01, atol=1e-12)  # it coasts, as no damping acts in the gap either
    held = lw.simulate(robot, [1.0], seconds=15.0, dt=5e-3, commands=[1.0], tau=[-3.0])
    np.testing.assert_allclose(held.q[-1, 0], 1.0 - play - 3.0 / 40.0, atol=1e-6)


FULL = Motor(
    stall=6.0, no_load=4.0, coulomb=0.3, static=0.5, stribeck=0.7, integral=5.0, windup=0.2, delay=1.5, backlash=0.2
)
NUMBERS = ("stall", "no_load", "friction", "stribeck", "integral", "delay", "backlash")


@pytest.mark.parametrize("number", [*NUMBERS, "all"])
def test_motors_differ_from_robot_to_robot(number: str) -> None:
    """Numbers that an environment draws: each row of a batch moves as a robot that is built with its own."""
    gym = pytest.importorskip("linkwork.gym")
    robot = wheel(FULL, gain=(30.0, 0, 0), bias=(0, -30.0, -1.0))
    names: Any = [f"motor_{name}" for name in (NUMBERS if number == "all" else [number])]
    drawn = gym.Randomization(robot, dict.fromkeys(names, (0.7, 1.0)))
    rng = np.random.default_rng(0)
    values = drawn(rng.uniform(size=(6, drawn.draws)))
    q, v, act = (rng.normal(scale=0.3, size=(6, n)) for n in (1, 1, robot.na))
    step = lw.Stepper(robot, dt=5e-3, parameters=drawn.names)
    result: Any = step(q, v, commands=[0.2], act=act, steps=20, **values)
    usual: Any = lw.Stepper(robot, dt=5e-3)(q, v, commands=[0.2], act=act, steps=20)
    assert np.abs(result.q - usual.q).max() > 1e-6
    for k in range(6):
        other = robot.with_parameters(**{name: x[k] for name, x in values.items()})
        assert other.na == robot.na
        alone: Any = lw.Stepper(other, dt=5e-3)(q[k], v[k], commands=[0.2], act=act[k], steps=20)
        np.testing.assert_allclose(result.q[k], alone.q, atol=1e-12)
        np.testing.assert_allclose(result.act[k], alone.act, atol=1e-12)


def test_delays_that_differ_are_within_those_of_the_model() -> None:
    robot = wheel(Motor(delay=1.2))
    step = lw.Stepper(robot, parameters=["motor_delay"])
    step([0.0], [0.0], commands=[0.0], act=np.zeros(2), motor_delay=[2.0])
    with pytest.raises(InputError, match=r"motor_delay is up to 2.5, 'wheel' has room for \[2.\]"):
        step([0.0], [0.0], commands=[0.0], act=np.zeros(2), motor_delay=[2.5])
    with pytest.raises(InputError, match="has no motors with friction: motor_friction cannot be an input"):
        lw.Stepper(robot, parameters=["motor_friction"])


def test_backends_lanes_and_programs_agree() -> None:
    build = lw.Builder("arm")
    for k in range(2):
        build.body(f"link{k}", lw.Inertia.rod(1.0, (0, 0, 0), (0.4, 0, 0)))
        at = (0.4 * k, 0, 0)
        build.joint(
            f"hinge{k}", lw.joints.Revolute("y"), "world" if k == 0 else "link0", f"link{k}", at=at, actuated=True
        )
        build.actuator(f"servo{k}", f"hinge{k}", gain=(30.0, 0, 0), bias=(0, -30.0, -1.0))
    robot = build.build().with_motors(Motor(stall=6.0, no_load=4.0, coulomb=0.3, static=0.5, integral=5.0, delay=1.5))
    step, rng = lw.Stepper(robot, dt=2e-3), np.random.default_rng(0)
    q, v, u, act = (rng.normal(size=(20, n)) for n in (robot.nq, robot.nv, 2, robot.na))
    batch: Any = step(q, v, commands=u, act=act)
    program: Any = step.compile()(q, v, commands=u, act=act)
    np.testing.assert_allclose(program.v, batch.v, atol=1e-11)
    np.testing.assert_allclose(program.act, batch.act, atol=1e-11)
    for k in range(3):
        one: Any = step.plain()(q[k], v[k], commands=u[k], act=act[k])
        np.testing.assert_allclose(one.v, batch.v[k], atol=1e-11)
        np.testing.assert_allclose(one.act, batch.act[k], atol=1e-11)


def test_what_is_refused() -> None:
    with pytest.raises(ModelError, match="delay is -1"):
        Motor(delay=-1)
    with pytest.raises(ModelError, match="stall is 0"):
        Motor(stall=0.0)
    with pytest.raises(ModelError, match="its stall force is not given"):
        Motor(no_load=3.0)
    with pytest.raises(InputError, match=r"no actuator 'moter'.*did you mean 'motor'"):
        wheel(None).with_motors(Motor(), "moter")
    with pytest.raises(UnsupportedFeature, match="depends on its position"):
        lw.actuators.next_activations(wheel(Motor(integral=1.0)), [0.0], [0.0], 0.1)


PID = """<mujoco><option timestep="0.001"/>
<default><default class="base"><pid kp="30" kv=".2" input="pos"/></default></default>
<worldbody><body><joint name="j" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
<body pos=".3 0 0"><joint name="k" axis="0 1 0" damping=".1"/>
<geom type="capsule" fromto="0 0 0 .2 0 0" size=".03"/></body>
</body></worldbody><actuator>{0}</actuator></mujoco>"""
LAWS = {
    "integral": '<pid joint="j" class="base" ki="60"/><pid joint="k" class="base" ki="20" gear="2"/>',
    "windup": '<pid joint="j" class="base" ki="60" imax="0.02"/><motor joint="k"/>',
    "ratio": '<pid joint="j" kp="40" ki="9" dampratio=".1" input="pos" forcerange="-6 6"/>'
    '<pid joint="k" class="base"/>',
    "range": '<pid joint="j" class="base" ki="5" posrange="-.2 .3"/><pid joint="k" class="base" ki="3" imax="1"/>',
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_pid_servos_of_files_move_as_in_mujoco(law: str, integrator: Any) -> None:
    mujoco = pytest.importorskip("mujoco")
    text = PID.format(LAWS[law])
    model, robot = mujoco.MjModel.from_xml_string(text), lw.loads(text)
    kinds = mujoco.mjtIntegrator
    model.opt.integrator = kinds.mjINT_RK4 if integrator == "rk4" else kinds.mjINT_IMPLICITFAST
    data, rng = mujoco.MjData(model), np.random.default_rng(0)
    data.qpos[:], data.qvel[:] = rng.normal(size=2), rng.normal(size=2)
    step = lw.Stepper(robot, dt=0.001, integrator=integrator)
    q, v = data.qpos.copy(), data.qvel.copy()
    act: Any = np.zeros(robot.na) if robot.na else None
    assert robot.na == model.na
    for k in range(300):
        data.ctrl[:] = 0.4 * np.sin(0.02 * k), 0.3
        result: Any = step(q, v, commands=data.ctrl.copy(), act=act)
        mujoco.mj_step(model, data)
        q, v, act = result.q, result.v, result.act
        np.testing.assert_allclose(q, data.qpos, atol=1e-9)
    if robot.na:
        np.testing.assert_allclose(act, data.act, atol=1e-9)


DELAYED = {
    "whole steps": 'delay=".02" nsample="5"',
    "held between samples": 'delay=".0251" nsample="5"',
    "interpolated": 'delay=".0251" nsample="5" interp="linear"',
    "less than a step": 'delay=".004" nsample="3" interp="linear"',
    "more than samples": 'delay=".08" nsample="3" ctrlrange="-.8 .6"',
}


@pytest.mark.parametrize("kind", DELAYED)
def test_delays_of_files_are_mujocos(kind: str) -> None:
    mujoco = pytest.importorskip("mujoco")
    text = f"""<mujoco><option timestep="0.01"/><worldbody><body><joint name="j" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/></body></worldbody>
<actuator><position joint="j" kp="30" {DELAYED[kind]}/></actuator></mujoco>"""
    with pytest.warns(lw.errors.ModelWarning, match="steps of the file's timestep, 0.01 s; simulate with this dt"):
        robot = lw.loads(text, "mjcf")
    model = mujoco.MjModel.from_xml_string(text)
    data, step = mujoco.MjData(model), lw.Stepper(robot, dt=0.01)
    q, v, act = np.array(data.qpos), np.array(data.qvel), np.zeros(robot.na)
    for k in range(40):
        data.ctrl[:] = np.sin(0.3 * k)
        result: Any = step(q, v, commands=data.ctrl.copy(), act=act)
        mujoco.mj_step(model, data)
        q, v, act = result.q, result.v, result.act
        np.testing.assert_allclose(q, data.qpos, atol=1e-12)
