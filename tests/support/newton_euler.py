# SPDX-License-Identifier: BSD-3-Clause
"""Equations of motion of trees of revolute and prismatic joints, in the world's axes, by NumPy alone: no kernel."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from linkwork.mechanism import Mechanism
from linkwork.model.joints import Prismatic, Revolute
from tests.support.states import Floats


def rotation(axis: Floats, angle: float) -> Floats:
    """Rodrigues' formula."""
    x, y, z = axis
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.asarray(np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K)


def equations_of_motion(robot: Mechanism, q: npt.ArrayLike, v: npt.ArrayLike) -> tuple[Floats, Floats]:
    """M and c of ``M a + c = tau``: sums over bodies of ``J' m J``, and of what is needed where ``a = 0``."""
    q, v = np.asarray(q), np.asarray(v)
    zero = np.zeros(3)
    R, o = {"world": np.eye(3)}, {"world": zero}
    omega, alpha, acceleration = {"world": zero}, {"world": zero}, {"world": zero}
    columns: dict[str, list[tuple[int, Floats, Floats, bool]]] = {"world": []}
    M, c = np.diag(robot.armature).astype(float), np.zeros(robot.nv)
    for joint in robot.joints:
        assert isinstance(joint.type, Revolute | Prismatic)
        parent, body, turns = joint.parent, joint.child, isinstance(joint.type, Revolute)
        k, x = robot.v_slice(joint.name).start, float(q[robot.q_slice(joint.name).start])
        frame = R[parent] @ joint.placement.rotation
        z = frame @ joint.type.axis
        arm = R[parent] @ joint.placement.position + (0.0 if turns else x * z)
        R[body] = frame @ rotation(joint.type.axis, x) if turns else frame
        o[body] = o[parent] + arm
        w = omega[parent]
        omega[body] = w + (v[k] * z if turns else 0.0)
        alpha[body] = alpha[parent] + (np.cross(w, v[k] * z) if turns else 0.0)
        acceleration[body] = acceleration[parent] + np.cross(alpha[parent], arm) + np.cross(w, np.cross(w, arm))
        acceleration[body] = acceleration[body] + (0.0 if turns else 2 * np.cross(w, v[k] * z))
        columns[body] = [*columns[parent], (k, z, o[body], turns)]
        inertia = robot.inertias[body]
        com = R[body] @ inertia.com
        I = R[body] @ inertia.rotational @ R[body].T
        Jw, Jv = np.zeros((3, robot.nv)), np.zeros((3, robot.nv))
        for i, axis, origin, about in columns[body]:
            Jw[:, i] = axis if about else 0.0
            Jv[:, i] = np.cross(axis, o[body] + com - origin) if about else axis
        w, turning = omega[body], alpha[body]
        a = acceleration[body] + np.cross(turning, com) + np.cross(w, np.cross(w, com))
        M += inertia.mass * Jv.T @ Jv + Jw.T @ I @ Jw
        c += inertia.mass * Jv.T @ (a - robot.gravity) + Jw.T @ (I @ turning + np.cross(w, I @ w))
    return M, c
