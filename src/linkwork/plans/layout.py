# SPDX-License-Identifier: BSD-3-Clause
"""Layouts of plans: named integers and arrays of a mechanism, in an order that compiled code relies on."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Shape = tuple[str | int, ...]
"""Sizes of one array; names are sizes of the layout."""

Integers = npt.NDArray[np.int64]


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
        """A layout with further entries, under a name of its own."""
        names = (*self.sizes, *self.shapes)
        twice = [entry for entry in (*sizes, *integers, *floats) if entry in names]
        if twice:
            raise ValueError(f"layout '{name}' has entries of '{self.name}' again: {', '.join(twice)}")
        return Layout(name, self.sizes + sizes, {**self.integers, **integers}, {**self.floats, **floats})

    def build(self, base: Any = None, **values: Any) -> Any:
        """The named tuple of this layout.

        Args:
            base: Named tuple of a layout that this one extends; its fields are taken over.
            values: New fields, or fields that replace those of ``base``. Sequences become arrays of the declared type
                and shape; sizes that are the length of a given array need not be given.
        """
        fields = ({} if base is None else base._asdict()) | values
        for name, shape in self.shapes.items():
            if name in values:
                dtype = np.int64 if name in self.integers else np.float64
                rest = [fields[size] if isinstance(size, str) else size for size in shape[1:]]
                array = np.array(values[name], dtype=dtype)
                fields[name] = array.reshape(-1 if all(rest) else len(array), *rest)
                if isinstance(shape[0], str) and shape[0] not in values:
                    fields[shape[0]] = len(fields[name])
        for name, shape in self.shapes.items():
            needed = tuple(fields[size] if isinstance(size, str) else size for size in shape)
            if fields[name].shape != needed:
                raise ValueError(f"array '{name}' of layout '{self.name}' has shape {fields[name].shape}, not {needed}")
        return self.type(**fields)


@dataclass(frozen=True)
class Ragged:
    """Lists of different lengths in one: entries ``[start[k] : start[k] + count[k]]`` are those of list k."""

    start: Integers
    count: Integers
    entries: Integers


def ragged(lists: Iterable[Sequence[int]]) -> Ragged:
    """These lists in one."""
    rows = list(lists)
    counts = np.array([len(entries) for entries in rows], dtype=np.int64)
    starts = np.cumsum(counts) - counts
    return Ragged(starts, counts, np.array([k for entries in rows for k in entries], dtype=np.int64))
