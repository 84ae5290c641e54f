# SPDX-License-Identifier: BSD-3-Clause
"""Loops from a model file: Cassie where its file is at hand, else a crank and slider in MJCF.

``python 06_loops_from_files.py robot.xml`` takes a file of your own: URDF, MJCF or SDF.
"""

import os
import sys
import tempfile
from pathlib import Path

import numpy as np

import linkwork as lw

MJCF = """
<mujoco model="slider-crank">
  <compiler angle="radian"/>
  <worldbody>
    <body name="crank">
      <joint name="motor" axis="0 1 0"/> <geom type="capsule" size="0.02" fromto="0 0 0 0.3 0 0"/>
      <body name="rod" pos="0.3 0 0">
        <joint name="knee" axis="0 1 0"/> <geom type="capsule" size="0.02" fromto="0 0 0 0.8 0 0"/>
      </body>
    </body>
    <body name="slider" pos="1.1 0 0">
      <joint name="rail" type="slide" axis="1 0 0"/> <geom type="box" size="0.05 0.05 0.05"/>
    </body>
  </worldbody>
  <equality> <connect name="pin" body1="rod" body2="slider" anchor="0.8 0 0"/> </equality>
  <actuator> <motor name="m" joint="motor" gear="5"/> </actuator>
</mujoco>
"""
MODELS = Path(os.environ.get("LINKWORK_MODELS", Path(__file__).resolve().parents[2] / "shared" / "models"))


def load() -> lw.Mechanism:
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else MODELS / "cassie" / "cassie.xml"
    if file.is_file():
        return lw.load(file)
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / "slider_crank.xml"
        own.write_text(MJCF)
        return lw.load(own)


robot = load()
print(robot)
print("motors:", ", ".join(actuator.joint for actuator in robot.actuators) or "none in the file")
for constraint in robot.constraints:
    print(f"  {constraint}: {constraint.rows} rows on {' and '.join(constraint.places + constraint.joints)}")

# As the file draws it, or as near to that as loops close; then moved, and closed again.
drawn = robot.poses.get("qpos0", robot.neutral())
q = robot.assemble(drawn)
print("as drawn:", robot.mobility(q))
moved = robot.integrate(q, 0.1 * np.random.default_rng(0).normal(size=robot.nv))
print(f"moved at random, loops are open by {np.abs(lw.constraint_error(robot, moved)).max(initial=0.0):.3f}")
q = robot.assemble(moved)
print(f"assembled again, by {np.abs(lw.constraint_error(robot, q)).max(initial=0.0):.0e}:", robot.mobility(q))

# Velocities that loops allow: the nearest in kinetic energy.
v = robot.project_velocity(q, np.ones(robot.nv))
print(f"rates of the errors after projection: {np.abs(lw.constraint_jacobian(robot, q) @ v).max(initial=0.0):.0e}")

a = lw.ForwardDynamics(robot)(q, v, np.zeros(robot.nv))
print(f"accelerations in {a.iterations} iterations, rows miss {a.residual:.0e}")

# Files that are not understood are errors that say where, never mechanisms that are something else.
with tempfile.TemporaryDirectory() as folder:
    wrong = Path(folder) / "wrong.xml"
    wrong.write_text(MJCF.replace('body2="slider"', 'body2="slidr"'))
    try:
        lw.load(wrong)
    except lw.errors.ModelError as error:
        print("ModelError:", str(error).replace(folder, ""))
