# SPDX-License-Identifier: BSD-3-Clause
"""Evaluators as functions of torch tensors."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import count
from typing import Any

import torch
from torch.autograd import forward_ad

from linkwork.errors import InputError
from linkwork.inputs import suggest
from linkwork.model.checks import check_robot
from linkwork.model.model import Model
from linkwork.torch import autograd, operator
from linkwork.torch.array_functions import ArrayFunction, Shapes
from linkwork.torch.call import PLAIN, TYPES, Call, Kind, Tensor, Tensors
from linkwork.torch.contact_device import ContactDeviceFunction
from linkwork.torch.contact_functions import ContactArrayFunction, array_function
from linkwork.torch.device_functions import DeviceFunction
from linkwork.torch.operator import FUNCTIONS

_transforms_active = torch._C._are_functorch_transforms_active
_grad_enabled = torch.is_grad_enabled
_compiling = torch.compiler.is_compiling
_from_numpy = torch.from_numpy
_tuple_of = tuple.__new__

_NUMBERS = count()

RESULT_NAMES: Mapping[str, str] = {"q1": "q", "v1": "v"}
"""Results as calls name them: the state after a step."""


class Function:
    """An evaluator as a function of tensors; made by `function`.

    Args:
        evaluator: The evaluator.
        by: Names of the inputs to differentiate by.
        smoothing: Of steps with contacts, as for ``ContactStep.vjp``.
    """

    def __init__(self, evaluator: Any, by: Sequence[str] | None = None, smoothing: float | None = None) -> None:
        self._by = None if by is None else tuple([by] if isinstance(by, str) else by)
        self.evaluator, self.smoothing = evaluator, smoothing
        self.arrays = array_function(evaluator, self._by, smoothing)
        """The evaluator as a function of NumPy arrays."""
        self._given = self.arrays.given
        self._names = (*self._given, *self.arrays.optional)
        fields = [RESULT_NAMES.get(name, name) for name in self.arrays.results]
        self._several: Any = namedtuple(f"{type(evaluator).__name__}Result", fields) if len(fields) > 1 else None
        self._results = len(fields)
        self._calls: dict[Any, Call] = {}
        self._device_quick: dict[Any, Any] = {}
        self._on: dict[tuple[torch.device, str], ArrayFunction] = {}
        self.number = next(_NUMBERS)
        """By which compiled code knows it."""
        FUNCTIONS[self.number] = self
        self._all_seeded = f"|{','.join(self.arrays.results)}"
        self._value, self._count = self.call("value", self._given), len(self._given)
        self._quick: Any = self._value._positional

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs: those that a call must have, then those that it may have."""
        return self._names

    @property
    def differentiated_by(self) -> tuple[str, ...]:
        """Names of the inputs to differentiate by."""
        return self.arrays.by

    @property
    def results(self) -> tuple[str, ...]:
        """Names of the results."""
        return tuple(RESULT_NAMES.get(name, name) for name in self.arrays.results)

    @cached_property
    def shapes(self) -> tuple[Shapes, Shapes, Shapes]:
        """Shapes of one state: of inputs, of results, and of arrays that are kept for derivatives."""
        return self.arrays.shapes()

    @cached_property
    def takes_outputs(self) -> bool:
        """Whether products take the results."""
        return self.arrays.takes_outputs

    def call(self, kind: Kind, names: tuple[str, ...], seeded: tuple[str, ...] | None = None) -> Call:
        """The value or a product with certain inputs.

        Args:
            kind: Which.
            names: Inputs that are given.
            seeded: Results that have seeds; by default all.
        """
        seeded = self.arrays.results if seeded is None else seeded
        call = self._calls.get((kind, names, seeded))
        if call is None:
            call = self._calls[kind, names, seeded] = Call(self, kind, names, seeded)
        return call

    def arrays_on(self, device: torch.device, dtype: str) -> ArrayFunction:
        """The evaluator as a function of arrays on a device, with numbers of one type.

        Args:
            device: Where tensors are.
            dtype: Their type.
        """
        arrays = self._on.get((device, dtype))
        if arrays is None:
            arrays = self._on[device, dtype] = self._made_on(device, dtype)
        return arrays

    def _made_on(self, device: torch.device, dtype: str) -> ArrayFunction:
        backend = self.evaluator.execution.backend
        if device.type == "cuda":
            if isinstance(self.arrays, ContactArrayFunction):
                return ContactDeviceFunction(self.arrays.evaluator, self._by, device, dtype, self.smoothing)
            return DeviceFunction(self.evaluator, self._by, device, dtype)
        if backend.name == "cuda":
            raise InputError("the evaluator is on 'cuda', tensors are on the CPU: use q.cuda(), or evaluator.to('cpu')")
        if backend.dtype == dtype:
            return self.arrays
        return array_function(self.evaluator, self._by, self.smoothing, lambda evaluator: evaluator.native(dtype))

    def __call__(self, *inputs: Tensor, **named: Tensor | None) -> Any:
        """Evaluate: one tensor, or a named tuple where there are several results.

        Leading axes are batch axes and broadcast. Tensors are float64 or float32, on the CPU or on one CUDA device.

        Args:
            inputs: Tensors, in the order of the evaluator's inputs.
            named: Inputs by name: wrenches, commands, targets, parameters of the robot that are inputs.
        """
        if _compiling():
            names, tensors = self._arranged(inputs, named)
            outputs = tuple(operator.evaluate(list(tensors), self.number, "value", ",".join(names) + self._all_seeded))
        elif named or len(inputs) != self._count:
            names, tensors = self._arranged(inputs, named)
            outputs = self.evaluate(self.call("value", names), tensors)
        else:
            quick = self._without_derivatives(inputs)
            if quick is not None:
                return quick
            if any(x is None for x in inputs):
                return self(**dict(zip(self._given, inputs, strict=True)))
            outputs = self.evaluate(self._value, inputs)
        if self._several is None:
            return outputs[0]
        return self._several(*outputs[: self._results])

    def evaluate(self, call: Call, tensors: Sequence[Tensor]) -> Tensors:
        """The value or a product, by whichever way torch needs it now.

        Args:
            call: Which.
            tensors: All that it takes.
        """
        for x in tensors:
            if type(x) not in PLAIN:  # fake tensors and other classes
                call.check_class(tensors)
                return operator.through_operator(call, tensors)
        return autograd.apply(call, tensors)

    def _without_derivatives(self, inputs: Sequence[Tensor]) -> Any:
        """Results for CPU tensors without gradients: most calls, with little around the evaluator's own.

        None where tensors are others.
        """
        if _transforms_active() or forward_ad._current_level >= 0:
            return None
        tracked, arrays = _grad_enabled(), self._value.arrays_of(*inputs)
        if arrays is None:
            try:
                return None if inputs[0].is_cpu else self._on_device(inputs, tracked)
            except (TypeError, RuntimeError, AttributeError):  # on several devices, of other classes, or no tensors
                return None
        for x in inputs:
            if (tracked and x.requires_grad) or x.is_neg():
                return None
        outputs = self._quick(*arrays)
        if self._several is None:
            return _from_numpy(outputs[0])
        if self._results == 2:
            return _tuple_of(self._several, (_from_numpy(outputs[0]), _from_numpy(outputs[1])))
        return _tuple_of(self._several, [_from_numpy(y) for y in outputs[: self._results]])

    def _on_device(self, inputs: Sequence[Tensor], tracked: bool) -> Any:
        """The results for tensors on a CUDA device."""
        first = inputs[0]
        where, dtype = first.get_device(), first.dtype
        for x in inputs:
            if x.dtype is not dtype or x.get_device() != where or x.is_neg() or (tracked and x.requires_grad):
                return None
        quick = self._device_quick.get((where, dtype))
        if quick is None:
            if not first.is_cuda or dtype not in TYPES or self._value.dtype(inputs) != dtype:
                return None
            quick = self.arrays_on(first.device, TYPES[dtype]).positional_value()
            self._device_quick[where, dtype] = quick
        outputs = quick(*inputs)
        return outputs[0] if self._several is None else _tuple_of(self._several, outputs[: self._results])

    def _arranged(self, inputs: Sequence[Any], named: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[Tensor, ...]]:
        """Names and tensors of inputs, in order."""
        inputs_by_name: dict[str, Any] = dict(zip(self._given, inputs, strict=False))
        if len(inputs) > len(self._given):
            raise InputError(f"{self._words()} takes {', '.join(self._given)}; {len(inputs)} tensors were given")
        for name, x in named.items():
            if name not in self._names:
                near = suggest(name, self._names) or f"; there are {', '.join(self._names)}"
                raise InputError(f"{self._words()} has no input '{name}'{near}")
            if name in inputs_by_name:
                raise InputError(f"{self._words()}: {name} is given twice")
            if x is not None:
                inputs_by_name[name] = x
        for name in self._given:
            if name not in inputs_by_name or inputs_by_name[name] is None:
                if name not in self.arrays.left_out or not inputs_by_name:
                    raise InputError(f"{self._words()} takes {', '.join(self._given)}; {name} was not given")
                inputs_by_name[name] = next(iter(inputs_by_name.values())).new_zeros(self.shapes[0][name])
        names = tuple(name for name in self._names if name in inputs_by_name)
        return names, tuple(inputs_by_name[name] for name in names)

    def _words(self) -> str:
        return f"{self.evaluator.quantity} of '{self.evaluator.robot.name}'"

    def __reduce__(self) -> tuple[Any, ...]:
        return Function, (self.evaluator, self._by, self.smoothing)

    def __repr__(self) -> str:
        return f"<torch function {self.evaluator!r}, by {', '.join(self.arrays.by)}>"


def function(evaluator: Any, by: Sequence[str] | None = None, *, smoothing: float | None = None) -> Function:
    """An evaluator as a function of torch tensors, with derivatives: ``lw.torch.function(fd)(q, v, tau)``.

    It can be differentiated by autograd, in forward mode, and by the transforms of `torch.func` (``vmap``, ``jacrev``,
    ``jacfwd``, ``hessian`` where the evaluator has ``hvp``), and be part of functions for `torch.compile`. CPU tensors
    are computed with where they are, as NumPy's arrays are; tensors on a CUDA device on that device, in its current
    stream.

    Gradients by a configuration have the shape of ``q``. They are those of the function that normalizes quaternions and
    directions first: zero along changes of their lengths.

    Args:
        evaluator: `ForwardDynamics`, `InverseDynamics`, `ImpactDynamics`, `Evaluator` of any quantity, `Stepper` or
            `ContactStep`, on any of their backends. Parameters of the robot that are its inputs are inputs here.
        by: Names of the inputs to differentiate by; by default all. Others are taken as constants.
        smoothing: Of steps with contacts, a velocity in m/s by which derivatives are smoothed: see ``ContactStep.vjp``.
    """
    return Function(evaluator, by, smoothing)


def normalize(robot: Model, q: Tensor) -> Tensor:
    """``q`` with quaternions, and the cos and sin of planar joints, of unit length, ``(..., nq)``; differentiable.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
    """
    check_robot(robot)
    if q.shape[-1:] != (robot.nq,):
        raise InputError(f"q has shape {tuple(q.shape)}, robot '{robot.name}' needs (..., {robot.nq})")
    parts, at = [], 0
    for where in robot.unit_slices():
        unit = q[..., where]
        parts += [q[..., at : where.start], unit / unit.norm(dim=-1, keepdim=True)]
        at = where.stop
    return torch.cat([*parts, q[..., at:]], dim=-1) if parts else q
