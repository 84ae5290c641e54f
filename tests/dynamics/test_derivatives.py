# SPDX-License-Identifier: BSD-3-Clause
"""Jacobians of forward and inverse dynamics of trees, and the regressor: exact, on all joints and backends."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.dynamics.jacobians.trees import ForwardDerivatives, InverseDerivatives
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.mechanism import Mechanism
from tests.support.dual_numbers import coordinate_rates, directional
from tests.support.states import Floats, assert_close, random_state
from tests.support.units import Units, scaled

SEEDS = range(10)
ROUNDING = 1e-11
"""Rounding errors of two ways to the same number, relative to the largest: the condition number of M is below 1e5."""

ZOO: dict[str, Callable[[], Mechanism]] = {
    "pendulum": lambda: lw.zoo.pendulum(3),
    "humanoid": lw.zoo.humanoid,
    "four-bar": lw.zoo.four_bar,
    "five-bar": lw.zoo.five_bar,
    "slider-crank": lw.zoo.slider_crank,
    "jansen": lw.zoo.jansen,
    "watt": lw.zoo.watt,
    "stewart": lw.zoo.stewart,
    "delta": lw.zoo.delta,
    "ladder": lambda: lw.zoo.ladder(2),
    "chain of loops": lambda: lw.zoo.chain_of_loops(2),
    "star of loops": lambda: lw.zoo.star_of_loops(3),
    "stalk": lambda: lw.zoo.stalk(2, 3),
    "geared chain": lambda: lw.zoo.geared_chain(4),
    "belt chain": lambda: lw.zoo.belt_chain(4),
    "swimmer": lw.zoo.swimmer,
    "boxes": lambda: lw.zoo.stack(3),
    "random loops": lambda: lw.zoo.random_loops(3),
}


@cache
def tree(seed: int) -> Mechanism:
    """A random tree over all joint types; odd seeds with armature."""
    return lw.zoo.random_tree(seed, bodies=1 + seed % 7, armature=seed % 2 == 1)


def columns(function: Callable[[Floats], Floats], n: int) -> Floats:
    """The matrix of a linear function of n numbers."""
    return np.stack([function(unit) for unit in np.eye(n)], axis=-1)


def difference(f: Callable[[float], Any], h: float = 1e-3) -> Floats:
    """df/dt at t = 0, by differences of fourth order."""
    near, far = np.asarray(f(h)) - np.asarray(f(-h)), np.asarray(f(2 * h)) - np.asarray(f(-2 * h))
    return np.asarray((8 * near - far) / (12 * h))


def sprung() -> Mechanism:
    """An arm with springs, dampers and armature."""
    b = lw.Builder("sprung")
    parent = "world"
    for k, kind in enumerate(
        (lw.joints.Revolute("y"), lw.joints.Prismatic("x"), lw.joints.Universal(), lw.joints.Revolute("z"))
    ):
        b.body(f"link {k}", lw.Inertia.box(1.0 + k, (0.1, 0.2, 0.3), com=(0.1, 0.05, 0.2)))
        n = kind.nv
        b.joint(
            f"joint {k}",
            kind,
            parent,
            f"link {k}",
            at=(0.1, 0.2, 0.3),
            stiffness=[2.0 + k] * n,
            damping=[0.5 + k] * n,
            armature=[0.1] * n,
        )
        parent = f"link {k}"
    return b.build()


# Exact derivatives of the plain text ------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_jacobians_are_those_of_the_text_on_dual_numbers(seed: int) -> None:
    robot = tree(seed)
    s = random_state(robot, seed)
    frames = robot.body_names[-2:]
    W = np.random.default_rng(seed).normal(size=(len(frames), 6))
    inverse, forward = lw.InverseDynamics(robot, "rnea", wrenches=frames), lw.ForwardDynamics(robot, wrenches=frames)
    zero, zero_w, zero_q = np.zeros(robot.nv), np.zeros_like(W), np.zeros(robot.nq)

    def by_q(program: Any, last: Floats) -> Floats:
        return columns(
            lambda d: directional(program, (s.q, s.v, last, W), (coordinate_rates(robot, s.q, d), zero, zero, zero_w))[
                0
            ],
            robot.nv,
        )

    def by_v(program: Any, last: Floats) -> Floats:
        return columns(lambda d: directional(program, (s.q, s.v, last, W), (zero_q, d, zero, zero_w))[0], robot.nv)

    i = inverse.derivatives(s.q, s.v, s.a, W)
    assert_close(i.dtau_dq, by_q(inverse.program, s.a), ROUNDING)
    assert_close(i.dtau_dv, by_v(inverse.program, s.a), ROUNDING)
    assert_close(i.dtau_da, lw.mass_matrix(robot, s.q), ROUNDING)
    assert_close(i.tau, inverse(s.q, s.v, s.a, W), ROUNDING)
    f = forward.derivatives(s.q, s.v, s.tau, W)
    assert_close(f.da_dq, by_q(forward.program, s.tau), ROUNDING)
    assert_close(f.da_dv, by_v(forward.program, s.tau), ROUNDING)
    assert_close(f.da_dtau @ i.dtau_da, np.eye(robot.nv), ROUNDING)
    assert_close(f.a, forward(s.q, s.v, s.tau, W).acceleration, ROUNDING)


def test_springs_and_dampers_are_part_of_inverse_dynamics_if_asked_for() -> None:
    robot = sprung()
    s = random_state(robot, 0)
    for passive in (True, False):
        inverse = lw.InverseDynamics(robot, passive=passive)
        found = inverse.derivatives(s.q, s.v, s.a)
        by_q = columns(lambda d: difference(lambda t: inverse(s.q + t * d, s.v, s.a)), robot.nv)  # noqa: B023
        by_v = columns(lambda d: difference(lambda t: inverse(s.q, s.v + t * d, s.a)), robot.nv)  # noqa: B023
        assert_close(found.dtau_dq, by_q, 1e-8)
        assert_close(found.dtau_dv, by_v, 1e-8)
        assert_close(found.tau, inverse(s.q, s.v, s.a), ROUNDING)


# Relations ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ZOO)
def test_forward_and_inverse_jacobians_belong_together_on_the_trees_of_the_zoo(name: str) -> None:
    """And both to what they are derivatives of, in a random direction."""
    robot = ZOO[name]()
    s = random_state(robot, 3)
    forward, inverse = ForwardDerivatives(robot), InverseDerivatives(robot, passive=False)
    f = forward(s.q, s.v, s.tau)
    i = inverse(s.q, s.v, f.a)
    size = np.linalg.cond(i.dtau_da) * np.finfo(float).eps * 100.0
    assert_close(f.da_dq, -np.linalg.solve(i.dtau_da, i.dtau_dq), size, scale=1e-9)
    assert_close(f.da_dv, -np.linalg.solve(i.dtau_da, i.dtau_dv), size, scale=1e-9)
    assert_close(f.da_dtau @ i.dtau_da, np.eye(robot.nv), size)
    assert_close(i.tau, s.tau, size, scale=np.abs(i.dtau_da).max() * np.abs(f.a).max())
    d, e, h = np.random.default_rng(5).normal(size=(3, robot.nv))
    torque = lw.InverseDynamics(robot, "rnea", passive=False)
    expected = difference(lambda t: torque(robot.integrate(s.q, t * d), s.v + t * e, f.a + t * h))
    assert_close(i.dtau_dq @ d + i.dtau_dv @ e + i.dtau_da @ h, expected, 1e-8, scale=np.abs(i.dtau_dq).max())


@pytest.mark.parametrize("seed", SEEDS)
def test_a_robot_that_floats_does_not_feel_where_it_is(seed: int) -> None:
    """Columns of its base: none by position, and by a steady velocity only that of the turning axes."""
    base = lw.Builder("floating")
    base.body("base", lw.Inertia.box(2.0, (0.2, 0.3, 0.4), com=(0.05, 0, 0.1)))
    base.joint("free", lw.joints.Free(), "world", "base")
    robot = lw.attach(base.build(), lw.zoo.random_tree(seed, bodies=4, kinds="rphus"), to="base", prefix="arm")
    s = random_state(robot, seed)
    found = lw.ForwardDynamics(robot).derivatives(s.q, s.v, s.tau)
    assert not found.da_dq[:, :3].any()
    size = np.abs(found.da_dv).max()
    omega = s.v[3:6]
    expected = np.zeros((robot.nv, 3))
    expected[:3] = -np.cross(omega, np.eye(3), axisb=0, axisc=0)
    assert_close(found.da_dv[:, :3], expected, ROUNDING, scale=size)
    assert_close(found.da_dq[6:, 3:6], np.zeros((robot.nv - 6, 3)), ROUNDING, scale=np.abs(found.da_dq).max())
    far = s.q.copy()
    far[:3] += 1e6  # the common frame travels along: not a digit is lost
    there = lw.ForwardDynamics(robot).derivatives(far, s.v, s.tau)
    for x, y in zip(found, there, strict=True):
        assert_close(x, y, ROUNDING)


@pytest.mark.parametrize("seed", SEEDS)
def test_jacobians_scale_with_units(seed: int) -> None:
    robot = tree(seed)
    s, units = random_state(robot, seed), Units(robot, 1e3, 1e-3, 1e3)
    other = scaled(robot, 1e3, 1e-3, 1e3)
    f = lw.ForwardDynamics(robot).derivatives(s.q, s.v, s.tau)
    g = lw.ForwardDynamics(other).derivatives(units.q(s.q), units.v(s.v), units.tau(s.tau))
    rate = units.motions[:, None] / units.time**2
    ratios = {
        "da_dq": rate / units.motions,
        "da_dv": rate / (units.motions / units.time),
        "da_dtau": rate / units.tau(np.ones(robot.nv)),
    }
    for name, ratio in ratios.items():
        assert_close(getattr(g, name) / ratio, getattr(f, name), 1e-10)


# The regressor --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_torques_are_the_regressor_times_inertial_parameters(seed: int) -> None:
    robot = tree(seed)
    s, batch = random_state(robot, seed), random_state(robot, seed, 3)
    inverse = lw.InverseDynamics(robot)
    Y = inverse.regressor(s.q, s.v, s.a)
    rest = robot.armature * s.a - lw.passive_forces(robot, s.q, s.v)
    assert Y.shape == (robot.nv, 10 * len(robot.body_names))
    assert_close(Y @ robot.parameters["inertial_parameters"].ravel() + rest, inverse(s.q, s.v, s.a), ROUNDING)
    many = inverse.regressor(batch.q, batch.v, batch.a)
    assert_close(many[1], inverse.regressor(batch.q[1], batch.v[1], batch.a[1]), ROUNDING)
    assert_close(inverse.plain().regressor(s.q, s.v, s.a), Y, ROUNDING)
    out = np.empty_like(many)
    assert inverse.regressor(batch.q, batch.v, batch.a, out=out) is out
    assert_close(out, many, ROUNDING)


# Backends and calls -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [3, 8])
@pytest.mark.parametrize("make", [lw.ForwardDynamics, lw.InverseDynamics])
def test_backends_batches_and_bound_calls_agree(make: Any, seed: int) -> None:
    robot = tree(seed)
    s, batch = random_state(robot, seed), random_state(robot, seed, 11)
    whole = make(robot)
    last = "tau" if make is lw.ForwardDynamics else "a"
    x, X = getattr(s, last), getattr(batch, last)
    native = whole.derivatives(s.q, s.v, x)
    for other in (
        whole.plain().derivatives,
        whole.compile().derivatives,
        pickle.loads(pickle.dumps(whole.derivatives)),
    ):
        for a, b in zip(other(s.q, s.v, x), native, strict=True):
            assert_close(a, b, ROUNDING)
    assert whole.compile().derivatives.backend == "specialized"
    assert whole.derivatives is whole.derivatives
    many, program = whole.derivatives(batch.q, batch.v, X), whole.compile().derivatives(batch.q, batch.v, X)
    for k in (0, 7, 10):
        for a, b, c in zip(many, whole.derivatives(batch.q[k], batch.v[k], X[k]), program, strict=True):
            assert_close(a[k], b, ROUNDING)
            assert_close(c[k], b, ROUNDING)
    out = tuple(np.empty_like(y) for y in native)
    whole.derivatives.bind(s.q, s.v, x, out=out)()
    for a, b in zip(out, native, strict=True):
        assert_close(a, b, ROUNDING)
    given = tuple(np.empty_like(y) for y in many)
    assert whole.derivatives(batch.q, batch.v, X, out=given)[0] is given[0]
    assert_close(given[1], many[1], ROUNDING)
    single = whole.derivatives(*(y.astype(np.float32) for y in (s.q, s.v, x)))
    for a, b in zip(single, native, strict=True):
        assert a.dtype == np.float32
        assert_close(a, b, 1e-3)


@pytest.mark.parametrize("method", ["auto", "cluster", "least"])
def test_inverse_dynamics_that_honors_loops_has_jacobians(method: Any) -> None:
    """Along motions that keep loops closed, against differences; and the inverse of forward dynamics."""
    robot = lw.zoo.four_bar()
    rng, h, m = np.random.default_rng(0), 1e-4, lw.Minimal(robot)
    q = robot.assemble(robot.neutral() + 0.2)
    rate, rate2 = rng.normal(size=(2, 1))
    v = m.velocity(q, rate)
    a = m.acceleration(q, v, rate2)
    inverse = lw.InverseDynamics(robot, method).plain()
    J = inverse.derivatives(q, v, a)
    assert_close(J.tau, inverse(q, v, a), ROUNDING)

    def torques(t: float) -> Any:
        at = m.complete(robot.integrate(q, t * v))
        moved = m.velocity(at, rate)
        return inverse(at, moved, m.acceleration(at, moved, rate2)), moved, m.acceleration(at, moved, rate2)

    def along(k: int) -> Any:
        one, two, three, four = (torques(t)[k] for t in (h, -h, 2 * h, -2 * h))
        return (8 * (one - two) - (three - four)) / (12 * h)

    assert_close(J.dtau_dq @ v + J.dtau_dv @ along(1) + J.dtau_da @ along(2), along(0), 1e-8)
    out = [np.empty_like(x) for x in J]
    inverse.derivatives.bind(q, v, a, out=out)()
    for x, y in zip(out, J, strict=True):
        np.testing.assert_array_equal(x, y)


LINEAR = ("inertial_parameters", "armature", "damping", "stiffness", "friction")


@pytest.mark.parametrize("seed", SEEDS)
def test_torques_are_the_regressor_times_all_linear_parameters(seed: int) -> None:
    """Inverse dynamics has springs, dampers and armatures; dry friction opposes the motion."""
    robot, rng = tree(seed), np.random.default_rng(seed)
    plain = np.concatenate([np.full(j.type.nv, float(j.type.nq == j.type.nv)) for j in robot.joints])
    given = {name: rng.uniform(0.1, 2.0, robot.nv) for name in ("armature", "damping", "friction")}
    robot = robot.with_parameters(**given, stiffness=plain * rng.uniform(0.1, 2.0, robot.nv))
    s, inverse = random_state(robot, seed, 3), lw.InverseDynamics(robot, "rnea")
    wanted = inverse(s.q, s.v, s.a) + robot.friction * np.sign(s.v)
    for names in (LINEAR, LINEAR[::-1], LINEAR[2:4] + LINEAR[:1] + LINEAR[4:] + LINEAR[1:2]):
        Y = inverse.regressor.of(*names)
        pi = np.concatenate([robot.parameters[name].ravel() for name in names])
        assert_close(Y(s.q, s.v, s.a) @ pi, wanted, ROUNDING)
    for other in (Y.plain(), pickle.loads(pickle.dumps(Y)), Y.of(*Y.columns)):
        assert_close(other(s.q[0], s.v[0], s.a[0]), Y(s.q, s.v, s.a)[0], ROUNDING)
    alone = inverse.regressor.of("friction")(s.q, 0 * s.v, s.a)
    np.testing.assert_array_equal(alone, np.zeros((3, robot.nv, robot.nv)))


def test_a_regressor_of_joints_is_compiled_and_bound() -> None:
    robot = lw.zoo.pendulum(2)
    s, inverse = random_state(robot, 0), lw.InverseDynamics(robot)
    Y = inverse.compile().regressor.of(*LINEAR)
    assert Y.backend == "specialized"
    out = np.empty((2, 28))
    Y.bind(s.q, s.v, s.a, out=out)()
    assert_close(out, inverse.regressor.of(*LINEAR)(s.q, s.v, s.a), ROUNDING)


def test_what_cannot_be_derived_is_refused() -> None:
    bar, arm = lw.zoo.four_bar(), lw.zoo.pendulum(2)
    box = lw.zoo.sliding_box()
    with pytest.raises(UnsupportedFeature, match="with contacts chooses forces within cones of friction"):
        _ = lw.InverseDynamics(box, contacts=True).derivatives
    with pytest.raises(UnsupportedFeature, match="inverse dynamics by 'cluster' has no regressor"):
        _ = lw.InverseDynamics(bar).regressor
    s = random_state(arm, 0)
    with pytest.raises(InputError, match=r"q has 3 numbers, robot .* needs 2"):
        lw.ForwardDynamics(arm).derivatives(np.zeros(3), s.v, s.tau)
    with pytest.raises(InputError, match=r"out for Y has shape \(2, 10\), needs \(2, 20\)"):
        lw.InverseDynamics(arm).regressor(s.q, s.v, s.a, out=np.empty((2, 10)))
    with pytest.raises(InputError, match=r"no columns for 'gravity'; there are inertial_parameters, armature"):
        lw.InverseDynamics(arm).regressor.of("armature", "gravity")
    with pytest.raises(InputError, match="each once; found armature, armature"):
        lw.InverseDynamics(arm).regressor.of("armature", "armature")


# Growth -------------------------------------------------------------------------------------------------------


def test_operations_of_inverse_jacobians_grow_with_joints_times_depth() -> None:
    """A chain twice as long has four times as many pairs of joints and ancestors, a star of twice the branches two."""

    def counted(robot: Mechanism) -> int:
        return InverseDerivatives(robot).operation_count().total

    chains = [counted(lw.zoo.serial_chain(n)) for n in (10, 20, 40)]
    assert chains[2] / chains[1] < 4.0 and chains[1] / chains[0] < 4.0
    stars = [counted(lw.zoo.star_of_loops(n)) for n in (2, 4, 8)]
    assert stars[2] / stars[1] < 2.1 and stars[1] / stars[0] < 2.1


def test_operations_of_forward_jacobians_grow_with_results_times_shared_ancestors() -> None:
    """Of a star, joints of different branches share the base alone: the count follows the size of the results."""
    counts, sizes = [], []
    for n in (2, 4, 8):
        robot = lw.zoo.star_of_loops(n)
        counts.append(ForwardDerivatives(robot).operation_count().total)
        sizes.append(robot.nv**2)
    assert counts[2] / counts[1] < 1.05 * sizes[2] / sizes[1]
