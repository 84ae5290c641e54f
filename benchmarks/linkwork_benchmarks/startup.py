# SPDX-License-Identifier: BSD-3-Clause
"""How long a fresh process waits for compiled forward dynamics: with an empty cache, and with a full one.

``python -m linkwork_benchmarks.startup ROBOT`` is one such process; it prints the seconds of its stages as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

REPOSITORY = Path(__file__).resolve().parents[2]


def stages(name: str) -> dict[str, float]:
    """Seconds of each stage in this process, which must not have imported linkwork before."""
    start = perf_counter()
    import linkwork as lw

    imported = perf_counter()
    from linkwork_benchmarks.robots import ROBOTS

    found = perf_counter()
    robot = ROBOTS[name].load()
    loaded = perf_counter()
    fd = lw.ForwardDynamics(robot)
    prepared = perf_counter()
    fast = fd.compile()
    compiled = perf_counter()
    state = (robot.neutral(), [0.0] * robot.nv, [0.0] * robot.nv)
    fast(*state)
    called = perf_counter()
    fd(*state)
    return {
        "import": imported - start,
        "load": loaded - found,  # parsing the file is not compiling
        "compile": compiled - prepared,
        "ready": called - loaded,
        "native": perf_counter() - called,
    }


def _process(name: str, cache: str) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", "linkwork_benchmarks.startup", name],
        cwd=REPOSITORY,
        env={**os.environ, "LINKWORK_CACHE_DIR": cache},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    seconds: dict[str, float] = json.loads(done.stdout)
    return seconds


def measure(name: str, processes: int) -> dict[str, float]:
    """One process that finds an empty cache, then the best of several that find a full one."""
    from linkwork_benchmarks.runner import say  # not above: stages begin before linkwork is imported

    with tempfile.TemporaryDirectory() as cache:
        say("  a process with an empty cache ...")
        cold = _process(name, cache)
        warm = [_process(name, cache) for _ in range(processes)]
    found = {f"{name}.startup.cold.{stage}.s": seconds for stage, seconds in cold.items()}
    found |= {f"{name}.startup.warm.{stage}.s": min(w[stage] for w in warm) for stage in cold}
    for metric, seconds in found.items():
        say(f"  {metric:<42}{seconds:9.3f} s")
    return found


if __name__ == "__main__":
    print(json.dumps(stages(sys.argv[1])))
