# SPDX-License-Identifier: BSD-3-Clause
"""Wrenches: bushings between frames, and forces by any function, between points and on bodies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from inspect import signature
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from linkwork.errors import ModelError
from linkwork.model.arrays import Floats, finite, frozen
from linkwork.model.constraints.base import WORLD
from linkwork.model.forces.base import Between, placed
from linkwork.model.recordings import Recording


@dataclass(frozen=True, eq=False)
class Bushing(Between):
    """A bushing between two frames: the wrench ``-K x - C x' + preload`` on the second, in the axes of the first.

    ``x`` are rotation (small angles about x, y, z; ``2 sin(angle / 2)`` about the axis) and translation of the second
    frame in the first.

    Args:
        a: The first body or frame, or a place in one.
        b: The second.
        stiffness: Six numbers, rotation first, or a matrix ``(6, 6)``.
        damping: Damping matrix, of the rates.
        preload: Wrench where frames coincide, ``[moment, force]``.
    """

    stiffness: npt.ArrayLike = field(kw_only=True)
    damping: npt.ArrayLike = field(default=(0.0,) * 6, kw_only=True)
    preload: npt.ArrayLike = field(default=(0.0,) * 6, kw_only=True)

    def __post_init__(self) -> None:
        for name in ("stiffness", "damping"):
            value = finite(getattr(self, name), f"Bushing: {name}")
            matrix = np.diag(value) if value.shape == (6,) else value
            if matrix.shape != (6, 6):
                raise ModelError(f"Bushing: {name} has shape {value.shape}, needs (6,) or (6, 6)")
            self._set(**{name: frozen(np.array(matrix))})
        self._set(preload=frozen(finite(self.preload, "Bushing: preload").reshape(6)))
        super().__post_init__()

    @property
    def coordinates(self) -> int:
        """Rotation and translation."""
        return 6

    def law(self, x: Sequence[Any], rate: Sequence[Any], time: Any) -> Sequence[Any]:
        """Forces along the coordinates.

        Args:
            x: Coordinates, then those of watched joints.
            rate: Their rates.
            time: Seconds.
        """
        K, C, preload = (np.asarray(matrices) for matrices in (self.stiffness, self.damping, self.preload))
        rows = range(6)
        return [preload[i] - sum(K[i, j] * x[j] + C[i, j] * rate[j] for j in rows) for i in rows]

    def energy(self, x: Floats) -> Floats:
        """Elastic energy of small rotations, ``(...)``.

        Args:
            x: Rotation and translation, ``(..., 6)``.
        """
        energy: Floats = 0.5 * np.einsum("...i,ij,...j->...", x, np.asarray(self.stiffness), x) - x @ np.asarray(
            self.preload
        )
        return energy


@dataclass(frozen=True, eq=False)
class Force(Between):
    """Any law: along the line between two points, or a force or wrench on a body.

    ``Force("piston", lambda t: (0, 0, -50 * np.sin(t)))`` acts on a body, ``Force("a", "b", lambda x, rate: -3 * x)``
    between two points, positive where it pushes them apart.

    Args:
        a: The body, frame or point that it acts on; or the first of two points.
        b: The second point, or the law.
        function: Between two points, of the distance, its rate and, if it takes three arguments, of time. On a body, of
            time: it returns a force, three numbers, or ``[moment, force]``, six.
        axes: Of a force on a body: ``"world"``, or ``"local"``, which turn with it.
    """

    b: Any = None
    function: Callable[..., Any] | None = None
    axes: Literal["world", "local"] = field(default="world", kw_only=True)

    def __post_init__(self) -> None:
        law, other = (self.b, None) if self.function is None else (self.function, self.b)
        if not callable(law):
            raise ModelError(f"Force: the law is {law!r}, needs a function")
        if self.axes not in ("world", "local"):
            raise ModelError(f"Force: axes is {self.axes!r}, needs 'world' or 'local'")
        self._set(function=law)
        if other is None:
            acted = self.a
            self._set(a=WORLD, b=acted, name=self.name or f"force on {placed(acted)[0]}", body=True)
        super().__post_init__()

    body: bool = field(default=False, init=False, repr=False)
    """Whether it acts on a body, against the world."""

    @property
    def coordinates(self) -> int:
        """The distance, or rotation and translation."""
        return 6 if self.body else 1

    @property
    def function_takes(self) -> tuple[int | list[int], ...]:
        """Arguments of the function, see `recordings.recorded`."""
        assert self.function is not None
        if self.body:
            return (1, [len(self.watched)], [len(self.watched)]) if self.watched else (1,)
        if isinstance(self.function, Recording):
            return (1,) * self.function.tape.inputs
        return (1,) * (3 if len(signature(self.function).parameters) > 2 else 2)

    @property
    def follows(self) -> bool:
        """Whether axes turn with the body."""
        return self.axes == "local"

    def law(self, x: Sequence[Any], rate: Sequence[Any], time: Any) -> Sequence[Any]:
        """Forces along the coordinates.

        Args:
            x: Coordinates, then those of watched joints.
            rate: Their rates.
            time: Seconds.
        """
        assert self.function is not None
        if not self.body:
            return [self.function(*(x[0], rate[0], time)[: len(self.function_takes)])]
        if self.watched:
            wrench = list(self.function(time, x[6:], rate[6:]))
        else:
            wrench = list(self.function(time))
        if len(wrench) not in (3, 6):
            raise self._error(f"the function returns {len(wrench)} numbers, needs 3 (force) or 6 (moment, force)")
        return [0.0] * (6 - len(wrench)) + wrench

    def renamed(self, name: str, place: Callable[[str], str], joint: Callable[[str], str]) -> Self:
        """A copy on other names.

        Args:
            name: Its new name.
            place: New name of a body or frame.
            joint: New name of a joint.
        """
        (a, at), (b, to) = self.places
        watched, axes = tuple(joint(other) for other in self.watched), self.axes
        if self.body:
            return type(self)((place(b), to), self.function, name=name, watched=watched, axes=axes)
        return type(self)((place(a), at), (place(b), to), self.function, name=name, watched=watched, axes=axes)
