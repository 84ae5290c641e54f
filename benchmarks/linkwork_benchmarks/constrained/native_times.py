# SPDX-License-Identifier: BSD-3-Clause
"""Fits the coefficients of `linkwork.dynamics.native_times` to measured times, and says how well they choose.

``python -m linkwork_benchmarks.constrained.native_times`` measures every method of `auto` in native code on linkages,
families, hands and robots with loops, after one and three iterations, in one process, and prints: coefficients, the
root mean square of what estimates are off by, and for each system by how much the method that `auto` takes is slower
than the fastest.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from time import process_time
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

import linkwork as lw
from linkwork import zoo
from linkwork.dynamics.methods import AUTOMATIC, METHODS, method_cost, method_tree
from linkwork.dynamics.native_times import NATIVE_TIMES, Features, features
from linkwork_benchmarks import scenes
from linkwork_benchmarks.constrained import ours
from linkwork_benchmarks.constrained.scenarios import MJCF, REGULARIZATION, Make, from_mjcf
from linkwork_benchmarks.peers import Unable
from linkwork_benchmarks.robots import Floats, States
from linkwork_benchmarks.runner import Settings, best_times, say

MANY = 3
"""Iterations of the longer runs."""
SLOWEST = 2e-3
"""Seconds of a call from which on a method is not measured."""


def four_bars(count: int) -> lw.Mechanism:
    """Four-bars that do not touch."""
    return lw.compose({f"bar{k}": zoo.four_bar() for k in range(count)})


def _systems() -> dict[str, Make]:
    found: dict[str, Make] = {"four-bar": zoo.four_bar, "Jansen's leg": zoo.jansen, "Stewart": zoo.stewart}
    found |= {f"{k} four-bars": partial(four_bars, k) for k in (4, 12, 28)}
    found |= {"gears": partial(zoo.geared_chain, 4), "ladder": partial(zoo.ladder, 2)}
    found |= {f"held chain of {n}": partial(zoo.held_chain, n) for n in (7, 20)}
    found |= {f"loop of {n}": partial(zoo.single_loop, n) for n in (10, 20, 50, 100, 200)}
    found |= {f"chain of {k} loops": partial(zoo.chain_of_loops, k) for k in (1, 3, 8, 33)}
    found |= {f"{k} coupled loops": partial(zoo.coupled_loops, k) for k in (2, 3, 7)}
    found |= {f"star of {k} loops": partial(zoo.star_of_loops, k) for k in (2, 3, 7, 14)}
    found |= {name: scene.make for name, scene in scenes.LOOPS_TABLE.items()}
    found |= {name: scenes.LQR_TABLE[name].make for name in ("Go1 (4F3)", "Talos (2F)")}
    return found | {name: partial(from_mjcf, path) for name, path in MJCF.items()}


class Measured(NamedTuple):
    """One method on one system."""

    algorithm: str
    first: Features
    further: Features
    seconds: tuple[float, float]
    """Of one iteration, and of `MANY`."""


def measure(robot: lw.Mechanism) -> dict[str, Measured]:
    """Times of all methods of `auto` at one state."""
    rng = np.random.default_rng(0)
    q = next(iter(robot.poses.values()))
    v = robot.project_velocity(q, rng.normal(size=robot.nv))
    states = States(q[None], v[None], rng.normal(size=(1, robot.nv)))
    found = {}
    contenders = []
    for method in AUTOMATIC:
        algorithm, arrays, cost = METHODS[method].algorithm, METHODS[method].arrays, method_cost(robot, method)
        if algorithm is None or arrays is None or cost is None:
            continue
        tree = method_tree(robot, method, arrays)
        further = (cost.in_iterations(MANY) - cost.total) / (MANY - 1)
        runs = [ours.dynamics(robot, method, REGULARIZATION, k).native() for k in (1, MANY)]
        runs[0](q, v, states[2][0])
        start = process_time()
        runs[0](q, v, states[2][0])
        if process_time() - start > SLOWEST:
            continue
        found[method] = (
            algorithm.name,
            features(algorithm, tree, cost.total, True),
            features(algorithm, tree, further, False),
        )
        contenders += [ours.single(method, run, states) for run in runs]
    times = best_times(contenders, Settings(rounds=25, pass_seconds=0.0005, clock=process_time))
    pairs = zip(times[::2], times[1::2], strict=True)
    return {name: Measured(*parts, pair) for (name, parts), pair in zip(found.items(), pairs, strict=True)}


def fitted(systems: Mapping[str, Mapping[str, Measured]], algorithm: str) -> tuple[Floats, Floats, tuple[float, float]]:
    """Coefficients of the first iteration and of further ones, not negative, in microseconds, and what relative errors
    they leave."""
    all_of = [x for methods in systems.values() for x in methods.values() if x.algorithm == algorithm]
    results, errors = [], []
    for rows, seconds, of in (
        ([x.first for x in all_of], [x.seconds[0] for x in all_of], 0),
        ([x.further for x in all_of], [(x.seconds[1] - x.seconds[0]) / (MANY - 1) for x in all_of], 1),
    ):
        A, t = np.array(rows, dtype=np.float64), 1e6 * np.array(seconds)
        whole = 1e6 * np.array([x.seconds[of] for x in all_of])  # what the error is a part of
        coefficients, _ = nnls(A / whole[:, None], t / whole)
        results.append(coefficients)
        errors.append(float(np.sqrt(np.mean(((A @ coefficients - t) / whole) ** 2))))
    return results[0], results[1], (errors[0], errors[1])


def main() -> None:
    """Measure, fit, and print."""
    systems, robots = {}, {}
    for name, make in _systems().items():
        try:
            robots[name] = make()
        except (FileNotFoundError, Unable) as error:
            say(f"{name}: {error}")
            continue
        systems[name] = measure(robots[name])
        say(
            f"{name}: "
            + ", ".join(f"{m} {1e6 * x.seconds[0]:.2f} {1e6 * x.seconds[1]:.2f}" for m, x in systems[name].items())
        )
    for algorithm in NATIVE_TIMES:
        first, further, left = fitted(systems, algorithm)
        for kind, coefficients, part in (("first", first, left[0]), ("further", further, left[1])):
            print(f"{algorithm} {kind}: {', '.join(f'{x:.3g}' for x in coefficients)} (off by {part:.2f})")
    for name, robot in robots.items():
        for place, iterations in enumerate((1, MANY)):
            times = {method: x.seconds[place] for method, x in systems[name].items()}
            chosen = lw.methods.best_method(robot, iterations)
            if chosen not in times:
                print(f"{name}, {iterations}: {chosen} is not measured")
                continue
            fastest = min(times, key=times.__getitem__)
            print(f"{name}, {iterations}: {chosen} {times[chosen] / times[fastest]:.2f} times {fastest}")


if __name__ == "__main__":
    main()
