# SPDX-License-Identifier: BSD-3-Clause
"""`optimize` and its result: a robot on its best spanning tree, the operations saved, and maps of states."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, get_args, overload

import numpy.typing as npt

from linkwork.dynamics.methods import AUTOMATIC, METHODS, refusal
from linkwork.errors import InputError
from linkwork.inputs import Auto, ForwardMethod, JointProperty, above_zero, items, shown, suggest
from linkwork.mechanism.connections import PROPERTIES, ConnectionGraph, Rules
from linkwork.mechanism.correspondence import Correspondence
from linkwork.mechanism.optimization import Cost, Progress, Search
from linkwork.model.arrays import Floats
from linkwork.model.constraints import Pair
from linkwork.model.notebook import table

if TYPE_CHECKING:
    from linkwork.mechanism.mechanism import Mechanism


@dataclass(frozen=True, eq=False)
class Optimized:
    """A robot on its best spanning tree, and the gain; see `Mechanism.optimized`."""

    original: Mechanism
    """The robot that was given."""
    robot: Mechanism
    """The best one found: the same mechanism, perhaps in other coordinates."""
    before: Cost
    """Operations of forward dynamics of the original."""
    after: Cost
    """Operations of forward dynamics of the best one, never more."""
    changes: tuple[str, ...]
    """The differences, in sentences; empty where the original is the best."""
    counted: int
    """Candidates whose operations were counted."""
    complete: bool
    """Whether the search ended by itself, not by the time it was given."""
    seconds: float
    """Duration of the search."""

    @property
    def saved(self) -> float:
        """The part of operations that is saved, from 0 to 1."""
        return 1.0 - self.after.operations / self.before.operations if self.before.operations else 0.0

    @cached_property
    def _across(self) -> tuple[Correspondence, Correspondence]:
        return Correspondence(self.original, self.robot), Correspondence(self.robot, self.original)

    @overload
    def to(self, q: npt.ArrayLike, v: npt.ArrayLike) -> tuple[Floats, Floats]: ...

    @overload
    def to(self, q: npt.ArrayLike, v: npt.ArrayLike, tau: npt.ArrayLike) -> tuple[Floats, Floats, Floats]: ...

    def to(
        self, q: npt.ArrayLike, v: npt.ArrayLike, tau: npt.ArrayLike | None = None
    ) -> tuple[Floats, Floats] | tuple[Floats, Floats, Floats]:
        """A state of the original in the coordinates of `robot`: ``q, v``, and torques that do the same work if given.

        Loops must be closed. Joints of both robots keep their numbers.

        Args:
            q: Configuration of the original, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
            tau: Joint torques, ``(..., nv)``.
        """
        across = self._across[0]
        if tau is None:
            old_q, old_v = self.original.space.state(q, v=v)
        else:
            old_q, old_v, torque = self.original.space.state(q, v=v, tau=tau)
        new_q = across.configuration(old_q)
        new_v = across.velocity(old_q, old_v, new_q)
        return (new_q, new_v) if tau is None else (new_q, new_v, across.torque(old_q, torque, new_q))

    @overload
    def back(self, q: npt.ArrayLike, v: npt.ArrayLike) -> tuple[Floats, Floats]: ...

    @overload
    def back(self, q: npt.ArrayLike, v: npt.ArrayLike, a: npt.ArrayLike) -> tuple[Floats, Floats, Floats]: ...

    def back(
        self, q: npt.ArrayLike, v: npt.ArrayLike, a: npt.ArrayLike | None = None
    ) -> tuple[Floats, Floats] | tuple[Floats, Floats, Floats]:
        """A state of `robot` in the coordinates of the original: ``q, v``, and accelerations if given.

        Args:
            q: Configuration of `robot`, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
            a: Joint accelerations, ``(..., nv)``.
        """
        across = self._across[1]
        if a is None:
            new_q, new_v = self.robot.space.state(q, v=v)
        else:
            new_q, new_v, new_a = self.robot.space.state(q, v=v, a=a)
        old_q = across.configuration(new_q)
        old_v = across.velocity(new_q, new_v, old_q)
        return (old_q, old_v) if a is None else (old_q, old_v, across.acceleration(new_q, new_v, new_a, old_q, old_v))

    def __str__(self) -> str:
        before, after = self.before, self.after
        lines = [
            f"{self.original.name}: {before.operations} -> {after.operations} operations, "
            f"{100 * self.saved:.1f} % saved",
            f"  method   {before.method} -> {after.method}",
            f"  sizes    nv {self.original.nv} -> {self.robot.nv}, nc {self.original.nc} -> {self.robot.nc}, "
            f"bodies {len(self.original.joints)} -> {len(self.robot.joints)}",
            f"  counted  {self.counted} candidate{'s' * (self.counted > 1)} in {self.seconds:.1f} s"
            + ("" if self.complete else ", the time that was given: there may be better ones"),
            *(f"  - {change}" for change in self.changes),
        ]
        return "\n".join(
            lines if self.changes else [*lines, "  - nothing to change: no candidate has fewer operations"]
        )

    def _repr_html_(self) -> str:
        rows = [
            ("operations", self.before.operations, self.after.operations),
            ("method", self.before.method, self.after.method),
            ("nv", self.original.nv, self.robot.nv),
            ("nc", self.original.nc, self.robot.nc),
            ("bodies", len(self.original.joints), len(self.robot.joints)),
        ]
        summary = table(f"{self.original.name}: {100 * self.saved:.1f} % saved", ("", "before", "after"), rows)
        return summary + table("Changes", (), ((change,) for change in self.changes)) if self.changes else summary


def optimize(
    robot: Mechanism,
    method: ForwardMethod | Auto = "auto",
    *,
    cuts: bool = True,
    root: bool = False,
    ends: bool = False,
    orders: bool = True,
    keep: Collection[str] = (),
    drop: Collection[JointProperty] = (),
    seconds: float = 10.0,
    progress: Progress | None = None,
) -> Optimized:
    """The robot on its best spanning tree; see `Mechanism.optimized`.

    Args:
        robot: The mechanism.
        method: Method of forward dynamics whose operations are counted; ``"auto"``: the cheapest of those that serve
            every constraint and every redundancy.
        cuts: Whether passive joints may close loops, and constraints that are joints be in the tree.
        root: Whether a floating base may be on another body, or give way to a constraint that holds the robot.
        ends: Whether the two places of the robot's own constraints may be exchanged.
        orders: Whether `lcaba` may eliminate bodies in another order.
        keep: Names of joints and constraints that do not change kind.
        drop: Properties that joints may lose by closing a loop.
        seconds: Duration to search.
        progress: Called before each count.
    """
    names = _methods(robot, method)
    _check_names(robot, keep, drop)
    started = time.monotonic()
    rules = Rules(cuts, root, frozenset(keep), frozenset(drop))
    search = Search(robot, ConnectionGraph.of(robot, rules), names, above_zero(seconds, "seconds"), progress)
    search.run(ends, orders)
    changes = tuple(_changes(robot, search.best))
    taken = time.monotonic() - started
    return Optimized(robot, search.best, search.before, search.after, changes, search.counted, search.complete, taken)


def _methods(robot: Mechanism, method: str) -> Sequence[str]:
    if not isinstance(method, str):
        raise InputError(f"method is {shown(method)}, needs a name")
    if method == "auto":
        return AUTOMATIC if any(c.enabled for c in robot.constraints) else ("aba",)
    if method not in METHODS:
        known = ["auto", *get_args(ForwardMethod)]
        raise InputError(f"there is no method '{method}'{suggest(method, known)} (there are {', '.join(known)})")
    if METHODS[method].algorithm is None:
        raise InputError(f"method '{method}' has no operations to count: it is dense linear algebra")
    refused = refusal(robot, method)
    if refused is not None:
        raise InputError(f"method '{method}' cannot serve robot '{robot.name}': {refused}")
    return (method,)


def _check_names(robot: Mechanism, keep: Collection[str], drop: Collection[str]) -> None:
    drop = items(drop, "drop", f"some of {', '.join(PROPERTIES)}") if not isinstance(drop, str) else drop
    if isinstance(keep, str) or isinstance(drop, str):
        raise InputError("keep and drop are lists of names, not one name")
    known = [*robot.joint_names, *(c.name for c in robot.constraints)]
    for name in keep:
        if name not in known:
            raise InputError(f"keep names '{name}', which is neither a joint nor a constraint{suggest(name, known)}")
    for name in drop:
        if not isinstance(name, str) or name not in PROPERTIES:
            raise InputError(f"drop has {shown(name)}, needs some of {', '.join(PROPERTIES)}")


def _changes(old: Mechanism, new: Mechanism) -> Iterator[str]:
    """The differences of two mechanisms, in sentences."""
    constraints = {c.name: c for c in old.constraints}
    bound = {c.name: c for c in new.constraints}
    for name, constraint in constraints.items():
        if name in bound:
            continue
        joint = next((j for j in new.joints if j.name in (name, f"{name}:joint")), None)
        yield f"{constraint} is in the tree" + (f" as {joint.type.kind_name} joint '{joint.name}'" if joint else "")
    for body in old.body_names:
        if body not in new.inertias and body in new.frames:
            yield f"body '{body}' is part of '{new.frames[body].body}'"
    for name, constraint in bound.items():
        if name not in constraints:
            yield f"{constraint} closes a loop, with {constraint.rows} rows"
        elif isinstance(constraint, Pair) and constraint.places != constraints[name].places:
            yield f"the two places of {constraint} are exchanged"
    moved = [j for j in new.joints if j.name in old.joint_names and old.joint(j.name).child != j.child]
    turned = [f"'{joint.name}'" for joint in moved if joint.type.nv == 1]
    yield from (f"joint '{joint.name}' carries '{joint.child}'" for joint in moved if joint.type.nv > 1)
    if turned:
        yield f"joints turned around, with the same coordinates: {', '.join(turned)}"
    for joint in old.joints:
        if joint.name not in new.joint_names and not any(joint.name in name.split("+") for name in bound):
            yield f"joint '{joint.name}' ({joint.type.kind_name}) is not needed"
    if new.elimination_order != old.elimination_order:
        yield "bodies are eliminated in another order"
