"""How long a fresh process waits for compiled forward dynamics: with an empty cache, and with a full one.

``python -m benchmarks.startup ROBOT`` is one such process; it prints its stages in seconds as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

STAGES = ("import", "load", "native", "compile", "call")
"""``import linkwork``; read the file; `ForwardDynamics`; its ``compile`` (trace, code, or cache); the first call."""


def stages(robot_name: str) -> dict[str, float]:
    """Seconds of each stage in this process, which must not have imported linkwork before."""
    times = [perf_counter()]

    def lap() -> None:
        times.append(perf_counter())

    import linkwork as lw

    lap()
    from benchmarks.robots import ROBOTS

    times[-1] = (here := perf_counter()) - (here - times[-1])  # our own table is not part of any stage
    start = perf_counter()
    robot = ROBOTS[robot_name].load()
    load_seconds = perf_counter() - start
    q, rest = robot.neutral(), [0.0] * robot.nv
    start = perf_counter()
    fd = lw.ForwardDynamics(robot)
    native_seconds = perf_counter() - start
    start = perf_counter()
    fast = fd.compile()
    compile_seconds = perf_counter() - start
    start = perf_counter()
    fast(q, rest, rest)
    return dict(
        zip(
            STAGES,
            (times[1] - times[0], load_seconds, native_seconds, compile_seconds, perf_counter() - start),
            strict=True,
        )
    )
