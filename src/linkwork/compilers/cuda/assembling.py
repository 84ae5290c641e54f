# SPDX-License-Identifier: BSD-3-Clause
"""From LLVM IR to machine code, several things at a time: texts are written, made PTX of and assembled side by side.

| thread   | task                                                                                     |
|----------|------------------------------------------------------------------------------------------|
| caller's | writes modules                                                                           |
| LLVM's   | makes PTX of them                                                                        |
| driver's | assembles the PTX of a group of modules, with as many threads as there are cores           |
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from linkwork.compilers.cuda import ptx
from linkwork.compilers.cuda.driver import Device, Linker

FUNCTION = ".visible .func"


def joined(texts: Sequence[str]) -> str:
    """PTX of functions as one text: functions of one text are assembled side by side.

    Args:
        texts: Each with one function, after the same head.
    """
    bodies = [text[text.index(FUNCTION) :] for text in texts]
    return "\n".join([texts[0][: texts[0].index(FUNCTION)], *bodies])


@contextmanager
def uncollected() -> Iterator[None]:
    """Without garbage collection: programs are a million objects without cycles, and it takes a third of the time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


class Assembler:
    """Makes machine code of modules for a GPU.

    Args:
        where: The GPU.
        level: Level of optimization of the driver's assembler, 0 to 4.
        optimization: LLVM's level of optimization before.
        side_by_side: Whether the driver assembles functions of a group at the same time.
    """

    def __init__(self, where: Device, level: int = 3, optimization: int = 0, *, side_by_side: bool = False) -> None:
        self._architecture, self._optimization = where.architecture, optimization
        self._linker = Linker(where, level, side_by_side)
        self._pool = ThreadPoolExecutor(1)
        self._group: list[Future[str]] = []

    def __enter__(self) -> Assembler:
        self._linker.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.shutdown(cancel_futures=True)
        self._linker.__exit__(*error)

    def add(self, ir: str) -> None:
        """Have a module made PTX of, for the group that is written now.

        Args:
            ir: With one function that others can call.
        """
        self._group.append(self._pool.submit(self._ptx, ir))

    def end_group(self) -> None:
        """Have the functions of all modules since the last group assembled."""
        group, self._group = self._group, []
        if group:
            self._linker.add(lambda: joined([each.result() for each in group]))

    def complete(self, ir: str) -> bytes:
        """The machine code of all modules.

        Args:
            ir: The last one, with the kernel.
        """
        self.end_group()
        last = self._pool.submit(self._ptx, ir)
        self._linker.add(last.result)
        return self._linker.complete()

    def _ptx(self, ir: str) -> str:
        return ptx.assembly(ir, self._architecture, self._optimization)
