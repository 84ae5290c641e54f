# SPDX-License-Identifier: BSD-3-Clause
"""`linearize`: the motion of a robot near a state, as the matrices A and B of a linear system.

| symbol | meaning                                                                                          |
|--------|--------------------------------------------------------------------------------------------------|
| dq, dv | a change of the state: ``dq`` in the tangent space at ``q``                                        |
| x      | coordinates of such a change: all joints, or as many as loops leave free                           |
| T      | `Linearization.basis`: ``(dq, dv) = T x``; keeps loops closed, in position and in velocity            |
| L      | its inverse on these changes: ``x = L (dq, dv)``, held over a step                                 |
| N      | motions that loops allow, ``J N = 0``                                                            |
| H      | what velocities have to change by with the configuration: ``J H = -d(J v)/dq N``                   |

With ``A'`` the derivatives of all joints, ``A = L A' T`` and ``B = L B'``, where ``T = [[N, 0], [H, N]]``.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from linkwork.closure.assembly_problem import which_enabled
from linkwork.closure.clusters import dof_names
from linkwork.closure.minimal import Minimal
from linkwork.closure.mobility import state_warning
from linkwork.closure.thresholds import RANK
from linkwork.conversions import converted
from linkwork.dynamics.forward import ForwardDynamics
from linkwork.errors import InputError, StateWarning
from linkwork.inputs import ContactLaw, Integrator, Quantity, among, float_array, plural
from linkwork.model.checks import check_robot
from linkwork.model.joints import Free, Planar, Spherical
from linkwork.model.model import Model
from linkwork.plans.clusters import enabled_rows
from linkwork.plans.tree import tree_of
from linkwork.quantities.arguments import Array
from linkwork.quantities.evaluator import Evaluator
from linkwork.quantities.functions import constraint_jacobian, passive_forces
from linkwork.simulation.stepper import Stepper

Coordinates = Literal["auto", "all", "minimal", "projected"]


@dataclass(frozen=True, eq=False)
class Linearization:
    """A linear system near a state: ``x' = A x + B u`` in time, or ``x1 = A x + B u`` over a step.

    ``x`` are changes of positions, then of velocities, in `coordinates`; ``u`` changes of torques of all joints.
    """

    A: Array
    """``(2 m, 2 m)``."""
    B: Array
    """``(2 m, nv)``, by joint torques."""
    B_commands: Array | None
    """``(2 m, actuators)``, by commands of the actuators: over a step, where commands were given."""
    basis: Array
    """``T``: changes of the state of all joints, ``(2 nv, 2 m)``: ``(dq, dv) = basis @ x``."""
    inverse: Array
    """``L``: ``x = inverse @ (dq, dv)``, ``(2 m, 2 nv)``."""
    coordinates: tuple[str, ...]
    """Names of the ``m`` coordinates: degrees of freedom, or ``mode 0`` and so on where these are projected."""
    space: Literal["all", "minimal", "projected"]
    """Kind of coordinates: all degrees of freedom, the independent ones of loops, or modes, motions that loops
    allow."""
    dt: float | None
    """Seconds of the step; None: the system is continuous in time."""
    rate: Array
    """Drift of the state, ``(2 m,)``: its rate, or its change over the step; zero at an equilibrium."""

    def __repr__(self) -> str:
        time = "continuous" if self.dt is None else f"step of {self.dt:g} s"
        return (
            f"<Linearization, {time}, {plural(len(self.coordinates), 'coordinate')} ({self.space}), A {self.A.shape}>"
        )


@converted
def linearize(
    robot: Model,
    q: npt.ArrayLike,
    v: npt.ArrayLike | None = None,
    tau: npt.ArrayLike | None = None,
    dt: float | None = None,
    *,
    coordinates: Coordinates = "auto",
    integrator: Integrator = "euler",
    commands: npt.ArrayLike | None = None,
    passive: bool = True,
    contact: ContactLaw = None,
) -> Linearization:
    """The linear system that a robot is near a state, for LQR, MPC and stability: exact derivatives, no differences.

    Without ``dt`` it is continuous in time, ``A = [[dq'/dq, 1], [da/dq, da/dv]]``; with it, that of a simulation step.
    Where loops bind the robot, coordinates are those that stay free (`Linearization.space`): changes of the state then
    keep loops closed.

    Args:
        robot: The mechanism.
        q: Configuration, ``(nq,)``, with closed loops.
        v: Joint velocities, ``(nv,)``, that keep loops closed; by default at rest.
        tau: Joint torques, ``(nv,)``; by default none.
        dt: Seconds of a step; by default the system is continuous.
        coordinates: ``"all"`` degrees of freedom, loops or not; ``"minimal"``: the independent ones (`Minimal`);
            ``"projected"``: an orthonormal basis of the motions that loops allow, which has no dead centers. By
            default ``"minimal"`` where loops bind the robot, else ``"all"``.
        integrator: Of the step, see `Stepper`.
        commands: Commands of the actuators during the step, ``(actuators,)``.
        passive: Whether springs and dampers of joints and tendons act, and gravity compensation.
        contact: Whether contacts act in the step, as for `Stepper`; the continuous system knows none.
    """
    check_robot(robot)
    at = float_array(q, "q")
    rate = np.zeros(robot.nv) if v is None else float_array(v, "v")
    torque = np.zeros(robot.nv) if tau is None else float_array(tau, "tau")
    for name, x, size in (("q", at, robot.nq), ("v", rate, robot.nv), ("tau", torque, robot.nv)):
        if x.shape != (size,):
            raise InputError(f"linearize: {name} has shape {x.shape}, needs ({size},): one state")
    if coordinates not in ("auto", "all", "minimal", "projected"):
        raise InputError(f"no coordinates '{coordinates}'{among(coordinates, ('auto', 'all', 'minimal', 'projected'))}")
    bound = bool(enabled_rows(robot))
    space: Any = ("minimal" if bound else "all") if coordinates == "auto" else coordinates
    space = space if bound else "all"
    message = state_warning(robot, at, rate, which_enabled(robot)) if bound else None
    if message is not None:
        warnings.warn(message, StateWarning, stacklevel=2)
    T, L, names = _basis(robot, at, rate, space)
    of_commands = None
    if dt is None:
        if commands is not None:
            raise InputError("commands act over a step: pass dt, or torques tau instead of commands")
        A, B, change = _continuous(robot, at, rate, torque, passive)
    else:
        method: Any = "minimal" if space == "minimal" and not _touches(robot, contact) else "auto"
        stepper = Stepper(robot, dt, integrator, method=method, passive=passive, contact=contact)
        derivatives = stepper.derivatives(at, rate, torque, commands=commands)
        A, B = derivatives.A, derivatives.B
        of_commands = None if commands is None else L @ derivatives.B_commands
        change = np.concatenate([robot.difference(at, derivatives.q1), derivatives.v1 - rate])
    return Linearization(L @ A @ T, L @ B, of_commands, T, L, names, space, dt, L @ change)


def _touches(robot: Model, contact: ContactLaw) -> bool:
    return bool(robot.contacts) and contact is not False


def _continuous(robot: Model, q: Array, v: Array, tau: Array, passive: bool) -> tuple[Array, Array, Array]:
    """A and B of all joints, and the rate of the state."""
    nv = robot.nv
    acting = [Evaluator(robot, name) for name in _passive_quantities(robot)] if passive else []
    states = [(q, v)[: len(force.program.algorithm.inputs)] for force in acting]
    total = tau + passive_forces(robot, q, v) if passive else tau
    total = sum((force(*state) for force, state in zip(acting, states, strict=True)), start=total)
    derivatives = ForwardDynamics(robot).derivatives(q, v, total)
    da_dq, da_dv = derivatives.da_dq.copy(), derivatives.da_dv.copy()
    if passive:
        tree = tree_of(robot)
        for k, stiffness in zip(tree.spring_v, tree.stiffness, strict=True):
            da_dq[:, k] -= stiffness * derivatives.da_dtau[:, k]
        for k, damping in zip(tree.damper_v, tree.damping, strict=True):
            da_dv[:, k] -= damping * derivatives.da_dtau[:, k]
    for force, state in zip(acting, states, strict=True):
        for da, moved in zip((da_dq, da_dv), range(len(state)), strict=False):
            directions = [np.eye(nv) if k == moved else np.zeros((nv, nv)) for k in range(len(state))]
            rates = force.jvp(*(np.broadcast_to(x, (nv, len(x))) for x in state), *directions)
            da += derivatives.da_dtau @ rates.T
    A = np.block([[_frame_rates(robot, v), np.eye(nv)], [da_dq, da_dv]])
    return A, np.vstack([np.zeros((nv, nv)), derivatives.da_dtau]), np.concatenate([v, derivatives.a])


def _passive_quantities(robot: Model) -> list[Quantity]:
    """Passive forces beside springs and dampers of joints: these are of MJCF files."""
    compensated: list[Quantity] = ["gravity_compensation"] if robot.gravity_compensation else []
    pulled: list[Quantity] = ["tendon_forces"] if any(tendon.is_passive for tendon in robot.tendons) else []
    elements: list[Quantity] = ["element_forces"] if robot.forces else []
    return compensated + pulled + elements


def _frame_rates(robot: Model, v: Array) -> Array:
    """``dq'/dq``: changes of configurations of joints that turn are seen from axes that turn with them, ``-ad(v)``."""
    result = np.zeros((robot.nv, robot.nv))
    for joint in robot.joints:
        at = robot.v_slice(joint.name)
        u = v[at]
        if isinstance(joint.type, Spherical):
            result[at, at] = -_skew(u)
        elif isinstance(joint.type, Free):
            turning, moving = -_skew(u[3:]), -_skew(u[:3])
            result[at, at] = np.block([[turning, moving], [np.zeros((3, 3)), turning]])
        elif isinstance(joint.type, Planar):
            result[at, at] = [[0.0, u[2], -u[1]], [-u[2], 0.0, u[0]], [0.0, 0.0, 0.0]]
    return result


def _skew(x: Array) -> Array:
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


def _basis(robot: Model, q: Array, v: Array, space: str) -> tuple[Array, Array, tuple[str, ...]]:
    """``T``, ``L`` and names of coordinates."""
    nv = robot.nv
    if space == "all":
        return np.eye(2 * nv), np.eye(2 * nv), tuple(dof_names(robot))
    rows = enabled_rows(robot)
    J = constraint_jacobian(robot, q)[rows]
    if space == "minimal":
        minimal = Minimal(robot)
        N, names = minimal.matrix(q), minimal.names
        left = np.eye(nv)[minimal.index]
    else:
        _, s, Vt = np.linalg.svd(J)
        rank = int((s > RANK * s.max(initial=0.0)).sum())
        N = Vt[rank:].T
        names, left = tuple(f"mode {k}" for k in range(N.shape[1])), N.T
    H = np.zeros_like(N)
    if v.any():
        # d(J v)/dq along each motion
        product = Evaluator(robot, "constraint_jacobian").jvp
        rates = product(np.broadcast_to(q, (N.shape[1], len(q))), np.ascontiguousarray(N.T))
        H = -np.linalg.pinv(J, rcond=RANK) @ (rates[:, rows] @ v).T
        H = H - N @ (left @ H)
    zero = np.zeros_like(N)
    T = np.block([[N, zero], [H, N]])
    L = np.block([[left, np.zeros_like(left)], [np.zeros_like(left), left]])
    return T, L, names
