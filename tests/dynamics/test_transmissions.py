# SPDX-License-Identifier: BSD-3-Clause
"""Actuators on sites, ball and free joints and slider-cranks, tendons around obstacles, and muscles are MuJoCo's."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import CannotSave, ModelError, UnsupportedFeature
from linkwork.peers import from_mujoco, mujoco_map

mujoco = pytest.importorskip("mujoco")

BODIES = """<body name="a" pos="0 0 1" euler="10 20 30"><freejoint name="f"/><geom size=".1"/>
<site name="s0" pos=".1 .2 .3" euler="5 6 7"/><body pos=".2 0 0"><joint type="ball" name="b"/>
<geom type="box" size=".1 .2 .05" pos=".1 0 0"/><site name="s1" pos=".1 0 .1" euler="40 50 60"/>
<body pos=".2 .1 0"><joint name="h" axis="1 0 0"/><geom size=".1" pos="0 .1 0"/>
<site name="s2" pos=".1 .1 .1" euler="1 2 3"/></body></body></body>"""
ACTUATORS = {
    "a propeller": '<motor site="s2" gear="1 2 3 4 5 6"/>',
    "position of a site": '<general site="s2" refsite="s1" gear="1 2 3" biastype="affine" biasprm=".1 -2 -.3"/>',
    "pose of a site": '<general site="s2" refsite="s0" gear="1 2 3 .1 .2 .3" biastype="affine" biasprm=".1 -2 -.3"/>',
    "a free joint": '<motor joint="f" gear="1 2 3 4 5 6"/>',
    "a free joint in the world": '<motor jointinparent="f" gear="1 2 3 4 5 6"/>',
    "a ball in its parent": '<motor jointinparent="b" gear="1 2 3"/>',
    "a servo of a ball": '<position joint="b" gear="1 2 3" kp="3"/>',
    "a servo of a ball in its parent": '<position jointinparent="b" gear="1 2 3" kp="3" kv="1"/>',
    "a slider-crank": '<position cranksite="s2" slidersite="s0" cranklength=".7" kp="3" gear="2"/>',
    "a slider-crank out of reach": '<motor cranksite="s2" slidersite="s0" cranklength=".01" gear="2"/>',
}
ARM = """<body><joint axis="0 1 0"/><geom name="g" {geom} pos="0 0 -.3" contype="0"/><site name="a" pos=".15 .02 0"/>
<site name="side" pos="{side}"/><body pos="0 0 -.4"><joint axis="0 1 0"/><joint axis="1 0 0"/>
<geom size=".05" pos="0 0 -.2"/><site name="b" pos=".1 .05 -.3"/></body></body>"""
SPHERE, CYLINDER = 'type="sphere" size=".1"', 'type="cylinder" size=".1 .2" euler="80 5 3"'
SIDES = {"any": "", "right": ".2 0 -.3", "left": "-.2 0 -.3", "inside": ".05 0 -.3"}
MUSCLES = {
    "a motor": '<motor tendon="t"/>',
    "a muscle": '<muscle tendon="t" lengthrange=".3 .8"/>',
    "a smooth muscle": '<muscle tendon="t" lengthrange=".3 .8" force="30" timeconst=".02 .05" tausmooth=".2"/>',
    "gain alone": '<general tendon="t" lengthrange=".3 .8" gaintype="muscle" '
    'gainprm=".7 1.2 40 200 .4 1.5 2 1.1 1.3"/>',
}


def arm(geom: str, side: str, actuator: str = "", tendon: str = "") -> str:
    around = f'<geom geom="g"{" sidesite=" + chr(34) + "side" + chr(34) if SIDES[side] else ""}/>'
    path = f'<site site="a"/>{around}<site site="b"/>'
    bodies = ARM.format(geom=geom, side=SIDES[side] or "0 0 0")
    tendons = f'<tendon><spatial name="t" {tendon}>{path}</spatial></tendon>'
    return f"<mujoco><worldbody>{bodies}</worldbody>{tendons}<actuator>{actuator}</actuator></mujoco>"


def assert_actuators_agree(text: str, robot: lw.Mechanism | None = None, states: int = 8, tol: float = 1e-12) -> None:
    """Torques, lengths, rates and activations in random states."""
    theirs = mujoco.MjModel.from_xml_string(text)
    state, ours = mujoco.MjData(theirs), robot or lw.loads(text)
    across, rng = mujoco_map(ours), np.random.default_rng(5)
    for _ in range(states):
        state.qpos[:] = theirs.qpos0
        mujoco.mj_integratePos(theirs, state.qpos, 0.7 * rng.standard_normal(theirs.nv), 1)
        state.qvel[:] = rng.standard_normal(theirs.nv)
        state.ctrl[:], state.act[:] = rng.random(theirs.nu), rng.random(theirs.na)
        mujoco.mj_forward(theirs, state)
        q = across.from_qpos(state.qpos)
        v = across.from_qvel(q, state.qvel)
        if theirs.nu:
            act = state.act if theirs.na else None
            tau = lw.actuators.actuator_torques(ours, q, v, state.ctrl, act)
            expected = across.from_qfrc(q, state.qfrc_actuator)
            np.testing.assert_allclose(tau, expected, rtol=0, atol=tol * (1 + np.abs(expected).max()))
        if theirs.na:
            rates = lw.actuators.next_activations(ours, state.ctrl, state.act, 0.01).rate
            np.testing.assert_allclose(rates, state.act_dot, rtol=1e-12)
        if theirs.ntendon:
            count = theirs.ntendon
            np.testing.assert_allclose(lw.tendons.tendon_length(ours, q)[:count], state.ten_length, atol=tol)
            np.testing.assert_allclose(
                lw.tendons.tendon_velocity(ours, q, v)[:count], state.ten_velocity, atol=10 * tol
            )


@pytest.mark.parametrize("case", ACTUATORS)
def test_torques_of_actuators_without_gears_are_mujocos(case: str) -> None:
    text = f"<mujoco><worldbody>{BODIES}</worldbody><actuator>{ACTUATORS[case]}</actuator></mujoco>"
    assert_actuators_agree(text)
    assert_actuators_agree(text, from_mujoco(mujoco.MjModel.from_xml_string(text)), states=1)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("geom", [SPHERE, CYLINDER])
def test_tendons_around_obstacles_are_mujocos(geom: str, side: str) -> None:
    """Inside of obstacles MuJoCo finds the point of touch to 1e-6, of which lengths have the square."""
    text = arm(geom, side, MUSCLES["a motor"])
    tol = 1e-6 if side == "inside" else 1e-12
    assert_actuators_agree(text, states=60, tol=tol)
    assert_actuators_agree(text, from_mujoco(mujoco.MjModel.from_xml_string(text)), states=2, tol=tol)


@pytest.mark.parametrize("case", MUSCLES)
def test_muscles_are_mujocos(case: str) -> None:
    assert_actuators_agree(arm(SPHERE, "any", MUSCLES[case]), states=30)


def test_moment_arms_around_obstacles_are_derivatives_of_lengths() -> None:
    robot = lw.loads(arm(CYLINDER, "left"))
    rng = np.random.default_rng(1)
    for _ in range(10):
        q, v = 0.5 * rng.standard_normal(3), rng.standard_normal(3)
        slope = (lw.tendons.tendon_length(robot, q + 1e-6 * v) - lw.tendons.tendon_length(robot, q - 1e-6 * v)) / 2e-6
        np.testing.assert_allclose(lw.tendons.tendon_jacobian(robot, q) @ v, slope, atol=1e-8)


def test_springs_of_tendons_around_obstacles_are_mujocos() -> None:
    text = arm(SPHERE, "any", tendon='stiffness="3 1 2" damping="1 .5 .2"')
    theirs, robot = mujoco.MjModel.from_xml_string(text), lw.loads(text)
    state = mujoco.MjData(theirs)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        state.qpos[:], state.qvel[:] = 0.5 * rng.standard_normal(3), rng.standard_normal(3)
        mujoco.mj_forward(theirs, state)
        found = lw.tendons.tendon_forces(robot, state.qpos, state.qvel)
        np.testing.assert_allclose(found, state.qfrc_passive, atol=1e-12)


def test_motion_with_a_muscle_is_mujocos() -> None:
    text = arm(SPHERE, "any", MUSCLES["a smooth muscle"])
    timed = text.replace("<mujoco>", '<mujoco><option timestep="0.001" integrator="Euler"/>')
    theirs, robot = mujoco.MjModel.from_xml_string(timed), lw.loads(text, contacts=False)
    state = mujoco.MjData(theirs)
    state.ctrl[:] = 0.7
    for _ in range(200):
        mujoco.mj_step(theirs, state)
    run = lw.simulate(robot, robot.poses["qpos0"], seconds=0.2, dt=0.001, commands=[0.7])
    np.testing.assert_allclose(run.q[-1], state.qpos, atol=1e-10)


def test_a_muscle_without_its_range_of_lengths_takes_no_commands() -> None:
    robot = lw.loads(arm(SPHERE, "any", '<muscle name="m" tendon="t"/>'))
    with pytest.raises(UnsupportedFeature, match="lengthrange"):
        lw.actuators.actuator_torques(robot, robot.neutral(), np.zeros(3), [0.5])


def test_transmissions_go_along_when_robots_change() -> None:
    """Renamed, scaled, mounted: the same motion."""
    text = f"<mujoco><worldbody>{BODIES}</worldbody><actuator>{ACTUATORS['pose of a site']}</actuator></mujoco>"
    robot = lw.loads(text)
    q, v = robot.random(3), np.linspace(-1, 1, robot.nv)
    tau = lw.actuators.actuator_torques(robot, q, v, [0.4])
    other = robot.renamed(lambda name: f"x_{name}")
    np.testing.assert_allclose(lw.actuators.actuator_torques(other, q, v, [0.4]), tau, atol=1e-14)
    scene = lw.compose({"one": robot, "two": robot})
    both = lw.actuators.actuator_torques(scene, np.tile(q, 2), np.tile(v, 2), [0.4, 0.4])
    np.testing.assert_allclose(both, np.tile(tau, 2), atol=1e-13)


def test_obstacles_need_a_site_on_both_sides() -> None:
    wrap = lw.tendons.Wrap("a", 0.1)
    for path in ((wrap, "a"), ("a", wrap), ("a", wrap, wrap, "b")):
        with pytest.raises(ModelError, match="needs a site before it"):
            lw.tendons.Branch(path)


@pytest.mark.parametrize("case", ["a propeller", "pose of a site", "a free joint in the world", "a slider-crank"])
def test_transmissions_are_saved(case: str) -> None:
    robot = lw.loads(f"<mujoco><worldbody>{BODIES}</worldbody><actuator>{ACTUATORS[case]}</actuator></mujoco>")
    saved = lw.loads(robot.to_text("mjcf"))
    q, v = robot.random(3), np.linspace(-1, 1, robot.nv)
    tau = [lw.actuators.actuator_torques(one, q, v, [0.4]) for one in (robot, saved)]
    np.testing.assert_allclose(tau[1], tau[0], atol=1e-12)


def test_muscles_are_saved_and_obstacles_refused() -> None:
    text = arm(SPHERE, "any", MUSCLES["a smooth muscle"])
    with pytest.raises(CannotSave, match="which is not in the file"):
        lw.loads(text).to_text("mjcf")
    robot = lw.loads(text.replace('<geom geom="g"/>', ""))
    saved = lw.loads(robot.to_text("mjcf"))
    q, v = np.array([0.1, 0.2, 0.3]), np.ones(3)
    tau = [lw.actuators.actuator_torques(one, q, v, [0.4], [0.3]) for one in (robot, saved)]
    np.testing.assert_allclose(tau[1], tau[0], atol=1e-12)


@pytest.mark.parametrize("side", ["left", "inside"])
def test_compiled_steps_have_muscles_and_obstacles(side: str) -> None:
    robot = lw.loads(arm(CYLINDER, side, MUSCLES["a smooth muscle"]), contacts=False)
    step, q = lw.Stepper(robot, dt=0.001), np.stack([robot.random(k) for k in range(3)])
    v = np.ones((3, 3))
    native, compiled = step(q, v, commands=[0.4]), step.compile()(q, v, commands=[0.4])
    np.testing.assert_allclose(compiled.v, native.v, atol=1e-13)
