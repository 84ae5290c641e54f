# SPDX-License-Identifier: BSD-3-Clause
"""MJCF: inertia from meshes, and primitives fitted to them, are MuJoCo's."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import ModelError, ModelWarning
from linkwork.model.mesh_files import mesh_triangles
from linkwork.peers import from_mujoco

mujoco = pytest.importorskip("mujoco")

KINDS = ("legacy", "exact", "convex", "shell")
FITS = ("sphere", "capsule", "cylinder", "ellipsoid", "box")


def l_shape() -> tuple[np.ndarray[Any, Any], list[list[int]]]:
    """A prism over an L, which is not convex, with corners that are not quite in planes."""
    outline = np.array([[0, 0], [3, 0], [3, 1], [1, 1], [1, 2], [0, 2]], dtype=float)
    below, above = (np.column_stack([outline, np.full(6, z)]) for z in (0.0, 1.3))
    points = np.concatenate([below, above]) / 10 + 0.002 * np.random.default_rng(3).standard_normal((12, 3)) + 0.1
    sides = [[k, (k + 1) % 6, 6 + (k + 1) % 6, 6 + k] for k in range(6)]
    caps = [[0, 3, 2, 1], [0, 5, 4, 3], [6, 7, 8, 9], [6, 9, 10, 11]]
    return points, sides + caps


def write_mesh(folder: Path, ending: str) -> str:
    points, faces = l_shape()
    file = folder / f"part.{ending}"
    if ending == "obj":
        corners = "\n".join("f " + " ".join(f"{k + 1}//1" for k in face) for face in faces)
        file.write_text("\n".join(f"v {x!r} {y!r} {z!r}" for x, y, z in points.tolist()) + "\nvn 0 0 1\n" + corners)
        return file.name
    triangles = np.array([t for a, b, c, d in faces for t in ([a, b, c], [a, c, d])])
    if ending == "msh":
        sizes = np.array([len(points), 0, 0, len(triangles)], "<i4").tobytes()
        file.write_bytes(sizes + points.astype("<f4").tobytes() + triangles.astype("<i4").tobytes())
    else:
        records = b"".join(bytes(12) + points[t].astype("<f4").tobytes() + bytes(2) for t in triangles)
        file.write_bytes(bytes(80) + np.array(len(triangles), "<u4").tobytes() + records)
    return file.name


def model(folder: Path, mesh: str, geom: str = 'type="mesh" mesh="part"', compiler: str = "", more: str = "") -> Path:
    """A body with a mesh on a free joint."""
    file = folder / "robot.xml"
    file.write_text(
        f'<mujoco><compiler {compiler}/><asset><mesh name="part" {mesh}/></asset><worldbody><body name="link">'
        f'<freejoint/><geom {geom} pos=".1 .2 .3" euler="10 20 30"/>{more}'
        "</body></worldbody></mujoco>"
    )
    return file


def assert_inertia_agrees(file: Path) -> None:
    theirs = mujoco.MjModel.from_xml_path(str(file))
    ours = lw.load(file).inertias["link"]
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, theirs.body_iquat[1])
    R = R.reshape(3, 3)
    np.testing.assert_allclose(ours.mass, theirs.body_mass[1], rtol=1e-10)
    np.testing.assert_allclose(ours.com, theirs.body_ipos[1], atol=1e-10)
    # MuJoCo iterates principal axes until they are right to about 1e-8, first of the mesh and then of the body.
    moments = R @ np.diag(theirs.body_inertia[1]) @ R.T
    np.testing.assert_allclose(ours.rotational, moments, rtol=0, atol=1e-7 * theirs.body_inertia[1].max())
    if theirs.ngeom == 1:  # principal moments have the square of the error of their axes
        principal = np.linalg.eigvalsh(ours.rotational)[::-1]
        np.testing.assert_allclose(principal, theirs.body_inertia[1], rtol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ending", ["stl", "obj", "msh"])
def test_inertia_of_a_mesh_is_mujocos(tmp_path: Path, ending: str, kind: str) -> None:
    name = write_mesh(tmp_path, ending)
    assert_inertia_agrees(model(tmp_path, f'file="{name}" inertia="{kind}"'))


@pytest.mark.parametrize(
    "how",
    [
        "",
        'scale="2 .5 1.5"',
        'scale="-1 1 1"',
        'refpos=".1 -.2 .3"',
        'refquat=".5 .2 .3 .4" refpos="1 2 3"',
        'refquat=".5 .2 .3 .4" scale="1 -2 3"',
    ],
)
def test_inertia_of_a_mesh_that_is_moved_and_scaled_is_mujocos(tmp_path: Path, how: str) -> None:
    name = write_mesh(tmp_path, "obj")
    assert_inertia_agrees(model(tmp_path, f'file="{name}" inertia="exact" {how}'))


@pytest.mark.parametrize("mass", ['mass="2"', 'density="300"'])
def test_mesh_geoms_have_their_mass_or_density(tmp_path: Path, mass: str) -> None:
    name = write_mesh(tmp_path, "stl")
    geom, more = f'type="mesh" mesh="part" {mass}', '<geom size=".05" mass=".3" pos="0 .2 0"/>'
    assert_inertia_agrees(model(tmp_path, f'file="{name}"', geom, more=more))


@pytest.mark.parametrize("bounds", ["true", "false"])
@pytest.mark.parametrize("fit", FITS)
def test_primitives_fitted_to_a_mesh_are_mujocos(tmp_path: Path, fit: str, bounds: str) -> None:
    name = write_mesh(tmp_path, "stl")
    geom = f'type="{fit}" mesh="part" fitscale="1.1"'
    assert_inertia_agrees(model(tmp_path, f'file="{name}"', geom, f'fitaabb="{bounds}"'))


@pytest.mark.parametrize("faces", [True, False])
def test_meshes_written_in_the_model_are_mujocos(tmp_path: Path, faces: bool) -> None:
    points, polygons = l_shape()
    corners = " ".join(f"{a} {b} {c} {a} {c} {d}" for a, b, c, d in polygons)
    given = f'vertex="{" ".join(map(repr, points.reshape(-1).tolist()))}"'
    assert_inertia_agrees(model(tmp_path, given + (f' face="{corners}"' if faces else "")))


def test_a_mesh_that_is_absent_is_named_where_inertia_needs_it(tmp_path: Path) -> None:
    file = model(tmp_path, 'file="nowhere.stl"')
    with pytest.raises(ModelError, match=r"inertia of body 'link'.*mesh 'part', whose file 'nowhere.stl'"):
        lw.load(file)


def test_a_mesh_that_is_absent_does_no_harm_where_the_inertia_is_written(tmp_path: Path) -> None:
    file = model(tmp_path, 'file="nowhere.stl"')
    inertial = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    file.write_text(file.read_text().replace("<freejoint/>", "<freejoint/>" + inertial))
    with pytest.warns(ModelWarning):  # of its contacts
        assert lw.load(file).mass == 1


def test_a_mesh_of_an_included_file_is_found_beside_that_file(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    name = write_mesh(tmp_path / "parts", "stl")
    file = model(tmp_path, f'file="{name}"')
    text = file.read_text()
    start, end = text.index("<asset>"), text.index("</asset>") + len("</asset>")
    (tmp_path / "parts" / "assets.xml").write_text(f"<mujocoinclude>{text[start:end]}</mujocoinclude>")
    file.write_text(text[:start] + '<include file="parts/assets.xml"/>' + text[end:])
    assert lw.load(file).mass > 0


def test_only_the_first_object_of_an_obj_file_has_faces(tmp_path: Path) -> None:
    (tmp_path / "two.obj").write_text(
        "o one\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\no two\nv 2 0 0\nf -1 1 2\n"
    )
    found = mesh_triangles(tmp_path / "two.obj")
    assert found.vertices.shape == (5, 3)
    assert found.faces.tolist() == [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]


@pytest.mark.parametrize("ending", ["stl", "obj", "msh"])
def test_damaged_meshes_load_or_are_errors_of_models(tmp_path: Path, ending: str) -> None:
    """Cut short, with bytes changed, added or taken away, and with counts and coordinates out of all bounds."""
    whole, rng = (tmp_path / write_mesh(tmp_path, ending)).read_bytes(), random.Random(ending)
    file = model(tmp_path, f"part.{ending}")
    wild = [np.array(x).tobytes() for x in (np.int32(-1), np.int32(2**31 - 1), np.float32("nan"), np.float32(1e38))]
    outcomes = set()
    for _ in range(60):
        at, piece = rng.randrange(len(whole)), rng.choice([*wild, b"", rng.randbytes(9)])
        damaged = rng.choice(
            [whole[:at], whole[:at] + piece + whole[at + len(piece) :], whole[:at] + piece + whole[at:]]
        )
        (tmp_path / f"part.{ending}").write_bytes(damaged)
        try:
            lw.load(file)
            outcomes.add("loads")
        except ModelError as error:
            assert f"part.{ending}" in str(error) or "part" in str(error)
            outcomes.add("refused")
    assert "refused" in outcomes


def test_from_mujoco_keeps_contacts_of_meshes(tmp_path: Path) -> None:
    name = write_mesh(tmp_path, "stl")
    file = model(tmp_path, f'file="{name}"')
    file.write_text(file.read_text().replace("<worldbody>", '<worldbody><geom type="plane" size="1 1 1"/>'))
    direct, compiled = lw.load(file), from_mujoco(mujoco.MjModel.from_xml_path(str(file)))
    assert len(direct.contacts) == len(compiled.contacts) == 1
    q = direct.neutral()
    q[2] = -0.4
    # soft: of hard ones that overlap, the compliance is a part of a scale, which depends on the origin of the mesh
    steps = [lw.Stepper(robot, dt=1e-3, contact="soft")(q, np.zeros(6)) for robot in (direct, compiled)]
    gaps = [np.sort(lw.contact.ContactGeometry(robot)(q).gaps) for robot in (direct, compiled)]
    np.testing.assert_allclose(*gaps, atol=1e-6)  # a compiled model has vertices of 32 bits
    np.testing.assert_allclose(steps[0].v, steps[1].v, atol=1e-6)
    assert abs(steps[0].v[2] + 9.81e-3) > 0.1  # it stands in the ground, and is pushed out
