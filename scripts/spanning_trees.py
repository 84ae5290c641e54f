# SPDX-License-Identifier: BSD-3-Clause
"""The tables of docs/how-to/spanning-trees.md: ``python scripts/spanning_trees.py [SECONDS] [NAME...]``.

What `Mechanism.optimized` saves on the zoo's loops, on the systems of **loops** Table II, and on all models with loops
in the folder that ``LINKWORK_MODELS`` names. Each search is given SECONDS (default 10, that of `optimized`). With
names, lines of the mechanisms whose names contain one of them are printed, and nothing is written.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import linkwork as lw
from linkwork.errors import LinkworkError
from linkwork.mechanism.connections import PROPERTIES
from linkwork_benchmarks import tables
from linkwork_benchmarks.scenes import LOOPS_TABLE, MODELS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "how-to" / "spanning-trees.md"

EVERYTHING: dict[str, Any] = {"root": True, "ends": True, "drop": PROPERTIES}

ZOO: dict[str, Callable[[], lw.Mechanism]] = {
    **{f"four_bar('{c}')": lambda c=c: lw.zoo.four_bar(c) for c in ("hinge", "point", "line", "weld", "rod")},
    **{f"{name}()": getattr(lw.zoo, name) for name in ("five_bar", "slider_crank", "watt", "jansen")},
    **{f"{name}()": getattr(lw.zoo, name) for name in ("stewart", "delta", "geared_chain", "belt_chain")},
    "single_loop(8)": lambda: lw.zoo.single_loop(8),
    "chain_of_loops(3)": lambda: lw.zoo.chain_of_loops(3),
    "coupled_loops(3)": lambda: lw.zoo.coupled_loops(3),
    "star_of_loops(4)": lambda: lw.zoo.star_of_loops(4),
    "held_chain(10)": lambda: lw.zoo.held_chain(10),
    "ladder(2)": lambda: lw.zoo.ladder(2),
    "stalk(6, 2)": lambda: lw.zoo.stalk(6, 2),
    "quadruped_standing()": lw.zoo.quadruped_standing,
    "humanoid_standing()": lw.zoo.humanoid_standing,
}
SCENES = {name: LOOPS_TABLE[name].make for name in LOOPS_TABLE}


class Line(NamedTuple):
    """What was won on one mechanism."""

    name: str
    before: int
    methods: str
    after: int
    everything: int
    counted: int
    seconds: float


def files() -> dict[str, Callable[[], lw.Mechanism]]:
    """Models with loops, those without meshes where there are both."""
    found: dict[str, Callable[[], lw.Mechanism]] = {}
    for path in sorted(p for p in MODELS.rglob("*") if p.suffix in (".urdf", ".xml", ".sdf")):
        twin = path.with_name(f"{path.stem}_nomesh{path.suffix}")
        try:
            robot = lw.load(path, inertias="trust")
        except LinkworkError:  # meshes that are not there, features that are refused: tests say which
            continue
        if robot.nc and not twin.exists():
            name = str(path.relative_to(MODELS)).replace("/robot.urdf", "").replace("_nomesh", "")
            found[name] = lambda robot=robot: robot
    return found


def won(name: str, robot: lw.Mechanism, seconds: float) -> Line:
    """A search by default, and one in which everything may change."""
    started = time.process_time()
    by_default = robot.optimized(seconds=seconds)
    taken = time.process_time() - started
    everything = robot.optimized(seconds=seconds, **EVERYTHING)
    before, after = by_default.before, by_default.after
    same = before.method == after.method
    least = min(after.operations, everything.after.operations)
    methods = before.method if same else f"{before.method} → {after.method}"
    return Line(name, before.operations, methods, after.operations, least, by_default.counted, taken)


def lines(made: dict[str, Callable[[], lw.Mechanism]], seconds: float, wanted: list[str]) -> Iterator[Line]:
    """Search the mechanisms that are wanted, and print each line when it is known."""
    for name, make in made.items():
        if not wanted or any(part in name for part in wanted):
            line = won(name, make(), seconds)
            print(*_cells(line), sep="\t", flush=True)
            yield line


def _cells(line: Line) -> list[str]:
    def saved(operations: int) -> str:
        return f"{100 * (1 - operations / line.before):.1f} %"

    return [
        line.name,
        line.methods,
        tables.whole(line.before),
        tables.whole(line.after),
        saved(line.after),
        saved(line.everything),
        str(line.counted),
        f"{line.seconds:.1f}",
    ]


FAMILIES = ("grbda_parallel_chains/explicit", "grbda_parallel_chains/implicit")
"""Files that differ in sizes alone: one row for all."""


def merged(rows: list[list[str]]) -> list[list[str]]:
    """Rows with those of a family as one, from the least to the greatest number."""
    found: list[list[str]] = []
    for family in FAMILIES:
        members = [row for row in rows if row[0].startswith(family)]
        if members:
            columns = [_range([row[k] for row in members]) for k in range(1, len(TITLES))]
            found.append([f"{family}_* ({len(members)} files)", *columns])
    return [row for row in rows if not row[0].startswith(FAMILIES)] + found


def _range(cells: list[str]) -> str:
    def number(cell: str) -> float:
        return float(cell.replace(" ", "").removesuffix("%"))

    if not cells[0][0].isdigit():
        return ", ".join(dict.fromkeys(cells))
    least, most = min(cells, key=number), max(cells, key=number)
    return least if least == most else f"{least} to {most}"


TITLES = ("", "method", "operations", "by default", "saved", "all may change", "candidates", "CPU seconds")


def main() -> None:
    """Make all tables."""
    warnings.simplefilter("ignore")
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    wanted = sys.argv[2:]
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    for place, made in (("zoo", ZOO), ("scenes", SCENES), ("models", files())):
        found = tables.table(TITLES, merged([_cells(line) for line in lines(made, seconds, wanted)]))
        start, end = f"<!-- {place} -->\n", f"<!-- /{place} -->"
        if not wanted and start in text:
            head, rest = text.split(start)
            text = f"{head}{start}{found}\n{end}{rest.split(end)[1]}"
    if not wanted:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
