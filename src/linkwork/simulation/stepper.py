# SPDX-License-Identifier: BSD-3-Clause
"""Steps of integrators for one robot: what simulations are made of, and for loops of one's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.closure.clusters import ties_of
from linkwork.closure.minimal import Minimal
from linkwork.compilers.program import Backend, Program
from linkwork.dynamics.implicit import with_implicit_armature
from linkwork.dynamics.iterations import REGULARIZATION, row_regularization
from linkwork.errors import InputError, NotFinite
from linkwork.inputs import Integrator, StepMethod, TimeConstant, above_zero, count
from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.steps import STEPS
from linkwork.model.checks import check_robot
from linkwork.model.model import Model
from linkwork.plans.actuation import ACTUATION_CLUSTER_TREE, ACTUATION_LCABA_TREE, ACTUATION_TREE, with_actuators
from linkwork.plans.clusters import cluster_tree
from linkwork.plans.lcaba import lcaba_tree_of_compliances
from linkwork.plans.tree import tree_of
from linkwork.quantities.base import Array, BaseEvaluator, bound_call, frame_names
from linkwork.quantities.evaluator import check_actuators
from linkwork.simulation.open_loops import open_loops
from linkwork.simulation.stabilization import (
    AUTO,
    passive_parameters,
    stabilized,
    unstabilized,
)

INTEGRATORS: Mapping[str, int] = MappingProxyType({"euler": 1, "rk4": 4, "dopri5": 5})
"""Integrators and their orders."""

_empty = np.empty


class StepResult:
    """The state after some steps. Leading axes are those of the batch."""

    __slots__ = ("_error", "_found", "_progress", "_rows", "q", "v")

    q: Array
    """Configurations, ``(..., nq)``."""
    v: Array
    """Velocities, ``(..., nv)``."""

    def __init__(self, q: Array, v: Array, found: Array, progress: Array, error: Array | None, rows: int) -> None:
        self.q, self.v = q, v
        self._found, self._progress, self._error, self._rows = found, progress, error, rows

    @property
    def multipliers(self) -> Array:
        """Forces of the constraints in the last step, ``(..., nc)``."""
        return forces_of(self._found, self._rows)

    @property
    def steps(self) -> Array:
        """Steps after which everything was finite."""
        done: Array = self._progress[..., 1] - 1.0
        return done

    @property
    def error(self) -> Array:
        """Estimates of the last step's error in q and v, ``(..., 2, nv)``; zero for integrators that have none."""
        if self._error is not None:
            return self._error
        return np.zeros((*self.v.shape[:-1], 2, self.v.shape[-1]), dtype=self.v.dtype)

    def __iter__(self) -> Iterator[Array]:
        return iter((self.q, self.v, self.multipliers, self.steps, self.error))

    def __getitem__(self, index: Any) -> Any:
        return tuple(self)[index]

    def __repr__(self) -> str:
        return f"StepResult(q={self.q!r}, v={self.v!r})"


def forces_of(found: Array, rows: int) -> Array:
    """Constraint forces in the result of steps; zeros where no constraint is enabled."""
    return found[..., 2 : 2 + rows] if found.shape[-1] else np.zeros((*found.shape[:-1], rows), dtype=found.dtype)


class Stepper(BaseEvaluator):
    """Steps in time: ``Stepper(robot)(q, v, tau, steps=10).q``, or ``Stepper(robot)(q, v, commands=u).q``.

    | integrator | what it is                                                                                        |
    |------------|---------------------------------------------------------------------------------------------------|
    | ``euler``  | semi-implicit Euler: velocities, then positions along the new velocities; first order, robust      |
    | ``rk4``    | Runge and Kutta's method, on Lie groups; fourth order                                             |
    | ``dopri5`` | Dormand and Prince's method, on Lie groups; fifth order, with an estimate of its error             |

    Actuators act on commands at every stage of every step, by the state there (explicitly).

    | method      | coordinates of a robot with loops                                                                |
    |-------------|--------------------------------------------------------------------------------------------------|
    | ``auto``    | all joints; accelerations by `lcaba`, which stabilization keeps near closed loops                 |
    | ``minimal`` | independent joints (see `Minimal`), whose positions and velocities determine the others; loops    |
    |             | are closed to rounding at every stage. ``time_constant``, ``regularization``, ``iterations`` have  |
    |             | no meaning there. `SingularConstraints` at a dead center of the independent joints               |

    Args:
        robot: The mechanism.
        integrator: How steps are made, see above.
        dt: Time of one step, in seconds.
        method: Coordinates, see above.
        time_constant: Seconds in which constraints without gains of their own are pulled back to closed loops;
            ``"auto"``: 5 ms, or two steps if that is more; None: they are not.
        passive: Whether springs and dampers of the model's joints, and gravity compensation of its bodies, act.
            ``euler`` takes springs and dampers as they are at the end of a step, so that stiff ones do no harm.
        limits: Whether joint limits are stops: springs and dampers that act beyond them, stiff enough to catch in 10 ms
            the inertia that the joint feels at ``stops_at``, and soft enough to give way.
        regularization: Regularization of the proximal iterations, as for `ForwardDynamics`.
        iterations: Iterations of the constraint forces; by default one for ``euler``, three for the others.
        stops_at: Configuration that stops are made for, ``(nq,)``; by default the neutral one.
        wrenches: Frames that external wrenches act on, as for `ForwardDynamics`.
        threads: Threads that share a large batch; by default as many as there are cores.
    """

    def __init__(
        self,
        robot: Model,
        integrator: Integrator = "euler",
        dt: float = 1e-3,
        *,
        method: StepMethod = "auto",
        time_constant: TimeConstant = AUTO,
        passive: bool = True,
        limits: bool = True,
        regularization: float = REGULARIZATION,
        iterations: int | None = None,
        stops_at: npt.ArrayLike | None = None,
        wrenches: Sequence[str] = (),
        threads: int | None = None,
    ) -> None:
        check_robot(robot)
        if integrator not in INTEGRATORS:
            raise InputError(f"no integrator {integrator!r}; there are {', '.join(INTEGRATORS)}")
        if method not in ("auto", "minimal"):
            raise InputError(f"no method {method!r} of compiled steps; there are auto, minimal")
        self.integrator, self.dt = integrator, above_zero(dt, "dt")
        self.regularization = above_zero(regularization, "regularization")
        bound = any(c.enabled for c in robot.constraints)
        wanted = (1 if integrator == "euler" else 3) if iterations is None else count(iterations, "iterations")
        self.minimal = minimal = bound and method == "minimal"
        """Whether the state is that of the independent joints."""
        if method == "minimal" and (iterations is not None or regularization != REGULARIZATION):
            raise InputError("method 'minimal' takes no iterations and no regularization: rows are solved exactly")
        dynamics = "minimal" if minimal else f"lcaba{wanted}" if bound else "aba"
        if (integrator, dynamics) not in STEPS:
            known = sorted({int(d[5]) for i, d in STEPS if i == integrator and d.startswith("lcaba")})
            raise InputError(f"iterations is {wanted}; {integrator} has {' or '.join(map(str, known))}")
        self.passive_parameters = passive_parameters(
            robot, passive, limits, robot.neutral() if stops_at is None else stops_at
        )
        stable = robot.unconstrained()
        if bound:
            stable = unstabilized(robot) if minimal else stabilized(robot, time_constant, self.dt)
        if integrator == "euler" and passive:
            stable = with_implicit_armature(stable, self.dt)
        if not passive:
            stable = replace(stable, gravity_compensation={})
        self.takes_commands = bool(robot.actuators) and not any(a.refused for a in robot.actuators)
        frames = frame_names(wrenches)
        if minimal:
            tree, driven = cluster_tree(stable, frames, ties_of(robot)), ACTUATION_CLUSTER_TREE
        elif bound:
            tree, driven = lcaba_tree_of_compliances(stable, frames), ACTUATION_LCABA_TREE
        else:
            tree, driven = tree_of(stable, frames), ACTUATION_TREE
        if self.takes_commands or stable.gravity_compensation:
            dynamics += "_driven"
            tree = with_actuators(stable, tree, driven)
        self.source = robot
        program = Program.of_robot(stable, self._algorithm(integrator, dynamics), tree)
        arguments = {
            "robot": robot,
            "integrator": integrator,
            "dt": self.dt,
            "method": method,
            "time_constant": time_constant,
            "passive": passive,
            "limits": limits,
            "regularization": self.regularization,
            "iterations": iterations,
            "stops_at": None if stops_at is None else np.array(stops_at),
            "wrenches": frames,
        }
        super().__init__(stable, f"{integrator} step", lambda: program, arguments, frames, threads)

    def _algorithm(self, integrator: Integrator, dynamics: str) -> Algorithm:
        """The algorithm of the steps."""
        return STEPS[integrator, dynamics]

    def _set_backend(self, backend: Backend) -> None:
        super()._set_backend(backend)
        dtype = backend.dtype
        self._R = row_regularization(self.robot, self.regularization, dtype)
        self._no_torques = np.zeros(self.robot.nv, dtype=dtype)
        self._passive = self.passive_parameters.astype(dtype)
        self._timing = np.array([self.dt, 0.0], dtype=dtype)
        self._timing_commanded = np.array([self.dt, 1.0], dtype=dtype)
        self._uncommanded = np.zeros(self.program.input_shapes()[3], dtype=dtype)
        self._once = self.repeats(1)
        self._adaptive = self.integrator == "dopri5"
        self._sizes = [shape[0] for shape in self.program.output_shapes()]

    def __call__(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike | None = None,
        steps: int = 1,
        *,
        commands: npt.ArrayLike | None = None,
        wrenches: npt.ArrayLike | None = None,
    ) -> StepResult:
        """The state after some steps under constant torques. Leading axes are batch axes and broadcast.

        Args:
            q: Configuration, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
            tau: Joint torques, ``(..., nv)``; by default none.
            steps: How many steps.
            commands: Commands of the actuators, ``(..., actuators)``, which act beside the torques; without them
                actuators do nothing.
            wrenches: External wrenches on the frames that the stepper was made with, ``(..., frames, 6)``, each
                ``[moment, force]`` in the frame's axes; by default none.
        """
        u, _, _, _, timing = self.held(commands)
        if tau is None:
            tau = self._no_torques
        if wrenches is None:
            wrenches = self._no_wrenches
        if self._adaptive:
            return self._estimated([q, v, tau, u, wrenches, self._passive, self._R, timing], steps)
        settings = self._once if type(steps) is int and steps == 1 else self.repeats(count(steps, "steps"))
        nq, nv, nfound, nprogress = self._sizes
        q1, v1 = _empty(nq, self._dtype), _empty(nv, self._dtype)
        found, progress = _empty(nfound, self._dtype), _empty(nprogress, self._dtype)
        if self._entry(q, v, tau, u, wrenches, self._passive, self._R, timing, settings, q1, v1, found, progress):
            # not one state whose arrays fit as they are
            given = [q, v, tau, u, wrenches, self._passive, self._R, timing, settings]
            q1, v1, found, progress = self._evaluated(given)
        if self.minimal:
            self.check_loops(progress)
        return StepResult(q1, v1, found, progress, None, self.source.nc)

    def _evaluated(self, given: list[Any]) -> list[Any]:
        """Outputs for anything array-like."""
        try:
            return self.runner.evaluate(given, [None] * len(self.program.output_shapes()))
        except NotFinite:
            if self.minimal:
                Minimal(self.source).matrix(given[0])  # `SingularConstraints`, if that is why
            raise

    def check_loops(self, progress: Array, when: str = "") -> None:
        """Raise an error where steps in minimal coordinates could not close loops.

        Args:
            progress: What the steps left, ``(..., 2)``.
            when: Words for the time, if it is known.
        """
        faults = progress[..., 0]
        if not (faults < 0).any():
            return
        at = tuple(int(k) for k in np.argwhere(faults < 0)[0])
        where = when or f"after {int(progress[*at, 1]) - 1} steps: "
        raise open_loops(self.source, float(faults[at]), f"state {at}, {where}" if at else where)

    def _estimated(self, given: list[Any], steps: int) -> StepResult:
        """One step of an integrator that estimates its error."""
        if steps != 1:
            raise InputError("dopri5 takes one step at a time: how long the next one is depends on its error")
        out: list[Any] = [_empty(shape, self._dtype) for shape in self.program.output_shapes()]
        if self._entry(*given, *out):
            out = self._evaluated(given)
        q1, v1, found, error, progress = out
        if self.minimal:
            self.check_loops(progress)
        return StepResult(q1, v1, found, progress, error, self.source.nc)

    def bind(
        self,
        q: Array,
        v: Array,
        tau: Array | None = None,
        *,
        commands: Array | None = None,
        wrenches: Array | None = None,
        steps: int = 1,
        out: tuple[Array, Array] | None = None,
    ) -> Callable[[], None]:
        """A call without arguments that makes so many steps, allocating nothing: for control loops.

        Each call reads the arrays as they are then. They must fit as they are (C-contiguous, of this stepper's dtype),
        or have one batch axis more each, the same for all.

        Args:
            q: Configuration, ``(nq,)``, read at every call.
            v: Joint velocities, ``(nv,)``.
            tau: Joint torques, ``(nv,)``; by default none.
            commands: Commands of the actuators, ``(actuators,)``; by default actuators do nothing.
            wrenches: External wrenches, ``(frames, 6)``; by default none.
            steps: How many steps each call makes.
            out: Arrays ``(q, v)`` that every call writes; by default ``q`` and ``v`` themselves are moved on, so that
                calls follow one another.
        """
        for name, x in (("q", q), ("v", v)):
            if not isinstance(x, np.ndarray):
                raise InputError(f"bind: {name} is {type(x).__name__}, needs a NumPy array")
        lead = q.shape[: max(q.ndim - 1, 0)]
        inputs = [q, v, self._no_torques if tau is None else tau, *self.held(commands, wrenches)]
        if self.integrator != "dopri5":
            inputs.append(self.repeats(count(steps, "steps")))
        elif steps != 1:
            raise InputError("dopri5 takes one step at a time: how long the next one is depends on its error")
        if out is not None and (not isinstance(out, tuple | list) or len(out) != 2):
            raise InputError("bind: out is a pair of arrays, (q, v) after the steps; without it q and v are moved on")
        made = [np.empty((*lead, *shape), self._dtype) for shape in self.program.output_shapes()]
        outputs = made if out is None else [*out, *made[2:]]
        if out is None:
            for x in (q, v):
                if not x.flags.writeable:
                    raise InputError("bind: q and v are moved on, and one of them is read-only; give out=(q, v)")
        call = bound_call(self.runner, [*inputs, *outputs], (q, v) if out is None else None)
        if not self.minimal:
            return call

        def checked() -> None:
            call()
            self.check_loops(outputs[-1])

        return checked

    def held(self, commands: Any, wrenches: Any = None) -> tuple[Any, ...]:
        """Inputs of the steps that are held over many of them, from commands to the timing.

        Args:
            commands: Commands of the actuators, or None.
            wrenches: External wrenches on the frames that were named; by default none.
        """
        pushed = self._no_wrenches if wrenches is None else wrenches
        if commands is None:
            return self._uncommanded, pushed, self._passive, self._R, self._timing
        if not self.takes_commands:
            check_actuators(self.source)
        return commands, pushed, self._passive, self._R, self._timing_commanded

    def repeats(self, steps: int) -> Array:
        """The settings for so many steps.

        Args:
            steps: How many.
        """
        return np.array([0.0, steps + 1.0], dtype=self._dtype)
