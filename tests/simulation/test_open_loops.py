# SPDX-License-Identifier: BSD-3-Clause
"""Loops that steps cannot keep closed, since bodies are too light for their rows."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import linkwork as lw
from tests.support.benchmark_mechanisms import scissor_lift


def test_loops_that_are_open_at_the_end_are_a_warning() -> None:
    """Bars of a milligram under 100 kg gave way by 0.3 m without a word; of 10 g they follow."""
    lift = lw.Drive("a0", lw.profiles.cycloidal(0.5, 1.0, 1.0), name="lift")
    robot, q = scissor_lift(0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = lw.simulate(robot.constrained(lift), q, seconds=1.0)
    height = run.frame_placement("table").position[:, 1]
    np.testing.assert_allclose(height, 3 * np.sin(run.joint_position("a0")), atol=1e-6)
    robot, q = scissor_lift(1e-6)
    with pytest.warns(
        lw.errors.SimulationWarning, match=r"is open by .* body '.*' of 1e-06 kg is too light beside 100 kg"
    ):
        lw.simulate(robot.constrained(lift), q, seconds=1.0)
