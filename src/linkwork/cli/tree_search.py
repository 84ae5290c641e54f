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
    """A line on standard error that names the candidate."""
    if not wanted:
        yield None
        return
    with Console(stderr=True).status(f"searching the best tree of {printable(name)}") as status:
        yield lambda what, counted, fewest: status.update(
            f"{plural(counted, 'candidate')} counted, {fewest} operations so far; now {printable(what)}"
        )


def as_json(file: Path, optimized: Optimized) -> dict[str, Any]:
    """The result for JSON; keys are explained in docs/reference/cli.md."""
    return {
        "linkwork": lw.__version__,
        "file": str(file),
        "name": optimized.original.name,
        "before": {**asdict(optimized.before), **_sizes(optimized.original)},
        "after": {**asdict(optimized.after), **_sizes(optimized.robot)},
        "saved": optimized.saved,
        "changes": list(optimized.changes),
        "counted": optimized.counted,
        "complete": optimized.complete,
        "seconds": optimized.seconds,
    }


def _sizes(robot: lw.Mechanism) -> dict[str, int]:
    return {"nv": robot.nv, "nc": robot.nc, "bodies": len(robot.joints)}


def draw_optimized(console: Console, optimized: Optimized) -> None:
    """All of ``linkwork optimize``."""
    before, after = optimized.before, optimized.after
    console.print(
        Text(printable(optimized.original.name), "bold"),
        Text(f"{before.operations} -> {after.operations} operations, {100 * optimized.saved:.1f} % saved"),
    )
    sizes = [_sizes(optimized.original), _sizes(optimized.robot)]
    records(
        console,
        [
            {
                "method": f"{before.method} -> {after.method}",
                **{name: f"{sizes[0][name]} -> {sizes[1][name]}" for name in sizes[0]},
                "counted": f"{plural(optimized.counted, 'candidate')} in {optimized.seconds:.1f} s",
            }
        ],
    )
    heading(console, "Changes")
    for change in optimized.changes or ("none: no candidate has fewer operations",):
        item(console, change)
    if not optimized.complete:
        heading(console, "Notes", "cyan")
        item(console, "time was up before all candidates were counted: --seconds gives more")
