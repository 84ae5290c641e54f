# SPDX-License-Identifier: BSD-3-Clause
"""Forward dynamics of a serial chain by divide and conquer (**lqr** Section IX-E), by NumPy alone: no kernel.

ABA is a Riccati recursion, and such a recursion is an associative scan: an *element* is what the links i to j do to the
acceleration x of the link before them and y of the last one,

    max over l of  -l' C l / 2 - l' (y - A x - b),  plus  x' J x / 2 - eta' x,

elements of neighbors combine to one, and those from each link to the tip are combined in a tree of depth log n, as are
the affine maps from link to link of the forward sweep. All in the world's axes about its origin, so that no transforms
are counted. Arrays may be of `Counted` numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from linkwork.mechanism import Mechanism
from linkwork.model.joints import Revolute
from tests.support.counted import Tally
from tests.support.newton_euler import rotation
from tests.support.states import Floats

T = TypeVar("T")


class Link(NamedTuple):
    """A link: inertia, motion subspace, bias acceleration, bias force, torque of its joint."""

    I: Floats
    S: Floats
    c: Floats
    p: Floats
    tau: Any


class Element(NamedTuple):
    """Links in a row, without their joint accelerations."""

    A: Floats
    b: Floats
    C: Floats
    eta: Floats
    J: Floats


class Step(NamedTuple):
    """``a -> F a + f``: the acceleration of a link from that of another one."""

    F: Floats
    f: Floats


def skew(r: Floats) -> Floats:
    return np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])


def links_of(robot: Mechanism, q: Floats, v: Floats, tau: Floats, tally: Tally | None = None) -> list[Link]:
    """Spatial quantities of a chain of revolute joints, in the world's axes about its origin."""
    R, o, velocity, links = np.eye(3), np.zeros(3), np.zeros(6), []
    for k, joint in enumerate(robot.joints):
        assert isinstance(joint.type, Revolute)
        o = o + R @ joint.placement.position
        R = R @ joint.placement.rotation @ rotation(joint.type.axis, float(q[k]))
        axis = R @ joint.type.axis
        S = np.concatenate([axis, np.cross(o, axis)])
        w, u = velocity[:3], velocity[3:]
        c = v[k] * np.concatenate([np.cross(w, axis), np.cross(u, axis) + np.cross(w, S[3:])])
        velocity = velocity + v[k] * S
        inertia = robot.inertias[joint.child]
        com = skew(o + R @ inertia.com)
        m = inertia.mass
        I = np.block(
            [[R @ inertia.rotational @ R.T - m * com @ com, m * com], [m * com.T, m * np.eye(3)]],
        )
        n, f = np.split(I @ velocity, 2)
        w, u = velocity[:3], velocity[3:]
        p = np.concatenate([np.cross(w, n) + np.cross(u, f), np.cross(w, f)])
        parts = (I, S, c, p, np.array(tau[k]))
        links.append(Link(*(x[()] if tally is None else tally.numbers(x)[()] for x in parts)))
    return links


def one(like: Floats) -> Floats:
    """The identity, in numbers of this kind."""
    tally = getattr(like[0, 0], "tally", None)
    return np.eye(6) if tally is None else tally.numbers(np.eye(6))


def element(link: Link) -> Element:
    """One link, its joint acceleration eliminated."""
    I, S, c, p, tau = link
    U = I @ S
    T = S / (S @ U)
    A = one(I) - np.outer(T, U)
    J = I - np.outer(U, U / (S @ U))
    free = S @ p - tau
    return Element(A, A @ c - T * free, np.outer(T, S), -(J @ c + p - U * (free / (S @ U))), J)


def combine(first: Element, second: Element) -> Element:
    """Links of the first element, then those of the second."""
    right = np.hstack(
        [first.A, (first.b + first.C @ second.eta)[:, None], first.C @ second.A.T],
    )
    solved = solve(one(first.C) + first.C @ second.J, right)
    A, b, C = solved[:, :6], solved[:, 6], solved[:, 7:]
    return Element(
        second.A @ A,
        second.A @ b + second.b,
        second.A @ C + second.C,
        A.T @ (second.eta - second.J @ first.b) + first.eta,
        A.T @ (second.J @ first.A) + first.J,
    )


def solve(E: Floats, B: Floats) -> Floats:
    """``E^-1 B`` by elimination with pivots from the rows, and no inverse of what is zero."""
    W = np.hstack([E, B])
    n = len(E)
    for k in range(n):
        pivot = k + int(np.argmax([abs(float(x)) for x in W[k:, k]]))
        W[[k, pivot]] = W[[pivot, k]]
        W[k, k + 1 :] = W[k, k + 1 :] / W[k, k]
        for i in range(k + 1, n):
            W[i, k + 1 :] = W[i, k + 1 :] - W[k, k + 1 :] * W[i, k]
    for k in range(n - 1, -1, -1):
        for i in range(k):
            W[i, n:] = W[i, n:] - W[k, n:] * W[i, k]
    return W[:, n:]


def scan(items: list[T], join: Callable[[T, T], T]) -> list[T]:
    """Items joined with all before them: about 2 n joints in 2 log n rounds."""
    if len(items) < 2:
        return items
    pairs = scan([join(a, b) for a, b in zip(items[::2], items[1::2], strict=False)], join)
    result = [items[0]]
    for k in range(1, len(items)):
        result.append(pairs[k // 2] if k % 2 else join(pairs[k // 2 - 1], items[k]))
    return result


def closing(link: Link, J: Floats, eta: Floats) -> tuple[Step, Floats, Any]:
    """The step over a link that carries the rest of the chain; joint acceleration ``k - K' a`` of the link before."""
    I, p = link.I + J, link.p - eta
    U = I @ link.S
    K = U / (link.S @ U)
    k = (link.tau - link.S @ p) / (link.S @ U) - K @ link.c
    return Step(one(I) - np.outer(link.S, K), link.c + link.S * k), K, k


def accelerations(links: list[Link], root: Floats, parallel: bool) -> Floats:
    """Joint accelerations; ``root`` is the acceleration of the world, against gravity.

    Args:
        links: The chain.
        root: Of the kind of its numbers.
        parallel: By scans; else one link after another, which is ABA.
    """
    zero = links[0].I - links[0].I
    after: list[tuple[Floats, Floats]] = [(zero, zero[0])]
    if parallel:
        suffixes = scan([element(link) for link in reversed(links[1:])], lambda a, b: combine(b, a))
        after = [(e.J, e.eta) for e in reversed(suffixes)] + after
    else:
        for link in reversed(links[1:]):
            J, eta = after[0]
            I, p = link.I + J, link.p - eta
            U = I @ link.S
            V = U / (link.S @ U)
            Ja = I - np.outer(V, U)
            after.insert(0, (Ja, -(Ja @ link.c + p + V * (link.tau - link.S @ p))))
    closed = [closing(link, J, eta) for link, (J, eta) in zip(links, after, strict=True)]
    before = [root]
    if parallel:
        steps = scan([step for step, _, _ in closed[:-1]], lambda a, b: Step(b.F @ a.F, b.F @ a.f + b.f))
        before += [step.F @ root + step.f for step in steps]
    else:
        for (_, K, k), link in zip(closed[:-1], links[:-1], strict=True):
            before.append(before[-1] + link.c + link.S * (k - K @ before[-1]))
    return np.array([k - K @ a for (_, K, k), a in zip(closed, before, strict=True)])
