# SPDX-License-Identifier: BSD-3-Clause
"""Pipelines that recompute unconverged states: with more iterations, then by Jacobians."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from linkwork.compilers.pipeline import Call, Map, Pipeline, Step, When
from linkwork.dynamics.jacobians.constrained import uncertain_rank
from linkwork.dynamics.thresholds import EXACTLY_CLOSED
from linkwork.model.constraints import CenterOfMass
from linkwork.model.model import Model
from linkwork.quantities.jacobian_products import SHORT, left_times, times
from linkwork.quantities.scales import scales_of

if TYPE_CHECKING:
    from linkwork.quantities.products import Product

MULTIPLIED: Mapping[str, Callable[..., Any]] = {
    "jvp": lambda _, *x: sum(map(times, x[: len(x) // 2], x[len(x) // 2 :])),
    "vjp": lambda _, *x: sum(map(left_times, x[len(x) // 2 :], x[: len(x) // 2])),
}
"""Sums of products of Jacobians, the first half, with tangents or cotangents, the other."""


def loses_digits(robot: Model, method: str) -> bool:
    """Whether rows hold several bodies at once: in `prox_bbo` they end at one, and rounding is divided by R.

    Args:
        robot: The mechanism.
        method: The method that solves the linear system.
    """
    return method == "prox_bbo" and any(c.enabled and isinstance(c, CenterOfMass) for c in robot.constraints)


def recomputing(
    pipeline: Pipeline, iterated: Pipeline | None, jacobians: Pipeline | None, gap: int | None = None
) -> Pipeline:
    """A pipeline, and others for its states that are unconverged; a CUDA device, which is not waited for, runs none.

    Args:
        pipeline: Its last output is ``unconverged``.
        iterated: The outputs with more iterations.
        jacobians: The outputs for states that are still unconverged.
        gap: Where results say how far loops are open: Jacobians alone serve states whose loops are closed.
    """
    steps, mask, outputs = list(pipeline.steps), "unconverged", pipeline.outputs
    if gap is not None:
        mask = "unconverged and open"
        steps.append(
            Map(mask, ("unconverged", "result"), lambda _, m, result: m & (result[..., gap] >= EXACTLY_CLOSED))
        )
    for name, further in ((mask, iterated), ("unconverged", jacobians)):
        if further is not None:
            steps.append(When(name, further, outputs, expected=False))
    return replace(pipeline, steps=tuple(steps))


def by_jacobians(product: Product, solution: str, known: Container[str], forces: bool) -> Pipeline:
    """Products with Jacobians of forward dynamics; states in which the rank of rows is uncertain stay unconverged.

    Args:
        product: The product.
        solution: The name of accelerations.
        known: Names of inputs of forward dynamics.
        forces: Whether forces are results or have cotangents.
    """
    evaluator, kind, scales = product.jacobians, product.kind, scales_of(product.robot)
    own = [name for name in evaluator.execution.held if name == "regularization" or name not in known]
    names = {name: f"{name} of Jacobians" for name in own}
    blocks = {name: f"{name} of Jacobians" for name in evaluator.program.algorithm.outputs}
    steps: list[Step] = [Call(evaluator.program, tuple(blocks.values()), names)]
    results = tuple(product.known.results)[: 2 if forces else 1]
    for name in product.result_names:
        pairs = [(name, x) for x in product.inputs] if kind == "jvp" else [(y, name) for y in results]
        further = (f"d{x}" if kind == "jvp" else f"y_{y}" for y, x in pairs)
        factors = *(blocks[f"d{SHORT[y]}_d{x}"] for y, x in pairs), *further
        steps.append(Map(f"{kind}.{name}", factors, MULTIPLIED[kind], rank=1))
    compared = blocks["pivot"], blocks["a"], blocks["f"], solution, "joint scales", "row scales"
    steps.append(Map("unconverged", compared, lambda _, *x: uncertain_rank(*x)))
    outputs = *(f"{kind}.{name}" for name in product.result_names), "unconverged"
    constants = {"joint scales": scales.joints, "row scales": scales.rows}
    return Pipeline(tuple(steps), outputs, constants | {names[name]: evaluator.execution.held[name] for name in own})
