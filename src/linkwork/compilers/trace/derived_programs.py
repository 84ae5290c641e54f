# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of traced programs as programs: products with Jacobians, Hessian-vector products, sparsity.

Directions and seeds are further input arrays; results stand in place of those of the program. Derivatives by a
configuration, and of one, are in its tangent space (`kernels.tree.tangent_space`).

| program | further inputs                | outputs                                   |
|---------|-------------------------------|-------------------------------------------|
| `jvp`   | ``d<input>``                  | ``J d``, by results                       |
| `vjp`   | ``y_<result>``                | ``y' J``, by inputs                       |
| `hvp`   | ``y_<result>``, ``d<input>``  | derivative of ``y' J`` along ``d``        |
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from linkwork.compilers.program import Derivation, Program
from linkwork.compilers.trace.differentiation import SEEDS, Bools, Place, adjoints, pattern, tangents
from linkwork.compilers.trace.replay import Interpreter
from linkwork.compilers.trace.tracing import Trace
from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.tree.tangent_space import coordinate_rates, velocities_of_rates
from linkwork.model.expressions import Graph, Symbol
from linkwork.plans.tree import Tree


@dataclass(frozen=True, eq=False)
class TangentSpace:
    """Which arrays of a program are configurations: derivatives by them, and of them, are tangent vectors (``nv``)."""

    tree: Tree
    inputs: tuple[str, ...] = ("q",)
    outputs: tuple[str, ...] = ()

    def rates(self, q: Sequence[Any], v: Sequence[Any]) -> list[Any]:
        """Rates of coordinates of a tangent vector (`kernels.tree.tangent_space`)."""
        rates: list[Any] = [0.0] * len(q)
        coordinate_rates(self.tree, q, v, rates)
        return rates

    def velocities(self, q: Sequence[Any], rates: Sequence[Any]) -> list[Any]:
        """The tangent vector of rates of coordinates."""
        v: list[Any] = [0.0] * self.tree.nv
        velocities_of_rates(self.tree, q, rates, v)
        return v

    def cotangent(self, graph: Graph, q: Sequence[Any], gradient: Sequence[Any]) -> list[Any]:
        """The derivative by a tangent vector of that by coordinates: the transpose of `rates`."""
        v = [graph.input(SEEDS, k) for k in range(self.tree.nv)]
        pairs = [(graph.symbol(x), g) for x, g in zip(self.rates(q, v), gradient, strict=True)]
        gradients = adjoints(graph, pairs, lambda array, _: array == SEEDS)
        return [gradients.get((SEEDS, k), 0.0) for k in range(self.tree.nv)]


Parts = Mapping[str, tuple[str, slice]]
"""Results to differentiate, by the names of their derivatives: output arrays of a program, and which part of each."""


def whole(traced: Trace, names: Iterable[str] | None = None) -> dict[str, tuple[str, slice]]:
    """Output arrays of a program as `Parts`; by default all."""
    chosen = [name for name, _ in traced.outputs] if names is None else list(names)
    return {name: (name, slice(None)) for name in chosen}


class Sweeps:
    """Derivatives of one program: further input arrays, and output arrays in place of the program's own.

    Args:
        traced: The program; its graph grows.
        space: Which arrays are configurations.
    """

    def __init__(self, traced: Trace, space: TangentSpace | None = None) -> None:
        self.traced, self.space = traced, space
        self.graph = traced.graph
        self.graph.limit = sys.maxsize
        self._inputs = list(traced.inputs)
        self._numbers = {name: k for k, (name, _) in enumerate(traced.inputs)}
        self._outputs = dict(traced.outputs)

    def input(self, name: str, size: int) -> list[Symbol]:
        """Symbols of a further input array."""
        self._inputs.append((name, size))
        return [self.graph.input(len(self._inputs) - 1, j) for j in range(size)]

    def given(self, name: str) -> list[Symbol]:
        """Symbols of an input array of the program."""
        k = self._numbers[name]
        return [self.graph.input(k, j) for j in range(self.traced.inputs[k][1])]

    def curved(self, name: str) -> TangentSpace | None:
        """The tangent space of an input array, where it is a configuration."""
        return self.space if self.space is not None and name in self.space.inputs else None

    def width(self, name: str) -> int:
        """Numbers of a derivative by an input array."""
        space = self.curved(name)
        return self.traced.inputs[self._numbers[name]][1] if space is None else int(space.tree.nv)

    def directions(self, by: Mapping[str, Sequence[Any]]) -> dict[Place, Any]:
        """Rates of inputs in coordinates, of directions in tangent space."""
        directions: dict[Place, Any] = {}
        for name, direction in by.items():
            space = self.curved(name)
            rates = direction if space is None else space.rates(self.given(name), direction)
            directions |= {(self._numbers[name], j): rate for j, rate in enumerate(rates)}
        return directions

    def part(self, output: str, at: slice) -> tuple[Symbol, ...]:
        """Symbols of results."""
        return self._outputs[output][at]

    def forward(self, of: Parts, by: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        """Derivatives of results along directions (by names of inputs)."""
        flat = [symbol for output, at in of.values() for symbol in self.part(output, at)]
        rates = iter(tangents(self.graph, flat, self.directions(by)))
        products = {}
        for name, (output, at) in of.items():
            products[name] = [next(rates) for _ in self.part(output, at)]
            if self.space is not None and output in self.space.outputs:
                products[name] = self.space.velocities(self.part(output, at), products[name])
        return products

    def reverse(self, of: Parts, seeds: Mapping[str, Sequence[Any]], by: Iterable[str]) -> dict[str, list[Any]]:
        """Derivatives of ``sum seed result`` by input arrays."""
        by = list(by)
        pairs: list[tuple[Symbol, Any]] = []
        for name, (output, at) in of.items():
            symbols, seed = self.part(output, at), list(seeds[name])
            if self.space is not None and output in self.space.outputs:
                seed = self._coordinates(symbols, seed)
            pairs += zip(symbols, seed, strict=True)
        arrays = {self._numbers[name] for name in by}
        adjoint = adjoints(self.graph, pairs, lambda array, _: array in arrays)
        gradients = {}
        for name in by:
            k = self._numbers[name]
            gradient = [adjoint.get((k, j), 0.0) for j in range(self.traced.inputs[k][1])]
            space = self.curved(name)
            gradients[name] = gradient if space is None else space.cotangent(self.graph, self.given(name), gradient)
        return gradients

    def _coordinates(self, q: Sequence[Symbol], seed: Sequence[Any]) -> list[Any]:
        """The seed of coordinates of a cotangent: the transpose of `TangentSpace.velocities`."""
        assert self.space is not None
        rates = [self.graph.input(SEEDS, k) for k in range(len(q))]
        pairs = [(self.graph.symbol(x), y) for x, y in zip(self.space.velocities(q, rates), seed, strict=True)]
        gradients = adjoints(self.graph, pairs, lambda array, _: array == SEEDS)
        return [gradients.get((SEEDS, k), 0.0) for k in range(len(q))]

    def trace(self, name: str, outputs: Mapping[str, Sequence[Any]], limit: int = sys.maxsize) -> Trace:
        """The program that computes these arrays."""
        arrays = tuple((key, tuple(map(self.graph.symbol, values))) for key, values in outputs.items())
        trace = Trace(name, self.graph, tuple(self._inputs), arrays)
        self.graph.limit = limit
        self.graph.check(sum(trace.operation_count().values()))
        return trace


def jvp(
    traced: Trace, of: Parts, by: Sequence[str], space: TangentSpace | None = None, limit: int = sys.maxsize
) -> Trace:
    """The product of the Jacobian with a direction: further inputs ``d<input>``, outputs by the names of ``of``.

    Args:
        traced: The program; its graph grows.
        of: Results to differentiate.
        by: Input arrays to differentiate by.
        space: Which arrays are configurations.
        limit: The most operations; `ProgramTooLarge` where there are more.
    """
    sweeps = Sweeps(traced, space)
    directions = {name: sweeps.input(f"d{name}", sweeps.width(name)) for name in by}
    return sweeps.trace(f"{traced.name}_jvp", sweeps.forward(of, directions), limit)


def vjp(
    traced: Trace, of: Parts, by: Sequence[str], space: TangentSpace | None = None, limit: int = sys.maxsize
) -> Trace:
    """The product of seeds with the Jacobian: further inputs ``y_<result>``, outputs by the names of ``by``.

    Args:
        traced: The program; its graph grows.
        of: Results to differentiate.
        by: Input arrays to differentiate by.
        space: Which arrays are configurations.
        limit: The most operations; `ProgramTooLarge` where there are more.
    """
    sweeps = Sweeps(traced, space)
    return sweeps.trace(f"{traced.name}_vjp", sweeps.reverse(of, _seeds(sweeps, of), by), limit)


def hvp(
    traced: Trace, of: Parts, by: Sequence[str], space: TangentSpace | None = None, limit: int = sys.maxsize
) -> Trace:
    """The derivative of `vjp` along a direction (forward over reverse): further inputs ``y_<result>``, ``d<input>``.

    Args:
        traced: The program; its graph grows.
        of: Results to differentiate.
        by: Input arrays to differentiate by.
        space: Which arrays are configurations.
        limit: The most operations; `ProgramTooLarge` where there are more.
    """
    gradient = vjp(traced, of, by, space)
    return replace(jvp(gradient, whole(gradient), by, space, limit), name=f"{traced.name}_hvp")


def _seeds(sweeps: Sweeps, of: Parts) -> dict[str, list[Symbol]]:
    seeds = {}
    for name, (output, at) in of.items():
        curved = sweeps.space is not None and output in sweeps.space.outputs
        size = sweeps.space.tree.nv if curved and sweeps.space is not None else len(sweeps.part(output, at))
        seeds[name] = sweeps.input(f"y_{name}", int(size))
    return seeds


def sparsity(traced: Trace, output: str, by: str, space: TangentSpace | None = None) -> Bools:
    """Which entries of a Jacobian are not zero in every state, ``(results, inputs)``.

    Args:
        traced: The program.
        output: Its output array.
        by: Its input array to differentiate by.
        space: Which arrays are configurations: their rows and columns are tangent vectors.
    """
    graph, numbers = traced.graph, {name: k for k, (name, _) in enumerate(traced.inputs)}
    size = traced.inputs[numbers[by]][1]
    symbols = dict(traced.outputs)[output]
    entries = pattern(graph, symbols, numbers[by], size)
    if space is not None and by in space.inputs:
        q = [graph.input(numbers[by], j) for j in range(size)]
        v = [graph.input(SEEDS, k) for k in range(space.tree.nv)]
        rates = [graph.symbol(x) for x in space.rates(q, v)]
        entries = entries @ pattern(graph, rates, SEEDS, len(v))
    if space is not None and output in space.outputs:
        seeds = [graph.input(SEEDS, k) for k in range(len(symbols))]
        velocities = [graph.symbol(x) for x in space.velocities(symbols, seeds)]
        entries = pattern(graph, velocities, SEEDS, len(seeds)) @ entries
    return entries


def derived(
    source: Program,
    name: str,
    inputs: Mapping[str, Shape],
    outputs: Mapping[str, Shape],
    make: Callable[[int], Trace],
    *,
    key: str = "",
    others: Sequence[Program] = (),
    iterates: bool = False,
    refines: bool = False,
) -> Program:
    """A program that is made of the trace of another: compiled, or run in plain Python node by node.

    Args:
        source: The program that it is made of.
        name: Its name.
        inputs: Shapes of its inputs.
        outputs: Shapes of its outputs.
        make: Makes its trace, of at most so many operations.
        key: Dependencies of ``make`` beside the sources, for the cache.
        others: Further programs that ``make`` depends on.
        iterates: Whether its trace has further iterations.
        refines: Whether its trace has an iteration to end with.
    """
    plain = Interpreter(lambda: make(sys.maxsize))
    algorithm = Algorithm(
        name,
        plain.first,
        inputs,
        outputs,
        {},
        source.algorithm.layout,
        plain.iterate if iterates else None,
        refinement=plain.refine if refines else None,
    )
    return replace(source, algorithm=algorithm, derivation=Derivation(key, (source, *others), make))
