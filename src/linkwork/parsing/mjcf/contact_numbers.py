# SPDX-License-Identifier: BSD-3-Clause
"""Numbers of contacts in geoms and pairs of MJCF, and MuJoCo's rules to combine those of two geoms.

Of two geoms the one with the higher ``priority`` says all but margins. Else ``condim`` and each coefficient of friction
are the greater ones, adhesions add up, ``solref`` and ``solimp`` are weighted means by ``solmix``. Margins and gaps add
up in any case (MuJoCo 4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linkwork.model.contacts import NUMBERS
from linkwork.model.soft_contact import USUAL, SoftContact
from linkwork.parsing.mjcf.settings import FRICTION, IMPEDANCE, REFERENCE, Settings
from linkwork.parsing.xml import Node, located

_LEAST_WEIGHT = 1e-15
"""A smaller ``solmix`` is zero."""
_STILL = (0.0,) * 6


@dataclass(frozen=True)
class GeomNumbers:
    """Contact numbers of a geom."""

    contype: int
    conaffinity: int
    friction: tuple[float, float, float]
    """Against sliding, spinning and rolling."""
    condim: int
    priority: int
    margin: float
    gap: float
    adhesion: float
    solmix: float
    soft: SoftContact

    @staticmethod
    def of(node: Node, settings: Settings) -> GeomNumbers:
        """From its element.

        Args:
            node: The element, with what it inherits.
            settings: Of the model.
        """
        sliding, spinning, rolling = coefficients(node, (FRICTION[0], FRICTION[2], FRICTION[3]))
        return GeomNumbers(
            _bits(node, "contype", 1),
            _bits(node, "conaffinity", 1),
            (sliding, spinning, rolling),
            condim(node),
            int(node.number("priority", 0.0)),
            node.number("margin", 0.0),
            node.number("gap", 0.0),
            node.number("adhesion", 0.0),
            node.number("solmix", 1.0),
            softness(node, settings),
        )


@dataclass(frozen=True)
class PairValues:
    """Numbers of a pair of geoms, before what the file says for all pairs."""

    condim: int
    friction: tuple[float, float, float]
    margin: float
    gap: float
    adhesion: float
    soft: SoftContact

    def values(self, settings: Settings) -> tuple[Any, ...]:
        """Numbers of a `ContactPair`, as `NUMBERS` names them.

        Args:
            settings: Of the model.
        """
        friction, margin, soft = self.friction, self.margin, self.soft
        if settings.override_friction is not None:
            friction = settings.override_friction[0], settings.override_friction[2], settings.override_friction[3]
        if settings.override_margin is not None:
            margin = settings.override_margin
        if settings.override_soft is not None:
            soft = settings.override_soft
        sliding, spinning, rolling = friction
        named = {
            "friction": sliding if self.condim > 1 else 0.0,
            "restitution": 0.0,
            "compliance": 0.0,
            "slots": None,
            "margin": margin,
            "torsional_friction": spinning if self.condim > 3 else 0.0,
            "rolling_friction": rolling if self.condim > 4 else 0.0,
            "gap": self.gap,
            "adhesion": self.adhesion,
            "soft": None if soft == USUAL else soft,
        }
        return tuple(named[name] for name in NUMBERS)


def combined(one: GeomNumbers, other: GeomNumbers) -> PairValues:
    """The numbers of a pair of two geoms.

    Args:
        one: A geom.
        other: Another.
    """
    apart = one.margin + other.margin, one.gap + other.gap
    if one.priority != other.priority:
        strong = one if one.priority > other.priority else other
        return PairValues(strong.condim, strong.friction, *apart, strong.adhesion, strong.soft)
    sliding, spinning, rolling = map(max, one.friction, other.friction)
    friction, adhesion = (sliding, spinning, rolling), one.adhesion + other.adhesion
    soft = one.soft.mixed(other.soft, _weight(one.solmix, other.solmix))
    return PairValues(max(one.condim, other.condim), friction, *apart, adhesion, soft)


def _weight(one: float, other: float) -> float:
    """The weight of the first geom in a mean."""
    if one >= _LEAST_WEIGHT and other >= _LEAST_WEIGHT:
        return one / (one + other)
    if one < _LEAST_WEIGHT and other < _LEAST_WEIGHT:
        return 0.5
    return 0.0 if one < _LEAST_WEIGHT else 1.0


def explicit_pair(node: Node, settings: Settings) -> PairValues:
    """Values of a <pair>.

    Args:
        node: The element, with what it inherits.
        settings: Of the model.
    """
    friction = coefficients(node, FRICTION)
    said = node.number("margin", 0.0), node.number("gap", 0.0), node.number("adhesion", 0.0)
    return PairValues(condim(node), (friction[0], friction[2], friction[3]), *said, softness(node, settings))


def coefficients(node: Node, usual: tuple[float, ...]) -> tuple[float, ...]:
    """Coefficients of friction of a geom or pair.

    Args:
        node: The element.
        usual: Those that it does not say.
    """
    values = node.completed("friction", usual)
    for x in values:
        if x < 0:
            raise node.error(f"friction is {x:g}; it must be >= 0")
    return values


def surface_motion(node: Node) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Velocity and angular velocity of the surface of a geom.

    Args:
        node: The element.
    """
    x, y, z, a, b, c = node.completed("surfacevel", _STILL)
    return (x, y, z), (a, b, c)


def softness(node: Node, settings: Settings) -> SoftContact:
    """Softness of a geom or pair.

    Args:
        node: The element.
        settings: Of the model.
    """
    first, second = node.completed("solref", REFERENCE)
    third, fourth = node.completed("solreffriction", (0.0, 0.0))
    with located(node):
        return SoftContact(
            (first, second),
            node.completed("solimp", IMPEDANCE),
            (third, fourth),
            settings.impedance_ratio,
            settings.pyramidal,
        )


def condim(node: Node) -> int:
    """Dimensions of the contact force.

    Args:
        node: The element.
    """
    value = node.number("condim", 3.0)
    if value not in (1, 3, 4, 6):
        raise node.error(f"attribute 'condim' is {value:g}; it is one of 1, 3, 4, 6")
    return int(value)


def _bits(node: Node, attribute: str, default: int) -> int:
    value = node.number(attribute, float(default), largest=2.0**32)
    if value != int(value):
        raise node.error(f"attribute '{attribute}' is {value:g}; it is an integer, of whose bits one counts")
    return int(value)
