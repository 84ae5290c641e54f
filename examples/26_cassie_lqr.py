# SPDX-License-Identifier: BSD-3-Clause
"""An LQR balances Cassie on its feet: exact linearization with loops and held feet, then pushes with real contact.

Needs Cassie's file: ``LINKWORK_MODELS`` is the folder that has ``cassie/cassie.xml`` in it.
"""

import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import block_diag, expm, solve, solve_discrete_are

import linkwork as lw

MODELS = Path(os.environ.get("LINKWORK_MODELS", Path(__file__).resolve().parents[2] / "shared" / "models"))
FILE = MODELS / "cassie" / "cassie.xml"
ENDS = {"toe": (-0.052821, 0.092622, 0.0), "heel": (0.069746, -0.010224, 0.0)}  # of the foot's capsule in the file,
RADIUS, DT, N = 0.02, 1e-3, int(sys.argv[1]) if len(sys.argv) > 1 else 5  # its radius; steps; pushes are N x N

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
free = {"toe": (0, 1, 1), "heel": (1, 1, 1)}  # one end of a foot says where it is along x
flat = [lw.tasks.FrameTask(k, position=(*x[:2], RADIUS), position_weight=free[k.split()[1]]) for k, x in where.items()]
q = cassie.inverse_kinematics(*flat, lw.tasks.PostureTask(home), q=home, fixed=sprung).q
ground = {name: lw.frame_placement(cassie, q, name).position * [1, 1, 0] for name in ends}
points = [lw.constraints.Point("world", foot, first_at=ground[name], name=name) for name, foot in ends.items()]
held = cassie.constrained(*points, at=q)
stance = held.equilibrium(q)
q, hold = stance.q, stance.torque

# The linear system of the motions that loops and held feet allow, less the spin of rods about themselves
motors = [cassie.v_index(motor.joint) for motor in cassie.actuators]
seen = [*range(6), *(cassie.v_index(name) for name in sprung)]  # measured: the pelvis, and how springs bend
n, m = len(seen), len(motors)
system = lw.linearize(held, q, tau=hold, coordinates="projected")
modes = system.basis[: cassie.nv, : len(system.A) // 2]
X = np.linalg.svd(modes[seen])[2][:n].T
V, Z = modes @ X, block_diag(X, X)
A, B = Z.T @ system.A @ Z, Z.T @ system.B[:, motors]
print(f"{n} degrees of freedom, {(np.linalg.eigvals(A).real > 1e-6).sum()} of them unstable")

# The regulator of the sampled system: the pelvis shall stay, torques cost little
sampled = expm(DT * np.block([[A, B], [np.zeros((m, 2 * n + m))]]))[: 2 * n]
A, B, Q, R = sampled[:, : 2 * n], sampled[:, 2 * n :], V[:6].T @ V[:6] + 0.01 * np.eye(n), 0.01 * np.eye(m)
P = solve_discrete_are(A, B, block_diag(100.0 * Q, Q), R)
gains = solve(R + B.T @ P @ B, B.T @ P @ A)
slowest = -np.log(np.abs(np.linalg.eigvals(A - B @ gains)).max()) / DT
print(f"with the regulator all decay, the slowest with {slowest:.2f} 1/s")
kp, kd = (np.column_stack([part @ np.linalg.inv(V[seen]), np.zeros((m, m))]) for part in (gains[:, :n], gains[:, n:]))
springs_and_dampers = [np.column_stack([np.zeros((m, n)), k * np.eye(m)]) for k in (1000.0, 30.0)]  # for comparison
PLAIN = tuple(int(cassie.q_index(name)) for name in [*sprung, *(motor.joint for motor in cassie.actuators)])
RATES, MOTORS, MOST = (*seen, *motors), tuple(motors), 2 * [112.5, 112.5, 195.0, 195.0, 45.0]  # N m, of Cassie's motors


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
        tau[MOTORS[k]] = lw.kernels.where(x, -most[k], -most[k], lw.kernels.where(most[k], x, most[k], x))


# Pushes as velocities of the pelvis, forwards and to the left, on feet that may slip, tip and lift
pushes = np.stack(np.meshgrid(np.linspace(-0.3, 0.4, N), np.linspace(0.0, 0.35, N)), axis=-1).reshape(-1, 2)
rates = np.column_stack([pushes, np.zeros((N * N, cassie.nv - 2))])
figure, views = plt.subplots(1, 2, figsize=(8, 3.5), sharey=True, layout="constrained")
for axes, name, (p, d) in zip(views, ("LQR", "springs and dampers"), ((kp, kd), springs_and_dampers), strict=True):
    control = lw.Controller(balance, rest=q, hold=hold[motors], kp=p, kd=d, most=MOST)
    run = lw.rollouts(cassie, np.tile(q, (N * N, 1)), rates, seconds=1.5, dt=DT, controller=control, record_every=1500)
    off = np.abs(np.nan_to_num(run.q[-1, :, :3], nan=9.0) - q[:3]).max(axis=1)
    good = off < 0.05
    print(f"{name}: stands after {good.sum()} of {N * N} pushes, at last {1e3 * off[good].max():.0f} mm off or less")
    for which, mark in ((good, "o"), (~good, "x")):
        axes.plot(*pushes[which].T, mark)
    axes.set(title=name, xlabel="push forwards (m/s)", ylabel="push to the left (m/s)")
Path("out").mkdir(exist_ok=True)
figure.savefig("out/cassie_lqr.png")
