# SPDX-License-Identifier: BSD-3-Clause
"""A mechanism saved and read back: how its joints and constraints correspond, and how far the dynamics are apart."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import linkwork as lw
from linkwork.model.joints import Free, Spherical
from linkwork.model.rotations import quaternion_conjugate, quaternion_product

Floats = npt.NDArray[np.float64]

NOT_IN_MATRICES = (
    "actuators",
    "compliance",
    "contacts",
    "damping",
    "friction",
    "gains",
    "gravity_compensation",
    "limits",
    "springs",
    "tendons",
)
"""What may be dropped without a change of the mass matrix, the bias force and the rows."""


def saved(robot: lw.Mechanism, format: str, folder: Path | None = None, **options: Any) -> lw.Mechanism:
    """The robot, saved and read back; as a text, or in a folder as a file. URDF is that of linkwork."""
    if format == "urdf":
        options = {"dialect": "linkwork", **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.errors.ModelWarning)
        if folder is None:
            return lw.loads(robot.to_text(format, **options), format, inertias="trust")  # type: ignore[arg-type]
        file = folder / f"saved.{format}"
        robot.save(file, **options)
        return lw.load(file, inertias="trust")


@dataclass(frozen=True)
class Correspondence:
    """How a mechanism and what was read back correspond, by the bodies that joints lead to.

    Args:
        robot: The mechanism.
        back: What was read back.
        zero: Its configuration at which joints of the other are at zero; by default the neutral one.
    """

    robot: lw.Mechanism
    back: lw.Mechanism
    zero: Floats | None = None

    def _joints(self, name: str) -> list[str]:
        """The joints of the other that one joint is."""
        joint = self.robot.joint(name)
        if name in self.back.joint_names and type(self.back.joint(name).type) is type(joint.type):
            return [name]
        leading = {j.child: j for j in self.back.joints}
        if f"{name}_first" in self.back.joint_names:
            return [f"{name}_first", f"{name}_second"]
        last = leading[joint.child]
        assert type(last.type) is type(joint.type)
        return [last.name]

    def q(self, q: Floats) -> Floats:
        """The configuration of the other."""
        found = self.back.neutral()
        for joint in self.robot.joints:
            own = q[self.robot.q_slice(joint.name)]
            if self.zero is not None and not isinstance(joint.type, Free):
                zero = self.zero[self.robot.q_slice(joint.name)]
                own = (
                    quaternion_product(quaternion_conjugate(zero), own)
                    if isinstance(joint.type, Spherical)
                    else own - zero
                )
            at = np.concatenate([np.arange(self.back.nq)[self.back.q_slice(n)] for n in self._joints(joint.name)])
            found[at] = own
        return found

    def columns(self) -> Floats:
        """For each degree of freedom of the mechanism, that of the other."""
        found = [
            np.arange(self.back.nv)[self.back.v_slice(name)]
            for joint in self.robot.joints
            for name in self._joints(joint.name)
        ]
        return np.concatenate(found) if found else np.zeros(0, dtype=int)

    def rows(self, constraint: lw.constraints.Constraint) -> Floats:
        """Rows of the other that a constraint is."""
        known = {c.name for c in self.back.constraints}
        name = constraint.name
        names = [n for n in (name, f"{name}_axis", *(f"{name}_{k}" for k in range(1, 7))) if n in known]
        if not names and f"{name}_constraint" in known:
            names = [f"{name}_constraint"]
        if name in known and not isinstance(constraint, lw.constraints.Hinge):
            names = [name]
        if not names:
            called = [f"{self._joints(joint)[0]}_mimic" for joint in constraint.joints]
            names = [name for name in called if name in known][:1]
        if not names and isinstance(constraint, lw.constraints.Point):
            names = [n for n in known if n.startswith("ball_constraint_") and self._alike(constraint, n)]
        assert names, f"{constraint} is not there"
        return np.concatenate([np.arange(self.back.nc)[self.back.row_slice(n)] for n in names])

    def _alike(self, constraint: lw.constraints.Point, name: str) -> bool:
        """Whether a point of the other is on the same bodies, at the same places in their frames."""
        places = [
            [self._in_body(robot, c, at) for c, at in ((point.first, point.first_at), (point.second, point.second_at))]
            for robot, point in ((self.robot, constraint), (self.back, self.back.constraint(name)))
        ]
        return all(a == b and np.allclose(x, y, rtol=0, atol=1e-12) for (a, x), (b, y) in zip(*places, strict=True))

    @staticmethod
    def _in_body(robot: lw.Mechanism, place: str, at: Any) -> tuple[str, Floats]:
        frame = robot.frames[place]
        return frame.body, (robot.frames[frame.body].placement.inverse() * frame.placement * at).position


def discrepancy(robot: lw.Mechanism, back: lw.Mechanism, states: Any, zero: Floats | None = None) -> float:
    """The greatest difference of mass matrix, bias force, and rows with their bias, by the largest entry of each.

    Rows of a constraint are compared as the space that they span, and at closed states.

    Args:
        robot: The mechanism.
        back: What was read back.
        states: Pairs of q and v.
        zero: As for `Correspondence`.
    """
    across = Correspondence(robot, back, zero)
    v_of = across.columns()
    assert robot.nv == back.nv == v_of.size
    worst = 0.0
    for q, v in states:
        p, w = across.q(q), np.zeros(back.nv)
        w[v_of] = v
        pairs = [
            (lw.mass_matrix(robot, q), lw.mass_matrix(back, p)[np.ix_(v_of, v_of)]),
            (lw.bias_forces(robot, q, v), lw.bias_forces(back, p, w)[v_of]),
            (lw.gravity_forces(robot, q), lw.gravity_forces(back, p)[v_of]),
        ]
        for ours, theirs in pairs:
            if ours.size:
                worst = max(worst, float(np.abs(ours - theirs).max() / (np.abs(ours).max() or 1.0)))
        if robot.nc:
            worst = max(worst, _rows_apart(robot, back, across, (q, v), (p, w)))
    return worst


def _rows_apart(robot: lw.Mechanism, back: lw.Mechanism, across: Correspondence, ours: Any, theirs: Any) -> float:
    columns = across.columns()
    J, K = lw.constraint_jacobian(robot, ours[0]), lw.constraint_jacobian(back, theirs[0])[:, columns]
    a, b = lw.constraint_bias(robot, *ours), lw.constraint_bias(back, *theirs)
    worst, used, speed = 0.0, [], max(float(ours[1] @ ours[1]), 1e-30)
    for constraint in robot.constraints:
        mine, other = robot.row_slice(constraint.name), across.rows(constraint)
        used += other.tolist()
        X, Y = np.column_stack([J[mine], a[mine] / speed]), np.column_stack([K[other], b[other] / speed])
        worst = max(worst, _spaces_apart(X, Y))
    assert sorted(used) == list(range(back.nc)), "constraints that were not there"
    return worst


def _spaces_apart(X: Floats, Y: Floats) -> float:
    """How far the spaces that rows span are apart: 0 where each row of one is a sum of rows of the other."""
    if X.shape == Y.shape:
        apart = float(np.abs(X - Y).max() / np.abs(X).max())
        if apart <= 1e-12:
            return apart
    there, back = (A @ np.linalg.pinv(B, rcond=1e-9) @ B - A for A, B in ((X, Y), (Y, X)))
    return float(max(np.abs(there).max() / np.abs(X).max(), np.abs(back).max() / np.abs(Y).max()))


def closed_states(robot: lw.Mechanism, seed: int, count: int = 2) -> list[tuple[Floats, Floats]]:
    """States with loops closed where they can be: near a pose of the robot, with velocities that keep them closed."""
    rng = np.random.default_rng(seed)
    found = []
    for k in range(count):
        if not robot.nc:
            q = robot.normalize(robot.integrate(robot.neutral(), rng.uniform(-1, 1, robot.nv)))
            found.append((q, rng.uniform(-1, 1, robot.nv)))
            continue
        q = next(iter(robot.poses.values()), robot.neutral())
        with suppress(lw.errors.AssemblyError):
            q = robot.assemble(q, limits=False, attempts=3)
        v = rng.uniform(-1, 1, robot.nv)
        J = lw.constraint_jacobian(robot, q)
        if k and np.isfinite(J).all():
            step = v - np.linalg.lstsq(J, J @ v, rcond=1e-9)[0]
            with suppress(lw.errors.AssemblyError):
                q = robot.assemble(robot.integrate(q, 0.05 * step), limits=False, attempts=1)
            J = lw.constraint_jacobian(robot, q)
        v = v - np.linalg.lstsq(J, J @ v, rcond=1e-9)[0]
        found.append((q, v))
    return found


def differences(robot: lw.Mechanism, back: lw.Mechanism) -> list[str]:
    """What is different in a mechanism that was read back, for formats that say everything; by joint, frame and so on.

    Frames and tendons may be added, such as those that equalities need.
    """
    found: list[str] = []
    known = {joint.name: joint for joint in back.joints}
    for joint in robot.joints:
        other = known.get(joint.name)
        if other is None or type(other.type) is not type(joint.type) or other.child != joint.child:
            found.append(f"joint {joint.name}")
            continue
        mine, theirs = joint.limits, other.limits
        for what in ("lower", "upper", "velocity", "effort", "actuation"):
            found += _apart(f"{what} of {joint.name}", getattr(mine, what), getattr(theirs, what))
        for what in ("armature", "damping", "friction", "stiffness"):
            found += _apart(f"{what} of {joint.name}", getattr(joint, what), getattr(other, what))
        if joint.stiffness.any():
            found += _apart(f"rest of {joint.name}", joint.rest, other.rest)
        for what in ("actuated", "independent"):
            if getattr(joint, what) != getattr(other, what):
                found.append(f"{what} of {joint.name}")
    found += _apart("gravity", robot.gravity, back.gravity)
    found += _frames_apart(robot, back)
    for name in robot.poses:
        found += _apart(f"pose {name}", robot.poses[name], back.poses[name]) if name in back.poses else [f"pose {name}"]
    shapes = [[(type(s.solid).__name__, s.role, s.body, s.color) for s in r.shapes] for r in (robot, back)]
    if len(shapes[0]) != len(shapes[1]) or set(map(str, shapes[0])) != set(map(str, shapes[1])):
        found.append("shapes")
    for kind in ("actuators", "contacts", "tendons", "sensors"):
        theirs_by_name = {part.name: part for part in getattr(back, kind)}
        for part in getattr(robot, kind):
            other = theirs_by_name.get(part.name)
            found += [f"{kind[:-1]} {part.name}"] if other is None else _parts_apart(part, other)
    return found


def _apart(what: str, a: Any, b: Any) -> list[str]:
    x, y = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    return [] if x.shape == y.shape and np.allclose(x, y, rtol=1e-13, atol=1e-13) else [f"{what}: {a} and {b}"]


def _frames_apart(robot: lw.Mechanism, back: lw.Mechanism) -> list[str]:
    found = []
    for name, frame in robot.frames.items():
        other = back.frames.get(name)
        if other is None or other.body != frame.body:
            found.append(f"frame {name}")
            continue
        own = [m.frames[frame.body].placement.inverse() * m.frames[name].placement for m in (robot, back)]
        found += _apart(f"frame {name}", own[0].position, own[1].position)
        found += _apart(f"frame {name}", own[0].rotation, own[1].rotation)
    return found


def _parts_apart(a: Any, b: Any) -> list[str]:
    """Numbers and names of two actuators, contacts, tendons or sensors that are not the same."""
    skipped = ("first", "second", "path", "slots", "outboard", "volume", "neutral_quaternion", "refused")
    found = []
    for field in fields(a):
        x, y = getattr(a, field.name), getattr(b, field.name)
        if field.name in skipped:
            continue
        same = x == y
        if not same and not isinstance(x, str | dict):
            with suppress(TypeError, ValueError):
                same = not _apart("", x, y)
        if not same:
            found.append(f"{field.name} of {a.name}: {x} and {y}")
    return found
