# SPDX-License-Identifier: BSD-3-Clause
"""The study of scenes of others: scenes are the same in both libraries, are measured and are on the page."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from linkwork.errors import ModelError
from linkwork.parsing.mjcf import mujoco_map
from linkwork_benchmarks import report, suites
from linkwork_benchmarks.runner import Journal
from linkwork_benchmarks.scene_files import files, first_call, page, scenarios, studies, systems, texts
from linkwork_benchmarks.scene_files.motions import batch_size, mujoco_steps, record, stepper_of

pytest.importorskip("mujoco")


def test_every_kind_of_scenario_is_measured_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_call, "measure", lambda *_: dict.fromkeys(("cold.wall.s", "warm.wall.s"), 1.0))
    monkeypatch.setattr(studies, "humanoid_with_far_spheres", lambda count: texts.stack_of_boxes(1 + count // 5))
    journal, chosen = Journal(), ("scenes.ten boxes", "far_pairs", "growth", "first_call.humanoid falls")
    for scenario in scenarios.SCENARIOS:
        if scenario.name in chosen:
            studies.measure(scenarios.smaller(scenario), studies.QUICK, journal)
    kinds = ("scenes.ten boxes.batch.float32.us", "far_pairs.5.us.native", "growth.power.native")
    assert {name for name in kinds if name not in journal.metrics} == set()
    assert journal.metrics["scenes.ten boxes.pairs"] == 55
    assert journal.metrics["scenes.ten boxes.missed"] == 0
    results = {**report.circumstances(), "rounds": 1, "seconds": 1, "quick": True, **asdict(journal)}
    text = page.write(results, tmp_path / "scenes.md").read_text()
    for title in ("## One state", "## Batches", "## What the steps report", "## Pairs that are far apart"):
        assert title in text
    assert "nan" not in text
    assert (tmp_path / "plots" / "scenes_ratio.svg").is_file()
    assert "| ten boxes | 55 |" in page.contact_table(results)


def test_the_page_is_that_of_the_result_file(tmp_path: Path) -> None:
    results = report.read(suites.results_of("scene_files"))
    assert page.write(results, tmp_path / "scenes.md").read_text() == page.PAGE.read_text()
    assert page.contact_table(results) in page.CONTACT.read_text()


def test_a_file_that_is_not_there_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "SCENE_FILES", Path("nowhere"))
    journal = Journal()
    studies.measure(scenarios.Motion("iiwa 14"), studies.QUICK, journal)
    assert journal.metrics == {}
    assert journal.notes[0].startswith("scenes.iiwa 14: not measured")


def test_notes_of_a_scene_go_when_it_is_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(scene: str) -> None:
        raise ModelError(f"{scene} has no inertia")

    monkeypatch.setattr(studies, "system", refuse)
    journal = Journal()
    for name in ("g1", "g1 falls"):
        studies.measure(scenarios.Motion(name), studies.QUICK, journal)
    again = dict.fromkeys(("date", "commit", "modified", "machine", "seconds", "quick"), "now")
    results = report.updated({"notes": journal.notes}, {**again, "notes": []}, ["scenes.g1"])
    assert results["notes"] == ["scenes.g1 falls: does not load: g1 falls has no inertia"]


@pytest.mark.parametrize("text", [texts.pile(7), texts.quadruped_on_height_field(all_shapes=True)])
def test_scenes_are_the_same_in_mujoco(text: str) -> None:
    scene = systems.system_of(text)
    assert (scene.robot.nq, scene.robot.nv) == (scene.model.nq, scene.model.nv)
    assert scene.robot.mass == pytest.approx(float(np.sum(scene.model.body_mass)))
    assert scene.dt == scene.model.opt.timestep


def test_boxes_fall_as_in_mujoco_before_they_touch() -> None:
    scene = systems.system_of(texts.pile(3, texts.SIMPLE_SHAPES))
    fallen = record(scene, stepper_of(scene), 10)
    data = mujoco_steps(scene, "dense", 10)()
    assert np.abs(fallen.q[-1] - mujoco_map(scene.robot).from_qpos(data.qpos)).max() < 1e-9
    assert fallen.finite
    assert len(fallen.q) == 10


def test_batches_are_smaller_where_steps_are_slow() -> None:
    assert batch_size(4096, 1e-6) == 4096
    assert batch_size(4096, 1e-3) == 64
    assert batch_size(4096, 1.0) == 16
    assert batch_size(16, 1e-5) == 16


def test_feet_alone_touch_unless_all_shapes_do() -> None:
    pairs = [systems.system_of(texts.quadruped_on_height_field(all_shapes=each)).pairs for each in (False, True)]
    assert pairs == [4, 13]
