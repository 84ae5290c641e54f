# SPDX-License-Identifier: BSD-3-Clause
"""A humanoid whose feet stand on the ground: held where they are, carrying its weight, and one of them lifted."""

import numpy as np

import linkwork as lw

robot = lw.zoo.humanoid()
q = robot.neutral()

# `at=q` holds the feet where they are at q. The time constant pulls them back if they drift.
feet = [lw.constraints.Weld("world", f"{side}_foot", name=side, time_constant=0.05) for side in ("left", "right")]
standing = robot.constrained(*feet, at=q)
print(standing, "-", standing.mobility(q))

# Torques that hold the body still: gravity's share of the joints, once the feet carry the rest.
rest = np.zeros(robot.nv)
J, g = lw.constraint_jacobian(standing, q), lw.gravity_forces(robot, q)
base = robot.v_slice("base")
forces = np.linalg.lstsq(J[:, base].T, g[base], rcond=None)[0]  # the base has no motor: J' forces = g there
tau = g - J.T @ forces
print(f"the base is driven by {np.abs(tau[base]).max():.0e}, joints by up to {np.abs(tau).max():.1f} Nm")

fd = lw.ForwardDynamics(standing)
still = fd(q, rest, tau)
carried = sum(force[5] for force in still.forces.values())  # [moment, force] in the axes of the first place, the world
print(f"{fd.method}: still to {np.abs(still.acceleration).max():.0e} in {still.iterations} iterations")
print("forces on the feet:", {name: np.round(force[3:], 2) for name, force in still.forces.items()})
print(f"they carry {carried:.3f} N, the weight is {9.81 * robot.mass:.3f} N")

# Limp joints: the body gives way, the feet stay.
limp = fd(q, rest, rest)
print(f"without torques joints accelerate by up to {np.abs(limp.acceleration).max():.0f} rad/s², feet by", end=" ")
print(f"{np.abs(J @ limp.acceleration).max():.0e}")

# One foot off the ground: nothing is planned anew, the other carries all.
lifted = standing.switched({"left": False})
one = lw.ForwardDynamics(lifted)(q, rest, tau)
print("on the right foot alone:", lifted.mobility(q))
print("left foot:", one.forces["left"], "right foot:", np.round(one.forces["right"], 1))

# A batch of states in one call, by a program made for this robot.
fast = fd.compile()
qs = robot.integrate(q, np.random.default_rng(0).uniform(-0.01, 0.01, (1000, robot.nv)))
batch = fast(qs, rest, tau)
print("1000 states:", batch.acceleration.shape, "all converged:", bool(batch.converged.all()))
