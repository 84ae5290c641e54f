# SPDX-License-Identifier: BSD-3-Clause
"""Time height scans: ``python scripts/ray_times.py [--device cuda] [--robots 4096]``.

187 rays for each robot over hills of 128 x 128 cells; a scan on a GPU is timed until its results are there.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.devices import to_device

ROUNDS = 9


def scanner() -> lw.Mechanism:
    """A free body over hills."""
    heights = 0.3 * np.random.default_rng(0).random((129, 129))
    build = lw.Builder("scanner")
    build.body("base", lw.Inertia.rod(1.0, (0, 0, 0), (0.3, 0, 0)))
    build.joint("floating", lw.joints.Free(), "world", "base")
    build.shape("world", lw.shapes.HeightField(tuple(map(tuple, heights)), (12.8, 12.8)), role="collision")
    return build.build()


def best(run: Callable[[], object], clock: Callable[[], float]) -> float:
    """The least time of several rounds."""
    run()
    times = []
    for _ in range(ROUNDS):
        start = clock()
        run()
        times.append(clock() - start)
    return min(times)


def main() -> None:
    """Print the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--robots", type=int, default=256)
    said = parser.parse_args()
    robot, rng = scanner(), np.random.default_rng(0)
    q = robot.random(0, said.robots)
    q[:, :2], q[:, 2] = rng.uniform(-4, 4, (said.robots, 2)), 0.5
    pattern = lw.sensors.height_scan()
    for dtype in ("float64", "float32"):
        rays = lw.sensors.Rays(robot, "base", axes="yaw", reach=50.0, threads=1).to(said.device, dtype=dtype)
        given = [x.astype(dtype) for x in (q[:, None], *pattern)]
        report(rays, given) if said.device == "cpu" else report_device(rays, given, dtype)


def report(rays: lw.sensors.Rays, given: list[Any]) -> None:
    """Times of one core."""
    seconds = best(lambda: rays(*given), time.process_time) / len(given[0])
    print(f"{given[0].dtype}: {1e9 * seconds / len(given[1]):.0f} ns a ray, {1e6 * seconds:.1f} us a scan of one core")


def report_device(rays: lw.sensors.Rays, given: list[Any], dtype: Any) -> None:
    """Times of a GPU, and how far its distances are from those of the CPU."""
    here = [to_device(x, dtype) for x in given]
    found: Any = rays(*here).distance
    apart = float(np.abs(found.numpy() - rays.to("cpu", dtype=dtype)(*given).distance).max())

    def scan() -> None:
        for _ in range(10):
            rays(*here)
        rays.check()

    milliseconds = 100 * best(scan, time.perf_counter)
    print(f"{dtype}: {milliseconds:.3f} ms for {len(given[0])} x {len(given[1])} rays; CPU's to {apart:.1e}")


if __name__ == "__main__":
    main()
