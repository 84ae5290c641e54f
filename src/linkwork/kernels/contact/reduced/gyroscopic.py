# SPDX-License-Identifier: BSD-3-Clause
"""Bodies that turn fast: gyroscopic forces that do no work, in place of those of the start of the step.

*Free bodies that carry no other.* In axes of the body the angular momentum about the center of mass is ``L = I_c w``,
and ``L' = -w x L`` without moments.
Taken at the start of a step, as everything that depends on velocities, ``-h w x L`` makes it longer in each step: spins
by large angles a step grow without bound. Turned by ``exp(-h w)`` its length stays, which bounds the spin by
``|L| / I_min``.

*Bodies that joints connect.* Bias forces of velocities are ``C v`` with the Coriolis matrix for which ``dM/dt - 2 C``
is skew (`tree.coriolis`). Its skew part ``S = (C - C') / 2`` does no work. At the start of a step it makes velocities
larger; at the mean of those before and after it does not (Cayley)::

    M (v_turned - v) + h S (v_turned + v) / 2 + h (C - S) v = 0

The matrix ``M + h S / 2`` is regular whatever the velocity, as ``M`` is positive definite. What is left, ``(C - S) v``,
changes velocities as inertia changes, and keeps ``v' M v`` with velocities after a step and positions before it. Where
that grows all the same, velocities relative to the center of mass of a tree are made smaller, while that of the center
of mass stays. What contacts change of velocities turns in the next step.

Bodies that turn by less than `LEAST_TURN` in a step have the forces of the start of the step.

| symbol         | meaning                                                                              |
|----------------|--------------------------------------------------------------------------------------|
| turned         | right-hand side, and then ``v_turned``                                                 |
| Cv             | other forces times ``h``: those of the step and ``C v``                                 |
| energy         | of each tree, at its root body: twice the kinetic energy about the center of mass      |
| q_last, v_last | the start of the step before, if it moved as fast, and velocities in axes of then    |
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.contact.reduced.factor import begin_blocks, eliminate_limb, solve_blocks
from linkwork.kernels.contact.reduced.mass_matrix import reduced_mass_matrix
from linkwork.kernels.contact.reduced.matrix import mass_times
from linkwork.kernels.contact.reduced.pattern import ancestor_block, fill_pattern
from linkwork.kernels.contact.reduced.problem import ACTIVE, SYMMETRIC
from linkwork.kernels.contact.reduced.rows import begin_sets
from linkwork.kernels.elementary import copy_numbers, maximum, minimum
from linkwork.kernels.integration import integrate_from_axes, rotate_by_vector
from linkwork.kernels.joints import axis_of, dof_of
from linkwork.kernels.scalar import Array, Scalar, kernel, sincos, some_below, sqrt, where
from linkwork.kernels.spatial import add, cross, dot, scale, sub, symmetric_product
from linkwork.kernels.thresholds import LEAST_DENOMINATOR
from linkwork.kernels.tree.common_frame import (
    COMMON_INERTIA,
    COMMON_MOTION,
    ROOT_FRAMES,
    body_inertias,
    composite_inertias,
    motion_columns,
)
from linkwork.kernels.tree.coriolis import coriolis_columns, related_entries, velocity_columns
from linkwork.kernels.tree.inertia_columns import TORQUE_COLUMNS, inertial_columns
from linkwork.kernels.tree.kinematics import joint_transforms
from linkwork.model.joints import FREE, PLANAR

LEAST_TURN = 0.3
"""In radians a step: the rate makes the momentum longer by 4 % then."""

UNUSED = ("A", "Psidd", "F", "fC", "Tq")
GYROSCOPIC_WORK: dict[str, Shape] = {
    name: shape for name, shape in (COMMON_MOTION | COMMON_INERTIA | TORQUE_COLUMNS).items() if name not in UNUSED
} | {
    "turned": ("nv",),
    "Cv": ("nv",),
    "q_last": ("nq",),
    "v_last": ("nv",),
    "energy": ("n",),
    "energy_last": ("n",),
}


@kernel
def turn_momenta(tree: Array, w: Array, h: Scalar) -> None:
    """Put the turn of the angular momentum in place of its rate in ``momentum``, for free bodies that turn fast."""
    for k in range(tree.nfree):
        i = tree.free_body[k]
        x = w.omega[i]
        rate = sqrt(dot(x, x))
        # I_c w = I w - m c x (w x c)
        c = scale(1.0 / tree.mass[i], tree.mc[i])
        L = sub(symmetric_product(tree.I[i], x), cross(tree.mc[i], cross(x, c)))
        sine, cosine = sincos(h * rate)
        n = scale(1.0 / maximum(rate, LEAST_DENOMINATOR), x)
        across = cross(n, L)
        turned = sub(scale(1.0 - cosine, cross(n, across)), scale(sine, across))
        change = add(turned, scale(h * rate, across))
        fast = where(LEAST_TURN, h * rate, 1.0, 0.0)
        for d in range(6):
            axis = axis_of(FREE, d)
            if axis < 3:
                w.momentum[tree.iv[i] + d] += fast * change[axis]


@kernel
def fastest_turn(tree: Array, w: Array) -> Scalar:
    """The largest angular velocity of bodies that joints connect."""
    square = 0.0
    for k in range(tree.nlinked):
        x = w.omega[tree.linked_body[k]]
        square = maximum(square, dot(x, x))
    return sqrt(square)


@kernel
def hold_axes(tree: Array, w: Array) -> None:
    """``Sd`` of linear velocities whose axes do not turn in a step (`integration.axes_accelerations`)."""
    for k in range(tree.nlinked):
        i = tree.linked_body[k]
        if tree.kind[i] == FREE or tree.kind[i] == PLANAR:
            for d in range(dof_of(tree.kind[i])):
                if axis_of(tree.kind[i], d) >= 3:
                    for j in range(6):
                        w.Psid_Sd[tree.iv[i] + d, j] = w.Psid[tree.iv[i] + d, j]


@kernel
def add_coriolis_entry(tree: Array, w: Array, v: Array, j: int, k: int, h: Scalar) -> None:
    """Adds the entries ``jk, kj`` of related degrees of freedom, for `add_coriolis`."""
    C_kj, C_jk = related_entries(w, j, k)
    x = 0.25 * h * (C_jk - C_kj)
    w.turned[j] -= (h * C_jk - x) * v[k]
    w.Cv[j] += h * C_jk * v[k]
    if j != k:
        w.turned[k] -= (h * C_kj + x) * v[j]
        w.Cv[k] += h * C_kj * v[j]
    a = tree.dof_limb[j]
    b = tree.dof_limb[k]
    r = j - tree.limb_v[a]
    c = k - tree.limb_v[b]
    size = tree.limb_size[b]
    if a == b:
        w.H_diagonal[tree.limb_diagonal[a] + r * size + c] += x
        w.H_diagonal[tree.limb_diagonal[a] + c * size + r] -= x
    else:
        at = ancestor_block(tree, a, b) + r * size + c
        w.H_U[at] += x
        w.H_L[at] -= x


@kernel
def add_coriolis(tree: Array, w: Array, q: Array, v: Array, h: Scalar) -> None:
    """``H = H + h S / 2``, ``turned = turned - h (C - S / 2) v`` and ``Cv = Cv + h C v``."""
    motion_columns(tree, w, q, v, ROOT_FRAMES)
    velocity_columns(tree, w)
    hold_axes(tree, w)
    body_inertias(tree, w)
    composite_inertias(tree, w)
    inertial_columns(tree, w)
    for n in range(tree.nlinked):
        i = tree.linked_body[n]
        for j in range(tree.iv[i], tree.iv[i] + dof_of(tree.kind[i])):
            coriolis_columns(w, i, j)
            for k in range(tree.iv[i], j + 1):
                add_coriolis_entry(tree, w, v, j, k, h)
            b = tree.parent[i]
            while b > 0:
                for k in range(tree.iv[b], tree.iv[b] + dof_of(tree.kind[b])):
                    add_coriolis_entry(tree, w, v, j, k, h)
                b = tree.parent[b]


@kernel
def linear_count(kind: int) -> int:
    """Linear velocities of a joint that moves a tree along axes of the world."""
    if kind == FREE:
        return 3
    return 2 if kind == PLANAR else 0


@kernel
def inertia_at(tree: Array, w: Array, k: int) -> Scalar:
    """``M_kk``."""
    a = tree.dof_limb[k]
    at = tree.limb_diagonal[a] + (k - tree.limb_v[a]) * (tree.limb_size[a] + 1)
    return w.M_diagonal[at]


@kernel
def tree_energies(tree: Array, w: Array, v: Array, p: Array, energy: Array) -> None:
    """``v' M v`` of each tree less that of its center of mass; ``p = M v``."""
    for i in range(1, tree.n):
        energy[i] = 0.0
    for i in range(1, tree.n):
        root = i
        while tree.parent[root] > 0:
            root = tree.parent[root]
        for k in range(tree.iv[i], tree.iv[i] + dof_of(tree.kind[i])):
            energy[root] += v[k] * p[k]
            if i == root and k < tree.iv[i] + linear_count(tree.kind[i]):
                energy[root] -= p[k] * p[k] / inertia_at(tree, w, k)


@kernel
def last_energies(tree: Array, w: Array, q: Array, v: Array, h: Scalar) -> None:
    """``energy_last`` with ``v`` and the mass matrix of the start of the step before, and velocities of centers of mass
    in axes of now, in ``v_last``."""
    copy_numbers(v, w.v_last, tree.nv)
    integrate_from_axes(tree, q, w.v_last, -h, w.q_last)
    joint_transforms(tree, w, w.q_last)
    reduced_mass_matrix(tree, w)
    mass_times(tree, w, w.v_last, w.Mv)
    tree_energies(tree, w, w.v_last, w.Mv, w.energy_last)
    for i in range(1, tree.n):
        k = tree.iv[i]
        if tree.parent[i] == 0 and linear_count(tree.kind[i]) > 0:
            z = w.Mv[k + 2] if tree.kind[i] == FREE else 0.0
            turn = (0.0, 0.0, -(h * v[k + 2]))
            if tree.kind[i] == FREE:
                turn = (-(h * v[k + 3]), -(h * v[k + 4]), -(h * v[k + 5]))
            x = rotate_by_vector(turn, scale(1.0 / inertia_at(tree, w, k), (w.Mv[k], w.Mv[k + 1], z)))
            for j in range(linear_count(tree.kind[i])):
                w.v_last[k + j] = x[j]


@kernel
def keep_energy(tree: Array, w: Array) -> None:
    """``turned`` with the linear momentum of trees that there was, and no more energy about centers of mass; ``Mv`` is
    its momentum."""
    tree_energies(tree, w, w.turned, w.Mv, w.energy)
    for i in range(1, tree.n):
        root = i
        while tree.parent[root] > 0:
            root = tree.parent[root]
        part = maximum(w.energy_last[root], 0.0) / maximum(w.energy[root], LEAST_DENOMINATOR)
        part = minimum(sqrt(part), 1.0)
        for k in range(tree.iv[i], tree.iv[i] + dof_of(tree.kind[i])):
            if i == root and k < tree.iv[i] + linear_count(tree.kind[i]):
                w.turned[k] = w.v_last[k] + part * (w.turned[k] - w.Mv[k] / inertia_at(tree, w, k))
            else:
                w.turned[k] = part * w.turned[k]


@kernel
def turn_linked(tree: Array, w: Array, q: Array, v: Array, h: Scalar) -> None:
    """``momentum`` with Coriolis forces that do no work, where bodies that joints connect turn fast."""
    fast = where(LEAST_TURN, h * fastest_turn(tree, w), 1.0, 0.0)
    if some_below(0.5 - fast, 0.0):
        begin_sets(w)
        fill_pattern(tree, w)
        last_energies(tree, w, q, v, h)
        joint_transforms(tree, w, q)
        reduced_mass_matrix(tree, w)
        w.counts[SYMMETRIC] = 0
        for k in range(w.counts[ACTIVE]):
            begin_blocks(tree, w, w.active_limb[k])
        mass_times(tree, w, v, w.turned)
        for k in range(tree.nv):
            w.Cv[k] = w.momentum[k] - w.turned[k]
        add_coriolis(tree, w, q, v, h)
        for k in range(w.counts[ACTIVE]):
            eliminate_limb(tree, w, w.active_limb[k])
        solve_blocks(tree, w, w.turned)
        mass_times(tree, w, w.turned, w.Mv)
        keep_energy(tree, w)
        mass_times(tree, w, w.turned, w.Mv)
        for k in range(tree.nv):
            w.momentum[k] = where(0.5, fast, w.Mv[k] + w.Cv[k], w.momentum[k])
