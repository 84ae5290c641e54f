# SPDX-License-Identifier: BSD-3-Clause
"""Saved URDF in the parsers and the dynamics of others: Pinocchio, urdf_parser_py and yourdfpy, where they are."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from tests.support.robots import model_file

pytestmark = pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning")

ALL: Any = ("actuators", "armature", "constraints", "contacts", "damping", "friction", "gravity", "limits", "springs")
ZOO = ("four_bar", "jansen", "stewart", "delta", "humanoid", "quadruped_standing", "hand_and_cube", "swimmer")
FILES = ("digit/digit-v3", "booster_t1/T1_23dof_parallel", "cassie/cassie", "kangaroo/kangaroo", "panda/panda")


@cache
def saved(name: str) -> tuple[lw.Mechanism, str]:
    """A robot and the standard URDF that is saved of its tree."""
    if name in FILES:
        robot = lw.load(model_file(f"{name}_nomesh.xml"))
    else:
        made: Any = getattr(lw.zoo, name)()
        robot = made if isinstance(made, lw.Mechanism) else made[0]
    return robot, robot.to_text("urdf", drop=ALL)


every_robot = pytest.mark.parametrize("name", [*ZOO, *FILES])


@every_robot
def test_inverse_dynamics_of_pinocchio_are_those_of_the_robot(name: str) -> None:
    """Torques of random states and accelerations, bias forces among them; ball joints are three hinges in the file."""
    pin = pytest.importorskip("pinocchio")
    robot, text = saved(name)
    balls = any(isinstance(joint.type, lw.joints.Spherical | lw.joints.Universal) for joint in robot.joints)
    ours = lw.loads(text, inertias="trust") if balls or robot.gravity[2] != -9.81 else robot
    model, rng = pin.buildModelFromXML(text), np.random.default_rng(5)
    data, across = model.createData(), lw.peers.pinocchio_map(ours, model)
    for _ in range(3):
        q = ours.random(rng)
        v, a = rng.normal(size=(2, ours.nv))
        there = across.from_v(pin.rnea(model, data, across.to_q(q), across.to_v(v), across.to_v(a)))
        here = lw.mass_matrix(ours, q) @ a - ours.armature * a + lw.bias_forces(ours, q, v)
        np.testing.assert_allclose(there, here, rtol=0, atol=1e-13 * np.abs(here).max())


@every_robot
def test_other_parsers_read_it(name: str, tmp_path: Path) -> None:
    """All links and joints, without a complaint."""
    text = saved(name)[1]
    parser = pytest.importorskip("urdf_parser_py.urdf")
    read = parser.URDF.from_xml_string(text)
    assert (len(read.links), len(read.joints)) == (text.count("<link "), text.count("<parent "))
    yourdfpy = pytest.importorskip("yourdfpy")
    (tmp_path / "robot.urdf").write_text(text)
    other = yourdfpy.URDF.load(tmp_path / "robot.urdf", build_scene_graph=False, load_meshes=False)
    assert other.validate() and len(other.robot.links) == text.count("<link ")
