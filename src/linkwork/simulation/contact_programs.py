# SPDX-License-Identifier: BSD-3-Clause
"""Steps with contacts by straight-line programs: one call of machine code a step, for many robots at once.

Steps of native code repeat in machine code (`kernels.steps.contact_steps`), iterations within steps. A straight-line
program has one loop, that of its iterations; so there is a call for each step, which starts from the result of the one
before. Robots are taken in parts, each of which makes all steps before the next begins.

Where iterations from the forces of the step before fail, a step is solved from zero forces;
a robot that stops being finite is left where it is. A controller that is kernel code is a program of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from linkwork.compilers.backends import runner_for
from linkwork.compilers.entry.entry_point import DONE, OVERFLOW, SHAPES
from linkwork.compilers.program import Backend, Program
from linkwork.compilers.run import Entry, Runner
from linkwork.contact.solution import ITERATIONS, RESIDUAL
from linkwork.kernels.contact.problem import ContactSettings
from linkwork.kernels.contact.reduced.gyroscopic import LEAST_TURN
from linkwork.kernels.joints import axis_of, dof_of
from linkwork.kernels.steps.clock import FIRST
from linkwork.kernels.steps.contact_steps import JOINTS, MISSED, STANDING
from linkwork.kernels.steps.contact_steps import RESIDUAL as LARGEST
from linkwork.kernels.steps.control import END, EVERY, WAIT
from linkwork.kernels.steps.stage_dynamics import DT
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.contact_lcaba import HEAD
from linkwork.plans.contact_steps import TOTALS
from linkwork.plans.tree import Tree
from linkwork.quantities.arguments import Array

PART = 4096
"""Robots that go through all steps together."""
STATE = ("q", "v", "tau", "before")
"""Inputs of a step that change from one to the next; the others are commands, settings and parameters of the robots."""


class ContactStepsRunner(Runner):
    """Runs steps of `Stepper` with contacts by programs of one step, and of its controller.

    Args:
        program: The steps as native code repeats them, for which this stands in.
        backend: Backend of the programs.
        step: One step (`kernels.steps.contact_steps.single_contact_step`).
        bounded: Parts that it leaves to its caller where bodies turn fast
            (`kernels.steps.contact_steps.bounded_contact_step`).
        torques: The controller, if there is one (`kernels.steps.control.controller_torques`).
    """

    def __init__(
        self, program: Program, backend: Backend, step: Program, bounded: Program, torques: Program | None = None
    ) -> None:
        super().__init__(program, backend)
        self._step, self._bounded, self._backend = runner_for(step, backend), bounded, backend
        self._torques = None if torques is None else runner_for(torques, backend)

    @cached_property
    def bounded(self) -> Runner:
        """Made where some body turns fast for the first time."""
        return runner_for(self._bounded, self._backend)

    @property
    def entry(self) -> Entry:
        """For one state whose arrays fit as they are."""

        def alone(*arrays: Array) -> int:
            if any(getattr(x, "ndim", -1) != len(shape) for x, shape in zip(arrays, self.shapes, strict=True)):
                return SHAPES
            if self.misfit(arrays) is not None:
                return SHAPES
            return self.run(arrays[: len(self.inputs)], arrays[len(self.inputs) :], 1)

        return alone

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array], count: int) -> int:
        """In parts, each of which makes all steps."""
        own = [x.ndim > len(shape) for x, shape in zip(inputs, self.inputs, strict=True)]
        if outputs[-1].ndim == 1:
            return self._advance([x[None] if k == 0 else x for k, x in enumerate(inputs)], [y[None] for y in outputs])
        status = DONE
        for start in range(0, count, PART):
            rows = slice(start, start + PART)
            part = [x[rows] if each else x for x, each in zip(inputs, own, strict=True)]
            status = max(status, self._advance(part, [y[rows] for y in outputs]))
        return status

    def _advance(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> int:
        """All steps of one part; ``q`` and all outputs have a batch axis."""
        robots = _Robots(self, inputs, outputs)
        steps = int(robots.settings[1]) - 1
        if not steps:
            status = self._check_numbers(inputs)
            if status != DONE:
                return status
        status = robots.control()
        for k in range(steps):
            if status != DONE or not len(robots.rows):
                break
            status = robots.step(last=k == steps - 1)
            if status == DONE:
                status = robots.control()
        robots.write()
        if status in (DONE, OVERFLOW) and not all(np.isfinite(y).all() for y in outputs):
            return OVERFLOW
        return status


@dataclass
class _Clock:
    """When a controller is due (`kernels.steps.control`)."""

    timing: Array
    next: float

    def due(self, count: int) -> bool:
        """Whether it is after so many steps, counted from one."""
        if not (count < self.timing[END] and self.next - count < 0.5):
            return False
        self.next = count + float(self.timing[EVERY])
        return True

    def time(self, count: int) -> float:
        """The time then."""
        return (float(self.timing[FIRST]) + count - 1.0) * float(self.timing[DT])


class _Robots:
    """The state of a part between two steps: those robots that are still finite."""

    def __init__(self, runner: ContactStepsRunner, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        tree, self.runner, self.outputs = runner.program.tree, runner, outputs
        self.torques = runner._torques
        names = dict(zip(runner.program.algorithm.inputs, inputs, strict=True))
        lead, dtype = (len(outputs[0]),), runner.dtype
        self.rows = np.arange(*lead)
        self.count = 1
        self.settings = names["settings"].reshape(-1, 2)[0]
        held, ns = names["regularization"], tree.nsettings
        points = held[..., ns + tree.nstart :]
        self.own = {name: names[name] for name in ("commands", "wrenches")}
        self.own["given"] = np.ascontiguousarray(points.reshape(*points.shape[:-1], tree.ngiven, 7))
        self.own["timing"] = np.ascontiguousarray(names["timing"].reshape(-1, names["timing"].shape[-1])[0, :2])
        self.own["settings"] = np.ascontiguousarray(held.reshape(-1, held.shape[-1])[0, :2])
        self.threshold = held.reshape(-1, held.shape[-1])[0, ContactSettings._fields.index("threshold")]
        self.controls = {name: names[name] for name in ("shared", "own") if name in names}
        self.inputs = tuple(runner._step.program.algorithm.inputs)
        parameters = [name for name in self.inputs if name not in (*STATE, *self.own)]
        self.own |= {name: names[name] for name in parameters}
        self.q, self.v, self.tau = (self._full(names[name], lead) for name in ("q", "v", "tau"))
        self.before = np.zeros((*lead, tree.nresult), dtype)
        _put_forces(tree, self.before, held[..., ns : ns + tree.nstart])
        self.before[..., tree.act_start :] = names["commands"][..., tree.nu :]
        self.spare = [[np.empty((*lead, *shape), dtype) for shape in runner._step.outputs] for _ in range(2)]
        self.clock = None
        if self.torques is not None:
            timing = names["timing"].reshape(-1, 6)[0]
            self.clock = _Clock(timing, 1.0 + float(timing[WAIT]))
        self.turning = turning_dofs(tree)
        self.written = False

    def _full(self, x: Array, lead: tuple[int, ...]) -> Array:
        return x if x.ndim > 1 else np.ascontiguousarray(np.broadcast_to(x, (*lead, x.shape[-1])))

    def control(self) -> int:
        """Torques of the controller for the steps that follow, if it is due."""
        if self.clock is None or self.torques is None or not self.clock.due(self.count):
            return DONE
        time = np.array([self.clock.time(self.count)], self.q.dtype)
        tau = np.empty_like(self.v)
        status = self.torques.run([self.q, self.v, time, *self.controls.values()], [tau], len(self.q))
        self.tau = tau
        return status

    def step(self, last: bool) -> int:
        """One step of all robots."""
        runner, count = self.runner._step, len(self.rows)
        outputs = [y[:count] for y in self.spare[self.count % 2]]
        if last and count == len(self.outputs[0]):  # into the arrays of the caller
            outputs = [self.outputs[0], self.outputs[1], self.outputs[-2]]
        arrays = self.own | dict(zip(STATE, (self.q, self.v, self.tau, self.before), strict=True))
        inputs = [arrays[name] for name in self.inputs]
        status = runner.run(inputs, outputs, count)
        if status not in (DONE, OVERFLOW):
            return status
        if status == OVERFLOW:  # an entry point ends where something is not finite
            for k in range(count):
                rows = [x[k : k + 1] if x.ndim > len(s) else x for x, s in zip(inputs, runner.inputs, strict=True)]
                runner.run(rows, [y[k : k + 1] for y in outputs], 1)
        self._solve_again(inputs, outputs)
        missing = self._bound_energy(arrays | {"result": outputs[2]}, outputs)
        self._stand_still(outputs)
        self._miss(missing, outputs[2])
        self.q, self.v, self.before = outputs
        if status == OVERFLOW:
            self._drop()
        self.count += 1
        return DONE

    def _solve_again(self, inputs: list[Array], outputs: list[Array]) -> None:
        """Steps whose iterations failed, from zero forces; the better of both results."""
        tolerance = float(self.own["settings"][0])
        missed = np.flatnonzero(outputs[2][:, RESIDUAL] > tolerance)
        if not len(missed):
            return
        runner = self.runner._step
        rows = [x[missed] if x.ndim > len(s) else x for x, s in zip(inputs, runner.inputs, strict=True)]
        rows[self.inputs.index("before")][:, RESIDUAL] = UNBOUNDED
        again = [np.full_like(y[missed], np.nan) for y in outputs]
        runner.run(rows, again, len(missed))
        again[2][:, ITERATIONS] += outputs[2][missed, ITERATIONS]
        better = again[2][:, RESIDUAL] < outputs[2][missed, RESIDUAL]
        for x, y in zip(outputs, again, strict=True):
            x[missed[better]] = y[better]

    def _bound_energy(self, arrays: dict[str, Array], outputs: list[Array]) -> Array:
        """No more energy than forces put in, where bodies turn fast (`kernels.steps.fast_turns`); the residuals."""
        dt, runner = float(self.own["timing"].reshape(-1)[DT]), self.runner
        missing = np.zeros(len(outputs[0]), outputs[0].dtype)
        turns = dt * np.abs(self.v[:, self.turning]).sum(axis=1)
        fast = np.flatnonzero((turns > LEAST_TURN) & np.isfinite(outputs[1]).all(axis=1))
        if not len(fast):
            return missing
        bounded = runner.bounded
        rows = []
        for name, shape in zip(runner._bounded.algorithm.inputs, bounded.inputs, strict=True):
            x = arrays[name]
            rows.append(x[fast] if x.ndim > len(shape) else x)
        q, v, residual = (np.full((len(fast), *shape), np.nan, outputs[0].dtype) for shape in bounded.outputs)
        bounded.run(rows, [q, v, residual], len(fast))
        slower = residual[:, 0] > 0
        outputs[0][fast[slower]], outputs[1][fast[slower]] = q[slower], v[slower]
        missing[fast[slower]] = residual[slower, 0]
        return missing

    def _miss(self, missing: Array, result: Array) -> None:
        """Residuals of steps whose energy was bounded, in results and in their totals."""
        totals = self.runner.program.tree.act_start - TOTALS
        tolerance = float(self.own["settings"][0])
        result[:, totals + MISSED] += (missing > tolerance) & (result[:, RESIDUAL] <= tolerance)
        result[:, RESIDUAL] = np.maximum(result[:, RESIDUAL], missing)
        result[:, totals + LARGEST] = np.maximum(result[:, totals + LARGEST], missing)

    def _stand_still(self, outputs: list[Array]) -> None:
        """Robots whose steps are far from solved stay at rest (`kernels.steps.contact_steps.stand_still`)."""
        tree = self.runner.program.tree
        most = max(float(self.threshold), STANDING * float(self.own["settings"][0]))
        far = np.isfinite(outputs[1]).all(axis=1) & ~(outputs[2][:, RESIDUAL] <= most)
        outputs[0][far], outputs[1][far] = self.q[far], 0.0
        first, last = HEAD + tree.nv, HEAD + tree.nv + 3 * tree.nslots
        outputs[2][far, first:last] = 0.0
        outputs[2][far, last + 4 * tree.nslots : last + 4 * tree.nslots + tree.nc + tree.nboxes] = 0.0
        totals = tree.act_start - TOTALS
        energies = slice(totals, totals + JOINTS + 1)  # forces that do not act do no work
        outputs[2][far, energies] = self.before[far, energies]

    def _drop(self) -> None:
        """Robots that are not finite any more are left where they are."""
        good: Array = np.asarray(np.isfinite(self.q).all(axis=1) & np.isfinite(self.v).all(axis=1))
        lost = self.rows[~good]
        self._put(lost, ~good, np.nan)
        self.rows = self.rows[good]
        self.q, self.v, self.tau, self.before = (x[good] for x in (self.q, self.v, self.tau, self.before))
        shapes = dict(zip(self.inputs, self.runner._step.inputs, strict=True))
        for name, x in self.own.items():
            self.own[name] = x[good] if x.ndim > len(shapes[name]) else x
        for name, x in self.controls.items():
            self.controls[name] = x[good] if x.ndim > 1 else x

    def _put(self, rows: Array, which: Array, finite: float) -> None:
        results = [self.q, self.v, self.before] if self.torques is None else [self.q, self.v, self.tau, self.before]
        for y, x in zip(self.outputs, results, strict=False):
            if y is not x:
                y[rows] = x[which]
        self.outputs[-1][rows, 0] = finite
        self.outputs[-1][rows, 1] = self.count
        if self.clock is not None:
            self.outputs[-1][rows, 2] = self.clock.next

    def write(self) -> None:
        """The state after the last step, to the arrays of the caller."""
        self._put(self.rows, np.ones(len(self.rows), dtype=bool), 1.0)


def _put_forces(tree: Tree, result: Array, start: Array) -> None:
    """Forces to start from in the places of a result (`kernels.contact.problem`)."""
    ns, nb, nc, h = tree.nslots, tree.nboxes, tree.nc, HEAD + tree.nv
    result[..., h : h + 3 * ns] = start[..., : 3 * ns]
    result[..., h + 7 * ns + nc : h + 7 * ns + nc + nb] = start[..., 3 * ns : 3 * ns + nb]
    result[..., h + 7 * ns : h + 7 * ns + nc] = start[..., 3 * ns + nb :]


def turning_dofs(tree: Tree) -> Array:
    """Which velocities of joints turn bodies: one in each degree of freedom that does."""
    turning = np.zeros(tree.nv, dtype=bool)
    for i in range(1, tree.n):
        for k in range(dof_of(tree.kind[i])):
            turning[tree.iv[i] + k] = axis_of(tree.kind[i], k) < 3
    return turning
