# SPDX-License-Identifier: BSD-3-Clause
"""Results of a step with contacts: the state after it, impulses of contacts, and how iterations ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from linkwork.contact.points import FORCE, GAP, MOMENT, VELOCITY, ContactPoints, contact_points, result_by_slots
from linkwork.errors import UnsupportedFeature
from linkwork.kernels.contact.reduced import step
from linkwork.kernels.contact.reduced.solve import CONVEX, JAMMED
from linkwork.model.model import Model
from linkwork.model.notebook import shape_table
from linkwork.plans import contact_reduced
from linkwork.plans.contact_lcaba import HEAD
from linkwork.plans.contacts import contact_slots
from linkwork.plans.tree import Tree
from linkwork.quantities.arguments import Array

RESIDUAL, ITERATIONS, FALLBACK = 0, 1, 2
OVERFLOWED = step.OVERFLOWED - contact_reduced.TOTALS
"""Of results with lists, from the end."""


def _places(sizes: Mapping[str, int], start: int) -> dict[str, slice]:
    """Parts of an array one after the other, from ``start`` on."""
    places = {}
    for name, size in sizes.items():
        places[name] = slice(start, start + size)
        start += size
    return places


@dataclass(frozen=True, eq=False)
class StepLayout:
    """The layout of the result of a step (`kernels.contact.problem.contact_view`), and names of contacts."""

    robot: Model
    tree: Tree
    dt: float
    tolerance: float
    """The residual at which iterations end, in m/s."""

    reduced: bool = False
    """Whether the result has a list of contact points; else it is by slots."""

    @cached_property
    def points(self) -> ContactPoints:
        """Lists of contact points."""
        return contact_points(self.robot)

    def vectors(self, result: Array, part: slice) -> Array:
        """Vectors of all contact points, ``(..., nslots, 3)``.

        Args:
            result: The result, ``(..., nresult)``.
            part: `FORCE` or `VELOCITY`.
        """
        if self.reduced:
            return self.points.by_slot(result[..., self.places["points"]], part)
        flat = result[..., self.places["forces" if part == FORCE else "velocities"]]
        return flat.reshape(*flat.shape[:-1], flat.shape[-1] // 3, 3)

    def gaps(self, result: Array) -> Array:
        """Gaps of all contact points, ``(..., nslots)``; infinite where shapes are not near.

        Args:
            result: The result, ``(..., nresult)``.
        """
        if self.reduced:
            return self.points.by_slot(result[..., self.places["points"]], GAP, np.inf)[..., 0]
        gaps: Array = result[..., self.places["gaps"]]
        return gaps

    @cached_property
    def places(self) -> dict[str, slice]:
        """Parts of the result by name."""
        if self.reduced:
            sizes = {"points": self.points.width, "boxes": int(self.tree.nboxes), "multipliers": int(self.tree.nc)}
            sizes["a"] = self.robot.nv
            return _places(sizes, contact_reduced.HEAD)
        ns, nb, nc = int(self.tree.nslots), int(self.tree.nboxes), int(self.tree.nc)
        sizes = {"a": self.robot.nv, "forces": 3 * ns, "velocities": 3 * ns, "gaps": ns, "multipliers": nc, "boxes": nb}
        return _places(sizes, HEAD)

    @cached_property
    def slots(self) -> Mapping[str, slice]:
        """Contact points of each pair, by the name of the pair."""
        return contact_slots(self.robot)


def box_forces(tree: Tree, boxes: Array, limits: bool) -> Array:
    """Forces of joint limits, or of the dry friction of joints, by degree of freedom, ``(..., nv)``.

    Args:
        tree: The arrays of the robot.
        boxes: Forces of both, as results have them.
        limits: Which.
    """
    result = np.zeros((*boxes.shape[:-1], int(tree.nv)), boxes.dtype)
    for b, (v, q) in enumerate(zip(tree.box_v.tolist(), tree.box_q.tolist(), strict=True)):
        if v >= 0 and (q >= 0) == limits:
            result[..., v] += tree.box_sign[b] * boxes[..., b]
    return result


class BySlots(Mapping[str, Array]):
    """Vectors of contact points, by the names of pairs."""

    def __init__(self, layout: StepLayout, values: Array) -> None:
        self._layout, self._values = layout, values

    def __getitem__(self, name: str) -> Array:
        part: Array = self._values[..., self._layout.slots[name], :]
        return part

    def __iter__(self) -> Iterator[str]:
        return iter(self._layout.slots)

    def __len__(self) -> int:
        return len(self._layout.slots)

    def __repr__(self) -> str:
        return repr(dict(self))


class ContactSolution:
    """The state after a step, and impulses of contacts, loops and joints. Leading axes are those of the batch."""

    __slots__ = ("_layout", "q", "result", "v")

    q: Array
    """Configuration after the step, ``(..., nq)``."""
    v: Array
    """Joint velocities after the step, ``(..., nv)``."""
    result: Array
    """Result of the step as its program returns it, which has the following by name."""

    def __init__(self, q: Array, v: Array, result: Array, layout: StepLayout) -> None:
        self.q, self.v, self.result, self._layout = q, v, result, layout

    def _part(self, name: str) -> Array:
        part: Array = self.result[..., self._layout.places[name]]
        return part

    @property
    def forces(self) -> Array:
        """Forces of contact points, ``(..., nslots, 3)``: along t1, t2, n, on the second shape of each pair, in N."""
        return self._layout.vectors(self.result, FORCE)

    @property
    def moments(self) -> Array:
        """Moments of contact points, ``(..., nslots, 3)``: of friction against rolling about t1 and t2, and against
        spinning about n, on the second shape of each pair, in N m. Steps by slots have none."""
        if not self._layout.reduced:
            return np.zeros_like(self.forces)
        return self._layout.vectors(self.result, MOMENT)

    @property
    def impulse(self) -> Array:
        """Impulses of contact points, ``(..., nslots, 3)``: `forces` times the step, in N s."""
        return self._layout.dt * self.forces

    @property
    def impulses(self) -> Mapping[str, Array]:
        """Impulses by names of pairs, ``(..., slots, 3)`` each."""
        return BySlots(self._layout, self.impulse)

    @property
    def restitution(self) -> Array:
        """The part of the coefficients of restitution that acted, ``(...)``: less than 1 where Newton's law would have
        added energy."""
        head = contact_reduced.HEAD if self._layout.reduced else HEAD
        acted: Array = 1.0 - self.result[..., head - 1]
        return acted

    @property
    def gaps(self) -> Array:
        """Gaps of contact points before the step, ``(..., nslots)``, negative where shapes overlap, in m;
        infinite where they are not near."""
        return self._layout.gaps(self.result)

    @property
    def contact_velocity(self) -> Array:
        """Velocities of contact points after the step, ``(..., nslots, 3)``: of the second shape relative to the first,
        along t1, t2, n, in m/s."""
        return self._layout.vectors(self.result, VELOCITY)

    @property
    def acceleration(self) -> Array:
        """Joint accelerations ``(v+ - v) / dt``, ``(..., nv)``, with velocities of free joints in the axes that these
        have at the start of the step."""
        return self._part("a")

    @property
    def multipliers(self) -> Array:
        """Forces of all constraints in a row, ``(..., nc)``."""
        return self._part("multipliers")

    def _joint_impulses(self, limits: bool) -> Array:
        return self._layout.dt * box_forces(self._layout.tree, self._part("boxes"), limits)

    @property
    def limit_impulses(self) -> Array:
        """Impulses of joint limits on degrees of freedom, ``(..., nv)``, in N s or N m s."""
        return self._joint_impulses(True)

    @property
    def friction_impulses(self) -> Array:
        """Impulses of the dry friction of joints, ``(..., nv)``, in N s or N m s."""
        return self._joint_impulses(False)

    @property
    def residual(self) -> Any:
        """The residual of the laws of contact in the step, a velocity in m/s (`kernels.contact.cones`)."""
        return _plain(self.result[..., RESIDUAL])

    @property
    def iterations(self) -> Any:
        """Iterations of the solver, of each state; on a GPU as numbers of the step's type."""
        count = self.result[..., ITERATIONS]
        return _plain(count.astype(np.int64) if isinstance(count, np.ndarray) else count)

    @property
    def converged(self) -> Any:
        """Whether the residual is within the tolerance."""
        return _plain(self.result[..., RESIDUAL] <= self._layout.tolerance)

    @property
    def fallback(self) -> Any:
        """Whether the step is that of the convex problem, without De Saxcé's term, restitution and the removal of
        penetration, which takes energy: the solver came nowhere near a solution of the true one."""
        if not self._layout.reduced:
            return _plain(self.result[..., RESIDUAL] * 0 > 0)
        return _plain(self.result[..., FALLBACK] == CONVEX)

    @property
    def jammed(self) -> Any:
        """Whether penetration could not be removed: shapes overlap that no velocity within the other constraints moves
        apart. The step is the solution without the removal, in which they do not move further into each other."""
        if not self._layout.reduced:
            return _plain(self.result[..., RESIDUAL] * 0 > 0)
        return _plain(self.result[..., FALLBACK] >= JAMMED)

    @property
    def overflowed(self) -> Any:
        """Whether there were more contact points than lists have room for; those beyond did not act."""
        if not self._layout.reduced:
            return _plain(self.result[..., RESIDUAL] * 0 > 0)
        return _plain(self.result[..., OVERFLOWED] > 0.5)

    @property
    def warm_start(self) -> Array:
        """The warm start of the next step, ``(..., nstart)``: forces of contacts, joints, and constraints, and in
        native code the kind of the step.

        Forces are zero where the step was not solved: from such forces, steps run away.
        """
        if not isinstance(self.result, np.ndarray):
            raise UnsupportedFeature(
                "contact forces on a GPU cannot be read between steps: lw.Simulation(robot, count, "
                "device='cuda') starts every step from the one before"
            )
        points = "points" if self._layout.reduced else "forces"
        forces = np.concatenate([self._part(points), self._part("boxes"), self._part("multipliers")], axis=-1)
        forces = np.where(np.asarray(self.converged)[..., None], forces, forces.dtype.type(0))
        if not self._layout.reduced:
            return forces
        return np.concatenate([forces, self.result[..., FALLBACK, None]], axis=-1)

    @property
    def is_listed(self) -> bool:
        """Whether the result has a list of contact points."""
        return self._layout.reduced

    @property
    def result_by_slots(self) -> Array:
        """The result with all slots of all pairs, as derivatives have it."""
        if not self._layout.reduced:
            return self.result
        return result_by_slots(self._layout.robot, self._layout.tree, self.result)

    @property
    def warm_start_by_slots(self) -> Array:
        """`warm_start` for steps that have all slots of all pairs."""
        points = self.forces.reshape(*self.q.shape[:-1], -1)
        boxes = self._part("boxes")
        if self._layout.reduced:
            boxes = boxes[..., : self._layout.tree.njoint_boxes]
        forces = np.concatenate([points, boxes, self._part("multipliers")], axis=-1)
        return np.where(np.asarray(self.converged)[..., None], forces, forces.dtype.type(0))

    def __repr__(self) -> str:
        return (
            f"ContactSolution(v={self.v!r}, residual={self.residual}, iterations={self.iterations}, "
            f"converged={self.converged})"
        )

    def _repr_html_(self) -> str:
        shown = {"q": self.q, "v": self.v, "impulse": self.impulse, "gaps": self.gaps}
        return shape_table("ContactSolution", shown)


def _plain(x: Any) -> Any:
    """A Python number for one state."""
    return x.item() if x.ndim == 0 else x
