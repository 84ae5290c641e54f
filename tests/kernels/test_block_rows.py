# SPDX-License-Identifier: BSD-3-Clause
"""Rows of six numbers: 6 x 6 blocks by rows do what matrices do, in every backend."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import block_diag

import linkwork as lw
from linkwork.compilers.lanes import Type
from linkwork.kernels import block_rows
from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.block_rows import row, row_plus, row_plus_scaled, scaled_row, set_row
from linkwork.kernels.scalar import Array, kernel
from linkwork.model.arrays import Floats
from linkwork.plans.tree import tree_of
from tests.support.kernel_backends import SCALAR, Run, compiled, plain, specialized

TREE = tree_of(lw.zoo.pendulum(1))
BACKENDS: dict[str, Any] = {
    "plain": lambda a: plain(a, TREE),
    "native": lambda a: compiled(a, TREE),
    "native, float32": lambda a: compiled(a, TREE, Type("float32", 1)),
    "lanes": lambda a: compiled(a, TREE, Type("float64", 4)),
    "specialized": lambda a: specialized(a, TREE, SCALAR),
}


@kernel
def blocks(tree: Array, w: Array, C: Array, R: Array, r: Array, L: Array, y: Array) -> None:
    """A block in other axes and about another point; rotated about z; without an outer product; solved with a factor;
    the sum of both; and rows one by one."""
    block_rows.rotate_rows(R, C, y[0])
    block_rows.rotate_rows(R, y[0], y[0])  # in place
    block_rows.shift_rows(r, y[0])
    block_rows.rotate_rows_about_z(r[0], r[1], C, y[1])
    block_rows.copy_block(C, y[2])
    block_rows.subtract_product(r, row(C, 3), y[2])
    block_rows.copy_block(C, y[3])
    block_rows.solve_ldl_rows(4, L, y[3])
    block_rows.clear_block(y[4])
    block_rows.add_block(y[1], y[4])
    block_rows.add_block(y[2], y[4])
    for j in range(5):
        set_row(row_plus(row(C, j), row_plus_scaled(scaled_row(2.0, row(C, 5)), r[j], row(C, 0))), y[5], j)
    set_row(block_rows.NO_ROW, y[5], 5)


BLOCKS = Algorithm("blocks", blocks, {"C": (6, 6), "R": (3, 3), "r": (6,), "L": (6, 6)}, {"y": (6, 6, 6)}, {})


@pytest.mark.parametrize("name", BACKENDS)
def test_blocks_by_rows_are_matrices(name: str) -> None:
    run: Run = BACKENDS[name](BLOCKS)
    rng = np.random.default_rng(1)
    C, r = rng.normal(size=(5, 6, 6)), rng.normal(size=(5, 6))
    R = np.linalg.qr(rng.normal(size=(5, 3, 3)))[0]
    unit, diagonal = np.tril(0.3 * rng.normal(size=(5, 6, 6)), -1), rng.uniform(1.0, 2.0, (5, 6))
    (y,) = run(C, R, r, unit + np.eye(6) / diagonal[:, None])
    for k in range(5):
        expected = _expected(C[k], R[k], r[k], (unit[k] + np.eye(6))[:4, :4], np.diag(diagonal[k, :4]))
        np.testing.assert_allclose(y[k], expected, rtol=0, atol=1e-4 if "float32" in name else 1e-12)


def _expected(C: Floats, R: Floats, r: Floats, lower: Floats, diagonal: Floats) -> Floats:
    """The outputs of `blocks` by products of matrices."""
    x, y, z = r[:3]
    shift = np.eye(6)
    shift[:3, 3:] = [[0, -z, y], [z, 0, -x], [-y, x, 0]]
    about_z = np.array([[x, -y, 0], [y, x, 0], [0, 0, 1]])
    result = np.zeros((6, 6, 6))
    result[0] = shift @ block_diag(R @ R, R @ R) @ C
    result[1] = block_diag(about_z, about_z) @ C
    result[2] = C - np.outer(r, C[3])
    result[3] = C
    result[3, :4] = np.linalg.solve(lower @ diagonal @ lower.T, C[:4])
    result[4] = result[1] + result[2]
    result[5, :5] = C[:5] + 2.0 * C[5] + np.outer(r[:5], C[0])
    return result
