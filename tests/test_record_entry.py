# SPDX-License-Identifier: BSD-3-Clause
"""Entry points that make their results: records of new arrays that nobody else holds."""

from __future__ import annotations

import gc
import pickle
import sys
import tracemalloc
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.dynamics.derivatives import ForwardDerivatives, ForwardJacobians, InverseDerivatives


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
                with pytest.raises(lw.InputError, match="v holds NaN"):
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
    with pytest.raises(lw.InputError, match="q has 3 numbers"):
        derivatives(np.zeros(3), state[1], state[2])
    with pytest.raises(lw.NotFinite):
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
