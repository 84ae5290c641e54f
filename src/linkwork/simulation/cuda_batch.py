# SPDX-License-Identifier: BSD-3-Clause
"""States of many robots in the memory of a GPU, where whole rollouts are made: `Simulation` on ``"cuda"``.

Programs are made for what a call gives (torques, commands, wrenches): what it leaves out is zero and vanishes from
them, and what belongs to the steps (time step, passive joint parameters, regularization) are constants. Calls are
ordered on the stream of the arrays that they are given, or on the default stream, and wait for nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from linkwork.compilers.cuda.arrays import DeviceArray, View, library_of, ordered, to_device
from linkwork.compilers.cuda.device_functions import THREADS
from linkwork.compilers.cuda.driver import MULTIPROCESSORS, Memory, device, zeroed
from linkwork.compilers.cuda.layout import Rows, rows_of
from linkwork.compilers.cuda.ptx import BLOCKS
from linkwork.compilers.cuda.rollout_code import IntegerCode, assign_code, rollout_code
from linkwork.compilers.cuda.rollouts import RolloutProgram, given_names
from linkwork.compilers.cuda.warps import LANES, WIDTH
from linkwork.compilers.trace.fixed import fixed
from linkwork.compilers.trace.tracing import Trace
from linkwork.errors import InputError
from linkwork.inputs import ParameterName
from linkwork.plans.contact_lcaba import HEAD
from linkwork.quantities.arguments import Array
from linkwork.simulation.activations import refuse_activations
from linkwork.simulation.control import Controller
from linkwork.simulation.stepper import Stepper


class Grid(NamedTuple):
    """Threads of a launch."""

    blocks: int
    threads: int
    """Of a block."""
    width: int
    """Slots of a warp."""

    @property
    def slots(self) -> int:
        """Slots of all warps."""
        return self.blocks * self.threads // LANES * self.width


MASKS = ("bool", "bool8", "uint8", "int8")


class CudaBatch:
    """Robots of a `Simulation` on a GPU.

    Args:
        stepper: Makes their steps, in the precision that they are to have.
        count: Number of robots.
        controller: Computes their torques, if there is one.
        control_every: Steps between two calls of it.
        parameters: Parameters of the robots that are inputs of the stepper, in its order, a row for each robot.
        where: Number of the GPU.
    """

    def __init__(
        self,
        stepper: Stepper,
        count: int,
        controller: Controller | None,
        control_every: int,
        parameters: Mapping[ParameterName, Array],
        where: int,
    ) -> None:
        robot, self.dtype = stepper.source, stepper.dtype
        self.stepper, self.count, self.controller, self.control_every = stepper, count, controller, control_every
        self.device = device(where)
        self.q, self.v = self._zeros(robot.nq), self._zeros(robot.nv)
        self.steps = DeviceArray((count,), "int32", where)
        self._result = self._zeros(int(stepper.program.tree.nresult)) if stepper.contact else None
        self.parameters: dict[str, DeviceArray] = {
            name: self._uploaded(x.reshape(count, -1)) for name, x in parameters.items()
        }
        self._controls: dict[str, DeviceArray] = {}
        if controller is not None:
            self._controls = dict(zip(("shared", "own"), map(self._uploaded, controller.packed()), strict=True))
            self._controls["tau"] = self._zeros(robot.nv)
        self._memory: dict[int, Memory] = {}
        self._queue = Memory(self.device, 4)
        self._zero = self._uploaded(np.zeros(1))
        self._assign = {bits: assign_code(bits, self.device) for bits in (32, 64)}
        self._sources: dict[str, tuple[Array, DeviceArray]] = {}
        self._stream = 0
        self._plan_rollouts()

    def _plan_rollouts(self) -> None:
        """Makes the plan and the programs."""
        refuse_activations(self.stepper.source, "simulation on a GPU by a program made for the robot")
        planned, controller = self.stepper.planned, self.controller
        self._step = planned.single(self.dtype.name)
        self._torques = None if controller is None else planned.torques(controller.control)
        self._codes: dict[frozenset[str], tuple[list[str], IntegerCode]] = {}

    # Memory ----------------------------------------------------------------------------------------------------------

    def _zeros(self, width: int) -> DeviceArray:
        """An array with a row for each robot, number-major."""
        return self._uploaded(np.zeros((width, self.count))).T

    def _uploaded(self, x: Array) -> DeviceArray:
        return to_device(np.asfortranarray(x) if x.ndim == 2 else x, self.dtype.name, self.device.index)

    def _on_device(self, x: Array, name: str) -> DeviceArray:
        """An array of the CPU; the one that was given last is there already, as states at the start are."""
        known = self._sources.get(name)
        if known is None or known[0] is not x:
            known = self._sources[name] = x, self._uploaded(x)
        return known[1]

    def array(self, x: Any, name: str, shape: tuple[int, ...]) -> tuple[Rows, Any]:
        """An argument of a call, the same for all robots or a row for each; and how its library is called."""
        library = library_of(x, name)
        view: View = library.view(x, name, None)
        if view.shape not in (shape, (self.count, *shape)):
            raise InputError(f"{name} has shape {view.shape}, needs {shape} or {(self.count, *shape)}")
        if view.dtype != self.dtype.name:
            raise InputError(f"{name} has dtype {view.dtype}, this simulation computes in {self.dtype}: convert it")
        if view.device != self.device.index:
            raise InputError(f"{name} is on GPU {view.device}, the simulation is on GPU {self.device.index}")
        return rows_of(name, view, len(shape)), library

    @property
    def contacts(self) -> DeviceArray | None:
        """The result of the last step with contacts, ``(count, nresult)``."""
        return self._result if self.stepper.contact else None

    @property
    def contact_forces(self) -> DeviceArray | None:
        """Forces of contact points along t1, t2, n, ``(count, slots, 3)``."""
        row = self.stepper.contact_row
        if self._result is None or row is None:
            return None
        first = HEAD + self.stepper.source.nv
        flat = self._result[:, first : first + 3 * row.points.nslots]
        across, along = flat.strides
        return flat._part((self.count, row.points.nslots, 3), (across, 3 * along, along), flat._offset)

    def contact_rows(self) -> Array | None:
        """Contact rows, as on the CPU; waits for the GPU."""
        row = self.stepper.contact_row
        if row is None or self._result is None:
            return None
        return row.of_result(self._result.numpy(), self.stepper.source.nv)

    # Programs --------------------------------------------------------------------------------------------------------

    def _code(self, given: frozenset[str]) -> tuple[list[str], IntegerCode]:
        """Arrays and the kernel of rollouts in which these of torques, commands and wrenches are given."""
        entry = self._codes.get(given)
        if entry is None:
            known, torques = self._known(given), self._torques
            content = [*self._step.content(), *(() if torques is None else torques.content())]
            content += [f"{name} {np.asarray(x, self.dtype).tobytes().hex()}" for name, x in known.items()]
            content += [repr((self.stepper.dt, *self._ends()))]
            name = f"rollouts of '{self.stepper.source.name}' by {self._step.algorithm.name}"
            code = rollout_code(lambda: self._program(known), content, self.dtype.name, self.device, name)
            controls = () if torques is None else torques.algorithm.inputs
            entry = self._codes[given] = given_names(self._step.algorithm.inputs, controls, known), code
        return entry

    def _ends(self) -> tuple[float, float]:
        """The residual at which iterations of contacts end, and the most of them."""
        R = self.stepper.held.solver
        return (float(R[0]), float(R[1])) if self.stepper.contact else (0.0, 0.0)

    def _known(self, given: frozenset[str]) -> dict[str, Array]:
        """Inputs that are constants of the program."""
        stepper = self.stepper
        commands, wrenches, passive, R, timing = stepper.held(None)
        if "commands" in given:
            timing = stepper.held.timing_commanded
        known = {"commands": commands, "wrenches": wrenches, "timing": timing, "tau": stepper.held.tau}
        known |= {"passive": passive, "regularization": R, "settings": R[:2], "given": np.zeros(0)}
        held = {"tau"} if self.controller is not None else set[str]()
        names = [name for name in self._step.algorithm.inputs if name in known and name not in given | held]
        return {name: known[name] for name in names}

    def _program(self, known: Mapping[str, Array]) -> RolloutProgram:
        traced: Trace = fixed(self._step.trace(), {name: x.ravel().tolist() for name, x in known.items()})
        torques = None if self._torques is None else self._torques.trace()
        return RolloutProgram(traced, torques, self.stepper.dt, frozenset(known), *self._ends())

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
        names, code = self._code(frozenset(arrays))
        rows = self._held_rows | {name: x for name, (x, _) in arrays.items()}
        records = self._records(steps // record_every) if record_every else None
        frames = [0, 0]
        if records is not None:
            for k, (name, x) in enumerate(zip(("record.q", "record.v"), records, strict=True)):
                rows[name], frames[k] = Rows(x.pointer, (x.strides[1],), x.strides[2]), x.strides[0]
        values = list[int]()
        for name in names:
            row = rows.get(name, Rows(0, (), 0))
            values += (row.pointer, row.strides[0] if row.strides else 0, row.step)
        grid = self._grid
        memory = self._slots(grid.slots * code.numbers * self.dtype.itemsize)
        values += [memory.pointer, self.steps.pointer, self._queue.pointer, grid.slots, self.count, steps]
        values += [self.control_every, record_every, *frames, grid.width]
        libraries = [library for _, library in arrays.values()]
        with self.device.current():
            stream = self._ordered(libraries)
            zeroed(self._queue, stream)
            code.launch_blocks(values, grid.blocks, stream, self.device, grid.threads)
        return records

    def _slots(self, size: int) -> Memory:
        """Memory of all slots of warps."""
        if size not in self._memory:
            self._memory[size] = Memory(self.device, size)
        return self._memory[size]

    @cached_property
    def _held_rows(self) -> dict[str, Rows]:
        """Arrays of the simulation that kernels are given."""
        arrays: dict[str, DeviceArray] = {"q": self.q, "v": self.v, **self._controls, **self.parameters}
        if self._result is not None:
            arrays["before"] = self._result
        return {
            name: rows_of(name, View(x.pointer, x.shape, x.strides, x.dtype.name, x.device), 1)
            for name, x in arrays.items()
        }

    @cached_property
    def _grid(self) -> Grid:
        """Blocks for all robots, but no more than the GPU holds at a time: warps take further robots themselves.

        Where iterations differ, warps have more slots than lanes, if there are robots for them. Fewer slots than lanes
        for few robots are slower: what takes time is the robot with the most iterations.
        """
        blocks = BLOCKS * self.device.attribute(MULTIPROCESSORS)
        most = blocks * THREADS
        width = WIDTH if self.stepper.contact and 2 * self.count >= 3 * most else LANES
        warps = min(-(-self.count // width), most // LANES)
        each = min(-(-warps // blocks), THREADS // LANES)  # few robots are spread over all multiprocessors
        return Grid(-(-warps // each), each * LANES, width)

    def _records(self, frames: int) -> tuple[DeviceArray, DeviceArray]:
        n, where, name = self.count, self.device.index, self.dtype.name
        widths = (self.q.shape[1], self.v.shape[1])
        records = [DeviceArray((frames, n, width), name, where, (n * width, 1, n)) for width in widths]
        return records[0], records[1]

    def _ordered(self, libraries: list[Any]) -> int:
        """The stream of a call, which waits for those before."""
        stream = libraries[0].stream(self.device.index) if libraries else 0
        if stream != self._stream:
            ordered(self.device, self._stream, stream)
            self._stream = stream
        return int(stream)

    # Resets ----------------------------------------------------------------------------------------------------------

    act: DeviceArray | None = None
    """Activations of actuators, ``(count, na)``."""

    def reset(
        self, mask: Any, q: Any, v: Any, parameters: Mapping[ParameterName, Any], act: Array | None = None
    ) -> None:
        """Set the state of some robots, or of all, and what steps keep of the one before to zero."""
        libraries = list[Any]()
        where = (0, 0)
        if mask is not None:
            view, library = self._mask(mask)
            where = (view.pointer, view.strides[0])
            libraries.append(library)
        sources = [(self.q, q, "q"), (self.v, v, "v")]
        sources += [(self.parameters[name], x.reshape(self.count, -1), name) for name, x in parameters.items()]
        copies = list[tuple[DeviceArray, Rows]]()
        for to, x, name in sources:
            array = self._on_device(x, name) if isinstance(x, np.ndarray) else x
            rows, library = self.array(array, name, to.shape[1:])
            if not isinstance(x, np.ndarray):
                libraries.append(library)
            copies.append((to, rows))
        zero = Rows(self._zero.pointer, (), 0)
        cleared = [x for x in (self._result, self._controls.get("tau")) if x is not None]
        copies += [(x, zero) for x in cleared]
        if self.act is not None and act is not None:
            copies.append((self.act, self.array(self._on_device(act, "act"), "act", self.act.shape[1:])[0]))
        stream = self._ordered(libraries)
        with self.device.current():
            for to, rows in copies:
                self._assigned(to.pointer, to.strides[0], to.strides[1], rows, where, to.shape[1], stream)
            self._assigned(self.steps.pointer, 1, 1, zero, where, 1, stream, 32)

    def _mask(self, mask: Any) -> tuple[View, Any]:
        if isinstance(mask, np.ndarray | list | tuple):
            flags = np.asarray(mask)
            if flags.shape != (self.count,) or flags.dtype != np.bool_:
                raise InputError(f"mask has shape {flags.shape} of {flags.dtype}, needs ({self.count},) of bool")
            mask_on_device = DeviceArray((self.count,), "uint8", self.device.index)
            mask_on_device._memory.write(flags.tobytes())
            mask = mask_on_device
        library = library_of(mask, "mask")
        view: View = library.view(mask, "mask", None)
        if view.shape != (self.count,) or view.dtype not in MASKS:
            raise InputError(f"mask has shape {view.shape} of {view.dtype}, needs ({self.count},) of bool")
        return view, library

    def _assigned(
        self,
        pointer: int,
        row: int,
        step: int,
        source: Rows,
        mask: tuple[int, int],
        numbers: int,
        stream: int,
        bits: int = 0,
    ) -> None:
        """Rows of an array in the mask are set."""
        code = self._assign[bits or 8 * self.dtype.itemsize]
        from_row = source.strides[0] if source.strides else 0
        values = [pointer, row, step, source.pointer, from_row, source.step, *mask, numbers, self.count]
        code.launch_blocks(values, -(-self.count // code.threads), stream, self.device)
