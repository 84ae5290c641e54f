# SPDX-License-Identifier: BSD-3-Clause
"""Networks as actuators: forces of torch's own layers, in steps on CPUs and in kernels of GPUs."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.actuators import LSTM, Layer, Motor, Network
from linkwork.errors import ModelError, UnsupportedFeature

torch = pytest.importorskip("torch")
nn = torch.nn

HISTORY = (0, 1, 3)
SCALES = {"error_scale": -1.0, "rate_scale": 0.4, "scale": 3.0}
INERTIA, DT = 0.5, 0.01


class Recurrent(nn.Module):
    """A memory of two layers, and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(2, 5, num_layers=2, batch_first=True)
        self.head = nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 1))

    def forward(self, x: Any) -> Any:
        return self.head(self.lstm(x)[0])


def layers(*between: Any) -> Any:
    sizes = [2 * len(HISTORY), *[7] * len(between), 1]
    parts = [nn.Linear(*pair) for pair in pairwise(sizes)]
    return nn.Sequential(*(x for part, one in zip(parts, between, strict=False) for x in (part, one)), parts[-1])


MODULES = {
    "softsign": lambda: layers(nn.Softsign(), nn.Softsign()),
    "tanh and elu": lambda: layers(nn.Tanh(), nn.ELU(), nn.SiLU()),
    "sigmoid": lambda: layers(nn.Sigmoid()),
    "memory": Recurrent,
}


def module(name: str) -> Any:
    torch.manual_seed(0)
    return MODULES[name]().double()


def network(name: str) -> Network:
    return Network.from_torch(module(name), (0,) if name == "memory" else HISTORY, **SCALES)


def wheels(*motors: Motor) -> lw.Mechanism:
    """Flywheels, each on a motor of its own."""
    build = lw.Builder("wheels", gravity=(0, 0, 0))
    for k, motor in enumerate(motors):
        build.body(f"rim{k}", lw.Inertia(1.0, (0, 0, 0), INERTIA * np.eye(3)))
        build.joint(f"axle{k}", lw.joints.Revolute("z"), "world", f"rim{k}", actuated=True)
        build.actuator(f"motor{k}", f"axle{k}", motor=motor)
    return build.build()


def forces(name: str, errors: Any, rates: Any) -> Any:
    """What torch makes of the errors and rates of all steps so far: the force of the last."""
    e, r = SCALES["error_scale"] * np.array(errors), SCALES["rate_scale"] * np.array(rates)
    lags = [0] if name == "memory" else HISTORY
    at = [[x[k - lag] if k >= lag else 0 * x[0] for x in (e, r) for lag in lags] for k in range(len(e))]
    x = torch.tensor(np.stack([np.stack(row, axis=-1) for row in at], axis=-2))  # (..., steps, inputs)
    with torch.no_grad():
        return SCALES["scale"] * module(name)(x)[..., -1, 0].numpy()


@pytest.mark.parametrize("name", MODULES)
def test_forces_are_those_of_torch(name: str) -> None:
    robot, rng = wheels(Motor(network=network(name))), np.random.default_rng(0)
    step = lw.Stepper(robot, dt=DT)
    u = rng.normal(size=(12, 10, 1))
    q, v, act = rng.normal(size=(10, 1)), rng.normal(size=(10, 1)), np.zeros((10, robot.na))
    errors, rates = list[Any](), list[Any]()
    for command in u:
        errors.append((command - q)[:, 0])
        rates.append(v[:, 0])
        result: Any = step(q, v, commands=command, act=act)
        one: Any = step.plain()(q[3], v[3], commands=command[3], act=act[3])
        np.testing.assert_allclose(INERTIA * (result.v - v)[:, 0] / DT, forces(name, errors, rates), atol=1e-11)
        np.testing.assert_allclose(one.v, result.v[3], atol=1e-12)
        q, v, act = result.q, result.v, result.act


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_simulations_have_a_memory_for_every_robot(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Motors that share a network, one behind a delay, in single precision: lanes, and code of GPUs."""
    if device == "cuda":
        from tests.compilers.test_cuda_warps import Assign
        from tests.support.cuda_on_host import use_host_simulations

        use_host_simulations(monkeypatch, Assign)
    mlp, lstm = network("tanh and elu"), network("memory")
    robot = wheels(Motor(network=mlp), Motor(network=lstm, delay=1.0), Motor(network=mlp, stall=0.5))
    rng = np.random.default_rng(0)
    q, u = rng.normal(size=(9, 3)), rng.normal(size=(9, 3)).astype(np.float32)
    sim = lw.Simulation(robot, 9, q=q, dt=DT, device=device, dtype="float32", compile=False)
    sim.step(commands=u if device == "cpu" else lw.devices.to_device(u), steps=15)
    step = lw.Stepper(robot, dt=DT)
    expected: Any = step(q, np.zeros(3), commands=u, act=np.zeros(robot.na), steps=15)
    v = sim.v if device == "cpu" else sim.v.numpy()
    np.testing.assert_allclose(v, expected.v, atol=2e-5)


def test_networks_differ_from_robot_to_robot() -> None:
    envs = pytest.importorskip("linkwork.gym")
    robot = wheels(Motor(network=network("softsign")), Motor())
    drawn = envs.Randomization(robot, {"motor_network": (0.5, 1.5)})
    values = drawn(np.array([[0.0], [0.7]]))
    np.testing.assert_allclose(values["motor_network"], [[1.5], [3.6]])
    q, v, act = np.ones((2, 2)), np.ones((2, 2)), np.zeros((2, robot.na))
    step = lw.Stepper(robot, dt=DT, parameters=drawn.names)
    result: Any = step(q, v, commands=np.zeros(2), act=act, **values)  # type: ignore[arg-type]
    gained = INERTIA * (result.v - v)[:, 0] / DT
    np.testing.assert_allclose(gained / gained[0], [1.0, 3.6 / 1.5])


def test_weights_without_torch() -> None:
    """A layer of one row is a servo; a memory whose gates are open and shut keeps nothing."""
    servo = wheels(Motor(network=Network((Layer([[40.0, -2.0]]),))))
    tau = lw.actuators.actuator_torques(servo, [0.3], [0.5], [1.0])
    np.testing.assert_allclose(tau, [40.0 * 0.7 - 2.0 * 0.5])
    shut = LSTM(np.zeros((4, 2)), np.zeros((4, 1)), [0.0, -50.0, 0.5, 50.0])
    robot = wheels(Motor(network=Network((shut,), scale=2.0)))
    tau = lw.actuators.actuator_torques(robot, [0.3], [0.5], [1.0], act=[0.0, 9.0])
    np.testing.assert_allclose(tau, 2.0 * np.tanh(0.5 * np.tanh(0.5)))


def test_files_keep_weights(tmp_path: Path) -> None:
    robot = wheels(Motor(network=network("memory")), Motor(network=network("tanh and elu"), coulomb=0.1))
    robot.save(tmp_path / "wheels.json")
    same = lw.load(tmp_path / "wheels.json")
    state = [0.1, 0.2], [0.0, 1.0], [1.0, -1.0], np.linspace(-1, 1, robot.na)
    torques = [lw.actuators.actuator_torques(one, *state) for one in (robot, same)]
    np.testing.assert_array_equal(*torques)


def test_what_is_refused() -> None:
    with pytest.raises(ModelError, match=r"layer 0 of a network takes 4 inputs, and history \(0,\) gives 2"):
        Network((Layer(np.zeros((1, 4))),))
    with pytest.raises(ModelError, match="2 outputs, needs one"):
        Network((Layer(np.zeros((2, 2))),))
    with pytest.raises(ModelError, match="has GELU after 1 layers"):
        Network.from_torch(nn.Sequential(nn.Linear(2, 1), nn.GELU()))
    with pytest.raises(ModelError, match=r"ELU with alpha 0\.5"):
        Network.from_torch(nn.Sequential(nn.Linear(2, 1), nn.ELU(0.5)))
    with pytest.raises(ModelError, match="bidirectional"):
        Network.from_torch(nn.Sequential(nn.LSTM(2, 3, bidirectional=True), nn.Linear(6, 1)))
    with pytest.raises(ModelError, match="leave integral and backlash out"):
        Motor(network=network("softsign"), integral=1.0)
    robot = wheels(Motor(network=network("softsign")))
    with pytest.raises(UnsupportedFeature, match="torque_limits: actuator 'motor0' is a network"):
        lw.actuators.torque_limits(robot, [0.0], [0.0])
    with pytest.raises(UnsupportedFeature, match="depends on its position"):
        lw.actuators.next_activations(robot, [0.0], np.zeros(robot.na), DT)
