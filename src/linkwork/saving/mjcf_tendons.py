# SPDX-License-Identifier: BSD-3-Clause
"""Tendons of a model as MJCF has them, and the fixed ones that equalities and actuators need besides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from linkwork.model.tendons import Tendon
from linkwork.model.thresholds import UNBOUNDED
from linkwork.saving.layout import Layout
from linkwork.saving.mjcf_geoms import set_softness
from linkwork.saving.mjcf_names import MjcfNames
from linkwork.saving.report import Report
from linkwork.saving.xml import add, fresh, number, numbers

_SPRINGS_AS_DRAWN = (-1.0, -1.0)
"""Lengths of a spring that MuJoCo takes for those of the reference configuration."""


class MjcfTendons:
    """The tendons of one file.

    Args:
        root: The root element.
        elements: Those of bodies and the world.
        layout: The model, in the frames of the file.
        names: Names of the file.
        report: Where to refuse tendons.
    """

    def __init__(
        self, root: Any, elements: Mapping[str, Any], layout: Layout, names: MjcfNames, report: Report
    ) -> None:
        self.root, self.elements, self.names, self.report = root, elements, names, report
        self._known = {tendon.name: tendon for tendon in layout.model.tendons}
        self._taken = set(self._known)
        self._section: Any = None
        for tendon in layout.model.tendons:
            if tendon.transmission is not None:
                continue  # its actuator says it
            self._write(tendon.name, tendon, needed=tendon.is_passive or tendon.is_limited)

    def fixed(self, name: str, factors: Mapping[tuple[str, int], float], *, geared: bool = False) -> tuple[str, float]:
        """A fixed tendon with these coefficients, and what they are multiplied by: one of the model, or a new one.

        Args:
            name: The name of a new one.
            factors: By joint and coordinate.
            geared: Whether they may be multiplied by anything but 1.
        """
        wanted = {joint: factor for (joint, _), factor in factors.items()}
        for known, tendon in self._known.items():
            if np.isfinite(tendon.force_limits).any() or tendon.offset != 0:
                continue
            if len(wanted) == len(factors) and list(tendon.joints) == list(wanted):
                first = next(iter(wanted))
                ratio = wanted[first] / tendon.joints[first] if tendon.joints[first] else 0.0
                if (
                    ratio
                    and (geared or ratio == 1)
                    and all(ratio * tendon.joints[joint] == factor for joint, factor in wanted.items())
                ):
                    return known, ratio
        own = fresh(name, self._taken)
        element = add(self._tendons(), "fixed", name=own)
        for (joint, coordinate), factor in factors.items():
            add(element, "joint", joint=self.names.scalar(joint, coordinate), coef=number(factor))
        return own, 1.0

    def straight(self, name: str, sites: Sequence[str]) -> str:
        """A new spatial tendon through sites of the file; its name.

        Args:
            name: The name that is wanted.
            sites: Their names.
        """
        own = fresh(name, self._taken)
        element = add(self._tendons(), "spatial", name=own)
        for site in sites:
            add(element, "site", site=site)
        return own

    def of(self, tendon: Tendon) -> str:
        """The name of a tendon that a constraint holds: one of the model that passes the same, or a new one.

        Args:
            tendon: The tendon.
        """
        alike = [name for name, known in self._known.items() if _same(known, tendon) and self.has(name)]
        if alike:
            return tendon.name if tendon.name in alike else alike[0]
        name = fresh(tendon.name, self._taken)
        self._known[name] = Tendon(name, tendon.joints, tendon.branches, offset=tendon.offset)  # springs do not act
        self._write(name, self._known[name], needed=True)
        return name

    def _tendons(self) -> Any:
        if self._section is None:
            self._section = add(self.root, "tendon")
        return self._section

    def has(self, name: str) -> bool:
        """Whether the file has a tendon of this name.

        Args:
            name: The name.
        """
        return self._section is not None and any(element.get("name") == name for element in self._section)

    def _unsaid(self, tendon: Tendon) -> str:
        """Why a tendon cannot be said."""
        if tendon.offset != 0:
            return "MJCF adds no constant to the length of a tendon"
        if tendon.has_wraps:
            return "obstacles of tendons are geoms in MJCF, and are not written"
        if tendon.stiffness and tendon.rest == _SPRINGS_AS_DRAWN:
            return "in MJCF a spring of the length -1 rests as the model is drawn"
        if any(tendon.stop):
            return "MJCF gives limits of tendons no stiffness of their own here"
        for limits in (tendon.limits, tendon.force_limits):
            if limits[0] == limits[1]:
                return f"in MJCF a range is not empty, as is {limits}"
        return ""

    def _write(self, name: str, tendon: Tendon, *, needed: bool) -> None:
        """Write a tendon; what cannot be said is left out where nothing needs it, or else refused."""
        unsaid = self._unsaid(tendon)
        if unsaid:
            note = self.report.refuse if needed else self.report.leave_out
            note("tendons", f"tendon '{name}'", unsaid)
            return
        element = add(self._tendons(), "spatial" if tendon.is_spatial else "fixed", name=name)
        for joint, factor in tendon.joints.items():
            add(element, "joint", joint=self.names.scalar(joint), coef=number(factor))
        for k, branch in enumerate(tendon.branches):
            if k or branch.divisor != 1:
                add(element, "pulley", divisor=number(branch.divisor))
            for site in branch.frames:
                add(element, "site", site=self.names.site_of(self.elements, site))
        for what, value, *terms in (
            ("stiffness", tendon.stiffness, *tendon.stiffness_terms),
            ("damping", tendon.damping, *tendon.damping_terms),
            ("frictionloss", tendon.friction),
        ):
            if value != 0 or any(terms):
                element.set(what, numbers((value, *terms)) if any(terms) else number(value))
        set_softness(element, tendon.soft_limit, "limit")
        set_softness(element, tendon.soft_friction, "friction")
        if tendon.soft_limit is not None and tendon.soft_limit.margin != 0:
            element.set("margin", number(tendon.soft_limit.margin))
        if tendon.stiffness or any(tendon.stiffness_terms) or tendon.rest != (0.0, 0.0):
            element.set("springlength", numbers(np.clip(tendon.rest, -UNBOUNDED, UNBOUNDED)))
        for limited, range, limits in (
            ("limited", "range", tendon.limits),
            ("actuatorfrclimited", "actuatorfrcrange", tendon.force_limits),
        ):
            if np.isfinite(limits).any():
                element.set(limited, "true")
                element.set(range, numbers(np.clip(limits, -UNBOUNDED, UNBOUNDED)))


def _same(a: Tendon, b: Tendon) -> bool:
    """Whether two tendons pass the same joints, or the same sites over the same pulleys."""
    paths = [[(branch.sites, branch.divisor) for branch in tendon.branches] for tendon in (a, b)]
    return a is b or (dict(a.joints) == dict(b.joints) and paths[0] == paths[1] and a.offset == b.offset)
