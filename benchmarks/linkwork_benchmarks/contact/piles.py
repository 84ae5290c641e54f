# SPDX-License-Identifier: BSD-3-Clause
"""Cubes at rest on each other as contact problems of rows: Delassus matrix, free velocity, friction.

Every solver gets the same arrays. Faces that touch have four contacts, at the corners of what they share; contact axes
are those of the world, the normal one up, forces act on the upper cube.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from linkwork_benchmarks.robots import Floats

EDGE = 0.2
DT = 1e-3
GRAVITY = 9.81


class Pile(NamedTuple):
    """A contact problem."""

    G: Floats
    """Delassus matrix."""
    g: Floats
    """Velocities of contacts after a step without contact forces."""
    friction: Floats


def stack(masses: Sequence[float], friction: float = 0.5) -> Pile:
    """Cubes on top of each other, the lowest on the ground."""
    centers = np.array([[0.0, 0.0, (k + 0.5) * EDGE] for k in range(len(masses))])
    return pile(centers, np.asarray(masses), friction)


def pyramid(layers: int, gap: float = 0.02, friction: float = 0.5) -> Pile:
    """A pyramid in a plane: each cube rests on two below it."""
    centers = [
        [(k - 0.5 * (layers - layer - 1)) * (EDGE + gap), 0.0, (layer + 0.5) * EDGE]
        for layer in range(layers)
        for k in range(layers - layer)
    ]
    return pile(np.array(centers), np.ones(len(centers)), friction)


def pile(centers: Floats, masses: Floats, friction: float) -> Pile:
    """Cubes at these places."""
    n = len(centers)
    inverse = np.concatenate([np.r_[np.full(3, 1 / m), np.full(3, 6 / (m * EDGE * EDGE))] for m in masses])
    rows = []
    for k, center in enumerate(centers):
        for other in _below(centers, k):
            low, high = center[:2] - EDGE / 2, center[:2] + EDGE / 2
            if other >= 0:
                low = np.maximum(low, centers[other, :2] - EDGE / 2)
                high = np.minimum(high, centers[other, :2] + EDGE / 2)
            for x in (low[0], high[0]):
                for y in (low[1], high[1]):
                    point = np.array([x, y, center[2] - EDGE / 2])
                    J = np.zeros((3, 6 * n))
                    for body, sign in ((k, 1.0), (other, -1.0)):
                        if body >= 0:
                            J[:, 6 * body : 6 * body + 3] = sign * np.eye(3)
                            J[:, 6 * body + 3 : 6 * body + 6] = -sign * _cross(point - centers[body])
                    rows.append(J)
    J, v = np.vstack(rows), np.zeros(6 * n)
    v[2::6] = -GRAVITY * DT
    G = (J * inverse) @ J.T
    G = 0.5 * (G + G.T)
    G[np.abs(G) < 1e-12 * np.abs(G).max()] = 0.0
    return Pile(G, J @ v, np.full(len(rows), friction))


def _below(centers: Floats, k: int) -> list[int]:
    """What a cube rests on; -1 is the ground."""
    if centers[k, 2] < EDGE:
        return [-1]
    drop = centers[k] - centers
    near = (np.abs(drop[:, 2] - EDGE) < 0.1 * EDGE) & (np.abs(drop[:, :2]) < EDGE).all(axis=1)
    return [int(i) for i in np.flatnonzero(near)]


def _cross(a: Floats) -> Floats:
    """``a x``."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])
