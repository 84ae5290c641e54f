# SPDX-License-Identifier: BSD-3-Clause
"""Rollouts on a GPU, without one: the same LLVM module compiled for the host, and PTX that the assembler takes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.compilers import llvm
from linkwork.compilers.cuda import device_functions, ptx, rollout_code
from linkwork.compilers.cuda.allocation import Limits
from linkwork.compilers.cuda.assembling import joined
from linkwork.compilers.cuda.rollouts import SCALARS, RolloutProgram, rollout_kernel
from linkwork.compilers.entry.batch import SYMBOL
from linkwork.kernels.scalar import kernel
from linkwork.simulation import cuda_batch
from tests.support.cuda_on_host import HostDevice, HostMemory, host_arithmetic, use_host

SMALL = Limits(24, 12)
"""Few registers and slots, so that values go to all kinds of memory."""


class HostCode:
    """In place of `rollout_code.IntegerCode`: a kernel that runs here."""

    threads = 128

    def __init__(self, ir: str, parameters: int, numbers: int = 0) -> None:
        self.numbers = numbers
        self._code = llvm.Code(llvm.object_code(host_arithmetic(ir)), SYMBOL)
        self._run = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * parameters)(self._code.address)

    def launch_blocks(
        self, values: Sequence[int], blocks: int, stream: int, where: Any, threads: int | None = None
    ) -> None:
        self._run(*values)


class Device(HostDevice):
    """A GPU with one multiprocessor."""

    def attribute(self, which: int) -> int:
        return 1


@pytest.fixture(autouse=True)
def on_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulations on ``"cuda"`` run here."""

    def rollout(make: Callable[[], RolloutProgram], content: Any, dtype: str, where: Any, name: str) -> HostCode:
        program = make()
        made = rollout_kernel(program, dtype, SMALL, host=True)
        return HostCode(made.ir, 3 * len(program.given) + 3 + len(SCALARS), program.numbers)

    def assign(bits: int, where: Any) -> HostCode:
        return HostCode(rollout_code.assign_module(bits, host=True), len(rollout_code.ASSIGNED))

    use_host(monkeypatch)
    monkeypatch.setattr(cuda_batch, "rollout_code", rollout)
    monkeypatch.setattr(cuda_batch, "assign_code", assign)
    monkeypatch.setattr(cuda_batch, "Memory", HostMemory)
    monkeypatch.setattr(cuda_batch, "device", lambda index=0: Device())
    monkeypatch.setattr(cuda_batch, "zeroed", lambda memory, stream: memory.write(bytes(memory.bytes)))


@kernel
def spring(time: Any, q: Any, v: Any, gain: Any, tau: Any) -> None:
    """A spring, a damper, and a torque that grows with time."""
    tau[0] = time - gain * q[0] - 0.5 * v[0]


def both(robot: lw.Mechanism, count: int, **options: Any) -> tuple[lw.Simulation, lw.Simulation]:
    """The same simulation on the CPU and on a GPU."""
    return (
        lw.Simulation(robot, count, compile=True, **options),
        lw.Simulation(robot, count, device="cuda", dtype="float64", **options),
    )


def on_device(x: Any) -> lw.devices.DeviceArray:
    return lw.devices.to_device(np.asarray(x, dtype=np.float64))


@pytest.mark.parametrize(("integrator", "method"), [("euler", "auto"), ("rk4", "auto"), ("euler", "minimal")])
def test_loops_step_as_on_the_cpu(integrator: Any, method: Any) -> None:
    robot = zoo.slider_crank() if integrator == "rk4" else zoo.four_bar()
    cpu, gpu = both(robot, 5, integrator=integrator, method=method)
    tau = np.random.default_rng(0).normal(size=(5, robot.nv))
    for steps, atol in ((1, 1e-12), (30, 1e-8)):
        cpu.step(tau=tau, steps=steps)
        gpu.step(tau=on_device(tau), steps=steps)
        np.testing.assert_allclose(gpu.q.numpy(), cpu.q, rtol=0, atol=atol)
    assert list(gpu.steps.numpy()) == [31] * 5


@pytest.mark.parametrize("count", [1, 5, 70])
def test_controllers_resets_and_records_are_those_of_the_cpu(count: int) -> None:
    controller = lw.Controller(spring, per_robot="gain", gain=np.linspace(1.0, 5.0, count))
    cpu, gpu = both(zoo.pendulum(), count, controller=controller, control_every=3)
    mask = np.arange(count) % 3 == 1
    for sim in (cpu, gpu):
        sim.step(steps=7)
        sim.reset(mask)
    one, other = cpu.run(21, record_every=10), gpu.run(21, record_every=10)
    assert other.q.shape == one.q.shape == (2, count, 1)
    for x, y in ((other.q, one.q), (other.v, one.v), (gpu.q, cpu.q)):
        np.testing.assert_allclose(x.numpy(), y, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(gpu.steps.numpy(), cpu.steps)


def test_contacts_are_solved_as_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a program in many parts."""
    monkeypatch.setattr(device_functions, "LONG", 100)
    monkeypatch.setattr(device_functions, "PART", 500)
    speeds = np.zeros((9, 6))
    speeds[:, 0], speeds[:, 4] = np.linspace(0, 1, 9), np.linspace(0, 2, 9)
    cpu, gpu = both(zoo.sliding_box(friction=0.4), 9, v=speeds)
    for steps in (1, 80):
        for sim in (cpu, gpu):
            sim.step(steps=steps)
        np.testing.assert_allclose(gpu.q.numpy(), cpu.q, rtol=0, atol=1e-8)
    np.testing.assert_allclose(gpu.contact_forces.numpy(), cpu.contact_forces, rtol=0, atol=1e-5)
    pair = "ground:box0"
    np.testing.assert_allclose(gpu.contacts[pair].gaps, cpu.contacts[pair].gaps, rtol=0, atol=1e-8)
    for sim in (cpu, gpu):
        sim.reset(np.arange(9) == 4)
        sim.step(steps=20)
    np.testing.assert_allclose(gpu.q.numpy(), cpu.q, rtol=0, atol=1e-8)


def test_robots_have_parameters_of_their_own() -> None:
    robot = zoo.sliding_box(friction=0.4)
    mass = robot.parameters["mass"] * np.array([1.0, 2.0, 5.0])[:, None]
    options = {"parameters": {"mass": mass, "contact_friction": [[0.1], [0.4], [0.8]]}}
    cpu, gpu = both(robot, 3, v=[1.0, 0, 0, 0, 0, 0], **options)
    for sim in (cpu, gpu):
        sim.step(steps=30)
    np.testing.assert_allclose(gpu.q.numpy(), cpu.q, rtol=0, atol=1e-8)
    assert np.ptp(gpu.q.numpy()[:, 0]) > 1e-3
    for sim in (cpu, gpu):
        sim.reset([False, True, False], parameters={"contact_friction": [[0.2]] * 3})
        sim.step(steps=30)
    np.testing.assert_allclose(gpu.q.numpy(), cpu.q, rtol=0, atol=1e-8)


def test_steps_that_are_not_solved_are_tried_again_from_zero_forces() -> None:
    sims = [
        lw.Simulation(zoo.sliding_box(friction=0.4), 3, v=[1.0, 0, 0, 0, 3, 0], max_iterations=4, **how)  # too few
        for how in ({"compile": True}, {"device": "cuda", "dtype": "float64"})
    ]
    for sim in sims:
        sim.step(steps=12)
    cpu, gpu = sims
    assert cpu.contact_state[:, 4].all()
    np.testing.assert_allclose(gpu.q.numpy(), cpu.q, rtol=0, atol=1e-9)
    np.testing.assert_allclose(gpu._robots.contacts.numpy()[:, -1], cpu.contact_state[:, 4])


def test_a_robot_that_is_lost_holds_nan_until_it_is_reset() -> None:
    gpu = lw.Simulation(zoo.pendulum(), 2, device="cuda", dtype="float64")
    gpu.step(tau=on_device([[1e300], [0.0]]), steps=5)
    gpu.step(steps=5)
    q = gpu.q.numpy()
    assert np.isnan(q[0]).all() and np.isfinite(q[1]).all()
    gpu.reset(np.isnan(q).any(axis=1))
    gpu.step(steps=10)
    assert gpu.q.numpy()[0] == gpu.q.numpy()[1]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda sim: sim.step(tau=np.zeros(1)), "in the memory of the CPU"),
        (lambda sim: sim.step(tau=on_device(np.zeros(3))), r"tau has shape \(3,\), needs \(1,\) or \(2, 1\)"),
        (lambda sim: sim.step(tau=lw.devices.to_device(np.zeros(1, np.float32))), "dtype float32"),
        (lambda sim: sim.reset(np.array([True])), "mask has shape"),
    ],
)
def test_calls_that_do_not_fit_say_what_is_needed(call: Any, words: str) -> None:
    sim = lw.Simulation(zoo.pendulum(), 2, device="cuda", dtype="float64")
    with pytest.raises(lw.errors.InputError, match=words):
        call(sim)


def test_a_stepper_with_contacts_leads_to_simulations() -> None:
    box = zoo.sliding_box(friction=0.4)
    steps = lw.Stepper(box).to("cuda")
    with pytest.raises(lw.errors.UnsupportedFeature, match=r"lw.Simulation\(robot, count, device='cuda'\)"):
        steps(on_device(box.poses[zoo.ASSEMBLED]), on_device(np.zeros(6)))


class Parts:
    """Takes modules of parts."""

    def __init__(self) -> None:
        self.groups: list[list[str]] = []
        self.now: list[str] = []

    def add(self, ir: str) -> None:
        self.now.append(ir)

    def end_group(self) -> None:
        self.groups.append(self.now)
        self.now = []


def test_ptx_of_rollouts_assembles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program is cut, and its parts are modules of their own."""
    monkeypatch.setattr(device_functions, "LONG", 4000)
    monkeypatch.setattr(device_functions, "PART", 4000)
    assembler = shutil.which("ptxas")
    if assembler is None:
        pytest.skip("no assembler of NVIDIA here")
    dtype = "float32"
    stepper = lw.Stepper(zoo.sliding_box(friction=0.4)).native("float32").by_slots
    batch = cuda_batch.CudaBatch(stepper, 4, None, 1, {}, 0)
    program = batch._program(batch._known(frozenset()))
    parts = Parts()
    made = rollout_kernel(program, dtype, Limits(100, 50), parts)
    assert [len(group) for group in parts.groups] == [2, 3]
    texts = [joined([ptx.assembly(ir) for ir in group]) for group in parts.groups]
    for k, text in enumerate([*texts, ptx.assembly(made.ir), ptx.assembly(rollout_code.assign_module(32))]):
        path = tmp_path / f"{k}.ptx"
        path.write_text(text)
        subprocess.run([assembler, "-arch=sm_90", "-O1", "-c", str(path), "-o", str(tmp_path / "out")], check=True)
