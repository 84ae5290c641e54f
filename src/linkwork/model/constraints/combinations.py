# SPDX-License-Identifier: BSD-3-Clause
"""Constraints on many bodies at once: their center of mass, linear combinations of their velocities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from linkwork.conversions import converted_but
from linkwork.errors import ModelError
from linkwork.inputs import shown
from linkwork.model.arrays import Floats, finite, frozen
from linkwork.model.constraints.base import WORLD, Constraint, Renaming
from linkwork.model.placement import PlacementLike, as_placement


@converted_but("gains")
@dataclass(frozen=True, eq=False)
class CenterOfMass(Constraint):
    """The center of mass of some bodies stays at a point of the world, along the chosen axes.

    Args:
        at: The point, and the axes, in the world (three numbers, or a `Placement`).
        axes: Some of x, y, z.
        bodies: Names of bodies; by default all.
    """

    at: PlacementLike = (0.0, 0.0, 0.0)
    axes: str = "xyz"
    bodies: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        axes = "".join(self.axes)
        if not axes or len(set(axes)) < len(axes) or not set(axes) <= set("xyz"):
            raise ModelError(f"CenterOfMass: axes '{self.axes}', needs some of x, y, z, each once")
        bodies = (self.bodies,) if isinstance(self.bodies, str) else None if self.bodies is None else tuple(self.bodies)
        if bodies == ():
            raise ModelError("CenterOfMass: bodies names none; give at least one, or leave it out for all")
        self._set(at=as_placement(self.at), axes=axes, bodies=bodies)
        if not self.name:
            self._set(name="center_of_mass")
        self._settle()

    @property
    def rows(self) -> int:
        """One for each axis."""
        return len(self.axes)

    @property
    def places(self) -> tuple[str, ...]:
        """The bodies; none means all."""
        return self.bodies or ()

    def _renamed_fields(self, names: Renaming) -> dict[str, Any]:
        if names.world != WORLD:
            raise self._error(
                "its reference is the world, which would move: add the constraint to the composed mechanism"
            )
        bodies = None if self.bodies is None else tuple(names.place(name) for name in self.bodies)
        return {"at": names.world_at * as_placement(self.at), "bodies": bodies}


@converted_but("gains")
@dataclass(frozen=True, eq=False)
class LinearCombination(Constraint):
    """A linear combination of velocities of bodies or frames stays zero: ``sum of matrix @ velocity``.

    It is nonholonomic: velocities are constrained, and there is no position error to correct.

    Args:
        matrices: By body or frame, ``(rows, 6)`` each: factors of its spatial velocity ``[angular, linear]``.
        reference: Axes of velocities: ``"aligned"``, the world's at the place's origin; ``"local"``, the place's own.
    """

    matrices: Mapping[str, Sequence[Sequence[float]] | Floats]
    reference: Literal["aligned", "local"] = "aligned"

    def __post_init__(self) -> None:
        if not isinstance(self.matrices, Mapping):
            raise ModelError(f"LinearCombination: matrices is {shown(self.matrices)}, needs matrices by name")
        items_of_matrices = self.matrices.items()
        matrices = {
            str(place): finite(matrix, f"LinearCombination: the matrix of '{place}'")
            for place, matrix in items_of_matrices
        }
        if not matrices:
            raise ModelError("LinearCombination: matrices names no bodies or frames; give at least one")
        if self.reference not in ("aligned", "local"):
            raise ModelError(f"LinearCombination: reference is '{self.reference}', needs 'aligned' or 'local'")
        rows = next(iter(matrices.values())).shape[0] if next(iter(matrices.values())).ndim == 2 else 0
        for place, matrix in matrices.items():
            if matrix.shape != (rows, 6) or rows == 0:
                raise ModelError(
                    f"LinearCombination: the matrix of '{place}' has shape {matrix.shape}, needs ({rows or 'rows'}, 6)"
                )
            frozen(matrix)
        self._set(matrices=matrices)
        self._settle()

    @property
    def rows(self) -> int:
        """Rows of the matrices."""
        return int(np.asarray(next(iter(self.matrices.values()))).shape[0])

    @property
    def places(self) -> tuple[str, ...]:
        """Bodies and frames, in order."""
        return tuple(self.matrices)

    @property
    def holonomic(self) -> tuple[bool, ...]:
        """No row is holonomic."""
        return (False,) * self.rows

    def _renamed_fields(self, names: Renaming) -> dict[str, Any]:
        turned = not np.array_equal(names.world_at.rotation, np.eye(3))
        if self.reference == "aligned" and (names.world != WORLD or turned):
            raise self._error("its reference, the world's axes, would turn: add it to the composed mechanism")
        return {"matrices": {names.place_or_world(name): matrix for name, matrix in self.matrices.items()}}
