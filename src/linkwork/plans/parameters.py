# SPDX-License-Identifier: BSD-3-Clause
"""Plans whose parameters are inputs: where the numbers of a parameter belong in the arrays of a tree.

Users give parameters in their own frames (`model.parameters`), kernels read arrays in theirs. A plan says which bodies,
joints or rows the numbers belong to, and the transforms from one frame to the other; `kernels.parameters` computes the
arrays. The plan does not depend on numbers that are inputs: inertias that are inputs are not regrouped, nor are any
across joints whose positions are inputs (`plans.tree.regrouped`), and zeros of armature, damping, stiffness and gains
are not simplified.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from linkwork.errors import InputError, UnsupportedFeature
from linkwork.model.constraints import CenterOfMass
from linkwork.model.contact_sizes import sized_shapes
from linkwork.model.contacts import ContactPairs
from linkwork.model.joints import atoms_of
from linkwork.model.mocap import mocap_bodies
from linkwork.model.model import Model
from linkwork.model.motor_parameters import MOTOR_PARAMETERS, motor_rows
from linkwork.model.parameters import (
    acts_as_spring,
    changed_fields,
    own_values,
    pairs_of,
    parameter,
)
from linkwork.model.placement import Placement
from linkwork.model.shapes import bounding_sphere
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.bodies import size_of
from linkwork.plans.constraints import body_of_dof
from linkwork.plans.contacts import GIVEN
from linkwork.plans.kernel_frames import rounded, rounded_rotation
from linkwork.plans.layout import Layout, Shape
from linkwork.plans.tree import Tree, build_tree, merged, regrouped

INERTIAL = ("mass", "com", "inertia", "inertial_parameters")
"""Parameters that inertias of bodies follow from."""

PASSIVE = ("armature", "damping", "stiffness", "rest")
"""Parameters of rotors, dampers and springs of joints: implicit ones add to the armature."""


class Chosen(NamedTuple):
    """A parameter that is an input, and of which rows of the model (`model.parameters`)."""

    name: str
    rows: tuple[int, ...]


class Numbers(NamedTuple):
    """The entries of a layout for a parameter."""

    integers: dict[str, Shape]
    floats: dict[str, Shape]


def _place(name: str) -> dict[str, Shape]:
    return {f"{name}_place": (f"{name}_count",)}


RIGID = Numbers(
    {"rigid_body": ("nrigid",)},  # the body of each inertia that depends on inputs
    {
        "rigid_mass": ("nrigid",),  # the robot's own mass, center of mass,
        "rigid_com": ("nrigid", 3),
        "rigid_inertia": ("nrigid", 6),  # and rotational inertia about it, in the user's frame
        "rigid_axes": ("nrigid", 3, 3),  # the user's axes of the body in the kernels',
        "rigid_origin": ("nrigid", 3),  # and the kernels' origin in the user's frame
    },
)

ELEMENTS = Numbers(
    {},
    {
        "own_armature": ("nv",),  # the robot's own rotors, dampers and springs
        "own_damping": ("nv",),
        "own_stiffness": ("nv",),  # zero where no spring can be
        "own_rest": ("nv",),
        "spring_factor": ("nv",),  # one where a spring can be, else zero
        "implicit_time": (1,),  # the time of steps at whose end springs and dampers act; zero: they act as they are
    },
)

LAYOUTS: Mapping[str, Numbers] = {
    "mass": Numbers(_place("mass"), {}),  # places in `rigid_body`
    "com": Numbers(_place("com"), {}),
    "inertia": Numbers(_place("inertia"), {}),
    "inertial_parameters": Numbers(_place("inertial_parameters"), {}),
    "armature": Numbers(_place("armature"), {}),  # degrees of freedom
    "damping": Numbers(_place("damping"), {}),
    "stiffness": Numbers(_place("stiffness"), {}),
    "rest": Numbers(_place("rest"), {}),
    "gravity": Numbers({}, {}),
    "time": Numbers({}, {}),
    "joint_position": Numbers(
        _place("joint_position"),  # bodies behind the joints
        {
            "joint_axes": ("joint_position_count", 3, 3),  # the user's axes of the parent in the kernels'
            "joint_shift": ("joint_position_count", 3),  # from the user's origins to the kernels'
        },
    ),
    "anchor_position": Numbers(
        _place("anchor_position"),  # pairs
        {
            "anchor_rotation": (
                "anchor_position_count",
                2,
                3,
                3,
            ),  # axes of the places in the kernels' frames of bodies
            "anchor_shift": ("anchor_position_count", 2, 3),  # and their origins
        },
    ),
    "length": Numbers(_place("length"), {}),  # pairs
    "gains": Numbers(
        {**_place("gains"), "gains_rows": ("gains_count",)}, {}
    ),  # first rows of constraints, and how many
    "actuator_gain": Numbers(_place("actuator_gain"), {}),  # actuators
    "actuator_bias": Numbers(_place("actuator_bias"), {}),
    **{name: Numbers(_place(name), {}) for name in MOTOR_PARAMETERS},  # actuators
    "friction": Numbers(_place("friction"), {}),  # boxes
    "contact_friction": Numbers(  # contact points, and which of the given numbers each has
        {"contact_friction_slot": ("contact_friction_slots",), "contact_friction_place": ("contact_friction_slots",)},
        {},
    ),
    "contact_size": Numbers(
        {"contact_size_shape": ("contact_size_count",)},  # shapes whose sizes are given
        {"contact_size_margin": ("contact_size_count",)},  # what their bounding spheres and boxes are larger than they
    ),
    "mocap": Numbers(
        {
            "mocap_frame": ("mocap_frames",),  # frames of constraints that move with mocap bodies, and with which
            "mocap_frame_of": ("mocap_frames",),
            "mocap_pair": ("mocap_pairs",),  # pairs of such frames with others,
            "mocap_pair_first": ("mocap_pairs",),  # 1 where the first of the two is on a mocap body
            "mocap_shape": ("mocap_shapes",),  # shapes, and the mocap bodies that they move with
            "mocap_shape_of": ("mocap_shapes",),
        },
        {
            "mocap_frame_rotation": ("mocap_frames", 3, 3),  # placements on the mocap bodies
            "mocap_frame_position": ("mocap_frames", 3),
            "mocap_shape_rotation": ("mocap_shapes", 3, 3),
            "mocap_shape_position": ("mocap_shapes", 3),
        },
    ),
}
"""Fields of plans for each parameter."""

NEEDED: Mapping[str, str] = {
    "anchor_position": "pair_size",
    "length": "pair_size",
    "gains": "kp",
    "actuator_gain": "actuator_gain",
    "actuator_bias": "actuator_bias",
    **dict.fromkeys(MOTOR_PARAMETERS, "motor"),
    "friction": "box_lower",
    "contact_friction": "friction",
    "contact_size": "contact_kind",
    "mocap": "pair_size",
}
"""Arrays of a layout without which a parameter has no effect on results."""


def parametrized_layout(layout: Layout, names: Sequence[str]) -> Layout:
    """A layout with arrays of parameters."""
    shared = [part for group, part in ((INERTIAL, RIGID), (PASSIVE, ELEMENTS)) if set(names) & set(group)]
    parts = [*shared, *(LAYOUTS[name] for name in names)]
    integers = {key: shape for part in parts for key, shape in part.integers.items()}
    floats = {key: shape for part in parts for key, shape in part.floats.items()}
    counts = [f"{name}_count" for name in names if parameter(name).of]
    named = [shape[0] for shape in (*integers.values(), *floats.values()) if isinstance(shape[0], str)]
    sizes = tuple(size for size in dict.fromkeys([*counts, *named]) if size not in layout.sizes)
    return layout.extended(f"{layout.name}_of_{'_'.join(names)}", sizes, integers, floats)


def row_shape(name: str) -> Shape:
    """The shape of a parameter as an input: its size by name, then those of a row."""
    kind = parameter(name)
    return (f"{name}_count", *kind.shape) if kind.of else kind.shape


def parametrized_tree(
    robot: Model, tree: Tree, layout: Layout, chosen: Sequence[Chosen], implicit_time: float = 0.0
) -> Tree:
    """The plan of a robot whose parameters ``chosen`` are inputs: that of the robot, prepared for other numbers.

    Where springs and dampers act at the end of steps, ``implicit_time`` is the time of one: the plan was made for a
    robot with more armature, which depends on these.
    """
    fields: dict[str, Any] = _rigid(robot, tree, chosen) | _elements(robot, tree, chosen, implicit_time)
    for one in chosen:
        fields |= _FIELDS[one.name](robot, tree, list(one.rows)) if one.name in _FIELDS else {}
    fields |= {f"{one.name}_count": len(one.rows) for one in chosen if parameter(one.name).of}
    base = layout.type(*(getattr(tree, field) for field in layout.type._fields))  # of a plan that may have more
    return parametrized_layout(layout, [one.name for one in chosen]).build(base, **fields)


def _rigid(robot: Model, tree: Tree, chosen: Sequence[Chosen]) -> dict[str, Any]:
    """Inertias that stay with the plan, and arrays for those that are inputs."""
    by_name = {one.name: one.rows for one in chosen}
    inertial = [name for name in by_name if name in INERTIAL]
    moved = by_name.get("joint_position", ())
    if not inertial and not moved:
        return {}
    centers = [c for c in robot.constraints if isinstance(c, CenterOfMass)]
    if centers:
        raise UnsupportedFeature(
            f"'{robot.name}' has {centers[0]}, whose rows are planned for the masses and joints of the model: neither "
            f"can be inputs ({', '.join([*inertial, *['joint_position'][: len(moved)]])}); leave the constraint out"
        )
    _, bodies = build_tree(robot)
    rows = sorted({row for name in inertial for row in by_name[name]})
    own = [bodies.number[robot.body_names[row]] for row in rows]
    mass, mc, I = (x.copy() for x in bodies.inertias)
    carried, length = float(mass.sum()), size_of(robot)
    mass[own], mc[own], I[own] = 0.0, 0.0, 0.0
    kept = {_first_body(robot, bodies.number, row) for row in moved}
    mass, mc, I = regrouped(tree.parent, tree.kind, tree.P, tree.p, mass, mc, I, kept)
    fields: dict[str, Any] = {
        "mass": mass,
        "mc": merged([rounded(row, carried * length) for row in mc]),
        "I": merged([rounded(row[np.triu_indices(3)], carried * length**2) for row in I]),
    }
    if not inertial:
        return fields
    frames = [bodies.frames[i] for i in own]
    places = {row: k for k, row in enumerate(rows)}
    for name in inertial:
        fields[f"{name}_place"] = [places[row] for row in by_name[name]]
    return fields | {
        "rigid_body": own,
        "rigid_mass": own_values(robot, "mass")[rows],
        "rigid_com": own_values(robot, "com")[rows],
        "rigid_inertia": own_values(robot, "inertia")[rows],
        "rigid_axes": [rounded_rotation(frame.rotation.T) for frame in frames],
        "rigid_origin": [rounded(frame.position, length) for frame in frames],
    }


def _first_body(robot: Model, number: Mapping[str, int], joint: int) -> int:
    """The first of the bodies behind a joint, of which a universal joint has two."""
    return number[robot.joints[joint].child] - len(atoms_of(robot.joints[joint].type)) + 1


def _elements(robot: Model, tree: Tree, chosen: Sequence[Chosen], implicit_time: float) -> dict[str, Any]:
    """Rotors, dampers and springs of the robot; places for all that may be given."""
    by_name = {one.name: list(one.rows) for one in chosen if one.name in PASSIVE}
    if not by_name:
        return {}
    has_armature, body = tree.has_armature.copy(), body_of_dof(tree)
    geared = ("armature",) if implicit_time == 0.0 else ("armature", "damping", "stiffness")
    for k in (k for name in geared for k in by_name.get(name, ())):
        has_armature[body[k]] = 1
    sprung = np.array([acts_as_spring(robot, k) for k in range(robot.nv)])
    own = {name: own_values(robot, name) for name in PASSIVE}
    fields: dict[str, Any] = {f"{name}_place": rows for name, rows in by_name.items()}
    if "damping" in by_name:
        fields["damper_v"] = sorted({*tree.damper_v.tolist(), *by_name["damping"]})
        fields["damping"] = own["damping"][fields["damper_v"]]
    if "stiffness" in by_name or "rest" in by_name:
        v = np.flatnonzero(sprung)
        at = {
            robot.v_slice(j.name).start + k: robot.q_slice(j.name).start + k
            for j in robot.joints
            for k in range(j.type.nv)
        }
        fields |= {"spring_v": v, "spring_q": [at[int(k)] for k in v]}
        fields |= {"stiffness": own["stiffness"][v], "rest": own["rest"][v]}
    return fields | {
        "has_armature": has_armature,
        "own_armature": own["armature"],
        "own_damping": own["damping"],
        "own_stiffness": np.where(sprung, own["stiffness"], 0.0),
        "own_rest": np.where(sprung, own["rest"], 0.0),
        "spring_factor": sprung.astype(float),
        "implicit_time": [implicit_time],
    }


def _joint_positions(robot: Model, tree: Tree, rows: list[int]) -> dict[str, Any]:
    _, bodies = build_tree(robot)
    at, axes, shift = [], [], []
    for row in rows:
        joint, i = robot.joints[row], _first_body(robot, bodies.number, row)
        parent, child = bodies.frames[tree.parent[i]], bodies.frames[i]
        # p = P' (x + R c - p'): x the joint in the user's frame, c and p' the kernels' origins in the users'
        at.append(i)
        axes.append(rounded_rotation(parent.rotation.T))
        shift.append(parent.rotation.T @ (joint.placement.rotation @ child.position - parent.position))
    return {"joint_position_place": at, "joint_axes": axes, "joint_shift": shift}


def _anchors(robot: Model, tree: Tree, rows: list[int]) -> dict[str, Any]:
    _, bodies = build_tree(robot)
    rotation, shift = [], []
    for row in rows:
        for place in pairs_of(robot)[row].places:
            frame = robot.frames[place]
            seen = bodies.frames[bodies.number[frame.body]].inverse() * frame.placement
            rotation.append(rounded_rotation(seen.rotation))
            shift.append(rounded(seen.position, size_of(robot)))
    return {
        "anchor_position_place": rows,
        "anchor_rotation": np.array(rotation).reshape(-1, 2, 3, 3),
        "anchor_shift": np.array(shift).reshape(-1, 2, 3),
    }


def _lengths(robot: Model, tree: Tree, rows: list[int]) -> dict[str, Any]:
    sized = [k for k, c in enumerate(pairs_of(robot)) if c.size > 0]
    return {"length_place": [sized[row] for row in rows]}


def _gains(robot: Model, tree: Tree, rows: list[int]) -> dict[str, Any]:
    of = [robot.row_slice(robot.constraints[row].name) for row in rows]
    return {
        "has_gains": 1,
        "gains_place": [at.start for at in of],
        "gains_rows": [at.stop - at.start for at in of],
    }


def _motors(name: str, robot: Model, tree: Tree, rows: list[int]) -> dict[str, Any]:
    actuators = motor_rows(robot, name)
    return {f"{name}_place": [actuators[row] for row in rows]}


def _friction(robot: Model, tree: Tree, rows: list[int]) -> dict[str, Any]:
    pairs = tree.slot_contact.tolist()
    slots = [s for s, pair in enumerate(pairs) if pair in rows]
    return {"contact_friction_slot": slots, "contact_friction_place": [rows.index(pairs[s]) for s in slots]}


def _dry_friction(robot: Model, tree: Tree, rows: list[int]) -> dict[str, Any]:
    boxes = {int(tree.box_v[b]): b for b in range(tree.nboxes) if tree.box_q[b] < 0 <= tree.box_v[b]}
    if not all(k in boxes for k in rows):
        raise InputError("friction is a parameter, and joint_friction=False leaves dry friction out")
    return {"friction_place": [boxes[k] for k in rows]}


def _mocap(robot: Model, tree: Tree, rows: list[int]) -> dict[str, Any]:
    """Frames, pairs and shapes that move with mocap bodies, and where they are on these."""
    of = {name: row for row, name in enumerate(mocap_bodies(robot)) if row in rows}
    _refuse_mocap(robot, of)
    frames, pairs = list[tuple[int, str, Placement]](), list[tuple[int, bool]]()
    for k, constraint in enumerate(pairs_of(robot)):
        ends = zip((tree.pair_first[k], tree.pair_second[k]), constraint.places, constraint.frames(), strict=True)
        for side, (number, place, at) in enumerate(ends):
            if robot.frames[place].mocap in of:
                frames.append((int(number), robot.frames[place].mocap, robot.frames[place].placement * at))
                pairs.append((k, side == 0))
    touching = ContactPairs.of(robot.contacts).shapes if hasattr(tree, "shape_body") else ()
    shapes = [(k, shape.mocap, shape.placement) for k, shape in enumerate(touching) if shape.mocap in of]
    fields: dict[str, Any] = {
        "mocap_pair": [k for k, _ in pairs],
        "mocap_pair_first": [first for _, first in pairs],
        "pair_turned": np.maximum(
            tree.pair_turned, np.isin(np.arange(len(tree.pair_turned)), [k for k, f in pairs if f])
        ),
    }
    for what, moved in (("frame", frames), ("shape", shapes)):
        local = [robot.frames[name].placement.inverse() * at for _, name, at in moved]
        fields |= {
            f"mocap_{what}": [number for number, _, _ in moved],
            f"mocap_{what}_of": [rows.index(of[name]) for _, name, _ in moved],
            f"mocap_{what}_rotation": np.reshape([rounded_rotation(at.rotation) for at in local], (-1, 3, 3)),
            f"mocap_{what}_position": np.reshape([rounded(at.position, size_of(robot)) for at in local], (-1, 3)),
        }
    if shapes and hasattr(tree, "body_radius"):  # bounds of what is fixed to the world are those of no placement
        fields["body_radius"] = np.where(np.arange(len(tree.body_radius)) == 0, UNBOUNDED, tree.body_radius)
        fields["node_radius"] = np.where(tree.node_body == 0, UNBOUNDED, tree.node_radius)
    if shapes:
        _refuse_coal(robot, tree, [number for number, _, _ in shapes], "the placement of a mocap body")
    return fields


def _contact_sizes(robot: Model, tree: Tree, rows: list[int]) -> dict[str, Any]:
    shapes = list(ContactPairs.of(robot.contacts).shapes)
    sized = sized_shapes(robot)
    places = [shapes.index(sized[row]) for row in rows]
    _refuse_coal(robot, tree, places, "the size of a shape")
    bounds = tree.shape_radius[places] if hasattr(tree, "shape_radius") else np.zeros(len(places))
    radii = [bounding_sphere(sized[row].solid)[1] for row in rows]
    return {"contact_size_shape": places, "contact_size_margin": np.maximum(bounds - radii, 0.0)}


def _refuse_coal(robot: Model, tree: Tree, shapes: Collection[int], what: str) -> None:
    """`UnsupportedFeature` where pairs of shapes that are inputs are found by coal."""
    for k in np.flatnonzero(tree.contact_kind == GIVEN).tolist():
        if {int(tree.contact_first[k]), int(tree.contact_second[k])} & set(shapes):
            raise UnsupportedFeature(
                f"{robot.contacts[k]} is found by coal, whose shapes are fixed: {what} can be an input only where "
                "all of its pairs have kernels"
            )


def _refuse_mocap(robot: Model, of: Mapping[str, int]) -> None:
    """`UnsupportedFeature` where tendons or force elements are on mocap bodies whose placements are inputs."""
    for what, parts in (("tendon", [(t, t.sites) for t in robot.tendons]), ("force element", _force_places(robot))):
        for part, places in parts:
            on = [robot.frames[place].mocap for place in places if place in robot.frames]
            if any(name in of for name in on):
                name = next(name for name in on if name in of)
                raise UnsupportedFeature(
                    f"{what} '{part.name}' is on mocap body '{name}', whose placement cannot be an input then; use "
                    "robot.with_parameters(mocap=...)"
                )


def _force_places(robot: Model) -> list[tuple[Any, list[str]]]:
    return [(element, [place for place, _ in element.places]) for element in robot.forces]


def with_friction_rows(robot: Model, chosen: Sequence[Chosen]) -> Model:
    """The robot with some friction of joints and contacts wherever it is an input, so that its plans have a place for
    it."""
    for one in chosen:
        if one.name in ("friction", "contact_friction"):
            own, rows = own_values(robot, one.name), list(one.rows)
            own[rows] = np.where(own[rows] > 0, own[rows], 1.0)
            robot = replace(robot, **changed_fields(robot, one.name, own))
    return robot


_FIELDS: Mapping[str, Callable[[Model, Tree, list[int]], dict[str, Any]]] = {
    "joint_position": _joint_positions,
    "anchor_position": _anchors,
    "length": _lengths,
    "gains": _gains,
    "actuator_gain": lambda robot, tree, rows: {"actuator_gain_place": rows},
    "actuator_bias": lambda robot, tree, rows: {"actuator_bias_place": rows},
    **{name: partial(_motors, name) for name in MOTOR_PARAMETERS},
    "friction": _dry_friction,
    "contact_friction": _friction,
    "contact_size": _contact_sizes,
    "mocap": _mocap,
}
"""Fields of a plan for each parameter, beside those of inertias."""
