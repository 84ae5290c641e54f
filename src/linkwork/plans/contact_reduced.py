# SPDX-License-Identifier: BSD-3-Clause
"""The plan of steps by the reduced matrix: pairs by bodies with bounding spheres, limbs, rows of loops and joints.

Lists of a state have a bounded length (`nlisted` contact points). Pairs are numbered by their two bodies,
so that bodies that are far apart are left out with one comparison; slots are numbered in the same order, and results
name contact points by these numbers (`listed_slot`: the slot of each).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.model.arrays import Floats
from linkwork.model.constraints import WORLD
from linkwork.model.contacts import ContactPairs
from linkwork.model.joints import FREE
from linkwork.model.model import Model
from linkwork.plans.actuation import actuated_layout, with_actuators
from linkwork.plans.bodies import BodyTable, size_of
from linkwork.plans.constraints import CONSTRAINED_TREE, constrained_tree
from linkwork.plans.contact_balls import BALL_BOX_FLOATS, BALL_BOX_INTEGERS, BALL_BOX_SIZES, ball_boxes, ball_tables
from linkwork.plans.contact_dampers import DAMPER_INTEGERS, DAMPER_SIZES, limbs_of_dampers
from linkwork.plans.contact_friction import FRICTION_FLOATS, FRICTION_INTEGERS, friction_tables
from linkwork.plans.contact_groups import GROUP_FLOATS, GROUP_INTEGERS, GROUP_SIZES, group_tables
from linkwork.plans.contact_lcaba import box_tables
from linkwork.plans.contact_tendons import (
    TENDON_BOX_INTEGERS,
    TENDON_BOX_SIZES,
    limbs_of_tendons,
    tendon_boxes,
    with_wide_boxes,
)
from linkwork.plans.contacts import CONTACT_FLOATS, CONTACT_INTEGERS, CONTACT_SIZES, MeshKind, contact_tables
from linkwork.plans.implicit_damping import ImplicitDamping
from linkwork.plans.layout import Integers, ragged
from linkwork.plans.levels import LEVEL_INTEGERS, LEVEL_SIZES, level_tables
from linkwork.plans.limbs import BLOCK_ROOM, LIMB_INTEGERS, LIMB_SIZES, limb_tables
from linkwork.plans.thresholds import LEAST_LEVER
from linkwork.plans.tree import Tree, build_tree

SETTINGS, HEAD, LISTED, TOTALS = 12, 4, 11, 8
"""Numbers of the settings, at the head of the result, of a contact point in it, and at its end: see
`kernels.contact.reduced.step`."""

POINTS_PER_BODY, POINTS_PER_SHAPE, LEAST_POINTS = 8, 4, 64
"""Contact points of a state that lists have room for: so many for each body, or each shape on one, and at least."""

MAX_DIM = 6
"""Rows of a set at most."""

DENSE = 64
"""Velocities of a robot whose reduced matrix a warp of a GPU has as a dense one."""

PROBLEM_SIZES = (
    "nsets",  # the most sets, rows, sides of sets, and columns of a row
    "nrows",
    "nsides",
    "nwidth",
    "nedges",  # the most pairs of limbs that are coupled in the factor,
    "nside_pairs",  # pairs of sides of all sets,
    "nlinks",  # and neighbors of all limbs in the matrix
)

REDUCED_TREE = actuated_layout(
    CONSTRAINED_TREE.extended(
        "reduced",
        sizes=(
            *CONTACT_SIZES,
            *LIMB_SIZES,
            *LEVEL_SIZES,
            *PROBLEM_SIZES,
            "nboxes",
            *TENDON_BOX_SIZES,
            *BALL_BOX_SIZES,
            *DAMPER_SIZES,
            "nfurther",  # the most iterations of a step by smoothed equations
            "nbouncing",  # pairs with restitution
            "nsoft",  # pairs, limits and dry friction, and rows of constraints, where these are soft; else none
            "nsoft_boxes",
            "nsoft_rows",
            "nsplit",  # 1 where contacts act before implicit dampers, as in soft steps
            "nlisted",  # the most contact points of a state
            "nloops",  # sets of rows of loops
            "nloop_sides",
            *GROUP_SIZES,
            "nfree",  # free bodies that carry no other, and all other bodies
            "nlinked",
            "nadhesions",  # actuators that make contacts adhesive
            "nintervals",  # cells along the second of two axes that bodies are sorted by at most, and all of them
            "ngrid",
            "nheld",  # settings of the solver, impulses to start from, contact points that are given
            "nstart",
            "npadded",  # velocities of dense matrices of a warp, a multiple of four; or none
            "nstride",  # numbers from one row of these to the next, of all rows, and of blocks on the diagonal
            "ndense",
            "ndense_rows",
            "ndense_blocks",
            "nside_room",  # limbs that a contact depends on, at most
        ),
        integers={
            **CONTACT_INTEGERS,
            **LIMB_INTEGERS,
            **LEVEL_INTEGERS,
            **GROUP_INTEGERS,
            "contact_body_first": ("ncontacts",),
            "contact_body_second": ("ncontacts",),
            **FRICTION_INTEGERS,
            "free_body": ("nfree",),
            "linked_body": ("nlinked",),
            "adhesion_actuator": ("nadhesions",),
            "adhesion_body": ("nadhesions",),
            **TENDON_BOX_INTEGERS,
            **BALL_BOX_INTEGERS,
            **DAMPER_INTEGERS,
            "box_v": ("nboxes",),  # as in `contact_lcaba`; -1 of tendons and ball joints
            "box_q": ("nboxes",),
            "dof_box_start": ("nv",),  # limits and dry friction of a degree of freedom
            "dof_boxes": ("nv",),
            "dof_box": ("njoint_boxes",),
            "loop_row": ("nloops",),  # rows of a set, and the limbs that they depend on
            "loop_dim": ("nloops",),
            "loop_soft": ("nloops",),  # 1 where they give way
            "loop_side": ("nloops",),
            "loop_sides": ("nloops",),
            "loop_limb": ("nloop_sides",),
        },
        floats={
            **CONTACT_FLOATS,
            **GROUP_FLOATS,
            **FRICTION_FLOATS,
            **BALL_BOX_FLOATS,
            "pair_D": ("ncontacts",),  # mean of the diagonal of J M⁻¹ J' of a contact
            "soft_D": ("nsoft",),  # inverse inertia of the normal that makes contacts soft
            "box_weight": ("nsoft_boxes",),  # the same of limits and dry friction, and how soft they are
            "box_reference": ("nsoft_boxes", 2),
            "box_impedance": ("nsoft_boxes", 5),
            "box_margin": ("nsoft_boxes",),
            "soft_row_weight": ("nsoft_rows",),  # and of rows of constraints,
            "soft_row_reference": ("nsoft_rows", 2),
            "soft_row_impedance": ("nsoft_rows", 5),
            "soft_row_scale": ("nsoft_rows",),  # with what MuJoCo's rows are of these,
            "soft_row_bias": ("nsoft_rows",),  # and one where its reference is less the bias acceleration
            "box_sign": ("nboxes",),
            "box_value": ("nboxes",),
            "box_lower": ("nboxes",),
            "box_upper": ("nboxes",),
            "box_D": ("nboxes",),
            "box_unit": ("nboxes",),  # a length that makes a velocity of the rate of a joint
            "row_R": ("nc",),  # compliance of rows of loops; infinite where a row is not enabled
            "row_D": ("nc",),
            "row_unit": ("nc",),
            "least_lever": (1,),  # joints that move its normal by less do not move a contact
            "reach": (1,),  # gaps of less than this part of the robot's size are always listed, in meters
        },
    )
)
"""A mechanism with its constraints, contacts, limbs and actuators."""


class RowScales(NamedTuple):
    """Scales of rows that the plan of a robot does not know by itself."""

    pairs: Floats
    boxes: Floats
    balls: Floats
    """(limited balls, 3)"""
    box_units: Floats
    row_compliance: Floats
    rows: Floats
    row_units: Floats
    length: float
    soft: Mapping[str, Any]
    """Sizes and arrays of soft contacts, limits and dry friction, and of rows of constraints, where there are any."""
    soft_constraints: Collection[str]
    """Names of constraints that are soft."""


def listed_points(model: Model, nslots: int) -> int:
    """Contact points that the lists of a robot have room for."""
    shapes = sum(shape.body != WORLD for shape in ContactPairs.of(model.contacts).shapes)
    room = max(LEAST_POINTS, POINTS_PER_BODY * len(model.joints), POINTS_PER_SHAPE * shapes)
    return min(nslots, room)


def reduced_tree(
    model: Model,
    scales: RowScales,
    iterations: int,
    frames: Sequence[str] = (),
    limited: Collection[str] | bool = True,
    implicit: ImplicitDamping | None = None,
    meshes: MeshKind = "auto",
    tendon_limits: bool = True,
) -> Tree:
    """The arrays of a mechanism for steps by the reduced matrix.

    Args:
        model: The mechanism, with the armature of what is implicit.
        scales: Scales of its rows.
        iterations: The most of a step.
        frames: Frames that external wrenches act on.
        limited: Joints whose limits hold exactly; True: all.
        implicit: Which dampers of actuators and tendons are implicit.
        meshes: Representation of meshes.
        tendon_limits: Whether limits of tendons without stops hold exactly.
    """
    _, bodies = build_tree(model)
    tree = constrained_tree(model, frames)
    contacts = contact_tables(model, bodies, meshes)
    of_shape = np.asarray(contacts["shape_body"], dtype=np.int64)
    first, second = of_shape[contacts["contact_first"]], of_shape[contacts["contact_second"]]
    slots = np.asarray(contacts["contact_slots"], dtype=np.int64)
    cells = min(math.isqrt(int(tree.n)) + 1, MAX_CELLS)
    limbs = limb_tables(tree)
    joint_boxes, of_tendons = box_tables(model, limited, True), tendon_boxes(model, tendon_limits)
    of_balls = ball_boxes(model, limited)
    boxes = with_wide_boxes(joint_boxes, [*of_tendons, *of_balls])
    tendon_limbs = limbs_of_tendons(model, tree, bodies, limbs["dof_limb"], of_tendons)
    loops = _loop_sets(model, tree, limbs, scales.soft_constraints)
    friction = friction_tables(model)
    nlisted = listed_points(model, int(slots.sum()))
    nlimbs = len(limbs["limb_v"])
    depths = _depths(limbs)
    depth, reach = max(depths, default=0), max(limbs["limb_reach"], default=0)
    most = min(2 * depth, nlimbs)
    balls = ball_tables(model, limbs["dof_limb"], of_balls)
    damper_limbs = limbs_of_dampers(model, tree, bodies, limbs["dof_limb"], implicit)
    coupled = [*loops["sides"], *tendon_limbs, *damper_limbs, *([limb] for limb in balls["ball_box_limb"])]
    sides = [len(some) for some in coupled]
    widths = [sum(int(limbs["limb_size"][limb]) for limb in some) for some in coupled]
    nside_pairs = nlisted * (most * (most - 1) // 2) + sum(n * (n - 1) // 2 for n in sides)
    largest = int(np.max(friction["contact_dim"], initial=1))
    forces = LISTED * nlisted + len(boxes["box_v"]) + model.nc
    rows = len(boxes["box_v"]) + model.nc + len(damper_limbs)
    sets = nlisted + len(boxes["box_v"]) + len(loops["sides"]) + len(damper_limbs)
    spans, tendon_spans, damper_spans = ragged(loops["sides"]), ragged(tendon_limbs), ragged(damper_limbs)
    alone = (np.asarray(tree.kind) == FREE) & ~np.isin(np.arange(int(tree.n)), tree.parent)
    padded = -4 * (-model.nv // 4) if model.nv <= DENSE else 0
    stride = padded + 4 * (1 - padded // 4 % 2) if padded else 0
    dof_boxes = ragged([k for k, v in enumerate(boxes["box_v"]) if v == dof] for dof in range(model.nv))
    return with_actuators(
        model,
        tree,
        REDUCED_TREE,
        implicit,
        **contacts,
        **limbs,
        **level_tables(tree),
        **boxes,
        **balls,
        njoint_boxes=len(joint_boxes["box_v"]),
        tendon_box=[box.tendon for box in of_tendons],
        tendon_box_limits=[box.limits for box in of_tendons],
        tendon_box_side=tendon_spans.start,
        tendon_box_sides=tendon_spans.count,
        tendon_side=tendon_spans.entries,
        damper_side=damper_spans.start,
        damper_sides=damper_spans.count,
        damper_limb=damper_spans.entries,
        **group_tables(model, contacts, first, second, int(tree.n)),
        nintervals=cells,
        ngrid=cells * cells,
        free_body=np.flatnonzero(alone),
        linked_body=1 + np.flatnonzero(~alone[1:]),
        contact_body_first=first,
        contact_body_second=second,
        **_adhesions(model, bodies, first, second, friction),
        pair_D=scales.pairs,
        box_D=scales.boxes,
        ball_D=scales.balls,
        box_unit=scales.box_units,
        row_R=scales.row_compliance,
        row_D=scales.rows,
        row_unit=scales.row_units,
        **{**NOT_SOFT, **scales.soft},
        least_lever=[LEAST_LEVER * size_of(model)],
        reach=[REACH * scales.length],
        loop_row=loops["rows"],
        loop_dim=loops["dims"],
        loop_soft=loops["soft"],
        loop_side=spans.start,
        loop_sides=spans.count,
        loop_limb=spans.entries,
        nlisted=nlisted,
        nfurther=iterations,
        nbouncing=0 if "nsoft" in scales.soft else int(np.count_nonzero(contacts["restitution"])),
        nsets=sets,
        nrows=largest * nlisted + rows,
        nsides=most * nlisted + len(boxes["box_v"]) + sum(sides),
        nwidth=stride or max([min(2 * reach, model.nv), *widths]),
        npadded=padded,
        nstride=stride,
        ndense=padded * stride,
        ndense_blocks=4 * padded,
        nside_room=most,
        dof_box_start=dof_boxes.start,
        dof_boxes=dof_boxes.count,
        dof_box=dof_boxes.entries,
        ndense_rows=(largest * nlisted + rows) * stride,
        nedges=min(nlimbs * (nlimbs - 1) // 2, nlimbs * BLOCK_ROOM),
        nside_pairs=nside_pairs,
        nlinks=2 * (nside_pairs + sum(depths) - nlimbs),
        nsettings=SETTINGS,
        nstart=forces + 1,
        nheld=SETTINGS + forces + 1 + 7 * contacts["ngiven"],
        nresult=HEAD + forces + model.nv + TOTALS,
    )


NOT_SOFT: Mapping[str, Any] = {"nsoft": 0, "nsoft_boxes": 0, "nsoft_rows": 0, "nsplit": 0} | {
    name: np.zeros((0, *(int(n) for n in shape[1:])))
    for name, shape in REDUCED_TREE.floats.items()
    if str(shape[0]).startswith("nsoft")
}
"""Sizes and arrays of steps in which all is hard."""
MAX_CELLS = 128
"""The root of the number of cells that bodies are sorted by, at most: there are about as many cells as bodies."""
REACH = 1e-3
"""Contact points whose gap is a smaller part of the largest body's size are in the list, whatever their velocity."""


def _adhesions(
    model: Model, bodies: BodyTable, first: Integers, second: Integers, friction: Mapping[str, Any]
) -> dict[str, Any]:
    """Actuators that make contacts of a body adhesive, and ``friction`` with their pairs marked."""
    own = [k for k, actuator in enumerate(model.actuators) if actuator.body]
    of = [bodies.number[model.actuators[k].body] for k in own]
    adhesive = friction["contact_adhesive"] | np.isin(first, of) | np.isin(second, of)
    return {**friction, "contact_adhesive": adhesive, "adhesion_actuator": own, "adhesion_body": of}


def _depths(limbs: Mapping[str, Any]) -> list[int]:
    """Limbs between each limb and the world, with itself."""
    depths = list[int]()
    for parent in limbs["limb_parent"]:
        depths.append(1 + (depths[parent] if parent >= 0 else 0))
    return depths


def _loop_sets(model: Model, tree: Tree, limbs: Mapping[str, Any], soft: Collection[str]) -> dict[str, list[Any]]:
    """Rows of constraints, at most six together, the limbs that each set depends on, and whether it is soft."""
    body_limb, parents = limbs["body_limb"], limbs["limb_parent"]
    of_row: list[set[int]] = [set() for _ in range(model.nc)]
    for body, row in zip(tree.k_body.tolist(), tree.k_row.tolist(), strict=True):
        limb = int(body_limb[body])
        while limb >= 0:
            of_row[row].add(limb)
            limb = parents[limb]
    for dof, row in zip(tree.term_v.tolist(), tree.term_row.tolist(), strict=True):
        of_row[row].add(int(limbs["dof_limb"][dof]))
    if int(tree.ntendon_rows):
        of_row = [row or set(range(len(parents))) for row in of_row]
    sets: dict[str, list[Any]] = {"rows": [], "dims": [], "sides": [], "soft": []}
    for constraint in model.constraints:
        rows = range(model.nc)[model.row_slice(constraint.name)]
        for start in range(rows.start, rows.stop, MAX_DIM):
            some = range(start, min(start + MAX_DIM, rows.stop))
            sets["rows"].append(start)
            sets["dims"].append(len(some))
            sets["soft"].append(constraint.name in soft)
            sets["sides"].append(sorted(set().union(*(of_row[row] for row in some)), reverse=True))
    return sets
