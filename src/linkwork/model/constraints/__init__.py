# SPDX-License-Identifier: BSD-3-Clause
"""Constraints that close loops, hold feet, and couple joints. One class each.

Between two frames (`pairs`): `Weld`, `Hinge`, `Slider`, `Cylindrical`, `Cardan`, `Point`, `PlaneOnPlane`,
`PointOnLine`, `PointOnPlane`, `Rod`, `Rolling`. On joint coordinates (`couplings`, `functions`): `JointCoupling`,
`Gear`, `Belt`, `PolynomialCoupling`, `JointLock`, `VelocityCoupling`, `FunctionCoupling`, `Follows`. On many bodies
(`combinations`): `CenterOfMass`, `LinearCombination`. On lengths of tendons (`tendons`): `TendonCoupling`. On all of
these, following time (`drives`): `Drive`, `FrameDrive`, `LengthDrive`.
"""

from linkwork.model.constraints.base import WORLD, Constraint, ConstraintOptions, Renaming
from linkwork.model.constraints.closing import Opened, closing, opening
from linkwork.model.constraints.combinations import CenterOfMass, LinearCombination
from linkwork.model.constraints.couplings import (
    Belt,
    Coupling,
    Equation,
    FixedTendonCoupling,
    Gear,
    JointCoupling,
    JointLock,
    PolynomialCoupling,
    Term,
    VelocityCoupling,
)
from linkwork.model.constraints.drives import Drive, FrameDrive, LengthDrive
from linkwork.model.constraints.functions import Follows, FunctionCoupling
from linkwork.model.constraints.pairs import (
    SHIFT_ROWS,
    TURN_ROWS,
    Axial,
    Cardan,
    Cylindrical,
    Hinge,
    Pair,
    PlaneOnPlane,
    Point,
    PointOnLine,
    PointOnPlane,
    Rod,
    Rolling,
    Slider,
    Weld,
)
from linkwork.model.constraints.tendons import TendonCoupling

__all__ = [
    "SHIFT_ROWS",
    "TURN_ROWS",
    "WORLD",
    "Axial",
    "Belt",
    "Cardan",
    "CenterOfMass",
    "Constraint",
    "ConstraintOptions",
    "Coupling",
    "Cylindrical",
    "Drive",
    "Equation",
    "FixedTendonCoupling",
    "Follows",
    "FrameDrive",
    "FunctionCoupling",
    "Gear",
    "Hinge",
    "JointCoupling",
    "JointLock",
    "LengthDrive",
    "LinearCombination",
    "Opened",
    "Pair",
    "PlaneOnPlane",
    "Point",
    "PointOnLine",
    "PointOnPlane",
    "PolynomialCoupling",
    "Renaming",
    "Rod",
    "Rolling",
    "Slider",
    "TendonCoupling",
    "Term",
    "VelocityCoupling",
    "Weld",
    "closing",
    "opening",
]
