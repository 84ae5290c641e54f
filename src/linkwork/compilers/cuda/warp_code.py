# SPDX-License-Identifier: BSD-3-Clause
"""Machine code of rollouts with a warp for each robot (`warp_text`), and the plan of a robot that it reads."""

from __future__ import annotations

import math
from collections.abc import Callable
from ctypes import byref, c_size_t, c_uint64, c_void_p
from functools import cache

import numpy as np

from linkwork.compilers import cache as disk
from linkwork.compilers import llvm
from linkwork.compilers.cuda.assembling import Assembler, uncollected
from linkwork.compilers.cuda.driver import Device, Memory, driver, packed, unpacked, version
from linkwork.compilers.cuda.native import ALIGNMENT, aligned
from linkwork.compilers.cuda.rollout_code import IntegerCode
from linkwork.compilers.lanes import Type
from linkwork.compilers.language.fingerprint import fingerprint
from linkwork.compilers.program import Program
from linkwork.kernels.algorithm import Algorithm, resolve

CONTEXT = "linkwork_context"
"""The variable of the module that holds the context, in constant memory."""
FURTHER = 7
"""Arguments of the kernel after its arrays."""
WARP = 32
"""Threads of a block: a warp."""
GROUPS = (32, 16, 8)
"""Lanes that a robot may have: those of a warp, or several robots share one."""
WARPS = 16
"""Warps that share one multiprocessor, by their registers."""


def lanes_of_robot(count: int, multiprocessors: int) -> int:
    """Lanes of each of so many robots: as many as leave all robots at work at the same time.

    What takes time is the length of a step. More lanes make it shorter; but what they all do alike is done once for all
    robots of a warp.

    Args:
        count: How many robots.
        multiprocessors: Of the GPU.
    """
    fitting = [group for group in GROUPS if count * group <= WARP * WARPS * multiprocessors]
    return fitting[0] if fitting else GROUPS[-1]


class WarpPlan:
    """The context of a rollout: the plan of a robot, copied to the GPU once, and where work arrays are in a scratch.

    Args:
        program: The rollout and the plan.
        dtype: Type of the numbers.
        make: Allocates memory of the GPU, given how many bytes.
    """

    def __init__(self, program: Program, dtype: str, make: Callable[[int], Memory]) -> None:
        algorithm, tree, t = program.algorithm, program.tree, Type(dtype, 1)
        layout = algorithm.layout
        arrays = [
            np.ascontiguousarray(getattr(tree, name), np.int32 if name in layout.integers else np.dtype(dtype))
            for name in layout.shapes
        ]
        starts, end = list[int](), 0
        for array in arrays:
            starts.append(end)
            end = aligned(end + array.nbytes)
        self._memory = make(end)
        content = bytearray(end)
        for start, array in zip(starts, arrays, strict=True):
            content[start : start + array.nbytes] = array.tobytes()
        self._memory.write(bytes(content))
        table = [int(getattr(tree, name)) for name in layout.sizes]
        table += [self._memory.pointer + start for start in starts]
        shapes = [(shape, t.bytes) for shape in algorithm.stored.values()]
        shapes += [(shape, 4) for shape in algorithm.integers.values()]
        self.bytes: int = 0
        """Scratch of a warp."""
        for shape, size in shapes:
            table.append(self.bytes)
            self.bytes = aligned(self.bytes + size * math.prod(resolve(shape, tree)))
        self.context: bytes = np.array(table, np.int64).tobytes()
        """The words of the context."""
        assert ALIGNMENT % t.bytes == 0


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
    return disk.key("cuda warp", algorithm.name, *texts, shapes, layout, dtype, str(group), *target, llvm.version())


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
    code = WarpCode(cubin, 2 * arrays + FURTHER, WARP, 0)
    code.context = plan.context
    return code
