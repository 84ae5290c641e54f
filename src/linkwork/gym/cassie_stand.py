# SPDX-License-Identifier: BSD-3-Clause
"""Cassie is to stand on both feet while its pelvis is pushed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from linkwork.contact.geometry import ContactGeometry
from linkwork.errors import InputError
from linkwork.gym.frames import quaternions, rotations, to_body, to_world
from linkwork.gym.rendering import Camera
from linkwork.gym.robots import Rows
from linkwork.gym.single import Env
from linkwork.gym.vector import Mask, VectorEnv
from linkwork.inputs import above_zero
from linkwork.mechanism import Mechanism
from linkwork.model.arrays import Floats
from linkwork.model.constraints import WORLD, Point
from linkwork.model.parts import Actuator
from linkwork.parsing import load
from linkwork.quantities.arguments import Array
from linkwork.quantities.functions import frame_placement
from linkwork.zoo.robots_on_ground import cassie_on_ground

PELVIS = "cassie-pelvis"
STIFFNESS = {"hip-roll": 400.0, "hip-yaw": 200.0, "hip-pitch": 400.0, "knee": 500.0, "foot": 100.0}
DAMPING = {"hip-roll": 8.0, "hip-yaw": 4.0, "hip-pitch": 8.0, "knee": 10.0, "foot": 2.0}
"""Of the servos, in N m/rad and N m s/rad; the damping is that of the joint, which steps take implicitly."""
RANGE = 0.4
"""Radians by which actions move the targets of the servos."""
PUSHES = 4
"""Pushes of an episode that differ; then the same come again."""
PUSH_EVERY, PUSH_LASTS = 75, 5
"""Actions from one push to the next, and while one acts."""


class CassieStandVectorEnv(VectorEnv):
    """Cassie with its leaf springs and closed loops: stand where it is, upright, while its pelvis is pushed.

    Args:
        num_envs: Number of environments.
        model: ``cassie.xml`` of MuJoCo's menagerie; by default that of ``$LINKWORK_MODELS/cassie/cassie.xml``.
        push: The greatest force of a push, in N, which acts for 0.1 s every 1.5 s in some horizontal direction.
        max_episode_steps: Actions after which an episode is truncated, 20 ms each; None: it is not.
        options: ``autoreset_mode``, ``randomize``, ``compile``, ``threads``, ``render_mode``, ``dt`` and
            ``steps_per_action`` of `VectorEnv`.
    """

    motors: ClassVar[tuple[str, ...]] = tuple(f"{side}-{joint}" for side in ("left", "right") for joint in STIFFNESS)
    action_names = motors
    observation_names = (
        "pelvis height",
        *(f"up {axis}" for axis in "xyz"),
        *(f"pelvis {axis}" for axis in "xy"),
        *(f"pelvis velocity {axis}" for axis in "xyz"),
        *(f"pelvis angular velocity {axis}" for axis in "xyz"),
        *(f"{name} angle" for name in motors),
        *(f"{name} rate" for name in motors),
        "left foot load",
        "right foot load",
    )
    reward_names = ("reward_place", "reward_upright", "reward_still", "reward_effort", "reward_smooth")
    draws = 9 + 2 * PUSHES
    camera: Camera = Camera((0.0, 0.0, 0.55), 1.5, 10.0, -35.0)

    def __init__(
        self,
        num_envs: int = 1,
        *,
        model: str | os.PathLike[str] | None = None,
        push: float = 60.0,
        max_episode_steps: int | None = 500,
        **options: Any,
    ) -> None:
        if not 0 <= push < np.inf:
            raise InputError(f"push must be >= 0 and finite, in N; it is {push!r}")
        robot, stance, torque = cassie_with_servos(str(_file(model)))
        super().__init__(robot, num_envs, max_episode_steps=max_episode_steps, wrenches=(PELVIS,), **options)
        self._rest = stance
        self._q = [robot.q_index(name) for name in self.motors]
        self._v = [robot.v_index(name) for name in self.motors]
        gains = np.array([actuator.gain[0] for actuator in robot.actuators])
        self._targets = stance[self._q] + torque[self._v] / gains
        self._weight = above_zero(robot.mass * float(np.linalg.norm(robot.gravity)), "weight")
        self._push = float(push)
        self.pushes: Array = np.zeros((num_envs, PUSHES, 3))
        """Forces of the pushes of each episode, in the world's axes, in N."""

    def start(self, rows: Rows, draws: Array) -> tuple[Array, Array]:
        """Near the pose in which it stands, turned, moving; pushes of the episode are drawn, too."""
        q, v = np.tile(self._rest, (len(rows), 1)), np.zeros((len(rows), self.robot.nv))
        spread = 2 * draws - 1
        q[:, 2] += 0.02 * draws[:, 0]  # falls from up to 2 cm
        q[:, 3:7] = _product(quaternions(spread[:, 1:4] * (0.03, 0.03, 0.2)), q[:, 3:7])
        v[:, :3] = 0.1 * spread[:, 4:7]
        angle, force = 2 * np.pi * draws[:, 9::2], self._push * draws[:, 10::2]
        self.pushes[rows] = np.stack([force * np.cos(angle), force * np.sin(angle), 0 * force], axis=-1)
        return q, v

    def commands(self, actions: Array) -> Array:
        """Angles of the motors; zero actions hold the pose in which it stands."""
        targets: Array = self._targets + RANGE * actions
        return targets

    def wrenches(self) -> Array:
        """The push on the pelvis, where one acts."""
        which = (self.elapsed // PUSH_EVERY) % PUSHES
        acts = self.elapsed % PUSH_EVERY >= PUSH_EVERY - PUSH_LASTS
        forces = self.pushes[np.arange(self.num_envs), which] * acts[:, None]
        pushed = np.zeros((self.num_envs, 1, 6))
        pushed[:, 0, 3:] = to_body(rotations(self.robots.q[:, 3:7]), forces)
        return pushed

    def observe(self) -> Array:
        """See `observation_names`, scaled to be about 1."""
        q, v = self.robots.q, self.robots.v
        R = rotations(q[:, 3:7])
        loads = self.robots.contact_forces[:, :, 2].reshape(self.num_envs, 2, -1).sum(axis=2) / self._weight
        moved = to_body(R, q[:, :3] * (1.0, 1.0, 0.0))[:, :2]
        parts = [5.0 * (q[:, 2:3] - self._rest[2]), R[:, 2], 5.0 * moved, v[:, :3], v[:, 3:6]]
        parts += [q[:, self._q] - self._rest[self._q], 0.1 * v[:, self._v], np.minimum(loads, 5.0)]
        return np.concatenate(parts, axis=1)

    def reward(self, actions: Array) -> Mapping[str, Array]:
        """A pelvis that is where it was, upright and still; small and smooth actions."""
        q, v = self.robots.q, self.robots.v
        R = rotations(q[:, 3:7])
        velocity = to_world(R, v[:, :3])
        return {
            "reward_place": np.exp(-20.0 * ((q[:, :3] - self._rest[:3]) ** 2).sum(axis=1)),
            "reward_upright": 0.5 * np.exp(-10.0 * (R[:, :2, 2] ** 2).sum(axis=1)),
            "reward_still": -0.2 * np.minimum((velocity**2).sum(axis=1), 5.0),
            "reward_effort": -0.02 * (actions**2).sum(axis=1),
            "reward_smooth": -0.02 * ((actions - self.actions) ** 2).sum(axis=1),
        }

    def failed(self) -> Mask:
        """Where the pelvis is below 65 % of its height, or tilted by more than 45 degrees."""
        q = self.robots.q
        up = rotations(q[:, 3:7])[:, 2, 2]
        return np.asarray((q[:, 2] < 0.65 * self._rest[2]) | (up < 0.7))

    def caption(self, row: int) -> str:
        """The time, and the force of a push."""
        force = np.linalg.norm(self.wrenches()[row, 0, 3:])
        return super().caption(row) + (f"    pushed with {force:.0f} N" if force > 0 else "")


class CassieStandEnv(Env):
    """One environment of `CassieStandVectorEnv`."""

    vector_class = CassieStandVectorEnv


def _file(model: str | os.PathLike[str] | None) -> Path:
    """The model file."""
    folder = os.environ.get("LINKWORK_MODELS")
    if model is None and folder is None:
        raise InputError(
            "Cassie's model is not part of linkwork: give model='cassie.xml' of MuJoCo's menagerie, or set "
            "LINKWORK_MODELS to the folder that has cassie/cassie.xml in it"
        )
    path = Path(model) if model is not None else Path(str(folder)) / "cassie" / "cassie.xml"
    if not path.is_file():
        raise InputError(f"there is no file {path}: give model='cassie.xml' of MuJoCo's menagerie")
    return path.resolve()


@lru_cache(maxsize=4)
def cassie_with_servos(model: str) -> tuple[Mechanism, Floats, Floats]:
    """Cassie on the ground with servos in place of its motors, a pose in which it stands, and the torques there.

    Args:
        model: Path of ``cassie.xml``.
    """
    robot = cassie_on_ground(load(model))
    damping, servos = robot.parameters["damping"].copy(), []
    for motor in robot.actuators:
        part = motor.joint.split("-", 1)[1]
        gear, (low, high) = motor.gear[0], motor.limits
        stiffness = STIFFNESS[part]
        damping[robot.v_index(motor.joint)] += DAMPING[part]
        law: dict[str, Any] = {"gain": (stiffness, 0.0, 0.0), "bias": (0.0, -stiffness, 0.0)}
        servos.append(Actuator(motor.name, motor.joint, (1.0,), force_limits=(gear * low, gear * high), **law))
    robot = replace(robot.with_parameters(damping=damping), actuators=tuple(servos))
    stance = _stance(robot)
    return robot, stance[0], stance[1]


def _stance(robot: Mechanism) -> tuple[Floats, Floats]:
    """A static pose, with three corners of each sole held, and the torques of the motors."""
    q = robot.poses["assembled"]
    points = ContactGeometry(robot)(q).points
    corners: list[Point] = []
    for k, pair in enumerate(robot.contacts):
        foot = frame_placement(robot, q, pair.second.body)
        for at in points[4 * k : 4 * k + 3]:
            seen = foot.rotation.T @ (at - foot.position)
            name = f"held {len(corners)}"
            corners.append(Point(WORLD, pair.second.body, first_at=at, second_at=seen, name=name))
    balance = robot.constrained(*corners).equilibrium(q)
    return balance.q, balance.torque


def _product(a: Array, b: Array) -> Array:
    """Products of quaternions x, y, z, w."""
    u, s, w, t = a[..., :3], a[..., 3:], b[..., :3], b[..., 3:]
    real = s * t - (u * w).sum(axis=-1, keepdims=True)
    return np.concatenate([s * w + t * u + np.cross(u, w), real], axis=-1)
