# SPDX-License-Identifier: BSD-3-Clause
"""Masses of a five-bar from a simulated experiment: what motion can tell of them, how well, and by gradients."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.optimize import minimize

import linkwork as lw

model = lw.zoo.five_bar()
truth = model.with_parameters(mass=[1.3, 0.8, 0.9, 1.2] * model.parameters["mass"])  # what nobody knows
minimal = lw.Minimal(model)
motors = minimal.index  # both cranks; the couplers follow

# An experiment: springs and dampers pull the cranks along sums of sines; angles and torques are recorded.
RATES = 2 * np.pi * np.array([[0.5, 1.15, 1.85], [0.65, 1.45, 2.05]])
SWINGS = np.array([[0.25, 0.15, 0.08], [0.20, 0.12, 0.10]])


def control(time: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Torques of the motors."""
    wanted = model.poses["assembled"][motors] + (SWINGS * np.sin(RATES * time)).sum(axis=1)
    rate = (SWINGS * RATES * np.cos(RATES * time)).sum(axis=1)
    tau = np.zeros(model.nv)
    tau[motors] = -60.0 * (q[motors] - wanted) - 3.0 * (v[motors] - rate)
    return tau


run = lw.simulate(truth, truth.poses["assembled"], seconds=4.0, integrator="rk4", controller=control, record_every=10)
q, v, tau = run.q[1:-1], run.v[1:-1], run.tau[1:-1]
a = lw.ForwardDynamics(truth)(q, v, tau).acceleration

# Torques are linear in the inertial parameters: tau + J' lambda = Y pi. Forces of the loop do no work on motions that
# it allows, v = G y': so G' tau = G' Y pi.
G = np.swapaxes(minimal.matrix(q), -1, -2)
Y = lw.InverseDynamics(model, "rnea").regressor(q, v, a)
W, b = (G @ Y).reshape(-1, Y.shape[-1]), (G @ tau[..., None]).ravel()

# What can be told: a column for each base parameter, the others are combinations of these.
Q, R, order = qr(W, mode="economic", pivoting=True)
rank = int((np.abs(np.diag(R)) > 1e-9 * np.abs(R[0, 0])).sum())
solved = solve_triangular(R[:rank, :rank], np.column_stack([Q[:, :rank].T @ b, R[:rank, rank:]]))
found, others = solved[:, 0], solved[:, 1:]
pi = truth.parameters["inertial_parameters"].ravel()[order]
base = pi[:rank] + others @ pi[rank:]
print(f"{rank} of {len(pi)} parameters can be told; off by {np.abs(found - base).max() / np.abs(base).max():.0e}")

# With noise: estimates, and how sure they are.
NOISE = 0.05  # N m
rng = np.random.default_rng(0)
trials = b + NOISE * rng.normal(size=(500, len(b)))
estimates = solve_triangular(R[:rank, :rank], Q[:, :rank].T @ trials.T).T
sigma = NOISE * np.linalg.norm(solve_triangular(R[:rank, :rank], np.eye(rank)), axis=1)
inside = (np.abs(estimates - base) < 1.96 * sigma).mean()
NAMES = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
labels = [f"{NAMES[k % 10]} of {model.body_names[k // 10]}" for k in order[:rank]]
for label, value, estimate, one in zip(labels, base, estimates[0], sigma, strict=True):
    print(f"  {label:<22}{value:9.5f} found as {estimate:9.5f} ± {1.96 * one:.5f}")
print(f"with noise of {NOISE} N m, {inside:.1%} of 500 experiments have the truth within 95 % bounds")

# By gradients: the four masses, the rest being known. One reverse sweep gives the derivatives by all of them.
inverse = lw.InverseDynamics(model, "rnea", parameters=["mass"])


def misfit(logarithms: np.ndarray) -> tuple[float, np.ndarray]:
    """Half the sum of squares of what torques are off, and its gradient; masses are above zero."""
    mass = np.exp(logarithms)
    off = G @ (inverse(q, v, a, mass=mass) - tau)[..., None]
    *_, by_mass = inverse.vjp(q, v, a, (np.swapaxes(G, -1, -2) @ off)[..., 0], mass=mass)
    return 0.5 * float((off**2).sum()), mass * by_mass.sum(axis=0)


fit = minimize(misfit, np.log(model.parameters["mass"]), jac=True, method="BFGS", options={"gtol": 1e-9})
wrong = np.abs(np.exp(fit.x) / truth.parameters["mass"] - 1).max()
print(f"masses by gradients, {fit.nit} iterations: {np.exp(fit.x).round(6)} kg, off by {wrong:.0e}")

figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
axes.errorbar(range(rank), estimates[0] - base, 1.96 * sigma, fmt="o", capsize=3, label="one experiment, 95 % bounds")
axes.violinplot(list((estimates - base).T), range(rank), widths=0.8, showextrema=False)
axes.axhline(0.0, color="k", lw=0.8)
axes.set_xticks(range(rank), labels, rotation=30, ha="right")
axes.set(ylabel="error (kg m, kg m²)")
axes.legend()
Path("out").mkdir(exist_ok=True)
figure.savefig("out/identification.png")
