# SPDX-License-Identifier: BSD-3-Clause
"""The table of docs/reference/files.md: what formats can say, what they say otherwise, what is refused."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from tests.support import REPOSITORY

PAGE = REPOSITORY / "docs" / "reference" / "files.md"


def pair(type: Any = None, build: Callable[[lw.Builder], object] | None = None, **options: Any) -> lw.Mechanism:
    """Two bodies side by side, whose loops of all kinds are closed as drawn."""
    made = lw.Builder("pair")
    for side, joint in (("left", lw.joints.Revolute("z")), ("right", type or lw.joints.Revolute("z"))):
        made.body(side, lw.Inertia.sphere(1.0, 0.1, (0.2, 0.1, 0)))
        made.joint(f"{side}_joint", joint, "world", side, **(options if side == "right" else {}))
    made.body("third", lw.Inertia.sphere(1.0, 0.1, (0.2, 0, 0.1)))
    made.joint("third_joint", lw.joints.Prismatic("x"), "world", "third")
    if build is not None:
        build(made)
    return made.build()


def of(*constraints: lw.constraints.Constraint) -> lw.Mechanism:
    return pair().constrained(*constraints)


def shape(solid: Any) -> lw.Mechanism:
    return pair(build=lambda made: made.shape("world" if isinstance(solid, lw.shapes.Ground) else "left", solid))


ENDS: Any = ("left", "right")
ROWS: dict[str, Callable[[], lw.Mechanism]] = {
    "`Revolute`, `Prismatic`": pair,
    "`Universal`": lambda: pair(lw.joints.Universal("x", "y")),
    "`Universal` with non-orthogonal axes": lambda: pair(lw.joints.Universal("x", (1, 1, 0))),
    "`Spherical`": lambda: pair(lw.joints.Spherical()),
    "`Helical`": lambda: pair(lw.joints.Helical("z", 0.1)),
    "`Planar`": lambda: pair(lw.joints.Planar("z")),
    "`Free`": lambda: pair(lw.joints.Free()),
    "limits of position, of effort": lambda: pair(lower=-1.0, upper=1.0, effort=5.0),
    "limits of position of a `Helical`": lambda: pair(lw.joints.Helical("z", 0.1), lower=-1.0, upper=1.0),
    "limits of velocity": lambda: pair(velocity=1.0),
    "armature, damping, friction, springs of one degree of freedom": lambda: pair(
        armature=0.1, damping=0.1, friction=0.1, stiffness=1.0, rest=0.2
    ),
    "armature, damping, friction of a `Spherical`": lambda: pair(
        lw.joints.Spherical(), armature=0.1, damping=0.1, friction=0.1
    ),
    "springs of a `Spherical`": lambda: pair(lw.joints.Spherical(), stiffness=1.0),
    "marks: driven": lambda: pair(actuated=True),
    "marks: independent": lambda: pair(independent=True),
    "gravity": lambda: pair().with_gravity((0, 1, -2)),
    "gravity compensation": lambda: pair(
        build=lambda made: made.body("held", lw.Inertia.sphere(1, 0.1), gravity_compensation=1).joint(
            "held_joint", lw.joints.Revolute("z"), "world", "held"
        )
    ),
    "actuators": lambda: pair().with_actuators("left_joint"),
    "tendons with springs or dampers": lambda: replace(
        pair(), tendons=(lw.tendons.Tendon("t", joints={"left_joint": 1.0}, damping=1.0),)
    ),
    "contacts": lambda: pair(
        build=lambda made: made.shape("left", lw.shapes.Sphere(0.1), role="collision").contact("left")
    ),
    "restitution and compliance of contacts": lambda: pair(
        build=lambda made: made.shape("left", lw.shapes.Sphere(0.1), role="collision").contact("left", restitution=0.5)
    ),
    "poses": lambda: pair(build=lambda made: made.pose("home", {"left_joint": 0.3})),
    "sensors": lambda: pair().with_sensors(lw.sensors.Sensor("s", "jointpos", "left_joint")),
    "frames": lambda: pair().with_frame("tip", "left", (0, 0, 1)),
    "`Point`": lambda: of(lw.constraints.Point(*ENDS)),
    "`Weld`": lambda: of(lw.constraints.Weld(*ENDS)),
    "`Hinge`": lambda: of(lw.constraints.Hinge(*ENDS)),
    "`Slider`": lambda: of(lw.constraints.Slider(*ENDS)),
    "`Cardan`": lambda: of(lw.constraints.Cardan(*ENDS)),
    "`PlaneOnPlane`": lambda: of(lw.constraints.PlaneOnPlane(*ENDS)),
    "`Cylindrical`": lambda: of(lw.constraints.Cylindrical(*ENDS)),
    "`PointOnLine`, `PointOnPlane`": lambda: of(
        lw.constraints.PointOnLine(*ENDS), lw.constraints.PointOnPlane(*ENDS, name="plane")
    ),
    "`Rod`": lambda: of(lw.constraints.Rod(*ENDS, length=0.5)),
    "`Rolling`": lambda: of(lw.constraints.Rolling(*ENDS, radius=0.5)),
    "`JointLock`": lambda: of(lw.constraints.JointLock("left_joint", name="left_joint_mimic")),
    "`Gear`, `JointCoupling` of two joints": lambda: of(
        lw.constraints.Gear("left_joint", "third_joint", 2.0, name="left_joint_mimic")
    ),
    "`Belt`, `JointCoupling` of more": lambda: of(
        lw.constraints.JointCoupling({"left_joint": 1.0, "right_joint": 2.0, "third_joint": 3.0}, 0.1)
    ),
    "`PolynomialCoupling`": lambda: of(lw.constraints.PolynomialCoupling("left_joint", "third_joint", (0.1, 0, 1.0))),
    "`TendonCoupling` of spatial tendons": lambda: of(
        lw.constraints.TendonCoupling(lw.tendons.Tendon("rope", path=("left", "world")), name="rope")
    ),
    "`FunctionCoupling`, `Follows`": lambda: of(lw.constraints.Follows("left_joint", "third_joint", np.sin)),
    "`VelocityCoupling`, `LinearCombination`, `CenterOfMass`": lambda: of(
        lw.constraints.VelocityCoupling({"left_joint": [[1.0]]}), lw.constraints.CenterOfMass()
    ),
    "constraints that are disabled": lambda: of(lw.constraints.Weld(*ENDS, enabled=False)),
    "gains and compliance of constraints": lambda: of(lw.constraints.Weld(*ENDS, time_constant=0.1, compliance=2.0)),
    "`Box`, `Sphere`, `Cylinder`, `Capsule`, `Ellipsoid`": lambda: pair(
        build=lambda made: [
            made.shape("left", solid)
            for solid in (
                lw.shapes.Box((1, 2, 3)),
                lw.shapes.Sphere(1.0),
                lw.shapes.Cylinder(1, 2),
                lw.shapes.Capsule(1, 2),
                lw.shapes.Ellipsoid((1, 2, 3)),
            )
        ]
    ),
    "`Mesh` (MJCF: .stl, .obj, .msh)": lambda: shape(lw.shapes.Mesh("part.stl", None)),
    "`Ground`": lambda: shape(lw.shapes.Ground()),
    "`HeightField`": lambda: shape(lw.shapes.HeightField(((0, 1), (1, 2)), (1, 1))),
}


COLUMNS: dict[str, dict[str, Any]] = {
    "URDF": {"format": "urdf"},
    "URDF, `linkwork`": {"format": "urdf", "dialect": "linkwork"},
    "MJCF": {"format": "mjcf"},
    "SDF": {"format": "sdf"},
}


def verdict(robot: lw.Mechanism, how: dict[str, Any]) -> str:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", lw.errors.ModelWarning)
        try:
            robot.to_text(**how)
        except lw.errors.CannotSave:
            return "refused"
    return "warning" if caught else "yes"


def said() -> dict[str, list[str]]:
    """The rows of the table in the page."""
    lines = PAGE.read_text().split("## What each format can say")[1].split("\n## ")[0].splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    assert cells[0][1:] == list(COLUMNS)
    return {row[0]: row[1:] for row in cells[2:]}


@pytest.mark.parametrize("row", ROWS)
def test_the_table_says_what_happens(row: str) -> None:
    found = [verdict(ROWS[row](), how) for how in COLUMNS.values()]
    told = [cell.split(":")[0] for cell in said()[row]]
    assert told == found


def test_the_table_has_no_other_rows() -> None:
    assert list(said()) == list(ROWS)
