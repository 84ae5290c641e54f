# SPDX-License-Identifier: BSD-3-Clause
"""Equalities of tendons: rows are MuJoCo's, bias is the rate of the Jacobian, methods agree, ropes stay as they are."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import cache

import mujoco
import numpy as np
import pytest

import linkwork as lw
from linkwork.mechanism import Mechanism
from tests.support.tendon_texts import Twin, text

EQUALITIES = {
    "a length": '<tendon tendon1="t0" polycoef="0.02"/>',
    "two spatial": '<tendon tendon1="t0" tendon2="t1" polycoef="0.1 0.5 0.3 -0.2 0.1"/>',
    "spatial by fixed": '<tendon tendon1="t1" tendon2="t2" polycoef="0.1 0.5 0.3"/>',
    "fixed by spatial": '<tendon tendon1="t2" tendon2="t1" polycoef="0 0.5 0.3 1 1"/>',
    "a polynomial of several joints": '<tendon tendon1="t2" tendon2="t4" polycoef="0 0.5 0.3 1 1"/>',
    "one joint": '<tendon tendon1="t3"/><tendon tendon1="t1" tendon2="t4"/>',
}
METHODS = ("prox_ltl", "pv", "prox_bbo", "lcaba")

pytestmark = pytest.mark.filterwarnings("ignore::linkwork.errors.StateWarning")


@cache
def twin(case: str) -> Twin:
    words = text(f"<equality>{EQUALITIES[case]}</equality>")
    return Twin(lw.loads(words, "mjcf"), mujoco.MjModel.from_xml_string(words), 3)


@pytest.mark.parametrize("case", EQUALITIES)
def test_rows_and_errors_are_mujocos(case: str) -> None:
    it = twin(case)
    robot, q, rows = it.robot, it.q, it.robot.nc
    errors, jacobians = lw.constraint_error(robot, q), lw.constraint_jacobian(robot, q)
    for k, data in enumerate(it.data):
        theirs = data.efc_J.reshape(-1, it.model.nv)[:rows] @ it.map.velocity_matrix(q[k])
        size = max(1.0, np.abs(theirs).max())
        np.testing.assert_allclose(errors[k], data.efc_pos[:rows], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(jacobians[k], theirs, rtol=0, atol=1e-13 * size)


@pytest.mark.parametrize("case", EQUALITIES)
def test_the_bias_is_the_rate_of_the_jacobian(case: str) -> None:
    it, h = twin(case), 1e-5
    robot, q, v = it.robot, it.q, it.v

    def rates(step: float) -> np.ndarray:  # type: ignore[type-arg]
        return np.einsum("krv,kv->kr", lw.constraint_jacobian(robot, robot.integrate(q, step * v)), v)

    difference = (8 * (rates(h) - rates(-h)) - (rates(2 * h) - rates(-2 * h))) / (12 * h)
    bias = lw.constraint_bias(robot, q, v)
    np.testing.assert_allclose(bias, difference, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("case", ["two spatial", "one joint"])
def test_methods_agree_on_accelerations_and_forces(case: str) -> None:
    it = twin(case)
    robot, q, v = it.robot, it.q[0], it.v[0]
    tau = np.linspace(-1, 1, robot.nv)
    reference = lw.ForwardDynamics(robot, "ltl").plain()(q, v, tau)
    size = np.abs(reference.acceleration).max()
    for method in METHODS:
        found = lw.ForwardDynamics(robot, method).plain()(q, v, tau)  # type: ignore[arg-type]
        assert np.abs(found.acceleration - reference.acceleration).max() < 1e-10 * size, method


def crane(**options: float) -> Mechanism:
    """A pendulum of two links whose tip hangs on a rope over two eyes."""
    arm = lw.zoo.pendulum(2).with_frame("hook", "world", (0.7, 0.2, 0.3)).with_frame("eye", "link0", (0.1, 0.05, -0.6))
    rope = lw.tendons.Tendon("rope", path=("hook", "eye", "tip"))
    return arm.constrained(lw.constraints.TendonCoupling(rope, name="taut", **options), at=[0.8, -0.3])


def test_a_rope_keeps_its_length_and_pulls_with_its_force() -> None:
    robot = crane()
    q = np.array([0.8, -0.3])
    assert abs(lw.constraint_error(robot, q)[0]) < 1e-15
    assert robot.mobility(q).dof == 1
    closed = robot.assemble([0.7, -0.3], fixed=[robot.joint_names[0]])
    length = lw.tendons.tendon_length(robot.with_tendons(robot.constraint("taut").follower), closed)  # type: ignore[attr-defined]
    assert abs(length[0] - robot.constraint("taut").follower_origin) < 1e-12  # type: ignore[attr-defined]
    solution = lw.ForwardDynamics(robot, "ltl").plain()(q, [0.0, 0.0], [0.0, 0.0])
    J = lw.constraint_jacobian(robot, q)
    balance = lw.mass_matrix(robot, q) @ solution.acceleration + lw.bias_forces(robot, q, [0.0, 0.0])
    np.testing.assert_allclose(balance, J.T @ solution.forces["taut"], rtol=0, atol=1e-12)


def test_early_elimination_and_clusters_serve_a_rope_from_the_world_to_one_body() -> None:
    q, v = np.array([0.8, -0.3]), [0.1, 0.2]
    hung = lw.zoo.pendulum(2).with_frame("hook", "world", (0.7, 0.2, 0.3))
    held = hung.constrained(lw.constraints.TendonCoupling(lw.tendons.Tendon("rope", path=("hook", "tip"))), at=q)
    early, same, tied = (lw.ForwardDynamics(held, m).plain()(q, v, [0.0, 0.0]) for m in ("pv_early", "ltl", "cluster"))  # type: ignore[arg-type]
    np.testing.assert_allclose(early.acceleration, same.acceleration, rtol=0, atol=1e-10)
    np.testing.assert_allclose(tied.acceleration, same.acceleration, rtol=0, atol=1e-10)


def test_changed_copies_keep_the_rope() -> None:
    robot, q = crane(), np.array([0.5, 0.1])
    J = lw.constraint_jacobian(robot, q)
    for copy in (
        pickle.loads(pickle.dumps(robot)),
        robot.renamed(lambda name: f"left_{name}"),
        robot.mirrored("xz"),
        lw.compose({"part": robot}),
    ):
        np.testing.assert_allclose(lw.constraint_jacobian(copy, q), J, rtol=0, atol=1e-14)
    np.testing.assert_allclose(lw.constraint_jacobian(robot.scaled(length=2.0), q), 2 * J, rtol=0, atol=1e-14)
    robot.draw_graph()


def test_tendons_of_couplings_are_renamed_and_saved_once() -> None:
    words = text(f"<equality>{EQUALITIES['two spatial']}</equality>")
    robot = lw.loads(words, "mjcf", contacts=False).renamed(lambda name: f"new {name}")
    (held,) = robot.constraints
    assert isinstance(held, lw.constraints.TendonCoupling)
    assert [tendon.name for tendon in held.tendons] == ["new t0", "new t1"]
    back = lw.loads(robot.to_text("mjcf"), "mjcf", contacts=False)
    assert [tendon.name for tendon in back.tendons] == [tendon.name for tendon in robot.tendons]
    alone = replace(robot.without_actuators(), tendons=())  # a constraint alone has them: their springs do not act
    back = lw.loads(alone.to_text("mjcf"), "mjcf", contacts=False)
    q, v = back.random(0), np.ones(back.nv)
    assert not lw.tendons.tendon_forces(back, q, v).any()
    np.testing.assert_allclose(lw.constraint_jacobian(back, q), lw.constraint_jacobian(alone, q), atol=1e-12)


POLYNOMIALS = """<mujoco><compiler angle="radian"/><worldbody><body name="a"><joint name="ja" axis="0 1 0" ref=".2"/>
  <geom size=".1" pos=".1 0 0"/><body name="b" pos=".3 0 0"><joint name="jb" type="slide" axis="0 1 0" ref=".1"/>
  <geom size=".1"/><body name="c" pos=".3 0 0"><joint name="jc" type="slide" axis="0 0 1"/><geom size=".1"/></body>
  </body></body></worldbody><tendon><fixed name="t1"><joint joint="ja" coef="2"/><joint joint="jb" coef="-1"/></fixed>
  <fixed name="t2"><joint joint="jc" coef=".7"/></fixed><fixed name="t3"><joint joint="ja" coef=".7"/></fixed>
  <fixed name="t4"><joint joint="ja" coef=".5"/></fixed></tendon>
  <equality><tendon name="of three" tendon1="t1" tendon2="t2" polycoef=".1 .2 .3 .4 .5"/>
  <tendon name="of one" tendon1="t3" tendon2="t4" polycoef=".1 .2 .3 .4 .5"/></equality></mujoco>"""


def test_polynomials_of_joints_are_scaled_locked_held_and_saved() -> None:
    robot, q = lw.loads(POLYNOMIALS, contacts=False), np.array([0.3, 0.2, 0.5])
    error, J = lw.constraint_error(robot, q), lw.constraint_jacobian(robot, q)
    larger = robot.scaled(2.0, time=1.0)  # the rows are those of the hinge, which has no length
    moved = q * [1.0, 2.0, 2.0]
    np.testing.assert_allclose(lw.constraint_error(larger, moved), error, atol=1e-14)
    np.testing.assert_allclose(lw.constraint_jacobian(larger, moved), J / [1.0, 2.0, 2.0], atol=1e-14)
    held = robot.reduced({"jb": q[1]})
    np.testing.assert_allclose(lw.constraint_error(held, q[[0, 2]]), error, atol=1e-14)
    np.testing.assert_allclose(lw.constraint_jacobian(held, q[[0, 2]]), J[:, [0, 2]], atol=1e-14)
    there = robot.unconstrained().constrained(*robot.constraints, at=q)
    assert np.abs(lw.constraint_error(there, q)).max() < 1e-14
    with pytest.warns(lw.errors.ModelWarning, match="MJCF adds no constant to the length of a tendon"):
        written = held.to_text("mjcf")
    mujoco.MjModel.from_xml_string(written)
    np.testing.assert_allclose(lw.constraint_error(lw.loads(written), q[[0, 2]]), error, atol=1e-14)


def test_wrong_couplings_are_refused() -> None:
    rope = lw.tendons.Tendon("rope", path=("link0", "link1"))
    with pytest.raises(lw.errors.InputError, match="needs a Tendon"):
        lw.constraints.TendonCoupling("rope")  # type: ignore[arg-type]
    with pytest.raises(lw.errors.ModelError, match="6 coefficients"):
        lw.constraints.TendonCoupling(rope, coefficients=range(6))
    with pytest.raises(lw.errors.ModelError, match="no body or frame 'hook'"):
        lw.zoo.pendulum(2).constrained(lw.constraints.TendonCoupling(lw.tendons.Tendon("rope", path=("hook", "tip"))))
    stiff = lw.zoo.pendulum(2).with_frame("end", "link0", (0, 0, 0.1))
    with pytest.raises(lw.errors.ModelError, match="pass 'link0' alone"):
        stiff.constrained(lw.constraints.TendonCoupling(lw.tendons.Tendon("rope", path=("end", "link0"))))
