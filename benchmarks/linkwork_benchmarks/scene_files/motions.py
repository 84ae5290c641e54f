# SPDX-License-Identifier: BSD-3-Clause
"""Times of steps of a scene, one state and batches, beside ``mj_step``, and what the steps report.

MuJoCo makes the same number of steps from the same start, once with ``jacobian="dense"`` and once with ``"auto"``; the
faster counts. Contenders take turns, and the best of k rounds counts, in CPU time of the process, on one thread.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from time import process_time
from typing import Any, cast

import numpy as np

import linkwork as lw
from linkwork.contact.points import FORCE
from linkwork.errors import InputError, StateWarning
from linkwork.kernels.contact.reduced.step import MISSED, OVERFLOWED
from linkwork_benchmarks.robots import Floats
from linkwork_benchmarks.scene_files.systems import System

JACOBIANS = {"dense": 0, "auto": 2}
"""MuJoCo's settings of the Jacobian, of which the faster counts."""
RECORD_SECONDS = 2.0
"""CPU time of the steps that are recorded one by one, and of a round of timing."""
ROUND_SECONDS = 0.5
BATCH_SECONDS = 1.1
"""About what a round of a batch takes at most, were it as slow as one state after another."""
BATCH_STEPS = 10
COLD = 256
"""States that start from no impulses at most; where steps are slow, as many as a batch has."""


@dataclass(frozen=True)
class Record:
    """Steps one by one, each from the forces of the step before."""

    iterations: Floats
    """Of each step."""
    speeds: Floats
    """Largest number of ``|v|`` after each step."""
    points: Floats
    """Contact points that bear a force, of each step."""
    seconds: float
    """CPU time of a step, with what Python takes."""
    missed: int
    overflowed: int
    finite: bool
    q: Floats
    """States before each step, and what their contacts start from."""
    v: Floats
    contact_state: Floats


def stepper_of(system: System) -> lw.Stepper:
    """Steps of a scene with the time step of its file, on one thread."""
    return lw.Stepper(system.robot, system.dt, threads=1)


def commands_of(system: System, stepper: lw.Stepper) -> dict[str, Any]:
    """The controls of the start, held."""
    return {"commands": system.ctrl} if stepper.takes_commands else {}


def record(system: System, stepper: lw.Stepper, steps: int) -> Record:
    """Steps from the start, one call each, at most so many and for at most `RECORD_SECONDS`.

    Args:
        system: The scene.
        stepper: Its steps.
        steps: How many.
    """
    held, row = commands_of(system, stepper), stepper.contact_row
    q, v, state = system.q, np.zeros(system.robot.nv), None
    stepper(q, v, **held)  # compiles
    iterations, speeds, points = list[int](), list[float](), list[int]()
    states = list[tuple[Any, Any, Any]]()
    finite, missed, overflowed, start = True, 0, 0, process_time()
    for _ in range(steps):
        if process_time() - start > RECORD_SECONDS:
            break
        try:
            result = stepper(q, v, contact_state=state, **held)
        except InputError:  # one state that is not finite is an error
            finite = False
            break
        q, v, state = result.q, result.v, result.contact_state
        if row is not None and state is not None:
            totals = state[row.places["totals"]]
            iterations.append(int(state[row.places["solver"]][1]))
            missed += int(totals[MISSED])
            overflowed += int(totals[OVERFLOWED])
            points.append(int(np.count_nonzero(row.points.split(state[row.places["points"]])[:, FORCE][:, 2] > 0)))
        speeds.append(float(np.abs(v).max(initial=0.0)))
        states.append((q, v, state))
    seconds = (process_time() - start) / max(1, len(states))
    return Record(
        np.array(iterations or [0], float),
        np.array(speeds or [np.inf]),
        np.array(points or [0], float),
        seconds,
        missed,
        overflowed,
        finite,
        np.array([s[0] for s in states]),
        np.array([s[1] for s in states]),
        np.array([s[2] for s in states]) if stepper.contact else np.zeros((len(states), 0)),
    )


def mujoco_steps(system: System, jacobian: str, steps: int) -> Callable[[], Any]:
    """A function that makes so many steps of MuJoCo from the start, and returns its ``MjData``."""
    import mujoco

    data = mujoco.MjData(system.model)

    def run() -> Any:
        system.model.opt.jacobian = JACOBIANS[jacobian]
        mujoco.mj_resetData(system.model, data)
        data.qpos[:], data.ctrl[:] = system.qpos, system.ctrl
        mujoco.mj_step(system.model, data, steps)
        return data

    return run


def our_steps(system: System, stepper: lw.Stepper, steps: int) -> Callable[[], Any]:
    """A function that makes so many steps from the start in one call."""
    held, v = commands_of(system, stepper), np.zeros(system.robot.nv)
    return lambda: stepper(system.q, v, steps=steps, **held)


def best_of(contenders: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """CPU seconds of each, the best of rounds that take turns."""
    best = dict.fromkeys(contenders, np.inf)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StateWarning)
        for _ in range(rounds):
            for name, run in contenders.items():
                start = process_time()
                run()
                best[name] = min(best[name], process_time() - start)
    return best


def batch_seconds(system: System, stepper: lw.Stepper, recorded: Record, states: int, dtype: str, rounds: int) -> float:
    """CPU seconds of a step of one state in a batch.

    States are those of the recorded motion at random times, and go on from there for `BATCH_STEPS` steps.

    Args:
        system: The scene.
        stepper: Its steps.
        recorded: The motion.
        states: States of the batch.
        dtype: Of all numbers.
        rounds: Of which the best counts.
    """
    lanes = stepper.native(cast(Any, dtype), threads=1)
    chosen = np.random.default_rng(0).integers(len(recorded.q), size=states)
    q, v = recorded.q[chosen].astype(dtype), recorded.v[chosen].astype(dtype)
    held: dict[str, Any] = {key: value.astype(dtype) for key, value in commands_of(system, stepper).items()}
    if stepper.contact:
        held["contact_state"] = recorded.contact_state[chosen].astype(dtype)
    lanes(q, v, steps=1, **held)  # compiles
    best = best_of({dtype: lambda: lanes(q, v, steps=BATCH_STEPS, **held)}, rounds)[dtype]
    return best / (BATCH_STEPS * states)


def cold_iterations(system: System, stepper: lw.Stepper, recorded: Record, states: int) -> tuple[Floats, int]:
    """Iterations of steps from the states of the motion that start from no impulses, and how many of them are missed.

    Args:
        system: The scene.
        stepper: Its steps.
        recorded: The motion.
        states: Of the motion at random times, how many at most.
    """
    chosen = np.random.default_rng(1).permutation(len(recorded.q))[: min(states, COLD)]
    contacts = stepper(recorded.q[chosen], recorded.v[chosen], **commands_of(system, stepper)).contacts
    return np.asarray(contacts.iterations, float), int(contacts.missed.sum())


def batch_size(states: int, seconds: float) -> int:
    """How many states a batch has: a power of two, fewer where steps are slow.

    Args:
        states: At most.
        seconds: Of a step of one state.
    """
    fit = int(BATCH_SECONDS / (BATCH_STEPS * seconds))
    return min(states, max(16, 1 << max(0, fit.bit_length() - 1)))
