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

from linkwork.builder import Builder, attach, compose
from linkwork.constraints import (
    Belt,
    Cardan,
    CenterOfMass,
    Constraint,
    Cylinder,
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
    Weld,
)
from linkwork.errors import (
    AssemblyError,
    InputError,
    KernelError,
    LinkworkError,
    ModelError,
    ModelWarning,
    NotConverged,
    NotFinite,
    ProgramTooLarge,
    SingularConstraints,
    SingularMassMatrix,
    StateWarning,
    TopologyError,
    UnknownName,
    UnknownOption,
    UnsupportedFeature,
)
from linkwork.joints import Fixed, Free, Helical, Joint, Planar, Prismatic, Revolute, Spherical, Universal
from linkwork.mechanism import Actuator, Mechanism
from linkwork.parsing import load, loads
from linkwork.rigid import Inertia, Placement
from linkwork.scalar import kernel, sincos, sqrt, where

if TYPE_CHECKING:
    from linkwork import zoo
    from linkwork.coordinates import Actuation, Minimal, clusters
    from linkwork.delassus import Contacts, DampedInverse, Delassus, DelassusOperator
    from linkwork.dynamics import (
        Energy,
        Evaluator,
        OperationCount,
        Pose,
        actuator_torques,
        bias_forces,
        center_of_mass,
        centroidal_momentum,
        constraint_bias,
        constraint_error,
        constraint_jacobian,
        constraint_target,
        energy,
        frame_acceleration,
        frame_jacobian,
        frame_placement,
        frame_velocity,
        gravity_compensation,
        gravity_forces,
        inverse_mass_product,
        mass_matrix,
        operation_count,
        passive_forces,
    )
    from linkwork.equilibrium import Equilibrium
    from linkwork.export import export_c
    from linkwork.forward import ForwardDynamics, Solution, best_method, method_costs, methods_for
    from linkwork.impulse import Impact, ImpactDynamics
    from linkwork.inverse import InverseDynamics, InverseSolution
    from linkwork.operational import OperationalInertia
    from linkwork.simulation import Controller, MinimalMotion, Run, Stepper, Sweep, rollouts, simulate

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    """Import what needs a compiler when it is first asked for."""
    if name == "zoo":
        return import_module("linkwork.zoo")
    if name in ("ForwardDynamics", "Solution", "best_method", "method_costs", "methods_for"):
        return getattr(import_module("linkwork.forward"), name)
    if name in ("Contacts", "DampedInverse", "Delassus", "DelassusOperator"):
        return getattr(import_module("linkwork.delassus"), name)
    if name == "Equilibrium":
        return getattr(import_module("linkwork.equilibrium"), name)
    if name == "export_c":
        return getattr(import_module("linkwork.export"), name)
    if name == "OperationalInertia":
        return getattr(import_module("linkwork.operational"), name)
    if name in ("Controller", "MinimalMotion", "Run", "Stepper", "Sweep", "rollouts", "simulate"):
        return getattr(import_module("linkwork.simulation"), name)
    if name in ("InverseDynamics", "InverseSolution"):
        return getattr(import_module("linkwork.inverse"), name)
    if name in ("Actuation", "Minimal", "clusters"):
        return getattr(import_module("linkwork.coordinates"), name)
    if name in ("Impact", "ImpactDynamics"):
        return getattr(import_module("linkwork.impulse"), name)
    if name in __all__:
        return getattr(import_module("linkwork.dynamics"), name)
    raise AttributeError(f"module 'linkwork' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "Actuation",
    "Actuator",
    "AssemblyError",
    "Belt",
    "Builder",
    "Cardan",
    "CenterOfMass",
    "Constraint",
    "Contacts",
    "Controller",
    "Cylinder",
    "DampedInverse",
    "Delassus",
    "DelassusOperator",
    "Energy",
    "Equilibrium",
    "Evaluator",
    "Fixed",
    "Follows",
    "ForwardDynamics",
    "Free",
    "FunctionCoupling",
    "Gear",
    "Helical",
    "Hinge",
    "Impact",
    "ImpactDynamics",
    "Inertia",
    "InputError",
    "InverseDynamics",
    "InverseSolution",
    "Joint",
    "JointCoupling",
    "JointLock",
    "KernelError",
    "LinearCombination",
    "LinkworkError",
    "Mechanism",
    "Minimal",
    "MinimalMotion",
    "ModelError",
    "ModelWarning",
    "NotConverged",
    "NotFinite",
    "OperationCount",
    "OperationalInertia",
    "Placement",
    "Planar",
    "PlaneOnPlane",
    "Point",
    "PointOnLine",
    "PointOnPlane",
    "PolynomialCoupling",
    "Pose",
    "Prismatic",
    "ProgramTooLarge",
    "Revolute",
    "Rod",
    "Rolling",
    "Run",
    "SingularConstraints",
    "SingularMassMatrix",
    "Slider",
    "Solution",
    "Spherical",
    "StateWarning",
    "Stepper",
    "Sweep",
    "TopologyError",
    "Universal",
    "UnknownName",
    "UnknownOption",
    "UnsupportedFeature",
    "Weld",
    "actuator_torques",
    "attach",
    "best_method",
    "bias_forces",
    "center_of_mass",
    "centroidal_momentum",
    "clusters",
    "compose",
    "constraint_bias",
    "constraint_error",
    "constraint_jacobian",
    "constraint_target",
    "energy",
    "export_c",
    "frame_acceleration",
    "frame_jacobian",
    "frame_placement",
    "frame_velocity",
    "gravity_compensation",
    "gravity_forces",
    "inverse_mass_product",
    "kernel",
    "load",
    "loads",
    "mass_matrix",
    "method_costs",
    "methods_for",
    "operation_count",
    "passive_forces",
    "rollouts",
    "simulate",
    "sincos",
    "sqrt",
    "where",
    "zoo",
]
