# SPDX-License-Identifier: BSD-3-Clause
"""Steps by the PTX that a GPU gets, executed by one emulated warp of 32 lanes: numbers, and what is counted."""

from __future__ import annotations

import numpy as np
import pytest

from linkwork import zoo
from tests.compilers.test_cuda_warps import Assign, both, on_device
from tests.support.warp_counts import counted_step, use_ptx

TWICE = """
.visible .entry linkwork_kernel(
	.param .u64 linkwork_kernel_param_0
)
{
	.reg .pred 	%p<2>;
	.reg .b32 	%r<4>;
	.reg .b64 	%rd<4>;
	mov.u32 	%r1, %tid.x;
	ld.param.b64 	%rd1, [linkwork_kernel_param_0];
	mul.wide.u32 	%rd2, %r1, 4;
	add.s64 	%rd3, %rd1, %rd2;
	ld.global.b32 	%r2, [%rd3];
	setp.gt.u32 	%p1, %r1, 7;
	@%p1 bra 	$L__BB0_2;
	add.s32 	%r2, %r2, %r2;
$L__BB0_2:
	st.global.b32 	[%rd3], %r2;
	ret;
}
"""


def test_counts_are_those_of_the_text() -> None:
    """Eight of 32 lanes double a number; all meet again and store theirs: 128 bytes, 4 parts of 32."""
    from tests.support.ptx_warp import Warp

    x = np.zeros(64, np.uint32)
    numbers = x[(-x.ctypes.data // 4) % 8 :][:32]
    numbers[:] = np.arange(32)
    warp = Warp(TWICE, {})
    warp.run("linkwork_kernel", [numbers.ctypes.data])
    assert numbers.tolist() == [2 * k if k < 8 else k for k in range(32)]
    assert warp.issued.tolist() == [1] * 10
    assert warp.active.tolist() == [32] * 7 + [8, 32, 32]
    assert warp.stages["linkwork_kernel",].tolist() == [9, 2, 8]


@pytest.mark.parametrize("group", [16, 32])
def test_a_warp_steps_as_the_cpu(monkeypatch: pytest.MonkeyPatch, group: int) -> None:
    """Loops, one or two robots of a warp, each with torques of its own."""
    use_ptx(monkeypatch, Assign, group)
    robot, count = zoo.four_bar(), 32 // group
    tau = np.random.default_rng(0).normal(size=(count, robot.nv))
    cpu, gpu = both(robot, count)
    cpu.step(tau=tau, steps=1)
    gpu.step(tau=on_device(tau), steps=1)
    cpu.step()
    warp = counted_step(gpu)
    np.testing.assert_allclose(gpu.q.numpy(), cpu.q, rtol=0, atol=1e-13)
    np.testing.assert_allclose(gpu.v.numpy(), cpu.v, rtol=0, atol=1e-9)  # rows are redundant: of their regularization
    assert (warp.active <= 32 * warp.issued).all() and warp.active.sum() > 16 * warp.issued.sum()
