# SPDX-License-Identifier: BSD-3-Clause
"""What notebooks and prompts show: representations with methods, and small tables in HTML."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest

import linkwork as lw
from linkwork.model.notebook import MOST_ROWS, table


class Tables(HTMLParser):
    """Cells of tables by row; an error where elements are not closed, or are none that tables have."""

    ALLOWED = ("table", "caption", "tr", "th", "td")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.captions: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in self.ALLOWED and {name for name, _ in attrs} <= {"colspan"}
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        elif tag == "caption":
            self.captions.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1] == "caption":
            self.captions[-1] += data
        else:
            self.rows[-1][-1] += data


@pytest.fixture(scope="module")
def linkage() -> lw.Mechanism:
    return lw.zoo.four_bar()


@pytest.fixture(scope="module")
def q(linkage: lw.Mechanism) -> np.ndarray:
    return linkage.poses["assembled"]


# Representations -----------------------------------------------------------------------------------------------


def test_evaluators_say_their_method(linkage: lw.Mechanism) -> None:
    assert repr(lw.ForwardDynamics(linkage, "lcaba")) == (
        "<ForwardDynamics forward_dynamics of 'four-bar closed by a hinge' by lcaba, native, float64>"
    )
    chosen = lw.ForwardDynamics(linkage)
    assert f" by {lw.methods.best_method(linkage)}," in repr(chosen)
    assert " by cluster," in repr(lw.InverseDynamics(linkage, "cluster"))
    assert " by prox_bbo," in repr(lw.ImpactDynamics(linkage, "prox_bbo"))
    assert " by projection," in repr(lw.OperationalInertia(linkage, "rocker", "projection"))
    assert " by ltl," in repr(lw.Delassus(linkage, "ltl").matrix)
    assert repr(lw.Evaluator(lw.zoo.pendulum(), "mass_matrix")).endswith("of 'pendulum', native, float64>")


# Tables --------------------------------------------------------------------------------------------------------


def test_a_mechanism_shows_its_joints_and_constraints(linkage: lw.Mechanism) -> None:
    found = Tables(linkage._repr_html_())
    names = [row[0] for row in found.rows]
    assert names == ["joint", *linkage.joint_names, "constraint", *(c.name for c in linkage.constraints)]
    assert found.captions == [repr(linkage).strip("<>"), "Constraints"]
    assert found.rows[-1][1:] == ["Hinge", ", ".join(linkage.constraints[0].places), "0:5", "yes"]
    tree = Tables(lw.zoo.humanoid()._repr_html_())
    assert tree.rows[1][-2:] == ["0:7", "0:6"] and tree.captions[1:] == []


def test_mobility_shows_its_counts_and_what_is_redundant(linkage: lw.Mechanism, q: np.ndarray) -> None:
    found = dict(Tables(linkage.mobility(q)._repr_html_()).rows)
    assert found["degrees of freedom"] == "1" and found["rank"] == "2"
    assert found["redundant: C"] == "3 rows" and found["loops are closed"] == "yes"


def test_a_solution_shows_accelerations_and_forces(linkage: lw.Mechanism, q: np.ndarray) -> None:
    solution = lw.ForwardDynamics(linkage, "lcaba")(q, np.zeros(3), np.zeros(3))
    found = Tables(solution._repr_html_())
    rows = {row[0]: row[1:] for row in found.rows}
    assert rows[linkage.joint_names[0]] == [f"{solution.acceleration[0]:.4g}"]
    assert rows["C"][0] == " ".join(f"{x:.4g}" for x in solution.forces["C"])
    assert found.captions[0].startswith("Solution by lcaba: 1 of 1 converged")


def test_solutions_of_trees_and_batches_show_what_they_know(linkage: lw.Mechanism, q: np.ndarray) -> None:
    arm = lw.zoo.pendulum(2)
    tree = Tables(lw.ForwardDynamics(arm)([0.1, 0.2], [0, 0], [0, 0])._repr_html_())
    assert tree.rows[0][0] == "acceleration" and len(tree.rows[0][1].split()) == 2
    many = lw.ForwardDynamics(linkage, "lcaba")(np.stack([q] * 4), np.zeros(3), np.zeros(3))
    found = Tables(many._repr_html_())
    assert dict(found.rows) == {"acceleration": "(4, 3)", "force": "(4, 5)", "residual": "(4, 5)"}
    assert "4 of 4 converged" in found.captions[0]


def test_inverse_dynamics_and_impacts_show_tables(linkage: lw.Mechanism, q: np.ndarray) -> None:
    solved = lw.InverseDynamics(linkage, "cluster").solve(q, np.zeros(3), np.zeros(3))
    assert Tables(solved._repr_html_()).rows[0] == ["joint", "torque", "acceleration"]
    impact = lw.ImpactDynamics(linkage)(q, np.ones(3))
    assert Tables(impact._repr_html_()).rows[0] == ["joint", "velocity after"]


def test_names_are_escaped() -> None:
    build = lw.Builder("<script>alert(1)</script>")
    build.body("<b>", lw.Inertia.sphere(1.0, 0.1)).joint('"&', lw.joints.Revolute("y"), "world", "<b>")
    text = build.build()._repr_html_()
    assert "<script" not in text and "<b>" not in text
    assert Tables(text).rows[1][0] == '"&'


def test_long_tables_say_how_many_rows_more_there_are() -> None:
    found = Tables(table("numbers", ("k", "square"), ((k, k * k) for k in range(MOST_ROWS + 5))))
    assert len(found.rows) == 1 + MOST_ROWS + 1
    assert found.rows[-1] == ["and 5 more"]


def test_figures_show_themselves_without_pyplot(linkage: lw.Mechanism, q: np.ndarray) -> None:
    pytest.importorskip("matplotlib")
    swept = linkage.sweep(linkage.joint_names[0], [1.0, 1.1], q)
    for figure in (linkage.draw_graph(), swept.picture(time=0.0)):
        assert figure._repr_png_().startswith(b"\x89PNG")
