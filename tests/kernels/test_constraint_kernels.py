# SPDX-License-Identifier: BSD-3-Clause
"""Rows of constraints against differences of their errors, in all three ways; their work; Pinocchio's rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

import linkwork as lw
from linkwork.mechanism import Mechanism
from linkwork.model.constraints import Pair
from linkwork.model.pairs import NO_TURN
from linkwork.quantities.evaluator import OF_CONSTRAINTS, Evaluator
from tests.support.catalog import NAMES, PAIRS, SEEDS, SIZES, bound, first_turning, free_tree, meets
from tests.support.states import Floats, State, assert_close, random_state

WAYS = ("plain", "native", "specialized")

STEP = 1e-3
DERIVATIVE = 1e-8
"""Of differences of fourth order: truncation h⁴ = 1e-12 times fifth derivatives, up to 1e4 in chains of nine bodies and
for turns that are not far from half a turn."""

AGREEMENT = 1e-13
"""Of the three ways, which differ by where multiplications and additions fuse."""

ROUNDING = float(np.finfo(np.float64).eps)

SINGLE = float(np.finfo(np.float32).eps)
"""Rounding of numbers in single precision."""


@cache
def evaluators(seed: int, way: str) -> dict[str, Evaluator]:
    made = {quantity: Evaluator(bound(seed), quantity) for quantity in OF_CONSTRAINTS}
    if way == "plain":
        return {quantity: evaluator.plain() for quantity, evaluator in made.items()}
    if way == "specialized":
        return {quantity: evaluator.compile(threads=1) for quantity, evaluator in made.items()}
    return made


@cache
def known(seed: int) -> tuple[State, Floats, Floats, Floats, Floats]:
    """A state, and what native code says of it: error, J v, bias, target."""
    s, found = random_state(bound(seed), seed), evaluators(seed, "native")
    at = [found["constraint_bias"](s.q, s.v), found["constraint_target"](s.q, s.v)]
    return s, found["constraint_error"](s.q), found["constraint_jacobian"](s.q) @ s.v, *at


def rate(f: Callable[[float], Any], h: float = STEP) -> Floats:
    """df/dt at t = 0."""
    near, far = np.asarray(f(h)) - np.asarray(f(-h)), np.asarray(f(2 * h)) - np.asarray(f(-2 * h))
    return np.asarray((8 * near - far) / (12 * h))


@cache
def rates(seed: int, way: str) -> tuple[Floats, Floats]:
    """Differences of the errors and of J v while q moves along v."""
    robot, (s, *_), found = bound(seed), known(seed), evaluators(seed, way)
    error = rate(lambda t: found["constraint_error"](robot.integrate(s.q, t * s.v)))
    speed = rate(lambda t: found["constraint_jacobian"](robot.integrate(s.q, t * s.v)) @ s.v)
    return error, speed


def turned(seed: int, name: str, x: Floats) -> Floats:
    """What the turning of the first frame adds to the rate of the vector ``x`` in its axes; zero for other rows."""
    robot, (s, *_) = bound(seed), known(seed)
    constraint = robot.constraint(name)
    extra = np.zeros(constraint.rows)
    if meets(constraint):
        extra[-3:] = np.cross(first_turning(robot, constraint, s.q, s.v), x[robot.row_slice(name)][-3:])
    return extra


each_way = pytest.mark.parametrize("way", WAYS)
each_seed = pytest.mark.parametrize("seed", SEEDS)
each_name = pytest.mark.parametrize("name", NAMES)


@each_way
@each_seed
@each_name
def test_jacobian_times_v_is_the_rate_of_the_error(name: str, seed: int, way: str) -> None:
    s, error, *_ = known(seed)
    rows, held = bound(seed).row_slice(name), np.array(bound(seed).constraint(name).holonomic)
    J = evaluators(seed, way)["constraint_jacobian"](s.q)
    expected = rates(seed, way)[0][rows] + turned(seed, name, error)
    assert_close((J @ s.v)[rows][held], expected[held], DERIVATIVE, scale=1.0)


@each_way
@each_seed
@each_name
def test_bias_is_the_rate_of_jacobian_times_v(name: str, seed: int, way: str) -> None:
    s, _, speed, *_ = known(seed)
    rows = bound(seed).row_slice(name)
    bias = evaluators(seed, way)["constraint_bias"](s.q, s.v)
    assert_close(bias[rows], rates(seed, way)[1][rows] + turned(seed, name, speed), DERIVATIVE, scale=1.0)


@each_seed
@pytest.mark.parametrize("quantity", OF_CONSTRAINTS)
@pytest.mark.parametrize("way", ["native", "specialized"])
def test_the_ways_agree(way: str, quantity: str, seed: int) -> None:
    robot = bound(seed)
    s = random_state(robot, seed, 3)
    arguments = [s.q, s.v][: 2 if quantity in ("constraint_bias", "constraint_target") else 1]
    found = evaluators(seed, way)[quantity](*arguments)
    assert_close(found, evaluators(seed, "plain")[quantity](*arguments), AGREEMENT)


@pytest.mark.parametrize("quantity", OF_CONSTRAINTS)
def test_single_precision_has_its_digits(quantity: str) -> None:
    """Those that rounding of what is given leaves: few where a weld is near half a turn, its error turning quickly."""
    robot = bound(0)
    s = random_state(robot, 0, 19)
    arguments = [s.q, s.v][: 2 if quantity in ("constraint_bias", "constraint_target") else 1]
    fast, exact = Evaluator(robot, quantity).compile(dtype="float32", threads=1), evaluators(0, "native")[quantity]
    right, rng = exact(*arguments), np.random.default_rng(0)
    moved = [exact(*(x * (1 + SINGLE * rng.uniform(-1, 1, x.shape)) for x in arguments)) for _ in range(8)]
    known = np.max([np.abs(x - right) for x in moved], axis=0) + SINGLE * np.abs(right).max()
    assert (np.abs(fast(*arguments) - right) <= 100 * known.max(axis=tuple(range(1, known.ndim)), keepdims=True)).all()


@each_way
@pytest.mark.parametrize("quantity", OF_CONSTRAINTS)
def test_a_batch_is_its_states_one_by_one(quantity: str, way: str) -> None:
    robot, found = bound(1), evaluators(1, way)[quantity]
    s = random_state(robot, 3, 2, 5)
    takes_v = quantity in ("constraint_bias", "constraint_target")
    batch = found(s.q, s.v) if takes_v else found(s.q)
    for k in np.ndindex(2, 5):
        single = found(s.q[k], s.v[k]) if takes_v else found(s.q[k])
        assert_close(batch[k], single, AGREEMENT + 16 * ROUNDING * condition_of_turns(robot, s.q[k]))


def condition_of_turns(robot: Mechanism, q: Floats) -> float:
    """By how much measures of turns amplify rounding: 1 / c² near half a turn, with c = cos(angle / 2)."""
    error = lw.constraint_error(robot, q)
    turns = [
        error[robot.row_slice(c.name)][:3] for c in robot.constraints if isinstance(c, Pair) and c.turns == NO_TURN
    ]
    return max(1.0 / max(1.0 - float(e @ e) / 4.0, 1e-12) for e in turns)


@each_seed
@each_name
def test_target_is_error_and_rate_times_gains(name: str, seed: int) -> None:
    _, error, speed, _, target = known(seed)
    robot = bound(seed)
    rows, (kp, kd) = robot.row_slice(name), robot.constraint(name).gains
    assert_close(target[rows], -kp * error[rows] - kd * speed[rows], 1e-13, scale=1e-3)


def test_a_time_constant_is_critical_damping() -> None:
    constraint = lw.constraints.Weld("a", "b", time_constant=0.02)
    kp, kd = constraint.gains
    assert kp == pytest.approx(2500.0, rel=1e-15)
    assert kd**2 == pytest.approx(4 * kp, rel=1e-15)
    assert lw.constraints.Weld("a", "b").gains == (0.0, 0.0)


def test_the_trees_have_every_joint_type_and_pairs_on_the_world() -> None:
    joints = {type(joint.type) for seed in SEEDS for joint in free_tree(seed).joints}
    assert joints == {
        lw.joints.Revolute,
        lw.joints.Prismatic,
        lw.joints.Helical,
        lw.joints.Universal,
        lw.joints.Spherical,
        lw.joints.Planar,
        lw.joints.Free,
    }
    ends = [(c.first, c.second) for seed in SEEDS for c in bound(seed).constraints if isinstance(c, Pair)]
    assert any(first == "world" for first, _ in ends)
    assert any(second == "world" for _, second in ends)


# Near half a turn ------------------------------------------------------------------------------------

TURNING = [
    kind
    for kind in PAIRS
    if kind
    not in (
        lw.constraints.Point,
        lw.constraints.PointOnLine,
        lw.constraints.PointOnPlane,
        lw.constraints.Rod,
        lw.constraints.Rolling,
    )
]


def turned_by(kind: type[Pair], angle: float) -> tuple[Mechanism, Floats]:
    """One free body under a pair from the world, and a pose in which it is turned about x."""
    build = lw.Builder().body("a", lw.Inertia.sphere(1.0, 0.1)).joint("free", lw.joints.Free(), "world", "a")
    q = np.array([0.1, 0.2, 0.3, np.sin(angle / 2), 0, 0, np.cos(angle / 2)])
    return build.constrain(kind("world", "a", name="pair")).build(), q


@pytest.mark.parametrize("from_half", [1.0, 0.1, -0.03])
@pytest.mark.parametrize("kind", TURNING)
def test_rows_are_rates_near_half_a_turn(kind: type[Pair], from_half: float) -> None:
    """Second derivatives grow as one over the angle that is left: steps and tolerance go with it."""
    robot, q = turned_by(kind, np.pi - from_half)
    v, h = random_state(robot, 4).v, 2e-3 * abs(from_half)
    J = lw.constraint_jacobian(robot, q)
    error = rate(lambda t: lw.constraint_error(robot, robot.integrate(q, t * v)), h)
    speed = rate(lambda t: lw.constraint_jacobian(robot, robot.integrate(q, t * v)) @ v, h)
    assert_close(J @ v, error, 1e-7, scale=1.0)
    assert_close(lw.constraint_bias(robot, q, v), speed, 1e-7, scale=1.0 / abs(from_half))


@each_way
@pytest.mark.parametrize("kind", TURNING)
def test_nothing_is_infinite_at_half_a_turn(kind: type[Pair], way: str) -> None:
    robot, q = turned_by(kind, np.pi)
    q[6] = 0.0
    for quantity in OF_CONSTRAINTS:
        found = Evaluator(robot, quantity)
        found = {"plain": found.plain, "native": lambda f=found: f, "specialized": found.compile}[way]()
        takes_v = quantity in ("constraint_bias", "constraint_target")
        assert np.isfinite(found(q, np.ones(6)) if takes_v else found(q)).all()


# Rows that bind velocities only --------------------------------------------------------------------


def material_velocity(robot: Mechanism, s: State, place: str, point: Floats) -> Floats:
    """Velocity in the world of the point of a body that is at ``point`` now."""
    velocity = lw.frame_velocity(robot, s.q, s.v, place, "aligned")
    return np.asarray(velocity[3:] + np.cross(velocity[:3], point - lw.frame_placement(robot, s.q, place).position))


@each_seed
def test_rolling_rows_are_the_slip_of_the_points_in_contact(seed: int) -> None:
    robot, (s, _, speed, *_) = bound(seed), known(seed)
    rolling = robot.constraint("Rolling")
    a, b = (lw.frame_placement(robot, s.q, place) for place in (rolling.first, rolling.second))
    plane = lw.Placement(a.position, a.rotation) * rolling.frames()[0]
    center = b.position + b.rotation @ rolling.second_at.position
    point = center - rolling.radius * plane.rotation[:, 2]
    ball, floor = (material_velocity(robot, s, place, point) for place in (rolling.second, rolling.first))
    assert_close(speed[robot.row_slice("Rolling")], plane.rotation.T @ (ball - floor), 1e-12, scale=1.0)


@each_seed
@pytest.mark.parametrize("name", ["aligned", "local"])
def test_a_linear_combination_is_matrices_times_frame_velocities(name: str, seed: int) -> None:
    robot, (s, error, speed, *_) = bound(seed), known(seed)
    matrices = robot.constraint(name).matrices
    expected = sum(np.asarray(A) @ lw.frame_velocity(robot, s.q, s.v, place, name) for place, A in matrices.items())
    assert_close(speed[robot.row_slice(name)], expected, 1e-13, scale=1.0)
    np.testing.assert_array_equal(error[robot.row_slice(name)], 0.0)


@each_seed
def test_centres_of_mass_are_those_of_the_bodies(seed: int) -> None:
    robot, (s, error, *_) = bound(seed), known(seed)
    at, axes = robot.constraint("com").at, robot.constraint("com").axes
    off = at.rotation.T @ (lw.center_of_mass(robot, s.q) - at.position)
    assert_close(error[robot.row_slice("com")], off[["xyz".index(axis) for axis in axes]], 1e-13, scale=1.0)
    some = robot.constraint("com of some").bodies
    # An inertia is in the frame of the joint, in which the frame of the body has a place.
    total, moment = 0.0, np.zeros(3)
    for body in some:
        seen, inertia = robot.frames[body].placement.inverse(), robot.inertias[body]
        pose = lw.frame_placement(robot, s.q, body)
        moment += inertia.mass * (pose.rotation @ (seen.rotation @ inertia.com + seen.position) + pose.position)
        total += inertia.mass
    assert_close(error[robot.row_slice("com of some")], moment / total, 1e-13, scale=1.0)


# Work ----------------------------------------------------------------------------------------------


@cache
def floating(seed: int, kind: type[Pair]) -> Mechanism:
    """A random tree on one free body, with a pair between two of its bodies that holds at a random pose."""
    base = (
        lw.Builder("floating")
        .body("base", lw.Inertia.box(2.0, (0.2, 0.3, 0.4)))
        .joint("free", lw.joints.Free(), "world", "base")
    )
    tree = lw.zoo.random_tree(seed, bodies=5, kinds="rphus")
    robot = lw.attach(base.build(), tree, to="base", at=(0.1, 0.2, 0.0), prefix="t")
    rng = np.random.default_rng(seed)
    options = {"axis": rng.normal(size=3)} if hasattr(kind, "axis") and kind is not lw.constraints.Cardan else {}
    pair = kind(
        "t/frame4", "t/frame1", name="pair", first_at=lw.zoo.random_placement(rng), **options, **SIZES.get(kind, {})
    )
    return robot.constrained(pair, at=random_state(robot, seed).q)


def whole(robot: Mechanism) -> Floats:
    """Velocities ``(nv, 6)`` of the whole as a rigid body, translations last, as the base moves."""
    motions = np.zeros((robot.nv, 6))
    base = robot.v_slice("free")
    motions[base.start + 3 : base.start + 6, :3] = motions[base.start : base.start + 3, 3:] = np.eye(3)
    return motions


@each_seed
@pytest.mark.parametrize("kind", PAIRS)
def test_forces_of_a_closed_pair_change_no_momentum_of_the_whole(kind: type[Pair], seed: int) -> None:
    robot = floating(seed, kind)
    q = random_state(robot, seed).q
    J = lw.constraint_jacobian(robot, q)
    assert np.abs(J).max() > 1e-3
    assert_close(J @ whole(robot), np.zeros((robot.nc, 6)), 1e-13, scale=float(np.abs(J).max()))


@each_seed
@pytest.mark.parametrize("kind", PAIRS)
def test_forces_of_an_open_pair_are_equal_and_opposite(kind: type[Pair], seed: int) -> None:
    """Their moments are too, but for vectors whose ends are apart: those turn with the whole."""
    robot = floating(seed, kind)
    q = random_state(robot, seed + 50).q
    found = lw.constraint_jacobian(robot, q) @ whole(robot)
    assert np.abs(lw.constraint_error(robot, q)).max() > 1e-3
    expected = np.zeros((robot.nc, 6))
    pair = robot.constraint("pair")
    if meets(pair):
        apart = lw.constraint_error(robot, q)[-3:]
        for k in range(3):
            expected[-3:, k] = np.cross(first_turning(robot, pair, q, whole(robot)[:, k]), apart)
    assert_close(found, expected, 1e-13, scale=float(np.abs(found).max() + 1.0))


# Peers ---------------------------------------------------------------------------------------------


def projector(A: Floats) -> Floats:
    """Onto the span of the rows."""
    _, s, Vt = np.linalg.svd(A, full_matrices=False)
    rows = Vt[s > 1e-9 * s[0]]
    return np.asarray(rows.T @ rows)


def assert_same_span(ours: Floats, theirs: Floats) -> None:
    assert np.linalg.matrix_rank(ours, tol=1e-9) == np.linalg.matrix_rank(theirs, tol=1e-9)
    assert_close(projector(ours), projector(theirs), 1e-10, scale=1.0)


class Peer(NamedTuple):
    """A pair on a random tree, and the same in Pinocchio."""

    robot: Mechanism
    state: State
    pin: Any
    twin: Any
    model: Any
    data: Any

    def jacobian(self) -> Floats:
        found = self.pin.getConstraintJacobian(self.twin.model, self.twin.data, self.model, self.data)
        return np.asarray(found)[:, self.twin.perm]


def peer(seed: int, kind: type[Pair], closed: bool = False, grounded: bool = False) -> Peer:
    """In a random state, in which the pair may be closed; one of its ends may be the world."""
    pin, twins = pytest.importorskip("pinocchio"), pytest.importorskip("twins")
    rng = np.random.default_rng([seed, 13])
    tree = lw.zoo.random_tree(seed, bodies=7)
    ends = rng.choice(tree.body_names, 2, replace=False).tolist()
    if grounded:
        ends[seed % 2] = "world"
    at = lw.zoo.random_placement(rng), lw.zoo.random_placement(rng)
    s = random_state(tree, seed)
    pair = kind(*ends, first_at=at[0], second_at=at[1], name="pair")
    robot = tree.constrained(pair, at=s.q if closed else None)
    twin = twins.of_mechanism(tree)
    joint = {entry.child: twin.model.getJointId(entry.name) for entry in tree.joints} | {"world": 0}
    where = [pin.SE3(place.rotation, place.position) for place in robot.constraint("pair").frames()]
    contact = pin.ContactType.CONTACT_3D if kind is lw.constraints.Point else pin.ContactType.CONTACT_6D
    model = pin.RigidConstraintModel(contact, twin.model, joint[ends[0]], where[0], joint[ends[1]], where[1], pin.LOCAL)
    data = model.createData()
    pin.computeJointJacobians(twin.model, twin.data, twin._q(s))
    model.calc(twin.model, twin.data, data)
    return Peer(robot, s, pin, twin, model, data)


@pytest.mark.parametrize("grounded", [False, True], ids=["between bodies", "to the world"])
@pytest.mark.parametrize("seed", range(10))
def test_rows_of_an_open_point_span_what_pinocchios_span(seed: int, grounded: bool) -> None:
    there = peer(seed, lw.constraints.Point, grounded=grounded)
    assert_same_span(lw.constraint_jacobian(there.robot, there.state.q), there.jacobian())


@pytest.mark.parametrize("closed, grounded", [(True, False), (True, True), (False, True)], ids=str)
@pytest.mark.parametrize("seed", range(10))
def test_rows_of_a_weld_span_what_pinocchios_span(seed: int, closed: bool, grounded: bool) -> None:
    """Not where it is open between two bodies that move: Pinocchio takes the velocity of both at the first frame."""
    there = peer(seed, lw.constraints.Weld, closed, grounded)
    assert_same_span(lw.constraint_jacobian(there.robot, there.state.q), there.jacobian())


@pytest.mark.parametrize("kind", [lw.constraints.Point, lw.constraints.Weld])
@pytest.mark.parametrize("seed", range(10))
def test_errors_are_pinocchios_placement_of_the_second_frame_in_the_first(seed: int, kind: type[Pair]) -> None:
    there = peer(seed, kind)
    error = lw.constraint_error(there.robot, there.state.q)
    assert_close(error[-3:], np.array(there.data.c1Mc2.translation), 1e-13, scale=1.0)
    if kind is lw.constraints.Weld:
        x, y, z, w = there.pin.Quaternion(there.data.c1Mc2.rotation).coeffs()
        assert_close(error[:3], 2 * np.sign(w) * np.array([x, y, z]), 1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_bias_of_a_point_is_pinocchios_acceleration_of_one_end_seen_from_the_other(seed: int) -> None:
    twins = pytest.importorskip("twins")
    tree = lw.zoo.random_tree(seed, bodies=7)
    robot = tree.constrained(lw.constraints.Point("frame2", "frame5"))
    s = random_state(robot, seed)._replace(a=np.zeros(robot.nv))
    twin = twins.of_mechanism(tree)
    found = dict(zip(twin.frames, twin.frame_acceleration(s, "aligned")[:, 3:], strict=True))
    axes = dict(zip(twin.frames, twin.rotation(s), strict=True))["frame2"]
    assert_close(lw.constraint_bias(robot, s.q, s.v), axes.T @ (found["frame5"] - found["frame2"]), 1e-12, scale=1.0)


MUJOCO = """
<mujoco>
  <option jacobian="dense" gravity="0 0 0"/>
  <compiler angle="radian"/>
  <worldbody>
    <body name="a0" pos="0 0 1">
      <joint name="a0" type="hinge" axis="1 0 0"/><geom size=".1"/>
      <body name="a1" pos=".3 .1 .2">
        <joint name="a1" type="slide" axis="0 1 0"/><geom size=".1"/>
        <body name="a2" pos="0 .2 .3"><joint name="a2" type="hinge" axis="0 0 1"/><geom size=".1"/></body>
      </body>
    </body>
    <body name="b0" pos="1 0 1">
      <joint name="b0" type="hinge" axis="0 1 0"/><geom size=".1"/>
      <body name="b1" pos=".1 .3 .2">
        <joint name="b1" type="hinge" axis="1 0 0"/><geom size=".1"/>
        <body name="b2" pos=".2 0 .3"><joint name="b2" type="slide" axis="1 0 0"/><geom size=".1"/></body>
      </body>
    </body>
  </worldbody>
  <equality>EQUALITY</equality>
</mujoco>
"""


@pytest.mark.parametrize("other", ["b2", "a0", "world"])
@pytest.mark.parametrize("kind", [lw.constraints.Point, lw.constraints.Weld])
@pytest.mark.parametrize("seed", range(3))
def test_rows_of_an_open_pair_span_what_mujocos_span(seed: int, kind: type[Pair], other: str) -> None:
    mujoco = pytest.importorskip("mujoco")
    build = lw.Builder()
    chain = [("a0", lw.joints.Revolute("x"), (0, 0, 1)), ("a1", lw.joints.Prismatic("y"), (0.3, 0.1, 0.2))]
    chain += [("a2", lw.joints.Revolute("z"), (0, 0.2, 0.3)), ("b0", lw.joints.Revolute("y"), (1, 0, 1))]
    chain += [("b1", lw.joints.Revolute("x"), (0.1, 0.3, 0.2)), ("b2", lw.joints.Prismatic("x"), (0.2, 0, 0.3))]
    for name, joint, at in chain:
        build.body(name, lw.Inertia.sphere(1.0, 0.1))
        build.joint(name, joint, "world" if name[1] == "0" else f"{name[0]}{int(name[1]) - 1}", name, at)
    rng = np.random.default_rng(seed)
    near, far = rng.normal(size=(2, 3)).round(3)
    # The point on a connect's second body is where the first's is in the reference pose; that of a weld is its anchor.
    robot = build.build()
    poses = [lw.frame_placement(robot, robot.neutral(), place) for place in ("a2", other)]
    at = [lw.Placement(pose.position, pose.rotation) for pose in poses]
    if kind is lw.constraints.Point:
        text = f'<connect body1="a2" body2="{other}" anchor="{near[0]} {near[1]} {near[2]}"/>'
        ends = {"first_at": near, "second_at": at[1].inverse() * at[0] * lw.Placement(near)}
    else:
        text = f'<weld body1="a2" body2="{other}" anchor="{near[0]} {near[1]} {near[2]}" '
        text += f'relpose="{far[0]} {far[1]} {far[2]} 1 0 0 0"/>'
        ends = {"first_at": far + near, "second_at": near}
    robot = robot.constrained(kind("a2", other, **ends))
    model = mujoco.MjModel.from_xml_string(MUJOCO.replace("EQUALITY", text))
    data = mujoco.MjData(model)
    data.qpos[:] = q = random_state(robot, seed).q
    mujoco.mj_forward(model, data)
    theirs = data.efc_J.reshape(-1, model.nv)[: robot.nc]
    assert_same_span(lw.constraint_jacobian(robot, q), theirs)
