# SPDX-License-Identifier: BSD-3-Clause
"""The result of ``linkwork check`` on a file: whether it passed, and why not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from linkwork.cli.loading import ModelRequest, analyze_file, located_message
from linkwork.cli.report import ModelReport
from linkwork.cli.terminal import printable
from linkwork.errors import LinkworkError, ModelError
from linkwork.inputs import plural


def check_file(file: Path, request: ModelRequest, *, strict: bool) -> CheckResult:
    """Load a file and close its loops."""
    try:
        return CheckResult(str(file), strict, analyze_file(file, request))
    except LinkworkError as error:
        return CheckResult(str(file), strict, None, error)


@dataclass(frozen=True)
class CheckResult:
    """The result of checking one file."""

    file: str
    strict: bool
    report: ModelReport | None
    error: LinkworkError | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings, without the one of loops that do not close, which is the failure."""
        if self.report is None:
            return ()
        return tuple(w for w in self.report.warnings if w != self.report.pose.failure)

    @property
    def failure(self) -> str | None:
        """Why the file failed, if it did."""
        if self.error is not None:
            return located_message(Path(self.file), self.error)
        if self.report is not None and self.report.pose.failure is not None:
            return printable(f"{self.file}: {self.report.pose.failure}")
        return None

    @property
    def ok(self) -> bool:
        """Whether the file passed."""
        return self.failure is None and not (self.strict and self.warnings)

    def draw(self, console: Console) -> None:
        """Print it."""
        status = Text("OK   ", "bold green") if self.ok else Text("FAIL ", "bold red")
        console.print(status + Text(self.failure or printable(f"{self.file}: {self._summary()}")), overflow="fold")
        for warning in self.warnings:
            console.print(Text("     warning: ", "yellow") + Text(printable(warning)), overflow="fold")

    def _summary(self) -> str:
        report = self.report
        assert report is not None
        parts = [plural(report.joints, "joint"), plural(report.dof, "degree of freedom", "degrees of freedom")]
        text = ", ".join((f"'{report.name}'", *parts))
        if not report.constraints:
            return text
        text += f", {plural(len(report.constraints), 'constraint')}"
        if not report.mobility.closed:
            return f"{text}, open by {report.pose.gap:.2g} at pose '{report.pose.start}'"
        how = "assembled near" if report.pose.assembled else "closed at"
        return f"{text} {how} pose '{report.pose.start}'"

    def as_json(self) -> dict[str, Any]:
        """The report for JSON; keys are explained in docs/reference/cli.md."""
        place = self.error if isinstance(self.error, ModelError) else None
        kind = type(self.error).__name__ if self.error is not None else "AssemblyError"
        return {
            "file": self.file,
            "ok": self.ok,
            "name": None if self.report is None else self.report.name,
            "dof": None if self.report is None else self.report.dof,
            "error": None
            if self.failure is None
            else {
                "type": kind,
                "message": self.failure,
                "line": None if place is None else place.line,
                "element": None if place is None else place.element,
            },
            "warnings": list(self.warnings),
            "notes": [] if self.report is None else list(self.report.notes),
        }
