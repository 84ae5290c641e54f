# SPDX-License-Identifier: BSD-3-Clause
"""Pictures: graphs in which nothing hides anything, stick figures whose rods are rigid, files that open, and words."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.drawing.figures import chosen
from linkwork.drawing.graphs import cluster_numbers, elimination, layout, ties
from linkwork.drawing.mp4 import ffmpeg
from linkwork.drawing.skeleton import skeleton
from linkwork.zoo import ASSEMBLED

pytest.importorskip("matplotlib")
Image = pytest.importorskip("PIL.Image")

ROBOTS: dict[str, Callable[[], lw.Mechanism]] = {
    "pendulum": zoo.pendulum,
    "four-bar": zoo.four_bar,
    "Watt": zoo.watt,
    "Jansen": zoo.jansen,
    "Stewart": zoo.stewart,
    "gears": lambda: zoo.geared_chain(4),
    "coupled loops": lambda: zoo.coupled_loops(2),
    "stalk": lambda: zoo.stalk(6, 3),
    "quadruped": zoo.quadruped_standing,
    **{f"random loops {seed}": lambda seed=seed: zoo.random_loops(seed) for seed in range(3)},
    **{f"random tree {seed}": lambda seed=seed: zoo.random_tree(seed, 30) for seed in range(3)},
}
every_robot = pytest.mark.parametrize("make", ROBOTS.values(), ids=ROBOTS.keys())


def swinging(seconds: float = 0.2) -> lw.Trajectory:
    """A four-bar in motion, recorded every 10 ms."""
    robot = zoo.four_bar()
    q = robot.poses[ASSEMBLED]
    return lw.simulate(robot, q, robot.project_velocity(q, [2.0, 0, 0]), seconds=seconds, record_every=10)


# Graphs ---------------------------------------------------------------------------------------------------


@every_robot
def test_no_two_bodies_stand_in_one_place(make: Callable[[], lw.Mechanism]) -> None:
    robot = make()
    places = layout(robot)
    assert set(places) == {"world", *robot.body_names}
    assert len(set(places.values())) == len(places)
    assert all(places[j.child][0] == places[j.parent][0] + 1 for j in robot.joints)


@every_robot
def test_subtrees_of_one_body_do_not_overlap(make: Callable[[], lw.Mechanism]) -> None:
    robot = make()
    places = layout(robot)
    rows = {body: [row] for body, (_, row) in places.items()}
    for joint in reversed(robot.joints):
        rows[joint.parent] += rows[joint.child]
    for one, other in combinations(robot.joints, 2):
        if one.parent == other.parent:
            a, b = sorted((rows[one.child], rows[other.child]), key=min)
            assert max(a) <= min(b) - 1


@every_robot
def test_boxes_of_bodies_do_not_touch(make: Callable[[], lw.Mechanism]) -> None:
    from matplotlib.patches import FancyBboxPatch

    robot = make()
    axes = robot.draw_graph().axes[0]
    boxes = [patch for patch in axes.patches if isinstance(patch, FancyBboxPatch)]
    assert len(boxes) == len(robot.joints) + 1
    spans = [(b.get_x(), b.get_x() + b.get_width(), b.get_y(), b.get_y() + b.get_height()) for b in boxes]
    assert all(a[1] < b[0] or b[1] < a[0] or a[3] < b[2] or b[3] < a[2] for a, b in combinations(spans, 2))
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    assert all(left < a[0] and a[1] < right and low < a[2] and a[3] < high for a in spans)


@every_robot
def test_children_are_eliminated_before_their_parents(make: Callable[[], lw.Mechanism]) -> None:
    robot = make()
    number = elimination(robot)
    assert sorted(number.values()) == list(range(1, len(robot.joints) + 1))
    assert all(number[j.child] < number[j.parent] for j in robot.joints if j.parent != "world")


@pytest.mark.parametrize("make", [zoo.four_bar, lambda: zoo.geared_chain(4)], ids=["four-bar", "gears"])
def test_colors_are_those_of_the_clusters(make: Callable[[], lw.Mechanism]) -> None:
    robot = make()
    assert cluster_numbers(robot) == {body: k for k, c in enumerate(lw.loops.clusters(robot)) for body in c.bodies}


@pytest.mark.parametrize("name", ["four-bar", "Watt", "Stewart", "gears", "quadruped"])
def test_an_svg_names_bodies_joints_and_constraints(name: str, tmp_path: Path) -> None:
    robot = ROBOTS[name]()
    robot.draw_graph(tmp_path / "graph.svg")
    text = set(ElementTree.parse(tmp_path / "graph.svg").getroot().itertext())
    assert {robot.name, "world", *robot.body_names, *robot.joint_names} <= text
    assert {j.type.kind_name for j in robot.joints} <= text
    assert {c.name for c in robot.constraints} <= text


def test_the_same_robot_makes_the_same_svg(tmp_path: Path) -> None:
    robot = zoo.four_bar()
    texts = []
    for k in range(2):
        robot.draw_graph(tmp_path / f"{k}.svg")
        texts.append((tmp_path / f"{k}.svg").read_text())
    assert texts[0] == texts[1]


def test_every_constraint_is_drawn_as_what_it_is() -> None:
    chain = zoo.serial_chain(4)
    first, second, third, fourth = chain.body_names
    joints = chain.joint_names
    robot = chain.constrained(
        lw.constraints.Point(first, third, name="loop"),
        lw.constraints.Rod(third, first, length=1.0, name="beside it"),
        lw.constraints.Point(fourth, "world", name="foot"),
        lw.constraints.Gear(joints[0], joints[1], 2.0, name="gear"),
        lw.constraints.JointLock(joints[2], name="brake"),
        lw.constraints.CenterOfMass(name="balance"),
        lw.constraints.Weld(second, "world", name="unused", enabled=False),
    )
    assert [(tie.style, tie.bodies, tie.names, tie.enabled) for tie in ties(robot)] == [
        ("loop", (first, third), ("loop", "beside it"), True),
        ("ground", (fourth,), ("foot",), True),
        ("coupling", (first, second), ("gear",), True),
        ("lock", (third,), ("brake",), True),
        ("ground", ("world",), ("balance",), True),
        ("ground", (second,), ("unused",), False),
    ]
    assert "unused (off)" in [text.get_text() for text in robot.draw_graph().axes[0].texts]


def test_names_are_no_formulas(tmp_path: Path) -> None:
    """Dollars and underscores stay what they are."""
    build = lw.Builder("$robot_1$")
    build.body("a_$", lw.Inertia.sphere(1.0, 0.1))
    build.joint("$\\nosuch$", lw.joints.Revolute("y"), parent="world", child="a_$")
    robot = build.build()
    robot.draw_graph(tmp_path / "graph.svg")
    text = set(ElementTree.parse(tmp_path / "graph.svg").getroot().itertext())
    assert {"$robot_1$", "a_$", "$\\nosuch$"} <= text


# Stick figures --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["four-bar", "Jansen", "Stewart", "quadruped", "random tree 0"])
def test_rods_do_not_stretch(name: str) -> None:
    """Ends of a rod are points of one body: their distance is the same in every configuration, to rounding."""
    robot = ROBOTS[name]()
    bones = skeleton(robot)
    q = np.array([robot.random(seed) for seed in range(20)])
    ends = bones.points(q)[:, bones.rods]
    lengths = np.linalg.norm(ends[..., 1, :] - ends[..., 0, :], axis=-1)
    np.testing.assert_allclose(lengths, np.broadcast_to(lengths[0], lengths.shape), rtol=0, atol=1e-12)
    assert (bones.body[bones.rods[:, 0]] == bones.body[bones.rods[:, 1]]).all()


@pytest.mark.parametrize("name", ["four-bar", "Jansen", "Stewart"])
def test_ends_of_a_closed_loop_are_drawn_in_one_place(name: str) -> None:
    robot = ROBOTS[name]()
    bones = skeleton(robot)
    points = bones.points(robot.poses[ASSEMBLED])[bones.marks["loop"]]
    np.testing.assert_allclose(points[::2], points[1::2], atol=1e-10)


def test_joints_are_drawn_where_they_are_also_where_bodies_have_frames_of_their_own(tmp_path: Path) -> None:
    """In MuJoCo's files a joint need not be at the origin of its body."""
    text = """<mujoco><worldbody><body name="a" pos="1 0 0"><joint name="turn" pos="0.5 0 0" axis="0 1 0"/>
        <geom size="0.1" mass="1"/></body></worldbody></mujoco>"""
    (tmp_path / "robot.xml").write_text(text)
    robot = lw.load(tmp_path / "robot.xml")
    bones = skeleton(robot)
    points = bones.points([[0.0], [1.0]])
    np.testing.assert_allclose(points[:, bones.marks["joint"]], np.full((2, 1, 3), [1.5, 0, 0]), atol=1e-15)
    np.testing.assert_allclose(points[0, bones.marks["mass"]], [[1.0, 0, 0]], atol=1e-15)


def ball() -> lw.Mechanism:
    """Two kilograms that move freely."""
    build = lw.Builder("ball")
    build.body("ball", lw.Inertia.sphere(2.0, 0.1))
    build.joint("free", lw.joints.Free(), parent="world", child="ball")
    return build.build()


def pushed(robot: lw.Mechanism, q: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Forces of the world on what it holds at rest."""
    still = np.zeros(robot.nv)
    multipliers = lw.ForwardDynamics(robot, method="ltl")(q, still, still).multipliers
    bones = skeleton(robot)
    starts, forces = bones.pushes(bones.poses(q)[0], bones.points(q), multipliers)
    np.testing.assert_allclose(starts, [q[:3]], atol=1e-14)
    return forces


HOLDS: dict[str, Callable[..., lw.constraints.Constraint]] = {
    "Point": lw.constraints.Point,
    "Weld": lw.constraints.Weld,
    "Hinge": lambda *ends, **at: lw.constraints.Hinge(*ends, axis=(1, 2, 3), **at),
}
either_way = pytest.mark.parametrize("ends", [("ball", "world"), ("world", "ball")], ids=" to ".join)


@either_way
@pytest.mark.parametrize("kind", HOLDS)
def test_arrows_carry_the_weight(kind: str, ends: tuple[str, str]) -> None:
    """What holds a body that rests pushes it upwards with its weight, in whichever axes multipliers are."""
    q = ball().random(3)
    pose = lw.frame_placement(ball(), q, "ball")
    where = {"second_at" if ends[0] == "ball" else "first_at": lw.Placement(pose.position, pose.rotation)}
    robot = ball().constrained(HOLDS[kind](*ends, **where))
    np.testing.assert_allclose(pushed(robot, q), [[0, 0, 2.0 * 9.81]], atol=1e-9)


@either_way
def test_the_arrow_of_a_rod_points_along_it(ends: tuple[str, str]) -> None:
    ceiling: dict[str, Any] = {"second_at" if ends[0] == "ball" else "first_at": (0, 0, 0.5)}
    robot = ball().constrained(lw.constraints.Rod(*ends, length=0.5, **ceiling))
    np.testing.assert_allclose(pushed(robot, robot.neutral()), [[0, 0, 2.0 * 9.81]], atol=1e-9)


@pytest.mark.parametrize(
    "table",
    [
        lw.constraints.PointOnPlane("world", "ball"),
        lw.constraints.PointOnLine("world", "ball", axis="x"),
        lw.constraints.Cylindrical("world", "ball", axis="y"),
        lw.constraints.Rolling("world", "ball", radius=0.1),
    ],
    ids=lambda c: type(c).__name__,
)
def test_the_arrow_of_what_may_slide_is_upright(table: lw.constraints.Constraint) -> None:
    robot = ball().constrained(table)
    q = robot.neutral()
    q[2] = 0.1 if isinstance(table, lw.constraints.Rolling) else 0.0
    np.testing.assert_allclose(pushed(robot, q), [[0, 0, 2.0 * 9.81]], atol=1e-9)


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_a_state_is_drawn_to_a_file(ending: str, tmp_path: Path) -> None:
    run = swinging(0.02)
    run.picture(tmp_path / f"state.{ending}", 0.01)
    begin = {"png": b"\x89PNG\r\n\x1a\n", "svg": b"<?xml", "pdf": b"%PDF"}[ending]
    assert (tmp_path / f"state.{ending}").read_bytes().startswith(begin)


def test_a_picture_is_of_the_state_nearest_to_its_time() -> None:
    run = swinging()
    titles = [run.picture(time=time).texts[0].get_text() for time in (0.0, 0.104, None)]
    assert [title.split("t = ")[1] for title in titles] == ["0.000 s", "0.100 s", "0.200 s"]


@pytest.mark.parametrize("gravity", [(0, 0, -9.81), (0, -9.81, 0), (-9.81, 0, 0), (0, 0, 0)], ids=str)
def test_everything_fits_the_figure_whichever_way_is_up(gravity: tuple[float, float, float]) -> None:
    """All that is drawn, but for squares of the ground, is inside the paper."""
    from mpl_toolkits.mplot3d.proj3d import proj_transform

    robot = zoo.stewart().with_gravity(gravity)
    q = robot.poses[ASSEMBLED]
    rest = [np.zeros((1, n)) for n in (robot.nv, robot.nv, robot.nc)]
    figure = lw.Trajectory(robot, np.zeros(1), q[None], *rest).picture()
    axes, bones = figure.axes[0], skeleton(robot)
    points = bones.points(q)[np.unique([*bones.rods.flat, *bones.slides.flat])]
    figure.canvas.draw()
    x, y, _ = proj_transform(*points.T, axes.get_proj())
    at = figure.transFigure.inverted().transform(axes.transData.transform(np.column_stack([x, y])))
    assert at.min() > 0.03
    assert at.max() < 0.97
    assert np.ptp(at, axis=0).max() > 0.5


# Videos ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["gif", "png", "apng"])
def test_a_video_lasts_as_long_as_the_run(ending: str, tmp_path: Path) -> None:
    run = swinging()
    path = run.save_video(tmp_path / f"run.{ending}", fps=30)
    with Image.open(path) as video:
        assert video.format == ("GIF" if ending == "gif" else "PNG")
        assert video.n_frames == 7
        shown = 0.0
        for k in range(video.n_frames):
            video.seek(k)
            shown += video.info["duration"]
    assert shown == pytest.approx(7 / 30 * 1000, abs=10)


def test_a_video_in_slow_motion_shows_more_states(tmp_path: Path) -> None:
    run = swinging(0.1)
    path = run.save_video(tmp_path / "run.gif", fps=20, speed=0.2)
    with Image.open(path) as video:
        assert video.n_frames == 11


def test_instants_of_a_video_are_the_recorded_states_nearest_to_them() -> None:
    times = np.array([0.0, 0.1, 0.2, 0.3])
    assert chosen(times, 10).tolist() == [0, 1, 2, 3]
    assert chosen(times, 5).tolist() == [0, 2]
    assert chosen(times, 20).tolist() == [0, 0, 1, 1, 2, 2, 3]
    assert chosen(times + 7.0, 10, speed=2.0).tolist() == [0, 2]
    assert chosen(np.array([3.0]), 25).tolist() == [0]
    uneven = np.sort(np.random.default_rng(0).random(50))
    nearest = [int(np.abs(uneven - t).argmin()) for t in uneven[0] + np.arange(0, np.ptp(uneven), 0.01)]
    assert chosen(uneven, 100).tolist() == nearest


def test_an_animation_plays_in_a_notebook() -> None:
    page = swinging(0.1).animate(fps=20).to_jshtml()
    assert page.count("data:image/png;base64") == 3


def test_of_rollouts_one_robot_is_drawn_as_far_as_it_is_finite(tmp_path: Path) -> None:
    robot = zoo.four_bar()
    q = robot.poses[ASSEMBLED]
    rates = np.outer([0.0, 1.0], robot.project_velocity(q, [2.0, 0, 0]))
    many = lw.rollouts(robot, np.tile(q, (2, 1)), rates, seconds=0.1, record_every=10)
    lost = many.q.copy()
    lost[5:, 1] = np.nan
    run = lw.Trajectory(robot, many.times, lost, many.v, many.tau, many.multipliers)
    times = [run.picture(index=k).texts[0].get_text().split("t = ")[1] for k in (0, 1, -1)]
    assert times == ["0.100 s", "0.040 s", "0.040 s"]
    with Image.open(run.save_video(tmp_path / "run.gif", fps=50, index=1)) as video:
        assert video.n_frames == 3
    assert len(run.plot().axes) == 4
    for index in (2, -3):
        with pytest.raises(lw.errors.InputError, match=f"no robot {index} in rollouts of 2"):
            run.picture(index=index)


# MP4 ------------------------------------------------------------------------------------------------------


@pytest.fixture
def encoder() -> str:
    try:
        return ffmpeg()
    except lw.errors.UnsupportedFeature:
        pytest.skip("no ffmpeg")


def decoded(encoder: str, path: Path) -> npt.NDArray[np.int64]:
    """All frames of a video."""
    command = [encoder, "-loglevel", "error", "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    found = subprocess.run(command, capture_output=True, check=True).stdout
    return np.frombuffer(found, dtype=np.uint8).reshape(-1, 480, 640, 3).astype(np.int64)


def test_an_mp4_shows_the_recorded_states_at_their_times(encoder: str, tmp_path: Path) -> None:
    run = swinging(0.2)
    path = run.save_video(tmp_path / "run.mp4", fps=50, speed=0.25, view=(10, -80))
    frames = decoded(encoder, path)
    states = chosen(run.times, 50, 0.25)
    assert len(frames) == len(states) and len(set(states.tolist())) < len(states)
    said = subprocess.run([encoder, "-i", str(path)], capture_output=True, text=True, check=False).stderr
    assert "50 fps" in said and "yuv420p" in said
    first, last = (np.abs(frames[0] - frames[k]).mean() for k in (0, -1))
    assert first == 0 and last > 0.1
    canvas = run.animate(50, view=(10, -80), speed=0.25)
    drawn = canvas._fig  # type: ignore[attr-defined]
    for k in (0, len(states) - 1):
        canvas._func(k)  # type: ignore[attr-defined]
        drawn.canvas.draw()
        picture = np.asarray(drawn.canvas.buffer_rgba())[..., :3].astype(np.int64)
        assert np.abs(frames[k] - picture).mean() < 0.5 * np.abs(frames[-1 - k] - picture).mean()


def test_without_ffmpeg_an_mp4_is_refused_and_what_to_install_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(
        lw.errors.UnsupportedFeature, match=r"pip install 'linkwork\[video\]'.*apt install ffmpeg.*\.gif"
    ):
        swinging(0.02).save_video(tmp_path / "run.mp4")
    assert not list(tmp_path.iterdir())


def test_the_ffmpeg_of_the_system_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: f"/somewhere/{name}")
    assert ffmpeg() == "/somewhere/ffmpeg"


def test_what_ffmpeg_says_is_passed_on(encoder: str, tmp_path: Path) -> None:
    with pytest.raises(lw.errors.LinkworkError, match=r"ffmpeg cannot write .*no/run\.mp4"):
        swinging(0.02).save_video(tmp_path / "no" / "run.mp4")


# What goes wrong ------------------------------------------------------------------------------------------


def test_a_file_of_an_unknown_kind_is_refused_before_anything_is_drawn(tmp_path: Path) -> None:
    robot = zoo.four_bar()
    run = swinging(0.02)
    path = tmp_path / "picture.magic"
    for attempt in (robot.draw_graph, run.plot, run.save_video, run.picture):
        with pytest.raises(lw.errors.InputError, match=r"picture\.magic ends in '\.magic'; it must be one of \.\w+, "):
            attempt(path)
    with pytest.raises(lw.errors.InputError, match=r"ends in '\.svg'; it must be one of \.gif, \.png, \.apng"):
        run.save_video(tmp_path / "run.svg")
    assert not list(tmp_path.iterdir())


def test_a_time_that_is_none_is_refused() -> None:
    run = swinging(0.02)
    for wrong in ("picture.png", np.nan):
        with pytest.raises(lw.errors.InputError, match="needs a number"):
            run.picture(time=wrong)  # type: ignore[arg-type]
        with pytest.raises(lw.errors.InputError, match="needs a number"):
            run.at(wrong)  # type: ignore[arg-type]
    with pytest.raises(lw.errors.InputError, match="no state was recorded"):
        run.part(1, 1).at(0.0)


def test_a_picture_takes_its_file_first_as_plots_and_videos_do() -> None:
    run = swinging(0.02)
    with pytest.raises(lw.errors.InputError, match=r"path is 0\.01, needs a file; .*: picture\('a\.png', time=0\.01\)"):
        run.picture(0.01, Path("a.png"))  # type: ignore[arg-type]
    with pytest.raises(lw.errors.InputError, match=r"picture\(time=0\)"):
        run.picture(np.int64(0))  # type: ignore[arg-type]


def test_a_robot_of_nothing_is_not_drawn() -> None:
    run = lw.simulate(lw.Builder("nothing").build(), seconds=0.01)
    with pytest.raises(lw.errors.InputError, match="'nothing' has nothing to draw"):
        run.picture()


def test_without_matplotlib_an_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    robot = zoo.four_bar()
    run = swinging(0.02)
    for name in [name for name in sys.modules if name.split(".")[0] in ("matplotlib", "mpl_toolkits")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    attempts: list[Callable[[], object]] = [
        robot.draw_graph,
        run.plot,
        run.picture,
        run.animate,
        lambda: run.save_video(tmp_path / "run.gif"),
    ]
    for attempt in attempts:
        with pytest.raises(lw.errors.UnsupportedFeature, match=r"pip install 'linkwork\[plot\]'"):
            attempt()


@pytest.mark.parametrize("how", [{"fps": 0}, {"fps": -1}, {"fps": float("nan")}, {"speed": 0.0}], ids=str)
def test_a_video_needs_time_to_go_on(how: dict[str, float], tmp_path: Path) -> None:
    with pytest.raises(lw.errors.InputError, match="fps and speed are above zero"):
        swinging(0.02).save_video(tmp_path / "run.gif", **how)  # type: ignore[arg-type]


@pytest.mark.parametrize("view", [(1.0,), (float("nan"), 0.0), (1.0, 2.0, 3.0)], ids=str)
def test_a_view_is_two_angles(view: Any) -> None:
    with pytest.raises(lw.errors.InputError, match="elevation and azimuth"):
        swinging(0.02).picture(view=view)


def test_a_run_that_does_not_know_its_robot_cannot_be_drawn() -> None:
    run = swinging(0.02)
    unknown = lw.Trajectory(None, run.times, run.q, run.v, run.tau, run.multipliers)
    with pytest.raises(lw.errors.InputError, match="loaded without its robot"):
        unknown.picture()


def test_a_run_without_finite_states_cannot_be_drawn() -> None:
    run = swinging(0.02)
    with pytest.raises(lw.errors.InputError, match="no finite states"):
        lw.Trajectory(run.robot, run.times, np.nan * run.q, run.v, run.tau, run.multipliers).picture()


# Runs that blew up ------------------------------------------------------------------------------------------


def blown_up(integrator: str = "euler") -> lw.Trajectory:
    """A four-bar far too fast for its steps: its last velocities are finite, their squares are not."""
    robot = zoo.four_bar()
    q = robot.poses[ASSEMBLED]
    run = lw.simulate(robot, q, robot.project_velocity(q, [1e4, 0, 0]), seconds=5, dt=0.05, integrator=integrator)
    assert run.ended and np.isfinite(run.v).all() and np.abs(run.v).max() > 1e160
    return run


def scattered() -> lw.Trajectory:
    """Two pendulums, the first of which is not finite at the end."""
    robot = zoo.pendulum(3)
    fast = np.stack([np.full(3, 1e3), np.zeros(3)])
    return lw.rollouts(robot, np.ones((2, 3)), fast, seconds=1, dt=0.1, record_every=1, compile=False)


def test_energy_is_that_of_each_state_that_floats_can_hold() -> None:
    run = blown_up()
    assert run.robot is not None
    for name, energy in run.energy.items():
        assert energy.shape == run.times.shape
        if name != "elastic":
            assert np.isnan(energy[-1]) and np.isfinite(energy[:-1]).all()
    for k in range(len(run) - 1):
        assert run.energy["total"][k] == lw.energy(run.robot, run.q[k], run.v[k]).total
    with pytest.raises(lw.errors.NotFinite):
        lw.energy(run.robot, run.q[-1], run.v[-1])
    assert np.isfinite(run.errors).all()


def test_energy_and_errors_of_rollouts_are_unknown_where_states_are_not_finite() -> None:
    run = scattered()
    lost = ~np.isfinite(run.q).all(axis=-1)
    assert lost[-1].tolist() == [True, False]
    assert np.isnan(run.energy["total"][lost]).all()
    assert np.isfinite(run.energy["total"][:, 1]).all()
    robot = zoo.four_bar()
    q = np.stack([robot.poses[ASSEMBLED], np.full(3, np.nan)])
    errors = lw.Trajectory(robot, np.zeros(1), q[None], 0 * q[None], 0 * q[None], np.zeros((1, 2, robot.nc))).errors
    assert errors[0, 0] < 1e-12 and np.isnan(errors[0, 1])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("make", [blown_up, scattered])
def test_a_plot_of_what_blew_up_says_where_it_ended(make: Callable[[], lw.Trajectory], tmp_path: Path) -> None:
    with pytest.warns(lw.errors.SimulationWarning, match="ended early"):
        run = make()
    figure = run.plot(tmp_path / "run.png")
    finite = np.isfinite(run.q.reshape(len(run), -1, run.q.shape[-1])[:, 0]).all(axis=-1)
    end = run.times[finite][-1]
    assert figure.get_suptitle() == f"ended at {end:g} s: {run.ended}"
    for axis in figure.axes:
        assert any(np.ndim(line.get_xdata()) and set(line.get_xdata()) == {end} for line in axis.lines)
    assert figure.axes[0].get_yscale() == "symlog"
    assert (tmp_path / "run.png").stat().st_size > 10_000


def test_a_plot_has_one_unit_on_an_axis() -> None:
    robot = zoo.slider_crank()
    figure = lw.simulate(robot, robot.poses[ASSEMBLED], seconds=0.02).plot(quantities=["positions", "velocities"])
    curves = {axis.get_ylabel(): {line.get_label() for line in axis.lines} for axis in figure.axes}
    slides = {j.name for j in robot.joints if isinstance(j.type, lw.joints.Prismatic)}
    assert slides and curves["joint positions [m]"] == curves["joint velocities [m/s]"] == slides
    assert curves["joint angles [rad]"] == curves["joint velocities [rad/s]"] == set(robot.joint_names) - slides


def test_a_plot_shows_the_joints_and_quantities_that_were_chosen() -> None:
    robot = zoo.quadruped()
    run = lw.simulate(robot, seconds=0.01)
    base, knee = robot.joints[0].name, robot.joints[3].name
    figure = run.plot(joints=[base, knee], quantities="velocities")
    curves = [[line.get_label() for line in axis.lines] for axis in figure.axes]
    assert curves == [[*(f"{base} turn {axis}" for axis in "xyz"), knee], [f"{base} {axis}" for axis in "xyz"]]
    assert [axis.get_ylabel() for axis in run.plot(joints=knee).axes] == [
        "joint angles [rad]",
        "joint velocities [rad/s]",
    ]
    for wrong, message in (
        ({"quantities": "velocitys"}, "no quantity 'velocitys' to draw; did you mean 'velocities'"),
        ({"joints": "elbow"}, "has no joint 'elbow'"),
        ({"quantities": ["errors"]}, "has nothing to draw of errors"),
    ):
        with pytest.raises(lw.errors.InputError, match=message):
            run.plot(**wrong)  # type: ignore[arg-type]


def test_curves_of_a_plot_are_told_apart_and_legends_are_beside_them() -> None:
    robot = zoo.pendulum(30)
    figure = lw.simulate(robot, np.full(30, 0.1), seconds=0.01).plot(joints=robot.joint_names, quantities="positions")
    (axis,) = figure.axes
    assert len({(line.get_color(), line.get_linestyle()) for line in axis.lines}) == len(axis.lines) == 30
    figure.canvas.draw()
    assert axis.get_legend().get_window_extent().x0 >= axis.get_window_extent().x1


def test_a_plot_of_a_run_that_ended_well_says_nothing() -> None:
    figure = swinging().plot()
    assert figure.get_suptitle() == "" and figure.axes[0].get_yscale() == "linear"


def test_a_robot_that_flew_away_is_drawn_as_long_as_it_can_be_seen(tmp_path: Path) -> None:
    build = (
        lw.Builder("ball").body("ball", lw.Inertia.sphere(1.0, 0.1)).joint("free", lw.joints.Free(), "world", "ball")
    )
    build.body("arm", lw.Inertia.rod(1.0, (0, 0, 0), (0, 0, 1))).joint("hinge", lw.joints.Revolute("y"), "ball", "arm")
    robot = build.build()
    run = lw.simulate(robot, None, np.array([1e3, 0, 0, 1e3, 2e3, 0, 1e3]), seconds=5, dt=0.1)
    assert run.ended and np.abs(run.q[-1]).max() > 1e50
    run.picture(tmp_path / "last.png")
    assert run.save_video(tmp_path / "run.gif").stat().st_size > 1000
