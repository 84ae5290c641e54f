# SPDX-License-Identifier: BSD-3-Clause
"""Draw docs/pictures/governor.svg: the stiff flyball governor (IFToMM A05) beside an integration of its equations.

Run from the root: ``python -m scripts.governor_picture``. It prints errors over ten seconds, and CPU times.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import solve_ivp

import linkwork as lw
from linkwork.drawing.pictures import write_picture
from tests.support.benchmark_mechanisms import governor, governor_equations

FILE = Path(__file__).parents[1] / "docs" / "pictures" / "governor.svg"
RUNS: dict[str, dict[str, Any]] = {
    "default, 1 ms": {},
    "default, 10 ms": {"dt": 1e-2},
    "rk4, 0.1 ms": {"integrator": "rk4", "dt": 1e-4},
    "rk4, 0.01 ms": {"integrator": "rk4", "dt": 1e-5},
    "dopri5": {"integrator": "dopri5"},
    "euler, 0.1 ms": {"integrator": "euler", "dt": 1e-4},
}
COORDINATES = ("spin", "slide", "right")


def main() -> None:
    """Run all, print, draw."""
    mpl.use("svg")
    robot, q, v = governor()
    rates, start = governor_equations()
    times = np.linspace(0, 10, 1001)
    exact = solve_ivp(rates, (0, 10), start, method="DOP853", t_eval=times, rtol=1e-12, atol=1e-13).y
    runs = {}
    for name, settings in RUNS.items():
        every = round(1e-2 / settings.get("dt", 1e-3))
        began = time.process_time()
        runs[name] = run = lw.simulate(robot, q, v, seconds=10, record_every=every, **settings)
        spent = time.process_time() - began
        errors = [np.abs(run.joint_position(joint) - x).max() for joint, x in zip(COORDINATES, exact, strict=False)]
        print(f"{name} ({run.integrator}): {spent:.2f} s;", *(f"{x:.1e}" for x in errors))
    figure, (scheme, motion, error) = plt.subplots(1, 3, figsize=(10.5, 3.2), layout="constrained")
    for index, shade in ((0, "tab:blue"), (int(np.argmax(exact[1])), "tab:orange")):
        draw(scheme, *exact[1:3, index], shade)
    scheme.set(title="start, and the highest slider [m]", aspect="equal", xlim=(-1.25, 1.25), ylim=(-0.1, 1.15))
    motion.plot(times, runs["default, 1 ms"].joint_position("slide"), label="linkwork, by default")
    motion.plot(times[::20], exact[1][::20], ".", label="Lagrange's equations, SciPy")
    motion.set(title="height of the slider [m]", xlabel="time [s]", ylim=(0.48, 0.84))
    motion.legend(fontsize="small", loc="upper center")
    for name, run in runs.items():
        error.semilogy(times[1:], np.abs(run.joint_position("slide") - exact[1])[1:] + 1e-16, lw=0.8, label=name)
    error.set(title="error of the slider [m]", xlabel="time [s]", ylim=(1e-16, 1))
    error.legend(fontsize="x-small", ncols=2, loc="upper center")
    write_picture(figure, FILE)


def draw(axes: Any, slide: float, angle: float, color: str) -> None:
    """Shaft, slider, rods, springs and balls in the plane of the rods."""
    axes.plot([0, 0], [0, 1], color="0.4")
    axes.add_patch(plt.Rectangle((-0.05, slide - 0.05), 0.1, 0.1, color=color, alpha=0.6))
    for side in (-1, 1):
        hinge, along = np.array([0.05 * side, 1.0]), np.array([side * np.cos(angle), -np.sin(angle)])
        axes.plot(*np.transpose([hinge, hinge + along]), color=color)
        axes.plot(*np.transpose([hinge + along / 2, (0.05 * side, slide)]), ":", color=color)
        axes.plot(*(hinge + along), "o", color=color)


if __name__ == "__main__":
    main()
