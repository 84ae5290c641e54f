# SPDX-License-Identifier: BSD-3-Clause
"""Names of packages that are imported at first use, and names that have moved."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any


def close_names(name: str, known: Iterable[str]) -> list[str]:
    """The names that are spelled much like one, or contain it, in either case: three at most.

    Args:
        name: The name.
        known: Names to choose from.
    """
    from difflib import get_close_matches  # takes a moment, and is for mistakes alone

    names = {known_name.casefold(): known_name for known_name in reversed(list(known))}
    word = name.casefold()
    close = [names[match] for match in get_close_matches(word, names, n=3)]
    return close or [names[other] for other in names if word and word in other][:3]


def lazy_names(package: str, modules: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package: imports a name from its module at first use; from then on the package has it.

    Args:
        package: The package's name.
        modules: Names that it has, by the modules that they come from; its own modules are names of the package itself.
    """
    origin = {name: module for module, names in modules.items() for name in names}

    def get(name: str) -> Any:
        if name not in origin:
            close = [] if name.startswith("_") else close_names(name, origin)
            near = f"; did you mean {', '.join(map(repr, close))}?" if close else ""
            raise AttributeError(f"module '{package}' has no attribute '{name}'{near}")
        module = origin[name]
        value = import_module(f"{package}.{name}") if module == package else getattr(import_module(module), name)
        setattr(sys.modules[package], name, value)
        return value

    return get


_MOVED = {
    "actuators": """
        Actuator Activations actuation_matrix actuator_torques gravity_compensation next_activations torque_limits
    """,
    "constraints": """
        Belt Cardan CenterOfMass Constraint Cylindrical Follows FunctionCoupling Gear Hinge JointCoupling JointLock
        LinearCombination PlaneOnPlane Point PointOnLine PointOnPlane PolynomialCoupling Rod Rolling Slider
        TendonCoupling VelocityCoupling Weld
    """,
    "contact": """
        ContactGeometry ContactPair ContactPoints ContactShape ContactSolution ContactStep Contacts RowSolution
        solve_contacts
    """,
    "derivatives": """
        Adjoint Linearization constraint_derivatives constraint_error_jacobian minimal_derivatives
    """,
    "devices": "DeviceArray to_device",
    "errors": """
        AssemblyError CannotSave DeviceError InputError KernelError LinkworkError ModelError ModelWarning NotConverged
        NotFinite ProgramTooLarge SimulationWarning SingularConstraints SingularMassMatrix StateWarning TopologyError
        UnknownName UnknownOption UnsupportedFeature WrongOperand
    """,
    "export": "export_c export_casadi",
    "inertial_parameters": """
        from_log_cholesky from_log_cholesky_jacobian from_pseudo_inertia is_physically_consistent log_cholesky
        log_cholesky_jacobian nearest_physically_consistent pseudo_inertia
    """,
    "joints": "Fixed Free Helical Joint Planar Prismatic Revolute Spherical Universal",
    "kernels": "sincos sqrt where",
    "kinematics": """
        point_acceleration point_jacobian point_jacobian_rate point_position point_velocity subtree_center_of_mass
        subtree_center_of_mass_jacobian subtree_center_of_mass_jacobian_rate subtree_of
    """,
    "loops": "Assembly MinimalMotion VelocityProjection clusters",
    "methods": "best_method method_costs methods_for",
    "peers": "MujocoMap PinocchioMap from_mujoco from_pinocchio mujoco_map pinocchio_map",
    "results": """
        Actuation DampedInverse DelassusOperator Energy Equilibrium Impact InverseKinematicsSolution InverseSolution
        KKTFactor OperationCount Optimized Solution Sweep Terms
    """,
    "sensors": "Outboard Sensor SensorValues Sensors sensor_data",
    "shapes": "Box Capsule Cylinder Ellipsoid Ground HeightField Mesh Sphere Surface",
    "tasks": "CenterOfMassTask FrameTask PostureTask",
    "tendons": "Branch Tendon tendon_energy tendon_forces tendon_jacobian tendon_length tendon_velocity",
}

MOVED = {name: space for space, names in _MOVED.items() for name in names.split()}
"""Names that were once at the top of linkwork, and the namespaces that have them now."""
