# SPDX-License-Identifier: BSD-3-Clause
"""Rotations as matrices and as unit quaternions ``x y z w``; leading axes are batch axes."""

from __future__ import annotations

import numpy as np

from linkwork.model.arrays import Floats, VectorLike

_NEXT, _AFTER = np.array([1, 2, 0]), np.array([2, 0, 1])


def tidy(R: Floats) -> Floats:
    """Round-off below one unit of 1.0 is not structure: make it exactly 0, 1 or -1."""
    whole = np.rint(R)
    return np.where(np.abs(R - whole) < 4e-16, whole + 0.0, R)


def axis_rotation(axis: VectorLike, angle: float) -> Floats:
    """Rotation matrix about a unit axis (Rodrigues); exact for quarter turns about coordinate axes."""
    x, y, z = (float(k) for k in axis)
    c, s = np.cos(angle), np.sin(angle)
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return tidy(np.eye(3) + s * K + (1 - c) * (K @ K))


def aligning_rotation(axis: Floats) -> Floats:
    """A rotation whose z column is the unit vector ``axis``: a signed permutation for a coordinate axis."""
    k = int(np.argmax(np.abs(axis)))
    x = np.zeros(3)
    x[(k + 1) % 3] = 1.0
    x = x - axis * (axis @ x)
    x /= np.linalg.norm(x)
    return tidy(np.column_stack([x, np.cross(axis, x), axis]))


def rotate(R: Floats, x: Floats) -> Floats:
    """``R x`` for matrices ``(..., 3, 3)`` and vectors ``(..., 3)``, whose leading axes broadcast."""
    if R.ndim == 2 and x.ndim == 1:
        single: Floats = R @ x
        return single
    turned: Floats = (R @ x[..., None])[..., 0]
    return turned


def cross(a: Floats, b: Floats) -> Floats:
    """``a x b`` along the last axis (NumPy's own takes ten times as long for one vector)."""
    product: Floats = a[..., _NEXT] * b[..., _AFTER] - a[..., _AFTER] * b[..., _NEXT]
    return product


def quaternion_matrix(q: Floats) -> Floats:
    """Rotation matrices ``(..., 3, 3)`` of unit quaternions ``(..., 4)``."""
    x, y, z, w = np.moveaxis(q, -1, 0)
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
        (2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
        (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
    )
    return tidy(np.stack([np.stack(row, axis=-1) for row in rows], axis=-2))


def quaternion_of(rotation: Floats) -> Floats:
    """Quaternions ``(..., 4)`` of rotation matrices ``(..., 3, 3)``, w not negative.

    ``4 q qᵀ`` is linear in the rotation; its longest column is the safest to divide by.
    """
    (a, b, c), (d, e, f), (g, h, i) = np.moveaxis(rotation, (-2, -1), (0, 1))
    outer = np.stack(
        [
            np.stack([1 + a - e - i, b + d, c + g, h - f], axis=-1),
            np.stack([b + d, 1 - a + e - i, f + h, c - g], axis=-1),
            np.stack([c + g, f + h, 1 - a - e + i, d - b], axis=-1),
            np.stack([h - f, c - g, d - b, 1 + a + e + i], axis=-1),
        ],
        axis=-2,
    )
    longest = np.diagonal(outer, axis1=-2, axis2=-1).argmax(axis=-1)
    quaternions: Floats = np.take_along_axis(outer, longest[..., None, None], axis=-2)[..., 0, :]
    quaternions = quaternions / np.linalg.norm(quaternions, axis=-1, keepdims=True)
    return np.where(quaternions[..., 3:] < 0, -quaternions, quaternions)


def quaternion_product(a: Floats, b: Floats) -> Floats:
    """``a b``: the rotation ``b``, then ``a``."""
    av, aw, bv, bw = a[..., :3], a[..., 3:], b[..., :3], b[..., 3:]
    vector = aw * bv + bw * av + cross(av, bv)
    return np.concatenate([vector, aw * bw - np.sum(av * bv, axis=-1, keepdims=True)], axis=-1)


def quaternion_conjugate(q: Floats) -> Floats:
    """The inverse rotation of a unit quaternion."""
    conjugate: Floats = q * np.array([-1.0, -1.0, -1.0, 1.0])
    return conjugate


def quaternion_rotate(q: Floats, x: Floats) -> Floats:
    """``R(q) x`` for a unit quaternion."""
    t = 2 * cross(q[..., :3], x)
    turned: Floats = x + q[..., 3:] * t + cross(q[..., :3], t)
    return turned


def unit(q: Floats) -> Floats:
    """``q / |q|`` along the last axis, also where squares would overflow."""
    q = q / np.abs(q).max(axis=-1, keepdims=True)
    scaled: Floats = q / np.linalg.norm(q, axis=-1, keepdims=True)
    return scaled
