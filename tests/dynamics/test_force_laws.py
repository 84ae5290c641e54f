# SPDX-License-Identifier: BSD-3-Clause
"""Force elements: their torques, states and energies, in steps, inverse dynamics, equilibria and linearization."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import ModelError, UnsupportedFeature
from linkwork.mechanism import Mechanism
from linkwork.model.forces import ForceElement

ELEMENTS: dict[str, Callable[[], ForceElement]] = {
    "spring": lambda: lw.Spring("anchor", "tip", 40.0, free_length=0.4, preload=3.0),
    "damper": lambda: lw.Damper("anchor", ("link2", (0.2, 0.1, 0.0)), damping=2.0),
    "table": lambda: lw.SpringDamper(
        "anchor", "tip", lw.profiles.spline([-1, 0, 1, 2], [-9, 0, 4, 20]), free_length=0.4
    ),
    "gas": lambda: lw.forces.GasSpring("anchor", "tip", force=20, length=0.5, volume=1e-4, area=1e-4),
    "stop": lambda: lw.forces.BumpStop("link0", "tip", length=2.0, stiffness=50, exponent=1.5, damping=0.1),
    "cylinder": lambda: lw.forces.HydraulicCylinder(
        "anchor", "tip", pressure=2e4, area=1e-3, rod_pressure=1e4, rod_area=5e-4
    ),
    "torsion": lambda: lw.forces.TorsionSpring("yaw", stiffness=3.0, damping=0.2, rest=0.2, preload=0.1),
    "friction": lambda: lw.forces.TorsionSpring("yaw", damping=lambda v: 0.3 * np.tanh(v / 0.1)),
    "stribeck": lambda: lw.forces.Friction("yaw", 0.2, 0.5, stribeck=0.8, viscous=0.1, slip=0.3),
    "shaft": lambda: lw.forces.TorsionSpring({"yaw": 2.0, "slide": -0.7}, stiffness=3.0, rest=0.1),
    "clutch": lambda: lw.forces.Clutch("yaw", "slide", ratio=0.5, capacity=0.4, slip=0.2),
    "freewheel": lambda: lw.forces.OneWayClutch("yaw", "slide", capacity=0.4, slip=0.2),
    "backlash": lambda: lw.forces.Backlash("yaw", "slide", gap=0.02, stiffness=5.0, damping=0.3, ratio=2.0),
    "cam": lambda: lw.machines.Cam(lambda t: 0.2 * np.sin(2 * t), 0.5).contact("yaw", "slide", stiffness=9.0),
    "bushing": lambda: lw.forces.Bushing(
        "link0", ("link2", (0.1, 0, 0)), stiffness=[1, 2, 3, 10, 20, 30], damping=np.eye(6)
    ),
    "law": lambda: lw.Force("anchor", "tip", lambda x, rate: -5 * x**3 - 0.2 * rate * np.abs(rate)),
    "follower": lambda: lw.Force(("link2", (0.5, 0, 0)), lambda t: (0, 0.1, 0, 1, 2, 3), axes="local"),
}
CONSERVATIVE = ("spring", "gas", "law", "torsion", "shaft")


@cache
def arm() -> Mechanism:
    build = lw.Builder("arm")
    for k in range(3):
        build.body(f"link{k}", lw.Inertia.box(1.0, (0.5, 0.3, 0.2)))
    build.joint("yaw", lw.joints.Revolute("z"), "world", "link0")
    build.joint("slide", lw.joints.Prismatic("y"), "link0", "link1", at=(0.5, 0, 0))
    build.joint("ball", lw.joints.Spherical(), "link1", "link2", at=(0.5, 0, 0))
    build.frame("tip", "link2", (0.5, 0, 0))
    build.frame("anchor", "world", (0, 0.2, 1.0))
    return build.build()


def state(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    return arm().random(seed), np.random.default_rng(seed).standard_normal(arm().nv)


def test_a_spring_between_points_is_a_tendon_with_two_sites() -> None:
    q, v = state()
    cable = lw.tendons.Tendon("s", path=("anchor", "tip"), stiffness=300.0, damping=5.0, rest=(0.4, 0.4))
    tendon, spring = arm().with_tendons(cable), arm().with_forces(lw.SpringDamper("anchor", "tip", 300, 5, 0.4))
    pulled = lw.tendons.tendon_forces(tendon, q, v)
    np.testing.assert_allclose(lw.forces.element_forces(spring, q, v), pulled, rtol=0, atol=1e-11)
    runs = [lw.simulate(robot, q, v, seconds=0.05, integrator="rk4").q[-1] for robot in (tendon, spring)]
    np.testing.assert_allclose(runs[0], runs[1], rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", ELEMENTS)
def test_power_of_an_element_is_force_times_rate(name: str) -> None:
    """Torques do the work that forces do along their coordinates, whatever the law: ``tau . v = f . x'``."""
    robot = arm().with_forces(ELEMENTS[name]())
    for seed in range(3):
        q, v = state(seed)
        (found,) = lw.forces.element_states(robot, q, v).values()
        if name == "follower":
            twist = lw.frame_velocity(arm(), q, v, "tip")
            power = np.dot([0, 0.1, 0, 1, 2, 3], twist)
        else:
            power = float(found.force @ found.rate)
        assert abs(float(lw.forces.element_forces(robot, q, v) @ v) - power) <= 1e-11 * (1 + abs(power))
        moved = (lw.forces.element_states(robot, arm().integrate(q, s * v), v) for s in (1e-6, -1e-6))
        ahead, behind = (next(iter(x.values())).coordinate for x in moved)
        first = 3 if len(found.rate) == 6 else 0  # rotations are of finite size here
        np.testing.assert_allclose((ahead - behind)[first:] / 2e-6, found.rate[first:], rtol=0, atol=1e-7)


@pytest.mark.parametrize("name", ELEMENTS)
def test_inverse_dynamics_equilibrium_and_steps_count_the_same_torques(name: str) -> None:
    robot, (q, v) = arm().with_forces(ELEMENTS[name]()), state()
    torques, none = lw.forces.element_forces(robot, q, v), np.zeros(arm().nv)
    a = lw.ForwardDynamics(robot)(q, v, torques).acceleration
    np.testing.assert_allclose(lw.InverseDynamics(robot)(q, v, a), none, rtol=0, atol=1e-10)
    np.testing.assert_allclose(lw.InverseDynamics(robot, passive=False)(q, v, a), torques, rtol=0, atol=1e-10)
    stepped = lw.Stepper(robot, 1e-6, "rk4")(q, v, none).v
    np.testing.assert_allclose((stepped - v) / 1e-6, a, rtol=0, atol=2e-3 * (1 + np.abs(a).max()))


@pytest.mark.parametrize("name", CONSERVATIVE)
def test_energy_is_kept_to_the_order_of_the_integrator(name: str) -> None:
    robot, (q, v) = arm().with_forces(ELEMENTS[name]()), state()
    if name == "law":
        robot = arm().with_forces(lw.Spring("anchor", "tip", 40.0, free_length=0.4))
    if name == "torsion":
        robot = arm().with_forces(lw.forces.TorsionSpring("yaw", stiffness=3.0, rest=0.2, preload=0.1))
    drift = []
    for h in (8e-3, 4e-3):
        total = lw.simulate(robot, q, v, seconds=0.2, dt=h, integrator="rk4").energy["total"]
        drift.append(abs(total[-1] - total[0]))
    assert drift[1] < drift[0] / 10 or drift[0] < 1e-10


@pytest.mark.parametrize("name", ["spring", "damper", "gas", "bushing", "stribeck", "clutch", "backlash"])
def test_derivatives_of_steps_and_linearization_see_elements(name: str) -> None:
    robot, (q, v), h = arm().with_forces(ELEMENTS[name]()), state(), 1e-6
    stepper, none = lw.Stepper(robot, 1e-2, "rk4"), np.zeros(arm().nv)
    found = stepper.derivatives(q, v, none)
    for k, x in enumerate(np.eye(arm().nv)):
        after = [stepper(q, v + s * h * x, none).v for s in (1, -1)]
        np.testing.assert_allclose(
            found.A[arm().nv :, arm().nv + k], (after[0] - after[1]) / (2 * h), rtol=0, atol=1e-7
        )
    A = lw.linearize(robot, q, v).A
    fd = lw.ForwardDynamics(robot)
    for k, x in enumerate(np.eye(arm().nv)):
        ends = [v + s * h * x for s in (1, -1)]
        a = [fd(q, u, lw.forces.element_forces(robot, q, u)).acceleration for u in ends]
        np.testing.assert_allclose(A[arm().nv :, arm().nv + k], (a[0] - a[1]) / (2 * h), rtol=0, atol=1e-5)


def test_a_spring_carries_a_weight_in_equilibrium() -> None:
    build = lw.Builder("scale")
    build.body("pan", lw.Inertia.sphere(2.0, 0.1))
    build.joint("slide", lw.joints.Prismatic("z"), "world", "pan")
    robot = build.build().with_forces(lw.Spring(("world", (0, 0, 1)), "pan", 100.0, free_length=0.5))
    found = robot.equilibrium([0.2])
    np.testing.assert_allclose(1 - found.q, 0.5 + 2 * 9.81 / 100, rtol=0, atol=1e-9)


def test_forces_of_time_act_at_the_time_of_every_stage() -> None:
    """A point mass under a sine: position and velocity are known."""
    build = lw.Builder("mass")
    build.body("mass", lw.Inertia.sphere(2.0, 0.1))
    build.joint("slide", lw.joints.Prismatic("x"), "world", "mass")
    robot = build.build().with_forces(lw.Force("mass", lambda t: (3 * np.sin(4 * t), 0, 0)))
    run = lw.simulate(robot, seconds=1.0, dt=5e-3, integrator="rk4", start=0.25)
    t = run.times
    speed = 3 / 2 / 4 * (np.cos(1.0) - np.cos(4 * t))
    np.testing.assert_allclose(run.v[:, 0], speed, rtol=0, atol=1e-9)


def test_elements_act_in_batches_and_compiled_code_and_in_float32() -> None:
    robot = arm().with_forces(*(replace(make(), name=name) for name, make in ELEMENTS.items() if name != "follower"))
    q, v = (np.array(x) for x in zip(*(state(k) for k in range(9)), strict=True))
    alone = np.array([lw.forces.element_forces(robot, a, b) for a, b in zip(q, v, strict=True)])
    evaluator = lw.Evaluator(robot, "element_forces")
    for one in (evaluator, evaluator.compile()):
        np.testing.assert_allclose(one(q, v), alone, rtol=0, atol=1e-10)
    run = lw.rollouts(robot, q, v, seconds=0.02, dt=1e-3, integrator="rk4", compile=False)
    single = lw.simulate(robot, q[4], v[4], seconds=0.02, dt=1e-3, integrator="rk4")
    np.testing.assert_allclose(run.q[-1, 4], single.q[-1], rtol=0, atol=1e-11)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: arm().with_forces(lw.Spring("nowhere", "tip", 3.0)), "no body or frame 'nowhere'"),
        (lambda: arm().with_forces(lw.forces.TorsionSpring("ball", stiffness=1.0)), "several coordinates"),
        (lambda: lw.Spring("crank", 100.0), r"'body' or \('body', \(x, y, z\)\), not as 100.0"),
        (lambda: lw.Spring("crank", ("tip", 1.0, 2.0)), "not as"),
        (lambda: lw.Force("tip", lambda t: (1, 2)), "needs 3 .* or 6"),
        (lambda: lw.Force("tip", 3.0), "needs a function"),
        (lambda: lw.forces.Friction("yaw", -1.0), "coulomb friction is -1"),
        (lambda: lw.forces.Friction("yaw", 1.0, slip=0.0), "velocities must be > 0"),
        (lambda: lw.forces.Clutch("yaw", "yaw", capacity=1.0), "joins 'yaw' and 'yaw'"),
        (lambda: lw.forces.OneWayClutch("yaw", capacity=0.0), "capacity is 0, needs a number > 0"),
        (lambda: lw.forces.Backlash("yaw", gap=-1.0, stiffness=1.0), "gap is -1"),
        (lambda: lw.forces.TorsionSpring({"yaw": 0.0}), "none zero"),
        (lambda: lw.Spring("a", "b", np.nan), "needs a finite number"),
        (lambda: lw.forces.Bushing("a", "b", stiffness=[1, 2]), r"needs \(6,\) or \(6, 6\)"),
        (
            lambda: arm().with_forces(lw.Spring("anchor", "tip", 1.0), lw.Spring("anchor", "tip", 2.0)),
            "two force elements",
        ),
    ],
)
def test_bad_elements_are_refused_in_words(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(ModelError, match=words):
        make()


def test_what_does_not_know_how_laws_change_refuses_them() -> None:
    robot = arm().with_forces(lw.Spring("anchor", "tip", 3.0))
    for change in (lambda: robot.mirrored("xz"), lambda: robot.scaled(2.0), lambda: lw.compose({"one": robot})):
        with pytest.raises(UnsupportedFeature, match="cannot transform: leave it out"):
            change()


def test_wrenches_may_be_functions_of_time_and_state() -> None:
    """A spring and a damper written as a wrench on a slider is the spring and the damper of its joint."""
    build = lw.Builder("mass")
    build.body("mass", lw.Inertia.sphere(2.0, 0.1))
    build.joint("slide", lw.joints.Prismatic("x"), "world", "mass")
    robot = build.build()

    def pull(t: Any, q: Any, v: Any) -> Any:
        return 0, 0, 0, 5 * np.sin(3 * t) - 40 * q[0] - 0.5 * v[0], 0, 0

    run = lw.simulate(robot, [0.1], seconds=0.5, dt=1e-3, integrator="rk4", wrenches={"mass": pull})
    spring = lw.forces.TorsionSpring("slide", stiffness=40.0, damping=0.5)
    push = lw.Force("mass", lambda t: (5 * np.sin(3 * t), 0, 0))
    same = lw.simulate(robot.with_forces(spring, push), [0.1], seconds=0.5, dt=1e-3, integrator="rk4")
    np.testing.assert_allclose(run.q, same.q, rtol=0, atol=1e-13)


def test_files_refuse_laws_and_motions_or_leave_them_out_on_request() -> None:
    sprung = arm().with_forces(lw.Spring("anchor", "tip", 3.0, name="spring"))
    driven = arm().constrained(lw.Drive("yaw", lambda t: t))
    for robot, kind, words in (
        (sprung, "springs", "has no force elements"),
        (driven, "constraints", "has no constraints that follow time"),
    ):
        for format in ("mjcf", "urdf", "sdf"):
            with pytest.raises(lw.errors.CannotSave, match=words):
                robot.to_text(format)
        with pytest.warns(lw.errors.ModelWarning, match=words):
            robot.to_text("mjcf", drop=[kind])
