# SPDX-License-Identifier: BSD-3-Clause
"""Live pages step as `simulate` does, whatever a robot is made of; their workers run in Node here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.errors import InputError
from linkwork.shapes import Box, Capsule, Cylinder, Ellipsoid, Sphere
from tests.support.node import needs_node, page_after

STEPS = 120
CLOSED = 1e-7
"""Of states of loops: rounding, amplified by the penalty of their rows."""


def arm(**options: Any) -> lw.Builder:
    """Two links that swing, with the frame ``tip`` at their end and ``top`` in the world."""
    build, parent = lw.Builder("arm"), "world"
    for k in range(2):
        build.body(f"link{k}", lw.Inertia.rod(1.0, (0, 0, 0), (0, 0, -0.5)))
        build.joint(f"j{k}", lw.joints.Revolute("y"), parent, f"link{k}", at=(0, 0, -0.5 * k), **options)
        parent = f"link{k}"
    return build.frame("tip", "link1", (0, 0, -0.5)).frame("top", "world", (1, 0, 0))


def bar() -> lw.Mechanism:
    """A four-bar."""
    return zoo.four_bar()


def rope(**options: Any) -> lw.tendons.Tendon:
    """A tendon between ``top`` and ``tip``."""
    return lw.tendons.Tendon("rope", path=("top", "tip"), **options)


def start(robot: lw.Mechanism) -> float:
    """The angle of the crank of a four-bar at the start."""
    return float(robot.poses["assembled"][0])


Made = Callable[[], lw.Mechanism]
SMOOTH: dict[str, Made] = {
    "springs and dampers of joints": lambda: arm(damping=0.2, stiffness=4.0, armature=0.05).build(),
    "limits": lambda: arm(lower=-0.3, upper=0.6).build(),
    "dry friction": lambda: arm(friction=0.3).build(),
    "drive": lambda: (r := bar()).constrained(lw.Drive("A", lambda t: start(r) + 2 * t + 0.3 * np.sin(3 * t))),
    "drive of a tree": lambda: arm().build().constrained(lw.Drive("j0", lambda t: 0.5 + t * t)),
    "drive of a length": lambda: (
        arm().build().constrained(lw.constraints.LengthDrive(rope(), lambda t: np.sqrt(0.5) - 0.3 * t))
    ),
    "force of time": lambda: bar().with_forces(lw.Force("coupler", lambda t: (0, 0, -5 * np.sin(20 * t)))),
    "brake that closes in time": lambda: arm().build().with_forces(lw.forces.Friction("j0", coulomb=lambda t: 5 * t)),
    "spring and damper": lambda: bar().with_forces(lw.SpringDamper(("world", (0, 0, 1)), "coupler", 200.0, 3.0)),
    "clutch": lambda: arm().build().with_forces(lw.forces.Clutch("j0", "j1", capacity=1.0, slip=0.1)),
    "rope with a spring": lambda: arm().tendon(rope(stiffness=30.0, damping=1.0, rest=(0.0, 0.5))).build(),
    "rope with limits": lambda: arm().tendon(rope(limits=(0.0, 0.7))).build(),
    "fixed tendon": lambda: (
        arm().tendon(lw.tendons.Tendon("pair", joints={"j0": 0.5, "j1": 0.5}, stiffness=20.0)).build()
    ),
    "medium": lambda: arm().shape("link1", Box((0.1, 0.1, 0.5)), role="fluid").build().with_medium(1000.0, 0.1),
    "coupling": lambda: arm().build().constrained(lw.constraints.Gear("j0", "j1", 2.0)),
    "constraint that is switched off": lambda: bar().switched({c.name: False for c in bar().constraints}),
}


def compare(robot: lw.Mechanism, path: Path, q: Any, tolerance: float, v: Any = None) -> dict[str, Any]:
    """The page's state after some steps, which is that of `simulate`."""
    state = page_after(robot.save_html(path / "page.html", q, v=v, live=True, base="free"), STEPS)
    run = lw.simulate(robot, state["robot"]["q"], state["robot"]["v"], seconds=STEPS * 1e-3, dt=1e-3)
    assert state["fault"] == "" and state["time"] == pytest.approx(run.times[-1], rel=1e-12)
    np.testing.assert_allclose(state["q"], run.q[-1], atol=tolerance)
    np.testing.assert_allclose(state["v"], run.v[-1], atol=10 * tolerance)
    return state


@needs_node
@pytest.mark.parametrize("kind", SMOOTH)
@pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning")
def test_pages_step_as_simulations_do(tmp_path: Path, kind: str) -> None:
    robot = SMOOTH[kind]()
    q = np.array([0.6, 0.3]) if robot.nq == 2 else None
    compare(robot, tmp_path, q, CLOSED if robot.nc else 1e-12)


@needs_node
@pytest.mark.parametrize(
    "solid",
    [Sphere(0.1), Capsule(0.1, 0.3), Cylinder(0.1, 0.3), Box((0.1, 0.2, 0.3)), Ellipsoid((0.1, 0.2, 0.3))],
    ids=lambda solid: type(solid).__name__.lower(),
)
def test_shapes_fall_on_the_ground_as_in_simulations(tmp_path: Path, solid: Any) -> None:
    build = lw.Builder("falling").body("body", lw.Inertia.sphere(1.0, 0.1))
    build.joint("free", lw.joints.Free(), "world", "body").shape("body", solid, role="collision")
    robot = build.build().with_contacts("body", friction=0.5)
    compare(robot, tmp_path, [0, 0, 0.2, 0, 0, 0, 1], 1e-6, v=[0.1, 0.3, 0.2, 0.5, 0.1, 0.0])


@needs_node
def test_platforms_that_are_let_go_pass_their_singular_poses(tmp_path: Path) -> None:
    """A delta robot falls through a pose where its loops lose rank, after 0.22 s."""
    robot = zoo.delta()
    state = page_after(robot.save_html(tmp_path / "delta.html", live=True), 400)
    run = lw.simulate(robot, state["robot"]["q"], seconds=0.4)
    assert state["fault"] == "" and run.integrator == "rk4"
    assert sum(state["energy"]) == pytest.approx(run.energy["total"][0], abs=0.01)


def test_integrators_of_pages_are_named(tmp_path: Path) -> None:
    page = zoo.four_bar().save_html(tmp_path / "bars.html", live=True, integrator="euler")
    assert "steps of 1 ms by semi-implicit Euler" in page.read_text()
    with pytest.raises(InputError, match="no integrator 'radau' of live pages, needs one of auto, euler, rk4"):
        zoo.four_bar().save_html(tmp_path / "bars.html", live=True, integrator="radau")  # type: ignore[arg-type]


@needs_node
@pytest.mark.slow
def test_time_passes_in_steps_with_contacts(tmp_path: Path) -> None:
    build = arm().shape("link1", Sphere(0.05), at=(0, 0, -0.5), role="collision")
    robot = build.build().with_contacts("link1").with_forces(lw.Force("link1", lambda t: (3 * np.sin(20 * t), 0, 0)))
    compare(robot.constrained(lw.Drive("j0", lambda t: 1 + t)), tmp_path, [1.0, 0.5], 1e-9)


@needs_node
def test_energy_of_springs_counts(tmp_path: Path) -> None:
    robot = SMOOTH["springs and dampers of joints"]()
    state = compare(robot, tmp_path, [0.5, 0.0], 1e-12)
    run = lw.simulate(robot, [0.5, 0.0], seconds=STEPS * 1e-3, dt=1e-3, integrator="euler")
    assert sum(state["energy"]) == pytest.approx(run.energy["total"][-1], rel=1e-10)
    assert state["energy"][2] == pytest.approx(run.energy["elastic"][-1], rel=1e-10) and state["energy"][2] > 0.1
    named = SMOOTH["rope with a spring"]().save_html(tmp_path / "rope.html", live=True)
    assert "their sum, without other springs" in named.read_text()


@needs_node
def test_joints_that_constraints_hold_have_no_motor(tmp_path: Path) -> None:
    driven = arm().build().constrained(lw.Drive("j0", lambda t: t))
    motors = page_after(driven.save_html(tmp_path / "x.html", live=True), 0)["robot"]["motors"]
    assert [motor["name"] for motor in motors] == ["j1"]
    with pytest.raises(InputError, match="hold the joint 'j0', which no torque moves"):
        driven.save_html(tmp_path / "x.html", live=True, drive={"j0": ("velocity", 1.0)})
