# SPDX-License-Identifier: BSD-3-Clause
"""`LiveRun`: one robot whose state steps move on, under commands that change and a hand that pulls."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.contact.points import words_of_jam, words_of_overflow
from linkwork.errors import InputError, ModelWarning, StateWarning
from linkwork.inputs import ContactLaw, above_zero, count, plural, suggest
from linkwork.kernels.contact.reduced.step import JAMS, MISSED, OVERFLOWED
from linkwork.model.model import Model
from linkwork.pages.controls import HAND, hands
from linkwork.pages.program import body_masses
from linkwork.pages.scene import size_at
from linkwork.quantities.arguments import Array
from linkwork.quantities.functions import frame_jacobian, frame_placement
from linkwork.simulation import Stepper
from linkwork.simulation.activations import initial_activations
from linkwork.simulation.contacts import limits_at_start
from linkwork.simulation.given_pairs import with_usable_contacts

SAG = 0.05
"""The spring of the hand is longer by this part of the robot's size where it bears the robot's weight."""
PULLED = 2e-3
"""Seconds for which the force of the hand is held."""


@dataclass(frozen=True, eq=False)
class Pull:
    """A hand that pulls at a point of a body: a spring and a damper between the point and where the hand is."""

    body: str
    local: Array
    """The point in the body's frame, ``(3,)``."""
    target: Array
    """Where the hand is, ``(3,)``."""


@dataclass(frozen=True, eq=False)
class Pulled:
    """Point and force of the mouse at a state, in the world's axes."""

    point: Array
    """Where it pulls, ``(3,)``."""
    force: Array
    """On the body, ``(3,)``, in newtons."""


class LiveRun:
    """One robot that is stepped while commands change and a hand pulls: ``LiveRun(robot, q).advance(10)``.

    Args:
        robot: The mechanism.
        q: Configuration at the start, ``(nq,)``; loops must be closed.
        dt: Time of one step, in seconds.
        commands: Commands of the actuators at the start, ``(actuators,)``; None: actuators do nothing.
        act: Activations of actuators at the start, ``(na,)``; by default zero.
        contact: Whether contact pairs touch, as in `Stepper`.
    """

    def __init__(
        self,
        robot: Model,
        q: npt.ArrayLike,
        *,
        dt: float = 1e-3,
        commands: npt.ArrayLike | None = None,
        act: npt.ArrayLike | None = None,
        contact: ContactLaw = None,
    ) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ModelWarning)
            self.robot = with_usable_contacts(robot, contact)
        self.dt, self._contact = above_zero(dt, "dt"), contact
        self.warnings = [str(one.message) for one in caught]
        """Warnings of the preparation of steps."""
        self.start = self._checked(q)
        self._began = None if commands is None else self._commands(commands), initial_activations(self.robot, act)
        self.hand: Pull | None = None
        """The hand."""
        self.reset()

    # Where it starts ----------------------------------------------------------------------------------------------

    def reset(self, pose: str | None = None) -> None:
        """Start again, at rest: where it began, or at a pose of the robot, with the commands of that pose.

        Args:
            pose: Name of a pose; by default where the run began.
        """
        commands, act = self._began
        if pose is None:
            q = self.start
        elif pose in self.robot.poses:
            q = self._checked(self.robot.poses[pose])
            commands = self.robot.commands.get(pose, commands)
            act = initial_activations(self.robot, self.robot.activations.get(pose))
        else:
            known = ", ".join(self.robot.poses) or "it has none"
            raise InputError(f"'{self.robot.name}' has no pose '{pose}'{suggest(pose, self.robot.poses)} ({known})")
        self.commands = None if commands is None else np.array(commands, dtype=np.float64)
        """Commands of the actuators; None: they do nothing."""
        self.act = None if act is None else np.array(act, dtype=np.float64)
        """Activations of actuators; None where no actuator has any."""
        self.move_to(q)

    def move_to(self, q: npt.ArrayLike) -> None:
        """Go on from another configuration, at rest, and count unsolved steps anew.

        Args:
            q: The configuration, ``(nq,)``.
        """
        self.q, self.v = self._checked(q), np.zeros(self.robot.nv)
        self.time = 0.0
        """Seconds since the start."""
        self.contact_state: Array | None = None
        """Of the last step: see `StepResult.contact_state`."""
        self.multipliers = np.zeros(self.robot.nc)
        """Forces of constraints in the last step."""
        self.unsolved = self.jammed = self.overflowed = 0
        """Steps since the start that were not solved, that could not remove penetration, that had no room."""

    def _checked(self, q: npt.ArrayLike) -> Array:
        at = self.robot.normalize(q)
        if at.ndim != 1:
            raise InputError(f"a live run has one state; q has shape {at.shape}, needs ({self.robot.nq},)")
        return np.array(at, dtype=np.float64)

    def _commands(self, commands: npt.ArrayLike) -> Array:
        values, n = np.array(commands, dtype=np.float64), len(self.robot.actuators)
        if values.shape != (n,) or not np.isfinite(values).all():
            raise InputError(f"commands has shape {values.shape}, needs {n} finite numbers, one for each actuator")
        return values

    def command(self, actuator: str, value: float) -> None:
        """Set the command of one actuator; others that had none get zero.

        Args:
            actuator: Its name.
            value: Its command.
        """
        names = [one.name for one in self.robot.actuators]
        if actuator not in names:
            raise InputError(f"'{self.robot.name}' has no actuator '{actuator}'{suggest(actuator, names)}")
        values = np.zeros(len(names)) if self.commands is None else self.commands.copy()
        values[names.index(actuator)] = value
        self.commands = self._commands(values)

    # The hand -----------------------------------------------------------------------------------------------------

    def pull(self, body: str, point: npt.ArrayLike, target: npt.ArrayLike) -> None:
        """Pull a body by a point until `release`, by a spring to where the hand is.

        Args:
            body: Its name.
            point: Where it is grasped, in the world, ``(3,)``.
            target: Where the hand is, ``(3,)``.
        """
        if body not in self.robot.body_names:
            raise InputError(f"'{self.robot.name}' has no body '{body}'{suggest(body, self.robot.body_names)}")
        at = frame_placement(self.robot, self.q, body)
        local = at.rotation.T @ (np.asarray(point, dtype=np.float64) - at.position)
        self.hand = Pull(body, local, np.array(target, dtype=np.float64))

    def drag(self, target: npt.ArrayLike) -> None:
        """Move the hand that pulls, if one does.

        Args:
            target: Where it goes, ``(3,)``.
        """
        if self.hand is not None:
            self.hand = Pull(self.hand.body, self.hand.local, np.array(target, dtype=np.float64))

    def release(self) -> None:
        """Let go."""
        self.hand = None

    @cached_property
    def _springs(self) -> dict[str, dict[str, float]]:
        """Stiffness and damping of the hand at each body."""
        gravity, size = float(np.linalg.norm(self.robot.gravity)), size_at(self.robot, self.start)
        rate = np.sqrt(gravity / (SAG * size)) if gravity > 0 else HAND
        springs = hands(self.robot, body_masses(self.robot, self.start), max(PULLED, self.dt), rate)
        return dict(zip(self.robot.body_names, springs, strict=True))

    @property
    def pulled(self) -> Pulled | None:
        """Point and force of the mouse now; None without one."""
        wrenches = self._pulled()
        return None if wrenches is None else wrenches[0]

    def _pulled(self) -> tuple[Pulled, Array] | None:
        """Point and force of the mouse, and the wrench in the axes of the body's frame."""
        hand = self.hand
        if hand is None:
            return None
        at, spring = frame_placement(self.robot, self.q, hand.body), self._springs[hand.body]
        lever = at.rotation @ hand.local
        angular, linear = np.split(frame_jacobian(self.robot, self.q, hand.body, reference="aligned") @ self.v, 2)
        point, velocity = at.position + lever, linear + np.cross(angular, lever)
        force = spring["stiffness"] * (hand.target - point) - spring["damping"] * velocity
        wrench = np.concatenate([at.rotation.T @ np.cross(lever, force), at.rotation.T @ force])
        return Pulled(point, force), wrench

    # Steps --------------------------------------------------------------------------------------------------------

    @cached_property
    def stepper(self) -> Stepper:
        """The stepper, prepared on first use: every body may be pulled."""
        with warnings.catch_warnings(record=True) as caught:
            for category in (ModelWarning, StateWarning):
                warnings.simplefilter("always", category)
            bodies = self.robot.body_names
            plain = Stepper(self.robot, self.dt, contact=self._contact, stops_at=self.start, wrenches=bodies)
            soft = limits_at_start(self.robot, self.start) if plain.contact else True
            if soft is not True:
                plain = Stepper(
                    self.robot, self.dt, contact=self._contact, stops_at=self.start, wrenches=bodies, limits=soft
                )
        self.warnings += [str(one.message) for one in caught]
        return plain

    def advance(self, steps: int = 1) -> None:
        """Make steps.

        Args:
            steps: Number of steps.
        """
        left = count(steps, "steps")
        while left:
            some = left if self.hand is None else min(left, max(1, round(PULLED / self.dt)))
            self._advance(some)
            left -= some

    def _advance(self, steps: int) -> None:
        wrenches, hand = None, self._pulled()
        if hand is not None and self.hand is not None:
            wrenches = np.zeros((len(self.robot.body_names), 6))
            wrenches[self.robot.body_names.index(self.hand.body)] = hand[1]
        how: dict[str, Any] = {"commands": self.commands, "act": self.act, "contact_state": self.contact_state}
        result = self.stepper(self.q, self.v, None, wrenches, steps=steps, time=self.time, **how)
        self.q, self.v, self.act = result.q, result.v, result.act
        self.multipliers, self.contact_state = result.multipliers, result.contact_state
        self.time += steps * self.dt
        if self.contact_state is not None:
            self.unsolved += int(self.contact_state[MISSED])
            self.jammed += int(self.contact_state[JAMS])
            self.overflowed += int(self.contact_state[OVERFLOWED])

    @property
    def troubles(self) -> list[str]:
        """Failures of steps since the start, in words."""
        row, words = self.stepper.contact_row, []
        if row is None or self.contact_state is None:
            return []
        listed = self.contact_state[row.places["points"]]
        if self.unsolved:
            words.append(f"{plural(self.unsolved, 'step')} not solved: try a shorter dt")
        if self.jammed:
            words.append(
                f"penetration not removed in {plural(self.jammed, 'step')}: shapes overlap that no joint moves apart"
                f"{words_of_jam(self.robot, listed)}"
            )
        if self.overflowed:
            words.append(
                f"too many contact points in {plural(self.overflowed, 'step')}: {words_of_overflow(self.robot, listed)}"
            )
        return words
