# SPDX-License-Identifier: BSD-3-Clause
"""Sensors give MuJoCo's numbers: of each type, with loops and contacts, on robots of files."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.kernels.sensors.forces import is_inside
from linkwork.kernels.sensors.ray_shapes import ray_meets
from linkwork.mechanism import Mechanism
from linkwork.model.sensors import SENSOR_TYPES
from linkwork.parsing.mjcf import mujoco_map
from linkwork.plans.rays import BOX, CAPSULE, CYLINDER, ELLIPSOID
from tests.support.robots import model_file
from tests.support.sensor_texts import INERTIAL, SUBTREES, every_type, inputs_of, on_the_floor, values_of
from tests.support.states import Floats, assert_close

mujoco = pytest.importorskip("mujoco")

AGREEMENT = 1e-10


@cache
def everything() -> tuple[Any, Mechanism]:
    text = every_type()
    return mujoco.MjModel.from_xml_string(text), lw.loads(text)


def states_of(model: Any, count: int, seed: int = 0) -> list[Any]:
    """Random states, with velocities, controls and the accelerations that follow."""
    rng, found = np.random.default_rng(seed), []
    for k in range(count):
        data = mujoco.MjData(model)
        data.qpos[:] = model.qpos0 + rng.normal(size=model.nq)
        mujoco.mj_normalizeQuat(model, data.qpos)
        data.qvel[:], data.ctrl[:], data.time = rng.normal(size=model.nv), rng.normal(size=model.nu), 0.5 + k
        data.act[:] = rng.normal(size=model.na)
        mujoco.mj_forward(model, data)
        found.append(data)
    return found


def compare(sensors: lw.sensors.Sensors, values: Floats, model: Any, data: Any) -> None:
    """Each sensor against MuJoCo's."""
    ours, theirs = sensors.by_name(values), values_of(model, data, sensors.names)
    for name in sensors.names:
        try:
            assert_close(ours[name], theirs[name], AGREEMENT, scale=1.0)
        except AssertionError as error:
            raise AssertionError(f"{name}: {ours[name]}, MuJoCo's {theirs[name]}") from error


@pytest.mark.parametrize("compiled", [False, True], ids=["read", "from MuJoCo's model"])
def test_every_type_has_the_values_of_mujoco(compiled: bool) -> None:
    model, read = everything()
    robot = lw.peers.from_mujoco(model, contacts=False) if compiled else read
    assert not [sensor.refused for sensor in robot.sensors if sensor.refused]
    assert {sensor.type for sensor in robot.sensors} == set(SENSOR_TYPES) - {"touch"}
    sensors = lw.sensors.Sensors(robot).plain()
    for data in states_of(model, 2):
        given = inputs_of(robot, data)
        compare(sensors, sensors(*(given[name] for name in sensors.inputs)), model, data)


@pytest.mark.parametrize(
    "weighed",
    [
        '<inertial mass="1" pos=".1 0 0" diaginertia=".1 .2 .25" quat="-.39 .51 -.56 .52"/>',
        '<geom type="box" size=".1 .2 .3" quat="-.57 .75 -.82 .76"/>',
        '<frame quat="-.2 .3 .1 .6"><geom type="capsule" size=".1 .2" euler="170 160 150"/></frame>',
        '<geom type="capsule" size=".1" fromto="0 0 0 .3 -.2 -.6"/>',
    ],
)
def test_the_sign_of_the_orientation_of_an_inertial_frame(weighed: str) -> None:
    text = f"""<mujoco><worldbody><body name="a" quat="-.3 .2 .8 .1"><joint/>{weighed}</body></worldbody>
      <sensor><framequat name="q" objtype="body" objname="a"/></sensor></mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos[:] = 0.7
    mujoco.mj_forward(model, data)
    for robot in (lw.loads(text), lw.peers.from_mujoco(model)):
        assert_close(lw.sensors.sensor_data(robot, [0.7])["q"], data.sensordata, 1e-12)


@pytest.mark.parametrize("groups", [(0, 0), (0, 5), (5, 5)])
@pytest.mark.parametrize("scaled", ["", 'settotalmass="5"'])
def test_the_center_of_mass_of_a_body_that_cannot_move(groups: tuple[int, int], scaled: str) -> None:
    geoms = "".join(
        f'<geom type="box" size=".1 .2 .3" pos=".1 {y} .3" mass="1" group="{group}"/>'
        for y, group in zip((0.2, 0.6), groups, strict=True)
    )
    text = f"""<mujoco><compiler inertiagrouprange="0 3" {scaled}/><worldbody><body name="b" pos="1 2 3">{geoms}
      <body><joint/><geom size=".1"/></body></body></worldbody>
      <sensor><framepos name="x" objtype="body" objname="b"/></sensor></mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    for robot in (lw.loads(text), lw.peers.from_mujoco(model)):
        assert_close(lw.sensors.sensor_data(robot, [0.0])["x"], data.sensordata, 1e-12)


def test_a_batch_in_native_code_is_that_of_plain_text() -> None:
    model, robot = everything()
    sensors = lw.sensors.Sensors(robot)
    given = [inputs_of(robot, data) for data in states_of(model, 11, seed=1)]
    batch = [np.array([one[name] for one in given]) for name in sensors.inputs]
    assert_close(sensors(*batch), sensors.plain()(*batch), 1e-12)


def test_loops_and_contacts_count_in_force_sensors() -> None:
    text = on_the_floor()
    model, robot = mujoco.MjModel.from_xml_string(text), lw.loads(text, contacts=True)
    data, sensors = mujoco.MjData(model), lw.sensors.Sensors(robot).plain()
    assert sensors.inputs == ("q", "v", "a", "constraint_forces", "contacts")
    data.qvel[:] = 0.3 * np.random.default_rng(1).normal(size=model.nv)
    seen = 0.0
    for step in range(600):
        mujoco.mj_step(model, data)
        if step % 100 < 99:
            continue
        mujoco.mj_forward(model, data)
        given = inputs_of(robot, data)
        pulled = data.efc_force[data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY]  # on the first, in the world
        axes = lw.frame_placement(robot, given["q"], robot.constraints[0].places[0]).rotation
        given["constraint_forces"] = -axes.T @ pulled
        given["contacts"] = contacts = np.zeros((4, 12))
        for k in range(data.ncon):
            force, frame = np.zeros(6), data.contact[k].frame.reshape(3, 3)
            mujoco.mj_contactForce(model, data, k, force)
            contacts[k, :9] = [*data.contact[k].pos, *frame[0], *(frame.T @ force[:3])]
        values = sensors(*(given[name] for name in sensors.inputs))
        compare(sensors, values, model, data)
        seen = max(seen, float(sensors.by_name(values)["sphere"][0]))
    assert seen > 1.0


@pytest.mark.parametrize("kind", [ELLIPSOID, BOX, CYLINDER, CAPSULE])
def test_rays_meet_volumes_as_mujoco_says(kind: int) -> None:
    geom = {
        ELLIPSOID: mujoco.mjtGeom.mjGEOM_ELLIPSOID,
        BOX: mujoco.mjtGeom.mjGEOM_BOX,
        CYLINDER: mujoco.mjtGeom.mjGEOM_CYLINDER,
        CAPSULE: mujoco.mjtGeom.mjGEOM_CAPSULE,
    }[kind]
    rng, met, within = np.random.default_rng(kind), 0, 0
    for _ in range(300):
        size, x, d = rng.uniform(0.2, 1.0, 3), rng.normal(size=3), rng.normal(size=3)
        d /= np.linalg.norm(d)
        ours = ray_meets(kind, size, tuple(map(float, x)), tuple(map(float, d)))
        theirs = mujoco.mju_rayGeom(np.zeros(3), np.eye(3).ravel(), size, x, d, int(geom))
        theirs = theirs[0] if isinstance(theirs, tuple) else theirs
        assert (ours > 0.5) == (theirs >= 0)
        met += ours > 0.5
        small = tuple(map(float, 0.5 * x))
        (forward, back) = (ray_meets(kind, size, small, tuple(map(float, s * d))) for s in (1.0, -1.0))
        if is_inside(kind, size, small) > 0.5:  # rays of both directions leave it
            assert forward > 0.5 and back > 0.5
            within += 1
    assert 30 < met < 270 and within > 30


def sensed(path: Path) -> Any:
    """A model of a file without its equalities and contacts, and with sensors on some of its bodies."""
    spec = mujoco.MjSpec.from_file(str(path))
    spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    bodies = [body for body in spec.bodies if body.name not in ("", "world")]
    for k in (0, len(bodies) // 3, 2 * len(bodies) // 3, len(bodies) - 1):
        site, name = f"at {k}", bodies[k].name
        bodies[k].add_site(name=site, pos=[0.01, 0.02 * k, 0.03], quat=[0.9, 0.1, -0.2, 0.3])
        for kind in INERTIAL:
            type = getattr(mujoco.mjtSensor, f"mjSENS_{kind.upper()}")
            spec.add_sensor(name=f"{kind} {k}", type=type, objtype=mujoco.mjtObj.mjOBJ_SITE, objname=site)
        for kind in SUBTREES:
            type = getattr(mujoco.mjtSensor, f"mjSENS_{kind.upper()}")
            spec.add_sensor(name=f"{kind} {k}", type=type, objtype=mujoco.mjtObj.mjOBJ_BODY, objname=name)
        for kind in ("framepos", "framequat", "framelinvel", "frameangacc"):
            type = getattr(mujoco.mjtSensor, f"mjSENS_{kind.upper()}")
            spec.add_sensor(name=f"{kind} {k}", type=type, objtype=mujoco.mjtObj.mjOBJ_XBODY, objname=name)
    return spec


@pytest.mark.models
@pytest.mark.parametrize(
    "path",
    [
        "cassie/cassie_nomesh.xml",
        "panda/panda_nomesh.xml",
        "kangaroo/kangaroo_nomesh.xml",
        "robotiq_2f85/2f85_nomesh.xml",
        "booster_t1/T1_23dof_parallel_nomesh.xml",
    ],
)
@pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning")
def test_robots_have_the_values_of_mujoco(path: str) -> None:
    spec = sensed(model_file(path))
    model = spec.compile()
    robot = lw.peers.from_mujoco(spec, contacts=False)
    assert len(robot.sensors) == model.nsensor and not [s.refused for s in robot.sensors if s.refused]
    sensors = lw.sensors.Sensors(robot, contacts=False).plain()
    (data,) = states_of(model, 1)
    given = inputs_of(robot, data)
    values = sensors(*(given[name] for name in sensors.inputs))
    compare(sensors, values, model, data)
    read = lw.load(model_file(path), contacts=False)
    own = [sensor.name for sensor in read.sensors]
    if own:
        same = lw.sensors.Sensors(read, own).plain()
        compare(same, same(*(given[name] for name in same.inputs)), model, data)


def test_torque_sensors_feel_moments_of_contacts() -> None:
    """A ball that spins and rolls on a plate above a torque sensor, with friction against both, in soft steps."""
    text = """<mujoco><option timestep=".002" cone="elliptic" jacobian="dense" tolerance="0" iterations="300"/>
      <worldbody>
      <body name="plate"><joint type="slide" axis="0 0 1" stiffness="1e4"/><site name="below" pos=".02 .01 -.05"/>
      <geom type="box" size=".3 .3 .02" pos=".01 0 0"/></body>
      <body pos="0 0 .1195"><freejoint/><geom size=".1" condim="6" friction=".7 .03 .02"/></body></worldbody>
      <sensor><torque name="torque" site="below"/><force name="force" site="below"/></sensor></mujoco>"""
    m = mujoco.MjModel.from_xml_string(text)
    d, robot = mujoco.MjData(m), lw.loads(text)
    at, step = mujoco_map(robot), lw.contact.ContactStep(robot, 0.002, contact="soft", tolerance=1e-12, passive=False)
    m.jnt_stiffness[0] = 0.0
    d.qvel[:] = [0, 0.3, 0.1, -0.2, 2.0, 3.0, 9.0]
    q = at.from_qpos(d.qpos.copy())
    v = at.from_qvel(q, d.qvel)
    solution = step(q, v)
    assert np.abs(solution.moments).max() > 1e-2
    mujoco.mj_step(m, d)
    values = lw.sensors.sensor_data(robot, q, v, solution)
    np.testing.assert_allclose(values.vector, d.sensordata, atol=1e-8)
