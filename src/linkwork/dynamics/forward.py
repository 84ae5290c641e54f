"""The front door to forward dynamics: one class, all methods.

All methods of constrained dynamics solve the same problem, Gauss' principle with the robot's enabled constraints::

    M a + c = tau + J' lambda,        J a + dJ/dt v = target

They differ in what they cost on which robot, and in what they do where constraints are redundant: proximal methods find
the accelerations all the same, and of all multipliers the smallest; `ltl` and `pv` say that the system is singular.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from linkwork.closure.coordinates import check_pivots, clustered, not_a_transmission, undetermined
from linkwork.closure.mobility import RANK, mass_factor, rank_cut, state_doubt
from linkwork.compilers import cache as disk
from linkwork.compilers.run import Subject, content
from linkwork.compilers.trace import MAX_OPERATIONS, trace
from linkwork.errors import (
    InputError,
    NotConverged,
    NotFinite,
    ProgramTooLarge,
    SingularConstraints,
    StateWarning,
    UnsupportedFeature,
)
from linkwork.inputs import Auto, ForwardMethod, above_zero, count, real_array
from linkwork.kernels import aba, approximate, bbo, cluster_aba, lcaba, ltl, projection
from linkwork.kernels import pv_early as early
from linkwork.kernels.algorithm import Algorithm
from linkwork.model.computed import computed_once
from linkwork.model.constraints import CenterOfMass
from linkwork.model.model import Model
from linkwork.model.notebook import shape_table, state_tables
from linkwork.plans.bbo import WORLD_END, bbo_tree
from linkwork.plans.clusters import enabled_rows
from linkwork.plans.lcaba import lcaba_tree
from linkwork.plans.ltl import ltl_tree
from linkwork.plans.pv_early import pv_early_tree
from linkwork.plans.tree import Tree, tree_of, unit_ranges
from linkwork.quantities.evaluator import Array, Evaluator, OperationCount
from linkwork.quantities.functions import (
    bias_forces,
    constraint_bias,
    constraint_error,
    constraint_jacobian,
    constraint_target,
    frame_jacobian,
    mass_matrix,
)
from linkwork.quantities.scales import scales_of

REGULARIZATION = 1e-8
"""Regularization of a row of compliance one, as a part of the inverse inertia that the row feels. A smaller one needs
fewer iterations and loses more digits: `prox_bbo`, which does not make up for it, keeps eight (docs/methods.md)."""
SINGLE_REGULARIZATION = 1e-4
"""The least in single precision."""
TOLERANCE = 1e-13
"""What rows may miss, as a part of what forces and velocities do to the robot (`algorithms.constrained`)."""
SINGLE_TOLERANCE = 1e-7
"""The least that iterations in single precision are asked for."""
MAX_ITERATIONS = 20
EXPECTED = 3
"""Iterations that most robots need, or as many as are allowed: what `auto` counts with."""
MOST_COUNTED = 4 * MAX_OPERATIONS
"""Operations of a program, or steps of a dense factor, beyond which a method is not counted. Zeros take steps too, in
tracing and in native code."""
_empty = np.empty

OFF = 1e30
"""Regularization of a row that is not enabled."""
LEAST_PIVOT = 1e-9
"""Below this part of a row, others say the same."""
KKT_RANK = 1e-10
"""Singular values of rows, in the metric of inertia, below this part of the largest are zeros."""
CONTRADICTION = 1e-6
"""What rows may differ by when they say the same, as a part of what forces and velocities do to the robot."""


# Methods -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Method:
    """One way to solve the problem."""

    algorithm: Algorithm | None
    arrays: Callable[[Model, Sequence[str]], Tree] | None
    iterates: bool = False
    hard: bool = False
    """No regularization, no iterations: rows must be independent, or (`pv_early`) not contradict each other."""
    internal: bool = True
    """Whether constraints between two moving bodies are served."""
    exact: bool = True
    """Whether it solves the problem, or another that is like it."""
    closed: bool = False
    """Whether it is for configurations alone in which loops are closed: elsewhere rows may be more than it knows."""


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "aba": Method(aba.ABA, tree_of),
        "kkt": Method(None, None),
        "ltl": Method(ltl.LTL, ltl_tree, hard=True),
        "prox_ltl": Method(ltl.PROX_LTL, ltl_tree, iterates=True),
        "pv": Method(bbo.PV, lambda robot, frames: bbo_tree(robot, frames, WORLD_END), hard=True),
        "prox_pv": Method(bbo.PROX_BBO, lambda robot, frames: bbo_tree(robot, frames, WORLD_END), iterates=True),
        "prox_bbo": Method(bbo.PROX_BBO, bbo_tree, iterates=True),
        "pv_early": Method(early.PV_EARLY, pv_early_tree, hard=True, internal=False),
        "pv_soft": Method(lcaba.LCABA, lcaba_tree, internal=False),
        "constrained_aba": Method(lcaba.LCABA, lcaba_tree, iterates=True, internal=False),
        "lcaba": Method(lcaba.LCABA, lcaba_tree, iterates=True),
        "cluster": Method(cluster_aba.CLUSTER_ABA, clustered, hard=True, closed=True),
        "projection": Method(projection.PROJECTION, clustered, hard=True, closed=True),
        "approximate": Method(approximate.APPROXIMATE_ABA, clustered, hard=True, closed=True, exact=False),
        "lagrange": Method(ltl.LTL, ltl_tree, hard=True),
    }
)
"""Methods of forward dynamics, by name."""

AUTOMATIC: tuple[ForwardMethod, ...] = ("prox_bbo", "prox_pv", "lcaba", "prox_ltl")
"""Methods that `auto` chooses from: those that serve every constraint and every redundancy."""


def _refusal(robot: Model, name: str) -> str | None:
    """Why a method cannot serve a robot, if so."""
    method = METHODS[name]
    if name == "aba":
        bound = [c for c in robot.constraints if c.enabled]
        return f"it knows no constraints, and the robot is bound by {bound[0]}" if bound else None
    if not robot.constraints:
        return "the robot has no constraints; use aba"
    if not method.exact:
        return not_a_transmission(robot)
    if not method.internal:
        for constraint in robot.constraints:
            bodies = {robot.frames[place].body for place in constraint.places} - {"world"}
            spread = isinstance(constraint, CenterOfMass)  # mass moved across joints puts its rows on several bodies
            if spread or len(bodies) > 1 or len(constraint.joints) > 1 or (not bodies and not constraint.joints):
                return f"{constraint} is between several moving bodies"
    return None


def methods_for(robot: Model) -> tuple[ForwardMethod, ...]:
    """The methods that can serve a robot.

    Args:
        robot: The mechanism.
    """
    names: tuple[ForwardMethod, ...] = get_args(ForwardMethod)
    return tuple(name for name in names if _refusal(robot, name) is None)


def method_costs(robot: Model) -> dict[ForwardMethod, OperationCount]:
    """Exact operation counts of one iteration (and, as `OperationCount.iteration`, of each further one) by every method
    with a kernel.

    A method whose program, or whose dense factor of all rows, would be too large to count is left out. Counts are kept
    on disk.

    Args:
        robot: The mechanism.
    """
    found = {}
    for name in methods_for(robot):
        counted = method_cost(robot, name)
        if counted is not None:
            found[name] = counted
    return found


def method_cost(robot: Model, name: str) -> OperationCount | None:
    """The same for one method; None where it has no kernel, or the program is too large to count."""
    algorithm, arrays = METHODS[name].algorithm, METHODS[name].arrays
    if algorithm is None or arrays is None or _dense_steps(robot, algorithm) > MOST_COUNTED:
        return None
    return _counted(robot, name, tuple(enabled_rows(robot)) if METHODS[name].closed else ())


@computed_once
def _counted(robot: Model, name: str, rows: tuple[int, ...]) -> OperationCount | None:
    """The count of a method for the rows that it looks at when it is planned; kept on disk."""
    algorithm, arrays = METHODS[name].algorithm, METHODS[name].arrays
    assert algorithm is not None and arrays is not None
    subject = Subject(algorithm, arrays(robot, ()), unit_ranges(robot), robot.name)

    def make() -> bytes:
        try:
            traced = trace(algorithm, subject.tree, MOST_COUNTED)
        except ProgramTooLarge:
            return b"null"
        iteration = sum(traced.iterate.operation_count().values()) if traced.iterate else 0
        return json.dumps([traced.operation_count(), iteration]).encode()

    kept = json.loads(disk.fetch(disk.key("cost", algorithm.name, content(subject)), make))
    return None if kept is None else OperationCount(kept[0], iteration=kept[1])


def _dense_steps(robot: Model, algorithm: Algorithm) -> int:
    """Multiplications of the factor of a dense matrix with all rows of constraints, if the algorithm has one."""
    return robot.nc**3 // 6 if ("nc", "nc") in algorithm.work.values() else 0


def best_method(robot: Model, iterations: int = EXPECTED) -> ForwardMethod:
    """What ``method="auto"`` takes: the fewest operations for so many iterations.

    Args:
        robot: The mechanism.
        iterations: Proximal iterations to count.
    """
    if not any(c.enabled for c in robot.constraints):
        return "aba"
    costs = {name: method_cost(robot, name) for name in AUTOMATIC}
    known = {name: cost.total + (iterations - 1) * cost.iteration for name, cost in costs.items() if cost is not None}
    return min(known, key=known.__getitem__) if known else "lcaba"


# What was found --------------------------------------------------------------------------------------


class Solution:
    """What forward dynamics found. Leading axes are those of the batch."""

    __slots__ = ("_by", "_found", "acceleration")

    acceleration: Array
    """Joint accelerations, ``(..., nv)``."""

    def __init__(self, acceleration: Array, by: ForwardDynamics | None = None, found: Array | None = None) -> None:
        self.acceleration = acceleration
        self._by = by
        self._found = found
        """Progress (2 numbers), multipliers, residuals, openings (2 numbers)."""

    @property
    def multipliers(self) -> Array | None:
        """Forces of all constraints in a row, ``(..., nc)``; None for a tree."""
        return None if self._found is None else self._found[..., 2 : self._found.shape[-1] // 2]

    @property
    def residuals(self) -> Array | None:
        """What each row misses, ``(..., nc)``; None for a tree."""
        return None if self._found is None else self._found[..., self._found.shape[-1] // 2 : -2]

    @property
    def forces(self) -> Mapping[str, Array]:
        """Forces of the constraints by name, ``(..., rows)`` each, as they act on the second place of a pair."""
        return NamedRows(None if self._by is None else self._by.robot, self.multipliers)

    @property
    def residual(self) -> Any:
        """The most that a row misses, in m/s² or rad/s²."""
        rows = self.residuals
        return 0.0 if rows is None else _plain(np.abs(rows).max(axis=-1, initial=0.0))

    @property
    def gap(self) -> Any:
        """What loops are open by at ``q``, the most of a row, in m or rad."""
        return 0.0 if self._found is None else _plain(self._found[..., -2])

    @property
    def velocity_error(self) -> Any:
        """How fast ``v`` opens loops, the most of a row, in m/s or rad/s; None unless constraints have gains."""
        if self._found is None:
            return 0.0
        return None if np.any(self._found[..., -1] < 0) else _plain(self._found[..., -1])

    @property
    def iterations(self) -> Any:
        """Proximal iterations, of each state."""
        return 0 if self._found is None else _plain(self._found[..., 1].astype(np.int64))

    @property
    def converged(self) -> Any:
        """Whether iterations ended within the tolerance; of a method that does not iterate, always."""
        if self._by is None or self._found is None:
            return True
        ended = self._found[..., 0] <= (self._by._settings[0] if METHODS[self._by.method].iterates else np.inf)
        return _plain(ended)

    def __repr__(self) -> str:
        if self._found is None:
            return f"Solution(acceleration={self.acceleration!r})"
        return (
            f"Solution(acceleration={self.acceleration!r}, residual={self.residual}, "
            f"iterations={self.iterations}, converged={self.converged})"
        )

    def _repr_html_(self) -> str:
        if self._by is None or self._found is None:
            return shape_table("Solution", {"acceleration": self.acceleration})
        ended = f"{np.sum(self.converged)} of {np.size(self.converged)} converged"
        caption = f"Solution by {self._by.method}: {ended}, residual at most {np.max(self.residual, initial=0.0):.3g}"
        rows = {"force": self.multipliers, "residual": self.residuals}
        return state_tables(caption, self._by.robot, {"acceleration": self.acceleration}, rows)


class NamedRows(Mapping[str, Array]):
    """Numbers of all rows, by the names of constraints."""

    def __init__(self, robot: Model | None, multipliers: Array | None) -> None:
        self._robot, self._multipliers = robot, multipliers

    def __getitem__(self, name: str) -> Array:
        if self._robot is None or self._multipliers is None:
            raise KeyError(name)
        try:
            at = self._robot.row_slice(name)
        except InputError as error:
            raise KeyError(str(error)) from None
        part: Array = self._multipliers[..., at]
        return part

    def __iter__(self) -> Iterator[str]:
        return iter(()) if self._robot is None else (c.name for c in self._robot.constraints)

    def __len__(self) -> int:
        return 0 if self._robot is None else len(self._robot.constraints)

    def __repr__(self) -> str:
        return repr(dict(self))


def _plain(x: Any) -> Any:
    """A Python number for one state."""
    return x.item() if x.ndim == 0 else x


def row_regularization(robot: Model, regularization: float, dtype: str = "float64") -> Array:
    """The regularization of each row, ``(nc,)``: a part of the inverse inertia that it feels, times its constraint's
    compliance.

    It is as good as infinite where the constraint is not enabled.
    """
    mu = _relative_regularization(regularization, dtype)
    parts = [np.where(c.enabled, mu * np.asarray(c.compliance), OFF) for c in robot.constraints]
    R = np.concatenate(parts) if parts else np.zeros(0)
    return np.where(R < OFF, R * scales_of(robot).rows, OFF).astype(dtype)


def _relative_regularization(regularization: float, dtype: str) -> float:
    return regularization if dtype == "float64" else max(regularization, SINGLE_REGULARIZATION)


def iteration_settings(
    robot: Model, regularization: float, tolerance: float, iterations: int, dtype: str = "float64"
) -> Array:
    """When iterations end, and what is large for the robot: the input ``settings`` of `algorithms.constrained`."""
    scales = scales_of(robot)
    most = tolerance if dtype == "float64" else max(tolerance, SINGLE_TOLERANCE)
    swamped = float(np.finfo(dtype).eps) / _relative_regularization(regularization, dtype)
    weight = scales.mass * float(robot.gravity @ robot.gravity)
    felt = [np.where(c.enabled, 1.0, 0.0) for c in robot.constraints for _ in range(c.rows)] / scales.rows
    head = [most, iterations, swamped, weight, 1 / scales.mass, 1 / scales.moment]
    return np.concatenate([head, 1 / scales.joints, felt]).astype(dtype)


# What users call ---------------------------------------------------------------------------------------------------


class ForwardDynamics(Evaluator):
    """Accelerations of a robot under torques, and the forces of its constraints: ``fd(q, v, tau).acceleration``.

    ``method`` is one of `METHODS`, or ``"auto"``: `aba` for a tree, else the proximal one with the fewest operations
    for this robot, in three iterations or as many as are allowed.
    ``regularization``, ``tolerance`` and ``max_iterations`` are those of the proximal iterations, without units: a row
    has the regularization times its constraint's compliance as a part of the inverse inertia that it feels (`scales`),
    and rows may miss the tolerance as a part of what gravity, torques and velocities do. `pv_soft` takes the
    regularization as the softness that rows have, and iterates not. With ``strict``, iterations that do not reach the
    tolerance are an error, `NotConverged`; else `Solution.converged` says.

    Args:
        robot: The mechanism.
        method: How to solve for them, see `methods_for`. ``"auto"`` takes `aba` for a tree, else the proximal method
            with the fewest operations for this robot, in three iterations or as many as are allowed.
        regularization: Regularization of the proximal iterations, as a part of the inverse inertia that a row feels,
            times the compliance of its constraint. `pv_soft` takes it as the softness that rows have, and does not
            iterate.
        tolerance: What rows may miss when iterations end, as a part of what gravity, torques and velocities do.
        max_iterations: The most iterations.
        strict: Whether iterations that do not reach the tolerance are an error, `NotConverged`; else
            `Solution.converged` says so.
        wrenches: Frames that external wrenches act on. A call then takes them as ``(..., frames, 6)``, each ``[moment,
            force]`` at the frame's origin in the frame's axes.
        threads: Threads that share a large batch; by default as many as there are cores.
    """

    def __init__(
        self,
        robot: Model,
        method: ForwardMethod | Auto = "auto",
        *,
        regularization: float = REGULARIZATION,
        tolerance: float = TOLERANCE,
        max_iterations: int = MAX_ITERATIONS,
        strict: bool = False,
        wrenches: Sequence[str] = (),
        threads: int | None = None,
    ) -> None:
        if not isinstance(robot, Model):
            raise InputError(f"robot is {type(robot).__name__}, needs a Mechanism (from load, Builder or compose)")
        if method != "auto" and method not in METHODS:
            raise InputError(f"no method '{method}'; there are auto, {', '.join(METHODS)}")
        self.max_iterations = count(max_iterations, "max_iterations")
        method = best_method(robot, min(self.max_iterations, EXPECTED)) if method == "auto" else method
        reason = _refusal(robot, method)
        if reason is not None:
            others = ", ".join(methods_for(robot))
            raise UnsupportedFeature(f"{method} cannot serve '{robot.name}': {reason}. These can: {others}")
        self.method = method
        self.regularization, self.tolerance = (
            above_zero(regularization, "regularization"),
            above_zero(tolerance, "tolerance"),
        )
        made = METHODS[method]
        algorithm = made.algorithm if made.algorithm is not None else aba.ABA
        arrays = made.arrays if made.arrays is not None else tree_of
        self._prepare(robot, "forward_dynamics", algorithm, arrays(robot, self._frames(wrenches)), wrenches, threads)
        self._nv, self._nfound = robot.nv, 4 + 2 * robot.nc
        self._bound, self._dense, self._hard = method != "aba", made.algorithm is None, made.hard
        self.strict = bool(strict)
        self._quick = not (self._dense or self.strict)
        self._unseen = self._bound

    def _be(self, runner: Any, dtype: str) -> None:
        super()._be(runner, dtype)
        robot, made = self.robot, METHODS[self.method]
        R = row_regularization(robot, self.regularization, dtype)
        self._regularization = np.where(R < OFF, 0.0, R).astype(dtype) if made.hard else R
        self._still = np.zeros(robot.nc, dtype=dtype)
        self._settings = iteration_settings(
            robot, self.regularization, self.tolerance, self.max_iterations if made.iterates else 1, dtype
        )

    @property
    def settings(self) -> Array:
        """When iterations end, and the scales of the robot: the input ``settings`` of exported C."""
        return self._settings.copy()

    def __call__(  # type: ignore[override]
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike,
        wrenches: npt.ArrayLike | None = None,
        *,
        multipliers: npt.ArrayLike | None = None,
        target: npt.ArrayLike | None = None,
        regularization: npt.ArrayLike | None = None,
        out: Array | None = None,
    ) -> Solution:
        """Accelerations, and the forces of constraints. Leading axes are batch axes and broadcast.

        ``multipliers`` of a state before, ``(..., nc)``, are what iterations start from; ``target`` are accelerations
        to ask of rows beyond those of their gains, and ``regularization`` replaces that of each row, as an acceleration
        for a unit of its force, both ``(..., nc)``.

        Args:
            q: Configuration, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
            tau: Joint torques, ``(..., nv)``.
            wrenches: External wrenches on the frames that were named, ``(..., frames, 6)``; by default none.
            multipliers: Forces that iterations start from, ``(..., nc)``: those of a state before.
            target: Accelerations to ask of rows beyond those of their gains, ``(..., nc)``.
            regularization: Replaces the regularization of each row, ``(..., nc)``, in accelerations for a unit of
                its force.
            out: Array to write accelerations to; by default a new one.
        """
        if out is None and wrenches is multipliers is target is regularization is None:  # the quick way for one state
            a = _empty(self._nv, self._dtype)
            if not self._bound:
                if not self._entry(q, v, tau, self._rest, a):
                    return Solution(a)
            elif self._quick:
                found = _empty(self._nfound, self._dtype)
                if not self._entry(
                    q, v, tau, self._rest, self._regularization, self._still, self._still, self._settings, a, found
                ):
                    if self._hard:
                        self._check_pivots(found)
                    if self._unseen:
                        self._look(q, v, found)
                    return Solution(a, self, found)
        if not self._dense and self.method != "pv_early":
            typed = self._in_type_of([q, v, tau, wrenches, multipliers, target, regularization, out])
            if typed is not self:
                return typed(
                    q, v, tau, wrenches, multipliers=multipliers, target=target, regularization=regularization, out=out
                )
        pushed = self._rest if wrenches is None else wrenches
        if not self._bound:
            return Solution(self._runner.evaluate([q, v, tau, pushed], [out])[0])
        asked = self._still if target is None else target
        R = self._regularization if regularization is None else self._checked_regularization(regularization)
        if self._dense:
            return self._by_numpy(q, v, tau, pushed, R, asked, out)
        start = self._still if multipliers is None else multipliers
        inputs = [q, v, tau, pushed, R, asked, start, self._settings]
        try:
            a, found = self._runner.evaluate(inputs, [out, None])
        except NotFinite:
            if self._hard:
                raise self._singular(self._without_numbers(inputs)) from None
            raise
        if self._hard:
            self._check_pivots(found)
        if self._unseen:
            self._look(q, v, found)
        solution = Solution(a, self, found)
        if self.strict and not np.all(solution.converged):
            raise NotConverged(
                f"{self.method} of '{self.robot.name}' still misses {np.max(solution.residual):.3g} after "
                f"{np.max(solution.iterations)} iterations (asked: {self.tolerance:.1g})"
            )
        return solution

    def _look(self, q: npt.ArrayLike, v: npt.ArrayLike, found: Array) -> None:
        """Warn, once for a robot and of the first state that it is asked about, where loops are open or opening."""
        robot = self.robot
        if found.size:
            self._unseen = False
        if not found.size or not robot.computed.first_time("state looked at"):
            return
        at, rate = (np.asarray(x, dtype=np.float64) for x in (q, v))
        doubt = state_doubt(
            robot, at.reshape(-1, robot.nq)[0], rate.reshape(-1, robot.nv)[0], self._regularization < OFF
        )
        if doubt is not None:
            warnings.warn(doubt, StateWarning, stacklevel=3)

    def _singular(self, where: str) -> SingularConstraints:
        if METHODS[self.method].closed:
            return undetermined(self.robot, where)
        return SingularConstraints(
            f"the constraints of '{self.robot.name}' are not independent{where}, which {self.method} cannot solve; "
            f"a proximal method can: {', '.join(AUTOMATIC)}"
        )

    def _checked_regularization(self, regularization: npt.ArrayLike) -> Array:
        R = real_array(regularization, "regularization").astype(self._dtype)
        if not (R >= 0).all():
            raise InputError("regularization is not negative")
        return R

    def _check_pivots(self, progress: Array) -> None:
        if METHODS[self.method].closed:
            if progress.ndim > 1 or not progress[0] > LEAST_PIVOT:
                check_pivots(self.robot, progress[..., 0])
            return
        if self.method == "pv_early":
            wrong = progress[..., 0] > CONTRADICTION
            if wrong.any():
                where = "" if wrong.ndim == 0 else f" in state {tuple(int(k) for k in np.argwhere(wrong)[0])}"
                raise SingularConstraints(
                    f"the constraints of '{self.robot.name}' contradict each other{where} by "
                    f"{float(progress[..., 0].max()):.3g} of what forces and velocities do to it; a proximal method "
                    f"finds the nearest to what they ask: {', '.join(AUTOMATIC)}"
                )
            return
        if progress.ndim == 1 and progress[0] > LEAST_PIVOT:
            return
        least = progress[..., 0]
        if not (least > LEAST_PIVOT).all():
            where = (
                "" if least.ndim == 0 else f" in state {tuple(int(k) for k in np.argwhere(least <= LEAST_PIVOT)[0])}"
            )
            raise self._singular(where)

    def _by_numpy(
        self, q: Any, v: Any, tau: Any, wrenches: Any, regularization: Array, asked: Any, out: Array | None
    ) -> Solution:
        """The oracle: least squares by singular values, of all multipliers the smallest (rows count by
        regularization).
        """
        robot = self.robot
        M, c, J = mass_matrix(robot, q), bias_forces(robot, q, v), constraint_jacobian(robot, q)
        k = constraint_target(robot, q, v) - constraint_bias(robot, q, v) + np.asarray(asked, dtype=np.float64)
        for name, given in (("tau", tau), ("wrenches", wrenches), ("target", asked)):
            if not np.isfinite(given).all():
                raise InputError(f"{name} holds NaN or infinity")
        pull = np.asarray(tau, dtype=np.float64) - c
        for n, name in enumerate(self.frames):
            J_frame = frame_jacobian(robot, q, name)
            pull = pull + (np.swapaxes(J_frame, -1, -2) @ np.asarray(wrenches)[..., n, :, None])[..., 0]
        on = regularization < OFF
        scale = np.where(on, np.sqrt(self.regularization / np.maximum(regularization, 1e-300)), 0.0)
        L = mass_factor(robot, q)
        free = np.linalg.solve(M, pull[..., None])
        B = np.swapaxes(np.linalg.solve(L, np.swapaxes(J, -1, -2)), -1, -2) * scale[..., None]
        felt = B / np.sqrt(scales_of(robot).rows)[..., None] / np.where(scale > 0, scale, 1.0)[..., None]
        s = np.linalg.svd(felt, compute_uv=False)
        cut = np.where(s.max(axis=-1, initial=0.0) > 0, rank_cut(robot, q, s, J), 0.0)
        inverse = np.linalg.pinv(B, rcond=np.where(cut > RANK, cut, KKT_RANK))
        y = inverse @ (scale[..., None] * (k[..., None] - J @ free))
        a = (free + np.linalg.solve(np.swapaxes(L, -1, -2), y))[..., 0]
        forces = scale * (np.swapaxes(inverse, -1, -2) @ y)[..., 0]
        residuals = np.where(on, k - (J @ a[..., None])[..., 0], 0.0)
        progress = np.broadcast_to([0.0, 1.0], (*a.shape[:-1], 2))
        gap = np.abs(np.where(on, constraint_error(robot, q), 0.0)).max(axis=-1, initial=0.0)
        opening = np.abs(np.where(on, (J @ np.asarray(v, dtype=np.float64)[..., None])[..., 0], 0.0)).max(
            -1, initial=0.0
        )
        open_by = np.stack(np.broadcast_arrays(gap, opening, a[..., 0])[:2], axis=-1)
        found = np.concatenate([progress, forces, residuals, open_by], axis=-1)
        if out is not None:
            if np.shape(out) != a.shape:
                raise InputError(f"out for a has shape {np.shape(out)}, needs {a.shape}")
            out[...] = a
            a = out
        return Solution(a, self, found)

    def bind(self, *inputs: Array, out: Array | Sequence[Array]) -> Callable[[], None]:
        """A call without arguments; see `Evaluator.bind`. ``out`` is a, or (a, found), found as in `Solution`.

        With found nothing is raised where rows are dependent: of a hard method, ``found[0]`` says how independent they
        are. With a alone it is an error, as in a call.

        Args:
            inputs: ``q``, ``v``, ``tau`` and, where frames were named, wrenches.
            out: ``(a, found)``, found as in `Solution`; of a tree, ``a``.
        """
        self._need_kernel("bind")
        return super().bind(*inputs, out=out)

    def _verification(self, alone: bool) -> Callable[[Array], None] | None:
        return self._check_pivots if alone and self._hard else None

    def plain(self) -> ForwardDynamics:
        """The same, running the Python text as it stands: slow, for debugging."""
        self._need_kernel("plain")
        return super().plain()

    def compile(self, *args: Any, **kwargs: Any) -> ForwardDynamics:
        """The same, running a straight-line program made for this robot; see `Evaluator.compile`.

        Args:
            args: As for `Evaluator.compile`.
            kwargs: As for `Evaluator.compile`.
        """
        self._need_kernel("compile")
        dtype = kwargs.get("dtype", args[1] if len(args) > 1 else "float64")
        if self.method == "pv_early" and dtype != "float64":
            raise UnsupportedFeature(
                "pv_early tells rows that feel a joint a little from those that do not: float64 only"
            )
        return super().compile(*args, **kwargs)

    def _program(self) -> Subject:
        """Without the text of further iterations where there are to be none: it needs much of the first to be kept."""
        if self.max_iterations != 1 and METHODS[self.method].iterates:
            return self._subject
        return replace(self._subject, algorithm=replace(self._subject.algorithm, iteration=None))

    def _need_kernel(self, what: str) -> None:
        if METHODS[self.method].algorithm is None:
            raise UnsupportedFeature(f"{self.method} is dense linear algebra in NumPy: there is nothing to {what}")

    def _complete(self, inputs: Sequence[npt.ArrayLike | None]) -> list[npt.ArrayLike]:
        if not self._bound:
            return super()._complete(inputs)
        given: list[Any] = list(inputs)
        if len(given) == 3:
            given.append(self._rest)
        elif len(given) == 4 and given[-1] is None:
            given[-1] = self._rest
        if len(given) != 4:
            raise InputError(f"forward_dynamics takes q, v, tau, wrenches; {len(given)} arguments were given")
        return [*given, self._regularization, self._still, self._still, self._settings]
