# SPDX-License-Identifier: BSD-3-Clause
"""Clusters of a closed mechanism: bodies that constraints tie together, and which of their joints are independent.

**clusters** Section II-B. Which degrees of freedom are independent is a matter of conditioning, with a preference for
joints marked ``independent`` and, less, for those that are actuated.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from linkwork.closure.loop_rounding import loop_rounding, nearby
from linkwork.closure.mobility import without_units
from linkwork.closure.thresholds import CLUSTER_RANK, OPEN
from linkwork.conversions import converted
from linkwork.model.arrays import Floats
from linkwork.model.computed import computed_once
from linkwork.model.constraints import Coupling
from linkwork.model.graphs import named_ancestors
from linkwork.model.model import Model
from linkwork.plans.clusters import DependentCoordinates, cluster_tree, clusters_of, enabled_rows
from linkwork.plans.constraints import constrained_tree
from linkwork.plans.tree import LOCAL, Tree
from linkwork.quantities.functions import constraint_jacobian
from linkwork.quantities.scales import joint_units, typical_row_units


@dataclass(frozen=True)
class ClusterReport:
    """Bodies that constraints tie together, by names."""

    bodies: tuple[str, ...]
    top: str
    """The body that carries the cluster, or all bodies that do."""
    joints: tuple[str, ...]
    constraints: tuple[str, ...]
    independent: tuple[str, ...]
    """Joints that move freely, wholly or (as ``joint[k]``) in one degree of freedom."""
    dependent: tuple[str, ...]
    outputs: tuple[str, ...]
    """The bodies that carry the cluster: `top`, or several bodies of one other cluster."""


M = TypeVar("M", bound=Model)


def dof_names(robot: Model) -> tuple[str, ...]:
    """A name for each degree of freedom: of its joint, with a number where the joint has several."""
    return tuple(
        joint.name if joint.type.nv == 1 else f"{joint.name}[{k}]"
        for joint in robot.joints
        for k in range(joint.type.nv)
    )


@converted
def clusters(robot: Model) -> tuple[ClusterReport, ...]:
    """The clusters of a robot that have constraints in them.

    Args:
        robot: The mechanism.
    """
    return tuple(reversed(reports(robot).values()))


def reports(robot: Model) -> dict[int, ClusterReport]:
    """Reports of clusters, by their number in the plan (`plans.clusters`)."""
    tree = constrained_tree(robot, (), LOCAL)
    tied, names = tied_dofs(robot), dof_names(robot)
    owner = {k: joint for joint in robot.joints for k in range(*robot.v_slice(joint.name).indices(robot.nv))}
    by_row = {r: c.name for c in robot.constraints for r in range(*robot.row_slice(c.name).indices(robot.nc))}
    parents = {joint.child: joint.parent for joint in robot.joints}
    result: dict[int, ClusterReport] = {}
    for number, cluster in enumerate(clusters_of(tree, enabled_rows(robot))):
        if not cluster.rows:
            continue
        joints = list(dict.fromkeys(owner[k].name for k in cluster.dofs))
        bodies = [robot.joint(name).child for name in joints]
        outputs = tuple(dict.fromkeys(p for name in joints if (p := robot.joint(name).parent) not in bodies))
        lines = [named_ancestors(parents, body) for body in outputs]
        result[number] = ClusterReport(
            bodies=tuple(bodies),
            top=next(body for body in lines[0] if all(body in line for line in lines)),
            joints=tuple(joints),
            constraints=tuple(dict.fromkeys(by_row[r] for r in cluster.rows)),
            independent=tuple(names[k] for k in cluster.dofs if k not in tied),
            dependent=tuple(names[k] for k in cluster.dofs if k in tied),
            outputs=outputs,
        )
    return result


# Which joints are free ------------------------------------------------------------------------------------


def tied_dofs(robot: Model, rows: tuple[int, ...] | None = None) -> frozenset[int]:
    """The degrees of freedom that follow the others by some rows; by default by all that are enabled."""
    return _chosen(robot, tuple(enabled_rows(robot)) if rows is None else rows)


def ties_of(robot: Model, rows: tuple[int, ...] | None = None) -> DependentCoordinates:
    """Dependent coordinates, with units of rows and coordinates."""
    return DependentCoordinates(tied_dofs(robot, rows), typical_row_units(robot), joint_units(robot))


@computed_once
def _chosen(robot: Model, rows: tuple[int, ...]) -> frozenset[int]:
    if not robot.nc:
        return frozenset()
    jacobians = [without_units(robot, constraint_jacobian(robot, q)) for q in closed_poses(robot)]
    cut = max(CLUSTER_RANK, OPEN * loop_rounding(robot))
    preference = _preference(robot)
    tied: set[int] = set()
    for cluster in clusters_of(constrained_tree(robot, (), LOCAL), rows):
        if cluster.rows:
            parts = [J[np.ix_(cluster.rows, cluster.dofs)] for J in jacobians]
            tied |= {cluster.dofs[k] for k in _pivots(parts, preference[list(cluster.dofs)], cut)}
    wrong = [j.name for j in robot.joints if j.independent and tied & set(_dofs(robot, j.name))]
    if wrong:
        warnings.warn(
            f"robot '{robot.name}': {', '.join(wrong)} cannot all be independent: constraints couple them, or "
            "the mechanism is at a dead center of theirs; they depend on other joints instead",
            stacklevel=4,
        )
    return frozenset(tied)


def _dofs(robot: Model, name: str) -> range:
    return range(*robot.v_slice(name).indices(robot.nv))


def closed_poses(robot: Model) -> list[Floats]:
    """Poses in which loops are closed; if there is none, any: rows bind velocities all the same."""
    rng = np.random.default_rng(0)
    closed = [q for q, _ in nearby(robot)]
    return closed or [robot.integrate(robot.neutral(), x) for x in rng.normal(size=(4, robot.nv))]


def _preference(robot: Model) -> Floats:
    """Weight of each degree of freedom as a pivot: the larger, the sooner it is dependent."""
    carriers = {joint.parent for joint in robot.joints}
    weights: list[float] = []
    for joint in robot.joints:
        if joint.independent is None:
            weight = (0.1 if joint.actuated else 1.0) * (1.0 if joint.child in carriers else 2.0)
        else:
            weight = 1e-3 if joint.independent else 1e3
        weights += [weight] * joint.type.nv
    return np.array(weights)


def _pivots(jacobians: Sequence[Floats], preference: Floats, cut: float) -> list[int]:
    """Columns that span the rows of these matrices, at the worst of them as well as can be (greedily).

    A column counts by the sine of its angle to those chosen before, and less where it is short: then the joint would
    have to move far.
    """
    ranks = [_rank(J, cut) for J in jacobians]
    rest = np.array([J for J, rank in zip(jacobians, ranks, strict=True) if rank == max(ranks)])
    whole = np.linalg.norm(rest, axis=1)
    short = 0.01 * whole.max(axis=1, keepdims=True)
    chosen: list[int] = []
    for _ in range(max(ranks)):
        length = np.linalg.norm(rest, axis=1)
        length[:, chosen] = 0.0
        sine = length / np.maximum(whole, 1e-300) * np.minimum(1.0, length / np.maximum(short, 1e-300))
        k = int((sine * preference).min(axis=0).argmax())
        chosen.append(k)
        unit = rest[:, :, k] / np.maximum(length[:, k], 1e-300)[:, None]
        rest = rest - unit[:, :, None] * (unit[:, None, :] @ rest)
    return chosen


def _rank(J: Floats, cut: float) -> int:
    s = np.linalg.svd(J, compute_uv=False)
    return int((s > cut * max(s.max(initial=0.0), 1e-300)).sum())


def not_a_transmission(robot: Model) -> str | None:
    """Why dependent bodies cannot be left out as rotors can, if so: linkages tie them, they carry others, or do more
    than turn."""
    linkage = next((c for c in robot.constraints if c.enabled and not isinstance(c, Coupling)), None)
    if linkage is not None:
        return f"{linkage} is no coupling of joints, such as gears and belts are"
    carriers = {joint.parent for joint in robot.joints}
    tied = tied_dofs(robot)
    for joint in robot.joints:
        if tied & set(_dofs(robot, joint.name)) and (joint.child in carriers or joint.type.nv > 1):
            return f"joint '{joint.name}' depends on others, and its body is no rotor that could be left out"
    return None


def clustered(robot: Model, frames: Sequence[str]) -> Tree:
    """The arrays of a robot by clusters."""
    return cluster_tree(robot, frames, ties_of(robot))


def independent(robot: M, names: Iterable[str]) -> M:
    """The robot with these joints marked as independent, and all others in its clusters as dependent."""
    chosen = [names] if isinstance(names, str) else list(names)
    for name in chosen:
        robot.joint(name)
    inside = {name for cluster in clusters(robot) for name in cluster.joints}
    joints = tuple(replace(j, independent=j.name in chosen) if j.name in inside else j for j in robot.joints)
    return replace(robot, joints=joints)
