# SPDX-License-Identifier: BSD-3-Clause
"""A one-cylinder engine: its crank follows a run-up, gas pushes by a table, and what its pins and its frame take.

Motion drivers, force elements and reactions, as somebody from Adams or a machine-design course would use them.
"""

from pathlib import Path

import matplotlib
import numpy as np

import linkwork as lw

matplotlib.use("Agg")
import matplotlib.pyplot as plt

RADIUS, ROD, BORE = 0.04, 0.13, 0.08  # meters
SPEED = 100.0  # rad/s

build = lw.Builder("engine")
build.body("crank", lw.Inertia(1.2, (0.01, 0, 0), np.diag([2e-3, 4e-3, 4e-3])))
build.body("rod", lw.Inertia.rod(0.5, (0, 0, 0), (ROD, 0, 0)))
build.body("piston", lw.Inertia.sphere(0.4, BORE / 2))
build.joint("main bearing", lw.joints.Revolute("y"), "world", "crank")
build.joint("crank pin", lw.joints.Revolute("y"), "crank", "rod", at=(RADIUS, 0, 0))
build.joint("liner", lw.joints.Prismatic("x"), "world", "piston")
build.joint("wrist pin", lw.joints.Revolute("y"), "rod", "piston", at=(ROD, 0, 0), cut=True)
engine = build.build()


def run_up(t):
    """The crank's angle: up to its speed within a second, which it keeps."""
    s = np.minimum(t, 1.0)
    return SPEED * (s / 2 - np.sin(np.pi * s) / (2 * np.pi) + np.maximum(t - 1.0, 0.0))


crank = lw.Drive("main bearing", run_up)
# pressure of the gas in bar over the gap between head and piston: combustion near the top, then expansion
pressure = lw.profiles.spline([0.01, 0.015, 0.02, 0.03, 0.05, 0.09], [45.0, 60.0, 42.0, 20.0, 7.0, 1.0])
gas = lw.Force(
    ("world", (RADIUS + ROD + 0.01, 0, 0)),
    "piston",
    lambda x, rate: 1e5 * np.pi / 4 * BORE**2 * pressure(x),
    name="gas",
)
friction = lw.forces.TorsionSpring("main bearing", damping=0.02, name="bearing friction")
driven = engine.constrained(crank).with_forces(gas, friction)
free = engine.mobility(engine.assemble())
print(f"Grübler counts {free.grubler} degrees of freedom, it has {free.dof}: {free}")

run = lw.simulate(driven, seconds=1.3, dt=5e-5, integrator="rk4", record_every=20)
position, velocity, _ = crank.at(run.times)
print(f"the crank is where it is to be to {np.abs(run.joint_position('main bearing') - position[:, 0]).max():.1e} rad")
print(f"the loop is open by {run.errors.max():.1e} m")

torque = lw.InverseDynamics(driven, "actuated")(run.q[-1], run.v[-1], run.acceleration[-1])[0]
drive = run.power["main bearing drive"][-1] / run.v[-1, 0]
print(f"the drive takes {drive:.6f} N m, inverse dynamics says {torque:.6f} N m")

angle, last = np.degrees(position[:, 0] % (2 * np.pi)), run.times > 1.1
order = np.argsort(angle[last])
figure, axes = plt.subplots(1, 3, figsize=(10, 3), layout="constrained")
for name in ("crank pin", "wrist pin", "main bearing"):
    size = np.linalg.norm(run.reactions[name][last][:, 3:], axis=1)
    axes[0].plot(angle[last][order], size[order] / 1e3, label=name)
axes[1].plot(angle[last][order], run.reactions.ground[last][order][:, [3, 5]] / 1e3, label=["along", "across"])
axes[2].plot(run.times, run.power["main bearing drive"] / 1e3)
for axis, words in zip(axes, ("pins [kN]", "shaking force [kN]", "power of the drive [kW]"), strict=True):
    axis.set(title=words, xlabel="crank angle [°]" if axis is not axes[2] else "time [s]")
for axis in axes[:2]:
    axis.legend()
Path("out").mkdir(exist_ok=True)
figure.savefig("out/engine.svg")
print("plots in out/engine.svg")
