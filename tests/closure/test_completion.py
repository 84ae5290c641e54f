# SPDX-License-Identifier: BSD-3-Clause
"""`loops.Completion`: what `Minimal` finds, in a fixed number of steps, on all backends and as C."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.errors import AssemblyError, SingularConstraints, UnsupportedFeature
from linkwork.export import export_c
from linkwork.zoo import ASSEMBLED

ROBOTS: dict[str, Callable[[], lw.Mechanism]] = {
    "four_bar": zoo.four_bar,
    "five_bar": zoo.five_bar,
    "jansen": zoo.jansen,
    "stewart": zoo.stewart,
    "gears": lambda: zoo.geared_chain(4),
}


def moved(robot: lw.Mechanism, seed: int = 0) -> Any:
    """A closed configuration whose independent joints were then moved a little."""
    q = robot.assemble(robot.poses.get(ASSEMBLED, robot.neutral()))
    minimal = lw.Minimal(robot)
    step = np.zeros(robot.nv)
    step[minimal.index] = 0.05 * np.random.default_rng(seed).normal(size=minimal.ny)
    return robot.integrate(q, step)


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("backend", ["native", "specialized", "plain"])
def test_it_is_what_minimal_coordinates_say(name: str, backend: Any) -> None:
    robot = ROBOTS[name]()
    minimal, q = lw.Minimal(robot), moved(robot)
    found = lw.loops.Completion(robot).compile(backend=backend)(q)
    np.testing.assert_allclose(found.q, minimal.complete(q), atol=1e-13)
    np.testing.assert_allclose(found.G, minimal.matrix(found.q), atol=1e-12)
    assert np.abs(lw.constraint_error(robot, found.q)).max() < 1e-13
    velocity = found.G @ np.random.default_rng(1).normal(size=minimal.ny)
    assert np.abs(lw.constraint_jacobian(robot, found.q) @ velocity).max() < 1e-12


def test_each_step_squares_the_error() -> None:
    robot = zoo.four_bar()
    q = moved(robot, 1)
    exact = lw.Minimal(robot).complete(q)
    errors = [np.abs(lw.loops.Completion(robot, max_iterations=n)(q).q - exact).max() for n in (2, 3)]
    assert errors[1] < 10 * errors[0] ** 2 < 1e-8


def test_a_batch_is_its_states() -> None:
    robot = zoo.five_bar()
    states = np.array([moved(robot, seed) for seed in range(9)])
    completion = lw.loops.Completion(robot)
    together = completion(states)
    for k, q in enumerate(states):
        np.testing.assert_allclose(together.q[k], completion(q).q, atol=1e-14)


def test_open_loops_and_dead_centers_are_errors() -> None:
    robot = zoo.four_bar()
    with pytest.raises(AssemblyError, match="after 1 steps loops are open by"):
        lw.loops.Completion(robot, max_iterations=1)(robot.poses[ASSEMBLED] + [0.5, 0.0, 0.0])
    square = zoo.four_bar(ground=0.4, crank=0.4, coupler=0.4, rocker=0.4)
    with pytest.raises((SingularConstraints, AssemblyError)):
        lw.loops.Completion(square)(np.zeros(3))
    with pytest.raises(UnsupportedFeature, match="velocities of all joints are v = G y"):
        _ = lw.loops.Completion(robot).jvp


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_minimal_coordinates_are_exported(tmp_path: Path, dtype: Any) -> None:
    robot = zoo.five_bar()
    q, minimal = moved(robot), lw.Minimal(robot)
    program = export_c(minimal, tmp_path / "loop.c", dtype=dtype)
    assert program.inputs == {"q": 4} and list(program.outputs) == ["closed", "G", "step", "completion"]
    library = tmp_path / "loop.so"
    command = ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-shared", "-fPIC"]
    subprocess.run([*command, str(program.source), "-o", str(library), "-lm"], check=True)
    arrays = [np.zeros(size, dtype=dtype) for size in program.outputs.values()]
    given = [q.astype(dtype), *arrays]
    ctypes.CDLL(str(library)).loop(*(ctypes.c_void_p(x.ctypes.data) for x in given))
    tolerance = 1e-13 if dtype == "float64" else 1e-5
    exact = minimal.complete(q)
    np.testing.assert_allclose(arrays[0], exact, atol=tolerance)
    np.testing.assert_allclose(arrays[1].reshape(4, 2), minimal.matrix(exact), atol=10 * tolerance)
    assert arrays[3][1] == 6  # five steps, whatever the error
