# SPDX-License-Identifier: BSD-3-Clause
"""Models that run in the browser, for ``linkwork view`` and ``linkwork simulate --live``."""

from __future__ import annotations

from typing import Any

from linkwork.cli.loading import ModelRequest, UsageError, start_commands
from linkwork.cli.options import RecordOptions, SimulationOptions
from linkwork.cli.simulation import placed
from linkwork.errors import AssemblyError
from linkwork.mechanism import Mechanism
from linkwork.model.poses import HOME


def check_live(options: SimulationOptions, record: RecordOptions, *, view: bool, as_json: bool) -> None:
    """Raise `UsageError` for options that a simulation without an end does not have.

    Args:
        options: Options of the simulation.
        record: Files to be saved.
        view: Whether the trajectory would be shown.
        as_json: Whether a summary would be printed.
    """
    chosen = {"--out": record.out, "--plot": record.plot, "--video": record.video, "--view": view, "--json": as_json}
    for option, value in chosen.items():
        if value:
            raise UsageError(f"--live: a live run has no trajectory for {option}; give one of the two")
    if options.integrator not in ("auto", "euler") or options.method not in (None, "auto"):
        raise UsageError("--live: live runs are made by integrator 'euler' and method 'auto'")


def view_live(
    robot: Mechanism, request: ModelRequest, options: SimulationOptions, viewer: dict[str, Any], *, playing: bool
) -> None:
    """Show a model in the browser, where it can be run, until Ctrl-C.

    Args:
        robot: The model.
        request: Options of loading, and the start.
        options: Options of the simulation.
        viewer: Keyword arguments of ``view``.
        playing: Whether it runs at once.
    """
    commands = start_commands(robot, request)
    activations = robot.activations.get(HOME if request.pose is None else request.pose)
    moved, q, _ = placed(robot, request, options)
    moved.view(q, live=True, dt=options.dt, commands=commands, act=activations, playing=playing, **viewer)


def view_file(robot: Mechanism, request: ModelRequest, viewer: dict[str, Any]) -> None:
    """Shows a file live, paused; without motion where its loops do not close or it has no joints.

    Args:
        robot: The model.
        request: Options of loading, and the start.
        viewer: Keyword arguments of ``view``.
    """
    request.check_pose(robot)
    if robot.nv:
        try:
            view_live(robot, request, SimulationOptions(), viewer, playing=False)
        except AssemblyError:
            if request.pose is not None:
                raise
        else:
            return
    robot.view(**viewer)
