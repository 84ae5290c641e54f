# SPDX-License-Identifier: BSD-3-Clause
"""Markdown of results: pages, tables, pictures, numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from linkwork_benchmarks.reflow import reflowed


def table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Names on the left, numbers on the right."""
    lines = [f"| {' | '.join(titles)} |", "|---|" + "---:|" * (len(titles) - 1)]
    return "\n".join(lines + [f"| {' | '.join(row)} |" for row in rows])


def image(shown: Mapping[str, str], name: str, text: str) -> list[str]:
    """A plot, if it was made."""
    return [f"![{text}]({shown[name]})"] if name in shown else []


def words(name: str) -> str:
    """A name as one reads it."""
    return name.replace("_", " ")


def time(us: float | None) -> str:
    """Microseconds to three digits."""
    return "–" if us is None else f"{us:.3g}" if us < 1000 else f"{us:.0f}"


def whole(value: float | None) -> str:
    """A count, thousands apart."""
    return "–" if value is None else f"{value:,.0f}".replace(",", " ")


def power(value: float | None) -> str:
    """A power of n."""
    return "–" if value is None else f"{value:.2f}"


def circumstances(results: Mapping[str, Any], *, mujoco: bool = False) -> str:
    """When, where and of what results were measured, in a sentence."""
    machine, versions = results["machine"], results["versions"]
    quick = "**Made by a quick run: the times mean nothing.** " if results["quick"] else ""
    peers = f"Pinocchio {versions['pin']} (PyPI wheel)" + (f", MuJoCo {versions['mujoco']}" if mujoco else "")
    return (
        f"{quick}Run of {results['date'][:10]}, {results['seconds']} s, on {machine['cores']} cores of "
        f"{machine['cpu']}{_instructions(machine)}, Python {versions['python']}, NumPy {versions['numpy']}, llvmlite "
        f"{versions['llvmlite']}, "
        f"{peers}; linkwork at {results['commit'][:10]}{' (modified)' if results['modified'] else ''}."
        f"{reruns(results)}"
    )


def _instructions(machine: Mapping[str, Any]) -> str:
    """The instruction sets of a machine, in brackets; results of before they were kept have none."""
    known = machine.get("instructions", ())
    return f" ({', '.join(name.upper().replace('_', '.') for name in known)})" if known else ""


def reruns(results: Mapping[str, Any]) -> str:
    """Which scenarios were run again later, and when."""
    last: dict[str, Mapping[str, Any]] = {}
    for rerun in results.get("reruns", ()):
        last |= dict.fromkeys(rerun["scenarios"], rerun)
    runs: dict[str, list[str]] = {}
    for scenario, rerun in last.items():
        quick = ", a quick run, whose times mean nothing" if rerun["quick"] else ""
        runs.setdefault(f"{rerun['date'][:10]} at {rerun['commit'][:10]}{quick}", []).append(scenario)
    return "".join(f" Run again on {when}: {_listed(names)}." for when, names in runs.items())


def _listed(names: Sequence[str]) -> str:
    """Names of scenarios; of those of one kind, if there are many, how many."""
    kinds: dict[str, list[str]] = {}
    for name in names:
        kinds.setdefault(name.partition(".")[0], []).append(name)
    few = 3
    return ", ".join(
        ", ".join(found) if len(found) <= few else f"{len(found)} of {kind}" for kind, found in kinds.items()
    )


def write_page(page: Path, sections: Iterable[str]) -> Path:
    """Write a page of Markdown in lines of at most 120 characters; empty sections are left out."""
    text = "\n\n".join(section for section in sections if section) + "\n"
    page.write_text(reflowed(text), encoding="utf-8")
    return page


def notes(results: Mapping[str, Any]) -> str:
    """The notes of a run."""
    lines = "\n".join(f"- {note}" for note in results["notes"])
    return f"## Notes\n\n{lines}" if lines else "## Notes\n\nNothing disagreed, nothing was left out."
