# SPDX-License-Identifier: BSD-3-Clause
"""Properties of a model that a format cannot express: refused by name if they change the dynamics, else left out with a
warning.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Literal, get_args

from linkwork.errors import InputError
from linkwork.inputs import items, shown, suggest
from linkwork.model.shapes import Surface

Format = Literal["urdf", "mjcf", "sdf", "json"]
"""Formats that models are saved in."""

FORMATS: tuple[Format, ...] = ("urdf", "mjcf", "sdf")
"""Those that other tools read; JSON is linkwork's own."""

SHOWN = {"urdf": "URDF", "mjcf": "MJCF", "sdf": "SDF", "json": "JSON"}
"""Names of formats in messages."""

Droppable = Literal[
    "actuators",
    "armature",
    "compliance",
    "constraints",
    "contacts",
    "damping",
    "friction",
    "gains",
    "gravity",
    "gravity_compensation",
    "limits",
    "medium",
    "springs",
    "tendons",
]
"""Properties that change the dynamics, and may be left out on request where a format lacks them."""

DROPPABLE: tuple[Droppable, ...] = get_args(Droppable)

_NAMED = 4
"""As many names of one kind are in a message."""


@dataclass(frozen=True)
class Refusal:
    """A property that a format cannot express.

    Args:
        kind: One of `DROPPABLE`, or what nothing can be saved without: bodies, joints, names.
        where: Kind and name of the part, such as ``"joint 'knee'"``.
        what: The properties that the format lacks.
    """

    kind: str
    where: str
    what: str


@dataclass
class Report:
    """Collects the properties of one model that a format lacks.

    Args:
        format: The format.
        drop: Properties that may be left out where the format lacks them.
    """

    format: Format
    drop: Collection[Droppable] = ()
    refused: list[Refusal] = field(default_factory=list)
    left_out: list[Refusal] = field(default_factory=list)

    def refuse(self, kind: str, where: str, what: str) -> None:
        """Note a property that changes the dynamics.

        Args:
            kind: One of `DROPPABLE`, or ``"joints"``, ``"bodies"``, ``"names"``.
            where: The part, with its name.
            what: The properties that the format lacks.
        """
        (self.left_out if kind in self.drop else self.refused).append(Refusal(kind, where, what))

    def leave_out(self, kind: str, where: str, what: str) -> None:
        """Note a property that does not change the dynamics.

        Args:
            kind: Kind of property: poses, shapes, surfaces, marks, names, frames, limits.
            where: The part, with its name.
            what: The properties that the format lacks.
        """
        self.left_out.append(Refusal(kind, where, what))


def check_drop(drop: Collection[Droppable]) -> frozenset[Droppable]:
    """The properties that may be left out, checked against the known words.

    Args:
        drop: As users give it.
    """
    if isinstance(drop, str):
        raise InputError(f"drop is '{drop}'; it is a list of words: drop=['{drop}']")
    words = items(drop, "drop", f"some of {', '.join(DROPPABLE)}")
    for word in words:
        if not isinstance(word, str) or word not in DROPPABLE:
            raise InputError(f"drop: {shown(word)} is none of {', '.join(DROPPABLE)}{suggest(str(word), DROPPABLE)}")
    return frozenset(words)


def described(refusals: Iterable[Refusal], able: dict[tuple[str, str], list[str]] | None = None) -> str:
    """The text of refusals, grouped by property: the places, the property, and the formats that have it.

    Args:
        refusals: Properties that the format lacks.
        able: For each kind and place, the formats that can say it; None to be silent about that.
    """
    groups: dict[tuple[str, str, str], list[str]] = {}
    for refusal in refusals:
        formats = "" if able is None else _able(able[refusal.kind, refusal.where])
        groups.setdefault((refusal.kind, refusal.what, formats), []).append(refusal.where)
    said = []
    for (kind, what, formats), places in groups.items():
        different = list(dict.fromkeys(places))
        more = f" and {len(different) - _NAMED} more" if len(different) > _NAMED else ""
        drop = f"; drop=['{kind}'] leaves it out" if able is not None and kind in DROPPABLE else ""
        hint = f". {formats}{drop}" if formats else ""
        said.append(f"{', '.join(different[:_NAMED])}{more}: {what}{hint}")
    return "; ".join(said) if able is None else ". ".join(said)


def _able(formats: list[str]) -> str:
    if not formats:
        return "A .json file can"
    *others, last = formats
    return f"{', '.join(others)} and {last} can" if others else f"{last} can"


def unsaid_of_surfaces(surface: Surface, *said: str) -> list[str]:
    """Contact properties of a surface beside sliding friction, restitution, compliance and masks.

    Args:
        surface: The surface.
        said: Fields that the format has.
    """
    surface_numbers = {
        "torsional_friction": bool(surface.torsional_friction),
        "rolling_friction": bool(surface.rolling_friction),
        "surface velocity": any(surface.velocity) or any(surface.angular_velocity),
        "adhesion": bool(surface.adhesion),
    }
    return [what for what, there in surface_numbers.items() if there and what not in said]
