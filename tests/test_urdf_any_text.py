"""URDF: any bytes whatsoever load as a mechanism of finite numbers, or raise a `LinkworkError`."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linkwork.errors import LinkworkError
from linkwork.parsing import parse_urdf
from test_urdf import ARM, DRAKE, END

SEED = ARM.replace(
    END,
    f'<link name="tip"/><joint name="tip" type="floating"><parent link="upper"/><child link="tip"/></joint>'
    f'<frame name="f" link="tip" xyz="1 2 3"/><transmission {DRAKE}><joint name="shoulder"/>'
    '<actuator name="m"><drake:rotor_inertia value="1"/><drake:gear_ratio value="9"/></actuator></transmission>',
)
TOKENS = re.findall(r'[\w:.-]+|"[^"]*"|\s+|[<>/="]', SEED)
NASTY = [
    "",
    '"',
    "<",
    ">",
    "/>",
    "&a;",
    '"1e308"',
    '"1e30"',
    '"-1e29 1e29 1e30"',
    '"1e-320"',
    '"nan"',
    '"-inf"',
    '"world"',
    '"\u0661"',
]
SAFE = settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def only_linkwork_errors(text: bytes | str) -> None:
    for options in ({"base": "fixed"}, {"base": "floating", "mimic": "ignore", "inertias": "trust"}):
        try:
            robot = parse_urdf(text, **options)  # type: ignore[arg-type]
        except LinkworkError:
            continue
        assert np.isfinite(robot.neutral()).all()
        assert all(np.isfinite(y.about_origin()).all() for y in robot.inertias.values())


@SAFE
@given(
    st.lists(
        st.tuples(st.integers(0, len(TOKENS) - 1), st.sampled_from(NASTY + sorted(set(TOKENS)))), min_size=1, max_size=4
    )
)
@pytest.mark.filterwarnings("error")
def test_files_with_exchanged_words_raise_only_linkwork_errors(edits: list[tuple[int, str]]) -> None:
    tokens = list(TOKENS)
    for at, token in edits:
        tokens[at] = token
    only_linkwork_errors("".join(tokens))


@SAFE
@given(st.integers(0, len(SEED)), st.integers(0, 60), st.binary(max_size=8))
def test_files_with_overwritten_bytes_raise_only_linkwork_errors(start: int, count: int, patch: bytes) -> None:
    text = SEED.encode()
    only_linkwork_errors(text[:start] + patch + text[start + count :])


@SAFE
@given(st.binary() | st.text())
def test_any_text_raises_only_linkwork_errors(text: bytes | str) -> None:
    only_linkwork_errors(text)


NUMBER = st.floats(allow_nan=True, allow_infinity=True).map(repr)


@SAFE
@given(st.data())
@pytest.mark.filterwarnings("error")
def test_any_numbers_raise_only_linkwork_errors(data: st.DataObject) -> None:
    text = re.sub(r"(?<=[\" ])-?[\d.]+(?=[\" ])", lambda m: data.draw(NUMBER | st.just(m.group())), SEED)
    only_linkwork_errors(text)
