# SPDX-License-Identifier: BSD-3-Clause
"""One operator that `torch.compile` knows: all products of all functions, by the number of a function.

Its fake kernel says shapes and types without computing, its derivative is the one of eager mode, and mapped axes are
batch axes. Where nothing is compiled, calls that go through it take some 30 µs longer: `autograd` has the shorter way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakValueDictionary

import torch

from linkwork.errors import LinkworkError
from linkwork.torch import derivatives
from linkwork.torch.call import Call, Source, Tensor, Tensors, aligned

FUNCTIONS: WeakValueDictionary[int, Source] = WeakValueDictionary()
"""Functions that are in use, by their numbers."""


def _call(number: int, kind: Any, key: str) -> Call:
    function = FUNCTIONS.get(number)
    if function is None:
        raise LinkworkError(f"function {number} of compiled code is gone: keep what lw.torch.function returned")
    names, _, seeded = key.partition("|")
    return function.call(kind, tuple(names.split(",")), tuple(seeded.split(",")))


def through_operator(call: Call, tensors: Sequence[Tensor]) -> Tensors:
    """A product by the operator.

    Args:
        call: The product.
        tensors: All that it takes.
    """
    outputs = evaluate(list(tensors), call.function.number, call.kind, call.key)
    return tuple(outputs)


def _evaluate(tensors: Sequence[Tensor], number: int, kind: str, key: str) -> list[Tensor]:
    return [x.contiguous() for x in _call(number, kind, key).run([x.detach() for x in tensors])]


evaluate = torch.library.custom_op(
    "linkwork::evaluate",
    _evaluate,
    mutates_args=(),
    schema="(Tensor[] tensors, int number, str kind, str key) -> Tensor[]",
)


def _fake(tensors: Sequence[Tensor], number: int, kind: str, key: str) -> list[Tensor]:
    call = _call(number, kind, key)
    lead, dtype = call.lead(tensors), call.dtype(tensors)
    return [tensors[0].new_empty((*lead, *shape), dtype=dtype) for shape in call.output_shapes]


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: Sequence[Tensor]) -> None:
    tensors, *which = inputs
    call = _call(*which)
    ctx.which, ctx.count = tuple(which), len(tensors)
    kept = output if call.kind == "value" and call.function.takes_outputs else ()
    ctx.save_for_backward(*tensors, *kept)


def _backward(ctx: Any, seeds: Sequence[Tensor | None]) -> Any:
    saved, call = ctx.saved_tensors, _call(*ctx.which)
    needed = [True] * ctx.count if ctx.needs_input_grad is None else ctx.needs_input_grad[0]
    needed = list(needed) if isinstance(needed, Sequence) else [bool(needed)] * ctx.count
    gradients = derivatives.backward(call, saved[: ctx.count], saved[ctx.count :], list(seeds), needed)
    return list(gradients), None, None, None


def _vmap(info: Any, in_dims: tuple[Any, ...], tensors: Sequence[Tensor], number: int, kind: str, key: str) -> Any:
    call = _call(number, kind, key)
    outputs = evaluate(aligned(call, tensors, in_dims[0]), number, kind, key)
    return outputs, [0] * len(outputs)


evaluate.register_fake(_fake)
evaluate.register_autograd(_backward, setup_context=_setup_context)
evaluate.register_vmap(_vmap)
