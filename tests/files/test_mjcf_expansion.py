# SPDX-License-Identifier: BSD-3-Clause
"""MJCF: <replicate>, <attach> and folders of included files mean what MuJoCo says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import InputError, ModelError, UnsupportedFeature
from linkwork.peers import mujoco_map

mujoco = pytest.importorskip("mujoco")

COPIES = """<mujoco><worldbody><body><joint name="first"/><geom size=".1"/></body>
<replicate count="3" offset=".3 .1 0" euler="10 20 30" sep="-"><body name="b" pos="1 0 0">
  <joint name="j" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/><site name="s" pos=".1 .2 .3"/>
  <replicate count="2" offset="0 0 .2"><body name="c"><joint name="k"/><geom size=".05" pos="0 .1 0"/></body>
  </replicate>
</body></replicate></worldbody>
<tendon><fixed name="t"><joint joint="j" coef="1"/><joint joint="first" coef="2"/></fixed></tendon>
<actuator><motor name="m" joint="j"/><motor name="other" joint="first"/><motor name="mk" joint="k"/>
  <motor name="mt" tendon="t"/></actuator>
<sensor><jointpos name="p" joint="j"/><framepos name="x" objtype="site" objname="s"/></sensor></mujoco>"""

ARM = """<mujoco><compiler angle="radian" eulerseq="XYZ"/>
<default><joint damping="2" range="-1 1"/><geom density="300"/>
  <default class="big"><geom size=".2 .3 .1" euler=".1 .2 .3" type="box"/></default></default>
<asset><mesh name="tet" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/><material name="red"/></asset>
<worldbody><body name="base" euler=".3 .4 .5" pos="0 0 1"><joint name="j1" axis="0 1 0"/><geom class="big"/>
  <geom type="mesh" mesh="tet" material="red"/>
  <body name="fore" pos=".3 0 0"><joint name="j2" axis="1 0 0"/>
    <geom type="capsule" fromto="0 0 0 .1 .2 .3" size=".05"/><site name="tip" pos=".1 .2 .3"/></body></body>
  <body name="stand"><joint name="j3"/><geom size=".1"/></body></worldbody>
<tendon><fixed name="t"><joint joint="j1" coef="1"/><joint joint="j2" coef="2"/></fixed></tendon>
<actuator><position name="a1" joint="j1" kp="3"/><motor name="a3" joint="j3"/></actuator>
<sensor><tendonpos name="tp" tendon="t"/></sensor></mujoco>"""

ROBOT = """<mujoco><default><geom density="5000"/></default><asset><model name="arm" file="parts/arm.xml"/></asset>
<worldbody><body name="torso" euler="0 0 40"><freejoint name="root"/><geom size=".3"/>
  <frame pos="1 0 0" euler="0 90 0"><attach model="arm" body="base" prefix="l_"/></frame>
  <frame pos="-1 0 0"><attach model="arm" body="base" prefix="r_"/></frame></body></worldbody></mujoco>"""


def assert_same(theirs: Any, ours: lw.Mechanism) -> None:
    """Names of joints, actuators, tendons and sensors, mass matrix, and places of sites."""
    for kind, count, found in (
        ("joint", theirs.njnt, ours.joints),
        ("actuator", theirs.nu, ours.actuators),
        ("tendon", theirs.ntendon, ours.tendons),
        ("sensor", theirs.nsensor, ours.sensors),
    ):
        assert [one.name for one in found] == [getattr(theirs, kind)(k).name for k in range(count)]
    state = mujoco.MjData(theirs)
    velocity = 0.3 * np.random.default_rng(0).standard_normal(theirs.nv)
    mujoco.mj_integratePos(theirs, state.qpos, velocity, 1)
    mujoco.mj_forward(theirs, state)
    M = np.zeros((theirs.nv, theirs.nv))
    mujoco.mj_fullM(theirs, state, M)
    q = mujoco_map(ours).from_qpos(state.qpos)
    T = mujoco_map(ours).velocity_matrix(q)
    np.testing.assert_allclose(lw.mass_matrix(ours, q), T.T @ M @ T, atol=1e-9 * np.abs(M).max())
    for k in range(theirs.nsite):
        at = lw.frame_placement(ours, q, theirs.site(k).name).position
        np.testing.assert_allclose(at, state.site_xpos[k], atol=1e-12)
    np.testing.assert_allclose(ours.damping, theirs.dof_damping)


def test_replicated_bodies_are_mujocos() -> None:
    assert_same(mujoco.MjModel.from_xml_string(COPIES), lw.loads(COPIES))


def write(folder: Path, robot: str = ROBOT, arm: str = ARM) -> Path:
    (folder / "parts").mkdir()
    (folder / "parts" / "arm.xml").write_text(arm)
    (folder / "robot.xml").write_text(robot)
    return folder / "robot.xml"


def test_attached_models_are_mujocos(tmp_path: Path) -> None:
    """Classes, assets, units of angles and what refers to the attached bodies come with them."""
    file = write(tmp_path)
    assert_same(mujoco.MjModel.from_xml_path(str(file)), lw.load(file))


@pytest.mark.parametrize(
    ("robot", "arm", "said"),
    [
        (ROBOT.replace('model="arm"', 'model="leg"'), ARM, "there is no <model> 'leg'"),
        (ROBOT.replace('body="base"', 'body="hand"'), ARM, "no body 'hand'"),
        (ROBOT, ARM.replace("<compiler ", '<compiler inertiafromgeom="true" '), "inertiafromgeom"),
        (ROBOT.replace("parts/", "../"), ARM, "there is no file"),
        (COPIES.replace('count="3"', 'count="0"'), ARM, "count is 0"),
        (COPIES.replace('count="3"', 'count="90000"').replace('count="2"', 'count="9"'), ARM, "more than 1000000"),
    ],
)
def test_what_cannot_be_copied_is_an_error(tmp_path: Path, robot: str, arm: str, said: str) -> None:
    with pytest.raises((ModelError, UnsupportedFeature), match=said):
        lw.load(write(tmp_path, robot, arm))


def test_keyframes_of_attached_models_are_left_out_with_a_warning(tmp_path: Path) -> None:
    file = write(tmp_path, arm=ARM.replace("</mujoco>", '<keyframe><key name="up" qpos="1 1 1"/></keyframe></mujoco>'))
    with pytest.warns(lw.errors.ModelWarning, match="keyframes of the attached model 'arm'"):
        assert list(lw.load(file).poses) == ["qpos0"]


def test_absolute_paths_are_included_where_folders_allow_it(tmp_path: Path) -> None:
    (tmp_path / "robots").mkdir()
    (tmp_path / "common").mkdir()
    part = tmp_path / "common" / "body.xml"
    part.write_text('<mujocoinclude><body name="b"><joint/><geom size=".1"/></body></mujocoinclude>')
    file = tmp_path / "robots" / "robot.xml"
    file.write_text(f'<mujoco><worldbody><include file="{part}"/></worldbody></mujoco>')
    with pytest.raises(ModelError, match="unless folders= has its folder"):
        lw.load(file)
    assert lw.load(file, folders=[tmp_path / "common"]).nv == lw.load(file, folders=tmp_path).nv == 1
    with pytest.raises(InputError, match="no folder"):
        lw.load(file, folders=[tmp_path / "nowhere"])
