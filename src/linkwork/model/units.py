# SPDX-License-Identifier: BSD-3-Clause
"""Units for input: ``120 * mm`` are 0.12 meters. All numbers of the library are in SI units and radians."""

from __future__ import annotations

from math import pi


class Unit(float):
    """How much a unit is in SI units: a number with a name."""

    def __new__(cls, value: float, name: str) -> Unit:
        """A unit.

        Args:
            value: In SI units.
            name: What it is called.
        """
        unit = super().__new__(cls, value)
        unit.__doc__ = f"{name}: {value:g} in SI units."
        return unit


um, mm, cm = Unit(1e-6, "Micrometer"), Unit(1e-3, "Millimeter"), Unit(1e-2, "Centimeter")
inch, foot = Unit(0.0254, "Inch"), Unit(0.3048, "Foot")
ms, minute = Unit(1e-3, "Millisecond"), Unit(60.0, "Minute")
gram, tonne, pound = Unit(1e-3, "Gram"), Unit(1e3, "Metric ton"), Unit(0.45359237, "Pound")
deg, rev, rpm = Unit(pi / 180, "Degree"), Unit(2 * pi, "Revolution"), Unit(pi / 30, "Revolution per minute")
km_h = Unit(1 / 3.6, "Kilometer per hour")
kN, lbf = Unit(1e3, "Kilonewton"), Unit(4.4482216152605, "Pound-force")
N_mm = Unit(1e-3, "Newton millimeter, a torque")
N_per_mm = Unit(1e3, "Newton per millimeter, a stiffness")
kPa, MPa, bar, psi = Unit(1e3, "Kilopascal"), Unit(1e6, "Megapascal"), Unit(1e5, "Bar"), Unit(6894.757293168361, "Psi")
g_per_cm3 = Unit(1e3, "Gram per cubic centimeter, a density")
kW, hp = Unit(1e3, "Kilowatt"), Unit(745.6998715822702, "Horsepower")
