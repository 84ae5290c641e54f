# SPDX-License-Identifier: BSD-3-Clause
"""Mechanisms built in code, without files: for examples, tests and benchmarks.

Each mechanism with loops has a pose ``"assembled"`` in which they are closed: ``robot.poses["assembled"]``.
"""

from __future__ import annotations

from linkwork.zoo.basic import (
    humanoid,
    pendulum,
    random_direction,
    random_inertia,
    random_placement,
    random_tree,
    serial_chain,
)
from linkwork.zoo.closed import LOOP_KINDS, random_loops
from linkwork.zoo.contacts import pyramid, stack, swimmer
from linkwork.zoo.humanoids import humanoid_fallen, humanoid_standing, small_humanoid
from linkwork.zoo.linkages import HOLY_NUMBERS, five_bar, four_bar, jansen, slider_crank, watt
from linkwork.zoo.places import ASSEMBLED
from linkwork.zoo.platforms import delta, delta_pose, stewart, stewart_pose
from linkwork.zoo.quadrupeds import quadruped, quadruped_fallen, quadruped_standing
from linkwork.zoo.scaling import (
    chain_of_loops,
    coupled_loops,
    held_chain,
    ladder,
    single_loop,
    stalk,
    star_of_loops,
)
from linkwork.zoo.scenes import robots_on_pyramid
from linkwork.zoo.supports import resting
from linkwork.zoo.transmissions import belt_chain, geared_chain, tello

__all__ = [
    "ASSEMBLED",
    "HOLY_NUMBERS",
    "LOOP_KINDS",
    "belt_chain",
    "chain_of_loops",
    "coupled_loops",
    "delta",
    "delta_pose",
    "five_bar",
    "four_bar",
    "geared_chain",
    "held_chain",
    "humanoid",
    "humanoid_fallen",
    "humanoid_standing",
    "jansen",
    "ladder",
    "pendulum",
    "pyramid",
    "quadruped",
    "quadruped_fallen",
    "quadruped_standing",
    "random_direction",
    "random_inertia",
    "random_loops",
    "random_placement",
    "random_tree",
    "resting",
    "robots_on_pyramid",
    "serial_chain",
    "single_loop",
    "slider_crank",
    "small_humanoid",
    "stack",
    "stalk",
    "star_of_loops",
    "stewart",
    "stewart_pose",
    "swimmer",
    "tello",
    "watt",
]
