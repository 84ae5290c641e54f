# SPDX-License-Identifier: BSD-3-Clause
"""A mechanism told to MuJoCo body by body, and what MuJoCo says of it in linkwork's layout.

Hinges, slides, balls, and free joints of bodies on the world. Inertias and armatures are set in the compiled model:
MJCF refuses some that real files have. MuJoCo's velocities are ``T v``, with the linear velocity of a free body in the
world's axes; quaternions begin with w.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.mechanism import Mechanism
from linkwork.model.rotations import quaternion_matrix
from tests.support.states import Floats, State

mujoco = pytest.importorskip("mujoco")


def _text(x: Any) -> str:
    return " ".join(repr(float(y)) for y in np.ravel(x))


def _joint(joint: Any) -> str:
    name = f'name="{joint.name}"'
    if isinstance(joint.type, lw.joints.Free):
        return f"<freejoint {name}/>"
    if isinstance(joint.type, lw.joints.Spherical):
        return f'<joint {name} type="ball"/>'
    kind = {lw.joints.Revolute: "hinge", lw.joints.Prismatic: "slide"}[type(joint.type)]
    return f'<joint {name} type="{kind}" axis="{_text(joint.type.axis)}"/>'


def _quaternion(R: Floats) -> Floats:
    found = np.zeros(4)
    mujoco.mju_mat2Quat(found, np.ascontiguousarray(R).ravel())
    return found


def written(robot: Mechanism) -> str:
    """MJCF of the tree, with some inertia on each body, so that MuJoCo takes none for a simple one."""
    children: dict[str, list[Any]] = {}
    for joint in robot.joints:
        children.setdefault(joint.parent, []).append(joint)

    def body(joint: Any) -> str:
        place, inside = joint.placement, "".join(body(child) for child in children.get(joint.child, []))
        at = f'pos="{_text(place.position)}" quat="{_text(_quaternion(place.rotation))}"'
        matter = '<inertial mass="1" pos="0.1 0.2 0.3" quat="0.5 0.4 0.3 0.2" diaginertia="1 2 2.5"/>'
        return f'<body name="{joint.child}" {at}>{_joint(joint)}{matter}{inside}</body>'

    head = f'<mujoco><compiler angle="radian"/><option gravity="{_text(robot.gravity)}"/>'
    return f"{head}<worldbody>{''.join(body(joint) for joint in children['world'])}</worldbody></mujoco>"


class WrittenTwin:
    """A mechanism in MuJoCo at one state."""

    def __init__(self, robot: Mechanism, s: State) -> None:
        self.robot, self.model = robot, mujoco.MjModel.from_xml_string(written(robot))
        self.model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
        self.data = mujoco.MjData(self.model)
        self.bodies = {joint.child: int(self.model.body(joint.child).id) for joint in robot.joints}
        for name, k in self.bodies.items():
            inertia = robot.inertias[name]
            values, axes = np.linalg.eigh(inertia.rotational)
            axes[:, 2] *= np.sign(np.linalg.det(axes))
            self.model.body_mass[k], self.model.body_ipos[k] = inertia.mass, inertia.com
            self.model.body_inertia[k], self.model.body_iquat[k] = values, _quaternion(axes)
        self.T, self.T_rate = np.zeros((2, robot.nv, robot.nv))
        q, qpos = robot.normalize(s.q), self.data.qpos
        for joint in robot.joints:
            mine = self.model.joint(joint.name)
            at, to = robot.v_slice(joint.name), slice(int(mine.dofadr[0]), int(mine.dofadr[0]) + joint.type.nv)
            part, start = q[robot.q_slice(joint.name)], int(mine.qposadr[0])
            self.T[to, at] = np.eye(joint.type.nv)
            if isinstance(joint.type, lw.joints.Spherical):
                part = np.roll(part, 1)
            if isinstance(joint.type, lw.joints.Free):
                R, turning = quaternion_matrix(part[3:]), s.v[at][3:]
                self.T[to, at][:3, :3] = R
                self.T_rate[to, at][:3, :3] = np.array([R @ np.cross(turning, e) for e in np.eye(3)]).T
                part = np.concatenate([part[:3], np.roll(part[3:], 1)])
            qpos[start : start + len(part)] = part
            self.model.dof_armature[to] = joint.armature
        kept = qpos.copy()
        mujoco.mj_setConst(self.model, self.data)
        self.data.qpos[:], self.data.qvel[:] = kept, self.T @ s.v
        mujoco.mj_forward(self.model, self.data)

    # Whole robots ------------------------------------------------------------------------------------

    def mass_matrix(self) -> Floats:
        full = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, self.data, full)
        return np.array(self.T.T @ full @ self.T)

    def inverse_mass_matrix(self) -> Floats:
        inverse = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_solveM(self.model, self.data, inverse, np.eye(self.model.nv))
        back = np.linalg.inv(self.T)
        return np.array(back @ inverse @ back.T)

    def energies(self) -> Floats:
        """Potential, kinetic."""
        return np.array(self.data.energy)

    def subtree_center(self, body: str) -> Floats:
        return np.array(self.data.subtree_com[self.bodies[body]])

    def subtree_jacobian(self, body: str) -> Floats:
        J = np.zeros((3, self.model.nv))
        mujoco.mj_jacSubtreeCom(self.model, self.data, J, self.bodies[body])
        return J @ self.T

    def center_of_mass_jacobian(self) -> Floats:
        """From those of the bodies on the world: MuJoCo has no function for several."""
        roots = [j.child for j in self.robot.joints if j.parent == "world"]
        masses = [float(self.model.body_subtreemass[self.bodies[body]]) for body in roots]
        parts = [m * self.subtree_jacobian(body) for m, body in zip(masses, roots, strict=True)]
        return np.array(sum(parts) / sum(masses))

    def center_of_mass_jacobian_rate(self) -> Floats:
        """The same, from rates of the centers of mass of all bodies."""
        total = np.zeros((3, self.robot.nv))
        for name, k in self.bodies.items():
            rate, _ = self.rate_at(name, np.array(self.data.xipos[k]))
            total += self.robot.inertias[name].mass * rate
        return total / sum(self.robot.inertias[name].mass for name in self.bodies)

    def angular_momentum_matrix(self, body: str) -> Floats:
        """Of a subtree about its center of mass."""
        A = np.zeros((3, self.model.nv))
        mujoco.mj_angmomMat(self.model, self.data, A, self.bodies[body])
        return A @ self.T

    # Points ------------------------------------------------------------------------------------------

    def place(self, body: str, point: Floats) -> Floats:
        """A point of a body in the world."""
        k = self.bodies[body]
        return np.array(self.data.xpos[k] + self.data.xmat[k].reshape(3, 3) @ point)

    def jacobian_at(self, body: str, place: Floats) -> tuple[Floats, Floats]:
        """Linear and angular rows of the Jacobian of a point of a body, which is in the world at a place."""
        J = np.zeros((2, 3, self.model.nv))
        mujoco.mj_jac(self.model, self.data, J[0], J[1], place, self.bodies[body])
        return J[0] @ self.T, J[1] @ self.T

    def rate_at(self, body: str, place: Floats) -> tuple[Floats, Floats]:
        """Rates of the same."""
        J, rate = np.zeros((2, 2, 3, self.model.nv))
        mujoco.mj_jac(self.model, self.data, J[0], J[1], place, self.bodies[body])
        mujoco.mj_jacDot(self.model, self.data, rate[0], rate[1], place, self.bodies[body])
        return rate[0] @ self.T + J[0] @ self.T_rate, rate[1] @ self.T + J[1] @ self.T_rate
