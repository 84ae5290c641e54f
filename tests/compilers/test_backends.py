# SPDX-License-Identifier: BSD-3-Clause
"""One text, three backends: plain, native and specialized give the same numbers, for every quantity and any batch."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import linkwork as lw
from linkwork.kernels.algorithm import resolve
from linkwork.quantities.evaluator import QUANTITIES, Evaluator
from tests.support import backends
from tests.support.backends import CASES, Case, inputs, native, results, specialized, tree
from tests.support.states import assert_close

AGREEMENT = 1e-12
"""Relative to the largest number of a result. Backends differ by where multiplications and additions fuse: 1e-16 an
operation, times the condition number of M (below 1e3 for these small trees)."""

SINGLE = 1e-5
"""The same in float32, which rounds at 6e-8."""

SEEDS = range(4)
BATCHES = [1, 2, 3, 4, 5, 7, 63, 64, 65, 130]
"""Full lanes, remainders, and either side of the 64 states between two looks at the numbers."""

each_case = pytest.mark.parametrize("case", CASES, ids=str)


def compare(found: Evaluator, expected: Evaluator, arguments: list[np.ndarray], rel: float) -> None:
    for ours, theirs in zip(results(found, arguments), results(expected, arguments), strict=True):
        assert_close(ours, theirs, rel)


@pytest.mark.parametrize("seed", SEEDS)
@each_case
def test_native_is_plain(case: Case, seed: int) -> None:
    robot = tree(seed)
    compare(native(case, robot), native(case, robot).plain(), inputs(case, robot, seed, 3), AGREEMENT)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@each_case
def test_specialized_is_native_for_any_batch_in_any_lanes(case: Case, seed: int) -> None:
    robot = tree(seed)
    fast = [specialized(case, robot, lanes) for lanes in (1, 8, 2 if seed % 2 else 4)]
    for arguments in (*(inputs(case, robot, batch, batch) for batch in BATCHES), inputs(case, robot, seed)):
        expected = results(native(case, robot), arguments)
        for evaluator in fast:
            for ours, theirs in zip(results(evaluator, arguments), expected, strict=True):
                assert_close(ours, theirs, AGREEMENT)


@pytest.mark.parametrize("seed", SEEDS)
@each_case
def test_single_precision_is_native_to_its_digits(case: Case, seed: int) -> None:
    robot = tree(seed)
    fast = [specialized(case, robot, lanes, "float32") for lanes in ((1, 16, 8) if seed % 2 else (1, 16))]
    for batch in (1, 3, 16, 19):
        arguments = inputs(case, robot, batch, batch)
        expected = results(native(case, robot), arguments)
        for evaluator in fast:
            for ours, theirs in zip(results(evaluator, arguments), expected, strict=True):
                assert ours.dtype == np.float32
                lost = 6e-8 * np.linalg.cond(theirs).max() if case.quantity == "inverse_mass_matrix" else 0.0
                assert_close(ours, theirs, SINGLE + lost)


def test_the_trees_have_every_joint_type_armature_and_several_roots() -> None:
    joints = [joint for seed in SEEDS for joint in tree(seed).joints]
    assert {type(joint.type) for joint in joints} == {
        *(
            lw.joints.Revolute,
            lw.joints.Prismatic,
            lw.joints.Helical,
            lw.joints.Universal,
            lw.joints.Spherical,
            lw.joints.Planar,
            lw.joints.Free,
        )
    }
    assert any(joint.armature.any() for joint in joints)
    assert any(sum(joint.parent == "world" for joint in tree(seed).joints) > 1 for seed in SEEDS)


# Work memory -----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
@each_case
def test_text_reads_no_memory_that_it_has_not_written(case: Case, seed: int) -> None:
    """Work and outputs start as NaN, which would spread."""
    robot = backends.driven(lw.zoo.random_tree(seed, bodies=5), seed)
    algorithm = QUANTITIES[case.quantity]
    frames = backends.FRAMES if "nf" in str({**algorithm.inputs, **algorithm.outputs}) else ()
    data = Evaluator(robot, case.quantity, frames, case.reference).program.tree
    work = algorithm.work_type(*(np.full(resolve(shape, data), np.nan) for shape in algorithm.work.values()))
    outputs = [np.full(resolve(shape, data), np.nan) for shape in algorithm.outputs.values()]
    algorithm.text(data, work, *inputs(case, robot, seed), *outputs)
    assert all(np.isfinite(y).all() for y in outputs)


@pytest.mark.parametrize("backend", ["native", "specialized"])
@each_case
def test_a_result_does_not_depend_on_the_calls_before(case: Case, backend: str) -> None:
    robot = tree(1)
    evaluator = native(case, robot) if backend == "native" else specialized(case, robot)
    arguments = inputs(case, robot, 1)
    first = results(evaluator, arguments)
    results(evaluator, [1e3 * x for x in inputs(case, robot, 2)])
    for before, after in zip(first, results(evaluator, arguments), strict=True):
        np.testing.assert_array_equal(before, after)


# Leading axes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["plain", "native", "specialized"])
@each_case
def test_leading_axes_broadcast_as_in_numpy(case: Case, backend: str) -> None:
    """The first argument (3, 1), the last (4,), others none; each state is that of its own numbers."""
    robot = tree(3)
    evaluator = {"plain": native(case, robot).plain(), "native": native(case, robot), "specialized": None}[backend]
    evaluator = evaluator or specialized(case, robot)
    arguments = inputs(case, robot, 5)
    arguments[-1] = inputs(case, robot, 6, 4)[-1]
    arguments[0] = inputs(case, robot, 7, 3, 1)[0]
    lead = np.broadcast_shapes((3, 1), (4,)) if len(arguments) > 1 else (3, 1)
    found = results(evaluator, arguments)
    for i in range(lead[0]):
        for j in range(lead[1]):
            row = [arguments[0][i, 0], *arguments[1:-1], *([arguments[-1][j]] if len(arguments) > 1 else [])]
            for batch, single in zip(found, results(native(case, robot), row), strict=True):
                assert batch.shape[:2] == lead
                assert_close(batch[i, j], single, AGREEMENT)


@pytest.mark.parametrize("lead", [(0,), (2, 0), (0, 3)])
@pytest.mark.parametrize("backend", ["plain", "native", "specialized"])
def test_a_batch_of_nothing_gives_nothing(backend: str, lead: tuple[int, ...]) -> None:
    robot, case = tree(1), Case("forward_dynamics")
    evaluator = {"plain": native(case, robot).plain(), "native": native(case, robot)}.get(backend)
    evaluator = evaluator or specialized(case, robot)
    assert results(evaluator, inputs(case, robot, 0, *lead))[0].shape == (*lead, robot.nv)


@pytest.mark.parametrize("backend", ["plain", "native", "specialized"])
@pytest.mark.parametrize("case", [case for case in CASES if not case.quantity.startswith(("cent", "terms"))], ids=str)
def test_a_mechanism_without_joints_has_empty_dynamics(case: Case, backend: str) -> None:
    """All but a center of mass, which `terms` have, too."""
    robot = lw.Builder("nothing").build()
    frames = ("world",) if case.quantity.startswith(("frame", "point")) else ()
    evaluator = Evaluator(robot, case.quantity, frames, case.reference)
    evaluator = {"plain": evaluator.plain, "native": lambda: evaluator, "specialized": evaluator.compile}[backend]()
    shapes = {name: shape for name, shape in QUANTITIES[case.quantity].inputs.items() if name != "wrenches"}
    sizes = {"nf": len(frames)}
    arguments = [np.zeros([n if isinstance(n, int) else sizes.get(n, 0) for n in shape]) for shape in shapes.values()]
    assert all(np.isfinite(y).all() for y in results(evaluator, arguments))


# Threads -----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["native", "specialized"])
@each_case
def test_results_do_not_depend_on_the_number_of_threads(case: Case, backend: str) -> None:
    """Bit for bit; 2100 states make four shares of more than 512, none a multiple of the lanes."""
    robot = tree(2)
    arguments = inputs(case, robot, 0, 2101)

    def made(threads: int) -> Evaluator:
        return native(case, robot, threads) if backend == "native" else specialized(case, robot, threads=threads)

    expected = results(made(1), arguments)
    for threads in (2, 3, 8):
        for ours, theirs in zip(results(made(threads), arguments), expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.slow
@pytest.mark.parametrize("batch", [(), (5,), (100,), (1200,)], ids=str)
@pytest.mark.parametrize("backend", ["native", "specialized"])
def test_one_evaluator_serves_several_python_threads(backend: str, batch: tuple[int, ...]) -> None:
    robot, case = tree(1), Case("forward_dynamics")
    evaluator = native(case, robot, 2) if backend == "native" else specialized(case, robot, threads=2)
    jobs = [inputs(case, robot, seed, *batch) for seed in range(16)]
    expected = [results(evaluator, job)[0] for job in jobs]

    def work(k: int) -> bool:
        return all(np.array_equal(results(evaluator, jobs[j % 16])[0], expected[j % 16]) for j in range(k, k + 40))

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, range(12)))
