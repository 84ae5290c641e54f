# SPDX-License-Identifier: BSD-3-Clause
"""Motion in time: physics that must hold, orders of integrators, runs that are kept, and what goes wrong in words."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.dynamics.iterations import REGULARIZATION
from linkwork.zoo import ASSEMBLED
from tests.support.gauss import ROUNDING
from tests.support.robots import model_file

Floats = npt.NDArray[np.float64]
FREE: dict[str, Any] = {"passive": False, "limits": False}


def moving(robot: lw.Mechanism, size: float = 1.0, seed: int = 0) -> tuple[Floats, Floats]:
    """A closed configuration, and velocities that keep it so."""
    q = robot.poses.get(ASSEMBLED, robot.neutral())
    v = size * np.random.default_rng(seed).normal(size=robot.nv)
    return q, robot.project_velocity(q, v) if robot.nc else v


def cassie() -> lw.Mechanism:
    path = model_file("cassie/cassie_nomesh.xml")
    return lw.load(path)


# Physics --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [zoo.four_bar, zoo.stewart], ids=["four-bar", "Stewart platform"])
def test_energy_is_kept(make: Callable[[], lw.Mechanism]) -> None:
    """Ten seconds without friction: below 1e-6 of the energy that moves back and forth."""
    robot = make()
    q, v = moving(robot, 0.3)
    run = lw.simulate(robot, q, v, seconds=10.0, integrator="rk4", record_every=100, **FREE)
    energy = run.energy
    scale = max(np.abs(energy["total"][0]), energy["kinetic"].max())
    assert np.abs(energy["total"] - energy["total"][0]).max() < 1e-6 * scale
    assert run.errors.max() < 1e-6
    assert not run.ended


def test_energy_of_falling_cassie() -> None:
    robot = cassie().without_contacts()
    q = robot.assemble(robot.poses["home"])
    v = robot.project_velocity(q, 0.3 * np.random.default_rng(1).normal(size=robot.nv))
    run = lw.simulate(robot, q, v, seconds=10.0, integrator="rk4", record_every=500, **FREE)
    total = run.energy["total"]
    assert np.abs(total - total[0]).max() < 1e-6 * np.abs(total[0])
    assert run.errors.max() < 1e-6


def test_momentum_of_a_floating_robot_is_kept() -> None:
    """No gravity: what joints and loops do to each other moves neither the whole nor its center."""
    robot = zoo.quadruped().with_gravity((0, 0, 0))
    q, v = robot.poses["standing"], np.random.default_rng(2).normal(size=robot.nv)
    run = lw.simulate(robot, q, v, seconds=1.0, integrator="rk4", record_every=50, **FREE)
    momentum = lw.centroidal_momentum(robot, run.q, run.v)
    assert np.abs(momentum - momentum[0]).max() < 1e-9 * np.abs(momentum).max()


@pytest.mark.parametrize(
    ("integrator", "order", "steps"), [("euler", 1, (4e-3, 2e-3, 1e-3)), ("rk4", 4, (8e-3, 4e-3, 2e-3))]
)
@pytest.mark.parametrize("make", [zoo.humanoid, zoo.four_bar], ids=["humanoid", "four-bar"])
def test_order(make: Callable[[], lw.Mechanism], integrator: str, order: int, steps: tuple[float, ...]) -> None:
    """Half the step, 2^order less of an error, on Lie groups too."""
    robot = make()
    q, v = moving(robot)
    how: dict[str, Any] = {"seconds": 0.16, "record_every": 10**6, "time_constant": None, **FREE}
    exact = lw.simulate(robot, q, v, dt=2.5e-4, integrator="rk4", **how).q[-1]
    off = [
        np.abs(robot.difference(lw.simulate(robot, q, v, dt=h, integrator=integrator, **how).q[-1], exact)).max()
        for h in steps
    ]
    assert np.log2(off[-2] / off[-1]) == pytest.approx(order, abs=0.1)


def test_order_of_dormand_and_prince() -> None:
    """Steps of one length over some time: errors fall with the fifth power."""
    robot = zoo.humanoid()
    q, v = moving(robot, 2.0)
    fine = lw.simulate(robot, q, v, seconds=0.16, dt=1e-4, integrator="rk4", record_every=1600, **FREE).q[-1]
    off = []
    for n in (16, 32):
        step = lw.Stepper(robot, 0.16 / n, "dopri5", **FREE)
        at, rate = q, v
        for _ in range(n):
            at, rate = step(at, rate)[:2]
        off.append(np.abs(robot.difference(at, fine)).max())
    assert np.log2(off[0] / off[1]) == pytest.approx(5, abs=0.1)


def test_adaptive_steps_meet_their_tolerance() -> None:
    robot = zoo.humanoid()
    q, v = moving(robot)
    fine = lw.simulate(robot, q, v, seconds=0.2, dt=2e-4, integrator="rk4", record_every=1000, **FREE)
    for tolerance, bound in ((1e-5, 1e-3), (1e-9, 1e-7)):
        run = lw.simulate(
            robot, q, v, seconds=0.2, dt=0.05, integrator="dopri5", accuracy=tolerance, record_every=4, **FREE
        )
        assert np.abs(robot.difference(run.q[-1], fine.q[-1])).max() < bound


def test_loops_stay_closed() -> None:
    """Random torques for a while: the time constant keeps loops below a micrometer, projection below 1e-10."""
    robot = cassie()
    q = robot.assemble(robot.poses["home"])
    rng = np.random.default_rng(3)

    def push(time: float, q: Floats, v: Floats) -> Floats:
        tau = np.zeros(robot.nv)
        for actuator in robot.actuators:
            tau[robot.v_slice(actuator.joint)] = rng.normal()
        return tau

    how: dict[str, Any] = {"seconds": 2.0, "controller": push, "control_every": 10, "record_every": 10}
    assert lw.simulate(robot, q, **how).errors.max() < 1e-6
    assert lw.simulate(robot, q, project_every=10, **how).errors.max() < 1e-10


def test_against_pinocchio() -> None:
    """A tree under the same integrator, step by step."""
    pin = pytest.importorskip("pinocchio")
    robot = zoo.serial_chain(6)
    model = pin.Model()
    model.gravity.linear = robot.gravity
    at = 0
    for joint in robot.joints:
        place = pin.SE3(joint.placement.rotation, joint.placement.position)
        at = model.addJoint(at, pin.JointModelRevoluteUnaligned(joint.type.axis), place, joint.name)
        body = robot.inertias[joint.child]
        model.appendBodyToJoint(at, pin.Inertia(body.mass, body.com, body.rotational), pin.SE3.Identity())
    model.armature[:] = robot.armature
    data = model.createData()
    q = 0.3 * np.random.default_rng(4).normal(size=robot.nq)
    run = lw.simulate(robot, q, seconds=1.0, record_every=1000, **FREE)
    v = np.zeros(robot.nv)
    for _ in range(1000):
        v = v + 1e-3 * pin.aba(model, data, q, v, np.zeros(robot.nv))
        q = pin.integrate(model, q, 1e-3 * v)
    assert np.abs(run.q[-1] - q).max() < 1e-6


# Joints by themselves ------------------------------------------------------------------------------------------


def slider(**joint: Any) -> lw.Mechanism:
    build = lw.Builder("slider", gravity=(0, 0, 0))
    build.body("mass", lw.Inertia.box(2.0, (0.1, 0.1, 0.1)))
    build.joint("slide", lw.joints.Prismatic("x"), "world", "mass", **joint)
    return build.build()


def test_spring_and_damper() -> None:
    """A damped oscillator goes as the formula says; stiff dampers do no harm to Euler's method."""
    robot = slider(stiffness=50.0, damping=4.0, rest=0.1)
    run = lw.simulate(robot, [0.3], seconds=1.0, integrator="rk4", record_every=100)
    w, d = np.sqrt(50 / 2 - 1), 1.0
    exact = 0.1 + 0.2 * np.exp(-d * run.times) * (np.cos(w * run.times) + d / w * np.sin(w * run.times))
    np.testing.assert_allclose(run.q[:, 0], exact, atol=1e-9)
    assert (np.diff(run.energy["total"]) <= 1e-12).all()
    heavy = lw.simulate(slider(damping=1e6), [0.0], [1.0], seconds=0.1)
    assert not heavy.ended
    assert abs(heavy.v[-1, 0]) < 1e-6
    free = lw.simulate(robot, [0.3], [0.5], seconds=1.0, passive=False)
    np.testing.assert_allclose(free.v[:, 0], 0.5, atol=1e-12)


def test_stops() -> None:
    """A joint that runs into its limit is caught softly, and let through where limits are off."""
    robot = slider(lower=-1.0, upper=0.05)
    run = lw.simulate(robot, [0.0], [1.0], seconds=0.3)
    assert 0.05 < run.q.max() < 0.05 + 1.0 * 0.01
    assert run.v[-1, 0] < 0.1
    assert lw.simulate(robot, [0.0], [1.0], seconds=0.3, limits=False).q[-1, 0] == pytest.approx(0.3)


def test_controllers_and_actuators() -> None:
    robot = slider()
    seen: list[float] = []

    def brake(time: float, q: Floats, v: Floats) -> list[float]:
        seen.append(time)
        return [-10.0 * v[0]]

    run = lw.simulate(robot, [0.0], [1.0], seconds=0.1, controller=brake, control_every=5, record_every=10)
    assert seen == pytest.approx([0.005 * k for k in range(20)])
    assert 0 < run.v[-1, 0] < np.exp(-0.4)
    biped = cassie()
    command = np.zeros(len(biped.actuators))
    command[0] = 0.5
    kicked = lw.simulate(biped, biped.assemble(biped.poses["home"]), seconds=0.002, tau=command)
    first = biped.actuators[0]
    assert kicked.tau[0, biped.v_index(first.joint)] == pytest.approx(0.5 * first.gear[0])


# Runs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("integrator", ["euler", "rk4", "dopri5"])
def test_restart_to_the_last_bit(integrator: str, tmp_path: Path) -> None:
    robot = zoo.four_bar()
    q, v = moving(robot)
    run = lw.simulate(robot, q, v, seconds=0.5, integrator=integrator, record_every=20)
    run.save(tmp_path / "run.npz")
    kept = lw.Trajectory.load(tmp_path / "run.npz", robot)
    for name in ("times", "q", "v", "tau", "multipliers"):
        np.testing.assert_array_equal(getattr(kept, name), getattr(run, name))
    assert kept.settings == run.settings
    k = 7
    rest = kept.resume(k, seconds=0.5 - kept.times[k])
    np.testing.assert_array_equal(rest.q, run.q[k:])
    np.testing.assert_array_equal(rest.v, run.v[k:])
    np.testing.assert_array_equal(rest.times, run.times[k:])


def test_a_run_knows_its_forces_and_parts() -> None:
    robot = zoo.four_bar()
    q, v = moving(robot)
    run = lw.simulate(robot, q, v, seconds=0.1, record_every=10)
    name = robot.constraints[0].name
    assert run.forces[name].shape == (11, robot.constraints[0].rows)
    assert np.abs(run.forces[name][1:]).max() > 0
    assert len(run.part(3, 6)) == 3
    np.testing.assert_array_equal(run.at(0.05)[0], run.q[5])
    assert "four-bar" in repr(run)
    figure = run.plot()
    assert len(figure.axes) == 4


def test_a_saved_run_has_the_permissions_of_other_files(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.touch()
    run = lw.simulate(zoo.pendulum(1), seconds=0.01)
    assert run.save(tmp_path / "run.npz").stat().st_mode == other.stat().st_mode
    assert {path.name for path in tmp_path.iterdir()} == {"other", "run.npz"}


def test_files_that_are_no_whole_run_are_told_in_words(tmp_path: Path) -> None:
    whole = lw.simulate(zoo.pendulum(1), seconds=0.01).save(tmp_path / "run.npz").read_bytes()
    np.save(tmp_path / "array.npy", np.zeros(3))
    (tmp_path / "half.npz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "flipped.npz").write_bytes(whole.replace(whole[200:210], bytes(10)))
    for name in ("array.npy", "half.npz", "flipped.npz"):
        with pytest.raises(lw.errors.InputError, match=r"is no saved trajectory: (?!.*pickle)"):
            lw.Trajectory.load(tmp_path / name)


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    """Saving fails in words, the old file stays, and the run is still there."""
    script = f"""
import resource, signal, numpy as np, linkwork as lw
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
run = lw.Trajectory(None, np.arange(1e5), *[np.random.default_rng(0).normal(size=(100000, 3)) for _ in range(4)])
small = run.part(0, 2)
path = r"{tmp_path / "run.npz"}"
small.save(path)
resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
try:
    run.save(path)
except lw.errors.LinkworkError as error:
    assert "cannot save" in str(error), error
else:
    raise SystemExit("saved")
assert len(run) == 100000 and len(lw.Trajectory.load(path)) == 2
"""
    assert resource.getrlimit(resource.RLIMIT_FSIZE)
    subprocess.run([sys.executable, "-c", script], check=True)
    assert [p.name for p in tmp_path.iterdir()] == ["run.npz"]


def test_a_run_that_explodes_says_when() -> None:
    robot = slider()
    with pytest.warns(lw.errors.SimulationWarning, match=r"ended early: not finite after step 2 .* try a shorter dt"):
        run = lw.simulate(robot, [0.0], [1.0], seconds=10.0, dt=1.0, tau=[1e308])
    assert run.ended.startswith("not finite after step 2 (2 s); 'slide' was the fastest joint at 2 s")
    assert len(run) == 3
    assert np.isfinite(run.q).all()


FREE_TWICE = """<robot name="floats"><link name="base"/><link name="trunk"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="floating" type="floating"><parent link="base"/><child link="trunk"/></joint></robot>"""


def test_a_joint_that_moves_no_mass_is_why_a_run_ended() -> None:
    """A file with a floating joint of its own that is loaded with a floating base: it blamed the fastest joint."""
    with pytest.warns(lw.errors.ModelWarning, match="12 degrees of freedom"):
        robot = lw.loads(FREE_TWICE, base="floating")
    with pytest.warns(lw.errors.SimulationWarning, match="ended early"):
        run = lw.simulate(robot, robot.neutral(), seconds=0.1)
    assert "not finite after step 0 (0 s): the mass matrix of 'floats' is singular: joint '" in run.ended
    assert "moves no mass" in run.ended


@pytest.mark.parametrize(("part", "pole"), [("damping", "a pole at -9.9e+03 1/s"), ("stiffness", "poles at ±99i 1/s")])
def test_springs_and_dampers_that_are_too_stiff_for_the_integrator_are_named(part: str, pole: str) -> None:
    """The advice helps: ``euler`` takes them implicitly, and ``rk4`` is stable with the step that is named."""
    build = lw.Builder("valve").body("stem", lw.Inertia.box(1.0, (1, 1, 1)))
    robot = build.joint("slide", lw.joints.Prismatic("x"), "world", "stem", **{part: 9900.0}).build()
    how: dict[str, Any] = {"seconds": 20.0, "record_every": 10, "limits": False}
    dt = 1e-3 if part == "damping" else 0.1
    with pytest.warns(lw.errors.SimulationWarning, match="'valve' ended early") as said:
        run = lw.simulate(robot, [1.0], [1.0], dt=dt, integrator="rk4", **how)
    with pytest.warns(lw.errors.SimulationWarning, match="2 of 2 robots"):
        many = lw.rollouts(robot, [[1.0], [1.0]], [[1.0], [2.0]], dt=dt, integrator="rk4", compile=False, **how)
    for text in (str(said[0].message), run.ended, many.ended):
        assert f"of joint 'slide' has {pole}" in text and "integrator='euler'" in text
    shorter = float(run.ended.rpartition("dt=")[2])
    assert dt / 6 < shorter < dt
    assert not lw.simulate(robot, [1.0], [1.0], dt=dt, **how).ended
    assert not lw.simulate(robot, [1.0], [1.0], dt=shorter, integrator="rk4", **how).ended


@pytest.mark.parametrize("integrator", ["euler", "rk4", "dopri5"])
def test_a_run_around_any_method_that_explodes_ends_early(integrator: Any) -> None:
    """Steps in Python end as compiled ones do: no error is raised, and what was found is kept."""
    robot = zoo.four_bar()
    with pytest.warns(lw.errors.SimulationWarning, match="not finite after step"):
        run = lw.simulate(robot, tau=[1e250, 0, 0], seconds=1.0, dt=0.01, integrator=integrator, method="kkt")
    assert run.ended and len(run) < 100 and np.isfinite(run.q).all()


# Rollouts ----------------------------------------------------------------------------------------------------------


def test_rollouts_are_simulations() -> None:
    """To what one iteration of stiff rows knows of a step, eps / REGULARIZATION."""
    robot = zoo.four_bar()
    q, v = moving(robot)
    n = 37
    scale = np.linspace(0, 2, n)[:, None]
    many = lw.rollouts(robot, np.tile(q, (n, 1)), scale * v, seconds=0.2, record_every=50)
    assert many.q.shape == (5, n, robot.nq)
    for k in (0, 5, n - 1):
        one = lw.simulate(robot, q, scale[k] * v, seconds=0.2, integrator="euler", record_every=50)
        np.testing.assert_allclose(many.q[:, k], one.q, atol=ROUNDING / REGULARIZATION)
        np.testing.assert_allclose(many.times, one.times)
    native = lw.rollouts(robot, np.tile(q, (n, 1)), scale * v, seconds=0.2, record_every=50, compile=False)
    np.testing.assert_allclose(native.q, many.q, atol=ROUNDING / REGULARIZATION)


def test_rollouts_with_a_controller_and_a_lost_robot() -> None:
    robot = slider()

    def control(time: float, q: Floats, v: Floats) -> Floats:
        with np.errstate(all="ignore"):
            return np.array([[0.0], -10.0 * v[1], np.where(time < 4, 1e308, np.inf * v[2])])

    run = lw.rollouts(
        robot, np.zeros((3, 1)), np.ones((3, 1)), seconds=5.0, controller=control, control_every=100, record_every=100
    )
    assert run.ended.startswith("1 of 3")
    assert run.v[-1, 0, 0] == pytest.approx(1.0)
    assert run.v[-1, 1, 0] == pytest.approx((1 - 10 / 2 * 0.1) ** 50, rel=1e-9)
    assert np.isnan(run.v[-1, 2, 0])
    assert np.isfinite(run.v[10, 2, 0])


@pytest.mark.slow
def test_executors(tmp_path: Path) -> None:
    """Threads and processes give the same bits as here."""
    from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
    from multiprocessing import get_context

    robot = zoo.four_bar()
    q, v = moving(robot)
    many, rates = np.tile(q, (10, 1)), np.linspace(0, 1, 10)[:, None] * v
    how: dict[str, Any] = {"seconds": 0.05, "record_every": 10}
    here = lw.rollouts(robot, many, rates, **how)
    with ThreadPoolExecutor(2) as threads:
        np.testing.assert_array_equal(lw.rollouts(robot, many, rates, executor=threads, part=4, **how).q, here.q)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        np.testing.assert_array_equal(lw.rollouts(robot, many, rates, executor=processes, part=4, **how).q, here.q)


def test_lost_workers_are_replaced() -> None:
    """An executor that loses work for good: jobs are given out again, and in the end done here."""
    from concurrent.futures import BrokenExecutor, Executor, Future

    class Losing(Executor):
        """Loses every other job."""

        jobs = 0

        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            self.jobs += 1
            future: Future[Any] = Future()
            if self.jobs % 2:
                future.set_exception(BrokenExecutor("a worker died"))
            else:
                future.set_result(fn(*args, **kwargs))
            return future

    robot = zoo.four_bar()
    q, v = moving(robot)
    many, rates = np.tile(q, (9, 1)), np.linspace(0, 1, 9)[:, None] * v
    here = lw.rollouts(robot, many, rates, seconds=0.02)
    losing = Losing()
    found = lw.rollouts(robot, many, rates, seconds=0.02, executor=losing, part=3)
    np.testing.assert_array_equal(found.q, here.q)
    assert losing.jobs > 3


# What goes wrong -----------------------------------------------------------------------------------------------------


def test_bad_input_is_explained() -> None:
    robot = zoo.four_bar()
    q, v = moving(robot)
    with pytest.raises(lw.errors.InputError, match="dt"):
        lw.simulate(robot, q, v, seconds=1.0, dt=0.0)
    with pytest.raises(lw.errors.InputError, match="seconds"):
        lw.simulate(robot, q, v, seconds=-1.0)
    with pytest.raises(lw.errors.InputError, match="integrator"):
        lw.simulate(robot, q, v, seconds=1.0, integrator="magic")
    with pytest.raises(lw.errors.AssemblyError, match=r"open by .*by q = robot.assemble\(q\)"):
        lw.simulate(robot, q + 0.1, seconds=1.0)
    rough = replace(robot, poses={"home": robot.poses["assembled"].round(2)})
    with pytest.raises(lw.errors.AssemblyError, match=r'open by .*by q = robot.assemble\(robot.poses\["home"\]\)'):
        lw.simulate(rough, seconds=1.0)
    with pytest.raises(lw.errors.InputError, match="project_velocity"):
        lw.simulate(robot, q, np.ones(robot.nv), seconds=1.0)
    with pytest.raises(lw.errors.InputError, match="torques have shape"):
        lw.simulate(robot, q, v, seconds=1.0, tau=np.zeros(robot.nv + 1))
    with pytest.raises(lw.errors.InputError, match="Mechanism"):
        lw.simulate("robot", seconds=1.0)  # type: ignore[arg-type]
    with pytest.raises(lw.errors.InputError, match="no saved trajectory"):
        lw.Trajectory.load(__file__)
    with pytest.raises(lw.errors.InputError, match="Executor"):
        lw.rollouts(robot, [q], seconds=0.01, executor="here")
    with pytest.raises(lw.errors.InputError, match="one row for each robot"):
        lw.rollouts(robot, q, seconds=0.01)


def test_bad_controllers_keep_what_was_found() -> None:
    robot = slider()

    def nan(time: float, q: Floats, v: Floats) -> list[float]:
        return [np.nan] if time > 0.05 else [0.0]

    def short(time: float, q: Floats, v: Floats) -> list[float]:
        return [] if time > 0.05 else [0.0]

    def broken(time: float, q: Floats, v: Floats) -> list[float]:
        if time > 0.05:
            raise ZeroDivisionError("oh")
        return [0.0]

    for controller, kind, words in (
        (nan, lw.errors.InputError, "controller at 0.051 s: torque 0 is not finite"),
        (short, lw.errors.InputError, "controller at 0.051 s: torques have shape"),
        (broken, ZeroDivisionError, "oh"),
    ):
        with pytest.raises(kind, match=words) as caught:
            lw.simulate(robot, [0.0], [1.0], seconds=1.0, controller=controller, record_every=1)
        run = caught.value.trajectory
        assert isinstance(run, lw.Trajectory)
        assert len(run) == 51
