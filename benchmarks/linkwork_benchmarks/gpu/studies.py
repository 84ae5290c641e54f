# SPDX-License-Identifier: BSD-3-Clause
"""How dynamics on a GPU are measured: events of CUDA around a call, the best of k; results beside those of the CPU.

The share of the arithmetic peak counts each operation of the program as one floating-point operation; the peak counts a
fused multiplication and addition as two, on all cores at the highest clock.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache, partial
from time import perf_counter
from typing import Any, cast

import numpy as np

import linkwork as lw
from linkwork_benchmarks.gpu.scenarios import (
    Dynamics,
    FirstCalls,
    FirstSteps,
    Gradient,
    Motion,
    Overhead,
    PeerSteps,
    StepGradient,
    Steps,
)
from linkwork_benchmarks.robots import MODELS
from linkwork_benchmarks.robots import load as load_example
from linkwork_benchmarks.runner import Journal, Settings, measure_by_type, say

FULL = Settings(rounds=6)
QUICK = Settings(rounds=2)

FILES = {"cassie": "cassie/cassie_nomesh.xml", "digit": "digit/digit-v3_nomesh.xml"}
DISTINCT = 64
"""States that are different; a batch repeats them."""
CORES = {"float32": 128, "float64": 64}
"""Fused multiplications and additions that a multiprocessor of compute capability 9.0 makes in a cycle."""
COMPARED, FEW_STEPS = 256, 20
"""Robots that are stepped on the CPU, too, and how often."""
IN_A_ROW = 20
"""Calls that are made before the GPU is waited for."""
HIGHEST_CLOCK = 13
"""The driver's number of the attribute."""


def begin() -> Journal:
    """What a run writes to: which GPU, which driver."""
    import torch

    from linkwork.compilers.cuda import driver

    where, journal = driver.device(0), Journal()
    journal.words |= {
        "gpu.name": where.name,
        "gpu.driver": f"{driver.version() // 1000}.{driver.version() % 1000 // 10}",
        "gpu.torch": str(torch.__version__),
    }
    journal.metrics["gpu.multiprocessors"] = where.attribute(driver.MULTIPROCESSORS)
    journal.metrics["gpu.clock.ghz"] = where.attribute(HIGHEST_CLOCK) / 1e6
    return journal


@cache
def robot_of(name: str) -> lw.Mechanism:
    """A robot by name."""
    if name not in FILES:
        return load_example(name)
    path = MODELS / FILES[name]
    if not path.is_file():
        raise FileNotFoundError(f"no file {path}")
    return lw.load(path)


def states_of(robot: lw.Mechanism) -> tuple[Any, Any, Any]:
    """Random states whose loops are closed, and torques."""
    rng = np.random.default_rng(0)
    q = np.array([robot.random(k) for k in range(DISTINCT)])
    if robot.constraints:
        q = robot.assemble(q, limits=False)
    v, tau = rng.normal(size=(2, DISTINCT, robot.nv))
    return q, robot.project_velocity(q, v) if robot.constraints else v, tau


def _on_gpu(given: Any, dtype: str, count: int) -> list[Any]:
    """A batch that repeats these states, number-major."""
    import torch

    repeated = [torch.tensor(x, dtype=getattr(torch, dtype), device="cuda").repeat(count // DISTINCT, 1) for x in given]
    return [x.T.contiguous().T for x in repeated]


def _seconds(call: Callable[[], Any], rounds: int, calls: int = 1) -> float:
    """The least time that a call takes of the GPU, of so many in a row."""
    import torch

    best = np.inf
    for _ in range(rounds + 1):
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        for _ in range(calls):
            call()
        last.record()
        last.synchronize()
        best = min(best, first.elapsed_time(last) / 1e3 / calls)
    return float(best)


def _host_microseconds(call: Callable[[], Any], calls: int, rounds: int) -> float:
    """The least time that a call takes of the host, which does not wait for the GPU."""
    import torch

    best = np.inf
    for _ in range(rounds + 1):
        torch.cuda.synchronize()
        start = perf_counter()
        for _ in range(calls):
            call()
        best = min(best, (perf_counter() - start) / calls)
    torch.cuda.synchronize()
    return float(1e6 * best)


def _dynamics(scenario: Dynamics, settings: Settings, journal: Journal) -> None:
    import torch

    robot = robot_of(scenario.robot)
    given = states_of(robot)
    fd = lw.ForwardDynamics(robot, scenario.method, max_iterations=scenario.max_iterations, threads=1)
    expected = fd(*given)
    scale = np.abs(expected.acceleration).max()
    single = fd.native("float32")(*(x.astype(np.float32) for x in given))
    gpu = fd.to("cuda", scenario.dtype, outputs="acceleration" if scenario.what == "acceleration" else None)
    arrays = _on_gpu(given, scenario.dtype, scenario.states)
    found, again = (cast(Any, gpu(*arrays).acceleration) for _ in range(2))
    gpu.check()
    out = torch.empty_like(found)
    seconds = _seconds(lambda: gpu(*arrays, out=out), settings.rounds)
    rows = [x.contiguous() for x in arrays]
    row_major = _seconds(lambda: gpu(*rows), settings.rounds)
    first = found[:DISTINCT].double().cpu().numpy()
    operations = _operations(gpu.runner)
    metrics = journal.metrics
    peak = 2e9 * CORES[scenario.dtype] * metrics["gpu.multiprocessors"] * metrics["gpu.clock.ghz"]
    metrics |= {
        f"{scenario.name}.states_per_s": scenario.states / seconds,
        f"{scenario.name}.row_major.states_per_s": scenario.states / row_major,
        f"{scenario.name}.us": 1e6 * seconds / scenario.states,
        f"{scenario.name}.operations": operations,
        f"{scenario.name}.peak": operations * scenario.states / seconds / peak,
        f"{scenario.name}.error": float(np.abs(first - expected.acceleration).max() / scale),
        f"{scenario.name}.cpu_float32_error": float(np.abs(single.acceleration - expected.acceleration).max() / scale),
        f"{scenario.name}.repeats": float((found == again).all()),
    }
    if scenario.what != "acceleration":
        metrics[f"{scenario.name}.iterations"] = float(np.max(expected.iterations))
    say(f"  {scenario.states / seconds / 1e6:.0f} M states/s, error {metrics[f'{scenario.name}.error']:.1e}")


def _operations(runner: Any) -> int:
    """Operations of a kernel that was run: what is left of the program for inputs and outputs of the call."""
    signature, _ = next(iter(runner.codes))
    return sum(runner.traced(signature).operation_count().values())


FIRST = """
import sys, time
import torch, linkwork as lw
from linkwork_benchmarks.gpu.studies import robot_of, states_of
name, method, dtype = sys.argv[1:]
robot = robot_of(name)
arrays = [torch.zeros(64, n, dtype=getattr(torch, dtype), device="cuda") for n in (robot.nq, robot.nv, robot.nv)]
arrays[0] += torch.tensor(robot.neutral(), dtype=arrays[0].dtype, device="cuda")
torch.cuda.synchronize()
start = time.perf_counter()
fd = lw.ForwardDynamics(robot, method, max_iterations=1).to("cuda", dtype)
fd(*arrays)
torch.cuda.synchronize()
print(time.perf_counter() - start)
"""


def _first_calls(scenario: FirstCalls, settings: Settings, journal: Journal) -> None:
    """Processes of all robots at a time: each has a core, and the GPU has little to do."""
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("cold", "cached"):
            started = {}
            for robot, method, dtype in scenario.robots:
                environment = {**os.environ, "LINKWORK_CACHE_DIR": f"{folder}/{robot}", "LINKWORK_QUIET": "1"}
                command = [sys.executable, "-c", FIRST, robot, method, dtype]
                started[robot] = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
            for robot, process in started.items():
                seconds = float(process.communicate()[0])
                journal.metrics[f"{scenario.name}.{robot}.{kind}.s"] = seconds
                say(f"  {robot}, {kind}: {seconds:.2f} s")


FIRST_STEP = """
import sys, time
import linkwork as lw
from linkwork_benchmarks.contact.robots import STARTS, cassie_stance, holding, states
stance, start = cassie_stance(), STARTS["pushed"]
q, v = states(stance, start, 256)
lw.devices.to_device(q).numpy()
start_time = time.perf_counter()
robots = lw.Simulation(
    stance.robot, 256, device="cuda", dtype=sys.argv[1], q=q, v=v, controller=holding(stance, start)
)
robots.step()
robots.q.numpy()
print(time.perf_counter() - start_time)
"""


def _first_steps(scenario: FirstSteps, settings: Settings, journal: Journal) -> None:
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "LINKWORK_CACHE_DIR": folder, "LINKWORK_QUIET": "1", "CUDA_CACHE_DISABLE": "1"}
        for kind in ("cold", "cached"):
            command = [sys.executable, "-c", FIRST_STEP, scenario.dtype]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
            seconds = float(done.stdout.split()[-1])
            journal.metrics[f"{scenario.name}.{kind}.s"] = seconds
            say(f"  {kind}: {seconds:.2f} s")


def _overhead(scenario: Overhead, settings: Settings, journal: Journal) -> None:
    import torch

    calls: dict[str, Callable[[], Any]] = {}
    tree = lw.ForwardDynamics(lw.zoo.pendulum(), "aba")
    loop = lw.ForwardDynamics(robot_of("cassie"), "cluster")
    for name, fd in (("tree", tree), ("loop", loop)):
        sizes = (fd.robot.nq, fd.robot.nv, fd.robot.nv)
        arrays = [torch.zeros(7, size, dtype=torch.float32, device="cuda") for size in sizes]
        arrays[0] += torch.tensor(fd.robot.neutral(), dtype=torch.float32, device="cuda")
        calls[f"evaluator.{name}"] = partial(fd.to("cuda", "float32"), *arrays)
        calls[f"function.{name}"] = partial(lw.torch.function(fd), *arrays)
    x = torch.zeros(7, 3, device="cuda")
    calls["torch_add"] = lambda: x + x
    for name, call in calls.items():
        microseconds = _host_microseconds(call, scenario.calls, settings.rounds)
        journal.metrics[f"{scenario.name}.{name}.us"] = microseconds
        say(f"  {name}: {microseconds:.1f} µs")


def _gradient(scenario: Gradient, settings: Settings, journal: Journal) -> None:
    """Of forward dynamics."""
    robot = robot_of("cassie")
    function = lw.torch.function(lw.ForwardDynamics(robot, "cluster"))
    _compare(scenario, function, states_of(robot), 1, settings, journal)


def _step_gradient(scenario: StepGradient, settings: Settings, journal: Journal) -> None:
    """Of a step with contacts, under the torques of the stance."""
    from linkwork_benchmarks.contact.robots import DT, STARTS, cassie_stance, states

    stance = cassie_stance()
    q, v = states(stance, STARTS["pushed"], DISTINCT)
    function = lw.torch.function(lw.Stepper(stance.robot, dt=DT))
    _compare(scenario, function, (q, v, np.tile(stance.torques, (DISTINCT, 1))), 2, settings, journal)


def _compare(
    scenario: Gradient | StepGradient, function: Any, states: Any, results: int, settings: Settings, journal: Journal
) -> None:
    """Forward and backward from the first results: calls in a row, where the GPU has always something to do, and one
    call at a time."""
    import torch

    inputs = _on_gpu(states, scenario.dtype, scenario.states)
    tracked = [x.detach().requires_grad_() for x in inputs]

    def forward() -> None:
        function(*inputs)

    def both() -> None:
        first = function(*tracked)[:results]
        torch.autograd.grad(first, tracked, [torch.ones_like(x) for x in first])

    for name, call in (("forward", forward), ("both", both)):
        alone, in_row = (_seconds(call, settings.rounds, calls) for calls in (1, IN_A_ROW))
        journal.metrics |= {f"{scenario.name}.{name}.s": in_row, f"{scenario.name}.{name}.alone.s": alone}
        journal.metrics[f"{scenario.name}.{name}.host.us"] = _host_microseconds(call, IN_A_ROW, settings.rounds)
    metrics = journal.metrics
    for kind, words in ((".s", "in a row"), (".alone.s", "one at a time")):
        one, two = (metrics[f"{scenario.name}.{name}{kind}"] for name in ("forward", "both"))
        say(f"  {words}: forward {1e3 * one:.3f} ms, forward and backward {1e3 * two:.3f} ms: {two / one:.2f} x")


def _simulation(motion: Motion, count: int, **options: Any) -> lw.Simulation:
    """Robots in states of their own (those that stand are in the same)."""
    from linkwork_benchmarks.contact.robots import STARTS, cassie_stance, holding, states

    stance = cassie_stance()
    start = STARTS["dropped" if motion == "free" else motion]
    if motion == "free":
        options["contact"] = False
    else:
        options["controller"] = holding(stance, start)
    q, v = states(stance, start, count)
    return lw.Simulation(stance.robot, count, q=q, v=v, **options)


@cache
def _stepped_on_cpu(motion: Motion) -> tuple[Any, Any]:
    """Configurations after a few steps on the CPU, in double and in single precision."""
    found = list[Any]()
    for dtype in ("float64", "float32"):
        robots = _simulation(motion, COMPARED, compile=False, dtype=dtype)
        robots.step(steps=FEW_STEPS)
        found.append(robots.q.copy())
    return found[0], found[1]


def _steps(scenario: Steps, settings: Settings, journal: Journal) -> None:
    there = {"device": "cuda", "dtype": scenario.dtype}
    few = _simulation(scenario.motion, COMPARED, **there)
    few.step(steps=FEW_STEPS)
    exact, single = _stepped_on_cpu(scenario.motion)
    many = _simulation(scenario.motion, scenario.robots, **there)
    many.step()
    seconds = _seconds(lambda: many.step(steps=scenario.steps), 0)
    lost = int(np.isnan(many.q.numpy()).any(axis=1).sum())
    rate = scenario.robots * scenario.steps / seconds
    journal.metrics |= {
        f"{scenario.name}.steps_per_s": rate,
        f"{scenario.name}.lost": float(lost),
        f"{scenario.name}.error": float(np.abs(few.q.numpy() - exact).max()),
        f"{scenario.name}.cpu_float32_error": float(np.abs(single - exact).max()),
    }
    error = journal.metrics[f"{scenario.name}.error"]
    say(f"  {rate / 1e6:.1f} M steps/s, {lost} robots lost, error {error:.1e}")


def _mjx(scenario: PeerSteps, settings: Settings, journal: Journal) -> None:
    """In a process of its own: JAX takes memory that torch has."""
    file = str(MODELS / FILES["cassie"])
    sizes = map(str, (scenario.worlds, scenario.steps, scenario.iterations))
    command = [sys.executable, "-m", "linkwork_benchmarks.gpu.mjx", file, *sizes]
    environment = {**os.environ, "JAX_PLATFORMS": "cuda", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        journal.notes.append(f"{scenario.name} was left out: {last}")
        return
    rate, version, finite = done.stdout.split()[-3:]
    journal.metrics[f"{scenario.name}.steps_per_s"] = float(rate)
    journal.metrics[f"{scenario.name}.finite"] = float(finite)
    journal.words["gpu.mjx"] = version
    say(f"  {float(rate) / 1e6:.2f} M steps/s by MJX {version}")


measure = measure_by_type(
    {
        Dynamics: _dynamics,
        FirstCalls: _first_calls,
        FirstSteps: _first_steps,
        Overhead: _overhead,
        Gradient: _gradient,
        StepGradient: _step_gradient,
        Steps: _steps,
        PeerSteps: _mjx,
    }
)
