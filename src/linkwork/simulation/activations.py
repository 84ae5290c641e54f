# SPDX-License-Identifier: BSD-3-Clause
"""Activations of actuators in simulations: where they start, and with which commands steps take them.

Activations are part of the state: steps read them after the commands, and leave them at the end of their result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.errors import InputError, UnsupportedFeature
from linkwork.inputs import fresh_floats, real_array
from linkwork.model.model import Model
from linkwork.quantities.arguments import Array


def initial_activations(robot: Model, act: npt.ArrayLike | None, robots: int | None = None) -> Array | None:
    """Activations at the start, ``(na,)`` or ``(robots, na)``, by default zero; None for a robot without any."""
    if not robot.na:
        if act is not None and real_array(act, "act").size:
            raise InputError(f"act is given, but no actuator of '{robot.name}' has an activation")
        return None
    lead = () if robots is None else (robots,)
    activations = np.zeros(robot.na) if act is None else fresh_floats(act, "act")
    if activations.shape not in ((robot.na,), (*lead, robot.na)):
        more = "" if robots is None else f" or ({robots}, {robot.na})"
        raise InputError(f"act has shape {activations.shape}, robot '{robot.name}' needs ({robot.na},){more}")
    if not np.isfinite(activations).all():
        raise InputError("act holds numbers that are not finite")
    return np.array(np.broadcast_to(activations, (*lead, robot.na)))


def with_activations(robot: Model, commands: Any, act: Any, dtype: Any) -> Any:
    """Commands and, after them, activations: an input of steps. Activations that are not given are zero."""
    u = np.asarray(commands, dtype=dtype)
    w = np.zeros(robot.na, dtype) if act is None else np.asarray(act, dtype=dtype)
    for x, width, name in ((u, len(robot.actuators), "commands"), (w, robot.na, "act")):
        if x.shape[-1:] != (width,):
            raise InputError(f"{name} has shape {x.shape}, robot '{robot.name}' needs (..., {width})")
    try:
        lead = np.broadcast_shapes(u.shape[:-1], w.shape[:-1])
    except ValueError:
        raise InputError(f"leading axes do not broadcast: commands {u.shape[:-1]}, act {w.shape[:-1]}") from None
    parts = [np.broadcast_to(x, (*lead, x.shape[-1])) for x in (u, w)]
    return np.ascontiguousarray(np.concatenate(parts, axis=-1))


def activated(
    call: Callable[[], None], u: Array, result: Array, commands: Array | None, act: Any, na: int
) -> Callable[[], None]:
    """Bound steps that read commands and activations as they are at each call, and move activations on.

    ``u`` is the steps' input and ``found`` their result.
    """
    if not isinstance(act, np.ndarray) or act.shape != (*u.shape[:-1], na) or not act.flags.writeable:
        raise InputError(f"bind: actuators have activations; give act, a writable array {(*u.shape[:-1], na)}")

    def advance() -> None:
        if commands is not None:
            u[..., :-na] = commands
        u[..., -na:] = act
        call()
        act[...] = result[..., -na:]

    return advance


def refuse_activations(robot: Model, what: str) -> None:
    """Raise for a robot whose actuators have activations, where these are not supported."""
    if robot.na:
        first = next(a for a in robot.actuators if a.states)
        raise UnsupportedFeature(
            f"{what}: actuator '{first.name}' of '{robot.name}' has an activation (dynamics '{first.dynamics}', or "
            "the delay or integral of its motor), which is not supported there; leave these out, or give torques to a "
            "robot without actuators",
            subject=first.name,
        )
