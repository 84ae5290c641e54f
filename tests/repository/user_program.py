# SPDX-License-Identifier: BSD-3-Clause
"""A program as users write it: type checkers accept it with the installed wheel, whose types they read."""

from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

import linkwork as lw

build = lw.Builder("pendulum")
build.body("arm", lw.Inertia.rod(1.0, (0, 0, 0), (0, 0, -1)))
build.joint("hinge", lw.joints.Revolute("y"), "world", "arm", actuated=True)
robot = build.build()
assert_type(robot, lw.Mechanism)
assert_type(robot.nv, int)

held = robot.constrained(lw.constraints.JointLock("hinge", 0.5))
q = held.assemble([0.1])
forward = lw.ForwardDynamics(held)
solution = forward(q, np.zeros(1), np.zeros(1))
acceleration: npt.NDArray[np.floating[Any]] = solution.acceleration

run = lw.simulate(robot, q=[0.1], v=[0.0], seconds=0.01)
assert_type(run, lw.Trajectory)
print(robot.name, acceleration, run.q[-1])

try:
    robot.joint("hing")
except lw.errors.UnknownName as error:
    print(error)
