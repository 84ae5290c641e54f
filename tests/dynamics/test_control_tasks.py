# SPDX-License-Identifier: BSD-3-Clause
"""Recipes for control with loops: Khatib's law by recursions, whole-body control with accelerations left out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import lsq_linear

import linkwork as lw

FRAMES: dict[str, tuple[Callable[[], lw.Mechanism], str, slice]] = {
    "five-bar": (lw.zoo.five_bar, "tip", slice(3, None, 2)),
    "stewart": (lw.zoo.stewart, "platform", slice(3, 6)),
    "stewart pose": (lw.zoo.stewart, "platform", slice(0, 6)),
    "delta": (lw.zoo.delta, "platform", slice(3, 6)),
    "geared chain": (lambda: lw.zoo.geared_chain(6), "link5", slice(3, 6)),
}
"""Robots, frames of theirs, and which rows of `[angular, linear]` are the task."""


@pytest.mark.parametrize("name", FRAMES)
def test_force_of_the_task_is_khatibs_law_and_makes_the_wanted_acceleration(name: str) -> None:
    make, frame, rows = FRAMES[name]
    robot = make()
    rng = np.random.default_rng(3)
    minimal, q = lw.Minimal(robot), robot.poses.get("assembled", robot.neutral())
    near = robot.integrate(q, 0.2 * rng.normal(size=robot.nv))
    q = minimal.complete(robot.assemble(near))
    y = minimal.index
    v = minimal.velocity(q, rng.normal(size=len(y)))
    J = lw.frame_jacobian(robot, q, frame, "aligned")[rows]
    wanted, posture = rng.normal(size=len(J)), rng.normal(size=len(y))

    dynamics = lw.InverseDynamics(robot, "cluster", passive=False)
    a = minimal.acceleration(q, v, posture)
    R = np.kron(np.eye(2), lw.frame_placement(robot, q, frame).rotation)
    inverse_inertia = (R @ lw.OperationalInertia(robot, frame)(q) @ R.T)[rows, rows]
    lacking = wanted - lw.frame_acceleration(robot, q, v, a, frame, "aligned")[rows]
    tau = dynamics(q, v, a)
    tau[y] += minimal.force(q, J.T @ np.linalg.solve(inverse_inertia, lacking))

    G = minimal.matrix(q)
    H, JG = G.T @ lw.mass_matrix(robot, q) @ G, J @ G
    inertia = np.linalg.inv(JG @ np.linalg.solve(H, JG.T))
    still = minimal.acceleration(q, v, np.zeros(len(y)))
    drift = lw.frame_acceleration(robot, q, v, still, frame, "aligned")[rows]
    projector = np.eye(len(y)) - JG.T @ inertia @ np.linalg.solve(H, JG.T).T
    khatib = JG.T @ inertia @ (wanted - drift) + projector @ H @ posture + dynamics(q, v, still)[y]
    slack = 1e-13 * np.linalg.cond(inverse_inertia) * np.linalg.cond(H)
    np.testing.assert_allclose(tau[y], khatib, atol=slack * np.abs(khatib).max())

    made = lw.ForwardDynamics(robot, "cluster")(q, v, tau).acceleration
    reached = lw.frame_acceleration(robot, q, v, made, frame, "aligned")[rows]
    np.testing.assert_allclose(reached, wanted, atol=slack * (1 + np.abs(a).max()))


def test_least_squares_without_accelerations_have_the_solution_of_the_whole_program() -> None:
    """Unknowns u, x alone, against a, u, x and multipliers with dynamics and loops as rows; bounds do not bind."""
    robot = lw.zoo.hopper()
    nv, motor = robot.nv, robot.v_index("hip")
    rng = np.random.default_rng(5)
    q = robot.poses["assembled"]
    v = robot.project_velocity(q, 0.3 * rng.normal(size=nv))
    model = robot.without_contacts()
    foot = lw.contact.ContactGeometry(robot)(q).points[0]
    on_shank = lw.frame_placement(robot, q, "shank").inverse().act(foot)
    J = lw.kinematics.point_jacobian(robot, q, "shank", on_shank)[[0, 2]]
    drift = lw.kinematics.point_acceleration(robot, q, v, np.zeros(nv), "shank", on_shank)[[0, 2]]
    E = np.array([(0.8, 1.0), (-0.8, 1.0)])
    passive = lw.passive_forces(robot, q, v)
    tasks = ((30.0, J, -drift), (1.0, np.eye(nv)[[robot.v_index("rail_z")]], np.array([1.5])))
    little = 1e-2

    batch = lw.ForwardDynamics(model, "lcaba")(q, v, np.vstack([np.zeros(nv), np.eye(nv)[motor], E @ J]) + passive)
    a0, X = batch.acceleration[0], (batch.acceleration[1:] - batch.acceleration[0]).T
    A = np.vstack([w * task @ X for w, task, _ in tasks] + [little * np.eye(3)])
    b = np.concatenate([w * (r - task @ a0) for w, task, r in tasks] + [np.zeros(3)])
    x = lsq_linear(A, b, ([-50, 0, 0], [50, np.inf, np.inf]), method="bvls").x
    assert (x[1:] > 1.0).all() and abs(x[0]) < 49

    K = lw.constraint_jacobian(model, q)
    k = lw.constraint_target(model, q, v) - lw.constraint_bias(model, q, v)
    whole = np.vstack([np.hstack([w * task, np.zeros((len(task), 3 + len(K)))]) for w, task, _ in tasks])
    whole = np.vstack([whole, little * np.eye(3, nv + 3 + len(K), nv)])
    right = np.concatenate([*(w * r for w, _, r in tasks), np.zeros(3)])
    B = np.column_stack([np.eye(nv)[motor], J.T @ E.T])
    rows = np.vstack([np.hstack([lw.mass_matrix(model, q), -B, -K.T]), np.hstack([K, np.zeros((len(K), 3 + len(K)))])])
    held = np.concatenate([passive - lw.bias_forces(model, q, v), k])
    zero = np.zeros((len(rows), len(rows)))
    optimality = np.block([[whole.T @ whole, rows.T], [rows, zero]])
    found = np.linalg.lstsq(optimality, np.concatenate([whole.T @ right, held]), rcond=1e-14)[0]
    np.testing.assert_allclose(found[nv : nv + 3], x, rtol=1e-6)
    np.testing.assert_allclose(found[:nv], a0 + X @ x, atol=1e-6)
