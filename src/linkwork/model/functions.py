# SPDX-License-Identifier: BSD-3-Clause
"""Functions of numbers that users write in Python, recorded as tapes.

A function is called once, with tape variables that record the operations on them in a graph of expressions. Kernels
then run the tape: its values (forward), its derivatives (reverse, one output at a time), and its second derivative
along a motion. In a straight-line program nothing of the tape remains but its operations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linkwork.errors import ModelError
from linkwork.model import series
from linkwork.model.expressions import CONST, INPUT, Graph, Node, Symbol, operands

RECORDABLE = (
    "+, -, *, /, powers, and NumPy's sin, cos, tan, arctan, arctan2, sqrt, exp, log, tanh, abs, sign, minimum, "
    "maximum, clip and interp"
)
"""Operations that can be recorded."""


class Tape(NamedTuple):
    """The operations of a function, inputs first, each after its operands."""

    nodes: tuple[Node, ...]
    inputs: int
    outputs: tuple[int, ...]
    """The nodes that are its results."""


class TapeVariable:
    """A number that records the operations on it."""

    __slots__ = ("_graph", "_value")

    def __init__(self, graph: Graph, value: Symbol | float) -> None:
        self._graph, self._value = graph, value

    def _new(self, value: Symbol | float) -> TapeVariable:
        return TapeVariable(self._graph, value)

    def _operand(self, x: Any) -> Any:
        if isinstance(x, TapeVariable):
            if x._graph is not self._graph:
                raise ModelError("the function uses an argument of another function; pass it as an argument")
            return x._value
        try:
            return float(x)
        except (TypeError, ValueError):
            raise ModelError(f"the function computes with {type(x).__name__}; it needs numbers") from None

    def __add__(self, other: Any) -> TapeVariable:
        return self._new(self._value + self._operand(other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> TapeVariable:
        return self._new(self._value - self._operand(other))

    def __rsub__(self, other: Any) -> TapeVariable:
        return self._new(self._operand(other) - self._value)

    def __mul__(self, other: Any) -> TapeVariable:
        return self._new(self._value * self._operand(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> TapeVariable:
        return self._new(self._value / self._operand(other))

    def __rtruediv__(self, other: Any) -> TapeVariable:
        return self._new(self._operand(other) / self._value)

    def __neg__(self) -> TapeVariable:
        return self._new(-self._value)

    def __pos__(self) -> TapeVariable:
        return self

    def __pow__(self, power: Any) -> TapeVariable:
        if power == 0.5:
            return self.sqrt()
        if isinstance(power, float) and power.is_integer():
            power = int(power)
        if isinstance(power, float):
            return (power * self.log()).exp()
        if not isinstance(power, int) or isinstance(power, bool):
            raise ModelError(f"the function has the power {power!r}; it may use {RECORDABLE}")
        product = self._new(1.0)
        for _ in range(abs(power)):
            product = product * self
        return product if power >= 0 else 1.0 / product

    def constant(self) -> float:
        """Its value, where it depends on no input."""
        if isinstance(self._value, Symbol):
            raise ModelError(f"the function has an exponent that depends on its arguments; it may use {RECORDABLE}")
        return float(self._value)

    def sin(self) -> TapeVariable:
        """For ``numpy.sin``."""
        return self._new(self._value.sincos()[0] if isinstance(self._value, Symbol) else math.sin(self._value))

    def cos(self) -> TapeVariable:
        """For ``numpy.cos``."""
        return self._new(self._value.sincos()[1] if isinstance(self._value, Symbol) else math.cos(self._value))

    def tan(self) -> TapeVariable:
        """For ``numpy.tan``."""
        return self.sin() / self.cos()

    def sqrt(self) -> TapeVariable:
        """For ``numpy.sqrt``."""
        return self._new(self._value.sqrt() if isinstance(self._value, Symbol) else math.sqrt(self._value))

    def where_below(self, bound: Any, then: Any, otherwise: Any) -> TapeVariable:
        """``then`` where this is less than ``bound``, else ``otherwise``."""
        parts = [self._operand(x) for x in (self, bound, then, otherwise)]
        symbol = next((x for x in parts if isinstance(x, Symbol)), None)
        if symbol is None:
            return self._new(parts[2] if parts[0] < parts[1] else parts[3])
        return self._new(symbol.where(*parts))

    def rint(self) -> TapeVariable:
        """For ``numpy.rint``."""
        return self._new(self._value.rint() if isinstance(self._value, Symbol) else float(np.rint(self._value)))

    def __abs__(self) -> TapeVariable:
        return self.where_below(0.0, -self, self)

    def sign(self) -> TapeVariable:
        """For ``numpy.sign``."""
        return self.where_below(0.0, -1.0, (-self).where_below(0.0, 1.0, 0.0))

    def exp(self) -> TapeVariable:
        """For ``numpy.exp``."""
        return series.exp(self)

    def log(self) -> TapeVariable:
        """For ``numpy.log``."""
        return series.log(self)

    def tanh(self) -> TapeVariable:
        """For ``numpy.tanh``."""
        return 1.0 - 2.0 / ((2.0 * self).exp() + 1.0)

    def arctan(self) -> TapeVariable:
        """For ``numpy.arctan``."""
        return series.arctan(self)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """NumPy's functions of numbers."""
        if method != "__call__" or options or ufunc.__name__ not in _UFUNCS:
            raise ModelError(f"the function calls numpy.{ufunc.__name__}; it may use {RECORDABLE}")
        if any(np.ndim(x) > 0 for x in inputs if not isinstance(x, TapeVariable)):
            arrays = np.broadcast_arrays(*(np.asarray(x, dtype=object) for x in inputs))
            return np.array([_UFUNCS[ufunc.__name__](*each) for each in zip(*(a.flat for a in arrays), strict=True)])
        first, *rest = (x if isinstance(x, TapeVariable) else self._new(self._operand(x)) for x in inputs)
        return _UFUNCS[ufunc.__name__](first, *rest)

    def __array_function__(self, function: Callable[..., Any], types: Any, arguments: Any, options: Any) -> Any:
        """NumPy's interp and clip."""
        if function is np.interp and len(arguments) == 3 and not options:
            return series.interpolated(*arguments)
        if function is np.clip and len(arguments) == 3 and not options:
            x, low, high = arguments
            return np.minimum(np.maximum(x, low), high)
        raise ModelError(f"the function calls numpy.{function.__name__}; it may use {RECORDABLE}")

    def __bool__(self) -> bool:
        raise ModelError(
            "the function branches on an argument (if, and, or, a comparison, max, min), which cannot be recorded: use "
            "np.minimum, np.maximum, np.clip, np.interp, or a profile of lw.profiles"
        )

    def _compare(self, other: Any) -> bool:
        return bool(self)

    __lt__ = __gt__ = __le__ = __ge__ = __eq__ = __ne__ = _compare
    __hash__ = None  # type: ignore[assignment]

    def __float__(self) -> float:
        raise ModelError(f"the function may use {RECORDABLE}, not the functions of math")

    __int__ = __index__ = __float__


_UFUNCS: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "negative": lambda x: -x,
    "positive": lambda x: x,
    "power": lambda x, y: x ** y.constant(),
    "float_power": lambda x, y: x ** y.constant(),
    "square": lambda x: x * x,
    "sin": TapeVariable.sin,
    "cos": TapeVariable.cos,
    "tan": TapeVariable.tan,
    "sqrt": TapeVariable.sqrt,
    "exp": TapeVariable.exp,
    "log": TapeVariable.log,
    "tanh": TapeVariable.tanh,
    "arctan": TapeVariable.arctan,
    "arctan2": lambda y, x: series.arctan2(y, x),
    "absolute": TapeVariable.__abs__,
    "fabs": TapeVariable.__abs__,
    "sign": TapeVariable.sign,
    "rint": TapeVariable.rint,
    "maximum": lambda x, y: x.where_below(y, y, x),
    "minimum": lambda x, y: x.where_below(y, x, y),
    "clip": lambda x, low, high: np.minimum(np.maximum(x, low), high),
}
"""NumPy's functions by name, on tape variables."""


def record(function: Callable[..., Any], inputs: int) -> Tape:
    """The tape of a function of so many numbers; its results are one number or several.

    Args:
        function: Called once, with a `TapeVariable` for each input.
        inputs: Number of its inputs.
    """
    graph = Graph()
    variables = [TapeVariable(graph, graph.input(0, k)) for k in range(inputs)]
    try:
        returned = function(*variables)
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(f"the function failed: {type(error).__name__}: {error}. It may use {RECORDABLE}") from error
    try:
        results = list(returned)
    except (TypeError, ModelError):
        results = [returned]
    if not results:
        raise ModelError("the function returns no number")
    outputs = [graph.symbol(variables[0]._operand(x)).signed() for x in results]
    if not all(math.isfinite(node[1]) for node in graph.nodes if node[0] is CONST):
        raise ModelError("the function computes with numbers that are not finite")
    return _pruned(graph, inputs, outputs)


def _pruned(graph: Graph, inputs: int, outputs: list[int]) -> Tape:
    """The inputs, and those nodes that the outputs need, numbered anew."""
    needed = set(outputs)
    for i in range(len(graph.nodes) - 1, -1, -1):
        if i in needed:
            needed.update(operands(graph.nodes[i]))
    kept = [*range(inputs), *sorted(i for i in needed if i >= inputs)]
    number = {i: k for k, i in enumerate(kept)}

    def renumbered(node: Node) -> Node:
        return node if node[0] in (INPUT, CONST) else (node[0], *(number[k] for k in operands(node)))

    return Tape(tuple(renumbered(graph.nodes[i]) for i in kept), inputs, tuple(number[i] for i in outputs))
