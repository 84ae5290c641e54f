# SPDX-License-Identifier: BSD-3-Clause
"""The disk cache: its folder, size, last use, and removed entries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.text import Text

import linkwork as lw
from linkwork.cli.terminal import printable
from linkwork.compilers import cache as disk
from linkwork.inputs import plural


@dataclass(frozen=True)
class CacheReport:
    """The state of the cache, and the entries that were removed (None if that was not requested)."""

    folder: str
    limit: int
    entries: Sequence[disk.Entry]
    """The least recently used first."""
    removed: Sequence[disk.Entry] | None

    @classmethod
    def collect(cls, *, clear: bool) -> CacheReport:
        """The report, after all entries are removed if ``clear``."""
        limit = disk.limit()
        removed = disk.clear() if clear else None
        return cls(str(disk.folder()), limit, disk.entries(), removed)

    def as_json(self) -> dict[str, Any]:
        """The report for JSON; keys are explained in docs/reference/cli.md."""
        used = [datetime.fromtimestamp(entry.used, UTC).isoformat(timespec="seconds") for entry in self.entries]
        return {
            "linkwork": lw.__version__,
            "folder": self.folder,
            "limit": self.limit,
            **_sums(self.entries),
            "oldest": used[0] if used else None,
            "newest": used[-1] if used else None,
            "removed": None if self.removed is None else _sums(self.removed),
        }


def _sums(entries: Sequence[disk.Entry]) -> dict[str, int]:
    return {"entries": len(entries), "bytes": sum(entry.size for entry in entries)}


def draw_cache(console: Console, report: CacheReport) -> None:
    """All of ``linkwork cache``."""
    if report.removed is not None:
        console.print(Text(f"removed {_described(report.removed)} from {printable(report.folder)}"), overflow="fold")
        return
    lines = {
        "folder": printable(report.folder),
        "entries": str(len(report.entries)),
        "size": f"{in_bytes(sum(entry.size for entry in report.entries))} of at most {in_bytes(report.limit)}",
    }
    if report.entries:
        lines["oldest"] = f"last used {_local(report.entries[0].used)}"
        lines["newest"] = f"last used {_local(report.entries[-1].used)}"
    for word, text in lines.items():
        console.print(Text(f"  {word:<9}", "dim") + Text(text), overflow="fold")


def _described(entries: Sequence[disk.Entry]) -> str:
    if not entries:
        return "nothing"
    return f"{plural(len(entries), 'entry', 'entries')}, {in_bytes(sum(entry.size for entry in entries))},"


def _local(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


def in_bytes(size: int) -> str:
    """A size with a decimal unit and three digits: ``52.1 MB``."""
    value, units = float(size), ["bytes", "KB", "MB", "GB", "TB"]
    while value >= 999.5 and len(units) > 1:
        value, units = value / 1000, units[1:]
    return f"{value:.3g} {units[0]}"
