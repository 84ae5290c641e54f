# SPDX-License-Identifier: BSD-3-Clause
"""The picture of imports in docs/internals/architecture.md; ``python scripts/import_graph.py`` writes it.

Lengths are inches of paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from import_graph import ImportGraph

from linkwork.drawing.pictures import COUPLING, FAINT, INK, LOOP, PASTELS, blank, write_picture

ROW = 0.34
"""Height of a package."""
LEFT, BOX, CELL = 1.75, 1.95, 0.46
TOP = 1.0
REACH = 1.45
"""How far the arc over all packages swings out."""


def draw(graph: ImportGraph, path: Path, order: Sequence[Sequence[str]]) -> None:
    """Packages from the bottom up: arcs for imports on the left, their numbers on the right.

    Args:
        graph: What to draw.
        path: File to write; equal graphs give equal bytes.
        order: Levels, from the bottom up.
    """
    from matplotlib.patches import Rectangle

    names = [name for level in order for name in level if name in graph.packages]
    shade = {name: PASTELS[k % len(PASTELS)] for k, name in enumerate(names)}
    bottom = {name: 0.45 + ROW * k for k, name in enumerate(names)}
    matrix = LEFT + BOX + 0.35
    width, height = matrix + CELL * len(names) + 0.5, 0.45 + ROW * len(names) + TOP
    figure = blank(width, height)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, width)
    axes.set_ylim(0, height)

    def middle(name: str) -> float:
        return bottom[name] + ROW / 2

    def text(x: float, y: float, words: str, size: float = 8.0, **how: Any) -> None:
        axes.text(x, y, words, **{"fontsize": size, "color": INK, "va": "center", "parse_math": False, **how})

    run, types = graph.between_packages(), graph.between_packages(types=True)
    for (source, target), _ in sorted((types - run).items()):
        _arc(axes, middle(source), middle(target), ROW * len(names), FAINT, 0.5, ":")
    for (source, target), count in sorted(run.items(), key=lambda item: item[1]):
        up = bottom[target] > bottom[source]
        color = LOOP if up else COUPLING
        _arc(axes, middle(source), middle(target), ROW * len(names), color, 0.4 + 0.35 * np.log2(1 + count), "-")
    for k, name in enumerate(names):
        x = matrix + CELL * k
        axes.add_patch(
            Rectangle((LEFT, bottom[name] + 0.03), BOX, ROW - 0.06, facecolor=shade[name], edgecolor=INK, linewidth=0.7)
        )
        inside = [m for m in graph.modules if graph.package(m) == name]
        lines = f"{sum(map(graph.lines, inside)):,}".replace(",", "\u2009")
        text(LEFT + 0.1, middle(name), name, 9, weight="bold")
        text(LEFT + BOX - 0.1, middle(name), f"{lines} lines", 7, ha="right", color="#555555")
        axes.plot([matrix, matrix + CELL * len(names)], [bottom[name]] * 2, color="#dddddd", linewidth=0.5, zorder=0)
        axes.plot([x] * 2, [bottom[names[0]], height - TOP], color="#dddddd", linewidth=0.5, zorder=0)
        axes.add_patch(Rectangle((x, bottom[name]), CELL, ROW, facecolor="#eeeeee", zorder=0))
        text(x + CELL / 2 - 0.05, height - TOP + 0.08, name, 8, rotation=50, ha="left", va="bottom")
        for other in names:
            count, only_types = run[name, other], types[name, other]
            place = (matrix + CELL * (names.index(other) + 0.5), middle(name))
            if count:
                up = bottom[other] > bottom[name]
                text(
                    *place,
                    str(count),
                    8,
                    ha="center",
                    weight="bold" if up else "normal",
                    color=LOOP if up else INK,
                )
            elif only_types:
                text(*place, str(only_types), 7, ha="center", color="#b0b0b0")
    text(LEFT, height - 0.3, "imports point down", 10, weight="bold")
    text(LEFT, height - 0.52, "run time, lazy ones too", 7.5, color=COUPLING)
    text(LEFT, height - 0.69, "for types alone", 7.5, color=FAINT)
    text(matrix, 0.22, "row: who imports; column: what; the number of references (gray: for types alone)", 7.5)
    write_picture(figure, path)


def _arc(axes: Any, start: float, end: float, whole: float, color: str, width: float, style: str) -> None:
    """An import: half an ellipse to the left of the boxes, with an arrow where it ends."""
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path as Line

    swing = 0.25 + (REACH - 0.25) * abs(start - end) / whole
    edge = LEFT - 0.02
    corners = [(edge, start - 0.04), (edge - 1.33 * swing, start), (edge - 1.33 * swing, end), (edge, end + 0.04)]
    line = Line(corners, [Line.MOVETO, Line.CURVE4, Line.CURVE4, Line.CURVE4])
    axes.add_patch(
        FancyArrowPatch(
            path=line, arrowstyle="-|>", mutation_scale=6, color=color, linewidth=width, linestyle=style, alpha=0.55
        )
    )
