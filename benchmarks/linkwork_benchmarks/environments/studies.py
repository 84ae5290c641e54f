# SPDX-License-Identifier: BSD-3-Clause
"""How environments are measured: contenders take turns, CPU time of one thread, the best of k rounds.

The peer is Gymnasium's ``Hopper-v5`` on MuJoCo, one environment: 4 steps of 2 ms an action with soft contacts and no
loop, beside 5 steps of 4 ms with rigid contacts and closed loops here. The work is not the same: it says what a
learner waits for.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np

from linkwork.errors import InputError
from linkwork_benchmarks.environments.scenarios import Throughput
from linkwork_benchmarks.robots import MODELS
from linkwork_benchmarks.runner import Journal, Settings, measure_by_type, say

FULL = Settings(rounds=8, clock=process_time)
QUICK = Settings(rounds=2, clock=process_time)

PEER = "Hopper-v5"
PEER_ACTIONS = 500
"""Actions of the peer in a round."""
PEER_EPISODE = 25
"""Actions of an episode of the peer without rewards: about as long as random actions last."""


def begin() -> Journal:
    """What a run writes to."""
    os.environ.setdefault("LINKWORK_MODELS", str(MODELS))
    return Journal()


def _ours(scenario: Throughput, compile: bool) -> Callable[[], int]:
    """A round of a vector environment: how many steps of environments it makes."""
    import gymnasium

    envs = gymnasium.make_vec(
        f"linkwork.gym:linkwork/{scenario.id}",
        scenario.num_envs,
        compile=compile,
        threads=1,
        autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP,
    )
    envs.reset(seed=0)
    rng = np.random.default_rng(0)
    shape = (scenario.actions, *(envs.action_space.shape or ()))

    def round_of_steps() -> int:
        for actions in rng.uniform(-1, 1, shape):
            envs.step(actions)
        return scenario.actions * scenario.num_envs

    return round_of_steps


def _peer() -> Callable[[], int]:
    import gymnasium

    env: Any = gymnasium.make(PEER)
    env.reset(seed=0)
    rng = np.random.default_rng(0)

    def round_of_steps() -> int:
        for action in rng.uniform(-1, 1, (PEER_ACTIONS, *env.action_space.shape)):
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()
        return PEER_ACTIONS

    return round_of_steps


def _peer_steps() -> Callable[[], int]:
    """The same motion by ``mj_step`` alone: no observations, no rewards."""
    import gymnasium
    import mujoco

    env: Any = gymnasium.make(PEER).unwrapped
    env.reset(seed=0)
    rng = np.random.default_rng(0)

    def round_of_steps() -> int:
        for k, action in enumerate(rng.uniform(-1, 1, (PEER_ACTIONS, *env.action_space.shape))):
            if k % PEER_EPISODE == 0:
                mujoco.mj_resetData(env.model, env.data)
            env.data.ctrl[:] = action
            mujoco.mj_step(env.model, env.data, nstep=env.frame_skip)
        return PEER_ACTIONS

    return round_of_steps


def _throughput(scenario: Throughput, settings: Settings, journal: Journal) -> None:
    try:
        rounds = {"native": _ours(scenario, False)}
        if scenario.compiled:
            rounds["compiled"] = _ours(scenario, True)
    except InputError as missing:  # a model file
        raise FileNotFoundError(str(missing)) from missing
    rounds[PEER], rounds["mj_step"] = _peer(), _peer_steps()
    best = dict.fromkeys(rounds, np.inf)
    for _ in range(settings.rounds):
        for name, make in rounds.items():
            start = settings.clock()
            made = make()
            best[name] = min(best[name], (settings.clock() - start) / made)
    for name, seconds in best.items():
        journal.metrics[f"{scenario.name}.{name}.us"] = 1e6 * seconds
        journal.metrics[f"{scenario.name}.{name}.ratio"] = best[PEER] / seconds
        say(f"  {name:<12}{1e6 * seconds:9.2f} µs, {1 / seconds:12,.0f} steps a second")


measure = measure_by_type({Throughput: _throughput})
