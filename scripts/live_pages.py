# SPDX-License-Identifier: BSD-3-Clause
"""Live pages of the site, a hook of mkdocs (see mkdocs.yml): mechanisms that run, made anew with the site.

A link to ``live/NAME.html`` with the class ``live`` becomes a frame with that page, and the link below it. Cassie and
Digit are there where their files are (``LINKWORK_MODELS``); elsewhere their frames are left out.
"""

from __future__ import annotations

import os
import re
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from mkdocs.structure.files import File, Files

import linkwork as lw
from linkwork import zoo

FRAME = re.compile(r'<p><a class="live" href="((?:\.\./)*live/[\w-]+\.html)">(.*?)</a></p>')
ABSENT = re.compile(r"^\[[^\]]*\]\((?:\.\./)*live/([\w-]+)\.html\)\{: \.live \}$", re.M)
MODELS = Path(os.environ.get("LINKWORK_MODELS", Path(__file__).resolve().parents[2] / "shared" / "models"))


def first_steps() -> lw.Mechanism:
    """The four-bar of the first page."""
    build = lw.Builder("four-bar")
    for name, length in {"crank": 0.5, "coupler": 1.2, "rocker": 0.9}.items():
        build.body(name, lw.Inertia.rod(1.0, (0, 0, 0), (length, 0, 0)))
    build.joint("motor", lw.joints.Revolute("y"), "world", "crank", actuated=True)
    build.joint("knee", lw.joints.Revolute("y"), "crank", "coupler", at=(0.5, 0, 0))
    build.joint("hip", lw.joints.Revolute("y"), "world", "rocker", at=(1, 0, 0))
    build.joint("ankle", lw.joints.Revolute("y"), "coupler", "rocker", at=(1.2, 0, 0), child_at=(0.9, 0, 0))
    return build.build()


def _saved(robot: lw.Mechanism, path: Path, **how: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of dry friction, which the page says
        robot.save_html(path, live=True, **how)


def _holding(robot: lw.Mechanism, q: Any, name: str, count: int) -> dict[str, tuple[str, float]]:
    """Position servos that hold joints where they are."""
    return {f"{name}{k}": ("position", float(q[robot.q_index(f"{name}{k}")])) for k in range(count)}


def _delta(path: Path) -> None:
    robot = zoo.delta()
    q = robot.poses.get("assembled", robot.neutral())
    _saved(robot, path, q=q, drive=_holding(robot, q, "arm", 3))


def _stewart(path: Path) -> None:
    robot = zoo.stewart()
    q = robot.poses["assembled"]
    _saved(robot, path, q=q, drive=_holding(robot, q, "leg", 6))


def _engine(path: Path) -> None:
    """The engine of a tutorial, without gas; its crank turns slowly enough to be seen."""
    build = lw.Builder("engine")
    build.body("crank", lw.Inertia(1.2, (0.01, 0, 0), np.diag([2e-3, 4e-3, 4e-3])))
    build.body("rod", lw.Inertia.rod(0.5, (0, 0, 0), (0.13, 0, 0)))
    build.body("piston", lw.Inertia.sphere(0.4, 0.04))
    build.shape("piston", lw.shapes.Box((0.05, 0.06, 0.06)))
    build.joint("main bearing", lw.joints.Revolute("y"), "world", "crank", actuated=True)
    build.joint("crank pin", lw.joints.Revolute("y"), "crank", "rod", at=(0.04, 0, 0))
    build.joint("liner", lw.joints.Prismatic("x"), "world", "piston")
    build.joint("wrist pin", lw.joints.Revolute("y"), "rod", "piston", at=(0.13, 0, 0), cut=True)
    robot = build.build()
    _saved(robot, path, q=robot.assemble(), drive={"main bearing": ("velocity", 6.0)})


def _cradle(path: Path) -> None:
    robot = zoo.newtons_cradle()
    _saved(robot, path, q=robot.poses["raised"])


PAGES: dict[str, Callable[[Path], None]] = {
    "first_steps": lambda path: _saved(first_steps(), path, q=None, drive={"motor": ("velocity", 2.0)}),
    "pendulum": lambda path: _saved(zoo.pendulum(2), path, q=[2.0, 0.5]),
    "four_bar": lambda path: _saved(zoo.four_bar(), path, drive={"A": ("velocity", 3.0)}),
    "slider_crank": lambda path: _saved(zoo.slider_crank(), path, drive={"A": ("velocity", 4.0)}),
    "five_bar": lambda path: _saved(zoo.five_bar(), path),
    "four_bar_cart_pole": lambda path: _saved(zoo.four_bar_cart_pole(), path),
    "watt": lambda path: _saved(zoo.watt(), path),
    "jansen": lambda path: _saved(zoo.jansen(), path, drive={"O": ("velocity", 4.0)}),
    "stewart": _stewart,
    "delta": _delta,
    "belt_chain": lambda path: _saved(zoo.belt_chain(6), path),
    "single_loop": lambda path: _saved(zoo.single_loop(12, floating=False), path),
    "geared_chain": lambda path: _saved(zoo.geared_chain(4), path),
    "chain_of_loops": lambda path: _saved(zoo.chain_of_loops(3, floating=False), path),
    "star_of_loops": lambda path: _saved(zoo.star_of_loops(3, floating=False), path),
    "coupled_loops": lambda path: _saved(zoo.coupled_loops(3, floating=False), path),
    "ladder": lambda path: _saved(zoo.ladder(3), path),
    "ratchet": lambda path: _saved(zoo.ratchet(), path, drive={"wheel": ("velocity", 1.0)}),
    "small_humanoid": lambda path: _saved(zoo.small_humanoid(), path),
    "engine": _engine,
    "sliding_box": lambda path: _saved(zoo.sliding_box(), path),
    "boxes": lambda path: _saved(zoo.boxes(5), path),
    "dominoes": lambda path: _saved(zoo.dominoes(8), path, speed=0.5),
    "newtons_cradle": _cradle,
    "rattleback": lambda path: _saved(zoo.rattleback(), path, v=[0.0, 0.0, 0.0, 0.0, 0.0, -3.0]),
    "hand_and_cube": lambda path: _saved(zoo.hand_and_cube(), path),
    "ball_on_stewart": lambda path: _saved(zoo.ball_on_stewart(), path),
}


def _cassie(path: Path) -> None:
    _saved(lw.load(MODELS / FILES["cassie"], contacts=False), path)


def _digit(path: Path) -> None:
    _saved(lw.load(MODELS / FILES["digit"], contacts=False), path)


def _standing(robot: lw.Mechanism, path: Path) -> None:
    """On its feet, motors holding the joints where they are."""
    q = robot.poses["assembled"]
    motors = {a.joint for a in robot.actuators} or {joint.name for joint in robot.joints if joint.actuated}
    drive = {name: ("position", float(q[robot.q_index(name)])) for name in sorted(motors)}
    _saved(robot, path, q=q, drive=drive)


FILES = {"cassie": "cassie/cassie_nomesh.xml", "digit": "digit/digit-v3_nomesh.xml"}
OF_FILES: dict[str, tuple[str, Callable[[Path], None]]] = {
    "cassie": ("cassie", _cassie),
    "digit": ("digit", _digit),
    "cassie_on_ground": (
        "cassie",
        lambda path: _standing(zoo.cassie_on_ground(lw.load(MODELS / FILES["cassie"])), path),
    ),
    "digit_on_ground": ("digit", lambda path: _standing(zoo.digit_on_ground(lw.load(MODELS / FILES["digit"])), path)),
}
"""Pages of robots of model files, and which file they need."""


def available() -> dict[str, Callable[[Path], None]]:
    """All pages that can be made here, by name."""
    of_files = {name: save for name, (file, save) in OF_FILES.items() if (MODELS / FILES[file]).is_file()}
    return {**PAGES, **of_files}


def on_files(files: Files, config: Any) -> Files:
    """Called by mkdocs with the files of the site: adds the live pages."""
    with tempfile.TemporaryDirectory() as folder:
        for name, save in available().items():
            path = Path(folder) / f"{name}.html"
            save(path)
            files.append(File.generated(config, f"live/{name}.html", content=path.read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by mkdocs with the text of each page: links to live pages that are not made here are left out."""
    known = available()
    return ABSENT.sub(lambda link: link[0] if link[1] in known else "", markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Called by mkdocs with each page: links to live pages become frames."""
    return FRAME.sub(_frame, html)


def _frame(link: re.Match[str]) -> str:
    page, words = link[1], link[2]
    title = re.sub("<[^>]*>", "", words)
    frame = f'<iframe src="{page}" title="{title}" loading="lazy"></iframe>'
    return f'<figure class="live">{frame}<figcaption><a href="{page}">{words}</a></figcaption></figure>'
