# SPDX-License-Identifier: BSD-3-Clause
"""One of `value`, `vjp`, `jvp`, `hvp` of a function with tensors: shapes, types of numbers, devices.

| kind    | tensors                                  | results                          |
|---------|------------------------------------------|----------------------------------|
| `value` | inputs                                   | results, what products take       |
| `vjp`   | inputs, outputs, seeds                   | one for each of `Call.by`         |
| `jvp`   | inputs, outputs, directions              | one for each result               |
| `hvp`   | inputs, outputs, seeds, directions       | one for each of `Call.by`         |

Outputs are those of `value`, where products take them (`ArrayFunction.takes_outputs`), else none. Leading axes of all
tensors broadcast; results have all of them. CPU tensors and NumPy arrays share memory, whatever their strides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import torch

from linkwork.errors import InputError, UnsupportedFeature
from linkwork.torch.array_functions import ArrayFunction, Shapes
from linkwork.torch.shared_arrays import shared_arrays

Kind = Literal["value", "vjp", "jvp", "hvp"]
Tensor: TypeAlias = torch.Tensor
Tensors: TypeAlias = tuple[Tensor, ...]

TYPES = {torch.float64: "float64", torch.float32: "float32"}
PLAIN = (torch.Tensor, torch.nn.Parameter)
"""Classes of tensors that have memory of their own."""

_from_numpy = torch.from_numpy


class Source(Protocol):
    """A function that calls are made of."""

    evaluator: Any
    number: int
    arrays: ArrayFunction

    @property
    def shapes(self) -> tuple[Shapes, Shapes, Shapes]:
        """Shapes of one state: of inputs, of results, and of what else is kept for derivatives."""

    @property
    def takes_outputs(self) -> bool:
        """Whether products take the results."""

    def call(self, kind: Kind, names: tuple[str, ...], seeded: tuple[str, ...] | None = None) -> Call:
        """The value or a product with certain inputs, and seeds of certain results."""

    def arrays_on(self, device: Any, dtype: str) -> ArrayFunction:
        """The evaluator as a function of arrays on a device, with numbers of one type."""

    def evaluate(self, call: Call, tensors: Sequence[Tensor]) -> Tensors:
        """A product with tensors, by whichever way torch needs it now."""


class Call:
    """A product of a function, or its value, with certain inputs given.

    Args:
        function: The function.
        kind: Which product.
        names: Inputs that are given, in the order of tensors.
        seeded: Results that have seeds; of others they are zero.
    """

    def __init__(self, function: Source, kind: Kind, names: tuple[str, ...], seeded: tuple[str, ...]) -> None:
        self.function, self.kind, self.names, self.seeded = function, kind, names, seeded
        arrays = function.arrays
        self.by = tuple(name for name in arrays.by if name in names)
        """Inputs among these that are differentiated by."""
        self._positional = arrays.positional_value() if kind == "value" and names == arrays.given else None
        self._gradients: dict[Any, Callable[..., list[Tensor]] | None] = {}
        self._one_type = not function.evaluator.execution.backend.single_for_single
        self._own_type = torch.float64 if function.evaluator.execution.backend.dtype == "float64" else torch.float32

    @cached_property
    def arrays_of(self) -> Callable[..., Sequence[Any] | None]:
        """Makes NumPy arrays of tensors of the evaluator's own type, at little cost; None where some are others."""
        return arrays_of(self._own_type)

    def other(self, kind: Kind, seeded: tuple[str, ...] | None = None) -> Call:
        """Another product with the same inputs.

        Args:
            kind: Which.
            seeded: Results that have seeds; by default those of this call.
        """
        return self.function.call(kind, self.names, self.seeded if seeded is None else seeded)

    @property
    def key(self) -> str:
        """The key of inputs and cotangents that are present."""
        return f"{','.join(self.names)}|{','.join(self.seeded)}"

    def __call__(self, *tensors: Tensor) -> Tensors:
        """Compute, by whichever way torch needs it now: with derivatives, mapped, compiled.

        Args:
            tensors: All that the call takes.
        """
        return self.function.evaluate(self, tensors)

    # Shapes ----------------------------------------------------------------------------------------------------

    @property
    def outputs(self) -> int:
        """The number of outputs of `value` that products take."""
        return len(self.function.shapes[1]) + len(self.function.shapes[2]) if self.function.takes_outputs else 0

    @cached_property
    def input_names(self) -> list[str]:
        """Words for the tensors of a call."""
        results = list(self.function.shapes[1])
        outputs = [*results, *self.function.shapes[2]][: self.outputs]
        seeds = [f"the seed of {name}" for name in self.seeded]
        directions = [f"the direction of {name}" for name in self.by]
        further = {"value": [], "vjp": [*outputs, *seeds], "jvp": [*outputs, *directions]}
        return [*self.names, *further.get(self.kind, [*outputs, *seeds, *directions])]

    @cached_property
    def input_shapes(self) -> list[tuple[int, ...]]:
        """Shapes of one state's tensors."""
        inputs, results, kept = self.function.shapes
        outputs = [*results.values(), *kept.values()][: self.outputs]
        seeds, directions = [results[name] for name in self.seeded], [inputs[name] for name in self.by]
        further: dict[str, list[tuple[int, ...]]] = {"value": [], "vjp": [*outputs, *seeds]}
        further |= {"jvp": [*outputs, *directions], "hvp": [*outputs, *seeds, *directions]}
        return [*(inputs[name] for name in self.names), *further[self.kind]]

    @cached_property
    def output_shapes(self) -> list[tuple[int, ...]]:
        """Shapes of one state's results."""
        inputs, results, kept = self.function.shapes
        if self.kind == "value":
            return [*results.values(), *kept.values()]
        return list(results.values()) if self.kind == "jvp" else [inputs[name] for name in self.by]

    @cached_property
    def parts(self) -> tuple[slice, slice, slice, slice]:
        """Where inputs, outputs, seeds and directions are among the tensors."""
        n, m, r, b = len(self.names), self.outputs, len(self.seeded), len(self.by)
        if self.kind == "value":
            m = r = b = 0
        elif self.kind == "vjp":
            b = 0
        elif self.kind == "jvp":
            r = 0
        edges = (0, n, n + m, n + m + r, n + m + r + b)
        return slice(0, n), slice(n, edges[2]), slice(edges[2], edges[3]), slice(edges[3], edges[4])

    def lead(self, tensors: Sequence[Tensor]) -> tuple[int, ...]:
        """The leading axes of results.

        Args:
            tensors: All that the call takes.
        """
        leads = []
        for name, x, shape in zip(self.input_names, tensors, self.input_shapes, strict=True):
            rank = x.dim() - len(shape)
            if rank < 0 or tuple(x.shape[rank:]) != shape:
                robot = self.function.evaluator.robot
                needed = f"(..., {', '.join(map(str, shape))})"
                raise InputError(f"{name} has shape {tuple(x.shape)}, robot '{robot.name}' needs {needed}")
            leads.append(x.shape[:rank])
        try:
            return tuple(torch.broadcast_shapes(*leads))
        except RuntimeError:
            each = ", ".join(f"{name} {tuple(x)}" for name, x in zip(self.input_names, leads, strict=True) if x)
            raise InputError(f"leading axes do not broadcast: {each}") from None

    # Numbers ---------------------------------------------------------------------------------------------------

    def dtype(self, tensors: Sequence[Tensor]) -> torch.dtype:
        """The type of results: float32 where all tensors are, unless the evaluator is made for one type.

        Args:
            tensors: All that the call takes.
        """
        if self._one_type:
            return self._own_type
        return torch.float32 if all(x.dtype == torch.float32 for x in tensors) else torch.float64

    def run(self, tensors: Sequence[Tensor]) -> Tensors:
        """Compute, with tensors without gradients.

        Args:
            tensors: All that the call takes.
        """
        arrays = self._own_arrays(tensors)
        if arrays is not None:
            return tuple([_from_numpy(y) for y in self._compute(self.function.arrays, arrays)])
        first = tensors[0]
        if first.is_cuda:
            return self._run_on_device(tensors, first.device)
        self._check(tensors)
        dtype = self.dtype(tensors)
        on_cpu = self.function.arrays_on(first.device, TYPES[dtype])
        outputs = [_from_numpy(y) for y in self._compute(on_cpu, [_array(x) for x in tensors])]
        return tuple([y if y.dtype == dtype else y.to(dtype) for y in outputs])

    def _run_on_device(self, tensors: Sequence[Tensor], device: torch.device) -> Tensors:
        """Compute where tensors are, on the current stream."""
        dtype = self._own_type if self._one_type else tensors[0].dtype
        for x in tensors:
            if x.dtype is not dtype or x.is_neg() or x.device != device:
                self._check(tensors)
                dtype = self.dtype(tensors)
                tensors = [y.detach().resolve_neg().to(dtype) for y in tensors]
                break
        return tuple(self._compute(self.function.arrays_on(device, TYPES[dtype]), tensors))

    def device_gradients(self, saved: Sequence[Tensor], seeds: Sequence[Tensor | None]) -> list[Tensor | None] | None:
        """Gradients of `value` by its tensors on a CUDA device, at little cost; None where it is not that simple.

        Args:
            saved: Tensors of the call, and what else was kept.
            seeds: Gradients by its results; None: zero.
        """
        first, cotangents = saved[0], [s for s in seeds if s is not None]
        if not first.is_cuda or not cotangents:
            return None
        dtype, where = first.dtype, first.get_device()
        inputs = saved[: len(self.names)]
        for x in (*inputs, *cotangents):
            if x.dtype is not dtype or x.get_device() != where or x.is_neg():
                return None
        key = where, dtype, tuple([s is None for s in seeds])
        if key not in self._gradients:
            self._gradients[key] = self._made_gradients(first, seeds)
        run = self._gradients[key]
        if run is None:
            return None
        gradients = dict(zip(self.by, run(*inputs, *cotangents), strict=True))
        ordered: list[Tensor | None] = []
        for name, x in zip(self.names, inputs, strict=True):
            g = gradients.get(name)
            ordered.append(g if g is None or g.shape == x.shape else g.sum_to_size(x.shape))
        return ordered

    def _made_gradients(self, like: Tensor, seeds: Sequence[Tensor | None]) -> Callable[..., list[Tensor]] | None:
        results = self.function.arrays.results
        seeded = tuple(name for name, s in zip(results, seeds, strict=False) if s is not None)
        plain = self.names == self.function.arrays.given and self.dtype([like]) == like.dtype
        if not plain or sum(s is not None for s in seeds) != len(seeded):
            return None
        on_device = self.function.arrays_on(like.device, TYPES[like.dtype])
        return on_device.positional_vjp(seeded) if len(on_device.by) == len(self.by) else None

    def _own_arrays(self, tensors: Sequence[Tensor]) -> Sequence[Any] | None:
        """NumPy arrays of CPU tensors of the evaluator's own type; None where some are others."""
        arrays = self.arrays_of(*tensors)
        if arrays is not None:
            for x in tensors:
                if x.is_neg():
                    return None
        return arrays

    def _compute(self, function: ArrayFunction, arrays: Sequence[Any]) -> Sequence[Any]:
        if self._positional is not None and function is self.function.arrays:
            return self._positional(*arrays)
        inputs, outputs, seeds, along = self.parts
        x = dict(zip(self.names, arrays[inputs], strict=True))
        d = dict(zip(self.by, arrays[along], strict=False))
        if self.kind == "value":
            return function.value(x)
        f, s = arrays[outputs], dict(zip(self.seeded, arrays[seeds], strict=False))
        if self.kind == "jvp":
            return function.jvp(x, f, d)
        products = function.vjp(x, f, s) if self.kind == "vjp" else function.hvp(x, f, s, d)
        if len(self.by) == len(function.by):
            return products
        return [y for name, y in zip(function.by, products, strict=True) if name in self.by]

    def check_class(self, tensors: Sequence[Any]) -> None:
        """Raise unless all are tensors.

        Args:
            tensors: All that the call takes.
        """
        for name, x in zip(self.input_names, tensors, strict=True):
            if not isinstance(x, torch.Tensor):
                raise InputError(f"{name} is {type(x).__name__}, needs a torch tensor: torch.as_tensor({name})")

    def _check(self, tensors: Sequence[Tensor]) -> None:
        device = tensors[0].device
        for name, x in zip(self.input_names, tensors, strict=True):
            if x.dtype not in TYPES:
                raise InputError(f"{name} is a tensor of {x.dtype}, needs float64 or float32")
            if x.device != device:
                raise InputError(f"tensors are on one device; {name} is on {x.device}, {self.names[0]} on {device}")
        if device.type not in ("cpu", "cuda"):
            raise InputError(f"tensors are on '{device}', needs 'cpu' or 'cuda'")


@cache
def arrays_of(dtype: torch.dtype) -> Callable[..., Sequence[Any] | None]:
    """A function of tensors: NumPy arrays that share their memory, or None where one is of another type or device.

    Of tensors that are negated lazily (`is_neg`), arrays may have the numbers as they are in memory.

    Args:
        dtype: Type of the tensors.
    """

    def by_numpy(*tensors: Tensor) -> Sequence[Any] | None:
        try:
            return [x.numpy() for x in tensors] if all(x.dtype is dtype for x in tensors) else None
        except (TypeError, RuntimeError, AttributeError):  # on another device, of another class, or no tensor
            return None

    return shared_arrays(torch.Tensor, np.dtype(TYPES[dtype])) or by_numpy


def aligned(call: Call, tensors: Sequence[Tensor], dims: Sequence[int | None]) -> list[Tensor]:
    """Tensors with the mapped axis in front of all other batch axes.

    Args:
        call: The product.
        tensors: All that it takes.
        dims: The mapped axis of each; None: it has none.
    """
    ranks = [x.dim() - (dim is not None) - len(s) for x, dim, s in zip(tensors, dims, call.input_shapes, strict=True)]
    most, tensors_aligned = max(ranks), []
    for x, dim, rank in zip(tensors, dims, ranks, strict=True):
        if dim is None:
            tensors_aligned.append(x)
            continue
        front = x.movedim(dim, 0)
        tensors_aligned.append(front.reshape(front.shape[0], *[1] * (most - rank), *front.shape[1:]))
    return tensors_aligned


def _array(x: Tensor) -> Any:
    """The NumPy array that shares a CPU tensor's memory."""
    try:
        return x.numpy()
    except RuntimeError:  # it requires a gradient, is a view that is negated lazily, or one of a batch
        try:
            return x.detach().resolve_neg().numpy()
        except RuntimeError as error:
            raise UnsupportedFeature(
                f"a tensor of class {type(x).__name__} has no memory of its own ({error}). Of derivatives in batches, "
                "torch.func.vmap and torch.func.jacrev are supported; is_grads_batched and vectorize=True are not"
            ) from None
