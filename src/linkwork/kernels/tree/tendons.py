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
from linkwork.kernels.elementary import magnitude
from linkwork.kernels.scalar import Array, Scalar, kernel, where
from linkwork.kernels.spatial import scale, sub
from linkwork.kernels.tree.kinematics import POSE, joint_transforms
from linkwork.kernels.tree.tendon_geometry import distance_of
from linkwork.kernels.tree.transmissions import (
    crank_lengths,
    crank_rows,
    turn_lengths,
    turn_rows,
    wrench_lengths,
    wrench_rows,
)
from linkwork.kernels.tree.world_points import add_point_jacobian, world_point, world_poses
from linkwork.kernels.tree.wrapping import add_wrap_lengths, add_wrap_rows
from linkwork.plans.actuation import ACTUATION_TREE

STIFFNESS, DAMPING, LOWER, UPPER, SHORTEST, LONGEST, STOP_STIFFNESS, STOP_DAMPING, STIFFNESS_TERMS = range(9)
DAMPING_TERMS = STIFFNESS_TERMS + 2
"""Columns of the passive parameters of tendons."""

TENDON_WORK: dict[str, Shape] = {
    "ten_E": ("n", 3, 3),
    "ten_o": ("n", 3),
    "ten_length": ("ntendons",),
    "ten_rate": ("ntendons",),
    "ten_J": ("ntendons", "nv"),
    "site_R": (2, 3, 3),
}


@kernel
def tendon_lengths(tree: Array, w: Array, q: Array, length: Array) -> None:
    """Lengths of all tendons."""
    for t in range(tree.ntendons):
        length[t] = tree.tendon_constant[t]
    for m in range(tree.ntendon_terms):
        length[tree.tendon_term_tendon[m]] += tree.tendon_term_coefficient[m] * q[tree.tendon_term_q[m]]
    if tree.nsegments + tree.nwraps + tree.nwrenches + tree.ncranks != 0:
        joint_transforms(tree, w, q)
        world_poses(tree, w)
    if tree.nwraps != 0:
        add_wrap_lengths(tree, w, length)
    if tree.nwrenches != 0:
        wrench_lengths(tree, w, length)
    if tree.nturns != 0:
        turn_lengths(tree, q, length)
    if tree.ncranks != 0:
        crank_lengths(tree, w, length)
    for s in range(tree.nsegments):
        first = world_point(w, tree.segment_first_body[s], tree.segment_first[s])
        second = world_point(w, tree.segment_second_body[s], tree.segment_second[s])
        length[tree.segment_tendon[s]] += tree.segment_scale[s] * distance_of(sub(second, first))


@kernel
def tendon_rows(tree: Array, w: Array, q: Array, J: Array) -> None:
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
    if tree.nwraps != 0:
        add_wrap_rows(tree, w, J)
    if tree.nwrenches != 0:
        wrench_rows(tree, w, J)
    if tree.nturns != 0:
        turn_rows(tree, q, J)
    if tree.ncranks != 0:
        crank_rows(tree, w, J)


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
    tendon_rows(tree, w, q, w.ten_J)
    tendon_rates(tree, w.ten_J, v, w.ten_rate)


@kernel
def add_tendon_force(tree: Array, w: Array, t: int, force: Scalar, tau: Array) -> None:
    """``tau += J' force`` of one tendon."""
    for k in range(tree.nv):
        tau[k] += w.ten_J[t, k] * force


@kernel
def tendon_slack(tree: Array, w: Array, t: int) -> Scalar:
    """The distance of a tendon's length from the range in which its spring is slack."""
    c = tree.tendon_passive[t]
    l = w.ten_length[t]
    return where(l, c[LOWER], c[LOWER] - l, where(c[UPPER], l, c[UPPER] - l, 0.0))


@kernel
def passive_force(tree: Array, w: Array, t: int) -> Scalar:
    """Force of the spring, the damper and the stops of a tendon along it, after `tendon_states`."""
    c = tree.tendon_passive[t]
    l = w.ten_length[t]
    x = tendon_slack(tree, w, t)
    r = w.ten_rate[t]
    force = x * (c[STIFFNESS] - x * (c[STIFFNESS_TERMS] - x * c[STIFFNESS_TERMS + 1]))
    force = force - r * (c[DAMPING] + magnitude(r) * c[DAMPING_TERMS] + r * r * c[DAMPING_TERMS + 1])
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
    tendon_rows(tree, w, q, jacobian)


@kernel
def evaluate_velocities(tree: Array, w: Array, q: Array, v: Array, velocity: Array) -> None:
    """Rates of the lengths."""
    tendon_lengths(tree, w, q, w.ten_length)
    tendon_rows(tree, w, q, w.ten_J)
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
