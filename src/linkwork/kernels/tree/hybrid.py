# SPDX-License-Identifier: BSD-3-Clause
"""Hybrid dynamics: torques of some joints and accelerations of the others are prescribed, the rest is computed.

Featherstone, Rigid Body Dynamics Algorithms, Section 9.2: the articulated-body algorithm, in which joints with a
prescribed acceleration are not eliminated. Their accelerations are part of the first pass; the articulated inertia of
their bodies is added to the parent's as it is, ``Ia = IA``, ``pa = pA``; and their torques follow in the third pass,
``tau = S' (pA + IA a)``, ``a`` beyond the accelerations of the first pass. Symbols are those of `aba`; of a
prescribed joint, rows of L are columns of ``U = IA S``, and y is ``S' pA``. With no joint prescribed this is `aba`,
with all of them `rnea`. Cost: O(n).

With constraints, prescribed accelerations are rows ``qdd = a`` of a method of forward dynamics, and the forces of these
rows are their torques (`with_prescribed_rows`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.joints import axis_of, dof_of
from linkwork.kernels.scalar import Array, Scalar, kernel
from linkwork.kernels.spatial import symmetrize
from linkwork.kernels.tree.aba import (
    ARTICULATED,
    acceleration_from_parent,
    articulated_bias_force,
    eliminate,
    inertia_to_parent,
    init_rigid_inertia,
    solve_joint_acceleration,
    whole_inertia_to_parent,
)
from linkwork.kernels.tree.kinematics import ACCELERATION, MOTION, POSE
from linkwork.kernels.tree.passive import ELEMENT_WORK, subtract_passive_torques
from linkwork.kernels.tree.rnea import (
    FORCE,
    FORWARD,
    WRENCHES,
    apply_wrenches,
    force_to_parent,
    forward_pass,
    init_root,
)
from linkwork.model.joints import HELICAL
from linkwork.plans.hybrid import HYBRID_TREE, hybrid_layout


@kernel
def along_joint(tree: Array, i: int, k: int, x: Array) -> Scalar:
    """``S' x`` of degree of freedom ``k`` of joint ``i``."""
    y = x[axis_of(tree.kind[i], k)]
    if tree.kind[i] == HELICAL:
        y = y + tree.pitch[i] * x[5]
    return y


@kernel
def carry_body(tree: Array, w: Array, i: int) -> None:
    """``U = IA S``, ``y = S' pA``; then ``IA`` and ``pA`` of a body whose joint is prescribed, to its parent."""
    H = w.H[i]
    symmetrize(H)
    for k in range(dof_of(tree.kind[i])):
        for j in range(6):
            w.L[i, k, j] = along_joint(tree, i, k, H[j])
        w.y[tree.iv[i] + k] = along_joint(tree, i, k, w.f[i])
    whole_inertia_to_parent(tree, w, i)
    force_to_parent(tree, w, i)


@kernel
def prescribed_torques(tree: Array, w: Array, i: int, a: Array, torque: Array) -> None:
    """``tau = S' (pA + IA a)`` of a prescribed joint, and the torque that accelerates its armature."""
    o = tree.iv[i]
    for k in range(dof_of(tree.kind[i])):
        x = w.y[o + k] + tree.armature[o + k] * a[o + k]
        for j in range(6):
            x = x + w.L[i, k, j] * w.a[i, j]
        torque[o + k] = x


@kernel
def passive_torques_to_supply(tree: Array, w: Array, q: Array, v: Array) -> None:
    """``opposing``: the passive torques of springs, dampers and force elements, with the opposite sign."""
    for k in range(tree.nv):
        w.opposing[k] = 0.0
    subtract_passive_torques(tree, w, q, v, w.opposing)


@kernel
def hybrid_aba(
    tree: Array,
    w: Array,
    q: Array,
    v: Array,
    tau: Array,
    a: Array,
    wrenches: Array,
    acceleration: Array,
    torque: Array,
) -> None:
    """All accelerations and all torques, from ``a`` of prescribed joints and ``tau`` of the others."""
    passive_torques_to_supply(tree, w, q, v)
    for k in range(tree.nv):
        w.joint_inertia[k] = tree.armature[k]
        w.applied[k] = tau[k] - w.opposing[k]
    for i in range(1, tree.n):
        for k in range(tree.iv[i], tree.iv[i] + dof_of(tree.kind[i])):
            acceleration[k] = a[k] if tree.prescribed[i] != 0 else 0.0
    init_root(tree, w)
    for i in range(1, tree.n):  # pass 1
        forward_pass(tree, w, i, q, v, acceleration)
    apply_wrenches(tree, w, wrenches)
    for i in range(tree.n - 1, 0, -1):  # pass 2
        h = tree.parent[i]
        if tree.last_child[i] == 0:
            init_rigid_inertia(tree, w, i)
        if h > 0 and tree.last_child[h] == i:
            init_rigid_inertia(tree, w, h)
        if tree.prescribed[i] != 0:
            carry_body(tree, w, i)
        else:
            eliminate(tree, w, i)
            inertia_to_parent(tree, w, i)
            articulated_bias_force(tree, w, i, w.applied)
    for j in range(6):
        w.a[0, j] = 0.0
    for i in range(1, tree.n):  # pass 3
        acceleration_from_parent(tree, w, i)
        if tree.prescribed[i] != 0:
            prescribed_torques(tree, w, i, a, torque)
            for k in range(tree.iv[i], tree.iv[i] + dof_of(tree.kind[i])):
                torque[k] += w.opposing[k]
        else:
            solve_joint_acceleration(tree, w, i, acceleration)
            for k in range(tree.iv[i], tree.iv[i] + dof_of(tree.kind[i])):
                torque[k] = tau[k]


INPUTS: dict[str, Shape] = {"q": ("nq",), "v": ("nv",), "tau": ("nv",), "a": ("nv",), "wrenches": WRENCHES}
OUTPUTS: dict[str, Shape] = {"acceleration": ("nv",), "torque": ("nv",)}
_PASSIVE: dict[str, Shape] = ELEMENT_WORK | {"opposing": ("nv",), "applied": ("nv",)}

HYBRID_ABA = Algorithm(
    "hybrid_aba",
    hybrid_aba,
    INPUTS,
    OUTPUTS,
    POSE | MOTION | ACCELERATION | FORCE | ARTICULATED | _PASSIVE,
    HYBRID_TREE,
    folded={**FORWARD, "H": "backward"},
)


# With constraints -----------------------------------------------------------------------------------------------


@kernel
def set_prescribed_rows(tree: Array, w: Array, tau: Array, a: Array) -> None:
    """Targets of the rows of prescribed joints, ``a``, and torques of the others, passive ones included."""
    for r in range(tree.nc):
        w.motion[r] = 0.0
    for k in range(tree.nv):
        w.applied[k] = -w.opposing[k]
        if tree.prescribed_row[k] >= 0:
            w.motion[tree.prescribed_row[k]] = a[k]
        else:
            w.applied[k] = tau[k] - w.opposing[k]


@kernel
def read_torques(tree: Array, w: Array, tau: Array, result: Array, torque: Array) -> None:
    """Torques of all joints: the forces of the rows of prescribed ones, which follow two numbers in ``result``."""
    for k in range(tree.nv):
        torque[k] = tau[k] if tree.prescribed_row[k] < 0 else result[2 + tree.prescribed_row[k]]


@cache
def with_prescribed_rows(method: Algorithm) -> Algorithm:
    """Hybrid dynamics by a method of constrained forward dynamics, which has rows of prescribed joints.

    Args:
        method: Its inputs and outputs are those of `kernels.constrained.problem`.
    """

    def iterated(text: Callable[..., None]) -> Callable[..., None]:
        @kernel
        def on_rows(
            tree: Array,
            w: Array,
            q: Array,
            v: Array,
            tau: Array,
            a: Array,
            wrenches: Array,
            regularization: Array,
            multipliers: Array,
            settings: Array,
            acceleration: Array,
            torque: Array,
            result: Array,
        ) -> None:
            text(
                tree,
                w,
                q,
                v,
                w.applied,
                wrenches,
                regularization,
                w.motion,
                multipliers,
                settings,
                acceleration,
                result,
            )
            read_torques(tree, w, tau, result, torque)

        return on_rows

    first = iterated(method.text)

    @kernel
    def hybrid(tree: Array, w: Array, q: Array, v: Array, tau: Array, a: Array, *arrays: Array) -> None:
        passive_torques_to_supply(tree, w, q, v)
        set_prescribed_rows(tree, w, tau, a)
        first(tree, w, q, v, tau, a, *arrays)

    rows: dict[str, Shape] = {"regularization": ("nc",), "multipliers": ("nc",), "settings": ("nsettings",)}
    return replace(
        method,
        name=f"hybrid_{method.name}",
        kernel=hybrid,
        inputs=INPUTS | rows,
        outputs=OUTPUTS | {"result": ("nresult",)},
        work=dict(method.work) | _PASSIVE | {"motion": ("nc",)},
        layout=hybrid_layout(method.layout),
        iteration=None if method.iterate is None else iterated(method.iterate),
        refinement=None if method.refine is None else iterated(method.refine),
        view=None,
    )
