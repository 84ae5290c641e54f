# SPDX-License-Identifier: BSD-3-Clause
"""Which product differentiates which: rules on tensors, for all derivatives that torch requests.

With ``f`` the function, ``J`` its Jacobian and ``H = d²(s' f)``, which is symmetric::

    product            transposed (backward, seeds u)          forward (jvp, directions dx, ds, dd)
    value  f(x)        x: vjp(x, u)                             jvp(x, dx)
    vjp    J' s        x: hvp(x, s, u)    s: jvp(x, u)          hvp(x, s, dx) + vjp(x, ds)
    jvp    J d         x: hvp(x, u, d)    d: vjp(x, u)          second(x, d, dx) + jvp(x, dd)
    hvp    H d         s: second(x, d, u) d: hvp(x, s, u)       hvp(x, ds, d) + hvp(x, s, dd)

``second(x, d, e)`` has ``e' H d`` of each number of the results: ``hvp`` with all unit seeds as a batch. There are no
third derivatives: by ``x``, `hvp` is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from linkwork.errors import UnsupportedFeature
from linkwork.torch.call import Call, Tensor, Tensors

Optional = Sequence[Tensor | None]


def _filled(tensors: Optional, like: Sequence[Tensor]) -> list[Tensor]:
    """Zeros where nothing is given."""
    return [torch.zeros_like(y) if x is None else x for x, y in zip(tensors, like, strict=True)]


def _any(tensors: Optional) -> bool:
    return any(x is not None for x in tensors)


def _zero_seeds(call: Call, tensors: Sequence[Tensor], seeds: Optional) -> list[Tensor]:
    """Zeros where nothing is given, of the shapes of results."""
    if all(s is not None for s in seeds):
        return list(seeds)
    lead, dtype = call.lead(tensors), call.dtype(tensors)
    return [
        tensors[0].new_zeros((*lead, *shape), dtype=dtype) if s is None else s
        for s, shape in zip(seeds, call.output_shapes, strict=False)
    ]


def _reduced(gradients: Sequence[Tensor], like: Sequence[Tensor]) -> list[Tensor]:
    """Gradients summed over the axes that tensors were broadcast along."""
    return [g if g.shape == x.shape else g.sum_to_size(x.shape) for g, x in zip(gradients, like, strict=True)]


def _by_inputs(call: Call, x: Sequence[Tensor], gradients: Sequence[Tensor]) -> list[Any]:
    """One gradient for each input that is given; None for those that are not differentiated by."""
    moving = dict(zip(call.by, gradients, strict=True))
    inputs = dict(zip(call.names, x, strict=True))
    return [_reduced([moving[n]], [inputs[n]])[0] if n in moving else None for n in call.names]


def backward(call: Call, tensors: Sequence[Tensor], outputs: Optional, seeds: Optional, needed: Sequence[bool]) -> Any:
    """Gradients by all tensors of a call.

    Args:
        call: The product.
        tensors: All that it takes.
        outputs: Result of `value`, where products take it.
        seeds: Gradients by its results; None: zero.
        needed: Which gradients are requested.
    """
    if not _any(seeds):
        return [None] * len(tensors)
    x, f, s, d = (list(tensors[part]) for part in call.parts)
    by_x, _, by_s, by_d = (any(needed[part]) for part in call.parts)
    results, rest = call.function.arrays.results, [None] * len(f)
    gradients: list[Any] = [None] * len(x)
    of_seeds: list[Any] = [None] * len(s)
    along: list[Any] = [None] * len(d)
    if call.kind in ("value", "jvp"):
        cotangents = [(name, u) for name, u in zip(results, seeds, strict=False) if u is not None]
        seeded, u = tuple(name for name, _ in cotangents), [u for _, u in cotangents]
        if call.kind == "value":
            kept = [y for y in outputs if y is not None]
            return _by_inputs(call, x, call.other("vjp", seeded)(*x, *kept, *u)) if cotangents else gradients
        if by_x:
            gradients = _by_inputs(call, x, call.other("hvp", seeded)(*x, *f, *u, *d))
        if by_d:
            along = _reduced(call.other("vjp", seeded)(*x, *f, *u), d)
        return [*gradients, *rest, *along]
    u = _zero_seeds(call, tensors, seeds)
    if call.kind == "vjp":
        if by_x:
            gradients = _by_inputs(call, x, call.other("hvp")(*x, *f, *s, *u))
        if by_s:
            of_seeds = _reduced(_seeded(call, call.other("jvp")(*x, *f, *u)), s)
        return [*gradients, *rest, *of_seeds]
    if by_x:
        raise _no_third(call)
    if by_s:
        of_seeds = _reduced(_seeded(call, _second(call, x, f, d, u)), s)
    if by_d:
        along = _reduced(call.other("hvp")(*x, *f, *s, *u), d)
    return [*gradients, *rest, *of_seeds, *along]


def _seeded(call: Call, rates: Sequence[Tensor]) -> list[Tensor]:
    """Of rates of all results, those of results that have seeds."""
    by_name = dict(zip(call.function.arrays.results, rates, strict=True))
    return [by_name[name] for name in call.seeded]


def forward(call: Call, tensors: Sequence[Tensor], outputs: Optional, tangents: Optional) -> list[Any]:
    """Rates of all results of a call.

    Args:
        call: The product.
        tensors: All that it takes.
        outputs: Result of `value`, where products take it.
        tangents: Directions of the tensors; None: zero.
    """
    x, f, s, d = (list(tensors[part]) for part in call.parts)
    dx, _, ds, dd = (list(tangents[part]) for part in call.parts)
    chosen = [k for k, name in enumerate(call.names) if name in call.by]
    moved = _any([dx[k] for k in chosen])
    along = _filled([dx[k] for k in chosen], [x[k] for k in chosen])
    terms: list[Tensors | list[Tensor]] = []
    if call.kind == "value":
        kept = [y for y in outputs if y is not None]
        rates = call.other("jvp")(*x, *kept, *along)
        return [*rates, *[None] * len(call.function.shapes[2])]
    if call.kind == "vjp":
        if moved:
            terms.append(call.other("hvp")(*x, *f, *s, *along))
        if _any(ds):
            terms.append(call(*x, *f, *_filled(ds, s)))
    elif call.kind == "jvp":
        if moved:
            terms.append(_second(call, x, f, d, along))
        if _any(dd):
            terms.append(call(*x, *f, *_filled(dd, d)))
    else:
        if moved:
            raise _no_third(call)
        if _any(ds):
            terms.append(call(*x, *f, *_filled(ds, s), *d))
        if _any(dd):
            terms.append(call(*x, *f, *s, *_filled(dd, d)))
    if not terms:
        return _zero_seeds(call, tensors, [None] * len(call.output_shapes))
    return [sum(parts[1:], parts[0]) for parts in zip(*terms, strict=True)]


def _second(call: Call, x: Sequence[Tensor], f: Sequence[Tensor], d: Sequence[Tensor], e: Sequence[Tensor]) -> Any:
    """``e' H d`` of each number of the results."""
    product = call.other("hvp", call.function.arrays.results)
    inputs, results, _ = call.function.shapes
    sizes = [int(torch.Size(shape).numel()) for shape in results.values()]
    lead = product.lead([*x, *f, *(d[0].new_zeros(shape) for shape in results.values()), *d])
    total, at, seeds = sum(sizes), 0, []
    for size, shape in zip(sizes, results.values(), strict=True):
        units = torch.eye(total, dtype=d[0].dtype, device=d[0].device)[:, at : at + size]
        seeds.append(units.reshape(total, *[1] * len(lead), *shape).expand(total, *lead, *shape))
        at += size
    products = product(*x, *f, *seeds, *d)
    numbers: Any = 0.0
    for name, h, direction in zip(call.by, products, e, strict=True):
        axes = len(inputs[name])
        numbers = numbers + (h * direction).flatten(-axes).sum(-1) if axes else numbers + h * direction
    moved = numbers.movedim(0, -1)
    parts = torch.split(moved, sizes, dim=-1)
    return [part.reshape(*moved.shape[:-1], *shape) for part, shape in zip(parts, results.values(), strict=True)]


def _no_third(call: Call) -> UnsupportedFeature:
    evaluator = call.function.evaluator
    return UnsupportedFeature(f"{evaluator.quantity} of '{evaluator.robot.name}' has no third derivatives")
