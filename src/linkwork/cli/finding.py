"""Finding what there is to say about a mechanism: where its loops are closed, what is free there, what is odd."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

import linkwork as lw
from linkwork.cli.facts import (
    ActuatorFacts,
    ConstraintFacts,
    Facts,
    GroupFacts,
    JointFacts,
    MethodFacts,
    MobilityFacts,
    NamedPoseFacts,
    PoseFacts,
)
from linkwork.errors import AssemblyError
from linkwork.mechanism import Mechanism
from linkwork.model.arrays import Floats
from linkwork.model.constraints import Constraint
from linkwork.model.parts import Limits, TreeJoint
from linkwork.plans.loops import loops_of

NEUTRAL = "neutral"

CLOSED_TO = 1e-6
"""A loop whose error (meters or radians) is below this counts as closed, unless asked otherwise."""

WEAK = 1e-4
"""Where singular values of the Jacobian are below this part of the largest, what they bind they hardly bind."""

SHOWN = 4
"""Quaternions whose places in q are listed."""

FORMATS = {"robot": "URDF", "mujoco": "MJCF", "sdf": "SDF"}
"""By the root element."""

READ_AS = {
    "URDF": "angles in radians, turns as roll, pitch, yaw",
    "SDF": 'angles in radians unless a pose has degrees="true", turns as roll, pitch, yaw or quaternions (x, y, z, w)',
    "MJCF": 'angles in degrees unless <compiler angle="radian"/>, quaternions (w, x, y, z)',
}
"""How a format writes what q has in radians, and as (x, y, z, w)."""


def facts_of(
    robot: Mechanism,
    file: str,
    *,
    pose: str | None = None,
    assemble: bool = True,
    limits: bool = True,
    tolerance: float = CLOSED_TO,
    warnings: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> Facts:
    """Look at a mechanism at a named pose, or, if its loops are open there, near it where they close.

    Without a ``pose`` it is neutral, or the first pose of the file at which the loops are closed, or where they close
    near one of these. Loops are closed where no error is above ``tolerance``. Assembling keeps the limits of joints,
    unless ``limits`` is False. ``warnings`` and ``notes`` are of loading.
    """
    standing = _stand(robot, pose, assemble, limits, tolerance)
    mobility = _mobility(robot, standing, tolerance)
    loops = loops_of(robot)
    gaps = _gaps(robot, _named(robot, standing.start))
    constraints = tuple(
        ConstraintFacts(
            name=c.name,
            type=loop.kind,
            rows=c.rows,
            enabled=c.enabled,
            between=c.places or c.joints or ("all bodies",),
            bodies=_bodies(robot, c),
            root=loop.root,
            support=loop.support,
            group=loop.group,
            gap=gaps.get(c.name),
        )
        for c, loop in zip(robot.constraints, loops.loops, strict=True)
    )
    return Facts(
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
        pose=standing,
        mobility=mobility,
        constraints=constraints,
        groups=tuple(
            GroupFacts(g.constraints, g.joints, _shared(g.joints, [c for c in constraints if c.group == k]), g.root)
            for k, g in enumerate(loops.groups)
        ),
        methods=_methods(robot),
        joint_list=tuple(_joint(robot, joint) for joint in robot.joints),
        actuators=tuple(
            ActuatorFacts(a.name, a.joint, a.gear, a.gain, a.bias, dict(a.also), a.refused) for a in robot.actuators
        ),
        poses=tuple(NamedPoseFacts(name, _gap(robot, q), _numbers(q)) for name, q in robot.poses.items()),
        warnings=(*warnings, *_doubts(standing, mobility)),
        notes=(*notes, *_notes(robot, standing, mobility, constraints, tolerance)),
    )


def _coordinates(robot: Mechanism) -> str:
    """How to write a configuration: neither degrees nor (w, x, y, z) can be told from what is meant."""
    text = "angles in rad, lengths in m"
    for count, what in ((4, "quaternions (x, y, z, w)"), (2, "directions (cos, sin)")):
        found = [f"q[{at.start}:{at.stop}]" for at in robot.unit_slices() if at.stop - at.start == count]
        if found:
            text += f"; {what} at {', '.join(found[:SHOWN])}" + (
                f" and {len(found) - SHOWN} more" * (len(found) > SHOWN)
            )
    return text


def _methods(robot: Mechanism) -> tuple[MethodFacts, ...]:
    """What forward dynamics costs, where there are constraints to choose a method for."""
    if not any(c.enabled for c in robot.constraints):
        return ()
    from linkwork.dynamics.methods import best_method, method_costs

    best = best_method(robot)
    costs = sorted(method_costs(robot).items(), key=lambda item: item[1].total)
    return tuple(MethodFacts(name, cost.total, cost.iteration, name == best) for name, cost in costs)


def format_of(file: str) -> str:
    """The format of a file that has been loaded."""
    text = re.sub(rb"<!--.*?-->", b"", Path(file).read_bytes().replace(b"\0", b""), flags=re.DOTALL)
    root = re.search(rb"<(?:\w+:)?(robot|mujoco|sdf)\b", text)
    return FORMATS[root[1].decode()] if root else "unknown"


# Poses ---------------------------------------------------------------------------------------------


def _named(robot: Mechanism, pose: str) -> Floats:
    return robot.normalize(robot.poses[pose]) if pose in robot.poses else robot.neutral()


def _gaps(robot: Mechanism, q: Floats) -> dict[str, float]:
    """The largest error of each constraint at ``q``, of the rows that bind positions."""
    if not robot.nc:
        return {}
    e = np.abs(lw.constraint_error(robot, q))
    found = {}
    for c in robot.constraints:
        found[c.name] = float(np.max(e[robot.row_slice(c.name)], where=np.array(c.holonomic, dtype=bool), initial=0.0))
    return found


def _gap(robot: Mechanism, q: Floats) -> float:
    """The largest error of the enabled constraints at ``q``."""
    gaps = _gaps(robot, q)
    return max((gaps[c.name] for c in _enabled(robot)), default=0.0)


def _enabled(robot: Mechanism) -> list[Constraint]:
    return [c for c in robot.constraints if c.enabled]


def _stand(robot: Mechanism, pose: str | None, assemble: bool, limits: bool, tolerance: float) -> PoseFacts:
    """The pose asked for, or else the first of the file at which the loops are closed; assembled if need be."""
    starts = [pose] if pose is not None else [NEUTRAL, *(name for name in robot.poses if name != NEUTRAL)]
    gaps = {name: _gap(robot, _named(robot, name)) for name in starts}
    for name, gap in gaps.items():
        if gap <= tolerance or not assemble:
            return PoseFacts(name, gap, assembled=False, gap=gap, failure=None, q=_numbers(_named(robot, name)))
    first = _stand_near(robot, starts[0], limits, tolerance)
    others = (_stand_near(robot, name, limits, tolerance) for name in starts[1:] if first.failure is not None)
    return next((standing for standing in others if standing.failure is None), first)


def _stand_near(robot: Mechanism, start: str, limits: bool, tolerance: float) -> PoseFacts:
    """Assembled from a pose at which loops are open."""
    q = _named(robot, start)
    gap = _gap(robot, q)
    closed, failure = _closed(robot if limits else _without_limits(robot), q, tolerance)
    if failure is not None and limits and _closed(_without_limits(robot), q, tolerance)[1] is None:
        failure += "; they would if joints could pass their limits (--ignore-limits)"
    return PoseFacts(start, gap, failure is None, gap=_gap(robot, closed), failure=failure, q=_numbers(closed))


def _closed(robot: Mechanism, q: Floats, tolerance: float) -> tuple[Floats, str | None]:
    """The best that assembling can do, and why that is not good enough, if so."""
    try:
        return robot.assemble(q), None
    except AssemblyError as error:
        best = q if error.q is None else np.asarray(error.q)
        return best, None if _gap(robot, best) <= tolerance else str(error)


def _without_limits(robot: Mechanism) -> Mechanism:
    def unbounded(limits: Limits) -> Limits:
        return replace(limits, lower=np.full_like(limits.lower, -np.inf), upper=np.full_like(limits.upper, np.inf))

    return replace(robot, joints=tuple(replace(joint, limits=unbounded(joint.limits)) for joint in robot.joints))


def _mobility(robot: Mechanism, pose: PoseFacts, tolerance: float) -> MobilityFacts:
    if not robot.nc:  # a tree: no need of kernels
        return MobilityFacts(robot.nv, 0, 0, 0, closed=True, redundant={}, conflicting={}, singular=0, weak=0)
    from linkwork.closure.mobility import mobility  # brings the compiler, which takes a moment

    q = np.array(pose.q)
    found = mobility(robot, q, closed_to=tolerance)
    enabled = [c.enabled for c in robot.constraints for _ in range(c.rows)]
    sizes = np.linalg.svd(lw.constraint_jacobian(robot, q)[enabled], compute_uv=False)[: found.rank]
    return MobilityFacts(
        dof=found.dof,
        rows=found.rows,
        rank=found.rank,
        redundancy=found.redundancy,
        closed=found.closed,
        redundant=found.redundant,
        conflicting=found.conflicting,
        singular=found.singular.shape[1],
        weak=int((sizes < WEAK * max(sizes, default=0.0)).sum()),
    )


# Parts ---------------------------------------------------------------------------------------------


def _joint(robot: Mechanism, joint: TreeJoint) -> JointFacts:
    in_q, in_v = robot.q_slice(joint.name), robot.v_slice(joint.name)
    limits = joint.limits
    return JointFacts(
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


def _shared(joints: Sequence[str], members: Sequence[ConstraintFacts]) -> tuple[str, ...]:
    count = Counter(name for member in members for name in member.support)
    return tuple(name for name in joints if count[name] > 1)


# What to say about it ------------------------------------------------------------------------------


def _doubts(pose: PoseFacts, mobility: MobilityFacts) -> Iterable[str]:
    if pose.failure is not None:
        yield pose.failure
    elif mobility.conflicting:
        yield f"constraints conflict, to first order, at pose '{pose.start}': {names(list(mobility.conflicting))}"


def _notes(
    robot: Mechanism,
    pose: PoseFacts,
    mobility: MobilityFacts,
    constraints: Sequence[ConstraintFacts],
    tolerance: float,
) -> Iterable[str]:
    massless = [body for body in robot.body_names if robot.inertias[body].mass == 0]
    if massless:
        yield f"{counted(len(massless), 'body', 'bodies')} without mass: {names(massless)}"
    disabled = [c.name for c in constraints if not c.enabled]
    if disabled:
        yield f"disabled {counted(len(disabled), 'constraint')}: {names(disabled)}"
    open_here = [c for c in constraints if c.enabled and c.gap is not None and c.gap > tolerance]
    if open_here:
        widest = max(c.gap or 0.0 for c in open_here)
        yield f"at pose '{pose.start}' loops are open, by up to {widest:.3g}: {names([c.name for c in open_here])}"
    outside = _outside_limits(robot, _named(robot, pose.start))
    if outside:
        yield f"pose '{pose.start}' is outside the limits of {counted(len(outside), 'joint')}: {names(outside)}"
    for name in (NEUTRAL, *robot.poses):
        gap = 0.0 if name == pose.start else _gap(robot, _named(robot, name))
        if gap > tolerance:
            yield f"at pose '{name}' loops are open, by up to {gap:.3g}"
    if mobility.weak:
        yield (
            f"the rank of {mobility.rank} is a close call: {counted(mobility.weak, 'row')} all but redundant (singular "
            f"values below {WEAK:g} of the largest), as numbers rounded in a file or a pose near a singular one make "
            "them. Without that there would be "
            f"{counted(mobility.dof + mobility.weak, 'degree of freedom', 'degrees of freedom')}, not {mobility.dof}"
        )


def _outside_limits(robot: Mechanism, q: Floats) -> list[str]:
    wrong = (q < robot.lower - CLOSED_TO) | (q > robot.upper + CLOSED_TO)
    return [joint.name for joint in robot.joints if wrong[robot.q_slice(joint.name)].any()]


def names(of: Sequence[str], most: int = 6) -> str:
    """The names in one line, the first few of many."""
    shown = ", ".join(f"'{name}'" for name in of[:most])
    return shown if len(of) <= most else f"{shown} and {len(of) - most} more"


def counted(count: int, one: str, many: str | None = None) -> str:
    """A number of things."""
    return f"{count} {one if count == 1 else many or one + 's'}"
