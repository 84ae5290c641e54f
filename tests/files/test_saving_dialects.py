# SPDX-License-Identifier: BSD-3-Clause
"""URDF by its standard, and dialects: what other readers make of it."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lxml import etree

import linkwork as lw
from linkwork.model.joints import Planar, Spherical, Universal
from linkwork.saving import DIALECTS
from tests.support.robots import model_file
from tests.support.round_trips import closed_states, discrepancy, saved

pytestmark = pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning")

ALL: Any = ("actuators", "armature", "constraints", "contacts", "damping", "friction", "gravity", "limits", "springs")

STANDARD = {
    "robot": ({"name"}, {"link", "joint", "transmission", "material"}),
    "link": ({"name"}, {"inertial", "visual", "collision"}),
    "inertial": (set(), {"origin", "mass", "inertia"}),
    "visual": ({"name"}, {"origin", "geometry", "material"}),
    "collision": ({"name"}, {"origin", "geometry"}),
    "geometry": (set(), {"box", "cylinder", "sphere", "mesh"}),
    "material": ({"name"}, {"color", "texture"}),
    "joint": ({"name", "type"}, {"origin", "parent", "child", "axis", "limit", "dynamics", "mimic"}),
    "limit": ({"lower", "upper", "effort", "velocity"}, set()),
    "dynamics": ({"damping", "friction"}, set()),
    "mimic": ({"joint", "multiplier", "offset"}, set()),
    "mesh": ({"filename", "scale"}, set()),
}
"""Attributes and elements of the standard (http://wiki.ros.org/urdf/XML), of the elements that are written."""
TYPES = {"revolute", "continuous", "prismatic", "fixed", "floating", "planar"}


def of_standard(text: str) -> Any:
    """The document, whose elements and attributes are all of the standard."""
    robot = etree.fromstring(text.encode())
    for element in robot.iter():
        if element.tag in STANDARD and "transmission" not in [up.tag for up in element.iterancestors()]:
            attributes, children = STANDARD[element.tag]
            assert set(element.attrib) <= attributes and {child.tag for child in element} <= children, element.tag
    assert {joint.get("type") for joint in robot.findall("joint")} <= TYPES
    for kind in ("revolute", "prismatic"):
        assert all(
            {"lower", "upper"} <= set(joint.find("limit").attrib) for joint in robot.findall(f"joint[@type='{kind}']")
        )
    for kind in ("link", "joint"):
        names = [element.get("name") for element in robot.findall(kind)]
        assert len(set(names)) == len(names)
    return robot


def angles_of(quaternion: Any) -> Any:
    """Angles about x, y and z of a ball joint's chain."""
    R = lw.Placement.from_quaternion(*quaternion).rotation
    return [np.arctan2(-R[1, 2], R[2, 2]), np.arcsin(np.clip(R[0, 2], -1, 1)), np.arctan2(-R[0, 1], R[0, 0])]


def state_of(robot: lw.Mechanism, back: lw.Mechanism, q: Any) -> Any:
    """The configuration of what is read back from standard URDF."""
    found = back.neutral()
    for joint in robot.joints:
        own = q[robot.q_slice(joint.name)]
        if isinstance(joint.type, Spherical):
            own, names = angles_of(own), [f"{joint.name}_{axis}" for axis in "xyz"]
        elif isinstance(joint.type, Universal):
            names = [f"{joint.name}_1", f"{joint.name}_2"]
        else:
            found[back.q_slice(joint.name)] = own
            continue
        found[[back.q_index(name) for name in names]] = own
    return found


def apart(robot: lw.Mechanism, back: lw.Mechanism, seed: int) -> float:
    """How far placements of bodies, the span of their velocities, kinetic energies and powers of gravity are apart, by
    the largest of each: the chains of ball joints have other rates."""
    rng = np.random.default_rng(seed)
    q = robot.integrate(robot.neutral(), rng.uniform(-0.7, 0.7, robot.nv))
    p, worst = state_of(robot, back, q), 0.0
    places = [(lw.frame_placement(robot, q, body), lw.frame_placement(back, p, body)) for body in robot.body_names]
    size = max(np.abs(ours.position).max() for ours, _ in places) or 1.0
    for ours, theirs in places:
        worst = max(worst, np.abs(ours.position - theirs.position).max() / size)
        worst = max(worst, np.abs(ours.rotation - theirs.rotation).max())
    J, K = (np.vstack([lw.frame_jacobian(m, x, body) for body in robot.body_names]) for m, x in ((robot, q), (back, p)))
    rates = np.linalg.lstsq(K, J, rcond=None)[0]
    worst = max(worst, np.abs(K @ rates - J).max() / np.abs(J).max())
    for mine, other in (
        (lw.mass_matrix(robot, q) - np.diag(robot.armature), rates.T @ lw.mass_matrix(back, p) @ rates),
        (lw.gravity_forces(robot.with_gravity((0, 0, -9.81)), q), rates.T @ lw.gravity_forces(back, p)),
    ):
        worst = max(worst, np.abs(mine - other).max() / (np.abs(mine).max() or 1.0))
    return float(worst)


ROBOTS = [name for name in lw.zoo.__all__ if name in ("four_bar", "stewart", "delta", "humanoid", "jansen", "swimmer")]


@pytest.mark.parametrize("name", [*ROBOTS, "cassie/cassie_nomesh.xml", "digit/digit-v3_nomesh.xml"])
def test_urdf_has_what_its_standard_has_and_the_same_dynamics(name: str) -> None:
    robot = getattr(lw.zoo, name)() if name in ROBOTS else lw.load(model_file(name), inertias="trust")
    text = robot.to_text("urdf", drop=ALL)
    of_standard(text)
    assert apart(robot, lw.loads(text, inertias="trust"), 3) < 1e-10


@pytest.mark.parametrize("seed", range(8))
def test_random_trees_are_said_by_the_standard(seed: int) -> None:
    robot = lw.zoo.random_tree(seed, bodies=7, kinds="rpusSf")
    text = robot.to_text("urdf", drop=ALL)
    of_standard(text)
    assert apart(robot, lw.loads(text), seed) < 1e-11


def test_a_slide_without_limits_has_none_by_the_standard() -> None:
    """Whose defaults are both 0: Pinocchio would not let it move."""
    text = lw.zoo.slider_crank().to_text("urdf", drop=["constraints"])
    (slide,) = [joint for joint in lw.loads(text).joints if isinstance(joint.type, lw.joints.Prismatic)]
    assert (slide.limits.lower[0], slide.limits.upper[0]) == (-np.inf, np.inf)
    model = pytest.importorskip("pinocchio").buildModelFromXML(text)
    assert model.upperPositionLimit[model.joints[model.getJointId(slide.name)].idx_q] > 1e300


@pytest.mark.parametrize("dialect", ["pinocchio", "urdfdom"])
@pytest.mark.parametrize("name", ["four_bar", "stewart", "delta", "jansen", "watt"])
def test_loops_come_back_from_dialects(name: str, dialect: Any, tmp_path: Path) -> None:
    robot = getattr(lw.zoo, name)()
    if any(isinstance(joint.type, Spherical | Universal) for joint in robot.joints):
        robot.save(tmp_path / "robot.urdf", dialect=dialect)
        back, q = lw.load(tmp_path / "robot.urdf"), robot.poses["assembled"]
        p = state_of(robot, back, q)
        assert np.abs(lw.constraint_error(back, p)).max() < 1e-12
        assert back.mobility(p).dof == robot.mobility(q).dof
        return
    back = saved(robot, "urdf", tmp_path, dialect=dialect)
    assert discrepancy(robot, back, closed_states(robot, 1)) < 1e-12


def test_pinocchio_closes_the_loops_of_its_dialect(tmp_path: Path) -> None:
    """As example-parallel-robots does it: frames of the URDF, held together by pairs of the file."""
    pin = pytest.importorskip("pinocchio")
    yaml = pytest.importorskip("yaml")
    robot = lw.zoo.four_bar()
    robot.save(tmp_path / "bar.urdf", dialect="pinocchio")
    model = pin.buildModelFromUrdf(str(tmp_path / "bar.urdf"))
    found = yaml.safe_load((tmp_path / "robot.yaml").read_text())
    contacts, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for first, second in found["closed_loop"]:
        a, b = (model.frames[model.getFrameId(name)] for name in (first, second))
        kind = pin.ContactType.CONTACT_3D
        contacts.append(
            pin.RigidConstraintModel(kind, model, a.parentJoint, a.placement, b.parentJoint, b.placement, pin.LOCAL)
        )
    q = robot.poses["assembled"]
    v = robot.project_velocity(q, np.ones(3))
    data = model.createData()
    for contact in contacts:
        datas.append(contact.createData())
    pin.initConstraintDynamics(model, data, contacts, datas)
    settings = pin.ProximalSettings(1e-14, 1e-12, 100)
    turned = np.column_stack([np.cos(q), np.sin(q)]).ravel()  # continuous joints of Pinocchio
    theirs = pin.constraintDynamics(model, data, turned, v, np.zeros(3), contacts, datas, settings)
    ours = lw.ForwardDynamics(robot)(q, v, np.zeros(3)).acceleration
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-9 * np.abs(ours).max())


def test_a_robot_yaml_of_somebody_else_stays(tmp_path: Path) -> None:
    (tmp_path / "robot.yaml").write_text("closed_loop: []\n")
    with pytest.raises(lw.errors.InputError, match=r"was not written here; save the model in a folder of its own"):
        lw.zoo.four_bar().save(tmp_path / "bar.urdf", dialect="pinocchio")
    assert not (tmp_path / "bar.urdf").exists()
    for _ in range(2):
        (tmp_path / "own").mkdir(exist_ok=True)
        lw.zoo.four_bar().save(tmp_path / "own" / "bar.urdf", dialect="pinocchio")
    with pytest.raises(lw.errors.CannotSave, match="no counterpart of this Hinge"):
        lw.zoo.four_bar().to_text("urdf", dialect="pinocchio")  # which has no file beside it


def test_a_planar_joint_turns_about_z_of_its_frame() -> None:
    """Drake and Pinocchio know no axis of a planar joint."""
    build = lw.Builder("slider")
    build.body("puck", lw.Inertia.box(1.0, (0.1, 0.2, 0.3)))
    build.joint("table", Planar((1.0, 2.0, 0.5)), "world", "puck", (0, 0, 1))
    robot = build.build()
    text = robot.to_text("urdf")
    assert of_standard(text).find("joint[@name='table']/axis").get("xyz") == "0 0 1"
    assert discrepancy(robot, lw.loads(text), closed_states(robot, 0)) < 1e-13
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromXML(text)
    q = robot.random(0)
    data = model.createData()
    pin.framesForwardKinematics(model, data, q)
    there = data.oMf[model.getFrameId("puck_origin")]
    assert np.allclose(there.translation, lw.frame_placement(robot, q, "puck").position, atol=1e-13)
    assert np.allclose(there.rotation, lw.frame_placement(robot, q, "puck").rotation, atol=1e-13)


def test_capsules_of_the_standard_are_cylinders_with_spheres() -> None:
    build = lw.Builder("arm")
    build.body("link", lw.Inertia.sphere(1.0, 0.1))
    build.joint("turn", lw.joints.Revolute("z"), "world", "link")
    build.shape("link", lw.shapes.Capsule(0.1, 0.6), (0.1, 0, 0), role="collision", name="rod")
    robot = of_standard(build.build().to_text("urdf"))
    shapes = robot.findall("link[@name='link']/collision")
    assert [shape.find("geometry")[0].tag for shape in shapes] == ["cylinder", "sphere", "sphere"]
    assert [shape.find("origin").get("xyz") for shape in shapes[1:]] == ["0.1 0 -0.3", "0.1 0 0.3"]


def test_meshes_are_named_by_package_and_found_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "my_robot"
    (package / "meshes").mkdir(parents=True)
    (package / "urdf").mkdir()
    (package / "package.xml").write_text("<package/>")
    mesh = package / "meshes" / "part.stl"
    mesh.write_bytes(b"")
    build = lw.Builder("arm")
    build.body("link", lw.Inertia.sphere(1.0, 0.1))
    build.joint("turn", lw.joints.Revolute("z"), "world", "link")
    build.shape("link", lw.shapes.Mesh("part.stl", mesh))
    robot = build.build()
    robot.save(package / "urdf" / "arm.urdf", package="my_robot")
    assert 'filename="package://my_robot/meshes/part.stl"' in (package / "urdf" / "arm.urdf").read_text()
    (shape,) = lw.load(package / "urdf" / "arm.urdf").shapes
    assert isinstance(shape.solid, lw.shapes.Mesh) and shape.solid.file is not None
    assert shape.solid.file.resolve() == mesh.resolve()
    (tmp_path / "far").mkdir()
    with pytest.raises(lw.errors.InputError, match="is not in package 'other', whose folder is"):
        robot.save(tmp_path / "far" / "arm.urdf", package="other")
    with pytest.raises(lw.errors.InputError, match="package is 'a/b'"):
        robot.save(package / "arm.urdf", package="a/b")


def test_what_no_standard_reader_knows_is_said() -> None:
    build = lw.Builder("arm")
    build.body("link", lw.Inertia.sphere(1.0, 0.1))
    build.joint("turn", lw.joints.Spherical(), "world", "link")
    build.shape("link", lw.shapes.Ellipsoid((1, 2, 3)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        build.build().to_text("urdf")
    (warning,) = caught
    assert "a ball joint is three revolute joints" in str(warning.message)
    assert "URDF has no Ellipsoid" in str(warning.message)
    with pytest.raises(lw.errors.InputError, match="dialect is 'drake'; it is one of standard, pinocchio"):
        build.build().to_text("urdf", dialect="drake")  # type: ignore[arg-type]
    assert build.build().to_text("urdf", strict=False) == build.build().to_text("urdf", dialect="linkwork")
    assert list(DIALECTS) == ["standard", "pinocchio", "urdfdom", "linkwork"]
