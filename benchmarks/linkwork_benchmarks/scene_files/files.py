# SPDX-License-Identifier: BSD-3-Clause
"""Scenes that are model files, by name, and scenes composed of a file and something to hold.

Files are in the folder that ``LINKWORK_SCENES`` names (robots of MuJoCo Menagerie, MuJoCo's humanoid, a Unitree G1
without its visual meshes) and in that of ``LINKWORK_MODELS``.
"""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from pathlib import Path

from linkwork_benchmarks.robots import MODELS, REPOSITORY

SCENE_FILES = Path(os.environ.get("LINKWORK_SCENES", REPOSITORY.parent / "shared" / "scenes"))

FILES = {
    "crazyflie": "bitcraze_crazyflie_2/scene.xml",
    "barkour": "google_barkour_vb/scene.xml",
    "barkour, feet on a plane": "google_barkour_vb/scene_mjx.xml",
    "barkour, feet on a height field": "google_barkour_vb/scene_hfield_mjx.xml",
    "humanoid": "humanoid/humanoid.xml",
    "gen3": "kinova_gen3/scene.xml",
    "iiwa 14": "kuka_iiwa_14/scene.xml",
    "shadow hand, left": "shadow_hand/scene_left.xml",
    "shadow hand, right": "shadow_hand/scene_right.xml",
    "skydio x2": "skydio_x2/scene.xml",
    "toddlerbot": "toddlerbot_2xc/toddlerbot_2xc_mjx.xml",
    "vx300s": "trossen_vx300s/scene.xml",
    "umi gripper": "umi_gripper/scene.xml",
    "g1": "unitree_g1_nomesh/g1_flat.xml",
    "allegro hand, left": "wonik_allegro/scene_left.xml",
    "allegro hand, right": "wonik_allegro/scene_right.xml",
}
"""Files of `SCENE_FILES`, which start at their first keyframe with its controls, or at ``qpos0``."""

T1 = MODELS / "booster_t1" / "T1_23dof_parallel_nomesh.xml"
ROBOTIQ = MODELS / "robotiq_2f85_v4" / "2f85_nomesh.xml"
SHADOW = "shadow_hand/right_hand.xml"

STIFFNESS, DAMPING = "300", "10"
"""Of the servos that hold the T1, in N m/rad and N m s/rad: its file has motors."""


def scene_file(name: str) -> Path:
    """The path of a file of `SCENE_FILES`; `FileNotFoundError` where it is not there."""
    return existing(SCENE_FILES / name)


def existing(path: Path) -> Path:
    """A path that is there, or `FileNotFoundError`."""
    if not path.is_file():
        raise FileNotFoundError(f"no file {path.name}: set LINKWORK_SCENES and LINKWORK_MODELS to the folders of files")
    return path


def _root(path: Path) -> tuple[ET.Element, ET.Element]:
    """The root of a file, whose meshes are then found from anywhere, and its bodies."""
    root = ET.parse(existing(path)).getroot()
    compiler = root.find("compiler")
    if compiler is not None and (folder := compiler.get("meshdir")):
        compiler.set("meshdir", str((path.parent / folder).resolve()))
    world = root.find("worldbody")
    assert world is not None
    return root, world


def _add(parent: ET.Element, text: str) -> None:
    parent.append(ET.fromstring(text))


def t1_on_servos() -> str:
    """A Booster T1 with its parallel ankles, its motors made servos that hold the pose of the file."""
    root, _ = _root(T1)
    for motor in root.iter("motor"):
        motor.tag = "position"
        motor.set("kp", STIFFNESS)
        motor.set("kv", DAMPING)
    return ET.tostring(root, "unicode")


def gripper_with_box() -> str:
    """Robotiq's gripper turned upside down, which closes on a free box that lies on the ground."""
    root, world = _root(ROBOTIQ)
    base = world.find("body")
    assert base is not None
    base.set("pos", "0 0 0.18")
    base.set("euler", "3.14159265358979 0 0")
    _add(world, '<geom name="floor" type="plane" size="0 0 0.05"/>')
    _add(
        world,
        '<body name="box" pos="0 0 0.035"><freejoint/>'
        '<geom type="box" size="0.02 0.02 0.035" mass="0.1" condim="4"/></body>',
    )
    _add(root, '<keyframe><key ctrl="255"/></keyframe>')
    return ET.tostring(root, "unicode")


def hand_with_cube() -> str:
    """The right Shadow hand, palm up, and a free cube of 5 cm above its palm."""
    root, world = _root(scene_file(SHADOW))
    _add(world, '<geom name="floor" pos="0 0 -0.1" size="0 0 0.05" type="plane"/>')
    _add(
        world,
        '<body name="cube" pos="0.33 0 0.07"><freejoint/>'
        '<geom type="box" size="0.025 0.025 0.025" mass="0.05" condim="4" friction="1 0.01 0.001"/></body>',
    )
    return ET.tostring(root, "unicode")


def humanoid_with_far_spheres(count: int) -> str:
    """The humanoid, and spheres fifty meters away that may touch each of its shapes."""
    root, world = _root(scene_file(FILES["humanoid"]))
    for k in range(count):
        _add(world, f'<geom type="sphere" size="0.1" pos="{50 + k} 0 1"/>')
    return ET.tostring(root, "unicode")
