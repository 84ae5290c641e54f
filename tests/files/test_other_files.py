# SPDX-License-Identifier: BSD-3-Clause
"""Files beside a model: packages in given folders, SRDF, models that SDF includes, worlds of several models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import ModelError, UnsupportedFeature
from linkwork.model.shapes import Mesh

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
ARM = f"""<robot name="arm"><link name="base"/>
<link name="a">{INERTIAL}<collision name="ball"><geometry><sphere radius=".1"/></geometry></collision>
<visual><geometry><mesh filename="package://parts/meshes/a.stl"/></geometry></visual></link>
<link name="b">{INERTIAL}<collision name="box"><geometry><box size=".1 .1 .1"/></geometry></collision></link>
<link name="c">{INERTIAL}<collision name="end"><geometry><box size=".1 .1 .1"/></geometry></collision></link>
<joint name="j" type="continuous"><parent link="base"/><child link="a"/></joint>
<joint name="k" type="continuous"><parent link="a"/><child link="b"/><origin xyz="1 0 0"/></joint>
<joint name="l" type="continuous"><parent link="b"/><child link="c"/><origin xyz="1 0 0"/></joint></robot>"""
SRDF = """<robot name="arm"><group name="all"/><group_state name="up" group="all"><joint name="k" value="0.5"/>
</group_state><disable_collisions link1="a" link2="c" reason="Never"/></robot>"""


def test_packages_are_found_in_given_folders(tmp_path: Path) -> None:
    (tmp_path / "somewhere" / "parts" / "meshes").mkdir(parents=True)
    mesh = tmp_path / "somewhere" / "parts" / "meshes" / "a.stl"
    mesh.write_bytes(bytes(84))
    (tmp_path / "robots").mkdir()
    file = tmp_path / "robots" / "arm.urdf"
    file.write_text(ARM)
    for folders in ((), tmp_path / "somewhere", [tmp_path / "somewhere" / "parts"]):
        solids = [s.solid for s in lw.load(file, folders=folders).shapes if isinstance(s.solid, Mesh)]
        assert solids[0].file == (mesh if folders else None)


def test_srdf_gives_poses_and_keeps_links_apart(tmp_path: Path) -> None:
    (tmp_path / "arm.urdf").write_text(ARM)
    (tmp_path / "arm.srdf").write_text(SRDF)
    plain = lw.load(tmp_path / "arm.urdf", contacts="all")
    robot = lw.load(tmp_path / "arm.urdf", contacts="all", srdf=tmp_path / "arm.srdf")
    assert robot.poses["up"].tolist() == [0, 0.5, 0]
    gone = {frozenset(p.bodies) for p in plain.contacts} - {frozenset(p.bodies) for p in robot.contacts}
    assert gone == {frozenset({"a", "c"})}
    (tmp_path / "arm.srdf").write_text(SRDF.replace('"k"', '"z"'))
    with pytest.raises(ModelError, match=r"arm\.srdf:1.*no joint 'z'"):
        lw.load(tmp_path / "arm.urdf", srdf=tmp_path / "arm.srdf")


PENDULUM = """<sdf version="1.9"><model name="pendulum"><link name="rod"><pose>0 0 -0.5 0 0 0</pose>
<inertial auto="true"><density>500</density></inertial><collision name="c"><geometry><cylinder><radius>.1</radius>
<length>1</length></cylinder>
</geometry></collision></link><joint name="j" type="revolute"><parent>world</parent><child>rod</child>
<pose>0 0 .5 0 0 0</pose><axis><xyz>0 1 0</xyz></axis></joint></model></sdf>"""
WORLD = """<sdf version="1.9"><world name="w"><gravity>0 0 -5</gravity>
<include><uri>model://pendulum</uri><name>left</name></include>
<include><uri>models/pendulum/model.sdf</uri><name>right</name><pose>1 0 0 0 0 0</pose></include>
<model name="table"><static>true</static><link name="top"><inertial><mass>3</mass></inertial></link></model>
</world></sdf>"""


def world(folder: Path) -> Path:
    (folder / "models" / "pendulum").mkdir(parents=True)
    (folder / "models" / "pendulum" / "model.sdf").write_text(PENDULUM)
    config = "<model><sdf version='1.9'>model.sdf</sdf></model>"
    (folder / "models" / "pendulum" / "model.config").write_text(config)
    (folder / "scene.world").write_text(WORLD)
    return folder / "scene.world"


def test_a_world_of_several_models_is_a_scene(tmp_path: Path) -> None:
    scene = lw.load(world(tmp_path), folders=tmp_path / "models")
    assert scene.joint_names == ("left/j", "right/j")
    assert scene.gravity.tolist() == [0, 0, -5]
    apart = [lw.frame_placement(scene, scene.neutral(), f"{side}/rod").position for side in ("left", "right")]
    np.testing.assert_allclose(apart[1] - apart[0], [1, 0, 0], atol=1e-15)


def test_automatic_inertia_is_that_of_the_shapes() -> None:
    rod = lw.loads(PENDULUM).inertias["rod"]
    mass = 500 * np.pi * 0.01
    assert rod.mass == pytest.approx(mass)
    np.testing.assert_allclose(np.diag(rod.rotational), [mass * 1.03 / 12, mass * 1.03 / 12, mass * 0.005])


def test_what_cannot_be_included_is_an_error(tmp_path: Path) -> None:
    file = world(tmp_path)
    cases = {
        "model://nothing": "there is no model 'model://nothing'",
        "/etc/hostname": "is an absolute path",
        "other.txt": "is no SDF file",
    }
    (tmp_path / "other.txt").write_text("secret")
    for uri, said in cases.items():
        file.write_text(WORLD.replace("model://pendulum", uri))
        with pytest.raises(ModelError, match=said) as error:
            lw.load(file, folders=tmp_path / "models")
        assert "secret" not in str(error.value)
    file.write_text(WORLD.replace('version="1.9"', 'version="1.6"'))
    with pytest.raises(UnsupportedFeature, match=r"SDF 1\.9, this one 1\.6"):
        lw.load(file, folders=tmp_path / "models")
