# SPDX-License-Identifier: BSD-3-Clause
"""Inverse dynamics by actuated joints: the torques of least norm that produce the accelerations.

With ``G`` of a cluster's explicit constraints (see `clusters`), torques ``tau`` act alike where ``G' tau`` is the same.
Let ``A`` be the columns of ``G'`` for the actuated degrees of freedom, a row for each independent one, and
``b = G' tau`` of the spanning tree. The least-norm ``t`` with ``A t = b`` lies in the span of the rows of ``A``.
Gram-Schmidt finds it: the longest row ``u`` is taken, with its entry ``y`` of ``b``::

    t += u y / |u|²;    of every row, with r = u . row / |u|²:    row -= r u,  its b -= r y

until rows are shorter than rounding, or than the effect of a constraint error: directions in which a mechanism moves
only because its loops are slightly open. This is a QR factorization of ``A'`` with column pivoting; rows are chosen
without branches, by blending, so that states in lanes take the same path.

| symbol   | meaning                                                                           |
|----------|-----------------------------------------------------------------------------------|
| Aa       | remainder of ``A``: rows of independent, columns of actuated degrees of freedom   |
| ba       | remainder of ``b``                                                                |
| ua       | ``u``, the row that was chosen                                                    |
| ta       | ``t``, torques of the actuated degrees of freedom                                 |
| tau_tree | torques of the spanning tree; then, for dependent joints, torques by constraints   |

Cost: linear in the clusters, cubic in the joints of one.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.clusters.explicit import cluster_multipliers
from linkwork.kernels.clusters.rnea import CLUSTER_RNEA, independent_torques, spanning_tree_torques
from linkwork.kernels.elementary import magnitude, maximum
from linkwork.kernels.scalar import Array, Scalar, kernel, where
from linkwork.plans.actuated import ACTUATED_TREE

OPEN_LOOPS = 10.0
"""Directions of ``A`` below this many times the largest constraint error are taken for zero."""

PIVOT, UNMET, REQUIRED, ERROR = range(4)
"""Entries of `checks`: the least pivot of the dependent joints, the largest torque that actuators cannot supply, the
largest torque of a joint of the spanning tree, and the largest constraint error."""

LEAST_NORM: dict[str, Shape] = {
    "Aa": ("nind", "nactuated"),
    "ba": ("nind",),
    "ua": ("nactuated",),
    "ta": ("nactuated",),
    "tau_tree": ("nv",),
}


@kernel
def max_constraint_error(tree: Array, w: Array) -> Scalar:
    """The largest error of enabled constraints, without units."""
    gap = 0.0
    for r in range(tree.nc):
        if tree.row_cluster[r] >= 0:
            x = tree.row_scale[r] * w.error[r]
            gap = maximum(gap, magnitude(x))
    return gap


@kernel
def max_required_torque(tree: Array, w: Array) -> Scalar:
    """The largest torque of a joint of the spanning tree, without units of length."""
    most = 0.0
    for k in range(tree.nv):
        x = tree.joint_unit[k] * w.tau_tree[k]
        most = maximum(most, magnitude(x))
    return most


@kernel
def actuator_column(tree: Array, w: Array, p: int, f: int) -> Scalar:
    """``G[p, f]``: the velocity of the actuated degree of freedom ``p`` for that of the independent ``f``."""
    x = 1.0 if tree.actuated_ind[p] == f else 0.0
    if tree.actuated_ind[p] < 0:
        x = w.Gc[tree.actuated_dof[p], tree.ind_dof[f]]
    return x


@kernel
def least_torques(tree: Array, w: Array, c: int, tolerance: Scalar) -> None:
    """``t``: the least torques of a cluster's actuators with ``A t = b``, ``b`` being ``tau_ind`` of the cluster."""
    ind = tree.ind_start[c]
    ind_end = ind + tree.ind_count[c]
    act = tree.actuated_start[c]
    act_end = act + tree.actuated_count[c]
    for p in range(act, act_end):
        w.ta[p] = 0.0
    for f in range(ind, ind_end):
        unit = tree.joint_unit[tree.ind_dof[f]]
        w.ba[f] = unit * w.tau_tree[tree.ind_dof[f]]
        for p in range(act, act_end):
            w.Aa[f, p] = actuator_column(tree, w, p, f) * (unit / tree.joint_unit[tree.actuated_dof[p]])
    steps = tree.ind_count[c] if tree.ind_count[c] < tree.actuated_count[c] else tree.actuated_count[c]
    floor = 0.0
    for step in range(steps):
        longest = 0.0
        y = 0.0
        for f in range(ind, ind_end):
            length = 0.0
            for p in range(act, act_end):
                length = length + w.Aa[f, p] * w.Aa[f, p]
            for p in range(act, act_end):
                w.ua[p] = where(longest, length, w.Aa[f, p], w.ua[p] if f > ind else 0.0)
            y = where(longest, length, w.ba[f], y)
            longest = maximum(longest, length)
        if step == 0:
            floor = tolerance * tolerance * longest
        inverse = where(floor, longest, 1.0 / where(floor, longest, longest, 1.0), 0.0)
        for f in range(ind, ind_end):
            r = 0.0
            for p in range(act, act_end):
                r = r + w.ua[p] * w.Aa[f, p]
            r = r * inverse
            w.ba[f] -= r * y
            for p in range(act, act_end):
                w.Aa[f, p] -= r * w.ua[p]
        y = y * inverse
        for p in range(act, act_end):
            w.ta[p] += y * w.ua[p]
    for p in range(act, act_end):
        w.ta[p] = w.ta[p] / tree.joint_unit[tree.actuated_dof[p]]


@kernel
def unmet_torque(tree: Array, w: Array, c: int) -> Scalar:
    """The largest entry of ``b - A t``, without units of length."""
    worst = 0.0
    for f in range(tree.ind_start[c], tree.ind_start[c] + tree.ind_count[c]):
        x = w.tau_tree[tree.ind_dof[f]]
        for p in range(tree.actuated_start[c], tree.actuated_start[c] + tree.actuated_count[c]):
            x = x - actuator_column(tree, w, p, f) * w.ta[p]
        x = tree.joint_unit[tree.ind_dof[f]] * x
        worst = maximum(worst, magnitude(x))
    return worst


@kernel
def actuated_rnea(
    tree: Array,
    w: Array,
    q: Array,
    v: Array,
    a: Array,
    wrenches: Array,
    tolerance: Array,
    tau: Array,
    full: Array,
    multipliers: Array,
    checks: Array,
) -> None:
    """The smallest torques of actuated joints that make the independent joints accelerate by ``a``.

    Of ``a`` the entries of independent degrees of freedom count; ``full`` are the accelerations of all. Directions of
    ``A`` below ``tolerance`` of the largest are taken for zero.
    """
    spanning_tree_torques(tree, w, q, v, a, wrenches, w.tau_tree, full)
    checks[REQUIRED] = max_required_torque(tree, w)
    checks[ERROR] = max_constraint_error(tree, w)
    least = maximum(tolerance[0], OPEN_LOOPS * checks[ERROR])
    for r in range(tree.nc):
        multipliers[r] = 0.0
    for k in range(tree.nv):
        tau[k] = 0.0
    checks[UNMET] = 0.0
    for c in range(tree.nclusters):
        independent_torques(tree, w, c, w.tau_tree)
        least_torques(tree, w, c, least)
        checks[UNMET] = maximum(checks[UNMET], unmet_torque(tree, w, c))
        for p in range(tree.actuated_start[c], tree.actuated_start[c] + tree.actuated_count[c]):
            tau[tree.actuated_dof[p]] = w.ta[p]
        for d in range(tree.dep_start[c], tree.dep_start[c] + tree.dep_count[c]):
            w.tau_tree[tree.dep_dof[d]] -= tau[tree.dep_dof[d]]
        cluster_multipliers(tree, w, c, w.tau_tree, multipliers)
    checks[PIVOT] = w.pivot[0]


ACTUATED_RNEA = Algorithm(
    "actuated_rnea",
    actuated_rnea,
    {**CLUSTER_RNEA.inputs, "tolerance": (1,)},
    {"tau": ("nv",), "full": ("nv",), "multipliers": ("nc",), "checks": (4,)},
    {**CLUSTER_RNEA.work, **LEAST_NORM},
    ACTUATED_TREE,
)
