# SPDX-License-Identifier: BSD-3-Clause
"""How results come back: `out=`, `bind` for control loops, and what both do with arrays that do not fit."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

import linkwork as lw
from linkwork.quantities.evaluator import Evaluator
from tests.support.backends import CASES, Case, inputs, native, results, specialized, tree
from tests.support.states import random_state

FORWARD = Case("forward_dynamics")
BACKENDS: dict[str, Callable[[Case], Evaluator]] = {
    "plain": lambda case: native(case, tree(1)).plain(),
    "native": lambda case: native(case, tree(1)),
    "specialized": lambda case: specialized(case, tree(1)),
}
COMPILED = ["native", "specialized"]

each_case = pytest.mark.parametrize("case", CASES, ids=str)
each_backend = pytest.mark.parametrize("backend", BACKENDS)
each_batch = pytest.mark.parametrize("batch", [(), (1,), (2,), (9,), (70,)], ids=str)


def targets(case: Case, expected: list[np.ndarray], fill: float = np.nan) -> tuple[list[np.ndarray], object]:
    """Arrays for results, and how ``out`` takes them."""
    arrays = [np.full_like(y, fill) for y in expected]
    return arrays, arrays[0] if len(arrays) == 1 else arrays


# out= ------------------------------------------------------------------------------------------------


@pytest.mark.slow
@each_batch
@each_backend
@each_case
def test_out_receives_the_result(case: Case, backend: str, batch: tuple[int, ...]) -> None:
    evaluator = BACKENDS[backend](case)
    arguments = inputs(case, tree(1), 3, *batch)
    expected = results(evaluator, arguments)
    arrays, out = targets(case, expected)
    found = evaluator(*arguments, out=out)
    found = getattr(found, "acceleration", found)
    for array, given, true in zip(arrays, found if len(arrays) > 1 else [found], expected, strict=True):
        assert given is array
        np.testing.assert_array_equal(array, true)


@each_backend
def test_out_may_be_any_array_of_its_shape_and_type(backend: str) -> None:
    evaluator, arguments = BACKENDS[backend](FORWARD), inputs(FORWARD, tree(1), 3, 6)
    expected = results(evaluator, arguments)[0]
    n = tree(1).nv
    for out in (
        np.empty((6, n), order="F"),
        np.empty((12, n))[::2],
        np.empty((6, n))[::-1],
        np.empty((6, 2 * n))[:, ::2],
        np.frombuffer(bytearray(6 * n * 8 + 1), dtype=np.uint8)[1:].view(np.float64).reshape(6, n),
    ):
        evaluator(*arguments, out=out)
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("which", [1, 2])
@each_backend
def test_out_may_be_one_of_the_inputs(backend: str, which: int) -> None:
    for batch in ((), (5,)):
        evaluator, arguments = BACKENDS[backend](FORWARD), inputs(FORWARD, tree(1), 3, *batch)
        expected = results(evaluator, arguments)[0]
        evaluator(*arguments, out=arguments[which])
        np.testing.assert_array_equal(arguments[which], expected)


@each_backend
def test_out_may_be_a_subclass_of_arrays(backend: str, tmp_path: object) -> None:
    evaluator, arguments = BACKENDS[backend](FORWARD), inputs(FORWARD, tree(1), 3, 6)
    out = np.memmap(f"{tmp_path}/out", dtype=np.float64, mode="w+", shape=(6, tree(1).nv))
    evaluator(*arguments, out=out)
    np.testing.assert_array_equal(out, results(evaluator, arguments)[0])


@each_backend
def test_outs_that_share_memory_are_an_error(backend: str) -> None:
    evaluator = BACKENDS[backend](Case("energy"))
    both = np.zeros(1)
    with pytest.raises(lw.errors.InputError, match="shares memory"):
        evaluator(*inputs(Case("energy"), tree(1), 3), out=(both, both))


# bind ------------------------------------------------------------------------------------------------


@each_batch
@each_backend
@each_case
def test_a_bound_call_gives_the_same_numbers(case: Case, backend: str, batch: tuple[int, ...]) -> None:
    evaluator = BACKENDS[backend](case)
    arguments = inputs(case, tree(1), 3, *batch)
    arrays, out = targets(case, results(evaluator, arguments))
    evaluator.bind(*arguments, out=out)()
    for array, true in zip(arrays, results(evaluator, arguments), strict=True):
        if batch == (1,):  # bound in lanes, called in scalar code: products and sums may fuse differently
            np.testing.assert_allclose(array, true, rtol=1e-14, atol=1e-15)
        else:
            np.testing.assert_array_equal(array, true)


@each_backend
def test_a_bound_call_sees_what_its_arrays_hold_now(backend: str) -> None:
    evaluator, arguments = BACKENDS[backend](FORWARD), [np.array(x) for x in inputs(FORWARD, tree(1), 3)]
    out = np.empty(tree(1).nv)
    step = evaluator.bind(*arguments, out=out)
    for seed in range(5):
        for array, new in zip(arguments, inputs(FORWARD, tree(1), seed), strict=True):
            array[...] = new
        step()
        np.testing.assert_array_equal(out, results(evaluator, arguments)[0])


@pytest.mark.parametrize("batch", [(), (70,)], ids=str)
@pytest.mark.parametrize("backend", COMPILED)
@each_case
def test_a_bound_call_allocates_nothing(case: Case, backend: str, batch: tuple[int, ...]) -> None:
    evaluator = BACKENDS[backend](case)
    arguments = inputs(case, tree(1), 3, *batch)
    _, out = targets(case, results(evaluator, arguments))
    step = evaluator.bind(*arguments, out=out)  # type: ignore[arg-type]
    step()
    # Asking for the traced memory makes a tuple and two numbers, some 150 bytes; an array is more than that. Other
    # threads of the process may allocate meanwhile, of which one attempt in five at least is free.
    assert any(kept < 200 and most < 400 for kept, most in (memory_of_calls(step) for _ in range(5)))


def memory_of_calls(step: Callable[[], object]) -> tuple[int, int]:
    """Bytes that a thousand calls keep, and the most that they have in between."""
    tracemalloc.start()
    try:
        for _ in itertools.repeat(None, 3):
            step()
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        for _ in itertools.repeat(None, 1000):
            step()
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return after - before, peak - before


@each_backend
def test_a_bound_call_checks_numbers_every_time(backend: str) -> None:
    evaluator, arguments = BACKENDS[backend](FORWARD), inputs(FORWARD, tree(1), 3)
    step = evaluator.bind(*arguments, out=np.empty(tree(1).nv))
    arguments[1][2] = np.nan
    with pytest.raises(lw.errors.InputError, match="v holds NaN at index 2"):
        step()
    arguments[1][2] = 0.0
    step()


@each_backend
@pytest.mark.parametrize(
    "spoil",
    [
        lambda q, v, tau, out: ([*q], v, tau, out),
        lambda q, v, tau, out: (q, v.astype(np.float32), tau, out),
        lambda q, v, tau, out: (q, v[:-1], tau, out),
        lambda q, v, tau, out: (q, np.repeat(v, 2)[::2], tau, out),
        lambda q, v, tau, out: (q, v, tau, tau),
        lambda q, v, tau, out: (q, v, tau, None),
        lambda q, v, tau, out: (q, v, tau, out[:-1]),
        lambda q, v, tau, out: (q, v, tau, np.empty((2, len(out)))),
        lambda q, v, tau, out: (np.tile(q, (2, 1)), v, tau, out),
        lambda q, v, tau, out: (np.tile(q, (2, 1)), np.tile(v, (3, 1)), tau, np.empty((2, len(out)))),
        lambda q, v, tau, out: (q, v, None, out),
    ],
    ids=[
        *("list", "float32", "short", "strided", "overlap", "no out", "short out", "batched out", "batched q"),
        *("two batches", "none"),
    ],
)
def test_bind_refuses_arrays_that_it_would_have_to_copy(backend: str, spoil: Callable[..., tuple]) -> None:
    robot = tree(1)
    fd = lw.ForwardDynamics(robot)
    fd = {"plain": fd.plain, "native": lambda: fd, "specialized": fd.compile}[backend]()
    s = random_state(robot, 0)
    q, v, tau, out = spoil(s.q, s.v, s.tau, np.empty(robot.nv))
    with pytest.raises(lw.errors.InputError):
        fd.bind(q, v, tau, out=out)


# Threads ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [lw.ForwardDynamics, lw.InverseDynamics], ids=lambda kind: kind.__name__)
def test_a_compiled_evaluator_has_the_threads_of_its_own(make: type[Evaluator]) -> None:
    native = make(tree(1), threads=3)
    assert [e.runner.threads for e in (native, native.compile(), native.compile(threads=1))] == [3, 3, 1]
    assert native.compile(threads=2).compile(dtype="float32").runner.threads == 2
    assert native.runner.threads == 3
    every = make(tree(1))
    assert every.compile().runner.threads == every.runner.threads


# First use -----------------------------------------------------------------------------------------------------------


def test_making_an_evaluator_computes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Operations are counted, clusters and scales are computed at first use."""
    robot = lw.zoo.four_bar()
    with monkeypatch.context() as patch:
        for name in ("methods.method_cost", "methods.clustered", "iterations.scales_of", "inverse.clustered"):
            patch.setattr(f"linkwork.dynamics.{name}", lambda *args: pytest.fail("computed when it was made"))
        made = [lw.ForwardDynamics(robot, method) for method in ("auto", "cluster", "lcaba", "kkt")]
        inverse, impact = lw.InverseDynamics(robot), lw.ImpactDynamics(robot)
        inertia = lw.OperationalInertia(robot, robot.body_names[-1])
    q, zero = robot.poses["assembled"], np.zeros(robot.nv)
    a = [fd(q, zero, zero).acceleration for fd in made]
    np.testing.assert_allclose(a, np.broadcast_to(a[-1], np.shape(a)), atol=1e-8 * np.abs(a[-1]).max())
    assert made[0].method == lw.methods.best_method(robot)
    tau = inverse(q, zero, a[-1])
    np.testing.assert_allclose(tau, 0.0, atol=1e-9)
    assert impact(q, zero).converged and inertia(q).shape == (6, 6)


def test_a_copy_on_another_backend_shares_the_program() -> None:
    fd = lw.ForwardDynamics(lw.zoo.four_bar())
    program = fd.program
    assert fd.native("float32").program is program and fd.plain().program is program
    assert (fd.backend, fd.plain().backend) == ("native", "plain")
