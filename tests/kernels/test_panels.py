# SPDX-License-Identifier: BSD-3-Clause
"""Four rows at a time: panels and tiles do what matrices do, in every backend."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.compilers.lanes import Type
from linkwork.kernels import panels
from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.panels import line, plus, scaled, set_line, sum_of_products
from linkwork.kernels.scalar import Array, kernel
from linkwork.plans.tree import tree_of
from tests.support.kernel_backends import SCALAR, Run, compiled, plain, specialized


@kernel
def tiles(tree: Array, w: Array, A: Array, B: Array, L: Array, D: Array, x: Array) -> None:
    """The factor of ``A``, and ``L^-1 B``, ``L^-1 b``, ``L'^-1 b``, ``D^-1 b``, ``b - B' b``, ``b - B b`` of line 0."""
    for d in range(4):
        set_line(line(A, d), L, d)
        set_line(line(B, d), x, d)
    panels.factorize_tile(L, D)
    panels.solve_tile(L, x)
    b = line(B, 0)
    set_line(panels.solve_line(L, b), x, 4)
    set_line(panels.solve_line_transposed(L, b), x, 5)
    set_line(panels.times_diagonal(L, b), x, 6)
    set_line(panels.minus_product(b, b, B), x, 7)
    set_line(panels.minus_transposed_product(b, b, B), x, 8)
    panels.subtract_transposed_product(B, B, x)  # lines 0 to 3
    panels.add_outer_tile(B[1], B[2], x)
    x[9, 0] = sum_of_products(b, B[1])
    for c in range(1, 4):
        x[9, c] = 0.0


@kernel
def forces(tree: Array, w: Array, K: Array, R: Array, r: Array, T: Array, y: Array) -> None:
    """Forces of a panel in other axes, about another point; rotated about z; and the sum of what came before."""
    for j in range(6):
        set_line(line(K, j), y[0], j)
        set_line(line(K, j), y[1], j)
        set_line(plus(line(K, j), scaled(2.0, line(K, 0))), y[2], j)
    panels.transform_panel(R, r, y[0])
    panels.subtract_and_rotate_panel(r, line(K, 3), R[0, 0], R[0, 1], y[1])
    panels.subtract_panel_product(K, T, y[2])
    panels.add_panel(y[0], y[2])


TILES = Algorithm("tiles", tiles, {"A": (4, 4), "B": (4, 4)}, {"L": (4, 4), "D": (4,), "x": (10, 4)}, {})
FORCES = Algorithm("forces", forces, {"K": (6, 4), "R": (3, 3), "r": (6,), "T": (4, 4)}, {"y": (3, 6, 4)}, {})
TREE = tree_of(lw.zoo.pendulum(1))

BACKENDS: dict[str, Any] = {
    "plain": lambda a: plain(a, TREE),
    "native": lambda a: compiled(a, TREE),
    "native, float32": lambda a: compiled(a, TREE, Type("float32", 1)),
    "lanes": lambda a: compiled(a, TREE, Type("float64", 4)),
    "specialized": lambda a: specialized(a, TREE, SCALAR),
}


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Any:
    return request.param, BACKENDS[request.param]


def agrees(ours: Any, theirs: Any, backend: str) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=(1e-4 if "float32" in backend else 1e-12))


def test_tiles_are_matrices(backend: tuple[str, Any]) -> None:
    """A tile is the transpose of the matrix that it stands for: its lines are columns."""
    name, make = backend
    run: Run = make(TILES)
    rng = np.random.default_rng(0)
    B = rng.normal(size=(5, 4, 4))
    A = np.eye(4) + B @ B.transpose(0, 2, 1)
    L, D, x = run(A, B)
    for a, b, tile, pivots, found in zip(A, B, L, D, x, strict=True):
        factor = np.eye(4) + np.triu(tile, 1).T
        agrees(factor @ np.diag(pivots) @ factor.T, a, name)
        agrees(np.diag(tile), 1 / pivots, name)
        solved = np.linalg.solve(factor, b)
        agrees(found[:4], solved - b.T @ b + np.outer(b[1], b[2]), name)
        agrees(found[4], np.linalg.solve(factor, b[0]), name)
        agrees(found[5], np.linalg.solve(factor.T, b[0]), name)
        agrees(found[6], b[0] / pivots, name)
        agrees(found[7], b[0] - b.T @ b[0], name)
        agrees(found[8], b[0] - b @ b[0], name)
        agrees(found[9, 0], b[0] @ b[1], name)


def test_panels_are_forces(backend: tuple[str, Any]) -> None:
    name, make = backend
    run: Run = make(FORCES)
    rng = np.random.default_rng(1)
    K, r, T = rng.normal(size=(5, 6, 4)), rng.normal(size=(5, 6)), rng.normal(size=(5, 4, 4))
    R = np.linalg.qr(rng.normal(size=(5, 3, 3)))[0]
    (y,) = run(K, R, r, T)
    for k, turn, at, tile, found in zip(K, R, r, T, y, strict=True):
        f = turn @ k[3:]
        moved = np.concatenate([turn @ k[:3] + np.cross(at[:3], f.T).T, f])
        agrees(found[0], moved, name)
        c, s = turn[0, 0], turn[0, 1]
        about_z = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]])
        agrees(found[1], np.kron(np.eye(2), about_z) @ (k - np.outer(at, k[3])), name)
        agrees(found[2], k + 2 * k[0] - k @ tile + moved, name)
