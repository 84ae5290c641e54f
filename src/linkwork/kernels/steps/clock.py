# SPDX-License-Identifier: BSD-3-Clause
"""The clock of a step: time at its stages, and joints that follow functions of time, exactly.

Rows of constraints that move (`constrained.constraints`) hold accelerations. Coordinates of joints that such rows drive
are set to their motion at every stage of a Runge-Kutta method, and after the step, so that they have no error of
integration. Semi-implicit Euler moves all joints along their velocities after the step; that of a driven joint is the
mean one, ``(p(t + h) - q) / h``, which leads to its position ``p(t + h)`` and does not open loops any further than a
step without drives.

| symbol     | meaning                                          |
|------------|--------------------------------------------------|
| start_time | time at the start of the step                    |
| now        | time of a stage: `tree.time` for what it calls   |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.functions import motion_forward
from linkwork.kernels.scalar import Array, Scalar, kernel

FIRST = 2
"""Entry of the timing: the number of the first step, on a clock that counts steps."""

NOW = (("time", "now"),)
"""The time of a stage in place of the tree's (`scalar.with_arrays`)."""

CLOCK_WORK: dict[str, Shape] = {"start_time": (1,), "now": (1,)}


@kernel
def no_clock(*arguments: Array) -> None:
    """Nothing depends on time."""


@kernel
def start_clock(w: Array, timing: Array, progress: Array, h: Scalar) -> None:
    """``start_time``: the time of the step that follows."""
    w.start_time[0] = (timing[FIRST] + (progress[1] - 1.0)) * h


@kernel
def set_time(w: Array, offset: Scalar) -> None:
    """``now``: the time of a stage, so long after the start of the step."""
    w.now[0] = w.start_time[0] + offset


@kernel
def clear_targets(tree: Array, w: Array) -> None:
    """No accelerations of rows beyond those of their motions."""
    for r in range(tree.nc):
        w.none[r] = 0.0


@kernel
def mean_targets(tree: Array, w: Array, q: Array, v: Array, h: Scalar) -> None:
    """Driven rows accelerate to the mean velocity of the step, at whose end ``now`` is: ``((p - q) / h - v) / h``."""
    clear_targets(tree, w)
    if tree.ndrives != 0:
        motion_forward(tree, w)
        for d in range(tree.ndrives):
            s = tree.drive_node[d]
            mean = (w.tape[s] - q[tree.drive_q[d]]) / h
            w.none[tree.drive_row[d]] = (mean - v[tree.drive_v[d]]) / h - w.tape_ddot[s]


@kernel
def drive_positions(tree: Array, w: Array, q: Array) -> None:
    """Driven coordinates at the time ``now``, of a tree whose time that is."""
    if tree.ndrives != 0:
        motion_forward(tree, w)
        for d in range(tree.ndrives):
            q[tree.drive_q[d]] = w.tape[tree.drive_node[d]]


@kernel
def drive_state(tree: Array, w: Array, q: Array, v: Array) -> None:
    """Driven coordinates and their velocities at the time ``now``, of a tree whose time that is."""
    if tree.ndrives != 0:
        motion_forward(tree, w)
        for d in range(tree.ndrives):
            q[tree.drive_q[d]] = w.tape[tree.drive_node[d]]
            v[tree.drive_v[d]] = w.tape_dot[tree.drive_node[d]]


class Clock(NamedTuple):
    """The time inputs of a step; by default there are none."""

    start: Callable[..., None] = no_clock
    """``start(w, timing, progress, h)``, before a step."""
    set_time: Callable[..., None] = no_clock
    """``set_time(w, offset)``, before a stage."""
    drive: Callable[..., None] = no_clock
    """``drive(tree, w, q, v)``: driven coordinates and velocities at a stage."""
    drive_positions: Callable[..., None] = no_clock
    """``drive_positions(tree, w, q)``: driven coordinates after a step of semi-implicit Euler."""
    clear_targets: Callable[..., None] = no_clock
    """``clear_targets(tree, w)``, at a stage."""
    mean_targets: Callable[..., None] = no_clock
    """``mean_targets(tree, w, q, v, h)``, in a step of semi-implicit Euler."""
    fields: tuple[tuple[str, str], ...] = ()
    """Arrays of the tree in whose place work arrays are."""

    @property
    def timing(self) -> int:
        """The number of entries of the timing."""
        return FIRST + bool(self.fields)


TREE_CLOCK = Clock(start_clock, set_time, fields=NOW)
"""The clock of trees without constraints, and of steps with contacts, whose rows lead to targets after the step."""
LOOP_CLOCK = Clock(start_clock, set_time, drive_state, drive_positions, clear_targets, mean_targets, NOW)
"""The clock of loops, rows of which may move."""
