# SPDX-License-Identifier: BSD-3-Clause
"""The medium that a robot moves in, air or water, and how shapes resist it: MuJoCo's two models of fluid forces.

A body is pushed by the medium at shapes whose role is ``"fluid"``. A box resists by its equivalent diameter and its
sides (MuJoCo: the inertia model); an ellipsoid with `Drag` by the forces of potential and viscous flow around it (the
ellipsoid model: added mass, drag, Magnus and Kutta lift).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, pi

import numpy as np

from linkwork.conversions import converted
from linkwork.errors import ModelError
from linkwork.model.arrays import Floats


@converted
@dataclass(frozen=True)
class Medium:
    """A fluid that fills the world.

    Args:
        density: In kg/m³: 1.2 of air, 1000 of water.
        viscosity: Dynamic viscosity, in Pa s: 0.00002 of air, 0.0009 of water.
        wind: Velocity of the medium, in m/s, in the world's axes.
    """

    density: float = 0.0
    viscosity: float = 0.0
    wind: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        if not all(isfinite(x) and x >= 0 for x in (self.density, self.viscosity)):
            raise ModelError(
                f"density {self.density} and viscosity {self.viscosity} of a medium must be finite and >= 0"
            )

    def __bool__(self) -> bool:
        return self.density > 0 or self.viscosity > 0


VACUUM = Medium()
"""No medium."""


@converted
@dataclass(frozen=True)
class Drag:
    """Coefficients of the forces that a medium exerts on an ellipsoid (MJCF: ``fluidcoef``).

    Args:
        blunt: Of drag by the area that is projected along the motion.
        slender: Of drag by the rest of the largest area.
        angular: Of drag against rotation.
        kutta: Of lift of a surface at an angle to the flow.
        magnus: Of lift of a body that spins.
    """

    blunt: float = 0.5
    slender: float = 0.25
    angular: float = 1.5
    kutta: float = 1.0
    magnus: float = 1.0


# Gauss and Kronrod's rule of 15 points on [0, 1]: the first eight, to eight digits as MuJoCo has them.
_NODES = (0.00427231, 0.02544604, 0.06756779, 0.12923441, 0.20695638, 0.29707742, 0.39610752, 0.5)
_WEIGHTS = (0.01146766, 0.03154605, 0.05239501, 0.07032663, 0.08450236, 0.09517529, 0.10221647, 0.10474107)


def added_mass(radii: Floats) -> tuple[Floats, Floats]:
    """Mass and moments of inertia of the fluid that an ellipsoid carries along, per density of the fluid.

    Lamb, Hydrodynamics, chapter V: with ``k_i = abc int dl / ((d_i² + l) sqrt((a² + l) (b² + l) (c² + l)))`` the added
    mass along an axis is ``V k / (2 - k)``.

    Args:
        radii: Semi-axes, ``(3,)``.
    """
    volume = 4 / 3 * pi * radii.prod()
    k = np.array([_integral(np.roll(radii, -axis)) for axis in range(3)])
    square = radii**2
    inertia = np.zeros(3)
    for axis in range(3):
        y, z = (axis + 1) % 3, (axis + 2) % 3
        apart, both = square[y] - square[z], square[y] + square[z]
        bottom = max(abs(2 * apart + both * (k[y] - k[z])), np.finfo(float).eps)
        inertia[axis] = volume / 5 * apart**2 * abs(k[z] - k[y]) / bottom
    return volume * k / np.maximum(2 - k, np.finfo(float).eps), inertia


def _integral(radii: Floats) -> float:
    """``k`` along the first of three axes, by ``l = s x³ / (1 - x)²``."""
    x = np.array([*_NODES, *(1 - t for t in _NODES[-2::-1])])
    weights = np.array([*_WEIGHTS, *_WEIGHTS[-2::-1]])
    scale = float((radii[0] ** 2 * radii.prod()) ** 0.4)
    l, rate = scale * x**3 / (1 - x) ** 2, scale * x**2 * (3 - x) / (1 - x) ** 3
    factors = 1 + l[:, None] / radii**2
    return float((weights * rate / (factors[:, 0] * np.sqrt(factors.prod(axis=1)))).sum() / radii[0] ** 2)
