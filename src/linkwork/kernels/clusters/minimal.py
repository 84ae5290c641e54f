# SPDX-License-Identifier: BSD-3-Clause
"""Minimal coordinates in steps of integrators: dependent joints follow the independent ones, to rounding.

**clusters** Section II-B. Positions and velocities ``y`` of the independent degrees of freedom determine those of the
others, and forward dynamics at every stage is C-ABA (`cluster_aba`): nothing to stabilize, no regularization. A stage,
or the step, predicts the configuration, and Newton's method closes its loops with the independent joints held::

    q_d <- q_d - (Kd' W Kd)^-1 Kd' W phi(q),        v_d = G y = -(Kd' W Kd)^-1 Kd' W Ki y

with as many corrections as `CORRECTIONS`, since straight-line code has no branches. They converge quadratically from a
prediction that is wrong by O(h³) or less: errors are ``h³, h⁶, h¹²``. Gears and belts are linear: one correction is
exact.

Runge-Kutta methods have ``v_d = G y`` at every stage and at the end. A step of semi-implicit Euler leaves
``v_d - G y = h s`` of O(h²), which the next one removes by constraint forces, ``q'' = G y'' + g - s``: projected in
the metric of kinetic energy. Replacing ``v_d`` by ``G y`` after every step instead moves that error along the dependent
joints, and energy drifts ten times as fast.

| symbol   | meaning                                                                                 |
|----------|-----------------------------------------------------------------------------------------|
| phi      | errors of the rows: ``w.error``                                                         |
| at       | the configuration that poses of joints are those of                                     |
| dq       | a correction of dependent coordinates; zero for the others                              |
| slip     | ``s = (v_d - G y) / h``                                                                 |
| fault    | 0 while loops close; else minus (1 + the cluster whose independent joints do not        |
|          | determine the others), or minus (1 + clusters + the cluster that stays open)            |

and those of `clusters`. Cost of a correction: cubic in the joints of a cluster, linear in the clusters.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.clusters.aba import CLUSTERED, cluster_aba_sweeps
from linkwork.kernels.clusters.columns import cluster_jacobian
from linkwork.kernels.clusters.explicit import (
    explicit_bias,
    explicit_jacobian,
    factorize_normal_matrix,
    solve_dependent,
)
from linkwork.kernels.constrained.constraints import constraint_bias, constraint_rows
from linkwork.kernels.constrained.problem import WORK, Result
from linkwork.kernels.elementary import magnitude, maximum
from linkwork.kernels.integration import displace, integrate
from linkwork.kernels.joints import joint_transform, quaternion_rotation, slide_along_axis
from linkwork.kernels.scalar import Array, Scalar, kernel, where
from linkwork.kernels.thresholds import CLUSTER_PIVOT, LARGEST_CORRECTION
from linkwork.kernels.tree.kinematics import body_acceleration, body_angular_velocity, joint_transforms
from linkwork.kernels.tree.rnea import apply_wrenches, init_root, newton_euler_force
from linkwork.model.joints import HELICAL, REVOLUTE, SPHERICAL

CORRECTIONS = 2
"""Newton's corrections of a predicted configuration."""
S3, S5, S7, S9, S11 = (-1 / 6, 1 / 120, -1 / 5040, 1 / 362880, -1 / 39916800)
C4, C6, C8, C10, C12 = (-1 / 24, 1 / 720, -1 / 40320, 1 / 3628800, -1 / 479001600)
"""Coefficients of a sine and, less one, of a cosine (negative)."""

MINIMAL_WORK: dict[str, Shape] = WORK | CLUSTERED | {"at": ("nq",), "dq": ("nv",), "slip": ("nv",), "fault": (1,)}
"""Work arrays of steps in minimal coordinates."""


@kernel
def begin_step(tree: Array, w: Array) -> None:
    """Initialize ``fault`` to zero."""
    w.fault[0] = 0.0


@kernel
def explicit_constraints(tree: Array, w: Array, q: Array) -> None:
    """``K``, ``N`` and ``G`` at a configuration; ``fault`` at a dead center of the independent joints."""
    for k in range(tree.nq):
        w.at[k] = q[k]
    joint_transforms(tree, w, q)
    constraint_rows(tree, w, q, w.error)
    cluster_jacobian(tree, w)
    w.pivot[0] = 1.0
    for c in range(tree.nclusters):
        factorize_normal_matrix(tree, w, c)
        explicit_jacobian(tree, w, c, 0)
        w.fault[0] = where(1.0 / CLUSTER_PIVOT, w.pivot[1], -float(1 + c), w.fault[0])


@kernel
def velocity_slip(tree: Array, w: Array, v: Array, h: Scalar) -> None:
    """``s = (v_d - G y) / h``: accelerations of dependent joints that velocities off the loops need, ``-s``."""
    inverse = 1.0 / h
    for c in range(tree.nclusters):
        for d in range(tree.dep_start[c], tree.dep_start[c] + tree.dep_count[c]):
            j = tree.dep_dof[d]
            x = v[j]
            for f in range(tree.ind_start[c], tree.ind_start[c] + tree.ind_count[c]):
                x = x - w.Gc[j, tree.ind_dof[f]] * v[tree.ind_dof[f]]
            w.slip[j] = inverse * x


@kernel
def dependent_velocities(tree: Array, w: Array, v: Array) -> None:
    """``v_d = G y`` (Eq. 3), and ``s = 0``."""
    for c in range(tree.nclusters):
        for d in range(tree.dep_start[c], tree.dep_start[c] + tree.dep_count[c]):
            j = tree.dep_dof[d]
            x = 0.0
            for f in range(tree.ind_start[c], tree.ind_start[c] + tree.ind_count[c]):
                x = x + w.Gc[j, tree.ind_dof[f]] * v[tree.ind_dof[f]]
            v[j] = x
            w.slip[j] = 0.0


@kernel
def minimal_accelerations(
    tree: Array, w: Array, q: Array, v: Array, torque: Array, wrenches: Array, result: Result
) -> None:
    """C-ABA (**clusters** Algorithm 1) with ``q'' = G y'' + g - s``, after `explicit_constraints` at ``q``."""
    init_root(tree, w)
    for k in range(tree.nv):
        w.qdd0[k] = 0.0
    for i in range(1, tree.n):
        body_angular_velocity(tree, w, i, v)
        body_acceleration(tree, w, i, w.qdd0)
        newton_euler_force(tree, w, i)
    constraint_bias(tree, w, q, v)
    apply_wrenches(tree, w, wrenches)
    for j in range(6):
        w.a[0, j] = 0.0
    for r in range(tree.nc):
        w.k[r] = -w.beta[r]
    for c in range(tree.nclusters):
        explicit_bias(tree, w, c)
        for d in range(tree.dep_start[c], tree.dep_start[c] + tree.dep_count[c]):
            w.gc[tree.dep_dof[d]] -= w.slip[tree.dep_dof[d]]
    cluster_aba_sweeps(tree, w, torque, result)


@kernel
def integrate_independent(tree: Array, w: Array, q: Array, v: Array, h: Scalar, q1: Array) -> None:
    """Independent joints move by ``h y1``, and dependent ones by ``h G y1 + h²/2 g``: loops close but for O(h³).

    ``v_d`` are ``G y1 + h g``.
    """
    for k in range(tree.nv):
        w.dq[k] = v[k]
    for d in range(tree.ndep):
        w.dq[tree.dep_dof[d]] -= 0.5 * h * w.gc[tree.dep_dof[d]]
    integrate(tree, q, w.dq, h, q1)


@kernel
def move_joint_transform(tree: Array, w: Array, i: int, q: Array) -> None:
    """Pose of body ``i`` in its parent at ``q``, from that at ``w.at``: rotations about z go on from where they were.

    That takes a fifth of the time of a sine and a cosine, and is exact to rounding for turns of 0.3 rad (errors of
    2e-14 for 0.5 rad, 2e-10 for 1 rad).
    """
    kind = tree.kind[i]
    o = tree.iq[i]
    if kind == REVOLUTE or kind == HELICAL:
        x = q[o] - w.at[o]
        w.at[o] = q[o]
        z = x * x
        sine = x + x * z * (S3 + z * (S5 + z * (S7 + z * (S9 + z * S11))))
        versine = z * (0.5 + z * (C4 + z * (C6 + z * (C8 + z * (C10 + z * C12)))))  # 1 - cos
        c = w.cos[i]
        s = w.sin[i]
        w.cos[i] = c - (c * versine + s * sine)
        w.sin[i] = s - (s * versine - c * sine)
        if kind == HELICAL:
            slide_along_axis(tree, w, i, tree.pitch[i] * q[o])
    elif kind == SPHERICAL:
        quaternion_rotation(tree.P[i], q, o, 2.0, w.Q, w.R[i])
    else:
        joint_transform(tree, w, i, q)


@kernel
def close_loops(tree: Array, w: Array, q: Array) -> None:
    """Newton's method on the dependent coordinates of ``q``; leaves ``K`` and ``N`` of the last correction."""
    for k in range(tree.nv):
        w.dq[k] = 0.0
    for n in range(CORRECTIONS):
        for c in range(tree.nclusters):
            if tree.dep_count[c] > 0:
                for e in range(tree.member_start[c], tree.member_start[c] + tree.member_count[c]):
                    if n == 0 or tree.ndependent[tree.member[e]] > 0:
                        move_joint_transform(tree, w, tree.member[e], q)
        constraint_rows(tree, w, q, w.error)
        cluster_jacobian(tree, w)
        for r in range(tree.nc):
            w.k[r] = -w.error[r]
        for c in range(tree.nclusters):
            if tree.dep_count[c] > 0:
                factorize_normal_matrix(tree, w, c)
                solve_dependent(tree, w, c, w.k, w.dq)
                if n == CORRECTIONS - 1:
                    check_cluster(tree, w, c)
        for i in range(1, tree.n):
            if tree.ndependent[i] > 0:
                displace(tree, i, w.dq, q)


@kernel
def check_cluster(tree: Array, w: Array, c: int) -> None:
    """``fault`` of a cluster whose last correction is not small."""
    largest = 0.0
    for d in range(tree.dep_start[c], tree.dep_start[c] + tree.dep_count[c]):
        x = w.dq[tree.dep_dof[d]] * (1.0 / tree.joint_unit[tree.dep_dof[d]])
        largest = maximum(largest, magnitude(x))
    fault = where(LARGEST_CORRECTION, largest, -float(1 + tree.nclusters + c), w.fault[0])
    w.fault[0] = where(w.fault[0], -0.5, w.fault[0], fault)


@kernel
def closed_velocities(tree: Array, w: Array, v: Array) -> None:
    """``v_d = -N^-1 Kd' W Ki y`` after `close_loops`."""
    for c in range(tree.nclusters):
        if tree.dep_count[c] > 0:
            for e in range(tree.cluster_row_count[c]):
                r = tree.cluster_row[tree.cluster_row_start[c] + e]
                x = 0.0
                for f in range(tree.ind_start[c], tree.ind_start[c] + tree.ind_count[c]):
                    x = x - w.Kc[tree.ind_dof[f], e] * v[tree.ind_dof[f]]
                w.k[r] = x
            solve_dependent(tree, w, c, w.k, v)


@kernel
def check_closure(w: Array, progress: Array) -> None:
    """``progress`` of a step: the fault if there is one, which ends the iteration; the step then does not count."""
    counted = where(progress[0], 2.0, 1.0, 0.0)
    progress[1] -= where(w.fault[0], -0.5, counted, 0.0)
    progress[0] = where(w.fault[0], -0.5, w.fault[0], progress[0])
