# SPDX-License-Identifier: BSD-3-Clause
"""A hopper with a four-bar leg learns to hop at a commanded speed: proximal policy optimization, in one file, in torch.

PPO as of Schulman et al. (2017) with generalized advantages, in the manner of CleanRL. Two million steps of the
environment take one to two minutes of one core. Needs ``pip install 'linkwork[gym,plot]' torch``.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from torch import Tensor, nn

import linkwork as lw

ENVS, LENGTH = 64, 128  # environments, and steps of each between two updates
EPOCHS, MINIBATCHES, RATE = 5, 4, 1e-3
GAMMA, LAMBDA, CLIP = 0.98, 0.95, 0.2  # discount, of generalized advantages, of the ratio of probabilities
SPEEDS = (0.5, 1.5)  # commanded, in m/s
EPISODE = 500  # steps

asked = argparse.ArgumentParser(description=__doc__)
asked.add_argument("--steps", type=int, default=2_000_000, help="steps of the environment")
asked.add_argument("--seed", type=int, default=1)
asked.add_argument("--native", action="store_true", help="run steps that need no compiling, and are slower")
asked.add_argument("--out", type=Path, default=Path("out"))
options = asked.parse_args()


def network(sizes: list[int], gain: float) -> nn.Sequential:
    """Linear layers with tanh between them; the last begins small."""
    layers: list[nn.Module] = []
    for k, (one, other) in enumerate(zip(sizes[:-1], sizes[1:], strict=True)):
        linear, last = nn.Linear(one, other), k == len(sizes) - 2
        nn.init.orthogonal_(linear.weight, gain if last else 2**0.5)
        nn.init.zeros_(linear.bias)
        layers += [linear] if last else [linear, nn.Tanh()]
    return nn.Sequential(*layers)


class Policy(nn.Module):
    """A normal distribution of actions, whose mean depends on what is seen, and the value of what is seen."""

    def __init__(self, seen: int, actions: int) -> None:
        super().__init__()
        self.mean, self.critic = network([seen, 64, 64, actions], 0.01), network([seen, 64, 64, 1], 1.0)
        self.log_std = nn.Parameter(torch.full((actions,), -0.5))

    def value(self, seen: Tensor) -> Tensor:
        return self.critic(seen)[..., 0]

    def log_probability(self, seen: Tensor, action: Tensor) -> Tensor:
        """But for a constant."""
        off = (action - self.mean(seen)) / self.log_std.exp()
        return -(0.5 * off**2 + self.log_std).sum(-1)

    def sample(self, seen: Tensor) -> Tensor:
        mean = self.mean(seen)
        return mean + self.log_std.exp() * torch.randn_like(mean)


class Batch:
    """What 64 environments saw, did and earned in 128 steps."""

    def __init__(self, seen: int, actions: int) -> None:
        self.seen, self.action = torch.zeros(LENGTH, ENVS, seen), torch.zeros(LENGTH, ENVS, actions)
        self.reward, self.ended, self.value, self.log_probability = (torch.zeros(LENGTH, ENVS) for _ in range(4))

    def advantages(self, after: Tensor) -> Tensor:
        """Generalized advantages; ``after`` is the value of what was seen after the last step."""
        found, last = torch.zeros_like(self.reward), torch.zeros(ENVS)
        for t in reversed(range(LENGTH)):
            goes_on = 1.0 - self.ended[t]
            surprise = self.reward[t] + GAMMA * goes_on * after - self.value[t]
            found[t] = last = surprise + GAMMA * LAMBDA * goes_on * last
            after = self.value[t]
        return found


@torch.no_grad()
def collect(envs: lw.gym.VectorEnv, policy: Policy, batch: Batch, seen: Tensor, returns: np.ndarray) -> tuple:
    """Fill a batch; what is seen after it, and the returns of the episodes that ended."""
    finished = []
    for t in range(LENGTH):
        action = policy.sample(seen)
        batch.seen[t], batch.action[t], batch.value[t] = seen, action, policy.value(seen)
        batch.log_probability[t] = policy.log_probability(seen, action)
        after, reward, terminated, truncated, infos = envs.step(action.numpy())
        returns += reward
        batch.reward[t], ended = torch.from_numpy(reward), terminated | truncated
        batch.ended[t] = torch.from_numpy(ended)
        late = np.flatnonzero(truncated & ~terminated)
        if len(late):  # an episode that was cut off would have gone on: its last observation has a value
            last = torch.from_numpy(np.stack(list(infos["final_obs"][late])))
            batch.reward[t, late] += GAMMA * policy.value(last)
        finished += returns[ended].tolist()
        returns[ended] = 0.0
        seen = torch.from_numpy(after)
    return seen, finished


def update(policy: Policy, optimizer: torch.optim.Optimizer, batch: Batch, after: Tensor) -> None:
    """Some epochs of gradient steps on the clipped objective."""
    advantage = batch.advantages(after)
    parts = (batch.seen, batch.action, batch.log_probability, advantage, advantage + batch.value)
    seen, action, before, gain, target = (x.reshape(LENGTH * ENVS, *x.shape[2:]) for x in parts)
    for _ in range(EPOCHS):
        for rows in torch.randperm(LENGTH * ENVS).chunk(MINIBATCHES):
            ratio = (policy.log_probability(seen[rows], action[rows]) - before[rows]).exp()
            by = (gain[rows] - gain[rows].mean()) / (gain[rows].std() + 1e-8)
            actor = -torch.min(ratio * by, ratio.clamp(1 - CLIP, 1 + CLIP) * by).mean()
            critic = ((policy.value(seen[rows]) - target[rows]) ** 2).mean()
            optimizer.zero_grad()
            (actor + 0.25 * critic).backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
            optimizer.step()


@torch.no_grad()
def evaluate(policy: Policy, episodes: int = 64) -> tuple[float, float, float, float]:
    """Of episodes without noise: mean return, mean share that lasts to the end, speed error, share of time in the air."""
    envs = lw.gym.HopperVectorEnv(episodes, speed=SPEEDS, max_episode_steps=EPISODE, autoreset_mode="Disabled")
    seen, _ = envs.reset(seed=10_000)
    total, alive, off, air = np.zeros(episodes), np.ones(episodes, dtype=bool), [], []
    for _ in range(EPISODE):
        x = envs.robots.q[:, 0].copy()
        seen, reward, terminated, _, _ = envs.step(policy.mean(torch.from_numpy(seen)).numpy())
        total += np.where(alive, reward, 0.0)
        off.append((np.abs((envs.robots.q[:, 0] - x) / envs.period - envs.speed))[alive].mean())
        air.append(1.0 - seen[alive, envs.observation_names.index("touching")].mean())
        alive &= ~terminated
        if terminated.any():
            seen, _ = envs.reset(options={"reset_mask": terminated})
    return total.mean(), alive.mean(), float(np.mean(off[50:])), float(np.mean(air[50:]))


@torch.no_grad()
def film(policy: Policy, path: Path, seconds: float = 4.0) -> None:
    """Write a film of the hopper at 1 m/s, 25 pictures a second."""
    from PIL import Image

    env = lw.gym.HopperVectorEnv(1, speed=(1.0, 1.0), render_mode="rgb_array")
    seen, _ = env.reset(seed=0)
    pictures = []
    for k in range(round(seconds / env.period)):
        seen, *_ = env.step(policy.mean(torch.from_numpy(seen)).numpy())
        if k % 2 == 0:
            pictures.append(Image.fromarray(env.render()[0]).quantize(32))
    pictures[0].save(path, save_all=True, append_images=pictures[1:], duration=40, loop=0)


def main() -> None:
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)
    mode = AutoresetMode.SAME_STEP
    envs = lw.gym.HopperVectorEnv(ENVS, speed=SPEEDS, autoreset_mode=mode, compile=not options.native, threads=1)
    policy = Policy(envs.single_observation_space.shape[0], envs.single_action_space.shape[0])
    optimizer = torch.optim.Adam(policy.parameters(), lr=RATE, eps=1e-5)
    batch = Batch(envs.single_observation_space.shape[0], envs.single_action_space.shape[0])
    seen = torch.from_numpy(envs.reset(seed=1000 * options.seed)[0])
    returns, curve, start = np.zeros(ENVS), [], time.process_time()
    updates = max(1, options.steps // (ENVS * LENGTH))
    for k in range(updates):
        optimizer.param_groups[0]["lr"] = RATE * (1 - k / updates)
        seen, finished = collect(envs, policy, batch, seen, returns)
        with torch.no_grad():
            after = policy.value(seen)
        update(policy, optimizer, batch, after)
        if finished:
            curve.append(((k + 1) * ENVS * LENGTH, np.mean(finished)))
            if k % 20 == 19 or k == updates - 1:
                print(
                    f"{curve[-1][0]:8d} steps, return {curve[-1][1]:6.1f}, {time.process_time() - start:5.0f} s of CPU"
                )
    spent = time.process_time() - start
    total, lasting, off, air = evaluate(policy)
    print(
        f"{updates * ENVS * LENGTH} steps in {spent:.0f} s of CPU: {updates * ENVS * LENGTH / spent:.0f} steps a second"
    )
    print(f"64 episodes without noise: return {total:.0f} of 1000, {lasting:.0%} last to the end")
    print(f"speed is off by {off:.2f} m/s, the foot is in the air {air:.0%} of the time")
    options.out.mkdir(exist_ok=True)
    np.save(options.out / f"ppo_hopper_{options.seed}.npy", np.array(curve))
    torch.save(policy.state_dict(), options.out / f"ppo_hopper_{options.seed}.pt")
    film(policy, options.out / "ppo_hopper.gif")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3), layout="constrained")
    axes = figure.add_subplot(xlabel="steps of the environment", ylabel="return of episodes")
    axes.plot(*np.transpose(curve))
    figure.savefig(options.out / "ppo_hopper.png", dpi=120)
    print(f"{options.out}/ppo_hopper.png has the learning curve, {options.out}/ppo_hopper.gif the film")


main()
