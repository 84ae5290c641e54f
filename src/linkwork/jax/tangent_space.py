# SPDX-License-Identifier: BSD-3-Clause
"""Between coordinates and tangent spaces: maps of `kernels.tree.tangent_space` and their transposes, as JAX functions.

Derivatives by a configuration are tangent vectors here (``nv`` numbers), and have its shape (``nq``) in JAX. No result
depends on the length of a quaternion or of a direction ``(cos, sin)``, so that the derivative by coordinates is the one
in tangent space times the matrix ``V`` of `velocities`: exact, and zero along what only changes a length.

| map                             | of one turn                               | meaning                              |
|---------------------------------|-------------------------------------------|--------------------------------------|
| ``rates(q, v)``                 | ``T v``: ``dq = 1/2 q * w``                | rates of coordinates                  |
| ``velocities(q, dq)``           | ``V dq``: ``w = 2 q^-1 * dq``              | their inverse; lengths may change     |
| ``rates(q, g, dual=True)``      | ``V' g = T g 4 / q'q`` (directions: no 4)  | gradients by coordinates             |
| ``velocities(q, s, dual=True)`` | ``T' s = V s q'q / 4``                     | gradients by tangent vectors          |
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp

from linkwork.kernels.joints import dof_of
from linkwork.model.joints import FREE, PLANAR, SPHERICAL
from linkwork.plans.tree import Tree

Array = Any


class Block(NamedTuple):
    """Joints whose coordinates are next to each other: one that turns, or several whose coordinates are flat."""

    kind: int | None
    """The kind of a joint that turns; None for flat coordinates."""
    q: int
    """Where coordinates begin."""
    v: int
    """Where velocities begin."""
    size: int
    """Velocities."""


class TangentSpace:
    """The tangent spaces of a robot's configurations.

    Args:
        tree: The plan of the robot.
    """

    def __init__(self, tree: Tree) -> None:
        self.blocks: list[Block] = []
        joints = [(int(tree.kind[i]), int(tree.iq[i]), int(tree.iv[i])) for i in range(1, int(tree.n))]
        for kind, q, v in sorted(joints, key=lambda joint: joint[2]):
            size = int(dof_of(kind))
            last = self.blocks[-1] if self.blocks else None
            if kind in (FREE, PLANAR, SPHERICAL):
                self.blocks.append(Block(kind, q, v, size))
            elif last is not None and last.kind is None and last.q + last.size == q and last.v + last.size == v:
                self.blocks[-1] = last._replace(size=last.size + size)
            elif size:
                self.blocks.append(Block(None, q, v, size))
        self.flat = all(block.kind is None and block.q == block.v for block in self.blocks)
        """Whether velocities are the rates of coordinates."""

    def rates(self, q: Array, v: Array, dual: bool = False) -> Array:
        """Rates of coordinates of a tangent vector; ``dual``: the gradient by coordinates of one in tangent space."""
        if self.flat:
            return v
        parts = {}
        for kind, o, k, size in self.blocks:
            x = v[..., k : k + size]
            if kind is None:
                parts[o] = x
            elif kind == PLANAR:
                parts[o] = _planar_rates(q[..., o : o + 4], x, dual)
            else:
                turn = o + 3 if kind == FREE else o
                p = q[..., turn : turn + 4]
                turning = _quaternion_rates(p, x[..., size - 3 :], dual)
                parts[o] = turning if kind == SPHERICAL else _joined(_rotated(p, x[..., :3]), turning)
        return _joined(*(parts[o] for o in sorted(parts)))

    def normalize(self, q: Array) -> Array:
        """Quaternions and directions of unit length."""
        parts = []
        for kind, o, _, size in self.blocks:
            turn = {FREE: o + 3, PLANAR: o + 2}.get(kind or 0, o)
            end = turn + (2 if kind == PLANAR else 4) if kind is not None else o + size
            parts.append(q[..., o : end if kind is None else turn])
            if kind is not None:
                parts.append(q[..., turn:end] / jnp.linalg.norm(q[..., turn:end], axis=-1, keepdims=True))
        return _joined(*parts)

    def velocities(self, q: Array, rates: Array, dual: bool = False) -> Array:
        """The tangent vector of rates of coordinates; ``dual``: the gradient by it of one by coordinates."""
        if self.flat:
            return rates
        parts = []
        for kind, o, _, size in self.blocks:
            if kind is None:
                parts.append(rates[..., o : o + size])
            elif kind == PLANAR:
                parts.append(_planar_velocities(q[..., o : o + 4], rates[..., o : o + 4], dual))
            else:
                turn = o + 3 if kind == FREE else o
                p = q[..., turn : turn + 4]
                if kind == FREE:
                    parts.append(_rotated(p * jnp.array([-1, -1, -1, 1], p.dtype), rates[..., o : o + 3]))
                parts.append(_angular_velocity(p, rates[..., turn : turn + 4], dual))
        return _joined(*parts)


def _joined(*parts: Array) -> Array:
    lead = jnp.broadcast_shapes(*(x.shape[:-1] for x in parts))
    return jnp.concatenate([jnp.broadcast_to(x, (*lead, x.shape[-1])) for x in parts], axis=-1)


def _quaternion_rates(p: Array, w: Array, dual: bool) -> Array:
    """``1/2 p * w``."""
    half = (2.0 / jnp.sum(p * p, -1, keepdims=True) if dual else 0.5) * w
    a, u = p[..., :3], p[..., 3:]
    return _joined(u * half + jnp.cross(a, half), -jnp.sum(a * half, -1, keepdims=True))


def _angular_velocity(p: Array, rates: Array, dual: bool) -> Array:
    """``2 p^-1 * rates``."""
    a, u, x = p[..., :3], p[..., 3:], rates[..., :3]
    scale = 0.5 if dual else 2.0 / jnp.sum(p * p, -1, keepdims=True)
    return scale * (u * x - rates[..., 3:] * a - jnp.cross(a, x))


def _rotated(p: Array, x: Array) -> Array:
    """A vector rotated by a quaternion of any length."""
    a = p[..., :3]
    t = 2.0 / jnp.sum(p * p, -1, keepdims=True) * jnp.cross(a, x)
    return x + p[..., 3:] * t + jnp.cross(a, t)


def _planar_rates(p: Array, v: Array, dual: bool) -> Array:
    c, s = p[..., 2], p[..., 3]
    squared = c * c + s * s
    length = 1.0 / jnp.sqrt(squared)
    turn = v[..., 2] / squared if dual else v[..., 2]
    moving = length * (c * v[..., 0] - s * v[..., 1]), length * (s * v[..., 0] + c * v[..., 1])
    return jnp.stack([*moving, -(s * turn), c * turn], axis=-1)


def _planar_velocities(p: Array, rates: Array, dual: bool) -> Array:
    c, s = p[..., 2], p[..., 3]
    squared = c * c + s * s
    length = 1.0 / jnp.sqrt(squared)
    moving = length * (c * rates[..., 0] + s * rates[..., 1]), length * (c * rates[..., 1] - s * rates[..., 0])
    turn = c * rates[..., 3] - s * rates[..., 2]
    return jnp.stack([*moving, turn if dual else turn / squared], axis=-1)
