# SPDX-License-Identifier: BSD-3-Clause
"""Clusters that hang from several bodies of one other (**clusters** Fig. 5), against the paper's stacked vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import linkwork as lw
from linkwork.closure.clusters import ties_of
from linkwork.mechanism import Mechanism
from linkwork.model.joints import Revolute
from linkwork.plans.clusters import cluster_tree
from tests.kernels.test_clusters import parts
from tests.support.newton_euler import equations_of_motion, rotation
from tests.support.states import Floats, assert_close

PARENT = (0, 0, 1, 2, 1, 4, 1, 2, 6, 7, 3, 1, 2, 8)
"""Of each body; bodies 1 to 7 are those of the figure."""

ROWS: tuple[Mapping[int, float], ...] = (
    *({3: 1.0, 1: -0.7, 2: 0.4}, {5: 1.0, 4: 1.5}, {7: 1.0, 6: -2.0}),
    *({9: 1.0, 8: 0.8}, {12: 1.0, 10: -0.6, 11: 0.9}),
)
"""Coefficients of joints: clusters {1, 2, 3}, {4, 5}, {6, 7}; {8, 9} on 6 and 7, {10, 11, 12} on 3, 1 and 2."""

CLUSTERS = ((1, 2, 3), (4, 5), (6, 7), (8, 9), (10, 11, 12), (13,))
ROUNDING = 1e-11


@cache
def fig5(seed: int) -> Mechanism:
    """The figure's seven bodies, and six more: a cluster on {6, 7}, one on three bodies, and a body alone."""
    rng = np.random.default_rng([5, seed])
    build = lw.Builder(f"Fig. 5, {seed}")
    for i in range(1, len(PARENT)):
        build.body(f"b{i}", lw.Inertia(rng.uniform(0.5, 2), 0.2 * rng.normal(size=3), rng.uniform(0.05, 0.07, size=3)))
        axis = rng.normal(size=3)
        slides = i in (9, 11) and seed % 2
        joint = lw.joints.Prismatic(axis) if slides else Revolute(axis)
        parent = f"b{PARENT[i]}" if PARENT[i] else "world"
        build.joint(f"j{i}", joint, parent, f"b{i}", lw.Placement(0.3 * rng.normal(size=3)), armature=0.01 * (i % 3))
    for k, row in enumerate(ROWS):
        build.constrain(lw.constraints.JointCoupling({f"j{i}": x for i, x in row.items()}, name=f"row {k}"))
    return build.build()


def order(robot: Mechanism) -> list[int]:
    """The place of each joint, by its number, among the robot's."""
    return [robot.v_slice(f"j{i}").start for i in range(1, len(PARENT))]


def skew(p: Floats) -> Floats:
    """``skew(p) @ x`` is ``p x x``."""
    return np.asarray(np.cross(np.eye(3), p))


def motion_transform(R: Floats, p: Floats) -> Floats:
    """``iX_p`` of motion vectors, angular first, for the pose R, p of body i in its parent."""
    X = np.zeros((6, 6))
    X[:3, :3] = X[3:, 3:] = R.T
    X[3:, :3] = -R.T @ skew(p)
    return X


def cross(v: Floats) -> Floats:
    """``v x`` of motion vectors; that of forces is minus its transpose."""
    return np.block([[skew(v[:3]), np.zeros((3, 3))], [skew(v[3:]), skew(v[:3])]])


def explicit(robot: Mechanism) -> dict[int, Floats]:
    """``G`` of each cluster, by least squares of its rows; the independent joints are those of the library."""
    dependent = {name for report in lw.loops.clusters(robot) for name in report.dependent}
    G = {}
    for c, bodies in enumerate(CLUSTERS):
        rows = [row for row in ROWS if set(row) <= set(bodies)]
        K = np.array([[row.get(i, 0.0) for i in bodies] for row in rows]).reshape(len(rows), len(bodies))
        tied = [k for k, i in enumerate(bodies) if f"j{i}" in dependent]
        free = [k for k, i in enumerate(bodies) if f"j{i}" not in dependent]
        G[c] = np.zeros((len(bodies), len(free)))
        G[c][free] = np.eye(len(free))
        if tied:
            G[c][tied] = -np.linalg.solve(K[:, tied], K[:, free])
    return G


def stacked_cluster_aba(robot: Mechanism, q: Floats, v: Floats, tau: Floats) -> Floats:
    """C-ABA as the paper has it (**clusters** Algorithm 1): stacks of six numbers a body, blocks between clusters."""
    n, places = len(PARENT), order(robot)
    q, v, tau, armature = q[places], v[places], tau[places], robot.armature[places]
    X, S, I = [np.eye(6)] * n, [np.zeros(6)] * n, [np.zeros((6, 6))] * n
    body_v, bias = [np.zeros(6)] * n, [np.zeros(6)] * n
    for i in range(1, n):
        joint = robot.joint(f"j{i}")
        slides = isinstance(joint.type, lw.joints.Prismatic)
        axis, at = joint.type.axis, joint.placement  # type: ignore[union-attr]
        R = at.rotation if slides else at.rotation @ rotation(axis, q[i - 1])
        X[i] = motion_transform(R, at.position + (q[i - 1] * at.rotation @ axis if slides else 0.0))
        S[i] = np.concatenate([np.zeros(3), axis] if slides else [axis, np.zeros(3)])
        body_v[i] = X[i] @ body_v[PARENT[i]] + S[i] * v[i - 1]
        bias[i] = cross(body_v[i]) @ S[i] * v[i - 1]
        inertia = robot.inertias[f"b{i}"]
        c, m = skew(inertia.com), inertia.mass
        I[i] = np.block([[inertia.rotational - m * c @ c, m * c], [-m * c, m * np.eye(3)]])
    cluster = {i: k for k, bodies in enumerate(CLUSTERS) for i in bodies}
    G, IA, pA, Sk, ck, Xk, parent = explicit(robot), {}, {}, {}, {}, {}, {}
    for k, bodies in enumerate(CLUSTERS):
        place = {i: 6 * e for e, i in enumerate(bodies)}
        outputs = {i: PARENT[i] for i in bodies}
        parent[k] = min({cluster.get(PARENT[i], -1) for i in bodies} - {k}, default=-1)
        above = {0: 0} if parent[k] < 0 else {i: 6 * e for e, i in enumerate(CLUSTERS[parent[k]])}
        size = 6 * len(bodies)
        block, ck[k], pA[k], IA[k] = (
            np.zeros((size, len(bodies))),
            np.zeros(size),
            np.zeros(size),
            np.zeros((size,) * 2),
        )
        Xk[k] = np.zeros((size, 6 * len(above)))
        for e, i in enumerate(bodies):
            rows = slice(place[i], place[i] + 6)
            h = outputs[i]
            if h in place:  # Eq. 20: relative to the parent, then to the output body
                inner = slice(place[h], place[h] + 6)
                block[rows] = X[i] @ block[inner]
                ck[k][rows] = X[i] @ ck[k][inner]
                Xk[k][rows] = X[i] @ Xk[k][inner]
            else:  # Eq. 17
                Xk[k][rows, above[h] : above[h] + 6] = X[i]
            block[rows, e] += S[i]
            ck[k][rows] += bias[i]
            IA[k][rows, rows] = I[i]
            pA[k][rows] = -cross(body_v[i]).T @ I[i] @ body_v[i]
        Sk[k] = block @ G[k]  # Eq. 24
    U, D, u = {}, {}, {}
    for k in reversed(range(len(CLUSTERS))):
        joints = [i - 1 for i in CLUSTERS[k]]
        U[k] = IA[k] @ Sk[k]
        D[k] = Sk[k].T @ U[k] + G[k].T @ np.diag(armature[joints]) @ G[k]
        u[k] = G[k].T @ tau[joints] - Sk[k].T @ pA[k]
        Ia = IA[k] - U[k] @ np.linalg.solve(D[k], U[k].T)
        pa = pA[k] + Ia @ ck[k] + U[k] @ np.linalg.solve(D[k], u[k])
        if parent[k] >= 0:
            IA[parent[k]] += Xk[k].T @ Ia @ Xk[k]
            pA[parent[k]] += Xk[k].T @ pa
    a, qdd = {-1: np.concatenate([np.zeros(3), -robot.gravity])}, np.zeros(n - 1)
    for k, bodies in enumerate(CLUSTERS):
        free = Xk[k] @ a[parent[k]] + ck[k]
        y = np.linalg.solve(D[k], u[k] - U[k].T @ free)
        a[k] = free + Sk[k] @ y
        qdd[[places[i - 1] for i in bodies]] = G[k] @ y
    return qdd


def state(robot: Mechanism, seed: int) -> tuple[Floats, Floats, Floats]:
    """With loops closed: couplings are linear, so that positions are as velocities."""
    rng = np.random.default_rng([seed, 8])
    q, v, tau = rng.normal(size=(3, robot.nv))
    G = explicit(robot)
    for k, bodies in enumerate(CLUSTERS):
        joints = [order(robot)[i - 1] for i in bodies]
        q[joints], v[joints] = (
            G[k] @ rng.normal(size=(2, G[k].shape[1], 1))[0, :, 0],
            G[k] @ rng.normal(size=G[k].shape[1]),
        )
    return q, v, tau


def test_clusters_of_the_figure_stay_apart() -> None:
    number = [0, *(int(joint.child[1:]) for joint in fig5(0).joints)]
    found = {
        tuple(sorted(number[i] for i in cluster.bodies)): tuple(sorted(number[i] for i in cluster.outputs))
        for cluster in parts(fig5(0))
    }
    assert found == {
        (1, 2, 3): (0,),
        (4, 5): (1,),
        (6, 7): (1, 2),
        (8, 9): (6, 7),
        (10, 11, 12): (1, 2, 3),
        (13,): (8,),
    }
    report = next(report for report in lw.loops.clusters(fig5(0)) if "b7" in report.bodies)
    assert report.top == "b1" and set(report.outputs) == {"b1", "b2"}


def evaluator(robot: Mechanism, single_parent: bool) -> lw.ForwardDynamics:
    """C-ABA with clusters as they are in the figure, or merged until each hangs from a single body."""
    fd = lw.ForwardDynamics(robot, "cluster")
    tree = cluster_tree(robot, (), ties_of(robot), single_parent=single_parent)
    return fd.on(fd.execution.backend, replace(fd.program, tree=tree))


@pytest.mark.parametrize("way", ["plain", "native", "specialized"])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("merged", [False, True])
def test_forward_dynamics_are_those_of_stacked_clusters(merged: bool, seed: int, way: str) -> None:
    robot = fig5(seed)
    q, v, tau = state(robot, seed)
    fd = evaluator(robot, merged)
    solution = {"plain": fd.plain, "native": lambda: fd, "specialized": fd.compile}[way]()(q, v, tau)
    assert_close(solution.acceleration, stacked_cluster_aba(robot, q, v, tau), ROUNDING)


def belts_over_a_chain(links: int) -> Mechanism:
    """A chain tied into one mechanism, and a gear between wheels on links 1 and 2, 3 and 4, and so on."""
    build = lw.Builder(f"belts over a chain of {links}")
    for i in range(1, links + 1):
        build.body(f"b{i}", lw.Inertia.box(1.0, (0.1, 0.2, 0.3)))
        build.joint(f"j{i}", Revolute("xyz"[i % 3]), f"b{i - 1}" if i > 1 else "world", f"b{i}", at=(0.1, 0.2, 0.3))
        build.body(f"w{i}", lw.Inertia.box(0.1, (0.1, 0.1, 0.1)))
        build.joint(f"w{i}", Revolute("xyz"[i % 3]), f"b{i}", f"w{i}", at=(0.2, 0, 0))
    for i in range(1, links):
        build.constrain(lw.constraints.Gear(f"j{i}", f"j{i + 1}", 0.5 + 0.1 * i, name=f"gear {i}"))
    for i in range(1, links, 2):
        build.constrain(lw.constraints.Gear(f"w{i}", f"w{i + 1}", -1.5, name=f"wheels {i}"))
    return build.build()


def test_the_method_takes_the_clusters_with_fewer_operations() -> None:
    """Apart on a long chain whose links carry gears in pairs, merged on the seven bodies of the figure."""
    counts = {}
    for robot in (belts_over_a_chain(16), fig5(0)):
        cost = [lw.operation_count(evaluator(robot, merged)).total for merged in (False, True)]
        counts[robot.name] = cost
        assert lw.operation_count(lw.ForwardDynamics(robot, "cluster")).total == min(cost)
    apart, merged = counts["belts over a chain of 16"]
    assert apart < 0.9 * merged
    assert counts["Fig. 5, 0"][0] > counts["Fig. 5, 0"][1]


@pytest.mark.parametrize("seed", range(4))
def test_multipliers_balance_the_equations_of_motion(seed: int) -> None:
    robot = fig5(seed)
    q, v, tau = state(robot, seed)
    solution = evaluator(robot, False)(q, v, tau)
    M, c = equations_of_motion(robot, q, v)
    J = np.zeros((len(ROWS), robot.nv))
    J[:, order(robot)] = [[row.get(i, 0.0) for i in range(1, len(PARENT))] for row in ROWS]
    assert_close(M @ solution.acceleration + c, tau + J.T @ solution.multipliers, ROUNDING)


def test_a_chain_between_two_outputs_joins_the_cluster() -> None:
    """A gear between joints on bodies 1 and 2, which nothing else couples: body 2 is one of the cluster."""
    build = lw.Builder("gear over a joint")
    for i, parent in enumerate(("world", "b1", "b1", "b2"), start=1):
        build.body(f"b{i}", lw.Inertia.box(1.0, (0.1, 0.2, 0.3)))
        build.joint(f"j{i}", Revolute("xyz"[i % 3]), parent, f"b{i}", at=(0.1 * i, 0.2, 0))
    build.constrain(lw.constraints.Gear("j3", "j4", 2.0))
    (cluster,) = (cluster for cluster in parts(build.build()) if cluster.rows)
    assert len(cluster.bodies) == 3 and cluster.outputs == (1,)
