# SPDX-License-Identifier: BSD-3-Clause
"""A four-bar on a cart swings up: direct collocation with exact derivatives, and a simulation that follows the plan."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import solve_discrete_are
from scipy.sparse import csc_matrix, linalg

import linkwork as lw
from linkwork.derivatives import minimal_derivatives

SECONDS, N, h = 1.0, 80, 1.0 / 80  # how long it takes, in how many intervals, and how long these are

robot = lw.zoo.four_bar_cart_pole()
minimal = lw.Minimal(robot)
free, ny, n = minimal.index, minimal.ny, 2 * minimal.ny  # states x = (y, y') of rail and crank; other joints follow
hanging, upright = (np.concatenate([robot.poses[name][free], np.zeros(ny)]) for name in ("assembled", "upright"))


def closed(q, x):
    """Configurations near ``q`` with rail and crank as in x, and the loop closed."""
    near = robot.integrate(q, (minimal.matrix(q) @ (x[:, :ny] - q[:, free])[..., None])[..., 0])
    near[:, free] = x[:, :ny]
    return robot.assemble(near, fixed=minimal.names)


def dynamics(q, x, u):
    """Rates of all states at once, and their derivatives by x and by the force on the cart, ``(k, n, n + 1)``."""
    d = minimal_derivatives(robot, q, minimal.velocity(q, x[:, ny:]), u[:, None] * np.eye(robot.nv)[free[0]])
    D = np.zeros((len(x), n, n + 1))
    D[:, :ny, ny:n] = np.eye(ny)
    D[:, ny:] = np.concatenate([d.ddy_dy, d.ddy_drate, d.ddy_dtau[:, :, free[:1]]], axis=2)
    return np.concatenate([x[:, ny:], d.ddy], axis=1), D


def defects(x, f):
    """What the trapezoidal rule, the start and the end still miss."""
    return np.concatenate([x[1:] - x[:-1] - h / 2 * (f[1:] + f[:-1]), [x[0] - hanging, x[-1] - upright]]).ravel()


def jacobian(D):
    """Of the defects by all (x, u): two blocks for each interval, and one for each end."""
    C, one, k = np.zeros((N + 2, n, N + 1, n + 1)), np.eye(n, n + 1), np.arange(N)
    C[k, :, k], C[k, :, k + 1] = -one - h / 2 * D[:-1], one - h / 2 * D[1:]
    C[[N, N + 1], :, [0, N]] = one
    return C.reshape((N + 2) * n, -1)


# Least force: h/2 sum u² is minimal where there are no defects, by sequential quadratic programming and a line search
x, u = np.linspace(hanging, upright, N + 1), np.zeros(N + 1)
q = closed(robot.sweep("A", x[:, 1], robot.poses["assembled"]).q, x)
f, D = dynamics(q, x, u)
weights, step, forces = np.diag(np.tile([*np.zeros(n), h], N + 1)), 1.0, []
while np.abs(step).max() > 1e-6:
    c, C, slope = defects(x, f), jacobian(D), np.column_stack([np.zeros((N + 1, n)), h * u]).ravel()
    system = np.block([[weights, C.T], [C, np.zeros((len(c), len(c)))]])
    step, multipliers = np.split(linalg.spsolve(csc_matrix(system), -np.concatenate([slope, c])), [len(slope)])
    penalty = 1.5 * np.abs(multipliers).max()
    merit, promised = h / 2 * u @ u + penalty * np.abs(c).sum(), slope @ step - penalty * np.abs(c).sum()
    for part in 0.5 ** np.arange(20):
        y, w = np.hsplit(np.column_stack([x, u]) + part * step.reshape(N + 1, n + 1), [n])
        p, w = closed(q, y), w.ravel()
        f, D = dynamics(p, y, w)
        if h / 2 * w @ w + penalty * np.abs(defects(y, f)).sum() <= merit + 1e-4 * part * promised + 1e-9 * merit:
            break
    q, x, u = p, y, w
    forces.append(np.abs(u).max())
print(f"{len(forces)} iterations: defects of {np.abs(defects(x, f)).max():.0e}, at most {forces[-1]:.1f} N")

# A regulator about the plan: Riccati's recursion backwards in time, from that of the upright pose
A, B, Q, R = np.eye(n) + h * D[:, :, :n], h * D[:, :, n:], h * np.diag([10.0, 10.0, 1.0, 1.0]), [[0.01 * h]]
P, gains, times = solve_discrete_are(A[N], B[N], Q, R), np.zeros((N + 1, n)), np.linspace(0, SECONDS, N + 1)
for k in range(N, -1, -1):
    gains[k] = np.linalg.solve(R + B[k].T @ P @ B[k], B[k].T @ P @ A[k])[0]
    P = Q + A[k].T @ P @ (A[k] - np.outer(B[k], gains[k]))


def control(time, q, v):
    """Torques: the plan's force and the regulator's, from the end of the plan on those of the upright pose."""
    off = [*q[free], *v[free]] - np.array([np.interp(time, times, column) for column in x.T])
    force = np.interp(time, times, u, right=0.0) - gains[min(round(time / h), N)] @ off
    return force * np.eye(robot.nv)[free[0]]


start = closed(q[:1], hanging[None] + [0.02, 0.05, 0.0, 0.0])[0]
run = lw.simulate(robot, start, seconds=3.0, dt=1e-3, integrator="rk4", controller=control, record_every=25)
off = np.abs([*run.q[-1, free], *run.v[-1, free]] - upright).max()
print(f"two seconds later it is {off:.0e} off upright, the loop open by {run.errors.max():.0e}")
figure, axes = plt.subplots(figsize=(9, 1.8), layout="constrained")
for k, q in enumerate(run.q[:45:4]):  # ten pictures a second, one beside the other
    crank, coupler, rocker = lw.frame_placement(robot, q, ["crank", "coupler", "rocker"]).position
    corner = lw.frame_placement(robot, q, "rocker").act((0.4, 0.0, 0.0))
    axes.plot(*(np.array([crank, coupler, corner, rocker, crank])[:, [0, 2]] + [0.6 * k, 0.0]).T, "o-", ms=4)
axes.set_xticks(0.6 * np.arange(12), [f"{k / 10} s" for k in range(12)])
axes.set(aspect="equal", yticks=[], ylim=(-0.5, 0.5))
Path("out").mkdir(exist_ok=True)
figure.savefig("out/swing_up.png")
