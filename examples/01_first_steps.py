# SPDX-License-Identifier: BSD-3-Clause
"""A double pendulum built in code, and its dynamics."""

import numpy as np

import linkwork as lw

rod = lw.Inertia.rod(1.0, (0, 0, 0), (0, 0, -0.5))
build = lw.Builder("double pendulum")
build.body("upper", rod).joint("shoulder", lw.joints.Revolute("y"), "world", "upper")
build.body("lower", rod).joint("elbow", lw.joints.Revolute("y"), "upper", "lower", at=(0, 0, -0.5))
build.frame("tip", on="lower", at=(0, 0, -0.5))
robot = build.build()

q, v, tau = np.array([0.5, 0.2]), np.zeros(2), np.zeros(2)
a = lw.ForwardDynamics(robot)(q, v, tau).acceleration

print(robot)
print("released at", q, "rad it accelerates by", a, "rad/s²")

# The same joints by name, and what holds the pendulum still where it is.
print("at the elbow:", a[robot.v_index("elbow")])
print("it is held there by", lw.InverseDynamics(robot)(q, v, np.zeros(2)), "Nm")
