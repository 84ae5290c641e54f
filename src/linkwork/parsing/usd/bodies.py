# SPDX-License-Identifier: BSD-3-Clause
"""Rigid bodies of USD: which prims are bodies, under which names, and what they weigh.

Of ``PhysicsMassAPI`` a body has mass, center of mass and principal moments of inertia. What is not written there comes
from its colliders, by the rules of USD (``UsdPhysics.RigidBodyAPI.ComputeMassProperties``): densities of colliders,
bodies and materials, 1000 kg/m³ where there are none. Of a body without colliders USD says nothing more; as in PhysX,
it has 1 kg and the moments of inertia of a ball of 0.1 m then, with a warning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.errors import ModelError, UnsupportedFeature
from linkwork.model.arrays import Floats
from linkwork.model.constraints import WORLD
from linkwork.model.inertia import Inertia
from linkwork.model.placement import Placement
from linkwork.model.rotations import quaternion_of
from linkwork.parsing.usd.shapes import Geometry
from linkwork.parsing.usd.stage import Stage
from linkwork.parsing.xml import warn


@dataclass(frozen=True)
class Body:
    """A rigid body that moves."""

    name: str
    prim: Any
    place: Placement
    """Reference placement in the world."""
    scale: Floats
    """Of its own axes: positions in its frame are longer by it."""


class Bodies:
    """The rigid bodies of a stage, by path.

    Args:
        stage: The stage.
    """

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        prims = [prim for prim in stage.prims if self._moves(prim)]
        names = unique_names(stage, prims, taken=(WORLD,))
        self.by_path: dict[str, Body] = {}
        for prim, name in zip(prims, names, strict=True):
            at = stage.in_world(prim)
            self.by_path[str(prim.GetPath())] = Body(name, prim, at.place, at.scale)

    def _moves(self, prim: Any) -> bool:
        stage = self.stage
        if not prim.HasAPI(stage.pxr.UsdPhysics.RigidBodyAPI) or not stage.flag(prim, "physics:rigidBodyEnabled", True):
            return False
        if not stage.flag(prim, "physics:kinematicEnabled", False):
            return True
        if any(stage.pxr.UsdGeom.Xformable(above).TransformMightBeTimeVarying() for above in _upwards(prim)):
            raise stage.where(prim).error(
                "a kinematic body that an animation moves, whatever the forces, is not supported", UnsupportedFeature
            )
        return False

    def __iter__(self) -> Any:
        return iter(self.by_path.values())

    def of(self, prim: Any) -> Body | None:
        """The body that a prim is or is part of; None where it is fixed to the world."""
        paths = (str(above.GetPath()) for above in _upwards(prim))
        return next((self.by_path[path] for path in paths if path in self.by_path), None)

    def around(self, prim: Any) -> list[str]:
        """Names of the bodies below a prim, or of the one that it is part of."""
        path = prim.GetPath()
        below = [body.name for body in self if body.prim.GetPath().HasPrefix(path)]
        own = self.of(prim)
        return below or ([] if own is None else [own.name])


def _upwards(prim: Any) -> Iterator[Any]:
    """A prim, what it is in, and so on."""
    while prim and not prim.IsPseudoRoot():
        yield prim
        prim = prim.GetParent()


def unique_names(stage: Stage, prims: Iterable[Any], taken: Iterable[str] = ()) -> list[str]:
    """Names of prims; where two are alike, as much of their paths as tells them apart."""
    paths = [str(prim.GetPath()).strip("/").split("/") for prim in prims]
    kept = set(taken)
    names = []
    for path in paths:
        depth = 1
        while depth < len(path) and (
            sum(other[-depth:] == path[-depth:] for other in paths) > 1 or "/".join(path[-depth:]) in kept
        ):
            depth += 1
        name = "/".join(path[-depth:])
        if name in kept:
            raise ModelError(f"two prims are called '{name}'", file=stage.file, element="/" + "/".join(path))
        kept.add(name)
        names.append(name)
    return names


# Mass -----------------------------------------------------------------------------------------------------------------


def read_inertia(stage: Stage, body: Body, geometry: Geometry, quiet: bool) -> Inertia:
    """The inertia of a body in its frame, in SI units.

    Args:
        stage: The stage.
        body: The body.
        geometry: Its colliders.
        quiet: Whether to say nothing of masses that the file does not have.
    """
    prim, L, K = body.prim, stage.meters, stage.kilograms
    mass = stage.number(prim, "physics:mass") * K
    com = stage.vector(prim, "physics:centerOfMass", (-np.inf,) * 3)
    moments = stage.vector(prim, "physics:diagonalInertia") * (K * L * L)
    if mass < 0 or not np.isfinite(mass) or not np.isfinite(moments).all() or (moments < 0).any():
        raise stage.where(prim).error(
            f"mass {mass:g} kg and principal moments {moments.tolist()} kg m² must be finite and >= 0"
        )
    if mass > 0 and moments.any() and np.isfinite(com).all():
        return Inertia(mass, com * body.scale * L, _about_principal_axes(stage, prim, moments))
    if geometry.colliders:
        return _computed(stage, body, geometry)
    if not quiet and not (mass > 0 and moments.any()):
        warn(
            stage.where(prim),
            f"body '{body.name}' lacks a mass or an inertia and has no colliders: as in PhysX, it has 1 kg and the "
            "moments of inertia of a ball of 0.1 m",
        )
    mass = mass or 1.0
    center = com * body.scale * L if np.isfinite(com).all() else np.zeros(3)
    if moments.any():
        return Inertia(mass, center, _about_principal_axes(stage, prim, moments))
    return Inertia.sphere(mass, 0.1, center)


def _about_principal_axes(stage: Stage, prim: Any, moments: Floats) -> Floats:
    """Rotational inertia of principal moments; a quaternion of zeros says that their axes are the body's."""
    axes = stage.value(prim, "physics:principalAxes")
    if axes is None or not (axes.GetReal() or any(axes.GetImaginary())):
        return np.diag(moments)
    R = stage.rotation(prim, "physics:principalAxes")
    return R @ np.diag(moments) @ R.T


def _computed(stage: Stage, body: Body, geometry: Geometry) -> Inertia:
    """The inertia that USD computes from colliders, densities and written values."""
    pxr = stage.pxr
    L, K = stage.meters, stage.kilograms
    colliders = {str(c.prim.GetPath()): c for c in geometry.colliders}
    unknown = [c for c in colliders.values() if c.volume is None]
    if unknown:
        raise stage.where(unknown[0].prim).error(
            f"mass, center of mass or inertia of body '{body.name}' must come from this collider, whose volume is not "
            "computed here: write physics:mass, centerOfMass and diagonalInertia of the body",
            UnsupportedFeature,
        )

    def information(prim: Any) -> Any:
        said = pxr.UsdPhysics.RigidBodyAPI.MassInformation()
        collider = colliders.get(str(prim.GetPath()))
        said.volume, said.inertia = 0.0, pxr.Gf.Matrix3f(0.0)
        said.centerOfMass = said.localPos = pxr.Gf.Vec3f(0.0)
        said.localRot = pxr.Gf.Quatf(1.0)
        if collider is not None and collider.volume is not None:
            whole = collider.volume
            said.volume = whole.mass / L**3
            said.inertia = pxr.Gf.Matrix3f(*(whole.rotational / L**5).ravel().tolist())
            said.centerOfMass = pxr.Gf.Vec3f(*(whole.com / L).tolist())
            said.localPos = pxr.Gf.Vec3f(*(collider.place.position / L).tolist())
            x, y, z, w = quaternion_of(collider.place.rotation).tolist()
            said.localRot = pxr.Gf.Quatf(w, x, y, z)
        return said

    mass, moments, com, axes = pxr.UsdPhysics.RigidBodyAPI(body.prim).ComputeMassProperties(information)
    x, y, z = axes.GetImaginary()
    R = Placement.from_quaternion(x, y, z, axes.GetReal()).rotation
    I = R @ np.diag(np.array(moments, dtype=np.float64)) @ R.T * (K * L * L)
    return Inertia(float(mass) * K, np.array(com, dtype=np.float64) * L, (I + I.T) / 2)
