# SPDX-License-Identifier: BSD-3-Clause
"""Gradients through simulation in torch: masses of a four-bar from its motion, and a network that drives many."""

from pathlib import Path

import numpy as np
import torch
from matplotlib import pyplot as plt

import linkwork as lw

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
four_bar = lw.zoo.four_bar()
start = torch.tensor(four_bar.poses["assembled"])
stepper = lw.Stepper(four_bar, dt=5e-3, parameters=["mass", "damping"]).compile()
step = lw.torch.function(stepper, by=["q", "v", "tau", "mass"])
friction = torch.tensor([0.02, 0.0, 0.0])


def rollout(torque, mass, count):
    """Angles and velocities of the crank in so many steps; the crank is driven, the rest follows its loop."""
    batch = mass.shape[0]
    q, v = start.expand(batch, -1), torch.zeros(batch, four_bar.nv)
    angles, velocities = [], []
    for k in range(count):
        tau = torch.nn.functional.pad(torque(k, q, v), (0, four_bar.nv - 1))
        q, v = step(q, v, tau, mass=mass, damping=friction)
        angles.append(q[:, 0])
        velocities.append(v[:, 0])
    return torch.stack(angles), torch.stack(velocities)


# Masses from motion: eight runs of 200 steps under torques that are known, angles of the crank that were measured.
own = torch.tensor(np.array(four_bar.parameters["mass"]))
true = own * torch.tensor([1.4, 0.7, 1.2])
pushes = 0.5 * torch.randn(10, 8, 1)


def push(k, q, v):
    """Torques that were recorded: another one every 20 steps."""
    return pushes[k // 20]


with torch.no_grad():
    measured, _ = rollout(push, true.expand(8, -1), 200)
logarithm = own.log().requires_grad_()  # masses are above zero
optimizer = torch.optim.LBFGS([logarithm], max_iter=50, line_search_fn="strong_wolfe")


def misfit():
    """Squares of what the crank is off, and their gradient through all steps."""
    optimizer.zero_grad()
    angles, _ = rollout(push, logarithm.exp().expand(8, -1), 200)
    loss = (angles - measured).square().mean()
    loss.backward()
    return loss


before = misfit().item()
optimizer.step(misfit)
after, found = misfit().item(), logarithm.detach().exp()
print(f"crank off by {before**0.5:.3f} rad with the masses of the model, by {after**0.5:.0e} rad with those found")
print(f"masses {np.round(found.numpy(), 3)} kg, off by {(found - true).abs().max():.0e}")

# A network holds the speed of the crank, through dead centers of the load, on 32 four-bars with masses of their own.
masses = own * (0.6 + 0.8 * torch.rand(32, 3))
wanted = 6.0
network = torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
adam = torch.optim.Adam(network.parameters(), lr=0.03)


def drive(k, q, v):
    """What the network does: it sees where the crank is, and how fast."""
    return 2.0 * network(torch.stack((q[:, 0].cos(), q[:, 0].sin(), v[:, 0] - wanted), dim=-1))


curves = []
for iteration in range(60):
    _, speed = rollout(drive, masses, 120)
    loss = (speed[40:] - wanted).square().mean()
    adam.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
    adam.step()
    if iteration in (0, 59):
        curves.append(speed.detach().numpy())
        print(f"iteration {iteration:2d}: speed of the crank off {wanted:g} rad/s by {loss.item() ** 0.5:.2f} rad/s")

figure, axes = plt.subplots(1, 2, figsize=(9, 3.5), sharey=True, layout="constrained")
for ax, curve, title in zip(axes, curves, ("before", "after 60 iterations"), strict=True):
    ax.plot(5e-3 * np.arange(1, len(curve) + 1, 2), curve[::2], color="C0", alpha=0.3, linewidth=1)
    ax.axhline(wanted, color="0.7", linestyle="--")
    ax.set(xlabel="t, s", title=title)
axes[0].set_ylabel("speed of the crank, rad/s")
Path("out").mkdir(exist_ok=True)
figure.savefig("out/learning_through_steps.png", dpi=120)
print("out/learning_through_steps.png has the speeds of all cranks")
