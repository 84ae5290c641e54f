"""Model files to mechanisms: what changes the dynamics is understood, or the load is an error."""

from __future__ import annotations

from os import PathLike

from linkwork.errors import ModelError, UnsupportedFeature
from linkwork.mechanism import Mechanism
from linkwork.parsing.options import Base, Inertias, Mimic, check_options, model_path
from linkwork.parsing.urdf import load_urdf, parse_urdf

__all__ = ["load", "load_urdf", "parse_urdf"]

_LATER = {".xml": "MJCF", ".mjcf": "MJCF", ".sdf": "SDF"}


def load(
    path: str | PathLike[str], base: Base = "fixed", *, mimic: Mimic = "error", inertias: Inertias = "check"
) -> Mechanism:
    """A mechanism from a model file (``.urdf``); the options are those of `load_urdf`."""
    check_options(base, mimic, inertias)
    file = model_path(path)
    extension = file.suffix.lower()
    if extension in _LATER:
        raise UnsupportedFeature(f"this release loads URDF only, not {_LATER[extension]}", file=file)
    if extension != ".urdf":
        raise ModelError(
            f"extension '{file.suffix}' is no model format known here: this release loads .urdf", file=file
        )
    return load_urdf(file, base, mimic=mimic, inertias=inertias)
