# SPDX-License-Identifier: BSD-3-Clause
"""A robot in viser's scene.

Every body is a frame with its shapes, bones, marks and labels as children: moving a robot moves these frames, and the
lines and arrows that lie between bodies. Layers are nodes that are shown and hidden together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork.drawing.contacts import ContactMarks
from linkwork.drawing.pictures import GROUND, INK, LOOP
from linkwork.drawing.skeleton import LIMBS, ground_plane, skeleton
from linkwork.drawing.strands import Strands
from linkwork.model.constraints import WORLD
from linkwork.model.contacts import contact_shapes
from linkwork.model.joints import Free
from linkwork.model.model import Model
from linkwork.model.parts import TreeJoint
from linkwork.model.placement import Placement
from linkwork.model.shapes import Shape, Solid, Sphere
from linkwork.quantities.arguments import Array
from linkwork.viewer.between import ARROWS, CONES, GAPS, POINTS, PUSHES, SLIDES, SPRINGS, TENDONS, Between
from linkwork.viewer.framing import framing
from linkwork.viewer.ground import SceneGround
from linkwork.viewer.overlays import inertia_box
from linkwork.viewer.solids import MeshFiles, Rgb, along, corners, pin_of, put, rgb_of, wxyz_of

BONE = 0.011
"""Radius of bones, as a part of the robot's size."""
SAG = 2e-3
"""Distance of facets from the round surface that they stand for, likewise: half a pixel of a picture of the robot."""
ARROW = 0.3
"""An arrow of `Stage.strong` newtons, as a part of the robot's size."""
FAINT = 0.3
"""Opacity of bodies that are seen through."""
OPEN = 1e-4
"""Ends of loops that are farther apart than this part of the robot's size are joined by a line."""
LOOKS = ("solid", "see-through", "bones")
"""Styles of bodies."""
HIDDEN = ("inner bones", "collision", "inertia", "joint axes", "frames", "names")
"""Layers that are drawn on demand; the first are bones of bodies that have shapes."""
Dragged = Callable[[str, str, Array, Array], None]
"""Callback while the mouse drags a body."""
JOINT, AXIS, SHELL, MATTER = (rgb_of(text) for text in ("#565c66", "#b8860b", "#d9822b", "#7b5ea7"))


class Stage:
    """Everything that is drawn of a robot; `move` puts it at a configuration."""

    def __init__(
        self,
        scene: Any,
        robot: Model,
        states: Array,
        multipliers: Array,
        contacts: ContactMarks | None = None,
        *,
        touches: bool = False,
        strong: float | None = None,
    ) -> None:
        """``states (k, nq)`` and ``multipliers (k, nc)`` are those that are seen, or some of them: for sizes.

        So are ``contacts``, if there are any; ``touches`` says that there will be. ``strong`` is the force of a long
        arrow, by default one that most forces do not exceed.
        """
        self.robot, self.scene = robot, scene
        self.meshes = MeshFiles()
        self.bones = skeleton(robot)
        self.layers: dict[str, list[Any]] = {}
        self.clicked: Callable[[str], None] = lambda body: None
        """Called with the name of a body that is clicked on."""
        self.look, self.loudness = LOOKS[0], 1.0
        """Style of bodies and scale of forces."""
        self._shown = dict.fromkeys(("loops", "forces", "contacts", TENDONS, SPRINGS), True) | {"friction cones": False}
        self._touches = touches or contacts is not None
        self._opacity: dict[str, float] = {}  # of shapes that are not opaque, by their nodes
        self._bodies: list[tuple[str, Any]] = []  # what the mouse can drag, and the body that it is of
        names = (WORLD, *robot.body_names)
        shapes = self._chosen_shapes(names)
        R, p = self.bones.poses(states)
        points = self.bones.placed(R, p)
        self.framing = framing(robot, self._reach(shapes, names, R, p, points))
        self.radius, self.sag = BONE * self.framing.size, SAG * self.framing.size
        self.strands = Strands(robot, self.framing.size)
        self.strong = self._strength(R, points, multipliers, contacts) if strong is None else strong
        """The force in newtons that makes an arrow of `ARROW`."""
        self.ground = self._ground()
        """The ground and the lights."""
        self._add("ground", self.ground)
        self.nodes = {
            name: scene.add_frame(f"/bodies/{k}", show_axes=False, origin_radius=0.0) for k, name in enumerate(names)
        }
        """The frames of all bodies and of the world, by name."""
        for k, name in enumerate(names):
            self._body(k, name, *shapes[name])
        self.between = self.lines_at("")
        """Lines between bodies."""
        if SLIDES in self.between.nodes:
            self._add("bones", self.between.nodes[SLIDES])
        if not any(shape.role == "visual" for seen, _ in shapes.values() for shape in seen):
            self.draw_as("see-through")  # hulls hide what moves in them
        self.move(states[0], multipliers[0], None if contacts is None else contacts.state(0))

    # Contents -----------------------------------------------------------------------------------------

    def _chosen_shapes(self, names: tuple[str, ...]) -> dict[str, tuple[list[Shape], list[Shape]]]:
        """Of each body: the shapes it is drawn with, and those that are drawn on demand."""
        shapes: dict[str, tuple[list[Shape], list[Shape]]] = {name: ([], []) for name in names}
        drawn = {(shape.body, shape.solid) for shape in self.robot.shapes}
        touching = [
            Shape(shape.body, shape.solid, shape.placement, role="collision")
            for shape in contact_shapes(self.robot.contacts)
            if (shape.body, shape.solid) not in drawn  # of contacts that were made in code
        ]
        for shape in (*self.robot.shapes, *touching):
            if corners(shape.solid, self.meshes) is None:
                continue
            if shape.role == "visual" and (shape.color is None or shape.color[3] > 0):
                shapes[shape.body][0].append(shape)
            elif shape.role == "collision":
                shapes[shape.body][1].append(shape)
        return {name: (seen or hidden, hidden if seen else []) for name, (seen, hidden) in shapes.items()}

    def _reach(
        self,
        shapes: dict[str, tuple[list[Shape], list[Shape]]],
        names: tuple[str, ...],
        R: Array,
        p: Array,
        points: Array,
    ) -> Array:
        """Points around all that moves, and what is fixed in the world and no larger, ``(states, points, 3)``."""
        b = self.bones
        some = sorted({*b.rods.flat, *b.slides.flat, *b.ropes.flat, *b.marks["pin"], *b.marks["held"]})
        points_of_reach = [points[:, some]]
        for k, name in reversed(list(enumerate(names))):  # the world comes last
            size = (
                np.inf
                if k or not self.robot.joints
                else np.ptp(np.concatenate(points_of_reach, axis=1), axis=(0, 1)).max()
            )
            for shape in shapes[name][0]:
                around = corners(shape.solid, self.meshes)
                if around is not None and np.ptp(around, axis=0).max() <= size:
                    local = around @ shape.placement.rotation.T + shape.placement.position
                    points_of_reach.append(np.einsum("tij,nj->tni", R[:, k], local) + p[:, None, k])
        every = np.concatenate(points_of_reach, axis=1)
        return every if every.size else np.zeros((len(points), 1, 3))

    def _strength(self, R: Array, points: Array, multipliers: Array, contacts: ContactMarks | None) -> float:
        """A force that most forces are below."""
        numbers = np.nan_to_num(multipliers, posinf=0.0, neginf=0.0)
        strengths = [forces_at(R, points, numbers)[1] for forces_at in (self.bones.pushes, self.bones.pulls)]
        sizes = np.linalg.norm(np.concatenate(strengths, axis=1), axis=-1).ravel()
        if contacts is not None:
            sizes = np.concatenate([sizes, contacts.strengths[contacts.touching]])
        return float(np.quantile(sizes[sizes > 0], 0.95)) if (sizes > 0).any() else 1.0

    def _ground(self) -> SceneGround:
        view, plane = self.framing, ground_plane(self.robot)
        self.scene.set_up_direction(view.up)
        return SceneGround(self.scene, view, Placement(view.floor * view.up, view.level) if plane is None else plane)

    def _body(self, k: int, name: str, seen: list[Shape], hidden: list[Shape]) -> None:
        """The children of a body's frame."""
        limb = rgb_of(LIMBS[self.bones.limbs[k] % len(LIMBS)])
        red, green, blue = (0.75 * channel + 0.25 for channel in limb)
        soft: Rgb = (red, green, blue)
        for n, shape in enumerate(seen):
            drawn = shape.color is not None and shape.color[3] > 0
            color = shape.color[:3] if shape.color is not None and drawn else soft
            layer = "terrain" if not k and shape.link in ("", WORLD) else "shapes"
            node = self._put(f"/bodies/{k}/shape{n}", layer, name, shape.solid, shape.placement, color)
            if shape.color is not None and drawn and shape.color[3] < 1:
                node.opacity = self._opacity[node.name] = shape.color[3]
        for n, shape in enumerate(hidden):
            node = self._put(f"/bodies/{k}/collision{n}", "collision", name, shape.solid, shape.placement, SHELL)
            node.opacity = FAINT
        self._skeleton(k, name, limb, "bones" if not seen else "inner bones")
        self._marks(k)
        if k:
            at = self.robot.inertias[name].com
            box = inertia_box(self.robot.inertias[name])
            if box is not None:
                self._put(f"/bodies/{k}/inertia", "inertia", name, *box, MATTER).opacity = 0.5
            how: dict[str, Any] = {"font_screen_scale": 0.7, "anchor": "center-left", "visible": False}
            self._add("names", self.scene.add_label(f"/bodies/{k}/name", name, position=at, **how))
        self._frames(k, name)

    def _skeleton(self, k: int, name: str, limb: Rgb, layer: str) -> None:
        """Rods, and the joint that moves the body; of the world, the places where it carries others."""
        local, r = self.bones.local, self.radius
        joint = self.robot.joints[k - 1] if k else None
        for n, (start, end) in enumerate(self.bones.rods):
            rod = along(local[start], local[end], r) if self.bones.body[end] == k else None
            if rod is not None:
                self._put(f"/bodies/{k}/rod{n}", layer, name, *rod, limb)
        for n, end in enumerate(self.bones.marks["mass"] if joint else self.bones.marks["pin"]):
            if self.bones.body[end] == k:
                solid, color = Sphere(2.2 * r if joint else 1.8 * r), limb if joint else rgb_of(INK)
                self._put(f"/bodies/{k}/ball{n}", layer, name, solid, Placement(local[end]), color)
        if joint is not None:
            color = limb if isinstance(joint.type, Free) else JOINT
            self._put(f"/bodies/{k}/joint", layer, name, *pin_of(joint.type, r), color)
            self._axis(k, joint)

    def _axis(self, k: int, joint: TreeJoint) -> None:
        axis = getattr(joint.type, "axis", None)
        if axis is None or joint.type.nv != 1:
            return
        rod = along(-8 * self.radius * axis, 8 * self.radius * axis, 0.35 * self.radius)
        if rod is not None:
            self._put(f"/bodies/{k}/axis", "joint axes", joint.child, *rod, AXIS)

    def _marks(self, k: int) -> None:
        """Balls where constraints hold the body."""
        for kind, color in (("loop", LOOP), ("held", GROUND)):
            for n, end in enumerate(self.bones.marks[kind]):
                if self.bones.body[end] == k:
                    ball, at = Sphere(1.9 * self.radius), Placement(self.bones.local[end])
                    node = put(self.scene, f"/bodies/{k}/{kind}{n}", ball, at, rgb_of(color), self.meshes, self.sag)
                    self._add("loops", node)

    def _frames(self, k: int, name: str) -> None:
        """The axes of all named frames on the body."""
        places = [frame.placement for frame in self.robot.frames.values() if frame.body == name]
        node = self.scene.add_batched_axes(
            f"/bodies/{k}/frames",
            np.array([wxyz_of(at.rotation) for at in places]),
            np.array([at.position for at in places]),
            axes_length=6 * self.radius,
            axes_radius=0.4 * self.radius,
            visible=False,
        )
        self._add("frames", node)

    def _put(self, path: str, layer: str, body: str, solid: Solid, place: Placement, color: Rgb | None) -> Any:
        """A solid of a body, which can be clicked on."""
        node = put(self.scene, path, solid, place, color, self.meshes, self.sag)
        node.visible = layer not in HIDDEN
        self._add(layer, node)
        node.on_click(lambda event: self.clicked(body))
        if body != WORLD:
            self._bodies.append((body, node))
        return node

    def on_drag(self, dragged: Dragged) -> None:
        """Have a function called while the mouse drags a body.

        Args:
            dragged: Gets its name, ``"start"``, ``"update"`` or ``"end"``, the grasped point and where the mouse is.
        """
        for body, node in self._bodies:

            async def told(event: Any, body: str = body) -> None:  # asynchronous ones are called in order
                dragged(body, event.phase, np.array(event.start_position), np.array(event.end_position))

            node.on_drag(told)

    def _add(self, layer: str, node: Any) -> None:
        self.layers.setdefault(layer, []).append(node)

    # Display ------------------------------------------------------------------------------------------

    def show(self, layer: str, visible: bool) -> None:
        """Show or hide a layer, or ``"forces"``, ``"contacts"``, ``"friction cones"``."""
        for node in self.layers.get(layer, ()):
            node.visible = visible
        if layer in self._shown:
            self._shown[layer] = visible
            self._move_between()

    @property
    def shows_contacts(self) -> bool:
        """Whether contact points, their forces or friction cones are shown."""
        return self._shown["contacts"] or self._shown["friction cones"]

    def draw_as(self, look: str) -> None:
        """One of `LOOKS`."""
        self.look = look
        for node in self.layers.get("shapes", ()):
            node.visible = look != "bones"
            node.opacity = FAINT if look == "see-through" else self._opacity.get(node.name)
        for node in self.layers.get("inner bones", ()):
            node.visible = look != "solid"

    def scale_forces(self, factor: float) -> None:
        """Draw arrows this many times as long."""
        self.loudness = factor
        self._move_between()

    # How it moves -------------------------------------------------------------------------------------

    def move(
        self,
        q: Array,
        multipliers: Array | None = None,
        contacts: ContactMarks | None = None,
        *,
        lines: bool = True,
    ) -> None:
        """Put the robot at a configuration; constraints push with ``multipliers (nc,)``, if any, and ``contacts``.

        Without ``lines``, those between bodies stay as they are.
        """
        self.q, self._multipliers, self._contacts = q, multipliers, contacts
        R, p = self.bones.poses(q)
        self.places = dict(zip(self.nodes, p, strict=True))
        """The origins of the world and of all bodies, by name."""
        self.middle: Array = p[1:].mean(axis=0) if len(p) > 1 else np.zeros(3)
        """Of the origins of all bodies."""
        self.ground.follow(self.middle)
        for k, (node, turn) in enumerate(zip(self.nodes.values(), wxyz_of(R), strict=True)):
            if k:  # the world stays
                node.position, node.wxyz = p[k], turn
        if lines:
            self._move_between()

    def _move_between(self) -> None:
        self.between.put(self.lines(self.q, self._multipliers, self._contacts))

    def lines_at(self, path: str) -> Between:
        """Nodes for lines between bodies, which have no points yet."""
        return Between(self.scene, path, self.bones, self.radius, self.strands, self._touches)

    def lines(
        self, q: Array, multipliers: Array | None = None, contacts: ContactMarks | None = None
    ) -> dict[str, Array | None]:
        """Lines and arrows between bodies at a configuration."""
        R, p = self.bones.poses(q)
        points = self.bones.placed(R, p)
        lines: dict[str, Array | None] = {SLIDES: points[self.bones.slides], GAPS: None, ARROWS: None}
        lines[TENDONS] = self.strands.tendon_lines(R, p) if self.strands.tendons and self._shown[TENDONS] else None
        lines[SPRINGS] = self.strands.spring_lines(R, p) if self.strands.springs and self._shown[SPRINGS] else None
        lines |= self._contact_lines(contacts)
        ends = [(first, second) for _, first, second in (*self.bones.loops, *self.bones.held)]
        if not ends:
            return lines
        gaps = points[np.array(ends)]
        apart = np.linalg.norm(gaps[:, 1] - gaps[:, 0], axis=1) > OPEN * self.framing.size
        if apart.any() and self._shown["loops"]:
            lines[GAPS] = np.where(apart[:, None, None], gaps, gaps[:, :1])
        if multipliers is not None and self._shown["forces"]:
            lines[ARROWS] = self._arrows(R, points, np.nan_to_num(multipliers, posinf=0, neginf=0))
        return lines

    def _arrows(self, R: Array, points: Array, forces: Array) -> Array | None:
        """Starts and tips of the arrows of forces, if any is long enough to be seen."""
        pulls, pushes = (
            np.stack(forces_at(R, points, forces), axis=1) for forces_at in (self.bones.pulls, self.bones.pushes)
        )
        arrows = np.concatenate([pulls, pushes])
        arrows[:, 1] *= self.per_newton
        seen = np.linalg.norm(arrows[:, 1], axis=1) > 5 * self.radius
        if not seen.any():
            return None
        tips = arrows[:, 0] + arrows[:, 1]
        nowhere = self.framing.center - 1e3 * self.framing.size * self.framing.up  # too short to be seen
        return np.stack([np.where(seen[:, None], x, nowhere) for x in (arrows[:, 0], tips)], axis=1)

    @property
    def per_newton(self) -> float:
        """Meters of an arrow for a newton."""
        return self.loudness * ARROW * self.framing.size / self.strong

    def _contact_lines(self, contacts: ContactMarks | None) -> dict[str, Array | None]:
        """Points that touch, their friction cones as high as their normal forces, and their forces."""
        lines: dict[str, Array | None] = dict.fromkeys((POINTS, CONES, PUSHES))
        if contacts is None or not contacts.touching.any():
            return lines
        at = contacts.touching
        points, pushes = contacts.points[at], self.per_newton * contacts.forces[at]
        if self._shown["friction cones"]:
            normal = np.einsum("...i,...i->...", contacts.forces, contacts.frames[..., 2])
            lines[CONES] = contacts.cones(self.per_newton * normal)[at].reshape(-1, 2, 3)
        if self._shown["contacts"]:
            lines[POINTS] = points
            seen = np.linalg.norm(pushes, axis=-1) > 4 * self.radius
            if seen.any():
                lines[PUSHES] = np.stack([points, points + pushes], axis=1)[seen]
        return lines
