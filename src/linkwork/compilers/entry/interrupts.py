# SPDX-License-Identifier: BSD-3-Clause
"""Interrupts of machine code: loops that may take long ask Python from time to time whether to go on.

A *watch* is a few words that a loop is given the address of. `poll`, the function that it calls, looks at the clock,
and every `PERIOD` milliseconds takes the GIL, if its thread has not, and calls a Python function: thereby the main
thread handles signals, such as the one that the user's Ctrl-C sends. An exception of that function, `KeyboardInterrupt`
above all, ends the loop. Where calls of `poll` follow each other quickly, most of them do not even look at the clock.

| word of a watch | meaning                                                             |
|-----------------|---------------------------------------------------------------------|
| `POLL`          | the address of `poll`                                               |
| `FUNCTION`      | the Python function                                                 |
| `ASKED`         | milliseconds when it was last called, or the watch was started      |
| `STOPPED`       | 1 after it raised an exception, or returned what is false           |
| `SKIP`          | calls of `poll` until it looks at the clock                         |
| `PAUSE`         | the same after it last did so                                       |
| `LOOKED`        | milliseconds when it last did so                                    |
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from linkwork.errors import LinkworkError

PERIOD = 50
"""Milliseconds between two calls of Python."""

POLL, FUNCTION, ASKED, STOPPED, SKIP, PAUSE, LOOKED, WORDS = range(8)

LONGEST_PAUSE = 31
"""Calls of `poll` between two looks at the clock, at most, of a loop in which these are less than `QUICK` apart."""
QUICK = 5
"""Milliseconds."""


COARSE = 6
"""CLOCK_MONOTONIC_COARSE of Linux, which is right to a few milliseconds and read in a quarter of the time."""


class Job:
    """Work that several threads share: where one of them fails, the others give up."""

    given_up = False


class GivenUp(LinkworkError):
    """Another thread has ended the work that this one shares."""


_THREAD = threading.local()


@contextmanager
def shared(job: Job) -> Iterator[None]:
    """Machine code that this thread runs ends where the job is given up."""
    before = getattr(_THREAD, "job", None)
    _THREAD.job = job
    try:
        yield
    finally:
        _THREAD.job = before


def go_on() -> bool:
    """True, or an exception: that of a signal's handler, which the interpreter calls here, or of a job given up."""
    job = getattr(_THREAD, "job", None)
    if job is not None and job.given_up:
        raise GivenUp("another thread ended the work that this one shares")
    return True


class Watch:
    """A watch for loops that cannot raise an exception themselves: `check` does, after they have ended.

    Args:
        poll: Address of the function that loops call (`entry.poll_address`).
    """

    def __init__(self, poll: int) -> None:
        self._error: BaseException | None = None
        self._function = self._asked
        self.words = np.zeros(WORDS, dtype=np.int64)
        self.words[[POLL, FUNCTION]] = poll, id(self._function)

    def _asked(self) -> bool:
        try:
            return go_on()
        except BaseException as error:
            self._error = error
            return False

    @property
    def address(self) -> int:
        """Where its words are."""
        return int(self.words.ctypes.data)

    def check(self) -> None:
        """Raise the exception that ended a loop, if there is one."""
        if self._error is not None:
            raise self._error


def functions() -> str:
    """The LLVM IR of `poll`."""
    named = {"function": FUNCTION, "asked": ASKED, "stopped": STOPPED, "skip": SKIP, "pause": PAUSE, "looked": LOOKED}
    places = "\n".join(f"  %{name}.at = getelementptr i64, ptr %watch, i64 {k}" for name, k in named.items())
    return f"""
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare ptr @PyObject_CallNoArgs(ptr)
declare i32 @PyObject_IsTrue(ptr)
declare void @Py_DecRef(ptr)
{_milliseconds()}
define i64 @linkwork_poll(ptr %watch) noinline {{
{places}
  %stopped = load i64, ptr %stopped.at
  %gone = icmp ne i64 %stopped, 0
  br i1 %gone, label %stop, label %count
count:
  %skip = load i64, ptr %skip.at
  %skipped = sub i64 %skip, 1
  store i64 %skipped, ptr %skip.at
  %early = icmp sgt i64 %skip, 0
  br i1 %early, label %on, label %look
look:
  %now = call i64 @milliseconds()
  %asked = load i64, ptr %asked.at
  %looked = load i64, ptr %looked.at
  store i64 %now, ptr %looked.at
  %new = icmp eq i64 %asked, 0
  br i1 %new, label %start, label %since
start:
  store i64 %now, ptr %asked.at
  br label %on
since:
  %apart = sub i64 %now, %looked
  %quick = icmp slt i64 %apart, {QUICK}
  %pause = load i64, ptr %pause.at
  %twice = shl i64 %pause, 1
  %more = or i64 %twice, 1
  %capped = and i64 %more, {LONGEST_PAUSE}
  %following = select i1 %quick, i64 %capped, i64 0
  store i64 %following, ptr %pause.at
  store i64 %following, ptr %skip.at
  %passed = sub i64 %now, %asked
  %due = icmp sge i64 %passed, {PERIOD}
  br i1 %due, label %ask, label %on
on:
  ret i64 0
ask:
  store i64 %now, ptr %asked.at
  %gil = call i32 @PyGILState_Ensure()
  %function = load ptr, ptr %function.at
  %answer = call ptr @PyObject_CallNoArgs(ptr %function)
  %raised = icmp eq ptr %answer, null
  br i1 %raised, label %no, label %answered
answered:
  %true = call i32 @PyObject_IsTrue(ptr %answer)
  call void @Py_DecRef(ptr %answer)
  %yes = icmp eq i32 %true, 1
  br i1 %yes, label %go, label %no
go:
  call void @PyGILState_Release(i32 %gil)
  ret i64 0
no:
  store i64 1, ptr %stopped.at
  call void @PyGILState_Release(i32 %gil)
  br label %stop
stop:
  ret i64 1
}}
"""


def _milliseconds() -> str:
    """A clock that starts at any time, but not at zero."""
    if os.name == "nt":
        return """declare i64 @GetTickCount64()
define internal i64 @milliseconds() {
  %t = call i64 @GetTickCount64()
  %t1 = add i64 %t, 1
  ret i64 %t1
}"""
    clock = COARSE if sys.platform == "linux" else time.CLOCK_MONOTONIC
    return f"""declare i32 @clock_gettime(i32, ptr)
define internal i64 @milliseconds() {{
  %at = alloca [2 x i64]
  %status = call i32 @clock_gettime(i32 {clock}, ptr %at)
  %s = load i64, ptr %at
  %ns.at = getelementptr i64, ptr %at, i64 1
  %ns = load i64, ptr %ns.at
  %ms = udiv i64 %ns, 1000000
  %s1 = mul i64 %s, 1000
  %t = add i64 %s1, %ms
  %t1 = add i64 %t, 1
  ret i64 %t1
}}"""
