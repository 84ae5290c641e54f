# SPDX-License-Identifier: BSD-3-Clause
"""Mappings by name whose missing keys are errors that say which names there are."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Generic, TypeVar

from linkwork.errors import UnknownName
from linkwork.inputs import shown, suggest

T = TypeVar("T")


class Named(dict[str, T], Generic[T]):
    """The parts of one kind by name; an absent name is an `UnknownName` that suggests similar ones.

    Args:
        robot: Name of the robot.
        kind: Noun for one part.
        items: The parts.
        constraints: Names of constraints, for the error about a joint that closes a loop.
    """

    def __init__(self, robot: str, kind: str, items: Mapping[str, T], constraints: Collection[str] = ()) -> None:
        super().__init__(items)
        self._whose = f"robot '{robot}' has no {kind}"
        self._constraints = constraints

    def __getitem__(self, name: str) -> T:
        try:
            return super().__getitem__(name)
        except TypeError:  # what is not hashable is no name
            return self.__missing__(name)

    def __missing__(self, name: str) -> T:
        raise UnknownName(f"{self._whose} {shown(name)}{self.advice(name)}")

    def advice(self, name: object) -> str:
        """The end of the error about a name that is absent.

        Args:
            name: The name.
        """
        if isinstance(name, str) and name in self._constraints:
            return (
                f": it is a constraint, robot.constraint({name!r}); of joints that form a loop, those with "
                "actuated=True in Builder stay joints"
            )
        near = suggest(str(name), self)
        if not near and 0 < len(self) <= 8:
            near = f"; there {'is' if len(self) == 1 else 'are'} {', '.join(self)}"
        return near
