# SPDX-License-Identifier: BSD-3-Clause
"""Reading of shapes, shared by all formats: where mesh files are; a shape that cannot be read does not refuse a robot.

Appearance does not change the dynamics: a shape that cannot be understood is left out, and the load goes on. Mesh files
are looked for and not opened.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote

from linkwork.errors import ModelError
from linkwork.model.medium import Drag
from linkwork.model.placement import Placement
from linkwork.model.shapes import Color, Role, Solid, Sphere, Surface
from linkwork.parsing.xml import Node

_PATHS = ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH", "GZ_SIM_RESOURCE_PATH", "GAZEBO_MODEL_PATH")
"""Variables with folders that hold packages, models, or ``share`` with packages in it."""


POINT = 1e-9
"""Radius in meters of the sphere that a contact point becomes, which URDF and SDF write as a sphere of radius 0."""


def sphere(radius: float, collides: bool) -> Sphere:
    """A sphere; for collision, one of radius 0 is a contact point.

    Args:
        radius: In meters.
        collides: Whether it is for collision.
    """
    return Sphere(POINT if collides and radius == 0 else radius)


@dataclass(frozen=True)
class LinkShape:
    """A shape as a file has it, in the frame of its link."""

    solid: Solid
    place: Placement
    color: Color | None
    role: Role
    name: str = ""
    surface: Surface | None = None
    node: Node | None = None
    """Its element, where contacts need it."""
    drag: Drag | None = None


def readable_shapes(nodes: Iterator[Node], read: Callable[[Node], LinkShape | None]) -> tuple[LinkShape, ...]:
    """Results of ``read`` for these elements; those that it cannot read are left out."""
    shapes = []
    for node in nodes:
        try:
            seen = read(node)
        except ModelError:
            continue
        if seen is not None:
            shapes.append(seen)
    return tuple(shapes)


@dataclass
class MeshFinder:
    """Looks for the mesh files of a model: ``package://``, ``model://``, ``file://``, and plain paths."""

    model: str
    """The model's file; anything else that names no file, such as ``<text>``, has no folder to look in."""
    folders: tuple[Path, ...] = ()
    """Folders of packages, or with packages in them, that are looked in first."""
    _packages: dict[str, Path | None] = field(default_factory=dict)

    def find(self, uri: str) -> Path | None:
        """The file that a model means, if it is there."""
        try:
            return self._find(uri)
        except (OSError, ValueError, RuntimeError):  # no name that a file can have
            return None

    def _find(self, uri: str) -> Path | None:
        scheme, separator, rest = uri.partition("://")
        if not separator:
            folder = self._folder
            return None if folder is None and not Path(uri).is_absolute() else _there((folder or Path()) / uri)
        if scheme == "file":
            return _there(Path(unquote(rest)))
        if scheme not in ("package", "model"):
            return None
        package, _, inside = unquote(rest).lstrip("/").partition("/")
        if package not in self._packages:
            self._packages[package] = next((at for at in self._candidates(package) if at.is_dir()), None)
        home = self._packages[package]
        return None if home is None or not inside else _there(home / inside)

    @cached_property
    def _folder(self) -> Path | None:
        file = Path(self.model)
        return file.resolve().parent if file.is_file() else None

    def _candidates(self, package: str) -> Iterator[Path]:
        """Folders that could be a package: around the model, and where variables say."""
        folder = self._folder
        for at in self.folders:
            if at.name == package:
                yield at
            yield from (at / package, at / "share" / package)
        for around in () if folder is None else (folder, *folder.parents):
            if around.name == package:
                yield around
            yield around / package
        for variable in _PATHS:
            for entry in filter(None, os.environ.get(variable, "").split(os.pathsep)):
                at = Path(entry)
                if at.name == package:
                    yield at
                yield from (at / package, at / "share" / package)


def _there(path: Path) -> Path | None:
    return path if path.is_file() else None
