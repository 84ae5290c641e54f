# SPDX-License-Identifier: BSD-3-Clause
"""Loops of everything that has some are closed to 1e-12: of all model files, of the zoo, of platforms in any pose."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.closure.assembly import assemble
from linkwork.closure.assembly_problem import AssemblySolution
from linkwork.errors import AssemblyError, ModelWarning
from linkwork.mechanism import Mechanism
from tests.support.robots import EXAMPLES, model_absent, model_files
from tests.support.states import Floats
from tests.zoo.test_zoo import FACTS, made

CLOSED = 1e-12

# Files -------------------------------------------------------------------------------------------------

SAY_LOOPS = (b"<loop", b"<coupling", b"<mimic", b"<equality", b"closing_", b"cassie")


def may_have_loops(path: Path) -> bool:
    if "depth" in path.name and "depth10" not in path.name:  # of the parallel chains some will do
        return False
    beside = path.suffix == ".urdf" and (path.parent / "robot.yaml").is_file()
    return path.is_file() and (beside or any(word in path.read_bytes() for word in SAY_LOOPS))


FILES = {
    f"{path.parent.name}/{path.name}": path
    for path in (
        *model_files("*_nomesh.xml"),
        *model_files("*.urdf"),
        *sorted(EXAMPLES.rglob("cassie*.sdf")),
        EXAMPLES / "panda_description/urdf/panda.urdf",
        EXAMPLES / "talos_data/robots/talos_full_v2.urdf",
    )
    if may_have_loops(path)
}

KANGAROO = "kangaroo_like/robot.urdf"
TALOS = "true_talos_2_legs/talos_full_v2.urdf"
CASSIES = ("robots/cassie_reduced.sdf", "robots/cassie_simple.sdf", "robots/cassie_v2.sdf")

OPEN = {(KANGAROO, "drawn"), (KANGAROO, "middle"), (TALOS, "drawn"), (TALOS, "middle")}
OPEN |= {(name, "middle") for name in CASSIES}
"""What does not close within joint limits; the tests below say why."""


@cache
def load(name: str) -> Mechanism | None:
    """A model, if it is there and loads."""
    if name not in FILES:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            return lw.load(FILES[name])
    except lw.errors.ModelError:
        return None


def need(name: str) -> Mechanism:
    if name not in FILES:
        model_absent(f"no model file {name}")
    robot = load(name)
    if robot is None:
        pytest.skip(f"{name} does not load")
    return robot


def drawn(robot: Mechanism) -> Floats:
    """The pose that the file draws."""
    return np.array(robot.poses.get("qpos0", robot.neutral()))


def middle(robot: Mechanism) -> Floats:
    """Joints that have limits in the middle between them."""
    q = drawn(robot)
    bounded = np.isfinite(robot.lower) & np.isfinite(robot.upper)
    for at in (robot.q_slice(joint.name) for joint in robot.joints if joint.type.nq == joint.type.nv):
        here = np.arange(at.start, at.stop)[bounded[at]]
        q[here] = (robot.lower[here] + robot.upper[here]) / 2
    return q


STARTS = {"drawn": drawn, "middle": middle}


def assert_closed(robot: Mechanism, found: AssemblySolution) -> None:
    assert found.gap <= CLOSED
    assert np.abs(lw.constraint_error(robot, found.q)).max(initial=0.0) <= CLOSED


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("name", FILES)
def test_a_looped_file_closes(name: str, start: str) -> None:
    robot = need(name)
    if not robot.nc or (name, start) in OPEN:
        pytest.skip("no loops, or among those that do not close")
    q = STARTS[start](robot)
    found = assemble(robot, q)
    assert_closed(robot, found)
    if found.iterations:
        plain = [k for j in robot.joints if j.type.nq == j.type.nv for k in range(robot.nq)[robot.q_slice(j.name)]]
        assert (found.q >= robot.lower)[plain].all() and (found.q <= robot.upper)[plain].all()


@pytest.mark.parametrize(
    ("name", "rows", "rank"),
    [
        ("cassie/cassie_nomesh.xml", 12, 10),
        ("robotiq_2f85/2f85_nomesh.xml", 7, 5),
        ("robotiq_2f85_v4/2f85_nomesh.xml", 7, 5),
    ],
)
@pytest.mark.parametrize("start", STARTS)
def test_planar_loops_of_points_are_redundant_in_one_row_each(name: str, rows: int, rank: int, start: str) -> None:
    robot = need(name)
    found = robot.mobility(robot.assemble(STARTS[start](robot)))
    assert (found.rows, found.rank, found.redundancy, found.dof) == (rows, rank, rows - rank, robot.nv - rank)
    assert found.closed
    assert found.conflicting == {}


# Files whose loops do not close --------------------------------------------------------------------------

IMPOSSIBLE = {2, 7, 8, 9, 10}
"""Loops of kangaroo_like that do not close as welds, each of them alone: no pose of their joints has that turn."""


def test_kangaroo_like_closes_as_points_and_not_as_welds() -> None:
    robot = need(KANGAROO)
    points = [
        lw.constraints.Point(c.first, c.second, name=c.name)
        for c in robot.constraints
        if isinstance(c, lw.constraints.Weld)
    ]
    as_points = robot.unconstrained().constrained(*points)
    assert len(points) == 11
    assert_closed(as_points, assemble(as_points))
    for constraint in robot.constraints:
        alone = robot.switched({c.name: c is constraint for c in robot.constraints})
        number = int(constraint.name.split(":")[0].removeprefix("closedloop").split("_")[0])
        if number in IMPOSSIBLE:
            with pytest.raises(AssemblyError):
                alone.assemble(attempts=3)
        else:
            assert np.abs(lw.constraint_error(alone, alone.assemble())[robot.row_slice(constraint.name)]).max() < CLOSED


def test_the_loops_of_kangaroo_like_that_cannot_close_alone_are_named() -> None:
    robot = need(KANGAROO)
    with pytest.raises(AssemblyError, match="even with all others open these do not close: Weld") as caught:
        robot.assemble()
    numbers = {int(name.split(":")[0].removeprefix("closedloop").split("_")[0]) for name in caught.value.alone}
    assert numbers == IMPOSSIBLE
    assert min(caught.value.alone.values()) > 1e-4


def test_the_talos_with_ankle_rods_closes_beyond_the_limits_of_its_cranks() -> None:
    robot = need(TALOS)
    for start in STARTS.values():
        with pytest.raises(AssemblyError, match=r"at their limits: leg_(left|right)_shin_joint"):
            robot.assemble(start(robot), attempts=3)
        with pytest.raises(
            AssemblyError, match=r"Point 'closedloop\d_A:closedloop\d_B' \(.* off, closes with limits=Fa"
        ):
            robot.assemble(start(robot), attempts=3)
        found = assemble(robot, start(robot), limits=False)
        assert_closed(robot, found)
        for side in ("left", "right"):
            at = robot.q_index(f"leg_{side}_shin_joint")
            assert found.q[at] < robot.lower[at] - 0.5


@pytest.mark.parametrize("name", CASSIES)
def test_cassies_of_gazebo_are_drawn_beyond_the_limits_of_their_feet(name: str) -> None:
    """Joints are at zero as drawn, and the limits of two joints a leg count from elsewhere."""
    robot = need(name)
    assert_closed(robot, assemble(robot, robot.neutral()))
    beyond = [j.name for j in robot.joints if j.type.nq == 1 and not j.limits.lower[0] <= 0 <= j.limits.upper[0]]
    assert beyond == [f"{side}-{joint}" for side in ("left", "right") for joint in ("tarsus-crank-joint", "foot-op")]
    with warnings.catch_warnings():  # of cassie_v2 3e-9 stays: its axes are rounded
        warnings.simplefilter("ignore", lw.errors.ModelWarning)
        free = assemble(robot, middle(robot), limits=False)
    assert free.gap <= 1e-8


# The zoo -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in FACTS if name != "2 coupled loops"])
def test_the_zoo_closes_from_neutral(name: str) -> None:
    """Also those that are singular there, all bars in line; two coupled loops take a thousand iterations."""
    assert_closed(made(name), assemble(made(name), made(name).neutral()))


PLATFORMS = {
    "stewart": (zoo.stewart, [f"leg{k}" for k in range(6)]),
    "stewart whose legs spin": (lambda: zoo.stewart("spherical"), [f"leg{k}" for k in range(6)]),
    "delta": (zoo.delta, [f"arm{k}" for k in range(3)]),
    "delta with rods of no mass": (lambda: zoo.delta("rod"), [f"arm{k}" for k in range(3)]),
}
POSES = 8


def workspace(robot: Mechanism, seed: int) -> Floats:
    """A configuration whose platform is anywhere in the workspace: legs follow in closed form."""
    rng = np.random.default_rng(seed)
    if "Stewart" in robot.name:
        where = lw.Placement.rpy(*rng.uniform(-0.5, 0.5, 3), position=rng.uniform([-0.2, -0.2, 0.5], [0.2, 0.2, 0.9]))
        return zoo.stewart_pose(robot, where)
    while True:
        try:
            return zoo.delta_pose(robot, rng.uniform([-0.25, -0.25, -0.75], [0.25, 0.25, -0.42]))
        except lw.errors.InputError:  # out of reach of an arm
            continue


@pytest.mark.parametrize("start", ["neutral", "random"])
@pytest.mark.parametrize("held", ["platform", "motors"])
@pytest.mark.parametrize("name", PLATFORMS)
def test_platforms_close_in_any_pose_of_the_workspace(name: str, held: str, start: str) -> None:
    make, motors = PLATFORMS[name]
    robot = make()
    fixed = ["platform"] if held == "platform" else motors
    for seed in range(POSES):
        goal = workspace(robot, seed)
        q = robot.neutral() if start == "neutral" else robot.random(seed)
        for joint in fixed:
            q[robot.q_slice(joint)] = goal[robot.q_slice(joint)]
        found = assemble(robot, q, fixed=fixed)
        assert_closed(robot, found)
        for joint in fixed:
            np.testing.assert_allclose(found.q[robot.q_slice(joint)], q[robot.q_slice(joint)], rtol=0, atol=1e-15)


@pytest.mark.models
def test_every_looped_file_of_the_collection_is_here() -> None:
    robots = {name: load(name) for name in FILES}
    assert sum(robot is not None and robot.nc > 0 for robot in robots.values()) >= 40
    assert {KANGAROO, TALOS} <= set(FILES)
