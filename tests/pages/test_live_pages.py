# SPDX-License-Identifier: BSD-3-Clause
"""Live pages in a real browser: they run, obey sliders and the hand, ask nobody for anything, and run no names."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread

import linkwork as lw
from linkwork import zoo
from linkwork.errors import InputError
from linkwork.pages.program import body_masses, joint_inertias
from linkwork.zoo import ASSEMBLED
from tests.support.robots import model_file

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SWITCHES = ["--headless=new", "--no-sandbox", "--disable-background-networking", "--no-first-run"]
SWITCHES += ["--enable-unsafe-swiftshader"]  # WebGL without a graphics card, for pages that are asked to draw by it
PATIENCE = 60.0
"""Seconds that a browser without a graphics card, on a busy machine, may take."""


def described(page: Path) -> dict[str, Any]:
    """What a page knows of its robot."""
    found = re.search(r'<script type="application/json" id="robot">(.*?)</script>', page.read_text(), re.S)
    assert found is not None
    content: dict[str, Any] = json.loads(found[1])
    return content


# Files ---------------------------------------------------------------------------------------------------------


def test_pages_are_small(tmp_path: Path) -> None:
    assert zoo.four_bar().save_html(tmp_path / "bars.html", live=True).stat().st_size < 400_000
    cassie = lw.load(model_file("cassie/cassie_nomesh.xml"), contacts=False)
    assert cassie.save_html(tmp_path / "cassie.html", live=True).stat().st_size < 2_000_000


def test_bases_are_held_where_nothing_supports_them(tmp_path: Path) -> None:
    humanoid, platform = zoo.small_humanoid(), zoo.stewart()
    held = described(humanoid.save_html(tmp_path / "a.html", live=True))
    free = described(humanoid.save_html(tmp_path / "b.html", live=True, base="free"))
    assert len(held["v"]) == humanoid.nv - 6 and len(free["v"]) == humanoid.nv
    assert any("held" in note for note in held["notes"])
    assert len(described(platform.save_html(tmp_path / "c.html", live=True))["v"]) == platform.nv


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    page = described(zoo.bouncing_ball().save_html(tmp_path / "ball.html", live=True, contact=False))
    assert "contacts left out" in page["about"] and any("Contacts" in note for note in page["notes"])


def test_bad_arguments_are_refused(tmp_path: Path) -> None:
    bars = zoo.four_bar()
    with pytest.raises(InputError, match=r"a page is \.html"):
        bars.save_html(tmp_path / "bars.txt", live=True)
    with pytest.raises(InputError, match="no joint 'E'"):
        bars.save_html(tmp_path / "x.html", live=True, drive={"E": ("velocity", 1.0)})
    with pytest.raises(InputError, match="needs one of free, torque"):
        bars.save_html(tmp_path / "x.html", live=True, drive={"A": ("fast", 1.0)})
    with pytest.raises(InputError, match="for live pages"):
        bars.save_html(tmp_path / "x.html", drive={"A": ("velocity", 1.0)})
    with pytest.raises(InputError, match="begins with one state"):
        bars.save_html(tmp_path / "x.html", live=True, v=[1.0])


def test_what_motors_and_the_hand_feel() -> None:
    """Of a point mass on a rod: the inertia about the joint; of a free body: its mass."""
    pendulum = zoo.pendulum(1)
    at = np.zeros(1)
    assert joint_inertias(pendulum, at)[0] == pytest.approx(lw.mass_matrix(pendulum, at)[0, 0], rel=1e-12)
    ball = zoo.bouncing_ball()
    mass = ball.inertias[ball.body_names[0]].mass
    assert body_masses(ball, ball.neutral())[0] == pytest.approx(mass, rel=1e-9)


# In a browser ----------------------------------------------------------------------------------------------------


def spoken(text: str) -> bool:
    """Whether the page or the browser says it, not a driver that has no graphics card."""
    return "GL Driver Message (OpenGL, Performance" not in text


class Opened:
    """A page, what it asked for and what went wrong in it."""

    def __init__(self, browser: Any, path: Path, search: str = "", **how: Any) -> None:
        self.requests: list[str] = []
        self.faults: list[str] = []
        self.context = browser.new_context(viewport={"width": 900, "height": 560}, **how)
        self.context.set_default_timeout(1000 * PATIENCE)
        self.page = self.context.new_page()
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.faults.append(message.text) if spoken(message.text) else None)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.goto(path.as_uri() + search)
        self.until("linkwork.state !== null")

    def until(self, condition: str) -> None:
        """Wait until something holds in the page."""
        end = time.monotonic() + PATIENCE
        while not self.page.evaluate(f"Boolean(window.linkwork && ({condition}))"):
            assert time.monotonic() < end, f"waited {PATIENCE:.0f} s for {condition}; {self.state()}"
            self.page.wait_for_timeout(30)

    def state(self) -> dict[str, Any]:
        """What the page shows."""
        kept = "({time: s.time, q: [...s.q], v: [...s.v], tau: [...s.tau], forces: [...s.forces], energy: s.energy})"
        found: dict[str, Any] = self.page.evaluate(f"(s => {kept})(linkwork.state)")
        return found

    def pause(self) -> None:
        """Stop it."""
        self.page.click("#play")
        self.until("!linkwork.playing")

    def close(self) -> None:
        """Everything was quiet, and nothing was asked of anybody."""
        assert self.page.evaluate("linkwork.fault") == ""
        assert self.faults == []
        assert [url for url in self.requests if not url.startswith(("file:", "blob:"))] == []
        self.context.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("no Chromium on the PATH")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, headless=True, args=SWITCHES)
        yield found
        found.close()


def test_a_page_steps_as_native_code_does(browser: Any, tmp_path: Path) -> None:
    robot = zoo.four_bar()
    q = robot.poses[ASSEMBLED]
    opened = Opened(browser, robot.save_html(tmp_path / "bars.html", q, live=True, playing=False))
    for _ in range(5):
        before = opened.state()["time"]
        opened.page.click("#step")
        opened.until(f"linkwork.state.time > {before}")
    found = opened.state()
    wanted = lw.Stepper(robot, integrator="rk4")(q, np.zeros(3), steps=5)
    assert found["time"] == pytest.approx(5e-3)
    np.testing.assert_allclose(found["q"], wanted.q, atol=1e-9)
    np.testing.assert_allclose(found["v"], wanted.v, atol=1e-7)
    opened.close()


def test_contacts_of_a_page_are_those_of_native_code(browser: Any, tmp_path: Path) -> None:
    """A box that slides, one step at a time, each from the forces of the one before; steps not solved are counted."""
    robot = zoo.sliding_box()
    q, v, row = robot.poses[ASSEMBLED], np.array([1.0, 0.2, -0.1, 0.0, 0.0, 0.5]), None
    opened = Opened(browser, robot.save_html(tmp_path / "box.html", q, v=v, live=True, playing=False))
    stepper = lw.Stepper(robot)
    for k in range(12):
        opened.page.click("#step")
        opened.until(f"linkwork.state.steps > {k}")
        after = stepper(q, v, contact_state=row)
        q, v, row = after.q, after.v, after.contact_state
    found = opened.state()
    np.testing.assert_allclose(found["q"], q, atol=1e-9)
    np.testing.assert_allclose(found["v"], v, atol=1e-7)
    assert after.contacts is not None
    forces = after.contacts.forces[..., 2].sum()
    assert opened.page.evaluate("linkwork.state.normals[1]") == pytest.approx(forces, rel=1e-6)
    assert opened.page.evaluate("linkwork.state.marks.length") == 24
    assert opened.page.evaluate("document.getElementById('unsolved').textContent") == ""
    opened.page.evaluate("linkwork.state.unsolved.missed = 3")
    opened.until("document.getElementById('unsolved').textContent.includes('3 missed')")
    opened.close()


def test_cassie_stands_on_the_ground(browser: Any, tmp_path: Path) -> None:
    cassie = zoo.cassie_on_ground(lw.load(model_file("cassie/cassie_nomesh.xml")))
    q = cassie.poses[ASSEMBLED]
    drive = {name: ("position", float(q[cassie.q_index(name)])) for name in sorted({a.joint for a in cassie.actuators})}
    path = cassie.save_html(tmp_path / "cassie.html", q, live=True, drive=drive)
    assert path.stat().st_size < 2_000_000
    opened = Opened(browser, path)
    opened.until("linkwork.state.time > 0.3")
    opened.pause()
    found = opened.state()
    if found["time"] < 1.0:  # servos of the page alone do not balance it, and a busy machine sees it later
        assert found["q"][2] == pytest.approx(q[2], abs=0.1)
    total = opened.page.evaluate("linkwork.state.normals[2]")
    assert 0.5 * 9.81 * cassie.mass < total < 2 * 9.81 * cassie.mass
    assert opened.page.evaluate("Object.keys(linkwork.state.unsolved).length") == 0
    opened.close()


def test_a_page_runs_keeps_loops_closed_and_resets(browser: Any, tmp_path: Path) -> None:
    robot = zoo.jansen()
    opened = Opened(browser, robot.save_html(tmp_path / "leg.html", live=True, drive={"O": ("velocity", 4.0)}))
    opened.until("linkwork.state.time > 1")
    opened.pause()
    found = opened.state()
    assert np.abs(lw.constraint_error(robot, found["q"])).max() < 1e-5
    assert found["v"][0] == pytest.approx(4.0, abs=0.8)
    opened.page.keyboard.press("r")
    opened.until("linkwork.state.time === 0")
    np.testing.assert_allclose(opened.state()["q"], described(tmp_path / "leg.html")["q"])
    opened.close()


def test_sliders_change_the_motion(browser: Any, tmp_path: Path) -> None:
    robot = zoo.four_bar()
    opened = Opened(browser, robot.save_html(tmp_path / "bars.html", live=True, dt=2e-3))
    page = opened.page
    page.get_by_label("Mode of A").select_option("velocity")
    page.get_by_label("A", exact=True).fill("5")
    opened.until("Math.abs(linkwork.state.v[0] - 5) < 0.5")
    page.get_by_label("gravity").fill("0")
    opened.until("linkwork.state.parameters.gravity.every((x) => Math.abs(x) < 1e-3)")
    length = page.get_by_label("coupler, to C")
    length.fill("0.55")
    opened.until("Math.abs(linkwork.state.parameters.anchor_position[0] - 0.55) < 5e-3")
    opened.pause()
    longer = robot.with_parameters(
        anchor_position=np.array(page.evaluate("[...linkwork.state.parameters.anchor_position]")).reshape(1, 2, 3)
    )
    assert np.abs(lw.constraint_error(longer, opened.state()["q"])).max() < 1e-3
    opened.close()


def test_plots_scroll_and_masses_change(browser: Any, tmp_path: Path) -> None:
    robot = zoo.four_bar()
    opened = Opened(browser, robot.save_html(tmp_path / "bars.html", live=True, drive={"A": ("velocity", 3.0)}))
    page = opened.page
    groups = page.locator("#group option").all_inner_texts()
    assert groups == ["Positions", "Velocities", "Torques", "Reactions of loops", "Energy"]
    for group in groups:
        page.get_by_label("What is plotted").select_option(label=group)
        opened.until("[...document.querySelectorAll('#legend b')].every((value) => value.textContent)")
        page.evaluate("window.before = document.getElementById('curves').toDataURL()")
        opened.until("document.getElementById('curves').toDataURL() !== window.before")
    half = 0.5 * robot.inertias["coupler"].mass
    slider = page.get_by_label("coupler", exact=True)
    slider.evaluate("(range, x) => { range.value = x; range.dispatchEvent(new Event('input')); }", half)
    at = robot.body_names.index("coupler")
    opened.until(f"Math.abs(linkwork.state.parameters.mass[{at}] - {half}) < {0.02 * half}")
    opened.close()


def test_the_mouse_pulls_a_body(browser: Any, tmp_path: Path) -> None:
    robot = zoo.pendulum(1)
    opened = Opened(browser, robot.save_html(tmp_path / "pendulum.html", [0.0], live=True))
    page = opened.page
    assert abs(opened.state()["q"][0]) < 1e-6
    canvas = page.locator("#view").bounding_box()
    spots = [(0.5, y) for y in np.linspace(0.25, 0.75, 26)]
    for x, y in spots:
        page.mouse.move(canvas["x"] + x * canvas["width"], canvas["y"] + y * canvas["height"])
        if "over" in (page.locator("#view").get_attribute("class") or ""):
            break
    else:
        pytest.fail("no body under the pointer")
    page.mouse.down()
    page.mouse.move(canvas["x"] + 0.75 * canvas["width"], canvas["y"] + 0.3 * canvas["height"], steps=5)
    opened.until("Math.abs(linkwork.state.q[0]) > 0.15")
    page.mouse.up()
    opened.close()


def test_the_state_is_in_the_address(browser: Any, tmp_path: Path) -> None:
    path = zoo.four_bar().save_html(tmp_path / "bars.html", live=True)
    opened = Opened(browser, path)
    opened.until("linkwork.state.time > 0.3")
    opened.pause()
    page = opened.page
    page.get_by_label("gravity").fill("3")
    page.click("#share")
    kept = opened.state()
    address = page.evaluate("location.href")
    page.goto("about:blank")
    page.goto(address)
    opened.until(f"linkwork.state && linkwork.state.time >= {kept['time']}")
    opened.pause()
    assert np.hypot(*page.evaluate("[...linkwork.state.parameters.gravity]")[1:]) == pytest.approx(3.0, abs=0.1)
    page.goto("about:blank")
    page.goto(address.split("#")[0] + "#bm9uc2Vuc2U")
    opened.until("linkwork.state !== null && location.hash === ''")
    opened.close()


def test_names_are_text(browser: Any, tmp_path: Path) -> None:
    evil = '</script><script>window.hacked = true</script><img src=x onerror="window.hacked=true">@script@'
    robot = zoo.four_bar().renamed({"crank": evil, "A": f"A{evil}"}, name=evil)
    opened = Opened(browser, robot.save_html(tmp_path / "evil.html", live=True))
    opened.until("linkwork.state.time > 0.1")
    assert opened.page.evaluate("window.hacked") is None
    assert opened.page.locator("h1").inner_text() == evil and opened.page.title() == evil
    opened.close()


def test_keys_touch_and_dark(browser: Any, tmp_path: Path) -> None:
    path = zoo.four_bar().save_html(tmp_path / "bars.html", live=True)
    opened = Opened(browser, path, color_scheme="dark", has_touch=True)
    page = opened.page
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.keyboard.press("d")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    page.keyboard.press(" ")
    opened.until("!linkwork.playing")
    page.keyboard.press(".")
    page.keyboard.press("p")
    assert page.locator("#plot").is_hidden()
    page.touchscreen.tap(200, 200)
    opened.close()


def test_cassie_runs(browser: Any, tmp_path: Path) -> None:
    """Its loops hold with forces, and rods that are free to spin are left out; scripts/page_times.py has its times."""
    cassie = lw.load(model_file("cassie/cassie_nomesh.xml"), contacts=False)
    opened = Opened(browser, cassie.save_html(tmp_path / "cassie.html", live=True), "?draw=canvas")
    opened.until("linkwork.state.time > 1")
    opened.pause()
    held = described(tmp_path / "cassie.html")
    assert len(opened.state()["q"]) == len(held["q"]) == cassie.nq - 7
    assert np.abs(opened.state()["forces"]).max() > 1.0
    opened.close()


def test_pages_draw_alike_with_and_without_webgl(browser: Any, tmp_path: Path) -> None:
    """Bodies, shadows and the ground of both pictures agree but for edges, lines of the ground and highlights."""
    robot = zoo.boxes(1)
    path = robot.save_html(tmp_path / "box.html", robot.poses[ASSEMBLED], live=True, playing=False)
    pictures = []
    for search in ("?draw=webgl", "?draw=canvas"):
        opened = Opened(browser, path, search)
        opened.page.keyboard.press("c")
        opened.page.wait_for_timeout(500)
        shot = opened.page.screenshot(clip={"x": 100, "y": 100, "width": 700, "height": 250})
        pictures.append(255 * imread(BytesIO(shot), format="png")[..., :3])
        opened.close()
    card, plain = pictures
    assert np.ptp(card) > 100
    assert np.abs(card - plain).mean() < 4
    assert (np.abs(card - plain).max(axis=-1) > 40).mean() < 0.01


@pytest.mark.parametrize("search", ["?draw=webgl", "?draw=canvas"])
def test_bodies_before_and_behind_the_eye_are_cut(browser: Any, tmp_path: Path, search: str) -> None:
    """A large plate below the eye fills the lower part of the picture, though its corners are behind the eye."""
    build = lw.Builder("plate").body("lamp", lw.Inertia.rod(1.0, (0, 0, 0), (0, 0, 0.5)))
    build.joint("swing", lw.joints.Revolute("y"), "world", "lamp")
    build.shape("world", lw.shapes.Box((40.0, 40.0, 0.1)), at=(0, 0, -1.0), color=(0.9, 0.1, 0.1))
    robot = build.build()
    opened = Opened(browser, robot.save_html(tmp_path / "plate.html", live=True, playing=False), search)
    opened.page.wait_for_timeout(300)
    for _ in range(12):
        opened.page.mouse.move(450, 200)
        opened.page.mouse.wheel(0, -300)
    for key in "pc":
        opened.page.keyboard.press(key)
    opened.page.wait_for_timeout(500)
    shot = imread(BytesIO(opened.page.screenshot(clip={"x": 100, "y": 380, "width": 700, "height": 60})), format="png")
    assert (shot[..., 0] - shot[..., 1] > 0.2).mean() > 0.9
    opened.close()


def test_plots_do_not_cover_the_mechanism(browser: Any, tmp_path: Path) -> None:
    """A red ball, seen in full above plots that are as wide as the picture."""
    build = lw.Builder("ball").body("ball", lw.Inertia.sphere(1.0, 0.1))
    build.joint("free", lw.joints.Free(), "world", "ball").shape("ball", lw.shapes.Sphere(0.1), color=(0.9, 0.1, 0.1))
    opened = Opened(browser, build.build().save_html(tmp_path / "ball.html", live=True, playing=False))
    opened.page.wait_for_timeout(500)
    shot = imread(BytesIO(opened.page.screenshot()), format="png")
    rows, columns = np.nonzero((shot[..., 0] - shot[..., 1] > 0.3)[:, :580])
    ball = rows < opened.page.evaluate("document.getElementById('plot').getBoundingClientRect().top") - 5
    height, width = np.ptp(rows[ball]), np.ptp(columns[ball])
    assert width > 30 and abs(height - width) < 0.1 * width
    opened.close()


def test_without_javascript_a_page_says_what_it_is(browser: Any, tmp_path: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(zoo.four_bar().save_html(tmp_path / "bars.html", live=True).as_uri())
    assert "four-bar" in page.locator("noscript").inner_text() or "four-bar" in page.content()
    assert page.locator(".words").is_visible()
    context.close()
