# SPDX-License-Identifier: BSD-3-Clause
"""A leg whose ankle is driven from above, through a four-bar: torques, minimal coordinates, motion without drift."""

import numpy as np

import linkwork as lw

# Shin and foot, and beside the shin a rod that a motor at the knee pushes through a crank.
build = lw.Builder("leg")
build.body("shin", lw.Inertia.rod(2.0, (0, 0, 0), (0, 0, -0.4)))
build.body("foot", lw.Inertia.box(0.8, (0.2, 0.08, 0.05)))
build.body("crank", lw.Inertia.rod(0.1, (0, 0, 0), (0.06, 0, 0)))
build.body("rod", lw.Inertia.rod(0.2, (0, 0, 0), (0, 0, -0.4)))
build.joint("knee", lw.joints.Revolute("y"), "world", "shin", actuated=True)
build.joint("ankle", lw.joints.Revolute("y"), "shin", "foot", at=(0, 0, -0.4))
build.joint("motor", lw.joints.Revolute("y"), "shin", "crank", actuated=True)
build.joint("crank_pin", lw.joints.Revolute("y"), "crank", "rod", at=(0.06, 0, 0))
build.joint("foot_pin", lw.joints.Revolute("y"), "rod", "foot", at=(0, 0, -0.4), child_at=(0.08, 0, 0.0))
leg = build.build()

cluster = lw.loops.clusters(leg)[0]
print(f"{cluster.constraints} ties {cluster.joints} below '{cluster.top}': {cluster.independent} move freely")

# Close the loop with the motor turned by 0.3 rad, and see what it does to the ankle.
leg = leg.with_independent("motor")
minimal = lw.Minimal(leg)
start = leg.assemble()
start[leg.q_index("motor")] += 0.3
q = minimal.complete(start)
drive = leg.actuation(q).of("ankle")
print(f"one rad/s of the motor is {drive.joint_velocity([1.0])[0]:.3f} at the ankle")
print(f"20 Nm at the ankle need {drive.motor_torque([20.0])[0]:.2f} Nm of the motor")

# The torques that hold the leg still, by the motors alone; then let it fall.
hold = lw.InverseDynamics(leg, "actuated").solve(q, np.zeros(leg.nv), np.zeros(leg.nv))
print("holding torques:", dict(zip(leg.joint_names, np.round(hold.torque, 3).tolist(), strict=True)))
print("the pin carries", np.round(next(iter(hold.forces.values())), 2))

exact = lw.ForwardDynamics(leg, "cluster")(q, np.zeros(leg.nv), np.zeros(leg.nv))
other = lw.ForwardDynamics(leg, "lcaba")(q, np.zeros(leg.nv), np.zeros(leg.nv))
print(f"cluster and lcaba differ by {np.abs(exact.acceleration - other.acceleration).max():.0e} rad/s²")

motion, rate = lw.loops.MinimalMotion(leg), np.zeros(minimal.ny)
before = sum(lw.energy(leg, q, minimal.velocity(q, rate)))
for _ in range(300):
    q, rate = motion.step(q, rate, 1e-3)
after = sum(lw.energy(leg, q, minimal.velocity(q, rate)))
gap = np.abs(lw.constraint_error(leg, q)).max()
print(f"after 0.3 s of falling: loop open by {gap:.0e}, energy changed by {abs(after - before):.0e} J")
