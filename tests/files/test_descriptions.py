# SPDX-License-Identifier: BSD-3-Clause
"""Robots by name, from a package that stands for robot_descriptions: nothing is fetched."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import linkwork as lw

URDF = """<robot name="pole"><link name="base"/>
  <link name="rod"><inertial><origin xyz="0 0 1"/><mass value="2"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="hinge" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/></joint></robot>"""
MJCF = """<mujoco model="ball"><worldbody><body name="ball"><freejoint name="fly"/>
  <inertial mass="3" pos="0 0 0" diaginertia="1 1 1"/></body></worldbody></mujoco>"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package robot_descriptions with a few robots, in place of one that is installed."""
    home = tmp_path / "robot_descriptions"
    home.mkdir()
    (home / "pole.urdf").write_text(URDF)
    (home / "ball.xml").write_text(MJCF)
    modules = {
        "__init__": "",
        "_cache": "raise RuntimeError('nothing is fetched')",
        "pole_description": f"URDF_PATH = {str(home / 'pole.urdf')!r}",
        "pole_mj_description": f"MJCF_PATH = {str(home / 'ball.xml')!r}",
        "ball_mj_description": f"MJCF_PATH = {str(home / 'ball.xml')!r}",
        "far_description": "raise OSError('no network')",
        "template_description": "XACRO_PATH = 'pole.urdf.xacro'",
    }
    for name, text in modules.items():
        (home / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name.split(".")[0] == "robot_descriptions"]:
        monkeypatch.delitem(sys.modules, name)
    yield home
    for name in [name for name in sys.modules if name.split(".")[0] == "robot_descriptions"]:
        del sys.modules[name]


@pytest.mark.usefixtures("package")
def test_robots_are_found_by_name_and_format() -> None:
    assert lw.load_description("pole").name == "pole"
    assert lw.load_description("pole_description", base="floating").joint_names == ("root_joint", "hinge")
    assert lw.load_description("pole", "mjcf").name == "ball"
    assert lw.load_description("ball").mass == 3.0
    assert lw.load_description("ball_mj_description", format="mjcf").nv == 6


@pytest.mark.usefixtures("package")
def test_what_is_not_there_is_said() -> None:
    with pytest.raises(lw.errors.UnknownName, match=r"no robot 'pol'.*pole_description"):
        lw.load_description("pol")
    with pytest.raises(lw.errors.InputError, match="no file in URDF; it has mjcf"):
        lw.load_description("ball_mj_description", "urdf")
    with pytest.raises(lw.errors.ModelError, match="could not fetch 'far_description': OSError: no network"):
        lw.load_description("far")
    with pytest.raises(lw.errors.UnsupportedFeature, match=r"template, pole\.urdf\.xacro"):
        lw.load_description("template")
    with pytest.raises(lw.errors.InputError, match="format is 'sdf'"):
        lw.load_description("pole", "sdf")  # type: ignore[arg-type]
    for name in ("../pole", "", 3):
        with pytest.raises(lw.errors.InputError, match="name is"):
            lw.load_description(name)  # type: ignore[arg-type]
    with pytest.raises(lw.errors.UnknownOption, match="no option 'bas'"):
        lw.load_description("pole", bas="floating")  # type: ignore[call-arg]


def test_templates_are_expanded_where_the_package_does_it(package: Path) -> None:
    (package / "_xacro.py").write_text(f"def get_urdf_path(module):\n    return {str(package / 'pole.urdf')!r}\n")
    assert lw.load_description("template").name == "pole"


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linkwork.parsing.descriptions.find_spec", lambda name: None)
    with pytest.raises(lw.errors.UnsupportedFeature, match=r"linkwork\[descriptions\]"):
        lw.load_description("panda")
