# SPDX-License-Identifier: BSD-3-Clause
"""Environments of Gymnasium: its checkers, autoreset, seeds, randomized robots, rewards, errors in words."""

from __future__ import annotations

import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from tests.support.robots import model_file, scene_file

gymnasium = pytest.importorskip("gymnasium", minversion="1.1")

from gymnasium.utils.env_checker import check_env, data_equivalence  # noqa: E402
from gymnasium.vector import AutoresetMode  # noqa: E402

import linkwork.gym as lg  # noqa: E402

IDS = ("linkwork/Hopper-v0", "linkwork/BallBalance-v0", "linkwork/CassieStand-v0")
HOPPER = IDS[0]


def pendulum() -> lw.Mechanism:
    """Two links with motors."""
    robot = lw.zoo.pendulum(2)
    motors = [lw.actuators.Actuator(joint.name, joint.name, (5.0,)) for joint in robot.joints]
    return replace(robot, actuators=tuple(motors))


class PendulumVectorEnv(lg.VectorEnv):
    """A small environment without contacts: swing slowly."""

    action_names = ("first", "second")
    observation_names = ("q0", "q1", "v0", "v1")
    reward_names = ("reward_slow", "reward_effort")
    draws = 4

    def __init__(self, num_envs: int = 1, **options: Any) -> None:
        super().__init__(pendulum(), num_envs, **options)

    def start(self, rows: Any, draws: Any) -> Any:
        return draws[:, :2], draws[:, 2:]

    def commands(self, actions: Any) -> Any:
        return actions

    def observe(self) -> Any:
        return np.concatenate([self.robots.q, self.robots.v], axis=1)

    def reward(self, actions: Any) -> Any:
        return {"reward_slow": -(self.robots.v**2).sum(axis=1), "reward_effort": -(actions**2).sum(axis=1)}

    def failed(self) -> Any:
        return np.abs(self.robots.q[:, 0]) > 2.0


@pytest.fixture(params=IDS)
def env_id(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The id of an environment, with its model file where it needs one."""
    return known(str(request.param), monkeypatch)


def known(name: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """An id whose model file is there."""
    if name == IDS[2]:
        monkeypatch.setenv("LINKWORK_MODELS", str(Path(model_file("cassie/cassie.xml")).parents[1]))
    return name


DIFFERENT: Any = {"mass": {"link1": (0.5, 2.0)}, "damping": (0.5, 1.5), "gravity": (0.9, 1.1)}
"""Factors of parameters of pendulums."""


def play(envs: Any, steps: int, seed: int = 0) -> list[tuple[Any, ...]]:
    """What an environment gives for random actions."""
    rng = np.random.default_rng(seed)
    return [envs.step(rng.uniform(-1, 1, envs.action_space.shape)) for _ in range(steps)]


# Gymnasium's own checks ----------------------------------------------------------------------------------------------


def test_environment_passes_the_checker_without_a_warning(env_id: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make(env_id, render_mode="rgb_array")
        check_env(env.unwrapped)


CASES = [(HOPPER, mode) for mode in AutoresetMode] + [(name, AutoresetMode.SAME_STEP) for name in IDS[1:]]


@pytest.mark.parametrize(("name", "mode"), CASES)
def test_vector_environment_is_gymnasiums_own_vector_of_single_ones(
    name: str, mode: AutoresetMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spaces, observations, rewards, ends and infos are those of a `SyncVectorEnv`, over ends of episodes."""
    how: dict[str, Any] = {"id": known(name, monkeypatch), "num_envs": 3, "max_episode_steps": 5}
    ours = gymnasium.make_vec(**how, autoreset_mode=mode)
    theirs = gymnasium.make_vec(**how, vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode})
    assert isinstance(ours, lg.VectorEnv) and ours.metadata["autoreset_mode"] is mode
    for space in ("observation_space", "action_space", "single_observation_space", "single_action_space"):
        assert getattr(ours, space) == getattr(theirs, space)
    assert data_equivalence(ours.reset(seed=5), theirs.reset(seed=5), exact=True)
    ours.action_space.seed(1)
    for _ in range(8):
        actions = ours.action_space.sample()
        found, wanted = ours.step(actions), theirs.step(actions)
        for part, x, y in zip(("seen", "rewards", "terminated", "truncated", "infos"), found, wanted, strict=True):
            assert data_equivalence(x, y, exact=True), part
        ended = found[2] | found[3]
        if mode is AutoresetMode.DISABLED and ended.any():
            masks = ({"reset_mask": ended.copy()} for _ in range(2))
            assert data_equivalence(ours.reset(options=next(masks)), theirs.reset(options=next(masks)), exact=True)


def test_statistics_of_episodes_are_right() -> None:
    envs = gymnasium.wrappers.vector.RecordEpisodeStatistics(
        PendulumVectorEnv(2, max_episode_steps=5, autoreset_mode=AutoresetMode.SAME_STEP)
    )
    envs.reset(seed=0)
    steps = play(envs, 5)
    infos = steps[-1][-1]
    assert infos["episode"]["l"].tolist() == [5, 5]
    assert np.allclose(infos["episode"]["r"], np.sum([step[1] for step in steps], axis=0))


# Seeds ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("others", [1, 12])
def test_a_row_depends_on_its_seed_alone(others: int) -> None:
    """Row 2 of seed 7 is row 0 of seed 9, whatever else there is, through episodes that end; to the last bit."""
    how: dict[str, Any] = {"max_episode_steps": 6, "randomize": DIFFERENT}
    many, few = PendulumVectorEnv(9, **how), PendulumVectorEnv(others, **how)
    assert np.array_equal(many.reset(seed=7)[0][2], few.reset(seed=9)[0][0])
    rng = np.random.default_rng(3)
    for _ in range(15):
        actions = rng.uniform(-1, 1, (9, 2))
        mine = np.zeros((others, 2))
        mine[0] = actions[2]
        found, wanted = many.step(actions), few.step(mine)
        for x, y in zip(found[:4], wanted[:4], strict=True):
            assert np.array_equal(x[2], y[0])


def test_the_same_seed_gives_the_same_trajectory_to_the_last_bit() -> None:
    runs = []
    for _ in range(2):
        envs = PendulumVectorEnv(4)
        first = envs.reset(seed=1)[0]
        runs.append([first, *(step[0] for step in play(envs, 25))])
    assert all(np.array_equal(x, y) for x, y in zip(*runs, strict=True))


def test_seeds_may_be_given_for_each() -> None:
    envs = PendulumVectorEnv(3)
    one = envs.reset(seed=[4, 4, 5])[0]
    assert np.array_equal(one[0], one[1]) and not np.array_equal(one[0], one[2])
    with pytest.raises(lw.errors.InputError, match="needs one, or one for each of 3"):
        envs.reset(seed=[1, 2])


# Robots that differ --------------------------------------------------------------------------------------------------


def test_randomized_robots_move_as_robots_built_with_their_parameters() -> None:
    envs = PendulumVectorEnv(3, randomize=DIFFERENT)
    envs.reset(seed=2)
    drawn = envs.robots.parameters
    assert drawn["mass"].shape == (3, 1) and len(np.unique(drawn["mass"])) == 3
    assert (drawn["gravity"][:, :2] == 0).all() and len(np.unique(drawn["gravity"][:, 2])) == 3
    q, v = envs.robots.q.copy(), envs.robots.v.copy()
    play(envs, 4)
    for k in range(3):
        mass = envs.robot.parameters["mass"].copy()
        mass[envs.robot.body_names.index("link1")] = drawn["mass"][k, 0]
        built = pendulum().with_parameters(mass=mass, damping=drawn["damping"][k], gravity=drawn["gravity"][k])
        alone, rng = lw.Stepper(built, dt=envs.robots.stepper.dt), np.random.default_rng(0)
        at = (q[k], v[k])
        for _ in range(4):
            after = alone(*at, steps=5, commands=rng.uniform(-1, 1, (3, 2))[k])
            at = (after.q, after.v)
        assert np.allclose(envs.robots.q[k], at[0], rtol=0, atol=1e-12)


def test_episodes_draw_robots_anew() -> None:
    envs = PendulumVectorEnv(2, max_episode_steps=2, randomize=DIFFERENT)
    envs.reset(seed=0)
    first = envs.robots.parameters["mass"].copy()
    play(envs, 3)
    assert (envs.robots.parameters["mass"] != first).all()


def test_one_factor_of_all_inertial_parameters_is_another_density() -> None:
    made = lg.Randomization(pendulum(), {"inertial_parameters": (0.9, 1.1)})
    own, drawn = made.values["inertial_parameters"], made(np.random.default_rng(0).random((5, made.draws)))
    factors = drawn["inertial_parameters"][..., 0] / own[..., 0]
    assert made.draws == 2 and ((factors >= 0.9) & (factors <= 1.1)).all()
    assert np.allclose(drawn["inertial_parameters"], own * factors[..., None], rtol=1e-15)


def test_a_factor_of_the_gain_of_a_servo_is_its_stiffness_and_not_its_target() -> None:
    """A softer servo sags by more under the same load, about the same target."""
    law: dict[str, Any] = {"gain": (50.0, 0.0, 0.0), "bias": (0.0, -50.0, -10.0)}
    hinge = lw.zoo.pendulum(1)
    robot = hinge.with_gravity((0, 0, 0)).with_actuators(
        lw.actuators.Actuator("servo", hinge.joint_names[0], (1.0,), **law)
    )
    made = lg.Randomization(robot, {"actuator_gain": (0.8, 0.8)})
    drawn = made(np.zeros((1, made.draws)))
    soft = lw.Stepper(robot, dt=0.002, parameters=made.names, limits=False)
    values = {name: x[0] for name, x in drawn.items()}
    for load in (0.0, 2.0):
        settled = soft([0.5], [0.0], [load], steps=5000, commands=[0.5], **values)  # type: ignore[arg-type]
        assert settled.q[0] == pytest.approx(0.5 + load / (0.8 * 50.0), abs=1e-9)
    some = lg.Randomization(robot, {"actuator_gain": {"servo": (0.5, 2.0)}})
    drawn = some(np.ones((1, some.draws)))
    assert drawn["actuator_bias"][0, 0].tolist() == [0.0, -100.0, -20.0]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"mass": (1.2, 0.8)}, "0 <= low <= high"),
        ({"mass": (0.8, float("nan"))}, "0 <= low <= high"),
        ({"mass": {"link9": (0.8, 1.2)}}, "link9"),
        ({"weight": (0.8, 1.2)}, "weight"),
    ],
)
def test_ranges_that_mean_nothing_are_errors(given: Any, words: str) -> None:
    with pytest.raises(lw.errors.InputError, match=words):
        PendulumVectorEnv(2, randomize=given)


# What environments do ------------------------------------------------------------------------------------------------


def test_rewards_are_the_sums_of_their_terms(env_id: str) -> None:
    envs = gymnasium.make_vec(env_id, num_envs=2)
    envs.reset(seed=0)
    for _, rewards, _, _, infos in play(envs, 3):
        assert np.allclose(rewards, sum(infos[name] for name in envs.reward_names))
    assert len(set(envs.observation_names)) == envs.single_observation_space.shape[0]


def test_loops_stay_closed_and_the_ground_hard() -> None:
    envs = lg.HopperVectorEnv(8, autoreset_mode="SameStep")
    envs.reset(seed=0)
    for k in range(40):
        envs.step(np.random.default_rng(k).uniform(-1, 1, (8, 2)))
        assert np.abs(lw.constraint_error(envs.robot, envs.robots.q)).max() < 1e-3  # of the order of dt²
        foot = lw.frame_placement(envs.robot, envs.robots.q, "shank")
        lowest = foot.position[:, 2] - 0.2 * foot.rotation[:, 2, 2] - 0.025
        assert lowest.min() > -1e-3


def test_a_fall_ends_an_episode_and_time_truncates_it() -> None:
    envs = PendulumVectorEnv(2, max_episode_steps=3, autoreset_mode="Disabled")
    envs.reset(seed=0)
    envs.robots.q[0, 0] = 3.0
    _, _, terminated, truncated, _ = envs.step(np.zeros((2, 2)))
    assert terminated.tolist() == [True, False] and not truncated.any()
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"\[0\] have ended"):
        envs.step(np.zeros((2, 2)))
    before = envs.robots.q[1].copy()
    envs.reset(options={"reset_mask": terminated})
    assert np.array_equal(envs.robots.q[1], before) and envs.elapsed.tolist() == [0, 1]
    envs.step(np.zeros((2, 2)))
    assert envs.step(np.zeros((2, 2)))[3].tolist() == [False, True]


def test_a_robot_that_is_not_finite_ends_its_episode_alone() -> None:
    envs, alone = PendulumVectorEnv(2), PendulumVectorEnv(2)
    envs.reset(seed=0)
    alone.reset(seed=0)
    envs.robots.v[0] = 1e200
    seen, rewards, terminated, _, _ = envs.step(np.zeros((2, 2)))
    assert terminated.tolist() == [True, False] and rewards[0] == 0 and np.isfinite(seen).all()
    assert np.array_equal(seen[1], alone.step(np.zeros((2, 2)))[0][1])
    seen, rewards, terminated, _, _ = envs.step(np.zeros((2, 2)))  # starts anew
    assert not terminated.any() and rewards[0] == 0 and np.isfinite(envs.robots.q).all()


def test_tilting_the_plate_against_the_ball_balances_it() -> None:
    """Legs follow a tilt in proportion to the ball's place and velocity; the ball rolls, it does not slide."""
    envs = lg.BallBalanceVectorEnv(4, autoreset_mode="Disabled")
    seen, _ = envs.reset(seed=0)
    heads = np.array([envs.robot.frame(f"head{k}").placement.position[:2] for k in range(6)])
    start = np.linalg.norm(seen[:, :2] / 8, axis=1)
    away = []
    for _ in range(150):
        slope = 0.45 * seen[:, :2] / 8 + 0.3 * seen[:, 2:4] / 2  # of the plate, up along the ball's way
        seen, _, terminated, _, _ = envs.step(slope @ heads.T / 0.05)
        assert not terminated.any()
        away.append(np.linalg.norm(seen[:, :2] / 8, axis=1))
    end = np.array(away[-50:])  # with twice the gains legs chatter, and the ball wanders
    assert (end < 0.02).all() and (end.mean(axis=0) < 0.2 * start).all()


def test_cassie_stands_while_nothing_pushes_it() -> None:
    envs = lg.CassieStandVectorEnv(1, model=model_file("cassie/cassie.xml"), push=0.0)
    envs.reset(seed=0)
    envs.robots.put(np.array([0]), envs._rest[None], np.zeros((1, envs.robot.nv)))
    for _ in range(10):
        _, _, terminated, _, _ = envs.step(np.zeros((1, 10)))
    assert not terminated.any() and np.abs(envs.robots.q[0, :3] - envs._rest[:3]).max() < 2e-3
    forces = envs.robots.contact_forces[0, :, 2].sum()
    assert abs(forces / (envs.robot.mass * 9.81) - 1) < 0.02


# Pictures ------------------------------------------------------------------------------------------------------------


def test_pictures_show_every_environment_and_follow_the_trunk() -> None:
    envs = lg.HopperVectorEnv(2, render_mode="rgb_array")
    envs.reset(seed=0)
    frames = envs.render()
    assert frames is not None and len(frames) == 2
    assert frames[0].shape == (320, 480, 3) and frames[0].dtype == np.uint8
    envs.robots.q[1] = envs.robots.q[0]
    envs.robots.q[1, 0] += 1.0  # ten squares of the ground
    first, second = envs.render() or ()
    assert (np.abs(first.astype(int) - second) > 60).mean() < 0.01
    assert lg.HopperVectorEnv(1).render() is None


# Measuring -----------------------------------------------------------------------------------------------------------


def test_the_study_of_environments_measures() -> None:
    pytest.importorskip("mujoco")
    from linkwork_benchmarks.environments import scenarios, studies

    journal = studies.begin()
    studies.measure(scenarios.smaller(scenarios.SCENARIOS[0]), studies.QUICK._replace(rounds=1), journal)
    assert all(journal.metrics[f"environments.Hopper-v0.{name}.us"] > 0 for name in ("native", "Hopper-v5", "mj_step"))


# Errors --------------------------------------------------------------------------------------------------------------


def test_calls_that_mean_nothing_are_errors() -> None:
    envs = lg.HopperVectorEnv(2)
    with pytest.raises(gymnasium.error.ResetNeeded, match="reset"):
        envs.step(np.zeros((2, 2)))
    envs.reset()
    with pytest.raises(lw.errors.InputError, match=r"shape \(2, 3\), need \(2, 2\): hip, crank"):
        envs.step(np.zeros((2, 3)))
    with pytest.raises(lw.errors.InputError, match="'crank' of environment 1 is nan"):
        envs.step([[0.0, 0.0], [0.0, np.nan]])
    for mask in (np.zeros(2, dtype=bool), np.ones(3, dtype=bool), [True, False]):
        with pytest.raises(lw.errors.InputError, match="reset_mask"):
            envs.reset(options={"reset_mask": mask})
    with pytest.raises(lw.errors.InputError, match="render_mode"):
        lg.HopperVectorEnv(1, render_mode="human")
    with pytest.raises(lw.errors.InputError, match="num_envs"):
        lg.HopperVectorEnv(0)


@pytest.mark.parametrize(
    ("method", "returned", "words"),
    [
        (
            "start",
            lambda envs, rows, draws: (draws[:, :1], draws[:, 2:]),
            r"start\(\) returned configurations of shape",
        ),
        ("start", lambda envs, rows, draws: draws, r"needs a pair \(q, v\)"),
        (
            "commands",
            lambda envs, actions: actions[:, :1],
            r"commands\(\) returned an array of shape \(3, 1\), needs \(3, 2\)",
        ),
        ("observe", lambda envs: envs.robots.q, r"observe\(\) returned an array of shape \(3, 2\), needs \(3, 4\)"),
        ("reward", lambda envs, actions: np.ones(3), "needs its terms by name"),
        ("reward", lambda envs, actions: {"slow": 1.0}, r"returned 'slow' of shape \(\), needs \(3,\)"),
        ("failed", lambda envs: False, r"failed\(\) returned an array of shape \(\), needs \(3,\)"),
    ],
)
def test_arrays_that_an_environment_returns_are_checked(method: str, returned: Any, words: str) -> None:
    envs = type("Wrong", (PendulumVectorEnv,), {method: returned})(3)
    with pytest.raises(lw.errors.InputError, match=words):
        envs.reset(seed=0)
        envs.step(np.zeros((3, 2)))


def test_cassie_says_which_file_it_needs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("LINKWORK_MODELS", raising=False)
    with pytest.raises(lw.errors.InputError, match="LINKWORK_MODELS"):
        lg.CassieStandVectorEnv(1)
    with pytest.raises(lw.errors.InputError, match=r"no file .*cassie\.xml"):
        lg.CassieStandVectorEnv(1, model=tmp_path / "cassie.xml")


def test_gymnasium_is_asked_for_when_it_is_needed() -> None:
    """`import linkwork` does without it, and `lw.gym` says what to install."""
    text = """
import sys
import linkwork as lw
assert not {"gymnasium", "torch", "jax"} & set(sys.modules)
sys.modules["gymnasium"] = None
try:
    lw.gym
except lw.errors.UnsupportedFeature as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert "pip install 'linkwork[gym]'" in done.stdout, done.stderr


class Kneeling(lg.VectorEnv):
    """MuJoCo's humanoid at its keyframes, under random torques; environments count steps that are not solved."""

    action_names = ("all",)
    observation_names = ("height",)

    def start(self, rows: Any, draws: Any) -> tuple[Any, Any]:
        names = [name for name in self.robot.poses if name != "qpos0"]
        q = np.array([self.robot.poses[names[k % len(names)]] for k in rows])
        return q, np.zeros((len(rows), self.robot.nv))

    def commands(self, actions: Any) -> Any:
        return np.repeat(actions, len(self.robot.actuators), axis=1)

    def observe(self) -> Any:
        return self.robots.q[:, 2:3]

    def reward(self, actions: Any) -> dict[str, Any]:
        return {"alive": np.ones(self.num_envs)}

    def failed(self) -> Any:
        return np.zeros(self.num_envs, dtype=bool)


def test_a_humanoid_at_its_keyframes_does_not_run_away_with_other_masses() -> None:
    """Thirty iterations, masses and friction of each robot its own: the steps are those of all others."""
    robot = lw.load(scene_file("humanoid/humanoid.xml"))
    env = Kneeling(robot, 6, dt=5e-3, randomize={"mass": (0.8, 1.2), "contact_friction": (0.5, 1.5)})
    assert env.robots.stepper.reduced
    env.reset(seed=0)
    for _ in range(40):
        env.step(np.random.default_rng(0).uniform(-1, 1, (6, 1)))
    assert env.robots.finite.all()
    assert np.abs(env.robots.v).max() < 60
    assert env.unsolved_steps.shape == (6,)
    assert env.robots.contacts is not None
    assert (env.unsolved_steps >= env.robots.contacts.fallback).all()


# Draws and noise -----------------------------------------------------------------------------------


def test_draws_have_the_distribution_that_they_say() -> None:
    u = (np.arange(20_000) + 0.5) / 20_000
    assert lg.Draw(1.0, 3.0)(u).mean() == pytest.approx(2.0)
    logarithms = np.log(lg.Draw(0.1, 10.0, "loguniform")(u))
    assert logarithms.mean() == pytest.approx(0.0, abs=1e-6)
    assert logarithms.std() == pytest.approx(np.log(100) / np.sqrt(12), rel=1e-4)
    normal = lg.Draw(-2.0, 2.0, "normal", add=True)(u)
    assert normal.std() == pytest.approx(0.8796, rel=1e-3)  # of a normal distribution cut off at two deviations
    assert lg.Draw(0.0, 5.0, lambda p: p**2)(u).mean() == pytest.approx(1 / 3, rel=1e-4)


def test_centers_of_mass_move_by_meters() -> None:
    robot = pendulum()
    made = lg.Randomization(robot, {"com": lg.Draw(-0.01, 0.01, add=True), "mass": (2.0, 2.0)})
    u = np.random.default_rng(0).random((5, made.draws))
    found = made(u)
    bodies = len(robot.inertias)
    assert made.draws == 3 * bodies + bodies
    np.testing.assert_allclose(found["com"] - made.values["com"], (0.02 * u[:, : 3 * bodies] - 0.01).reshape(5, -1, 3))
    np.testing.assert_allclose(found["mass"], 2 * np.broadcast_to(made.values["mass"], (5, bodies)))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: lg.Draw(2.0, 1.0), "the first not greater"),
        (lambda: lg.Draw(-1.0, 1.0), "add=True"),
        (lambda: lg.Draw(0.0, 1.0, "loguniform"), "> 0"),
        (lambda: lg.Draw(0.0, 1.0, "cauchy"), "no distribution 'cauchy'"),  # type: ignore[arg-type]
    ],
)
def test_a_draw_that_makes_no_sense_is_an_error(make: Any, said: str) -> None:
    with pytest.raises(lw.errors.InputError, match=said):
        make()


def test_observations_have_the_noise_that_is_declared() -> None:
    plain, noisy = PendulumVectorEnv(64), PendulumVectorEnv(64, observation_noise=0.1)
    first = [envs.reset(seed=3)[0] for envs in (plain, noisy)]
    noise = first[1] - first[0]
    assert noise.std() == pytest.approx(0.1, rel=0.3) and abs(noise.mean()) < 0.05
    name = plain.observation_names[0]
    one = PendulumVectorEnv(64, observation_noise={name: 0.1}).reset(seed=3)[0] - first[0]
    assert np.abs(one[:, 0]).max() > 0 and not one[:, 1:].any()
    with pytest.raises(lw.errors.InputError, match="no observation 'nothing'"):
        PendulumVectorEnv(2, observation_noise={"nothing": 1.0})
