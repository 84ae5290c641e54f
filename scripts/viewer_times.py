# SPDX-License-Identifier: BSD-3-Clause
"""Time the live viewer in Chromium: ``python scripts/viewer_times.py [FILE ...] [--seconds 6] [--shadows]``.

Prints pictures a second (pages draw on demand: those in which WebGL was called), the median time between them, and the
CPU time of one: the page, and the browser's graphics process, which computes pixels where there is no graphics card.
The camera follows the robot. Without files, Cassie on the ground runs, where its model is (``LINKWORK_MODELS``).
"""

from __future__ import annotations

import argparse
import os
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from page_times import SIZE, SWITCHES, cpu_times

import linkwork as lw
from linkwork import zoo
from linkwork.live import LiveViewer
from linkwork.viewer.window import ROBOT

COUNTED = """() => {
  window.drawn = [];
  for (const name of ["drawElements", "drawArrays", "drawElementsInstanced", "drawArraysInstanced"]) {
    const draw = WebGL2RenderingContext.prototype[name];
    WebGL2RenderingContext.prototype[name] = function (...numbers) {
      const now = document.timeline.currentTime;
      if (drawn[drawn.length - 1] !== now) drawn.push(now);
      return draw.apply(this, numbers);
    };
  }
}"""


def timed(browser: Any, robot: lw.Mechanism, seconds: float, shadows: bool) -> str:
    """A row of the table."""
    with LiveViewer(robot, open_browser=False, quiet=True) as viewer:
        _ = viewer.run.stepper
        viewer.follow = ROBOT
        viewer.stage.ground.cast_shadows(shadows)
        page = browser.new_context(viewport={"width": SIZE[0], "height": SIZE[1]}).new_page()
        faults: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(viewer.url)
        page.wait_for_selector("canvas")
        viewer.play()
        while viewer.run.time < 1.0:
            page.wait_for_timeout(100)
        page.evaluate(COUNTED)
        before, began = cpu_times(os.getpid()), viewer.run.time
        page.wait_for_timeout(1000 * seconds)
        spent = {kind: time - before.get(kind, 0.0) for kind, time in cpu_times(os.getpid()).items()}
        drawn, rate = np.array(page.evaluate("drawn")), (viewer.run.time - began) / seconds
        page.context.close()
    if faults:
        raise RuntimeError(f"{robot.name}: {faults[0]}")
    apart = np.diff(drawn)
    renderer, graphics = (1e3 * spent.get(kind, 0.0) / len(apart) for kind in ("renderer", "gpu-process"))
    numbers = (1e3 / apart.mean(), np.median(apart), renderer, graphics, rate)
    return f"| {robot.name} | " + " | ".join(f"{number:.1f}" for number in numbers) + " |"


def main() -> None:
    """Time robots."""
    from playwright.sync_api import sync_playwright

    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("files", nargs="*", type=Path)
    words.add_argument("--seconds", type=float, default=6.0)
    words.add_argument("--shadows", action="store_true")
    given = words.parse_args()
    warnings.simplefilter("ignore")
    robots = [lw.load(path) for path in given.files]
    model = Path(os.environ.get("LINKWORK_MODELS", "models")) / "cassie" / "cassie_nomesh.xml"
    if not robots and model.exists():
        robots = [zoo.cassie_on_ground(lw.load(model))]
    with sync_playwright() as driver:
        where = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
        print("| robot | pictures a second | median, ms | page, ms | graphics, ms | seconds a second |")
        print("|---|---:|---:|---:|---:|---:|")
        for robot in robots:
            browser = driver.chromium.launch(executable_path=where, headless=True, args=SWITCHES)
            print(timed(browser, robot, given.seconds, given.shadows), flush=True)
            browser.close()


if __name__ == "__main__":
    main()
