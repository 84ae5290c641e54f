# SPDX-License-Identifier: BSD-3-Clause
"""Sizes of contact shapes as inputs of steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
import linkwork.gym as lg
from linkwork.kernels.contact.problem import YIELDS

GEOMS = (
    'type="sphere" size=".1"',
    'type="box" size=".1 .12 .15"',
    'type="capsule" size=".1 .12"',
    'type="cylinder" size=".1 .12"',
    'type="ellipsoid" size=".1 .12 .15"',
)
TABLE = """<geom type="box" size=".3 .3 .1" pos="3 0 .1"/><body pos="3 0 .3"><freejoint/><geom size=".08" mass="1"/>
</body>"""


def scene() -> lw.Mechanism:
    bodies = (f'<body pos="{k} 0 .16"><freejoint/><geom {g} mass="1"/></body>' for k, g in enumerate(GEOMS))
    world = f'<geom type="plane" size="5 5 .1"/>{"".join(bodies)}{TABLE}'
    return lw.loads(f"<mujoco><worldbody>{world}</worldbody></mujoco>", "mjcf")


@pytest.mark.parametrize("contact", [True, "soft"])
def test_steps_are_those_of_robots_with_shapes_of_these_sizes(contact: Any) -> None:
    robot = scene()
    own = robot.parameters["contact_size"]
    assert own.shape == (7, 3)
    sizes = own * np.random.default_rng(0).uniform(0.7, 1.5, (2, 7, 1))
    # hard contacts that overlap give way by the scales of the file, at most `YIELDS` of free fall
    tolerance = YIELDS * 9.81 * 0.25**2 / 2 if contact is True else 1e-10
    step = lw.Stepper(robot, 5e-3, contact=contact, parameters=["contact_size"])
    q, v = np.tile(robot.poses["qpos0"], (2, 1)), np.zeros((2, robot.nv))
    result: Any = step(q, v, steps=50, contact_size=sizes)
    for k in range(2):
        sized = robot.with_parameters(contact_size=sizes[k])
        alone: Any = lw.Stepper(sized, 5e-3, contact=contact)(q[k], v[k], steps=50)
        np.testing.assert_allclose(result.q[k], alone.q, rtol=0, atol=tolerance)
    assert np.abs(result.q[0] - result.q[1]).max() > 1e-2


def test_sizes_are_drawn_for_environments() -> None:
    robot = scene()
    drawn = lg.Randomization(robot, {"contact_size": (0.5, 1.5)})
    rng = np.random.default_rng(0)
    sizes = drawn(rng.uniform(size=(1000, drawn.draws)))["contact_size"]
    own = robot.parameters["contact_size"]
    factors = sizes[:, :, 0] / own[:, 0]
    assert drawn.draws == 7 and factors.min() >= 0.5 and factors.max() <= 1.5
    np.testing.assert_allclose(factors.mean(axis=0), 1.0, atol=4 * (1 / np.sqrt(12)) / np.sqrt(1000))
    np.testing.assert_allclose(sizes, factors[:, :, None] * own, rtol=1e-14)  # shapes keep their proportions


def test_sizes_of_pairs_without_kernels_are_refused() -> None:
    step = lw.Stepper(scene(), 5e-3, parameters=["contact_size"])
    with pytest.raises(lw.errors.UnsupportedFeature, match="found by coal"):
        step.compile()
