# SPDX-License-Identifier: BSD-3-Clause
"""Pages about algorithms, constraints and speed: their code runs, nothing is missing, and their numbers are current."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork.dynamics import delassus, forward, inverse, operational
from linkwork.dynamics import impact as impulse
from linkwork.simulation.stepper import INTEGRATORS
from linkwork_benchmarks.reflow import reflowed
from linkwork_benchmarks.scenes import LQR_TABLE
from tests.support import REPOSITORY

ROOT = REPOSITORY
DOCS = ROOT / "docs"
ALGORITHMS = sorted((DOCS / "concepts" / "algorithms").glob("*.md"))
CONSTRAINTS = DOCS / "how-to" / "constraints.md"
PERFORMANCE = DOCS / "internals" / "performance.md"
PAGES = [*ALGORITHMS, CONSTRAINTS, PERFORMANCE]

sys.path.insert(0, str(ROOT / "scripts"))

algorithm_tables, constraint_pictures, plan_pictures = map(
    import_module, ("algorithm_tables", "constraint_pictures", "plan_pictures")
)

MADE_BY = {"algorithms": plan_pictures.PICTURES, "constraints": constraint_pictures.PICTURES}
"""Folders of pictures, and what draws them."""


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def block(page: Path, name: str) -> str:
    """What a page has between two comments."""
    found = re.search(rf"<!-- {name} -->\n(.*?)\n<!-- /{name} -->", text_of(page), re.DOTALL)
    assert found is not None, f"{page.name} has no place for {name}"
    return found.group(1)


def sections(page: Path) -> dict[str, str]:
    """Text below each heading of the third level."""
    parts = re.split(r"^(#{2,3}) (.*)$", text_of(page), flags=re.MULTILINE)[1:]
    return {title: body for level, title, body in zip(*[iter(parts)] * 3, strict=True) if level == "###"}


# Code -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_runs(page: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", text_of(page), re.DOTALL)
    assert blocks
    exec(compile("\n".join(blocks), page.name, "exec"), {})


# Nothing is missing -----------------------------------------------------------------------------------------


def constraint_names() -> list[str]:
    """Every constraint that users can name."""
    return [name for name in lw.constraints.__all__ if name != "Constraint"]


@pytest.mark.parametrize("name", constraint_names())
def test_constraint_has_a_section_and_a_picture(name: str) -> None:
    section = sections(CONSTRAINTS)[name]
    assert f"(../pictures/constraints/{name}.svg)" in section
    assert f"lw.constraints.{name}(" in section
    for word in ("| row |", "**Force**", "**Leaves free**", "**Mind**"):
        assert word in section


@pytest.mark.parametrize("name", constraint_names())
def test_rows_of_a_section_are_those_of_the_constraint(name: str) -> None:
    """The one-line example makes a robot; rows that the table numbers are as many as it has."""
    section = sections(CONSTRAINTS)[name]
    line = re.findall(r"```python\n(.*?)```", section, re.DOTALL)[0]
    free = lw.Builder("ball").body("ball", lw.Inertia.sphere(2.0, 0.1)).joint("free", lw.joints.Free(), "world", "ball")
    robot = eval(line, {"lw": lw, "np": np, "ball": free.build(), "chain": lw.zoo.serial_chain(4)})
    numbered = re.findall(r"^\| (\d[\d–, ]*) \|", section, re.MULTILINE)
    if numbered:
        last = int(re.findall(r"\d+", numbered[-1])[-1])
        assert robot.nc == last


def test_algorithm_pages_name_every_method() -> None:
    text = "\n".join(map(text_of, ALGORITHMS))
    rooms = (forward, inverse, operational, delassus, impulse)
    names = {name for room in rooms for name in room.METHODS} | set(INTEGRATORS)
    missing = [name for name in sorted(names) if f'"{name}"' not in text and f"`{name}`" not in text]
    assert not missing


@pytest.mark.parametrize("page", ALGORITHMS, ids=lambda page: page.name)
def test_algorithm_page_has_its_parts(page: Path) -> None:
    text = text_of(page)
    for heading in ("## Papers",) if page.name == "index.md" else ("## The idea", "## When", "## Cost", "## Papers"):
        assert heading in text
    assert page.name == "index.md" or f"/pictures/algorithms/{page.stem}.svg" in text
    assert page.name == "index.md" or f"({page.name}" in text_of(DOCS / "concepts" / "algorithms" / "index.md")


def test_pictures_are_shown_and_drawn() -> None:
    """Every picture in our folders is on a page, every one on a page exists, and a script draws each."""
    shown = set()
    for page in PAGES:
        for target in re.findall(r"!\[[^]]*\]\(([^)]+)\)", text_of(page)):
            picture = (page.parent / target).resolve()
            assert picture.exists(), f"{page.name} shows {target}"
            shown.add(picture)
    for folder, drawn in MADE_BY.items():
        there = set((DOCS / "pictures" / folder).glob("*.svg"))
        assert {picture.stem for picture in there} == set(drawn)
        assert there <= shown


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_resolve(page: Path) -> None:
    for target in re.findall(r"(?<!!)\[[^]]*\]\(([^)]+)\)", text_of(page)):
        name, _, anchor = target.partition("#")
        assert "://" not in target
        if name.startswith("../live/"):
            continue  # made with the site, whose strict build follows it
        other = (page.parent / name).resolve() if name else page
        assert other.exists(), f"{page.name} links to {target}"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", text_of(other), re.MULTILINE)
            slugs = {re.sub(r"[^\w\s-]", "", h.lower()).strip().replace(" ", "-") for h in headings}
            assert anchor in slugs, f"{page.name}: {other.name} has no heading {anchor}"


# Numbers ----------------------------------------------------------------------------------------------------

SLOW = ("motion", "osim")
"""Pages whose counts take seconds."""


@pytest.mark.parametrize("page", [name for name in algorithm_tables.OPERATIONS if name not in SLOW])
def test_operation_counts_are_current(page: str) -> None:
    assert block(DOCS / "concepts" / "algorithms" / f"{page}.md", "operations") == algorithm_tables.OPERATIONS[page]()


COUNTED = {
    ("reference/methods", "pv_early", "Talos (2F+2H)"): r"are held: ([\d ]+) on\s+Talos with four welded limbs",
    ("concepts/algorithms/pv", "pv", "Go1 (4F3)"): r"Go1 on four feet ([\d ]+),",
    ("concepts/algorithms/pv", "pv", "Atlas (2F+2H)"): r"Atlas on feet and hands ([\d ]+),",
    ("concepts/algorithms/pv", "pv", "Talos (2F+2H)"): r"Talos on feet and hands ([\d ]+)\.",
}
"""Operation counts in sentences, by page, method and system."""


@pytest.mark.parametrize(("page", "method", "system"), COUNTED)
def test_counts_in_sentences_are_current(page: str, method: str, system: str) -> None:
    match = re.search(COUNTED[page, method, system], " ".join(text_of(DOCS / f"{page}.md").split()))
    assert match is not None
    dynamics = lw.ForwardDynamics(LQR_TABLE[system].make(), method)
    assert int(match[1].replace(" ", "")) == lw.operation_count(dynamics).total


@pytest.mark.parametrize("page", algorithm_tables.MEASURED)
def test_measured_numbers_are_those_of_the_result_files(page: str) -> None:
    text = algorithm_tables.MEASURED[page]()
    assert block(DOCS / "concepts" / "algorithms" / f"{page}.md", "measured") == reflowed(text)


def words_of(picture: Path) -> list[str]:
    """The words in a picture, whatever fonts and places they have."""
    return sorted(re.findall(r"<text[^>]*>([^<]*)</text>", picture.read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", [name for name in plan_pictures.PICTURES if name != "impact"])
def test_pictures_show_the_plans_as_they_are(name: str, tmp_path: Path) -> None:
    from linkwork.drawing.pictures import write_picture

    write_picture(plan_pictures.PICTURES[name](), tmp_path / f"{name}.svg")
    words = words_of(tmp_path / f"{name}.svg")
    assert words
    assert words == words_of(plan_pictures.FOLDER / f"{name}.svg")


def test_early_rows_all_end_before_the_world() -> None:
    """What the picture of PV-early says: twelve joints of the ladder take out twelve rows."""
    robot = lw.zoo.ladder(2)
    ended = plan_pictures.satisfied(robot)
    left = plan_pictures.rows_left(plan_pictures.pv_early_plan(robot, ()), ended)
    assert sum(ended) == robot.nc
    assert left[1] == 0


# Speed ------------------------------------------------------------------------------------------------------


def test_performance_page_is_that_of_the_result_files(tmp_path: Path) -> None:
    performance = pytest.importorskip("linkwork_benchmarks.performance")
    made = performance.write(out=tmp_path / "performance.md")
    assert text_of(made) == text_of(PERFORMANCE)


def test_performance_page_without_some_results(tmp_path: Path) -> None:
    """A study that was not run has no section."""
    performance = pytest.importorskip("linkwork_benchmarks.performance")
    report = pytest.importorskip("linkwork_benchmarks.report")
    trees = report.read(report.RESULTS)
    (tmp_path / "results").mkdir()
    backends = {"native": 9.0, "specialized": 3.0, "batch": 1.25, "mj_step": 25.0, "mujoco.rollout": 26.0}
    metrics = {"speed.Cassie.ratio": 20.0, **{f"speed.Cassie.us.{backend}": us for backend, us in backends.items()}}
    report.save({**trees, "metrics": metrics}, tmp_path / "results" / "simulation.json")
    page = text_of(performance.write(tmp_path / "results", tmp_path / "page.md"))
    assert "Robots without loops" not in page
    assert "Where linkwork is not faster" not in page
    assert "| Cassie | 9 | 3 | 1.25 | 25 | 20.0× |" in page


def test_performance_page_says_where_it_is_slower() -> None:
    """Every bar that the benchmarks' page says is missed is on it."""

    def items(page: Path) -> list[str]:
        return [" ".join(item.split()) for item in re.split(r"^- |\n\n", text_of(page), flags=re.MULTILINE)]

    missed = [item for item in items(DOCS / "internals" / "benchmarks.md") if "≥" in item and "**missed**" in item]
    page = " ".join(items(PERFORMANCE))
    assert missed
    for item in missed:
        assert item in page
