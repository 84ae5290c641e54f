# SPDX-License-Identifier: BSD-3-Clause
"""A scene in linkwork and in MuJoCo, at the same start, with the time step of its file."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

import linkwork as lw
from linkwork.errors import ModelWarning
from linkwork.parsing.mjcf import mujoco_map
from linkwork_benchmarks.robots import Floats
from linkwork_benchmarks.scene_files import files, texts


class Source(NamedTuple):
    """Where a scene comes from, and how it starts."""

    make: Callable[[], Path | str]
    """A file, or the text of one."""
    keyframe: bool = True
    """Whether it starts at its first keyframe with its controls, if it has one; else at ``qpos0`` without controls."""


SCENES: dict[str, Source] = {
    "humanoid falls": Source(partial(files.scene_file, files.FILES["humanoid"]), keyframe=False),
    "g1 falls": Source(partial(files.scene_file, files.FILES["g1"]), keyframe=False),
    "t1 on servos": Source(files.t1_on_servos),
    "shadow hand and cube": Source(files.hand_with_cube),
    "robotiq and box": Source(files.gripper_with_box),
    "ten boxes": Source(partial(texts.stack_of_boxes, 10)),
    "pile of 10": Source(partial(texts.pile, 10)),
    "pile of 30": Source(partial(texts.pile, 30)),
    "pile of 100": Source(partial(texts.pile, 100)),
    "pile of 100, simple shapes": Source(partial(texts.pile, 100, texts.SIMPLE_SHAPES)),
    "pile of 300": Source(partial(texts.pile, 300)),
    "quadruped on a height field, feet": Source(partial(texts.quadruped_on_height_field, all_shapes=False)),
    "quadruped on a height field, all": Source(partial(texts.quadruped_on_height_field, all_shapes=True)),
}
"""Scenes by name, besides `files.FILES`."""


@dataclass(frozen=True)
class System:
    """A scene that is ready to move."""

    robot: lw.Mechanism
    model: Any
    """MuJoCo's ``MjModel``, with a Jacobian that MuJoCo chooses (``jacobian="auto"``)."""
    qpos: Floats
    q: Floats
    ctrl: Floats
    dt: float

    @property
    def pairs(self) -> int:
        """Pairs of shapes that may touch."""
        return len(self.robot.contacts)


def source(name: str) -> Source:
    """Where a scene comes from."""
    if name in SCENES:
        return SCENES[name]
    return Source(partial(files.scene_file, files.FILES[name]))


def load_robot(name: str) -> lw.Mechanism:
    """The scene in linkwork."""
    return _robot(source(name).make())


def _robot(made: Path | str) -> lw.Mechanism:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        if isinstance(made, Path):
            return lw.load(made)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "scene.xml"
            path.write_text(made, encoding="utf-8")
            return lw.load(path)


def system(name: str) -> System:
    """A scene by name: linkwork's errors where it does not load there, `ValueError` where not in MuJoCo."""
    given = source(name)
    return system_of(given.make(), keyframe=given.keyframe)


def system_of(made: Path | str, *, keyframe: bool = True) -> System:
    """The scene of a file, or of the text of one.

    Args:
        made: The file, or its text.
        keyframe: As for `Source`.
    """
    import mujoco

    robot = _robot(made)
    load = mujoco.MjModel.from_xml_path if isinstance(made, Path) else mujoco.MjModel.from_xml_string
    model = load(str(made))
    qpos, ctrl = np.array(model.qpos0), np.zeros(model.nu)
    if keyframe and model.nkey:
        qpos, ctrl = np.array(model.key_qpos[0]), np.array(model.key_ctrl[0])
    q = mujoco_map(robot).from_qpos(qpos)
    return System(robot, model, qpos, q, ctrl, float(model.opt.timestep))
