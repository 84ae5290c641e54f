# SPDX-License-Identifier: BSD-3-Clause
"""Inside a loop: a four-bar closed, counted, accelerated with the forces that hold it, and what is true of these."""

import numpy as np

import linkwork as lw


def rod(length: float) -> lw.Inertia:
    return lw.Inertia.rod(length, (0, 0, 0), (length, 0, 0))  # 1 kg a meter


build = lw.Builder("four-bar")
build.body("crank", rod(0.5)).joint("motor", lw.joints.Revolute("y"), "world", "crank", actuated=True)
build.body("coupler", rod(1.2)).joint("knee", lw.joints.Revolute("y"), "crank", "coupler", at=(0.5, 0, 0))
build.body("rocker", rod(0.9)).joint("hip", lw.joints.Revolute("y"), "world", "rocker", at=(1, 0, 0))
build.joint("ankle", lw.joints.Revolute("y"), "coupler", "rocker", at=(1.2, 0, 0), child_at=(0.9, 0, 0))
robot = build.build()
print(robot, "closed by", robot.constraints[0])

# A pose with the crank at 0.7 rad, a velocity that the loop allows, and what is left free to move.
q = robot.assemble([0.7, 0.0, 0.0], fixed=["motor"])
v = robot.project_velocity(q, [2.0, 0.0, 0.0])
print("closed at", q, "to", f"{np.abs(lw.constraint_error(robot, q)).max():.0e}")
print("mobility:", robot.mobility(q))

# Five rows of rank two: of all forces that give the same motion, the smallest are found.
fd = lw.ForwardDynamics(robot)
solution = fd(q, v, tau=np.zeros(robot.nv))
print(f"method {fd.method}, {solution.iterations} iterations, rows miss {solution.residual:.0e}")
print("accelerations:", solution.acceleration)
print("forces of the ankle on the rocker:", np.round(solution.forces["ankle"], 4))

# The loop stays closed to second order, and its forces do no work.
J = lw.constraint_jacobian(robot, q)
opening = J @ solution.acceleration + lw.constraint_bias(robot, q, v)
power = solution.multipliers @ (J @ v)
print(f"the loop opens by {np.abs(opening).max():.0e} m/s², the power of its forces is {power:.0e} W")

# The same answer by other methods; this one is dense linear algebra.
other = lw.ForwardDynamics(robot, method="kkt")(q, v, np.zeros(robot.nv))
print(f"kkt differs by {np.abs(other.acceleration - solution.acceleration).max():.0e}")

# Bars that cannot meet are an error that says so.
try:
    lw.zoo.four_bar(coupler=2.0).assemble()
except lw.errors.AssemblyError as error:
    print("AssemblyError:", error)
