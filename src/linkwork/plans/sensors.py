# SPDX-License-Identifier: BSD-3-Clause
"""The plan of sensors, beside constraints and actuators.

Interaction forces and subtrees are those of *parts*: a moving body, or its part outboard of a fixed joint that the
model has merged, with all bodies that it carries. Inertias are those of the model, not `regrouped`: forces of joints
depend on that, torques do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from linkwork.model.arrays import Floats
from linkwork.model.constraints import WORLD
from linkwork.model.joints import HELICAL, REVOLUTE
from linkwork.model.model import Model
from linkwork.model.rotations import quaternion_of, quaternion_product
from linkwork.model.sensors import OUTBOARD, RAY_DATA, SENSOR_TYPES, Outboard, Sensor, carried_bodies, outboard_of
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.actuation import actuated_layout, with_actuators
from linkwork.plans.bodies import BodyTable
from linkwork.plans.constraints import CONSTRAINED_TREE, constrained_tree
from linkwork.plans.contacts import contact_slots
from linkwork.plans.layout import ragged
from linkwork.plans.rays import RAY_FLOATS, RAY_INTEGERS, RAY_SIZES, ray_tables, sensed_shapes, solid_kind
from linkwork.plans.tree import Tree, build_tree

CODE = {name: kind.code for name, kind in SENSOR_TYPES.items()}
"""Types of sensors, as kernels know them."""

SENSOR_TREE = actuated_layout(CONSTRAINED_TREE).extended(
    "sensors",
    sizes=(
        "nsensors",
        "nvalues",  # numbers of all sensors
        "nslots",  # contact points
        "nparts",
        "npart_bodies",
        "npart_joints",
        "npart_rows",
        "npart_wrenches",
        "npart_contacts",
        "nloop_or_world_poses",  # rows of poses: of loops, then of bodies in the world
        "senses_poses",  # 1 where poses in the world are needed, and so on
        "senses_velocities",
        "senses_accelerations",
        "senses_forces",
        "senses_rows",
        "senses_actuators",
        "senses_tendons",
        "senses_tendon_rates",
        "npulling_actuators",
        "nlines",  # segments of spatial tendons, those on one body included
        "npart_ends",
        *RAY_SIZES,
    ),
    integers={
        **RAY_INTEGERS,
        "seen_start": ("nsensors",),  # shapes that a range finder sees: first and count
        "seen_count": ("nsensors",),
        "ray_value": ("nsensors", len(RAY_DATA)),  # where it has each of RAY_DATA among its numbers, or -1
        "sensor_kind": ("nsensors",),  # CODE
        "sensor_value": ("nsensors",),  # its first number among all
        "sensor_frame": ("nsensors",),  # frame, -1 where it is on none
        "sensor_reference": ("nsensors",),  # frame, -1: the world
        "sensor_q": ("nsensors",),  # coordinate and degree of freedom of its joint
        "sensor_v": ("nsensors",),
        "sensor_actuator": ("nsensors",),
        "sensor_tendon": ("nsensors",),
        "pulling_start": ("nsensors",),  # actuators of a tendon: first and count
        "pulling_count": ("nsensors",),
        "pulling_actuator": ("npulling_actuators",),
        "sensor_part": ("nsensors",),
        "sensor_volume": ("nsensors",),  # see `rays.solid_kind`
        "has_turn": ("n",),  # 1 where joint_quaternion is not that of no turn
        "slot_first": ("nslots",),  # the bodies of a contact point
        "slot_second": ("nslots",),
        "part_body": ("nparts",),
        "part_body_start": ("nparts",),  # bodies that a part carries: first and count,
        "part_body_count": ("nparts",),
        "part_joint_start": ("nparts",),  # bodies of the joints that start from it,
        "part_joint_count": ("nparts",),
        "part_row_start": ("nparts",),  # rows of K on it,
        "part_row_count": ("nparts",),
        "part_wrench_start": ("nparts",),  # wrenches on it,
        "part_wrench_count": ("nparts",),
        "part_contact_start": ("nparts",),  # and contacts: slot s as s + 1 where it is second, -(s + 1) where first
        "part_contact_count": ("nparts",),
        "part_end_start": ("nparts",),  # and ends of lines: line s as s + 1 where it is second, -(s + 1) where first
        "part_end_count": ("nparts",),
        "part_ends": ("npart_ends",),
        "line_tendon": ("nlines",),
        "line_first_body": ("nlines",),
        "line_second_body": ("nlines",),
        "part_bodies": ("npart_bodies",),
        "part_joints": ("npart_joints",),
        "part_rows": ("npart_rows",),
        "part_wrenches": ("npart_wrenches",),
        "part_contacts": ("npart_contacts",),
    },
    floats={
        **RAY_FLOATS,
        "value_range": ("nvalues", 2),  # cutoffs
        "sensor_constants": ("nsensors", 3),  # magnetic flux; bounds of a joint and its margin; size of a volume
        "sensor_sign": ("nsensors",),  # of quaternions
        "frame_quaternion": ("nframes", 4),  # w x y z of frames in their bodies
        "joint_quaternion": ("n", 4),  # of bodies in their parents where joints are at zero
        "line_first": ("nlines", 3),  # ends of a line on their bodies,
        "line_second": ("nlines", 3),
        "line_scale": ("nlines",),  # and one over the divisor of its pulley
        "part_mass": ("nparts",),
        "part_mc": ("nparts", 3),
        "part_I": ("nparts", 6),
        "part_total": ("nparts",),  # mass of the part and of all that it carries
    },
)
"""A mechanism with its constraints, actuators and sensors."""


def sensor_tree(mechanism: Model, sensors: Sequence[Sensor], frames: Sequence[str], inputs: Sequence[str]) -> Tree:
    """The arrays of a mechanism with some of its sensors, for a kernel with these inputs.

    ``frames`` are those that external wrenches act on.
    """
    return _SensorTables(mechanism, sensors, frames, inputs).build()


def has_tensions(mechanism: Model) -> bool:
    """Whether forces act along spatial tendons: of actuators, springs and dampers."""
    pulled = {actuator.tendon for actuator in mechanism.actuators}
    return any(t.is_spatial and (t.is_passive or t.name in pulled) for t in mechanism.tendons)


class _SensorTables:
    """Fills the fields of sensors."""

    def __init__(
        self, mechanism: Model, sensors: Sequence[Sensor], frames: Sequence[str], inputs: Sequence[str]
    ) -> None:
        self.mechanism, self.sensors, self.wrench_frames = mechanism, sensors, list(frames)
        self.has_contacts, self.has_rows = "contacts" in inputs, "constraint_forces" in inputs
        self.has_lines = has_tensions(mechanism) and any(s.type in ("force", "torque") for s in sensors)
        sensed = [name for s in sensors for name in (s.of, s.reference) if name in mechanism.frames]
        self.frames = [*frames, *dict.fromkeys(sensed)]
        self.number = {name: len(frames) + k for k, name in enumerate(dict.fromkeys(sensed))}
        self.tree = constrained_tree(mechanism, self.frames, joint_level=True)._replace(nf=len(frames))
        self.bodies: BodyTable = build_tree(mechanism)[1]
        self.part_of: dict[Sensor, int] = {}
        self.parts: list[tuple[int, Outboard]] = []

    def build(self) -> Tree:
        """The whole."""
        mass, mc, I = self.bodies.inertias
        six = np.array([block[np.triu_indices(3)] for block in I])
        tree = self.tree._replace(mass=mass, mc=mc, I=six)
        for sensor in self.sensors:
            if sensor.type in OUTBOARD:
                body = self.mechanism.frames[sensor.of].body if sensor.of else WORLD
                self.part_of[sensor] = len(self.parts)
                self.parts.append((self.bodies.number[body], outboard_of(self.mechanism, sensor)))
        fields = self._flags() | self._per_sensor() | self._line_tables() | self._part_tables()
        fields |= self._contact_tables() | self._quaternions() | self._ray_tables()
        return with_actuators(self.mechanism, tree, SENSOR_TREE, **fields)

    def _flags(self) -> dict[str, int]:
        kinds = {sensor.type for sensor in self.sensors}
        needs = {name for sensor in self.sensors for name in sensor.needs}
        forces = bool(kinds & {"force", "torque"})
        of_actuators = kinds & {"actuatorfrc", "jointactuatorfrc", "tendonactuatorfrc"}
        pulled = any(actuator.tendon for actuator in self.mechanism.actuators)
        along = {name for name in kinds if name.startswith("tendon")}
        along |= {name for name in kinds if name.startswith("actuator") and pulled}
        along |= {name for name in kinds if name == "e_potential" and self.mechanism.tendons}
        along |= {name for name in kinds if name in ("force", "torque") and self.has_lines}
        in_joints = {name for name in kinds if name.startswith(("joint", "ball", "actuator", "tendon"))} | {"clock"}
        return {
            "nloop_or_world_poses": max(int(self.tree.n), int(self.tree.nposes)),
            "senses_poses": bool(kinds - in_joints),
            "senses_velocities": "v" in needs and bool(kinds - in_joints),
            "senses_accelerations": "a" in needs,
            "senses_forces": forces,
            "senses_rows": forces and self.has_rows,
            "senses_actuators": bool(of_actuators) or (forces and self.has_lines and pulled),
            "senses_tendons": bool(along),
            "senses_tendon_rates": bool(along & {"actuatorvel", "tendonvel", "tendonlimitvel", "force", "torque"}),
        }

    # Sensors ----------------------------------------------------------------------------------------

    def _per_sensor(self) -> dict[str, Any]:
        robot, actuators = self.mechanism, [actuator.name for actuator in self.mechanism.actuators]
        joints = [
            s.of if s.of in robot.space.indices and s.type.startswith(("joint", "ball")) else "" for s in self.sensors
        ]
        sizes = np.array([sensor.size for sensor in self.sensors], dtype=np.int64)
        tendons = [tendon.name for tendon in robot.tendons]
        pulling = ragged([self._pulling(sensor) for sensor in self.sensors])
        return {
            "sensor_kind": [CODE[sensor.type] for sensor in self.sensors],
            "sensor_value": np.cumsum(sizes) - sizes,
            "nvalues": int(sizes.sum()),
            "value_range": [_finite(sensor.bounds) for sensor in self.sensors for _ in range(sensor.size)],
            "sensor_frame": [self.number.get(sensor.of, -1) for sensor in self.sensors],
            "sensor_reference": [self.number.get(sensor.reference, -1) for sensor in self.sensors],
            "sensor_q": [robot.q_slice(joint).start if joint else 0 for joint in joints],
            "sensor_v": [robot.v_slice(joint).start if joint else 0 for joint in joints],
            "sensor_actuator": [actuators.index(s.of) if s.type.startswith("actuator") else -1 for s in self.sensors],
            "sensor_tendon": [tendons.index(s.of) if s.type.startswith("tendon") else -1 for s in self.sensors],
            "pulling_start": pulling.start,
            "pulling_count": pulling.count,
            "pulling_actuator": pulling.entries,
            "sensor_part": [self.part_of.get(sensor, -1) for sensor in self.sensors],
            "sensor_volume": [solid_kind(sensor.volume)[0] for sensor in self.sensors],
            "sensor_constants": [self._constants(sensor) for sensor in self.sensors],
        }

    def _pulling(self, sensor: Sensor) -> list[int]:
        """Actuators whose forces are summed."""
        if sensor.type != "tendonactuatorfrc":
            return []
        return [
            k
            for k, actuator in enumerate(self.mechanism.actuators)
            if actuator.name in sensor.actuators or (actuator.tendon == sensor.of and not sensor.actuators)
        ]

    def _constants(self, sensor: Sensor) -> tuple[float, float, float]:
        if sensor.type == "magnetometer":
            return sensor.magnetic_flux
        if sensor.type in ("jointlimitpos", "jointlimitvel"):
            limits = self.mechanism.joint(sensor.of).limits
            low, high = _finite((float(limits.lower[0]), float(limits.upper[0])))
            return low, high, sensor.margin
        if sensor.type in ("tendonlimitpos", "tendonlimitvel"):
            low, high = _finite(self.mechanism.tendon(sensor.of).limits)
            return low, high, sensor.margin
        return solid_kind(sensor.volume)[1]

    # Parts ------------------------------------------------------------------------------------------

    def _part_tables(self) -> dict[str, Any]:
        inertias = [part.inertia.moved(self.bodies.frames[b].inverse()) for b, part in self.parts]
        carried = [carried_bodies(self.mechanism, part) for _, part in self.parts]
        total = [
            part.inertia.mass + sum(self.mechanism.inertias[name].mass for name in names)
            for (_, part), names in zip(self.parts, carried, strict=True)
        ]
        rows = [self._rows_on(b, part) for b, part in self.parts]
        wrenches = [[k for k, name in enumerate(self.wrench_frames) if name in part.frames] for _, part in self.parts]
        lists = {
            "body": ("part_bodies", [self._atoms(names) for names in carried]),
            "joint": ("part_joints", [[self._first_atom(name) for name in part.joints] for _, part in self.parts]),
            "row": ("part_rows", rows),
            "wrench": ("part_wrenches", wrenches),
            "end": ("part_ends", [self._ends_on(b, part) for b, part in self.parts]),
            "contact": ("part_contacts", [self._contacts_on(b, part) for b, part in self.parts]),
        }
        tables: dict[str, Any] = {
            "part_body": [b for b, _ in self.parts],
            "part_mass": [inertia.mass for inertia in inertias],
            "part_mc": [inertia.mass * inertia.com for inertia in inertias],
            "part_I": [inertia.about_origin()[np.triu_indices(3)] for inertia in inertias],
            "part_total": total,
        }
        for what, (name, entries) in lists.items():
            spans = ragged(entries)
            tables |= {f"part_{what}_start": spans.start, f"part_{what}_count": spans.count, name: spans.entries}
        return tables

    def _atoms(self, bodies: Iterable[str]) -> list[int]:
        """Numbers of bodies; those between the atoms of a joint have no mass."""
        return [self.bodies.number[body] for body in bodies]

    def _first_atom(self, joint: str) -> int:
        """The first body behind a joint, whose parent is the body that it starts from."""
        start, i = self.mechanism.joint(joint).parent, self.bodies.number[self.mechanism.joint(joint).child]
        while self.tree.parent[i] != self.bodies.number[start]:
            i = int(self.tree.parent[i])
        return i

    def _rows_on(self, b: int, part: Outboard) -> list[int]:
        """Rows of K that act on a part: those of its body, of constraints at its frames."""
        rows: list[int] = []
        if not self.has_rows:
            return rows
        of_row = {
            r: constraint
            for constraint in self.mechanism.constraints
            for r in range(*self.mechanism.row_slice(constraint.name).indices(self.mechanism.nc))
        }
        for m in range(int(self.tree.nk_link)):
            constraint = of_row[int(self.tree.k_row[m])]
            here = [p for p in constraint.places if self.bodies.number[self.mechanism.frames[p].body] == b]
            if int(self.tree.k_body[m]) == b and (not here or any(place in part.frames for place in here)):
                rows.append(m)
        return rows

    # Tendons ----------------------------------------------------------------------------------------

    def _lines(self) -> list[tuple[int, tuple[str, str], float]]:
        """Segments of spatial tendons: the tendon, its sites there, and one over the divisor of its pulley."""
        if not self.has_lines:
            return []
        return [
            (t, ends, 1.0 / branch.divisor)
            for t, tendon in enumerate(self.mechanism.tendons)
            for branch in tendon.branches
            for ends in branch.segments
        ]

    def _line_tables(self) -> dict[str, Any]:
        tables: dict[str, Any] = {"line_tendon": [t for t, _, _ in self._lines()]}
        for end, what in enumerate(("first", "second")):
            frames = [self.mechanism.frames[ends[end]] for _, ends, _ in self._lines()]
            numbers = [self.bodies.number[frame.body] for frame in frames]
            at = [self.bodies.frames[b].inverse() * f.placement for b, f in zip(numbers, frames, strict=True)]
            tables |= {f"line_{what}_body": numbers, f"line_{what}": [place.position for place in at]}
        return tables | {"line_scale": [scale for _, _, scale in self._lines()]}

    def _ends_on(self, b: int, part: Outboard) -> list[int]:
        numbers = []
        for s, (_, ends, _) in enumerate(self._lines()):
            for sign, site in zip((-1, 1), ends, strict=True):
                if self.bodies.number[self.mechanism.frames[site].body] == b and site in part.frames:
                    numbers.append(sign * (s + 1))
        return numbers

    # Contacts ---------------------------------------------------------------------------------------

    def _contact_tables(self) -> dict[str, Any]:
        slots, first, second = contact_slots(self.mechanism), [], []
        for pair in self.mechanism.contacts if self.has_contacts else ():
            count = slots[pair.name].stop - slots[pair.name].start
            first += [self.bodies.number[pair.first.body]] * count
            second += [self.bodies.number[pair.second.body]] * count
        return {"slot_first": first, "slot_second": second}

    def _contacts_on(self, b: int, part: Outboard) -> list[int]:
        slots, slots_on = contact_slots(self.mechanism), []
        links = {(shape.body, shape.name): shape.link for shape in self.mechanism.shapes if shape.link}
        for pair in self.mechanism.contacts if self.has_contacts else ():
            for sign, shape in ((-1, pair.first), (1, pair.second)):
                link = links.get((shape.body, shape.name), shape.body)
                if self.bodies.number[shape.body] == b and link in part.frames:
                    slots_on += [sign * (s + 1) for s in range(slots[pair.name].start, slots[pair.name].stop)]
        return slots_on

    # Rays -------------------------------------------------------------------------------------------

    def _ray_tables(self) -> dict[str, Any]:
        """Shapes that range finders see, each once, and outputs of range finders."""
        seen = [sensed_shapes(self.mechanism, s) if s.type == "rangefinder" else [] for s in self.sensors]
        shapes = {id(shape): shape for each in seen for shape in each}
        number = {key: k for k, key in enumerate(shapes)}
        lists = ragged([[number[id(shape)] for shape in each] for each in seen])
        values = []
        for sensor in self.sensors:
            ends = np.cumsum([RAY_DATA[part] for part in sensor.data])
            start = {part: end - RAY_DATA[part] for part, end in zip(sensor.data, ends, strict=True)}
            values.append([start.get(part, -1) for part in RAY_DATA])
        return {
            **ray_tables(list(shapes.values()), self.bodies),
            "seen_shape": lists.entries,
            "seen_start": lists.start,
            "seen_count": lists.count,
            "ray_value": values,
        }

    # Quaternions ------------------------------------------------------------------------------------

    def _quaternions(self) -> dict[str, Any]:
        """Constant factors of the products that give orientations of frames.

        The product of a frame has the sign of that of the placements of the model, each with ``w >= 0``, at zero
        angles. So it changes sign with the quaternion of a free joint, and nowhere else.
        """
        tree = self.tree
        joints = np.array([_w_first(tree.P[i] @ _turned(tree, i)) for i in range(tree.n)])
        frames = np.array([_w_first(R) for R in tree.frame_rotation]).reshape(-1, 4)
        neutral = {"": np.array([1.0, 0.0, 0.0, 0.0])}
        by_child = {joint.child: joint for joint in self.mechanism.joints}
        for name, k in self.number.items():
            frame = self.mechanism.frames[name]
            ours, i = frames[k], int(tree.frame_body[k])
            while i > 0:
                ours, i = _product(joints[i], ours), int(tree.parent[i])
            theirs, body = _w_first(frame.placement.rotation), frame.body
            while body != WORLD:
                theirs, body = _product(_w_first(by_child[body].placement.rotation), theirs), by_child[body].parent
            if float(ours @ theirs) < 0:
                frames[k] = -frames[k]
            neutral[name] = theirs
        signs = []
        for sensor in self.sensors:
            of, reference, meant = neutral.get(sensor.of), neutral[sensor.reference], sensor.neutral_quaternion
            if of is None or meant is None:
                signs.append(1.0)
            else:
                signs.append(-1.0 if _product(reference * _CONJUGATE, of) @ meant < 0 else 1.0)
        return {
            "has_turn": np.abs(joints - (1.0, 0.0, 0.0, 0.0)).max(axis=1) > 0,
            "joint_quaternion": joints,
            "frame_quaternion": frames,
            "sensor_sign": signs,
        }


_CONJUGATE = np.array([1.0, -1.0, -1.0, -1.0])


def _turned(tree: Tree, i: int) -> Floats:
    """The rotation by which a joint's angle is off at zero."""
    if int(tree.kind[i]) not in (REVOLUTE, HELICAL):
        return np.eye(3)
    c, s = tree.offset[i]
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _w_first(R: Floats) -> Floats:
    """The quaternion ``w x y z`` of a rotation, ``w >= 0``."""
    x, y, z, w = quaternion_of(R)
    quaternion = np.array([w, x, y, z])
    return quaternion if w >= 0 else -quaternion


def _product(a: Floats, b: Floats) -> Floats:
    """The product of quaternions ``w x y z``."""
    return quaternion_product(a[[1, 2, 3, 0]], b[[1, 2, 3, 0]])[[3, 0, 1, 2]]


def _finite(bounds: tuple[float, float]) -> tuple[float, float]:
    return max(bounds[0], -UNBOUNDED), min(bounds[1], UNBOUNDED)
