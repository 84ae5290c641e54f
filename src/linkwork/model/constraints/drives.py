# SPDX-License-Identifier: BSD-3-Clause
"""Rheonomic constraints: coordinates of joints, points of frames and lengths of tendons that follow functions of time.

A row is ``phi(q) = p(t)``, and so ``J v = p'`` and ``J a + dJ/dt v = p''``. The target ``p`` is a tape of time
(`Constraint.motion`), of which kernels compute value, rate and second rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from linkwork.conversions import converted_but
from linkwork.errors import ModelError
from linkwork.model.arrays import Floats
from linkwork.model.constraints.base import WORLD, Constraint, ConstraintOptions, Renaming
from linkwork.model.constraints.couplings import Coupling, Equation, JointLock, Term
from linkwork.model.constraints.pairs import Point
from linkwork.model.constraints.tendons import TendonCoupling
from linkwork.model.functions import Tape
from linkwork.model.motions import Motion, motion_at, motion_tape
from linkwork.model.placement import PlacementLike
from linkwork.model.tendons import Tendon


def options_of(constraint: Constraint) -> ConstraintOptions:
    """The options that every constraint has, of one constraint."""
    return {
        "name": constraint.name,
        "compliance": constraint.compliance,
        "enabled": constraint.enabled,
        "gains": constraint.gains,
    }


@converted_but("gains", "follows")
@dataclass(frozen=True, eq=False)
class Drive(Coupling):
    """A joint follows a function of time: ``q = p(t)``, with its velocity and acceleration.

    ``Drive("crank", lambda t: 5 * t)``. The force of its row is the torque of the motor that it takes, positive along
    the coordinate: ``solution.forces["crank drive"]``.

    Args:
        joint: The joint; its configuration space is a vector space.
        follows: A function of time, as `FunctionCoupling` takes it, that returns the coordinate, or as many as the
            joint has; a table ``(times, values)``, taken as a cubic spline; a curve of `scipy.interpolate`; a profile
            of `linkwork.profiles`; or a number, at which the joint stays.
    """

    joint: str
    follows: Motion

    def __post_init__(self) -> None:
        self._set(tape=motion_tape(self.follows, f"Drive '{self.joint}'"))
        if not self.name:
            self._set(name=f"{self.joint} drive")
        super().__post_init__()

    tape: Tape = field(init=False, repr=False)
    """The operations of the motion."""

    @property
    def motion(self) -> Tape:
        """The function of time that its rows follow."""
        return self.tape

    def equations(self) -> tuple[Equation, ...]:
        """One equation for each coordinate, whose value is that of the motion."""
        terms = (Term(self.joint, (1.0, 0.0, 0.0, 0.0), 0.0, k) for k in range(len(self.motion.outputs)))
        return tuple(((term,), 0.0) for term in terms)

    def at(self, time: npt.ArrayLike) -> tuple[Floats, Floats, Floats]:
        """Position, velocity and acceleration that the joint has at some times, ``(..., coordinates)`` each.

        Args:
            time: Seconds, ``(...)``.
        """
        return motion_at(self.motion, time)

    def held(self, time: float) -> JointLock:
        """The joint locked where it is at a time.

        Args:
            time: Seconds.
        """
        return JointLock(self.joint, tuple(self.at(time)[0].tolist()), **options_of(self))

    def _renamed_fields(self, names: Renaming) -> dict[str, Any]:
        return {"joint": names.joint(self.joint)}


@converted_but("gains", "follows")
@dataclass(frozen=True, eq=False, init=False)
class FrameDrive(Point):
    """The origin of a body or frame follows a point of the world that moves: ``FrameDrive("tool", lambda t: (...))``.

    Args:
        frame: The body or frame.
        follows: A function of time that returns x, y and z in the world's axes; see `Drive`.
        options: Those of `Constraint`: name, compliance, and more.
    """

    frame: str = field(kw_only=True)
    follows: Motion = field(kw_only=True)
    first: str = field(init=False, repr=False)
    """The world."""
    second: str = field(init=False, repr=False)
    """The frame."""
    first_at: PlacementLike = field(init=False, repr=False, default=(0.0, 0.0, 0.0))
    second_at: PlacementLike = field(init=False, repr=False, default=(0.0, 0.0, 0.0))
    tape: Tape = field(init=False, repr=False)
    """The operations of the motion."""

    @property
    def motion(self) -> Tape:
        """The function of time that its rows follow."""
        return self.tape

    def __init__(self, frame: str, follows: Motion, **options: Unpack[ConstraintOptions]) -> None:
        self._set(frame=frame, follows=follows)
        options.setdefault("name", f"{frame} drive")
        super().__init__(WORLD, frame, **options)

    def __post_init__(self) -> None:
        tape = motion_tape(self.follows, f"FrameDrive '{self.frame}'")
        if len(tape.outputs) != 3:
            raise ModelError(f"FrameDrive '{self.frame}': the motion has {len(tape.outputs)} results, needs x, y and z")
        self._set(tape=tape)
        super().__post_init__()

    def at(self, time: npt.ArrayLike) -> tuple[Floats, Floats, Floats]:
        """Position, velocity and acceleration that the frame has at some times, ``(..., 3)`` each.

        Args:
            time: Seconds, ``(...)``.
        """
        return motion_at(self.motion, time)

    def held(self, time: float) -> Point:
        """The frame held where it is at a time.

        Args:
            time: Seconds.
        """
        return Point(WORLD, self.frame, first_at=tuple(self.at(time)[0].tolist()), **options_of(self))

    def _renamed_fields(self, names: Renaming) -> dict[str, Any]:
        if (
            names.world != WORLD
            or names.world_at.position.any()
            or not np.array_equal(names.world_at.rotation, np.eye(3))
        ):
            raise self._error("its reference, the world, would move: add the constraint to the whole mechanism instead")
        return {"frame": names.place(self.frame)}


@converted_but("gains", "follows")
@dataclass(frozen=True, eq=False, init=False)
class LengthDrive(TendonCoupling):
    """The length of a tendon follows a function of time: a hydraulic cylinder or a winch of given stroke.

    Args:
        tendon: The tendon.
        follows: A function of time that returns the length; see `Drive`.
        options: Those of `Constraint`: name, compliance, and more.
    """

    tendon: Tendon = field(kw_only=True)
    follows: Motion = field(kw_only=True)
    follower: Tendon = field(init=False, repr=False)
    """The tendon."""
    leader: Tendon | None = field(init=False, repr=False, default=None)
    coefficients: Sequence[float] = field(init=False, repr=False)
    follower_origin: float = field(init=False, repr=False)
    leader_origin: float = field(init=False, repr=False)
    tape: Tape = field(init=False, repr=False)
    """The operations of the motion."""

    @property
    def motion(self) -> Tape:
        """The function of time that its rows follow."""
        return self.tape

    def __init__(self, tendon: Tendon, follows: Motion, **options: Unpack[ConstraintOptions]) -> None:
        if not isinstance(tendon, Tendon):
            raise ModelError(f"LengthDrive: {tendon!r} is not a Tendon")
        self._set(tendon=tendon, follows=follows)
        options.setdefault("name", f"{tendon.name} drive")
        super().__init__(tendon, None, (0.0,), **options)

    def __post_init__(self) -> None:
        tape = motion_tape(self.follows, f"LengthDrive '{self.tendon.name}'")
        if len(tape.outputs) != 1:
            raise ModelError(f"LengthDrive: the motion has {len(tape.outputs)} results, needs one, the length")
        self._set(tape=tape)
        super().__post_init__()

    def at(self, time: npt.ArrayLike) -> tuple[Floats, Floats, Floats]:
        """Length, rate and second rate of the tendon at some times, ``(..., 1)`` each.

        Args:
            time: Seconds, ``(...)``.
        """
        return motion_at(self.motion, time)

    def held(self, time: float) -> TendonCoupling:
        """The tendon held at its length at a time.

        Args:
            time: Seconds.
        """
        return TendonCoupling(self.follower, None, (float(self.at(time)[0][0]),), **options_of(self))

    def _renamed_fields(self, names: Renaming) -> dict[str, Any]:
        return {"tendon": super()._renamed_fields(names)["follower"]}
