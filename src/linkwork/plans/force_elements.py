# SPDX-License-Identifier: BSD-3-Clause
"""The plan of passive forces beyond linear springs and dampers of single coordinates (`force_elements`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from linkwork.model.arrays import Floats
from linkwork.model.joints import Free, Spherical
from linkwork.model.lie import VECTOR
from linkwork.model.medium import VACUUM, Drag, added_mass
from linkwork.model.model import Model
from linkwork.model.parts import TreeJoint
from linkwork.model.shapes import Box, Ellipsoid
from linkwork.plans.bodies import BodyTable
from linkwork.plans.layout import Shape

M = TypeVar("M", bound=Model)

FORCE_SIZES = (
    "nforce_elements",  # 1 if there is any, or a tendon with a spring, a damper or a stop
    "nfluid",  # shapes that a medium pushes at
    "nball_springs",  # springs of ball and free joints
    "npolynomials",  # coordinates whose springs or dampers are polynomials
)
FORCE_INTEGERS: dict[str, Shape] = {
    "fluid_body": ("nfluid",),
    "fluid_is_box": ("nfluid",),
    "ball_spring_body": ("nball_springs",),
    "polynomial_q": ("npolynomials",),
    "polynomial_v": ("npolynomials",),
}
FORCE_FLOATS: dict[str, Shape] = {
    "medium": (5,),  # density, viscosity, wind
    "fluid_rotation": ("nfluid", 3, 3),  # of a shape in its body
    "fluid_position": ("nfluid", 3),
    "fluid_size": ("nfluid", 3),  # edges of a box, semi-axes of an ellipsoid
    "fluid_drag": ("nfluid", 11),  # coefficients, added mass and moments of an ellipsoid
    "ball_spring_stiffness": ("nball_springs",),
    "ball_spring_rest": ("nball_springs", 7),  # position and quaternion
    "polynomial": ("npolynomials", 5),  # rest, two coefficients of the spring and two of the damper
}
NO_FORCES = {"nforce_elements": 0, "nfluid": 0, "nball_springs": 0, "npolynomials": 0}
"""Sizes where none of these act."""


def force_arrays(mechanism: Model, bodies: BodyTable) -> dict[str, Any]:
    """The arrays of all passive elements of a mechanism but linear ones of joints."""
    medium = mechanism.medium
    fluid = [s for s in mechanism.shapes if s.role == "fluid" and s.body in bodies.number] if medium else []
    at = [bodies.frames[bodies.number[s.body]].inverse() * s.placement for s in fluid]
    springs = [j for j in mechanism.joints if isinstance(j.type, Spherical | Free) and j.stiffness.any()]
    bent = [j for j in mechanism.joints if j.type.group is VECTOR and any((*j.stiffness_terms, *j.damping_terms))]
    terms = [(j, k) for j in bent for k in range(j.type.nv)]
    arrays = {
        "medium": [medium.density, medium.viscosity, *medium.wind],
        "fluid_body": [bodies.number[s.body] for s in fluid],
        "fluid_is_box": [int(isinstance(s.solid, Box)) for s in fluid],
        "fluid_rotation": [place.rotation for place in at],
        "fluid_position": [place.position for place in at],
        "fluid_size": [_size(s.solid) for s in fluid],
        "fluid_drag": [_drag(s.solid, s.drag) for s in fluid],
        "ball_spring_body": [bodies.number[j.child] for j in springs],
        "ball_spring_stiffness": [float(j.stiffness[0]) for j in springs],
        "ball_spring_rest": [np.concatenate([np.zeros(7 - j.rest.size), j.rest]) for j in springs],
        "polynomial_q": [mechanism.q_slice(j.name).start + k for j, k in terms],
        "polynomial_v": [mechanism.v_slice(j.name).start + k for j, k in terms],
        "polynomial": [(j.rest[k], *j.stiffness_terms, *j.damping_terms) for j, k in terms],
    }
    pulled = any(tendon.is_passive for tendon in mechanism.tendons)
    return arrays | {"nforce_elements": int(bool(fluid or springs or bent or mechanism.forces) or pulled)}


def has_force_elements(mechanism: Model) -> bool:
    """Whether a medium, a spring of a ball or free joint, a polynomial or a law acts on a mechanism."""
    fluid = bool(mechanism.medium) and any(shape.role == "fluid" for shape in mechanism.shapes)
    return (
        fluid
        or bool(mechanism.forces)
        or any(
            any((*j.stiffness_terms, *j.damping_terms)) or (j.type.group is not VECTOR and j.stiffness.any())
            for j in mechanism.joints
        )
    )


def without_force_elements(mechanism: M) -> M:
    """A copy of the mechanism without force elements."""
    if not has_force_elements(mechanism):
        return mechanism
    none = (0.0, 0.0)
    joints = tuple(replace(j, stiffness_terms=none, damping_terms=none, stiffness=_plain(j)) for j in mechanism.joints)
    return replace(mechanism, joints=joints, medium=VACUUM, forces=())


def _plain(joint: TreeJoint) -> Floats:
    return joint.stiffness if joint.type.group is VECTOR else np.zeros_like(joint.stiffness)


def _size(solid: Any) -> tuple[float, ...]:
    return solid.size if isinstance(solid, Box) else solid.radii


def _drag(solid: Any, drag: Drag | None) -> list[float]:
    if not isinstance(solid, Ellipsoid):
        return [0.0] * 11
    c = drag or Drag()
    mass, inertia = added_mass(np.array(solid.radii))
    return [c.blunt, c.slender, c.angular, c.kutta, c.magnus, *mass.tolist(), *inertia.tolist()]
