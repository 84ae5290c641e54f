# SPDX-License-Identifier: BSD-3-Clause
"""Rows of clusters on joints, by panels of rows, are the Jacobian: of all kinds of constraints, off the loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.clusters.columns import cluster_jacobian
from linkwork.kernels.clusters.explicit import EXPLICIT
from linkwork.kernels.constrained.constraints import constraint_rows
from linkwork.kernels.constrained.problem import WORK
from linkwork.kernels.scalar import Array, kernel
from linkwork.kernels.tree.kinematics import joint_transforms
from linkwork.plans.clusters import CLUSTER_TREE, DependentCoordinates, cluster_tree
from linkwork.plans.loops import loops_of
from tests.support.catalog import SEEDS, bound, meets
from tests.support.kernel_backends import SCALAR, compiled, plain, specialized


@kernel
def columns(tree: Array, w: Array, q: Array, J: Array) -> None:
    """The Jacobian, of the columns of all clusters."""
    joint_transforms(tree, w, q)
    constraint_rows(tree, w, q, w.error)
    cluster_jacobian(tree, w)
    for r in range(tree.nc):
        for k in range(tree.nv):
            J[r, k] = 0.0
    for c in range(tree.nclusters):
        for e in range(tree.cluster_row_count[c]):
            for f in range(tree.ind_start[c], tree.ind_start[c] + tree.ind_count[c]):
                k = tree.ind_dof[f]
                J[tree.cluster_row[tree.cluster_row_start[c] + e], k] = w.Kc[k, e]


COLUMNS = Algorithm("columns", columns, {"q": ("nq",)}, {"J": ("nc", "nv")}, WORK | EXPLICIT, CLUSTER_TREE)
OF_VELOCITIES = (lw.constraints.Rolling, lw.constraints.LinearCombination, lw.constraints.VelocityCoupling)
BACKENDS: dict[str, Any] = {"plain": plain, "native": compiled, "specialized": lambda a, t: specialized(a, t, SCALAR)}


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_columns_of_clusters_are_the_jacobian(seed: int, name: str) -> None:
    """That of rows taken from body to body, and differences of errors.

    Rows of velocities have no errors; those of points that meet are of the motion of one relative to the other."""
    robot, rng = bound(seed), np.random.default_rng(seed)
    tree = cluster_tree(robot, (), DependentCoordinates(set(), np.ones(robot.nc), np.ones(robot.nv)))
    q = robot.random(seed=seed)
    (J,) = BACKENDS[name](COLUMNS, tree)(q[None])
    expected = lw.Evaluator(robot, "constraint_jacobian")(q)
    for loop in loops_of(robot).loops:  # a joint that moves both bodies of a pair moves nothing where these meet
        support = np.concatenate([np.r_[robot.v_slice(joint)] for joint in loop.support])
        at = np.ix_(np.r_[robot.row_slice(loop.constraint)], support)
        np.testing.assert_allclose(J[0][at], expected[at], rtol=0, atol=1e-12 * np.abs(expected).max())
    v, h = rng.normal(size=robot.nv), 1e-6
    ends = [lw.Evaluator(robot, "constraint_error")(robot.integrate(q, sign * h * v)) for sign in (1, -1)]
    rate = (ends[0] - ends[1]) / (2 * h)
    for c in robot.constraints:
        rows = robot.row_slice(c.name)
        if not isinstance(c, OF_VELOCITIES) and not meets(c):
            np.testing.assert_allclose((J[0] @ v)[rows], rate[rows], rtol=0, atol=1e-7 * (1 + np.abs(rate).max()))
