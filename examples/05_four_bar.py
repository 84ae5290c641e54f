# SPDX-License-Identifier: BSD-3-Clause
"""A four-bar linkage in ten lines: joints that form a loop, closed, counted, and let go for two seconds."""

import linkwork as lw

build = lw.Builder("four-bar")
for bar, length in {"crank": 0.5, "coupler": 1.2, "rocker": 0.9}.items():
    build.body(bar, lw.Inertia.rod(length, (0, 0, 0), (length, 0, 0)))  # 1 kg a meter
build.joint("motor", lw.joints.Revolute("y"), "world", "crank")
build.joint("knee", lw.joints.Revolute("y"), "crank", "coupler", at=(0.5, 0, 0))
build.joint("hip", lw.joints.Revolute("y"), "world", "rocker", at=(1, 0, 0))
robot = build.joint("ankle", lw.joints.Revolute("y"), "coupler", "rocker", at=(1.2, 0, 0), child_at=(0.9, 0, 0)).build()
run = lw.simulate(robot, robot.assemble([-0.7, 0, 0], fixed=["motor"]), seconds=2.0, integrator="rk4")
print(robot.mobility(run.q[0]), "| loop open by", run.errors.max(), "m | energy", run.energy["total"][[0, -1]], "J")
