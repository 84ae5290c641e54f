# SPDX-License-Identifier: BSD-3-Clause
"""Units for input: ``120 * mm`` are 0.12 meters. All numbers of the library are in SI units and radians."""

from __future__ import annotations

from math import pi


class Unit(float):
    """A unit in SI units: a number with a name."""

    def __new__(cls, value: float, name: str) -> Unit:
        """A unit.

        Args:
            value: In SI units.
            name: Its name.
        """
        unit = super().__new__(cls, value)
        unit.__doc__ = f"{name}: {value:g} in SI units."
        return unit


um = Unit(1e-6, "Micrometer")
mm = Unit(1e-3, "Millimeter")
cm = Unit(1e-2, "Centimeter")
inch = Unit(0.0254, "Inch")
foot = Unit(0.3048, "Foot")
ms = Unit(1e-3, "Millisecond")
minute = Unit(60.0, "Minute")
gram = Unit(1e-3, "Gram")
tonne = Unit(1e3, "Metric ton")
pound = Unit(0.45359237, "Pound")
deg = Unit(pi / 180, "Degree")
rev = Unit(2 * pi, "Revolution")
rpm = Unit(pi / 30, "Revolution per minute")
km_h = Unit(1 / 3.6, "Kilometer per hour")
kN = Unit(1e3, "Kilonewton")
lbf = Unit(4.4482216152605, "Pound-force")
N_mm = Unit(1e-3, "Newton millimeter, a torque")
N_per_mm = Unit(1e3, "Newton per millimeter, a stiffness")
kPa = Unit(1e3, "Kilopascal")
MPa = Unit(1e6, "Megapascal")
bar = Unit(1e5, "Bar")
psi = Unit(6894.757293168361, "Psi")
g_per_cm3 = Unit(1e3, "Gram per cubic centimeter, a density")
kW = Unit(1e3, "Kilowatt")
hp = Unit(745.6998715822702, "Horsepower")
