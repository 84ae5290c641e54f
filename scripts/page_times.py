# SPDX-License-Identifier: BSD-3-Clause
"""Time live pages in Chromium: ``python scripts/page_times.py [PAGE.html ...] [--seconds 8] [--load]``.

Prints frames a second, the time between frames (median and 95th percentile), and the CPU time of a frame: the steps
(worker), the page's script, and the browser's processes, for pages drawn by WebGL and without. Without files, pages of
a four-bar and of Cassie are written and timed; Cassie is there where its model is (``LINKWORK_MODELS``).
With ``--load`` it prints sizes and the time from opening a page to its first frame, the best and the worst of five.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork import zoo
from linkwork.zoo import ASSEMBLED

SWITCHES = ("--headless=new", "--no-sandbox", "--no-first-run", "--disable-background-networking")
SIZE = (900, 560)
COUNTED = """() => {
  const seen = window.seen = [];
  const again = (now) => { seen.push([now, linkwork.work, linkwork.drawing]); requestAnimationFrame(again); };
  requestAnimationFrame(again);
}"""
FIRST_FRAME = """const again = () => {
  if (window.linkwork && linkwork.state && linkwork.drawing > 0) window.shown = performance.now();
  else requestAnimationFrame(again);
};
requestAnimationFrame(again);"""
TICKS = os.sysconf("SC_CLK_TCK")


def pages(folder: Path) -> list[Path]:
    """Pages of a four-bar, and of Cassie on the ground and in the air."""
    found = [zoo.four_bar().save_html(folder / "four-bar.html", live=True, drive={"A": ("velocity", 3.0)})]
    model = Path(os.environ.get("LINKWORK_MODELS", "models")) / "cassie" / "cassie_nomesh.xml"
    if model.exists():
        found.append(lw.load(model, contacts=False).save_html(folder / "cassie-hanging.html", live=True))
        cassie = zoo.cassie_on_ground(lw.load(model))
        q = cassie.poses[ASSEMBLED]
        motors = sorted({actuator.joint for actuator in cassie.actuators})
        drive = {name: ("position", float(q[cassie.q_index(name)])) for name in motors}
        found.append(cassie.save_html(folder / "cassie-on-the-ground.html", q, live=True, drive=drive))
    return found


def cpu_times(root: int) -> dict[str, float]:
    """Seconds of CPU time of the processes of a browser, by kind, of all that descend from a process."""
    children: dict[int, list[tuple[int, float]]] = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text().rsplit(")", 1)[1].split()
        except OSError:  # it has ended
            continue
        children.setdefault(int(fields[1]), []).append((int(place.parent.name), sum(map(int, fields[11:13])) / TICKS))
    found: dict[str, float] = {}
    left = [root]
    while left:
        for process, seconds in children.get(left.pop(), []):
            left.append(process)
            try:
                words = Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ").split()
            except OSError:
                continue
            kind = next((word[7:] for word in words if word.startswith("--type=")), "browser")
            found[kind] = found.get(kind, 0.0) + seconds
    return found


def timed(browser: Any, path: Path, drawing: str, seconds: float) -> str:
    """A row of the table."""
    page = browser.new_context(viewport={"width": SIZE[0], "height": SIZE[1]}).new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(f"{path.resolve().as_uri()}?draw={drawing}")
    while not page.evaluate("Boolean(window.linkwork && linkwork.state)"):
        page.wait_for_timeout(50)
    page.wait_for_timeout(2000)
    before = cpu_times(os.getpid())
    page.evaluate(COUNTED)
    page.wait_for_timeout(1000 * seconds)
    now, work, script = np.array(page.evaluate("seen")).T
    spent = {kind: time - before.get(kind, 0.0) for kind, time in cpu_times(os.getpid()).items()}
    page.context.close()
    if faults:
        raise RuntimeError(f"{path}: {faults[0]}")
    apart = np.diff(now)
    renderer, graphics = (1e3 * spent.get(kind, 0.0) / len(apart) for kind in ("renderer", "gpu-process"))
    numbers = (1e3 / apart.mean(), np.median(apart), np.quantile(apart, 0.95))
    spans = (np.median(work), np.median(script), renderer, graphics)
    return f"| {path.stem} | {drawing} | " + " | ".join(f"{number:.1f}" for number in (*numbers, *spans)) + " |"


def loaded(browser: Any, path: Path) -> float:
    """Milliseconds from opening a page to its first frame."""
    page = browser.new_context(viewport={"width": SIZE[0], "height": SIZE[1]}).new_page()
    page.add_init_script(FIRST_FRAME)
    page.goto(path.resolve().as_uri())
    while not page.evaluate("Boolean(window.shown)"):
        page.wait_for_timeout(50)
    shown = float(page.evaluate("shown"))
    page.context.close()
    return shown


def main() -> None:
    """Time pages."""
    from playwright.sync_api import sync_playwright

    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("pages", nargs="*", type=Path)
    words.add_argument("--seconds", type=float, default=8.0)
    words.add_argument("--drawing", nargs="+", choices=("canvas", "webgl"), default=["canvas", "webgl"])
    words.add_argument("--load", action="store_true", help="time the first frame alone")
    given = words.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        files = given.pages or pages(Path(folder))
        where = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
        if given.load:
            browser = driver.chromium.launch(executable_path=where, headless=True, args=SWITCHES)
            print("| page | kB | first frame, ms | worst of five, ms |\n|---|---:|---:|---:|")
            for path in files:
                times = sorted(loaded(browser, path) for _ in range(5))
                print(
                    f"| {path.stem} | {path.stat().st_size / 1000:.0f} | {times[0]:.0f} | {times[-1]:.0f} |", flush=True
                )
            browser.close()
            return
        print("| page | drawn by | frames a second | median, ms | 95 %, ms | worker | script | page | graphics |")
        print("|---|---|---:|---:|---:|---:|---:|---:|---:|")
        for path in files:
            for drawing in given.drawing:
                browser = driver.chromium.launch(executable_path=where, headless=True, args=SWITCHES)
                print(timed(browser, path, drawing, given.seconds), flush=True)
                browser.close()


if __name__ == "__main__":
    main()
