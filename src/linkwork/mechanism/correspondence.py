# SPDX-License-Identifier: BSD-3-Clause
"""States of one mechanism in the coordinates of another that has the same bodies on another spanning tree.

Configurations follow from where bodies are: the coordinates of a joint are those of the pose of its child relative to
its parent. Velocities and accelerations are those with which all bodies move alike: with ``J`` the Jacobians of the
common bodies in the old and the new coordinates,

    J_new v_new = J_old v_old,        J_new a_new = J_old a_old + (bias_old - bias_new)

which closed loops make consistent. Joint torques do the same work: ``v_old = T v_new`` gives ``tau_new = T' tau_old``.
Joints of both mechanisms keep their numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from linkwork.mechanism.connections import graph_joint
from linkwork.mechanism.topology import GraphJoint
from linkwork.model.arrays import Floats
from linkwork.model.constraints import WORLD
from linkwork.model.joints import Free, Joint, Planar, Prismatic, Revolute, Spherical, Universal
from linkwork.model.model import Model
from linkwork.model.placement import Placement
from linkwork.model.rotations import aligning_rotation, rotate
from linkwork.quantities.functions import frame_acceleration, frame_jacobian, frame_placement


class Chain(NamedTuple):
    """Joints in series that lead from one body to another, with nothing between that the other mechanism has."""

    joints: tuple[GraphJoint, ...]

    @property
    def ends(self) -> tuple[str, str]:
        """The first body and the last."""
        return self.joints[0].joint.parent, self.joints[-1].joint.child


class Correspondence:
    """Maps states from one mechanism to another with the same bodies.

    Args:
        old: The mechanism that states are of.
        new: The mechanism that they are wanted for.
    """

    def __init__(self, old: Model, new: Model) -> None:
        self.old, self.new = old, new
        self.shared = tuple(joint.name for joint in new.joints if _same_coordinates(old, new, joint.name))
        self.chains = tuple(_chains(new, old, self.shared))
        ends = dict.fromkeys(body for chain in self.chains for body in chain.ends if body != WORLD)
        self.places = tuple(ends)
        common = (body for body in old.body_names if body in new.frames)
        self.bodies = tuple(dict.fromkeys([*common, *(body for body in new.body_names if body in old.frames)]))

    def configuration(self, q: Floats) -> Floats:
        """The configuration of the new mechanism, ``(..., nq)``."""
        at = {WORLD: Placement()}
        if self.places:
            poses = frame_placement(self.old, q, self.places)
            at |= {body: poses[..., k] for k, body in enumerate(self.places)}
        return self.configuration_at(q, at)

    def configuration_at(self, q: Floats, at: Mapping[str, Placement]) -> Floats:
        """The configuration of the new mechanism, with the poses of `places` in the world given."""
        configuration = np.empty((*q.shape[:-1], self.new.nq))
        for name in self.shared:
            configuration[..., self.new.q_slice(name)] = q[..., self.old.q_slice(name)]
        for chain in self.chains:
            first, last = (at[body] for body in chain.ends)
            for name, part in _coordinates(chain.joints, first.inverse() * last).items():
                configuration[..., self.new.q_slice(name)] = part
        return configuration

    def velocity(self, q: Floats, v: Floats, new_q: Floats) -> Floats:
        """The velocity of the new mechanism, ``(..., nv)``."""
        moved = rotate(self._jacobian(self.old, q), v)
        return self._with_shared(rotate(_pinv(self._jacobian(self.new, new_q)), moved), v)

    def acceleration(self, q: Floats, v: Floats, a: Floats, new_q: Floats, new_v: Floats) -> Floats:
        """The acceleration of the new mechanism, ``(..., nv)``."""
        moved = self._accelerations(self.old, q, v, a)
        bias = self._accelerations(self.new, new_q, new_v, np.zeros_like(new_v))
        return self._with_shared(rotate(_pinv(self._jacobian(self.new, new_q)), moved - bias), a)

    def torque(self, q: Floats, tau: Floats, new_q: Floats) -> Floats:
        """Torques of the new mechanism that do the same work, ``(..., nv)``."""
        T = _pinv(self._jacobian(self.old, q)) @ self._jacobian(self.new, new_q)
        for name in self.shared:
            T[..., self.old.v_slice(name), :] = np.eye(self.new.nv)[self.new.v_slice(name)]
        return rotate(np.swapaxes(T, -1, -2), tau)

    def _with_shared(self, vectors: Floats, given: Floats) -> Floats:
        for name in self.shared:
            vectors[..., self.new.v_slice(name)] = given[..., self.old.v_slice(name)]
        return vectors

    def _jacobian(self, robot: Model, q: Floats) -> Floats:
        J = frame_jacobian(robot, q, self.bodies)
        return J.reshape(*q.shape[:-1], 6 * len(self.bodies), robot.nv)

    def _accelerations(self, robot: Model, q: Floats, v: Floats, a: Floats) -> Floats:
        accelerations = frame_acceleration(robot, q, v, a, self.bodies)
        return accelerations.reshape(*q.shape[:-1], 6 * len(self.bodies))


def _pinv(J: Floats) -> Floats:
    inverse: Floats = np.linalg.pinv(J).astype(np.float64, copy=False)
    return inverse


def _same_coordinates(old: Model, new: Model, name: str) -> bool:
    """Whether both have a joint with the same coordinates; one with one degree of freedom may be reversed."""
    if name not in old.joint_names:
        return False
    joint, other = new.joint(name), old.joint(name)
    return joint.type.nv == 1 or joint.child == other.child


def _chains(robot: Model, other: Model, shared: Sequence[str]) -> Iterator[Chain]:
    """Joints of a robot that are not shared, in series as far as bodies between are not known to the other."""
    children: dict[str, list[str]] = {}
    for joint in robot.joints:
        children.setdefault(joint.parent, []).append(joint.name)
    for joint in robot.joints:
        if joint.name in shared or joint.parent not in other.frames:
            continue
        chain = [joint]
        while chain[-1].child not in other.frames:
            chain.append(robot.joint(children[chain[-1].child][0]))
        yield Chain(tuple(graph_joint(robot, j) for j in chain))


# Coordinates of joints from poses ------------------------------------------------------------------------------


def _coordinates(joints: Sequence[GraphJoint], pose: Placement) -> dict[str, Floats]:
    """Coordinates of joints in series by name, ``(..., nq)``, from the pose of the last body in the first one."""
    if len(joints) == 1:
        joint = joints[0].joint
        return {joint.name: _coordinates_of(joint.type, joint.placement.inverse() * pose * joints[0].child_at)}
    here, axes = Placement(), []
    for added in joints:
        type_ = added.joint.type
        assert isinstance(type_, Revolute | Prismatic)  # as `connections` has them
        here = here * added.joint.placement
        axes.append(here.rotation @ type_.axis)
        here = here * added.child_at.inverse()
    turned = pose.rotation @ here.rotation.T
    names = [added.joint.name for added in joints]
    turning = [isinstance(added.joint.type, Revolute) for added in joints]
    angles = iter(_angles([n for n, turns in zip(axes, turning, strict=True) if turns], turned))
    coordinates = {}
    for name, axis, turns in zip(names, axes, turning, strict=True):
        if turns:
            coordinates[name] = next(angles)[..., None]
        else:  # along the axis that the bodies turn about: rotation moves nothing along it
            coordinates[name] = ((pose.position - rotate(turned, here.position)) @ axis)[..., None]
    return coordinates


def _coordinates_of(joint: Joint, pose: Placement) -> Floats:
    """Coordinates of a joint that places its child so, ``(..., nq)``."""
    if isinstance(joint, Revolute):
        return _angle_about(joint.axis, pose.rotation)[..., None]
    if isinstance(joint, Prismatic):
        return (pose.position @ joint.axis)[..., None]
    if isinstance(joint, Spherical):
        return pose.quaternion
    if isinstance(joint, Free):
        return np.concatenate([pose.position, pose.quaternion], axis=-1)
    if isinstance(joint, Universal):
        return np.stack(_angles([joint.first, joint.second], pose.rotation), axis=-1)
    assert isinstance(joint, Planar)  # no other type can be a constraint
    axes = np.eye(3) if joint.axis[2] == 1 else aligning_rotation(joint.axis)
    angle = _angle_about(joint.axis, pose.rotation)
    return np.concatenate([(pose.position @ axes)[..., :2], np.stack([np.cos(angle), np.sin(angle)], -1)], axis=-1)


def _angles(axes: Sequence[Floats], R: Floats) -> list[Floats]:
    """Angles about one to three axes in turn, ``R = R1 R2 R3``; of three, each is normal to the next."""
    if len(axes) == 1:
        return [_angle_about(axes[0], R)]
    if len(axes) == 2:  # the second axis is turned by the first angle alone
        first = _angle_between(axes[0], axes[1], R @ axes[1])
        return [first, _angle_about(axes[1], _turn(axes[0], -first) @ R)]
    # Davenport's angles. In the plane normal to the second axis: across = n2 x n1, and the third axis at the angle
    # delta from the first. R n3 = cos(b + delta) n1 + sin(b + delta) R1 across. The solution with the smaller |b|.
    n1, n2, n3 = axes
    across = np.cross(n2, n1)
    delta = np.arctan2(n3 @ across, n3 @ n1)
    end = R @ n3
    cos = end @ n1
    rest = end - cos[..., None] * n1
    sum_ = np.arctan2(np.linalg.norm(rest, axis=-1), cos)
    one, two = _wrapped(sum_ - delta), _wrapped(-sum_ - delta)
    side = np.where(np.abs(one) <= np.abs(two), 1.0, -1.0)
    second = np.where(side > 0, one, two)
    first = np.arctan2(side * (rest @ np.cross(n1, across)), side * (rest @ across))
    return [first, second, _angle_about(n3, _turn(n2, -second) @ _turn(n1, -first) @ R)]


def _wrapped(angle: Floats) -> Floats:
    return (angle + np.pi) % (2 * np.pi) - np.pi


def _angle_about(axis: Floats, R: Floats) -> Floats:
    """The angle of a rotation about an axis; of another rotation, that which is nearest."""
    vee = np.stack([R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]], axis=-1)
    along = rotate(R, axis) @ axis
    angle: Floats = np.arctan2(vee @ axis, np.trace(R, axis1=-2, axis2=-1) - along)
    return angle


def _angle_between(axis: Floats, start: Floats, end: Floats) -> Floats:
    """The angle about an axis from one vector to another, ``(..., 3)``."""
    angle: Floats = np.arctan2(end @ np.cross(axis, start), end @ start - (end @ axis) * (start @ axis))
    return angle


def _turn(axis: Floats, angle: Floats) -> Floats:
    """Rotations about an axis, ``(..., 3, 3)``."""
    x, y, z = axis
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    s, c = np.sin(angle)[..., None, None], np.cos(angle)[..., None, None]
    turned: Floats = np.eye(3) + s * K + (1 - c) * (K @ K)
    return turned
