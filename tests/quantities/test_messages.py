# SPDX-License-Identifier: BSD-3-Clause
"""What errors of calls say, word for word: which argument, what was found, what is needed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.dynamics.methods import METHODS
from linkwork.inputs import advised
from linkwork.quantities.evaluator import Evaluator


@pytest.fixture(scope="module")
def arm() -> lw.Mechanism:
    build = lw.Builder("arm")
    build.body("base", lw.Inertia.box(2, (1, 1, 1))).joint("free", lw.joints.Free(), "world", "base")
    build.body("upper", lw.Inertia.box(2, (1, 1, 1))).joint("shoulder", lw.joints.Revolute("y"), "base", "upper")
    build.body("sledge", lw.Inertia.box(2, (1, 1, 1))).joint("floor", lw.joints.Planar(), "world", "sledge")
    return build.frame("hand", on="upper").build()


Q = np.array([0, 0, 0, 0, 0, 0, 1, 0.5, 0, 0, 1, 0], dtype=float)
V = np.zeros(10)


def spoilt(x: np.ndarray, at: Any, value: float) -> np.ndarray:
    x = x.copy()
    x[at] = value
    return x


CALLS: dict[str, tuple[Callable[[lw.Mechanism], Any], str]] = {
    "short q": (
        lambda r: lw.ForwardDynamics(r)(Q[:-1], V, V),
        "q has 11 numbers, robot 'arm' needs 12 (q[3:7] of unit length, q[10:12] of unit length)",
    ),
    "long v": (lambda r: lw.ForwardDynamics(r)(Q, np.zeros(11), V), "v has 11 numbers, robot 'arm' needs 10"),
    "short tau": (lambda r: lw.ForwardDynamics(r)(Q, V, V[:3]), "tau has 3 numbers, robot 'arm' needs 10"),
    "nan": (lambda r: lw.InverseDynamics(r)(Q, spoilt(V, 4, np.nan), V), "v holds NaN at index 4"),
    "infinity in a batch": (
        lambda r: lw.InverseDynamics(r)(Q, V, spoilt(np.zeros((3, 10)), (2, 7), np.inf)),
        "a holds infinity at index (2, 7)",
    ),
    "zero quaternion": (
        lambda r: lw.mass_matrix(r, spoilt(Q, 6, 0.0)),
        "q[3:7] is a quaternion of zero length",
    ),
    "zero direction in a batch": (
        lambda r: lw.mass_matrix(r, spoilt(np.tile(Q, (2, 1)), (1, 10), 0.0)),
        "q[10:12] of state (1,) is a direction (cos, sin) of zero length",
    ),
    "complex": (lambda r: lw.mass_matrix(r, Q * 1j), "q has dtype complex128, needs real numbers"),
    "leading axes": (
        lambda r: lw.ForwardDynamics(r)(np.tile(Q, (2, 1)), np.zeros((3, 10)), V),
        "leading axes do not broadcast: q (2,), v (3,)",
    ),
    "wrenches": (
        lambda r: lw.ForwardDynamics(r, wrenches=["hand"])(Q, V, V, np.zeros(6)),
        "wrenches has shape (6,), robot 'arm' needs (..., 1, 6)",
    ),
    "out": (lambda r: lw.mass_matrix(r, Q, out=np.zeros((9, 9))), "out for M has shape (9, 9), needs (10, 10)"),
    "read-only out": (
        lambda r: lw.gravity_forces(r, Q, out=np.broadcast_to(0.0, 10)),
        "out for tau is read-only",
    ),
    "frame": (lambda r: lw.frame_jacobian(r, Q, "hnad"), "robot 'arm' has no frame 'hnad'; did you mean 'hand'?"),
    "reference": (
        lambda r: lw.frame_jacobian(r, Q, "hand", "body"),
        "reference 'body' is none of local, aligned, world",
    ),
    "world acceleration": (
        lambda r: lw.frame_acceleration(r, Q, V, V, "hand", "world"),
        "the acceleration of a point has no meaning at the world's origin: use 'local' or 'aligned'",
    ),
    "method": (
        lambda r: lw.ForwardDynamics(r, method="magic"),
        f"no method 'magic'; there are auto, {', '.join(METHODS)}",
    ),
    "lanes": (
        lambda r: lw.ForwardDynamics(r).compile(lanes=3),
        "lanes is 3, needs 'auto' or one of 1, 2, 4, 8, 16",
    ),
    "dtype": (
        lambda r: lw.ForwardDynamics(r).compile(dtype="float16"),
        "dtype 'float16' is neither 'float64' nor 'float32'",
    ),
    "arguments": (
        lambda r: Evaluator(r, "mass_matrix")(Q, V),
        "mass_matrix takes q; 2 arguments were given",
    ),
    "torques of motors alone": (
        lambda r: lw.ForwardDynamics(r.with_actuators("shoulder"))(Q, V, V[:1]),
        "tau has 1 number, robot 'arm' needs 10; these are as many as it has motors: torques of all joints are "
        "needed, 0 where no motor is: tau = np.zeros(robot.nv), and tau[robot.v_index(joint)] for each motor's joint",
    ),
    "a pose that is not named": (
        lambda r: r.constrained(lw.constraints.Point("world", "hand"), [0.0] * 12),
        f"{[0.0] * 12} is not a constraint, such as Weld or Gear; a configuration at which constraints are to hold is "
        "given by name: at=q",
    ),
    "body": (lambda r: r.inertias["uper"], "robot 'arm' has no body 'uper'; did you mean 'upper'?"),
    "frame by name": (lambda r: r.frames["HAND"], "robot 'arm' has no frame 'HAND'; did you mean 'hand'?"),
    "joint": (lambda r: r.v_slice("knee"), "robot 'arm' has no joint 'knee'; there are free, shoulder, floor"),
    "part of a name": (lambda r: r.joint("should"), "robot 'arm' has no joint 'should'; did you mean 'shoulder'?"),
    "pose": (lambda r: r.poses["home"], "robot 'arm' has no pose 'home'"),
    "constraint": (lambda r: r.switched({"loop": False}), "robot 'arm' has no constraint 'loop'"),
    "option of a simulation": (
        lambda r: lw.simulate(r, Q, seconds=0.1, time_step=1e-3),
        "simulate has no option 'time_step'; did you mean 'time_constant'?",
    ),
    "option of rollouts": (
        lambda r: lw.rollouts(r, Q[None], seconds=0.1, iteration=2),
        "rollouts has no option 'iteration'; did you mean 'max_iterations', 'integrator'?",
    ),
    "robot": (lambda r: lw.mass_matrix("arm", Q), "robot is str, needs a Mechanism (from load, Builder or compose)"),
    "robot to attach": (
        lambda r: lw.attach(r, "hand", to="hand"),
        "robot is str, needs a Mechanism (from load, Builder or compose)",
    ),
    "robots of a scene": (
        lambda r: lw.compose([r, r]),
        "parts is list, needs mechanisms by key: {'left': robot, 'right': robot}",
    ),
    "robot of a map": (
        lambda r: lw.peers.mujoco_map(3),
        "robot is int, needs a Mechanism (from load, Builder or compose)",
    ),
    "quantity": (
        lambda r: Evaluator(r, "mass_matrx"),
        "no quantity 'mass_matrx'; did you mean 'mass_matrix', 'inverse_mass_matrix'?",
    ),
    "integrator": (lambda r: lw.Stepper(r, integrator="rk5"), "no integrator 'rk5'; did you mean 'rk4'?"),
    "no sensors": (
        lambda r: lw.sensors.Sensors(r.with_sensors(lw.sensors.Sensor("spin", "gyro", "hand")), []),
        "names of sensors is empty; by default, names=None, all are computed",
    ),
    "joints to lock": (
        lambda r: r.reduced(None),
        "fixed is None, needs a list of joints, or coordinates by joint: {'elbow': 0.0}",
    ),
    "where a joint is locked": (
        lambda r: r.reduced({"shoulder": "up"}),
        "coordinate of locked joint 'shoulder' is 'up', needs numbers",
    ),
    "new names": (
        lambda r: r.renamed("left"),
        "names is 'left', needs new names by old ones, or a function from old to new ones",
    ),
    "no shapes for collision": (
        lambda r: r.with_contacts(visual=True),
        "no moving body of robot 'arm' has a shape for collision: give one, e.g. robot.with_contacts("
        "lw.contact.ContactShape('foot', 'sledge', lw.shapes.Sphere(0.02)))",
    ),
    "torques of a function": (
        lambda r: lw.simulate(r, Q, seconds=0.1, tau=lambda t, q, v: V),
        "tau is a function, needs numbers; controller= takes a function of t, q, v",
    ),
    "part of the way": (lambda r: r.interpolate(Q, Q, "half"), "part is 'half', needs numbers"),
    "nan of the way": (lambda r: r.interpolate(Q, Q, np.nan), "part holds NaN or infinity"),
    "size of a batch": (
        lambda r: r.random_states(0, -1),
        "size is -1, needs a whole number >= 0, or several",
    ),
    "sizes of a batch": (
        lambda r: r.random(0, (2, 0.5)),
        "size is (2, 0.5), needs a whole number >= 0, or several",
    ),
}


@pytest.mark.parametrize("call", CALLS)
def test_the_error_says_what_is_wrong(arm: lw.Mechanism, call: str) -> None:
    make, message = CALLS[call]
    with pytest.raises(lw.errors.InputError, match=f"^{re.escape(message)}$"):
        make(arm)


@pytest.fixture(scope="module")
def linkage() -> lw.Mechanism:
    """A four-bar whose joint 'ankle' is the constraint that closes the loop."""
    build = lw.Builder("linkage")
    for name in ("crank", "coupler", "rocker"):
        build.body(name, lw.Inertia.rod(1.0, (0, 0, 0), (1, 0, 0)))
    build.joint("motor", lw.joints.Revolute("y"), "world", "crank", actuated=True)
    build.joint("knee", lw.joints.Revolute("y"), "crank", "coupler", at=(1, 0, 0))
    build.joint("hip", lw.joints.Revolute("y"), "world", "rocker", at=(1, 0, 0))
    build.joint("ankle", lw.joints.Revolute("y"), "coupler", "rocker", at=(1, 0, 0), child_at=(1, 0, 0))
    return build.build()


AS_JOINT: dict[str, Callable[[lw.Mechanism], Any]] = {
    "a joint": lambda r: r.joint("ankle"),
    "coordinates": lambda r: r.q_slice("ankle"),
    "a drive": lambda r: r.constrained(lw.Drive("ankle", lambda t: t, name="drive")),
    "a spring": lambda r: r.with_forces(lw.forces.TorsionSpring("ankle", 1.0, name="spring")),
    "positions over time": lambda r: lw.simulate(r, seconds=0.001).joint_position("ankle"),
}


@pytest.mark.parametrize("use", AS_JOINT)
def test_a_joint_that_closes_a_loop_is_called_a_constraint(linkage: lw.Mechanism, use: str) -> None:
    with pytest.raises(lw.errors.LinkworkError, match=r"no joint 'ankle': it is a constraint.*actuated=True"):
        AS_JOINT[use](linkage)


@pytest.mark.parametrize(
    ("name", "meant"),
    [("forward_dynamics", "ForwardDynamics"), ("Simulate", "simulate"), ("mass_matrx", "mass_matrix")],
)
def test_a_name_that_the_package_lacks_suggests_others(name: str, meant: str) -> None:
    with pytest.raises(AttributeError, match=f"no attribute '{name}'; did you mean .*'{meant}'"):
        getattr(lw, name)


METHODS_OF_NAMES = [
    *("without_bodies", "with_actuated", "with_independent", "without_actuators", "without_frames"),
    *("without_contacts", "unconstrained"),
]


@pytest.mark.parametrize("method", METHODS_OF_NAMES)
def test_names_in_a_list_are_to_be_given_one_by_one(arm: lw.Mechanism, method: str) -> None:
    with pytest.raises(lw.errors.InputError, match=re.escape(f"{method} takes names, not ['upper']: {method}(*names)")):
        getattr(arm, method)(["upper"])


PARTS: dict[str, tuple[Callable[[lw.Mechanism], Any], str]] = {
    "rest": (lambda r: lw.tendons.Tendon("t", {"shoulder": 1.0}, rest=3), "tendon 't': rest is 3, needs two numbers"),
    "limits": (
        lambda r: lw.tendons.Tendon("t", {"shoulder": 1.0}, limits="no"),
        "tendon 't': limits is 'no', needs numbers",
    ),
    "joints": (
        lambda r: lw.tendons.Tendon("t", ["shoulder"]),
        "tendon 't': joints is ['shoulder'], needs coefficients by joint, such as {'knee': 0.5}",
    ),
    "gear": (
        lambda r: r.with_actuators(lw.actuators.Actuator("m", "shoulder", 2.0)),
        "actuator 'm' has the gear 2.0, needs a tuple of finite numbers",
    ),
    "gain": (
        lambda r: r.with_actuators(lw.actuators.Actuator("m", "shoulder", (1.0,), gain=3.0)),
        "actuator 'm' has the gain 3.0, needs three finite numbers",
    ),
    "range": (
        lambda r: r.with_actuators(lw.actuators.Actuator("m", "shoulder", (1.0,), limits=(2.0, 1.0))),
        "actuator 'm' has limits (2.0, 1.0), needs two numbers, the first not greater",
    ),
}


@pytest.mark.parametrize("part", PARTS)
def test_numbers_of_tendons_and_actuators_are_checked(arm: lw.Mechanism, part: str) -> None:
    make, message = PARTS[part]
    with pytest.raises(lw.errors.ModelError, match=f"^{re.escape(message)}$"):
        make(arm)


@pytest.mark.parametrize("frame", [3, None, ["hand", 3], [["hand"]], ("hand", None)], ids=str)
def test_a_frame_that_is_no_name_is_an_input_error(arm: lw.Mechanism, frame: Any) -> None:
    with pytest.raises(lw.errors.InputError, match="frame"):
        lw.frame_jacobian(arm, Q, frame)


@pytest.mark.parametrize("reference", [None, 0, ["local"], "LOCAL"], ids=str)
def test_axes_that_are_none_are_an_input_error(arm: lw.Mechanism, reference: Any) -> None:
    with pytest.raises(lw.errors.InputError, match="reference"):
        lw.frame_velocity(arm, Q, V, "hand", reference)


@pytest.mark.parametrize("threads", [0, -1, 1.5, "two"], ids=str)
def test_threads_are_a_whole_number_above_zero(arm: lw.Mechanism, threads: Any) -> None:
    with pytest.raises(lw.errors.InputError, match="threads"):
        lw.ForwardDynamics(arm, threads=threads)


def test_a_result_beyond_the_largest_number_is_an_input_error(arm: lw.Mechanism) -> None:
    with pytest.raises(lw.errors.InputError, match="the result is not finite: numbers are too large for float64"):
        lw.InverseDynamics(arm)(Q, V + 1e200, V)


def test_an_input_error_is_a_value_error() -> None:
    assert issubclass(lw.errors.InputError, ValueError)
    assert issubclass(lw.errors.InputError, lw.errors.LinkworkError)


def test_advised_numbers_are_rounded_down() -> None:
    """ "Try dt=0.002 or less", rounded from 0.00196, was the step that was tried."""
    assert advised(0.00196) == "0.0019" and advised(0.002) == "0.002" and advised(0.5) == "0.5"
    for x in 10.0 ** np.linspace(-9, 3, 200):
        assert 0.9 * x < float(advised(x)) <= x * (1 + 1e-9)


def servo(damping: float) -> lw.Mechanism:
    build = (
        lw.Builder("servo")
        .body("arm", lw.Inertia.sphere(1.0, 0.1))
        .joint("hinge", lw.joints.Revolute("y"), "world", "arm")
    )
    return build.actuator("motor", "hinge", gain=(1, 0, 0), bias=(0, -1, -damping)).build()


def test_no_step_is_advised_that_nobody_would_take() -> None:
    for damping, advice in ((6.0, "euler.*or dt=0.00066 or less"), (6000.0, "euler.*no step that is worth it")):
        with pytest.warns(RuntimeWarning, match=advice):
            lw.simulate(servo(damping), [0.0], seconds=0.002, dt=0.001, integrator="rk4", commands=[0.0])


def test_several_joints_stop_and_one_stops() -> None:
    robot = lw.zoo.four_bar()
    q = robot.poses["assembled"]
    for joints, way, word in ((["A", "B"], [0.0, 0.5], "stop"), (["D"], [3.0], "stops")):
        start = np.array([q[robot.q_index(name)] for name in joints])
        with pytest.raises(lw.errors.AssemblyError, match=f"{', '.join(joints)} {word} at"):
            robot.sweep(joints, np.stack([start, start + way]), q)
