# SPDX-License-Identifier: BSD-3-Clause
"""Mechanisms built in code, without files: for examples, tests and benchmarks.

Each mechanism with loops has a pose ``"assembled"`` in which they are closed: ``robot.poses["assembled"]``. Scenes with
contact pairs have one in which bodies touch and do not penetrate.
"""

from __future__ import annotations

from linkwork.model.poses import ASSEMBLED
from linkwork.zoo.balancing import ball_on_stewart
from linkwork.zoo.basic import (
    humanoid,
    pendulum,
    random_direction,
    random_inertia,
    random_placement,
    random_tree,
    serial_chain,
)
from linkwork.zoo.box_scenes import box_pyramid, boxes, boxes_on_slope, card_house, dominoes, sliding_box
from linkwork.zoo.closed import LOOP_KINDS, random_loops
from linkwork.zoo.contacts import pyramid, stack, swimmer
from linkwork.zoo.grasps import hand_and_cube, pinched_capsule
from linkwork.zoo.hopping import hopper
from linkwork.zoo.humanoids import humanoid_fallen, humanoid_standing, small_humanoid
from linkwork.zoo.linkages import HOLY_NUMBERS, five_bar, four_bar, four_bar_cart_pole, jansen, slider_crank, watt
from linkwork.zoo.platforms import delta, delta_pose, stewart, stewart_pose
from linkwork.zoo.quadrupeds import quadruped, quadruped_fallen, quadruped_standing
from linkwork.zoo.ratchets import ratchet
from linkwork.zoo.robots_on_ground import cassie_on_ground, digit_on_ground, go2_on_ground, on_ground
from linkwork.zoo.round_scenes import (
    RAISED,
    bouncing_ball,
    newtons_cradle,
    painleve_rod,
    rattleback,
    rolling_sphere,
    spinning_disc,
    spinning_top,
)
from linkwork.zoo.running import running_hopper
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
    "RAISED",
    "ball_on_stewart",
    "belt_chain",
    "bouncing_ball",
    "box_pyramid",
    "boxes",
    "boxes_on_slope",
    "card_house",
    "cassie_on_ground",
    "chain_of_loops",
    "coupled_loops",
    "delta",
    "delta_pose",
    "digit_on_ground",
    "dominoes",
    "five_bar",
    "four_bar",
    "four_bar_cart_pole",
    "geared_chain",
    "go2_on_ground",
    "hand_and_cube",
    "held_chain",
    "hopper",
    "humanoid",
    "humanoid_fallen",
    "humanoid_standing",
    "jansen",
    "ladder",
    "newtons_cradle",
    "on_ground",
    "painleve_rod",
    "pendulum",
    "pinched_capsule",
    "pyramid",
    "quadruped",
    "quadruped_fallen",
    "quadruped_standing",
    "random_direction",
    "random_inertia",
    "random_loops",
    "random_placement",
    "random_tree",
    "ratchet",
    "rattleback",
    "resting",
    "robots_on_pyramid",
    "rolling_sphere",
    "running_hopper",
    "serial_chain",
    "single_loop",
    "slider_crank",
    "sliding_box",
    "small_humanoid",
    "spinning_disc",
    "spinning_top",
    "stack",
    "stalk",
    "star_of_loops",
    "stewart",
    "stewart_pose",
    "swimmer",
    "tello",
    "watt",
]
