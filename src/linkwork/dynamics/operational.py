# SPDX-License-Identifier: BSD-3-Clause
"""Inverse inertia in operational space: the accelerations of frames that unit forces on them make."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy.typing as npt

from linkwork.closure.clusters import not_a_transmission, tied_dofs, ties_of
from linkwork.closure.minimal import evaluated, verify_pivots, without_pivots
from linkwork.compilers.program import Program
from linkwork.conversions import converted
from linkwork.dynamics.costs import program_cost
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.inputs import InertiaMethod, among, shown
from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.clusters import efpa as effectors
from linkwork.kernels.clusters.approximate import APPROXIMATE_EFPA
from linkwork.model.checks import check_robot
from linkwork.model.model import Model
from linkwork.plans.cluster_efpa import approximate_efpa_tree, cluster_efpa_tree, efpa_ancestors
from linkwork.quantities.arguments import Array, frame_names
from linkwork.quantities.base import BaseEvaluator
from linkwork.quantities.differentiable import Differentiated
from linkwork.quantities.product_attributes import differentiable

METHODS: Mapping[str, Algorithm] = {
    "efpa": effectors.CLUSTER_EFPA,
    "projection": effectors.PROJECTED_INERTIA,
    "approximate": APPROXIMATE_EFPA,
}
"""Methods, by name: force propagators through clusters (C-EFPA), dense, and EFPA of the independent tree."""


@differentiable
class OperationalInertia(BaseEvaluator):
    """``J H^-1 J'`` of some frames, ``H`` the inertia of the robot with its loops: ``inertia(q)``, ``(..., 6k, 6k)``.

    Each frame has six rows, ``[angular, linear]`` in its own axes: the matrix times a wrench ``[moment, force]`` on
    each gives their accelerations. Loops are to be closed at ``q``.

    Args:
        robot: The mechanism.
        frames: Name of a frame or body, or several.
        method: ``"efpa"``: force propagators through clusters; ``"projection"``: dense matrices; ``"approximate"``:
            dependent bodies, such as rotors, are left out but for the inertia that they reflect, which is not exact.
        threads: Threads that share a large batch; by default as many as there are cores.
    """

    @converted
    def __init__(
        self, robot: Model, frames: str | Sequence[str], method: InertiaMethod = "efpa", threads: int | None = None
    ) -> None:
        check_robot(robot)
        if method not in METHODS:
            raise InputError(f"no method {shown(method)}{among(method, METHODS)}")
        self.method = method
        names = frame_names(frames)
        if not names:
            raise InputError("frames is empty; name at least one frame")
        reason = _left_out(robot, names) if method == "approximate" else None
        if reason is not None:
            raise UnsupportedFeature(f"approximate cannot serve '{robot.name}': {reason}; use efpa")
        arguments = {"robot": robot, "frames": names, "method": method}
        super().__init__(
            robot, "operational_inertia", lambda: _program(robot, names, method), arguments, names, threads
        )

    def __call__(self, q: npt.ArrayLike, *, out: Array | None = None) -> Array:
        """The matrix, ``(..., 6k, 6k)`` for ``k`` frames.

        Args:
            q: Configuration with closed loops, ``(..., nq)``.
            out: Array to write the result to; by default a new one.
        """
        matrix: Array = evaluated(self, (q,), out, self._verify)[0]
        return matrix

    def _verify(self, last: Array) -> None:
        verify_pivots(self, last)

    def _verification(self, alone: bool) -> Callable[[Sequence[Array]], bool | None] | None:
        return lambda arrays: verify_pivots(self, arrays[-1])

    @property
    def differentiated(self) -> Differentiated:
        """The matrix by ``q``."""
        return without_pivots(super().differentiated)


def _program(robot: Model, frames: Sequence[str], method: InertiaMethod) -> Program:
    """The program of a method; by propagators, rows end at the world or at common ancestors, whichever costs less."""
    dependent, algorithm = ties_of(robot), METHODS[method]
    plan = approximate_efpa_tree if method == "approximate" else cluster_efpa_tree
    program = Program.of_robot(robot, algorithm, plan(robot, frames, dependent))
    ancestors = () if method == "projection" else efpa_ancestors(program.tree)
    if not ancestors:
        return program
    other = Program.of_robot(robot, algorithm, plan(robot, frames, dependent, ancestors))
    whole, shared = program_cost(program), program_cost(other)
    return program if whole is not None and (shared is None or whole.total <= shared.total) else other


def _left_out(robot: Model, frames: Sequence[str]) -> str | None:
    """Why the inertia of some frames cannot be had of the independent tree, if so."""
    reason = not_a_transmission(robot)
    tied = tied_dofs(robot)
    for name in () if reason else frames:
        body = robot.frames[name].body
        for joint in robot.joints:
            if joint.child == body and tied & set(range(*robot.v_slice(joint.name).indices(robot.nv))):
                return f"frame '{name}' is on '{body}', which is left out: joint '{joint.name}' depends on others"
    return reason
