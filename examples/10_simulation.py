# SPDX-License-Identifier: BSD-3-Clause
"""A Stewart platform let go, then held: energies, loops that stay closed, and a hundred of them at once."""

import tempfile
from pathlib import Path

import numpy as np

import linkwork as lw

platform = lw.zoo.stewart()
q = platform.poses["assembled"]
print(platform)

# Nothing holds it: it falls, loops closed, energy kept.
run = lw.simulate(platform, q, seconds=0.3, integrator="rk4", record_every=10)
energy = run.energy
print(f"after {run.times[-1]:g} s it moves with {energy['kinetic'][-1]:.3f} J")
print(f"energy changed by {np.ptp(energy['total']):.1e} J, loops are open by {run.errors.max():.1e}")

# Springs and dampers on all joints hold it where it is: torques come from a function in Python.
rest = lw.InverseDynamics(platform, "least").solve(q, np.zeros(platform.nv), np.zeros(platform.nv)).torque


def hold(time: float, at: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """The torques that carry the platform, and some that bring it back."""
    return rest - 50.0 * platform.difference(q, at) - 5.0 * rate


push = platform.project_velocity(q, np.random.default_rng(0).normal(size=platform.nv))
held = lw.simulate(platform, q, push, seconds=1.0, controller=hold, record_every=20)
print(f"pushed and held: {np.abs(held.v[0]).max():.2f} m/s at the start, {np.abs(held.v[-1]).max():.1e} at the end")

# Runs are kept in files, and go on from any state as they did.
with tempfile.TemporaryDirectory() as folder:
    path = run.save(Path(folder) / "fall.npz")
    kept = lw.Trajectory.load(path, platform)
again = kept.resume(10, seconds=0.2)
print("resumed to the last bit:", np.array_equal(again.q, run.q[10:]))

# A hundred platforms pushed differently, a state in each SIMD lane.
pushes = np.linspace(0, 1, 100)[:, None] * push
many = lw.rollouts(platform, np.tile(q, (100, 1)), pushes, seconds=0.1)
print("a hundred at once:", many)
