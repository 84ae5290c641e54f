# SPDX-License-Identifier: BSD-3-Clause
"""The study of GPUs, as far as it goes without one: scenarios, the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from linkwork.errors import DeviceError
from linkwork_benchmarks import report, suites
from linkwork_benchmarks.gpu import page
from linkwork_benchmarks.gpu.scenarios import SCENARIOS, Dynamics, Steps, smaller


def results() -> dict[str, Any]:
    """Numbers that nobody measured."""
    metrics: dict[str, float] = {}
    for s in SCENARIOS:
        kinds = {Dynamics: ("states_per_s", "row_major.states_per_s", "us", "operations", "peak", "error")}
        for kind in (*kinds.get(type(s), ("steps_per_s", "lost")), "cpu_float32_error", "repeats"):
            metrics[f"{s.name}.{kind}"] = 1.0
        for kind in (
            "cold.s",
            "cached.s",
            "both.s",
            "forward.s",
            "first.s",
            "both.alone.s",
            "forward.alone.s",
            "both.host.us",
        ):
            metrics[f"{s.name}.{kind}"] = 2.0
    for robot in ("talos", "cassie", "digit"):
        metrics |= {f"gpu.first_call.{robot}.cold.s": 2.0, f"gpu.first_call.{robot}.cached.s": 2.0}
    for kind in ("evaluator.tree", "evaluator.loop", "function.tree", "torch_add"):
        metrics[f"gpu.overhead.{kind}.us"] = 3.0
    return {
        "metrics": metrics,
        "words": {"gpu.name": "a GPU", "gpu.driver": "13.0", "gpu.torch": "2", "gpu.mjx": "3"},
        "versions": {"python": "3", "llvmlite": "0"},
        "date": "2026-01-01",
        "commit": "0" * 40,
        "modified": False,
        "quick": False,
        "rounds": 1,
        "notes": [],
    }


def test_names_of_scenarios_differ() -> None:
    names = [scenario.name for scenario in SCENARIOS]
    assert len(set(names)) == len(names)
    assert {type(smaller(scenario)) for scenario in SCENARIOS} == {type(scenario) for scenario in SCENARIOS}


def test_the_page_has_every_scenario(tmp_path: Path) -> None:
    text = page.write(results(), tmp_path / "page.md").read_text(encoding="utf-8")
    dynamics = [s for s in SCENARIOS if isinstance(s, Dynamics)]
    assert all(text.count(f"`{s.method}`, {page.WHAT[s.what]}") >= 1 for s in dynamics)
    assert all(page.MOTIONS[s.motion] in text for s in SCENARIOS if isinstance(s, Steps))
    assert "a GPU" in text and "not the same work" in text and "MJX 3, Cassie's file" in text
    assert text.count("calls in a row") == text.count("one call at a time") == 4


def test_the_commit_is_told_where_the_repository_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(report.COMMIT, "abc-dirty")
    known = report.circumstances()
    assert known["commit"] == "abc" and known["modified"]


def test_a_machine_without_a_gpu_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(index: int = 0) -> Any:
        raise DeviceError("there is no NVIDIA driver on this machine")

    monkeypatch.setattr(suites.driver, "device", missing)
    with pytest.raises(suites.NothingToRun, match="no NVIDIA driver"):
        suites.run("gpu")
