# SPDX-License-Identifier: BSD-3-Clause
"""Configurations in kernel code: as `model.lie` has them, near the places where formulas divide by zero, and their
derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import zoo
from tests.support.states import assert_close

EXACT = 1e-14
ANGLES = (0.0, 1e-12, 1e-7, 1e-3, 0.0999, 0.1001, 1.15, 1.17, 2.35, 2.36, 3.0, 3.14159)
"""Near zero, where series end (0.1, 0.2), where ranges of the arctangent meet, and near half a turn."""


def robot(seed: int) -> Any:
    return zoo.random_tree(seed, bodies=5, kinds="sSfr")


def between(robot: Any, seed: int, angle: float) -> tuple[Any, Any]:
    """A configuration, and one that is so far from it, in each joint."""
    rng = np.random.default_rng([seed, 5])
    q, v = robot.random(rng), rng.normal(size=robot.nv)
    for joint in robot.joints:
        at = robot.v_slice(joint.name)
        turn = v[at][-3:] if joint.type.nv > 1 and not isinstance(joint.type, lw.joints.Planar) else v[at][-1:]
        turn *= angle / np.linalg.norm(turn)
    return q, v


@pytest.mark.parametrize("seed", range(3))
def test_configurations_are_moved_compared_and_interpolated_as_by_numpy(seed: int) -> None:
    made = robot(seed)
    evaluators = {name: lw.Evaluator(made, name) for name in ("integrate", "difference", "interpolate", "distance")}  # type: ignore[arg-type]
    pairs = [between(made, seed, angle) for angle in ANGLES]
    q, v = (np.array(x) for x in zip(*pairs, strict=True))
    q = q * np.random.default_rng(seed).uniform(0.9, 1.1, (len(q), 1)) if seed else q  # quaternions of other lengths
    p, space = made.space.integrate(q, v), made.space  # NumPy's text
    way = space.difference(q, p)
    for backend in ("native", "plain"):
        integrate, difference, interpolate, distance = (
            getattr(evaluators[name], backend)() for name in ("integrate", "difference", "interpolate", "distance")
        )
        assert_close(integrate(q, v), p, EXACT)
        assert_close(difference(q, p), way, EXACT, 10.0)
        assert_close(difference(q, p), v, 1e-8)  # near half a turn the logarithm loses digits
        assert_close(distance(q, p)[:, 0], np.linalg.norm(way, axis=-1), EXACT, 10.0)
        assert_close(interpolate(q, p, [0.25]), space.integrate(q, 0.25 * way), EXACT)
    assert_close(evaluators["interpolate"](q, p, [0.0]), made.normalize(q), EXACT)
    # one state by itself, which is machine code of its own
    assert_close(evaluators["difference"](q[3], p[3]), way[3], EXACT, 10.0)
    assert_close(made.distance(q, p), np.linalg.norm(way, axis=-1), EXACT, 10.0)
    assert_close(made.interpolate(q, p, 0.25), space.integrate(q, 0.25 * way), EXACT)


def test_the_shorter_rotation_is_taken() -> None:
    made = robot(0)
    q, v = between(made, 0, 2.0)
    p = made.integrate(q, v)
    for at in made.unit_slices():
        if at.stop - at.start == 4:
            p[at] *= -1.0
    assert_close(lw.Evaluator(made, "difference")(q, p), v, EXACT, 10.0)


@pytest.mark.parametrize("angle", [0.0, 1e-3, 1.2, 2.5])
def test_derivatives_are_those_of_tangent_spaces(angle: float) -> None:
    """``dIntegrate`` and ``dDifference`` of Pinocchio, as products."""
    made = zoo.random_tree(2, bodies=2, kinds="fS")
    q, v = between(made, 1, angle)
    p, h = made.integrate(q, v), 1e-4
    dq, dp = np.random.default_rng(3).normal(size=(2, made.nv))

    def differences(f: Any, here: Any = None) -> Any:
        ways = [f(k * h) if here is None else made.difference(here, f(k * h)) for k in (-2, -1, 1, 2)]
        return (8 * (ways[2] - ways[1]) - (ways[3] - ways[0])) / (12 * h)

    found = lw.Evaluator(made, "difference").jvp.plain()(q, p, dq, dp)
    expected = differences(lambda t: made.difference(made.integrate(q, t * dq), made.integrate(p, t * dp)))
    assert_close(found, expected, 1e-9, 1.0)
    found = lw.Evaluator(made, "integrate").jvp.plain()(q, v, dq, dp)
    expected = differences(lambda t: made.integrate(made.integrate(q, t * dq), v + t * dp), p)
    assert_close(found, expected, 1e-9, 1.0)
