# SPDX-License-Identifier: BSD-3-Clause
"""Plots of results: SVG with text as text, the same file for the same results."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Draw = Callable[[Any, Mapping[str, Any]], Any]
"""A figure of ``pyplot`` and results; None where they have no numbers for it."""

LOOK = {
    "svg.fonttype": "none",
    "svg.hashsalt": "linkwork",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
}


def write_beside(page: Path, plots: Mapping[str, Draw], results: Mapping[str, Any]) -> dict[str, str]:
    """All plots that the results have numbers for, in the folder ``plots`` beside a page: paths from there, by name."""
    made = write(plots, results, page.parent / "plots")
    return {name: os.path.relpath(path, page.parent) for name, path in made.items()}


def write(plots: Mapping[str, Draw], results: Mapping[str, Any], folder: Path) -> dict[str, Path]:
    """All plots that the results have numbers for, by name."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    made = {}
    with matplotlib.rc_context(LOOK):
        for name, draw in plots.items():
            figure = draw(plt, results)
            if figure is None:
                continue
            made[name] = folder / f"{name}.svg"
            figure.savefig(made[name], metadata={"Date": None})
            plt.close(figure)
    return made
