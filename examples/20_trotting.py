# SPDX-License-Identifier: BSD-3-Clause
"""Unitree's Go2 trots by a script: feet follow half circles, motors follow the feet, friction does the rest.

Needs the package ``example-robot-data`` (``pip install example-robot-data``).
"""

import sys
from importlib.metadata import PackageNotFoundError, distribution
from math import acos, atan2, cos, hypot, pi, sin

import numpy as np

import linkwork as lw

try:
    package = distribution("example-robot-data")
except PackageNotFoundError:
    print("no example-robot-data: pip install example-robot-data")
    sys.exit()

FILE = "cmeel.prefix/share/example-robot-data/robots/go2_description/urdf/go2.urdf"
PERIOD, STRIDE, LIFT = 0.4, 0.1, 0.05  # seconds, meters
LINK, BEND = 0.213, 0.9  # length of thigh and calf in meters, angle of the thigh at rest
STIFFNESS, DAMPING, MOST = 300.0, 8.0, 45.0  # Nm/rad, Nms/rad, Nm
SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
PHASES = {"FL": 0.0, "RR": 0.0, "FR": 0.5, "RL": 0.5}

go2 = lw.zoo.go2_on_ground(lw.load(str(package.locate_file(FILE)), "floating"))
start = go2.poses["assembled"]
height = 2 * LINK * cos(BEND)
joints = {
    leg: [(go2.q_index(f"{leg}_{part}_joint"), go2.v_index(f"{leg}_{part}_joint")) for part in ("hip", "thigh", "calf")]
    for leg in PHASES
}


def foot(phase: float) -> tuple[float, float]:
    """Forward and up: on the ground it goes back, in the air it swings forward."""
    if phase < 0.5:
        return STRIDE / 2 * (1 - 4 * phase), 0.0
    swing = 2 * phase - 1
    return -STRIDE / 2 * cos(pi * swing), LIFT * sin(pi * swing)


def leg_angles(x: float, z: float) -> tuple[float, float, float]:
    """Of hip, thigh and calf, with the foot ``x`` before and ``z`` below the hip."""
    calf = -acos(min(1.0, (hypot(x, z) ** 2 - 2 * LINK**2) / (2 * LINK**2)))
    return 0.0, atan2(-x, z) - atan2(LINK * sin(calf), LINK + LINK * cos(calf)), calf


def trot(time: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Torques toward the angles of the gait, which begins slowly."""
    tau, going = np.zeros(go2.nv), min(1.0, time)
    for leg, phase in PHASES.items():
        x, up = foot((time / PERIOD + phase) % 1)
        for (at, rate), angle in zip(joints[leg], leg_angles(going * x, height - going * up), strict=True):
            tau[rate] = np.clip(STIFFNESS * (angle - q[at]) - DAMPING * v[rate], -MOST, MOST)
    return tau


run = lw.simulate(go2, start, seconds=SECONDS, controller=trot, record_every=10)
(x, y), heights = run.q[-1, :2], run.q[:, 2]
print(f"Go2 trots {x:.2f} m in {SECONDS:g} s, {abs(y):.2f} m aside; its trunk moves {np.ptp(heights) * 1e3:.0f} mm up")
assert x > 0.2 * (SECONDS - 1) and heights.min() > 0.2, "it fell"
