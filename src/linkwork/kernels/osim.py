"""The Delassus matrix ``D = J M^-1 J'`` (inverse operational-space inertia) made explicitly, in six ways.

| text           | how                                                                       | cost            |
|----------------|---------------------------------------------------------------------------|-----------------|
| `ltl_osim`     | mass matrix and Jacobian in joint space, with the zeros of the tree        | n d² + m² d     |
| `prox_ltl_osim`| the same, and the factor of ``D + R`` (**proximal** Algorithm 1)           | n d² + m² d + m³|
| `pv_osim`      | rows handed down to the world, gathering ``D`` (**lqr** Section VII)       | n + m² d        |
| `pv_osim_fast` | rows handed down to the floating base, whose share of ``D`` has rank six   | n + m² d / r    |
| `efpa`         | inverse inertias handed up, rows down to where they meet                   | n + m d + m²    |
| `kjr`          | inverse inertias of pairs of bodies handed up to both                      | n + p² d + m²   |

with d the depth, m the rows, p the bodies they are on, r the branches at the base. `caba_osim` is the damped inverse
``(D + R)^-1`` itself, for rows of one moving body each; `own_blocks` is ``D`` within each constraint.

| symbol | meaning                                                                              |
|--------|--------------------------------------------------------------------------------------|
| Om     | acceleration of a body under unit forces on it, ``[linear; angular]`` (upper triangle) |
| Kp     | rows of K on their way down                                                          |
| Pi     | acceleration of one body under unit forces on another; row k for force k             |
"""

from __future__ import annotations

from linkwork.kernels.aba import (
    ARTICULATED,
    articulate,
    eliminate,
    factorize_ldl,
    inertia_to_parent,
    init_rigid_inertias,
    solve_ldl,
)
from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.bbo import (
    TRAVEL,
    eliminate_rows,
    init_rows,
    project_rows_on_joint,
    propagate_rows,
    rows_to_parent,
)
from linkwork.kernels.constraints import CLOSURE, constraint_rows, jacobian_from_rows
from linkwork.kernels.crba import COMPOSITE, mass_matrix
from linkwork.kernels.joints import axis_of, dof_of, moves_along, rotate_to_child, rotate_to_parent
from linkwork.kernels.kinematics import POSE, joint_transforms
from linkwork.kernels.lcaba import joint_coupling_rows
from linkwork.kernels.ltl import DENSE, delassus_matrix, factorize_mass_matrix, rows_by_factor
from linkwork.kernels.rnea import FORCE
from linkwork.kernels.scalar import Array, Scalar, kernel
from linkwork.kernels.spatial import (
    add,
    add_outer_square,
    add_shifted_inertia,
    angular,
    cross,
    linear,
    rotate_inertia,
    rotate_inertia_about_z,
    scale,
    set_angular,
    set_linear,
    symmetrize,
)
from linkwork.model.joints import FREE, HELICAL, PRISMATIC, SPHERICAL
from linkwork.plans.bbo import BBO_TREE
from linkwork.plans.constraints import CONSTRAINED_TREE
from linkwork.plans.efpa import EFPA_TREE
from linkwork.plans.ltl import LTL_TREE

_WORK: dict[str, Shape] = POSE | CLOSURE | FORCE | ARTICULATED | {"e": ("nc",), "none": ("nc",)}


@kernel
def open_rows(tree: Array, w: Array, q: Array) -> None:
    """Rows of K."""
    joint_transforms(tree, w, q)
    constraint_rows(tree, w, q, w.e)


@kernel
def mirror_rows(tree: Array, matrix: Array) -> None:
    """The upper triangle from the lower one."""
    for r in range(tree.nc):
        for s in range(r):
            matrix[s, r] = matrix[r, s]


# In joint space -------------------------------------------------------------------------------------------------


@kernel
def ltl_osim(tree: Array, w: Array, q: Array, matrix: Array) -> None:
    """``(J L^-1) D^-1 (J L^-1)'``."""
    open_rows(tree, w, q)
    mass_matrix(tree, w, w.M)
    jacobian_from_rows(tree, w, q, w.Jc)
    factorize_mass_matrix(tree, w)
    rows_by_factor(tree, w)
    delassus_matrix(tree, w, matrix)
    mirror_rows(tree, matrix)


@kernel
def prox_ltl_osim(tree: Array, w: Array, q: Array, damping: Array, matrix: Array, factored: Array) -> None:
    """The same, and the factor of ``D + R``: ``L`` below the diagonal, ``1 / D`` on it."""
    ltl_osim(tree, w, q, matrix)
    for r in range(tree.nc):
        for s in range(tree.nc):
            factored[r, s] = matrix[r, s] if s <= r else 0.0
        factored[r, r] += damping[r]
    factorize_ldl(tree.nc, factored)


# Rows handed down -------------------------------------------------------------------------------------------------


@kernel
def pv_osim(tree: Array, w: Array, q: Array, matrix: Array) -> None:
    """Rows pass every joint down to the world; what they do to each other at the joints they share is ``D``."""
    open_rows(tree, w, q)
    for r in range(tree.nc):
        w.none[r] = 0.0
    init_rows(tree, w, w.none)
    init_rigid_inertias(tree, w)
    for i in range(tree.n - 1, 0, -1):
        eliminate(tree, w, i)
        propagate_rows(tree, w, i)
        inertia_to_parent(tree, w, i)
    write_rows(tree, w, matrix)


@kernel
def write_rows(tree: Array, w: Array, matrix: Array) -> None:
    """Entries of ``L`` in their places."""
    for r in range(tree.nc):
        for s in range(tree.nc):
            matrix[r, s] = 0.0
    for b in range(tree.nblocks):
        o = tree.block_slot[b]
        for a in range(tree.block_size[b]):
            for c in range(a + 1):
                x = w.Ls[tree.block_entry[tree.block_entry_start[b] + a * (a + 1) // 2 + c]]
                matrix[tree.slot_row[o + a], tree.slot_row[o + c]] = x
                matrix[tree.slot_row[o + c], tree.slot_row[o + a]] = x


@kernel
def pv_osim_fast(
    tree: Array,
    w: Array,
    q: Array,
    damping: Array,
    branches: Array,
    rows: Array,
    base: Array,
    factored: Array,
    solved: Array,
    small: Array,
    pivot: Array,
) -> None:
    """``D = B + K H^-1 K'`` and ``(D + R)^-1`` by the matrix inversion lemma (**lqr** Section VII-B).

    ``branches`` is B, whose blocks are those of branches of the floating base, ``rows`` is K and ``base`` H at the
    base; then the factor of ``B + R``, ``(B + R)^-1 K``, and the factor of ``H + K' (B + R)^-1 K``. ``pivot`` is near
    zero where ``B + R`` is singular and this does not serve.
    """
    open_rows(tree, w, q)
    for r in range(tree.nc):
        w.none[r] = 0.0
    init_rows(tree, w, w.none)
    init_rigid_inertias(tree, w)
    for i in range(tree.n - 1, 0, -1):
        if tree.parent[i] == 0:
            write_rows(tree, w, branches)
            for k in range(dof_of(tree.kind[i])):
                j = axis_of(tree.kind[i], k)
                w.H[i, j, j] += w.joint_inertia[tree.iv[i] + k]
            symmetrize(w.H[i])
            for j in range(6):
                for k in range(6):
                    base[j, k] = w.H[i, j, k]
            for b in range(tree.nblocks):
                o = tree.block_slot[b]
                for a in range(tree.block_size[b]):
                    r = tree.slot_row[o + a]
                    w.Ls[tree.block_entry[tree.block_entry_start[b] + a * (a + 1) // 2 + a]] += damping[r]
                    for j in range(6):
                        rows[r, j] = w.Ks[o + a, j]
            eliminate_rows(tree, w, i)
            write_rows(tree, w, factored)
            for b in range(tree.nblocks):
                o = tree.block_slot[b]
                for a in range(tree.block_size[b]):
                    for j in range(6):
                        solved[tree.slot_row[o + a], j] = w.Zs[o + a, j]
            for j in range(6):
                for k in range(6):
                    small[j, k] = w.H[i, k, j] if k <= j else 0.0
            factorize_ldl(6, small)
        else:
            eliminate(tree, w, i)
            propagate_rows(tree, w, i)
            inertia_to_parent(tree, w, i)
    pivot[0] = w.pivot[0]


@kernel
def caba_osim(tree: Array, w: Array, q: Array, damping: Array, matrix: Array) -> None:
    """``(D + R)^-1 = rho - rho J (M + J' rho J)^-1 J' rho``, for rows of one moving body or joint each."""
    open_rows(tree, w, q)
    for r in range(tree.nc):
        w.none[r] = 0.0
        w.mu[r] = 1.0 / damping[r]
    init_rows(tree, w, w.none)
    init_rigid_inertias(tree, w)
    for m in range(tree.nk):
        i = tree.k_body[m]
        if i > 0:
            add_outer_square(w.mu[tree.k_row[m]], w.K[m], w.H[i])
    for t in range(tree.nterms):
        w.joint_inertia[tree.term_v[t]] += w.mu[tree.term_row[t]] * (w.dphi[t] * w.dphi[t])
    for i in range(tree.n - 1, 0, -1):
        eliminate(tree, w, i)
        propagate_rows(tree, w, i)
        inertia_to_parent(tree, w, i)
    write_rows(tree, w, matrix)
    for r in range(tree.nc):
        for s in range(r + 1):
            matrix[r, s] = -(w.mu[r] * matrix[r, s]) * w.mu[s]
        matrix[r, r] += w.mu[r]
    mirror_rows(tree, matrix)


@kernel
def own_blocks(tree: Array, w: Array, q: Array, blocks: Array) -> None:
    """``D`` within each constraint: row r, and its columns at the constraint's first row and after."""
    open_rows(tree, w, q)
    for r in range(tree.nc):
        w.none[r] = 0.0
        for k in range(tree.max_rows):
            blocks[r, k] = 0.0
    init_rows(tree, w, w.none)
    init_rigid_inertias(tree, w)
    for i in range(tree.n - 1, 0, -1):
        eliminate(tree, w, i)
        project_rows_on_joint(tree, w, i)
        for a in range(tree.slot_start[i], tree.slot_start[i] + tree.slot_count[i]):
            for b in range(tree.slot_constraint_first[a], a + 1):
                r = tree.slot_row[a]
                s = tree.slot_row[b]
                for k in range(dof_of(tree.kind[i])):
                    x = w.Zs[a, k] * w.Ts[b, k]
                    blocks[r, tree.row_in_constraint[s]] += x
                    if a != b:
                        blocks[s, tree.row_in_constraint[r]] += x
        rows_to_parent(tree, w, i)
        inertia_to_parent(tree, w, i)


# Inverse inertias handed up --------------------------------------------------------------------------------------


@kernel
def felt_at(tree: Array, w: Array, i: int) -> None:
    """``Om`` of body ``i``, that of its parent being known: ``S D^-1 S' + (1 - S V') X Om X' (1 - V S')``."""
    kind = tree.kind[i]
    A = w.Om[i]
    for j in range(6):
        for k in range(6):
            A[j, k] = 0.0
    if tree.parent[i] > 0:
        add_shifted_inertia(scale(-1.0, w.r[i]), w.Om[tree.parent[i]], A)
        turn_back(tree, w, i, A)
        symmetrize(A)
    for k in range(dof_of(kind)):
        z = w.Pi[k]
        for j in range(6):
            z[j] = 0.0
            for c in range(6):
                z[j] += A[j, c] * follows(tree, w, i, (c + 3) % 6, k)
    for k in range(dof_of(kind)):
        for m in range(k + 1):
            x = 0.0
            for j in range(6):
                x = x + follows(tree, w, i, (j + 3) % 6, m) * w.Pi[k, j]
            w.Z[k, m] = x
            w.Z[m, k] = x
    for k in range(dof_of(kind)):
        for j in range(6):
            A[place_of(tree, i, k), j] -= w.Pi[k, j]
            if kind == HELICAL:
                A[2, j] -= tree.pitch[i] * w.Pi[k, j]
    for k in range(dof_of(kind)):
        for j in range(6):
            A[j, place_of(tree, i, k)] -= w.Pi[k, j]
            if kind == HELICAL:
                A[j, 2] -= tree.pitch[i] * w.Pi[k, j]
    yielding(tree, w, i)
    for k in range(dof_of(kind)):
        for m in range(dof_of(kind)):
            x = w.Z[k, m]
            A[place_of(tree, i, k), place_of(tree, i, m)] += x
            if kind == HELICAL:
                A[2, 5] += tree.pitch[i] * x
                A[5, 2] += tree.pitch[i] * x
                A[2, 2] += (tree.pitch[i] * tree.pitch[i]) * x


@kernel
def place_of(tree: Array, i: int, k: int) -> int:
    """Where degree of freedom ``k`` of joint ``i`` moves its body, among ``[linear; angular]``."""
    return (axis_of(tree.kind[i], k) + 3) % 6


@kernel
def follows(tree: Array, w: Array, i: int, j: int, k: int) -> Scalar:
    """An entry of ``V = U D^-1``: what degree of freedom ``k`` takes of the acceleration ``j`` of its parent."""
    kind = tree.kind[i]
    if kind != HELICAL and tree.has_armature[i] == 0 and moves_along(kind, j) != 0:
        return 1.0 if axis_of(kind, k) == j else 0.0
    if kind > HELICAL:
        return w.Y[i, j, k]
    return w.V[i, j]


@kernel
def yielding(tree: Array, w: Array, i: int) -> None:
    """Add ``D^-1`` of joint ``i`` to ``Z``."""
    n = dof_of(tree.kind[i])
    if n == 1:
        w.Z[0, 0] += w.D[i]
    else:
        for k in range(n):
            for m in range(n):
                w.y6[m] = 1.0 if m == k else 0.0
            solve_ldl(n, w.L[i], w.y6)
            for m in range(n):
                w.Z[m, k] += w.y6[m]


@kernel
def turn_back(tree: Array, w: Array, i: int, A: Array) -> None:
    """``A``, in the axes of the parent of body ``i``, in its own."""
    kind = tree.kind[i]
    if kind == SPHERICAL or kind == FREE:
        for j in range(3):
            for k in range(3):
                w.Q[j, k] = w.R[i, k, j]
        rotate_inertia(w.Q, A)
    else:
        if tree.has_rotation[i] != 0:
            for j in range(3):
                for k in range(3):
                    w.Q[j, k] = tree.P[i, k, j]
            rotate_inertia(w.Q, A)
        if kind != PRISMATIC:
            rotate_inertia_about_z(w.cos[i], -w.sin[i], A)


@kernel
def feel_bodies(tree: Array, w: Array, q: Array) -> None:
    """Rows of K and ``Om`` of the bodies that need it."""
    open_rows(tree, w, q)
    joint_coupling_rows(tree, w)
    articulate(tree, w)
    for e in range(tree.nomega):
        felt_at(tree, w, tree.omega_body[e])
        symmetrize(w.Om[tree.omega_body[e]])


@kernel
def hand_down_part(tree: Array, w: Array, i: int, s: int) -> None:
    """A row of K on body ``i``, with the joint taken out of it, on the parent."""
    up = tree.path_parent[s]
    if up >= 0:
        K = w.Kp[s]
        for j in range(6):
            w.y6[j] = K[j]
        for k in range(dof_of(tree.kind[i])):
            x = K[axis_of(tree.kind[i], k)]
            if tree.kind[i] == HELICAL:
                x = x + tree.pitch[i] * K[5]
            for j in range(6):
                w.y6[j] -= follows(tree, w, i, j, k) * x
        f = rotate_to_parent(tree, w, i, linear(w.y6))
        set_angular(add(rotate_to_parent(tree, w, i, angular(w.y6)), cross(w.r[i], f)), w.Kp[up])
        set_linear(f, w.Kp[up])


@kernel
def gain_pair(tree: Array, one: int, other: int, x: Scalar, matrix: Array) -> None:
    """Add what two rows of K do to each other to the rows that they are parts of (lower triangle)."""
    r = tree.k_row[one]
    s = tree.k_row[other]
    if r < s:
        matrix[s, r] += x
    else:
        matrix[r, s] += x
        if r == s and one != other:
            matrix[r, s] += x


@kernel
def efpa(tree: Array, w: Array, q: Array, matrix: Array) -> None:
    """Extended force propagators: rows go down to where they meet, and see the inverse inertia there."""
    feel_bodies(tree, w, q)
    for r in range(tree.nc):
        for s in range(tree.nc):
            matrix[r, s] = 0.0
    for i in range(tree.n - 1, 0, -1):
        for s in range(tree.path_start[i], tree.path_start[i] + tree.path_count[i]):
            m = tree.path_k[s]
            if tree.k_body[m] == i:
                for j in range(6):
                    w.Kp[s, j] = w.K[m, j]
            hand_down_part(tree, w, i, s)
    for i in range(1, tree.n):
        for s in range(tree.path_start[i], tree.path_start[i] + tree.path_count[i]):
            if tree.common_count[s] > 0:
                for j in range(6):
                    x = 0.0
                    for k in range(6):
                        x = x + w.Om[i, j, k] * w.Kp[s, (k + 3) % 6]
                    w.y6[j] = x
                for e in range(tree.common_start[s], tree.common_start[s] + tree.common_count[s]):
                    t = tree.common_path[e]
                    x = 0.0
                    for j in range(6):
                        x = x + w.y6[j] * w.Kp[t, (j + 3) % 6]
                    gain_pair(tree, tree.path_k[s], tree.path_k[t], x, matrix)
    mirror_rows(tree, matrix)


@kernel
def move_past(tree: Array, w: Array, i: int, x: Array) -> None:
    """The acceleration ``x`` of the parent of body ``i`` as that of the body, its joint giving way."""
    kind = tree.kind[i]
    turn = rotate_to_child(tree, w, i, angular(x))
    set_linear(rotate_to_child(tree, w, i, add(linear(x), cross(angular(x), w.r[i]))), x)
    set_angular(turn, x)
    for k in range(dof_of(kind)):
        y = 0.0
        for j in range(6):
            y = y + follows(tree, w, i, j, k) * x[j]
        w.y6[k] = y
    for k in range(dof_of(kind)):
        x[axis_of(kind, k)] -= w.y6[k]
        if kind == HELICAL:
            x[5] -= tree.pitch[i] * w.y6[k]


@kernel
def kjr(tree: Array, w: Array, q: Array, matrix: Array) -> None:
    """Inverse inertias of pairs of bodies, handed up from where they meet to the one and then to the other."""
    feel_bodies(tree, w, q)
    for r in range(tree.nc):
        for s in range(tree.nc):
            matrix[r, s] = 0.0
    for p in range(tree.nbody_pairs):
        c = tree.body_pair_ancestor[p]
        for j in range(6):
            for k in range(6):
                w.Pi[j, k] = w.Om[c, (j + 3) % 6, (k + 3) % 6]
        for e in range(tree.first_descent_start[p], tree.first_descent_start[p] + tree.first_descent_count[p]):
            for k in range(6):
                move_past(tree, w, tree.descent_body[e], w.Pi[k])
        for j in range(6):
            for k in range(j):
                x = w.Pi[j, k]
                w.Pi[j, k] = w.Pi[k, j]
                w.Pi[k, j] = x
        for e in range(tree.second_descent_start[p], tree.second_descent_start[p] + tree.second_descent_count[p]):
            for k in range(6):
                move_past(tree, w, tree.descent_body[e], w.Pi[k])
        for e in range(tree.product_start[p], tree.product_start[p] + tree.product_count[p]):
            A = w.K[tree.product_first_k[e]]
            B = w.K[tree.product_second_k[e]]
            x = 0.0
            for j in range(6):
                for k in range(6):
                    x = x + A[j] * w.Pi[j, k] * B[k]
            gain_pair(tree, tree.product_first_k[e], tree.product_second_k[e], x, matrix)
    mirror_rows(tree, matrix)


@kernel
def parts(tree: Array, w: Array, q: Array, K: Array) -> None:
    """Rows of K as they are, each on its body."""
    open_rows(tree, w, q)
    for m in range(tree.nk):
        for j in range(6):
            K[m, j] = w.K[m, j]


_POSE: dict[str, Shape] = {"q": ("nq",)}
_DAMPED: dict[str, Shape] = _POSE | {"damping": ("nc",)}
_MATRIX: dict[str, Shape] = {"matrix": ("nc", "nc")}
_JOINTS = _WORK | COMPOSITE | DENSE
_TRAVEL = _WORK | TRAVEL | {"mu": ("nc",)}
_MEET = _WORK | {"Om": ("n", 6, 6), "Kp": ("npaths", 6), "Pi": (6, 6), "y6": (6,)}

LTL_OSIM = Algorithm("ltl_osim", ltl_osim, _POSE, _MATRIX, _JOINTS, LTL_TREE)
PROX_LTL_OSIM = Algorithm(
    "prox_ltl_osim", prox_ltl_osim, _DAMPED, _MATRIX | {"factored": ("nc", "nc")}, _JOINTS, LTL_TREE
)
PV_OSIM = Algorithm("pv_osim", pv_osim, _POSE, _MATRIX, _TRAVEL, BBO_TREE)
PV_OSIM_FAST = Algorithm(
    "pv_osim_fast",
    pv_osim_fast,
    _DAMPED,
    {
        "branches": ("nc", "nc"),
        "rows": ("nc", 6),
        "base": (6, 6),
        "factored": ("nc", "nc"),
        "solved": ("nc", 6),
        "small": (6, 6),
        "pivot": (1,),
    },
    _TRAVEL,
    BBO_TREE,
)
CABA_OSIM = Algorithm("caba_osim", caba_osim, _DAMPED, _MATRIX, _TRAVEL, BBO_TREE)
OWN_BLOCKS = Algorithm("own_blocks", own_blocks, _POSE, {"blocks": ("nc", "max_rows")}, _TRAVEL, BBO_TREE)
EFPA = Algorithm("efpa", efpa, _POSE, _MATRIX, _MEET, EFPA_TREE)
KJR = Algorithm("kjr", kjr, _POSE, _MATRIX, _MEET, EFPA_TREE)
PARTS = Algorithm("parts", parts, _POSE, {"K": ("nk", 6)}, POSE | CLOSURE | {"e": ("nc",)}, CONSTRAINED_TREE)
