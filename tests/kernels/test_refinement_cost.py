# SPDX-License-Identifier: BSD-3-Clause
"""Cost of the last iteration of LCABA, in exact counts: less than a further iteration and a refinement of ABA."""

from __future__ import annotations

import pytest

import linkwork as lw
from linkwork.compilers.program import Program
from linkwork.dynamics.costs import program_cost
from linkwork.dynamics.methods import method_cost
from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.scalar import Array, kernel
from linkwork.kernels.tree.aba import ABA, aba, articulated_bias_forces, joint_accelerations
from linkwork.kernels.tree.kinematics import acceleration_from_parent
from linkwork.kernels.tree.rnea import inertial_force
from linkwork.plans.tree import tree_of
from tests.zoo import test_scenes


@kernel
def solved(
    tree: Array,
    w: Array,
    q: Array,
    v: Array,
    tau: Array,
    wrenches: Array,
    settings: Array,
    a: Array,
    progress: Array,
) -> None:
    """ABA."""
    aba(tree, w, q, v, tau, wrenches, a)
    progress[0] = 1.0
    progress[1] = 1.0


@kernel
def refined(
    tree: Array,
    w: Array,
    q: Array,
    v: Array,
    tau: Array,
    wrenches: Array,
    settings: Array,
    a: Array,
    progress: Array,
) -> None:
    """Inertial forces of the accelerations found, less torques, through ABA's two sweeps without inertias."""
    for j in range(6):
        w.a[0, j] = 0.0
    for i in range(1, tree.n):
        acceleration_from_parent(tree, w, i, a)
        inertial_force(tree, w, i)
    for k in range(tree.nv):
        w.left[k] = tau[k] - tree.armature[k] * a[k]
    articulated_bias_forces(tree, w, w.left)
    joint_accelerations(tree, w, w.da)
    for k in range(tree.nv):
        a[k] += w.da[k]
    progress[0] = 0.0
    progress[1] += 1.0


REFINED_ABA = Algorithm(
    "refined_aba",
    solved,
    {**ABA.inputs, "settings": (3,)},
    {**ABA.outputs, "progress": (2,)},
    {**ABA.work, "da": ("nv",), "left": ("nv",)},
    iteration=refined,
)


@pytest.mark.parametrize("name", ["AH-cube", "AH²-cube"])
def test_last_iteration_takes_less_than_an_iteration_and_a_refinement_of_aba(name: str) -> None:
    """A correction of what the factor misses takes about 43 % of ABA without any constraints."""
    robot = test_scenes.made(name)
    tree = robot.unconstrained()
    free = program_cost(Program.of_robot(tree, REFINED_ABA, tree_of(tree, ())))
    lcaba = method_cost(robot, "lcaba")
    assert free is not None and lcaba is not None
    assert free.total == lw.ForwardDynamics(tree, "aba").operation_count().total
    assert 0.42 < free.iteration / free.total < 0.44
    assert lcaba.iteration < lcaba.refinement < lcaba.iteration + free.iteration
