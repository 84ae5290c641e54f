# SPDX-License-Identifier: BSD-3-Clause
"""Scenarios: what is measured, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class NamedScenario:
    """A scenario with a name, with which the names of its metrics begin and which ``--only`` matches."""

    NAME: ClassVar[str]
    """The name; braces hold fields of the scenario."""

    @property
    def name(self) -> str:
        """The name of the scenario."""
        return self.NAME.format_map(vars(self))
