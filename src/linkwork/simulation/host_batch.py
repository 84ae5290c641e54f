# SPDX-License-Identifier: BSD-3-Clause
"""States of many robots in the memory of the CPU, stepped in SIMD lanes and threads: `Simulation` on ``"cpu"``.

Each robot has a clock of its own, which a reset sets back; a controller sees its time, and is called when it is due by
it. A robot that stops being finite holds NaN and is left out of further steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.compilers.backends import runner_for
from linkwork.compilers.entry.entry_point import DONE, OVERFLOW
from linkwork.contact.points import FORCE
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.inputs import ParameterName, real_array, truths
from linkwork.quantities.arguments import Array
from linkwork.simulation.actuation import Actuation, not_finite
from linkwork.simulation.contacts import warm_start
from linkwork.simulation.control import Controller
from linkwork.simulation.finite_states import finite_states
from linkwork.simulation.propagators import CompiledSteps
from linkwork.simulation.state import State
from linkwork.simulation.stepper import Stepper


class HostBatch:
    """Robots of a `Simulation` on the CPU.

    Args:
        stepper: Makes their steps.
        count: Number of robots.
        controller: Computes their torques, if there is one.
        control_every: Steps between two calls of it.
        parameters: Parameters of the robots that are inputs of the stepper, in its order, a row for each robot.
    """

    def __init__(
        self,
        stepper: Stepper,
        count: int,
        controller: Controller | None,
        control_every: int,
        parameters: Mapping[ParameterName, Array],
    ) -> None:
        robot, dtype = stepper.source, stepper.dtype
        self.stepper, self.count, self.controller, self.control_every = stepper, count, controller, control_every
        self.q, self.v = np.zeros((count, robot.nq), dtype), np.zeros((count, robot.nv), dtype)
        self.tau = np.zeros((count, robot.nv), dtype)
        """Torques of the controller for the step that follows."""
        self.steps: npt.NDArray[np.int64] = np.zeros(count, np.int64)
        """Steps of each robot since it was reset."""
        self.forces = np.zeros((count, robot.nc), dtype)
        row = stepper.contact_row
        self.contacts = None if row is None else np.zeros((count, row.width), dtype)
        """Rows of numbers about contacts (`contacts`), ``(count, width)``; None without contacts."""
        self.act: Array | None = np.zeros((count, robot.na), dtype) if robot.na else None
        """Activations of actuators."""
        self.parameters = {name: x.astype(dtype) for name, x in parameters.items()}
        self._compiled = CompiledSteps(stepper, None, None, tuple(self.parameters.values()))
        self._controls: tuple[Array, ...] = ()
        if controller is not None:
            self._torques = runner_for(stepper.planned.torques(controller.control), stepper.execution.backend)
            self._controls = tuple(x.astype(dtype) for x in controller.packed())

    def array(self, x: npt.ArrayLike, name: str, shape: tuple[int, ...]) -> Array:
        """An argument of a call, the same for all robots or a row for each."""
        array = real_array(x, name)
        if array.shape not in (shape, (self.count, *shape)):
            raise InputError(f"{name} has shape {array.shape}, needs {shape} or {(self.count, *shape)}")
        if not np.isfinite(array).all():
            at = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
            raise InputError(f"{name} is not finite at index {at}")
        return np.ascontiguousarray(array, self.stepper.dtype)

    @property
    def contact_forces(self) -> Array | None:
        """Forces of contact points along t1, t2, n, ``(count, slots, 3)``."""
        row = self.stepper.contact_row
        if row is None or self.contacts is None:
            return None
        return row.points.by_slot(self.contacts[:, row.places["points"]], FORCE)

    def contact_rows(self) -> Array | None:
        """Rows about contacts, ``(count, width)``: `contacts` itself."""
        return self.contacts

    # Steps ---------------------------------------------------------------------------------------------------------

    def advance(
        self, steps: int, tau: Array | None, commands: Array | None, wrenches: Array | None, record_every: int
    ) -> tuple[Array, Array] | None:
        """Make steps; states of every so many of them, ``(frames, count, ...)``, if these are to be recorded."""
        frames = steps // record_every if record_every else 0
        records = tuple(np.empty((frames, *x.shape), x.dtype) for x in (self.q, self.v))
        done = 0
        while done < steps:
            self._control()
            some = min(steps - done, self._until_control())
            if record_every:
                some = min(some, record_every - done % record_every)
            if self.stepper.given is not None:
                some = 1  # contact points are found between steps
            self._step(some, tau, commands, wrenches)
            done += some
            if record_every and done % record_every == 0:
                for x, y in zip(records, (self.q, self.v), strict=True):
                    x[done // record_every - 1] = y
        return (records[0], records[1]) if record_every else None

    def _until_control(self) -> int:
        """Steps until the controller of some robot is due."""
        if self.controller is None:
            return int(np.iinfo(np.int64).max)
        return int((self.control_every - self.steps % self.control_every).min())

    def _control(self) -> None:
        """Torques of those robots whose controller is due."""
        if self.controller is None:
            return
        due = np.flatnonzero((self.steps % self.control_every == 0) & finite_states(self.q, self.v))
        if not len(due):
            return
        dtype, runner = self.stepper.dtype, self._torques
        time = self.steps[due, None].astype(dtype) * dtype.type(self.stepper.dt)
        tau = np.empty((len(due), self.tau.shape[1]), dtype)
        controls = [x[due] if x.ndim > 1 else x for x in self._controls]
        arrays = [np.ascontiguousarray(x) for x in (self.q[due], self.v[due], time, *controls)]
        alone = len(due) == 1
        own = [x.ndim > len(shape) for x, shape in zip(arrays, runner.inputs, strict=True)]
        rows = [x[0] if each and alone else x for x, each in zip(arrays, own, strict=True)]
        status = runner.run_threaded(rows, [tau[0] if alone else tau], len(due))
        if status not in (DONE, OVERFLOW):
            runner.explain(status, rows, [tau])
        wrong = np.argwhere(~np.isfinite(tau))
        if len(wrong):
            row, k = (int(x) for x in wrong[0])
            raise InputError(f"the controller at {float(time[row, 0]):g} s: {not_finite('torque', k, int(due[row]))}")
        self.tau[due] = tau

    def _step(self, steps: int, tau: Array | None, commands: Array | None, wrenches: Array | None) -> None:
        torques = self.tau if tau is None else tau
        before = State(self.q, self.v, Actuation(torques, commands), self.forces, self.contacts, self.act)
        compiled = self._compiled
        if wrenches is not None:
            compiled = CompiledSteps(self.stepper, None, wrenches, compiled.parameters)
        after, records = compiled.advance(before, self._now(), steps)
        pairs = ((self.q, after.q), (self.v, after.v), (self.forces, after.multipliers))
        for x, y in (*pairs, (self.contacts, after.contacts), (self.act, after.act)):
            if x is not None and y is not None:
                x[...] = y
        self.steps += records

    def _now(self) -> int:
        """The step of the clock, where something depends on time: one for all robots."""
        if not self.stepper.planned.timed:
            return 0
        counts = np.unique(self.steps[finite_states(self.q, self.v)])
        if len(counts) > 1:
            raise UnsupportedFeature(
                f"robots are {counts.tolist()} steps from their reset, and a constraint or force of "
                f"'{self.stepper.source.name}' depends on time: reset all together"
            )
        return int(counts[0]) if len(counts) else 0

    # Resets ----------------------------------------------------------------------------------------------------------

    def reset(
        self,
        mask: npt.ArrayLike | None,
        q: Array,
        v: Array,
        parameters: Mapping[ParameterName, Array],
        act: Array | None = None,
    ) -> None:
        """Set the state of some robots, or of all, and what steps keep of the one before to zero; arrays have a row for
        each robot."""
        rows: Any = slice(None) if mask is None else truths(mask, "mask")
        if mask is not None and (rows.shape != (self.count,) or rows.dtype != np.bool_):
            raise InputError(f"mask has shape {rows.shape} of {rows.dtype}, needs ({self.count},) of bool")
        for x, y in ((self.q, q), (self.v, v)):
            x[rows] = y[rows]
        for name, value in parameters.items():
            self.parameters[name][rows] = value[rows]
        if self.act is not None:
            self.act[rows] = 0.0 if act is None else act[rows]
        self.tau[rows] = 0.0
        self.forces[rows] = 0.0
        self.steps[rows] = 0
        row = self.stepper.contact_row
        if self.contacts is not None and row is not None:
            self.contacts[rows] = warm_start(row, None)
