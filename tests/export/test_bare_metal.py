# SPDX-License-Identifier: BSD-3-Clause
"""Exported C on emulated processors without an operating system: the bits of this machine, or nearly."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.export import export_c
from linkwork.zoo import ASSEMBLED
from tests.support import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "scripts"))

from bare_metal import TARGETS, run_here, run_on, ulps

ULP = {"float64": 4.0, "float32": 4.0}
"""Libraries round sines and cosines differently, by one unit in the last place; sums of them by a few."""


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_loop_closure_and_inverse_dynamics(tmp_path: Path, target: Any, dtype: Any) -> None:
    if not target.available:
        pytest.skip(f"{target.compiler[0]} or {target.emulator[0]} is not installed")
    robot = zoo.five_bar()
    q = robot.poses[ASSEMBLED]
    cases = {
        "closure": (lw.Minimal(robot), [q + 0.01], 2),
        "torques": (lw.InverseDynamics(zoo.pendulum(3)), list(np.random.default_rng(0).normal(size=(3, 3))), 1),
    }
    for name, (evaluator, inputs, results) in cases.items():
        program = export_c(evaluator, tmp_path / f"{name}.c", dtype=dtype)
        run = run_on(target, program, inputs, tmp_path)
        here = run_here(program, inputs, tmp_path)
        assert ulps(run.outputs[:results], here[:results]) <= ULP[dtype]
        assert program.operations.total < run.instructions < 1e5
        assert program.stack <= run.stack < 4096
