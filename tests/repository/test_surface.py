# SPDX-License-Identifier: BSD-3-Clause
"""The public surface: names at the top of linkwork, and the rest in namespaces."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from types import ModuleType

import pytest

import linkwork as lw
from linkwork.names import MOVED

NAMESPACES = {
    name: space for name in lw.__all__ if isinstance(space := getattr(lw, name), ModuleType) and name != "zoo"
}

NAMES = """
    KKT Activations Actuation Actuator Adjoint Assembly AssemblyError Belt Box Branch Builder CannotSave Capsule
    Cardan CenterOfMass CenterOfMassTask Constraint ContactGeometry ContactPair ContactPoints ContactShape
    ContactSolution ContactStep Contacts Controller Cylinder Cylindrical DampedInverse Delassus DelassusOperator
    DeviceArray DeviceError Ellipsoid Energy Equilibrium Evaluator Fixed Follows ForwardDynamics FrameTask Free
    FunctionCoupling Gear Ground HeightField Helical Hinge Impact ImpactDynamics Inertia InputError InverseDynamics
    InverseKinematicsSolution InverseSolution Joint JointCoupling JointLock KKTFactor KernelError LinearCombination
    Linearization LinkworkError Mechanism Mesh Minimal MinimalMotion ModelError ModelWarning MujocoMap NotConverged
    NotFinite OperationCount OperationalInertia Optimized Outboard PinocchioMap Placement Planar PlaneOnPlane Point
    PointOnLine PointOnPlane PolynomialCoupling PostureTask Prismatic ProgramTooLarge Revolute Rod Rolling
    RowSolution Sensor SensorValues Sensors Simulation SimulationWarning SingularConstraints SingularMassMatrix
    Slider Solution Sphere Spherical StateWarning Stepper Surface Sweep Tendon TendonCoupling Terms TopologyError
    Trajectory Universal UnknownName UnknownOption UnsupportedFeature VelocityCoupling VelocityProjection Weld
    WrongOperand actuation_matrix actuator_torques attach best_method bias_forces center_of_mass
    center_of_mass_jacobian center_of_mass_jacobian_rate centroidal_momentum centroidal_momentum_matrix
    centroidal_momentum_matrix_rate clusters compose constraint_bias constraint_derivatives constraint_error
    constraint_error_jacobian constraint_jacobian constraint_target coriolis_matrix energy export_c export_casadi
    frame_acceleration frame_jacobian frame_jacobian_rate frame_placement frame_velocity from_log_cholesky
    from_log_cholesky_jacobian from_mujoco from_pinocchio from_pseudo_inertia gravity_compensation gravity_forces
    inverse_mass_matrix inverse_mass_product is_physically_consistent kernel linearize load load_description loads
    log_cholesky log_cholesky_jacobian mass_matrix method_costs methods_for minimal_derivatives mujoco_map
    nearest_physically_consistent next_activations operation_count passive_forces pinocchio_map point_acceleration
    point_jacobian point_jacobian_rate point_position point_velocity pseudo_inertia rollouts sensor_data simulate
    sincos solve_contacts sqrt subtree_center_of_mass subtree_center_of_mass_jacobian
    subtree_center_of_mass_jacobian_rate subtree_of tendon_energy tendon_forces tendon_jacobian tendon_length
    tendon_velocity terms to_device torque_limits where zoo
"""
"""All names that were at the top before there were namespaces."""


@pytest.mark.parametrize("name", NAMES.split())
def test_a_name_that_was_at_the_top_is_found(name: str) -> None:
    """It is still there, or the error says where it is now, for an attribute and for an import statement."""
    if name in lw.__all__:
        assert getattr(lw, name) is not None
        return
    now = f"linkwork.{MOVED[name]}.{name}"
    assert name in NAMESPACES[MOVED[name]].__all__
    assert getattr(importlib.import_module(f"linkwork.{MOVED[name]}"), name) is not None
    with pytest.raises(AttributeError) as missing:
        getattr(lw, name)
    with pytest.raises(ImportError) as refused:
        exec(f"from linkwork import {name}")
    assert str(missing.value) == str(refused.value) == f"linkwork.{name} is {now} now"


def test_the_top_is_small() -> None:
    names = set(lw.__all__) - set(NAMESPACES)
    assert len(names - {"zoo"}) <= 60
    assert not names & set(MOVED)


def test_tables_of_the_top_agree() -> None:
    """Type checkers read the imports, Python the table of lazy names, ``dir`` and tab completion ``__all__``."""
    assert dir(lw) == sorted(lw.__all__)
    assert [name for name in lw.__all__ if not hasattr(lw, name)] == []
    assert [name for name in NAMESPACES if f"`{name}`" not in (lw.__doc__ or "")] == []


@pytest.mark.parametrize("space", NAMESPACES)
def test_a_namespace_lists_its_names(space: str) -> None:
    module = NAMESPACES[space]
    assert module.__doc__ is not None
    assert sorted(module.__all__) == [name for name in dir(module) if not name.startswith("_")]


@pytest.mark.parametrize("name", [f"{space}.{name}" for space in NAMESPACES for name in NAMESPACES[space].__all__])
def test_a_name_of_a_namespace_has_a_docstring(name: str) -> None:
    space, _, rest = name.partition(".")
    assert inspect.getdoc(getattr(NAMESPACES[space], rest))


def test_a_name_has_one_import_path() -> None:
    places: dict[int, list[str]] = {}
    for space, module in {"": lw, **NAMESPACES}.items():
        for name in module.__all__:
            places.setdefault(id(getattr(module, name)), []).append(f"{space}.{name}")
    assert [names for names in places.values() if len(names) > 1] == []


def test_models_are_made_without_a_compiler() -> None:
    """Neither linkwork nor joints, constraints, shapes, contact pairs and errors import LLVM."""
    code = (
        "import sys, linkwork as lw; lw.joints, lw.constraints, lw.shapes, lw.contact.ContactPair, lw.errors;"
        "print([name for name in sys.modules if name.startswith(('llvmlite', 'linkwork.compilers'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
