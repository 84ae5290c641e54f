# SPDX-License-Identifier: BSD-3-Clause
"""Configurations in minimal coordinates: dependent joints from independent ones, by Newton's method.

**clusters** Section II-B, on positions: with the independent coordinates held, ``error + Kd step = 0`` for the
dependent ones, by the normal equations of `explicit`. ``G`` is that of the configuration which is returned: joint
velocities are ``G y'``, torques on the independent joints ``G' tau``.

| symbol | meaning                                                                                      |
|--------|----------------------------------------------------------------------------------------------|
| closed | the configuration so far                                                                     |
| step   | the step of the dependent coordinates that is next                                           |

Cost: that of `explicit` for each iteration.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.clusters.explicit import EXPLICIT, explicit_constraints, gather_bias, gather_jacobian
from linkwork.kernels.constrained.constraints import constraint_rows
from linkwork.kernels.constrained.problem import WORK
from linkwork.kernels.elementary import copy_numbers
from linkwork.kernels.integration import integrate, normalize
from linkwork.kernels.scalar import Array, kernel, where
from linkwork.kernels.tree.kinematics import joint_transforms
from linkwork.plans.clusters import CLUSTER_TREE

ERROR, ITERATIONS, PIVOT = 0, 1, 2
"""Layout of ``completion``: the largest error of a row, the steps so far plus one, the least pivot."""


@kernel
def complete(
    tree: Array, w: Array, q: Array, settings: Array, closed: Array, G: Array, step: Array, completion: Array
) -> None:
    """Rows and ``G`` at the start."""
    copy_numbers(q, closed, tree.nq)
    normalize(tree, closed)
    completion[ITERATIONS] = 0.0
    evaluate(tree, w, closed, G, step, completion)


@kernel
def iterate(
    tree: Array, w: Array, q: Array, settings: Array, closed: Array, G: Array, step: Array, completion: Array
) -> None:
    """A step of the dependent coordinates, and rows and ``G`` after it."""
    integrate(tree, closed, step, 1.0, w.moved)
    copy_numbers(w.moved, closed, tree.nq)
    evaluate(tree, w, closed, G, step, completion)


@kernel
def evaluate(tree: Array, w: Array, closed: Array, G: Array, step: Array, completion: Array) -> None:
    """``G``, the step that closes the loops to first order, and the gap of the loops."""
    joint_transforms(tree, w, closed)
    constraint_rows(tree, w, closed, w.error)
    for r in range(tree.nc):
        w.k[r] = -w.error[r]
    explicit_constraints(tree, w)
    gather_jacobian(tree, w, G)
    gather_bias(tree, w, step)
    largest = 0.0
    for c in range(tree.nclusters):
        for e in range(tree.cluster_row_start[c], tree.cluster_row_start[c] + tree.cluster_row_count[c]):
            x = w.error[tree.cluster_row[e]]
            x = where(x, 0.0, -x, x)
            largest = where(x, largest, largest, x)
    completion[ERROR] = largest
    completion[ITERATIONS] += 1.0
    completion[PIVOT] = w.pivot[0]


_MOVED: dict[str, Shape] = {"moved": ("nq",)}

COMPLETION = Algorithm(
    "completion",
    complete,
    {"q": ("nq",), "settings": (2,)},
    {"closed": ("nq",), "G": ("nv", "nind"), "step": ("nv",), "completion": (3,)},
    WORK | EXPLICIT | _MOVED,
    CLUSTER_TREE,
    iterate,
)
