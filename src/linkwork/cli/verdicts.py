"""What ``linkwork check`` makes of a file: whether it passed, why not, and how to say it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from linkwork.cli.facts import Facts
from linkwork.cli.finding import counted
from linkwork.cli.looking import Look, look, placed
from linkwork.cli.terminal import printable
from linkwork.errors import LinkworkError, ModelError


def judge(file: Path, how: Look, *, strict: bool) -> Verdict:
    """Load a file and close its loops."""
    try:
        return Verdict(str(file), strict, look(file, how))
    except LinkworkError as error:
        return Verdict(str(file), strict, None, error)


@dataclass(frozen=True)
class Verdict:
    """What came of checking one file."""

    file: str
    strict: bool
    facts: Facts | None
    error: LinkworkError | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings, but the one of loops that do not close, which is why it failed."""
        if self.facts is None:
            return ()
        return tuple(w for w in self.facts.warnings if w != self.facts.pose.failure)

    @property
    def failure(self) -> str | None:
        """Why the file failed, if it did."""
        if self.error is not None:
            return placed(Path(self.file), self.error)
        if self.facts is not None and self.facts.pose.failure is not None:
            return printable(f"{self.file}: {self.facts.pose.failure}")
        return None

    @property
    def ok(self) -> bool:
        """Whether the file passed."""
        return self.failure is None and not (self.strict and self.warnings)

    def draw(self, console: Console) -> None:
        """Print it for people."""
        verdict = Text("OK   ", "bold green") if self.ok else Text("FAIL ", "bold red")
        console.print(verdict + Text(self.failure or printable(f"{self.file}: {self._summary()}")), overflow="fold")
        for warning in self.warnings:
            console.print(Text("     warning: ", "yellow") + Text(printable(warning)), overflow="fold")

    def _summary(self) -> str:
        facts = self.facts
        assert facts is not None
        parts = [counted(facts.joints, "joint"), counted(facts.dof, "degree of freedom", "degrees of freedom")]
        text = ", ".join((f"'{facts.name}'", *parts))
        if not facts.constraints:
            return text
        text += f", {counted(len(facts.constraints), 'constraint')}"
        if not facts.mobility.closed:
            return f"{text}, open by {facts.pose.gap:.2g} at pose '{facts.pose.start}'"
        how = "assembled near" if facts.pose.assembled else "closed at"
        return f"{text} {how} pose '{facts.pose.start}'"

    def as_json(self) -> dict[str, Any]:
        """Print it for scripts."""
        place = self.error if isinstance(self.error, ModelError) else None
        kind = type(self.error).__name__ if self.error is not None else "AssemblyError"
        return {
            "file": self.file,
            "ok": self.ok,
            "name": None if self.facts is None else self.facts.name,
            "dof": None if self.facts is None else self.facts.dof,
            "error": None
            if self.failure is None
            else {
                "type": kind,
                "message": self.failure,
                "line": None if place is None else place.line,
                "element": None if place is None else place.element,
            },
            "warnings": list(self.warnings),
            "notes": [] if self.facts is None else list(self.facts.notes),
        }
