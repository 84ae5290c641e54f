# SPDX-License-Identifier: BSD-3-Clause
"""Machine code of rollouts with lanes of a warp for each robot (`warp_text`)."""

from __future__ import annotations

from ctypes import byref, c_size_t, c_uint64, c_void_p
from functools import cache

from linkwork.compilers import cache as disk
from linkwork.compilers import llvm
from linkwork.compilers.cuda.assembling import Assembler, uncollected
from linkwork.compilers.cuda.driver import Device, driver, packed, unpacked, version
from linkwork.compilers.cuda.rollout_code import IntegerCode
from linkwork.compilers.cuda.warp_plan import BLOCK, CONTEXT, FURTHER, WarpPlan
from linkwork.compilers.language.fingerprint import fingerprint
from linkwork.compilers.program import Program
from linkwork.kernels.algorithm import Algorithm


class WarpCode(IntegerCode):
    """A rollout of one robot: machine code, loaded with the context of the robot in its constant memory."""

    context = b""

    def _loaded(self, module: c_void_p) -> None:
        place, size = c_uint64(), c_size_t()
        driver().ModuleGetGlobal_v2(byref(place), byref(size), module, CONTEXT.encode())
        driver().MemcpyHtoD_v2(place, self.context, c_size_t(len(self.context)))


@cache
def cache_name(algorithm: Algorithm, dtype: str, group: int, *target: str) -> str:
    """The name under which a kernel is kept: it does not depend on the mechanism."""
    parts = (algorithm.inputs, algorithm.outputs, algorithm.stored, algorithm.integers)
    layout = repr((algorithm.layout.sizes, dict(algorithm.layout.integers), dict(algorithm.layout.floats)))
    texts = map(fingerprint, algorithm.texts)
    shapes = repr([dict(part) for part in parts])
    return disk.key(
        "cuda warp", algorithm.name, *texts, shapes, layout, dtype, str(group), str(BLOCK), *target, llvm.version()
    )


def warp_code(program: Program, plan: WarpPlan, dtype: str, group: int, where: Device) -> WarpCode:
    """The kernel of a rollout for one robot: from the cache, or made now.

    Args:
        program: The rollout and the plan.
        plan: The plan, on the same GPU.
        dtype: Type of the numbers.
        group: Lanes of a robot.
        where: The GPU.
    """
    algorithm = program.algorithm

    def make() -> bytes:
        from linkwork.compilers.cuda.warp_text import warp_kernel  # where something is to be compiled alone

        words = f"{algorithm.name} ({dtype}, {where.name})"
        with disk.announced(words), uncollected(), Assembler(where, 3, 2, side_by_side=True) as assembler:
            return packed(assembler.complete(warp_kernel(algorithm, dtype, group)))

    name = cache_name(algorithm, dtype, group, where.architecture, str(version()))
    cubin, _ = unpacked(disk.fetch(name, make))
    arrays = len(algorithm.inputs) + len(algorithm.outputs)
    code = WarpCode(cubin, 2 * arrays + FURTHER, BLOCK, 0)
    code.context = plan.context
    return code
