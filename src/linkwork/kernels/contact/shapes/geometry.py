# SPDX-License-Identifier: BSD-3-Clause
"""Contact points of all pairs of shapes of a mechanism.

First `shape_poses`, from the poses ``E, o`` of bodies in the world; then `contact_geometry`, which writes the slots of
all pairs that have kernel code; then `given_contacts`, which writes those of pairs of kind `GIVEN` from an input
``given (ngiven, 7)``: gap, point (3), normal (3) in world axes, from the first shape to the second. Pairs of that kind
have their rows from ``tree.contact_given`` on, one a slot; the input has no rows where there is no such pair.

| symbol           | meaning                                                                                       |
|------------------|-----------------------------------------------------------------------------------------------|
| shape_R, shape_p | pose of a shape in the world                                                                  |
| gap              | distance of the two surfaces along the normal less the margin, negative where they overlap    |
| point            | midway between the two surfaces, in the world                                                 |
| contact_R        | contact frame in world axes, columns t1, t2, n; n from the first shape to the second          |

Cost: linear in pairs.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.contact.shapes.boxes import BOX_WORK, box_box
from linkwork.kernels.contact.shapes.capsules import box_capsule, capsule_capsule
from linkwork.kernels.contact.shapes.fields import CELLS, field_box, field_capsule, field_sphere
from linkwork.kernels.contact.shapes.frames import set_contact
from linkwork.kernels.contact.shapes.planes import (
    plane_box,
    plane_capsule,
    plane_cylinder,
    plane_ellipsoid,
    plane_sphere,
)
from linkwork.kernels.contact.shapes.spheres import (
    box_sphere,
    capsule_sphere,
    cylinder_sphere,
    ellipsoid_sphere,
    sphere_sphere,
)
from linkwork.kernels.scalar import Array, kernel, where
from linkwork.kernels.spatial import add, multiply, rotate, set_vector
from linkwork.kernels.thresholds import NO_CONTACT
from linkwork.kernels.tree.kinematics import POSE, WORLD_POSE, joint_transforms, world_transforms
from linkwork.plans.contacts import (
    BOX_BOX,
    BOX_CAPSULE,
    BOX_SPHERE,
    CAPSULE_CAPSULE,
    CAPSULE_SPHERE,
    CONTACT_TREE,
    CYLINDER_SPHERE,
    ELLIPSOID_SPHERE,
    FIELD_BOX,
    FIELD_CAPSULE,
    FIELD_SPHERE,
    GIVEN,
    PLANE_BOX,
    PLANE_CAPSULE,
    PLANE_CYLINDER,
    PLANE_ELLIPSOID,
    PLANE_SPHERE,
    SPHERE_SPHERE,
)

CONTACT_WORK: dict[str, Shape] = {
    "shape_R": ("nshapes", 3, 3),
    "shape_p": ("nshapes", 3),
    "gap": ("nslots",),
    "point": ("nslots", 3),
    "contact_R": ("nslots", 3, 3),
    "cells": ("ncells", *CELLS),
    **BOX_WORK,
}


@kernel
def shape_poses(tree: Array, w: Array) -> None:
    """Pose of every shape in the world."""
    for s in range(tree.nshapes):
        b = tree.shape_body[s]
        multiply(w.E[b], tree.shape_rotation[s], w.shape_R[s])
        set_vector(add(w.o[b], rotate(w.E[b], tree.shape_position[s])), w.shape_p[s])


@kernel
def contact_geometry(tree: Array, w: Array) -> None:
    """Gap, point and frame of the slots of every pair that has kernel code for all backends."""
    for c in range(tree.ncontacts):
        primitive_pair(tree, w, c)
    for m in range(tree.nmargins):
        if tree.contact_kind[tree.margin_contact[m]] != GIVEN:
            subtract_margin(tree, w, m)


@kernel
def primitive_pair(tree: Array, w: Array, c: int) -> None:
    """Gap, point and frame of the slots of one pair that has kernel code for all backends; margins are left out."""
    if tree.contact_kind[c] != GIVEN:
        kind = tree.contact_kind[c]
        slot = tree.contact_slot[c]
        count = tree.contact_slots[c]
        turned = tree.contact_reversed[c]
        way = -1.0 if turned == 1 else 1.0
        a = tree.contact_second[c] if turned == 1 else tree.contact_first[c]
        b = tree.contact_first[c] if turned == 1 else tree.contact_second[c]
        if kind == PLANE_SPHERE:
            plane_sphere(tree, w, a, b, slot, way)
        elif kind == PLANE_CAPSULE:
            plane_capsule(tree, w, a, b, slot, way)
        elif kind == PLANE_BOX:
            plane_box(tree, w, a, b, slot, count, way)
        elif kind == PLANE_CYLINDER:
            plane_cylinder(tree, w, a, b, slot, way)
        elif kind == PLANE_ELLIPSOID:
            plane_ellipsoid(tree, w, a, b, slot, way)
        elif kind == SPHERE_SPHERE:
            sphere_sphere(tree, w, a, b, slot, way)
        elif kind == CAPSULE_SPHERE:
            capsule_sphere(tree, w, a, b, slot, way)
        elif kind == BOX_SPHERE:
            box_sphere(tree, w, a, b, slot, way)
        elif kind == CYLINDER_SPHERE:
            cylinder_sphere(tree, w, a, b, slot, way)
        elif kind == ELLIPSOID_SPHERE:
            ellipsoid_sphere(tree, w, a, b, slot, way)
        elif kind == CAPSULE_CAPSULE:
            capsule_capsule(tree, w, a, b, slot, count, way)
        elif kind == BOX_CAPSULE:
            box_capsule(tree, w, a, b, slot, way)
        elif kind == BOX_BOX:
            box_box(tree, w, a, b, slot, count, way)
        elif kind == FIELD_SPHERE:
            field_sphere(tree, w, a, b, slot, way)
        elif kind == FIELD_CAPSULE:
            field_capsule(tree, w, a, b, slot, way)
        elif kind == FIELD_BOX:
            field_box(tree, w, a, b, slot, count, way)


@kernel
def given_contacts(tree: Array, w: Array, given: Array) -> None:
    """Gap, point and frame of the slots of pairs of kind `GIVEN`, from data."""
    for c in range(tree.ncontacts):
        if tree.contact_kind[c] == GIVEN:
            given_pair(tree, w, c, given)
    for m in range(tree.nmargins):
        if tree.contact_kind[tree.margin_contact[m]] == GIVEN:
            subtract_margin(tree, w, m)


@kernel
def given_pair(tree: Array, w: Array, c: int, given: Array) -> None:
    """Gap, point and frame of the slots of a pair of kind `GIVEN`."""
    for k in range(tree.contact_slots[c]):
        x = given[tree.contact_given[c] + k]
        set_contact(w, tree.contact_slot[c] + k, x[0], (x[1], x[2], x[3]), (x[4], x[5], x[6]))


@kernel
def subtract_margin(tree: Array, w: Array, m: int) -> None:
    """Measure the gaps of a pair from where it counts as touching."""
    c = tree.margin_contact[m]
    for s in range(tree.contact_slot[c], tree.contact_slot[c] + tree.contact_slots[c]):
        w.gap[s] = where(w.gap[s], NO_CONTACT, w.gap[s] - tree.contact_margin[m], w.gap[s])


@kernel
def contact_points(tree: Array, w: Array, q: Array, given: Array, gaps: Array, points: Array, frames: Array) -> None:
    """Gap, point and frame of every slot."""
    joint_transforms(tree, w, q)
    world_transforms(tree, w)
    shape_poses(tree, w)
    contact_geometry(tree, w)
    given_contacts(tree, w, given)
    for s in range(tree.nslots):
        gaps[s] = w.gap[s]
        for j in range(3):
            points[s, j] = w.point[s, j]
            for k in range(3):
                frames[s, j, k] = w.contact_R[s, j, k]


@kernel
def poses_of_shapes(tree: Array, w: Array, q: Array, rotation: Array, position: Array) -> None:
    """Rotation and position of every shape in the world."""
    joint_transforms(tree, w, q)
    world_transforms(tree, w)
    shape_poses(tree, w)
    for s in range(tree.nshapes):
        for j in range(3):
            position[s, j] = w.shape_p[s, j]
            for k in range(3):
                rotation[s, j, k] = w.shape_R[s, j, k]


SHAPE_POSES = Algorithm(
    "shape_poses",
    poses_of_shapes,
    {"q": ("nq",)},
    {"rotation": ("nshapes", 3, 3), "position": ("nshapes", 3)},
    POSE | WORLD_POSE | CONTACT_WORK,
    CONTACT_TREE,
)

CONTACT_POINTS = Algorithm(
    "contact_points",
    contact_points,
    {"q": ("nq",), "given": ("ngiven", 7)},
    {"gaps": ("nslots",), "points": ("nslots", 3), "frames": ("nslots", 3, 3)},
    POSE | WORLD_POSE | CONTACT_WORK,
    CONTACT_TREE,
)
