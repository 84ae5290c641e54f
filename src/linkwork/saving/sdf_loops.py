# SPDX-License-Identifier: BSD-3-Clause
"""Constraints of a model as SDF has them: joints that close loops, mimics, and Drake's ball constraint.

A joint has one place, on its child: a loop that it closes is closed in the pose that the file draws, and what joints
lead to does not float. Otherwise a `Point` is a ``drake:ball_constraint``, which has two places and is no joint, and
others are refused. Which joints close loops is said by Simbody's ``must_be_loop_joint``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linkwork.model.arrays import Floats
from linkwork.model.constraints import WORLD, Cardan, Coupling, Hinge, Pair, Point, Slider, Weld
from linkwork.model.joints import Free, Helical, Prismatic, Revolute
from linkwork.model.parts import TreeJoint
from linkwork.model.placement import Placement, as_placement
from linkwork.saving.equations import equations_of
from linkwork.saving.joint_numbers import refuse_softness
from linkwork.saving.layout import Layout, body_places
from linkwork.saving.report import Report
from linkwork.saving.sdf_names import SdfNames
from linkwork.saving.urdf_loops import Mimic, mimics
from linkwork.saving.xml import add, drake, number, numbers, pose

_TYPES: dict[type[Pair], str] = {
    Hinge: "revolute",
    Slider: "prismatic",
    Weld: "fixed",
    Cardan: "universal",
    Point: "ball",
}
CLOSED = 1e-13
"""Errors of a closed loop, of angles, and of lengths as a part of the model's size."""


class SdfLoops:
    """Writes the constraints of one model.

    Args:
        layout: The model, in the frames of the file.
        names: Names of the file.
        report: Where to refuse constraints.
        places: Of bodies in the world, as drawn.
        zero: Coordinates at which joints of the file are at zero.
    """

    def __init__(
        self, layout: Layout, names: SdfNames, report: Report, places: Mapping[str, Placement], zero: Floats
    ) -> None:
        self.layout, self.names, self.report, self.places, self.zero = layout, names, report, places, zero
        self._mimics = mimics(layout.model) | self._locks()
        self._by_follower = {mimic.follower: mimic for mimic in self._mimics.values()}
        positions = [place.position for place in places.values()]
        self._size = float(np.abs(np.array(positions)).max()) or 1.0
        self._balls = 0
        self._part = {WORLD: WORLD}
        """Support of each body: the world, or the body that floats."""
        for joint in layout.model.joints:
            free = isinstance(joint.type, Free)
            self._part[joint.child] = joint.child if free else self._part[joint.parent]

    def _locks(self) -> dict[str, Mimic]:
        """Joints that are held: mimics of any other joint, with the multiplier 0."""
        locks = {}
        followers = {mimic.follower for mimic in mimics(self.layout.model).values()}
        single = [j.name for j in self.layout.model.joints if isinstance(j.type, Revolute | Prismatic | Helical)]
        for constraint in self.layout.model.constraints:
            equations = equations_of(constraint) if isinstance(constraint, Coupling) else None
            if equations is None or len(equations) != 1 or equations[0].leader or len(equations[0].linear) != 1:
                continue
            if not constraint.enabled:
                continue
            (((joint, _), factor),) = equations[0].linear.items()
            leader = next((name for name in single if name != joint), None)
            if factor == 1 and leader is not None and joint not in followers and joint in single:
                followers.add(joint)
                locks[constraint.name] = Mimic(joint, leader, 0.0, equations[0].value)
        return locks

    def mimic(self, axis: Any, joint: TreeJoint, k: int) -> None:
        """Add what the axis of a joint mimics.

        Args:
            axis: Its element.
            joint: The joint.
            k: Which axis of the joint it is.
        """
        said = self._by_follower.get(joint.name) if k == 0 else None
        if said is None:
            return
        element = add(axis, "mimic", joint=self.names.joints[said.leader])
        follower, leader = (float(self.zero[self.layout.model.q_slice(name)][0]) for name in said[:2])
        add(element, "multiplier", number(said.multiplier))
        add(element, "offset", number(said.offset - follower + said.multiplier * leader))
        add(element, "reference", "0")

    def write(self, model: Any) -> None:
        """Add all constraints that are no mimics.

        Args:
            model: The element of the model.
        """
        for constraint in self.layout.model.constraints:
            refuse_softness(constraint, self.report)
            name = constraint.name
            if not constraint.enabled:
                continue
            if name in self._mimics:
                called = f"{self.names.joints[self._mimics[name].follower]}_mimic"
                if called != name:
                    what = f"a mimic has no name in SDF: it is called '{called}'"
                    self.report.leave_out("names", f"constraint '{name}'", what)
            elif isinstance(constraint, Pair) and type(constraint) in _TYPES:
                self._pair(model, constraint)
            else:
                what = f"SDF has no {type(constraint).__name__} such as this"
                self.report.refuse("constraints", f"'{name}'", what)

    def _pair(self, model: Any, constraint: Pair) -> None:
        ends = [self._end(place, as_placement(at)) for place, at in self._ends(constraint)]
        axes = [np.asarray(getattr(constraint, which, (0.0, 0.0, 1.0))) for which in ("axis", "second_axis")]
        if ends[1][0] == WORLD:
            ends, axes = ends[::-1], axes[::-1]
        floating = self._part[ends[0][0]] != self._part[ends[1][0]]
        if floating or self._error(constraint, self.places) > CLOSED:
            if isinstance(constraint, Point):
                self._ball(model, constraint)
            else:
                self._refuse(constraint, floating)
            return
        (first, _, there), (second, _, here) = ends
        joint = add(model, "joint", name=self.names.loops[constraint.name], type=_TYPES[type(constraint)])
        add(joint, "parent", first)
        add(joint, "child", second)
        # where the second frame is, in the axes of the first, in which rows are
        add(joint, "pose", pose(self.places[second].inverse() * Placement(here.position, there.rotation)))
        if isinstance(constraint, Hinge | Slider | Cardan):
            add(add(joint, "axis"), "xyz", numbers(axes[0]))
        if isinstance(constraint, Cardan):
            add(add(joint, "axis2"), "xyz", numbers(there.rotation.T @ here.rotation @ axes[1]))
        add(add(add(joint, "physics"), "simbody"), "must_be_loop_joint", "true")

    @staticmethod
    def _ends(constraint: Pair) -> list[tuple[str, Any]]:
        return [(constraint.first, constraint.first_at), (constraint.second, constraint.second_at)]

    def _end(self, place: str, at: Placement) -> tuple[str, Placement, Placement]:
        """Body, placement there, and placement in the world of an end."""
        body, there = self.layout.at(place, at)
        return body, there, self.places[body] * there

    def _error(self, constraint: Pair, places: Mapping[str, Placement]) -> float:
        """The error of a loop: the greatest of angles, and of lengths relative to the size of the model."""
        ends = [self.layout.at(place, at) for place, at in zip(constraint.places, constraint.frames(), strict=True)]
        first, second = (places[body] * at for body, at in ends)
        between = first.inverse() * second
        apart, turned = between.position / self._size, between.rotation
        if isinstance(constraint, Slider):
            return float(max(np.abs(apart[:2]).max(), np.abs(turned - np.eye(3)).max()))
        errors = [np.abs(apart).max()]
        if isinstance(constraint, Hinge):
            errors.append(np.abs(turned[:, 2] - (0.0, 0.0, 1.0)).max())
        elif isinstance(constraint, Weld):
            errors.append(np.abs(turned - np.eye(3)).max())
        elif isinstance(constraint, Cardan):
            errors.append(abs(turned[0, 1]))
        return float(max(errors))

    def _ball(self, model: Any, constraint: Point) -> None:
        element = add(model, drake("ball_constraint"))
        ends = [self._end(place, as_placement(at)) for place, at in self._ends(constraint)]
        for (body, at, _), letter, point in zip(ends, "AB", ("AP", "BQ"), strict=True):
            add(element, drake(f"ball_constraint_body_{letter}"), body)
            add(element, drake(f"ball_constraint_p_{point}"), numbers(at.position))
        called = f"ball_constraint_{self._balls}"
        self._balls += 1
        if called != constraint.name:
            what = f"a ball constraint has no name in SDF: it is called '{called}'"
            self.report.leave_out("names", f"constraint '{constraint.name}'", what)

    def _refuse(self, constraint: Pair, floating: bool) -> None:
        what = f"in SDF a {type(constraint).__name__} is a joint, closed as the model is drawn, with joints at zero; "
        if floating:
            what += "what it holds would not float"
        else:
            named = next(
                (f"'{name}'" for name, q in self.layout.model.poses.items() if self._closes(constraint, q)), "q"
            )
            what += f"it is open there (pose={named} draws the model where it is closed)"
        self.report.refuse("constraints", f"'{constraint.name}'", what)

    def _closes(self, constraint: Pair, q: Floats) -> bool:
        """Whether a loop is closed in a configuration."""
        at = body_places(self.layout.model, q)
        return self._error(constraint, {body: at[body] * w for body, w in self.layout.written.items()}) < CLOSED
