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
from linkwork.saving.dialects import DIALECTS, STANDARD, Target, chosen_dialect
from linkwork.saving.loop_file import HEADER, LOOP_FILE
from linkwork.saving.report import DROPPABLE, FORMATS, SHOWN, Droppable, Format, Report, check_drop, described
from linkwork.saving.xml import writable

EXTENSIONS: dict[str, Format] = {
    ".urdf": "urdf",
    ".xml": "mjcf",
    ".mjcf": "mjcf",
    ".sdf": "sdf",
    ".world": "sdf",
    ".json": "json",
}
"""Formats by the extension of a file."""


def format_of(path: Path, format: Format | None) -> Format:
    """The format of a file that is to be saved.

    Args:
        path: The file.
        format: The format, if it is given; by default what the extension says.
    """
    if format is not None:
        if not isinstance(format, str) or format not in SHOWN:
            raise InputError(f"format is {shown(format)}; it is one of {', '.join(SHOWN)}{suggest(str(format), SHOWN)}")
        return format
    by_ending = EXTENSIONS.get(path.suffix.lower())
    if by_ending is None:
        known = ", ".join(EXTENSIONS)
        raise InputError(
            f"extension '{path.suffix}' of '{path.name}' is none of {known}; or give format='urdf' or others"
        )
    return by_ending


def model_text(
    model: Model,
    format: Format,
    *,
    drop: Collection[Droppable] = (),
    pose: str | npt.ArrayLike | None = None,
    folder: str | os.PathLike[str] | None = None,
    strict: bool = True,
    dialect: str | None = None,
    package: str | None = None,
) -> str:
    """A model as the text of a file; properties that the format lacks raise `CannotSave`.

    Args:
        model: The model.
        format: ``"urdf"``, ``"mjcf"``, ``"sdf"`` or ``"json"``.
        drop: Properties that may be left out where the format lacks them; see `report.DROPPABLE`.
        pose: Configuration in which the model is drawn, where the format draws it in one: its name, or ``(nq,)``.
        folder: Where the text is to be saved: paths of meshes are relative to it; by default they are absolute.
        strict: Whether URDF keeps to its standard; see `dialects`.
        dialect: The dialect of URDF; by default what ``strict`` says.
        package: The package of ROS that meshes of URDF are in.
    """
    format_of(Path(), format)
    home = None if folder is None else Path(folder)
    target = Target(home, _drawn(model, pose), chosen_dialect(format, strict, dialect), _package(format, package))
    return _checked(model, Report(format, check_drop(drop)), target)[0]


def save_model(
    model: Model,
    path: str | os.PathLike[str],
    format: Format | None = None,
    *,
    drop: Collection[Droppable] = (),
    pose: str | npt.ArrayLike | None = None,
    strict: bool = True,
    dialect: str | None = None,
    package: str | None = None,
) -> None:
    """Save a model; a refused property raises an error before any file is written.

    Args:
        model: The model.
        path: The file.
        format: ``"urdf"``, ``"mjcf"``, ``"sdf"`` or ``"json"``; by default what the extension says.
        drop: Properties that may be left out where the format lacks them.
        pose: Configuration in which the model is drawn.
        strict: As for `model_text`.
        dialect: As for `model_text`.
        package: As for `model_text`.
    """
    file = Path(path)
    form = format_of(file, format)
    chosen = chosen_dialect(form, strict, dialect)
    target = Target(file.parent, _drawn(model, pose), chosen, _package(form, package), alone=False)
    text, beside = _checked(model, Report(form, check_drop(drop)), target)
    for name in beside:
        _refuse_to_replace(file.parent / name)
    if form == "urdf" and LOOP_FILE not in beside and (file.parent / LOOP_FILE).exists():
        _warn(
            f"{file}: '{LOOP_FILE}' in this folder may describe the same loops; load(..., loops=False) reads the URDF "
            "alone"
        )
    for name, content in {file.name: text, **beside}.items():
        (file.parent / name).write_text(content, encoding="utf-8")


def _refuse_to_replace(file: Path) -> None:
    """Raise an error for a file that another program has written."""
    if file.exists() and not file.read_bytes().startswith(HEADER.encode()):
        raise InputError(
            f"'{file}' is there and was not written here; save the model in a folder of its own, or move that file"
        )


def _package(format: Format, package: str | None) -> str | None:
    if package is not None and format != "urdf":
        raise InputError(f"package='{package}' is for meshes of URDF, and the format is '{format}'; leave it out")
    if package is not None and (not package or "/" in package):
        raise InputError(f"package is {shown(package)}; it is the name of a package of ROS, such as 'my_robot'")
    return package


def _checked(model: Model, report: Report, target: Target) -> tuple[str, dict[str, str]]:
    """The text and those of files beside it, if nothing is refused."""
    result = _written(model, report, target)
    if report.refused:
        raise _refusal(model, report, target)
    if report.left_out:
        _warn(f"robot '{model.name}' is not saved exactly as {_shown(report, target)}: {described(report.left_out)}")
    return result


def _shown(report: Report, target: Target) -> str:
    return target.dialect.shown if report.format == "urdf" else SHOWN[report.format]


def _written(model: Model, report: Report, target: Target) -> tuple[str, dict[str, str]]:
    """The texts; the modules of a format are imported when it is first written."""
    if report.format == "json":
        from linkwork.saving.plain_text import plain_text

        return plain_text(model, target.folder), {}
    model = _without_functions(model, report)
    names = {*model.joint_names, *model.frames, *(c.name for c in model.constraints), *model.poses, model.name}
    names |= {actuator.name for actuator in model.actuators} | {tendon.name for tendon in model.tendons}
    names |= {sensor.name for sensor in model.sensors} | {shape.name for shape in model.shapes if shape.name}
    unsaid = sorted(name for name in names if not writable(name))
    if unsaid:
        report.refuse("names", ", ".join(map(repr, unsaid)), "names that XML cannot hold, or would change")
        return "", {}
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

        return urdf_text(model, report, target)
    if report.format == "sdf":
        from linkwork.saving.sdf import sdf_text

        return sdf_text(model, report, target.folder, target.drawn), {}
    from linkwork.saving.mjcf import mjcf_text

    return mjcf_text(model, report, target.folder, target.drawn), {}


def _drawn(model: Model, pose: str | npt.ArrayLike | None) -> Floats | None:
    if pose is None:
        return None
    if isinstance(pose, str):
        return model.poses[pose]
    return model.normalize(finite_array(pose, (model.nq,), "pose", InputError))


def _without_functions(model: Model, report: Report) -> Model:
    """The model without laws of force elements and motions of constraints: functions, which JSON alone has."""
    for element in model.forces:
        report.refuse("springs", f"force element '{element.name}'", f"{SHOWN[report.format]} has no force elements")
    moving = [c for c in model.constraints if c.motion is not None]
    for c in moving:
        report.refuse(
            "constraints", f"constraint '{c.name}'", f"{SHOWN[report.format]} has no constraints that follow time"
        )
    if not (model.forces or moving):
        return model
    return replace(model, forces=(), constraints=tuple(c for c in model.constraints if c.motion is None))


def _refusal(model: Model, report: Report, target: Target) -> CannotSave:
    """The error, which says what other dialects, formats and calls can say."""
    able: dict[tuple[str, str], list[str]] = {(r.kind, r.where): [] for r in report.refused}
    others = [(form, STANDARD) for form in FORMATS if form != report.format]
    if report.format == "urdf":
        others += [
            ("urdf", dialect) for dialect in DIALECTS.values() if dialect.name not in (target.dialect.name, "standard")
        ]
    for form, dialect in others:
        theirs = Report(form)
        _written(model, theirs, replace(target, dialect=dialect, package=None, alone=False))
        refused = {(r.kind, r.where) for r in theirs.refused}
        said = f"dialect='{dialect.name}'" if form == report.format else SHOWN[form]
        for key in able:
            if key not in refused:
                able[key].append(said)
    kinds = tuple(dict.fromkeys(refusal.kind for refusal in report.refused))
    droppable = [kind for kind in kinds if kind in DROPPABLE]
    message = (
        f"robot '{model.name}' cannot be saved as {_shown(report, target)}; nothing was written. "
        f"{described(report.refused, able)}"
    )
    if len(droppable) > 1 and len(droppable) == len(kinds):
        message += f". drop={droppable} leaves all of this out"
    return CannotSave(message, format=report.format, kinds=kinds, refused=tuple(report.refused))


def _warn(message: str) -> None:
    """A `ModelWarning` on the line of the user's call."""
    level, frame = 1, sys._getframe()
    while frame is not None and str(frame.f_globals.get("__name__", "")).split(".")[0] == "linkwork":
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    warnings.warn(message, ModelWarning, stacklevel=level)
