"""From a file to a run: a model let go, and what became of it in a few lines."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.cli.looking import Look, Misused, read, start_of
from linkwork.cli.terminal import patience
from linkwork.drawing.figures import VIDEOS
from linkwork.drawing.mp4 import ffmpeg
from linkwork.drawing.pictures import PICTURES, kind_of
from linkwork.dynamics.methods import METHODS
from linkwork.inputs import suggest
from linkwork.simulation import Trajectory


@dataclass(frozen=True)
class Simulated:
    """A run, and how it went."""

    run: Trajectory
    file: str
    wall: float
    """Seconds that it took."""
    warnings: list[str]

    def as_json(self) -> dict[str, Any]:
        """What scripts read; keys are explained in docs/cli.md."""
        run, energy = self.run, self.run.energy
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
            "settings": run.settings,
            "warnings": self.warnings,
        }

    def keep(self, out: Path | None, plot: Path | None, video: Path | None) -> None:
        """Write what was asked for."""
        if out is not None:
            self.run.save(out)
        if plot is not None:
            self.run.plot(plot)
        if video is not None:
            with patience(f"drawing {video}"):
                self.run.save_video(video)

    def lines(self) -> list[tuple[str, str]]:
        """The same for people."""
        facts = self.as_json()
        first, last = facts["energy_first"], facts["energy_last"]
        end = "beyond what floats hold" if last is None else f"{last - first:+.3g} J"
        found = [
            ("simulated", f"{facts['seconds']:g} s in {self.wall:.2g} s, {facts['states']} states kept"),
            ("integrator", f"{facts['settings']['integrator']}, steps of {facts['settings']['dt']:g} s"),
            ("energy", f"{first:.6g} J at the start, {end} at the end"),
        ]
        if self.run.robot is not None and self.run.robot.nc:
            found += [
                ("loops", f"open by {facts['loops_open_by']:.2g} at most (m, rad)"),
                ("constraint forces", f"{facts['largest_force']:.4g} at most (N, N m)"),
            ]
        found.append(("fastest joint", f"{facts['fastest']:.4g} (m/s, rad/s)"))
        if facts["ended"]:
            found.append(("ended early", str(facts["ended"])))
        return found


def _finite(x: float) -> float | None:
    """A number for JSON, which knows no others; None for those."""
    return float(x) if np.isfinite(x) else None


def check_places(plot: Path | None, video: Path | None) -> None:
    """`InputError` where a picture or a film would be of no kind that can be written here: known before a long run."""
    if plot is not None:
        kind_of(plot, PICTURES)
    if video is not None and kind_of(video, VIDEOS) == ".mp4":
        ffmpeg()


def check_method(method: str) -> str:
    """The name of a method of simulation, or `Misused`."""
    known = ["auto", "minimal", *METHODS]
    if method not in known:
        raise Misused(f"--method: no method '{method}'{suggest(method, known)} (there are {', '.join(known)})")
    return method


def simulate_file(file: Path, how: Look, **options: Any) -> Simulated:
    """Load a model, close its loops, and let it go."""
    robot, raised = read(file, how)
    q = start_of(robot, how)
    began = time.perf_counter()
    run = lw.simulate(robot, q, **options)
    return Simulated(run, str(file), time.perf_counter() - began, raised)
