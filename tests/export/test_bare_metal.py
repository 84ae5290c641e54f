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
from cycles import CORTEX_M7, SIFIVE_U7, Instruction, cycles

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
        assert len(run.executed) == pytest.approx(run.instructions, abs=20)  # the clock is read around the call
        assert program.stack <= run.stack < 4096


def timed(core: Any, text: str, pipelined: bool = True) -> int:
    """Cycles of instructions, one a line."""
    lines = [line.strip().partition(" ") for line in text.strip().splitlines()]
    return cycles(core, [Instruction(mnemonic, operands) for mnemonic, _, operands in lines], pipelined)


def test_cycles_of_what_waits_for_results() -> None:
    """Four products, each of the one before, take four latencies; independent ones a cycle each and a latency."""
    chain = "\n".join(["vmul.f64 d0, d0, d1"] * 4)
    apart = "\n".join(f"vmul.f64 d{k}, d8, d9" for k in range(4))
    assert timed(CORTEX_M7, chain) == timed(CORTEX_M7, chain, pipelined=False) == 4 * 7
    assert timed(CORTEX_M7, apart) == 3 + 7 and timed(CORTEX_M7, apart, pipelined=False) == 3 * 5 + 7
    assert timed(SIFIVE_U7, "\n".join(["fmul.d fa0,fa0,fa1"] * 4)) == 4 * 7


def test_cycles_of_what_is_issued_together() -> None:
    """Two integer operations a cycle, a load beside them; a double that is loaded stands alone."""
    assert timed(CORTEX_M7, "\n".join(f"add r{k}, r8, r9" for k in range(6))) == 3
    assert timed(CORTEX_M7, "ldr r0, [r1, #4]\nadd r2, r3, r4") == 1
    assert timed(CORTEX_M7, "vldr d0, [r1]\nadd r2, r3, r4") == 2
    assert timed(CORTEX_M7, "vldr d0, [r1]\nvadd.f64 d1, d0, d0") == 2 + 4
    assert timed(CORTEX_M7, "vcmpe.f64 d0, d1\nvmrs APSR_nzcv, fpscr") == 4 + 3
    assert timed(SIFIVE_U7, "fld fa0,0(a0)\nfadd.d fa1,fa0,fa0") == 2 + 7
    assert timed(SIFIVE_U7, "\n".join(f"fadd.d fa{k},ft0,ft1" for k in range(5))) == 4 + 7


def test_registers_of_half_the_width_are_parts_of_wide_ones() -> None:
    assert timed(CORTEX_M7, "vmul.f64 d1, d8, d9\nvadd.f32 s20, s3, s3") == 7 + 3
    assert timed(CORTEX_M7, "vpop {d8-d9}\nvadd.f64 d0, d9, d9") == 1 + 2 + 4
