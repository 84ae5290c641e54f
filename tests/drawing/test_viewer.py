# SPDX-License-Identifier: BSD-3-Clause
"""The viewer: what it draws is where the robot is, its panels do what they say, and a real browser shows it.

Pictures of Cassie, Digit and contacts are written to the folder that ``LINKWORK_PICTURES`` names, if it names one:
those of the docs are made so.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.drawing.surfaces import FACETS, capsule_triangles, facets_of
from linkwork.errors import InputError, LinkworkError, UnsupportedFeature
from linkwork.model.rotations import aligning_rotation, quaternion_of
from linkwork.model.shapes import Box, Cylinder, Mesh, Sphere
from linkwork.zoo import ASSEMBLED
from tests.docs.test_pages import code_of
from tests.support.browsers import PATIENCE, chromium, until
from tests.support.robots import model_file

pytest.importorskip("viser")
from linkwork.viewer import Viewer
from linkwork.viewer.between import ARROWS, CONES, GAPS, SETS, Film
from linkwork.viewer.ground import IN_SECTION
from linkwork.viewer.posing import Pose, start_of
from linkwork.viewer.solids import wxyz_of
from linkwork.viewer.stage import ARROW

Pixels = npt.NDArray[np.int64]


def swinging(seconds: float = 0.5, record_every: int = 10) -> lw.Trajectory:
    """A four-bar in motion."""
    robot = zoo.four_bar()
    q = robot.poses[ASSEMBLED]
    return lw.simulate(
        robot, q, robot.project_velocity(q, [2.0, 0, 0]), seconds=seconds, record_every=record_every, dt=1e-3
    )


@pytest.fixture(scope="module")
def run() -> lw.Trajectory:
    return swinging()


def view(thing: lw.Mechanism | lw.Trajectory, *given: Any, **how: Any) -> Viewer:
    return thing.view(*given, open_browser=False, **how)


# Solids -----------------------------------------------------------------------------------------------------


def test_quaternions_are_those_of_one_by_one() -> None:
    rng = np.random.default_rng(0)
    axes = [rng.normal(size=3) for _ in range(50)]
    R = np.array([aligning_rotation(a / np.linalg.norm(a)) for a in axes] + [np.diag([1.0, -1, -1]), np.eye(3)])
    for turn, found in zip(R, wxyz_of(R), strict=True):
        expected = np.roll(quaternion_of(turn), 1)
        assert min(np.abs(found - expected).max(), np.abs(found + expected).max()) < 1e-12


def test_a_capsule_is_closed_and_its_surface_faces_outwards() -> None:
    vertices, faces = capsule_triangles(0.3, 2.0)
    a, b, c = vertices[faces].transpose(1, 0, 2)
    volume = float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6)
    assert volume == pytest.approx(np.pi * 0.3**2 * 2.0 + 4 / 3 * np.pi * 0.3**3, rel=0.03)
    assert np.cross(b - a, c - a).sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-12)
    np.testing.assert_allclose(np.abs(vertices).max(axis=0), [0.3, 0.3, 1.3], atol=1e-12)


def test_edges_of_facets_are_near_the_surface() -> None:
    """A chord of n facets is r (1 - cos(pi / n)) from its arc; four facets fewer are farther away than allowed."""
    for radius, sag in ((1.0, 0.01), (0.3, 0.001), (1.0, 0.03)):
        facets = facets_of(radius, sag)
        assert facets % 4 == 0
        assert facets == FACETS or radius * (1 - np.cos(np.pi / facets)) <= sag
        assert facets == 8 or radius * (1 - np.cos(np.pi / (facets - 4))) > sag
    assert facets_of(0.001, 0.01) == facets_of(0.0, 0.01) == 8


# What is drawn ----------------------------------------------------------------------------------------------


def test_bodies_stand_where_their_joints_move_them(run: lw.Trajectory) -> None:
    robot = run.robot
    assert robot is not None
    with view(run) as viewer:
        for time_ in (0.0, 0.2, 0.31, 0.5):
            viewer.show(time_)
            q, _ = run.at(time_)
            R, p = viewer.stage.bones.poses(q)
            for k, name in enumerate(("world", *robot.body_names)):
                node = viewer.stage.nodes[name]
                np.testing.assert_allclose(node.position, p[k], atol=1e-9)
                np.testing.assert_allclose(node.wxyz, wxyz_of(R[k]), atol=1e-9)
                np.testing.assert_allclose(p[k], lw.frame_placement(robot, q, name).position, atol=1e-12)


def test_arrows_are_the_forces_of_constraints(run: lw.Trajectory) -> None:
    """Of one loop, on its second body, in the axes of its first frame: here those of the world's."""
    with view(run) as viewer:
        stage = viewer.stage
        viewer.show(0.3)
        k = int(np.abs(run.times - 0.3).argmin())
        R, p = stage.bones.poses(run.q[k])
        starts, forces = stage.bones.pulls(R, stage.bones.placed(R, p), run.multipliers[k])
        assert stage.between.nodes[ARROWS].visible and len(stage.bones.loops) == 1
        drawn = np.asarray(stage.between.nodes[ARROWS].points, dtype=np.float64).reshape(-1, 2, 3)
        scale = ARROW * stage.framing.size / stage.strong
        np.testing.assert_allclose(drawn[0, 0], starts[0], atol=1e-6)
        np.testing.assert_allclose(drawn[0, 1] - drawn[0, 0], scale * forces[0], atol=1e-5)
        stage.scale_forces(2.0)
        longer = np.asarray(stage.between.nodes[ARROWS].points, dtype=np.float64).reshape(-1, 2, 3)
        np.testing.assert_allclose(longer[0, 1] - longer[0, 0], 2 * scale * forces[0], atol=1e-5)
        stage.show("forces", False)
        assert not stage.between.nodes[ARROWS].visible
        viewer.show(0.0)
        assert not stage.between.nodes[ARROWS].visible


def test_the_pull_of_a_loop_balances_the_body_that_it_holds() -> None:
    """A rod that hangs from two arms by a point each: at rest, both pull upwards with its weight."""
    build = lw.Builder("hanging")
    build.body("rod", lw.Inertia.rod(2.0, (-0.5, 0, 0), (0.5, 0, 0))).joint("free", lw.joints.Free(), "world", "rod")
    for name, x in (("a", -0.5), ("b", 0.5)):
        build.body(name, lw.Inertia.rod(1.0, (0, 0, 0), (0, 0, -1)))
        build.joint(name, lw.joints.Revolute("y"), "world", name, at=(x, 0, 0))
        build.constrain(
            lw.constraints.Point(name, "rod", first_at=(0, 0, -1), second_at=(x, 0, 0), name=f"{name} holds")
        )
    robot = build.build()
    q = robot.assemble([0, 0, -1, 0, 0, 0, 1, 0, 0])
    run = lw.simulate(robot, q, seconds=0.01)
    with view(run) as viewer:
        stage = viewer.stage
        R, p = stage.bones.poses(run.q[-1])
        _, forces = stage.bones.pulls(R, stage.bones.placed(R, p), run.multipliers[-1])
        np.testing.assert_allclose(forces.sum(axis=0), [0, 0, 2 * 9.81], atol=1e-6)
        assert (forces[:, 2] > 9).all()


def test_ends_of_loops_that_are_apart_are_joined_by_a_line() -> None:
    robot = zoo.four_bar()
    with view(robot, robot.poses[ASSEMBLED]) as viewer:
        assert not viewer.stage.between.nodes[GAPS].visible
        viewer.show(robot.poses[ASSEMBLED] + [0.3, 0, 0])
        assert viewer.stage.between.nodes[GAPS].visible
        _, first, second = viewer.stage.bones.loops[0]
        ends = viewer.stage.bones.points(viewer.stage.q)[[first, second]]
        np.testing.assert_allclose(np.asarray(viewer.stage.between.nodes[GAPS].points).reshape(2, 3), ends, atol=1e-6)
        assert np.linalg.norm(ends[1] - ends[0]) > 0.01
        viewer.stage.show("loops", False)
        assert not viewer.stage.between.nodes[GAPS].visible


def looked_at() -> lw.Builder:
    build = lw.Builder("arm")
    build.body("upper", lw.Inertia.rod(1.0, (0, 0, 0), (0, 0, -0.5)))
    build.joint("shoulder", lw.joints.Revolute("y"), "world", "upper")
    build.body("lower", lw.Inertia.rod(1.0, (0, 0, 0), (0, 0, -0.5)))
    return build.joint("elbow", lw.joints.Revolute("y"), "upper", "lower", at=(0, 0, -0.5))


def test_bodies_are_drawn_with_what_looks_else_with_what_collides_else_with_bones() -> None:
    build = looked_at()
    with view(build.build()) as viewer:
        assert "shapes" not in viewer.stage.layers and viewer.stage.layers["bones"]
        assert all(node.visible for node in viewer.stage.layers["bones"])
    build.shape("upper", Cylinder(0.05, 0.5), color=(1, 0, 0, 0.5)).shape(
        "upper", Box((0.2, 0.2, 0.5)), role="collision"
    )
    build.shape("lower", Sphere(0.1), color=(0, 0, 0, 0), role="collision")
    build.shape("lower", Sphere(0.2), color=(1, 0, 0, 0))
    with view(build.build()) as viewer:
        layers, stage = viewer.stage.layers, viewer.stage
        assert [node.name.split("/")[2] for node in layers["shapes"]] == ["1", "2"]
        assert len(layers["collision"]) == 1 and not layers["collision"][0].visible
        assert tuple(layers["shapes"][0].color) == (255, 0, 0)
        assert stage.look == "solid" and not any(node.visible for node in layers["inner bones"])
        stage.draw_as("bones")
        assert not any(node.visible for node in layers["shapes"]) and all(
            node.visible for node in layers["inner bones"]
        )
        stage.draw_as("solid")
        assert layers["shapes"][0].opacity == 0.5 and layers["shapes"][1].opacity is None
        stage.show("collision", True)
        assert layers["collision"][0].visible


def test_shapes_that_only_contacts_have_are_among_those_for_collision() -> None:
    heel = lw.contact.ContactShape("heel", "lower", Sphere(0.03), lw.Placement((0.0, 0.0, -0.5)))
    robot = looked_at().shape("lower", Cylinder(0.05, 0.5)).build().with_contacts(heel)
    with view(robot) as viewer:
        (node,) = viewer.stage.layers["collision"]
        assert not node.visible and node.name.startswith("/bodies/2/")
        np.testing.assert_allclose(node.position, (0, 0, -0.5), atol=1e-12)


def test_meshes_are_read_once_and_those_that_cannot_be_are_named(tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    good, bad = tmp_path / "good.stl", tmp_path / "bad.stl"
    trimesh.creation.box((1, 2, 3)).export(good)
    bad.write_bytes(b"no mesh at all")
    build = looked_at().shape("upper", Mesh("good.stl", good, (0.1, 0.1, 0.1))).shape("upper", Mesh("bad.stl", bad))
    build.shape("lower", Mesh("gone.stl", None)).shape("lower", Mesh("good.stl", good))
    with view(build.build()) as viewer:
        nodes = viewer.stage.layers["shapes"]
        assert [len(node.faces) for node in nodes] == [12, 12]
        np.testing.assert_allclose(np.abs(nodes[0].vertices).max(axis=0), [0.5, 1, 1.5])
        assert set(viewer.stage.meshes.skipped) == {"bad.stl", "gone.stl"}
        assert "2 meshes are not drawn, such as bad.stl" in viewer._about()
        assert "**lower**, 1 kg, moved by elbow" in viewer._about("lower")


@pytest.mark.parametrize("gravity", [(0, 0, -9.81), (0, -9.81, 0), (9.81, 0, 0), (1.0, 2.0, -3.0), (0, 0, 0)])
def test_up_is_against_gravity_and_all_of_the_robot_is_looked_at(gravity: tuple[float, float, float]) -> None:
    robot = looked_at().build().with_gravity(gravity)
    with view(robot) as viewer:
        frame = viewer.stage.framing
        up = -np.array(gravity) / np.linalg.norm(gravity) if any(gravity) else np.array([0.0, 0, 1])
        np.testing.assert_allclose(frame.up, up, atol=1e-12)
        np.testing.assert_allclose(viewer.server.initial_camera.up, up, atol=1e-12)
        points = viewer.stage.bones.points(viewer.stage.q)
        ahead = (frame.center - frame.eye) / np.linalg.norm(frame.center - frame.eye)
        angles = np.arccos(((points - frame.eye) @ ahead) / np.linalg.norm(points - frame.eye, axis=1))
        assert angles.max() < 0.5 * viewer.server.initial_camera.fov


def test_a_run_that_leads_far_away_is_followed() -> None:
    robot = looked_at().build()
    build = (
        lw.Builder("ball").body("ball", lw.Inertia.sphere(1.0, 0.1)).joint("free", lw.joints.Free(), "world", "ball")
    )
    falling = build.shape("ball", Sphere(0.1)).build()
    with view(lw.simulate(falling, falling.neutral(), seconds=1.0, record_every=100)) as viewer:
        assert viewer.following
    with view(lw.simulate(robot, [0.3, 0.0], seconds=0.2, record_every=100)) as viewer:
        assert not viewer.following


def test_without_shadows_the_ground_is_lines_around_the_robot() -> None:
    ball = lw.Builder("ball").body("ball", lw.Inertia.sphere(1.0, 0.1)).joint("free", lw.joints.Free(), "world", "ball")
    with view(ball.shape("ball", Sphere(0.1)).build()) as viewer:
        stage = viewer.stage
        ground, section = stage.ground, IN_SECTION * stage.framing.side
        assert ground.grid.visible and not ground.lines.visible
        ground.cast_shadows(False)
        assert ground.lines.visible and not ground.grid.visible
        stage.show("ground", False)
        assert not ground.lines.visible and not ground.grid.visible
        stage.show("ground", True)
        assert ground.lines.visible and not ground.grid.visible
        stage.move(np.array([7.3 * section, -2.1 * section, 0.4, 0, 0, 0, 1.0]))
        height = stage.framing.floor
        np.testing.assert_allclose(ground.lines.position, [7 * section, -2 * section, height], atol=1e-9)
        ground.cast_shadows(True)
        assert ground.grid.visible and not ground.lines.visible


# Panels -----------------------------------------------------------------------------------------------------


def test_the_slider_steps_and_plays(run: lw.Trajectory) -> None:
    with view(run) as viewer:
        playing = viewer.playing
        assert playing is not None and playing.state == 0
        playing.step("forward")
        playing.step("forward")
        playing.step("back")
        assert playing.state == 1
        np.testing.assert_array_equal(viewer.stage.q, run.q[1])
        playing.step("last")
        assert playing.state == len(run) - 1 and "state 50 of 50, 0.5000 s" in playing.words.content
        playing.step("forward")
        assert playing.state == len(run) - 1
        playing.step("first")
        playing.repeat.value = False
        playing.speed.value = "4"
        playing.start()
        until(lambda: playing.state == len(run) - 1 and playing.play.label == "Play", "the run plays to its end")
        np.testing.assert_array_equal(viewer.stage.q, run.q[-1])
        playing.repeat.value = True
        seen: set[int] = set()
        playing.start()
        until(lambda: seen.add(playing.state) or {0, 1} <= {k // 25 for k in seen}, "it goes round")  # type: ignore[func-returns-value]
        playing.pause()
        here = playing.state
        assert playing.play.label == "Play" and playing.state == here


def test_words_say_energy_and_errors(run: lw.Trajectory) -> None:
    with view(run) as viewer:
        viewer.show(0.25)
        assert viewer.playing is not None
        k = viewer.playing.state
        assert f"energy {run.energy['total'][k]:.5g} J" in viewer.playing.words.content
        assert f"loops open by {run.errors[k]:.1e}" in viewer.playing.words.content


def test_a_joint_takes_its_loop_along() -> None:
    robot = zoo.four_bar()
    pose = Pose(robot, robot.poses[ASSEMBLED].copy())
    name = robot.joint_names[0]
    before = pose.q.copy()
    assert pose.turn(name, before[0] + 0.4) == ""
    assert pose.q[0] == before[0] + 0.4 and np.abs(pose.q - before)[1:].min() > 1e-3
    assert np.abs(lw.constraint_error(robot, pose.q)).max() < 1e-9
    assert pose.turn(name, before[0]) == ""
    np.testing.assert_allclose(pose.q, before, atol=1e-8)


def test_a_joint_stops_where_its_loop_would_open() -> None:
    robot = zoo.four_bar()
    pose = Pose(robot, robot.poses[ASSEMBLED].copy())
    stuck = next(name for name in robot.joint_names if pose.turn(name, pose.q[robot.q_index(name)] + 3.0))
    words = pose.turn(stuck, pose.q[robot.q_index(stuck)] + 3.0)
    assert words.startswith(f"{stuck} stops at") and "would open by" in words
    assert np.abs(lw.constraint_error(robot, pose.q)).max() < 1e-9


def test_sliders_of_a_robot_follow_each_other() -> None:
    robot = zoo.four_bar()
    with view(robot) as viewer:
        posing = viewer.posing
        assert posing is not None and set(posing.sliders) == set(robot.joint_names)
        first, second = robot.joint_names[:2]
        before = posing.sliders[second].value
        posing.sliders[first].value = posing.sliders[first].value + 0.3
        assert abs(posing.sliders[second].value - before) > 1e-3
        assert np.abs(lw.constraint_error(robot, viewer.stage.q)).max() < 1e-9
        assert posing.sliders[second].value == pytest.approx(viewer.stage.q[robot.q_index(second)])
        viewer.show(robot.poses[ASSEMBLED])
        np.testing.assert_array_equal(viewer.stage.q, robot.poses[ASSEMBLED])


def test_the_box_of_poses_shows_where_the_robot_is() -> None:
    robot = zoo.four_bar()
    with view(robot, robot.poses[ASSEMBLED]) as viewer:
        posing = viewer.posing
        assert posing is not None and posing.chooser.value == ASSEMBLED
        slider = posing.sliders[robot.joint_names[0]]
        slider.value = slider.value + 0.3
        assert posing.chooser.value == ""
        posing.chooser.value = ASSEMBLED
        np.testing.assert_array_equal(viewer.stage.q, robot.poses[ASSEMBLED])
        assert posing.chooser.value == ASSEMBLED


def test_a_robot_is_first_seen_with_its_loops_closed() -> None:
    for robot in (zoo.four_bar(), zoo.stewart(), zoo.pendulum(), looked_at().build()):
        q, _ = start_of(robot)
        if robot.nc:
            assert np.abs(lw.constraint_error(robot, q)).max() < 1e-9
    apart = (
        looked_at()
        .constrain(lw.constraints.Point("lower", "world", first_at=(0, 0, -0.5), second_at=(9, 0, 0)))
        .build()
    )
    q, words = start_of(apart)
    np.testing.assert_array_equal(q, apart.neutral())
    assert "open loops" in words


# The server -------------------------------------------------------------------------------------------------


def test_viewers_beside_each_other_have_ports_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    robot = zoo.pendulum()
    with view(robot) as one, view(robot) as other:
        assert one.port != other.port
        assert capsys.readouterr().out.splitlines() == [f"{robot.name}: {one.url}", f"{robot.name}: {other.url}"]
    one.close()  # a second time, which does nothing


def test_waiting_ends_when_the_viewer_is_closed() -> None:
    import threading

    viewer = view(zoo.pendulum())
    waiting = threading.Thread(target=viewer.wait)
    waiting.start()
    viewer.close()
    waiting.join(timeout=PATIENCE)
    assert not waiting.is_alive()


def test_rollouts_are_viewed_one_at_a_time() -> None:
    robot = zoo.pendulum()
    many = lw.rollouts(robot, np.array([[0.1], [0.2], [0.3]]), seconds=0.05, record_every=10)
    with view(many, index=2) as viewer:
        np.testing.assert_array_equal(viewer.stage.q, [0.3])
    with pytest.raises(InputError, match="no robot 3 in rollouts of 3"):
        view(many, index=3)


def test_wrong_things_are_not_viewed(run: lw.Trajectory) -> None:
    robot = zoo.four_bar()
    with pytest.raises(InputError, match="a robot or a trajectory, not list"):
        Viewer([robot])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="a trajectory has its own states"):
        Viewer(run, [0.0, 0, 0])
    with pytest.raises(InputError, match="q has 2 numbers"):
        view(robot, [0.0, 0.0])
    with pytest.raises(InputError, match="one configuration of 3 numbers"):
        view(robot, np.zeros((2, 3)))
    with view(run) as viewer:
        with pytest.raises(InputError, match="a time in seconds"):
            viewer.show([0.0, 1.0])
        with pytest.raises(InputError, match="a page is"):
            viewer.save_html("run.gif")
        with pytest.raises(LinkworkError, match=r"cannot write the page to .*No such file"):
            viewer.save_html("no/such/folder/run.html")


def test_without_viser_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(UnsupportedFeature, match=r"pip install 'linkwork\[view\]'"):
        view(zoo.pendulum())


def test_the_page_about_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    opened_: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened_.append)
    monkeypatch.setenv("DISPLAY", ":0")
    names: dict[str, Any] = {}
    exec(code_of("how-to/seeing.md"), names)
    printed = capsys.readouterr().out.splitlines()
    assert [line.split(": ")[1] for line in printed[:2]] == opened_
    assert printed[3] == "['Cylinder', 'Sphere', 'Ground']"
    assert (tmp_path / "swing.html").stat().st_size < 2e6
    np.testing.assert_array_equal(names["viewer"].stage.q, names["run"].at(0.5)[0])


# Pages that play --------------------------------------------------------------------------------------------


class Shown:
    """Stands for a set of lines: knows the state it has the lines of, and since when."""

    def __init__(self) -> None:
        self.state, self.since, self.visible = -1, -1, True

    def put(self, lines: Any) -> None:
        assert not self.visible or self.state < 0, "lines that are seen are changed"
        self.state, self.since = lines["state"], Shown.now

    def show(self, visible: bool) -> None:
        self.visible = visible

    now = 0


@pytest.mark.parametrize("count", [1, 2, SETS - 1, SETS, SETS + 1, 3 * SETS + 7])
def test_lines_of_a_film_are_known_before_they_are_shown(count: int) -> None:
    made: list[Any] = []
    Shown.now = -1
    film = Film(lambda path: made.append(Shown()) or made[-1], count, lambda n: {"state": n})  # type: ignore[arg-type]
    for n in range(count):
        Shown.now = n
        film.show(n)
        seen = [one for one in made if one.visible]
        assert [one.state for one in seen] == [n]
        assert seen[0].since < n and n - seen[0].since >= min(SETS - 1, n + 1)
    if count > 1:
        assert made[0].state == 0 or made[0].visible  # the next round begins with what it has


SEEN = """
window.frames_ = [];
const gl = WebGL2RenderingContext.prototype, drawn = [];
let bound = null, array = null, view = null;
const hook = (name, also) => {
  const real = gl[name];
  gl[name] = function (...given) { const found = real.apply(this, given); also(given, found); return found; };
};
hook("getUniformLocation", ([of_, name_], found) => { if (found) Object.assign(found, {name_, of_}); });
hook("uniformMatrix4fv", ([place, , value]) => {
  if (place?.name_ === "projectionMatrix") place.of_.flat_ = value[15] === 1;
  if (place?.name_ === "modelViewMatrix") view = place.of_.flat_ ? null : Array.from(value);
});
hook("bindVertexArray", ([given]) => { array = given; });
hook("bindBuffer", ([, given]) => { bound = given; });
const look = (data) => { if (data?.length === 6 * COUNT && !data[4] && !data[5]) bound.end_ = data[3]; };
hook("bufferData", ([, data]) => look(data));
hook("bufferSubData", ([, , data]) => look(data));
hook("vertexAttribPointer", () => { if (array) (array.buffers_ ??= new Set()).add(bound); });
const draw = (count) => {
  const ends = [...(array?.buffers_ ?? [])].map((buffer) => buffer?.end_).filter((end) => end !== undefined);
  if (ends.length) drawn.push({line: ends[0]}); else if (view) drawn.push({count, view});
  view = null;
};
gl.drawElements = (kind, count) => draw(count);
gl.drawArrays = (kind, first, count) => draw(count);
gl.drawElementsInstanced = gl.drawArraysInstanced = () => draw(0);
const next = window.requestAnimationFrame.bind(window);
window.requestAnimationFrame = (then) => next((time) => {
  then(time);
  if (drawn.length) window.frames_.push(drawn.splice(0));
});
"""
"""Keeps of each frame that a page draws the matrices of bodies, and where the first line of joints that slide ends.

Nothing is drawn in truth: without a graphics card that takes most of a second."""
BOX = 36
"""Indices of its triangles."""


def rake(bodies: int, states: int) -> lw.Trajectory:
    """Boxes side by side that slide along x as one."""
    build = lw.Builder("rake")
    for k in range(bodies):
        build.body(f"tooth{k}", lw.Inertia.sphere(1.0, 0.05))
        build.joint(f"slide{k}", lw.joints.Prismatic("x"), "world", f"tooth{k}", at=(0, 0.1 * k, 0))
        build.shape(f"tooth{k}", Box((0.05, 0.05, 0.05)))
    q = np.repeat(np.linspace(0.1, 0.4, states)[:, None], bodies, axis=1)
    return lw.Trajectory(build.build(), np.arange(states) / 25, q, 0 * q, 0 * q, np.zeros((states, 0)))


def places(frame: list[dict[str, Any]]) -> tuple[npt.NDArray[np.float64], float | None]:
    """How far boxes have slid, seen from the pins that hold them to the world, and where the first line ends."""
    views = {True: [], False: []}  # type: dict[bool, list[Any]]
    for thing in frame:
        if "view" in thing:
            views[thing["count"] == BOX].append(np.array(thing["view"]).reshape(4, 4))
    lines = [thing["line"] for thing in frame if "line" in thing]
    if not views[True] or not lines:
        return np.zeros(0), None
    along = views[True][0][0, :3] / np.linalg.norm(views[True][0][0, :3])
    pins = np.array([view[3, :3] @ along for view in views[False]])
    return np.array([view[3, :3] @ along for view in views[True]]) - np.median(pins), lines[0]


# In a browser -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as shown:
        yield shown


def opened(browser: Any, url: str, size: tuple[int, int] = (800, 400), **how: Any) -> Any:
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, **how)
    context.set_default_timeout(1000 * PATIENCE)
    page = context.new_page()
    page.goto(url)
    page.wait_for_selector("canvas")
    page.add_style_tag(content="[class*=Notifications-root] { display: none }")  # that there is no graphics card
    return page


def pixels(page: Any, path: Path | None = None) -> Pixels:
    """A picture of the page."""
    image = pytest.importorskip("PIL.Image")
    content = page.screenshot(path=path)
    return np.asarray(image.open(io.BytesIO(content)).convert("RGB")).astype(np.int64)


def scene_of(picture: Pixels) -> Pixels:
    """What is left of the panel."""
    return picture[:, :-340]


def colors(picture: Pixels) -> int:
    return len(np.unique(picture.reshape(-1, 3), axis=0))


def red(picture: Pixels) -> int:
    """Pixels of the color of loops."""
    r, g, b = picture.reshape(-1, 3).T
    return int(((r > 100) & (r > 2 * g) & (r > 2 * b)).sum())


def settled(page: Any, good: Callable[[Pixels], bool], what: str) -> Pixels:
    """A picture that is as it should be, and stays so."""
    found = [pixels(page)]

    def still() -> bool:
        found.append(pixels(page))
        return good(found[-1]) and bool((found[-1] == found[-2]).all())

    until(still, what)
    return found[-1]


def enter(page: Any, number: str) -> None:
    """Write a number beside the first slider."""
    beside = page.locator("input[inputmode=decimal]").first
    beside.fill(number)
    beside.press("Enter")


def test_a_browser_shows_a_run_and_moves_it(browser: Any, run: lw.Trajectory) -> None:
    with view(run) as viewer:
        page = opened(browser, viewer.url)
        first = settled(page, lambda seen: red(scene_of(seen)) > 10 and colors(seen) > 100, "the page shows the robot")
        enter(page, "0.3")
        playing = viewer.playing
        assert playing is not None
        until(lambda: playing.state == 30, "the slider moves the run")
        until(lambda: np.array_equal(viewer.stage.q, run.q[30]), "the robot follows the slider")
        moved = settled(page, lambda seen: (scene_of(seen) != scene_of(first)).any(axis=-1).sum() > 100, "it has moved")
        assert colors(moved) > 100
        page.get_by_role("button", name="forward").click()
        until(lambda: playing.state == 31, "a button steps forward")
        page.get_by_role("button", name="Play").click()
        page.get_by_role("button", name="Pause").wait_for()
        until(lambda: playing.state not in (30, 31), "the run plays")
        page.get_by_role("button", name="Pause").click()
        page.get_by_role("button", name="Play").wait_for()
        here = playing.state
        settled(page, lambda seen: colors(seen) > 100, "it stands still")
        assert playing.state == here
        page.context.close()


def test_a_browser_moves_a_robot_by_its_joints(browser: Any) -> None:
    robot = zoo.four_bar()
    with view(robot, robot.poses[ASSEMBLED]) as viewer:
        page = opened(browser, viewer.url)
        first = settled(page, lambda seen: red(scene_of(seen)) > 10, "the page shows the robot")
        before = viewer.stage.q.copy()
        enter(page, f"{before[0] + 0.5:.3f}")
        until(lambda: abs(viewer.stage.q[0] - before[0] - 0.5) < 0.02, "the joint moves")
        assert np.abs(lw.constraint_error(robot, viewer.stage.q)).max() < 1e-9
        settled(page, lambda seen: (scene_of(seen) != scene_of(first)).any(axis=-1).sum() > 100, "and is seen to move")
        page.context.close()


def test_a_saved_page_plays_without_a_server_or_a_network(browser: Any, run: lw.Trajectory, tmp_path: Path) -> None:
    page_of_run = run.save_html(tmp_path / "run.html", fps=20)
    asked: list[str] = []
    context = browser.new_context(viewport={"width": 320, "height": 240}, offline=True)
    context.set_default_timeout(1000 * PATIENCE)
    page = context.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.goto(page_of_run.as_uri())
    page.wait_for_selector("canvas")
    clock = page.locator("input").first
    started = clock.input_value()
    until(lambda: clock.input_value() != started, "the page plays")
    page.keyboard.press("Space")
    settled(page, lambda seen: red(seen) > 5 and colors(seen) > 100, "it shows the robot")
    outside = [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]
    assert outside == []
    context.close()


def test_bodies_and_lines_of_a_page_are_in_step_while_it_plays(browser: Any, tmp_path: Path) -> None:
    """In every frame that is drawn, all are those of one state."""
    bodies, states = 5, 3 * SETS
    file = rake(bodies, states).save_html(tmp_path / "rake.html", fps=25)
    context = browser.new_context(viewport={"width": 120, "height": 90}, offline=True)
    context.set_default_timeout(1000 * PATIENCE)
    page = context.new_page()
    page.add_init_script(SEEN.replace("COUNT", str(bodies)))
    page.goto(file.as_uri())
    until(lambda: page.evaluate("window.frames_.length") > 100, "the page draws")
    frames = [places(frame) for frame in page.evaluate("window.frames_")]
    context.close()
    last, moved = 0.0, 0
    for boxes, line in frames:
        if line is None:
            continue  # nothing is there yet
        assert np.ptp(boxes) < 1e-6
        passed = (boxes[0] - last) / 0.3 * (states - 1)
        if 0.5 < passed < SETS - 1:  # else the page was too slow, or starts anew
            assert line == pytest.approx(boxes[0], abs=1e-6)
            moved += 1
        last = boxes[0]
    assert moved > 20


def held(robot: lw.Mechanism, q: npt.NDArray[np.float64], *feet: lw.constraints.Constraint) -> lw.Trajectory:
    """Half a second of a robot on its feet, its motors being springs about a pose."""
    standing = robot.constrained(*feet, at=q)
    motors = [robot.v_index(motor.joint) for motor in robot.actuators]

    def control(time: float, at: Any, rate: Any) -> Any:
        torques = np.zeros(robot.nv)
        torques[motors] = -300.0 * robot.difference(q, at)[motors] - 15.0 * rate[motors]
        return torques

    return lw.simulate(standing, q, seconds=0.5, controller=control, record_every=5)


def model(name: str) -> lw.Mechanism:
    path = model_file(name)
    return lw.load(path)


def cassie() -> lw.Trajectory:
    """On the ends of its feet."""
    robot = model("cassie/cassie.xml")
    ends = {"toe": (-0.052821, 0.092622, 0.0), "heel": (0.069746, -0.010224, 0.0)}
    feet = [
        lw.constraints.Point(f"{side}-foot", "world", first_at=at, name=f"{side} {end}")
        for side in ("left", "right")
        for end, at in ends.items()
    ]
    return held(robot, robot.assemble(robot.poses["home"]), *feet)


def digit() -> lw.Trajectory:
    """Crouched, its feet held as they are."""
    robot = model("digit/digit-v3.xml")
    bent = {
        "hip-roll": 0.33,
        "hip-pitch": 0.3,
        "knee": 0.3,
        "shoulder-roll": -0.15,
        "shoulder-pitch": 1.1,
        "elbow": -0.2,
    }
    angles = {f"{side}-{name}": sign * bent[name] for side, sign in (("left", 1), ("right", -1)) for name in bent}
    q = robot.neutral()
    q[[robot.q_index(name) for name in angles]] = list(angles.values())
    q[2] = 1.0
    q = robot.assemble(q, fixed=list(angles))
    return held(robot, q, lw.constraints.Weld("left-foot", "world"), lw.constraints.Weld("right-foot", "world"))


@pytest.mark.parametrize("make", [cassie, digit], ids=["cassie", "digit"])
def test_a_browser_shows_robots_of_files_with_their_loops(
    browser: Any, tmp_path: Path, make: Callable[[], lw.Trajectory]
) -> None:
    run = make()
    folder = os.environ.get("LINKWORK_PICTURES")
    size = (1200, 760) if folder else (800, 420)
    place = (Path(folder) if folder else tmp_path) / f"viewer-{make.__name__}.png"
    place.parent.mkdir(parents=True, exist_ok=True)
    with view(run) as viewer:
        viewer.show(0.4)
        viewer.server.scene.configure_default_lights(cast_shadow=bool(folder))  # which take half of the time
        page = opened(browser, viewer.url, size)
        robot = run.robot
        assert robot is not None
        loops = len([c for c in robot.constraints if "world" not in c.places])
        assert len(viewer.stage.bones.loops) == loops >= 4 and viewer.stage.between.nodes[ARROWS].visible
        settled(page, lambda seen: red(scene_of(seen)) > 50 and colors(seen) > 1000, "the page shows the robot")
        seen = pixels(page, place)
        page.context.close()
    if folder:  # six bits of each color look the same and take half the room
        image = pytest.importorskip("PIL.Image").open(place).convert("RGB")
        image.point(lambda x: x // 4 * 255 // 63).save(place, optimize=True)
    assert seen.shape == (size[1], size[0], 3) and place.stat().st_size > 10_000
    assert colors(seen) > 1000 and red(scene_of(seen)) > 50
    r, g, b = scene_of(seen).reshape(-1, 3).T
    assert ((g > 1.3 * r) & (g > 1.1 * b) & (g > 60)).sum() > 20, "what the ground holds is green"


def test_a_browser_shows_contacts(browser: Any, tmp_path: Path) -> None:
    """The top of a stack slides: points, forces and friction cones."""
    scene = zoo.boxes(3, masses=[1.0, 1.0, 3.0])
    v = np.zeros(scene.nv)
    v[scene.v_slice("box2")][0] = 1.2
    run = lw.simulate(scene, v=v, seconds=0.15, record_every=5)
    folder = os.environ.get("LINKWORK_PICTURES")
    size = (1200, 760) if folder else (600, 400)
    with view(run) as viewer:
        viewer.show(0.03)
        assert viewer.playing is not None
        sliding = sum(int(one.sliding[6].sum()) for one in run.contacts.values())
        assert sliding and f" contact points touch, {sliding} of them slide" in viewer.playing.words.content
        viewer.stage.draw_as("see-through")
        viewer.server.scene.configure_default_lights(cast_shadow=bool(folder))
        page = opened(browser, viewer.url, size)

        def orange(seen: Pixels) -> int:
            r, g, b = scene_of(seen).reshape(-1, 3).T
            return int(((r > 180) & (g < 0.8 * r) & (b < 0.4 * r)).sum())

        without = settled(page, lambda seen: orange(seen) > 50, "the page shows contact points")
        page.get_by_label("friction cones").check()
        until(lambda: viewer.stage.between.nodes[CONES].visible, "a checkbox shows cones")
        settled(page, lambda seen: (scene_of(seen) != scene_of(without)).any(axis=-1).sum() > 300, "cones are seen")
        place = (Path(folder) if folder else tmp_path) / "viewer-contacts.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        pixels(page, place)
        page.context.close()
    if folder:
        image = pytest.importorskip("PIL.Image").open(place).convert("RGB")
        image.point(lambda x: x // 4 * 255 // 63).save(place, optimize=True)
