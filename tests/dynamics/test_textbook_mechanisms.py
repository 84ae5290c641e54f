# SPDX-License-Identifier: BSD-3-Clause
"""Mechanisms of textbooks, built as their designers would, against closed forms of motion, torque and force."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import linkwork as lw
from tests.support.benchmark_mechanisms import scissor_lift

Array = NDArray[np.float64]
EARTH, SPACE = (0.0, -9.81, 0.0), (0.0, 0.0, 0.0)
Z, X = lw.joints.Revolute("z"), lw.joints.Revolute("x")
FOLLOWED = 1e-8
"""Positions and angles of loops that are driven for a second or two at 1 ms, not projected."""


def turned(rate: float, start: float = 0.0) -> Callable[[float], float]:
    """A shaft that turns at a constant rate."""
    return lambda t: start + rate * t


def bars(build: lw.Builder, **lengths: float) -> lw.Builder:
    """Add slender bars along x, 1 kg a meter."""
    for name, length in lengths.items():
        build.body(name, lw.Inertia.rod(length, (0, 0, 0), (length, 0, 0)))
    return build


def test_scotch_yoke_is_a_sine() -> None:
    radius, rate, start = 0.05, 10.0, 0.3
    build = lw.Builder("scotch yoke", gravity=EARTH).body("crank", lw.Inertia.disc(1.0, 0.06))
    build.body("yoke", lw.Inertia.box(2.0, (0.02, 0.2, 0.02))).body("block", lw.Inertia.box(0.1, (0.02, 0.02, 0.02)))
    build.joint("motor", Z, "world", "crank").joint("guide", lw.joints.Prismatic("x"), "world", "yoke")
    build.joint("slot", lw.joints.Prismatic("y"), "yoke", "block")
    robot = build.joint("pin", Z, "crank", "block", at=(radius, 0, 0), cut=True).build()
    driven = robot.constrained(lw.Drive("motor", turned(rate, start), name="drive"))
    run = lw.simulate(driven, robot.assemble({"motor": start}, fixed=["motor"]), seconds=1.0)
    angle = start + rate * run.times
    np.testing.assert_allclose(run.joint_position("guide"), radius * np.cos(angle), atol=FOLLOWED)
    along = -2.1 * radius * rate**2 * np.cos(angle)  # force on yoke and block
    across = 0.1 * (9.81 - radius * rate**2 * np.sin(angle))
    torque = radius * (across * np.cos(angle) - along * np.sin(angle))
    np.testing.assert_allclose(run.forces["drive"][:, 0], torque, atol=1e-8)
    force = run.reactions["pin"][:, 3:]
    np.testing.assert_allclose(np.abs(force[:, 0]), np.abs(along), atol=1e-8)


def test_oldham_coupling_turns_its_disc_about_the_middle_twice_as_fast() -> None:
    offset, rate = 0.01, 8.0
    build = lw.Builder("Oldham coupling", gravity=SPACE)
    for name in ("drive", "driven", "disc"):
        build.body(name, lw.Inertia.disc(1.0, 0.05, 0.01))
    build.joint("in", Z, "world", "drive").joint("out", Z, "world", "driven", at=(offset, 0, 0))
    build.joint("slot", lw.joints.Prismatic("x"), "drive", "disc")
    robot = build.joint("tongue", lw.joints.Prismatic("y"), "driven", "disc", cut=True).build()
    run = lw.simulate(robot.constrained(lw.Drive("in", turned(rate))), robot.assemble(fixed=["in"]), seconds=1.0)
    np.testing.assert_allclose(run.joint_position("out"), rate * run.times, atol=1e-12)
    circle = 0.5 * offset * np.stack([1 + np.cos(2 * rate * run.times), np.sin(2 * rate * run.times)], axis=-1)
    np.testing.assert_allclose(run.frame_path("disc")[:, :2], circle, atol=FOLLOWED)


def test_universal_joint_turns_unevenly() -> None:
    """``tan(out) = tan(in) / cos(bend)``, where the first yoke starts in the plane of the bend."""
    bend, rate = 0.5, 5.0
    c, s = np.cos(bend), np.sin(bend)
    build = lw.Builder("universal joint", gravity=SPACE)
    for name, axes in (("in", np.eye(3)), ("out", [[c, -s, 0], [s, c, 0], [0, 0, 1]])):
        build.body(name, lw.Inertia.disc(1.0, 0.05, 0.3, axis="x"))
        build.joint(name, X, "world", name, at=lw.Placement((0, 0, 0), axes))
    robot = build.joint("cross", lw.joints.Universal("y", "z"), "in", "out", cut=True).build()
    run = lw.simulate(robot.constrained(lw.Drive("in", turned(rate))), robot.assemble(fixed=["in"]), seconds=2.0)
    angle, out = run.joint_position("in"), run.joint_position("out")
    np.testing.assert_allclose(np.sin(out) * np.cos(angle) * c - np.cos(out) * np.sin(angle), 0.0, atol=FOLLOWED)
    np.testing.assert_allclose(run.v[:, 1] / rate, c / (1 - (s * np.cos(angle)) ** 2), atol=1e-6)


def test_swash_plate_pump_takes_the_work_of_its_pistons() -> None:
    radius, tilt, rate, count, force, mass = 0.04, 0.3, 20.0, 5, 300.0, 0.1
    c, s = np.cos(tilt), np.sin(tilt)
    build = (
        lw.Builder("pump", gravity=SPACE).body("plate", lw.Inertia.disc(1, 0.06)).joint("shaft", Z, "world", "plate")
    )
    build.frame("face", "plate", lw.Placement((0, 0, 0), [[1, 0, 0], [0, c, -s], [0, s, c]]))
    around = 2 * np.pi * np.arange(count) / count
    for k, a in enumerate(around):
        at = (radius * np.cos(a), radius * np.sin(a), 0)
        build.body(f"piston{k}", lw.Inertia.rod(mass, (0, 0, 0), (0, 0, 0.05)))
        build.joint(f"bore{k}", lw.joints.Prismatic("z"), "world", f"piston{k}", at=at)
        build.constrain(lw.constraints.PointOnPlane("face", f"piston{k}", axis="z", name=f"shoe{k}"))
    robot = build.build()
    pressed = [lw.Force(f"piston{k}", lambda t: (0, 0, -force), name=f"oil{k}") for k in range(2)]
    driven = robot.with_forces(*pressed).constrained(lw.Drive("shaft", turned(rate), name="motor"))
    run = lw.simulate(driven, robot.assemble(fixed=["shaft"]), seconds=0.5)
    phase = around - rate * run.times[:, None]
    stroke, slope = radius * np.tan(tilt) * np.sin(phase), -radius * np.tan(tilt) * np.cos(phase)
    np.testing.assert_allclose(run.q[:, 1:], stroke, atol=FOLLOWED)
    pushed = -mass * rate**2 * stroke + force * (np.arange(count) < 2)
    np.testing.assert_allclose(run.forces["motor"][:, 0], (pushed * slope).sum(axis=1), atol=1e-6)


def test_pantograph_doubles_what_its_pin_draws() -> None:
    build = bars(lw.Builder("pantograph", gravity=EARTH), long=0.6, pen=0.6, short=0.3, link=0.3)
    build.joint("O", Z, "world", "long").joint("A", Z, "long", "pen", at=(0.6, 0, 0))
    build.joint("B", Z, "long", "short", at=(0.3, 0, 0)).joint("C", Z, "pen", "link", at=(0.3, 0, 0))
    build.joint("P", Z, "short", "link", at=(0.3, 0, 0), child_at=(0.3, 0, 0), cut=True)
    robot = build.frame("pin", "short", (0.3, 0, 0)).frame("tip", "pen", (0.6, 0, 0)).build()
    q = robot.assemble({"O": 2.2, "A": -1.7, "B": -1.5, "C": -1.9}, fixed=["O", "A"])
    x, y, _ = lw.frame_placement(robot, q, "pin").position
    circle = lw.constraints.FrameDrive(
        "pin", lambda t: (x + 0.03 * np.sin(5 * t), y + 0.03 * (1 - np.cos(5 * t)), 0), name="hand"
    )
    run = lw.simulate(robot.constrained(circle), q, seconds=1.3)
    np.testing.assert_allclose(run.frame_path("tip"), 2 * run.frame_path("pin"), atol=FOLLOWED)
    np.testing.assert_allclose(run.frame_path("pin")[:, 0], x + 0.03 * np.sin(5 * run.times), atol=FOLLOWED)


def test_wiper_sweeps_the_angle_between_its_dead_centers() -> None:
    crank, link, rocker, ground = 0.05, 0.3, 0.12, 0.29
    build = bars(lw.Builder("wiper", gravity=SPACE), crank=crank, link=link, rocker=rocker)
    build.joint("motor", Z, "world", "crank").joint("pin", Z, "crank", "link", at=(crank, 0, 0))
    build.joint("pivot", Z, "world", "rocker", at=(ground, 0, 0))
    robot = build.joint("ball", Z, "link", "rocker", at=(link, 0, 0), child_at=(rocker, 0, 0), cut=True).build()
    q = robot.assemble({"motor": 0.5, "pivot": 1.5, "pin": -0.2}, fixed=["motor"])
    low, high = lw.design.circuit(robot, q, step=0.01).range("pivot")

    def at_dead_center(reach: float) -> float:
        return float(np.arccos((rocker**2 + ground**2 - reach**2) / (2 * rocker * ground)))

    assert high - low == pytest.approx(at_dead_center(link + crank) - at_dead_center(link - crank), abs=1e-9)


def test_planetary_gearbox_shifts_by_a_brake_on_its_ring() -> None:
    sun, ring = 20, 60
    build = lw.Builder("gearbox", gravity=SPACE)
    sizes = {"sun": 0.03, "carrier": 0.05, "ring": 0.1}
    for name, size in sizes.items():
        build.body(name, lw.Inertia.disc(1.0, size)).joint(name, Z, "world", name)
    gears = build.build().constrained(lw.machines.planetary("sun", "carrier", "ring", sun, ring, name="gears"))
    close = lw.profiles.cycloidal(0, 10, 0.2, begin=0.3)
    box = gears.with_forces(lw.forces.Friction("ring", coulomb=close, slip=0.05, name="brake"))
    run = lw.simulate(box, tau=[1.0, 0, 0], seconds=0.8, dt=2e-5, record_every=500)
    inertia = np.diag([0.5 * size**2 for size in sizes.values()])
    J = np.array([[sun, -(sun + ring), ring]])
    system = np.block([[inertia, J.T], [J, np.zeros((1, 1))]])
    free = np.linalg.solve(system, [1.0, 0, 0, 0])[:3]
    np.testing.assert_allclose(run.acceleration[10], free, rtol=1e-9)
    assert abs(run.v[-1, 2]) < 0.05  # it creeps while it is held
    assert run.v[-1, 0] / run.v[-1, 1] == pytest.approx(1 + ring / sun, rel=1e-3)


def test_pendulum_of_varying_length_is_the_winch_equation() -> None:
    """``l θ'' + 2 l' θ' + g sin θ = 0``, and the tension ``m (l'' - l θ'^2 - g cos θ)``."""
    build = lw.Builder("winch", gravity=EARTH).body("rod", lw.Inertia(1e-3, (0, 0, 0), 1e-6 * np.eye(3)))
    build.body("bob", lw.Inertia(1.0, (0, 0, 0), 1e-9 * np.eye(3))).joint("swing", Z, "world", "rod")
    robot = build.joint("rope", lw.joints.Prismatic((0, -1, 0)), "rod", "bob").build()
    driven = robot.constrained(lw.Drive("rope", lambda t: 1 + 0.3 * np.sin(2 * t), name="winch"))
    run = lw.simulate(driven, [0.5, 1.0], seconds=2.0)

    def rates(t: float, x: Array) -> list[float]:
        length, rate = 1 + 0.3 * np.sin(2 * t), 0.6 * np.cos(2 * t)
        return [x[1], -length * (9.81 * np.sin(x[0]) + 2 * rate * x[1]) / (length**2 + 1.001e-6)]

    exact = solve_ivp(rates, (0, 2), [0.5, 0.0], rtol=1e-11, atol=1e-12).y[:, -1]
    np.testing.assert_allclose([run.q[-1, 0], run.v[-1, 0]], exact, atol=1e-9)
    length, t = 1 + 0.3 * np.sin(2 * run.times), run.times
    tension = -1.2 * np.sin(2 * t) - length * run.v[:, 0] ** 2 - 9.81 * np.cos(run.q[:, 0])
    np.testing.assert_allclose(run.forces["winch"][:, 0], tension, atol=1e-10)


def test_governor_opens_to_the_angle_of_its_speed() -> None:
    """Porter's governor: ``ω² = g (m + M) / (m L cos α)`` for balls m and a sleeve M."""
    ball, sleeve, arm, angle = 0.5, 3.0, 0.2, 0.7
    build = lw.Builder("governor").body("spindle", lw.Inertia(1.0, (0, 0, 0), 1e-3 * np.eye(3)))
    build.joint("spin", Z, "world", "spindle").body("sleeve", lw.Inertia(sleeve, (0, 0, 0), 1e-3 * np.eye(3)))
    build.joint("slide", lw.joints.Prismatic("z"), "spindle", "sleeve", damping=40.0)
    for k, side in enumerate((1, -1)):
        hinge = lw.joints.Revolute((0, -side, 0))
        build.body(f"arm{k}", lw.Inertia(ball, (0, 0, -arm), 1e-8 * np.eye(3)))
        build.body(f"link{k}", lw.Inertia(1e-4, (0, 0, -arm / 2), 1e-8 * np.eye(3)))
        build.joint(f"arm{k}", hinge, "spindle", f"arm{k}").joint(
            f"link{k}", hinge, f"arm{k}", f"link{k}", at=(0, 0, -arm)
        )
        build.joint(f"foot{k}", hinge, f"link{k}", "sleeve", at=(0, 0, -arm), cut=True)
    robot = build.build()
    open_ = {f"{part}{k}": sign * 0.6 for k in range(2) for part, sign in (("arm", 1), ("link", -2))}
    q = robot.assemble(open_ | {"slide": -2 * arm * np.cos(0.6)}, fixed=["arm0"])
    speed = np.sqrt((ball + sleeve) / ball * 9.81 / (arm * np.cos(angle)))
    run = lw.simulate(robot.constrained(lw.Drive("spin", turned(speed))), q, seconds=6.0)
    assert run.joint_position("arm0")[-1] == pytest.approx(angle, abs=1e-4)


def test_crossed_bars_of_a_lift_multiply_its_load() -> None:
    """A ram at the foot of three pairs of crossed bars holds a table by ``3 W / tan(tilt)``."""
    robot, q = scissor_lift(0.01)
    held = robot.constrained(lw.constraints.JointLock("slide", float(q[robot.q_index("slide")]), name="ram"))
    rest = np.zeros(held.nv)
    ram = -lw.ForwardDynamics(held)(q, rest, rest).forces["ram"][0]
    load = 9.81 * (3 * 100.0 + 0.01 * (1 + 3 + 5))  # each pair of bars at half its height
    assert ram == pytest.approx(load / np.tan(q[robot.q_index("a0")]), rel=1e-9)
