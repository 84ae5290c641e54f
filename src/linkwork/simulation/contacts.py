# SPDX-License-Identifier: BSD-3-Clause
"""Contact records of simulations: forces, velocities and gaps of contact points, and the dissipation of friction.

One row of numbers for each state, from which a simulation continues exactly: the next step starts from its forces.

| part of a row | numbers   | meaning                                                                       |
|---------------|-----------|-------------------------------------------------------------------------------|
| totals        | 7         | so far: energy lost by friction, by impacts, in joints; the largest residual;  |
|               |           | steps that missed the tolerance; steps with more points than there is room for; |
|               |           | steps of the convex problem                                                   |
| solver        | 2         | residual and iterations of the last step                                      |
| points        | 11 a point | contact points that are near, by number (`contact.points`): force, moment,     |
|               |           | velocity after the step, gap before it                                        |
| multipliers   | nc        | forces of constraints                                                         |
| boxes         | nboxes    | forces of joint limits and of dry friction                                    |
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from linkwork.contact.points import (
    FORCE,
    GAP,
    MOMENT,
    VELOCITY,
    ContactPoints,
    contact_points,
)
from linkwork.contact.scales import contact_scales
from linkwork.errors import InputError, StateWarning
from linkwork.inputs import ContactLaw, SimulationIntegrator, at_most_three, outer_level, plural, suggest
from linkwork.kernels.contact.reduced.step import (
    FALLBACKS,
    FRICTION,
    IMPACTS,
    JAMS,
    JOINTS,
    MISSED,
    OVERFLOWED,
    RESIDUAL,
)
from linkwork.model.joints import Prismatic
from linkwork.model.model import Model
from linkwork.plans import contact_reduced
from linkwork.plans.contact_balls import limited_balls
from linkwork.plans.contact_lcaba import HEAD
from linkwork.plans.contact_reduced import TOTALS
from linkwork.plans.contact_steps import TOTALS as SLOT_TOTALS
from linkwork.plans.contacts import contact_slots
from linkwork.plans.loops import loops_of
from linkwork.quantities.arguments import Array
from linkwork.simulation.thresholds import BEYOND_LIMITS, SLIGHT_CONTACT

SOLVER, SLOT_SOLVER = 3, 2
"""Numbers about the solver: residual, iterations, and the kind of the step, which steps by slots do not have."""


def has_contacts(
    robot: Model, contact: ContactLaw, integrator: SimulationIntegrator, method: str, limits: object = True
) -> bool:
    """Whether steps are those with contacts; an `InputError` where they are wanted and cannot be.

    Args:
        robot: The mechanism.
        contact: True: contact pairs, dry friction and exact limits of joints; ``"soft"``: the same and constraints,
            all of them soft; False: none of them; or None: if the robot has contact pairs, or dry friction, limits of
            ball joints or soft constraints that the integrator and the method know.
        integrator: Integrator of the steps.
        method: Of forward dynamics.
        limits: Whether joint limits hold, and how.
    """
    if contact not in (None, True, False, "soft"):
        raise InputError(f"contact is {contact!r}; it may be True, False, 'soft' or None")
    if contact is False:
        return False
    asked = (("integrator", integrator, ("euler",)), ("method", method, ("auto", "lcaba")))
    balls = bool(limited_balls(robot)) and limits is not False
    yields = any(c.enabled and not c.is_exact(False) for c in robot.constraints)
    if contact is None and not robot.contacts:
        known_rows = has_dry_friction(robot) or balls or yields
        return known_rows and all(value in known for _, value, known in asked)
    limited = balls or bool(np.isfinite(robot.lower).any() or np.isfinite(robot.upper).any())
    limited = limited or any(tendon.is_limited for tendon in robot.tendons)
    bound = yields or (contact == "soft" and any(c.enabled for c in robot.constraints))
    if not robot.contacts and not has_dry_friction(robot) and not limited and not bound:
        raise InputError(
            f"contact={contact!r}, but '{robot.name}' has no contact pairs, and its joints neither dry friction nor "
            "limits: add pairs with robot.with_contacts(...)"
        )
    what = "contact pairs" if robot.contacts else "dry friction or limits of joints"
    without = "for bodies that pass through each other" if robot.contacts else "for joints without dry friction"
    for name, value, known in asked:
        if value not in known:
            raise InputError(
                f"'{robot.name}' has {what}, which {name} '{value}' does not support: use '{known[0]}', or "
                f"contact=False (--contacts none) {without}"
            )
    return True


def has_dry_friction(robot: Model) -> bool:
    """Whether joints or tendons of a robot have dry friction."""
    return bool(np.any(robot.friction)) or any(tendon.friction for tendon in robot.tendons)


def limits_at_start(robot: Model, q: Array) -> bool | tuple[str, ...]:
    """Limits of a simulation with contacts: exact; springs where it starts beyond them in joints of loops.

    Loops may keep joints beyond their limits, which limits that hold exactly contradict. Other joints are moved back,
    as penetration is removed. There is a warning of both.

    Args:
        robot: The mechanism.
        q: Configurations at the start, ``(..., nq)``.
    """
    length, beyond = contact_scales(robot).length, []
    for joint in robot.joints:
        if joint.type.nq == joint.type.nv and joint.type.nv:
            at = q[..., robot.q_slice(joint.name)]
            off = np.maximum(joint.limits.lower - at, at - joint.limits.upper).max(initial=0.0)
            if off > BEYOND_LIMITS * (length if isinstance(joint.type, Prismatic) else 1.0):
                beyond.append(joint.name)
    for joint in limited_balls(robot):
        at = q[..., robot.q_slice(joint.name)]
        angle = 2.0 * np.arctan2(np.linalg.norm(at[..., :3], axis=-1), np.abs(at[..., 3]))
        if (angle - joint.limits.angle).max() > BEYOND_LIMITS:
            beyond.append(joint.name)
    if not beyond:
        return True
    enabled = replace(robot, constraints=tuple(c for c in robot.constraints if c.enabled))
    tied = {name for group in loops_of(enabled).groups for name in group.joints}
    soft = [name for name in beyond if name in tied]
    back = [name for name in beyond if name not in tied]
    what = [f"{at_most_three(back)} {'are' if len(back) > 1 else 'is'} moved back slowly"] if back else []
    what += [f"limits of {at_most_three(soft)}, which loops may keep there, are springs"] if soft else []
    warnings.warn(
        f"'{robot.name}' starts beyond limits: {', and '.join(what)}; start within them, or give limits='soft' for "
        "springs of all joints",
        StateWarning,
        stacklevel=outer_level(),
    )
    return tuple(soft) or True


@dataclass(frozen=True)
class ContactRow:
    """The layout of a row of numbers about contacts."""

    points: ContactPoints
    """Lists of contact points."""
    nc: int
    nboxes: int
    na: int = 0
    """Activations, which come after the totals in the result of steps."""
    reduced: bool = True
    """Whether results are those of steps by the reduced matrix, which have lists; else they are by slots."""

    @property
    def width(self) -> int:
        """Numbers of a row."""
        return TOTALS + SOLVER + self.points.width + self.nc + self.nboxes

    @property
    def accelerations(self) -> int:
        """Where joint accelerations begin in the result of steps."""
        return contact_reduced.HEAD + self.points.width + self.nboxes + self.nc if self.reduced else HEAD

    @property
    def places(self) -> dict[str, slice]:
        """Parts by name."""
        sizes = {"points": self.points.width, "multipliers": self.nc, "boxes": self.nboxes}
        places, at = {"totals": slice(0, TOTALS), "solver": slice(TOTALS, TOTALS + SOLVER)}, TOTALS + SOLVER
        for name, size in sizes.items():
            places[name] = slice(at, at + size)
            at += size
        return places

    def in_result(self, nresult: int, nv: int) -> dict[str, slice]:
        """Parts of the result of steps by name: as in rows, but that points by slots are forces alone.

        Args:
            nresult: Numbers of the result.
            nv: Degrees of freedom of the robot.
        """
        end = nresult - self.na
        if self.reduced:
            sizes = {"points": self.points.width, "boxes": self.nboxes, "multipliers": self.nc}
            at, totals = contact_reduced.HEAD, slice(end - TOTALS, end)
        else:
            n = self.points.nslots
            sizes = {"points": 3 * n, "velocities": 3 * n, "gaps": n, "multipliers": self.nc, "boxes": self.nboxes}
            at, totals = HEAD + nv, slice(end - SLOT_TOTALS, end)
        places = {"totals": totals}
        for name, size in sizes.items():
            places[name] = slice(at, at + size)
            at += size
        return places

    def of_result(self, result: Array, nv: int) -> Array:
        """The row of the result of steps, with totals at its end.

        Args:
            result: The result, ``(..., nresult)``.
            nv: Degrees of freedom of the robot.
        """
        end = result.shape[-1] - self.na
        if self.reduced:
            first = contact_reduced.HEAD
            boxes, rows = first + self.points.width, first + self.points.width + self.nboxes
            parts = [result[..., end - TOTALS : end], result[..., :SOLVER], result[..., first:boxes]]
            return np.concatenate([*parts, result[..., rows : rows + self.nc], result[..., boxes:rows]], axis=-1)
        first = HEAD + nv
        contacts = result[..., first : first + 7 * self.points.nslots + self.nc + self.nboxes]
        totals, solver = result[..., end - SLOT_TOTALS : end], result[..., :SLOT_SOLVER]
        return self.of_slots(np.concatenate([totals, solver, contacts], -1))

    def of_slots(self, rows: Array) -> Array:
        """Rows from those by slots: totals without overflow, solver, forces, velocities and gaps of all contact points,
        multipliers, boxes, which files of format 2 have.

        Args:
            rows: Rows by slots, ``(..., 7 + 7 nslots + nc + nboxes)``.
        """
        n, lead, head = self.points.nslots, rows.shape[:-1], SLOT_TOTALS + SLOT_SOLVER
        if rows.shape[-1] != head + 7 * n + self.nc + self.nboxes:
            needed = head + 7 * n + self.nc + self.nboxes
            raise InputError(f"rows of contacts by slots have {rows.shape[-1]} numbers, need {needed}")
        ends = [SLOT_TOTALS, head, head + 3 * n, head + 6 * n, head + 7 * n]
        totals, solver, forces, velocities, gaps, last = np.split(rows, ends, axis=-1)
        points = self.points.listed(forces.reshape(*lead, n, 3), velocities.reshape(*lead, n, 3), gaps)
        none = np.zeros((*lead, TOTALS - SLOT_TOTALS), rows.dtype)
        kind = np.zeros((*lead, SOLVER - SLOT_SOLVER), rows.dtype)
        return np.concatenate([totals, none, solver, kind, points, last], axis=-1)

    def added(self, before: Array, row: Array) -> Array:
        """The row of further steps with the totals of those before them.

        Args:
            before: The row before these steps.
            row: That of these steps alone; changed.
        """
        for k in (FRICTION, IMPACTS, JOINTS, MISSED, OVERFLOWED, FALLBACKS, JAMS):
            row[..., k] += before[..., k]
        row[..., RESIDUAL] = np.maximum(row[..., RESIDUAL], before[..., RESIDUAL])
        return row


@dataclass(frozen=True, eq=False)
class ContactSeries:
    """Contact points of one pair over time. Arrays begin with the axes of the trajectory."""

    forces: Array
    """Along t1, t2, n, on the second shape, ``(..., slots, 3)``, in N; of the step that led to each state."""
    impulses: Array
    """Forces times the time of a step, in N s."""
    gaps: Array
    """Before that step, ``(..., slots)``, in m; negative where shapes overlap, infinite where they are not near."""
    velocities: Array
    """After that step, of the second shape relative to the first, along t1, t2, n, in m/s."""
    moments: Array
    """About t1, t2, n, on the second shape, ``(..., slots, 3)``, in N m: of friction against rolling and spinning."""
    touching: Array
    """Whether points bear a force: more than a millionth of the robot's weight."""
    sliding: Array
    """Whether points touch and slide: faster than a millionth of the velocity at which bodies of its size fall."""

    @property
    def sticking(self) -> Array:
        """Whether points touch and do not slide."""
        result: Array = self.touching & ~self.sliding
        return result

    @property
    def total(self) -> Array:
        """Normal force of all points together, ``(...)``, in N."""
        result: Array = self.forces[..., 2].sum(axis=-1)
        return result


class ContactHistory(Mapping[str, ContactSeries]):
    """Contacts of a trajectory by the names of their pairs, with residuals and counts of unsolved steps.

    Args:
        robot: The mechanism.
        rows: Rows of numbers, ``(k, ..., width)``.
        dt: Time of a step.
    """

    def __init__(self, robot: Model, rows: Array, dt: float) -> None:
        points = contact_points(robot)
        width = TOTALS + SOLVER + points.width + robot.nc
        if rows.shape[-1] < width:
            raise InputError(f"contacts of '{robot.name}' are {width} numbers or more, not {rows.shape[-1]}")
        self._robot, self._rows, self._dt, self._points = robot, rows, dt, points
        self._at = ContactRow(points, robot.nc, rows.shape[-1] - width).places
        self._slots = contact_slots(robot)
        gravity = float(np.linalg.norm(robot.gravity))
        self._slow = SLIGHT_CONTACT * contact_scales(robot).velocity(gravity, dt)
        self._weak = SLIGHT_CONTACT * robot.mass * gravity if gravity > 0 else self._slow * robot.mass / dt

    def _part(self, name: str) -> Array:
        return self._rows[..., self._at[name]]

    def __getitem__(self, name: str) -> ContactSeries:
        if name not in self._slots:
            raise InputError(f"'{self._robot.name}' has no contact '{name}'{suggest(name, self._slots)}")
        slots, listed = self._slots[name], self._part("points")
        forces, velocities = (self._points.by_slot(listed, part, 0.0, slots) for part in (FORCE, VELOCITY))
        touching = forces[..., 2] > self._weak
        sliding = touching & (np.hypot(velocities[..., 0], velocities[..., 1]) > self._slow)
        gaps = self._points.by_slot(listed, GAP, np.inf, slots)[..., 0]
        moments = self._points.by_slot(listed, MOMENT, 0.0, slots)
        return ContactSeries(forces, self._dt * forces, gaps, velocities, moments, touching, sliding)

    def __iter__(self) -> Iterator[str]:
        return iter(self._slots)

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def forces(self) -> Array:
        """Forces of the contact points of all pairs, ``(k, ..., nslots, 3)``, along t1, t2, n, on second shapes."""
        return self._points.by_slot(self._part("points"), FORCE)

    @property
    def moments(self) -> Array:
        """Moments of the contact points of all pairs, ``(k, ..., nslots, 3)``: of friction against rolling about t1 and
        t2, and against spinning about n, on second shapes."""
        return self._points.by_slot(self._part("points"), MOMENT)

    @property
    def points(self) -> Array:
        """Lists of the contact points that are near, ``(k, ..., width)``: see `contact.points`."""
        return self._part("points")

    @property
    def dissipated(self) -> dict[str, Array]:
        """Energy lost so far by ``friction``, by ``impacts`` (normal forces), in ``joints`` (limits and dry friction)
        and in all, ``(k, ...)`` each, in joules."""
        totals = self._part("totals")
        parts = {name: totals[..., k] for name, k in (("friction", FRICTION), ("impacts", IMPACTS), ("joints", JOINTS))}
        return {**parts, "total": totals[..., FRICTION] + totals[..., IMPACTS] + totals[..., JOINTS]}

    @property
    def residual(self) -> Array:
        """The largest residual of all steps so far, ``(k, ...)``, in m/s: see `ContactSolution.residual`."""
        return self._part("totals")[..., RESIDUAL]

    @property
    def missed(self) -> Array:
        """Steps so far whose iterations did not reach the tolerance, ``(k, ...)``."""
        return self._part("totals")[..., MISSED].astype(np.int64)

    @property
    def fallback(self) -> Array:
        """Those of the steps of `missed` that are not nearly solved, ``(k, ...)``: they are steps of the convex problem
        without De Saxcé's term, which takes energy (`ContactSolution.fallback`)."""
        return self._part("totals")[..., FALLBACKS].astype(np.int64)

    @property
    def jammed(self) -> Array:
        """Steps so far in which penetration could not be removed, ``(k, ...)`` (`ContactSolution.jammed`)."""
        return self._part("totals")[..., JAMS].astype(np.int64)

    @property
    def overflowed(self) -> Array:
        """Steps so far with more contact points than lists have room for, ``(k, ...)``."""
        return self._part("totals")[..., OVERFLOWED].astype(np.int64)

    @property
    def iterations(self) -> Array:
        """Iterations of the step that led to each state, ``(k, ...)``."""
        return self._part("solver")[..., 1].astype(np.int64)

    def __repr__(self) -> str:
        pairs = f"{plural(len(self._slots), 'pair')}, {at_most_three(list(self._slots))}"
        return f"<ContactHistory of '{self._robot.name}': {pairs}>"


def rows_of_slots(robot: Model, rows: Array) -> Array:
    """Rows of a robot from those that files of format 2 have, ``(..., width)``.

    Args:
        robot: The mechanism.
        rows: Rows by slots.
    """
    points = contact_points(robot)
    boxes = rows.shape[-1] - SLOT_TOTALS - SLOT_SOLVER - 7 * points.nslots - robot.nc
    return ContactRow(points, robot.nc, max(boxes, 0)).of_slots(rows)


def warm_start(row: ContactRow, given: npt.ArrayLike | None) -> Array:
    """The row that a simulation starts from: zeros, or one that was kept.

    Args:
        row: The layout of rows.
        given: A row of an earlier simulation of the same robot.
    """
    if given is None:
        none = np.zeros(row.width)
        none[row.places["points"]] = row.points.none()
        return none
    start = np.array(given, dtype=np.float64)
    if start.shape != (row.width,) or not np.isfinite(start).all():
        raise InputError(f"contact_state has shape {start.shape}, needs {row.width} finite numbers of a trajectory")
    return start
