# SPDX-License-Identifier: BSD-3-Clause
"""Curves of trajectories over time."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from linkwork.drawing.pictures import LOOP, blank, kind_of, write_picture
from linkwork.errors import InputError, StateWarning, UnsupportedFeature
from linkwork.inputs import suggest
from linkwork.kernels.thresholds import NO_CONTACT
from linkwork.model import lie
from linkwork.model.constraints import Pair
from linkwork.model.constraints.pairs import TURN_ROWS
from linkwork.model.joints import Free, Joint, Planar, Prismatic, Spherical, Universal
from linkwork.model.model import Model
from linkwork.model.parts import TreeJoint
from linkwork.quantities.arguments import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from linkwork.dynamics.motion import Motion

SHOWN = 12
"""Curves in one picture; of more, the ones that move most, unless joints were chosen."""
COLORS = (
    *("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b"),
    *("#e377c2", "#7f7f7f", "#bcbd22", "#17becf", "#000000", "#f4a6c6"),
)
STYLES = ("-", "--", ":", "-.")
"""Of curves: each pair of a color and a style once."""
ERRORS = {"m": "loops open by [m]", "rad": "loops open by [rad]"}
CONTACT_FORCES, CONTACT_GAPS = "normal forces of contacts [N]", "least gaps [m]"
LEAST_ERROR = 1e-17
"""Where the logarithmic axis of errors begins."""
LEAST_GAP = 1e-6
"""Gaps are drawn on a scale of at least this many meters."""
GREW = 1e3
"""Curves of a trajectory that ended early have diverged if they reach so many times their size in the first half."""

ROUNDING = 1e-9
"""Reactions below this part of the largest are rounding, and not drawn unless they are alone."""

DRAWN = 1e250
"""Curves are cut off here, where matplotlib's own numbers are about to overflow."""

Panel = tuple[str, dict[str, Array]]
"""Curves of one pair of axes by name, and their label."""

DEFAULT = ("positions", "energy", "errors", "forces", "contacts")
"""Quantities that are drawn unless others are chosen."""
OF_JOINTS = ("positions", "velocities", "torques")
"""Quantities that are drawn where joints are chosen; the last where there are any."""


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


def draw_motion(
    motion: Motion,
    path: str | os.PathLike[str] | None = None,
    joints: str | Sequence[str] | None = None,
    quantities: str | Sequence[str] | None = None,
    degrees: bool = False,
    over: str | None = None,
    polar: bool = False,
) -> Figure:
    """Curves over time or over a joint, of rollouts those of the first robot: axes for each quantity and each unit.

    Where the trajectory ended early, a line and the title say so; what grew without bound on the way is on a scale on
    which the start is seen as well.

    Args:
        motion: The motion.
        path: File to write.
        joints: Names of joints whose positions, velocities and torques are drawn; of reactions, constraints too.
        quantities: Words of `QUANTITIES`.
        degrees: Whether angles are in degrees.
        over: A joint whose coordinate is on the horizontal axis in place of time.
        polar: Whether that one is an angle around the picture.
    """
    if path is not None:
        kind_of(path)
    motion = finite_part(motion, 0)
    robot = motion._known()
    x, label = motion._abscissa() if over is None else _coordinate(motion, over, degrees and not polar)
    if polar and (over is None or not label.endswith(("[rad]", "[°]"))):
        raise InputError("polar plots are over a turning joint: plot(over='crank', polar=True)")
    default = DEFAULT if joints is None else OF_JOINTS[: 3 if motion.tau.any() else 2]
    chosen = default if quantities is None else _chosen(quantities)
    joint_names = [joints] if isinstance(joints, str) else joints
    connections = _connections(robot) if "reactions" in chosen else []
    names = None if joint_names is None else [n if n in connections else robot.joint(n).name for n in joint_names]
    panels = [panel for word in chosen for panel in _panels(motion, word, names, quantities is None) if panel[1]]
    panels = [_in_degrees(panel) for panel in panels] if degrees else panels
    if not panels:
        raise InputError(f"'{robot.name}' has nothing to draw of {', '.join(chosen)}")
    columns = -(-max(len(curves) for _, curves in panels) // SHOWN)
    figure = blank(8 + columns, 3.0 * len(panels))
    figure.set_layout_engine("constrained")
    round_axes = {"subplot_kw": {"projection": "polar"}} if polar else {"sharex": True}
    axes = figure.subplots(len(panels), 1, squeeze=False, **round_axes)[:, 0]
    styles = _styles(panels)
    for axis, (words, curves) in zip(axes, panels, strict=True):
        for name, y in curves.items():
            axis.plot(x, np.clip(y, -DRAWN, DRAWN), linewidth=2 if name == "total" else 1, **styles[name])
        scale, how_fine = _scale(motion, words, curves)
        if not polar:
            axis.set_yscale(scale, **how_fine)
            _widen(axis, words)
        axis.set_ylabel(words, labelpad=28 if polar else None)
        axis.grid(alpha=0.3)
        if axis.get_legend_handles_labels()[1]:
            axis.legend(
                fontsize=7, ncols=columns, loc="center left", bbox_to_anchor=(1.2 if polar else 1.0, 0.5), frameon=False
            )
        if motion.ended and not polar:
            axis.axvline(x[-1], color=LOOP, linewidth=1, linestyle=":")
    figure.align_ylabels(axes)
    axes[-1].set_xlabel(label.rpartition(" ")[0] if polar else label)
    axes[0].set_title(f"{robot.name}: {motion._made()}", parse_math=False)
    if motion.ended:
        figure.suptitle(f"ended at {motion.times[-1]:g} s: {motion.ended}", fontsize=8, color=LOOP, wrap=True)
    if path is not None:
        write_picture(figure, path)
    return figure


def _coordinate(motion: Motion, joint: str, degrees: bool) -> tuple[Array, str]:
    """The coordinate of a joint, and words for it."""
    joint_of_name = motion._known().joint(joint)
    if joint_of_name.type.nq != 1:
        raise InputError(f"joint '{joint}' has several coordinates; curves are drawn over a joint with one")
    x = motion.joint_position(joint)
    if isinstance(joint_of_name.type, Prismatic):
        return x, f"{joint} [m]"
    return (np.degrees(x), f"{joint} [°]") if degrees else (x, f"{joint} [rad]")


def _in_degrees(panel: Panel) -> Panel:
    """The panel with angles in degrees."""
    words, curves = panel
    if "rad" not in words:
        return panel
    return words.replace("rad", "°"), {name: np.degrees(y) for name, y in curves.items()}


def _chosen(quantities: str | Sequence[str]) -> Sequence[str]:
    """Words of `QUANTITIES`."""
    names = [quantities] if isinstance(quantities, str) else list(quantities)
    words = [SINGULAR.get(word, word) if isinstance(word, str) else word for word in names]
    for word in words:
        if word not in QUANTITIES:
            near = suggest(word, QUANTITIES) or f"; there are {', '.join(QUANTITIES)}"
            raise InputError(f"no quantity {word!r} to draw{near}")
    return words


def _styles(panels: Sequence[Panel]) -> dict[str, dict[str, Any]]:
    """Of curves by name: the same in all panels, and no two alike within one."""
    styles: dict[str, dict[str, Any]] = {}
    for _, curves in panels:
        taken = [(styles[name]["color"], styles[name]["linestyle"]) for name in curves if name in styles]
        free = [(color, style) for style in STYLES for color in COLORS if (color, style) not in taken]
        new = [name for name in curves if name not in styles]
        for name, (color, style) in zip(new, cycle(free), strict=False):
            styles[name] = {"label": name, "color": color if name else "black", "linestyle": style}
    return styles


# Quantities -----------------------------------------------------------------------------------------------

Parts = list[tuple[str, str]]
_PARTS: dict[type[Joint], Parts] = {
    Prismatic: [("", "m")],
    Universal: [(" first", "rad"), (" second", "rad")],
    Spherical: [(f" {axis}", "rad") for axis in "xyz"],
    Planar: [(" x", "m"), (" y", "m"), (" turn", "rad")],
    Free: [*((f" {axis}", "m") for axis in "xyz"), *((f" turn {axis}", "rad") for axis in "xyz")],
}
"""Degrees of freedom of joints, in the order of v: names of their curves, and their units."""
_WORDS = {
    "positions": ("joint angles [rad]", "joint positions [m]"),
    "velocities": ("joint velocities [rad/s]", "joint velocities [m/s]"),
    "accelerations": ("joint accelerations [rad/s²]", "joint accelerations [m/s²]"),
    "torques": ("joint torques [N m]", "joint forces [N]"),
}
SINGULAR = {
    **{word[:-1]: word for word in ("positions", "accelerations", "torques", "reactions", "errors", "forces")},
    "velocity": "velocities",
    "powers": "power",
}
"""Other words for quantities."""


def _positions(motion: Motion, joint: TreeJoint) -> Array:
    """Coordinates of a joint, one for each degree of freedom: rotations as rotation vectors, ``(k, nv)``."""
    q = motion.q[:, motion._known().q_slice(joint.name)]
    if isinstance(joint.type, Planar):
        return np.column_stack([q[:, :2], np.unwrap(np.arctan2(q[:, 3], q[:, 2]))])
    if isinstance(joint.type, Free | Spherical):
        turned = lie.SO3.difference(np.broadcast_to([0.0, 0.0, 0.0, 1.0], (len(q), 4)), q[:, -4:])
        return np.column_stack([q[:, :3], turned]) if isinstance(joint.type, Free) else turned
    return q


def _rates(motion: Motion, word: str) -> Array:
    """Numbers of all degrees of freedom, ``(k, nv)``."""
    return (
        {"velocities": motion.v, "torques": motion.tau}[word]
        if word in ("velocities", "torques")
        else motion.acceleration
    )


def _connections(robot: Model) -> list[str]:
    """Names of joints, and of constraints between two places, as those of joints that close a loop are."""
    return [*robot.joint_names, *(c.name for c in robot.constraints if isinstance(c, Pair))]


def _reactions(motion: Motion, joints: Sequence[str] | None) -> list[Panel]:
    """Forces and moments that joints and constraints between two places transmit."""
    reactions = motion.reactions
    names = _connections(motion._known()) if joints is None else joints
    panels = []
    for words, part in (("reactions of joints [N]", slice(3, 6)), ("moments of joints [N m]", slice(0, 3))):
        sizes = {name: np.linalg.norm(reactions[name][:, part], axis=-1) for name in names}
        moved = {name: size for name, size in sizes.items() if size.max(initial=0.0) > ROUNDING * _largest(sizes)}
        panels.append((words, _most(moved, np.max) if joints is None else moved))
    return panels


def _largest(sizes: dict[str, Array]) -> float:
    return max((float(size.max(initial=0.0)) for size in sizes.values()), default=0.0)


def _power(motion: Motion, joints: Sequence[str] | None) -> list[Panel]:
    """Powers of all that does work."""
    return [("power [W]", {name: y for name, y in motion.power.items() if np.nan_to_num(y).any()})]


def _of_joints(word: str) -> Callable[[Motion, Sequence[str] | None], list[Panel]]:
    """Positions, velocities or torques: of joints that were chosen, or of those that move most."""

    def panels(motion: Motion, joints: Sequence[str] | None) -> list[Panel]:
        robot = motion._known()
        units: dict[str, dict[str, Array]] = {"rad": {}, "m": {}}
        for joint in robot.joints if joints is None else [robot.joint(n) for n in joints if n in robot.joint_names]:
            parts = _PARTS.get(type(joint.type), [("", "rad")] * joint.type.nv)
            at = robot.v_slice(joint.name)
            numbers = _positions(motion, joint) if word == "positions" else _rates(motion, word)[:, at]
            for k, (called, unit) in enumerate(parts):
                if joints is not None or joint.type.nv == 1 or (unit == "m" and word == "positions"):
                    units[unit][joint.name + called] = numbers[:, k]
        if joints is None:
            units = {unit: _most(curves, np.ptp) for unit, curves in units.items()}
        return list(zip(_WORDS[word], units.values(), strict=True))

    return panels


def _panels(motion: Motion, word: str, names: list[str] | None, usual: bool) -> list[Panel]:
    """Panels of a quantity; none of one that is drawn by default, and that is not computed of such rollouts."""
    try:
        return QUANTITIES[word](motion, names)
    except UnsupportedFeature:
        if not usual or not motion.settings.get("parameters"):
            raise
        return []


def _energy(motion: Motion, joints: Sequence[str] | None) -> list[Panel]:
    return [("energy [J]", {name: e for name, e in motion.energy.items() if np.nan_to_num(e).any()})]


def _errors(motion: Motion, joints: Sequence[str] | None) -> list[Panel]:
    """The most that loops are open, by units."""
    errors = motion._row_errors()
    units = _row_units(motion._known())
    groups = {unit: errors[:, units == unit] for unit in ("m", "rad")}
    open_by = {unit: np.maximum(x.max(axis=-1), LEAST_ERROR) for unit, x in groups.items() if x.size}
    seen = {unit: y for unit, y in open_by.items() if (y > LEAST_ERROR).any()} or open_by
    return [(ERRORS[unit], {"": y}) for unit, y in seen.items()]


def _forces(motion: Motion, joints: Sequence[str] | None) -> list[Panel]:
    """Of constraints, the largest: forces, and moments."""
    robot, units = motion._known(), _row_units(motion._known())
    forces = []
    for unit, words in (("m", "constraint forces [N]"), ("rad", "constraint moments [N m]")):
        sizes = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StateWarning)  # of open loops, which the panel of errors shows
            forces_of = motion.forces
        for name, force in forces_of.items():
            mine = force[..., units[robot.row_slice(name)] == unit]
            with np.errstate(over="ignore"):
                size = np.linalg.norm(mine, axis=-1)
            if size.any():
                sizes[name] = size
        forces.append((words, _most(sizes, np.max)))
    return forces


def _row_units(robot: Model) -> npt.NDArray[np.str_]:
    """The unit of each row's error, of a coupling that of the joint it is about."""
    units = ["rad"] * robot.nc
    for c in robot.constraints:
        turning = TURN_ROWS[c.turns] if isinstance(c, Pair) else 0
        sliding = not c.joints or isinstance(robot.joint(c.joints[0]).type, Prismatic)
        at = robot.row_slice(c.name)
        units[at] = ["rad" if k < turning or not sliding else "m" for k in range(c.rows)]
    return np.array(units, dtype=str)


def _most(curves: dict[str, Array], size: Callable[[Array], Any]) -> dict[str, Array]:
    """The curves that reach or move the most."""
    with np.errstate(over="ignore"):
        most = sorted(curves, key=lambda name: -float(size(np.nan_to_num(curves[name]))))[:SHOWN]
    return {name: curves[name] for name in most}


def _contacts(motion: Motion, joints: Sequence[str] | None) -> list[Panel]:
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


QUANTITIES: dict[str, Callable[[Motion, Sequence[str] | None], list[Panel]]] = {
    **{word: _of_joints(word) for word in _WORDS},
    "energy": _energy,
    "power": _power,
    "reactions": _reactions,
    "errors": _errors,
    "forces": _forces,
    "contacts": _contacts,
}
"""Quantities that can be drawn, by name."""


def _widen(axis: Any, words: str) -> None:
    """Axes of contacts: forces from zero on, gaps that are not rounding alone."""
    low, high = axis.get_ylim()
    if words == CONTACT_FORCES:
        axis.set_ylim(min(low, 0.0), max(1.1 * high, 0.0))
    elif words == CONTACT_GAPS and high - low < LEAST_GAP:
        axis.set_ylim(-LEAST_GAP, LEAST_GAP)


def _scale(motion: Motion, words: str, curves: dict[str, Array]) -> tuple[str, dict[str, float]]:
    """Of the vertical axis: linear, or logarithmic on both sides of zero where a trajectory has blown up."""
    if words in ERRORS.values():
        return "log", {}
    if motion.ended and curves:
        sizes = np.nan_to_num(np.abs(np.array(list(curves.values()))), posinf=np.finfo(float).max)
        early = float(sizes[:, : (len(motion) + 1) // 2].max()) or 1.0
        if float(sizes.max()) > GREW * early:
            return "symlog", {"linthresh": early}
    return "linear", {}
