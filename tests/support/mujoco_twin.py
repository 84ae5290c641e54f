# SPDX-License-Identifier: BSD-3-Clause
"""What MuJoCo says of a model, in linkwork's layout: an oracle with one method per quantity."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwork.mechanism import Mechanism
from linkwork.parsing.mjcf import mujoco_map
from tests.support.states import Floats

mujoco = pytest.importorskip("mujoco")
mujoco.set_mju_user_warning(lambda message: None)  # or it writes a log file where the tests run


class MujocoTwin:
    """A model in MuJoCo, asked at our q and v. Contacts, limits and friction are switched off."""

    def __init__(self, robot: Mechanism, source: str | Path) -> None:
        load = mujoco.MjModel.from_xml_path if isinstance(source, Path) else mujoco.MjModel.from_xml_string
        self.robot, self.model, self.map = robot, load(str(source)), mujoco_map(robot)
        off = mujoco.mjtDisableBit
        self.model.opt.disableflags |= off.mjDSBL_CONTACT | off.mjDSBL_LIMIT | off.mjDSBL_FRICTIONLOSS
        self.model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
        self.data = mujoco.MjData(self.model)

    def _at(self, q: Floats, v: Floats) -> Any:
        self.data.qpos[:], self.data.qvel[:] = self.map.to_qpos(q), self.map.to_qvel(q, v)
        mujoco.mj_forward(self.model, self.data)
        return self.data

    def _full(self) -> Floats:
        full = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, self.data, full)
        return full

    def check_configuration(self, q: Floats, qpos: Floats) -> None:
        """Our q is MuJoCo's, where a quaternion may have either sign."""
        theirs = self.map.from_qpos(qpos)
        for at in self.robot.unit_slices():
            theirs[at] *= np.sign(theirs[at] @ q[at])
        np.testing.assert_allclose(q, theirs, atol=1e-14)

    def mass_matrix(self, q: Floats) -> Floats:
        """Armatures included."""
        self._at(q, np.zeros(self.robot.nv))
        T = self.map.velocity_matrix(q)
        return np.array(T.T @ self._full() @ T)

    def bias_forces(self, q: Floats, v: Floats) -> Floats:
        """The forces for our acceleration zero, which is not MuJoCo's zero where a free body turns and moves."""
        bias = self._at(q, v).qfrc_bias
        still = self.map.to_qacc(q, v, np.zeros(self.robot.nv))
        return self.map.from_qfrc(q, bias + self._full() @ still)

    def passive_forces(self, q: Floats, v: Floats) -> Floats:
        """Of springs and dampers."""
        return self.map.from_qfrc(q, self._at(q, v).qfrc_passive)

    def forward_dynamics(self, q: Floats, v: Floats, tau: Floats) -> Floats:
        """The acceleration without constraints and passive forces."""
        smooth = self.map.to_qfrc(q, tau) - self._at(q, v).qfrc_bias
        return self.map.from_qacc(q, v, np.linalg.solve(self._full(), smooth))

    def equality(self, q: Floats) -> tuple[Floats, Floats, Floats]:
        """Of all active equalities: the Jacobian, the violations, and which equality each row is of."""
        data = self._at(q, np.zeros(self.robot.nv))
        rows = np.flatnonzero(data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY)
        J = np.array(data.efc_J).reshape(-1, self.model.nv)[rows] if data.nefc else np.zeros((0, self.model.nv))
        return J @ self.map.velocity_matrix(q), np.array(data.efc_pos)[rows], np.array(data.efc_id)[rows]


def row_space(J: Floats) -> tuple[Floats, float]:
    """The orthogonal projector on the space of the rows, and the smallest singular value as a part of the largest."""
    _, s, vt = np.linalg.svd(J, full_matrices=False)
    kept = s > 1e-9 * s.max(initial=0.0)
    return np.array(vt[kept].T @ vt[kept]), float(s[kept].min() / s.max()) if kept.any() else 1.0


def assert_same_rows(ours: Floats, theirs: Floats, rel: float) -> None:
    """Two matrices bind the same velocities, as far as the weakest of their rows is known: to 1e-14 of the largest."""
    (P, weakest), (Q, _) = row_space(ours), row_space(theirs)
    np.testing.assert_allclose(P, Q, atol=max(rel, 1e-14 / weakest))
