# SPDX-License-Identifier: BSD-3-Clause
"""Robots on a GPU with lanes of a warp each: rollouts of kernel code for any robot (`compilers.cuda.warp_text`).

Steps are those of native code on the CPU: what touches is a list, of each robot its own. One launch makes many steps.
States have a row for each robot.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from linkwork.compilers.cuda.arrays import DeviceArray
from linkwork.compilers.cuda.driver import Memory, zeroed
from linkwork.compilers.cuda.layout import Rows
from linkwork.compilers.cuda.native import SHARE
from linkwork.compilers.cuda.warp_code import warp_code
from linkwork.compilers.cuda.warp_plan import BLOCK, WARP, WARPS, WarpPlan, lanes_of_robot
from linkwork.contact.points import FORCE
from linkwork.kernels.algorithm import resolve
from linkwork.quantities.arguments import Array
from linkwork.simulation.cuda_batch import CudaBatch


class WarpBatch(CudaBatch):
    """Robots of a `Simulation` on a GPU, lanes of a warp each."""

    def _plan_rollouts(self) -> None:
        stepper = self.stepper
        control = None if self.controller is None else self.controller.control
        program = stepper.planned.rollout(control)
        make = partial(Memory, self.device)
        self._plan = WarpPlan(program, self.dtype.name, make)
        self._group = lanes_of_robot(self.count, self.device.multiprocessors)
        self._kernel = warp_code(program, self._plan, self.dtype.name, self._group, self.device)
        self._names = [*program.algorithm.inputs, *program.algorithm.outputs]
        commands, wrenches, passive, R, timing = stepper.held(None)
        held = {"tau": stepper.held.tau, "commands": commands, "wrenches": wrenches, "passive": passive}
        held |= {"regularization": R, "timing": timing, "timing_commanded": stepper.held.timing_commanded}
        self._held = {name: self._uploaded(np.asarray(x).ravel()) for name, x in held.items()}
        self._given: dict[str, DeviceArray] = {}
        width = math.prod(resolve(program.algorithm.outputs["result"], program.tree))
        if self._result is None and width:
            self._result = self._zeros(width)
        if stepper.na and self._result is not None:
            self.act = self._result[:, self._result.shape[1] - stepper.na :]

    def _zeros(self, width: int) -> DeviceArray:
        return self._uploaded(np.zeros((self.count, width)))

    def _uploaded(self, x: Array) -> DeviceArray:
        return super()._uploaded(np.ascontiguousarray(x)) if x.ndim < 2 else self._rows(x)

    def _rows(self, x: Array) -> DeviceArray:
        """A row for each robot."""
        rows = DeviceArray(x.shape, self.dtype.name, self.device.index)
        rows._memory.write(np.ascontiguousarray(x, self.dtype).tobytes())
        return rows

    @property
    def contact_forces(self) -> DeviceArray | None:
        """Forces of contact points along t1, t2, n, ``(count, slots, 3)``; waits for the GPU."""
        rows, row = self.contact_rows(), self.stepper.contact_row
        if rows is None or row is None:
            return None
        return self._rows(row.points.by_slot(rows[:, row.places["points"]], FORCE))

    # Steps -----------------------------------------------------------------------------------------------------------

    def advance(
        self,
        steps: int,
        tau: tuple[Rows, Any] | None,
        commands: tuple[Rows, Any] | None,
        wrenches: tuple[Rows, Any] | None,
        record_every: int,
    ) -> tuple[DeviceArray, DeviceArray] | None:
        """Make steps; states of every so many of them, ``(frames, count, ...)``, if these are to be recorded."""
        inputs = {"tau": tau, "commands": commands, "wrenches": wrenches}
        arrays = {name: x for name, x in inputs.items() if x is not None}
        records = self._records(steps // record_every) if record_every else None
        with self.device.current():
            stream = self._ordered([library for _, library in arrays.values()])
            rows = {name: self._in_rows(name, x, stream) for name, (x, _) in arrays.items()}
            values = self._values(rows)
            done = 0
            while done < steps:
                some = min(record_every or steps, steps - done)
                self._launch(values, some, stream)
                done += some
                if records is not None and done % record_every == 0:
                    for x, to in zip((self.q, self.v), records, strict=True):
                        frame = to[done // record_every - 1]
                        source = Rows(x.pointer, x.strides[:1], x.strides[1])
                        across, along = frame.strides
                        self._assigned(frame.pointer, across, along, source, (0, 0), x.shape[1], stream)
        return records

    def _launch(self, values: list[int], steps: int, stream: int) -> None:
        each = BLOCK // self._group
        room = self.device.memory // SHARE // (each * self._plan.bytes)
        most = WARP * WARPS * self.device.multiprocessors // BLOCK
        blocks = max(min(-(-self.count // each), most, room), 1)
        scratch = self._slots(blocks * each * self._plan.bytes)
        zeroed(self._queue, stream)
        further = [self.steps.pointer, self._queue.pointer, scratch.pointer, self._plan.bytes]
        further += [self.count, steps, self.control_every]
        self._kernel.launch_blocks([*values, *further], blocks, stream, self.device)

    def _in_rows(self, name: str, x: Rows, stream: int) -> tuple[int, int]:
        """Address and distance of rows whose numbers are next to each other; a copy of those that are not."""
        width = self._widths[name]
        row = x.strides[0] if x.strides else 0
        if x.step == 1 or width <= 1:
            return x.pointer, row
        to = self._given.setdefault(name, self._zeros(width))
        self._assigned(to.pointer, width, 1, x, (0, 0), width, stream)
        return to.pointer, width

    @property
    def _widths(self) -> dict[str, int]:
        """Numbers of a robot in arrays that a call may give."""
        robot, frames = self.stepper.source, self.stepper.planned.settings.wrenches
        return {"tau": robot.nv, "commands": len(robot.actuators), "wrenches": 6 * len(frames)}

    def _values(self, given: dict[str, tuple[int, int]]) -> list[int]:
        """Address and row distance of all arrays, in the order of the kernel's parameters."""
        state: dict[str, DeviceArray] = {"q": self.q, "v": self.v, **self._controls}
        if self._result is not None:
            state["result"] = self._result
        values = list[int]()
        for name in self._names:
            if name in given and name not in state:
                values += given[name]
            elif name in state:
                x = state[name]
                values += [x.pointer, x.strides[0] if x.ndim == 2 else 0]
            else:
                kept = "timing_commanded" if name == "timing" and "commands" in given else name
                values += [self._held[kept].pointer if kept in self._held else 0, 0]
        return values
