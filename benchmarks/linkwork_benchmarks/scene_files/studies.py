# SPDX-License-Identifier: BSD-3-Clause
"""How scenes of others are measured."""

from __future__ import annotations

import warnings
from time import process_time

import numpy as np

import linkwork as lw
from linkwork.errors import LinkworkError, ModelWarning, StateWarning
from linkwork_benchmarks.runner import Journal, Settings, measure_by_type, say
from linkwork_benchmarks.scene_files import first_call
from linkwork_benchmarks.scene_files.files import humanoid_with_far_spheres
from linkwork_benchmarks.scene_files.motions import (
    JACOBIANS,
    ROUND_SECONDS,
    Record,
    batch_seconds,
    batch_size,
    best_of,
    cold_iterations,
    mujoco_steps,
    our_steps,
    record,
    stepper_of,
)
from linkwork_benchmarks.scene_files.scenarios import FarPairs, FirstCall, Growth, Motion
from linkwork_benchmarks.scene_files.systems import System, source, system, system_of
from linkwork_benchmarks.scene_files.texts import boxes_apart

FULL = Settings(rounds=3, clock=process_time, processes=2)
QUICK = Settings(rounds=1, clock=process_time, processes=1)
LEAST_STEPS = 20
SHORT = 200
"""Steps of scenes whose number of bodies or pairs changes."""


def begin() -> Journal:
    """What a run writes to."""
    return Journal()


def _motion(scenario: Motion, settings: Settings, journal: Journal) -> None:
    try:
        scene = system(scenario.scene)
    except (LinkworkError, ValueError) as error:
        journal.note(f"{scenario.name}: does not load: {_one_line(error)}")
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        warnings.simplefilter("ignore", StateWarning)
        _measured_motion(scene, scenario, settings, journal)


def _one_line(error: Exception) -> str:
    """The message of an error without the folders of files."""
    return " ".join(word.rpartition("/")[2] if word.startswith("/") else word for word in str(error).split())[:160]


def _measured_motion(scene: System, scenario: Motion, settings: Settings, journal: Journal) -> None:
    stepper, steps = stepper_of(scene), round(scenario.seconds / scene.dt)
    recorded = record(scene, stepper, steps)
    found = {
        "nv": scene.robot.nv,
        "pairs": scene.pairs,
        "pairs_by_coal": 0 if stepper.given is None else len(stepper.given.pairs),
        "ms": 1e3 * scene.dt,
        "steps": len(recorded.q),
        "iterations.median": np.median(recorded.iterations),
        "iterations.p90": np.quantile(recorded.iterations, 0.9),
        "iterations.p99": np.quantile(recorded.iterations, 0.99),
        "iterations.max": recorded.iterations.max(),
        "missed": recorded.missed,
        "overflowed": recorded.overflowed,
        "points.mean": recorded.points.mean(),
        "points.max": recorded.points.max(),
        "speed.max": recorded.speeds.max(),
        "finite": recorded.finite,
    }
    if recorded.finite:
        found |= _times(scene, stepper, recorded, scenario, settings)
    journal.metrics |= {f"{scenario.name}.{key}": float(value) for key, value in found.items()}
    say("  " + ", ".join(f"{key} {float(value):.4g}" for key, value in found.items()))


def _times(
    scene: System, stepper: lw.Stepper, recorded: Record, scenario: Motion, settings: Settings
) -> dict[str, float]:
    fit = max(LEAST_STEPS, round(ROUND_SECONDS / recorded.seconds))
    steps = min(len(recorded.q), fit) if stepper.given is not None else len(recorded.q)
    ours = our_steps(scene, stepper, steps)
    theirs = {name: mujoco_steps(scene, name, steps) for name in JACOBIANS}
    best = best_of({"native": ours, **theirs}, settings.rounds)
    found = {f"us.{name}": 1e6 * seconds / steps for name, seconds in best.items()}
    mj_step = min(found[f"us.{name}"] for name in JACOBIANS)
    found |= {"timed_steps": steps, "us.mj_step": mj_step, "ratio": found["us.native"] / mj_step}
    data = theirs["dense"]()
    found["mujoco.speed"] = np.abs(data.qvel).max(initial=0.0)
    found["mujoco.resets"] = sum(int(w.number) for w in data.warning[5:8])
    found["mujoco.contacts"] = data.ncon
    if stepper.given is None and scenario.states:
        count = batch_size(scenario.states, 1e-6 * found["us.native"])
        for dtype in ("float64", "float32"):
            seconds = batch_seconds(scene, stepper, recorded, count, dtype, settings.rounds)
            found |= {f"batch.{dtype}.us": 1e6 * seconds, f"batch.{dtype}.faster": mj_step / (1e6 * seconds)}
        found["batch.states"] = count
        if stepper.contact:
            cold, missed = cold_iterations(scene, stepper, recorded, count)
            found |= {"cold.median": np.median(cold), "cold.p99": np.quantile(cold, 0.99), "cold.missed": missed}
    return found


def _far_pairs(scenario: FarPairs, settings: Settings, journal: Journal) -> None:
    systems = {count: system_of(humanoid_with_far_spheres(count), keyframe=False) for count in scenario.spheres}
    _series(scenario.name, systems, settings, journal)


def _growth(scenario: Growth, settings: Settings, journal: Journal) -> None:
    systems = {count: system_of(boxes_apart(count)) for count in scenario.bodies}
    _series(scenario.name, systems, settings, journal)
    if len(scenario.bodies) > 1:
        first, last = scenario.bodies[-2], scenario.bodies[-1]
        for who in ("native", "mj_step"):
            times = [journal.metrics[f"{scenario.name}.{count}.us.{who}"] for count in (first, last)]
            journal.metrics[f"{scenario.name}.power.{who}"] = float(np.log(times[1] / times[0]) / np.log(last / first))


def _series(name: str, systems: dict[int, System], settings: Settings, journal: Journal) -> None:
    """Times of scenes that differ in one number, all in turn."""
    contenders = {}
    for count, scene in systems.items():
        contenders[f"{count}.native"] = our_steps(scene, stepper_of(scene), SHORT)
        contenders |= {f"{count}.{jacobian}": mujoco_steps(scene, jacobian, SHORT) for jacobian in JACOBIANS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StateWarning)
        for run in contenders.values():
            run()  # compiles
    best = best_of(contenders, settings.rounds)
    for count, scene in systems.items():
        us = {who: 1e6 * best[f"{count}.{who}"] / SHORT for who in ("native", *JACOBIANS)}
        mj_step = min(us[jacobian] for jacobian in JACOBIANS)
        journal.metrics |= {
            f"{name}.{count}.pairs": float(scene.pairs),
            f"{name}.{count}.us.native": us["native"],
            f"{name}.{count}.us.mj_step": mj_step,
        }
        say(f"  {count:5d}: {scene.pairs} pairs, {us['native']:.1f} µs, mj_step {mj_step:.1f} µs")


def _first_call(scenario: FirstCall, settings: Settings, journal: Journal) -> None:
    source(scenario.scene).make()  # `FileNotFoundError` here, not in another process
    for key, seconds in first_call.measure(scenario.scene, settings.processes).items():
        journal.metrics[f"{scenario.name}.{key}"] = seconds
        say(f"  {key:<12}{seconds:9.3f} s")


measure = measure_by_type({Motion: _motion, FarPairs: _far_pairs, Growth: _growth, FirstCall: _first_call})
