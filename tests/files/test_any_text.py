# SPDX-License-Identifier: BSD-3-Clause
"""SDF, URDF and its loop file: any text loads as a mechanism of finite numbers, or raises a `LinkworkError`.

Noise in their bytes is in `test_mutated_files`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwork.errors import LinkworkError
from linkwork.parsing.urdf.loop_file import parse_loop_file
from tests.files.test_loops_in_files import BALL, LINKAGE, LOOP, SIDE, linkage
from tests.files.test_sdf import ARM as SDF_ARM
from tests.files.test_sdf import AXIS, GEARBOX, HERE, ROD, edited, frame, joint, mimic
from tests.files.test_urdf import ARM as URDF_ARM
from tests.files.test_urdf import DRAKE, END, FOLLOWER, TIP
from tests.support.mangled import (
    SAFE,
    check_that_it_loads_or_is_refused,
    with_any_numbers,
    with_bytes_overwritten,
    with_words_exchanged,
)

FRAMES = edited(HERE, frame("a", "upper", "b", "0 1 0 0 0 0.5") + frame("b", "base", "", "0 1 0 0 0 0"))
GEARED = edited(HERE, GEARBOX.format(rod=ROD, a="base", b="motor", m=1, x=1, y=AXIS))
NESTED = edited(
    HERE,
    f"""<model name="tool" placement_frame="hand"><pose relative_to="upper">0 0 1 0 0 0</pose><link name="hand">{ROD}
    </link></model><joint name="mount" type="ball"><parent>upper</parent><child>tool::hand</child></joint>""",
)
LOOPED = edited(HERE, joint("screw", f"<axis>{AXIS}</axis><screw_thread_pitch>0.5</screw_thread_pitch>")).replace(
    "</model>", '<joint name="k" type="ball"><parent>base</parent><child>tip</child></joint></model>'
)
OLD = SDF_ARM.replace("1.8", "1.4")

TREE = URDF_ARM.replace(
    END,
    f'<link name="tip"/><joint name="tip" type="floating"><parent link="upper"/><child link="tip"/></joint>'
    f'<frame name="f" link="tip" xyz="1 2 3"/><transmission {DRAKE}><joint name="shoulder"/>'
    '<actuator name="m"><drake:rotor_inertia value="1"/><drake:gear_ratio value="9"/></actuator></transmission>',
)
MIMIC = URDF_ARM.replace(END, TIP + FOLLOWER.format("revolute", "shoulder", 2))
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

SEEDS = {
    "sdf": (FRAMES, GEARED, NESTED, LOOPED, OLD, edited(HERE, mimic("<offset>1</offset>"))),
    "urdf": (TREE, MIMIC, COUPLED, GAZEBO, CLOSING),
}
VARIANTS: dict[str, tuple[dict[str, Any], ...]] = {
    "sdf": ({"inertias": "check"}, {"base": "fixed", "mimic": "ignore", "inertias": "trust"}),
    "urdf": (
        {"base": "fixed", "inertias": "check"},
        {"base": "floating", "mimic": "ignore", "inertias": "trust", "dependent": "free"},
    ),
}
DAMAGE: dict[str, Callable[[str], st.SearchStrategy[Any]]] = {
    "words exchanged": with_words_exchanged,
    "any numbers": with_any_numbers,
    "any text": lambda seed: st.binary() | st.text(),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("format", SEEDS)
@pytest.mark.filterwarnings("error")
def test_damaged_files_load_or_raise_linkwork_errors(format: str, damage: str) -> None:
    @SAFE
    @given(st.sampled_from(SEEDS[format]).flatmap(DAMAGE[damage]))
    def loads_or_is_refused(text: bytes | str) -> None:
        check_that_it_loads_or_is_refused(text, format, *VARIANTS[format])

    loads_or_is_refused()


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
