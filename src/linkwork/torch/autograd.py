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
from linkwork.torch.call import Call, Tensor, Tensors, aligned

_transforms_active = torch._C._are_functorch_transforms_active
_grad_enabled = torch.is_grad_enabled


def apply(call: Call, tensors: Sequence[Tensor]) -> Tensors:
    """A product with tensors that have memory of their own, or are wrapped by transforms of `torch.func`.

    Args:
        call: The product.
        tensors: All that it takes.
    """
    if _transforms_active():
        outputs: Tensors = TransformedCall.apply(call, *tensors)
        return outputs
    if forward_ad._current_level >= 0:
        return tracked(call, tensors)
    if _grad_enabled():
        for x in tensors:
            if x.requires_grad:
                return tracked(call, tensors)
    return call.run(tensors)


def tracked(call: Call, tensors: Sequence[Tensor]) -> Tensors:
    """A product that may be differentiated, where no transform is active.

    Args:
        call: The product.
        tensors: All that it takes.
    """
    outputs: Tensors = _eager(call, *tensors)
    return outputs


class _Rules(torch.autograd.Function):
    """The base of both classes."""

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
        if ctx.call.kind == "value" and not _grad_enabled() and not _transforms_active():
            quick = ctx.call.device_gradients(saved, seeds)
            if quick is not None:
                return (None, *quick)
        gradients = derivatives.backward(ctx.call, saved[: ctx.count], saved[ctx.count :], seeds, needed)
        return (None, *gradients)

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> Any:
        """Rates of the results of the call."""
        saved = ctx.saved_tensors
        rates = derivatives.forward(ctx.call, saved[: ctx.count], saved[ctx.count :], tangents[1:])
        return tuple(rates)


class EagerCall(_Rules):
    """A call where no transform of `torch.func` is active."""

    @staticmethod
    def forward(ctx: Any, call: Call, *tensors: Tensor) -> Tensors:
        """Compute, and keep the inputs of derivatives."""
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
        outputs = call(*aligned(call, tensors, in_dims[1:]))
        return outputs, (0,) * len(outputs)
