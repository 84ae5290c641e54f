# SPDX-License-Identifier: BSD-3-Clause
"""MJCF: inertias are those that MuJoCo compiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import ModelError
from linkwork.mechanism import Mechanism
from tests.support.mjcf_texts import AGREEMENT, SOLID, body, both, model
from tests.support.mujoco_twin import mujoco
from tests.support.states import assert_close

GEOMS = {
    "sphere": 'type="sphere" size="0.3"',
    "nothing said": 'size="0.3"',
    "capsule": 'type="capsule" size="0.1 0.3"',
    "cylinder": 'type="cylinder" size="0.1 0.3"',
    "ellipsoid": 'type="ellipsoid" size="0.1 0.2 0.3"',
    "box": 'type="box" size="0.1 0.2 0.3"',
}
PLACED = {kind: f'{text} pos="0.1 0.2 0.3" euler="0.3 0.2 0.1"' for kind, text in GEOMS.items()} | {
    f"{kind} between points": f'type="{kind}" size="0.1" fromto="0.1 0.2 0.3 -0.5 1 0.4"'
    for kind in ("capsule", "cylinder", "ellipsoid", "box")
}
FILLED = {"water": "", "density": 'density="321"', "mass": 'mass="1.7"'}


def same_inertias(robot: Mechanism, theirs: Any) -> None:
    """Each body that moves has MuJoCo's mass, center of mass and inertia."""
    for k in range(1, theirs.nbody):
        name = theirs.body(k).name
        if name not in robot.inertias:
            continue
        ours = robot.inertias[name].moved(robot.frames[name].placement.inverse())
        R = np.zeros(9)
        mujoco.mju_quat2Mat(R, theirs.body_iquat[k])
        turned = R.reshape(3, 3) @ np.diag(theirs.body_inertia[k]) @ R.reshape(3, 3).T
        assert ours.mass == pytest.approx(theirs.body_mass[k], rel=1e-13)
        np.testing.assert_allclose(ours.com, theirs.body_ipos[k], atol=1e-13)
        assert_close(ours.rotational, turned, 1e-13 if "shell" not in name else 1e-8)


@pytest.mark.parametrize("kind", PLACED)
@pytest.mark.parametrize("filled", FILLED)
@pytest.mark.parametrize("shell", ["", 'shellinertia="true"'])
def test_the_inertia_of_a_geom_is_mujocos(kind: str, filled: str, shell: str) -> None:
    """Of the shell of an ellipsoid MuJoCo takes the difference of two almost equal numbers."""
    name = "shell" if shell and "ellipsoid" in kind else "a"
    text = model(f'<body name="{name}"><joint axis="1 1 0"/><geom {PLACED[kind]} {FILLED[filled]} {shell}/></body>')
    robot, theirs = both(text, 1e-8 if name == "shell" else AGREEMENT)
    same_inertias(robot, theirs)


def test_geoms_of_a_body_sum_up() -> None:
    geoms = "".join(f"<geom {text}/>" for text in PLACED.values()) + '<geom size="1" mass="0" pos="9 9 9"/>'
    same_inertias(*both(model(f'<body name="a"><joint/>{geoms}</body>')))


@pytest.mark.parametrize(
    "compiler",
    [
        'inertiafromgeom="true"',
        'inertiafromgeom="auto"',
        'inertiagrouprange="1 2"',
        'boundmass="3"',
        'boundinertia="0.5"',
        'boundmass="3" boundinertia="0.5"',
        'settotalmass="7"',
        'settotalmass="7" boundmass="3" boundinertia="0.5" inertiafromgeom="true" inertiagrouprange="2 4"',
        'balanceinertia="true"',
        'balanceinertia="true" boundinertia="2"',
    ],
)
def test_the_compiler_completes_inertias_as_mujocos_does(compiler: str) -> None:
    flat = '<inertial pos="0 0 0.1" mass="1" diaginertia="1 1 2" euler="0.3 0.2 0.1"/>'
    odd = '<inertial pos="0 0 0.1" mass="1" diaginertia="0.1 0.2 0.5" euler="0.3 0.2 0.1"/>'
    full = '<inertial pos="0.1 0 0" mass="2" fullinertia="0.3 0.4 0.5 0.01 0.02 -0.03"/>'
    several = '<geom type="box" size="0.1 0.2 0.3" group="1"/><geom size="0.2" pos="0 1 0" group="2"/>'
    bodies = [
        ("a", SOLID + '<geom size="0.2" pos="1 0 0"/>'),
        ("b", several + '<geom size="0.5" group="4"/>'),
        ("c", flat),
        ("d", full + '<geom size="0.1" group="2"/>'),
        ("e", odd if "balance" in compiler else flat),
    ]
    world = "".join(f'<body name="{k}" pos="0 1 0"><joint axis="1 0 1"/>{inside}</body>' for k, inside in bodies)
    static = '<body name="base"><geom size="0.3"/></body>'
    same_inertias(*both(model(world + static, f"<compiler {compiler}/>")))


def test_a_body_of_nothing_gets_the_least_mass_where_mujoco_puts_it() -> None:
    world = '<body name="a" pos="1 2 3" euler="1 0 0"><joint axis="1 0 0"/></body>'
    same_inertias(*both(model(world, '<compiler boundmass="1" boundinertia="0.1"/>')))


def test_a_mesh_that_weighs_nothing_is_not_needed() -> None:
    meshes = '<asset><mesh file="folder/part.stl"/><mesh name="p2" file="other.obj"/></asset>'
    geoms = '<geom type="mesh" mesh="part"/><geom type="mesh" mesh="p2"/><geom type="mesh" mesh="part"/>'
    empty = '<geom type="mesh" mesh="part" mass="0"/><geom type="mesh" mesh="p2" density="0"/><geom size="0.1"/>'
    robot = lw.loads(
        model(body("<joint/>" + geoms, "a") + f'<body name="b"><joint/>{empty}</body><body>{geoms}</body>', meshes),
        "mjcf",
    )
    assert robot.meshes["a"] == ("folder/part.stl", "other.obj")


def test_an_inertia_that_needs_a_mesh_is_an_error_that_names_body_geom_and_file() -> None:
    text = model(
        '<body name="arm"><joint/>\n<geom name="shape" type="mesh" mesh="part"/></body>',
        '<asset><mesh name="part" file="part.stl"/></asset>',
    )
    with pytest.raises(ModelError, match=r"body 'arm' must come from mesh 'part', whose file 'part.stl'") as error:
        lw.loads(text, "mjcf", name="robot.xml")
    assert 'robot.xml:5 <geom name="shape">' in str(error.value)


def test_an_inertia_that_no_mass_has_is_an_error_if_asked_for() -> None:
    text = model('<body name="a"><joint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 3"/></body>')
    with pytest.raises(ModelError, match="moments of inertia"):
        lw.loads(text, "mjcf", inertias="check")
    assert lw.loads(text, "mjcf", inertias="trust").nv == 1
