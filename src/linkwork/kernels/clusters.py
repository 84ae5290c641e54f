"""Clusters of tied bodies, eliminated as single bodies are: C-ABA and C-RNEA, and the projection method beside them.

**clusters** Sections V to VII. A cluster's joint velocities are ``G`` times those of its free degrees of freedom, its
joint accelerations ``G ydd + g``; with ``J v' = k`` its rows, split into tied and free columns,
``G = -(Jt' W Jt)^-1 Jt' W Jf`` and ``g = (Jt' W Jt)^-1 Jt' W k``, also where rows are redundant; the weights ``W`` are
such that rows have no unit. All accelerations are beyond
those of the motion in which no joint accelerates (see `aba`).

A cluster hangs from one body, so that what the paper writes as matrices of all its bodies is, in the cluster's joints,
its mass matrix ``M`` by composite bodies (each with what other clusters leave it of their inertia) and the forces ``U``
that their unit accelerations need at the top:

| symbol | meaning                                                                          |
|--------|----------------------------------------------------------------------------------|
| Jl     | rows of a cluster on its joints                                                  |
| Wl     | the same on its tied joints, times ``W``                                         |
| N      | ``Jt' W Jt``, then its factor                                                    |
| Gl, gl | the explicit form of the rows                                                    |
| Ml, Ul | mass matrix of the cluster's joints and forces at the top                        |
| T      | ``M G``                                                                          |
| Dl     | ``G' M G`` and then its factor ``L D L'``                                        |
| Ug     | ``L^-1 G' U``: what the articulated cluster takes of its top's inertia            |
| pivot  | what is left of ``N`` when others are tied, at least, as a part of all ``J' W J`` |
| push   | torque of each joint beyond what holds it; after `project_on_independent`, of the free ones       |
|        | ``L^-1 G'`` times it                                                             |

Cost: linear in the clusters, cubic in the joints of one.
"""

from __future__ import annotations

from linkwork.kernels.aba import (
    articulated_bias_force,
    eliminate,
    inertia_to_parent,
    init_rigid_inertias,
    joint_acceleration,
    whole_inertia_to_parent,
)
from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.constrained import (
    INPUTS,
    OUTPUTS,
    WORK,
    Problem,
    Result,
    constraint_violation,
    forward_view,
    minimum,
    setup_problem,
)
from linkwork.kernels.constraints import constraint_bias, constraint_rows
from linkwork.kernels.crba import COMPOSITE, mass_matrix
from linkwork.kernels.joints import axis_of, dof_of, rotate_to_parent
from linkwork.kernels.kinematics import (
    acceleration_from_parent,
    accelerations,
    angular_velocities,
    bias_accelerations,
    joint_transforms,
)
from linkwork.kernels.passive import subtract_passive_torques
from linkwork.kernels.rnea import (
    WRENCHES,
    apply_wrenches,
    force_to_parent,
    joint_torques,
    newton_euler_forces,
    set_root_acceleration,
)
from linkwork.kernels.scalar import Array, Scalar, kernel
from linkwork.kernels.spatial import add, angular, cross, linear, set_angular, set_linear, symmetrize
from linkwork.model.joints import HELICAL
from linkwork.plans.clusters import CLUSTERS

EMBEDDED: dict[str, Shape] = {
    "Jl": ("nc", "nv"),
    "Wl": ("nc", "nv"),
    "N": ("nv", "nv"),
    "Gl": ("nv", "nv"),
    "gl": ("nv",),
    "pivot": (1,),
    "x": ("nv",),
    "y6": (6,),
}
CLUSTERED: dict[str, Shape] = EMBEDDED | {
    "Ml": ("nv", "nv"),
    "Ul": ("nv", 6),
    "T": ("nv", "nv"),
    "Dl": ("nv", "nv"),
    "Ug": ("nv", 6),
    "push": ("nv",),
}


# Symmetric matrices whose rows are some degrees of freedom ---------------------------------------------


@kernel
def factorize_at(at: Array, o: int, n: int, L: Array) -> None:
    """``L D L'`` of the rows and columns ``at[o : o + n]``, in place; the diagonal becomes ``1 / D``."""
    for a in range(n):
        j = at[o + a]
        for b in range(a):
            k = at[o + b]
            x = L[j, k]
            for c in range(b):
                x = x - L[j, at[o + c]] * L[k, at[o + c]]
            L[j, k] = x
        for b in range(a):
            k = at[o + b]
            scaled = L[j, k] * L[k, k]
            L[j, j] -= L[j, k] * scaled
            L[j, k] = scaled
        L[j, j] = 1.0 / L[j, j]


@kernel
def forward_substitute_at(at: Array, o: int, n: int, L: Array, x: Array) -> None:
    """``x = L^-1 x`` on these rows."""
    for a in range(n):
        j = at[o + a]
        for b in range(a):
            x[j] -= L[j, at[o + b]] * x[at[o + b]]


@kernel
def back_substitute_at(at: Array, o: int, n: int, L: Array, x: Array) -> None:
    """``x = L'^-1 x`` on these rows."""
    for a in range(n - 1, -1, -1):
        j = at[o + a]
        for b in range(a + 1, n):
            k = at[o + b]
            x[j] -= L[k, j] * x[k]


@kernel
def solve_at(at: Array, o: int, n: int, L: Array, x: Array) -> None:
    """``x = (L D L')^-1 x`` on these rows."""
    forward_substitute_at(at, o, n, L, x)
    for a in range(n):
        x[at[o + a]] *= L[at[o + a], at[o + a]]
    back_substitute_at(at, o, n, L, x)


# From rows to their explicit form ------------------------------------------------------------------------


@kernel
def cluster_rows(tree: Array, w: Array) -> None:
    """Rows on the joints of their clusters: K handed down to the cluster's top."""
    for c in range(tree.nclusters):
        for e in range(tree.bound_start[c], tree.bound_start[c] + tree.bound_count[c]):
            r = tree.bound_row[e]
            for f in range(tree.free_start[c], tree.free_start[c] + tree.free_count[c]):
                w.Jl[r, tree.free_dof[f]] = 0.0
            for f in range(tree.tied_start[c], tree.tied_start[c] + tree.tied_count[c]):
                w.Jl[r, tree.tied_dof[f]] = 0.0
    for t in range(tree.nterms):
        if tree.row_top[tree.term_row[t]] >= 0:
            w.Jl[tree.term_row[t], tree.term_v[t]] += w.dphi[t]
    for m in range(tree.nown):
        r = tree.k_row[m]
        i = tree.k_body[m]
        top = tree.row_top[r]
        if top >= 0 and i > top:
            set_angular(angular(w.K[m]), w.y6)
            set_linear(linear(w.K[m]), w.y6)
            while i != top:
                for k in range(dof_of(tree.kind[i])):
                    w.Jl[r, tree.iv[i] + k] += joint_component(tree, i, k, w.y6)
                shift_force_to_parent(tree, w, i, w.y6)
                i = tree.parent[i]


@kernel
def joint_component(tree: Array, i: int, k: int, force: Array) -> Scalar:
    """What degree of freedom ``k`` of joint ``i`` feels of a force on its body."""
    x = force[axis_of(tree.kind[i], k)]
    if tree.kind[i] == HELICAL:
        x = x + tree.pitch[i] * force[5]
    return x


@kernel
def shift_force_to_parent(tree: Array, w: Array, i: int, force: Array) -> None:
    """A force on body ``i`` as one on its parent, in place."""
    push = rotate_to_parent(tree, w, i, linear(force))
    moment = rotate_to_parent(tree, w, i, angular(force))
    set_angular(add(moment, cross(w.r[i], push)), force)
    set_linear(push, force)


@kernel
def explicit_constraints(tree: Array, w: Array) -> None:
    """``G`` and ``g`` of every cluster, from rows and their right-hand sides ``ks`` (**clusters** Section II-B)."""
    cluster_rows(tree, w)
    w.pivot[0] = 1.0
    for c in range(tree.nclusters):
        o = tree.tied_start[c]
        n = tree.tied_count[c]
        rows = tree.bound_start[c]
        end = rows + tree.bound_count[c]
        size = 0.0
        for e in range(rows, end):
            r = tree.bound_row[e]
            for f in range(tree.free_start[c], tree.free_start[c] + tree.free_count[c]):
                x = w.Jl[r, tree.free_dof[f]] * (tree.row_scale[r] * tree.joint_unit[tree.free_dof[f]])
                size = size + x * x
            for a in range(n):
                j = tree.tied_dof[o + a]
                w.Wl[r, j] = (tree.row_scale[r] * tree.row_scale[r]) * w.Jl[r, j]
        for a in range(n):
            j = tree.tied_dof[o + a]
            for b in range(a + 1):
                k = tree.tied_dof[o + b]
                x = 0.0
                for e in range(rows, end):
                    r = tree.bound_row[e]
                    x = x + w.Wl[r, j] * w.Jl[r, k]
                w.N[j, k] = x
            size = size + (tree.joint_unit[j] * tree.joint_unit[j]) * w.N[j, j]
        factorize_at(tree.tied_dof, o, n, w.N)
        for a in range(n):
            j = tree.tied_dof[o + a]
            unit = tree.joint_unit[j] * tree.joint_unit[j]
            w.pivot[0] = minimum(w.pivot[0], unit / (w.N[j, j] * size))
        for f in range(tree.free_start[c], tree.free_start[c] + tree.free_count[c]):
            k = tree.free_dof[f]
            for a in range(n):
                j = tree.tied_dof[o + a]
                w.x[j] = 0.0
                for e in range(rows, end):
                    r = tree.bound_row[e]
                    w.x[j] -= w.Wl[r, j] * w.Jl[r, k]
            solve_at(tree.tied_dof, o, n, w.N, w.x)
            for a in range(n):
                j = tree.tied_dof[o + a]
                w.Gl[j, k] = w.x[j]
        for a in range(n):
            j = tree.tied_dof[o + a]
            w.gl[j] = 0.0
            for e in range(rows, end):
                r = tree.bound_row[e]
                w.gl[j] += w.Wl[r, j] * w.k[r]
        solve_at(tree.tied_dof, o, n, w.N, w.gl)


@kernel
def setup_clusters(tree: Array, w: Array, q: Array, v: Array) -> None:
    """The same at positions and velocities, the world accelerating upwards; no joint accelerates yet."""
    joint_transforms(tree, w, q)
    angular_velocities(tree, w, v)
    constraint_rows(tree, w, q, w.error)
    set_root_acceleration(tree, w)
    bias_accelerations(tree, w)
    constraint_bias(tree, w, q, v)
    for r in range(tree.nc):
        w.k[r] = -w.beta[r]
    explicit_constraints(tree, w)


@kernel
def dependent_accelerations(tree: Array, w: Array, c: int, a: Array) -> None:
    """Accelerations of the tied degrees of freedom of a cluster from those of the free ones."""
    for d in range(tree.tied_start[c], tree.tied_start[c] + tree.tied_count[c]):
        j = tree.tied_dof[d]
        x = w.gl[j]
        for f in range(tree.free_start[c], tree.free_start[c] + tree.free_count[c]):
            k = tree.free_dof[f]
            x = x + w.Gl[j, k] * a[k]
        a[j] = x


@kernel
def cluster_multipliers(tree: Array, w: Array, c: int, lack: Array, multipliers: Array) -> None:
    """The smallest multipliers, without units, with ``J' lambda`` the torques that the tied joints ``lack``."""
    o = tree.tied_start[c]
    n = tree.tied_count[c]
    solve_at(tree.tied_dof, o, n, w.N, lack)
    for e in range(tree.bound_start[c], tree.bound_start[c] + tree.bound_count[c]):
        r = tree.bound_row[e]
        multipliers[r] = 0.0
        for d in range(o, o + n):
            multipliers[r] += w.Wl[r, tree.tied_dof[d]] * lack[tree.tied_dof[d]]


@kernel
def cluster_residuals(tree: Array, w: Array, c: int, qdd: Array, residual: Array) -> None:
    """What the rows of a cluster miss."""
    for e in range(tree.bound_start[c], tree.bound_start[c] + tree.bound_count[c]):
        r = tree.bound_row[e]
        x = w.k[r]
        for d in range(tree.tied_start[c], tree.tied_start[c] + tree.tied_count[c]):
            x = x - w.Jl[r, tree.tied_dof[d]] * qdd[tree.tied_dof[d]]
        for b in range(tree.free_start[c], tree.free_start[c] + tree.free_count[c]):
            x = x - w.Jl[r, tree.free_dof[b]] * qdd[tree.free_dof[b]]
        residual[r] = x


# Articulated clusters --------------------------------------------------------------------------------------


@kernel
def cluster_mass_matrix(tree: Array, w: Array, c: int, tau: Array) -> None:
    """Mass matrix of a cluster's joints, forces at its top, and what pushes; inertias and forces go to the top."""
    start = tree.member_start[c]
    end = start + tree.member_count[c]
    top = tree.cluster_top[c]
    for e in range(tree.apart_start[c], tree.apart_start[c] + tree.apart_count[c]):
        w.Ml[tree.apart_one[e], tree.apart_other[e]] = 0.0
        w.Ml[tree.apart_other[e], tree.apart_one[e]] = 0.0
    for back in range(tree.member_count[c]):
        i = tree.member[end - 1 - back]
        kind = tree.kind[i]
        H = w.H[i]
        symmetrize(H)
        for k in range(dof_of(kind)):
            o = tree.iv[i] + k
            U = w.Ul[o]
            for j in range(6):
                U[j] = H[j, axis_of(kind, k)]
                if kind == HELICAL:
                    U[j] += tree.pitch[i] * H[j, 5]
            j = i
            while j != top:
                for m in range(dof_of(tree.kind[j])):
                    x = joint_component(tree, j, m, U)
                    w.Ml[tree.iv[j] + m, o] = x
                    w.Ml[o, tree.iv[j] + m] = x
                shift_force_to_parent(tree, w, j, U)
                j = tree.parent[j]
            w.Ml[o, o] += w.joint_inertia[o]
            w.push[o] = tau[o] - w.f[i, axis_of(kind, k)]
            if kind == HELICAL:
                w.push[o] -= tree.pitch[i] * w.f[i, 5]
        whole_inertia_to_parent(tree, w, i)
        force_to_parent(tree, w, i)


@kernel
def project_on_independent(tree: Array, w: Array, c: int) -> None:
    """``D = G' M G``, ``G' U`` and ``G'`` times what pushes (**clusters** Eq. 49), on the free degrees of freedom."""
    free = tree.free_start[c]
    ends = free + tree.free_count[c]
    tied = tree.tied_start[c]
    endt = tied + tree.tied_count[c]
    for b in range(free, ends):
        k = tree.free_dof[b]
        for j in range(6):
            w.Ug[k, j] = w.Ul[k, j]
        for d in range(tied, endt):
            i = tree.tied_dof[d]
            for j in range(6):
                w.Ug[k, j] += w.Gl[i, k] * w.Ul[i, j]
            x = w.Ml[i, k]
            for e in range(tied, endt):
                x = x + w.Ml[i, tree.tied_dof[e]] * w.Gl[tree.tied_dof[e], k]
            w.T[i, k] = x
        for a in range(free, ends):
            i = tree.free_dof[a]
            x = w.Ml[i, k]
            for e in range(tied, endt):
                x = x + w.Ml[i, tree.tied_dof[e]] * w.Gl[tree.tied_dof[e], k]
            w.T[i, k] = x
    for a in range(free, ends):
        i = tree.free_dof[a]
        for b in range(free, a + 1):
            k = tree.free_dof[b]
            x = w.T[i, k]
            for d in range(tied, endt):
                x = x + w.Gl[tree.tied_dof[d], i] * w.T[tree.tied_dof[d], k]
            w.Dl[i, k] = x
    for a in range(free, ends):
        i = tree.free_dof[a]
        for d in range(tied, endt):
            w.push[i] -= w.Ml[i, tree.tied_dof[d]] * w.gl[tree.tied_dof[d]]
    for d in range(tied, endt):
        i = tree.tied_dof[d]
        x = w.push[i]
        for e in range(tied, endt):
            x = x - w.Ml[i, tree.tied_dof[e]] * w.gl[tree.tied_dof[e]]
        for a in range(free, ends):
            w.push[tree.free_dof[a]] += w.Gl[i, tree.free_dof[a]] * x
    factorize_at(tree.free_dof, free, ends - free, w.Dl)
    forward_substitute_at(tree.free_dof, free, ends - free, w.Dl, w.push)
    half_solve_rows(tree, w, c)


@kernel
def half_solve_rows(tree: Array, w: Array, c: int) -> None:
    """``L^-1 G' U`` of a cluster's free degrees of freedom, in place."""
    free = tree.free_start[c]
    for a in range(tree.free_count[c]):
        i = tree.free_dof[free + a]
        for b in range(a):
            k = tree.free_dof[free + b]
            for j in range(6):
                w.Ug[i, j] -= w.Dl[i, k] * w.Ug[k, j]


@kernel
def articulate_cluster(tree: Array, w: Array, c: int) -> None:
    """What the cluster leaves of its inertia and force to its top (**clusters** Eqs. 55, 56)."""
    free = tree.free_start[c]
    n = tree.free_count[c]
    top = tree.cluster_top[c]
    H = w.H[top]
    f = w.f[top]
    for d in range(tree.tied_start[c], tree.tied_start[c] + tree.tied_count[c]):
        i = tree.tied_dof[d]
        for j in range(6):
            f[j] += w.Ul[i, j] * w.gl[i]
    for b in range(n):
        k = tree.free_dof[free + b]
        U = w.Ug[k]
        for j in range(6):
            scaled = w.Dl[k, k] * U[j]
            f[j] += scaled * w.push[k]
            for m in range(j, 6):
                H[j, m] -= scaled * U[m]


@kernel
def cluster_accelerations(tree: Array, w: Array, c: int, result: Result) -> None:
    """Accelerations of a cluster whose top's is known, then its multipliers and what its rows miss."""
    free = tree.free_start[c]
    n = tree.free_count[c]
    a = w.a[tree.cluster_top[c]]
    for b in range(free, free + n):
        k = tree.free_dof[b]
        x = w.push[k]
        for j in range(6):
            x = x - w.Ug[k, j] * a[j]
        result.a[k] = w.Dl[k, k] * x
    back_substitute_at(tree.free_dof, free, n, w.Dl, result.a)
    dependent_accelerations(tree, w, c, result.a)
    for e in range(tree.member_start[c], tree.member_start[c] + tree.member_count[c]):
        acceleration_from_parent(tree, w, tree.member[e], result.a)
    tied = tree.tied_start[c]
    endt = tied + tree.tied_count[c]
    for d in range(tied, endt):
        i = tree.tied_dof[d]
        x = -w.push[i]
        for j in range(6):
            x = x + w.Ul[i, j] * a[j]
        for e in range(tied, endt):
            x = x + w.Ml[i, tree.tied_dof[e]] * result.a[tree.tied_dof[e]]
        for b in range(free, free + n):
            x = x + w.Ml[i, tree.free_dof[b]] * result.a[tree.free_dof[b]]
        w.x[i] = x
    cluster_multipliers(tree, w, c, w.x, result.multipliers)
    cluster_residuals(tree, w, c, result.a, result.residual)


@kernel
def cluster_aba(tree: Array, w: Array, problem: Problem, result: Result) -> None:
    """C-ABA (**clusters** Algorithm 1); ``progress`` says how well the tied joints are determined."""
    setup_problem(tree, w, problem.q, problem.v, problem.wrenches, problem.target)
    constraint_violation(tree, w, problem.R, result)
    explicit_constraints(tree, w)
    init_rigid_inertias(tree, w)
    for r in range(tree.nc):
        result.multipliers[r] = 0.0
        result.residual[r] = 0.0
    for c in range(tree.nclusters):
        if tree.alone[c] != 0:
            i = tree.member[tree.member_start[c]]
            eliminate(tree, w, i)
            inertia_to_parent(tree, w, i)
            articulated_bias_force(tree, w, i, problem.tau)
        else:
            cluster_mass_matrix(tree, w, c, problem.tau)
            project_on_independent(tree, w, c)
            if tree.cluster_top[c] > 0:
                articulate_cluster(tree, w, c)
    for back in range(tree.nclusters):
        c = tree.nclusters - 1 - back
        if tree.alone[c] != 0:
            joint_acceleration(tree, w, tree.member[tree.member_start[c]], result.a)
        else:
            cluster_accelerations(tree, w, c, result)
    result.progress[0] = w.pivot[0]
    result.iterations[0] = 1.0


@kernel
def approximate(tree: Array, w: Array, problem: Problem, result: Result) -> None:
    """The independent tree (**clusters** Section II-D): tied bodies are left out but for the inertia that free joints
    feel of their spin, ``G² I`` on the diagonal. Not the dynamics of the robot, but what many controllers reckon with.
    """
    setup_problem(tree, w, problem.q, problem.v, problem.wrenches, problem.target)
    constraint_violation(tree, w, problem.R, result)
    explicit_constraints(tree, w)
    init_rigid_inertias(tree, w)
    for r in range(tree.nc):
        result.multipliers[r] = 0.0
        result.residual[r] = 0.0
    add_reflected_inertia(tree, w, problem.tau)
    for i in range(tree.n - 1, 0, -1):
        if tree.follows[i] == 0:
            eliminate(tree, w, i)
            inertia_to_parent(tree, w, i)
            articulated_bias_force(tree, w, i, w.push)
    for i in range(1, tree.n):
        if tree.follows[i] == 0:
            joint_acceleration(tree, w, i, result.a)
    for c in range(tree.nclusters):
        dependent_accelerations(tree, w, c, result.a)
    result.progress[0] = w.pivot[0]
    result.iterations[0] = 1.0


@kernel
def add_reflected_inertia(tree: Array, w: Array, tau: Array) -> None:
    """Add inertia and torque of tied joints to those of the free ones that drive them."""
    for c in range(tree.nclusters):
        for f in range(tree.free_start[c], tree.free_start[c] + tree.free_count[c]):
            k = tree.free_dof[f]
            w.push[k] = tau[k]
            for d in range(tree.tied_start[c], tree.tied_start[c] + tree.tied_count[c]):
                j = tree.tied_dof[d]
                w.push[k] += w.Gl[j, k] * tau[j]
                w.joint_inertia[k] += (w.Gl[j, k] * w.Gl[j, k]) * (tree.spin[j] + tree.armature[j])


@kernel
def cluster_rnea(
    tree: Array,
    w: Array,
    q: Array,
    v: Array,
    a: Array,
    wrenches: Array,
    tau: Array,
    full: Array,
    multipliers: Array,
    pivot: Array,
) -> None:
    """C-RNEA (**clusters** Section VI): torques of the free joints alone that make them accelerate as asked.

    Of ``a`` the entries of free degrees of freedom count; ``full`` are the accelerations of all.
    """
    tree_torques(tree, w, q, v, a, wrenches, tau, full)
    for r in range(tree.nc):
        multipliers[r] = 0.0
    for c in range(tree.nclusters):
        independent_torques(tree, w, c, tau)
        cluster_multipliers(tree, w, c, tau, multipliers)
        for d in range(tree.tied_start[c], tree.tied_start[c] + tree.tied_count[c]):
            tau[tree.tied_dof[d]] = 0.0
    pivot[0] = w.pivot[0]


@kernel
def tree_torques(tree: Array, w: Array, q: Array, v: Array, a: Array, wrenches: Array, tau: Array, full: Array) -> None:
    """Torques of all joints of the tree, springs and dampers doing their part, and the accelerations they make."""
    setup_clusters(tree, w, q, v)
    for f in range(tree.nfree):
        full[tree.free_dof[f]] = a[tree.free_dof[f]]
    for c in range(tree.nclusters):
        dependent_accelerations(tree, w, c, full)
    accelerations(tree, w, full)
    newton_euler_forces(tree, w)
    apply_wrenches(tree, w, wrenches)
    joint_torques(tree, w, tau)
    for k in range(tree.nv):
        tau[k] += tree.armature[k] * full[k]
    subtract_passive_torques(tree, q, v, tau)


@kernel
def independent_torques(tree: Array, w: Array, c: int, tau: Array) -> None:
    """``G' tau`` of a cluster, in the place of its free degrees of freedom."""
    for d in range(tree.tied_start[c], tree.tied_start[c] + tree.tied_count[c]):
        i = tree.tied_dof[d]
        for f in range(tree.free_start[c], tree.free_start[c] + tree.free_count[c]):
            tau[tree.free_dof[f]] += w.Gl[i, tree.free_dof[f]] * tau[i]


@kernel
def approximate_rnea(
    tree: Array,
    w: Array,
    q: Array,
    v: Array,
    a: Array,
    wrenches: Array,
    tau: Array,
    full: Array,
    multipliers: Array,
    pivot: Array,
) -> None:
    """Torques of the free joints by the independent tree, as in `approximate` (**clusters** Section II-C)."""
    setup_clusters(tree, w, q, v)
    for r in range(tree.nc):
        multipliers[r] = 0.0
    for k in range(tree.nv):
        w.joint_inertia[k] = tree.armature[k]
        tau[k] = 0.0
    add_reflected_inertia(tree, w, tau)
    for f in range(tree.nfree):
        full[tree.free_dof[f]] = a[tree.free_dof[f]]
    for c in range(tree.nclusters):
        dependent_accelerations(tree, w, c, full)
    accelerations(tree, w, full)
    newton_euler_forces(tree, w)
    apply_wrenches(tree, w, wrenches)
    for i in range(tree.n - 1, 0, -1):
        if tree.follows[i] == 0:
            for k in range(dof_of(tree.kind[i])):
                o = tree.iv[i] + k
                tau[o] = w.f[i, axis_of(tree.kind[i], k)] + w.joint_inertia[o] * full[o]
                if tree.kind[i] == HELICAL:
                    tau[o] += tree.pitch[i] * w.f[i, 5]
            force_to_parent(tree, w, i)
    subtract_passive_torques(tree, q, v, tau)
    for c in range(tree.nclusters):
        independent_torques(tree, w, c, tau)
        for d in range(tree.tied_start[c], tree.tied_start[c] + tree.tied_count[c]):
            tau[tree.tied_dof[d]] = 0.0
    pivot[0] = w.pivot[0]


@kernel
def explicit_form(tree: Array, w: Array, q: Array, v: Array, matrix: Array, rest: Array, pivot: Array) -> None:
    """``v' = matrix y' + rest``: the explicit form of all rows, free degrees of freedom in their order."""
    setup_clusters(tree, w, q, v)
    for k in range(tree.nv):
        rest[k] = 0.0
        for f in range(tree.nfree):
            matrix[k, f] = 0.0
    for c in range(tree.nclusters):
        for f in range(tree.free_start[c], tree.free_start[c] + tree.free_count[c]):
            k = tree.free_dof[f]
            matrix[k, tree.free_place[f]] = 1.0
            for d in range(tree.tied_start[c], tree.tied_start[c] + tree.tied_count[c]):
                matrix[tree.tied_dof[d], tree.free_place[f]] = w.Gl[tree.tied_dof[d], k]
        for d in range(tree.tied_start[c], tree.tied_start[c] + tree.tied_count[c]):
            rest[tree.tied_dof[d]] = w.gl[tree.tied_dof[d]]
    pivot[0] = w.pivot[0]


@kernel
def closing_step(tree: Array, w: Array, q: Array, step: Array, error: Array, pivot: Array) -> None:
    """The step of the tied degrees of freedom that closes loops to first order, the free ones standing."""
    joint_transforms(tree, w, q)
    constraint_rows(tree, w, q, error)
    for r in range(tree.nc):
        w.k[r] = -error[r]
    explicit_constraints(tree, w)
    for k in range(tree.nv):
        step[k] = 0.0
    for d in range(tree.ntied):
        step[tree.tied_dof[d]] = w.gl[tree.tied_dof[d]]
    pivot[0] = w.pivot[0]


@kernel
def projected_mass_matrix(tree: Array, w: Array) -> None:
    """``G' M G`` of the whole tree, dense, and its factor; ``M`` is in ``Ml``."""
    for c in range(tree.nclusters):
        for f in range(tree.free_start[c], tree.free_start[c] + tree.free_count[c]):
            k = tree.free_dof[f]
            for i in range(tree.nv):
                x = w.Ml[i, k]
                for d in range(tree.tied_start[c], tree.tied_start[c] + tree.tied_count[c]):
                    x = x + w.Ml[i, tree.tied_dof[d]] * w.Gl[tree.tied_dof[d], k]
                w.T[i, k] = x
    for c in range(tree.nclusters):
        for f in range(tree.free_start[c], tree.free_start[c] + tree.free_count[c]):
            i = tree.free_dof[f]
            for e in range(tree.nfree):
                k = tree.free_dof[e]
                x = w.T[i, k]
                for d in range(tree.tied_start[c], tree.tied_start[c] + tree.tied_count[c]):
                    x = x + w.Gl[tree.tied_dof[d], i] * w.T[tree.tied_dof[d], k]
                w.Dl[i, k] = x
    factorize_at(tree.free_dof, 0, tree.nfree, w.Dl)


@kernel
def projection(tree: Array, w: Array, problem: Problem, result: Result) -> None:
    """The projection method: ``G' M G`` of the whole tree, dense (**clusters** Section II-D)."""
    setup_problem(tree, w, problem.q, problem.v, problem.wrenches, problem.target)
    constraint_violation(tree, w, problem.R, result)
    explicit_constraints(tree, w)
    joint_torques(tree, w, w.push)
    mass_matrix(tree, w, w.Ml)
    for k in range(tree.nv):
        w.push[k] = problem.tau[k] - w.push[k]
    for c in range(tree.nclusters):
        for d in range(tree.tied_start[c], tree.tied_start[c] + tree.tied_count[c]):
            i = tree.tied_dof[d]
            for k in range(tree.nv):
                w.push[k] -= w.Ml[k, i] * w.gl[i]
    for c in range(tree.nclusters):
        for f in range(tree.free_start[c], tree.free_start[c] + tree.free_count[c]):
            i = tree.free_dof[f]
            result.a[i] = w.push[i]
            for d in range(tree.tied_start[c], tree.tied_start[c] + tree.tied_count[c]):
                result.a[i] += w.Gl[tree.tied_dof[d], i] * w.push[tree.tied_dof[d]]
    projected_mass_matrix(tree, w)
    solve_at(tree.free_dof, 0, tree.nfree, w.Dl, result.a)
    for r in range(tree.nc):
        result.multipliers[r] = 0.0
        result.residual[r] = 0.0
    for c in range(tree.nclusters):
        dependent_accelerations(tree, w, c, result.a)
    for k in range(tree.nv):  # push is now what pushed, less M g: with M (result.a - g) it leaves what joints lack
        w.x[k] = -w.push[k]
        for f in range(tree.nfree):
            w.x[k] += w.T[k, tree.free_dof[f]] * result.a[tree.free_dof[f]]
    for c in range(tree.nclusters):
        cluster_multipliers(tree, w, c, w.x, result.multipliers)
        cluster_residuals(tree, w, c, result.a, result.residual)
    result.progress[0] = w.pivot[0]
    result.iterations[0] = 1.0


CLUSTER_ABA = Algorithm("cluster_aba", cluster_aba, INPUTS, OUTPUTS, WORK | CLUSTERED, CLUSTERS, view=forward_view)
APPROXIMATE = Algorithm("approximate", approximate, INPUTS, OUTPUTS, WORK | CLUSTERED, CLUSTERS, view=forward_view)
PROJECTION = Algorithm(
    "projection", projection, INPUTS, OUTPUTS, WORK | COMPOSITE | CLUSTERED, CLUSTERS, view=forward_view
)
_ASKED: dict[str, Shape] = {"q": ("nq",), "v": ("nv",), "a": ("nv",), "wrenches": WRENCHES}
_TORQUES: dict[str, Shape] = {"tau": ("nv",), "full": ("nv",), "multipliers": ("nc",), "pivot": (1,)}
CLUSTER_RNEA = Algorithm("cluster_rnea", cluster_rnea, _ASKED, _TORQUES, WORK | EMBEDDED, CLUSTERS)
APPROXIMATE_RNEA = Algorithm("approximate_rnea", approximate_rnea, _ASKED, _TORQUES, WORK | CLUSTERED, CLUSTERS)
SETTLE = Algorithm(
    "settle",
    closing_step,
    {"q": ("nq",)},
    {"step": ("nv",), "error": ("nc",), "pivot": (1,)},
    WORK | EMBEDDED,
    CLUSTERS,
)
EXPLICIT = Algorithm(
    "explicit",
    explicit_form,
    {"q": ("nq",), "v": ("nv",)},
    {"matrix": ("nv", "nfree"), "rest": ("nv",), "pivot": (1,)},
    WORK | EMBEDDED,
    CLUSTERS,
)
