# SPDX-License-Identifier: BSD-3-Clause
"""Simulation of one robot, for `simulate` and `Trajectory.resume`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from linkwork.errors import InputError
from linkwork.inputs import SimulationIntegrator, SimulationMethod, above_zero, count, named_options
from linkwork.model.model import Model
from linkwork.simulation.activations import initial_activations
from linkwork.simulation.actuation import ControlFunction, constant_actuation, frame_wrenches
from linkwork.simulation.contact_warnings import warn_of_missed_steps
from linkwork.simulation.control import Controller
from linkwork.simulation.early_end import advice, warn_of_early_end
from linkwork.simulation.event_runs import EventRun
from linkwork.simulation.events import events_of
from linkwork.simulation.given_pairs import with_usable_contacts
from linkwork.simulation.initial import initial_state, start_of, with_mocap_of
from linkwork.simulation.integrator_choice import chosen_integrator, warn_of_stiff_elements
from linkwork.simulation.loop import progress_bar
from linkwork.simulation.open_loops import warn_of_open_loops
from linkwork.simulation.probes import probed, probes_of
from linkwork.simulation.recorder import M
from linkwork.simulation.run import Run, checked_controller
from linkwork.simulation.schedule import Schedule
from linkwork.simulation.settings import RENAMED, SimulationOptions, StepSettings
from linkwork.simulation.stabilization import warn_of_stiff_servos
from linkwork.simulation.state import State
from linkwork.simulation.thresholds import STEP_ACCURACY
from linkwork.simulation.wrench_functions import with_wrench_functions


@named_options(SimulationOptions, renamed=RENAMED)
def simulate(
    kind: type[M],
    /,
    robot: Model,
    q: npt.ArrayLike | str | None = None,
    v: npt.ArrayLike | None = None,
    *,
    act: npt.ArrayLike | None = None,
    seconds: float,
    dt: float = 1e-3,
    integrator: SimulationIntegrator = "auto",
    method: SimulationMethod = "auto",
    controller: Controller | ControlFunction | None = None,
    tau: npt.ArrayLike | None = None,
    commands: npt.ArrayLike | None = None,
    wrenches: Mapping[str, npt.ArrayLike | Callable[..., Any]] | None = None,
    until: Any = None,
    events: Any = None,
    probes: Any = None,
    record_every: int = 1,
    progress: bool | None = None,
    **options: Unpack[SimulationOptions],
) -> M:
    """The motion of a robot over time, as an object of some class; arguments are those of `linkwork.simulate`."""
    robot, wrenches = with_wrench_functions(with_usable_contacts(robot, options.get("contact")), wrenches)
    h, project_every, start = above_zero(dt, "dt"), options.get("project_every", 0), float(options.get("start", 0.0))
    if not isinstance(project_every, int) or project_every < 0:
        raise InputError(f"project_every is {project_every!r}, needs a whole number, 0 for never")
    if not np.isfinite(start):
        raise InputError(f"start is {options.get('start')!r}, needs a finite number")
    control_every, output = (
        count(options.get("control_every", 1), "control_every"),
        options.get("controller_output", "auto"),
    )
    schedule = Schedule.of(
        above_zero(seconds, "seconds"),
        h,
        start,
        record=count(record_every, "record_every"),
        control=0 if controller is None else control_every,
        project=project_every,
    )
    controlled = any(one is not None for one in (tau, commands, controller))
    robot = with_mocap_of(robot, q)
    q, act, of_pose = start_of(robot, q, act, controlled)
    soft = options.get("contact") == "soft"
    at, rate = initial_state(robot, q, v, options.get("closed", True), start, soft)
    constant = constant_actuation(robot, tau, commands if of_pose is None else of_pose)
    frames, pushed = frame_wrenches(robot, wrenches)
    settings, reason = StepSettings.of(h, integrator, method, frames, options, stops_at=at), ""
    if chosen := settings.integrator == "auto":
        integrator, reason = chosen_integrator(robot, at, settings, start)
        settings = replace(settings, integrator=integrator)
    settings = settings.started_at(robot, at)
    warn_of_stiff_elements(robot, at, settings, start, start + seconds)
    if constant.commands is not None or output == "commands":
        warn_of_stiff_servos(robot, at, h, settings.integrator)
    state = State(at, rate, constant, np.zeros(robot.nc), None, initial_activations(robot, act))
    control, outputs = checked_controller(controller, robot, constant), probes_of(probes)

    def attempt(settings: StepSettings, reason: str) -> tuple[M, bool]:
        """The motion, and whether it ended since it stopped being finite."""
        run = Run(
            robot,
            settings,
            schedule,
            state,
            pushed,
            control,
            output,
            accuracy=above_zero(options.get("accuracy", STEP_ACCURACY), "accuracy"),
            contact_state=options.get("contact_state"),
        )
        saved = run.saved() | ({"integrator_reason": reason} if reason else {})
        cut = EventRun(run, events_of(until, events))
        try:
            with progress_bar(progress, schedule.end - schedule.start, robot.name) as report:
                ended = cut.roll(report)
        except Exception as error:
            vars(error)["trajectory"] = cut.motion(kind, saved)
            raise
        return cut.motion(kind, saved, ended), bool(ended) and not cut.stopped

    motion, lost = attempt(settings, reason)
    repeatable = until is events is None and (control is None or isinstance(control, Controller))
    if lost and chosen and settings.integrator == "rk4" and repeatable:
        settings = replace(settings, integrator="euler")
        motion, lost = attempt(settings, f"{reason}, and rk4 was {motion.ended}")
    if motion.contact_state is not None and len(motion):
        warn_of_missed_steps(robot, motion.contact_state[-1], h)
    if lost:
        ended = f"{motion.ended}; {advice(robot, at, settings.integrator, h, settings.passive)}"
        warn_of_early_end(robot, ended)
        motion = replace(motion, ended=ended)
    elif options.get("closed", True) and len(motion):
        warn_of_open_loops(motion)
    return probed(motion, outputs)
