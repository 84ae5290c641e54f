"""The loop of `compiled` in Numba's Python, imported where a controller is Numba's: importing Numba takes a while."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core.errors import NumbaError
from numba.extending import intrinsic

from linkwork.compile.entry import CHUNK
from linkwork.simulation.compiled import FINE, NOT_FINITE, WRONG_SHAPE

__all__ = ["NumbaError", "drive"]


def kept(function: Callable[..., Any]) -> Any:
    """Compiled by Numba, and kept on disk where that is possible."""
    try:
        return njit(nogil=True, cache=True)(function)
    except RuntimeError:  # no folder can be written to
        return njit(nogil=True)(function)


@intrinsic  # type: ignore[untyped-decorator]
def call(typing_context: Any, kernel: Any, rows: Any, widths: Any, n: Any, context: Any) -> Any:
    """A kernel by its address, as `compile.door` calls it."""

    def code(_: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(64)
        form = ir.FunctionType(ir.VoidType(), [byte, byte, word, byte])
        at, rows, widths, n, context = arguments
        memory = [builder.inttoptr(x, byte) for x in (rows, widths, context)]
        builder.call(builder.inttoptr(at, form.as_pointer()), [memory[0], memory[1], n, memory[2]])
        return ir.Constant(ir.IntType(32), 0)

    return types.int32(*[types.int64] * 5), code


@kept
def torques(u: Any, gears: Any, limits: Any, v: Any, tau: Any, batched: bool) -> tuple[int, int, int]:
    """``tau`` from what a controller gave, torques or commands; else what is wrong, and where."""
    n, nv = v.shape
    if u.shape[0] != n or (u.shape[1] != nv and u.shape[1] != gears.shape[1]):
        return WRONG_SHAPE, u.shape[0], u.shape[1]
    for i in range(n):
        dead = batched and not np.isfinite(v[i]).all()
        for j in range(u.shape[1]):
            if not dead and not np.isfinite(u[i, j]):
                return NOT_FINITE, i, j
    for i in range(n):
        for j in range(nv):
            if u.shape[1] == nv:
                tau[i, j] = u[i, j]
            else:
                tau[i, j] = 0.0
                for a in range(u.shape[1]):
                    tau[i, j] += gears[j, a] * min(max(u[i, a], limits[0, a]), limits[1, a])
    return FINE, 0, 0


@kept
def advance(kernel: int, context: int, places: Any, widths: Any, n: int) -> None:
    """All states over the steps that the settings say, a chunk at a time; ``places`` are those of the first state."""
    rows = np.empty_like(places)
    for start in range(0, n, CHUNK):
        for k in range(len(places)):
            rows[k] = places[k] + 8 * start * widths[k]
        call(kernel, rows.ctypes.data, widths.ctypes.data, min(CHUNK, n - start), context)


@kept
def take(q: Any, v: Any, forces: Any, q1: Any, v1: Any, found: Any, progress: Any, ahead: int) -> int:
    """The states after so many steps, NaN where something was not finite; how many steps all of them took."""
    least = ahead
    for i in range(len(q)):
        if progress[i, 1] == ahead + 1.0:
            q[i], v[i] = q1[i], v1[i]
            forces[i] = found[i, 2 : 2 + forces.shape[1]]
        else:
            q[i], v[i], forces[i] = np.nan, np.nan, np.nan
            least = min(least, int(progress[i, 1]) - 1)
    return least


@kept
def keep(k: int, q: Any, v: Any, tau: Any, forces: Any, all_q: Any, all_v: Any, all_tau: Any, all_forces: Any) -> None:
    """A state among those that are kept."""
    all_q[k], all_v[k], all_tau[k], all_forces[k] = q, v, tau, forces


@njit(nogil=True)  # type: ignore[untyped-decorator]
def drive(
    controller: Any, kernel: int, context: int, plan: Any, places: Any, widths: Any, arrays: Any, batched: bool
) -> tuple[int, int, int, int]:
    """A whole run: what came of the controller, where the clock stood at the end, and two numbers that say more.

    ``arrays``: the state, that after steps, what is kept of both, and constants. ``places`` and ``widths`` are those of
    the kernel's arrays, inputs then outputs (`algorithms.motion`).
    """
    first, total, control, record = plan
    q, v, tau, forces, q1, v1, found, progress, all_q, all_v, all_tau, all_forces = arrays[:12]
    gears, limits, settings, dt = arrays[12:]
    done, k = 0, 0
    while True:
        now = first + done
        if now % control == 0 and done < total:
            status, i, j = torques(controller(now * dt, q.copy(), v.copy()), gears, limits, v, tau, batched)
            if status != FINE:
                return status, now, i, j
        if done == 0 or now % record == 0 or done == total:
            keep(k, q, v, tau, forces, all_q, all_v, all_tau, all_forces)
            k += 1
        if done == total:
            return FINE, now, k, 0
        ahead = min(min(control - now % control, record - now % record), total - done)
        settings[1] = ahead + 1.0
        advance(kernel, context, places, widths, len(q))
        least = take(q, v, forces, q1, v1, found, progress, ahead)
        if least < ahead and not batched:
            return FINE, now + least, k, 0
        done += ahead
