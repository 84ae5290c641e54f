# SPDX-License-Identifier: BSD-3-Clause
"""Pinocchio's models as ours: the same dynamics at the same states."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.peers.pinocchio import from_pinocchio, pinocchio_map
from tests.support.robots import ROBOTS, load, pinocchio_model
from tests.support.states import assert_close

pin = pytest.importorskip("pinocchio")


def every_joint(seed: int) -> Any:
    """A model with one joint of each type, on random branches."""
    rng = np.random.default_rng(seed)
    axis, other = np.linalg.qr(rng.normal(size=(3, 3)))[0][:2]
    composite = pin.JointModelComposite(pin.JointModelRX())
    composite.addJoint(pin.JointModelPZ(), pin.SE3.Random())
    kinds = [
        *(pin.JointModelFreeFlyer(), pin.JointModelRX(), pin.JointModelRevoluteUnaligned(axis), pin.JointModelRUBY()),
        *(pin.JointModelPY(), pin.JointModelPrismaticUnaligned(axis)),
        *(pin.JointModelHZ(0.2), pin.JointModelHelicalUnaligned(axis, -0.1), pin.JointModelUniversal(axis, other)),
        *(pin.JointModelSpherical(), pin.JointModelPlanar(), pin.JointModelTranslation()),
        *(pin.JointModelSphericalZYX(), composite),
    ]
    model = pin.Model()
    for k, kind in enumerate(kinds):
        # Pinocchio's algorithms need joints in depth-first order: the parent is the last joint, or one before it
        parent = k if rng.random() < 0.7 else model.parents[k]
        joint = model.addJoint(int(parent), kind, pin.SE3.Random(), f"joint{k}")
        model.appendBodyToJoint(joint, pin.Inertia.Random(), pin.SE3.Identity())
        model.addBodyFrame(f"body{k}", joint, pin.SE3.Identity() if k % 2 else pin.SE3.Random(), 0)
    model.armature = rng.uniform(0, 1, model.nv)
    return model


def check(model: Any, constraints: Any = (), seed: int = 0) -> None:
    robot = from_pinocchio(model, constraints)
    across = pinocchio_map(robot, model)
    q = robot.normalize(robot.random(seed))
    v, tau = np.random.default_rng(seed).normal(size=(2, robot.nv))
    data = model.createData()
    theirs = across.to_q(q)
    assert_close(across.to_q(across.from_q(theirs)), theirs, 1e-14, scale=1.0)
    M = pin.crba(model, data, theirs)
    M = np.triu(M) + np.triu(M, 1).T
    assert_close(lw.mass_matrix(robot, q), M[np.ix_(across.v_order, across.v_order)], 1e-11)
    bias = pin.nonLinearEffects(model, data, theirs, across.to_v(v))
    assert_close(lw.bias_forces(robot, q, v), across.from_v(bias), 1e-11)
    a = pin.aba(model, data, theirs, across.to_v(v), across.to_v(tau))
    assert_close(lw.ForwardDynamics(robot.unconstrained())(q, v, tau).acceleration, across.from_v(a), 1e-8)
    pin.updateFramePlacements(model, data)
    pin.framesForwardKinematics(model, data, theirs)
    for frame in model.frames:
        if frame.name in robot.frames and frame.name != "universe" and str(frame.type) != "JOINT":
            at = data.oMf[model.getFrameId(frame.name, frame.type)]
            assert_close(lw.frame_placement(robot, q, frame.name).position, at.translation, 1e-11, scale=1.0)


@pytest.mark.parametrize("seed", range(4))
def test_every_joint_type(seed: int) -> None:
    pin.seed(seed)
    check(every_joint(seed), seed=seed)


@pytest.mark.parametrize("name", ["ur5", "solo12", "talos"])
def test_robots(name: str) -> None:
    check(pinocchio_model(name), seed=1)


@pytest.mark.models
def test_states_cross_in_both_directions_on_all_robots() -> None:
    """Of the file, read here, and of Pinocchio's model of it: the same matrices at the same states, in batches."""
    for name in ROBOTS:
        model, robot = pinocchio_model(name), load(name)
        across = pinocchio_map(robot, model)
        q = robot.normalize(robot.random(1, 3))
        v = np.random.default_rng(1).normal(size=(3, robot.nv))
        theirs = across.to_q(q)
        assert theirs.shape == (3, model.nq)
        assert_close(np.sin(robot.difference(across.from_q(theirs), q) / 2), 0 * v, 1e-12, scale=1.0)
        assert_close(across.from_v(across.to_v(v)), v, 1e-15)
        data = model.createData()
        M = pin.crba(model, data, theirs[2])
        M = np.triu(M) + np.triu(M, 1).T
        bias = pin.nonLinearEffects(model, data, theirs[2], across.to_v(v)[2])
        velocity = across.to_v(v)[2]
        for ours in (robot, from_pinocchio(model)):
            across = pinocchio_map(ours, model)  # joints may be in another order
            p, w = across.from_q(theirs[2]), across.from_v(velocity)
            assert_close(lw.mass_matrix(ours, p), M[np.ix_(across.v_order, across.v_order)], 1e-10)
            assert_close(lw.bias_forces(ours, p, w), across.from_v(bias), 1e-10)


def test_an_unlimited_joint_about_any_axis() -> None:
    body = '<inertial><mass value="1"/><inertia ixx="1" iyy="2" izz="2" ixy="0" ixz="0" iyz="0"/></inertial>'
    check(
        pin.buildModelFromXML(
            f'<robot name="r"><link name="a"/><link name="b">{body}</link><joint name="j" type="continuous">'
            '<parent link="a"/><child link="b"/><axis xyz="0 0.6 0.8"/></joint></robot>'
        )
    )


def test_loops() -> None:
    pin.seed(3)
    model = every_joint(3)
    data = model.createData()
    theirs = pin.randomConfiguration(model, -np.ones(model.nq), np.ones(model.nq))
    pin.forwardKinematics(model, data, theirs)
    constraints = []
    for kind, a, b in ((pin.ContactType.CONTACT_3D, 3, 9), (pin.ContactType.CONTACT_6D, 12, 0)):
        first = pin.SE3.Random()
        second = data.oMi[b].inverse() * data.oMi[a] * first  # closed there
        constraints.append(pin.RigidConstraintModel(kind, model, a, first, b, second, pin.ReferenceFrame.LOCAL))
    for c in constraints:
        c.m_baumgarte_parameters.Kp = 4.0
    robot = from_pinocchio(model, constraints)
    assert [type(c) for c in robot.constraints] == [lw.constraints.Point, lw.constraints.Weld]
    assert robot.constraints[0].gains == (4.0, 0.0)
    across = pinocchio_map(robot, model)
    q = across.from_q(theirs)
    assert_close(lw.constraint_error(robot, q), np.zeros(robot.nc), 1e-12, scale=1.0)
    cdata = [c.createData() for c in constraints]
    pin.computeJointJacobians(model, data, theirs)
    for c, made in zip(constraints, cdata, strict=True):
        c.calc(model, data, made)
    J = pin.getConstraintsJacobian(model, data, constraints, cdata)[:, across.v_order]
    ours = lw.constraint_jacobian(robot, q)
    # rows in other axes and signs: the same velocities are allowed
    for rows in (slice(0, 3), slice(3, 9)):
        span = [np.linalg.qr(x[rows].T)[0] for x in (ours, J)]
        assert_close(span[0] @ span[0].T, span[1] @ span[1].T, 1e-9, scale=1.0)


def test_refusals() -> None:
    with pytest.raises(lw.errors.InputError, match="takes a pinocchio"):
        from_pinocchio(3)
    model = pin.Model()
    model.addJoint(0, pin.JointModelEllipsoid(0.1, 0.2, 0.3), pin.SE3.Identity(), "egg")
    with pytest.raises(lw.errors.UnsupportedFeature, match="joint 'egg' is of type Ellipsoid"):
        from_pinocchio(model)
    with pytest.raises(lw.errors.InputError, match="differ in joints"):
        pinocchio_map(lw.zoo.four_bar(), pin.Model())


def test_vectors_of_the_wrong_size_do_not_cross() -> None:
    model = pin.buildSampleModelManipulator()
    across = lw.peers.pinocchio_map(lw.peers.from_pinocchio(model), model)
    for move, name in ((across.to_q, "q"), (across.from_q, "q"), (across.to_v, "v"), (across.from_v, "v")):
        for wrong in (np.zeros(5), np.zeros(7), 3.0):
            with pytest.raises(lw.errors.InputError, match=f"{name} has shape"):
                move(wrong)
    with pytest.raises(lw.errors.InputError, match="needs a pinocchio"):
        lw.peers.pinocchio_map(lw.peers.from_pinocchio(model), 3)
