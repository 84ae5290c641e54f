# SPDX-License-Identifier: BSD-3-Clause
"""SDF: twins of URDF files, facts of Cassie computed apart, every rule of poses and axes, and errors that say where."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import ModelError, ModelWarning
from linkwork.mechanism import Mechanism
from linkwork.model.arrays import Floats
from linkwork.model.placement import Placement
from linkwork.parsing import load
from tests.support.robots import EXAMPLES, load_quietly, model_file
from tests.support.states import assert_close, random_state

CASSIE = EXAMPLES / "cassie_description" / "robots"
CASSIES = ("cassie_v2", "cassie", "cassie_reduced", "cassie_simple", "cassie_wo_gearbox_spring")


def assert_same_dynamics(ours: Mechanism, theirs: Mechanism, rel: float) -> None:
    """Mass matrix and bias forces, joints by name."""
    assert set(ours.joint_names) == set(theirs.joint_names)
    perm = np.concatenate([np.arange(theirs.nv)[theirs.v_slice(name)] for name in ours.joint_names])
    for seed in range(3):
        s = random_state(theirs, seed)
        q = np.concatenate([s.q[theirs.q_slice(name)] for name in ours.joint_names])
        M = lw.mass_matrix(theirs, s.q)[np.ix_(perm, perm)]
        assert_close(lw.mass_matrix(ours, q), M, rel)
        assert_close(lw.bias_forces(ours, q, s.v[perm]), lw.bias_forces(theirs, s.q, s.v)[perm], rel)


# Twins ---------------------------------------------------------------------------------------------------


def test_iiwa_of_drake_is_the_same_in_urdf_and_sdf() -> None:
    ours = load_quietly("iiwa14/iiwa14_no_collision.sdf", base="fixed")
    theirs = load_quietly("iiwa14/iiwa14_primitive_collision.urdf")
    assert_same_dynamics(ours, theirs, 1e-14)
    np.testing.assert_array_equal(ours.armature, theirs.armature)
    np.testing.assert_array_equal(ours.lower, theirs.lower)


def numbers(x: Any) -> str:
    return " ".join(repr(float(k)) for k in np.ravel(x))


def inertia_of(seed: int) -> tuple[float, Floats, Floats]:
    body = lw.zoo.random_inertia(np.random.default_rng(seed))
    return body.mass, body.com, body.rotational


class Arm:
    """A random arm of revolute and prismatic joints, to be written in any dialect."""

    def __init__(self, seed: int, links: int = 6) -> None:
        rng = np.random.default_rng(seed)
        self.angles = rng.uniform(-1, 1, (links, 3))
        self.places = [Placement.rpy(*a, position=rng.normal(size=3)) for a in self.angles]
        self.axes = rng.normal(size=(links, 3))
        self.kinds = ["revolute" if k < 0.7 else "prismatic" for k in rng.uniform(size=links)]
        self.parents = [int(rng.integers(-1, k)) for k in range(links)]
        self.inertias = [inertia_of(seed * 100 + k) for k in range(links)]
        self.shift = [Placement.rpy(*rng.uniform(-1, 1, 3), position=rng.normal(size=3)) for _ in range(links)]
        """The frame of a link, in that of its joint: SDF may choose it freely."""

    def urdf(self) -> str:
        parts = ['<robot name="arm"><link name="base"/>']
        for k, (mass, com, I) in enumerate(self.inertias):
            parent = f"link{self.parents[k]}" if self.parents[k] >= 0 else "base"
            words = f'ixx="{I[0, 0]}" ixy="{I[0, 1]}" ixz="{I[0, 2]}" iyy="{I[1, 1]}" iyz="{I[1, 2]}" izz="{I[2, 2]}"'
            parts.append(
                f'<link name="link{k}"><inertial><origin xyz="{numbers(com)}"/><mass value="{mass}"/><inertia {words}/>'
                f'</inertial></link><joint name="joint{k}" type="{self.kinds[k]}"><parent link="{parent}"/>'
                f'<child link="link{k}"/><origin xyz="{numbers(self.places[k].position)}" '
                f'rpy="{numbers(self.angles[k])}"/><axis xyz="{numbers(self.axes[k])}"/>'
                '<limit effort="1" velocity="1" lower="-1" upper="1"/></joint>'
            )
        return "".join(parts) + "</robot>"

    def sdf(self, version: str, axis_frame: str) -> str:
        """Links posed in the model, joints in their children; the axis in the joint's or the model's frame."""
        in_model: list[Placement] = []
        parts = [f'<sdf version="{version}"><model name="arm"><link name="base"/>']
        parts.append('<joint name="hold" type="fixed"><parent>world</parent><child>base</child></joint>')
        for k, (mass, com, I) in enumerate(self.inertias):
            above = in_model[self.parents[k]] if self.parents[k] >= 0 else Placement()
            in_model.append(above * self.places[k])
            link, joint = in_model[k] * self.shift[k], self.shift[k].inverse()
            parent = f"link{self.parents[k]}" if self.parents[k] >= 0 else "base"
            parts.append(f'<link name="link{k}">{pose(link)}{inertial(mass, joint, com, I)}</link>')
            axis = self.axes[k] if axis_frame == "joint" else in_model[k].rotation @ self.axes[k]
            old = version in ("1.5", "1.6")
            flag = f"<use_parent_model_frame>{int(axis_frame == 'model')}</use_parent_model_frame>" if old else ""
            new = ' expressed_in="__model__"' if axis_frame == "model" and version >= "1.7" else ""
            parts.append(
                f'<joint name="joint{k}" type="{self.kinds[k]}"><parent>{parent}</parent><child>link{k}</child>'
                f"{pose(joint)}<axis><xyz{new}>{numbers(axis)}</xyz>{flag}"
                "<limit><lower>-1</lower><upper>1</upper></limit></axis></joint>"
            )
        return "".join(parts) + "</model></sdf>"

    def relative_sdf(self) -> str:
        """As a URDF is built: joints posed in their parents, links in their joints."""
        parts = ['<sdf version="1.9"><model name="arm"><link name="base"/>']
        parts.append('<joint name="hold" type="fixed"><parent>world</parent><child>base</child></joint>')
        for k, (mass, com, I) in enumerate(self.inertias):
            parent = f"link{self.parents[k]}" if self.parents[k] >= 0 else "base"
            place, degrees = self.places[k].position, np.degrees(self.angles[k])
            parts.append(
                f'<joint name="joint{k}" type="{self.kinds[k]}"><parent>{parent}</parent><child>link{k}</child>'
                f'<pose relative_to="{parent}" degrees="true">{numbers(place)} {numbers(degrees)}</pose>'
                f"<axis><xyz>{numbers(self.axes[k])}</xyz><limit><lower>-1</lower><upper>1</upper></limit></axis></joint>"
                f'<link name="link{k}"><pose relative_to="joint{k}"/>{inertial(mass, Placement(), com, I)}</link>'
            )
        return "".join(parts) + "</model></sdf>"


def pose(place: Placement) -> str:
    R = place.rotation
    roll, pitch, yaw = np.arctan2(R[2, 1], R[2, 2]), -np.arcsin(R[2, 0]), np.arctan2(R[1, 0], R[0, 0])
    return f"<pose>{numbers(place.position)} {numbers([roll, pitch, yaw])}</pose>"


def inertial(mass: float, place: Placement, com: Floats, I: Floats) -> str:
    """Of matter whose inertia is known in another frame, at ``place``."""
    at = place * Placement(com)
    tags = {"ixx": I[0, 0], "ixy": I[0, 1], "ixz": I[0, 2], "iyy": I[1, 1], "iyz": I[1, 2], "izz": I[2, 2]}
    words = "".join(f"<{tag}>{float(value)!r}</{tag}>" for tag, value in tags.items())
    return f"<inertial>{pose(at)}<mass>{mass!r}</mass><inertia>{words}</inertia></inertial>"


DIALECTS = [("1.4", "model"), ("1.5", "joint"), ("1.5", "model"), ("1.6", "joint"), ("1.6", "model")]
DIALECTS += [("1.7", "joint"), ("1.7", "model"), ("1.11", "joint")]


@pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning")
@pytest.mark.parametrize(("version", "frame"), DIALECTS)
@pytest.mark.parametrize("seed", range(4))
def test_random_arms_are_the_same_in_urdf_and_sdf(seed: int, version: str, frame: str) -> None:
    arm = Arm(seed)
    assert_same_dynamics(lw.loads(arm.sdf(version, frame), "sdf"), lw.loads(arm.urdf(), "urdf"), 1e-12)


@pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning")
@pytest.mark.parametrize("seed", range(4))
def test_random_arms_written_relative_to_joints_are_the_same(seed: int) -> None:
    arm = Arm(seed)
    assert_same_dynamics(lw.loads(arm.relative_sdf(), "sdf"), lw.loads(arm.urdf(), "urdf"), 1e-12)


# Cassie --------------------------------------------------------------------------------------------------


def floats(element: ElementTree.Element | None, count: int) -> Floats:
    return (
        np.zeros(count) if element is None or not element.text else np.array([float(x) for x in element.text.split()])
    )


class Apart:
    """Cassie as it stands in its file, read and computed here with nothing of the loader."""

    def __init__(self, file: Path) -> None:
        model = ElementTree.parse(file).getroot().find("model")
        assert model is not None
        self.links: dict[str, tuple[Floats, Floats, float, Floats, Floats]] = {}
        for link in model.findall("link"):
            p, R = self.place(link.find("pose"))
            inner = link.find("inertial")
            assert inner is not None
            c, Rc = self.place(inner.find("pose"))
            xx, yy, zz, xy, xz, yz = (
                float(inner.findtext(f"inertia/i{k}", "0")) for k in ("xx", "yy", "zz", "xy", "xz", "yz")
            )
            I = R @ Rc @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ (R @ Rc).T
            self.links[link.get("name", "")] = p, R, float(inner.findtext("mass", "")), p + R @ c, I
        self.joints: dict[str, tuple[str, str, str, Floats, Floats]] = {}
        for joint in model.findall("joint"):
            parent, child = joint.findtext("parent", ""), joint.findtext("child", "")
            p, R = self.links[child][:2] if child in self.links else (np.zeros(3), np.eye(3))
            at, turn = self.place(joint.find("pose"))
            axis = floats(joint.find("axis/xyz"), 3)
            in_model = joint.findtext("axis/use_parent_model_frame", "0") == "1"
            axis = axis if in_model else R @ turn @ axis
            self.joints[joint.get("name", "")] = joint.get("type", ""), parent, child, p + R @ at, axis

    @staticmethod
    def place(pose: ElementTree.Element | None) -> tuple[Floats, Floats]:
        x = floats(pose, 6)
        (cr, cp, cy), (sr, sp, sy) = np.cos(x[3:]), np.sin(x[3:])
        Rz = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
        Ry = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
        Rx = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
        return x[:3], Rz @ Ry @ Rx

    def mass_matrix(self, robot: Mechanism) -> Floats:
        """Sum of m JᵀJ over the links, columns by hand, on the tree that ``robot`` chose; a free joint is the root."""
        M = np.zeros((robot.nv, robot.nv))
        carried = {joint.child: joint for joint in robot.joints}
        for link, (_, _, mass, com, I) in self.links.items():
            J = np.zeros((6, robot.nv))
            body = link
            while body != "world":
                joint = carried[body]
                at = robot.v_slice(joint.name)
                if joint.name == "root_joint":
                    p, R = self.links[body][:2]
                    J[3:, at.start : at.start + 3] = R
                    for k in range(3):
                        J[:3, at.start + 3 + k] = R[:, k]
                        J[3:, at.start + 3 + k] = np.cross(R[:, k], com - p)
                else:
                    kind, parent, _, p, axis = self.joints[joint.name]
                    axis = axis / np.linalg.norm(axis) * (1 if parent == joint.parent else -1)
                    assert kind in ("revolute", "prismatic")
                    J[:, at.start] = [*axis, *np.cross(axis, com - p)] if kind == "revolute" else [0, 0, 0, *axis]
                body = joint.parent
            M += mass * J[3:].T @ J[3:] + J[:3].T @ I @ J[:3]
        return M


@pytest.mark.parametrize("name", CASSIES)
def test_mass_matrix_of_cassie_is_the_one_computed_apart(name: str) -> None:
    robot = load_quietly(CASSIE / f"{name}.sdf")
    apart = Apart(CASSIE / f"{name}.sdf")
    q = robot.poses["initial"] if "initial" in robot.poses else robot.neutral()
    assert_close(lw.mass_matrix(robot, q), apart.mass_matrix(robot), 1e-13)
    weights = np.array([link[2] for link in apart.links.values()])
    assert robot.mass == pytest.approx(weights.sum(), rel=1e-14)
    com = weights @ [link[3] for link in apart.links.values()] / weights.sum()
    np.testing.assert_allclose(lw.center_of_mass(robot, q), com, atol=1e-14)


FACTS = {
    "cassie_v2": (23, 26, 4, 0, True),
    "cassie": (35, 50, 6, 10, True),
    "cassie_reduced": (23, 27, 4, 0, False),
    "cassie_simple": (23, 27, 4, 0, False),
    "cassie_wo_gearbox_spring": (23, 27, 4, 0, False),
}


@pytest.mark.parametrize("name", CASSIES)
def test_structure_of_cassie(name: str) -> None:
    """Links, joints, of these closing loops, gearboxes, and whether no joint holds it in the world."""
    links, joints, loops, gearboxes, floats_free = FACTS[name]
    robot = load_quietly(CASSIE / f"{name}.sdf")
    apart = Apart(CASSIE / f"{name}.sdf")
    assert (len(apart.links), len(apart.joints)) == (links, joints)
    assert len(robot.constraints) == loops + gearboxes
    cut = {c.name for c in robot.constraints}
    carried = {j.name for j in robot.joints} - {"root_joint"}
    merged = {name for name, joint in apart.joints.items() if joint[0] == "fixed"}
    assert carried | cut | merged == set(apart.joints) and not carried & cut
    assert ("root_joint" in robot.joint_names) is floats_free
    assert sum(isinstance(c, lw.constraints.JointCoupling) for c in robot.constraints) == gearboxes


@pytest.mark.parametrize("name", CASSIES)
def test_loops_of_cassie_are_closed_as_it_stands(name: str) -> None:
    robot = load_quietly(CASSIE / f"{name}.sdf")
    assert np.abs(lw.constraint_error(robot, robot.neutral())).max() < 1e-13


def test_cassie_v2_has_sixteen_degrees_of_freedom() -> None:
    """Six of the base, and for each leg three of the hip, the knee and the foot; its springs count too."""
    robot = load_quietly(CASSIE / "cassie_v2.sdf")
    assert (robot.nv, robot.nc) == (28, 12)
    q = robot.integrate(robot.neutral(), np.random.default_rng(0).normal(size=robot.nv) * 0.05)
    assert np.linalg.matrix_rank(lw.constraint_jacobian(robot, q)) == 12
    springs = {j.name: float(j.stiffness[0]) for j in robot.joints if j.stiffness.any()}
    assert sorted(springs.values()) == [1250, 1250, 1500, 1500]


def test_gearboxes_of_cassie_turn_the_motor_against_the_joint() -> None:
    robot = load_quietly(CASSIE / "cassie.sdf")
    gear = robot.constraint("left-knee-joint")
    assert isinstance(gear, lw.constraints.JointCoupling)
    assert dict(gear.coefficients) == {"left-knee-ip": 0.0625, "left-knee-op": 1.0}


# Four-bars of Drake -----------------------------------------------------------------------------------------


def test_four_bar_of_drake_is_the_tree_that_its_file_is() -> None:
    robot = load_quietly("drake_four_bar/four_bar.sdf")
    assert (robot.nv, robot.nc) == (3, 0)
    q = np.array([1.318116071652818, 1.8234765819369751, 1.8234765819369751])
    q = np.concatenate([q[["joint_WA", "joint_AB", "joint_WC"].index(name)][None] for name in robot.joint_names])
    gap = np.subtract(*lw.frame_placement(robot, q, ("Bc_bushing", "Cb_bushing")).position)
    np.testing.assert_allclose(gap[[0, 2]], 0, atol=1e-10)
    assert abs(gap[1]) == pytest.approx(0.1)


@pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning")
def test_four_bar_loop_of_drake_is_read_in_spite_of_its_comment() -> None:
    file = model_file("drake_four_bar/four_bar_loop.sdf")
    with pytest.warns(ModelWarning) as said:
        robot = load(file)
    words = [str(warning.message) for warning in said]
    assert f"{file}:4: not well-formed XML: '--' inside a comment; read as TinyXML reads it" in words[0]
    assert any("'Dc' is not at joint 'driver_coupler'" in text for text in words)
    assert (robot.nv, robot.nc, len(robot.constraints)) == (3, 5, 1)
    assert isinstance(robot.constraints[0], lw.constraints.Hinge)
    assert robot.mass == 4 and "root_joint" not in robot.joint_names
    assert robot.frames["Wd"].body == "world"
    np.testing.assert_array_equal(robot.frames["Wd"].placement.position, [-2, 0, 0])


# Small models --------------------------------------------------------------------------------------------------

ROD = """<inertial><mass>2</mass><inertia><ixx>0.2</ixx><iyy>0.2</iyy><izz>0.1</izz></inertia></inertial>"""
ARM = f"""<sdf version="1.8">
  <model name="arm">
    <link name="base">{ROD}</link>
    <link name="upper">
      <pose>0 0 1 0 0 0</pose>
      {ROD}
    </link>
    <joint name="shoulder" type="revolute">
      <parent>base</parent>
      <child>upper</child>
      <axis>
        <xyz>0 0 1</xyz>
      </axis>
    </joint>
    <!-- here -->
  </model>
</sdf>
"""
HERE = "<!-- here -->"
DRAKE = 'xmlns:drake="http://drake.mit.edu"'
AXIS = "<xyz>0 0 1</xyz>"


def edited(old: str, new: str) -> str:
    assert ARM.count(old) == 1, old
    return ARM.replace(old, new)


def joint(kind: str, inside: str = "<axis><xyz>0 0 1</xyz></axis>", parent: str = "upper", child: str = "tip") -> str:
    ends = f"<parent>{parent}</parent><child>{child}</child>"
    return f'<link name="tip"><pose>1 0 1 0 0 0</pose>{ROD}</link><joint name="j" type="{kind}">{ends}{inside}</joint>'


def test_what_nothing_holds_floats_where_the_file_puts_it() -> None:
    robot = lw.loads(edited('<model name="arm">', '<model name="arm"><pose>1 2 3 0 0 1.5707963267948966</pose>'), "sdf")
    assert robot.joint_names == ("root_joint", "shoulder")
    np.testing.assert_allclose(robot.poses["initial"], [1, 2, 3, 0, 0, np.sqrt(0.5), np.sqrt(0.5), 0], atol=1e-15)
    place = lw.frame_placement(robot, robot.poses["initial"], "upper")
    np.testing.assert_allclose(place.position, [1, 2, 4], atol=1e-15)


def test_a_fixed_base_stands_where_the_file_puts_it() -> None:
    robot = lw.loads(edited('<model name="arm">', '<model name="arm"><pose>1 2 3 0 0 0</pose>'), "sdf", base="fixed")
    assert robot.joint_names == ("shoulder",)
    np.testing.assert_array_equal(lw.frame_placement(robot, [0.0], "upper").position, [1, 2, 4])


def test_a_joint_to_the_world_holds_the_model() -> None:
    hold = '<joint name="hold" type="fixed"><parent>world</parent><child>base</child></joint>'
    assert lw.loads(edited(HERE, hold), "sdf").joint_names == ("shoulder",)
    with pytest.raises(ModelError, match=r'a:\d+ <joint name="hold">.*base=\'floating\''):
        lw.loads(edited(HERE, hold), "sdf", name="a", base="floating")


def test_a_static_model_does_not_move() -> None:
    robot = lw.loads(edited(HERE, "<static>1</static>"), "sdf")
    assert robot.nv == 0
    np.testing.assert_array_equal(robot.frame("upper").placement.position, [0, 0, 1])
    assert lw.loads(edited(HERE, "<static>false</static>"), "sdf").nv == 7


def test_a_static_model_keeps_its_frames_and_static_models() -> None:
    nested = f'<model name="n"><static>1</static><pose>1 0 0 0 0 0</pose><link name="a">{ROD}</link></model>'
    frame = '<frame name="tip" attached_to="upper"><pose>0 0 2 0 0 0</pose></frame>'
    robot = lw.loads(edited(HERE, f"<static>1</static>{nested}{frame}"), "sdf")
    np.testing.assert_array_equal(robot.frame("tip").placement.position, [0, 0, 3])
    np.testing.assert_array_equal(robot.frame("n::a").placement.position, [1, 0, 0])


def test_two_parts_float_apart() -> None:
    robot = lw.loads(edited(HERE, f'<link name="other"><pose>5 0 0 0 0 0</pose>{ROD}</link>'), "sdf")
    assert robot.joint_names == ("root_joint", "shoulder", "root_joint_1")
    assert robot.poses["initial"][robot.q_slice("root_joint_1")][0] == 5


def test_the_root_is_the_canonical_link_or_one_that_leads_to_all() -> None:
    assert lw.loads(ARM, "sdf").joint("root_joint").child == "base"
    named = lw.loads(edited('name="arm"', 'name="arm" canonical_link="upper"'), "sdf")
    assert named.joint("root_joint").child == "base", "from 'upper' no joint leads to 'base'"
    tip_first = edited('<link name="base">', f'<link name="first">{ROD}</link><link name="base">').replace(
        HERE, '<joint name="j" type="ball"><parent>upper</parent><child>first</child></joint>'
    )
    assert lw.loads(tip_first, "sdf").joint("root_joint").child == "base"


@pytest.mark.parametrize(
    ("kind", "inside", "expected"),
    [
        ("revolute", f"<axis>{AXIS}</axis>", lw.joints.Revolute("z")),
        ("continuous", f"<axis>{AXIS}</axis>", lw.joints.Revolute("z")),
        ("prismatic", "<axis/>", lw.joints.Prismatic("z")),
        ("ball", "", lw.joints.Spherical()),
        ("universal", "<axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2>", lw.joints.Universal("x", "y")),
        (
            "revolute2",
            "<axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 1</xyz></axis2>",
            lw.joints.Universal("x", (0, 1, 1)),
        ),
        (
            "screw",
            f"<axis>{AXIS}</axis><screw_thread_pitch>0.5</screw_thread_pitch>",
            lw.joints.Helical("z", 0.25 / np.pi),
        ),
        ("screw", f"<axis>{AXIS}</axis><thread_pitch>-4</thread_pitch>", lw.joints.Helical("z", 0.25)),
    ],
)
def test_joint_types(kind: str, inside: str, expected: lw.joints.Joint) -> None:
    found = lw.loads(edited(HERE, joint(kind, inside)), "sdf").joint("j").type
    assert type(found) is type(expected)
    for name, value in vars(expected).items():
        np.testing.assert_allclose(getattr(found, name), value, rtol=1e-15)


def test_a_fixed_joint_leaves_a_frame() -> None:
    robot = lw.loads(edited(HERE, joint("fixed", "")), "sdf")
    assert robot.joint_names == ("root_joint", "shoulder")
    np.testing.assert_array_equal(robot.frame("tip").placement.position, [1, 0, 0])


def test_numbers_of_a_joint() -> None:
    inside = """<axis><xyz>0 0 1</xyz><limit><lower>-1</lower><upper>2</upper><effort>3</effort><velocity>4</velocity>
      </limit><dynamics><damping>5</damping><friction>6</friction><spring_stiffness>7</spring_stiffness>
      <spring_reference>0.5</spring_reference></dynamics></axis>"""
    robot = lw.loads(edited(HERE, joint("revolute", inside)), "sdf")
    found = robot.joint("j")
    limits = found.limits
    assert (limits.lower[0], limits.upper[0], limits.effort[0], limits.velocity[0]) == (-1, 2, 3, 4)
    assert (found.damping[0], found.friction[0], found.stiffness[0], found.rest[0]) == (5, 6, 7, 0.5)


@pytest.mark.parametrize("none", ["-1", "1e16", "inf"])
def test_words_for_no_limit(none: str) -> None:
    inside = f"<axis><limit><effort>{none}</effort><lower>-1e16</lower></limit></axis>"
    limits = lw.loads(edited(HERE, joint("prismatic", inside)), "sdf").joint("j").limits
    assert (limits.effort[0], limits.lower[0], limits.upper[0]) == (np.inf, -np.inf, np.inf)


def test_limits_of_two_axes_stand_side_by_side() -> None:
    axis = "<axis{0}><xyz>{1}</xyz><limit><lower>-{2}</lower><upper>{2}</upper></limit></axis{0}>"
    inside = axis.format("", "1 0 0", 1) + axis.format("2", "0 1 0", 2)
    np.testing.assert_array_equal(
        lw.loads(edited(HERE, joint("universal", inside)), "sdf").joint("j").limits.upper, [1, 2]
    )


def test_a_loop_of_joints_is_cut() -> None:
    """Two links held apart by two parallel rods, the last joint between bodies that are connected already."""
    text = """<sdf version="1.6"><model name="linkage">{}</model></sdf>"""
    link = '<link name="{}"><pose>{} 0 0 0 0</pose>' + ROD + "</link>"
    hinge = """<joint name="{}" type="revolute"><parent>{}</parent><child>{}</child><pose>{} 0 0 0</pose>
      <axis><xyz>0 0 1</xyz></axis></joint>"""
    parts = [link.format("left", "0 0"), link.format("bar", "0 1"), link.format("right", "2 0")]
    parts += [hinge.format("a", "world", "left", "0 0 0"), hinge.format("b", "left", "bar", "0 0 0")]
    parts += [hinge.format("c", "world", "right", "0 0 0"), hinge.format("d", "bar", "right", "0 1 0")]
    robot = lw.loads(text.format("".join(parts)), "sdf")
    (closed,) = robot.constraints
    assert isinstance(closed, lw.constraints.Hinge) and closed.name == "d"
    for angle in (0.0, 0.7):
        q = np.array([angle * {"a": 1, "b": -1, "c": 1}[name] for name in robot.joint_names])
        assert np.abs(lw.constraint_error(robot, q)).max() < 1e-15
    mark = "<physics><simbody><must_be_loop_joint>1</must_be_loop_joint></simbody></physics>"
    marked = text.format("".join(parts)).replace("<parent>left</parent>", f"<parent>left</parent>{mark}")
    assert [c.name for c in lw.loads(marked, "sdf").constraints] == ["b"]


GEARBOX = """<link name="motor"><pose>0 0 2 0 0 0</pose>{rod}</link>
  <joint name="m" type="revolute"><parent>{a}</parent><child>{b}</child><axis><xyz>0 0 {m}</xyz></axis></joint>
  <joint name="gear" type="gearbox"><parent>motor</parent><child>upper</child><gearbox_ratio>3</gearbox_ratio>
  <gearbox_reference_body>base</gearbox_reference_body><axis><xyz>0 0 {x}</xyz></axis><axis2>{y}</axis2></joint>"""


@pytest.mark.parametrize(
    ("a", "b", "m", "x", "coefficients"),
    [
        ("base", "motor", 1, 1, {"m": 3.0, "shoulder": 1.0}),
        ("base", "motor", -1, 1, {"m": -3.0, "shoulder": 1.0}),
        ("base", "motor", 1, -2, {"m": -3.0, "shoulder": 1.0}),
        ("motor", "base", 1, 1, {"m": -3.0, "shoulder": 1.0}),
    ],
)
def test_a_gearbox_turns_its_child_against_its_parent(
    a: str, b: str, m: int, x: int, coefficients: dict[str, float]
) -> None:
    """theta_2 = -ratio theta_1, each about its axis from the reference body (the standard's words)."""
    text = edited(HERE, GEARBOX.format(rod=ROD, a=a, b=b, m=m, x=x, y=AXIS))
    gear = lw.loads(text, "sdf").constraint("gear")
    assert isinstance(gear, lw.constraints.JointCoupling)
    assert dict(gear.coefficients) == coefficients


def mimic(inside: str, kind: str = "revolute", leader: str = "shoulder", attributes: str = "") -> str:
    return joint(kind, f'<axis>{AXIS}<mimic joint="{leader}"{attributes}>{inside}</mimic></axis>')


def test_a_mimic_is_a_coupling_unless_ignored() -> None:
    words = "<multiplier>2</multiplier><offset>0.5</offset><reference>0.25</reference>"
    text = edited(HERE, mimic(words))
    (coupling,) = lw.loads(text, "sdf").constraints
    assert isinstance(coupling, lw.constraints.JointCoupling) and coupling.name == "j_mimic"
    assert dict(coupling.coefficients) == {"j": 1.0, "shoulder": -2.0}
    assert coupling.offset == 0.5 - 2 * 0.25
    assert lw.loads(text, "sdf", mimic="ignore").constraints == ()


def test_a_mimic_of_drake_is_a_coupling() -> None:
    inside = f'<axis>{AXIS}</axis><drake:mimic {DRAKE} joint="shoulder" multiplier="3" offset="1"/>'
    (coupling,) = lw.loads(edited(HERE, joint("prismatic", inside)), "sdf").constraints
    assert isinstance(coupling, lw.constraints.JointCoupling)
    assert (dict(coupling.coefficients), coupling.offset) == ({"j": 1.0, "shoulder": -3.0}, 1.0)


def test_a_ball_constraint_of_drake_is_a_point() -> None:
    inside = f"""<drake:ball_constraint {DRAKE}><drake:ball_constraint_body_A>base</drake:ball_constraint_body_A>
      <drake:ball_constraint_body_B>upper</drake:ball_constraint_body_B>
      <drake:ball_constraint_p_AP>0 0 1</drake:ball_constraint_p_AP>
      <drake:ball_constraint_p_BQ>0 0 0</drake:ball_constraint_p_BQ></drake:ball_constraint>"""
    robot = lw.loads(edited(HERE, inside), "sdf")
    assert isinstance(robot.constraints[0], lw.constraints.Point)
    assert np.abs(lw.constraint_error(robot, robot.neutral())).max() == 0


def test_rotors_of_drake_are_armature() -> None:
    inside = f"<axis>{AXIS}</axis><drake:rotor_inertia {DRAKE}>0.5</drake:rotor_inertia>"
    inside += f"<drake:gear_ratio {DRAKE}>10</drake:gear_ratio>"
    robot = lw.loads(edited(HERE, joint("revolute", inside)), "sdf")
    assert robot.armature[robot.v_index("j")] == 50


def test_gravity_is_that_of_the_world() -> None:
    inside = ARM[ARM.index("<model") : ARM.index("</sdf>")]
    world = '<sdf version="1.8"><world name="w">{}{}</world></sdf>'
    np.testing.assert_array_equal(
        lw.loads(world.format("<gravity>0 1 -2</gravity>", inside), "sdf").gravity, [0, 1, -2]
    )
    np.testing.assert_array_equal(lw.loads(world.format("", inside), "sdf").gravity, [0, 0, -9.8])
    np.testing.assert_array_equal(lw.loads(ARM, "sdf").gravity, [0, 0, -9.81])


def test_a_link_without_inertial_weighs_what_the_standard_says() -> None:
    with pytest.warns(ModelWarning, match=r'a:3 <link name="base">.*1 kg'):
        robot = lw.loads(edited(f'<link name="base">{ROD}</link>', '<link name="base"/>'), "sdf", name="a")
    assert robot.inertias["base"].mass == 1
    np.testing.assert_array_equal(robot.inertias["base"].rotational, np.eye(3))


# Frames --------------------------------------------------------------------------------------------------------


def frame(name: str, attached: str = "", relative: str = "", pose: str = "") -> str:
    attached = f' attached_to="{attached}"' if attached else ""
    relative = f' relative_to="{relative}"' if relative else ""
    return f'<frame name="{name}"{attached}><pose{relative}>{pose}</pose></frame>'


def test_frames_stand_on_frames() -> None:
    frames = frame("a", "upper", "", "0 1 0 0 0 1.5707963267948966") + frame("b", "a", "", "1 0 0 0 0 0")
    frames += frame("c", "upper", "base", "0 0 0 0 0 0") + frame("d", "", "shoulder", "0 0 3 0 0 0")
    robot = lw.loads(edited(HERE, frames), "sdf")
    for name, body, position in (
        ("a", "upper", [0, 1, 0]),
        ("b", "upper", [0, 2, 0]),
        ("c", "upper", [0, 0, -1]),
        ("d", "base", [0, 0, 4]),
    ):
        assert robot.frames[name].body == body
        np.testing.assert_allclose(robot.frames[name].placement.position, position, atol=1e-15)


def test_joints_may_be_named_by_frames() -> None:
    text = edited("<parent>base</parent>", "<parent>f</parent>").replace(HERE, frame("f", "base", "", "0 0 1 0 0 0"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert lw.loads(text, "sdf").joint("shoulder").parent == "base"


def test_nested_models_have_names_with_colons() -> None:
    inner = f"""<model name="tool"><pose relative_to="upper">0 0 1 0 0 0</pose><link name="hand">{ROD}</link>
      <link name="finger"><pose>1 0 0 0 0 0</pose>{ROD}</link>
      <joint name="grip" type="prismatic"><parent>hand</parent><child>finger</child><axis><xyz>1 0 0</xyz></axis>
      </joint>
      {frame("tcp", "finger", "", "0 0 5 0 0 0")}</model>
      <joint name="mount" type="fixed"><parent>upper</parent><child>tool::hand</child></joint>
      {frame("eye", "tool", "tool::tcp", "")}{frame("ear", "tool::finger", "", "")}"""
    robot = lw.loads(edited(HERE, inner), "sdf")
    assert robot.joint_names == ("root_joint", "shoulder", "tool::grip")
    q = robot.poses["initial"]
    for name, position in (("tool::hand", [0, 0, 2]), ("tool::finger", [1, 0, 2]), ("tool::tcp", [1, 0, 7])):
        np.testing.assert_allclose(lw.frame_placement(robot, q, name).position, position, atol=1e-15)
    assert robot.frames["eye"].body == "upper", "the hand, fixed to it"
    np.testing.assert_allclose(lw.frame_placement(robot, q, "eye").position, [1, 0, 7], atol=1e-15)
    assert robot.frames["ear"].body == "tool::finger"


def test_a_placement_frame_is_what_the_pose_of_a_model_places() -> None:
    text = edited('<model name="arm">', '<model name="arm" placement_frame="grip"><pose>0 0 5 0 0 0</pose>')
    robot = lw.loads(text.replace(HERE, frame("grip", "upper", "", "0 0 1 0 0 0")), "sdf")
    np.testing.assert_allclose(robot.poses["initial"][:3], [0, 0, 3], atol=1e-15)
    inner = f"""<model name="tool" placement_frame="hand"><pose>7 0 0 0 0 0</pose>
      <link name="hand"><pose>0 3 0 0 0 0</pose>{ROD}</link></model>"""
    robot = lw.loads(edited(HERE, inner), "sdf")
    place = robot.poses["initial"][robot.q_slice("root_joint_1")]
    np.testing.assert_allclose(place[:3], [7, 0, 0], atol=1e-15)


def test_a_pose_in_quaternions() -> None:
    text = edited("<pose>0 0 1 0 0 0</pose>", '<pose rotation_format="quat_xyzw">0 0 1 0 0 2 2</pose>')
    robot = lw.loads(text, "sdf", base="fixed")
    R = lw.frame_placement(robot, [0.0], "upper").rotation
    np.testing.assert_allclose(R, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)


def test_a_frame_attached_to_the_world_stands_in_it() -> None:
    text = edited('<model name="arm">', '<model name="arm"><pose>0 0 5 0 0 0</pose>')
    robot = lw.loads(text.replace(HERE, frame("f", "world", "base", "0 0 1 0 0 0")), "sdf")
    assert robot.frames["f"].body == "world"
    np.testing.assert_array_equal(robot.frames["f"].placement.position, [0, 0, 6])


@pytest.mark.slow
def test_long_chains_of_frames_are_no_trouble() -> None:
    """The first to be asked for is the last of the chain."""
    n = 3000
    chain = "".join(frame(f"f{k}", f"f{k + 1}", "", "0 0 1 0 0 0") for k in range(n)) + frame(f"f{n}", "upper")
    robot = lw.loads(edited(HERE, chain), "sdf")
    assert robot.frames["f0"].body == "upper"
    assert robot.frames["f0"].placement.position[2] == n
