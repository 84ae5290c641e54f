# SPDX-License-Identifier: BSD-3-Clause
"""Controllers that are kernel code: the same motion as under Python's, in machine code, lanes, threads and processes.

Gains are powers of two where torques are compared to the last bit: products with them are exact, so that it does not
matter whether machine code fuses a product with the sum around it. Trajectories are compared to rounding: where a step
is part of another module of code, LLVM may fuse other products in it.
"""

from __future__ import annotations

import importlib.util
import pickle
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.compilers.language.fingerprint import fingerprint
from linkwork.simulation.propagators import control_timing

Floats = npt.NDArray[np.float64]
ROUNDING = {"rtol": 1e-11, "atol": 1e-11}
"""Of trajectories of some hundred steps."""
NAMES = ("q", "v", "tau", "multipliers")

KP, KD = 4.0, 0.5
"""Powers of two."""


@lw.kernel
def pd(tree, time, q, v, gains, target, tau):
    """A cam that lifts the target of every joint alike, and a PD controller that follows it."""
    lift = cam(time)
    for k in range(tree.nv):
        tau[k] = gains[0] * (target[k] + lift - q[k]) - gains[1] * v[k]


@lw.kernel
def cam(time):
    """A parabola for a quarter of a second, then nothing."""
    return lw.kernels.where(time, 0.25, time * (0.25 - time), 0.0)


def pd_function(target: Floats) -> Callable[[float, Floats, Floats], Floats]:
    """The same in NumPy, for one state or many."""

    def function(time: float, q: Floats, v: Floats) -> Floats:
        lift = time * (0.25 - time) if time < 0.25 else 0.0
        return KP * (target + lift - q) - KD * v

    return function


@lw.kernel
def clock(time, q, v, tau):
    """The time as a torque."""
    tau[0] = time


@lw.kernel
def brake(time, q, v, kd, tau):
    """One number as a parameter, and all torques but one."""
    tau[0] = -kd * v[0]
    tau[1] = -kd * v[1]


ROBOTS: dict[str, Callable[[], lw.Mechanism]] = {
    "four-bar": zoo.four_bar,
    "arm": lambda: zoo.serial_chain(3).with_gravity((0, 0, 0)),
}


def moving(robot: lw.Mechanism, size: float = 1.0) -> tuple[Floats, Floats]:
    q = robot.poses.get("assembled", robot.neutral())
    return q, robot.project_velocity(q, size * np.random.default_rng(0).normal(size=robot.nv))


def pd_of(q: Floats) -> lw.Controller:
    return lw.Controller(pd, gains=[KP, KD], target=q)


# Agreement ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("record_every", [1, 10])
@pytest.mark.parametrize("control_every", [1, 7])
@pytest.mark.parametrize("integrator", ["euler", "rk4"])
@pytest.mark.parametrize("name", ROBOTS)
def test_a_kernel_moves_a_robot_as_the_same_python_does(
    name: str, integrator: str, control_every: int, record_every: int
) -> None:
    robot = ROBOTS[name]()
    q, v = moving(robot)
    how: dict[str, Any] = {"seconds": 0.3, "integrator": integrator, "start": 0.013}
    how |= {"control_every": control_every, "record_every": record_every}
    function = pd_function(q)
    run = lw.simulate(robot, q, v, controller=pd_of(q), **how)
    python = lw.simulate(robot, q, v, controller=function, **how)
    np.testing.assert_array_equal(run.times, python.times)
    for array in NAMES:
        np.testing.assert_allclose(getattr(run, array), getattr(python, array), **ROUNDING, err_msg=array)
    assert run.settings == python.settings and run.ended == ""
    if control_every == 1:  # torques are those of the states beside them
        wanted = [function(*state) for state in zip(run.times, run.q, run.v, strict=True)]
        np.testing.assert_array_equal(run.tau[:-1], wanted[:-1])


@pytest.mark.slow
@pytest.mark.parametrize("compile", [False, True], ids=["native", "specialized"])
@pytest.mark.parametrize("control_every", [1, 7])
@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_lanes_move_as_one_robot_does(integrator: str, control_every: int, compile: bool) -> None:
    """Also where lanes are left empty: 21 robots in lanes of eight. (Constraint forces in three iterations: rounding of
    a single one, which is all that euler makes by default, is 1e-9 of a redundant loop's forces.)"""
    robot = zoo.four_bar()
    q, v = moving(robot)
    many, rates = np.tile(q, (21, 1)), np.linspace(-1, 1, 21)[:, None] * v
    how: dict[str, Any] = {"seconds": 0.2, "integrator": integrator, "max_iterations": 3}
    how |= {"control_every": control_every, "record_every": 10}
    run = lw.rollouts(robot, many, rates, controller=pd_of(q), compile=compile, **how)
    python = lw.rollouts(robot, many, rates, controller=pd_function(q), compile=compile, **how)
    for array in ("times", *NAMES):
        np.testing.assert_allclose(getattr(run, array), getattr(python, array), **ROUNDING, err_msg=array)
    for k in (0, 7, 20):
        one = lw.simulate(robot, q, rates[k], controller=pd_of(q), **how)
        for array in NAMES:
            np.testing.assert_allclose(getattr(run, array)[:, k], getattr(one, array), **ROUNDING, err_msg=array)


def test_all_ways_to_run_the_text_agree() -> None:
    """As plain Python, natively and specialized: one call of 20 steps with controls at 4, 11 and 18."""
    robot = zoo.four_bar()
    q, v = moving(robot)
    controller = pd_of(q)
    native = lw.Stepper(robot, max_iterations=3).controlled(controller.control, 7)
    clock, settings = control_timing(native, 10, 20, final=True), native.held.repeats(20)
    inputs = [q, v, np.zeros(3), *native.held(None)[:-1], clock, *controller.packed(), settings]
    wanted = native.runner.evaluate(inputs, [None] * 5)
    assert wanted[4][1:].tolist() == [21.0, 26.0]
    for other in (native.plain(), native.compile()):
        for x, y in zip(other.runner.evaluate(inputs, [None] * 5), wanted, strict=True):
            np.testing.assert_allclose(x, y, **ROUNDING)


@pytest.mark.parametrize("more", [{"method": "prox_ltl"}, {"integrator": "dopri5"}, {"project_every": 5}], ids=str)
def test_where_steps_return_to_python_the_kernel_is_python(more: dict[str, Any]) -> None:
    robot = zoo.four_bar()
    q, v = moving(robot)
    how: dict[str, Any] = {"seconds": 0.05, "control_every": 5, "record_every": 10, **more}
    run = lw.simulate(robot, q, v, controller=pd_of(q), **how)
    python = lw.simulate(robot, q, v, controller=pd_function(q), **how)
    for array in NAMES:
        np.testing.assert_array_equal(getattr(run, array), getattr(python, array), err_msg=array)


# What a controller sees, and what it leaves -------------------------------------------------------------------------


@pytest.mark.parametrize("control_every", [1, 7])
def test_time_is_that_of_the_record(control_every: int) -> None:
    """To the last bit; torques are held from one control to the next, and for the last state as in the one before."""
    robot = zoo.serial_chain(2)
    run = lw.simulate(robot, seconds=0.05, start=0.03, controller=clock, control_every=control_every)
    steps = 30 + np.arange(51)
    last = np.maximum(steps // control_every * control_every, 0)
    last[-1] = last[-2]
    seen = np.where(last < 30, 0.0, last * 1e-3)  # before the first control: the torques that are given
    np.testing.assert_array_equal(run.tau[:, 0], seen)
    assert not run.tau[:, 1:].any()
    many = lw.rollouts(robot, np.zeros((3, 2)), seconds=0.05, controller=clock, control_every=control_every)
    np.testing.assert_array_equal(many.tau[-1, :, 0], (49 // control_every * control_every) * 1e-3)


def test_given_torques_are_held_until_the_first_control() -> None:
    run = lw.simulate(
        zoo.serial_chain(2), seconds=0.02, start=0.003, controller=clock, control_every=10, tau=[5.0, 6.0]
    )
    np.testing.assert_array_equal(run.tau[:7], np.tile([5.0, 6.0], (7, 1)))
    np.testing.assert_array_equal(run.tau[7:17], np.tile([0.01, 0.0], (10, 1)))


def test_torques_that_are_not_written_are_zero() -> None:
    """Of all joints, whatever actuators there are; a parameter of no axes is a number."""
    build = lw.Builder("arm").add_mechanism(zoo.serial_chain(4))
    robot = build.actuator("motor", zoo.serial_chain(4).joints[0].name, gear=9.0).build()
    _, v = moving(robot)
    run = lw.simulate(robot, None, v, seconds=0.01, controller=lw.Controller(brake, kd=2.0))
    np.testing.assert_array_equal(run.tau[0], [-2.0 * v[0], -2.0 * v[1], 0.0, 0.0])


def test_parameters_of_each_robot() -> None:
    """Some shared, some a robot's own, in the order in which the kernel takes them."""
    robot = ROBOTS["arm"]()
    q, v = moving(robot)
    rng = np.random.default_rng(3)
    gains, target = [2.0, 0.25], q + 0.1 * rng.normal(size=(11, 3))
    controller = lw.Controller(pd, gains=gains, target=target, per_robot="target")
    states = np.tile(q, (11, 1)), np.tile(v, (11, 1))
    how: dict[str, Any] = {"seconds": 0.1, "control_every": 3, "record_every": 20}
    run = lw.rollouts(robot, *states, controller=controller, compile=False, **how)
    for k in (0, 4, 10):
        one = lw.simulate(robot, q, v, controller=controller.of_robot(k), **how)
        np.testing.assert_allclose(run.q[:, k], one.q, **ROUNDING)
        wanted = pd_function(target[k])(0.0, q, v)
        np.testing.assert_allclose(run.tau[0, k], wanted * [0.5, 0.5, 0.5], rtol=1e-12)
    parts = lw.rollouts(
        robot, *states, controller=controller, compile=False, executor=ThreadPoolExecutor(2), part=4, **how
    )
    np.testing.assert_allclose(parts.q, run.q, **ROUNDING)
    none = lw.rollouts(robot, np.zeros((0, 3)), controller=controller.part(slice(0, 0)), compile=False, **how)
    assert none.q.shape == (6, 0, 3)
    swapped = lw.Controller(pd, target=q, gains=np.tile(gains, (11, 1)), per_robot=["gains"])
    shared = lw.rollouts(robot, *states, controller=swapped, compile=False, **how)
    one = lw.simulate(robot, q, v, controller=lw.Controller(pd, gains=gains, target=q), **how)
    np.testing.assert_allclose(shared.q[:, 5], one.q, **ROUNDING)


def test_tables_as_parameters() -> None:
    """Two axes: a matrix of gains."""

    @lw.kernel
    def feedback(time, q, v, K, bias, tau):
        for i in range(3):
            x = bias[i]
            for j in range(3):
                x = x - K[i, j] * q[j] - K[i, 3 + j] * v[j]
            tau[i] = x

    robot = zoo.serial_chain(3)
    q, v = np.random.default_rng(4).normal(size=(2, 3))
    K, bias = np.random.default_rng(5).normal(size=(3, 6)), [1.0, 2.0, 3.0]
    run = lw.simulate(robot, q, v, seconds=0.01, controller=lw.Controller(feedback, K=K, bias=bias), limits=False)
    np.testing.assert_allclose(run.tau[0], bias - K @ np.concatenate([q, v]), rtol=1e-13)


# Going on, elsewhere ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ROBOTS)
def test_runs_under_kernels_go_on_to_the_last_bit(name: str) -> None:
    robot = ROBOTS[name]()
    q, v = moving(robot)
    controller = pd_of(q)
    run = lw.simulate(robot, q, v, seconds=0.2, controller=controller, control_every=7, record_every=10)
    often = lw.simulate(robot, q, v, seconds=0.2, controller=controller, control_every=7, record_every=1)
    for k in (0, 3, 12):
        again = run.resume(k, seconds=0.2 - 0.01 * k, controller=controller)
        for array in ("times", "q", "v", "tau"):
            np.testing.assert_array_equal(getattr(again, array), getattr(run, array)[k:], err_msg=array)
    for array in ("q", "v"):
        np.testing.assert_array_equal(getattr(often, array)[::10], getattr(run, array))


@pytest.mark.slow
def test_threads_and_processes_give_the_same_bits() -> None:
    robot = ROBOTS["arm"]()
    q, v = moving(robot)
    n = 1100
    states = np.tile(q, (n, 1)), np.linspace(-1, 1, n)[:, None] * v
    target = q + np.linspace(0, 0.1, n)[:, None]
    controller = lw.Controller(pd, gains=[KP, KD], target=target, per_robot=("target",))
    how: dict[str, Any] = {"seconds": 0.02, "record_every": 10, "compile": False, "controller": controller}
    run = lw.rollouts(robot, *states, threads=1, **how)
    np.testing.assert_array_equal(lw.rollouts(robot, *states, threads=2, **how).q, run.q)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        there = lw.rollouts(robot, *states, executor=pool, part=552, **how)
    np.testing.assert_array_equal(there.q, run.q)


def test_controllers_are_frozen_and_can_be_pickled() -> None:
    gains = np.array([1.0, 2.0])
    controller = lw.Controller(pd, gains=gains, target=np.zeros((4, 3)), per_robot=("target",))
    gains[0] = 7.0
    again = pickle.loads(pickle.dumps(controller))
    assert again.text is pd and again.per_robot == ("target",) and again.control == controller.control
    assert again.parameters["gains"].tolist() == [1.0, 2.0]
    assert repr(controller) == "<Controller pd(gains (2,), target (3,)), per robot: target>"
    assert controller.with_parameters(gains=[5.0, 6.0]).parameters["gains"].tolist() == [5.0, 6.0]
    with pytest.raises(AttributeError, match="frozen"):
        controller.text = brake  # type: ignore[misc, assignment]
    for one in (controller, again):
        with pytest.raises(ValueError, match="read-only"):
            one.parameters["gains"][0] = 3.0


# Text that changes --------------------------------------------------------------------------------------------------

MODULE = """
import linkwork as lw
from types import SimpleNamespace
GAIN = {gain}
LEG = SimpleNamespace(gain={leg})

@lw.kernel
def scaled(x):
    return GAIN * x

@lw.kernel
def push(time, q, v, tau):
    tau[0] = {text} + scaled(1.0) + LEG.gain
"""


def loaded(path: Path, **words: object) -> Any:
    """A module with a controller, as it stands in a file."""
    path.write_text(MODULE.format(**words))
    importlib.invalidate_caches()
    spec = importlib.util.spec_from_file_location("pushing", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = before
    return module


@pytest.mark.slow
def test_edited_text_is_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the controller, of what it calls, and constants, attributes of objects among them. The same is not."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("LINKWORK_CACHE_DIR", str(folder))
    robot = zoo.serial_chain(1)
    versions = [
        ({"gain": 2.0, "leg": 3.0, "text": "1.0"}, 6.0, True),
        ({"gain": 5.0, "leg": 3.0, "text": "1.0"}, 9.0, True),
        ({"gain": 5.0, "leg": 4.0, "text": "1.0"}, 10.0, True),
        ({"gain": 5.0, "leg": 4.0, "text": "2.0 * time"}, 9.0, True),
        ({"gain": 2.0, "leg": 3.0, "text": "1.0"}, 6.0, False),
    ]
    for k, (words, torque, fresh) in enumerate(versions):
        before = set(folder.glob("*")) if folder.exists() else set()
        run = lw.simulate(robot, seconds=0.002, controller=loaded(tmp_path / f"pushing{k}.py", **words).push)
        assert run.tau[0, 0] == torque
        entries = {path for path in set(folder.glob("*")) - before if len(path.name) == 64}
        assert bool(entries) == fresh


def test_constants_are_those_of_the_first_compilation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A constant that changes before it: code on disk is what its name says."""
    monkeypatch.setenv("LINKWORK_CACHE_DIR", str(tmp_path / "cache"))
    robot, words = zoo.serial_chain(1), {"gain": 2.0, "leg": 3.0, "text": "1.0"}
    module = loaded(tmp_path / "changed.py", **words)
    controller = lw.Controller(module.push)
    module.GAIN = 8.0
    for many in (False, True):
        run = lw.rollouts(robot, np.zeros((2, 1)), seconds=0.002, controller=controller, compile=many)
        assert run.tau[0].tolist() == [[12.0], [12.0]]
    fresh = loaded(tmp_path / "fresh.py", **words)
    assert lw.rollouts(robot, np.zeros((2, 1)), seconds=0.002, controller=fresh.push).tau[0, 0, 0] == 6.0


def test_constants_that_are_equal_do_not_hide_each_other() -> None:
    """Three numbers of which two are the same object; and a number deep in an object."""

    def text(a: Any, b: Any, c: Any) -> Callable[..., None]:
        @lw.kernel
        def push(time, q, v, tau):
            tau[0] = a + b - c.inner.x

        return push

    def deep(x: float) -> SimpleNamespace:
        return SimpleNamespace(inner=SimpleNamespace(x=x))

    five, seven = 5.0, 7.0
    several = [
        (five, five, deep(seven)),
        (five, seven, deep(seven)),
        (five, seven, deep(five)),
        (seven, five, deep(five)),
    ]
    assert len({fingerprint(text(*values)) for values in several}) == len(several)
    assert fingerprint(text(five, seven, deep(five))) == fingerprint(text(*several[2]))


# Errors -------------------------------------------------------------------------------------------------------------


def test_wrong_parameters_say_so() -> None:
    robot, target = zoo.four_bar(), np.zeros(3)
    for words, make in {
        "kernel 'pd' has no parameter 'gain': its parameters are gains, target": lambda: lw.Controller(pd, gain=1.0),
        "kernel 'clock' has no parameter 'gain': it has none": lambda: lw.Controller(clock, gain=1.0),
        "kernel 'pd' needs parameter 'target'": lambda: lw.Controller(pd, gains=[1.0, 2.0]),
        "kernel 'pd' needs parameter 'gains'": lambda: lw.simulate(robot, seconds=0.1, controller=pd),
        "has no per_robot 'other'": lambda: lw.Controller(pd, gains=[1, 2], target=target, per_robot=("other",)),
        "parameter 'gains' is not finite": lambda: lw.Controller(pd, gains=[1.0, np.nan], target=target),
        "parameter 'gains' has dtype <U1": lambda: lw.Controller(pd, gains=["a"], target=target),
        "'kd' is per robot, and a single number": lambda: lw.Controller(brake, kd=1.0, per_robot=("kd",)),
        "sum is not a kernel": lambda: lw.Controller(sum),
        "int is not a kernel": lambda: lw.Controller(3),  # type: ignore[arg-type]
    }.items():
        with pytest.raises(lw.errors.InputError, match=words):
            make()
    own = lw.Controller(pd, gains=[1.0, 2.0], target=np.zeros((4, 3)), per_robot="target")
    with pytest.raises(lw.errors.InputError, match="'target' is per robot: that is for rollouts"):
        lw.simulate(robot, seconds=0.1, controller=own)
    with pytest.raises(lw.errors.InputError, match="'target' has 4 rows, needs 5"):
        lw.rollouts(robot, np.tile(robot.poses["assembled"], (5, 1)), seconds=0.1, controller=own)


@lw.kernel
def branching(time, q, v, tau):
    if q[0] < 0.0:
        tau[0] = 1.0


@lw.kernel
def answering(time, q, v, tau):
    return v[0]


@lw.kernel
def meddling(time, q, v, tau):
    q[0] = 0.0


@lw.kernel
def otherwise(time, v, q, tau):
    tau[0] = 0.0


@lw.kernel
def beyond(tree, time, q, v, tau):
    for k in range(tree.nv + 1):
        tau[k] = -v[k]


@lw.kernel
def before(tree, time, q, v, tau):
    for k in range(tree.nv):
        tau[k] = q[k - 1]


@pytest.mark.parametrize(
    ("text", "words", "line"),
    [
        (branching, "floats are not compared", "if q[0] < 0.0:"),
        (answering, "a controller returns nothing", "@lw.kernel"),
        (meddling, "this array is read-only", "q[0] = 0.0"),
        (otherwise, "takes time, v, q, tau", "@lw.kernel"),
        (beyond, r"index 3 is out of range: axis 0 has size 3, in v\[k\]", "tau[k] = -v[k]"),
        (before, r"index -1 is out of range: axis 0 has size 3, in q\[k - 1\]", "tau[k] = q[k - 1]"),
    ],
)
def test_text_outside_the_language_is_shown(text: Callable[..., None], words: str, line: str) -> None:
    """Before anything moves, in every method."""
    for method in ("auto", "minimal"):
        with pytest.raises(lw.errors.KernelError, match=words) as told:
            lw.simulate(zoo.four_bar(), seconds=0.1, controller=text, method=method)
        assert told.value.file == __file__ and told.value.kernel == text.__name__
        shown = Path(__file__).read_text().splitlines()[(told.value.line or 0) - 1]
        assert shown.strip() == told.value.text
        assert line in (told.value.text or "") or line == "@lw.kernel"


@lw.kernel
def failing(tree, time, q, v, at, tau):
    """The root of a negative number from some time on."""
    for k in range(tree.nv):
        tau[k] = 0.0 * lw.kernels.sqrt(lw.kernels.where(time, at - 0.0005, 1.0, -1.0)) - 0.1 * v[k]


@pytest.mark.parametrize("record_every", [1, 10])
def test_torques_that_are_not_finite_say_when(record_every: int) -> None:
    robot = ROBOTS["arm"]()
    q, v = moving(robot)
    for at, rows in ((0.0, 0), (0.02, 20 // record_every), (0.023, 23 if record_every == 1 else 3)):
        controller = lw.Controller(failing, at=at)
        with pytest.raises(lw.errors.InputError, match=f"the controller at {at:g} s: torque 0 is not finite") as told:
            lw.simulate(robot, q, v, seconds=0.1, controller=controller, record_every=record_every)
        assert len(told.value.trajectory) == rows
        times = np.where(np.arange(5) == 3, at, 1.0)
        own = lw.Controller(failing, at=times, per_robot="at")
        states = np.tile(q, (5, 1)), np.tile(v, (5, 1))
        with pytest.raises(
            lw.errors.InputError, match=f"the controller at {at:g} s: torque 0 of robot 3 is not finite"
        ):
            lw.rollouts(robot, *states, seconds=0.1, controller=own, record_every=record_every, compile=False)


@lw.kernel
def shove(time, q, v, force, tau):
    """A constant push."""
    tau[0] = force


def test_robots_that_are_lost_end_alone() -> None:
    """One that explodes says after which step, as under Python; in a batch it is NaN and the others go on."""
    build = lw.Builder("slider", gravity=(0, 0, 0))
    build.body("mass", lw.Inertia.box(2.0, (0.1, 0.1, 0.1)))
    robot = build.joint("slide", lw.joints.Prismatic("x"), "world", "mass").build()
    how: dict[str, Any] = {"seconds": 5.0, "dt": 1.0}
    run = lw.simulate(robot, controller=lw.Controller(shove, force=1e308), **how)
    python = lw.simulate(robot, controller=lambda time, q, v: np.full(1, 1e308), **how)
    assert run.ended == python.ended and run.ended.startswith("not finite after step")
    np.testing.assert_array_equal(run.v, python.v)
    forces = np.where(np.arange(20) == 11, 1e308, 1.0)
    controller = lw.Controller(shove, force=forces, per_robot="force")
    many = lw.rollouts(robot, np.zeros((20, 1)), controller=controller, record_every=1, compile=False, **how)
    assert many.ended == "1 of 20 robots stopped being finite; try a shorter dt"
    assert np.isnan(many.q[-1, 11]).all() and np.isfinite(np.delete(many.q, 11, axis=1)).all()
    np.testing.assert_allclose(np.delete(many.v[-1], 11), 2.5, rtol=1e-12)
