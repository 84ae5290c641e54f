# SPDX-License-Identifier: BSD-3-Clause
"""Stages of USD, by usd-core: opened with care, in SI units and with z up.

| here        | meaning                                                                                       |
|-------------|-----------------------------------------------------------------------------------------------|
| ``meters``  | of one unit of length of the stage (``metersPerUnit``; by USD's default 0.01)                   |
| ``kilograms`` | of one unit of mass (``kilogramsPerUnit``; by default 1)                                       |
| ``upright`` | the rotation from the stage's axes to ours, in which z is up                                   |

Other files are opened by references, payloads and sublayers: they must lie in the folder of the file or below, as for
MJCF. Attributes are read at the earliest time of a stage that is animated, and floats as their author wrote them: USD
has masses, lengths and limits as floats of 32 bits, whose shortest decimal numbers are those of a URDF file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from linkwork.errors import ModelError, UnsupportedFeature
from linkwork.model.arrays import Floats
from linkwork.model.placement import Placement
from linkwork.model.rotations import axis_rotation, tidy
from linkwork.parsing.options import Document

SHEAR = 1e-5
"""Scaled axes that are less than this off a right angle are at one: orientations in files are floats."""


def as_written(x: float) -> float:
    """The shortest decimal number of a float of 32 bits, which most attributes are: 9.81, not 9.8100004."""
    single = np.float32(x)
    return float(str(single)) if float(single) == x else float(x)


def libraries() -> Any:
    """The modules of usd-core."""
    try:
        names = ("Gf", "Sdf", "Tf", "Usd", "UsdGeom", "UsdPhysics", "UsdShade")
        return SimpleNamespace(**{name: import_module(f"pxr.{name}") for name in names})
    except ImportError:
        raise UnsupportedFeature("USD files need usd-core: pip install 'linkwork[usd]'") from None


@dataclass(frozen=True)
class PrimLocation:
    """A prim of a file, for complaints: ``file </World/arm>: ...``."""

    file: str
    path: str

    def error(self, message: str, kind: type[ModelError] = ModelError) -> ModelError:
        """An error that says where this is."""
        return kind(message, file=self.file, element=self.path)


@dataclass(frozen=True)
class Scaled:
    """Where a prim is in the world: at ``place``, its own axes longer by ``scale``."""

    place: Placement
    scale: Floats


class Stage:
    """An open stage.

    Args:
        document: The file, or a text.
    """

    def __init__(self, document: Document) -> None:
        self.pxr = libraries()
        self.file = document.name
        self.usd = _opened(self.pxr, document)
        self.time = self.pxr.Usd.TimeCode.EarliestTime()
        self._cache = self.pxr.UsdGeom.XformCache(self.time)
        self.meters = float(self.pxr.UsdGeom.GetStageMetersPerUnit(self.usd))
        self.kilograms = float(self.pxr.UsdPhysics.GetStageKilogramsPerUnit(self.usd))
        if not (0 < self.meters < np.inf and 0 < self.kilograms < np.inf):
            raise ModelError(
                f"metersPerUnit is {self.meters}, kilogramsPerUnit {self.kilograms}; they must be > 0", file=self.file
            )
        lies = str(self.pxr.UsdGeom.GetStageUpAxis(self.usd)) == "Y"
        self.upright = Placement(rotation=axis_rotation((1, 0, 0), np.pi / 2)) if lies else Placement()

    @cached_property
    def prims(self) -> tuple[Any, ...]:
        """All prims that are active, loaded and defined, those of instances too, in the order of the file."""
        Usd = self.pxr.Usd
        return tuple(Usd.PrimRange.Stage(self.usd, Usd.TraverseInstanceProxies(Usd.PrimDefaultPredicate)))

    def below(self, prim: Any) -> Iterator[Any]:
        """A prim and all prims below it."""
        Usd = self.pxr.Usd
        return iter(Usd.PrimRange(prim, Usd.TraverseInstanceProxies(Usd.PrimDefaultPredicate)))

    def where(self, prim: Any) -> PrimLocation:
        """The place of a prim, for complaints."""
        return PrimLocation(self.file, str(prim.GetPath()))

    # Attributes ----------------------------------------------------------------------------------

    def value(self, prim: Any, name: str, default: Any = None) -> Any:
        """An attribute as Python or NumPy has it; what its schema says, or the default, where nothing is written."""
        attribute = prim.GetAttribute(name)
        value = attribute.Get(self.time) if attribute else None
        return default if value is None else value

    def number(self, prim: Any, name: str, default: float = 0.0) -> float:
        """A number; it may be infinite, but not NaN."""
        value = self.value(prim, name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
            raise self.where(prim).error(f"attribute '{name}' is {value!r}, needs a number")
        return as_written(value)

    def flag(self, prim: Any, name: str, default: bool) -> bool:
        """A boolean."""
        return bool(self.value(prim, name, default))

    def vector(self, prim: Any, name: str, default: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Floats:
        """Three numbers."""
        value = self.value(prim, name, default)
        try:
            x, y, z = (as_written(float(k)) for k in value)
        except (TypeError, ValueError):
            raise self.where(prim).error(f"attribute '{name}' is {value!r}, needs three numbers") from None
        return np.array([x, y, z])

    def axis(self, prim: Any, name: str, default: str) -> str:
        """``"x"``, ``"y"`` or ``"z"``."""
        letter = str(self.value(prim, name, default))
        if letter not in ("X", "Y", "Z"):
            raise self.where(prim).error(f"attribute '{name}' is '{letter}', needs X, Y or Z")
        return letter.lower()

    def rotation(self, prim: Any, name: str) -> Floats:
        """A rotation matrix, of a quaternion that is normalized in double precision; without it, no rotation."""
        value = self.value(prim, name)
        if value is None:
            return np.eye(3)
        try:
            x, y, z, w = (as_written(float(k)) for k in (*value.GetImaginary(), value.GetReal()))
            return Placement.from_quaternion(x, y, z, w).rotation
        except (AttributeError, TypeError, ModelError):
            raise self.where(prim).error(f"attribute '{name}' is {value!r}, needs a quaternion") from None

    def schemas(self, prim: Any) -> list[str]:
        """Names of the API schemas of a prim, those of other vendors too."""
        return [str(name) for name in prim.GetPrimTypeInfo().GetAppliedAPISchemas()]

    # Places --------------------------------------------------------------------------------------

    def in_world(self, prim: Any) -> Scaled:
        """Where a prim is in our world, in meters with z up."""
        matrix = np.array(self._cache.GetLocalToWorldTransform(prim), dtype=np.float64).T  # USD's vectors are rows
        scale = np.linalg.norm(matrix[:3, :3], axis=0)
        if not np.isfinite(matrix).all() or not (scale > 1e-9).all():
            raise self.where(prim).error("the transform to the world is singular")
        scale = np.where(np.abs(scale - 1) < 1e-6, 1.0, scale)
        left, stretch, right = np.linalg.svd(matrix[:3, :3] / scale)
        if np.abs(stretch - 1).max() > SHEAR or np.linalg.det(left @ right) < 0:
            raise self.where(prim).error(
                "the transform to the world mirrors or shears, which bodies and joints cannot follow: apply it to the "
                "meshes",
                UnsupportedFeature,
            )
        return Scaled(self.upright * Placement(matrix[:3, 3] * self.meters, tidy(left @ right)), scale)


def _opened(pxr: Any, document: Document) -> Any:
    """The stage of a document, whose other files lie beside it."""
    try:
        if document.path is None:
            text = document.text.decode("utf-8", "replace") if isinstance(document.text, bytes) else document.text
            layer = pxr.Sdf.Layer.CreateAnonymous(".usda")
            layer.ImportFromString(text)
            _check_files(pxr, layer, document, None)
        else:
            layer = pxr.Sdf.Layer.FindOrOpen(str(document.path.resolve()))
            layer.Reload()
            _check_files(pxr, layer, document, document.path.resolve().parent)
        stage = pxr.Usd.Stage.Open(layer)
    except pxr.Tf.ErrorException as e:
        raise usd_error(e, document.name) from None
    for error in stage.GetCompositionErrors():
        raise ModelError(f"the stage does not compose: {error}", file=document.name)
    return stage


def usd_error(error: Exception, file: str) -> ModelError:
    """USD's message about a file, without its own source lines."""
    said = str(error).strip().splitlines()[0].rpartition(" : ")[2].strip("'")
    return ModelError(f"USD cannot read it: {said}", file=file)


def _check_files(pxr: Any, layer: Any, document: Document, folder: Path | None) -> None:
    """Raise unless all layers that a stage is composed of lie in a folder or below; they are opened for that."""
    seen: set[str] = set()
    stack = [layer]
    while stack:
        here = stack.pop()
        for asset in filter(None, here.GetCompositionAssetDependencies()):
            if folder is None:
                raise UnsupportedFeature(f"other files are not opened for a text: {asset}", file=document.name)
            named = pxr.Sdf.ComputeAssetPathRelativeToLayer(here, asset)
            path = Path(named).resolve()
            if not path.is_relative_to(folder) or not path.is_file():
                what = "is not there" if path.is_relative_to(folder) else "is outside of the folder of the file"
                raise UnsupportedFeature(f"'{asset}', which it refers to, {what}", file=document.name)
            if str(path) not in seen:
                seen.add(str(path))
                opened = pxr.Sdf.Layer.FindOrOpen(str(path))
                opened.Reload()
                stack.append(opened)
