# SPDX-License-Identifier: BSD-3-Clause
"""Names of an SDF model, where links, joints and frames may not share one."""

from __future__ import annotations

from linkwork.model.constraints import WORLD
from linkwork.model.joints import Free
from linkwork.saving.layout import Layout
from linkwork.saving.report import Report
from linkwork.saving.xml import fresh

ROOT_JOINT = "root_joint"
"""Readers' name of the joint of a floating body."""


class SdfNames:
    """Names of one file; those that are taken or reserved get another, which is noted.

    Args:
        layout: The model.
        report: Where to note names that change, and to refuse those of links.
    """

    def __init__(self, layout: Layout, report: Report) -> None:
        model = layout.model
        self._report = report
        self._taken: set[str] = {WORLD, *model.body_names}
        for body in model.body_names:
            if _reserved(body):
                report.refuse("names", f"body '{body}'", "SDF reserves names between double underscores")
        self.joints: dict[str, str] = {}
        """Names of joints; those of what floats are the reader's."""
        for joint in model.joints:
            if not isinstance(joint.type, Free):
                self.joints[joint.name] = self._named("joint", joint.name)
        self.loops = {c.name: self._named("constraint", c.name) for c in model.constraints}
        """Names of constraints that are joints."""
        for joint in model.joints:
            if isinstance(joint.type, Free):
                self.joints[joint.name] = fresh(ROOT_JOINT, self._taken)
        self.frames = {frame.name: self._named("frame", frame.name) for frame in layout.frames}
        """Names of frames."""

    def new(self, name: str) -> str:
        """A name that nothing has.

        Args:
            name: The name that is wanted.
        """
        return fresh(name, self._taken)

    def _named(self, kind: str, name: str) -> str:
        if name not in self._taken and not _reserved(name):
            self._taken.add(name)
            return name
        other = fresh(f"{name.strip('_') if _reserved(name) else name}_{kind}", self._taken)
        what = f"in SDF links, joints and frames have different names: it is called '{other}'"
        self._report.leave_out("names", f"{kind} '{name}'", what)
        return other


def _reserved(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")
