# SPDX-License-Identifier: BSD-3-Clause
"""Scenes that are written here, as MJCF: piles of mixed bodies, boxes, a quadruped on a height field."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

SHAPES = (
    'type="box" size="0.06 0.05 0.04"',
    'type="sphere" size="0.05"',
    'type="capsule" size="0.03 0.06"',
    'type="cylinder" size="0.05 0.04"',
    'type="ellipsoid" size="0.06 0.05 0.04"',
)
"""Geoms of mixed bodies, in turn."""
SIMPLE_SHAPES = SHAPES[:3]

HEAD = '<mujoco><option timestep="0.002" cone="elliptic"/><default><geom density="800"/></default><worldbody>'
FLOOR = '<geom name="floor" type="plane" size="0 0 0.05"/>'
END = "</worldbody></mujoco>"


def pile(count: int, shapes: Sequence[str] = SHAPES, seed: int = 0) -> str:
    """Mixed bodies in layers above the ground, turned at random, which fall on each other.

    Args:
        count: How many.
        shapes: Their geoms, in turn.
        seed: Of their poses.
    """
    rng = np.random.default_rng(seed)
    side = max(2, round((count / 4) ** (1 / 3) + 1))
    bodies = []
    for k in range(count):
        at = np.array([k % side, k // side % side, k // side**2]) * 0.16 + rng.uniform(-0.01, 0.01, 3)
        at[2] += 0.12
        bodies.append(_body(shapes[k % len(shapes)], at, rng.standard_normal(4)))
    return HEAD + FLOOR + "".join(bodies) + END


def stack_of_boxes(count: int) -> str:
    """Boxes at rest on each other."""
    bodies = [_body('type="box" size="0.1 0.1 0.1"', (0, 0, 0.1 + 0.2 * k), (1, 0, 0, 0)) for k in range(count)]
    return HEAD + FLOOR + "".join(bodies) + END


def boxes_apart(count: int) -> str:
    """Boxes at rest on the ground in a square, none near another."""
    side = int(np.ceil(np.sqrt(count)))
    bodies = [_body('type="box" size="0.1 0.1 0.1"', (k % side, k // side, 0.1), (1, 0, 0, 0)) for k in range(count)]
    return HEAD + FLOOR + "".join(bodies) + END


def _body(geom: str, at: object, quaternion: object) -> str:
    numbers = [" ".join(repr(float(x)) for x in np.asarray(values)) for values in (at, quaternion)]
    return f'<body pos="{numbers[0]}" quat="{numbers[1]}"><freejoint/><geom {geom}/></body>'


def quadruped_on_height_field(*, all_shapes: bool) -> str:
    """A quadruped of 13 bodies on servos that stands on a height field.

    Args:
        all_shapes: Whether trunk, thighs and shins may touch the ground; else feet alone.
    """
    rng = np.random.default_rng(1)
    rows = 40
    heights = " ".join(f"{x:.6f}" for x in rng.uniform(0, 1, rows * rows))
    touches = "1" if all_shapes else "0"
    legs, servos, ctrl = "", "", ""
    for name, x, y in (("fl", 0.2, 0.1), ("fr", 0.2, -0.1), ("rl", -0.2, 0.1), ("rr", -0.2, -0.1)):
        legs += (
            f'<body pos="{x} {y} 0"><joint name="{name}_abduction" axis="1 0 0" damping="0.2" armature="0.01"/>'
            '<geom type="sphere" size="0.04" mass="0.6" contype="0" conaffinity="0"/>'
            f'<body pos="0 {0.4 * y} 0"><joint name="{name}_hip" axis="0 1 0" damping="0.2" armature="0.01"/>'
            f'<geom type="capsule" fromto="0 0 0 0 0 -0.2" size="0.02" mass="0.9" class="limb" '
            f'conaffinity="{touches}"/>'
            f'<body pos="0 0 -0.2"><joint name="{name}_knee" axis="0 1 0" damping="0.2" armature="0.01"/>'
            f'<geom type="capsule" fromto="0 0 0 0 0 -0.2" size="0.015" mass="0.15" class="limb" '
            f'conaffinity="{touches}"/>'
            '<geom type="sphere" pos="0 0 -0.2" size="0.022" mass="0.05" class="limb" conaffinity="1"/>'
            "</body></body></body>"
        )
        servos += "".join(
            f'<position joint="{name}_{joint}" kp="60" kv="2"/>' for joint in ("abduction", "hip", "knee")
        )
        ctrl += " 0 0.7 -1.4"
    return (
        '<mujoco><compiler angle="radian"/><option timestep="0.002" integrator="implicitfast" cone="elliptic"/>'
        '<default><default class="limb"><geom contype="0"/></default></default>'
        f'<asset><hfield name="ground" nrow="{rows}" ncol="{rows}" size="4 4 0.05 0.1" elevation="{heights}"/></asset>'
        '<worldbody><geom type="hfield" hfield="ground" contype="1" conaffinity="0"/>'
        '<body name="trunk" pos="0 0 0.4"><freejoint/>'
        f'<geom type="box" size="0.25 0.1 0.06" mass="6" class="limb" conaffinity="{touches}"/>{legs}</body>'
        f"</worldbody><actuator>{servos}</actuator>"
        f'<keyframe><key qpos="0 0 0.4 1 0 0 0{ctrl}" ctrl="{ctrl}"/></keyframe></mujoco>'
    )
