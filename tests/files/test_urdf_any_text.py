# SPDX-License-Identifier: BSD-3-Clause
"""URDF and its loop file: any bytes whatsoever load as a mechanism of finite numbers, or raise a `LinkworkError`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwork.errors import LinkworkError
from linkwork.parsing.urdf.loop_file import parse_loop_file
from tests.files.test_loops_in_files import BALL, LINKAGE, LOOP, SIDE, linkage
from tests.files.test_urdf import ARM, DRAKE, END, FOLLOWER, TIP
from tests.support.mangled import (
    SAFE,
    check_that_it_loads_or_is_refused,
    with_any_numbers,
    with_bytes_overwritten,
    with_words_exchanged,
)

TREE = ARM.replace(
    END,
    f'<link name="tip"/><joint name="tip" type="floating"><parent link="upper"/><child link="tip"/></joint>'
    f'<frame name="f" link="tip" xyz="1 2 3"/><transmission {DRAKE}><joint name="shoulder"/>'
    '<actuator name="m"><drake:rotor_inertia value="1"/><drake:gear_ratio value="9"/></actuator></transmission>',
)
MIMIC = ARM.replace(END, TIP + FOLLOWER.format("revolute", "shoulder", 2))
COUPLED = linkage(
    '<coupling name="c"><predecessor link="bar"/><successor link="right"/><ratio value="6"/></coupling>'
    + LOOP.format("revolute")
    + BALL.format("bar", "2 0 0")
)
GAZEBO = linkage(
    """<gazebo><joint name="closing" type="revolute"><parent>bar</parent><child>right</child><pose>0 1 0 0 0 0</pose>
    <axis><xyz>0 0 1</xyz><limit><lower>-1</lower></limit></axis></joint></gazebo>"""
)
CLOSING = LINKAGE.replace("bar_end", "closing_a_1").replace("right_end", "closing_a_2")
SEEDS = st.sampled_from([TREE, MIMIC, COUPLED, GAZEBO, CLOSING])


VARIANTS = (
    {"base": "fixed", "inertias": "check"},
    {"base": "floating", "mimic": "ignore", "inertias": "trust", "dependent": "free"},
)


def only_linkwork_errors(text: bytes | str) -> None:
    check_that_it_loads_or_is_refused(text, "urdf", *VARIANTS)


@SAFE
@given(SEEDS.flatmap(with_words_exchanged))
@pytest.mark.filterwarnings("error")
def test_files_with_exchanged_words_raise_only_linkwork_errors(text: str) -> None:
    only_linkwork_errors(text)


@SAFE
@given(SEEDS.flatmap(with_bytes_overwritten))
def test_files_with_overwritten_bytes_raise_only_linkwork_errors(text: bytes) -> None:
    only_linkwork_errors(text)


@SAFE
@given(SEEDS.flatmap(with_any_numbers))
@pytest.mark.filterwarnings("error")
def test_any_numbers_raise_only_linkwork_errors(text: str) -> None:
    only_linkwork_errors(text)


@SAFE
@given(st.binary() | st.text())
def test_any_text_raises_only_linkwork_errors(text: bytes | str) -> None:
    only_linkwork_errors(text)


SIDES = SIDE + "joint_name: [q3, 'q2']\njoint_type:\n  - UJOINT_XY\n  - FIXED # comment\n"


@SAFE
@given(with_words_exchanged(SIDES) | with_bytes_overwritten(SIDES) | st.text() | st.binary())
def test_any_loop_file_raises_only_linkwork_errors(text: bytes | str) -> None:
    try:
        side = parse_loop_file(text)
    except LinkworkError:
        return
    assert all(isinstance(name, str) for name in side.frames)


def test_a_loop_file_of_nested_aliases_is_refused_at_once() -> None:
    bomb = "a: &a [x, x]\n" + "".join(f"{n}: &{n} [*{p}, *{p}]\n" for p, n in zip("abcdefgh", "bcdefghi", strict=True))
    with pytest.raises(LinkworkError, match="anchors"):
        parse_loop_file(bomb)
