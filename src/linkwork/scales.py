"""What is large and what is small for a robot, in its own units: inertias of its joints and of its constraints' rows.

Regularization, tolerances and ranks are numbers without a unit. They become accelerations and forces by these scales, so
that a robot in millimeters and grams moves as the same robot in meters and kilograms does.

| symbol | meaning                                                                                     |
|--------|---------------------------------------------------------------------------------------------|
| s      | inverse inertia that a row feels: the diagonal of the Delassus matrix ``J M^-1 J'``          |

Scales are taken once, at a few configurations, and rounded to powers of two: a robot has the same ones on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkwork.constraints import TURN_ROWS, CenterOfMass, Constraint, Pair
from linkwork.dynamics import Evaluator
from linkwork.joints import Free, Revolute, Spherical, Universal
from linkwork.mechanism import Mechanism
from linkwork.rigid import Floats

POSES = 3
"""Random configurations beside the neutral and the first that has a name."""
MASSLESS = 1e-10
"""A joint that moves less than this part of its own inertia while all others are free is taken to move this part."""
STUCK = 1e-3
"""Rows between bodies are taken to feel no more than the robot's inertia over this."""
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
    """The inverse inertia that each row feels, ``(nc,)``; the same for all rows of a block (`Constraint.blocks`)."""

    @property
    def length(self) -> float:
        """The size of the robot: the radius of gyration of the largest moment of inertia."""
        return float(np.sqrt(self.moment / self.mass))


def scales_of(robot: Mechanism) -> Scales:
    """The scales of a robot, computed once."""
    if (key := ("scales",)) not in robot.prepared:
        robot.prepared[key] = _computed(robot)
    found: Scales = robot.prepared[key]
    return found


def _computed(robot: Mechanism) -> Scales:
    mass_matrix = _evaluator(robot, "mass_matrix")
    poses = _poses(robot)
    matrices = [mass_matrix(q) for q in poses]
    joints = np.median([np.diag(M) for M in matrices], axis=0)
    moments = joints[_rotating(robot)]
    mass = robot.mass or float(joints.max(initial=0.0)) or 1.0
    moment = float(moments.max(initial=0.0)) or mass
    joints = np.where(joints > 0, joints, moment)
    if robot.nc:
        jacobian = _evaluator(robot, "constraint_jacobian")
        felt = np.array([_delassus_diagonal(M, jacobian(q)) for M, q in zip(matrices, poses, strict=True)])
        rows = np.concatenate([_of_constraint(c, felt[:, robot.row_slice(c.name)], mass, moment) for c in robot.constraints])
    else:
        rows = np.zeros(0)
    return Scales(_power_of_two(mass), _power_of_two(moment), _powers_of_two(joints), _powers_of_two(rows))


def _evaluator(robot: Mechanism, quantity: str) -> Evaluator:
    """For a few configurations the text as it stands is quicker than compiling it."""
    made = Evaluator(robot, quantity)
    return made.plain() if robot.nv <= PLAIN else made


def _poses(robot: Mechanism) -> list[Floats]:
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


def _rotating(robot: Mechanism) -> list[int]:
    """Where in v rates of angles stand."""
    found: list[int] = []
    for joint in robot.joints:
        at = robot.v_slice(joint.name)
        if isinstance(joint.type, Revolute | Universal | Spherical):
            found += range(at.start, at.stop)
        elif isinstance(joint.type, Free):
            found += range(at.start + 3, at.stop)
    return found


def _delassus_diagonal(M: Floats, J: Floats) -> Floats:
    """``diag(J M^-1 J')``; joints that move no mass at all are left out."""
    moved = np.diag(M) > 0
    d = np.sqrt(np.diag(M)[moved])
    scaled = M[np.ix_(moved, moved)] / np.outer(d, d)
    L = np.linalg.cholesky(scaled + MASSLESS * np.eye(len(d)))
    B = np.linalg.solve(L, (J[:, moved] / d).T)
    found: Floats = (B * B).sum(axis=0)
    return found


def _of_constraint(constraint: Constraint, felt: Floats, mass: float, moment: float) -> Floats:
    """The scale of each row of a constraint; ``felt`` are those of rows alone at some configurations."""
    found, start = np.empty(constraint.rows), 0
    turning = TURN_ROWS[constraint.turns] if isinstance(constraint, Pair) else 0
    for size in constraint.blocks:
        mine = slice(start, start + size)
        least = 1 / (moment if start < turning else mass)
        x = float(np.median(felt[:, mine].max(axis=1)))
        unit_rows = isinstance(constraint, Pair | CenterOfMass)
        found[mine] = max(x, STUCK * least) if unit_rows else x or least
        start += size
    return found


def _power_of_two(x: float) -> float:
    return float(_powers_of_two(np.array([x]))[0])


def _powers_of_two(x: Floats) -> Floats:
    found: Floats = np.exp2(np.round(np.log2(x)))
    return found
