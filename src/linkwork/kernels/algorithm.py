"""What an algorithm is to the rest of the package: kernel text and the shapes of what it reads, writes, works on."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from linkwork.plans.layout import Layout, Shape
from linkwork.plans.tree import TREE

__all__ = ["Algorithm", "Shape", "resolve"]


@dataclass(frozen=True, eq=False)
class Algorithm:
    """Kernel text ``text(tree, work, *inputs, *outputs)`` and its arrays.

    The first input is always ``q``. Adding an algorithm is one such record; every way of running it follows.

    An algorithm that iterates has a second text, ``again``, with the same arguments: it finds the work arrays as the
    first text left them (what it changes in them is lost) and improves the outputs. The last input is then
    ``settings``, a tolerance and the most iterations, and the last output begins with what is to fall below the
    tolerance, and the iterations so far.
    """

    name: str
    text: Callable[..., None]
    inputs: Mapping[str, Shape]
    outputs: Mapping[str, Shape]
    work: Mapping[str, Shape]
    layout: Layout = TREE
    """What the text reads of the mechanism."""
    iterate: Callable[..., None] | None = None
    folded: Mapping[str, str] = field(default_factory=dict)
    """Work arrays of which native code keeps the rows of a few bodies at a time, ``"forward"`` or ``"backward"``: see
    `plans.slots`. The text uses them for bodies in that order, and for none after its slot was given on."""

    @property
    def stored(self) -> Mapping[str, Shape]:
        """The shapes of work arrays as native code keeps them."""
        kept = {name: (f"n{self.folded[name]}", *self.work[name][1:]) for name in self.folded}
        return {**self.work, **kept}

    def work_type(self) -> Any:
        """The named tuple that holds the work arrays."""
        return namedtuple(f"{self.name}_work", list(self.work))


def resolve(shape: Shape, tree: Any) -> tuple[int, ...]:
    """The numbers of a shape for one tree."""
    return tuple(getattr(tree, size) if isinstance(size, str) else size for size in shape)
