# SPDX-License-Identifier: BSD-3-Clause
"""A Stewart platform follows a path: leg forces by inverse dynamics of the closed loops, and what they are worth."""

import numpy as np

import linkwork as lw

SECONDS, DT = 2.0, 2e-3
STIFFNESS, DAMPING = 5000.0, 200.0  # N/m and Ns/m: of a spring and a damper in each leg

robot = lw.zoo.stewart()
legs = [robot.v_index(joint.name) for joint in robot.joints if joint.actuated]
leg_lengths = [robot.q_index(f"leg{k}") for k in range(6)]
print(robot, "-", robot.mobility(robot.poses["assembled"]).dof, "degrees of freedom,", len(legs), "motors")


def pose(time: float) -> np.ndarray:
    """The platform swings on an ellipse, rolls and yaws, starting from rest; legs follow in closed form."""
    swing = 2 * np.pi * 1.5 * time
    slowly = time**3 / (time**3 + 0.1)
    x, y, z = slowly * np.array([0.08 * np.sin(swing), 0.06 * np.cos(swing), 0.05 * np.sin(2 * swing)])
    turned = lw.Placement.rpy(
        0.15 * slowly * np.sin(swing), 0.0, 0.3 * slowly * np.cos(swing), position=(x, y, 0.7 + z)
    )
    return lw.zoo.stewart_pose(robot, turned)


# Positions, velocities and accelerations that are wanted: differences on the manifold, 1 ms before and after. They
# are taken in the middle of steps, where a force that is held over the step belongs.
half = DT / 2
path = np.array([pose(k * half) for k in range(2 * round(SECONDS / DT) + 2)])
before, middle, after = path[0:-2:2], path[1:-1:2], path[2::2]
there, back = robot.difference(middle, after) / half, robot.difference(middle, before) / half
velocity, acceleration = (there - back) / 2, (there + back) / half
print(f"loops of the path are open by {np.abs(lw.constraint_error(robot, middle)).max():.0e}")

# The forces that make it move so, by the legs alone, for all moments at once.
wanted = lw.InverseDynamics(robot, "actuated").solve(middle, velocity, acceleration)
print(f"legs push and pull with up to {np.abs(wanted.torque[:, legs]).max():.1f} N, and no other joint does")
made = lw.ForwardDynamics(robot)(middle, velocity, wanted.torque).acceleration
print(
    f"forward dynamics of these forces finds the same accelerations to {np.abs(made - wanted.acceleration).max():.0e}"
)
weight = lw.InverseDynamics(robot, "actuated")(middle, np.zeros(robot.nv), np.zeros(robot.nv))


def track(name: str, forces: np.ndarray) -> float:
    """Simulate with these forces and springs and dampers of the legs: how far the platform is off, in mm."""

    def control(time: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        k = round(time / DT)
        slip = v[legs] - (velocity[k, legs] - half * acceleration[k, legs])
        tau = forces[k].copy()
        tau[legs] -= STIFFNESS * (q[leg_lengths] - before[k, leg_lengths]) + DAMPING * slip
        return tau

    run = lw.simulate(robot, path[0], seconds=SECONDS, dt=DT, integrator="rk4", controller=control)
    moved = (run.q[:-1] - before)[:, robot.q_slice("platform")]
    off = 1e3 * np.linalg.norm(moved[:, :3], axis=1).max()
    print(f"{name:<42}{off:10.4f} mm off at most, loops open by {run.errors.max():.0e}")
    return float(off)


alone = track("springs and dampers alone", 0.0 * wanted.torque)
carried = track("and what carries the weight", weight)
exact = track("and all that inverse dynamics says", wanted.torque)
print(f"inverse dynamics makes it {alone / exact:.0f} times as exact")
assert exact < 0.02 * carried < 0.02 * alone
