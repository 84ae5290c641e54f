# SPDX-License-Identifier: BSD-3-Clause
"""What Pinocchio says of a mechanism, in linkwork's layout: an oracle with one method per quantity.

Pinocchio's spatial vectors are ``[linear, angular]`` and its crba fills the upper triangle: undone here, nowhere else.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from linkwork import zoo
from linkwork.mechanism import Mechanism
from linkwork.model.joints import Free, Helical, Planar, Prismatic, Revolute, Spherical, Universal
from tests.support import robots
from tests.support.states import Floats, State

pin = pytest.importorskip("pinocchio")

REFERENCE = {"local": pin.LOCAL, "aligned": pin.LOCAL_WORLD_ALIGNED, "world": pin.WORLD}

_JOINTS: dict[type, Any] = {
    Revolute: lambda j: pin.JointModelRevoluteUnaligned(j.axis),
    Prismatic: lambda j: pin.JointModelPrismaticUnaligned(j.axis),
    Helical: lambda j: pin.JointModelHelicalUnaligned(j.axis, j.pitch),
    Universal: lambda j: pin.JointModelUniversal(j.first, j.second),
    Spherical: lambda j: pin.JointModelSpherical(),
    Planar: lambda j: pin.JointModelPlanar(),
    Free: lambda j: pin.JointModelFreeFlyer(),
}


def _angular_first(x: Floats) -> Floats:
    return np.concatenate([x[3:], x[:3]])


class Twin:
    """A mechanism in Pinocchio, asked in linkwork's terms."""

    def __init__(self, robot: Mechanism, model: Any, frames: dict[str, int]) -> None:
        self.robot, self.model, self.data = robot, model, model.createData()
        self.frames = frames
        self.perm = robots.velocity_permutation(robot, model)

    def _there(self, x: Floats) -> Floats:
        y = np.empty(self.model.nv)
        y[self.perm] = x
        return y

    def _q(self, s: State) -> Floats:
        return robots.to_pinocchio(self.robot, self.model, s.q)

    def _forces(self, wrenches: dict[str, Floats]) -> Any:
        forces = [pin.Force.Zero() for _ in range(self.model.njoints)]
        for name, w in wrenches.items():
            frame = self.model.frames[self.frames[name]]
            forces[frame.parentJoint] += frame.placement.act(pin.Force(w[3:], w[:3]))
        return forces

    def inverse_dynamics(self, s: State, wrenches: dict[str, Floats]) -> Floats:
        v, a = self._there(s.v), self._there(s.a)
        return np.array(pin.rnea(self.model, self.data, self._q(s), v, a, self._forces(wrenches)))[self.perm]

    def forward_dynamics(self, s: State, wrenches: dict[str, Floats]) -> Floats:
        v, tau = self._there(s.v), self._there(s.tau)
        return np.array(pin.aba(self.model, self.data, self._q(s), v, tau, self._forces(wrenches)))[self.perm]

    def mass_matrix(self, s: State) -> Floats:
        upper = np.triu(pin.crba(self.model, self.data, self._q(s)))
        M = upper + np.triu(upper, 1).T
        return M[np.ix_(self.perm, self.perm)]

    def inverse_mass_product(self, s: State) -> Floats:
        """By the sparse Cholesky factor of M: `computeMinverse` loses two digits more where M is ill (iCub, 1e9)."""
        pin.crba(self.model, self.data, self._q(s))
        pin.cholesky.decompose(self.model, self.data)
        return np.array(pin.cholesky.solve(self.model, self.data, self._there(s.tau)))[self.perm]

    def inverse_mass_matrix(self, s: State) -> Floats:
        upper = np.triu(pin.computeMinverse(self.model, self.data, self._q(s)))
        X = upper + np.triu(upper, 1).T
        return X[np.ix_(self.perm, self.perm)]

    def coriolis_matrix(self, s: State) -> Floats:
        C = pin.computeCoriolisMatrix(self.model, self.data, self._q(s), self._there(s.v))
        return np.array(C)[np.ix_(self.perm, self.perm)]

    def bias_forces(self, s: State) -> Floats:
        return np.array(pin.nonLinearEffects(self.model, self.data, self._q(s), self._there(s.v)))[self.perm]

    def gravity_forces(self, s: State) -> Floats:
        return np.array(pin.computeGeneralizedGravity(self.model, self.data, self._q(s)))[self.perm]

    def center_of_mass(self, s: State) -> Floats:
        return np.array(pin.centerOfMass(self.model, self.data, self._q(s)))

    def center_of_mass_jacobian(self, s: State) -> Floats:
        J = pin.jacobianCenterOfMass(self.model, self.data, self._q(s))
        return np.array(J).reshape(3, -1)[:, self.perm]

    def center_of_mass_jacobian_rate(self, s: State) -> Floats:
        """The linear rows of `dccrba`, over the mass."""
        return self.momentum_matrix_rate(s)[3:] / pin.computeTotalMass(self.model)

    def momentum_matrix(self, s: State) -> Floats:
        A = pin.computeCentroidalMap(self.model, self.data, self._q(s))
        return _angular_first(np.array(A).reshape(6, -1))[:, self.perm]

    def momentum_matrix_rate(self, s: State) -> Floats:
        A = pin.dccrba(self.model, self.data, self._q(s), self._there(s.v))
        return _angular_first(np.array(A).reshape(6, -1))[:, self.perm]

    def subtree_jacobian(self, s: State, joint: str) -> Floats:
        """Of the center of mass of what a joint carries, which is then in ``data.com``."""
        k = self.model.getJointId(joint)
        J = pin.jacobianSubtreeCenterOfMass(self.model, self.data, self._q(s), k)
        return np.array(J).reshape(3, -1)[:, self.perm]

    def subtree_center(self, s: State, joint: str) -> Floats:
        self.subtree_jacobian(s, joint)
        return np.array(self.data.com[self.model.getJointId(joint)])

    def centroidal_momentum(self, s: State) -> Floats:
        h = pin.computeCentroidalMomentum(self.model, self.data, self._q(s), self._there(s.v))
        return _angular_first(np.array(h.vector))

    def kinetic_energy(self, s: State) -> Floats:
        """Of the bodies, and of the rotors by hand: Pinocchio 4.1 leaves out the armature of some joint types."""
        bare = self.model.copy()
        bare.armature = np.zeros(bare.nv)
        bodies = pin.computeKineticEnergy(bare, self.data, self._q(s), self._there(s.v))
        return np.array(bodies + 0.5 * float(self.robot.armature @ s.v**2))

    def potential_energy(self, s: State) -> Floats:
        return np.array(pin.computePotentialEnergy(self.model, self.data, self._q(s)))

    def rotation(self, s: State) -> Floats:
        return np.array([place.rotation for place in self._placements(s)])

    def position(self, s: State) -> Floats:
        return np.array([place.translation for place in self._placements(s)])

    def _placements(self, s: State) -> list[Any]:
        pin.framesForwardKinematics(self.model, self.data, self._q(s))
        return [self.data.oMf[k].copy() for k in self.frames.values()]

    def frame_velocity(self, s: State, reference: str) -> Floats:
        pin.forwardKinematics(self.model, self.data, self._q(s), self._there(s.v))
        found = [pin.getFrameVelocity(self.model, self.data, k, REFERENCE[reference]) for k in self.frames.values()]
        return np.array([_angular_first(x.vector) for x in found])

    def frame_acceleration(self, s: State, reference: str) -> Floats:
        pin.forwardKinematics(self.model, self.data, self._q(s), self._there(s.v), self._there(s.a))
        axes = REFERENCE[reference]
        found = [pin.getFrameClassicalAcceleration(self.model, self.data, k, axes) for k in self.frames.values()]
        return np.array([_angular_first(x.vector) for x in found])

    def frame_jacobian(self, s: State, reference: str) -> Floats:
        q, axes = self._q(s), REFERENCE[reference]
        found = [pin.computeFrameJacobian(self.model, self.data, q, k, axes) for k in self.frames.values()]
        return np.array([_angular_first(np.array(J).reshape(6, -1))[:, self.perm] for J in found])

    def frame_jacobian_rate(self, s: State, reference: str) -> Floats:
        pin.computeJointJacobiansTimeVariation(self.model, self.data, self._q(s), self._there(s.v))
        axes = REFERENCE[reference]
        found = [pin.getFrameJacobianTimeVariation(self.model, self.data, k, axes) for k in self.frames.values()]
        return np.array([_angular_first(np.array(J).reshape(6, -1))[:, self.perm] for J in found])

    def arms(self, s: State, points: Floats) -> Floats:
        """Points of frames from the frames' origins, in the world's axes."""
        return np.array([R @ x for R, x in zip(self.rotation(s), points, strict=True)])


@cache
def of_robot(name: str) -> Twin:
    """A robot of `robots.ROBOTS`, read by Pinocchio itself. Frames: the bodies at the ends of the tree."""
    robot, model = robots.load(name), robots.pinocchio_model(name)
    parents = {j.parent for j in robot.joints}
    ends = [j.child for j in robot.joints if j.child not in parents]
    return Twin(robot, model, {body: model.getFrameId(body, pin.FrameType.BODY) for body in ends})


def of_mechanism(robot: Mechanism) -> Twin:
    """A mechanism, built in Pinocchio joint by joint in linkwork's order."""
    model = pin.Model()
    model.gravity.linear = robot.gravity
    index = {"world": 0}
    for joint in robot.joints:
        place = pin.SE3(joint.placement.rotation, joint.placement.position)
        k = model.addJoint(index[joint.parent], _JOINTS[type(joint.type)](joint.type), place, joint.name)
        body = robot.inertias[joint.child]
        model.appendBodyToJoint(k, pin.Inertia(body.mass, body.com, body.rotational), pin.SE3.Identity())
        index[joint.child] = k
    frames = {}
    for frame in robot.frames.values():
        if frame.name.startswith("frame"):
            place = pin.SE3(frame.placement.rotation, frame.placement.position)
            at = pin.Frame(frame.name, index[frame.body], place, pin.FrameType.OP_FRAME)
            frames[frame.name] = model.addFrame(at)
    model.armature = robot.armature
    return Twin(robot, model, frames)


@cache
def of_random_tree(seed: int) -> Twin:
    """A random mechanism over all joint types: 1 to 12 bodies, odd seeds with armature."""
    return of_mechanism(zoo.random_tree(seed, bodies=1 + seed % 12, armature=seed % 2 == 1))
