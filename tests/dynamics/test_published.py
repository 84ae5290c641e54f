# SPDX-License-Identifier: BSD-3-Clause
"""Published benchmarks: IFToMM's library, the DAE test set of Bari, and Project Chrono's joints against MSC ADAMS."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import linkwork as lw
from tests.support import adams
from tests.support.benchmark_mechanisms import (
    ANDREWS_ANGLES,
    andrews,
    bricard,
    governor,
    governor_equations,
    n_four_bar,
    n_four_bar_state,
)

ANDREWS_START = (
    -0.0617138900142764,
    0.0,
    0.4552798191630704,
    0.2226683901658859,
    0.4873649795438426,
    -0.2226683901658859,
    1.2305474445498212,
)
ANDREWS_END = (
    15.81077119629904,
    -15.75637105984298,
    0.04082224013073101,
    -0.5347301163226948,
    0.5244099658805304,
    0.5347301163226948,
    1.048080741042263,
)
"""Angles at 0 and at 0.03 s, in the order of `ANDREWS_ANGLES`."""

ANDREWS_EXTENDED = (
    15.810771195153709,
    -15.756371058411842,
    0.040822240119645831,
    -0.53473011634207956,
    0.52440996587995403,
    0.53473011634207956,
    1.0480807410419379,
)
"""The same at 0.03 s in 80-bit numbers by `scripts/andrews_extended.py`; two steps agree to 2e-15. The published ones
differ by 1.15e-9 and 1.43e-9 in the first two angles, and by 2e-11 or less in the others."""

CASES = {
    "Revolute": 2,
    "Spherical": 2,
    "Universal": 3,
    "Prismatic": 3,
    "Cylindrical": 3,
    "Distance": 3,
    "TranSpring": 2,
    "TranSpringCB": 4,
    "RotSpring": 2,
    "LinActuator": 2,
    "RevSpherical": 2,
    "RackPinion": 1,
}
"""Cases of Project Chrono's unit tests of joints, by name."""


@pytest.mark.parametrize("method", ["auto", "minimal"])
def test_andrews_squeezer_ends_at_the_published_angles(method: lw.simulation.SimulationMethod) -> None:
    """All angles to 1e-9 of their size, and to 2e-10 rad of those in more digits."""
    robot, q, tau = _andrews()
    run = lw.simulate(robot, q, tau=tau, seconds=0.03, dt=5e-6, integrator="rk4", method=method, record_every=6000)
    found = np.array([run.joint_position(name)[-1] for name in ANDREWS_ANGLES])
    np.testing.assert_allclose(found, ANDREWS_END, rtol=1e-9, atol=0)
    np.testing.assert_allclose(found, ANDREWS_EXTENDED, rtol=0, atol=2e-10)
    assert run.errors.max() <= 1e-11


@pytest.mark.parametrize(
    ("integrator", "dt", "accuracy", "error"), [("dopri5", 3e-5, 1e-13, 1e-12), ("radau", 3e-4, 1e-8, 1e-10)]
)
def test_andrews_squeezer_in_more_digits(integrator: Any, dt: float, accuracy: float, error: float) -> None:
    """An explicit and an implicit method find all angles of the solution in 80-bit numbers."""
    robot, q, tau = _andrews()
    run = lw.simulate(robot, q, tau=tau, seconds=0.03, dt=dt, integrator=integrator, accuracy=accuracy)
    found = np.array([run.joint_position(name)[-1] for name in ANDREWS_ANGLES])
    np.testing.assert_allclose(found, ANDREWS_EXTENDED, rtol=0, atol=error)


def _andrews() -> tuple[lw.Mechanism, np.ndarray, np.ndarray]:
    """The mechanism, where it starts and its torque."""
    robot, q = andrews(), np.zeros(7)
    for name, angle in zip(ANDREWS_ANGLES, ANDREWS_START, strict=True):
        q[robot.q_index(name)] = angle
    tau = np.zeros(robot.nv)
    tau[robot.v_index("beta")] = 0.033
    return robot, q, tau


@pytest.mark.parametrize(("n", "tip"), [(2, (0.3284581115, 0.9445185382)), (40, (0.1805122267, 0.9835727406))])
def test_n_four_bar_passes_its_dead_centers(n: int, tip: tuple[float, float]) -> None:
    """Ten seconds by default, of steps of a millisecond: angles to 1e-5 rad."""
    robot, (q, v) = n_four_bar(n), n_four_bar_state(n, np.pi / 2, -1.0)
    run = lw.simulate(robot, q, v, seconds=10, record_every=10)
    pull = 9.81 * ((n + 1) / 2 + n) / ((n + 1) / 3 + n)
    exact = solve_ivp(
        lambda t, y: [y[1], -pull * np.cos(y[0])], (0, 10), [np.pi / 2, -1.0], t_eval=run.times, rtol=1e-12, atol=1e-12
    )
    assert np.abs(run.joint_position("pivot0") - exact.y[0]).max() <= 1e-5
    angle = run.joint_position("pivot0")[-1]
    np.testing.assert_allclose([np.cos(angle), np.sin(angle)], tip, rtol=0, atol=1e-5)


@pytest.mark.parametrize(("method", "gap"), [("auto", 1e-8), ("minimal", 1e-12)])
def test_bricard_keeps_its_energy_and_its_one_freedom(method: lw.simulation.SimulationMethod, gap: float) -> None:
    """Steps by default, of a millisecond, though the last rod turns about its own axis with next to no inertia."""
    robot = bricard()
    found = robot.mobility(robot.neutral())
    assert (found.dof, found.grubler) == (1, 0)
    run = lw.simulate(robot, robot.neutral(), seconds=10, method=method, record_every=10)
    energy = run.energy["total"]
    assert np.abs(energy - energy[0]).max() <= 1e-7
    assert run.errors.max() <= gap


@pytest.mark.parametrize(
    ("settings", "seconds"), [({}, 1.0), ({"dt": 1e-4, "integrator": "rk4"}, 2.0), ({"integrator": "dopri5"}, 2.0)]
)
def test_stiff_governor_moves_by_lagranges_equations(settings: dict[str, Any], seconds: float) -> None:
    """By default at a millisecond, which is `radau` here, and by explicit steps below the period of the dampers."""
    robot, q, v = governor()
    run = lw.simulate(robot, q, v, seconds=seconds, record_every=10, **settings)
    assert run.integrator == settings.get("integrator", "radau")
    rates, start = governor_equations()
    exact = solve_ivp(rates, (0, seconds), start, method="DOP853", t_eval=run.times, rtol=1e-12, atol=1e-13)
    for index, name in enumerate(("spin", "slide", "right")):
        np.testing.assert_allclose(run.joint_position(name), exact.y[index], rtol=0, atol=1e-10)
    np.testing.assert_allclose(run.joint_position("left"), run.joint_position("right"), rtol=0, atol=1e-10)


@pytest.mark.skipif(not adams.cases(), reason="needs LINKWORK_VALIDATION")
@pytest.mark.parametrize("case", adams.cases())
def test_joints_springs_and_actuators_are_those_of_adams(case: str) -> None:
    """All that ADAMS printed, from positions to reactions, within the tolerances of Project Chrono's tests."""
    setup, tables = adams.setup(case), adams.printed(case)
    every = round(1e-2 / setup.dt)
    run = lw.simulate(setup.robot, seconds=5, dt=setup.dt, integrator="rk4", record_every=every, limits=False)
    for what, (times, columns) in tables.items():
        np.testing.assert_allclose(run.times[: len(times)], times, rtol=0, atol=1e-9)
        error = adams.error(setup.quantities[what](run)[: len(times)], columns, what)
        assert error <= setup.tolerances[what], (what, error)


@pytest.mark.parametrize("case", [f"{name}_Case{k:02}" for name, count in CASES.items() for k in range(1, count + 1)])
def test_every_case_of_chrono_has_a_set_up(case: str) -> None:
    """Those whose results are not at hand too: bodies start where Chrono's unit tests put them, with closed rows."""
    setup = adams.setup(case)
    run = lw.simulate(setup.robot, seconds=0.05, dt=setup.dt, integrator="rk4", limits=False)
    assert not run.ended and run.errors.max(initial=0.0) <= 1e-9
    assert set(setup.quantities) <= set(setup.tolerances)
    for what, quantity in setup.quantities.items():
        assert quantity(run).shape[0] == len(run), what


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_a_force_element_too_stiff_for_explicit_steps_is_why_a_run_ended(integrator: Any) -> None:
    """The advice helps: `radau` takes it, and shorter steps are stable."""
    robot, q, v = governor()
    with pytest.warns(lw.errors.SimulationWarning, match="force elements damp joint 'slide' with a pole at -8.1e"):
        run = lw.simulate(robot, q, v, seconds=0.1, integrator=integrator)
    assert "simulate(integrator='radau')" in run.ended
    shorter = float(run.ended.rpartition("dt=")[2])
    assert not lw.simulate(robot, q, v, seconds=0.1, dt=shorter, integrator=integrator).ended
