# SPDX-License-Identifier: BSD-3-Clause
"""MJCF texts with sensors of every type that is computed, and MuJoCo's values of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.mechanism import Mechanism
from tests.support.states import Floats

INERTIAL = ("accelerometer", "velocimeter", "gyro", "force", "torque", "magnetometer")
POSES = ("framepos", "framequat", "framexaxis", "frameyaxis", "framezaxis", "framelinvel", "frameangvel")
SUBTREES = ("subtreecom", "subtreelinvel", "subtreeangmom")

VOLUMES = {
    "sphere": ".15",
    "box": ".12 .12 .12",
    "ellipsoid": ".2 .12 .1",
    "capsule": ".05 .1",
    "cylinder": ".11 .12",
}

ZONES = "".join(f'<site name="zone {v}" type="{v}" size=".3 .2 .25" pos=".3 .3 .3"/>' for v in VOLUMES)

BODIES = f"""
<body name="plinth" pos=".3 .1 0">
  <geom type="box" size=".2 .1 .05" mass="3"/>
  <site name="plinth" pos=".1 0 .2" euler=".1 .2 .3"/>
  <body name="post" pos="0 0 .3">
    <geom type="box" size=".05 .1 .2" mass="2"/>
    <joint name="post" type="slide" axis="0 .6 .8" range="-.2 .3" stiffness="20" springref=".1" margin=".01"/>
    <site name="post" pos=".1 0 .2"/>
  </body>
</body>
<body name="base" pos="1 2 3" quat=".8 .1 -.3 .4">
  <freejoint name="root"/>
  <inertial mass="5" pos=".1 .02 .03" diaginertia=".1 .2 .25" quat=".9 .1 .2 .3"/>
  <geom name="shell" type="capsule" fromto="0 0 0 .1 .2 .3" size=".05"/>
  <camera name="eye" pos=".1 .2 .3" euler=".1 .2 .3"/>
  <site name="imu" pos=".1 -.2 .3" euler=".3 -.2 .5"/>{ZONES}
  <body name="arm" pos=".2 .1 -.1" euler=".2 .3 .4">
    <joint name="hinge" axis="1 2 3" pos=".01 .02 .03" range="-.5 .5" ref=".2" armature=".01" damping=".2"/>
    <inertial mass="2" pos=".05 0 .1" fullinertia=".02 .03 .04 .001 -.002 .003"/>
    <site name="arm" pos=".1 .1 0"/>
    <body name="flange" pos=".1 .2 .3" euler=".3 .1 -.6">
      <geom name="plate" type="box" size=".02 .03 .04" pos=".01 .02 .03" euler=".1 .1 .1"/>
      <site name="wrist" pos=".02 .01 .03" euler=".2 -.7 .4"/>
      <body name="tool" pos="0 .1 .05" quat=".6 0 .8 0">
        <geom type="sphere" size=".03"/>
        <site name="tool_site" pos=".1 .1 0"/>
        <body name="fist" pos=".05 .05 .1">
          <joint name="ball" type="ball" damping=".1"/>
          <geom type="box" size=".05 .02 .01" pos="0 .05 0"/>
          <site name="tip" pos="0 .1 0" euler="1 0 0"/>
        </body>
      </body>
    </body>
    <body name="two" pos="-.1 .05 .02">
      <joint name="x" type="slide" axis="1 0 0"/>
      <joint name="y" type="hinge" axis="0 1 1"/>
      <geom type="capsule" size=".03 .1"/>
      <site name="pair" pos=".02 0 .01" euler=".5 .2 .1"/>
    </body>
  </body>
</body>
"""

OTHERS = """
<jointpos name="jointpos" joint="hinge"/>
<jointvel name="jointvel" joint="x"/>
<ballquat name="ballquat" joint="ball"/>
<ballangvel name="ballangvel" joint="ball"/>
<jointlimitpos name="jointlimitpos" joint="hinge"/>
<jointlimitvel name="jointlimitvel" joint="hinge"/>
<jointlimitfrc name="jointlimitfrc" joint="hinge"/>
<jointlimitpos name="with margin" joint="post"/>
<jointactuatorfrc name="jointactuatorfrc" joint="hinge"/>
<actuatorpos name="actuatorpos" actuator="motor"/>
<actuatorvel name="actuatorvel" actuator="servo"/>
<actuatorfrc name="actuatorfrc" actuator="servo"/>
<actuatorfrc name="clamped" actuator="motor" cutoff=".5" noise=".1"/>
<gyro name="clamped gyro" site="imu" cutoff=".6"/>
<actuatorpos name="actuatorpos of a tendon" actuator="winch"/>
<actuatorvel name="actuatorvel of a tendon" actuator="winch"/>
<actuatorfrc name="actuatorfrc of a filter" actuator="slow"/>
<tendonpos name="tendonpos" tendon="cable"/>
<tendonvel name="tendonvel" tendon="cable"/>
<tendonpos name="fixed tendonpos" tendon="sum"/>
<tendonlimitpos name="tendonlimitpos" tendon="sum"/>
<tendonlimitvel name="tendonlimitvel" tendon="sum"/>
<tendonactuatorfrc name="tendonactuatorfrc" tendon="cable"/>
<tendonactuatorfrc name="fixed tendonactuatorfrc" tendon="sum"/>
<e_potential name="e_potential"/>
<e_kinetic name="e_kinetic"/>
<clock name="clock"/>
<rangefinder name="rangefinder" site="tip"/>
<rangefinder name="rangefinder plinth" site="plinth" data="dist normal"/>
"""


def every_type() -> str:
    """A model with a free base, joints of all kinds, bodies that are fixed to others and to the world."""
    sensors = [f'<{t} name="{t} {s}" site="{s}"/>' for t in INERTIAL for s in ("imu", "wrist", "tip", "pair", "plinth")]
    things = {"tip": "site", "tool": "xbody", "base": "body", "shell": "geom", "eye": "camera", "flange": "body"}
    for name, kind in things.items():
        on = f'objtype="{kind}" objname="{name}"'
        sensors += [f'<{t} name="{t} {name}" {on}/>' for t in (*POSES, "framelinacc", "frameangacc")]
        for reference, what in {"imu": "site", "two": "xbody", "eye": "camera"}.items():
            to = f'reftype="{what}" refname="{reference}"'
            sensors += [f'<{t} name="{t} {name} {reference}" {on} {to}/>' for t in POSES]
    sensors += [f'<insidesite name="inside {v}" site="zone {v}" objtype="site" objname="tip"/>' for v in VOLUMES]
    bodies = ("base", "arm", "flange", "fist", "two", "plinth", "post", "world")
    sensors += [f'<{t} name="{t} {body}" body="{body}"/>' for t in SUBTREES for body in bodies]
    return f"""<mujoco model="everything">
<compiler angle="radian"/>
<option gravity=".3 -.2 -9.7" magnetic=".1 .3 -.4" jacobian="dense"><flag contact="disable"/></option>
<worldbody>{BODIES}</worldbody>
<tendon>
  <fixed name="sum" range="-.1 .1"><joint joint="hinge" coef="1.5"/><joint joint="y" coef="-.7"/></fixed>
  <spatial name="cable" stiffness="30" springlength=".2 .3">
    <site site="post"/><site site="tip"/><site site="imu"/>
  </spatial>
  <spatial name="across" stiffness="50"><site site="arm"/><site site="tool_site"/><site site="plinth"/></spatial>
</tendon>
<actuator>
  <motor name="motor" joint="hinge" gear="3" ctrlrange="-1 1"/>
  <motor name="winch" tendon="cable" gear="2"/>
  <motor name="pull" tendon="sum" gear="-1"/>
  <general name="slow" joint="y" dyntype="filter" dynprm=".1" gainprm="3"/>
  <position name="servo" joint="x" kp="20" forcerange="-2 2"/>
  <motor name="twist" joint="ball" gear="1 2 3"/>
</actuator>
<sensor>{"".join(sensors)}{OTHERS}</sensor>
</mujoco>"""


def on_the_floor() -> str:
    """A box on the floor with two arms that a <connect> joins, and force and touch sensors."""
    zones = [
        f'<site name="{v}" type="{v}" size="{s}" pos=".02 .01 -.03" euler=".3 .2 .1"/>' for v, s in VOLUMES.items()
    ]
    forces = [
        f'<{t} name="{t} {s}" site="{s}"/>' for t in ("force", "torque") for s in ("body", "left", "end", "right")
    ]
    touch = [f'<touch name="{v}" site="{v}"/>' for v in VOLUMES]
    link = '<geom type="capsule" size=".02 .1" contype="0" conaffinity="0"/>'
    return f"""<mujoco>
<compiler angle="radian"/>
<option cone="elliptic"/>
<worldbody>
  <geom name="floor" type="plane" size="5 5 .1"/>
  <body name="box" pos="0 0 .1">
    <freejoint/>
    <geom name="box" type="box" size=".1 .1 .1"/>
    <site name="body" pos=".1 .02 .03" euler=".1 .2 .3"/>
    {"".join(zones)}
    <body name="l" pos=".15 0 .1">
      <joint name="left" axis="0 1 0"/>{link}
      <site name="left" pos="0 0 .05" euler="1 2 3"/>
      <body name="tip" pos="0 0 .1">
        <geom type="sphere" size=".03" contype="0" conaffinity="0"/>
        <site name="end" pos=".01 .02 .03" euler=".1 .5 .4"/>
        <site name="pin" pos="0 0 .05"/>
      </body>
    </body>
    <body name="r" pos="-.15 0 .1">
      <joint name="right" axis="0 1 0"/>{link}
      <site name="right" pos="0 0 .05" euler="1 2 3"/>
      <site name="hole" pos=".3 0 .15"/>
    </body>
  </body>
</worldbody>
<equality><connect site1="pin" site2="hole"/></equality>
<sensor>{"".join(forces)}{"".join(touch)}</sensor>
</mujoco>"""


def _limit_forces(data: Any) -> Floats:
    """Torques of joint limits: rows of type 3 of a dense Jacobian."""
    rows = data.efc_type == 3
    if not rows.any():
        return np.zeros_like(data.qvel)
    jacobian = data.efc_J.reshape(data.nefc, -1)
    return np.asarray(jacobian[rows].T @ data.efc_force[rows])


def inputs_of(robot: Mechanism, data: Any) -> dict[str, Floats]:
    """What MuJoCo knows of a state after ``mj_forward``, as sensors take it."""
    to = lw.peers.mujoco_map(robot)
    q = to.from_qpos(data.qpos)
    v = to.from_qvel(q, data.qvel)
    return {
        "q": q,
        "v": v,
        "a": to.from_qacc(q, v, data.qacc),
        "commands": np.concatenate([data.ctrl, data.act]),
        "limit_forces": to.from_qfrc(q, _limit_forces(data)),
        "constraint_forces": np.zeros(robot.nc),
        "time": np.array([data.time]),
    }


def values_of(model: Any, data: Any, names: Iterable[str]) -> dict[str, Floats]:
    """MuJoCo's values of sensors, by name."""
    return {name: data.sensor(name).data.copy() for name in names}
