# SPDX-License-Identifier: BSD-3-Clause
"""Texts of models for the tests of MJCF, and how such a model is compared with MuJoCo's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.mechanism import Mechanism
from tests.support.mujoco_twin import MujocoTwin, assert_same_rows
from tests.support.states import assert_close

AGREEMENT = 1e-10
"""Relative; both sides round at 1e-16."""

SOLID = '<inertial pos="0.1 -0.05 0.2" mass="1.5" diaginertia="0.02 0.03 0.025" quat="0.9 0.1 -0.2 0.3"/>'


def model(world: str, before: str = "", after: str = "", angle: str = "radian") -> str:
    """A model, its sections on lines of their own."""
    return (
        f'<mujoco model="m"><compiler angle="{angle}"/><option gravity="0.3 -0.2 -9.81"/>\n{before}\n'
        f"<worldbody>\n{world}\n</worldbody>\n{after}\n</mujoco>"
    )


def body(inside: str, name: str = "", more: str = "") -> str:
    """A body with mass."""
    called = f'name="{name}" ' if name else ""
    return f"<body {called}{more}>{SOLID}{inside}</body>"


def chain(*joints: str) -> str:
    """Bodies ``b0``, ``b1``, ... in each other, each with its own joints."""
    text = ""
    for k, joint in reversed(list(enumerate(joints))):
        text = body(joint + text, f"b{k}", f'pos="0.1 {0.2 + 0.1 * k} -0.3" quat="0.8 0.1 {0.1 * k} -0.2"')
    return text


HINGES = chain(*(f'<joint name="j{k}" axis="{a}"/>' for k, a in enumerate(("0 0 1", "0 1 0", "1 0 0.5", "1 2 3"))))


def agrees(robot: Mechanism, source: str | Path, rel: float = AGREEMENT) -> MujocoTwin:
    """Mass matrix and bias force are MuJoCo's as drawn and at random states; so are constraints."""
    twin = MujocoTwin(robot, source)
    assert (robot.nq, robot.nv) == (twin.model.nq, twin.model.nv)
    twin.check_configuration(robot.poses["qpos0"], twin.model.qpos0)
    rng = np.random.default_rng(3)
    for k in range(6 if robot.nv else 0):
        q = robot.poses["qpos0"] if k == 0 else robot.random(rng)
        v = rng.normal(size=robot.nv)
        M, bias = twin.mass_matrix(q), twin.bias_forces(q, v)
        size = float(np.abs(M).max())  # there may be no bias but for round-off
        assert_close(lw.mass_matrix(robot, q), M, rel)
        assert_close(lw.bias_forces(robot, q, v), bias, rel, size)
        if robot.nc:
            bound = [robot.row_slice(c.name) for c in robot.constraints if c.enabled]
            rows = np.concatenate([np.arange(at.start, at.stop) for at in bound]) if bound else np.zeros(0, int)
            theirs, _, _ = twin.equality(q)
            assert_same_rows(lw.constraint_jacobian(robot, q)[rows], theirs, rel)
    return twin


def both(text: str, rel: float = AGREEMENT) -> tuple[Mechanism, Any]:
    """A model read here and in MuJoCo, which agree."""
    robot = lw.loads(text, "mjcf", inertias="check")
    return robot, agrees(robot, text, rel).model


SITES = chain(
    '<joint type="ball"/>',
    '<joint name="x" axis="0 1 0" ref="0.3"/>',
    '<joint/><site name="t" pos="-0.1 0.2 0.1" zaxis="1 1 0"/>',
) + body(
    '<joint name="y" type="slide" axis="1 1 0" ref="0.2" pos="0.1 0 0"/>'
    '<site name="s" pos="0.1 0.2 0.3" euler="1 0 0"/>' + body('<joint name="z" axis="1 0 0" ref="-0.4"/>', "d"),
    "c",
    'pos="1 0 0" euler="0.3 0.2 0.1"',
)
"""Two chains ``b0 b1 b2`` and ``c d``, with scalar joints ``x y z`` and sites ``s t``."""

EQUALITIES = {
    "connect": '<connect name="e" body1="b1" body2="d" anchor="0.1 0.2 0.3"/>',
    "connect to the world": '<connect name="e" body1="b2" anchor="0.1 0.2 0.3"/>',
    "connect to the world by name": '<connect name="e" body1="world" body2="b2" anchor="0.1 0.2 0.3"/>',
    "connect sites": '<connect name="e" site1="s" site2="t"/>',
    "weld": '<weld name="e" body1="b1" body2="d"/>',
    "weld to the world": '<weld name="e" body1="b2"/>',
    "weld with an anchor": '<weld name="e" body1="b1" body2="d" anchor="0.1 0.2 0.3" torquescale="0.1"/>',
    "weld with a pose": '<weld name="e" body1="b1" body2="d" relpose="0.1 0.2 0.3 1 0.2 0 0.3"/>',
    "weld with both": '<weld name="e" body1="b1" body2="d" relpose="0.1 0.2 0.3 1 0.2 0 0.3" anchor="0.3 0.2 0.1"/>',
    "weld with the default pose": '<weld name="e" body1="b1" body2="d" relpose="0 1 0 0 0 0 0" anchor="1 0 0"/>',
    "weld sites": '<weld name="e" site1="s" site2="t"/>',
    "joints": '<joint name="e" joint1="x" joint2="y"/>',
    "joint": '<joint name="e" joint1="x" polycoef="0.3"/>',
    "polynomial": '<joint name="e" joint1="z" joint2="y" polycoef="0.1 0.2 -0.3 0.4 0.5"/>',
    "tendon": '<tendon name="e" tendon1="two"/>',
    "tendons": '<tendon name="e" tendon1="two" tendon2="one" polycoef="0.1 2"/>',
    "tendons of the same joint": '<tendon name="e" tendon1="two" tendon2="other" polycoef="0.1 2"/>',
    "polynomial of a tendon": '<tendon name="e" tendon1="two" tendon2="one" polycoef="0.1 0.2 -0.3 0.4 0.5"/>',
    "polynomial of a tendon of the same joint": '<tendon name="e" tendon1="two" tendon2="same" polycoef="0 1 2"/>',
}
TENDONS = """<tendon>
  <fixed name="one"><joint joint="z" coef="-1.5"/></fixed><fixed name="same"><joint joint="x" coef="2"/></fixed>
  <fixed name="two"><joint joint="x" coef="0.5"/><joint joint="y" coef="2"/></fixed>
  <fixed name="other"><joint joint="x" coef="0.7"/><joint joint="z" coef="0.1"/></fixed>
  <spatial name="far" stiffness="3"><site site="s"/><site site="t"/></spatial>
</tendon>"""


def equality(text: str) -> str:
    """The two chains with tendons and some equalities."""
    return model(SITES, "", f"{TENDONS}<equality>{text}</equality>")
