# SPDX-License-Identifier: BSD-3-Clause
"""Real robots for tests: where their files are, how to load them here and in Pinocchio, and how states correspond."""

from __future__ import annotations

import os
import warnings
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt
import pytest

from linkwork.errors import ModelWarning
from linkwork.mechanism import Mechanism
from linkwork.parsing import load as load_model
from linkwork_benchmarks.robots import EXAMPLES
from tests.support import REPOSITORY

Floats = npt.NDArray[np.float64]


class Robot(NamedTuple):
    """A model file and how to load it."""

    path: Path
    base: str
    options: dict[str, Any]


MODELS = Path(os.environ.get("LINKWORK_MODELS", REPOSITORY.parent / "shared" / "models"))

SCENES = Path(os.environ.get("LINKWORK_SCENES", MODELS.parent / "scenes"))

_TRUST = {"inertias": "trust"}
_MIMIC = {"mimic": "ignore"}

ROBOTS: dict[str, Robot] = {
    "ur5": Robot(EXAMPLES / "ur_description/urdf/ur5_robot.urdf", "fixed", {}),
    "panda": Robot(EXAMPLES / "panda_description/urdf/panda.urdf", "fixed", _MIMIC),
    "iiwa14": Robot(MODELS / "iiwa14/iiwa14_primitive_collision.urdf", "fixed", {}),
    "allegro_left": Robot(EXAMPLES / "allegro_hand_description/urdf/allegro_left_hand.urdf", "fixed", {}),
    "allegro_right": Robot(EXAMPLES / "allegro_hand_description/urdf/allegro_right_hand.urdf", "fixed", {}),
    "go1": Robot(EXAMPLES / "go1_description/urdf/go1.urdf", "floating", {}),
    "go2": Robot(EXAMPLES / "go2_description/urdf/go2.urdf", "floating", {}),
    "solo12": Robot(EXAMPLES / "solo_description/robots/solo12.urdf", "floating", {}),
    "anymal_b": Robot(EXAMPLES / "anymal_b_simple_description/robots/anymal.urdf", "floating", {}),
    "anymal_c": Robot(EXAMPLES / "anymal_c_simple_description/urdf/anymal.urdf", "floating", {}),
    "hyq": Robot(EXAMPLES / "hyq_description/robots/hyq_no_sensors.urdf", "floating", {}),
    "mini_cheetah": Robot(MODELS / "mini_cheetah/mini_cheetah_approximate.urdf", "fixed", _TRUST),
    "g1": Robot(EXAMPLES / "g1_description/urdf/g1_29dof_rev_1_0.urdf", "floating", {}),
    "g1_hands": Robot(EXAMPLES / "g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf", "floating", {}),
    "icub": Robot(EXAMPLES / "icub_description/robots/icub.urdf", "floating", {}),
    "talos": Robot(EXAMPLES / "talos_data/robots/talos_full_v2.urdf", "floating", _MIMIC),
    "simple_humanoid": Robot(EXAMPLES / "simple_humanoid_description/urdf/simple_humanoid.urdf", "floating", {}),
    "t1": Robot(MODELS / "booster_t1/T1_23dof.urdf", "floating", {}),
    "digit": Robot(MODELS / "digit/digit_model.urdf", "floating", _TRUST),
    "atlas_convex_hull": Robot(MODELS / "atlas/atlas_convex_hull.urdf", "floating", {}),
    "atlas_minimal_contact": Robot(MODELS / "atlas/atlas_minimal_contact.urdf", "floating", {}),
    "atlas_rbd_julia": Robot(MODELS / "atlas/atlas_rbd_julia.urdf", "floating", {}),
    "atlas_v4": Robot(MODELS / "atlas/atlas_v4_with_multisense.urdf", "floating", {}),
}
"""The floating joint of mini_cheetah is in its file."""


# Models that are not here ----------------------------------------------------------------------------------


def models_required() -> bool:
    """Whether tests fail without their models: where ``CI`` is set, and is not empty, 0 or false."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def model_absent(reason: object) -> NoReturn:
    """Skips the running test, for want of a model; fails it where models are required.

    Every test that cannot run without a model ends here, so that no run of CI passes by skipping.
    """
    if models_required():
        pytest.fail(f"{reason}; CI is set, so a test without its model fails: set LINKWORK_MODELS", pytrace=False)
    pytest.skip(str(reason))


def model_file(path: Path | str) -> Path:
    """A model file that is there, by its path or its place in `MODELS`; see `model_absent`."""
    file = MODELS / path
    if not file.is_file():
        model_absent(f"no model file {file}")
    return file


def load_quietly(path: Path | str, **options: Any) -> Mechanism:
    """A model of `model_file`, without warnings about its file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return load_model(model_file(path), **options)


def scene_file(path: str) -> Path:
    """The same of a scene, in `SCENES`."""
    file = SCENES / path
    if not file.is_file():
        model_absent(f"no scene file {file}")
    return file


def models_folder() -> Path:
    """`MODELS`, if it is there; see `model_absent`."""
    if not MODELS.is_dir():
        model_absent(f"no folder of models {MODELS}")
    return MODELS


def model_files(pattern: str) -> list[Path]:
    """All files of `MODELS` that match; none where there are no models, an error at collection if they are required."""
    return sorted((models_folder() if models_required() else MODELS).rglob(pattern))


def path_of(name: str) -> Path:
    """The file of a robot of `ROBOTS`; see `model_absent`."""
    return model_file(ROBOTS[name].path)


# Loading -----------------------------------------------------------------------------------------------------


@cache
def load(name: str) -> Mechanism:
    """A robot of `ROBOTS` as linkwork reads it."""
    path = path_of(name)
    return load_model(path, ROBOTS[name].base, **ROBOTS[name].options)  # type: ignore[arg-type]


@cache
def pinocchio_model(name: str) -> Any:
    """The same robot as Pinocchio reads it, with linkwork's armature, for which URDF has no standard element."""
    pin = pytest.importorskip("pinocchio")
    path = str(path_of(name))
    floating = ROBOTS[name].base == "floating"
    model = pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer()) if floating else pin.buildModelFromUrdf(path)
    robot = load(name)
    armature = np.zeros(model.nv)
    armature[velocity_permutation(robot, model)] = robot.armature
    model.armature = armature
    return model


def to_pinocchio(robot: Mechanism, model: Any, q: npt.ArrayLike) -> Floats:
    """Our q ``(..., nq)`` in Pinocchio's order; a continuous joint is an angle here and (cos, sin) there."""
    ours = np.asarray(q, dtype=np.float64)
    theirs = np.empty((*ours.shape[:-1], model.nq))
    for name in robot.joint_names:
        joint, part = model.joints[model.getJointId(name)], ours[..., robot.q_slice(name)]
        if joint.nq == 2 and joint.nv == 1:
            part = np.concatenate([np.cos(part), np.sin(part)], axis=-1)
        theirs[..., joint.idx_q : joint.idx_q + joint.nq] = part
    return theirs


def velocity_permutation(robot: Mechanism, model: Any) -> npt.NDArray[np.intp]:
    """``perm`` with ``v_ours = v_pinocchio[..., perm]``; likewise accelerations, torques, rows of the mass matrix."""
    parts = []
    for name in robot.joint_names:
        joint = model.joints[model.getJointId(name)]
        parts.append(np.arange(joint.idx_v, joint.idx_v + joint.nv))
    return np.concatenate(parts).astype(np.intp) if parts else np.zeros(0, np.intp)
