# SPDX-License-Identifier: BSD-3-Clause
"""The joints of a model.

The coordinate of a hinge or slide is MuJoCo's ``qpos``: the reference configuration has it at ``ref``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linkwork.errors import UnsupportedFeature
from linkwork.inputs import suggest
from linkwork.mechanism import Mechanism
from linkwork.model.arrays import Floats
from linkwork.model.joints import Free, Joint, Prismatic, Revolute, Spherical
from linkwork.model.placement import Placement
from linkwork.model.rotations import axis_rotation, quaternion_of
from linkwork.model.soft_contact import SoftConstraint
from linkwork.parsing.mjcf.settings import YES_NO_AUTO, Settings, range_of, softness_of
from linkwork.parsing.mjcf.tree import Body, Item, Tree
from linkwork.parsing.xml import Node, located

_KINDS = ("free", "ball", "slide", "hinge")


@dataclass(frozen=True, eq=False)
class MjcfJoint:
    """A joint of the file: where it stands in its body, and the options that `Builder.joint` takes."""

    name: str
    node: Node
    type: Joint
    at: Placement
    """On the side of the parent, seen from the body's frame."""
    child_at: Placement
    """On the side of the body."""
    ref: float
    """Its coordinate in the reference configuration, if it has a single one."""
    options: dict[str, Any]

    @property
    def spring_damper(self) -> tuple[float, ...] | None:
        """Time constant and damping ratio, in place of stiffness and damping, if both are above zero."""
        numbers = self.node.numbers("springdamper", 2)
        return numbers if numbers is not None and min(numbers) > 0 else None

    @property
    def is_scalar(self) -> bool:
        """Whether it is a hinge or a slide."""
        return isinstance(self.type, Revolute | Prismatic)

    def drawn(self, body: Body) -> Floats:
        """The coordinates in the reference configuration."""
        if self.is_scalar:
            return np.array([self.ref])
        q = np.array(self.type.neutral)
        if isinstance(self.type, Free):
            q[:3] = body.world.position
            q[3:] = quaternion_of(body.world.rotation)
        return q


def read_joints(tree: Tree, settings: Settings) -> dict[str, MjcfJoint]:
    """All joints by name, in MuJoCo's order."""
    joints: dict[str, MjcfJoint] = {}
    for body, names in tree.joint_names.items():
        for name, item in zip(names, body.all("joint"), strict=True):
            if name in joints:
                raise item.node.error(f"two joints are called '{name}'; the first is on line {joints[name].node.line}")
            joints[name] = _read_joint(name, item, body, settings)
        if len(names) > 1:
            _check_together(body, [joints[name] for name in names])
    return joints


def with_spring_dampers(robot: Mechanism, joints: Mapping[str, MjcfJoint]) -> Mechanism:
    """The mechanism with springs and dampers of joints that have time constants, as MuJoCo's compiler sets them.

    With the inertia ``m``, one over the mean diagonal of ``M^-1`` of the joint in the reference configuration, the time
    constant ``T`` and the damping ratio ``z``, the stiffness is ``m / (T z)²`` and the damping ``2 m / T``.
    """
    timed = {name: times for name, joint in joints.items() if (times := joint.spring_damper) is not None}
    if not timed:
        return robot
    from linkwork.quantities.evaluator import Evaluator  # where a damper needs it alone: it imports a compiler

    inverse = np.linalg.pinv(Evaluator(robot, "mass_matrix").plain()(robot.poses["qpos0"]))
    dampers = []
    for joint in robot.joints:
        if joint.name in timed:
            T, z = timed[joint.name]
            m = 1.0 / float(np.diagonal(inverse)[robot.v_slice(joint.name)].mean())
            count = joint.type.nv
            joint = replace(joint, stiffness=np.full(count, m / (T * z) ** 2), damping=np.full(count, 2 * m / T))
        dampers.append(joint)
    return replace(robot, joints=tuple(dampers))


def _check_together(body: Body, joints: list[MjcfJoint]) -> None:
    """Checks the kinds of several joints of a body, as MuJoCo does."""
    kinds = [type(joint.type) for joint in joints]
    if Free in kinds:
        raise joints[kinds.index(Free)].node.error("a body with a free joint has no other joint")
    if Spherical in kinds and any(kind is not Prismatic for kind in kinds[kinds.index(Spherical) + 1 :]):
        raise joints[kinds.index(Spherical)].node.error("no hinge or ball follows a ball joint in the same body")


def _read_joint(name: str, item: Item, body: Body, settings: Settings) -> MjcfJoint:
    node = item.node
    kind = "free" if node.tag == "freejoint" else node.choice("type", _KINDS, "hinge")
    if kind == "free":
        return _read_free(name, node, body, settings)
    position = item.frame.rotation @ np.array(node.vector("pos", (0.0, 0.0, 0.0))) + item.frame.position
    here = Placement(position)
    if kind == "ball":
        return MjcfJoint(name, node, Spherical(), here, here, 0.0, _ball_options(node, settings))
    direction = item.frame.rotation @ np.array(node.vector("axis", (0.0, 0.0, 1.0)))
    with located(node):
        type = Revolute(direction) if kind == "hinge" else Prismatic(direction)

    def measure(value: float) -> float:
        return settings.angle(value, node) if kind == "hinge" else value

    ref = measure(node.number("ref", 0.0))
    child_at = here
    if ref != 0:
        # At the coordinate ref the body is in its reference pose: the joint has moved by ref, and the place on the body
        # that meets it with it.
        moved = axis_rotation(type.axis, ref) if kind == "hinge" else np.eye(3)
        child_at = Placement(position if kind == "hinge" else position + ref * type.axis, moved)
    options = _damping_and_friction(node, settings) | _effort(node, settings)
    options["rest"] = measure(node.number("springref", 0.0))
    options["soft_limit"] = _soft_limit(node)
    bounds = range_of(node, "", settings)
    if bounds is not None:
        lower, upper = (bound if math.isinf(bound) else measure(bound) for bound in bounds)
        options |= {"lower": lower, "upper": upper}
    return MjcfJoint(name, node, type, here, child_at, ref, options)


def _ball_options(node: Node, settings: Settings) -> dict[str, Any]:
    """The largest angle of a ball joint, the end of its range, with damping and friction."""
    options = _damping_and_friction(node, settings)
    bounds = range_of(node, "", settings)
    if bounds is None:
        return options
    if bounds[0] != 0 or not math.isfinite(bounds[1]):
        raise node.error(f"range of a ball joint goes from {bounds[0]:g} to {bounds[1]:g}, needs 0 and an angle")
    return options | {"angle": settings.angle(bounds[1], node), "soft_limit": _soft_limit(node)}


def _soft_limit(node: Node) -> SoftConstraint | None:
    """Softness of limits; their margin is in radians in files in degrees, too."""
    return softness_of(node, "solreflimit", "solimplimit", margin=node.number("margin", 0.0))


def _read_free(name: str, node: Node, body: Body, settings: Settings) -> MjcfJoint:
    if body.parent is None or body.parent.parent is not None:
        raise node.error("a free joint moves a body directly in the world")
    aligned = node.choice("align", YES_NO_AUTO, "auto")
    if (aligned == "true" or (aligned == "auto" and settings.alignfree)) and not body.all("body"):
        raise node.error(
            "a free body whose frame is moved to its principal axes of inertia ('align', 'alignfree') is not supported",
            UnsupportedFeature,
        )
    options: dict[str, Any] = {} if node.tag == "freejoint" else _damping_and_friction(node, settings)
    if options.get("stiffness"):
        options["rest"] = np.concatenate([body.world.position, quaternion_of(body.world.rotation)])
    return MjcfJoint(name, node, Free(), Placement(), Placement(), 0.0, options)


def _damping_and_friction(node: Node, settings: Settings) -> dict[str, Any]:
    """Damping and friction that are switched on."""
    values: dict[str, Any] = {
        "armature": node.number("armature", 0.0),
        "friction": node.number("frictionloss", 0.0) if settings.friction else 0.0,
    }
    kind = node.choice("type", _KINDS, "hinge")
    for what, acts in (("damping", settings.dampers), ("stiffness", settings.springs)):
        linear, *further = (node.numbers(what, 1, 2, 3) if acts else None) or (0.0,)
        if any(further) and kind in ("ball", "free"):
            raise node.error(f"{what} of a {kind} joint that is a polynomial is not supported", UnsupportedFeature)
        values[what] = linear
        if any(further):
            values[f"{what}_terms"] = tuple((*further, 0.0)[:2])
    if values["stiffness"] and any(node.numbers("springyield", 1, 2) or ()):
        raise node.error("a spring of a joint that yields ('springyield') is not supported", UnsupportedFeature)
    values["soft_friction"] = softness_of(node, "solreffriction", "solimpfriction")
    return values


def _effort(node: Node, settings: Settings) -> dict[str, Any]:
    bounds = range_of(node, "actuatorfrc", settings)
    return {} if bounds is None else {"effort": max(map(abs, bounds)), "actuation": bounds}


def scalar_joint(joints: Mapping[str, MjcfJoint], name: str, node: Node) -> MjcfJoint:
    """A hinge or slide of the model."""
    joint = joints.get(name)
    if joint is None:
        raise node.error(f"there is no joint '{name}'{suggest(name, joints)}")
    if not joint.is_scalar:
        raise node.error(f"joint '{name}' is no hinge and no slide")
    return joint
