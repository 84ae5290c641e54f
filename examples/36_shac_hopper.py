# SPDX-License-Identifier: BSD-3-Clause
"""A hopper with a four-bar leg learns to hop by gradients through its steps, contacts included: SHAC in torch.

Short-horizon actor-critic, Xu et al. (2022): the actor climbs the gradient of the return of eight actions, forty steps
of the simulation, with a critic's value behind them. Two changes let it learn here. Its objective is the mean over
horizons (``LAMBDA``): of a robot that falls within eight actions the values before count, too, whose gradients lead
away from the fall. And gradients by each action of a robot are clipped (``CLIP``): those through an impact would
outweigh all others. The reward to learn from is that of `HopperVectorEnv` but for terms that are flat far from their
target. Needs ``pip install 'linkwork[gym,plot]' torch``.
"""

import argparse
import copy
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from matplotlib.figure import Figure
from torch import Tensor, nn

import linkwork as lw
from linkwork.gym.hopper import CRANK, HIP, PITCH, X, Z

ROBOTS, HORIZON = 128, 8  # robots, and actions of each between two updates
RATE, GAMMA, LAMBDA = 2e-3, 0.98, 0.9  # learning rate, discount, weight of longer horizons
CLIP, NORM = 0.02, 1.0  # of gradients by one robot's action, by all weights
CRITIC_EPOCHS, MINIBATCHES, TARGET = 8, 4, 0.8  # of the critic; part of it that its target takes over
SPEEDS, EPISODE = (0.5, 1.5), 500  # commanded, in m/s; actions of an episode

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=1_000_000, help="steps of the environment")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--native", action="store_true", help="run steps that need no compiling, and are slower")
parser.add_argument("--out", type=Path, default=Path("out"))
options = parser.parse_args()


class Hoppers:
    """Robots of `HopperVectorEnv` as tensors: what they observe and earn is differentiable by their actions."""

    def __init__(self, count: int, seed: int) -> None:
        self.envs = lw.gym.HopperVectorEnv(count, speed=SPEEDS, compile=not options.native, threads=1)
        robot = self.envs.robot
        self.step_function = lw.torch.function(self.envs.robots.stepper, by=["q", "v", "commands"])
        self.rest, self.rng = torch.tensor(robot.poses["assembled"]), np.random.default_rng(seed)
        self.joints = [robot.q_index(name) for name in ("hip", "crank", "knee")]
        self.q, self.v, self.tau = (torch.zeros(count, n) for n in (robot.nq, robot.nv, robot.nv))
        self.speed, self.last, self.elapsed = torch.zeros(count), torch.zeros(count, 2), torch.zeros(count)
        self.start(torch.ones(count, dtype=torch.bool))
        self.elapsed = torch.randint(EPISODE, (count,)).float()  # not all are truncated at the same time

    def start(self, mask: Tensor) -> None:
        """Start episodes anew: no gradient goes beyond."""
        rows = np.flatnonzero(mask.numpy())
        q, v = torch.zeros_like(self.q), torch.zeros_like(self.v)
        started = self.envs.start(rows, self.rng.random((len(rows), self.envs.draws)))
        q[rows], v[rows] = map(torch.from_numpy, started)
        self.q, self.v = torch.where(mask[:, None], q, self.q), torch.where(mask[:, None], v, self.v)
        self.last = torch.where(mask[:, None], torch.zeros(2), self.last)
        self.speed, self.elapsed = torch.from_numpy(self.envs.speed.copy()), torch.where(mask, 0.0, self.elapsed)

    def observe(self) -> Tensor:
        """All of `HopperVectorEnv.observation_names` but ``touching``, which has no derivative."""
        q, v, (hip, crank, _) = self.q, self.v, self.joints
        angles = (q - self.rest)[:, self.joints].unbind(-1)
        rates = (v[:, X], v[:, Z], 0.2 * v[:, PITCH], 0.1 * v[:, hip], 0.1 * v[:, crank])
        return torch.stack((5.0 * (q[:, Z] - self.rest[Z]), q[:, PITCH], *angles, *rates, self.speed), dim=-1)

    def step(self, action: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Reward to learn from, that of the environment, and which robots fell or are truncated."""
        x, commands = self.q[:, X], self.rest[self.joints[:2]] + action * torch.tensor([HIP, CRANK])
        for _ in range(self.envs.steps_per_action):
            self.q, self.v = self.step_function(self.q, self.v, self.tau, commands=commands)
        error = (self.q[:, X] - x) / self.envs.period - self.speed
        height, pitch = (self.q[:, Z] - self.rest[Z]) / 0.15, self.q[:, PITCH]
        effort = 0.02 * (action.square().sum(-1) + (action - self.last).square().sum(-1))
        speed, upright = torch.exp(-4.0 * error**2), torch.exp(-10.0 * pitch**2)
        reward = (speed + 0.5 * height.clamp(0.0, 1.0) + 0.5 * upright - effort).detach()
        smooth = 0.5 * (speed + 1.0 / (1.0 + error**2)) + 0.5 * height.clamp(max=1.0) + 0.5 * (1.0 - (pitch / 0.8) ** 2)
        self.last, self.elapsed = action, self.elapsed + 1
        fell = (self.q[:, Z] < 0.2) | (pitch.abs() > 0.8)
        return smooth - effort, reward, fell, (self.elapsed >= EPISODE) & ~fell


def network(sizes: list[int], gain: float) -> nn.Sequential:
    """Linear layers, smooth between them; the last begins small."""
    layers: list[nn.Module] = []
    for k, (one, other) in enumerate(pairwise(sizes)):
        linear, last = nn.Linear(one, other), k == len(sizes) - 2
        nn.init.orthogonal_(linear.weight, gain if last else 2**0.5)
        nn.init.zeros_(linear.bias)
        layers += [linear] if last else [linear, nn.ELU(), nn.LayerNorm(other)]
    return nn.Sequential(*layers)


class Actor(nn.Module):
    """Actions: tanh of a normal distribution whose mean depends on what is observed."""

    def __init__(self, observed: int) -> None:
        super().__init__()
        self.mean, self.log_std = network([observed, 64, 64, 2], 0.01), nn.Parameter(torch.full((2,), -1.0))

    def forward(self, observed: Tensor) -> Tensor:
        """Actions with noise, which gradients go through."""
        mean = self.mean(observed)
        return torch.tanh(mean + self.log_std.clamp(-3.0, 0.0).exp() * torch.randn_like(mean))


def clipped(gradient: Tensor) -> Tensor:
    """Rows no longer than `CLIP`."""
    return gradient * (CLIP / gradient.norm(dim=-1, keepdim=True).clamp(min=CLIP))


def returns(rewards: list[Tensor], values: list[Tensor], ends: list[Tensor]) -> list[Tensor]:
    """Means of the returns of all horizons from each action on, TD(λ); ``values`` are those after the action."""
    after, result = values[-1], []
    for reward, value, end in zip(rewards[::-1], values[::-1], ends[::-1], strict=True):
        after = reward + GAMMA * torch.where(end, value, (1 - LAMBDA) * value + LAMBDA * after)
        result.append(after)
    return result[::-1]


@torch.no_grad()
def evaluate(actor: Actor, episodes: int = 64) -> tuple[float, float]:
    """Mean return in the environment without noise, and the share of episodes that last."""
    how = {"autoreset_mode": AutoresetMode.SAME_STEP, "compile": not options.native, "threads": 1}
    envs = lw.gym.HopperVectorEnv(episodes, speed=SPEEDS, **how)
    seen, total, alive = envs.reset(seed=10_000)[0], np.zeros(episodes), np.ones(episodes, bool)
    columns = [name != "touching" for name in envs.observation_names]
    for _ in range(EPISODE):
        seen, reward, terminated, _, _ = envs.step(
            actor.mean(torch.from_numpy(seen[:, columns]).double()).tanh().numpy()
        )
        total += np.where(alive, reward, 0.0)
        alive &= ~terminated
    return float(total.mean()), float(alive.mean())


def main() -> None:
    """Learn, evaluate, draw the learning curve."""
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)
    robots = Hoppers(ROBOTS, options.seed)
    observed = robots.observe().shape[1]
    actor, critic = Actor(observed), network([observed, 64, 64, 1], 1.0)
    target = copy.deepcopy(critic)
    optimizers = [torch.optim.Adam(x.parameters(), lr=RATE, betas=(0.7, 0.95)) for x in (actor, critic)]
    total, curve, start = torch.zeros(ROBOTS), [], time.process_time()
    updates = max(1, options.steps // (ROBOTS * HORIZON))
    for k in range(updates):
        for optimizer in optimizers:
            optimizer.param_groups[0]["lr"] = RATE * max(1 - k / updates, 0.02)
        robots.q, robots.v, robots.last = robots.q.detach(), robots.v.detach(), robots.last.detach()
        seen, rewards, values, ends, finished = [], [], [], [], []
        for t in range(HORIZON):
            seen.append(robots.observe())
            action = actor(seen[-1])
            action.register_hook(clipped)
            smooth, reward, fell, late = robots.step(action)
            rewards.append(smooth)
            values.append(
                torch.where(fell, 0.0, target(robots.observe())[:, 0])
            )  # a fall is the end, a time limit is not
            total, done = total + reward, fell | late
            ends.append(done | (t == HORIZON - 1))
            finished += total[done].tolist()
            total = torch.where(done, 0.0, total)
            robots.start(done)
        goals = returns(rewards, values, ends)
        optimizers[0].zero_grad()
        (-torch.stack(goals).mean()).backward()
        nn.utils.clip_grad_norm_(actor.parameters(), NORM)
        optimizers[0].step()
        before, goal = torch.cat(seen).detach(), torch.cat(goals).detach()
        for _ in range(CRITIC_EPOCHS):
            for rows in torch.randperm(len(goal)).chunk(MINIBATCHES):
                optimizers[1].zero_grad()
                (critic(before[rows])[:, 0] - goal[rows]).square().mean().backward()
                nn.utils.clip_grad_norm_(critic.parameters(), NORM)
                optimizers[1].step()
        for x, y in zip(target.parameters(), critic.parameters(), strict=True):
            x.data.lerp_(y.data, TARGET)
        curve += [((k + 1) * ROBOTS * HORIZON, np.mean(finished), len(finished))] if finished else []
        if curve and (k % 100 == 99 or k == updates - 1):
            mean = np.average([x[1] for x in curve[-20:]], weights=[x[2] for x in curve[-20:]])
            print(
                f"{curve[-1][0]:8d} steps, return {mean:6.1f}, {time.process_time() - start:5.0f} s of CPU", flush=True
            )
    spent = time.process_time() - start
    print(f"{updates * ROBOTS * HORIZON} steps in {spent:.0f} s of CPU")
    print("64 episodes without noise: return {:.0f} of at most 1000, {:.0%} last to the end".format(*evaluate(actor)))
    options.out.mkdir(exist_ok=True)
    np.save(options.out / "shac_hopper.npy", np.array(curve))
    figure = Figure(figsize=(6, 3), layout="constrained")
    axes = figure.add_subplot(xlabel="steps of the environment", ylabel="return of episodes")
    axes.plot(*np.transpose(curve)[:2])
    figure.savefig(options.out / "shac_hopper.png", dpi=120)
    print(f"{options.out}/shac_hopper.png has the learning curve")


main()
