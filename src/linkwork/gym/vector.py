# SPDX-License-Identifier: BSD-3-Clause
"""`VectorEnv`: many copies of a robot as one vector environment of Gymnasium, moved on by batched steps.

An environment says where episodes start, what actions command, what is observed, what is rewarded and what ends an
episode, for all rows at once, as arrays. The rest is here: steps, autoreset, seeds, randomized parameters, infos.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode

from linkwork.errors import InputError
from linkwork.gym.delays import ActionDelay, Delay
from linkwork.gym.randomization import Randomization, Ranges
from linkwork.gym.rendering import Camera, Frame
from linkwork.gym.robots import RobotBatch, Rows
from linkwork.inputs import above_zero, among, count, plural, shown
from linkwork.model.model import Model
from linkwork.quantities.arguments import Array
from linkwork.simulation.stepper import Stepper

TOLERANCE, ITERATIONS = 3e-7, 30
"""Of steps with contacts, in parts of about 1 m/s: a hundred times that of `Stepper`. Where random actions drive robots
hard, the last digits take most of the iterations."""

WIDEST = 50.0
"""Observations are clipped to this, plus and minus."""

Mask = npt.NDArray[np.bool_]
"""A truth for each environment."""


class VectorEnv(gymnasium.vector.VectorEnv[Array, Array, Array], ABC):
    """Copies of a robot that act, fall and start anew independently: the base of environments.

    Observations are float32, ``(num_envs, observations)``, clipped to -50 to 50. Actions are from -1 to 1, ``(num_envs,
    actions)``, and clipped to that. Infos have each term of the reward, whose sum it is.

    | ``autoreset_mode`` | an episode that ended                                                                      |
    |--------------------|-------------------------------------------------------------------------------------------|
    | ``NEXT_STEP``      | starts anew in the next step, which ignores its action and rewards nothing                 |
    | ``SAME_STEP``      | starts anew at once; its end is in ``infos["final_obs"]`` and ``infos["final_info"]``      |
    | ``DISABLED``       | waits for ``reset(options={"reset_mask": mask})``; a step before that is an error          |

    Row i of ``reset(seed=s)`` is what one environment with the seed s + i is, however many there are.

    Args:
        robot: The mechanism.
        num_envs: Number of environments.
        dt: Time of a step of the simulation, in seconds.
        steps_per_action: Steps for which an action is held.
        max_episode_steps: Actions after which an episode is truncated; None: it is not.
        autoreset_mode: Treatment of environments whose episode ended, see above.
        randomize: Draws of parameters by name, see `Randomization`; by default all robots are the model.
        observation_noise: Standard deviation of normal noise that is added to observations, drawn anew for each: of
            all, one for each, or by their names; by default there is none.
        action_delay: Seconds after which commands of actions are followed, less than an action or more: a number,
            ``(low, high)`` of a uniform draw, or a `Draw`, for each episode or each action; rounded to steps of ``dt``.
            The first command of an episode counts as given before.
        compile: Whether steps are a program for this robot: two to three times as fast in large batches, after seconds
            to minutes of compiling, once for a machine.
        threads: Threads that share a large batch; by default as many as there are cores.
        render_mode: ``"rgb_array"`` for `render`, or None.
        wrenches: Frames that external wrenches act on, see `wrenches`.
    """

    observation_names: ClassVar[tuple[str, ...]] = ()
    """Name of each number of an observation."""
    action_names: ClassVar[tuple[str, ...]] = ()
    """Name of each number of an action."""
    reward_names: ClassVar[tuple[str, ...]] = ()
    """Terms of the reward, keys of infos."""
    draws: ClassVar[int] = 0
    """Random numbers that `start` takes for each episode."""
    render_modes: ClassVar[tuple[str, ...]] = ("rgb_array",)
    camera: Camera = Camera()
    """Where `render` looks from."""

    def __init__(
        self,
        robot: Model,
        num_envs: int = 1,
        *,
        dt: float = 4e-3,
        steps_per_action: int = 5,
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP,
        randomize: Ranges | None = None,
        observation_noise: float | Sequence[float] | Mapping[str, float] | None = None,
        action_delay: Delay | None = None,
        compile: bool = False,
        threads: int | None = None,
        render_mode: str | None = None,
        wrenches: Sequence[str] = (),
    ) -> None:
        if render_mode is not None and render_mode not in self.render_modes:
            raise InputError(f"no render_mode {render_mode!r}{among(render_mode, self.render_modes)}")
        self.num_envs = n = count(num_envs, "num_envs")
        self.robot, self.render_mode = robot, render_mode
        self.steps_per_action = count(steps_per_action, "steps_per_action")
        self.max_episode_steps = None if max_episode_steps is None else count(max_episode_steps, "max_episode_steps")
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.randomization = Randomization(robot, randomize or {})
        self.observation_noise = self._noise(observation_noise)
        """Standard deviations of the noise of observations."""
        stepper = Stepper(
            robot,
            dt=above_zero(dt, "dt"),
            wrenches=wrenches,
            tolerance=TOLERANCE if robot.contacts else None,
            max_iterations=ITERATIONS if robot.contacts else None,
            parameters=self.randomization.names,
            threads=threads,
        )
        self.robots = RobotBatch(stepper.compile(threads=threads) if compile else stepper, n)
        """States of all robots."""
        self.delay = ActionDelay(action_delay, stepper.dt, self.steps_per_action, n)
        """Delays of commands, in steps: ``envs.delay.late``."""
        self.period = stepper.dt * self.steps_per_action
        """Seconds from one action to the next."""
        self.metadata = {
            "render_modes": list(self.render_modes),
            "render_fps": round(1 / self.period),
            "autoreset_mode": self.autoreset_mode,
        }
        self.single_action_space = gymnasium.spaces.Box(-1.0, 1.0, (len(self.action_names),), np.float32)
        seen = len(self.observation_names)
        self.single_observation_space = gymnasium.spaces.Box(-WIDEST, WIDEST, (seen,), np.float32)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, n)
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, n)
        self.actions: Array = np.zeros((n, len(self.action_names)))
        """The last actions; zero at the start of an episode."""
        self.elapsed: npt.NDArray[np.int64] = np.zeros(n, dtype=np.int64)
        """Actions since the start of each episode."""
        self._generators: list[np.random.Generator] = []
        self._ended = np.zeros(n, dtype=bool)
        self._started = False

    # Definition of an environment ------------------------------------------------------------------------

    @abstractmethod
    def start(self, rows: Rows, draws: Array) -> tuple[Array, Array]:
        """Where episodes start: configurations ``(rows, nq)`` with closed loops, and velocities ``(rows, nv)``.

        Args:
            rows: The environments.
            draws: Random numbers, uniform from 0 to 1, ``(rows, draws)``.
        """

    @abstractmethod
    def commands(self, actions: Array) -> Array:
        """Commands of the robot's actuators, ``(num_envs, actuators)``.

        Args:
            actions: From -1 to 1, ``(num_envs, actions)``.
        """

    @abstractmethod
    def observe(self) -> Array:
        """Observations of the states in `robots`, ``(num_envs, observations)``."""

    @abstractmethod
    def reward(self, actions: Array) -> Mapping[str, Array]:
        """Terms of the reward by name, ``(num_envs,)`` each, after a step.

        Args:
            actions: Those of the step; `actions` has the ones before.
        """

    @abstractmethod
    def failed(self) -> Mask:
        """Which episodes end here, ``(num_envs,)``; those of robots that are not finite do in any case."""

    def wrenches(self) -> Array | None:
        """External wrenches of the step that follows on the frames named, ``(num_envs, frames, 6)``; None: none."""
        return None

    def before_step(self, actions: Array) -> None:
        """Store values of the state before a step that a reward needs.

        Args:
            actions: Those of the step.
        """

    # Gymnasium's interface -------------------------------------------------------------------------------

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Start episodes anew: all, or those of ``options["reset_mask"]``.

        Args:
            seed: Of the first environment, the others have the next numbers; or one for each. None: generators go on.
            options: ``{"reset_mask": mask}``, a boolean array ``(num_envs,)`` with some truth in it.
        """
        mask = self._mask(options)
        rows = np.flatnonzero(mask)
        self._seed(seed, rows)
        if not self._started and len(rows) < self.num_envs:
            raise gymnasium.error.ResetNeeded("reset() all environments first, then some of them by a reset_mask")
        self._start(rows)
        self._started = True
        return self._observed(), {}

    def step(self, actions: npt.ArrayLike) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Observations, rewards, terminations, truncations and infos after one action each.

        Args:
            actions: From -1 to 1, ``(num_envs, actions)``.
        """
        u = self._checked(actions)
        if not self._started:
            raise gymnasium.error.ResetNeeded("call reset() before the first step()")
        anew, mode = self._ended, self.autoreset_mode
        if mode is AutoresetMode.DISABLED and anew.any():
            raise gymnasium.error.ResetNeeded(
                f"episodes of environments {np.flatnonzero(anew).tolist()} have ended: with AutoresetMode.DISABLED "
                "call reset(options={'reset_mask': terminations | truncations}) before the next step"
            )
        live = ~anew
        self.before_step(u)
        rows = np.flatnonzero(live)
        self._redraw(rows)
        commanded: Array | None = self.commands(u)
        if commanded is not None:
            commanded = self._returned("commands", commanded, (self.num_envs, len(self.robot.actuators)))
        for steps, commands in self.delay.parts(commanded):
            self.robots.advance(commands, steps, self.wrenches())
        self.elapsed[rows] += 1
        good = self.robots.finite
        terms = {name: np.where(live & good, x, 0.0) for name, x in self._rewarded(u).items()}
        rewards = np.sum(list(terms.values()), axis=0)
        failed = self._returned("failed", self.failed(), (self.num_envs,), bool)
        terminated = live & (failed | ~good)
        late = np.zeros_like(live) if self.max_episode_steps is None else self.elapsed >= self.max_episode_steps
        truncated = live & late
        self.actions[rows] = u[rows]
        if anew.any():  # the next step after an end
            self._start(np.flatnonzero(anew))
        self._ended = terminated | truncated
        infos = _infos(terms, live)
        seen = self._observed()
        if mode is AutoresetMode.SAME_STEP and self._ended.any():
            ended = self._ended.copy()
            infos = _with_final(seen, terms, ended)
            self._start(np.flatnonzero(ended))
            seen = np.where(ended[:, None], self._observed(), seen)
        return seen, rewards, terminated, truncated, infos

    @property
    def unsolved_steps(self) -> npt.NDArray[np.int64]:
        """Steps of each episode so far whose contacts were not solved, ``(num_envs,)``; zero of robots that are not
        finite. They take energy: see ``robots.contacts.fallback``."""
        contacts = self.robots.contacts
        if contacts is None:
            return np.zeros(self.num_envs, dtype=np.int64)
        return np.where(self.robots.finite, contacts.missed, 0)

    def render(self) -> tuple[Frame, ...] | None:
        """Pictures of all robots, ``(height, width, 3)`` each; None without a render mode."""
        if self.render_mode is None:
            return None
        return tuple(self.camera.picture(self.robot, q, self.caption(k)) for k, q in enumerate(self.robots.q))

    def caption(self, row: int) -> str:
        """Words above the picture of an environment.

        Args:
            row: Which.
        """
        return f"{self.elapsed[row] * self.period:.2f} s"

    # Resets ----------------------------------------------------------------------------------------------

    @property
    def generators(self) -> tuple[np.random.Generator, ...]:
        """The random number generator of each environment."""
        return tuple(self._generators)

    def share_generator(self, row: int, generator: np.random.Generator) -> None:
        """Let an environment draw from a generator that is given.

        Args:
            row: Which.
            generator: From here on.
        """
        if not self._generators:
            self._seed(None, np.arange(self.num_envs))
        self._generators[row] = generator

    def _seed(self, seed: int | Sequence[int | None] | None, rows: Rows) -> None:
        if not self._generators:
            self._generators = [seeding.np_random()[0] for _ in range(self.num_envs)]
        if seed is None:
            return
        seeds = [seed + k for k in range(self.num_envs)] if isinstance(seed, int | np.integer) else list(seed)
        if len(seeds) != self.num_envs:
            raise InputError(f"seed has {plural(len(seeds), 'number')}, needs one, or one for each of {self.num_envs}")
        for k in rows:
            if seeds[k] is not None:
                self._generators[k] = seeding.np_random(int(seeds[k]))[0]
        self._np_random, self._np_random_seed = self._generators[0], seeds[0]

    def _mask(self, options: dict[str, Any] | None) -> Mask:
        mask = (options or {}).get("reset_mask")
        if mask is None:
            return np.ones(self.num_envs, dtype=bool)
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
            raise InputError(f"options['reset_mask'] must be a boolean array of shape ({self.num_envs},)")
        if not mask.any():
            raise InputError("options['reset_mask'] is False everywhere; leave out the reset, or the mask for all")
        return mask

    def _start(self, rows: Rows) -> None:
        """Start episodes with the numbers that their generators draw: first parameters, then the state."""
        split, end = self.randomization.draws, self.randomization.draws + self.draws
        draws = self._drawn(rows, end + self.delay.draws)
        started = self.start(rows, draws[:, split:end])
        if not isinstance(started, tuple) or len(started) != 2:
            raise InputError(f"{type(self).__name__}.start() returned {shown(started)}, needs a pair (q, v)")
        q = self._returned("start", started[0], (len(rows), self.robot.nq), of="configurations")
        v = self._returned("start", started[1], (len(rows), self.robot.nv), of="velocities")
        self.robots.put(rows, q, v, self.randomization(draws[:, :split]))
        self.delay.start(rows, draws[:, end:])
        self.actions[rows], self.elapsed[rows], self._ended[rows] = 0.0, 0, False

    def _redraw(self, rows: Rows) -> None:
        """Draw the parameters that are drawn for each action."""
        if self.randomization.per_action:
            values = self.robots.parameters
            own = {name: values[name][rows] for name in self.randomization.names}
            for name, x in self.randomization.redrawn(self._drawn(rows, self.randomization.draws), own).items():
                values[name][rows] = x
        if self.delay.per_action:
            self.delay.redraw(rows, self._drawn(rows, 1))

    def _drawn(self, rows: Rows, count: int) -> Array:
        """Random numbers from the generators of some environments, ``(rows, count)``."""
        return np.array([self._generators[k].random(count) for k in rows]).reshape(len(rows), count)

    # Arrays ----------------------------------------------------------------------------------------------

    def _noise(self, deviations: float | Sequence[float] | Mapping[str, float] | None) -> Array:
        names = self.observation_names
        if isinstance(deviations, Mapping):
            for name in deviations:
                if name not in names:
                    raise InputError(f"observation_noise: no observation '{name}'{among(name, names)}")
            deviations = [deviations.get(name, 0.0) for name in names]
        try:
            deviation = np.broadcast_to(
                np.asarray(0.0 if deviations is None else deviations, dtype=np.float64), (len(names),)
            )
        except (TypeError, ValueError):
            raise InputError(f"observation_noise is {deviations!r}, needs a number, or {len(names)}") from None
        if not (np.isfinite(deviation).all() and (deviation >= 0).all()):
            raise InputError("observation_noise has standard deviations, which must be finite and >= 0")
        return deviation

    def _returned(self, method: str, x: Any, shape: tuple[int, ...], dtype: type = float, of: str = "") -> Array:
        """An array that a method of the environment returned, if it has the shape that is needed."""
        called = f"{type(self).__name__}.{method}() returned {of or 'an array'}"
        try:
            array: npt.NDArray[Any] = np.asarray(x, dtype=dtype)
        except (TypeError, ValueError):
            raise InputError(f"{called} that is {shown(x)}, needs shape {shape}") from None
        if array.shape != shape:
            raise InputError(f"{called} of shape {array.shape}, needs {shape}")
        return array

    def _rewarded(self, actions: Array) -> dict[str, Array]:
        terms = self.reward(actions)
        if not isinstance(terms, Mapping):
            raise InputError(
                f"{type(self).__name__}.reward() returned {shown(terms)}, needs its terms by name, arrays of shape "
                f"({self.num_envs},): {{'reward_upright': ...}}"
            )
        return {name: self._returned("reward", x, (self.num_envs,), of=f"'{name}'") for name, x in terms.items()}

    def _observed(self) -> Array:
        seen = self._returned("observe", self.observe(), (self.num_envs, len(self.observation_names)))
        if self.observation_noise.any():
            drawn = [generator.standard_normal(seen.shape[1]) for generator in self._generators]
            seen = seen + self.observation_noise * np.array(drawn)
        observation = np.clip(seen, -WIDEST, WIDEST).astype(np.float32)
        observation[np.isnan(observation)] = 0.0  # of robots that are not finite
        return observation

    def _checked(self, actions: npt.ArrayLike) -> Array:
        u = np.asarray(actions, dtype=np.float64)
        if u.shape != self.actions.shape:
            raise InputError(f"actions have shape {u.shape}, need {self.actions.shape}: {', '.join(self.action_names)}")
        if not np.isfinite(u).all():
            row, k = (int(x) for x in np.argwhere(~np.isfinite(u))[0])
            raise InputError(f"action '{self.action_names[k]}' of environment {row} is {u[row, k]}")
        return np.clip(u, -1.0, 1.0)


def _infos(terms: Mapping[str, Array], which: Mask) -> dict[str, Any]:
    """Terms of rewards with masks, as Gymnasium's vector environments have them."""
    if not which.any():
        return {}
    infos: dict[str, Any] = {}
    for name, x in terms.items():
        infos[name], infos[f"_{name}"] = np.where(which, x, 0.0), which.copy()
    return infos


def _with_final(seen: Array, terms: Mapping[str, Array], ended: Mask) -> dict[str, Any]:
    """Infos of a step in which episodes ended and start anew: what was seen and rewarded last has keys of its own."""
    last = np.full(len(seen), None, dtype=object)
    for k in np.flatnonzero(ended):
        last[k] = seen[k].copy()
    final: dict[str, Any] = {"final_obs": last, "_final_obs": ended.copy()}
    final |= {"final_info": _infos(terms, ended), "_final_info": ended.copy()}
    return {**_infos(terms, ~ended), **final}
