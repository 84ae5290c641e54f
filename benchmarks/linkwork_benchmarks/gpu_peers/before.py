# SPDX-License-Identifier: BSD-3-Clause
"""Steps a second on a GPU beside those of another revision: ``python -m linkwork_benchmarks.gpu_peers.before FOLDER``.

FOLDER has a copy of the repository at the revision, as ``mkdir before && git archive REVISION src | tar x -C before``
makes it. Both run the scenarios of ``gpu_peers`` in processes of their own, in turn, after a first one that compiles.
Humanoid and G1, 4096 and 8192 robots each, take about six minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import linkwork as lw
from linkwork_benchmarks.gpu_peers.scenarios import PHASES, Fall
from linkwork_benchmarks.gpu_peers.studies import _ours, _states
from linkwork_benchmarks.scene_files.files import FILES, scene_file

ROUNDS = 2
"""Runs of each revision, of which the fastest counts."""

Rates = dict[str, float]


def alone(scene: str, robots: int) -> tuple[Rates, Rates]:
    """Steps a second of each phase by the package that is imported here, and what is left at the end.

    Args:
        scene: Name of a scene.
        robots: Number of robots.
    """
    robot = lw.load(scene_file(FILES[scene]))
    return _ours(robot, Fall(scene, robots), _states(robot, robots))


def in_process(source: Path, scene: str, robots: int) -> tuple[Rates, Rates]:
    """`alone` in a process that imports the package from a folder.

    Args:
        source: The folder.
        scene: Name of a scene.
        robots: Number of robots.
    """
    command = [sys.executable, "-m", "linkwork_benchmarks.gpu_peers.before", "--alone", scene, str(robots)]
    benchmarks = str(Path(__file__).parents[2])
    path = os.pathsep.join([str(source), benchmarks, os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(done.stderr)
    rates, left = json.loads(done.stdout.strip().splitlines()[-1])
    return rates, left


def fastest(runs: list[Rates]) -> Rates:
    """The largest rate of each phase.

    Args:
        runs: Rates of runs.
    """
    return {phase: max(run[phase] for run in runs) for phase in runs[0]}


def main() -> None:
    """Print million steps a second of both revisions, and what is left of each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--scenes", nargs="+", default=["humanoid", "g1"])
    parser.add_argument("--robots", nargs="+", type=int, default=[4096, 8192])
    parser.add_argument("--alone", nargs=2)
    options = parser.parse_args()
    if options.alone:
        print(json.dumps(alone(options.alone[0], int(options.alone[1]))))
        return
    sources = {"before": options.folder / "src", "now": Path(lw.__file__).parents[1]}
    for scene in options.scenes:
        for robots in options.robots:
            runs: dict[str, list[Rates]] = {name: [] for name in sources}
            for _ in range(ROUNDS):
                for name, source in sources.items():
                    rates, left = in_process(source, scene, robots)
                    runs[name].append(rates)
                    print(f"  {name}: {left}", flush=True)
            for name, several in runs.items():
                best = fastest(several)
                words = ", ".join(f"{phase} {best[phase] / 1e6:.2f}" for phase in PHASES)
                print(f"{scene}, {robots} robots, {name}: {words}", flush=True)


if __name__ == "__main__":
    main()
