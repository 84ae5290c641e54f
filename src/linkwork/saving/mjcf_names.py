# SPDX-License-Identifier: BSD-3-Clause
"""Names of an MJCF file: sites, and the hinges that a universal joint becomes; coordinates as drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from linkwork.model.arrays import Floats
from linkwork.model.joints import Universal
from linkwork.model.model import Model
from linkwork.model.placement import Placement
from linkwork.saving.xml import add, fresh, numbers, quaternion


class MjcfNames:
    """Names of joints and sites of one file.

    Args:
        model: The model.
        drawn: The configuration in which it is drawn, ``(nq,)``.
        own: The frames of bodies and of the world, in those of the file.
    """

    def __init__(self, model: Model, drawn: Floats, own: Mapping[str, Placement]) -> None:
        self.model, self._drawn = model, drawn
        taken = set(model.joint_names)
        self.hinges: dict[str, tuple[str, str]] = {
            joint.name: (fresh(f"{joint.name}_first", taken), fresh(f"{joint.name}_second", taken))
            for joint in model.joints
            if isinstance(joint.type, Universal)
        }
        """The two hinges of each universal joint."""
        self.owner = {hinge: joint for joint, hinges in self.hinges.items() for hinge in hinges}
        self._frames = set(model.frames)
        self._of_body: dict[str, str] = {}
        self._own = own

    def scalar(self, joint: str, coordinate: int = 0) -> str:
        """The hinge or slide of a coordinate.

        Args:
            joint: A joint whose coordinates are numbers.
            coordinate: Which of them.
        """
        return self.hinges[joint][coordinate] if joint in self.hinges else joint

    def ref(self, joint: str, coordinate: int = 0) -> float:
        """A coordinate in the reference configuration.

        Args:
            joint: A joint whose coordinates are numbers.
            coordinate: Which of them.
        """
        return float(self._drawn[self.model.q_slice(joint)][coordinate])

    def site(self, element: Any, name: str, at: Placement) -> str:
        """Add a site; its name.

        Args:
            element: The body that it is on.
            name: Name of a frame.
            at: Its placement there.
        """
        self._frames.add(name)
        add(element, "site", name=name, pos=numbers(at.position), quat=quaternion(at))
        return name

    def new_site(self, element: Any, name: str, at: Placement) -> str:
        """Add a site that is no frame of the model; its name, which no frame has.

        Args:
            element: The body that it is on.
            name: The name that is wanted.
            at: Its placement there.
        """
        return self.site(element, fresh(name, self._frames), at)

    def site_of(self, elements: Mapping[str, Any], place: str) -> str:
        """The site of a frame, or a new one where a body is.

        Args:
            elements: Those of bodies and the world.
            place: A frame, a body, or the world.
        """
        if place not in elements:
            return place
        if place not in self._of_body:
            self._of_body[place] = self.new_site(elements[place], f"{place}_site", self._own.get(place, Placement()))
        return self._of_body[place]
