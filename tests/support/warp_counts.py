# SPDX-License-Identifier: BSD-3-Clause
"""Executed instructions of one warp by stages of a step, without a GPU: ``python -m tests.support.warp_counts FILE``.

Robots fall from the first pose of a file with noise, as in ``gpu_peers``. Two robots share a warp by default. Prints,
for the calls with the most instructions: executed instructions but moves of arguments, accesses of global memory, and
parts of 32 bytes that these touch.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.compilers.cuda import ptx, warp_plan
from linkwork.compilers.cuda.warp_text import warp_kernel
from linkwork.compilers.entry.batch import SYMBOL
from linkwork.compilers.program import Program
from linkwork.simulation import warp_batch
from tests.support.cuda_on_host import HostWarps, use_host_simulations
from tests.support.ptx_warp import LANES, Warp

LEVEL = 2
"""Of optimization, as on a GPU."""


class PtxWarps(HostWarps):
    """In place of `warp_code.WarpCode`: PTX, by an emulated warp where ``counted`` is set, else native code."""

    counted = False
    warp: Warp | None = None

    def __init__(self, program: Program, plan: warp_plan.WarpPlan, dtype: str, group: int, where: Any) -> None:
        super().__init__(program, plan, dtype, group, where)
        self._text = ptx.assembly(warp_kernel(program.algorithm, dtype, group), "sm_90", LEVEL)

    def launch_blocks(self, values: Sequence[int], blocks: int, stream: int, where: Any) -> None:
        if not PtxWarps.counted:
            super().launch_blocks(values, blocks, stream, where)
            return
        PtxWarps.warp = Warp(self._text, {warp_plan.CONTEXT: self._context})
        PtxWarps.warp.run(SYMBOL, values)


def use_ptx(monkeypatch: pytest.MonkeyPatch, assign: Any, group: int) -> None:
    """Let simulations on ``"cuda"`` run by PTX, with so many lanes for a robot."""
    use_host_simulations(monkeypatch, assign)
    monkeypatch.setattr(warp_batch, "lanes_of_robot", lambda count, multiprocessors: group)
    monkeypatch.setattr(warp_batch, "warp_code", PtxWarps)


def counted_step(sim: lw.Simulation) -> Warp:
    """One step by an emulated warp, and its counts."""
    PtxWarps.counted = True
    try:
        sim.step()
    finally:
        PtxWarps.counted = False
    assert PtxWarps.warp is not None
    return PtxWarps.warp


def print_stages(warp: Warp, least: int) -> None:
    """Print counts of calls, with those that they call, down to so many instructions."""
    totals = dict[tuple[str, ...], Any]()
    for path, counts in warp.stages.items():
        for k in range(1, len(path) + 1):
            totals[path[:k]] = totals.get(path[:k], 0) + counts

    def show(path: tuple[str, ...]) -> None:
        instructions, accesses, sectors = totals[path]
        if instructions >= least:
            print(f"{'  ' * (len(path) - 1)}{path[-1]}: {instructions}, {accesses}, {sectors}")
            called = [x for x in totals if x[:-1] == path]
            for x in sorted(called, key=lambda x: -totals[x][0]):
                show(x)

    show((SYMBOL,))


def main() -> None:
    """Count one step each, begun at the numbers of steps that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("--lanes", type=int, default=16, help="of a robot")
    parser.add_argument("--after", type=int, nargs="+", default=[1, 100], help="steps before the one that is counted")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--least", type=int, default=1000, help="instructions of a call that is printed")
    options = parser.parse_args()
    from tests.compilers.test_cuda_warps import Assign

    robot, rng = lw.load(options.file), np.random.default_rng(0)
    first = next(iter(robot.poses.values()), robot.neutral())
    q = [robot.integrate(first, 0.01 * rng.normal(size=robot.nv)) for _ in range(LANES // options.lanes)]
    with pytest.MonkeyPatch.context() as monkeypatch:
        use_ptx(monkeypatch, Assign, options.lanes)
        sim = lw.Simulation(robot, len(q), q=np.array(q), dt=5e-3, device="cuda", dtype=options.dtype, compile=False)
        done = 0
        for after in options.after:
            sim.step(steps=after - done)
            warp, done = counted_step(sim), after + 1
            print(f"step {after}: instructions, accesses of global memory, parts of 32 bytes")
            print_stages(warp, options.least)


if __name__ == "__main__":
    main()
