# SPDX-License-Identifier: BSD-3-Clause
"""A control loop: PD control of a pendulum around its upright pose, with the dynamics bound to arrays."""

import tracemalloc
from itertools import repeat

import numpy as np

import linkwork as lw

robot = lw.zoo.pendulum()
fast = lw.ForwardDynamics(robot).compile(lanes=1)

q, v, tau, a = (np.zeros(robot.nv) for _ in range(4))
step = fast.bind(q, v, tau, out=a)  # shapes are checked here, numbers at every call

target, stiffness, damping, dt = np.pi, 60.0, 12.0, 1e-3
q[:] = target - 0.5

for k in range(3001):
    tau[:] = stiffness * (target - q) - damping * v
    step()  # reads q, v and tau as they are now, writes a
    v += dt * a
    q += dt * v
    if k % 500 == 0:
        print(f"t = {k * dt:.1f} s   q = {q[0]:.6f} rad   tau = {tau[0]:+.4f} Nm")

# The call itself allocates nothing, not even for a moment.
loop = repeat(None, 1000)
tracemalloc.start()
for _ in loop:
    step()
print("memory allocated by 1000 calls, at its peak:", tracemalloc.get_traced_memory()[1], "bytes")

# Numbers are still checked: what is wrong is said, not computed with.
q[0] = np.nan
try:
    step()
except lw.errors.InputError as error:
    print("InputError:", error)
