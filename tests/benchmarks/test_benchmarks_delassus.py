# SPDX-License-Identifier: BSD-3-Clause
"""Benchmarks of the Delassus operator: small studies run to a page, sentences say what numbers show."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import zoo
from tests.support.robots import model_file

pytest.importorskip("pinocchio")
pytest.importorskip("matplotlib")
from linkwork_benchmarks import report
from linkwork_benchmarks.delassus import bars, counts, dense, disturbed, page, papers, robots, studies
from linkwork_benchmarks.delassus.operators import Bench
from linkwork_benchmarks.delassus.pinocchio import Peer
from linkwork_benchmarks.delassus.scenarios import (
    DAMPING,
    SCENARIOS,
    Extraction,
    Growth,
    Make,
    Operations,
    Scenario,
    Stalk,
    Table,
    smaller,
)
from linkwork_benchmarks.robots import ROBOTS
from tests.support.benchmark_pages import check_page, small_results

TINY: tuple[Scenario, ...] = (
    Table("Go2 standing", partial(zoo.swimmer, 3), explicit=()),
    Table("Go2 standing, friction", partial(zoo.quadruped_standing, True), specialized=0, explicit=()),
    Table("Box pyramid", partial(zoo.stack, 2), specialized=0, explicit=("ltl", "efpa")),
    Growth("swimmer", zoo.swimmer, (50, 55, 60), counted=60, explicit={}, peers=0),
    Operations("Atlas (2F)", partial(zoo.stalk, 1, 2, 2), ("ltl", "pv_osim", "efpa", "kjr")),
    Stalk(1, (2, 4)),
    Extraction("UR5 (3)", partial(zoo.swimmer, 2), specialized=0),
)


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    return small_results(studies, TINY)


def test_every_study_leaves_numbers(results: dict[str, dict[str, float]]) -> None:
    metrics = results["metrics"]
    for scenario in TINY:
        assert any(name.startswith(scenario.name) for name in metrics), scenario.name
    for quantity in ("product", "inverse"):
        for backend in ("native", "specialized", "batch"):
            assert metrics[f"table.Go2 standing.{quantity}.{backend}.us"] > 0
        assert metrics[f"growth.swimmer.55.{quantity}.native.us"] > 0
    for what in ("further.product", "further.inverse", "further.damping", "further.plain", "dense.damping"):
        assert metrics[f"table.Go2 standing.{what}.us"] > 0
    for what in ("product", "inverse"):
        assert metrics[f"table.Go2 standing.columns.{what}.us"] > 0
    for what in ("operator", "damped_inverse", "matrix"):
        assert metrics[f"table.Go2 standing.lines.{what}"] > 0
    assert all(np.isfinite(x) for x in metrics.values())


def test_our_answers_are_right_and_nothing_is_left_out(results: dict[str, Any]) -> None:
    metrics, notes = results["metrics"], results["notes"]
    assert isinstance(metrics, dict) and isinstance(notes, list)
    errors = {name: x for name, x in metrics.items() if name.endswith(".error") and "pinocchio" not in name}
    assert max(errors.values()) < 1e-8
    assert all("is not specialized" in note for note in notes)


def test_the_page_shows_every_study_and_only_plots_that_exist(results: dict[str, Any], tmp_path: Path) -> None:
    titles = ("Bars", "Pinocchio", "first applications", "further", "memory", "Fig. 2: growth", "lqr Fig. 2", "stalk")
    text = check_page(page, results, tmp_path, titles, plots=4)
    assert "`computeDelassusMatrix`: **wrong** on Box pyramid" in text
    assert "nan" not in text.lower()


def test_a_page_of_nothing_says_so(tmp_path: Path) -> None:
    empty = {"rounds": 0, "seconds": 0, "quick": True, "notes": [], "metrics": {}}
    text = page.write({**report.circumstances(), **empty}, tmp_path / "page.md").read_text(encoding="utf-8")
    assert "Nothing disagreed" in text and "![" not in text and "## Bars" not in text


def test_quick_scenarios_are_those_of_the_full_run() -> None:
    assert [smaller(s).name for s in SCENARIOS] == [s.name for s in SCENARIOS]
    assert len({s.name for s in SCENARIOS}) == len(SCENARIOS)
    rows = [s.row for s in SCENARIOS if isinstance(s, Table)]
    assert list(papers.TABLE) == [row for row in rows if "with loops" not in row]  # the paper opens loops


# Robots ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", papers.TABLE)
def test_scenes_have_the_papers_velocities_and_rows(row: str) -> None:
    if row.startswith("Cassie"):
        model_file(robots.CASSIE)
    scene = next(s for s in SCENARIOS if isinstance(s, Table) and s.row == row).make()
    assert (scene.nv, scene.nc) == (papers.TABLE[row].nv, papers.TABLE[row].rows)


@pytest.mark.parametrize("make", [robots.go2_standing, robots.go2_fallen, robots.g1_standing, robots.g1_fallen])
def test_the_zoo_stands_in_for_files(make: robots.Resting, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("go2", "g1"):
        monkeypatch.setitem(ROBOTS, name, ROBOTS[name]._replace(path=Path("nowhere.urdf")))
    for friction in (False, True):
        assert make(friction).name.startswith(("quadruped", "humanoid"))


# Pinocchio ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "unary"),
    [(partial(zoo.swimmer, 3), True), (zoo.quadruped_standing, True), (partial(zoo.stack, 2), False)],
)
def test_pinocchio_is_right_about_contacts_with_the_world_alone(make: Make, unary: bool) -> None:
    bench = Bench(make())
    peer = Peer(bench.robot, bench.q, bench.accelerations, DAMPING)
    matrix = peer.delassus()()
    assert (studies.off(studies.spectrum(matrix), studies.spectrum(bench.matrix)) < 1e-9) == unary
    damped = matrix + DAMPING * np.eye(len(matrix))
    np.testing.assert_allclose(damped @ peer.lemma()(), bench.accelerations, atol=1e-9)  # of its own matrix
    inverted = 1 / (studies.spectrum(bench.matrix)[::-1] + DAMPING)
    assert studies.off(studies.spectrum(peer.damped()()), inverted) > 0.1  # whatever the robot


@pytest.mark.parametrize("make", [partial(zoo.quadruped_standing, True), partial(zoo.stack, 2)])
def test_pinocchios_decomposition_is_right_with_friction_and_between_bodies(make: Make) -> None:
    bench = Bench(make())
    peer = Peer(bench.robot, bench.q, bench.accelerations, DAMPING)
    values = studies.spectrum(bench.matrix)
    np.testing.assert_allclose(studies.spectrum(peer.cholesky().matrix()), values + DAMPING, atol=1e-9)
    np.testing.assert_allclose(studies.spectrum(peer.jacobian()()), values, atol=1e-9)


# Counts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 2, 6, 12])
def test_a_dense_factor_costs_what_its_loops_say(rows: int) -> None:
    assert counts.dense_factor(rows) == sum(j * (j - 1) + 3 * j + 1 for j in range(rows))


@pytest.mark.parametrize("method", ["ltl", "pv_osim", "efpa", "kjr"])
def test_parts_add_up_to_the_matrix_and_its_factor(method: str) -> None:
    robot = zoo.stalk(2, 2, 2)
    found = counts.parts(robot, method)
    assert sum(found.values()) == counts.total(robot, method) + counts.dense_factor(robot.nc)
    assert min(found.values()) > 0


def test_parts_are_those_of_the_same_robot() -> None:
    """Articulated inertias are the same whoever asks for them."""
    robot = zoo.stalk(2, 2, 2)
    assert len({counts.parts(robot, method)["inertia"] for method in ("pv_osim", "efpa", "kjr")}) == 1


# Sentences ---------------------------------------------------------------------------------------------------


def row(name: str, native: float, **peers: float) -> dict[str, float]:
    """Times of the operator on one row."""
    times = {f"table.{name}.pinocchio.{peer.replace('_', '.')}.us": x for peer, x in peers.items()}
    return {f"table.{name}.product.native.us": native, **times}


def test_wrong_routes_are_no_bar() -> None:
    metrics = row("Box pyramid", 10.0, delassus=5.0, cholesky_matrix=2100.0, cholesky_calc=100.0)
    metrics["table.Box pyramid.pinocchio.delassus.error"] = 0.5
    assert bars.fastest(metrics, "Box pyramid", "product") == (bars.CHOLESKY, 2000.0)
    first, _, pyramid, *_ = bars.first_verdicts(metrics)
    assert "**met** (200 times)" in first and "is 200 times faster than the best right route, Cholesky" in pyramid


def test_our_own_matrices_are_routes_like_others() -> None:
    """The best right route of all counts, not the slowest, nor the best of Pinocchio's alone."""
    metrics = row("Box pyramid", 10.0, cholesky_matrix=2100.0, cholesky_calc=100.0)
    metrics |= {"table.Box pyramid.matrix.ltl.us": 700.0, "table.Box pyramid.matrix.efpa.us": 300.0}
    assert bars.fastest(metrics, "Box pyramid", "product") == ("our `efpa`", 300.0)
    pyramid = bars.first_verdicts(metrics)[2]
    assert "is 30 times faster than the best right route, our `efpa`" in pyramid
    assert "It is 70 times faster than by our `ltl`. The paper's is 398 times faster" in pyramid


@pytest.mark.parametrize(("native", "word"), [(1.0, "met"), (4.0, "missed")])
def test_first_applications_are_judged_by_the_fastest_right_route(native: float, word: str) -> None:
    metrics = row("Go2 standing", native, delassus=3.0, cholesky_matrix=9.0, cholesky_calc=1.0)
    assert f"**{word}**" in bars.first_verdicts(metrics)[0]


def test_what_was_not_measured_is_not_judged() -> None:
    metrics = {"table.Go2 standing.rows": 12.0}
    assert all("not measured" in line for line in bars.first_verdicts(metrics))
    assert bars.growth_verdicts(metrics, "swimmer") == []
    assert all("not counted" in line for line in bars.order_verdicts(metrics))


@pytest.mark.parametrize(("power", "word"), [(1.0, "met"), (1.3, "missed")])
def test_growth_is_judged_by_its_power(power: float, word: str) -> None:
    metrics = {f"growth.swimmer.{n}.product.native.us": 3.0 * n**power for n in (10, 50, 100, 200)}
    assert bars.growth_verdicts(metrics, "swimmer") == [
        f"The operator on the swimmer ≤ n^1.1: **{word}** (time n^{power:.2f})."
    ]


@pytest.mark.parametrize(
    ("start", "each", "stem", "beyond"),
    [(-100.0, 25.0, 4.0, False), (-400.0, 25.0, 16.0, True), (-100.0, -1.0, None, False), (1.0, 1.0, 2.0, False)],
)
def test_curves_cross_where_lines_do(start: float, each: float, stem: float | None, beyond: bool) -> None:
    metrics = {}
    for n in (2, 6, 10):
        metrics[f"stalk.10.{n}.efpa.operations"] = 1000.0
        metrics[f"stalk.10.{n}.pv_osim.operations"] = 1000.0 + start + each * n
    found = bars.crossing(metrics, "10")
    assert found is not None and found.beyond == beyond
    assert found.stem == (None if stem is None else pytest.approx(stem))


def test_the_papers_numbers_are_those_of_its_table() -> None:
    pyramid = papers.TABLE["Box pyramid"]
    assert (pyramid.product.ratio, pyramid.inverse.ratio) == (
        pytest.approx(398.2, abs=0.1),
        pytest.approx(354.2, abs=0.1),
    )
    faster = [name for name, r in papers.TABLE.items() if r.further_inverse.ratio > 1]
    assert faster == ["G1 fallen, friction", "Stack of boxes", "Box pyramid", "Pyramid and robots"]
    assert papers.TABLE["Pyramid and robots"].further_damping == (32.02, 906.6)
    assert pyramid.product_lines == (3.4, 347.5) and papers.TABLE["Go2 standing"].inverse_lines == (1.5, 1.2)


def test_dense_algebra_makes_the_matrix() -> None:
    robot = zoo.swimmer(3)
    bench = Bench(robot)
    M, J = lw.mass_matrix(robot, bench.q), lw.Evaluator(robot, "constraint_jacobian")(bench.q)
    np.testing.assert_allclose(np.triu(dense.made(M, J)), np.triu(bench.matrix), atol=1e-12)
    factor = dense.factored(bench.matrix, DAMPING)
    np.testing.assert_allclose(dense.solve(factor, bench.accelerations), bench.inverse(), rtol=1e-9)


def test_a_row_that_was_disturbed_is_named() -> None:
    """Friction adds a tenth of the operations, and the clock said three quarters of the time."""
    metrics = {
        "table.Cassie.product.operations": 5200.0,
        "table.Cassie.product.native.us": 4.5,
        "table.Cassie, friction.product.operations": 5723.0,
        "table.Cassie, friction.product.native.us": 7.95,
        "table.G1.product.operations": 8000.0,
        "table.G1.product.native.us": 5.0,
        "table.G1, friction.product.operations": 8800.0,
        "table.G1, friction.product.native.us": 5.6,
    }
    assert list(disturbed.disturbed(metrics)) == ["Cassie, friction"]
    assert "Cassie, friction (1.6 times" in disturbed.sentence(metrics)
    assert disturbed.sentence({name: x for name, x in metrics.items() if "G1" in name}) == ""
