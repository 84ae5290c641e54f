# SPDX-License-Identifier: BSD-3-Clause
"""The glossary: every name in it exists, here and in Pinocchio and MuJoCo."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

import linkwork as lw
from linkwork.names import MOVED
from tests.support import REPOSITORY

PAGE = REPOSITORY / "docs" / "reference" / "glossary.md"


def rows() -> Iterator[list[str]]:
    """Cells of all tables that compare names: term, name here, where, Pinocchio, MuJoCo."""
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) == 5 and cells[0] != "term" and "---" not in cells[0]:
            yield cells


def names(column: int) -> list[str]:
    found = [name for cells in rows() for name in re.findall(r"`([A-Za-z_]\w*)`", cells[column])]
    assert len(found) > 20
    return sorted(set(found))


def test_every_name_of_pinocchio_exists() -> None:
    pin = pytest.importorskip("pinocchio")
    model = pin.Model()
    constraint = pin.RigidConstraintModel
    places = [pin, model, model.createData(), pin.ReferenceFrame, constraint, pin.RigidConstraintData]
    places += [pin.ProximalSettings]
    missing = [name for name in names(3) if not any(hasattr(place, name) for place in places)]
    assert not missing


def test_every_name_of_mujoco_exists() -> None:
    mujoco = pytest.importorskip("mujoco")
    pytest.importorskip("mujoco.rollout")
    places = [mujoco, mujoco.MjModel, mujoco.MjData, mujoco.mjtIntegrator]
    missing = [name for name in names(4) if not any(hasattr(place, name) for place in places)]
    assert not missing


def test_every_name_of_ours_exists() -> None:
    robot = lw.zoo.four_bar()
    fd = lw.ForwardDynamics(robot)
    solution = fd(robot.poses["assembled"], [0.0] * robot.nv, [0.0] * robot.nv)
    methods = (*lw.methods.methods_for(robot), "pv_soft", "pv_early", "efpa", "cluster_efpa", "rk4", "dopri5")
    words = {name for cells in rows() for name in re.findall(r"`([A-Za-z_][\w.]*)`", cells[1])}
    for word in words:
        owner, _, name = word.rpartition(".")
        place = {"": lw, "robot": robot, "solution": solution}.get(owner)
        known = place is not None and hasattr(place, name)
        known = (
            known
            or any(hasattr(x, word) for x in (robot, fd, fd.solver, lw.InverseDynamics, lw.constraints.Weld))
            or word in methods
            or word in MOVED
            or word in WORDS
        )
        assert known, word


WORDS = {"omega", "u", "H", "f", "U", "D", "beta"}
"""Symbols of kernels."""


@pytest.mark.parametrize(
    "term",
    ["Baumgarte", "motion subspace", "spatial inertia", "bias force", "warm start", "proximal", "Delassus"],
)
def test_what_people_search_for_is_there(term: str) -> None:
    assert term.casefold() in PAGE.read_text().casefold()
