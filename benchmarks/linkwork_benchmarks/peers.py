# SPDX-License-Identifier: BSD-3-Clause
"""Other libraries, behind one interface: a function that makes a `Contender` for a robot and a quantity, or `Unable`.

Inputs are converted to a peer's order and conventions before timing, its answers back to ours after it.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from linkwork import Placement
from linkwork_benchmarks.contender import CALLS, Contender, inputs_of, one_by_one
from linkwork_benchmarks.robots import ROBOTS, Floats, States, load

Peer = Callable[[str, str, States], Contender]


class Unable(Exception):
    """A peer is not installed, or cannot take a robot or a quantity; the message says which."""


# Pinocchio ----------------------------------------------------------------------------------------


def pinocchio(robot: str, quantity: str, states: States) -> Contender:
    """The wheel's functions as a user calls them from Python."""
    return _pinocchio("pinocchio.single", robot, quantity, states, ())


def pinocchio_world(robot: str, quantity: str, states: States) -> Contender:
    """The same with ``Convention.WORLD``, which is quicker than the default."""
    import pinocchio as pin

    return _pinocchio("pinocchio_world.single", robot, quantity, states, (pin.Convention.WORLD,))


def _pinocchio(name: str, robot: str, quantity: str, states: States, options: tuple[Any, ...]) -> Contender:
    import pinocchio as pin

    model, order = pinocchio_model(robot)
    data = model.createData()
    call = {"forward_dynamics": pin.aba, "inverse_dynamics": pin.rnea, "mass_matrix": pin.crba}[quantity]
    few = states.first(CALLS)
    v, u = np.empty((CALLS, model.nv)), np.empty((CALLS, model.nv))
    v[:, order], u[:, order] = few.v, few.u
    theirs = inputs_of(quantity, States(pinocchio_q(robot, model, few.q), v, u))
    arguments = [(*a, *options) for a in one_by_one(theirs, (model, data))]

    def answer() -> Floats:
        results = np.array([call(*a) for a in arguments])
        return results[:, order] if results.ndim == 2 else results[:, order[:, None], order]

    return Contender(name, call, arguments, CALLS, answer)


@cache
def pinocchio_model(name: str) -> tuple[Any, np.ndarray[Any, np.dtype[np.intp]]]:
    """The robot as Pinocchio reads it, and where our velocities stand among its own."""
    import pinocchio as pin

    robot, (path, base, _) = load(name), ROBOTS[name]
    root = (pin.JointModelFreeFlyer(),) if base == "floating" else ()
    model = pin.buildModelFromUrdf(str(path), *root)
    joints = [model.joints[model.getJointId(joint)] for joint in robot.joint_names]
    order = np.concatenate([np.arange(j.idx_v, j.idx_v + j.nv) for j in joints])
    model.armature[order] = robot.armature  # URDF has no standard element for it
    return model, order


def pinocchio_q(name: str, model: Any, q: Floats) -> Floats:
    """Our q in Pinocchio's order; a continuous joint is an angle here and (cos, sin) there."""
    robot = load(name)
    theirs = np.empty((len(q), model.nq))
    for joint in robot.joint_names:
        other, part = model.joints[model.getJointId(joint)], q[:, robot.q_slice(joint)]
        if other.nq == 2 and other.nv == 1:
            part = np.concatenate([np.cos(part), np.sin(part)], axis=-1)
        theirs[:, other.idx_q : other.idx_q + other.nq] = part
    return theirs


# MuJoCo -------------------------------------------------------------------------------------------


def mujoco(robot: str, quantity: str, states: States) -> Contender:
    """``mj_forward`` without contacts and limits: the whole pipeline that MuJoCo has for an acceleration.

    It computes kinematics, the mass matrix, its factor, bias forces and the solve; no smaller call gives the same.
    """
    if quantity != "forward_dynamics":
        raise Unable(f"MuJoCo is not asked for {quantity}")
    import mujoco as mj

    ours, model = load(robot), _mujoco_model(robot)
    data = mj.MjData(model)
    qpos, qvel, applied, forward = data.qpos, data.qvel, data.qfrc_applied, mj.mj_forward
    few = states.first(CALLS)
    joints = [model.joint(name) for name in ours.joint_names]
    q, v, u = np.empty((CALLS, model.nq)), np.empty((CALLS, model.nv)), np.empty((CALLS, model.nv))
    for name, joint in zip(ours.joint_names, joints, strict=True):
        at, to = ours.v_slice(name), slice(int(joint.dofadr[0]), int(joint.dofadr[0]) + len(joint.damping))
        part, start = few.q[:, ours.q_slice(name)], int(joint.qposadr[0])
        v[:, to], u[:, to] = few.v[:, at], few.u[:, at]
        if part.shape[1] == 7:  # free: quaternion w first, linear part in the world's axes
            R = _rotations(part[:, 3:])
            part = part[:, [0, 1, 2, 6, 3, 4, 5]]
            for x in (v, u):
                x[:, to.start : to.start + 3] = np.einsum("kij,kj->ki", R, x[:, to.start : to.start + 3])
        q[:, start : start + part.shape[1]] = part

    def call(q: Floats, v: Floats, tau: Floats) -> None:
        qpos[:] = q
        qvel[:] = v
        applied[:] = tau
        forward(model, data)

    arguments = one_by_one((q, v, u))

    def answer() -> Floats:
        results = np.empty((CALLS, ours.nv))
        for k, a in enumerate(arguments):
            call(*a)
            for name, joint in zip(ours.joint_names, joints, strict=True):
                at = ours.v_slice(name)
                x = data.qacc[joint.dofadr[0] : joint.dofadr[0] + at.stop - at.start].copy()
                if len(x) == 6:
                    linear, angular = few.v[k, at][:3], few.v[k, at][3:]
                    x[:3] = _rotations(few.q[k : k + 1, ours.q_slice(name)][:, 3:])[0].T @ x[:3]
                    x[:3] -= np.cross(angular, linear)  # of the velocity's components, as in Pinocchio
                results[k, at] = x
        return results

    return Contender("mujoco.single", call, arguments, CALLS, answer, tolerance=1e-9)


@cache
def _mujoco_model(name: str) -> Any:
    """The same URDF without meshes and shapes, in MuJoCo; dynamics alone."""
    import mujoco as mj
    from lxml import etree

    robot, (path, base, _) = load(name), ROBOTS[name]
    root = etree.parse(str(path)).getroot()
    for element in list(root.iter("visual", "collision", "transmission", "gazebo", "mimic", "mujoco")):
        element.getparent().remove(element)
    if base == "floating":
        moved = {joint.find("child").get("link") for joint in root.findall("joint")}
        top = next(link.get("name") for link in root.findall("link") if link.get("name") not in moved)
        etree.SubElement(root, "link", name="scene")
        joint = etree.SubElement(root, "joint", name=robot.joint_names[0], type="floating")
        etree.SubElement(joint, "parent", link="scene")
        etree.SubElement(joint, "child", link=top)
    options = etree.SubElement(root, "mujoco")
    etree.SubElement(options, "compiler", discardvisual="true", fusestatic="true", balanceinertia="false")
    try:
        model = mj.MjModel.from_xml_string(etree.tostring(root, encoding="unicode"))
    except ValueError as error:
        raise Unable(f"MuJoCo does not take {name}: {' '.join(str(error).split())}") from None
    if model.nv != robot.nv:
        raise Unable(f"MuJoCo reads {name} with {model.nv} degrees of freedom, linkwork with {robot.nv}")
    model.opt.gravity[:] = robot.gravity
    model.opt.disableflags |= int(mj.mjtDisableBit.mjDSBL_CONSTRAINT)
    model.dof_damping[:] = 0
    for joint in robot.joints:
        start = int(model.joint(joint.name).dofadr[0])
        model.dof_armature[start : start + joint.type.nv] = joint.armature
    return model


def _rotations(quaternions: Floats) -> Floats:
    """Rotation matrices of quaternions ``x y z w``, one a row."""
    return np.array([Placement.from_quaternion(*x).rotation for x in quaternions])


PEERS: dict[str, Peer] = {"pinocchio": pinocchio, "pinocchio_world": pinocchio_world, "mujoco": mujoco}
"""Peers by the name that scenarios use."""


def contender(peer: str, robot: str, quantity: str, states: States) -> Contender:
    """A peer made ready, or `Unable`."""
    package = peer.split("_")[0]
    if importlib.util.find_spec(package) is None:
        raise Unable(f"{package} is not installed")
    return PEERS[peer](robot, quantity, states)
