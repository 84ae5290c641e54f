# SPDX-License-Identifier: BSD-3-Clause
"""``linkwork bench``: times of models, and studies by name."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.cli.options import SUITES
from linkwork.cli.result_tables import ResultTable, latex, shown, tables_from_metrics
from tests.cli.test_cli import four_bar, joint, link, robot_text, run, words

pytest.importorskip("pinocchio")
pytest.importorskip("mujoco")
from linkwork_benchmarks import report, runner, scenarios, suites
from linkwork_benchmarks.constrained.scenarios import SCENARIOS, paper_of


@pytest.fixture
def tree(tmp_path: Path) -> str:
    text = robot_text(link("base"), link("arm", x=1), joint("turn", "base", "arm", 0, 0), name="arm")
    (tmp_path / "arm.urdf").write_text(text)
    return str(tmp_path / "arm.urdf")


@pytest.fixture
def loop(tmp_path: Path) -> str:
    (tmp_path / "four_bar.urdf").write_text(four_bar())
    return str(tmp_path / "four_bar.urdf")


POINTS = """<mujoco model="bars"><worldbody>
  <body name="crank"><joint name="a" axis="0 1 0"/>
    <inertial pos="0.5 0 0" mass="1" diaginertia=".1 .1 .1"/>
    <body name="coupler" pos="1 0 0"><joint name="b" axis="0 1 0"/>
      <inertial pos="0 0 .5" mass="1" diaginertia=".1 .1 .1"/>
    </body></body>
  <body name="rocker" pos="0 0 1"><joint name="c" axis="0 1 0"/>
    <inertial pos="0.5 0 0" mass="1" diaginertia=".1 .1 .1"/>
  </body></worldbody>
  <equality><connect body1="coupler" body2="rocker" anchor="0 0 1"/></equality></mujoco>"""


def test_a_model_with_loops_beside_both_peers(tmp_path: Path) -> None:
    file, out = tmp_path / "bars.xml", tmp_path / "times.json"
    file.write_text(POINTS)
    result = run("bench", str(file), "--quick", "--json", "-q", "--out", str(out))
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert json.loads(out.read_text()) == found
    (model,) = found["files"]
    assert (model["name"], model["nv"], model["nc"]) == ("bars", 3, 3)
    times = {(t["quantity"], t["by"], t["backend"]): t for t in model["times"]}
    method = lw.methods.best_method(lw.load(file))
    for backend in ("native", "specialized", "bound", "batch"):
        assert times["forward_dynamics", method, backend]["error"] < 1e-6
    for by in ("Pinocchio lcaba", "Pinocchio constraintDynamics", "MuJoCo mj_forward"):
        assert ("forward_dynamics", by, "call") in times
    assert times["inverse_dynamics", "Pinocchio rnea", "call"]["error"] < 1e-9
    assert times["mass_matrix", "Pinocchio crba", "call"]["error"] < 1e-9
    assert all(t["us"] > 0 and t["ratio"] > 0 for t in model["times"])


def test_several_models_of_which_one_fails(tree: str, loop: str, tmp_path: Path) -> None:
    result = run("bench", tree, str(tmp_path / "none.urdf"), loop, "--quick", "-q")
    assert result.exit_code == 1
    assert "none.urdf" in result.stderr
    assert "arm (nv 1, nc 0)" in result.stdout and "four_bar (nv 3, nc 5)" in result.stdout
    assert "best of 3 rounds" in result.stdout
    assert "Pinocchio's solvers know points and welds" in words(result.stdout)


def test_methods_of_a_model(loop: str) -> None:
    result = run("bench", loop, "--quick", "--json", "-q", "--method", "cluster", "--method", "kkt")
    times = json.loads(result.stdout)["files"][0]["times"]
    by = {t["by"] for t in times if t["quantity"] == "forward_dynamics"}
    assert by == {"cluster", "kkt"}
    assert run("bench", loop, "--method", "lcabba").exit_code == 2


# Studies -------------------------------------------------------------------------------------------------


def test_names_of_suites_are_those_of_the_studies() -> None:
    assert tuple(suites.SUITES) == SUITES


def test_every_scenario_belongs_to_one_paper() -> None:
    papers = {paper_of(scenario) for scenario in SCENARIOS}
    assert papers == {"loops", "lqr", "proximal"}
    for scenario in SCENARIOS:
        study = getattr(scenario, "study", "")
        assert study in ("", "robots") or paper_of(scenario) == study


def test_a_suite_runs_and_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The study of trees with one small chain in it."""
    chains = scenarios.Chains(links=(3,), specialized=(3,), refused=())
    monkeypatch.setattr(scenarios, "SCENARIOS", (chains, scenarios.Threads("go2")))
    out = tmp_path / "kept.json"
    result = run("bench", "--suite", "trees", "--quick", "--only", "chain", "--out", str(out), "--json", "-q")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    metric = "chain3.forward_dynamics.native.single.us"
    assert found["metrics"][metric] > 0 and found["quick"] is True and found["machine"]["cores"] > 0
    assert json.loads(out.read_text())["metrics"][metric] == pytest.approx(found["metrics"][metric], rel=1e-5)
    page = run("bench", "--suite", "trees", "--quick", "--only", "chain", "-q").stdout
    assert "Suite trees" in page and "chain3.forward_dynamics" in page
    (row,) = (line.split() for line in page.splitlines() if line.split()[:1] == ["native.single"])
    (heads,) = (line.split() for line in page.splitlines() if line.split()[:1] == ["what"] and "us" in line.split())
    assert float(row[heads.index("us")]) > 0
    nothing = run("bench", "--suite", "trees", "--only", "zzz")
    assert nothing.exit_code == 1 and "there are chain, go2.threads" in nothing.stderr


def test_a_suite_is_the_scenarios_of_its_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def measure(scenario: Any, settings: Any, journal: runner.Journal) -> None:
        seen.append(scenario.name)

    from linkwork_benchmarks.constrained import studies

    monkeypatch.setattr(studies, "measure", measure)
    for paper in ("loops", "lqr", "proximal"):
        seen.clear()
        suites.run(paper, quick=True)
        assert seen == [s.name for s in SCENARIOS if paper_of(s) == paper]
    seen.clear()
    suites.run("constrained", quick=True)
    assert len(seen) == len(SCENARIOS)


def test_missing_peers_are_named(monkeypatch: pytest.MonkeyPatch, tree: str) -> None:
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "mujoco" else find(name))
    monkeypatch.setattr(suites, "EXAMPLES", Path("nowhere"))
    result = run("bench", "--suite", "loops")
    assert result.exit_code == 1
    assert "need mujoco, example-robot-data: pip install ./benchmarks" in result.stderr


def test_a_model_is_timed_without_peers_that_are_not_installed(monkeypatch: pytest.MonkeyPatch, tree: str) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pinocchio", None)
    monkeypatch.setitem(sys.modules, "mujoco", None)
    result = run("bench", tree, "--quick", "--json", "-q")
    assert result.exit_code == 0, result.output
    (model,) = json.loads(result.stdout)["files"]
    assert all(t["ratio"] is None for t in model["times"])
    assert any("Pinocchio, which is not installed" in note for note in model["notes"])


# Tables ---------------------------------------------------------------------------------------------------


def test_times_are_kept_as_csv_and_as_latex(tree: str, loop: str, tmp_path: Path) -> None:
    places = [tmp_path / "deep" / f"times{ending}" for ending in (".json", ".csv", ".tex")]
    given = [word for place in places for word in ("--out", str(place))]
    result = run("bench", tree, loop, "--quick", "-q", *given)
    assert result.exit_code == 0, result.output
    kept = json.loads(places[0].read_text())
    rows = list(csv.DictReader(places[1].read_text(encoding="utf-8").splitlines()))
    times = [(file, time) for file in kept["files"] for time in file["times"]]
    assert len(rows) == len(times) > 10
    for row, (file, time) in zip(rows, times, strict=True):
        assert (row["file"], row["name"], int(row["nc"])) == (file["file"], file["name"], file["nc"])
        assert (row["quantity"], row["by"], row["backend"]) == (time["quantity"], time["by"], time["backend"])
        assert float(row["us"]) == time["us"] and float(row["error"]) == time["error"]
        assert row["ratio"] == ("" if time["ratio"] is None else repr(time["ratio"]))
    text = places[2].read_text(encoding="utf-8")
    assert text.count(r"\begin{tabular}") == 6
    assert r"\caption{four\_bar: Forward dynamics, 3 iterations: \textmu s for a state" in text
    assert "% linkwork" in text and r"\usepackage{booktabs" in text


def test_a_suite_is_kept_as_csv_and_as_latex(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    chains = scenarios.Chains(links=(3,), specialized=(3,), refused=())
    monkeypatch.setattr(scenarios, "SCENARIOS", (chains,))
    table, page = tmp_path / "chain.csv", tmp_path / "chain.tex"
    result = run("bench", "--suite", "trees", "--quick", "--json", "-q", "--out", str(table), "--out", str(page))
    assert result.exit_code == 0, result.output
    metrics = json.loads(result.stdout)["metrics"]
    found = {
        (row["table"], row["what"], leaf): float(cell)
        for row in csv.DictReader(table.read_text().splitlines())
        for leaf, cell in row.items()
        if leaf not in ("table", "what") and cell
    }
    assert (
        found["chain3.forward_dynamics", "native.single", "us"] == metrics["chain3.forward_dynamics.native.single.us"]
    )
    assert len(found) == len(metrics)
    assert r"\caption{chain3.forward\_dynamics}" in page.read_text()


def test_a_file_of_another_kind_is_refused_before_anything_is_timed(tree: str, tmp_path: Path) -> None:
    result = run("bench", tree, "--out", str(tmp_path / "times.xlsx"))
    assert result.exit_code == 2 and "results are written as .json, .csv, .tex" in words(result.stderr)


def test_every_metric_is_in_one_cell() -> None:
    for study in ("trees", "constrained", "clusters", "delassus", "simulation"):
        metrics = report.read(suites.results_of(study))["metrics"]
        cells = [
            (table.title, row[0], head)
            for table in tables_from_metrics(study, metrics)
            for row in table.rows
            for head, cell in zip(table.heads[1:], row[1:], strict=True)
            if cell is not None
        ]
        assert len(cells) == len(set(cells)) == len(metrics)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX")
def test_latex_takes_the_tables(tmp_path: Path) -> None:
    table = ResultTable(r"a_b & 50 % of #1 {x} ~ ^ \ $ µs", ("what_is", "µs"), [("x_1", 1.5), ("y", None)], 1)
    (tmp_path / "t.tex").write_text(
        "\\documentclass{article}\\usepackage{booktabs,textcomp}\\begin{document}\n"
        + latex([table], ["about"])
        + "\\end{document}\n",
        encoding="utf-8",
    )
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "t.tex"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)


def test_what_means_something_to_latex_is_escaped() -> None:
    table = ResultTable("a_b & 50 % of #1", ("what", "µs"), [("x_1", 1.23456), ("y{}", None)], 1)
    text = table.latex()
    assert r"\caption{a\_b \& 50 \% of \#1}" in text
    assert "what & \\textmu s \\\\" in text
    assert "x\\_1 & 1.23 \\\\" in text and "y\\{\\} &  \\\\" in text
    assert r"\begin{tabular}{lr}" in text


def test_numbers_have_three_digits_and_whole_ones_all() -> None:
    assert [shown(x) for x in (4285.0, 0.67017, 1.77e-13, 12345.6, 0.0, 3, 2.5e12, None, "a", np.nan)] == [
        *("4285", "0.67", "1.77e-13", "12346", "0", "3", "2.5e+12", "", "a", "nan")
    ]
