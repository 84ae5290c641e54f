# SPDX-License-Identifier: BSD-3-Clause
"""Evaluators on ``"cuda"`` without a GPU: the same LLVM modules run on the host, PTX is assembled, errors are clear."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.compilers.cuda import device_functions, driver, ptx
from linkwork.compilers.cuda.arrays import DeviceArray, strides_of, to_device
from linkwork.compilers.cuda.layout import rows_of
from linkwork.compilers.cuda.runner import CudaRunner, Signature
from tests.support.cuda_on_host import use_host

SHARED = 228 * 1024
BITS = 1e-12
"""Programs are those of the CPU; multiplications and additions may fuse differently."""


@pytest.fixture
def on_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Evaluators on ``"cuda"`` run here."""
    use_host(monkeypatch)


def states(robot: lw.Mechanism, count: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """Random states near the neutral pose, and torques."""
    rng = np.random.default_rng(seed)
    v = rng.normal(size=(count, robot.nv))
    q = np.array([robot.integrate(robot.neutral(), 0.3 * row) for row in v])
    return q, v, rng.normal(size=(count, robot.nv))


def assert_close(found: Any, expected: Any, tolerance: float = BITS) -> None:
    x = found.numpy()
    assert x.shape == np.shape(expected)
    np.testing.assert_allclose(x, expected, rtol=tolerance, atol=tolerance * max(1.0, np.abs(expected).max()))


# Results -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["prox_bbo", "lcaba", "cluster"])
@pytest.mark.parametrize("major", [False, True])
@pytest.mark.usefixtures("on_host")
def test_forward_dynamics_of_a_loop(method: Any, major: bool) -> None:
    """Iterations are done in each thread, with refinement where the method has it."""
    robot = zoo.four_bar()
    given = states(robot, 5)
    fd = lw.ForwardDynamics(robot, method)
    expected = fd.plain()(*given)
    solution = fd.to("cuda")(*(to_device(np.asfortranarray(x) if major else x) for x in given))
    assert_close(solution.acceleration, expected.acceleration)
    assert_close(solution.multipliers, expected.multipliers, 1e-10)
    assert np.array_equal(solution.result[..., 1].numpy(), expected.iterations)
    assert solution.acceleration.strides == ((1, 5) if major else (robot.nv, 1))


@pytest.mark.parametrize("name", ["four_bar", "quadruped"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.usefixtures("on_host")
def test_programs_that_are_cut(name: str, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts are functions; what is not finite is told as of others."""
    monkeypatch.setattr(device_functions, "LONG_ALONE", 100)
    monkeypatch.setattr(device_functions, "PART", 300)
    robot = getattr(zoo, name)()
    given = states(robot, 3)
    fd = lw.ForwardDynamics(robot, "lcaba" if robot.constraints else "aba")
    expected = fd.plain()(*given).acceleration
    gpu = fd.to("cuda", dtype)
    found = gpu(*(to_device(x, dtype) for x in given)).acceleration
    gpu.check()
    assert_close(found, expected, BITS if dtype == "float64" else 1e-4)
    given[1][1, 0] = np.nan
    found = gpu(*(to_device(x, dtype) for x in given)).acceleration.numpy()
    assert np.isnan(found[1]).all() and np.isfinite(found[[0, 2]]).all()
    with pytest.raises(lw.errors.InputError, match="the first is state 1"):
        gpu.check()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.usefixtures("on_host")
def test_forward_dynamics_of_a_tree(dtype: Any) -> None:
    robot = zoo.quadruped()
    given = states(robot, 3)
    fd = lw.ForwardDynamics(robot)
    found = fd.to("cuda", dtype=dtype)(*(to_device(x, dtype) for x in given))
    assert_close(found.acceleration, fd.plain()(*given).acceleration, BITS if dtype == "float64" else 1e-5)


EVALUATORS: dict[str, Callable[[], tuple[Any, tuple[Any, ...]]]] = {
    "inverse dynamics": lambda: (lw.InverseDynamics(zoo.quadruped()), states(zoo.quadruped(), 3)),
    "mass matrix": lambda: (lw.Evaluator(zoo.serial_chain(4), "mass_matrix"), states(zoo.serial_chain(4), 3)[:1]),
    "inverse dynamics of a loop": lambda: (lw.InverseDynamics(zoo.four_bar(), "cluster"), states(zoo.four_bar(), 2)),
    "energy": lambda: (lw.Evaluator(zoo.serial_chain(4), "energy"), states(zoo.serial_chain(4), 3)[:2]),
    "jvp": lambda: (
        lw.ForwardDynamics(zoo.serial_chain(3)).jvp,
        states(zoo.serial_chain(3), 2) + states(zoo.serial_chain(3), 2, 1)[1:] + (np.ones((2, 3)),),
    ),
    "vjp": lambda: (
        lw.ForwardDynamics(zoo.four_bar(), "cluster").vjp,
        (*states(zoo.four_bar(), 2), np.ones((2, zoo.four_bar().nv))),
    ),
    "derivatives": lambda: (lw.ForwardDynamics(zoo.serial_chain(3)).derivatives, states(zoo.serial_chain(3), 2)),
}


@pytest.mark.parametrize("name", EVALUATORS)
@pytest.mark.usefixtures("on_host")
def test_every_kind_of_evaluator(name: str) -> None:
    evaluator, given = EVALUATORS[name]()
    expected = evaluator.plain()(*given)
    found = evaluator.to("cuda")(*map(to_device, given))
    several = isinstance(expected, tuple)
    for x, y in zip(found if several else [found], expected if several else [expected], strict=True):
        assert_close(x, y)


@pytest.mark.usefixtures("on_host")
def test_steps_with_contacts() -> None:
    """One at a time, by a call: what is looked at on the CPU is not on a GPU."""
    robot = zoo.rolling_sphere()
    q = np.tile(robot.poses.get(zoo.ASSEMBLED, robot.neutral()), (2, 1))
    v = np.random.default_rng(0).normal(size=(2, 6)) * [[0.0], [0.3]]
    step = lw.contact.ContactStep(robot)
    expected = step.by_slots.plain()(q, v)
    found = step.to("cuda")(to_device(q), to_device(v))
    assert_close(found.v, expected.v, 1e-9)
    assert_close(found.forces, expected.forces, 1e-6)
    assert np.array_equal(found.iterations.numpy(), expected.iterations)
    with pytest.raises(lw.errors.UnsupportedFeature, match="starts every step from the one before"):
        found.warm_start  # noqa: B018
    with pytest.raises(lw.errors.InputError, match="its last axis alone"):
        found.v.reshape(12)


@pytest.mark.usefixtures("on_host")
def test_parameters_that_differ_from_state_to_state() -> None:
    robot = zoo.serial_chain(3)
    fd = lw.ForwardDynamics(robot, parameters=["mass", "gravity"])
    q, v, tau = states(robot, 4)
    mass = fd.parameters["mass"] * np.linspace(0.9, 1.1, 4)[:, None]
    expected = fd.plain()(q, v, tau, mass=mass).acceleration
    gpu = fd.to("cuda")
    given = [to_device(x) for x in (q, v, tau)]
    assert_close(gpu(*given, mass=to_device(mass)).acceleration, expected)
    assert_close(gpu.with_parameters(mass=mass)(*given).acceleration, expected)
    assert_close(gpu(*given).acceleration, fd.plain()(q, v, tau).acceleration)


@pytest.mark.usefixtures("on_host")
def test_wrenches_targets_and_regularization() -> None:
    robot = zoo.four_bar()
    frame = "rocker"
    fd = lw.ForwardDynamics(robot, "lcaba", wrenches=[frame])
    q, v, tau = states(robot, 3)
    rng = np.random.default_rng(1)
    options = {
        "wrenches": rng.normal(size=(3, 1, 6)),
        "target": rng.normal(size=(3, robot.nc)),
        "regularization": 1e-6 * rng.uniform(1.0, 2.0, (robot.nc,)),
    }
    expected = fd.plain()(q, v, tau, **options).acceleration
    found = fd.to("cuda")(*map(to_device, (q, v, tau)), **{k: to_device(x) for k, x in options.items()})
    assert_close(found.acceleration, expected, 1e-9)


@pytest.mark.usefixtures("on_host")
def test_results_that_are_not_wanted_are_not_computed() -> None:
    robot = zoo.four_bar()
    given = states(robot, 3)
    fd = lw.ForwardDynamics(robot, "prox_bbo", max_iterations=1)
    solution = fd.to("cuda", outputs="acceleration")(*map(to_device, given))
    assert_close(solution.acceleration, fd.plain()(*given).acceleration)
    assert solution.multipliers is None
    with pytest.raises(lw.errors.InputError, match="has no result 'torque'; there are a, result, acceleration, forces"):
        fd.to("cuda", outputs="torque")
    with pytest.raises(lw.errors.InputError, match="with max_iterations=1 it can be left out"):
        lw.ForwardDynamics(robot, "prox_bbo").to("cuda", outputs="acceleration")(*map(to_device, given))


# Layouts -------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("on_host")
def test_leading_axes_broadcast() -> None:
    robot = zoo.serial_chain(2)
    rng = np.random.default_rng(0)
    q, v, tau = rng.normal(size=(3, 1, 2)), rng.normal(size=(4, 2)), rng.normal(size=(5, 1, 1, 2))
    fd = lw.ForwardDynamics(robot)
    expected = fd.plain()(q, v, tau).acceleration
    assert_close(fd.to("cuda")(*map(to_device, (q, v, tau))).acceleration, expected)
    alone = fd.to("cuda")(*map(to_device, (q[0, 0], v[0], tau[0, 0, 0]))).acceleration
    assert_close(alone, expected[0, 0, 0])
    empty = fd.to("cuda")(*(to_device(np.zeros((0, 2))) for _ in range(3))).acceleration
    assert empty.shape == (0, 2)


@pytest.mark.usefixtures("on_host")
def test_parts_of_arrays_and_given_outputs() -> None:
    robot = zoo.serial_chain(2)
    rng = np.random.default_rng(0)
    whole = rng.normal(size=(6, 3, 2))
    x = to_device(whole)
    fd = lw.ForwardDynamics(robot).to("cuda")
    out = to_device(np.zeros((3, 2)))
    found = fd(x[::2, 0], x[::2, 1], x[1::2, 2], out=out).acceleration
    assert found is out
    expected = lw.ForwardDynamics(robot).plain()(whole[::2, 0], whole[::2, 1], whole[1::2, 2]).acceleration
    assert_close(out, expected)
    fd(x[::2, 0], x[::2, 1], x[1::2, 2], out=out)  # as remembered
    assert_close(out, expected)
    with pytest.raises(lw.errors.InputError, match="is an input too"):
        fd(x[::2, 0], x[::2, 1], out, out=out)


def test_strides_of_new_arrays() -> None:
    assert strides_of((4, 5, 6)) == (30, 6, 1)
    assert strides_of((4, 5, 6), 2) == (5, 1, 20)


@pytest.mark.usefixtures("on_host")
def test_rows_must_be_even() -> None:
    x = to_device(np.zeros((2, 4, 6)))
    assert rows_of("x", _view(x), 2).step == 1
    with pytest.raises(lw.errors.InputError, match="make it contiguous"):
        rows_of("x", _view(x[:, ::2]), 2)


def _view(x: DeviceArray) -> Any:
    from linkwork.compilers.cuda.arrays import library_of

    return library_of(x, "x").view(x, "x", None)


# Numbers that are not finite -----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("on_host")
def test_what_is_not_finite_is_never_silent() -> None:
    robot = zoo.quadruped()
    q, v, tau = states(robot, 4)
    fd = lw.ForwardDynamics(robot).to("cuda")
    good = fd(*map(to_device, (q, v, tau))).acceleration.numpy()
    fd.check()
    q[1, 0], q[2, 3:7] = np.nan, 0.0  # a coordinate that no result depends on; a quaternion of no length
    found = fd(*map(to_device, (q, v, tau))).acceleration.numpy()
    assert np.isnan(found[1:3]).all() and np.array_equal(found[[0, 3]], good[[0, 3]])
    with pytest.raises(lw.errors.InputError, match=r"inputs of 2 states .* the first is state 1"):
        fd.check()
    fd.check()
    tau[3] = 1e308
    fd(*map(to_device, states(robot, 4)[:2]), to_device(tau))
    with pytest.raises(lw.errors.NotFinite, match=r"results of 1 states .* the first is state 3"):
        fd.check()


# Errors --------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("on_host")
def test_wrong_arrays_are_errors() -> None:
    robot = zoo.serial_chain(2)
    fd = lw.ForwardDynamics(robot).to("cuda")
    x = to_device(np.ones((3, 2)))
    with pytest.raises(lw.errors.InputError, match=r"q is a NumPy array.*lw\.devices\.to_device"):
        fd(np.ones((3, 2)), x, x)
    with pytest.raises(lw.errors.InputError, match="tau is a NumPy array"):
        fd(x, x, np.ones(2))
    with pytest.raises(lw.errors.InputError, match=r"v has dtype float32.*dtype='float32'"):
        fd(x, to_device(np.ones((3, 2), np.float32)), x)
    with pytest.raises(lw.errors.InputError, match="tau has 3 numbers"):
        fd(x, x, to_device(np.ones((3, 3))))
    with pytest.raises(lw.errors.InputError, match="do not broadcast"):
        fd(x, to_device(np.ones((4, 2))), x)
    with pytest.raises(lw.errors.InputError, match="out for a has shape"):
        fd(x, x, x, out=to_device(np.ones((2, 2))))
    with pytest.raises(TypeError, match="waits for the GPU"):
        np.asarray(x)
    torch = pytest.importorskip("torch")
    with pytest.raises(lw.errors.InputError, match=r"q is a tensor on 'cpu'"):
        fd(torch.ones(3, 2, dtype=torch.float64), x, x)


def test_devices_have_names() -> None:
    fd = lw.ForwardDynamics(zoo.serial_chain(2))
    assert fd.to("cuda").backend == "cuda"
    assert fd.to("cuda", "float32").to("cpu").backend == "native"
    with pytest.raises(lw.errors.InputError, match="needs 'cpu' or 'cuda'"):
        fd.to("tpu")  # type: ignore[arg-type]


def test_what_cannot_run_on_a_gpu_says_so() -> None:
    robot = zoo.four_bar()
    with pytest.raises(lw.errors.UnsupportedFeature, match="nothing to run on a GPU"):
        lw.ForwardDynamics(robot, "kkt").to("cuda")
    with pytest.raises(lw.errors.UnsupportedFeature, match=r"lw\.torch\.function"):
        lw.ForwardDynamics(robot, "prox_bbo").vjp.to("cuda")
    with pytest.raises(lw.errors.UnsupportedFeature, match=r"lw\.jax\.function"):
        lw.contact.ContactStep(zoo.sliding_box()).vjp.to("cuda")


def test_a_machine_without_a_driver_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "LIBRARY", "libcuda_that_is_not_there.so.1")
    driver.driver.cache_clear()
    try:
        with pytest.raises(lw.errors.DeviceError, match="no NVIDIA driver on this machine"):
            to_device(np.zeros(3))
    finally:
        driver.driver.cache_clear()


# PTX -----------------------------------------------------------------------------------------------------------------


def ptxas() -> str | None:
    """NVIDIA's assembler: on the path, or from the wheel nvidia-cuda-nvcc."""
    found = shutil.which("ptxas")
    if found is None and find_spec("nvidia") is not None:
        import nvidia

        wheels = [path for base in nvidia.__path__ for path in Path(base).glob("*/bin/ptxas")]
        found = str(wheels[0]) if wheels else None
    return found


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["four_bar", "quadruped"])
def test_the_assembler_takes_what_is_written(name: str, dtype: str, tmp_path: Path) -> None:
    assembler = ptxas()
    if assembler is None:
        pytest.skip("no ptxas: pip install nvidia-cuda-nvcc")
    robot = getattr(zoo, name)()
    runner = lw.ForwardDynamics(robot, "lcaba" if robot.constraints else "aba").to("cuda", dtype).runner
    assert isinstance(runner, CudaRunner)
    kernel = runner.kernel(Signature(), SHARED)
    (tmp_path / "kernel.ptx").write_text(ptx.assembly(kernel.ir, "sm_75"))
    for architecture in ("sm_75", "sm_90"):
        command = [assembler, f"-arch={architecture}", "-O1", "kernel.ptx", "-o", "kernel.cubin"]
        made = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert made.returncode == 0, made.stderr


def test_small_programs_use_little_memory() -> None:
    runner = lw.ForwardDynamics(zoo.serial_chain(2)).to("cuda").runner
    assert isinstance(runner, CudaRunner)
    kernel = runner.kernel(Signature(), SHARED)
    assert kernel.shared_bytes == 0 and kernel.local_bytes <= 8
