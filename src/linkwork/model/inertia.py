# SPDX-License-Identifier: BSD-3-Clause
"""Spatial inertia of a rigid body: mass, center of mass, rotational inertia."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.conversions import converted
from linkwork.errors import InputError, ModelError, WrongOperand
from linkwork.inputs import shown
from linkwork.model.arrays import Floats, VectorLike, finite_array, numbers
from linkwork.model.joints import unit_axis
from linkwork.model.mesh_inertia import MeshProperties
from linkwork.model.placement import Placement, PlacementLike, as_placement
from linkwork.model.rotations import aligning_rotation
from linkwork.model.solids import as_solid, extruded, solid_properties


@converted
@dataclass(frozen=True, eq=False)
class Inertia:
    """Spatial inertia of a body: mass, center of mass and rotational inertia.

    Args:
        mass: In kilograms.
        com: Center of mass in the body's frame, in meters.
        rotational: Rotational inertia about the center of mass in the body's axes, ``(3, 3)``, in kg m²; by default
            that of a point mass, zero.
    """

    mass: float
    com: Floats
    rotational: Floats

    def __init__(
        self,
        mass: float,
        com: VectorLike = (0.0, 0.0, 0.0),
        rotational: npt.ArrayLike | None = None,
    ) -> None:
        values = np.zeros((3, 3)) if rotational is None else numbers(rotational, "rotational inertia")
        if values.shape == (3,):
            values = np.diag(values)
        object.__setattr__(self, "mass", float(mass))
        object.__setattr__(self, "com", finite_array(com, (3,), "center of mass"))
        object.__setattr__(self, "rotational", finite_array(values, (3, 3), "rotational inertia"))

    @staticmethod
    def zero() -> Inertia:
        """The inertia of a massless body."""
        return Inertia(0.0)

    @staticmethod
    @converted
    def box(mass: float, size: VectorLike, com: VectorLike = (0.0, 0.0, 0.0)) -> Inertia:
        """A solid box of edge lengths ``size``.

        Args:
            mass: In kilograms.
            size: Edge lengths along x, y, z, in meters.
            com: Its center, in meters.
        """
        x, y, z = finite_array(size, (3,), "size")
        return Inertia(mass, com, np.diag([y * y + z * z, x * x + z * z, x * x + y * y]) * mass / 12)

    @staticmethod
    @converted
    def sphere(mass: float, radius: float, com: VectorLike = (0.0, 0.0, 0.0)) -> Inertia:
        """A solid ball.

        Args:
            mass: In kilograms.
            radius: In meters.
            com: Its center, in meters.
        """
        return Inertia(mass, com, np.eye(3) * 0.4 * mass * (radius * radius))

    @staticmethod
    @converted
    def rod(mass: float, start: VectorLike, end: VectorLike, radius: float = 0.01) -> Inertia:
        """A solid cylinder from ``start`` to ``end``.

        Args:
            mass: In kilograms.
            start: Center of one end, in meters.
            end: Center of the other end, in meters.
            radius: In meters.
        """
        a, b = finite_array(start, (3,), "start"), finite_array(end, (3,), "end")
        length = float(np.linalg.norm(b - a))
        if length == 0:
            raise ModelError(f"a rod needs two different ends, not both at {a.tolist()}")
        R = aligning_rotation((b - a) / length)
        side = mass * (3 * (radius * radius) + length * length) / 12
        return Inertia(mass, (a + b) / 2, R @ np.diag([side, side, mass * (radius * radius) / 2]) @ R.T)

    @staticmethod
    @converted
    def disc(mass: float, radius: float, thickness: float = 0.0, axis: str | VectorLike = "z") -> Inertia:
        """A disc or a flywheel around the origin: a solid cylinder, thin by default.

        Args:
            mass: In kilograms.
            radius: In meters.
            thickness: Along the axis, in meters.
            axis: ``"x"``, ``"-z"`` and the like, or three numbers.
        """
        return Inertia.tube(mass, 0.0, radius, thickness, axis)

    @staticmethod
    @converted
    def tube(mass: float, inner: float, outer: float, length: float, axis: str | VectorLike = "z") -> Inertia:
        """A tube or a ring around the origin; a solid cylinder if ``inner`` is zero.

        Args:
            mass: In kilograms.
            inner: Radius of the bore, in meters.
            outer: Radius, in meters.
            length: Along the axis, in meters.
            axis: ``"x"``, ``"-z"`` and the like, or three numbers.
        """
        if not 0 <= inner <= outer or outer == 0 or length < 0:
            raise ModelError(
                f"radii {inner:g} and {outer:g}, length {length:g}: needs 0 <= inner <= outer, length >= 0"
            )
        squares = inner**2 + outer**2
        side = mass * (3 * squares + length**2) / 12
        return Inertia(mass, rotational=_about(axis, side, mass * squares / 2))

    @staticmethod
    @converted
    def cone(mass: float, radius: float, height: float, axis: str | VectorLike = "z") -> Inertia:
        """A solid cone, its base around the origin and its tip at ``height`` along the axis.

        Args:
            mass: In kilograms.
            radius: Of the base, in meters.
            height: In meters.
            axis: ``"x"``, ``"-z"`` and the like, or three numbers.
        """
        if not (radius > 0 and height > 0):
            raise ModelError(f"a cone of radius {radius:g} and height {height:g}: needs numbers > 0")
        side = mass * (3 / 20 * radius**2 + 3 / 80 * height**2)
        return Inertia(mass, 0.25 * height * unit_axis(axis), _about(axis, side, 0.3 * mass * radius**2))

    @staticmethod
    def extrusion(
        outline: npt.ArrayLike, thickness: float, *, mass: float | None = None, density: float | None = None
    ) -> Inertia:
        """A plate with an outline in the x-y plane, from ``z = -thickness / 2`` to ``thickness / 2``.

        Args:
            outline: Corners of a polygon that does not cross itself, ``(n, 2)``, in meters.
            thickness: In meters.
            mass: In kilograms; or
            density: in kg/m³.
        """
        return _of_mass(extruded(outline, thickness), mass, density)

    @staticmethod
    def of(
        solid: Any,
        *,
        mass: float | None = None,
        density: float | None = None,
        at: PlacementLike = (0.0, 0.0, 0.0),
    ) -> Inertia:
        """A solid that is filled evenly: ``Inertia.of(lw.shapes.Box((0.1, 0.2, 0.3)), density=7850)``.

        Args:
            solid: A solid of `shapes`; the path of a mesh file (STL, OBJ, ...), in meters; or an object with
                ``vertices`` and ``faces``, as those of trimesh. Surfaces must be closed and face outward.
            mass: In kilograms; or
            density: in kg/m³.
            at: Where it is in the frame of the body.
        """
        return _of_mass(solid_properties(as_solid(solid)), mass, density).moved(as_placement(at))

    def about_origin(self) -> Floats:
        """Rotational inertia about the origin of the body's frame."""
        c = self.com
        total: Floats = self.rotational + self.mass * (np.dot(c, c) * np.eye(3) - np.outer(c, c))
        return total

    def moved(self, placement: Placement) -> Inertia:
        """A copy expressed in the outer frame of ``placement``.

        Args:
            placement: Of its frame in the outer one.
        """
        if not isinstance(placement, Placement):
            raise InputError(f"placement is {shown(placement)}, needs a Placement")
        R = placement.rotation
        return Inertia(self.mass, R @ self.com + placement.position, R @ self.rotational @ R.T)

    def __add__(self, other: Inertia) -> Inertia:
        if not isinstance(other, Inertia):
            raise WrongOperand(f"an Inertia is added to another, not to {shown(other)}")
        mass = self.mass + other.mass
        if mass == 0:
            return Inertia(0.0, (0, 0, 0), self.rotational + other.rotational)
        com = (self.mass * self.com + other.mass * other.com) / mass
        total = np.zeros((3, 3))
        for part in (self, other):
            d = part.com - com
            total += part.rotational + part.mass * (np.dot(d, d) * np.eye(3) - np.outer(d, d))
        return Inertia(mass, com, total)

    def __sub__(self, other: Inertia) -> Inertia:
        """This body without a part of it, such as a hole; both in the same frame."""
        if not isinstance(other, Inertia):
            raise WrongOperand(f"from an Inertia another is subtracted, not {shown(other)}")
        if not other.mass < self.mass:
            raise ModelError(f"{other.mass:g} kg cannot be taken out of {self.mass:g} kg")
        rest = self + Inertia(-other.mass, other.com, -other.rotational)
        rest.validate("that is left")
        return rest

    def validate_mass(self, body: str) -> None:
        """Raise `ModelError` unless the mass is finite and not negative.

        Args:
            body: Name of the body, for errors.
        """
        if not self.mass >= 0 or not np.isfinite(self.mass):
            raise ModelError(f"body '{body}' has mass {self.mass}; it must be finite and >= 0", subject=body)

    def validate(self, body: str) -> None:
        """Raise `ModelError` unless some distribution of mass has this inertia.

        Args:
            body: Name of the body, for errors.
        """
        self.validate_mass(body)
        I = self.rotational
        scale = float(np.abs(I).max())
        if not np.allclose(I, I.T, rtol=0, atol=1e-9 * scale):
            raise ModelError(f"body '{body}': the rotational inertia is not symmetric", subject=body)
        # Files round: moments of inertia are given to a few digits.
        slack = 1e-5 * scale + 1e-12 * self.mass
        low, middle, high = np.linalg.eigvalsh(I)
        if low < -slack or low + middle < high - slack:
            raise ModelError(
                f"body '{body}' has principal moments of inertia {low:.4g}, {middle:.4g}, {high:.4g}: no "
                "distribution of mass has these (none is negative, and no two sum to less than the third). "
                "Check the units, and that the inertia is given about the center of mass",
                subject=body,
            )

    def __repr__(self) -> str:
        return f"Inertia(mass={self.mass:g}, com={self.com.tolist()})"


def _about(axis: str | VectorLike, side: float, along: float) -> Floats:
    """Rotational inertia of a body of revolution."""
    u = unit_axis(axis)
    inertia: Floats = side * np.eye(3) + (along - side) * np.outer(u, u)
    return inertia


def _of_mass(solid: MeshProperties, mass: float | None, density: float | None) -> Inertia:
    """The inertia of a solid whose density is one, with a mass or a density."""
    if (mass is None) == (density is None):
        raise ModelError("give either mass or density of a solid")
    factor = float(density) if density is not None else float(mass or 0.0) / solid.measure
    if not 0 < factor < np.inf:
        raise ModelError(f"{'mass' if density is None else 'density'} must be finite and > 0; found {mass or density}")
    return Inertia(factor * solid.measure, solid.center, factor * solid.moments)
