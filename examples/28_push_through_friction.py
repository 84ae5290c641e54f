# SPDX-License-Identifier: BSD-3-Clause
"""A box is pushed to a place on the floor: gradients of a whole rollout, through friction that first holds it.

Pushes below the friction limit move nothing, and have no gradient: an optimizer that starts at rest sees nothing. With
smoothed contacts it does. The simulation itself is never smoothed.
"""

import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import linkwork as lw

DT, STEPS, PIECES = 5e-3, 120, 12
TARGET = np.array([0.5, 0.2])  # where the box is to stand, in meters, from where it stands now
LIMIT = 0.5 * 9.81  # of friction, in newtons: the box has 1 kg

box = lw.zoo.sliding_box(friction=0.5)
stepper = lw.Stepper(box, dt=DT)
start = box.poses["assembled"]
still = np.zeros(box.nv)


def torques(pushes: np.ndarray) -> np.ndarray:
    """Forces on the box in each step, of pushes along x and y that are constant in each piece of time."""
    tau = np.zeros((STEPS, box.nv))
    tau[:, :2] = np.repeat(pushes.reshape(PIECES, 2), STEPS // PIECES, axis=0)
    return tau


def cost_and_gradient(flat: np.ndarray, smoothing: float | None) -> tuple[float, np.ndarray]:
    """How far from the target the box ends, how fast it is there, and what the pushes cost."""
    rollout = lw.derivatives.Adjoint(stepper, smoothing=smoothing)(start, still, torques(flat))
    missed = rollout.q[-1, :2] - start[:2] - TARGET
    speed = rollout.v[-1, :2]
    cost = 50 * missed @ missed + speed @ speed + 1e-4 * flat @ flat
    y_q, y_v = np.zeros((2, box.nv))
    y_q[:2], y_v[:2] = 100 * missed, 2 * speed  # the box does not turn: its axes are the world's
    by_tau = rollout.gradient(y_q, y_v).tau[:, :2]
    by_pieces = by_tau.reshape(PIECES, STEPS // PIECES, 2).sum(axis=1).ravel()
    return float(cost), by_pieces + 2e-4 * flat


pushes = np.tile(0.1 * LIMIT * TARGET / np.linalg.norm(TARGET), PIECES)  # a tenth of what friction holds
for smoothing in (None, 0.05):
    gradient = cost_and_gradient(pushes, smoothing)[1]
    print(f"gradient at rest, smoothing {smoothing}: {np.abs(gradient).max():.2g}")

# Along smoothed gradients, in steps of about their sign (Adam): what they say of a box that does not move yet is no
# slope of its cost, which a line search would want.
begin = time.perf_counter()
mean, square = np.zeros((2, pushes.size))
for k in range(1, 61):
    cost, gradient = cost_and_gradient(pushes, 0.05)
    mean, square = 0.9 * mean + 0.1 * gradient, 0.99 * square + 0.01 * gradient**2
    pushes = pushes - 0.5 * (mean / (1 - 0.9**k)) / (np.sqrt(square / (1 - 0.99**k)) + 1e-9)
    if k % 20 == 0:
        print(f"after {k} rollouts: cost {cost:.3f}")

# The box slides now: gradients of the simulation as it is do the rest.
found = minimize(cost_and_gradient, pushes, args=(None,), jac=True, method="L-BFGS-B", options={"maxiter": 60})
pushes = found.x
print(f"after {found.nfev} more, not smoothed: cost {found.fun:.3f}")
print(f"{60 + found.nfev} rollouts of {STEPS} steps with their gradients: {time.perf_counter() - begin:.1f} s")

made = lw.derivatives.Adjoint(stepper)(start, still, torques(pushes))
path = made.q[:, :2] - start[:2]
print(f"the box ends {1000 * np.linalg.norm(path[-1] - TARGET):.1f} mm from its target")
speed, most = np.linalg.norm(made.v[-1, :2]), np.abs(pushes).max() / LIMIT
print(f"at {speed:.3f} m/s; the largest push is {most:.1f} times friction")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5))
left.plot(*path.T)
left.plot(*TARGET, "kx")
left.set(xlabel="x, m", ylabel="y, m", title="path of the box", aspect="equal")
right.step(made.time[:-1], torques(pushes)[:, :2], where="post", label=["x", "y"])
right.axhline(LIMIT, color="0.7", linestyle="--")
right.set(xlabel="t, s", ylabel="push, N", title="pushes; friction holds what is below the line")
right.legend()
figure.tight_layout()
Path("out").mkdir(exist_ok=True)
figure.savefig("out/push_through_friction.png", dpi=120)
print("out/push_through_friction.png has the path and the pushes")
