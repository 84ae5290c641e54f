# SPDX-License-Identifier: BSD-3-Clause
"""Reading of contacts, shared by all formats: the option of loading, and unused contact properties."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from linkwork.errors import InputError
from linkwork.mechanism import Mechanism
from linkwork.mechanism.contacts import ContactChoice
from linkwork.model.constraints import WORLD
from linkwork.model.contacts import ContactPair, compact
from linkwork.model.shapes import Mesh
from linkwork.parsing.options import Contacts
from linkwork.parsing.xml import Location, warn

MISSING = "meshes whose files were not found"
"""Shapes that cannot touch because their geometry is unknown."""


@dataclass
class Unused:
    """Contact properties of a file that are not used; one warning for all of them.

    Args:
        all_of_it: Whether to say also what is never modeled here, such as the softness of contacts in MJCF.
    """

    all_of_it: bool = False
    _found: dict[str, list[Location]] = field(default_factory=dict)

    def add(self, where: Location, what: str, always: bool = False) -> None:
        """Note something.

        Args:
            where: Its place in the file.
            what: Its kind.
            always: Whether it is worth a warning of its own.
        """
        if always or self.all_of_it:
            self._found.setdefault(what, []).append(where)

    def warn(self) -> None:
        """Warn of all that was noted, on the line of the first."""
        if not self._found:
            return
        said = []
        for what, places in self._found.items():
            lines = sorted({line for place in places if (line := getattr(place, "line", None)) is not None})
            more = f" and {len(lines) - 3} more" if len(lines) > 3 else ""
            at = f" (line{'s' * (len(lines) > 1)} {', '.join(map(str, lines[:3]))}{more})" if lines else ""
            said.append(f"{what}{at}")
        first = next(iter(self._found.values()))[0]
        warn(first, f"not used of what the file says of contacts: {'; '.join(said)}")


@dataclass(frozen=True)
class SelfCollision:
    """Which links of a model touch each other, as its file says.

    Args:
        links: Those that do, if both of a pair are among them.
        excluded: Pairs that do not in any case.
    """

    links: frozenset[str] = frozenset()
    excluded: frozenset[frozenset[str]] = frozenset()


def with_loaded_contacts(
    robot: Mechanism, contacts: Contacts, rules: SelfCollision, unused: Unused, where: Location
) -> Mechanism:
    """A robot from a file that has no ground with the contacts that the option of loading asks for.

    Args:
        robot: The robot.
        contacts: Whether it touches the ground, and itself.
        rules: Which links touch each other.
        unused: Where to note what is not used.
        where: The place in the file of the whole robot.
    """
    if not contacts or not robot.joints:
        return robot
    everything = contacts == "all"
    choice = ContactChoice(robot)
    taken = {pair.name for pair in robot.contacts}
    grounded = any(WORLD in pair.bodies for pair in robot.contacts)
    pairs: list[ContactPair] = list(robot.contacts)
    try:
        additions = list(choice.pairs(ground=not grounded, self_collision=everything or bool(rules.links)))
    except InputError as e:
        raise InputError(f"contacts={contacts!r}: {e}") from None
    for pair in additions:
        links = frozenset(choice.links.get(shape, shape.body) for shape in (pair.first, pair.second))
        touches_itself = WORLD not in links
        if touches_itself and (links in rules.excluded or not (everything or _both(links, rules.links))):
            continue
        if any(isinstance(s.solid, Mesh) and not s.solid.is_found for s in (pair.first, pair.second)):
            unused.add(where, MISSING, always=True)
        elif pair.name not in taken:
            pairs.append(pair)
    return robot if len(pairs) == len(robot.contacts) else replace(robot, contacts=compact(pairs))


def _both(links: Collection[str], those: Collection[str]) -> bool:
    return all(link in those for link in links)
