# SPDX-License-Identifier: BSD-3-Clause
"""Links and joints of a file as a graph: what is connected, and where a part that nothing holds has its root."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

Ends = Sequence[tuple[str, str]]
"""Parent and child of each joint."""


def connected_parts(links: Iterable[str], joints: Ends) -> list[set[str]]:
    """The connected components of links and joints, in the order of their first links."""
    neighbors: dict[str, list[str]] = {link: [] for link in links}
    for parent, child in joints:
        neighbors.setdefault(parent, []).append(child)
        neighbors.setdefault(child, []).append(parent)
    parts: list[set[str]] = []
    seen: set[str] = set()
    for link in links:
        if link not in seen:
            parts.append(_reachable(link, neighbors))
            seen |= parts[-1]
    return parts


def root_of(part: AbstractSet[str], ordered: Sequence[str], joints: Ends) -> str:
    """The first link of a part from which joints lead to all others; the first of all, where there is none.

    Args:
        part: Links that are connected.
        ordered: Bodies, with preferred roots first.
        joints: Parent and child of each joint.
    """
    children: dict[str, list[str]] = {}
    for parent, child in joints:
        children.setdefault(parent, []).append(child)
    # but for the first link, one that reaches all others is one that no joint leads to
    led_to = {child for led in children.values() for child in led}
    sources = [*ordered[:1], *(link for link in ordered[1:] if link not in led_to)]
    return next((link for link in sources if _reachable(link, children) >= part), ordered[0])


def distances(start: str, joints: Ends) -> dict[str, int]:
    """The number of joints between a link and each other; unreachable links are left out."""
    neighbors: dict[str, list[str]] = {}
    for parent, child in joints:
        neighbors.setdefault(parent, []).append(child)
        neighbors.setdefault(child, []).append(parent)
    lengths, ring = {start: 0}, [start]
    while ring:
        further = [link for here in ring for link in neighbors.get(here, ()) if link not in lengths]
        lengths |= dict.fromkeys(further, lengths[ring[0]] + 1)
        ring = list(dict.fromkeys(further))
    return lengths


def _reachable(start: str, children: dict[str, list[str]]) -> set[str]:
    reached, stack = {start}, [start]
    while stack:
        new = [name for name in children.get(stack.pop(), ()) if name not in reached]
        reached.update(new)
        stack += new
    return reached
