# SPDX-License-Identifier: BSD-3-Clause
"""Planar linkages: bars in the x-z plane on hinges about y, assembled in closed form.

Angles are counted from x toward z. A bar's frame has its origin at its first pin and x along the bar, so that a
joint's coordinate is the angle between two bars. One degree of freedom is left (two for the five-bar), by Grübler's
count in the plane ``3 bodies - 2 pins``; in space some rows that close a plane loop are redundant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from linkwork.conversions import converted, text
from linkwork.errors import InputError
from linkwork.mechanism import Builder, Mechanism
from linkwork.model.arrays import Floats
from linkwork.model.constraints import WORLD, Hinge, Pair, Point, PointOnLine, Rod, Weld
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Prismatic, Revolute
from linkwork.model.poses import ASSEMBLED

Closure = Literal["hinge", "point", "line"]
"""Constraint of a pin that closes a loop: a Hinge (5 rows), a Point (3 rows), or a PointOnLine along the hinge (2 rows,
what the plane needs)."""

AXIS = "-y"
"""Turns x toward z."""

DENSITY = 1.0
"""Kilogrammes per meter of bar."""

Pin2 = tuple[float, float]
Pin3 = tuple[float, float, float]


class Pin(NamedTuple):
    """A hinge between two bars, each of which has a pin of that name; ``closes`` a loop, or carries."""

    joint: str
    pin: str
    parent: str
    child: str
    closes: bool = False


@dataclass(frozen=True)
class Bar:
    """A stiff part with pins, and the angle of its x axis; the first pin is its origin."""

    pins: Mapping[str, Pin2]
    angle: float

    @staticmethod
    def between(first: str, second: str, start: Floats, end: Floats) -> Bar:
        """A straight bar between two points."""
        return Bar({first: (0.0, 0.0), second: (float(np.hypot(*(end - start))), 0.0)}, _direction(start, end))

    def with_pin(self, name: str, start: Floats, at: Floats) -> Bar:
        """The bar that starts at ``start``, with one more pin where ``at`` is."""
        c, s = np.cos(self.angle), np.sin(self.angle)
        x, z = at - start
        return Bar({**self.pins, name: (float(c * x + s * z), float(c * z - s * x))}, self.angle)

    def inertia(self) -> Inertia:
        """Thin rods between all pins."""
        points = [in_space(p) for p in self.pins.values()]
        total = Inertia.zero()
        for i, a in enumerate(points):
            for b in points[i + 1 :]:
                total = total + Inertia.rod(DENSITY * float(np.linalg.norm(np.subtract(b, a))), a, b)
        return total


def in_space(p: Pin2) -> tuple[float, float, float]:
    """A point of the plane."""
    return (p[0], 0.0, p[1])


def meeting(p: Floats, r: float, q: Floats, s: float, left: bool = True) -> Floats | None:
    """The point at distance ``r`` of ``p`` and ``s`` of ``q``, left or right of the way from p to q; None if apart."""
    d = q - p
    distance = float(np.hypot(*d))
    if not abs(r - s) <= distance <= r + s or distance == 0:
        return None
    along = (r * r - s * s + distance * distance) / (2 * distance)
    across = np.sqrt(max(r * r - along * along, 0.0)) * (1 if left else -1)
    point: Floats = p + (along * d + across * np.array([-d[1], d[0]])) / distance
    return point


def _linkage(
    name: str,
    bars: Mapping[str, Bar],
    ground: Mapping[str, Pin2],
    pins: Sequence[Pin],
    closure: Closure = "hinge",
    assembled: bool = True,
) -> Builder:
    """Bars on pins, in the pose of their angles if that one is assembled."""
    build = Builder(name)
    parts = {WORLD: Bar(ground, 0.0), **bars}
    for body, bar in bars.items():
        build.body(body, bar.inertia())
    pose = {}
    for joint, pin, parent, child, closes in pins:
        at, child_at = (in_space(parts[body].pins[pin]) for body in (parent, child))
        if closes:
            build.constrain(_closing_pin(joint, closure, parent, child, at, child_at))
        else:
            build.joint(joint, Revolute(AXIS), parent, child, at, child_at)
            pose[joint] = parts[child].angle - parts[parent].angle
    return build.pose(ASSEMBLED, pose) if assembled else build


def _closing_pin(name: str, closure: Closure, first: str, second: str, at: Pin3, second_at: Pin3) -> Pair:
    """The constraint that closes a loop at a pin."""
    if closure == "hinge":
        return Hinge(first, second, name=name, first_at=at, second_at=second_at, axis=AXIS)
    if closure == "point":
        return Point(first, second, name=name, first_at=at, second_at=second_at)
    if closure == "line":
        return PointOnLine(first, second, name=name, first_at=at, second_at=second_at, axis=AXIS)
    raise InputError(f"closure '{closure}' is none of hinge, point, line")


def _away(distance: float, angle: float) -> Floats:
    return distance * np.array([np.cos(angle), np.sin(angle)])


def _needed(point: Floats | None, what: str) -> Floats:
    if point is None:
        raise InputError(f"the bars of this {what} do not meet at the given crank angle")
    return point


@converted
def four_bar(
    closure: Closure | Literal["weld", "rod"] = "hinge",
    ground: float = 0.5,
    crank: float = 0.2,
    coupler: float = 0.45,
    rocker: float = 0.4,
    angle: float = 1.0,
) -> Mechanism:
    """A four-bar linkage: crank and rocker on the ground, a coupler between their ends; one degree of freedom.

    ``closure`` says how the loop is cut. ``"hinge"``, ``"point"``, ``"line"``: at the pin of coupler and rocker, by 5,
    3 or 2 rows, of which 2 are independent. ``"weld"``: the coupler is cut into two halves that are welded, 6 rows, of
    which 3 are independent (**loops**, Section VI-B: a link of the loop is cut and a fixed joint introduced).
    ``"rod"``: the coupler has no mass and is a `Rod`, 1 row.

    ``angle`` is the crank's in the pose ``"assembled"``. Where the coupler does not reach there is no such pose:
    ``four_bar(coupler=2.0)`` cannot be assembled at all.

    Args:
        closure: Constraint at the cut of the loop, see above.
        ground: Distance of the two pins on the ground, in meters.
        crank: Length of the crank, in meters.
        coupler: Length of the coupler, in meters.
        rocker: Length of the rocker, in meters.
        angle: Of the crank in the pose ``"assembled"``, in radians.
    """
    B, D = _away(crank, angle), np.array([ground, 0.0])
    C = meeting(B, coupler, D, rocker)
    along, swing = (_direction(B, C), _direction(D, C)) if C is not None else (0.0, 0.0)
    bars = {
        "crank": Bar({"A": (0, 0), "B": (crank, 0)}, angle),
        "coupler": Bar({"B": (0, 0), "C": (coupler, 0)}, along),
        "rocker": Bar({"D": (0, 0), "C": (rocker, 0)}, swing),
    }
    pins = {
        "A": Pin("A", "A", WORLD, "crank"),
        "B": Pin("B", "B", "crank", "coupler"),
        "D": Pin("D", "D", WORLD, "rocker"),
        "C": Pin("C", "C", "coupler", "rocker", closes=True),
    }
    extra: list[Pair] = []
    if text(closure, "closure") == "weld":
        half = coupler / 2
        bars["coupler"] = Bar({"B": (0, 0), "M": (half, 0)}, along)
        bars["coupler_end"] = Bar({"C": (0, 0), "M": (-half, 0)}, along)
        pins["C"] = Pin("C", "C", "rocker", "coupler_end")
        extra = [Weld("coupler", "coupler_end", name="cut", first_at=(half, 0, 0), second_at=(-half, 0, 0))]
    elif closure == "rod":
        del bars["coupler"], pins["B"], pins["C"]
        extra = [Rod("crank", "rocker", name="C", length=coupler, first_at=(crank, 0, 0), second_at=(rocker, 0, 0))]
    pinned: Closure = "hinge" if closure == "weld" or closure == "rod" else closure
    base = {"A": (0.0, 0.0), "D": (ground, 0.0)}
    build = _linkage(f"four-bar closed by a {closure}", bars, base, list(pins.values()), pinned, C is not None)
    return build.constrain(*extra).build()


@converted
def five_bar(
    closure: Closure = "hinge",
    ground: float = 0.3,
    crank: float = 0.25,
    coupler: float = 0.4,
    angles: tuple[float, float] = (2.0, 0.9),
) -> Mechanism:
    """A symmetric five-bar: two cranks on the ground and two couplers that meet; two degrees of freedom.

    ``angles`` are the cranks' in the pose ``"assembled"``. The frame ``"tip"`` is where the couplers meet.

    Args:
        closure: Constraint at cut pins: a ``"hinge"`` (5 rows), a ``"point"`` (3) or a ``"line"`` (2).
        ground: Distance of the two pins on the ground, in meters.
        crank: Length of the cranks, in meters.
        coupler: Length of the couplers, in meters.
        angles: Of the cranks in the pose ``"assembled"``, in radians.
    """
    A, E = np.zeros(2), np.array([ground, 0.0])
    B, D = A + _away(crank, angles[0]), E + _away(crank, angles[1])
    C = _needed(meeting(D, coupler, B, coupler, left=False), "five-bar")
    bars = {
        "left_crank": Bar.between("A", "B", A, B),
        "left_coupler": Bar.between("B", "C", B, C),
        "right_crank": Bar.between("E", "D", E, D),
        "right_coupler": Bar.between("D", "C", D, C),
    }
    pins = [
        Pin("A", "A", WORLD, "left_crank"),
        Pin("B", "B", "left_crank", "left_coupler"),
        Pin("E", "E", WORLD, "right_crank"),
        Pin("D", "D", "right_crank", "right_coupler"),
        Pin("C", "C", "left_coupler", "right_coupler", closes=True),
    ]
    build = _linkage("five-bar", bars, {"A": (0.0, 0.0), "E": (ground, 0.0)}, pins, closure)
    return build.frame("tip", on="left_coupler", at=(coupler, 0.0, 0.0)).build()


@converted
def slider_crank(
    closure: Closure = "hinge", crank: float = 0.1, rod: float = 0.35, offset: float = 0.03, angle: float = 1.0
) -> Mechanism:
    """A crank drives a slider along x through a rod.

    Args:
        closure: Constraint at cut pins: a ``"hinge"`` (5 rows), a ``"point"`` (3) or a ``"line"`` (2).
        crank: Length of the crank, in meters.
        rod: Length of the rod, in meters.
        offset: Height of the slider's line above the crank's axis, in meters.
        angle: Of the crank in the pose ``"assembled"``, in radians.
    """
    B = _away(crank, angle)
    rise = offset - B[1]
    if abs(rise) > rod:
        raise InputError(f"a rod of {rod} m does not reach the slider's line, {abs(rise):.4g} m away")
    tilt = float(np.arcsin(rise / rod))
    bars = {"crank": Bar({"A": (0, 0), "B": (crank, 0)}, angle), "rod": Bar({"B": (0, 0), "C": (rod, 0)}, tilt)}
    pins = [Pin("A", "A", WORLD, "crank"), Pin("B", "B", "crank", "rod")]
    build = _linkage("slider-crank", bars, {"A": (0.0, 0.0)}, pins)
    build.body("slider", Inertia.box(0.3, (0.06, 0.04, 0.04)))
    build.joint("slide", Prismatic("x"), WORLD, "slider", at=(0.0, 0.0, offset))
    build.constrain(_closing_pin("C", closure, "rod", "slider", (rod, 0.0, 0.0), (0.0, 0.0, 0.0)))
    pose = {"A": angle, "B": tilt - angle, "slide": float(B[0] + rod * np.cos(tilt))}
    return build.pose(ASSEMBLED, pose).build()


@converted
def four_bar_cart_pole(
    closure: Closure = "hinge",
    ground: float = 0.12,
    crank: float = 0.4,
    coupler: float = 0.25,
    cart: float = 1.0,
) -> Mechanism:
    """A cart on a rail with a four-bar in the place of the pole: two cranks and a coupler; two degrees of freedom.

    The rail alone is driven. The ground link, on the cart, is the shortest, so that cranks and coupler turn all the way
    round without a dead center. Poses: ``"assembled"``, in which it hangs, cranks crossed, and ``"upright"``.

    Args:
        closure: Constraint at the cut pin: a ``"hinge"`` (5 rows), a ``"point"`` (3) or a ``"line"`` (2).
        ground: Distance of the two pins on the cart, in meters.
        crank: Length of both cranks, in meters.
        coupler: Length of the coupler, in meters.
        cart: Mass of the cart, in kilogrammes.
    """
    if not 0 < ground < coupler or not ground + coupler < 2 * crank:
        raise InputError(
            "a four-bar that turns all the way round has ground < coupler and ground + coupler < 2 crank; found ground "
            f"{ground}, coupler {coupler}, crank {crank}"
        )
    build = Builder("four-bar cart-pole").body("cart", Inertia.box(cart, (0.3, 0.1, 0.1)))
    build.joint("rail", Prismatic("x"), WORLD, "cart", actuated=True)
    for name, length in (("crank", crank), ("coupler", coupler), ("rocker", crank)):
        build.body(name, Bar({"start": (0, 0), "end": (length, 0)}, 0.0).inertia())
    build.joint("A", Revolute(AXIS), "cart", "crank", (-0.5 * ground, 0, 0))
    build.joint("B", Revolute(AXIS), "crank", "coupler", (crank, 0, 0))
    build.joint("D", Revolute(AXIS), "cart", "rocker", (0.5 * ground, 0, 0))
    build.constrain(_closing_pin("C", closure, "coupler", "rocker", (coupler, 0, 0), (crank, 0, 0)))
    crossed, open_ = (float(np.arcsin(0.5 * across / crank)) for across in (coupler + ground, coupler - ground))
    down, up = -0.5 * np.pi, 0.5 * np.pi
    build.pose(ASSEMBLED, {"rail": 0.0, "A": down + crossed, "B": -np.pi - down - crossed, "D": down - crossed})
    build.pose("upright", {"rail": 0.0, "A": up + open_, "B": -up - open_, "D": up - open_})
    return build.build()


@converted
def watt(closure: Closure = "hinge", angle: float = 1.0) -> Mechanism:
    """Watt's six-bar chain: a four-bar A B C D whose coupler and rocker reach on to E and F, and bars from there to G.

    Five moving bars and seven pins leave one degree of freedom; the two loops share the coupler and the rocker.

    Args:
        closure: Constraint at cut pins: a ``"hinge"`` (5 rows), a ``"point"`` (3) or a ``"line"`` (2).
        angle: Of the crank in the pose ``"assembled"``, in radians.
    """
    A, D = np.zeros(2), np.array([0.5, 0.0])
    B = A + _away(0.2, angle)
    C = _needed(meeting(B, 0.45, D, 0.4), "six-bar")
    E, F = C + _turned(C - B, 0.5, 0.5), C + _turned(C - D, 0.4, -0.6)
    G = _needed(meeting(E, 0.3, F, 0.25, left=False), "six-bar")
    bars = {
        "crank": Bar.between("A", "B", A, B),
        "coupler": Bar.between("B", "C", B, C).with_pin("E", B, E),
        "rocker": Bar.between("D", "C", D, C).with_pin("F", D, F),
        "first": Bar.between("E", "G", E, G),
        "second": Bar.between("F", "G", F, G),
    }
    pins = [
        Pin("A", "A", WORLD, "crank"),
        Pin("B", "B", "crank", "coupler"),
        Pin("D", "D", WORLD, "rocker"),
        Pin("E", "E", "coupler", "first"),
        Pin("F", "F", "rocker", "second"),
        Pin("C", "C", "coupler", "rocker", closes=True),
        Pin("G", "G", "first", "second", closes=True),
    ]
    return _linkage("Watt's six-bar", bars, {"A": (0.0, 0.0), "D": (0.5, 0.0)}, pins, closure).build()


HOLY_NUMBERS = {
    "a": 38.0,
    "b": 41.5,
    "c": 39.3,
    "d": 40.1,
    "e": 55.8,
    "f": 39.4,
    "g": 36.7,
    "h": 65.7,
    "i": 49.0,
    "j": 50.0,
    "k": 61.9,
    "l": 7.8,
    "m": 15.0,
}
"""Theo Jansen's: lengths of the bars of his leg."""


@converted
def jansen(closure: Closure = "hinge", angle: float = 1.0, scale: float = 0.01) -> Mechanism:
    """Theo Jansen's leg: a crank, two triangles and four bars, ten pins, three loops; one degree of freedom.

    Lengths are `HOLY_NUMBERS` times ``scale`` meters. The frame ``"foot"`` walks along a flat line.

    Args:
        closure: Constraint at cut pins: a ``"hinge"`` (5 rows), a ``"point"`` (3) or a ``"line"`` (2).
        angle: Of the crank in the pose ``"assembled"``, in radians.
        scale: Meters per unit of length.
    """
    h = {key: scale * value for key, value in HOLY_NUMBERS.items()}
    O, A = np.zeros(2), np.array([-h["a"], -h["l"]])
    P = _away(h["m"], angle)
    Q = _needed(meeting(A, h["b"], P, h["j"]), "leg")
    R = _needed(meeting(A, h["c"], P, h["k"], left=False), "leg")
    S = _needed(meeting(A, h["d"], Q, h["e"]), "leg")
    T = _needed(meeting(R, h["g"], S, h["f"]), "leg")
    foot = _needed(meeting(T, h["h"], R, h["i"], left=False), "leg")
    bars = {
        "crank": Bar.between("O", "P", O, P),
        "j": Bar.between("P", "Q", P, Q),
        "k": Bar.between("P", "R", P, R),
        "upper": Bar.between("A", "Q", A, Q).with_pin("S", A, S),
        "c": Bar.between("A", "R", A, R),
        "f": Bar.between("S", "T", S, T),
        "lower": Bar.between("R", "T", R, T).with_pin("foot", R, foot),
    }
    pins = [
        Pin("O", "O", WORLD, "crank"),
        Pin("P_j", "P", "crank", "j"),
        Pin("P_k", "P", "crank", "k"),
        Pin("A_upper", "A", WORLD, "upper"),
        Pin("A_c", "A", WORLD, "c"),
        Pin("S", "S", "upper", "f"),
        Pin("R_lower", "R", "c", "lower"),
        Pin("Q", "Q", "j", "upper", closes=True),
        Pin("R_k", "R", "k", "c", closes=True),
        Pin("T", "T", "f", "lower", closes=True),
    ]
    build = _linkage("Jansen's leg", bars, {"O": (0.0, 0.0), "A": (float(A[0]), float(A[1]))}, pins, closure)
    return build.frame("foot", on="lower", at=in_space(bars["lower"].pins["foot"])).build()


def _direction(start: Floats, end: Floats) -> float:
    d = end - start
    return float(np.arctan2(d[1], d[0]))


def _turned(d: Floats, factor: float, angle: float) -> Floats:
    return factor * float(np.hypot(*d)) * _away(1.0, float(np.arctan2(d[1], d[0])) + angle)
