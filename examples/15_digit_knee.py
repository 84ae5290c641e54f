# SPDX-License-Identifier: BSD-3-Clause
"""Digit's knee torque map: what a newton meter of the knee motor is below the knee and at the foot, over its range.

The motor turns the shin; a rod from the hip to the heel, the Achilles rod, turns the tarsus with it. Needs Digit's
file: ``LINKWORK_MODELS`` is the folder that has ``digit/digit-v3.xml`` in it.
"""

import os
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import linkwork as lw

MODELS = Path(os.environ.get("LINKWORK_MODELS", Path(__file__).resolve().parents[2] / "shared" / "models"))
FILE = MODELS / "digit" / "digit-v3.xml"
KNEE, TARSUS, PICTURE = "left-knee", "left-tarsus", Path("out/digit_knee.png")

if not FILE.is_file():
    print(f"no {FILE.name} in {FILE.parent}: set LINKWORK_MODELS to the folder of models")
    sys.exit()

# Leaf springs of 4 to 6 kNm/rad are as good as rigid here: they are locked, and the knee alone moves the loop.
file = lw.load(FILE)
springs = [joint.name for joint in file.joints if joint.stiffness.any()]
digit = file.constrained(*(lw.constraints.JointLock(name) for name in springs))
minimal = lw.Minimal(digit)
print(digit, "with", *springs, "locked")
print(f"'{KNEE}' is among the", minimal.ny, "free coordinates:", KNEE in minimal.names)

# From the pose of the file, the knee is led down and up in small steps, the loop closed at each, as far as the tarsus
# has no stop in the way.
knee, tarsus = digit.q_index(KNEE), digit.q_index(TARSUS)


def led(to: float) -> list[np.ndarray]:
    """Closed poses on the way of the knee from zero."""
    poses = [minimal.complete(digit.poses["qpos0"])]
    for angle in np.linspace(0.0, to, 100)[1:]:
        start = poses[-1].copy()
        start[knee] = angle
        poses.append(minimal.complete(start))
    return [q for q in poses if digit.lower[tarsus] <= q[tarsus] <= digit.upper[tarsus]]


q = np.array([*led(digit.lower[knee])[:0:-1], *led(digit.upper[knee])])
angles = q[:, knee]
print(f"the knee has {np.degrees([digit.lower[knee], digit.upper[knee]]).round(1)} degrees in the file,", end=" ")
print(f"and {np.degrees(angles[[0, -1]]).round(1)} before the tarsus meets its stops")

# Below the knee: velocities go one way through the linkage, torques the other.
drive = digit.actuation(q, motors=[KNEE], joints=[TARSUS])
ratio = drive.matrix[:, 0, 0]
torque = drive.motor_torque(np.ones((len(q), 1)))[:, 0]
print(f"the tarsus turns {ratio.min():.4f} to {ratio.max():.4f} times as fast as the knee: nearly a parallelogram")

# At the foot: how fast the leg grows with the knee, and so how hard it pushes for a newton meter of the motor.
G = minimal.matrix(q)[:, :, minimal.names.index(KNEE)]
hip, foot = lw.frame_placement(digit, q, "left-hip-pitch"), lw.frame_placement(digit, q, "left-foot")
leg = foot.position - hip.position
length = np.linalg.norm(leg, axis=-1)
moved = (lw.frame_jacobian(digit, q, "left-foot", reference="aligned") @ G[..., None])[:, 3:, 0]
growth = np.einsum("ki,ki->k", leg, moved) / length
push = np.abs(1.0 / growth)
print(f"the leg is {length[0]:.3f} m long when bent most and {length[-1]:.3f} m when stretched most:")
print(f"a Nm of the motor pushes the foot with {push[0]:.2f} N there and {push[-1]:.2f} N here")

# Is it true? A torque on the tarsus and what the motor must give against it leave the robot at rest.
still, zero = lw.ForwardDynamics(digit.with_gravity((0, 0, 0))), np.zeros(digit.nv)
worst = 0.0
for k in range(0, len(q), 20):
    tau = zero.copy()
    tau[digit.v_index(TARSUS)], tau[digit.v_index(KNEE)] = 1.0, -torque[k]
    worst = max(worst, float(np.abs(still(q[k], zero, tau).acceleration).max()))
print(f"1 Nm at the tarsus held by the motor: joints accelerate by {worst:.0e} rad/s² at most")
assert worst < 1e-6 and np.abs(ratio + 1.0).max() < 0.01

figure = Figure(figsize=(10, 4), layout="tight")
left, right = figure.subplots(1, 2)
left.plot(np.degrees(angles), torque, "C0")
left.set(xlabel="knee [degrees]", ylabel="motor torque for 1 Nm at the tarsus [Nm]", title="through the Achilles rod")
right.plot(np.degrees(angles), push, "C1")
right.set(xlabel="knee [degrees]", ylabel="push along the leg for 1 Nm [N]", title="at the foot")
for axes in (left, right):
    axes.grid(alpha=0.3)
PICTURE.parent.mkdir(exist_ok=True)
figure.savefig(PICTURE, dpi=120)
print(f"{PICTURE} shows both")
