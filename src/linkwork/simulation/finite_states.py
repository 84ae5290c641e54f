# SPDX-License-Identifier: BSD-3-Clause
"""Steps of those states of a batch that are finite: others hold NaN, and do not end the rest."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.compilers.entry.entry_point import CHUNK, DONE, OVERFLOW
from linkwork.compilers.run import Runner
from linkwork.errors import StateWarning
from linkwork.inputs import outer_level
from linkwork.quantities.arguments import Array


def finite_states(q: Array, v: Array) -> Array:
    """Which states are finite.

    Args:
        q: Configurations, ``(n, nq)``.
        v: Joint velocities, ``(n, nv)``.
    """
    return np.asarray(np.isfinite(v).all(axis=-1) & np.isfinite(q).all(axis=-1))


def step_live(runner: Runner, inputs: list[Array], live: Array) -> list[Array]:
    """Outputs of the steps of those states that are finite, one row each.

    Args:
        runner: Of the steps.
        inputs: All inputs of their program, of all robots or with a row for each.
        live: Which robots are finite.
    """
    count = int(live.sum())
    out = [np.empty((count, *shape), runner.dtype) for shape in runner.outputs]
    if not count:
        return out
    each = [x.ndim > len(shape) for x, shape in zip(inputs, runner.inputs, strict=True)]
    states = [_fresh(x, live, runner.dtype) if own else x for x, own in zip(inputs, each, strict=True)]
    single = count == 1
    rows = [x[0] if own and single else x for x, own in zip(states, each, strict=True)]
    results = [y[0] for y in out] if single else out
    status = runner.run_threaded(rows, results, count)
    if status == OVERFLOW and not single:  # an entry point ends with the chunk that holds what is not finite
        for k in range(0, count, CHUNK):
            chunk = slice(k, k + CHUNK)
            parts = [x[chunk] if own else x for x, own in zip(states, each, strict=True)]
            runner.run(parts, [y[chunk] for y in out], len(out[0][chunk]))
    if status not in (DONE, OVERFLOW):
        runner.explain(status, rows, results)
    return out


def _fresh(x: Array, live: Array, dtype: np.dtype[Any]) -> Array:
    """Rows of robots that are finite, in a new array. (Those that were pickled have a type that is merely equal.)"""
    rows = np.empty((int(live.sum()), *x.shape[1:]), dtype)
    rows[...] = x[live]
    return rows


def steps_of_finite(runner: Runner, given: Sequence[Any]) -> tuple[list[Array], Array] | None:
    """Outputs of steps of a batch in which some states are not finite, before the steps or after them: NaN for these.

    None where there is nothing to step: for one state, or where none is finite to begin with.

    Args:
        runner: Of the steps. Their outputs begin with q and v, and end with their progress.
        given: All inputs of their program, which begin with q and v; leading axes broadcast.

    Returns:
        The outputs, and which states stopped being finite in these steps.
    """
    arrays, leads, lead = runner.broadcast(given)
    leads[:2] = lead, lead
    rows = [
        np.broadcast_to(x, (*lead, *shape)).reshape(-1, *shape) if own else x
        for x, own, shape in zip(arrays, leads, runner.inputs, strict=True)
    ]
    live = finite_states(rows[0], rows[1]) if lead else np.zeros(0, dtype=bool)
    if not live.any():
        return None
    out = step_live(runner, rows, live)
    finite = finite_states(out[0], out[1])
    out[-1][~finite, 1] = 1.0  # steps that count them made none
    good = finite & ~np.isnan(out[-1][:, 0])
    results = [np.full((live.size, *y.shape[1:]), np.nan, y.dtype) for y in out]
    results[-1][...] = 1.0
    for result, y in zip(results, out, strict=True):
        result[live] = np.where(good.reshape(-1, *[1] * (y.ndim - 1)), y, np.nan)
    results[-1][live] = out[-1]
    lost = np.zeros(live.size, dtype=bool)
    lost[live] = ~good
    return [x.reshape(*lead, *x.shape[1:]) for x in results], lost.reshape(lead)


def warn_of_lost_states(name: str, lost: Array) -> None:
    """A `StateWarning` where states of a batch stopped being finite.

    Args:
        name: Of the robot.
        lost: Which states did, ``(...)``.
    """
    if lost.any():
        warnings.warn(
            f"{lost.sum()} of {lost.size} states of '{name}' are not finite after these steps and hold NaN, the first "
            f"of them state {tuple(int(k) for k in np.argwhere(lost)[0])}; try a shorter dt",
            StateWarning,
            stacklevel=outer_level(),
        )
