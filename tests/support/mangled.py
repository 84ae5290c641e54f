# SPDX-License-Identifier: BSD-3-Clause
"""Texts of model files with words exchanged, bytes overwritten and numbers replaced: nothing may break a loader."""

from __future__ import annotations

import re
import warnings

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import linkwork as lw
from linkwork.errors import LinkworkError, ModelWarning

SAFE = settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow])

NASTY = [
    "",
    '"',
    "<",
    ">",
    "/>",
    "&a;",
    "1e308",
    '"1e308"',
    '"1e30"',
    '"-1e29 1e29 1e30"',
    '"1e-320"',
    '"nan"',
    '"-inf"',
    "world",
    '"world"',
    '"\u0661"',
    "[",
    "*a",
]
NUMBER = st.floats(allow_nan=True, allow_infinity=True).map(repr)


def with_words_exchanged(seed: str) -> st.SearchStrategy[str]:
    """The seed with up to four words replaced by others of it, or by nasty ones."""
    tokens = re.findall(r'[\w:.-]+|"[^"]*"|\s+|[^\w\s]', seed)
    edits = st.tuples(st.integers(0, len(tokens) - 1), st.sampled_from(NASTY + sorted(set(tokens))))

    def apply(changes: list[tuple[int, str]]) -> str:
        words = list(tokens)
        for at, token in changes:
            words[at] = token
        return "".join(words)

    return st.lists(edits, min_size=1, max_size=4).map(apply)


def with_bytes_overwritten(seed: str) -> st.SearchStrategy[bytes]:
    """The seed with some bytes replaced by any others."""
    text = seed.encode()

    def apply(change: tuple[int, int, bytes]) -> bytes:
        start, count, patch = change
        return text[:start] + patch + text[start + count :]

    return st.tuples(st.integers(0, len(text)), st.integers(0, 60), st.binary(max_size=8)).map(apply)


@st.composite
def with_any_numbers(draw: st.DrawFn, seed: str) -> str:
    """The seed with some numbers replaced by any others."""
    return re.sub(r"(?<=[\"> ])-?[\d.]+(?=[\"< ])", lambda m: draw(NUMBER | st.just(m.group())), seed)


def check_that_it_loads_or_is_refused(text: bytes | str, format: str, *variants: dict[str, str]) -> None:
    """A text loads as a mechanism of finite numbers, or raises a `LinkworkError`, with each of some options."""
    for options in variants:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ModelWarning)
                robot = lw.loads(text, format, **options)  # type: ignore[arg-type]
        except LinkworkError:
            continue
        assert np.isfinite(robot.neutral()).all()
        assert all(np.isfinite(y.about_origin()).all() for y in robot.inertias.values())
