# SPDX-License-Identifier: BSD-3-Clause
"""A tree in Pinocchio, as its own reader makes it where there is a file, and Pinocchio's functions as contenders."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import linkwork as lw
from linkwork_benchmarks.contender import Contender, one_by_one
from linkwork_benchmarks.peers import Unable
from linkwork_benchmarks.robots import Floats, States

FUNCTIONS = {"forward": "aba", "inverse": "rnea"}


@dataclass(frozen=True)
class Twin:
    """A tree in Pinocchio, and where our numbers stand among its own."""

    model: Any
    q_order: npt.NDArray[np.intp]
    v_order: npt.NDArray[np.intp]

    def states(self, states: States) -> States:
        """Our states in Pinocchio's order."""
        q = np.empty((len(states.q), self.model.nq))
        v, u = np.empty((2, len(states.q), self.model.nv))
        q[:, self.q_order], v[:, self.v_order], u[:, self.v_order] = states
        return States(q, v, u)


def twin(robot: lw.Mechanism, urdf: Path | None = None) -> Twin:
    """The tree in Pinocchio, read from its file or built joint by joint; `Unable` where it is another tree there."""
    import pinocchio as pin

    model = _built(robot) if urdf is None else pin.buildModelFromUrdf(str(urdf))
    model.gravity.linear = robot.gravity
    if (model.nq, model.nv) != (robot.nq, robot.nv) or not all(model.existJointName(n) for n in robot.joint_names):
        raise Unable(f"Pinocchio reads '{robot.name}' with {model.nv} velocities, linkwork with {robot.nv}")
    joints = [model.joints[model.getJointId(name)] for name in robot.joint_names]
    q_order, v_order = (
        np.concatenate(
            [np.arange(getattr(j, f"idx_{x}"), getattr(j, f"idx_{x}") + getattr(j, f"n{x}")) for j in joints]
        )
        for x in "qv"
    )
    model.armature[v_order] = robot.armature
    return Twin(model, q_order, v_order)


def _built(robot: lw.Mechanism) -> Any:
    """Hinges about x, y and z, and free bodies, with the joints that Pinocchio's reader chooses for them."""
    import pinocchio as pin

    model, at = pin.Model(), {"world": 0}
    hinges = {(1, 0, 0): pin.JointModelRX, (0, 1, 0): pin.JointModelRY, (0, 0, 1): pin.JointModelRZ}
    for joint in robot.joints:
        axis = tuple(joint.type.axis.tolist()) if isinstance(joint.type, lw.joints.Revolute) else None
        if axis not in hinges and not isinstance(joint.type, lw.joints.Free):
            raise Unable(f"joint '{joint.name}' is no hinge about x, y or z")
        place, body = joint.placement, robot.inertias[joint.child]
        kind = pin.JointModelFreeFlyer() if axis is None else hinges[axis]()
        at[joint.child] = model.addJoint(at[joint.parent], kind, pin.SE3(place.rotation, place.position), joint.name)
        inertia = pin.Inertia.Zero()
        inertia.mass, inertia.lever, inertia.inertia = body.mass, body.com, body.rotational
        model.appendBodyToJoint(at[joint.child], inertia, pin.SE3.Identity())
    return model


def contender(twin: Twin, quantity: str, states: States) -> Contender:
    """``pin.aba`` or ``pin.rnea`` as a user calls them."""
    import pinocchio as pin

    function = FUNCTIONS[quantity]
    call, memory = getattr(pin, function), twin.model.createData()
    arguments = one_by_one(tuple(twin.states(states)), (twin.model, memory))

    def answer() -> Floats:
        return np.array([call(*a) for a in arguments])[:, twin.v_order]

    return Contender(f"pinocchio.{function}", call, arguments, len(arguments), answer, tolerance=1e-9)
