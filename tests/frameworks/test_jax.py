# SPDX-License-Identifier: BSD-3-Clause
"""Evaluators as JAX functions: values, derivatives by JAX's own checks, batches, scans, errors."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.kernels.tree.tangent_space import coordinate_rates, velocities_of_rates
from linkwork.plans.tree import tree_of

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

from linkwork.jax.sources import EvaluatorSource  # noqa: E402
from linkwork.jax.tangent_space import TangentSpace  # noqa: E402


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    """Numbers of 64 bits, which JAX has only where it is asked for them."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def turning_robot(*further: lw.joints.Joint) -> lw.Mechanism:
    """A free body, one that slides on it in a plane, and others on it by further joints."""
    b = lw.Builder("turning")
    b.body("a", lw.Inertia.box(1.0, (0.1, 0.2, 0.3))).joint("free", lw.joints.Free(), "world", "a")
    b.body("b", lw.Inertia.sphere(0.5, 0.1)).joint("planar", lw.joints.Planar(), "a", "b", (0.1, 0.3, 0.0))
    for k, joint in enumerate(further):
        b.body(f"{k}", lw.Inertia.box(0.5, (0.1, 0.1, 0.3))).joint(f"further {k}", joint, "b", f"{k}")
    return b.build()


@pytest.fixture(scope="module")
def rng() -> np.random.Generator:
    return np.random.default_rng(20)


@pytest.fixture(scope="module")
def pendulum() -> lw.Mechanism:
    return lw.zoo.pendulum(2)


@pytest.fixture(scope="module")
def four_bar() -> lw.Mechanism:
    return lw.zoo.four_bar()


def checked(function: Any, arguments: tuple[Any, ...], order: int = 1, tolerance: float = 1e-5, **options: Any) -> None:
    """JAX's own check: products forward and reverse against differences and each other."""

    def leaves(*arrays: Any) -> Any:
        return jax.tree.leaves(function(*arrays))

    check_grads(leaves, arguments, order, modes=("fwd", "rev"), rtol=tolerance, atol=tolerance, **options)


# Values -------------------------------------------------------------------------------------------------------------


def test_calls_outside_of_jit_are_traced_once(pendulum: lw.Mechanism, monkeypatch: pytest.MonkeyPatch) -> None:
    traced: list[str] = []
    source = lw.jax.Function._source
    monkeypatch.setattr(lw.jax.Function, "_source", lambda f, *args: traced.append("once more") or source(f, *args))
    center = lw.jax.function(lw.Evaluator(pendulum, "center_of_mass"))
    for k in range(3):
        center(jnp.full(2, 0.1 * k))
    assert len(traced) == 1
    center(jnp.zeros((4, 2)))
    assert len(traced) == 2


def test_values_are_those_of_the_evaluator(pendulum: lw.Mechanism, rng: np.random.Generator) -> None:
    q, v, tau = (rng.normal(size=(5, 2)) for _ in range(3))
    fd, energy = lw.ForwardDynamics(pendulum), lw.Evaluator(pendulum, "energy").compile(lanes=1)
    stepper = lw.Stepper(pendulum, dt=0.01).compile(lanes=1)
    np.testing.assert_array_equal(lw.jax.function(fd)(q, v, tau), fd(q, v, tau).acceleration)
    np.testing.assert_array_equal(lw.jax.function(fd)(q[0], v[0], tau[0]), fd(q[0], v[0], tau[0]).acceleration)
    found = lw.jax.function(energy)(q, v)
    assert found._fields == ("kinetic", "potential")
    np.testing.assert_array_equal(found.potential, energy(q, v)[1])
    after, same = lw.jax.function(stepper)(q, v), stepper(q, v)
    np.testing.assert_array_equal(after.q, same.q)
    np.testing.assert_array_equal(after.v, same.v)


def test_leading_axes_broadcast_as_in_numpy(pendulum: lw.Mechanism, rng: np.random.Generator) -> None:
    fd = lw.ForwardDynamics(pendulum)
    q, v, tau = rng.normal(size=(3, 1, 2)), rng.normal(size=(4, 2)), rng.normal(size=2)
    found = lw.jax.function(fd)(q, v, tau)
    np.testing.assert_array_equal(found, fd(q, v, tau).acceleration)
    assert lw.jax.function(fd)(q[:0], v, tau).shape == (0, 4, 2)


def test_numbers_have_the_type_of_the_inputs(pendulum: lw.Mechanism, rng: np.random.Generator) -> None:
    fd = lw.ForwardDynamics(pendulum).compile(lanes=1, dtype="float32")
    x = [rng.normal(size=2) for _ in range(3)]
    single = lw.jax.function(fd)(*(jnp.asarray(y, jnp.float32) for y in x))
    assert single.dtype == jnp.float32
    np.testing.assert_allclose(single, lw.ForwardDynamics(pendulum)(*x).acceleration, rtol=1e-4, atol=1e-4)
    gradient = jax.grad(lambda q: lw.jax.function(fd)(q, *x[1:]).sum())(x[0].astype(np.float32))
    assert gradient.dtype == jnp.float32


def test_large_batches_are_shared_by_threads(pendulum: lw.Mechanism, rng: np.random.Generator) -> None:
    fd = lw.ForwardDynamics(pendulum, threads=3)
    q, v, tau = (rng.normal(size=(4000, 2)) for _ in range(3))
    expected = fd(q, v, tau).acceleration
    call = jax.jit(lw.jax.function(fd))

    def work(k: int) -> bool:
        whole = bool((np.asarray(call(q, v, tau)) == expected).all())
        return whole and np.allclose(call(q[k], v[k], tau[k]), expected[k], rtol=1e-12, atol=1e-12)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(16)))


# Derivatives --------------------------------------------------------------------------------------------------------


def test_maps_between_coordinates_and_tangents(rng: np.random.Generator) -> None:
    """Those of the kernels, and their transposes by dot products; quaternions of any length."""
    robot = turning_robot(lw.joints.Spherical(), lw.joints.Revolute("x"), lw.joints.Universal("x", "y"))
    tree, space = tree_of(robot, ()), TangentSpace(tree_of(robot, ()))
    q, v, dq = rng.normal(size=robot.nq), rng.normal(size=robot.nv), rng.normal(size=robot.nq)
    rates, velocities = np.zeros(robot.nq), np.zeros(robot.nv)
    coordinate_rates(tree, q, v, rates)
    velocities_of_rates(tree, q, dq, velocities)
    np.testing.assert_allclose(space.rates(q, v), rates, rtol=1e-12)
    np.testing.assert_allclose(space.velocities(q, dq), velocities, rtol=1e-12)
    np.testing.assert_allclose(dq @ space.rates(q, v, dual=True), velocities @ v, rtol=1e-12)
    np.testing.assert_allclose(v @ space.velocities(q, dq, dual=True), rates @ dq, rtol=1e-12)
    np.testing.assert_allclose(lw.jax.normalize(robot, q), robot.normalize(q), rtol=1e-14)


def test_derivatives_of_joints_that_turn(rng: np.random.Generator) -> None:
    """First and second ones, by coordinates of any length."""
    robot = turning_robot()
    q, v = robot.random(rng) + 0.2 * rng.normal(size=robot.nq), rng.normal(size=robot.nv)
    f = lw.jax.function(lw.Evaluator(robot, "energy").compile(lanes=1))
    checked(f, (q, v), 2, 1e-4)
    hessian = jax.hessian(lambda q: jnp.sin(f(q, v).kinetic).sum())(q)
    np.testing.assert_allclose(hessian, hessian.T, rtol=0, atol=1e-12 * np.abs(hessian).max())


def test_derivatives_of_steps_are_those_by_coordinates(rng: np.random.Generator) -> None:
    b = (
        lw.Builder("top")
        .body("a", lw.Inertia.box(1.0, (0.1, 0.2, 0.3)))
        .joint("ball", lw.joints.Spherical(), "world", "a")
    )
    step = lw.jax.function(lw.Stepper(b.build(), dt=0.02).compile(lanes=1))
    q, v, tau = rng.normal(size=4), rng.normal(size=3), rng.normal(size=3)
    checked(step, (q, v, tau), 2, 1e-4)


@pytest.mark.parametrize("method", ["lcaba", "cluster"])
def test_derivatives_of_redundant_loops(method: Any, four_bar: lw.Mechanism, rng: np.random.Generator) -> None:
    fd = lw.ForwardDynamics(four_bar, method).compile(lanes=1)
    q = four_bar.poses["assembled"]
    v, tau = four_bar.project_velocity(q, rng.normal(size=3)), rng.normal(size=3)
    f = lw.jax.function(fd)
    found = f(q, v, tau)
    np.testing.assert_array_equal(found.forces, fd(q, v, tau).multipliers)
    checked(f, (q, v, tau))
    forward, reverse = (jacobian(f, argnums=(0, 1))(q, v, tau) for jacobian in (jax.jacfwd, jax.jacrev))
    exact = fd.derivatives(q, v, tau)
    for k, name in enumerate("qv"):
        one = np.asarray(getattr(exact, f"da_d{name}"))
        for jacobian in (forward, reverse):
            np.testing.assert_allclose(jacobian.acceleration[k], one, rtol=0, atol=1e-9 * np.abs(one).max())


def test_second_derivatives_of_iterations(four_bar: lw.Mechanism, rng: np.random.Generator) -> None:
    fd = lw.ForwardDynamics(four_bar, "lcaba").compile(lanes=1)
    q, tau = four_bar.poses["assembled"], rng.normal(size=3)
    f = lw.jax.function(fd, by=["q"])
    checked(lambda q: f(q, np.zeros(3), tau).acceleration, (q,), 2, 1e-4)


def test_derivatives_by_parameters_and_wrenches(pendulum: lw.Mechanism, rng: np.random.Generator) -> None:
    frame = list(pendulum.frames)[-1]
    fd = lw.ForwardDynamics(pendulum, parameters=["mass", "gravity"], wrenches=[frame]).compile(lanes=1)
    f = lw.jax.function(fd)
    mass, gravity = 1.1 * fd.parameters["mass"], 0.9 * fd.parameters["gravity"]
    x, W = [rng.normal(size=2) for _ in range(3)], rng.normal(size=(1, 6))

    def accelerations(q: Any, wrenches: Any, mass: Any, gravity: Any) -> Any:
        return f(q, x[1], x[2], wrenches=wrenches, mass=mass, gravity=gravity)

    expected = fd(*x, W, mass=mass, gravity=gravity).acceleration
    np.testing.assert_array_equal(accelerations(x[0], W, mass, gravity), expected)
    checked(accelerations, (x[0], W, mass, gravity))


def test_parameters_of_no_robot_are_refused_where_their_numbers_are_known(pendulum: lw.Mechanism) -> None:
    """As by NumPy calls, with the same words; of what is traced, numbers are not known."""
    fd = lw.ForwardDynamics(pendulum, parameters=["mass", "gravity"]).compile(lanes=1)
    f, x = lw.jax.function(fd), np.zeros(2)
    negative = jnp.asarray(fd.parameters["mass"]).at[1].set(-1.0)
    for call in (fd, f, lambda q, *rest, mass: jax.jit(lambda q: f(q, *rest, mass=mass))(q)):
        with pytest.raises(lw.errors.InputError, match="mass must be >= 0; row 1 is -1"):
            call(x, x, x, mass=negative)
    assert np.isfinite(f(x, x, x, mass=None, gravity=jnp.zeros(3))).all()
    assert np.isfinite(jax.jit(f)(x, x, x, mass=negative)).all()
    with pytest.raises(lw.errors.InputError, match="mass has shape"):
        f(x, x, x, mass=-jnp.ones(5))


def test_derivatives_of_a_step_with_contacts() -> None:
    """A sphere that rolls, pressed into the ground a little: at a gap of zero, derivatives jump."""
    robot = lw.zoo.rolling_sphere()
    stepper = lw.Stepper(robot, dt=1e-3, parameters=["contact_friction", "mass"]).compile(lanes=1)
    q, v = np.array([0.0, 0.0, 0.0999, 0.0, 0.0, 0.0, 1.0]), np.array([0.5, 0.2, 0.0, 0.0, 0.0, 0.0])
    f, own = lw.jax.function(stepper), stepper.parameters
    after = stepper(q, v)
    np.testing.assert_allclose(f(q, v).v, after.v, rtol=0, atol=1e-14)

    def step(q: Any, v: Any, tau: Any, mass: Any, friction: Any) -> Any:
        return f(q, v, tau, mass=mass, contact_friction=friction)

    values = (np.array(own["mass"]), np.array(own["contact_friction"]))
    checked(step, (q, v, np.zeros(6), *values), 1, 1e-4, eps=1e-7)


def test_inputs_that_are_not_differentiated_by_are_constants(pendulum: lw.Mechanism, rng: np.random.Generator) -> None:
    inverse = lw.InverseDynamics(pendulum).compile(lanes=1)
    f, whole = lw.jax.function(inverse, by=["v"]), lw.jax.function(inverse)
    x = [rng.normal(size=2) for _ in range(3)]
    dq, dv = jax.grad(lambda q, v: f(q, v, x[2]).sum(), argnums=(0, 1))(*x[:2])
    assert not np.any(dq)
    np.testing.assert_allclose(dv, jax.grad(lambda v: whole(x[0], v, x[2]).sum())(x[1]), rtol=1e-13)


# Transformations ----------------------------------------------------------------------------------------------------


def test_vmap_of_a_gradient_is_one_batched_call(pendulum: lw.Mechanism, rng: np.random.Generator) -> None:
    f = lw.jax.function(lw.InverseDynamics(pendulum).compile(lanes=1))
    q, v, a = (rng.normal(size=(6, 2)) for _ in range(3))

    def cost(q: Any, v: Any, a: Any) -> Any:
        return jnp.sum(f(q, v, a) ** 2)

    batched = jax.jit(jax.vmap(jax.grad(cost), in_axes=(0, 1, None)))
    text = batched.lower(q, v.T, a[0]).compile().as_text()
    assert text.count("custom_call_target=") == 2  # the function, and its gradient
    assert "while" not in text
    each = [jax.grad(cost)(q[k], v[k], a[0]) for k in range(6)]
    np.testing.assert_allclose(batched(q, v.T, a[0]), each, rtol=1e-12, atol=1e-12)
    nested = jax.vmap(jax.vmap(cost, in_axes=(None, 0, 0)), in_axes=(0, None, None))(q[:3], v, a)
    np.testing.assert_allclose(nested[2], jax.vmap(cost, in_axes=(None, 0, 0))(q[2], v, a), rtol=1e-12)


def test_gradient_of_a_scan_of_steps(pendulum: lw.Mechanism, rng: np.random.Generator) -> None:
    """As that of `simulate` by its own adjoint."""
    stepper = lw.Stepper(pendulum, dt=0.01).compile(lanes=1)
    step = lw.jax.function(stepper)
    q0, v0, torques = rng.normal(size=2), rng.normal(size=2), rng.normal(size=(8, 2))

    @jax.jit
    def cost(torques: Any) -> Any:
        def body(state: Any, tau: Any) -> Any:
            after = step(*state, tau)
            return (after.q, after.v), None

        (q, v), _ = jax.lax.scan(body, (q0, v0), torques)
        return jnp.sum(q**2) + jnp.sum(v**2)

    found = jax.grad(cost)(torques)
    states = [(q0, v0)]
    for tau in torques:
        after = stepper(*states[-1], tau)
        states.append((after.q, after.v))
    y, expected = tuple(2.0 * x for x in states[-1]), np.zeros_like(torques)
    for k in reversed(range(8)):
        *y, expected[k] = stepper.vjp(*states[k], torques[k], *y)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


# Errors -------------------------------------------------------------------------------------------------------------


def test_what_is_not_finite_is_an_error_that_names_it(pendulum: lw.Mechanism) -> None:
    f = lw.jax.function(lw.ForwardDynamics(pendulum))
    with pytest.raises(Exception, match=r"aba of .*: v holds NaN or infinity"):
        jax.block_until_ready(f(np.zeros(2), np.array([0.0, np.nan]), np.zeros(2)))
    turning = (
        lw.Builder("t")
        .body("a", lw.Inertia.sphere(1.0, 0.1))
        .joint("ball", lw.joints.Spherical(), "world", "a")
        .build()
    )
    with pytest.raises(Exception, match="quaternion"):
        jax.block_until_ready(lw.jax.function(lw.ForwardDynamics(turning))(np.zeros(4), np.zeros(3), np.zeros(3)))


def test_states_that_are_not_finite_can_have_nan_as_results(pendulum: lw.Mechanism, rng: np.random.Generator) -> None:
    fd = lw.ForwardDynamics(pendulum)
    q, v, tau = (rng.normal(size=(200, 2)) for _ in range(3))
    expected = fd(q, v, tau).acceleration
    v[7, 1] = np.inf
    found = np.asarray(lw.jax.function(fd, on_error="nan")(q, v, tau))
    assert np.isnan(found[7]).all()
    others = np.arange(200) != 7
    np.testing.assert_allclose(found[others], expected[others], rtol=1e-12)


def test_arguments_that_do_not_fit(pendulum: lw.Mechanism) -> None:
    fd = lw.ForwardDynamics(pendulum)
    f, z = lw.jax.function(fd), np.zeros(2)
    with pytest.raises(lw.errors.InputError, match="tau was not given"):
        f(z, z)
    with pytest.raises(lw.errors.InputError, match=r"q has shape \(3,\), needs 2 numbers"):
        f(np.zeros(3), z, z)
    with pytest.raises(lw.errors.InputError, match="q is a list, needs an array"):
        f([0.0, 0.0], z, z)
    with pytest.raises(lw.errors.InputError, match="no argument 'mass'"):
        f(z, z, z, mass=z)
    with pytest.raises(lw.errors.InputError, match="do not broadcast"):
        f(np.zeros((3, 2)), np.zeros((4, 2)), z)
    with pytest.raises(lw.errors.InputError, match="no derivative by 'mass'"):
        lw.jax.function(fd, by=["mass"])
    with pytest.raises(lw.errors.InputError, match="on_error"):
        lw.jax.function(fd, on_error="ignore")  # type: ignore[arg-type]
    with pytest.raises(lw.errors.UnsupportedFeature, match="plain"):
        lw.jax.function(fd.plain())(z, z, z)
    with pytest.raises(lw.errors.UnsupportedFeature, match="kkt"):
        lw.jax.function(lw.ForwardDynamics(lw.zoo.four_bar(), "kkt"))


def test_functions_are_remade_where_they_are_copied_or_sent(pendulum: lw.Mechanism) -> None:
    f = lw.jax.function(lw.ForwardDynamics(pendulum), by="tau", on_error="nan")
    x = jnp.full(pendulum.nv, 0.3)
    for made in (pickle.loads(pickle.dumps(f)), copy.deepcopy(f)):
        assert made.by == ("tau",) and made.on_error == "nan"
        assert jnp.array_equal(made(x, x, x), f(x, x, x))


def test_third_derivatives_are_refused(pendulum: lw.Mechanism) -> None:
    f = lw.jax.function(lw.InverseDynamics(pendulum).compile(lanes=1))
    with pytest.raises(lw.errors.UnsupportedFeature, match="third"):
        jax.jvp(jax.hessian(lambda q: f(q, q, q).sum()), (np.ones(2),), (np.ones(2),))


def test_importing_linkwork_leaves_jax_alone() -> None:
    code = "import linkwork, sys; assert 'jax' not in sys.modules; linkwork.jax; assert 'jax' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_method_with_a_fallback_is_called_by_the_plan_that_needs_none() -> None:
    fd = lw.ForwardDynamics(lw.zoo.quadruped_standing(), "pv")
    source = EvaluatorSource(fd, ("q", "v", "tau"), ("q",), "nan")
    assert source.program.plan_bytes() == fd.exported_program.plan_bytes() != fd.program.plan_bytes()
