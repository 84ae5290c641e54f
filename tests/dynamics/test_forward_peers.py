# SPDX-License-Identifier: BSD-3-Clause
"""Constrained dynamics as Pinocchio and MuJoCo have it: hard constraints of the one, soft rows of the other."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.dynamics.methods import AUTOMATIC
from linkwork.mechanism import Mechanism
from linkwork.model.constraints import Pair
from linkwork.model.placement import as_placement
from tests.dynamics.test_forward_models import from_file
from tests.support import linkages
from tests.support.gauss import Problem, closed_state, distance
from tests.support.robots import model_file
from tests.support.states import Floats, assert_close
from tests.zoo import test_scenes

AGREEMENT = 1e-9

# Pinocchio -------------------------------------------------------------------------------------------


def away_from_stretched(name: str) -> Mechanism:
    """With a pose in which loops are closed and no leg is straight."""
    from dataclasses import replace

    robot = from_file(name)
    start = robot.integrate(robot.poses["qpos0"], 0.1 * np.random.default_rng(1).normal(size=robot.nv))
    return replace(robot, poses={"assembled": robot.assemble(start, limits=False)})


def standing() -> Mechanism:
    from dataclasses import replace

    robot = linkages.made("humanoid")
    return replace(robot, poses={"assembled": robot.neutral()})


ROBOTS: dict[str, Callable[[], Mechanism]] = {
    "Cassie": lambda: away_from_stretched("Cassie"),
    "Digit": lambda: away_from_stretched("Digit, its file"),
    "Booster T1": lambda: away_from_stretched("Booster T1"),
    "humanoid on two feet": standing,
    "Talos on two feet": lambda: test_scenes.made("Talos (2F)"),
    "two hands and a cube": lambda: test_scenes.made("AH²-cube"),
    "single loop": lambda: lw.zoo.single_loop(9),
    "Stewart platform": lambda: lw.zoo.stewart(),
}


class PinocchioTwin:
    """A mechanism with points and welds in Pinocchio, joint by joint."""

    def __init__(self, robot: Mechanism) -> None:
        self.pin = pin = pytest.importorskip("pinocchio")
        twins = pytest.importorskip("twins")
        self.robot = robot
        self.model = pin.Model()
        self.model.gravity.linear = robot.gravity
        on = {"world": (0, pin.SE3.Identity())}
        moving = []
        for joint in robot.joints:
            parent, at = on[joint.parent]
            at, body = at * self._se3(joint.placement), robot.inertias[joint.child]
            if not isinstance(joint.type, lw.joints.Fixed):
                kind = twins._JOINTS[type(joint.type)](joint.type)
                parent, at = self.model.addJoint(parent, kind, at, joint.name), pin.SE3.Identity()
                moving.append(self.model.joints[parent])
            on[joint.child] = parent, at
            self.model.appendBodyToJoint(parent, pin.Inertia(body.mass, body.com, body.rotational), at)
        self.q_order = np.concatenate([np.arange(j.idx_q, j.idx_q + j.nq) for j in moving])
        self.v_order = np.concatenate([np.arange(j.idx_v, j.idx_v + j.nv) for j in moving])
        armature = np.zeros(self.model.nv)
        armature[self.v_order] = robot.armature
        self.model.armature = armature
        self.constraints = pin.StdVec_RigidConstraintModel()
        contacts = {lw.constraints.Point: pin.ContactType.CONTACT_3D, lw.constraints.Weld: pin.ContactType.CONTACT_6D}
        for c in robot.constraints:
            assert isinstance(c, Pair)
            ends: list[Any] = []
            # The world is named second: with joint 0 first, lcaba of Pinocchio 4.1 writes beyond its memory.
            pair = ((c.first, c.first_at), (c.second, c.second_at))
            for place, there in sorted(pair, key=lambda end: robot.frames[end[0]].body == "world"):
                frame = robot.frames[place]
                joint_id, body_at = on[frame.body]
                ends += [joint_id, body_at * self._se3(frame.placement) * self._se3(as_placement(there))]
            self.constraints.append(pin.RigidConstraintModel(contacts[type(c)], self.model, *ends, pin.LOCAL))

    def _se3(self, at: lw.Placement) -> Any:
        return self.pin.SE3(at.rotation, at.position)

    def acceleration(self, p: Problem, solver: str, damping: float, iterations: int) -> Floats:
        """With fresh memory: what a call of lcaba leaves there changes later answers."""
        data, of_constraints = self.model.createData(), self.pin.StdVec_RigidConstraintData()
        for c in self.constraints:
            of_constraints.append(c.createData())
        if solver == "lcaba":
            self.pin.computeJointMinimalOrdering(self.model, data, self.constraints)
        else:
            self.pin.initConstraintDynamics(self.model, data, self.constraints, of_constraints)
        q, (v, tau) = np.empty(self.model.nq), np.empty((2, self.model.nv))
        q[self.q_order], v[self.v_order], tau[self.v_order] = p.q, p.v, p.tau
        settings = self.pin.ProximalSettings(1e-14, damping, iterations)
        found = getattr(self.pin, solver)(self.model, data, q, v, tau, self.constraints, of_constraints, settings)
        return np.array(found)[self.v_order]


@cache
def twin(name: str) -> tuple[PinocchioTwin, tuple[Problem, ...]]:
    robot = ROBOTS[name]()
    q = robot.poses["assembled"]
    return PinocchioTwin(robot), tuple(closed_state(robot, q, np.random.default_rng(seed)) for seed in range(3))


@pytest.mark.parametrize("method", [*AUTOMATIC, "kkt"])
@pytest.mark.parametrize("name", ROBOTS)
def test_accelerations_are_those_of_pinocchios_constraint_dynamics(name: str, method: str) -> None:
    """At closed loops, where Pinocchio's rows span what ours do."""
    there, problems = twin(name)
    fd = lw.ForwardDynamics(there.robot, method, tolerance=1e-12)
    for p in problems:
        theirs = there.acceleration(p, "constraintDynamics", 1e-6, 20)
        assert distance(fd(p.q, p.v, p.tau).acceleration, theirs) <= AGREEMENT


@pytest.mark.parametrize("name", ["humanoid on two feet", "Talos on two feet", "two hands and a cube", "single loop"])
def test_accelerations_are_those_of_pinocchios_lcaba(name: str) -> None:
    """Not on Cassie and Digit: there Pinocchio's lcaba is off by 1e-7 to 1e-3 of its own constraintDynamics."""
    there, problems = twin(name)
    fd = lw.ForwardDynamics(there.robot, "lcaba", tolerance=1e-12)
    for p in problems:
        theirs = there.acceleration(p, "lcaba", 1e-4, 40)
        assert distance(fd(p.q, p.v, p.tau).acceleration, theirs) <= 1e-8


# MuJoCo ----------------------------------------------------------------------------------------------

EQUALITIES = """
<mujoco>
  <option gravity="1 -2 -9.81"/>
  <compiler angle="radian"/>
  <worldbody>
    <body name="a0" pos="0 0 1">
      <joint name="a0" type="hinge" axis="1 0 0" armature="0.1"/><geom size=".1" pos=".1 0 .1"/>
      <body name="a1" pos=".3 .1 .2">
        <joint name="a1" type="hinge" axis="0 1 0"/><geom size=".1" pos="0 .1 0"/>
        <body name="a2" pos="0 .2 .3"><joint name="a2" type="hinge" axis="0 0 1"/><geom size=".1"/></body>
      </body>
    </body>
    <body name="b0" pos=".8 0 1">
      <freejoint name="b0"/><geom size=".1" pos="0 .1 .1"/>
      <body name="b1" pos=".1 .3 .2">
        <joint name="b1" type="ball"/><geom size=".12" pos=".1 0 0"/>
        <body name="b2" pos=".2 0 .3"><joint name="b2" type="slide" axis="1 0 1"/><geom size=".1"/></body>
      </body>
    </body>
    <body name="c0" pos="0 1 1"><joint name="c0" type="hinge" axis="0 1 1"/><geom size=".1" pos=".2 .1 0"/>
      <body name="c1" pos=".2 .1 .1"><joint name="c1" type="hinge" axis="1 1 0"/><geom size=".1" pos="0 .1 .2"/></body>
    </body>
  </worldbody>
  <equality>
    <connect name="meet" body1="a2" body2="b1" anchor=".1 .2 .05" solref="0.05 0.8" solimp="0.9 0.95 0.01 0.5 2"/>
    <weld name="hold" body1="b2" body2="c1" relpose=".5 .1 0 1 0 0 0"/>
    <connect name="ground" body1="b0" anchor="0 0 .1"/>
    <joint name="gear" joint1="a0" joint2="c0" polycoef="0.1 0.5 0.2 0 0"/>
    <joint name="lock" joint1="a1" polycoef="0.2 0 0 0 0" solref="0.1 1.2"/>
  </equality>
</mujoco>
"""


class SoftTwin:
    """A model with equalities alone in MuJoCo: its soft problem in our rows."""

    def __init__(self, robot: Mechanism, source: str | Path) -> None:
        from tests.support.mujoco_twin import MujocoTwin, mujoco

        self.mujoco, self.twin = mujoco, MujocoTwin(robot, source)
        self.robot, self.model = robot, self.twin.model
        self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ACTUATION
        self.model.dof_damping[:] = 0
        self.model.jnt_stiffness[:] = 0
        self.model.opt.tolerance, self.model.opt.iterations = 1e-30, 200

    def solve(self, q: Floats, v: Floats, tau: Floats) -> tuple[Floats, Floats, Floats]:
        """MuJoCo's acceleration, and its ``aref`` and ``R`` for our rows."""
        data, there = self.twin.data, self.twin.map
        data.qfrc_applied[:] = there.to_qfrc(q, tau)
        self.twin._at(q, v)
        theirs = np.array(data.efc_J).reshape(-1, self.model.nv) @ there.velocity_matrix(q)
        ours = lw.constraint_jacobian(self.robot, q)
        # Our rows are theirs in another order, scale, and axes: J = Q J', so that aref = Q aref', R = Q R' Q'.
        Q = np.linalg.lstsq(theirs.T, ours.T, rcond=None)[0].T
        assert_close(Q @ theirs, ours, 1e-12)
        R = Q @ np.diag(np.array(data.efc_R)) @ Q.T
        assert np.abs(R - np.diag(np.diag(R))).max() <= 1e-10 * np.diag(R).max()
        # Their acceleration with ours zero, as rows see it: MuJoCo's aref is for J a alone, without dJ/dt v.
        still = np.array(data.efc_J).reshape(-1, self.model.nv) @ there.to_qacc(q, v, np.zeros(self.robot.nv))
        return there.from_qacc(q, v, data.qacc), Q @ (np.array(data.efc_aref) - still), np.diag(R)


def assert_soft_solution(robot: Mechanism, source: str | Path, q: Floats, v: Floats, tau: Floats) -> None:
    """``J a + R lambda = aref``: our rows ask for aref beyond what their gains and velocities ask already."""
    there = SoftTwin(robot, source)
    acceleration, aref, R = there.solve(q, v, tau)
    p = Problem(robot, q, v, tau)
    for method in AUTOMATIC:
        fd = lw.ForwardDynamics(robot, method, max_iterations=1)
        s = fd(q, v, tau, target=aref - p.k, regularization=R)
        assert distance(s.acceleration, acceleration) <= 1e-8, method


@pytest.mark.parametrize("speed", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_mujocos_soft_solution_is_one_iteration_with_its_softness(seed: int, speed: float) -> None:
    pytest.importorskip("mujoco")

    robot = lw.loads(EQUALITIES, "mjcf")
    rng = np.random.default_rng(seed)
    q = robot.integrate(robot.neutral(), 0.1 * rng.normal(size=robot.nv))
    assert_soft_solution(robot, EQUALITIES, q, speed * rng.normal(size=robot.nv), rng.normal(size=robot.nv))


@pytest.mark.parametrize(
    "name", ["cassie/cassie_nomesh.xml", "digit/digit-v3_nomesh.xml", "reachy_mini/reachy_mini_nomesh.xml"]
)
def test_mujocos_soft_solution_of_real_robots(name: str) -> None:
    pytest.importorskip("mujoco")
    path = model_file(name)
    robot = lw.load(path)
    rng = np.random.default_rng(3)
    q = robot.integrate(robot.poses["qpos0"], 0.1 * rng.normal(size=robot.nv))
    assert_soft_solution(robot, path, q, 0.1 * rng.normal(size=robot.nv), rng.normal(size=robot.nv))
