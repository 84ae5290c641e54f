# SPDX-License-Identifier: BSD-3-Clause
"""Entry points that make their results: records of new arrays that nobody else holds."""

from __future__ import annotations

import gc
import pickle
import pydoc
import sys
import tracemalloc
import weakref
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.dynamics.jacobians.trees import ForwardDerivatives, ForwardJacobians, InverseDerivatives


@pytest.fixture(scope="module")
def state() -> tuple[Any, ...]:
    return tuple(np.random.default_rng(1).normal(size=(3, 2)))


@pytest.fixture(scope="module")
def derivatives(state: tuple[Any, ...]) -> ForwardDerivatives:
    made = ForwardDerivatives(lw.zoo.pendulum(2), threads=1)
    made(*state)
    return made


def test_results_are_new_arrays_of_their_own(derivatives: ForwardDerivatives, state: tuple[Any, ...]) -> None:
    one, other = derivatives(*state), derivatives(*state)
    assert type(one) is ForwardJacobians
    assert one.da_dq.shape == (2, 2) and one.a.shape == (2,)
    for x, y in zip(one, other, strict=True):
        assert x.flags.owndata and x.flags.writeable and x.dtype == np.float64
        assert not np.shares_memory(x, y)
        np.testing.assert_array_equal(x, y)
    x = one[0]
    references = sys.getrefcount(x)  # the record's, that of x, and the argument's
    assert references == 3
    assert gc.is_tracked(one)
    assert pickle.loads(pickle.dumps(one)).a.tolist() == one.a.tolist()


def test_nothing_is_left_behind(derivatives: ForwardDerivatives, state: tuple[Any, ...]) -> None:
    bad = (state[0], np.full(2, np.nan), state[2])
    tracemalloc.start()
    try:
        before = 0
        for rounds in (100, 1000):
            for _ in range(rounds):
                derivatives(*state)
                with pytest.raises(lw.errors.InputError, match="v holds NaN"):
                    derivatives(*bad)
            gc.collect()
            size = tracemalloc.get_traced_memory()[0]
            assert rounds == 100 or size - before < 10_000
            before = size
    finally:
        tracemalloc.stop()


def test_other_arguments_take_the_general_path(derivatives: ForwardDerivatives, state: tuple[Any, ...]) -> None:
    expected = derivatives(*state)
    for arguments in (tuple(x.tolist() for x in state), tuple(np.stack([x, x])[:, ::1][0] for x in state)):
        np.testing.assert_allclose(derivatives(*arguments).da_dq, expected.da_dq, rtol=1e-14)
    assert derivatives(*(np.stack([x, x]) for x in state)).da_dq.shape == (2, 2, 2)
    with pytest.raises(lw.errors.InputError, match="q has 3 numbers"):
        derivatives(np.zeros(3), state[1], state[2])
    with pytest.raises(lw.errors.NotFinite):
        derivatives(state[0], np.array([1e200, 1e200]), state[2])


def test_copies_make_their_own_entry_points(derivatives: ForwardDerivatives, state: tuple[Any, ...]) -> None:
    expected = derivatives(*state)
    for other in (derivatives.plain(), derivatives.native(), pickle.loads(pickle.dumps(derivatives))):
        for _ in range(2):
            np.testing.assert_allclose(other(*state).da_dv, expected.da_dv, rtol=1e-12)
    single = derivatives.native("float32")
    assert single(*(x.astype(np.float32) for x in state)).a.dtype == np.float32


def test_parameters_are_inputs_of_records(state: tuple[Any, ...]) -> None:
    inverse = InverseDerivatives(lw.zoo.pendulum(2), parameters=["mass"], threads=1)
    mass = np.asarray(inverse.parameters["mass"])
    plain = inverse.plain()
    for values in ({}, {"mass": 2.0 * mass}, {}):
        np.testing.assert_allclose(inverse(*state, **values).dtau_da, plain(*state, **values).dtau_da, rtol=1e-12)


# Calls of quantities --------------------------------------------------------------------------------------


def bias(frames: tuple[str, ...] = (), **options: Any) -> lw.Evaluator:
    return lw.Evaluator(lw.zoo.pendulum(2), "bias_forces", frames, threads=1, **options)


def test_wrenches_are_left_out_or_given_from_the_first_call_on(state: tuple[Any, ...]) -> None:
    q, v, _ = state
    frames = lw.zoo.pendulum(2).body_names
    push = np.random.default_rng(2).normal(size=(2, 6))
    plain = bias(frames).plain()
    still, pushed = plain(q, v, np.zeros((2, 6))), plain(q, v, push)
    for calls in ([(), (push,), ()], [(push,), (), (push,)], [(None,), (), (push,)]):
        evaluator = bias(frames)
        for rest in calls:
            expected = pushed if rest and rest[0] is not None else still
            for _ in range(2):
                np.testing.assert_allclose(evaluator(q, v, *rest), expected, rtol=1e-13, atol=1e-13)
        assert not evaluator.execution.held["wrenches"].any()
        many = evaluator(np.stack([q, q]), v)
        np.testing.assert_allclose(many, [still, still], rtol=1e-13, atol=1e-13)


def test_parameters_are_those_of_the_evaluator_or_given_by_name(state: tuple[Any, ...]) -> None:
    q, v, _ = state
    evaluator, double = bias(parameters=["mass"]), None
    for _ in range(2):
        own = evaluator(q, v)
        np.testing.assert_allclose(own, bias()(q, v), rtol=1e-13)
        double = evaluator(q, v, mass=2.0 * np.asarray(evaluator.parameters["mass"]))
        assert np.abs(double - own).max() > 0.1
    held = evaluator.with_parameters(mass=2.0 * np.asarray(evaluator.parameters["mass"]))
    for _ in range(2):
        np.testing.assert_allclose(held(q, v), double, rtol=1e-13)
    mass = np.asarray(evaluator.parameters["mass"])
    with pytest.raises(lw.errors.InputError, match="takes q, v, wrenches; 4 arguments were given"):
        evaluator(q, v, np.zeros((0, 6)), mass)


def test_calls_that_do_not_fit_are_explained_after_ones_that_did(state: tuple[Any, ...]) -> None:
    q, v, _ = state
    evaluator = bias()
    expected = evaluator(q, v)
    assert callable(evaluator) and "Evaluate" in pydoc.render_doc(evaluator)
    for _ in range(2):
        with pytest.raises(lw.errors.InputError, match="takes q, v, wrenches; 1 argument was given"):
            evaluator(q)
        with pytest.raises(lw.errors.InputError, match="q has 3 numbers"):
            evaluator(np.zeros(3), v)
        with pytest.raises(lw.errors.InputError, match="v holds NaN"):
            evaluator(q, np.array([0.0, np.nan]))
        with pytest.raises(lw.errors.InputError, match="there is no argument 'size'"):
            evaluator(q, v, size=3)
        out = np.empty(2)
        assert evaluator(q, v, out=out) is out and evaluator(q, v, out=None) is not out
        np.testing.assert_array_equal(out, expected)
        np.testing.assert_array_equal(evaluator(q.tolist(), v), expected)
        assert evaluator(q.astype(np.float32), v.astype(np.float32)).dtype == np.float32


def test_several_results_are_a_tuple_of_new_arrays(state: tuple[Any, ...]) -> None:
    q, v, _ = state
    energy = lw.Evaluator(lw.zoo.pendulum(2), "energy", threads=1)
    one, other = energy(q, v), energy(q, v)
    assert type(one) is type(other) is tuple and gc.is_tracked(one)
    assert not any(np.shares_memory(x, y) for x in one for y in other)
    copy = pickle.loads(pickle.dumps(energy))
    np.testing.assert_array_equal(copy(q, v), energy(q, v))


def test_an_evaluator_is_given_back_with_its_machine_code(state: tuple[Any, ...]) -> None:
    q, v, _ = state
    evaluator = bias()
    evaluator(q, v)
    known = weakref.ref(evaluator)
    del evaluator
    gc.collect()
    assert known() is None
