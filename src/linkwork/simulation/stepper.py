# SPDX-License-Identifier: BSD-3-Clause
"""Steps of integrators for one robot, the basis of simulations and of user-defined loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self, cast

import numpy.typing as npt

from linkwork.closure.minimal import Minimal
from linkwork.compilers.program import Backend, Program
from linkwork.compilers.run import Runner
from linkwork.contact.coal import GivenContacts
from linkwork.contact.derivatives import ContactDerivatives
from linkwork.contact.step_products import ContactStepJacobian, ContactStepJvp, ContactStepVjp
from linkwork.conversions import converted_but
from linkwork.errors import InputError, NotFinite, UnsupportedFeature
from linkwork.inputs import (
    ContactLaw,
    Integrator,
    JointLimits,
    SimulationIntegrator,
    StepMethod,
    TimeConstant,
    above_zero,
    count,
    named_options,
    shown,
)
from linkwork.kernels.steps.control import Control
from linkwork.model.checks import check_robot
from linkwork.model.model import Model
from linkwork.quantities.arguments import Array, frame_names
from linkwork.quantities.base import BaseEvaluator
from linkwork.quantities.leaves import check_dynamics
from linkwork.quantities.parameters import ParameterNames
from linkwork.quantities.products import Product
from linkwork.simulation.bound_steps import bound_steps
from linkwork.simulation.contact_derivatives import StepperFunction
from linkwork.simulation.contact_programs import ContactStepsRunner
from linkwork.simulation.contacts import ContactRow
from linkwork.simulation.derivatives import StepFunction, StepJacobian
from linkwork.simulation.finite_states import steps_of_finite, warn_of_lost_states
from linkwork.simulation.given_pairs import with_usable_contacts
from linkwork.simulation.held_inputs import HeldInputs
from linkwork.simulation.program import INTEGRATORS, StepProgram, step_program
from linkwork.simulation.settings import RENAMED, StepOptions, StepSettings
from linkwork.simulation.stabilization import AUTO
from linkwork.simulation.step_result import StepResult, repeat_calls

__all__ = ["INTEGRATORS", "Stepper"]


class Stepper(BaseEvaluator):
    """Steps in time: ``Stepper(robot)(q, v, tau, steps=10).q``, or ``Stepper(robot)(q, v, commands=u).q``.

    | integrator | meaning                                                                                           |
    |------------|---------------------------------------------------------------------------------------------------|
    | ``euler``  | semi-implicit Euler: velocities, then positions along the new velocities; first order, robust      |
    | ``rk4``    | Runge and Kutta's method, on Lie groups; fourth order                                             |
    | ``dopri5`` | Dormand and Prince's method, on Lie groups; fifth order, with an estimate of its error             |

    Actuators act on commands at every stage of every step, by the state there (explicitly).

    | method      | coordinates of a robot with loops                                                                |
    |-------------|--------------------------------------------------------------------------------------------------|
    | ``auto``    | all joints; accelerations by `lcaba`, which stabilization keeps near closed loops                 |
    | ``minimal`` | independent joints (see `Minimal`), whose positions and velocities determine the others; loops    |
    |             | are closed to rounding at every stage. ``time_constant``, ``regularization``, ``max_iterations``   |
    |             | have no meaning there. `SingularConstraints` at a dead center of the independent joints          |

    Args:
        robot: The mechanism.
        dt: Time of one step, in seconds.
        integrator: Integrator of the steps, see above.
        method: Coordinates, see above.
        time_constant: Seconds in which constraints without gains of their own are pulled back to closed loops;
            ``"auto"``: 5 ms, or two steps if that is more; None: they are not.
        passive: Whether springs and dampers of the model's joints, and gravity compensation of its bodies, act.
            ``euler`` takes springs and dampers as they are at the end of a step, so that stiff ones do no harm.
        limits: Whether joint limits are stops: springs and dampers that act beyond them, stiff enough to catch in 10 ms
            the apparent inertia of the joint at ``stops_at``, or in five steps, and soft enough to give way. With
            contacts they hold exactly, as those of tendons without a ``stop`` do, unless this is ``"soft"``, or for
            joints that are named here.
        stops_at: Configuration that stops are made for, ``(nq,)``; by default the neutral one.
        contact: Whether the robot's contact pairs touch, as in `ContactStep`; by default they do, but for those that
            need coal where it is not installed (a `ModelWarning`). Then dry friction of joints acts, too, and loops
            close in every step: ``time_constant`` and ``regularization`` have no meaning. ``euler`` alone has contacts.
            True is for robots with dry friction and no pairs, too; by default it is left out there, with a
            `ModelWarning`. ``"soft"``: contacts give way as MuJoCo's do, by the numbers of ``soft`` of
            `ContactPair`; steps are in native code alone, without derivatives.
        regularization: Regularization of the proximal iterations, as for `ForwardDynamics`; by default 1e-8, or 1e-7
            where there are several iterations and rows are redundant.
        tolerance: Residual at which a step with contacts is solved, as for `ContactStep`; by default 3e-9.
        max_iterations: The most iterations of a step with contacts, by default 200. Without contacts, the iterations of
            the constraint forces: by default one for ``euler``, three for the others; several have one more where rows
            are redundant, which removes internal forces of contradicting rows.
        wrenches: Frames that external wrenches act on, as for `ForwardDynamics`.
        parameters: Parameters of the robot that are inputs, further arguments of a call: see `ForwardDynamics`. Stops,
            regularization and settings of contact solvers stay those of the robot's own values.
        threads: Threads that share a large batch; by default as many as there are cores.
    """

    @named_options(renamed=RENAMED)
    @converted_but("dt", "integrator")
    def __init__(
        self,
        robot: Model,
        dt: float = 1e-3,
        integrator: Integrator = "euler",
        *,
        method: StepMethod = "auto",
        time_constant: TimeConstant = AUTO,
        passive: bool = True,
        limits: JointLimits = True,
        stops_at: npt.ArrayLike | None = None,
        contact: ContactLaw = None,
        regularization: float | None = None,
        tolerance: float | None = None,
        max_iterations: int | None = None,
        wrenches: Sequence[str] = (),
        parameters: ParameterNames = (),
        threads: int | None = None,
    ) -> None:
        if isinstance(dt, str):  # as the order was before
            raise InputError(f"dt is {shown(dt)}, needs a number: Stepper(robot, 1e-3, {dt!r})")
        check_robot(robot)
        check_dynamics(robot)
        robot = with_usable_contacts(robot, contact)
        options: StepOptions = {
            "time_constant": time_constant,
            "passive": passive,
            "limits": limits,
            "stops_at": stops_at,
            "contact": contact,
            "regularization": regularization,
            "tolerance": tolerance,
            "max_iterations": max_iterations,
        }
        settings = StepSettings.of(above_zero(dt, "dt"), integrator, method, frame_names(wrenches), options)
        self._set_program(step_program(robot, settings, parameters), threads)

    def _set_program(self, planned: StepProgram, threads: int | None) -> None:
        self.planned = planned
        """The program of steps, and its settings."""
        how, inputs = planned.settings, planned.parameters
        arguments = {"robot": planned.source, **how.arguments()}
        name = f"{how.integrator} step"
        super().__init__(planned.robot, name, lambda: planned.repeated, arguments, how.wrenches, threads, inputs)
        self.held = HeldInputs.of(planned, self.program, self.dtype)
        """Inputs of steps that are held over many of them."""

    @classmethod
    def of_settings(
        cls, robot: Model, settings: StepSettings, parameters: ParameterNames = (), threads: int | None = None
    ) -> Stepper:
        """The stepper of settings that are checked, as simulations have them.

        Args:
            robot: The mechanism.
            settings: Settings of the steps.
            parameters: As for the constructor.
            threads: As for the constructor.
        """
        check_dynamics(robot)
        if settings.method != "minimal":
            settings = replace(settings, method="auto")  # which is the method that simulations are compiled with
        stepper = cls.__new__(cls)
        stepper._set_program(step_program(robot, settings, parameters), threads)
        return stepper

    def controlled(self, control: Control | None, control_every: int) -> Stepper:
        """Steps under a controller that is compiled with them, for simulations, which say when it is due.

        Args:
            control: The controller's kernel; None: none.
            control_every: Steps between two calls of it.
        """
        stepper = Stepper.__new__(Stepper)
        stepper._set_program(replace(self.planned, control=control, control_every=control_every), None)
        return stepper.on(self.execution.backend)

    def on(self, backend: Backend, program: Program | None = None) -> Self:
        """A copy on another backend, in its initial state.

        Args:
            backend: Backend of the program, and with which numbers.
            program: Another program with the same inputs and outputs; by default this one.
        """
        if self.reduced and backend.name in ("specialized", "cuda"):
            return cast(Self, self.by_slots.on(backend, program))
        other = super().on(backend, program)
        other.held = HeldInputs.of(self.planned, self.program, other.dtype)
        return other

    @property
    def reduced(self) -> bool:
        """Whether steps solve contacts by the reduced matrix of active contacts."""
        return self.planned.contact is not None and self.planned.contact.reduced

    @property
    def by_slots(self) -> Stepper:
        """Itself, or the same steps with all slots of all pairs, for straight-line programs and derivatives."""
        if not self.reduced:
            return self

        def make() -> Stepper:
            other = Stepper.__new__(Stepper)
            other._set_program(self.planned.by_slots, self.execution.backend.threads)
            return other.on(self.execution.backend)

        return self.keep("by slots", make)

    def __reduce__(self) -> tuple[Any, ...]:
        control, every = self.planned.control, self.planned.control_every
        if control is not None:
            return Stepper.controlled, (self.controlled(None, 0), control, every)
        if self.planned.settings.by_slots:
            return _by_slots, super().__reduce__()
        return super().__reduce__()

    # How steps are made ------------------------------------------------------------------------------------------

    @property
    def source(self) -> Model:
        """The robot as it was given; `robot` is as steps see it, with stabilization and stops."""
        return self.planned.source

    @property
    def dt(self) -> float:
        """Time of one step, in seconds."""
        return self.planned.settings.dt

    @property
    def integrator(self) -> SimulationIntegrator:
        """The integrator of the steps."""
        return self.planned.settings.integrator

    @property
    def contact(self) -> bool:
        """Whether contact pairs touch."""
        return self.planned.contact is not None

    @property
    def minimal(self) -> bool:
        """Whether the state is that of the independent joints."""
        return self.planned.form == "minimal"

    @property
    def takes_commands(self) -> bool:
        """Whether actuators take commands."""
        return self.planned.takes_commands

    @property
    def na(self) -> int:
        """Activations of actuators."""
        return self.planned.na

    @property
    def contact_row(self) -> ContactRow | None:
        """Layout of rows about contacts; None without contacts."""
        return None if self.planned.contact is None else self.planned.contact.row

    @property
    def given(self) -> GivenContacts | None:
        """Contact points of pairs without kernel code, such as those of meshes, which are found between steps."""
        return None if self.planned.contact is None else self.planned.contact.given

    # Calls -------------------------------------------------------------------------------------------------------

    def __call__(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike | None = None,
        wrenches: npt.ArrayLike | None = None,
        *,
        commands: npt.ArrayLike | None = None,
        act: npt.ArrayLike | None = None,
        steps: int = 1,
        contact_state: Array | None = None,
        time: float = 0.0,
        **parameters: npt.ArrayLike,
    ) -> StepResult:
        """The state after some steps under constant torques. Leading axes are batch axes and broadcast.

        A state of a batch that stops being finite holds NaN, with a `StateWarning`, and does so from then on; one state
        alone is an error.

        Args:
            q: Configuration, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
            tau: Joint torques, ``(..., nv)``; by default none.
            wrenches: External wrenches on the frames that the stepper was made with, ``(..., frames, 6)``, each
                ``[moment, force]`` in the frame's axes; by default none.
            commands: Commands of the actuators, ``(..., actuators)``, which act beside the torques; without them
                actuators do nothing.
            act: Activations of actuators, ``(..., na)``; by default zero. The result has those after the steps.
            steps: Number of steps.
            contact_state: `StepResult.contact_state` of the steps before, whose forces these start from (warm start).
            time: Seconds before the steps, for constraints and forces that depend on time.
            parameters: Parameters of the robot that are inputs, by name, ``(..., rows)``; by default the robot's own.
        """
        planned, held = self.planned, self.held
        if steps != 1 and planned.contact is not None and planned.contact.given is not None:
            how: dict[str, Any] = {"tau": tau, "wrenches": wrenches, "commands": commands, **parameters}
            return repeat_calls(self, count(steps, "steps"), q, v, act, contact_state, how, time, self.dt)
        if tau is None:
            tau = held.tau
        further: tuple[Any, ...] | None = held.idle
        once = type(steps) is int and steps == 1
        if further is None or parameters or time or not (once and commands is act is wrenches is contact_state is None):
            further = held(commands, wrenches, contact_state, q, act, time)
            if parameters or self.parameter_inputs.names:
                further += self._parameters(parameters)
            if planned.settings.integrator != "dopri5":
                further += (held.once if once else held.repeats(count(steps, "steps")),)
            elif steps != 1:
                raise InputError("dopri5 takes one step at a time: the length of the next depends on its error")
        results = self.execution.results(q, v, tau, *further)
        if results is None:  # not one state whose arrays fit as they are
            results = self._evaluated((q, v, tau, *further))
        if planned.form == "minimal":
            planned.check_loops(results[-1])
        error = results[3] if len(results) > 4 else None
        return StepResult(results[0], results[1], results[2], results[-1], error, planned)

    def _parameters(self, parameters: Mapping[str, Any], *, once: bool = False) -> tuple[Any, ...]:
        """All parameters that are inputs, in order: those given by name, and held ones."""
        held = self.execution.held
        own = tuple(held[name] for name in self.parameter_inputs.names)
        return self.parameter_inputs.given(own, parameters, once=once) if parameters else own

    def _evaluated(self, inputs: Sequence[Any]) -> list[Any]:
        """Outputs for anything array-like; NaN for states of a batch that are not finite."""
        try:
            return self.runner.evaluate(list(inputs), [None] * len(self.held.shapes))
        except InputError as error:
            if self.minimal and isinstance(error, NotFinite):
                Minimal(self.source).matrix(inputs[0])  # `SingularConstraints`, if that is why
            finite = steps_of_finite(self.runner, inputs)
            if finite is None:
                raise
        results, lost = finite
        warn_of_lost_states(self.source.name, lost)
        return results

    def bind(  # type: ignore[override]
        self,
        q: Array,
        v: Array,
        tau: Array | None = None,
        wrenches: Array | None = None,
        *,
        commands: Array | None = None,
        act: Array | None = None,
        steps: int = 1,
        out: tuple[Array, Array] | None = None,
        **parameters: Array,
    ) -> Callable[[], None]:
        """A call without arguments that makes ``steps`` steps, without allocation: for control loops.

        Each call reads the arrays as they are then. They must fit as they are (C-contiguous, of this stepper's dtype),
        or have one batch axis more each, the same for all.

        Args:
            q: Configuration, ``(nq,)``, read at every call.
            v: Joint velocities, ``(nv,)``.
            tau: Joint torques, ``(nv,)``; by default none.
            wrenches: External wrenches, ``(frames, 6)``; by default none.
            commands: Commands of the actuators, ``(actuators,)``; by default actuators do nothing.
            act: Activations of actuators, ``(na,)``, which every call moves on; for robots that have any.
            steps: Number of steps of each call.
            out: Arrays ``(q, v)`` that every call writes; by default ``q`` and ``v`` themselves are moved on, so that
                calls follow one another.
            parameters: Parameters of the robot that are inputs, by name; by default the robot's own.
        """
        settings = () if self.integrator == "dopri5" else (self.held.repeats(count(steps, "steps")),)
        if not settings and steps != 1:
            raise InputError("dopri5 takes one step at a time: the length of the next depends on its error")
        torques = self.held.tau if tau is None else tau
        held = self.held(commands, wrenches, act=act)
        inputs = [q, v, torques, *held, *self._parameters(parameters, once=True), *settings]
        return bound_steps(self, inputs, commands, act, out)

    def runner_on(self, backend: Backend) -> Runner:
        """The runner of the program on a backend.

        Args:
            backend: Backend of the program.
        """
        if self.planned.timed and backend.name == "cuda":
            raise UnsupportedFeature(
                f"a constraint or force of '{self.source.name}' depends on time, and steps on a GPU have no clock"
            )
        if self.contact and backend.name == "cuda":
            raise UnsupportedFeature(
                f"steps of '{self.source.name}' with contacts run on a GPU as whole rollouts: "
                "lw.Simulation(robot, count, device='cuda').step(tau=..., steps=...)"
            )
        if not self.contact or backend.name != "specialized":
            return super().runner_on(backend)
        control = self.planned.control
        torques = None if control is None else self.planned.torques(control)
        step, bounded = self.planned.single(backend.dtype), self.planned.bounded(backend.dtype)
        return ContactStepsRunner(self.program, backend, step, bounded, torques)

    # Derivatives -------------------------------------------------------------------------------------------------

    @property
    def _function(self) -> StepFunction:
        return self.keep(StepFunction, lambda: StepFunction(self))

    @property
    def _contacts(self) -> ContactDerivatives:
        return self.keep(ContactDerivatives, lambda: ContactDerivatives(StepperFunction(self.by_slots)))

    def _jvp(self) -> Product | ContactStepJvp:
        """Products with the Jacobian of a step: ``stepper.jvp(q, v, tau, dq, dv, dtau)`` gives ``(dq1, dv1)``."""
        return ContactStepJvp(self._contacts) if self.contact else self._function.jvp

    def _vjp(self) -> Product | ContactStepVjp:
        """Products with its transpose: ``stepper.vjp(q, v, tau, y_q1, y_v1)`` gives ``(dq, dv, dtau)``, and more where
        there are actuators or frames with wrenches (``stepper.vjp.inputs``)."""
        return ContactStepVjp(self._contacts) if self.contact else self._function.vjp

    def _hvp(self) -> Product:
        """The derivative of `vjp` along a direction, the cotangents held: ``stepper.hvp(q, v, tau, y_q1, y_v1, dq, dv,
        dtau)`` gives a tuple as `vjp` does. Steps with contacts have no second derivatives."""
        if self.contact:
            raise UnsupportedFeature(f"steps of '{self.source.name}' with contacts have no second derivatives")
        return self._function.hvp

    jvp: Any = property(_jvp)  # steps with contacts have products of their own
    vjp: Any = property(_vjp)
    hvp: Any = property(_hvp)

    @property
    def derivatives(self) -> StepJacobian | ContactStepJacobian:
        """The Jacobian of a step: ``stepper.derivatives(q, v, tau)`` gives `StepDerivatives`."""
        if self.contact:
            return ContactStepJacobian(self._contacts)
        return self.keep(StepJacobian, lambda: StepJacobian(self._function))


def _by_slots(remake: Callable[..., Stepper], arguments: tuple[Any, ...]) -> Stepper:
    """`Stepper.by_slots` of an unpickled stepper."""
    return remake(*arguments).by_slots
