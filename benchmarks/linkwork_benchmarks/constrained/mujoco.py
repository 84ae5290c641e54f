# SPDX-License-Identifier: BSD-3-Clause
"""A mechanism with points, welds and coupled joints in MuJoCo, and ``mj_forward`` as a contender.

MuJoCo's rows are soft, with a softness ``R`` of its own choice, and leave out the bias ``dJ/dt v``. So it is compared
at rest, with the first iteration of ours with ``R`` as its regularization: the same problem to the last digit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from lxml import etree

import linkwork as lw
from linkwork.model.constraints import WORLD, Constraint, Pair
from linkwork.model.joints import Fixed
from linkwork.model.placement import Placement, as_placement
from linkwork.model.rotations import quaternion_of
from linkwork.parsing.mjcf import MujocoMap, mujoco_map
from linkwork_benchmarks.constrained.ours import dynamics
from linkwork_benchmarks.contender import Contender, one_by_one
from linkwork_benchmarks.peers import Unable
from linkwork_benchmarks.robots import Floats, States

JOINTS = {
    lw.joints.Revolute: "hinge",
    lw.joints.Prismatic: "slide",
    lw.joints.Spherical: "ball",
    lw.joints.Free: "free",
}
EQUALITIES = {lw.constraints.Point: "connect", lw.constraints.Weld: "weld"}
PASSIVE = ("dof_damping", "jnt_stiffness")


@dataclass(frozen=True)
class Twin:
    """A mechanism in MuJoCo, and as linkwork reads it from the same text."""

    robot: lw.Mechanism
    model: Any
    map: MujocoMap
    q_order: npt.NDArray[np.intp]
    """Where numbers of this robot's q stand in the q of the mechanism that it was made of."""
    v_order: npt.NDArray[np.intp]
    bases: tuple[tuple[slice, Placement], ...]
    """Free joints that start elsewhere than at the origin: where they stand in this robot's q, and where they start."""

    def q(self, q: Floats) -> Floats:
        """Configurations ``(states, nq)`` of the mechanism as those of this robot: free bodies seen from the origin."""
        theirs: Floats = q[:, self.q_order]
        for at, start in self.bases:
            for row in theirs:
                x, y, z, i, j, k, real = row[at].tolist()
                there = start * Placement.from_quaternion(i, j, k, real, (x, y, z))
                row[at] = [*there.position, *quaternion_of(there.rotation)]
        return theirs


def twin(robot: lw.Mechanism, file: Path | None = None) -> Twin:
    """From an MJCF file of the same robot, or from MJCF written here; `Unable` where MuJoCo does not take it."""
    import mujoco as mj

    mj.set_mju_user_warning(lambda message: None)
    try:
        if file is not None:
            other, model = lw.load(file), mj.MjModel.from_xml_path(str(file))
        else:
            text = mjcf_of(robot)
            other, model = lw.loads(text, "mjcf"), mj.MjModel.from_xml_string(text)
    except (ValueError, lw.errors.LinkworkError) as error:
        raise Unable(f"MuJoCo does not take {robot.name}: {' '.join(str(error).split())}") from None
    if (model.nq, model.nv) != (robot.nq, robot.nv):
        raise Unable(f"MuJoCo reads '{robot.name}' with {model.nv} velocities, linkwork with {robot.nv}")
    off = mj.mjtDisableBit
    model.opt.disableflags |= int(
        off.mjDSBL_CONTACT | off.mjDSBL_LIMIT | off.mjDSBL_FRICTIONLOSS | off.mjDSBL_ACTUATION
    )
    for array in PASSIVE:
        getattr(model, array)[:] = 0
    order = [[at for j in other.joints for at in _range(slices(j.name))] for slices in (robot.q_slice, robot.v_slice)]
    bases = [j for j in robot.joints if isinstance(j.type, lw.joints.Free)] if file is None else []
    moved = tuple((other.q_slice(j.name), j.placement) for j in bases)
    q_order, v_order = (np.array(o, np.intp) for o in order)
    return Twin(other, model, mujoco_map(other), q_order, v_order, moved)


def _range(at: slice) -> range:
    return range(at.start, at.stop)


def contender(twin: Twin, states: States) -> Contender:
    """``mj_forward`` without contacts, limits, friction, damping and springs; its answers are those at rest."""
    import mujoco as mj

    model, map = twin.model, twin.map
    memory = mj.MjData(model)
    qpos, qvel, applied, forward = memory.qpos, memory.qvel, memory.qfrc_applied, mj.mj_forward
    q, v, tau = twin.q(states.q), states.v[:, twin.v_order], states.u[:, twin.v_order]
    theirs = map.to_qpos(q), map.to_qvel(q, v), map.to_qfrc(q, tau)

    def call(q: Floats, v: Floats, tau: Floats) -> None:
        qpos[:] = q
        qvel[:] = v
        applied[:] = tau
        forward(model, memory)

    def answer() -> Floats:
        found = np.empty((len(q), twin.robot.nv))
        for k, (at, _, torque) in enumerate(zip(*theirs, strict=True)):
            call(at, np.zeros(twin.robot.nv), torque)
            found[k, twin.v_order] = map.from_qacc(q[k], np.zeros(twin.robot.nv), memory.qacc)
        return found

    return Contender("mujoco.forward", call, one_by_one(theirs), len(q), answer, tolerance=1e-6)


def take_dense_jacobian(twin: Twin) -> None:
    """Let MuJoCo keep the Jacobian of its rows as a dense matrix: sparse ones of 4.0.0 lose digits on large models."""
    import mujoco as mj

    twin.model.opt.jacobian = mj.mjtJacobian.mjJAC_DENSE


def expected(twin: Twin, robot: lw.Mechanism, states: States) -> Floats:
    """What ours gives for MuJoCo's problem: at rest, rows with MuJoCo's softness."""
    rest = np.zeros_like(states.v)
    if not robot.nc:
        return lw.ForwardDynamics(robot, "aba", threads=1)(states.q, rest, states.u).acceleration
    softness = _softness(twin, robot, states.q[0])
    soft = replace(robot, constraints=tuple(_with(c, softness[robot.row_slice(c.name)]) for c in robot.constraints))
    fd = dynamics(soft, "prox_ltl", 1.0, 1)
    return fd(states.q, rest, states.u).acceleration


def _with(constraint: Constraint, compliance: Floats) -> Constraint:
    return replace(constraint, compliance=compliance, gains=(0.0, 0.0), time_constant=None)


def _softness(twin: Twin, robot: lw.Mechanism, q: Floats) -> Floats:
    """MuJoCo's ``R`` in the order and scale of our rows."""
    import mujoco as mj

    memory = mj.MjData(twin.model)
    memory.qpos[:] = twin.map.to_qpos(twin.q(q[None])[0])
    mj.mj_forward(twin.model, memory)
    theirs = np.array(memory.efc_R)
    if len(theirs) != robot.nc:
        raise Unable(f"MuJoCo has {len(theirs)} rows for '{robot.name}', linkwork {robot.nc}")
    ours, start = np.empty(robot.nc), 0
    for constraint in twin.robot.constraints:
        R = theirs[start : start + constraint.rows]
        start += constraint.rows
        if isinstance(constraint, lw.constraints.Weld):  # sliding rows first; a turning row is half an angle
            R = np.concatenate([4 * R[3:], R[:3]])
        ours[robot.row_slice(constraint.name)] = R
    return ours


# Writing MJCF ----------------------------------------------------------------------------------------------


def mjcf_of(robot: lw.Mechanism) -> str:
    """A mechanism as MJCF text: bodies, joints, armatures, points and welds; no shapes, no limits."""
    root = etree.Element("mujoco", model=robot.name)
    etree.SubElement(root, "compiler", angle="radian", autolimits="false")
    etree.SubElement(root, "option", gravity=_text(robot.gravity))
    bodies = {WORLD: etree.SubElement(root, "worldbody")}
    for joint in robot.joints:
        at = joint.placement
        quaternion = np.roll(quaternion_of(at.rotation), 1)
        body = etree.SubElement(
            bodies[joint.parent], "body", name=joint.child, pos=_text(at.position), quat=_text(quaternion)
        )
        bodies[joint.child] = body
        inertia = robot.inertias[joint.child]
        if inertia.mass > 0:
            I = inertia.rotational
            full = (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])
            etree.SubElement(
                body, "inertial", pos=_text(inertia.com), mass=repr(float(inertia.mass)), fullinertia=_text(full)
            )
        if isinstance(joint.type, Fixed):
            continue
        if type(joint.type) not in JOINTS:
            raise Unable(f"MuJoCo has no joint like {joint.type.kind_name}")
        element = etree.SubElement(body, "joint", name=joint.name, type=JOINTS[type(joint.type)])
        if isinstance(joint.type, lw.joints.Revolute | lw.joints.Prismatic):
            element.set("axis", _text(joint.type.axis))
        if np.any(joint.armature):
            element.set("armature", repr(float(np.mean(joint.armature))))
    equality = etree.SubElement(root, "equality")
    for k, constraint in enumerate(robot.constraints):
        if type(constraint) not in EQUALITIES or not isinstance(constraint, Pair):
            raise Unable(f"{constraint} is not written as MJCF")
        element = etree.SubElement(equality, EQUALITIES[type(constraint)], name=constraint.name)
        ends = ((constraint.first, constraint.first_at), (constraint.second, constraint.second_at))
        for n, (place, there) in enumerate(ends, 1):
            frame = robot.frames[place]
            _site(bodies[frame.body], f"end {k} {n}", frame.placement * as_placement(there))
            element.set(f"site{n}", f"end {k} {n}")
    return etree.tostring(root, encoding="unicode")  # type: ignore[no-any-return]


def _site(body: Any, name: str, at: Placement) -> None:
    quaternion = np.roll(quaternion_of(at.rotation), 1)
    etree.SubElement(body, "site", name=name, pos=_text(at.position), quat=_text(quaternion))


def _text(numbers: npt.ArrayLike) -> str:
    return " ".join(repr(float(x)) for x in np.asarray(numbers).ravel())
