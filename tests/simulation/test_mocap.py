# SPDX-License-Identifier: BSD-3-Clause
"""Welds to mocap bodies of MJCF whose place is an input of steps."""

from __future__ import annotations

from typing import Any

import numpy as np

import linkwork as lw

TEXT = """<mujoco><worldbody>
<body name="target" mocap="true" pos="0 0 1" euler="0 0 90"/>
<body name="hand" pos="0 0 1"><freejoint/><geom size=".05" mass="1"/></body></worldbody>
<equality><weld name="held" body1="target" body2="hand"/></equality></mujoco>"""


def test_a_body_that_is_welded_to_a_mocap_body_follows_it() -> None:
    robot = lw.loads(TEXT)
    step = lw.Stepper(robot, dt=2e-3, parameters={"anchor_position": ["held"]})
    q, v = np.tile(robot.poses["qpos0"], (2, 1)), np.zeros((2, 6))
    moved = np.zeros((2, 1, 2, 3))  # of two robots, in axes of the mocap body: its x is the world's y
    for k in range(700):
        moved[0, 0, 0, 0] = 0.1 * np.sin(0.01 * min(k, 500))
        result: Any = step(q, v, anchor_position=moved)
        q, v = result.q, result.v
    np.testing.assert_allclose(q[0, :3], (0.0, 0.1 * np.sin(5.0), 1.0), atol=1e-6)
    np.testing.assert_allclose(q[1, :3], (0.0, 0.0, 1.0), atol=1e-9)
    np.testing.assert_allclose(v, 0.0, atol=1e-5)
