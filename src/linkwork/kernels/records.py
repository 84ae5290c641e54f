# SPDX-License-Identifier: BSD-3-Clause
"""Records whose fields are arrays or parts of arrays: how the flat inputs and outputs of an algorithm get names.

The fields of a named tuple, in order, take arrays one after the other. A field annotated with a shape is a part of an
array, and fields with shapes that follow it are further parts of the same array::

    class Result(NamedTuple):
        a: Array                                      an array
        progress: Annotated[Array, (1,)]              the first number of the next array
        multipliers: Annotated[Array, ("nc",)]        tree.nc numbers after it

A field that is a record takes the arrays of its fields; a field with a default takes none. An `Entry` is one number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, NamedTuple, get_type_hints

from linkwork.kernels.scalar import Array, kernel
from linkwork.plans.layout import Shape

Entry = Annotated[Any, ()]
"""A field that is one number of an array."""


class Place(NamedTuple):
    """Where a field is: a whole array, or a part of one."""

    array: int
    """The number of the array."""
    start: tuple[tuple[int, str], ...] = ()
    """The first entry of a part: a sum of multiples of sizes, of 1 where the name is empty."""
    length: tuple[int, str] | None = None
    """Entries of a part, as a multiple of a size; None of a whole array."""
    is_entry: bool = False


class Places(NamedTuple):
    """A record and where its fields are."""

    record: type
    fields: tuple[Any, ...]
    """A `Place`, `Places` of a record, or the default of each field."""


@cache
def places_of(items: tuple[Any, ...]) -> tuple[Any, ...]:
    """Where the fields of records are in the arrays that they take, one array after the other.

    Args:
        items: Records; among them `Array` takes one array, `Entry` its first number, and None passes one over.
    """
    result, array = list[Any](), 0
    for item in items:
        if hasattr(item, "_fields"):
            places, array = _places(item, array)
            result.append(places)
        else:
            if item is not None:
                result.append(Place(array, (), (1, ""), True) if item == Entry else Place(array))
            array += 1
    return tuple(result)


def _places(record: type, array: int) -> tuple[Places, int]:
    hints = get_type_hints(record, include_extras=True)
    defaults: Mapping[str, Any] = record._field_defaults  # type: ignore[attr-defined]
    fields: list[Any] = []
    start: dict[str, int] | None = None  # of the next part, while fields are parts of one array
    for name, hint in hints.items():
        shape: Shape | None = hint.__metadata__[0] if hasattr(hint, "__metadata__") else None
        if name in defaults:
            fields.append(defaults[name])
            continue
        if shape is None and start is not None:
            array, start = array + 1, None
        if shape is not None:
            start = {} if start is None else start
            length = _length(shape)
            fields.append(Place(array, tuple((k, size) for size, k in start.items()), length, shape == ()))
            start[length[1]] = start.get(length[1], 0) + length[0]
        elif hasattr(hint, "_fields"):
            places, array = _places(hint, array)
            fields.append(places)
        else:
            fields.append(Place(array))
            array += 1
    return Places(record, tuple(fields)), array + (start is not None)


def _length(shape: Shape) -> tuple[int, str]:
    """The entries of a shape, as a multiple of its one named size."""
    factor, name = 1, ""
    for size in shape:
        if isinstance(size, int):
            factor *= size
        else:
            assert not name, f"a part of an array has one named size, not {shape}"
            name = size
    return factor, name


def view_records(tree: Array, arrays: tuple[Array, ...], items: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arrays as fields of records, for kernel code; it costs nothing. See `places_of`."""

    def value(field: Any) -> Any:
        if isinstance(field, Places):
            return field.record(*map(value, field.fields))
        if not isinstance(field, Place):
            return field
        if field.length is None:
            return arrays[field.array]
        start, end = _total(tree, field.start), _total(tree, (*field.start, field.length))
        return arrays[field.array][start if field.is_entry else slice(start, end)]

    return tuple(map(value, places_of(items)))


def _total(tree: Array, terms: tuple[tuple[int, str], ...]) -> int:
    return sum(k * (getattr(tree, size) if size else 1) for k, size in terms)


def view_of(*items: Any) -> Callable[..., tuple[Any, ...]]:
    """An `Algorithm.view`, which returns records; see `places_of`."""

    @kernel
    def view(tree: Array, *arrays: Array) -> tuple[Any, ...]:
        return view_records(tree, arrays, items)

    return view
