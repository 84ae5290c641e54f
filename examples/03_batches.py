# SPDX-License-Identifier: BSD-3-Clause
"""100 000 states at once: leading axes are batch axes, and a compiled program takes several states at a time."""

from time import perf_counter

import numpy as np

import linkwork as lw

COUNT = 100_000

robot = lw.zoo.humanoid()
rng = np.random.default_rng(0)
q = robot.integrate(robot.neutral(), rng.uniform(-1, 1, (COUNT, robot.nv)))
v = rng.normal(size=(COUNT, robot.nv))
tau = np.zeros(robot.nv)  # the same for all: arguments broadcast as in NumPy

fd = lw.ForwardDynamics(robot)
fast, fast32 = fd.compile(), fd.compile(dtype="float32")
q32, v32, tau32 = (x.astype("float32") for x in (q, v, tau))
a = np.empty((COUNT, robot.nv))

for name, call in (
    ("native", lambda: fd(q, v, tau)),
    ("specialized", lambda: fast(q, v, tau)),
    ("specialized, into an array of our own", lambda: fast(q, v, tau, out=a)),
    ("specialized, float32", lambda: fast32(q32, v32, tau32)),
):
    seconds = float("inf")
    for _ in range(3):
        start = perf_counter()
        call()
        seconds = min(seconds, perf_counter() - start)
    print(f"{name:<40}{seconds * 1e3:8.1f} ms{COUNT / seconds / 1e6:8.2f} million states a second")

# Any number of leading axes will do.
grid = fast(q.reshape(100, 1000, robot.nq), v.reshape(100, 1000, robot.nv), tau).acceleration
print("a grid of states gives a grid of accelerations:", grid.shape)
print("float32 differs by", f"{np.abs(fast32(q32, v32, tau32).acceleration - a).max() / np.abs(a).max():.0e}")
