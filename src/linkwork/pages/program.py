# SPDX-License-Identifier: BSD-3-Clause
"""The program of a page: steps under torques and pulls, placements and velocities of bodies, energy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np

from linkwork.closure.evaluators import project_velocity
from linkwork.compilers.trace.tracing import GPU_OPERATIONS
from linkwork.compilers.wasm.module import WasmModule
from linkwork.dynamics.forward import ForwardDynamics
from linkwork.errors import InputError
from linkwork.export.wasm import compiled_module
from linkwork.inputs import ContactLaw, PageIntegrator, ParameterName
from linkwork.model.constraints import Pair
from linkwork.model.model import Model
from linkwork.quantities.arguments import Array
from linkwork.quantities.evaluator import Evaluator
from linkwork.quantities.functions import frame_jacobian
from linkwork.quantities.motions import has_motions
from linkwork.simulation import Stepper
from linkwork.simulation.contacts import has_contacts
from linkwork.simulation.integrator_choice import chosen_integrator
from linkwork.simulation.settings import StepOptions, StepSettings

FEW = 12
"""Degrees of freedom of a robot whose link lengths are inputs, too."""
HELD = 1e-12
"""Of the acceleration without constraints, below which a joint is held by them."""
LENGTHS: tuple[ParameterName, ...] = ("joint_position", "anchor_position")


@dataclass(frozen=True, eq=False)
class PageProgram:
    """The module of a page, and the robot that it steps."""

    robot: Model
    stepper: Stepper
    module: WasmModule
    parameters: tuple[ParameterName, ...]


def page_program(
    robot: Model,
    q: Array,
    dt: float,
    parameters: Sequence[ParameterName] | None,
    contact: ContactLaw = None,
    integrator: PageIntegrator = "auto",
) -> PageProgram:
    """Compile the programs of a page.

    Args:
        robot: The mechanism.
        q: Configuration that the page begins with: stops are made for it, as `simulate` makes them.
        dt: Time of one step, in seconds.
        parameters: Parameters that sliders change; None: gravity, masses, and without contacts link lengths of small
            robots.
        contact: Whether contact pairs touch, as for `Stepper`.
        integrator: Integrator of the steps; by default the choice of `simulate` of those that a page has.
    """
    if integrator not in get_args(PageIntegrator):
        raise InputError(
            f"no integrator {integrator!r} of live pages, needs one of {', '.join(get_args(PageIntegrator))}"
        )
    touching = has_contacts(robot, contact, "euler", "auto")
    chosen = _usual(robot, touching) if parameters is None else tuple(dict.fromkeys(("gravity", *parameters)))
    bodies = robot.body_names
    options: StepOptions = {"contact": contact if touching else False}
    settings = StepSettings.of(dt, integrator, "auto", bodies, options, stops_at=q)
    if integrator == "auto":
        usual = chosen_integrator(robot, q, settings).integrator
        settings = replace(settings, integrator="rk4" if usual == "rk4" else "euler")
    settings = settings.started_at(robot, q)
    stepper = Stepper.of_settings(robot, settings, chosen)
    moving = [name for name in chosen if name == "joint_position"]
    evaluators = {
        "step": stepper,
        "placements": Evaluator(robot, "frame_placement", bodies, parameters=moving),
        "velocities": Evaluator(robot, "frame_velocity", bodies, "local", parameters=moving),
        "energy": Evaluator(robot, "energy", parameters=[name for name in chosen if name != "anchor_position"]),
    }
    module, _ = compiled_module(evaluators, ["settings"], GPU_OPERATIONS)
    return PageProgram(robot, stepper, module, chosen)


def _usual(robot: Model, touching: bool) -> tuple[ParameterName, ...]:
    if robot.nv > FEW or touching:
        return "gravity", "mass"
    loops = any(isinstance(constraint, Pair) and constraint.enabled for constraint in robot.constraints)
    return "gravity", "mass", *(LENGTHS if loops else LENGTHS[:1])


# Apparent inertia of motors and bodies -----------------------------------------------------------------------------


def joint_inertias(robot: Model, q: Array) -> Array:
    """The effective inertia at each degree of freedom, loops included: 1 over its acceleration under a unit torque,
    ``(nv,)``; infinite where constraints hold it.

    Args:
        robot: The mechanism.
        q: A configuration with closed loops.
    """
    moved = _own_accelerations(robot, q)
    free = _own_accelerations(robot.unconstrained(), q) if robot.nc else moved
    inertias = np.full(robot.nv, np.inf)
    np.divide(1.0, moved, out=inertias, where=moved > HELD * free)
    return inertias


def _own_accelerations(robot: Model, q: Array) -> Array:
    """The acceleration of each degree of freedom under a unit torque on it, ``(nv,)``."""
    fd, v, none = ForwardDynamics(robot), _slowest(robot, q), np.zeros(robot.nv)
    still = fd(q, v, none).acceleration
    return np.array([abs(fd(q, v, unit).acceleration[k] - still[k]) for k, unit in enumerate(np.eye(robot.nv))])


def _slowest(robot: Model, q: Array) -> Array:
    """The velocity closest to rest: drives may move."""
    rest = np.zeros(robot.nv)
    return project_velocity(robot, q, rest) if has_motions(robot) else rest


def body_masses(robot: Model, q: Array) -> Array:
    """The least apparent mass at the origin of each body, loops included, ``(bodies,)``.

    Args:
        robot: The mechanism.
        q: A configuration with closed loops.
    """
    bodies = robot.body_names
    fd = ForwardDynamics(robot, wrenches=bodies)
    v, none = _slowest(robot, q), np.zeros(robot.nv)
    J = frame_jacobian(robot, q, bodies, reference="local")[:, 3:]
    still = fd(q, v, none, np.zeros((len(bodies), 6))).acceleration
    largest = np.zeros(len(bodies))
    for k in range(len(bodies)):
        wrenches = np.zeros((3, len(bodies), 6))
        wrenches[:, k, 3:] = np.eye(3)
        moved = [fd(q, v, none, wrench).acceleration - still for wrench in wrenches]
        largest[k] = np.abs(np.linalg.eigvals(J[k] @ np.transpose(moved))).max()  # of J M⁻¹ Jᵀ
    return np.where(largest > 0, 1.0 / np.maximum(largest, np.finfo(np.float64).tiny), np.inf)
