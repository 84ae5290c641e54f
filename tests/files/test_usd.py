# SPDX-License-Identifier: BSD-3-Clause
"""USD stages: the robots that they say, in all units, with loops, drives and shapes; and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from tests.support.states import assert_close
from tests.support.usd_texts import body, joint, matrix, prim, stage, usda_of

UNITS = [(1.0, 1.0, "Z"), (0.01, 1.0, "Y"), (0.25, 2.0, "Z")]
SINGLE = 3e-7
"""Numbers are floats of 32 bits in USD; a mass matrix is some products of them."""
BALL = "float physics:mass = 2\n point3f physics:centerOfMass = (0, 0, 0)\n float3 physics:diagonalInertia = (1, 1, 1)"
HERE = lw.Placement()


@pytest.fixture(autouse=True)
def usd() -> None:
    """All tests here need usd-core."""
    pytest.importorskip("pxr")


def arm(inside: str = "", kind: str = "RevoluteJoint", more: str = "", **options: Any) -> lw.Mechanism:
    """One body on one joint, with something inside of the joint."""
    text = body("link", BALL) + joint("hinge", kind, ("", "link"), (HERE, HERE), inside=inside, schemas=more)
    return lw.loads(stage(text), **options)


def same(ours: lw.Mechanism, robot: lw.Mechanism, rel: float) -> None:
    """Compare dynamics at the configuration that was drawn."""
    assert sorted(ours.joint_names) == sorted(robot.joint_names)
    in_v = np.concatenate([np.arange(ours.nv)[ours.v_slice(name)] for name in robot.joint_names])
    q = robot.neutral()
    for name in robot.joint_names:
        q[robot.q_slice(name)] = ours.poses["initial"][ours.q_slice(name)]
    v = np.zeros(ours.nv)
    v[in_v] = w = np.random.default_rng(0).normal(size=robot.nv)
    p = ours.poses["initial"]
    assert_close(lw.mass_matrix(ours, p)[np.ix_(in_v, in_v)], lw.mass_matrix(robot, q), rel)
    assert_close(lw.bias_forces(ours, p, v)[in_v], lw.bias_forces(robot, q, w), 10 * rel)
    assert ours.nc == robot.nc
    if robot.nc:
        a = lw.ForwardDynamics(ours).plain()(p, v, np.zeros(ours.nv)).acceleration[in_v]
        assert_close(a, lw.ForwardDynamics(robot).plain()(q, w, np.zeros(robot.nv)).acceleration, 1e3 * rel)
    np.testing.assert_allclose(ours.lower, robot.lower, rtol=1e-6, atol=1e-9)


@pytest.mark.filterwarnings("ignore:v opens a loop")
@pytest.mark.parametrize(("meters", "kilograms", "up"), UNITS)
def test_zoo_mechanisms_come_back(meters: float, kilograms: float, up: str) -> None:
    for robot in (lw.zoo.four_bar(), lw.zoo.five_bar(), lw.zoo.random_tree(1, bodies=6, kinds="rps", armature=False)):
        q = robot.poses["assembled"] if robot.nc else robot.random(0)
        ours = lw.loads(usda_of(robot, q, meters, kilograms, up))
        same(ours, robot, SINGLE)
        assert np.abs(lw.constraint_error(ours, ours.poses["initial"])).max(initial=0.0) < 1e-6
        assert_close(ours.gravity, robot.gravity, 1e-7)


@pytest.mark.filterwarnings("ignore:v opens a loop")
def test_a_rod_and_a_floating_planar_robot() -> None:
    build = lw.Builder("rod")
    for k, type in enumerate((lw.joints.Free(), lw.joints.Planar("z"), lw.joints.Prismatic("y"))):
        build.body(f"b{k}", lw.Inertia.box(1.0 + k, (0.1, 0.2, 0.3), com=(0.01, 0.02, 0.03)))
        build.joint("root_joint" if k == 0 else f"j{k}", type, f"b{k - 1}" if k else "world", f"b{k}", at=(0.5, 0, 0))
    robot = build.constrain(lw.constraints.Rod("b0", "b2", first_at=(0, 0.5, 0), length=0.75, name="rod")).build()
    q = robot.assemble(robot.random(3))
    same(lw.loads(usda_of(robot, q)), robot, SINGLE)


def test_a_text_in_decimals_is_a_urdf_file_to_the_last_digit() -> None:
    urdf = """<robot name="robot"><link name="world"/>
      <link name="upper"><inertial><origin xyz="0.01 0.02 -0.25"/><mass value="1.7"/>
        <inertia ixx="0.031" iyy="0.027" izz="0.011" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <link name="lower"><inertial><origin xyz="0.003 0 -0.15"/><mass value="0.9"/>
        <inertia ixx="0.013" iyy="0.012" izz="0.004" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="shoulder" type="revolute"><parent link="world"/><child link="upper"/><origin xyz="0 0 1.1"/>
        <axis xyz="0 1 0"/><limit lower="-1.5707963267948966" upper="3.141592653589793" effort="1" velocity="1"/>
        </joint>
      <joint name="elbow" type="prismatic"><parent link="upper"/><child link="lower"/>
        <origin xyz="0.05 0 -0.5" rpy="1.5707963267948966 0 0"/><axis xyz="0 0 1"/>
        <limit lower="-0.1" upper="0.3" effort="1" velocity="1"/></joint></robot>"""
    upper = """float physics:mass = 1.7
        point3f physics:centerOfMass = (1, 2, -25)
        float3 physics:diagonalInertia = (310, 270, 110)"""
    lower = """float physics:mass = 0.9
        point3f physics:centerOfMass = (0.3, 0, -15)
        float3 physics:diagonalInertia = (130, 120, 40)"""
    turned = lw.Placement.rpy(np.pi / 2, 0, 0, position=(0.05, 0, -0.5))
    limits = 'uniform token physics:axis = "{}"\n float physics:lowerLimit = {}\n float physics:upperLimit = {}'
    parts = [
        body("upper", upper),
        body("lower", lower),
        joint(
            "shoulder",
            "RevoluteJoint",
            ("", "upper"),
            (lw.Placement((0, 0, 1.1)), HERE),
            0.01,
            limits.format("Y", -90, 180),
        ),
        joint("elbow", "PrismaticJoint", ("upper", "lower"), (turned, HERE), 0.01, limits.format("Z", -10, 30)),
    ]
    with pytest.warns(lw.errors.ModelWarning, match="do not meet: shoulder"):
        ours = lw.loads(stage("".join(parts), meters=0.01))
    robot = lw.loads(urdf)
    assert ours.joint_names == robot.joint_names
    q, v = np.array([0.7, 0.2]), np.array([1.0, -2.0])
    assert_close(lw.mass_matrix(ours, q), lw.mass_matrix(robot, q), 1e-14)
    assert_close(lw.bias_forces(ours, q, v), lw.bias_forces(robot, q, v), 1e-13)
    assert_close(lw.frame_placement(ours, q, "lower").position, lw.frame_placement(robot, q, "lower").position, 1e-14)
    assert_close(ours.lower, robot.lower, 1e-15)
    assert_close(ours.upper, robot.upper, 1e-15)


def test_frames_of_joints_are_those_that_usds_own_parser_finds() -> None:
    """On bodies that are scaled, and on prims that are part of bodies or of the world."""
    from pxr import Sdf, Usd, UsdPhysics

    frames = [lw.Placement.rpy(0.1, 0.2, 0.3, (0.1, 0.2, 0.3)), lw.Placement.rpy(-1, 0.5, 2, (0.3, -0.1, 0.2))]
    mount = lw.Placement.rpy(0.5, 0.7, 0.9, (0.5, 0.25, 0))
    turn = f"matrix4d xformOp:transform = {matrix(mount, 1.0)}"
    inner = prim("Xform", "mount", turn, 'uniform token[] xformOpOrder = ["xformOp:transform"]')
    place = lw.Placement.rpy(0.3, -0.4, 0.8, (1, 2, 3))
    scaled = body("one", BALL + "\n" + inner, place).replace(
        'uniform token[] xformOpOrder = ["xformOp:transform"]',
        'double3 xformOp:scale = (2, 0.5, 3)\n uniform token[] xformOpOrder = ["xformOp:transform", "xformOp:scale"]',
    )
    plain = body("two", BALL + "\n" + inner, lw.Placement.rpy(1, 1, 1, (0, 1, 0)))
    for ends in (("one", "two"), ("two", "one"), ("two/mount", "one"), ("", "two/mount"), ("fixed", "two")):
        fixed = prim("Xform", "fixed", at=(0, 0, 4))
        text = stage(scaled + plain + fixed + joint("hinge", "RevoluteJoint", ends, frames))
        layer = Sdf.Layer.CreateAnonymous(".usda")
        layer.ImportFromString(text)
        opened = Usd.Stage.Open(layer)
        found = UsdPhysics.UsdPhysicsLoadStageFromPrimRange(opened, ["/"])
        said = found[UsdPhysics.ObjectType.RevoluteJoint][1][0]
        with pytest.warns(lw.errors.ModelWarning, match="do not meet"):
            robot = lw.loads(text)
        hinge = robot.joint("hinge")
        ours = {
            hinge.parent: robot.frames[hinge.parent].placement.inverse() * hinge.placement,
            hinge.child: robot.frames[hinge.child].placement.inverse(),
        }
        for path, position, turn in (
            (said.body0, said.localPose0Position, said.localPose0Orientation),
            (said.body1, said.localPose1Position, said.localPose1Orientation),
        ):
            here = ours[path.name or "world"]
            assert_close(here.position, np.array(position), 1e-6)
            theirs = lw.Placement.from_quaternion(*turn.GetImaginary(), turn.GetReal())
            assert_close(here.rotation, theirs.rotation, 1e-6)


# Masses ---------------------------------------------------------------------------------------------------------------


def collider(kind: str, inside: str = "", at: tuple[float, float, float] = (0, 0, 0), more: str = "") -> str:
    return prim(kind, "shape", inside, at=at, schemas='"PhysicsCollisionAPI"' + more)


CUBE_MESH = """int[] faceVertexCounts = [4, 4, 4, 4, 4, 4]
    int[] faceVertexIndices = [0, 1, 3, 2, 4, 6, 7, 5, 0, 4, 5, 1, 2, 3, 7, 6, 0, 2, 6, 4, 1, 5, 7, 3]
    uniform token orientation = "leftHanded"
    point3f[] points = [(0, 0, 0), (2, 0, 0), (0, 2, 0), (2, 2, 0), (0, 0, 2), (2, 0, 2), (0, 2, 2), (2, 2, 2)]"""


@pytest.mark.parametrize(
    ("shape", "volume", "com", "moments"),
    [
        (collider("Cube", "double size = 2", (1, 0, 0)), 8.0, (1, 0, 0), (16 / 3, 16 / 3, 16 / 3)),
        (collider("Sphere", "double radius = 0.5"), np.pi / 6, (0, 0, 0), np.full(3, 0.1 * np.pi / 6)),
        (
            collider("Cylinder", 'double radius = 1\n double height = 2\n uniform token axis = "X"'),
            2 * np.pi,
            (0, 0, 0),
            np.array([0.5, 7 / 12, 7 / 12]) * 2 * np.pi,
        ),
        (
            collider("Capsule", "double radius = 1\n double height = 2"),
            2 * np.pi + 4 / 3 * np.pi,
            (0, 0, 0),
            np.array([7 / 6, 7 / 6, 1.0]) * np.pi
            + np.array([83 / 320 + (11 / 8) ** 2, 83 / 320 + (11 / 8) ** 2, 0.4]) * 4 / 3 * np.pi,
        ),
        (collider("Mesh", CUBE_MESH, (0, 0, 3)), 8.0, (1, 1, 4), (16 / 3, 16 / 3, 16 / 3)),
    ],
    ids=["box", "ball", "cylinder", "capsule", "mesh"],
)
def test_masses_come_from_colliders_and_densities(
    shape: str, volume: float, com: tuple[float, ...], moments: tuple[float, ...]
) -> None:
    robot = lw.loads(stage(body("link", "float physics:density = 500\n" + shape)))
    found = robot.inertias["link"]
    assert_close(found.mass, 500 * volume, 1e-6)
    assert_close(found.com, com, 1e-6, scale=1.0)
    assert_close(found.rotational, np.diag(moments) * 500, 1e-5)
    heavy = lw.loads(stage(body("link", "float physics:mass = 3\n" + shape))).inertias["link"]
    assert_close(heavy.mass, 3.0, 1e-12)
    assert_close(heavy.rotational, np.diag(moments) * 3 / volume, 1e-5)
    small = lw.loads(stage(body("link", shape), meters=0.01)).inertias["link"]
    assert_close(small.mass, 1000 * volume * 1e-6, 1e-6)
    assert_close(small.rotational, np.diag(moments) * 1e-10 * 1000, 1e-5)


def test_a_body_without_anything_is_what_usd_says() -> None:
    with pytest.warns(lw.errors.ModelWarning, match=r"a ball of 0\.1 m"):
        robot = lw.loads(stage(body("link", "")))
    assert robot.mass == 1.0
    assert_close(robot.inertias["link"].rotational, np.eye(3) * 0.004, 1e-14)


def test_a_collider_without_a_volume_is_refused_where_mass_depends_on_it() -> None:
    with pytest.raises(lw.errors.UnsupportedFeature, match="volume is not computed"):
        lw.loads(stage(body("link", collider("Cone"))))
    lw.loads(stage(body("link", BALL + "\n" + collider("Cone"))))


# Joints and drives ----------------------------------------------------------------------------------------------------


def test_drives_are_actuators_in_radians() -> None:
    drive = "\n".join(
        f"float drive:angular:physics:{word} = {value}"
        for word, value in (("stiffness", 2), ("damping", 0.5), ("maxForce", 30), ("targetPosition", 45))
    )
    servo = arm(drive, more='"PhysicsDriveAPI:angular"')
    (actuator,) = servo.actuators
    assert actuator.name == "hinge"
    assert servo.joint("hinge").actuated is True
    assert_close(servo.poses["drive_target"], [np.pi / 4], 1e-15)
    deg = 180 / np.pi
    q, v, u = np.array([0.01]), np.array([0.02]), np.array([0.05])
    assert_close(lw.actuators.actuator_torques(servo, q, v, u), 2 * deg * (u - q) - 0.5 * deg * v, 1e-13)
    assert_close(lw.actuators.actuator_torques(servo, q, v, u + 10), [30.0], 1e-15)
    assert servo.effort_limit[0] == 30.0
    speed = arm("float drive:angular:physics:damping = 3", more='"PhysicsDriveAPI:angular"')
    assert_close(lw.actuators.actuator_torques(speed, q, v, u), 3 * deg * (u - v), 1e-13)
    motor = arm("float drive:linear:physics:maxForce = 7", "PrismaticJoint", more='"PhysicsDriveAPI:linear"')
    assert_close(lw.actuators.actuator_torques(motor, q, v, u), u, 1e-15)
    other = 'uniform token drive:angular:physics:type = "acceleration"'
    with pytest.raises(lw.errors.ModelError, match="is 'angular', not 'linear'"):
        arm("float drive:linear:physics:stiffness = 1", more='"PhysicsDriveAPI:linear"')
    assert "accelerations" in arm(other, more='"PhysicsDriveAPI:angular"').actuators[0].refused


def test_units_of_a_linear_drive_in_centimeters_and_grams() -> None:
    drive = "float drive:linear:physics:stiffness = 1000\n float drive:linear:physics:maxForce = 2e5"
    text = body("link", BALL) + joint(
        "slide", "PrismaticJoint", ("", "link"), (HERE, HERE), 0.01, drive, '"PhysicsDriveAPI:linear"'
    )
    robot = lw.loads(stage(text, meters=0.01, kilograms=0.001))
    assert_close(robot.mass, 0.002, 1e-15)
    # 1000 g cm/s² per cm is 1 N/m; 2e5 g cm/s² is 2 N
    assert_close(lw.actuators.actuator_torques(robot, [0.5], [0.0], [1.0]), [0.5], 1e-14)
    assert_close(lw.actuators.actuator_torques(robot, [0.5], [0.0], [9.0]), [2.0], 1e-14)


def test_what_physx_adds_to_joints_and_bodies() -> None:
    inside = "float physxJoint:armature = 0.25\n float physxJoint:maxJointVelocity = 180"
    robot = arm(inside, more='"PhysxJointAPI"')
    assert robot.armature.tolist() == [0.25]
    assert_close(robot.velocity_limit, [np.pi], 1e-15)
    text = body("link", BALL + "\n bool physxRigidBody:disableGravity = true")
    robot = lw.loads(stage(text))
    assert_close(lw.actuators.gravity_compensation(robot, robot.neutral())[:3], [0, 0, 2 * 9.81], 1e-14)
    with pytest.warns(lw.errors.ModelWarning, match="damping of bodies is not modeled: link"):
        lw.loads(stage(body("link", BALL + "\n float physxRigidBody:angularDamping = 0.5")))
    parts = [body(name, BALL) for name in ("a", "b")]
    parts += [joint("first", "RevoluteJoint", ("", "a"), (HERE, HERE))]
    mimic = """rel physxMimicJoint:rotX:referenceJoint = </robot/first>
        float physxMimicJoint:rotX:gearing = 2
        float physxMimicJoint:rotX:offset = 90"""
    parts += [joint("second", "RevoluteJoint", ("", "b"), (HERE, HERE), 1.0, mimic, '"PhysxMimicJointAPI:rotX"')]
    robot = lw.loads(stage("".join(parts)))
    (error,) = lw.constraint_error(robot, [0.3, -0.6 - np.pi / 2])
    assert abs(error) < 1e-15
    assert lw.loads(stage("".join(parts)), mimic="ignore").nc == 0


CUT = "uniform bool physics:excludeFromArticulation = true"
LOCKED = "float limit:{0}:physics:low = 1\n float limit:{0}:physics:high = -1"
DOFS = ("transX", "transY", "transZ", "rotX", "rotY", "rotZ")


def d6(free: dict[str, str]) -> lw.Mechanism:
    locked = [dof for dof in DOFS if dof not in free]
    inside = "\n".join([*(LOCKED.format(dof) for dof in locked), *free.values()])
    return arm(inside, "Joint", ", ".join(f'"PhysicsLimitAPI:{dof}"' for dof in DOFS))


def test_joints_by_the_degrees_of_freedom_that_limits_leave() -> None:
    limits = "float limit:rotY:physics:low = -90\n float limit:rotY:physics:high = 45"
    hinge = d6({"rotY": limits}).joint("hinge")
    assert isinstance(hinge.type, lw.joints.Revolute)
    assert hinge.type.axis.tolist() == [0, 1, 0]
    assert_close([*hinge.limits.lower, *hinge.limits.upper], [-np.pi / 2, np.pi / 4], 1e-15)
    slide = d6({"transZ": ""}).joint("hinge")
    assert isinstance(slide.type, lw.joints.Prismatic)
    assert slide.type.axis.tolist() == [0, 0, 1]
    assert isinstance(d6({"rotX": "", "rotY": "", "rotZ": ""}).joint("hinge").type, lw.joints.Spherical)
    flat = d6({"transY": "", "transZ": "", "rotX": ""})
    place = lw.frame_placement(flat, [0.1, 0.2, 0.0, 1.0], "link")
    assert isinstance(flat.joint("hinge").type, lw.joints.Planar)
    assert abs(place.position[0]) < 1e-15
    assert_close(place.rotation[:, 0], [1, 0, 0], 1e-15)
    assert d6({}).nv == 0
    assert isinstance(d6(dict.fromkeys(DOFS, "")).joints[0].type, lw.joints.Free)


HELD = "float limit:rotY:physics:low = -90"


@pytest.mark.filterwarnings("ignore:.*does not say in which order")
@pytest.mark.parametrize(
    "turns",
    [
        {},
        {"rotY": ""},
        {"rotX": "", "rotZ": ""},
        {"rotX": "", "rotY": "", "rotZ": ""},
        {"rotX": "", "rotY": HELD, "rotZ": ""},
    ],
    ids=["none", "hinge", "two hinges", "ball", "three hinges"],
)
def test_joints_of_several_degrees_of_freedom_are_chains(turns: dict[str, str]) -> None:
    limits = "float limit:transX:physics:low = -1\n float limit:transX:physics:high = 2"
    drive = "float drive:transZ:physics:stiffness = 5"
    free = {"transX": limits, "transZ": drive, **turns}
    inside = "\n".join([*(LOCKED.format(dof) for dof in DOFS if dof not in free), *free.values()])
    schemas = ", ".join([*(f'"PhysicsLimitAPI:{dof}"' for dof in DOFS), '"PhysicsDriveAPI:transZ"'])
    drawn = lw.Placement((0.5, 0.0, -0.25))
    for dof, angle in zip(turns, (0.3, -0.7, 2.0), strict=False):
        drawn = drawn * lw.Placement.rpy(*(angle * (dof[-1] == axis) for axis in "XYZ"))
    first = lw.Placement.rpy(0.4, 0.5, 0.6, position=(1, 2, 3))
    text = body("link", BALL, first * drawn)
    text += joint("j", "Joint", ("", "link"), (first, HERE), 1.0, inside, schemas)
    robot = lw.loads(stage(text))
    assert robot.joint_names[:2] == ("j/transX", "j/transZ")
    assert (robot.lower[0], robot.upper[0]) == (-1.0, 2.0)
    assert [(a.name, a.gain[0]) for a in robot.actuators] == [("j/transZ", 5.0)]
    found = lw.frame_placement(robot, robot.poses["initial"], "link")
    assert_close(found.position, (first * drawn).position, 1e-7)
    assert_close(found.rotation, (first * drawn).rotation, 1e-7)
    assert_close(robot.poses["initial"][:2], [0.5, -0.25], 1e-6)
    if len(turns) == 3 and HELD not in turns.values():
        assert isinstance(robot.joint("j/rot").type, lw.joints.Spherical)
    if len(turns) == 2 or HELD in turns.values():
        assert robot.joint_names[2:] == tuple(f"j/{dof}" for dof in turns)
        assert_close(robot.poses["initial"][2:], (0.3, -0.7, 2.0)[: len(turns)], 1e-6)


def test_a_cylindrical_joint_closes_a_loop() -> None:
    inside = "\n".join([*(LOCKED.format(dof) for dof in DOFS if dof[-1] != "X"), CUT])
    schemas = ", ".join(f'"PhysicsLimitAPI:{dof}"' for dof in DOFS)
    parts = [body("a", BALL), body("b", BALL)]
    parts += [
        joint("one", "RevoluteJoint", ("", "a"), (HERE, HERE)),
        joint("two", "RevoluteJoint", ("", "b"), (HERE, HERE)),
    ]
    parts += [joint("tube", "Joint", ("a", "b"), (HERE, HERE), 1.0, inside, schemas)]
    (tube,) = lw.loads(stage("".join(parts))).constraints
    assert isinstance(tube, lw.constraints.Cylindrical)
    assert tube.name == "tube"
    with pytest.raises(lw.errors.UnsupportedFeature, match="where it is cylindrical"):
        lw.loads(stage("".join(parts).replace(LOCKED.format("transY"), "")))


@pytest.mark.filterwarnings("ignore:.*do not meet")
def test_the_world_may_be_at_either_end() -> None:
    frames = (lw.Placement.rpy(0.1, 0.2, 0.3, (1, 0, 0)), lw.Placement.rpy(0.5, 0, 0.1, (0, 1, 0)))
    limits = "float physics:lowerLimit = -10\n float physics:upperLimit = 20"
    one = lw.loads(stage(body("link", BALL) + joint("j", "RevoluteJoint", ("", "link"), frames, 1.0, limits)))
    other = lw.loads(stage(body("link", BALL) + joint("j", "RevoluteJoint", ("link", ""), frames[::-1], 1.0, limits)))
    assert_close(one.lower, other.lower, 1e-15)
    q = np.array([0.2])
    places = lw.frame_placement(one, q, "link"), lw.frame_placement(other, -q, "link")
    assert_close(places[0].position, places[1].position, 1e-14)
    assert_close(places[0].rotation, places[1].rotation, 1e-14)


# Loops and bases ------------------------------------------------------------------------------------------------------


def triangle(excluded: str = "", root: str = "", **options: Any) -> lw.Mechanism:
    """Three bodies in a ring, which nothing holds in the world."""
    corners = {"a": (0, 0, 0), "b": (1, 0, 0), "c": (0, 1, 0)}
    applied = ', "PhysicsArticulationRootAPI"'
    parts = [body(n, BALL, lw.Placement(p), more=applied if n == root else "") for n, p in corners.items()]
    for name in ("ab", "bc", "ca"):
        first, second = (np.array(corners[n], dtype=float) for n in name)
        inside = 'uniform token physics:axis = "Z"\n'
        inside += CUT if name == excluded else ""
        middle = (first + second) / 2
        frames = (lw.Placement(middle - first), lw.Placement(middle - second))
        parts.append(joint(name, "RevoluteJoint", tuple(name), frames, 1.0, inside))
    return lw.loads(stage("".join(parts)), **options)


@pytest.mark.parametrize("excluded", ["ab", "bc", "ca"])
def test_excluded_joints_close_the_loop(excluded: str) -> None:
    robot = triangle(excluded)
    assert [c.name for c in robot.constraints] == [excluded]
    assert isinstance(robot.constraints[0], lw.constraints.Hinge)
    assert np.abs(lw.constraint_error(robot, robot.poses["initial"])).max() < 1e-14


def test_a_robot_floats_unless_it_is_held() -> None:
    for root in ("a", "b", "c"):
        robot = triangle(root=root)
        base = robot.joint("root_joint")
        assert (base.child, robot.nc) == (root, 5)
        assert isinstance(base.type, lw.joints.Free)
    fixed = triangle(root="b", base="fixed")
    assert fixed.nv == 2
    assert_close(lw.frame_placement(fixed, fixed.poses["initial"], "a").position, [0, 0, 0], 1e-15, scale=1.0)
    with pytest.raises(lw.errors.ModelError, match="holds the robot in the world"):
        arm(base="floating")


def test_a_kinematic_body_that_stands_still_is_part_of_the_world() -> None:
    base = body("base", BALL + "\n bool physics:kinematicEnabled = true", lw.Placement((0, 0, 2)))
    text = (
        base + body("link", BALL, lw.Placement((0, 0, 2))) + joint("j", "RevoluteJoint", ("base", "link"), (HERE, HERE))
    )
    robot = lw.loads(stage(text))
    assert robot.body_names == ("link",)
    assert_close(lw.frame_placement(robot, [0.5], "link").position, [0, 0, 2], 1e-15)


def test_several_robots_are_a_scene_and_names_stay_apart() -> None:
    robots = "".join(prim("Xform", f"r{k}", body("link", BALL)) for k in (1, 2))
    robot = lw.loads(stage(robots))
    assert robot.body_names == ("r1/link", "r2/link")
    assert robot.joint_names == ("root_joint", "root_joint_1")


def test_nested_bodies_and_frames() -> None:
    tool = prim("Xform", "tool", at=(0, 0, 1))
    inner = body("inner", BALL + "\n" + tool, lw.Placement((1, 0, 0)))
    text = body("outer", BALL + inner) + joint(
        "j", "FixedJoint", ("outer", "outer/inner"), (lw.Placement((1, 0, 0)), HERE)
    )
    robot = lw.loads(stage(text))
    assert robot.mass == 4.0
    assert robot.body_names == ("outer",)
    assert_close(robot.frames["tool"].placement.position, [1, 0, 1], 1e-15)


# Shapes, contacts, gravity --------------------------------------------------------------------------------------------


def test_shapes_touch_with_what_their_materials_say() -> None:
    numbers = "float physics:dynamicFriction = 0.75", "float physics:restitution = 0.25"
    material = prim("Material", "rubber", *numbers, schemas='"PhysicsMaterialAPI"')
    bound = "rel material:binding:physics = </robot/rubber>\n double radius = 0.5"
    ball = collider("Sphere", bound, more=', "MaterialBindingAPI"')
    size = "double3 xformOp:scale = (1, 2, 3)", 'uniform token[] xformOpOrder = ["xformOp:scale"]'
    drawn = prim("Cube", "look", "color3f[] primvars:displayColor = [(1, 0, 0)]", "double size = 1", *size)
    ground = prim("Plane", "floor", 'uniform token axis = "Z"', schemas='"PhysicsCollisionAPI"')
    text = stage(material + ground + body("link", BALL + "\n" + ball + "\n" + drawn, lw.Placement((0, 0, 0.4))))
    robot = lw.loads(text, contacts=True)
    (pair,) = robot.contacts
    assert (pair.friction, pair.restitution) == (0.75, 0.25)
    shapes = {shape.role: shape for shape in robot.shapes if shape.body == "link"}
    assert shapes["visual"].solid == lw.shapes.Box((1.0, 2.0, 3.0))
    assert shapes["visual"].color == (1.0, 0.0, 0.0, 1.0)
    assert shapes["collision"].solid == lw.shapes.Sphere(0.5)


def test_filtered_pairs_do_not_touch() -> None:
    ball = collider("Sphere", "double radius = 0.5")
    filtered = "rel physics:filteredPairs = </robot/b>"
    parts = [body("a", f"{BALL}\n{ball}\n{filtered}", more=', "PhysicsFilteredPairsAPI"')]
    parts += [body(name, f"{BALL}\n{ball}", lw.Placement((0, 0, 3))) for name in ("b", "c")]
    robot = lw.loads(stage("".join(parts)), contacts="all")
    pairs = {frozenset(pair.bodies) for pair in robot.contacts}
    assert frozenset(("a", "b")) not in pairs
    assert {frozenset(("a", "c")), frozenset(("b", "c"))} <= pairs


@pytest.mark.parametrize(("up", "meters"), [("Z", 1.0), ("Y", 0.01)])
def test_gravity_is_down_by_default(up: str, meters: float) -> None:
    robot = lw.loads(stage(body("link", BALL), up=up, meters=meters))
    assert_close(robot.gravity, [0, 0, -9.81], 1e-15)
    numbers = "vector3f physics:gravityDirection = (0, 3, 4)", "float physics:gravityMagnitude = 5"
    scene = prim("PhysicsScene", "s", *numbers)
    robot = lw.loads(stage(body("link", BALL), up=up, meters=meters, head=scene))
    meant = np.array([0, 3, 4]) if up == "Z" else np.array([0, -4, 3])
    assert_close(robot.gravity, meant * meters, 1e-14)


# Files ----------------------------------------------------------------------------------------------------------------


def test_files_in_text_and_binary_with_references_beside_them(tmp_path: Path) -> None:
    from pxr import Sdf

    robot = lw.zoo.four_bar()
    text = usda_of(robot, robot.poses["assembled"])
    (tmp_path / "parts").mkdir()
    part = tmp_path / "parts" / "robot.usda"
    part.write_text(text)
    Sdf.Layer.FindOrOpen(str(part)).Export(str(tmp_path / "robot.usdc"))
    scene = tmp_path / "scene.usda"
    scene.write_text(
        '#usda 1.0\n(\n metersPerUnit = 1\n upAxis = "Z"\n)\ndef "robot" (references = @./parts/robot.usda@)\n{\n}\n'
    )
    for file in (part, tmp_path / "robot.usdc", scene):
        assert_close(
            lw.mass_matrix(lw.load(file), robot.poses["assembled"]),
            lw.mass_matrix(robot, robot.poses["assembled"]),
            SINGLE,
        )
    part.write_text(text.replace("float physics:mass = ", "float physics:mass = 1"))  # 0.3 becomes 10.3
    assert lw.load(part).mass > 10


def test_commands_take_usd_files(tmp_path: Path) -> None:
    from linkwork.cli.analysis import READ_AS, format_of

    file = tmp_path / "robot.usda"
    file.write_text(stage(body("link", BALL)))
    assert format_of(str(file)) == "USD"
    assert "degrees" in READ_AS["USD"]


def test_other_files_are_opened_beside_the_file_only(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "outside.usda").write_text(stage(body("link", BALL)))
    file = tmp_path / "inside" / "scene.usda"
    for asset, said in (("../outside.usda", "outside of the folder"), ("./gone.usda", "is not there")):
        file.write_text(f'#usda 1.0\ndef "r" (references = @{asset}@)\n{{\n}}\n')
        with pytest.raises(lw.errors.UnsupportedFeature, match=said):
            lw.load(file)
    with pytest.raises(lw.errors.UnsupportedFeature, match="not opened for a text"):
        lw.loads('#usda 1.0\ndef "r" (references = @./x.usda@)\n{\n}\n')


AXIS = 'uniform token physics:axis = "W"'
ANIMATED = (
    "bool physics:kinematicEnabled = true",
    "double3 xformOp:translate.timeSamples = { 0: (0, 0, 0), 1: (1, 0, 0) }",
    'uniform token[] xformOpOrder = ["xformOp:translate"]',
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("#usda 1.0\ndef Xform", "USD cannot read it"),
        ("#usda 1.0\n", "no prim with PhysicsRigidBodyAPI"),
        (
            stage(prim("Xform", "link", BALL, *ANIMATED, schemas='"PhysicsRigidBodyAPI", "PhysicsMassAPI"')),
            "kinematic body",
        ),
        (stage(body("link", BALL.replace("mass = 2", "mass = -2"))), "must be finite and >= 0"),
        (stage(body("l", BALL) + joint("j", "FixedJoint", ("", "gone"), (HERE, HERE))), "one prim that exists"),
        (
            stage(
                body("l", BALL) + joint("j", "FixedJoint", ("", "l"), (HERE, HERE), 1.0, "float physics:breakForce = 3")
            ),
            "joints that break",
        ),
        (
            stage(
                body("l", BALL)
                + joint("j", "DistanceJoint", ("", "l"), (HERE, HERE), 1.0, "float physics:maxDistance = 3")
            ),
            "read is one that stays the same",
        ),
        (stage(body("l", BALL) + '\n def PhysxPhysicsGearJoint "g" {\n }'), "PhysxPhysicsGearJoint is not understood"),
        (stage(body("l", BALL, more=', "PhysxTendonAttachmentAPI:a"')), "PhysxTendonAttachmentAPI:a is not understood"),
        (stage(body("l", BALL), meters=-1), "metersPerUnit is -1"),
        (stage(body("l", BALL.replace("= 2", "= nan"))), "attribute 'physics:mass' is nan, needs a number"),
        (stage(body("l", BALL.replace("mass = 2", 'mass = "x"'))), "USD cannot read it"),
        (
            stage(body("l", BALL) + joint("j", "RevoluteJoint", ("", "l"), (HERE, HERE), 1.0, AXIS)),
            "attribute 'physics:axis' is 'W', needs X, Y or Z",
        ),
    ],
)
def test_what_is_wrong_or_not_read_is_an_error_that_says_where(text: str, said: str) -> None:
    with pytest.raises(lw.errors.ModelError, match=said) as caught:
        lw.loads(text, name="robot.usda")
    assert "robot.usda" in str(caught.value)


def test_options_of_other_formats_have_no_meaning() -> None:
    with pytest.raises(lw.errors.InputError, match="no meaning"):
        arm(loops=False)


def test_without_usd_core_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr("linkwork.parsing.usd.stage.import_module", missing)
    with pytest.raises(lw.errors.UnsupportedFeature, match=r"linkwork\[usd\]"):
        arm()
