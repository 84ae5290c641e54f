# SPDX-License-Identifier: BSD-3-Clause
"""MJCF: robots of real files have MuJoCo's mass matrix, bias force and space of constraints."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import ModelError
from linkwork.mechanism import Mechanism
from tests.support.mujoco_twin import MujocoTwin, assert_same_rows, mujoco, row_space
from tests.support.robots import MODELS, model_file, model_files
from tests.support.states import Floats, assert_close

AGREEMENT = 1e-10
"""Relative; both sides round at 1e-16, and 1e-14 is seen."""

RANDOM = 20

ROWS = {
    "digit/digit-v3": (18, 18),
    "cassie/cassie": (12, 10),
    "kangaroo/kangaroo": (6, 4),
    "kangaroo/kangaroo_lower_body": (6, 4),
    "kangaroo/kangaroo_grippers": (6, 4),
    "booster_t1/T1_23dof_parallel": (12, 12),
    "reachy_mini/reachy_mini": (15, 15),
    "robotiq_2f85/2f85": (7, 5),
    "robotiq_2f85_v4/2f85": (7, 5),
    "panda/panda": (1, 1),
    "iiwa14/iiwa14": (0, 0),
    "fourier_n1/n1": (0, 0),
}
"""Rows of the equality Jacobian at qpos0 and their rank, as the models' README has them."""

CLOSED = sorted(name for name, (rows, _) in ROWS.items() if rows)

NEEDS_MESHES = {"robotiq_2f85/2f85": ("right_silicone_pad", "silicone_pad.stl")}
"""Originals with a body whose inertia comes from a mesh."""


def path_of(name: str, suffix: str = "_nomesh") -> Path:
    return model_file(f"{name}{suffix}.xml")


@cache
def load(name: str) -> Mechanism:
    return lw.load(path_of(name), inertias="check")


@cache
def twin(name: str) -> MujocoTwin:
    return MujocoTwin(load(name), path_of(name))


def states(robot: Mechanism) -> tuple[Floats, Floats]:
    """The pose in which the model is drawn, random ones, and velocities."""
    rng = np.random.default_rng(7)
    q = np.array([robot.poses["qpos0"], *(robot.random(rng) for _ in range(RANDOM))])
    return q, rng.normal(size=(RANDOM + 1, robot.nv))


@pytest.mark.models
def test_every_model_of_the_folder_is_tested() -> None:
    found = {path.relative_to(MODELS).as_posix().removesuffix("_nomesh.xml") for path in model_files("*_nomesh.xml")}
    assert found == set(ROWS)


@pytest.mark.parametrize("name", sorted(ROWS))
def test_joints_and_bodies_are_those_of_mujoco(name: str) -> None:
    robot, model = load(name), twin(name).model
    theirs = [model.joint(k).name for k in range(model.njnt)]
    assert len(theirs) == len(robot.joints)
    assert all(their in ("", our) for our, their in zip(robot.joint_names, theirs, strict=True))
    assert (robot.nq, robot.nv) == (model.nq, model.nv)
    assert {model.body(k).name for k in range(model.nbody)} - {""} <= set(robot.frame_names)
    twin(name).check_configuration(robot.poses["qpos0"], model.qpos0)


@pytest.mark.parametrize("name", sorted(ROWS))
def test_keyframes_are_those_of_mujoco(name: str) -> None:
    robot, model = load(name), twin(name).model
    assert len(robot.poses) == model.nkey + 1
    for k in range(model.nkey):
        twin(name).check_configuration(robot.poses[model.key(k).name], model.key_qpos[k])


@pytest.mark.parametrize("name", sorted(ROWS))
def test_mass_matrix_is_that_of_mujoco(name: str) -> None:
    q, _ = states(load(name))
    for ours, at in zip(lw.mass_matrix(load(name), q), q, strict=True):
        assert_close(ours, twin(name).mass_matrix(at), AGREEMENT)


@pytest.mark.parametrize("name", sorted(ROWS))
def test_bias_force_is_that_of_mujoco(name: str) -> None:
    q, v = states(load(name))
    for ours, at, moving in zip(lw.bias_forces(load(name), q, v), q, v, strict=True):
        assert_close(ours, twin(name).bias_forces(at, moving), AGREEMENT)


@pytest.mark.parametrize("name", sorted(ROWS))
def test_springs_and_dampers_are_those_of_mujoco(name: str) -> None:
    q, v = states(load(name))
    for ours, at, moving in zip(lw.passive_forces(load(name), q, v), q, v, strict=True):
        assert_close(ours, twin(name).passive_forces(at, moving), AGREEMENT)


@pytest.mark.parametrize("name", sorted(ROWS))
def test_rows_and_rank_of_the_constraints_are_known(name: str) -> None:
    robot = load(name)
    theirs, _, _ = twin(name).equality(robot.poses["qpos0"])
    assert (robot.nc, len(theirs)) == (ROWS[name][0],) * 2
    if robot.nc:
        J = lw.constraint_jacobian(robot, robot.poses["qpos0"])
        assert [round(float(np.trace(row_space(rows)[0]))) for rows in (J, theirs)] == [ROWS[name][1]] * 2


@pytest.mark.parametrize("name", CLOSED)
def test_constraints_bind_the_velocities_that_mujocos_equalities_bind(name: str) -> None:
    robot = load(name)
    q, _ = states(robot)
    for ours, at in zip(lw.constraint_jacobian(robot, q), q, strict=True):
        theirs, _, _ = twin(name).equality(at)
        assert_same_rows(ours, theirs, AGREEMENT)


@pytest.mark.parametrize("name", CLOSED)
def test_loops_are_open_by_as_much_as_in_mujoco(name: str) -> None:
    robot = load(name)
    q, _ = states(robot)
    for ours, at in zip(lw.constraint_error(robot, q), q, strict=True):
        _, theirs, of = twin(name).equality(at)
        for k, constraint in enumerate(robot.constraints):
            gap = np.linalg.norm(ours[robot.row_slice(constraint.name)])
            assert gap == pytest.approx(np.linalg.norm(theirs[of == k]), rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("name", sorted(ROWS))
def test_actuators_drive_joints_with_mujocos_gears(name: str) -> None:
    robot, model = load(name), twin(name).model
    on_joints = {
        model.actuator(k).name: (model.joint(model.actuator_trnid[k, 0]).name, model.actuator_gear[k, 0])
        for k in range(model.nu)
        if model.actuator_trntype[k] == mujoco.mjtTrn.mjTRN_JOINT
    }
    ours = {a.name: (a.joint, a.gear[0]) for a in robot.actuators if not a.also}
    assert ours == on_joints


@pytest.mark.parametrize("name", sorted(set(ROWS) - set(NEEDS_MESHES)))
def test_the_original_with_absent_meshes_is_the_same_mechanism(name: str) -> None:
    original = lw.load(path_of(name, ""), inertias="check")
    robot = load(name)
    assert original.joint_names == robot.joint_names
    q, _ = states(robot)
    assert_close(lw.mass_matrix(original, q), lw.mass_matrix(robot, q), 1e-14)


def test_load_takes_a_file_by_its_root_element() -> None:
    robot = lw.load(path_of("panda/panda"))
    assert robot.joint_names == load("panda/panda").joint_names


@pytest.mark.parametrize("name", sorted(NEEDS_MESHES))
def test_an_inertia_that_must_come_from_a_mesh_is_an_error_that_names_it(name: str) -> None:
    body, file = NEEDS_MESHES[name]
    with pytest.raises(ModelError, match=re.escape(f"body '{body}' must come from mesh")) as error:
        lw.load(path_of(name, ""))
    assert file in str(error.value)
