# SPDX-License-Identifier: BSD-3-Clause
"""Constraints of a model as equalities of MJCF.

| in the model                          | in the file                                                               |
|---------------------------------------|---------------------------------------------------------------------------|
| Point, Weld                           | ``connect``, ``weld`` of two sites                                        |
| Hinge                                 | two ``connect`` of points on its axis, as MuJoCo's manual says            |
| Rod                                   | ``tendon``, of a spatial tendon                                           |
| one joint follows another, or is held | ``joint``, with a polynomial                                              |
| other equations of joints             | ``tendon``, of fixed tendons                                              |
| TendonCoupling                        | ``tendon``                                                                |

Sites and not anchors: an anchor of two bodies says that the loop is closed as the model is drawn.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.model.arrays import Floats
from linkwork.model.constraints import Constraint, Coupling, Hinge, Pair, Point, Rod, TendonCoupling, Weld
from linkwork.model.joints import Prismatic, Revolute, Universal
from linkwork.model.placement import Placement
from linkwork.model.tendons import Tendon
from linkwork.saving.equations import JointEquation, equations_of, shifted_polynomial
from linkwork.saving.joint_numbers import refuse_softness
from linkwork.saving.layout import Layout, body_places, is_same
from linkwork.saving.mjcf_geoms import set_softness
from linkwork.saving.mjcf_tendons import MjcfTendons
from linkwork.saving.report import Report
from linkwork.saving.xml import add, fresh, is_identity, number, numbers


def write_equalities(root: Any, layout: Layout, tendons: MjcfTendons, drawn: Floats, report: Report) -> None:
    """Add all constraints.

    Args:
        root: The root element.
        layout: The model, in the frames of the file.
        tendons: Tendons of the file.
        drawn: The configuration in which the model is drawn.
        report: Where to refuse constraints.
    """
    if layout.model.constraints:
        _Equalities(root, layout, tendons, drawn, report).write()


class _Equalities:
    def __init__(self, root: Any, layout: Layout, tendons: MjcfTendons, drawn: Floats, report: Report) -> None:
        self.layout, self.tendons, self.drawn, self.report = layout, tendons, drawn, report
        self.elements, self.names = tendons.elements, tendons.names
        self.section = add(root, "equality")
        self.taken = {constraint.name for constraint in layout.model.constraints}
        self.size = layout.length

    def write(self) -> None:
        """All constraints."""
        for constraint in self.layout.model.constraints:
            refuse_softness(constraint, self.report, switches=True)
            if type(constraint) is Point or type(constraint) is Weld:
                kind = "connect" if isinstance(constraint, Point) else "weld"
                self._between(kind, constraint, constraint.name, Placement())
            elif isinstance(constraint, Hinge):
                self._hinge(constraint)
            elif isinstance(constraint, Coupling):
                self._coupling(constraint)
            elif isinstance(constraint, TendonCoupling):
                self._tendon_coupling(constraint)
            elif isinstance(constraint, Rod):
                self._rod(constraint)
            else:
                self._refuse(constraint)

    def _refuse(self, constraint: Constraint) -> None:
        what = f"MJCF has no equality for a {type(constraint).__name__} such as this"
        self.report.refuse("constraints", f"'{constraint.name}'", what)

    def _add(self, kind: str, name: str, constraint: Constraint, **attributes: str) -> None:
        element = add(self.section, kind, name=name, **attributes)
        if not constraint.enabled:
            element.set("active", "false")
        set_softness(element, constraint.soft)
        if constraint.exact is not None:
            self.report.leave_out("marks", f"constraint '{constraint.name}'", "in MJCF all constraints are soft alike")
        if kind == "weld" and constraint.soft is not None and constraint.soft.torque_scale != 1:
            element.set("torquescale", number(constraint.soft.torque_scale))

    # Frames --------------------------------------------------------------------------------------------

    def _between(self, kind: str, constraint: Pair, name: str, along: Placement) -> None:
        """An equality of two sites, each moved by ``along`` in its frame."""
        sites = [
            self._site(place, at * along, f"{name}_{k + 1}")
            for k, (place, at) in enumerate(zip(constraint.places, constraint.frames(), strict=True))
        ]
        self._add(kind, name, constraint, site1=sites[0], site2=sites[1])

    def _site(self, place: str, at: Placement, name: str) -> str:
        """A site: that of the frame which a constraint names, of one that is there and called so, or a new one."""
        if is_identity(at) and place not in self.elements:
            return place
        body, there = self.layout.at(place, at)
        known = self.layout.model.frames.get(name)
        if known is not None and known.body == body and name not in self.elements:
            if is_same(self.layout.inside(body, known.placement), there):
                return name
        return self.names.new_site(self.elements[body], name, there)

    def _hinge(self, constraint: Hinge) -> None:
        """Two points on the axis meet: what bodies may do is the same, with one row more, which follows from others."""
        self._between("connect", constraint, constraint.name, Placement())
        second = fresh(f"{constraint.name}_axis", self.taken)
        self._between("connect", constraint, second, Placement((0.0, 0.0, self.size)))
        self.report.leave_out("names", f"'{constraint.name}'", f"in MJCF a Hinge is two connects: also '{second}'")

    # Joints --------------------------------------------------------------------------------------------

    def _coupling(self, constraint: Coupling) -> None:
        equations = equations_of(constraint)
        if equations is None or not all(self._scalar(equation) for equation in equations):
            self._refuse(constraint)
            return
        for k, equation in enumerate(equations):
            name = constraint.name if len(equations) == 1 else fresh(f"{constraint.name}_{k + 1}", self.taken)
            self._equation(name, constraint, equation)

    def _scalar(self, equation: JointEquation) -> bool:
        keys = [*equation.linear, *([equation.leader] if equation.leader else [])]
        return all(isinstance(self.layout.model.joint(j).type, Revolute | Prismatic | Universal) for j, _ in keys)

    def _equation(self, name: str, constraint: Coupling, equation: JointEquation) -> None:
        """``L1 = a0 + a1 L2 + a2 L2² + ...``, where ``L`` are measured from the coordinates as drawn."""
        ref = self.names.ref
        linear, leader = dict(equation.linear), equation.leader
        constant = equation.value - sum(factor * ref(*key) for key, factor in linear.items())
        rising: tuple[float, ...] = ()
        if leader is not None:
            shifted = shifted_polynomial((0.0, *equation.polynomial), ref(*leader) - equation.origin)
            constant, rising = constant - shifted[0], tuple(-c for c in shifted[1:])
            if not linear:  # the same on both sides, as a tendon has joints
                linear, rising = {leader: 1.0}, (1.0 + rising[0], *rising[1:])
        follower = next((key for key, factor in linear.items() if factor == 1 and key != leader), None)
        others = {key: factor for key, factor in linear.items() if key != follower}
        if follower is not None and leader is None and len(others) <= 1:
            for key, factor in others.items():
                leader, rising = key, (-factor, 0.0, 0.0, 0.0)
            others = {}
        if follower is not None and not others:
            attributes = {"joint1": self.names.scalar(*follower)} | (
                {"joint2": self.names.scalar(*leader)} if leader else {}
            )
            self._add("joint", name, constraint, **attributes, polycoef=numbers((constant, *(rising or (0.0,) * 4))))
            return
        attributes = {"tendon1": self.tendons.fixed(name, linear)[0]}
        if leader is not None:
            attributes["tendon2"] = self.tendons.fixed(f"{name}_leader", {leader: 1.0})[0]
        self._add("tendon", name, constraint, **attributes, polycoef=numbers((constant, *(rising or (0.0,) * 4))))

    # Tendons -------------------------------------------------------------------------------------------

    def _tendon_coupling(self, constraint: TendonCoupling) -> None:
        """``L1 = a0 + a1 L2 + ...``, where ``L`` are measured from the lengths as drawn."""
        follower, leader = constraint.follower, constraint.leader
        attributes = {"tendon1": self.tendons.of(follower)}
        polynomial = tuple(float(c) for c in constraint.coefficients)
        if leader is not None:
            attributes["tendon2"] = self.tendons.of(leader)
            polynomial = shifted_polynomial(polynomial, self._drawn_length(leader) - constraint.leader_origin)
        constant = polynomial[0] + constraint.follower_origin - self._drawn_length(follower)
        self._add("tendon", constraint.name, constraint, **attributes, polycoef=numbers((constant, *polynomial[1:])))

    def _rod(self, constraint: Rod) -> None:
        """A spatial tendon between two sites keeps its length."""
        ends = list(zip(constraint.places, constraint.frames(), strict=True))
        sites = [self._site(place, at, f"{constraint.name}_{k + 1}") for k, (place, at) in enumerate(ends)]
        places, model = body_places(self.layout.model, self.drawn), self.layout.model
        first, second = (places[model.frames[p].body] * model.frames[p].placement * at for p, at in ends)
        apart = float(np.linalg.norm(second.position - first.position))
        tendon = self.tendons.straight(constraint.name, sites)
        self._add(
            "tendon",
            constraint.name,
            constraint,
            tendon1=tendon,
            polycoef=numbers((constraint.size - apart, 0, 0, 0, 0)),
        )

    def _drawn_length(self, tendon: Tendon) -> float:
        """The length of a tendon in the reference configuration, without its constant."""
        model, places = self.layout.model, body_places(self.layout.model, self.drawn)
        at = {site: places[model.frames[site].body] * model.frames[site].placement for site in tendon.sites}
        segments = [(ends, branch.divisor) for branch in tendon.branches for ends in branch.segments]
        path = sum(float(np.linalg.norm(at[b].position - at[a].position)) / divisor for (a, b), divisor in segments)
        return path + sum(c * self.names.ref(joint) for joint, c in tendon.joints.items())
