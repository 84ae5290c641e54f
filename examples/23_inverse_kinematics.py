# SPDX-License-Identifier: BSD-3-Clause
"""Cassie squats, leans and lifts a foot by inverse kinematics: loops closed, joints within limits; a thousand at once.

Needs Cassie's file: ``LINKWORK_MODELS`` is the folder that has ``cassie/cassie.xml`` in it.
"""

import os
import sys
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import linkwork as lw
from linkwork.tasks import CenterOfMassTask, FrameTask, PostureTask

MODELS = Path(os.environ.get("LINKWORK_MODELS", Path(__file__).resolve().parents[2] / "shared" / "models"))
FILE = MODELS / "cassie" / "cassie.xml"
ENDS = {"toe": (-0.052821, 0.092622, 0.0), "heel": (0.069746, -0.010224, 0.0)}  # of the foot's capsule in the file

if not FILE.is_file():
    print(f"no {FILE.name} in {FILE.parent}: set LINKWORK_MODELS to the folder of models")
    sys.exit()

cassie = lw.load(FILE)
for side in ("left", "right"):
    for end, at in ENDS.items():
        cassie = cassie.with_frame(f"{side} {end}", f"{side}-foot", lw.Placement(at))
home = cassie.assemble(cassie.poses["home"])
springs = [joint.name for joint in cassie.joints if joint.stiffness.any()]  # leaf springs stay straight
pelvis = lw.frame_placement(cassie, home, "cassie-pelvis")
names = [f"{side} {end}" for side in ("left", "right") for end in ENDS]
points = {name: lw.frame_placement(cassie, home, name).position for name in names}
stand = [FrameTask(name, position=at) for name, at in points.items()]  # four points on the ground stay there
natural = PostureTask(home)  # what decides where targets leave a choice


def solve(what: str, *tasks: FrameTask | CenterOfMassTask | PostureTask, q: np.ndarray = home) -> np.ndarray:
    """A configuration for these tasks, and how it went."""
    found = cassie.inverse_kinematics(*tasks, q=q, fixed=springs)
    print(f"{what}: {found.message}; {found.iterations} iterations, loops open by {found.gap:.0e}")
    return found.q


# The pelvis 25 cm lower, level as it was.
squat = solve(
    "squat", *stand, FrameTask("cassie-pelvis", lw.Placement(pelvis.position - [0, 0, 0.25], pelvis.rotation))
)

# The center of mass above the left foot, at any height; the pelvis turned as it was.
foot = (points["left toe"] + points["left heel"]) / 2
above = CenterOfMassTask(foot, weight=(1, 1, 0))
upright = FrameTask("cassie-pelvis", orientation=pelvis.rotation)
lean = solve("lean", *stand, above, upright, natural)
aside = np.linalg.norm((lw.center_of_mass(cassie, lean) - foot)[:2])
print(f"  the center of mass is {aside:.0e} m beside the middle of the foot")

# The right foot 20 cm up while the center of mass stays.
up = {"left": np.zeros(3), "right": np.array([0, 0, 0.2])}
lifted = [FrameTask(name, position=at + up[name.split()[0]]) for name, at in points.items()]
step = solve("step", *lifted, above, upright, natural, q=lean)

# What cannot be: legs are not that long. Loops stay closed, and it comes as near as it can.
solve("jump", *stand, FrameTask("cassie-pelvis", position=pelvis.position - [0, 0, -0.5]))

# A thousand poses of both feet below a pelvis that is held, from random starts far away, with loops wide open.
held = ["cassie-pelvis_joint"]
goals, starts = cassie.random(1, 1000), cassie.random(2, 1000)
for q in (goals, starts):
    q[:, :7] = home[:7]
goals = cassie.assemble(goals, held)
feet = [FrameTask(name, lw.frame_placement(cassie, goals, name)) for name in ("left-foot", "right-foot")]
cassie.inverse_kinematics(
    *feet, q=starts, fixed=held, max_iterations=1, attempts=1
)  # compiled here, once for a machine
begin = time.perf_counter()
found = cassie.inverse_kinematics(*feet, q=starts, fixed=held)
took = time.perf_counter() - begin
print(f"feet of 1000 random states: {found.converged.mean():.1%} found, {len(goals) / took:.0f} a second")
assert found.converged.mean() > 0.95
assert ((found.q >= cassie.lower) & (found.q <= cassie.upper)).all()

# The four poses from the front, and from the left.
figure, views = plt.subplots(2, 4, figsize=(8, 6), sharex=True, sharey=True)
for k, (name, q) in enumerate({"home": home, "squat": squat, "lean": lean, "step": step}.items()):
    place = {body: lw.frame_placement(cassie, q, body).position for body in cassie.inertias}
    views[0, k].set_title(name)
    for axes, across in ((views[0, k], 1), (views[1, k], 0)):
        for joint in cassie.joints[1:]:
            ends = np.array([place[joint.parent], place[joint.child]])
            axes.plot(
                ends[:, across], ends[:, 2], "o-", ms=2, color="tab:blue" if "left" in joint.name else "tab:orange"
            )
        axes.set_aspect("equal")
Path("out").mkdir(exist_ok=True)
figure.savefig("out/inverse_kinematics.png")
