# SPDX-License-Identifier: BSD-3-Clause
"""Benchmarks of transmissions: small studies run to a page, sentences say what numbers show, the leg is the paper's."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import zoo

pytest.importorskip("pinocchio")
pytest.importorskip("matplotlib")
from linkwork_benchmarks import report
from linkwork_benchmarks.clusters import leg, orders, page, papers, pinocchio, robots, studies
from linkwork_benchmarks.clusters.projected import ProjectedInverseDynamics
from linkwork_benchmarks.clusters.robots import Subject, without_rotors
from linkwork_benchmarks.clusters.scenarios import (
    INERTIA,
    SCENARIOS,
    Growth,
    Parallel,
    Scenario,
    Stem,
    System,
    Torques,
    smaller,
)
from linkwork_benchmarks.constrained.states import closed_states
from linkwork_benchmarks.robots import random_states
from tests.support.benchmark_pages import check_page, check_that_results_survive_their_file, small_results

with_models = pytest.mark.models


def tiny(make: robots.Make) -> Subject:
    return Subject(make, partial(without_rotors, make), ("link1",))


TINY: tuple[Scenario, ...] = (
    System("geared chain", tiny(partial(zoo.geared_chain, 3))),
    System("MIT Humanoid", tiny(partial(zoo.belt_chain, 4))),
    Growth("geared_chain", zoo.geared_chain, (24, 26, 28)),
    Growth("belt_chain", zoo.belt_chain, (2, 4), "inertia", INERTIA),
    Stem("geared_stalk", robots.geared_stalk, (1, 2), branches=2),
)
OF_MODELS: tuple[Scenario, ...] = (
    Parallel("explicit", {5: (2, 4)}),
    Parallel("implicit", {5: (3, 5)}, ("cluster", "lcaba")),
    Torques(states=300),
)


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    return small_results(studies, (*TINY, *OF_MODELS))


def test_every_study_leaves_numbers(results: dict[str, dict[str, float]]) -> None:
    metrics = results["metrics"]
    for scenario in TINY:
        assert any(name.startswith(scenario.name) for name in metrics), scenario.name
    for method in ("cluster", "projection", "ltl", "lcaba", "prox_bbo", "tree"):
        for backend in ("native", "native_bound", "specialized", "bound", "batch"):
            assert metrics[f"systems.geared chain.forward.{method}.{backend}.us"] > 0
        assert metrics[f"systems.geared chain.forward.{method}.operations"] > 0
    for method in ("cluster", "projected", "rnea", "tree"):
        assert metrics[f"systems.MIT Humanoid.inverse.{method}.bound.us"] > 0
    assert metrics["systems.geared chain.forward.pinocchio.aba.us"] > 0
    assert all(np.isfinite(x) for x in metrics.values())


def test_answers_agree_and_nothing_is_left_out(results: dict[str, Any]) -> None:
    metrics, notes = results["metrics"], results["notes"]
    assert isinstance(metrics, dict) and isinstance(notes, list)
    assert max(x for name, x in metrics.items() if name.endswith(".error")) < 1e-9
    assert [n for n in notes if "no model file" not in n] == []


def test_results_survive_their_file(results: dict[str, Any], tmp_path: Path) -> None:
    read = check_that_results_survive_their_file(results, tmp_path)
    assert read["curves"] == results["curves"]


@with_models
def test_the_page_shows_every_study_and_only_plots_that_exist(results: dict[str, Any], tmp_path: Path) -> None:
    titles = (
        "Orders",
        "Table II,",
        "Table III",
        "Table IV",
        "Figs. 11, 13",
        "long stem",
        "Parallel chains",
        "Fig. 14",
        "Notes",
    )
    text = check_page(page, results, tmp_path, titles, plots=6)
    assert "times faster** than" in text or "times slower** than" in text
    assert "The paper's two root mean squares are those of our knee" in text
    assert "nan" not in text.lower()


def test_a_page_of_nothing_says_so(tmp_path: Path) -> None:
    empty = {"rounds": 0, "seconds": 0, "quick": True, "notes": [], "curves": {}, "metrics": {}}
    text = page.write({**report.circumstances(), **empty}, tmp_path / "page.md").read_text(encoding="utf-8")
    assert "Nothing disagreed" in text and "![" not in text


def test_quick_scenarios_are_those_of_the_full_run() -> None:
    assert [smaller(s).name for s in SCENARIOS] == [s.name for s in SCENARIOS]
    assert len({s.name for s in SCENARIOS}) == len(SCENARIOS)
    systems = {s.system for s in SCENARIOS if isinstance(s, System)}
    assert systems - set(papers.SYSTEMS) == {"JVRC-1, its file"} and set(papers.SYSTEMS) < systems


# Contenders --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [partial(zoo.geared_chain, 3), partial(zoo.belt_chain, 4), zoo.four_bar, zoo.watt])
def test_projected_inverse_dynamics_is_that_of_clusters(make: robots.Make) -> None:
    robot = make()
    at, (q, v, _) = lw.Minimal(robot), closed_states(robot, 5)
    second = np.random.default_rng(0).normal(size=(5, at.ny))
    tau, pivot = ProjectedInverseDynamics(robot)(q, v, second)
    wanted = lw.InverseDynamics(robot, "cluster")(q, v, at.acceleration(q, v, second))
    np.testing.assert_allclose(tau, wanted[:, at.index], rtol=1e-9, atol=1e-9)
    assert pivot.min() > 0


def test_pinocchio_finds_what_our_tree_finds() -> None:
    tree = without_rotors(partial(zoo.geared_chain, 5))
    states = random_states(tree, 4)
    found = pinocchio.contender(pinocchio.twin(tree), "forward", states).answer()
    np.testing.assert_allclose(found, lw.ForwardDynamics(tree)(*states).acceleration, rtol=1e-9)
    found = pinocchio.contender(pinocchio.twin(tree), "inverse", states).answer()
    np.testing.assert_allclose(found, lw.InverseDynamics(tree)(*states), rtol=1e-9, atol=1e-9)


@with_models
@pytest.mark.parametrize("name", ["Mini Cheetah", "MIT Humanoid", "Tello"])
def test_files_of_trees_are_the_robots_without_rotors(name: str) -> None:
    subject = robots.SUBJECTS[name]
    whole, tree = without_rotors(subject.make), subject.tree()
    assert [j.child for j in whole.joints] == [j.child for j in tree.joints]
    np.testing.assert_allclose(*(lw.mass_matrix(robot, robot.neutral()) for robot in (whole, tree)), atol=1e-12)


@with_models
def test_every_joint_of_jvrc1_has_a_gear() -> None:
    """The file gears 25 of 32 joints; with all of them the links move as in the file where rotors weigh nothing."""
    file, geared = (robots.SUBJECTS[name].make() for name in ("JVRC-1, its file", "JVRC-1"))
    assert (file.nv, file.nc) == (63, 25)
    assert (geared.nv, geared.nc, lw.Minimal(geared).ny) == (70, 32, 38)
    bare, whole = (without_rotors(robots.SUBJECTS[name].make) for name in ("JVRC-1, its file", "JVRC-1"))
    assert bare.nv == whole.nv == 38
    np.testing.assert_allclose(*(lw.mass_matrix(robot, robot.neutral()) for robot in (bare, whole)), atol=1e-12)
    added = {c.name for c in geared.constraints} - {c.name for c in file.constraints}
    parts = ("neck-yaw", "neck-roll", "neck-pitch", "left-wrist", "right-wrist")
    assert len(added) == 7 and all(name.startswith(parts) for name in added)


# Sentences ---------------------------------------------------------------------------------------------------


def counts(**operations: float) -> dict[str, float]:
    """Operations of one system by method."""
    return {f"systems.one.forward.{method}.operations": x for method, x in operations.items()}


@pytest.mark.parametrize(
    ("projection", "words"),
    [
        (150.0, "**holds** on all 1 systems (the other needs 50 to 50 % more)"),
        (80.0, "**fails** on 1 of 1 systems: one (-20 %)"),
        (100.5, "**neither**"),
    ],
)
def test_sentences_say_who_needs_less(projection: float, words: str) -> None:
    metrics = counts(cluster=100.0, projection=projection)
    assert words in orders.verdict(metrics, "forward", "projection", "operations")


def test_what_was_not_measured_is_not_judged() -> None:
    metrics = counts(cluster=100.0)
    assert "not measured" in orders.verdict(metrics, "forward", "ltl", "operations")
    assert "not measured" in orders.growth_verdict(metrics, "forward_of_geared_chain", "cluster", linear=True)


@pytest.mark.parametrize(
    ("power", "linear", "word"), [(1.0, True, "holds"), (2.5, False, "holds"), (2.0, True, "fails")]
)
def test_growth_is_judged_by_its_power(power: float, linear: bool, word: str) -> None:
    name = "forward_of_geared_chain"
    metrics = {f"growth.{name}.{n}.cluster.operations": 7.0 * n**power for n in (2, 24, 36, 48)}
    assert f"**{word}** (operations n^{power:.2f})" in orders.growth_verdict(metrics, name, "cluster", linear)


def test_times_that_grow_slower_than_links_are_not_judged() -> None:
    """A power of 0.66 is noise of the clock: the verdict is that of the operations."""
    name = "forward_of_belt_chain"
    metrics = {f"growth.{name}.{n}.cluster.operations": 7.0 * n for n in (24, 36, 48)}
    metrics |= {f"growth.{name}.{n}.cluster.native_bound.us": 3.0 * n**0.66 for n in (24, 36, 48)}
    sentence = orders.growth_verdict(metrics, name, "cluster", linear=True)
    assert "**holds** (operations n^1.00, native time n^0.66, too noisy to judge)" in sentence
    noise = {n: x for n, x in metrics.items() if n.endswith("us")}
    assert "**not known**" in orders.growth_verdict(noise, name, "cluster", linear=True)


def test_the_papers_percentages_are_those_of_its_tables() -> None:
    assert papers.percent("forward", "ltl", "JVRC-1") == 212.8
    assert papers.percent("inverse", "projected", "Tello") == 22.4
    assert papers.percent("forward", "lcaba", "Tello") is None
    assert papers.percent("forward", "projection", "a robot of ours") is None


# One leg -----------------------------------------------------------------------------------------------------


@with_models
@pytest.mark.parametrize("side", ["left", "right"])
def test_the_leg_is_exact_where_nothing_accelerates(side: str) -> None:
    """At the ends of the swing rotors stand; but for their inertia all three legs are one."""
    subject = robots.leg(side)
    assert (subject.exact.nv, subject.exact.nc, subject.still.nv, subject.reflecting.nv) == (10, 5, 5, 5)
    assert lw.Minimal(subject.exact).names == subject.joints
    assert subject.exact.mass == pytest.approx(subject.still.mass + 0.05, abs=1e-12)  # hip z's rotor is on the world
    found = leg.torques(subject, 0.0, 1.5, np.zeros(1))
    np.testing.assert_allclose(found["unconstrained"], found["exact"], atol=1e-12)
    np.testing.assert_allclose(found["approximate"], found["exact"], atol=1e-12)


@with_models
def test_belts_couple_knee_and_ankle() -> None:
    """What a rotor needs for its own spin, from its inertia alone: the ankle's goes with both joints."""
    subject = robots.leg("right")
    knee, ankle = subject.joints[3:]
    large, small = 5.548e-4, 1.6841e-4
    reflected = robots.reflected_inertias(subject.exact, subject.joints)
    assert reflected[knee] == pytest.approx(144 * (large + small))
    assert reflected[ankle] == pytest.approx(144 * small)
    time = np.linspace(0.0, 0.5, 50)
    found = leg.torques(subject, 0.5, 1.5, time)
    second = -0.5 * (3 * np.pi) ** 2 * np.sin(3 * np.pi * time)
    np.testing.assert_allclose(
        found["approximate"] - found["unconstrained"], second[:, None] * list(reflected.values())
    )
    missing = found["exact"][:, 4] - found["approximate"][:, 4]
    coupled = 144 * small * second  # by the knee; the rest is that of the thigh's own turning, twelve times less
    assert np.abs(missing - coupled).max() < 0.25 * np.abs(coupled).max()


@with_models
def test_the_papers_ankle_is_our_knee(results: dict[str, dict[str, float]]) -> None:
    metrics = results["metrics"]
    assert metrics["leg.knee.unconstrained"] == pytest.approx(papers.ANKLE.unconstrained, rel=0.01)
    assert metrics["leg.knee.approximate"] == pytest.approx(papers.ANKLE.approximate, rel=0.01)
    assert metrics["leg.ankle.unconstrained"] == pytest.approx(1.587, abs=0.01)
    assert next(iter(orders.distances(metrics))) == "knee"
