# SPDX-License-Identifier: BSD-3-Clause
"""USD texts of mechanisms, for tests: bodies where a configuration puts them, joints with their frames, masses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.model.arrays import Floats
from linkwork.model.constraints import Pair
from linkwork.model.constraints.closing import opening
from linkwork.model.rotations import quaternion_of


def vector(values: Any) -> str:
    return f"({', '.join(repr(float(x)) for x in values)})"


def quaternion(rotation: Floats) -> str:
    """As USD writes it: w, x, y, z."""
    x, y, z, w = quaternion_of(rotation)
    return vector((w, x, y, z))


def matrix(place: lw.Placement, length: float) -> str:
    """As USD has it: a matrix that vectors, which are rows, are multiplied with."""
    A = np.eye(4)
    A[:3, :3], A[:3, 3] = place.rotation, place.position / length
    return f"( {', '.join(vector(row) for row in A.T)} )"


def mass(inertia: lw.Inertia, length: float, unit: float) -> str:
    moments, axes = np.linalg.eigh(inertia.rotational)
    axes = axes * np.linalg.det(axes)
    return f"""float physics:mass = {inertia.mass / unit!r}
        point3f physics:centerOfMass = {vector(inertia.com / length)}
        float3 physics:diagonalInertia = {vector(moments / (unit * length**2))}
        quatf physics:principalAxes = {quaternion(axes)}"""


def stage(content: str, meters: float = 1.0, kilograms: float = 1.0, up: str = "Z", head: str = "") -> str:
    """A text with these units."""
    return f"""#usda 1.0
(
    defaultPrim = "robot"
    metersPerUnit = {meters}
    kilogramsPerUnit = {kilograms}
    upAxis = "{up}"
)
{head}
def Xform "robot"
{{
{content}
}}
"""


def prim(kind: str, name: str, *lines: str, at: Sequence[float] = (0, 0, 0), schemas: str = "") -> str:
    """A prim at a place, with lines inside."""
    applied = f" (prepend apiSchemas = [{schemas}])" if schemas else ""
    placed = [f"double3 xformOp:translate = {vector(at)}", 'uniform token[] xformOpOrder = ["xformOp:translate"]']
    inside = "\n".join([*lines, *(placed if any(at) else ())])
    return f'\ndef {kind} "{name}"{applied}\n{{\n{inside}\n}}\n'


def body(name: str, inside: str, place: lw.Placement | None = None, length: float = 1.0, more: str = "") -> str:
    at = matrix(place or lw.Placement(), length)
    return f"""
    def Xform "{name}" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"{more}])
    {{
        matrix4d xformOp:transform = {at}
        uniform token[] xformOpOrder = ["xformOp:transform"]
        {inside}
    }}"""


def joint(
    name: str,
    kind: str,
    ends: Sequence[str],
    frames: Sequence[lw.Placement],
    length: float = 1.0,
    inside: str = "",
    schemas: str = "",
) -> str:
    """A joint between two prims, an empty name being the world."""
    lines = []
    for k in (0, 1):
        if ends[k]:
            lines.append(f"rel physics:body{k} = <{ends[k] if ends[k][0] == '/' else '/robot/' + ends[k]}>")
        lines.append(f"point3f physics:localPos{k} = {vector(frames[k].position / length)}")
        lines.append(f"quatf physics:localRot{k} = {quaternion(frames[k].rotation)}")
    text = "\n        ".join(lines)
    applied = f" (prepend apiSchemas = [{schemas}])" if schemas else ""
    return f"""
    def Physics{kind} "{name}"{applied}
    {{
        {text}
        {inside}
    }}"""


def usda_of(robot: lw.Mechanism, q: Floats, meters: float = 1.0, kilograms: float = 1.0, up: str = "Z") -> str:
    """A mechanism of revolute, prismatic, spherical, planar and free joints, and of loops of these, as USD."""
    turned = lw.Placement(rotation=[[1, 0, 0], [0, 0, 1], [0, -1, 0]]) if up == "Y" else lw.Placement()
    parts = []
    for tree in robot.joints:
        at = turned * lw.frame_placement(robot, q, tree.child) * robot.frames[tree.child].placement.inverse()
        parts.append(body(tree.child, mass(robot.inertias[tree.child], meters, kilograms), at, meters))
        if not isinstance(tree.type, lw.joints.Free):
            world = tree.parent == "world"
            first = turned * tree.placement if world else tree.placement
            lower, upper = tree.limits.lower, tree.limits.upper
            options = _limits(lower, upper, tree.type, meters)
            ends = ("" if world else tree.parent, tree.child)
            parts.append(_joint(tree.name, tree.type, ends, (first, lw.Placement()), meters, options))
    for constraint in robot.constraints:
        assert isinstance(constraint, Pair)
        ends, frames = _pair(robot, constraint, turned)
        cut = "uniform bool physics:excludeFromArticulation = true"
        if isinstance(constraint, lw.constraints.Rod):
            size = constraint.length / meters
            cut += f"\n float physics:minDistance = {size}\n float physics:maxDistance = {size}"
            parts.append(joint(constraint.name, "DistanceJoint", ends, frames, meters, cut))
            continue
        opened = opening(constraint)
        assert opened is not None
        parts.append(_joint(constraint.name, opened.type, ends, frames, meters, cut))
    g = turned.rotation @ robot.gravity / meters
    size = float(np.linalg.norm(g))
    scene = f"""def PhysicsScene "scene"
{{
    vector3f physics:gravityDirection = {vector(g / size if size else g)}
    float physics:gravityMagnitude = {size!r}
}}
"""
    return stage("".join(parts), meters, kilograms, up, scene)


def _pair(robot: lw.Mechanism, constraint: Pair, turned: lw.Placement) -> tuple[list[str], list[lw.Placement]]:
    ends, frames = [], []
    opened = opening(constraint)
    places = (constraint.first_at, constraint.second_at) if opened is None else opened[1:]
    for name, at in zip((constraint.first, constraint.second), places, strict=True):
        frame = robot.frames[name]
        here = at if isinstance(at, lw.Placement) else lw.Placement(at)
        ends.append("" if frame.body == "world" else frame.body)
        frames.append((turned if frame.body == "world" else lw.Placement()) * frame.placement * here)
    return ends, frames


def _limits(lower: Floats, upper: Floats, type: lw.joints.Joint, meters: float) -> str:
    if not isinstance(type, lw.joints.Revolute | lw.joints.Prismatic):
        return ""
    unit = np.pi / 180 if isinstance(type, lw.joints.Revolute) else meters
    words = []
    for word, bound in (("lower", lower[0]), ("upper", upper[0])):
        if np.isfinite(bound):
            words.append(f"float physics:{word}Limit = {float(bound / unit)!r}")
    return "\n        ".join(words)


def _joint(
    name: str, type: lw.joints.Joint, ends: Sequence[str], frames: Sequence[lw.Placement], length: float, inside: str
) -> str:
    """A joint, its axis along X."""
    match type:
        case lw.joints.Revolute(axis) | lw.joints.Prismatic(axis):
            k = int(np.argmin(np.abs(axis)))
            y = np.cross(axis, np.eye(3)[k])
            y /= np.linalg.norm(y)
            turn = lw.Placement(rotation=np.column_stack([axis, y, np.cross(axis, y)]))
            kind = "RevoluteJoint" if isinstance(type, lw.joints.Revolute) else "PrismaticJoint"
            return joint(name, kind, ends, [at * turn for at in frames], length, inside)
        case lw.joints.Spherical():
            return joint(name, "SphericalJoint", ends, frames, length, inside)
        case lw.joints.Fixed():
            return joint(name, "FixedJoint", ends, frames, length, inside)
        case lw.joints.Planar():
            locked = ("transZ", "rotX", "rotY")
            lines = [f"float limit:{dof}:physics:low = 1\n float limit:{dof}:physics:high = -1" for dof in locked]
            schemas = ", ".join(f'"PhysicsLimitAPI:{dof}"' for dof in locked)
            return joint(name, "Joint", ends, frames, length, "\n ".join([*lines, inside]), schemas)
    raise AssertionError(type)
