# SPDX-License-Identifier: BSD-3-Clause
"""Sensors of single steps: what acted in the step, at the state before it, as MuJoCo's ``sensordata`` after a step."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import InputError
from linkwork.peers import mujoco_map

mujoco = pytest.importorskip("mujoco")

TEXT = """<mujoco><option timestep="0.002" integrator="Euler"/><worldbody>{floor}
<body name="a" pos="0 0 {height}">{joint}
<geom size=".1"/><site name="s" pos=".1 0 .2" euler="10 20 30"/><body pos=".3 0 0"><joint axis="0 1 0"/>
<geom size=".05" pos=".1 0 0"/></body></body></worldbody><sensor><accelerometer name="acc" site="s"/>
<gyro name="gyro" site="s"/><force name="force" site="s"/><torque name="torque" site="s"/></sensor></mujoco>"""


def test_sensors_of_a_step_are_mujocos() -> None:
    text = TEXT.format(floor="", height=1, joint='<joint type="ball"/>')
    theirs, robot = mujoco.MjModel.from_xml_string(text), lw.loads(text)
    state, across = mujoco.MjData(theirs), mujoco_map(robot)
    state.qvel[:] = np.linspace(-1, 1, theirs.nv)
    step = lw.Stepper(robot, dt=0.002)
    for _ in range(3):
        q = across.from_qpos(state.qpos)
        v = across.from_qvel(q, state.qvel)
        mujoco.mj_step(theirs, state)
        found = lw.sensors.sensor_data(robot, q, v, step(q, v))
        np.testing.assert_allclose(found.vector, state.sensordata, atol=1e-9)


def test_a_body_that_lies_on_the_ground_feels_its_weight() -> None:
    robot = lw.loads(TEXT.format(floor='<geom type="plane" size="1 1 1"/>', height=0.1, joint="<freejoint/>"))
    q, v = robot.poses["qpos0"], np.zeros(robot.nv)
    made = lw.Stepper(robot, dt=0.002)(q, v)
    felt = lw.sensors.sensor_data(robot, q, v, made)["acc"]
    a = (made.v - v) / 0.002
    assert np.linalg.norm(felt) < 30 and np.linalg.norm(a[:3]) < 20
    alone = lw.sensors.sensor_data(robot, q, v, lw.contact.ContactStep(robot, dt=0.002)(q, v))["acc"]
    np.testing.assert_allclose(felt, alone, atol=1e-6)


def test_several_steps_and_no_velocity_are_errors() -> None:
    robot = lw.loads(TEXT.format(floor="", height=1, joint="<freejoint/>"))
    q, v = robot.poses["qpos0"], np.zeros(robot.nv)
    with pytest.raises(InputError, match="one step of semi-implicit Euler"):
        lw.sensors.sensor_data(robot, q, v, lw.Stepper(robot, dt=0.002)(q, v, steps=3))
    with pytest.raises(InputError, match="give its velocity"):
        lw.sensors.sensor_data(robot, q, None, lw.Stepper(robot, dt=0.002)(q, v))
