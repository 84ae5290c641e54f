# SPDX-License-Identifier: BSD-3-Clause
"""Arguments converted by their annotations: `converted` for functions and classes that take numbers, names and parts.

A wrong argument is an `InputError` that names it, and what it needs; arrays go through `inputs.real_array`. What is
called in control loops (evaluators, steps) has compiled checks of its own instead.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Callable, Mapping
from functools import partial, wraps
from numbers import Integral
from types import UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin

import numpy as np

from linkwork.errors import InputError
from linkwork.inputs import LARGEST, float_array, items, real_number, shown

C = TypeVar("C", bound=Callable[..., Any])


def number(x: Any, name: str) -> float | int:
    """``x`` as one number; a whole one stays one."""
    return x if type(x) is int and abs(x) <= LARGEST else real_number(x, name)


def whole_number(x: Any, name: str) -> int:
    """``x`` as a whole number."""
    if isinstance(x, bool | np.bool_) or not isinstance(x, Integral) or abs(int(x)) > LARGEST:
        raise InputError(f"{name} is {shown(x)}, needs a whole number")
    return int(x)


def truth(x: Any, name: str) -> bool:
    """``x`` as True or False; a text or an array is neither."""
    if not isinstance(x, bool | np.bool_):
        raise InputError(f"{name} is {shown(x)}, needs True or False")
    return bool(x)


def text(x: Any, name: str) -> str:
    """``x`` as a text, such as a name."""
    if not isinstance(x, str):
        raise InputError(f"{name} is {shown(x)}, needs a name")
    return x


def texts(x: Any, name: str) -> Any:
    """``x`` as names: one, or a tuple of several."""
    names = (x,) if isinstance(x, str) else items(x, name, "names")
    if not all(isinstance(one, str) for one in names):
        raise InputError(f"{name} is {shown(x)}, needs names")
    return x if isinstance(x, str) else names


def numbers_in_a_row(x: Any, name: str, count: int | None = None) -> tuple[float, ...]:
    """``x`` as a tuple of numbers, of which there must be so many."""
    array = float_array(x, name)
    if array.ndim != 1 or count not in (None, len(array)):
        raise InputError(f"{name} has shape {array.shape}, needs {'numbers in a row' if count is None else (count,)}")
    return tuple(array.tolist())


def numbers_by_name(x: Any, name: str) -> dict[str, float]:
    """``x`` as numbers by name, from a dictionary or from pairs."""
    try:
        entries = dict(x)
    except Exception:  # an object of someone else's
        raise InputError(f"{name} is {shown(x)}, needs numbers by name: {{'knee': 1.0}}") from None
    return {text(key, f"a name of {name}"): real_number(value, f"{name}['{key}']") for key, value in entries.items()}


def pairs(x: Any, name: str) -> tuple[tuple[str, float], ...]:
    """``x`` as pairs of a name and a number."""
    return tuple(numbers_by_name(x, name).items())


def file_path(x: Any, name: str) -> Any:
    """``x`` as the path of a file, as it was given."""
    if not isinstance(x, str | os.PathLike) or "\0" in str(x):
        raise InputError(f"{name} is {shown(x)}, needs the path of a file")
    return x


def word(x: Any, name: str) -> Any:
    """``x`` as one of the words that a parameter takes; which ones, its function says."""
    if not isinstance(x, str | int):
        raise InputError(f"no {name} {shown(x)}: it is a word")
    return x


def instance(kind: Any, words: str) -> Callable[[Any, str], Any]:
    """The conversion of arguments that must be instances of a class."""

    def check(x: Any, name: str) -> Any:
        if not isinstance(x, kind):
            raise InputError(f"{name} is {type(x).__name__}, needs {words}")
        return x

    return check


CONVERSIONS: dict[str, Callable[[Any, str], Any]] = {
    "float": number,
    "int": whole_number,
    "bool": truth,
    "str": text,
    "str | Sequence[str]": texts,
    "Sequence[str]": texts,
    "Collection[str]": texts,
    "tuple[str, ...]": texts,
    "tuple[float, float]": partial(numbers_in_a_row, count=2),
    "tuple[float, float, float]": partial(numbers_in_a_row, count=3),
    "tuple[float, ...]": numbers_in_a_row,
    "Sequence[float]": numbers_in_a_row,
    "VectorLike": partial(numbers_in_a_row, count=3),
    "float | Sequence[float]": float_array,
    "Mapping[str, float]": numbers_by_name,
    "Mapping[str, float] | Sequence[tuple[str, float]]": numbers_by_name,
    "tuple[tuple[str, float], ...]": pairs,
    "npt.ArrayLike": float_array,
    "str | os.PathLike[str]": file_path,
    "str | PathLike[str]": file_path,
}
"""Conversions of arguments, by their annotation."""

WORDS = {
    "Model": "a Mechanism (from load, Builder or compose)",
    "BaseEvaluator": "an evaluator, such as ForwardDynamics(robot)",
    "Placement": "a Placement, such as lw.Placement((0.1, 0, 0))",
}
"""Names of classes in errors about objects of other classes."""


def conversion(annotation: str, known: Mapping[str, Any]) -> Callable[[Any, str], Any] | None:
    """The conversion of an argument: one of `CONVERSIONS`, or a check for a word or an object of a class.

    Args:
        annotation: Of the parameter, without None.
        known: Names of the module that the annotation is in.
    """
    if annotation in CONVERSIONS:
        return CONVERSIONS[annotation]
    if re.fullmatch(r"Mapping\[[^\[\]]*(\[.*\])?[^\[\]]*\]", annotation):
        return instance(Mapping, "a dictionary")
    kind = known.get(annotation)
    if annotation.startswith("Literal[") or all(_takes_words(known.get(part)) for part in annotation.split(" | ")):
        return word
    if isinstance(kind, type) and kind.__module__.startswith("linkwork."):
        return instance(kind, WORDS.get(annotation, f"a {annotation}"))
    if isinstance(kind, UnionType) and all(isinstance(one, type) for one in get_args(kind)):
        return instance(kind, f"a {annotation}")
    return None


def _takes_words(kind: Any) -> bool:
    """Whether a type is that of words, of which True and False may be some."""
    if get_origin(kind) in (Union, UnionType):
        return all(one in (bool, int) or _takes_words(one) for one in get_args(kind))
    return get_origin(kind) is Literal


def converted_but(*left: str) -> Callable[[C], C]:
    """`converted`, but for parameters that the function checks by itself, as it knows better what they are for.

    Args:
        left: Their names.
    """

    def decorate(called: C) -> C:
        function: Any = called.__init__ if isinstance(called, type) else called  # type: ignore[misc]
        known = sys.modules[called.__module__].__dict__
        conversions = {}
        parameters = inspect.signature(function).parameters
        order = [name for name, parameter in parameters.items() if parameter.kind == parameter.POSITIONAL_OR_KEYWORD]
        for name, parameter in parameters.items():
            optional = parameter.default is None or str(parameter.annotation).endswith(" | None")
            convert = conversion(str(parameter.annotation).removesuffix(" | None"), known)
            named = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
            if convert is not None and named and name not in left:
                conversions[name] = convert, optional

        def argument(name: str, x: Any) -> Any:
            convert, optional = conversions.get(name, (None, True))
            return x if convert is None or (x is None and optional) else convert(x, name)

        @wraps(function)
        def call(*arguments: Any, **options: Any) -> Any:
            converted = (*map(argument, order, arguments), *arguments[len(order) :])
            return function(*converted, **{name: argument(name, x) for name, x in options.items()})

        if isinstance(called, type):
            called.__init__ = call  # type: ignore[misc]
            return called
        return cast(C, call)

    return decorate


def converted(called: C) -> C:
    """Let a function, or the constructor of a class, convert its arguments by their annotations (`conversion`).

    Arguments with other annotations are left to the function, as None is where it is a default. A wrong argument is an
    `InputError` that names it.
    """
    return converted_but()(called)
