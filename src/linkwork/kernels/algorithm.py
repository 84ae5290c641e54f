# SPDX-License-Identifier: BSD-3-Clause
"""The record of an algorithm: kernels, and the shapes of inputs, outputs and work arrays."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from linkwork.kernels.scalar import Array, kernel
from linkwork.plans.layout import Layout, Shape
from linkwork.plans.tree import TREE

__all__ = ["ORDER", "Algorithm", "Shape", "resolve", "viewed"]

ORDER = 8
"""Numbers by which states of a batch are put in order."""


@dataclass(frozen=True, eq=False)
class Algorithm:
    """A kernel ``kernel(tree, work, *inputs, *outputs)`` and the shapes of its arrays.

    The first input is always ``q``. Adding an algorithm is one such record; every backend follows.

    An algorithm that iterates has a second kernel, ``iteration``, with the same arguments: it reads the work arrays
    that the first has written (its own changes to them are not kept) and improves the outputs. The last input is then
    ``settings``, the tolerance and the maximum number of iterations, and the last output begins with the residual that
    is to fall below the tolerance, and the number of iterations so far.

    An algorithm whose iterations accumulate rounding errors has a third kernel, ``refinement``, in place of the second
    where iterations are about to end: in the last one that is allowed, and where the residual is at most the root of
    the tolerance, or at most the third number of ``settings``.

    With ``view``, all kernels take its result in place of inputs and outputs: named tuples whose fields
    are these arrays, or parts of them. Callers of `text` and `iterate`, which all backends run, pass flat arrays.
    """

    name: str
    kernel: Callable[..., None]
    inputs: Mapping[str, Shape]
    outputs: Mapping[str, Shape]
    work: Mapping[str, Shape]
    layout: Layout = TREE
    """Layout of the arrays of the mechanism that the kernel reads."""
    iteration: Callable[..., None] | None = None
    folded: Mapping[str, str] = field(default_factory=dict)
    """Work arrays of which native code keeps the rows of a few bodies at a time, ``"forward"`` or ``"backward"``: see
    `plans.slots`. The kernel uses them for bodies in that order, and for none after its slot was given on."""
    view: Callable[..., tuple[Any, ...]] | None = None
    """A kernel ``view(tree, *inputs, *outputs)`` that returns the arguments of the others, after ``tree, work``."""
    refinement: Callable[..., None] | None = None
    uneven: bool = False
    """Whether some states need many more iterations than others: straight-line programs then gather those that go on,
    so that lanes do not wait for one another (`compilers.entry.uneven`)."""
    traced: bool = False
    """Whether straight-line programs alone are made of it: no native code is made beforehand (`compilers.warm`)."""
    shared: tuple[str, ...] = ()
    """Work arrays that the kernels only read, as another algorithm left them for one state (a factor): native code in
    lanes applies it to one input a lane (`compilers.workspace`)."""
    integers: Mapping[str, Shape] = field(default_factory=dict)
    """Work arrays of integers, common to all lanes: lists and counts that depend on the state (`scalar.some_below`).
    Algorithms that have any are native code; they are not traced."""
    order: Callable[..., None] | None = None
    """A kernel ``order(tree, key, *inputs, *outputs)``, or of what ``view`` returns, that reads inputs and writes
    `ORDER` numbers to ``key``: native code in lanes puts states with similar keys, number by number, side by side, so
    that the states of a block need similar work (`compilers.entry.ordered`)."""
    outside: Algorithm | None = None
    """Its code from outside the package, called as by the kernel: this is checked in its place."""

    @cached_property
    def text(self) -> Callable[..., None]:
        """The kernel on flat arrays: ``text(tree, work, *inputs, *outputs)``."""
        return self.kernel if self.view is None else viewed(self.kernel, self.view)

    @cached_property
    def iterate(self) -> Callable[..., None] | None:
        """The kernel of a further iteration, on flat arrays."""
        return self.iteration if self.view is None or self.iteration is None else viewed(self.iteration, self.view)

    @cached_property
    def refine(self) -> Callable[..., None] | None:
        """The kernel of an iteration with which iterations may end, on flat arrays."""
        return self.refinement if self.view is None or self.refinement is None else viewed(self.refinement, self.view)

    @cached_property
    def arrange(self) -> Callable[..., None] | None:
        """The kernel that orders states, on flat arrays: ``arrange(tree, key, *inputs, *outputs)``."""
        order, view = self.order, self.view
        if order is None or view is None:
            return order

        @kernel
        def on_arrays(tree: Array, key: Array, *arrays: Array) -> None:
            order(tree, key, *view(tree, *arrays))

        return on_arrays

    @property
    def texts(self) -> tuple[Callable[..., None], ...]:
        """All kernels on flat arrays."""
        return tuple(text for text in (self.text, self.iterate, self.refine, self.arrange) if text is not None)

    @property
    def stored(self) -> Mapping[str, Shape]:
        """The shapes of work arrays as native code keeps them."""
        kept = {name: (f"n{self.folded[name]}", *self.work[name][1:]) for name in self.folded}
        return {**self.work, **kept}

    @cached_property
    def work_type(self) -> Any:
        """The class of named tuples that hold the work arrays."""
        return namedtuple(f"{self.name}_work", [*self.work, *self.integers])


def viewed(text: Callable[..., None], view: Callable[..., tuple[Any, ...]]) -> Callable[..., None]:
    """A kernel on flat arrays, of one on views of them."""

    @kernel
    def on_arrays(tree: Array, w: Array, *arrays: Array) -> None:
        text(tree, w, *view(tree, *arrays))

    return on_arrays


def resolve(shape: Shape, tree: Any) -> tuple[int, ...]:
    """The numbers of a shape for one tree."""
    return tuple(getattr(tree, size) if isinstance(size, str) else size for size in shape)
