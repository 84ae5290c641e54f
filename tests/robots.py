"""Real robots for tests: where their files are, how to load them here and in Pinocchio, and how states correspond."""

from __future__ import annotations

import importlib.util
import os
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from linkwork.mechanism import Mechanism
from linkwork.parsing import load as load_model

Floats = npt.NDArray[np.float64]


class Robot(NamedTuple):
    """A model file and how to load it."""

    path: Path
    base: str
    options: dict[str, Any]


def _example_robot_data() -> Path:
    """The robots of the package example-robot-data, which shares an installation prefix with pinocchio."""
    spec = importlib.util.find_spec("pinocchio")
    for folder in Path(spec.origin).parents if spec is not None and spec.origin else ():
        robots = folder / "share" / "example-robot-data" / "robots"
        if robots.is_dir():
            return robots
    return Path("example-robot-data is not installed")


EXAMPLES = _example_robot_data()
REPOSITORY = Path(__file__).resolve().parent.parent
MODELS = Path(os.environ.get("LINKWORK_MODELS", REPOSITORY.parent / "shared" / "models"))

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


def path_of(name: str) -> Path:
    """The file of a robot; skips the test where it is not installed."""
    path = ROBOTS[name].path
    if not path.is_file():
        pytest.skip(f"no model file {path}")
    return path


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
