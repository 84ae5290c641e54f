# SPDX-License-Identifier: BSD-3-Clause
"""Evaluators on a GPU, where there is one: results of the CPU, the same bits in every run, arrays of frameworks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.compilers.cuda import driver

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def gpu() -> None:
    """Skip where there is none."""
    try:
        driver.device(0).name  # noqa: B018
    except lw.errors.DeviceError as error:
        pytest.skip(str(error))


def states(robot: lw.Mechanism, count: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    v, tau = rng.normal(size=(2, count, robot.nv))
    return np.array([robot.integrate(robot.neutral(), 0.3 * row) for row in v]), v, tau


CASES = [
    ("quadruped", "aba"),
    ("humanoid", "aba"),
    ("four_bar", "prox_bbo"),
    ("stewart", "lcaba"),
    ("geared_chain", "cluster"),
]


@pytest.mark.parametrize(("name", "method"), CASES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("code", ["specialized", "native"])
@pytest.mark.filterwarnings("ignore::linkwork.errors.StateWarning")
def test_results_are_those_of_the_cpu(name: str, method: Any, code: Any, dtype: Any) -> None:
    robot = getattr(zoo, name)()
    given = states(robot, 300)  # more than two blocks, the last one in part
    fd = lw.ForwardDynamics(robot, method)
    expected = fd(*given).acceleration
    single = np.abs(fd.native("float32")(*(x.astype(np.float32) for x in given)).acceleration - expected).max()
    arrays = [lw.devices.to_device(x, dtype) for x in given]
    evaluator = fd.to("cuda", dtype, code=code)
    found = evaluator(*arrays).acceleration.numpy()
    evaluator.check()
    bound = 1e-12 * max(1.0, np.abs(expected).max()) if dtype == "float64" else 4.0 * single
    assert np.abs(found - expected).max() <= max(bound, 1e-9 * (method != "aba") * np.abs(expected).max())
    assert np.array_equal(found, evaluator(*arrays).acceleration.numpy())


def test_programs_too_long_for_a_straight_line_are_native() -> None:
    robot = zoo.serial_chain(1000)
    given = states(robot, 200)
    fd = lw.ForwardDynamics(robot)
    expected = fd(*given).acceleration
    evaluator = fd.to("cuda")
    found = evaluator(*map(lw.devices.to_device, given)).acceleration.numpy()
    assert evaluator.runner.is_native  # type: ignore[attr-defined]
    assert np.abs(found - expected).max() <= 1e-9 * np.abs(expected).max()


@pytest.mark.parametrize("code", ["specialized", "native"])
def test_arrays_of_torch_stay_on_their_stream(code: Any) -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch has no CUDA")
    robot = zoo.serial_chain(4)
    given = states(robot, 1000)
    fd = lw.ForwardDynamics(robot)
    evaluator = fd.to("cuda", code=code)
    with torch.cuda.stream(torch.cuda.Stream()):
        tensors = [torch.tensor(x, device="cuda") for x in given]
        found = evaluator(*tensors).acceleration
        again = evaluator(*(x.T.contiguous().T for x in tensors)).acceleration
    torch.cuda.synchronize()
    assert found.is_cuda and again.stride() == (1, 1000)
    np.testing.assert_allclose(found.cpu(), fd(*given).acceleration, rtol=1e-12, atol=1e-12)
    assert torch.equal(found, again)


@pytest.mark.parametrize("code", ["specialized", "native"])
def test_what_is_not_finite_is_counted(code: Any) -> None:
    robot = zoo.quadruped()
    q, v, tau = states(robot, 500)
    v[77, 3] = np.inf
    fd = lw.ForwardDynamics(robot).to("cuda", code=code)
    found = fd(*map(lw.devices.to_device, (q, v, tau))).acceleration.numpy()
    assert np.isnan(found[77]).all() and np.isfinite(np.delete(found, 77, axis=0)).all()
    with pytest.raises(lw.errors.InputError, match="the first is state 77"):
        fd.check()
