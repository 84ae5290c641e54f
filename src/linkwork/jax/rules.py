# SPDX-License-Identifier: BSD-3-Clause
"""Rules of differentiation: one primitive for a function and its products, which are linear in what they should be.

| kind    | operands                                | results                                                       |
|---------|-----------------------------------------|---------------------------------------------------------------|
| `VALUE` | inputs                                  | results of the function, and what its derivatives need (outs)  |
| `SOLUTION` | inputs                               | the same where derivatives are taken: iterations end later      |
| `JVP`   | inputs, outs, directions                | ``J d``; its transpose is `VJP`                                 |
| `VJP`   | inputs, outs, seeds                     | ``J' y``; its transpose is `JVP`                                |
| `FIRST_VJP` | inputs, outs, a seed of the first result | the same, other seeds zero: of accelerations alone          |
| `HVP`   | inputs, outs, seeds, directions         | ``d(J' y)`` along ``d``; symmetric: its own transpose in ``d``   |
| `JVP2`  | inputs, outs, two directions            | ``d(J d)`` along the other; its transposes are `HVP`             |

So `grad`, `jvp`, `jacfwd`, `jacrev`, `linearize` and their combinations follow, and `vmap` of all of them is one
batched call. Outs are functions of the inputs: rules take derivatives by inputs alone. Directions and gradients have
the shapes of inputs, and of results (`tangent_space`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from functools import cache, partial
from typing import Any, Protocol

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from linkwork.errors import UnsupportedFeature
from linkwork.jax.array_types import batch_axes, common_lead, result_type, type_of
from linkwork.jax.tangent_space import TangentSpace

Array = Any
Arrays = Sequence[Any]
Shape = tuple[int, ...]


class Source(Protocol):
    """A function of arrays with leading batch axes, and its products in tangent spaces."""

    what: str
    """Name of its quantity, for messages."""
    dtype: str
    shapes: dict[str, Shape]
    """Shapes of one state's inputs, by name."""
    by: tuple[str, ...]
    """Inputs to differentiate by."""
    results: dict[str, Shape]
    """Shapes of one state's results."""
    further: list[Shape]
    """Shapes of further arrays that derivatives need."""
    curved: tuple[str, ...]
    """Inputs that are configurations."""
    curved_results: tuple[str, ...]
    """Results that are configurations."""
    space: TangentSpace

    def value(self, x: dict[str, Array], differentiated: bool = False) -> list[Array]:
        """Results, and further arrays that derivatives need. ``differentiated``: derivatives are taken there."""

    def forward(self, x: dict[str, Array], outs: Arrays, d: dict[str, Array]) -> list[Array]:
        """Rates of results."""

    def reverse(self, x: dict[str, Array], outs: Arrays, y: Arrays, first: bool = False) -> dict[str, Array]:
        """Gradients by inputs. ``first``: seeds of all results but the first are zero."""

    def second(self, x: dict[str, Array], outs: Arrays, y: Arrays, d: dict[str, Array]) -> dict[str, Array]:
        """Rates of gradients along a direction."""


class Kind(Enum):
    """The computed quantity of a function: its value, or one of its products."""

    VALUE = "value"
    SOLUTION = "value, where derivatives are taken"
    JVP = "jvp"
    VJP = "vjp"
    FIRST_VJP = "vjp of the first result"
    HVP = "hvp"
    JVP2 = "second jvp"


VALUE, SOLUTION, JVP, VJP, FIRST_VJP, HVP, JVP2 = Kind
VALUES = VALUE, SOLUTION


# Operands -----------------------------------------------------------------------------------------------------------


def _operand_shapes(source: Source, kind: Kind) -> list[list[Shape]]:
    """Shapes of one state's operands, by groups: inputs, outs, and further ones of the kind."""
    inputs, outs = list(source.shapes.values()), [*source.results.values(), *source.further]
    seeds, directions = list(source.results.values()), [source.shapes[name] for name in source.by]
    besides = {JVP: [directions], HVP: [seeds, directions], JVP2: [directions, directions]}
    besides |= {VJP: [seeds], FIRST_VJP: [seeds[:1]]}
    return [inputs] if kind in VALUES else [inputs, outs, *besides[kind]]


def _result_shapes(source: Source, kind: Kind) -> list[Shape]:
    if kind in VALUES:
        return [*source.results.values(), *source.further]
    if kind in (JVP, JVP2):
        return list(source.results.values())
    return [source.shapes[name] for name in source.by]


def _groups(source: Source, kind: Kind, operands: Arrays) -> list[list[Any]]:
    groups, start = [], 0
    for shapes in _operand_shapes(source, kind):
        groups.append(list(operands[start : start + len(shapes)]))
        start += len(shapes)
    return groups


def _spread(source: Source, kind: Kind, operands: Arrays) -> list[list[Any]]:
    """Groups of operands that all have batch axes, where one has."""
    lead = _lead(source, kind, [x.shape for x in operands])
    own = [shape for group in _operand_shapes(source, kind) for shape in group]
    return _groups(source, kind, [jnp.broadcast_to(x, (*lead, *one)) for x, one in zip(operands, own, strict=True)])


# Results --------------------------------------------------------------------------------------------------------


def _computed(*operands: Array, source: Source, kind: Kind) -> list[Array]:
    groups = _groups(source, kind, operands)
    x = dict(zip(source.shapes, groups[0], strict=True))
    if kind in VALUES:
        values = source.value(x, kind is SOLUTION)
    elif kind is JVP:
        values = _forward(source, x, groups[1], groups[2])
    elif kind is VJP:
        values = _reverse(source, x, groups[1], groups[2])
    elif kind is FIRST_VJP:
        values = _reverse(source, x, groups[1], _with_zeros(source, groups[2]), first=True)
    elif kind is HVP:
        groups = _spread(source, kind, operands)
        x = dict(zip(source.shapes, groups[0], strict=True))
        values = _second(source, x, groups[1], groups[2], groups[3])
    else:
        values = _second_forward(source, groups)
    lead = _lead(source, kind, [y.shape for y in operands])
    shapes = _result_shapes(source, kind)
    return [jnp.broadcast_to(y, (*lead, *own)) for y, own in zip(values, shapes, strict=True)]


def _tangents(source: Source, x: dict[str, Array], directions: Arrays) -> dict[str, Array]:
    """Directions in tangent spaces."""
    space, curved = source.space, source.curved
    return {n: space.velocities(x[n], d) if n in curved else d for n, d in zip(source.by, directions, strict=True)}


def _seeds(source: Source, outs: Arrays, seeds: Arrays) -> list[Array]:
    """Seeds in tangent spaces."""
    space, curved = source.space, source.curved_results
    named = zip(source.results, outs, seeds, strict=False)
    return [space.velocities(z, y, dual=True) if name in curved else y for name, z, y in named]


def _gradients(source: Source, x: dict[str, Array], products: dict[str, Array]) -> list[Array]:
    """Gradients by coordinates."""
    space, curved = source.space, source.curved
    return [space.rates(x[n], products[n], dual=True) if n in curved else products[n] for n in source.by]


def _rates(source: Source, outs: Arrays, rates: Arrays) -> list[Array]:
    """Rates of coordinates of results."""
    space, curved = source.space, source.curved_results
    named = zip(source.results, outs, rates, strict=False)
    return [space.rates(z, d) if name in curved else d for name, z, d in named]


def _forward(source: Source, x: dict[str, Array], outs: Arrays, directions: Arrays) -> list[Array]:
    return _rates(source, outs, source.forward(x, outs, _tangents(source, x, directions)))


def _reverse(source: Source, x: dict[str, Array], outs: Arrays, seeds: Arrays, first: bool = False) -> list[Array]:
    return _gradients(source, x, source.reverse(x, outs, _seeds(source, outs, seeds), first))


def _with_zeros(source: Source, seeds: Arrays) -> list[Array]:
    """Seeds of the first result, and zeros for the others."""
    (first, *others), (y,) = source.results.values(), seeds
    lead = y.shape[: y.ndim - len(first)]
    return [y, *(jnp.zeros((*lead, *shape), y.dtype) for shape in others)]


def _second(source: Source, x: dict[str, Array], outs: Arrays, seeds: Arrays, directions: Arrays) -> list[Array]:
    """The derivative of `_reverse`: of gradients in tangent space, and of the maps around them, which move as well."""
    along = _tangents(source, x, directions)
    y = _seeds(source, outs, seeds)
    products = source.second(x, outs, y, along)
    if source.curved_results and not source.space.flat:
        rates = _rates(source, outs, source.forward(x, outs, along))
        count = len(rates)
        _, moved = jax.jvp(lambda *z: _seeds(source, z, seeds), tuple(outs[:count]), tuple(rates))
        more = source.reverse(x, outs, moved)
        products = {name: products[name] + more[name] for name in source.by}
    gradients = _gradients(source, x, products)
    if not source.space.flat and any(name in source.curved for name in source.by):
        held = source.reverse(x, outs, y)
        for k, name in enumerate(source.by):
            if name in source.curved:
                turned = partial(source.space.rates, v=held[name], dual=True)
                gradients[k] = gradients[k] + jax.jvp(turned, (x[name],), (directions[k],))[1]
    return gradients


def _second_forward(source: Source, groups: Sequence[list[Any]]) -> list[Array]:
    """Second directional derivatives of all results, from `_second` with unit seeds."""
    inputs, outs, first, other = groups
    sizes = [math.prod(shape) for shape in source.results.values()]
    units = jnp.eye(sum(sizes), dtype=source.dtype)
    edges = [sum(sizes[:k]) for k in range(len(sizes) + 1)]
    shapes = list(source.results.values())
    lead = _lead(source, JVP2, [x.shape for group in groups for x in group])

    def component(unit: Array) -> Array:
        seeds = [unit[a:b].reshape(own) for a, b, own in zip(edges, edges[1:], shapes, strict=False)]
        products = function_p.bind(*inputs, *outs, *seeds, *other, source=source, kind=HVP)
        axes = [tuple(range(-len(source.shapes[name]), 0)) for name in source.by]
        return sum(jnp.sum(g * d, axis) for g, d, axis in zip(products, first, axes, strict=True))

    columns = jnp.moveaxis(jnp.broadcast_to(jax.vmap(component)(units), (len(units), *lead)), 0, -1)
    return [columns[..., a:b].reshape((*lead, *own)) for a, b, own in zip(edges, edges[1:], shapes, strict=False)]


# The primitive ------------------------------------------------------------------------------------------------------

function_p = Primitive("linkwork")
"""A function or one of its products: parameters ``source`` and ``kind``."""
function_p.multiple_results = True


@cache
def _eager(source: Any, kind: Kind) -> Any:
    """The call outside of `jit`."""
    return jax.jit(partial(function_p.bind, source=source, kind=kind))


@function_p.def_impl
def _evaluate(*operands: Array, source: Any, kind: Kind) -> Any:
    return _eager(source, kind)(*operands)


def _lead(source: Source, kind: Kind, shapes: Sequence[Shape]) -> Shape:
    """Batch axes of a call: all operands that have any have the same."""
    own = [shape for group in _operand_shapes(source, kind) for shape in group]
    return common_lead(source.what, shapes, own)


@function_p.def_abstract_eval
def _shapes(*operands: Any, source: Source, kind: Kind) -> list[Any]:
    lead = _lead(source, kind, [x.shape for x in operands])
    return [result_type((*lead, *shape), source.dtype, operands) for shape in _result_shapes(source, kind)]


mlir.register_lowering(function_p, mlir.lower_fun(_computed, multiple_results=True))


def _batched(operands: Arrays, axes: Sequence[Any], *, source: Source, kind: Kind) -> tuple[list[Array], list[int]]:
    own = [shape for group in _operand_shapes(source, kind) for shape in group]
    moved = batch_axes(operands, axes, own)
    results = function_p.bind(*moved, source=source, kind=kind)
    return results, [0] * len(results)


batching.primitive_batchers[function_p] = _batched


# Derivatives --------------------------------------------------------------------------------------------------------


def _is_zero(tangents: Arrays) -> bool:
    return all(type(t) is ad.Zero for t in tangents)


def _full(tangents: Arrays) -> list[Array]:
    return [ad.instantiate_zeros(t) for t in tangents]


def _differentiated(primals: Arrays, tangents: Arrays, *, source: Source, kind: Kind) -> tuple[list[Array], list[Any]]:
    """The function of a kind and its derivative along tangents of its operands."""
    bind = partial(function_p.bind, source=source)
    outs = bind(*primals, kind=SOLUTION if kind is VALUE else kind)
    groups, rates = _groups(source, kind, primals), _groups(source, kind, tangents)
    names = list(source.shapes)
    along = [rates[0][names.index(name)] for name in source.by]
    moves = not _is_zero(along)
    if kind in VALUES:
        zeros = [ad.Zero(type_of(y)) for y in outs]
        if not moves:
            return outs, zeros
        forward = bind(*primals, *outs, *_full(along), kind=JVP)
        return outs, [*forward, *zeros[len(forward) :]]
    state = [*groups[0], *groups[1]]
    terms = []
    for k in range(2, len(groups)):
        if not _is_zero(rates[k]):
            besides = [_full(rates[j]) if j == k else groups[j] for j in range(2, len(groups))]
            terms.append(bind(*state, *(x for group in besides for x in group), kind=kind))
    if moves:
        if kind in (HVP, JVP2):
            raise UnsupportedFeature(f"{source.what} has first and second derivatives, not third ones")
        higher = JVP2 if kind is JVP else HVP
        besides = _with_zeros(source, groups[2]) if kind is FIRST_VJP else groups[2]
        terms.append(bind(*state, *besides, *_full(along), kind=higher))
    if not terms:
        return outs, [ad.Zero(type_of(y)) for y in outs]
    return outs, [sum(parts[1:], parts[0]) for parts in zip(*terms, strict=True)]


ad.primitive_jvps[function_p] = _differentiated


def _transposed(cotangents: Arrays, *operands: Any, source: Source, kind: Kind) -> list[Any]:
    """Cotangents of the operands that a product is linear in."""
    groups = _groups(source, kind, operands)
    linear = [any(ad.is_undefined_primal(x) for x in group) for group in groups]
    wanted = [k for k, one in enumerate(linear) if one]
    if kind in VALUES or len(wanted) != 1 or wanted[0] < 2:
        raise UnsupportedFeature(f"{source.what} is not linear in these inputs: it has no transpose by them")
    at, state = wanted[0], [*groups[0], *groups[1]]
    bind = partial(function_p.bind, *state, source=source)
    ct = _full(cotangents)
    if kind is JVP:
        first = len(ct) > 1 and _is_zero(cotangents[1:])
        products = bind(ct[0], kind=FIRST_VJP) if first else bind(*ct, kind=VJP)
    elif kind in (VJP, FIRST_VJP):
        products = bind(*ct, kind=JVP)[: len(groups[2])]
    elif kind is JVP2:
        products = bind(*ct, *groups[5 - at], kind=HVP)
    elif at == 3:
        products = bind(*groups[2], *ct, kind=HVP)
    else:
        products = bind(*groups[3], *ct, kind=JVP2)
    gradients: list[Any] = []
    for k, group in enumerate(groups):
        gradients += [
            _summed(g, x.aval) if k == at and ad.is_undefined_primal(x) else None
            for g, x in zip(products if k == at else [None] * len(group), group, strict=True)
        ]
    return gradients


def _summed(gradient: Array, aval: Any) -> Array:
    """The gradient by an operand that all states share."""
    axes = tuple(range(gradient.ndim - len(aval.shape)))
    return jnp.sum(gradient, axes) if axes else gradient


ad.primitive_transposes[function_p] = _transposed
