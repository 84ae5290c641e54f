# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives agree with Pinocchio's, on real robots and random trees.

Not on trees with universal joints: Pinocchio 4.1 leaves out that the motion subspace of such a joint depends on its
angles, in `computeRNEADerivatives` and in what is made of it (finite differences of its own `rnea` tell). Coriolis
matrices, and rates of Jacobians and of momentum matrices: tests/quantities/test_quantities_peers.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from tests.support import twins
from tests.support.states import Floats, State, assert_close, random_state
from tests.support.twins import Twin

pin = pytest.importorskip("pinocchio")

AGREEMENT = 1e-10
"""Relative to the largest number of a result, both sides rounding at 1e-16 times the condition number of M."""


NAMES = ("ur5", "go2", "simple_humanoid", "talos", *(f"random tree {seed}" for seed in (0, 4, 5, 7, 10, 11)))


def twin_of(name: str) -> Twin:
    return twins.of_random_tree(int(name.split()[-1])) if name.startswith("random") else twins.of_robot(name)


def matrix(twin: Twin, x: Floats) -> Floats:
    return np.array(x)[np.ix_(twin.perm, twin.perm)]


def state(name: str) -> tuple[Twin, State, Floats, Floats]:
    twin = twin_of(name)
    s = random_state(twin.robot, 2)
    return twin, s, twin._q(s), twin._there(s.v)


@pytest.mark.parametrize("name", NAMES)
def test_jacobians_agree(name: str) -> None:
    twin, s, q, v = state(name)
    dq, dv, M = pin.computeRNEADerivatives(twin.model, twin.data, q, v, twin._there(s.a))
    found = lw.InverseDynamics(twin.robot, "rnea", passive=False).derivatives(s.q, s.v, s.a)
    assert_close(found.dtau_dq, matrix(twin, dq), AGREEMENT)
    assert_close(found.dtau_dv, matrix(twin, dv), AGREEMENT)
    assert_close(found.dtau_da, matrix(twin, np.triu(M) + np.triu(M, 1).T), AGREEMENT)
    da_dq, da_dv, inverse = pin.computeABADerivatives(twin.model, twin.data, q, v, twin._there(s.tau))
    forward = lw.ForwardDynamics(twin.robot, "aba").derivatives(s.q, s.v, s.tau)
    assert_close(forward.da_dq, matrix(twin, da_dq), 10 * AGREEMENT)
    assert_close(forward.da_dv, matrix(twin, da_dv), 10 * AGREEMENT)
    assert_close(forward.da_dtau, matrix(twin, inverse), 10 * AGREEMENT)


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("random")])
def test_regressors_agree(name: str) -> None:
    """Of mechanisms that have one body a joint, in the same order; bodies of files are joined by fixed joints."""
    twin, s, q, v = state(name)
    theirs = pin.computeJointTorqueRegressor(twin.model, twin.data, q, v, twin._there(s.a))
    assert_close(lw.InverseDynamics(twin.robot).regressor(s.q, s.v, s.a), np.array(theirs)[twin.perm], AGREEMENT)
