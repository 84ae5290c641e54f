# SPDX-License-Identifier: BSD-3-Clause
"""Shell completion: poses, methods and frames of the model that is already on the command line."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import linkwork as lw
from linkwork.errors import LinkworkError

if TYPE_CHECKING:
    from linkwork.mechanism import Mechanism


def model_of(context: typer.Context) -> Mechanism | None:
    """The model on the command line, if there is one that loads."""
    # An option that still waits for its value keeps the arguments before it from being read: they are left over.
    path: Any = context.params.get("file") or context.params.get("files") or context.args
    file = path[0] if isinstance(path, list | tuple) and path else path
    if not file:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return lw.load(Path(file))
    except LinkworkError:
        return None


def _matching(incomplete: str, words: Iterable[str]) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]


def poses(context: typer.Context, incomplete: str) -> list[str]:
    """Poses of the model, and the neutral one."""
    robot = model_of(context)
    return _matching(incomplete, ["neutral", *(robot.poses if robot is not None else ())])


def frames(context: typer.Context, incomplete: str) -> list[str]:
    """Frames of the model."""
    robot = model_of(context)
    return _matching(incomplete, robot.frames if robot is not None else ())


def methods(context: typer.Context, incomplete: str) -> list[str]:
    """Methods of forward dynamics that are applicable to the model, or all."""
    from linkwork.dynamics.methods import METHODS, methods_for

    robot = model_of(context)
    return _matching(incomplete, ["auto", *(METHODS if robot is None else methods_for(robot))])
