# SPDX-License-Identifier: BSD-3-Clause
"""Operational-space control of an arm with a loop: the tool draws a figure eight, the posture has what is left."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import linkwork as lw

SECONDS, PERIOD, DT = 3.0, 1.5, 1e-3
STIFFNESS, DAMPING, MASS = 400.0, 40.0, 10.0  # 1/s² and 1/s: how errors of the tool decay; kg, for the comparison
POSTURE = (25.0, 10.0)  # the same of the joints, where the tool leaves them a choice

# A palletizer on a rail: the motor of the forearm is at the shoulder and drives it through a parallelogram.
build = lw.Builder("palletizer")
build.body("carriage", lw.Inertia.box(10.0, (0.3, 0.3, 0.1))).body("column", lw.Inertia.box(8.0, (0.1, 0.1, 0.4)))
for name, end in {"upper arm": (0, 0, 0.6), "rod": (0, 0, 0.6), "crank": (-0.2, 0, 0), "hand": (0.15, 0, 0)}.items():
    build.body(name, lw.Inertia.rod(6.0 * max(np.abs(end)), (0, 0, 0), end))
build.body("forearm", lw.Inertia.rod(4.0, (-0.2, 0, 0), (0.5, 0, 0)))
build.joint("rail", lw.joints.Prismatic("y"), "world", "carriage", actuated=True)
build.joint("turn", lw.joints.Revolute("z"), "carriage", "column", actuated=True)
build.joint("shoulder", lw.joints.Revolute("y"), "column", "upper arm", at=(0, 0, 0.4), actuated=True)
build.joint("crank", lw.joints.Revolute("y"), "column", "crank", at=(0, 0, 0.4), actuated=True)
build.joint("rod", lw.joints.Revolute("y"), "crank", "rod", at=(-0.2, 0, 0))
build.joint("elbow", lw.joints.Revolute("y"), "upper arm", "forearm", at=(0, 0, 0.6))
build.joint("wrist", lw.joints.Revolute("y"), "forearm", "hand", at=(0.5, 0, 0), actuated=True)
build.joint("pin", lw.joints.Revolute("y"), "rod", "forearm", at=(0, 0, 0.6), child_at=(-0.2, 0, 0), cut=True)
arm = build.build().with_frame("tool", "hand", (0.15, 0, 0))

motors = [joint.name for joint in arm.joints if joint.actuated]
q0 = arm.assemble([{"shoulder": 0.3, "crank": 0.4, "wrist": 0.9}.get(name, 0.0) for name in arm.joint_names], motors)
minimal = lw.Minimal(arm)  # its coordinates are those of the motors
y = minimal.index
assert [arm.v_index(name) for name in motors] == list(y)
print(arm, "-", arm.mobility(q0).dof, "degrees of freedom, of which the position of the tool takes 3")

# The figure, from rest to full size in half a second
time = np.arange(0.0, SECONDS + DT, DT)
grown, turn = np.clip(2.0 * time, 0.0, 1.0), 2 * np.pi / PERIOD * time
figure_eight = np.stack([0.0 * time, 0.25 * np.sin(turn), 0.12 * np.sin(2 * turn)])
path = lw.frame_placement(arm, q0, "tool").position + (grown**3 * np.polyval([6, -15, 10], grown) * figure_eight).T
velocity = np.gradient(path, DT, axis=0)
acceleration = np.gradient(velocity, DT, axis=0)

inertia = lw.OperationalInertia(arm, "tool")  # J H⁻¹ J' with loops closed, by force propagators (C-EFPA)
inverse_dynamics = lw.InverseDynamics(arm, "cluster")  # torques of the motors, with loops closed (C-RNEA)


def wanted(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Acceleration of the tool with which its error decays."""
    k, x = round(t / DT), lw.frame_placement(arm, q, "tool").position
    rate = lw.frame_velocity(arm, q, v, "tool", "aligned")[3:]
    return acceleration[k] + STIFFNESS * (path[k] - x) + DAMPING * (velocity[k] - rate)


def law(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Torques that keep the posture, and a force at the tool that makes up for what its acceleration lacks then."""
    a = minimal.acceleration(q, v, (POSTURE[0] * (q0 - q) - POSTURE[1] * v)[y])
    lacking = wanted(t, q, v) - lw.frame_acceleration(arm, q, v, a, "tool", "aligned")[3:]
    J, R = lw.frame_jacobian(arm, q, "tool", "aligned")[3:], lw.frame_placement(arm, q, "tool").rotation
    force = np.linalg.solve(R @ inertia(q)[3:, 3:] @ R.T, lacking)
    tau = inverse_dynamics(q, v, a)
    tau[y] += minimal.force(q, J.T @ force)
    return tau


def without_inertia(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """For comparison: the same springs and dampers as if the tool were a mass of its own, and what carries the arm."""
    J = lw.frame_jacobian(arm, q, "tool", "aligned")[3:]
    tau = inverse_dynamics(q, 0.0 * v, 0.0 * v)
    tau[y] += minimal.force(q, J.T @ (MASS * wanted(t, q, v)))
    return tau


figure, (view, errors) = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
off = {}
for name, control in {"operational-space control": law, "a mass on springs": without_inertia}.items():
    run = lw.simulate(arm, q0, seconds=SECONDS, dt=DT, integrator="rk4", controller=control)
    tool = run.frame_placement("tool").position
    error = 1e3 * np.linalg.norm(tool - path, axis=1)
    off[name] = error.max()
    print(f"{name}: the tool is {off[name]:.2f} mm off at most, loops are open by {run.errors.max():.0e}")
    view.plot(tool[:, 1], tool[:, 2], label=name)
    errors.semilogy(time[1:], error[1:])
    if control is law:
        # What the torques do, by forward dynamics: the tool accelerates as it should, whatever the posture asks for
        tau, should = (np.array([f(*now) for now in zip(time, run.q, run.v, strict=True)]) for f in (law, wanted))
        a = lw.ForwardDynamics(arm)(run.q, run.v, tau).acceleration
        made = lw.frame_acceleration(arm, run.q, run.v, a, "tool", "aligned")[:, 3:]
        print(f"its acceleration is that which is wanted to {np.abs(made - should).max():.0e} m/s²")
assert off["operational-space control"] < 0.2 < 0.02 * off["a mass on springs"]
view.set(xlabel="y (m)", ylabel="z (m)", aspect="equal")
errors.set(xlabel="time (s)", ylabel="error of the tool (mm)", ylim=(1e-3, 50.0))
figure.legend(*view.get_legend_handles_labels(), loc="outside upper center", ncols=2)
Path("out").mkdir(exist_ok=True)
figure.savefig("out/operational_space.png")
