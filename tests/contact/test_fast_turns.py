# SPDX-License-Identifier: BSD-3-Clause
"""Chains and linkages that turn fast, by large angles in a step: velocities stay bounded, and contacts stay exact."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt
import pytest

import linkwork as lw
from linkwork.errors import StateWarning

Floats = npt.NDArray[np.float64]

DT = 2e-3


def chain(links: int, free: bool) -> lw.Mechanism:
    """Links on hinges and balls without gravity, and a sphere far away: steps by the reduced matrix."""
    body = ""
    for k in reversed(range(links)):
        kind = "ball" if k % 3 == 2 else "hinge"
        joint = "<freejoint/>" if k == 0 and free else f'<joint type="{kind}" axis="{k % 2} {1 - k % 2} .3"/>'
        geom = '<geom type="box" size=".15 .05 .03" pos=".1 0 .02" contype="0" conaffinity="0"/>'
        body = f'<body pos="{0.3 * (k > 0)} 0 0">{joint}{geom}{body}</body>'
    return lw.loads(
        f'<mujoco><option gravity="0 0 0"/><worldbody><geom type="plane" size="1 1 .1" pos="0 0 -9"/>{body}'
        '<body pos="0 0 9"><freejoint/><geom type="sphere" size=".1"/></body></worldbody></mujoco>'
    )


def start(robot: lw.Mechanism, rate: float, free: bool) -> tuple[Floats, Floats]:
    """A state whose joints turn at random rates."""
    rng = np.random.default_rng(0)
    q, v = np.array(robot.random(0)), np.zeros(robot.nv)
    v[:-6] = rate * rng.standard_normal(robot.nv - 6)
    if free:
        v[:3] = 0.0
    return q, v


@pytest.mark.parametrize("links", [2, 4, 7])
@pytest.mark.parametrize("angle", [0.5, 1.0, 2.5])
def test_energy_of_tumbling_chains_never_grows(links: int, angle: float) -> None:
    """Energies are those of velocities after a step with the positions before it, from which they turn on."""
    robot = chain(links, free=False)
    stepper, (q, v), state = lw.Stepper(robot, DT, threads=1), start(robot, angle / DT, free=False), None
    energies = []
    for _ in range(100):
        M = np.asarray(lw.mass_matrix(robot, q))
        after = stepper(q, v, contact_state=state)
        q, v, state = after.q, after.v, after.contact_state
        energies.append(0.5 * float(v @ M @ v))
        if DT * np.abs(v[: robot.nv - 6]).max() < 1.0:
            break
    assert (np.diff(energies) <= 1e-9 * energies[0]).all()


@pytest.mark.parametrize("links", [2, 4, 7])
@pytest.mark.parametrize("angle", [0.3, 1.0, 2.5])
def test_floating_chains_that_tumble_keep_their_momentum(links: int, angle: float) -> None:
    robot = chain(links, free=True)
    stepper, (q, v) = lw.Stepper(robot, DT, threads=1), start(robot, angle / DT, free=True)
    first = np.abs(v).max()
    after = stepper(q, v)
    run = stepper(after.q, after.v, contact_state=after.contact_state, steps=400)
    assert np.abs(run.v).max() < 30 * first


FOUR_BAR = """<mujoco><option timestep="0.005"/><worldbody><geom type="plane" size="5 5 .1"/>
<body name="frame" pos="0 0 .8" euler="90 0 0"><freejoint/><inertial pos="0 0 0" mass="2" diaginertia=".05 .05 .05"/>
<geom type="box" pos=".2 -.05 .08" size=".25 .02 .02"/>
<body name="crank" euler="0 0 90"><joint axis="0 0 1"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/>
<body name="coupler" pos=".3 0 0" euler="0 0 -90"><joint axis="0 0 1"/>
<geom type="capsule" fromto="0 0 0 .4 0 0" size=".02"/></body></body>
<body name="rocker" pos=".4 0 0" euler="0 0 90"><joint axis="0 0 1"/>
<geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/></body></body>
<body pos="1 1 .05"><freejoint/><geom type="box" size=".05 .05 .05"/></body></worldbody>
<contact><exclude body1="crank" body2="frame"/><exclude body1="coupler" body2="frame"/>
<exclude body1="coupler" body2="crank"/><exclude body1="rocker" body2="frame"/><exclude body1="rocker" body2="crank"/>
<exclude body1="rocker" body2="coupler"/></contact>
<equality><connect body1="coupler" body2="rocker" anchor=".4 0 0"/></equality></mujoco>"""


@pytest.mark.parametrize("seed", range(8))
def test_planar_linkages_thrown_on_the_ground_come_to_rest(seed: int) -> None:
    """The loop has a row across its plane that nothing moves while it is closed. The box is there for contact points:
    with few of them loops are stepped by slots."""
    robot = lw.loads(FOUR_BAR)
    rng = np.random.default_rng(seed)
    q = np.array(robot.poses["assembled"] if "assembled" in robot.poses else robot.neutral())
    turn = rng.standard_normal(4)
    q[3:7] = turn / np.linalg.norm(turn)
    v = np.zeros(robot.nv)
    v[:6] = np.r_[5.0 * rng.standard_normal(3), 15.0 * rng.standard_normal(3)]
    energies = []
    stepper, state = lw.Stepper(robot, 5e-3, threads=1), None
    for _ in range(300):
        after = stepper(q, v, contact_state=state)
        q, v, state = after.q, after.v, after.contact_state
        energies.append(float(np.sum(np.asarray(lw.energy(robot, q, v)))))
    assert np.abs(np.asarray(lw.constraint_error(robot, q))).max() < 1e-4
    assert max(energies) < 3.0 * energies[0]
    assert energies[-1] < 0.5 * energies[0]


BOX = '<body pos="1 1 .05"><freejoint/><geom type="box" size=".05 .05 .05"/></body>'


def spun_four_bars(rate: float, count: int) -> tuple[lw.Mechanism, Floats, Floats]:
    """Four-bars without the box, whose steps are by slots, thrown and spun at a rate."""
    robot = lw.loads(FOUR_BAR.replace(BOX, ""))
    rng = np.random.default_rng(0)
    q, v = np.tile(robot.neutral(), (count, 1)), np.zeros((count, robot.nv))
    q[:, 3:7] = rng.standard_normal((count, 4))
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    v[:, :3] = 5.0 * rng.standard_normal((count, 3))
    axes = rng.standard_normal((count, 3))
    v[:, 3:6] = rate * axes / np.linalg.norm(axes, axis=1, keepdims=True)
    return robot, q, v


@pytest.mark.parametrize("kind", ["one", "batch", "compiled"])
@pytest.mark.parametrize("rate", [30.0, 60.0, 120.0])
def test_linkages_by_slots_that_spin_come_to_rest(kind: str, rate: float) -> None:
    """Their energy grew to 1e28 J: Coriolis forces of the start of a step, and loops that open by large angles.

    Energies with velocities after a step and positions then are at most those with positions before it, which are
    bounded, times what inertias change by."""
    robot, q, v = spun_four_bars(rate, 6)
    stepper = lw.Stepper(robot, 5e-3, threads=1)
    stepper = stepper.compile() if kind == "compiled" else stepper
    for q0, v0 in zip(q, v, strict=True) if kind == "one" else [(q, v)]:
        first = np.sum(lw.energy(robot, q0, v0), axis=0)
        most, at, state = first, (q0, v0), None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StateWarning)
            for _ in range(200):
                after = stepper(*at, contact_state=state, steps=10)
                at, state = (after.q, after.v), after.contact_state
                most = np.maximum(most, np.sum(lw.energy(robot, *at), axis=0))
        assert np.isfinite(most).all()
        assert (most < 5.0 * first).all()
        assert (np.sum(lw.energy(robot, *at), axis=0) < 0.1 * first).all()
        assert np.abs(lw.constraint_error(robot, at[0])).max() < 1e-4


def test_linkages_by_slots_that_are_slowed_down_are_counted_alike_in_programs() -> None:
    robot, q, v = spun_four_bars(120.0, 6)
    native = lw.Stepper(robot, 5e-3, threads=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StateWarning)
        first, second = native(q, v, steps=3), native.compile()(q, v, steps=3)
    assert first.contacts.missed.max() > 0
    assert (first.contacts.missed == second.contacts.missed).all()
    np.testing.assert_allclose(first.contacts.residual, second.contacts.residual, atol=1e-6)
    np.testing.assert_allclose(first.v, second.v, atol=1e-5)
