# SPDX-License-Identifier: BSD-3-Clause
"""Cassie stands: loops closed, springs bent by its weight, motors that hold it, and a push that it takes.

Needs Cassie's file: ``LINKWORK_MODELS`` is the folder that has ``cassie/cassie.xml`` in it.
"""

import os
import sys
from pathlib import Path

import numpy as np

import linkwork as lw

MODELS = Path(os.environ.get("LINKWORK_MODELS", Path(__file__).resolve().parents[2] / "shared" / "models"))
FILE = MODELS / "cassie" / "cassie.xml"
ENDS = {"toe": (-0.052821, 0.092622, 0.0), "heel": (0.069746, -0.010224, 0.0)}  # of the foot's capsule in the file
STIFFNESS, DAMPING = 300.0, 15.0  # Nm/rad and Nms/rad, of the motors about the pose

if not FILE.is_file():
    print(f"no {FILE.name} in {FILE.parent}: set LINKWORK_MODELS to the folder of models")
    sys.exit()

cassie = lw.load(FILE)
q = cassie.assemble(cassie.poses["home"])

# Feet stand on both their ends, where these are now: four points, given in the world and on the foot.
feet = []
for side in ("left", "right"):
    foot = lw.frame_placement(cassie, q, f"{side}-foot")
    for end, at in ENDS.items():
        ground = foot.position + foot.rotation @ at
        feet.append(lw.constraints.Point("world", f"{side}-foot", first_at=ground, second_at=at, name=f"{side} {end}"))
standing = cassie.constrained(*feet)
print(standing, "-", standing.mobility(q))

# Where it stands still: springs bent by its weight, loops and feet closed, motors with the least torques that carry it.
stance = standing.equilibrium(q)
q, hold = stance.q, stance.torque
motors = [cassie.v_index(motor.joint) for motor in cassie.actuators]
springs = [joint.name for joint in cassie.joints if joint.stiffness.any()]
rest = np.zeros(cassie.nv)
still = lw.ForwardDynamics(standing)(q, rest, hold + lw.passive_forces(cassie, q, rest))
print(f"balanced to {np.abs(still.acceleration).max():.0e} rad/s², knees hold with {hold[motors[3]]:.1f} Nm")
bending = {name: round(float(np.degrees(q[cassie.q_index(name)] - cassie.joint(name).rest[0])), 2) for name in springs}
print("springs are bent by", bending, "degrees")
assert not stance.beyond_limits


def control(time: float, at: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """The torques that hold it, and springs and dampers of the motors about the pose."""
    torques = hold.copy()
    torques[motors] -= STIFFNESS * cassie.difference(q, at)[motors] + DAMPING * rate[motors]
    return torques


def report(what: str, run: lw.Trajectory) -> None:
    """How the pelvis moves and what the ground carries."""
    moved = np.abs(run.q[:, :3] - q[:3]).max(axis=0) * 1e3
    carried = sum(run.forces[c.name][1:] for c in feet)
    least = min(run.forces[c.name][1:, 2].min() for c in feet)
    slide = max((np.hypot(*run.forces[c.name][1:, :2].T) / run.forces[c.name][1:, 2]).max() for c in feet)
    print(f"{what}: the pelvis moves by up to {moved.max():.3g} mm, {moved[2]:.3g} mm in height")
    print(f"  the ground carries {carried[-1, 2]:.3f} N in the end, the weight is {9.81 * cassie.mass:.3f} N")
    print(f"  each point presses with at least {least:.1f} N, friction takes up to {slide:.3f} of it")
    assert least > 0.0 and slide < 0.5, "feet would lift or slip"


quiet = lw.simulate(standing, q, seconds=2.0, controller=control, record_every=10)
report("two seconds", quiet)
assert np.abs(quiet.q[:, 2] - q[2]).max() < 1e-3 and quiet.errors.max() < 1e-6

push = standing.project_velocity(q, np.where(np.arange(cassie.nv) < 1, 0.1, 0.0))  # 0.1 m/s forwards
pushed = lw.simulate(standing, q, push, seconds=2.0, controller=control, record_every=10)
report("pushed forwards", pushed)
limp = lw.simulate(standing, q, seconds=0.3, record_every=10)
print(f"motors off: after 0.3 s the pelvis has fallen by {1e3 * (q[2] - limp.q[-1, 2]):.0f} mm")

Path("out").mkdir(exist_ok=True)
pushed.plot("out/cassie_standing.png")
pushed.save_video("out/cassie_standing.gif", fps=10)
print("out/cassie_standing.png and out/cassie_standing.gif show the push")
