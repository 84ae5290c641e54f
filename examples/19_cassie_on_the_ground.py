# SPDX-License-Identifier: BSD-3-Clause
"""Cassie on the ground: four contact points a foot with friction, loops closed, motors that hold it, pushes it takes.

Needs Cassie's file: ``LINKWORK_MODELS`` is the folder that has ``cassie/cassie.xml`` in it.
"""

import os
import sys
from pathlib import Path

import numpy as np

import linkwork as lw

MODELS = Path(os.environ.get("LINKWORK_MODELS", Path(__file__).resolve().parents[2] / "shared" / "models"))
FILE = MODELS / "cassie" / "cassie.xml"
STIFFNESS, DAMPING = 1000.0, 30.0  # Nm/rad and Nms/rad, of the motors about the pose
SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0

if not FILE.is_file():
    print(f"no {FILE.name} in {FILE.parent}: set LINKWORK_MODELS to the folder of models")
    sys.exit()

cassie = lw.zoo.cassie_on_ground(lw.load(FILE), friction=0.8)
q = cassie.poses["assembled"]
print(cassie, "-", [pair.name for pair in cassie.contacts])

# Where it stands still, if three corners of each sole were held: motors then have the torques that carry it.
points, corners = lw.contact.ContactGeometry(cassie)(q).points, []
for k, pair in enumerate(cassie.contacts):
    foot = lw.frame_placement(cassie, q, pair.second.body)
    for at in points[4 * k : 4 * k + 3]:
        on_foot = foot.rotation.T @ (at - foot.position)
        corners.append(
            lw.constraints.Point("world", pair.second.body, first_at=at, second_at=on_foot, name=f"held {len(corners)}")
        )
stance = cassie.constrained(*corners).equilibrium(q)
q, hold = stance.q, stance.torque
motors = [cassie.v_index(motor.joint) for motor in cassie.actuators]


def control(time: float, at: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """The torques that hold it, and springs and dampers of the motors about the pose."""
    torques = hold.copy()
    torques[motors] -= STIFFNESS * cassie.difference(q, at)[motors] + DAMPING * rate[motors]
    return torques


def report(what: str, run: lw.Trajectory) -> None:
    """How the pelvis moves and how far loops are open."""
    moved, left = (1e3 * np.abs(x - q[:3]).max() for x in (run.q[:, :3], run.q[-1, :3]))
    print(f"{what}: the pelvis moves by up to {moved:.3g} mm, at last {left:.2g} mm; loops: {run.errors.max():.0e} m")
    touching = sum(one.touching[1:].sum(axis=1) for one in run.contacts.values())
    slid = any(one.sliding.any() for one in run.contacts.values())
    carried = sum(one.total[-1] for one in run.contacts.values())
    print(f"  feet carry {carried:.1f} N of {9.81 * cassie.mass:.1f} N in the end; a foot slipped: {slid}")
    print(f"  of 8 points at least {touching.min()} touch; steps not solved: {run.contacts.missed[-1]}")


quiet = lw.simulate(cassie, q, seconds=SECONDS, controller=control, record_every=10)
report(f"{SECONDS:g} s", quiet)
assert np.abs(quiet.q[:, :3] - q[:3]).max() < 1e-4 and quiet.errors.max() < 1e-6

# Pushes of its pelvis, as velocities: it swings back.
for newton_seconds in (2.0, 6.0):
    kick = np.zeros(cassie.nv)
    kick[0] = newton_seconds / cassie.mass
    pushed = lw.simulate(cassie, q, kick, seconds=max(2.0, SECONDS), controller=control, record_every=10)
    report(f"pushed with {newton_seconds:g} N s", pushed)
    assert np.abs(pushed.q[-1, :3] - q[:3]).max() < 0.02, "it fell"

limp = lw.simulate(cassie, q, seconds=0.3, record_every=10)
print(f"motors off: after 0.3 s the pelvis has fallen by {1e3 * (q[2] - limp.q[-1, 2]):.0f} mm")

Path("out").mkdir(exist_ok=True)
pushed.plot("out/cassie_pushed.png")
pushed.picture("out/cassie_contact_forces.png", time=0.2)
print("out/cassie_pushed.png has the forces of both feet, out/cassie_contact_forces.png those of one moment")
