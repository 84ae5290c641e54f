# SPDX-License-Identifier: BSD-3-Clause
"""Tendons of a model: fixed ones, and spatial ones through sites, over pulleys and around spheres and cylinders.

An equality that holds a tendon which wraps around a geom is an `UnsupportedFeature`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linkwork.errors import UnsupportedFeature
from linkwork.mechanism import Mechanism
from linkwork.model.placement import Placement
from linkwork.model.tendons import Branch, Tendon
from linkwork.model.transmissions import Wrap
from linkwork.parsing.mjcf.document import Defaults, MjcfDocument
from linkwork.parsing.mjcf.inertia import GEOMS, size_and_place
from linkwork.parsing.mjcf.joints import MjcfJoint, scalar_joint
from linkwork.parsing.mjcf.meshes import MeshAssets
from linkwork.parsing.mjcf.settings import Settings, range_of, softness_of
from linkwork.parsing.mjcf.tree import Body, Item, Tree, fresh
from linkwork.parsing.mjcf.vocabulary import not_understood, refuse_unknown
from linkwork.parsing.xml import Node, located
from linkwork.quantities.evaluator import Evaluator

Sites = Mapping[str, tuple[Body, Item]]
"""Bodies and elements of sites, by name."""
OF_GEOM = "geom:"
"""Prefix of names of geoms among names of sites."""


@dataclass(frozen=True)
class MjcfTendon:
    """A tendon of a file."""

    node: Node
    tendon: Tendon
    """Names of sites in its path, and of geoms after `OF_GEOM`."""
    springs: bool
    """Whether its spring is at rest in the model as its springs are drawn, and not at lengths that are written."""
    armature: float
    """Its inertia, in kg or kg m²."""

    @property
    def name(self) -> str:
        """Its name."""
        return self.node.get("name") or ""

    def several_joints(self, where: Node, what: str) -> Exception:
        """The error for inertia on a tendon that couples joints by it.

        Args:
            where: The element.
            what: The inertia.
        """
        return where.error(
            f"{what} is supported on fixed tendons over one joint, of which it is armature; tendon '{self.name}' is "
            f"{'spatial' if self.tendon.is_spatial else f'over {len(self.tendon.joints)} joints'}",
            UnsupportedFeature,
        )

    def known(self, where: Node) -> Tendon:
        """The tendon, for an equality; an `UnsupportedFeature` where it wraps around a geom."""
        if self.tendon.has_wraps:
            raise where.error(
                f"tendon '{self.name}' wraps around a geom; equalities of such are not supported: let it pass sites",
                UnsupportedFeature,
            )
        return self.tendon

    def drawn_length(self, joints: Mapping[str, MjcfJoint], sites: Sites, settings: Settings, where: Node) -> float:
        """Its length in the reference configuration (MuJoCo: ``tendon_length0``)."""
        tendon, points = self.known(where), {}
        for site in tendon.sites:
            body, item = sites[site]
            points[site] = (body.world * item.frame * settings.placement(item.node)).position
        segments = [(ends, branch.divisor) for branch in tendon.branches for ends in branch.segments]
        path = sum(float(np.linalg.norm(points[b] - points[a])) / divisor for (a, b), divisor in segments)
        return path + sum(c * joints[name].ref for name, c in tendon.joints.items())


@dataclass(frozen=True)
class Places:
    """Sites and geoms of a model in its reference configuration."""

    tree: Tree
    settings: Settings
    meshes: MeshAssets

    def world(self, kind: str, name: str, where: Node) -> tuple[Body, Item]:
        """The body and the element of a site or geom."""
        for body in self.tree.bodies:
            for item in body.all(kind):
                if item.node.get("name") == name:
                    return body, item
        raise where.error(f"there is no {kind} '{name}'")

    def geom(self, item: Item, where: Node) -> tuple[str, float, Placement]:
        """Type, radius and place, in its body, of a geom that a tendon wraps around."""
        type = item.node.choice("type", GEOMS, "sphere")
        if type not in ("sphere", "cylinder"):
            raise where.error(f"a tendon wraps around spheres and cylinders, and '{item.node.get('name')}' is a {type}")
        size, place = size_and_place(item.node, type, self.settings, self.meshes)
        return type, float(size[0]), item.frame * place

    def wrap(self, part: Node) -> Wrap:
        """The geom that a tendon wraps around."""
        body, item = self.world("geom", part.text("geom"), part)
        type, radius, place = self.geom(item, part)
        side = part.get("sidesite") or ""
        inside = False
        if side:
            carrier, site = self.world("site", side, part)
            at = (carrier.world * site.frame * self.settings.placement(site.node)).position
            inside = bool(np.linalg.norm(at - (body.world * place).position) < radius)
        return Wrap(OF_GEOM + part.text("geom"), radius, type == "cylinder", side, inside)


def read_tendons(
    document: MjcfDocument, defaults: Defaults, joints: Mapping[str, MjcfJoint], places: Places
) -> dict[str, MjcfTendon]:
    """All tendons by name; inertia on several joints is an `UnsupportedFeature`."""
    tendons: dict[str, MjcfTendon] = {}
    elements = list(document.inside("tendon"))
    taken = {node.get("name") for node in elements}
    for k, bare in enumerate(elements):
        if bare.tag not in ("fixed", "spatial"):
            raise not_understood(bare, "tendon")
        node = defaults.apply(bare, "tendon")
        refuse_unknown(node, "tendon")
        name = node.get("name") or fresh(f"tendon_{k}", taken)
        if name in tendons:
            raise node.error(f"two tendons are called '{name}'")
        tendons[name] = _read(document, node, name, joints, places)
        if tendons[name].armature and len(tendons[name].tendon.joints) != 1:
            raise tendons[name].several_joints(node, "the inertia of a tendon ('armature')")
    return tendons


def _read(document: MjcfDocument, node: Node, name: str, joints: Mapping[str, MjcfJoint], places: Places) -> MjcfTendon:
    settings = places.settings
    options = _passive(node, settings)
    lengths = node.numbers("springlength", 1, 2) or (-1.0,)
    rest = (lengths[0], lengths[-1])
    options["limits"] = range_of(node, "", settings) or (-math.inf, math.inf)
    forces = range_of(node, "actuatorfrc", settings)
    options["force_limits"] = forces or (-math.inf, math.inf)
    springs = rest == (-1.0, -1.0)
    with located(node):
        if node.tag == "fixed":
            tendon = Tendon(name, joints=_coefficients(document, node, joints), **options)
        else:
            tendon = _spatial(document, node, name, places, options)
        if not springs:
            tendon = replace(tendon, rest=rest)
    return MjcfTendon(node.inheriting({"name": name}), tendon, springs, node.number("armature", 0.0))


def _passive(node: Node, settings: Settings) -> dict[str, Any]:
    """Springs, dampers and friction, where they are switched on."""
    values: dict[str, Any] = {"friction": node.number("frictionloss", 0.0) if settings.friction else 0.0}
    values["soft_limit"] = softness_of(node, "solreflimit", "solimplimit", margin=node.number("margin", 0.0))
    values["soft_friction"] = softness_of(node, "solreffriction", "solimpfriction")
    for what, acts in (("stiffness", settings.springs), ("damping", settings.dampers)):
        linear, *further = (node.numbers(what, 1, 2, 3) if acts else None) or (0.0,)
        values[what] = linear
        values[f"{what}_terms"] = tuple((*further, 0.0, 0.0)[:2])
    if values["stiffness"] and any(node.numbers("springyield", 1, 2) or ()):
        raise node.error("a spring of a tendon that yields ('springyield') is not supported", UnsupportedFeature)
    return values


def _coefficients(document: MjcfDocument, node: Node, joints: Mapping[str, MjcfJoint]) -> dict[str, float]:
    coefficients: dict[str, float] = {}
    for part in document.children(node, "joint"):
        refuse_unknown(part, "joint of a tendon")
        joint = scalar_joint(joints, part.text("joint"), part)
        if joint.name in coefficients:
            raise part.error(f"joint '{joint.name}' is in this tendon twice")
        coefficients[joint.name] = part.number("coef")
    return coefficients


def _spatial(document: MjcfDocument, node: Node, name: str, places: Places, options: dict[str, Any]) -> Tendon:
    """A tendon through sites and around geoms."""
    branches: list[tuple[float, list[str | Wrap]]] = [(1.0, [])]
    for part in document.children(node):
        refuse_unknown(part, f"{part.tag} of a tendon")
        if part.tag == "site":
            branches[-1][1].append(part.text("site"))
        elif part.tag == "pulley":
            branches.append((part.number("divisor"), []))
        elif part.tag == "geom":
            branches[-1][1].append(places.wrap(part))
        else:
            raise not_understood(part, "spatial")
    if not branches[0][1]:
        branches = branches[1:]
    return Tendon(name, path=tuple(Branch(tuple(sites), divisor) for divisor, sites in branches), **options)


def on_frames(tendons: Mapping[str, MjcfTendon], frames: Mapping[str, str]) -> list[tuple[Node, Tendon]]:
    """The tendons that can be kept, with frames in place of sites, each with its element."""
    names = []
    for read in tendons.values():
        for site in read.tendon.sites:
            if site not in frames:
                raise read.node.error(f"tendon '{read.name}' passes site '{site}', which does not exist")
        names.append((read.node, read.tendon.renamed(read.name, frames.__getitem__, str)))
    return names


def with_springs_at_rest(robot: Mechanism, tendons: Mapping[str, MjcfTendon]) -> Mechanism:
    """The mechanism with springs of tendons at rest where those of joints are, as MuJoCo's compiler sets them.

    That is the reference configuration, with hinges and slides at their ``springref``.
    """
    own = (t for t in robot.tendons if t.name in tendons)
    loose = {t.name for t in own if (t.stiffness or any(t.stiffness_terms)) and tendons[t.name].springs}
    if not loose:
        return robot
    q = robot.poses["qpos0"].copy()
    for joint in robot.joints:
        if joint.type.nq == joint.type.nv == 1:
            q[robot.q_slice(joint.name)] = joint.rest
    lengths = Evaluator(robot, "tendon_length").plain()(q).tolist()
    at_rest = [
        replace(tendon, rest=(length, length)) if tendon.name in loose else tendon
        for tendon, length in zip(robot.tendons, lengths, strict=True)
    ]
    return replace(robot, tendons=tuple(at_rest))
