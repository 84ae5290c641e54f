"""What an algorithm is to the rest of the package: kernel text and the shapes of what it reads, writes, works on."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Shape = tuple[str | int, ...]
"""Sizes of one array of one state; names are sizes of `plans.tree.Tree`."""


@dataclass(frozen=True, eq=False)
class Algorithm:
    """Kernel text ``text(tree, work, *inputs, *outputs)`` and its arrays.

    The first input is always ``q``. Adding an algorithm is one such record; every way of running it follows.
    """

    name: str
    text: Callable[..., None]
    inputs: Mapping[str, Shape]
    outputs: Mapping[str, Shape]
    work: Mapping[str, Shape]

    def work_type(self) -> Any:
        """The named tuple that holds the work arrays."""
        return namedtuple(f"{self.name}_work", list(self.work))


def resolve(shape: Shape, tree: Any) -> tuple[int, ...]:
    """The numbers of a shape for one tree."""
    return tuple(getattr(tree, size) if isinstance(size, str) else size for size in shape)
