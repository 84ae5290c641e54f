# SPDX-License-Identifier: BSD-3-Clause
"""A mechanism with points and welds in Pinocchio, and Pinocchio's solvers as contenders.

A constraint to the world names the world second: with joint 0 first, `lcaba` of Pinocchio 4.1 writes beyond its memory.
What calls of `lcaba` leave in ``Data`` changes later answers where a body is welded to the world; contenders are
therefore asked for answers with a fresh ``Data`` each, and how far answers with one ``Data`` are off is kept apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import linkwork as lw
from linkwork.model.constraints import WORLD, Pair
from linkwork.model.joints import Fixed, Helical, Planar
from linkwork.model.placement import Placement, as_placement
from linkwork_benchmarks.contender import Contender, one_by_one
from linkwork_benchmarks.peers import Unable
from linkwork_benchmarks.robots import Floats, States

SOLVERS = ("constraintDynamics", "lcaba")
"""What Pinocchio's Python module has for constrained dynamics."""


def _joint(kind: lw.joints.Joint) -> Any:
    import pinocchio as pin

    match kind:
        case lw.joints.Revolute():
            return pin.JointModelRevoluteUnaligned(kind.axis)
        case lw.joints.Prismatic():
            return pin.JointModelPrismaticUnaligned(kind.axis)
        case Helical():
            return pin.JointModelHelicalUnaligned(kind.axis, kind.pitch)
        case lw.joints.Universal():
            return pin.JointModelUniversal(kind.first, kind.second)
        case lw.joints.Spherical():
            return pin.JointModelSpherical()
        case Planar():
            return pin.JointModelPlanar()
        case lw.joints.Free():
            return pin.JointModelFreeFlyer()
    raise Unable(f"Pinocchio has no joint like {kind.kind_name}")


@dataclass(frozen=True)
class Twin:
    """A mechanism in Pinocchio: its model, its constraints, and where our numbers stand among its own."""

    model: Any
    constraints: Any
    q_order: npt.NDArray[np.intp]
    v_order: npt.NDArray[np.intp]

    def states(self, states: States) -> States:
        """Our states in Pinocchio's order."""
        q = np.empty((len(states.q), self.model.nq))
        v, tau = np.empty((2, len(states.q), self.model.nv))
        q[:, self.q_order], v[:, self.v_order], tau[:, self.v_order] = states
        return States(q, v, tau)

    def prepared(self, solver: str) -> tuple[Any, Any]:
        """Fresh memory for a solver: of the model and of the constraints."""
        import pinocchio as pin

        memory, of_constraints = self.model.createData(), pin.StdVec_RigidConstraintData()
        for constraint in self.constraints:
            of_constraints.append(constraint.createData())
        if solver == "lcaba":
            pin.computeJointMinimalOrdering(self.model, memory, self.constraints)
        elif solver == "constraintDynamics":
            pin.initConstraintDynamics(self.model, memory, self.constraints, of_constraints)
        return memory, of_constraints


def twin(robot: lw.Mechanism) -> Twin:
    """The mechanism built in Pinocchio joint by joint; `Unable` where one of its constraints is none of Pinocchio's."""
    import pinocchio as pin

    model = pin.Model()
    model.gravity.linear = robot.gravity
    on: dict[str, tuple[int, Any]] = {WORLD: (0, pin.SE3.Identity())}
    moving = []
    for joint in robot.joints:
        parent, at = on[joint.parent]
        at, body = at * _se3(joint.placement), robot.inertias[joint.child]
        if not isinstance(joint.type, Fixed):
            parent, at = model.addJoint(parent, _joint(joint.type), at, joint.name), pin.SE3.Identity()
            moving.append(model.joints[parent])
        on[joint.child] = parent, at
        inertia = pin.Inertia.Zero()  # its constructor refuses inertias that its own URDF reader lets pass
        inertia.mass, inertia.lever, inertia.inertia = body.mass, body.com, body.rotational
        model.appendBodyToJoint(parent, inertia, at)
    q_order = np.concatenate([np.arange(j.idx_q, j.idx_q + j.nq) for j in moving])
    v_order = np.concatenate([np.arange(j.idx_v, j.idx_v + j.nv) for j in moving])
    model.armature[v_order] = robot.armature
    kinds = {lw.constraints.Point: pin.ContactType.CONTACT_3D, lw.constraints.Weld: pin.ContactType.CONTACT_6D}
    constraints = pin.StdVec_RigidConstraintModel()
    for constraint in robot.constraints:
        if type(constraint) not in kinds or not isinstance(constraint, Pair):
            raise Unable(f"Pinocchio's solvers know points and welds, not {constraint}")
        ends = []
        pair = ((constraint.first, constraint.first_at), (constraint.second, constraint.second_at))
        for place, there in sorted(pair, key=lambda end: robot.frames[end[0]].body == WORLD):
            frame = robot.frames[place]
            joint_id, body_at = on[frame.body]
            ends += [joint_id, body_at * _se3(frame.placement) * _se3(as_placement(there))]
        constraints.append(pin.RigidConstraintModel(kinds[type(constraint)], model, *ends, pin.ReferenceFrame.LOCAL))
    return Twin(model, constraints, q_order, v_order)


def _se3(at: Placement) -> Any:
    import pinocchio as pin

    return pin.SE3(at.rotation, at.position)


def contender(twin: Twin, solver: str, states: States, regularization: float, iterations: int) -> Contender:
    """A solver as a user calls it, with a fixed number of proximal iterations; ``aba`` for a tree."""
    import pinocchio as pin

    call: Callable[..., Any] = getattr(pin, solver)
    settings = pin.ProximalSettings(0.0, regularization, iterations)
    few = one_by_one(tuple(twin.states(states)))

    def arguments(a: tuple[Any, ...]) -> tuple[Any, ...]:
        memory, of_constraints = twin.prepared(solver)
        after = () if solver == "aba" else (twin.constraints, of_constraints, settings)
        return (twin.model, memory, *a, *after)

    def answer() -> Floats:
        return np.array([call(*arguments(a)) for a in few])[:, twin.v_order]

    shared = arguments(few[0])
    timed = [(*shared[:2], *a, *shared[5:]) for a in few]
    return Contender(f"pinocchio.{solver}", call, timed, len(timed), answer, tolerance=1e-6)


def predecessor(twin: Twin, robot: lw.Mechanism, states: States, regularization: float) -> Contender:
    """``pin.forwardDynamics``, what **proximal** Fig. 8 compares with; Jacobian and drift of rows are given to it."""
    import pinocchio as pin

    J = np.empty((len(states.q), robot.nc, robot.nv))
    J[:, :, twin.v_order] = lw.constraint_jacobian(robot, states.q)
    drift = lw.constraint_bias(robot, states.q, states.v) - lw.constraint_target(robot, states.q, states.v)
    memory = twin.model.createData()
    few = one_by_one((*twin.states(states), J, drift), before=(twin.model, memory))
    arguments = [(*a, regularization) for a in few]

    def answer() -> Floats:
        return np.array([pin.forwardDynamics(*a).copy() for a in arguments])[:, twin.v_order]

    return Contender("pinocchio.forwardDynamics", pin.forwardDynamics, arguments, len(arguments), answer, 1e-6)


def answers_with_shared_data(twin: Twin, c: Contender) -> Floats:
    """The answers of a contender when all calls share one ``Data``."""
    return np.array([np.array(c.call(*a)) for a in c.arguments])[:, twin.v_order]
