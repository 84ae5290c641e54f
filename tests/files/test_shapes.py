# SPDX-License-Identifier: BSD-3-Clause
"""What bodies look like: shapes stand where MuJoCo and Pinocchio have them, follow their bodies, and break no load."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import linkwork as lw
from linkwork.drawing.skeleton import skeleton
from linkwork.errors import ModelError, TopologyError
from linkwork.model.placement import Placement
from linkwork.model.shapes import Box, Cylinder, Ellipsoid, Ground, Mesh, Shape, Solid, Sphere
from linkwork.parsing.mjcf import mujoco_map
from tests.support import robots
from tests.support.robots import model_file

Floats = npt.NDArray[np.float64]

EXACT = 1e-9
"""Meters; both sides round at 1e-16, and files at 1e-12 where they write quaternions."""


def placed(robot: lw.Mechanism, q: Floats) -> list[tuple[Shape, Floats, Floats]]:
    """All shapes with their rotations and positions in the world."""
    R, p = skeleton(robot).poses(q)
    at = {name: k for k, name in enumerate(("world", *robot.body_names))}
    found = []
    for shape in robot.shapes:
        k = at[shape.body]
        found.append((shape, R[k] @ shape.placement.rotation, R[k] @ shape.placement.position + p[k]))
    return found


def only(robot: lw.Mechanism) -> Shape:
    (shape,) = robot.shapes
    return shape


# MJCF against MuJoCo --------------------------------------------------------------------------------------

MJCF = ["cassie/cassie", "digit/digit-v3", "booster_t1/T1_23dof_parallel", "fourier_n1/n1", "panda/panda"]


def mujoco_size(solid: Solid) -> list[float]:
    """Radii and half lengths."""
    match solid:
        case Box():
            return [x / 2 for x in solid.size]
        case Sphere():
            return [solid.radius]
        case Ellipsoid():
            return list(solid.radii)
        case Cylinder():
            return [solid.radius, solid.length / 2]
    return []


def mujoco_type(solid: Solid) -> str:
    if isinstance(solid, Cylinder):
        return "CAPSULE" if solid.rounded else "CYLINDER"
    return {Box: "BOX", Sphere: "SPHERE", Ellipsoid: "ELLIPSOID", Ground: "PLANE", Mesh: "MESH"}[type(solid)]


@pytest.mark.parametrize("name", MJCF)
def test_geoms_stand_where_mujoco_has_them(name: str) -> None:
    mujoco = pytest.importorskip("mujoco")
    path = model_file(f"{name}_nomesh.xml")
    robot = lw.load(path, inertias="trust")
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    q = robot.random(3)
    data.qpos[:] = mujoco_map(robot).to_qpos(q)
    mujoco.mj_kinematics(model, data)
    assert len(robot.shapes) == model.ngeom > 0
    for k, (shape, R, p) in enumerate(placed(robot, q)):
        assert int(model.geom_type[k]) == int(getattr(mujoco.mjtGeom, f"mjGEOM_{mujoco_type(shape.solid)}"))
        size = mujoco_size(shape.solid)
        np.testing.assert_allclose(model.geom_size[k][: len(size)], size, rtol=1e-12)
        np.testing.assert_allclose(p, data.geom_xpos[k], atol=EXACT)
        np.testing.assert_allclose(R, data.geom_xmat[k].reshape(3, 3), atol=EXACT)
        if shape.color is not None:
            np.testing.assert_allclose(shape.color, model.geom_rgba[k], atol=1e-7)
        if shape.role == "visual":
            assert model.geom_group[k] < 3


def tetrahedron(path: Path) -> Floats:
    """Write one as an STL file; its corners."""
    corners = np.array([[0.0, 0, 0], [0.3, 0, 0], [0.05, 0.2, 0], [0.1, 0.05, 0.4]])
    faces = ((0, 2, 1), (0, 1, 3), (1, 2, 3), (2, 0, 3))
    content = bytes(80) + struct.pack("<I", len(faces))
    for face in faces:
        content += struct.pack("<12fH", 0, 0, 0, *corners[list(face)].flat, 0)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return corners


@pytest.mark.parametrize(
    "mesh", ["", 'scale="2 0.5 3"', 'refpos="0.1 0.2 0.3" scale="2 0.5 3"', 'refquat="0.8 0.1 0.5 -0.3" refpos="1 2 3"']
)
def test_corners_of_a_mesh_are_where_mujoco_has_them(tmp_path: Path, mesh: str) -> None:
    """MuJoCo moves vertices into the mesh's frame of inertia, and its geom there: together they are the file's."""
    mujoco = pytest.importorskip("mujoco")
    corners = tetrahedron(tmp_path / "parts" / "t.stl")
    file = tmp_path / "robot.xml"
    file.write_text(
        f'<mujoco><compiler meshdir="parts"/><default><mesh scale="1.5 1.5 1.5"/></default><asset><material name="m" '
        f'rgba="0.1 0.2 0.3 1"/><mesh name="t" file="t.stl" {mesh}/></asset><worldbody><body pos="1 0 0"><joint/>'
        '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><geom type="mesh" mesh="t" material="m" pos="0.1 0 0.3" '
        'quat="0.9 0.1 0.2 0.3"/></body></worldbody></mujoco>'
    )
    robot = lw.load(file)
    shape = only(robot)
    assert isinstance(shape.solid, Mesh) and shape.solid.file == tmp_path / "parts" / "t.stl"
    assert shape.color == (0.1, 0.2, 0.3, 1.0)
    model = mujoco.MjModel.from_xml_path(str(file))
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    theirs = model.mesh_vert @ data.geom_xmat[0].reshape(3, 3).T + data.geom_xpos[0]
    ((_, R, p),) = placed(robot, robot.neutral())
    ours = (corners * shape.solid.scale) @ R.T + p
    apart = np.linalg.norm(ours[:, None] - theirs[None], axis=-1).min(axis=1)
    assert len(theirs) == 4 and apart.max() < 1e-6  # MuJoCo keeps vertices as 32-bit floats


def test_geoms_say_what_they_are_for() -> None:
    text = (
        '<mujoco><default><default class="collision"/></default><worldbody><geom type="plane" size="1 1 1" '
        'pos="0 0 2"/><body><joint/><geom size="0.1" rgba="1 0 0 0.5"/><geom size="0.2" class="collision"/>'
        '<geom size="0.3" group="3"/></body></worldbody></mujoco>'
    )
    robot = lw.loads(text, "mjcf")
    assert [shape.role for shape in robot.shapes] == ["visual", "visual", "collision", "collision"]
    ground, ball, *_ = robot.shapes
    assert isinstance(ground.solid, Ground) and ground.body == "world" and ground.placement.position[2] == 2
    assert ball.solid == Sphere(0.1) and ball.color == (1, 0, 0, 0.5) and robot.shapes[2].color is None


# URDF against Pinocchio -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["visual", "collision"])
@pytest.mark.parametrize("name", ["ur5", "panda", "solo12", "simple_humanoid", "anymal_b", "go2"])
def test_shapes_of_urdf_stand_where_pinocchio_has_them(name: str, kind: str) -> None:
    pin = pytest.importorskip("pinocchio")
    robot, model = robots.load(name), robots.pinocchio_model(name)
    folders = [str(folder) for folder in robots.path_of(name).parents]
    what = pin.GeometryType.VISUAL if kind == "visual" else pin.GeometryType.COLLISION
    try:
        geometry = pin.buildGeomFromUrdf(model, str(robots.path_of(name)), what, package_dirs=folders)
    except ValueError as error:
        pytest.skip(f"Pinocchio does not find the meshes: {error}")
    q = robot.random(5)
    data, objects = model.createData(), geometry.createData()
    pin.updateGeometryPlacements(model, data, geometry, objects, robots.to_pinocchio(robot, model, q))
    theirs = [(g, place) for g, place in zip(geometry.geometryObjects, objects.oMg, strict=True)]
    ours = [found for found in placed(robot, q) if found[0].role == kind]
    assert len(ours) == len(theirs)
    for shape, R, p in ours:
        near = [k for k, (g, at) in enumerate(theirs) if same(shape, R, p, g, at)]
        assert near, f"{shape} is nowhere in Pinocchio's model"
        del theirs[near[0]]


def same(shape: Shape, R: Floats, p: Floats, theirs: Any, at: Any) -> bool:
    if np.abs(at.translation - p).max() > EXACT or np.abs(at.rotation - R).max() > EXACT:
        return False
    solid = shape.solid
    if isinstance(solid, Mesh):
        found = solid.file is not None and solid.file.resolve() == Path(theirs.meshPath).resolve()
        return found and np.allclose(theirs.meshScale, solid.scale)
    kind = type(theirs.geometry).__name__
    if isinstance(solid, Box):
        return kind == "Box" and np.allclose(2 * theirs.geometry.halfSide, solid.size)
    if isinstance(solid, Sphere):
        return kind == "Sphere" and bool(np.isclose(theirs.geometry.radius, solid.radius))
    assert isinstance(solid, Cylinder)
    sizes = [solid.radius, solid.length]
    long = kind in ("Cylinder", "Capsule")  # which a file may tell Pinocchio to exchange
    return long and np.allclose([theirs.geometry.radius, 2 * theirs.geometry.halfLength], sizes)


URDF = """<robot name="arm"><material name="sky"><color rgba="0.2 0.4 0.6 1"/></material>
<link name="base"><visual><geometry><box size="1 2 3"/></geometry><material name="sky"/></visual></link>
<link name="arm"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><origin xyz="1 0 0" rpy="0 0 1.5707963267948966"/><geometry><cylinder radius="0.1" length="0.4"/></geometry>
<material name="own"><color rgba="1 0 0 0.5"/></material></visual>
<collision><geometry><capsule radius="0.1" length="0.4"/></geometry></collision></link>
<link name="tool"><visual><geometry><mesh filename="package://arm/tool.stl" scale="1 1 2"/></geometry>
<material name="own"/></visual></link>
<joint name="shoulder" type="continuous"><parent link="base"/><child link="arm"/><origin xyz="0 0 1"/></joint>
<joint name="grip" type="fixed"><parent link="arm"/><child link="tool"/><origin xyz="0 0 2"/></joint></robot>"""


def test_shapes_of_fixed_bodies_are_on_what_they_are_fixed_to() -> None:
    base, arm, hull, tool = lw.loads(URDF, "urdf").shapes
    assert (base.body, arm.body, hull.body, tool.body) == ("world", "arm", "arm", "arm")
    assert (
        base.solid == Box((1, 2, 3))
        and arm.solid == Cylinder(0.1, 0.4)
        and hull.solid == Cylinder(0.1, 0.4, rounded=True)
    )
    assert tool.solid == Mesh("package://arm/tool.stl", None, (1, 1, 2))
    np.testing.assert_allclose(arm.placement.position, [1, 0, 0])
    np.testing.assert_allclose(arm.placement.rotation, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)
    np.testing.assert_allclose(tool.placement.position, [0, 0, 2])
    assert [shape.role for shape in (base, arm, hull, tool)] == ["visual", "visual", "collision", "visual"]


def test_colors_of_urdf_have_names() -> None:
    base, arm, hull, tool = lw.loads(URDF, "urdf").shapes
    assert base.color == (0.2, 0.4, 0.6, 1) and hull.color is None
    assert arm.color == tool.color == (1, 0, 0, 0.5)


@pytest.mark.parametrize(
    ("uri", "found"),
    [
        ("parts/a.stl", "model/urdf/parts/a.stl"),
        ("../b.stl", "model/b.stl"),
        ("package://model/b.stl", "model/b.stl"),
        ("package://model/urdf/parts/a.stl", "model/urdf/parts/a.stl"),
        ("package:///model/b.stl", "model/b.stl"),
        ("package://other/c.stl", "ros/other/c.stl"),
        ("package://built/d.stl", "ament/share/built/d.stl"),
        ("model://other/c.stl", "ros/other/c.stl"),
        ("file://HERE/model/b.stl", "model/b.stl"),
        ("HERE/model/b.stl", "model/b.stl"),
        ("package://model/urdf", None),
        ("package://nowhere/b.stl", None),
        ("https://example.org/b.stl", None),
        ("parts/no.stl", None),
        ("a\0b.stl", None),
        ("x" * 5000, None),
    ],
)
def test_mesh_files_are_found_where_files_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uri: str, found: str | None
) -> None:
    for name in ("model/urdf/parts/a.stl", "model/b.stl", "ros/other/c.stl", "ament/share/built/d.stl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setenv("ROS_PACKAGE_PATH", f"{tmp_path / 'none'}:{tmp_path / 'ros'}")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "ament"))
    from linkwork.parsing.appearance import MeshFinder

    (tmp_path / "model/urdf/robot.urdf").touch()
    finder = MeshFinder(str(tmp_path / "model/urdf/robot.urdf"))
    got = finder.find(uri.replace("HERE", str(tmp_path)))
    assert (got is None) == (found is None)
    assert found is None or (got is not None and got.resolve() == tmp_path / found)
    assert MeshFinder("<text>").find("parts/a.stl") is None


# SDF ------------------------------------------------------------------------------------------------------


def sdf(inside: str) -> str:
    inertia = "<inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>"
    return (
        '<sdf version="1.8"><model name="m"><frame name="mark"><pose>0 0 3 0 0 0</pose></frame><link name="a">'
        f"<pose>1 0 0 0 0 0</pose>{inertia}{inside}</link></model></sdf>"
    )


@pytest.mark.parametrize(
    ("geometry", "solid"),
    [
        ("<box><size>1 2 3</size></box>", Box((1, 2, 3))),
        ("<sphere><radius>0.5</radius></sphere>", Sphere(0.5)),
        ("<cylinder><radius>0.5</radius><length>2</length></cylinder>", Cylinder(0.5, 2)),
        ("<capsule><radius>0.5</radius><length>2</length></capsule>", Cylinder(0.5, 2, rounded=True)),
        ("<ellipsoid><radii>1 2 3</radii></ellipsoid>", Ellipsoid((1, 2, 3))),
        ("<mesh><uri>model://m/x.obj</uri><scale>2 2 2</scale></mesh>", Mesh("model://m/x.obj", None, (2, 2, 2))),
    ],
)
def test_solids_of_sdf(geometry: str, solid: Solid) -> None:
    look = "<material><diffuse>0.1 0.2 0.3 1</diffuse></material><transparency>0.25</transparency>"
    shape = only(lw.loads(sdf(f'<visual name="v"><geometry>{geometry}</geometry>{look}</visual>'), "sdf"))
    assert shape.solid == solid and shape.color == (0.1, 0.2, 0.3, 0.75) and shape.role == "visual"


def test_poses_of_sdf_are_relative_to_the_link_or_to_frames() -> None:
    ball = "<geometry><sphere><radius>1</radius></sphere></geometry>"
    one = f'<visual name="v"><pose>0 2 0 0 0 0</pose>{ball}</visual>'
    other = f'<collision name="c"><pose relative_to="mark">0 2 0 0 0 0</pose>{ball}</collision>'
    first, second = lw.loads(sdf(one + other), "sdf").shapes
    np.testing.assert_allclose(first.placement.position, [0, 2, 0])
    np.testing.assert_allclose(second.placement.position, [-1, 2, 3])
    plane = '<visual name="v"><geometry><plane><normal>0 1 0</normal></plane></geometry></visual>'
    ground = only(lw.loads(sdf(plane), "sdf"))
    assert isinstance(ground.solid, Ground)
    np.testing.assert_allclose(ground.placement.rotation[:, 2], [0, 1, 0])


# What is wrong is left out ----------------------------------------------------------------------------------

_BALL = '<geometry><sphere radius="1"><radius>1</radius></sphere></geometry>'
_BROKEN = {
    "no geometry": "",
    "an unknown solid": "<geometry><teapot/></geometry>",
    "no size": "<geometry><box/></geometry>",
    "a size of words": '<geometry><box size="a b c"><size>a b c</size></box></geometry>',
    "a size below zero": '<geometry><sphere radius="-1"><radius>-1</radius></sphere></geometry>',
    "a size of nothing": '<geometry><box size="1 0 1"><size>1 0 1</size></box></geometry>',
    "two geometries": "<geometry/><geometry/>",
    "a mesh without a name": "<geometry><mesh/></geometry>",
    "a scale of nothing": '<geometry><mesh filename="x" scale="0 1 1"><uri>x</uri><scale>0 1 1</scale></mesh>'
    "</geometry>",
    "a place of words": f'<origin xyz="a b c"/><pose>a b c</pose>{_BALL}',
}
"""What can be wrong inside a <visual>, in URDF and in SDF."""


@pytest.mark.parametrize("inside", _BROKEN.values(), ids=_BROKEN.keys())
@pytest.mark.parametrize(
    "load",
    [
        lambda v: lw.loads(f'<robot name="r"><link name="a">{v}</link></robot>', "urdf"),
        lambda v: lw.loads(sdf(v), "sdf"),
    ],
)
def test_a_shape_that_is_wrong_is_left_out(load: Callable[[str], lw.Mechanism], inside: str) -> None:
    assert load(f'<visual name="v">{inside}</visual>').shapes == ()


@pytest.mark.parametrize(
    "geom",
    [
        '<geom mass="0" type="box" size="1"/>',
        '<geom mass="0" type="mesh" mesh="nowhere"/>',
        '<geom mass="0" type="capsule" size="0.1" fromto="0 0 0 0 0 0"/>',
        '<geom mass="0" size="1" rgba="a b c d"/>',
        '<geom mass="0" size="1" rgba="2 0 0 1"/>',
        '<geom mass="0" type="hfield" hfield="h"/>',
    ],
)
def test_a_geom_that_is_wrong_is_left_out(geom: str) -> None:
    solid = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    assert lw.loads(f"<mujoco><worldbody><body><joint/>{solid}{geom}</body></worldbody></mujoco>", "mjcf").shapes == ()


@pytest.mark.parametrize("color", ['rgba="1 2 3 4"', 'rgba="a"', ""])
def test_a_color_that_is_wrong_is_none(color: str) -> None:
    look = f'<geometry><sphere radius="1"/></geometry><material name="m"><color {color}/></material>'
    robot = lw.loads(f'<robot name="r"><link name="a"><visual>{look}</visual></link></robot>', "urdf")
    assert only(robot).color is None


# In code ----------------------------------------------------------------------------------------------------


def arm() -> lw.Mechanism:
    build = lw.Builder("arm")
    build.body("upper", lw.Inertia.rod(1.0, (0, 0, 0), (0, 0, -0.5)))
    build.joint("shoulder", lw.joints.Revolute("y"), "world", "upper", child_at=(0, 0, 0.1))
    build.body("hand", lw.Inertia.box(1.0, (0.1, 0.1, 0.1)))
    build.joint("wrist", lw.joints.Fixed(), "upper", "hand", at=(0, 0, -0.5))
    build.shape("upper", Cylinder(0.05, 0.5), at=(0, 0, -0.25), color=(1, 0.5, 0))
    build.shape("hand", Box((0.1, 0.1, 0.1)), role="collision")
    build.shape("world", Ground())
    return build.build()


def test_shapes_of_a_builder_are_in_the_frames_of_joints() -> None:
    """The body's own frame is 0.1 m below its joint, and so is what is given in it."""
    tube, hand, ground = arm().shapes
    assert (tube.body, hand.body, ground.body) == ("upper", "upper", "world")
    np.testing.assert_allclose(tube.placement.position, [0, 0, -0.35])
    np.testing.assert_allclose(hand.placement.position, [0, 0, -0.6])
    assert tube.color == (1, 0.5, 0, 1) and hand.color is None and hand.role == "collision"


def test_shapes_stay_where_they_are_when_mechanisms_are_put_together() -> None:
    one = arm()
    q = np.array([0.7])
    place = Placement.rpy(0.1, 0.2, 0.3, position=(1, 2, 3))
    scene = lw.compose({"a": one, "b": one}, at={"b": place})
    assert [shape.body for shape in scene.shapes] == ["a/upper", "a/upper", "world", "b/upper", "b/upper", "world"]
    here, there = placed(one, q), placed(scene, np.array([0.7, 0.7]))
    for (_, R, p), (_, R1, p1), (_, R2, p2) in zip(here, there[:3], there[3:], strict=True):
        np.testing.assert_allclose(p1, p, atol=1e-15)
        np.testing.assert_allclose(R1, R, atol=1e-15)
        np.testing.assert_allclose(p2, place.rotation @ p + place.position, atol=1e-15)
        np.testing.assert_allclose(R2, place.rotation @ R, atol=1e-15)


def test_what_is_attached_to_a_body_leaves_its_floor() -> None:
    both = lw.attach(arm(), arm(), to="hand", at=(0, 0, -0.1), prefix="second")
    solids = [(shape.body, type(shape.solid)) for shape in both.shapes]
    assert solids[:3] == [("upper", Cylinder), ("upper", Box), ("world", Ground)]
    assert solids[3:] == [("second/upper", Cylinder), ("second/upper", Box)]
    _, _, p = placed(both, np.zeros(2))[3]
    np.testing.assert_allclose(p, [0, 0, -0.7 - 0.35], atol=1e-15)


def test_mechanisms_made_of_others_look_the_same() -> None:
    one = arm()
    for other in (
        one.with_gravity((0, 0, 0)),
        one.constrained(lw.constraints.JointLock("shoulder", 0.0)),
        pickle.loads(pickle.dumps(one)),
    ):
        assert [(s.body, s.solid, s.color) for s in other.shapes] == [(s.body, s.solid, s.color) for s in one.shapes]


def test_mesh_names_are_those_of_shapes() -> None:
    build = lw.Builder()
    build.body("a", lw.Inertia.sphere(1.0, 0.1)).joint("j", lw.joints.Free(), "world", "a")
    for name in ("x.stl", "y.stl", "x.stl"):
        build.shape("a", Mesh(name, None))
    assert build.build().meshes == {"a": ("x.stl", "y.stl")}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Box((1, 0, 1)), "box of 1, 0, 1"),
        (lambda: Sphere(float("nan")), "finite and > 0"),
        (lambda: Ellipsoid((1, 1, -1)), "> 0"),
        (lambda: Cylinder(0.1, 0), "cylinder of 0.1, 0"),
        (lambda: Mesh("x", None, (0, 1, 1)), "'x' is scaled by"),
        (lambda: lw.Builder().shape("a", Sphere(1), color=(1, 2, 3)), "from 0 to 1"),
        (lambda: lw.Builder().shape("a", Sphere(1), color=(1, 0)), "needs red, green, blue"),
    ],
)
def test_shapes_that_cannot_be_say_so(make: Callable[[], object], words: str) -> None:
    with pytest.raises(ModelError, match=words):
        make()


def test_a_shape_on_no_body_says_so() -> None:
    build = lw.Builder().body("upper", lw.Inertia.sphere(1.0, 0.1)).joint("j", lw.joints.Free(), "world", "upper")
    with pytest.raises(TopologyError, match="'uper', which is not a body; did you mean 'upper'"):
        build.shape("uper", Sphere(1)).build()
