"""Model files to mechanisms: what changes the dynamics is understood, or the load is an error."""

from __future__ import annotations

from importlib import import_module
from os import PathLike
from typing import Any

from linkwork.errors import InputError, ModelError
from linkwork.mechanism import Mechanism
from linkwork.parsing.options import Base, Dependent, Inertias, Loops, Mimic, check_options, model_path, read_file
from linkwork.parsing.sdf import load_sdf, parse_sdf
from linkwork.parsing.urdf import load_urdf, parse_urdf
from linkwork.parsing.xml import read_xml

__all__ = ["load", "load_sdf", "load_urdf", "parse_sdf", "parse_urdf"]

_BY_EXTENSION = {".urdf": "URDF", ".sdf": "SDF", ".world": "SDF", ".mjcf": "MJCF", ".xml": None}
_BY_ROOT = {"robot": "URDF", "sdf": "SDF", "mujoco": "MJCF"}

_DEFAULTS: dict[str, Any] = {
    "base": None,
    "mimic": "constrain",
    "inertias": "warn",
    "loops": None,
    "dependent": "error",
}
_OPTIONS = {
    "URDF": set(_DEFAULTS),
    "SDF": {"base", "mimic", "inertias"},
    "MJCF": {"inertias"},
}
"""What can be asked of the loader of each format."""


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

    Args:
        path: The file.
        base: The root link is ``"fixed"`` to the world or ``"floating"`` on a `Free` joint called ``root_joint``. By
            default a URDF model is fixed, an SDF model floats unless a joint holds it; an MJCF file says it itself.
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
        raise ModelError(
            f"extension '{file.suffix}' is no model format known here: {', '.join(_BY_EXTENSION)}", file=file
        )
    form = _BY_EXTENSION[extension]
    if form is None:
        root = read_xml(read_file(file), str(file))
        if root.tag not in _BY_ROOT:
            raise root.error(f"a model file starts with one of {', '.join(f'<{tag}>' for tag in _BY_ROOT)}")
        form = _BY_ROOT[root.tag]
    given = {"base": base, "mimic": mimic, "inertias": inertias, "loops": loops, "dependent": dependent}
    for name, value in given.items():
        if name not in _OPTIONS[form] and value != _DEFAULTS[name]:
            raise InputError(f"{name}={value!r} has no meaning for {file.name}, a file in {form}")
    options: dict[str, Any] = {name: given[name] for name in given if name in _OPTIONS[form]}
    return _loader(form)(file, **options)  # type: ignore[no-any-return]


def _loader(form: str) -> Any:
    if form == "MJCF":
        return import_module("linkwork.parsing.mjcf").load_mjcf
    return load_urdf if form == "URDF" else load_sdf
