# SPDX-License-Identifier: BSD-3-Clause
"""Where the frames of a saved model's bodies are, and all else in them.

A moving body has two frames: that of its joint J, in which its inertia is given, and its own C, which users see. A file
has one, W. It is C wherever the format can place a joint in it such that coordinates stay what they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from linkwork.model.arrays import Floats
from linkwork.model.constraints import WORLD, Pair
from linkwork.model.inertia import Inertia
from linkwork.model.joint_placement import joint_placement
from linkwork.model.joints import Helical, Prismatic, Revolute
from linkwork.model.model import Model
from linkwork.model.parts import Frame, TreeJoint
from linkwork.model.placement import Placement, as_placement
from linkwork.saving.report import Report
from linkwork.saving.xml import fresh, is_identity

_ROUNDOFF = 4e-16


class Layout:
    """Bodies in the frames that a file gives them.

    Args:
        model: The model.
        written: For each moving body, the frame of the file W in the frame of its joint J.
        report: Where to note bodies whose own frame is not that of the file.
    """

    def __init__(self, model: Model, written: Mapping[str, Placement], report: Report) -> None:
        self.model = model
        self.written = {WORLD: Placement(), **written}
        self._back = {body: place.inverse() for body, place in self.written.items()}
        self.frames = [f for name, f in model.frames.items() if name != WORLD and name not in model.inertias]
        """Frames besides those of moving bodies and of the world."""
        for frame in self.frames:
            if frame.mocap == frame.name:
                report.leave_out("frames", f"mocap body '{frame.name}'", "its frame is fixed to the world there")
        taken = set(model.frames)
        for body in model.body_names:
            own = model.frames[body].placement
            if not is_same(own, self.written[body]):
                name = fresh(f"{body}_origin", taken)
                self.frames.append(Frame(name, body, own))
                what = f"its frame is at its joint in {report.format.upper()}; where it was is the frame '{name}'"
                report.leave_out("frames", f"body '{body}'", what)

    def inside(self, body: str, placement: Placement) -> Placement:
        """A placement in the frame of a body's joint, seen from the frame of the file.

        Args:
            body: A moving body, or the world.
            placement: In the frame of its joint.
        """
        return placement if body == WORLD else self._back[body] * placement

    def at(self, place: str, placement: Placement) -> tuple[str, Placement]:
        """The body that a place is on, and a placement there in the frame of the file.

        Args:
            place: A body, a frame, or the world.
            placement: In the frame of that place.
        """
        frame = self.model.frames[place]
        return frame.body, self.inside(frame.body, frame.placement * placement)

    def inertia(self, body: str) -> Inertia:
        """The inertia of a body, in the frame of the file.

        Args:
            body: A moving body.
        """
        back, own = self._back[body], self.model.inertias[body]
        return own if is_identity(back) else own.moved(back)

    def base_inertia(self, report: Report) -> tuple[Frame, Inertia] | None:
        """The inertia fixed to the world, in the first frame there, and that frame; None if it has no mass.

        Args:
            report: Where to note it, if the world has no frame.
        """
        inertia = self.model.base_inertia
        if inertia.mass == 0:
            return None
        frame = next((frame for frame in self.frames if frame.body == WORLD), None)
        if frame is None:
            report.leave_out("base inertia", "world", "what is fixed to it has mass, and no frame that would have it")
            return None
        return frame, inertia.moved(frame.placement.inverse())

    def joint(self, joint: TreeJoint) -> Placement:
        """Where a joint begins, in the frame of its parent.

        Args:
            joint: The joint.
        """
        return self.inside(joint.parent, joint.placement)

    @property
    def length(self) -> float:
        """A length of the order of a link's: the mean distance of joints from each other, else one."""
        lengths = [float(np.linalg.norm(joint.placement.position)) for joint in self.model.joints]
        lengths += [
            float(np.linalg.norm(as_placement(at).position))
            for c in self.model.constraints
            if isinstance(c, Pair)
            for at in (c.first_at, c.second_at)
        ]
        moved = [length for length in lengths if length > 0]
        return float(np.mean(moved)) if moved else 1.0

    def children(self, body: str) -> Iterator[TreeJoint]:
        """The joints that begin at a body, in the order of the model.

        Args:
            body: A moving body, or the world.
        """
        return (joint for joint in self.model.joints if joint.parent == body)


def body_places(model: Model, q: Floats) -> dict[str, Placement]:
    """Where the frames of all joints are in the world, by body; the world is one of them.

    Args:
        model: The model.
        q: Configuration, ``(nq,)``.
    """
    placements = {WORLD: Placement()}
    for joint in model.joints:
        moved = joint_placement(joint.type, q[model.q_slice(joint.name)])
        placements[joint.child] = placements[joint.parent] * joint.placement * moved
    return placements


def frame_on_axis(joint: TreeJoint, own: Placement) -> bool:
    """Whether a joint that moves the frame ``own`` of its child does so about or along an axis through its origin.

    Then it is the same joint, with the same coordinate, in that frame.

    Args:
        joint: A joint of one degree of freedom.
        own: The frame of the child, in that of the joint.
    """
    if isinstance(joint.type, Prismatic):
        return True
    if not isinstance(joint.type, Revolute | Helical):
        return False
    across = np.cross(own.position, joint.type.axis)
    return bool(np.abs(across).max() <= _ROUNDOFF * np.abs(own.position).max(initial=0.0))


def is_same(a: Placement, b: Placement) -> bool:
    """Whether two placements differ by round-off at most.

    Args:
        a: One.
        b: The other.
    """
    size = np.abs(a.position).max(initial=0.0)
    return bool(
        np.abs(a.position - b.position).max() <= 8 * _ROUNDOFF * size
        and np.abs(a.rotation - b.rotation).max() <= 8 * _ROUNDOFF
    )
