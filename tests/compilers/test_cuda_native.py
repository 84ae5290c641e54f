# SPDX-License-Identifier: BSD-3-Clause
"""Native code on ``"cuda"`` without a GPU: kernel code that reads the plan, the same LLVM module run on the host."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.compilers.cuda import native, ptx
from linkwork.compilers.cuda.arrays import to_device
from linkwork.compilers.cuda.runner import CudaRunner, Signature
from tests.compilers.test_cuda import SHARED, assert_close, ptxas, states
from tests.support.cuda_on_host import HostDevice, HostMemory, use_host


@pytest.fixture(autouse=True)
def on_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Evaluators on ``"cuda"`` run here, with scratches of their own."""
    use_host(monkeypatch)
    monkeypatch.setattr(native, "_SCRATCH", {})


# Results -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["four_bar", "quadruped", "stewart"])
def test_forward_dynamics(name: str) -> None:
    """Trees and loops, with iterations and refinement in each thread: the same kernel for all mechanisms."""
    robot = getattr(zoo, name)()
    q, v, tau = states(robot, 5)
    fd = lw.ForwardDynamics(robot, "lcaba" if robot.constraints else "aba")
    expected = fd.plain()(q, v, tau)
    gpu = fd.to("cuda", code="native")
    for given in ((q, v, tau), tuple(np.asfortranarray(x) for x in (q, v, tau))):
        solution = gpu(*map(to_device, given))
        assert_close(solution.acceleration, expected.acceleration)
        if robot.constraints:
            assert np.array_equal(solution.result[..., 1].numpy(), expected.iterations)
    gpu.check()


def test_single_precision() -> None:
    robot = zoo.quadruped()
    given = states(robot, 3)
    fd = lw.ForwardDynamics(robot)
    found = fd.to("cuda", dtype="float32", code="native")(*(to_device(x, "float32") for x in given))
    assert_close(found.acceleration, fd.plain()(*given).acceleration, 1e-5)


EVALUATORS: dict[str, Callable[[], tuple[Any, tuple[Any, ...]]]] = {
    "inverse dynamics": lambda: (lw.InverseDynamics(zoo.quadruped()), states(zoo.quadruped(), 3)),
    "mass matrix": lambda: (lw.Evaluator(zoo.serial_chain(4), "mass_matrix"), states(zoo.serial_chain(4), 3)[:1]),
    "derivatives": lambda: (lw.InverseDynamics(zoo.quadruped()).derivatives, states(zoo.quadruped(), 2)),
}


@pytest.mark.parametrize("name", EVALUATORS)
def test_every_kind_of_evaluator(name: str) -> None:
    evaluator, given = EVALUATORS[name]()
    gpu = evaluator.to("cuda", code="native")
    expected, found = evaluator.plain()(*given), gpu(*map(to_device, given))
    assert gpu.runner.is_native
    several = isinstance(expected, tuple)
    for x, y in zip(found if several else [found], expected if several else [expected], strict=True):
        assert_close(x, y)


def test_arrays_that_broadcast_along_two_axes_take_one_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Configurations along one axis, velocities along another, torques along both."""
    robot = zoo.quadruped()
    q, v, _ = states(robot, 7)
    tau = np.random.default_rng(1).normal(size=(3, 4, robot.nv))
    given = q[:3, None], v[3:7][None], tau
    launches = []
    launch = native.NativeCode.launch

    def counted(code: native.NativeCode, *arguments: Any) -> None:
        launches.append(arguments[1])
        launch(code, *arguments)

    monkeypatch.setattr(native.NativeCode, "launch", counted)
    fd = lw.ForwardDynamics(robot)
    gpu = fd.to("cuda", code="native")
    expected = fd.plain()(*given).acceleration
    for _ in range(3):  # the second call is a known one
        assert_close(gpu(*map(to_device, given)).acceleration, expected)
    assert launches == [12, 12, 12]


def test_rays_against_triangles() -> None:
    """Branches by the state, each thread its own; one ray a state."""
    heights = np.random.default_rng(0).random((9, 7))
    build = lw.Builder("scanner")
    build.body("base", lw.Inertia.rod(1.0, (0, 0, 0), (0.3, 0, 0)))
    build.joint("floating", lw.joints.Free(), "world", "base")
    build.shape("world", lw.shapes.HeightField(tuple(map(tuple, heights)), (1.0, 1.2)), role="collision")
    build.shape("world", lw.shapes.Ground(), role="collision")
    robot = build.build()
    rays = lw.sensors.Rays(robot, "base", axes="yaw")
    pattern = lw.sensors.height_scan((1.0, 0.6), 0.2, above=3.0)
    q = robot.random(0, 3)[:, None]
    expected = rays(q, *pattern)
    gpu = rays.to("cuda")
    found = gpu(*map(to_device, (q, *pattern)))
    assert gpu.runner.is_native  # type: ignore[attr-defined]
    assert_close(found.distance, expected.distance)
    assert_close(found.normal, expected.normal)
    with pytest.raises(lw.errors.UnsupportedFeature, match="straight-line programs cannot"):
        rays.compile()


def test_threads_take_one_state_after_another() -> None:
    """More states than threads, on axes that broadcast: several launches of a kernel that share one scratch."""
    robot = zoo.serial_chain(2)
    q, v, tau = states(robot, 1300)
    fd = lw.ForwardDynamics(robot)
    found = fd.to("cuda", code="native")(*map(to_device, (q, v[:2, None], tau)))
    assert_close(found.acceleration, fd(q, v[:2, None], tau).acceleration)


def test_the_scratch_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = zoo.serial_chain(2)
    given = states(robot, 300)
    fd = lw.ForwardDynamics(robot)
    gpu = fd.to("cuda", code="native")
    with monkeypatch.context() as patch:
        patch.setattr(HostDevice, "memory", native.SHARE)
        assert_close(gpu(*map(to_device, given)).acceleration, fd(*given).acceleration)
    (scratch,) = native._SCRATCH.values()
    (code,) = gpu.runner.codes.values()  # type: ignore[attr-defined]
    assert scratch.bytes == code.plan.warp_bytes
    assert_close(gpu(*map(to_device, given)).acceleration, fd(*given).acceleration)
    (larger,) = native._SCRATCH.values()
    assert larger.bytes == 10 * scratch.bytes  # 300 states, 32 in each warp


def test_streams_have_scratches_of_their_own() -> None:
    make: Any = partial(HostMemory, None)
    first, second = (native.scratch_of(0, stream, 64, make) for stream in (0, 7))
    assert first != second
    assert native.scratch_of(0, 7, 32, make) == second
    with ThreadPoolExecutor(1) as other:
        elsewhere = other.submit(native.scratch_of, 0, native.PER_THREAD, 64, make).result()
    assert elsewhere != native.scratch_of(0, native.PER_THREAD, 64, make)


def test_addresses_in_place_of_arrays() -> None:
    """As frameworks call it: one kernel and one plan, whatever is held."""
    robot = zoo.serial_chain(2)
    q, v, tau = states(robot, 3)
    fd = lw.ForwardDynamics(robot)
    runner = fd.to("cuda", code="native").runner
    assert isinstance(runner, CudaRunner)
    held = {name: np.zeros(shape) for name, shape in zip(runner.names, runner.inputs, strict=True)}
    held = {name: x for name, x in held.items() if name not in ("q", "v", "tau")}
    outputs = [np.full((3, *shape), np.nan) for shape in runner.outputs]
    rows = [(x.ctypes.data, x[0].size, 1) for x in (q, v, tau, *outputs)]
    runner.prepared(held).launch([word for row in rows for word in row], 3, 0)
    assert_close(to_device(outputs[0]), fd(q, v, tau).acceleration)
    runner.prepared({**held, "tau": tau[0]}).launch(
        [word for k, row in enumerate(rows) if k != 2 for word in row], 3, 0
    )
    assert_close(to_device(outputs[0]), fd(q, v, tau[0]).acceleration)
    assert len(runner.codes) == 1


def test_parameters_and_wanted_results() -> None:
    robot = zoo.serial_chain(3)
    fd = lw.ForwardDynamics(robot, parameters=["mass"])
    q, v, tau = states(robot, 4)
    mass = fd.parameters["mass"] * np.linspace(0.9, 1.1, 4)[:, None]
    gpu = fd.to("cuda", code="native", outputs="acceleration")
    found = gpu(*map(to_device, (q, v, tau)), mass=to_device(mass))
    assert_close(found.acceleration, fd.plain()(q, v, tau, mass=mass).acceleration)


# Which code ----------------------------------------------------------------------------------------------------------


def test_programs_that_would_be_too_long_are_native() -> None:
    robot = zoo.serial_chain(3)
    fd = lw.ForwardDynamics(robot)
    given = states(robot, 2)
    for most, wanted in ((100, True), (100_000, False)):
        gpu = fd.to("cuda", max_operations=most)
        assert_close(gpu(*map(to_device, given)).acceleration, fd(*given).acceleration)
        assert gpu.runner.is_native is wanted  # type: ignore[attr-defined]
    straight = fd.to("cuda", max_operations=100, code="specialized")
    with pytest.raises(lw.errors.ProgramTooLarge):
        straight(*map(to_device, given))


def test_products_are_specialized_whatever_is_asked_for() -> None:
    robot = zoo.serial_chain(2)
    fd = lw.ForwardDynamics(robot)
    given = (*states(robot, 2), np.ones((2, 2)))
    product = fd.to("cuda", code="native").vjp
    assert not product.runner.is_native  # type: ignore[attr-defined]
    for x, y in zip(product(*map(to_device, given)), fd.vjp(*given), strict=True):
        assert_close(x, y)


def test_code_has_names() -> None:
    with pytest.raises(lw.errors.InputError, match="needs 'specialized' or 'native'"):
        lw.ForwardDynamics(zoo.serial_chain(2)).to("cuda", code="generic")  # type: ignore[arg-type]


# What is not finite --------------------------------------------------------------------------------------------------


def test_states_that_are_not_finite_are_counted() -> None:
    robot = zoo.quadruped()
    q, v, tau = states(robot, 4)
    fd = lw.ForwardDynamics(robot)
    expected = fd(q, v, tau).acceleration
    q[1, 3:7], v[2, 5] = 0.0, np.inf
    gpu = fd.to("cuda", code="native")
    found = gpu(*map(to_device, (q, v, tau))).acceleration.numpy()
    assert np.isnan(found[1:3]).all()
    np.testing.assert_allclose(found[[0, 3]], expected[[0, 3]], rtol=1e-12, atol=1e-9)
    with pytest.raises(lw.errors.InputError, match=r"inputs of 2 states.*first is state 1"):
        gpu.check()
    tau[3] = 1.7e308
    gpu(*map(to_device, (*states(robot, 4)[:2], tau)))
    with pytest.raises(lw.errors.NotFinite, match="first is state 3"):
        gpu.check()


# PTX -----------------------------------------------------------------------------------------------------------------


def test_the_assembler_takes_what_is_written(tmp_path: Path) -> None:
    runner = lw.InverseDynamics(zoo.quadruped()).to("cuda", code="native").runner
    assert isinstance(runner, CudaRunner)
    kernel = runner.kernel(Signature(), SHARED)
    text = ptx.assembly(kernel.ir, "sm_75", kernel.optimization)
    assert "ld.global.nc" in text and not any(f"\tld.{kind}64" in text for kind in "bfu")  # no address without a space
    assembler = ptxas()
    if assembler is None:
        pytest.skip("no ptxas: pip install nvidia-cuda-nvcc")
    (tmp_path / "kernel.ptx").write_text(text)
    for architecture in ("sm_75", "sm_90"):
        command = [assembler, f"-arch={architecture}", "-O1", "kernel.ptx", "-o", "kernel.cubin"]
        made = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert made.returncode == 0, made.stderr
