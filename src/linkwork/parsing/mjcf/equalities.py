# SPDX-License-Identifier: BSD-3-Clause
"""Equality constraints of a model.

Constraints here are exact: MuJoCo's ``solref`` and ``solimp``, which say how soft they are, act with soft contacts
alone, the latter with a warning where it is not the default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from linkwork.errors import UnsupportedFeature
from linkwork.inputs import suggest
from linkwork.model.constraints import (
    Constraint,
    FixedTendonCoupling,
    JointCoupling,
    Point,
    PolynomialCoupling,
    TendonCoupling,
    Term,
    Weld,
)
from linkwork.model.placement import Placement
from linkwork.model.tendons import Tendon
from linkwork.parsing.mjcf.document import Defaults, MjcfDocument
from linkwork.parsing.mjcf.joints import MjcfJoint, scalar_joint
from linkwork.parsing.mjcf.settings import YES_NO, Settings, has_default_impedance, quaternion, softness_of
from linkwork.parsing.mjcf.tendons import MjcfTendon
from linkwork.parsing.mjcf.tree import Body, Item, Tree, fresh
from linkwork.parsing.mjcf.vocabulary import not_understood, refuse_unknown
from linkwork.parsing.xml import Node, located, warn

_IDENTITY = (0.0, 1.0, 0.0, 0.0, 0.0)
"""MuJoCo's default polynomial."""


@dataclass(frozen=True)
class References:
    """Names that equalities refer to."""

    tree: Tree
    settings: Settings
    bodies: Mapping[str, Body]
    sites: Mapping[str, tuple[Body, Item]]
    joints: Mapping[str, MjcfJoint]
    tendons: Mapping[str, MjcfTendon]
    frames: Mapping[str, str]
    """Frames that sites have become."""

    def body(self, node: Node, attribute: str) -> Body:
        """The body that an attribute names."""
        name = node.text(attribute)
        if name not in self.bodies:
            raise node.error(f"there is no body '{name}'{suggest(name, self.bodies)}")
        return self.bodies[name]

    def site(self, node: Node, attribute: str) -> tuple[Body, Placement]:
        """The body of the site that an attribute names, and its place there."""
        name = node.text(attribute)
        if name not in self.sites:
            raise node.error(f"there is no site '{name}'{suggest(name, self.sites)}")
        body, item = self.sites[name]
        return body, item.frame * self.settings.placement(item.node)


def read_equalities(document: MjcfDocument, defaults: Defaults, model: References) -> list[tuple[Node, Constraint]]:
    """The constraints, each with its element."""
    equalities: list[tuple[Node, Constraint]] = []
    elements = list(document.inside("equality"))
    taken = {node.get("name") for node in elements}
    for bare in elements:
        if bare.tag in ("flex", "flexvert", "flexstrain"):
            raise bare.error("deformable bodies are not supported", UnsupportedFeature)
        if bare.tag not in _READERS:
            raise not_understood(bare, "equality")
        node = defaults.apply(bare, "equality")
        refuse_unknown(node, f"{node.tag} equality" if node.tag in ("joint", "tendon") else None)
        enabled = model.settings.constraints and node.choice("active", YES_NO, "true") == "true"
        with located(node):
            turned = {"torque_scale": node.number("torquescale", 1.0)} if node.tag == "weld" else {}
            soft = softness_of(node, "solref", "solimp", **turned)
            options = {"name": node.get("name") or "", "enabled": enabled, "soft": soft}
            constraint = _READERS[node.tag](node, model, options)
            if constraint is not None and not node.get("name"):
                constraint = replace(constraint, name=fresh(constraint.name, taken))
        if constraint is not None:
            equalities.append((node, constraint))
    soft_ones = [(node, constraint.name) for node, constraint in equalities if not has_default_impedance(node)]
    if soft_ones:
        names = ", ".join(f"'{name}'" for _, name in soft_ones[:5]) + (", ..." if len(soft_ones) > 5 else "")
        warn(
            soft_ones[0][0],
            f"'solimp' acts with contact='soft' alone: equalities are exact unless they have a compliance ({names})",
        )
    return equalities


# Bodies --------------------------------------------------------------------------------------------


def _ends(node: Node, model: References, anchored: str) -> tuple[Body, Body, tuple[Placement, Placement] | None]:
    """The two bodies, and the places on them if sites say these."""
    by_sites = node.get("site1") is not None or node.get("site2") is not None
    if by_sites:
        if any(node.get(name) is not None for name in ("body1", "body2", "anchor", "relpose")):
            raise node.error("the equality is between two sites or between two bodies, not both")
        (first, at), (second, there) = model.site(node, "site1"), model.site(node, "site2")
        return first, second, (at, there)
    first = model.body(node, "body1")
    second = model.body(node, "body2") if node.get("body2") is not None else model.tree.bodies[0]
    if first is second:
        raise node.error(f"body '{node.text('body1')}' cannot be held to itself")
    if anchored and node.get(anchored) is None:
        raise node.error(f"attribute '{anchored}' is missing")
    return first, second, None


def _pair(
    kind: type[Point] | type[Weld],
    model: References,
    ends: tuple[Body, Body],
    places: tuple[Placement, Placement],
    as_drawn: bool,
    options: dict[str, Any],
) -> Constraint | None:
    """The constraint; None for one that holds two parts of a rigid body as they are drawn, which it does anyway."""
    if as_drawn and ends[0].carrier is ends[1].carrier:
        return None
    first, second = (model.tree.names[body] for body in ends)
    return kind(first, second, first_at=places[0], second_at=places[1], **options)


def _connect(node: Node, model: References, options: dict[str, Any]) -> Constraint | None:
    first, second, sites = _ends(node, model, "anchor")
    anchor = Placement(node.vector("anchor", (0.0, 0.0, 0.0)))
    there = second.world.inverse() * first.world * anchor
    places = sites or (anchor, Placement(there.position))
    return _pair(Point, model, (first, second), places, sites is None, options)


def _weld(node: Node, model: References, options: dict[str, Any]) -> Constraint | None:
    """The second body's anchor stays at a place of the first, turned as the second is to the first."""
    first, second, sites = _ends(node, model, "")
    anchor = Placement(node.vector("anchor", (0.0, 0.0, 0.0)))
    at = first.world.inverse() * second.world * anchor
    relative = node.numbers("relpose", 7)
    posed = relative is not None and any(relative[3:])
    if relative is not None and posed:
        at = Placement(relative[:3], quaternion(node, "relpose", relative[3:]).rotation)
    kind = Point if node.number("torquescale", 1.0) == 0 else Weld
    return _pair(kind, model, (first, second), sites or (at, anchor), sites is None and not posed, options)


# Joints --------------------------------------------------------------------------------------------


def _joints(node: Node, model: References, options: dict[str, Any]) -> Constraint:
    follower = scalar_joint(model.joints, node.text("joint1"), node)
    leader = scalar_joint(model.joints, node.text("joint2"), node) if node.get("joint2") is not None else None
    return PolynomialCoupling(
        follower.name,
        None if leader is None else leader.name,
        _polynomial(node),
        follower.ref,
        0.0 if leader is None else leader.ref,
        **options,
    )


def _polynomial(node: Node) -> tuple[float, ...]:
    """Coefficients; those not written are those of the identity, as in MuJoCo."""
    coefficients = node.numbers("polycoef", 1, 2, 3, 4, 5) or ()
    return coefficients + _IDENTITY[len(coefficients) :]


def _tendons(node: Node, model: References, options: dict[str, Any]) -> Constraint | None:
    """With L the length of each tendon less its reference length: ``L1 = a0 + a1 L2 + a2 L2² + ...``.

    Of fixed tendons ``L = sum of c (q - ref)``: where no polynomial mixes joints, they are couplings of joints.
    """
    names = ("tendon1", "tendon2") if node.get("tendon2") is not None else ("tendon1",)
    used = [_tendon(node, name, model) for name in names]
    a0, *rising = _polynomial(node)
    if any(tendon.is_spatial for tendon, _ in used) or (
        len(used) > 1 and any(rising[1:]) and len(used[1][0].joints) > 1
    ):
        return _tendon_coupling(model, used, (a0, *rising), options)
    first, second = dict(used[0][0].joints), dict(used[1][0].joints) if len(used) > 1 else {}
    if not second or not any(rising[1:]):
        sums = dict(first)
        for joint, c in second.items():
            sums[joint] = sums.get(joint, 0.0) - rising[0] * c
        offset = a0 + sum(c * model.joints[joint].ref for joint, c in sums.items())
        return JointCoupling(sums, offset, **options)
    (leader, d), *_ = second.items()
    terms = {joint: [c, 0.0, 0.0, 0.0] for joint, c in first.items()}
    parts = terms.setdefault(leader, [0.0] * 4)
    for k, a in enumerate(rising):
        parts[k] -= a * d ** (k + 1)
    if not any(c for coefficients in terms.values() for c in coefficients):
        raise node.error("no joint has a coefficient other than zero")
    return FixedTendonCoupling(
        tuple(Term(joint, (c[0], c[1], c[2], c[3]), model.joints[joint].ref) for joint, c in terms.items()),
        a0,
        **options,
    )


def _tendon_coupling(
    model: References, used: list[tuple[Tendon, float]], polynomial: tuple[float, ...], options: dict[str, Any]
) -> Constraint | None:
    """A constraint on lengths; None where all sites are on one rigid body, so that no length changes."""
    sites = {frame: site for site, frame in model.frames.items()}
    carriers = {model.sites[sites[frame]][0].carrier for tendon, _ in used for frame in tendon.sites}
    if len(carriers) == 1 and not any(tendon.joints for tendon, _ in used):
        return None
    (follower, length), (leader, other) = used[0], used[1] if len(used) > 1 else (None, 0.0)
    return TendonCoupling(follower, leader, polynomial, length, other, **options)


def _tendon(node: Node, attribute: str, model: References) -> tuple[Tendon, float]:
    """A tendon on frames, and its length in the reference configuration."""
    name = node.text(attribute)
    if name not in model.tendons:
        raise node.error(f"there is no tendon '{name}'{suggest(name, model.tendons)}")
    read = model.tendons[name]
    length = read.drawn_length(model.joints, model.sites, model.settings, node)
    return read.known(node).renamed(name, model.frames.__getitem__, str), length


_READERS = {"connect": _connect, "weld": _weld, "joint": _joints, "tendon": _tendons}
