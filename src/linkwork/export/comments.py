# SPDX-License-Identifier: BSD-3-Clause
"""Comments of exported text: quantity, sizes, the order of q and v, conventions, operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linkwork.model.model import Model
from linkwork.quantities.base import BaseEvaluator
from linkwork.quantities.counts import OperationCount

MEANINGS: Mapping[str, str] = {
    "q": "configuration",
    "v": "joint velocities",
    "tau": "joint torques and forces",
    "a": "joint accelerations",
    "x": "a vector of joint forces",
    "y": "the inverse mass matrix times x",
    "M": "mass matrix, row by row",
    "wrenches": "on each frame its moment, then its force, in the frame's axes",
    "regularization": "regularization of each row; 1e30 switches a row off",
    "target": "accelerations of rows beyond those of their gains",
    "multipliers": "forces of the constraints",
    "settings": "tolerance, most iterations, relative rounding error; scales of the robot",
    "result": "progress; multipliers (forces of the constraints); residuals of the rows; violation",
    "full": "accelerations of all joints",
    "pivot": "least pivot: how well the independent joints determine the others; 0 at a dead center",
    "tolerance": "relative tolerance of the rank of driven motions",
    "checks": "least pivot; largest torque missing and largest needed, N m; error of the constraints",
    "rotation": "rotation matrices of frames, row by row",
    "position": "in the world",
    "velocity": "of frames: angular, then linear",
    "acceleration": "of frames: angular, then linear",
    "jacobian": "row by row",
    "momentum": "angular about the center of mass, then linear",
    "kinetic": "energy, J",
    "potential": "energy, J",
    "error": "of constraints: m, or 2 sin(angle / 2)",
    "bias": "how errors accelerate when no joint does",
    "inertia": "accelerations of frames under unit wrenches, row by row",
    "passive": "springs, dampers and stops of joints",
    "commands": "of actuators, in the order of the model; then activations before the step, of those that have any",
    "timing": "seconds of a step; 1 where actuators act on commands, else 0; steps since time 0, if there are three",
    "closed": "configuration with closed loops",
    "G": "joint velocities as a linear map of the independent ones, row by row; torques on these are G' tau",
    "step": "the next step of Newton's method, of all joints",
    "completion": "largest error of a row, in rad and m; steps plus one; least pivot, 0 at a dead center",
    "search": "residual; iterations; largest error that is left, in rad and lengths of the robot; stalled iterations",
    "allowed": "joint velocities that satisfy the constraints",
    "uncertain": "1 where rows are nearly dependent, and these may be off; else 0",
    "q1": "configuration after the step",
    "v1": "velocities after the step",
    "step_error": "error estimates of the step, in q and in v",
    "progress": "1 while all is finite, else NaN; number of finite steps plus one",
    "restitution": "of each row, from 0 to 1",
}
"""Contents of arrays, by name."""

PARAMETERS: Mapping[str, str] = {
    "mass": "of bodies, kg",
    "com": "centers of mass in the frames of the bodies, m",
    "inertia": "of bodies about their centers of mass, kg m2: xx, xy, yy, xz, yz, zz",
    "inertial_parameters": "of bodies: mass, first moment, xx, xy, yy, xz, yz, zz about the body's origin",
    "armature": "reflected inertia of rotors",
    "damping": "of joints",
    "stiffness": "of springs of joints",
    "rest": "where springs of joints are at rest",
    "gravity": "acceleration of free fall, m/s2",
    "joint_position": "positions of joints in the frames of their parents, m",
    "anchor_position": "points of constraints in the frames of both places, m",
    "length": "of rods, radii of rolling bodies, m",
    "gains": "Baumgarte gains of constraints: kp, kd",
    "contact_size": "half edges, radii and half lengths of shapes that touch, m",
    "mocap": "placements of mocap bodies in the world: position, quaternion x y z w",
}
"""Contents of parameters of the robot that are inputs."""

CONVENTIONS = (
    "Lengths are in meters, angles in radians, forces in newtons. A free joint has the position and the quaternion",
    "x y z w in q, and [linear, angular] velocity in the body's own axes in v; a ball joint the quaternion and the",
    "angular velocity. Quaternions may have any length but zero. Nothing is checked: NaN and infinity go",
    "through.",
)

RESULT = (
    "result[0] is the residual of the rows, relative to the effect of forces and velocities (of methods without",
    "iterations: the least pivot, 0 where constraints are not independent), result[1] the number of iterations.",
)


def plain(text: str) -> str:
    """Text that may stand in a comment of C, whatever is in it."""
    shown = "".join(c if c.isprintable() else " " for c in text).encode("ascii", "backslashreplace").decode()
    return shown.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")


def comment(lines: Sequence[str]) -> str:
    """Lines as one comment."""
    body = "\n".join(f" * {plain(line)}".rstrip() for line in lines[1:])
    return f"/* {plain(lines[0])}\n{body}\n */\n"


def title(evaluator: BaseEvaluator) -> str:
    """The quantity and its model."""
    method = getattr(evaluator, "method", "")
    by = f", by {method}" if method else ""
    return f"{evaluator.quantity.replace('_', ' ')} of '{evaluator.robot.name}'{by}"


def arrays_of(inputs: Mapping[str, int], outputs: Mapping[str, int]) -> list[str]:
    """A line for each array."""
    width = max(len(name) for name in (*inputs, *outputs))
    lines = []
    for word, arrays in (("in ", inputs), ("out", outputs)):
        meanings = {**MEANINGS, **PARAMETERS} if word == "in " else MEANINGS
        for name, size in arrays.items():
            lines.append(f"  {word}  {name:<{width}}  {f'[{size}]':>7}  {meanings.get(name, '')}".rstrip())
    return lines


def order_of(robot: Model) -> list[str]:
    """Where joints stand in q and v, and constraints among the rows."""
    rows = [
        (j.name, j.type.kind_name, _places(robot.q_slice(j.name)), _places(robot.v_slice(j.name)))
        for j in robot.joints
        if j.type.nv
    ]
    lines = _table([("joint", "type", "q", "v"), *rows])
    if robot.constraints:
        bound = [(c.name, type(c).__name__, _places(robot.row_slice(c.name))) for c in robot.constraints]
        lines += ["", *_table([("constraint", "type", "rows"), *bound])]
    return lines


def operations_of(count: OperationCount) -> str:
    """The number of operations by kind; of steps in time, which are iterations alone, that of a step."""
    if not count:
        return f"{count.iteration} operations a step"
    kinds = ", ".join(f"{n} {kind}" for kind, n in sorted(count.items(), key=lambda item: -item[1]))
    further = f"; each further iteration {count.iteration}" if count.iteration else ""
    further += f", the last {count.refinement}" if count.refinement else ""
    return f"{count.total} operations ({kinds}){further}"


def _places(at: slice) -> str:
    return str(at.start) if at.stop - at.start == 1 else f"{at.start}..{at.stop - 1}"


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(plain(row[k])) for row in rows) for k in range(len(rows[0]))]
    return ["  " + "   ".join(f"{plain(x):<{w}}" for x, w in zip(row, widths, strict=True)).rstrip() for row in rows]
