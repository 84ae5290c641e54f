# SPDX-License-Identifier: BSD-3-Clause
"""The dense reduced matrix of a warp, its factor and its products, as plain text beside NumPy."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from linkwork.kernels.contact.reduced import dense, dense_factor, step
from linkwork.kernels.contact.reduced.problem import CONE, CONES
from linkwork.plans.contact_reduced import reduced_tree

DIMS = (3, 1, 6, 3)
"""Rows of contacts; the second one is open."""
BOXES = ((0, 1.0), (0, -1.0), (2, 1.0))
"""Joints of limits and dry friction, and their signs; the second is not in the problem."""


def problem(nv: int) -> tuple[Any, Any, Any]:
    """A tree, work arrays, and ``M, A, G`` of contacts and joints as NumPy has them."""
    rng = np.random.default_rng(nv)
    padded = -4 * (-nv // 4)
    stride = padded + 4 * (1 - padded // 4 % 2)
    joints = [(min(k, nv - 1), sign) for k, sign in BOXES]
    ends = np.cumsum(DIMS)
    contacts, rows = int(ends[-1]), int(ends[-1]) + len(joints)
    M = rng.normal(size=(nv, nv))
    M = M @ M.T + nv * np.eye(nv)
    A = np.zeros((rows, stride))
    A[:contacts, :nv] = rng.normal(size=(contacts, nv))
    of = [[b for b, (k, _) in enumerate(joints) if k == dof] for dof in range(nv)]
    tree = SimpleNamespace(
        nv=nv,
        npadded=padded,
        nstride=stride,
        nboxes=len(joints),
        njoint_boxes=len(joints),
        box_v=[k for k, _ in joints],
        box_sign=[sign for _, sign in joints],
        dof_box=[b for x in of for b in x],
        dof_boxes=[len(x) for x in of],
        dof_box_start=np.cumsum([0, *(len(x) for x in of)])[:-1],
    )
    listed = [b for b in range(len(joints)) if b != 1]
    sets = len(DIMS) + len(listed)
    G = np.zeros((rows, 6))
    for row, dim in zip(ends - DIMS, DIMS, strict=True):
        G[row : row + dim, :dim] = 0.1 * rng.normal(size=(dim, dim)) + 3 * np.eye(dim)
    G[3] = 0.0
    G[contacts:, 0] = 2.0 + rng.random(len(joints))
    dense_M = np.zeros((padded, stride))
    dense_M[:nv, :nv] = M
    dense_M[range(nv, padded), range(nv, padded)] = 1.0
    w = SimpleNamespace(
        counts=np.eye(1, 11, CONES, dtype=int)[0] * sets,
        cone_kind=[CONE] * sets,
        cone_dim=[*DIMS, *(1 for _ in listed)],
        cone_row=[*(ends - DIMS), *(contacts + b for b in listed)],
        cone_box=[-1] * len(DIMS) + listed,
        cone_D=np.ones(sets),
        cone_G=G,
        A=A,
        M_dense=dense_M.ravel(),
        dense_counts=[0, 0, 0],
    )
    for name, size in (
        ("wide", sets),
        ("bears", sets),
        ("wide_row", rows),
        ("bearing", rows),
        ("box_row", len(joints)),
    ):
        setattr(w, name, [0] * size)
    for name, size in (("H_dense", padded * stride), ("D_dense", 4 * padded), ("B_dense", rows * stride)):
        setattr(w, name, rng.normal(size=size))  # what was there before
    w.x_dense, w.x_solved = rng.normal(size=(2, stride))
    full = A[:, :nv].copy()
    for b, (k, sign) in enumerate(joints):
        full[contacts + b, k] = sign if b != 1 else 0.0
    block = np.zeros((rows, rows))
    for row, dim in [*zip(ends - DIMS, DIMS, strict=True), *((contacts + b, 1) for b in range(len(joints)))]:
        block[row : row + dim, row : row + dim] = G[row : row + dim, :dim]
    return tree, w, (M, full, block)


SIZES = (1, 4, 6, 27, 35)


@pytest.mark.parametrize("nv", SIZES)
def test_the_factor_solves_with_the_reduced_matrix(nv: int) -> None:
    """Contacts of several dimensions, an open one, limits and dry friction; ``G`` is not symmetric."""
    tree, w, (M, A, G) = problem(nv)
    b = np.random.default_rng(0).normal(size=nv)
    x = b.copy()
    dense.list_dense_rows(tree, w)
    dense_factor.factorize_dense(tree, w)
    dense_factor.solve_dense(tree, w, x)
    np.testing.assert_allclose(x, np.linalg.solve(M + A.T @ G @ A, b), rtol=1e-11, atol=1e-12)
    again = b.copy()
    dense_factor.solve_dense(tree, w, again)
    assert np.array_equal(x, again)


@pytest.mark.parametrize("nv", SIZES)
def test_products_are_those_of_all_rows(nv: int) -> None:
    tree, w, (M, A, _) = problem(nv)
    rng = np.random.default_rng(1)
    v, z, x = rng.normal(size=nv), rng.normal(size=len(A)), rng.normal(size=nv)
    dense.list_dense_rows(tree, w)
    y, Mv, sums = np.zeros(len(A)), np.zeros(nv), x.copy()
    dense.dense_rows_times(tree, w, v, y)
    dense.dense_mass_times(tree, w, v, Mv)
    dense.add_dense_rows_transposed(tree, w, z, sums)
    np.testing.assert_allclose(y, A @ v, rtol=0, atol=1e-12)
    np.testing.assert_allclose(Mv, M @ v, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(sums, x + A.T @ z, rtol=0, atol=1e-12)


def test_rows_of_dense_matrices_begin_in_other_banks() -> None:
    """An odd multiple of four numbers apart: eight lanes that load four numbers of a row each have all 32 banks."""
    for nv in range(1, 65):
        padded = -4 * (-nv // 4)
        stride = padded + 4 * (1 - padded // 4 % 2)
        assert sorted({lane * stride % 32 for lane in range(8)}) == list(range(0, 32, 4))
    assert "padded + 4 * (1 - padded // 4 % 2)" in inspect.getsource(reduced_tree)


def test_a_robot_that_is_lost_waits_as_often_as_others() -> None:
    """Robots of a block wait for each other at the end of each stage: all come by as often."""
    calls = [inspect.getsource(text).count(" stage()") for text in (step.setup_reduced, step.reduced_step)]
    assert sum(calls) == step.STAGES
