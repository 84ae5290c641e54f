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
from linkwork_benchmarks.gpu.scenarios import Dynamics, FirstCalls, Gradient, Overhead, Steps
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


def _seconds(call: Callable[[], Any], rounds: int) -> float:
    """The least time that a call takes of the GPU."""
    import torch

    best = np.inf
    for _ in range(rounds + 1):
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        call()
        last.record()
        last.synchronize()
        best = min(best, first.elapsed_time(last) / 1e3)
    return float(best)


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
        best = np.inf
        for _ in range(settings.rounds + 1):
            torch.cuda.synchronize()
            start = perf_counter()
            for _ in range(scenario.calls):
                call()
            best = min(best, (perf_counter() - start) / scenario.calls)
        journal.metrics[f"{scenario.name}.{name}.us"] = 1e6 * best
        say(f"  {name}: {1e6 * best:.1f} µs")
    torch.cuda.synchronize()


def _gradient(scenario: Gradient, settings: Settings, journal: Journal) -> None:
    import torch

    robot = robot_of("cassie")
    function = lw.torch.function(lw.ForwardDynamics(robot, "cluster"))
    inputs = _on_gpu(states_of(robot), scenario.dtype, scenario.states)
    tracked = [x.detach().requires_grad_() for x in inputs]
    seed = torch.ones(scenario.states, robot.nv, dtype=inputs[0].dtype, device="cuda")

    def both() -> None:
        torch.autograd.grad(function(*tracked)[0], tracked, seed)

    forward = _seconds(lambda: function(*inputs), settings.rounds)
    whole = _seconds(both, settings.rounds)
    journal.metrics |= {f"{scenario.name}.forward.s": forward, f"{scenario.name}.both.s": whole}
    say(f"  forward {1e3 * forward:.3f} ms, forward and backward {1e3 * whole:.3f} ms: {whole / forward:.2f} x")


def _steps(scenario: Steps, settings: Settings, journal: Journal) -> None:
    from linkwork_benchmarks.contact.robots import STARTS, cassie_stance, holding, states

    stance = cassie_stance()
    start = STARTS["dropped" if scenario.motion == "free" else scenario.motion]
    q, v = states(stance, start, 256)
    copies = scenario.robots // 256
    options: dict[str, Any] = {"q": np.tile(q, (copies, 1)), "v": np.tile(v, (copies, 1))}
    if scenario.motion == "free":
        options["contact"] = False
    else:
        options["controller"] = holding(stance, start)
    begun = perf_counter()
    simulation = lw.Simulation(stance.robot, scenario.robots, device="cuda", dtype=scenario.dtype, **options)
    simulation.step()
    simulation.q.numpy()
    journal.metrics[f"{scenario.name}.first.s"] = perf_counter() - begun
    seconds = _seconds(lambda: simulation.step(steps=scenario.steps), 0)
    lost = int(np.isnan(simulation.q.numpy()).any(axis=1).sum())
    rate = scenario.robots * scenario.steps / seconds
    journal.metrics |= {f"{scenario.name}.steps_per_s": rate, f"{scenario.name}.lost": float(lost)}
    say(f"  {rate / 1e6:.1f} M steps/s, {lost} robots lost")


measure = measure_by_type(
    {Dynamics: _dynamics, FirstCalls: _first_calls, Overhead: _overhead, Gradient: _gradient, Steps: _steps}
)
