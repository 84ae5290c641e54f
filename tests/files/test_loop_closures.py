# SPDX-License-Identifier: BSD-3-Clause
"""Loops of exporters: ``loop_closures.yaml``, ``<constraint>`` of urdfdom#264, ``<loop_joint>`` of Fusion."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import ModelError, ModelWarning, TopologyError, UnsupportedFeature

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
LINKS = "".join(f'<link name="{name}">{INERTIAL}</link>' for name in ("crank", "coupler", "rocker"))
TREE = f"""<robot name="bar"><link name="base"/>{LINKS}
  <joint name="A" type="continuous"><origin xyz="0 0 0.1" rpy="0 0 0.3"/><parent link="base"/><child link="crank"/>
    <axis xyz="0 1 0"/></joint>
  <joint name="B" type="continuous"><origin xyz="0 0 0.2" rpy="0.4 0 0"/><parent link="crank"/><child link="coupler"/>
    <axis xyz="0 0.9210609940028851 -0.3894183423086505"/></joint>
  <joint name="D" type="continuous"><origin xyz="0.3 0 0.1" rpy="0 0 0.3"/><parent link="base"/><child link="rocker"/>
    <axis xyz="0 1 0"/>{{mimic}}</joint>{{loops}}</robot>"""
"""A four-bar that is cut open; coupler and rocker have frames that are turned against each other."""


def tree(loops: str = "", mimic: str = "") -> str:
    return TREE.format(loops=loops, mimic=mimic)


POINT = np.array([0.5, 0.1, 0.35])
AXIS = np.array([-np.sin(0.3), np.cos(0.3), 0.0])


def ends() -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The point where the loop was cut, and its axis, in the frames of coupler and rocker."""
    robot = lw.loads(tree(), base="fixed")
    places = [lw.frame_placement(robot, robot.neutral(), link) for link in ("coupler", "rocker")]
    return [p.inverse().act(POINT) for p in places], [p.rotation.T @ AXIS for p in places]


def text(values: np.ndarray) -> str:
    return " ".join(map(repr, map(float, values)))


def check(robot: lw.Mechanism, rows: int = 5) -> None:
    """Closed as drawn, by a hinge at the point, and with the one freedom of a four-bar."""
    q = robot.neutral()
    assert robot.nc == rows and np.abs(lw.constraint_error(robot, q)).max() < 1e-9
    assert robot.mobility(q).dof == 1
    reference = lw.loads(tree(), base="fixed").constrained(
        lw.constraints.Point("coupler", "rocker", first_at=ends()[0][0], second_at=ends()[0][1])
    )
    J, K = lw.constraint_jacobian(robot, q), lw.constraint_jacobian(reference, q)
    moves = np.linalg.svd(J)[2][-1]
    assert np.abs(K @ moves).max() < 1e-9


CLOSURES = """# Closed-loop closures for a loop-closure relay (runtime IK).
closures:
- axis: [{a[0]}, {a[1]}, {a[2]}]
  link_a: coupler
  link_b: rocker
  point: [{p[0]}, {p[1]}, {p[2]}]
dependent: [B, D]
independent: [A]
"""


def closures() -> str:
    return CLOSURES.format(a=AXIS.tolist(), p=POINT.tolist())


def pins(kind: str = "pin_loops") -> str:
    (p, c), (a, _) = ends()
    axis = f"\n    axis: {a.tolist()}" if kind == "pin_loops" else ""
    ends_of = f"parent: coupler\n    child: rocker\n    parent_xyz: {p.tolist()}\n    child_xyz: {c.tolist()}"
    loop = f"  - name: C\n    {ends_of}"
    return f"{kind}:\n{loop}{axis}\nactuated_joints:\n  - A\n"


@pytest.mark.parametrize("place", ["", "..", "../config"])
@pytest.mark.parametrize("content", ["closures", "pin_loops"])
def test_loops_of_exporters_are_found_where_they_put_them(content: str, place: str, tmp_path: Path) -> None:
    folder = tmp_path / "urdf"
    (folder / place).mkdir(parents=True, exist_ok=True)
    (folder / "bar.urdf").write_text(tree())
    (tmp_path / "config").mkdir(exist_ok=True)
    file = (folder / place / "loop_closures.yaml").resolve()
    file.write_text(closures() if content == "closures" else pins())
    robot = lw.load(folder / "bar.urdf", base="fixed")
    check(robot)
    assert [joint.name for joint in robot.joints if joint.actuated] == ["A"]
    assert lw.load(folder / "bar.urdf", base="fixed", loops=False).nc == 0


def test_marks_of_closures_are_kept_and_mimics_that_approximate_left_out(tmp_path: Path) -> None:
    (tmp_path / "loops.yaml").write_text(closures())
    (tmp_path / "bar.urdf").write_text(tree(mimic='<mimic joint="A" multiplier="0.97"/>'))
    robot = lw.load(tmp_path / "bar.urdf", base="fixed", loops=tmp_path / "loops.yaml")
    check(robot)
    assert [joint.independent for joint in robot.joints] == [True, False, False]


def test_ball_loops_and_joints_that_are_really_balls(tmp_path: Path) -> None:
    (tmp_path / "bar.urdf").write_text(tree())
    (tmp_path / "loop_closures.yaml").write_text(pins("ball_loops") + "ball_upgrades:\n- B\nball_limit_deg: 15.0\n")
    with pytest.warns(ModelWarning, match="limits of ball joints are not kept"):
        robot = lw.load(tmp_path / "bar.urdf", base="fixed")
    assert isinstance(robot.joint("B").type, lw.joints.Spherical)
    (loop,) = robot.constraints
    assert type(loop) is lw.constraints.Point and loop.name == "C"
    assert np.abs(lw.constraint_error(robot, robot.neutral())).max() < 1e-12


WRONG = {
    "no link": (
        "link_b: rocker",
        "link_b: rockr",
        TopologyError,
        "'rockr' is no link of the URDF.*did you mean 'rocker'",
    ),
    "no point": ("point:", "pint:", ModelError, "'pint' of a loop is none of link_a, link_b, point, axis"),
    "absent": ("  link_b: rocker\n", "", ModelError, "a loop has no 'link_b'; it needs link_a"),
    "no vector": ("point: [", "point: [1, ", ModelError, r"'point' is three numbers: point: \[x, y, z\]"),
    "no axis": ("axis: [", "axis: [0, 0, 0]\n  #", ModelError, "the axis is 0 0 0"),
    "no joint": ("independent: [A]", "independent: [a]", ModelError, "joint 'a' is no joint of the URDF"),
    "other key": ("dependent:", "passive:", UnsupportedFeature, "key 'passive' is none of closed_loop"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_with_closures_is_said_with_the_line(case: str, tmp_path: Path) -> None:
    old, new, kind, says = WRONG[case]
    (tmp_path / "bar.urdf").write_text(tree())
    (tmp_path / "loops.yaml").write_text(closures().replace(old, new))
    with pytest.raises(kind, match=rf"loops\.yaml:\d+.* .*{says}"):
        lw.load(tmp_path / "bar.urdf", loops=tmp_path / "loops.yaml")


def constraint(kind: str, axes: bool = True, more: str = "") -> str:
    points, (a, b) = ends()
    sides = [
        f'<{side} link="{link}"/><{side}_origin xyz="{text(at)}"/>'
        + (f'<{side}_axis xyz="{text(axis)}"/>' if axes else "")
        for side, link, at, axis in zip(("parent", "child"), ("coupler", "rocker"), points, (a, b), strict=True)
    ]
    return f'<constraint name="C" type="{kind}">{"".join(sides)}{more}</constraint>'


@pytest.mark.parametrize("kind", ["revolute", "continuous"])
def test_a_constraint_of_urdfdom_is_a_hinge(kind: str) -> None:
    check(lw.loads(tree(constraint(kind)), base="fixed"))


@pytest.mark.parametrize(
    ("kind", "type", "rows"),
    [
        ("spherical", lw.constraints.Point, 3),
        ("ball", lw.constraints.Point, 3),
        ("fixed", lw.constraints.Weld, 6),
        ("prismatic", lw.constraints.Slider, 5),
        ("planar", lw.constraints.PlaneOnPlane, 3),
        ("cylindrical", lw.constraints.Cylindrical, 4),
    ],
)
def test_constraints_of_urdfdom_of_other_types(kind: str, type: type, rows: int) -> None:
    axes = kind in ("prismatic", "planar", "cylindrical")
    robot = lw.loads(tree(constraint(kind, axes)), base="fixed")
    assert isinstance(robot.constraint("C"), type) and robot.nc == rows
    if kind != "fixed":
        assert np.abs(lw.constraint_error(robot, robot.neutral())).max() < 1e-12 or kind == "prismatic"


def test_a_universal_constraint_has_an_axis_on_each_link() -> None:
    cut = constraint("universal", axes=False, more='<parent_axis xyz="1 0 0"/><child_axis xyz="0 0 1"/>')
    loop = lw.loads(tree(cut), base="fixed").constraint("C")
    assert isinstance(loop, lw.constraints.Cardan)
    assert tuple(loop.axis) == (1, 0, 0) and tuple(loop.second_axis) == (0, 0, 1)


def test_what_is_wrong_with_a_constraint_is_said() -> None:
    with pytest.raises(UnsupportedFeature, match="constraint type 'gear' is none of revolute, continuous"):
        lw.loads(tree(constraint("gear")))
    with pytest.raises(TopologyError, match=r"child 'rockr' is no link of this robot.*'rocker'"):
        lw.loads(tree(constraint("fixed").replace('"rocker"', '"rockr"')))
    with pytest.raises(UnsupportedFeature, match="<limit> inside <constraint> is not understood"):
        lw.loads(tree(constraint("fixed", more='<limit lower="0"/>')))


def test_a_loop_joint_of_fusion_exporters_is_a_hinge() -> None:
    points, (axis, _) = ends()
    loop = (
        '<loop_joint name="C" type="revolute"><parent link="coupler"/><child link="rocker"/>'
        f'<parent_origin xyz="{text(points[0])}"/><child_origin xyz="{text(points[1])}"/>'
        f'<axis xyz="{text(axis)}" frame="parent"/></loop_joint>'
    )
    check(lw.loads(tree(loop), base="fixed"))
