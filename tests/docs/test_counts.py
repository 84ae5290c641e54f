# SPDX-License-Identifier: BSD-3-Clause
"""Operation counts and limits in sentences of the documentation are what is counted now."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import linkwork as lw
from linkwork.compilers.cuda.device_functions import LONG
from linkwork.compilers.trace.tracing import GPU_OPERATIONS, MAX_OPERATIONS
from linkwork.dynamics.costs import MOST_COUNTED
from linkwork.dynamics.methods import method_cost
from linkwork.inputs import ForwardMethod
from linkwork_benchmarks import robots, scenes
from tests.support import REPOSITORY
from tests.support.linkages import hexapod

DOCS = REPOSITORY / "docs"
Dynamics = lw.ForwardDynamics | lw.InverseDynamics


def spaced(number: int) -> str:
    """As pages print numbers: by thousands."""
    return f"{number:,}".replace(",", " ")


def operations(system: str, method: ForwardMethod) -> str:
    """Of one iteration of a method on a system of **lqr**."""
    cost = method_cost(scenes.LQR_TABLE[system].make(), method)
    assert cost is not None
    return spaced(cost.total)


def thousands(integrator: str) -> str:
    """Operations of second-order products of a step of a quadruped, in thousands."""
    step = lw.Stepper(lw.zoo.quadruped(), integrator=integrator)  # type: ignore[arg-type]
    return spaced(round(step.hvp.operation_count().total, -3))


def articulated(robot: str) -> str:
    """Operations of ABA."""
    cost = method_cost(robots.load(robot).unconstrained(), "aba")
    assert cost is not None
    return spaced(cost.total)


def with_parameters(evaluator: type[Dynamics]) -> Dynamics:
    """An evaluator of Talos, of which all inertial parameters are inputs."""
    return evaluator(scenes.LQR_TABLE["Talos (0D)"].make(), parameters=["inertial_parameters"])


def gradients(evaluator: type[Dynamics]) -> tuple[str, str]:
    """Operations of a gradient by all parameters of Talos over those of the value, and their number."""
    talos = with_parameters(evaluator)
    value, gradient = talos.operation_count().total, talos.vjp.operation_count().total
    return f"{gradient / value:.2f} times", f"({spaced(gradient)})"


SENTENCES: dict[str, tuple[str, Callable[[], str]]] = {
    "PV": (
        "concepts/algorithms/pv.md",
        lambda: (
            f"Operations of `pv`: Go1 on four feet {operations('Go1 (4F3)', 'pv')}, Atlas on feet and hands "
            f"{operations('Atlas (2F+2H)', 'pv')}, Talos on feet and hands {operations('Talos (2F+2H)', 'pv')}."
        ),
    ),
    "PV-early": (
        "reference/methods.md",
        lambda: f"{operations('Talos (2F+2H)', 'pv_early')} on Talos with four welded limbs",
    ),
    "counted programs": (
        "reference/methods.md",
        lambda: (
            f"Programs of more than {spaced(MOST_COUNTED)} operations are not counted, nor dense factors of more "
            f"than {round((6 * MOST_COUNTED) ** (1 / 3))} rows"
        ),
    ),
    "derivatives": (
        "how-to/constrained-derivatives.md",
        lambda: (
            f"a hexapod on six rods takes {spaced(lw.ForwardDynamics(hexapod()).derivatives.operation_count().total)} "
            "operations."
        ),
    ),
    "second order": (
        "how-to/derivatives.md",
        lambda: f"(a quadruped: {thousands('rk4')} and {thousands('dopri5')})",
    ),
    "gradients of forward dynamics": (
        "how-to/parameters.md",
        lambda: "takes {} the operations of forward dynamics with these inputs {}".format(
            *gradients(lw.ForwardDynamics)
        ),
    ),
    "gradients of inverse dynamics": (
        "how-to/parameters.md",
        lambda: "that of inverse dynamics {} {}".format(*gradients(lw.InverseDynamics)),
    ),
    "joints about z": (
        "internals/decisions/mechanics.md",
        lambda: (
            f"ABA of iiwa14 went from 1 228 to {articulated('iiwa14')} operations, of iCub from 12 182 to "
            f"{articulated('icub')}, of UR5 from 722 to {articulated('ur5')};"
        ),
    ),
    "parameters as inputs": (
        "internals/decisions/kernels.md",
        lambda: (
            f"ABA of Talos has {spaced(with_parameters(lw.ForwardDynamics).operation_count().total)} operations with "
            f"all inertial parameters as inputs, and {articulated('talos')} without"
        ),
    ),
    "native products": (
        "how-to/constrained-derivatives.md",
        lambda: f"stays native above {spaced(MAX_OPERATIONS)} operations",
    ),
    "exported programs": (
        "how-to/export.md",
        lambda: f"more than `max_operations` ({spaced(MAX_OPERATIONS)})",
    ),
    "programs of GPUs": ("how-to/gpu.md", lambda: f"beyond {spaced(GPU_OPERATIONS)} operations (`max_operations`)"),
    "parts of programs of GPUs": ("how-to/gpu.md", lambda: f"Programs of more than {spaced(LONG)} operations"),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_counts_in_sentences(name: str) -> None:
    page, sentence = SENTENCES[name]
    assert sentence() in " ".join((DOCS / page).read_text(encoding="utf-8").split())
