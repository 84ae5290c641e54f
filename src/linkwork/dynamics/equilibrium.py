# SPDX-License-Identifier: BSD-3-Clause
"""Static equilibria: the pose nearest to a given one at which springs, motors and constraints carry a robot's weight.

This is the function behind `Mechanism.equilibrium`. With ``need(q)`` the torques that gravity asks for less those of
springs of joints and tendons, ``B`` the columns of driven joints and ``J`` the rows of enabled constraints, it
finds ``q``, ``tau`` and ``lambda`` with::

    need(q) = B tau + J(q)' lambda,    error(q) = 0

There are many: motors that work against each other through loops can hold springs at almost any length, with torques
that no motor has. What is chosen among them, at the geometry of the pose at hand:

1. Springs of joints without a motor may push as motors do. Least is ``|tau|² + |load y|²``, with ``y`` how far the
   robot has to move from the given pose for that (rad or m) and ``load`` the largest torque of a motor or spring that
   is needed anyhow: stiff springs settle, while one so weak that it would move the robot by much stays, and motors
   carry what it does not.
2. What neither motors nor springs can carry (a pendulum on an arm, a rod that may spin) falls until it hangs.
3. The pose is the nearest to the given one at which loops are closed, springs have these lengths, and what falls has
   fallen so far.

Repeated until poses converge; Newton's method on all equations at once then makes the balance exact. It uses
dense linear algebra: it prepares a state, not a control loop.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linkwork.closure.assembly import assemble
from linkwork.closure.assembly_problem import which_enabled
from linkwork.dynamics.inverse_solution import InverseSolution, driven_dofs
from linkwork.dynamics.thresholds import BALANCED, EQUILIBRIUM_RANK, INDIFFERENT, NEWTON_RANK, SETTLED
from linkwork.errors import InputError, NotConverged
from linkwork.inputs import count
from linkwork.model.arrays import Floats
from linkwork.model.model import Model
from linkwork.plans.tree import tree_of
from linkwork.quantities.actuation import element_forces, tendon_forces
from linkwork.quantities.functions import (
    constraint_error,
    constraint_jacobian,
    gravity_forces,
    mass_matrix,
    passive_forces,
)

SHIFT = 1e-3
"""In rad and m: how far poses are moved to see how torques change."""
STRIDE = 0.3
"""In rad and m: no step is longer."""
PATIENCE = 3
"""Steps of Newton's method without progress that are allowed."""


@dataclass(frozen=True)
class Equilibrium(InverseSolution):
    """A static pose and its loads: `torque` of motors, `forces` of constraints."""

    q: Floats
    """The pose, ``(nq,)``."""
    missing: float
    """The largest unbalanced torque that is rounding."""


class _Balance:
    """The equations of static equilibrium of a robot."""

    def __init__(self, robot: Model) -> None:
        self.robot = robot
        self.rows = np.flatnonzero(which_enabled(robot))
        self.motors = driven_dofs(robot)
        tree = tree_of(robot)
        settling = ~np.isin(tree.spring_v, self.motors)
        self.springs = tree.spring_v[settling]
        self.stiffness = tree.stiffness[settling]
        self.still = np.zeros(robot.nv)

    def need(self, q: Floats) -> Floats:
        """Torques that motors and constraints have to make, ``(..., nv)``."""
        result: Floats = gravity_forces(self.robot, q) - passive_forces(self.robot, q, self.still)
        if self.robot.tendons:
            result -= tendon_forces(self.robot, q, self.still)
        if self.robot.forces:
            result -= element_forces(self.robot, q, self.still)
        return result

    def jacobian(self, q: Floats) -> Floats:
        result: Floats = constraint_jacobian(self.robot, q)[..., self.rows, :]
        return result

    def error(self, q: Floats) -> Floats:
        result: Floats = constraint_error(self.robot, q)[self.rows]
        return result

    def spring_torques(self, q: Floats) -> Floats:
        """Of the springs that settle."""
        result: Floats = passive_forces(self.robot, q, self.still)[self.springs]
        return result

    def slope(self, q: Floats, forces: Floats) -> Floats:
        """The derivative of ``need - J' lambda`` by the configuration, ``(nv, nv)``, by central differences."""
        steps = SHIFT * np.concatenate([np.eye(self.robot.nv), -np.eye(self.robot.nv)])
        moved = self.robot.integrate(q, steps)
        left = self.need(moved) - forces @ self.jacobian(moved)
        n = self.robot.nv
        result: Floats = (left[:n] - left[n:]).T / (2 * SHIFT)
        return result

    def carried(self, q: Floats) -> tuple[Floats, Floats]:
        """The smallest torques of motors, and forces of constraints, that balance as much as can be."""
        J, need = self.jacobian(q), self.need(q)
        freedom = null_space(J)
        torque = np.zeros(self.robot.nv)
        torque[self.motors] = _least(freedom.T[:, self.motors], freedom.T @ need)
        return torque, _least(J.T, need - torque)


def equilibrium(robot: Model, q: npt.ArrayLike | None = None, *, max_iterations: int = 100) -> Equilibrium:
    """The static equilibrium nearest to ``q``: pose, torques of motors and forces of constraints.

    Loops, and feet that constraints hold, stay closed; springs of joints without a motor settle; motors carry the rest,
    with the least torques where there is a choice; unsupported bodies settle where they hang. Stops and dry friction of
    joints carry no load. Stability is not checked.

    Args:
        robot: The mechanism, with constraints that hold it where it stands on something.
        q: A configuration, ``(nq,)``; its loops are closed first. Default: neutral.
        max_iterations: Of poses that are tried. Where they do not end in balance, `NotConverged` is raised, and names
            the joint that lacks most.
    """
    balance = _Balance(robot)
    start = assemble(robot, q, limits=False).q
    if start.ndim != 1:
        raise InputError(f"equilibrium: q has shape {start.shape}, needs ({robot.nq},): one state")
    at = start
    most = count(max_iterations, "max_iterations")
    for _ in range(most):
        step = _settling_step(balance, start, at)
        at = robot.integrate(at, step)
        if np.abs(step).max(initial=0.0) <= SETTLED:
            break
    at, torque, forces, missing = _balanced(balance, at, most)
    worst = float(np.abs(missing).max(initial=0.0))
    pulls = np.vstack([balance.need(start), gravity_forces(robot, at), balance.slope(at, forces)])
    if not worst <= BALANCED * float(np.abs(pulls).max(initial=0.0)):
        k = int(np.abs(missing).argmax())
        joint = next(j for j in robot.joints if k < robot.v_slice(j.name).stop)
        raise NotConverged(
            f"no pose of '{robot.name}' near this one is in static equilibrium: joint '{joint.name}' lacks "
            f"{abs(missing[k]):.3g} N m (or N). Hold its feet by constraints, robot.constrained(...), or add "
            "motors, robot.with_actuators(...)"
        )
    multipliers = np.zeros(robot.nc)
    multipliers[balance.rows] = forces
    still = np.zeros(robot.nv)
    return Equilibrium(torque, still, multipliers, robot, at, worst, state=(at, still))


def _settling_step(balance: _Balance, start: Floats, q: Floats) -> Floats:
    """The step to the nearest pose at which springs have the lengths of the least torques."""
    robot, springs, m = balance.robot, balance.springs, len(balance.motors)
    before = balance.spring_torques(start)
    now = balance.spring_torques(q)
    unsprung = balance.need(q)
    unsprung[springs] += now
    wanted = unsprung.copy()
    wanted[springs] -= before
    J = balance.jacobian(q)
    freedom = null_space(J)
    able = freedom.T[:, np.concatenate([balance.motors, springs])]
    load = float(np.abs(_least(able, freedom.T @ unsprung)).max(initial=0.0))
    # Springs are moved by d if joints move by freedom y, at least by |y| = |(S S')^-1/2 d| with S = freedom[springs],
    # which counts as a torque of load |y|: stiff springs are able, as are those that move readily.
    reach, axes = np.linalg.eigh(freedom[springs] @ freedom[springs].T)
    root = axes * np.sqrt(np.maximum(reach, 0.0)) @ axes.T
    ease = np.eye(m + len(springs))
    ease[m:, m:] = balance.stiffness[:, None] * root / (load or 1.0)
    pushed = ease @ _least(able @ ease, freedom.T @ wanted)
    wanted[balance.motors] -= pushed[:m]
    wanted[springs] -= pushed[m:]
    give = (now - before - pushed[m:]) / balance.stiffness
    # What nothing can carry falls, in the motions `idle` that move neither motors nor springs: a step of Newton's
    # method toward less potential energy, whose slope there is `left` and whose curvature is H; a full stride where
    # there is a slope alone, as of a pendulum that is held level.
    idle = freedom @ null_space(able.T)
    left = idle.T @ wanted
    H = idle.T @ balance.slope(q, _least(J.T, wanted)) @ idle
    curvature, modes = np.linalg.eigh(0.5 * (H + H.T))
    least, slope = INDIFFERENT * float(np.abs(unsprung).max(initial=0.0)), modes.T @ left
    curved = np.abs(curvature) > least
    straight = np.where(np.abs(slope) > least, STRIDE * np.sign(slope), 0.0)
    fall = _no_longer(-modes @ np.where(curved, slope / np.where(curved, np.abs(curvature), 1.0), straight))
    # The nearest pose to the start with closed loops, springs that give so far, and what falls where it falls.
    A = np.concatenate([J, np.eye(robot.nv)[springs], idle.T])
    away = robot.difference(start, q)
    b = np.concatenate([-balance.error(q), give, fall])
    return _no_longer(_least(A, b + A @ away) - away)


def _no_longer(step: Floats) -> Floats:
    """A step of `STRIDE` at most."""
    longest = float(np.abs(step).max(initial=0.0))
    return step if longest <= STRIDE else step * (STRIDE / longest)


def _balanced(balance: _Balance, q: Floats, max_iterations: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Newton's method on all equations at once: the pose, torques, forces, and the residual.

    It ends where rounding does: of the poses that it passes, that of the smallest accelerations is taken.
    """
    robot, motors, n = balance.robot, balance.motors, balance.robot.nv
    m, c = len(motors), len(balance.rows)
    best, size, idle = (q, *balance.carried(q), np.zeros(n)), np.inf, 0
    for _ in range(max_iterations):
        torque, forces = balance.carried(q)
        J = balance.jacobian(q)
        left, error = balance.need(q) - torque - J.T @ forces, balance.error(q)
        freedom = null_space(J)
        accelerations = freedom @ _least(freedom.T @ mass_matrix(robot, q) @ freedom, freedom.T @ left)
        now = float(np.abs(np.concatenate([accelerations, error])).max(initial=0.0))
        idle = 0 if now < 0.5 * size else idle + 1
        if now < size:
            best, size = (q, torque, forces, left), now
        if idle > PATIENCE or size == 0.0:
            break
        A = np.zeros((n + c, n + m + c))
        A[:n, :n], A[:n, n : n + m], A[:n, n + m :] = balance.slope(q, forces), -np.eye(n)[:, motors], -J.T
        A[n:, :n] = J
        q = robot.integrate(q, _no_longer(_least(A, -np.concatenate([left, error]), NEWTON_RANK)[:n]))
    return best


def _least(A: Floats, b: Floats, rank: float = EQUILIBRIUM_RANK) -> Floats:
    """The shortest ``x`` of least ``|A x - b|``."""
    if 0 in A.shape:
        return np.zeros(A.shape[1])
    result: Floats = np.asarray(np.linalg.lstsq(A, b, rcond=rank)[0], dtype=np.float64)
    return result


def null_space(A: Floats) -> Floats:
    """An orthonormal basis of the null space of ``A``, in columns."""
    if 0 in A.shape:
        return np.eye(A.shape[1])
    _, s, Vt = np.linalg.svd(A)
    rank = int((s > EQUILIBRIUM_RANK * max(1.0, s[0])).sum())
    result: Floats = Vt[rank:].T
    return result
