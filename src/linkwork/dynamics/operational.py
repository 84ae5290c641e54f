"""Inverse inertia in operational space: the accelerations of frames that unit forces on them make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy.typing as npt

from linkwork.closure.coordinates import Tied, ties_of
from linkwork.errors import InputError
from linkwork.inputs import InertiaMethod
from linkwork.kernels import cluster_efpa as effectors
from linkwork.kernels.algorithm import Algorithm
from linkwork.model.model import Model
from linkwork.plans.cluster_efpa import cluster_efpa_tree
from linkwork.quantities.evaluator import Array

METHODS: Mapping[str, Algorithm] = {
    "efpa": effectors.CLUSTER_EFPA,
    "projection": effectors.PROJECTED_INERTIA,
}
"""Methods, by name: force propagators through clusters (C-EFPA), and dense."""


class OperationalInertia(Tied):
    """``J H^-1 J'`` of some frames, ``H`` the inertia of the robot with its loops: ``inertia(q)``, ``(..., 6k, 6k)``.

    Each frame has six rows, ``[angular, linear]`` in its own axes: the matrix times a wrench ``[moment, force]`` on
    each gives their accelerations. Loops are to be closed at ``q``.

    Args:
        robot: The mechanism.
        frames: Name of a frame or body, or several.
        method: ``"efpa"``: force propagators through clusters; ``"projection"``: dense matrices.
        threads: Threads that share a large batch; by default as many as there are cores.
    """

    def __init__(
        self, robot: Model, frames: str | Sequence[str], method: InertiaMethod = "efpa", threads: int | None = None
    ) -> None:
        if not isinstance(robot, Model):
            raise InputError(f"robot is {type(robot).__name__}, needs a Mechanism (from load, Builder or compose)")
        if method not in METHODS:
            raise InputError(f"no method {method!r}; there are {', '.join(METHODS)}")
        self.method = method
        names = self._frames(frames)
        if not names:
            raise InputError("frames names at least one frame")
        tree = cluster_efpa_tree(robot, names, ties_of(robot))
        self._prepare(robot, "operational_inertia", METHODS[method], tree, names, threads)

    def __call__(self, q: npt.ArrayLike, *, out: Array | None = None) -> Array:  # type: ignore[override]
        """The matrix, ``(..., 6k, 6k)`` for ``k`` frames.

        Args:
            q: Configuration with closed loops, ``(..., nq)``.
            out: Array to write the result to; by default a new one.
        """
        found: Array = self.determined((q,), out)[0]
        return found
