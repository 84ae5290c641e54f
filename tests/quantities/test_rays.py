# SPDX-License-Identifier: BSD-3-Clause
"""Rays: distances and normals against MuJoCo and coal, identities, seams of triangles, patterns, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.model.mesh_files import Triangles
from linkwork.peers import from_mujoco, mujoco_map

mujoco = pytest.importorskip("mujoco")
COUNT = 800

SCENE = """
<mujoco>
  <asset>
    <hfield name="hills" nrow="9" ncol="7" size="2 1.5 .7 .1" elevation="{heights}"/>
    <mesh name="rock" vertex="{points}"/>
  </asset>
  <worldbody>
    <geom type="plane" size="5 4 .1" pos="0 0 -1" euler="3 2 0"/>
    <geom type="hfield" hfield="hills" pos="3 0 -.5" euler="0 10 30"/>
    <body pos="0 0 1">
      <freejoint/>
      <geom type="sphere" size=".3"/>
      <geom type="box" size=".1 .2 .3" pos=".8 .2 .1" euler="10 20 30"/>
      <body pos="0 1 0">
        <joint axis="0 1 0"/>
        <geom type="capsule" size=".1 .3" euler="40 20 0"/>
        <geom type="cylinder" pos="0 .7 0" size=".2 .1" euler="10 70 0"/>
        <geom type="ellipsoid" size=".3 .2 .1" pos="-.7 0 0" euler="10 70 0"/>
        <geom type="mesh" mesh="rock" pos="-1 -2 0" euler="30 20 10"/>
        <site name="eye" pos=".5 0 0" euler="0 90 20"/>
        <site name="down" pos="0 0 .2" euler="175 0 0"/>
      </body>
    </body>
  </worldbody>
  <sensor>
    <rangefinder site="eye"/>
    <rangefinder site="down" cutoff="1.5"/>
    <rangefinder site="down" data="dist dir origin point normal depth"/>
    <rangefinder site="down" data="point normal" cutoff=".5"/>
  </sensor>
</mujoco>"""
PLANE, FIELD, MESH = 0, 1, 7


def scene() -> str:
    rng = np.random.default_rng(0)
    heights, points = rng.random(63), 0.4 * rng.normal(size=90)
    return SCENE.format(heights=" ".join(map(str, heights)), points=" ".join(map(str, points)))


def mj_ray(model: Any, data: Any, origin: Any, direction: Any, exclude: int = -1) -> tuple[float, int, Any]:
    geom, normal = np.zeros((1, 1), dtype=np.int32), np.zeros((3, 1))
    distance = mujoco.mj_ray(model, data, origin, direction, None, True, exclude, geom, normal)
    return distance, int(geom[0, 0]), normal[:, 0]


def posed(seed: int) -> tuple[Any, Any, lw.Mechanism, Any]:
    rng = np.random.default_rng(seed)
    model = mujoco.MjModel.from_xml_string(scene())
    data = mujoco.MjData(model)
    data.qpos[:] = rng.normal(size=model.nq)
    data.qpos[:3] *= 0.5
    data.qpos[3:7] /= np.linalg.norm(data.qpos[3:7])
    mujoco.mj_forward(model, data)
    robot = lw.loads(scene())
    return model, data, robot, mujoco_map(robot).from_qpos(data.qpos)


@pytest.mark.parametrize("seed", range(3))
def test_hits_are_those_of_mj_ray(seed: int) -> None:
    model, data, robot, q = posed(seed)
    rng = np.random.default_rng(seed + 10)
    targets = data.geom_xpos[rng.integers(model.ngeom, size=COUNT)] + 0.3 * rng.normal(size=(COUNT, 3))
    origins = 2.0 * rng.normal(size=(COUNT, 3)) + (0.0, 0.0, 2.0)
    directions = (targets - origins) * rng.uniform(0.1, 3.0, size=(COUNT, 1))
    hits = lw.sensors.raycast(robot, q, origins, directions)
    theirs = [mj_ray(model, data, x, d) for x, d in zip(origins, directions, strict=True)]
    geom = np.array([found[1] for found in theirs])
    exact = ~np.isin(geom, (FIELD, MESH)) & (hits.shape != FIELD)
    assert exact.sum() > 0.5 * COUNT and len(np.unique(geom)) >= model.ngeom
    distance, normal = np.array([found[0] for found in theirs]), np.array([found[2] for found in theirs])
    np.testing.assert_array_equal(hits.shape[exact], geom[exact])
    np.testing.assert_allclose(hits.distance[exact], distance[exact], rtol=0, atol=1e-9)
    np.testing.assert_allclose(hits.normal[exact], normal[exact], rtol=0, atol=1e-9)
    # vertices of a mesh are numbers of 32 bits in MuJoCo, in its own axes
    mesh = (geom == MESH) & (hits.shape == MESH)
    assert mesh.sum() > 20
    np.testing.assert_allclose(hits.distance[mesh], distance[mesh], rtol=0, atol=1e-5)


def test_the_surface_of_a_height_field_is_that_of_mj_ray() -> None:
    model, data, robot, q = posed(0)
    rng = np.random.default_rng(1)
    R, p = data.geom_xmat[FIELD].reshape(3, 3), data.geom_xpos[FIELD]
    above = np.column_stack([rng.uniform(-1.5, 1.5, COUNT), rng.uniform(-1.2, 1.2, COUNT), np.full(COUNT, 0.75)])
    down = rng.normal(size=(COUNT, 3)) * (0.4, 0.4, 0.2) + (0.0, 0.0, -1.0)
    hits = lw.sensors.raycast(robot, q, p + above @ R.T, down @ R.T)
    count = 0
    for k in range(COUNT):
        distance, geom, normal = mj_ray(model, data, p + R @ above[k], R @ down[k])
        if geom == FIELD and (R.T @ normal)[2] > 0.01 and hits.shape[k] == FIELD:  # not its sides
            count += 1
            assert abs(hits.distance[k] - distance) < 1e-9 and np.abs(hits.normal[k] - normal).max() < 1e-7
    assert count > 0.7 * COUNT


@pytest.mark.parametrize("loader", ["file", "from_mujoco"])
def test_range_finders_have_the_values_of_mujoco(loader: str) -> None:
    model, data, robot, _ = posed(0)
    if loader == "from_mujoco":
        robot = from_mujoco(model)
    converted, rng = mujoco_map(robot), np.random.default_rng(3)
    q, expected = [], []
    for _ in range(200):
        data.qpos[:] = (0, 0, 1, 1, 0, 0, 0, 0) + 0.5 * rng.normal(size=model.nq)
        data.qpos[3:7] /= np.linalg.norm(data.qpos[3:7])
        mujoco.mj_forward(model, data)
        rays = zip(data.site_xpos, data.site_xmat, model.site_bodyid, strict=True)
        if not any(mj_ray(model, data, x, R[2::3], on)[1] in (FIELD, MESH) for x, R, on in rays):
            # these are exact to rounding
            q.append(converted.from_qpos(data.qpos))
            expected.append(data.sensordata.copy())
    sensors = lw.sensors.Sensors(robot)
    assert len(q) > 50 and sensors.size == 22 and (np.array(expected)[:, 1] > 0).sum() > 20
    np.testing.assert_allclose(sensors(q), expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(lw.sensors.sensor_data(robot, q[0]).vector, expected[0], rtol=0, atol=1e-9)


def grid(rows: int, columns: int) -> lw.shapes.HeightField:
    heights = np.random.default_rng(0).random((rows, columns))
    return lw.shapes.HeightField(tuple(map(tuple, heights)), (0.1 * (rows - 1), 0.1 * (columns - 1)))


def robot_on(solid: Any) -> lw.Mechanism:
    build = lw.Builder("scanner")
    build.body("base", lw.Inertia.rod(1.0, (0, 0, 0), (0.3, 0, 0)))
    build.joint("floating", lw.joints.Free(), "world", "base")
    build.shape("world", solid, role="collision")
    return build.build()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_no_ray_passes_between_triangles(dtype: Any) -> None:
    field = grid(20, 13)
    robot, heights = robot_on(field), np.array(field.heights)
    x, y = np.meshgrid(0.1 * np.arange(1, 19) - 0.95, 0.1 * np.arange(1, 12) - 0.6, indexing="ij")
    origins = np.stack([x, y, np.full_like(x, 30.0)], axis=-1).reshape(-1, 3)  # over all corners of cells
    down, q = np.tile([0.0, 0.0, -1.0], (len(origins), 1)), robot.neutral()
    hits = lw.sensors.raycast(robot, q.astype(dtype), origins.astype(dtype), down.astype(dtype))
    assert hits.distance.dtype == dtype
    exact = heights[1:-1, 1:-1].reshape(-1)
    np.testing.assert_allclose(30.0 - hits.distance, exact, atol=1e-12 if dtype == np.float64 else 1e-5)
    through = origins + np.array([0.05, 0.05, 0.0])  # the diagonals of cells
    assert (lw.sensors.raycast(robot, q.astype(dtype), through.astype(dtype), down.astype(dtype)).shape == 0).all()


def test_a_closed_mesh_is_its_hull_where_it_is_convex_and_coal_agrees() -> None:
    coal = pytest.importorskip("coal")
    points = np.random.default_rng(0).normal(size=(60, 3))
    from linkwork.plans.hulls import convex_hull

    hull = convex_hull(points, "a rock")
    faces = np.array([(f[0], f[k], f[k + 1]) for f in hull.faces for k in range(1, len(f) - 1)])
    mesh = lw.shapes.Mesh("rock", None, triangles=Triangles(hull.points, faces))
    robot = robot_on(mesh)
    rng = np.random.default_rng(1)
    directions = rng.normal(size=(500, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    origins = -6.0 * directions + 0.5 * rng.normal(size=(500, 3))
    surface = lw.sensors.raycast(robot, robot.neutral(), origins, directions)
    of_hull = lw.sensors.raycast(robot, robot.neutral(), origins, directions, meshes="hull")
    np.testing.assert_allclose(surface.distance, of_hull.distance, atol=1e-12)
    np.testing.assert_allclose(surface.normal, of_hull.normal, atol=1e-9)
    vertices = coal.StdVec_Vec3s()
    for point in points:
        vertices.append(point)
    rock = coal.Convex.convexHull(vertices, True, "Qt") if hasattr(coal.Convex, "convexHull") else None
    if rock is None:
        pytest.skip("coal has no hulls")
    here = coal.Transform3s()
    for x, d, t in zip(origins[:60], directions[:60], surface.distance[:60], strict=True):
        ball, found = coal.Sphere(1e-4), coal.DistanceResult()
        at = coal.Transform3s()
        at.setTranslation(x + (t - 1e-2) * d if t > 0 else x + 6.0 * d)
        gap = coal.distance(rock, here, ball, at, coal.DistanceRequest(), found)
        assert 0.0 < gap < 1e-2 if t > 0 else gap > 0.0


def test_rays_from_inside_leave_and_moving_all_changes_nothing() -> None:
    robot = robot_on(lw.shapes.Sphere(2.0))
    rng = np.random.default_rng(0)
    origins, directions = rng.uniform(-1, 1, size=(50, 3)), rng.normal(size=(50, 3))
    hits = lw.sensors.raycast(robot, robot.neutral(), origins, directions)
    at = origins + hits.distance[:, None] * directions
    np.testing.assert_allclose(np.linalg.norm(at, axis=1), 2.0, atol=1e-12)
    np.testing.assert_allclose(hits.normal, at / 2.0, atol=1e-12)
    # in axes of the base, which moves and turns: the same rays
    rays = lw.sensors.Rays(robot, "base")
    for q in (robot.random(k) for k in range(5)):
        place = lw.frame_placement(robot, q, "base")
        R, p = place.rotation, place.position
        moved = rays(q, (origins - p) @ R, directions @ R)
        np.testing.assert_allclose(moved.distance, hits.distance, atol=1e-10)


def test_a_height_scan_turns_with_the_heading_alone() -> None:
    robot = robot_on(lw.shapes.Ground())
    scan = lw.sensors.Rays(robot, "base", axes="yaw", reach=50.0)
    pattern = lw.sensors.height_scan((1.6, 1.0), 0.1, above=20.0)
    assert len(pattern.origins) == 187
    q = robot.random(0, 30)
    q[:, 2] = np.random.default_rng(0).uniform(0, 3, 30)
    distance = scan(q[:, None], *pattern).distance
    assert distance.shape == (30, 187)
    np.testing.assert_allclose(distance, np.broadcast_to(20.0 + q[:, 2:3], (30, 187)), atol=1e-10)
    up = scan(q[:, None], pattern.origins, -pattern.directions)
    assert (up.distance == 50.0).all() and (up.shape == -1).all() and (scan.bodies(up) == "").all()


def test_a_lidar_has_one_ray_for_each_channel_and_angle() -> None:
    pattern = lw.sensors.lidar(4, (-15, 15), (-180, 180), 10.0)
    assert pattern.directions.shape == (4 * 36, 3)
    np.testing.assert_allclose(np.linalg.norm(pattern.directions, axis=1), 1.0)
    assert len(np.unique(pattern.directions.round(9), axis=0)) == 4 * 36
    robot = robot_on(lw.shapes.Box((4.0, 4.0, 4.0)))
    hits = lw.sensors.Rays(robot, "base")(robot.neutral(), *pattern)
    at = hits.distance[:, None] * pattern.directions
    np.testing.assert_allclose(np.abs(at).max(axis=1), 2.0, atol=1e-12)


def test_all_backends_agree() -> None:
    _, _, robot, q = posed(2)
    rng = np.random.default_rng(0)
    origins, directions = 2 * rng.normal(size=(64, 3)), rng.normal(size=(64, 3))
    rays = lw.sensors.Rays(robot)
    batch = rays(q, origins, directions)
    plain = rays.plain()
    for k in range(64):
        one, python = rays(q, origins[k], directions[k]), plain(q, origins[k], directions[k])
        np.testing.assert_allclose(one.distance, batch.distance[k], atol=1e-12)
        np.testing.assert_allclose(python.distance, batch.distance[k], atol=1e-12)
    shallow = robot_on(lw.shapes.Ground())
    program = lw.sensors.Rays(shallow).compile()
    np.testing.assert_allclose(program(shallow.neutral(), (0, 0, 1), (0, 0.6, -0.8)).distance, 1.25)


def test_bodies_are_left_out_and_named() -> None:
    robot = robot_on(lw.shapes.Ground())
    q = robot.neutral()
    assert list(lw.sensors.Rays(robot).bodies(lw.sensors.raycast(robot, q, [[0, 0, 1]], [[0, 0, -1]]))) == ["world"]
    with pytest.raises(lw.errors.InputError, match="no shapes for rays to hit"):
        lw.sensors.Rays(robot, exclude="world")
    with pytest.raises(lw.errors.InputError, match=r"'bsae', which is not a body.*did you mean 'base'"):
        lw.sensors.Rays(robot, exclude="bsae")
    with pytest.raises(lw.errors.InputError, match="reach is -1"):
        lw.sensors.Rays(robot, reach=-1)
    assert lw.sensors.raycast(robot, q, [[0, 0, 1]], [[0, 0, 1]]).distance == -1.0
