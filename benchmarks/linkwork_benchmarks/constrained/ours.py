# SPDX-License-Identifier: BSD-3-Clause
"""linkwork's methods of constrained dynamics as contenders, with a fixed number of iterations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np

import linkwork as lw
from linkwork.quantities.base import BaseEvaluator
from linkwork.quantities.scales import scales_of
from linkwork_benchmarks.contender import Contender, one_by_one
from linkwork_benchmarks.robots import Floats, States
from linkwork_benchmarks.scenarios import BATCH

NEVER = 1e-300
"""A tolerance that no iteration meets."""


def in_the_papers_units(robot: lw.Mechanism) -> lw.Mechanism:
    """The robot whose rows are damped by the number that is given, not by a part of the inverse inertia they feel."""
    felt = scales_of(robot).rows
    parts = [
        replace(c, compliance=c.compliance / felt[robot.row_slice(c.name)], time_constant=None)
        for c in robot.constraints
    ]
    return replace(robot, constraints=tuple(parts))


def dynamics(robot: lw.Mechanism, method: str, regularization: float, iterations: int) -> lw.ForwardDynamics:
    """A method that does as many iterations as it is told; those that do not iterate do one."""
    plain = in_the_papers_units(robot)
    return lw.ForwardDynamics(
        plain, cast(Any, method), regularization=regularization, tolerance=NEVER, max_iterations=iterations, threads=1
    )


def single(name: str, fd: lw.ForwardDynamics, states: States) -> Contender:
    """A state a call."""
    return Contender(name, fd, one_by_one(tuple(states)), len(states.q), lambda: answer(fd, states), tolerance=1e-6)


def soft_gauss(name: str, evaluator: BaseEvaluator, states: States, regularization: float) -> Contender:
    """LTL-s (`joint_space.SoftGauss`), a state a call."""
    R = np.full((len(states.q), evaluator.robot.nc), regularization)
    few = one_by_one((*states, R))
    return Contender(name, evaluator, few, len(few), lambda: np.array([evaluator(*a) for a in few]), tolerance=1e-6)


def batch(name: str, fd: lw.ForwardDynamics, states: States) -> Contender:
    """`BATCH` states a call, on one thread."""
    repeated = np.arange(BATCH) % len(states.q)
    many = tuple(np.ascontiguousarray(x[repeated]) for x in states)

    def first() -> Floats:
        found: Floats = fd(*many).acceleration[: len(states.q)]
        return found

    return Contender(name, fd, [many], BATCH, first, tolerance=1e-6)


def answer(fd: lw.ForwardDynamics, states: States) -> Floats:
    """Accelerations, one call for each state: code for batches may be other code."""
    return np.array([fd(*state).acceleration for state in zip(*states, strict=True)])
