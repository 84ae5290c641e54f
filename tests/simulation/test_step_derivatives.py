# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of steps in time, of every integrator, and of whole rollouts; linear systems near a state."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.inputs import ParameterName
from linkwork.kernels.steps.integrators import single
from linkwork.simulation.stage_derivatives import StageDerivatives
from tests.support import long_doubles
from tests.support.dual_numbers import directional
from tests.support.states import assert_close, differences_of_step

INTEGRATORS = ("euler", "rk4", "dopri5")


def tree_state(bodies: int = 3, seed: int = 5) -> tuple[lw.Mechanism, Any, Any, Any]:
    robot = zoo.random_tree(seed, bodies=bodies)
    rng = np.random.default_rng(1)
    q = robot.integrate(robot.neutral(), rng.normal(size=robot.nv))
    v, tau = rng.normal(size=(2, robot.nv))
    return robot, q, v, tau


def loop_state() -> tuple[lw.Mechanism, Any, Any, Any]:
    robot = zoo.four_bar()
    rng = np.random.default_rng(2)
    q = robot.assemble(robot.neutral() + 0.2)
    v, tau = rng.normal(size=(2, robot.nv))
    return robot, q, robot.project_velocity(q, v), tau


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("kind", ["tree", "minimal", "auto"])
def test_steps_against_differences(integrator: Any, kind: Any) -> None:
    robot, q, v, tau = tree_state() if kind == "tree" else loop_state()
    # constraint forces of one proximal iteration have eight digits, too few for differences
    how: Any = {"method": "minimal"} if kind == "minimal" else {"max_iterations": 3} if kind == "auto" else {}
    stepper = lw.Stepper(robot, integrator=integrator, dt=1e-2, **how).plain()
    found = stepper.derivatives(q, v, tau)
    wanted = differences_of_step(stepper.source, stepper, q, v, tau)
    assert_close(np.concatenate([found.A, found.B], axis=-1), wanted, 2e-8)


@pytest.mark.parametrize(
    ("integrator", "kind"), [("rk4", "tree"), ("rk4", "minimal"), ("dopri5", "auto"), ("rk4", "driven")]
)
def test_derivatives_chained_from_stages_are_those_of_the_step(integrator: Any, kind: str) -> None:
    robot, q, v, tau = tree_state() if kind == "tree" else loop_state()
    if kind == "driven":
        robot = replace(
            robot, actuators=(lw.actuators.Actuator("servo", robot.joint_names[0], (2.0,), bias=(0.1, -3.0, -0.4)),)
        )
    stepper = lw.Stepper(robot, integrator=integrator, dt=1e-2, method="minimal" if kind == "minimal" else "auto")
    commands = np.array([0.7]) if kind == "driven" else None
    whole = stepper.derivatives(q, v, tau, commands=commands)
    stepper.derivatives._stages = StageDerivatives(stepper)
    found = stepper.derivatives(np.stack([q, q]), v, tau, commands=commands)
    assert_close(found.A[1], whole.A, 1e-12)
    assert_close(found.B[1], whole.B, 1e-12)
    if kind == "driven":
        assert_close(found.B_commands[1], whole.B_commands, 1e-12)


def test_steps_whose_program_would_be_too_large_are_differentiated_stage_by_stage() -> None:
    robot, q, v, tau = loop_state()
    small = lw.Stepper(robot, integrator="dopri5", dt=1e-2).compile(max_operations=6000)
    wanted = lw.Stepper(robot, integrator="dopri5", dt=1e-2).derivatives(q, v, tau)
    with pytest.raises(lw.errors.ProgramTooLarge):
        small.hvp(q, v, tau, v, v, v, v, v)
    assert_close(small.derivatives(q, v, tau).A, wanted.A, 1e-12)
    x = np.random.default_rng(0).normal(size=(3, robot.nv))
    rates = wanted.A @ np.concatenate(x[:2]) + wanted.B @ x[2]
    assert_close(np.concatenate(small.jvp(q, v, tau, *x)), rates, 1e-12)
    assert_close(np.concatenate(small.vjp(q, v, tau, *x[:2])[:2]), np.concatenate(x[:2]) @ wanted.A, 1e-12)


@pytest.mark.parametrize("kind", ["tree", "minimal", "auto"])
def test_products_agree_with_each_other_and_with_the_jacobian(kind: Any) -> None:
    robot, q, v, tau = tree_state() if kind == "tree" else loop_state()
    stepper = lw.Stepper(robot, dt=1e-2, method="minimal" if kind == "minimal" else "auto").plain()
    rng = np.random.default_rng(3)
    y, d = rng.normal(size=(2, robot.nv)), rng.normal(size=(3, robot.nv))
    rates, gradient = stepper.jvp(q, v, tau, *d), stepper.vjp(q, v, tau, *y)
    ahead = sum(a @ b for a, b in zip(y, rates, strict=True))
    back = sum(a @ b for a, b in zip(gradient, d, strict=True))
    assert abs(ahead - back) < 1e-11 * max(abs(ahead), 1.0)
    found = stepper.derivatives(q, v, tau)
    assert_close(np.concatenate(rates), np.concatenate([found.A, found.B], axis=-1) @ d.ravel(), 1e-11)


# Loops: one proximal iteration ---------------------------------------------------------------------------------

OF_LOOPS: tuple[ParameterName, ...] = (
    "mass",
    "com",
    "inertia",
    "armature",
    "damping",
    "stiffness",
    "gravity",
    "joint_position",
    "anchor_position",
    "gains",
)


def parameters_and_directions(stepper: lw.Stepper) -> tuple[dict[str, Any], dict[str, Any]]:
    """Values of the parameters of a stepper, and a direction of each in which they keep their signs."""
    rng = np.random.default_rng(6)
    values = {name: np.array(x) for name, x in stepper.parameters.items()}
    for name, least in (("armature", 0.1), ("damping", 1.0), ("stiffness", 10.0)):
        if name in values:
            values[name] = np.full(values[name].shape, least)
    along = {name: 0.2 * np.maximum(np.abs(x), 0.1) * rng.normal(size=x.shape) for name, x in values.items()}
    return values, along


def slope(f: Any, h: float) -> Any:
    """``f'(0)`` by central differences of fourth order."""
    return (8 * (f(h) - f(-h)) - f(2 * h) + f(-2 * h)) / (12 * h)


def three_cranks() -> lw.Mechanism:
    """A bar on three parallel cranks: while loops are closed, one row is redundant; where they are open, it is not."""
    rod = lw.Inertia.rod(1.0, (0, 0, 0), (0.5, 0, 0))
    build = lw.Builder("three cranks")
    for k in range(3):
        build.body(f"crank{k}", rod).joint(f"crank{k}", lw.joints.Revolute("y"), "world", f"crank{k}", (float(k), 0, 0))
    build.body("bar", lw.Inertia.rod(2.0, (0, 0, 0), (2.0, 0, 0)))
    build.joint("bar", lw.joints.Revolute("y"), "crank0", "bar", (0.5, 0, 0))
    for k in (1, 2):
        ends = (float(k), 0, 0), (0.5, 0, 0)
        build.joint(f"pin{k}", lw.joints.Revolute("y"), "bar", f"crank{k}", *ends, cut=True)
    return build.build()


def open_state(robot: lw.Mechanism, gap: float) -> tuple[Any, Any, Any]:
    """A state whose loops are open by a gap, in position and in velocity; all joints are hinges."""
    rng = np.random.default_rng(5)
    q = robot.assemble(robot.neutral() + 0.2)
    v, tau = rng.normal(size=(2, robot.nv))
    apart = gap * rng.normal(size=(2, robot.nv))
    return q + apart[0], robot.project_velocity(q, v) + apart[1], tau


LONG_DOUBLES = pytest.mark.skipif(not long_doubles.WIDER, reason="long doubles have no more digits than doubles here")


@LONG_DOUBLES
@pytest.mark.parametrize("gap", [0.0, 1e-4])
@pytest.mark.parametrize(("make", "digits"), [(zoo.four_bar, 1e-9), (three_cranks, 1e-7)])
def test_euler_steps_with_loops_have_the_derivatives_of_their_single_iteration(
    make: Any, digits: float, gap: float
) -> None:
    """Off closed loops further iterations lead elsewhere: rows that were redundant are nearly so, and become stiff.

    Such rows contradict each other by rounding errors at least, 1e-16 of what they are, and forces by 1e-8: so far
    their derivatives are determined in double precision.

    The text of the step runs on long doubles: rounding errors of one iteration are 1e-16 / 1e-8, the regularization.
    """
    robot = make()
    q, v, tau = open_state(robot, gap)
    names = OF_LOOPS if gap else OF_LOOPS[:-1]  # gains have something to pull at
    stepper = lw.Stepper(robot, parameters=names).plain()
    values, along = parameters_and_directions(stepper)
    planned = stepper.unparametrized_program
    assert "lcaba1" in planned.algorithm.name
    program = stepper.parameter_inputs.program(replace(planned, algorithm=single(planned.algorithm)))
    inputs = dict(zip(program.algorithm.inputs, stepper._function.input_arrays([q, v, tau], values), strict=True))
    rng = np.random.default_rng(3)
    y = rng.normal(size=(2, robot.nv))
    directions = {name: rng.normal(size=robot.nv) for name in ("q", "v", "tau")} | along
    gradient = dict(zip(stepper.vjp.inputs, stepper.vjp(q, v, tau, *y, **values), strict=True))
    for name, d in directions.items():
        each = [d if k == name else np.zeros(np.shape(x)) for k, x in inputs.items()]
        wanted = np.concatenate(directional(program, list(inputs.values()), each, np.longdouble)[:2])
        further = {f"d{name}": d} if name in along else {}
        rates = np.concatenate(stepper.jvp(q, v, tau, *each[:3], **values, **further))
        assert_close(rates, wanted, digits)
        assert_close((gradient[name] * d).sum(), y.ravel() @ rates, 1e-2 * digits, scale=float(np.abs(rates).max()))


@pytest.mark.parametrize("gap", [0.0, 1e-4])
def test_steps_in_three_iterations_have_derivatives_by_parameters_that_differences_confirm(gap: float) -> None:
    robot = zoo.four_bar()
    q, v, tau = open_state(robot, gap)
    names = OF_LOOPS if gap else OF_LOOPS[:-1]
    stepper = lw.Stepper(robot, max_iterations=3, parameters=names).plain()
    values, along = parameters_and_directions(stepper)
    for name in names:

        def after(s: float, name: str = name) -> Any:
            made = stepper(q, v, tau, **{**values, name: values[name] + s * along[name]})
            return np.concatenate([made.q, made.v])

        rates = np.concatenate(stepper.jvp(q, v, tau, *np.zeros((3, robot.nv)), **values, **{f"d{name}": along[name]}))
        assert_close(rates, slope(after, 2e-3), 1e-8)


# Second derivatives ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("kind", ["tree", "minimal", "auto"])
def test_second_derivatives_of_steps_are_rates_of_gradients(integrator: Any, kind: Any) -> None:
    robot, q, v, tau = tree_state() if kind == "tree" else loop_state()
    stepper = lw.Stepper(robot, 1e-2, integrator, method="minimal" if kind == "minimal" else "auto").plain()
    rng = np.random.default_rng(12)
    y, d = rng.normal(size=(2, robot.nv)), rng.normal(size=(3, robot.nv))

    def gradient(s: float) -> Any:
        return np.concatenate(stepper.vjp(robot.integrate(q, s * d[0]), v + s * d[1], tau + s * d[2], *y))

    found = stepper.hvp(q, v, tau, *y, *d)
    assert [x.shape for x in found] == [(robot.nv,)] * 3
    assert_close(np.concatenate(found), slope(gradient, 1e-4), 1e-8)


def test_second_derivatives_of_steps_are_symmetric_where_coordinates_are_numbers() -> None:
    """By the state, torques and masses together; of loops, in the state that iterations of a step converge to."""
    robot, q, v, tau = loop_state()
    for integrator in ("euler", "rk4"):
        stepper = lw.Stepper(robot, integrator=integrator, dt=1e-2, parameters=["mass"]).plain()  # type: ignore[arg-type]
        rng = np.random.default_rng(13)
        y, d, e = rng.normal(size=(2, robot.nv)), rng.normal(size=(3, robot.nv)), rng.normal(size=(3, robot.nv))
        dmass, emass = rng.normal(size=(2, *stepper.parameters["mass"].shape))
        along_d = np.concatenate(stepper.hvp(q, v, tau, *y, *d, dmass=dmass))
        along_e = np.concatenate(stepper.hvp(q, v, tau, *y, *e, dmass=emass))
        left, right = np.append(e.ravel(), emass) @ along_d, np.append(d.ravel(), dmass) @ along_e
        assert abs(left - right) < 1e-10 * np.abs(along_d).max()


def test_second_derivatives_of_steps_compile_and_take_batches() -> None:
    robot = zoo.pendulum(2)
    stepper = lw.Stepper(robot, dt=1e-2)
    q, v, tau, y_q, y_v, *d = np.random.default_rng(14).normal(size=(8, 3, 2))
    found = stepper.hvp(q, v, tau, y_q, y_v, *d)
    for k in range(3):
        alone = stepper.plain().hvp(q[k], v[k], tau[k], y_q[k], y_v[k], *(x[k] for x in d))
        for x, one in zip(found, alone, strict=True):
            assert_close(x[k], one, 1e-12, scale=1e-3)
    (by_tau,) = stepper.hvp.by("q", "tau").by("tau")(q, v, tau, y_q, y_v, d[2])
    assert by_tau.shape == (3, 2) and np.abs(by_tau).max() == 0.0  # accelerations are affine in torques


def test_what_second_derivatives_of_steps_refuse() -> None:
    with pytest.raises(lw.errors.UnsupportedFeature, match="with contacts have no second derivatives"):
        _ = lw.Stepper(zoo.sliding_box(), dt=1e-2).hvp
    with pytest.raises(lw.errors.ProgramTooLarge):
        lw.Stepper(zoo.pendulum(2)).hvp.compile(max_operations=20)


SERVO = """
<mujoco><compiler angle="radian"/><worldbody><body><joint name="a" axis="0 1 0" range="-0.5 0.2" limited="true"
stiffness="3" damping="0.2"/><geom size=".05" pos="0 0 -.3" mass="1"/></body></worldbody>
<actuator><position joint="a" kp="20" kv="1"/></actuator></mujoco>"""


def test_commands_springs_and_stops_are_in_the_derivatives() -> None:
    robot = lw.loads(SERVO)
    stepper = lw.Stepper(robot, dt=1e-2).plain()
    v, tau, u = np.array([0.4]), np.array([0.1]), np.array([0.3])
    for q in (np.array([0.1]), np.array([0.3])):  # free, and on its stop
        found = stepper.derivatives(q, v, tau, commands=u)
        wanted = differences_of_step(stepper.source, stepper, q, v, tau)
        without = stepper.derivatives(q, v, tau)
        assert_close(np.concatenate([without.A, without.B], axis=-1), wanted, 1e-7)
        h = np.array([1e-5])
        slope = (stepper(q, v, tau, commands=u + h).v - stepper(q, v, tau, commands=u - h).v) / 2e-5
        assert_close(found.B_commands[1], slope, 1e-8)
        if q[0] < 0.2:
            assert found.dv1_dq[0, 0] < without.dv1_dq[0, 0]  # the servo pulls back
    with pytest.raises(lw.errors.InputError, match="no actuators"):
        _ = without.B_commands


def test_compiled_batches_are_the_same() -> None:
    robot, q, v, tau = tree_state(bodies=2)
    stepper = lw.Stepper(robot, dt=1e-2)
    rng = np.random.default_rng(4)
    many = np.stack([robot.integrate(q, 0.1 * rng.normal(size=robot.nv)) for _ in range(3)])
    found = stepper.derivatives(many, v, tau)
    assert found.A.shape == (3, 2 * robot.nv, 2 * robot.nv) and found.B.shape == (3, 2 * robot.nv, robot.nv)
    for k in range(3):
        assert_close(found.A[k], stepper.plain().derivatives(many[k], v, tau).A, 1e-12)


# Rollouts ----------------------------------------------------------------------------------------------------


def rollout_gradient_error(stepper: lw.Stepper, q: Any, v: Any, tau: Any, h: float = 1e-6, **more: Any) -> float:
    """How far a directional derivative of a function of all recorded states is from differences, relatively."""
    robot, steps, rng = stepper.source, len(tau), np.random.default_rng(7)
    adjoint = lw.derivatives.Adjoint(stepper)
    made = adjoint(q, v, tau, **more)
    y_q, y_v = rng.normal(size=(2, len(made.q), robot.nv))
    gradient = made.gradient(y_q, y_v)
    dq, dv, dtau = *rng.normal(size=(2, robot.nv)), rng.normal(size=(steps, robot.nv))

    def value(s: float) -> float:
        other = adjoint(robot.integrate(q, s * dq), v + s * dv, tau + s * dtau, **more)
        apart = [robot.difference(a, b) for a, b in zip(made.q, other.q, strict=True)]
        return float((y_q * apart).sum() + (y_v * other.v).sum())

    wanted = (value(h) - value(-h)) / (2 * h)
    found = dq @ gradient.q + dv @ gradient.v + (dtau * gradient.tau).sum()
    return abs(found - wanted) / abs(wanted)


@pytest.mark.parametrize("record_every", [1, 30])
def test_gradient_of_a_hundred_steps_of_a_four_bar(record_every: int) -> None:
    robot, q, v, _ = loop_state()
    tau = np.random.default_rng(8).normal(size=(100, robot.nv))
    stepper = lw.Stepper(robot, dt=1e-3, method="minimal")
    assert rollout_gradient_error(stepper, q, v, tau, record_every=record_every) < 1e-7


def test_gradient_of_a_spherical_pendulum() -> None:
    robot, q, v, _ = tree_state(bodies=2)
    tau = np.random.default_rng(9).normal(size=(20, robot.nv))
    assert rollout_gradient_error(lw.Stepper(robot, integrator="rk4", dt=1e-3), q, v, tau) < 1e-7


def test_energy_of_a_pendulum_has_the_gradient_that_it_had_at_the_start() -> None:
    """Energy is conserved: its derivative by the state at the start is the same through the rollout, and at once."""
    robot = zoo.pendulum(1)
    stepper = lw.Stepper(robot, integrator="rk4", dt=1e-3, passive=False)
    q, v = np.array([0.7]), np.array([0.4])
    made = lw.derivatives.Adjoint(stepper)(q, v, steps=100)

    def slopes(at: Any, rate: Any) -> Any:
        return lw.gravity_forces(robot, at), lw.mass_matrix(robot, at) @ rate

    found = made.gradient(*slopes(made.q[-1], made.v[-1]))
    for x, y in zip((found.q, found.v), slopes(q, v), strict=True):
        assert_close(x, y, 1e-9)


def test_gradients_of_a_batch_are_those_of_its_robots() -> None:
    robot = zoo.pendulum(2)
    stepper = lw.Stepper(robot, dt=1e-2)
    rng = np.random.default_rng(10)
    q, v = rng.normal(size=(2, 3, 2))
    tau, y = rng.normal(size=(10, 3, 2)), rng.normal(size=(3, 2))
    adjoint = lw.derivatives.Adjoint(stepper)
    together = adjoint(q, v, tau).gradient(y, y)
    assert together.tau.shape == (10, 3, 2)
    for k in range(3):
        alone = adjoint(q[k], v[k], tau[:, k]).gradient(y[k], y[k])
        assert_close(together.q[k], alone.q, 1e-12)
        assert_close(together.tau[:, k], alone.tau, 1e-12)


def test_gradients_by_masses_of_links() -> None:
    robot = zoo.pendulum(2)
    stepper = lw.Stepper(robot, dt=1e-2, parameters=["mass"])
    adjoint = lw.derivatives.Adjoint(stepper)
    masses = np.array(stepper.parameters["mass"])
    q, v, tau = np.array([0.4, -0.2]), np.array([0.3, 0.1]), 0.3 * np.ones((20, 2))
    found = adjoint(q, v, tau, mass=masses).gradient(np.ones(2)).parameters["mass"]
    for k in range(masses.shape[-1]):
        h = np.zeros_like(masses)
        h[..., k] = 1e-6
        sides = [adjoint(q, v, tau, mass=masses + s * h).q[-1].sum() for s in (1, -1)]
        assert abs(found[k] - (sides[0] - sides[1]) / 2e-6) < 1e-8 * np.abs(found).max()


def test_gradients_of_fifty_euler_steps_of_a_four_bar_by_parameters() -> None:
    robot, q, v, _ = loop_state()
    names: tuple[ParameterName, ...] = ("mass", "com", "joint_position", "anchor_position")
    stepper, converged = (lw.Stepper(robot, max_iterations=k, parameters=names).plain() for k in (1, 3))
    values, along = parameters_and_directions(stepper)
    rng = np.random.default_rng(8)
    tau, y = rng.normal(size=(50, robot.nv)), rng.normal(size=(2, robot.nv))
    found = lw.derivatives.Adjoint(stepper)(q, v, tau, **values).gradient(*y).parameters
    differences = lw.derivatives.Adjoint(converged)
    for name in names:

        def value(s: float, name: str = name) -> float:
            given = {**values, name: values[name] + s * along[name]}
            made = differences(q, v, tau, record_every=50, **given)
            return float(y[0] @ made.q[-1] + y[1] @ made.v[-1])

        wanted = slope(value, 1e-3)
        assert abs((found[name] * along[name]).sum() - wanted) < 1e-6 * abs(wanted)


def test_gradients_of_fifty_euler_steps_where_rows_are_redundant_on_closed_loops() -> None:
    """Steps open loops by a little, where one iteration and three are not the same.

    Rounding errors of one iteration, 1e-8 of the forces, are divided by the step of the differences.
    """
    robot = three_cranks()
    q, v, _ = open_state(robot, 0.0)
    names: tuple[ParameterName, ...] = ("mass", "com")
    adjoint = lw.derivatives.Adjoint(lw.Stepper(robot, parameters=names).plain())
    values, along = parameters_and_directions(adjoint.stepper)
    rng = np.random.default_rng(8)
    tau, y = rng.normal(size=(50, robot.nv)), rng.normal(size=(2, robot.nv))
    found = adjoint(q, v, tau, **values).gradient(*y).parameters
    for name in names:

        def value(s: float, name: str = name) -> float:
            given = {**values, name: values[name] + s * along[name]}
            made = adjoint(q, v, tau, record_every=50, **given)
            return float(y[0] @ made.q[-1] + y[1] @ made.v[-1])

        wanted = slope(value, 1e-2)
        assert abs((found[name] * along[name]).sum() - wanted) < 1e-4 * abs(wanted)  # of three iterations: 4e-3, 5e-2


def test_what_rollouts_refuse() -> None:
    stepper = lw.Stepper(zoo.pendulum(2), dt=1e-2)
    adjoint = lw.derivatives.Adjoint(stepper)
    with pytest.raises(lw.errors.InputError, match="pass the number of steps"):
        adjoint([0.0, 0.0])
    with pytest.raises(lw.errors.InputError, match="needs to be for 5"):
        adjoint([0.0, 0.0], tau=np.zeros((4, 2)), steps=5)
    with pytest.raises(lw.errors.InputError, match=r"y_q has shape \(3,\)"):
        adjoint([0.0, 0.0], steps=2).gradient(np.zeros(3))
    with pytest.raises(lw.errors.InputError, match="Stepper"):
        lw.derivatives.Adjoint(zoo.pendulum(2))  # type: ignore[arg-type]
    with pytest.raises(lw.errors.InputError, match="contacts"):
        lw.derivatives.Adjoint(stepper, smoothing=1e-2)


# Linear systems ----------------------------------------------------------------------------------------------


def test_a_short_step_is_the_continuous_system() -> None:
    """Of turning joints too, whose changes of configuration are seen from axes that turn."""
    robot, q, v, tau = tree_state(bodies=3)
    continuous = lw.linearize(robot, q, v, tau)
    assert continuous.space == "all" and continuous.dt is None
    found = []
    for h in (2e-4, 1e-4):
        step = lw.linearize(robot, q, v, tau, dt=h, integrator="rk4")
        found.append(((step.A - np.eye(2 * robot.nv)) / h, step.B / h, step.rate / h))
    for (coarse, fine), exact in zip(
        zip(*found, strict=True), (continuous.A, continuous.B, continuous.rate), strict=True
    ):
        assert_close(2 * fine - coarse, exact, 1e-6)  # errors of the first order are gone


@pytest.mark.parametrize("coordinates", ["minimal", "projected"])
def test_loops_leave_fewer_coordinates(coordinates: Any) -> None:
    robot, q, v, tau = loop_state()
    found = lw.linearize(robot, q, v, tau, coordinates=coordinates)
    assert found.space == coordinates and found.A.shape == (2, 2) and found.B.shape == (2, robot.nv)
    nv = robot.nv
    J = lw.constraint_jacobian(robot, q)
    assert_close(J @ found.basis[:nv, :1], np.zeros((robot.nc, 1)), 1e-12, scale=1.0)  # motions keep loops closed
    assert_close(found.inverse @ found.basis, np.eye(2), 1e-12)
    # accelerations of the free joint along the closed manifold, by differences
    fd, minimal, h = lw.ForwardDynamics(robot), lw.Minimal(robot), 1e-5
    sides = []
    for sign in (1, -1):
        dq, dv = np.split(sign * h * found.basis[:, 0], 2)
        at = minimal.complete(robot.integrate(q, dq))
        rate = robot.project_velocity(at, v + dv)
        sides.append(found.inverse[1, nv:] @ fd(at, rate, tau).acceleration)
    assert abs(found.A[1, 0] - (sides[0] - sides[1]) / (2 * h)) < 1e-5 * abs(found.A[1, 0])


def test_a_hanging_pendulum_is_an_oscillator() -> None:
    robot = zoo.pendulum(1)
    found = lw.linearize(robot, np.zeros(1))
    assert_close(found.rate, np.zeros(2), 1e-15, scale=1.0)
    stiffness = lw.mass_matrix(robot, [0.0])[0, 0] * -found.A[1, 0]
    slope = (lw.gravity_forces(robot, [1e-6]) - lw.gravity_forces(robot, [-1e-6]))[0] / 2e-6
    assert abs(stiffness - slope) < 1e-9 * abs(slope)
    step = lw.linearize(robot, np.zeros(1), dt=1e-2)
    assert np.abs(np.linalg.eigvals(step.A)).max() < 1 + 1e-9  # semi-implicit Euler keeps oscillations


@pytest.mark.parametrize("coordinates", ["minimal", "projected", "all"])
def test_linearize_warns_of_loops_that_are_open(coordinates: Any) -> None:
    robot, q, v, _ = loop_state()
    off = q + np.array([0.0, 0.6, 0.0])
    with pytest.warns(lw.errors.StateWarning, match="a loop of .* is open by"):
        lw.linearize(robot, off, coordinates=coordinates)
    with pytest.warns(lw.errors.StateWarning, match="v opens a loop"):
        lw.linearize(robot, q, v + 1.0, coordinates=coordinates)


def test_what_linearize_refuses() -> None:
    robot = zoo.pendulum(2)
    with pytest.raises(lw.errors.InputError, match="one state"):
        lw.linearize(robot, np.zeros((3, 2)))
    with pytest.raises(lw.errors.InputError, match="no coordinates"):
        lw.linearize(robot, np.zeros(2), coordinates="some")  # type: ignore[arg-type]
    with pytest.raises(lw.errors.InputError, match="pass dt"):
        lw.linearize(robot, np.zeros(2), commands=np.zeros(1))
