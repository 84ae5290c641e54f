# SPDX-License-Identifier: BSD-3-Clause
"""Saving mechanisms: what is read back has the same dynamics, here and in other libraries."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkwork as lw
from linkwork.saving import FORMATS
from tests.support.robots import model_file
from tests.support.round_trips import NOT_IN_MATRICES, closed_states, differences, discrepancy, saved
from tests.support.sensor_texts import every_type

pytestmark = pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning")

# Round trips ---------------------------------------------------------------------------------------------------------

MADE: dict[str, Any] = {
    name: getattr(lw.zoo, name)
    for name in lw.zoo.__all__
    if name
    in (
        *("ball_on_stewart", "belt_chain", "bouncing_ball", "boxes_on_slope", "delta", "five_bar", "four_bar"),
        *("four_bar_cart_pole", "geared_chain", "hand_and_cube", "hopper", "humanoid", "jansen", "newtons_cradle"),
        *("painleve_rod", "pendulum", "pinched_capsule", "quadruped_standing", "rattleback", "rolling_sphere"),
        *(
            "running_hopper",
            "slider_crank",
            "sliding_box",
            "spinning_disc",
            "spinning_top",
            "stewart",
            "swimmer",
            "watt",
        ),
    )
}
MADE |= {
    "chain_of_loops": lambda: lw.zoo.chain_of_loops(2, links=4),
    "coupled_loops": lambda: lw.zoo.coupled_loops(2),
    "held_chain": lambda: lw.zoo.held_chain(5),
    "ladder": lambda: lw.zoo.ladder(2),
    "serial_chain": lambda: lw.zoo.serial_chain(6),
    "single_loop": lambda: lw.zoo.single_loop(6),
    "stalk": lambda: lw.zoo.stalk(2, 1),
    "star_of_loops": lambda: lw.zoo.star_of_loops(2, links=4),
    "tiny four_bar": lambda: lw.zoo.four_bar().scaled(length=1e-3, mass=1e-9),
    "huge stewart": lambda: lw.zoo.stewart().scaled(length=1e3, mass=1e9),
}
"""Mechanisms of the zoo; those of the same kind with more bodies are left out."""

REFUSED = {
    ("hopper", "mjcf"): "MJCF has no equality for a PointOnLine",
    ("hopper", "sdf"): "SDF has no PointOnLine",
    ("running_hopper", "mjcf"): "MJCF has no equality for a PointOnLine",
    ("running_hopper", "sdf"): "SDF has no PointOnLine",
    ("swimmer", "mjcf"): "MJCF has no planar joint",
    ("swimmer", "sdf"): "SDF has no planar joint",
    ("belt_chain", "sdf"): "SDF has no Belt",
    ("stalk", "sdf"): "what it holds would not float",
}
"""What a format cannot say of them."""

FILES = (
    "cassie/cassie_nomesh.xml",
    "digit/digit-v3_nomesh.xml",
    "drake_four_bar/four_bar_loop.sdf",
    "grbda_linkages/planar_leg_linkage.urdf",
    "grbda_linkages/six_bar.urdf",
    "mini_cheetah/mini_cheetah_approximate.urdf",
    "robotiq_2f85_v4/2f85_nomesh.xml",
)


@cache
def made(name: str) -> tuple[lw.Mechanism, Any]:
    robot = MADE[name]() if name in MADE else lw.load(model_file(name), inertias="trust")
    return robot, closed_states(robot, seed=1)


def round_trip(name: str, format: str) -> float:
    """How far the dynamics of what is read back are off; in SDF, drawn where loops are closed if it must be."""
    robot, states = made(name)
    try:
        return discrepancy(robot, saved(robot, format, drop=NOT_IN_MATRICES), states)
    except lw.errors.CannotSave as error:
        if "it is open there" not in str(error):
            raise
    zero = states[0][0]
    return discrepancy(robot, saved(robot, format, drop=NOT_IN_MATRICES, pose=zero), states, zero)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", MADE)
def test_a_mechanism_has_the_same_dynamics_when_read_back(name: str, format: str) -> None:
    if (name, format) in REFUSED:
        with pytest.raises(lw.errors.CannotSave, match=REFUSED[name, format]):
            round_trip(name, format)
    else:
        assert round_trip(name, format) < 1e-12


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", FILES)
def test_a_model_file_has_the_same_dynamics_in_every_format(name: str, format: str) -> None:
    if name.startswith("digit") and format == "urdf":
        with pytest.raises(lw.errors.CannotSave, match="URDF has no gravity but"):
            round_trip(name, format)
    else:
        assert round_trip(name, format) < 1e-12


SAYABLE = {"urdf": "rphusSf", "mjcf": "rpus", "sdf": "rphus"}
"""Types of joints of each format; free ones only at the root of MJCF and SDF."""

ROWS = {
    "urdf": [k for k in lw.zoo.LOOP_KINDS if k not in ("CenterOfMass", "LinearCombination", "PolynomialCoupling")],
    "mjcf": ["Hinge", "JointCoupling", "JointLock", "Point", "PolynomialCoupling", "Rod", "Weld"],
    "sdf": ["Cardan", "Hinge", "Point", "Slider", "Weld"],
}
"""Constraints of each format."""


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=8)
@given(seed=st.integers(0, 10**6), data=st.data())
def test_random_mechanisms_come_back(format: str, seed: int, data: st.DataObject) -> None:
    kinds = [data.draw(st.sampled_from(ROWS[format])) for _ in range(2)]
    rotors = format == "urdf"
    robot = lw.zoo.random_loops(seed, bodies=6, loops=2, kinds=SAYABLE[format], constraints=kinds, armature=rotors)
    states = closed_states(robot, seed, count=1)
    zero = states[0][0] if format == "sdf" else None
    back = saved(robot, format, pose=zero)
    assert discrepancy(robot, back, states, zero) < 1e-11  # loops in singular poses, too


def everything() -> lw.Mechanism:
    """A robot with something of all that MJCF can say."""
    build = lw.Builder("everything", gravity=(0.1, 0.0, -1.6))
    build.body("base", lw.Inertia.box(3.0, (0.3, 0.2, 0.1)), gravity_compensation=0.5)
    build.joint("floating", lw.joints.Free(), "world", "base", damping=0.3)
    build.body("arm", lw.Inertia.rod(1.0, (0, 0, 0), (0.4, 0, 0)))
    turned = lw.Placement.rpy(0.3, 1.2, -0.4, position=(0.1, 0.2, 0.3))
    build.joint(
        "shoulder", lw.joints.Revolute((1, 2, 3)), "base", "arm", turned, (0.01, 0.02, 0.03), upper=1.5, velocity=9.0
    )
    build.body("hand", lw.Inertia.sphere(0.4, 0.05))
    rail = {"lower": -0.1, "upper": 0.2, "stiffness": 40.0, "rest": 0.05, "friction": 0.2, "damping": 1.5}
    build.joint(
        "slide",
        lw.joints.Prismatic("y"),
        "arm",
        "hand",
        (0.4, 0, 0),
        **rail,
        armature=0.01,
        effort=20.0,
        actuation=(-10.0, 20.0),
    )
    build.body("finger", lw.Inertia.rod(0.1, (0, 0, 0), (0, 0, 0.1)))
    build.joint("knuckle", lw.joints.Universal("x", "z"), "hand", "finger", (0, 0, 0.05), lower=(-1, -2), upper=(1, 2))
    build.body("ball", lw.Inertia.sphere(0.2, 0.03))
    build.joint("socket", lw.joints.Spherical(), "hand", "ball", (0, 0.1, 0), (0, 0, 0.02), damping=0.1, stiffness=3.0)
    build.frame("tip", "finger", lw.Placement.rpy(0.1, 0.2, 0.3, position=(0, 0, 0.1)))
    build.frame("anchor", "world", (1.0, 0, 0))
    build.shape("arm", lw.shapes.Capsule(0.02, 0.4), (0.2, 0, 0), color=(1, 0, 0, 0.5))
    build.shape("hand", lw.shapes.Ellipsoid((0.1, 0.2, 0.3)), role="collision", name="palm")
    build.shape("world", lw.shapes.Ground())
    build.contact("hand", friction=0.7, margin=0.001)
    build.constrain(
        lw.constraints.Gear("shoulder", "slide", 3.0, 0.1),
        lw.constraints.Point("tip", "ball", second_at=(0.1, 0, 0), enabled=False),
    )
    build.actuator("motor", "slide", 2.0, (-1.0, 1.0), gain=(5.0, 0, 0), bias=(0, -5.0, -0.1), force_limits=(-3.0, 9.0))
    build.actuator("pair", "shoulder", 0.5, also={"slide": 0.25})
    build.pose("home", {"floating": (0, 0, 1, 0, 0, 0, 1), "shoulder": 0.3, "socket": (0.6, 0, 0, 0.8)})
    return build.build().with_sensors(
        lw.sensors.Sensor("gyro", "gyro", "tip", cutoff=3.0),
        lw.sensors.Sensor("reach", "framepos", "tip", "anchor", noise=0.1),
    )


def test_all_that_mjcf_can_say_comes_back() -> None:
    robot = everything()
    marks = [f"actuated of {joint}" for joint in ("floating", "shoulder", "slide", "socket")]
    found = [what for what in differences(robot, saved(robot, "mjcf")) if what not in marks]
    assert found == ["velocity of shoulder: [9.] and [inf]", "joint knuckle"]
    assert discrepancy(robot, saved(robot, "mjcf"), closed_states(robot, 0)) < 1e-12


def test_sensors_of_every_type_come_back() -> None:
    robot = lw.loads(every_type())
    with pytest.warns(lw.errors.ModelWarning, match="a part of a body"):
        back = lw.loads(robot.to_text("mjcf"))
    kept = [
        sensor.name
        for sensor in robot.sensors
        if sensor.outboard is None and sensor.exclude in ("", robot.frames[sensor.of].body if sensor.exclude else "")
    ]  # a range finder of the file leaves out the body that it is on: a part of a body is none there
    assert "rangefinder plinth" not in kept
    assert [sensor.name for sensor in back.sensors] == kept
    rng = np.random.default_rng(0)
    ours, read = lw.sensors.Sensors(robot, kept), lw.sensors.Sensors(back)
    assert ours.inputs == read.inputs
    sizes = {"q": robot.random(1), "commands": rng.normal(size=len(robot.actuators) + robot.na), "time": [0.1]}
    inputs = [sizes.get(name, rng.normal(size=robot.nv)) for name in ours.inputs]
    np.testing.assert_allclose(read(*inputs), ours(*inputs), rtol=1e-11, atol=1e-11)


def test_a_tendon_that_is_dropped_takes_along_what_is_on_it() -> None:
    arm = lw.zoo.pendulum(2)
    first, second = arm.joint_names
    arm = arm.with_tendons(lw.tendons.Tendon("sum", joints={first: 1.0, second: 2.0}, offset=0.1, stiffness=3.0))
    arm = arm.with_sensors(lw.sensors.Sensor("length", "tendonpos", "sum"))
    with pytest.raises(lw.errors.CannotSave, match="adds no constant"):
        arm.to_text("mjcf")
    with pytest.warns(lw.errors.ModelWarning, match="tendon 'sum' is not in the file"):
        back = lw.loads(arm.to_text("mjcf", drop=["tendons"]))
    assert not back.tendons
    assert not back.sensors


@pytest.mark.parametrize("name", FILES)
def test_a_file_comes_back_whole_in_its_own_format(name: str) -> None:
    robot, _ = made(name)
    assert differences(robot, saved(robot, {"xml": "mjcf"}.get(name[-3:], name[-4:].strip(".")))) == []


def test_motors_and_passive_forces_come_back() -> None:
    robot = everything()
    back = saved(robot, "mjcf")
    rng = np.random.default_rng(0)
    q, v, u = robot.random(1), rng.normal(size=robot.nv), rng.normal(size=2)
    assert back.joint_names == ("floating", "shoulder", "slide", "knuckle_first", "knuckle_second", "socket")
    for function in (lw.passive_forces, lw.actuators.gravity_compensation, lw.actuators.actuator_torques):
        extra = {lw.passive_forces: (v,), lw.actuators.gravity_compensation: (), lw.actuators.actuator_torques: (v, u)}[
            function
        ]
        np.testing.assert_allclose(function(back, q, *extra), function(robot, q, *extra), rtol=0, atol=1e-13)


def test_the_file_of_a_model_is_always_the_same() -> None:
    robot = lw.zoo.stewart()
    for format in ("urdf", "mjcf", "sdf"):
        given: Any = {"format": format, "strict": False}
        text = robot.to_text(**given)
        assert text == robot.to_text(**given) and text.startswith("<?xml")
        again = lw.loads(text).to_text(**given)
        assert again == lw.loads(again).to_text(**given)


def test_joints_of_sdf_are_at_zero_where_the_model_is_drawn(tmp_path: Path) -> None:
    robot = lw.zoo.four_bar()
    robot.save(tmp_path / "bar.sdf", pose="assembled")
    back = lw.load(tmp_path / "bar.sdf")
    assert np.abs(lw.constraint_error(back, back.neutral())).max() < 1e-13
    there = lw.frame_placement(back, back.neutral(), "rocker").position
    assert np.allclose(there, lw.frame_placement(robot, robot.poses["assembled"], "rocker").position, atol=1e-14)


def test_mjcf_draws_a_pose_without_moving_coordinates() -> None:
    robot = lw.zoo.stewart()
    q = robot.poses["assembled"]
    back = lw.loads(robot.to_text("mjcf", pose="assembled"))
    assert np.allclose(back.poses["qpos0"], back.poses["assembled"], atol=1e-15)
    assert discrepancy(robot, back, [(q, np.ones(robot.nv))]) < 1e-12


def test_bodies_without_mass_between_joints_are_joints_of_one_body() -> None:
    build = lw.Builder("two axes")
    build.body("between")
    build.joint("first", lw.joints.Revolute("x"), "world", "between", lw.Placement.rpy(0.2, 0.3, 0.4))
    build.body("arm", lw.Inertia.rod(1.0, (0, 0, 0), (0.4, 0, 0)))
    build.joint("second", lw.joints.Revolute("z"), "between", "arm", lw.Placement.rpy(1.0, 0, 0, position=(0, 0.1, 0)))
    robot = build.build()
    assert robot.to_text("mjcf").count("<body") == 1
    back = saved(robot, "mjcf", pose=(0.4, -0.3))
    assert back.body_names == ("arm_after_first", "arm")
    assert discrepancy(robot, back, closed_states(robot, 3)) < 1e-14


@pytest.mark.parametrize("joint", ['type="hinge" axis="0 0 1"', 'type="ball" pos=".1 .2 .3"'])
def test_three_joints_of_one_body_stay_in_it_under_their_names(joint: str) -> None:
    mujoco = pytest.importorskip("mujoco")
    text = f"""<mujoco><worldbody><body name="arm" pos="0 0 1" euler="10 20 30">
      <joint name="x" type="slide" axis="1 0 0"/><joint name="y" type="slide" axis="0 1 0" ref=".3"/><joint {joint}/>
      <geom type="capsule" fromto="0 0 0 .3 0 .1" size=".03"/></body></worldbody></mujoco>"""
    robot = lw.loads(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        written = robot.to_text("mjcf")
    mujoco.MjModel.from_xml_string(written)  # where every moving body has mass
    assert lw.loads(written).body_names == robot.body_names
    assert discrepancy(robot, lw.loads(written), closed_states(robot, 3)) < 1e-14


def test_a_body_without_mass_stays_where_a_sensor_or_a_tendon_is_on_it() -> None:
    build = lw.Builder("two axes").body("between").body("arm", lw.Inertia.rod(1.0, (0, 0, 0), (0.4, 0, 0)))
    build.joint("first", lw.joints.Revolute("x"), "world", "between", (0, 0, 1))
    build.joint("second", lw.joints.Revolute("z"), "between", "arm", (0, 0.1, 0))
    robot = build.build()
    sensed = saved(robot.with_sensors(lw.sensors.Sensor("eye", "framepos", "arm", reference="between")), "mjcf")
    pulled = saved(robot.with_tendons(lw.tendons.Tendon("cable", path=("world", "between"))), "mjcf")
    assert sensed.body_names == pulled.body_names == robot.body_names
    assert not sensed.sensors[0].refused


# Other libraries -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["stewart", "jansen", "geared_chain", "humanoid", "hand_and_cube", FILES[0]])
def test_mujoco_loads_mjcf_and_has_the_same_mass_matrix(name: str) -> None:
    mujoco = pytest.importorskip("mujoco")
    robot = made(name)[0]
    text = robot.to_text("mjcf")
    model, back = mujoco.MjModel.from_xml_string(text), lw.loads(text, inertias="trust")
    assert np.abs(lw.mass_matrix(back, q := back.random(3)) - _mujoco_mass(mujoco, model, back, q)).max() < 1e-10
    assert (model.neq > 0) == bool(robot.constraints) and model.npair == len(robot.contacts)


def _mujoco_mass(mujoco: Any, model: Any, robot: lw.Mechanism, q: Any) -> Any:
    across, data, M = lw.peers.mujoco_map(robot), mujoco.MjData(model), np.zeros((model.nv, model.nv))
    data.qpos[:] = across.to_qpos(q)
    mujoco.mj_forward(model, data)
    try:
        mujoco.mj_fullM(model, data, M)
    except TypeError:  # before MuJoCo 4
        mujoco.mj_fullM(model, M, data.qM)
    T = across.velocity_matrix(q)
    return T.T @ M @ T


@pytest.mark.parametrize("name", ["jansen", "geared_chain", "humanoid", "slider_crank", FILES[4]])
def test_pinocchio_loads_urdf_and_has_the_same_mass_matrix(name: str) -> None:
    pin = pytest.importorskip("pinocchio")
    robot = made(name)[0]
    model = pin.buildModelFromXML(robot.to_text("urdf", dialect="linkwork"))
    across = lw.peers.pinocchio_map(robot, model)
    q = pin.randomConfiguration(model, -np.ones(model.nq), np.ones(model.nq))
    M = pin.crba(model, model.createData(), q)
    M = (np.triu(M) + np.triu(M, 1).T)[np.ix_(across.v_order, across.v_order)]
    np.testing.assert_allclose(lw.mass_matrix(robot, across.from_q(q)), M + np.diag(robot.armature), atol=1e-12)


PULLED = """
  <mujoco model="m"><compiler angle="radian"/> <worldbody> <site name="w" pos="0.1 0 1"/>
  <body name="a" pos="0 0 0.2"><joint name="j" axis="0 1 0" pos="0 0 0.01" ref="0.3" springref="0.1" stiffness="2"/>
  <geom type="box" size=".1 .1 .2"/> <site name="s1" pos="0.1 0 0.2"/>
  <body name="b" pos="0 0 0.4"><joint name="k" axis="1 0 0"/>
  <joint name="l" type="slide" axis="0 1 0" range="-1 1"/> <geom type="capsule" size=".05 .2"/>
  <site name="s2" pos="0 .1 .1" type="box" size=".1 .1 .1"/> </body> </body> </worldbody> <tendon>
  <spatial name="rope" stiffness="10" damping="2" springlength="0.3 0.5"><site site="w"/> <site site="s1"/>
  <pulley divisor="2"/> <site site="s1"/> <site site="s2"/> </spatial>
  <fixed name="sum" stiffness="3" range="-1 2" actuatorfrcrange="-3 4"><joint joint="j" coef="2"/>
  <joint joint="l" coef="-1"/> </fixed> <fixed name="two"><joint joint="j" coef="0.3"/>
  <joint joint="k" coef="0.7"/> </fixed> </tendon> <equality>
  <tendon name="held" tendon1="rope" polycoef="0.1"/>
  <tendon name="poly" tendon1="rope" tendon2="two" polycoef="0.1 0.2 0.3 0 0"/>
  <joint name="jj" joint1="j" joint2="l" polycoef="0.1 0.2 0.3 0.4 0.5"/>
  <connect name="c" body1="b" anchor="0 0 0.1"/> </equality> <actuator>
  <general name="g" tendon="rope" gear="2" dyntype="filter" dynprm="0.2" actrange="-1 1" gainprm="3"
    biastype="affine" biasprm="0.1 -0.2 -0.3"/>
  <motor name="m" tendon="two" gear="0.1"/> <position name="p" joint="k" kp="3" kv="1" ctrlrange="-1 1"/>
  <motor name="f" tendon="sum"/> <intvelocity name="iv" joint="l" kp="2" actrange="-1 1"/> </actuator>
  <sensor> <accelerometer name="acc" site="s1"/> <touch name="to" site="s2"/>
  <framequat name="fq" objtype="site" objname="s2" reftype="xbody" refname="a"/>
  <jointpos name="jp" joint="j"/> <actuatorfrc name="af" actuator="p"/> <tendonpos name="tp" tendon="rope"/>
  <tendonactuatorfrc name="ta" tendon="two"/> <subtreecom name="sc" body="a"/>
  <magnetometer name="mag" site="s1"/> <e_kinetic name="ek"/> </sensor> <keyframe>
  <key name="home" qpos="0.1 0.2 0.3" act="0.5 0.6"/> </keyframe> </mujoco>
"""


def test_tendons_activations_and_sensors_come_back() -> None:
    mujoco = pytest.importorskip("mujoco")
    robot = lw.loads(PULLED)
    text = robot.to_text("mjcf")
    back = lw.loads(text)
    assert differences(robot, back) == [] and np.array_equal(back.activations["home"], [0.5, 0.6])
    assert discrepancy(robot, back, [((0.4, -0.3, 0.2), np.ones(3))]) < 1e-14  # rounding, relative to the largest
    said = []
    for model in (mujoco.MjModel.from_xml_string(PULLED), mujoco.MjModel.from_xml_string(text)):
        data = mujoco.MjData(model)
        data.qpos, data.qvel, data.act, data.ctrl = (0.4, -0.3, 0.2), 1.0, (0.1, 0.2), 0.5
        mujoco.mj_forward(model, data)
        said.append([data.sensordata, data.efc_pos, data.qfrc_passive, data.qfrc_actuator, data.act_dot])
    for mine, theirs in zip(*said, strict=True):
        np.testing.assert_allclose(theirs, mine, rtol=1e-9, atol=1e-9)
