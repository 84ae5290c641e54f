# SPDX-License-Identifier: BSD-3-Clause
"""Contacts as data: Delassus operators of a robot that touches itself and the world here and there, as time goes on."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.conversions import converted
from linkwork.dynamics.delassus.family import Delassus, enabled_part
from linkwork.dynamics.delassus.operators import DelassusOperator, MatrixFree
from linkwork.errors import InputError
from linkwork.inputs import count, finite_floats, real_array, shown
from linkwork.model.checks import check_robot
from linkwork.model.constraints import WORLD, Pair, Point
from linkwork.model.model import Model
from linkwork.plans.constraints import constrained_tree
from linkwork.quantities.arguments import Array
from linkwork.quantities.functions import frame_placement

MOVING = ("frame_rotation", "frame_position", "pair_frame", "pair_lever")
"""Arrays of a plan that say where frames of contacts are."""
KNOWN = 64
"""Sets of touching bodies whose plans are kept."""


@dataclass(frozen=True)
class _Plan:
    """The plan for a set of body pairs, before contact points are known."""

    family: Delassus
    bodies: tuple[str, ...]
    """Bodies that touch something, the world left out."""
    ends: Array
    """For the first, then the second body of each contact, its place in ``bodies`` (behind them: the world)."""
    frames: Array
    """The frames of kernels for these ends,"""
    turns: Array
    """and how the bodies' own axes and origins are seen from those of kernels."""
    shifts: Array


class Contacts:
    """Delassus operators of a robot and its contacts: ``Contacts(robot).at(q, bodies, points) @ forces``.

    A contact is a pair of bodies, ``(first, second)``, one of which may be ``"world"``, and a point in the world where
    they touch. It has three rows: the acceleration of the second body's point relative to the first's, along the
    contact's axes. Rows of the robot's own enabled constraints come first.

    Plans depend on which bodies touch, not on where; those of the latest sets are kept with their memory, so that a
    simulation which comes back to a set allocates nothing of size.

    Args:
        robot: The mechanism.
        known: Number of sets of touching bodies that are kept.
    """

    @converted
    def __init__(self, robot: Model, known: int = KNOWN) -> None:
        check_robot(robot)
        self.robot = enabled_part(robot)
        self._known = count(known, "known")
        self._plans: OrderedDict[tuple[tuple[str, str], ...], _Plan] = OrderedDict()

    def at(
        self,
        q: npt.ArrayLike,
        bodies: Sequence[tuple[str, str]],
        points: npt.ArrayLike,
        axes: npt.ArrayLike | None = None,
    ) -> DelassusOperator:
        """The operator at a configuration, for some contacts.

        Args:
            q: Configuration, ``(nq,)``.
            bodies: The two bodies of each contact.
            points: Where they touch, ``(k, 3)``, in the world.
            axes: Rotations, ``(k, 3, 3)``, their columns the directions of each contact's rows in the world; by default
                the world's axes.
        """
        plan, q = self._plan(bodies), finite_floats(q, "q")
        if q.ndim != 1:
            raise InputError(f"q has shape {q.shape}, needs ({self.robot.nq},): one configuration")
        n = len(bodies)
        where = _floats(points, "points", (n, 3))
        if axes is None:
            turned = np.broadcast_to(np.eye(3), (n, 3, 3))
        else:
            turned = _floats(axes, "axes", (n, 3, 3))
            if np.abs(np.swapaxes(turned, 1, 2) @ turned - np.eye(3)).max(initial=0.0) > 1e-8:
                raise InputError("axes needs rotations: columns of unit length, at right angles")
        E, o = np.empty((len(plan.bodies) + 1, 3, 3)), np.zeros((len(plan.bodies) + 1, 3))
        E[-1] = np.eye(3)
        if plan.bodies:
            placed = frame_placement(self.robot, q, plan.bodies)
            E[:-1], o[:-1] = placed.rotation, placed.position
        back = plan.turns @ np.swapaxes(E[plan.ends], 1, 2)
        seen = np.concatenate([where, where]) - o[plan.ends]
        shifts = plan.shifts + (back @ seen[:, :, None])[:, :, 0]
        return MatrixFree(plan.family, q, (plan.frames, back @ np.concatenate([turned, turned]), shifts))

    @property
    def plans(self) -> int:
        """The number of sets of touching bodies for which a plan exists."""
        return len(self._plans)

    def _pairs(self, bodies: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        names = {WORLD, *self.robot.body_names}
        pairs = []
        for k, pair in enumerate(bodies):
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise InputError(f"contact {k} is {pair!r}, needs the names of two bodies")
            for name in pair:
                if not isinstance(name, str) or name not in names:
                    raise InputError(f"contact {k}: robot '{self.robot.name}' has no body {name!r}")
            if pair[0] == pair[1]:
                raise InputError(f"contact {k} is of {pair[0]!r} with itself")
            pairs.append((pair[0], pair[1]))
        if not pairs and not self.robot.nc:
            raise InputError("no contact and no constraint: there are no rows")
        return tuple(pairs)

    def _plan(self, bodies: Sequence[tuple[str, str]]) -> _Plan:
        try:
            chosen = tuple(bodies)
        except Exception:  # what cannot be iterated
            raise InputError(f"bodies is {shown(bodies)}, needs pairs of names of bodies") from None
        try:
            known = self._plans.get(chosen)
        except TypeError:  # lists, or what is no name: see below
            known = None
        pairs = chosen if known else self._pairs(chosen)
        if pairs in self._plans:
            self._plans.move_to_end(pairs)
            return self._plans[pairs]
        own = self.robot.constraints
        names = _fresh(len(pairs), {c.name for c in own})
        points = [Point(a, b, name=name) for (a, b), name in zip(pairs, names, strict=True)]
        family = Delassus(replace(self.robot, constraints=(*own, *points)), moving=MOVING)
        tree = constrained_tree(family.robot)
        before = sum(isinstance(c, Pair) for c in own)
        frames = np.concatenate([tree.pair_first[before:], tree.pair_second[before:]])
        touching = tuple(dict.fromkeys(body for pair in pairs for body in pair if body != WORLD))
        place = {body: k for k, body in enumerate((*touching, WORLD))}
        ends = np.array([place[pair[side]] for side in (0, 1) for pair in pairs], dtype=np.intp)
        plan = _Plan(family, touching, ends, frames, tree.frame_rotation[frames], tree.frame_position[frames])
        self._plans[pairs] = plan
        while len(self._plans) > self._known:
            self._plans.popitem(last=False)
        return plan

    def __repr__(self) -> str:
        return f"<Contacts of '{self.robot.name}', {len(self._plans)} sets known>"


def _fresh(n: int, taken: set[str]) -> list[str]:
    """Names of contacts that no constraint has."""
    word = "contact"
    while any(name.startswith(word) for name in taken):
        word = f"_{word}"
    return [f"{word}{k}" for k in range(n)]


def _floats(x: npt.ArrayLike, name: str, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    result = np.asarray(real_array(x, name), dtype=np.float64)
    if result.size == 0 and shape[0] == 0:
        return np.zeros(shape)
    if result.shape != shape:
        raise InputError(f"{name} has shape {result.shape}, needs {shape}: one for each pair of bodies")
    if not np.isfinite(result).all():
        raise InputError(f"{name} holds NaN or infinity")
    return result
