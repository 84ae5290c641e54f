# SPDX-License-Identifier: BSD-3-Clause
"""The scalar functions that kernel code may call, and the mark that makes a function a kernel.

Kernel code runs on three kinds of scalars: floats (plain Python), machine numbers (native code, in which the compiler
implements these functions) and nodes of a trace graph (straight-line programs), whose methods implement them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, TypeVar, overload

import numpy as np

from linkwork.errors import InputError, UnsupportedFeature

Scalar = Any
"""A float, or a symbol that behaves like one."""

Array = Any
"""A NumPy array of scalars."""

Vector = Any
"""Three scalars: a tuple, or the row of an array."""

F = TypeVar("F", bound=Callable[..., Any])


@overload
def kernel(function: F, /) -> F: ...
@overload
def kernel(*, checked: bool = True) -> Callable[[F], F]: ...
def kernel(function: Any = None, /, *, checked: bool = True) -> Any:
    """The function itself, marked as kernel code: Python in a form that can be compiled to machine code.

    Rules: loops and branches depend on integers (counters, sizes such as ``tree.nv``, constants), never on a float of
    the state, for which there is `where`; floats and integers do not mix (``2.0 * x``, not ``2 * x``); no allocation,
    no ``@``, no fancy indexing: arrays come in as arguments, and results are written into one of them; inputs are
    read-only. Sines, cosines and roots are `sincos` and `sqrt`. Other kernels can be called. Functions, numbers and
    tuples of the surrounding module or function are constants, read once, when the kernel is first compiled.
    `KernelError` names the expression outside the language, with its line.

    Before a kernel from outside linkwork runs for a robot, it is run once with checks: of all indices, of division by
    the integer zero, of integers beyond 64 bits, and of endless loops. ``@kernel(checked=False)`` skips the checks.

    Args:
        function: The code.
        checked: Whether it is run once with checks.
    """

    def marked(text: Any) -> Any:
        is_function = isinstance(text, FunctionType)
        if not is_function:
            raise InputError(f"a kernel is a function in Python, not {text!r}")
        vars(text).update(__kernel__=True, __checked__=checked)
        return text

    return marked if function is None else marked(function)


def sincos(x: Scalar) -> tuple[Scalar, Scalar]:
    """Sine and cosine of one angle, for kernel code.

    Args:
        x: An angle, in radians.
    """
    if isinstance(x, float) and not math.isfinite(x):
        return math.nan, math.nan
    return (math.sin(x), math.cos(x)) if isinstance(x, float) else x.sincos()


def sqrt(x: Scalar) -> Scalar:
    """Square root, for kernel code.

    Args:
        x: A number that is not negative.
    """
    if isinstance(x, float):
        return math.sqrt(x) if x >= 0.0 else math.nan
    return x.sqrt()


def where(below: Scalar, bound: Scalar, then: Scalar, otherwise: Scalar) -> Scalar:
    """``then if below < bound else otherwise``, without a branch, for kernel code.

    Args:
        below: Number to compare.
        bound: The bound of the comparison.
        then: Result where ``below < bound``.
        otherwise: Result elsewhere.
    """
    for x in (below, bound, then, otherwise):
        if not isinstance(x, float):
            return x.where(below, bound, then, otherwise)
    return then if below < bound else otherwise


def any_below(x: Scalar, bound: float) -> bool:
    """Whether ``x < bound``, for a branch that only saves work: its body must change nothing where this is false.

    In lanes, the answer is for all of them: true if it holds in any. Straight-line programs have no branches: true.
    """
    return bool(x < bound) if isinstance(x, float) else True


def some_below(x: Scalar, bound: float) -> bool:
    """Whether ``x < bound``, for any decision: which loop goes on, how long a list is.

    In lanes, the answer is for all of them: true if it holds in any, so that integers are common to the lanes. A kernel
    that calls it can only be native code: a straight-line program has no branches.
    """
    if not isinstance(x, float):
        raise UnsupportedFeature("some_below decides by a number of the state: straight-line programs have no branches")
    return bool(x < bound)


def prange(*bounds: int) -> range:
    """``range``, for a loop whose iterations are independent: none reads what another writes.

    On a GPU with a warp for each robot, its lanes share the iterations; what follows sees what all of them wrote.
    Elsewhere it is a plain loop. (Numba calls it so.)

    Args:
        bounds: As for ``range``.
    """
    return range(*bounds)


def stage() -> None:
    """End a part of a step whose code is to stay in the instruction caches of a GPU.

    On a GPU with a warp for each robot, all robots of a block wait for each other here, so that they run the same code
    at the same time. All of them must call it equally often. Elsewhere it does nothing.
    """


def in_warp() -> bool:
    """Whether the lanes of a warp run the code together (`prange`): known when a kernel is compiled.

    For kernels whose loops have another order there, such as products with matrices.
    """
    return False


def aligned_entries(x: Array, k: int) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """``x[k : k + 4]``, of an array that begins at a multiple of four numbers: a GPU loads them together.

    Args:
        x: The array.
        k: A multiple of four.
    """
    return x[k], x[k + 1], x[k + 2], x[k + 3]


def each_lane(function: Callable[..., None], *arguments: Any) -> None:
    """Run a kernel for the state in each lane, one after the other, as for one state.

    Its decisions and integers are those of one lane: for work that few states need, or that branches differently in
    each. Arguments are ``tree``, ``w`` and integers.

    Args:
        function: The kernel.
        arguments: Its arguments.
    """
    function(*arguments)


def unpack(arrays: Sequence[Array], places: Sequence[tuple[int, int, tuple[int, ...]]]) -> tuple[Any, ...]:
    """Parts of flat arrays, each by the number of its array, its first entry and its shape; () is a scalar."""
    parts = []
    for k, start, shape in places:
        flat = arrays[k]
        parts.append(flat[start : start + math.prod(shape)].reshape(shape) if shape else flat[start])
    return tuple(parts)


def with_arrays(tree: Array, w: Array, fields: Sequence[tuple[str, str]]) -> Array:
    """``tree`` with work arrays in place of some of its arrays, by pairs of names: ``(("mass", "tree_mass"),)``.

    It costs nothing: kernels that read ``tree.mass`` read ``w.tree_mass``, numbers of the state.
    """
    return tree._replace(**{field: getattr(w, name) for field, name in fields})


def fma(a: Scalar, b: Scalar, c: Scalar) -> Scalar:
    """``a * b + c`` with one rounding."""
    for x in (a, b, c):
        if not isinstance(x, float):
            return x.fma(a, b, c)
    return _exact_fma(a, b, c)


def rint(x: Scalar) -> Scalar:
    """The nearest integer, halves to even, as a scalar."""
    return float(np.rint(x)) if isinstance(x, float) else x.rint()


def _exact_fma(a: float, b: float, c: float) -> float:
    from fractions import Fraction

    try:
        exact = float(Fraction(a) * Fraction(b) + Fraction(c))
    except (OverflowError, ValueError):  # infinity, or no number
        return a * b + c
    return exact or a * b + c  # zeros have signs
