# SPDX-License-Identifier: BSD-3-Clause
"""Tendons of a model: fixed ones, and spatial ones through sites and over pulleys.

A spatial tendon that wraps around a geom is not modeled: it is left out, with what pulls it and a warning, unless it
has a spring or a damper, or an equality holds it; then it is an `UnsupportedFeature`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linkwork.errors import UnsupportedFeature
from linkwork.mechanism import Mechanism
from linkwork.model.tendons import Branch, Tendon
from linkwork.parsing.mjcf.document import Defaults, MjcfDocument
from linkwork.parsing.mjcf.joints import MjcfJoint, open_end, scalar_joint
from linkwork.parsing.mjcf.settings import YES_NO_AUTO, Settings
from linkwork.parsing.mjcf.tree import Body, Item, fresh
from linkwork.parsing.mjcf.vocabulary import not_understood, refuse_unknown
from linkwork.parsing.xml import Node, located, warn
from linkwork.quantities.evaluator import Evaluator

Sites = Mapping[str, tuple[Body, Item]]
"""Bodies and elements of sites, by name."""


@dataclass(frozen=True)
class MjcfTendon:
    """A tendon of a file."""

    node: Node
    tendon: Tendon | None
    """Names of sites in its path; None where it wraps around a geom."""
    springs: bool
    """Whether its spring is at rest in the model as its springs are drawn, and not at lengths that are written."""

    @property
    def name(self) -> str:
        """Its name."""
        return self.node.get("name") or ""

    def known(self, where: Node) -> Tendon:
        """The tendon; an `UnsupportedFeature` where it wraps around a geom."""
        if self.tendon is None:
            raise where.error(
                f"tendon '{self.name}' wraps around a geom, which is not supported; let it pass sites",
                UnsupportedFeature,
            )
        return self.tendon

    def drawn_length(self, joints: Mapping[str, MjcfJoint], sites: Sites, settings: Settings, where: Node) -> float:
        """Its length in the model as it is drawn (MuJoCo: ``tendon_length0``)."""
        tendon, points = self.known(where), {}
        for site in tendon.sites:
            body, item = sites[site]
            points[site] = (body.world * item.frame * settings.placement(item.node)).position
        segments = [(ends, branch.divisor) for branch in tendon.branches for ends in branch.segments]
        path = sum(float(np.linalg.norm(points[b] - points[a])) / divisor for (a, b), divisor in segments)
        return path + sum(c * joints[name].ref for name, c in tendon.joints.items())


def read_tendons(
    document: MjcfDocument, defaults: Defaults, joints: Mapping[str, MjcfJoint], settings: Settings
) -> dict[str, MjcfTendon]:
    """All tendons by name; those with inertia are an `UnsupportedFeature`."""
    tendons: dict[str, MjcfTendon] = {}
    elements = list(document.inside("tendon"))
    taken = {node.get("name") for node in elements}
    for k, bare in enumerate(elements):
        if bare.tag not in ("fixed", "spatial"):
            raise not_understood(bare, "tendon")
        node = defaults.apply(bare, "tendon")
        refuse_unknown(node, "tendon")
        if node.number("armature", 0.0) != 0:
            raise node.error("a tendon with inertia ('armature') is not supported", UnsupportedFeature)
        name = node.get("name") or fresh(f"tendon_{k}", taken)
        if name in tendons:
            raise node.error(f"two tendons are called '{name}'")
        tendons[name] = _read(document, node, name, joints, settings)
    return tendons


def _read(
    document: MjcfDocument, node: Node, name: str, joints: Mapping[str, MjcfJoint], settings: Settings
) -> MjcfTendon:
    options = _passive(node, settings)
    lengths = node.numbers("springlength", 1, 2) or (-1.0,)
    rest = (lengths[0], lengths[-1])
    options["limits"] = bounds(node, "limited", "range", settings) or (-math.inf, math.inf)
    forces = bounds(node, "actuatorfrclimited", "actuatorfrcrange", settings)
    options["force_limits"] = forces or (-math.inf, math.inf)
    springs = rest == (-1.0, -1.0)
    made: Tendon | None
    with located(node):
        if node.tag == "fixed":
            made = Tendon(name, joints=_coefficients(document, node, joints), **options)
        else:
            made = _spatial(document, node, name, options)
            if made is None and (options["stiffness"] or options["damping"]):
                raise node.error(
                    f"tendon '{name}' wraps around a geom, which is not supported, and has a spring or a damper, which "
                    "would act; let it pass sites",
                    UnsupportedFeature,
                )
        if made is not None and not springs:
            made = replace(made, rest=rest)
    return MjcfTendon(node.inheriting({"name": name}), made, springs)


def _passive(node: Node, settings: Settings) -> dict[str, Any]:
    """Springs, dampers and friction, where they are switched on."""
    found = {"friction": node.number("frictionloss", 0.0) if settings.friction else 0.0}
    for what, acts in (("stiffness", settings.springs), ("damping", settings.dampers)):
        linear, *further = (node.numbers(what, 1, 2, 3) if acts else None) or (0.0,)
        if any(further):
            raise node.error(f"{what} of a tendon that is no constant is not supported", UnsupportedFeature)
        found[what] = linear
    if found["stiffness"] and any(node.numbers("springyield", 1, 2) or ()):
        raise node.error("a spring of a tendon that yields ('springyield') is not supported", UnsupportedFeature)
    return found


def bounds(node: Node, limited: str, range: str, settings: Settings) -> tuple[float, float] | None:
    """A range, where it counts."""
    given, counts = node.numbers(range, 2), node.choice(limited, YES_NO_AUTO, "auto")
    if given is None or counts == "false" or (counts == "auto" and not settings.autolimits):
        return None
    return open_end(given[0]) or given[0], open_end(given[1]) or given[1]


def _coefficients(document: MjcfDocument, node: Node, joints: Mapping[str, MjcfJoint]) -> dict[str, float]:
    found: dict[str, float] = {}
    for part in document.children(node, "joint"):
        joint = scalar_joint(joints, part.text("joint"), part)
        if joint.name in found:
            raise part.error(f"joint '{joint.name}' is in this tendon twice")
        found[joint.name] = part.number("coef")
    return found


def _spatial(document: MjcfDocument, node: Node, name: str, options: dict[str, Any]) -> Tendon | None:
    """A tendon through sites; None where it wraps around a geom."""
    branches: list[tuple[float, list[str]]] = [(1.0, [])]
    for part in document.children(node):
        if part.tag == "site":
            branches[-1][1].append(part.text("site"))
        elif part.tag == "pulley":
            branches.append((part.number("divisor"), []))
        elif part.tag == "geom":
            return None
        else:
            raise not_understood(part, "spatial")
    if not branches[0][1]:
        branches = branches[1:]
    return Tendon(name, path=tuple(Branch(tuple(sites), divisor) for divisor, sites in branches), **options)


def on_frames(tendons: Mapping[str, MjcfTendon], frames: Mapping[str, str]) -> list[tuple[Node, Tendon]]:
    """The tendons that can be kept, with frames in place of sites, each with its element."""
    found = []
    for read in tendons.values():
        if read.tendon is None:
            warn(read.node, f"tendon '{read.name}' wraps around a geom, which is not supported: it is left out")
            continue
        for site in read.tendon.sites:
            if site not in frames:
                raise read.node.error(f"tendon '{read.name}' passes site '{site}', which does not exist")
        found.append((read.node, read.tendon.renamed(read.name, frames.__getitem__, str)))
    return found


def with_springs_at_rest(robot: Mechanism, tendons: Mapping[str, MjcfTendon]) -> Mechanism:
    """The mechanism with springs of tendons at rest where those of joints are, as MuJoCo's compiler sets them.

    That is the model as it is drawn, with hinges and slides at their ``springref``.
    """
    loose = {t.name for t in robot.tendons if t.stiffness and tendons[t.name].springs}
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
