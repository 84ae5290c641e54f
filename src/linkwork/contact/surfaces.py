# SPDX-License-Identifier: BSD-3-Clause
"""Surfaces of triangles, and which normals contacts with them can have: internal edges are no edges.

A library for collisions sees one triangle at a time: the shortest way out of a flat ground of triangles may be
sideways, over an edge that the next triangle continues. A normal can lean over an edge at most as far as the normal of
the triangle beyond it does, which on flat and concave edges is not at all; on the border as far as it likes.

| symbol | meaning                                                                    |
|--------|----------------------------------------------------------------------------|
| m      | normal of a triangle                                                       |
| out    | unit vector in its plane, across an edge                                   |
| c, s   | parts of the next triangle's normal along ``m`` and ``out``                |
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from linkwork.contact.thresholds import LEAST_EXTENT, OVER_EDGE, SAME_POINT
from linkwork.model.arrays import Floats


class Surface(NamedTuple):
    """Triangles, and the triangles beyond their edges, each from a corner to the next."""

    corners: Floats
    """(k, 3, 3)"""
    m: Floats
    """(k, 3) by the order of corners."""
    out: Floats
    """(k, 3, 3)"""
    c: Floats
    """(k, 3)"""
    s: Floats
    """(k, 3)"""
    inner: npt.NDArray[np.bool_]
    """(k, 3) whether there is a triangle beyond the edge."""

    @classmethod
    def of(cls, vertices: Floats, faces: npt.NDArray[np.int64]) -> Surface:
        """The surface of some triangles.

        Args:
            vertices: Points, of which some may be the same, ``(n, 3)``.
            faces: Three of them for each triangle, ``(k, 3)``.
        """
        size = float(np.abs(vertices).max(initial=LEAST_EXTENT))
        _, point = np.unique(np.round(vertices / (SAME_POINT * size)), axis=0, return_inverse=True)
        corners = vertices[faces]
        along = np.roll(corners, -1, axis=1) - corners
        m = _unit(np.cross(along[:, 0], along[:, 1]))
        out = _unit(np.cross(along, m[:, None]))
        first = point.reshape(-1)[faces].reshape(-1)
        second = np.roll(first.reshape(-1, 3), -1, axis=1).reshape(-1)
        edges, reverse = first * len(vertices) + second, second * len(vertices) + first
        order = np.argsort(edges)
        place = order[np.minimum(np.searchsorted(edges, reverse, sorter=order), len(edges) - 1)]
        theirs = m[place // 3].reshape(-1, 3, 3)
        c, s = np.einsum("kej,kj->ke", theirs, m), np.einsum("kej,kej->ke", theirs, out)
        return cls(corners, m, out, c, s, (edges[place] == reverse).reshape(-1, 3))

    def admits(self, k: int, n: Floats) -> bool:
        """Whether a contact with triangle ``k`` can have the normal ``n``, on either side of the surface."""
        lean = self.out[k] @ n
        beyond = lean * self.c[k] - float(self.m[k] @ n) * self.s[k]  # of the next normal, about the edge
        return not bool((self.inner[k] & (lean > OVER_EDGE) & (beyond > OVER_EDGE)).any())

    def nearest(self, k: int, x: Floats) -> Floats:
        """A point of triangle ``k`` near to ``x``: below it, or on an edge."""
        a, b, c = self.corners[k]
        shares = np.linalg.lstsq(np.stack([b - a, c - a], axis=1), x - a, rcond=None)[0]
        inside = np.clip([1.0 - shares.sum(), *shares], 0.0, None)
        return np.asarray(inside @ self.corners[k] / inside.sum())


def _unit(x: Floats) -> Floats:
    """Vectors of length one; zero where they have none."""
    length = np.linalg.norm(x, axis=-1, keepdims=True)
    return np.asarray(x / np.where(length > 0, length, 1.0))
