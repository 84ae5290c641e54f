# SPDX-License-Identifier: BSD-3-Clause
"""Pipelines: programs called one after another on named arrays, with elementwise operations in between. Pure data.

| step   | result                                                                                                |
|--------|-------------------------------------------------------------------------------------------------------|
| `Call` | outputs of a program                                                                                  |
| `Sum`  | ``sum factor * array``, each factor a number or a row of constants                                    |
| `Part` | a part of an array's last axis                                                                        |
| `Map`  | a function of arrays, state by state; a mask: which states satisfy a condition, one boolean a state    |
| `When` | in the states of a mask, what another pipeline computes in place of arrays that are there already      |

Steps run in order; a name that is computed again has its new value from there on. Interpreters run pipelines with NumPy
(`pipeline_runner`), torch (`linkwork.torch.pipeline`) and JAX (`linkwork.jax.pipeline`): the same numbers in all three,
and the result of a state does not depend on the other states of its batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy.typing as npt

from linkwork.compilers.program import Program

Factor = float | str
"""A number, or the name of a row of constants."""


@dataclass(frozen=True, eq=False)
class Call:
    """Outputs of a program."""

    program: Program
    outputs: tuple[str, ...]
    """Names of the outputs, in the program's order."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Arrays by inputs of the program; an input that is not here is the array of its own name."""

    @cached_property
    def arguments(self) -> tuple[str, ...]:
        """Names of all arrays that the program reads, in its order."""
        return tuple(self.inputs.get(name, name) for name in self.program.algorithm.inputs)


@dataclass(frozen=True, eq=False)
class Sum:
    """``output = sum factor * array``."""

    output: str
    terms: tuple[tuple[Factor, str], ...]

    def value(self, xp: Any, scope: Mapping[str, Any]) -> Any:
        """The sum.

        Args:
            xp: The module of arrays.
            scope: Arrays by name.
        """
        total: Any = None
        for factor, name in self.terms:
            x = scope[name]
            if isinstance(factor, str):
                x = scope[factor] * x
            elif factor == -1.0 and total is not None:
                total = total - x
                continue
            elif factor != 1.0:
                x = -x if factor == -1.0 else factor * x
            total = x if total is None else total + x
        return total


@dataclass(frozen=True, eq=False)
class Part:
    """``output = array[..., at]``."""

    output: str
    array: str
    at: slice

    def value(self, xp: Any, scope: Mapping[str, Any]) -> Any:
        """The part.

        Args:
            xp: The module of arrays.
            scope: Arrays by name.
        """
        return scope[self.array][..., self.at]


@dataclass(frozen=True, eq=False)
class Map:
    """``output = function(xp, *arrays)``, state by state. Without axes of its own it is a mask: one boolean a state."""

    output: str
    arrays: tuple[str, ...]
    function: Callable[..., Any]
    """A pure function of a module of arrays, `numpy`, `torch` or `jax.numpy`, and of the arrays."""
    rank: int = 0
    """Axes of one state's array."""

    def value(self, xp: Any, scope: Mapping[str, Any]) -> Any:
        """The array.

        Args:
            xp: The module of arrays.
            scope: Arrays by name.
        """
        return self.function(xp, *(scope[name] for name in self.arrays))


@dataclass(frozen=True, eq=False)
class When:
    """In the states of a mask, ``outputs`` as another pipeline computes them."""

    mask: str
    pipeline: Pipeline
    outputs: tuple[str, ...]
    """Names of arrays that exist before, and that the pipeline computes anew."""
    expected: bool = True
    """Whether the structure of the robot says that there are such states. A device that is not waited for runs the
    pipeline for all states if so, and for none if not; others look at the mask."""

    def selected(self, xp: Any, ranks: Mapping[str, int], scope: Mapping[str, Any], results: Mapping[str, Any]) -> Any:
        """Outputs by name: results in the states of the mask, arrays as they were in others.

        Args:
            xp: The module of arrays.
            ranks: Axes of one state's arrays (`Pipeline.ranks`).
            scope: Arrays as they were.
            results: Arrays that the pipeline computed.
        """
        mask = scope[self.mask]
        wide = {name: mask.reshape((*mask.shape, *[1] * ranks[name])) for name in self.outputs}
        return {name: xp.where(wide[name], results[name], scope[name]) for name in self.outputs}


Step = Call | Sum | Part | Map | When


@dataclass(frozen=True, eq=False)
class Pipeline:
    """Steps in order, and the constants that they read."""

    steps: tuple[Step, ...]
    outputs: tuple[str, ...]
    """Names of the results."""
    constants: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    """Arrays that are the same for all states and calls, by name."""

    def calls(self) -> Iterator[Call]:
        """Calls that are made for every state: those of `When` are not."""
        return (step for step in self.steps if isinstance(step, Call))

    @cached_property
    def reads(self) -> frozenset[str]:
        """Names of arrays that steps read, those of inner pipelines too."""
        return frozenset(name for step in self.steps for name in _reads(step))

    @cached_property
    def released(self) -> tuple[tuple[str, ...], ...]:
        """Of each step, arrays computed so far that no later step reads, and that are no results."""
        last = {name: k for k, step in enumerate(self.steps) for name in (*_reads(step), *_writes(step))}
        computed = {name for step in self.steps for name in _writes(step)} - {*self.outputs}
        return tuple(tuple(name for name in computed if last[name] == k) for k in range(len(self.steps)))

    @cached_property
    def ranks(self) -> dict[str, int]:
        """The number of axes of one state's array, by name."""
        return _ranks(self, {})


def _reads(step: Step) -> tuple[str, ...]:
    """Names of arrays that a step reads, those of inner pipelines too."""
    match step:
        case Call():
            return step.arguments
        case Sum():
            return tuple(name for term in step.terms for name in term if isinstance(name, str))
        case Part():
            return (step.array,)
        case Map():
            return step.arrays
    return step.mask, *step.outputs, *step.pipeline.reads


def _writes(step: Step) -> tuple[str, ...]:
    """Names of arrays that a step computes."""
    return step.outputs if isinstance(step, Call | When) else (step.output,)


def _ranks(pipeline: Pipeline, outer: Mapping[str, int]) -> dict[str, int]:
    ranks = {**outer, **{name: x.ndim for name, x in pipeline.constants.items()}}
    for step in pipeline.steps:
        if isinstance(step, Call):
            program = step.program
            ranks |= zip(step.arguments, map(len, program.input_shapes()), strict=True)
            ranks |= zip(step.outputs, map(len, program.output_shapes()), strict=True)
        elif isinstance(step, Sum):
            ranks[step.output] = max(ranks.get(name, 1) for _, name in step.terms)
        elif isinstance(step, Part):
            ranks[step.output] = ranks.get(step.array, 1)
        elif isinstance(step, Map):
            ranks[step.output] = step.rank
        else:
            ranks = {**_ranks(step.pipeline, ranks), **ranks}
    return ranks
