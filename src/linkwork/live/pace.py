# SPDX-License-Identifier: BSD-3-Clause
"""The thread that makes as many steps of a run as time has passed, and has them shown."""

from __future__ import annotations

import atexit
import time
from collections import deque
from collections.abc import Callable
from threading import Event, RLock, Thread

from linkwork.errors import LinkworkError
from linkwork.inputs import above_zero
from linkwork.live.run import LiveRun

FRAMES = 30.0
"""States shown in a second."""
CHUNK = 5e-3
"""Seconds of computing between two looks at the clock, about: a hand that moves or a button waits no longer."""
MEASURED = 1.0
"""Seconds over which the rate is measured."""


class Pace:
    """Steps at the pace of a clock, while it plays.

    Args:
        run: The simulation. Others change it within `lock`.
        show: Called after the steps of each frame, and of single ones.
    """

    def __init__(self, run: LiveRun, show: Callable[[], None]) -> None:
        self.run, self._show = run, show
        self.lock = RLock()
        """Held while steps are made."""
        self.speed = 1.0
        """Requested seconds of simulation in one second."""
        self.error = ""
        """Why the run has stopped, if an error did it."""
        self._playing, self._closed = Event(), False
        self._seen: deque[tuple[float, float]] = deque()
        self._chunk = 1
        self._thread = Thread(target=self._work, name="linkwork-live", daemon=True)
        self._thread.start()
        atexit.register(self._end)

    # Playing ------------------------------------------------------------------------------------------------------

    @property
    def playing(self) -> bool:
        """Whether the robot runs."""
        return self._playing.is_set()

    @property
    def rate(self) -> float | None:
        """Seconds of the robot that passed in one second, measured over the last one; None while that is not known."""
        if len(self._seen) < 2:
            return None
        (first, begin), (last, end) = self._seen[0], self._seen[-1]
        return (end - begin) / (last - first) if last - first > 0.3 * MEASURED else None

    def play(self) -> None:
        """Run."""
        self.error = ""
        self._seen.clear()
        self._playing.set()

    def pause(self) -> None:
        """Stop; the frame that is being computed is the last."""
        self._playing.clear()
        with self.lock:
            self._seen.clear()

    def set_speed(self, speed: float) -> None:
        """Change how fast it runs.

        Args:
            speed: Seconds of the robot in one second.
        """
        self.speed = above_zero(speed, "speed")
        self._seen.clear()

    def step(self, steps: int = 1) -> None:
        """Pause, make some steps, and show where they lead.

        Args:
            steps: Number of steps.
        """
        self.pause()
        self.error = ""
        with self.lock:
            self._advance(steps)
        self._show()

    def close(self) -> None:
        """End the thread; a compiler at work in it ends later."""
        self._end(timeout=10.0)

    def _end(self, timeout: float | None = None) -> None:
        """End the thread. A process that exits waits for it: without its threads, a compiler at work crashes."""
        self._closed = True
        self._playing.set()
        self._thread.join(timeout)
        if not self._thread.is_alive():
            atexit.unregister(self._end)

    # The thread ---------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        while not self._closed:
            self._playing.wait()
            self._play()

    def _play(self) -> None:
        """Frames until paused. What there was no time to compute is left out: then the rate is below the speed."""
        with self.lock:
            self._advance(0)  # prepares steps, before the clock starts
        clock, owed = time.monotonic(), 0.0
        while self.playing and not self._closed:
            begin = time.monotonic()
            owed = min(owed + self.speed * (begin - clock), 2 * self.speed / FRAMES) if begin > clock else 0.0
            clock = begin
            left = int(owed / self.run.dt)
            owed -= left * self.run.dt
            while left and self.playing and time.monotonic() < begin + 1 / FRAMES:
                left -= self._some(left)
            now = time.monotonic()
            self._seen.append((now, self.run.time))
            while now - self._seen[0][0] > MEASURED:
                self._seen.popleft()
            self._show()
            time.sleep(max(begin + 1 / FRAMES - time.monotonic(), 1e-4))

    def _some(self, most: int) -> int:
        """Steps that take about `CHUNK`, and how many."""
        steps = min(most, self._chunk)
        began = time.monotonic()
        with self.lock:
            self._advance(steps)
        one = max((time.monotonic() - began) / steps, 1e-6)
        self._chunk = max(1, min(int(CHUNK / one), 2 * self._chunk))
        return steps

    def _advance(self, steps: int) -> None:
        """Make steps; an error pauses the run."""
        try:
            if steps:
                self.run.advance(steps)
            else:
                _ = self.run.stepper
        except LinkworkError as error:
            self.error = str(error)
            self._playing.clear()
