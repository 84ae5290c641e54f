# SPDX-License-Identifier: BSD-3-Clause
"""Forces of a medium, springs of ball and free joints, and polynomial springs and dampers are MuJoCo's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import CannotSave, InputError
from linkwork.model.medium import Medium
from linkwork.peers import from_mujoco, mujoco_map

mujoco = pytest.importorskip("mujoco")

BODIES = """<body name="a" pos="0 0 1" euler="10 20 30">{joint}<geom type="box" size=".1 .2 .05"{fluid}/>
  <body pos=".2 0 0"><joint axis="0 1 0"/><geom type="capsule" size=".03" fromto="0 0 0 .2 .1 0"{fluid}/>
    <geom size=".02"{fluid}/>
    <body pos=".2 .1 0"><joint axis="1 0 0" type="slide"/><geom type="ellipsoid" size=".05 .1 .2"{fluid}/></body>
    <body pos="0 0 .1"><geom type="cylinder" size=".05 .1"{fluid}/></body></body></body>"""
JOINTS = ("<freejoint/>", '<joint type="ball"/>', "<joint/>")
MEDIA = ('density="1000"', 'viscosity="2"', 'density="1.2" viscosity=".1" wind="1 2 3"')
FLUIDS = ("", ' fluidshape="ellipsoid"', ' fluidshape="ellipsoid" fluidcoef=".3 .2 1 .5 .7"')

SPRINGS = {
    "ball": '<body><joint type="ball" stiffness="30" damping="2"/>'
    '<geom type="box" size=".1 .2 .05" pos=".1 0 0"/></body>',
    "free": '<body pos="1 2 3" euler="10 20 30"><joint type="free" stiffness="30" damping="2"/>'
    '<geom type="box" size=".1 .2 .05" pos=".1 0 0"/></body>',
    "polynomials": '<body><joint stiffness="3 2 1" damping=".2 .3 .4" springref="20"/>'
    '<joint axis="1 0 0" type="slide" stiffness="0 2" damping="0 0 .4"/><geom size=".1" pos=".1 0 0"/></body>',
}


def swimmer(joint: str, medium: str, fluid: str) -> str:
    bodies = BODIES.format(joint=joint, fluid=fluid)
    return f"<mujoco><option {medium}/><worldbody>{bodies}</worldbody></mujoco>"


def assert_passive_forces_agree(text: str, robot: lw.Mechanism | None = None) -> None:
    """Accelerations of MuJoCo without actuators need no torque here."""
    theirs = mujoco.MjModel.from_xml_string(text)
    state, ours = mujoco.MjData(theirs), robot or lw.loads(text)
    across, inverse = mujoco_map(ours), lw.InverseDynamics(ours)
    rng = np.random.default_rng(2)
    for _ in range(3):
        state.qpos[:] = theirs.qpos0
        mujoco.mj_integratePos(theirs, state.qpos, 0.5 * rng.standard_normal(theirs.nv), 1)
        state.qvel[:] = rng.standard_normal(theirs.nv)
        mujoco.mj_forward(theirs, state)
        q = across.from_qpos(state.qpos)
        v = across.from_qvel(q, state.qvel)
        tau = np.asarray(inverse(q, v, across.from_qacc(q, v, state.qacc_smooth)))
        np.testing.assert_allclose(tau, 0.0, atol=1e-11 * (1 + np.abs(state.qfrc_passive).max()))


@pytest.mark.parametrize("fluid", FLUIDS)
@pytest.mark.parametrize("medium", MEDIA)
@pytest.mark.parametrize("joint", JOINTS)
def test_forces_of_a_medium_are_mujocos(joint: str, medium: str, fluid: str) -> None:
    assert_passive_forces_agree(swimmer(joint, medium, fluid))


@pytest.mark.parametrize("fluid", FLUIDS)
def test_from_mujoco_keeps_the_medium(fluid: str) -> None:
    text = swimmer("<freejoint/>", MEDIA[2], fluid)
    assert_passive_forces_agree(text, from_mujoco(mujoco.MjModel.from_xml_string(text)))


@pytest.mark.parametrize("case", SPRINGS)
def test_springs_of_all_joints_are_mujocos(case: str) -> None:
    assert_passive_forces_agree(f"<mujoco><worldbody>{SPRINGS[case]}</worldbody></mujoco>")


@pytest.mark.parametrize("text", [swimmer("<joint/>", MEDIA[0], fluid) for fluid in FLUIDS[:2]])
def test_motion_in_water_is_mujocos(text: str) -> None:
    theirs = mujoco.MjModel.from_xml_string(text.replace("<option ", '<option integrator="Euler" timestep="0.001" '))
    state, robot = mujoco.MjData(theirs), lw.loads(text, contacts=False)
    state.qvel[:] = np.random.default_rng(0).standard_normal(theirs.nv)
    across = mujoco_map(robot)
    q = across.from_qpos(state.qpos)
    run = lw.simulate(robot, q, across.from_qvel(q, state.qvel), seconds=0.1, dt=0.001)
    for _ in range(100):
        mujoco.mj_step(theirs, state)
    np.testing.assert_allclose(across.to_qpos(run.q[-1]), state.qpos, atol=1e-9)


def test_without_passive_forces_nothing_pushes() -> None:
    robot = lw.loads(swimmer("<freejoint/>", MEDIA[0], ""), contacts=False).with_gravity((0, 0, 0))
    alone = replace(robot, medium=Medium())
    v = np.ones(robot.nv)
    runs = [
        lw.simulate(robot, robot.poses["qpos0"], v, seconds=0.05, dt=0.001, passive=False),
        lw.simulate(alone, robot.poses["qpos0"], v, seconds=0.05, dt=0.001),
        lw.simulate(robot, robot.poses["qpos0"], v, seconds=0.05, dt=0.001),
    ]
    np.testing.assert_allclose(runs[0].q[-1], runs[1].q[-1], atol=1e-14)
    energy = [run.v[-1] @ lw.mass_matrix(robot, run.q[-1]) @ run.v[-1] for run in runs[1:]]
    assert energy[1] < 0.9 * energy[0]


def test_a_medium_may_be_ignored() -> None:
    assert not lw.loads(swimmer("<freejoint/>", MEDIA[0], ""), medium="ignore").medium


def test_a_similar_swimmer_moves_alike() -> None:
    """Scaled, and in the mirror: lengths, masses and times of the medium, too."""
    robot = lw.loads(swimmer("<freejoint/>", MEDIA[2], FLUIDS[2]), contacts=False)
    v = np.linspace(-1, 1, robot.nv)
    run = lw.simulate(robot, robot.poses["qpos0"], v, seconds=0.05, dt=0.001)
    large = robot.scaled(length=2.0, mass=3.0, time=1.5)
    unit = np.array([2.0] * 3 + [1.0] * 4 + [1.0, 2.0])
    rate = np.array([2.0] * 3 + [1.0] * 3 + [1.0, 2.0]) / 1.5
    other = lw.simulate(large, unit * robot.poses["qpos0"], rate * v, seconds=0.075, dt=0.0015)
    np.testing.assert_allclose(other.q[-1], unit * run.q[-1], atol=1e-9)


def test_media_must_agree_in_a_scene_and_are_not_saved() -> None:
    robot = lw.loads(swimmer("<freejoint/>", MEDIA[0], ""))
    assert lw.compose({"a": robot, "b": robot}).medium == robot.medium
    with pytest.raises(InputError, match="with_medium"):
        lw.compose({"a": robot, "b": robot.with_medium()})
    with pytest.raises(CannotSave, match="air or water"):
        robot.to_text("mjcf")


@pytest.mark.parametrize("joint", ['springdamper=".3 .7"', 'type="ball" springdamper=".3 1.2"'])
def test_springs_by_time_constants_are_mujocos(joint: str) -> None:
    text = (
        '<mujoco><worldbody><body euler="10 20 30"><joint name="j" '
        + joint
        + '/><geom type="box" size=".1 .2 .05" pos=".1 0 0"/><body pos=".2 0 0"><joint/><geom size=".1" pos="0 .1 0"/>'
        "</body></body></worldbody></mujoco>"
    )
    theirs, robot = mujoco.MjModel.from_xml_string(text), lw.loads(text)
    np.testing.assert_allclose(robot.damping, theirs.dof_damping, rtol=1e-12)
    np.testing.assert_allclose(robot.joint("j").stiffness[0], theirs.jnt_stiffness[0], rtol=1e-12)
