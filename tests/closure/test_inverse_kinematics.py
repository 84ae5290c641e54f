# SPDX-License-Identifier: BSD-3-Clause
"""Inverse kinematics: targets of random closed states are met, loops and limits hold, and words say what is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.closure.inverse_kinematics import _descent_of, _Problem
from linkwork.closure.tasks import Task
from linkwork.kernels.algorithm import resolve
from linkwork.kernels.constrained.inverse_kinematics import INVERSE_KINEMATICS, Problem, row_errors, support_jacobian
from linkwork.kernels.constrained.posture import posture_difference
from linkwork.mechanism import Mechanism
from linkwork.quantities.scales import joint_units
from tests.support import robots
from tests.support.linkages import five_bar, four_bar, rssr
from tests.support.states import Floats

SEED = 7


def closed_states(robot: Mechanism, count: int, seed: int = SEED, held: tuple[str, ...] = ()) -> Floats:
    """Random configurations within limits, loops closed, with joints that are ``held`` where they are drawn."""
    q = robot.random(seed, count)
    for name in held:
        q[:, robot.q_slice(name)] = robot.neutral()[robot.q_slice(name)]
    try:
        return robot.assemble(q, held)
    except lw.errors.AssemblyError as error:
        assert error.q is not None and error.closed is not None
        return error.q[error.closed]


def pose_tasks(robot: Mechanism, q: Floats, *frames: str) -> list[Task]:
    """The poses that frames have at ``q``."""
    return [lw.tasks.FrameTask(name, lw.frame_placement(robot, q, name)) for name in frames]


def arm() -> Mechanism:
    """A tree with all kinds of joints that stand on others, a screw on a branch of its own."""
    build = lw.Builder("arm")
    parent = "world"
    kinds = [
        lw.joints.Revolute("z"),
        lw.joints.Universal("x", "y"),
        lw.joints.Prismatic((1, 0, 1)),
        lw.joints.Revolute((0, 1, 1)),
        lw.joints.Spherical(),
    ]
    for k, kind in enumerate(kinds):
        build.body(f"b{k}", lw.Inertia.box(1.0 + k, (0.1, 0.2, 0.3), com=(0.1, 0.05, 0.2)))
        build.joint(f"j{k}", kind, parent, f"b{k}", lw.Placement.rpy(0.1 * k, 0.3, -0.2, position=(0.3, 0.1, 0.2)))
        parent = f"b{k}"
    build.body("side", lw.Inertia.sphere(2.0, 0.1))
    build.joint("screw", lw.joints.Helical("y", pitch=0.3), "b1", "side", at=(0.0, 0.2, 0.4))
    return build.build().with_frame("tool", "b4", lw.Placement.rpy(0.2, -0.5, 1.0, position=(0.1, 0.0, 0.3)))


def floating() -> Mechanism:
    """A tree on a free joint, with a planar joint."""
    build = lw.Builder("floating").body("base", lw.Inertia.box(3.0, (0.3, 0.2, 0.1)))
    build.joint("free", lw.joints.Free(), "world", "base").body("table", lw.Inertia.box(1.0, (0.2, 0.2, 0.1)))
    build.joint("slide", lw.joints.Planar(), "base", "table", at=(0.1, 0.2, 0.3)).body(
        "hand", lw.Inertia.sphere(0.5, 0.1)
    )
    return build.joint("wrist", lw.joints.Revolute((1, 1, 0)), "table", "hand", at=(0.2, 0.0, 0.1)).build()


SMALL: dict[str, tuple[Any, tuple[str, ...]]] = {
    "arm": (arm, ("tool", "side")),
    "floating": (floating, ("hand", "base")),
    "four-bar that floats": (lambda: four_bar(base=True), ("rocker", "coupler")),
    "RSSR": (rssr, ("bar",)),
    "Stewart platform": (lw.zoo.stewart, ("platform",)),
}


@pytest.mark.parametrize("name", SMALL)
def test_jacobian_of_rows_is_the_derivative_of_their_errors(name: str) -> None:
    made, frames = SMALL[name]
    robot = made()
    q = robot.random(1)
    goal = robot.integrate(q, 0.5 * np.random.default_rng(2).normal(size=robot.nv))
    tasks = [*pose_tasks(robot, goal, *frames), lw.tasks.CenterOfMassTask(lw.center_of_mass(robot, goal))]
    problem = _Problem(robot, tasks, (), False, 1e-9)
    tree = problem.descent.program.tree
    work = INVERSE_KINEMATICS.work_type(*(np.zeros(resolve(s, tree)) for s in INVERSE_KINEMATICS.work.values()))
    _, targets, posture = problem.arrays(q)
    given = [np.zeros(resolve(shape, tree)) for shape in INVERSE_KINEMATICS.inputs.values()]
    kernel_problem = Problem(*given)._replace(
        q=q, targets=targets, row_scale=np.ones(tree.nrows), joint_scale=np.ones(robot.nv), posture=posture
    )

    def errors(at: Floats) -> Floats:
        row_errors(tree, work, at, kernel_problem)
        return work.e.copy()

    row_errors(tree, work, q, kernel_problem)
    support_jacobian(tree, work, kernel_problem)
    J = work.J.copy()
    step = 1e-6 * np.eye(robot.nv)
    difference = np.array([errors(robot.integrate(q, d)) - errors(robot.integrate(q, -d)) for d in step]).T / 2e-6
    # rows of loops are those of assembly, tested there: off the loop, they are not derivatives of all their errors
    rows = slice(tree.nc, None)
    assert np.abs(J - difference)[rows].max() < 1e-8 * max(1.0, np.abs(difference).max())


@pytest.mark.parametrize("name", ["arm", "floating"])
def test_gradient_of_the_distance_from_a_posture(name: str) -> None:
    robot = SMALL[name][0]()
    tree = _Problem(robot, [lw.tasks.CenterOfMassTask((0, 0, 0))], (), False, 1e-9).descent.program.tree
    work = INVERSE_KINEMATICS.work_type(*(np.zeros(resolve(s, tree)) for s in INVERSE_KINEMATICS.work.values()))
    q, posture, ones = robot.random(3), robot.random(4), np.ones(robot.nv)

    def half_square(at: Floats) -> float:
        return float(posture_difference(tree, work, at, posture, ones, ones))

    step = 1e-6 * np.eye(robot.nv)
    slope = [(half_square(robot.integrate(q, d)) - half_square(robot.integrate(q, -d))) / 2e-6 for d in step]
    half_square(q)
    assert np.abs(work.p - slope).max() < 1e-7 * np.abs(slope).max()


def test_backends_agree_and_states_do_not_know_their_neighbors() -> None:
    robot = lw.zoo.stewart()
    goal, start = closed_states(robot, 9), closed_states(robot, 9, seed=1)
    tasks = pose_tasks(robot, goal, "platform")
    batch = robot.inverse_kinematics(*tasks, q=start)
    assert batch.converged.all() and batch.q.shape == (9, robot.nq) and batch.iterations.shape == (9,)
    one = robot.inverse_kinematics(
        lw.tasks.FrameTask("platform", lw.frame_placement(robot, goal[3], "platform")), q=start[3]
    )
    assert one.converged is True and one.iterations == batch.iterations[3] and one.attempts == 1
    assert np.abs(robot.difference(one.q, batch.q[3])).max() < 1e-8
    problem = _Problem(robot, tasks, (), True, 1e-9)
    begin, targets, posture = problem.arrays(start)
    settings = np.array([1.0, 3.0, 0.0, 1.0])
    shared = (problem.row_scale, problem.soft * 1.0, problem.tolerance, problem.mobile, problem.lower, problem.upper)
    given = (begin[0], targets[0], *shared, posture[0], np.zeros(robot.nv), settings)
    native, plain = problem.descent(*given), problem.descent.plain()(*given)
    for x, y in zip(native, plain, strict=True):
        assert np.abs(x - y).max() < 1e-8 * max(1.0, np.abs(y).max())
    assert _descent_of(robot, ("platform",), ((0, 0), (1, 0))) is problem.descent


REACHED = {
    "Stewart platform": (lw.zoo.stewart, ("platform",), (), 100),
    "five-bar": (five_bar, ("right2",), (), 100),
    "four-bar that floats": (lambda: four_bar(base=True), ("rocker",), (), 100),
}


@pytest.mark.parametrize("name", REACHED)
def test_targets_of_random_closed_states_are_met(name: str) -> None:
    made, frames, held, count = REACHED[name]
    assert_reached(made(), frames, held, count, least=0.99)


@pytest.mark.parametrize(
    ("file", "feet"),
    [
        ("cassie/cassie.xml", ("left-foot", "right-foot")),
        ("digit/digit-v3.xml", ("left-toe-roll", "right-toe-roll")),
    ],
    ids=["Cassie", "Digit"],
)
@pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning")
def test_feet_come_to_where_random_closed_states_have_them(file: str, feet: tuple[str, ...]) -> None:
    robot = lw.load(robots.model_file(file))
    assert_reached(robot, feet, (robot.joints[0].name,), 100, least=0.95)


def assert_reached(robot: Mechanism, frames: tuple[str, ...], held: tuple[str, ...], count: int, least: float) -> None:
    goal = closed_states(robot, count, held=held)
    start = robot.random(1, len(goal))
    for name in held:
        start[:, robot.q_slice(name)] = goal[:, robot.q_slice(name)]
    found = robot.inverse_kinematics(*pose_tasks(robot, goal, *frames), q=start, fixed=held)
    assert found.converged.mean() >= least, found.message
    q = found.q[found.converged]
    assert ((q >= robot.lower) & (q <= robot.upper)).all()
    assert np.abs(lw.constraint_error(robot, q)).max() < 1e-11
    for name in frames:
        here, there = lw.frame_placement(robot, q, name), lw.frame_placement(robot, goal[found.converged], name)
        assert np.abs(here.position - there.position).max() < 1e-8
        assert np.abs(here.rotation - there.rotation).max() < 1e-8
    for name in held:
        assert np.array_equal(q[:, robot.q_slice(name)], goal[found.converged][:, robot.q_slice(name)])


def test_posture_is_the_nearest_of_all_that_meet_the_targets() -> None:
    robot = arm()
    goal = robot.random(1, 20)
    posture = robot.integrate(goal, 0.5 * np.random.default_rng(2).normal(size=(20, robot.nv)))
    task = lw.tasks.FrameTask("tool", position=lw.frame_placement(robot, goal, "tool").position)
    weight = {"j0": 1.0, "j1": 2.0, "j2": 3.0, "j3": 4.0}
    found = robot.inverse_kinematics(task, lw.tasks.PostureTask(posture, weight), q=goal)
    assert found.converged.all(), found.message
    # the gradient of the distance is a combination of the rows that hold the position
    by_joint = np.concatenate([np.full(joint.type.nv, weight.get(joint.name, 0.0)) for joint in robot.joints])
    gradient = robot.difference(posture, found.q) * by_joint / joint_units(robot) ** 2
    J = lw.frame_jacobian(robot, found.q, "tool", "aligned")[:, 3:]
    for g, rows in zip(gradient, J, strict=True):
        left = g - rows.T @ np.linalg.lstsq(rows.T, g, rcond=None)[0]
        assert np.abs(left).max() < 1e-5  # a step of 1e-7 is where it ends, by the curvature of rows and weights


@pytest.mark.parametrize("robot", [lw.zoo.pendulum(2), lw.zoo.four_bar()], ids=lambda robot: robot.name)
def test_a_posture_alone_is_the_nearest_with_loops_closed(robot: Mechanism) -> None:
    q = np.full(robot.nq, 0.3)
    found = robot.inverse_kinematics(lw.tasks.PostureTask(q))
    assert found.converged and np.abs(lw.constraint_error(robot, found.q)).max(initial=0.0) < 1e-9
    rows = lw.constraint_jacobian(robot, found.q)
    gradient = (found.q - q) / joint_units(robot) ** 2
    left = gradient - rows.T @ np.linalg.lstsq(rows.T, gradient, rcond=1e-8)[0] if robot.nc else gradient
    assert np.abs(left).max() < 1e-5


def test_weights_share_what_cannot_be_met_and_loops_stay_closed() -> None:
    robot = lw.zoo.stewart()
    q = robot.poses["assembled"]
    up = lw.frame_placement(robot, q, "platform").position + np.array([0.0, 0.0, 0.1])
    center = lw.center_of_mass(robot, q)
    misses = []
    for weight in (0.1, 1.0, 10.0):
        found = robot.inverse_kinematics(
            lw.tasks.FrameTask("platform", position=up, position_weight=weight),
            lw.tasks.CenterOfMassTask(center),
            q=q,
            attempts=1,
        )
        assert not found.converged and np.max(found.gap) < 1e-11
        misses.append(float(np.linalg.norm(found.errors["platform"])))
    assert misses[0] > 3 * misses[1] > 9 * misses[2]


def test_axes_without_weight_are_free() -> None:
    robot = lw.zoo.stewart()
    q = robot.poses["assembled"]
    aim = lw.center_of_mass(robot, q) + np.array([0.05, 0.02, 7.0])
    found = robot.inverse_kinematics(lw.tasks.CenterOfMassTask(aim, weight=(1, 1, 0)), q=q)
    assert found.converged and np.abs(lw.center_of_mass(robot, found.q) - aim)[:2].max() < 1e-8
    assert np.array_equal(found.errors["center_of_mass"][2:], [0.0])


def test_a_batch_without_states_has_as_many_results() -> None:
    found = four_bar().inverse_kinematics(lw.tasks.FrameTask("rocker", position=np.zeros((2, 0, 3))))
    assert found.q.shape == (2, 0, 3) and found.errors["rocker"].shape == (2, 0, 3) and found.converged.shape == (2, 0)


def test_what_is_out_of_reach_is_said() -> None:
    robot = four_bar(lower=-0.5, upper=0.5)
    far = lw.tasks.FrameTask("rocker", position=(0.0, 0.0, 5.0))
    found = robot.inverse_kinematics(far, attempts=3)
    assert not found.converged and found.attempts == 3
    assert found.message.startswith("loops closed, but 'rocker' stays 5.1 m from its target after 3 attempts")
    turned = lw.tasks.FrameTask("crank", orientation=lw.Placement.rpy(0, 1.5, 0).rotation)
    found = robot.inverse_kinematics(turned, attempts=3)
    assert "'crank' stays 1 rad from its target" in found.message
    assert "at their limits: j1 (limits=False lets them pass)" in found.message
    assert robot.inverse_kinematics(turned, limits=False).converged
    two = np.array([(1.0, 0.0, 0.0), (0.0, 0.0, 5.0)])
    found = robot.inverse_kinematics(lw.tasks.FrameTask("rocker", position=two), attempts=2)
    assert found.converged.tolist() == [True, False]
    assert found.message.startswith(
        "1 of 2 states did not converge; in state (1) loops closed, but 'rocker' stays 5.1 m"
    )


def test_wrong_arguments_are_errors_in_words() -> None:
    robot = lw.zoo.stewart()
    here = lw.tasks.FrameTask("platform", position=(0, 0, 1))
    with pytest.raises(lw.errors.InputError, match=r"at least one FrameTask.*; found none"):
        robot.inverse_kinematics()
    with pytest.raises(lw.errors.InputError, match="two tasks on 'platform'"):
        robot.inverse_kinematics(here, here)
    with pytest.raises(lw.errors.InputError, match="has no target"):
        lw.tasks.FrameTask("platform")
    with pytest.raises(lw.errors.InputError, match="not both"):
        lw.tasks.FrameTask("platform", lw.Placement(), position=(0, 0, 1))
    with pytest.raises(lw.errors.InputError, match=r"position has shape \(2,\)"):
        lw.tasks.CenterOfMassTask((0, 1))
    with pytest.raises(lw.errors.InputError, match="position_weight is -1"):
        lw.tasks.FrameTask("platform", position=(0, 0, 1), position_weight=-1)
    with pytest.raises(lw.errors.InputError, match="all weights of targets are 0"):
        robot.inverse_kinematics(lw.tasks.CenterOfMassTask((0, 0, 1), weight=0))
    with pytest.raises(lw.errors.InputError, match="all weights of the posture are 0"):
        robot.inverse_kinematics(here, lw.tasks.PostureTask(robot.neutral(), {}))
    with pytest.raises(lw.errors.InputError, match="leading axes do not broadcast"):
        robot.inverse_kinematics(lw.tasks.FrameTask("platform", position=np.zeros((3, 3))), q=robot.random(0, 2))
    with pytest.raises(lw.errors.UnknownName, match="no frame 'platfrom'"):
        robot.inverse_kinematics(lw.tasks.FrameTask("platfrom", position=(0, 0, 1)))
    with pytest.raises(lw.errors.InputError, match="attempts is 0"):
        robot.inverse_kinematics(here, attempts=0)
