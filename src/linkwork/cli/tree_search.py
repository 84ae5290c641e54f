# SPDX-License-Identifier: BSD-3-Clause
"""The best spanning tree of a model, for ``linkwork optimize``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rich.console import Console
from rich.text import Text

import linkwork as lw
from linkwork.cli.layout import heading, item, records
from linkwork.cli.loading import ModelRequest, UsageError, check_method, load_moving
from linkwork.cli.options import OptimizeOptions
from linkwork.cli.terminal import printable
from linkwork.dynamics.methods import METHODS
from linkwork.errors import InputError
from linkwork.inputs import plural

if TYPE_CHECKING:
    from linkwork.mechanism.optimization import Progress
    from linkwork.mechanism.optimized import Optimized


def optimize_file(file: Path, request: ModelRequest, options: OptimizeOptions, *, progress: bool) -> Optimized:
    """Load a model and search; progress is shown on a terminal."""
    robot = load_moving(file, request)
    method = check_method(options.method, ["auto", *METHODS])
    with _shown(progress and sys.stderr.isatty(), robot.name) as report:
        try:
            return robot.optimized(
                cast(Any, method),
                root=options.root,
                ends=options.ends,
                keep=options.keep or (),
                drop=cast(Any, options.drop or ()),
                seconds=options.seconds,
                progress=report,
            )
        except InputError as error:
            raise UsageError(str(error)) from None


@contextmanager
def _shown(wanted: bool, name: str) -> Iterator[Progress | None]:
    """A line on standard error that says what is counted."""
    if not wanted:
        yield None
        return
    with Console(stderr=True).status(f"searching the best tree of {printable(name)}") as status:
        yield lambda what, counted, fewest: status.update(
            f"{plural(counted, 'candidate')} counted, {fewest} operations so far; now {printable(what)}"
        )


def as_json(file: Path, found: Optimized) -> dict[str, Any]:
    """The result for JSON; keys are explained in docs/reference/cli.md."""
    return {
        "linkwork": lw.__version__,
        "file": str(file),
        "name": found.original.name,
        "before": {**asdict(found.before), **_sizes(found.original)},
        "after": {**asdict(found.after), **_sizes(found.robot)},
        "saved": found.saved,
        "changes": list(found.changes),
        "counted": found.counted,
        "complete": found.complete,
        "seconds": found.seconds,
    }


def _sizes(robot: lw.Mechanism) -> dict[str, int]:
    return {"nv": robot.nv, "nc": robot.nc, "bodies": len(robot.joints)}


def draw_optimized(console: Console, found: Optimized) -> None:
    """All of ``linkwork optimize``."""
    before, after = found.before, found.after
    console.print(
        Text(printable(found.original.name), "bold"),
        Text(f"{before.operations} -> {after.operations} operations, {100 * found.saved:.1f} % saved"),
    )
    sizes = [_sizes(found.original), _sizes(found.robot)]
    records(
        console,
        [
            {
                "method": f"{before.method} -> {after.method}",
                **{name: f"{sizes[0][name]} -> {sizes[1][name]}" for name in sizes[0]},
                "counted": f"{plural(found.counted, 'candidate')} in {found.seconds:.1f} s",
            }
        ],
    )
    heading(console, "Changes")
    for change in found.changes or ("none: no candidate has fewer operations",):
        item(console, change)
    if not found.complete:
        heading(console, "Notes", "cyan")
        item(console, "time was up before all candidates were counted: --seconds gives more")
