"""Pictures of runs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from linkwork.errors import UnsupportedFeature

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from linkwork.simulation.run import Run

SHOWN = 12
"""Curves in one picture; of more, the ones that move most."""


def draw_run(run: Run, path: str | os.PathLike[str] | None = None) -> Figure:
    """Joint positions, energies, loop errors and constraint forces over time. Of rollouts, the first robot's."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UnsupportedFeature("plots need matplotlib: pip install 'linkwork[plot]'") from None
    if run.q.ndim > 2:
        first = {name: getattr(run, name)[:, 0] for name in ("q", "v", "tau", "multipliers")}
        run = type(run)(run.robot, run.times, settings=run.settings, ended=run.ended, **first)
    robot = run._known()
    bound = robot.nc > 0
    figure = Figure(figsize=(9, 3.0 * (4 if bound else 2)), layout="constrained")
    axes = figure.subplots(4 if bound else 2, 1, sharex=True)
    plain = [j for j in robot.joints if j.type.nq == j.type.nv == 1]
    moved = {j.name: run.q[:, robot.q_index(j.name)] for j in plain}
    for name in sorted(moved, key=lambda n: -float(np.ptp(moved[n])))[:SHOWN]:
        axes[0].plot(run.times, moved[name], label=name, linewidth=1)
    axes[0].set_ylabel("joint positions [rad, m]")
    for name, values in run.energy.items():
        if np.any(values):
            axes[1].plot(run.times, values, label=name, linewidth=2 if name == "total" else 1)
    axes[1].set_ylabel("energy [J]")
    if bound:
        axes[2].semilogy(run.times, np.maximum(run.errors, 1e-17), color="black", linewidth=1)
        axes[2].set_ylabel("loops open by [m, rad]")
        sizes = {name: np.linalg.norm(force, axis=-1) for name, force in run.forces.items()}
        for name in sorted(sizes, key=lambda n: -float(sizes[n].max(initial=0.0)))[:SHOWN]:
            axes[3].plot(run.times, sizes[name], label=name, linewidth=1)
        axes[3].set_ylabel("constraint forces [N, N m]")
    for axis in axes:
        axis.grid(alpha=0.3)
        if axis.get_legend_handles_labels()[1]:
            axis.legend(fontsize=7, ncols=2, loc="upper right")
    axes[-1].set_xlabel("time [s]")
    axes[0].set_title(f"{robot.name}: {run.settings.get('integrator', '')}, dt {run.settings.get('dt', 0):g} s")
    if path is not None:
        figure.savefig(path, dpi=120)
    return figure
