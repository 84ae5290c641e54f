# SPDX-License-Identifier: BSD-3-Clause
"""The configuration space of a model: the product of its joints' Lie groups.

`ConfigurationSpace` knows where in q and v each joint has its coordinates, and computes on the whole: ``integrate``
is the exponential map of every joint, ``difference`` the logarithm.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from linkwork.errors import InputError
from linkwork.inputs import batch_shape, plural, random_generator, real_array
from linkwork.model import lie
from linkwork.model.arrays import Floats
from linkwork.model.named import Named
from linkwork.model.parts import TreeJoint
from linkwork.model.rotations import unit


class ConfigurationSpace:
    """Coordinates of q and v of a tree of joints, and operations on them; leading axes are batch axes.

    Args:
        robot: Name of the robot, for errors.
        joints: Joints in the order of q and v.
        constraints: Names of constraints, for errors.
    """

    def __init__(self, robot: str, joints: Sequence[TreeJoint], constraints: Sequence[str] = ()) -> None:
        self._robot, self._joints = robot, tuple(joints)
        qs, vs, nq, nv = [], [], 0, 0
        for joint in self._joints:
            qs.append(slice(nq, nq + joint.type.nq))
            vs.append(slice(nv, nv + joint.type.nv))
            nq, nv = qs[-1].stop, vs[-1].stop
        self.nq, self.nv = nq, nv
        self.indices = Named(robot, "joint", {j.name: k for k, j in enumerate(self._joints)}, constraints)
        """Index of each joint by name."""
        self.q_slices, self.v_slices = tuple(qs), tuple(vs)
        self.unit_slices = tuple(
            slice(at.start + j.type.unit[0], at.start + sum(j.type.unit))
            for j, at in zip(self._joints, qs, strict=True)
            if j.type.unit is not None
        )
        """Coordinates of q that have unit length together: quaternions, and cos and sin of planar joints."""
        self._groups = _grouped(self._joints, qs, vs)

    def neutral(self) -> Floats:
        """The neutral configuration of all joints, ``(nq,)``."""
        return np.array([x for j in self._joints for x in j.type.neutral], dtype=np.float64)

    def random(self, seed: int | np.random.Generator, size: int | Sequence[int]) -> Floats:
        """Random configurations within the limits, ``(*size, nq)``."""
        rng = random_generator(seed)
        lead = batch_shape(size)
        parts = [j.type.group.random(rng, j.limits.lower, j.limits.upper, j.type.width, lead) for j in self._joints]
        return np.concatenate(parts, axis=-1) if parts else np.zeros((*lead, 0))

    def integrate(self, q: npt.ArrayLike, v: npt.ArrayLike) -> Floats:
        """``q`` moved along the constant velocity ``v`` for one second, ``(..., nq)``."""
        q, v = _broadcast(self._configuration(q, "q"), self._checked(v, self.nv, "v"))
        out = np.empty((*q.shape[:-1], self.nq))
        for group, in_q, in_v in self._groups:
            out[..., in_q] = group.integrate(q[..., in_q], v[..., in_v])
        return out

    def difference(self, q: npt.ArrayLike, p: npt.ArrayLike) -> Floats:
        """The velocity that leads from ``q`` to ``p`` in one second, ``(..., nv)``."""
        q, p = _broadcast(self._configuration(q, "q"), self._configuration(p, "p"))
        out = np.empty((*q.shape[:-1], self.nv))
        for group, in_q, in_v in self._groups:
            out[..., in_v] = group.difference(q[..., in_q], p[..., in_q])
        return out

    def normalize(self, q: npt.ArrayLike) -> Floats:
        """``q`` with coordinates of unit length normalized, ``(..., nq)``."""
        out = self._configuration(q, "q").copy()
        for at in self.unit_slices:
            out[..., at] = unit(out[..., at])
        return out

    def state(self, q: npt.ArrayLike, **vectors: npt.ArrayLike) -> tuple[Floats, ...]:
        """``q``, normalized, and vectors of ``nv`` numbers by their names, with the same leading axes."""
        arrays = [self.normalize(q), *(self._checked(x, self.nv, name) for name, x in vectors.items())]
        lead: Floats = arrays[0]
        for other in arrays[1:]:
            lead, _ = _broadcast(lead, other)
        return tuple(np.broadcast_to(x, (*lead.shape[:-1], x.shape[-1])) for x in arrays)

    def _configuration(self, q: npt.ArrayLike, name: str) -> Floats:
        """``q`` as an array, whose coordinates of unit length have a direction."""
        array = self._checked(q, self.nq, name)
        for at in self.unit_slices:
            if (np.abs(array[..., at]).max(axis=-1, initial=0.0) < 1e-6).any():
                raise InputError(f"{name}[{at.start}:{at.stop}] has zero length: no direction to normalize to")
        return array

    def _checked(self, x: npt.ArrayLike, width: int, name: str) -> Floats:
        array: Floats = real_array(x, name).astype(np.float64, copy=False)
        if array.ndim == 0 or array.shape[-1] != width:
            number = "a single number" if array.ndim == 0 else plural(array.shape[-1], "number")
            raise InputError(f"{name} has {number}, robot '{self._robot}' needs {width}")
        if not np.isfinite(array).all():
            raise InputError(f"{name} holds NaN or infinity")
        return array


def _broadcast(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Both with the same leading axes."""
    if a.shape[:-1] == b.shape[:-1]:
        return a, b
    try:
        lead = np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
    except ValueError:
        raise InputError(f"leading axes {a.shape[:-1]} and {b.shape[:-1]} do not broadcast") from None
    return np.broadcast_to(a, (*lead, a.shape[-1])), np.broadcast_to(b, (*lead, b.shape[-1]))


def _grouped(
    joints: Sequence[TreeJoint], qs: Sequence[slice], vs: Sequence[slice]
) -> tuple[tuple[lie.Group, slice, slice], ...]:
    """The group of each joint and its coordinates in q and v, neighbors that are vector spaces taken together."""
    runs: list[tuple[lie.Group, slice, slice]] = []
    for joint, q, v in zip(joints, qs, vs, strict=True):
        group = joint.type.group
        if runs and group is lie.VECTOR and runs[-1][0] is lie.VECTOR:
            q, v = slice(runs[-1][1].start, q.stop), slice(runs[-1][2].start, v.stop)
            runs.pop()
        runs.append((group, q, v))
    return tuple(runs)


def single_index(at: slice, joint: str, other: str) -> int:
    """Where the one coordinate of a joint stands; an `InputError` where it has several.

    Args:
        at: Where its coordinates stand.
        joint: Its name.
        other: The function for several states.
    """
    if at.stop - at.start != 1:
        raise InputError(f"joint '{joint}' has {at.stop - at.start} coordinates, not one: use {other}")
    return int(at.start)
