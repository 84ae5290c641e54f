# SPDX-License-Identifier: BSD-3-Clause
"""Sensors of a state and a solution, and along trajectories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.contact.geometry import ContactGeometry
from linkwork.contact.solution import ContactSolution, box_forces
from linkwork.conversions import texts
from linkwork.dynamics.inverse_solution import InverseSolution
from linkwork.dynamics.motion import Motion
from linkwork.dynamics.solution import Solution
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.inputs import ContactLaw, StepMethod, float_array
from linkwork.model.checks import check_robot
from linkwork.model.computed import computed_once
from linkwork.model.joints import Free, Planar
from linkwork.model.model import Model
from linkwork.model.tendons import without_springs
from linkwork.quantities.actuation import (
    acting_activations,
    commands_and_activations,
    element_forces,
    gravity_compensation,
    tendon_forces,
)
from linkwork.quantities.arguments import Array
from linkwork.quantities.functions import passive_forces
from linkwork.quantities.sensors import Sensors, SensorValues
from linkwork.simulation.actuation import frame_wrenches
from linkwork.simulation.step_result import StepResult
from linkwork.simulation.stepper import Stepper

Known = Solution | InverseSolution | ContactSolution | StepResult | npt.ArrayLike | None
"""Accelerations and forces, as far as known."""


def sensor_data(
    robot: Model,
    q: npt.ArrayLike,
    v: npt.ArrayLike | None = None,
    solution: Known = None,
    *,
    names: str | Sequence[str] | None = None,
    commands: npt.ArrayLike | None = None,
    act: npt.ArrayLike | None = None,
    wrenches: Mapping[str, npt.ArrayLike] | None = None,
    time: npt.ArrayLike | None = None,
) -> SensorValues:
    """Values of sensors by name, ``(..., size)`` each; ``.vector`` are all of them in a row, MuJoCo's ``sensordata``.

    `Sensors` is the same to hold on to, to `bind`, to `compile`, and for torch and JAX.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        v: Joint velocities, ``(..., nv)``; all sensors but those of positions need them.
        solution: Result of `ForwardDynamics`, `InverseDynamics.solve` or `ContactStep` for this state, or a
            `Stepper` for one step from it; or joint accelerations ``(..., nv)`` alone, of a robot without constraints.
        names: Names of sensors; by default all that are computed.
        commands: Commands of the actuators, ``(..., actuators)``, for sensors of their forces.
        act: Activations that these come from, ``(..., na)``, as for `actuator_torques`; by default zero.
        wrenches: External wrenches by frame that acted, ``{"hand": [*moment, *force]}``, as in `simulate`.
        time: Seconds, for clocks.
    """
    check_robot(robot)
    if q is None:
        raise InputError("q is None, needs a configuration")
    frames, acting = frame_wrenches(robot, wrenches)
    forces = _of_solution(robot, q, v, solution)
    without = isinstance(solution, Solution | InverseSolution)
    sensors = _made_once(robot, _names(names), frames, False if without else None)
    clock = None if time is None else float_array(time, "time")[..., None]
    u = None if commands is None else commands_and_activations(robot, commands, act)
    inputs = {"q": q, "v": v, "commands": u, "wrenches": acting if frames else None, "time": clock}
    return _evaluated(sensors, inputs | forces.inputs(robot, q, sensors.inputs))


@dataclass(frozen=True)
class Forces:
    """Accelerations, and forces that made them. Leading axes are those of the batch."""

    acceleration: Any = None
    constraint_forces: Any = None
    contact_forces: Any = None
    """Along t1, t2, n of contact points, on second shapes; None without contacts."""
    limit_forces: Any = None
    contact_moments: Any = None
    """About these axes; None: none."""
    native: bool = False
    """Whether contact points are those of native kernels, as in steps by the reduced matrix."""

    @property
    def touches(self) -> bool:
        """Whether contacts are known."""
        return self.contact_forces is not None

    def inputs(self, robot: Model, q: npt.ArrayLike, names: Sequence[str]) -> dict[str, Any]:
        """Inputs of `Sensors`."""
        contacts = None
        if "contacts" in names and self.touches:
            contacts = contacts_in_world(robot, q, self.contact_forces, self.contact_moments, self.native)
        return {
            "a": self.acceleration,
            "constraint_forces": self.constraint_forces,
            "contacts": contacts,
            "limit_forces": self.limit_forces,
        }


def trajectory_sensors(trajectory: Motion, names: str | Sequence[str] | None = None) -> SensorValues:
    """Values of sensors at the recorded states of a trajectory; see `Trajectory.sensors`."""
    robot, settings = trajectory._known(), trajectory.settings
    touched = trajectory.contact_state is not None
    if settings.get("parameters"):
        raise UnsupportedFeature(
            f"sensors along a trajectory are those of '{robot.name}', and its robots were simulated with "
            f"{', '.join(settings['parameters'])} of their own; for those of one of them: "
            "lw.sensors.sensor_data(robot.with_parameters(...), q, v, solution)"
        )
    q, v = trajectory.q, trajectory.v
    frames, acting = frame_wrenches(robot, settings.get("wrenches"), q.shape[1] if q.ndim > 2 else None)
    sensors = _made_once(robot, _names(names), frames, touched if robot.contacts else None)
    times = trajectory.times.reshape(-1, *(1,) * (q.ndim - 1))
    sent, act = trajectory.commands, trajectory.act
    if sent is not None and act is not None:
        act = acting_activations(robot, sent, act, settings["dt"])
    u = None if sent is None else commands_and_activations(robot, sent, act)
    inputs = {"q": q, "v": v, "commands": u, "wrenches": acting if frames else None}
    inputs["time"] = np.broadcast_to(times, (*q.shape[:-1], 1))
    forces = Forces()
    if {"a", "contacts", "limit_forces"} & set(sensors.inputs):
        step = _stepper(trajectory, robot, frames)
        forces = _in_the_next_step(trajectory, step, acting if frames else None)
        if any(tendon.is_spatial for tendon in robot.tendons):  # with the stops, springs and dampers of the steps
            chosen = touched if robot.contacts else None
            sprung = robot.tendons if settings.get("passive", True) else without_springs(robot.tendons)
            pairs = zip(sprung, step.robot.tendons, strict=True)
            tendons = tuple(replace(tendon, stop=stepped.stop) for tendon, stepped in pairs)
            sensors = Sensors(replace(robot, tendons=tendons), sensors.names, frames, chosen)
    return _evaluated(sensors, inputs | forces.inputs(robot, q, sensors.inputs))


def _stepper(trajectory: Motion, robot: Model, frames: Sequence[str]) -> Stepper:
    """Steps as those of the trajectory, by semi-implicit Euler; without springs and dampers where they are explicit."""
    kept = trajectory.settings
    same = {name: kept[name] for name in ("time_constant", "passive", "limits", "stops_at") if name in kept}
    same["passive"] = kept.get("passive", True) and not _explicitly_passive(trajectory)
    method: StepMethod = "minimal" if kept["method"] == "minimal" else "auto"
    touched: ContactLaw = trajectory.contact_state is not None
    if kept.get("contact") == "soft":
        touched = "soft"
    return Stepper(robot, kept["dt"], method=method, wrenches=frames, contact=touched, **same)


def _explicitly_passive(trajectory: Motion) -> bool:
    """Whether springs and dampers acted as they were at a state: in stages of Runge-Kutta methods."""
    return bool(trajectory.settings.get("passive", True)) and trajectory.settings["integrator"] != "euler"


def _passive_torques(robot: Model, q: Array, v: Array) -> Array:
    """Torques of springs and dampers of joints and tendons, and of gravity compensation, ``(..., nv)``."""
    unstopped = replace(robot, tendons=tuple(replace(tendon, stop=(0.0, 0.0)) for tendon in robot.tendons))
    elements = element_forces(robot, q, v) if robot.forces else 0.0
    return passive_forces(robot, q, v) + tendon_forces(unstopped, q, v) + gravity_compensation(robot, q) + elements


def _in_the_next_step(trajectory: Motion, step: Stepper, acting: Array | None) -> Forces:
    """Accelerations and forces in the steps that follow recorded states: all are made once more, in one batch."""
    tau = trajectory.tau  # with what actuators make of commands
    if _explicitly_passive(trajectory):
        tau = tau + _passive_torques(step.source, trajectory.q, trajectory.v)
    results = step(
        trajectory.q,
        trajectory.v,
        tau,
        wrenches=acting,
        contact_state=trajectory.contact_state,
    )
    if trajectory.contact_state is None:
        return Forces((results.v - trajectory.v) / step.dt, results.multipliers)
    a = step.planned.accelerations_of(results.result) + axes_accelerations(step.source, trajectory.v)
    boxes = results.contacts._part("boxes")
    limits = box_forces(step.program.tree, boxes, limits=True)
    return Forces(a, results.multipliers, results.contacts.forces, limits, results.contacts.moments, step.reduced)


def contacts_in_world(
    robot: Model,
    q: npt.ArrayLike,
    forces: npt.ArrayLike,
    moments: npt.ArrayLike | None = None,
    native: bool = False,
) -> Array:
    """Contacts as `Sensors` take them, ``(..., nslots, 12)``: point, normal, force and moment in the world.

    Args:
        robot: The mechanism, with contact pairs.
        q: Configuration, ``(..., nq)``.
        forces: Of contact points along t1, t2, n, on the second shape of each pair, ``(..., nslots, 3)``.
        moments: About these axes, of the same shape; by default none.
        native: Whether contact points are those of native kernels.
    """
    geometry = _geometry(robot, native)(q)
    along = np.asarray(forces)
    about = np.zeros_like(along) if moments is None else np.asarray(moments)
    acting, turning = ((geometry.frames @ x[..., None])[..., 0] for x in (along, about))
    there = geometry.exists[..., None]  # a slot without a point has no place
    parts = geometry.points * there, geometry.normals, acting * there, turning * there
    return np.concatenate(np.broadcast_arrays(*parts), axis=-1)


def axes_accelerations(robot: Model, v: npt.ArrayLike) -> Array:
    """Accelerations of free and planar joints that come from their turning axes, ``(..., nv)``.

    Their velocities are in axes that turn; results of steps with contacts are in the axes of the start of a step.

    Args:
        robot: The mechanism.
        v: Joint velocities, ``(..., nv)``.
    """
    rates = np.asarray(v, dtype=np.float64)
    accelerations = np.zeros_like(rates)
    for joint in robot.joints:
        k = robot.v_slice(joint.name).start
        if isinstance(joint.type, Free):
            accelerations[..., k : k + 3] = -np.cross(rates[..., k + 3 : k + 6], rates[..., k : k + 3])
        elif isinstance(joint.type, Planar):
            accelerations[..., k] = rates[..., k + 2] * rates[..., k + 1]
            accelerations[..., k + 1] = -rates[..., k + 2] * rates[..., k]
    return accelerations


def _of_solution(robot: Model, q: npt.ArrayLike, v: npt.ArrayLike | None, solution: Known) -> Forces:
    if solution is None:
        return Forces()
    if isinstance(solution, ContactSolution):
        if v is None:
            raise InputError("sensors of a step with contacts need the velocity at its start, v")
        limits = solution.limit_impulses / solution._layout.dt
        a = solution.acceleration + axes_accelerations(robot, v)
        return Forces(a, solution.multipliers, solution.forces, limits, solution.moments, solution.is_listed)
    if isinstance(solution, InverseSolution) and solution.contacts:
        raise InputError("contact forces of inverse dynamics are not measured: pass a solution of ContactStep")
    if isinstance(solution, Solution | InverseSolution):
        return Forces(solution.acceleration, solution.multipliers)
    if isinstance(solution, StepResult):
        return _of_step(v, solution)
    return Forces(float_array(solution, "solution"))


def _of_step(v: npt.ArrayLike | None, step: StepResult) -> Forces:
    """Forces of one step from a state with the velocity ``v``."""
    planned = step._planned
    if v is None:
        raise InputError("sensors of a step need the state at its start: give its velocity v")
    if planned.settings.integrator != "euler" or (step.steps > 1).any():
        raise InputError(
            "sensors measure what acts in one step of semi-implicit Euler from q, v: this result is of "
            f"{int(step.steps.max(initial=0))} steps by {planned.settings.integrator}; make single steps, or use "
            "run.sensors() of a simulation"
        )
    before = float_array(v, "v")
    if step.contact_state is None:
        return Forces((step.v - before) / planned.settings.dt, step.multipliers)
    a = planned.accelerations_of(step.result) + axes_accelerations(planned.source, before)
    limits = box_forces(planned.tree, step.contacts._part("boxes"), limits=True)
    return Forces(a, step.multipliers, step.contacts.forces, limits)


def _evaluated(sensors: Sensors, given: Mapping[str, Any]) -> SensorValues:
    why = {
        "v": "joint velocities: give v",
        "a": "joint accelerations: give the solution of ForwardDynamics, or of ContactStep",
        "constraint_forces": "forces of constraints: give the solution of ForwardDynamics, or of ContactStep",
        "commands": "commands of the actuators: give commands",
        "contacts": "contact forces: give the solution of ContactStep",
        "limit_forces": "forces of joint limits, which the solution of ContactStep has",
        "time": "the time: give time",
    }
    for name in sensors.inputs:
        if given[name] is None:
            first = next(sensor for sensor in sensors.sensors if name in sensor.needs)
            raise InputError(
                f"sensor '{first.name}' ({first.type}) of '{sensors.robot.name}' needs {why[name]}; or choose others, "
                "names=[...]"
            )
    return sensors.by_name(sensors(*(given[name] for name in sensors.inputs)))


def _names(names: str | Sequence[str] | None) -> tuple[str, ...] | None:
    return None if names is None else (names,) if isinstance(names, str) else texts(names, "names")


@computed_once
def _made_once(robot: Model, names: tuple[str, ...] | None, frames: tuple[str, ...], contacts: bool | None) -> Sensors:
    return Sensors(robot, names, frames, contacts)


@computed_once
def _geometry(robot: Model, native: bool) -> ContactGeometry:
    return ContactGeometry(robot, native=native)
