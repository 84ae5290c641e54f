# SPDX-License-Identifier: BSD-3-Clause
"""Steps bound to arrays: calls without arguments without allocation, for control loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.errors import InputError
from linkwork.quantities.arguments import Array, bound_call
from linkwork.simulation.contact_inputs import start_width, write_start

if TYPE_CHECKING:
    from linkwork.simulation.stepper import Stepper

COMMANDS, SOLVER = 3, 6
"""Inputs of steps: commands, with activations after them; settings of the solver, with forces to start from."""


def bound_steps(
    stepper: Stepper, inputs: list[Any], commands: Array | None, act: Array | None, out: tuple[Array, Array] | None
) -> Callable[[], None]:
    """The call that `Stepper.bind` returns.

    Args:
        stepper: Makes the steps.
        inputs: All inputs of its program.
        commands: Commands, as they were given.
        act: Activations, likewise.
        out: Arrays for the state after the steps; None: ``q`` and ``v`` are moved on.
    """
    q, v = inputs[:2]
    for name, x in (("q", q), ("v", v)):
        if not isinstance(x, np.ndarray):
            raise InputError(f"bind: {name} is {type(x).__name__}, needs a NumPy array")
    if stepper.given is not None:
        raise InputError(f"bind: contact points of '{stepper.source.name}' are found between steps; call the stepper")
    lead = q.shape[: max(q.ndim - 1, 0)]
    if stepper.contact:
        inputs[SOLVER] = np.array(np.broadcast_to(inputs[SOLVER], (*lead, inputs[SOLVER].size)), order="C")
    if out is not None and (not isinstance(out, tuple | list) or len(out) != 2):
        raise InputError("bind: out is a pair of arrays, (q, v) after the steps; without it q and v are moved on")
    outputs = [np.empty((*lead, *shape), stepper.dtype) for shape in stepper.program.output_shapes()]
    if out is not None:
        outputs[:2] = out
    elif not (q.flags.writeable and v.flags.writeable):
        raise InputError("bind: q and v are moved on, and one of them is read-only; give out=(q, v)")
    call = bound_call(stepper.runner, [*inputs, *outputs], (q, v) if out is None else None)
    if stepper.na:
        call = _activated(call, inputs[COMMANDS], outputs[2], commands, act, stepper.na)
    if stepper.contact:
        return _warm_started(stepper, call, inputs[SOLVER], outputs[2])
    if not stepper.minimal:
        return call

    def checked() -> None:
        call()
        stepper.planned.check_loops(outputs[-1])

    return checked


def _activated(
    call: Callable[[], None], u: Array, result: Array, commands: Array | None, act: Any, na: int
) -> Callable[[], None]:
    """Calls that read commands and activations as they are then, and move activations on."""
    if not isinstance(act, np.ndarray) or act.shape != (*u.shape[:-1], na) or not act.flags.writeable:
        raise InputError(f"bind: actuators have activations; give act, a writable array {(*u.shape[:-1], na)}")

    def advance() -> None:
        if commands is not None:
            u[..., :-na] = commands
        u[..., -na:] = act
        call()
        act[...] = result[..., -na:]

    return advance


def _warm_started(stepper: Stepper, call: Callable[[], None], solver: Array, result: Array) -> Callable[[], None]:
    """Calls that start from the forces of the one before."""
    row, tolerance = stepper.contact_row, float(solver.flat[0])
    assert row is not None
    start = solver[..., solver.shape[-1] - start_width(row) :]  # nothing is given after it

    def started() -> None:
        call()
        write_start(row, row.of_result(result, stepper.source.nv), tolerance, start)

    return started
