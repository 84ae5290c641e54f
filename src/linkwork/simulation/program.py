# SPDX-License-Identifier: BSD-3-Clause
"""Which program a step is: by its integrator, coordinates, contacts and actuators.

| form    | when                                 | dynamics                                   | layout of the plan |
|---------|--------------------------------------|--------------------------------------------|--------------------|
| contact | contact pairs touch                  | Newton's method with contacts (`ContactStep`) | contact steps   |
| minimal | loops, and method ``minimal``        | C-ABA, corrections of dependent joints     | clusters           |
| loops   | loops                                | LCABA, some proximal iterations            | LCABA              |
| tree    | no constraint is enabled             | ABA                                        | tree               |

Where actuators take commands, gravity is compensated or tendons pull, dynamics are the *driven* ones.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, Literal, cast

import numpy as np

from linkwork.closure.clusters import ties_of
from linkwork.closure.mobility import has_redundant_rows
from linkwork.compilers.program import Program
from linkwork.contact.reduced import reduced_plan
from linkwork.contact.step import MAX_ITERATIONS
from linkwork.contact.thresholds import CONTACT_TOLERANCE
from linkwork.dynamics.implicit_armature import with_implicit_armature, without_passive_forces
from linkwork.dynamics.iterations import REDUNDANT_REGULARIZATION, REGULARIZATION, SolverSettings
from linkwork.dynamics.unmodeled_contacts import warn_unmodeled
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.inputs import above_zero, among, count
from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.contact.newton import CONTACT_NEWTON
from linkwork.kernels.steps.contact_steps import BOUNDED_CONTACT_STEPS, REPEATED_CONTACT_STEPS, SINGLE_CONTACT_STEPS
from linkwork.kernels.steps.control import Control, controlled, controller_torques
from linkwork.kernels.steps.integrators import DIFFERENTIATED, STEPS, single
from linkwork.kernels.steps.reduced_steps import REDUCED_DYNAMICS, REPEATED_REDUCED_STEPS, TIMED_DYNAMICS
from linkwork.kernels.steps.rollouts import rollout
from linkwork.kernels.steps.stage_dynamics import (
    DRIVEN_LOOPS_1,
    DRIVEN_LOOPS_3,
    DRIVEN_MINIMAL,
    DRIVEN_TREES,
    LOOPS_1,
    LOOPS_3,
    MINIMAL,
    STOP_DAMPING,
    TIMED_LOOPS_1,
    TIMED_LOOPS_3,
    TIMED_TREES,
    TREES,
    Dynamics,
)
from linkwork.model.model import Model
from linkwork.model.tendons import without_springs
from linkwork.plans.actuation import with_actuators
from linkwork.plans.clusters import cluster_tree
from linkwork.plans.contact_steps import contact_program_tree, contact_steps_tree
from linkwork.plans.force_elements import has_force_elements, without_force_elements
from linkwork.plans.implicit_damping import ImplicitDamping, with_armature
from linkwork.plans.lcaba import lcaba_tree_of_compliances
from linkwork.plans.parameters import with_friction_rows
from linkwork.plans.tree import Tree, tree_of
from linkwork.quantities.arguments import Array
from linkwork.quantities.motions import is_timed
from linkwork.quantities.parameters import ParameterInputs, ParameterNames
from linkwork.simulation.contact_inputs import ContactInputs, has_reduced_steps
from linkwork.simulation.contact_warnings import warn_of_rows_left_out
from linkwork.simulation.contacts import ContactRow
from linkwork.simulation.open_loops import open_loops
from linkwork.simulation.settings import StepSettings
from linkwork.simulation.stabilization import (
    check_step_parameters,
    passive_parameters,
    soft_limits,
    stabilized,
    stopped_tendons,
    unstabilized,
    with_exact_limits,
)

INTEGRATORS: Mapping[str, int] = MappingProxyType({"euler": 1, "rk4": 4, "dopri5": 5})
"""Integrators and their orders."""

Form = Literal["tree", "loops", "minimal", "contact"]

DYNAMICS: Mapping[tuple[Form, int], tuple[Dynamics, Dynamics]] = MappingProxyType(
    {
        ("tree", 0): (TREES, DRIVEN_TREES),
        ("loops", 1): (LOOPS_1, DRIVEN_LOOPS_1),
        ("loops", 3): (LOOPS_3, DRIVEN_LOOPS_3),
        ("minimal", 0): (MINIMAL, DRIVEN_MINIMAL),
    }
)
"""Forward dynamics of steps without contacts, alone and driven, by form and proximal iterations."""

TIMED: Mapping[str, Dynamics] = MappingProxyType(
    {TREES.name: TIMED_TREES, LOOPS_1.name: TIMED_LOOPS_1, LOOPS_3.name: TIMED_LOOPS_3}
)
"""Those of robots with constraints or forces that depend on time."""

_controlled, _rollout = lru_cache(maxsize=64)(controlled), lru_cache(maxsize=64)(rollout)
"""Algorithms by controller, so that equal controllers share code."""


@dataclass(frozen=True, eq=False)
class StepProgram:
    """The program of steps of one robot, with its settings and inputs."""

    source: Model
    """The robot of the caller."""
    robot: Model
    """The robot as steps see it: stabilized, with the armature of implicit springs and dampers, and with stops."""
    settings: StepSettings
    form: Form
    key: tuple[str, str]
    """Integrator and dynamics, in the tables of kernels."""
    tree: Tree
    passive: Array
    """Springs, dampers and stops of joints, ``(nv, 7)``."""
    solver: SolverSettings
    parameters: ParameterInputs
    contact: ContactInputs | None
    """Inputs about contacts; None without them."""
    control: Control | None = None
    """The controller that is compiled with the steps, if there is one."""
    control_every: int = 0

    @cached_property
    def takes_commands(self) -> bool:
        """Whether actuators take commands."""
        return bool(self.source.actuators) and not any(a.refused for a in self.source.actuators)

    @cached_property
    def timed(self) -> bool:
        """Whether steps have a clock: something depends on time."""
        return is_timed(self.robot)

    @cached_property
    def na(self) -> int:
        """Activations of actuators."""
        return int(getattr(self.tree, "na", 0))

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = self.source, self.settings, self.parameters.recipe, self.control, self.control_every
        return _restored, arguments

    @property
    def algorithm(self) -> Algorithm:
        """The algorithm that repeats a step, under the controller if there is one."""
        if self.control is not None:
            return _controlled(*self.key, self.control)
        steps = REPEATED_CONTACT_STEPS | REPEATED_REDUCED_STEPS if self.contact else STEPS
        return steps[self.key]

    @cached_property
    def by_slots(self) -> StepProgram:
        """Itself, or the same steps with all slots of all pairs, for straight-line programs and derivatives."""
        if self.contact is None or not self.contact.reduced:
            return self
        settings, names = replace(self.settings, by_slots=True), cast(ParameterNames, self.parameters.recipe)
        program = _restored(self.source, settings, names, self.control, self.control_every)
        warn_unmodeled(self.source, False, ball_limits=self.settings.limits is not False)
        return program

    @cached_property
    def repeated(self) -> Program:
        """The program that repeats a step, without parameters as inputs."""
        return Program.of_robot(self.robot, self.algorithm, self.tree)

    def rollout(self, control: Control | None) -> Program:
        """Many steps in place, under a controller if there is one, as a GPU makes them with a warp a robot.

        Args:
            control: The controller; None: torques are given.
        """
        return replace(self.repeated, algorithm=_rollout(*self.key, control))

    def single(self, dtype: str) -> Program:
        """One step as a straight line; with contacts its first iteration, and further ones.

        Args:
            dtype: Of settings that are constants of the program.
        """
        planned = self.repeated
        if self.contact is None:
            program = self.parameters.program(planned)
            return replace(program, algorithm=single(program.algorithm))
        settings = self.contact.settings(dtype)[: self.tree.nsettings]
        tree = contact_program_tree(self.tree, settings, self.passive.astype(dtype))
        one = SINGLE_CONTACT_STEPS[CONTACT_NEWTON.name]
        return self.parameters.program(replace(planned, algorithm=one, tree=tree))

    def bounded(self, dtype: str) -> Program:
        """The program of one step with contacts, which leaves fast turning bodies to its caller.

        Args:
            dtype: Of settings that are constants of the program.
        """
        algorithm = BOUNDED_CONTACT_STEPS[CONTACT_NEWTON.name]
        return self.parameters.program(replace(self.repeated, algorithm=algorithm, tree=self.single(dtype).tree))

    @property
    def differentiated(self) -> Program:
        """One step as a straight line, without the loop that repeats it: derivatives are taken of it.

        With constraint forces refined where they are those of a single iteration, which has eight digits, and whose
        derivatives have fewer.
        """
        planned = self.repeated
        if self.settings.integrator == "dopri5":
            return planned
        algorithm = planned.algorithm
        return replace(planned, algorithm=single(DIFFERENTIATED.get(algorithm.name, algorithm)))

    def torques(self, control: Control) -> Program:
        """A controller by itself.

        Args:
            control: The controller.
        """
        planned = self.repeated
        return replace(planned, algorithm=controller_torques(control, planned.algorithm.layout))

    # Results -----------------------------------------------------------------------------------------------------

    @property
    def contact_row(self) -> ContactRow | None:
        """Layout of rows about contacts; None without contacts."""
        return None if self.contact is None else self.contact.row

    def forces_of(self, result: Array) -> Array:
        """Constraint forces in the result of steps, ``(..., nc)``; zeros where no constraint is enabled.

        Args:
            result: As the program returns it.
        """
        if self.contact is not None:
            row = self.contact.row
            return row.of_result(result, self.source.nv)[..., row.places["multipliers"]]
        if result.shape[-1] > self.na:
            return result[..., 2 : 2 + self.source.nc]
        return np.zeros((*result.shape[:-1], self.source.nc), dtype=result.dtype)

    def accelerations_of(self, result: Array) -> Array:
        """Joint accelerations in the result of steps with contacts, in the axes of the start, ``(..., nv)``.

        Args:
            result: As the program returns it.
        """
        if self.contact is None:
            raise UnsupportedFeature(f"steps of '{self.source.name}' without contacts do not return accelerations")
        first = self.contact.row.accelerations
        return result[..., first : first + self.source.nv]

    def activations_of(self, result: Array) -> Array | None:
        """Activations after steps, ``(..., na)``; None where no actuator has any.

        Args:
            result: As the program returns it.
        """
        return result[..., result.shape[-1] - self.na :] if self.na else None

    def contacts_of(self, result: Array, before: Array | None = None) -> Array | None:
        """Rows that simulations keep of contacts, ``(..., width)`` (`contacts`); None without them.

        Args:
            result: As the program returns it.
            before: Rows before these steps, whose totals are added.
        """
        if self.contact is None:
            return None
        row = self.contact.row.of_result(result, self.source.nv)
        return row if before is None else self.contact.row.added(before, row)

    def check_loops(self, progress: Array, when: str = "") -> None:
        """Raise an error where steps in minimal coordinates could not close loops.

        Args:
            progress: Residuals of the steps, ``(..., 2)``.
            when: Words for the time, if it is known.
        """
        faults = progress[..., 0]
        if not (faults < 0).any():
            return
        at = tuple(int(k) for k in np.argwhere(faults < 0)[0])
        where = when or f"after {int(progress[*at, 1]) - 1} steps: "
        raise open_loops(self.source, float(faults[at]), f"state {at}, {where}" if at else where)


def step_program(robot: Model, settings: StepSettings, parameters: ParameterNames = ()) -> StepProgram:
    """The program of steps, for `Stepper`.

    Args:
        robot: The mechanism.
        settings: Settings of the steps.
        parameters: Parameters of the robot that are inputs.
    """
    _check(settings)
    form = _form(robot, settings)
    if is_timed(robot) and (form == "minimal" or settings.by_slots):
        how, hint = "in minimal coordinates", "use method='auto', with project_every=1 for exact loops"
        if form == "contact":
            how, hint = "with contacts by compile(), on GPUs and in derivatives", "use native steps"
        what = "have no clock, and a constraint or force of it depends on time"
        raise UnsupportedFeature(f"steps of '{robot.name}' {how} {what}: {hint}")
    solver = _solver(robot, settings, form)
    at = robot.neutral() if settings.stops_at is None else np.array(settings.stops_at)
    soft = soft_limits(robot, settings.limits, form == "contact")
    passive = passive_parameters(robot, settings.passive, soft, at, settings.dt, settings.integrator == "euler")
    stopped = np.flatnonzero(passive[:, STOP_DAMPING]).tolist()
    moved = _moved(robot, settings, form, at)
    own = replace(robot if settings.passive else without_passive_forces(robot), constraints=moved.constraints)
    inputs = ParameterInputs(own, parameters, settings.implicit_time)
    check_step_parameters(inputs.names, settings.passive, form == "loops", form == "contact")
    contact = None
    if form == "contact":
        reduced, compliant = has_reduced_steps(robot, settings), settings.contact == "soft"
        exact_tendons = reduced and settings.limits is not False and settings.limits != "soft"
        tendons = with_exact_limits(robot, moved.tendons) if exact_tendons else moved.tendons
        # constraints close within a step: their gains have no meaning
        moved = replace(moved, constraints=robot.constraints, tendons=tendons)
        exact = [joint.name for joint in robot.joints if settings.limits is not False and joint.name not in soft]
        rows = with_friction_rows(moved if settings.passive else without_passive_forces(moved), inputs.chosen)
        implicit = _implicit_damping(robot, settings, form, inputs)
        warn_unmodeled(robot, reduced, ball_limits=settings.limits is not False)
        if reduced:
            plan = robot, rows, settings.wrenches, exact, solver, implicit
            tree = reduced_plan(*plan, soft=compliant, tendon_limits=exact_tendons)
        else:
            tree = contact_steps_tree(rows, settings.wrenches, exact, solver.max_iterations, stopped, implicit)
        contact = ContactInputs(robot, tree, settings.dt, solver, reduced)
        native = TIMED_DYNAMICS if is_timed(robot) else REDUCED_DYNAMICS
        key = settings.integrator, native.name if reduced else CONTACT_NEWTON.name
    else:
        warn_of_rows_left_out(robot, settings.limits is not False)
        tree = _tree(robot, moved, settings, form, solver)
        implicit = _implicit_damping(robot, settings, form, inputs)
        if implicit is not None:
            tree = with_armature(tree, stopped)
        dynamics, driven = DYNAMICS[form, solver.max_iterations if form == "loops" else 0]
        pulled = any(tendon.is_passive for tendon in moved.tendons)
        commanded = bool(robot.actuators) and not any(a.refused for a in robot.actuators)
        if is_timed(moved):
            driven = TIMED[dynamics.name]
        if commanded or moved.gravity_compensation or pulled or is_timed(moved) or has_force_elements(moved):
            dynamics, tree = driven, with_actuators(moved, tree, driven.layout, implicit)
        key = settings.integrator, dynamics.name
    return StepProgram(robot, moved, settings, form, key, tree, passive, solver, inputs, contact)


def _restored(
    robot: Model, settings: StepSettings, parameters: ParameterNames, control: Control | None, control_every: int
) -> StepProgram:
    """The step program from its pickled parts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what was warned before
        return replace(step_program(robot, settings, parameters), control=control, control_every=control_every)


def _check(settings: StepSettings) -> None:
    if settings.integrator not in INTEGRATORS:
        raise InputError(f"no integrator {settings.integrator!r}{among(settings.integrator, INTEGRATORS)}")
    if settings.method not in ("auto", "minimal"):
        raise InputError(f"no method {settings.method!r} of compiled steps; there are auto, minimal")


def _form(robot: Model, settings: StepSettings) -> Form:
    if settings.touching(robot):
        return "contact"
    if not any(c.enabled for c in robot.constraints):
        return "tree"
    return "minimal" if settings.method == "minimal" else "loops"


def _solver(robot: Model, settings: StepSettings, form: Form) -> SolverSettings:
    """Settings of the iterations of a step, checked."""
    most, contact = settings.max_iterations, form == "contact"
    if settings.method == "minimal" and (most is not None or settings.regularization is not None):
        raise InputError("method 'minimal' takes no max_iterations and no regularization: rows are solved exactly")
    if settings.tolerance is not None and not contact:
        hint = "; how exact steps of dopri5 are is accuracy" if settings.integrator == "dopri5" else ""
        raise InputError(f"tolerance is that of steps with contacts, and '{robot.name}' makes steps without{hint}")
    if most is None:
        most = MAX_ITERATIONS if contact else 1 if settings.integrator == "euler" else 3
    most = count(most, "max_iterations")
    known = [n for (kind, n), (d, _) in DYNAMICS.items() if kind == "loops" and (settings.integrator, d.name) in STEPS]
    if form == "loops" and most not in known:
        numbers = " or ".join(map(str, known))
        raise InputError(f"max_iterations is {most}; {settings.integrator} without contacts has {numbers}")
    redundant = form == "loops" and most > 1 and has_redundant_rows(robot)
    usual = REDUNDANT_REGULARIZATION if redundant else REGULARIZATION
    chosen = None if contact else settings.regularization
    regularization = above_zero(usual if chosen is None else chosen, "regularization")
    tolerance = above_zero(CONTACT_TOLERANCE if settings.tolerance is None else settings.tolerance, "tolerance")
    return SolverSettings(regularization, tolerance, most)


def _moved(robot: Model, settings: StepSettings, form: Form, at: Array) -> Model:
    """The robot as steps see it, for stops that are made at a configuration."""
    dt = settings.dt
    bound = any(c.enabled for c in robot.constraints)
    moved = robot.unconstrained()
    if bound:
        moved = unstabilized(robot) if form == "minimal" else stabilized(robot, settings.time_constant, dt)
    return with_joint_forces(robot, moved, settings, at)


def with_joint_forces(robot: Model, moved: Model, settings: StepSettings, at: Array) -> Model:
    """A changed robot with the armature of implicit springs and dampers, and with the forces of its tendons.

    Args:
        robot: The mechanism.
        moved: The program with other constraints.
        settings: Settings of the steps.
        at: The configuration that stops of tendons are made for.
    """
    moved = with_implicit_armature(moved, settings.implicit_time)
    if not settings.passive:
        moved = replace(moved, gravity_compensation={}, tendons=without_springs(moved.tendons))
        moved = without_force_elements(moved)
    tendons = stopped_tendons(robot, moved.tendons, settings.limits is not False, at, settings.dt)
    return replace(moved, tendons=tendons)


def _implicit_damping(
    robot: Model, settings: StepSettings, form: Form, inputs: ParameterInputs
) -> ImplicitDamping | None:
    """Which dampers belong to the matrix of steps: all of semi-implicit Euler."""
    if settings.integrator != "euler":
        return None
    variable = bool({"actuator_gain", "actuator_bias"} & set(inputs.names))
    exact = form == "tree" or (form == "contact" and has_reduced_steps(robot, settings))
    return ImplicitDamping(variable, bounded=not exact)


def _tree(robot: Model, moved: Model, settings: StepSettings, form: Form, solver: SolverSettings) -> Tree:
    """The arrays of a robot that steps without contacts read."""
    if form == "minimal":
        return cluster_tree(moved, settings.wrenches, ties_of(robot))
    if form == "tree":
        return tree_of(moved, settings.wrenches)
    redundant = solver.max_iterations > 1 and has_redundant_rows(robot)
    return lcaba_tree_of_compliances(moved, settings.wrenches)._replace(has_redundant_rows=int(redundant))
