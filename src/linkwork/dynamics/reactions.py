# SPDX-License-Identifier: BSD-3-Clause
"""Reactions: the wrench that every joint and constraint transmits, by name; shaking force and moment of the ground.

Newton's and Euler's equations of each body, with the inertias that users gave (plans regroup matter between bodies,
which changes no torque but every reaction), then one sum from leaves to root::

    W_j = sum over bodies b beyond joint j of (I_b a_b + v_b x* I_b v_b - weight - applied wrenches)

``W_j`` is the wrench of a joint's parent on its child: constraint forces, and motors and springs of the joint along its
axes. It is ``data.f`` of Pinocchio and ``cfrc_int`` of MuJoCo.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from linkwork.errors import InputError, UnknownName, UnsupportedFeature
from linkwork.inputs import among, at_most_three, plural
from linkwork.kernels.constrained.constraints import CONSTRAINT_WRENCHES
from linkwork.model.computed import computed_once
from linkwork.model.constraints import WORLD, Coupling, Pair
from linkwork.model.inertia import Inertia
from linkwork.model.model import Model
from linkwork.model.placement import Placement
from linkwork.plans.constraints import constrained_tree
from linkwork.plans.tree import build_tree
from linkwork.quantities.actuation import ElementStates, element_states
from linkwork.quantities.arguments import Array
from linkwork.quantities.evaluator import ProgramEvaluator
from linkwork.quantities.functions import frame_acceleration, frame_placement, frame_velocity

Axes = Literal["world", "local"]


@dataclass(frozen=True, eq=False)
class Reactions(Mapping[str, Array]):
    """Wrenches ``[moment, force]`` that joints and constraints exert on their child or second place, ``(..., 6)`` each.

    They are at the origin of the joint's frame, which is that of the child, or of the constraint's second frame. Rows
    of couplings of joints are torques, as in `Solution.forces`.

    Args:
        robot: The mechanism.
        q: Configurations, ``(..., nq)``.
        v: Joint velocities, ``(..., nv)``.
        a: Joint accelerations, ``(..., nv)``.
        multipliers: Forces of all constraints, ``(..., nc)``.
        wrenches: External wrenches by frame, in the frame's axes.
        time: Seconds, ``(...)``.
        axes: Of the wrenches: the world's, or those of the child or second frame.
        frame: A frame about whose origin, and in whose axes, wrenches are; by default none.
    """

    robot: Model
    q: Array
    v: Array
    a: Array
    multipliers: Array
    wrenches: Mapping[str, Array]
    time: npt.ArrayLike = 0.0
    axes: Axes = "world"
    frame: str = ""

    def local(self) -> Reactions:
        """A copy in the axes of children and second frames."""
        return replace(self, axes="local", frame="")

    def in_frame(self, frame: str) -> Reactions:
        """A copy about the origin of a frame, in its axes: ``reactions.in_frame("sensor")["pivot"]``.

        Args:
            frame: Name of a frame or body, or ``"world"``.
        """
        return replace(self, frame=WORLD if frame == WORLD else self.robot.frame(frame).name)

    def __iter__(self) -> Iterator[str]:
        return iter((*self.robot.joint_names, *(c.name for c in self.robot.constraints)))

    def __len__(self) -> int:
        return len(self.robot.joints) + len(self.robot.constraints)

    def __repr__(self) -> str:
        states = plural(int(np.prod(self.q.shape[:-1])), "state")
        return f"<Reactions of '{self.robot.name}' in {states}: {at_most_three(list(self))}>"

    def __getitem__(self, name: str) -> Array:
        robot = self.robot
        if name in robot.joint_names:
            child = robot.joint(name).child
            at = self._body(child) * robot.frames[child].placement.inverse()
            return self._seen(self._joints[child], self._origin(child), at)
        constraint = next((c for c in robot.constraints if c.name == name), None)
        if constraint is None:
            raise UnknownName(f"robot '{robot.name}' has no joint or constraint '{name}'{among(name, self)}")
        if isinstance(constraint, Coupling):
            rows: Array = self.multipliers[..., robot.row_slice(name)]
            return rows
        if not isinstance(constraint, Pair):
            raise UnsupportedFeature(
                f"{constraint} acts on several places: its forces are rows, solution.forces['{name}']"
            )
        only = np.zeros_like(self.multipliers)
        only[..., robot.row_slice(name)] = self.multipliers[..., robot.row_slice(name)]
        frame = robot.frames[constraint.second]
        at = self._placed(constraint.second) * constraint.frames()[1]
        wrench = self._constraint_wrenches(only)[..., self._number[frame.body], :]
        return self._seen(wrench, self._origin(frame.body), at)

    @cached_property
    def ground(self) -> Array:
        """Shaking moment and force: the wrench on the world about its origin, in its axes, ``(..., 6)``."""
        total: Array = np.zeros((*self.a.shape[:-1], 6))
        for body, wrench in self._inertial.items():
            total = total + _moved(wrench, self._origin(body), np.zeros(3))
        pushed = np.zeros_like(total)
        for name, wrench in self._external.items():
            pushed = pushed + _moved(wrench, self._placed(name).position, np.zeros(3))
        result: Array = -(total - self._weight - pushed)
        return result

    # Newton's and Euler's equations ------------------------------------------------------------------------------

    @property
    def _names(self) -> tuple[str, ...]:
        return (*self.robot.body_names, WORLD)

    @cached_property
    def _number(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self._names)}

    @cached_property
    def _places(self) -> Placement:
        return frame_placement(self.robot, self.q, self._names)

    def _origin(self, body: str) -> Array:
        origin: Array = self._places.position[..., self._number[body], :]
        return origin

    def _placed(self, frame: str) -> Placement:
        known = self.robot.frames[frame] if frame != WORLD else None
        if known is None:
            return Placement()
        if known.body == WORLD:
            return known.placement
        return self._body(known.body) * (self.robot.frames[known.body].placement.inverse() * known.placement)

    def _body(self, body: str) -> Placement:
        """The frame that users see of a body, which is at a constant place in that of its joint."""
        k = self._number[body]
        return Placement(self._places.position[..., k, :], self._places.rotation[..., k, :, :], check=False)

    @cached_property
    def _inertias(self) -> dict[str, Inertia]:
        """Inertias in the frames that users see."""
        frames = self.robot.frames
        return {body: i.moved(frames[body].placement.inverse()) for body, i in self.robot.inertias.items()}

    @cached_property
    def _inertial(self) -> dict[str, Array]:
        """Rates of momentum of bodies about their origins, in the world's axes."""
        robot, bodies = self.robot, self.robot.body_names
        twist = frame_velocity(robot, self.q, self.v, bodies, "aligned")
        rate = frame_acceleration(robot, self.q, self.v, self.a, bodies, "aligned")
        wrenches = {}
        for k, body in enumerate(bodies):
            inertia, R = self._inertias[body], self._places.rotation[..., k, :, :]
            omega, alpha = twist[..., k, :3], rate[..., k, :3]
            c = R @ inertia.com
            force = inertia.mass * (rate[..., k, 3:] + np.cross(alpha, c) + np.cross(omega, np.cross(omega, c)))
            J = R @ inertia.rotational @ np.swapaxes(R, -1, -2)
            spin = (J @ omega[..., None])[..., 0]
            moment = (J @ alpha[..., None])[..., 0] + np.cross(omega, spin) + np.cross(c, force)
            wrenches[body] = np.concatenate([moment, force], axis=-1)
        return wrenches

    @cached_property
    def _weight(self) -> Array:
        """The weight of all bodies, about the world's origin."""
        total: Array = np.zeros((*self.a.shape[:-1], 6))
        for k, body in enumerate(self.robot.body_names):
            inertia = self._inertias[body]
            at = self._places.position[..., k, :] + self._places.rotation[..., k, :, :] @ inertia.com
            total = total + _force_at(inertia.mass * self.robot.gravity, at, np.zeros(3))
        return total

    @cached_property
    def _external(self) -> dict[str, Array]:
        """External wrenches at their frames, in the world's axes."""
        wrenches = {}
        for name, wrench in self.wrenches.items():
            R = self._placed(name).rotation
            wrenches[name] = np.concatenate(
                [(R @ part[..., None])[..., 0] for part in np.split(wrench, 2, axis=-1)], axis=-1
            )
        return wrenches

    @cached_property
    def _joints(self) -> dict[str, Array]:
        """The wrench across the joint of each body, about the body's origin."""
        robot = self.robot
        applied = self._constraint_wrenches(self.multipliers)
        needed = {}
        for k, body in enumerate(robot.body_names):
            inertia, R = self._inertias[body], self._places.rotation[..., k, :, :]
            weight = _force_at(inertia.mass * robot.gravity, R @ inertia.com, np.zeros(3))
            needed[body] = self._inertial[body] - weight - applied[..., k, :]
        for name, wrench in self._external.items():
            body = robot.frames[name].body
            if body in needed:
                needed[body] = needed[body] - _moved(wrench, self._placed(name).position, self._origin(body))
        for body, wrench in self._element_wrenches():
            if body in needed:
                needed[body] = needed[body] - _moved(wrench, np.zeros(3), self._origin(body))
        for joint in reversed(robot.joints):
            if joint.parent in needed:
                moved = _moved(needed[joint.child], self._origin(joint.child), self._origin(joint.parent))
                needed[joint.parent] = needed[joint.parent] + moved
        return needed

    def _element_wrenches(self) -> Iterator[tuple[str, Array]]:
        """Wrenches of force elements on bodies, about the world's origin."""
        robot = self.robot
        states = _timed_states(robot, self.q, self.v, self.time) if robot.forces else {}
        for element in robot.forces:
            if not element.places:
                continue
            (a, at), (b, to) = element.places
            first, second = self._placed(a) * at, self._placed(b) * to
            force = states[element.name].force
            if element.coordinates == 1:
                d = second.position - first.position
                push = force * d / np.maximum(np.linalg.norm(d, axis=-1, keepdims=True), np.finfo(float).tiny)
                ends = [
                    (b, _force_at(push, second.position, np.zeros(3))),
                    (a, _force_at(-push, first.position, np.zeros(3))),
                ]
            else:
                R = (second if element.follows else first).rotation
                moment, push = ((R @ part[..., None])[..., 0] for part in np.split(force, 2, axis=-1))
                wrench = _force_at(push, second.position, np.zeros(3))
                wrench = wrench + np.concatenate([moment, np.zeros_like(moment)], axis=-1)
                ends = [(b, wrench), (a, -wrench)]
            for place, wrench in ends:
                yield (WORLD if place == WORLD else robot.frames[place].body), wrench

    def _constraint_wrenches(self, multipliers: Array) -> Array:
        """Wrenches of constraints on bodies and the world about their origins, in the world's axes, ``(..., n, 6)``."""
        robot, names = self.robot, self._names
        if not robot.nc:
            return np.zeros((*self.a.shape[:-1], len(names), 6))
        evaluator, frames, numbers = _wrench_evaluator(robot)
        wrenches = evaluator(self.q, multipliers)
        result = []
        for k, name in enumerate(names):
            inner = frames[numbers[name]]
            if name != WORLD:
                inner = robot.frames[name].placement.inverse() * inner
            R = self._places.rotation[..., k, :, :] @ inner.rotation
            moment, force = (
                (R @ part[..., None])[..., 0] for part in np.split(wrenches[..., numbers[name], :], 2, axis=-1)
            )
            arm = (self._places.rotation[..., k, :, :] @ inner.position[:, None])[..., 0]
            result.append(np.concatenate([moment + np.cross(arm, force), force], axis=-1))
        return np.stack(result, axis=-2)

    def _seen(self, wrench: Array, origin: Array, own: Placement) -> Array:
        """A wrench at the requested place and in the requested axes; ``own`` is the place that it acts at."""
        at = self._placed(self.frame) if self.frame else own
        moved = _moved(wrench, origin, at.position)
        if self.axes == "world" and not self.frame:
            return moved
        R = np.swapaxes(at.rotation, -1, -2)
        parts = [(R @ part[..., None])[..., 0] for part in np.split(moved, 2, axis=-1)]
        turned: Array = np.concatenate(np.broadcast_arrays(*parts), axis=-1)
        return turned


def reactions(
    robot: Model,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    a: npt.ArrayLike,
    multipliers: npt.ArrayLike | None = None,
    *,
    wrenches: Mapping[str, npt.ArrayLike] | None = None,
    time: npt.ArrayLike | None = None,
    axes: Axes = "world",
) -> Reactions:
    """The wrench of every joint and constraint in a motion, by name: ``reactions(...)["pivot"]``.

    Static reactions are those of a robot at rest. Leading axes are batch axes.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        v: Joint velocities, ``(..., nv)``.
        a: Joint accelerations, ``(..., nv)``: of forward dynamics, or those given to inverse dynamics.
        multipliers: Forces of all constraints, ``(..., nc)``: `Solution.multipliers`; by default zero.
        wrenches: External wrenches by frame, ``(..., 6)`` each, in the frame's axes.
        time: Seconds, ``(...)``, for force elements that depend on it; by default the robot's.
        axes: Of the wrenches: ``"world"``, or ``"local"``, those of children and second frames.
    """
    if axes not in ("world", "local"):
        raise InputError(f"axes is {axes!r}, needs 'world' or 'local'")
    unknown = "gravity compensation" if robot.gravity_compensation else ""
    if any(t.is_spatial and (t.is_passive or any(x.tendon == t.name for x in robot.actuators)) for t in robot.tendons):
        unknown = "a spatial tendon that pulls"
    if unknown:
        raise UnsupportedFeature(f"reactions of '{robot.name}' do not include the forces on bodies of {unknown}")
    arrays = [np.asarray(x, dtype=np.float64) for x in (q, v, a)]
    lead = np.broadcast_shapes(*(x.shape[:-1] for x in arrays))
    at, rate, moved = (np.broadcast_to(x, (*lead, x.shape[-1])) for x in arrays)
    forces = np.zeros(robot.nc) if multipliers is None else np.asarray(multipliers, dtype=np.float64)
    pushed = {robot.frame(name).name: np.asarray(x, dtype=np.float64) for name, x in (wrenches or {}).items()}
    held = np.broadcast_to(forces, (*lead, robot.nc))
    return Reactions(robot, at, rate, moved, held, pushed, robot.time if time is None else time, axes)


def _timed_states(robot: Model, q: Array, v: Array, time: npt.ArrayLike) -> dict[str, ElementStates]:
    """States of force elements at some times."""
    if not any(element.timed for element in robot.forces):
        return element_states(robot, q, v)
    return element_states(robot, q, v, time=time)


@computed_once
def _wrench_evaluator(robot: Model) -> tuple[ProgramEvaluator, list[Placement], dict[str, int]]:
    """The evaluator of constraint wrenches in the kernels' frames, these frames, and numbers of bodies."""

    def plan(model: Model, frames: Sequence[str]) -> Any:
        return constrained_tree(model, frames)

    _, bodies = build_tree(robot)
    return ProgramEvaluator(robot, "constraint_wrenches", CONSTRAINT_WRENCHES, plan), bodies.frames, bodies.number


def _force_at(force: Array, at: Array, about: Array) -> Array:
    """The wrench of a force at a point, about another."""
    return np.concatenate(np.broadcast_arrays(np.cross(at - about, force), force), axis=-1)


def _moved(wrench: Array, at: Array, to: Array) -> Array:
    """A wrench about one point, about another."""
    moment, force = wrench[..., :3], wrench[..., 3:]
    return np.concatenate(np.broadcast_arrays(moment + np.cross(at - to, force), force), axis=-1)
