# SPDX-License-Identifier: BSD-3-Clause
"""Contact problems of rows: forces in friction cones and boxes, for a Delassus matrix that is given as an array.

::

    y = (G + R) f + g,    K ∋ f ⟂ y + Gamma(y) ∈ K*,    Gamma = (0, 0, mu |y_t|) of each contact

`solve_contacts` takes arrays, one problem or a batch of them; `RowSolver` is the same made once for many problems of
one structure. Solvers are `pgs` (`kernels.contact.pgs`), `admm` (`kernels.contact.admm`) and, of `solve_contacts`,
`newton` (`contact.newton_rows`). Residuals are velocities, in the unit of ``g``; that of every solver is the one of
`kernels.contact.cones`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from linkwork.compilers.backends import default_threads, runner_for
from linkwork.compilers.program import Backend, Program
from linkwork.compilers.run import Runner
from linkwork.contact.newton_rows import contacts_by_newton
from linkwork.contact.operator import operator_contacts, solve_on_operator
from linkwork.contact.row_problem import RowSolution, check_contacts, check_symmetric, row_arrays
from linkwork.contact.thresholds import ROW_TOLERANCE
from linkwork.dynamics.delassus import DelassusOperator
from linkwork.errors import InputError
from linkwork.inputs import above_zero, among, count, float_array, real_array, shown
from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.contact import admm, pgs
from linkwork.plans.contact_rows import LINE, dense_contacts
from linkwork.quantities.arguments import Array

RowSolverName = Literal["pgs", "admm"]
ArraySolverName = Literal["pgs", "admm", "newton"]
PenaltyRule = Literal["balance", "linear", "spectral", "constant"]

PENALTY_RULES: Mapping[str, tuple[float, float, float]] = MappingProxyType(
    {
        "balance": (admm.BALANCE, 1.0, 10.0),
        "linear": (admm.LINEAR, 10.0, 2.0),
        "spectral": (admm.SPECTRAL, 10.0, 1.0),
        "constant": (admm.CONSTANT, 1.0, 1.0),
    }
)
"""Of each rule its number, the ratio of residuals beyond which the penalty changes, and its largest change."""


@dataclass(frozen=True)
class _Method:
    """Settings of a solver."""

    algorithm: Algorithm
    most: int
    """Iterations that it may take, unless said otherwise."""


METHODS: Mapping[str, _Method] = MappingProxyType(
    {"pgs": _Method(pgs.PGS, 20_000), "admm": _Method(admm.DENSE_ADMM, 2_000)}
)


@dataclass(frozen=True)
class RowStructure:
    """Which rows belong to contacts, and which rows act on each other."""

    slot_rows: tuple[int, ...]
    """The first of the three rows of each contact; all other rows stand alone."""
    nc: int
    coupled: bytes
    """Entries of the matrix that may differ from zero, as bits."""

    @classmethod
    def of(cls, coupled: npt.NDArray[np.bool_], contacts: Sequence[int]) -> RowStructure:
        """The structure of a matrix and its contacts."""
        rows, nc = tuple(int(r) for r in contacts), len(coupled)
        check_contacts(rows, nc, 3)
        return cls(rows, nc, np.packbits(coupled | coupled.T).tobytes())

    def program(self, algorithm: Algorithm) -> Program:
        """An algorithm for this structure."""
        bits = np.unpackbits(np.frombuffer(self.coupled, dtype=np.uint8), count=self.nc * self.nc)
        tree = dense_contacts(bits.astype(bool).reshape(self.nc, self.nc), self.slot_rows)
        return Program(algorithm, tree, (), "contacts")


class RowSolver:
    """Solves contact problems of one structure: ``solver(G, g, friction)``.

    Args:
        structure: Contacts, and which rows act on each other.
        solver: ``"pgs"`` or ``"admm"``.
        backend: Backend of kernels.
    """

    def __init__(self, structure: RowStructure, solver: RowSolverName = "pgs", backend: Backend | None = None) -> None:
        _check_solver(solver)
        self.structure, self.solver = structure, solver
        self.backend = Backend(threads=default_threads()) if backend is None else backend

    @cached_property
    def _runner(self) -> Runner:
        return runner_for(self.structure.program(METHODS[self.solver].algorithm), self.backend)

    def plain(self) -> RowSolver:
        """A copy that runs the Python text itself: slow, for debugging."""
        return RowSolver(self.structure, self.solver, Backend("plain"))

    def __call__(
        self,
        G: npt.ArrayLike,
        g: npt.ArrayLike,
        friction: npt.ArrayLike,
        compliance: npt.ArrayLike = 0.0,
        lower: npt.ArrayLike = -np.inf,
        upper: npt.ArrayLike = np.inf,
        guess: npt.ArrayLike = 0.0,
        tolerance: float = ROW_TOLERANCE,
        max_iterations: int | None = None,
        penalty: PenaltyRule = "balance",
        first_penalty: float = 0.1,
        relaxation: float = 1.0,
    ) -> RowSolution:
        """Solve; arguments as for `solve_contacts`."""
        rows = self._rows(G, g, friction, compliance, lower, upper, guess)
        settings = _settings(self.solver, tolerance, max_iterations, penalty, first_penalty, relaxation)
        results = self._runner.evaluate([*rows, settings], [None] * len(self._runner.outputs))
        return self._solution(rows, settings, results)

    def bind(
        self,
        G: npt.ArrayLike,
        g: npt.ArrayLike,
        friction: npt.ArrayLike,
        tolerance: float = ROW_TOLERANCE,
        max_iterations: int | None = None,
        penalty: PenaltyRule = "balance",
    ) -> tuple[Callable[[], None], Callable[[], RowSolution]]:
        """A call that solves this one problem from zero forces, without allocation, and one that reads the solution.

        Args:
            G: As for `solve_contacts`.
            g: As for `solve_contacts`.
            friction: As for `solve_contacts`.
            tolerance: As for `solve_contacts`.
            max_iterations: As for `solve_contacts`.
            penalty: As for `solve_contacts`.
        """
        rows = self._rows(G, g, friction, 0.0, -np.inf, np.inf, 0.0)
        settings = _settings(self.solver, tolerance, max_iterations, penalty, 0.1, 1.0)
        outputs = [np.empty(shape) for shape in self._runner.outputs]
        entry, inputs = self._runner.own_entry(batched=False), (*rows, settings)

        def call() -> None:
            status = entry(*inputs, *outputs)
            if status:
                self._runner.explain(status, inputs, outputs)

        return call, lambda: self._solution(rows, settings, outputs)

    def _solution(self, rows: Sequence[Array], settings: Array, results: Sequence[Array]) -> RowSolution:
        """The outputs of kernels, by name."""
        y = results[-2]
        if self.solver == "pgs":
            y = y.reshape((*y.shape[:-2], -1))[..., : self.structure.nc]
        return _solution(self.solver, rows[3], settings, results[0], y, results[-1])

    @cached_property
    def _residual(self) -> Runner:
        return runner_for(self.structure.program(pgs.DENSE_RESIDUAL), self.backend)

    def residual(
        self,
        G: npt.ArrayLike,
        g: npt.ArrayLike,
        friction: npt.ArrayLike,
        impulses: npt.ArrayLike,
        compliance: npt.ArrayLike = 0.0,
        lower: npt.ArrayLike = -np.inf,
        upper: npt.ArrayLike = np.inf,
    ) -> Array:
        """The residual of forces from anywhere, ``(...)``.

        Args:
            G: As for `solve_contacts`.
            g: As for `solve_contacts`.
            friction: As for `solve_contacts`.
            impulses: Forces of rows, ``(..., m)``, in their cones or not.
            compliance: As for `solve_contacts`.
            lower: As for `solve_contacts`.
            upper: As for `solve_contacts`.
        """
        rows = self._rows(G, g, friction, compliance, lower, upper, impulses)
        return self._residual.evaluate(rows, [None])[0][..., 0]

    def _rows(
        self,
        G: npt.ArrayLike,
        g: npt.ArrayLike,
        friction: npt.ArrayLike,
        compliance: npt.ArrayLike,
        lower: npt.ArrayLike,
        upper: npt.ArrayLike,
        guess: npt.ArrayLike,
    ) -> list[Array]:
        """The inputs of kernels."""
        m, slots = self.structure.nc, len(self.structure.slot_rows)
        matrix = real_array(G, "G")
        if matrix.shape[-2:] != (m, m):
            raise InputError(f"G has shape {matrix.shape}, needs (..., {m}, {m})")
        lines = -(-m // LINE)
        padded = np.zeros((*matrix.shape[:-1], lines * LINE))
        padded[..., :m] = matrix
        lined = padded.reshape((*matrix.shape[:-1], lines, LINE))
        return [lined, *row_arrays(m, slots, g, friction, compliance, lower, upper, guess)]


def _settings(
    solver: str, tolerance: float, most: int | None, penalty: PenaltyRule, first_penalty: float, relaxation: float
) -> Array:
    """The input ``settings`` of kernels."""
    most = METHODS[solver].most if most is None else count(most, "max_iterations")
    settings = [above_zero(tolerance, "tolerance"), float(most)]
    if solver == "admm":
        if penalty not in PENALTY_RULES:
            raise InputError(f"no penalty rule {shown(penalty)}{among(penalty, PENALTY_RULES)}")
        if not 0 < relaxation < 2:
            raise InputError(f"relaxation is {relaxation}, must be between 0 and 2; 1 is no relaxation")
        rule, ratio, factor = PENALTY_RULES[penalty]
        settings += [above_zero(first_penalty, "first_penalty"), rule, ratio, factor, float(relaxation)]
    return np.array(settings)


def _solution(solver: str, compliance: Array, settings: Array, f: Array, y: Array, progress: Array) -> RowSolution:
    """The outputs of kernels, by name."""
    return RowSolution(
        f,
        y - compliance * f,
        progress[..., 0],
        progress[..., 1].astype(np.int64),
        progress[..., 0] <= settings[0],
        progress[..., admm.FACTORIZATIONS].astype(np.int64) if solver == "admm" else None,
    )


def _check_solver(solver: str) -> None:
    if not isinstance(solver, str) or solver not in METHODS:
        why = " that is made beforehand (use solve_contacts)" if solver == "newton" else ""
        raise InputError(f"no solver {solver!r} of arrays{why}{among(solver, METHODS)}")


@lru_cache(maxsize=32)
def _solver(structure: RowStructure, solver: RowSolverName) -> RowSolver:
    return RowSolver(structure, solver)


def row_solver(
    G: npt.ArrayLike, friction: npt.ArrayLike, solver: RowSolverName = "pgs", contacts: Sequence[int] | None = None
) -> RowSolver:
    """A solver for problems of the structure of this one; the same one for the same structure.

    Args:
        G: Delassus matrix, ``(..., m, m)``; which entries are zero counts.
        friction: Coefficients of friction, ``(..., k)``.
        solver: ``"pgs"`` or ``"admm"``.
        contacts: The first row of each contact; by default contacts come first, three rows each.
    """
    matrix = float_array(G, "G")
    check_symmetric(matrix)
    mu = real_array(friction, "friction")
    slots = 3 * np.arange(mu.shape[-1] if mu.ndim else matrix.shape[-1] // 3) if contacts is None else contacts
    coupled = (matrix != 0).reshape(-1, *matrix.shape[-2:]).any(axis=0)
    _check_solver(solver)
    rows = real_array(slots, "contacts")
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
        raise InputError(f"contacts is {shown(contacts)}, needs the first row of each contact, whole numbers")
    return _solver(RowStructure.of(coupled, [int(r) for r in rows]), solver)


def _on_operator(
    operator: DelassusOperator,
    g: npt.ArrayLike,
    friction: npt.ArrayLike,
    solver: str,
    contacts: Sequence[int] | None,
    further: Sequence[npt.ArrayLike],
    tolerance: float = ROW_TOLERANCE,
    max_iterations: int | None = None,
    penalty: PenaltyRule = "balance",
    first_penalty: float = 0.1,
    relaxation: float = 1.0,
) -> RowSolution:
    """The solution for an operator: ADMM, one problem."""
    if solver != "admm":
        raise InputError(f"{solver} needs a matrix: give operator.toarray(), or use solver='admm'")
    slots = operator_contacts(operator) if contacts is None else [int(r) for r in contacts]
    RowStructure.of(np.zeros(operator.shape, dtype=bool), slots)
    rows = row_arrays(operator.shape[0], len(slots), g, friction, *further)
    settings = _settings(solver, tolerance, max_iterations, penalty, first_penalty, relaxation)
    f, _, y, progress = solve_on_operator(operator, slots, rows, settings)
    return _solution(solver, rows[2], settings, f, y, progress)


def solve_contacts(
    G: npt.ArrayLike | DelassusOperator,
    g: npt.ArrayLike,
    friction: npt.ArrayLike,
    solver: ArraySolverName = "pgs",
    contacts: Sequence[int] | None = None,
    compliance: npt.ArrayLike = 0.0,
    lower: npt.ArrayLike = -np.inf,
    upper: npt.ArrayLike = np.inf,
    guess: npt.ArrayLike = 0.0,
    **options: Any,
) -> RowSolution:
    """Forces of contacts with friction, and of other rows, for a Delassus matrix: one problem, or a batch.

    A contact has three rows, two tangential and the normal one, along which velocities separate: ``f_n >= 0``,
    ``|f_t| <= friction f_n``. Rows of no contact have forces between ``lower`` and ``upper``: without bounds a row is
    an equality, with ``lower = 0`` one-sided, with both dry friction.

    Args:
        G: Delassus matrix ``J M^-1 J'``, ``(..., m, m)``; or for ``"admm"`` an operator without a matrix, of
            `Contacts` or `Delassus`: then contacts are by default all constraints of three rows.
        g: Velocities of rows without forces, with their bias, ``(..., m)``.
        friction: Coefficient of friction of each contact, ``(..., k)``, or one number where all rows are of contacts.
        solver: ``"pgs"``, projected Gauss-Seidel, ``"admm"``, or ``"newton"``, semismooth and smoothed Newton.
        contacts: The first row of each contact; by default contacts come first, three rows each.
        compliance: Added to the diagonal of ``G``: one number, or ``(..., m)``.
        lower: Least forces of rows of no contact: one number, or ``(..., m)``; of contacts they do not count.
        upper: Largest forces, as ``lower``.
        guess: Forces to start from, ``(..., m)``.
        options: ``tolerance`` of the residual (1e-8, in the unit of ``g``) and ``max_iterations``; for ``"admm"``
            ``penalty`` (``"balance"``, ``"linear"``, ``"spectral"``, ``"constant"``), ``first_penalty`` (a part of
            the inverse inertia of contacts, 0.1) and ``relaxation`` (1). For ``"newton"`` coefficients of ``torsion``
            and ``rolling`` of each contact, lengths, whose one and two rows follow the normal's; with
            ``independent=True`` they have a cone of their own, else one with sliding friction, as in MuJoCo.
    """
    if solver == "newton":
        return contacts_by_newton(G, g, friction, contacts, (compliance, lower, upper, guess), **options)
    if isinstance(G, DelassusOperator):
        return _on_operator(G, g, friction, solver, contacts, (compliance, lower, upper, guess), **options)
    row_method = row_solver(G, friction, solver, contacts)
    return row_method(G, g, friction, compliance, lower, upper, guess, **options)
