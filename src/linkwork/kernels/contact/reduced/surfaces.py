# SPDX-License-Identifier: BSD-3-Clause
"""Velocities of surfaces that move on their bodies (conveyors, tracks, turntables), as contacts see them.

A surface has the velocity ``omega x (p - o) + u`` at a point ``p``, with its angular and linear velocity at the origin
``o`` of its shape. What counts is in the tangent plane, and the rotation about the normal::

    s = (t1, t2) . (field of the second - field of the first);    spin = n . (omega of the second - of the first)

They are part of ``c`` in the reduced step: ``mu s`` of the rows of friction.
"""

from __future__ import annotations

from linkwork.kernels.contact.reduced.problem import PYRAMID
from linkwork.kernels.contact.reduced.pyramid import turned
from linkwork.kernels.scalar import Array, Scalar, kernel
from linkwork.kernels.spatial import Triple, add, column, cross, dot, rotate, sub


@kernel
def relative_surface_velocity(tree: Array, w: Array, c: int, s: int) -> tuple[Scalar, Scalar, Scalar]:
    """Surface velocity of the second shape relative to the first at slot ``s`` of pair ``c``: along t1 and t2, and
    about the normal; after `pair_geometry`."""
    first = tree.contact_first[c]
    second = tree.contact_second[c]
    R = w.contact_R[s]
    u = sub(surface_field(tree, w, second, w.point[s]), surface_field(tree, w, first, w.point[s]))
    turning = sub(surface_spin(tree, w, second), surface_spin(tree, w, first))
    return dot(column(R, 0), u), dot(column(R, 1), u), dot(column(R, 2), turning)


@kernel
def surface_rows(tree: Array, w: Array, e: int, c: int, s: int) -> None:
    """``row_c`` of friction of slot ``s`` of pair ``c``, whose set is ``e``."""
    x, y, spin = relative_surface_velocity(tree, w, c, s)
    if w.cone_kind[e] == PYRAMID:
        x, y = turned(w, e, x, y, 1.0)
    mu = tree.pair_friction[c]
    row = w.cone_row[e]
    if w.cone_dim[e] > 1:
        w.row_c[row + 1] = mu[0] * x
        w.row_c[row + 2] = mu[1] * y
    if w.cone_dim[e] > 3:
        w.row_c[row + 3] = mu[2] * spin


@kernel
def surface_spin(tree: Array, w: Array, k: int) -> Triple:
    """Angular velocity of the surface of shape ``k`` relative to its body, in the world."""
    x = tree.shape_surface[k]
    return rotate(w.shape_R[k], (x[0], x[1], x[2]))


@kernel
def surface_field(tree: Array, w: Array, k: int, point: Array) -> Triple:
    """Velocity of the surface of shape ``k`` relative to its body at a point, in the world."""
    x = tree.shape_surface[k]
    u = rotate(w.shape_R[k], (x[3], x[4], x[5]))
    return add(u, cross(surface_spin(tree, w, k), sub(point, w.shape_p[k])))
