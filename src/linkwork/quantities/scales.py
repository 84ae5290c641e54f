# SPDX-License-Identifier: BSD-3-Clause
"""Scales of a robot in its own units: inertias of its joints and of its constraints' rows.

Regularization, tolerances and ranks are numbers without a unit. They become accelerations and forces by these scales,
so that a robot in millimeters and grams moves as the same robot in meters and kilograms does.

| symbol | meaning                                                                                     |
|--------|---------------------------------------------------------------------------------------------|
| s      | apparent inverse inertia of a row: the diagonal of the Delassus matrix ``J M^-1 J'``          |

Scales are taken once, at a few configurations, and rounded to `BITS`: they are the same on every machine. Which of all
forces that do the same are the smallest depends on ratios of scales, and these must not depend on units: no coarser
rounding will do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from linkwork.errors import NotFinite, SingularMassMatrix
from linkwork.inputs import Quantity
from linkwork.model.arrays import Floats
from linkwork.model.computed import computed_once
from linkwork.model.constraints import TURN_ROWS, WORLD, CenterOfMass, Constraint, Pair
from linkwork.model.joints import Free, Helical, Planar, Revolute, Spherical, Universal
from linkwork.model.model import Model
from linkwork.quantities.evaluator import Evaluator
from linkwork.quantities.thresholds import LIGHT_ROW, MASSLESS, STUCK_ROW

POSES = 3
"""Random configurations beside the neutral and the first that has a name."""
BITS = 32
"""Digits of scales that are kept: more than tests of units can tell, less than processors differ by."""
PLAIN = 100
"""Robots of more degrees of freedom are worth compiled code."""


@dataclass(frozen=True, eq=False)
class Scales:
    """Inertias of a robot."""

    mass: float
    """Of all moving bodies and rotors."""
    moment: float
    """The largest moment of inertia about a joint."""
    joints: Floats
    """The diagonal of the mass matrix, ``(nv,)``."""
    rows: Floats
    """The apparent inverse inertia of each row, ``(nc,)``; the same for all rows of a block (`Constraint.blocks`)."""

    @property
    def length(self) -> float:
        """The size of the robot: that of a rod which has its radius of gyration, by the largest moment of inertia."""
        return float(np.sqrt(12 * self.moment / self.mass))


@computed_once
def scales_of(robot: Model) -> Scales:
    """The scales of a robot."""
    matrices = list[Floats]()
    if robot.nv > PLAIN and not robot.nc and len(free_bodies(robot)) == len(robot.joints):
        joints = _free_inertias(robot)
    else:
        poses, matrices = _mass_matrices(robot)
        joints = np.median([np.diag(M) for M in matrices], axis=0)
    moments = joints[_rotating(robot)]
    mass = robot.mass or float(joints.max(initial=0.0)) or 1.0
    moment = float(moments.max(initial=0.0)) or mass
    whole = np.full(robot.nv, mass)
    whole[_rotating(robot)] = moment
    joints = np.where(joints > 0, joints, whole)
    if robot.nc:
        jacobian = quantity(robot, "constraint_jacobian")
        rows_at = zip(matrices, _defined(jacobian, poses), strict=True)
        felt = np.array([_delassus_diagonal(robot, M, J) for M, J in rows_at])
        least = (1 / moment, 1 / mass)
        rows = np.concatenate(
            [_of_constraint(robot, c, felt[:, robot.row_slice(c.name)], least) for c in robot.constraints]
        )
    else:
        rows = np.zeros(0)
    mass, moment = _rounded(np.array([mass, moment])).tolist()
    return Scales(mass, moment, _rounded(joints), _rounded(rows))


def quantity(robot: Model, name: Quantity) -> Evaluator:
    """A quantity at a few configurations: of most robots, the code as it stands is quicker than compiling it."""
    evaluator = Evaluator(robot, name)
    return evaluator.plain() if robot.nv <= PLAIN else evaluator


def free_bodies(robot: Model) -> set[str]:
    """Bodies that fly freely and carry no others.

    Args:
        robot: The mechanism.
    """
    carrying = {joint.parent for joint in robot.joints}
    return {
        joint.child
        for joint in robot.joints
        if isinstance(joint.type, Free) and joint.parent == WORLD and joint.child not in carrying
    }


def _free_inertias(robot: Model) -> Floats:
    """The diagonal of the mass matrix of free bodies, ``(nv,)``, without the matrix."""
    result = robot.armature.copy()
    for joint in robot.joints:
        at, inertia = robot.v_slice(joint.name).start, robot.inertias[joint.child]
        c = inertia.com
        result[at : at + 3] += inertia.mass
        result[at + 3 : at + 6] += np.diag(inertia.rotational) + inertia.mass * (c @ c - c * c)
    return result


def check_kinetic_energy(robot: Model) -> None:
    """Raise `SingularMassMatrix` where the robot moves with negative kinetic energy."""
    for M in _mass_matrices(robot)[1]:
        if np.linalg.eigvalsh(_scaled(M)).min(initial=0.0) < -MASSLESS:
            raise singular_mass_matrix(robot, M)


def _mass_matrices(robot: Model) -> tuple[list[Floats], list[Floats]]:
    """A few configurations, and the mass matrix at each."""
    poses, mass_matrix = _poses(robot), quantity(robot, "mass_matrix")
    return poses, [mass_matrix(q) for q in poses]


def _poses(robot: Model) -> list[Floats]:
    """Configurations in which lengths are those of the robot: joints that slide stay at zero."""
    rng = np.random.default_rng(0)
    neutral = robot.neutral()
    poses = [neutral, *list(robot.poses.values())[:1]]
    turning = [j.name for j in robot.joints if isinstance(j.type, Revolute | Universal | Spherical)]
    for _ in range(POSES):
        q, other = neutral.copy(), robot.random(rng)
        for name in turning:
            q[robot.q_slice(name)] = other[robot.q_slice(name)]
        poses.append(q)
    return poses


def _defined(jacobian: Evaluator, poses: Sequence[Floats]) -> list[Floats]:
    """Jacobians at these configurations, zero where functions of joints have no value: a root of a negative number."""
    result = []
    for q in poses:
        try:
            result.append(jacobian(q))
        except (ArithmeticError, ValueError, NotFinite):
            result.append(np.zeros((jacobian.robot.nc, jacobian.robot.nv)))
    return result


def _rotating(robot: Model) -> list[int]:
    """Where in v rates of angles stand."""
    result: list[int] = []
    for joint in robot.joints:
        at = robot.v_slice(joint.name)
        if isinstance(joint.type, Revolute | Helical | Universal | Spherical):
            result += range(at.start, at.stop)
        elif isinstance(joint.type, Free):
            result += range(at.start + 3, at.stop)
        elif isinstance(joint.type, Planar):
            result.append(at.stop - 1)
    return result


def singular_mass_matrix(robot: Model, M: Floats) -> SingularMassMatrix:
    """The error that names the joint which moves the least, or moves less than nothing, ``M: (..., nv, nv)``."""
    values, vectors = np.linalg.eigh(_scaled(M.reshape(-1, robot.nv, robot.nv)))
    worst = values[:, 0].argmin()
    joint = next(j.name for j in robot.joints if np.abs(vectors[worst, :, 0]).argmax() < robot.v_slice(j.name).stop)
    if values[worst, 0] < -MASSLESS:
        return SingularMassMatrix(
            f"the mass matrix of '{robot.name}' is not positive definite: joint '{joint}' moves with negative kinetic "
            "energy. Check the inertias of its bodies: load with inertias='check' names those that cannot be",
            joint=joint,
        )
    return SingularMassMatrix(
        f"the mass matrix of '{robot.name}' is singular: joint '{joint}' moves no mass here. Give its body an inertia, "
        "or the joint an armature, or use lcaba where constraints hold it",
        joint=joint,
    )


def _scaled(M: Floats) -> Floats:
    """Mass matrices in units of their diagonals, which are ones or zeros then, ``(..., nv, nv)``."""
    d = np.sqrt(np.abs(np.diagonal(M, axis1=-2, axis2=-1)))
    d = np.where(d > 0, d, 1.0)
    result: Floats = M / (d[..., :, None] * d[..., None, :])
    return result


def _delassus_diagonal(robot: Model, M: Floats, J: Floats) -> Floats:
    """``diag(J M^-1 J')``; joints that move no mass at all are left out."""
    moved = np.diag(M) > 0
    d = np.sqrt(np.diag(M)[moved])
    scaled = M[np.ix_(moved, moved)] / np.outer(d, d)
    try:
        L = np.linalg.cholesky(scaled + MASSLESS * np.eye(len(d)))
    except np.linalg.LinAlgError:
        raise singular_mass_matrix(robot, M) from None
    B = np.linalg.solve(L, (J[:, moved] / d).T)
    result: Floats = (B * B).sum(axis=0)
    return result


def _of_constraint(robot: Model, constraint: Constraint, felt: Floats, least: tuple[float, float]) -> Floats:
    """The scale of each row of a constraint; ``felt`` are those of rows alone at some configurations.

    ``least`` are the inverse moment of inertia and mass of the robot.
    """
    result, start = np.empty(constraint.rows), 0
    turning, free = 0, least
    if isinstance(constraint, Pair):
        turning, free = TURN_ROWS[constraint.turns], _of_bodies(robot, constraint, least)
    for size in constraint.blocks:
        mine = slice(start, start + size)
        x = float(np.median(felt[:, mine].max(axis=1)))
        bodies = free[0] if start < turning else free[1]
        bounded = min(max(x, STUCK_ROW * bodies), LIGHT_ROW * bodies)
        result[mine] = bounded if isinstance(constraint, Pair | CenterOfMass) else x or bodies
        start += size
    return result


def _of_bodies(robot: Model, pair: Pair, least: tuple[float, float]) -> tuple[float, float]:
    """Inverse moment of inertia and mass of the heavier of the bodies of a pair, were they free."""
    inertias = [robot.inertias[b] for b in {robot.frames[place].body for place in pair.places} if b in robot.inertias]
    moments = [float(np.linalg.eigvalsh(i.rotational).max()) for i in inertias]
    moment, mass = max(moments, default=0.0), max((i.mass for i in inertias), default=0.0)
    return 1 / moment if moment > 0 else least[0], 1 / mass if mass > 0 else least[1]


# Without units ------------------------------------------------------------------------------------------


def row_units(robot: Model, J: Floats) -> Floats:
    """Units of row errors, ``(..., nc)``: a length of the robot, an angle of one; of couplings, the largest coefficient
    of ``J: (..., nc, nv)``.
    """
    result = np.abs(J * joint_units(robot)).max(axis=-1, initial=0.0)
    length = scales_of(robot).length
    for c in robot.constraints:
        at = robot.row_slice(c.name)
        if isinstance(c, Pair):
            result[..., at] = np.repeat([1.0, length], [TURN_ROWS[c.turns], c.rows - TURN_ROWS[c.turns]])
        elif isinstance(c, CenterOfMass):
            result[..., at] = length
    return np.where(result > 0, result, 1.0)


@computed_once
def typical_row_units(robot: Model) -> Floats:
    """Units of row errors, ``(nc,)``, with the largest coefficients at a few configurations."""
    jacobian = quantity(robot, "constraint_jacobian")
    J = np.abs(_defined(jacobian, _poses(robot))).max(axis=0) if robot.nc else np.zeros((0, robot.nv))
    return row_units(robot, J)


def joint_units(robot: Model) -> Floats:
    """Units of coordinates, ``(nv,)``: a length of the robot for joints that slide, an angle of one for others."""
    result = np.full(robot.nv, scales_of(robot).length)
    result[_rotating(robot)] = 1.0
    return result


def _rounded(x: Floats) -> Floats:
    part, exponent = np.frexp(x)
    result: Floats = np.ldexp(np.rint(np.ldexp(part, BITS)), exponent - BITS)
    return result
