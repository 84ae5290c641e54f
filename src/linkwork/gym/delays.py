# SPDX-License-Identifier: BSD-3-Clause
"""Actions that come late: by parts of an action or by several, drawn for each episode or for each action."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from linkwork.errors import InputError
from linkwork.gym.randomization import Draw
from linkwork.gym.robots import Rows
from linkwork.quantities.arguments import Array

Delay = float | tuple[float, float] | Draw
"""Seconds; or bounds that a uniform one is drawn from, or any other draw."""


class ActionDelay:
    """Delays of the commands of environments, in whole steps of the simulation.

    Args:
        delay: The delay; None: none.
        dt: Time of a step, in seconds.
        steps: Steps of an action.
        count: Environments.
    """

    def __init__(self, delay: Delay | None, dt: float, steps: int, count: int) -> None:
        self.draw = _draw(delay)
        """Seconds of delay; None: there is none."""
        self._dt, self._steps = dt, steps
        self.late: npt.NDArray[np.int64] = np.zeros(count, dtype=np.int64)
        """Delay of each environment, in steps."""
        self._fresh = np.ones(count, dtype=bool)
        self._kept: list[Array] = []
        longest = 0 if self.draw is None else round(self.draw.high / dt)
        self._depth = 1 + -(-longest // steps)

    @property
    def draws(self) -> int:
        """Random numbers that `start` takes for an episode."""
        return int(self.draw is not None)

    @property
    def per_action(self) -> bool:
        """Whether delays are drawn anew for each action."""
        return self.draw is not None and self.draw.each == "action"

    def start(self, rows: Rows, draws: Array) -> None:
        """Draw delays of episodes that start: no command is on its way.

        Args:
            rows: The environments.
            draws: Numbers from 0 to 1, ``(rows, draws)``.
        """
        self._fresh[rows] = True
        self.redraw(rows, draws)

    def redraw(self, rows: Rows, draws: Array) -> None:
        """Draw delays anew.

        Args:
            rows: The environments.
            draws: Numbers from 0 to 1, ``(rows, draws)``.
        """
        if self.draw is not None:
            self.late[rows] = np.rint(self.draw(draws[:, 0]) / self._dt).astype(np.int64)

    def parts(self, commands: Array | None) -> Iterator[tuple[int, Array | None]]:
        """Steps of an action, and the commands that robots follow in them.

        Args:
            commands: Commands of this action, ``(count, actuators)``.
        """
        if self.draw is None:
            yield self._steps, commands
            return
        if commands is None:
            raise InputError("action_delay is for commands, and this environment has none")
        before = self._kept or [commands]
        before = [np.where(self._fresh[:, None], commands, x) for x in before]
        self._fresh[:] = False
        self._kept = [commands.copy(), *before][: self._depth]
        kept = np.stack([*self._kept, *[self._kept[-1]] * (self._depth - len(self._kept))])
        # in step s a command counts that came (late - s) / steps actions ago, rounded up
        ages = np.maximum(-((np.arange(self._steps)[:, None] - self.late) // self._steps), 0)
        robots = np.arange(len(self.late))
        changes = [0, *(1 + np.flatnonzero((ages[1:] != ages[:-1]).any(axis=1))).tolist(), self._steps]
        for start, end in pairwise(changes):
            yield end - start, kept[ages[start], robots]


def _draw(delay: Delay | None) -> Draw | None:
    if delay is None or isinstance(delay, Draw):
        draw = delay
    else:
        pair = (
            np.broadcast_to(np.asarray(delay, dtype=np.float64), (2,)) if np.size(delay) in (1, 2) else np.array([1, 0])
        )
        if not (np.isfinite(pair).all() and 0 <= pair[0] <= pair[1]):
            raise InputError(f"action_delay is {delay!r}, needs seconds >= 0, or (low, high), or a Draw")
        draw = Draw(float(pair[0]), float(pair[1]))
    if draw is not None and draw.low < 0:
        raise InputError(f"action_delay is drawn from {draw.low} to {draw.high}, needs seconds >= 0")
    return draw
