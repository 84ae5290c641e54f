# SPDX-License-Identifier: BSD-3-Clause
"""SDF: any bytes whatsoever load as a mechanism of finite numbers, or raise a `LinkworkError`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.files.test_sdf import ARM, AXIS, GEARBOX, HERE, ROD, edited, frame, joint, mimic
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
OLD = ARM.replace("1.8", "1.4")
SEEDS = st.sampled_from([FRAMES, GEARED, NESTED, LOOPED, OLD, edited(HERE, mimic("<offset>1</offset>"))])


VARIANTS = (
    {"inertias": "check"},
    {"base": "fixed", "mimic": "ignore", "inertias": "trust"},
)


def only_linkwork_errors(text: bytes | str) -> None:
    check_that_it_loads_or_is_refused(text, "sdf", *VARIANTS)


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
