# SPDX-License-Identifier: BSD-3-Clause
"""How each kind of scenario is measured: answers compared first, then times, contenders taking turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import process_time
from typing import Any, cast

import numpy as np

import linkwork as lw
from linkwork import zoo
from linkwork.compilers.cache_lines import LINE
from linkwork.dynamics.delassus import Delassus
from linkwork.quantities.base import BaseEvaluator
from linkwork_benchmarks.contender import Contender
from linkwork_benchmarks.delassus import counts, dense
from linkwork_benchmarks.delassus.operators import AGREES, Bench, bound, contender
from linkwork_benchmarks.delassus.pinocchio import Peer
from linkwork_benchmarks.delassus.scenarios import (
    DAMPING,
    NEW,
    STIFF,
    Extraction,
    Growth,
    Operations,
    Stalk,
    Table,
)
from linkwork_benchmarks.peers import Unable
from linkwork_benchmarks.robots import Floats
from linkwork_benchmarks.runner import Journal, Settings, best_times, measure_by_type, say

FULL = Settings(rounds=20, pass_seconds=0.004, clock=process_time)
QUICK = Settings(rounds=3, pass_seconds=0.0005, clock=process_time)

QUANTITIES = ("product", "inverse")
NO_NUMBER = 1e300
"""The error of what is no number: result files hold none."""
MOST_DENSE = 2000
"""Rows up to which answers are compared with dense algebra."""

Wanted = tuple[Contender, Floats]
"""A contender, and what it is to answer."""


def begin() -> Journal:
    """What a run writes to; dense algebra is kept on one core from here on."""
    journal = Journal()
    if not dense.one_thread():
        journal.note("OpenBLAS was not found in the wheels of NumPy and SciPy: dense algebra may use all cores")
    return journal


# What is right, and how long it takes ----------------------------------------------------------------------


def off(answer: Floats, wanted: Floats) -> float:
    """The largest difference, as a part of the largest number."""
    if not np.isfinite(answer).all():
        return float("inf")
    return float(np.abs(answer - wanted).max() / np.abs(wanted).max())


def spectrum(matrix: Floats) -> Floats:
    """Eigenvalues of a symmetric matrix, of which the upper triangle is given."""
    if not np.isfinite(matrix).all():
        return np.full(len(matrix), np.inf)
    return np.asarray(np.linalg.eigvalsh(matrix, UPLO="U"), dtype=np.float64)


def _right(label: str, candidates: Sequence[Wanted], journal: Journal) -> list[Contender]:
    """Those of ours that are right; a wrong one is a note."""
    found = []
    for c, wanted in candidates:
        error = off(c.answer(), wanted)
        if error < AGREES:
            journal.metrics[f"{label}.{c.name}.error"] = error
            found.append(c)
        else:
            journal.note(f"{label}: {c.name} is off by {error:.1e} of the largest number, and is not timed")
    return found


def _timed(label: str, contenders: Sequence[Contender], settings: Settings, journal: Journal) -> None:
    for c, seconds in zip(contenders, best_times(contenders, settings), strict=True):
        journal.metrics[f"{label}.{c.name}.us"] = 1e6 * seconds
        say(f"  {c.name:<34}{1e6 * seconds:12.3f} µs")


# Table I ---------------------------------------------------------------------------------------------------


def _table(scenario: Table, settings: Settings, journal: Journal) -> None:
    name, bench = scenario.name, Bench(scenario.make())
    robot = bench.robot
    journal.metrics |= {f"{name}.nv": robot.nv, f"{name}.rows": robot.nc}
    journal.metrics[f"{name}.contacts"] = sum(isinstance(c, lw.constraints.Point) for c in robot.constraints)
    journal.metrics |= {f"{name}.memory.{what}": size for what, size in bench.family.memory.items()}
    journal.metrics[f"{name}.memory.matrix"] = 8 * robot.nc**2
    journal.metrics |= {f"{name}.lines.{what}": count for what, count in bench.family.cache_lines(bench.q).items()}
    journal.metrics[f"{name}.lines.matrix"] = -(-8 * robot.nc**2 // LINE)
    journal.metrics |= {f"{name}.passes": bench.passes(DAMPING), f"{name}.stiff.passes": bench.passes(STIFF)}
    ours = [c for quantity in QUANTITIES for c in _first(scenario, bench, quantity, journal)]
    stiff = bench.first("stiff.native", bench.family.inverse, bench.inputs("inverse", STIFF))
    ours += [(stiff, bench.inverse(STIFF)), *bench.further().values()]
    ours += [
        (bound(f"matrix.{m}", _matrix(robot, m), (bench.q,)), bench.matrix)
        for m in scenario.explicit
        if not _refused(name, robot, m, journal)
    ]
    contenders = _right(name, [*ours, *_dense(bench)], journal)
    contenders += _peers(name, bench, journal)
    _timed(name, contenders, settings, journal)


def _first(scenario: Table, bench: Bench, quantity: str, journal: Journal) -> list[Wanted]:
    """First applications: native, and specialized where the program is small enough."""
    name, evaluator, inputs = scenario.name, getattr(bench.family, quantity), bench.inputs(quantity)
    wanted = bench.matrix @ bench.forces if quantity == "product" else bench.inverse()
    native = (bench.first(f"{quantity}.native", evaluator, inputs), wanted)
    if bench.robot.nc > scenario.counted:
        return [native]
    counted = evaluator.operation_count()
    journal.metrics[f"{name}.{quantity}.operations"] = counted.total
    if counted.total > scenario.specialized:
        journal.note(f"{name}: {quantity} is not specialized, it has {counted.total} operations")
        return [native]
    program = evaluator.compile(threads=1)
    fast = bench.first(f"{quantity}.specialized", program, inputs), bench.batch(f"{quantity}.batch", program, inputs)
    return [native, *((c, wanted) for c in fast)]


def _matrix(robot: lw.Mechanism, method: str) -> BaseEvaluator:
    matrix = Delassus(robot, cast(Any, method), threads=1).matrix
    assert isinstance(matrix, BaseEvaluator)
    return matrix


def _refused(name: str, robot: lw.Mechanism, method: str, journal: Journal) -> bool:
    try:
        _matrix(robot, method)
    except lw.errors.UnsupportedFeature as error:
        journal.note(f"{name}: {error}")
        return True
    return False


def _dense(bench: Bench) -> list[Wanted]:
    """The matrix and its factor, once they are there, in NumPy and LAPACK."""
    matrix, f, a = bench.matrix, bench.forces, bench.accelerations
    factor, out = dense.factored(matrix, DAMPING), np.empty(bench.robot.nc)

    def refactor() -> Floats:
        return dense.solve(dense.factored(matrix, NEW), a)

    def product() -> Floats:
        return np.dot(matrix, f, out=out)

    return [
        (contender("dense.product", product, lambda: product().copy()), matrix @ f),
        (contender("dense.plain", lambda: matrix @ f, lambda: matrix @ f), matrix @ f),
        (contender("dense.inverse", lambda: dense.solve(factor, a), lambda: dense.solve(factor, a)), bench.inverse()),
        (contender("dense.damping", refactor, refactor), bench.inverse(NEW)),
    ]


def _peers(label: str, bench: Bench, journal: Journal, everything: bool = True) -> list[Contender]:
    """Pinocchio's routes, or a few of them; how far each is off is kept. Of all, wrong ones are timed as well."""
    try:
        peer = Peer(bench.robot, bench.q, bench.accelerations, DAMPING)
    except Unable as reason:
        journal.note(f"{label}: {reason}")
        return []
    except ImportError:
        journal.note(f"{label}: pinocchio is not installed")
        return []
    rows, values = bench.robot.nc, spectrum(bench.matrix)
    calls: dict[str, tuple[Callable[[], object], float]] = {}
    if peer.rigid:
        delassus, lemma = peer.delassus(), peer.lemma()
        calls["delassus"] = delassus, off(spectrum(delassus()), values)
        if everything:
            damped, soft = peer.damped(), peer.delassus(1 / DAMPING)()
            calls["damped"] = damped, off(spectrum(damped()), 1 / (values[::-1] + DAMPING))
            by_lemma = (np.eye(rows) - soft / DAMPING) / DAMPING
            calls["lemma"] = lemma, off(spectrum(by_lemma), 1 / (values[::-1] + DAMPING))
    cholesky, ready = peer.cholesky(), peer.cholesky()
    matrix = cholesky.matrix()
    full = np.triu(matrix) + np.triu(matrix, 1).T
    wrong = off(spectrum(matrix), values + DAMPING)
    solved = max(wrong, off(full @ cholesky.solve(), bench.accelerations))
    calls["cholesky.matrix"] = cholesky.matrix, wrong
    calls["cholesky.first"] = cholesky.first, solved
    calls["cholesky.inverse"] = ready.solve, solved
    calls["cholesky.damping"] = ready.refactor, solved
    if everything:
        jacobian = peer.jacobian()
        calls["cholesky.calc"] = cholesky.calc, 0.0
        calls["jacobian"] = jacobian, off(spectrum(jacobian()), values)
    found = []
    for name, (call, error) in calls.items():
        journal.metrics[f"{label}.pinocchio.{name}.error"] = min(error, NO_NUMBER)
        if not error < AGREES:
            say(f"  pinocchio.{name} is off by {error:.1e}")
        if everything or error < AGREES:
            found.append(contender(f"pinocchio.{name}", call, lambda: values))
    return found


# Fig. 2: growth --------------------------------------------------------------------------------------------


def _growth(scenario: Growth, settings: Settings, journal: Journal) -> None:
    for size in scenario.sizes:
        robot = scenario.make(size)
        bench, label = Bench(robot), f"{scenario.name}.{size}"
        journal.metrics |= {f"{label}.nv": robot.nv, f"{label}.rows": robot.nc}
        journal.metrics |= {f"{label}.memory.{what}": x for what, x in bench.family.memory.items()}
        contenders = []
        for quantity in QUANTITIES:
            evaluator = getattr(bench.family, quantity)
            if size <= scenario.counted:
                journal.metrics[f"{label}.{quantity}.operations"] = evaluator.operation_count().total
            contenders.append(bench.first(f"{quantity}.native", evaluator, bench.inputs(quantity)))
        if robot.nc <= MOST_DENSE:
            wanted = {"product.native": bench.matrix @ bench.forces, "inverse.native": bench.inverse()}
            contenders = _right(label, [(c, wanted[c.name]) for c in contenders], journal)
        for method in (m for m, most in scenario.explicit.items() if size <= most):
            matrix = _matrix(robot, method)
            journal.metrics[f"{label}.matrix.{method}.operations"] = matrix.operation_count().total
            contenders += _right(label, [(bound(f"matrix.{method}", matrix, (bench.q,)), bench.matrix)], journal)
        if size <= scenario.peers:
            contenders += _peers(label, bench, journal, everything=False)
        say(f"  {size}:")
        _timed(label, contenders, settings, journal)


# lqr Fig. 2: operations ------------------------------------------------------------------------------------


def _operations(scenario: Operations, settings: Settings, journal: Journal) -> None:
    robot, name = scenario.make(), scenario.name
    bench = Bench(robot)
    journal.metrics |= {f"{name}.nv": robot.nv, f"{name}.rows": robot.nc}
    for method in scenario.methods:
        if _refused(name, robot, method, journal):
            continue
        error = _plain_error(bench, method)
        if not error < AGREES:
            journal.note(f"{name}: {method} is off by {error:.1e} of the largest number, and is not counted")
            continue
        found = counts.parts(robot, method)
        journal.metrics |= {f"{name}.{method}.{part}": x for part, x in found.items()}
        journal.metrics[f"{name}.{method}.operations"] = sum(found.values())
        shown = ", ".join(f"{part} {x}" for part, x in found.items())
        say(f"  {method:<14}{sum(found.values()):8d} operations: {shown}")


def _plain_error(bench: Bench, method: str) -> float:
    """How far the text of a method is off, run as it stands: nothing is compiled to be counted."""
    try:
        return off(_matrix(bench.robot, method).plain()(bench.q), bench.matrix)
    except lw.errors.NotFinite:
        return float("inf")


def _stalk(scenario: Stalk, settings: Settings, journal: Journal) -> None:
    for stem in scenario.stems:
        robot, label = zoo.stalk(stem, scenario.branches), f"{scenario.name}.{stem}"
        journal.metrics[f"{label}.rows"] = robot.nc
        for method in scenario.methods:
            journal.metrics[f"{label}.{method}.operations"] = counts.total(robot, method)
        first, second = (journal.metrics[f"{label}.{m}.operations"] for m in scenario.methods)
        say(f"  stem of {stem}: {scenario.methods[0]} / {scenario.methods[1]} = {first / second:.3f}")


# proximal Figs. 6, 7 ---------------------------------------------------------------------------------------


def _extraction(scenario: Extraction, settings: Settings, journal: Journal) -> None:
    robot, name = scenario.make(), scenario.name
    bench = Bench(robot)
    journal.metrics |= {f"{name}.nv": robot.nv, f"{name}.rows": robot.nc}
    damping = np.full(robot.nc, DAMPING)
    made = {
        "matrix": (_matrix(robot, "pv_osim"), (bench.q,), bench.matrix),
        "inverse": (bench.family.inverse_matrix, (bench.q, damping), _inverted(bench.matrix)),
    }
    candidates: list[Wanted] = []
    for what, (evaluator, inputs, wanted) in made.items():
        operations = evaluator.operation_count().total
        journal.metrics[f"{name}.{what}.operations"] = operations
        candidates.append((bound(f"{what}.native", evaluator, inputs), wanted))
        if operations <= scenario.specialized:
            candidates.append((bound(f"{what}.specialized", evaluator.compile(threads=1), inputs), wanted))
    contenders = _right(name, candidates, journal)
    try:
        cholesky = Peer(robot, bench.q, bench.accelerations, DAMPING).cholesky()
    except ImportError:
        journal.note(f"{name}: pinocchio is not installed")
    else:
        journal.metrics[f"{name}.pinocchio.matrix.error"] = off(
            spectrum(cholesky.extract()), spectrum(bench.matrix) + DAMPING
        )
        journal.metrics[f"{name}.pinocchio.inverse.error"] = off(
            spectrum(cholesky.extract_inverse()), spectrum(_inverted(bench.matrix))
        )
        calls = {"factor": cholesky.factor, "matrix": cholesky.extract, "inverse": cholesky.extract_inverse}
        contenders += [contender(f"pinocchio.{what}", call, lambda: damping) for what, call in calls.items()]
    _timed(name, contenders, settings, journal)


def _inverted(matrix: Floats) -> Floats:
    return np.asarray(np.linalg.inv(matrix + DAMPING * np.eye(len(matrix))), dtype=np.float64)


measure = measure_by_type(
    {
        Table: _table,
        Growth: _growth,
        Operations: _operations,
        Stalk: _stalk,
        Extraction: _extraction,
    }
)
"""Measures one scenario; a missing model file is a note."""
