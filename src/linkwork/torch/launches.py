# SPDX-License-Identifier: BSD-3-Clause
"""Programs on a CUDA device, launched with addresses and strides of tensors on torch's current stream.

A `Launch` knows what is the same in all calls: the kernel, and the addresses of what an evaluator holds. A call adds
addresses and strides of tensors, as they are: nothing is copied but tensors whose states are no rows of numbers that
are equally far apart, and nothing waits for the device.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch

from linkwork.compilers.cuda.runner import CudaRunner
from linkwork.errors import InputError

Tensor = torch.Tensor

TYPES = {"float64": torch.float64, "float32": torch.float32}


class Given(NamedTuple):
    """In place of an input: a tensor of the call."""

    name: str

    @property
    def __cuda_array_interface__(self) -> dict[str, str]:
        """What tells checks of parameters that there is nothing to look at."""
        return {"name": self.name}


class Launch:
    """A program with tensors by name.

    Args:
        runner: What runs the program.
        inputs: All inputs of the program by name: `Given`, or arrays that are the same in all calls.
        device: Where.
    """

    def __init__(self, runner: CudaRunner, inputs: Mapping[str, Any], device: torch.device) -> None:
        self.device, self.dtype = device, TYPES[runner.dtype.name]
        shapes = dict(zip(runner.names, runner.inputs, strict=True))
        self._batches: dict[str, Tensor] = {}
        constants: dict[str, Any] = {}
        self._given: list[tuple[str, tuple[int, ...]]] = []
        for name in runner.names:
            x, shape = inputs[name], shapes[name]
            if isinstance(x, Given):
                self._given.append((x.name, shape))
            elif x.shape == shape:
                constants[name] = x
            else:  # parameters that an evaluator holds, of a robot of its own in every row
                self._batches[name] = torch.tensor(x, dtype=self.dtype, device=device)
                self._given.append((name, shape))
        self._outputs = runner.outputs
        self._index = device.index or 0
        self._prepared = runner.prepared(constants, self._index)

    def __call__(self, tensors: Mapping[str, Tensor]) -> list[Tensor]:
        """All outputs of the program, new tensors.

        Args:
            tensors: By the names of `Given`.
        """
        tensors = {**tensors, **self._batches} if self._batches else tensors
        given = [(tensors[name], shape) for name, shape in self._given]
        lead: tuple[int, ...] = ()
        ranks = [x.dim() - len(shape) for x, shape in given]
        leads = {tuple(x.shape[:rank]) for (x, _), rank in zip(given, ranks, strict=True) if rank}
        if leads:
            lead = leads.pop() if len(leads) == 1 else tuple(torch.broadcast_shapes(*leads))
        count, values, number_major = math.prod(lead), [], False
        alive = []  # until the launch is ordered on the stream
        for (x, shape), rank in zip(given, ranks, strict=True):
            x = self._rows(x, shape, rank, lead, count)
            alive.append(x)
            row = 0 if x.dim() == len(shape) or x.shape[0] == 1 else x.stride(0)
            step = x.stride(-1) if shape else 1
            values += (x.data_ptr(), row, step)
            number_major = number_major or (row == 1 and len(shape) == 1 and shape[0] > 1 and count > 1)
        results = []
        for shape in self._outputs:
            if number_major and len(shape) == 1 and len(lead) == 1:
                y = torch.empty((*shape, count), dtype=self.dtype, device=self.device).T
                values += (y.data_ptr(), 1, count)
            else:
                y = torch.empty((*lead, *shape), dtype=self.dtype, device=self.device)
                values += (y.data_ptr(), math.prod(shape), 1)
            results.append(y)
        with self._prepared.device.current():
            self._prepared.launch(values, count, current_stream(self._index))
        return results

    def _rows(self, x: Tensor, shape: tuple[int, ...], rank: int, lead: tuple[int, ...], count: int) -> Tensor:
        """A tensor as rows of numbers that are equally far apart, with one batch axis or none."""
        if x.dtype != self.dtype:
            x = x.to(self.dtype)
        if rank < 0 or tuple(x.shape[rank:]) != shape:
            raise InputError(f"a tensor has shape {tuple(x.shape)}, needs (..., {', '.join(map(str, shape))})")
        if rank > 1 or (rank == 1 and x.shape[0] not in (1, count)):
            x = x.expand(*lead, *shape).reshape(count, *shape)
        if len(shape) > 1 and not _is_row(x, shape):
            x = x.contiguous()
        if x.is_neg():
            x = x.resolve_neg()
        return x


def _is_row(x: Tensor, shape: tuple[int, ...]) -> bool:
    """Whether the numbers of a state are equally far apart."""
    strides, step = x.stride()[x.dim() - len(shape) :], x.stride(-1)
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size != 1 and stride != step:
            return False
        step *= size
    return True


def current_stream(index: int) -> int:
    """The handle of torch's current stream on a device.

    Args:
        index: Number of the device.
    """
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return int(raw(index) if raw is not None else torch.cuda.current_stream(index).cuda_stream)


def named(names: Sequence[str]) -> dict[str, Given]:
    """Places of tensors, by their names.

    Args:
        names: Names.
    """
    return {name: Given(name) for name in names}
