"""What kernels read of a mechanism: named integers and arrays, in an order that compiled code relies on."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

Shape = tuple[str | int, ...]
"""Sizes of one array; names are sizes of the layout."""


@dataclass(frozen=True, eq=False)
class Layout:
    """Sizes, then arrays of integers and of floats, by name with their shapes."""

    name: str
    sizes: tuple[str, ...]
    integers: Mapping[str, Shape]
    floats: Mapping[str, Shape]

    @cached_property
    def shapes(self) -> Mapping[str, Shape]:
        """All arrays, in order."""
        return {**self.integers, **self.floats}

    @cached_property
    def type(self) -> Any:
        """The named tuple that holds it all."""
        return namedtuple("Tree", [*self.sizes, *self.shapes])

    def extended(
        self, name: str, sizes: tuple[str, ...], integers: Mapping[str, Shape], floats: Mapping[str, Shape]
    ) -> Layout:
        """The same with more in it, under a name of its own."""
        return Layout(name, self.sizes + sizes, {**self.integers, **integers}, {**self.floats, **floats})
