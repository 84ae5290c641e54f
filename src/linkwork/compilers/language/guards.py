# SPDX-License-Identifier: BSD-3-Clause
"""Run-time checks in machine code of kernel code from outside the package.

Checked code looks at every index, at integers that are divided by or leave 64 bits, at numbers that are read before
they are written, and counts the iterations of all loops. What is wrong first is written to a *record*, and the code
goes on without harm: entries out of range are read from and written to spare memory, a divisor that is none is 1, and
all loops end. So a fault needs no way out of the middle of a kernel. Branches, loops and indices depend on the integers
of a plan alone, never on numbers of the state: code that ran once without a fault has none in any state of that robot
(`checks`).

Code that is not checked counts the iterations of loops of such text, too, so that a user's interrupt ends them.

| word of a record | meaning                                                                                |
|------------------|----------------------------------------------------------------------------------------|
| `SITE`           | 1 + the place in the code where the first fault was found; 0: none                      |
| `FIRST`, `SECOND`| numbers that say more                                                                  |
| `BEHIND`         | the call of a kernel of the package where it was found, if it was found in one         |
| `CALL`           | the last call in text from outside the package                                         |
| `LEFT`           | iterations that are left; with none, all loops end                                     |
| `WATCH`          | the address of a watch (`interrupts`), or 0                                            |
| `SPARE`          | memory for entries out of range                                                        |
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from linkwork.compilers.language.fingerprint import is_own
from linkwork.errors import KernelError

if TYPE_CHECKING:
    from linkwork.compilers.language.values import Source

SITE, FIRST, SECOND, BEHIND, CALL, LEFT, WATCH, SPARE, WORDS = range(9)

UNWRITTEN = 0x7FF8_0BAD_0BAD_0BAD
"""Bits of numbers that were not written: no number that is computed has them."""

MOST_ITERATIONS = 100_000_000
"""Iterations of all loops of a kernel for one state, in checked code: a tenth of a second if they do nothing."""
ENDLESS = 1 << 62
BETWEEN_POLLS = 256
"""Iterations between two looks at the watch, a power of two."""


@dataclass(frozen=True)
class Site:
    """A place in the code that can be at fault, and words about it with the numbers of a record."""

    source: Source
    node: ast.AST
    words: str


class Guards:
    """The checks of one module; ``place`` is the word of the context that has the address of the record."""

    def __init__(self, place: int, checked: bool) -> None:
        self.place, self.checked = place, checked
        self.sites: list[Site] = []

    def site(self, source: Source, node: ast.AST, words: str) -> int:
        """The number of a place in the code."""
        self.sites.append(Site(source, node, words))
        return len(self.sites)

    def error(self, record: Sequence[int]) -> KernelError:
        """The error that a record tells of, at the line of text from outside the package."""
        site = self.sites[int(record[SITE]) - 1]
        words = site.words.format(first=int(record[FIRST]), second=int(record[SECOND]))
        error = site.source.error(site.node, words)
        if not record[BEHIND] or not is_own(site.source.function):
            return error
        call = self.sites[int(record[BEHIND]) - 1]
        return call.source.error(call.node, f"{words}, in kernel '{error.kernel}' ({error.file}:{error.line})")

    def prologue(self) -> list[str]:
        """Instructions before the loop over states: no fault yet."""
        left = MOST_ITERATIONS if self.checked else ENDLESS
        return [
            *_word("%record", "%c", self.place),
            f"store i64 0, ptr %record{TAG}",
            *_place("call", CALL),
            f"store i64 0, ptr %call.at{TAG}",
            *_place("left", LEFT),
            f"store i64 {left}, ptr %left.at{TAG}",
            *_place("watch", WATCH),
            "store ptr %watch, ptr %watch.at",
        ]

    def ending(self) -> list[str]:
        """Instructions after the loop: ``%ended``, 1 where iterations were ended."""
        return [
            f"%left = load i64, ptr %left.at{TAG}",
            "%none.left = icmp sle i64 %left, 0",
            "%ended = zext i1 %none.left to i64",
        ]

    def functions(self) -> str:
        """The functions that guarded code calls."""
        record = "\n  ".join(_word("%record", "%c", self.place))
        places = {"left": LEFT, "first": FIRST, "second": SECOND, "behind": BEHIND, "call": CALL, "watch": WATCH}
        left, first, second, behind, call, watch = (_place(name, place)[0] for name, place in places.items())
        inline = "noinline" if self.checked else "alwaysinline"
        return f"""
define internal void @linkwork_fault(ptr %c, i64 %site, i64 %a, i64 %b) #0 noinline cold {{
  {record}
  {left}
  {first}
  {second}
  {behind}
  {call}
  store i64 0, ptr %left.at{TAG}
  %old = load i64, ptr %record{TAG}
  %none = icmp eq i64 %old, 0
  br i1 %none, label %write, label %end
write:
  store i64 %site, ptr %record{TAG}
  store i64 %a, ptr %first.at{TAG}
  store i64 %b, ptr %second.at{TAG}
  %called = load i64, ptr %call.at{TAG}
  store i64 %called, ptr %behind.at{TAG}
  br label %end
end:
  ret void
}}
define internal void @linkwork_check(ptr %c, i1 %sound, i64 %site, i64 %a, i64 %b) #0 noinline {{
  br i1 %sound, label %end, label %fault
fault:
  call void @linkwork_fault(ptr %c, i64 %site, i64 %a, i64 %b)
  br label %end
end:
  ret void
}}
define internal i1 @linkwork_iterate(ptr %c, i64 %site) #0 {inline} {{
  {record}
  {left}
  {watch}
  %left = load i64, ptr %left.at{TAG}
  %next = sub i64 %left, 1
  %over = icmp slt i64 %next, 0
  br i1 %over, label %end, label %go, !prof !6
go:
  store i64 %next, ptr %left.at{TAG}
  %low = and i64 %next, {BETWEEN_POLLS - 1}
  %due = icmp eq i64 %low, 0
  br i1 %due, label %look, label %yes, !prof !6
look:
  %watch = load ptr, ptr %watch.at
  %alone = icmp eq ptr %watch, null
  br i1 %alone, label %yes, label %ask
ask:
  %poll = load ptr, ptr %watch
  %stop = call i64 %poll(ptr %watch) inaccessiblemem_or_argmemonly
  %on = icmp eq i64 %stop, 0
  br i1 %on, label %yes, label %stopped
stopped:
  store i64 0, ptr %left.at{TAG}
  br label %no
yes:
  ret i1 true
end:
  call void @linkwork_fault(ptr %c, i64 %site, i64 {MOST_ITERATIONS}, i64 0)
  br label %no
no:
  ret i1 false
}}
declare {{ i64, i1 }} @llvm.sadd.with.overflow.i64(i64, i64)
declare {{ i64, i1 }} @llvm.ssub.with.overflow.i64(i64, i64)
declare {{ i64, i1 }} @llvm.smul.with.overflow.i64(i64, i64)
!3 = !{{!4, !4, i64 0}}
!4 = !{{!"guards", !2, i64 0}}
!6 = !{{!"branch_weights", i32 1, i32 10000}}"""


TAG = ", !tbaa !3"
"""Records overlap no array."""


def _word(name: str, base: str, place: int) -> list[str]:
    return [f"{name}.word = getelementptr i64, ptr {base}, i64 {place}", f"{name} = load ptr, ptr {name}.word"]


def _place(name: str, place: int) -> list[str]:
    return [f"%{name}.at = getelementptr i64, ptr %record, i64 {place}"]
