# SPDX-License-Identifier: BSD-3-Clause
"""Layouts of plans: arrays of the declared type and shape, sizes that follow from them, and what does not fit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwork.plans.layout import Layout, ragged

SMALL = Layout("small", ("n", "nf"), {"parent": ("n",), "body": ("nf",)}, {"P": ("n", 3, 3), "f": ("nf", 3), "g": (3,)})
LARGER = SMALL.extended("larger", ("nc",), {"row": ("nc",)}, {"scale": ("n", "nc")})
GIVEN = {"parent": [0, 0], "body": [], "P": np.zeros((2, 3, 3)), "f": [], "g": (0, 0, -9.81)}


def test_arrays_get_their_type_and_shape_and_sizes_follow() -> None:
    tree = SMALL.build(**GIVEN)
    assert (tree.n, tree.nf) == (2, 0)
    assert tree.parent.dtype == np.int64 and tree.P.dtype == tree.g.dtype == np.float64
    assert tree.body.shape == (0,) and tree.f.shape == (0, 3)
    assert tuple(tree._fields) == ("n", "nf", "parent", "body", "P", "f", "g")


def test_an_extension_takes_over_and_replaces() -> None:
    tree = SMALL.build(**GIVEN)
    more = LARGER.build(tree, row=[4, 5, 6], scale=np.ones((2, 3)), body=[1], f=[[1, 2, 3]])
    assert (more.n, more.nf, more.nc) == (2, 1, 3)
    assert more.P is tree.P and more.f.tolist() == [[1.0, 2.0, 3.0]]


def test_arrays_that_disagree_are_refused() -> None:
    tree = SMALL.build(**GIVEN)
    with pytest.raises(ValueError, match=r"array 'f' of layout 'larger' has shape \(0, 3\), not \(1, 3\)"):
        LARGER.build(tree, row=[4], scale=np.ones((2, 1)), body=[1])
    with pytest.raises(ValueError, match="array 'body'"):
        SMALL.build(**GIVEN | {"body": [1], "nf": 0})


def test_an_entry_of_the_extended_layout_is_refused() -> None:
    with pytest.raises(ValueError, match="layout 'largest' has entries of 'larger' again: nc, P"):
        LARGER.extended("largest", ("nc", "nd"), {"column": ("nd",)}, {"P": ("nd",)})


@given(st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=6))
def test_ragged_lists_are_found_again(lists: list[list[int]]) -> None:
    found = ragged(lists)
    parts = zip(found.start.tolist(), found.count.tolist(), strict=True)
    assert [found.entries[start : start + count].tolist() for start, count in parts] == lists
