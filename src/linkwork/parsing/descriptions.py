# SPDX-License-Identifier: BSD-3-Clause
"""Robots by name, from the package robot_descriptions: ``pip install 'linkwork[descriptions]'``.

That package has a module for each robot, with the path of its URDF or MJCF file in ``URDF_PATH`` or ``MJCF_PATH``.
Importing such a module clones the robot's repository into a cache on disk, the first time: what is named is fetched
from the internet, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import Any, Literal

from linkwork.errors import InputError, ModelError, UnknownName, UnsupportedFeature
from linkwork.inputs import named_options, shown, suggest
from linkwork.mechanism import Mechanism
from linkwork.parsing import load
from linkwork.parsing.options import EXPAND_XACRO, Base, Contacts, Dependent, Inertias, Loops, Mimic

_PACKAGE = "robot_descriptions"
_PATHS = {"urdf": "URDF_PATH", "mjcf": "MJCF_PATH"}
_ENDINGS = {
    None: ("", "_description", "_mj_description"),
    "urdf": ("_description", ""),
    "mjcf": ("_mj_description", ""),
}
"""Endings of names of modules after the robot's name, the likeliest first."""


@named_options()
def load_description(
    name: str,
    format: Literal["urdf", "mjcf"] | None = None,
    *,
    base: Base | None = None,
    mimic: Mimic = "constrain",
    inertias: Inertias = "warn",
    loops: Loops = None,
    dependent: Dependent = "error",
    contacts: Contacts = None,
) -> Mechanism:
    """A mechanism from the package robot_descriptions, by the name of a robot: ``lw.load_description("panda")``.

    The first time a robot is loaded its repository is cloned into that package's cache on disk.

    Args:
        name: Of the robot (``"panda"``) or of its module there (``"panda_mj_description"``).
        format: Which file, ``"urdf"`` or ``"mjcf"``; by default URDF where there are both.
        base: As for `load`.
        mimic: As for `load`.
        inertias: As for `load`.
        loops: As for `load`.
        dependent: As for `load`.
        contacts: As for `load`.
    """
    if format is not None and str(format) not in _PATHS:
        raise InputError(f"format is {shown(format)}; it is 'urdf' or 'mjcf'")
    path = _path(_module(name, format), name, format)
    return load(path, base, mimic=mimic, inertias=inertias, loops=loops, dependent=dependent, contacts=contacts)


def _module(name: str, format: str | None) -> Any:
    """The module of a robot; its repository is on disk then."""
    if not isinstance(name, str) or not name.replace("_", "a").isalnum():
        raise InputError(f"name is {name!r}; it is that of a robot, such as 'panda'")
    try:
        known = list(_names())
    except ImportError:
        raise UnsupportedFeature(
            "robots by name need the package robot_descriptions: pip install 'linkwork[descriptions]'"
        ) from None
    module = next((name + ending for ending in _ENDINGS[format] if name + ending in known), None)
    if module is None:
        raise UnknownName(f"robot_descriptions has no robot '{name}'{suggest(name, known) or _alike(name, known)}")
    try:
        return import_module(f"{_PACKAGE}.{module}")
    except Exception as e:  # of git, of the network, of the disk
        raise ModelError(f"robot_descriptions could not fetch '{module}': {type(e).__name__}: {e}") from e


def _names() -> Iterator[str]:
    """Modules with robots, none of which is imported."""
    spec = find_spec(_PACKAGE)
    if spec is None:
        raise ImportError(_PACKAGE)
    for module in iter_modules(spec.submodule_search_locations):
        if module.name.endswith("_description") and not module.name.startswith("_"):
            yield module.name


def _alike(name: str, known: list[str]) -> str:
    """The names that begin as this one does, to show in an error."""
    alike = [one for one in known if one.startswith(name.split("_")[0])][:5]
    return f"; there are {', '.join(alike)}" if alike else "; it has a list: python -m robot_descriptions list"


def _path(module: Any, name: str, format: str | None) -> str:
    """The file of a robot, expanded where it is a template."""
    for kind, attribute in _PATHS.items():
        if format in (None, kind) and hasattr(module, attribute):
            return str(getattr(module, attribute))
    if format != "mjcf" and hasattr(module, "XACRO_PATH"):
        return _expanded(module, name)
    has = ", ".join(kind for kind, attribute in _PATHS.items() if hasattr(module, attribute)) or "neither URDF nor MJCF"
    raise InputError(f"robot_descriptions' '{name}' has no file in {(format or 'urdf').upper()}; it has {has}")


def _expanded(module: Any, name: str) -> str:
    """The URDF file that a template gives, where the package knows how to make it."""
    try:
        expand = import_module(f"{_PACKAGE}._xacro").get_urdf_path
    except (ImportError, AttributeError):
        raise UnsupportedFeature(
            f"'{name}' is a template, {module.XACRO_PATH}; {EXPAND_XACRO}, or update robot_descriptions"
        ) from None
    try:
        return str(expand(module))
    except Exception as e:  # of xacro
        raise ModelError(f"robot_descriptions could not expand the template of '{name}': {e}") from e
