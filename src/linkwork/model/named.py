# SPDX-License-Identifier: BSD-3-Clause
"""Mappings by name whose missing keys are errors that say which names there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

from linkwork.errors import UnknownName
from linkwork.inputs import shown, suggest

T = TypeVar("T")


class Named(dict[str, T], Generic[T]):
    """The parts of one kind by name; an absent name is an `UnknownName` that suggests similar ones."""

    def __init__(self, robot: str, kind: str, items: Mapping[str, T]) -> None:
        super().__init__(items)
        self._whose = f"robot '{robot}' has no {kind}"

    def __getitem__(self, name: str) -> T:
        try:
            return super().__getitem__(name)
        except TypeError:  # what is not hashable is no name
            return self.__missing__(name)

    def __missing__(self, name: str) -> T:
        near = suggest(name, self)
        if not near and 0 < len(self) <= 8:
            near = f"; there {'is' if len(self) == 1 else 'are'} {', '.join(self)}"
        raise UnknownName(f"{self._whose} {shown(name)}{near}")
