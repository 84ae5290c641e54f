"""What Numba must know of kernel text: the scalar functions, arrays at addresses, and tables of arrays.

A table stands for the named tuples `Tree` and work: one address, from which an attribute is an array view made where
it is used. Passing the named tuples themselves would pass some 300 arguments at every call.

Imported only when something must be compiled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.datamodel import models
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import intrinsic, overload, register_jitable, register_model
from numba.np.arrayobj import make_array, populate_array

from linkwork.compile import sincos as polynomial
from linkwork.scalar import KERNELS, fma, rint, sincos, sqrt, where

Field = tuple[int, tuple[str | int, ...], bool]
"""Place in the table, shape (empty: the place holds the number itself), integers or not."""


_WORD = ir.IntType(64)


class Table(types.Type):
    """The type of a table of arrays."""

    def __init__(self, name: str, fields: Mapping[str, Field], sizes: Mapping[str, int]) -> None:
        super().__init__(name=f"Table({name})")
        self.fields = fields
        self.sizes = sizes


@register_model(Table)
class TableModel(models.PrimitiveModel):
    """A table is its address."""

    def __init__(self, manager: Any, table: Table) -> None:
        super().__init__(manager, table, ir.IntType(64))


@infer_getattr
class TableAttribute(AttributeTemplate):
    """The types of a table's attributes."""

    key = Table

    def generic_resolve(self, table: Table, name: str) -> Any:
        """An array of the field's dimension, or a number."""
        if name not in table.fields:
            return None
        _, shape, integers = table.fields[name]
        kind = types.int64 if integers else types.float64
        return types.Array(kind, len(shape), "C") if shape else types.int64


def _view(context: Any, builder: Any, kind: Any, address: Any, extents: list[Any]) -> Any:
    """A C-ordered array of 8-byte numbers at an address, which it does not own."""
    strides = [_WORD(8)]
    for extent in reversed(extents[1:]):
        strides.insert(0, builder.mul(strides[0], extent))
    array = make_array(kind)(context, builder)
    data = builder.inttoptr(address, context.get_data_type(kind.dtype).as_pointer())
    populate_array(array, data=data, shape=extents, strides=strides, itemsize=_WORD(8), meminfo=None)
    return array._getvalue()


@lower_getattr_generic(Table)
def get_attribute(context: Any, builder: Any, table: Table, value: Any, name: str) -> Any:
    """A number of the table, or the array whose address it holds."""
    base = builder.inttoptr(value, _WORD.as_pointer())

    def entry(k: int) -> Any:
        return builder.load(builder.gep(base, [_WORD(k)]))

    place, shape, integers = table.fields[name]
    if not shape:
        return entry(place)
    kind = types.Array(types.int64 if integers else types.float64, len(shape), "C")
    extents = [_WORD(size) if isinstance(size, int) else entry(table.sizes[size]) for size in shape]
    return _view(context, builder, kind, entry(place), extents)


def opener(name: str, fields: Mapping[str, Field], sizes: Mapping[str, int]) -> Callable[..., Any]:
    """A function for jitted code that takes an address as a table."""
    table = Table(name, fields, sizes)

    @intrinsic
    def open_table(typing: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return arguments[0]

        return table(types.intp), generate

    return open_table


def _at_address(number: Any) -> Callable[..., Any]:
    @intrinsic
    def view(typing: Any, address: Any, shape: Any) -> Any:
        kind = types.Array(number, len(shape), "C")

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            extents = [builder.extract_value(arguments[1], k) for k in range(len(shape))]
            return _view(context, builder, kind, arguments[0], extents)

        return kind(types.intp, types.UniTuple(types.intp, len(shape))), generate

    return view


ints = _at_address(types.int64)
floats = _at_address(types.float64)


@intrinsic
def _fused(typing: Any, a: Any, b: Any, c: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), generate


_taught: set[Callable[..., Any]] = set()


def teach() -> None:
    """Tell Numba which functions are kernels (modules may have come since) and what the scalar functions are."""
    for function in KERNELS:
        if function not in _taught:
            _taught.add(function)
            register_jitable(no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)
    _teach_scalars()


@cache
def _teach_scalars() -> None:
    double, limit, text = polynomial.DOUBLE, polynomial.LIMIT, polynomial.sincos_text

    @overload(fma, strict=False)
    def _fma(a: Any, b: Any, c: Any) -> Any:
        return lambda a, b, c: _fused(a, b, c)

    @overload(rint, strict=False)
    def _rint(x: Any) -> Any:
        return lambda x: np.rint(x)

    @overload(sqrt, strict=False)
    def _sqrt(x: Any) -> Any:
        return lambda x: math.sqrt(x)

    @overload(where, strict=False)
    def _where(below: Any, bound: Any, then: Any, otherwise: Any) -> Any:
        return lambda below, bound, then, otherwise: then if below < bound else otherwise

    @overload(sincos, strict=False)
    def _sincos(x: Any) -> Any:
        def choose(x: Any) -> Any:
            if abs(x) <= limit:
                return text(x, double)
            return math.sin(x), math.cos(x)

        return choose
