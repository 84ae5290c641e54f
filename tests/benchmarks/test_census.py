# SPDX-License-Identifier: BSD-3-Clause
"""The census of robot files: what loads, what is refused with which reason, and how far motions are from MuJoCo's."""

from __future__ import annotations

from pathlib import Path

from linkwork_benchmarks import census

BALL = """<mujoco><option cone="elliptic"/><worldbody><geom type="plane" size="5 5 .1"/><body pos="0 0 .3"><freejoint/>
<geom size=".1"/><site name="s"/></body></worldbody><sensor><accelerometer name="a" site="s"/></sensor></mujoco>"""
ARM = """<mujoco><worldbody><body name="base"><geom size=".05"/><body><joint name="j" axis="0 1 0" damping="2"/>
<geom pos=".3 0 0" size=".1"/></body></body></worldbody><tendon><fixed name="t"><joint joint="j" coef="2"/></fixed>
</tendon><actuator><position tendon="t" kp="3"/></actuator></mujoco>"""
REFUSED = ARM.replace('name="j"', 'name="j" stiffness="1" springyield=".1"')


def test_files_are_compared_with_mujoco(tmp_path: Path) -> None:
    texts = {"ball": BALL, "arm": ARM, "yields": REFUSED, "no model": "<mujoco/", "part": "<mujoco/>"}
    for name, text in texts.items():
        (tmp_path / f"{name}.xml").write_text(text)
    entries = {entry.file: entry for entry in census.census(tmp_path, motion=True)}
    assert sorted(entries) == ["arm.xml", "ball.xml", "yields.xml"]
    assert "springyield" in entries["yields.xml"].refused
    ball, arm = entries["ball.xml"].numbers, entries["arm.xml"].numbers
    assert ball["1 s"] < 1e-6 and ball["cone"] == 0 and ball["sensors"] < 1e-12
    assert arm["tendons"] < 1e-15 and arm["torques"] < 1e-14 and arm["5 s"] < 1e-6
    said = census.summary("here", list(entries.values()))
    assert said.startswith("here: 2 of 3 load") and "2 of 2 within 1 cm" in said
    assert "refused: UnsupportedFeature" in census.line(entries["yields.xml"])


def test_folders_are_collections_of_their_own(tmp_path: Path) -> None:
    assert census.folders([str(tmp_path)]) == {str(tmp_path): tmp_path}
    assert census.folders(["scenes"])["scenes"] == census.SCENE_FILES
