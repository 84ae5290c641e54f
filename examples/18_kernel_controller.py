# SPDX-License-Identifier: BSD-3-Clause
"""A controller as kernel code: compiled with the steps, for one robot and for a thousand with targets of their own."""

from __future__ import annotations

import time

import numpy as np

import linkwork as lw

robot = lw.zoo.four_bar()
q = robot.poses["assembled"]
CRANK = robot.v_index("A")


@lw.kernel
def clipped(x, bound):
    """A number between two bounds: kernels choose with `where`, they never branch on a number of the state."""
    return lw.kernels.where(x, -bound, -bound, lw.kernels.where(bound, x, bound, x))


@lw.kernel
def swing(time, q, v, gains, target, most, tau):
    """A PD controller of the crank around a target that swings; torques that are not written are zero."""
    sine, _ = lw.kernels.sincos(6.0 * time)
    wanted = gains[0] * (target + 0.2 * sine - q[CRANK]) - gains[1] * v[CRANK]
    tau[CRANK] = clipped(wanted, most)


def swing_in_python(time: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The same as a Python function."""
    tau = np.zeros(robot.nv)
    wanted = 60.0 * (target + 0.2 * np.sin(6.0 * time) - q[CRANK]) - 3.0 * v[CRANK]
    tau[CRANK] = np.clip(wanted, -20.0, 20.0)
    return tau


target = float(q[CRANK])
controller = lw.Controller(swing, gains=[60.0, 3.0], target=target, most=20.0)
print(controller)

# One robot: machine code from record to record, whatever the controller is asked
for name, one in (("as a kernel", controller), ("in Python", swing_in_python)):
    lw.simulate(robot, q, seconds=0.01, controller=one)  # compiles
    began = time.perf_counter()
    run = lw.simulate(robot, q, seconds=2.0, controller=one, record_every=100)
    print(f"{name}: {(time.perf_counter() - began) / 2000 * 1e6:.1f} µs a step, crank at {run.q[-1, CRANK]:.9f}")
half = lw.simulate(robot, q, seconds=1.0, controller=controller, record_every=100)
again = half.resume(seconds=1.0, controller=controller)
whole = lw.simulate(robot, q, seconds=2.0, controller=controller, record_every=100)
print(f"resumed to the last bit: {np.array_equal(again.q[-1], whole.q[-1])}")

# A thousand robots, each with a target of its own, in SIMD lanes and on all cores
n = 1000
targets = target + np.linspace(-0.3, 0.3, n)
own = lw.Controller(swing, gains=[60.0, 3.0], target=targets, most=20.0, per_robot="target")
many = lw.rollouts(robot, np.tile(q, (n, 1)), seconds=1.0, controller=own)
reached = np.corrcoef(targets, many.q[-1, :, CRANK])[0, 1]
print(f"{many}: targets and cranks correlate by {reached:.2f}")

# What the language does not have is an error with its line, before anything moves


@lw.kernel
def switching(time, q, v, tau):
    """Not a kernel: it branches on a number of the state."""
    if q[CRANK] > 0.0:
        tau[CRANK] = 1.0


try:
    lw.simulate(robot, q, seconds=1.0, controller=switching)
except lw.errors.KernelError as error:
    print(f"KernelError: {error}")
