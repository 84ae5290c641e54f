# SPDX-License-Identifier: BSD-3-Clause
"""How steps on a GPU are measured beside MuJoCo Warp: both from the same states, one after the other.

The work is not the same. Contacts, limits and loops are exact here, solved to the tolerance of the type (*residual*, a
velocity); those of MuJoCo are soft, and its solver ends after the iterations that its file allows. So what each leaves
is beside its speed: the deepest overlap of contacts, and errors of loops.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.contact.points import GAP
from linkwork.kernels.contact.reduced.step import MISSED
from linkwork.parsing.mjcf import mujoco_map
from linkwork.quantities.functions import constraint_error
from linkwork_benchmarks.gpu.studies import begin
from linkwork_benchmarks.gpu_peers.scenarios import PHASES, Fall
from linkwork_benchmarks.runner import Journal, Settings, measure_by_type, say
from linkwork_benchmarks.scene_files.files import FILES, scene_file

__all__ = ["FULL", "QUICK", "begin", "measure"]

FULL = Settings(rounds=1)
QUICK = Settings(rounds=1)

NOISE = 0.01
"""Deviation of the noise of states, in meters and radians."""
DISTINCT = 1024
"""States that are different; a batch repeats them."""


def _states(robot: lw.Mechanism, count: int) -> Any:
    first = next(iter(robot.poses.values()), robot.neutral())
    rng = np.random.default_rng(0)
    some = [robot.integrate(first, NOISE * rng.normal(size=robot.nv)) for _ in range(min(count, DISTINCT))]
    return np.resize(np.array(some), (count, robot.nq))


def _ours(robot: lw.Mechanism, scenario: Fall, q: Any) -> tuple[dict[str, float], dict[str, float]]:
    """Steps a second of each phase, and what is left at the end."""
    start = perf_counter()
    sim = lw.Simulation(
        robot, len(q), q=q, dt=scenario.dt, device="cuda", dtype=scenario.dtype, compile=scenario.compile
    )
    sim.step()
    sim.q.numpy()
    first, done, rates = perf_counter() - start, 1, dict[str, float]()
    for phase, at in PHASES.items():
        if at > done:
            sim.step(steps=at - done)
            sim.q.numpy()
        start = perf_counter()
        sim.step(steps=scenario.steps)
        end = sim.q.numpy()
        rates[phase] = len(q) * scenario.steps / (perf_counter() - start)
        done = max(at, done) + scenario.steps
    left = {"first": first, "lost": float((~np.isfinite(end)).any(axis=1).sum())}
    row, state = sim.stepper.contact_row, sim.contact_state
    if row is not None and state is not None:
        x = state.numpy()
        left["residual"] = float(np.nanmax(x[:, 0]))
        places = row.in_result(x.shape[1], robot.nv)
        if row.reduced:
            left["missed"] = float(x[:, places["totals"]][:, MISSED].sum())
            gaps = row.points.by_slot(x[:, places["points"]], GAP, np.inf)
            left["deepest"] = float(max(-np.nanmin(gaps), 0.0))
    if robot.nc:
        left["loops"] = float(np.abs(constraint_error(robot, end[:DISTINCT].astype(float))).max())
    return rates, left


def _peer(file: Path, robot: lw.Mechanism, scenario: Fall, q: Any) -> dict[str, Any] | str:
    """What MuJoCo Warp does, in a process of its own; or why it does not."""
    qpos = np.array([mujoco_map(robot).to_qpos(x) for x in q[:DISTINCT]])
    with tempfile.TemporaryDirectory() as folder:
        states = os.path.join(folder, "states.npy")
        np.save(states, np.resize(qpos, (len(q), qpos.shape[1])))
        given = {"file": str(file), "states": states, "dt": scenario.dt, "contacts": scenario.contacts}
        given |= {"rows": scenario.rows, "steps": scenario.steps, "phases": PHASES}
        command = [sys.executable, "-m", "linkwork_benchmarks.gpu_peers.mujoco_warp", json.dumps(given)]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["no output"])[-1]
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def _fall(scenario: Fall, settings: Settings, journal: Journal) -> None:
    file = scene_file(FILES[scenario.scene])
    robot = lw.load(file)
    q = _states(robot, scenario.robots)
    rates, left = _ours(robot, scenario, q)
    journal.metrics |= {f"{scenario.name}.{phase}.steps_per_s": rate for phase, rate in rates.items()}
    journal.metrics |= {f"{scenario.name}.{what}": x for what, x in left.items()}
    say(f"  ours {_said(rates)}; {_said(left, 1)}")
    if scenario.dtype != "float32":
        return
    peer = _peer(file, robot, scenario, q)
    if isinstance(peer, str):
        journal.notes.append(f"{scenario.name}: MuJoCo Warp was left out: {peer}")
        say(f"  {journal.notes[-1]}")
        return
    journal.words["gpu_peers.mujoco_warp"] = peer.pop("version")
    other = peer.pop("rates")
    journal.metrics |= {f"{scenario.name}.mujoco_warp.{phase}.steps_per_s": rate for phase, rate in other.items()}
    journal.metrics |= {f"{scenario.name}.mujoco_warp.{what}": x for what, x in peer.items()}
    say(f"  MuJoCo Warp {_said(other)}; {_said(peer, 1)}")


def _said(numbers: dict[str, float], unit: float = 1e6) -> str:
    return ", ".join(f"{name} {x / unit:.3g}" for name, x in numbers.items())


measure = measure_by_type({Fall: _fall})
