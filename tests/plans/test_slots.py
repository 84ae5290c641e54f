# SPDX-License-Identifier: BSD-3-Clause
"""Slots of sweeps: no two bodies in need share one, and there are few of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkwork as lw
from linkwork.plans.slots import slots_of
from linkwork.plans.tree import tree_of


@st.composite
def parents(draw: st.DrawFn) -> list[int]:
    """Any tree whose bodies come after their parents."""
    n = draw(st.integers(1, 30))
    return [0, *(draw(st.integers(0, i - 1)) for i in range(1, n))]


def in_need(parent: list[int], turn: int, forward: bool) -> list[int]:
    """The bodies whose arrays a sweep will still read, or is writing, at the turn of a body."""
    n = len(parent)
    children = [[i for i in range(1, n) if parent[i] == h] for h in range(n)]
    if forward:
        return [i for i in range(turn + 1) if i == turn or any(c >= turn for c in children[i])]
    return [i for i in range(1, turn + 1) if i == turn or any(c >= turn for c in children[i])]


@given(parents())
def test_bodies_in_need_have_slots_of_their_own(parent: list[int]) -> None:
    slots = slots_of(parent)
    for turn in range(len(parent)):
        needed = in_need(parent, turn, forward=True)
        assert len({int(slots.forward[i]) for i in needed}) == len(needed)
    for turn in range(len(parent) - 1, 0, -1):
        needed = in_need(parent, turn, forward=False)
        assert len({int(slots.backward[i]) for i in needed}) == len(needed)


@given(parents())
def test_there_are_no_more_slots_than_bodies_in_need(parent: list[int]) -> None:
    slots = slots_of(parent)
    most = max(len(in_need(parent, turn, forward=True)) for turn in range(len(parent)))
    assert slots.forward_count == most
    turns = range(1, len(parent))
    assert slots.backward_count == max((len(in_need(parent, turn, forward=False)) for turn in turns), default=1)


@pytest.mark.parametrize("links", [1, 2, 30])
def test_a_chain_needs_two_slots(links: int) -> None:
    tree = tree_of(lw.zoo.pendulum(links))
    assert tree.nforward == 2
    assert tree.nbackward == min(links, 2)


def test_folded_arrays_take_less_memory_and_give_the_same() -> None:
    """A long chain and a bush, natively and as the text stands."""
    for robot in (lw.zoo.pendulum(40), lw.zoo.random_tree(3, bodies=25)):
        fd = lw.ForwardDynamics(robot, threads=1)
        algorithm = fd.program.algorithm
        assert set(algorithm.folded) == {"omega", "W", "c", "a", "accel_field", "H"}
        rng = np.random.default_rng(0)
        q = robot.integrate(robot.neutral(), rng.normal(size=(9, robot.nv)))
        v, tau = rng.normal(size=(2, 9, robot.nv))
        plain = np.array([fd.plain()(*x).acceleration for x in zip(q, v, tau, strict=True)])
        scale = np.abs(plain).max()
        for found in (fd(q, v, tau).acceleration, np.array([fd(*x).acceleration for x in zip(q, v, tau, strict=True)])):
            np.testing.assert_allclose(found, plain, rtol=0, atol=1e-11 * scale)
