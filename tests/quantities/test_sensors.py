# SPDX-License-Identifier: BSD-3-Clause
"""Sensors: derivatives of one another, laws of mechanics, mechanisms that change, what is refused."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.mechanism import Mechanism
from linkwork.model.rotations import quaternion_matrix
from tests.support.sensor_texts import every_type
from tests.support.states import Floats, assert_close, random_state

FRAME_TYPES = (
    "framepos",
    "framequat",
    "framelinvel",
    "frameangvel",
    "framelinacc",
    "frameangacc",
    "gyro",
    "velocimeter",
)


def sensed_tree(seed: int, kinds: str = "rphusSf") -> Mechanism:
    """A random tree of joints of all kinds, with sensors on its last body and on its first."""
    robot = lw.zoo.random_tree(seed, bodies=6, kinds=kinds)
    tip, base = robot.body_names[-1], robot.body_names[0]
    sensors = [
        lw.sensors.Sensor(name, name, tip) for name in (*FRAME_TYPES, "accelerometer", "subtreecom", "subtreelinvel")
    ]
    sensors += [lw.sensors.Sensor(f"{name} seen", name, tip, base) for name in FRAME_TYPES[:4]]
    return robot.with_sensors(
        *sensors, lw.sensors.Sensor("all", "subtreecom", "world"), lw.sensors.Sensor("energy", "e_kinetic")
    )


def plain_values(robot: Mechanism, names: Sequence[str], given: dict[str, Any]) -> dict[str, Floats]:
    sensors = lw.sensors.Sensors(robot, names).plain()
    return dict(sensors.by_name(sensors(*(given[name] for name in sensors.inputs))))


def along(robot: Mechanism, s: Any, names: Sequence[str], h: float = 1e-4) -> dict[str, Floats]:
    """Central differences, fourth order, along the motion through a state."""
    found = {}
    for k in (-2, -1, 1, 2):
        t = k * h
        q = robot.integrate(s.q, t * s.v + 0.5 * t * t * s.a)
        found[k] = plain_values(robot, names, {"q": q, "v": s.v + t * s.a, "a": s.a})
    return {n: (8 * (found[1][n] - found[-1][n]) - (found[2][n] - found[-2][n])) / (12 * h) for n in names}


# Motion -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_velocities_are_rates_of_poses(seed: int) -> None:
    robot, gravity = sensed_tree(seed), np.array([0.0, 0.0, -9.81])
    s = random_state(robot, seed)
    names = ["framepos", "framequat", "framelinvel", "frameangvel", "subtreecom", "framepos seen", "framequat seen"]
    rates = along(robot, s, names)
    now = plain_values(robot, [sensor.name for sensor in robot.sensors], s._asdict())
    scale = 10.0 + float(np.abs(now["framelinacc"]).max())
    assert_close(rates["framepos"], now["framelinvel"], 1e-8, scale)
    assert_close(rates["framelinvel"], now["framelinacc"] + gravity, 1e-8, scale)
    assert_close(rates["frameangvel"], now["frameangacc"], 1e-8, scale)
    assert_close(rates["subtreecom"], now["subtreelinvel"], 1e-8, scale)
    assert_close(rates["framepos seen"], now["framelinvel seen"], 1e-8, scale)
    for quaternion, turning in (("framequat", "frameangvel"), ("framequat seen", "frameangvel seen")):
        (w, *xyz), spin = now[quaternion], now[turning]
        expected = 0.5 * np.append(-np.dot(spin, xyz), w * spin + np.cross(spin, xyz))
        assert_close(rates[quaternion], expected, 1e-8, scale)
    assert_close(now["all"], lw.Evaluator(robot, "center_of_mass").plain()(s.q), 1e-12, 1.0)
    assert_close(now["energy"][0], lw.Evaluator(robot, "energy").plain()(s.q, s.v)[0][0], 1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_sensors_in_their_own_axes(seed: int) -> None:
    robot = sensed_tree(seed, "srfS")
    s = random_state(robot, seed)
    now = plain_values(robot, [sensor.name for sensor in robot.sensors], s._asdict())
    w, *xyz = now["framequat"]
    R = quaternion_matrix(np.array([*xyz, w]))
    placed = lw.Evaluator(robot, "frame_placement", [robot.body_names[-1]]).plain()(s.q)
    assert_close(R, placed[0][0], 1e-12)
    for own, world in (("gyro", "frameangvel"), ("velocimeter", "framelinvel"), ("accelerometer", "framelinacc")):
        assert_close(R @ now[own], now[world], 1e-12, 1.0)


@pytest.mark.parametrize("c", [1.0, -1.0, 0.3, -0.3])
def test_the_orientation_of_a_planar_joint_at_any_angle(c: float) -> None:
    build = lw.Builder("disc").body("disc", lw.Inertia.box(1.0, (1, 1, 1)))
    robot = (
        build.joint("plane", lw.joints.Planar(), "world", "disc")
        .sensor(lw.sensors.Sensor("turn", "framequat", "disc"))
        .build()
    )
    for s in (np.sqrt(1 - c * c), -np.sqrt(1 - c * c)):
        w, *xyz = lw.sensors.Sensors(robot).plain()([0.1, 0.2, c, s])
        assert_close(quaternion_matrix(np.array([*xyz, w])), [[c, -s, 0], [s, c, 0], [0, 0, 1]], 1e-12)


# Forces -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_the_world_carries_the_rate_of_momentum(seed: int) -> None:
    robot = lw.zoo.random_tree(seed, bodies=6, kinds="rphusS")
    robot = robot.with_sensors(
        lw.sensors.Sensor("force", "force", "world"), lw.sensors.Sensor("torque", "torque", "world")
    )
    s = random_state(robot, seed)
    found = plain_values(robot, ["force", "torque"], s._asdict())

    def plain(name: Any, *given: Floats) -> Any:
        return lw.Evaluator(robot, name).plain()(*given)

    A, rate = plain("centroidal_momentum_matrix", s.q), plain("centroidal_momentum_matrix_rate", s.q, s.v)
    center = plain("center_of_mass", s.q)
    momentum = A @ s.a + rate @ s.v
    force = momentum[3:] - robot.mass * robot.gravity
    assert_close(found["force"], force, 1e-11)
    assert_close(found["torque"], momentum[:3] + np.cross(center, force), 1e-11, float(np.abs(force).max()))


def four_bar(cut: str) -> Mechanism:
    """A crank, a coupler and a rocker; forces at both ends of the coupler."""
    build = lw.Builder(f"cut at {cut}")
    bars = {
        "crank": ((0, 0, 0), (0.3, 0, 0.1)),
        "coupler": ((0, 0, 0), (0.6, 0, 0.5)),
        "rocker": ((0, 0, 0), (0.1, 0, 0.6)),
    }
    for name, ends in bars.items():
        build.body(name, lw.Inertia.rod(1.0, *ends))
    joints = {
        "A": ("world", "crank", (0, 0, 0), (0, 0, 0)),
        "B": ("crank", "coupler", (0.3, 0, 0.1), (0, 0, 0)),
        "C": ("coupler", "rocker", (0.6, 0, 0.5), (0.1, 0, 0.6)),
        "D": ("world", "rocker", (0.8, 0, 0), (0, 0, 0)),
    }
    for name, (parent, child, at, child_at) in joints.items():
        build.joint(name, lw.joints.Revolute("y"), parent, child, at, child_at, cut=name == cut)
    build.frame("start", "coupler").frame("end", "coupler", (0.6, 0, 0.5))
    build.sensor(lw.sensors.Sensor("start", "force", "start"), lw.sensors.Sensor("end", "force", "end"))
    return build.sensor(
        lw.sensors.Sensor("felt", "accelerometer", "coupler"), lw.sensors.Sensor("spin", "frameangacc", "coupler")
    ).build()


def test_forces_of_a_loop_do_not_depend_on_where_it_is_cut() -> None:
    found = {}
    for cut in ("B", "C"):
        robot = four_bar(cut)
        q, v = robot.neutral(), np.zeros(robot.nv)
        solution = lw.ForwardDynamics(robot, method="lcaba").plain()(q, v, v)
        given = {"q": q, "v": v, "a": solution.acceleration, "constraint_forces": solution.multipliers}
        at = plain_values(robot, ["start", "end", "felt", "spin"], given)
        axes = lw.Evaluator(robot, "frame_placement", ["coupler"]).plain()(q)[0][0]
        found[cut] = {name: axes @ x if name != "spin" else x for name, x in at.items()}
    # the tree of one carries the coupler by its start, that of the other by its end
    by_crank, by_rocker = found["C"]["start"], found["B"]["end"]
    assert_close(found["B"]["felt"], found["C"]["felt"], 1e-9)
    middle = found["C"]["felt"] + np.cross(found["C"]["spin"], [0.3, 0.0, 0.25])
    assert_close(by_crank + by_rocker, middle, 1e-8)
    assert np.abs(by_rocker).max() > 1.0


def test_a_box_at_rest_touches_with_its_weight() -> None:
    build = lw.Builder("box").body("box", lw.Inertia.box(2.0, (0.2, 0.2, 0.2)))
    build.joint("root", lw.joints.Free(), "world", "box").shape("box", lw.shapes.Box((0.2, 0.2, 0.2)), role="collision")
    build.sensor(lw.sensors.Sensor("feet", "touch", "box", volume=lw.shapes.Box((0.3, 0.3, 0.3))))
    build.sensor(lw.sensors.Sensor("one corner", "touch", "box", volume=lw.shapes.Sphere(0.01)))
    build.sensor(lw.sensors.Sensor("felt", "accelerometer", "box"), lw.sensors.Sensor("none", "force", "box"))
    robot = build.contact().build()
    q, v = robot.neutral(), np.zeros(6)
    q[2] = 0.1
    step = lw.contact.ContactStep(robot, 1e-3, tolerance=1e-11).plain()(q, v)
    values = lw.sensors.sensor_data(robot, q, v, step)
    assert_close(values["feet"], [2.0 * 9.81], 1e-7)
    assert values["one corner"][0] == 0.0
    assert_close(values["felt"], [0.0, 0.0, 9.81], 1e-7)
    assert_close(values["none"], np.zeros(3), 1e-7, 20.0)  # what carries a free body is nothing
    with pytest.raises(lw.errors.InputError, match=r"contact forces: give the solution of ContactStep"):
        lw.sensors.sensor_data(robot, q, v, np.zeros(6), names="feet")


# Mechanisms that change ---------------------------------------------------------------------------------------------


def everything() -> Mechanism:
    return lw.loads(every_type())


def wrist(robot: Mechanism, s: dict[str, Any], prefix: str = "") -> Floats:
    names = [f"{prefix}{name}" for name in ("force wrist", "torque wrist", "subtreecom flange", "gyro tip", "jointpos")]
    values = plain_values(robot, names, s)
    return np.concatenate([values[name] for name in names])


def tree_state(robot: Mechanism) -> dict[str, Any]:
    s = random_state(robot, 3)
    return {**s._asdict(), "commands": np.zeros(len(robot.actuators) + robot.na)}


def test_names_change_and_values_do_not() -> None:
    robot = everything()
    s = tree_state(robot)
    assert_close(wrist(robot.renamed(lambda name: f"my {name}"), s, "my "), wrist(robot, s), 1e-12)
    assert_close(wrist(pickle.loads(pickle.dumps(robot)), s), wrist(robot, s), 1e-12)


def test_a_part_of_a_scene_feels_what_it_felt_alone() -> None:
    alone = everything()
    s = tree_state(alone)
    scene = lw.compose({"a": alone, "b": lw.zoo.pendulum(2).with_gravity(alone.gravity)})
    both = {**s, **{name: np.append(s[name], [0.1, 0.2]) for name in ("q", "v", "a")}}
    assert_close(wrist(scene, both, "a/"), wrist(alone, s), 1e-10)


def test_locked_joints_carry_what_moving_ones_carried() -> None:
    robot = everything()
    s = tree_state(robot)
    at = robot.v_slice("ball")
    s["v"][at] = s["a"][at] = 0.0
    names = ["force wrist", "torque wrist", "force tip", "torque tip", "subtreeangmom fist", "force pair"]
    before = plain_values(robot, names, s)
    locked = robot.reduced(["ball"], q=robot.normalize(s["q"]))
    keep_q = np.delete(np.arange(robot.nq), range(*robot.q_slice("ball").indices(robot.nq)))
    keep_v = np.delete(np.arange(robot.nv), range(*at.indices(robot.nv)))
    less = {"q": s["q"][keep_q], "v": s["v"][keep_v], "a": s["a"][keep_v]}
    less["commands"] = np.zeros(len(locked.actuators) + locked.na)
    after = plain_values(locked, names, less)
    for name in names:
        assert_close(after[name], before[name], 1e-10, 1.0)
    assert "does not move" in locked.sensor("ballquat").refused
    with pytest.raises(lw.errors.LinkworkError, match=r"sensor 'ballquat' .* is not computed: it is on joint 'ball'"):
        lw.sensors.Sensors(locked, "ballquat")


def test_the_length_of_an_actuator_on_locked_joints_is_not_sensed() -> None:
    robot = lw.zoo.pendulum(2).without_actuators()
    first, second = robot.joint_names
    robot = robot.with_actuators(lw.actuators.Actuator("both", second, (1.0,), also=((first, 2.0),)), second)
    robot = robot.with_sensors(
        lw.sensors.Sensor("length", "actuatorpos", "both"), lw.sensors.Sensor("own", "actuatorpos", second)
    )
    held = robot.reduced({first: 0.5})
    assert "is locked" in held.sensor("length").refused
    assert_close(lw.sensors.sensor_data(held, [0.3])["own"], [0.3], 1e-15)


def test_what_is_gone_is_not_sensed() -> None:
    robot = everything().without_bodies("fist")
    names = {sensor.name for sensor in robot.sensors}
    assert "force wrist" in names and "gyro tip" not in names and "ballquat" not in names
    assert robot.sensor("force wrist").outboard.joints == ()  # type: ignore[union-attr]


def test_values_have_units() -> None:
    robot = everything()
    s = tree_state(robot)
    length, mass, time = 2.0, 3.0, 0.5
    large = robot.scaled(length, mass, time)
    by = lw.mechanism.scaling.Scaling(robot, length, mass, time)
    scaled = {"q": by.q(s["q"]), "v": by.v(s["v"]), "a": by.a(s["a"]), "commands": s["commands"]}
    names = ["force wrist", "torque wrist", "subtreeangmom flange", "accelerometer tip", "e_potential", "clamped gyro"]
    before, after = plain_values(robot, names, s), plain_values(large, names, scaled)
    force = mass * length / time**2
    units = [force, force * length, mass * length**2 / time, length / time**2, force * length, 1 / time]
    for name, unit in zip(names, units, strict=True):
        assert_close(after[name], unit * before[name], 1e-10, unit)


def test_the_mirror_image_feels_the_mirror_image() -> None:
    robot = lw.zoo.random_tree(1, bodies=5, kinds="rps")
    tip, S = robot.body_names[-1], np.array([1.0, -1.0, 1.0])
    kinds = ("force", "torque", "accelerometer", "gyro", "magnetometer")
    robot = robot.with_sensors(*(lw.sensors.Sensor(kind, kind, tip, magnetic_flux=(0.1, 0.2, 0.3)) for kind in kinds))
    image, s = robot.mirrored("xz"), random_state(robot, 1)
    flipped = {"q": lw.mechanism.mirroring.mirrored_q(robot, s.q)}
    flipped |= {name: lw.mechanism.mirroring.mirrored_v(robot, getattr(s, name)) for name in ("v", "a")}
    before, after = plain_values(robot, kinds, s._asdict()), plain_values(image, kinds, flipped)
    for kind in kinds:
        sign = -S if kind in ("torque", "gyro") else S
        assert_close(after[kind], sign * before[kind], 1e-10, 1.0)


# Calls --------------------------------------------------------------------------------------------------------------


def moving_arm() -> Mechanism:
    robot = lw.zoo.pendulum(2)
    return robot.with_sensors(lw.sensors.Sensor("imu", "accelerometer", robot.body_names[-1]))


def test_along_a_trajectory() -> None:
    robot = moving_arm()
    run = lw.simulate(robot, [0.4, 0.3], seconds=0.02, record_every=5)
    values = run.sensors()
    assert values["imu"].shape == (len(run), 3)
    a = lw.ForwardDynamics(robot).plain()(run.q, run.v, np.zeros((len(run), 2)))
    assert_close(values["imu"], lw.sensors.sensor_data(robot, run.q, run.v, a)["imu"], 1e-8)


def test_dampers_along_runge_kutta_steps_act_at_the_states() -> None:
    """Stages of Runge-Kutta methods are explicit: nothing of a step of Euler with dampers at its end."""
    robot = lw.zoo.pendulum(2)
    build = lw.Builder("damped").add_mechanism(robot).frame("peg", "world", (0.5, 0, 0))
    build.tendon(lw.tendons.Tendon("cable", path=("peg", robot.body_names[-1]), stiffness=5.0, damping=2.0))
    build.sensor(lw.sensors.Sensor("imu", "accelerometer", robot.body_names[-1]))
    robot = build.build().with_parameters(damping=[3.0, 5.0], stiffness=[40.0, 0.0])
    run = lw.simulate(robot, [0.4, 0.3], [1.0, 2.0], seconds=0.02, integrator="rk4", record_every=5)
    tau = lw.passive_forces(robot, run.q, run.v) + lw.tendons.tendon_forces(robot, run.q, run.v)
    a = lw.ForwardDynamics(robot).plain()(run.q, run.v, tau)
    assert_close(run.sensors()["imu"], lw.sensors.sensor_data(robot, run.q, run.v, a)["imu"], 1e-9)


def test_a_stop_of_a_tendon_pulls_at_bodies() -> None:
    """Nothing carries a free body, whatever a tendon does to it."""
    build = lw.Builder("kite").body("kite", lw.Inertia.box(2.0, (0.2, 0.2, 0.2)))
    build.joint("root", lw.joints.Free(), "world", "kite").frame("peg", "world", (0, 0, 1)).frame(
        "corner", "kite", (0.1, 0, 0)
    )
    build.tendon(lw.tendons.Tendon("line", path=("peg", "corner"), limits=(0.0, 0.5), stop=(1e3, 10.0)))
    robot = build.sensor(
        lw.sensors.Sensor("force", "force", "corner"), lw.sensors.Sensor("felt", "accelerometer", "kite")
    ).build()
    q, v = robot.neutral(), np.ones(6)
    pulled = lw.Evaluator(robot, "tendon_forces").plain()(q, v)
    solution = lw.ForwardDynamics(robot).plain()(q, v, pulled)
    values = plain_values(robot, ["force", "felt"], {"q": q, "v": v, "a": solution.acceleration})
    assert np.abs(values["felt"]).max() > 10.0
    assert_close(values["force"], np.zeros(3), 1e-12, 1e3)


def test_along_rollouts_with_wrenches() -> None:
    robot = moving_arm()
    tip, pushes = robot.body_names[-1], np.array([[0, 1.0, 0, 2.0, 0, 0], [0, 3.0, 0, 0, 0, 1.0]])
    start = np.tile([0.4, 0.3], (2, 1))
    many = lw.rollouts(robot, start, seconds=0.01, wrenches={tip: pushes}, record_every=5).sensors("imu")["imu"]
    for k, push in enumerate(pushes):
        one = lw.simulate(robot, start[k], seconds=0.01, wrenches={tip: push}, record_every=5).sensors("imu")["imu"]
        assert_close(many[:, k], one, 1e-9)


def test_sensors_of_robots_that_differ_are_refused() -> None:
    robot = moving_arm()
    masses = np.array([[1.0, 1.0], [2.0, 1.0]])
    run = lw.rollouts(robot, np.zeros((2, 2)), seconds=0.01, parameters={"mass": masses})
    with pytest.raises(lw.errors.UnsupportedFeature, match="simulated with mass of their own"):
        run.sensors()


def test_products_are_those_of_differences() -> None:
    robot = lw.zoo.pendulum(2)
    tip = robot.body_names[-1]
    robot = robot.with_sensors(
        lw.sensors.Sensor("imu", "accelerometer", tip), lw.sensors.Sensor("turn", "framequat", tip)
    )
    sensors, s = lw.sensors.Sensors(robot), random_state(robot, 0)
    d, h = random_state(robot, 1), 1e-6
    ends = [sensors.plain()(s.q + k * h * d.v, s.v + k * h * d.a, s.a + k * h * d.tau) for k in (-1, 1)]
    assert_close(sensors.jvp(s.q, s.v, s.a, dq=d.v, dv=d.a, da=d.tau), (ends[1] - ends[0]) / (2 * h), 1e-7)


def test_torch_differentiates_sensors() -> None:
    torch = pytest.importorskip("torch")
    function = lw.torch.function(lw.sensors.Sensors(moving_arm()))
    inputs = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in ([0.3, 0.1], [1.0, 2.0], [3.0, 0.5])]
    assert torch.autograd.gradcheck(function, inputs)


def test_bound_arrays() -> None:
    sensors = lw.sensors.Sensors(moving_arm())
    q, v, a, out = np.array([0.3, 0.1]), np.ones(2), np.zeros(2), np.empty(sensors.size)
    call = sensors.bind(q, v, a, out=out)
    q[0] = 0.5
    call()
    np.testing.assert_array_equal(out, sensors(q, v, a))


# What is refused ----------------------------------------------------------------------------------------------------


def test_sensors_that_are_not_computed_are_kept_with_their_reasons() -> None:
    text = """<mujoco><worldbody><body name="b"><joint name="j"/><geom size=".1"/><site name="s"/></body></worldbody>
    <sensor><rangefinder name="laser" camera="c"/><gyro name="lost" site="nowhere"/><user name="own" dim="2"/>
    <jointpos joint="j"/><jointpos joint="j" name="jointpos"/><mystery/>
    <gyro name="late" site="s" delay=".1" nsample="2"/>
    <jointpos name="no joint" joint="k"/><gyro name="turn" site="s"/></sensor></mujoco>"""
    robot = lw.loads(text)
    found = {sensor.name: sensor.refused for sensor in robot.sensors}
    assert found["laser"] == "images of cameras are not computed" and found["lost"] == "there is no site 'nowhere'"
    assert found["late"] == "delayed values are not kept" and "joint 'k'" in found["no joint"]
    assert found["mystery"] == "a <mystery> is not understood" and found["own"]
    assert lw.sensors.Sensors(robot).names == ("jointpos_1", "jointpos", "turn")
    with pytest.raises(lw.errors.LinkworkError, match=r"sensor 'laser' \(rangefinder\) of .* is not computed: images"):
        lw.sensors.Sensors(robot, ["laser"])
    with pytest.raises(lw.errors.InputError, match="has no sensor 'jointpoz'"):
        lw.sensors.Sensors(robot, "jointpoz")


@pytest.mark.parametrize(
    ("sensor", "words"),
    [
        (("s", "gyro", "nowhere"), "is on frame 'nowhere', which is not there"),
        (("s", "gyro", "link1", "world"), "only framepos"),
        (("s", "jointpos", "k"), "is on joint 'k', which does not move"),
        (("s", "ballquat", "joint1"), "is not spherical"),
        (("s", "actuatorpos", "m"), "is on actuator 'm', which is not there"),
        (("s", "tendonpos", "t"), "is on tendon 't', which is not there"),
        (("s", "touch", "link1"), "has the volume None"),
        (("s", "giro", "link1"), "none of"),
        (("", "gyro", "link1"), "needs a name"),
    ],
)
def test_a_sensor_on_nothing_is_an_error(sensor: tuple[str, ...], words: str) -> None:
    robot = lw.zoo.pendulum(1)
    names = {"link1": robot.body_names[0], "joint1": robot.joint_names[0]}
    with pytest.raises(lw.errors.ModelError, match=words):
        robot.with_sensors(lw.sensors.Sensor(*(names.get(word, word) for word in sensor)))


def test_errors_of_calls() -> None:
    robot = lw.zoo.pendulum(1)
    with pytest.raises(lw.errors.InputError, match="has no sensors"):
        lw.sensors.Sensors(robot)
    robot = robot.with_sensors(
        lw.sensors.Sensor("a", "accelerometer", robot.body_names[0]), lw.sensors.Sensor("t", "clock")
    )
    with pytest.raises(lw.errors.InputError, match=r"sensor 'a' \(accelerometer\) .* needs joint velocities: give v"):
        lw.sensors.sensor_data(robot, [0.1])
    with pytest.raises(lw.errors.InputError, match="needs joint accelerations"):
        lw.sensors.sensor_data(robot, [0.1], [0.2])
    with pytest.raises(lw.errors.InputError, match="needs the time"):
        lw.sensors.sensor_data(robot, [0.1], [0.2], [0.3])
    with pytest.raises(lw.errors.InputError, match="sensors takes q, v, a, time"):
        lw.sensors.Sensors(robot).plain()([0.1])
    with pytest.raises(lw.errors.ModelError, match="two sensors are called 't'"):
        robot.with_sensors(lw.sensors.Sensor("t", "clock"))
    with pytest.raises(lw.errors.InputError, match="no contact pairs"):
        lw.sensors.Sensors(robot, contacts=True)
