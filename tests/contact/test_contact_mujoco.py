# SPDX-License-Identifier: BSD-3-Clause
"""Motion with contacts beside MuJoCo's: the same where its contacts are nearly rigid, or the same springs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.mechanism import Mechanism
from linkwork_benchmarks.contact import mujoco as in_mujoco
from linkwork_benchmarks.contact.motion import move
from tests.support.states import Floats

mujoco = pytest.importorskip("mujoco")
mujoco.set_mju_user_warning(lambda message: None)


def difference(
    scene: Mechanism, v: Floats, seconds: float, dt: float, friction_time: float | None = None
) -> tuple[float, float]:
    """The largest difference of any coordinate, and how far anything moved."""
    q, steps = scene.poses[zoo.ASSEMBLED], round(seconds / dt)
    ours = move(lw.contact.ContactStep(scene, dt), q, v, steps)
    assert ours.converged.all()
    theirs = in_mujoco.move(scene, q, v, dt, steps, friction_time=friction_time)
    for at in scene.unit_slices():
        theirs[:, at] *= np.sign((theirs[:, at] * ours.q[:, at]).sum(axis=1, keepdims=True))
    return float(np.abs(ours.q - theirs).max()), float(np.abs(ours.q - q).max())


def compliant(scene: Mechanism, compliance: float) -> Mechanism:
    return replace(scene, contacts=tuple(replace(pair, compliance=compliance) for pair in scene.contacts))


def test_a_box_slides_and_stops_at_the_same_place() -> None:
    """MuJoCo's box hops while it slides, by less with smaller steps: its friction is associated."""
    scene, v = zoo.sliding_box((0.2, 0.2, 0.05), friction=0.3), np.array([1.0, 0, 0, 0, 0, 0])
    coarse, moved = difference(scene, v, 0.4, 1e-3, 0.005)
    fine, _ = difference(scene, v, 0.4, 2.5e-4, 0.005)
    assert fine < 0.25 * coarse < 2e-4
    assert moved > 0.16


def test_a_ball_slides_and_rolls_alike() -> None:
    scene, v = zoo.rolling_sphere(0.0, 0.2), np.array([1.0, 0, 0, 0, 0, 0])
    coarse, moved = difference(scene, v, 0.3, 1e-3, 0.005)
    fine, _ = difference(scene, v, 0.3, 2.5e-4, 0.005)
    assert fine < 0.25 * coarse < 2e-4
    assert moved > 0.2


def test_a_box_rocks_alike_on_its_edges() -> None:
    scene, v = zoo.sliding_box((0.1, 0.1, 0.3), friction=0.8), np.array([0.3, 0, 0, 0, 2.5, 0])
    coarse, moved = difference(scene, v, 0.3, 1e-3)
    fine, _ = difference(scene, v, 0.3, 2.5e-4)
    assert fine < 0.4 * coarse < 1e-3
    assert moved > 0.02


def test_a_ball_bounces_alike_on_a_soft_ground() -> None:
    """A spring of 10 kN/m; it is implicit here, which damps it by an amount of first order in the step."""
    scene = compliant(zoo.bouncing_ball(0.0, 0.05), 1e-4)
    coarse, moved = difference(scene, np.zeros(6), 0.2, 1e-3)
    fine, _ = difference(scene, np.zeros(6), 0.2, 2.5e-4)
    assert fine < 0.4 * coarse < 0.01
    assert moved > 0.04


def test_mujoco_holds_the_capsule_better_the_smaller_its_steps() -> None:
    """Here it does not move at all; there it sinks by the compliance of friction, which falls with the step."""
    scene = zoo.pinched_capsule()
    coarse, moved = difference(scene, np.zeros(8), 0.1, 5e-4)
    fine, _ = difference(scene, np.zeros(8), 0.1, 1.25e-4)
    assert fine < 0.25 * coarse
    assert moved < 1e-9


WEDGE = """<mujoco><asset>
  <mesh name="slab" vertex="-1 -1 -.1  1 -1 -.1  -1 1 -.1  1 1 -.1  -1 -1 0  1 -1 0  -1 1 0  1 1 0"/>
  <mesh name="wedge" vertex="-.1 0 0  .1 0 0  -.1 .05 .2  .1 .05 .2  -.1 -.05 .2  .1 -.05 .2"/></asset><worldbody>
  <geom type="mesh" mesh="slab"/><body pos=".01 .02 {height}" euler="0 {tilt} 20"><freejoint/>
  <geom type="mesh" mesh="wedge"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize(("tilt", "count"), [(0.0, 2), (0.5, 2), (1.0, 2), (2.0, 1), (8.0, 1)])
def test_hulls_touch_at_all_corners_that_reach_in(tilt: float, count: int) -> None:
    """An edge that is tilted has both its ends in a face, by 5.4 and 2.1 mm at 1°, of which one was left out."""
    text = WEDGE.format(tilt=tilt, height=0.1 * np.sin(np.radians(tilt)) - 0.0055)
    m, robot = mujoco.MjModel.from_xml_string(text), lw.loads(text)
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    points = lw.contact.ContactGeometry(robot, native=True, meshes="hull")(robot.poses["qpos0"])
    touching = points.gaps < 0
    ours = sorted(zip(*points.points[touching].T, points.gaps[touching], strict=True))
    assert len(ours) == d.ncon == count
    np.testing.assert_allclose(ours, sorted((*c.pos, c.dist) for c in d.contact), rtol=0, atol=1e-7)


@pytest.mark.parametrize(
    "vertices",
    ["-.1 -.06 -.04  .1 -.06 -.04  -.1 .06 -.04  .1 .06 -.04  -.1 -.06 .04  .1 -.06 .04  -.1 .06 .04  .1 .06 .04",
     "0 0 0  .1 0 0  0 .2 0  0 0 .3"],
)  # fmt: skip
def test_a_hull_falls_on_the_ground_as_in_mujoco(vertices: str) -> None:
    """Corners in the ground touch, however much higher than the lowest: 2 mm and 2 cm apart after 0.6 s without."""
    text = f"""<mujoco><asset><mesh name="hull" vertex="{vertices}"/></asset><worldbody>
      <geom type="plane" size="1 1 1"/><body pos="0 0 .2" euler="10 20 30"><freejoint/>
      <geom type="mesh" mesh="hull"/></body></worldbody></mujoco>"""
    m, robot = mujoco.MjModel.from_xml_string(text), lw.loads(text)
    d, convert = mujoco.MjData(m), lw.peers.mujoco_map(robot)
    run = lw.simulate(robot, seconds=0.6, dt=0.002, contact="soft", record_every=300)
    mujoco.mj_step(m, d, 300)
    np.testing.assert_allclose(run.q[-1][:3], convert.from_qpos(d.qpos)[:3], rtol=0, atol=1e-7)
