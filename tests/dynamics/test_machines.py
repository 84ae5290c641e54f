# SPDX-License-Identifier: BSD-3-Clause
"""Machine elements: clutches and freewheels, gears by teeth, Geneva wheels, cams as couplings and by contact."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import ModelError
from linkwork.mechanism import Mechanism


@cache
def shafts(*inertias: float) -> Mechanism:
    """Flywheels on the frame, about one axis."""
    build = lw.Builder("shafts")
    for k, inertia in enumerate(inertias):
        build.body(f"wheel{k}", lw.Inertia(1.0, (0, 0, 0), inertia * np.eye(3)))
        build.joint(f"s{k}", lw.joints.Revolute("z"), "world", f"wheel{k}", at=(0.5 * k, 0, 0))
    return build.build()


# Friction ---------------------------------------------------------------------------------------------------------


def test_a_clutch_joins_two_flywheels_as_momentum_says() -> None:
    """They meet at the time and the speed of the book; the heat is half the reduced inertia times the square."""
    robot = shafts(1.0, 2.0).with_forces(lw.forces.Clutch("s0", "s1", capacity=3.0))
    run = lw.simulate(robot, v=[10.0, 0.0], seconds=3.0, dt=2e-4, integrator="rk4")
    meet = 10 / (3.0 * (1 / 1 + 1 / 2))
    k = np.searchsorted(run.times, meet - 0.05)
    np.testing.assert_allclose(run.v[k], [10 - 3 * run.times[k], 1.5 * run.times[k]], rtol=0, atol=1e-9)
    np.testing.assert_allclose(run.v[-1], 10 / 3, rtol=0, atol=1e-9)
    heat = run.energy["total"][0] - run.energy["total"][-1]
    assert abs(heat - 0.5 * (1 * 2 / 3) * 100) < 1e-9


def test_a_clutch_that_engages_slowly_and_a_brake_from_a_table() -> None:
    """Speeds are integrals of what the clutch transmits while it slips."""
    robot = shafts(1.0, 2.0).with_forces(lw.forces.Clutch("s0", "s1", capacity=lambda t: 2.0 * t))
    run = lw.simulate(robot, v=[10.0, 0.0], seconds=1.0, dt=1e-3, integrator="rk4")
    np.testing.assert_allclose(run.v[-1], [10 - 1.0, 0.5], rtol=0, atol=1e-9)
    table = lw.profiles.table([0.5, 1.0], [0.0, 4.0])
    braked = shafts(1.0).with_forces(lw.forces.Friction("s0", coulomb=table))
    stopped = lw.simulate(braked, v=[3.0], seconds=2.0, dt=2e-4, integrator="rk4")
    np.testing.assert_allclose(np.interp([0.5, 1.0, 1.25], stopped.times, stopped.v[:, 0]), [3, 2, 1], atol=1e-6)
    assert abs(stopped.v[-1, 0]) < 1e-6


def test_a_freewheel_turns_an_oscillation_into_steps() -> None:
    robot = shafts(1.0, 0.5).constrained(lw.Drive("s0", lambda t: 0.4 * np.sin(6 * t), name="oscillation"))
    # the wheel, the first shaft of the clutch, overtakes and is never left behind
    robot = robot.with_forces(
        lw.forces.OneWayClutch("s1", "s0", capacity=100.0, slip=0.05), lw.forces.Friction("s1", 0.5, slip=0.01)
    )
    run = lw.simulate(robot, seconds=3.0, dt=2e-4, integrator="rk4")
    relative = run.v[:, 1] - run.v[:, 0]
    assert relative[run.times > 0.1].min() > -0.05
    assert run.v[:, 1].min() > -1e-3 and run.q[-1, 1] > 2.0


def test_backlash_is_lost_motion() -> None:
    """The driven shaft stands while the driver crosses the play, then turns with the gear's ratio."""
    play = lw.forces.Backlash("s0", "s1", ratio=2.0, gap=0.2, stiffness=1e4, damping=5.0)
    geared = shafts(1.0, 0.1).with_forces(play, lw.forces.Friction("s1", 0.5))
    robot = geared.constrained(lw.Drive("s0", lambda t: -0.1 * np.cos(t), name="drive"))
    run = lw.simulate(robot, seconds=8.0, dt=5e-4, integrator="rk4")
    assert np.abs(run.q[:, 1]).max() < 2e-4  # an amplitude of half the play moves nothing
    wide = geared.constrained(lw.Drive("s0", lambda t: -0.3 * np.cos(t), name="drive"))
    last = lw.simulate(wide, seconds=4 * np.pi, dt=5e-4, integrator="rk4")
    turned = last.q[last.times > 2 * np.pi, 1]
    np.testing.assert_allclose([turned.min(), turned.max()], [-0.1, 0.1], rtol=0, atol=1e-3)


def test_torques_are_linear_in_the_numbers_of_friction() -> None:
    element = lw.forces.Friction("s0", 0.7, 1.3, stribeck=0.05, viscous=0.2, slip=0.01)
    robot, v = shafts(1.0).with_forces(element), np.linspace(-0.3, 0.3, 25)
    torque = lw.InverseDynamics(robot)(np.zeros((25, 1)), v[:, None], np.zeros((25, 1)))[:, 0]
    np.testing.assert_allclose(element.regressor(v) @ [0.7, 1.3, 0.2], torque, rtol=0, atol=1e-14)


def test_a_screw_with_friction_locks_itself_where_friction_is_high() -> None:
    """A nut of weight W on a screw slides down unless the torque of friction exceeds ``W pitch``."""
    build = lw.Builder("screw").body("nut", lw.Inertia(2.0, (0, 0, 0), 1e-3 * np.eye(3)))
    build.joint("screw", lw.joints.Helical("z", pitch=0.002), "world", "nut")
    for bound, falls in ((0.5, True), (1.5, False)):
        torque = bound * 2.0 * 9.81 * 0.002
        robot = build.build().with_forces(lw.forces.Friction("screw", torque, slip=0.01))
        run = lw.simulate(robot, seconds=0.5, dt=2e-4, integrator="rk4")
        exact = -(1 - bound) * 2.0 * 9.81 * 0.002 / (1e-3 + 2.0 * 0.002**2) * 0.5
        assert abs(run.v[-1, 0] - exact) < 0.01 * abs(exact) + 1e-9 if falls else abs(run.v[-1, 0]) < 0.01


# Gears ------------------------------------------------------------------------------------------------------------


def rates(robot: Mechanism, v: dict[str, float]) -> dict[str, float]:
    """Velocities of all joints where some are held at theirs."""
    q = robot.assemble()
    J = lw.constraint_jacobian(robot, q)
    held = [robot.v_index(name) for name in v]
    rows = np.concatenate([J, np.eye(robot.nv)[held]])
    found = np.linalg.lstsq(rows, np.concatenate([np.zeros(len(J)), list(v.values())]), rcond=None)[0]
    return dict(zip(robot.joint_names, found, strict=True))


def test_ratios_of_gears_are_those_of_teeth_and_radii() -> None:
    m, three = lw.machines, shafts(1.0, 1.0, 1.0)
    held = rates(three.constrained(m.planetary("s0", "s1", None, 20, 60)), {"s0": 1.0})
    assert abs(held["s1"] - 20 / 80) < 1e-12
    ring = rates(three.constrained(m.planetary("s0", "s1", "s2", 20, 60)), {"s0": 1.0, "s1": 0.0})
    assert abs(ring["s2"] + 20 / 60) < 1e-12
    cage = rates(three.constrained(m.differential("s0", "s1", "s2")), {"s1": 3.0, "s2": 1.0})
    assert abs(cage["s0"] - 2.0) < 1e-12
    assert abs(rates(three.constrained(m.worm("s0", "s1", 40, 2)), {"s1": 1.0})["s0"] - 20) < 1e-11
    assert abs(rates(three.constrained(m.harmonic("s0", "s1", 200, 202)), {"s1": 1.0})["s0"] + 100) < 1e-10
    belt = rates(three.constrained(*m.belt({"s0": 0.1, "s1": 0.05, "s2": -0.2})), {"s0": 1.0})
    np.testing.assert_allclose([belt["s1"], belt["s2"]], [2.0, -0.5], rtol=0, atol=1e-12)


def test_a_differential_halves_the_torque() -> None:
    robot = shafts(1.0, 0.3, 0.3).constrained(lw.machines.differential("s0", "s1", "s2"))
    q = robot.neutral()
    for load in ([0.0, 0.0, 0.0], [0.0, 0.5, -0.5]):
        a = lw.ForwardDynamics(robot)(q, np.zeros(3), np.array([4.0, 0, 0]) + load).acceleration
        # each wheel has the same torque of the cage, whatever its load
        np.testing.assert_allclose(0.3 * a[1:] - load[1:], 0.5 * (4.0 - a[0]), rtol=0, atol=1e-10)


@pytest.mark.parametrize("slots", [3, 4, 6])
def test_the_pin_of_a_geneva_drive_is_in_a_slot_while_it_engages(slots: int) -> None:
    coupling = lw.machines.geneva("s0", "s1", slots)
    robot = shafts(1.0, 1.0).constrained(coupling)
    angle = np.linspace(-7.0, 14.0, 400)
    q = robot.assemble(np.column_stack([angle, 0 * angle]), fixed=["s0"])
    ratio, inside = np.sin(np.pi / slots), np.angle(np.exp(1j * angle))
    engaged = np.abs(inside) < np.pi / 2 - np.pi / slots
    pin = ratio * np.exp(1j * angle) - 1.0  # from the axis of the wheel
    slot = np.angle((-pin * np.exp(-1j * q[:, 1])) ** slots)[engaged]
    np.testing.assert_allclose(slot, 0.0, atol=1e-10)
    v = robot.project_velocity(q, np.tile([1.0, 0.0], (400, 1)))
    assert np.abs(v[~engaged, 1]).max() < 1e-12
    dwells = [coupling.function(turns * np.pi) for turns in (-1.0, 1.0, 5.0)]  # in the middle of each
    np.testing.assert_allclose(np.diff(dwells), -2 * np.pi / slots * np.array([1, 2]), rtol=0, atol=1e-12)


@pytest.mark.parametrize("bend", [0.0, 0.3, 0.7])
def test_a_constant_velocity_joint_has_no_ripple_and_a_universal_joint_has(bend: float) -> None:
    def driveline(constant: bool) -> Mechanism:
        build = lw.Builder("driveline")
        for name in ("input", "output"):
            build.body(name, lw.Inertia.box(1.0, (0.1, 0.1, 0.1)))
        build.joint("in", lw.joints.Revolute("z"), "world", "input")
        build.body("cross").body("cage")
        build.joint("x", lw.joints.Revolute("x"), "input", "cross")
        build.joint("y", lw.joints.Revolute("y"), "cross", "cage")
        build.joint("z", lw.joints.Revolute("z"), "cage", "output")
        build.constrain(lw.machines.homokinetic("x", "y", "z") if constant else lw.constraints.JointLock("z", 0.0))
        axis = (np.sin(bend), 0.0, np.cos(bend))
        tilt = lw.Placement((0, 0, 0), [[axis[2], 0, axis[0]], [0, 1, 0], [-axis[0], 0, axis[2]]])
        build.constrain(lw.constraints.Hinge("world", "output", first_at=tilt, name="bearing"))
        return build.build()

    q0 = np.array([0.0, 0.0, bend, 0.0])
    turns = np.linspace(0.0, 2 * np.pi, 50)
    for constant in (True, False):
        robot = driveline(constant)
        sweep = robot.sweep("in", turns, q=q0)
        v = robot.project_velocity(sweep.q, np.tile([1.0, 0, 0, 0], (50, 1)))
        v = v / v[:, :1]
        twist = lw.frame_velocity(robot, sweep.q, v, "output", reference="world")
        speed = np.linalg.norm(twist[..., :3] if np.abs(twist[..., 3:]).max() < 1e-9 else twist[..., 3:], axis=-1)
        if constant:
            np.testing.assert_allclose(speed, 1.0, rtol=0, atol=1e-9)
        else:  # Hooke: cos b / (1 - sin² b cos² angle)
            np.testing.assert_allclose([speed.min(), speed.max()], [np.cos(bend), 1 / np.cos(bend)], rtol=3e-3)


# Cams -------------------------------------------------------------------------------------------------------------


def law(scale: float = 1.0) -> Callable[[Any], Any]:
    p = lw.profiles
    rise, back = p.modified_sine(0, 0.02 * scale, 2.0, begin=0.5), p.cycloidal(0.02 * scale, 0, 1.5, begin=3.5)
    return p.periodic(p.sequence(rise, back))


CAMS = {
    "roller": lw.machines.Cam(law(), 0.04, roller=0.01, offset=0.005),
    "flat": lw.machines.Cam(law(), 0.04, "flat"),
    "swinging": lw.machines.Cam(law(5.0), 0.04, "swinging", roller=0.01, arm=0.08, pivot=0.09),
}


@pytest.mark.parametrize("name", CAMS)
def test_the_contour_touches_its_follower_and_has_the_curvature_of_the_formula(name: str) -> None:
    cam, n = CAMS[name], 3600
    contour = cam.profile(n)
    x, y = contour.T
    for angle in np.linspace(-3, 9, 17):
        c, s = np.cos(angle), np.sin(angle)
        turned = np.stack([c * x - s * y, s * x + c * y], axis=-1)
        if name == "flat":
            gap = 0.04 + float(cam.law(angle)) - turned[:, 1].max()
        else:
            gap = np.linalg.norm(turned - cam._center(angle).at, axis=1).min() - 0.01
        assert -1e-12 < gap < 5e-7  # between two of the points
    first = (np.roll(contour, -1, 0) - np.roll(contour, 1, 0)) / 2
    second = np.roll(contour, -1, 0) - 2 * contour + np.roll(contour, 1, 0)
    by_points = (first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]) / np.linalg.norm(first, axis=1) ** 3
    exact = 1 / cam.curvature_radius(-2 * np.pi * np.arange(n) / n)
    assert np.median(np.abs(by_points - exact)) < 1e-4 * np.abs(exact).max()
    assert not cam.undercut


def test_a_large_roller_undercuts_a_quick_rise() -> None:
    p = lw.profiles
    quick = p.sequence(p.cycloidal(0, 0.02, 0.6, begin=1.0), p.cycloidal(0.02, 0, 0.6, begin=1.6))
    assert [lw.machines.Cam(quick, 0.03, roller=r).undercut for r in (1e-3, 0.03)] == [False, True]


def test_pressure_angles_are_those_of_the_closed_form() -> None:
    cam, angle = CAMS["roller"], np.linspace(0, 7, 60)
    s, slope, _ = cam.displacement(angle)
    exact = np.arctan((slope - 0.005) / (s + np.sqrt(0.05**2 - 0.005**2)))
    np.testing.assert_allclose(np.abs(cam.pressure_angle(angle)), np.abs(exact), rtol=0, atol=1e-12)


@cache
def valve(speed: float) -> Mechanism:
    build = lw.Builder("valve train")
    build.body("cam", lw.Inertia(0.5, (0, 0, 0), 1e-3 * np.eye(3))).body("follower", lw.Inertia.sphere(0.2, 0.01))
    build.joint("cam", lw.joints.Revolute("z"), "world", "cam")
    build.joint("follower", lw.joints.Prismatic("y"), "world", "follower", at=(0, 0.05, 0))
    robot = build.build().constrained(lw.Drive("cam", lambda t: speed * t, name="drive"))
    return robot.with_forces(lw.forces.TorsionSpring("follower", stiffness=800.0, preload=-20.0, name="spring"))


def test_a_cam_by_contact_is_the_coupling_where_it_does_not_part() -> None:
    cam = CAMS["roller"]
    coupled = valve(20.0).constrained(cam.follows("cam", "follower", name="cam"))
    touching = valve(20.0).with_forces(cam.contact("cam", "follower", stiffness=2e6, damping=400.0, name="contact"))
    runs = [lw.simulate(r, seconds=0.35, dt=1e-4, integrator="rk4", record_every=20) for r in (coupled, touching)]
    later = runs[0].times > 0.02
    assert np.abs(runs[0].q - runs[1].q)[later].max() < 1e-4
    states = lw.forces.element_states(touching, runs[1].q, runs[1].v, time=runs[1].times)["contact"]
    push = runs[0].forces["cam"][later, 0]
    assert push.min() > 10.0
    np.testing.assert_allclose(states.force[later, 0], push, rtol=0, atol=0.5)
    drive = [run.forces["drive"][later, 0] for run in runs]
    np.testing.assert_allclose(drive[0], drive[1], rtol=0, atol=0.05)


def test_a_follower_jumps_where_the_spring_is_too_weak() -> None:
    robot = valve(120.0)
    touching = robot.with_forces(
        CAMS["roller"].contact("cam", "follower", stiffness=2e6, damping=400.0, name="contact")
    )
    run = lw.simulate(touching, seconds=0.06, dt=2e-5, integrator="rk4", record_every=10)
    gap = run.q[:, 1] - CAMS["roller"].law(run.q[:, 0])
    assert gap.max() > 1e-3
    forces = lw.forces.element_states(touching, run.q, run.v, time=run.times)["contact"].force[:, 0]
    assert forces.min() == 0.0


def test_a_cam_is_a_closed_mesh() -> None:
    mesh = CAMS["flat"].solid(0.01)
    inertia = lw.Inertia.sphere(1.0, 0.1)  # any mass; the mesh gives the shape
    build = lw.Builder("cam").body("cam", inertia).joint("turn", lw.joints.Revolute("z"), "world", "cam")
    robot = build.shape("cam", mesh).build()
    assert len(robot.shapes) == 1 and mesh.surface().faces.max() == len(mesh.surface().vertices) - 1
    edges = np.sort(mesh.surface().faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: lw.machines.geneva("a", "b", 2), "3 or more"),
        (lambda: lw.machines.harmonic("a", "b", 200, 200), "more than the 200"),
        (lambda: lw.machines.belt({"a": 1.0}), "two pulleys"),
        (lambda: lw.machines.planetary("a", "a", None, 1, 2), "must differ"),
        (lambda: lw.machines.rack("a", "b", 0.0), "needs a finite number > 0"),
        (lambda: lw.machines.Cam(law(), 0.04, "edge"), "'roller', 'flat' or 'swinging'"),
        (lambda: lw.machines.Cam(law(), 0.04, roller=0.01, offset=0.06), "offset is 0.06"),
        (lambda: lw.machines.Cam(law(), 0.04, "swinging", arm=0.1, pivot=0.3), "does not reach"),
        (lambda: CAMS["flat"].contact("a", "b", stiffness=0.0), "stiffness > 0"),
    ],
)
def test_bad_machines_are_refused_in_words(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(ModelError, match=words):
        make()
