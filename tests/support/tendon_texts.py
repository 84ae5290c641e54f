# SPDX-License-Identifier: BSD-3-Clause
"""Models with tendons and actuators that have activations, for tests beside MuJoCo."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from linkwork.mechanism import Mechanism
from linkwork.parsing.mjcf import mujoco_map
from tests.support.states import Floats

WORLD = """<worldbody>
  <site name="w0" pos="0.3 0.1 1.2"/><site name="w1" pos="-0.4 0.1 0.9"/>
  <body name="a" pos="0 0 1"><joint name="j0" axis="0 1 0" ref="10"/>
    <geom type="capsule" size="0.05" fromto="0 0 0 0.4 0 0"/><site name="a0" pos="0.2 0.05 0.03"/>
    <site name="a1" pos="0.35 0 0.03"/>
    <body name="b" pos="0.4 0 0"><joint name="j1" axis="0 0.3 1" stiffness="2" springref="20"/>
      <joint name="j2" type="slide" axis="1 0 0"/><geom type="capsule" size="0.04" fromto="0 0 0 0.3 0 0"/>
      <site name="b0" pos="0.1 0.02 0.05"/><site name="b" pos="0.3 0 0"/>
      <body name="c" pos="0.3 0 0"><joint name="ball" type="ball"/><geom type="box" size=".05 .04 .03" pos=".1 0 0"/>
        <site name="c0" pos="0.1 0.02 0.05"/></body></body></body>
  <body name="f" pos="0.3 0.5 1"><freejoint name="free"/><geom type="box" size="0.1 0.05 0.08"/>
    <site name="f0" pos="0.1 0.02 0.05"/><site name="f1" pos="-0.1 0.02 0.05"/></body>
</worldbody>"""
"""Joints of all kinds; a site has the name of a body."""

TENDONS = """<tendon>
  <spatial name="t0" stiffness="30" damping="0.7"><site site="w0"/><site site="a0"/><site site="a1"/><site site="b0"/>
    <site site="c0"/></spatial>
  <spatial name="t1" stiffness="20" springlength="0.1 0.3"><site site="w1"/><site site="b"/><pulley divisor="2"/>
    <site site="b"/><site site="f0"/><pulley divisor="3"/><site site="f0"/><site site="a0"/></spatial>
  <fixed name="t2" stiffness="5" damping="0.3" actuatorfrcrange="-2 3"><joint joint="j0" coef="0.7"/>
    <joint joint="j2" coef="-1.3"/></fixed>
  <spatial name="t3" actuatorfrcrange="-1 1.5"><site site="f1"/><site site="c0"/></spatial>
  <fixed name="t4"><joint joint="j0" coef="0.3"/><joint joint="j1" coef="1.1"/></fixed>
</tendon>"""

PULLING = """<actuator>
  <general name="m0" tendon="t0" gear="3" gainprm="2"/>
  <position name="p1" tendon="t1" kp="20" kv="1" gear="0.5" forcerange="-3 3"/>
  <motor name="m2" tendon="t2" gear="2"/>
  <general name="m3" tendon="t3" gaintype="affine" gainprm="1 .3 .2" biastype="affine" biasprm=".3 -.2 -.1"/>
  <motor name="m4" joint="j1"/>
  <motor name="m5" tendon="t2" gear="0.5" forcerange="-0.5 0.5"/>
</actuator>"""


def text(more: str = "", integrator: str = "Euler") -> str:
    """A model with all tendons."""
    option = (
        f'<option timestep="0.002" integrator="{integrator}"><flag contact="disable" eulerdamp="disable"/></option>'
    )
    return f"<mujoco>{option}{WORLD}{TENDONS}{more}</mujoco>"


class Twin:
    """A robot and MuJoCo's model of the same text, at random states."""

    def __init__(self, robot: Mechanism, model: Any, states: int, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.map, self.model, self.robot = mujoco_map(robot), model, robot
        self.q = robot.random(rng, states)
        self.v = rng.normal(size=(states, robot.nv))
        self.u = 3 * rng.normal(size=(states, model.nu))
        self.data = [self._at(q, v, u) for q, v, u in zip(self.q, self.v, self.u, strict=True)]

    def _at(self, q: Floats, v: Floats, u: Floats) -> Any:
        data = mujoco.MjData(self.model)
        data.qpos[:], data.qvel[:], data.ctrl[:] = self.map.to_qpos(q), self.map.to_qvel(q, v), u
        mujoco.mj_forward(self.model, data)
        return data

    def each(self, name: str) -> Floats:
        """An array of all states."""
        return np.array([getattr(data, name) for data in self.data])

    def torques(self, name: str) -> Floats:
        """Generalized forces of all states, in our convention."""
        return np.array([self.map.from_qfrc(q, f) for q, f in zip(self.q, self.each(name), strict=True)])

    def tendon_jacobians(self) -> Floats:
        """``ten_J`` of all states, in our convention."""
        m, found = self.model, []
        for q, data in zip(self.q, self.data, strict=True):
            J = np.zeros((m.ntendon, m.nv))
            where = m if hasattr(m, "ten_J_rownnz") else data
            index = (where.ten_J_rownnz, where.ten_J_rowadr, where.ten_J_colind.ravel())
            mujoco.mju_sparse2dense(J, data.ten_J.ravel(), *index)
            found.append(J @ self.map.velocity_matrix(q))
        return np.array(found)
