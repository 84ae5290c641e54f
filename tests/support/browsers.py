# SPDX-License-Identifier: BSD-3-Clause
"""A real browser for tests of pages, and waiting for what happens in it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

PATIENCE = 60.0
"""Seconds that a browser without a graphics card, on a busy machine, may take to show something."""
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SWITCHES = [
    "--headless=new",
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
    "--disable-background-networking",
    "--no-first-run",
]

PASSIVE = "Unable to preventDefault inside passive event listener"
"""What Chromium says of viser's page where a body is dragged; it has no effect."""


def until(happened: Callable[[], bool], what: str) -> None:
    """Wait for something, not for a time."""
    end = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < end, f"waited {PATIENCE:.0f} s: {what}"
        time.sleep(0.02)


@contextmanager
def chromium() -> Iterator[Any]:
    """The browser; a skipped test where there is none."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on the PATH")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, headless=True, args=SWITCHES)
        yield browser
        browser.close()


class Page:
    """A page of a server, and what went wrong in it."""

    def __init__(self, browser: Any, url: str, size: tuple[int, int] = (900, 500)) -> None:
        self.faults: list[str] = []
        self.context = browser.new_context(viewport={"width": size[0], "height": size[1]})
        self.context.set_default_timeout(1000 * PATIENCE)
        self.page = self.context.new_page()
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.goto(url)
        self.page.wait_for_selector("canvas")
        self.page.add_style_tag(content="[class*=Notifications-root] { display: none }")  # that there is no GPU

    def _said(self, message: Any) -> None:
        if message.type == "error" and PASSIVE not in message.text:
            self.faults.append(message.text)

    def click(self, button: str) -> None:
        """Press a button."""
        self.page.get_by_role("button", name=button, exact=True).click()

    def middle(self) -> tuple[float, float]:
        """Of what is drawn, in pixels."""
        box = self.page.locator("canvas").first.bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
