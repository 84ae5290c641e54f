# SPDX-License-Identifier: BSD-3-Clause
"""Loops and contacts together in single precision, in lanes, beside double precision."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork_benchmarks.contact.robots import STARTS, cassie_stance, states
from linkwork_benchmarks.scene_files import systems
from tests.support.robots import model_file


@pytest.mark.parametrize("most", [0, 16])
@pytest.mark.parametrize("start", ["pushed", "dropped"])
def test_steps_of_cassie_are_solved_in_single_precision(start: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the regularization of double precision, rows of loops are rounded to nothing, and steps are no numbers; by
    the reduced matrix, and by LCABA."""
    monkeypatch.setattr("linkwork.contact.reduced.FEW_SLOTS", most)
    model_file("cassie/cassie.xml")
    stance, how = cassie_stance(), STARTS[start]
    q, v = states(stance, how, 32)
    i, j = (list(indices) for indices in zip(*stance.motors, strict=True))
    double = lw.Stepper(stance.robot, 1e-3)
    assert double.reduced == (most == 0)
    ends = {}
    for name, step in (("float64", double), ("float32", double.native("float32"))):
        x, u, kept = q.astype(name), v.astype(name), None
        for _ in range(200):
            tau = np.tile(stance.torques, (len(q), 1))
            tau[:, i] -= how.stiffness * (x[:, j] - stance.q[j]) + how.damping * u[:, i]
            found = step(x, u, tau.astype(name), contact_state=kept)
            x, u, kept = found.q, found.v, found.contact_state
            assert not found.contacts.missed.any()
        ends[name] = x
    # steps of single precision end at residuals of 1e-4 m/s, which add up over 0.2 s
    np.testing.assert_allclose(ends["float32"], ends["float64"], atol=2e-3)


FOUR_BAR = """<mujoco><worldbody><geom type="plane" size="1 1 1"/><body name="base" pos="0 0 .1"><freejoint/>
  <geom type="box" size=".3 .1 .02" mass="2"/>
  <geom size=".05" pos="-.25 -.1 -.05"/><geom size=".05" pos="-.25 .1 -.05"/><geom size=".05" pos=".25 0 -.05"/>
  <body name="a" pos="-.2 0 .05"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 .3" size=".01"/>
    <body name="b" pos="0 0 .3"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .4 0 0" size=".01"/>
      <body name="c" pos=".4 0 0"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -.3" size=".01"/>
  </body></body></body></body></worldbody>
  <equality><connect body1="c" body2="base" anchor="0 0 -.3"/></equality></mujoco>"""


def test_a_four_bar_falls_over_in_single_precision() -> None:
    """The loop is planar in space: of its three rows two are independent."""
    robot = lw.loads(FOUR_BAR)
    rng = np.random.default_rng(0)
    q = np.tile(robot.neutral(), (32, 1))
    q[:, 2] = 0.1 + rng.uniform(0, 0.05, 32)
    v = np.zeros((32, robot.nv))
    v[:, :3] = rng.normal(size=(32, 3)) * 0.3
    double = lw.Stepper(robot, 1e-3)
    assert double.reduced
    ends, single = {}, double.native("float32")
    for name, step in (("float64", double), ("float32", single)):
        found = step(q.astype(name), v.astype(name), steps=50)
        assert not found.contacts.missed.any()
        ends[name] = found
    np.testing.assert_allclose(ends["float32"].q, ends["float64"].q, atol=1e-4)
    later = single(ends["float32"].q, ends["float32"].v, steps=950)
    assert not later.contacts.missed.any()
    assert np.abs(lw.constraint_error(robot, later.q.astype(float))).max() < 1e-3


def test_rounding_does_not_choose_which_of_redundant_points_bear() -> None:
    """A gripper that presses hard: gaps of twenty points are rounded to what light fingers move in a step."""
    pytest.importorskip("mujoco")
    scene = systems.system("robotiq and box")
    double = lw.Stepper(scene.robot, scene.dt)
    held = double(scene.q, np.zeros(scene.robot.nv), commands=scene.ctrl, steps=600)
    single, ctrl, rows = double.native("float32"), scene.ctrl.astype("float32"), (16, 1)
    q, v, kept = (np.tile(x, rows).astype("float32") for x in (held.q, held.v, held.contact_state))
    iterations = []
    for _ in range(20):
        found = single(q, v, commands=ctrl, contact_state=kept)
        q, v, kept = found.q, found.v, found.contact_state
        assert not found.contacts.missed.any()
        iterations.append(found.contacts.iterations)
    assert np.mean(iterations[1:]) < 3.5  # the first step starts from impulses of double precision
    np.testing.assert_allclose(q, np.tile(held.q, rows), atol=1e-4)
