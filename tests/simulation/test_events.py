# SPDX-License-Identifier: BSD-3-Clause
"""Events: zero crossings of functions, switched constraints, impacts; probes, tables of runs."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import AssemblyError, InputError

GRAVITY = 9.81
MASSES = (2.0, 3.0)


def ball() -> lw.Mechanism:
    """A mass on a vertical rail."""
    build = lw.Builder("ball")
    build.body("ball", lw.Inertia(1.0, (0, 0, 0), 0.01 * np.eye(3)))
    build.joint("z", lw.joints.Prismatic("z"), "world", "ball")
    return build.build()


def carts() -> lw.Mechanism:
    """Two carts on one rail, which a coupling may lock together a meter apart."""
    build = lw.Builder("carts", gravity=(0, 0, 0))
    for k, mass in enumerate(MASSES):
        build.body(f"cart{k}", lw.Inertia(mass, (0, 0, 0), 0.01 * np.eye(3)))
        build.joint(f"x{k}", lw.joints.Prismatic("x"), "world", f"cart{k}")
    lock = lw.constraints.JointCoupling({"x1": 1.0, "x0": -1.0}, offset=1.0, name="lock")
    return build.build().constrained(lock).switched({"lock": False})


@pytest.mark.parametrize("integrator", ["rk4", "dopri5"])
@pytest.mark.parametrize("start", [0.0, 0.00037])
def test_a_run_ends_where_a_function_crosses_zero(integrator: lw.simulation.Integrator, start: float) -> None:
    """Free fall from 1 m, exact for these integrators, also from between two ticks of the clock."""
    run = lw.simulate(ball(), [1.0], seconds=2, integrator=integrator, start=start, until=lambda t, q, v: q[0])
    fall = np.sqrt(2 / GRAVITY)
    assert abs(run.times[-1] - start - fall) <= 2e-10
    np.testing.assert_allclose(run.v[-1], -GRAVITY * fall, rtol=1e-9)
    assert run.ended.startswith("event 'until'")
    assert [one.name for one in run.events] == ["until"]
    assert len(run.times) == len(run.q) == len(run.v) == len(run.tau)


def test_only_crossings_in_the_direction_count() -> None:
    rising = lw.Event(lambda t, q, v: q[0], direction=1, name="up")
    run = lw.simulate(ball(), [-0.1], [2.0], seconds=1.0, integrator="rk4", events=rising)
    assert [one.name for one in run.events] == ["up"]
    both = lw.simulate(ball(), [-0.1], [2.0], seconds=1.0, integrator="rk4", events=lw.Event(lambda t, q, v: q[0]))
    times = (2.0 - np.sqrt(4 - 2 * GRAVITY * 0.1)) / GRAVITY, (2.0 + np.sqrt(4 - 2 * GRAVITY * 0.1)) / GRAVITY
    np.testing.assert_allclose([one.time for one in both.events], times, rtol=0, atol=1e-9)


def test_a_ball_bounces_by_an_action() -> None:
    bounce = lw.Event(lambda t, q, v: q[0], direction=-1, action=lambda t, q, v: -0.5 * v, name="bounce")
    run = lw.simulate(ball(), [1.0], seconds=1.2, integrator="rk4", events=[bounce])
    first = np.sqrt(2 / GRAVITY)
    np.testing.assert_allclose([one.time for one in run.events], [first, 2 * first, 2.5 * first], rtol=0, atol=1e-9)
    twice = np.flatnonzero(np.diff(run.times) == 0)
    np.testing.assert_allclose(run.v[twice + 1], -0.5 * run.v[twice], rtol=1e-12)
    total = run.energy["total"]
    np.testing.assert_allclose(total[twice + 1] / total[twice], 0.25, rtol=1e-8)


def test_the_earliest_of_several_events_in_a_step_comes_first() -> None:
    names: list[str] = []
    at = {"second": 0.10042, "first": 0.10017, "third": 0.10099}
    events = [
        lw.Event(lambda t, q, v, when=when: t - when, name=name, action=lambda t, q, v, name=name: names.append(name))
        for name, when in at.items()
    ]
    run = lw.simulate(ball(), [1.0], seconds=0.2, integrator="rk4", events=events)
    assert names == ["first", "second", "third"] == [one.name for one in run.events]
    np.testing.assert_allclose([one.time for one in run.events], sorted(at.values()), rtol=0, atol=1e-10)
    np.testing.assert_allclose(run.q[:, 0], 1 - 0.5 * GRAVITY * run.times**2, rtol=0, atol=1e-12)


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_carts_that_lock_keep_their_momentum(integrator: lw.simulation.Integrator) -> None:
    """A plastic impact: momentum is kept, the impulse is that of the reduced mass; then they are released."""
    robot = carts()
    lock = lw.Event(lambda t, q, v: q[1] - q[0] - 1.0, enable="lock", name="lock")
    free = lw.Event(lambda t, q, v: t - 1.5, disable="lock", name="free")
    run = lw.simulate(robot, [0, 2.0], [1.0, 0.0], seconds=2.0, integrator=integrator, events=[lock, free])
    assert abs(run.events[0].time - 1.0) <= 1e-9
    common = MASSES[0] / sum(MASSES)
    np.testing.assert_allclose(run.v[-1], common, rtol=1e-9)
    reduced = MASSES[0] * MASSES[1] / sum(MASSES)
    np.testing.assert_allclose(np.abs(run.events[0].impulses["lock"]), reduced, rtol=1e-9)
    assert run.enabled is not None
    locked = run.enabled[:, 0]
    assert locked.sum() == np.sum((run.times >= 1.0 - 1e-9) & (run.times <= 1.5)) - 2  # one side of each event
    np.testing.assert_allclose(run.acceleration, 0, atol=1e-9)
    assert run.errors.max() <= 1e-8
    resumed = run.resume(int(np.flatnonzero(locked)[10]), seconds=0.1)
    np.testing.assert_allclose(resumed.v, common, rtol=1e-9)


def test_constraints_that_are_open_are_refused() -> None:
    early = lw.Event(lambda t, q, v: t - 0.5, enable=["lock"], name="early")
    with pytest.raises(AssemblyError, match=r"'lock' is open by 0.5 at event 'early', 0.5 s") as error:
        lw.simulate(carts(), [0, 2.0], [1.0, 0.0], seconds=2.0, events=[early])
    assert error.value.trajectory.times[-1] == pytest.approx(0.5)


def test_a_drive_is_released_and_engages_again() -> None:
    """A cart driven at 2 m/s is free after half a second, and is stopped by a second drive."""
    build = lw.Builder("cart", gravity=(0, 0, 0))
    build.body("cart", lw.Inertia(2.0, (0, 0, 0), 0.01 * np.eye(3)))
    build.joint("x", lw.joints.Prismatic("x"), "world", "cart")
    robot = build.build().constrained(lw.Drive("x", lambda t: 2 * t, name="go"), lw.Drive("x", 1.5, name="halt"))
    robot = robot.switched({"halt": False})
    events = [
        lw.Event(lambda t, q, v: t - 0.5, disable="go", name="release"),
        lw.Event(lambda t, q, v: q[0] - 1.5, enable="halt", name="stop"),
    ]
    run = lw.simulate(robot, seconds=1.0, integrator="rk4", events=events)
    np.testing.assert_allclose([one.time for one in run.events], [0.5, 0.75], rtol=0, atol=1e-9)
    np.testing.assert_allclose(run.events[1].impulses["halt"], [-4.0], rtol=1e-9)
    np.testing.assert_allclose((run.q[-1], run.v[-1]), ([1.5], [0.0]), atol=1e-9)


def test_an_event_at_contact_ends_a_run_with_contacts() -> None:
    box = lw.zoo.sliding_box(friction=0.4)
    run = lw.simulate(box, v=[1.0, 0, 0, 0, 0, 0], seconds=0.4, until=lambda t, q, v: v[0] - 0.5)
    assert abs(run.v[-1][0] - 0.5) <= 1e-9
    np.testing.assert_allclose(run.times[-1], 0.5 / (0.4 * GRAVITY), rtol=1e-6)


def test_events_with_a_compiled_controller() -> None:
    @lw.kernel
    def push(time: float, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> None:
        tau[0] = 2.0 * 9.81

    run = lw.simulate(ball(), [0.0], seconds=1, integrator="rk4", controller=push, until=lambda t, q, v: q[0] - 0.25)
    np.testing.assert_allclose(run.times[-1], np.sqrt(0.5 / GRAVITY), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"until": 3.0}, "when is 3.0, needs a function"),
        ({"until": lambda t, q, v: np.nan}, "event 'until' at 0 s: when returned"),
        ({"events": [lambda t, q, v: q[0]]}, "needs lw.Event"),
        ({"events": lw.Event(lambda t, q, v: t - 0.1, enable="latch")}, "switches 'latch', which is no constraint"),
        ({"probes": {"a": lambda run: run.q[:3]}}, "probe 'a' returned an array of shape"),
    ],
)
def test_wrong_events_and_probes_are_refused(options: dict, words: str) -> None:
    with pytest.raises(InputError, match=words):
        lw.simulate(ball(), [1.0], seconds=0.2, **options)


def test_probes_are_evaluated_saved_and_loaded(tmp_path: Path) -> None:
    robot = carts()
    probes = [
        lw.Probe("distance", lambda run: run.frame_path("cart1")[..., 0] - run.frame_path("cart0")[..., 0], unit="m"),
        lw.Probe("speeds", lambda run: np.stack([run.joint_velocity("x0"), run.joint_velocity("x1")], axis=-1)),
    ]
    lock = lw.Event(lambda t, q, v: q[1] - q[0] - 1.0, enable="lock", name="lock")
    run = lw.simulate(robot, [0, 2.0], [1.0, 0.0], seconds=1.1, record_every=100, events=[lock], probes=probes)
    np.testing.assert_allclose(run.probes["distance"], run.q[:, 1] - run.q[:, 0], rtol=1e-12)
    for ending in (".npz", ".parquet"):
        if ending == ".parquet":
            pytest.importorskip("pyarrow")
        again = lw.Trajectory.load(run.save(tmp_path / f"run{ending}"), robot)
        assert again.events == run.events
        for name in ("distance", "speeds"):
            np.testing.assert_array_equal(again.probes[name], run.probes[name])
        np.testing.assert_array_equal(again.enabled, run.enabled)
    with run.save(tmp_path / "run.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["probe.distance"]) for row in rows] == run.probes["distance"].tolist()
    assert {"time", "q.x0", "v.x1", "probe.speeds[1]", "enabled.lock"} <= set(rows[0])
    batch = lw.rollouts(robot, np.zeros((3, 2)), np.ones((3, 2)), seconds=0.1, probes=probes)
    assert batch.probes["distance"].shape == (2, 3)


def test_a_run_is_a_data_frame_and_a_dataset() -> None:
    pandas = pytest.importorskip("pandas")
    run = lw.simulate(ball(), [1.0], seconds=0.1, integrator="rk4", probes={"speed": lambda run: run.v[:, 0]})
    frame = run.to_dataframe()
    assert isinstance(frame, pandas.DataFrame)
    np.testing.assert_array_equal(frame["q.z"], run.q[:, 0])
    np.testing.assert_array_equal(frame["probe.speed"], run.v[:, 0])
    np.testing.assert_array_equal(frame.index, run.times)
    pytest.importorskip("xarray")
    data = run.to_xarray()
    np.testing.assert_array_equal(data["q"].sel(q_column="q.z"), run.q[:, 0])
    assert data["q"].dims == ("time", "q_column")


def test_histories_of_joints_and_frames() -> None:
    linkage = lw.zoo.four_bar()
    q = linkage.poses["assembled"]
    run = lw.simulate(linkage, q, linkage.project_velocity(q, [2.0, 0, 0]), seconds=0.2, integrator="rk4")
    name, body = linkage.joint_names[0], linkage.body_names[1]

    def slope(x: np.ndarray) -> np.ndarray:
        """Central differences of fourth order."""
        return (x[:-4] - 8 * x[1:-3] + 8 * x[3:-1] - x[4:]) / 12e-3

    inner = slice(2, -2)
    np.testing.assert_allclose(run.joint_velocity(name)[inner], slope(run.joint_position(name)), atol=1e-6)
    np.testing.assert_allclose(
        run.joint_acceleration(name)[inner], slope(run.joint_velocity(name)), rtol=1e-5, atol=1e-4
    )
    np.testing.assert_allclose(run.frame_velocity(body)[inner, 3:], slope(run.frame_path(body)), atol=1e-6)
    np.testing.assert_allclose(
        run.frame_acceleration(body)[inner], slope(run.frame_velocity(body)), rtol=1e-5, atol=1e-4
    )
    placed = run.frame_placement(body)
    np.testing.assert_allclose(run.frame_path(body, (0.1, 0, 0)), placed.position + 0.1 * placed.rotation[..., 0])


def test_events_that_accumulate_end_a_run() -> None:
    """Two events, each of which sets the other off 0.1 microseconds later."""
    due = {"a": 0.0105, "b": 1.0}

    def chain(name: str, other: str) -> lw.Event:
        return lw.Event(
            lambda t, q, v: t - due[name], name=name, action=lambda t, q, v: due.__setitem__(other, t + 1e-7)
        )

    with pytest.warns(lw.errors.SimulationWarning, match=r"1000 events within 0.001 s, the last 'a' at 0.0106"):
        run = lw.simulate(ball(), [1.0], seconds=0.1, integrator="rk4", events=[chain("a", "b"), chain("b", "a")])
    assert run.times[-1] < 0.011
