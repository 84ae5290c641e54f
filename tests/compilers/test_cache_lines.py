# SPDX-License-Identifier: BSD-3-Clause
"""Cache lines that programs touch, counted on their text."""

from __future__ import annotations

import math

import numpy as np
import pytest

import linkwork as lw
from linkwork.compilers.cache_lines import LINE, Watched, cache_lines
from linkwork.compilers.program import Program
from linkwork.dynamics.delassus import Delassus
from linkwork.kernels.algorithm import Algorithm, resolve
from linkwork.kernels.scalar import Array, kernel
from linkwork.plans.tree import build_tree


@kernel
def strided(tree: Array, w: Array, q: Array, y: Array) -> None:
    """Every eighth number of a work array is written; two neighbors are read."""
    for k in range(6):
        w.long[8 * k] = q[0]
    row = w.square[2]
    y[0] = row[1] + w.square[2, 2]


STRIDED = Algorithm("strided", strided, {"q": ("nq",)}, {"y": (1,)}, {"long": (48,), "square": (4, 4)})


def test_lines_are_counted_once_each() -> None:
    robot = lw.zoo.pendulum(3)
    program = Program.of_robot(robot, STRIDED, build_tree(robot)[0])
    assert cache_lines(program, [robot.neutral()]) == 6 + 1 + 1 + 1  # long, square, q, y


def test_parts_of_arrays_are_where_the_whole_is() -> None:
    lines: set[tuple[str, int]] = set()
    x = np.arange(96.0).reshape(4, 6, 4)
    watched = Watched("x", x, lines)
    assert watched[2][3][1] == watched[2, 3, 1] == watched[2, 3][1:3][0] == x[2, 3, 1]
    watched[3, 5, 3] = -1.0
    assert watched[3][5][3] == -1.0 and len(watched[1]) == 6
    assert lines == {("x", (2 * 24 + 3 * 4 + 1) // 8), ("x", 95 // 8)}
    with pytest.raises(IndexError):
        watched[4, 0, 0]
    with pytest.raises(TypeError):
        watched[0, 0] = 1.0


@pytest.mark.parametrize("make", [lw.zoo.quadruped_standing, lw.zoo.four_bar, lambda: lw.zoo.stack(2)])
def test_operators_touch_no_more_than_they_have(make: object) -> None:
    """And all inputs and outputs."""
    robot = make()  # type: ignore[operator]
    family = Delassus(robot)
    q = robot.poses["assembled"]
    found = family.cache_lines(q)
    assert found == family.cache_lines(q)
    for name, program in (("operator", family.product.program), ("damped_inverse", family.inverse.program)):
        algorithm, tree = program.algorithm, program.tree
        numbers = [getattr(tree, each).size for each in algorithm.layout.shapes]
        numbers += [math.prod(resolve(shape, tree)) for shape in algorithm.work.values()]
        outside = [math.prod(shape) for shape in program.input_shapes() + program.output_shapes()]
        every = sum(math.ceil(8 * n / LINE) for n in numbers + outside)
        assert sum(math.ceil(8 * n / LINE) for n in outside[:2]) < found[name] <= every


def test_lines_of_the_operator_grow_with_the_stack() -> None:
    """Linear in boxes, where those of a matrix grow as their square."""
    a, b, c = (Delassus(lw.zoo.stack(n)).cache_lines() for n in (8, 16, 24))
    for what in a:
        assert abs((c[what] - b[what]) - (b[what] - a[what])) <= 0.05 * (b[what] - a[what])
