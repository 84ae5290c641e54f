# SPDX-License-Identifier: BSD-3-Clause
"""Pinocchio's solvers of contact problems on a given matrix, with tolerances at which they reach our residual.

What was found with Pinocchio 4.1 and its Python module:

- Solvers take the sets of forces from constraint models and the matrix from a ``DelassusOperatorDense``; nothing is
  computed of the robot that the constraint models belong to.
- ``setFriction`` of a contact model counts; assigning to its ``set`` changes a copy.
- Tolerances are about forces and velocities at once, our residual about velocities: the loosest decade of absolute
  tolerances with which the residual is reached is used, relative ones are zero.
- Its ADMM begins with Lanczos' method for the largest eigenvalue, by default in as many steps as there are rows, which
  takes most of the time of a solution. ``lanczos_size = 10`` gives the same iterations: it is measured beside the
  default, as ``admm_tuned``. With the default, 1200 rows overflow a stack of 8 MB: a segmentation fault, see
  `raise_stack_limit`.
- Its ADMM has three rules for the penalty (``OSQP``, its default, ``SPECTRAL``, ``LINEAR``); the fastest counts.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np

from linkwork_benchmarks.contact.piles import Pile
from linkwork_benchmarks.robots import Floats

RULES = ("OSQP", "SPECTRAL", "LINEAR")
TOLERANCES = (1e-8, 1e-9, 1e-10, 1e-11, 1e-12)


SOLVERS = ("admm", "admm_tuned", "pgs")
TUNED = "_tuned"
LANCZOS = 10
"""Steps of Lanczos' method, tuned."""
STACK = 1 << 29
"""Bytes."""


def rules(name: str) -> tuple[str, ...]:
    """Rules for the penalty of a solver."""
    return RULES if name.startswith("admm") else ("",)


@dataclass(frozen=True)
class Peer:
    """A solver of Pinocchio with settings, on one problem."""

    name: str
    """One of `SOLVERS`."""
    rule: str
    """Of ADMM's penalty."""
    tolerance: float
    call: Callable[[], object]
    forces: Callable[[], Floats]
    iterations: Callable[[], int]


def raise_stack_limit() -> None:
    """More memory for the stack, which Pinocchio puts matrices on, where the system allows it."""
    if importlib.util.find_spec("resource") is None:
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    wanted = STACK if hard == resource.RLIM_INFINITY else min(STACK, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_STACK, (wanted, hard))


def peer(pile: Pile, name: str, rule: str, tolerance: float, most: int) -> Peer:
    """A solver of Pinocchio; calls start from zero forces."""
    import pinocchio as pin

    models, memory = _contacts(pile)
    kind = name.removesuffix(TUNED).upper()
    how, result = getattr(pin, f"{kind}SolverSettings")(), getattr(pin, f"{kind}SolverResult")()
    how.absolute_feasibility_tol = how.absolute_complementarity_tol = tolerance
    how.relative_feasibility_tol = how.relative_complementarity_tol = 0.0
    how.max_iterations = most
    if name.endswith(TUNED):
        how.lanczos_size = min(LANCZOS, len(pile.g))
    if rule:
        how.admm_update_rule = getattr(pin.ADMMUpdateRule, rule)
    solver, matrix = getattr(pin, f"{kind}ConstraintSolver")(len(pile.g)), pin.DelassusOperatorDense(pile.G)
    solve, reset, g = solver.solve, result.reset, pile.g

    def call() -> object:
        reset()
        return solve(matrix, g, models, memory, how, result)

    return Peer(
        name,
        rule,
        tolerance,
        call,
        lambda: np.array(result.retrieveConstraintImpulses()),
        lambda: int(result.iterations),
    )


def fitted(pile: Pile, name: str, residual: Callable[[Floats], float], wanted: float, most: int) -> Peer:
    """The fastest settings with which a solver reaches a residual; the last that were tried if none does."""
    found: list[tuple[float, Peer]] = []
    last: Peer | None = None
    for rule in rules(name):
        for tolerance in TOLERANCES:
            last = peer(pile, name, rule, tolerance, most)
            start = process_time()
            last.call()
            if residual(last.forces()) <= wanted:
                found.append((process_time() - start, last))
                break
            if last.iterations() >= most:
                break
    assert last is not None
    return min(found, key=lambda each: each[0])[1] if found else last


def _contacts(pile: Pile) -> tuple[Any, Any]:
    """Constraint models with the sets of forces, and memory for them."""
    import pinocchio as pin

    model = pin.Model()
    model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "body")
    models, memory = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
    for mu in pile.friction.tolist():
        contact = pin.PointContactConstraintModel(model, 0, pin.SE3.Identity(), 1, pin.SE3.Identity())
        contact.setFriction(mu)
        models.append(pin.ConstraintModel(contact))
        memory.append(models[-1].createData())
    return models, memory
