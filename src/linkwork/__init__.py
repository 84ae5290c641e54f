# SPDX-License-Identifier: BSD-3-Clause
"""linkwork: dynamics of mechanisms, written once in Python and compiled well.

>>> import linkwork as lw
>>> robot = lw.zoo.humanoid()
>>> fd = lw.ForwardDynamics(robot)
>>> fd(robot.neutral(), [0.0] * robot.nv, [0.0] * robot.nv).acceleration[:3]
array([ 0.  ,  0.  , -9.81])
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from linkwork.errors import (
    AssemblyError,
    CannotSave,
    DeviceError,
    InputError,
    KernelError,
    LinkworkError,
    ModelError,
    ModelWarning,
    NotConverged,
    NotFinite,
    ProgramTooLarge,
    SimulationWarning,
    SingularConstraints,
    SingularMassMatrix,
    StateWarning,
    TopologyError,
    UnknownName,
    UnknownOption,
    UnsupportedFeature,
    WrongOperand,
)
from linkwork.kernels.scalar import kernel, sincos, sqrt, where
from linkwork.mechanism import Builder, Mechanism, attach, compose
from linkwork.model.constraints import (
    Belt,
    Cardan,
    CenterOfMass,
    Constraint,
    Cylindrical,
    Follows,
    FunctionCoupling,
    Gear,
    Hinge,
    JointCoupling,
    JointLock,
    LinearCombination,
    PlaneOnPlane,
    Point,
    PointOnLine,
    PointOnPlane,
    PolynomialCoupling,
    Rod,
    Rolling,
    Slider,
    TendonCoupling,
    VelocityCoupling,
    Weld,
)
from linkwork.model.contacts import ContactPair, ContactShape
from linkwork.model.inertia import Inertia
from linkwork.model.inertial_parameters import (
    from_log_cholesky,
    from_log_cholesky_jacobian,
    from_pseudo_inertia,
    is_physically_consistent,
    log_cholesky,
    log_cholesky_jacobian,
    nearest_physically_consistent,
    pseudo_inertia,
)
from linkwork.model.joints import Fixed, Free, Helical, Joint, Planar, Prismatic, Revolute, Spherical, Universal
from linkwork.model.parts import Actuator
from linkwork.model.placement import Placement
from linkwork.model.sensors import Outboard, Sensor
from linkwork.model.shapes import Box, Capsule, Cylinder, Ellipsoid, Ground, HeightField, Mesh, Sphere, Surface
from linkwork.model.tendons import Branch, Tendon
from linkwork.parsing import load, loads
from linkwork.parsing.descriptions import load_description

if TYPE_CHECKING:
    from linkwork import zoo
    from linkwork.closure.actuation import Actuation
    from linkwork.closure.clusters import clusters
    from linkwork.closure.evaluators import Assembly, VelocityProjection
    from linkwork.closure.inverse_kinematics import InverseKinematicsSolution
    from linkwork.closure.minimal import Minimal
    from linkwork.closure.tasks import CenterOfMassTask, FrameTask, PostureTask
    from linkwork.compilers.cuda.arrays import DeviceArray, to_device
    from linkwork.contact.dense import RowSolution, solve_contacts
    from linkwork.contact.geometry import ContactGeometry, ContactPoints
    from linkwork.contact.solution import ContactSolution
    from linkwork.contact.step import ContactStep
    from linkwork.dynamics.delassus import Contacts, DampedInverse, Delassus, DelassusOperator
    from linkwork.dynamics.equilibrium import Equilibrium
    from linkwork.dynamics.forward import ForwardDynamics
    from linkwork.dynamics.impact import Impact, ImpactDynamics
    from linkwork.dynamics.inverse import InverseDynamics
    from linkwork.dynamics.inverse_solution import InverseSolution
    from linkwork.dynamics.jacobians.minimal import minimal_derivatives
    from linkwork.dynamics.kkt import KKT, KKTFactor
    from linkwork.dynamics.methods import best_method, method_costs, methods_for
    from linkwork.dynamics.operational import OperationalInertia
    from linkwork.dynamics.solution import Solution
    from linkwork.export import export_c, export_casadi
    from linkwork.mechanism.optimized import Optimized
    from linkwork.peers.mujoco import MujocoMap, from_mujoco, mujoco_map
    from linkwork.peers.pinocchio import PinocchioMap, from_pinocchio, pinocchio_map
    from linkwork.quantities.actuation import (
        Activations,
        actuation_matrix,
        actuator_torques,
        gravity_compensation,
        next_activations,
        tendon_energy,
        tendon_forces,
        tendon_jacobian,
        tendon_length,
        tendon_velocity,
        torque_limits,
    )
    from linkwork.quantities.counts import OperationCount
    from linkwork.quantities.evaluator import Evaluator, operation_count
    from linkwork.quantities.functions import (
        Energy,
        bias_forces,
        center_of_mass,
        center_of_mass_jacobian,
        center_of_mass_jacobian_rate,
        centroidal_momentum,
        centroidal_momentum_matrix,
        centroidal_momentum_matrix_rate,
        constraint_bias,
        constraint_derivatives,
        constraint_error,
        constraint_error_jacobian,
        constraint_jacobian,
        constraint_target,
        coriolis_matrix,
        energy,
        frame_acceleration,
        frame_jacobian,
        frame_jacobian_rate,
        frame_placement,
        frame_velocity,
        gravity_forces,
        inverse_mass_product,
        mass_matrix,
        passive_forces,
    )
    from linkwork.quantities.points import (
        point_acceleration,
        point_jacobian,
        point_jacobian_rate,
        point_position,
        point_velocity,
    )
    from linkwork.quantities.sensors import Sensors, SensorValues
    from linkwork.quantities.subtrees import (
        subtree_center_of_mass,
        subtree_center_of_mass_jacobian,
        subtree_center_of_mass_jacobian_rate,
        subtree_of,
    )
    from linkwork.quantities.terms import Terms, inverse_mass_matrix, terms
    from linkwork.simulation import (
        Adjoint,
        Controller,
        Linearization,
        MinimalMotion,
        Simulation,
        Stepper,
        Sweep,
        Trajectory,
        linearize,
        rollouts,
        sensor_data,
        simulate,
    )

__version__ = "0.3.0"


_LAZY = {
    "linkwork.closure.actuation": ("Actuation",),
    "linkwork.closure.clusters": ("clusters",),
    "linkwork.closure.evaluators": ("Assembly", "VelocityProjection"),
    "linkwork.closure.inverse_kinematics": ("InverseKinematicsSolution",),
    "linkwork.closure.minimal": ("Minimal",),
    "linkwork.closure.tasks": ("CenterOfMassTask", "FrameTask", "PostureTask"),
    "linkwork.compilers.cuda.arrays": ("DeviceArray", "to_device"),
    "linkwork.contact.dense": ("RowSolution", "solve_contacts"),
    "linkwork.contact.geometry": ("ContactGeometry", "ContactPoints"),
    "linkwork.contact.solution": ("ContactSolution",),
    "linkwork.contact.step": ("ContactStep",),
    "linkwork.dynamics.delassus": ("Contacts", "DampedInverse", "Delassus", "DelassusOperator"),
    "linkwork.dynamics.equilibrium": ("Equilibrium",),
    "linkwork.dynamics.forward": ("ForwardDynamics",),
    "linkwork.dynamics.impact": ("Impact", "ImpactDynamics"),
    "linkwork.dynamics.inverse": ("InverseDynamics",),
    "linkwork.dynamics.inverse_solution": ("InverseSolution",),
    "linkwork.dynamics.kkt": ("KKT", "KKTFactor"),
    "linkwork.dynamics.methods": ("best_method", "method_costs", "methods_for"),
    "linkwork.dynamics.jacobians.minimal": ("minimal_derivatives",),
    "linkwork.dynamics.solution": ("Solution",),
    "linkwork.dynamics.operational": ("OperationalInertia",),
    "linkwork.export": ("export_c", "export_casadi"),
    "linkwork.mechanism.optimized": ("Optimized",),
    "linkwork.peers.mujoco": ("MujocoMap", "from_mujoco", "mujoco_map"),
    "linkwork.peers.pinocchio": ("PinocchioMap", "from_pinocchio", "pinocchio_map"),
    "linkwork.quantities.evaluator": ("Evaluator", "OperationCount", "operation_count"),
    "linkwork.quantities.actuation": (
        "Activations",
        "actuation_matrix",
        "actuator_torques",
        "gravity_compensation",
        "next_activations",
        "tendon_energy",
        "tendon_forces",
        "tendon_jacobian",
        "tendon_length",
        "tendon_velocity",
        "torque_limits",
    ),
    "linkwork.quantities.functions": (
        "Energy",
        "bias_forces",
        "center_of_mass",
        "center_of_mass_jacobian",
        "center_of_mass_jacobian_rate",
        "centroidal_momentum",
        "centroidal_momentum_matrix",
        "centroidal_momentum_matrix_rate",
        "constraint_bias",
        "constraint_derivatives",
        "constraint_error",
        "constraint_error_jacobian",
        "constraint_jacobian",
        "constraint_target",
        "coriolis_matrix",
        "energy",
        "frame_acceleration",
        "frame_jacobian",
        "frame_jacobian_rate",
        "frame_placement",
        "frame_velocity",
        "gravity_forces",
        "inverse_mass_product",
        "mass_matrix",
        "passive_forces",
    ),
    "linkwork.quantities.points": (
        "point_acceleration",
        "point_jacobian",
        "point_jacobian_rate",
        "point_position",
        "point_velocity",
    ),
    "linkwork.quantities.sensors": ("SensorValues", "Sensors"),
    "linkwork.quantities.subtrees": (
        "subtree_center_of_mass",
        "subtree_center_of_mass_jacobian",
        "subtree_center_of_mass_jacobian_rate",
        "subtree_of",
    ),
    "linkwork.quantities.terms": ("Terms", "inverse_mass_matrix", "terms"),
    "linkwork.simulation": (
        "Adjoint",
        "Controller",
        "Linearization",
        "MinimalMotion",
        "Trajectory",
        "Simulation",
        "Stepper",
        "Sweep",
        "linearize",
        "rollouts",
        "sensor_data",
        "simulate",
    ),
}
"""What needs a compiler is imported when it is first asked for: names by module."""

_MODULE_OF = {name: module for module, names in _LAZY.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import what needs a compiler when it is first asked for."""
    if name in ("gym", "jax", "torch", "zoo"):  # the first three need Gymnasium, JAX, PyTorch
        return import_module(f"linkwork.{name}")
    if name in _MODULE_OF:
        found = globals()[name] = getattr(import_module(_MODULE_OF[name]), name)  # from now on found without a search
        return found
    raise AttributeError(f"module 'linkwork' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "KKT",
    "Activations",
    "Actuation",
    "Actuator",
    "Adjoint",
    "Assembly",
    "AssemblyError",
    "Belt",
    "Box",
    "Branch",
    "Builder",
    "CannotSave",
    "Capsule",
    "Cardan",
    "CenterOfMass",
    "CenterOfMassTask",
    "Constraint",
    "ContactGeometry",
    "ContactPair",
    "ContactPoints",
    "ContactShape",
    "ContactSolution",
    "ContactStep",
    "Contacts",
    "Controller",
    "Cylinder",
    "Cylindrical",
    "DampedInverse",
    "Delassus",
    "DelassusOperator",
    "DeviceArray",
    "DeviceError",
    "Ellipsoid",
    "Energy",
    "Equilibrium",
    "Evaluator",
    "Fixed",
    "Follows",
    "ForwardDynamics",
    "FrameTask",
    "Free",
    "FunctionCoupling",
    "Gear",
    "Ground",
    "HeightField",
    "Helical",
    "Hinge",
    "Impact",
    "ImpactDynamics",
    "Inertia",
    "InputError",
    "InverseDynamics",
    "InverseKinematicsSolution",
    "InverseSolution",
    "Joint",
    "JointCoupling",
    "JointLock",
    "KKTFactor",
    "KernelError",
    "LinearCombination",
    "Linearization",
    "LinkworkError",
    "Mechanism",
    "Mesh",
    "Minimal",
    "MinimalMotion",
    "ModelError",
    "ModelWarning",
    "MujocoMap",
    "NotConverged",
    "NotFinite",
    "OperationCount",
    "OperationalInertia",
    "Optimized",
    "Outboard",
    "PinocchioMap",
    "Placement",
    "Planar",
    "PlaneOnPlane",
    "Point",
    "PointOnLine",
    "PointOnPlane",
    "PolynomialCoupling",
    "PostureTask",
    "Prismatic",
    "ProgramTooLarge",
    "Revolute",
    "Rod",
    "Rolling",
    "RowSolution",
    "Sensor",
    "SensorValues",
    "Sensors",
    "Simulation",
    "SimulationWarning",
    "SingularConstraints",
    "SingularMassMatrix",
    "Slider",
    "Solution",
    "Sphere",
    "Spherical",
    "StateWarning",
    "Stepper",
    "Surface",
    "Sweep",
    "Tendon",
    "TendonCoupling",
    "Terms",
    "TopologyError",
    "Trajectory",
    "Universal",
    "UnknownName",
    "UnknownOption",
    "UnsupportedFeature",
    "VelocityCoupling",
    "VelocityProjection",
    "Weld",
    "WrongOperand",
    "actuation_matrix",
    "actuator_torques",
    "attach",
    "best_method",
    "bias_forces",
    "center_of_mass",
    "center_of_mass_jacobian",
    "center_of_mass_jacobian_rate",
    "centroidal_momentum",
    "centroidal_momentum_matrix",
    "centroidal_momentum_matrix_rate",
    "clusters",
    "compose",
    "constraint_bias",
    "constraint_derivatives",
    "constraint_error",
    "constraint_error_jacobian",
    "constraint_jacobian",
    "constraint_target",
    "coriolis_matrix",
    "energy",
    "export_c",
    "export_casadi",
    "frame_acceleration",
    "frame_jacobian",
    "frame_jacobian_rate",
    "frame_placement",
    "frame_velocity",
    "from_log_cholesky",
    "from_log_cholesky_jacobian",
    "from_mujoco",
    "from_pinocchio",
    "from_pseudo_inertia",
    "gravity_compensation",
    "gravity_forces",
    "inverse_mass_matrix",
    "inverse_mass_product",
    "is_physically_consistent",
    "kernel",
    "linearize",
    "load",
    "load_description",
    "loads",
    "log_cholesky",
    "log_cholesky_jacobian",
    "mass_matrix",
    "method_costs",
    "methods_for",
    "minimal_derivatives",
    "mujoco_map",
    "nearest_physically_consistent",
    "next_activations",
    "operation_count",
    "passive_forces",
    "pinocchio_map",
    "point_acceleration",
    "point_jacobian",
    "point_jacobian_rate",
    "point_position",
    "point_velocity",
    "pseudo_inertia",
    "rollouts",
    "sensor_data",
    "simulate",
    "sincos",
    "solve_contacts",
    "sqrt",
    "subtree_center_of_mass",
    "subtree_center_of_mass_jacobian",
    "subtree_center_of_mass_jacobian_rate",
    "subtree_of",
    "tendon_energy",
    "tendon_forces",
    "tendon_jacobian",
    "tendon_length",
    "tendon_velocity",
    "terms",
    "to_device",
    "torque_limits",
    "where",
    "zoo",
]
