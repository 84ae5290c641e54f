# SPDX-License-Identifier: BSD-3-Clause
"""How each kind of scenario is measured."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter, process_time_ns
from typing import Any, cast

import numpy as np

import linkwork as lw
from linkwork.inputs import Precision
from linkwork_benchmarks.robots import Floats
from linkwork_benchmarks.runner import Journal, Settings
from linkwork_benchmarks.simulation import motions, peers
from linkwork_benchmarks.simulation.scenarios import (
    Energy,
    Loops,
    Minimal,
    Momentum,
    Order,
    Scenario,
    Speed,
    Trajectory,
    WholeBody,
)
from linkwork_benchmarks.simulation.systems import System, of_points, system

FULL = Settings(rounds=15)
QUICK = Settings(rounds=2)

FREE: dict[str, Any] = {"passive": False, "limits": False}
"""Joints that do nothing by themselves."""
RECORDS = 100


def begin() -> Journal:
    """Where results go."""
    return Journal()


def measure(scenario: Scenario, settings: Settings, journal: Journal) -> None:
    """Measure one scenario; a missing model file is a note."""
    try:
        if isinstance(scenario, WholeBody):
            trajectory = motions.run(scenario.system, scenario.seconds)
            journal.metrics |= {
                f"{scenario.name}.off": motions.tracking_error(trajectory),
                f"{scenario.name}.open": float(trajectory.errors.max()),
            }
            return
        given = system(scenario.system)
    except FileNotFoundError as missing:
        journal.note(f"{scenario.name}: not measured: {missing}")
        return
    match scenario:
        case Energy():
            found = _energy(scenario, given)
        case Momentum():
            found = _momentum(scenario, given)
        case Loops():
            found = _loops(scenario, given)
        case Order():
            found = {"order": _order(scenario, given)}
        case Trajectory():
            found = _trajectory(scenario, given)
        case Speed():
            found = _speed(scenario, given, settings)
        case Minimal():
            found = _minimal(scenario, given, settings)
    journal.metrics |= {f"{scenario.name}.{key}": value for key, value in found.items()}


# What is conserved ------------------------------------------------------------------------------------------


def _energy(scenario: Energy, given: System) -> dict[str, float]:
    run = lw.simulate(
        given.robot, given.q, given.v, seconds=scenario.seconds, integrator="rk4", record_every=10, **FREE
    )
    energy = run.energy
    scale = max(float(np.abs(energy["total"][0])), float(energy["kinetic"].max()))
    drift = float(np.abs(energy["total"] - energy["total"][0]).max())
    return {"drift": drift / scale, "joules": drift, "open": float(run.errors.max()), "seconds": scenario.seconds}


def _momentum(scenario: Momentum, given: System) -> dict[str, float]:
    robot = given.robot.with_gravity((0, 0, 0))
    how: dict[str, Any] = {"seconds": scenario.seconds, "integrator": scenario.integrator, "record_every": 10, **FREE}
    run = lw.simulate(robot, given.q, given.v, **how)
    momentum = lw.centroidal_momentum(robot, run.q, run.v)
    change = np.abs(momentum - momentum[0])
    return {"change": float(change.max()), "relative": float(change.max() / np.abs(momentum).max())}


def _loops(scenario: Loops, given: System) -> dict[str, float]:
    robot, rng = given.robot, np.random.default_rng(3)
    driven = [robot.v_slice(actuator.joint) for actuator in robot.actuators]

    def push(time: float, q: Floats, v: Floats) -> Floats:
        tau = np.zeros(robot.nv)
        for at in driven:
            tau[at] = rng.normal()
        return tau

    run = lw.simulate(
        robot,
        given.q,
        seconds=scenario.seconds,
        controller=push,
        control_every=10,
        record_every=10,
        project_every=scenario.project_every,
    )
    return {"open": float(run.errors.max()), "seconds": float(run.times[-1])}


PRECISIONS: dict[str, Precision] = {"double": "float64", "single": "float32"}
TOGETHER = 8
"""Robots whose loops are watched at once."""


def _minimal(scenario: Minimal, given: System, settings: Settings) -> dict[str, float]:
    """Microseconds for one step of one robot, best of rounds that take turns; and the most that loops open."""
    integrator, n, steps = cast(Any, scenario.integrator), scenario.states, scenario.steps
    found: dict[str, float] = {}
    for name, dtype in PRECISIONS.items():
        how: dict[str, Any] = {"stops_at": given.q, "threads": 1}
        joints, minimal = (
            lw.Stepper(given.robot, 1e-3, integrator, method=method, **how).compile(dtype=dtype, threads=1)
            for method in ("auto", "minimal")
        )
        start, rest = np.tile(given.q, (n, 1)).astype(dtype), np.zeros((n, given.robot.nv), dtype)
        best = {"joints": np.inf, "minimal": np.inf}
        for _ in range(settings.rounds):
            for key, stepper in (("joints", joints), ("minimal", minimal)):
                begun = process_time_ns()
                stepper(start, rest, steps=steps)
                best[key] = min(best[key], (process_time_ns() - begun) / (1e3 * n * steps))
        found |= {f"us.{name}.{key}": us for key, us in best.items()}
        found[f"ratio.{name}"] = best["joints"] / best["minimal"]
        found[f"open.{name}"] = _open_under_random_torques(minimal, given, scenario.seconds)
    return found | {"seconds": scenario.seconds}


def _open_under_random_torques(stepper: lw.Stepper, given: System, seconds: float) -> float:
    """The most that any loop is open, every motor pushing with 1 N m at random, anew every 10 ms."""
    robot, rng, dtype = given.robot, np.random.default_rng(3), stepper.dtype
    driven = [robot.v_slice(actuator.joint) for actuator in robot.actuators]
    q, v, worst = np.tile(given.q, (TOGETHER, 1)).astype(dtype), np.zeros((TOGETHER, robot.nv), dtype), 0.0
    for _ in range(round(seconds * 100)):
        tau = np.zeros_like(v)
        for at in driven:
            tau[:, at] = rng.normal(size=(TOGETHER, 1))
        q, v = stepper(q, v, tau, steps=10)[:2]
        error = lw.constraint_error(robot, robot.normalize(q.astype(np.float64)))
        worst = max(worst, float(np.abs(error).max()))
    return worst


def _order(scenario: Order, given: System) -> float:
    """The power of two by which errors fall when steps are halved."""
    robot, span = given.robot, 0.16

    def end(integrator: str, n: int) -> Floats:
        stepper = lw.Stepper(robot, span / n, cast(Any, integrator), time_constant=None, **FREE)
        q, v = given.q, given.v
        for _ in range(n):
            q, v = stepper(q, v)[:2]
        return q

    exact, steps = end("dopri5", 1024), {"euler": 320, "rk4": 160, "dopri5": 64}[scenario.integrator]
    off = [_apart(robot, end(scenario.integrator, n), exact) for n in (steps, 2 * steps)]
    return float(np.log2(off[0] / off[1]))


# Beside peers -------------------------------------------------------------------------------------------------


def _trajectory(scenario: Trajectory, given: System) -> dict[str, float]:
    steps = round(scenario.seconds / scenario.dt)
    how: dict[str, Any] = {"seconds": scenario.seconds, "integrator": "rk4", **FREE}
    if scenario.peer == "mujoco":
        every = max(1, steps // RECORDS)
        given = given if given.file is not None else of_points(given)
        ours = lw.simulate(given.robot, given.q, given.v, dt=scenario.dt, record_every=every, **how)
        theirs, gap = peers.with_mujoco(given, scenario.dt, every, len(ours))
        order = peers.mujoco_order(given, ours.q)
        robot = lw.load(given.file) if given.file is not None else given.robot
        return {"difference": _apart(robot, order, theirs), "open_there": gap, "open_here": float(ours.errors.max())}
    given = of_points(given)
    ours = lw.simulate(given.robot, given.q, given.v, dt=scenario.dt, time_constant=None, **how)
    theirs = peers.with_pinocchio(given, scenario.peer.split(".")[1], scenario.dt, steps)
    return {"difference": _apart(given.robot, ours.q, theirs), "open_here": float(ours.errors.max())}


def _apart(robot: lw.Mechanism, one: Floats, other: Floats) -> float:
    return float(np.abs(robot.difference(one, other)).max())


def _speed(scenario: Speed, given: System, settings: Settings) -> dict[str, float]:
    """Best of rounds, taking turns in one process; seconds for one step of one robot."""
    robot, dt, n, steps = given.robot, 1e-3, scenario.states, scenario.steps
    start, rest = np.tile(given.q, (n, 1)), np.zeros((n, robot.nv))
    single = lw.Stepper(robot, dt, "euler", stops_at=given.q, threads=1)
    whole = single.compile(threads=1)
    both = single.compile(threads=2)
    slow, rollout = peers.mujoco_stepper(given, dt, max(1, n // 64), steps)
    backends: dict[str, tuple[Callable[[], Any], int]] = {
        "batch": (lambda: whole(start, rest, steps=steps), n * steps),
        "batch_two_threads": (lambda: both(start, rest, steps=steps), n * steps),
        "native": (lambda: single(given.q, rest[0], steps=100 * steps), 100 * steps),
        "specialized": (lambda: whole(given.q, rest[0], steps=100 * steps), 100 * steps),
        "mj_step": (slow, max(1, n // 64) * steps),
        "mujoco.rollout": (rollout, max(1, n // 64) * steps),
    }
    best = dict.fromkeys(backends, np.inf)
    for _ in range(settings.rounds):
        for name, (call, times) in backends.items():
            begun = perf_counter()
            call()
            best[name] = min(best[name], (perf_counter() - begun) / times)
    found = {f"us.{name}": 1e6 * seconds for name, seconds in best.items()}
    peer = min(best["mj_step"], best["mujoco.rollout"])
    return found | {
        "ratio": peer / best["batch"],
        "steps_a_second": 1 / best["batch"],
        "threads": best["batch"] / best["batch_two_threads"],
    }
