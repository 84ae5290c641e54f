# SPDX-License-Identifier: BSD-3-Clause
"""A step in time with contacts, loops, joint limits and dry friction: one class, all solvers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple, Self, cast

import numpy as np
import numpy.typing as npt

from linkwork.compilers.program import Backend, Program
from linkwork.contact.coal import GivenContacts
from linkwork.contact.derivatives import ContactDerivatives
from linkwork.contact.points import words_of_overflow
from linkwork.contact.reduced import reduced_plan, reduced_settings, takes_reduced_matrix
from linkwork.contact.solution import OVERFLOWED, RESIDUAL, ContactSolution, StepLayout
from linkwork.contact.step_function import ContactStepFunction
from linkwork.contact.step_options import ContactOptions, penetration_time
from linkwork.contact.step_products import ContactStepJacobian, ContactStepJvp, ContactStepVjp
from linkwork.contact.step_settings import step_settings
from linkwork.contact.thresholds import CONTACT_TOLERANCE
from linkwork.conversions import converted
from linkwork.dynamics.implicit_armature import with_implicit_armature, without_joint_friction, without_passive_forces
from linkwork.dynamics.iterations import REGULARIZATION, SolverSettings
from linkwork.dynamics.unmodeled_contacts import warn_unmodeled
from linkwork.errors import InputError, NotConverged, StateWarning, UnsupportedFeature
from linkwork.inputs import (
    ContactSolver,
    ContactStiffness,
    TimeConstant,
    above_zero,
    among,
    count,
    named_options,
    outer_level,
    shown,
)
from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.contact.newton import CONTACT_NEWTON, KNOWN_CONTACT_NEWTON
from linkwork.kernels.contact.reduced.step import REDUCED_STEP
from linkwork.kernels.contact.step_admm import CONTACT_ADMM
from linkwork.kernels.contact.step_pgs import CONTACT_PGS
from linkwork.model.checks import check_robot
from linkwork.model.model import Model
from linkwork.plans.contact_lcaba import KNOWN_CONTACT_TREE, contact_lcaba_tree
from linkwork.plans.contact_step_rows import contact_admm_tree, contact_rows_tree
from linkwork.plans.contacts import MeshKind
from linkwork.plans.parameters import with_friction_rows
from linkwork.plans.tree import Tree
from linkwork.quantities.arguments import Array, frame_names
from linkwork.quantities.base import BaseEvaluator
from linkwork.quantities.parameters import ParameterInputs, ParameterNames


class StepMethod(NamedTuple):
    """A solver of steps with contacts."""

    algorithm: Algorithm
    plan: Callable[..., Tree]
    """Makes the arrays of a robot that it reads."""
    most: int
    """Iterations that it may take, unless said otherwise."""


SOLVERS: Mapping[str, StepMethod] = MappingProxyType(
    {
        "newton": StepMethod(CONTACT_NEWTON, contact_lcaba_tree, 200),
        "admm": StepMethod(CONTACT_ADMM, contact_admm_tree, 2000),
        "pgs": StepMethod(CONTACT_PGS, contact_rows_tree, 20_000),
    }
)
"""Solvers of steps with contacts, by name."""

MAX_ITERATIONS = SOLVERS["newton"].most
"""Of steps in simulations."""


_empty = np.empty


class OneState(NamedTuple):
    """Arrays that a step holds for calls with one state."""

    shapes: Sequence[tuple[int, ...]]
    """Of results."""
    dtype: np.dtype[Any]
    tau: Array
    held: tuple[Array, ...]
    """Wrenches and given points."""
    start: Array
    settings: tuple[Array, ...]
    """Parameters of the robot that are inputs, and settings."""
    layout: StepLayout


class ContactStep(BaseEvaluator):
    """The state of a robot after a step in time with its contacts: ``step(q, v, tau).v``.

    Semi-implicit Euler at the level of velocities. Contacts obey Signorini's condition, Coulomb's law and the principle
    of maximum dissipation at the end of the step; loops close, joint limits hold, and the dry friction of joints acts.
    Springs and dampers of joints are implicit, as in `simulate`. Constraints that follow functions of time are where
    these are a step after ``robot.time``.

    Args:
        robot: The mechanism, with its contact pairs.
        dt: Time of a step, in seconds.
        solver: Solver for contact forces.
        tolerance: Residual of contacts, loops and joints at which iterations end (`ContactSolution.residual`), as a
            part of the velocity at which bodies of the robot's size fall, which is about 1 m/s.
        max_iterations: The most iterations; by default 200 of ``newton``, 2000 of ``admm``, 20 000 of
            ``pgs``.
        limits: Whether joint limits hold; else joints pass them.
        joint_friction: Whether the dry friction of joints acts.
        passive: Whether springs and dampers of joints act.
        time_constant: Seconds in which penetration is removed; by default 5 ms, or two steps. None: it stays.
        meshes: Representation of meshes, as for `ContactGeometry`.
        strict: Whether iterations that do not reach the tolerance are an error, `NotConverged`; else there is a warning
            and `ContactSolution.converged` says so.
        contact: ``"hard"``, or ``"soft"``: contacts give way as MuJoCo's do, by the numbers of ``soft`` of
            `ContactPair`. Rows are those of overlapping shapes, without restitution; dampers act after contacts;
            ``newton`` alone, in native code, without derivatives.
        wrenches: Frames that external wrenches act on. A call then takes them as ``(..., frames, 6)``, each ``[moment,
            force]`` at the frame's origin in the frame's axes.
        parameters: Parameters of the robot that are inputs, such as ``["contact_friction", "mass"]``, further arguments
            of a call: see `ForwardDynamics`. Scales of the solver are those of the robot's own values.
        threads: Threads that share a large batch; by default as many as there are cores.
    """

    @named_options(renamed={"stabilization": "time_constant"})
    @converted
    def __init__(
        self,
        robot: Model,
        dt: float = 1e-3,
        solver: ContactSolver = "newton",
        *,
        tolerance: float = CONTACT_TOLERANCE,
        max_iterations: int | None = None,
        limits: bool = True,
        joint_friction: bool = True,
        passive: bool = True,
        time_constant: TimeConstant = "auto",
        meshes: MeshKind = "auto",
        strict: bool = False,
        contact: ContactStiffness = "hard",
        wrenches: Sequence[str] = (),
        parameters: ParameterNames = (),
        threads: int | None = None,
    ) -> None:
        check_robot(robot)
        if solver not in SOLVERS:
            raise InputError(f"no solver '{solver}' for contacts{among(solver, SOLVERS)}")
        most = SOLVERS[solver].most if max_iterations is None else max_iterations
        end = SolverSettings(REGULARIZATION, above_zero(tolerance, "tolerance"), count(most, "max_iterations"))
        self.options = options = ContactOptions(
            above_zero(dt, "dt"), solver, end, limits, joint_friction, passive, time_constant, meshes, strict, contact
        )
        """Settings of the step."""
        penetration_time(time_constant, options.dt)
        if contact not in ("hard", "soft"):
            raise InputError(f"contact is {contact!r}; it may be 'hard' or 'soft'")
        if contact == "soft" and solver != "newton":
            raise InputError(f"soft contacts have the solver 'newton', not '{solver}'")
        own = robot if passive else without_passive_forces(robot)
        implicit = options.dt if passive and contact == "hard" else 0.0  # soft steps add dampers themselves
        inputs = ParameterInputs(own, parameters, implicit)
        check_contact_parameters(inputs.names, passive)
        frames = frame_names(wrenches)
        arguments = {"robot": robot, **options.arguments(), "wrenches": frames}

        def program() -> Program:
            warn_unmodeled(robot, self.reduced, tendon_limits=limits, ball_limits=limits)
            moved = with_implicit_armature(robot, implicit) if passive else without_passive_forces(robot)
            moved = replace(moved, time=robot.time + options.dt)  # targets of constraints are those after the step
            if self.reduced:
                named = True if limits else ()
                own = with_friction_rows(moved if joint_friction else without_joint_friction(moved), inputs.chosen)
                plan = robot, own, frames, named, options.end, None, meshes
                return Program.of_robot(
                    robot, REDUCED_STEP, reduced_plan(*plan, soft=contact == "soft", tendon_limits=limits)
                )
            method = SOLVERS[solver]
            tree = method.plan(with_friction_rows(moved, inputs.chosen), frames, limits, joint_friction)
            return Program.of_robot(robot, method.algorithm, tree)

        super().__init__(robot, "contact_step", program, arguments, frames, threads, inputs)

    @property
    def reduced(self) -> bool:
        """Whether steps are made by the reduced matrix of touching contacts."""
        suits = self.options.contact == "soft" or takes_reduced_matrix(self.robot)
        return suits and self.options.solver == "newton" and not self.options.by_slots

    @property
    def by_slots(self) -> ContactStep:
        """Itself, or the same step with all slots of all pairs, for straight-line programs and derivatives."""
        if not self.reduced:
            return self
        if self.options.contact == "soft":
            raise UnsupportedFeature(
                f"soft contacts of '{self.robot.name}' are steps of native code, without derivatives: leave out "
                "compile(), CUDA and derivatives, or contact='soft'"
            )

        def make() -> ContactStep:
            step = ContactStep(**self.recipe())
            step.options = replace(step.options, by_slots=True)
            return step.on(self.execution.backend)

        return self.keep("by slots", make)

    def on(self, backend: Backend, program: Program | None = None) -> Self:
        """A copy on another backend; nothing has run yet.

        Args:
            backend: Backend of the program, and with which numbers.
            program: Another program with the same inputs and outputs; by default this one.
        """
        if self.reduced and backend.name in ("specialized", "cuda"):
            return cast(Self, self.by_slots.on(backend, program))
        return super().on(backend, program)

    def __reduce__(self) -> tuple[Any, ...]:
        remake = super().__reduce__()
        return (_by_slots, remake) if self.options.by_slots else remake

    @property
    def dt(self) -> float:
        """Time of a step, in seconds."""
        return self.options.dt

    @property
    def traced_program(self) -> Program:
        """With ``newton``, settings are constants of the program, by which divisions fold."""
        if self.options.solver != "newton" or self.parameters or self.reduced:
            return self.program
        tree = KNOWN_CONTACT_TREE.build(self.program.tree, solver_settings=self.execution.held["settings"])
        return replace(self.program, algorithm=KNOWN_CONTACT_NEWTON, tree=tree)

    @property
    def exported_program(self) -> Program:
        """Settings are an input of exported C."""
        return self.program

    def held_inputs(self, dtype: np.dtype[Any]) -> dict[str, Array]:
        """Inputs that calls may leave out: no torques and wrenches, no given points, a cold start, and settings.

        Args:
            dtype: Type of the numbers.
        """
        tree, options = self.program.tree, self.options
        time = penetration_time(options.time_constant, options.dt)
        if self.reduced:
            settings = reduced_settings(self.robot, options.dt, options.end, time, dtype.name)
        else:
            settings = step_settings(self.robot, tree, options.dt, options.end, time, dtype.name)
        return {
            **super().held_inputs(dtype),
            "tau": np.zeros(self.robot.nv, dtype),
            "given": np.zeros((0, 7), dtype),
            "start": np.zeros(tree.nstart, dtype),
            "settings": settings,
        }

    @property
    def given_names(self) -> tuple[str, ...]:
        """Names of inputs that callers give, in their order."""
        return tuple(self.unparametrized_program.algorithm.inputs)

    @property
    def layout(self) -> StepLayout:
        """Layout of results."""
        return self.keep(StepLayout, self._layout)

    def _layout(self) -> StepLayout:
        tolerance = float(self.execution.held["settings"][0])
        return StepLayout(self.robot, self.program.tree, self.dt, tolerance, self.reduced)

    @property
    def settings(self) -> Array:
        """Parameters of the step and scales of the robot: the input ``settings`` of exported C."""
        return self.execution.held["settings"].copy()

    @property
    def nslots(self) -> int:
        """Contact points of all pairs."""
        return int(self.program.tree.nslots)

    @property
    def given(self) -> GivenContacts:
        """Contact points of pairs without kernel code, by coal: ``given(q)``, ``(..., ngiven, 7)``."""
        return self.keep(GivenContacts, lambda: GivenContacts(self.robot, self.options.meshes, native=self.reduced))

    # Derivatives ---------------------------------------------------------------------------------------------------

    def _derivatives(self) -> ContactDerivatives:
        return self.keep(ContactDerivatives, lambda: ContactDerivatives(ContactStepFunction(self.by_slots)))

    def _jvp(self) -> ContactStepJvp:
        """Rates of the state after the step: ``step.jvp(q, v, tau, dq, dv, dtau)`` gives ``(dq1, dv1)``."""
        return ContactStepJvp(self._derivatives())

    def _vjp(self) -> ContactStepVjp:
        """Gradients of a function of the state after the step: ``step.vjp(q, v, tau, y_q1, y_v1)`` gives ``(dq, dv,
        dtau)``, wrenches and parameters where they are inputs."""
        return ContactStepVjp(self._derivatives())

    jvp: Any = property(_jvp)  # implicit functions have products of their own
    vjp: Any = property(_vjp)

    def _hvp(self) -> Any:
        raise UnsupportedFeature(f"steps of '{self.robot.name}' with contacts have no second derivatives")

    hvp: Any = property(_hvp)

    @property
    def derivatives(self) -> ContactStepJacobian:
        """The Jacobian of the step: ``step.derivatives(q, v, tau)`` gives `StepDerivatives`."""
        return ContactStepJacobian(self._derivatives())

    def _verification(self, alone: bool) -> Callable[[Sequence[Array]], bool | None] | None:
        def verify(arrays: Sequence[Array]) -> None:
            self._check(arrays[-1])

        return verify

    def __call__(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike | None = None,
        wrenches: npt.ArrayLike | None = None,
        *,
        given: npt.ArrayLike | None = None,
        start: ContactSolution | npt.ArrayLike | None = None,
        out: tuple[Array, Array] | None = None,
        **parameters: npt.ArrayLike,
    ) -> ContactSolution:
        """The state after the step, and impulses. Leading axes are batch axes and broadcast.

        Args:
            q: Configuration, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
            tau: Joint torques, ``(..., nv)``; by default none.
            wrenches: External wrenches on the frames that were named, ``(..., frames, 6)``; by default none.
            given: Contact points of pairs without kernel code, ``(..., ngiven, 7)``: gap, point and normal in the
                world; by default those that coal finds.
            start: The solution of the step before (warm start), or its `ContactSolution.warm_start`.
            out: Arrays to write the configuration and velocities after the step to; by default new ones.
            parameters: Parameters of the robot that are inputs, by name, ``(..., rows)``; by default the robot's own.
        """
        forces = start.warm_start if isinstance(start, ContactSolution) else start
        if isinstance(start, ContactSolution) and not self.reduced and start.is_listed:
            forces = start.warm_start_by_slots
        if out is not None and (not isinstance(out, tuple | list) or len(out) != 2):
            raise InputError(f"out is {shown(out)}, needs two arrays: (q, v)")
        typed = self.for_type_of([q, v, tau, wrenches, given, forces, *(out or ()), *parameters.values()])
        if typed is not self:
            return typed(q, v, tau, wrenches, given=given, start=forces, out=out, **parameters)
        if out is None and not parameters and wrenches is None and given is None:  # the fast path for one state
            fast: OneState = self.kept.get(OneState) or self.keep(OneState, self._one_state)
            results = [_empty(shape, fast.dtype) for shape in fast.shapes]
            torques, begin = fast.tau if tau is None else tau, fast.start if forces is None else forces
            if not self.execution.entry(q, v, torques, *fast.held, begin, *fast.settings, *results):
                self._check(results[2])
                return ContactSolution(results[0], results[1], results[2], fast.layout)
        if given is None and self.program.tree.ngiven:
            given = self.given(q)
        arrays = self.input_arrays([q, v, tau, wrenches, given, forces], parameters=parameters)
        q1, v1, result = self.runner.evaluate(arrays, [None, None, None] if out is None else [*out, None])
        self._check(result)
        return ContactSolution(q1, v1, result, self.layout)

    def _one_state(self) -> OneState:
        held, runner = self.execution.held, self.runner
        own = tuple(held[name] for name in self.parameter_inputs.names)
        settings, points = (*own, held["settings"]), (held["wrenches"], held["given"])
        return OneState(runner.outputs, runner.dtype, held["tau"], points, held["start"], settings, self.layout)

    def _check(self, result: Array) -> None:
        """Say where iterations ended too early."""
        if not self.sees_results:
            return
        tolerance = self.layout.tolerance
        if self.layout.reduced and np.count_nonzero(full := result[..., OVERFLOWED]):
            listed = result[..., self.layout.places["points"]]
            states = f" in {np.count_nonzero(full)} of {full.size} states" if full.ndim else ""
            warnings.warn(
                f"too many contact points of '{self.robot.name}'{states}: {words_of_overflow(self.robot, listed)}",
                StateWarning,
                stacklevel=outer_level(),
            )
        if result.ndim == 1 and result[RESIDUAL] <= tolerance:
            return
        residual = result[..., RESIDUAL]
        missed = ~(residual <= tolerance)
        if not missed.any():
            return
        states = f" in {missed.sum()} of {missed.size} states" if residual.ndim else ""
        message = (
            f"{self.options.solver} did not solve the contacts of '{self.robot.name}'{states}: residual "
            f"{np.max(residual):.3g} m/s after {self.options.end.max_iterations} iterations (tolerance: "
            f"{tolerance:.1g}); try a smaller dt or more max_iterations"
        )
        if self.options.strict:
            raise NotConverged(message)
        warnings.warn(message, StateWarning, stacklevel=outer_level())


def check_contact_parameters(names: Sequence[str], passive: bool) -> None:
    """Raise where a step with contacts does not depend on a parameter that is to be an input."""
    for name in names:
        if name in ("damping", "stiffness", "rest") and not passive:
            raise InputError(f"{name} is a parameter, and passive=False leaves springs and dampers out")
        if name.startswith(("gains", "actuator_", "motor_")):
            raise InputError(f"a step with contacts does not depend on {name}: leave it out")


def _by_slots(remake: Callable[..., ContactStep], arguments: tuple[Any, ...]) -> ContactStep:
    """`ContactStep.by_slots` of an unpickled step."""
    return remake(*arguments).by_slots
