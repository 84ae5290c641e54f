# SPDX-License-Identifier: BSD-3-Clause
"""Kinematic diagrams as SVG: what is drawn is where it is, it moves, and files stay small."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import linkwork as lw
from linkwork.drawing.silhouettes import silhouette
from linkwork.errors import InputError, ModelError

SVG = "{http://www.w3.org/2000/svg}"


def sweep(closure: str = "hinge") -> lw.Trajectory:
    robot = lw.zoo.four_bar(closure)
    return robot.sweep("A", 1.0 + np.linspace(0, 2 * np.pi, 40), seconds=2.0)


def test_bodies_turn_by_the_angles_of_their_joints() -> None:
    """The crank's group turns once; its picture has the length of the crank in the scale of the rocker."""
    root = ElementTree.fromstring(sweep().diagram(trace="coupler"))
    groups = root.findall(f"{SVG}g")
    turns = []
    for group in groups:
        for animate in group.findall(f"{SVG}animateTransform"):
            if animate.get("type") == "rotate":
                angles = [float(x) for x in animate.get("values", "").split(";")]
                turns.append(angles[-1] - angles[0])
    assert sum(abs(abs(turn) - 360) < 0.1 for turn in turns) >= 1 and all(abs(turn) < 360.1 for turn in turns)
    lengths = []
    for group in groups[:3]:  # crank, coupler, rocker
        path = group.find(f"{SVG}path")
        assert path is not None
        a, b, *_ = [np.array(p.split(), dtype=float) for p in re.split("[MLZ]", path.get("d", "")) if p]
        lengths.append(np.linalg.norm(b - a))
    np.testing.assert_allclose(np.array(lengths) / lengths[0], np.array([0.2, 0.45, 0.4]) / 0.2, rtol=5e-3)


def test_a_single_state_stands_still_and_files_are_small(tmp_path: Path) -> None:
    run = sweep()
    assert "<animate" not in run.part(0, 1).diagram()
    text = run.diagram(tmp_path / "four-bar.svg", trace="coupler")
    assert (tmp_path / "four-bar.svg").read_text(encoding="utf-8") == text and len(text) < 40_000


def test_springs_cylinders_and_sliders_have_symbols() -> None:
    robot = lw.zoo.slider_crank().with_forces(
        lw.Spring(("world", (0.6, 0, 0)), "slider", 10.0, name="spring"),
        lw.forces.GasSpring(("world", (0.6, 0, 0.1)), "rod", force=1, length=0.5, volume=1e-4, area=1e-4, name="gas"),
    )
    plain, drawn = (r.sweep("A", [1.0, 1.2]).diagram() for r in (lw.zoo.slider_crank(), robot))
    count = [len(ElementTree.fromstring(text).findall(f".//{SVG}path")) for text in (plain, drawn)]
    assert count[1] >= count[0] + 3
    platform = lw.zoo.stewart()
    moving = platform.integrate(platform.poses["assembled"], np.zeros(platform.nv))
    assert "<svg" in lw.simulate(platform, moving, seconds=0.01, dt=1e-3).diagram()


def test_curves_over_a_crank_in_degrees_and_around_it() -> None:
    """Axes say what is drawn, never two units on one; curves are the numbers of the run."""
    robot = lw.zoo.slider_crank()
    driven = robot.constrained(lw.Drive("A", lambda t: 1.0 + 3 * t, name="drive"))
    run = lw.simulate(driven, robot.poses["assembled"], seconds=0.2, dt=1e-3, integrator="rk4", record_every=10)
    words = ["position", "velocity", "accelerations", "reaction", "power"]
    axes = run.plot(joints=["A", "slide"], quantities=words, degrees=True, over="A").axes
    named = {axis.get_ylabel(): axis for axis in axes}
    assert len(named) == 9 and "joint angles [°]" in named and "joint positions [m]" in named
    assert not any("rad" in name for name in named) and axes[-1].get_xlabel() == "A [°]"
    (curve,) = named["joint velocities [°/s]"].lines
    np.testing.assert_allclose(curve.get_ydata(), np.degrees(run.v[:, 0]), rtol=1e-12)
    np.testing.assert_allclose(curve.get_xdata(), np.degrees(run.joint_position("A")), rtol=1e-12)
    force = {line.get_label(): line.get_ydata() for line in named["reactions of joints [N]"].lines}
    np.testing.assert_allclose(force["A"], np.linalg.norm(run.reactions["A"][:, 3:], axis=-1), rtol=1e-9)
    closing = robot.constraints[0].name
    (chosen, *_) = run.plot(joints=closing, quantities="reactions").axes
    (curve,) = chosen.lines
    np.testing.assert_allclose(curve.get_ydata(), np.linalg.norm(run.reactions[closing][:, 3:], axis=-1), rtol=1e-9)
    assert closing in {line.get_label() for line in run.plot(quantities="reactions").axes[0].lines}
    with pytest.raises(InputError, match="no joint"):
        run.plot(joints=closing, quantities="positions")
    assert run.plot(quantities="power", over="A", polar=True).axes[0].name == "polar"
    for wrong in ({"polar": True}, {"over": "slide", "polar": True}):
        with pytest.raises(InputError, match="over a turning joint"):
            run.plot(**wrong)  # type: ignore[arg-type]


def test_pictures_have_springs_and_paths_and_a_color_for_each_bar() -> None:
    robot = lw.zoo.jansen().with_forces(lw.Spring(("world", (0.2, 0, 0.3)), "f", 10.0))
    run = robot.sweep("O", 1 + np.linspace(0, 6, 20))
    axes = run.picture(trace="foot").axes[0]
    path = np.array(axes.lines[0].get_data_3d()).T
    np.testing.assert_array_equal(path, run.frame_placement("foot").position.reshape(-1, 3))
    plain = lw.zoo.jansen().sweep("O", 1 + np.linspace(0, 6, 20)).picture().axes[0]
    assert len(axes.collections) == len(plain.collections) + 1 and len(axes.lines) == len(plain.lines) + 1
    colors = next(c.get_colors() for c in plain.collections if len(c.get_colors()) > 6)
    assert len({tuple(color) for color in colors}) == len(robot.body_names)


def test_a_silhouette_of_a_plate_is_its_outline() -> None:
    outline = np.array([(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)], dtype=float)
    for given in (outline, outline[::-1]):
        surface = lw.shapes.extrusion(given, 0.2).surface()
        (loop,) = silhouette(surface.vertices, surface.faces, np.eye(3)[:2])
        assert {tuple(p) for p in loop[:, :2]} == {tuple(p) for p in outline} and (loop[:, 2] == 0.1).all()
        x, y = loop[:, 0], loop[:, 1]
        assert abs(0.5 * float(x @ np.roll(y, -1) - y @ np.roll(x, -1))) == 3.0
        mass = lw.Inertia.of(lw.shapes.extrusion(given, 0.2), density=1.0)
        exact = lw.Inertia.extrusion(given, 0.2, density=1.0)
        np.testing.assert_allclose(mass.rotational, exact.rotational, rtol=0, atol=1e-14)


def test_bad_requests_are_refused_in_words() -> None:
    with pytest.raises(InputError, match=r"is not an \.svg"):
        sweep().diagram("film.mp4")
    with pytest.raises(InputError, match="plane"):
        sweep().diagram(plane="zx")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="crosses itself"):
        lw.shapes.extrusion([(0, 0), (1, 1), (1, 0), (0, 1.5)], 0.1)
    with pytest.raises(InputError, match="needs 1"):
        lw.zoo.four_bar().assemble({"A": [1.0, 2.0]})


def test_coordinates_by_joint_are_a_start_of_assembly() -> None:
    robot = lw.zoo.four_bar()
    q = robot.assemble({"A": 1.0, "D": 1.9}, fixed=["A"])
    assert q[0] == 1.0
    np.testing.assert_array_equal(q, robot.assemble([1.0, 0.0, 1.9], fixed=["A"]))
