# SPDX-License-Identifier: BSD-3-Clause
"""Scenes of contact in MuJoCo: the model file of a scene, and its motion in linkwork's coordinates.

MuJoCo's contacts are soft. As a limit they are rigid here: a time constant of two steps and an impedance near one. A
contact with a compliance ``c`` is a spring there if its impedance ``d`` is small: the force on a mass ``m`` is
``d m (g - b v - k r)``, a spring of stiffness ``d m k`` but for the part ``d`` of its weight; ``solref`` is then
``(-1 / (c m), 0)``.

MuJoCo's law of friction is associated: bodies that slide separate as if surfaces dilated, by the reference acceleration
of tangential rows times ``mu``. With the time constant of normals, a box that slides at 1 m/s hops by 4 mm at any step;
with a slower one for friction (``solreffriction``) it does not, and what sticks drifts for that time.

| symbol | meaning                                             |
|--------|-----------------------------------------------------|
| d      | MuJoCo's impedance, ``solimp``                      |
"""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

import numpy as np

import linkwork as lw
from linkwork.model.contacts import ContactPair, ContactShape, contact_shapes
from linkwork.model.joints import Free, Prismatic, Revolute
from linkwork.model.parts import TreeJoint
from linkwork.model.placement import Placement
from linkwork.model.shapes import Box, Cylinder, Ellipsoid, Ground, Solid, Sphere
from linkwork.parsing.mjcf import mujoco_map
from linkwork.zoo import ASSEMBLED
from linkwork_benchmarks.robots import Floats

RIGID = 0.9999
SOFT = 1e-4
"""Impedances of contacts without and with compliance."""


def mjcf(
    scene: lw.Mechanism, dt: float, mass: float = 1.0, friction_time: float | None = None, stiff: bool = True
) -> str:
    """The model file of a scene of free, revolute and prismatic joints.

    Args:
        scene: The scene.
        dt: Time of a step, in seconds.
        mass: The mass that compliant contacts carry, in kilograms.
        friction_time: Time constant of friction, in seconds; by default that of normals, two steps.
        stiff: Whether contacts are as stiff as steps allow; else they are as MuJoCo makes them by default.
    """
    shapes = contact_shapes(scene.contacts)
    children: dict[str, list[str]] = {}
    for joint in scene.joints:
        children.setdefault(joint.parent, []).append(joint.name)
    world = "".join(_geom(shape) for shape in shapes if shape.body == "world")
    bodies = "".join(_body(scene, shapes, children, name) for name in children.get("world", []))
    pairs = "".join(_pair(pair, dt, mass, friction_time, stiff) for pair in scene.contacts)
    option = (
        f'<option timestep="{dt!r}" gravity="{_numbers(scene.gravity)}" cone="elliptic" integrator="Euler" '
        f'solver="Newton" iterations="200" tolerance="0" ls_iterations="100" impratio="1" >'
        '<flag eulerdamp="enable" warmstart="enable"/></option>'
    )
    return (
        f'<mujoco model={quoteattr(scene.name)}><compiler angle="radian" autolimits="false"/>{option}'
        f'<default><geom contype="0" conaffinity="0"/></default>'
        f"<worldbody>{world}{bodies}</worldbody><contact>{pairs}</contact></mujoco>"
    )


def _numbers(values: object) -> str:
    return " ".join(repr(float(x)) for x in np.asarray(values, dtype=np.float64).ravel())


def _pose(at: Placement) -> str:
    x, y, z, w = at.quaternion
    return f'pos="{_numbers(at.position)}" quat="{_numbers([w, x, y, z])}"'


def _size(solid: Solid) -> tuple[str, str]:
    """MuJoCo's type and sizes of a solid."""
    match solid:
        case Ground():
            return "plane", "0 0 1"
        case Sphere(radius):
            return "sphere", _numbers(radius)
        case Box(size):
            return "box", _numbers(np.array(size) / 2)
        case Ellipsoid(radii):
            return "ellipsoid", _numbers(radii)
        case Cylinder(radius, length, rounded):
            return "capsule" if rounded else "cylinder", _numbers([radius, length / 2])
    raise lw.errors.InputError(f"no {type(solid).__name__} in scenes that are compared with MuJoCo")


def _geom(shape: ContactShape) -> str:
    kind, size = _size(shape.solid)
    return f'<geom name={quoteattr(shape.name)} type="{kind}" size="{size}" {_pose(shape.placement)}/>'


def _body(scene: lw.Mechanism, shapes: tuple[ContactShape, ...], children: dict[str, list[str]], name: str) -> str:
    joint = next(j for j in scene.joints if j.name == name)
    inertia = scene.inertias[joint.child]
    full = _numbers(inertia.rotational[(0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)])
    geoms = "".join(_geom(shape) for shape in shapes if shape.body == joint.child)
    within = "".join(_body(scene, shapes, children, child) for child in children.get(joint.child, []))
    return (
        f"<body name={quoteattr(joint.child)} {_pose(joint.placement)}>{_joint(joint)}"
        f'<inertial pos="{_numbers(inertia.com)}" mass="{inertia.mass!r}" fullinertia="{full}"/>{geoms}{within}</body>'
    )


def _joint(joint: TreeJoint) -> str:
    name = quoteattr(joint.name)
    match joint.type:
        case Free():
            return f"<freejoint name={name}/>"
        case Revolute() | Prismatic():
            kind = "hinge" if isinstance(joint.type, Revolute) else "slide"
            return (
                f'<joint name={name} type="{kind}" axis="{_numbers(joint.type.axis)}" '
                f'stiffness="{float(joint.stiffness[0])!r}" springref="{float(joint.rest[0])!r}" '
                f'damping="{float(joint.damping[0])!r}" armature="{float(joint.armature[0])!r}"/>'
            )
    raise lw.errors.InputError(f"joint {name}: no {type(joint.type).__name__} in scenes that are compared with MuJoCo")


def _pair(pair: ContactPair, dt: float, mass: float, friction_time: float | None, stiff: bool) -> str:
    rigid = pair.compliance == 0
    impedance = RIGID if rigid else SOFT
    solref = (2 * dt, 1.0) if rigid else (-1 / (pair.compliance * mass), 0.0)
    friction, slow = max(pair.friction, 1e-5), 2 * dt if friction_time is None else friction_time
    soft = (
        f'solref="{_numbers(solref)}" solreffriction="{slow!r} 1" '
        f'solimp="{_numbers([impedance, impedance, 0.001, 0.5, 2.0])}"'
    )
    return (
        f'<pair geom1={quoteattr(pair.first.name)} geom2={quoteattr(pair.second.name)} condim="3" '
        f'friction="{friction!r} {friction!r} 0 0 0" {soft if stiff else ""}/>'
    )


def creep(scene: lw.Mechanism, seconds: float, dt: float = 1e-3) -> float:
    """How fast the first body sinks with MuJoCo's own contacts, in m/s, in the second half of the time."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(mjcf(scene, dt, stiff=False))
    data, steps, heights = mujoco.MjData(model), round(seconds / dt), []
    data.qpos[:] = mujoco_map(scene).to_qpos(scene.poses[ASSEMBLED])
    for _ in range(steps):
        mujoco.mj_step(model, data)
        heights.append(float(data.qpos[2]))
    return (heights[steps // 2] - heights[-1]) / (dt * (steps - 1 - steps // 2))


def move(
    scene: lw.Mechanism,
    q: Floats,
    v: Floats,
    dt: float,
    steps: int,
    mass: float = 1.0,
    friction_time: float | None = None,
) -> Floats:
    """Configurations of all steps, ``(steps + 1, nq)``, in linkwork's coordinates."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(mjcf(scene, dt, mass, friction_time))
    data, same = mujoco.MjData(model), mujoco_map(scene)
    data.qpos[:], data.qvel[:] = same.to_qpos(q), same.to_qvel(q, v)
    found = [q]
    for _ in range(steps):
        mujoco.mj_step(model, data)
        found.append(same.from_qpos(data.qpos.copy()))
    return np.array(found)
