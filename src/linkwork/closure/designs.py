# SPDX-License-Identifier: BSD-3-Clause
"""Designs: assemblies of one robot with many lengths, in batches of compiled code, and their derivatives.

A closed configuration solves ``phi(q, p) = 0`` with some joints held at ``u``. With ``J`` the rows on the joints that
are free and ``J_u`` those on the joints that are held,

    dq = -J^+ (phi_p dp + J_u du),        (by cotangents y of q:)  -J^+' y = l,  p: phi_p' l,  u: y_u + J_u' l

where ``J^+`` is the pseudoinverse: exact where loops leave no freedom, else the nearest configuration to first order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.closure.assembly import problem_of
from linkwork.closure.assembly_problem import GAP, Search, which_enabled, which_holonomic
from linkwork.closure.thresholds import RANK
from linkwork.errors import InputError
from linkwork.inputs import float_array
from linkwork.kernels.constrained.assembly import ASSEMBLY
from linkwork.model.arrays import Floats
from linkwork.model.checks import check_robot
from linkwork.model.model import Model
from linkwork.plans.assembly import assembly_tree
from linkwork.quantities.evaluator import Evaluator, ProgramEvaluator
from linkwork.quantities.parameters import ParameterNames


@dataclass(frozen=True)
class AssembledDesigns:
    """Configurations of designs, and which of them can be assembled."""

    q: Floats
    """``(..., nq)``; where loops stay open, where the search ended."""
    gap: Floats
    """The largest error of a row that is left, over the unit of the row, ``(...)``."""
    closed: npt.NDArray[np.bool_]
    """Whether loops are closed, ``(...)``."""


class Designs:
    """Assembly with lengths as inputs: ``designs(q, joint_position=..., anchor_position=...)``.

    A robot of its own in every row of a batch; nothing is compiled for a robot unless `compile` is called. Each design
    has one attempt, from ``q``: give the configuration of a design nearby, or lead joints in steps (`lead`).

    Args:
        robot: The mechanism.
        fixed: Names of joints that stay where they are.
        parameters: Parameters that are inputs: of ``joint_position``, ``anchor_position`` and ``length``; or, by name,
            the joints and constraints whose they are.
        tolerance: Errors below it are closed loops, in rad or m; by default 1e-12 of the robot's size.
        max_iterations: The most iterations.
        threads: Threads that share a large batch; by default as many as there are cores.
    """

    def __init__(
        self,
        robot: Model,
        fixed: str | Sequence[str] = (),
        parameters: ParameterNames = ("joint_position", "anchor_position"),
        *,
        tolerance: float | None = None,
        max_iterations: int = 60,
        threads: int | None = None,
    ) -> None:
        check_robot(robot)
        self.robot = robot
        self._problem = problem_of(robot, fixed, True)
        self.fixed = self._problem.fixed
        self._settings = self._problem.settings(Search(tolerance, max_iterations, 1, 0).checked())
        self._descent = ProgramEvaluator(
            robot, "assembly", ASSEMBLY, lambda model, _: assembly_tree(model), threads=threads, parameters=parameters
        )
        self.parameters: Mapping[str, Floats] = self._descent.parameters
        """The robot's own values of the parameters, by name."""
        self._names = list(parameters) if not isinstance(parameters, Mapping) else dict(parameters)
        self._rows = which_enabled(robot) & which_holonomic(robot)
        held = np.zeros(robot.nv, dtype=bool)
        for name in self.fixed:
            held[robot.v_slice(name)] = True
        self._held, self._free = np.flatnonzero(held), np.flatnonzero(~held)

    def compile(self) -> Designs:
        """A copy with machine code for this robot."""
        designs = object.__new__(Designs)
        designs.__dict__.update(self.__dict__, _descent=self._descent.compile())
        return designs

    def __call__(self, q: npt.ArrayLike, **parameters: npt.ArrayLike) -> AssembledDesigns:
        """Closed configurations near ``q``. Leading axes are batch axes and broadcast.

        Args:
            q: Where to start, ``(..., nq)``; joints that are fixed stay there.
            parameters: Values by name, with batch axes before the shape of the robot's own.
        """
        closed, search = self._descent(q, *self._problem.arrays, self._settings, **parameters)
        gap = search[..., GAP]
        return AssembledDesigns(closed, gap, gap <= self._settings[0])

    def lead(self, values: npt.ArrayLike, q: npt.ArrayLike, **parameters: npt.ArrayLike) -> AssembledDesigns:
        """Configurations over values of the joints that are fixed, each from the one before; ``(k, ..., nq)``.

        Args:
            values: Of the fixed joints, ``(k,)`` of one, ``(k, joints)`` of several.
            q: A configuration near the first, ``(..., nq)``.
            parameters: Values by name, with batch axes.
        """
        robot = self.robot
        places = [robot.q_index(name) for name in self.fixed]
        steps = float_array(values, "values")
        steps = steps[:, None] if steps.ndim == 1 else steps
        if steps.ndim != 2 or steps.shape[1] != len(places) or not len(steps):
            raise InputError(
                f"values have shape {np.shape(values)}, need (k, {len(places)}) for {', '.join(self.fixed)}"
            )
        at, solutions = np.asarray(q, dtype=np.float64), list[AssembledDesigns]()
        for step in steps:
            at = np.array(at)
            at[..., places] = step
            solutions.append(self(at, **parameters))
            at = solutions[-1].q
        return AssembledDesigns(*(np.stack([getattr(one, k) for one in solutions]) for k in ("q", "gap", "closed")))

    def jacobians(self, q: npt.ArrayLike, **parameters: npt.ArrayLike) -> tuple[Floats, Floats]:
        """``J^+`` of the free joints, ``(..., free, rows)``, and ``J_u`` of the fixed ones, ``(..., rows, fixed)``.

        Args:
            q: Closed configurations, ``(..., nq)``.
            parameters: Values by name, with batch axes.
        """
        J = self._evaluator("constraint_jacobian")(q, **parameters)[..., self._rows, :]
        inverse: Floats = np.linalg.pinv(J[..., self._free], rcond=RANK)
        return inverse, J[..., self._held]

    def vjp(self, q: npt.ArrayLike, y: npt.ArrayLike, **parameters: npt.ArrayLike) -> dict[str, Floats]:
        """Gradients by the parameters, and ``"q"``: by the coordinates of fixed joints, ``(..., fixed)``.

        Args:
            q: Closed configurations, ``(..., nq)``.
            y: Cotangents of the configuration, ``(..., nv)``.
            parameters: Values by name, with batch axes.
        """
        values = np.asarray(y, dtype=np.float64)
        inverse, J_u = self.jacobians(q, **parameters)
        l = -np.einsum("...fr,...f->...r", inverse, values[..., self._free])
        rows = np.zeros((*l.shape[:-1], self.robot.nc))
        rows[..., self._rows] = l
        _, *by = self._evaluator("constraint_error").vjp(q, rows, **parameters)
        moved = values[..., self._held] + np.einsum("...ru,...r->...u", J_u, l)
        return dict(zip(self.parameters, by, strict=True)) | {"q": moved}

    def positions(self, frame: str, q: npt.ArrayLike, **parameters: npt.ArrayLike) -> Floats:
        """Where a frame is, ``(..., 3)``.

        Args:
            frame: Name of a frame or body.
            q: Closed configurations, ``(..., nq)``.
            parameters: Values by name, with batch axes.
        """
        positions: Floats = self._placements(frame)(q, **self._of_joints(parameters))[1][..., 0, :]
        return positions

    def position_jacobians(self, frame: str, q: npt.ArrayLike, **parameters: npt.ArrayLike) -> dict[str, Floats]:
        """Derivatives of the positions of a frame on closed loops by parameters and by ``"q"`` of fixed joints.

        Args:
            frame: Name of a frame or body.
            q: Closed configurations, ``(..., nq)``.
            parameters: Values by name, with batch axes.
        """
        placed, values, rows = self._placements(frame), self._of_joints(parameters), list[dict[str, Floats]]()
        lead = np.shape(q)[:-1]
        for axis in np.eye(3):
            along = np.broadcast_to(axis[None], (*lead, 1, 3))
            by_q, *direct = placed.vjp(q, np.zeros((*lead, 1, 3, 3)), along, **values)
            gradients = self.vjp(q, by_q, **parameters)
            for name, x in zip(placed.parameters, direct, strict=True):
                gradients[name] = gradients[name] + x
            rows.append(gradients)
        return {name: np.stack([row[name] for row in rows], axis=len(lead)) for name in rows[0]}

    def _of_joints(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters that places of frames depend on."""
        return {name: x for name, x in parameters.items() if name == "joint_position"}

    def _evaluator(self, quantity: Any) -> Evaluator:
        kept: dict[Any, Evaluator] = self.__dict__.setdefault("_evaluators", {})
        if quantity not in kept:
            kept[quantity] = Evaluator(self.robot, quantity, parameters=self._names)
        return kept[quantity]

    def _placements(self, frame: str) -> Evaluator:
        kept: dict[Any, Evaluator] = self.__dict__.setdefault("_evaluators", {})
        if frame not in kept:
            names: Any = [name for name in self._names if name == "joint_position"]
            if isinstance(self._names, Mapping):
                names = {name: self._names[name] for name in names}
            kept[frame] = Evaluator(self.robot, "frame_placement", [frame], parameters=names)
        return kept[frame]
