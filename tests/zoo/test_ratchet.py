# SPDX-License-Identifier: BSD-3-Clause
"""A ratchet turns one way, a click a tooth, and holds the other way."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw

RATCHETS = {"usual": {}, "many teeth": {"teeth": 24, "height": 0.004}, "without friction": {"friction": 0.0}}


@pytest.mark.parametrize("kind", RATCHETS)
def test_clicks_forward_and_holds_backward(kind: str) -> None:
    """The pawl is lifted once a tooth; thirty times the torque turns the wheel back by less than a tooth."""
    robot = lw.zoo.ratchet(**RATCHETS[kind])  # type: ignore[arg-type]
    pitch = 2 * np.pi / len(robot.contacts)
    run = lw.simulate(robot, "assembled", seconds=1.5, dt=5e-4, tau=[0.06, 0])
    wheel, pawl = run.joint_position("wheel"), run.joint_position("pawl")
    lifts = (pawl[1:-1] < pawl[:-2]) & (pawl[1:-1] <= pawl[2:]) & (pawl[1:-1] < 0)
    turned = wheel[-1] / pitch
    assert turned > 20 and (np.diff(wheel) > 0).all()
    assert abs(lifts.sum() - turned) <= 1
    held = run.resume(seconds=1, tau=[-2, 0])
    back = held.joint_position("wheel")
    assert 0 <= (back[0] - back[-1]) / pitch < 1
    assert np.abs(held.v[-1]).max() <= 1e-9


def test_starts_in_touch_without_penetration() -> None:
    robot = lw.zoo.ratchet()
    run = lw.simulate(robot, "assembled", seconds=1e-6, dt=1e-6)
    gaps = np.array([one.gaps[-1] for one in run.contacts.values()])
    assert abs(np.nanmin(gaps)) <= 1e-9


def test_few_teeth_are_refused() -> None:
    with pytest.raises(lw.errors.InputError, match="teeth"):
        lw.zoo.ratchet(teeth=3)
