# SPDX-License-Identifier: BSD-3-Clause
"""Methods of forward dynamics: a list, those that can serve a robot, and the cost of each.

All methods of constrained dynamics solve the same problem, Gauss' principle with the robot's enabled constraints::

    M a + c = tau + J' lambda,        J a + dJ/dt v = target

They differ in what they cost on which robot, and in what they do where constraints are redundant: proximal methods
compute the accelerations all the same, and of all multipliers the smallest; `ltl` and `pv` report a singular system.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import get_args

from linkwork.closure.clusters import clustered, not_a_transmission
from linkwork.closure.mobility import has_redundant_rows, has_singular_mass_matrix
from linkwork.compilers.program import Program
from linkwork.conversions import converted
from linkwork.dynamics.costs import MOST_COUNTED, program_cost
from linkwork.dynamics.iterations import EXPECTED, SolverSettings
from linkwork.dynamics.local_loops import clusters_by_operations, loops_in_clusters
from linkwork.dynamics.native_times import ESTIMATED_TO, native_time
from linkwork.dynamics.rows.ends import prox_bbo_tree, prox_pv_tree, pv_tree, world_tree
from linkwork.dynamics.rows.ranks import pv_early_plan
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.inputs import ForwardMethod, suggest
from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.clusters import aba as cluster_aba
from linkwork.kernels.clusters import approximate, projection
from linkwork.kernels.clusters import lcaba as cluster_lcaba
from linkwork.kernels.constrained import bbo, lcaba, ltl
from linkwork.kernels.constrained import pv_early as early
from linkwork.kernels.constrained.rank_revealing import ENDED, UNFINISHED
from linkwork.kernels.tree import aba
from linkwork.model.computed import computed_once
from linkwork.model.constraints import CenterOfMass, VelocityCoupling
from linkwork.model.model import Model
from linkwork.plans.clusters import enabled_rows
from linkwork.plans.lcaba import lcaba_tree_of_compliances
from linkwork.plans.ltl import ltl_tree
from linkwork.plans.tree import Tree, tree_of
from linkwork.quantities.counts import OperationCount

Plan = Callable[[Model, Sequence[str]], Tree]
"""Makes the plan of a robot, with frames that wrenches act on."""


@dataclass(frozen=True)
class Method:
    """A method of forward dynamics."""

    algorithm: Algorithm | None
    arrays: Plan | None
    iterates: bool = False
    hard: bool = False
    """No regularization, no iterations: rows must be independent, or (`pv_early`) not contradict each other."""
    falls_back: bool = False
    """Whether the iteration kernel is a second method, for states that the first cannot serve."""
    internal: bool = True
    """Whether constraints between two moving bodies are served."""
    exact: bool = True
    """Whether it solves the problem, or another that is like it."""
    fallback: Plan | None = None
    """A plan for states in which the first one meets a singular block, though rows are independent."""
    needs_mass: bool = False
    """Whether it factorizes the mass matrix without constraints: each joint must move some mass by itself."""
    closed: bool = False
    """Whether it is for configurations alone in which loops are closed: elsewhere rows may be more than it knows."""

    def iterations(self, solver: SolverSettings) -> SolverSettings:
        """Settings of iterations as its kernel reads them: one iteration where it does not iterate.

        Args:
            solver: As a caller gave them.
        """
        if self.falls_back:
            return replace(solver, tolerance=UNFINISHED, max_iterations=int(ENDED))
        return solver if self.iterates else replace(solver, max_iterations=1)

    @property
    def plans_for_enabled(self) -> bool:
        """Whether its plan is for the constraints that are enabled: other ones need another plan."""
        return self.closed or self.falls_back


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "aba": Method(aba.ABA, tree_of),
        "kkt": Method(None, None, needs_mass=True),
        "ltl": Method(ltl.LTL, ltl_tree, hard=True, needs_mass=True),
        "prox_ltl": Method(ltl.PROX_LTL, ltl_tree, iterates=True, needs_mass=True),
        "pv": Method(bbo.PV, pv_tree, hard=True, fallback=world_tree, needs_mass=True),
        "prox_pv": Method(bbo.PROX_BBO, prox_pv_tree, iterates=True, needs_mass=True),
        "prox_bbo": Method(bbo.PROX_BBO, prox_bbo_tree, iterates=True, needs_mass=True),
        "pv_early": Method(early.PV_EARLY, pv_early_plan, hard=True, falls_back=True, internal=False),
        "pv_soft": Method(lcaba.LCABA, lcaba_tree_of_compliances, internal=False),
        "constrained_aba": Method(lcaba.LCABA, lcaba_tree_of_compliances, iterates=True, internal=False),
        "lcaba": Method(lcaba.LCABA, lcaba_tree_of_compliances, iterates=True),
        "cluster_lcaba": Method(cluster_lcaba.CLUSTER_LCABA, loops_in_clusters, iterates=True, closed=True),
        "cluster": Method(cluster_aba.CLUSTER_ABA, clusters_by_operations, hard=True, closed=True),
        "projection": Method(projection.PROJECTION, clustered, hard=True, closed=True),
        "approximate": Method(approximate.APPROXIMATE_ABA, clustered, hard=True, closed=True, exact=False),
    }
)
"""Methods of forward dynamics, by name."""

AUTOMATIC: tuple[ForwardMethod, ...] = ("prox_bbo", "prox_pv", "lcaba", "prox_ltl")
"""Methods that `auto` chooses from: those that serve every constraint and every redundancy.

Not `pv_early`, though it is often the cheapest: of redundant rows it does not find the smallest multipliers,
contradicting rows are an error, and it knows neither regularization nor warm starts nor float32."""


def refusal(robot: Model, name: str) -> str | None:
    """Why a method cannot serve a robot, if so."""
    method = METHODS[name]
    if name == "aba":
        bound = [c for c in robot.constraints if c.enabled]
        return f"it ignores constraints, and the robot has {bound[0]}" if bound else None
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
            if isinstance(constraint, VelocityCoupling) and robot.joint(constraint.joints[0]).type.nv > 1:
                return f"{constraint} is of a joint with several degrees of freedom"
    return None


def check_method(robot: Model, name: str) -> None:
    """Raise an error where there is no method of a name, or it cannot serve a robot.

    Args:
        robot: The mechanism.
        name: Of a method, or ``"auto"``.
    """
    if name == "auto":
        return
    if name not in METHODS:
        raise InputError(f"no method '{name}'{suggest(name, METHODS)}; there are auto, {', '.join(METHODS)}")
    reason = refusal(robot, name)
    if reason is not None:
        others = ", ".join(methods_for(robot))
        raise UnsupportedFeature(f"{name} cannot serve '{robot.name}': {reason}. These can: {others}")


def method_tree(robot: Model, name: str, plan: Plan, frames: Sequence[str] = ()) -> Tree:
    """The arrays of a plan as a method reads them: proximal iterations know whether rows are redundant."""
    tree = plan(robot, frames)
    return tree._replace(has_redundant_rows=int(has_redundant_rows(robot))) if METHODS[name].iterates else tree


def check_parameters(names: Iterable[str], method: str) -> None:
    """Raise where forward dynamics does not depend on a parameter, or a method is planned for the robot's own."""
    for name in names:
        driven = name.startswith(("actuator_", "motor_"))
        if driven or name in ("damping", "stiffness", "rest"):
            raise InputError(
                f"forward dynamics takes all torques from tau and does not depend on {name}: leave it out. "
                f"Evaluator(robot, '{'actuator_torques' if driven else 'passive_forces'}', "
                f"parameters=['{name}']) gives torques that do, and so do steps of simulations"
            )
    if method in ("kkt", "approximate", "pv_early"):
        raise UnsupportedFeature(f"{method} has no parameters as inputs; another method has, by default 'auto'")


@converted
def methods_for(robot: Model) -> tuple[ForwardMethod, ...]:
    """The methods that can serve a robot.

    Args:
        robot: The mechanism.
    """
    names: tuple[ForwardMethod, ...] = get_args(ForwardMethod)
    return tuple(name for name in names if refusal(robot, name) is None)


@converted
def method_costs(robot: Model) -> dict[ForwardMethod, OperationCount]:
    """Exact operation counts of one iteration (and, as `OperationCount.iteration` and `OperationCount.refinement`, of
    each further and of the last one) by every method with a kernel.

    A method whose program, or whose dense factor of all rows, would be too large to count is left out. Counts are kept
    on disk.

    Args:
        robot: The mechanism.
    """
    result = {}
    for name in methods_for(robot):
        counted = method_cost(robot, name)
        if counted is not None:
            result[name] = counted
    return result


def method_cost(robot: Model, name: str) -> OperationCount | None:
    """The operation count of one method; None where it has no kernel, or the program is too large to count."""
    algorithm, arrays = METHODS[name].algorithm, METHODS[name].arrays
    if algorithm is None or arrays is None or _dense_steps(robot, algorithm) > MOST_COUNTED:
        return None
    return _counted(robot, name, tuple(enabled_rows(robot)) if METHODS[name].plans_for_enabled else ())


@computed_once
def _counted(robot: Model, name: str, rows: tuple[int, ...]) -> OperationCount | None:
    """The count of a method, which plans for these rows."""
    algorithm, arrays = METHODS[name].algorithm, METHODS[name].arrays
    assert algorithm is not None and arrays is not None
    program = Program.of_robot(robot, algorithm, method_tree(robot, name, arrays))
    return program_cost(program.without_iterations() if METHODS[name].falls_back else program)


def _dense_steps(robot: Model, algorithm: Algorithm) -> int:
    """Multiplications of the factor of a dense matrix with all rows of constraints, if the algorithm has one."""
    return robot.nc**3 // 6 if ("nc", "nc") in algorithm.work.values() else 0


@computed_once
def _native_time(robot: Model, name: ForwardMethod, iterations: int) -> float | None:
    """The estimated time of a method in native code; None where its operations are too many to count."""
    cost, algorithm, arrays = method_cost(robot, name), METHODS[name].algorithm, METHODS[name].arrays
    if cost is None or algorithm is None or arrays is None:
        return None
    further = cost.in_iterations(iterations) - cost.total
    return native_time(algorithm, method_tree(robot, name, arrays), cost.total, further, iterations)


@converted
def best_method(robot: Model, iterations: int = EXPECTED) -> ForwardMethod:
    """The method that ``method="auto"`` selects for so many iterations.

    Of the methods whose native code takes the least time, as far as estimates know (`dynamics.native_times`), the one
    with the fewest operations, whose straight-line program is the fastest, too. Where a joint moves no mass by
    itself: `lcaba`.

    Args:
        robot: The mechanism.
        iterations: Proximal iterations to count.
    """
    if not any(c.enabled for c in robot.constraints):
        return "aba"
    if has_singular_mass_matrix(robot):
        return "lcaba"
    costs = {name: method_cost(robot, name) for name in AUTOMATIC}
    times = {name: time for name in AUTOMATIC if (time := _native_time(robot, name, iterations)) is not None}
    least = min(times.values(), default=0.0)
    operations = {
        name: cost.in_iterations(iterations)
        for name, cost in costs.items()
        if cost is not None and times[name] <= (1.0 + ESTIMATED_TO) * least
    }
    return min(operations, key=operations.__getitem__) if operations else "lcaba"
