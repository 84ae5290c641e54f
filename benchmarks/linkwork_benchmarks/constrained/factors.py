# SPDX-License-Identifier: BSD-3-Clause
"""The factor of the KKT matrix: operations, and times beside Eigen's and Pinocchio's (**proximal** Figs. 4, 5).

| contender            | what is timed                                                                         |
|----------------------|---------------------------------------------------------------------------------------|
| native, specialized  | `joint_space.KktFactor` from ``M``, ``J``, ``R``, through ``bind``                     |
| pinocchio.cholesky   | ``ConstraintCholeskyDecomposition.compute``, which puts the matrix together as well   |
| eigen.dense          | ``Eigen::LDLT`` of the whole matrix                                                   |
| eigen.sparse         | ``Eigen::SimplicialLDLT``, its symbolic part done before                              |

Before anything is timed, factors solve for the accelerations under random torques, which do not depend on the frames
that rows are written in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.quantities.base import BaseEvaluator
from linkwork_benchmarks.constrained import joint_space, pinocchio
from linkwork_benchmarks.constrained.scenarios import REGULARIZATION, Factor
from linkwork_benchmarks.constrained.states import closed_states
from linkwork_benchmarks.contender import Contender
from linkwork_benchmarks.peers import Unable
from linkwork_benchmarks.robots import Floats, States
from linkwork_benchmarks.runner import Journal, Settings, best_times, say

AGREES = 1e-6
"""What solutions by different factors may differ by, of their largest number: K has a condition of 1e8 and more."""
CALLS = 16
"""Calls of a turn, at least."""
SPECIALIZED = 60_000
"""Programs with more operations are timed natively only."""


def factor(scenario: Factor, settings: Settings, journal: Journal) -> None:
    """Operations and times of one robot with its rows."""
    robot, name = scenario.make(), scenario.name
    ours = joint_space.KktFactor(robot, threads=1)
    operations = ours.operation_count().total
    size = robot.nv + robot.nc
    journal.metrics |= {f"{name}.nv": robot.nv, f"{name}.rows": robot.nc, f"{name}.sparse": operations}
    journal.metrics[f"{name}.dense"] = sum(1 + k + k * (k + 1) for k in range(size))
    states = closed_states(robot, 1)
    M, J = lw.mass_matrix(robot, states.q[0]), np.zeros((0, robot.nv))
    if robot.nc:
        J = lw.constraint_jacobian(robot, states.q[0])
    R = np.full(robot.nc, REGULARIZATION)
    K = joint_space.kkt_matrix(M, J, R)
    tau = np.random.default_rng(0).normal(size=robot.nv)
    wanted = np.linalg.solve(K, _right(robot, tau))[robot.nc :]
    contenders = []
    contenders.append(_ours("native", ours, (states.q[0], M, J, R), tau))
    if operations <= SPECIALIZED:
        contenders.append(_ours("specialized", ours.compile(threads=1), (states.q[0], M, J, R), tau))
    for make in (_eigen, _pinocchio):
        try:
            contenders += make(robot, K, tau, states)
        except (ImportError, Unable) as reason:
            journal.note(f"{name}: {reason}")
    kept = []
    for c in contenders:
        error = float(np.abs(c.answer() - wanted).max() / np.abs(wanted).max())
        journal.metrics[f"{name}.{c.name}.error"] = error
        if error < AGREES:
            kept.append(c)
        else:
            journal.note(f"{name}: {c.name} is off by {error:.1e}, and is not timed")
    for c, seconds in zip(kept, best_times(kept, settings), strict=True):
        journal.metrics[f"{name}.{c.name}.us"] = 1e6 * seconds
        say(f"  {c.name:<24}{1e6 * seconds:10.3f} µs")


def _right(robot: lw.Mechanism, tau: Floats) -> Floats:
    """Torques on joints, nothing asked of rows."""
    return np.concatenate((np.zeros(robot.nc), tau))


def _ours(backend: str, evaluator: BaseEvaluator, inputs: tuple[Floats, ...], tau: Floats) -> Contender:
    out = [np.empty(shape) for shape in evaluator.program.output_shapes()]
    call = evaluator.bind(*inputs, out=out)

    def accelerations() -> Floats:
        call()
        L, JL, A = out
        lower, D = np.tril(L, -1) + np.eye(len(L)), np.diag(L)
        unit, pivots = np.tril(A, -1) + np.eye(len(A)), np.diag(A)
        z = np.linalg.solve(lower.T, tau)
        f = np.linalg.solve(unit.T, pivots * np.linalg.solve(unit, JL @ (D * z)))
        return np.asarray(np.linalg.solve(lower, D * (z - JL.T @ f)), dtype=np.float64)

    return Contender(backend, call, [()] * CALLS, CALLS, accelerations)


def _eigen(robot: lw.Mechanism, K: Floats, tau: Floats, states: States) -> list[Contender]:
    import eigenpy
    import scipy.sparse

    dense, columns = eigenpy.LDLT(len(K)), np.asfortranarray(K)
    sparse, matrix = eigenpy.SimplicialLDLT(), scipy.sparse.csc_matrix(K)
    sparse.analyzePattern(matrix)

    def by(solver: Any, factorize: Callable[[Any], Any], matrix: Any) -> Contender:
        def accelerations() -> Floats:
            factorize(matrix)
            found: Floats = np.asarray(solver.solve(_right(robot, tau))).ravel()[robot.nc :]
            return found

        name = "eigen.dense" if solver is dense else "eigen.sparse"
        return Contender(name, factorize, [(matrix,)] * CALLS, CALLS, accelerations)

    return [by(dense, dense.compute, columns), by(sparse, sparse.factorize, matrix)]


def _pinocchio(robot: lw.Mechanism, K: Floats, tau: Floats, states: States) -> list[Contender]:
    import pinocchio as pin

    twin = pinocchio.twin(robot)
    memory, of_constraints = twin.prepared("constraintDynamics")
    q = twin.states(states).q[0]
    pin.crba(twin.model, memory, q, pin.Convention.WORLD)
    pin.computeJointJacobians(twin.model, memory, q)
    for constraint, its in zip(twin.constraints, of_constraints, strict=True):
        constraint.calc(twin.model, memory, its)
    cholesky = pin.ConstraintCholeskyDecomposition(twin.model, memory, twin.constraints, of_constraints)
    arguments = (twin.model, memory, twin.constraints, of_constraints, REGULARIZATION)

    def accelerations() -> Floats:
        cholesky.compute(*arguments)
        right = np.zeros(robot.nc + robot.nv)
        right[robot.nc + twin.v_order] = tau
        found: Floats = np.asarray(cholesky.solve(right)).ravel()[robot.nc + twin.v_order]
        return found

    return [Contender("pinocchio.cholesky", cholesky.compute, [arguments] * CALLS, CALLS, accelerations)]
