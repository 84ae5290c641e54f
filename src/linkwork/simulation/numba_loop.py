# SPDX-License-Identifier: BSD-3-Clause
"""The loop of `loop` in Numba's Python, imported where a controller is Numba's: importing Numba accepts a while.

It reads the same schedule, as a table of events.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core.errors import NumbaError
from numba.extending import intrinsic

from linkwork.compilers.entry.entry_point import CHUNK
from linkwork.kernels.steps.stage_dynamics import COMMANDED
from linkwork.simulation.numba_control import FINE, NOT_FINITE, WRONG_SHAPE

__all__ = ["NumbaError", "run_events"]


def cached(function: Callable[..., Any]) -> Any:
    """Compiled by Numba, with the code cached on disk where that is possible."""
    try:
        return njit(nogil=True, cache=True)(function)
    except RuntimeError:  # no folder can be written to
        return njit(nogil=True)(function)


@intrinsic  # type: ignore[untyped-decorator]
def call(typing_context: Any, kernel: Any, rows: Any, widths: Any, n: Any, context: Any, watch: Any) -> Any:
    """A kernel by its address, as `compilers.entry.entry_point` calls it."""

    def code(_: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(64)
        form = ir.FunctionType(word, [byte, byte, word, byte, byte])
        at, rows, widths, n, context, watch = arguments
        memory = [builder.inttoptr(x, byte) for x in (rows, widths, context, watch)]
        return builder.call(builder.inttoptr(at, form.as_pointer()), [memory[0], memory[1], n, *memory[2:]])

    return types.int64(*[types.int64] * 6), code


@intrinsic  # type: ignore[untyped-decorator]
def poll(typing_context: Any, function: Any, watch: Any) -> Any:
    """A look at a watch (`compilers.entry.interrupts`) by the address of its function: not 0 to end."""

    def code(_: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(64)
        at, watch = arguments
        form = ir.FunctionType(word, [byte])
        return builder.call(builder.inttoptr(at, form.as_pointer()), [builder.inttoptr(watch, byte)])

    return types.int64(types.int64, types.int64), code


@cached
def read_output(
    given: Any, accepts: Any, v: Any, tau: Any, constant_tau: Any, commands: Any, timing: Any, batched: bool
) -> tuple[int, int, int]:
    """Read torques or commands that a controller returned; what is wrong with them, and where."""
    n, nv = v.shape
    torques = accepts[0] and given.shape[1] == nv
    if given.shape[0] != n or not (torques or (accepts[1] and given.shape[1] == commands.shape[1])):
        return WRONG_SHAPE, given.shape[0], given.shape[1]
    for i in range(n):
        dead = batched and not np.isfinite(v[i]).all()
        for j in range(given.shape[1]):
            if not dead and not np.isfinite(given[i, j]):
                return NOT_FINITE, i, j
    timing[COMMANDED] = 0.0 if torques else 1.0
    if torques:
        tau[:] = given
    else:
        tau[:] = constant_tau
        commands[:] = given
    return FINE, 0, 0


@cached
def advance(kernel: int, context: int, places: Any, widths: Any, n: int, watch: Any) -> int:
    """All states over the steps that the settings say, a chunk at a time; ``places`` are those of the first state. Not
    0 where it was told to end."""
    rows = np.empty_like(places)
    for start in range(0, n, CHUNK):
        for k in range(len(places)):
            rows[k] = places[k] + 8 * start * widths[k]
        at = watch.ctypes.data
        if call(kernel, rows.ctypes.data, widths.ctypes.data, min(CHUNK, n - start), context, at) != 0:
            return 1
    return 0 if poll(watch[0], watch.ctypes.data) == 0 else 1


@cached
def read_state(q: Any, v: Any, forces: Any, q1: Any, v1: Any, found: Any, progress: Any, ahead: int) -> int:
    """The states after so many steps, NaN where something was not finite; how many steps all of them took."""
    least = ahead
    for i in range(len(q)):
        if progress[i, 1] == ahead + 1.0:
            q[i], v[i] = q1[i], v1[i]
            if found.shape[1] > 0:  # else nothing binds the robot
                forces[i] = found[i, 2 : 2 + forces.shape[1]]
        else:
            q[i], v[i], forces[i] = np.nan, np.nan, np.nan
            least = min(least, int(progress[i, 1]) - 1)
    return least


@cached
def record(k: int, q: Any, v: Any, tau: Any, forces: Any, commands: Any, timing: Any, records: Any) -> None:
    """The state and what acts on it, as the k-th row of the records."""
    all_q, all_v, all_tau, all_forces, all_commands = records
    all_q[k], all_v[k], all_tau[k], all_forces[k] = q, v, tau, forces
    all_commands[k] = commands if timing[COMMANDED] > 0.5 else np.full_like(commands, np.nan)


@njit(nogil=True)  # type: ignore[untyped-decorator]
def run_events(
    controller: Any,
    kernel: int,
    context: int,
    events: Any,
    places: Any,
    widths: Any,
    arrays: Any,
    accepts: Any,
    batched: bool,
    watch: Any,
) -> tuple[int, int, int, int, int]:
    """All events of a schedule: what came of the controller, the step of the clock at the end, two numbers that say
    more, and how many records were made.

    ``arrays``: the state, that after steps, records of both, and constants. ``places`` and ``widths`` are those of the
    kernel's arrays, inputs then outputs (`kernels.steps.integrators`). ``accepts`` says whether the controller may
    return torques, and commands. ``watch``: the words of one (`compilers.entry.interrupts`), which may end it.
    """
    q, v, tau, forces, q1, v1, found, progress = arrays[:8]
    commands, constant_tau, timing, settings, dt = arrays[13:]
    records = 0
    for k in range(len(events)):
        now = events[k, 0]
        if events[k, 1] != 0:
            given = controller(now * dt, q.copy(), v.copy())
            status, i, j = read_output(given, accepts, v, tau, constant_tau, commands, timing, batched)
            if status != FINE:
                return status, now, i, j, records
        if events[k, 2] != 0:
            record(records, q, v, tau, forces, commands, timing, arrays[8:13])
            records += 1
        if k == len(events) - 1:
            break
        ahead = events[k + 1, 0] - now
        settings[1] = ahead + 1.0
        if advance(kernel, context, places, widths, len(q), watch) != 0:
            break
        least = read_state(q, v, forces, q1, v1, found, progress, ahead)
        if least < ahead and not batched:
            return FINE, now + least, 0, 0, records
    return FINE, events[-1, 0], 0, 0, records
