# SPDX-License-Identifier: BSD-3-Clause
"""A hopper with a four-bar leg learns to hop at a commanded speed: proximal policy optimization, in one file, in torch.

PPO as of Schulman et al. (2017) with generalized advantages, in the manner of CleanRL. Two million steps of the
environment take one to two minutes of one core. Needs ``pip install 'linkwork[gym,plot]' torch``.
"""

import argparse
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from matplotlib.figure import Figure
from PIL import Image
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
asked.add_argument("--film", type=float, default=3.0, help="seconds of the film")
asked.add_argument("--out", type=Path, default=Path("out"))
options = asked.parse_args()


def network(sizes: list[int], gain: float) -> nn.Sequential:
    """Linear layers with tanh between them; the last begins small."""
    layers: list[nn.Module] = []
    for k, (one, other) in enumerate(pairwise(sizes)):
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
        """What is yet to come."""
        return self.critic(seen)[..., 0]

    def log_probability(self, seen: Tensor, action: Tensor) -> Tensor:
        """But for a constant."""
        off = (action - self.mean(seen)) / self.log_std.exp()
        return -(0.5 * off**2 + self.log_std).sum(-1)

    def sample(self, seen: Tensor) -> Tensor:
        """Actions, drawn."""
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
def evaluate(policy: Policy, episodes: int = 64) -> tuple[float, ...]:
    """Without noise: mean return, share of episodes that last, mean error of speed, share of time in the air."""
    envs = lw.gym.HopperVectorEnv(episodes, speed=SPEEDS, autoreset_mode=AutoresetMode.SAME_STEP)
    seen, total, alive, off, air = envs.reset(seed=10_000)[0], np.zeros(episodes), np.ones(episodes, bool), [], []
    for _ in range(EPISODE):
        x = envs.robots.q[:, 0].copy()
        seen, reward, terminated, _, _ = envs.step(policy.mean(torch.from_numpy(seen)).numpy())
        total += np.where(alive, reward, 0.0)
        alive &= ~terminated
        off += np.abs((envs.robots.q[:, 0] - x) / envs.period - envs.speed)[alive & (envs.elapsed > 0)].tolist()
        air += (1.0 - seen[alive, envs.observation_names.index("touching")]).tolist()
    return tuple(float(np.mean(x)) for x in (total, alive, off or [np.inf], air or [0.0]))


@torch.no_grad()
def film(policy: Policy, path: Path) -> None:
    """Write a film of the hopper at 1 m/s, 25 pictures a second."""
    env = lw.gym.HopperVectorEnv(1, speed=(1.0, 1.0), render_mode="rgb_array")
    env.camera = replace(env.camera, size=(360, 240))
    seen, pictures = env.reset(seed=0)[0], []
    for k in range(round(options.film / env.period)):
        seen, *_ = env.step(policy.mean(torch.from_numpy(seen)).numpy())
        if k % 2 == 0:
            pictures.append(Image.fromarray(env.render()[0]).quantize(16, dither=Image.Dither.NONE))
    pictures[0].save(path, save_all=True, append_images=pictures[1:], duration=40, loop=0)


def main() -> None:
    """Learn, evaluate, draw the learning curve, film."""
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)
    how = {"autoreset_mode": AutoresetMode.SAME_STEP, "compile": not options.native, "threads": 1}
    envs = lw.gym.HopperVectorEnv(ENVS, speed=SPEEDS, max_episode_steps=EPISODE, **how)
    sizes = len(envs.observation_names), len(envs.action_names)
    policy, batch = Policy(*sizes), Batch(*sizes)
    optimizer = torch.optim.Adam(policy.parameters(), lr=RATE, eps=1e-5)
    seen, returns, curve = torch.from_numpy(envs.reset(seed=1000 * options.seed)[0]), np.zeros(ENVS), []
    updates, start = max(1, options.steps // (ENVS * LENGTH)), time.process_time()
    for k in range(updates):
        optimizer.param_groups[0]["lr"] = RATE * (1 - k / updates)
        seen, finished = collect(envs, policy, batch, seen, returns)
        update(policy, optimizer, batch, policy.value(seen).detach())
        curve += [((k + 1) * ENVS * LENGTH, np.mean(finished))] if finished else []
        if curve and (k % 20 == 19 or k == updates - 1):
            print(f"{curve[-1][0]:8d} steps, return {curve[-1][1]:6.1f}, {time.process_time() - start:5.0f} s of CPU")
    spent, steps = time.process_time() - start, updates * ENVS * LENGTH
    total, lasting, off, air = evaluate(policy)
    print(f"{steps} steps in {spent:.0f} s of CPU: {steps / spent:.0f} steps a second")
    print(f"64 episodes without noise: return {total:.0f} of at most 1000, {lasting:.0%} last to the end")
    print(f"speed is off by {off:.2f} m/s, the foot is in the air {air:.0%} of the time")
    options.out.mkdir(exist_ok=True)
    np.save(options.out / "ppo_hopper.npy", np.array(curve))
    torch.save(policy.state_dict(), options.out / "ppo_hopper.pt")
    figure = Figure(figsize=(6, 3), layout="constrained")
    axes = figure.add_subplot(xlabel="steps of the environment", ylabel="return of episodes")
    axes.plot(*np.transpose(curve))
    figure.savefig(options.out / "ppo_hopper.png", dpi=120)
    film(policy, options.out / "ppo_hopper.gif")
    print(f"{options.out}/ppo_hopper.png has the learning curve, {options.out}/ppo_hopper.gif the film")


main()
