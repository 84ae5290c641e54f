# SPDX-License-Identifier: BSD-3-Clause
"""Pipelines: programs called one after another on named arrays, with elementwise operations in between. Pure data.

| step   | what it computes                                                                                      |
|--------|-------------------------------------------------------------------------------------------------------|
| `Call` | outputs of a program                                                                                  |
| `Sum`  | ``sum factor * array``, each factor a number or a row of constants                                    |
| `Part` | a part of an array's last axis                                                                        |
| `Mask` | which states satisfy a condition, one boolean a state                                                 |
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


@dataclass(frozen=True, eq=False)
class Part:
    """``output = array[..., at]``."""

    output: str
    array: str
    at: slice


@dataclass(frozen=True, eq=False)
class Mask:
    """``output = test(xp, *arrays)``: one boolean a state."""

    output: str
    arrays: tuple[str, ...]
    test: Callable[..., Any]
    """A pure function of a module of arrays, `numpy`, `torch` or `jax.numpy`, and of the arrays."""


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


Step = Call | Sum | Part | Mask | When


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
    def ranks(self) -> dict[str, int]:
        """The number of axes of one state's array, by name."""
        return _ranks(self, {})


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
        elif isinstance(step, Mask):
            ranks[step.output] = 0
        else:
            ranks = {**_ranks(step.pipeline, ranks), **ranks}
    return ranks
