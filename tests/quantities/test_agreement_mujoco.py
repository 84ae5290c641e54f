# SPDX-License-Identifier: BSD-3-Clause
"""linkwork and MuJoCo compute the same numbers on mechanisms of hinges, slides, balls and free bodies.

A mechanism is written twice, as MJCF and with the builder. MuJoCo's ball and free joints differ in layout: quaternions
are ``w x y z``, and the linear velocity of a free body is in the world's axes. `Peer` translates.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.mechanism import Mechanism
from linkwork.model.rotations import quaternion_matrix
from tests.support.states import Floats, State, assert_close, random_state

mujoco = pytest.importorskip("mujoco")

AGREEMENT = 1e-10
"""Relative. MuJoCo rounds at 1e-16 and its sparse factor of M loses the condition number, below 1e4 here."""

HEAD = '<mujoco><compiler angle="radian"/><option gravity="0.3 -0.2 -9.81"/><worldbody>'
TAIL = "</worldbody></mujoco>"
GRAVITY = (0.3, -0.2, -9.81)


def inertial(mass: float, com: str, diagonal: str) -> str:
    return f'<inertial mass="{mass}" pos="{com}" diaginertia="{diagonal}"/>'


def numbers(text: str) -> list[float]:
    return [float(x) for x in text.split()]


class Bodies:
    """One mechanism, told to both sides."""

    def __init__(self) -> None:
        self.build = lw.Builder("peer", gravity=GRAVITY)
        self.xml = HEAD
        self.open = 0

    def add(
        self,
        name: str,
        parent: str,
        joint: lw.joints.Joint,
        mjcf: str,
        at: str = "0.1 -0.2 0.3",
        quat: str = "1 0 0 0",
        armature: float = 0.0,
    ) -> Bodies:
        """A body inside the one added before (a chain); ``mjcf`` is its joint element without armature."""
        mass, com, diagonal = 1.5 + 0.25 * self.open, "0.1 0.05 -0.2", "0.2 0.3 0.25"
        w, x, y, z = numbers(quat)
        place = lw.Placement.from_quaternion(x, y, z, w, position=numbers(at))
        self.build.body(name, lw.Inertia(mass, numbers(com), numbers(diagonal)))
        self.build.joint(f"{name}_joint", joint, parent, name, place, armature=armature)
        self.xml += f'<body name="{name}" pos="{at}" quat="{quat}">{mjcf.format(armature=armature)}'
        self.xml += inertial(mass, com, diagonal)
        self.open += 1
        return self

    def done(self) -> tuple[Mechanism, str]:
        return self.build.build(), self.xml + "</body>" * self.open + TAIL


def hinge(axis: str) -> str:
    return f'<joint type="hinge" axis="{axis}" armature="{{armature}}"/>'


def slide(axis: str) -> str:
    return f'<joint type="slide" axis="{axis}" armature="{{armature}}"/>'


BALL = '<joint type="ball" armature="{armature}"/>'
FREE = "<freejoint/>"

MECHANISMS: dict[str, Callable[[], tuple[Mechanism, str]]] = {
    "hinges": lambda: (
        Bodies()
        .add("a", "world", lw.joints.Revolute((1, 2, 3)), hinge("1 2 3"), quat="0.9 0.1 0.2 0.3")
        .add("b", "a", lw.joints.Revolute("y"), hinge("0 1 0"), armature=0.3)
        .add("c", "b", lw.joints.Revolute("x"), hinge("1 0 0"), quat="0.5 0.5 0.5 0.5")
        .done()
    ),
    "slides": lambda: (
        Bodies()
        .add("a", "world", lw.joints.Prismatic((1, -1, 0)), slide("1 -1 0"), armature=0.2)
        .add("b", "a", lw.joints.Revolute("z"), hinge("0 0 1"))
        .add("c", "b", lw.joints.Prismatic("x"), slide("1 0 0"), quat="0.8 0 -0.6 0")
        .done()
    ),
    "balls": lambda: (
        Bodies()
        .add("a", "world", lw.joints.Spherical(), BALL, quat="0.7 -0.3 0.2 0.1")
        .add("b", "a", lw.joints.Spherical(), BALL, armature=0.4)
        .add("c", "b", lw.joints.Revolute("z"), hinge("0 0 1"))
        .done()
    ),
    "free": lambda: (
        Bodies()
        .add("a", "world", lw.joints.Free(), FREE, at="0 0 0")
        .add("b", "a", lw.joints.Spherical(), BALL, armature=0.1, quat="0.6 0.8 0 0")
        .add("c", "b", lw.joints.Prismatic((0, 1, 1)), slide("0 1 1"), armature=0.5)
        .add("d", "c", lw.joints.Revolute("x"), hinge("1 0 0"))
        .done()
    ),
}


class Peer:
    """A state in MuJoCo. With ``v_theirs = T v_ours``: forces obey ``tau_ours = T' tau_theirs``."""

    def __init__(self, robot: Mechanism, xml: str, s: State) -> None:
        self.model = mujoco.MjModel.from_xml_string(xml)
        self.data = mujoco.MjData(self.model)
        self.T = np.eye(robot.nv)
        self.drift = np.zeros(robot.nv)
        q = robot.normalize(s.q)
        for joint in robot.joints:
            in_q, in_v = robot.q_slice(joint.name), robot.v_slice(joint.name)
            if isinstance(joint.type, lw.joints.Spherical):
                q[in_q] = np.roll(q[in_q], 1)
            elif isinstance(joint.type, lw.joints.Free):
                R = quaternion_matrix(q[in_q][3:])
                self.T[in_v.start : in_v.start + 3, in_v.start : in_v.start + 3] = R
                linear, angular = s.v[in_v][:3], s.v[in_v][3:]
                self.drift[in_v.start : in_v.start + 3] = R @ np.cross(angular, linear)
                q[in_q][3:] = np.roll(q[in_q][3:], 1)
        self.data.qpos[:] = q
        self.data.qvel[:] = self.T @ s.v
        self.data.qfrc_applied[:] = np.linalg.solve(self.T.T, s.tau)
        mujoco.mj_forward(self.model, self.data)

    def mass_matrix(self) -> Floats:
        full = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, self.data, full)
        return self.T.T @ full @ self.T

    def forward_dynamics(self) -> Floats:
        """``a_theirs = T a_ours + drift``: the world's axes do not turn with the body."""
        return np.linalg.solve(self.T, np.array(self.data.qacc) - self.drift)

    def bias_forces(self) -> Floats:
        """What holds ``a_ours = 0``, that is ``a_theirs = drift``."""
        full = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, self.data, full)
        return self.T.T @ (np.array(self.data.qfrc_bias) + full @ self.drift)


OURS: dict[str, Callable[[Mechanism, State], Any]] = {
    "mass_matrix": lambda r, s: lw.mass_matrix(r, s.q),
    "bias_forces": lambda r, s: lw.bias_forces(r, s.q, s.v),
    "forward_dynamics": lambda r, s: lw.ForwardDynamics(r)(s.q, s.v, s.tau).acceleration,
}


@cache
def mechanism(name: str) -> tuple[Mechanism, str]:
    return MECHANISMS[name]()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("quantity", OURS)
@pytest.mark.parametrize("name", MECHANISMS)
def test_mechanisms_agree_with_mujoco(name: str, quantity: str, seed: int) -> None:
    robot, xml = mechanism(name)
    s = random_state(robot, seed)
    theirs = getattr(Peer(robot, xml, s), quantity)()
    assert_close(OURS[quantity](robot, s), theirs, AGREEMENT)
