# SPDX-License-Identifier: BSD-3-Clause
"""Steps bound to arrays: calls without arguments that allocate nothing, for control loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from linkwork.errors import InputError
from linkwork.inputs import count
from linkwork.quantities.arguments import Array, bound_call
from linkwork.simulation.activations import activated

if TYPE_CHECKING:
    from linkwork.simulation.stepper import Stepper


def bound_steps(
    stepper: Stepper,
    q: Array,
    v: Array,
    tau: Array | None,
    commands: Array | None,
    act: Array | None,
    wrenches: Array | None,
    steps: int,
    out: tuple[Array, Array] | None,
    parameters: Mapping[str, Array],
) -> Callable[[], None]:
    """What `Stepper.bind` returns."""
    for name, x in (("q", q), ("v", v)):
        if not isinstance(x, np.ndarray):
            raise InputError(f"bind: {name} is {type(x).__name__}, needs a NumPy array")
    lead = q.shape[: max(q.ndim - 1, 0)]
    chosen = stepper._given_parameters(parameters, once=True)
    held = stepper.held(commands, wrenches, act=act)
    inputs = [q, v, stepper._no_torques if tau is None else tau, *held, *chosen]
    if stepper.given is not None:
        raise InputError(f"bind: contact points of '{stepper.source.name}' are found between steps; call the stepper")
    if stepper.contact:
        inputs[6] = np.array(np.broadcast_to(stepper._R, (*lead, stepper._R.size)), order="C")
    if stepper.integrator != "dopri5":
        inputs.append(stepper.repeats(count(steps, "steps")))
    elif steps != 1:
        raise InputError("dopri5 takes one step at a time: how long the next one is depends on its error")
    if out is not None and (not isinstance(out, tuple | list) or len(out) != 2):
        raise InputError("bind: out is a pair of arrays, (q, v) after the steps; without it q and v are moved on")
    made = [np.empty((*lead, *shape), stepper._dtype) for shape in stepper.program.output_shapes()]
    outputs = made if out is None else [*out, *made[2:]]
    if out is None:
        for x in (q, v):
            if not x.flags.writeable:
                raise InputError("bind: q and v are moved on, and one of them is read-only; give out=(q, v)")
    call = bound_call(stepper.runner, [*inputs, *outputs], (q, v) if out is None else None)
    if stepper.na:
        call = activated(call, inputs[3], outputs[2], commands, act, stepper.na)
    if stepper.contact:
        return _warm_started(stepper, call, inputs[6], outputs[2])
    if not stepper.minimal:
        return call

    def checked() -> None:
        call()
        stepper.check_loops(outputs[-1])

    return checked


def _warm_started(stepper: Stepper, call: Callable[[], None], R: Array, found: Array) -> Callable[[], None]:
    """Calls that start from the forces of the one before."""
    row = stepper.contact_row
    assert row is not None

    def started() -> None:
        call()
        forces = row.start(row.of_result(found, stepper.source.nv), float(stepper._R[0]))
        R[..., R.shape[-1] - forces.shape[-1] :] = forces  # nothing is given after them

    return started
