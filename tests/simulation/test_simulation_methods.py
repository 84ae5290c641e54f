# SPDX-License-Identifier: BSD-3-Clause
"""Simulation by any method, minimal coordinates, compiled controllers, files, workers elsewhere."""

from __future__ import annotations

import importlib.util
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.dynamics.methods import METHODS
from linkwork.simulation.projection import LoopProjection
from tests.support.linkages import bricard

Floats = npt.NDArray[np.float64]
FREE: dict[str, Any] = {"passive": False, "limits": False}


def moving(robot: lw.Mechanism, size: float = 1.0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(0)
    q = robot.poses.get("assembled", robot.poses.get("standing", robot.neutral()))
    return q, robot.project_velocity(q, size * rng.normal(size=robot.nv))


# Methods --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("integrator", ["euler", "rk4", "dopri5"])
@pytest.mark.parametrize("make", [zoo.four_bar, zoo.quadruped, zoo.humanoid], ids=["four-bar", "quadruped", "humanoid"])
def test_every_method_moves_a_robot_alike(make: Callable[[], lw.Mechanism], integrator: str) -> None:
    """Steps in Python around each method lead where compiled steps lead, to what the first iteration leaves open."""
    robot = make()
    q, v = moving(robot)
    how: dict[str, Any] = {"seconds": 0.02, "integrator": integrator, "record_every": 10}
    if integrator == "euler" and robot.nc:
        how["iterations"] = 3
    wanted = lw.simulate(robot, q, v, **how)
    how.pop("iterations", None)
    for method in lw.methods.methods_for(robot):
        if not METHODS[method].exact:
            continue
        try:
            run = lw.simulate(robot, q, v, method=method, **how)
        except lw.errors.SingularConstraints:  # methods that need independent rows say so
            assert robot.mobility(q).redundancy > 0
            continue
        np.testing.assert_allclose(run.q, wanted.q, atol=1e-9, err_msg=method)
        np.testing.assert_allclose(run.v, wanted.v, atol=1e-7, err_msg=method)


@pytest.mark.parametrize(
    ("integrator", "dt", "energy", "gap"),
    [("dopri5", 5e-3, 3e-8, 1e-9), ("rk4", 1e-3, 2e-5, 2e-7), ("rk4", 5e-3, 2e-3, 4e-5)],
)
def test_loops_with_redundant_rows_keep_energy_as_well_as_the_integrator_does(
    integrator: Any, dt: float, energy: float, gap: float
) -> None:
    """Rows that drift makes independent do not act. Bounds: five times what a rank revealed by singular values has.

    The loop turns at up to 12 rad/s; at stages of steps of 5 ms it is open by 1e-4 of its length.
    """
    robot = bricard()
    run = lw.simulate(robot, robot.poses["assembled"], seconds=4.0, dt=dt, integrator=integrator, **FREE)
    assert run.ended == "" and run.errors.max() < gap
    assert np.abs(run.energy["total"] - run.energy["total"][0]).max() < energy


def test_constraints_given_twice_change_no_motion() -> None:
    """A Stewart platform whose legs meet it twice has 36 rows of rank 18."""
    robot = zoo.stewart()
    twice = replace(
        robot, constraints=(*robot.constraints, *(replace(c, name=f"{c.name}'") for c in robot.constraints))
    )
    q, v = moving(robot, 0.3)
    once, again = (lw.simulate(r, q, v, seconds=0.2, dt=5e-3, integrator="rk4") for r in (robot, twice))
    np.testing.assert_allclose(again.q, once.q, atol=1e-12)


def test_independent_rows_are_solved_in_as_many_operations_as_without_a_word_about_redundant_ones() -> None:
    """One iteration more, with fewer internal forces, is for robots with redundant rows alone."""
    independent, redundant = (lw.Stepper(zoo.four_bar(closure), "rk4") for closure in ("line", "hinge"))
    assert (independent.program.tree.has_redundant_rows, redundant.program.tree.has_redundant_rows) == (0, 1)
    assert (independent.regularization, redundant.regularization) == (1e-8, 1e-7)
    assert lw.Stepper(zoo.four_bar("hinge"), "rk4", regularization=1e-6).regularization == 1e-6


@pytest.mark.parametrize("name", ["four-bar", "geared chain"])
def test_minimal_coordinates_keep_loops_and_energy(name: str) -> None:
    robot = {"four-bar": zoo.four_bar, "geared chain": lambda: zoo.geared_chain(2)}[name]()
    q, v = moving(robot, 2.0)
    how: dict[str, Any] = {"seconds": 0.5, "integrator": "rk4", "record_every": 50, **FREE}
    run = lw.simulate(robot, q, v, method="minimal", **how)
    assert run.errors.max() < 1e-12
    total = run.energy["total"]
    assert np.ptp(total) < 1e-8 * max(run.energy["kinetic"].max(), abs(total[0]))
    np.testing.assert_allclose(run.q, lw.simulate(robot, q, v, **how).q, atol=1e-7)
    again = run.part(0, 6).resume(seconds=0.25)
    np.testing.assert_array_equal(again.q[-1], run.q[-1])


def test_minimal_steps_have_the_order_of_their_method_on_turning_bases() -> None:
    """A floating four-bar: halved steps of Runge and Kutta, a sixteenth of the error."""
    robot = floating()
    q, v = moving(robot)

    def end(steps: int) -> Floats:
        how: dict[str, Any] = {"seconds": 0.2, "dt": 0.2 / steps, "integrator": "rk4", "record_every": steps, **FREE}
        return lw.simulate(robot, q, v, method="minimal", **how).q[-1]

    exact = end(160)
    off = [np.abs(robot.difference(end(n), exact)).max() for n in (10, 20, 40)]
    assert np.log2(off[0] / off[1]) == pytest.approx(4, abs=0.3)
    assert np.log2(off[1] / off[2]) == pytest.approx(4, abs=0.2)


def floating() -> lw.Mechanism:
    """A box in space that carries a four-bar."""
    build = lw.Builder("floating four-bar", gravity=(0, 0, 0))
    build.body("base", lw.Inertia.box(3.0, (0.3, 0.2, 0.1)))
    build.joint("free", lw.joints.Free(), "world", "base")
    lengths = {"crank": 0.2, "coupler": 0.45, "rocker": 0.4}
    for name, length in lengths.items():
        build.body(name, lw.Inertia.box(0.5, (length, 0.03, 0.03), com=(length / 2, 0, 0)))
    build.joint("A", lw.joints.Revolute("y"), "base", "crank")
    build.joint("B", lw.joints.Revolute("y"), "crank", "coupler", (lengths["crank"], 0, 0))
    build.joint("D", lw.joints.Revolute("y"), "base", "rocker", (0.5, 0, 0))
    ends = {"first_at": (lengths["coupler"], 0, 0), "second_at": (lengths["rocker"], 0, 0)}
    build.constrain(lw.constraints.Point("coupler", "rocker", name="C", **ends))
    robot = build.build()
    start = robot.neutral()
    start[robot.q_index("A")], start[robot.q_index("B")], start[robot.q_index("D")] = -1.0, 0.6, -1.6
    return replace(robot, poses={"assembled": robot.assemble(start)})


def test_a_method_that_is_not_there_is_an_error() -> None:
    with pytest.raises(lw.errors.InputError, match="lcabba"):
        lw.simulate(zoo.four_bar(), seconds=0.1, method="lcabba")
    with pytest.raises(lw.errors.InputError, match="takes no iterations"):
        lw.simulate(zoo.four_bar(), seconds=0.1, method="prox_ltl", iterations=3)
    for method in ("auto", "minimal"):
        with pytest.raises(lw.errors.InputError, match="no integrator 'rk5'"):
            lw.simulate(zoo.four_bar(), seconds=0.1, method=method, integrator="rk5")


# Time constants ---------------------------------------------------------------------------------------------


def test_loops_close_in_two_steps_at_the_least() -> None:
    robot = zoo.four_bar()
    with pytest.raises(lw.errors.InputError, match="less than two steps"):
        lw.simulate(robot, seconds=0.1, dt=0.01, time_constant=0.01)
    q, v = moving(robot)
    run = lw.simulate(robot, q, v, seconds=2.0, dt=0.02, **FREE)  # steps as long as this need a longer one by default
    assert not run.ended and run.errors.max() < 0.05


def test_closing_is_assembling_and_projecting() -> None:
    """The nearest closed state: loops closed to rounding, and no velocity that opens them."""
    robot = zoo.stewart()
    rng = np.random.default_rng(5)
    q, v = moving(robot)
    off = robot.integrate(q, 1e-4 * rng.normal(size=robot.nv))
    at, rate = LoopProjection(robot)(off, v)
    assert np.abs(lw.constraint_error(robot, at)).max() < 1e-12
    assert np.abs(lw.constraint_jacobian(robot, at) @ rate).max() < 1e-12
    np.testing.assert_allclose(rate, robot.project_velocity(at, v), atol=1e-12)
    assert np.abs(robot.difference(at, off)).max() < 1e-2


# Controllers that Numba has compiled ---------------------------------------------------------------------------


@pytest.fixture
def njit() -> Callable[..., Any]:
    """Numba's decorator, where there is Numba."""
    found: Callable[..., Any] = pytest.importorskip("numba").njit
    return found


def test_compiled_controllers_give_the_same_bits(njit: Callable[..., Any]) -> None:
    robot = zoo.four_bar()
    q, v = moving(robot)

    def hold(time: float, q: Floats, v: Floats) -> Floats:
        return 3.0 * np.sin(5.0 * time) - 2.0 * q - 0.1 * v

    how: dict[str, Any] = {"seconds": 0.3, "control_every": 4, "record_every": 7, "start": 0.05}
    plain = lw.simulate(robot, q, v, controller=hold, **how)
    fast = lw.simulate(robot, q, v, controller=njit(hold), **how)
    for name in ("times", "q", "v", "tau", "multipliers"):
        np.testing.assert_array_equal(getattr(fast, name), getattr(plain, name), err_msg=name)
    assert fast.settings == plain.settings


def test_compiled_controllers_of_many(njit: Callable[..., Any]) -> None:
    """The same torques, so the same motion; robots that are lost are NaN and the others go on."""
    robot = zoo.four_bar()
    q, v = moving(robot)
    n = 300
    many, rates = np.tile(q, (n, 1)), np.linspace(0, 1, n)[:, None] * v

    def push(time: float, q: Floats, v: Floats) -> Floats:
        tau = -0.5 * v
        tau[3, 0] = 1e200
        return tau

    how: dict[str, Any] = {"seconds": 0.05, "control_every": 5, "record_every": 10, "compile": False}
    plain = lw.rollouts(robot, many, rates, controller=push, **how)
    fast = lw.rollouts(robot, many, rates, controller=njit(push), threads=2, **how)
    assert plain.ended == fast.ended == "1 of 300 robots stopped being finite; try a shorter dt"
    np.testing.assert_array_equal(fast.q, plain.q)
    assert np.isfinite(np.delete(fast.q, 3, axis=1)).all()


def test_compiled_controllers_that_are_wrong_say_so(njit: Callable[..., Any]) -> None:
    robot = zoo.four_bar()
    q, v = moving(robot)

    @njit
    def short(time: float, q: Floats, v: Floats) -> Floats:
        return np.zeros(3) if time < 0.01 else np.zeros(2)

    @njit
    def undefined(time: float, q: Floats, v: Floats) -> Floats:
        return np.full(3, np.nan) if time >= 0.01 else np.zeros(3)

    @njit
    def number(time: float, q: Floats, v: Floats) -> float:
        return 1.0

    for controller, words in ((short, r"at 0.01 s: torques have shape \(2,\)"), (undefined, "torque 0 is not finite")):
        with pytest.raises(lw.errors.InputError, match=words) as told:
            lw.simulate(robot, q, v, seconds=0.1, controller=controller)
        assert len(told.value.trajectory) == 10
    with pytest.raises(lw.errors.InputError, match="giving an array of torques"):
        lw.simulate(robot, q, v, seconds=0.1, controller=number)


def test_a_run_under_a_compiled_controller_that_explodes_says_when(njit: Callable[..., Any]) -> None:
    build = lw.Builder("slider", gravity=(0, 0, 0))
    build.body("mass", lw.Inertia.box(2.0, (0.1, 0.1, 0.1)))
    build.joint("slide", lw.joints.Prismatic("x"), "world", "mass")
    robot = build.build()

    @njit
    def push(time: float, q: Floats, v: Floats) -> Floats:
        return np.full(1, 1e308)

    how: dict[str, Any] = {"seconds": 5.0, "dt": 1.0}
    plain, fast = (lw.simulate(robot, controller=c, **how) for c in (push.py_func, push))
    assert fast.ended == plain.ended and fast.ended.startswith("not finite after step")
    np.testing.assert_array_equal(fast.v, plain.v)


# Going on ---------------------------------------------------------------------------------------------------


def tumbler() -> lw.Mechanism:
    """A floating body with an arm that meets its stops, and a tail on a ball joint."""
    build = lw.Builder("tumbler")
    build.body("base", lw.Inertia.box(2.0, (0.3, 0.2, 0.1)))
    build.joint("free", lw.joints.Free(), "world", "base")
    build.body("arm", lw.Inertia.rod(0.5, (0, 0, 0), (0.4, 0, 0)))
    build.joint("shoulder", lw.joints.Revolute("y"), "base", "arm", (0.15, 0, 0), lower=-0.2, upper=0.3)
    build.body("tail", lw.Inertia.rod(0.3, (0, 0, 0), (-0.3, 0, 0.02)))
    build.joint("ball", lw.joints.Spherical(), "base", "tail", (-0.15, 0, 0), damping=0.01)
    return build.build()


@pytest.mark.parametrize("method", ["auto", "aba", "minimal"])
@pytest.mark.parametrize("integrator", ["euler", "rk4", "dopri5"])
def test_stops_and_turns_go_on_to_the_last_bit(integrator: str, method: str, tmp_path: Path) -> None:
    """Also from a file: stops are as stiff as they were, quaternions as long, tolerances as tight."""
    robot = tumbler()
    rate = 4.0 * np.random.default_rng(7).normal(size=robot.nv)
    rate[robot.v_index("shoulder")] = -6.0
    how: dict[str, Any] = {"integrator": integrator, "method": method, "tolerance": 1e-6, "record_every": 10}
    run = lw.simulate(robot, None, rate, seconds=0.2, **how)
    angle = run.q[:, robot.q_index("shoulder")]
    assert angle.min() < -0.2 or angle.max() > 0.3
    kept = lw.Trajectory.load(run.save(tmp_path / "run.npz"), robot)
    for k in (3, 7, 12):
        again = kept.resume(k, seconds=0.2 - 0.01 * k)
        np.testing.assert_array_equal(again.q, run.q[k:])
        np.testing.assert_array_equal(again.v, run.v[k:])


def test_iterations_go_on() -> None:
    robot = zoo.stewart()
    q, v = moving(robot)
    run = lw.simulate(robot, q, v, seconds=0.05, record_every=5, iterations=3, regularization=1e-5)
    np.testing.assert_array_equal(run.resume(4, seconds=0.03).q, run.q[4:])


# Actuators -------------------------------------------------------------------------------------------------


def test_commands_have_limits() -> None:
    """Two motors on three joints; what is beyond their limits is as these, however it is simulated."""
    build = lw.Builder("arm", gravity=(0, 0, 0)).add_mechanism(zoo.serial_chain(3).with_gravity((0, 0, 0)))
    names = [joint.name for joint in zoo.serial_chain(3).joints]
    build.actuator("strong", names[0], gear=3.0, limits=(-2.0, 2.0)).actuator("weak", names[2], limits=(-0.5, 0.1))
    robot = build.build()

    def ask(time: float, q: Floats, v: Floats) -> Floats:
        return np.array([10.0, -0.3])

    def ask_all(time: float, q: Floats, v: Floats) -> Floats:
        return np.array([[10.0, -0.3], [-1.0, 7.0]])

    compiled = [] if importlib.util.find_spec("numba") is None else [importlib.import_module("numba").njit]
    for controller in (ask, *(njit(ask) for njit in compiled)):
        run = lw.simulate(robot, seconds=0.01, controller=controller)
        np.testing.assert_allclose(run.tau[0], [6.0, 0.0, -0.3])
    for controller in (ask_all, *(njit(ask_all) for njit in compiled)):
        q = np.zeros((2, 3))
        many = lw.rollouts(robot, q, seconds=0.01, controller=controller, compile=False)
        np.testing.assert_allclose(many.tau[0], [[6.0, 0.0, -0.3], [-3.0, 0.0, 0.1]])
        np.testing.assert_allclose(many.q[-1, 0], run.q[-1], atol=1e-12)
    with pytest.raises(lw.errors.ModelError, match="the first must not be greater"):
        build.actuator("none", names[1], limits=(1.0, -1.0))


def test_limits_of_commands_are_read_from_files() -> None:
    body = '<body><joint name="a"/><geom size="0.1"/><body><joint name="b"/><geom size="0.1"/></body></body>'
    motors = {
        '<motor joint="a" ctrlrange="-2 3" gear="5"/>': ((-2.0, 3.0), (-np.inf, np.inf)),
        '<motor joint="a" ctrlrange="-2 3" forcerange="-1 9"/>': ((-2.0, 3.0), (-1.0, 9.0)),
        '<motor joint="a" ctrlrange="-2 3" ctrllimited="false"/>': ((-np.inf, np.inf), (-np.inf, np.inf)),
        '<position joint="a" ctrlrange="-2 3" forcerange="-7 7" kp="3"/>': ((-2.0, 3.0), (-7.0, 7.0)),
        '<motor joint="a" ctrlrange="0 0"/>': ((-np.inf, np.inf), (-np.inf, np.inf)),
    }
    for motor, limits in motors.items():
        robot = lw.loads(f"<mujoco><worldbody>{body}</worldbody><actuator>{motor}</actuator></mujoco>", "mjcf")
        assert (robot.actuators[0].limits, robot.actuators[0].force_limits) == limits
    wrong = '<motor joint="a" ctrlrange="3 -2" ctrllimited="true"/>'
    with pytest.raises(lw.errors.ModelError, match="ctrlrange goes from 3 to -2"):
        lw.loads(f"<mujoco><worldbody>{body}</worldbody><actuator>{wrong}</actuator></mujoco>", "mjcf")


# Files ----------------------------------------------------------------------------------------------------


def test_csv_has_time_and_named_coordinates_to_the_last_digit(tmp_path: Path) -> None:
    robot = lw.zoo.four_bar()
    run = lw.simulate(robot, robot.poses["assembled"], seconds=0.02, record_every=5)
    place = run.save(tmp_path / "run.csv")
    assert place == tmp_path / "run.csv" and sorted(path.name for path in tmp_path.iterdir()) == ["run.csv"]
    lines = place.read_text().splitlines()
    names = lines[0].split(",")
    assert names[:4] == ["time", *(f"q.{joint}" for joint in robot.joint_names)]
    numbers = np.array([[float(x or "nan") for x in line.split(",")] for line in lines[1:]])
    kept = np.concatenate([run.times[:, None], run.q, run.v, run.tau, run.multipliers], axis=1)
    np.testing.assert_array_equal(numbers[:, : kept.shape[1]], kept)
    batch = lw.rollouts(robot, np.tile(run.q[0], (2, 1)), seconds=0.002).save(tmp_path / "many.csv")
    rows = [line.split(",")[:2] for line in batch.read_text().splitlines()]
    assert rows[0] == ["time", "robot"] and [row[1] for row in rows[1:3]] == ["0", "1"]
    with pytest.raises(lw.errors.InputError, match="numbers alone"):
        lw.Trajectory.load(place)


def test_a_run_is_saved_in_no_other_format_in_silence(tmp_path: Path) -> None:
    run = lw.simulate(lw.zoo.pendulum(1), [0.1], seconds=0.002)
    with pytest.raises(lw.errors.InputError, match=r"ends in '.txt'; trajectories are saved as .npz, .parquet, .csv"):
        run.save(tmp_path / "run.txt")
    assert run.save(tmp_path / "run").name == "run.npz"
    assert [path.name for path in tmp_path.iterdir()] == ["run.npz"]


def test_parquet_keeps_every_bit(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow.parquet

    robot = zoo.quadruped()
    q, v = moving(robot)
    one = lw.simulate(robot, q, v, seconds=0.05, record_every=10)
    many = lw.rollouts(robot, np.tile(q, (3, 1)), np.tile(v, (3, 1)), seconds=0.02, record_every=10, compile=False)
    for run in (one, many):
        place = run.save(tmp_path / "run.parquet")
        again = lw.Trajectory.load(place, robot)
        for name in ("times", "q", "v", "tau", "multipliers"):
            np.testing.assert_array_equal(getattr(again, name), getattr(run, name))
        assert again.settings == run.settings
    names = pyarrow.parquet.read_table(one.save(tmp_path / "one.parquet")).column_names
    assert names[0] == "time" and len(names) == len(set(names)) == 1 + robot.nq + 2 * robot.nv + robot.nc
    assert f"v.{robot.joints[1].name}" in names
    nameless = lw.Trajectory.load(tmp_path / "one.parquet")
    assert "q[0]" in pyarrow.parquet.read_table(nameless.save(tmp_path / "nameless.parquet")).column_names


def test_files_that_are_no_runs(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow
    import pyarrow.parquet

    wrong = tmp_path / "wrong.parquet"
    wrong.write_text("nothing")
    other = tmp_path / "other.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"time": [1.0]}), other)
    for path in (wrong, other, tmp_path / "absent.parquet"):
        with pytest.raises(lw.errors.InputError, match="is no saved trajectory"):
            lw.Trajectory.load(path)


# Elsewhere ------------------------------------------------------------------------------------------------


def doomed(time: float, q: Floats, v: Floats) -> Floats:
    """Kills its process the first time that it is called with a file to say so."""
    mark = Path(os.environ["LINKWORK_DOOMED"])
    if not mark.exists():
        mark.write_text("dead")
        os.kill(os.getpid(), signal.SIGKILL)
    return -0.5 * v


@pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="no Dask")
def test_dask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster of processes on this machine: the same bits, also where a worker dies in the middle."""
    from distributed import Client, LocalCluster

    monkeypatch.setenv("LINKWORK_DOOMED", str(tmp_path / "dead"))
    robot = zoo.four_bar()
    q, v = moving(robot)
    many, rates = np.tile(q, (12, 1)), np.linspace(0, 1, 12)[:, None] * v
    how: dict[str, Any] = {"seconds": 0.05, "record_every": 10, "compile": False}
    settled = lw.rollouts(robot, many, rates, **how)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=tmp_path) as cluster,
        Client(cluster) as client,
    ):
        executor = client.get_executor()
        there = lw.rollouts(robot, many, rates, executor=executor, part=4, **how)
        np.testing.assert_array_equal(there.q, settled.q)
        pushed = lw.rollouts(robot, many, rates, executor=executor, part=4, controller=doomed, **how)
        assert (tmp_path / "dead").exists()
        here = lw.rollouts(robot, many, rates, controller=doomed, **how)
        np.testing.assert_array_equal(pushed.q, here.q)
