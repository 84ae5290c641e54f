# SPDX-License-Identifier: BSD-3-Clause
"""Scenes of real robots, as the papers measure them: **loops** Table II and **lqr** Table II.

Robots are read from model files (example-robot-data, and the shared models); a file that is not there raises
`FileNotFoundError`. Every scene has a pose ``"assembled"`` in which its constraints hold. `LOOPS_TABLE` and `LQR_TABLE`
list the scenes under the papers' names, with the velocities and constraint rows that the papers give.

What the papers leave open, and what was chosen:

- The cube has edges of 0.1 m and 0.2 kg; fingertips touch it with the origins of their tip frames, three on one face
  and the thumb on the opposite one. A second hand holds the other half of the same faces.
- Postures are found by `Mechanism.assemble`. Hands go on along the forearms of the humanoid. Its joint limits are
  dropped: in the file those of the left arm and the legs are shifted by one joint.
- Digit: **loops** counts 44 velocities and three loops a leg, each closed by the weld of a link that was cut. Its model
  is not public. The public file has 54 (springs, and rods on ball joints) and three points a leg, 18 rows.
  ``rods="cut"`` makes the paper's counts from it: springs are fixed, each rod is cut into two halves which are welded,
  each half on a hinge parallel to the knee's. The loops are then planar and redundant, as the paper says of its own,
  and the foot's roll is locked. ``rods="ball"`` keeps the file as it is.
- A box is held at the origins of Digit's hands.
- **lqr** binds hands and feet by random matrices; here they are welded (6 rows) or held at a point (3 rows) where they
  are in a bent posture, as the paper does for MuJoCo. It counts 37 degrees of freedom for Atlas: the length of q.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

import linkwork as lw
from linkwork.model.parts import Limits
from linkwork.model.placement import as_placement
from linkwork.model.rotations import quaternion_of
from linkwork_benchmarks.robots import EXAMPLES, MODELS

Floats = npt.NDArray[np.float64]
Rods = Literal["cut", "ball"]

ASSEMBLED = "assembled"


def _load(path: Path, **options: Any) -> lw.Mechanism:
    if not path.is_file():
        raise FileNotFoundError(
            f"no model file {path}: install example-robot-data, or set LINKWORK_MODELS to the models"
        )
    return lw.load(path, **options)


def _posed(scene: lw.Mechanism, q: Floats) -> lw.Mechanism:
    return replace(scene, poses={ASSEMBLED: q})


def _place(robot: lw.Mechanism, q: Floats, frame: str) -> lw.Placement:
    pose = lw.frame_placement(robot, q, frame)
    return lw.Placement(pose.position, pose.rotation)


def _box(name: str, mass: float, size: tuple[float, float, float]) -> lw.Mechanism:
    """A free box."""
    return lw.Builder(name).body(name, lw.Inertia.box(mass, size)).joint(name, lw.joints.Free(), "world", name).build()


# Hands around a cube -----------------------------------------------------------------------------------

EDGE = 0.1
CUBE = (0.11, 0.0, 0.03)
"""Where a right hand holds the cube: the palm's normal is x, its fingers point along z."""

FINGERS = {"index": 3, "middle": 7, "ring": 11, "thumb": 15}
"""Number of each finger's last link."""

CURL = (0.0, 0.5, 0.5, 0.5)
THUMB = (1.2, 0.3, 0.3, 0.6)


def allegro(side: Literal["left", "right"]) -> lw.Mechanism:
    """The Allegro hand: 16 joints, its palm on the world."""
    return _load(EXAMPLES / f"allegro_hand_description/urdf/allegro_{side}_hand.urdf")


def _grasp(side: Literal["left", "right"]) -> dict[str, tuple[float, float, float]]:
    """Where the fingertips touch a cube in front of the palm, from its center; a left hand is a right hand mirrored."""
    mirror = 1.0 if side == "right" else -1.0
    across = {"index": 0.035, "middle": 0.0, "ring": -0.035, "thumb": 0.02}
    return {finger: (-0.03, mirror * y, -EDGE / 2 if finger == "thumb" else EDGE / 2) for finger, y in across.items()}


def _hold(scene: lw.Mechanism, hand: str, side: Literal["left", "right"], turned: lw.Placement) -> lw.Mechanism:
    """The scene with four fingertips of a hand on the cube, whose frame is ``turned`` against the hand's."""
    bound = []
    for finger, at in _grasp(side).items():
        tip = f"{hand}/link_{FINGERS[finger]}.0_tip"
        on_cube = (turned * lw.Placement(at)).position
        bound.append(lw.constraints.Point("cube/cube", tip, name=f"{hand}/{finger}", first_at=on_cube))
    return scene.constrained(*bound)


def _curl(scene: lw.Mechanism, hand: str, q: Floats) -> None:
    for last in FINGERS.values():
        for k, angle in enumerate(THUMB if last == FINGERS["thumb"] else CURL):
            q[scene.q_index(f"{hand}/joint_{last - 3 + k}.0")] = angle


LEFT_ON_RIGHT = lw.Placement((0.0, 0.0, 0.0), np.diag([-1.0, -1.0, 1.0]))
"""Axes of a left hand seen from a right one that holds the same cube from the other side."""


def hand_and_cube() -> lw.Mechanism:
    """An Allegro hand that holds a cube with its four fingertips: 22 velocities, 12 rows."""
    scene = lw.compose({"right": allegro("right"), "cube": _box("cube", 0.2, (EDGE, EDGE, EDGE))}, name="hand and cube")
    scene = _hold(scene, "right", "right", lw.Placement())
    q = scene.neutral()
    _curl(scene, "right", q)
    q[scene.q_slice("cube/cube")] = [*CUBE, 0.0, 0.0, 0.0, 1.0]
    return _posed(scene, scene.assemble(q, fixed=["cube/cube"]))


def two_hands_and_cube() -> lw.Mechanism:
    """Two Allegro hands that hold one cube with eight fingertips: 38 velocities, 24 rows."""
    parts = {"right": allegro("right"), "left": allegro("left"), "cube": _box("cube", 0.2, (EDGE, EDGE, EDGE))}
    # The left palm is where it sees the cube as the right palm does.
    left = lw.Placement(CUBE) * LEFT_ON_RIGHT * lw.Placement(CUBE).inverse()
    scene = lw.compose(parts, at={"left": left}, name="two hands and cube")
    scene = _hold(scene, "right", "right", lw.Placement())
    scene = _hold(scene, "left", "left", LEFT_ON_RIGHT)
    q = scene.neutral()
    _curl(scene, "right", q)
    _curl(scene, "left", q)
    q[scene.q_slice("cube/cube")] = [*CUBE, 0.0, 0.0, 0.0, 1.0]
    return _posed(scene, scene.assemble(q, fixed=["cube/cube"]))


def straight_fingers_and_cube() -> lw.Mechanism:
    """The same held with straight fingers, which cannot move a tip along themselves: 24 rows of rank 16."""
    parts = {"right": allegro("right"), "left": allegro("left"), "cube": _box("cube", 0.2, (EDGE, EDGE, EDGE))}
    left = lw.Placement(CUBE) * LEFT_ON_RIGHT * lw.Placement(CUBE).inverse()
    scene = lw.compose(parts, at={"left": left}, name="straight fingers and cube")
    q = scene.neutral()
    q[scene.q_slice("cube/cube")] = [*CUBE, 0.0, 0.0, 0.0, 1.0]
    held = []
    for hand in ("right", "left"):
        for finger, last in FINGERS.items():
            tip = f"{hand}/link_{last}.0_tip"
            on_cube = (_place(scene, q, "cube/cube").inverse() * _place(scene, q, tip)).position
            held.append(lw.constraints.Point("cube/cube", tip, name=f"{hand}/{finger}", first_at=on_cube))
    return _posed(scene.constrained(*held), q)


# A humanoid with both hands ------------------------------------------------------------------------------

PALMS = {
    "right": lw.Placement((0.0, 0.0, 0.0), np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])),
    "left": lw.Placement((0.0, 0.0, 0.0), np.array([[0.0, -1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])),
}
"""Hands on wrists: fingers go on along the forearm, palms face each other."""

FEET = {"right": "r_ankle", "left": "l_ankle"}


def humanoid_and_cube(feet: bool = False) -> lw.Mechanism:
    """The simple humanoid with Allegro hands on its wrists, which hold a cube: 73 velocities, 24 rows.

    With ``feet``, both are welded to the ground: 36 rows.
    """
    robot = _load(EXAMPLES / "simple_humanoid_description/urdf/simple_humanoid.urdf", base="floating")
    robot = _without_limits(robot)
    for side in ("right", "left"):
        robot = lw.attach(robot, allegro(side), to=f"{side[0]}_wrist", at=PALMS[side], prefix=side)
    whole = lw.Builder("humanoid, two hands and cube").add_mechanism(robot)
    scene = whole.add_mechanism(_box("cube", 0.2, (EDGE, EDGE, EDGE)), prefix="cube").build()
    scene = _hold(scene, "right", "right", lw.Placement())
    scene = _hold(scene, "left", "left", LEFT_ON_RIGHT)
    q = scene.neutral()
    for side, sign in (("R", 1.0), ("L", -1.0)):
        angles = {"SHOULDER_P": -0.3, "SHOULDER_Y": 0.3 * sign, "ELBOW": -1.2, "WRIST_R": 0.3 * sign}
        for joint, angle in angles.items():
            q[scene.q_index(f"{side}ARM_{joint}")] = angle
        for joint, angle in {"HIP_P": -0.3, "KNEE": 0.6, "ANKLE_P": -0.3}.items():
            q[scene.q_index(f"{side}LEG_{joint}")] = angle
    for hand in ("right", "left"):
        _curl(scene, hand, q)
    middle = [(_place(scene, q, f"{hand}/palm_link") * lw.Placement(CUBE)).position for hand in ("right", "left")]
    # The cube stands between the palms, with the axes that the right hand sees.
    palm = _place(scene, q, "right/palm_link").rotation
    q[scene.q_slice("cube/cube")] = [*np.mean(middle, axis=0), *quaternion_of(palm)]
    standing = [j.name for j in scene.joints if j.name.split("_")[0] in ("root", "RLEG", "LLEG", "WAIST", "CHEST")]
    q = scene.assemble(q, fixed=standing)
    if feet:
        scene = scene.constrained(
            *(lw.constraints.Weld("world", frame, name=f"{side}_foot") for side, frame in FEET.items()), at=q
        )
    return _posed(scene, q)


def _without_limits(robot: lw.Mechanism) -> lw.Mechanism:
    joints = []
    for joint in robot.joints:
        nq, nv = joint.type.nq, joint.type.nv
        far, fast = np.full(nq, np.inf), np.full(nv, np.inf)
        joints.append(replace(joint, limits=Limits(-far, far, fast, fast)))
    return replace(robot, joints=tuple(joints))


# Digit -------------------------------------------------------------------------------------------------

SIDES = ("left", "right")
RODS = {"achilles-rod": "knee", "toe-A-rod": "toe-pitch", "toe-B-rod": "toe-pitch"}
"""Rods that close loops in a leg of Digit, and the joint to whose axis their hinges are parallel when they are cut."""

SPRINGS = ("shin", "heel-spring")
STANCE = 0.12
"""Half the distance of the feet, meters."""


def digit(rods: Rods = "cut") -> lw.Mechanism:
    """Agility's Digit as it stands, feet level under its hips, with its loops and nothing to stand on.

    ``"cut"``: 44 velocities and 36 rows, as **loops** counts. ``"ball"``: the file, 54 velocities and 18 rows.
    """
    robot = _load(MODELS / "digit" / "digit-v3_nomesh.xml")
    springs = [f"{side}-{spring}" for side in SIDES for spring in SPRINGS]
    q = robot.poses["qpos0"].copy()
    feet = [
        lw.constraints.Weld("world", f"{side}-foot", name=f"{side}_foot", first_at=(0.0, sign * STANCE, 0.05))
        for side, sign in zip(SIDES, (1.0, -1.0), strict=True)
    ]
    q = robot.constrained(*feet).assemble(q, fixed=springs)
    return _cut(robot, q) if rods == "cut" else _posed(robot, q)


def _cut(robot: lw.Mechanism, q: Floats) -> lw.Mechanism:
    """Digit with fixed springs and with rods cut into halves on hinges, which are welded as they are at ``q``."""
    build = lw.Builder("digit with cut rods", gravity=robot.gravity)
    pose: dict[str, Floats] = {}
    rods = {f"{side}-{rod}": f"{side}-{axis}" for side in SIDES for rod, axis in RODS.items()}
    for joint in robot.joints:
        if joint.name in rods:
            continue
        build.body(joint.child, robot.inertias[joint.child], check=False)
        if joint.name.split("-", 1)[-1] in SPRINGS:
            build.joint(joint.name, lw.joints.Fixed(), joint.parent, joint.child, joint.placement)  # at rest in q
            continue
        build.joint(
            joint.name,
            joint.type,
            joint.parent,
            joint.child,
            joint.placement,
            lower=joint.limits.lower,
            upper=joint.limits.upper,
            armature=joint.armature,
            damping=joint.damping,
            friction=joint.friction,
            actuated=joint.actuated,
        )
        pose[joint.name] = q[robot.q_slice(joint.name)]
    for motor in robot.actuators:
        build.actuator(motor.name, motor.joint, motor.gear)
    for frame in robot.frames.values():
        if frame.name not in robot.inertias and frame.name != "world" and frame.body not in rods:
            build.frame(frame.name, on=frame.body, at=frame.placement)
    for rod, axis_of in rods.items():
        bound = robot.constraint(rod)
        if not isinstance(bound, lw.constraints.Point):
            raise ValueError(f"{bound} was expected to be a Point")
        start, end = _place(robot, q, rod), _place(robot, q, bound.first) * as_placement(bound.first_at)
        end = lw.Placement(end.position, start.rotation)
        reach = (start.inverse() * end).position
        hinge = robot.joint(axis_of)
        world_axis = _place(robot, q, hinge.child).rotation @ _axis(hinge.type)
        turning = lw.joints.Revolute(start.rotation.T @ world_axis)
        half = robot.inertias[rod].mass / 2
        halves = ((f"{rod}-upper", robot.joint(rod).parent, start, reach), (f"{rod}-lower", bound.first, end, -reach))
        for name, parent, where, way in halves:
            build.body(name, lw.Inertia.rod(half, (0.0, 0.0, 0.0), way / 2, radius=0.007))
            build.joint(name, turning, parent, name, _place(robot, q, parent).inverse() * where)
        ends = [name for name, *_ in halves]
        build.constrain(lw.constraints.Weld(*ends, name=rod, first_at=reach / 2, second_at=-reach / 2))
    return build.pose(ASSEMBLED, pose).build()


def _axis(joint: lw.joints.Joint) -> Floats:
    if not isinstance(joint, lw.joints.Revolute):
        raise ValueError(f"{joint} has no axis")
    return joint.axis


def digit_standing(rods: Rods = "cut") -> lw.Mechanism:
    """Digit on both feet, which are welded to the ground: 44 velocities and 48 rows, or 54 and 30."""
    robot = digit(rods)
    feet = (lw.constraints.Weld("world", f"{side}-foot", name=f"{side}_foot") for side in SIDES)
    return robot.constrained(*feet, at=robot.poses[ASSEMBLED])


BOX_DEPTH = 0.3


def digit_like_standing() -> lw.Mechanism:
    """A robot like Digit from another public file, its rods cut, feet welded to the ground: 54 velocities, 48 rows.

    All its joints are revolute; six welds close the loops of its legs, as in the paper's table.
    """
    robot = _load(MODELS / "example_parallel_robots/digit_like_2legs_6D/robot.urdf", base="floating")
    q = robot.assemble(robot.neutral())
    feet = {"right": "foot_frame", "left": "foot_left_frame"}
    welds = (lw.constraints.Weld("world", frame, name=f"{side}_foot") for side, frame in feet.items())
    return _posed(robot.constrained(*welds, at=q), q)


def digit_with_box(rods: Rods = "cut") -> lw.Mechanism:
    """Digit on both feet with a box between its hands: 50 velocities and 54 rows, or 60 and 36."""
    return _carried({"digit": lw.Placement()}, rods, "Digit with a box")


def two_digits_with_box(rods: Rods = "cut") -> lw.Mechanism:
    """Two Digits that face each other and hold one box: 94 velocities and 108 rows, or 114 and 72."""
    robot = digit(rods)
    hands = [_place(robot, robot.poses[ASSEMBLED], f"{side}-hand").position for side in SIDES]
    away = 2 * float(np.mean(hands, axis=0)[0]) + BOX_DEPTH / 2
    facing = lw.Placement((away, 0.0, 0.0), np.diag([-1.0, -1.0, 1.0]))
    return _carried({"first": lw.Placement(), "second": facing}, rods, "two Digits with a box")


def _carried(at: Mapping[str, lw.Placement], rods: Rods, name: str) -> lw.Mechanism:
    """Standing Digits with a box between all their hands, held where these are."""
    robot = digit_standing(rods)
    left, right = (_place(robot, robot.poses[ASSEMBLED], f"{side}-hand").position for side in SIDES)
    size = (BOX_DEPTH, float(np.linalg.norm(left - right)), 0.25)
    box = _box("box", 2.0, size).with_gravity(robot.gravity)
    scene = lw.compose({**dict.fromkeys(at, robot), "box": box}, at=at, name=name)
    q = scene.poses[ASSEMBLED].copy()
    hands = [f"{key}/{side}-hand" for key in at for side in SIDES]
    where = [_place(scene, q, hand).position for hand in hands]
    middle = np.mean(where, axis=0)
    q[scene.q_slice("box/box")] = [*middle, 0.0, 0.0, 0.0, 1.0]
    touch = (
        lw.constraints.Point("box/box", hand, name=hand, first_at=at - middle)
        for hand, at in zip(hands, where, strict=True)
    )
    return _posed(scene.constrained(*touch), q)


# Robots of lqr -----------------------------------------------------------------------------------------


def bent(robot: lw.Mechanism) -> Floats:
    """A posture in which no limb is stretched and no joint near its limits."""
    q = robot.integrate(robot.neutral(), 0.4 * np.cos(np.arange(robot.nv)))
    margin = np.where(np.isfinite(robot.upper - robot.lower), 0.1 * (robot.upper - robot.lower), 0.0)
    return np.clip(q, robot.lower + margin, robot.upper - margin)


def held(load: Callable[[], lw.Mechanism], welds: Sequence[str] = (), points: Sequence[str] = ()) -> lw.Mechanism:
    """A robot whose frames are welded to the world, or held there at a point, as they are in a bent posture."""
    robot = load()
    q = bent(robot)
    bound = [lw.constraints.Weld("world", frame, name=frame) for frame in welds]
    return _posed(
        robot.constrained(*bound, *(lw.constraints.Point("world", frame, name=frame) for frame in points), at=q), q
    )


def iiwa() -> lw.Mechanism:
    """KUKA iiwa 14: 7 joints."""
    return _load(MODELS / "iiwa14" / "iiwa14_primitive_collision.urdf")


def go1() -> lw.Mechanism:
    """Unitree Go1: 18 velocities."""
    return _load(EXAMPLES / "go1_description/urdf/go1.urdf", base="floating")


def atlas() -> lw.Mechanism:
    """Atlas of Drake: 36 velocities, 37 numbers of q."""
    return _load(MODELS / "atlas" / "atlas_convex_hull.urdf", base="floating")


def talos() -> lw.Mechanism:
    """PAL Talos, its grippers' joints left free: 50 velocities."""
    return _load(EXAMPLES / "talos_data/robots/talos_full_v2.urdf", base="floating", mimic="ignore")


def cassie_on_its_feet() -> lw.Mechanism:
    """Cassie of its file, both feet welded to the ground: 32 velocities and 24 rows."""
    robot = _load(MODELS / "cassie" / "cassie_nomesh.xml")
    q = robot.assemble(next(iter(robot.poses.values())))
    feet = (lw.constraints.Weld("world", f"{side}-foot", name=f"{side}_foot") for side in SIDES)
    return _posed(robot.constrained(*feet, at=q), q)


class Scene(NamedTuple):
    """How to make a scene, and the velocities and constraint rows that its paper gives."""

    make: Callable[[], lw.Mechanism]
    nv: int
    rows: int


LOOPS_TABLE = {
    "AH-cube": Scene(hand_and_cube, 22, 12),
    "AH²-cube": Scene(two_hands_and_cube, 38, 24),
    "Hum-AH²-cube": Scene(humanoid_and_cube, 73, 24),
    "Hum-AH²-cube, feet": Scene(partial(humanoid_and_cube, feet=True), 73, 36),
    "Digit": Scene(digit_standing, 44, 48),
    "Digit-cube": Scene(digit_with_box, 50, 54),
    "Digit²-cube": Scene(two_digits_with_box, 94, 108),
}
"""The systems of **loops** Table II."""

LOCAL_LOOPS = {
    "Cassie, feet welded": cassie_on_its_feet,
    "Digit": digit_standing,
    "Digit-cube": digit_with_box,
    "Digit²-cube": two_digits_with_box,
}
"""Robots with loops in their legs and constraints that span them."""

PAWS = ("FR_foot", "FL_foot", "RR_foot", "RL_foot")
ATLAS = ("l_foot", "r_foot", "l_hand", "r_hand")
TALOS = ("left_sole_link", "right_sole_link", "gripper_left_base_link", "gripper_right_base_link")
LIMBS = ("0D", "F", "2F", "2F+H", "2F+2H")

LQR_TABLE = {
    "Iiwa (0D)": Scene(partial(held, iiwa), 7, 0),
    "Iiwa (H3)": Scene(partial(held, iiwa, points=["iiwa_link_ee"]), 7, 3),
    "Iiwa (H)": Scene(partial(held, iiwa, welds=["iiwa_link_ee"]), 7, 6),
    **{f"Go1 ({f'{k}F3' if k else '0D'})": Scene(partial(held, go1, points=PAWS[:k]), 18, 3 * k) for k in range(5)},
    **{f"Atlas ({limbs})": Scene(partial(held, atlas, ATLAS[:k]), 37, 6 * k) for k, limbs in enumerate(LIMBS)},
    **{f"Talos ({limbs})": Scene(partial(held, talos, TALOS[:k]), 50, 6 * k) for k, limbs in enumerate(LIMBS)},
}
"""The systems of **lqr** Table II."""
