# SPDX-License-Identifier: BSD-3-Clause
"""Chains and linkages that turn fast, by large angles in a step: velocities stay bounded, and contacts stay exact."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import linkwork as lw

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
    with few of them loops are stepped by LCABA."""
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
