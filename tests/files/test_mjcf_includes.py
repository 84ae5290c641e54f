# SPDX-License-Identifier: BSD-3-Clause
"""MJCF: included files stand in their places; outside of the model's folder nothing but MJCF is read."""

from __future__ import annotations

from pathlib import Path

import pytest

import linkwork as lw
from linkwork.errors import ModelError
from tests.support.mjcf_texts import SOLID, agrees, body, model


def write(folder: Path, **files: str) -> Path:
    """Files called ``name.xml``; ``__`` stands for a folder. The first is the model."""
    paths = [folder / f"{name.replace('__', '/')}.xml" for name in files]
    for path, text in zip(paths, files.values(), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return paths[0]


def test_included_files_stand_in_the_place_of_the_include(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        robot=model(
            '<body name="a"><include file="parts/arm.xml"/></body><include file="more.xml"/>',
            '<include file="set.xml"/>',
        ),
        parts__arm=f'<mujocoinclude>{SOLID}<joint class="d"/><include file="tip.xml"/></mujocoinclude>',
        parts__tip=f"<x>{body('<joint/>')}</x>",
        more=f"<x>{body('<freejoint/>')}</x>",
        set='<mujoco><default><include file="parts/class.xml"/></default><option gravity="0 0 -1"/></mujoco>',
        parts__class='<x><default class="d"><joint armature="2"/></default></x>',
    )
    robot = lw.load(path)
    agrees(robot, path)
    assert robot.gravity[2] == -1
    assert robot.nv == 8


def test_a_file_seen_from_the_model_goes_before_one_seen_from_where_it_is_included(tmp_path: Path) -> None:
    named = '<x><body name="{}"/></x>'
    path = write(
        tmp_path,
        robot=model('<include file="a/b.xml"/>'),
        a__b='<x><include file="c.xml"/></x>',
        c=named.format("near"),
        a__c=named.format("far"),
    )
    agrees(lw.load(path), path)
    assert "near" in lw.load(path).frame_names


INCLUDES = {
    "itself": ({"robot": model('<include file="robot.xml"/>')}, "a second time, or includes itself"),
    "in a circle": (
        {
            "robot": model('<include file="a.xml"/>'),
            "a": '<x><include file="b.xml"/></x>',
            "b": '<x><include file="a.xml"/></x>',
        },
        "a second time, or includes itself",
    ),
    "twice": ({"robot": model('<include file="a.xml"/><include file="./a.xml"/>'), "a": "<x/>"}, "a second time"),
    "absent": ({"robot": model('<include file="a.xml"/>')}, "there is no file 'a.xml'"),
    "unnamed": ({"robot": model("<include/>")}, "attribute 'file' is missing"),
    "outside": ({"in__robot": model('<include file="../out.xml"/>'), "out": "<x/>"}, "'../out.xml' is no MJCF file$"),
    "broken outside": ({"in__robot": model('<include file="../out.xml"/>'), "out": "<secret>"}, "is no MJCF file$"),
    "absolute": ({"robot": model('<include file="/etc/hostname"/>')}, "out of the model's folder"),
    "broken": ({"robot": model('<include file="a.xml"/>'), "a": "<x>"}, "not well-formed"),
    "a folder": ({"robot": model('<include file="a"/>'), "a__b": "<x/>"}, "there is no file"),
    "a byte": ({"robot": model('<include file="&#233;&#1114109;"/>')}, "there is no file|is no file name"),
}


@pytest.mark.parametrize("case", INCLUDES)
def test_a_wrong_include_is_an_error(tmp_path: Path, case: str) -> None:
    files, message = INCLUDES[case]
    with pytest.raises(ModelError, match=message):
        lw.load(write(tmp_path, **files))


def test_files_beside_the_folder_are_included_by_relative_paths(tmp_path: Path) -> None:
    part = '<mujocoinclude><body name="b"><joint/><geom size=".1"/></body></mujocoinclude>'
    path = write(tmp_path, robots__robot=model('<include file="../parts/part.xml"/>'), parts__part=part)
    assert lw.load(path).nv == 1


def test_no_link_leads_out_of_the_folder(tmp_path: Path) -> None:
    path = write(tmp_path, in__robot=model('<include file="a.xml"/>'), out="<x/>")
    (tmp_path / "in" / "a.xml").symlink_to(tmp_path / "out.xml")
    with pytest.raises(ModelError, match="out of the model's folder"):
        lw.load(path)


def test_includes_within_each_other_end(tmp_path: Path) -> None:
    files = {f"f{k}": f'<x><include file="f{k + 1}.xml"/></x>' for k in range(40)}
    with pytest.raises(ModelError, match="more than 30 includes"):
        lw.load(write(tmp_path, robot=model('<include file="f0.xml"/>'), **files))


def test_a_text_includes_nothing() -> None:
    with pytest.raises(ModelError, match="only when it is loaded from one"):
        lw.loads(model('<include file="a.xml"/>'), "mjcf")


def test_bodies_may_be_nested_deeply(tmp_path: Path) -> None:
    """Deeper than Python calls itself: each file as deep as XML may be, files within files."""
    deep = 200
    files = {}
    for k in range(10):
        inner = f'<include file="f{k + 1}.xml"/>' if k < 9 else ""
        files[f"f{k}"] = f"<x>{'<body><frame>' * (deep // 2)}{inner}{'</frame></body>' * (deep // 2)}</x>"
    robot = lw.load(write(tmp_path, robot=model('<include file="f0.xml"/>'), **files))
    assert len(robot.frames) == 1 + 10 * deep // 2
