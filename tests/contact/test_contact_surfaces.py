# SPDX-License-Identifier: BSD-3-Clause
"""Internal edges of surfaces of triangles are no edges: contacts on flat ground have its normal."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork.contact.coal import GivenContacts
from linkwork.contact.surfaces import Surface
from linkwork.model.contacts import ContactPair, ContactShape
from linkwork.model.shapes import Box, Cylinder, HeightField, Mesh, Solid
from tests.support.contact_scenes import free_bodies
from tests.support.states import Floats, assert_close

pytest.importorskip("coal")

FLAT = HeightField(np.zeros((41, 41)), (4, 4))
"""Cells of 0.1 m."""


def on(ground: Solid, solid: Solid, friction: float = 0.1) -> lw.Mechanism:
    pair = ContactPair(ContactShape("ground", "world", ground), ContactShape("s", "b0", solid), friction=friction)
    return replace(free_bodies([Box((0.2, 0.2, 0.2))], [1.0]), contacts=(pair,))


def at(robot: lw.Mechanism, x: float, y: float, z: float, yaw: float) -> Floats:
    q = robot.neutral()
    q[:3], q[3:] = (x, y, z), (0, 0, np.sin(yaw / 2), np.cos(yaw / 2))
    return q


def box_mesh(folder: Path) -> Mesh:
    """A cube of 0.2 m in an OBJ file."""
    corners = [(x, y, z) for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)]
    faces = [(1, 2, 4, 3), (5, 7, 8, 6), (1, 5, 6, 2), (3, 4, 8, 7), (1, 3, 7, 5), (2, 6, 8, 4)]
    lines = [f"v {x} {y} {z}" for x, y, z in corners] + [f"f {a} {b} {c}\nf {a} {c} {d}" for a, b, c, d in faces]
    (folder / "box.obj").write_text("\n".join(lines) + "\n")
    return Mesh("box", folder / "box.obj")


def ground_mesh(folder: Path) -> Mesh:
    """The flat ground in an OBJ file, with three vertices of its own for each triangle."""
    x, lines, count = np.linspace(-1, 1, 21), [], 0
    for i in range(20):
        for j in range(20):
            a, b, c, d = (x[i], x[j]), (x[i + 1], x[j]), (x[i + 1], x[j + 1]), (x[i], x[j + 1])
            for triangle in ((a, b, c), (a, c, d)):
                lines += [f"v {u:.9g} {v:.9g} 0" for u, v in triangle] + [f"f {count + 1} {count + 2} {count + 3}"]
                count += 3
    (folder / "ground.obj").write_text("\n".join(lines) + "\n")
    return Mesh("ground", folder / "ground.obj")


@pytest.mark.parametrize("depth", [1e-6, 1e-3])
@pytest.mark.parametrize("scene", ["cylinder on a field", "mesh on a field", "mesh on a mesh"])
def test_contacts_on_flat_triangles_have_the_normal_of_the_ground(scene: str, depth: float, tmp_path: Path) -> None:
    """At places where edges of shapes line up with those of triangles, and others."""
    solid = Cylinder(0.1, 0.2) if "cylinder" in scene else box_mesh(tmp_path)
    robot = on(ground_mesh(tmp_path) if scene.endswith("a mesh") else FLAT, solid)
    given = GivenContacts(robot)
    for x, y, yaw in [
        (0, 0, 0),
        (0.05, 0, 0),
        (-0.1, 0.05, 0),
        (0.1, 0.1, np.pi / 2),
        (0.03, 0.07, 0.3),
        (0, 0.1, 0.7),
    ]:
        rows = given(at(robot, x, y, 0.1 - depth, yaw))
        touching = rows[rows[:, 0] < 1e-7]
        assert len(touching) >= 3
        assert_close(touching[:, 4:], np.tile([0.0, 0.0, 1.0], (len(touching), 1)), 1e-6)
        assert_close(touching[:, 0], np.full(len(touching), -depth), 1e-8, scale=1.0)


def test_a_cylinder_slides_over_the_edges_of_a_field() -> None:
    """It stopped dead at this place."""
    robot = on(FLAT, Cylinder(0.1, 0.2))
    run = lw.simulate(robot, at(robot, -0.15, -0.1, 0.1, 0.3), [np.cos(0.3), -np.sin(0.3), 0, 0, 0, 0], seconds=0.05)
    t, way = run.times[-1], run.q[-1, :2] - run.q[0, :2]
    assert_close(way, [t - 0.1 * 9.81 * t * (t + 1e-3) / 2, 0.0], 1e-5, scale=1.0)


def test_a_normal_leans_over_an_edge_as_far_as_the_triangle_beyond_it() -> None:
    """A roof whose sides fall by 45 degrees, and the same upside down."""
    vertices = np.array([[0.0, 0, 0], [0, 1, 0], [1, 0.5, -1], [-1, 0.5, -1]])
    roof = Surface.of(vertices, np.array([[0, 2, 1], [0, 1, 3]]))
    valley = Surface.of(vertices * [1, 1, -1], np.array([[0, 2, 1], [0, 1, 3]]))
    side, up = np.array([1.0, 0, 1]) / np.sqrt(2), np.array([0.0, 0, 1])
    assert_close(roof.m[0], side, 1e-12)
    assert roof.admits(0, side) and roof.admits(0, up) and roof.admits(0, side * [-1, 1, 1])
    assert not roof.admits(0, np.array([-1.0, 0, 0]))
    assert roof.admits(0, np.array([1.0, 0, 0]))  # over the border
    inner = side * [-1, 1, 1]
    assert_close(valley.m[0], inner, 1e-12)
    assert valley.admits(0, inner) and not valley.admits(0, np.array([-1.0, 0, 0]))
