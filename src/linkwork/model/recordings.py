# SPDX-License-Identifier: BSD-3-Clause
"""Functions of users as recordings, which files and pickles keep, with the same values and derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Any

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.expressions import ADD, CONST, COS, DIV, INPUT, MUL, NEG, RINT, SELECT, SIN, SQRT, SUB
from linkwork.model.functions import Tape, TapeVariable, record


@dataclass(frozen=True, eq=False)
class Recording:
    """A function as its tape: a Python function after it was saved and loaded.

    Args:
        tape: The operations.
    """

    tape: Tape

    def __call__(self, *x: Any) -> Any:
        """Its value, or values: of numbers and arrays, or as expressions of tape variables.

        Args:
            x: As many numbers as the function takes, also in sequences.
        """
        inputs = list(_flat(x))
        if len(inputs) != self.tape.inputs:
            raise ModelError(f"a function of {self.tape.inputs} numbers is called with {len(inputs)}")
        values: list[Any] = []
        with np.errstate(divide="ignore", invalid="ignore"):  # in branches that are not taken
            for op, *nodes in self.tape.nodes:
                if op == INPUT:
                    values.append(inputs[nodes[1]])
                elif op == CONST:
                    values.append(nodes[0])
                else:
                    values.append(_OPERATIONS[op](*(values[node] for node in nodes)))
        results = tuple(values[node] for node in self.tape.outputs)
        return results[0] if len(results) == 1 else results


def recorded(function: Callable[..., Any], takes: Sequence[int | list[int]] = (1,)) -> Any:
    """The value that stands for a function in a file: itself where it is data already, else a recording.

    Args:
        function: A function that laws and motions take.
        takes: Its arguments: 1 for a number, ``[n]`` for a sequence of so many.
    """
    if is_dataclass(function) or type(function).__module__.startswith("scipy."):
        return function

    def flat(*x: Any) -> Any:
        numbers = iter(x)
        return function(
            *([next(numbers) for _ in range(n[0])] if isinstance(n, list) else next(numbers) for n in takes)
        )

    return Recording(record(flat, sum(n[0] if isinstance(n, list) else n for n in takes)))


def pickled_state(value: Any) -> dict[str, Any]:
    """The fields of a constraint, a force element or a profile, with recordings in place of functions of Python.

    Args:
        value: The object; its ``function_takes`` says what its functions take, where it is not one number.
    """
    takes = getattr(value, "function_takes", (1,))
    return {name: recorded(x, takes) if callable(x) else x for name, x in vars(value).items()}


def _flat(x: tuple[Any, ...]) -> Iterator[Any]:
    for one in x:
        if isinstance(one, (tuple, list)):
            yield from _flat(tuple(one))
        else:
            yield one


def _select(below: Any, bound: Any, then: Any, otherwise: Any) -> Any:
    variable = next((x for x in (below, bound, then, otherwise) if isinstance(x, TapeVariable)), None)
    if variable is None:
        chosen = np.where(np.less(below, bound), then, otherwise)
        return chosen if chosen.ndim else float(chosen)
    return (below + 0.0 * variable).where_below(bound, then, otherwise)


_OPERATIONS: dict[str, Callable[..., Any]] = {
    ADD: lambda x, y: x + y,
    SUB: lambda x, y: x - y,
    MUL: lambda x, y: x * y,
    DIV: lambda x, y: x / y,
    NEG: lambda x: -x,
    SQRT: np.sqrt,
    SIN: np.sin,
    COS: np.cos,
    RINT: np.rint,
    SELECT: _select,
}
