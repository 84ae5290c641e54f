# SPDX-License-Identifier: BSD-3-Clause
"""Steps on a GPU with lanes of a warp for each robot, without a GPU: the lanes are one after the other, the last first.

Iterations of `prange` that read what others write would give other numbers than on the CPU, where the first is first.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.compilers import llvm
from linkwork.compilers.cuda import ptx, rollout_code, warp_plan
from linkwork.compilers.cuda.warp_text import EmulatedUnit, warp_kernel
from linkwork.compilers.entry.batch import SYMBOL
from linkwork.compilers.lanes import Type
from linkwork.compilers.language.values import STATE, Int, array_type, tables
from linkwork.errors import InputError, KernelError
from linkwork.kernels.scalar import kernel, prange, stage
from linkwork.kernels.steps.rollouts import rollout
from linkwork.plans.tree import TREE
from linkwork.simulation import warp_batch
from tests.support.cuda_on_host import use_host_simulations


class Assign:
    """In place of the kernel that sets rows."""

    threads = 128

    def __init__(self, bits: int, where: Any) -> None:
        self._code = llvm.Code(llvm.object_code(rollout_code.assign_module(bits, host=True)), SYMBOL)
        kinds = [ctypes.c_int64] * len(rollout_code.ASSIGNED)
        self._run = ctypes.CFUNCTYPE(None, *kinds)(self._code.address)

    def launch_blocks(self, values: Any, blocks: int, stream: int, where: Any) -> None:
        self._run(*values)


@pytest.fixture(autouse=True)
def on_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulations on ``"cuda"`` run here."""
    use_host_simulations(monkeypatch, Assign)


def both(robot: lw.Mechanism, count: int, **options: Any) -> tuple[lw.Simulation, lw.Simulation]:
    """The same simulation on the CPU and on a GPU."""
    return (
        lw.Simulation(robot, count, compile=False, **options),
        lw.Simulation(robot, count, device="cuda", dtype="float64", compile=False, **options),
    )


def thrown(robot: lw.Mechanism, count: int) -> tuple[Any, Any]:
    """States near the assembled pose, and velocities."""
    rng = np.random.default_rng(0)
    q0 = robot.poses.get(zoo.ASSEMBLED, robot.neutral())
    q = np.array([robot.integrate(q0, 1e-3 * rng.normal(size=robot.nv)) for _ in range(count)])
    return q, 0.3 * rng.normal(size=(count, robot.nv))


def on_device(x: Any) -> lw.devices.DeviceArray:
    return lw.devices.to_device(np.asarray(x, dtype=np.float64))


ROBOTS = {
    "box": lambda: zoo.sliding_box(friction=0.4),  # one limb
    "hopper": zoo.hopper,  # limits and dry friction
    "hand": zoo.hand_and_cube,  # branches touch one body
    "stewart": zoo.ball_on_stewart,  # loops, and a ball
}


@pytest.mark.parametrize("name", ROBOTS)
def test_contacts_are_solved_as_on_the_cpu(name: str) -> None:
    """One kernel for all robots: what touches, limits, dry friction and loops."""
    robot = ROBOTS[name]()
    q, v = thrown(robot, 4)
    cpu, gpu = both(robot, 4, q=q, v=v)
    for steps, atol in ((1, 1e-12), (20, 1e-8)):
        for sim in (cpu, gpu):
            sim.step(steps=steps)
        np.testing.assert_allclose(gpu.q.numpy(), cpu.q, rtol=0, atol=atol)
    assert (np.abs(gpu.contact_state.numpy()[:, 0]) < 1e-8).all()
    np.testing.assert_allclose(gpu.contact_forces.numpy(), cpu.contact_forces, rtol=1e-4, atol=1e-3)
    assert list(gpu.steps.numpy()) == [21] * 4


def test_the_number_of_lanes_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does the place of a robot in the batch."""
    robot = zoo.hand_and_cube()
    q, v = thrown(robot, 3)
    found = []
    for group in (32, 8):
        monkeypatch.setattr(warp_batch, "lanes_of_robot", lambda count, multiprocessors, group=group: group)
        sim = lw.Simulation(robot, 3, q=q, v=v, device="cuda", dtype="float64", compile=False)
        sim.step(steps=20)
        found.append(sim.q.numpy())
    turned = lw.Simulation(robot, 3, q=q[::-1], v=v[::-1], device="cuda", dtype="float64", compile=False)
    turned.step(steps=20)
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(turned.q.numpy()[::-1], found[1])


@kernel
def push(time: Any, q: Any, v: Any, gain: Any, tau: Any) -> None:
    """A force that grows with time."""
    tau[0] = gain * time - 0.5 * v[0]


def test_controllers_resets_and_records_are_those_of_the_cpu() -> None:
    controller = lw.Controller(push, per_robot="gain", gain=np.linspace(1.0, 5.0, 4))
    cpu, gpu = both(zoo.sliding_box(friction=0.4), 4, controller=controller, control_every=3)
    mask = np.arange(4) % 3 == 1
    for sim in (cpu, gpu):
        sim.step(steps=7)
        sim.reset(mask)
    one, other = cpu.run(21, record_every=10), gpu.run(21, record_every=10)
    for x, y in ((other.q, one.q), (other.v, one.v), (gpu.q, cpu.q)):
        np.testing.assert_allclose(x.numpy(), y, rtol=0, atol=1e-7)
    np.testing.assert_array_equal(gpu.steps.numpy(), cpu.steps)


def test_torques_of_any_layout() -> None:
    robot = zoo.sliding_box(friction=0.4)
    tau = np.random.default_rng(0).normal(size=(4, robot.nv))
    cpu, gpu = both(robot, 4)
    cpu.step(tau=tau, steps=5)
    gpu.step(tau=on_device(np.asfortranarray(tau)), steps=5)
    np.testing.assert_allclose(gpu.q.numpy(), cpu.q, rtol=0, atol=1e-9)


def test_a_robot_that_is_lost_holds_nan_until_it_is_reset() -> None:
    robot = zoo.sliding_box(friction=0.4)
    _, gpu = both(robot, 2)
    tau = np.zeros((2, robot.nv))
    tau[0, 0] = np.inf
    gpu.step(tau=on_device(tau), steps=5)
    q = gpu.q.numpy()
    assert np.isnan(q[0]).all() and np.isfinite(q[1]).all()
    gpu.reset(np.isnan(q).any(axis=1))
    gpu.step(steps=5)
    assert np.isfinite(gpu.q.numpy()).all()


def test_smooth_steps_of_any_robot() -> None:
    """Without contacts, and with loops: the same rollout around other steps."""
    robot = zoo.four_bar()
    tau = np.random.default_rng(0).normal(size=(3, robot.nv))
    cpu, gpu = both(robot, 3)
    cpu.step(tau=tau, steps=20)
    gpu.step(tau=on_device(tau), steps=20)
    np.testing.assert_allclose(gpu.q.numpy(), cpu.q, rtol=0, atol=1e-9)
    assert gpu.contact_state is None


def test_robots_with_many_pairs_have_warps() -> None:
    """No program is made of them, which would be too large."""
    small = lw.Simulation(zoo.sliding_box(friction=0.4), 2, device="cuda", dtype="float64")
    large = lw.Simulation(zoo.box_pyramid(), 2, device="cuda", dtype="float64")
    assert not isinstance(small._robots, warp_batch.WarpBatch)
    assert isinstance(large._robots, warp_batch.WarpBatch)
    with pytest.raises(InputError, match="parameters of robots are inputs of programs"):
        robot = zoo.sliding_box(friction=0.4)
        lw.Simulation(robot, 2, device="cuda", compile=False, parameters={"mass": robot.parameters["mass"]})


def test_few_robots_have_more_lanes() -> None:
    assert [warp_plan.lanes_of_robot(n, 132) for n in (1, 2112, 4096, 8192, 10**6)] == [32, 32, 16, 8, 8]


def test_the_kernel_becomes_ptx() -> None:
    """Lanes wait for each other, and the context is in constant memory."""
    text = ptx.assembly(warp_kernel(rollout("euler", "aba"), "float32", 16), "sm_90", 2)
    for words in ("bar.warp.sync", "shfl.sync.idx", f".const .align 16 .b8 {warp_plan.CONTEXT}", ".entry"):
        assert words in text


# Language ------------------------------------------------------------------------------------------------------------


@kernel
def carried(x: Any, n: int) -> None:
    total = 0.0
    for k in prange(n):
        total = total + x[k]
    x[0] = total


@kernel
def returned(x: Any, n: int) -> None:
    for k in prange(n):
        x[k] = 0.0
        return


@kernel
def waiting(x: Any, n: int) -> None:
    for k in prange(n):
        stage()
        x[k] = 0.0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (carried, "total has a value before prange"),
        (returned, "no return inside prange"),
        (waiting, "no stage ends inside prange"),
    ],
)
def test_iterations_that_depend_on_each_other_are_refused(text: Any, words: str) -> None:
    tree, _ = tables(TREE, {})
    unit = EmulatedUnit(Type("float64", 1), tree, len(tree.sizes) + len(tree.arrays), 32)
    with pytest.raises(KernelError, match=words):
        unit.root(text, (array_type(STATE, ("n",)), Int))
