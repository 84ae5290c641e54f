# SPDX-License-Identifier: BSD-3-Clause
"""Constraints: position errors, rows on bodies, Jacobian, bias, and Baumgarte's target.

A constrained motion satisfies ``J a + bias = target`` (**loops** Eq. 1): ``J v`` is the rate of the
errors, ``bias = dJ/dt v``, and Baumgarte stabilization asks for ``target = -kp error - kd J v``.

| symbol | meaning                                                                                       |
|--------|-----------------------------------------------------------------------------------------------|
| K      | rows on the spatial accelerations of single bodies: ``J a = sum K a_i``                       |
| beta   | bias: second derivative of the errors where ``qdd = 0``                                       |
| E, o   | pose of a body relative to the root of its loops                                              |
| dphi   | derivative of each term of a joint coupling by its joint's coordinate                         |

Cost: linear in the joints that support the constraints; of the Jacobian O(m d), with m rows and d the depth.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.constrained.pair_springs import subtract_pair_motion
from linkwork.kernels.constrained.rows import (
    com_bias,
    com_rows,
    combination_bias,
    combination_rows,
    joint_row,
    pair_bias,
    pair_rows,
    term_derivative,
    term_second_derivative,
    term_value,
)
from linkwork.kernels.constrained.tendon_couplings import TENDON_CLOSURE, tendon_coupling_bias, tendon_coupling_rows
from linkwork.kernels.functions import motion_forward, tape_forward, tape_reverse, tape_second_rates
from linkwork.kernels.joints import axis_of, dof_of, rotate_to_parent
from linkwork.kernels.scalar import Array, kernel
from linkwork.kernels.spatial import add, angular, cross, dot, linear, scale, set_angular, set_linear, set_vector
from linkwork.kernels.tree.kinematics import (
    ACCELERATION,
    MOTION,
    POSE,
    angular_velocities,
    bias_accelerations,
    joint_transforms,
    pose_from_parent,
    velocities,
)
from linkwork.model.joints import HELICAL, SPHERICAL
from linkwork.plans.constraints import CONSTRAINED_TREE

CLOSURE: dict[str, Shape] = {
    "E": ("nposes", 3, 3),
    "o": ("nposes", 3),
    "G": ("npairs", 3, 3),
    "orientation": ("npairs", 4),
    "d": ("npairs", 3),
    "K": ("nk", 6),
    "dphi": ("nterms",),
    "tape": ("ntape",),
    "tape_dtrig": ("ntape",),
    "tape_adjoint": ("ntape",),
    "tape_dot": ("ntape",),
    "tape_ddot": ("ntape",),
} | TENDON_CLOSURE
RATES: dict[str, Shape] = {"u": ("n", 3), "beta": ("nc",)}


@kernel
def loop_poses(tree: Array, w: Array) -> None:
    """Poses of the bodies in loops, each relative to the root of its loops.

    The third row of a rotation is the cross product of the others: for most bodies, straight-line programs need one
    number of it or none, and omit the rest.
    """
    set_vector((0.0, 0.0, 0.0), w.o[0])
    for j in range(3):
        for k in range(3):
            w.E[0, j, k] = 1.0 if j == k else 0.0
    for s in range(1, tree.nposes):
        pose_from_parent(tree, w, tree.pose_body[s], w.E[tree.pose_parent[s]], w.o[tree.pose_parent[s]], w.E[s], w.o[s])
        if tree.kind[tree.pose_body[s]] < SPHERICAL and tree.pose_parent[s] != 0:
            set_vector(cross(w.E[s, 0], w.E[s, 1]), w.E[s, 2])


@kernel
def constraint_rows(tree: Array, w: Array, q: Array, error: Array) -> None:
    """Position errors of all constraints, and K; after `joint_transforms`."""
    loop_poses(tree, w)
    for r in range(tree.nc):
        error[r] = -tree.row_value[r]
    for t in range(tree.nterms):
        error[tree.term_row[t]] += term_value(tree, t, q)
        w.dphi[t] = term_derivative(tree, t, q)
    tape_forward(tree, w, q)
    for e in range(tree.noutputs):
        error[tree.output_row[e]] += w.tape[tree.output_node[e]]
        tape_reverse(tree, w, e)
        for k in range(tree.output_inputs[e]):
            w.dphi[tree.output_term[e] + k] = w.tape_adjoint[tree.output_tape_start[e] + k]
    if tree.ntendon_rows != 0:
        tendon_coupling_rows(tree, w, q, error)
    for t in range(tree.ncom):
        com_rows(tree, w, t, error)
    for t in range(tree.ncombinations):
        combination_rows(tree, w, t)
    for t in range(tree.njoint_rows):
        joint_row(tree, w, t)
    for p in range(tree.npairs):
        pair_rows(tree, w, p, error)
    motion_forward(tree, w)
    for m in range(tree.nmotions):
        error[tree.motion_row[m]] -= w.tape[tree.motion_node[m]]


@kernel
def constraint_bias(tree: Array, w: Array, q: Array, v: Array) -> None:
    """``beta``, after `constraint_rows`, `angular_velocities` and `bias_accelerations`."""
    if tree.needs_velocities != 0:
        velocities(tree, w, v)
    for r in range(tree.nc):
        w.beta[r] = 0.0
    for t in range(tree.nterms):
        rate = v[tree.term_v[t]]
        w.beta[tree.term_row[t]] += term_second_derivative(tree, t, q) * (rate * rate)
    tape_second_rates(tree, w, v)
    for e in range(tree.noutputs):
        w.beta[tree.output_row[e]] += w.tape_ddot[tree.output_node[e]]
    if tree.ntendon_rows != 0:
        tendon_coupling_bias(tree, w, v)
    for t in range(tree.ncom):
        com_bias(tree, w, t)
    for t in range(tree.ncombinations):
        combination_bias(tree, w, t)
    for p in range(tree.npairs):
        pair_bias(tree, w, p)
    for m in range(tree.nmotions):
        w.beta[tree.motion_row[m]] -= w.tape_ddot[tree.motion_node[m]]


@kernel
def constraint_error(tree: Array, w: Array, q: Array, error: Array) -> None:
    """Position error of each row; zero for nonholonomic rows."""
    joint_transforms(tree, w, q)
    constraint_rows(tree, w, q, error)


@kernel
def constraint_jacobian(tree: Array, w: Array, q: Array, jacobian: Array) -> None:
    """``J``: rows of K, transformed from body to body as forces are."""
    joint_transforms(tree, w, q)
    constraint_rows(tree, w, q, w.e)
    jacobian_from_rows(tree, w, q, jacobian)


@kernel
def jacobian_from_rows(tree: Array, w: Array, q: Array, jacobian: Array) -> None:
    """``J``, after `constraint_rows`."""
    coupling_rows(tree, w, jacobian)
    for m in range(tree.nk):
        row_jacobian(tree, w, m, 0, jacobian)


@kernel
def coupling_rows(tree: Array, w: Array, jacobian: Array) -> None:
    """The Jacobian of couplings of joints, and zeros elsewhere."""
    for r in range(tree.nc):
        for k in range(tree.nv):
            jacobian[r, k] = 0.0
    for t in range(tree.nterms):
        jacobian[tree.term_row[t], tree.term_v[t]] += w.dphi[t]


@kernel
def row_jacobian(tree: Array, w: Array, m: int, root: int, jacobian: Array) -> None:
    """Row ``m`` of K on the joints between its body and ``root``, an ancestor."""
    r = tree.k_row[m]
    n = angular(w.K[m])
    f = linear(w.K[m])
    i = tree.k_body[m]
    while i > root:
        set_angular(n, w.y6)
        set_linear(f, w.y6)
        for k in range(dof_of(tree.kind[i])):
            jacobian[r, tree.iv[i] + k] += w.y6[axis_of(tree.kind[i], k)]
        if tree.kind[i] == HELICAL:
            jacobian[r, tree.iv[i]] += tree.pitch[i] * w.y6[5]
        f = rotate_to_parent(tree, w, i, f)
        n = add(rotate_to_parent(tree, w, i, n), cross(w.r[i], f))
        i = tree.parent[i]


@kernel
def constraint_wrenches(tree: Array, w: Array, q: Array, multipliers: Array, wrench: Array) -> None:
    """``wrench``: forces of constraints on each body, the world first, in its own frame: ``sum K' lambda``."""
    joint_transforms(tree, w, q)
    constraint_rows(tree, w, q, w.e)
    for i in range(tree.n):
        for j in range(6):
            wrench[i, j] = 0.0
    for m in range(tree.nk):
        for j in range(6):
            wrench[tree.k_body[m], j] += multipliers[tree.k_row[m]] * w.K[m, j]


@kernel
def evaluate_constraint_bias(tree: Array, w: Array, q: Array, v: Array, out: Array) -> None:
    """``bias = dJ/dt v``."""
    joint_transforms(tree, w, q)
    angular_velocities(tree, w, v)
    constraint_rows(tree, w, q, w.e)
    for j in range(6):
        w.a[0, j] = 0.0
    bias_accelerations(tree, w)
    constraint_bias(tree, w, q, v)
    for r in range(tree.nc):
        out[r] = w.beta[r]


@kernel
def evaluate_constraint_target(tree: Array, w: Array, q: Array, v: Array, out: Array) -> None:
    """Baumgarte stabilization: ``target = -kp error - kd J v``."""
    joint_transforms(tree, w, q)
    constraint_rows(tree, w, q, w.error)
    velocities(tree, w, v)
    baumgarte_target(tree, w, q, v, out)


@kernel
def baumgarte_target(tree: Array, w: Array, q: Array, v: Array, out: Array) -> None:
    """``target = -kp error - kd J v``, after `constraint_rows` and `velocities`."""
    constraint_velocities(tree, w, q, v, out)
    for r in range(tree.nc):
        out[r] = -(tree.kp[r] * w.error[r]) - tree.kd[r] * out[r]


@kernel
def constraint_velocities(tree: Array, w: Array, q: Array, v: Array, out: Array) -> None:
    """``J v``, less the rates of targets that move: velocity errors, after `constraint_rows` and `velocities`."""
    for r in range(tree.nc):
        out[r] = 0.0
    for m in range(tree.nmotions):
        out[tree.motion_row[m]] -= w.tape_dot[tree.motion_node[m]]
    for t in range(tree.nterms):
        out[tree.term_row[t]] += w.dphi[t] * v[tree.term_v[t]]
    for m in range(tree.nk_link):
        if tree.closed_form[tree.k_row[m]] == 0:
            i = tree.k_body[m]
            K = w.K[m]
            out[tree.k_row[m]] += dot(angular(K), w.omega[i]) + dot(linear(K), w.u[i])
    for p in range(tree.npairs):
        i = tree.frame_body[tree.pair_first[p]]
        j = tree.frame_body[tree.pair_second[p]]
        A = scale(-1.0, w.omega[i]), scale(-1.0, w.u[i])
        B = scale(-1.0, w.omega[j]), scale(-1.0, w.u[j])
        subtract_pair_motion(tree, w, p, A, B, out)


@kernel
def follow_motions(tree: Array, w: Array) -> None:
    """``Jv`` and ``beta`` without rates of targets that move, after `constraint_velocities` and `constraint_bias`.

    For steps whose velocities take rows from ``phi(q)`` to their targets after the step, which ``error`` has.
    """
    for m in range(tree.nmotions):
        w.Jv[tree.motion_row[m]] += w.tape_dot[tree.motion_node[m]]
        w.beta[tree.motion_row[m]] += w.tape_ddot[tree.motion_node[m]]


_SPARE: dict[str, Shape] = {"e": ("nc",), "y6": (6,)}

ERRORS = Algorithm(
    "constraint_error", constraint_error, {"q": ("nq",)}, {"error": ("nc",)}, POSE | CLOSURE, CONSTRAINED_TREE
)
CONSTRAINT_JACOBIAN = Algorithm(
    "constraint_jacobian",
    constraint_jacobian,
    {"q": ("nq",)},
    {"jacobian": ("nc", "nv")},
    POSE | CLOSURE | _SPARE,
    CONSTRAINED_TREE,
)
CONSTRAINT_WRENCHES = Algorithm(
    "constraint_wrenches",
    constraint_wrenches,
    {"q": ("nq",), "multipliers": ("nc",)},
    {"wrench": ("n", 6)},
    POSE | CLOSURE | {"e": ("nc",)},
    CONSTRAINED_TREE,
)
CONSTRAINT_BIAS = Algorithm(
    "constraint_bias",
    evaluate_constraint_bias,
    {"q": ("nq",), "v": ("nv",)},
    {"bias": ("nc",)},
    POSE | CLOSURE | MOTION | RATES | ACCELERATION | {"e": ("nc",)},
    CONSTRAINED_TREE,
)
TARGET = Algorithm(
    "constraint_target",
    evaluate_constraint_target,
    {"q": ("nq",), "v": ("nv",)},
    {"target": ("nc",)},
    POSE | CLOSURE | {"u": ("n", 3), "omega": ("n", 3), "error": ("nc",)},
    CONSTRAINED_TREE,
)
