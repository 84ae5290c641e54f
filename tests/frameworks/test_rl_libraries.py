# SPDX-License-Identifier: BSD-3-Clause
"""Vector environments of other libraries are the environments themselves: the same numbers, by their conventions.

Libraries that are not installed are skipped; skrl takes vector environments of Gymnasium as they are.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import linkwork as lw

pytest.importorskip("gymnasium")
torch = pytest.importorskip("torch")

from linkwork.gym import AutoresetMode, HopperVectorEnv  # noqa: E402

N, STEPS = 6, 12
"""Environments; steps, in which the short episodes of `hoppers` end."""


def hoppers(mode: AutoresetMode = AutoresetMode.SAME_STEP, **options: Any) -> HopperVectorEnv:
    return HopperVectorEnv(N, autoreset_mode=mode, **({"max_episode_steps": 5} | options))


def actions() -> Any:
    return np.random.default_rng(0).uniform(-1, 1, (STEPS, N, 2)).astype(np.float32)


def test_stable_baselines_sees_what_the_environment_gives() -> None:
    pytest.importorskip("stable_baselines3")
    ours, theirs = hoppers(), lw.rl.StableBaselinesVecEnv(hoppers())
    theirs.seed(4)
    np.testing.assert_array_equal(theirs.reset(), ours.reset(seed=4)[0])
    late = 0
    for u in actions():
        seen, rewards, terminated, truncated, infos = ours.step(u)
        observations, gained, ended, each = theirs.step(u)
        np.testing.assert_array_equal(observations, seen)
        np.testing.assert_array_equal(gained, rewards.astype(np.float32))
        np.testing.assert_array_equal(ended, terminated | truncated)
        for k in np.flatnonzero(ended):
            np.testing.assert_array_equal(each[k]["terminal_observation"], infos["final_obs"][k])
            assert each[k]["TimeLimit.truncated"] == (truncated[k] and not terminated[k])
            late += each[k]["TimeLimit.truncated"]
    assert late > 0


def test_stable_baselines_checks_one_environment() -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checker.check_env(lw.gym.HopperEnv())


def test_stable_baselines_trains() -> None:
    sb3 = pytest.importorskip("stable_baselines3")
    envs = lw.rl.StableBaselinesVecEnv(hoppers())
    model = sb3.PPO("MlpPolicy", envs, n_steps=8, batch_size=N * 8, n_epochs=1, device="cpu").learn(N * 8)
    assert model.num_timesteps == N * 8
    assert envs.get_attr("period") == [0.02] * N
    assert envs.env_is_wrapped(object) == [False] * N


def test_rsl_rl_sees_what_the_environment_gives() -> None:
    pytest.importorskip("rsl_rl")
    ours, theirs = hoppers(), lw.rl.RslRlVecEnv(hoppers(), seed=4)
    np.testing.assert_array_equal(theirs.get_observations()["policy"].numpy(), ours.reset(seed=4)[0])
    theirs.episode_length_buf = torch.arange(N)  # as `init_at_random_ep_len`
    ours.elapsed[:] = np.arange(N)
    for u in actions():
        seen, rewards, terminated, truncated, _ = ours.step(u)
        observations, gained, ended, extras = theirs.step(torch.as_tensor(u))
        np.testing.assert_array_equal(observations["policy"].numpy(), seen)
        np.testing.assert_array_equal(gained.numpy(), rewards.astype(np.float32))
        np.testing.assert_array_equal(ended.numpy(), terminated | truncated)
        np.testing.assert_array_equal(extras["time_outs"].numpy(), truncated & ~terminated)
    assert set(extras["log"]) <= {f"/{name}" for name in ours.reward_names}


def test_torchrl_accepts_the_environment() -> None:
    pytest.importorskip("torchrl")
    from torchrl.envs.utils import check_env_specs

    env = lw.rl.TorchRLEnv(hoppers(AutoresetMode.DISABLED))
    check_env_specs(env)
    env.set_seed(4)
    rollout = env.rollout(STEPS, break_when_any_done=False)
    ours = hoppers(AutoresetMode.DISABLED)
    seen, _ = ours.reset(seed=4)
    for t in range(STEPS):
        np.testing.assert_array_equal(rollout["observation"][:, t].numpy(), seen)
        seen, rewards, terminated, truncated, _ = ours.step(rollout["action"][:, t].numpy())
        np.testing.assert_array_equal(rollout["next", "observation"][:, t].numpy(), seen)
        np.testing.assert_array_equal(rollout["next", "reward"][:, t, 0].numpy(), rewards.astype(np.float32))
        if (terminated | truncated).any():
            seen, _ = ours.reset(options={"reset_mask": terminated | truncated})


def test_skrl_takes_the_environment_as_it_is() -> None:
    wrappers = pytest.importorskip("skrl.envs.wrappers.torch")
    env = wrappers.wrap_env(hoppers(), wrapper="gymnasium")
    seen, _ = env.reset()
    assert tuple(seen.shape) == (N, 12)
    assert tuple(env.step(torch.zeros(N, 2))[1].shape) == (N, 1)


@pytest.mark.parametrize(
    ("library", "name", "needed", "mode"),
    [
        ("stable_baselines3", "StableBaselinesVecEnv", "SAME_STEP", AutoresetMode.NEXT_STEP),
        ("rsl_rl", "RslRlVecEnv", "SAME_STEP", AutoresetMode.DISABLED),
        ("torchrl", "TorchRLEnv", "DISABLED", AutoresetMode.SAME_STEP),
    ],
)
def test_another_autoreset_mode_is_an_error(library: str, name: str, needed: str, mode: AutoresetMode) -> None:
    pytest.importorskip(library)
    with pytest.raises(lw.errors.InputError, match=f"needs {needed}: make the environment with autoreset_mode="):
        getattr(lw.rl, name)(hoppers(mode))
    with pytest.raises(lw.errors.InputError, match=r"takes a linkwork\.gym\.VectorEnv"):
        getattr(lw.rl, name)(None)


def test_episodes_without_end_are_an_error_for_rsl_rl() -> None:
    pytest.importorskip("rsl_rl")
    with pytest.raises(lw.errors.InputError, match="max_episode_steps is None"):
        lw.rl.RslRlVecEnv(hoppers(max_episode_steps=None))


@pytest.mark.parametrize(
    ("library", "module"),
    [("stable_baselines3.common.vec_env", "stable_baselines3"), ("rsl_rl.env", "rsl_rl"), ("torchrl.envs", "torchrl")],
)
def test_an_absent_library_is_named(library: str, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys
    from importlib import import_module

    monkeypatch.delitem(sys.modules, f"linkwork.rl.{module}", raising=False)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(lw.errors.UnsupportedFeature, match="pip install"):
        import_module(f"linkwork.rl.{module}")
