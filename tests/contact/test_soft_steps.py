# SPDX-License-Identifier: BSD-3-Clause
"""Steps with soft contacts beside MuJoCo's own: the same forces, the same motion."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.contact.softness import soft_rows
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.parsing.mjcf import mujoco_map
from tests.support.contact_scenes import box_on_plane
from tests.support.robots import scene_file

mujoco = pytest.importorskip("mujoco")
mujoco.set_mju_user_warning(lambda message: None)

SOLIDS = {
    "sphere": '<geom size=".1"/>',
    "box": '<geom type="box" size=".1 .08 .06" solref=".01 .7" solimp=".8 .97 .002 .4 3" friction=".6"/>',
    "rolling": '<geom size=".1" condim="6" friction=".7 .02 .01"/>',
    "direct": '<geom type="capsule" size=".05 .1" solref="-4000 -60"/>',
}
OFF = mujoco.mjtDisableBit


def dropped(solid: str) -> str:
    """A body above a plane."""
    return f"""<mujoco><option timestep=".002" cone="elliptic" jacobian="dense" tolerance="0" iterations="300"
      impratio="3"/><worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 .12" euler="10 20 30"><freejoint/>
      {solid}</body></worldbody></mujoco>"""


def humanoid() -> tuple[lw.Mechanism, Any]:
    """Without limits, which are springs in `assert_same_steps`; MuJoCo's solver goes on to the end."""
    file = scene_file("humanoid/humanoid.xml")
    m = mujoco.MjModel.from_xml_path(str(file))
    m.opt.tolerance, m.opt.iterations, m.opt.jacobian = 0, 300, 0
    m.opt.ls_iterations, m.opt.ls_tolerance = 200, 1e-12
    m.opt.disableflags = OFF.mjDSBL_LIMIT | OFF.mjDSBL_WARMSTART  # dampers are implicit
    return lw.load(file), m


def normal_force(m: Any, d: Any, k: int) -> float:
    """Of a contact of MuJoCo's."""
    force = np.zeros(6)
    mujoco.mj_contactForce(m, d, k, force)
    return float(force[0])


def assert_same_steps(robot: lw.Mechanism, m: Any, velocity: Any, steps: int) -> int:
    """Forces and velocities of each step from MuJoCo's states, and the configuration after all of ours; steps that
    touch."""
    d, at = mujoco.MjData(m), mujoco_map(robot)
    d.qvel[:] = velocity
    step = lw.Stepper(robot, m.opt.timestep, contact="soft", limits=False, tolerance=1e-11)
    commands = np.zeros(m.nu) if m.nu else None
    q = at.from_qpos(d.qpos.copy())
    v, kept, touching = at.from_qvel(q, d.qvel), None, 0
    for _ in range(steps):
        start = at.from_qpos(d.qpos.copy())
        one = step(start, at.from_qvel(start, d.qvel), commands=commands)
        ours = step(q, v, commands=commands, contact_state=kept)
        q, v, kept = ours.q, ours.v, ours.contact_state
        mujoco.mj_step(m, d)
        force = sum(normal_force(m, d, k) for k in range(d.ncon))
        touching += force > 0
        np.testing.assert_allclose(one.contacts.forces[..., 2].sum(), force, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(at.to_qvel(one.q, one.v), d.qvel, atol=1e-6)
    np.testing.assert_allclose(at.to_qpos(q), d.qpos, atol=1e-6)
    return touching


@pytest.mark.parametrize("name", SOLIDS)
def test_a_dropped_body_moves_as_in_mujoco(name: str) -> None:
    text = dropped(SOLIDS[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.errors.ModelWarning)
        robot = lw.loads(text)
    m = mujoco.MjModel.from_xml_string(text)
    assert assert_same_steps(robot, m, [1, 0.2, -0.5, 1, 2, 3], 300) > 100


def test_a_humanoid_moves_as_in_mujoco_while_its_feet_alone_touch() -> None:
    """Later parts of it touch that fixed joints carry, whose softness is that of the body here (`contact.softness`)."""
    robot, m = humanoid()
    assert assert_same_steps(robot, m, np.zeros(m.nv), 65) > 60


JOINTED = """<mujoco><option timestep=".002" cone="elliptic" jacobian="dense" tolerance="0" iterations="300"/>
  <compiler angle="radian"/><worldbody>
    <body name="a" pos="0 0 1"><joint name="j1" axis="0 1 0" range="-.3 .4" solreflimit=".03 .8"
      solimplimit=".8 .97 .01 .4 3"/><inertial pos=".1 0 -.1" mass="1.3" diaginertia=".02 .03 .025"/>
      <body name="b" pos="0 0 -.4"><joint name="j2" axis="0 .8 .6" frictionloss=".3" solreffriction=".05 1"
        solimpfriction=".7 .9 .002 .5 2"/><inertial pos="0 .05 -.2" mass=".7" diaginertia=".01 .012 .008"/>
        <body name="c" pos="0 0 -.3"><joint type="slide" axis="1 0 0" range="-.05 .05" margin=".01"/>
          <joint axis="1 0 0" frictionloss=".1"/><inertial pos="0 0 -.1" mass=".4" diaginertia=".004 .003 .005"/>
        </body></body></body>
    <body name="d" pos=".5 0 .6"><freejoint/><inertial pos=".02 0 0" mass=".9" diaginertia=".01 .02 .015"/></body>
    <body name="e" pos=".5 .3 .6"><freejoint/><inertial pos=".02 .01 0" mass=".5" diaginertia=".005 .004 .003"/></body>
  </worldbody><equality>{}</equality></mujoco>"""
EQUALITIES = {
    "limits and dry friction": "",
    "connect": '<connect body1="c" body2="d" anchor=".05 .02 -.1" solref=".04 .9" solimp=".85 .95 .02 .5 2"/>',
    "weld": '<weld body1="d" body2="e" solref=".03 1.1" solimp=".7 .96 .05 .4 2" torquescale=".3"/>',
    "weld to the world": '<weld body1="d" solref="-800 -40"/>',
    "joints": '<joint joint1="j1" joint2="j2" polycoef=".1 .5 .3 0 0" solref=".03 1.1" solimp=".7 .96 .05 .4 2"/>',
}


@pytest.mark.parametrize("name", EQUALITIES)
@pytest.mark.parametrize("saved", [False, True], ids=["file", "saved"])
def test_soft_limits_friction_and_equalities_are_those_of_mujoco(name: str, saved: bool) -> None:
    """Accelerations of steps from random states, with all joints off their limits and equalities open."""
    text = JOINTED.format(EQUALITIES[name])
    m, rng = mujoco.MjModel.from_xml_string(text), np.random.default_rng(0)
    d = mujoco.MjData(m)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.errors.ModelWarning)
        robot = lw.loads(text)
        robot = lw.loads(robot.to_text("mjcf")) if saved else robot
    at, step = mujoco_map(robot), lw.Stepper(robot, 0.002, contact="soft", tolerance=1e-12)
    for _ in range(10):
        mujoco.mj_resetData(m, d)
        mujoco.mj_integratePos(m, d.qpos, rng.normal(size=m.nv), 0.12)
        d.qvel[:] = rng.normal(size=m.nv)
        before, q = d.qvel.copy(), at.from_qpos(d.qpos.copy())
        ours = step(q, at.from_qvel(q, before))
        mujoco.mj_step(m, d)
        largest = np.abs(d.qvel - before).max() / 0.002
        np.testing.assert_allclose(at.to_qvel(ours.q, ours.v) / 0.002, d.qvel / 0.002, atol=1e-9 * largest)


@pytest.mark.parametrize("names", [("connect",), ("connect", "weld"), ("joints", "weld to the world")])
def test_soft_equalities_of_hard_steps_are_those_of_mujoco(names: tuple[str, ...]) -> None:
    """Constraints that are not exact, in steps with nothing else that is soft."""
    text = JOINTED.format("".join(EQUALITIES[name] for name in names))
    for said in (' frictionloss=".3"', ' frictionloss=".1"', ' range="-.3 .4"', ' range="-.05 .05"'):
        text = text.replace(said, "")
    m, rng = mujoco.MjModel.from_xml_string(text), np.random.default_rng(0)
    d, robot = mujoco.MjData(m), lw.loads(text)
    robot = replace(robot, constraints=tuple(replace(c, exact=False) for c in robot.constraints))
    at, step = mujoco_map(robot), lw.Stepper(robot, 0.002, tolerance=1e-12)
    assert step.contact
    for _ in range(10):
        mujoco.mj_resetData(m, d)
        mujoco.mj_integratePos(m, d.qpos, rng.normal(size=m.nv), 0.12)
        d.qvel[:] = rng.normal(size=m.nv)
        mujoco.mj_forward(m, d)
        q = at.from_qpos(d.qpos.copy())
        s = step(q, at.from_qvel(q, d.qvel))
        a = (at.to_qvel(s.q, s.v) - d.qvel) / 0.002
        np.testing.assert_allclose(a, d.qacc, rtol=0, atol=1e-9 * np.abs(d.qacc).max())


def lifted(**options: Any) -> lw.Mechanism:
    """Two weights of 1 kg on slides that a gear couples; one of them is locked where it is."""
    build = lw.Builder("weights")
    for name in ("left", "right"):
        build.body(name, lw.Inertia.box(1.0, (0.1, 0.1, 0.1)))
        build.joint(name, lw.joints.Prismatic("z"), "world", name)
    build.constrain(lw.constraints.Gear("left", "right", 1.0, name="gear", exact=True))
    soft = lw.contact.SoftConstraint(impedance=(0.9, 0.9, 0.001, 0.5, 2.0))
    build.constrain(lw.constraints.JointLock("left", name="lock", soft=soft, **options))
    return build.build()


@pytest.mark.parametrize("contact", [True, "soft"])
def test_soft_constraint_sags_beside_an_exact_one(contact: Any) -> None:
    """At rest ``f = k d r / R`` with the regularization ``R = (1 - d) / d D``: the closed form of MuJoCo's model."""
    robot = lifted(exact=False)
    run = lw.simulate(robot, seconds=1.0, dt=1e-3, contact=contact)
    D = soft_rows(robot)["soft_row_weight"][robot.row_slice("lock")][0]
    k, d = 1 / (0.9 * 0.02) ** 2, 0.9
    sag = -2 * 9.81 * (1 - d) / d * D / (k * d)
    np.testing.assert_allclose(run.q[-1], [sag, sag], rtol=1e-6)
    assert np.abs(run.q[:, 0] - run.q[:, 1]).max() < 1e-9
    assert run.forces["lock"][-1] == pytest.approx(2 * 9.81, rel=1e-6)


def test_constraints_are_exact_in_hard_steps_and_where_they_say_so() -> None:
    exact = lw.simulate(lifted().with_parameters(friction=[1e-3, 0]), seconds=0.1, dt=1e-3)
    assert np.abs(exact.q).max() < 1e-9
    held = lw.simulate(lifted(exact=True), seconds=0.1, dt=1e-3, contact="soft")
    assert np.abs(held.q).max() < 1e-9
    with pytest.warns(lw.errors.ModelWarning, match="constraints 'lock' of 'weights' are exact in these steps"):
        lw.simulate(lifted(exact=False), seconds=0.01, integrator="rk4")
    with pytest.warns(lw.errors.ModelWarning, match="softness of constraint 'lock'"):
        lw.Stepper(lifted(exact=False)).compile()
    with pytest.raises(lw.errors.ModelError, match="holds exactly"):
        lw.Drive("left", lambda t: t, exact=False)


CUP = """<mujoco><option timestep=".002" cone="elliptic" jacobian="dense" tolerance="0" iterations="300"/><worldbody>
  <geom type="plane" size="1 1 1" pos="0 0 1" euler="180 0 0"/><body name="cup" pos="0 0 .9502"><freejoint/>
  <geom type="box" size=".1 .1 .05" mass=".5"/></body></worldbody>
  <actuator><adhesion name="suck" body="cup" ctrlrange="0 1" gain="12"/></actuator></mujoco>"""


@pytest.mark.parametrize("command", [0.3, 0.6, 3.0])
@pytest.mark.parametrize("saved", [False, True], ids=["file", "saved"])
def test_an_adhesive_actuator_holds_as_in_mujoco(command: float, saved: bool) -> None:
    """A suction cup below a ceiling: with soft contacts its motion, with hard ones whether it falls."""
    m, robot = mujoco.MjModel.from_xml_string(CUP), lw.loads(CUP)
    robot = lw.loads(robot.to_text("mjcf")) if saved else robot
    d = mujoco.MjData(m)
    d.ctrl[:] = command
    mujoco.mj_step(m, d, 100)
    q, v = robot.poses["qpos0"], np.zeros(6)
    soft = lw.Stepper(robot, 0.002, contact="soft")(q, v, commands=[command], steps=100)
    np.testing.assert_allclose(soft.q[:3], d.qpos[:3], atol=1e-9)
    touching = np.array([0, 0, 0.95, 0, 0, 0, 1])
    hard = lw.Stepper(robot, 0.002)(touching, v, commands=[command], steps=100)
    assert (hard.q[2] > 0.94) == (min(command, 1.0) * 12 > 0.5 * 9.81)
    if command > 0.5:
        np.testing.assert_allclose(hard.contacts.forces[:, 2].sum(), -0.5 * 9.81, rtol=1e-6)


def test_an_adhesive_actuator_is_on_a_body_that_moves() -> None:
    with pytest.raises(lw.errors.ModelError, match="body 'cop'"):
        lw.loads(CUP.replace('body="cup"', 'body="cop"'))
    robot = lw.loads(CUP)
    assert robot.actuators[0].body == "cup"
    with pytest.warns(lw.errors.ModelWarning, match="adhesion by actuator 'suck'"):
        lw.Stepper(robot).by_slots  # noqa: B018


def test_a_soft_step_is_that_of_simulations() -> None:
    robot, q = box_on_plane()
    step = lw.contact.ContactStep(robot, 1e-3, contact="soft")
    q[2] -= 1e-4
    v = np.array([0.3, 0.0, -0.1, 0.0, 0.2, 0.0])
    s = step(q, v)
    motion = lw.simulate(robot, q, v, seconds=1e-3, dt=1e-3, contact="soft")
    np.testing.assert_allclose(motion.v[-1], s.v, atol=1e-12)
    assert s.forces[:, 2].max() > 0
    many = lw.rollouts(robot, np.tile(q, (3, 1)), np.tile(v, (3, 1)), seconds=1e-3, dt=1e-3, contact="soft")
    np.testing.assert_allclose(many.v[-1], np.tile(s.v, (3, 1)), atol=1e-9)
    batch = lw.Simulation(robot, 2, dt=1e-3, q=q, v=v, contact="soft")
    batch.step()
    np.testing.assert_allclose(batch.v, np.tile(s.v, (2, 1)), atol=1e-9)


def test_a_soft_contact_sinks_by_what_its_numbers_say() -> None:
    """At rest the reference is the weight: ``R f = k d r`` of each of four corners."""
    robot, q = box_on_plane()
    motion = lw.simulate(robot, q, seconds=2.0, dt=2e-3, contact="soft")
    depth = -motion.contacts[robot.contacts[0].name].gaps[-1]
    R = (1 - 0.9) / 0.9  # d at the surface, D = 1 / mass
    expected = R * (9.81 / 4) * (0.95 * 0.02) ** 2 / 0.9
    np.testing.assert_allclose(depth, expected, rtol=0.05)  # d rises with the depth
    assert np.abs(motion.v[-1]).max() < 1e-9


def test_soft_contacts_refuse_what_they_do_not_have() -> None:
    robot, q = box_on_plane()
    step = lw.Stepper(robot, 1e-3, contact="soft")
    with pytest.raises(UnsupportedFeature, match="native code"):
        step.derivatives(q, np.zeros(6), np.zeros(6))
    with pytest.raises(InputError, match="'soft' or None"):
        lw.Stepper(robot, 1e-3, contact="stiff")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="'hard' or 'soft'"):
        lw.contact.ContactStep(robot, contact="stiff")  # type: ignore[arg-type]
    with pytest.raises(UnsupportedFeature, match="native code"):
        lw.contact.ContactStep(robot, contact="soft").by_slots  # noqa: B018
