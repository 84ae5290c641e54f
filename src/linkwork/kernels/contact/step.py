# SPDX-License-Identifier: BSD-3-Clause
"""Parts that solvers of steps on the forces of rows share (`contact_step_admm`, `contact_step_pgs`).

Forces of an iterate are those that its accelerations are the motion of: dynamics hold, and rows alone have residuals.

| symbol             | meaning                                                                          |
|--------------------|----------------------------------------------------------------------------------|
| da                 | what joint accelerations change by                                               |
| contact_dy, box_dy | what this changes velocities of contacts and boxes by, over ``dt``                |
| rows, drows        | ``k - J_l a`` of loops, and what ``da`` changes it by                             |

Other symbols as in `contact.problem`.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.constrained.lcaba import constraint_residual
from linkwork.kernels.contact.problem import PROBLEM_WORK
from linkwork.kernels.contact.row_products import contact_accelerations
from linkwork.kernels.scalar import Array, kernel

STEP_WORK: dict[str, Shape] = PROBLEM_WORK | {
    "contact_dy": ("nslots", 3),
    "box_dy": ("nboxes",),
    "rows": ("nc",),
    "drows": ("nc",),
    "row_forces": ("nc",),
}


@kernel
def row_changes(tree: Array, w: Array, qdd: Array) -> None:
    """``contact_dy``, ``box_dy`` and ``drows`` of joint accelerations, and of those of bodies."""
    for c in range(tree.ncontacts):
        for s in range(tree.contact_slot[c], tree.contact_slot[c] + tree.contact_slots[c]):
            u = contact_accelerations(tree, w, c, s)
            for k in range(3):
                w.contact_dy[s, k] = u[k]
    for b in range(tree.nboxes):
        w.box_dy[b] = tree.box_sign[b] * qdd[tree.box_v[b]]
    for r in range(tree.nc):
        w.drows[r] = 0.0
    constraint_residual(tree, w, qdd, w.drows)


@kernel
def rows_of_motion(tree: Array, w: Array, a: Array) -> None:
    """``contact_y``, ``box_y`` and ``rows`` of joint accelerations, and of those of bodies."""
    row_changes(tree, w, a)
    for s in range(tree.nslots):
        for k in range(3):
            w.contact_y[s, k] = w.contact_b[s, k] + w.contact_dy[s, k]
    for b in range(tree.nboxes):
        w.box_y[b] = w.box_b[b] + w.box_dy[b]
    for r in range(tree.nc):
        w.rows[r] = w.k[r] + w.drows[r]
