# SPDX-License-Identifier: BSD-3-Clause
"""Many copies of a robot whose states stay where they are computed: in the memory of the CPU, or on a GPU."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Unpack

import numpy as np
import numpy.typing as npt

from linkwork.conversions import converted
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.inputs import Integrator, ParameterName, Precision, StepMethod, above_zero, float_array, named_options
from linkwork.inputs import count as counted
from linkwork.kernels.contact.reduced.step import MISSED, OVERFLOWED
from linkwork.model.model import Model
from linkwork.model.parameters import own_values
from linkwork.model.poses import default_configuration
from linkwork.quantities.arguments import Array, frame_names
from linkwork.simulation.activations import initial_activations
from linkwork.simulation.actuation import robot_parameters
from linkwork.simulation.contact_warnings import warn_of_missed_steps
from linkwork.simulation.contacts import ContactHistory
from linkwork.simulation.control import Controller, as_controller
from linkwork.simulation.given_pairs import with_usable_contacts
from linkwork.simulation.host_batch import HostBatch
from linkwork.simulation.initial import initial_states
from linkwork.simulation.settings import ADAPTIVE, RENAMED, StepOptions, StepSettings
from linkwork.simulation.stepper import Stepper
from linkwork.simulation.thresholds import PROGRAM_SLOTS


@dataclass(frozen=True, eq=False)
class Records:
    """States that a simulation recorded: arrays of its device."""

    q: Any
    """Configurations, ``(frames, count, nq)``."""
    v: Any
    """Joint velocities, ``(frames, count, nv)``."""


class Robots(Protocol):
    """Robots of a simulation on a device: `HostBatch`, `CudaBatch`."""

    q: Any
    v: Any
    steps: Any
    act: Any
    parameters: Any

    @property
    def contacts(self) -> Any:
        """Contact records of steps; None without contacts."""

    @property
    def contact_forces(self) -> Any:
        """Forces of contact points, ``(count, slots, 3)``."""

    def contact_rows(self) -> Array | None:
        """Contact records as rows of numbers (`contacts`), in the memory of the CPU."""

    def array(self, x: Any, name: str, shape: tuple[int, ...]) -> Any:
        """An argument of a call, checked."""

    def advance(self, steps: int, tau: Any, commands: Any, wrenches: Any, record_every: int) -> tuple[Any, Any] | None:
        """Make steps."""

    def reset(
        self, mask: Any, q: Any, v: Any, parameters: Mapping[ParameterName, Any], act: Array | None = None
    ) -> None:
        """Set the state of some robots."""


class Simulation:
    """Many copies of a robot that are stepped together: ``Simulation(robot, 4096, device="cuda").step(tau=tau)``.

    States stay on the device. `q` and `v` are the arrays that steps change: NumPy arrays on the CPU; on a GPU arrays
    that torch, JAX and CuPy take without a copy (DLPack). Robots are reset one by one, by a mask. The same program
    text makes the steps on both, so that a simulation agrees with the other to rounding, and with itself to the last
    bit.

    A robot that stops being finite holds NaN until it is reset. Steps with contacts that are not solved are counted
    (``contacts.missed``, ``contacts.fallback``), on the CPU with one `StateWarning` a simulation.

    Args:
        robot: The mechanism.
        count: Number of copies.
        q: Configurations at the start and after resets, ``(nq,)`` or ``(count, nq)``; by default the pose
            ``assembled``, else ``qpos0``, else the neutral one.
        v: Joint velocities then, ``(nv,)`` or ``(count, nv)``; by default at rest.
        act: Activations of actuators then, ``(na,)`` or ``(count, na)``; by default zero.
        dt: Time of one step, in seconds.
        integrator: Integrator of the steps, see `Stepper`; not ``dopri5``.
        method: Coordinates of a robot with loops, see `Stepper`.
        device: ``"cpu"``, or ``"cuda"``: a GPU of NVIDIA, ``"cuda:1"`` the second one.
        dtype: Numbers to compute with; by default ``float64`` on the CPU, ``float32`` on a GPU.
        controller: A `Controller` or a kernel, which computes torques in machine code; its parameters may differ from
            robot to robot (``per_robot``). Without one, torques and commands are arguments of `step`.
        control_every: Steps between two calls of the controller.
        parameters: Parameters of the robots, such as ``{"mass": masses}``, shaped as in `Mechanism.parameters`, or with
            a first axis ``count``: a robot of its own in each row. `reset` may change them.
        wrenches: Frames that external wrenches act on, which are arguments of `step`.
        compile: Whether steps are a program made for this robot, or code for any robot; by default as in `rollouts`. On
            a GPU a program has a thread for each robot, and code for any robot lanes of a warp; by default the latter
            where contact pairs have many slots, contacts are soft, or actuators have activations with contacts.
        threads: On the CPU: threads that share the robots; by default as many as there are cores.
        options: About steps (``contact``, ``time_constant``, ``passive``, ``limits``, ``stops_at``,
            ``regularization``, ``tolerance``, ``max_iterations``): see `StepOptions`.
    """

    @named_options(StepOptions, renamed=RENAMED)
    @converted
    def __init__(
        self,
        robot: Model,
        count: int,
        *,
        q: npt.ArrayLike | None = None,
        v: npt.ArrayLike | None = None,
        act: npt.ArrayLike | None = None,
        dt: float = 1e-3,
        integrator: Integrator = "euler",
        method: StepMethod = "auto",
        device: str = "cpu",
        dtype: Precision | None = None,
        controller: Controller | Any | None = None,
        control_every: int = 1,
        parameters: Mapping[ParameterName, npt.ArrayLike] | None = None,
        wrenches: str | Sequence[str] = (),
        compile: bool | None = None,
        threads: int | None = None,
        **options: Unpack[StepOptions],
    ) -> None:
        self.robot = robot = with_usable_contacts(robot, options.get("contact"))
        self.count, self.dt = counted(count, "count"), above_zero(dt, "dt")
        self.device = device
        if integrator in ADAPTIVE:
            raise InputError(f"'{integrator}' has steps of adaptive length, robots step together: use euler or rk4")
        self._said = False
        self._start = self._states(q, v)
        self._start_act = initial_activations(robot, act, self.count)
        self.controller = as_controller(controller)
        if controller is not None and self.controller is None:
            raise InputError(
                "controller is not a kernel: decorate it with lw.kernel, or call sim.step(tau=...) in a loop"
            )
        if self.controller is not None:
            self.controller.check(robot, self.count)
        values = self._of_robots(robot_parameters(robot, parameters or {}, self.count))
        self.frames = frame_names(wrenches)
        settings = StepSettings.of(self.dt, integrator, method, self.frames, options)
        settings = settings.started_at(robot, self._start[0])
        every = counted(control_every, "control_every")
        self._robots = self._on_device(settings, values, every, dtype, compile, threads)
        self.reset()

    def _on_device(
        self,
        settings: StepSettings,
        parameters: Mapping[ParameterName, Array],
        every: int,
        dtype: Precision | None,
        compile: bool | None,
        threads: int | None,
    ) -> Robots:
        self.stepper = stepper = Stepper.of_settings(self.robot, settings, tuple(parameters), threads)
        if self.device == "cpu":
            program = not stepper.contact if compile is None else bool(compile)
            kind: Precision = "float64" if dtype is None else dtype
            self.stepper = stepper = stepper.compile(dtype=kind) if program else stepper.native(kind)
            return HostBatch(stepper, self.count, self.controller, every, parameters)
        if not re.fullmatch(r"cuda(:\d+)?", self.device):
            raise InputError(f"device is {self.device!r}, needs 'cpu' or 'cuda'")
        if stepper.planned.timed:
            raise UnsupportedFeature(
                f"a constraint or force of '{self.robot.name}' depends on time, and steps on a GPU have no clock: use "
                "device='cpu'"
            )
        from linkwork.simulation.cuda_batch import CudaBatch
        from linkwork.simulation.warp_batch import WarpBatch

        warps = self._takes_warps(settings, parameters) if compile is None else not compile
        if warps and parameters:
            raise InputError("compile=False on a GPU: parameters of robots are inputs of programs; leave it out")
        if not warps:
            self.stepper = stepper = stepper.by_slots
        where = int(self.device.partition(":")[2] or 0)
        if stepper.given is not None:
            raise InputError(
                f"contact points of '{self.robot.name}' are found by coal between steps, on the CPU: leave those pairs "
                "out (robot.without_contacts), or use device='cpu'"
            )
        kind = "float32" if dtype is None else dtype
        batch = WarpBatch if warps else CudaBatch
        return batch(stepper.native(kind), self.count, self.controller, every, parameters, where)

    def _takes_warps(self, settings: StepSettings, parameters: Mapping[ParameterName, Array]) -> bool:
        """Whether steps on a GPU are code for any robot: where a program would be too large, or cannot have them."""
        stepper, row = self.stepper, self.stepper.contact_row
        if not stepper.reduced or parameters or row is None:
            return False
        return row.points.nslots > PROGRAM_SLOTS or settings.contact == "soft" or bool(self.robot.na)

    def _states(self, q: npt.ArrayLike | None, v: npt.ArrayLike | None) -> tuple[Array, Array]:
        """Configurations and velocities, a row for each robot."""
        robot = self.robot
        if q is None:
            q = default_configuration(robot)
        full = [float_array(q, "q"), float_array(0.0 if v is None else v, "v")]
        for k, (name, width) in enumerate((("q", robot.nq), ("v", robot.nv))):
            x = full[k]
            if x.shape not in ((width,), (self.count, width)) and not (v is None and k == 1):
                raise InputError(f"{name} has shape {x.shape}, needs ({width},) or ({self.count}, {width})")
            full[k] = np.broadcast_to(x, (self.count, width))
        return initial_states(robot, full[0], full[1])

    def _of_robots(self, arrays: Mapping[ParameterName, Array]) -> dict[ParameterName, Array]:
        shapes = {name: own_values(self.robot, name).shape for name in arrays}
        return {name: np.array(np.broadcast_to(x, (self.count, *shapes[name]))) for name, x in arrays.items()}

    # State -----------------------------------------------------------------------------------------------------------

    @property
    def q(self) -> Any:
        """Configurations, ``(count, nq)``: the array that steps change."""
        return self._robots.q

    @property
    def v(self) -> Any:
        """Joint velocities, ``(count, nv)``: the array that steps change."""
        return self._robots.v

    @property
    def parameters(self) -> Any:
        """Parameters of the robots by name, as steps read them, with a row for each: on a GPU ``(count, numbers)``."""
        return self._robots.parameters

    @property
    def act(self) -> Any:
        """Activations of actuators, ``(count, na)``: the array that steps change; None where none has any."""
        return self._robots.act

    @property
    def steps(self) -> Any:
        """Steps of each robot since its last reset, ``(count,)``."""
        return self._robots.steps

    @property
    def contact_state(self) -> Any:
        """Contact records of steps, ``(count, width)``; None without contacts. `contacts` has them by name."""
        return self._robots.contacts

    @property
    def contact_forces(self) -> Any:
        """Forces of contact points in the last step along t1, t2, n, ``(count, slots, 3)``; None without contacts."""
        return self._robots.contact_forces

    @property
    def contacts(self) -> ContactHistory:
        """Forces, gaps and velocities of contacts in the last step, by the names of pairs, as NumPy arrays."""
        row = self._robots.contact_rows()
        if row is None:
            raise InputError(f"this simulation of '{self.robot.name}' is without contacts")
        return ContactHistory(self.robot, row, self.dt)

    # Calls -----------------------------------------------------------------------------------------------------------

    def reset(
        self,
        mask: Any = None,
        q: Any = None,
        v: Any = None,
        parameters: Mapping[ParameterName, npt.ArrayLike] | None = None,
        act: npt.ArrayLike | None = None,
    ) -> None:
        """Set the state of some robots: their clocks, forces of contacts, and torques held, to zero.

        Args:
            mask: Which robots, ``(count,)``; by default all.
            q: Configurations, ``(nq,)``, or ``(count, nq)``, of which rows in the mask are read; by default those at
                the start.
            v: Joint velocities, likewise; by default those at the start, or at rest where ``q`` is given.
            parameters: New parameters, by name, of those that the simulation was made with: shaped as there.
            act: Activations of actuators, ``(na,)`` or ``(count, na)``; by default those at the start.
        """
        changed: dict[ParameterName, Array] = {}
        for name, value in robot_parameters(self.robot, {} if parameters is None else parameters, self.count).items():
            if name not in self.parameters:
                has = f"it has {', '.join(self.parameters)}" if self.parameters else "it has none"
                raise InputError(f"the simulation was made without parameters={{'{name}': ...}}: {has}")
            changed[name] = value
        full = self._of_robots(changed)
        state = self._start if q is None and v is None else (q, v)
        begin = self._start_act if act is None else initial_activations(self.robot, act, self.count)
        self._robots.reset(mask, *self._given_states(*state), full, begin)

    def _given_states(self, q: Any, v: Any) -> tuple[Any, Any]:
        if q is self._start[0]:
            return q, v
        on_host = all(x is None or not hasattr(x, "__cuda_array_interface__") for x in (q, v))
        if on_host:
            return self._states(self._start[0] if q is None else q, v)
        return (self._start[0] if q is None else q), (np.zeros((self.count, self.robot.nv)) if v is None else v)

    def step(self, tau: Any = None, commands: Any = None, wrenches: Any = None, steps: int = 1) -> tuple[Any, Any]:
        """Make steps, and return `q` and `v` after them.

        Args:
            tau: Joint torques, ``(nv,)`` or ``(count, nv)``; by default none, or those of the controller.
            commands: Commands of the actuators, ``(actuators,)`` or ``(count, actuators)``; by default they do nothing.
            wrenches: External wrenches on the frames that were named, ``(frames, 6)`` or ``(count, frames, 6)``.
            steps: Number of steps, over which these are held.
        """
        self._advance(steps, tau, commands, wrenches, 0)
        return self.q, self.v

    def run(
        self, steps: int, record_every: int = 1, tau: Any = None, commands: Any = None, wrenches: Any = None
    ) -> Records:
        """Make steps, and return states after every so many of them.

        Args:
            steps: Number of steps.
            record_every: Steps between two states that are recorded.
            tau: Joint torques, as for `step`.
            commands: Commands of the actuators, as for `step`.
            wrenches: External wrenches, as for `step`.
        """
        records = self._advance(steps, tau, commands, wrenches, counted(record_every, "record_every"))
        assert records is not None
        return Records(*records)

    def _advance(self, steps: int, tau: Any, commands: Any, wrenches: Any, record_every: int) -> tuple[Any, Any] | None:
        robots, robot = self._robots, self.robot
        total = counted(steps, "steps")
        if tau is not None:
            if self.controller is not None:
                raise InputError(
                    "tau was passed together with a controller, which computes torques of all joints: pass one of them"
                )
            tau = robots.array(tau, "tau", (robot.nv,))
        if commands is not None:
            if not self.stepper.takes_commands:
                self.stepper.held(np.zeros(0))  # says why
            commands = robots.array(commands, "commands", (len(robot.actuators),))
        if wrenches is not None:
            if not self.frames:
                raise InputError("wrenches on no frames: Simulation(robot, count, wrenches=['hand'])")
            wrenches = robots.array(wrenches, "wrenches", (len(self.frames), 6))
        records = robots.advance(total, tau, commands, wrenches, record_every)
        self._say_unsolved()
        return records

    def _say_unsolved(self) -> None:
        """Warn once of steps that were not solved, or had too many contact points; `contacts` has their counts."""
        rows = self._robots.contacts if self.device == "cpu" else None
        if self._said or rows is None:
            return
        finite = rows[np.isfinite(rows).all(axis=1)]
        self._said = bool(finite[:, [MISSED, OVERFLOWED]].any())
        if self._said:
            warn_of_missed_steps(self.robot, finite, self.dt)

    def __repr__(self) -> str:
        return f"<Simulation of {self.count} times '{self.robot.name}' on {self.device}>"
