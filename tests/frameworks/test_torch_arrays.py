# SPDX-License-Identifier: BSD-3-Clause
"""Arrays that share the memory of tensors: the same numbers, kept alive, and None for tensors that are others."""

from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as np
import pytest

import linkwork as lw

torch = pytest.importorskip("torch")

from linkwork.torch.shared_arrays import shared_arrays  # noqa: E402

made = shared_arrays(torch.Tensor, np.dtype(np.float64))
pytestmark = pytest.mark.skipif(made is None, reason="this torch has no table of DLPack's C functions")


def arrays(*tensors: Any) -> Any:
    assert made is not None
    return made(*tensors)


def test_arrays_are_those_of_torch_for_all_strides() -> None:
    x = torch.arange(48, dtype=torch.float64).reshape(2, 4, 6)
    views = [x, x[1, 2:], x[..., 3:], x.transpose(0, 2), x[:, ::2, ::3], x[0, 0, :1].expand(3, 5), x[0, 0, 0]]
    for array, tensor in zip(arrays(*views), views, strict=True):
        theirs = tensor.numpy()
        assert type(array) is np.ndarray and array.dtype == np.float64
        assert array.ctypes.data == theirs.ctypes.data and array.shape == theirs.shape
        assert array.strides == theirs.strides
        assert [array.flags[k] for k in ("C", "F", "A", "W")] == [theirs.flags[k] for k in ("C", "F", "A", "W")]
    arrays(x)[0][0, 0, 0] = -1.0
    assert x[0, 0, 0] == -1.0
    assert arrays() == ()


def test_arrays_keep_their_tensors_alive_and_nothing_leaks() -> None:
    x = torch.full((1000,), 7.0, dtype=torch.float64)
    references, none = sys.getrefcount(x), sys.getrefcount(None)
    for _ in range(1000):
        arrays(x, x[2:])
        arrays(x, x.float())
    assert sys.getrefcount(x) == references
    assert abs(sys.getrefcount(None) - none) < 100
    (held,) = arrays(x)
    del x
    gc.collect()
    torch.zeros(1000, dtype=torch.float64)
    assert held.min() == held.max() == 7.0


def test_other_tensors_are_not_taken() -> None:
    x = torch.ones(3, dtype=torch.float64)
    own = type("Own", (torch.Tensor,), {})
    others = [x.float(), x.long(), x.to("meta"), x.to_sparse(), torch.nn.Parameter(x), x.as_subclass(own), None, 1.0]
    others += [[1.0], np.ones(3), torch._efficientzerotensor(3, dtype=torch.float64), torch.zeros([1] * 9).double()]
    for other in others:
        assert arrays(other) is None
        assert arrays(x, other) is None  # what was made before is dropped
    seen = []

    def look(y: Any) -> Any:
        seen.append(arrays(y))
        return y.sum()

    torch.func.vmap(look)(x.reshape(3, 1))
    torch.func.grad(look)(x)
    assert seen == [None, None]


def test_tensors_without_a_gradient_to_be_tracked_are_taken() -> None:
    x = torch.ones(3, dtype=torch.float64, requires_grad=True)
    np.testing.assert_array_equal(arrays(x)[0], 1.0)
    with torch.inference_mode():
        y = torch.full((3,), 2.0, dtype=torch.float64)
        np.testing.assert_array_equal(arrays(y)[0], 2.0)
    f, robot = lw.torch.function(lw.Evaluator(lw.zoo.pendulum(2), "bias_forces")), lw.zoo.pendulum(2)
    state = [torch.tensor(robot.random(np.random.default_rng(k)), dtype=torch.float64) for k in range(2)]
    plain = f(*state)
    for x in state:
        x.requires_grad_()
    with torch.no_grad():
        found = f(*state)
    assert not found.requires_grad and torch.equal(found, plain)
    assert f(*state).requires_grad


def test_classes_without_the_table_have_no_function() -> None:
    assert shared_arrays(np.ndarray, np.dtype(np.float64)) is None


def test_torch_functions_do_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from linkwork.torch import call

    evaluator = lw.Evaluator(lw.zoo.pendulum(2), "bias_forces")
    state = [torch.tensor([0.3, -0.4], dtype=torch.float64), torch.tensor([1.0, 2.0], dtype=torch.float64)]
    expected = lw.torch.function(evaluator)(*state)
    monkeypatch.setattr(call, "shared_arrays", lambda tensor, dtype: None)
    call.arrays_of.cache_clear()
    try:
        f = lw.torch.function(evaluator)
        assert torch.equal(f(*state), expected)
        assert torch.equal(f(state[0], torch._neg_view(-state[1])), expected)
        assert f(*[x.float() for x in state]).dtype == torch.float32
        with pytest.raises(lw.errors.InputError, match="needs a torch tensor"):
            f(state[0], np.zeros(2))
    finally:
        call.arrays_of.cache_clear()
