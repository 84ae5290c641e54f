# SPDX-License-Identifier: BSD-3-Clause
"""Steps by the reduced matrix: the plan of a robot, and settings of the solver."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from linkwork.contact.points import contact_points
from linkwork.contact.scales import (
    contact_scales,
    joint_inverse_inertias,
    loop_row_regularization,
    tendon_inverse_inertias,
    tendon_units,
    velocity_units,
)
from linkwork.contact.softness import soft_boxes, soft_constraints, soft_rows, soft_weights
from linkwork.contact.thresholds import (
    PENETRATION_VELOCITY,
    RESTING_STEPS,
    SINGLE_CONTACT_TOLERANCE,
    SINGLE_REDUCED_SLACK,
    SINGLE_SOFTNESS,
    SMOOTHING_SLACK,
)
from linkwork.dynamics.iterations import SolverSettings, relative_regularization
from linkwork.model.contacts import ContactPairs
from linkwork.model.model import Model
from linkwork.plans.contact_balls import BallBox, ball_boxes, limited_balls
from linkwork.plans.contact_lcaba import box_tables
from linkwork.plans.contact_reduced import RowScales, reduced_tree
from linkwork.plans.contact_tendons import TendonBox, tendon_boxes
from linkwork.plans.contacts import MeshKind
from linkwork.plans.implicit_damping import ImplicitDamping
from linkwork.plans.tree import Tree
from linkwork.quantities.arguments import Array
from linkwork.quantities.scales import scales_of, typical_row_units

FEW_SLOTS = 16
"""Contact points of all pairs up to which LCABA, which sweeps over all, takes less time on robots with loops."""


def takes_reduced_matrix(robot: Model) -> bool:
    """Whether native steps of a robot are made by the reduced matrix; else LCABA is faster: few points, and loops.

    Steps by LCABA have neither dry friction nor exact limits of tendons, nor limits of ball joints, nor soft
    constraints. Cassie with its
    loops and eight points takes 13 microseconds a step by LCABA, and 22 by the reduced matrix.

    Args:
        robot: The mechanism.
    """
    wide = tendon_boxes(robot, True) or limited_balls(robot) or soft_constraints(robot, False)
    return robot.nc == 0 or contact_points(robot).nslots > FEW_SLOTS or bool(wide)


def reduced_plan(
    robot: Model,
    moved: Model,
    frames: Sequence[str],
    limited: Collection[str] | bool,
    solver: SolverSettings,
    implicit: ImplicitDamping | None = None,
    meshes: MeshKind = "auto",
    soft: bool = False,
    tendon_limits: bool = True,
) -> Tree:
    """The arrays of a robot for steps by the reduced matrix.

    Args:
        robot: The mechanism, whose scales are taken.
        moved: The mechanism with the armature of implicit terms.
        frames: Frames that external wrenches act on.
        limited: Joints whose limits hold exactly; True: all.
        solver: Regularization of rows of loops, and the most iterations.
        implicit: Which dampers of actuators and tendons are implicit.
        meshes: Representation of meshes.
        soft: Whether contacts are soft, as MuJoCo's (`kernels.contact.reduced.soft`).
        tendon_limits: Whether limits of tendons without stops hold exactly.
    """
    scales, yielding = contact_scales(robot), soft_constraints(robot, soft)
    joint_boxes, of_tendons = box_tables(moved, limited, True), tendon_boxes(moved, tendon_limits)
    of_balls = ball_boxes(moved, limited)
    dofs, tendons = np.array(joint_boxes["box_v"], dtype=np.int64), [box.tendon for box in of_tendons]
    inertias, nothing = joint_inverse_inertias(robot), np.zeros(0)
    balls = np.reshape([inertias[robot.v_slice(box.joint)] for box in of_balls], (-1, 3))
    own = _soft_tables(robot, joint_boxes, of_tendons, of_balls) if soft else {}
    rows = RowScales(
        pairs=scales.pairs,
        boxes=np.concatenate([inertias[dofs], tendon_inverse_inertias(robot)[tendons], balls.mean(axis=1)]),
        balls=balls,
        box_units=np.concatenate(
            [velocity_units(robot)[dofs], tendon_units(robot)[tendons], np.full(len(balls), scales.length)]
        ),
        row_compliance=loop_row_regularization(robot, solver.regularization, "float64") if robot.nc else nothing,
        rows=scales_of(robot).rows if robot.nc else nothing,
        row_units=scales.length / typical_row_units(robot) if robot.nc else nothing,
        length=scales.length,
        soft=own | ({"nsoft_rows": robot.nc} | soft_rows(robot) if yielding else {}),
        soft_constraints=yielding,
    )
    return reduced_tree(moved, rows, solver.max_iterations, frames, limited, implicit, meshes, tendon_limits)


def _soft_tables(
    robot: Model, joint_boxes: dict[str, Any], of_tendons: list[TendonBox], of_balls: list[BallBox]
) -> dict[str, Any]:
    """Arrays of soft contacts, limits and dry friction."""
    pairs = soft_weights(robot)
    boxes = soft_boxes(robot, joint_boxes, of_tendons, of_balls)
    return {"nsplit": 1, "nsoft": len(pairs), "nsoft_boxes": len(boxes["box_weight"]), "soft_D": pairs, **boxes}


def reduced_settings(robot: Model, dt: float, solver: SolverSettings, time: float, dtype: str) -> Array:
    """The input ``settings`` of `kernels.contact.reduced.rows.ReducedSettings`.

    Args:
        robot: The mechanism.
        dt: Time of a step.
        solver: When iterations end.
        time: Seconds in which penetration is removed.
        dtype: Of the array.
    """
    scales, gravity = contact_scales(robot), float(np.linalg.norm(robot.gravity))
    velocity = scales.velocity(gravity, dt)
    least, slack, softness = solver.tolerance, SMOOTHING_SLACK, 0.0
    if dtype == "float32":
        least, slack, softness = max(least, SINGLE_CONTACT_TOLERANCE), SINGLE_REDUCED_SLACK, SINGLE_SOFTNESS
    push, threshold = PENETRATION_VELOCITY * velocity, RESTING_STEPS * gravity * dt
    inertias = 2 / (scales.pairs * (1 + ContactPairs.of(robot.contacts).column("friction").astype(float) ** 2))
    mean = float(np.exp(np.log(inertias).mean())) if inertias.size else 1.0
    factor = relative_regularization(solver.regularization, dtype) / solver.regularization
    head = [least * velocity, solver.max_iterations, dt, time, dt, push, threshold, gravity, slack, mean]
    return np.array([*head, factor, softness], dtype=dtype)
