# SPDX-License-Identifier: BSD-3-Clause
"""Small studies of linkwork_benchmarks run to results, and what every page made from results has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from linkwork_benchmarks import report


def small_results(study: Any, scenarios: Iterable[Any]) -> dict[str, Any]:
    """The results of scenarios, measured quickly by a module of studies."""
    journal = study.begin()
    for scenario in scenarios:
        study.measure(scenario, study.QUICK, journal)
    return {**report.circumstances(), "rounds": 3, "seconds": 1, "quick": True, **asdict(journal)}


def check_page(page: Any, results: Mapping[str, Any], folder: Path, titles: Iterable[str], plots: int) -> str:
    """Write a page of results: it has these titles and so many plots, which exist. Its text."""
    text: str = page.write(results, folder / "page.md").read_text(encoding="utf-8")
    images = re.findall(r"!\[[^]]*\]\(([^)]*)\)", text)
    assert len(images) == plots
    assert all((folder / image).stat().st_size < 150_000 for image in images)
    for title in titles:
        assert re.search(rf"^## .*{re.escape(title)}", text, re.M), title
    assert "the times mean nothing" in text  # of a quick run
    return text


def check_that_results_survive_their_file(results: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Results read from the file they were saved to have the same metrics."""
    report.save(dict(results), folder / "results.json")
    read = report.read(folder / "results.json")
    assert read["metrics"].keys() == results["metrics"].keys()
    return read
