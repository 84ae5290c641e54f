# SPDX-License-Identifier: BSD-3-Clause
"""`jvp`, `vjp` and `derivatives` of steps with contacts, of `ContactStep` and `Stepper` alike, as calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from linkwork.contact.derivatives import ContactDerivatives, Point, checked_state
from linkwork.dynamics.jacobians.steps import StepDerivatives
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.inputs import DeviceName, suggest
from linkwork.quantities.arguments import Array


class ContactProduct:
    """The base of derivatives of a step with contacts.

    Args:
        derivatives: Of the step.
    """

    __call__: Callable[..., Any]
    """Evaluate; every class says with which inputs."""

    def __init__(self, derivatives: ContactDerivatives) -> None:
        self._derivatives = derivatives

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs to differentiate by."""
        return self._derivatives.inputs

    def to(self, device: DeviceName, **options: Any) -> Self:
        """These products are found on the CPU; anything else is an error that says where they are on a GPU.

        Args:
            device: ``"cpu"``.
            options: As for evaluators.
        """
        if device == "cpu":
            return self
        raise UnsupportedFeature(
            "derivatives of steps with contacts are several programs and a linear system between them: on a GPU use "
            "lw.jax.function"
        )

    def _named(self, given: Mapping[str, Any], directed: bool) -> tuple[dict[str, Any], dict[str, Any]]:
        """Inputs by name that were given, and directions of such."""
        known = self.inputs[3:]
        allowed = (*known, *(f"d{name}" for name in known if directed))
        for name, x in given.items():
            if x is not None and name not in allowed:
                near = suggest(name, allowed) or (f"; there are {', '.join(allowed)}" if allowed else "")
                raise InputError(f"a step with contacts has no input '{name}'{near}")
        arrays = {name: np.asarray(x, float) for name, x in given.items() if x is not None}
        return (
            {name: x for name, x in arrays.items() if name in known},
            {name[1:]: x for name, x in arrays.items() if name not in known},
        )

    def _at(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike | None,
        optional: dict[str, Any],
        solution: Any,
        smoothing: float | None,
    ) -> tuple[list[Any], Point, tuple[Array, Array]]:
        """The state, where derivatives are taken, and the state after the step."""
        step = self._derivatives.step
        state = checked_state(q, v, tau, step.robot.nv)
        q1, v1, result = step.solved(step.solve(state, optional) if solution is None else solution)
        return state, self._derivatives.at(state, optional, result, smoothing), (q1, v1)

    def bind(self, *arrays: Array, out: Sequence[Array], **given: Any) -> Callable[[], None]:
        """A call without arguments that reads these arrays as they then are and writes ``out``.

        Args:
            arrays: As for a call.
            out: Arrays that every call writes.
            given: By name, as for a call.
        """

        def run() -> None:
            self(*arrays, out=out, **given)

        return run


class ContactStepJvp(ContactProduct):
    """Rates of the state after a step along a direction: ``step.jvp(q, v, tau, dq, dv, dtau)``."""

    def __call__(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike | None,
        dq: npt.ArrayLike,
        dv: npt.ArrayLike,
        dtau: npt.ArrayLike,
        *,
        solution: Any = None,
        smoothing: float | None = None,
        out: Sequence[Array] | None = None,
        **given: npt.ArrayLike | None,
    ) -> tuple[Array, Array]:
        """``(dq1, dv1)``, in the tangent space at the configuration after the step. Leading axes broadcast.

        Args:
            q: Configuration, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
            tau: Joint torques, ``(..., nv)``; None: none.
            dq: Direction of ``q`` in its tangent space, ``(..., nv)``.
            dv: Direction of ``v``.
            dtau: Direction of ``tau``.
            solution: Result of the step for these inputs; by default it is computed again.
            smoothing: In m/s: derivatives of a problem in which contacts are smoothed by about this velocity. By
                default they are those of the step itself.
            out: Arrays to write ``dq1`` and ``dv1`` to; by default new ones.
            given: By name: ``commands``, ``wrenches`` and parameters of the robot that are inputs, as for the step,
                and their directions, ``dcommands``, ``dwrenches``, ``dmass`` and so on.
        """
        optional, along = self._named(given, directed=True)
        _, at, _ = self._at(q, v, tau, optional, solution, smoothing)
        along |= {"q": np.asarray(dq, float), "v": np.asarray(dv, float), "tau": np.asarray(dtau, float)}
        dq1, dv1 = _written(self._derivatives.forward(along, at), out, ("dq1", "dv1"))
        return dq1, dv1


class ContactStepVjp(ContactProduct):
    """Gradients of a function of the state after a step: ``step.vjp(q, v, tau, y_q1, y_v1)``."""

    def __call__(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike | None,
        y_q1: npt.ArrayLike,
        y_v1: npt.ArrayLike,
        *,
        solution: Any = None,
        smoothing: float | None = None,
        out: Sequence[Array] | None = None,
        **given: npt.ArrayLike | None,
    ) -> tuple[Array, ...]:
        """One array for each of `inputs`, ``(dq, dv, dtau, ...)``. Leading axes broadcast.

        Args:
            q: Configuration, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
            tau: Joint torques, ``(..., nv)``; None: none.
            y_q1: Derivative of a function by the configuration after the step, in its tangent space, ``(..., nv)``.
            y_v1: Derivative by the velocities after the step, ``(..., nv)``.
            solution: Result of the step for these inputs; by default it is computed again.
            smoothing: As for ``jvp``.
            out: Arrays to write results to, one for each of `inputs`; by default new ones.
            given: By name: ``commands``, ``wrenches`` and parameters of the robot that are inputs, as for the step.
        """
        optional, _ = self._named(given, directed=False)
        _, at, _ = self._at(q, v, tau, optional, solution, smoothing)
        seeds = [np.asarray(y_q1, float), np.asarray(y_v1, float)]
        return _written(self._derivatives.reverse(seeds, at), out, self.inputs)


class ContactStepJacobian(ContactProduct):
    """All derivatives of a step: ``step.derivatives(q, v, tau).A``."""

    def __call__(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike | None = None,
        *,
        solution: Any = None,
        smoothing: float | None = None,
        out: Sequence[Array] | None = None,
        **given: npt.ArrayLike | None,
    ) -> StepDerivatives:
        """Derivatives of the state after the step by that before it, torques and commands. Leading axes broadcast.

        Args:
            q: Configuration, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
            tau: Joint torques, ``(..., nv)``; by default none.
            solution: Result of the step for these inputs; by default it is computed again.
            smoothing: As for ``jvp``.
            out: Arrays to write ``A`` and ``B`` to.
            given: By name: ``commands``, ``wrenches`` and parameters of the robot that are inputs, as for the step.
        """
        optional, _ = self._named(given, directed=False)
        state, at, after = self._at(q, v, tau, optional, solution, smoothing)
        jacobian = self._derivatives.jacobian(state, optional, at, after)
        if out is not None:
            _written((jacobian.A, jacobian.B), out, ("A", "B"))
        return jacobian


def _written(results: Sequence[Array], out: Sequence[Array] | None, names: Sequence[str]) -> tuple[Array, ...]:
    """Results, in the arrays that were given for them."""
    if out is None:
        return tuple(results)
    if not isinstance(out, tuple | list) or len(out) != len(results):
        raise InputError(f"out needs an array for each of {', '.join(names)}")
    for x, y in zip(out, results, strict=True):
        if x.shape != y.shape:
            raise InputError(f"out has an array of shape {x.shape}, needs {y.shape}")
        x[...] = y
    return tuple(out)
