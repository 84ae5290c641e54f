# SPDX-License-Identifier: BSD-3-Clause
"""`simulate`: one robot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

import numpy.typing as npt

from linkwork.inputs import SimulationIntegrator, SimulationMethod, named_options
from linkwork.model.model import Model
from linkwork.simulation import single
from linkwork.simulation.actuation import ControlFunction
from linkwork.simulation.control import Controller
from linkwork.simulation.events import Crossing, Event
from linkwork.simulation.probes import Probe
from linkwork.simulation.settings import RENAMED, SimulationOptions
from linkwork.simulation.trajectory import Trajectory


@named_options(SimulationOptions, renamed=RENAMED)
def simulate(
    robot: Model,
    q: npt.ArrayLike | None = None,
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
    until: Crossing | Event | Sequence[Crossing | Event] | None = None,
    events: Event | Sequence[Event] | None = None,
    probes: Probe | Sequence[Probe] | Mapping[str, Callable[[Trajectory], npt.ArrayLike]] | None = None,
    record_every: int = 1,
    progress: bool | None = None,
    **options: Unpack[SimulationOptions],
) -> Trajectory:
    """The trajectory of a robot over time.

    By default forward dynamics is `aba` or `lcaba`, and steps are compiled; so they are in minimal coordinates. Other
    methods step in Python, some twenty to a hundred times slower, and there, with ``dopri5`` and with ``project_every``
    kernels are called as Python functions.

    Servos follow their commands in every step, also where the controller is called less often; without commands
    actuators do nothing. Torques act beside commands.

    A robot with contact pairs touches: bodies do not pass through each other, and friction holds them
    (`Trajectory.contacts`). See `Stepper` for what that means.

    Started again from any recorded state (`Trajectory.resume`), it goes on as it did, to the last bit: steps, controls,
    records and projections happen at multiples of ``dt`` on a clock that starts at time zero. Where something stops
    being finite, it ends there and says why: `Trajectory.ended`, and a `SimulationWarning`. An error of the controller
    is raised, with the simulation until then as its ``trajectory``.

    Args:
        robot: The mechanism.
        q: Configuration at the start, ``(nq,)``, or the name of a pose; by default the pose ``home``, else
            ``assembled``, else ``qpos0``, in which an MJCF file is drawn, else the neutral one.
        v: Joint velocities at the start, ``(nv,)``; by default at rest.
        act: Activations of actuators at the start, ``(na,)``, such as ``robot.activations["home"]``; by default zero.
        seconds: Duration. It need not be a multiple of ``dt``: the last step is then shorter, so that the simulation
            ends when it should.
        dt: Time of one step, in seconds; the longest one of ``dopri5`` and ``radau``.
        integrator: Integrator of the steps, see `Stepper`; or ``"radau"``, the implicit method Radau IIA of fifth
            order, which projects loops after every step, for stiff robots. By default one that is chosen for the robot:
            ``rk4`` for closed loops, ``euler`` for trees and contacts, ``radau`` for stiff force elements;
            `Trajectory.integrator` says which.
        method: Forward dynamics: ``"auto"``, any method of `ForwardDynamics`, or ``"minimal"``, which moves in minimal
            coordinates with loops closed at every stage; `SingularConstraints` where the independent joints come to a
            dead center of theirs.
        controller: Computes torques of all joints or commands of the actuators, which are held in between: a
            `Controller` or a kernel, which is compiled with the steps, or a Python function of time, ``q`` and ``v``.
        tau: Constant torques, ``(nv,)``.
        commands: Constant commands of the actuators, ``(actuators,)``; with a controller that returns commands, those
            before it is first called.
        wrenches: External wrenches by frame, ``{"hand": [*moment, *force]}`` in the frame's axes: constant, or
            functions ``f(t)`` or ``f(t, q, v)`` that return such numbers, which become force elements of the robot.
        until: A function ``f(t, q, v)``, an `Event`, or several of these: the simulation ends where the first crosses
            zero, ``run.ended`` says which, and the last state is there.
        events: Actions at zero crossings of functions, see `Event`; ``run.events`` are those that occurred.
        probes: Outputs that are evaluated along the run, see `Probe`; or functions of the run by name.
        record_every: Steps between two states that are kept.
        progress: Whether progress is shown; by default where it takes long and there is a terminal.
        options: About controllers and the clock (``control_every``, ``controller_output``, ``start``), steps
            (``contact``, ``time_constant``, ``passive``, ``limits``, ``stops_at``, ``regularization``, ``tolerance``,
            ``max_iterations``), and ``project_every``, ``accuracy``, ``closed``, ``contact_state``: see
            `SimulationOptions`.
    """
    return single.simulate(
        Trajectory,
        robot,
        q,
        v,
        act=act,
        seconds=seconds,
        dt=dt,
        integrator=integrator,
        method=method,
        controller=controller,
        tau=tau,
        commands=commands,
        wrenches=wrenches,
        until=until,
        events=events,
        probes=probes,
        record_every=record_every,
        progress=progress,
        **options,
    )
