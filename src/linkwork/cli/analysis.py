# SPDX-License-Identifier: BSD-3-Clause
"""Analysis of a mechanism: the pose at which its loops are closed, mobility and redundancy there, warnings."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

import linkwork as lw
from linkwork.cli.options import AssemblyOptions
from linkwork.cli.report import (
    CLOSED_TOLERANCE,
    NEUTRAL,
    ActuatorReport,
    ConstraintReport,
    ContactReport,
    GroupReport,
    JointReport,
    MethodReport,
    MobilityReport,
    ModelReport,
    NamedPoseReport,
    PoseReport,
    SensorReport,
)
from linkwork.cli.terminal import names
from linkwork.errors import AssemblyError
from linkwork.inputs import plural
from linkwork.mechanism import Mechanism
from linkwork.model.arrays import Floats
from linkwork.model.constraints import Constraint
from linkwork.model.contacts import ContactPair
from linkwork.model.parts import Limits, TreeJoint
from linkwork.model.shapes import Cylinder, Solid
from linkwork.plans.loops import Loops, loops_of

WEAK = 1e-4
"""A row counts as nearly redundant where a singular value of the Jacobian is below this fraction of the largest."""

LISTED_QUATERNIONS = 4
"""Quaternions whose slices of q are listed."""

FORMATS = {"robot": "URDF", "mujoco": "MJCF", "sdf": "SDF"}
"""By the root element."""

READ_AS = {
    "URDF": "angles in radians, rotations as roll, pitch, yaw",
    "SDF": 'angles in radians unless a pose has degrees="true", rotations as roll, pitch, yaw '
    "or quaternions (x, y, z, w)",
    "MJCF": 'angles in degrees unless <compiler angle="radian"/>, quaternions (w, x, y, z)',
    "USD": "angles in degrees, quaternions (w, x, y, z)",
}
"""Notation of angles and rotations by format; in q they are radians and (x, y, z, w)."""


def analyze(
    robot: Mechanism,
    file: str,
    pose: str | None,
    assembly: AssemblyOptions,
    *,
    warnings: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> ModelReport:
    """The report on a mechanism at a named pose or, if its loops are open there, at the nearest assembled one.

    Args:
        robot: The mechanism.
        file: The file that it was loaded from.
        pose: The only pose to analyze. If None, the neutral one, or the first pose of the file at which the loops
            are closed, or where they can be closed near one of these.
        assembly: Where loops count as closed, and whether they are closed where they do not.
        warnings: Those raised while the file was loaded.
        notes: Likewise.
    """
    analyzed = _analyzed_pose(robot, pose, assembly)
    mobility = _mobility(robot, analyzed, assembly.tolerance)
    loops = loops_of(robot)
    constraints = _constraints(robot, loops, _errors(robot, _configuration(robot, analyzed.start)))
    return ModelReport(
        linkwork=lw.__version__,
        file=file,
        format=format_of(file),
        name=robot.name,
        bodies=len(robot.body_names),
        joints=len(robot.joints),
        joint_types=dict(Counter(joint.type.kind_name for joint in robot.joints).most_common()),
        nq=robot.nq,
        nv=robot.nv,
        nc=robot.nc,
        mass=robot.mass,
        gravity=_numbers(robot.gravity),
        coordinates=_coordinates(robot),
        read_as=READ_AS.get(format_of(file), ""),
        dof=mobility.dof,
        pose=analyzed,
        mobility=mobility,
        constraints=constraints,
        groups=tuple(
            GroupReport(g.constraints, g.joints, _shared(g.joints, [c for c in constraints if c.group == k]), g.root)
            for k, g in enumerate(loops.groups)
        ),
        methods=_methods(robot),
        joint_list=tuple(_joint(robot, joint) for joint in robot.joints),
        actuators=tuple(
            ActuatorReport(a.name, a.joint or a.tendon or a.body, a.gear, a.gain, a.bias, dict(a.also), a.refused)
            for a in robot.actuators
        ),
        tendons=tuple(tendon.name for tendon in robot.tendons),
        sensors=tuple(SensorReport(s.name, s.type, s.of, s.refused) for s in robot.sensors),
        poses=tuple(NamedPoseReport(name, _largest_error(robot, q), _numbers(q)) for name, q in robot.poses.items()),
        contacts=tuple(_contact(pair) for pair in robot.contacts),
        warnings=(*warnings, *_warnings_of(analyzed, mobility)),
        notes=(*notes, *_notes(robot, analyzed, mobility, constraints, assembly.tolerance)),
    )


def _contact(pair: ContactPair) -> ContactReport:
    first, second = pair.first, pair.second
    return ContactReport(
        name=pair.name,
        shapes=(first.name, second.name),
        solids=(_solid_name(first.solid), _solid_name(second.solid)),
        bodies=pair.bodies,
        slots=pair.slots,
        friction=pair.friction,
        restitution=pair.restitution,
        compliance=pair.compliance,
        margin=pair.margin,
    )


def _solid_name(solid: Solid) -> str:
    return "Capsule" if isinstance(solid, Cylinder) and solid.rounded else type(solid).__name__


def _constraints(robot: Mechanism, loops: Loops, errors: dict[str, float]) -> tuple[ConstraintReport, ...]:
    return tuple(
        ConstraintReport(
            name=c.name,
            type=loop.kind,
            rows=c.rows,
            enabled=c.enabled,
            between=c.places or c.joints or ("all bodies",),
            bodies=_bodies(robot, c),
            root=loop.root,
            support=loop.support,
            group=loop.group,
            gap=errors.get(c.name),
        )
        for c, loop in zip(robot.constraints, loops.loops, strict=True)
    )


def _coordinates(robot: Mechanism) -> str:
    """Units of q, and the slices of q that are quaternions or directions."""
    text = "angles in rad, lengths in m"
    for count, what in ((4, "quaternions (x, y, z, w)"), (2, "directions (cos, sin)")):
        slices = [f"q[{at.start}:{at.stop}]" for at in robot.unit_slices() if at.stop - at.start == count]
        if slices:
            text += f"; {what} at {', '.join(slices[:LISTED_QUATERNIONS])}" + (
                f" and {len(slices) - LISTED_QUATERNIONS} more" * (len(slices) > LISTED_QUATERNIONS)
            )
    return text


def _methods(robot: Mechanism) -> tuple[MethodReport, ...]:
    """Operation counts of forward dynamics by each method, for a mechanism with constraints."""
    if not any(c.enabled for c in robot.constraints):
        return ()
    from linkwork.dynamics.methods import best_method, method_costs

    best = best_method(robot)
    costs = sorted(method_costs(robot).items(), key=lambda item: item[1].total)
    return tuple(MethodReport(name, cost.total, cost.iteration, name == best) for name, cost in costs)


def format_of(file: str) -> str:
    """The format of a file that has been loaded."""
    if Path(file).suffix.lower() in (".usd", ".usda", ".usdc"):
        return "USD"
    if Path(file).suffix.lower() == ".json":
        return "JSON"
    text = re.sub(rb"<!--.*?-->", b"", Path(file).read_bytes().replace(b"\0", b""), flags=re.DOTALL)
    root = re.search(rb"<(?:\w+:)?(robot|mujoco|sdf)\b", text)
    return FORMATS[root[1].decode()] if root else "unknown"


# Poses ---------------------------------------------------------------------------------------------


def _configuration(robot: Mechanism, pose: str) -> Floats:
    return robot.normalize(robot.poses[pose]) if pose in robot.poses else robot.neutral()


def _errors(robot: Mechanism, q: Floats) -> dict[str, float]:
    """The largest error of each constraint at ``q``, of its holonomic rows."""
    if not robot.nc:
        return {}
    e = np.abs(lw.constraint_error(robot, q))
    largest = {}
    for c in robot.constraints:
        largest[c.name] = float(
            np.max(e[robot.row_slice(c.name)], where=np.array(c.holonomic, dtype=bool), initial=0.0)
        )
    return largest


def _largest_error(robot: Mechanism, q: Floats) -> float:
    """The largest error of the enabled constraints at ``q``."""
    errors = _errors(robot, q)
    return max((errors[c.name] for c in _enabled(robot)), default=0.0)


def _enabled(robot: Mechanism) -> list[Constraint]:
    return [c for c in robot.constraints if c.enabled]


def _analyzed_pose(robot: Mechanism, pose: str | None, assembly: AssemblyOptions) -> PoseReport:
    """The chosen pose, or else the first of the file at which the loops are closed; assembled if need be."""
    starts = [pose] if pose is not None else [NEUTRAL, *(name for name in robot.poses if name != NEUTRAL)]
    gaps = {name: _largest_error(robot, _configuration(robot, name)) for name in starts}
    for name, gap in gaps.items():
        if gap <= assembly.tolerance or not assembly.assemble:
            return PoseReport(
                name, gap, assembled=False, gap=gap, failure=None, q=_numbers(_configuration(robot, name))
            )
    first = _assembled_pose(robot, starts[0], assembly)
    others = (_assembled_pose(robot, name, assembly) for name in starts[1:] if first.failure is not None)
    return next((closest for closest in others if closest.failure is None), first)


def _assembled_pose(robot: Mechanism, start: str, assembly: AssemblyOptions) -> PoseReport:
    """The configuration that closes the loops, starting from a pose at which they are open."""
    q = _configuration(robot, start)
    gap = _largest_error(robot, q)
    unlimited = _without_limits(robot)
    closed, failure = _assemble(unlimited if assembly.ignore_limits else robot, q, assembly.tolerance)
    if failure is not None and not assembly.ignore_limits and _assemble(unlimited, q, assembly.tolerance)[1] is None:
        failure += "; without joint limits they do: try --ignore-limits"
    return PoseReport(
        start, gap, failure is None, gap=_largest_error(robot, closed), failure=failure, q=_numbers(closed)
    )


def _assemble(robot: Mechanism, q: Floats, tolerance: float) -> tuple[Floats, str | None]:
    """The assembled configuration, or the closest that was found and why it is not closed."""
    try:
        return robot.assemble(q), None
    except AssemblyError as error:
        best = q if error.q is None else np.asarray(error.q)
        return best, None if _largest_error(robot, best) <= tolerance else str(error)


def _without_limits(robot: Mechanism) -> Mechanism:
    def unbounded(limits: Limits) -> Limits:
        return replace(limits, lower=np.full_like(limits.lower, -np.inf), upper=np.full_like(limits.upper, np.inf))

    return replace(robot, joints=tuple(replace(joint, limits=unbounded(joint.limits)) for joint in robot.joints))


def _mobility(robot: Mechanism, pose: PoseReport, tolerance: float) -> MobilityReport:
    if not robot.nc:  # a tree needs no kernels
        return MobilityReport(robot.nv, 0, 0, 0, closed=True, redundant={}, conflicting={}, singular=0, weak=0)
    from linkwork.closure.mobility import mobility  # imports the compiler, which takes a moment

    q = np.array(pose.q)
    report = mobility(robot, q, closed_to=tolerance)
    enabled = [c.enabled for c in robot.constraints for _ in range(c.rows)]
    sizes = np.linalg.svd(lw.constraint_jacobian(robot, q)[enabled], compute_uv=False)[: report.rank]
    return MobilityReport(
        dof=report.dof,
        rows=report.rows,
        rank=report.rank,
        redundancy=report.redundancy,
        closed=report.closed,
        redundant=report.redundant,
        conflicting=report.conflicting,
        singular=report.singular.shape[1],
        weak=int((sizes < WEAK * max(sizes, default=0.0)).sum()),
    )


# Parts ---------------------------------------------------------------------------------------------


def _joint(robot: Mechanism, joint: TreeJoint) -> JointReport:
    in_q, in_v = robot.q_slice(joint.name), robot.v_slice(joint.name)
    limits = joint.limits
    return JointReport(
        name=joint.name,
        type=joint.type.kind_name,
        parent=joint.parent,
        child=joint.child,
        q=(in_q.start, in_q.stop),
        v=(in_v.start, in_v.stop),
        lower=_bounds(limits.lower),
        upper=_bounds(limits.upper),
        velocity_limit=_bounds(limits.velocity),
        effort_limit=_bounds(limits.effort),
        actuated=joint.actuated,
    )


def _bodies(robot: Mechanism, constraint: Constraint) -> tuple[str, ...]:
    places = [robot.frames[place].body for place in constraint.places]
    return tuple(dict.fromkeys([*places, *(robot.joint(name).child for name in constraint.joints)]))


def _numbers(x: Iterable[float]) -> tuple[float, ...]:
    return tuple(float(value) for value in x)


def _bounds(x: Iterable[float]) -> tuple[float | None, ...]:
    return tuple(value if math.isfinite(value) else None for value in _numbers(x))


def _shared(joints: Sequence[str], members: Sequence[ConstraintReport]) -> tuple[str, ...]:
    count = Counter(name for member in members for name in member.support)
    return tuple(name for name in joints if count[name] > 1)


# Warnings and notes --------------------------------------------------------------------------------


def _warnings_of(pose: PoseReport, mobility: MobilityReport) -> Iterable[str]:
    if pose.failure is not None:
        yield pose.failure
    elif mobility.conflicting:
        yield f"constraints conflict, to first order, at pose '{pose.start}': {names(list(mobility.conflicting))}"


def _notes(
    robot: Mechanism,
    pose: PoseReport,
    mobility: MobilityReport,
    constraints: Sequence[ConstraintReport],
    tolerance: float,
) -> Iterable[str]:
    massless = [body for body in robot.body_names if robot.inertias[body].mass == 0]
    if massless:
        yield f"{plural(len(massless), 'body', 'bodies')} without mass: {names(massless)}"
    disabled = [c.name for c in constraints if not c.enabled]
    if disabled:
        yield f"disabled {plural(len(disabled), 'constraint')}: {names(disabled)}"
    open_here = [c for c in constraints if c.enabled and c.gap is not None and c.gap > tolerance]
    if open_here:
        widest = max(c.gap or 0.0 for c in open_here)
        yield f"at pose '{pose.start}' loops are open, by up to {widest:.3g}: {names([c.name for c in open_here])}"
    outside = _outside_limits(robot, _configuration(robot, pose.start))
    if outside:
        yield f"pose '{pose.start}' is outside the limits of {plural(len(outside), 'joint')}: {names(outside)}"
    for name in (NEUTRAL, *robot.poses):
        gap = 0.0 if name == pose.start else _largest_error(robot, _configuration(robot, name))
        if gap > tolerance:
            yield f"at pose '{name}' loops are open, by up to {gap:.3g}"
    if mobility.weak:
        yield (
            f"the rank of {mobility.rank} is not clear-cut: {plural(mobility.weak, 'row')} nearly redundant (singular "
            f"values below {WEAK:g} of the largest), because numbers in the file are rounded or the pose is near a "
            "singular one. Counted as redundant, there would be "
            f"{plural(mobility.dof + mobility.weak, 'degree of freedom', 'degrees of freedom')}, not {mobility.dof}"
        )


def _outside_limits(robot: Mechanism, q: Floats) -> list[str]:
    wrong = (q < robot.lower - CLOSED_TOLERANCE) | (q > robot.upper + CLOSED_TOLERANCE)
    return [joint.name for joint in robot.joints if wrong[robot.q_slice(joint.name)].any()]
