# SPDX-License-Identifier: BSD-3-Clause
"""The boundary between Python and machine code: nothing that callers, threads, memory or other libraries do crashes it.

Each program below runs in a process of its own, since what is tested is whether the process survives. `LINKWORK_STRESS`
multiplies how often: 1 is enough for every change, 50 for a release.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import pickle
import subprocess
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.compilers import llvm
from linkwork.compilers.backends import runner_for
from linkwork.compilers.entry import entry_point as entry
from linkwork.compilers.entry.entry_point import DONE, MOST_ARRAYS, SHAPES, entry_point
from linkwork.compilers.program import Backend, Program
from linkwork.errors import InputError, LinkworkError
from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.scalar import kernel
from linkwork.plans.layout import Layout
from linkwork.quantities.evaluator import Evaluator
from tests.support.robots import MODELS, models_required

STRESS = int(os.environ.get("LINKWORK_STRESS", "1"))

COLD_THREADS = """
import gc, threading
import numpy as np
import linkwork as lw
from linkwork.quantities.evaluator import Evaluator

robot, count = lw.zoo.pendulum(3), 8
for quantity in ("mass_matrix", "gravity_forces"):
    evaluator, barrier, found = Evaluator(robot, quantity), threading.Barrier(count), []

    def first_call():
        barrier.wait()
        for _ in range(50):
            found.append(evaluator([0.1, 0.2, 0.3]))

    threads = [threading.Thread(target=first_call) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    for _ in range(100):
        found.append(evaluator([0.1, 0.2, 0.3]))
    assert len(found) == 8 * 50 + 100 and all((x == found[0]).all() for x in found)
"""

FAR_APART = """
import ctypes
import numpy as np
import linkwork as lw

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

def reserve(size):
    return libc.mmap(None, size, 0, 0x4022, -1, 0)  # private, anonymous, no swap

robot = lw.zoo.random_tree(5, bodies=24)
fd, q, v = lw.ForwardDynamics(robot), robot.neutral(), np.ones(robot.nv)
slow = fd(q, v, v).acceleration
# Above 8 GB that are taken, only holes are left that hold constants but no code.
wide, above = reserve(8 << 30), []
while (at := reserve(128 << 10)) > wide:
    above.append(at)
for at in above[:200]:
    libc.munmap(at, 16 << 10)
fast = fd.compile()
for q, index in ((q, ()), (np.tile(q, (20, 1)), 7)):
    np.testing.assert_allclose(fast(q, v, v).acceleration[index], slow, rtol=1e-9, atol=1e-9 * np.abs(slow).max())
"""

WITH_TORCH = """
import sys
if sys.argv[1] == "before":
    import torch
import numpy as np
import linkwork as lw
robot = lw.load(sys.argv[2]) if sys.argv[2] else lw.zoo.random_tree(5, bodies=24)
fd, q, v = lw.ForwardDynamics(robot), robot.neutral(), np.zeros(robot.nv)
if sys.argv[1] == "after":
    import torch
fast = fd.compile()
assert np.isfinite(fast(q, v, v).acceleration).all() and np.isfinite(fast(np.tile(q, (20, 1)), v, v).acceleration).all()
assert torch.ones(3).sum() == 3
"""


def survives(program: str, *arguments: str, times: int = 1, **environment: str) -> None:
    """Whether a program ends well in so many processes, two of them at a time."""
    running: list[subprocess.Popen[str]] = []
    for k in range(times):
        command = [sys.executable, "-c", program, *arguments]
        running.append(
            subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}
            )
        )
        if len(running) == 2 or k == times - 1:
            for process in running:
                _, said = process.communicate()
                assert process.returncode == 0, f"status {process.returncode}\n{said}"
            running.clear()


@pytest.mark.slow
def test_threads_may_make_the_first_call_together(tmp_path: Path) -> None:
    """The method definition that CPython calls through belonged to whichever thread came last: half of all processes
    crashed. Cold, with an empty cache each; then warm."""
    for k in range(STRESS):
        survives(COLD_THREADS, LINKWORK_CACHE_DIR=str(tmp_path / str(k)))
        survives(COLD_THREADS, times=3, LINKWORK_CACHE_DIR=str(tmp_path / str(k)))


@pytest.mark.skipif(sys.platform != "linux", reason="reserves addresses as Linux does")
def test_sections_of_a_program_stay_together_in_memory_full_of_holes() -> None:
    """Code and its constants were placed on their own, more than 2 GB apart where memory was taken between them: the
    process was aborted."""
    survives(FAR_APART, times=STRESS)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
@pytest.mark.parametrize("order", ["before", "after"])
def test_torch_and_compiled_programs_share_a_process(order: str) -> None:
    digit = MODELS / "digit" / "digit-v3_nomesh.xml"
    survives(WITH_TORCH, order, str(digit) if digit.exists() or models_required() else "", times=STRESS)


# Arrays are what they are ---------------------------------------------------------------------------------------------


def unpickled(x: np.ndarray) -> np.ndarray:
    return pickle.loads(pickle.dumps(x))


@pytest.mark.parametrize("made", [lambda fd: fd, lambda fd: fd.compile()], ids=["native", "specialized"])
def test_arrays_from_a_pickle_are_as_good_as_others(made: Callable[[Any], Any]) -> None:
    """Their dtype is equal to float64's and not the same object."""
    robot = lw.zoo.pendulum(3)
    evaluator = made(Evaluator(robot, "mass_matrix"))
    q, out = unpickled(np.array([0.1, 0.2, 0.3])), unpickled(np.zeros((3, 3)))
    assert q.dtype is not np.zeros(1).dtype
    expected = evaluator(np.array([0.1, 0.2, 0.3]))
    assert evaluator.runner.entry(q, np.empty((3, 3))) == DONE
    assert evaluator(q, out=out) is out
    np.testing.assert_array_equal(out, expected)
    out[:] = 0.0
    evaluator.bind(q, out=out)()
    np.testing.assert_array_equal(out, expected)


def test_other_arrays_are_not_taken_as_they_are() -> None:
    robot = lw.zoo.pendulum(3)
    take = Evaluator(robot, "gravity_forces").runner.entry
    q, out = np.zeros(3), np.zeros(3)
    assert take(q, out) == DONE
    swapped = q.astype(q.dtype.newbyteorder())
    odd = [q.astype(np.float32), swapped, q.astype(np.int64), q.astype(np.complex128), np.zeros(6)[::2], np.zeros(4)]
    odd += [np.zeros((3, 1)), np.zeros((1, 1, 3)), np.zeros(()), np.ma.zeros(3), [0.0, 0.0, 0.0], None, 3.0, "q"]
    for x in odd:
        assert take(x, out) == SHAPES, x
    fixed = np.zeros(3)
    fixed.setflags(write=False)
    for y in (fixed, q, np.zeros((2, 3)), np.zeros(3, dtype=np.float32)):
        assert take(q, y) == SHAPES
    assert take(fixed, out) == DONE
    for few in ((), (q,), (q, out, out)):
        assert take(*few) == SHAPES
    with pytest.raises(TypeError):
        take(q, out=out)


def test_outputs_that_overlap_are_not_taken() -> None:
    robot = lw.zoo.pendulum(3)
    memory = np.zeros(40)
    take = Evaluator(robot, "gravity_forces").runner.own_entry(True)
    assert take(memory[:12].reshape(4, 3), memory[12:24].reshape(4, 3)) == DONE
    assert take(memory[:12].reshape(4, 3), memory[11:23].reshape(4, 3)) == SHAPES
    assert take(memory[:3], memory[2:5]) == SHAPES
    assert take(memory[:3], memory[3:6]) == DONE


def test_an_algorithm_with_too_many_arrays_is_refused() -> None:
    code = Evaluator(lw.zoo.pendulum(1), "gravity_forces").runner.entry.__module__.code
    shapes = [(1,)] * (MOST_ARRAYS + 1)
    with pytest.raises(LinkworkError, match=f"{MOST_ARRAYS + 1} arrays"):
        entry_point(code, None, np.dtype(np.float64), shapes, 1, ())


def test_arrays_of_many_axes_are_compared_axis_by_axis() -> None:
    shapes = [(2, 3, 2, 1, 2), (1,)]
    owned = Evaluator(lw.zoo.pendulum(1), "gravity_forces").runner.entry.__module__
    take = entry_point(owned.code, owned.context, np.dtype(np.float64), shapes, 1, ())
    assert take(np.zeros((2, 3, 2, 1, 3)), np.zeros(1)) == SHAPES
    assert take(np.zeros((2, 3, 2, 2)), np.zeros(1)) == SHAPES
    assert take(np.zeros((1, 2, 3, 2, 1, 2)), np.zeros((1, 1))) == DONE


# Lifetimes ------------------------------------------------------------------------------------------------------------


def test_an_entry_point_outlives_what_made_it() -> None:
    evaluator = Evaluator(lw.zoo.pendulum(3), "gravity_forces")
    take = evaluator.compile().runner.entry
    expected = evaluator([0.1, 0.2, 0.3])
    del evaluator
    gc.collect()
    out = np.empty(3)
    assert take(np.array([0.1, 0.2, 0.3]), out) == DONE
    np.testing.assert_allclose(out, expected, rtol=1e-12)


def test_the_code_of_an_evaluator_that_is_gone_is_given_back() -> None:
    robot = lw.zoo.pendulum(2, mass=1.2345)
    fast = lw.ForwardDynamics(robot).compile(lanes=2)
    codes = [weakref.ref(take.__module__.code) for take in (fast.runner.entry, fast.runner.own_entry(True))]
    assert all(code() is not None for code in codes)
    gc.collect()  # what other tests left behind
    kept = len(llvm._LOADED)
    del fast
    gc.collect()
    assert all(code() is None for code in codes)
    assert len(llvm._LOADED) == kept - 2


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_programs_that_come_and_go_leave_no_memory_behind() -> None:
    def executable() -> int:
        lines = Path("/proc/self/maps").read_text().splitlines()
        spans = [line.split()[0].split("-") for line in lines if " r-xp " in line and line.split()[4] == "0"]
        return sum(int(end, 16) - int(start, 16) for start, end in spans)

    robot = lw.zoo.pendulum(2, mass=1.2346)
    q, sizes = np.zeros(2), []
    for _ in range(12):
        Evaluator(robot, "mass_matrix").compile()(q)
        gc.collect()
        sizes.append(executable())
    assert sizes[-1] <= sizes[3]


# Interpreters ---------------------------------------------------------------------------------------------------------


def test_a_python_without_its_lock_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry, "_CODE", {})
    monkeypatch.setattr(entry.sysconfig, "get_config_var", lambda name: int(name == "Py_GIL_DISABLED"))
    with pytest.raises(LinkworkError, match="free-threaded"):
        Evaluator(lw.zoo.pendulum(1), "gravity_forces")([0.0])


def test_arrays_of_an_unknown_layout_are_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry, "_CODE", {})
    monkeypatch.setattr(entry, "layout_holds", lambda: False)
    with pytest.raises(LinkworkError, match="has an unknown memory layout"):
        Evaluator(lw.zoo.pendulum(1), "gravity_forces")([0.0])


# Results --------------------------------------------------------------------------------------------------------------


@kernel
def count_up(tree: Any, w: Any, x: Any, settings: Any, sparse: Any, progress: Any) -> None:
    for k in range(tree.n):
        sparse[k] = 0.0
    sparse[3] = x[0]
    progress[0] = 1.0
    progress[1] = 1.0


@kernel
def count_on(tree: Any, w: Any, x: Any, settings: Any, sparse: Any, progress: Any) -> None:
    for k in range(tree.n):
        sparse[k] += 1.0
    progress[1] += 1.0


@pytest.mark.parametrize("lanes", [1, 2, 4])
@pytest.mark.parametrize("backend", ["native", "specialized"])
def test_outputs_that_are_mostly_zero_are_cleared_for_every_block_of_lanes(backend: Any, lanes: int) -> None:
    """A second text that adds to them finds zeros in each block, not what the block before left."""
    layout = Layout("sizes", ("n",), {}, {})
    algorithm = Algorithm(
        "count_up",
        count_up,
        {"x": (1,), "settings": (2,)},
        {"sparse": ("n",), "progress": (2,)},
        {},
        layout,
        count_on,
    )
    program = Program(algorithm, layout.type(40), (), "none")
    runner = runner_for(program, Backend(backend, lanes=lanes))
    x = np.arange(11.0)[:, None]
    sparse, _ = runner.evaluate([x, np.array([0.0, 4.0])], [None, None])
    expected = np.full((11, 40), 3.0)
    expected[:, 3] += x[:, 0]
    np.testing.assert_array_equal(sparse, expected)


def test_a_wrong_cache_size_is_said_before_anything_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINKWORK_CACHE_SIZE", "large")
    with pytest.raises(InputError, match="LINKWORK_CACHE_SIZE"):
        Evaluator(lw.zoo.pendulum(2, mass=7.7), "mass_matrix").compile()
