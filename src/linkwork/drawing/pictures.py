# SPDX-License-Identifier: BSD-3-Clause
"""Style and files of pictures: colors, blank figures, formats."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwork.conversions import file_path
from linkwork.errors import InputError, UnsupportedFeature

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURES = (".png", ".svg", ".pdf")
"""Kinds of files that pictures are written to."""


INK, FAINT, LOOP, COUPLING, GROUND = "#222222", "#8a8a8a", "#c8321e", "#1f5fbf", "#2e7d4f"


PASTELS = ("#ffd9a8", "#bfe3c0", "#c5d8f5", "#f3c6d8", "#e2d4f2", "#f4ecaa", "#bfe6e6", "#e6cdb8", "#d3e6a6", "#d0d4dc")
"""Of clusters, over and over."""


def blank(width: float, height: float) -> Figure:
    """A figure to draw on, which notebooks show; `UnsupportedFeature` where matplotlib is missing."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise UnsupportedFeature("pictures need matplotlib: pip install 'linkwork[plot]'") from None
    figure: Any = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    figure._repr_png_ = partial(_png, figure)  # without, IPython shows figures only once pyplot has made one
    sheet: Figure = figure
    return sheet


def _png(figure: Figure) -> bytes:
    """A figure as a PNG file, as notebooks ask for it."""
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=80, bbox_inches="tight")
    return picture.getvalue()


def kind_of(path: str | os.PathLike[str], kinds: Sequence[str] = PICTURES) -> str:
    """The ending of a path, which has to be one of these."""
    ending = Path(file_path(path, "path")).suffix.lower()
    if ending not in kinds:
        raise InputError(f"{os.fspath(path)} ends in '{ending}'; it must be one of {', '.join(kinds)}")
    return ending


def write_picture(figure: Figure, path: str | os.PathLike[str], dpi: float = 120) -> None:
    """Write a figure to a file whose ending says of which kind; text in an SVG stays text, and nothing has a date."""
    from matplotlib import rc_context

    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(kind_of(path))
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "linkwork", "pdf.fonttype": 42}):
        figure.savefig(path, dpi=dpi, metadata=undated)
