# SPDX-License-Identifier: BSD-3-Clause
"""Types of arrays as JAX traces them: batch axes, and axes of a device mesh that arrays vary along (`shard_map`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec

Array = Any
Shape = tuple[int, ...]


def type_of(x: Array) -> Any:
    """The type of an array, with all that JAX knows of it."""
    return jax.typeof(x) if hasattr(jax, "typeof") else jax.core.get_aval(x)


def varying_axes(kind: Any) -> frozenset[Any]:
    """Axes of the device mesh along which arrays of a type vary, inside `shard_map`."""
    axes = getattr(kind, "vma", None) or getattr(getattr(kind, "manual_axis_type", None), "varying", None)
    return frozenset(axes or ())


def result_type(shape: Shape, dtype: Any, operands: Sequence[Any]) -> Any:
    """The type of a result of operands of these types: it varies along the axes that they vary along."""
    widest = max(operands, key=lambda kind: len(varying_axes(kind)), default=None)
    if widest is None or not varying_axes(widest):
        return jax.core.ShapedArray(shape, jnp.dtype(dtype))
    sharding = NamedSharding(widest.sharding.mesh, PartitionSpec(*[None] * len(shape)))
    return widest.update(shape=shape, dtype=jnp.dtype(dtype), weak_type=False, sharding=sharding)


def vary_alike(arrays: Sequence[Array]) -> list[Array]:
    """Arrays that all vary along the axes of a device mesh that one of them varies along."""
    axes = [varying_axes(type_of(x)) for x in arrays]
    union = frozenset[Any]().union(*axes)
    return [_varied(x, tuple(sorted(union - own))) if own != union else x for x, own in zip(arrays, axes, strict=True)]


def _varied(x: Array, axes: tuple[Any, ...]) -> Array:
    return jax.lax.pcast(x, axes, to="varying") if hasattr(jax.lax, "pcast") else jax.lax.pvary(x, axes)


def common_lead(what: str, shapes: Sequence[Shape], own: Sequence[Shape]) -> Shape:
    """Batch axes of a call: all arrays that have any have the same.

    Args:
        what: The function, for messages.
        shapes: Shapes of arrays.
        own: Shapes of one state's arrays.
    """
    leads = {shape[: len(shape) - len(one)] for shape, one in zip(shapes, own, strict=True)} - {()}
    if len(leads) > 1:
        raise TypeError(f"{what}: batch axes differ: {sorted(leads)}")
    return leads.pop() if leads else ()


def batch_axes(arrays: Sequence[Array], axes: Sequence[Any], shapes: Sequence[Shape]) -> list[Array]:
    """Arrays of a mapped call with the mapped axis in front, broadcast where batch axes would differ.

    Args:
        arrays: Arguments of the call.
        axes: Their mapped axes, None for those without.
        shapes: Shapes of one state's arguments.
    """
    size = next(x.shape[d] for x, d in zip(arrays, axes, strict=True) if d is not None)
    inner = [x.ndim - (d is not None) - len(own) for x, d, own in zip(arrays, axes, shapes, strict=True)]
    depth = max(inner)
    lead: Shape = ()
    for x, d, own, n in zip(arrays, axes, shapes, inner, strict=True):
        if n == depth and depth:
            shape = [size for axis, size in enumerate(x.shape) if axis != d]
            lead = tuple(shape[: len(shape) - len(own)])
    moved = []
    for x, d, own, n in zip(arrays, axes, shapes, inner, strict=True):
        if d is not None:
            x = jnp.moveaxis(x, d, 0)
            if n < depth:
                x = jnp.broadcast_to(x.reshape((size, *[1] * depth, *own)), (size, *lead, *own))
        elif n:
            x = jnp.broadcast_to(x, (size, *x.shape))
        moved.append(x)
    return moved
