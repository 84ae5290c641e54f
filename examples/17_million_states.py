# SPDX-License-Identifier: BSD-3-Clause
"""A million states of a humanoid: at once into an array of your own, on all cores or one; in parts that broadcast."""

from collections.abc import Callable
from time import perf_counter

import numpy as np

import linkwork as lw

POSTURES, MOTIONS = 1000, 1000  # each posture with each motion

robot = lw.zoo.humanoid()
rng = np.random.default_rng(0)
q = robot.integrate(robot.neutral(), rng.uniform(-1, 1, (POSTURES, robot.nv)))
v = rng.normal(size=(MOTIONS, robot.nv))
tau = np.zeros(robot.nv)  # the same for all


def timed(name: str, call: Callable[[], object]) -> None:
    """Call it, and say how many states that is a second."""
    start = perf_counter()
    call()
    seconds = perf_counter() - start
    print(f"{name:<30}{seconds:8.2f} s{POSTURES * MOTIONS / seconds / 1e6:8.2f} million states a second")


# At once. With `out` nothing is allocated; arrays that fit are read where they are.
all_q, all_v = np.repeat(q, MOTIONS, axis=0), np.tile(v, (POSTURES, 1))
a = np.full_like(all_v, np.nan)
print(f"{robot}: {(all_q.nbytes + all_v.nbytes + a.nbytes) / 1e6:.0f} MB of states and accelerations")

fd = lw.ForwardDynamics(robot)
fast, one = fd.compile(), fd.compile(threads=1)  # all cores (LINKWORK_NUM_THREADS bounds them), and one
fast(all_q[:10_000], all_v[:10_000], tau)  # threads are there before the clock runs
timed("at once, all cores", lambda: fast(all_q, all_v, tau, out=a))
timed("at once, one core", lambda: one(all_q, all_v, tau, out=a))

# In parts: (100, 1) postures with (1000,) motions broadcast as in NumPy. Of each part only what is needed is kept.
part = np.empty((100, MOTIONS, robot.nv))
most = np.empty(POSTURES)


def in_parts() -> None:
    """The largest acceleration of each posture, with a tenth of the memory."""
    for k in range(0, POSTURES, len(part)):
        fast(q[k : k + len(part), None], v, tau, out=part)
        most[k : k + len(part)] = np.abs(part).max(axis=(1, 2))


timed(f"in parts of {part.nbytes / 1e6:.0f} MB, all cores", in_parts)
whole = np.abs(a).reshape(POSTURES, -1).max(axis=1)
assert np.array_equal(most, whole), "parts differ from the whole"
print("parts and whole are equal to the last bit")

# Inverse dynamics of what was found gives back the torques that were put in: none.
some = rng.integers(len(a), size=2000)
left = np.abs(lw.InverseDynamics(robot)(all_q[some], all_v[some], a[some])).max()
bias = np.abs(lw.bias_forces(robot, all_q[some], all_v[some])).max()
print(f"2000 of them, by inverse dynamics: {left:.0e} Nm are left of {bias:.0f} Nm")
assert left < 1e-9 * bias
