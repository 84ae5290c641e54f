# SPDX-License-Identifier: BSD-3-Clause
"""The panel of a trajectory: time, play, step, and quantities of the state."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event, Thread
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.dynamics.motion import Motion

SPEEDS = {"1/20": 0.05, "1/10": 0.1, "1/4": 0.25, "1/2": 0.5, "1": 1.0, "2": 2.0, "4": 4.0}
FRAMES = 30.0
"""Most states sent in a second."""


class Playing:
    """Controls of a trajectory; ``show`` is called with the number of the state that is looked at."""

    def __init__(self, gui: Any, motion: Motion, show: Callable[[int], None]) -> None:
        self.motion, self._show = motion, show
        self._energy = motion.energy["total"]
        self._errors = motion.errors
        self._points = _counts(motion, "touching"), _counts(motion, "sliding")
        self._playing, self._closed = Event(), False
        begin, end = float(motion.times[0]), float(motion.times[-1])
        self.slider = gui.add_slider("time [s]", begin, max(end, begin + 1e-9), _step(motion), begin)
        self.play = gui.add_button("Play", icon="player-play")
        self.steps = gui.add_button_group("step", ("first", "back", "forward", "last"))
        self.speed = gui.add_dropdown("speed", tuple(SPEEDS), initial_value="1")
        self.repeat = gui.add_checkbox("repeat", True)
        self.words = gui.add_markdown("")
        self.slider.on_update(lambda event: self._shown())
        self.play.on_click(lambda event: self.pause() if self._playing.is_set() else self.start())
        self.steps.on_click(lambda event: self.step(self.steps.value))
        self._thread = Thread(target=self._run, name="linkwork-viewer", daemon=True)
        self._thread.start()
        self._shown()

    @property
    def state(self) -> int:
        """The number of the recorded state nearest to the slider."""
        return int(np.abs(self.motion.times - self.slider.value).argmin())

    def go(self, state: int) -> None:
        """Look at a recorded state."""
        self.slider.value = float(self.motion.times[min(max(state, 0), len(self.motion) - 1)])

    def step(self, where: str) -> None:
        """``first``, ``back``, ``forward`` or ``last``."""
        self.pause()
        here = self.state
        self.go({"first": 0, "back": here - 1, "forward": here + 1, "last": len(self.motion) - 1}[where])

    def start(self) -> None:
        """Play from where the slider is, or from the start where that is the end."""
        if self.state == len(self.motion) - 1:
            self.go(0)
        self.play.label, self.play.icon = "Pause", "player-pause"
        self._playing.set()

    def pause(self) -> None:
        """Stop playing."""
        self._playing.clear()
        self.play.label, self.play.icon = "Play", "player-play"

    def close(self) -> None:
        """End the thread that plays."""
        self._closed = True
        self._playing.set()
        self._thread.join(timeout=5.0)

    def _run(self) -> None:
        while not self._closed:
            self._playing.wait()
            self._play()

    def _play(self) -> None:
        """Until paused: the clock says which state to show. Another place or speed starts the clock anew."""
        first, last = float(self.motion.times[0]), float(self.motion.times[-1])
        shown: tuple[float, str] | None = None
        clock, begin = 0.0, first
        while self._playing.is_set() and not self._closed:
            if shown != (self.slider.value, self.speed.value):
                clock, begin = time.monotonic(), self.slider.value
            now = begin + SPEEDS[self.speed.value] * (time.monotonic() - clock)
            if now >= last and not self.repeat.value:
                self.go(len(self.motion) - 1)
                self.pause()
                return
            if now > last:
                clock, begin = time.monotonic(), first
                now = first
            self.slider.value = now
            shown = (self.slider.value, self.speed.value)
            time.sleep(1 / FRAMES)

    def _shown(self) -> None:
        k = self.state
        self._show(k)
        motion = self.motion
        words = [f"state {k} of {len(motion) - 1}, {motion.times[k]:.4f} s", f"energy {self._energy[k]:.5g} J"]
        if self.motion.multipliers.shape[-1]:
            words.append(f"loops open by {self._errors[k]:.1e}")
        touching, sliding = self._points
        if touching is not None and sliding is not None:
            words.append(f"{touching[k]} contact points touch, {sliding[k]} of them slide")
        if self.motion.ended and k == len(self.motion) - 1:
            words.append(f"ended: {self.motion.ended}")
        self.words.content = "  \n".join(words)


def _counts(motion: Motion, part: str) -> npt.NDArray[np.int64] | None:
    """Contact points of which something is true in each state; None without contacts."""
    counts = motion._contacts(part)
    return np.sum([one.sum(axis=-1) for one in counts.values()], axis=0) if counts else None


def _step(motion: Motion) -> float:
    """Of the slider: the least time between two states, or a thousandth of all."""
    whole = float(motion.times[-1] - motion.times[0])
    least = float(np.diff(motion.times).min(initial=np.inf))
    return max(min(least, whole / 100), whole / 1e5, 1e-9)
