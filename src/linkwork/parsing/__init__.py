"""Model files to mechanisms: what changes the dynamics is understood, or the load is an error."""

from __future__ import annotations

from importlib import import_module
from os import PathLike
from typing import Any

from linkwork.errors import InputError, ModelError
from linkwork.inputs import named_options
from linkwork.mechanism import Mechanism
from linkwork.parsing.options import (
    EXPAND_XACRO,
    Base,
    Dependent,
    Format,
    Inertias,
    Loops,
    Mimic,
    check_options,
    model_path,
    read_file,
)
from linkwork.parsing.sdf import load_sdf, parse_sdf
from linkwork.parsing.urdf import load_urdf, parse_urdf
from linkwork.parsing.xml import root_tag

__all__ = ["load", "load_sdf", "load_urdf", "loads", "parse_sdf", "parse_urdf"]

_BY_EXTENSION: dict[str, Format | None] = {
    ".urdf": "urdf",
    ".sdf": "sdf",
    ".world": "sdf",
    ".mjcf": "mjcf",
    ".xml": None,
}
_BY_ROOT: dict[str, Format] = {"robot": "urdf", "sdf": "sdf", "mujoco": "mjcf"}

_DEFAULTS: dict[str, Any] = {
    "base": None,
    "mimic": "constrain",
    "inertias": "warn",
    "loops": None,
    "dependent": "error",
}
_OPTIONS: dict[Format, set[str]] = {
    "urdf": set(_DEFAULTS),
    "sdf": {"base", "mimic", "inertias"},
    "mjcf": {"inertias"},
}
"""What can be asked of the loader of each format."""

TEXT = "<text>"
"""What messages call a model that comes from no file."""


@named_options()
def load(
    path: str | PathLike[str],
    base: Base | None = None,
    *,
    mimic: Mimic = "constrain",
    inertias: Inertias = "warn",
    loops: Loops = None,
    dependent: Dependent = "error",
) -> Mechanism:
    """A mechanism from a model file: URDF, SDF or MJCF, by its extension; ``.xml`` by its root element.

    In all formats angles of ``q`` are in radians, and quaternions in ``q`` are (x, y, z, w), however the file writes
    them; see docs/files.md.

    Args:
        path: The file. For the text of a model, see `loads`.
        base: The root link is ``"fixed"`` to the world or ``"floating"`` on a `Free` joint called ``root_joint``. By
            default a URDF model is fixed, an SDF model floats unless a joint holds it, as does a URDF model whose file
            names the world; an MJCF file says it itself.
        mimic: A joint that mimics another is bound by a constraint (``"constrain"``), or left free (``"ignore"``).
        inertias: Those that no distribution of mass has are a warning (``"warn"``), an error (``"check"``), or taken
            silently (``"trust"``).
        loops: Where the loops of a URDF file are described, if not in it: see `parsing.urdf.load_urdf`.
        dependent: URDF joints that are marked as dependent while nothing in the file ties them are an ``"error"``, or
            ``"free"``.
    """
    check_options(base=base, mimic=mimic, inertias=inertias, dependent=dependent)
    file = model_path(path)
    extension = file.suffix.lower()
    if extension not in _BY_EXTENSION:
        hint = f"; a xacro file is a template: {EXPAND_XACRO}" if extension == ".xacro" else ""
        raise ModelError(
            f"extension '{file.suffix}' is no model format known here: {', '.join(_BY_EXTENSION)}{hint}", file=file
        )
    form = _BY_EXTENSION[extension] or _format_of(read_file(file), str(file))
    given = {"base": base, "mimic": mimic, "inertias": inertias, "loops": loops, "dependent": dependent}
    return _function("load", form)(file, **_options_of(form, file.name, given))  # type: ignore[no-any-return]


@named_options()
def loads(
    text: bytes | str,
    format: Format | None = None,
    *,
    base: Base | None = None,
    mimic: Mimic = "constrain",
    inertias: Inertias = "warn",
    loops: Loops = None,
    dependent: Dependent = "error",
    name: str = TEXT,
) -> Mechanism:
    """A mechanism from the text of a model file, as `load` makes it from the file.

    No other file is read, unless ``loops`` names one: an MJCF text that includes others is an error.

    Args:
        text: The document.
        format: ``"urdf"``, ``"sdf"`` or ``"mjcf"``; by default what the root element says.
        base: As for `load`.
        mimic: As for `load`.
        inertias: As for `load`.
        loops: As for `load`.
        dependent: As for `load`.
        name: What messages call the text.
    """
    if not isinstance(text, bytes | str):
        raise InputError(f"text is str or bytes, not {type(text).__name__}; load(path) reads files")
    if (b"<" if isinstance(text, bytes) else "<") not in text:  # type: ignore[operator]
        raise InputError(f"text is {text[:80]!r}, which is no XML; load(path) reads files")
    check_options(base=base, mimic=mimic, inertias=inertias, dependent=dependent, format=format)
    form = format or _format_of(text, name)
    given = {"base": base, "mimic": mimic, "inertias": inertias, "loops": loops, "dependent": dependent}
    return _function("parse", form)(text, name, **_options_of(form, name, given))  # type: ignore[no-any-return]


def _format_of(text: bytes | str, file: str) -> Format:
    tag = root_tag(text, file)
    if tag not in _BY_ROOT:
        roots = ", ".join(f"<{known}>" for known in _BY_ROOT)
        raise ModelError(f"a model file starts with one of {roots}", file=file, line=1, element=tag)
    return _BY_ROOT[tag]


def _options_of(form: Format, file: str, given: dict[str, Any]) -> dict[str, Any]:
    """The options that a format has; one that it has not may not be asked for."""
    for name, value in given.items():
        if name not in _OPTIONS[form] and value != _DEFAULTS[name]:
            raise InputError(f"{name}={value!r} has no meaning for {file}, a file in {form.upper()}")
    return {name: given[name] for name in given if name in _OPTIONS[form]}


def _function(verb: str, form: Format) -> Any:
    """``load_sdf``, ``parse_mjcf`` and so on."""
    return getattr(import_module(f"linkwork.parsing.{form}"), f"{verb}_{form}")
