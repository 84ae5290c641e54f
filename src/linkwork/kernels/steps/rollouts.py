# SPDX-License-Identifier: BSD-3-Clause
"""Many steps of one robot in place, as on a GPU with a warp for each robot: controller, step, and the next.

| symbol | meaning                                                                                          |
|--------|--------------------------------------------------------------------------------------------------|
| clock  | steps of the robot since its reset; number of steps to take; steps from one control to the next     |
| flat   | result of the step before, whose forces and activations the next starts from, and of the last one  |

Cost: that of the steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.elementary import copy_numbers
from linkwork.kernels.scalar import Array, Scalar, fma, kernel, prange, some_below, stage, where
from linkwork.kernels.steps.contact_steps import CONTACT_STEPS
from linkwork.kernels.steps.control import Control, torque_kernel
from linkwork.kernels.steps.integrators import SINGLE_STEPS, Step
from linkwork.kernels.steps.reduced_steps import REDUCED_STEPS
from linkwork.kernels.steps.stage_dynamics import DT, StepInputs
from linkwork.model.thresholds import UNBOUNDED

NOW, STEPS, EVERY = range(3)
"""Entries of the clock."""

CLOCK_INTEGERS: dict[str, Shape] = {"clock": (3,)}


@kernel
def unbounded_sum(x: Array, count: int) -> Scalar:
    """Zero where all numbers are finite, else not a number."""
    total = 0.0
    for k in range(count):
        total = total + 0.0 * x[k]
    return total


@kernel
def is_finite(tree: Array, q: Array, v: Array) -> Scalar:
    """One where the state is finite, else zero."""
    return where(unbounded_sum(q, tree.nq) + unbounded_sum(v, tree.nv), UNBOUNDED, 1.0, 0.0)


@kernel
def lose_state(tree: Array, q: Array, v: Array, lost: Scalar) -> None:
    """Set all of the state to ``lost``, which is not a number."""
    for k in prange(tree.nq):
        q[k] = lost
    for k in prange(tree.nv):
        v[k] = lost


def advanced(one: Step) -> Callable[..., None]:
    """The kernel of one step in place; it returns whether the state after it is finite, from whether that before it is.
    A state that is not finite stays so, all of it."""
    step, stages = one.text, one.stages

    @kernel
    def advance(tree: Array, w: Array, q: Array, v: Array, inputs: StepInputs, flat: Array, finite: Scalar) -> Scalar:
        w.clock[NOW] = w.clock[NOW] + 1
        if some_below(-finite, 0.0):
            step(tree, w, q, v, inputs, flat)
            copy_numbers(w.qs, q, tree.nq)
            copy_numbers(w.vs, v, tree.nv)
            after = is_finite(tree, q, v)
            if some_below(after, 0.5):
                lose_state(tree, q, v, unbounded_sum(q, tree.nq) + unbounded_sum(v, tree.nv))
            return after
        for _ in range(stages):
            stage()
        return finite

    return advance


def rollout(integrator: str, dynamics: str, control: Control | None = None) -> Algorithm:
    """Many steps in place: outputs are the state before, and become that after.

    Args:
        integrator: Of the step, as in the tables of steps.
        dynamics: Likewise.
        control: The controller, whose torques are held between its calls; None: torques are given.
    """
    one = (SINGLE_STEPS | CONTACT_STEPS | REDUCED_STEPS)[integrator, dynamics]
    advance = advanced(one)
    inputs: dict[str, Shape] = {k: x for k, x in one.inputs.items() if k not in ("q", "v")} | {"timing": (2,)}
    outputs: dict[str, Shape] = {"q": ("nq",), "v": ("nv",), "result": one.dynamics.result}
    kernel_of_steps: Any

    @kernel
    def steps(
        tree: Array,
        w: Array,
        tau: Array,
        u: Array,
        wrenches: Array,
        passive: Array,
        R: Array,
        timing: Array,
        q: Array,
        v: Array,
        flat: Array,
    ) -> None:
        finite = is_finite(tree, q, v)
        for _ in range(w.clock[STEPS]):
            stage()
            finite = advance(tree, w, q, v, StepInputs(tau, u, wrenches, passive, R, timing), flat, finite)

    name, kernel_of_steps = f"rollout_{integrator}_{dynamics}", steps
    if control is not None:
        torques = torque_kernel(control)

        @kernel
        def controlled_steps(
            tree: Array,
            w: Array,
            u: Array,
            wrenches: Array,
            passive: Array,
            R: Array,
            timing: Array,
            shared: Array,
            own: Array,
            q: Array,
            v: Array,
            flat: Array,
            tau: Array,
        ) -> None:
            finite = is_finite(tree, q, v)
            for _ in range(w.clock[STEPS]):
                stage()
                if w.clock[NOW] % w.clock[EVERY] == 0:
                    time = fma(float(w.clock[NOW]), timing[DT], 0.0)
                    torques(tree, time, q, v, shared, own, tau)
                finite = advance(tree, w, q, v, StepInputs(tau, u, wrenches, passive, R, timing), flat, finite)

        name, kernel_of_steps = f"{name}_{control.text.__name__}", controlled_steps
        inputs.pop("tau")
        inputs |= {"shared": (control.shared,), "own": (control.own,)}
        outputs |= {"tau": ("nv",)}
    work, integers = one.dynamics.work | one.work, {**(one.dynamics.integers or {}), **CLOCK_INTEGERS}
    layout, folded = one.dynamics.layout, one.dynamics.folded
    return Algorithm(name, kernel_of_steps, inputs, outputs, work, layout, folded=folded, integers=integers)
