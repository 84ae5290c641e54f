# SPDX-License-Identifier: BSD-3-Clause
"""Interrupts of machine code: loops that may take long ask Python from time to time whether to go on.

A *watch* is four words that a loop is given the address of: the function to call (`poll`), a Python function that it
calls in turn, milliseconds when it last did so, and whether the answer was to stop. `poll` looks at the clock, and
every `PERIOD` milliseconds takes the GIL, if its thread has not, and calls the Python function: thereby the main thread
handles signals, such as the one that the user's Ctrl-C sends. An exception of that function, `KeyboardInterrupt` above
all, ends the loop.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from linkwork.errors import LinkworkError

PERIOD = 50
"""Milliseconds between two calls of Python."""

WORDS = 4


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
        self.words = np.array([poll, id(self._function), 0, 0], dtype=np.int64)

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
        """Raise what ended a loop, if anything did."""
        if self._error is not None:
            raise self._error


def functions() -> str:
    """The LLVM IR of `poll`."""
    return f"""
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare ptr @PyObject_CallNoArgs(ptr)
declare i32 @PyObject_IsTrue(ptr)
declare void @Py_DecRef(ptr)
{_milliseconds()}
define i64 @linkwork_poll(ptr %watch) noinline {{
  %stopped.at = getelementptr i64, ptr %watch, i64 3
  %stopped = load i64, ptr %stopped.at
  %gone = icmp ne i64 %stopped, 0
  br i1 %gone, label %stop, label %look
look:
  %now = call i64 @milliseconds()
  %last.at = getelementptr i64, ptr %watch, i64 2
  %last = load i64, ptr %last.at
  %new = icmp eq i64 %last, 0
  br i1 %new, label %start, label %since
start:
  store i64 %now, ptr %last.at
  ret i64 0
since:
  %passed = sub i64 %now, %last
  %due = icmp sge i64 %passed, {PERIOD}
  br i1 %due, label %ask, label %on
on:
  ret i64 0
ask:
  store i64 %now, ptr %last.at
  %gil = call i32 @PyGILState_Ensure()
  %function.at = getelementptr ptr, ptr %watch, i64 1
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
    return f"""declare i32 @clock_gettime(i32, ptr)
define internal i64 @milliseconds() {{
  %at = alloca [2 x i64]
  %status = call i32 @clock_gettime(i32 {time.CLOCK_MONOTONIC}, ptr %at)
  %s = load i64, ptr %at
  %ns.at = getelementptr i64, ptr %at, i64 1
  %ns = load i64, ptr %ns.at
  %ms = udiv i64 %ns, 1000000
  %s1 = mul i64 %s, 1000
  %t = add i64 %s1, %ms
  %t1 = add i64 %t, 1
  ret i64 %t1
}}"""
