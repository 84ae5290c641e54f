# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives in eager mode: `torch.autograd`, forward mode, and the transforms of `torch.func`.

There are two classes for one rule: torch binds the arguments of those that transforms can use by `inspect`, which takes
longer than the dynamics of an arm. The other one is taken where no transform is active.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.autograd import forward_ad

from linkwork.torch import derivatives
from linkwork.torch.call import PLAIN, Call, Tensor, Tensors

_transforms_active = torch._C._are_functorch_transforms_active
_grad_enabled = torch.is_grad_enabled


def apply(call: Call, tensors: Sequence[Tensor]) -> Tensors:
    """A product with tensors, by whichever way torch needs it now.

    Args:
        call: The product.
        tensors: All that it takes.
    """
    for x in tensors:
        if type(x) not in PLAIN:  # fake tensors and other classes
            call.check_class(tensors)
            from linkwork.torch.operator import through_operator

            return through_operator(call, tensors)
    if _transforms_active():
        found: Tensors = TransformedCall.apply(call, *tensors)
        return found
    if forward_ad._current_level >= 0:
        return _eager(call, *tensors)
    if _grad_enabled():
        for x in tensors:
            if x.requires_grad:
                return _eager(call, *tensors)
    return call.run(tensors)


class _Rules(torch.autograd.Function):
    """What both classes share."""

    @staticmethod
    def _keep(ctx: Any, call: Call, tensors: Sequence[Tensor], outputs: Tensors) -> None:
        ctx.call, ctx.count = call, len(tensors)
        ctx.set_materialize_grads(False)
        kept = outputs if call.kind == "value" and call.function.takes_outputs else ()
        ctx.save_for_backward(*tensors, *kept)
        if forward_ad._current_level >= 0:
            ctx.save_for_forward(*tensors, *kept)
        if call.kind == "value":
            further = outputs[len(call.function.shapes[1]) :]
            if further:
                ctx.mark_non_differentiable(*further)

    @staticmethod
    def backward(ctx: Any, *seeds: Tensor | None) -> Any:
        """Gradients by the tensors of the call."""
        saved, needed = ctx.saved_tensors, ctx.needs_input_grad[1:]
        found = derivatives.backward(ctx.call, saved[: ctx.count], saved[ctx.count :], seeds, needed)
        return (None, *found)

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> Any:
        """Rates of the results of the call."""
        saved = ctx.saved_tensors
        found = derivatives.forward(ctx.call, saved[: ctx.count], saved[ctx.count :], tangents[1:])
        return tuple(found)


class EagerCall(_Rules):
    """A call where no transform of `torch.func` is active."""

    @staticmethod
    def forward(ctx: Any, call: Call, *tensors: Tensor) -> Tensors:
        """Compute, and keep what derivatives need."""
        outputs = call.run(tensors)
        _Rules._keep(ctx, call, tensors, outputs)
        return outputs


_eager: Any = super(torch.autograd.Function, EagerCall).apply
"""`EagerCall.apply` without the search for transforms, which `apply` has done."""


class TransformedCall(_Rules):
    """A call within transforms of `torch.func`."""

    @staticmethod
    def forward(call: Call, *tensors: Tensor) -> Tensors:
        """Compute."""
        return call.run(tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensors) -> None:
        """Keep what derivatives need."""
        _Rules._keep(ctx, inputs[0], inputs[1:], output)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], call: Call, *tensors: Tensor) -> Any:
        """One more batch axis, which evaluators have anyway."""
        outputs = apply(call, aligned(call, tensors, in_dims[1:]))
        return outputs, (0,) * len(outputs)


def aligned(call: Call, tensors: Sequence[Tensor], dims: Sequence[int | None]) -> list[Tensor]:
    """Tensors with the mapped axis in front of all other batch axes.

    Args:
        call: The product.
        tensors: All that it takes.
        dims: The mapped axis of each; None: it has none.
    """
    ranks = [x.dim() - (dim is not None) - len(s) for x, dim, s in zip(tensors, dims, call.input_shapes, strict=True)]
    most, found = max(ranks), []
    for x, dim, rank in zip(tensors, dims, ranks, strict=True):
        if dim is None:
            found.append(x)
            continue
        front = x.movedim(dim, 0)
        found.append(front.reshape(front.shape[0], *[1] * (most - rank), *front.shape[1:]))
    return found
