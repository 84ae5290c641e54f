# SPDX-License-Identifier: BSD-3-Clause
"""MJCF: kinds of actuators in nested default classes have MuJoCo's gains and biases."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import linkwork as lw

mujoco = pytest.importorskip("mujoco")

DEFAULTS = (
    '<motor gear="2"/>',
    '<motor ctrlrange="-1 1"/>',
    '<position kp="10"/>',
    '<position kp="4" timeconst=".3"/>',
    '<position kv="1"/>',
    '<velocity kv="3"/>',
    '<intvelocity kp="6"/>',
    '<damper kv="2"/>',
    '<general gainprm="7" biastype="affine" biasprm="1 -2 -3"/>',
    '<general dyntype="filter" dynprm=".7"/>',
)
ELEMENTS = (
    '<motor class="{0}" joint="j"/>',
    '<position class="{0}" joint="j"/>',
    '<position class="{0}" kv="2" joint="j"/>',
    '<velocity class="{0}" joint="j"/>',
    '<general class="{0}" joint="j"/>',
    '<intvelocity class="{0}" joint="j" actrange="-1 1"/>',
    '<damper class="{0}" joint="j" ctrlrange="0 1"/>',
)
DYNAMICS = ("none", "integrator", "filter", "filterexact")


def drawn(seed: int) -> tuple[str, Any]:
    """A model of one actuator that MuJoCo takes: it refuses ranges of some kinds."""
    draw = random.Random(seed)
    while True:
        main, outer, inner = (_some(draw) for _ in range(3))
        element = draw.choice(ELEMENTS).format(draw.choice(("main", "c", "d")))
        text = f"""<mujoco><default>{main}<default class="c">{outer}<default class="d">{inner}</default></default>
          </default><worldbody><body><joint name="j"/><geom size=".1"/></body></worldbody>
          <actuator>{element}</actuator></mujoco>"""
        try:
            return text, mujoco.MjModel.from_xml_string(text)
        except ValueError:
            continue


def _some(draw: random.Random) -> str:
    """Elements of a class, one to three of different kinds, whose order counts."""
    kinds = {element.split()[0]: element for element in draw.sample(DEFAULTS, draw.choice((1, 1, 2, 3)))}
    return "".join(kinds.values())


# in the last two a damper does not begin with a <general> after another kind
@pytest.mark.parametrize("seed", [*range(60), 223, 456])
def test_a_kind_begins_with_the_numbers_of_the_closest_class_of_its_own(seed: int) -> None:
    """What a class says of another kind does not reach it; what a class around says of its own kind does."""
    text, m = drawn(seed)
    actuator = lw.loads(text).actuators[0]
    gain, bias = m.actuator_gainprm[0, :3], m.actuator_biasprm[0, :3] * (m.actuator_biastype[0] != 0)
    np.testing.assert_allclose(actuator.gain, gain if m.actuator_gaintype[0] else [gain[0], 0, 0])
    np.testing.assert_allclose(actuator.bias, bias)
    assert actuator.dynamics == DYNAMICS[int(m.actuator_dyntype[0])]
    if actuator.dynamics.startswith("filter"):
        assert actuator.time_constant == pytest.approx(m.actuator_dynprm[0, 0])
