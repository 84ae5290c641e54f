# SPDX-License-Identifier: BSD-3-Clause
"""Evaluators as JAX functions: `function` and `Function`."""

from __future__ import annotations

import threading
from collections import namedtuple
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from linkwork.contact.step import ContactStep
from linkwork.dynamics.forward import ForwardDynamics
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.inputs import suggest
from linkwork.jax.array_types import vary_alike
from linkwork.jax.contact_sources import ContactSource, contact_inputs
from linkwork.jax.handlers import OnError
from linkwork.jax.rules import VALUE, Source, function_p
from linkwork.jax.sources import EvaluatorSource, StepSource, typed
from linkwork.jax.tangent_space import TangentSpace
from linkwork.model.model import Model
from linkwork.plans.tree import tree_of
from linkwork.quantities.base import BaseEvaluator
from linkwork.quantities.differentiable import Differentiated
from linkwork.simulation.stepper import Stepper

Array = Any


class Function:
    """An evaluator as a function of JAX arrays: see `function`.

    Args:
        evaluator: The evaluator.
        by: Names of the inputs to differentiate by; None: all that can be.
        on_error: Treatment of states that are not finite, on the CPU.
    """

    def __init__(self, evaluator: BaseEvaluator, by: Sequence[str] | None, on_error: OnError) -> None:
        self.evaluator, self.on_error = getattr(evaluator, "by_slots", evaluator), on_error
        evaluator = self.evaluator
        known = _known(evaluator)
        self.given, self.optional = known.given, known.optional
        by = (by,) if isinstance(by, str) else by
        for name in by or ():
            if name not in known.inputs:
                raise InputError(
                    f"{evaluator.quantity} of '{evaluator.robot.name}' has no derivative by '{name}'; there are those "
                    f"by {', '.join(known.inputs)}"
                )
        self.by = known.inputs if by is None else tuple(by)
        self._required = len(known.given) - isinstance(evaluator, Stepper | ContactStep)  # torques
        self._sources: dict[tuple[str, tuple[str, ...]], Source] = {}
        self._lock = threading.Lock()
        self._jitted = jax.jit(self._evaluate, inline=True)

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """Results: one array, or a named tuple of several. Leading axes are batch axes and broadcast.

        Args:
            arrays: Inputs of the evaluator, in order.
            named: Further ones by name: ``wrenches``, ``commands``, ``target``, parameters of the robot. Signs of
                parameters are checked where they are arrays; tracers have no numbers yet.
        """
        known = {name: x for name, x in named.items() if not isinstance(x, jax.core.Tracer)}
        self.evaluator.parameter_inputs.check(
            {name: known[name] for name in self.evaluator.parameters if name in known}
        )
        return self._jitted(*arrays, **named)

    def _evaluate(self, *arrays: Any, **named: Any) -> Any:
        """The call, as it is traced."""
        inputs = self._named(arrays, named)
        dtype = jnp.result_type(*inputs.values(), jnp.float32)
        if dtype not in (jnp.float32, jnp.float64):
            raise InputError(f"dtype must be float32 or float64; found {dtype}")
        source = self._source(dtype.name, tuple(inputs))
        operands = vary_alike(_broadcast(source, [jnp.asarray(x, dtype) for x in inputs.values()]))
        results = function_p.bind(*operands, source=source, kind=VALUE)[: len(source.results)]
        return results[0] if len(results) == 1 else _named_tuple(tuple(source.results))(*results)

    def _named(self, arrays: Sequence[Any], named: dict[str, Any]) -> dict[str, Any]:
        """Inputs by name, in their order; those that are None are left out."""
        what = f"{self.evaluator.quantity} of '{self.evaluator.robot.name}'"
        if len(arrays) > len(self.given):
            raise InputError(f"{what} takes {', '.join(self.given)}; {len(arrays)} arrays were given")
        by_name = dict(zip(self.given, arrays, strict=False))
        for name, x in named.items():
            if name not in (*self.given, *self.optional):
                near = suggest(name, self.optional) or f"; it takes {', '.join((*self.given, *self.optional))}"
                raise InputError(f"{what} has no argument '{name}'{near}")
            if name in by_name:
                raise InputError(f"{what}: {name} was given twice")
            by_name[name] = x
        for name, x in by_name.items():
            if isinstance(x, list | tuple | dict):
                raise InputError(f"{what}: {name} is a {type(x).__name__}, needs an array: jnp.asarray({name})")
        by_name = {name: by_name[name] for name in (*self.given, *self.optional) if by_name.get(name) is not None}
        missing = [name for name in self.given[: self._required] if name not in by_name]
        if missing:
            raise InputError(f"{what} takes {', '.join(self.given)}; {', '.join(missing)} was not given")
        return by_name

    def _source(self, dtype: str, names: tuple[str, ...]) -> Source:
        """The function of these inputs, with numbers of a type; made once."""
        with self._lock:
            if (dtype, names) not in self._sources:
                by = tuple(name for name in names if name in self.by)
                kind = _kind(self.evaluator)
                self._sources[dtype, names] = kind(typed(self.evaluator, dtype), names, by, self.on_error)
            return self._sources[dtype, names]

    def __reduce__(self) -> tuple[Any, ...]:
        return Function, (self.evaluator, self.by, self.on_error)

    def __repr__(self) -> str:
        return f"<JAX function of {self.evaluator!r}>"


def _known(evaluator: BaseEvaluator) -> Differentiated:
    """Inputs, and inputs and results of derivatives, of an evaluator."""
    if isinstance(evaluator, ContactStep) or (isinstance(evaluator, Stepper) and evaluator.contact):
        return contact_inputs(evaluator)
    function = evaluator._function if isinstance(evaluator, Stepper) else evaluator
    if not isinstance(function, BaseEvaluator):
        raise InputError(f"{evaluator!r} is not a function of arrays that JAX can call")
    if isinstance(evaluator, ForwardDynamics) and evaluator.method == "kkt":
        raise UnsupportedFeature("kkt is dense linear algebra in NumPy: there is no program that XLA could call")
    return function.differentiated


def _kind(evaluator: Any) -> Any:
    """The source of an evaluator."""
    if isinstance(evaluator, ContactStep) or (isinstance(evaluator, Stepper) and evaluator.contact):
        return ContactSource
    return StepSource if isinstance(evaluator, Stepper) else EvaluatorSource


def _broadcast(source: Source, arrays: Sequence[Array]) -> list[Array]:
    """Arrays whose batch axes are the same, where they have any."""
    leads = []
    for (name, own), x in zip(source.shapes.items(), arrays, strict=True):
        if x.ndim < len(own) or x.shape[x.ndim - len(own) :] != own:
            needed = f"{own[0]} numbers" if len(own) == 1 else f"shape (..., {', '.join(map(str, own))})"
            raise InputError(f"{source.what}: {name} has shape {x.shape}, needs {needed}, after batch axes")
        leads.append(x.shape[: x.ndim - len(own)])
    try:
        lead = jnp.broadcast_shapes(*leads)
    except ValueError:
        each = ", ".join(f"{name} {one}" for name, one in zip(source.shapes, leads, strict=True) if one)
        raise InputError(f"{source.what}: batch axes do not broadcast: {each}") from None
    shapes = zip(arrays, leads, source.shapes.values(), strict=True)
    return [x if not one else jnp.broadcast_to(x, (*lead, *own)) for x, one, own in shapes]


_TUPLES: dict[tuple[str, ...], Any] = {}


def _named_tuple(names: tuple[str, ...]) -> Any:
    if names not in _TUPLES:
        _TUPLES[names] = namedtuple("Results", names)
    return _TUPLES[names]


def function(evaluator: BaseEvaluator, by: Sequence[str] | None = None, on_error: OnError = "raise") -> Function:
    """An evaluator as a function of JAX arrays, for `jit`, `vmap`, `grad`, `jvp`, `jacfwd`, `jacrev`, `lax.scan`.

    Args:
        evaluator: The evaluator: quantities, inverse and forward dynamics, impacts, steps.
        by: Names of the inputs to differentiate by: the others are constants; by default all that can be.
        on_error: On the CPU, ``"raise"`` makes NaN, infinity or quaternions of no length an error of the whole call;
            ``"nan"`` gives such states NaN as results.
    """
    if on_error not in ("raise", "nan"):
        raise InputError(f"on_error is {on_error!r}, needs 'raise' or 'nan'")
    return Function(evaluator, by, on_error)


def normalize(robot: Model, q: Any) -> Array:
    """Configurations whose quaternions and directions ``(cos, sin)`` have unit length, as a JAX function.

    Args:
        robot: The mechanism.
        q: Configurations, ``(..., nq)``.
    """
    x = jnp.asarray(q, jnp.result_type(q, jnp.float32))
    if x.shape[-1:] != (robot.nq,):
        raise InputError(f"q has shape {x.shape}, robot '{robot.name}' needs (..., {robot.nq})")
    return TangentSpace(tree_of(robot, ())).normalize(x)
