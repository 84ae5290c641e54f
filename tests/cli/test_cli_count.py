# SPDX-License-Identifier: BSD-3-Clause
"""``linkwork count`` and ``linkwork graph``: exact counts, and pictures."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

import linkwork as lw
from linkwork.dynamics.iterations import EXPECTED
from tests.cli.test_cli import four_bar, joint, json_of, link, robot_text, run, words


@pytest.fixture
def loop(tmp_path: Path) -> str:
    (tmp_path / "four_bar.urdf").write_text(four_bar())
    return str(tmp_path / "four_bar.urdf")


@pytest.fixture
def tree(tmp_path: Path) -> str:
    text = robot_text(link("base"), link("arm", x=1), joint("turn", "base", "arm", 0, 0), name="arm")
    (tmp_path / "tree.urdf").write_text(text)
    return str(tmp_path / "tree.urdf")


counts = partial(json_of, "count")


def test_counts_are_those_of_the_library(loop: str) -> None:
    robot, found = lw.load(loop), counts(loop)
    by = {(c["quantity"], c["method"]): c for c in found["counts"]}
    for method, cost in lw.methods.method_costs(robot).items():
        said = by["forward_dynamics", method]
        assert said["operations"] == dict(cost)
        assert (said["total"], said["iteration"]) == (cost.total, cost.iteration)
        assert said["expected"] == cost.in_iterations(EXPECTED)
        assert said["chosen"] == (method == lw.methods.best_method(robot))
    assert by["inverse_dynamics", "rnea"]["total"] == lw.InverseDynamics(robot, "rnea").operation_count().total
    assert by["mass_matrix", ""]["total"] == lw.Evaluator(robot, "mass_matrix").operation_count().total
    assert by["constraint_jacobian", ""]["operations"] == lw.Evaluator(robot, "constraint_jacobian").operation_count()
    assert ("delassus_matrix", "pv_osim") in by
    assert (found["name"], found["nv"], found["nc"], found["iterations"]) == ("four_bar", 3, 5, EXPECTED)


def test_the_cheapest_is_first_and_ratios_are_to_it(loop: str) -> None:
    rows = [c for c in counts(loop)["counts"] if c["quantity"] == "forward_dynamics"]
    assert rows[0]["ratio"] == 1.0
    assert [c["ratio"] for c in rows] == sorted(c["expected"] / rows[0]["expected"] for c in rows)


def test_methods_can_be_chosen(loop: str) -> None:
    def chosen(*args: str) -> set[str]:
        return {c["method"] for c in counts(loop, *args)["counts"] if c["quantity"] == "forward_dynamics"}

    assert chosen("--method", "lcaba", "--method", "ltl") == {"lcaba", "ltl"}
    assert chosen("--method", "auto") == {lw.methods.best_method(lw.load(loop))}
    assert "NumPy" in counts(loop, "--method", "kkt")["notes"][0]


def test_a_tree_has_no_constraints_to_count(tree: str) -> None:
    found = counts(tree)["counts"]
    assert [c["method"] for c in found if c["quantity"] == "forward_dynamics"] == ["aba"]
    assert not any("constraint" in c["quantity"] or "delassus" in c["quantity"] for c in found)


def test_the_page_shows_methods_with_bars(loop: str) -> None:
    page = run("count", loop).stdout
    rows = [line.split() for line in page.splitlines()]
    best = next(row for row in rows if row[:1] == [lw.methods.best_method(lw.load(loop))])
    assert best[-1] == "auto" and set(best[-2]) == {"#"}
    for text in ("Forward dynamics", "Inverse dynamics", "Delassus matrix", "Other quantities", "in 3 iterations"):
        assert text in page
    narrow = run("count", loop, COLUMNS="40").stdout
    assert max(map(len, narrow.splitlines())) <= 40


def test_wrong_methods(loop: str, tree: str) -> None:
    unknown = run("count", loop, "--method", "lcabba")
    assert unknown.exit_code == 2 and "did you mean 'lcaba'" in words(unknown.stderr)
    unable = run("count", tree, "--method", "lcaba")
    assert unable.exit_code == 1 and "no constraints" in unable.stderr
    assert run("count", "none.urdf").exit_code == 1


@pytest.mark.parametrize("command", ["count", "optimize", "bench", "export"])
def test_what_does_not_move_is_a_message(command: str, tmp_path: Path) -> None:
    wall = tmp_path / "wall.urdf"
    wall.write_text(robot_text(link("wall"), name="wall"))
    still = run(command, str(wall))
    assert still.exit_code == 1 and "'wall' has no joints" in words(still.stderr)


def test_rotors_without_mass_are_counted(tmp_path: Path) -> None:
    massless = tmp_path / "rotor.urdf"
    dynamics = '<dynamics armature="1"/>'
    text = robot_text('<link name="base"/><link name="arm"/>', joint("turn", "base", "arm", 0, 0), name="rotor")
    massless.write_text(text.replace("</joint>", f"{dynamics}</joint>"))
    assert "mass_matrix" in {one["quantity"] for one in counts(str(massless))["counts"]}


def test_graph(loop: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    out = tmp_path / "graph.svg"
    drawn = run("graph", loop, str(out))
    assert drawn.exit_code == 0 and drawn.stdout == f"{out}\n"
    text = out.read_text()
    assert "<svg" in text and "coupler" in text and "closure" in text
    wrong = run("graph", loop, str(tmp_path / "graph.doc"))
    assert wrong.exit_code == 2 and ".svg" in wrong.stderr
    nowhere = run("graph", loop, str(tmp_path / "none" / "graph.svg"))
    assert nowhere.exit_code == 1 and "graph.svg" in nowhere.stderr and "Traceback" not in nowhere.output
