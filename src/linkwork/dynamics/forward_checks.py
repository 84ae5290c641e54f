# SPDX-License-Identifier: BSD-3-Clause
"""Checks of forward dynamics: backends of a method; open loops, dependent rows, rows that contradict each other."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt

from linkwork.closure.minimal import check_pivots, undetermined
from linkwork.closure.mobility import state_warning
from linkwork.closure.thresholds import LEAST_PIVOT
from linkwork.compilers.program import Backend
from linkwork.dynamics.methods import AUTOMATIC, METHODS
from linkwork.dynamics.solution import PROGRESS
from linkwork.dynamics.thresholds import CONTRADICTION, LEAST_BLOCK_PIVOT
from linkwork.errors import SingularConstraints, StateWarning, UnsupportedFeature
from linkwork.inputs import Auto, ForwardMethod
from linkwork.kernels.thresholds import DISABLED
from linkwork.model.model import Model
from linkwork.quantities.arguments import Array


def check_backend(method: ForwardMethod | Auto, backend: Backend) -> None:
    """Raise an error where a method does not run on a backend.

    Args:
        method: The method.
        backend: Backend of the program.
    """
    words = {"specialized": "compile", "plain": "plain", "cuda": "run on a GPU"}
    if method == "kkt" and backend.name in words:
        raise no_kernel(words[backend.name])
    if method == "pv_early" and backend.dtype != "float64" and backend.name in ("specialized", "cuda"):
        raise UnsupportedFeature("pv_early needs float64: it tests which joints move a row")


def no_kernel(what: str) -> UnsupportedFeature:
    """The error that `kkt` has no program.

    Args:
        what: Name of the refused operation.
    """
    return UnsupportedFeature(f"kkt is dense linear algebra in NumPy: there is nothing to {what}")


def check_state(robot: Model, q: npt.ArrayLike, v: npt.ArrayLike, enabled: Array, stacklevel: int) -> None:
    """Warn, once for a robot and of the first state that is evaluated, where loops are open or opening.

    Args:
        robot: The mechanism.
        q: Configurations, ``(..., nq)``, at least one.
        v: Joint velocities, ``(..., nv)``.
        enabled: Which rows are enabled, ``(nc,)``.
        stacklevel: Of the warning, as seen from the caller.
    """
    if not robot.computed.first_time("state checked"):
        return
    first_q = np.asarray(q, dtype=np.float64).reshape(-1, robot.nq)[0]
    first_v = np.asarray(v, dtype=np.float64).reshape(-1, robot.nv)[0]
    message = state_warning(robot, first_q, first_v, enabled)
    if message is not None:
        warnings.warn(message, StateWarning, stacklevel=stacklevel + 1)


def accepted_progress(method: ForwardMethod, has_fallback: bool) -> tuple[float, float]:
    """Between which numbers `progress` of a state needs no further look: a pivot, or a residual.

    Args:
        method: Of forward dynamics, one that takes rows to be independent, or loops to be closed.
        has_fallback: Whether another plan serves states in which the first one meets a singular block.
    """
    if method == "pv_early":
        return -np.inf, CONTRADICTION
    if METHODS[method].iterates:
        return -np.inf, 0.5 * DISABLED
    return LEAST_BLOCK_PIVOT if has_fallback else LEAST_PIVOT, np.inf


def singular_rows(robot: Model, method: ForwardMethod, where: str) -> SingularConstraints:
    """The error for dependent rows.

    Args:
        robot: The mechanism.
        method: Of forward dynamics.
        where: Words for the state.
    """
    if METHODS[method].closed:
        return undetermined(robot, where)
    return SingularConstraints(
        f"the constraints of '{robot.name}' are not independent{where}, which {method} cannot solve; "
        f"a proximal method can: {', '.join(AUTOMATIC)}"
    )


def check_rows(robot: Model, method: ForwardMethod, result: Array) -> None:
    """Raise an error where a method without regularization met dependent rows, or rows that contradict each other.

    Args:
        robot: The mechanism.
        method: Of forward dynamics.
        result: As `ResultLayout` says.
    """
    progress = result[..., PROGRESS]
    if method == "pv_early":
        wrong = progress > CONTRADICTION
        if wrong.any():
            raise SingularConstraints(
                f"the constraints of '{robot.name}' contradict each other{_first_state(wrong)} by "
                f"{float(progress.max()):.3g} of the effect of forces and velocities; a proximal "
                f"method minimizes their violation: {', '.join(AUTOMATIC)}"
            )
    elif METHODS[method].closed and METHODS[method].iterates:
        lost = progress >= DISABLED
        if lost.any():
            raise undetermined(robot, _first_state(lost))
    elif METHODS[method].closed:
        check_pivots(robot, progress)
    elif not (progress > LEAST_PIVOT).all():
        raise singular_rows(robot, method, _first_state(~(progress > LEAST_PIVOT)))


def _first_state(wrong: Array) -> str:
    """Words for the first state of a batch of which something is true."""
    return "" if wrong.ndim == 0 else f" in state {tuple(int(k) for k in np.argwhere(wrong)[0])}"
