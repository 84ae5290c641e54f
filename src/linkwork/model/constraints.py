"""Constraints: what closes loops, holds feet, and couples joints. One class each for users, a few parts in the kernels.

Between two frames (a body and the world, or two bodies), rows in this order:

| constraint   | rows | turning                    | sliding                                     |
|--------------|------|----------------------------|---------------------------------------------|
| Weld         | 6    | none                       | none                                        |
| Hinge        | 5    | about the axis             | none                                        |
| Slider       | 5    | none                       | along the axis                              |
| Cylinder     | 4    | about the axis             | along the axis                              |
| Cardan       | 4    | about both axes            | none                                        |
| Point        | 3    | free                       | none                                        |
| PlaneOnPlane | 3    | about the normal           | in the plane                                |
| PointOnLine  | 2    | free                       | along the axis                              |
| PointOnPlane | 1    | free                       | in the plane                                |
| Rod          | 1    | free                       | at constant distance                        |
| Rolling      | 3    | without slipping           | at one height (two rows have no position)   |

On joints: `JointCoupling` (`Gear`, `Belt`), `PolynomialCoupling`, `JointLock`. On many bodies: `CenterOfMass`,
`LinearCombination`.

Kernels (`binding`) know a pair of frames by how it binds turning and how it binds sliding; each of the classes is one
choice of both. The error of a pair is seen in the axes of the first frame. Where its points coincide (`MEET`),
the error is a vector and its rate the rate of that vector, so that rows span what they span in MuJoCo, and points what
they span in Pinocchio, also where the loop is open. Turning is measured by ``2 sin(angle / 2)``, which has no other
zero than the true one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.arrays import Floats, VectorLike
from linkwork.model.functions import Tape, record
from linkwork.model.joints import Fixed, Free, Joint, Planar, Prismatic, Revolute, Spherical, Universal, unit_axis
from linkwork.model.pairs import ABOUT_Z, ANY_SHIFT, ANY_TURN, CARDAN, MEET, NO_TURN, ON_LINE, ON_PLANE, ROD, ROLLING
from linkwork.model.placement import Placement, PlacementLike, as_placement
from linkwork.model.rotations import aligning_rotation

WORLD = "world"

TURN_ROWS = (0, 3, 2, 1)
SHIFT_ROWS = (0, 3, 2, 1, 1, 3)

Rename = Callable[[str], str]


@dataclass(frozen=True, eq=False, kw_only=True)
class Constraint:
    """What every constraint has; see the subclasses.

    Args:
        name: Its name; by default made of what it binds.
        compliance: Scales the damping of rows in proximal and soft methods: one number, or one per row.
        enabled: Whether it binds. One that does not keeps its rows.
        time_constant: Seconds in which a state that has drifted is pulled back, critically damped.
        gains: ``(kp, kd)`` instead: rows are asked to accelerate by ``-kp error - kd rate``.
    """

    name: str = ""
    compliance: float | Sequence[float] | Floats = 1.0
    enabled: bool = True
    time_constant: float | None = None
    gains: tuple[float, float] | None = None

    @property
    def rows(self) -> int:
        """How many scalar constraints these are."""
        raise NotImplementedError

    @property
    def blocks(self) -> tuple[int, ...]:
        """How many rows in a row have the same unit and are of one kind; they are scaled together."""
        return (1,) * self.rows

    @property
    def places(self) -> tuple[str, ...]:
        """The bodies or frames that it binds."""
        return ()

    @property
    def joints(self) -> tuple[str, ...]:
        """The joints whose coordinates it binds."""
        return ()

    @property
    def holonomic(self) -> tuple[bool, ...]:
        """Of each row, whether it binds positions; else velocities only."""
        return (True,) * self.rows

    def renamed(self, place: Rename, joint: Rename, world: tuple[str, Placement], prefix: str) -> Self:
        """The same on other names.

        Args:
            place: New names of bodies and frames.
            joint: New names of joints.
            world: Which body the world becomes, and where it stands there.
            prefix: Put before its own name.
        """
        raise NotImplementedError

    def _settle(self) -> None:
        """Check and complete what all constraints have."""
        kind = type(self).__name__
        if not self.name:
            self._set(name=":".join((*self.places, *self.joints)) or kind)
        compliance = _numbers(self.compliance, f"{self}: compliance")
        if compliance.ndim == 0:
            compliance = np.full(self.rows, float(compliance))
        if compliance.shape != (self.rows,):
            raise ModelError(
                f"{self}: compliance has {compliance.size} numbers, needs one or {self.rows}", subject=self.name
            )
        if not (np.isfinite(compliance).all() and (compliance > 0).all()):
            raise ModelError(
                f"{self}: compliances are finite and above zero, not {compliance.tolist()}", subject=self.name
            )
        compliance.setflags(write=False)
        if self.gains not in (None, (0.0, 0.0)) and self.time_constant is not None:
            raise ModelError(f"{self}: give a time constant or gains, not both", subject=self.name)
        gains = (0.0, 0.0) if self.gains is None else tuple(_numbers(self.gains, f"{self}: gains").ravel().tolist())
        if self.time_constant is not None:
            T = float(_numbers(self.time_constant, f"{self}: time constant").mean())
            if not (np.isfinite(T) and T > 0):
                raise ModelError(f"{self}: time constant {T} is not a time", subject=self.name)
            gains = (1 / T**2, 2 / T)
        if len(gains) != 2 or not all(np.isfinite(k) and k >= 0 for k in gains):
            raise ModelError(f"{self}: gains are (kp, kd), neither negative: {self.gains}", subject=self.name)
        self._set(compliance=compliance, gains=gains, time_constant=None, enabled=bool(self.enabled))

    def _set(self, **values: object) -> None:
        for key, value in values.items():
            object.__setattr__(self, key, value)

    def __str__(self) -> str:
        return f"{type(self).__name__} '{self.name}'"


def _numbers(x: object, what: str) -> Floats:
    """Numbers as an array; anything else is an error that says of what."""
    try:
        return np.array(x, dtype=np.float64)
    except (TypeError, ValueError):
        raise ModelError(f"{what} is {x!r}, which are no numbers") from None


def _length(x: object, what: str) -> float:
    """A length above zero."""
    found = _numbers(x, what)
    if found.ndim or not (np.isfinite(found) and found > 0):
        raise ModelError(f"{what} is {x!r}, needs a length above zero")
    return float(found)


def _cleared(constraint: Constraint) -> dict[str, object]:
    """Arguments that make a copy settle as the original did."""
    return {"gains": constraint.gains, "time_constant": None}


# Between two frames --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Pair(Constraint):
    """Binds a frame of one place to a frame of another.

    Args:
        first: Name of a body or frame, or ``"world"``.
        second: The same, of the other place; forces are those that act on it.
        first_at: The frame, in that of the first place (three numbers, or a `Placement`).
        second_at: The frame, in that of the second place.
    """

    turns: ClassVar[int] = ANY_TURN
    shifts: ClassVar[int] = ANY_SHIFT
    first: str
    second: str
    first_at: PlacementLike = field(default=(0.0, 0.0, 0.0), kw_only=True)
    second_at: PlacementLike = field(default=(0.0, 0.0, 0.0), kw_only=True)

    def __post_init__(self) -> None:
        self._set(first_at=as_placement(self.first_at), second_at=as_placement(self.second_at))
        for place in self.places:
            if not isinstance(place, str) or not place:
                raise ModelError(f"{type(self).__name__}: {place!r} is no name of a body or frame")
        self._settle()

    @property
    def rows(self) -> int:
        """Turning rows, then sliding rows."""
        return TURN_ROWS[self.turns] + SHIFT_ROWS[self.shifts]

    @property
    def blocks(self) -> tuple[int, ...]:
        """The same, apart."""
        return tuple(n for n in (TURN_ROWS[self.turns], SHIFT_ROWS[self.shifts]) if n)

    @property
    def places(self) -> tuple[str, ...]:
        """First and second."""
        return self.first, self.second

    @property
    def size(self) -> float:
        """A length that goes with the constraint, if any."""
        return 0.0

    def frames(self) -> tuple[Placement, Placement]:
        """The frames that meet, in the frames of the two places; z is the axis where there is one."""
        return as_placement(self.first_at), as_placement(self.second_at)

    def renamed(self, place: Rename, joint: Rename, world: tuple[str, Placement], prefix: str) -> Self:
        """The same between other places.

        Args:
            place: New names of bodies and frames.
            joint: New names of joints.
            world: Which body the world becomes, and where it stands there.
            prefix: Put before its own name.
        """
        ends: dict[str, object] = {}
        for end, name, at in (("first", self.first, self.first_at), ("second", self.second, self.second_at)):
            on_world = name == WORLD
            ends[end] = world[0] if on_world else place(name)
            ends[f"{end}_at"] = world[1] * as_placement(at) if on_world else at
        return replace(self, name=prefix + self.name, **_cleared(self), **ends)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Weld(Pair):
    """Two frames stay together. Its force is ``[moment, force]``."""

    turns: ClassVar[int] = NO_TURN
    shifts: ClassVar[int] = MEET


@dataclass(frozen=True, eq=False)
class Point(Pair):
    """Two origins stay together: a ball joint."""

    shifts: ClassVar[int] = MEET


@dataclass(frozen=True, eq=False)
class Axial(Pair):
    """A pair with an axis.

    Args:
        axis: Axis in the first frame: ``"x"``, ``"-z"`` and the like, or three numbers.
        second_axis: Axis in the second frame; by default the same numbers.
    """

    axis: str | VectorLike = field(default="z", kw_only=True)
    second_axis: str | VectorLike | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        first = unit_axis(self.axis)
        self._set(axis=first, second_axis=first if self.second_axis is None else unit_axis(self.second_axis))
        super().__post_init__()

    def frames(self) -> tuple[Placement, Placement]:
        """The frames that meet, z along the axis."""
        first, second = super().frames()
        turned = [Placement((0, 0, 0), _z_along(np.asarray(axis))) for axis in (self.axis, self.second_axis)]
        return first * turned[0], second * turned[1]


def _z_along(axis: Floats) -> Floats:
    return np.eye(3) if np.array_equal(axis, (0.0, 0.0, 1.0)) else aligning_rotation(axis)


@dataclass(frozen=True, eq=False)
class Hinge(Axial):
    """Turns about an axis: a revolute joint that closes a loop."""

    turns: ClassVar[int] = ABOUT_Z
    shifts: ClassVar[int] = MEET


@dataclass(frozen=True, eq=False)
class Slider(Axial):
    """Slides along an axis: a prismatic joint that closes a loop."""

    turns: ClassVar[int] = NO_TURN
    shifts: ClassVar[int] = ON_LINE


@dataclass(frozen=True, eq=False)
class Cylinder(Axial):
    """Turns about an axis and slides along it."""

    turns: ClassVar[int] = ABOUT_Z
    shifts: ClassVar[int] = ON_LINE


@dataclass(frozen=True, eq=False)
class PlaneOnPlane(Axial):
    """The second frame's plane lies in the first's: a planar joint that closes a loop. ``axis`` is the normal."""

    turns: ClassVar[int] = ABOUT_Z
    shifts: ClassVar[int] = ON_PLANE


@dataclass(frozen=True, eq=False)
class PointOnLine(Axial):
    """The second origin stays on the line through the first along its axis."""

    shifts: ClassVar[int] = ON_LINE


@dataclass(frozen=True, eq=False)
class PointOnPlane(Axial):
    """The second origin stays in the plane through the first, normal to its axis."""

    shifts: ClassVar[int] = ON_PLANE


@dataclass(frozen=True, eq=False)
class Cardan(Pair):
    """A universal joint that closes a loop: an axis of the first stays normal to an axis of the second.

    Args:
        axis: Axis in the first frame: ``"x"``, ``"-z"`` and the like, or three numbers.
        second_axis: Axis in the second frame.
    """

    turns: ClassVar[int] = CARDAN
    shifts: ClassVar[int] = MEET
    axis: str | VectorLike = field(default="x", kw_only=True)
    second_axis: str | VectorLike = field(default="y", kw_only=True)

    def __post_init__(self) -> None:
        self._set(axis=unit_axis(self.axis), second_axis=unit_axis(self.second_axis))
        super().__post_init__()

    def frames(self) -> tuple[Placement, Placement]:
        """The frames that meet: x of the first and y of the second along the axes."""
        first, second = super().frames()
        to_x = _z_along(np.asarray(self.axis)) @ np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0.0]])
        to_y = _z_along(np.asarray(self.second_axis)) @ np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0.0]])
        return first * Placement((0, 0, 0), to_x), second * Placement((0, 0, 0), to_y)


@dataclass(frozen=True, eq=False)
class Rod(Pair):
    """Two origins stay at a distance. Its error is ``(distance² - length²) / (2 length)``.

    Args:
        length: The distance, in meters.
    """

    shifts: ClassVar[int] = ROD
    length: float = field(kw_only=True)

    def __post_init__(self) -> None:
        self._set(length=_length(self.length, "Rod (where it has none, use Point): length"))
        super().__post_init__()

    @property
    def size(self) -> float:
        """The length."""
        return float(self.length)


@dataclass(frozen=True, eq=False)
class Rolling(Axial):
    """A ball (or an upright wheel) about the second origin rolls on a plane of the first, to which ``axis`` is normal.

    Two rows bind velocities only (the point that touches does not slip), the third keeps the center at its height.

    Args:
        radius: Of the ball or wheel, in meters.
    """

    shifts: ClassVar[int] = ROLLING
    radius: float = field(kw_only=True)

    def __post_init__(self) -> None:
        self._set(radius=_length(self.radius, "Rolling: radius"))
        super().__post_init__()

    @property
    def size(self) -> float:
        """The radius."""
        return float(self.radius)

    @property
    def holonomic(self) -> tuple[bool, ...]:
        """Slipping has no position."""
        return False, False, True


# On joints -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Term:
    """A polynomial of one joint's coordinate: ``sum over k of coefficients[k] (q - origin)^(k + 1)``."""

    joint: str
    coefficients: tuple[float, float, float, float]
    origin: float = 0.0
    coordinate: int = 0
    """Which of the joint's coordinates."""


@dataclass(frozen=True, eq=False)
class Coupling(Constraint):
    """Constraints on joint coordinates: each row is a sum of terms that stays at a value. See the subclasses."""

    def equations(self) -> tuple[tuple[tuple[Term, ...], float], ...]:
        """The terms of each row, and the value of their sum."""
        raise NotImplementedError

    @property
    def rows(self) -> int:
        """One for each equation."""
        return len(self.equations())

    @property
    def joints(self) -> tuple[str, ...]:
        """Every joint that occurs."""
        return tuple(dict.fromkeys(term.joint for terms, _ in self.equations() for term in terms))

    def __post_init__(self) -> None:
        for terms, value in self.equations():
            numbers = [value, *(c for t in terms for c in (*t.coefficients, t.origin))]
            if not np.isfinite(numbers).all():
                raise ModelError(f"{type(self).__name__}: {numbers} are not all finite numbers")
            if not any(c for term in terms for c in term.coefficients):
                raise ModelError(f"{type(self).__name__}: no joint has a coefficient other than zero")
        self._settle()


@dataclass(frozen=True, eq=False)
class JointCoupling(Coupling):
    """A weighted sum of joint coordinates stays at a value: ``JointCoupling({"left": 1, "right": -1})``.

    Args:
        coefficients: Weights by joint.
        offset: The value.
    """

    coefficients: Mapping[str, float]
    offset: float = 0.0

    def __post_init__(self) -> None:
        self._set(coefficients={str(joint): float(c) for joint, c in dict(self.coefficients).items()})
        if not self.coefficients:
            raise ModelError("JointCoupling: no joints")
        super().__post_init__()

    def equations(self) -> tuple[tuple[tuple[Term, ...], float], ...]:
        """One."""
        terms = tuple(Term(joint, (c, 0.0, 0.0, 0.0)) for joint, c in self.coefficients.items())
        return ((terms, float(self.offset)),)

    def renamed(self, place: Rename, joint: Rename, world: tuple[str, Placement], prefix: str) -> Self:
        """The same on other joints.

        Args:
            place: New names of bodies and frames.
            joint: New names of joints.
            world: Which body the world becomes, and where it stands there.
            prefix: Put before its own name.
        """
        new = {joint(name): c for name, c in self.coefficients.items()}
        return replace(self, name=prefix + self.name, coefficients=new, **_cleared(self))  # type: ignore[arg-type]


def Gear(driver: str, driven: str, ratio: float, offset: float = 0.0, **options: object) -> JointCoupling:
    """The driver turns ``ratio`` times as far as the driven joint: ``q_driver = ratio q_driven + offset``.

    Args:
        driver: Joint that turns ``ratio`` times as far.
        driven: The other joint.
        ratio: How much farther the driver turns; negative: the other way round.
        offset: Where the driver is when the other is at zero.
        options: Those of `Constraint`: name, compliance, and more.
    """
    return Belt(driver, {driven: ratio}, offset, **options)


def Belt(driver: str, driven: Mapping[str, float], offset: float = 0.0, **options: object) -> JointCoupling:
    """A driver tied by a belt over several joints: ``q_driver = sum of ratio q_driven + offset``.

    Args:
        driver: Joint that drives.
        driven: Ratios by joint that is driven.
        offset: Where the driver is when all others are at zero.
        options: Those of `Constraint`: name, compliance, and more.
    """
    if driver in driven:
        raise ModelError(f"joint '{driver}' cannot drive itself", subject=driver)
    return JointCoupling({driver: 1.0} | {joint: -float(r) for joint, r in driven.items()}, offset, **options)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class PolynomialCoupling(Coupling):
    """One joint follows a polynomial of another: ``q - origin = c0 + c1 x + ... + c4 x^4``, ``x`` that of the other.

    This is MuJoCo's equality of joints.

    Args:
        follower: Joint that follows.
        leader: Joint that leads; None: the follower is held at ``origin + c0``.
        coefficients: One to five, the constant one first.
        follower_origin: Subtracted from the follower's coordinate.
        leader_origin: Subtracted from the leader's coordinate.
    """

    follower: str
    leader: str | None
    coefficients: Sequence[float]
    follower_origin: float = 0.0
    leader_origin: float = 0.0

    def __post_init__(self) -> None:
        given = tuple(float(c) for c in self.coefficients)
        if not 1 <= len(given) <= 5:
            raise ModelError(f"PolynomialCoupling: one to five coefficients, not {len(given)}")
        if self.leader == self.follower:
            raise ModelError(f"PolynomialCoupling: joint '{self.follower}' cannot follow itself")
        self._set(coefficients=given + (0.0,) * (5 - len(given)))
        super().__post_init__()

    def equations(self) -> tuple[tuple[tuple[Term, ...], float], ...]:
        """One."""
        c0, c1, c2, c3, c4 = self.coefficients
        terms = [Term(self.follower, (1.0, 0.0, 0.0, 0.0), float(self.follower_origin))]
        if self.leader is not None:
            terms.append(Term(self.leader, (-c1, -c2, -c3, -c4), float(self.leader_origin)))
        return ((tuple(terms), c0),)

    def renamed(self, place: Rename, joint: Rename, world: tuple[str, Placement], prefix: str) -> Self:
        """The same on other joints.

        Args:
            place: New names of bodies and frames.
            joint: New names of joints.
            world: Which body the world becomes, and where it stands there.
            prefix: Put before its own name.
        """
        leader = None if self.leader is None else joint(self.leader)
        options = _cleared(self)
        return replace(self, name=prefix + self.name, follower=joint(self.follower), leader=leader, **options)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class JointLock(Coupling):
    """A joint stays where it is.

    For joints whose coordinates are plain numbers; lock a spherical, planar or free joint with a `Weld`.

    Args:
        joint: The joint.
        position: Where it stays: one number for each coordinate.
    """

    joint: str
    position: float | Sequence[float] = 0.0

    def __post_init__(self) -> None:
        given = np.atleast_1d(np.array(self.position, dtype=np.float64))
        if given.ndim != 1 or given.size == 0:
            raise ModelError(f"JointLock: position {self.position!r} is one number for each coordinate")
        self._set(position=tuple(given.tolist()))
        super().__post_init__()

    def equations(self) -> tuple[tuple[tuple[Term, ...], float], ...]:
        """One for each coordinate."""
        held = np.atleast_1d(np.asarray(self.position))
        return tuple(((Term(self.joint, (1.0, 0.0, 0.0, 0.0), 0.0, k),), float(x)) for k, x in enumerate(held))

    def renamed(self, place: Rename, joint: Rename, world: tuple[str, Placement], prefix: str) -> Self:
        """The same on another joint.

        Args:
            place: New names of bodies and frames.
            joint: New names of joints.
            world: Which body the world becomes, and where it stands there.
            prefix: Put before its own name.
        """
        return replace(self, name=prefix + self.name, joint=joint(self.joint), **_cleared(self))  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class FunctionCoupling(Coupling):
    """A function of joint coordinates, written in Python, stays at a value; each of its results is a row.

    ``FunctionCoupling(lambda crank, rod: 0.1 * np.sin(crank) + 0.4 * np.sin(rod), ["crank", "rod"])``: it may use +, -,
    *, /, whole powers, and NumPy's sin, cos, tan and sqrt. Derivatives are taken care of.

    Args:
        function: Takes one coordinate of each joint, gives one number or several.
        over: The joints whose coordinates it takes, in its order.
        offset: The value, one number or one for each row.
    """

    function: Callable[..., Any]
    over: Sequence[str]
    """The joints whose coordinates the function takes, in its order."""
    offset: float | Sequence[float] = 0.0

    def __post_init__(self) -> None:
        names = (self.over,) if isinstance(self.over, str) else tuple(str(name) for name in self.over)
        if not names or len(set(names)) < len(names):
            raise ModelError(f"FunctionCoupling: joints {list(names)} are some, each once")
        self._set(over=names)
        tape = record(self.function, len(names))
        given = np.array(self.offset, dtype=np.float64)
        if given.ndim > 1 or (given.ndim == 1 and given.size != len(tape.outputs)):
            raise ModelError(
                f"FunctionCoupling: offset {self.offset!r} is one number for each of {len(tape.outputs)} rows"
            )
        self._set(offset=tuple(np.broadcast_to(given, len(tape.outputs)).tolist()))
        if not np.isfinite(self.offset).all():
            raise ModelError("FunctionCoupling: offset is not finite")
        object.__setattr__(self, "tape", tape)
        self._settle()

    tape: Tape = field(init=False, repr=False)
    """What the function does."""

    def equations(self) -> tuple[tuple[tuple[Term, ...], float], ...]:
        """One for each result; what the terms are worth is on the tape."""
        terms = tuple(Term(name, (0.0, 0.0, 0.0, 0.0)) for name in self.over)
        values = np.atleast_1d(np.asarray(self.offset, dtype=np.float64))
        return tuple((terms, float(x)) for x in values)

    def renamed(self, place: Rename, joint: Rename, world: tuple[str, Placement], prefix: str) -> Self:
        """The same on other joints.

        Args:
            place: New names of bodies and frames.
            joint: New names of joints.
            world: Which body the world becomes, and where it stands there.
            prefix: Put before its own name.
        """
        new = [joint(name) for name in self.over]
        return replace(self, name=prefix + self.name, over=new, **_cleared(self))  # type: ignore[arg-type]


def Follows(
    follower: str, leaders: str | Sequence[str], function: Callable[..., Any], **options: object
) -> FunctionCoupling:
    """One joint follows a function of others: ``q_follower = function(q_leader, ...)``.

    Args:
        follower: Joint that follows.
        leaders: Joint or joints whose coordinates the function takes, in its order.
        function: Gives where the follower is to be; see `FunctionCoupling`.
        options: Those of `Constraint`: name, compliance, and more.
    """
    over = [follower, *([leaders] if isinstance(leaders, str) else leaders)]
    return FunctionCoupling(lambda q, *others: q - function(*others), over, **options)  # type: ignore[arg-type]


# On many bodies ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CenterOfMass(Constraint):
    """The center of mass of some bodies stays at a place, along the chosen axes of that place.

    Args:
        at: The place in the world (three numbers, or a `Placement`).
        axes: Some of x, y, z.
        bodies: Names of bodies; by default all.
    """

    at: PlacementLike = (0.0, 0.0, 0.0)
    axes: str = "xyz"
    bodies: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        axes = "".join(self.axes)
        if not axes or len(set(axes)) < len(axes) or not set(axes) <= set("xyz"):
            raise ModelError(f"CenterOfMass: axes '{self.axes}' are some of x, y, z, each once")
        bodies = (self.bodies,) if isinstance(self.bodies, str) else None if self.bodies is None else tuple(self.bodies)
        if bodies == ():
            raise ModelError("CenterOfMass: no bodies")
        self._set(at=as_placement(self.at), axes=axes, bodies=bodies)
        if not self.name:
            self._set(name="center_of_mass")
        self._settle()

    @property
    def rows(self) -> int:
        """One for each axis."""
        return len(self.axes)

    @property
    def places(self) -> tuple[str, ...]:
        """The bodies; none means all."""
        return self.bodies or ()

    def renamed(self, place: Rename, joint: Rename, world: tuple[str, Placement], prefix: str) -> Self:
        """The same of other bodies.

        Args:
            place: New names of bodies and frames.
            joint: New names of joints.
            world: Which body the world becomes, and where it stands there.
            prefix: Put before its own name.
        """
        if world[0] != WORLD:
            raise ModelError(f"{self}: the world it refers to would move; add it to the whole instead")
        bodies = tuple(place(name) for name in self.bodies or ())
        at = world[1] * as_placement(self.at)
        return replace(self, name=prefix + self.name, at=at, bodies=bodies, **_cleared(self))  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class LinearCombination(Constraint):
    """A weighted sum of velocities of places stays zero: ``sum of matrix @ velocity``.

    Only velocities are bound: there is no position to return to.

    Args:
        matrices: Weights by place, ``(rows, 6)`` each, of its velocity ``[angular, linear]``.
        reference: Axes of velocities: ``"aligned"``, the world's at the place's origin; ``"local"``, the place's own.
    """

    matrices: Mapping[str, Sequence[Sequence[float]] | Floats]
    reference: Literal["aligned", "local"] = "aligned"

    def __post_init__(self) -> None:
        found = {str(place): np.array(matrix, dtype=np.float64) for place, matrix in dict(self.matrices).items()}
        if not found:
            raise ModelError("LinearCombination: no places")
        if self.reference not in ("aligned", "local"):
            raise ModelError(f"LinearCombination: reference '{self.reference}' is neither 'aligned' nor 'local'")
        rows = next(iter(found.values())).shape[0] if next(iter(found.values())).ndim == 2 else 0
        for place, matrix in found.items():
            if matrix.shape != (rows, 6) or rows == 0:
                raise ModelError(f"LinearCombination: the matrix of '{place}' is (rows, 6), not {matrix.shape}")
            if not np.isfinite(matrix).all():
                raise ModelError(f"LinearCombination: the matrix of '{place}' holds NaN or infinity")
            matrix.setflags(write=False)
        self._set(matrices=found)
        self._settle()

    @property
    def rows(self) -> int:
        """As the matrices have."""
        return int(np.asarray(next(iter(self.matrices.values()))).shape[0])

    @property
    def places(self) -> tuple[str, ...]:
        """The places, in order."""
        return tuple(self.matrices)

    @property
    def holonomic(self) -> tuple[bool, ...]:
        """None is."""
        return (False,) * self.rows

    def renamed(self, place: Rename, joint: Rename, world: tuple[str, Placement], prefix: str) -> Self:
        """The same of other places.

        Args:
            place: New names of bodies and frames.
            joint: New names of joints.
            world: Which body the world becomes, and where it stands there.
            prefix: Put before its own name.
        """
        if self.reference == "aligned" and (world[0] != WORLD or not np.array_equal(world[1].rotation, np.eye(3))):
            raise ModelError(f"{self}: the world's axes that it refers to would turn; add it to the whole instead")
        new = {world[0] if name == WORLD else place(name): matrix for name, matrix in self.matrices.items()}
        return replace(self, name=prefix + self.name, matrices=new, **_cleared(self))  # type: ignore[arg-type]


# Joints that close loops -----------------------------------------------------------------------------


def closing(name: str, joint: Joint, first: str, second: str, first_at: Placement, second_at: Placement) -> Pair | None:
    """The constraint that a joint is when it closes a loop; None for one that binds nothing."""
    at = {"name": name, "first_at": first_at, "second_at": second_at}
    if isinstance(joint, Free):
        return None
    if isinstance(joint, Revolute):
        return Hinge(first, second, axis=joint.axis, **at)  # type: ignore[arg-type]
    if isinstance(joint, Prismatic):
        return Slider(first, second, axis=joint.axis, **at)  # type: ignore[arg-type]
    if isinstance(joint, Planar):
        return PlaneOnPlane(first, second, axis=joint.axis, **at)  # type: ignore[arg-type]
    if isinstance(joint, Spherical):
        return Point(first, second, **at)  # type: ignore[arg-type]
    if isinstance(joint, Fixed):
        return Weld(first, second, **at)  # type: ignore[arg-type]
    if isinstance(joint, Universal) and abs(float(joint.first @ joint.second)) < 1e-9:
        return Cardan(first, second, axis=joint.first, second_axis=joint.second, **at)  # type: ignore[arg-type]
    raise ModelError(
        f"joint '{name}' ({joint.kind_name}) would have to close a loop, which is not supported: "
        "let another joint of the loop close it",
        subject=name,
    )
