# SPDX-License-Identifier: BSD-3-Clause
"""The balance of contact forces in inverse dynamics: generalized forces that accelerations require, and columns.

Accelerations ask for generalized forces ``b`` of independent degrees of freedom (`cluster_rnea`). Contact forces ``f``
supply ``J' f``, with ``J`` the velocities of contact points, second shape relative to first, for those of the
independent degrees of freedom; torques ``t`` that are chosen (`plans.contact_forces`) supply ``B t``. Actuated degrees
of freedom that are independent supply what is left of their own rows.

All generalized forces are forces here: torques are divided by a length of the robot, so that units do not matter.

| symbol    | meaning                                                                                    |
|-----------|--------------------------------------------------------------------------------------------|
| contact_K | rows of a contact on a body, along t1, t2, n                                               |
| contact_J | ``J``, zero where a contact is open; of dependent degrees of freedom as in the spanning tree |
| b         | what the accelerations ask for; of dependent degrees of freedom as in the spanning tree    |
| left      | ``b - J' f - B t``                                                                         |
| tau_tree  | torques of the spanning tree                                                               |
| tau_rest  | ``left`` as torques                                                                        |

Cost: that of `cluster_rnea`, and contacts times the joints that carry them.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.clusters.actuated import max_constraint_error, max_required_torque
from linkwork.kernels.clusters.columns import generalized_force, shift_force_to_parent
from linkwork.kernels.clusters.explicit import cluster_multipliers
from linkwork.kernels.clusters.rnea import CLUSTER_RNEA, independent_torques, spanning_tree_torques
from linkwork.kernels.contact.setup import body_rows, poses_of_shapes, world_poses
from linkwork.kernels.contact.shapes.geometry import CONTACT_WORK, contact_geometry, given_contacts
from linkwork.kernels.joints import dof_of
from linkwork.kernels.records import Entry, view_of
from linkwork.kernels.scalar import Array, Scalar, kernel, where

BALANCE_WORK: dict[str, Shape] = {
    **CLUSTER_RNEA.work,
    **CONTACT_WORK,
    "body_E": ("n", 3, 3),
    "body_o": ("n", 3),
    "contact_K": (3, 6),
    "contact_J": ("nslots", 3, "nv"),
    "b": ("nv",),
    "left": ("nv",),
    "t": ("nchosen",),
    "tau_tree": ("nv",),
    "tau_rest": ("nv",),
}


class ContactForcesProblem(NamedTuple):
    """A motion to make, contact points of pairs without kernel code, and parameters."""

    q: Array
    v: Array
    a: Array
    wrenches: Array
    given: Array
    tolerance: Entry
    """Residual at which iterations end, relative to the required torques."""
    most: Entry
    """The most iterations."""
    rho0: Entry
    """Weight of the proximal term to start with,"""
    least_rho: Entry
    """the least,"""
    enough_rho: Entry
    """and the one at which what contacts miss is taken for what they cannot supply."""
    max_gap: Entry
    """Contacts that are farther open bear nothing."""
    length: Entry
    """Of the robot."""
    rounding: Entry
    """Uncertainty of ``J y``, relative to ``y``."""
    limits: Annotated[Array, ("nchosen", 2)]
    """Between which numbers each chosen torque is."""


class Balance(NamedTuple):
    """Contact forces that supply a motion, and their residual."""

    missed: Annotated[Array, (1,)]
    """The largest of ``unmet``, times the unit of its coordinate."""
    required: Annotated[Array, (1,)]
    """The largest torque of a joint of the spanning tree, in the same units."""


class ContactForcesResult(NamedTuple):
    """Torques and forces that make it."""

    tau: Array
    full: Array
    """(nv,) accelerations of all joints."""
    multipliers: Array
    forces: Array
    """(nslots, 3) forces of contacts, in the axes t1, t2, n."""
    gaps: Array
    unmet: Array
    """(nv,) generalized forces that are missing."""
    balance: Balance
    residual: Annotated[Array, (1,)]
    """Remaining change, relative to the required torques; zero at the end."""
    iterations: Annotated[Array, (1,)]
    pivot: Annotated[Array, (1,)]
    """As in `cluster_rnea`."""
    error: Annotated[Array, (1,)]
    """The largest constraint error."""
    before: Annotated[Array, (1,)]
    """``missed`` where ``y0`` was moved last."""
    rho: Annotated[Array, (1,)]
    """Weight of the proximal term,"""
    weight: Annotated[Array, (1,)]
    """and of that of chosen torques."""
    y: Annotated[Array, ("nv",)]
    y0: Annotated[Array, ("nv",)]
    t0: Annotated[Array, ("nchosen",)]


contact_forces_view = view_of(ContactForcesProblem, ContactForcesResult)


# Setup --------------------------------------------------------------------------------------------------------------


@kernel
def support_columns(tree: Array, w: Array, body: int, sign: Scalar, K: Array, J: Array) -> None:
    """Add to ``J`` what a force ``sign K`` on a body is to the joints that support it."""
    i = body
    for j in range(6):
        w.y6[j] = sign * K[j]
    while i != 0:
        for k in range(dof_of(tree.kind[i])):
            J[tree.iv[i] + k] += generalized_force(tree, i, k, w.y6)
        shift_force_to_parent(tree, w, i, w.y6)
        i = tree.parent[i]


@kernel
def contact_columns(tree: Array, w: Array, problem: ContactForcesProblem, gaps: Array) -> None:
    """``contact_J`` of all slots, on degrees of freedom of the spanning tree: second body minus first."""
    world_poses(tree, w)
    poses_of_shapes(tree, w)
    contact_geometry(tree, w)
    given_contacts(tree, w, problem.given)
    for c in range(tree.ncontacts):
        first = tree.shape_body[tree.contact_first[c]]
        second = tree.shape_body[tree.contact_second[c]]
        for s in range(tree.contact_slot[c], tree.contact_slot[c] + tree.contact_slots[c]):
            gaps[s] = w.gap[s]
            bears = where(problem.max_gap, w.gap[s], 0.0, 1.0)
            for k in range(3):
                for d in range(tree.nv):
                    w.contact_J[s, k, d] = 0.0
            if first > 0:
                body_rows(w.body_E[first], w.body_o[first], w.contact_R[s], w.point[s], w.contact_K, 0)
                for k in range(3):
                    support_columns(tree, w, first, -bears, w.contact_K[k], w.contact_J[s, k])
            if second > 0:
                body_rows(w.body_E[second], w.body_o[second], w.contact_R[s], w.point[s], w.contact_K, 0)
                for k in range(3):
                    support_columns(tree, w, second, bears, w.contact_K[k], w.contact_J[s, k])


@kernel
def independent_columns(tree: Array, w: Array, length: Scalar) -> None:
    """``J G`` in the place of independent degrees of freedom; then all columns in units of forces."""
    for c in range(tree.nclusters):
        for e in range(tree.dep_start[c], tree.dep_start[c] + tree.dep_count[c]):
            i = tree.dep_dof[e]
            for f in range(tree.ind_start[c], tree.ind_start[c] + tree.ind_count[c]):
                j = tree.ind_dof[f]
                for s in range(tree.nslots):
                    for k in range(3):
                        w.contact_J[s, k, j] += w.contact_J[s, k, i] * w.Gc[i, j]
    for d in range(tree.nv):
        unit = tree.joint_unit[d] / length
        for s in range(tree.nslots):
            for k in range(3):
                w.contact_J[s, k, d] = unit * w.contact_J[s, k, d]


@kernel
def chosen_column(tree: Array, w: Array, p: int, d: int) -> Scalar:
    """``B``: what the chosen torque ``p`` is to the row of degree of freedom ``d``, in units of forces."""
    k = tree.chosen_dof[p]
    x = 1.0
    if k != d:
        x = w.Gc[k, d] * (tree.joint_unit[d] / tree.joint_unit[k])
    return x


@kernel
def torque_unit(tree: Array, p: int, length: Scalar) -> Scalar:
    """The factor that makes a force of a chosen torque."""
    return tree.joint_unit[tree.chosen_dof[p]] / length


@kernel
def setup_balance(tree: Array, w: Array, problem: ContactForcesProblem, result: ContactForcesResult) -> None:
    """``b`` and ``J``."""
    spanning_tree_torques(tree, w, problem.q, problem.v, problem.a, problem.wrenches, w.tau_tree, result.full)
    result.balance.required[0] = max_required_torque(tree, w)
    result.error[0] = max_constraint_error(tree, w)
    result.pivot[0] = w.pivot[0]
    for c in range(tree.nclusters):
        independent_torques(tree, w, c, w.tau_tree)
    contact_columns(tree, w, problem, result.gaps)
    independent_columns(tree, w, problem.length)
    for d in range(tree.nv):
        w.b[d] = (tree.joint_unit[d] / problem.length) * w.tau_tree[d]
        result.unmet[d] = 0.0


@kernel
def write_forces(tree: Array, w: Array, problem: ContactForcesProblem, result: ContactForcesResult) -> None:
    """Torques, forces of constraints, and what is missing."""
    for d in range(tree.nv):
        result.tau[d] = 0.0
        w.tau_rest[d] = w.left[d] * (problem.length / tree.joint_unit[d])
    for e in range(tree.nbalanced):
        result.unmet[tree.balanced_dof[e]] = w.tau_rest[tree.balanced_dof[e]]
    for e in range(tree.ndriven):
        result.tau[tree.driven_dof[e]] = w.tau_rest[tree.driven_dof[e]]
    for p in range(tree.nchosen):
        result.tau[tree.chosen_dof[p]] = w.t[p] / torque_unit(tree, p, problem.length)
    for r in range(tree.nc):
        result.multipliers[r] = 0.0
    for c in range(tree.nclusters):
        for e in range(tree.dep_start[c], tree.dep_start[c] + tree.dep_count[c]):
            w.tau_rest[tree.dep_dof[e]] -= result.tau[tree.dep_dof[e]]
        cluster_multipliers(tree, w, c, w.tau_rest, result.multipliers)
