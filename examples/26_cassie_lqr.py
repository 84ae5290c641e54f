# SPDX-License-Identifier: BSD-3-Clause
"""An LQR balances Cassie on its feet: exact linearization with loops and held feet, then pushes with real contact.

Needs Cassie's file: ``LINKWORK_MODELS`` is the folder that has ``cassie/cassie.xml`` in it.
"""

import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import block_diag, expm, null_space, solve, solve_discrete_are

import linkwork as lw

MODELS = Path(os.environ.get("LINKWORK_MODELS", Path(__file__).resolve().parents[2] / "shared" / "models"))
FILE = MODELS / "cassie" / "cassie.xml"
ENDS = {"toe": (-0.052821, 0.092622, 0.0), "heel": (0.069746, -0.010224, 0.0)}  # of the foot's capsule in the file,
RADIUS, DT, N = 0.02, 1e-3, int(sys.argv[1]) if len(sys.argv) > 1 else 6  # its radius; steps; pushes are N x N

if not FILE.is_file():
    print(f"no {FILE.name} in {FILE.parent}: set LINKWORK_MODELS to the folder of models")
    sys.exit()

cassie = lw.load(FILE).without_contacts().with_contacts("left-foot", "right-foot", friction=0.8)
ends = {f"{side} {end}": f"{side}-foot" for side in ("left", "right") for end in ENDS}
for name, foot in ends.items():
    cassie = cassie.with_frame(name, foot, lw.Placement(ENDS[name.split()[1]]))
sprung = [joint.name for joint in cassie.joints if joint.stiffness.any()]

# Both feet flat on the ground; then held there by points, with springs that settle and torques that carry it
home = cassie.assemble(cassie.poses["home"])
where = {name: lw.frame_placement(cassie, home, name).position for name in ends}
flat = [
    lw.FrameTask(name, position=(*at[:2], RADIUS), position_weight=("heel" in name, 1, 1)) for name, at in where.items()
]
q = cassie.inverse_kinematics(*flat, lw.PostureTask(home), q=home, fixed=sprung).q
ground = {name: lw.frame_placement(cassie, q, name).position * [1, 1, 0] for name in ends}
points = [lw.Point("world", foot, first_at=ground[name], name=name) for name, foot in ends.items()]
held = cassie.constrained(*points, at=q)
stance = held.equilibrium(q)
q, hold = stance.q, stance.torque

# LINEARIZED
motors = [cassie.v_index(motor.joint) for motor in cassie.actuators]
seen = [*range(6), *(cassie.v_index(name) for name in sprung)]  # what is measured: the pelvis, and how springs bend
still = np.zeros(cassie.nv)
V = null_space(lw.constraint_jacobian(held, q), rcond=1e-5)
_, size, directions = np.linalg.svd(V[seen])
V = V @ directions[: (size > 1e-3).sum()].T  # without the rods' spin about themselves, which moves nothing else
forces = np.concatenate([stance.forces[c.name] for c in held.constraints])
bend = lw.constraint_derivatives(held, q, np.zeros_like(V.T), V.T).ds_dq  # of J V: by symmetry that of J' f, too
weight = lw.InverseDynamics(held, "rnea", passive=False).derivatives(q, still, still).dtau_dq
M = V.T @ lw.mass_matrix(cassie, q) @ V
n, m = V.shape[1], len(motors)
A = np.zeros((2 * n + m, 2 * n + m))  # and torques, which stay through a step
A[:n, n : 2 * n] = np.eye(n)
A[n : 2 * n, :n] = solve(M, (np.einsum("r,krv->kv", forces, bend) - V.T @ (weight + np.diag(cassie.stiffness))) @ V)
A[n : 2 * n, n : 2 * n] = solve(M, -(V.T * cassie.damping) @ V)
A[n : 2 * n, 2 * n :] = solve(M, V.T[:, motors])
print(f"{n} degrees of freedom, {(np.linalg.eigvals(A).real > 1e-6).sum()} of them unstable")

# The regulator of the sampled model, for what the pelvis does
step = expm(DT * A)[: 2 * n]
costs = (V[:6].T @ V[:6] + 0.01 * np.eye(n)), 0.01 * np.eye(m)
P = solve_discrete_are(step[:, : 2 * n], step[:, 2 * n :], block_diag(100.0 * costs[0], costs[0]), costs[1])
B = step[:, 2 * n :]
gains = solve(costs[1] + B.T @ P @ B, B.T @ P @ step[:, : 2 * n])
print(f"with the regulator all decay: {np.abs(np.linalg.eigvals(step[:, : 2 * n] - B @ gains)).max():.4f} a step")
kp, kd = (np.column_stack([part @ np.linalg.inv(V[seen]), np.zeros((m, m))]) for part in (gains[:, :n], gains[:, n:]))
springs_and_dampers = [np.column_stack([np.zeros((m, n)), k * np.eye(m)]) for k in (1000.0, 30.0)]  # for comparison
PLAIN = tuple(int(cassie.q_index(name)) for name in [*sprung, *(motor.joint for motor in cassie.actuators)])
RATES, MOTORS = (*seen, *motors), tuple(motors)
MOST = 2 * [112.5, 112.5, 195.0, 195.0, 45.0]  # N m, of Cassie's motors


@lw.kernel
def balance(time, q, v, rest, hold, kp, kd, most, tau):
    """Torques that hold it, less gains times differences and rates, within the motors' limits."""
    a, b = (rest[3], rest[4], rest[5]), (q[3], q[4], q[5])
    for k in range(len(MOTORS)):
        x = hold[k]
        for j in range(3):
            i, o = (j + 1) % 3, (j + 2) % 3
            x -= kp[k, j] * (q[j] - rest[j])
            x -= 2.0 * kp[k, 3 + j] * (rest[6] * b[j] - q[6] * a[j] - (a[i] * b[o] - a[o] * b[i]))
        for j in range(len(PLAIN)):
            x -= kp[k, 6 + j] * (q[PLAIN[j]] - rest[PLAIN[j]])
        for j in range(len(RATES)):
            x -= kd[k, j] * v[RATES[j]]
        tau[MOTORS[k]] = lw.where(x, -most[k], -most[k], lw.where(most[k], x, most[k], x))


def stands(run: lw.Trajectory) -> np.ndarray:
    """Whether the pelvis is near its place in the end."""
    return np.abs(np.nan_to_num(run.q[-1, ..., :3], nan=9.0) - q[:3]).max(axis=-1) < 0.05


pushes = np.stack(np.meshgrid(np.linspace(-0.3, 0.4, N), np.linspace(0.0, 0.35, N)), axis=-1).reshape(-1, 2)
rates = np.zeros((N * N, cassie.nv))
rates[:, :2] = pushes  # m/s of the pelvis, forwards and to the left
figure, views = plt.subplots(1, 2, figsize=(8, 3.5), sharey=True, layout="constrained")
for axes, name, (p, d) in zip(views, ("LQR", "springs and dampers"), ((kp, kd), springs_and_dampers), strict=True):
    control = lw.Controller(balance, rest=q, hold=hold[motors], kp=p, kd=d, most=MOST)
    run = lw.rollouts(cassie, np.tile(q, (N * N, 1)), rates, seconds=1.5, dt=DT, controller=control, record_every=1500)
    good = stands(run)
    print(f"{name}: stands after {good.sum()} of {N * N} pushes")
    for which, mark in ((good, "o"), (~good, "x")):
        axes.plot(*pushes[which].T, mark)
    axes.set(title=name, xlabel="push forwards (m/s)")
views[0].set(ylabel="push to the left (m/s)")
Path("out").mkdir(exist_ok=True)
figure.savefig("out/cassie_lqr.png")
