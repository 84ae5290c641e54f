# SPDX-License-Identifier: BSD-3-Clause
"""LCABA in orders that a spanning tree does not allow (**loops** Section VII-B): two links of a chain as one.

The links of one side of a loop are eliminated while the body on the other side is their neighbor. Leaves first: the
projection of a joint, then the transform to the next link, of the articulated inertia and of the coupling. Or each
second link goes before the one it carries, as a rigid body: this leaves a joint of two degrees of freedom, and one
transform instead of two. Both in numbers that count operations, independent of the library's kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from tests.support import REPOSITORY
from tests.support.counted import Counted, Tally, plain
from tests.support.states import Floats

LINKS = 6
TWISTS = {"parallel": 0.0, "perpendicular": np.pi / 2, "oblique": 0.7}


class Link(NamedTuple):
    """A link, its inertia at its origin, and its joint about z: first turned by ``q``, then by the constant ``P``."""

    inertia: Floats
    turn: Floats
    P: Floats
    r: Floats


Elimination = Callable[[list[Link], Floats, Floats], Floats]


def skew(r: Floats) -> Floats:
    zero = r[0] - r[0]
    return np.array([[zero, -r[2], r[1]], [r[2], zero, -r[0]], [-r[1], r[0], zero]])


def chain(twist: float, tally: Tally) -> list[Link]:
    rng, links = np.random.default_rng(1), []
    for _ in range(LINKS):
        q, m, c = rng.uniform(0.3, 1.2), rng.uniform(0.5, 2.0), rng.normal(size=3)
        turn = np.array([[np.cos(q), -np.sin(q), 0], [np.sin(q), np.cos(q), 0], [0, 0, 1.0]])
        cos, sin = np.round((np.cos(twist), np.sin(twist)), 15)
        P = np.array([[1.0, 0, 0], [0, cos, -sin], [0, sin, cos]])
        A = rng.normal(size=(3, 3))
        S = m * skew(c)
        inertia = np.block([[A @ A.T + np.eye(3) - S @ skew(c), S], [S.T, m * np.eye(3)]])
        links.append(Link(*(tally.numbers(x) for x in (inertia, turn, P, rng.normal(size=3)))))
    return links


def forces_to_parent(rotations: list[Floats], r: Floats, F: Floats) -> Floats:
    """Columns of forces in the parent's axes, about its origin."""
    n, f = F[:3], F[3:]
    for R in rotations:
        n, f = R @ n, R @ f
    return np.vstack([n + skew(r) @ f, f])


def symmetric(A: Floats, B: Floats) -> Floats:
    """``A B``, which is symmetric: entries of the upper triangle alone are computed."""
    C = np.empty((3, 3), dtype=object)
    for j in range(3):
        for k in range(j, 3):
            C[j, k] = C[k, j] = A[j] @ B[:, k]
    return C


def inertia_to_parent(rotations: list[Floats], r: Floats, H: Floats) -> Floats:
    I, C, M = H[:3, :3], H[:3, 3:], H[3:, 3:]
    for R in rotations:
        I, C, M = symmetric(R @ I, R.T), R @ C @ R.T, symmetric(R @ M, R.T)
    shifted = C + skew(r) @ M
    added = np.empty((3, 3), dtype=object)
    first, second = skew(r), skew(r).T
    for j in range(3):
        for k in range(j, 3):
            added[j, k] = added[k, j] = I[j, k] + first[j] @ C.T[:, k] + shifted[j] @ second[:, k]
    return np.block([[added, shifted], [shifted.T, M]])


def rigid_to_parent(rotations: list[Floats], r: Floats, H: Floats) -> Floats:
    """The same for a rigid body: mass, first moments and rotational inertia."""
    m, c, I = H[5, 5], np.array([H[2, 4], H[0, 5], H[1, 3]]), H[:3, :3]
    for R in rotations:
        c, I = R @ c, symmetric(R @ I, R.T)
    moved = c + r * m
    S, zero = skew(moved), m - m
    M = np.array([[m, zero, zero], [zero, m, zero], [zero, zero, m]])
    return np.block([[I - symmetric(skew(r), skew(c)) - symmetric(S, skew(r)), S], [S.T, M]])


def subtract(H: Floats, U: Floats, V: Floats) -> Floats:
    """``H - U V'``, symmetric."""
    result = H.copy()
    for j in range(6):
        for k in range(j, 6):
            result[j, k] = result[k, j] = H[j, k] - U[j] * V[k]
    return result


def project(H: Floats, C: Floats, N: Floats, U: Floats, B: Floats, D: Counted) -> tuple[Floats, Floats, Floats]:
    """Inertia, coupling to the neighbor and the neighbor's inertia without a joint: ``H U``, ``B = S' C``, ``D``."""
    V, W = U / D, B / D
    return subtract(H, V, U), C - np.outer(V, B), subtract(N, B, W)


def leaves_first(links: list[Link], C: Floats, N: Floats) -> Floats:
    """The neighbor's inertia without the links of the chain, tip first."""
    H = links[-1].inertia
    for link, below in zip(reversed(links), [*reversed(links[:-1]), None], strict=True):
        H, C, N = project(H, C, N, H[:, 2], C[2], H[2, 2])
        if below is not None:
            rotations = [link.turn, link.P]
            H = below.inertia + inertia_to_parent(rotations, link.r, H)
            C = forces_to_parent(rotations, link.r, C)
    return N


def two_by_two(links: list[Link], C: Floats, N: Floats) -> Floats:
    """The same with each second link eliminated before the one that it carries."""
    H = links[-1].inertia
    pairs = list(zip(links[::2], links[1::2], strict=True))
    for (inner, outer), below in zip(reversed(pairs), [*reversed(pairs[:-1]), None], strict=True):
        rotations = [inner.turn, inner.P]
        to_inner = outer.P @ outer.turn
        axis = to_inner[2]  # of the inner joint, in the outer link's axes
        S = np.concatenate([axis, np.cross(axis, to_inner.T @ outer.r)])
        H, C, N = project(H, C, N, H[:, 2], C[2], H[2, 2])
        U, B = H @ S, S @ C
        D = S @ U + inner.inertia[2, 2]
        if below is None:
            return subtract(N, B, B / D)
        combined, r = [inner.P @ inner.turn @ to_inner], inner.r + inner.P @ (inner.turn @ outer.r)
        H = inertia_to_parent(combined, r, H) + rigid_to_parent(rotations, inner.r, inner.inertia)
        C = forces_to_parent(combined, r, C)
        U = forces_to_parent(combined, r, U[:, None])[:, 0]
        U = U + forces_to_parent(rotations, inner.r, inner.inertia[:, 2:3])[:, 0]
        H, C, N = project(H, C, N, U, B, D)
        H = below[1].inertia + H
    return N


def dense(links: list[Link], C: Floats, N: Floats) -> Floats:
    """``N - C' J M^-1 J' C`` with J of the tip, by dense algebra."""
    J, M = np.zeros((6, 0)), np.zeros((0, 0))
    for link in links:
        turn, P, r, H = (plain(x) for x in (link.turn, link.P, link.r, link.inertia))
        E = (P @ turn).T
        X = np.block([[E, np.zeros((3, 3))], [-E @ skew(r), E]])
        J = np.hstack([X @ J, np.eye(6)[:, 2:3]])
        M = np.pad(M, (0, 1)) + J.T @ H @ J
    JC = J.T @ plain(C)
    return plain(N) - JC.T @ np.linalg.solve(M, JC)


def counted(twist: float, by: Elimination, coupled: bool = True) -> tuple[int, Floats, Floats]:
    """Operations, the neighbor's inertia, and what dense algebra says; without a neighbor where not ``coupled``."""
    tally = Tally()
    links = chain(twist, tally)
    rng = np.random.default_rng(2)
    A = rng.normal(size=(6, 6))
    C, N = tally.numbers(coupled * rng.normal(size=(6, 6))), tally.numbers(A @ A.T + 100 * np.eye(6))
    tally.operations = 0
    result = by(links, C, N)
    return tally.operations, plain(result), dense(links, C, N)


@pytest.mark.parametrize("twist", TWISTS.values(), ids=TWISTS)
def test_both_orders_give_the_inertia_of_dense_algebra(twist: float) -> None:
    for by in (leaves_first, two_by_two):
        _, result, exact = counted(twist, by)
        assert np.abs(np.triu(result - exact)).max() <= 1e-10 * np.abs(exact).max()


PAGE = REPOSITORY / "docs" / "internals" / "decisions" / "loops.md"


def test_operations_of_both_orders_are_those_on_the_page() -> None:
    table = PAGE.read_text().split("<!-- orders -->")[1].split("<!-- /orders -->")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")][1:]
    printed = {name: [int(cell.replace(" ", "")) for cell in cells] for name, *cells in rows}
    assert printed == {
        name: [counted(twist, by, coupled)[0] for coupled in (False, True) for by in (leaves_first, two_by_two)]
        for name, twist in TWISTS.items()
    }


def test_pairs_of_parallel_joints_alone_are_cheaper_as_one_joint() -> None:
    saved = {
        (name, coupled): counted(twist, leaves_first, coupled)[0] - counted(twist, two_by_two, coupled)[0]
        for name, twist in TWISTS.items()
        for coupled in (False, True)
    }
    assert saved["parallel", True] > 0 and saved["parallel", False] > 0
    assert saved["perpendicular", True] < 0 and saved["perpendicular", False] < 0
