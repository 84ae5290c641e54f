"""Steps of integrators for one robot: what simulation is made of, and what to hold on to for a loop of one's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from linkwork.algorithms.algorithm import Algorithm
from linkwork.algorithms.motion import DAMPING as LAW_DAMPING
from linkwork.algorithms.motion import LOWER, REST, STEPS, STIFFNESS, STOP_DAMPING, STOP_STIFFNESS, UPPER
from linkwork.dynamics import Array, Evaluator, mass_matrix
from linkwork.errors import InputError
from linkwork.forward import DAMPING, row_damping
from linkwork.inputs import above_zero, count
from linkwork.literals import Auto, Integrator, TimeConstant
from linkwork.mechanism import Mechanism
from linkwork.plans.elimination import coupled_tree
from linkwork.plans.tree import tree_of

INTEGRATORS: Mapping[str, int] = MappingProxyType({"euler": 1, "rk4": 4, "dopri5": 5})
"""Integrators and their orders."""

AUTO: Auto = "auto"
TIME_CONSTANT = 0.005
"""Seconds in which open loops close again, where steps are not longer than half of this."""
STOP_TIME = 0.01
"""Seconds in which a stop catches a joint that carries nothing but its own inertia."""
BEYOND = 1e30
"""A limit that no joint reaches."""


class Stepped(NamedTuple):
    """Where steps have led. Leading axes are those of the batch."""

    q: Array
    v: Array
    multipliers: Array
    """Forces of the constraints in the last step, ``(..., nc)``."""
    steps: Array
    """Steps after which everything was finite."""
    error: Array
    """Estimates of the last step's error in q and v, ``(..., 2, nv)``; zero for integrators that have none."""


class Stepper(Evaluator):
    """Steps in time: ``Stepper(robot)(q, v, tau, steps=10).q``.

    | integrator | what it is                                                                                        |
    |------------|---------------------------------------------------------------------------------------------------|
    | ``euler``  | semi-implicit Euler: velocities, then positions along the new velocities; first order, robust      |
    | ``rk4``    | Runge and Kutta's method, on Lie groups; fourth order                                             |
    | ``dopri5`` | Dormand and Prince's method, on Lie groups; fifth order, with an estimate of its error             |

    Args:
        robot: The mechanism.
        integrator: How steps are made, see above.
        dt: Time of one step, in seconds.
        time_constant: Seconds in which constraints without gains of their own are pulled back to closed loops;
            ``"auto"``: 5 ms, or two steps if that is more; None: they are not.
        passive: Whether springs and dampers of the model's joints act. ``euler`` takes them as they are at the end of a
            step, so that stiff ones do no harm.
        limits: Whether joint limits are stops: springs and dampers that act beyond them, stiff enough to catch in 10 ms
            the inertia that the joint feels at ``at``, and soft enough to give way.
        damping: Damping of the proximal iterations, as for `ForwardDynamics`.
        iterations: Iterations of the constraint forces; by default one for ``euler``, three for the others.
        at: Configuration that stops are made for, ``(nq,)``; by default the neutral one.
        threads: Threads that share a large batch; by default as many as there are cores.
    """

    def __init__(
        self,
        robot: Mechanism,
        integrator: Integrator = "euler",
        dt: float = 1e-3,
        *,
        time_constant: TimeConstant = AUTO,
        passive: bool = True,
        limits: bool = True,
        damping: float = DAMPING,
        iterations: int | None = None,
        at: npt.ArrayLike | None = None,
        threads: int | None = None,
    ) -> None:
        if not isinstance(robot, Mechanism):
            raise InputError(f"robot is {type(robot).__name__}, needs a Mechanism (from load, Builder or compose)")
        if integrator not in INTEGRATORS:
            raise InputError(f"no integrator {integrator!r}; there are {', '.join(INTEGRATORS)}")
        self.integrator, self.dt = integrator, above_zero(dt, "dt")
        self.damping = above_zero(damping, "damping")
        bound = any(c.enabled for c in robot.constraints)
        wanted = (1 if integrator == "euler" else 3) if iterations is None else count(iterations, "iterations")
        dynamics = f"lcaba{wanted}" if bound else "aba"
        if (integrator, dynamics) not in STEPS:
            known = sorted(int(d[5:]) for i, d in STEPS if i == integrator and d != "aba")
            raise InputError(f"iterations is {wanted}; {integrator} has {' or '.join(map(str, known))}")
        self.law = joint_law(robot, passive, limits, robot.neutral() if at is None else at)
        stable = stabilised(robot, time_constant, self.dt) if bound else robot.unconstrained()
        if integrator == "euler" and passive:
            stable = held_back(stable, self.dt)
        tree = coupled_tree(stable) if bound else tree_of(stable)
        self.source = robot
        self._prepare(stable, f"{integrator} step", self._algorithm(integrator, dynamics), tree, (), threads)

    def _algorithm(self, integrator: Integrator, dynamics: str) -> Algorithm:
        """What makes the steps."""
        return STEPS[integrator, dynamics]

    def _be(self, runner: Any, dtype: str) -> None:
        super()._be(runner, dtype)
        self._R = row_damping(self.robot, self.damping, dtype)
        self._still = np.zeros(self.robot.nv, dtype=dtype)
        self._law = self.law.astype(dtype)
        self._clock = np.array([self.dt], dtype=dtype)

    def __call__(  # type: ignore[override]
        self, q: npt.ArrayLike, v: npt.ArrayLike, tau: npt.ArrayLike | None = None, steps: int = 1
    ) -> Stepped:
        """The state after some steps under constant torques. Leading axes are batch axes and broadcast.

        Args:
            q: Configuration, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
            tau: Joint torques, ``(..., nv)``; by default none.
            steps: How many steps.
        """
        given = [q, v, self._still if tau is None else tau, self._law, self._R, self._clock]
        if self.integrator == "dopri5":
            if steps != 1:
                raise InputError("dopri5 takes one step at a time: how long the next one is depends on its error")
            q1, v1, found, off, progress = self._runner.evaluate(given, [None] * 5)
        else:
            n = self._often(count(steps, "steps"))
            q1, v1, found, progress = self._runner.evaluate([*given, n], [None] * 4)
            off = np.zeros((*v1.shape[:-1], 2, v1.shape[-1]), dtype=self._dtype)
        return Stepped(q1, v1, found[..., 2 : 2 + self.robot.nc], progress[..., 1] - 1.0, off)

    def _often(self, steps: int) -> Array:
        """The settings for so many steps."""
        return np.array([0.0, steps + 1.0], dtype=self._dtype)


def stabilised(robot: Mechanism, time_constant: TimeConstant, dt: float) -> Mechanism:
    """The robot with constraints that pull open loops closed, where they have no gains of their own."""
    if time_constant is None:
        return robot
    time = max(TIME_CONSTANT, 2 * dt) if time_constant == AUTO else above_zero(time_constant, "time_constant")
    if time < 2 * dt:
        raise InputError(
            f"time_constant is {time:g} s: loops that are to close in less than two steps ({2 * dt:g} s) overshoot"
        )
    pulled = tuple(c if any(c.gains or ()) else replace(c, gains=None, time_constant=time) for c in robot.constraints)
    return replace(robot, constraints=pulled)


def held_back(robot: Mechanism, h: float) -> Mechanism:
    """The robot with the armature that springs and dampers are to a step of the time ``h`` that ends in them."""
    joints = []
    for joint in robot.joints:
        k = robot.v_slice(joint.name)
        springs = robot.stiffness[k] if joint.type.nq == joint.type.nv else 0.0
        joints.append(replace(joint, armature=robot.armature[k] + h * robot.damping[k] + h * h * springs))
    return replace(robot, joints=tuple(joints))


def joint_law(robot: Mechanism, passive: bool, limits: bool, at: npt.ArrayLike) -> Array:
    """What joints do by themselves: a row of the law of `algorithms.motion` for each degree of freedom."""
    law = np.zeros((robot.nv, 7))
    law[:, LOWER], law[:, UPPER] = -BEYOND, BEYOND
    if passive:
        law[:, LAW_DAMPING], law[:, STIFFNESS] = robot.damping, robot.stiffness
    plain = [j for j in robot.joints if j.type.nq == j.type.nv and j.type.nv > 0]
    for joint in plain:
        law[robot.v_slice(joint.name), REST] = joint.rest
    if limits and plain:
        inertia = 1.0 / np.diagonal(np.linalg.inv(mass_matrix(robot, at)))
        for joint in plain:
            k, i = robot.v_slice(joint.name), robot.q_slice(joint.name)
            low, high = robot.lower[i], robot.upper[i]
            stopped = np.isfinite(low) | np.isfinite(high)
            law[k, LOWER] = np.where(np.isfinite(low), low, -BEYOND)
            law[k, UPPER] = np.where(np.isfinite(high), high, BEYOND)
            law[k, STOP_STIFFNESS] = np.where(stopped, inertia[k] / STOP_TIME**2, 0.0)
            law[k, STOP_DAMPING] = np.where(stopped, 2 * inertia[k] / STOP_TIME, 0.0)
    return law
