# SPDX-License-Identifier: BSD-3-Clause
"""Parameters of a robot as arrays: which there are, in which units and frames, its own values, and robots of others.

| parameter           | shape            | meaning                                                                     |
|---------------------|------------------|-----------------------------------------------------------------------------|
| mass                | (bodies,)        | masses, kg                                                                  |
| com                 | (bodies, 3)      | centers of mass in the frames of the bodies, m                              |
| inertia             | (bodies, 6)      | rotational inertias about the center of mass, axes of the body, kg m²:      |
|                     |                  | xx, xy, yy, xz, yz, zz                                                      |
| inertial_parameters | (bodies, 10)     | m, m c (3), and xx, xy, yy, xz, yz, zz about the origin of the body's frame |
| armature            | (nv,)            | reflected inertia of rotors, kg m² or kg                                    |
| damping             | (nv,)            | viscous damping of joints, N m s or N s/m                                   |
| stiffness           | (nv,)            | stiffness of the joints' springs, N m or N/m                                |
| rest                | (nv,)            | where these springs are at rest, rad or m                                   |
| friction            | (nv,)            | dry friction of joints, N m or N; it acts in steps with contacts            |
| gravity             | (3,)             | acceleration of free fall, m/s²                                             |
| time                | (1,)             | when drives and forces that depend on time are evaluated, s                 |
| joint_position      | (joints, 3)      | positions of joints in the frames of their parents, m: link lengths         |
| anchor_position     | (pairs, 2, 3)    | the points of a constraint between two places, in the frames of both, m     |
| length              | (sized, )        | lengths of rods and radii of rolling bodies, m                              |
| gains               | (constraints, 2) | Baumgarte gains kp, kd of constraints, 1/s² and 1/s                         |
| actuator_gain       | (actuators, 3)   | factors of commands: constant, of the length, of its rate                   |
| actuator_bias       | (actuators, 3)   | forces without a command: constant, of the length, of its rate              |
| motor_stall         | (such motors,)   | forces of motors at rest, N m or N; rows of motors that have a stall force  |
| motor_no_load       | (such motors,)   | rates at which they have no force                                           |
| motor_friction      | (such motors, 2) | their friction: sliding, and as they start                                  |
| motor_stribeck      | (such motors,)   | rates over which friction falls from the second to the first                |
| motor_integral      | (such motors,)   | forces per integral of the error                                            |
| motor_delay         | (such motors,)   | steps that commands are late, at most those of the model in whole steps     |
| motor_backlash      | (such motors,)   | play of gears                                                               |
| motor_network       | (such motors,)   | factors of the outputs of networks                                          |
| contact_friction    | (contact pairs,) | coefficients of friction                                                    |
| contact_size        | (shapes, 3)      | sizes of contact shapes, m: half edges of boxes, semi-axes of ellipsoids,   |
|                     |                  | radius and half length of cylinders and capsules, radius of spheres         |
| mocap               | (mocap, 7)       | placements of mocap bodies in the world: position, quaternion x y z w       |

Rows are in the order of the model. ``inertial_parameters`` has the order of Pinocchio's ``Inertia.toDynamicParameters``
and of `regressor`s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from linkwork.errors import InputError
from linkwork.inputs import finite_floats, not_negative, suggest
from linkwork.model.arrays import Floats
from linkwork.model.constraints import Pair
from linkwork.model.contact_sizes import size_of_solid, sized_shapes, with_sizes
from linkwork.model.inertia import Inertia
from linkwork.model.inertial_parameters import six_of, symmetric
from linkwork.model.lie import VECTOR
from linkwork.model.mocap import check_turns, mocap_bodies, mocap_placements, with_mocap
from linkwork.model.model import Model
from linkwork.model.motor_parameters import MOTOR_PARAMETERS
from linkwork.model.parameter import Parameter, check_above_zero
from linkwork.model.placement import Placement, as_placement

SLACK = 1e-5
"""Relative error of rotational inertias that no mass can have: files round them."""


# Bodies ---------------------------------------------------------------------------------------------------------------


def _bodies(robot: Model) -> list[Inertia]:
    return [robot.inertias[name] for name in robot.body_names]


def _with_inertias(robot: Model, inertias: Sequence[Inertia]) -> dict[str, Any]:
    return {"inertias": dict(zip(robot.body_names, inertias, strict=True))}


def _inertial_parameters(robot: Model) -> Floats:
    rows = [[I.mass, *(I.mass * I.com), *six_of(I.about_origin())] for I in _bodies(robot)]
    return np.array(rows).reshape(-1, 10)


def _of_inertial_parameters(row: Floats) -> Inertia:
    mass, moment, about_origin = float(row[0]), row[1:4], symmetric(row[4:])
    com = moment / mass if mass != 0 else np.zeros(3)
    return Inertia(mass, com, about_origin - mass * (com @ com * np.eye(3) - np.outer(com, com)))


def check_rotational(six: Any, name: str) -> None:
    """Raise unless some distribution of mass has each of these inertias about its center, ``(..., 6)``.

    That is where the matrix of second moments of mass, ``S = tr(I) / 2 - I``, is positive semidefinite: no principal
    moment is negative, and no two sum to less than the third. Its principal minors say so.
    """
    I = np.ascontiguousarray(np.moveaxis(np.asarray(six, dtype=np.float64), -1, 0))
    xx, xy, yy, xz, yz, zz = I
    half = 0.5 * (xx + yy + zz) + SLACK * np.abs(I).max(axis=0, initial=0.0)
    a, b, c = half - xx, half - yy, half - zz
    minor = b * c - yz * yz
    least = np.minimum(np.minimum(a, np.minimum(b, c)), 0.0)
    least = np.minimum(least, np.minimum(np.minimum(a * b - xy * xy, a * c - xz * xz), minor))
    # determinant of S, whose mixed entries are those of -I
    least = np.minimum(least, a * minor - xy * (xy * c + xz * yz) - xz * (xy * yz + b * xz))
    if (least < 0).any():
        at = tuple(int(k) for k in np.argwhere(least < 0)[0])
        low, middle, high = np.linalg.eigvalsh(symmetric(np.moveaxis(I, 0, -1)[at]))
        raise InputError(
            f"{name}: row {', '.join(map(str, at))} has principal moments of inertia {low:.4g}, {middle:.4g}, "
            f"{high:.4g}: no distribution of mass has these (none is negative, and no two sum to less than the third)"
        )


def _check_first(x: Any, name: str) -> None:
    not_negative(x[..., 0], f"{name} (mass)")


def _check_inertial(x: Any, name: str) -> None:
    _check_first(x, name)
    m, hx, hy, hz, xx, xy, yy, xz, yz, zz = np.ascontiguousarray(np.moveaxis(x, -1, 0))
    per = 1.0 / np.where(m > 0, m, 1.0)
    squares = hx * hx, hy * hy, hz * hz
    about_center = (
        xx - per * (squares[1] + squares[2]),
        xy + per * (hx * hy),
        yy - per * (squares[0] + squares[2]),
        xz + per * (hx * hz),
        yz + per * (hy * hz),
        zz - per * (squares[0] + squares[1]),
    )
    check_rotational(np.stack(about_center, axis=-1), name)


# Joints ---------------------------------------------------------------------------------------------------------------


def _dof_names(robot: Model) -> list[str]:
    return [joint.name for joint in robot.joints for _ in range(joint.type.nv)]


def _of_dofs(field: str) -> Parameter:
    def own(robot: Model) -> Floats:
        parts: list[Floats] = [np.zeros(0)]
        for joint in robot.joints:
            values = np.asarray(getattr(joint, field), dtype=np.float64)
            parts.append(values if values.size == joint.type.nv else np.zeros(joint.type.nv))
        return np.concatenate(parts)

    def changes(robot: Model, x: Floats) -> dict[str, Any]:
        joints = []
        for joint in robot.joints:
            part: dict[str, Any] = {field: x[robot.v_slice(joint.name)]}
            kept = np.asarray(getattr(joint, field)).size != joint.type.nv
            joints.append(joint if kept else replace(joint, **part))
        return {"joints": tuple(joints)}

    return Parameter("degrees of freedom", (), _dof_names, own, changes, None if field == "rest" else not_negative)


def acts_as_spring(robot: Model, dof: int) -> bool:
    """Whether the coordinate of a degree of freedom is a plain number, so that a spring can act on it."""
    joint = robot.joint(_dof_names(robot)[dof])
    return joint.type.group is VECTOR


def _with_joint_positions(robot: Model, x: Floats) -> dict[str, Any]:
    joints = [
        replace(joint, placement=Placement(at, joint.placement.rotation))
        for joint, at in zip(robot.joints, x, strict=True)
    ]
    return {"joints": tuple(joints)}


# Constraints, actuators, contacts ----------------------------------------------------------------------------------


def pairs_of(robot: Model) -> list[Pair]:
    """Constraints between two places."""
    return [c for c in robot.constraints if isinstance(c, Pair)]


def _sized(robot: Model) -> list[Pair]:
    return [c for c in pairs_of(robot) if c.size > 0]


def _anchors(robot: Model) -> Floats:
    each = [[as_placement(at).position for at in (c.first_at, c.second_at)] for c in pairs_of(robot)]
    return np.array(each).reshape(-1, 2, 3)


def _changed(robot: Model, new: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    kept = [replace(c, **new[c.name]) if c.name in new else c for c in robot.constraints]
    return {"constraints": tuple(kept)}


def _with_anchors(robot: Model, x: Floats) -> dict[str, Any]:
    new = {}
    for c, (a, b) in zip(pairs_of(robot), x, strict=True):
        first, second = as_placement(c.first_at), as_placement(c.second_at)
        new[c.name] = {"first_at": Placement(a, first.rotation), "second_at": Placement(b, second.rotation)}
    return _changed(robot, new)


def _with_lengths(robot: Model, x: Floats) -> dict[str, Any]:
    of = {c.name: (c, float(size)) for c, size in zip(_sized(robot), x, strict=True)}
    return _changed(robot, {name: {"length" if hasattr(c, "length") else "radius": s} for name, (c, s) in of.items()})


def _with_gains(robot: Model, x: Floats) -> dict[str, Any]:
    each = zip(robot.constraints, x, strict=True)
    return _changed(robot, {c.name: {"gains": (float(kp), float(kd))} for c, (kp, kd) in each})


def _of_actuators(field: str) -> Parameter:
    def changes(robot: Model, x: Floats) -> dict[str, Any]:
        new: list[dict[str, Any]] = [{field: tuple(row.tolist())} for row in x]
        return {"actuators": tuple(replace(a, **one) for a, one in zip(robot.actuators, new, strict=True))}

    def own(robot: Model) -> Floats:
        return np.array([getattr(a, field) for a in robot.actuators]).reshape(-1, 3)

    return Parameter("actuators", (3,), lambda robot: [a.name for a in robot.actuators], own, changes)


def _with_friction(robot: Model, x: Floats) -> dict[str, Any]:
    return {"contacts": tuple(replace(p, friction=float(mu)) for p, mu in zip(robot.contacts, x, strict=True))}


PARAMETERS: Mapping[str, Parameter] = MappingProxyType(
    {
        "mass": Parameter(
            "bodies",
            (),
            lambda robot: robot.body_names,
            lambda robot: [I.mass for I in _bodies(robot)],
            lambda robot, x: _with_inertias(
                robot, [replace_inertia(I, mass=m) for I, m in zip(_bodies(robot), x, strict=True)]
            ),
            not_negative,
        ),
        "com": Parameter(
            "bodies",
            (3,),
            lambda robot: robot.body_names,
            lambda robot: [I.com for I in _bodies(robot)],
            lambda robot, x: _with_inertias(
                robot, [replace_inertia(I, com=c) for I, c in zip(_bodies(robot), x, strict=True)]
            ),
        ),
        "inertia": Parameter(
            "bodies",
            (6,),
            lambda robot: robot.body_names,
            lambda robot: [six_of(I.rotational) for I in _bodies(robot)],
            lambda robot, x: _with_inertias(
                robot, [replace_inertia(I, rotational=symmetric(J)) for I, J in zip(_bodies(robot), x, strict=True)]
            ),
            check_rotational,
            quick=None,
        ),
        "inertial_parameters": Parameter(
            "bodies",
            (10,),
            lambda robot: robot.body_names,
            _inertial_parameters,
            lambda robot, x: _with_inertias(robot, [_of_inertial_parameters(row) for row in x]),
            _check_inertial,
            quick=_check_first,
        ),
        "armature": _of_dofs("armature"),
        "damping": _of_dofs("damping"),
        "stiffness": _of_dofs("stiffness"),
        "rest": _of_dofs("rest"),
        "friction": _of_dofs("friction"),
        "gravity": Parameter(
            "",
            (3,),
            lambda robot: ("",),
            lambda robot: robot.gravity,
            lambda robot, x: {"gravity": np.array(x)},
        ),
        "time": Parameter(
            "", (1,), lambda robot: ("",), lambda robot: robot.time, lambda robot, x: {"time": float(x[0])}
        ),
        "joint_position": Parameter(
            "joints",
            (3,),
            lambda robot: robot.joint_names,
            lambda robot: [joint.placement.position for joint in robot.joints],
            _with_joint_positions,
        ),
        "anchor_position": Parameter(
            "constraints between two places",
            (2, 3),
            lambda robot: [c.name for c in pairs_of(robot)],
            _anchors,
            _with_anchors,
        ),
        "length": Parameter(
            "rods and rolling constraints",
            (),
            lambda robot: [c.name for c in _sized(robot)],
            lambda robot: [c.size for c in _sized(robot)],
            _with_lengths,
            check_above_zero,
        ),
        "gains": Parameter(
            "constraints",
            (2,),
            lambda robot: [c.name for c in robot.constraints],
            lambda robot: [c.gains or (0.0, 0.0) for c in robot.constraints],
            _with_gains,
            not_negative,
        ),
        "actuator_gain": _of_actuators("gain"),
        "actuator_bias": _of_actuators("bias"),
        **MOTOR_PARAMETERS,
        "contact_friction": Parameter(
            "contact pairs",
            (),
            lambda robot: [pair.name for pair in robot.contacts],
            lambda robot: [pair.friction for pair in robot.contacts],
            _with_friction,
            not_negative,
        ),
        "contact_size": Parameter(
            "contact shapes with a size",
            (3,),
            lambda robot: [shape.name for shape in sized_shapes(robot)],
            lambda robot: [size_of_solid(shape.solid) for shape in sized_shapes(robot)],
            with_sizes,
            not_negative,
        ),
        "mocap": Parameter("mocap bodies", (7,), mocap_bodies, mocap_placements, with_mocap, check_turns),
    }
)
"""All parameters, by name."""


GEOMETRIC = frozenset({"joint_position", "anchor_position", "length", "mocap"})
"""Parameters that open and close loops."""


def replace_inertia(inertia: Inertia, **values: Any) -> Inertia:
    """A copy of the inertia with another mass, center of mass or rotational inertia about it."""
    kept = {"mass": inertia.mass, "com": inertia.com, "rotational": inertia.rotational}
    return Inertia(**{**kept, **values})


def parameter(name: str) -> Parameter:
    """The parameter of that name."""
    if not isinstance(name, str) or name not in PARAMETERS:
        near = suggest(name, PARAMETERS) or f"; there are {', '.join(PARAMETERS)}"
        raise InputError(f"there is no parameter {name!r}{near}")
    return PARAMETERS[name]


def own_values(robot: Model, name: str) -> Floats:
    """A robot's own values of a parameter, one row for each body, joint, and so on.

    Args:
        robot: The mechanism.
        name: Name of the parameter, see `PARAMETERS`.
    """
    kind = parameter(name)
    shape = kind.shape if not kind.of else (len(kind.rows(robot)), *kind.shape)
    return np.array(kind.own(robot), dtype=np.float64).reshape(shape)


def changed_fields(robot: Model, name: str, values: Any) -> dict[str, Any]:
    """Fields of a model in which a parameter has these values, as `dataclasses.replace` takes them."""
    kind, own = parameter(name), own_values(robot, name)
    x = np.array(finite_floats(values, name))
    if x.shape != own.shape:
        raise InputError(f"{name} has shape {x.shape}, robot '{robot.name}' needs {own.shape}")
    if kind.check is not None:
        kind.check(x, name)
    return kind.changes(robot, x)


M = TypeVar("M", bound=Model)


def with_inertial_parameters(robot: M, values: Any, check: bool) -> M:
    """The mechanism with other inertial parameters; see `Mechanism.with_inertial_parameters`."""
    x = finite_floats(values, "inertial_parameters")
    shape = (len(robot.joints), 10)
    x = x.reshape(shape) if x.shape == (10 * len(robot.joints),) else x
    if check is not False or x.shape != shape:
        return replace(robot, **changed_fields(robot, "inertial_parameters", x))
    for body, row in zip(robot.body_names, x, strict=True):
        if row[0] == 0 and row[1:4].any():
            raise InputError(f"inertial_parameters: body '{body}' has no mass and a first moment of it")
    return replace(robot, **PARAMETERS["inertial_parameters"].changes(robot, x))
