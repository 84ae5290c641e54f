# SPDX-License-Identifier: BSD-3-Clause
"""Rotors and dampers of actuators, and inertia of tendons and free joints, move a model as in MuJoCo."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest

import linkwork as lw
from linkwork.peers import mujoco_map
from tests.support.states import assert_close

BODIES = """<worldbody>
  <body name="base" pos="0 0 1">{root}<geom size=".1" pos=".05 .02 .03"/>
    <body pos=".3 0 .1"><joint name="h" axis="0 1 .3" damping=".1"/><geom size=".06" pos=".2 0 .1"/><site name="s"/>
      <body pos=".2 0 .2"><joint name="x" type="slide" axis="1 0 .2"/><geom size=".05" pos=".1 0 0"/></body></body>
    <body pos="0 .3 0"><joint name="b" type="ball"/><geom size=".06" pos="0 .1 .02"/></body></body>
  <site name="anchor" pos=".5 .2 2"/></worldbody>
<tendon><fixed name="one" armature="{tendon}"><joint joint="x" coef="-2"/></fixed>
  <fixed name="two"><joint joint="h" coef=".5"/><joint joint="x" coef="2"/></fixed>
  <spatial name="far"><site site="anchor"/><site site="s"/></spatial></tendon>"""
FIXED, FREE = '<joint name="root" axis="0 0 1"/>', '<joint name="root" type="free" armature="{0}" damping=".05"/>'
CASES = {
    "free joint": (FREE.format(0.7), 0.0, ""),
    "free joint with a rotor": (FREE.format(0.2), 0.0, '<motor joint="root" gear="0 0 0 0 1 0" armature=".3"/>'),
    "rotor with an own gear": (FREE.format(0.0), 0.0, '<motor joint="root" gear="2 0 0 0 0 1" armature=".3"/>'),
    "ball": (FIXED, 0.0, '<motor joint="b" gear="2 1 3" armature=".03" damping=".02"/>'),
    "ball in its parent": (FIXED, 0.0, '<motor jointinparent="b" gear="2 1 3" armature=".03" damping=".02"/>'),
    "tendon": (FIXED, 0.4, ""),
    "rotor on a tendon": (FIXED, 0.1, '<motor tendon="one" gear="3" armature=".2" damping=".1"/>'),
    "polynomial": (FIXED, 0.0, '<motor joint="h" gear="3" damping=".01 .02 .03"/><motor joint="h" damping=".1"/>'),
    "polynomial of a tendon": (FIXED, 0.0, '<motor tendon="two" gear="3" damping=".01 .02 .03"/>'),
    "polynomial of a spatial tendon": (FIXED, 0.0, '<motor tendon="far" gear="2" damping=".1 .02 .03"/>'),
    "switched off": ("damper", 0.0, '<motor joint="h" damping=".1 .2"/>'),
}


@pytest.mark.parametrize("case", CASES)
def test_motion_is_mujocos(case: str) -> None:
    root, tendon, actuators = CASES[case]
    off = f'{root}="disable"' if root == "damper" else ""
    root = FIXED if off else root
    text = f"""<mujoco><option><flag contact="disable" {off}/></option>{BODIES.format(root=root, tendon=tendon)}
<actuator>{actuators}</actuator></mujoco>"""
    robot, model = lw.loads(text, "mjcf"), mujoco.MjModel.from_xml_string(text)
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, 1e-3
    data, convert, rng = mujoco.MjData(model), mujoco_map(robot), np.random.default_rng(2)
    mujoco.mj_integratePos(model, data.qpos, 0.5 * rng.normal(size=model.nv), 1.0)
    data.qvel[:], data.ctrl[:] = 2 * rng.normal(size=model.nv), rng.normal(size=model.nu)
    q = convert.from_qpos(data.qpos)
    v = convert.from_qvel(q, data.qvel)
    mujoco.mj_forward(model, data)
    full = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, full)
    T = convert.velocity_matrix(q)
    assert_close(lw.mass_matrix(robot, q), T.T @ full @ T, 1e-12)
    given: dict[str, Any] = {"commands": np.array(data.ctrl)} if model.nu else {}
    step = lw.Stepper(robot, dt=1e-3, integrator="rk4")
    for _ in range(100):
        mujoco.mj_step(model, data)
        result = step(q, v, **given)
        q, v = result.q, result.v
    assert_close(q, convert.from_qpos(data.qpos), 1e-10)
    assert_close(v, convert.from_qvel(q, data.qvel), 1e-10)


def test_sensors_of_mass_are_refused_beside_mass_without_weight() -> None:
    sensors = '<sensor><subtreecom name="c" body="base"/><gyro name="g" site="s"/></sensor>'
    robot = lw.loads(f"<mujoco>{BODIES.format(root=FREE.format(0.7), tendon=0)}{sensors}</mujoco>", "mjcf")
    assert [bool(sensor.refused) for sensor in robot.sensors] == [True, False]
    assert "armature of a free joint" in robot.sensors[0].refused
