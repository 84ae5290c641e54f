# SPDX-License-Identifier: BSD-3-Clause
"""Curves of trajectories over time."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.drawing.pictures import LOOP, blank, kind_of, write_picture
from linkwork.errors import InputError
from linkwork.kernels.contact.frames import NO_CONTACT
from linkwork.model.joints import Free
from linkwork.quantities.arguments import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from linkwork.dynamics.motion import Motion

SHOWN = 12
"""Curves in one picture; of more, the ones that move most."""
ERRORS = "loops open by [m, rad]"
CONTACT_FORCES, CONTACT_GAPS = "normal forces of contacts [N]", "least gaps [m]"
LEAST_GAP = 1e-6
"""Gaps are drawn on a scale of at least this many meters."""
GREW = 1e3
"""Curves of a trajectory that ended early that reach so many times what they were in the first half have blown up."""

DRAWN = 1e250
"""Curves are cut off here, where matplotlib's own numbers are about to overflow."""

Panel = tuple[str, dict[str, Array]]
"""What is drawn on one pair of axes: words for it, and curves by name."""


def one_of(motion: Motion, index: int = 0) -> Motion:
    """The motion of one robot of rollouts; a motion of one robot unchanged."""
    if motion.q.ndim == 2:
        return motion
    count = int(np.prod(motion.q.shape[1:-1]))
    if not -count <= index < count:
        raise InputError(f"there is no robot {index} in rollouts of {count}")
    arrays = {name: getattr(motion, name) for name in ("q", "v", "tau", "multipliers", "commands", "contact_state")}
    one = {k: x.reshape(len(x), count, x.shape[-1])[:, index] for k, x in arrays.items() if x is not None}
    return replace(motion, **one)


def finite_part(motion: Motion, index: int, within: float = np.inf) -> Motion:
    """One robot's motion, as far as its states are finite, and coordinates ``within`` a bound.

    `Motion.ended` says why it ended, if that one did.
    """
    one = one_of(motion, index)
    bad = np.flatnonzero(~(np.isfinite(one.q) & (np.abs(one.q) <= within)).all(axis=-1))
    count = int(bad[0]) if len(bad) else len(one)
    if not count:
        raise InputError("the trajectory has no finite states to draw")
    return replace(one.part(0, count), ended=motion.ended if count < len(one) or one is motion else "")


def draw_motion(motion: Motion, path: str | os.PathLike[str] | None = None) -> Figure:
    """Joint positions, energies, loop errors, forces of constraints, forces and gaps of contacts over time.

    Of rollouts, the first robot's.

    Where the trajectory ended early, a line and the title say so; what grew without bound on the way is on a scale on
    which the start is seen as well.
    """
    if path is not None:
        kind_of(path)
    motion = finite_part(motion, 0)
    robot = motion._known()
    x, label = motion._abscissa()
    energies = {name: e for name, e in motion.energy.items() if np.nan_to_num(e).any()}
    panels = [_positions(motion), ("energy [J]", energies)]
    if robot.nc:
        panels.append((ERRORS, {"": np.maximum(motion.errors, 1e-17)}))
        if motion.multipliers.any():
            panels.append(_forces(motion))
    panels += _contacts(motion)
    figure = blank(9, 3.0 * len(panels))
    figure.set_layout_engine("constrained")
    axes = figure.subplots(len(panels), 1, sharex=True)
    for axis, (words, curves) in zip(axes, panels, strict=True):
        for name, y in curves.items():
            how: dict[str, Any] = {"color": "black"} if not name else {"label": name}
            axis.plot(x, np.clip(y, -DRAWN, DRAWN), linewidth=2 if name == "total" else 1, **how)
        scale, how_fine = _scale(motion, words, curves)
        axis.set_yscale(scale, **how_fine)
        _widen(axis, words)
        axis.set_ylabel(words)
        axis.grid(alpha=0.3)
        if axis.get_legend_handles_labels()[1]:
            axis.legend(fontsize=7, ncols=2, loc="upper right")
        if motion.ended:
            axis.axvline(x[-1], color=LOOP, linewidth=1, linestyle=":")
    axes[-1].set_xlabel(label)
    axes[0].set_title(f"{robot.name}: {motion._made()}", parse_math=False)
    if motion.ended:
        figure.suptitle(f"ended at {motion.times[-1]:g} s: {motion.ended}", fontsize=8, color=LOOP, wrap=True)
    if path is not None:
        write_picture(figure, path)
    return figure


def _positions(motion: Motion) -> Panel:
    """Of joints with one coordinate, those that move most."""
    robot = motion._known()
    moved = {j.name: motion.q[:, robot.q_index(j.name)] for j in robot.joints if j.type.nq == j.type.nv == 1}
    with np.errstate(over="ignore"):
        most = sorted(moved, key=lambda name: -float(np.ptp(moved[name])))[:SHOWN]
    if not moved:  # free bodies alone
        free = [j.name for j in robot.joints if isinstance(j.type, Free)]
        moved = {
            f"{name} {axis}": motion.q[:, robot.q_slice(name)][:, k] for name in free for k, axis in enumerate("xyz")
        }
        with np.errstate(over="ignore"):
            most = sorted(moved, key=lambda name: -float(np.ptp(moved[name])))[:SHOWN]
        return "positions of bodies [m]", {name: moved[name] for name in most}
    return "joint positions [rad, m]", {name: moved[name] for name in most}


def _forces(motion: Motion) -> Panel:
    """Of constraints, the largest."""
    with np.errstate(over="ignore"):
        sizes = {name: np.linalg.norm(force, axis=-1) for name, force in motion.forces.items()}
    if not motion.multipliers[0].any():  # no step has led to the first state
        sizes = {name: np.append(np.nan, size[1:]) for name, size in sizes.items()}
    most = sorted(sizes, key=lambda name: -float(np.nan_to_num(sizes[name]).max()))[:SHOWN]
    return "constraint forces [N, N m]", {name: sizes[name] for name in most}


def _contacts(motion: Motion) -> list[Panel]:
    """Normal forces and least gaps of the contact pairs that press hardest."""
    forces, gaps, touching = (motion._contacts(part) for part in ("forces", "gaps", "touching"))
    pressed = {name: forces[name][..., 2].sum(axis=-1) for name, touched in touching.items() if touched.any()}
    most = sorted(pressed, key=lambda name: -float(np.nan_to_num(pressed[name]).max()))[:SHOWN]
    if not most:
        return []
    normal = {name: np.append(np.nan, pressed[name][1:]) for name in most}  # no step has led to the first state
    apart = {name: gaps[name].min(axis=-1) for name in most}
    shown = {name: np.append(np.nan, np.where(gap < NO_CONTACT, gap, np.nan)[1:]) for name, gap in apart.items()}
    return [(CONTACT_FORCES, normal), (CONTACT_GAPS, shown)]


def _widen(axis: Any, words: str) -> None:
    """Axes of contacts: forces from zero on, gaps that are not rounding alone."""
    low, high = axis.get_ylim()
    if words == CONTACT_FORCES:
        axis.set_ylim(min(low, 0.0), max(1.1 * high, 0.0))
    elif words == CONTACT_GAPS and high - low < LEAST_GAP:
        axis.set_ylim(-LEAST_GAP, LEAST_GAP)


def _scale(motion: Motion, words: str, curves: dict[str, Array]) -> tuple[str, dict[str, float]]:
    """Of the vertical axis: linear, or logarithmic on both sides of zero where a trajectory has blown up."""
    if words == ERRORS:
        return "log", {}
    if motion.ended and curves:
        sizes = np.nan_to_num(np.abs(np.array(list(curves.values()))), posinf=np.finfo(float).max)
        early = float(sizes[:, : (len(motion) + 1) // 2].max()) or 1.0
        if float(sizes.max()) > GREW * early:
            return "symlog", {"linthresh": early}
    return "linear", {}
