# SPDX-License-Identifier: BSD-3-Clause
"""Actuators with activations move as MuJoCo's do, step by step, in every way to simulate."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

import mujoco
import numpy as np
import pytest

import linkwork as lw
from linkwork.mechanism import Mechanism
from tests.support.states import Floats

AGREEMENT = 1e-12
STEPS, DT = 300, 0.002
BODIES = """<worldbody><site name="w0" pos="0.3 0.1 1.2"/>
  <body name="a" pos="0 0 1"><joint name="j0" axis="0 1 0"/><geom type="capsule" size=".05" fromto="0 0 0 .4 0 0"/>
    <site name="a0" pos=".2 .05 .03"/>
    <body name="b" pos=".4 0 0"><joint name="j1" axis="0 .3 1" range="-170 170"/>
      <geom type="capsule" size=".04" fromto="0 0 0 .3 0 0"/><site name="b0" pos=".1 .02 .05"/></body></body>
</worldbody>
<tendon><spatial name="t" stiffness="8" damping="0.2"><site site="w0"/><site site="a0"/><site site="b0"/></spatial>
</tendon>"""
ACTUATORS = """<general name="i" joint="j0" dyntype="integrator" gainprm="3" actlimited="true" actrange="-.2 .4"/>
<general name="f" tendon="t" dyntype="filter" dynprm="0.03" gainprm="2" ctrlrange="-1 1" ctrllimited="true"/>
<position name="p" joint="j1" kp="5" kv="0.3" timeconst="0.05"/>
<motor name="m" joint="j1" gear="0.5"/>
<general name="e" joint="j0" dyntype="filterexact" dynprm="0.02" actearly="true" gainprm="1.5"/>
<cylinder name="c" joint="j1" timeconst="0.04" area="1.2" bias="0.1 -0.2 -0.05"/>
<intvelocity name="v" joint="j0" kp="2" kv="0.1" actrange="-1 1"/>"""
KEY = '<keyframe><key name="home" qpos="0.3 -0.2" act="0.1 0.2 0.3 0.4 0.5 0.6"/></keyframe>'
COMMANDS = np.array([0.7, -1.4, 0.5, 0.3, -0.8, 0.9, 0.4])
FLAGS = '<flag contact="disable" eulerdamp="disable" constraint="disable"/>'


def text(actuators: str = ACTUATORS, integrator: str = "Euler", defaults: str = "", more: str = KEY) -> str:
    option = f'<option timestep="{DT}" integrator="{integrator}">{FLAGS}</option>'
    return f"<mujoco>{option}<default>{defaults}</default>{BODIES}<actuator>{actuators}</actuator>{more}</mujoco>"


@cache
def robot() -> Mechanism:
    return lw.loads(text(), "mjcf")


@cache
def mujocos(integrator: str) -> tuple[Floats, Floats, Floats, Floats]:
    """Positions, velocities, activations and actuator torques of ``mj_step``."""
    model = mujoco.MjModel.from_xml_string(text(integrator=integrator))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    data.ctrl[:] = COMMANDS
    q, v, act, tau = [data.qpos.copy()], [data.qvel.copy()], [data.act.copy()], []
    for _ in range(STEPS):
        mujoco.mj_step(model, data)
        for found, x in ((q, data.qpos), (v, data.qvel), (act, data.act), (tau, data.qfrc_actuator)):
            found.append(x.copy())
    return np.array(q), np.array(v), np.array(act), np.array(tau)


@cache
def run(integrator: Literal["euler", "rk4"]) -> lw.Trajectory:
    it = robot()
    how: dict[str, Any] = {"seconds": STEPS * DT, "dt": DT, "integrator": integrator, "limits": False}
    return lw.simulate(it, it.poses["home"], act=it.activations["home"], commands=COMMANDS, **how)


def assert_close(ours: object, theirs: object, size: float = 1.0) -> None:
    np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=0, atol=AGREEMENT * size)


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_activations_and_motion_are_those_of_mj_step(integrator: Literal["euler", "rk4"]) -> None:
    q, v, act, tau = mujocos({"euler": "implicitfast", "rk4": "RK4"}[integrator])
    ours = run(integrator)
    assert ours.act is not None and ours.act.shape == (STEPS + 1, 6)
    assert_close(ours.act, act)
    assert_close(ours.q, q)
    assert_close(ours.v, v, 10)
    if integrator == "euler":  # with RK4, data has those of the last stage
        assert_close(ours.tau[:-1], tau, 10)


def test_batches_steppers_and_environments_step_alike() -> None:
    it, whole = robot(), run("euler")
    home, act = it.poses["home"], it.activations["home"]
    assert whole.act is not None
    stepper = lw.Stepper(it, DT, "euler", limits=False)
    made = stepper(home, np.zeros(2), commands=COMMANDS, act=act, steps=STEPS)
    assert_close(made.q, whole.q[-1])
    assert_close(made.act, whole.act[-1])
    q, v, w = home.copy(), np.zeros(2), act.copy()
    step = stepper.bind(q, v, commands=COMMANDS, act=w, steps=100)
    for _ in range(STEPS // 100):
        step()
    assert_close(w, whole.act[-1])
    sim = lw.Simulation(it, 3, q=home, act=act, dt=DT, limits=False, compile=False)
    sim.step(commands=COMMANDS, steps=STEPS)
    assert_close(sim.act, np.tile(whole.act[-1], (3, 1)))
    sim.step(steps=5)  # without commands activations stay
    assert_close(sim.act, np.tile(whole.act[-1], (3, 1)))
    sim.reset(np.array([False, True, False]))
    assert_close(sim.act, [whole.act[-1], act, whole.act[-1]])
    sim.reset(act=np.zeros(6))
    assert not sim.act.any()
    starts = np.array([act, 0 * act])
    how: dict[str, Any] = {"seconds": 0.1, "dt": DT, "limits": False, "record_every": 10, "threads": 1}
    many = lw.rollouts(it, np.tile(home, (2, 1)), act=starts, commands=COMMANDS, **how)
    assert many.act is not None
    assert_close(many.act[:, 0], whole.act[: 50 + 1 : 10])
    assert np.abs(many.act[0, 1]).max() == 0.0 and np.abs(many.act[-1, 1] - many.act[-1, 0]).max() > 1e-3


def test_a_run_is_resumed_and_kept_with_its_activations(tmp_path: Any) -> None:
    whole = run("euler")
    assert whole.act is not None
    rest = whole.resume(STEPS // 2, seconds=STEPS // 2 * DT)
    assert rest.act is not None
    np.testing.assert_array_equal(rest.act[-1], whole.act[-1])
    np.testing.assert_array_equal(rest.q[-1], whole.q[-1])
    kept = lw.Trajectory.load(whole.save(tmp_path / "run.npz"), robot())
    np.testing.assert_array_equal(kept.act, whole.act)


def test_steps_with_error_estimates_integrate_activations() -> None:
    it = lw.loads(text('<general joint="j0" dyntype="filter" dynprm="0.03" gainprm="2"/>', more=""), "mjcf")
    stepper = lw.Stepper(it, 0.003, "dopri5", limits=False).plain()
    found = stepper([0.3, -0.2], np.zeros(2), commands=[0.8], act=[0.1])
    assert abs(found.act[0] - (0.8 - 0.7 * np.exp(-0.1))) < 1e-9  # fifth order


def test_next_activations_are_mujocos() -> None:
    it = robot()
    *_, act, _ = mujocos("Euler")
    found = lw.actuators.next_activations(it, COMMANDS, act[:-1], DT)
    assert_close(found.act, act[1:])
    plain = lw.Evaluator(it, "activations").plain()(np.concatenate([COMMANDS, act[0]]), [DT])
    assert_close(plain[0], act[1])
    for ratio in (1e-9, 0.3, 5.0, 1e4):  # the exact filter is 1 - exp(-dt / T), whatever the step
        one = lw.actuators.next_activations(it, COMMANDS, np.zeros(6), ratio * 0.05).act[1 + 1]
        np.testing.assert_allclose(one, -0.5 * np.expm1(-ratio), rtol=1e-14)


def test_next_activations_of_a_robot_that_floats() -> None:
    body = '<body><freejoint/><geom size="1"/><body><joint name="j"/><geom size="1"/></body></body>'
    motor = '<general joint="j" dyntype="filter" dynprm="0.5"/>'
    it = lw.loads(f"<mujoco><worldbody>{body}</worldbody><actuator>{motor}</actuator></mujoco>")
    assert_close(
        lw.actuators.next_activations(it, [1.0], [[0.0], [0.5]], 0.1).act, [[0.2], [0.6]]
    )  # no q in it to check


def test_sensors_along_a_run_feel_early_activations() -> None:
    motor = '<general name="m" joint="j" dyntype="filter" dynprm="0.5" gainprm="2" actearly="true"/>'
    body = '<body><joint name="j"/><geom size="1"/></body>'
    sensor = '<actuatorfrc name="f" actuator="m"/>'
    parts = f"<worldbody>{body}</worldbody><actuator>{motor}</actuator><sensor>{sensor}</sensor>"
    model = mujoco.MjModel.from_xml_string(f"<mujoco>{parts}</mujoco>")
    data = mujoco.MjData(model)
    data.ctrl[:] = 1.0
    forces = []
    for _ in range(5):
        mujoco.mj_step(model, data)
        forces.append(data.sensordata.copy())
    found = lw.simulate(lw.loads(f"<mujoco>{parts}</mujoco>"), commands=[1.0], seconds=0.01, dt=0.002).sensors("f")
    assert_close(found["f"][:5], forces)


def test_poses_of_parts_keep_their_activations() -> None:
    it = robot()
    scene = lw.compose({"a": it, "b": lw.zoo.pendulum(1), "c": it})
    np.testing.assert_array_equal(scene.activations["home"], np.tile(it.activations["home"], 2))
    arm = lw.attach(lw.zoo.pendulum(2), it, to=lw.zoo.pendulum(2).body_names[-1], prefix="tool")
    np.testing.assert_array_equal(arm.activations["home"], it.activations["home"])


CHAINS = {
    "a filter before a position": ('<general dyntype="filter" dynprm="0.3"/>', '<position joint="j0" kp="3"/>'),
    "an exact filter before a position": ('<general dyntype="filterexact" dynprm=".3"/>', '<position joint="j0"/>'),
    "a position before others": (
        '<position timeconst="0.4"/>',
        '<position joint="j0" kp="3"/><general joint="j1"/><motor joint="j0"/>',
    ),
    "a cylinder before others": (
        '<cylinder timeconst="0.3" bias="1 2 3" area="4"/>',
        '<cylinder joint="j0"/><general joint="j1"/><position joint="j0"/><intvelocity joint="j1" actrange="-1 1"/>',
    ),
    "an integrator before others": ('<intvelocity kp="5" kv=".1" actrange="-1 1"/>', '<intvelocity joint="j0"/>'),
    "numbers before others": (
        '<general gainprm="5" biasprm="1 2 3" dynprm="0.3" actearly="true"/>',
        '<cylinder joint="j0"/><intvelocity joint="j1"/><position joint="j0" timeconst="0.1"/>'
        '<general joint="j0" dyntype="filter"/>',
    ),
    "a diameter": ("", '<cylinder joint="j0" diameter="2"/>'),
    "an inherited range": ("", '<intvelocity joint="j1" inheritrange="0.5"/>'),
    "a range that does not count": ("", '<general joint="j0" dyntype="filter" actrange="-1 1" actlimited="false"/>'),
    "a damping ratio on a spatial tendon": ("", '<position tendon="t" kp="5" dampratio="0.7" gear="2"/>'),
    "no time constant": ("", '<general joint="j0" dyntype="filterexact" dynprm="0"/>'),
}


@pytest.mark.parametrize("chain", CHAINS)
def test_default_classes_leave_what_mujocos_leave(chain: str) -> None:
    words = text(CHAINS[chain][1], defaults=CHAINS[chain][0], more="")
    model = mujoco.MjModel.from_xml_string(words)
    names = ("none", "integrator", "filter", "filterexact")
    for it in (lw.loads(words, "mjcf"), lw.peers.from_mujoco(model)):
        for k, actuator in enumerate(it.actuators):
            assert actuator.dynamics == names[model.actuator_dyntype[k]]
            assert_close(actuator.gain[0], model.actuator_gainprm[k, 0])
            assert_close(actuator.bias, model.actuator_biasprm[k, :3] * (model.actuator_biastype[k] == 1))
            if actuator.has_activation:
                assert actuator.time_constant == max(1e-15, model.actuator_dynprm[k, 0])
                assert actuator.early == bool(model.actuator_actearly[k])
                if model.actuator_actlimited[k]:
                    assert_close(actuator.activation_limits, model.actuator_actrange[k])
                else:
                    assert actuator.activation_limits == (-np.inf, np.inf)


def test_wrong_activations_are_refused() -> None:
    it, home = robot(), robot().poses["home"]
    with pytest.raises(lw.errors.InputError, match=r"act has shape \(2,\)"):
        lw.simulate(it, home, act=[0.0, 1.0], seconds=0.1)
    with pytest.raises(lw.errors.InputError, match=r"commands has shape \(2,\), robot '.*' needs \(\.\.\., 7\)"):
        lw.Stepper(it)(home, np.zeros(2), commands=[0.0, 1.0])
    with pytest.raises(lw.errors.InputError, match=r"do not broadcast: commands \(3,\), act \(2,\)"):
        lw.actuators.next_activations(it, np.zeros((3, 7)), np.zeros((2, 6)), 0.1)
    with pytest.raises(lw.errors.InputError, match="not finite"):
        lw.simulate(it, home, act=[np.nan] * 6, seconds=0.1)
    with pytest.raises(lw.errors.InputError, match=r"no actuator of .* has an activation"):
        lw.simulate(lw.zoo.pendulum(1), act=[1.0], seconds=0.1)
    with pytest.raises(lw.errors.InputError, match="bind: actuators have activations"):
        lw.Stepper(it).bind(home.copy(), np.zeros(2), commands=COMMANDS)
    with pytest.raises(lw.errors.UnsupportedFeature, match="derivatives of steps: actuator 'i'"):
        lw.Stepper(it).derivatives(home, np.zeros(2))
    build = lw.Builder("servo").body("link", lw.Inertia.rod(1.0, (0, 0, 0), (1, 0, 0)))
    build.joint("j", lw.joints.Revolute("y"), "world", "link")
    with pytest.raises(lw.errors.ModelError, match="time constant"):
        build.actuator("a", "j", dynamics="filter", time_constant=0.0).build()
    with pytest.raises(lw.errors.ModelError, match="dynamics 'muscle' and no Muscle"):
        lw.zoo.pendulum(1).with_actuators(lw.actuators.Actuator("m", "joint0", (1.0,), dynamics="muscle"))
    with pytest.raises(lw.errors.ModelError, match="activation limits"):
        build.actuator("a", "j", activation_limits=(1, 0))
