"""Inverse dynamics by some of the joints: of all torques of those who push that do what is asked, the smallest.

With ``G`` the explicit form of a cluster's rows (see `clusters`), torques do the same where ``G' tau`` is the same. Let
``A`` be the columns of ``G'`` for those who push, a row for each free degree of freedom, and ``b = G' tau`` what is
needed. The least ``t`` with ``A t = b`` lies in the span of the rows of ``A``. Gram-Schmidt finds it: the longest row
``u`` is taken, with its entry ``y`` of ``b``::

    t += u y / |u|²;    of every row, with r = u . row / |u|²:    row -= r u,  its b -= r y

until rows are shorter than what is taken for rounding, or for a gap of the loops: directions in which a mechanism is
moved only because its loops are a little open. That is a QR factorization of ``A'`` with column pivoting; rows are
chosen without branches, by blending, so that states in lanes go the same way.

| symbol | meaning                                                                         |
|--------|---------------------------------------------------------------------------------|
| Ap     | what is left of each row, free degrees of freedom by those who push             |
| bp     | what is left to be done for it                                                  |
| up     | the row that was chosen                                                         |
| tp     | torques of those who push                                                       |
| need   | torques of all joints of the tree, then of a cluster's tied ones what they lack  |

Cost: linear in the clusters, cubic in the joints of one.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.clusters import CLUSTER_RNEA, cluster_multipliers, independent_torques, tree_torques
from linkwork.kernels.constrained import maximum
from linkwork.kernels.scalar import Array, Scalar, kernel, where
from linkwork.plans.actuated import ACTUATED_TREE

OPEN = 10.0
"""Motions that actuated joints cause by less than so many times what loops are open by, they are taken not to cause."""

PIVOT, UNDONE, NEEDED, GAP = range(4)
"""What `checks` are: how well tied joints are determined, the most that is left undone, the most that joints of the
tree need, and by how much loops are open."""

SPREAD: dict[str, Shape] = {
    "Ap": ("nind", "nactuated"),
    "bp": ("nind",),
    "up": ("nactuated",),
    "tp": ("nactuated",),
    "need": ("nv",),
}


@kernel
def max_constraint_error(tree: Array, w: Array) -> Scalar:
    """By how much the loops of enabled constraints are open, at most."""
    gap = 0.0
    for r in range(tree.nc):
        if tree.row_cluster_parent[r] >= 0:
            x = tree.row_scale[r] * w.error[r]
            gap = maximum(gap, where(x, 0.0, -x, x))
    return gap


@kernel
def max_required_torque(tree: Array, w: Array) -> Scalar:
    """The most that a joint of the tree needs, forces of sliding joints times a length."""
    most = 0.0
    for k in range(tree.nv):
        x = tree.joint_unit[k] * w.need[k]
        most = maximum(most, where(x, 0.0, -x, x))
    return most


@kernel
def actuator_column(tree: Array, w: Array, p: int, f: int) -> Scalar:
    """What the free degree of freedom ``f`` makes the one move that pushes as ``p``."""
    x = 1.0 if tree.actuated_ind[p] == f else 0.0
    if tree.actuated_ind[p] < 0:
        x = w.Gl[tree.actuated_dof[p], tree.ind_dof[f]]
    return x


@kernel
def least_torques(tree: Array, w: Array, c: int, tolerance: Scalar) -> None:
    """``tp``: the smallest torques of those who push in a cluster, to do ``need`` on its free degrees of freedom."""
    free = tree.ind_start[c]
    ends = free + tree.ind_count[c]
    push = tree.actuated_start[c]
    endp = push + tree.actuated_count[c]
    for p in range(push, endp):
        w.tp[p] = 0.0
    for f in range(free, ends):
        unit = tree.joint_unit[tree.ind_dof[f]]
        w.bp[f] = unit * w.need[tree.ind_dof[f]]
        for p in range(push, endp):
            w.Ap[f, p] = actuator_column(tree, w, p, f) * (unit / tree.joint_unit[tree.actuated_dof[p]])
    steps = tree.ind_count[c] if tree.ind_count[c] < tree.actuated_count[c] else tree.actuated_count[c]
    floor = 0.0
    for step in range(steps):
        longest = 0.0
        y = 0.0
        for f in range(free, ends):
            length = 0.0
            for p in range(push, endp):
                length = length + w.Ap[f, p] * w.Ap[f, p]
            for p in range(push, endp):
                w.up[p] = where(longest, length, w.Ap[f, p], w.up[p] if f > free else 0.0)
            y = where(longest, length, w.bp[f], y)
            longest = maximum(longest, length)
        if step == 0:
            floor = tolerance * tolerance * longest
        inverse = where(floor, longest, 1.0 / where(floor, longest, longest, 1.0), 0.0)
        for f in range(free, ends):
            r = 0.0
            for p in range(push, endp):
                r = r + w.up[p] * w.Ap[f, p]
            r = r * inverse
            w.bp[f] -= r * y
            for p in range(push, endp):
                w.Ap[f, p] -= r * w.up[p]
        y = y * inverse
        for p in range(push, endp):
            w.tp[p] += y * w.up[p]
    for p in range(push, endp):
        w.tp[p] = w.tp[p] / tree.joint_unit[tree.actuated_dof[p]]


@kernel
def unmet_torque(tree: Array, w: Array, c: int) -> Scalar:
    """What the torques ``tp`` leave undone of ``need``, at most."""
    worst = 0.0
    for f in range(tree.ind_start[c], tree.ind_start[c] + tree.ind_count[c]):
        x = w.need[tree.ind_dof[f]]
        for p in range(tree.actuated_start[c], tree.actuated_start[c] + tree.actuated_count[c]):
            x = x - actuator_column(tree, w, p, f) * w.tp[p]
        x = tree.joint_unit[tree.ind_dof[f]] * x
        worst = maximum(worst, where(x, 0.0, -x, x))
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
    """The smallest torques of those who push that make the free joints accelerate as asked.

    Of ``a`` the entries of free degrees of freedom count; ``full`` are the accelerations of all. Directions below
    ``tolerance`` of the largest are none.
    """
    tree_torques(tree, w, q, v, a, wrenches, w.need, full)
    checks[NEEDED] = max_required_torque(tree, w)
    checks[GAP] = max_constraint_error(tree, w)
    least = maximum(tolerance[0], OPEN * checks[GAP])
    for r in range(tree.nc):
        multipliers[r] = 0.0
    for k in range(tree.nv):
        tau[k] = 0.0
    checks[UNDONE] = 0.0
    for c in range(tree.nclusters):
        independent_torques(tree, w, c, w.need)
        least_torques(tree, w, c, least)
        checks[UNDONE] = maximum(checks[UNDONE], unmet_torque(tree, w, c))
        for p in range(tree.actuated_start[c], tree.actuated_start[c] + tree.actuated_count[c]):
            tau[tree.actuated_dof[p]] = w.tp[p]
        for d in range(tree.dep_start[c], tree.dep_start[c] + tree.dep_count[c]):
            w.need[tree.dep_dof[d]] -= tau[tree.dep_dof[d]]
        cluster_multipliers(tree, w, c, w.need, multipliers)
    checks[PIVOT] = w.pivot[0]


ACTUATED_RNEA = Algorithm(
    "actuated_rnea",
    actuated_rnea,
    {**CLUSTER_RNEA.inputs, "tolerance": (1,)},
    {"tau": ("nv",), "full": ("nv",), "multipliers": ("nc",), "checks": (4,)},
    {**CLUSTER_RNEA.work, **SPREAD},
    ACTUATED_TREE,
)
