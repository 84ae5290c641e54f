# SPDX-License-Identifier: BSD-3-Clause
"""Tendons: lengths, rates, moment arms and forces are MuJoCo's; springs keep energy; changed copies keep them."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Literal

import mujoco
import numpy as np
import pytest

import linkwork as lw
from linkwork.mechanism import Mechanism
from linkwork.simulation.actuation import Actuation
from linkwork.simulation.python_steps import PythonStepper
from linkwork.simulation.settings import StepSettings
from linkwork.simulation.state import State
from tests.support.robots import model_file
from tests.support.states import Floats
from tests.support.tendon_texts import PULLING, Twin, text

AGREEMENT = 1e-12
"""Lengths are about one meter, forces about 30 N; both sides round at 1e-16."""


@pytest.fixture(scope="module")
def twin() -> Twin:
    words = text(PULLING)
    return Twin(lw.loads(words, "mjcf"), mujoco.MjModel.from_xml_string(words), 8)


def assert_equal(ours: object, theirs: object, size: float = 1.0) -> None:
    np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=0, atol=AGREEMENT * size)


def test_lengths_rates_and_jacobians_are_mujocos(twin: Twin) -> None:
    robot, q, v = twin.robot, twin.q, twin.v
    assert [t.name for t in robot.tendons] == ["t0", "t1", "t2", "t3", "t4"]
    assert_equal(lw.tendons.tendon_length(robot, q), twin.each("ten_length"))
    assert_equal(lw.tendons.tendon_velocity(robot, q, v), twin.each("ten_velocity"), 10)
    assert_equal(lw.tendons.tendon_jacobian(robot, q), twin.tendon_jacobians())
    assert_equal(lw.tendons.tendon_jacobian(robot, q[0]), twin.tendon_jacobians()[0])  # one state


def test_springs_and_dampers_make_mujocos_passive_forces(twin: Twin) -> None:
    robot = twin.robot
    ours = lw.tendons.tendon_forces(robot, twin.q, twin.v) + lw.passive_forces(robot, twin.q, twin.v)
    assert_equal(ours, twin.torques("qfrc_passive"), 1000)


def test_actuators_pull_with_mujocos_forces(twin: Twin) -> None:
    ours = lw.actuators.actuator_torques(twin.robot, twin.q, twin.v, twin.u)
    assert_equal(ours, twin.torques("qfrc_actuator"), 100)


@pytest.mark.parametrize("quantity", ["tendon_length", "tendon_velocity", "tendon_jacobian", "tendon_forces"])
def test_straight_line_programs_and_plain_python_agree_with_native_code(quantity: str, twin: Twin) -> None:
    native = lw.Evaluator(twin.robot, quantity)  # type: ignore[arg-type]
    given = (twin.q,) if quantity in ("tendon_length", "tendon_jacobian") else (twin.q, twin.v)
    assert_equal(native.compile()(*given), native(*given), 1000)
    assert_equal(native.plain()(*(x[0] for x in given)), native(*given)[0], 1000)


def test_a_jacobian_is_the_derivative_of_the_length_at_a_straight_and_at_a_vanishing_segment() -> None:
    build = lw.Builder("crane").body("arm", lw.Inertia.rod(1.0, (0, 0, 0), (1, 0, 0)))
    build.joint("hinge", lw.joints.Revolute("y"), "world", "arm").frame("tip", "arm", (1, 0, 0))
    build.frame("top", "world", (0, 0, 1)).frame("axis", "world").frame("mid", "arm", (0.5, 0, 0))
    straight, vanished = (
        lw.tendons.Tendon("rope", path=("top", "tip")),
        lw.tendons.Tendon("none", path=("axis", "arm", "mid")),
    )
    robot = build.tendon(straight, vanished).build()
    up = [-np.pi / 2]  # the rope has length zero and no direction: no force, and no NaN
    assert_equal(lw.tendons.tendon_length(robot, up), [0.0, 0.5])
    assert np.isfinite(lw.tendons.tendon_jacobian(robot, up)).all()
    down = lw.tendons.tendon_length(robot, [np.pi / 2])[0], lw.tendons.tendon_jacobian(robot, [np.pi / 2])[0, 0]
    assert_equal(down, [2.0, 0.0])
    ahead, behind = (lw.tendons.tendon_length(robot, [0.4 + h])[0] for h in (1e-6, -1e-6))
    assert abs(lw.tendons.tendon_jacobian(robot, [0.4])[0, 0] - (ahead - behind) / 2e-6) < 1e-9


def test_tendons_of_a_gripper_are_mujocos() -> None:
    path = model_file("robotiq_2f85_v4/2f85_nomesh.xml")
    twin = Twin(lw.load(path, inertias="trust"), mujoco.MjModel.from_xml_path(str(path)), 4)
    assert twin.model.ntendon == len(twin.robot.tendons) > 0
    assert_equal(lw.tendons.tendon_length(twin.robot, twin.q), twin.each("ten_length"))
    assert_equal(lw.tendons.tendon_jacobian(twin.robot, twin.q), twin.tendon_jacobians())


# Simulation -------------------------------------------------------------------------------------------------------


def swinging(damping: float = 0.0, rest: tuple[float, float] = (1.4, 1.6)) -> Mechanism:
    """A double pendulum on a spring over two sites."""
    arm = lw.zoo.pendulum(2).with_frame("hook", "world", (0.7, 0.1, 0.3)).with_frame("eye", "link0", (0.1, 0.05, -0.6))
    path = ("hook", "eye", "tip")
    return arm.with_tendons(
        lw.tendons.Tendon("spring", path=path, stiffness=40.0, damping=damping, rest=rest),
        lw.tendons.Tendon("rope", path=path),
    )


def test_springs_of_tendons_keep_energy_and_dampers_take_it() -> None:
    run = lw.simulate(swinging(rest=(1.0, 1.0)), [1.2, -0.4], seconds=0.5, integrator="rk4", record_every=20)
    energy = run.energy
    assert np.ptp(energy["elastic"]) > 1.0
    assert np.ptp(energy["total"]) < 1e-8 * np.abs(energy["potential"]).max()
    damped = lw.simulate(swinging(damping=2.0), [1.2, -0.4], seconds=0.5, integrator="rk4", record_every=20)
    assert (np.diff(damped.energy["total"]) < 0).all()
    assert lw.Stepper(swinging(), passive=False).program.algorithm.name == "euler_aba"  # nothing pulls


def test_a_rope_goes_taut_at_its_limit() -> None:
    ball = lw.Builder("ball").body("ball", lw.Inertia.sphere(2.0, 0.1)).joint("free", lw.joints.Free(), "world", "ball")
    robot = ball.tendon(lw.tendons.Tendon("rope", path=("world", "ball"), limits=(0.0, 0.3))).build()
    q = np.array([0.0, 0, -0.1, 0, 0, 0, 1])
    run = lw.simulate(robot, q, seconds=1.0, record_every=100, stops_at=q)
    assert abs(run.q[-1][2] + 0.3) < 2e-3  # it hangs, a little below
    free = lw.simulate(robot, q, seconds=0.1, limits=False)
    assert abs(free.q[-1][2] + 0.1 + 0.5 * 9.81 * 0.1**2) < 1e-3
    stiff = replace(robot, tendons=(replace(robot.tendons[0], stop=(1e4, 200.0)),))
    hung = lw.simulate(stiff, q, seconds=1.0, record_every=100)
    assert abs(hung.q[-1][2] + 0.3 + 2 * 9.81 / 1e4) < 1e-6
    assert_equal(lw.tendons.tendon_forces(stiff, hung.q[-1], np.zeros(6))[2], 2 * 9.81, 1e9)


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_steps_in_python_around_any_method_pull_alike(integrator: Literal["euler", "rk4"]) -> None:
    winch = lw.actuators.Actuator(
        "winch", "", (2.0,), tendon="rope", dynamics="filterexact", time_constant=0.01, early=True
    )
    # with euler, dampers that couple joints are exact in compiled steps of trees, and bounded around other methods
    robot = swinging(damping=0.0 if integrator == "euler" else 1.0).with_actuators(winch)
    q, v, act, u = np.array([1.2, -0.4]), np.array([0.3, 0.1]), np.array([0.7]), np.array([-3.0])
    made = lw.Stepper(robot, 1e-3, integrator, limits=False)(q, v, commands=u, act=act, steps=5)
    step = PythonStepper(robot, StepSettings(1e-3, integrator, "aba", limits=False))
    state = State(q, v, Actuation(np.zeros(2), u), np.zeros(0), None, act)
    for _ in range(5):
        state = step(state, 1e-3).state
    assert_equal(made.q, state.q)
    assert_equal(made.v, state.v, 10)
    assert_equal(made.act, state.act)


# Models -----------------------------------------------------------------------------------------------------------


def test_changed_copies_keep_their_tendons() -> None:
    robot = swinging(damping=0.5).with_actuators(
        lw.actuators.Actuator(
            "winch", "", (2.0,), tendon="rope", bias=(0.0, -3.0, -0.2), dynamics="filter", time_constant=0.3
        )
    )
    q, v = np.array([0.3, -0.8]), np.array([0.2, 0.5])
    length, tau = lw.tendons.tendon_length(robot, q), lw.tendons.tendon_forces(robot, q, v)
    pulled = lw.actuators.actuator_torques(robot, q, v, [0.0], [1.5])
    for copy in (
        pickle.loads(pickle.dumps(robot)),
        robot.renamed(lambda name: f"left_{name}"),
        robot.mirrored("xz"),
        lw.compose({"part": robot}),
    ):
        assert_equal(lw.tendons.tendon_length(copy, q), length)
        assert_equal(lw.tendons.tendon_forces(copy, q, v), tau, 10)
        assert_equal(lw.actuators.actuator_torques(copy, q, v, [0.0], [1.5]), pulled, 10)
    locked = robot.reduced({robot.joint_names[1]: -0.8})
    assert_equal(lw.tendons.tendon_length(locked, q[:1]), length)
    half = robot.scaled(length=0.5, mass=2.0)
    by = 2.0 * 0.5**2 / 0.5  # energy: mass length² / time²
    assert_equal(lw.tendons.tendon_length(half, q), 0.5 * length)
    assert_equal(lw.tendons.tendon_forces(half, q, v / np.sqrt(0.5)), by * tau, 10)
    assert_equal(lw.actuators.actuator_torques(half, q, v / np.sqrt(0.5), [0.0], [1.5]), by * pulled, 10)
    assert not robot.without_bodies(robot.body_names[1]).actuators


def test_a_fixed_tendon_of_locked_joints_keeps_its_length() -> None:
    chain = lw.zoo.serial_chain(3)
    names = chain.joint_names
    robot = chain.with_tendons(lw.tendons.Tendon("sum", joints={names[0]: 2.0, names[1]: -0.5}))
    robot = robot.with_actuators(lw.actuators.Actuator("pull", "", (1.0,), tendon="sum"))
    locked = robot.reduced({names[1]: 0.4})
    assert_equal(lw.tendons.tendon_length(locked, [0.3, 0.1]), lw.tendons.tendon_length(robot, [0.3, 0.4, 0.1]))
    nothing = robot.reduced({names[0]: 0.1, names[1]: 0.4})
    assert not nothing.tendons and not nothing.actuators


# Springs of tendons beside simulations -----------------------------------------------------------------------------


def test_inverse_dynamics_is_mujocos(twin: Twin) -> None:
    """Springs and dampers of tendons do their part, as those of joints do."""
    robot, q, v = twin.robot, twin.q, twin.v
    a = np.random.default_rng(5).normal(size=v.shape)
    found = lw.InverseDynamics(robot)(q, v, a)
    rigid = lw.InverseDynamics(robot, passive=False)(q, v, a)
    assert_equal(found, rigid - twin.torques("qfrc_passive"), 1000)
    assert_equal(lw.InverseDynamics(robot).plain()(q[0], v[0], a[0]), found[0], 1000)


def roped_four_bar() -> Mechanism:
    """A four-bar whose coupler hangs on a spring, with a motor on its crank."""
    robot = lw.zoo.four_bar()
    rope = lw.tendons.Tendon("rope", path=(robot.body_names[1], "hook"), stiffness=40.0, damping=0.5, rest=(0.1, 0.1))
    sum = lw.tendons.Tendon("sum", joints=dict.fromkeys(robot.joint_names[:2], 0.7), stiffness=15.0, rest=(0.3, 0.3))
    return (
        robot.with_frame("hook", "world", (0.3, 0.0, 1.0)).with_tendons(rope, sum).with_actuators(robot.joint_names[0])
    )


@pytest.mark.parametrize("method", ["cluster", "actuated", "least"])
def test_inverse_dynamics_of_loops_with_springs_on_tendons_is_undone_by_forward_dynamics(
    method: Literal["cluster", "actuated", "least"],
) -> None:
    robot = roped_four_bar()
    q = robot.assemble(robot.random(3))
    v = robot.project_velocity(q, np.ones(robot.nv))
    s = lw.InverseDynamics(robot, method).solve(q, v, np.full(robot.nv, 2.0))
    p = lw.passive_forces(robot, q, v) + lw.tendons.tendon_forces(robot, q, v)
    assert np.abs(lw.tendons.tendon_forces(robot, q, v)).max() > 1.0
    np.testing.assert_allclose(
        lw.ForwardDynamics(robot, "kkt")(q, v, s.torque + p).acceleration, s.acceleration, rtol=0, atol=1e-8
    )


def test_jacobians_of_inverse_dynamics_have_springs_of_tendons() -> None:
    robot, q, v, a = swinging(0.5, (1.0, 1.0)), np.array([0.3, -0.8]), np.array([0.5, 0.2]), np.array([1.0, -1.0])
    inverse, h = lw.InverseDynamics(robot), 1e-6
    found = inverse.derivatives(q, v, a)
    along = h * np.eye(2)
    np.testing.assert_allclose(
        found.dtau_dq, ((inverse(q + along, v, a) - inverse(q - along, v, a)) / (2 * h)).T, atol=1e-7
    )
    np.testing.assert_allclose(
        found.dtau_dv, ((inverse(q, v + along, a) - inverse(q, v - along, a)) / (2 * h)).T, atol=1e-7
    )


def test_a_continuous_linear_system_has_springs_of_tendons_and_gravity_compensation() -> None:
    robot, q, v = swinging(0.5, (1.0, 1.0)), np.array([0.3, -0.8]), np.array([0.5, 0.2])
    body = robot.body_names[1]
    robot = replace(robot, gravity_compensation={body: lw.Inertia(0.6, robot.inertias[body].com)})
    system, h = lw.linearize(robot, q, v), 1e-6

    def accelerations(q: Floats, v: Floats) -> Floats:
        p = (
            lw.passive_forces(robot, q, v)
            + lw.tendons.tendon_forces(robot, q, v)
            + lw.actuators.gravity_compensation(robot, q)
        )
        found: Floats = lw.ForwardDynamics(robot)(q, v, p).acceleration
        return found

    along = h * np.eye(2)
    by_q = (accelerations(q + along, v) - accelerations(q - along, v)).T / (2 * h)
    by_v = (accelerations(q, v + along) - accelerations(q, v - along)).T / (2 * h)
    np.testing.assert_allclose(system.A[2:], np.hstack([by_q, by_v]), atol=1e-7)
    np.testing.assert_allclose(system.rate[2:], accelerations(q, v), rtol=1e-12)


def test_a_robot_hangs_on_springs_of_tendons() -> None:
    robot = swinging(rest=(1.0, 1.0))
    found = robot.equilibrium([0.3, -0.8])
    assert not found.torque.any() and found.missing < 1e-8
    still = np.zeros(robot.nv)
    assert_equal(lw.gravity_forces(robot, found.q), lw.tendons.tendon_forces(robot, found.q, still), 1e4)
    assert np.abs(lw.tendons.tendon_forces(robot, found.q, still)).max() > 0.1


WRONG = {
    "neither": (lambda: lw.tendons.Tendon("t"), "either joints with coefficients, or a path"),
    "one site": (lambda: lw.tendons.Tendon("t", path=("a",)), "needs two sites or more"),
    "mixed": (
        lambda: lw.tendons.Tendon("t", path=("a", lw.tendons.Branch(("b", "c")))),
        "path has frames and branches",
    ),
    "divisor": (lambda: lw.tendons.Branch(("a", "b"), 0.0), "divisor of a pulley"),
    "stiffness": (lambda: lw.tendons.Tendon("t", path=("a", "b"), stiffness=-1.0), "stiffness is -1.0"),
    "rest": (lambda: lw.tendons.Tendon("t", path=("a", "b"), rest=(2, 1)), "rest is 2.0 to 1.0"),
    "frame": (lambda: swinging().with_tendons(lw.tendons.Tendon("t", path=("hook", "tap"))), "no body or frame 'tap'"),
    "joint": (lambda: swinging().with_tendons(lw.tendons.Tendon("t", joints={"knee": 1.0})), "no joint 'knee'"),
    "name": (
        lambda: swinging().with_tendons(lw.tendons.Tendon("rope", path=("hook", "tip"))),
        "two tendons are called so",
    ),
    "actuator": (
        lambda: swinging().with_actuators(lw.actuators.Actuator("a", "", (1.0,), tendon="rop")),
        "'rop', which does not",
    ),
    "gears": (
        lambda: swinging().with_actuators(lw.actuators.Actuator("a", "", (1.0, 2.0), tendon="rope")),
        "no joint, and one gear",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_with_a_tendon_is_said(case: str) -> None:
    make, words = WRONG[case]
    with pytest.raises(lw.errors.LinkworkError, match=words):
        make()


# Files ------------------------------------------------------------------------------------------------------------

WRAPPED = '<tendon><spatial name="t"{0}><site site="w0"/><geom geom="pole"/><site site="a0"/></spatial></tendon>'
BODY = """<worldbody><site name="w0"/><geom name="g" size=".1"/><body name="a"><joint name="j"/><geom size=".1"/>
<site name="a0" pos="1 0 0"/></body></worldbody>"""


def test_an_equality_of_a_tendon_that_wraps_is_refused() -> None:
    path = '<site site="w0"/><geom geom="pole"/><site site="a0"/>'
    around = BODY.replace("<worldbody>", '<worldbody><geom name="pole" size=".01"/>')
    words = f'<mujoco>{around}<tendon><spatial name="t">{path}</spatial></tendon></mujoco>'
    assert lw.loads(words, "mjcf").tendon("t").has_wraps
    with pytest.raises(lw.errors.UnsupportedFeature, match="wraps around a geom"):
        lw.loads(words.replace("</mujoco>", '<equality><tendon tendon1="t"/></equality></mujoco>'), "mjcf")


def test_models_of_mujoco_bring_their_tendons() -> None:
    words = text(PULLING)
    read = lw.loads(words, "mjcf")
    robot = lw.peers.from_mujoco(mujoco.MjModel.from_xml_string(words))
    q, v = read.random(3), np.linspace(-1, 1, read.nv)
    assert_equal(lw.tendons.tendon_length(robot, q), lw.tendons.tendon_length(read, q))
    assert_equal(lw.tendons.tendon_forces(robot, q, v), lw.tendons.tendon_forces(read, q, v), 1000)
    assert [(a.name, a.tendon) for a in robot.actuators] == [(a.name, a.tendon) for a in read.actuators]
    np.testing.assert_allclose([t.rest for t in robot.tendons[:3]], [t.rest for t in read.tendons[:3]], rtol=1e-14)
