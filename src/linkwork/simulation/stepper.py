# SPDX-License-Identifier: BSD-3-Clause
"""Steps of integrators for one robot: what simulations are made of, and for loops of one's own."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.closure.clusters import ties_of
from linkwork.closure.minimal import Minimal
from linkwork.closure.mobility import has_redundant_rows
from linkwork.compilers.program import Backend, Program
from linkwork.compilers.run import Runner
from linkwork.contact.coal import GivenContacts
from linkwork.contact.step import MAX_ITERATIONS, TOLERANCE
from linkwork.conversions import converted
from linkwork.dynamics.implicit_armature import with_implicit_armature, without_passive_forces
from linkwork.dynamics.iterations import REDUNDANT_REGULARIZATION, REGULARIZATION, row_regularization
from linkwork.errors import InputError, NotFinite, StateWarning, UnsupportedFeature
from linkwork.inputs import Integrator, JointLimits, StepMethod, TimeConstant, above_zero, among, count
from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.steps.contact_steps import REPEATED_CONTACT_STEPS, SINGLE_CONTACT_STEPS
from linkwork.kernels.steps.integrators import STEPS
from linkwork.model.checks import check_robot
from linkwork.model.model import Model
from linkwork.model.tendons import without_springs
from linkwork.plans.actuation import ACTUATION_CLUSTER_TREE, ACTUATION_LCABA_TREE, ACTUATION_TREE, with_actuators
from linkwork.plans.clusters import cluster_tree
from linkwork.plans.contact_steps import contact_program_tree, contact_steps_tree
from linkwork.plans.lcaba import lcaba_tree_of_compliances
from linkwork.plans.parameters import with_friction_rows
from linkwork.plans.tree import tree_of
from linkwork.quantities.arguments import Array, frame_names
from linkwork.quantities.evaluator import check_actuators
from linkwork.quantities.leaves import check_dynamics
from linkwork.quantities.parameters import ParameterInputs, ParameterNames
from linkwork.quantities.transition import SteppingEvaluator
from linkwork.simulation.activations import with_activations
from linkwork.simulation.bound_steps import bound_steps
from linkwork.simulation.contact_inputs import ContactInputs
from linkwork.simulation.contact_programs import ContactStepsRunner
from linkwork.simulation.contacts import ContactRow, has_contacts, warn_of_joint_friction
from linkwork.simulation.derivatives import DifferentiableSteps
from linkwork.simulation.finite_states import steps_of_finite
from linkwork.simulation.given_pairs import with_usable_contacts
from linkwork.simulation.open_loops import open_loops
from linkwork.simulation.stabilization import (
    AUTO,
    check_step_parameters,
    joint_limits,
    passive_parameters,
    soft_limits,
    stabilized,
    stopped_tendons,
    unstabilized,
)
from linkwork.simulation.step_result import StepResult

INTEGRATORS: Mapping[str, int] = MappingProxyType({"euler": 1, "rk4": 4, "dopri5": 5})
"""Integrators and their orders."""

_empty = np.empty


class Stepper(SteppingEvaluator, DifferentiableSteps):  # type: ignore[override]
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
            the inertia that the joint feels at ``stops_at``, or in five steps, and soft enough to give way. With
            contacts they hold exactly, unless this is ``"soft"``, or for joints that are named here; limits of tendons
            are such springs always.
        regularization: Regularization of the proximal iterations, as for `ForwardDynamics`; by default 1e-8, or 1e-7
            where there are several iterations and rows are redundant.
        iterations: Iterations of the constraint forces; by default one for ``euler``, three for the others. Several
            have one more where rows are redundant: it takes back what contradicting rows added to forces.
        stops_at: Configuration that stops are made for, ``(nq,)``; by default the neutral one.
        wrenches: Frames that external wrenches act on, as for `ForwardDynamics`.
        contact: Whether the robot's contact pairs touch, as in `ContactStep`; by default they do, but for those that
            need coal where it is not installed (a `ModelWarning`). Then dry friction of joints acts, too, and loops
            close in every step: ``time_constant``, ``regularization`` and ``iterations`` have no meaning. ``euler``
            alone has contacts. True is for robots with dry friction and no pairs, too; by default it is left out there,
            with a `ModelWarning`.
        contact_tolerance: Residual at which a step with contacts is solved: ``tolerance`` of `ContactStep`.
        contact_iterations: Iterations of a step with contacts at most.
        parameters: Parameters of the robot that are inputs, further arguments of a call: see `ForwardDynamics`. Stops,
            regularization and settings of contact solvers stay those of the robot's own values.
        threads: Threads that share a large batch; by default as many as there are cores.
    """

    @converted
    def __init__(
        self,
        robot: Model,
        integrator: Integrator = "euler",
        dt: float = 1e-3,
        *,
        method: StepMethod = "auto",
        time_constant: TimeConstant = AUTO,
        passive: bool = True,
        limits: JointLimits = True,
        regularization: float | None = None,
        iterations: int | None = None,
        stops_at: npt.ArrayLike | None = None,
        wrenches: Sequence[str] = (),
        contact: bool | None = None,
        contact_tolerance: float = TOLERANCE,
        contact_iterations: int = MAX_ITERATIONS,
        parameters: ParameterNames = (),
        threads: int | None = None,
    ) -> None:
        check_robot(robot)
        check_dynamics(robot)
        robot = with_usable_contacts(robot, contact)
        if integrator not in INTEGRATORS:
            raise InputError(f"no integrator {integrator!r}{among(integrator, INTEGRATORS)}")
        if method not in ("auto", "minimal"):
            raise InputError(f"no method {method!r} of compiled steps; there are auto, minimal")
        self.integrator, self.dt = integrator, above_zero(dt, "dt")
        bound = any(c.enabled for c in robot.constraints)
        wanted = (1 if integrator == "euler" else 3) if iterations is None else count(iterations, "iterations")
        self.contact = has_contacts(robot, contact, integrator, method)
        """Whether contact pairs touch."""
        if not self.contact:
            warn_of_joint_friction(robot)
        self.minimal = minimal = bound and method == "minimal"
        """Whether the state is that of the independent joints."""
        if method == "minimal" and (iterations is not None or regularization is not None):
            raise InputError("method 'minimal' takes no iterations and no regularization: rows are solved exactly")
        dynamics = "minimal" if minimal else f"lcaba{wanted}" if bound else "aba"
        if (integrator, dynamics) not in STEPS:
            known = sorted({int(d[5]) for i, d in STEPS if i == integrator and d.startswith("lcaba")})
            raise InputError(f"iterations is {wanted}; {integrator} has {' or '.join(map(str, known))}")
        redundant = bound and wanted > 1 and not (minimal or self.contact) and has_redundant_rows(robot)
        usual = REDUNDANT_REGULARIZATION if redundant else REGULARIZATION
        self.regularization = above_zero(usual if regularization is None else regularization, "regularization")
        stopped = robot.neutral() if stops_at is None else stops_at
        stops = joint_limits(limits)
        soft = soft_limits(robot, stops, self.contact)
        self.passive_parameters = passive_parameters(robot, passive, soft, stopped, self.dt)
        stable = robot.unconstrained()
        if bound:
            stable = unstabilized(robot) if minimal else stabilized(robot, time_constant, self.dt)
        if integrator == "euler" and passive:
            stable = with_implicit_armature(stable, self.dt)
        if not passive:
            stable = replace(stable, gravity_compensation={}, tendons=without_springs(stable.tendons))
        stable = replace(stable, tendons=stopped_tendons(robot, stable.tendons, stops is not False, stopped, self.dt))
        implicit = self.dt if integrator == "euler" and passive else 0.0
        own = replace(robot if passive else without_passive_forces(robot), constraints=stable.constraints)
        inputs = ParameterInputs(own, parameters, implicit)
        check_step_parameters(inputs.names, passive, bound and not minimal, self.contact)
        self.takes_commands = bool(robot.actuators) and not any(a.refused for a in robot.actuators)
        frames = frame_names(wrenches)
        self.contact_inputs: ContactInputs | None = None
        if self.contact:
            # constraints close within a step: their gains have no meaning
            stable, dynamics = replace(stable, constraints=robot.constraints), "contact_newton"
            moved = stable if passive else without_passive_forces(stable)
            moved = with_friction_rows(moved, inputs.chosen)
            exact = [joint.name for joint in robot.joints if stops is not False and joint.name not in soft]
            tree = contact_steps_tree(moved, frames, exact, count(contact_iterations, "contact_iterations"))
            tolerance = above_zero(contact_tolerance, "contact_tolerance")
            self.contact_inputs = ContactInputs(robot, tree, self.dt, tolerance, contact_iterations)
        elif minimal:
            tree, driven = cluster_tree(stable, frames, ties_of(robot)), ACTUATION_CLUSTER_TREE
        elif bound:
            tree = lcaba_tree_of_compliances(stable, frames)._replace(has_redundant_rows=int(redundant))
            driven = ACTUATION_LCABA_TREE
        else:
            tree, driven = tree_of(stable, frames), ACTUATION_TREE
        pulled = any(tendon.is_passive for tendon in stable.tendons)
        if not self.contact and (self.takes_commands or stable.gravity_compensation or pulled):
            dynamics += "_driven"
            tree = with_actuators(stable, tree, driven)
        self.source = robot
        self.na = int(getattr(tree, "na", 0))
        """Activations of actuators."""
        program = Program.of_robot(stable, self._algorithm(integrator, dynamics), tree)
        arguments = {
            "robot": robot,
            "integrator": integrator,
            "dt": self.dt,
            "method": method,
            "time_constant": time_constant,
            "passive": passive,
            "limits": stops,
            "regularization": regularization,
            "iterations": iterations,
            "stops_at": None if stops_at is None else np.array(stops_at),
            "wrenches": frames,
            "contact": contact,
            "contact_tolerance": contact_tolerance,
            "contact_iterations": contact_iterations,
        }
        super().__init__(stable, f"{integrator} step", lambda: program, arguments, frames, threads, inputs)

    @property
    def contact_row(self) -> ContactRow | None:
        """Where rows about contacts have what; None without contacts."""
        return None if self.contact_inputs is None else self.contact_inputs.row

    @property
    def given(self) -> GivenContacts | None:
        """Contact points of pairs without kernel text, such as those of meshes, which are found between steps."""
        return None if self.contact_inputs is None else self.contact_inputs.given

    def _algorithm(self, integrator: Integrator, dynamics: str) -> Algorithm:
        """The algorithm of the steps."""
        return (REPEATED_CONTACT_STEPS if self.contact else STEPS)[integrator, dynamics]

    def _set_backend(self, backend: Backend) -> None:
        super()._set_backend(backend)
        dtype = backend.dtype
        self._R = self._solver_settings(dtype)
        self._no_torques = np.zeros(self.robot.nv, dtype=dtype)
        self._passive = self.passive_parameters.astype(dtype)
        self._timing = np.array([self.dt, 0.0], dtype=dtype)
        self._timing_commanded = np.array([self.dt, 1.0], dtype=dtype)
        self._uncommanded = np.zeros(self.program.input_shapes()[3], dtype=dtype)
        self._once = self.repeats(1)
        self._adaptive = self.integrator == "dopri5"
        self._sizes = [shape[0] for shape in self.program.output_shapes()]

    def _new_runner(self) -> Runner:
        if self.contact and self._backend.name == "cuda":
            raise UnsupportedFeature(
                f"steps of '{self.source.name}' with contacts run on a GPU as whole rollouts: "
                "lw.Simulation(robot, count, device='cuda').step(tau=..., steps=...)"
            )
        if not self.contact or self._backend.name != "specialized":
            return super()._new_runner()
        planned = self._make_program()
        known = contact_program_tree(planned.tree, self._R[: planned.tree.nsettings], self._passive)
        step = replace(planned, algorithm=SINGLE_CONTACT_STEPS["contact_newton"], tree=known)
        step = self._parameter_inputs.program(step)
        return ContactStepsRunner(self.program, self._backend, step, self._torque_program())

    def _torque_program(self) -> Program | None:
        """The controller by itself, if there is one."""
        return None

    def _solver_settings(self, dtype: str) -> Array:
        """Regularization of rows; with contacts, settings of their solver and no forces to start from."""
        if self.contact_inputs is None:
            return row_regularization(self.robot, self.regularization, dtype)
        return self.contact_inputs.settings(dtype)

    def forces_of(self, found: Array) -> Array:
        """Constraint forces in the result of steps, ``(..., nc)``; zeros where no constraint is enabled.

        Args:
            found: The result, as the program returns it.
        """
        rows = self.source.nc
        if self.contact_row is not None:
            return self.contact_row.of_result(found, self.source.nv)[..., self.contact_row.places["multipliers"]]
        if found.shape[-1] > self.na:
            return found[..., 2 : 2 + rows]
        return np.zeros((*found.shape[:-1], rows), dtype=found.dtype)

    def activations_of(self, found: Array) -> Array | None:
        """Activations after steps, ``(..., na)``; None where no actuator has any.

        Args:
            found: The result of the steps, as the program returns it.
        """
        return found[..., found.shape[-1] - self.na :] if self.na else None

    def contacts_of(self, found: Array, before: Array | None = None) -> Array | None:
        """What simulations keep of contacts, ``(..., width)`` (`contacts`); None without them.

        Args:
            found: The result of steps, as the program returns it.
            before: What was kept before these steps, whose totals are added.
        """
        if self.contact_row is None:
            return None
        row = self.contact_row.of_result(found, self.source.nv)
        return row if before is None else self.contact_row.added(before, row)

    def __call__(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike | None = None,
        steps: int = 1,
        *,
        commands: npt.ArrayLike | None = None,
        act: npt.ArrayLike | None = None,
        wrenches: npt.ArrayLike | None = None,
        contact_state: Array | None = None,
        **parameters: npt.ArrayLike,
    ) -> StepResult:
        """The state after some steps under constant torques. Leading axes are batch axes and broadcast.

        A state of a batch that stops being finite holds NaN, with a `StateWarning`, and does so from then on; one state
        alone is an error.

        Args:
            q: Configuration, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
            tau: Joint torques, ``(..., nv)``; by default none.
            steps: How many steps.
            commands: Commands of the actuators, ``(..., actuators)``, which act beside the torques; without them
                actuators do nothing.
            act: Activations of actuators, ``(..., na)``; by default zero. The result has those after the steps.
            wrenches: External wrenches on the frames that the stepper was made with, ``(..., frames, 6)``, each
                ``[moment, force]`` in the frame's axes; by default none.
            contact_state: `StepResult.contact_state` of the steps before, whose forces these start from (warm start).
            parameters: Parameters of the robot that are inputs, by name, ``(..., rows)``; by default the robot's own.
        """
        if self.given is not None and steps != 1:
            return self._one_by_one(q, v, tau, steps, commands, act, wrenches, contact_state, parameters)
        P = self._given_parameters(parameters) if parameters else self._own_parameters
        u, _, _, R, timing = self.held(commands, contacts=contact_state, q=q, act=act)
        if tau is None:
            tau = self._no_torques
        if wrenches is None:
            wrenches = self._no_wrenches
        if self._adaptive:
            return self._estimated([q, v, tau, u, wrenches, self._passive, R, timing, *P], steps)
        settings = self._once if type(steps) is int and steps == 1 else self.repeats(count(steps, "steps"))
        nq, nv, nfound, nprogress = self._sizes
        q1, v1 = _empty(nq, self._dtype), _empty(nv, self._dtype)
        found, progress = _empty(nfound, self._dtype), _empty(nprogress, self._dtype)
        if self._entry(q, v, tau, u, wrenches, self._passive, R, timing, *P, settings, q1, v1, found, progress):
            # not one state whose arrays fit as they are
            given = [q, v, tau, u, wrenches, self._passive, R, timing, *P, settings]
            q1, v1, found, progress = self._evaluated(given)
        if self.minimal:
            self.check_loops(progress)
        return StepResult(q1, v1, found, progress, None, self)

    def _one_by_one(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike | None,
        steps: int,
        commands: npt.ArrayLike | None,
        act: npt.ArrayLike | None,
        wrenches: npt.ArrayLike | None,
        row: Array | None,
        parameters: Mapping[str, Any],
    ) -> StepResult:
        """Steps between which contact points are found."""
        made = None
        for _ in range(count(steps, "steps")):
            made = self(q, v, tau, commands=commands, act=act, wrenches=wrenches, contact_state=row, **parameters)
            q, v, row, act = made.q, made.v, self.contacts_of(made._found, row), made.act
        assert made is not None
        made._progress[..., 1] += steps - 1
        return made

    def _evaluated(self, given: list[Any]) -> list[Any]:
        """Outputs for anything array-like; NaN for states of a batch that are not finite."""
        try:
            return self.runner.evaluate(given, [None] * len(self.program.output_shapes()))
        except InputError as error:
            if self.minimal and isinstance(error, NotFinite):
                Minimal(self.source).matrix(given[0])  # `SingularConstraints`, if that is why
            found = steps_of_finite(self.runner, given)
            if found is None:
                raise
        results, lost = found
        if lost.any():
            warnings.warn(
                f"{lost.sum()} of {lost.size} states of '{self.source.name}' are not finite after these steps and hold "
                f"NaN, the first of them state {tuple(int(k) for k in np.argwhere(lost)[0])}; try a shorter dt",
                StateWarning,
                stacklevel=3,
            )
        return results

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
        return StepResult(q1, v1, found, progress, error, self)

    def bind(  # type: ignore[override]
        self,
        q: Array,
        v: Array,
        tau: Array | None = None,
        *,
        commands: Array | None = None,
        act: Array | None = None,
        wrenches: Array | None = None,
        steps: int = 1,
        out: tuple[Array, Array] | None = None,
        **parameters: Array,
    ) -> Callable[[], None]:
        """A call without arguments that makes so many steps, allocating nothing: for control loops.

        Each call reads the arrays as they are then. They must fit as they are (C-contiguous, of this stepper's dtype),
        or have one batch axis more each, the same for all.

        Args:
            q: Configuration, ``(nq,)``, read at every call.
            v: Joint velocities, ``(nv,)``.
            tau: Joint torques, ``(nv,)``; by default none.
            commands: Commands of the actuators, ``(actuators,)``; by default actuators do nothing.
            act: Activations of actuators, ``(na,)``, which every call moves on; for robots that have any.
            wrenches: External wrenches, ``(frames, 6)``; by default none.
            steps: How many steps each call makes.
            out: Arrays ``(q, v)`` that every call writes; by default ``q`` and ``v`` themselves are moved on, so that
                calls follow one another.
            parameters: Parameters of the robot that are inputs, by name; by default the robot's own.
        """
        return bound_steps(self, q, v, tau, commands, act, wrenches, steps, out, parameters)

    def held(
        self,
        commands: Any,
        wrenches: Any = None,
        contacts: Array | None = None,
        q: npt.ArrayLike | None = None,
        act: Any = None,
    ) -> tuple[Any, ...]:
        """Inputs of the steps that are held over many of them, from commands to the timing.

        Args:
            commands: Commands of the actuators, or None.
            wrenches: External wrenches on the frames that were named; by default none.
            contacts: What was kept of contacts in the step before (`contacts_of`); by default nothing.
            q: Configuration before the step, where contact points are found between steps (`given`).
            act: Activations of actuators before the step; by default zero.
        """
        pushed = self._no_wrenches if wrenches is None else wrenches
        R = self._R
        if self.contact_inputs is not None and q is not None:
            R = self.contact_inputs.started(R, contacts, q)
        if commands is None:
            u = self._uncommanded
            if act is not None and self.na:
                u = with_activations(self.source, u[: u.size - self.na], act, self._dtype)
            return u, pushed, self._passive, R, self._timing
        if not self.takes_commands:
            check_actuators(self.source)
        if self.na:
            commands = with_activations(self.source, commands, act, self._dtype)
        elif act is not None and np.size(act):
            raise InputError(f"act is given, but no actuator of '{self.source.name}' has an activation")
        return commands, pushed, self._passive, R, self._timing_commanded

    def repeats(self, steps: int) -> Array:
        """The settings for so many steps.

        Args:
            steps: How many.
        """
        return np.array([0.0, steps + 1.0], dtype=self._dtype)
