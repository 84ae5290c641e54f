"""Steps around any method of forward dynamics, and in minimal coordinates.

The stages of a step are called one by one from Python: much slower than `Stepper`, for comparing methods and
for loops that may not open at all. What joints do by themselves and what turns are, is the text of `algorithms.motion`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from linkwork.closure.minimal import Minimal
from linkwork.dynamics.forward import ForwardDynamics
from linkwork.inputs import Auto, ForwardMethod, Integrator
from linkwork.kernels.steps import DOPRI5, RK4, Scheme, act, follow_velocity, go, rate
from linkwork.model.model import Model
from linkwork.plans.tree import Tree, tree_of
from linkwork.quantities.evaluator import Array
from linkwork.quantities.functions import actuator_torques, gravity_compensation

SCHEMES: dict[str, Scheme] = {"rk4": RK4, "dopri5": DOPRI5}


class Flow(NamedTuple):
    """How a state changes: velocities of all joints, rates of the state's own speeds, forces of constraints."""

    v: Array
    change: Array
    forces: Array


class Dynamics(Protocol):
    """A state ``q, y`` that moves: ``y`` are velocities, all of them or those that are free."""

    robot: Model

    def closed(self, q: Array) -> Array:
        """Where a configuration is that a step has led to."""

    def speeds(self, v: Array) -> Array:
        """``y`` of the velocities of all joints."""

    def velocity(self, q: Array, y: Array) -> Array:
        """Velocities of all joints."""

    def flow(self, q: Array, y: Array, v: Array, torque: Array, wrenches: Array | None) -> Flow:
        """At a closed configuration."""


class AllJoints:
    """Velocities of all joints, by a method of `ForwardDynamics`."""

    def __init__(self, robot: Model, method: ForwardMethod | Auto, wrenches: Sequence[str] = ()) -> None:
        self.robot = robot
        self._dynamics = ForwardDynamics(robot, method, wrenches=wrenches)

    def closed(self, q: Array) -> Array:
        """As it is."""
        return q

    def speeds(self, v: Array) -> Array:
        """All of them."""
        return v

    def velocity(self, q: Array, y: Array) -> Array:
        """The same."""
        return y

    def flow(self, q: Array, y: Array, v: Array, torque: Array, wrenches: Array | None) -> Flow:
        """Accelerations and forces."""
        found = self._dynamics(q, v, torque, wrenches)
        forces = found.multipliers
        return Flow(v, found.acceleration, np.zeros(self.robot.nc) if forces is None else forces)


class FreeJoints:
    """Minimal coordinates: speeds of the free degrees of freedom, loops closed at every stage."""

    def __init__(self, robot: Model, wrenches: Sequence[str] = ()) -> None:
        self.robot = robot
        self.minimal = Minimal(robot)
        method: ForwardMethod = "cluster" if self.minimal.ny < robot.nv else "aba"
        self._dynamics = ForwardDynamics(robot, method, wrenches=wrenches)

    def closed(self, q: Array) -> Array:
        """The tied joints put where the free ones want them."""
        return self.minimal.complete(q)

    def speeds(self, v: Array) -> Array:
        """Those of the free degrees of freedom."""
        found: Array = v[..., self.minimal.index]
        return found

    def velocity(self, q: Array, y: Array) -> Array:
        """With those of the tied joints."""
        return self.minimal.velocity(q, y)

    def flow(self, q: Array, y: Array, v: Array, torque: Array, wrenches: Array | None) -> Flow:
        """Accelerations of the free degrees of freedom."""
        found = self._dynamics(q, v, torque, wrenches)
        forces = found.multipliers
        none = np.zeros(self.robot.nc)
        return Flow(v, found.acceleration[..., self.minimal.index], none if forces is None else forces)


class Staged:
    """Steps of one integrator around some dynamics, under constant ``wrenches``.

    Torques are those given, those of the ``law`` of joints, of gravity compensation, and of servos under commands.
    """

    def __init__(self, dynamics: Dynamics, integrator: Integrator, law: Array, wrenches: Array | None = None) -> None:
        self.dynamics, self.integrator, self.law, self.wrenches = dynamics, integrator, law, wrenches
        self._tree: Tree = tree_of(dynamics.robot)

    def step(
        self, q: Array, y: Array, tau: Array, h: float, commands: Array | None = None
    ) -> tuple[Array, Array, Array, Array]:
        """``q``, speeds, constraint forces and error estimates ``(2, nv)`` after one step of the time ``h``."""
        if self.integrator == "euler":
            return self._euler(q, y, tau, h, commands)
        return self._runge_kutta(SCHEMES[self.integrator], q, y, tau, h, commands)

    def _euler(
        self, q: Array, y: Array, tau: Array, h: float, commands: Array | None
    ) -> tuple[Array, Array, Array, Array]:
        """Speeds, then positions along the new velocities."""
        found = self._flow(q, y, tau, h, commands)
        y1 = y + h * found.change
        q1 = np.empty_like(q)
        follow_velocity(self._tree, q, self.dynamics.velocity(q, y1), h, q1)
        return self.dynamics.closed(q1), y1, found.forces, np.zeros((2, self.dynamics.robot.nv))

    def _runge_kutta(
        self, scheme: Scheme, q: Array, y: Array, tau: Array, h: float, commands: Array | None
    ) -> tuple[Array, Array, Array, Array]:
        """Stages on the rotation vectors of turns, as in `algorithms.motion.runge_kutta`."""
        n, nv = len(scheme.b), self.dynamics.robot.nv
        X, Y = np.zeros((n, nv)), np.zeros((n, len(y)))
        found = None
        for s in range(n):
            x, z = h * (np.array(scheme.a[s]) @ X), y + h * (np.array(scheme.a[s]) @ Y)
            at = self._gone(q, x)
            found = self._flow(at, z, tau, 0.0, commands)
            rate(self._tree, at, x, found.v, X[s])
            Y[s] = found.change
        assert found is not None
        b, e = np.array(scheme.b), np.array(scheme.e)
        off = np.zeros((2, nv))
        off[0], off[1, : len(y)] = h * (e @ X), h * (e @ Y)
        return self._gone(q, h * (b @ X)), y + h * (b @ Y), found.forces, off

    def _flow(self, q: Array, y: Array, tau: Array, ahead: float, commands: Array | None) -> Flow:
        robot = self.dynamics.robot
        v, torque = self.dynamics.velocity(q, y), np.empty(robot.nv)
        act(self._tree, q, v, tau, self.law, ahead, torque)
        if robot.gravity_compensation:
            torque += gravity_compensation(robot, q)
        if commands is not None:
            torque += actuator_torques(robot, q, v, commands)
        return self.dynamics.flow(q, y, v, torque, self.wrenches)

    def _gone(self, q: Array, x: Array) -> Array:
        q1 = np.empty_like(q)
        go(self._tree, q, x, q1)
        return self.dynamics.closed(q1)
