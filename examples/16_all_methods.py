# SPDX-License-Identifier: BSD-3-Clause
"""All methods of forward dynamics on one robot: how far they agree, what they cost, and which refuse and why."""

from time import perf_counter

import numpy as np

import linkwork as lw


def compare(robot: lw.Mechanism) -> None:
    """A table of all methods that serve a robot, in its assembled pose and in motion."""
    q = robot.poses["assembled"]
    rng = np.random.default_rng(0)
    v, tau = robot.project_velocity(q, rng.normal(size=robot.nv)), rng.normal(size=robot.nv)
    exact = lw.ForwardDynamics(robot, "kkt")(q, v, tau)  # dense, by singular values
    costs = lw.methods.method_costs(robot)
    print(f"\n{robot} - {robot.mobility(q)}")
    print(f"{'method':<17}{'differs by':>11}{'iterations':>12}{'operations':>12}{'native µs':>11}")
    for method in lw.methods.methods_for(robot):
        fd = lw.ForwardDynamics(robot, method)
        try:
            found = fd(q, v, tau)
        except lw.errors.SingularConstraints as error:
            print(f"{method:<17}{str(error).replace(f' of {robot.name!r}', '').partition(';')[0]}")
            continue
        off = np.abs(found.acceleration - exact.acceleration).max() / np.abs(exact.acceleration).max()
        operations = "in NumPy"
        if method in costs:
            operations = f"{costs[method].total + (found.iterations - 1) * costs[method].iteration:,}".replace(",", " ")
        us = microseconds(fd, q, v, tau)
        print(f"{method:<17}{off:>11.0e}{found.iterations:>12}{operations:>12}{us:>11.1f}")
        assert off < (1e-2 if method == "pv_soft" else 1e-8), "methods disagree"
    print(f"auto takes {lw.methods.best_method(robot)}")


def microseconds(fd: lw.ForwardDynamics, *state: np.ndarray) -> float:
    """The best time of a call."""
    best = np.inf
    for _ in range(20):
        start = perf_counter()
        for _ in range(10):
            fd(*state)
        best = min(best, (perf_counter() - start) / 10)
    return best * 1e6


# Loops between moving bodies, with rows that say the same: a hinge has five, and three of them are the plane's.
compare(lw.zoo.jansen())

# The same leg with as many rows as the plane needs: methods that refuse redundant rows serve it too.
compare(lw.zoo.jansen("line"))

# Feet on the ground: each constraint is on one moving body, which is what three more methods are for.
compare(lw.zoo.quadruped_standing())

# Rotors behind gears. `approximate` reflects their inertia and leaves the rest of them out: not the same problem.
geared = lw.zoo.geared_chain(3)
q, v, tau = geared.assemble(geared.random(0)), np.zeros(geared.nv), np.zeros(geared.nv)
near, exact = (lw.ForwardDynamics(geared, method)(q, v, tau).acceleration for method in ("approximate", "cluster"))
print(f"\n{geared}: approximate is off by {np.abs(near - exact).max() / np.abs(exact).max():.0e}")
