# SPDX-License-Identifier: BSD-3-Clause
"""Results of forward dynamics: accelerations, forces of constraints, and how iterations ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from linkwork.dynamics.reactions import Reactions, reactions
from linkwork.errors import InputError
from linkwork.model.model import Model
from linkwork.model.notebook import shape_table, state_tables
from linkwork.quantities.arguments import Array

PROGRESS, ITERATIONS, HEAD = 0, 1, 2
"""In the result of a constrained kernel: the relative residual (of methods that do not iterate, the least pivot), the
iterations, and where multipliers start."""


@dataclass(frozen=True)
class ResultLayout:
    """The layout of the last output of constrained kernels (`kernels.constrained.problem`), by number of rows."""

    rows: int

    @classmethod
    def of(cls, result: Array) -> ResultLayout:
        """The layout of an array that a kernel wrote."""
        return cls((result.shape[-1] - 4) // 2)

    @property
    def multipliers(self) -> slice:
        """Forces of the rows."""
        return slice(HEAD, HEAD + self.rows)

    @property
    def residuals(self) -> slice:
        """The slice of constraint residuals."""
        return slice(HEAD + self.rows, HEAD + 2 * self.rows)

    @property
    def gap(self) -> int:
        """The largest error of a row."""
        return HEAD + 2 * self.rows

    @property
    def velocity_error(self) -> int:
        """The largest rate of an error; negative where rows have gains."""
        return HEAD + 2 * self.rows + 1

    @property
    def size(self) -> int:
        """All of it."""
        return HEAD + 2 * self.rows + 2


@dataclass(frozen=True)
class SolvedBy:
    """Method, tolerance and accepted bounds of a solution."""

    robot: Model
    method: str
    tolerance: float
    """Relative residual at which iterations end; infinite for methods that do not iterate."""
    watched: bool = False
    """Whether results need a look: of methods without regularization, or where iterations must converge."""
    least: float = -np.inf
    """Above this, and up to ``most``, the progress of a state needs no further look."""
    most: float = np.inf


class Solution:
    """Accelerations, and forces of constraints. Leading axes are those of the batch."""

    __slots__ = ("_by", "acceleration", "result")

    acceleration: Array
    """Joint accelerations, ``(..., nv)``."""
    result: Array | None
    """Progress, forces and residuals of rows in a row, as `ResultLayout` says; None for a tree."""

    def __init__(self, acceleration: Array, by: SolvedBy | None = None, result: Array | None = None) -> None:
        self.acceleration = acceleration
        self._by = by
        self.result = result

    @property
    def multipliers(self) -> Array | None:
        """Forces of all constraints in a row, ``(..., nc)``; None for a tree."""
        return None if self.result is None else self.result[..., ResultLayout.of(self.result).multipliers]

    @property
    def residuals(self) -> Array | None:
        """The slice of constraint residuals."""
        return None if self.result is None else self.result[..., ResultLayout.of(self.result).residuals]

    @property
    def forces(self) -> Mapping[str, Array]:
        """Forces of the constraints by name, ``(..., rows)`` each, as they act on the second place of a pair."""
        return NamedRows(None if self._by is None else self._by.robot, self.multipliers)

    def reactions(
        self,
        robot: Model,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        *,
        wrenches: Mapping[str, npt.ArrayLike] | None = None,
        axes: Literal["world", "local"] = "world",
    ) -> Reactions:
        """Wrenches ``[moment, force]`` that joints and constraints transmit, by name, ``(..., 6)`` each.

        Args:
            robot: The mechanism that this is a solution of.
            q: Its configuration, ``(..., nq)``.
            v: Its joint velocities, ``(..., nv)``.
            wrenches: External wrenches that acted, by frame, ``(..., 6)`` each, in the frame's axes.
            axes: ``"world"``, or ``"local"``, those of children and second frames.
        """
        return reactions(robot, q, v, self.acceleration, self.multipliers, wrenches=wrenches, axes=axes)

    @property
    def residual(self) -> Any:
        """The most that a row misses, in m/s² or rad/s²."""
        rows = self.residuals
        return 0.0 if rows is None else _plain(_largest(rows))

    @property
    def gap(self) -> Any:
        """The largest error of a constraint at ``q``, in m or rad."""
        return 0.0 if self.result is None else _plain(self.result[..., ResultLayout.of(self.result).gap])

    @property
    def velocity_error(self) -> Any:
        """The largest rate at which ``v`` opens a row, in m/s or rad/s; None unless constraints have gains."""
        if self.result is None:
            return 0.0
        error = self.result[..., ResultLayout.of(self.result).velocity_error]
        if type(error) is np.ndarray or isinstance(error, np.floating):
            return None if np.any(error < 0) else _plain(error)
        return error  # on a GPU, which is not waited for: negative where constraints have gains

    @property
    def iterations(self) -> Any:
        """Proximal iterations, of each state."""
        if self.result is None:
            return 0
        counts: Any = self.result[..., ITERATIONS]
        return _plain(counts.astype(np.int64)) if hasattr(counts, "astype") else counts.long()

    @property
    def converged(self) -> Any:
        """Whether iterations ended within the tolerance; of a method that does not iterate, always."""
        if self._by is None or self.result is None:
            return True
        return _plain(self.result[..., PROGRESS] <= self._by.tolerance)

    def __repr__(self) -> str:
        if self.result is None:
            return f"Solution(acceleration={self.acceleration!r})"
        return (
            f"Solution(acceleration={self.acceleration!r}, residual={self.residual}, "
            f"iterations={self.iterations}, converged={self.converged})"
        )

    def _repr_html_(self) -> str:
        if self._by is None or self.result is None:
            return shape_table("Solution", {"acceleration": self.acceleration})
        ended = f"{np.sum(self.converged)} of {np.size(self.converged)} converged"
        caption = f"Solution by {self._by.method}: {ended}, residual at most {np.max(self.residual, initial=0.0):.3g}"
        rows = {"force": self.multipliers, "residual": self.residuals}
        return state_tables(caption, self._by.robot, {"acceleration": self.acceleration}, rows)


class NamedRows(Mapping[str, Array]):
    """Numbers of all rows, by the names of constraints."""

    def __init__(self, robot: Model | None, multipliers: Array | None) -> None:
        self._robot, self._multipliers = robot, multipliers

    def __getitem__(self, name: str) -> Array:
        if self._robot is None or self._multipliers is None:
            raise KeyError(name)
        try:
            at = self._robot.row_slice(name)
        except InputError as error:
            raise KeyError(str(error)) from None
        part: Array = self._multipliers[..., at]
        return part

    def __iter__(self) -> Iterator[str]:
        return iter(()) if self._robot is None else (c.name for c in self._robot.constraints)

    def __len__(self) -> int:
        return 0 if self._robot is None else len(self._robot.constraints)

    def __repr__(self) -> str:
        return repr(dict(self))


def _largest(rows: Any) -> Any:
    """The largest size of a number in each row."""
    if isinstance(rows, np.ndarray):
        return np.abs(rows).max(axis=-1, initial=0.0)
    sizes = abs(rows)
    return sizes.amax(-1) if hasattr(sizes, "amax") else sizes.max(-1)


def _plain(x: Any) -> Any:
    """A Python number for one state; of a state on a GPU, its array."""
    return x.item() if x.ndim == 0 and isinstance(x, np.ndarray | np.generic) else x
