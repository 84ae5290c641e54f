"""Functions of joint coordinates that users write in Python, recorded as tapes, and the kernel text that runs tapes.

A function is called once, with numbers that write down what is done to them. Kernels then run the tape: its values, its
derivatives (backwards, one row at a time), and its second rate along a motion. In a straight-line program nothing of
the tape remains but its operations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from linkwork.errors import ModelError

INPUT, CONSTANT, PLUS, MINUS, TIMES, OVER, SINE, COSINE, ROOT = range(9)

WRITABLE = "+, -, *, /, whole powers, and NumPy's sin, cos, tan and sqrt"


class Step(NamedTuple):
    """An operation on earlier steps; of an INPUT ``left`` says which one, a CONSTANT has a value."""

    op: int
    left: int = -1
    right: int = -1
    value: float = 0.0


class Tape(NamedTuple):
    """What a function does."""

    steps: tuple[Step, ...]
    inputs: int
    outputs: tuple[int, ...]
    """The steps that are its results."""


class Written:
    """A number that writes down what is done to it."""

    __slots__ = ("_at", "_steps")

    def __init__(self, steps: dict[Step, int], at: int) -> None:
        self._steps, self._at = steps, at

    def _step(self, op: int, left: Any, right: Any = None) -> Written:
        a = self._of(left)._at
        b = -1 if right is None else self._of(right)._at
        return self._new(Step(op, a, b))

    def _new(self, step: Step) -> Written:
        return Written(self._steps, self._steps.setdefault(step, len(self._steps)))

    def _of(self, x: Any) -> Written:
        if isinstance(x, Written):
            return x
        try:
            value = float(x)
        except (TypeError, ValueError):
            raise ModelError(f"a function of joints reckons with {type(x).__name__}, needs numbers") from None
        return self._new(Step(CONSTANT, value=value))

    def __add__(self, other: Any) -> Written:
        return self._step(PLUS, self, other)

    def __radd__(self, other: Any) -> Written:
        return self._step(PLUS, other, self)

    def __sub__(self, other: Any) -> Written:
        return self._step(MINUS, self, other)

    def __rsub__(self, other: Any) -> Written:
        return self._step(MINUS, other, self)

    def __mul__(self, other: Any) -> Written:
        return self._step(TIMES, self, other)

    def __rmul__(self, other: Any) -> Written:
        return self._step(TIMES, other, self)

    def __truediv__(self, other: Any) -> Written:
        return self._step(OVER, self, other)

    def __rtruediv__(self, other: Any) -> Written:
        return self._step(OVER, other, self)

    def __neg__(self) -> Written:
        return self._step(MINUS, 0.0, self)

    def __pos__(self) -> Written:
        return self

    def __pow__(self, power: Any) -> Written:
        if power == 0.5:
            return self.sqrt()
        if not isinstance(power, int) or isinstance(power, bool):
            raise ModelError(f"a function of joints has the power {power!r}; it may use {WRITABLE}")
        found = self._of(1.0)
        for _ in range(abs(power)):
            found = self if found._at == self._of(1.0)._at else found * self
        return found if power >= 0 else 1.0 / found

    def sin(self) -> Written:
        """For ``numpy.sin``."""
        return self._step(SINE, self)

    def cos(self) -> Written:
        """For ``numpy.cos``."""
        return self._step(COSINE, self)

    def tan(self) -> Written:
        """For ``numpy.tan``."""
        return self.sin() / self.cos()

    def sqrt(self) -> Written:
        """For ``numpy.sqrt``."""
        return self._step(ROOT, self)

    def __bool__(self) -> bool:
        raise ModelError("a function of joints branches on a coordinate: it must do the same everywhere")

    def _compare(self, other: Any) -> bool:
        return bool(self)

    __lt__ = __gt__ = __le__ = __ge__ = __eq__ = __ne__ = _compare
    __hash__ = None  # type: ignore[assignment]

    def __float__(self) -> float:
        raise ModelError(f"a function of joints may use {WRITABLE}, not those of math")

    __int__ = __index__ = __float__


def record(function: Callable[..., Any], inputs: int) -> Tape:
    """The tape of a function of so many numbers; results are one number or several."""
    steps: dict[Step, int] = {}
    given = [Written(steps, steps.setdefault(Step(INPUT, k), len(steps))) for k in range(inputs)]
    try:
        found = function(*given)
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(
            f"the function of joints failed: {type(error).__name__}: {error}. It may use {WRITABLE}"
        ) from error
    try:
        results = list(found)
    except (TypeError, ModelError):
        results = [found]
    if not results:
        raise ModelError("the function of joints gives no results")
    outputs = tuple(given[0]._of(x)._at for x in results)
    if not all(math.isfinite(step.value) for step in steps):
        raise ModelError("the function of joints reckons with numbers that are not finite")
    return Tape(tuple(steps), inputs, outputs)


# Running tapes ----------------------------------------------------------------------------------------------
