"""Minimal coordinates: which joints of a closed mechanism move freely, and how the others follow them.

**clusters** Section II-B: ``v = G y'`` and ``a = G y'' + g``, with ``y`` the free degrees of freedom. Which ones are
free is a matter of conditioning, with a preference for joints marked ``independent`` and, less, for those that are
actuated.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from linkwork.closure.assembly import ROUNDED
from linkwork.closure.mobility import OPEN, loop_gap, loop_rounding, nearby, without_units
from linkwork.errors import AssemblyError, InputError, NotFinite, SingularConstraints
from linkwork.inputs import count, real_array
from linkwork.kernels import clusters as kernels
from linkwork.model.arrays import Floats
from linkwork.model.computed import computed_once
from linkwork.model.constraints import Coupling
from linkwork.model.joints import Prismatic
from linkwork.model.model import Model
from linkwork.plans.clusters import DependentCoordinates, cluster_tree, clusters_of, enabled_rows
from linkwork.plans.constraints import constrained_tree
from linkwork.plans.tree import LOCAL, Tree
from linkwork.quantities.evaluator import Array, Evaluator
from linkwork.quantities.functions import center_of_mass, constraint_jacobian, frame_placement
from linkwork.quantities.scales import joint_units, typical_row_units

RANK = 1e-7
"""Singular values of a cluster's rows below this part of the largest count as zero."""
LEAST_PIVOT = 1e-9
"""Below this part of what ties a joint, others tie it already: the free joints do not say where it is."""
TIED = 1e-8
"""A motor whose rows others cannot follow to more than this part is tied."""
WEAK_SPRING = 0.5
"""In rad, or as a part of the distance to the center of mass: springs that the weight could bend by more are weak."""


@dataclass(frozen=True)
class ClusterReport:
    """Bodies that constraints tie together, by names."""

    bodies: tuple[str, ...]
    top: str
    """The body that carries the cluster."""
    joints: tuple[str, ...]
    constraints: tuple[str, ...]
    independent: tuple[str, ...]
    """Joints that move freely, wholly or (as ``joint[k]``) in one degree of freedom."""
    dependent: tuple[str, ...]


M = TypeVar("M", bound=Model)


def dof_names(robot: Model) -> tuple[str, ...]:
    """A name for each degree of freedom: of its joint, with a number where the joint has several."""
    return tuple(
        joint.name if joint.type.nv == 1 else f"{joint.name}[{k}]"
        for joint in robot.joints
        for k in range(joint.type.nv)
    )


def clusters(robot: Model) -> tuple[ClusterReport, ...]:
    """The clusters of a robot that have constraints in them.

    Args:
        robot: The mechanism.
    """
    tree = constrained_tree(robot, (), LOCAL)
    tied, names = tied_dofs(robot), dof_names(robot)
    owner = {k: joint for joint in robot.joints for k in range(*robot.v_slice(joint.name).indices(robot.nv))}
    by_row = {r: c.name for c in robot.constraints for r in range(*robot.row_slice(c.name).indices(robot.nc))}
    found = []
    for cluster in clusters_of(tree, enabled_rows(robot)):
        if not cluster.rows:
            continue
        joints = list(dict.fromkeys(owner[k].name for k in cluster.dofs))
        bodies = [robot.joint(name).child for name in joints]
        outside = {robot.joint(name).parent for name in joints} - set(bodies)
        found.append(
            ClusterReport(
                bodies=tuple(bodies),
                top=outside.pop() if len(outside) == 1 else "world",
                joints=tuple(joints),
                constraints=tuple(dict.fromkeys(by_row[r] for r in cluster.rows)),
                independent=tuple(names[k] for k in cluster.dofs if k not in tied),
                dependent=tuple(names[k] for k in cluster.dofs if k in tied),
            )
        )
    return tuple(found[::-1])


# Which joints are free ------------------------------------------------------------------------------------


def tied_dofs(robot: Model) -> frozenset[int]:
    """The degrees of freedom that follow the others."""
    return _chosen(robot, tuple(enabled_rows(robot)))


def ties_of(robot: Model) -> DependentCoordinates:
    """The same with what rows and coordinates are measured by."""
    return DependentCoordinates(tied_dofs(robot), typical_row_units(robot), joint_units(robot))


@computed_once
def _chosen(robot: Model, rows: tuple[int, ...]) -> frozenset[int]:
    if not robot.nc:
        return frozenset()
    jacobians = [without_units(robot, constraint_jacobian(robot, q)) for q in _poses(robot)]
    cut = max(RANK, OPEN * loop_rounding(robot))
    gladly = _preference(robot)
    tied: set[int] = set()
    for cluster in clusters_of(constrained_tree(robot, (), LOCAL), rows):
        if cluster.rows:
            parts = [J[np.ix_(cluster.rows, cluster.dofs)] for J in jacobians]
            tied |= {cluster.dofs[k] for k in _pivots(parts, gladly[list(cluster.dofs)], cut)}
    wrong = [j.name for j in robot.joints if j.independent and tied & set(_dofs(robot, j.name))]
    if wrong:
        warnings.warn(
            f"robot '{robot.name}': {', '.join(wrong)} cannot all be independent: constraints tie them, or the "
            "mechanism is at a dead center of theirs; they follow other joints instead",
            stacklevel=4,
        )
    return frozenset(tied)


def _dofs(robot: Model, name: str) -> range:
    return range(*robot.v_slice(name).indices(robot.nv))


def _poses(robot: Model) -> list[Floats]:
    """Poses in which loops are closed; if there is none, any: rows bind velocities all the same."""
    rng = np.random.default_rng(0)
    closed = [q for q, _ in nearby(robot)]
    return closed or [robot.integrate(robot.neutral(), x) for x in rng.normal(size=(4, robot.nv))]


def _preference(robot: Model) -> Floats:
    """For each degree of freedom, how gladly it is tied: what it can do for the rows counts as much more or less."""
    carriers = {joint.parent for joint in robot.joints}
    gladly = []
    for joint in robot.joints:
        if joint.independent is None:
            weight = (0.1 if joint.actuated else 1.0) * (1.0 if joint.child in carriers else 2.0)
        else:
            weight = 1e-3 if joint.independent else 1e3
        gladly += [weight] * joint.type.nv
    return np.array(gladly)


def _pivots(jacobians: Sequence[Floats], gladly: Floats, cut: float) -> list[int]:
    """Columns that span the rows of these matrices, at the worst of them as well as can be (greedily).

    A column counts by the sine of its angle to those chosen before, and less where it is short: then the joint would
    have to move far.
    """
    ranks = [_rank(J, cut) for J in jacobians]
    rest = np.array([J for J, rank in zip(jacobians, ranks, strict=True) if rank == max(ranks)])
    whole = np.linalg.norm(rest, axis=1)
    short = 0.01 * whole.max(axis=1, keepdims=True)
    chosen: list[int] = []
    for _ in range(max(ranks)):
        length = np.linalg.norm(rest, axis=1)
        length[:, chosen] = 0.0
        sine = length / np.maximum(whole, 1e-300) * np.minimum(1.0, length / np.maximum(short, 1e-300))
        k = int((sine * gladly).min(axis=0).argmax())
        chosen.append(k)
        unit = rest[:, :, k] / np.maximum(length[:, k], 1e-300)[:, None]
        rest = rest - unit[:, :, None] * (unit[:, None, :] @ rest)
    return chosen


def _rank(J: Floats, cut: float) -> int:
    s = np.linalg.svd(J, compute_uv=False)
    return int((s > cut * max(s.max(initial=0.0), 1e-300)).sum())


def not_a_transmission(robot: Model) -> str | None:
    """Why dependent bodies cannot be left out as rotors can, if so: linkages tie them, they carry others, or do more
    than turn."""
    linkage = next((c for c in robot.constraints if c.enabled and not isinstance(c, Coupling)), None)
    if linkage is not None:
        return f"{linkage} is no coupling of joints, such as gears and belts are"
    carriers = {joint.parent for joint in robot.joints}
    tied = tied_dofs(robot)
    for joint in robot.joints:
        if tied & set(_dofs(robot, joint.name)) and (joint.child in carriers or joint.type.nv > 1):
            return f"joint '{joint.name}' depends on others, and its body is no rotor that could be left out"
    return None


def clustered(robot: Model, frames: Sequence[str]) -> Tree:
    """The arrays of a robot by clusters."""
    return cluster_tree(robot, frames, ties_of(robot))


def independent(robot: M, names: Iterable[str]) -> M:
    """The robot with these joints marked as independent, and all others in its clusters as dependent."""
    chosen = [names] if isinstance(names, str) else list(names)
    for name in chosen:
        robot.joint(name)
    inside = {name for cluster in clusters(robot) for name in cluster.joints}
    joints = tuple(replace(j, independent=j.name in chosen) if j.name in inside else j for j in robot.joints)
    return replace(robot, joints=joints)


# The maps ---------------------------------------------------------------------------------------------------


class Minimal:
    """Minimal coordinates of a robot: ``y`` are its free degrees of freedom, in the order of ``v``.

    Positions are those of the whole tree, ``q``, in which loops are closed: `complete` closes them.

    Args:
        robot: The mechanism.
    """

    def __init__(self, robot: Model) -> None:
        if not isinstance(robot, Model):
            raise InputError(f"robot is {type(robot).__name__}, needs a Mechanism (from load, Builder or compose)")
        self.robot = robot
        tied = tied_dofs(robot)
        self.index = np.array([k for k in range(robot.nv) if k not in tied], dtype=np.intp)
        """Where each free degree of freedom stands in v."""
        names = dof_names(robot)
        self.names = tuple(names[k] for k in self.index)
        """Their names."""
        self.ny = len(self.index)
        self._explicit = _Explicit(robot)
        self._settle = _Settle(robot)

    def matrix(self, q: npt.ArrayLike) -> Array:
        """``G``: all joint velocities as a linear map of the free ones, ``(..., nv, ny)``.

        Args:
            q: Configuration with closed loops, ``(..., nq)``.
        """
        found: Array = self._explicit.determined((q, np.zeros(self.robot.nv)))[0]
        return found

    def velocity(self, q: npt.ArrayLike, rate: npt.ArrayLike) -> Array:
        """All joint velocities, ``G y'``.

        Args:
            q: Configuration with closed loops, ``(..., nq)``.
            rate: Velocities of the free degrees of freedom, ``(..., ny)``.
        """
        found: Array = (self.matrix(q) @ self.rates(rate, "rate")[..., None])[..., 0]
        return found

    def force(self, q: npt.ArrayLike, tau: npt.ArrayLike) -> Array:
        """What torques on all joints are to the free ones, ``G' tau``.

        Args:
            q: Configuration with closed loops, ``(..., nq)``.
            tau: Joint torques, ``(..., nv)``.
        """
        given = real_array(tau, "tau").astype(np.float64)
        if given.shape[-1:] != (self.robot.nv,):
            raise InputError(f"tau has shape {given.shape}, needs (..., {self.robot.nv})")
        found: Array = (np.swapaxes(self.matrix(q), -1, -2) @ given[..., None])[..., 0]
        return found

    def acceleration(self, q: npt.ArrayLike, v: npt.ArrayLike, second: npt.ArrayLike) -> Array:
        """All joint accelerations, ``G y'' + g``, at velocities that the loops allow.

        Args:
            q: Configuration with closed loops, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
            second: Accelerations of the free degrees of freedom, ``(..., ny)``.
        """
        G, g = self._explicit.determined((q, v))
        found: Array = (G @ self.rates(second, "second")[..., None])[..., 0] + g
        return found

    def complete(self, q: npt.ArrayLike, tolerance: float = 1e-13, max_iterations: int = 50) -> Array:
        """The configuration near ``q`` in which loops are closed and the free degrees of freedom are where they were.

        Newton's method on the tied ones, until errors are below ``tolerance`` or as small as rounding lets them be,
        that of the robot's numbers included.
        Loops often close in several ways (a knee bends forwards or backwards), and far from closed it may find another
        than the one that was meant, without a word: lead it in small steps, each from the configuration before.

        Args:
            q: Configuration near one with closed loops, ``(nq,)``.
            tolerance: How far a row may be open.
            max_iterations: The most iterations.
        """
        at: Array = self.robot.integrate(q, np.zeros(self.robot.nv))
        rows = enabled_rows(self.robot)
        if not rows:
            return at
        before = np.inf
        for _ in range(count(max_iterations, "max_iterations")):
            step, error = self._settle.determined((at,))
            worst = float(np.abs(error[..., rows]).max(initial=0.0))
            if worst <= tolerance or (worst < ROUNDED and worst >= 0.5 * before):
                return at
            at, before = self.robot.integrate(at, step), worst
        c = max(self.robot.constraints, key=lambda c: float(np.abs(error[..., self.robot.row_slice(c.name)]).max()))
        raise AssemblyError(
            f"robot '{self.robot.name}': {c} stays open by {worst:.3g} with the independent joints where they are",
            constraint=c.name,
            gap=worst,
            q=at,
        )

    def rates(self, x: npt.ArrayLike, name: str) -> Array:
        """``x`` as numbers for the free degrees of freedom.

        Args:
            x: One number for each free degree of freedom, ``(..., ny)``.
            name: What errors call it.
        """
        given = real_array(x, name).astype(np.float64)
        if given.shape[-1:] != (self.ny,):
            raise InputError(f"{name} has shape {given.shape}, needs (..., {self.ny}): {', '.join(self.names)}")
        return given

    def __repr__(self) -> str:
        return f"Minimal({self.robot.name!r}, {self.ny} of {self.robot.nv}: {', '.join(self.names)})"


class Tied(Evaluator):
    """An evaluator whose last output begins with how well the free joints determine the others."""

    def determined(self, inputs: Sequence[npt.ArrayLike], out: Array | None = None) -> list[Any]:
        """All outputs but the last; `SingularConstraints` where free joints do not determine the others."""
        if out is None:
            quick = [np.empty(shape, self._dtype) for shape in self._output_shapes]
            if not self._entry(*inputs, *quick):
                self._verify(quick[-1])
                return quick[:-1]
        try:
            *results, last = self._runner.evaluate(inputs, [out, *[None] * (len(self._output_shapes) - 1)])
        except NotFinite:
            raise undetermined(self.robot, self._without_numbers(inputs)) from None
        self._verify(last)
        return results

    def _verify(self, last: Array) -> None:
        if last.ndim > 1 or not last[0] > LEAST_PIVOT:
            check_pivots(self.robot, last[..., 0])

    def _verification(self, alone: bool) -> Callable[[Array], None]:
        return self._verify


class _Settle(Tied):
    """The step that closes loops with the tied degrees of freedom."""

    def __init__(self, robot: Model) -> None:
        self._prepare(robot, "settle", kernels.CLOSING_STEP, clustered(robot, ()), (), None)


class _Explicit(Tied):
    """The explicit form of a robot's constraints."""

    def __init__(self, robot: Model) -> None:
        self._prepare(robot, "explicit", kernels.EXPLICIT_FORM, clustered(robot, ()), (), None)


def check_pivots(robot: Model, least: Array) -> None:
    """`SingularConstraints` where the free joints do not determine the others."""
    bad = ~(np.asarray(least) > LEAST_PIVOT)
    if bad.any():
        where = "" if bad.ndim == 0 else f" in state {tuple(int(k) for k in np.argwhere(bad)[0])}"
        raise undetermined(robot, where)


def undetermined(robot: Model, where: str) -> SingularConstraints:
    """The error for a dead center of the free joints."""
    free = ", ".join(name for cluster in clusters(robot) for name in cluster.independent)
    return SingularConstraints(
        f"the independent joints of '{robot.name}' ({free}) do not determine the others{where}: the mechanism is at a "
        "dead center of theirs. Choose others with robot.with_independent(...), or a proximal method"
    )


# Motors and joints --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Actuation:
    """How motors move joints through their linkages, at one configuration (or a batch of them).

    ``joint velocity = matrix motor velocity`` and, since no power is lost, ``motor torque = matrix' joint torque``.
    """

    motors: tuple[str, ...]
    """Joints that drive."""
    joints: tuple[str, ...]
    """Joints that are driven."""
    matrix: Array
    """``(..., joints, motors)``."""
    held: tuple[str, ...] = ()
    """Joints that were taken to stand still: springs, unless others were named."""

    def joint_velocity(self, motor: npt.ArrayLike) -> Array:
        """Joint velocities of motor velocities.

        Args:
            motor: Velocities of the motors, ``(..., motors)``.
        """
        return self._times(self.matrix, motor, self.motors, "motor")

    def motor_torque(self, joint: npt.ArrayLike) -> Array:
        """The motor torques that do what these joint torques do.

        Args:
            joint: Torques of the joints, ``(..., joints)``.
        """
        return self._times(np.swapaxes(self.matrix, -1, -2), joint, self.joints, "joint")

    def motor_velocity(self, joint: npt.ArrayLike) -> Array:
        """The motor velocities of joint velocities, where there are as many joints as motors.

        Args:
            joint: Velocities of the joints, ``(..., joints)``.
        """
        return self._times(self._inverse(), joint, self.joints, "joint")

    def joint_torque(self, motor: npt.ArrayLike) -> Array:
        """The joint torques of motor torques, where there are as many joints as motors.

        Args:
            motor: Torques of the motors, ``(..., motors)``.
        """
        return self._times(np.swapaxes(self._inverse(), -1, -2), motor, self.motors, "motor")

    def of(self, *joints: str) -> Actuation:
        """The same for some of the joints.

        Args:
            joints: Names of joints.
        """
        for name in joints:
            if name not in self.joints:
                raise InputError(f"'{name}' is none of the joints that motors move: {', '.join(self.joints)}")
        at = [self.joints.index(name) for name in joints]
        return replace(self, joints=tuple(joints), matrix=self.matrix[..., at, :])

    def _times(self, matrix: Array, x: npt.ArrayLike, names: Sequence[str], what: str) -> Array:
        given = real_array(x, what).astype(np.float64)
        if given.shape[-1:] != (len(names),):
            raise InputError(f"{what} has shape {given.shape}, needs (..., {len(names)}): {', '.join(names)}")
        found: Array = (matrix @ given[..., None])[..., 0]
        return found

    def _inverse(self) -> Array:
        if len(self.motors) != len(self.joints):
            raise InputError(
                f"{len(self.motors)} motors move {len(self.joints)} joints: choose as many joints with of(...)"
            )
        s = np.linalg.svd(self.matrix, compute_uv=False)
        if (s[..., -1] <= RANK * np.maximum(1.0, s[..., 0])).any():
            raise SingularConstraints(
                f"the motors {', '.join(self.motors)} do not move the joints {', '.join(self.joints)} in every "
                "direction here: the linkage is at a dead center"
            )
        found: Array = np.linalg.inv(self.matrix)
        return found


def actuation(
    robot: Model,
    q: npt.ArrayLike,
    motors: Sequence[str] | None = None,
    joints: Sequence[str] | None = None,
    held: Sequence[str] | None = None,
) -> Actuation:
    """How the motors of a robot move its other joints through constraints.

    Unless they are given, ``motors`` are the actuated joints in clusters (of those that are tied to each other the
    first), ``held`` those with a spring, which is taken to be rigid, and ``joints`` all others that motors determine.
    `Actuation.held` says which these are. A warning names springs that are too weak for that: those that the robot's
    weight, at its center of mass, could bend by more than `WEAK_SPRING`; pass ``held=[]`` to let springs move.
    A motor that cannot move at ``q``, or does not determine a joint that was asked for, is an error,
    `SingularConstraints`.
    Loops are closed at ``q`` (see `Mechanism.assemble`): where they are open, rows that repeat others hold back more.
    """
    reports = clusters(robot)
    if not reports:
        raise InputError(f"robot '{robot.name}' has no enabled constraints: its motors are its joints")
    inside = [name for report in reports for name in report.joints if robot.joint(name).type.nv == 1]
    names = dof_names(robot)
    for name in (*(motors or ()), *(joints or ()), *(held or ())):
        if robot.joint(name).type.nv != 1:
            raise InputError(f"joint '{name}' has {robot.joint(name).type.nv} degrees of freedom; one is needed")
    driven = {a.joint for a in robot.actuators} | {j.name for j in robot.joints if j.actuated}
    chosen = [name for name in inside if name in driven] if motors is None else list(motors)
    if held is None:
        held = [n for n in inside if n not in chosen and n not in (joints or ()) and np.any(robot.joint(n).stiffness)]
        _warn_of_weak_springs(robot, q, held)
    stuck = {names.index(name) for name in held}
    rows = enabled_rows(robot)

    unit = joint_units(robot)

    def cut(at: npt.ArrayLike, least: float) -> float:
        """What counts as nothing where loops are open by rounded numbers."""
        gap = float(np.max(loop_gap(robot, np.asarray(at, dtype=np.float64))))
        return max(least, OPEN * loop_rounding(robot), OPEN * gap if gap <= ROUNDED else 0.0)

    def parts(at: npt.ArrayLike, some: Sequence[str]) -> tuple[Array, Array, list[int]]:
        """Rows on these motors and on all that may move with them, without units, and which those are."""
        J = without_units(robot, constraint_jacobian(robot, at))[..., rows, :]
        mine = [names.index(name) for name in some]
        rest = [k for k in range(robot.nv) if k not in mine and k not in stuck]
        return J[..., mine], J[..., rest], rest

    def hampered(at: npt.ArrayLike, some: Sequence[str]) -> Array:
        """By how much each motor cannot move while the others stand."""
        driving, moved, _ = parts(at, some)
        left = driving - moved @ (np.linalg.pinv(moved, rcond=cut(at, RANK)) @ driving)
        worst: Array = np.abs(left).max(axis=tuple(range(left.ndim - 1)), initial=0.0)
        return worst / max(1.0, float(np.abs(driving).max(initial=0.0)))

    if motors is None:
        poses, kept = _poses(robot), list[str]()
        for name in chosen:
            if min(hampered(at, [*kept, name]).max() / cut(at, TIED) for at in poses) <= 1.0:
                kept.append(name)
        chosen = kept
    if not chosen:
        raise InputError(f"robot '{robot.name}' has no actuated joint in a loop that could move; name the motors")
    bad = hampered(q, chosen)
    if bad.max() > cut(q, TIED):
        raise SingularConstraints(
            f"motor '{chosen[int(bad.argmax())]}' cannot move here while the other motors stand: its linkage is at a "
            "dead center, or another motor holds it"
        )
    driving, moved, rest = parts(q, chosen)
    inverse = np.linalg.pinv(moved, rcond=cut(q, RANK))
    idle = np.eye(len(rest)) - inverse @ moved  # motions of the rest while all motors stand
    loose = np.abs(idle).max(axis=-1, initial=0.0)
    loose = loose.max(axis=tuple(range(loose.ndim - 1)))

    def determined(name: str) -> bool:
        return bool(loose[rest.index(names.index(name))] <= 1e-6)

    if joints is None:
        others = [n for n in inside if n not in chosen and n not in held and determined(n)]
        if not others:
            raise SingularConstraints(f"the motors {', '.join(chosen)} determine no other joint here")
    else:
        others = list(joints)
        for name in others:
            if name in chosen or name in held:
                raise InputError(f"joint '{name}' is a motor, or is held")
            if not determined(name):
                raise SingularConstraints(
                    f"joint '{name}' can move while the motors {', '.join(chosen)} stand: they do not determine it here"
                )
    matrix = -(inverse @ driving) * unit[rest][:, None] / unit[[names.index(name) for name in chosen]]
    at = [rest.index(names.index(n)) for n in others]
    return Actuation(tuple(chosen), tuple(others), matrix[..., at, :], tuple(held))


def _warn_of_weak_springs(robot: Model, q: npt.ArrayLike, springs: Sequence[str]) -> None:
    """Where the weight of the robot could bend springs that are taken to be rigid."""
    weight = robot.mass * float(np.linalg.norm(robot.gravity))
    if not springs or not weight:
        return
    bodies = [robot.joint(name).child for name in springs]
    arms = frame_placement(robot, q, bodies).position - center_of_mass(robot, q)[..., None, :]
    arm = np.linalg.norm(arms, axis=-1).reshape(-1, len(springs)).max(axis=0)
    bends = {}
    for name, reach in zip(springs, arm, strict=True):
        joint = robot.joint(name)
        give = weight / float(joint.stiffness[0])  # of a slide in m; a turn gives by the arm times that
        if isinstance(joint.type, Prismatic):
            weak, bend = give > WEAK_SPRING * reach, f"{give:.2g} m"
        else:
            weak, bend = give * reach > WEAK_SPRING, f"{give * reach:.2g} rad"
        if weak:
            bends[name] = bend
    if bends:
        each = ", ".join(f"'{name}' by {bend}" for name, bend in bends.items())
        warnings.warn(
            f"robot '{robot.name}': springs are taken to be rigid that are weak: its weight could bend {each}. Pass "
            "held=[] to let springs move, or held=[...] to say which joints stand still",
            stacklevel=4,
        )
