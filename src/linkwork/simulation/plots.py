"""Curves of runs over time."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from linkwork.errors import InputError
from linkwork.graphs import blank, kind_of, write_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from linkwork.simulation.run import Run

SHOWN = 12
"""Curves in one picture; of more, the ones that move most."""


def one_of(run: Run, index: int = 0) -> Run:
    """The run of one robot of rollouts; a run of one robot as it is."""
    if run.q.ndim == 2:
        return run
    count = int(np.prod(run.q.shape[1:-1]))
    if not -count <= index < count:
        raise InputError(f"there is no robot {index} in rollouts of {count}")
    one = {name: getattr(run, name) for name in ("q", "v", "tau", "multipliers")}
    return replace(run, **{name: x.reshape(len(x), count, x.shape[-1])[:, index] for name, x in one.items()})


def draw_run(run: Run, path: str | os.PathLike[str] | None = None) -> Figure:
    """Joint positions, energies, loop errors and constraint forces over time. Of rollouts, the first robot's."""
    if path is not None:
        kind_of(path)
    run = one_of(run)
    robot = run._known()
    bound = robot.nc > 0
    figure = blank(9, 3.0 * (4 if bound else 2))
    figure.set_layout_engine("constrained")
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
        known = slice(0 if run.multipliers[:1].any() else 1, None)  # no step has led to the first state
        sizes = {name: np.linalg.norm(force, axis=-1)[known] for name, force in run.forces.items()}
        for name in sorted(sizes, key=lambda n: -float(sizes[n].max(initial=0.0)))[:SHOWN]:
            axes[3].plot(run.times[known], sizes[name], label=name, linewidth=1)
        axes[3].set_ylabel("constraint forces [N, N m]")
    for axis in axes:
        axis.grid(alpha=0.3)
        if axis.get_legend_handles_labels()[1]:
            axis.legend(fontsize=7, ncols=2, loc="upper right")
    axes[-1].set_xlabel("time [s]")
    axes[0].set_title(f"{robot.name}: {run.settings.get('integrator', '')}, dt {run.settings.get('dt', 0):g} s")
    if path is not None:
        write_picture(figure, path)
    return figure
