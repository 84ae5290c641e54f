# SPDX-License-Identifier: BSD-3-Clause
"""How long the first step of a robot with contacts takes in a fresh process, with an empty cache and with a full one.

``python -m linkwork_benchmarks.scene_files.first_call SCENE`` is one such process; it prints seconds as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from time import perf_counter, process_time

from linkwork_benchmarks.report import REPOSITORY


def first_call(name: str) -> dict[str, float]:
    """Seconds from the loaded robot to the result of its first step, wall clock and CPU time."""
    import linkwork as lw
    from linkwork_benchmarks.scene_files.systems import load_robot

    robot = load_robot(name)
    q, v = robot.neutral(), [0.0] * robot.nv
    wall, cpu = perf_counter(), process_time()
    lw.Stepper(robot)(q, v)
    return {"wall": perf_counter() - wall, "cpu": process_time() - cpu}


def _process(name: str, cache: str) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", "linkwork_benchmarks.scene_files.first_call", name],
        cwd=REPOSITORY,
        env={**os.environ, "LINKWORK_CACHE_DIR": cache},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    seconds: dict[str, float] = json.loads(done.stdout)
    return seconds


def measure(name: str, processes: int) -> dict[str, float]:
    """One process that finds an empty cache, then the best of several that find a full one.

    Args:
        name: The scene.
        processes: How many of the latter.
    """
    with tempfile.TemporaryDirectory() as cache:
        cold = _process(name, cache)
        warm = [_process(name, cache) for _ in range(processes)]
    found = {f"cold.{key}.s": seconds for key, seconds in cold.items()}
    return found | {f"warm.{key}.s": min(w[key] for w in warm) for key in cold}


if __name__ == "__main__":
    print(json.dumps(first_call(sys.argv[1])))
