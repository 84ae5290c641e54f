# SPDX-License-Identifier: BSD-3-Clause
"""MuJoCo's conventions of positions, velocities, accelerations and forces, and ours: how to get from one to the other.

Joints have the same order and hinges and slides the same numbers. What differs:

| joint | MuJoCo                                                      | here                                        |
|-------|-------------------------------------------------------------|---------------------------------------------|
| ball  | qpos: quaternion w x y z                                    | q: quaternion x y z w                       |
| free  | qpos: position, quaternion w x y z                          | q: position, quaternion x y z w             |
|       | qvel: linear in the world's axes, angular in the body's     | v: linear and angular, both in the body's   |
|       | qacc: the derivative of qvel                                | a: the derivative of v                      |

With R the rotation of a free body, ``qvel = [R v, w]``, so ``qacc = [R (v' + w x v), w']`` and, as power is the same,
forces ``[R f, n]``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linkwork.errors import InputError
from linkwork.inputs import rows_of
from linkwork.mechanism import Mechanism
from linkwork.model.arrays import Floats
from linkwork.model.checks import check_robot
from linkwork.model.joints import Free, Prismatic, Revolute, Spherical
from linkwork.model.rotations import quaternion_conjugate, quaternion_rotate, unit

_TO_W_LAST, _TO_W_FIRST = [1, 2, 3, 0], [3, 0, 1, 2]


@dataclass(frozen=True, eq=False)
class MujocoMap:
    """Converts between MuJoCo's vectors and those of a mechanism that came from MJCF; leading axes are batch axes."""

    robot: Mechanism
    """The mechanism."""
    _to_q: npt.NDArray[np.intp]
    """Where MuJoCo has each number of q."""
    _to_qpos: npt.NDArray[np.intp]
    """Where q has each number of MuJoCo's."""
    _free: tuple[tuple[slice, slice], ...]
    """Of each free joint: where its quaternion stands in q, and its linear velocity in v."""

    def from_qpos(self, qpos: npt.ArrayLike) -> Floats:
        """Our ``q (..., nq)`` from MuJoCo's ``qpos (..., nq)``.

        Args:
            qpos: MuJoCo's configuration, ``(..., nq)``.
        """
        return rows_of(qpos, "qpos", (self.robot.nq,))[..., self._to_q]

    def to_qpos(self, q: npt.ArrayLike) -> Floats:
        """MuJoCo's ``qpos (..., nq)`` from our ``q (..., nq)``.

        Args:
            q: Our configuration, ``(..., nq)``.
        """
        return rows_of(q, "q", (self.robot.nq,))[..., self._to_qpos]

    def from_qvel(self, q: npt.ArrayLike, qvel: npt.ArrayLike) -> Floats:
        """Our velocity ``(..., nv)`` from MuJoCo's, at our ``q``.

        Args:
            q: Our configuration, ``(..., nq)``.
            qvel: MuJoCo's velocity, ``(..., nv)``.
        """
        return self._turned(q, qvel, "qvel", into_world=False)

    def to_qvel(self, q: npt.ArrayLike, v: npt.ArrayLike) -> Floats:
        """MuJoCo's velocity ``(..., nv)`` from ours.

        Args:
            q: Our configuration, ``(..., nq)``.
            v: Our velocity, ``(..., nv)``.
        """
        return self._turned(q, v, "v", into_world=True)

    def from_qfrc(self, q: npt.ArrayLike, qfrc: npt.ArrayLike) -> Floats:
        """Our joint forces ``(..., nv)`` from MuJoCo's, such as ``qfrc_applied``.

        Args:
            q: Our configuration, ``(..., nq)``.
            qfrc: MuJoCo's joint forces, ``(..., nv)``.
        """
        return self._turned(q, qfrc, "qfrc", into_world=False)

    def to_qfrc(self, q: npt.ArrayLike, tau: npt.ArrayLike) -> Floats:
        """MuJoCo's joint forces ``(..., nv)`` from ours.

        Args:
            q: Our configuration, ``(..., nq)``.
            tau: Our joint forces, ``(..., nv)``.
        """
        return self._turned(q, tau, "tau", into_world=True)

    def from_qacc(self, q: npt.ArrayLike, v: npt.ArrayLike, qacc: npt.ArrayLike) -> Floats:
        """Our acceleration ``(..., nv)`` from MuJoCo's, at our ``q`` and ``v``.

        Args:
            q: Our configuration, ``(..., nq)``.
            v: Our velocity, ``(..., nv)``.
            qacc: MuJoCo's acceleration, ``(..., nv)``.
        """
        return self._turned(q, qacc, "qacc", into_world=False) - self._carried(v)

    def to_qacc(self, q: npt.ArrayLike, v: npt.ArrayLike, a: npt.ArrayLike) -> Floats:
        """MuJoCo's acceleration ``(..., nv)`` from ours.

        Args:
            q: Our configuration, ``(..., nq)``.
            v: Our velocity, ``(..., nv)``.
            a: Our acceleration, ``(..., nv)``.
        """
        return self._turned(q, rows_of(a, "a", (self.robot.nv,)) + self._carried(v), "a", into_world=True)

    def velocity_matrix(self, q: npt.ArrayLike) -> Floats:
        """``T (..., nv, nv)`` with ``qvel = T v``: our mass matrix is ``Tᵀ M T`` of MuJoCo's, our Jacobians ``J T``.

        Args:
            q: Our configuration, ``(..., nq)``.
        """
        array = rows_of(q, "q", (self.robot.nq,))
        columns = self._turned(array[..., None, :], np.eye(self.robot.nv), "v", into_world=True)
        return np.swapaxes(columns, -1, -2)

    def _turned(self, q: npt.ArrayLike, x: npt.ArrayLike, name: str, into_world: bool) -> Floats:
        """The linear parts of free joints turned between the axes of body and world."""
        place, vector = rows_of(q, "q", (self.robot.nq,)), rows_of(x, name, (self.robot.nv,))
        try:
            batch = np.broadcast_shapes(place.shape[:-1], vector.shape[:-1])
        except ValueError:
            raise InputError(f"leading axes {place.shape[:-1]} and {vector.shape[:-1]} do not broadcast") from None
        out = np.broadcast_to(vector, (*batch, self.robot.nv)).copy()
        for in_q, linear in self._free:
            rotation = place[..., in_q]
            if not (np.linalg.norm(rotation, axis=-1) > 1e-6).all():
                raise InputError(f"q[{in_q.start}:{in_q.stop}] has zero length: no direction to normalize to")
            rotation = unit(rotation) if into_world else quaternion_conjugate(unit(rotation))
            out[..., linear] = quaternion_rotate(rotation, out[..., linear])
        return out

    def _carried(self, v: npt.ArrayLike) -> Floats:
        """``w x v`` of free joints: the acceleration of a body whose velocity in its own axes is constant."""
        array = rows_of(v, "v", (self.robot.nv,))
        out = np.zeros_like(array)
        for _, linear in self._free:
            angular = slice(linear.stop, linear.stop + 3)
            out[..., linear] = np.cross(array[..., angular], array[..., linear])
        return out


def mujoco_map(robot: Mechanism) -> MujocoMap:
    """The conversions for a mechanism whose joints are those of MJCF, in the order of its file.

    Args:
        robot: From `load` or `from_mujoco`.
    """
    check_robot(robot)
    to_q, to_qpos, free = [], [], []
    for joint in robot.joints:
        in_q, in_v = robot.q_slice(joint.name), robot.v_slice(joint.name)
        numbers = list(range(in_q.start, in_q.stop))
        if isinstance(joint.type, Spherical | Free):
            plain, turn = numbers[:-4], numbers[-4:]
            to_q += plain + [turn[k] for k in _TO_W_LAST]
            to_qpos += plain + [turn[k] for k in _TO_W_FIRST]
            if isinstance(joint.type, Free):
                free.append((slice(turn[0], turn[0] + 4), slice(in_v.start, in_v.start + 3)))
        elif isinstance(joint.type, Revolute | Prismatic):
            to_q += numbers
            to_qpos += numbers
        else:
            raise InputError(f"joint '{joint.name}' is {joint.type.kind_name}, which MuJoCo does not have")
    return MujocoMap(robot, np.array(to_q, np.intp), np.array(to_qpos, np.intp), tuple(free))
