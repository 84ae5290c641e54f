# SPDX-License-Identifier: BSD-3-Clause
"""Live runs: their steps are those of simulations, the hand pulls as a spring does, and a real browser runs them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.errors import InputError
from linkwork.live import LiveViewer
from linkwork.live.contacts import LiveContacts
from linkwork.live.panel import command_range
from linkwork.live.run import PULLED, LiveRun
from linkwork.zoo import ASSEMBLED
from tests.contact.test_contact_fallback import at_rest, between_walls
from tests.support.browsers import Page, chromium, until

ARM = """<mujoco model="arm"><option timestep="0.001"/><worldbody>
  <body name="upper" pos="0 0 1"><joint name="shoulder" axis="0 1 0" damping="1"/>
    <geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.05" mass="1" contype="0" conaffinity="0"/>
    <body name="lower" pos="0 0 -0.5"><joint name="elbow" axis="0 1 0" damping="1"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.04" mass="1" contype="0" conaffinity="0"/></body></body>
  </worldbody>
  <actuator><position name="servo" joint="shoulder" kp="200" ctrlrange="-2 2"/><motor name="motor" joint="elbow"/>
  </actuator>
  <keyframe><key name="home" qpos="0.2 0.3" ctrl="0.2 0"/><key name="raised" qpos="1.5 0" ctrl="1.5 0"/></keyframe>
</mujoco>"""


def crate() -> lw.Mechanism:
    """A box on the ground."""
    return zoo.boxes(1)


# Steps ----------------------------------------------------------------------------------------------------------


def test_a_live_run_is_a_simulation() -> None:
    robot = lw.loads(ARM)
    run = LiveRun(robot, robot.poses["home"], commands=robot.commands["home"])
    for steps in (1, 7, 92):
        run.advance(steps)
    same = lw.simulate(robot, "home", seconds=0.1, commands=robot.commands["home"])
    np.testing.assert_allclose(run.q, same.q[-1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.v, same.v[-1], rtol=0, atol=1e-11)
    assert run.time == pytest.approx(0.1, abs=1e-12)


def test_a_live_run_with_contacts_is_a_simulation() -> None:
    scene = zoo.boxes(2)
    v = np.zeros(scene.nv)
    v[scene.v_slice("box1")][0] = 0.5
    run = LiveRun(scene, scene.poses[ASSEMBLED])
    run.v = v.copy()
    run.advance(50)
    same = lw.simulate(scene, run.start, v, seconds=0.05)
    np.testing.assert_allclose(run.q, same.q[-1], rtol=0, atol=1e-9)
    assert run.unsolved == 0 and run.troubles == []


def test_reset_goes_back_to_a_pose_with_its_commands() -> None:
    robot = lw.loads(ARM)
    run = LiveRun(robot, robot.poses["home"])
    assert run.commands is None
    run.advance(20)
    run.reset("raised")
    np.testing.assert_array_equal(run.q, robot.poses["raised"])
    np.testing.assert_array_equal(run.commands, robot.commands["raised"])
    assert run.time == 0 and not run.v.any()
    run.reset()
    np.testing.assert_array_equal(run.q, robot.poses["home"])
    assert run.commands is None
    run.command("servo", 0.7)
    np.testing.assert_array_equal(run.commands, [0.7, 0.0])
    with pytest.raises(InputError, match=r"no pose 'rised'.*raised"):
        run.reset("rised")
    with pytest.raises(InputError, match=r"no actuator 'serv'.*servo"):
        run.command("serv", 1.0)
    with pytest.raises(InputError, match="no body 'low'"):
        run.pull("low", np.zeros(3), np.zeros(3))


def test_steps_that_cannot_be_solved_are_said() -> None:
    robot = between_walls()
    run = LiveRun(robot, at_rest(robot, 5.0))
    run.advance(20)
    assert run.jammed == 20 and run.unsolved == 0
    (words,) = run.troubles
    assert words.startswith("penetration not removed in 20 steps") and "wall0:box" in words
    run.reset()
    assert run.jammed == 0


EXITS = """
import time
from linkwork.live.pace import Pace

class Compiling:
    dt, time = 1e-3, 0.0

    @property
    def stepper(self):
        print("compiling", flush=True)
        time.sleep(0.5)
        print("compiled", flush=True)

    def advance(self, steps):
        self.time += steps * self.dt

pace = Pace(Compiling(), lambda: None)
pace.play()
time.sleep(0.1)
"""


def test_a_process_that_exits_waits_for_the_compiler() -> None:
    done = subprocess.run([sys.executable, "-c", EXITS], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.split()) == (0, ["compiling", "compiled"]), done.stderr


# The hand -------------------------------------------------------------------------------------------------------


def test_a_body_hangs_from_the_hand_by_its_weight() -> None:
    """Lifted off the ground by its middle, at rest, its spring bears what it weighs."""
    robot = crate()
    run = LiveRun(robot, robot.poses[ASSEMBLED])
    body = robot.body_names[0]
    at = lw.frame_placement(robot, run.q, body).act(robot.inertias[body].com)
    run.pull(body, at, at + np.array([0, 0, 1.0]))
    run.advance(6000)
    pulled = run.pulled
    assert pulled is not None
    np.testing.assert_allclose(pulled.force, -robot.mass * robot.gravity, atol=1e-3 * robot.mass)
    assert lw.frame_placement(robot, run.q, body).position[2] > 0.5
    run.release()
    assert run.pulled is None


def test_the_hand_pulls_and_turns_as_a_force_at_a_point_does() -> None:
    """Momentum after one hold of the hand, of a body at rest without gravity."""
    build = lw.Builder("brick").body("brick", lw.Inertia.box(2.0, (0.3, 0.2, 0.1), (0.05, 0, 0)))
    robot = build.joint("free", lw.joints.Free(), "world", "brick").build().with_gravity((0, 0, 0))
    run = LiveRun(robot, robot.normalize([0.1, 0.2, 0.3, 0.1, 0.5, 0.2, 0.7]))
    point = np.array([0.3, 0.25, 0.35])
    run.pull("brick", point, point + np.array([0.02, -0.01, 0.03]))
    pulled = run.pulled
    assert pulled is not None
    np.testing.assert_allclose(pulled.point, point, atol=1e-14)
    com = lw.frame_placement(robot, run.q, "brick").act(robot.inertias["brick"].com)
    run.advance(round(PULLED / run.dt))
    momentum = lw.centroidal_momentum(robot, run.q, run.v)
    np.testing.assert_allclose(momentum[3:], PULLED * pulled.force, rtol=2e-3, atol=1e-6)
    np.testing.assert_allclose(momentum[:3], PULLED * np.cross(point - com, pulled.force), rtol=5e-3, atol=1e-5)


# What is drawn ----------------------------------------------------------------------------------------------------


def test_contact_forces_of_a_body_at_rest_bear_its_weight() -> None:
    robot = zoo.boxes(2)
    run = LiveRun(robot, robot.poses[ASSEMBLED])
    run.advance(300)
    layout = run.stepper.contact_row
    assert layout is not None and run.contact_state is not None
    marks = LiveContacts(run.robot, run.dt).marks(run.q, run.v, run.contact_state[layout.places["points"]])
    assert marks is not None
    low = marks.points[:, 2] < 0.1
    assert low.sum() == 4
    np.testing.assert_allclose(marks.forces[low].sum(axis=0), -robot.mass * robot.gravity, atol=1e-5 * robot.mass)
    everywhere = lw.contact.ContactGeometry(robot)(robot.integrate(run.q, -run.dt * run.v))
    for point in marks.points:
        assert np.linalg.norm(everywhere.points[everywhere.exists] - point, axis=1).min() < 1e-9


def test_sliders_of_commands_reach_what_actuators_take() -> None:
    servo, motor = lw.loads(ARM).actuators
    assert command_range(servo, 0.0) == (-2.0, 2.0)
    assert command_range(motor, 0.0) == (-1.0, 1.0)
    assert command_range(motor, 3.0) == (-1.0, 3.0)
    strong = lw.actuators.Actuator("a", "j", (1.0,), force_limits=(-30.0, 20.0), gain=(2.0, 0.0, 0.0))
    assert command_range(strong, 0.0) == (-15.0, 15.0)
    free = lw.actuators.Actuator("a", "j", (1.0,), gain=(50.0, 0.0, 0.0), bias=(0.0, -50.0, 0.0))
    assert command_range(free, 0.0) == (-np.pi, np.pi)


# In a browser -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    pytest.importorskip("viser")
    with chromium() as found:
        yield found


def test_a_browser_runs_a_robot(browser: Any) -> None:
    """Play, pause, step, reset, keyframes, sliders of commands; nothing goes wrong in the page."""
    robot = lw.loads(ARM)
    with robot.view(live=True, open_browser=False) as viewer:
        assert isinstance(viewer, LiveViewer)
        run, page = viewer.run, Page(browser, viewer.url)
        np.testing.assert_array_equal(run.commands, robot.commands["home"])
        shown = page.page.get_by_text("0.000 s, paused")
        shown.wait_for()
        page.click("step")
        until(lambda: run.time == pytest.approx(run.dt), "a button makes one step")
        page.click("Play")
        until(lambda: run.time > 0.3, "it runs")
        page.page.get_by_text("real time").wait_for()
        page.click("Pause")
        page.page.get_by_role("button", name="Play").wait_for()
        until(lambda: not viewer.pace.playing, "it pauses")
        time, q = run.time, run.q.copy()
        page.page.wait_for_timeout(300)
        assert run.time == time and np.array_equal(run.q, q)
        np.testing.assert_allclose(viewer.stage.q, q)
        page.page.locator("input[inputmode=decimal]").first.fill("0.8")
        page.page.locator("input[inputmode=decimal]").first.press("Enter")
        until(lambda: run.commands is not None and abs(run.commands[0] - 0.8) < 1e-2, "a slider commands")
        page.click("Play")
        until(lambda: run.q[0] > 0.5, "the servo follows")
        page.click("reset")
        until(lambda: run.q[0] < 0.5, "it starts again")
        page.page.get_by_label("keyframe").click()
        page.page.get_by_role("option", name="raised").click()
        until(lambda: run.commands is not None and run.commands[0] == 1.5 and run.q[0] > 1.0, "a keyframe")
        assert viewer.pace.playing
        assert page.faults == []
        page.context.close()


def test_the_mouse_pulls_a_body(browser: Any) -> None:
    robot = crate()
    with robot.view(live=True, playing=True, open_browser=False) as viewer:
        assert isinstance(viewer, LiveViewer)
        run, page = viewer.run, Page(browser, viewer.url)
        until(lambda: run.time > 0.1, "it runs")
        page.page.wait_for_timeout(1500)
        mouse, (x, y) = page.page.mouse, page.middle()

        def grasped() -> bool:
            mouse.move(x, y)
            mouse.down()
            mouse.move(x + 4, y - 40, steps=4)
            page.page.wait_for_timeout(500)
            if run.hand is None:
                mouse.up()
            return run.hand is not None

        until(grasped, "the mouse grasps the box")
        assert run.hand is not None
        low = lw.frame_placement(robot, robot.poses[ASSEMBLED], "box0").act(run.hand.local)[2]
        mouse.move(x + 40, y - 230, steps=6)
        until(
            lambda: run.pulled is not None and float(run.pulled.point[2] - low) > 0.05,
            "it is lifted by its spring",
        )
        page.page.get_by_text("is pulled with").wait_for()
        assert viewer.hand.visible and "box0" in viewer.panel.words.content
        mouse.up()
        until(lambda: run.hand is None and not viewer.hand.visible, "it is let go")
        until(lambda: np.abs(run.v).max() < 1e-3, "it falls back and rests")
        assert page.faults == []
        page.context.close()
