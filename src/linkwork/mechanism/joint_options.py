# SPDX-License-Identifier: BSD-3-Clause
"""Numbers that a joint is given besides its type and place: limits, and the constants of its dynamics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

import numpy as np

from linkwork.errors import ModelError, UnknownOption
from linkwork.inputs import suggest
from linkwork.model.arrays import Floats, frozen, numbers
from linkwork.model.joints import Joint, Spherical
from linkwork.model.lie import VECTOR
from linkwork.model.parts import Limits
from linkwork.model.soft_contact import SoftConstraint

PerCoordinate = float | Sequence[float] | Floats
"""One number for all coordinates of a joint, or one for each."""

UNLIMITED = (-np.inf, np.inf)


class JointOptions(TypedDict, total=False):
    """Keywords of `Builder.joint`: limits, and constants of its dynamics. Each is one number, or one per coordinate.

    ``build.joint("knee", Revolute("y"), "thigh", "shank", lower=0, upper=2.5, effort=80, damping=0.1)``
    """

    lower: PerCoordinate | None
    """Lower limits of position; by default none."""
    upper: PerCoordinate | None
    """Upper limits of position; by default none."""
    angle: float | None
    """Of a spherical joint: the largest angle of its rotation from the neutral orientation; by default any."""
    velocity: PerCoordinate | None
    """Limits of the magnitude of velocity; by default none."""
    effort: PerCoordinate | None
    """Limits of torque or force; by default none."""
    actuation: tuple[float, float]
    """Limits of the sum of actuator torques on a joint with one degree of freedom."""
    armature: PerCoordinate
    """Reflected inertia of the rotor."""
    damping: PerCoordinate
    """Viscous damping."""
    friction: PerCoordinate
    """Dry friction, which steps with contacts apply."""
    stiffness: PerCoordinate
    """Stiffness of a spring; of a spherical or free joint one for all, against its rotation and position; that of a
    planar joint is kept and does not act."""
    rest: PerCoordinate | None
    """Rest position of the spring; by default the neutral position of the joint."""
    soft_limit: SoftConstraint | None
    """Softness of its limits in steps with soft contacts."""
    soft_friction: SoftConstraint | None
    """Softness of its dry friction there."""
    stiffness_terms: tuple[float, float]
    """Factors of the square and the cube of the spring's deflection, of joints whose coordinates are numbers."""
    damping_terms: tuple[float, float]
    """Factors of the square and the cube of velocity of the damper."""


def check_options(name: str, options: JointOptions) -> None:
    """Raise `UnknownOption` for a keyword that joints do not take."""
    known = JointOptions.__annotations__
    for keyword in options:
        if keyword not in known:
            near = suggest(keyword, known)
            raise UnknownOption(
                f"joint '{name}': unknown option '{keyword}'{near or '; there are ' + ', '.join(known)}"
            )


def limits_of(name: str, type: Joint, options: JointOptions) -> Limits:
    """Limits of a joint; infinite where none is given."""
    what = f"joint '{name}'"
    low, high = (float(bound) for bound in options.get("actuation", UNLIMITED))
    limits = Limits(
        _per_coordinate(options.get("lower"), type.nq, -np.inf, f"{what}: lower limit"),
        _per_coordinate(options.get("upper"), type.nq, np.inf, f"{what}: upper limit"),
        _per_coordinate(options.get("velocity"), type.nv, np.inf, f"{what}: velocity limit"),
        _per_coordinate(options.get("effort"), type.nv, np.inf, f"{what}: effort limit"),
        (low, high),
        np.inf if (angle := options.get("angle")) is None else float(angle),
    )
    if not (limits.angle > 0 and (isinstance(type, Spherical) or np.isinf(limits.angle))):
        raise ModelError(f"{what}: angle is {limits.angle:g}; it is that of a spherical joint, and > 0", subject=name)
    if not low <= high:
        raise ModelError(f"{what}: actuation goes from {low} to {high}; the first must not be greater", subject=name)
    if type.nv != 1 and np.isfinite(limits.actuation).any():
        raise ModelError(f"{what}: actuation limits need one degree of freedom, not {type.nv}", subject=name)
    if (limits.lower > limits.upper).any():
        raise ModelError(f"{what}: lower limit {limits.lower} is above upper limit {limits.upper}")
    return limits


def dynamics_of(name: str, type: Joint, options: JointOptions) -> dict[str, Any]:
    """Armature, damping, friction, stiffness and rest position of a joint; zero or neutral where none is given."""
    options_of_joint = {
        "armature": options.get("armature"),
        "damping": options.get("damping"),
        "friction": options.get("friction"),
        "stiffness": options.get("stiffness"),
    }
    fields_of_joint: dict[str, Any] = {name: options.get(name) for name in ("soft_limit", "soft_friction")}
    for what, value in options_of_joint.items():
        fields_of_joint[what] = _per_coordinate(value, type.nv, 0.0, f"joint '{name}': {what}")
        if (fields_of_joint[what] < 0).any() or not np.isfinite(fields_of_joint[what]).all():
            raise ModelError(f"joint '{name}': {what} must be finite and >= 0, not {fields_of_joint[what]}")
    rest = options.get("rest")
    at_rest = np.array(type.neutral) if rest is None else numbers(rest, f"joint '{name}': rest position").reshape(-1)
    fields_of_joint["rest"] = _per_coordinate(at_rest, type.nq, 0.0, f"joint '{name}': rest position of the spring")
    higher = {"stiffness_terms": options.get("stiffness_terms"), "damping_terms": options.get("damping_terms")}
    for what, pair in higher.items():
        terms = _per_coordinate(pair, 2, 0.0, f"joint '{name}': {what}")
        if terms.any() and type.group is not VECTOR:
            raise ModelError(f"joint '{name}': {what} of a {type.kind_name} joint are not modeled", subject=name)
        fields_of_joint[what] = tuple(terms.tolist())
    return fields_of_joint


def _per_coordinate(value: PerCoordinate | None, count: int, default: float, what: str) -> Floats:
    array = np.full(count, default) if value is None else numbers(value, what)
    if array.ndim == 0:
        array = np.full(count, float(array))
    if array.shape != (count,):
        raise ModelError(f"{what} has {array.size} numbers, needs {count}")
    if np.isnan(array).any():
        raise ModelError(f"{what} is NaN")
    return frozen(array)
