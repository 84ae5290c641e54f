# SPDX-License-Identifier: BSD-3-Clause
"""Whole-body control of Cassie by weighted least squares: it squats, shifts its weight and takes a push.

Needs Cassie's file: ``LINKWORK_MODELS`` is the folder that has ``cassie/cassie.xml`` in it. SciPy solves the least
squares, or a solver of the package qpsolvers whose name is given: ``python 33_whole_body_control.py quadprog``.
"""

import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import lsq_linear

import linkwork as lw

MODELS = Path(os.environ.get("LINKWORK_MODELS", Path(__file__).resolve().parents[2] / "shared" / "models"))
FILE, SOLVER = MODELS / "cassie" / "cassie.xml", sys.argv[1] if len(sys.argv) > 1 else None
STIFFNESS, DAMPING, STAYING = 30.0, 8.0, 20.0  # 1/s², 1/s: how errors of tasks decay, and velocities of feet
SECONDS, DT, PUSH, FRICTION = 3.0, 2e-3, 40.0, 0.7  # N for 0.1 s, forwards and left; of 0.8, to be on the safe side

if not FILE.is_file():
    print(f"no {FILE.name} in {FILE.parent}: set LINKWORK_MODELS to the folder of models")
    sys.exit()
if SOLVER:
    from qpsolvers import solve_ls

# The robot on feet that may slip and lift; how it stands at rest, and with which torques
cassie = lw.zoo.cassie_on_ground(lw.load(FILE), "capsule", friction=0.8)
q = cassie.poses["assembled"]
touching = lw.contact.ContactGeometry(cassie)(q).points  # both ends of both feet
for k, x in enumerate(touching):
    on = cassie.contacts[k // 2].second.body
    cassie = cassie.with_frame(f"contact {k}", on, lw.frame_placement(cassie, q, on).inverse().act(x))
held = [lw.constraints.Point("world", f"contact {k}", first_at=x) for k, x in enumerate(touching)]
stance = cassie.constrained(*held).equilibrium(q)

# What the controller knows: loops, leaf springs that are locked, and no ground: its forces are unknowns
sprung = {joint.name: cassie.q_index(joint.name) for joint in cassie.joints if joint.stiffness.any()}
locks = [lw.constraints.JointLock(name, float(stance.q[k])) for name, k in sprung.items()]
forward_dynamics = lw.ForwardDynamics(cassie.without_contacts().constrained(*locks), "lcaba")
motors = [cassie.v_index(motor.joint) for motor in cassie.actuators]
frames = ["cassie-pelvis", *(f"contact {k}" for k in range(4))]
most = np.array([motor.gear[0] * motor.limits[1] for motor in cassie.actuators])  # N m
edges = np.kron(np.eye(4), [(FRICTION, 0, 1), (-FRICTION, 0, 1), (0, FRICTION, 1), (0, -FRICTION, 1)])  # of pyramids:
lower, upper = np.r_[-most, np.full(16, 2.0)], np.r_[most, np.full(16, np.inf)]  # forces are sums of them, 2 N and more
little, last = np.r_[np.full(10, 2e-2), np.full(16, 1e-2)], np.r_[stance.torque[motors], np.full(16, 20.0)]
upright = lw.frame_placement(cassie, stance.q, "cassie-pelvis").rotation
time, log = np.arange(0.0, SECONDS, DT), []
s, turn = np.clip(time, 0.0, 1.0), np.pi * time
path = (s**3 * np.polyval([6, -15, 10], s) * [0 * s, 0.04 * np.sin(turn), 0.07 * (np.cos(turn) - 1)]).T
velocity, path = np.gradient(path, DT, axis=0), path + lw.center_of_mass(cassie, stance.q)
acceleration = np.gradient(velocity, DT, axis=0)


def control(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Torques of the motors that, with the contact forces they bring about, serve all tasks best."""
    k, now = round(t / DT), cassie.terms(q, v, frames, "aligned")
    J, pelvis, C = now.frame_jacobians[1:, 3:].reshape(12, -1), now.frame_jacobians[0, :3], now.center_of_mass_jacobian
    drift = lw.frame_acceleration(cassie, q, v, 0.0 * v, frames, "aligned")  # what velocities make of accelerations
    # Accelerations by unit torques and by unit forces along edges, with loops closed: a = a0 + X x
    unit = np.vstack([0.0 * v, np.eye(cassie.nv)[motors], edges @ J])
    a = forward_dynamics(q, v, unit + lw.passive_forces(cassie, q, v)).acceleration
    a0, X = a[0], (a[1:] - a[0]).T
    back = 0.5 * np.cross(now.frames.rotation[0].T, upright.T).sum(axis=0)  # the turn that would set it upright
    tracked = STIFFNESS * (path[k] - now.center_of_mass) + DAMPING * (velocity[k] - now.center_of_mass_velocity)
    tasks = (  # weight, Jacobian, and what it is to make of accelerations
        (30.0, J, -STAYING * J @ v - drift[1:, 3:].ravel()),  # feet stay
        (10.0, C, acceleration[k] + tracked - lw.center_of_mass_jacobian_rate(cassie, q, v) @ v),
        (3.0, pelvis, STIFFNESS * back - DAMPING * pelvis @ v - drift[0, :3]),  # the pelvis stays upright
    )
    A = np.vstack([*(weight * M @ X for weight, M, _ in tasks), np.diag(little)])
    b = np.concatenate([*(weight * (wanted - M @ a0) for weight, M, wanted in tasks), little * last])
    x = solve_ls(A, b, lb=lower, ub=upper, solver=SOLVER) if SOLVER else lsq_linear(A, b, (lower, upper), "bvls").x
    log.append(np.r_[now.center_of_mass, x[:10], x[10:] @ edges])
    last[:], tau = x, np.zeros(cassie.nv)  # the next solution is to be near this one
    tau[motors], tau[:2] = x[:10], PUSH * (1.0 <= t < 1.1)
    return tau


run = lw.simulate(cassie, stance.q, seconds=SECONDS, controller=control, control_every=2, record_every=2)
center, torque, force = np.split(np.array(log), [3, 13], axis=1)
error, share, force = 1e3 * np.linalg.norm(center - path, axis=1), torque / most, force.reshape(-1, 4, 3)
for what, part in {"squatting": time < 1.0, "pushed": time >= 1.0, "1.5 s later": time > 2.5}.items():
    print(f"{what}: the center of mass is at most {error[part].max():.2f} mm from its path")
slope = (np.linalg.norm(force[..., :2], axis=-1) / force[..., 2]).max()
print(f"motors give up to {np.abs(share).max():.0%} of what they have; planned forces lean by up to {slope:.2f}")
off = np.abs(sum(foot.total[1:] for foot in run.contacts.values()) - force[..., 2].sum(axis=1))[time < 1.0].max()
slipped = any(foot.sliding.any() for foot in run.contacts.values())
print(f"the ground carries what was planned to {off:.1f} N; a foot slipped: {slipped}; loops: {run.errors.max():.0e} m")
assert error[time < 1.0].max() < 0.5 and error[-1] < 0.5 and np.abs(share).max() <= 1.0 and slope <= FRICTION
figure, views = plt.subplots(1, 3, figsize=(9, 2.8), layout="constrained")
labels = ("center of mass (mm)", "torques (of the most)", "normal forces (N)")
for axes, label, values in zip(views, labels, (1e3 * (center - path[0]), share, force[..., 2]), strict=True):
    axes.plot(time, values)
    axes.set(xlabel="time (s)", ylabel=label)
Path("out").mkdir(exist_ok=True)
figure.savefig("out/whole_body_control.png")
