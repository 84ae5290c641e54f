# SPDX-License-Identifier: BSD-3-Clause
"""Limits of ball joints: the largest angle of their rotation, soft beside MuJoCo's, hard by identities."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import ModelError, ModelWarning, StateWarning
from linkwork.parsing.mjcf import mujoco_map

BALLS = """<mujoco><option timestep=".002" cone="elliptic" jacobian="dense" tolerance="0" iterations="300"/>
  <worldbody>
    <body name="a" pos="0 0 1"><joint name="shoulder" type="ball" pos=".02 0 .1" range="0 40" margin=".1"
        solreflimit=".03 .8" solimplimit=".8 .97 .01 .4 3"/>
      <inertial pos=".1 0 -.1" mass="1.3" diaginertia=".02 .03 .025"/>
      <body name="b" pos="0 0 -.4"><joint name="elbow" axis="0 .8 .6" range="-30 40" margin=".05"/>
        <joint name="slide" type="slide" axis="1 0 0"/>
        <inertial pos="0 .05 -.2" mass=".7" diaginertia=".01 .012 .008"/>
        <body name="c" pos=".1 0 -.3"><joint name="wrist" type="ball" range="0 25"/>
          <inertial pos="0 .02 -.1" mass=".3" diaginertia=".002 .003 .004"/></body></body></body>
  </worldbody></mujoco>"""


def pendulum(angle: float | None = 0.6, damping: float = 0.0) -> lw.Mechanism:
    """A rod on a ball joint, hanging."""
    build = lw.Builder("pendulum")
    build.body("rod", lw.Inertia.rod(1.0, (0, 0, 0), (0, 0, -0.8), radius=0.05))
    build.joint("ball", lw.joints.Spherical(), "world", "rod", angle=angle, damping=damping)
    return build.build()


def angles(q: np.ndarray) -> np.ndarray:
    """Of rotations by quaternions."""
    return np.asarray(2 * np.arctan2(np.linalg.norm(q[..., :3], axis=-1), np.abs(q[..., 3])))


@pytest.mark.parametrize("saved", [False, True], ids=["file", "saved"])
def test_soft_limits_of_ball_joints_are_those_of_mujoco(saved: bool) -> None:
    """Accelerations of steps from random states, beyond limits and before them."""
    mujoco = pytest.importorskip("mujoco")
    m, rng = mujoco.MjModel.from_xml_string(BALLS), np.random.default_rng(0)
    d, robot = mujoco.MjData(m), lw.loads(BALLS)
    robot = lw.loads(robot.to_text("mjcf")) if saved else robot
    assert robot.joint("shoulder").limits.angle == pytest.approx(np.radians(40))
    at, step = mujoco_map(robot), lw.Stepper(robot, 0.002, contact="soft", tolerance=1e-12)
    acting = 0
    for _ in range(30):
        mujoco.mj_resetData(m, d)
        mujoco.mj_integratePos(m, d.qpos, 0.5 * rng.normal(size=m.nv), 1.0)
        d.qvel[:] = rng.normal(size=m.nv)
        mujoco.mj_forward(m, d)
        acting += int((d.efc_type == mujoco.mjtConstraint.mjCNSTR_LIMIT_JOINT).sum())
        q = at.from_qpos(d.qpos.copy())
        s = step(q, at.from_qvel(q, d.qvel))
        a = (at.to_qvel(s.q, s.v) - d.qvel) / 0.002
        np.testing.assert_allclose(a, d.qacc, rtol=0, atol=1e-9 * np.abs(d.qacc).max())
    assert acting > 20


def test_pendulum_swings_to_its_limit_and_rests_there() -> None:
    """Pushed beyond all measure by a constant torque, it comes to rest at the limit, whose moment holds the torque."""
    robot = pendulum(0.6, damping=2.0)
    tau = np.array([6.0, 0.0, 0.0])
    run = lw.simulate(robot, seconds=3.0, dt=1e-3, tau=tau)
    assert run.contacts.missed[-1] == 0
    assert angles(run.q).max() <= 0.6 + 1e-6
    assert angles(run.q[-1]) == pytest.approx(0.6, abs=1e-8)
    moment = 6.0 - 9.81 * 0.4 * np.sin(0.6)  # of the limit: what gravity does not hold of the torque
    step = lw.contact.ContactStep(robot, dt=1e-3)
    s = step(run.q[-1], run.v[-1], tau)
    np.testing.assert_allclose(s.result[step.layout.places["boxes"]], [moment], rtol=1e-5)


def test_limit_about_any_axis_takes_what_moves_beyond_it_alone() -> None:
    """At the limit, a velocity across the axis of the rotation stays, one outward ends, one inward stays."""
    robot, rng = pendulum(0.6), np.random.default_rng(1)
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    q = np.append(np.sin(0.3) * axis, np.cos(0.3))
    M = lw.mass_matrix(robot, q)
    step, unlimited = (lw.contact.ContactStep(robot, dt=1e-5, limits=limits) for limits in (True, False))
    v = rng.normal(size=3)
    outward, inward = v + (1.0 - axis @ v) * axis, v - (1.0 + axis @ v) * axis
    held = step(q, outward).v
    impulse = M @ (held - unlimited(q, outward).v)
    assert axis @ held == pytest.approx(0.0, abs=1e-8)
    np.testing.assert_allclose(impulse, (axis @ impulse) * axis, rtol=0, atol=1e-7)
    assert axis @ impulse < 0
    np.testing.assert_allclose(step(q, inward).v, unlimited(q, inward).v, rtol=0, atol=1e-12)


def test_both_quaternions_of_a_rotation_have_the_same_limit() -> None:
    robot = pendulum(0.4)
    q = np.array([np.sin(0.2), 0, 0, np.cos(0.2)])
    step = lw.contact.ContactStep(robot, dt=1e-3)
    one, other = step(q, [3.0, 1.0, 0.0]), step(-q, [3.0, 1.0, 0.0])
    np.testing.assert_allclose(one.v, other.v, rtol=0, atol=1e-14)
    np.testing.assert_allclose(one.q, -other.q, rtol=0, atol=1e-14)
    assert abs(one.v[0]) < 1e-6


def test_energy_is_not_gained_and_batches_agree() -> None:
    robot = pendulum(0.5)
    rng = np.random.default_rng(3)
    q = np.array([robot.integrate(robot.neutral(), 0.15 * rng.uniform(-1, 1, size=3)) for _ in range(11)])
    v = rng.normal(size=(11, 3)) * 2
    stepper = lw.Stepper(robot, 1e-3)
    assert stepper.contact
    many = stepper(q, v, steps=400)
    for k in (0, 7):
        np.testing.assert_allclose(stepper(q[k], v[k], steps=400).q, many.q[k], rtol=0, atol=1e-8)
    assert 0.5 < angles(many.q).max() < 0.5 + 1e-3
    run = lw.simulate(robot, q[0], 2 * v[0], seconds=1.0)
    energy = lw.energy(robot, run.q, run.v).total
    lost = run.contacts.dissipated["joints"]
    assert lost[-1] > 0.1
    np.testing.assert_allclose(energy + lost, energy[0], rtol=0, atol=1e-2)  # a method of first order


def test_start_beyond_the_limit_moves_back_with_a_warning() -> None:
    robot = pendulum(0.5, damping=0.5)
    q = np.array([0, np.sin(0.3), 0, np.cos(0.3)])
    with pytest.warns(StateWarning, match="'pendulum' starts beyond limits: ball is moved back slowly"):
        run = lw.simulate(robot, q, seconds=1.0, tau=[0, 3.0, 0])
    assert angles(run.q[-1]) == pytest.approx(0.5, abs=1e-6)


def test_other_steps_say_that_they_leave_the_limit_out() -> None:
    robot = pendulum()
    for how in ({"integrator": "rk4"}, {"contact": False}):
        with pytest.warns(ModelWarning, match="limits of ball joints 'ball'"):
            lw.simulate(robot, seconds=0.01, **how)  # type: ignore[arg-type]
    with pytest.warns(ModelWarning, match="limit of ball joint 'ball'"):
        lw.Stepper(robot).compile()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lw.simulate(robot, seconds=0.01, limits=False)
        lw.simulate(pendulum(None), seconds=0.01)


def test_wrong_limits_are_errors() -> None:
    with pytest.raises(ModelError, match="angle is -1"):
        pendulum(-1.0)
    build = lw.Builder("hinge")
    build.body("rod", lw.Inertia.rod(1.0, (0, 0, 0), (0, 0, -0.8)))
    with pytest.raises(ModelError, match="spherical"):
        build.joint("hinge", lw.joints.Revolute("y"), "world", "rod", angle=1.0)


def test_limit_is_kept_by_files_and_scaling() -> None:
    robot = pendulum(0.6)
    assert lw.loads(robot.to_text("mjcf")).joint("ball").limits.angle == pytest.approx(0.6, abs=1e-12)
    assert robot.scaled(length=2.0).joint("ball").limits.angle == 0.6
    with pytest.raises(Exception, match="limits of position"):
        robot.to_text("sdf")
