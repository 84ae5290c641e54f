"""What users pass for numbers and arrays, made into such."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from numbers import Integral, Real
from typing import Any, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from linkwork.errors import InputError, UnknownOption

P = ParamSpec("P")
T = TypeVar("T")


def suggest(name: str, known: Iterable[str]) -> str:
    """The end of a message that says what the user may have meant."""
    from difflib import get_close_matches  # takes a moment, and is for mistakes alone

    names = {known_name.casefold(): known_name for known_name in reversed(list(known))}
    given = str(name).casefold()
    close = [names[match] for match in get_close_matches(given, names, n=3)]
    close = close or [names[other] for other in names if given and given in other][:3]
    return f"; did you mean {', '.join(repr(c) for c in close)}?" if close else ""


def named_options(*receivers: Callable[..., Any]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Let calls with a keyword that nothing takes raise `UnknownOption`, which says what there is.

    ``receivers`` are what the function hands further keywords on to.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        parameters = [p for f in (function, *receivers) for p in inspect.signature(f).parameters.values()]
        known = [p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]

        @wraps(function)
        def call(*arguments: P.args, **options: P.kwargs) -> T:
            for name in options:
                if name not in known:
                    near = suggest(name, known) or f"; it has {', '.join(dict.fromkeys(known))}"
                    raise UnknownOption(f"{function.__name__} has no option '{name}'{near}")
            return function(*arguments, **options)

        return call

    return decorate


def above_zero(x: Any, name: str) -> float:
    """``x`` as a number above zero."""
    if isinstance(x, bool | np.bool_) or not isinstance(x, Real) or not 0 < float(x) < np.inf:
        raise InputError(f"{name} is {x!r}, needs a number above zero")
    return float(x)


def count(x: Any, name: str) -> int:
    """``x`` as a whole number above zero."""
    if isinstance(x, bool | np.bool_) or not isinstance(x, Integral) or x < 1:
        raise InputError(f"{name} is {x!r}, needs a whole number above zero")
    return int(x)


def real_array(x: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    """``x`` as an array of real numbers of whatever type; `InputError` names the argument if it is none."""
    if np.ma.isMaskedArray(x) and np.ma.is_masked(x):
        raise InputError(f"{name} has masked numbers")
    try:
        array = np.asarray(x)
    except (ValueError, TypeError) as error:
        raise InputError(f"{name} is not an array of numbers: {error}") from None
    if array.dtype.kind not in "fiu":
        raise InputError(f"{name} has dtype {array.dtype}, needs real numbers")
    return array


def fresh_floats(x: npt.ArrayLike, name: str) -> npt.NDArray[np.float64]:
    """A new array of doubles. (Arrays that have been pickled have a type of their own that is merely equal.)"""
    given = real_array(x, name)
    found = np.empty(given.shape)
    found[...] = given
    return found
