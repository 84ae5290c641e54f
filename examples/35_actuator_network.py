# SPDX-License-Identifier: BSD-3-Clause
"""An actuator network: torques of a motor that was measured, learned in torch, and simulated in place of its law.

The motor that is measured has a delay, a torque-speed curve and Stribeck friction. A network sees errors and rates of
three steps, as those of ANYmal did (Hwangbo et al., 2019), and then drives a pendulum that it has not seen.
"""

import numpy as np
import torch
from torch import nn

import linkwork as lw
from linkwork.actuators import Motor, Network

DT, HISTORY, SCALE = 5e-3, (0, 1, 2), 10.0  # seconds, steps ago, N m
SERVO = {"gain": (40.0, 0, 0), "bias": (0, -40.0, -1.0), "force_limits": (-15.0, 15.0)}
REAL = Motor(stall=20.0, no_load=15.0, coulomb=0.6, static=0.9, stribeck=0.3, smoothing=0.05, delay=1.5)
rng = np.random.default_rng(0)
torch.manual_seed(0)


def joint(motor: Motor | None, mass: float = 1.0) -> lw.Mechanism:
    """A rod on a servo with this motor."""
    build = lw.Builder("joint")
    build.body("rod", lw.Inertia.rod(mass, (0, 0, 0), (0, 0, -0.5)))
    build.joint("hinge", lw.joints.Revolute("y"), "world", "rod", armature=0.05)
    build.actuator("servo", "hinge", motor=motor, **SERVO)
    return build.build()


def commands(count: int, robots: int) -> np.ndarray:
    """Sums of three sines and a step every half second."""
    time, speed = DT * np.arange(count)[:, None, None], rng.uniform(2.0, 25.0, (robots, 3))
    sines = (rng.uniform(0.05, 0.4, (robots, 3)) * np.sin(speed * time)).sum(-1)
    return sines + rng.uniform(-0.5, 0.5, (count // 100 + 1, robots)).repeat(100, axis=0)[:count]


def run(robot: lw.Mechanism, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Angles and rates before each step, and torques of the motor in it, of as many robots as there are commands."""
    step = lw.Stepper(robot, dt=DT)
    q, v, act = np.zeros((u.shape[1], 1)), np.zeros((u.shape[1], 1)), np.zeros((u.shape[1], robot.na))
    rows = []
    for now in u[..., None]:
        torque = lw.actuators.actuator_torques(robot, q, v, now, act)
        rows.append((q[:, 0], v[:, 0], torque[:, 0]))
        after = step(q, v, commands=now, act=act)
        q, v, act = after.q, after.v, after.act
    return tuple(np.array(x) for x in zip(*rows, strict=True))


def seen(q: np.ndarray, v: np.ndarray, u: np.ndarray) -> torch.Tensor:
    """What the network reads: errors, then rates, of this step and those before."""
    first = max(HISTORY)
    columns = [x[first - lag : len(x) - lag] for x in (u - q, v) for lag in HISTORY]
    return torch.tensor(np.stack(columns, axis=-1), dtype=torch.float32)


u = commands(600, 40)
q, v, torque = run(joint(REAL), u)
inputs, target = seen(q, v, u), torch.tensor(torque[max(HISTORY) :] / SCALE, dtype=torch.float32)
inputs, target = inputs.reshape(-1, inputs.shape[-1]), target.reshape(-1)
network = nn.Sequential(nn.Linear(6, 32), nn.Softsign(), nn.Linear(32, 32), nn.Softsign(), nn.Linear(32, 1))
adam = torch.optim.Adam(network.parameters(), lr=5e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(adam, 1500)
for _ in range(1500):
    rows = torch.randint(len(inputs), (2048,))
    loss = (network(inputs[rows])[:, 0] - target[rows]).square().mean()
    adam.zero_grad()
    loss.backward()
    adam.step()
    schedule.step()
print(f"torques of {len(inputs)} steps: off by {SCALE * loss.item() ** 0.5:.2f} N m, of {np.std(torque):.2f} N m")

# The network in place of the law: in compiled steps, in batches, and as randomized robots.
learned = Motor(network=Network.from_torch(network, HISTORY, scale=SCALE))
new = commands(400, 20)
truth, ideal, model = (run(joint(motor, mass=1.3), new)[0] for motor in (REAL, None, learned))
for name, angles in (("the servo alone", ideal), ("the network", model)):
    print(f"a rod of 1.3 kg: {name} is off by {np.sqrt(np.mean((angles - truth) ** 2)):.4f} rad")
stepper = lw.Stepper(joint(learned), dt=DT, parameters=["motor_network"])
weak, strong = stepper(np.zeros((2, 1)), np.zeros((2, 1)), commands=[0.5], act=np.zeros(4), steps=20,
                       motor_network=SCALE * np.array([[0.8], [1.2]])).q[:, 0]  # fmt: skip
print(f"with 80 % of its torque it comes to {weak:.3f} rad in 0.1 s, with 120 % to {strong:.3f}")
