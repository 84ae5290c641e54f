# SPDX-License-Identifier: BSD-3-Clause
"""Programs on a CUDA device, launched with addresses and strides of tensors on torch's current stream.

A `Launch` knows what is the same in all calls: the kernel, and the addresses of what an evaluator holds. A call adds
addresses and strides of tensors, as they are: nothing is copied but tensors whose states are no rows of numbers that
are equally far apart, and nothing waits for the device.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import torch

from linkwork.compilers.cuda.runner import CudaRunner
from linkwork.errors import DeviceError, InputError

Tensor: TypeAlias = torch.Tensor

MOST_PLANS = 256
"""Kinds of tensors that are remembered."""
_empty = torch.empty_strided
TYPES = {"float64": torch.float64, "float32": torch.float32}


class Given(NamedTuple):
    """In place of an input: a tensor of the call."""

    name: str

    @property
    def __cuda_array_interface__(self) -> dict[str, str]:
        """A marker for checks of parameters: there are no numbers to read."""
        return {"name": self.name}


class _Plan(NamedTuple):
    """Launch data that calls with tensors of the same shapes and strides share."""

    states: int
    """Number of states."""
    values: list[int]
    """Of the launch, without the addresses of tensors."""
    outputs: list[tuple[tuple[int, ...], tuple[int, ...]]]
    """Shapes and strides of outputs."""
    rows: list[tuple[int, ...]] | None
    """Leading axes that tensors are expanded to, where they are no rows of numbers as they are."""


class Launch:
    """A program with tensors by name.

    Args:
        runner: Runner of the program.
        inputs: All inputs of the program by name: `Given`, or arrays that are the same in all calls.
        device: Where.
    """

    def __init__(self, runner: CudaRunner, inputs: Mapping[str, Any], device: torch.device) -> None:
        self.device, self.dtype = device, TYPES[runner.dtype.name]
        self._batches: dict[str, Tensor] = {}
        constants: dict[str, Any] = {}
        self._names: list[str] = []
        self._shapes: list[tuple[int, ...]] = []
        places = []
        for k, (name, shape) in enumerate(zip(runner.names, runner.inputs, strict=True)):
            x = inputs[name]
            if not isinstance(x, Given) and x.shape == shape:
                constants[name] = x
                continue
            if not isinstance(x, Given):  # parameters that an evaluator holds, of a robot of its own in every row
                self._batches[name] = torch.tensor(x, dtype=self.dtype, device=device)
            self._names.append(x.name if isinstance(x, Given) else name)
            self._shapes.append(shape)
            places.append(3 * k)
        self.names = tuple(runner.program.algorithm.outputs)
        """Of the outputs."""
        self._outputs = runner.outputs
        self._pointers = [*places, *(3 * (len(runner.names) + k) for k in range(len(runner.outputs)))]
        """Where addresses of tensors stand among the values of a launch."""
        self._index = device.index or 0
        self._prepared = runner.prepared(constants, self._index)
        self._plans: dict[Any, _Plan] = {}

    def __call__(self, tensors: Mapping[str, Tensor]) -> list[Tensor]:
        """All outputs of the program, new tensors.

        Args:
            tensors: By the names of `Given`.
        """
        if self._batches:
            tensors = {**tensors, **self._batches}
        return self.run([tensors[name] for name in self._names])

    def run(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """All outputs of the program, new tensors.

        Args:
            tensors: All that the program takes of a call, in order.
        """
        key = tuple([(x.shape, x.stride()) for x in tensors])
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) > MOST_PLANS:
                self._plans.clear()
            plan = self._plans[key] = self._planned(tensors)
        if plan.rows is not None:
            tensors = [self._as_rows(x, s, lead) for x, s, lead in zip(tensors, self._shapes, plan.rows, strict=True)]
        results = [_empty(*laid_out, dtype=self.dtype, device=self.device) for laid_out in plan.outputs]
        values = plan.values.copy()
        for at, x in zip(self._pointers, (*tensors, *results), strict=True):
            values[at] = x.data_ptr()
        prepared, stream = self._prepared, current_stream(self._index)
        try:  # where torch's current device is this one, its context is the current one
            prepared.code.launch(values, plan.states, stream, prepared.device, prepared.status)
        except DeviceError:
            with prepared.device.current():
                prepared.code.launch(values, plan.states, stream, prepared.device, prepared.status)
        return results

    def takes(self, names: Sequence[str]) -> bool:
        """Whether these are all tensors that a call has, in this order.

        Args:
            names: Of inputs.
        """
        return not self._batches and self._names == list(names)

    def places(self, names: Sequence[str]) -> list[int] | None:
        """Where among these the tensors of the program are; None where it takes others.

        Args:
            names: Of inputs.
        """
        if self._batches or not set(self._names) <= set(names):
            return None
        return [list(names).index(name) for name in self._names]

    def _planned(self, tensors: Sequence[Tensor]) -> _Plan:
        """The launch data of calls with tensors like these."""
        leads = []
        for name, x, shape in zip(self._names, tensors, self._shapes, strict=True):
            rank = x.dim() - len(shape)
            if rank < 0 or tuple(x.shape[rank:]) != shape:
                needed = ", ".join(map(str, shape))
                raise InputError(f"{name} has shape {tuple(x.shape)}, needs (..., {needed})")
            leads.append(tuple(x.shape[:rank]))
        lead = tuple(torch.broadcast_shapes(*leads))
        count = math.prod(lead)
        fit = all(
            math.prod(own) in (1, count) and len(own) <= 1 and _is_row(x, shape)
            for x, own, shape in zip(tensors, leads, self._shapes, strict=True)
        )
        rows = None if fit else [() if math.prod(own) == 1 else lead for own in leads]
        if rows is not None:
            tensors = [self._as_rows(x, shape, to) for x, shape, to in zip(tensors, self._shapes, rows, strict=True)]
        values: list[int] = []
        number_major = False
        for x, shape in zip(tensors, self._shapes, strict=True):
            row = 0 if x.dim() == len(shape) or x.shape[0] == 1 else x.stride(0)
            values += (0, row, _step(x, shape))
            number_major = number_major or (row == 1 and len(shape) == 1 and shape[0] > 1 and count > 1)
        outputs: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
        for shape in self._outputs:
            size = math.prod(shape)
            if number_major and len(shape) == 1 and len(lead) == 1:
                outputs.append(((*lead, *shape), (1, count)))
                values += (0, 1, count)
            else:
                outputs.append(((*lead, *shape), _row_major((*lead, *shape))))
                values += (0, size, 1)
        return _Plan(count, self._prepared.values(values), outputs, rows)

    @staticmethod
    def _as_rows(x: Tensor, shape: tuple[int, ...], lead: tuple[int, ...]) -> Tensor:
        """A tensor with one batch axis or none, its states rows of numbers that are equally far apart."""
        if lead:
            x = x.expand(*lead, *shape).reshape(math.prod(lead), *shape)
        else:
            x = x.reshape(shape)
        return x if _is_row(x, shape) else x.contiguous()


def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(shape[k + 1 :]) for k in range(len(shape)))


def _step(x: Tensor, shape: tuple[int, ...]) -> int:
    """The distance of the numbers of a state."""
    for size, stride in zip(reversed(shape), reversed(x.stride()), strict=False):
        if size != 1:
            return stride
    return 1


def _is_row(x: Tensor, shape: tuple[int, ...]) -> bool:
    """Whether the numbers of a state are equally far apart."""
    expected = None
    for size, stride in zip(reversed(shape), reversed(x.stride()), strict=False):
        if size == 1:
            continue
        if expected is not None and stride != expected:
            return False
        expected = stride * size
    return True


def current_stream(index: int) -> int:
    """The handle of torch's current stream on a device.

    Args:
        index: Number of the device.
    """
    return int(_raw_stream(index))


_raw_stream: Any = getattr(torch._C, "_cuda_getCurrentRawStream", None)
if _raw_stream is None:
    _raw_stream = lambda index: torch.cuda.current_stream(index).cuda_stream  # noqa: E731


def named(names: Sequence[str]) -> dict[str, Given]:
    """Places of tensors, by their names.

    Args:
        names: Names.
    """
    return {name: Given(name) for name in names}
