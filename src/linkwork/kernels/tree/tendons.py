# SPDX-License-Identifier: BSD-3-Clause
"""Tendons: lengths, their Jacobian and rates, and the torques of springs and dampers on them.

MuJoCo's ``ten_length``, ``ten_J``, ``ten_velocity`` and the tendons' part of ``qfrc_passive``. The length of a fixed
tendon is ``sum c q``; that of a spatial one ``sum |p2 - p1| / divisor`` over its segments, whose Jacobian has the rows
``u' (dp2/dv - dp1/dv) / divisor`` with the unit vector ``u`` from one point to the other.

| symbol     | meaning                                                                             |
|------------|-------------------------------------------------------------------------------------|
| length     | of each tendon                                                                      |
| J          | Jacobian of the lengths: their moment arms                                          |
| rate       | ``J v``                                                                             |
| ten_E, o   | pose of a body in the world                                                         |
| p, u       | a point, in the world; a unit vector                                                |

Cost: O(n) for poses, and for each segment the depth of its ends below the body that carries both.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.joints import axis_of, dof_of
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel, where
from linkwork.kernels.spatial import add, column, cross, dot, rotate, scale, set_vector, sub
from linkwork.kernels.tree.kinematics import POSE, joint_transforms, pose_from_parent
from linkwork.kernels.tree.tendon_geometry import distance_of
from linkwork.model.joints import HELICAL
from linkwork.plans.actuation import ACTUATION_TREE

STIFFNESS, DAMPING, LOWER, UPPER, SHORTEST, LONGEST, STOP_STIFFNESS, STOP_DAMPING = range(8)
"""Columns of the passive parameters of tendons."""

TENDON_WORK: dict[str, Shape] = {
    "ten_E": ("n", 3, 3),
    "ten_o": ("n", 3),
    "ten_length": ("ntendons",),
    "ten_rate": ("ntendons",),
    "ten_J": ("ntendons", "nv"),
}


@kernel
def tendon_poses(tree: Array, w: Array) -> None:
    """Root to leaves: pose of every body in the world, after `joint_transforms`."""
    set_vector((0.0, 0.0, 0.0), w.ten_o[0])
    for j in range(3):
        for k in range(3):
            w.ten_E[0, j, k] = 1.0 if j == k else 0.0
    for i in range(1, tree.n):
        h = tree.parent[i]
        pose_from_parent(tree, w, i, w.ten_E[h], w.ten_o[h], w.ten_E[i], w.ten_o[i])


@kernel
def world_point(w: Array, i: int, at: Vector) -> tuple[Scalar, Scalar, Scalar]:
    """A point of body ``i`` in the world."""
    return add(w.ten_o[i], rotate(w.ten_E[i], at))


@kernel
def add_point_jacobian(tree: Array, w: Array, i: int, root: int, p: Vector, u: Vector, row: Array) -> None:
    """``row += u' dp/dv`` of a point ``p`` of body ``i``, without joints up to ``root``, which carries it."""
    b = i
    while b > root:
        moment = cross(sub(p, w.ten_o[b]), u)
        for k in range(dof_of(tree.kind[b])):
            axis = axis_of(tree.kind[b], k)
            z = column(w.ten_E[b], axis % 3)
            x = dot(moment, z) if axis < 3 else dot(u, z)
            if tree.kind[b] == HELICAL:
                x = x + tree.pitch[b] * dot(u, z)
            row[tree.iv[b] + k] += x
        b = tree.parent[b]


@kernel
def tendon_lengths(tree: Array, w: Array, q: Array, length: Array) -> None:
    """Lengths of all tendons."""
    for t in range(tree.ntendons):
        length[t] = tree.tendon_constant[t]
    for m in range(tree.ntendon_terms):
        length[tree.tendon_term_tendon[m]] += tree.tendon_term_coefficient[m] * q[tree.tendon_term_q[m]]
    if tree.nsegments != 0:
        joint_transforms(tree, w, q)
        tendon_poses(tree, w)
    for s in range(tree.nsegments):
        first = world_point(w, tree.segment_first_body[s], tree.segment_first[s])
        second = world_point(w, tree.segment_second_body[s], tree.segment_second[s])
        length[tree.segment_tendon[s]] += tree.segment_scale[s] * distance_of(sub(second, first))


@kernel
def tendon_rows(tree: Array, w: Array, J: Array) -> None:
    """``J``, after `tendon_lengths`."""
    for t in range(tree.ntendons):
        for k in range(tree.nv):
            J[t, k] = 0.0
    for m in range(tree.ntendon_terms):
        J[tree.tendon_term_tendon[m], tree.tendon_term_v[m]] += tree.tendon_term_coefficient[m]
    for s in range(tree.nsegments):
        i = tree.segment_first_body[s]
        j = tree.segment_second_body[s]
        first = world_point(w, i, tree.segment_first[s])
        second = world_point(w, j, tree.segment_second[s])
        d = sub(second, first)
        u = scale(tree.segment_scale[s] / distance_of(d), d)
        row = J[tree.segment_tendon[s]]
        add_point_jacobian(tree, w, j, tree.segment_root[s], second, u, row)
        add_point_jacobian(tree, w, i, tree.segment_root[s], first, scale(-1.0, u), row)


@kernel
def tendon_rates(tree: Array, J: Array, v: Array, rate: Array) -> None:
    """``rate = J v``."""
    for t in range(tree.ntendons):
        x = 0.0
        for k in range(tree.nv):
            x = x + J[t, k] * v[k]
        rate[t] = x


@kernel
def tendon_states(tree: Array, w: Array, q: Array, v: Array) -> None:
    """``ten_length``, ``ten_J``, ``ten_rate``."""
    tendon_lengths(tree, w, q, w.ten_length)
    tendon_rows(tree, w, w.ten_J)
    tendon_rates(tree, w.ten_J, v, w.ten_rate)


@kernel
def add_tendon_force(tree: Array, w: Array, t: int, force: Scalar, tau: Array) -> None:
    """``tau += J' force`` of one tendon."""
    for k in range(tree.nv):
        tau[k] += w.ten_J[t, k] * force


@kernel
def tendon_slack(tree: Array, w: Array, t: int) -> Scalar:
    """How far the length of a tendon is from the range in which its spring is slack."""
    c = tree.tendon_passive[t]
    l = w.ten_length[t]
    return where(l, c[LOWER], c[LOWER] - l, where(c[UPPER], l, c[UPPER] - l, 0.0))


@kernel
def passive_force(tree: Array, w: Array, t: int) -> Scalar:
    """Force of the spring, the damper and the stops of a tendon along it, after `tendon_states`."""
    c = tree.tendon_passive[t]
    l = w.ten_length[t]
    force = c[STIFFNESS] * tendon_slack(tree, w, t) - c[DAMPING] * w.ten_rate[t]
    short = c[STOP_STIFFNESS] * (c[SHORTEST] - l) - c[STOP_DAMPING] * w.ten_rate[t]
    long = c[STOP_STIFFNESS] * (c[LONGEST] - l) - c[STOP_DAMPING] * w.ten_rate[t]
    return force + where(l, c[SHORTEST], short, 0.0) + where(c[LONGEST], l, long, 0.0)


@kernel
def add_passive_tendons(tree: Array, w: Array, tau: Array) -> None:
    """Add to ``tau`` the torques of springs, dampers and stops of tendons, after `tendon_states`."""
    for t in range(tree.ntendons):
        add_tendon_force(tree, w, t, passive_force(tree, w, t), tau)


@kernel
def evaluate_lengths(tree: Array, w: Array, q: Array, length: Array) -> None:
    """Lengths of all tendons."""
    tendon_lengths(tree, w, q, length)


@kernel
def evaluate_jacobian(tree: Array, w: Array, q: Array, jacobian: Array) -> None:
    """Derivatives of the lengths."""
    tendon_lengths(tree, w, q, w.ten_length)
    tendon_rows(tree, w, jacobian)


@kernel
def evaluate_velocities(tree: Array, w: Array, q: Array, v: Array, velocity: Array) -> None:
    """Rates of the lengths."""
    tendon_lengths(tree, w, q, w.ten_length)
    tendon_rows(tree, w, w.ten_J)
    tendon_rates(tree, w.ten_J, v, velocity)


@kernel
def evaluate_forces(tree: Array, w: Array, q: Array, v: Array, tau: Array) -> None:
    """Torques of springs and dampers of tendons."""
    for k in range(tree.nv):
        tau[k] = 0.0
    tendon_states(tree, w, q, v)
    add_passive_tendons(tree, w, tau)


_WORK = POSE | TENDON_WORK
TENDON_LENGTHS = Algorithm(
    "tendon_length", evaluate_lengths, {"q": ("nq",)}, {"length": ("ntendons",)}, _WORK, ACTUATION_TREE
)
TENDON_JACOBIAN = Algorithm(
    "tendon_jacobian", evaluate_jacobian, {"q": ("nq",)}, {"jacobian": ("ntendons", "nv")}, _WORK, ACTUATION_TREE
)
TENDON_VELOCITIES = Algorithm(
    "tendon_velocity",
    evaluate_velocities,
    {"q": ("nq",), "v": ("nv",)},
    {"velocity": ("ntendons",)},
    _WORK,
    ACTUATION_TREE,
)
TENDON_FORCES = Algorithm(
    "tendon_forces", evaluate_forces, {"q": ("nq",), "v": ("nv",)}, {"tau": ("nv",)}, _WORK, ACTUATION_TREE
)
