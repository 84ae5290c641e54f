# SPDX-License-Identifier: BSD-3-Clause
"""Each quantity: the evaluator that computes it here, and the functions that compute it in Pinocchio.

Pinocchio's functions are called as its users call them. Results that they leave in ``data`` stay there (all placements,
all terms), but for one number of many and for what another function makes of them, as the Jacobian of each joint.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, cast

import numpy as np

import linkwork as lw
from linkwork.quantities.base import BaseEvaluator
from linkwork_benchmarks.peers import pinocchio_model
from linkwork_benchmarks.robots import Floats, load

POINT = (0.1, -0.2, 0.05)
"""Of the last body, in meters."""


class Twin(NamedTuple):
    """A robot here and in Pinocchio, and what of it is looked at."""

    robot: lw.Mechanism
    model: Any
    data: Any
    order: np.ndarray[Any, np.dtype[np.intp]]
    """Where our velocities stand among Pinocchio's."""
    frame: int
    """The last body, as a frame of Pinocchio."""
    branch: int
    """The joint in the middle of the list, whose subtree is looked at."""
    frames: tuple[int, ...]
    """All moving bodies."""
    joints: tuple[int, ...]

    @property
    def subtree(self) -> lw.Mechanism:
        """The robot whose bodies weigh nothing but for the subtree."""
        child = self.robot.joints[len(self.robot.joints) // 2].child
        return cast(lw.Mechanism, lw.kinematics.subtree_of(self.robot, child))


@cache
def twin(name: str) -> Twin:
    """A robot of `ROBOTS`."""
    import pinocchio as pin

    robot, (model, order) = load(name), pinocchio_model(name)
    frames = tuple(model.getFrameId(joint.child, pin.FrameType.BODY) for joint in robot.joints)
    joints = tuple(model.getJointId(joint.name) for joint in robot.joints)
    branch = joints[len(joints) // 2]
    return Twin(robot, model, model.createData(), order, frames[-1], branch, frames, joints)


class Pair(NamedTuple):
    """One quantity."""

    inputs: str
    """A letter for each: q, v, u (torques or accelerations), p (another configuration), t (a part), x (a point)."""
    ours: Callable[[Twin], BaseEvaluator]
    theirs: Callable[[Twin], Callable[..., Any]]
    """A function of ``model, data`` and the inputs."""
    words: str
    """How Pinocchio calls it."""
    read: Callable[[Twin, Any], Any] = lambda twin, result: result
    """Pinocchio's result, from what the call gave, in our layout."""
    compare: Callable[[Any], Any] = lambda result: result
    """What of our results is compared with it."""


def _evaluator(quantity: str, *frames: str, reference: str = "local") -> Callable[[Twin], BaseEvaluator]:
    def made(twin: Twin) -> BaseEvaluator:
        names = [twin.robot.joints[-1].child] if frames == ("last",) else list(frames)
        names = [joint.child for joint in twin.robot.joints] if frames == ("all",) else names
        return lw.Evaluator(twin.robot, cast(Any, quantity), names, cast(Any, reference), threads=1)

    return made


def _inverse(twin: Twin) -> Any:
    return lw.InverseDynamics(twin.robot, "rnea", passive=False, threads=1)  # as Pinocchio's


def _of_subtree(quantity: str) -> Callable[[Twin], BaseEvaluator]:
    return lambda twin: lw.Evaluator(twin.subtree, cast(Any, quantity), threads=1)


def _named(name: str) -> Callable[[Twin], Callable[..., Any]]:
    """A function of Pinocchio that is called as it stands."""

    def made(twin: Twin) -> Callable[..., Any]:
        import pinocchio as pin

        function: Callable[..., Any] = getattr(pin, name)
        return function

    return made


def _vector(twin: Twin, x: Any) -> Floats:
    found: Floats = np.array(x)[twin.order]
    return found


def _columns(twin: Twin, x: Any) -> Floats:
    found: Floats = np.array(x).reshape(-1, twin.model.nv)[:, twin.order]
    return found


def _motion_columns(twin: Twin, x: Any) -> Floats:
    found = _columns(twin, x)
    return np.concatenate([found[3:], found[:3]])


def _symmetric(twin: Twin, x: Any) -> Floats:
    upper = np.triu(np.array(x))
    return np.array((upper + np.triu(upper, 1).T)[np.ix_(twin.order, twin.order)])


def _full(twin: Twin, x: Any) -> Floats:
    found: Floats = np.array(x)[np.ix_(twin.order, twin.order)]
    return found


def _linear_rate(twin: Twin, x: Any) -> Floats:
    return np.array(_columns(twin, x)[:3] / pin_mass(twin))


def pin_mass(twin: Twin) -> float:
    """The mass of all bodies that move, as Pinocchio has it."""
    return float(sum(inertia.mass for inertia in twin.model.inertias[1:]))


def _energy(twin: Twin) -> Callable[..., Any]:
    import pinocchio as pin

    return lambda m, d, q, v: (pin.computeKineticEnergy(m, d, q, v), pin.computePotentialEnergy(m, d, q))


def _center(twin: Twin) -> Callable[..., Any]:
    import pinocchio as pin

    return lambda m, d, q: pin.centerOfMass(m, d, q, False)


def _center_jacobian(twin: Twin) -> Callable[..., Any]:
    import pinocchio as pin

    return lambda m, d, q: pin.jacobianCenterOfMass(m, d, q, False)


def _subtree_center(twin: Twin) -> Callable[..., Any]:
    import pinocchio as pin

    branch = twin.branch

    def call(m: Any, d: Any, q: Floats) -> Any:
        pin.centerOfMass(m, d, q, True)
        return d.com[branch]

    return call


def _subtree_jacobian(twin: Twin) -> Callable[..., Any]:
    import pinocchio as pin

    branch = twin.branch
    return lambda m, d, q: pin.jacobianSubtreeCenterOfMass(m, d, q, branch)


def _placement(twin: Twin) -> Callable[..., Any]:
    import pinocchio as pin

    frame = twin.frame

    def call(m: Any, d: Any, q: Floats) -> Any:
        pin.forwardKinematics(m, d, q)
        return pin.updateFramePlacement(m, d, frame)

    return call


def _frame_jacobian(twin: Twin) -> Callable[..., Any]:
    import pinocchio as pin

    frame, axes = twin.frame, pin.LOCAL_WORLD_ALIGNED
    return lambda m, d, q: pin.computeFrameJacobian(m, d, q, frame, axes)


def _frame_jacobian_rate(twin: Twin) -> Callable[..., Any]:
    import pinocchio as pin

    frame, axes = twin.frame, pin.LOCAL_WORLD_ALIGNED

    def call(m: Any, d: Any, q: Floats, v: Floats) -> Any:
        pin.computeJointJacobiansTimeVariation(m, d, q, v)
        return pin.getFrameJacobianTimeVariation(m, d, frame, axes)

    return call


def _point_jacobian(twin: Twin) -> Callable[..., Any]:
    import pinocchio as pin

    frame, axes = twin.frame, pin.LOCAL_WORLD_ALIGNED

    def call(m: Any, d: Any, q: Floats, x: Floats) -> Any:
        J = pin.computeFrameJacobian(m, d, q, frame, axes)
        return J[:3] - pin.skew(d.oMf[frame].rotation @ x[0]) @ J[3:]

    return call


def _body_jacobians(twin: Twin) -> Callable[..., Any]:
    import pinocchio as pin

    joints, axes = twin.joints, pin.LOCAL_WORLD_ALIGNED

    def call(m: Any, d: Any, q: Floats) -> Any:
        pin.computeJointJacobians(m, d, q)
        return [pin.getJointJacobian(m, d, k, axes) for k in joints]

    return call


def _read_terms(twin: Twin, _: Any) -> Floats:
    return _symmetric(twin, twin.data.M)


def _regressor_columns(twin: Twin, x: Any) -> Floats:
    """Ten columns for each body, in our order of bodies."""
    found = np.array(x)[twin.order].reshape(twin.model.nv, -1, 10)[:, [k - 1 for k in twin.joints]]
    return np.array(found.reshape(twin.model.nv, -1))


def _first(result: Any) -> Any:
    return result[0]


PAIRS: dict[str, Pair] = {
    "mass_matrix": Pair("q", _evaluator("mass_matrix"), _named("crba"), "crba", _symmetric),
    "inverse_mass_matrix": Pair(
        "q", _evaluator("inverse_mass_matrix"), _named("computeMinverse"), "computeMinverse", _symmetric
    ),
    "inverse_dynamics": Pair("qvu", _inverse, _named("rnea"), "rnea", _vector),
    "bias_forces": Pair("qv", _evaluator("bias_forces"), _named("nonLinearEffects"), "nonLinearEffects", _vector),
    "gravity_forces": Pair(
        "q",
        _evaluator("gravity_forces"),
        _named("computeGeneralizedGravity"),
        "computeGeneralizedGravity",
        _vector,
    ),
    "coriolis_matrix": Pair(
        "qv", _evaluator("coriolis_matrix"), _named("computeCoriolisMatrix"), "computeCoriolisMatrix", _full
    ),
    "regressor": Pair(
        "qvu",
        lambda twin: _inverse(twin).regressor,
        _named("computeJointTorqueRegressor"),
        "computeJointTorqueRegressor",
        _regressor_columns,
    ),
    "energy": Pair(
        "qv",
        _evaluator("energy"),
        _energy,
        "computeKineticEnergy, computePotentialEnergy",
        lambda twin, x: np.array(x),
        lambda result: np.concatenate(result),
    ),
    "center_of_mass": Pair("q", _evaluator("center_of_mass"), _center, "centerOfMass"),
    "center_of_mass_jacobian": Pair(
        "q", _evaluator("center_of_mass_jacobian"), _center_jacobian, "jacobianCenterOfMass", _columns
    ),
    "center_of_mass_jacobian_rate": Pair(
        "qv", _evaluator("center_of_mass_jacobian_rate"), _named("dccrba"), "dccrba", _linear_rate
    ),
    "subtree_center_of_mass": Pair(
        "q",
        _of_subtree("center_of_mass"),
        _subtree_center,
        "centerOfMass, data.com[k]",
        lambda twin, center: twin.data.oMi[twin.branch].act(center),
    ),
    "subtree_center_of_mass_jacobian": Pair(
        "q", _of_subtree("center_of_mass_jacobian"), _subtree_jacobian, "jacobianSubtreeCenterOfMass", _columns
    ),
    "centroidal_momentum": Pair(
        "qv",
        _evaluator("centroidal_momentum"),
        _named("computeCentroidalMomentum"),
        "computeCentroidalMomentum",
        lambda twin, h: np.concatenate([h.angular, h.linear]),
    ),
    "centroidal_momentum_matrix": Pair(
        "q",
        _evaluator("centroidal_momentum_matrix"),
        _named("computeCentroidalMap"),
        "computeCentroidalMap",
        _motion_columns,
    ),
    "centroidal_momentum_matrix_rate": Pair(
        "qv", _evaluator("centroidal_momentum_matrix_rate"), _named("dccrba"), "dccrba", _motion_columns
    ),
    "frame_placement": Pair(
        "q",
        _evaluator("frame_placement", "last"),
        _placement,
        "forwardKinematics, updateFramePlacement",
        lambda twin, place: place.rotation,
        lambda result: result[0][0],
    ),
    "body_placements": Pair(
        "q",
        _evaluator("frame_placement", "all"),
        _named("framesForwardKinematics"),
        "framesForwardKinematics",
        lambda twin, _: np.array([twin.data.oMf[k].translation for k in twin.frames]),
        lambda result: result[1],
    ),
    "frame_jacobian": Pair(
        "q",
        _evaluator("frame_jacobian", "last", reference="aligned"),
        _frame_jacobian,
        "computeFrameJacobian",
        _motion_columns,
        _first,
    ),
    "frame_jacobian_rate": Pair(
        "qv",
        _evaluator("frame_jacobian_rate", "last", reference="aligned"),
        _frame_jacobian_rate,
        "computeJointJacobiansTimeVariation, getFrameJacobianTimeVariation",
        _motion_columns,
        _first,
    ),
    "point_jacobian": Pair(
        "qx",
        _evaluator("point_jacobian", "last"),
        _point_jacobian,
        "computeFrameJacobian, moved by NumPy",
        _columns,
        _first,
    ),
    "body_jacobians": Pair(
        "q",
        _evaluator("frame_jacobian", "all", reference="aligned"),
        _body_jacobians,
        "computeJointJacobians, getJointJacobian",
        lambda twin, found: np.array([_motion_columns(twin, J) for J in found]),
    ),
    "terms": Pair("qv", _evaluator("terms"), _named("computeAllTerms"), "computeAllTerms", _read_terms, _first),
    "integrate": Pair("qv", _evaluator("integrate"), _named("integrate"), "integrate"),
    "difference": Pair("qp", _evaluator("difference"), _named("difference"), "difference", _vector),
    "interpolate": Pair("qpt", _evaluator("interpolate"), _named("interpolate"), "interpolate"),
    "distance": Pair("qp", _evaluator("distance"), _named("distance"), "distance", lambda twin, d: np.array([d])),
}
"""Quantities by name."""

WITHOUT_DATA = ("integrate", "difference", "interpolate", "distance")
"""Functions of Pinocchio that take no ``data``."""
OF_CONFIGURATIONS = ("integrate", "interpolate")
"""Quantities that are configurations: compared in Pinocchio's layout."""
