# SPDX-License-Identifier: BSD-3-Clause
"""Rotations of free joints in batches, for observations of floating bodies."""

from __future__ import annotations

import numpy as np

from linkwork.quantities.arguments import Array


def rotations(quaternions: Array) -> Array:
    """Rotation matrices, ``(..., 3, 3)``, from the body's axes to the world's.

    Args:
        quaternions: x, y, z, w, ``(..., 4)``, of length 1.
    """
    x, y, z, w = np.moveaxis(quaternions, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def to_body(R: Array, vectors: Array) -> Array:
    """Vectors in the axes of bodies, ``(..., 3)``.

    Args:
        R: Rotations from the body's axes to the world's, ``(..., 3, 3)``.
        vectors: In the world's axes, ``(..., 3)``.
    """
    turned: Array = np.einsum("...ji,...j->...i", R, vectors)
    return turned


def to_world(R: Array, vectors: Array) -> Array:
    """Vectors in the world's axes, ``(..., 3)``.

    Args:
        R: Rotations from the body's axes to the world's, ``(..., 3, 3)``.
        vectors: In the axes of the bodies, ``(..., 3)``.
    """
    turned: Array = np.einsum("...ij,...j->...i", R, vectors)
    return turned


def quaternions(turns: Array) -> Array:
    """Quaternions x, y, z, w of rotation vectors, ``(..., 4)``.

    Args:
        turns: Axis times angle, ``(..., 3)``, in radians.
    """
    angle = np.linalg.norm(turns, axis=-1, keepdims=True)
    scale = 0.5 * np.sinc(angle / (2 * np.pi))
    return np.concatenate([scale * turns, np.cos(angle / 2)], axis=-1)
