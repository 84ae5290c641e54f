# SPDX-License-Identifier: BSD-3-Clause
"""Inputs of rollouts with lanes of a warp for each robot beside their text (`warp_text`): the plan of a robot."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from linkwork.compilers.cuda.driver import Memory
from linkwork.compilers.cuda.native import ALIGNMENT, aligned
from linkwork.compilers.lanes import Type
from linkwork.compilers.program import Program
from linkwork.kernels.algorithm import resolve

CONTEXT = "linkwork_context"
"""The variable of the module that holds the context, in constant memory."""
FURTHER = 7
"""Arguments of the kernel after its arrays."""
WARP = 32
"""Threads of a warp."""
BLOCK = 512
"""Threads of a block, whose warps are in the same stage of a step (`scalar.stage`): they share what is fetched."""
GROUPS = (32, 16, 8)
"""Lanes that a robot may have: those of a warp, or several robots share one."""
WARPS = 16
"""Warps that share one multiprocessor, by their registers."""


def lanes_of_robot(count: int, multiprocessors: int) -> int:
    """Lanes of each of so many robots: as many as leave all robots at work at the same time.

    The time is that of the longest lane. More lanes make it shorter; but work that they share is done once for all
    robots of a warp.

    Args:
        count: Number of robots.
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
