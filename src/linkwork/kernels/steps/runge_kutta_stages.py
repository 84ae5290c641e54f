# SPDX-License-Identifier: BSD-3-Clause
"""Stages of Runge-Kutta steps as kernels of their own, whose derivatives are chained for large robots.

A step is ``n`` stages and an end (`steps.runge_kutta`). With ``x`` the coordinates of a stage relative to ``q`` and
``v`` the velocities there, a stage gives their rates ``X`` and ``A``, and the end the state at ``x`` and ``v``. The
first stage is at ``q``: ``x`` is zero, and loops are closed there. Corrections that close the loops of later stages
start from constraints at ``q``, where a step has those of the stage before.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.elementary import copy_numbers
from linkwork.kernels.integration import chart_rate, retract
from linkwork.kernels.records import view_of
from linkwork.kernels.scalar import Array, kernel
from linkwork.kernels.steps.integrators import Start, begin_of
from linkwork.kernels.steps.stage_dynamics import (
    COMMANDED,
    DRIVEN_LOOPS_3,
    DRIVEN_MINIMAL,
    DRIVEN_TREES,
    DT,
    LOOPS_3,
    MINIMAL,
    TREES,
    Dynamics,
    StepInputs,
    joint_forces,
    no_dependent_joints,
)
from linkwork.kernels.steps.tableaus import DOPRI5, RK4, Scheme
from linkwork.kernels.tree.actuation import load_activations


class StepStages(NamedTuple):
    """A Runge-Kutta step in parts."""

    scheme: Scheme
    first: Algorithm
    later: Algorithm
    end: Algorithm


class StageStart(NamedTuple):
    """The inputs of a later stage."""

    q: Array
    v: Array
    x: Array
    """(nv,) coordinates of the stage relative to ``q``."""
    inputs: StepInputs


_RATES = (Array, Array, Array)
"""``X``, ``A`` and the result of forward dynamics."""


def _stages(dynamics: Dynamics) -> tuple[Algorithm, Algorithm, Algorithm]:
    accelerations, actuation, joints = dynamics.accelerations, dynamics.actuation, dynamics.coordinates
    begin_step, explicit_constraints = joints.begin_step, joints.explicit_constraints
    dependent_velocities, close_loops = joints.dependent_velocities, joints.close_loops
    closed_velocities, begin = joints.closed_velocities, begin_of(dynamics)
    load = load_activations if dynamics.takes_commands else no_dependent_joints

    @kernel
    def rates(tree: Array, w: Array, inputs: StepInputs, x: Array, X: Array, A: Array, flat: Array) -> None:
        """``X`` and ``A`` at ``w.qs, w.vs``."""
        explicit_constraints(tree, w, w.qs)
        dependent_velocities(tree, w, w.vs)
        load(tree, w, flat)
        joint_forces(tree, w.qs, w.vs, inputs.tau, inputs.passive, 0.0, w.torque)
        actuation(tree, w, w.qs, w.vs, inputs.u, inputs.timing[DT], inputs.timing[COMMANDED], w.torque)
        accelerations(tree, w, w.qs, w.vs, w.torque, inputs, A, flat)
        chart_rate(tree, w.qs, x, w.vs, X)

    @kernel
    def first(tree: Array, w: Array, start: Start, X: Array, A: Array, flat: Array) -> None:
        begin(tree, start.inputs, flat)
        begin_step(tree, w)
        for k in range(tree.nv):
            w.xs[k] = 0.0
            w.vs[k] = start.v[k]
        retract(tree, start.q, w.xs, w.qs)
        rates(tree, w, start.inputs, w.xs, X, A, flat)

    @kernel
    def displaced(tree: Array, w: Array, q: Array, v: Array, x: Array) -> None:
        """``w.qs`` at ``x`` from ``q``, its loops closed, and ``w.vs``."""
        begin_step(tree, w)
        explicit_constraints(tree, w, q)
        for k in range(tree.nv):
            w.vs[k] = v[k]
        retract(tree, q, x, w.qs)
        close_loops(tree, w, w.qs)

    @kernel
    def later(tree: Array, w: Array, start: StageStart, X: Array, A: Array, flat: Array) -> None:
        begin(tree, start.inputs, flat)
        displaced(tree, w, start.q, start.v, start.x)
        rates(tree, w, start.inputs, start.x, X, A, flat)

    @kernel
    def end(tree: Array, w: Array, q: Array, v: Array, x: Array, q1: Array, v1: Array) -> None:
        displaced(tree, w, q, v, x)
        closed_velocities(tree, w, w.vs)
        copy_numbers(w.qs, q1, tree.nq)
        copy_numbers(w.vs, v1, tree.nv)

    own: dict[str, Shape] = {"torque": ("nv",), "xs": ("nv",), "vs": ("nv",), "qs": ("nq",)}
    work, layout, folded = dynamics.work | own, dynamics.layout, dynamics.folded
    at_q: dict[str, Shape] = {"q": ("nq",), "v": ("nv",)}
    at_x: dict[str, Shape] = at_q | {"x": ("nv",)}
    held: dict[str, Shape] = dynamics.inputs | {"timing": (2,)}
    outputs: dict[str, Shape] = {"X": ("nv",), "A": ("nv",), "result": dynamics.result}
    state: dict[str, Shape] = {"q1": ("nq",), "v1": ("nv",)}
    name = f"stage_{dynamics.name}"
    return (
        Algorithm(
            f"first_{name}", first, at_q | held, outputs, work, layout, folded=folded, view=view_of(Start, *_RATES)
        ),
        Algorithm(name, later, at_x | held, outputs, work, layout, folded=folded, view=view_of(StageStart, *_RATES)),
        Algorithm(f"end_{name}", end, at_x, state, work, layout),
    )


STEP_STAGES: dict[str, StepStages] = {
    f"{scheme.name}_{dynamics.name}": StepStages(scheme, *parts)
    for dynamics in (TREES, LOOPS_3, MINIMAL, DRIVEN_TREES, DRIVEN_LOOPS_3, DRIVEN_MINIMAL)
    for parts in (_stages(dynamics),)
    for scheme in (RK4, DOPRI5)
}
"""Parts of Runge-Kutta steps, by the names of their algorithms."""
