# SPDX-License-Identifier: BSD-3-Clause
"""Which pairs of shapes may touch: chosen by body, by shape or pair by pair, against the ground and among bodies.

Shapes of bodies come from model files and `Builder.shape`. By default each touches the ground alone. With
``self_collision``, shapes of two bodies may touch unless the bodies are neighbors: a joint or a constraint connects
them, so that their shapes often overlap where they are joined.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from numbers import Integral, Real
from typing import Any, TypedDict, Unpack

import numpy as np

from linkwork.errors import InputError
from linkwork.inputs import suggest
from linkwork.model.constraints import WORLD, Pair
from linkwork.model.contacts import ContactPair, ContactShape, changed_shapes, compact, contact_shapes
from linkwork.model.joints import Free
from linkwork.model.model import Model
from linkwork.model.placement import Placement, PlacementLike, as_placement
from linkwork.model.shapes import Combination, Ground, HeightField, Shape, Surface
from linkwork.model.soft_contact import USUAL

GROUND = "ground"
"""Name of the ground, where it has no other."""

MUJOCO_FRICTION = 1.0
"""Of geoms that do not say it."""

Touching = str | ContactShape
"""A body or frame, all of whose shapes are meant, or one shape."""
Chosen = Touching | ContactPair | tuple[Touching, Touching]
"""Bodies and shapes that may touch the ground, and pairs that may touch each other."""
GroundLike = bool | PlacementLike | HeightField | ContactShape
"""The ground: the robot's own (True), none (False), a plane by its placement, a height field, or any shape."""


_OF_SURFACES = ("friction", "restitution", "compliance", "torsional_friction", "rolling_friction")
"""Numbers of a pair: the explicit ones, or else those of the two surfaces."""


class ContactOptions(TypedDict, total=False):
    """Keywords of `Mechanism.with_contacts` and `Builder.contact`."""

    ground: GroundLike
    """The ground that bodies and shapes touch; by default the robot's own ground, or else the plane z = 0."""
    self_collision: bool
    """Whether they touch each other, too, but for bodies that a joint or a constraint connects; by default not."""
    friction: float | None
    """Coulomb's coefficient; by default that of the surfaces of both shapes, else 1."""
    restitution: float | None
    """Newton's coefficient of restitution; by default that of the surfaces, else 0."""
    compliance: float | None
    """Of the normal direction, in m/N; by default that of the surfaces, else 0."""
    margin: float
    """Distance at which shapes count as touching, in m; by default 0."""
    torsional_friction: float | None
    """Coefficient of friction against spinning, in m; by default that of the surfaces, else 0."""
    rolling_friction: float | None
    """Coefficient of friction against rolling, in m; by default that of the surfaces, else 0."""
    slots: int | None
    """Contact points of each pair; by default as many as its shapes need."""
    visual: bool
    """Whether bodies that have no shapes for collision touch with those that are drawn; by default not."""


def check_numbers(options: ContactOptions) -> None:
    """Raise `InputError` for an option that is no number where it is to be one.

    Args:
        options: Those that were given.
    """
    for name in (*_OF_SURFACES, "margin"):
        x = options.get(name)
        if x is not None and (isinstance(x, bool) or not isinstance(x, Real)):
            raise InputError(f"{name} is {x!r}, needs a number")
    slots = options.get("slots")
    if slots is not None and (isinstance(slots, bool) or not isinstance(slots, Integral)):
        raise InputError(f"slots is {slots!r}, needs a whole number")


def combined_surface(first: Surface | None, second: Surface | None) -> Surface:
    """Of a pair: friction as their `Surface.combination` says, the greater restitution, the sum of compliances; what
    only one of the two says counts alone. Geoms of MJCF without friction (``condim="1"``) leave it to what they touch:
    on a shape that says nothing, as a ground that is not in the file, it is MuJoCo's default.

    Args:
        first: One surface.
        second: The other.
    """
    if first is None and second is not None:
        return combined_surface(second, None)
    one, two = first or Surface(), second or Surface()
    if second is None and one.combination == "greater" and one.friction == 0.0:
        two = Surface(MUJOCO_FRICTION, combination="greater")
    rule = one.combination if one.combination == two.combination else "lesser"
    bounce = [s.restitution for s in (one, two) if s.restitution is not None]
    soft = [s.compliance for s in (one, two) if s.compliance is not None]
    return Surface(
        _combined(one.friction, two.friction, rule),
        max(bounce, default=None),
        sum(soft) if soft else None,
        torsional_friction=_combined(one.torsional_friction, two.torsional_friction, rule),
        rolling_friction=_combined(one.rolling_friction, two.rolling_friction, rule),
        adhesion=one.adhesion + two.adhesion,
        soft=None if one.soft == two.soft is None else (one.soft or USUAL).mixed(two.soft or USUAL, 0.5),
    )


def _combined(one: float | None, two: float | None, rule: Combination) -> float | None:
    """A coefficient of friction of two surfaces; if only one of them has it, that one."""
    if one is None or two is None:
        return two if one is None else one
    if rule == "greater":
        return max(one, two)
    return 2 * one * two / (one + two) if rule == "harmonic" and one + two > 0 else min(one, two)


class ContactChoice:
    """Finds pairs on a robot; what several calls share, such as the ground, is one shape.

    Args:
        robot: The mechanism.
    """

    def __init__(self, robot: Model) -> None:
        self.robot = robot
        self._known = list(contact_shapes(robot.contacts))
        """Shapes of the robot's pairs and those that were made, each with its placement in the frame of inertias."""
        self._taken = {shape.name for shape in self._known}
        self._surfaces: dict[ContactShape, Surface | None] = {}
        self._placed: dict[ContactShape, ContactShape] = {shape: shape for shape in self._known}
        self._made: dict[Shape, ContactShape] = {}
        self.links: dict[ContactShape, str] = {}
        """The bodies that shapes were given to, by shape."""

    # Shapes ------------------------------------------------------------------------------------------

    def shapes(self, chosen: Touching, visual: bool = False) -> list[ContactShape]:
        """The shapes of a body or frame, or a shape that was given.

        Args:
            chosen: A name, or a shape with its placement in the frame of its body or frame that users see.
            visual: Whether shapes that are drawn stand in where there are none for collision.
        """
        if isinstance(chosen, ContactShape):
            return [self._on_body(chosen)]
        if not isinstance(chosen, str):
            raise InputError(f"{chosen!r} is neither the name of a body, nor a ContactShape or ContactPair")
        body = self.robot.frame(chosen).body  # raises where there is no such body
        # of a moving body, with all that is fixed to it; of a body that is part of another, its own
        own = [s for s in self.robot.shapes if s.body == body and (chosen == body or s.link == chosen)]
        shapes = [s for s in own if s.collides] or (own if visual else [])
        if not shapes:
            raise InputError(
                f"body '{chosen}' of robot '{self.robot.name}' has no shape for collision: "
                + ("visual=True takes its visual shapes, or " if own else "")
                + f"give one, e.g. ContactShape('{chosen}', '{chosen}', Sphere(0.1))"
            )
        return self._contact_shapes(shapes)

    def all_shapes(self, visual: bool = False, with_base: bool = False) -> list[ContactShape]:
        """The shapes of all moving bodies.

        Args:
            visual: Whether shapes that are drawn stand in where a body has none for collision.
            with_base: Whether to include those of bodies that are fixed to the world.
        """
        by_body: dict[str, list[Shape]] = {body: [] for body in self.robot.body_names}
        base = [s for s in self.robot.shapes if s.body == WORLD and s.link and s.collides] if with_base else []
        for shape in self.robot.shapes:
            if shape.body != WORLD:
                by_body[shape.body].append(shape)
        shapes = [[s for s in own if s.collides] or (own if visual else []) for own in by_body.values()]
        if not any(shapes):
            drawn = any(by_body.values())
            raise InputError(
                f"no moving body of robot '{self.robot.name}' has a shape for collision: "
                + ("robot.with_contacts(visual=True) takes visual shapes, or " if drawn else "")
                + "give one, e.g. robot.with_contacts(lw.contact.ContactShape("
                f"'foot', '{self.robot.body_names[-1]}', lw.shapes.Sphere(0.02)))"
            )
        return self._contact_shapes([*base, *(shape for own in shapes for shape in own)])

    def _contact_shapes(self, shapes: Sequence[Shape]) -> list[ContactShape]:
        """Shapes that may touch; those that contacts have already are reused."""
        links = Counter(shape.link or shape.body for shape in self.robot.shapes if shape.collides)
        names = Counter(shape.name for shape in self.robot.shapes)
        known: dict[tuple[int, str], list[ContactShape]] = {}
        for one in self._known:
            known.setdefault((id(one.solid), one.body), []).append(one)
        for shape in shapes:
            if shape in self._made:
                continue
            link = shape.link or shape.body
            name = GROUND if isinstance(shape.solid, Ground) else link
            if shape.name:
                name = shape.name if names[shape.name] == 1 else f"{link}_{shape.name}"
            elif links[link] > 1:
                name = f"{link}_1"
            same = known.get((id(shape.solid), shape.body), [])
            touching = next((s for s in same if _same_place(s.placement, shape.placement)), None)
            if touching is None:
                said = shape.surface or Surface()
                moving = said.velocity, said.angular_velocity
                mocap = self.robot.frames[link].mocap if link in self.robot.frames else ""
                at = shape.placement
                touching = self._new(ContactShape(self._unused(name), shape.body, shape.solid, at, *moving, mocap))
            self._made[shape] = touching
            self._surfaces[touching], self.links[touching] = shape.surface, link
        return [self._made[shape] for shape in shapes]

    def _unused(self, name: str) -> str:
        free, k = name, 1
        while free in self._taken:
            k += 1
            free = f"{name.removesuffix('_1')}_{k}"
        return free

    def _new(self, shape: ContactShape) -> ContactShape:
        self._known.append(shape)
        self._taken.add(shape.name)
        self._placed[shape] = shape
        return shape

    def _on_body(self, shape: ContactShape) -> ContactShape:
        """A shape on the moving body that its body or frame is part of; one that the robot has stays."""
        if shape not in self._placed:
            frame = self.robot.frame(shape.body)
            moved = replace(shape, body=frame.body, placement=frame.placement * shape.placement)
            self._placed[shape] = self._new(moved)
        return self._placed[shape]

    def ground(self, given: GroundLike) -> ContactShape | None:
        """The ground that is meant.

        Args:
            given: True: the first plane or height field on the world that the robot has, or else the plane z = 0.
        """
        if given is False:
            return None
        if isinstance(given, ContactShape):
            return self._on_body(given)
        if isinstance(given, HeightField):
            same = (s for s in self._known if s.solid is given)
            return next(same, None) or self._new(ContactShape(self._unused(GROUND), WORLD, given))
        if given is True:
            on_world = (s for s in self._known if s.body == WORLD and isinstance(s.solid, Ground | HeightField))
            known = next(on_world, None)
            drawn = [s for s in self.robot.shapes if s.body == WORLD and isinstance(s.solid, Ground | HeightField)]
            if known is None and drawn:
                (known,) = self._contact_shapes(drawn[:1])
            if known is not None:
                return known
        at = Placement() if given is True else as_placement(given)
        same = (s for s in self._known if s.body == WORLD and isinstance(s.solid, Ground))
        plane = next((s for s in same if same_plane(s.placement, at)), None)
        return plane or self._new(ContactShape(self._unused(GROUND), WORLD, Ground(), at))

    # Pairs -------------------------------------------------------------------------------------------

    def pairs(self, *chosen: Chosen, **options: Unpack[ContactOptions]) -> Iterator[ContactPair]:
        """The pairs that are meant; see `Mechanism.with_contacts`.

        Args:
            chosen: Bodies, shapes and pairs; none: all bodies.
            options: Ground, self-collision, and numbers of the pairs.
        """
        check_numbers(options)
        visual = options.get("visual", False)
        alone: dict[ContactShape, None] = {}
        for one in chosen:
            if isinstance(one, ContactPair):
                yield changed_shapes([one], self._on_body)[0]
            elif isinstance(one, tuple) and len(one) == 2:
                first, second = (self.shapes(end, visual) for end in one)
                yield from (self._pair(a, b, options) for a in first for b in second if a is not b)
            elif isinstance(one, str | ContactShape):
                alone |= dict.fromkeys(self.shapes(one, visual))
            else:
                raise InputError(f"{one!r} is neither a body's name, a ContactShape, a ContactPair nor a tuple of two")
        itself = options.get("self_collision", False)
        touching = list(alone) if chosen else self.all_shapes(visual, with_base=itself)
        still = [shape for shape in touching if shape.body == WORLD]
        moving = [shape for shape in touching if shape.body != WORLD]
        floor = self.ground(options.get("ground", True)) if moving else None
        near = neighbors(self.robot)
        for shape in moving:
            if floor is not None and floor.body != shape.body:
                yield self._pair(floor, shape, options)
            joined = frozenset((WORLD, shape.body)) in near  # to a base that is fixed to the world
            for other in still:
                if other is not floor and not (joined and self.links.get(other, WORLD) != WORLD):
                    yield self._pair(other, shape, options)
        if itself:
            for a, b in combinations(moving, 2):
                if a.body != b.body and frozenset((a.body, b.body)) not in near and self._masks_meet(a, b):
                    yield self._pair(a, b, options)

    def _masks_meet(self, first: ContactShape, second: ContactShape) -> bool:
        one, two = (self._surfaces.get(shape) or Surface() for shape in (first, second))
        return one.mask & two.mask != 0

    def _pair(self, first: ContactShape, second: ContactShape, options: ContactOptions) -> ContactPair:
        known = combined_surface(self._surfaces.get(first), self._surfaces.get(second))
        numbers: dict[str, Any] = {name: options.get(name) for name in _OF_SURFACES}
        numbers = {name: getattr(known, name) if x is None else x for name, x in numbers.items()}
        numbers_of_pair: dict[str, Any] = {name: float(x) for name, x in numbers.items() if x is not None}
        numbers_of_pair |= {"slots": options.get("slots"), "margin": options.get("margin", 0.0)}
        return ContactPair(first, second, adhesion=known.adhesion, soft=known.soft, **numbers_of_pair)


def same_plane(one: Placement, other: Placement) -> bool:
    """Whether the xy planes of two placements are one, with the same side above.

    Args:
        one: A placement.
        other: Another.
    """
    normal = one.rotation[:, 2]
    apart = one.position - other.position
    scale = 1.0 + float(np.abs(one.position).max()) + float(np.abs(other.position).max())
    turned = float(np.abs(normal - other.rotation[:, 2]).max())
    return turned < 1e-12 and abs(float(normal @ apart)) < 1e-12 * scale


def _same_place(one: Placement, other: Placement) -> bool:
    return np.array_equal(one.position, other.position) and np.array_equal(one.rotation, other.rotation)


def neighbors(robot: Model) -> frozenset[frozenset[str]]:
    """Pairs of bodies that a joint (but for a free one) or an enabled constraint connects; joints in series through
    bodies of no mass and no shape, as universal joints of files are, count as one.

    Args:
        robot: The mechanism.
    """
    shaped = {shape.body for shape in robot.shapes} | {body for pair in robot.contacts for body in pair.bodies}
    parents = {joint.child: joint.parent for joint in robot.joints}
    pairs = set()
    for joint in robot.joints:
        parent, free = joint.parent, isinstance(joint.type, Free)
        while parent != WORLD and parent not in shaped and not _has_mass(robot, parent):
            parent = parents[parent]
        if not free:
            pairs.add(frozenset((parent, joint.child)))
    for constraint in robot.constraints:
        if isinstance(constraint, Pair) and constraint.enabled:
            pairs.add(frozenset(robot.frames[place].body for place in constraint.places))
    return frozenset(pairs)


def _has_mass(robot: Model, body: str) -> bool:
    inertia = robot.inertias[body]
    return inertia.mass > 0 or bool(np.any(inertia.rotational))


def kept_contacts(robot: Model, names: Sequence[str]) -> Sequence[ContactPair]:
    """The pairs of a robot without those of these names; names of pairs, shapes or bodies.

    Args:
        robot: The mechanism.
        names: Contacts to leave out; none: all.
    """
    known: dict[str, None] = {}
    for pair in robot.contacts:
        known |= dict.fromkeys((pair.name, pair.first.name, pair.second.name, *pair.bodies))
    for name in names:
        if name not in known:
            raise InputError(f"robot '{robot.name}' has no contact of '{name}'{suggest(name, known)}")
    out = set(names)
    return compact(
        pair
        for pair in robot.contacts
        if names and not out & {pair.name, pair.first.name, pair.second.name, *pair.bodies}
    )


def chosen_contacts(robot: Model, chosen: Iterable[tuple[Sequence[Chosen], ContactOptions]]) -> Sequence[ContactPair]:
    """The pairs that a robot has, and those that are chosen besides; of two with one name, the last."""
    choice = ContactChoice(robot)
    pairs = {pair.name: pair for pair in robot.contacts}
    for touching, options in chosen:
        pairs |= {pair.name: pair for pair in choice.pairs(*touching, **options)}
    return compact(pairs.values())


def part_contacts(
    pairs: Iterable[ContactPair],
    known: Sequence[ContactPair],
    named: Callable[[str], str],
    moved: Callable[[str, Placement], tuple[str, Placement]],
) -> tuple[ContactPair, ...]:
    """The pairs of a mechanism that becomes a part of another.

    Parts on the world share its ground where their planes are one. A part on a body leaves its ground behind, and
    touches that of the whole; where there is none, these pairs are left out.

    Args:
        pairs: Those of the mechanism.
        known: Pairs of the whole so far.
        named: Names in the whole.
        moved: Body and placement in the whole.
    """
    grounds = [s for s in contact_shapes(known) if s.body == WORLD and isinstance(s.solid, Ground | HeightField)]
    taken = {s.name for s in contact_shapes(known)}

    def change(shape: ContactShape) -> ContactShape:
        body, placement = moved(shape.body, shape.placement)
        if shape.body == WORLD and isinstance(shape.solid, Ground | HeightField):
            if body != WORLD:
                return grounds[0] if grounds else replace(shape, body=_NOWHERE)
            if isinstance(shape.solid, Ground):
                planes = (s for s in grounds if isinstance(s.solid, Ground))
                same = next((s for s in planes if same_plane(s.placement, placement)), None)
                name = shape.name if shape.name not in taken else named(shape.name)
                return same or replace(shape, name=name, placement=placement)
        return replace(shape, name=named(shape.name), body=body, placement=placement)

    changed = changed_shapes(pairs, change)
    return tuple(replace(pair, name=named(pair.name)) for pair in changed if _NOWHERE not in pair.bodies)


_NOWHERE = ""
"""Body of a ground that is left behind."""
