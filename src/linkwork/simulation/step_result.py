# SPDX-License-Identifier: BSD-3-Clause
"""Results of steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.contact.points import result_by_slots
from linkwork.errors import InputError
from linkwork.quantities.arguments import Array
from linkwork.simulation.contacts import ContactHistory
from linkwork.simulation.program import StepProgram


class StepResult:
    """The state after some steps. Leading axes are those of the batch."""

    __slots__ = ("_error", "_planned", "progress", "q", "result", "v")

    q: Array
    """Configurations, ``(..., nq)``."""
    v: Array
    """Velocities, ``(..., nv)``."""
    result: Array
    """Result of the last step as the program returns it, which has the following by name."""
    progress: Array
    """Status of each state: see `kernels.steps.integrators`."""

    def __init__(
        self, q: Array, v: Array, result: Array, progress: Array, error: Array | None, planned: StepProgram
    ) -> None:
        self.q, self.v, self.result, self.progress = q, v, result, progress
        self._error, self._planned = error, planned

    @property
    def multipliers(self) -> Array:
        """Forces of the constraints in the last step, ``(..., nc)``."""
        return self._planned.forces_of(self.result)

    @property
    def contact_state(self) -> Array | None:
        """The contact state that the next step starts from; None without contacts."""
        return self._planned.contacts_of(self.result)

    @property
    def result_by_slots(self) -> Array:
        """The result with all slots of all pairs, as derivatives have it."""
        planned = self._planned
        if planned.contact is None or not planned.contact.reduced:
            return self.result
        return result_by_slots(planned.source, planned.tree, self.result, planned.na, totals=True)

    @property
    def act(self) -> Array | None:
        """Activations of actuators after the steps, ``(..., na)``; None where none has any."""
        return self._planned.activations_of(self.result)

    @property
    def contacts(self) -> ContactHistory:
        """Forces, gaps and velocities of contacts in the last step by the names of pairs, and energy lost."""
        row = self.contact_state
        if row is None:
            raise InputError(f"these steps of '{self._planned.source.name}' are without contacts")
        return ContactHistory(self._planned.source, row, self._planned.settings.dt)

    @property
    def steps(self) -> Array:
        """The number of steps after which the state was finite."""
        done: Array = self.progress[..., 1] - 1.0
        return done

    @property
    def error(self) -> Array:
        """Estimates of the last step's error in q and v, ``(..., 2, nv)``; zero for integrators that have none."""
        if self._error is not None:
            return self._error
        return np.zeros((*self.v.shape[:-1], 2, self.v.shape[-1]), dtype=self.v.dtype)

    def __iter__(self) -> Iterator[Array]:
        return iter((self.q, self.v, self.multipliers, self.steps, self.error))

    def __getitem__(self, index: Any) -> Any:
        return tuple(self)[index]

    def __repr__(self) -> str:
        return f"StepResult(q={self.q!r}, v={self.v!r})"


def repeat_calls(
    stepper: Callable[..., StepResult],
    steps: int,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    act: npt.ArrayLike | None,
    contact_state: Array | None,
    inputs: Mapping[str, Any],
    time: float,
    dt: float,
) -> StepResult:
    """The result of steps by one call each: where contact points are found between them.

    Args:
        stepper: Makes them.
        steps: Number of steps.
        q: Configuration, ``(..., nq)``.
        v: Joint velocities, ``(..., nv)``.
        act: Activations of actuators.
        contact_state: Of the step before.
        inputs: All else, which is the same for all steps, by name.
        time: Seconds before the first of them.
        dt: Seconds from one to the next.
    """
    result = stepper(q, v, act=act, contact_state=contact_state, time=time, **inputs)
    for k in range(1, steps):
        state = {"act": result.act, "contact_state": result.contact_state, "time": time + k * dt}
        result = stepper(result.q, result.v, **state, **inputs)
    result.progress[..., 1] += steps - 1
    return result
