# SPDX-License-Identifier: BSD-3-Clause
"""Simulations start at the keyframe ``home``, under its commands and activations, as a file has them."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.peers import from_mujoco

mujoco = pytest.importorskip("mujoco")

TEXT = """<mujoco><option gravity="0 0 0"/><worldbody><body><joint name="j"/><geom size=".1" pos=".2 0 0"/>
<body pos=".4 0 0"><joint name="k"/><geom size=".1" pos=".1 0 0"/></body></body></worldbody>
<actuator><position name="a" joint="j" kp="3" kv="1"/><general name="b" joint="k" dyntype="filter" dynprm=".1"/>
</actuator><keyframe><key name="other" qpos=".1 .2" ctrl="1"/><key name="home" qpos=".5 -.3" ctrl=".5 .2" act=".2"/>
</keyframe></mujoco>"""


@pytest.mark.parametrize("make", [lw.loads, lambda text: from_mujoco(mujoco.MjModel.from_xml_string(text))])
def test_keyframes_have_commands(make: object) -> None:
    robot = make(TEXT)  # type: ignore[operator]
    assert {name: u.tolist() for name, u in robot.commands.items()} == {"other": [1, 0], "home": [0.5, 0.2]}


def test_simulations_start_at_home_under_its_commands() -> None:
    robot = lw.loads(TEXT)
    run = lw.simulate(robot, seconds=0.1, dt=0.01)
    u, act = robot.commands["home"], robot.activations["home"]
    same = lw.simulate(robot, robot.poses["home"], seconds=0.1, dt=0.01, commands=u, act=act)
    np.testing.assert_array_equal(run.q, same.q)
    assert np.abs(run.v[-1]).max() > 0


def test_a_pose_may_be_named_and_what_is_given_counts() -> None:
    robot = lw.loads(TEXT)
    named = lw.simulate(robot, "other", seconds=0.05, dt=0.01)
    same = lw.simulate(robot, robot.poses["other"], seconds=0.05, dt=0.01, commands=[1.0, 0.0])
    np.testing.assert_array_equal(named.q, same.q)
    still = lw.simulate(robot, "home", seconds=0.05, dt=0.01, tau=np.zeros(2))
    np.testing.assert_array_equal(still.q[-1], robot.poses["home"])
    with pytest.raises(KeyError, match="nowhere"):
        lw.simulate(robot, "nowhere", seconds=0.05)


def test_commands_go_along_when_robots_change() -> None:
    robot = lw.loads(TEXT)
    assert robot.without_actuators("a").commands["home"].tolist() == [0.2]
    assert robot.with_actuators("j").commands["home"].tolist() == [0.5, 0.2, 0.0]
    both = lw.compose({"one": robot, "two": robot})
    assert both.commands["home"].tolist() == [0.5, 0.2, 0.5, 0.2]
    saved = lw.loads(robot.to_text("mjcf"))
    assert saved.commands["home"].tolist() == [0.5, 0.2]


def test_what_a_keyframe_has_besides_is_a_warning() -> None:
    world = TEXT.replace("<worldbody>", '<worldbody><body name="m" mocap="true" pos="1 0 0"/>')
    same = world.replace('name="home"', 'name="home" mpos="1 0 0" qvel="0 0"')
    lw.loads(same)  # as it is drawn
    with pytest.warns(lw.errors.ModelWarning, match="velocities"):
        lw.loads(world.replace('name="home"', 'name="home" qvel="1 0"'))


def test_models_of_mjcf_start_where_they_are_drawn() -> None:
    """A file without a pose `home` starts at `qpos0`: a body that is drawn above the ground is not in it."""
    robot = lw.loads(
        """<mujoco><worldbody><geom name="floor" type="plane" size="5 5 1"/>
        <body name="ball" pos="0 0 1"><freejoint/><geom name="ball" size=".1"/></body></worldbody></mujoco>"""
    )
    assert lw.simulate(robot, seconds=1e-3).q[0, 2] == 1.0
    assert lw.Simulation(robot, 2).q[:, 2].tolist() == [1.0, 1.0]
