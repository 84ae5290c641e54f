# SPDX-License-Identifier: BSD-3-Clause
"""Kernels from outside the package: faults are errors with file, line and values before anything runs, all backends
accept the same text, and loops in machine code can be interrupted."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import linkwork as lw
from linkwork.compilers import checks, native
from linkwork.compilers.lanes import Type
from linkwork.errors import InputError, KernelError
from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.scalar import kernel, where
from linkwork.kernels.tree.aba import ABA
from linkwork.kernels.tree.rnea import GRAVITY, gravity_forces
from linkwork.plans.tree import tree_of
from linkwork.quantities.evaluator import ProgramEvaluator
from tests.support.kernel_backends import written

ARM = lw.zoo.pendulum(3)
Q, V = np.zeros(3), np.array([3.0, -4.0, 0.5])
INPUTS = {"q": ("nq",), "v": ("nv",)}
WORK = {"a": ("nv",), "b": ("nv", 3)}


def evaluator(text: Any, **options: Any) -> ProgramEvaluator:
    return ProgramEvaluator(ARM, "of a user", Algorithm("users", text, INPUTS, {"y": (1,)}, WORK), tree_of, **options)


def text_of(body: str, folder: Path, before: str = "") -> Any:
    """A kernel with this body, in a file."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return written(f"{before}\n\n@kernel\ndef text(tree, w, q, v, y):\n{lines}\n", folder).text


BACKENDS: dict[str, Callable[[ProgramEvaluator], Any]] = {
    "plain": lambda e: e.plain()(Q, V),
    "native": lambda e: e(Q, V),
    "lanes": lambda e: e(np.tile(Q, (9, 1)), np.tile(V, (9, 1)))[8],
    "compiled": lambda e: e.compile()(Q, V),
}


# Faults --------------------------------------------------------------------------------------------------------------


class Fault(NamedTuple):
    """Text that is at fault in the line that ends in ``#!``, and what the error says."""

    body: str
    says: str
    before: str = ""


SPIN = "@kernel\ndef spin(n):\n    j = 1\n    while j > 0:  #!\n        j = n\n    return j\n\n\n"
FAULTS = {
    "an entry far away": Fault("y[0] = w.a[tree.nv * 1000000]  #!", "index 3000000 .*: axis 0 has size 3, in w.a"),
    "an entry behind the last": Fault("w.a[tree.nv] = 1.0  #!", "index 3 .*: axis 0 has size 3"),
    "an entry before the first": Fault("y[0] = q[tree.nv - 4]  #!", "index -1 .*: axis 0 has size 3"),
    "an output": Fault("for k in range(tree.nv):\n    y[k] = v[k]  #!", "index 1 .*: axis 0 has size 1"),
    "the second axis": Fault("y[0] = w.b[0, tree.nv]  #!", "index 3 .*: axis 1 has size 3"),
    "in place": Fault("w.a[tree.n * 7] += 1.0  #!\ny[0] = 0.0", "index 28"),
    "a row": Fault("r = w.b[tree.nv * 9]  #!\ny[0] = r[0]", "index 27 .*: axis 0 has size 3"),
    "an entry of a row": Fault("r = w.b[0]\ny[0] = r[tree.nv]  #!", "index 3 .*: axis 0 has size 3"),
    "a part beyond the end": Fault("x = w.a[1 : tree.nv + 1]  #!\ny[0] = x[0]", "end 4 .*: axis 0 has size 3"),
    "a part from before the start": Fault("x = w.a[tree.nv - 4 : 2]  #!\ny[0] = x[0]", "from -1 to 2"),
    "an entry behind a part": Fault("x = w.a[1:2]\ny[0] = x[tree.nv - 2]  #!", "index 1 .*: axis 0 has size 1"),
    "an array of the tree": Fault("k = tree.parent[tree.n]  #!\ny[0] = 0.0", "index 4 .*: axis 0 has size 4"),
    "a constant": Fault("y[0] = X[tree.nv]  #!", "index 3 .*: axis 0 has size 2", "X = (1.0, 2.0)"),
    "a number that is not written": Fault("y[0] = w.a[1]  #!", "never written"),
    "a tuple": Fault("x = (v[0], v[1])\ny[0] = x[tree.nv]  #!", "index 3 .*: the tuple has size 2"),
    "a kernel that is called": Fault(
        "y[0] = at(w.a, tree.nv)", "index 3", "@kernel\ndef at(x, k):\n    return x[k]  #!\n\n\n"
    ),
    "a branch that only saves work": Fault(
        "if any_below(v[0], -9.0):\n    w.a[tree.nv] = 1.0  #!\ny[0] = 0.0", "index 3"
    ),
    "what some states look at": Fault(
        "if any_below(v[0], 9.0) or tree.parent[tree.n] > 0:  #!\n    y[0] = 0.0", "index 4 .*: axis 0 has size 4"
    ),
    "division": Fault("y[0] = float(5 // (tree.nv - 3))  #!", "division of 5 by zero"),
    "a remainder": Fault("y[0] = float(5 % (tree.nv - 3))  #!", "division of 5 by zero"),
    "the least integer over -1": Fault(
        "k = 0 - 9223372036854775807 - (tree.nv - 2)\ny[0] = float(k // (2 - tree.nv))  #!",
        "-9223372036854775808 // -1",
    ),
    "a product": Fault("k = tree.nv\nfor j in range(9):\n    k = k * k  #!\ny[0] = w.a[k]", "64 bits"),
    "a loop without end": Fault("y[0] = float(spin(tree.nv))", "100000000 times", SPIN),
    "a huge range": Fault("for k in range(1000000000000):  #!\n    w.a[0] = 1.0\ny[0] = 0.0", "100000000 times"),
    "calls of calls": Fault(
        "y[0] = f25(v[0])",
        "longer than 2000000 nodes",
        "@kernel\ndef f0(x):\n    return x\n\n\n"
        + "".join(
            f"@kernel\ndef f{k}(x):\n    return f{k - 1}(x) + f{k - 1}(x){'  #!' if k == 17 else ''}\n\n\n"
            for k in range(1, 26)
        ),
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_errors_with_file_and_line(name: str, tmp_path: Path) -> None:
    fault = FAULTS[name]
    text = text_of(fault.body, tmp_path, fault.before)
    with pytest.raises(KernelError, match=fault.says) as told:
        evaluator(text).plain()(Q, V)
    file = Path(text.__code__.co_filename)
    assert told.value.file == str(file)
    lines = file.read_text().splitlines()
    marked = [k + 1 for k, line in enumerate(lines) if line.endswith("#!")]
    assert told.value.line in marked


def test_text_that_is_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KernelError, match="nested too deeply"):
        evaluator(text_of("y[0] = " + " + ".join(["v[0]"] * 1500), tmp_path))(Q, V)


def test_outputs_that_are_not_written_are_refused() -> None:
    @kernel
    def half(tree: Any, w: Any, q: Any, v: Any, y: Any) -> None:
        y[0] = v[0]

    algorithm = Algorithm("half", half, INPUTS, {"y": (2,)}, {})
    with pytest.raises(KernelError, match="output 'y' is not written: entry 1 of 2"):
        ProgramEvaluator(ARM, "half", algorithm, tree_of)(Q, V)


def test_a_fault_inside_the_package_is_shown_where_it_is_called() -> None:
    @kernel
    def short(tree: Any, w: Any, q: Any, v: Any, y: Any) -> None:
        gravity_forces(tree, w, q, y)

    algorithm = Algorithm("short", short, INPUTS, {"y": (1,)}, dict(GRAVITY.work))
    with pytest.raises(KernelError, match=r"index 2 .*: axis 0 has size 1.*rnea\.py") as told:
        ProgramEvaluator(ARM, "short", algorithm, tree_of)(Q, V)
    assert told.value.kernel == "short" and told.value.text == "gravity_forces(tree, w, q, y)"


@kernel
def beyond(tree, time, q, v, at, tau):
    tau[tree.nv + 1] = at


def test_controllers_are_checked_wherever_they_run() -> None:
    controller = lw.Controller(beyond, at=1.0)
    states = np.tile(Q, (3, 1)), np.tile(V, (3, 1))
    runs: list[Callable[[], Any]] = [
        lambda: lw.simulate(ARM, Q, V, seconds=0.01, controller=controller),
        lambda: lw.simulate(ARM, Q, V, seconds=0.01, controller=controller, integrator="dopri5"),
        lambda: lw.rollouts(ARM, *states, seconds=0.01, controller=controller),
        lambda: lw.Simulation(ARM, 3, controller=controller),
    ]
    for run in runs:
        with pytest.raises(KernelError, match="index 4 is out of range: axis 0 has size 3") as told:
            run()
        assert told.value.file == __file__ and told.value.text == "tau[tree.nv + 1] = at"


def test_kernels_are_checked_once_for_each_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    @kernel
    def third(tree: Any, w: Any, q: Any, v: Any, y: Any) -> None:
        y[0] = v[2]

    checked = []
    run = checks.run_checked
    monkeypatch.setattr(checks, "run_checked", lambda *given: (checked.append(given), run(*given)))
    for _ in range(2):
        assert evaluator(third)(Q, V) == evaluator(third).plain()(Q, V) == 0.5
    assert len(checked) == 1
    algorithm = Algorithm("users", third, INPUTS, {"y": (1,)}, WORK)
    with pytest.raises(KernelError, match="index 2 is out of range: axis 0 has size 2"):
        ProgramEvaluator(lw.zoo.pendulum(2), "of a user", algorithm, tree_of)(Q[:2], V[:2])
    assert len(checked) == 2
    third.__checked__ = False
    assert (
        ProgramEvaluator(ARM, "of a user", Algorithm("unchecked", third, INPUTS, {"y": (1,)}, WORK), tree_of)(Q, V)
        == 0.5
    )
    assert len(checked) == 2


def test_text_of_the_package_has_no_checks() -> None:
    one = Type("float64", 1)
    assert "linkwork_iterate" not in native.module(ABA, one) and "linkwork_check" not in native.module(ABA, one)


def test_records_that_would_leave_memory_are_refused() -> None:
    @kernel
    def first(tree: Any, w: Any, q: Any, settings: Any, y: Any) -> None:
        y[0] = 0.0

    iterating = Algorithm("iterating", first, {"q": ("nq",), "settings": (2,)}, {"y": (1,)}, {}, iteration=first)
    with pytest.raises(InputError, match="its last output has 1, needs 2 or more"):
        ProgramEvaluator(ARM, "of a user", iterating, tree_of)(Q, [0.0, 1.0])
    free = lw.zoo.random_tree(1, 3, kinds="f")
    short = Algorithm("short", first, {"q": (1,), "settings": (2,)}, {"y": (1,)}, {})
    with pytest.raises(InputError, match="its first input, q, has 1 numbers"):
        ProgramEvaluator(free, "of a user", short, tree_of)([1.0], [0.0, 1.0])

    def cut(robot: Any, frames: Any) -> Any:
        tree = tree_of(robot, frames)
        return tree._replace(parent=tree.parent[:1])

    with pytest.raises(InputError, match=r"array 'parent' of the plan has shape \(1,\), its layout says \(4,\)"):
        ProgramEvaluator(ARM, "of a user", Algorithm("users", first, INPUTS, {"y": (1,)}, {}), cut)(Q, V)


# One language --------------------------------------------------------------------------------------------------------

LANGUAGE: dict[str, tuple[str, float | None, str]] = {
    "sums": ("s = 0.0\nfor k in range(tree.nv):\n    s += v[k]\ny[0] = s", -0.5, ""),
    "a constant tuple": ("y[0] = X[tree.nv - 2]", 2.0, "X = (1.0, 2.0)"),
    "a constant list": ("y[0] = X[1]", None, "X = [1.0, 2.0]"),
    "a constant array": ("y[0] = X[1]", None, "X = np.array([1.0, 2.0])"),
    "a constant dict": ("y[0] = X[1]", None, "X = {1: 2.0}"),
    "del": ("x = v[0]\ny[0] = x\ndel x", None, ""),
    "int": ("y[0] = v[int(v[2])]", None, ""),
    "abs": ("y[0] = abs(v[0])", None, ""),
    "a method": ("y[0] = v.sum()", None, ""),
    "floats compared": ("y[0] = 1.0 if v[0] > 0.0 else 2.0", None, ""),
    "an integer among floats": ("y[0] = 2 * v[0]", None, ""),
    "an input written": ("v[0] = 1.0\ny[0] = v[0]", None, ""),
    "an index from the end": ("y[0] = v[-1]", None, ""),
    "a computed index from the end": ("y[0] = v[tree.nv - 4]", None, ""),
    "a part that ends too late": ("x = v[1:7]\ny[0] = x[0]", None, ""),
    "break": ("for k in range(3):\n    break\ny[0] = 0.0", None, ""),
    "a function that is no kernel": ("y[0] = f(v[0])", None, "def f(x):\n    return x"),
    "integers beyond 64 bits": ("k = tree.nv * 9000000000000000000\ny[0] = float(k)", None, ""),
    "a value on some paths": ("if any_below(v[0], 9.0):\n    x = 1.0\ny[0] = x", None, ""),
    "an integer of some states": ("k = 0\nif any_below(v[0], 9.0):\n    k = 1\ny[0] = v[k]", None, ""),
    "a branch of some states": ("if any_below(v[0], 0.0):\n    y[0] = 1.0\nelse:\n    y[0] = 2.0", None, ""),
    "a root in the branch that where leaves": ("y[0] = where(v[1], 0.0, 1.0, sqrt(v[1]))", 1.0, ""),
    "floor division": ("y[0] = float(-tree.nv // 2) + float(-tree.nv % 2)", -1.0, ""),
    "saved work": ("y[0] = v[0]\nif any_below(v[0], 0.0):\n    y[0] = where(v[0], 0.0, 0.0, y[0])", 3.0, ""),
}


@pytest.mark.parametrize("name", LANGUAGE)
def test_all_backends_accept_one_language(name: str, tmp_path: Path) -> None:
    body, expected, before = LANGUAGE[name]
    text = text_of(body, tmp_path, before)
    found = {}
    for backend, run in BACKENDS.items():
        try:
            found[backend] = float(run(evaluator(text))[0])
        except KernelError as error:
            assert error.file == text.__code__.co_filename and error.line
            found[backend] = str(error)
    assert len(set(found.values())) == 1, found
    if expected is not None:
        assert found["plain"] == expected
    else:
        assert isinstance(found["plain"], str)


def test_text_that_cannot_be_read_is_refused_by_all_backends() -> None:
    names: dict[str, Any] = {"kernel": kernel}
    exec("@kernel\ndef text(tree, w, q, v, y):\n    y[0] = v[0]\n", names)
    for run in BACKENDS.values():
        with pytest.raises(KernelError, match="cannot be read"):
            run(evaluator(names["text"]))


# Interrupts ----------------------------------------------------------------------------------------------------------


class Alarm(Exception):
    """Raised by a signal."""


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """An exception of the handler of a signal, after so many seconds."""

    def ring(number: int, frame: Any) -> None:
        raise Alarm

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        with pytest.raises(Alarm):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def compiled_ahead(compute: Any) -> Any:
    """An evaluator whose machine code is there before a signal comes, which could be lost while LLVM works."""
    for batched in (False, True):
        compute.runner.own_entry(batched)
    return compute


posix = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers that send signals")
MANY = np.tile(Q, (2048, 1)), np.tile(V, (2048, 1))


@kernel(checked=False)
def endless(tree, w, q, v, y):
    """Goes on for as long as there is a joint."""
    y[0] = 0.0
    while tree.nv > 0:
        y[0] += v[0]


@kernel(checked=False)
def unhurried(tree, w, q, v, y):
    s = 0.0
    for i in range(1000000000):
        for j in range(1000000000):
            s += v[0] * float(i - j)
    y[0] = s


@posix
@pytest.mark.parametrize("text", [endless, unhurried])
def test_loops_of_users_kernels_can_be_interrupted(text: Any) -> None:
    compute = compiled_ahead(evaluator(text, threads=2))
    for states in ((Q, V), (MANY[0][:5], MANY[1][:5]), MANY):
        with alarm(0.02):
            compute(*states)


@kernel
def begin(tree, w, q, v, settings, y, progress):
    y[0] = v[0]
    progress[0] = 1.0
    progress[1] = 0.0


@kernel
def stagnate(tree, w, q, v, settings, y, progress):
    progress[0] = where(v[0], 0.0, 0.0, progress[0])


@posix
@pytest.mark.parametrize("compiled", [False, True])
def test_iterations_can_be_interrupted(compiled: bool) -> None:
    """And the next call of the same evaluator is as any other."""
    outputs = {"y": (1,), "progress": (2,)}
    for uneven in (False, True):
        iterating = Algorithm(
            "stagnant", begin, {**INPUTS, "settings": (2,)}, outputs, {}, iteration=stagnate, uneven=uneven
        )
        compute = ProgramEvaluator(ARM, "of a user", iterating, tree_of, threads=2)
        compute = compiled_ahead(compute.compile() if compiled else compute)
        for states in ((Q, V), MANY):
            with alarm(0.02):
                compute(*states, [0.5, 10.0])
            y, _ = compute(*states, [2.0, 10.0])
            assert (y == 3.0).all()


@posix
def test_steps_can_be_interrupted() -> None:
    stepper = compiled_ahead(lw.Stepper(ARM, threads=2))
    for states in ((Q, V), MANY):
        with alarm(0.02):
            stepper(*states, np.zeros(3), steps=1_000_000_000)
        assert np.isfinite(stepper(*states, np.zeros(3), steps=2).q).all()


@posix
def test_a_signal_that_is_handled_interrupts_nothing() -> None:
    """Work arrays of the call that goes on are not those of the handler's call."""
    stepper, rung = lw.Stepper(ARM), []
    expected = stepper(Q, V, np.zeros(3), steps=200_000).q

    def ring(number: int, frame: Any) -> None:
        rung.append(stepper(-V, V, V, steps=3).q)

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    try:
        while not rung:
            np.testing.assert_array_equal(stepper(Q, V, np.zeros(3), steps=200_000).q, expected)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
