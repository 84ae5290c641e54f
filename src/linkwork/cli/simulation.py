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
from linkwork.cli.loading import ModelRequest, UsageError, check_method, load_model, start_commands, start_configuration
from linkwork.cli.options import RecordOptions, SimulationOptions
from linkwork.cli.standing import height_of, on_own_ground, standing
from linkwork.cli.terminal import printable, slow_notice
from linkwork.drawing.figures import VIDEOS
from linkwork.drawing.mp4 import ffmpeg
from linkwork.drawing.pictures import PICTURES, kind_of
from linkwork.dynamics.methods import METHODS
from linkwork.errors import InputError
from linkwork.mechanism import Mechanism
from linkwork.model.arrays import Floats
from linkwork.model.constraints import WORLD
from linkwork.simulation import Trajectory
from linkwork.simulation.files import KINDS
from linkwork.simulation.given_pairs import with_usable_contacts

SLIGHT = 1e-3
"""Pairs press that have more than this part of the largest normal force."""
LISTED = 4
"""Pairs whose largest forces are in the summary."""


@dataclass(frozen=True)
class SimulationResult:
    """A trajectory, and how long it took to compute."""

    trajectory: Trajectory
    file: str
    wall: float
    """Seconds of computing."""
    warnings: list[str]
    ground: str = ""
    """Contacts that were added to let the robot stand; none where the file has a ground and the robot is above it."""

    def as_json(self) -> dict[str, Any]:
        """The report for JSON; keys are explained in docs/reference/cli.md."""
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
            "ground": self.ground,
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
            "largest": self._largest(),
            "normal_force": _finite(sum(float(one.total[-1]) for one in series)),
            "dissipated": {name: _finite(lost[-1]) for name, lost in contacts.dissipated.items()},
            "residual": _finite(contacts.residual[-1]),
            "missed": int(contacts.missed[-1]),
        }

    def _largest(self) -> dict[str, dict[str, float | None]]:
        """Of pairs that pressed, the largest recorded normal force and the last; the largest first."""
        totals = {name: np.nan_to_num(one.total) for name, one in self.trajectory.contacts.items()}
        most = {name: float(total.max()) for name, total in totals.items()}
        least = SLIGHT * max(most.values(), default=0.0)
        pressed = sorted((name for name in most if most[name] > least), key=lambda name: -most[name])
        return {name: {"largest": _finite(most[name]), "last": _finite(totals[name][-1])} for name in pressed}

    def save(self, record: RecordOptions) -> None:
        """Write the requested files."""
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
        end = "not finite" if last is None else f"{last:.6g} J"
        change = "" if last is None else f" ({last - first:+.3g} J)"
        chosen = values["settings"].get("integrator_reason")
        reason = f" ({chosen})" if chosen else ""
        lines = [("ground", self.ground)] if self.ground else []
        lines += [
            ("simulated", f"{values['seconds']:g} s in {self.wall:.2g} s, {values['states']} states recorded"),
            ("integrator", f"{self.trajectory.integrator}{reason}, steps of {values['settings']['dt']:g} s"),
            ("energy", f"{first:.6g} J at the start, {end} at the end{change}"),
        ]
        if self.trajectory.robot is not None and self.trajectory.robot.nc:
            lines += [
                ("loops", f"open by {values['loops_open_by']:.2g} at most (m, rad)"),
                ("constraint forces", f"{values['largest_force']:.4g} at most (N, N m)"),
            ]
        if "contacts" in values:
            lines += _contact_lines(values["contacts"])
        lines.append(("fastest joint", f"{values['fastest']:.4g} (m/s, rad/s)"))
        if values["ended"]:
            lines.append(("ended early", str(values["ended"])))
        lines += [("warning", text) for text in self.warnings]
        return lines


def _contact_lines(contacts: dict[str, Any]) -> list[tuple[str, str]]:
    """The summary of contacts: what, and its value."""
    force, lost = contacts["normal_force"], contacts["dissipated"]
    words = f"{contacts['touching']} points touch at the end, {contacts['sliding']} of them slide"
    if force is not None:
        words += f"; {force:.4g} N in all"
    lines = [("contacts", words)]
    some = list(contacts["largest"].items())[:LISTED]
    if some:
        parts = [f"{printable(name)} {one['largest'] or np.inf:.4g} N" for name, one in some]
        more = len(contacts["largest"]) - len(some)
        lines.append(("contact forces", f"at most {', '.join(parts)}" + (f" and {more} more" if more else "")))
    if lost["total"] is not None:
        parts = [f"{lost[name] or 0.0:.3g} by {name}" for name in ("friction", "impacts", "joints")]
        lines.append(("dissipated", f"{lost['total']:.4g} J: {', '.join(parts)}"))
    steps = f"{contacts['missed']} steps, residual {contacts['residual'] or np.inf:.2g} m/s"
    lines.append(("not solved", steps if contacts["missed"] else "no step"))
    return lines


def _finite(x: float) -> float | None:
    """A number for JSON, which has no infinity and no NaN: these are None."""
    return float(x) if np.isfinite(x) else None


def check_output_paths(record: RecordOptions) -> None:
    """Raise `UsageError`, before a long simulation, for a file of a kind that is not written."""
    kinds = {"--out": (record.out, KINDS), "--plot": (record.plot, PICTURES), "--video": (record.video, VIDEOS)}
    for option, (path, known) in kinds.items():
        try:
            kind = kind_of(path, known) if path is not None else ""
        except InputError as error:
            raise UsageError(f"{option}: {error}") from None
        if kind == ".mp4":
            ffmpeg()


def simulate_file(
    file: Path, request: ModelRequest, options: SimulationOptions, *, progress: bool | None = None
) -> SimulationResult:
    """Load a model, close its loops, put it on the ground if it floats, and simulate it from rest."""
    chosen: dict[str, Any] = {}
    if options.method is not None:
        chosen["method"] = check_method(options.method, ["auto", "minimal", *METHODS])
    robot, raised = load_model(file, request)
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        for category in (lw.errors.ModelWarning, lw.errors.StateWarning):
            warnings.simplefilter("always", category)
        moved, q, ground = placed(robot, request, options)
        trajectory = lw.simulate(
            moved,
            q,
            seconds=options.seconds,
            dt=options.dt,
            integrator=cast(Any, options.integrator),
            record_every=options.every,
            limits=not request.assembly.ignore_limits,
            progress=progress,
            commands=start_commands(robot, request),
            **chosen,
        )
    raised += [str(warning.message) for warning in caught]
    return SimulationResult(trajectory, str(file), time.perf_counter() - began, raised, ground)


def placed(robot: Mechanism, request: ModelRequest, options: SimulationOptions) -> tuple[Mechanism, Floats, str]:
    """The robot with its ground, the initial state, and a description of both.

    Args:
        robot: The mechanism of a file.
        request: Options of loading.
        options: Options of the simulation.
    """
    q = start_configuration(robot, request)
    knows_contacts = options.integrator in ("auto", "euler") and options.method in (None, "auto", "lcaba")
    if not knows_contacts:
        return robot, q, ""
    moved = with_usable_contacts(on_own_ground(robot, request), None)
    own = not any(shape.body == WORLD and shape.collides for shape in robot.shapes)
    at = standing(moved, q, lower=own)
    rise = height_of(moved, at) - height_of(moved, q)
    words = []
    if len(moved.contacts) > len(robot.contacts):
        words.append("the plane z = 0, which is not in the file (--contacts none: no ground)")
    if abs(rise) > 1e-9:
        words.append(f"the robot starts {abs(rise):.4g} m {'higher' if rise > 0 else 'lower'}, to stand on it")
    return moved, at, "; ".join(words)
