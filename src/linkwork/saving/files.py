# SPDX-License-Identifier: BSD-3-Clause
"""Saving a model: the text in a format, refused where the format cannot say it, and the file."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import numpy.typing as npt

from linkwork.errors import CannotSave, InputError, ModelWarning
from linkwork.inputs import shown, suggest
from linkwork.model.arrays import Floats, finite_array
from linkwork.model.model import Model
from linkwork.saving.report import FORMATS, SHOWN, Droppable, Format, Report, check_drop, described
from linkwork.saving.xml import writable

EXTENSIONS: dict[str, Format] = {".urdf": "urdf", ".xml": "mjcf", ".mjcf": "mjcf", ".sdf": "sdf", ".world": "sdf"}
"""Formats by the extension of a file."""

LOOP_FILE = "robot.yaml"
"""A file that readers of URDF look for in the folder of a model."""


def format_of(path: Path, format: Format | None) -> Format:
    """The format of a file that is to be saved.

    Args:
        path: The file.
        format: The format, if it is given; by default what the extension says.
    """
    if format is not None:
        if not isinstance(format, str) or format not in FORMATS:
            raise InputError(
                f"format is {shown(format)}; it is one of {', '.join(FORMATS)}{suggest(str(format), FORMATS)}"
            )
        return format
    found = EXTENSIONS.get(path.suffix.lower())
    if found is None:
        known = ", ".join(EXTENSIONS)
        raise InputError(
            f"extension '{path.suffix}' of '{path.name}' is none of {known}; or give format='urdf' or others"
        )
    return found


def model_text(
    model: Model,
    format: Format,
    *,
    drop: Collection[Droppable] = (),
    pose: str | npt.ArrayLike | None = None,
    folder: str | os.PathLike[str] | None = None,
) -> str:
    """A model as the text of a file; what the format cannot say is a `CannotSave`.

    Args:
        model: The model.
        format: ``"urdf"``, ``"mjcf"`` or ``"sdf"``.
        drop: What may be left out where the format cannot say it; see `report.DROPPABLE`.
        pose: Configuration in which the model is drawn, where the format draws it in one: its name, or ``(nq,)``.
        folder: Where the text is to be saved: paths of meshes are relative to it; by default they are absolute.
    """
    format_of(Path(), format)
    allowed, drawn = check_drop(drop), _drawn(model, pose)
    home = None if folder is None else Path(folder)
    report = Report(format, allowed)
    text = _written(model, report, home, drawn)
    if report.refused:
        raise _refusal(model, report, home, drawn)
    if report.left_out:
        _warn(f"robot '{model.name}' is not all the same as {SHOWN[format]}: {described(report.left_out)}")
    return text


def save_model(
    model: Model,
    path: str | os.PathLike[str],
    format: Format | None = None,
    *,
    drop: Collection[Droppable] = (),
    pose: str | npt.ArrayLike | None = None,
) -> None:
    """Save a model; where something is refused, nothing is written.

    Args:
        model: The model.
        path: The file.
        format: ``"urdf"``, ``"mjcf"`` or ``"sdf"``; by default what the extension says.
        drop: What may be left out where the format cannot say it.
        pose: Configuration in which the model is drawn.
    """
    file = Path(path)
    form = format_of(file, format)
    text = model_text(model, form, drop=drop, pose=pose, folder=file.parent)
    if form == "urdf" and (file.parent / LOOP_FILE).exists():
        _warn(
            f"{file}: '{LOOP_FILE}' in this folder may describe the same loops; load(..., loops=False) reads the URDF "
            "alone"
        )
    file.write_text(text, encoding="utf-8")


def _written(model: Model, report: Report, folder: Path | None, drawn: Floats | None) -> str:
    """The text; the modules of a format are imported when it is first written."""
    names = {*model.joint_names, *model.frames, *(c.name for c in model.constraints), *model.poses, model.name}
    names |= {actuator.name for actuator in model.actuators} | {tendon.name for tendon in model.tendons}
    names |= {sensor.name for sensor in model.sensors} | {shape.name for shape in model.shapes if shape.name}
    unsaid = sorted(name for name in names if not writable(name))
    if unsaid:
        report.refuse("names", ", ".join(map(repr, unsaid)), "names that XML cannot hold, or would change")
        return ""
    if model.medium:
        report.refuse("medium", f"robot '{model.name}'", "air or water around a model is not written")
    model = replace(model, shapes=tuple(shape for shape in model.shapes if shape.role != "fluid"))
    for joint in () if report.format == "mjcf" else model.joints:
        for kind, terms in (("springs", joint.stiffness_terms), ("damping", joint.damping_terms)):
            if any(terms):
                what = f"{SHOWN[report.format]} has no springs and dampers that are polynomials"
                report.refuse(kind, f"joint '{joint.name}'", what)
    if report.format == "urdf":
        from linkwork.saving.urdf import urdf_text

        return urdf_text(model, report, folder)
    if report.format == "sdf":
        from linkwork.saving.sdf import sdf_text

        return sdf_text(model, report, folder, drawn)
    from linkwork.saving.mjcf import mjcf_text

    return mjcf_text(model, report, folder, drawn)


def _drawn(model: Model, pose: str | npt.ArrayLike | None) -> Floats | None:
    if pose is None:
        return None
    if isinstance(pose, str):
        return model.poses[pose]
    return model.normalize(finite_array(pose, (model.nq,), "pose", InputError))


def _refusal(model: Model, report: Report, folder: Path | None, drawn: Floats | None) -> CannotSave:
    """The error, which says what other formats can say."""
    able: dict[tuple[str, str], list[str]] = {(r.kind, r.where): [] for r in report.refused}
    for other in FORMATS:
        if other == report.format:
            continue
        theirs = Report(other)
        _written(model, theirs, folder, drawn)
        refused = {(r.kind, r.where) for r in theirs.refused}
        for key in able:
            if key not in refused:
                able[key].append(SHOWN[other])
    message = (
        f"robot '{model.name}' cannot be saved as {SHOWN[report.format]}, and nothing was written: "
        f"{described(report.refused, able)}"
    )
    kinds = tuple(dict.fromkeys(refusal.kind for refusal in report.refused))
    return CannotSave(message, format=report.format, kinds=kinds, refused=tuple(report.refused))


def _warn(message: str) -> None:
    """A `ModelWarning` on the line of the user's call."""
    level, frame = 1, sys._getframe()
    while frame is not None and str(frame.f_globals.get("__name__", "")).split(".")[0] == "linkwork":
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    warnings.warn(message, ModelWarning, stacklevel=level)
