# SPDX-License-Identifier: BSD-3-Clause
"""Distance and direction from a configuration to a posture, on the joints' manifolds.

| symbol      | meaning                                                                                   |
|-------------|-------------------------------------------------------------------------------------------|
| pull        | 1 for coordinates that the posture counts for, 0 for others                               |
| joint_scale | units of coordinates: one number for the rotation, one for the translation                |
| p           | gradient of half the square of the distance, in scaled coordinates                        |

Cost: O(n).
"""

from __future__ import annotations

from linkwork.kernels.elementary import maximum
from linkwork.kernels.joints import dof_of
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel, where
from linkwork.kernels.spatial import add, cross, dot, scale, sub
from linkwork.kernels.thresholds import IGNORED_ROW
from linkwork.model.joints import FREE, PLANAR, SPHERICAL


@kernel
def quaternion_difference(p: Array, q: Array, o: int) -> tuple[Scalar, tuple[Scalar, Scalar, Scalar]]:
    """Real and vector part of the rotation from the quaternion at ``o`` in ``p`` to that in ``q``, the first not
    negative."""
    a = (p[o], p[o + 1], p[o + 2])
    b = (q[o], q[o + 1], q[o + 2])
    real = p[o + 3] * q[o + 3] + dot(a, b)
    vector = sub(sub(scale(p[o + 3], b), scale(q[o + 3], a)), cross(a, b))
    sign = where(real, 0.0, -1.0, 1.0)
    return sign * real, scale(sign, vector)


@kernel
def rotate_back(q: Array, o: int, x: Vector) -> tuple[Scalar, Scalar, Scalar]:
    """``x`` rotated by the inverse of the quaternion that begins at ``o``."""
    a = (q[o], q[o + 1], q[o + 2])
    t = scale(2.0 / (dot(a, a) + q[o + 3] * q[o + 3]), cross(x, a))
    return add(x, add(scale(q[o + 3], t), cross(t, a)))


@kernel
def posture_difference(tree: Array, w: Array, q: Array, posture: Array, pull: Array, joint_scale: Array) -> Scalar:
    """``p``, the gradient of half the square of the distance from the posture; returns the latter.

    The distance of two orientations is ``2 sin(angle / 2)``; of free and planar joints, positions and orientations
    count apart.
    """
    p = posture
    total = 0.0
    for i in range(1, tree.n):
        kind = tree.kind[i]
        o = tree.iq[i]
        k = tree.iv[i]
        turning = k
        if kind == FREE:
            moved = rotate_back(q, o + 3, (q[o] - p[o], q[o + 1] - p[o + 1], q[o + 2] - p[o + 2]))
            for j in range(3):
                w.p[k + j] = moved[j]
            turning = k + 3
        if kind == FREE or kind == SPHERICAL:
            c, x = quaternion_difference(p, q, o + 3 if kind == FREE else o)
            chord = scale(2.0, x)
            for j in range(3):
                w.p[turning + j] = c * chord[j]
            weight = pull[turning] / maximum(joint_scale[turning], IGNORED_ROW)
            # the square of the chord is not that of its gradient, c times the chord
            total += weight * weight * dot(chord, chord) * (1.0 - c * c)
        elif kind == PLANAR:
            x = q[o] - p[o]
            y = q[o + 1] - p[o + 1]
            w.p[k] = q[o + 2] * x + q[o + 3] * y
            w.p[k + 1] = q[o + 2] * y - q[o + 3] * x
            sine = p[o + 2] * q[o + 3] - p[o + 3] * q[o + 2]
            cosine = p[o + 2] * q[o + 2] + p[o + 3] * q[o + 3]
            w.p[k + 2] = sine
            weight = pull[k + 2] / maximum(joint_scale[k + 2], IGNORED_ROW)
            total += weight * weight * (2.0 - 2.0 * cosine - sine * sine)
        else:
            for j in range(dof_of(kind)):
                w.p[k + j] = q[o + j] - p[o + j]
    for k in range(tree.nv):
        w.p[k] *= pull[k] / maximum(joint_scale[k], IGNORED_ROW)
        total += w.p[k] * w.p[k]
    return 0.5 * total
