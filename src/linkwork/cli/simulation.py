# SPDX-License-Identifier: BSD-3-Clause
"""Simulation of a model from rest, and its summary, for ``linkwork simulate``."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from rich.console import Console

import linkwork as lw
from linkwork.cli.loading import ModelRequest, check_method, load_model, start_configuration
from linkwork.cli.options import RecordOptions, SimulationOptions
from linkwork.cli.terminal import printable, slow_notice
from linkwork.drawing.figures import VIDEOS
from linkwork.drawing.mp4 import ffmpeg
from linkwork.drawing.pictures import PICTURES, kind_of
from linkwork.dynamics.methods import METHODS
from linkwork.model.arrays import Floats
from linkwork.model.constraints import WORLD
from linkwork.model.shapes import Ground
from linkwork.simulation import Trajectory


@dataclass(frozen=True)
class SimulationResult:
    """A trajectory, and how long it took to compute."""

    trajectory: Trajectory
    file: str
    wall: float
    """Seconds of computing."""
    warnings: list[str]

    def as_json(self) -> dict[str, Any]:
        """The same for JSON; keys are explained in docs/cli.md."""
        run, energy = self.trajectory, self.trajectory.energy
        return {
            "linkwork": lw.__version__,
            "file": self.file,
            "robot": run.robot.name if run.robot else "",
            "seconds": float(run.times[-1] - run.times[0]),
            "wall_seconds": self.wall,
            "states": len(run),
            "ended": run.ended,
            "energy_first": _finite(energy["total"][0]),
            "energy_last": _finite(energy["total"][-1]),
            "loops_open_by": float(np.nan_to_num(run.errors).max(initial=0.0)),
            "largest_force": float(np.abs(run.multipliers).max(initial=0.0)),
            "fastest": float(np.abs(run.v).max(initial=0.0)),
            **({} if run.contact_state is None else {"contacts": self._contacts()}),
            "settings": run.settings,
            "warnings": self.warnings,
        }

    def _contacts(self) -> dict[str, Any]:
        """Contacts at the end, energy that they took, and how well steps were solved."""
        contacts = self.trajectory.contacts
        series = list(contacts.values())
        return {
            "touching": int(sum(np.count_nonzero(one.touching[-1]) for one in series)),
            "sliding": int(sum(np.count_nonzero(one.sliding[-1]) for one in series)),
            "normal_force": _finite(sum(float(one.total[-1]) for one in series)),
            "dissipated": {name: _finite(lost[-1]) for name, lost in contacts.dissipated.items()},
            "residual": _finite(contacts.residual[-1]),
            "missed": int(contacts.missed[-1]),
        }

    def save(self, record: RecordOptions) -> None:
        """Write the files asked for."""
        if record.out is not None:
            self.trajectory.save(record.out)
        if record.plot is not None:
            self.trajectory.plot(record.plot)
        if record.video is not None:
            with slow_notice(f"drawing {record.video}"):
                self.trajectory.save_video(record.video)

    def draw(self, console: Console) -> None:
        """Print the summary."""
        robot, lines = self.trajectory.robot, self.lines()
        width = max(len(word) for word, _ in lines)
        console.print(printable(robot.name) if robot else "", overflow="fold")
        for word, text in lines:
            console.print(f"  {word:<{width}}  {text}", overflow="fold")

    def lines(self) -> list[tuple[str, str]]:
        """The summary: what, and its value."""
        values = self.as_json()
        first, last = values["energy_first"], values["energy_last"]
        end = "not finite" if last is None else f"{last - first:+.3g} J"
        found = [
            ("simulated", f"{values['seconds']:g} s in {self.wall:.2g} s, {values['states']} states recorded"),
            ("integrator", f"{values['settings']['integrator']}, steps of {values['settings']['dt']:g} s"),
            ("energy", f"{first:.6g} J at the start, {end} at the end"),
        ]
        if self.trajectory.robot is not None and self.trajectory.robot.nc:
            found += [
                ("loops", f"open by {values['loops_open_by']:.2g} at most (m, rad)"),
                ("constraint forces", f"{values['largest_force']:.4g} at most (N, N m)"),
            ]
        if "contacts" in values:
            found += _contact_lines(values["contacts"])
        found.append(("fastest joint", f"{values['fastest']:.4g} (m/s, rad/s)"))
        if values["ended"]:
            found.append(("ended early", str(values["ended"])))
        found += [("warning", text) for text in self.warnings]
        return found


def _contact_lines(contacts: dict[str, Any]) -> list[tuple[str, str]]:
    """The summary of contacts: what, and its value."""
    force, lost = contacts["normal_force"], contacts["dissipated"]["total"]
    words = f"{contacts['touching']} points touch at the end, {contacts['sliding']} of them slide"
    if force is not None:
        words += f"; {force:.4g} N in all"
    found = [("contacts", words)]
    if lost is not None:
        found.append(("dissipated", f"{lost:.4g} J by friction, impacts and stops"))
    return found


def standing(robot: lw.Mechanism, q: Floats) -> Floats:
    """The robot lifted onto the ground where it would be in it, if it floats.

    Args:
        robot: The mechanism.
        q: Configuration, ``(nq,)``.
    """
    grounds = [
        pair.name for pair in robot.contacts if pair.first.body == WORLD and isinstance(pair.first.solid, Ground)
    ]
    base = robot.joints[0] if robot.joints else None
    if not grounds or base is None or base.parent != WORLD or not isinstance(base.type, lw.Free):
        return q
    found = lw.ContactGeometry(robot)(q)
    # how far along z the least gap of each pair is below zero
    rise = max(float((-found[name].gaps / found[name].normals[:, 2]).max()) for name in grounds)
    lifted = q.copy()
    lifted[robot.q_slice(base.name)][:3] += base.placement.rotation.T @ (0.0, 0.0, max(rise, 0.0))
    return lifted


def _finite(x: float) -> float | None:
    """A number for JSON, which has no infinity and no NaN: these are None."""
    return float(x) if np.isfinite(x) else None


def check_output_paths(record: RecordOptions) -> None:
    """Raise `InputError`, before a long simulation, for a plot or video of a kind that cannot be written here."""
    if record.plot is not None:
        kind_of(record.plot, PICTURES)
    if record.video is not None and kind_of(record.video, VIDEOS) == ".mp4":
        ffmpeg()


def simulate_file(
    file: Path, request: ModelRequest, options: SimulationOptions, *, progress: bool | None = None
) -> SimulationResult:
    """Load a model, close its loops, put it on the ground if it has one, and simulate it from rest."""
    chosen: dict[str, Any] = {}
    if options.method is not None:
        chosen["method"] = check_method(options.method, ["auto", "minimal", *METHODS])
    robot, raised = load_model(file, request)
    q = standing(robot, start_configuration(robot, request))
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", lw.StateWarning)
        trajectory = lw.simulate(
            robot,
            q,
            seconds=options.seconds,
            dt=options.dt,
            integrator=cast(Any, options.integrator),
            record_every=options.every,
            limits=not request.assembly.ignore_limits,
            progress=progress,
            **chosen,
        )
    raised += [str(warning.message) for warning in caught]
    return SimulationResult(trajectory, str(file), time.perf_counter() - began, raised)
