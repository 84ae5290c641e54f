# SPDX-License-Identifier: BSD-3-Clause
"""A robot from a URDF file: its mass matrix, and the Jacobian of its hand."""

import tempfile
from pathlib import Path

import numpy as np

import linkwork as lw

URDF = """
<robot name="arm">
  <link name="base"/>
  <joint name="turn" type="continuous">
    <parent link="base"/> <child link="upper"/> <axis xyz="0 0 1"/>
  </joint>
  <link name="upper">
    <inertial>
      <origin xyz="0.2 0 0"/> <mass value="2"/>
      <inertia ixx="0.002" iyy="0.03" izz="0.03" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <joint name="elbow" type="revolute">
    <origin xyz="0.4 0 0"/> <parent link="upper"/> <child link="lower"/> <axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="30" velocity="5"/>
  </joint>
  <link name="lower">
    <inertial>
      <origin xyz="0.15 0 0"/> <mass value="1"/>
      <inertia ixx="0.001" iyy="0.008" izz="0.008" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <joint name="wrist" type="fixed">
    <origin xyz="0.3 0 0"/> <parent link="lower"/> <child link="hand"/>
  </joint>
  <link name="hand"/>
</robot>
"""

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "arm.urdf"
    file.write_text(URDF)
    robot = lw.load(file)  # base="floating" would set it free

q = robot.random(seed=1)  # within the limits of the file
print(robot, "with joints", robot.joint_names)
print("M(q) =\n", lw.mass_matrix(robot, q))

# The hand is fixed to the lower arm: the bodies are merged, the frame stays.
J = lw.frame_jacobian(robot, q, "hand", reference="aligned")
v = np.array([1.0, -0.5])
print("hand at", lw.frame_placement(robot, q, "hand").position, "moves with", (J @ v)[3:], "m/s")
