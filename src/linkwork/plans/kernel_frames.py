# SPDX-License-Identifier: BSD-3-Clause
"""Frames of bodies that kernels compute in: where the numbers of a mechanism have the most zeros (see `tree`).

Few frames are worth trying for each body, and the cost of one is a count of numbers: all options of a body are
compared once. Mechanisms that differ in anything but joints and inertias have the same frames, which are
kept for the last of them (`kernel_frames`).
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from linkwork.model.arrays import Floats
from linkwork.model.inertia import Inertia
from linkwork.model.joints import HELICAL, PLANAR, PRISMATIC, REVOLUTE, Atom
from linkwork.model.placement import Placement
from linkwork.model.rotations import aligning_rotation, cross
from linkwork.plans.thresholds import DISTINCT_DIRECTION, LEAST_SLOPE, ROUND_OFF

TO_PARENT, OF_CHILDREN = 4, 3
"""Cost of a number of the rotation to the parent, and of a child's axis, where one of an offset, of an angle at
rest or of an inertia counts one. Operations of ABA on 14 robots are fewest so, and on none more than with ones."""

SLIDES = (REVOLUTE, PRISMATIC, HELICAL)
"""Kinds whose frame may move along z: the joint's motion commutes with that."""


class TreeAtom(NamedTuple):
    """One atom and its child body, before the body's frame is chosen."""

    parent: int
    atom: Atom
    placement: Placement
    inertia: Inertia
    iq: int
    iv: int


Frames = tuple[list[Placement], list[Floats]]

KEPT = 128
"""Mechanisms whose frames are kept: the most recently requested."""

_FRAMES: OrderedDict[bytes, Frames] = OrderedDict()
_LOCK = threading.Lock()


def kernel_frames(joints: list[TreeAtom], length: float) -> Frames:
    """The kernel's frame of each body, in the user's frame of that body: first rotated, then slid along z.

    And how it is rotated about z against the frame in which the parent sees the joint at rest: as in Denavit and
    Hartenberg's convention, the x axis that suits the parent need not be the one that suits the children.
    """
    key = _digest(joints, length)
    with _LOCK:
        frames = _FRAMES.pop(key, None)
    frames_now = _chosen_frames(joints, length) if frames is None else frames
    with _LOCK:
        _FRAMES[key] = frames_now
        while len(_FRAMES) > KEPT:
            _FRAMES.popitem(last=False)
    return list(frames_now[0]), list(frames_now[1])


def _digest(joints: Sequence[TreeAtom], length: float) -> bytes:
    """Of all that frames depend on."""
    whole = [length, *(number for joint in joints for number in (joint.parent, joint.atom.kind))]
    digest = hashlib.sha256(np.array(whole, dtype=np.float64).tobytes())
    for joint in joints:
        placement, inertia = joint.placement, joint.inertia
        arrays = (placement.position, placement.rotation, inertia.com, inertia.about_origin(), _axis_of(joint))
        for array in arrays:
            digest.update(array.tobytes())
    return digest.digest()


def _chosen_frames(joints: list[TreeAtom], length: float) -> Frames:
    """The frames themselves, of one body after another."""
    children: list[list[TreeAtom]] = [[] for _ in range(len(joints) + 1)]
    for joint in joints:
        children[joint.parent].append(joint)
    rotation, turned = [np.eye(3)], [np.eye(3)]
    for i, joint in enumerate(joints, start=1):
        seen, own = _rotated(joint, rotation[joint.parent], children[i], length)
        rotation.append(own)
        turned.append(rounded_rotation(seen.T @ own))
    slide = _slides(joints, rotation, length)
    frames = [
        Placement((0, 0, 0) if i == 0 else rotation[i][:, 2] * slide[i], rotation[i]) for i in range(len(joints) + 1)
    ]
    return frames, turned


def _rotated(
    joint: TreeAtom, parent_rotation: Floats, children: list[TreeAtom], length: float
) -> tuple[Floats, Floats]:
    """Rotations whose z is the joint's axis, as the parent sees the joint and as its children do.

    Where x points is free, and chosen for the most zeros. Tried are x along the user's axes, along the parent's, along
    the center of mass, and along the axis and the offset of each child.
    """
    axis = joint.atom.axis
    if axis is None:
        return np.eye(3), np.eye(3)
    if joint.atom.kind == PLANAR:
        only = np.eye(3) if axis[2] == 1 else aligning_rotation(axis)
        return only, only
    to_parent = parent_rotation.T @ joint.placement.rotation
    seen = rounded_rotation(to_parent @ axis)
    straight = np.eye(3) if np.array_equal(seen, (0.0, 0.0, 1.0)) else aligning_rotation(seen)
    options = [aligning_rotation(axis), rounded_rotation(to_parent.T @ straight)]
    directions = [joint.inertia.com]
    for child in children:
        directions += [child.placement.rotation @ _axis_of(child), child.placement.position]
    for direction in directions:
        x = direction - axis * (axis @ direction)
        distance = float(np.linalg.norm(x))
        if distance > DISTINCT_DIRECTION * length:
            x = x / distance
            x = x - axis * (axis @ x)  # of a direction that is nearly the axis, the first projection leaves rounding
            x = x / np.linalg.norm(x)
            options.append(rounded_rotation(np.column_stack([x, cross(axis, x), axis])))
    stack = np.array(options)
    as_seen = [TO_PARENT * _uneven(option) for option in (to_parent @ stack).tolist()]
    as_own = _nonzeros(stack, joint.inertia, children, length)
    pairs = [(seen + own, k, k) for k, (seen, own) in enumerate(zip(as_seen, as_own, strict=True))]
    for end in range(2) if joint.atom.kind != PRISMATIC else ():
        angles = (stack[end, :, 0] @ stack).tolist()
        pairs += [(as_seen[end] + _uneven([angle]) + as_own[k], end, k) for k, angle in enumerate(angles)]
    _, end, k = min(pairs, key=itemgetter(0))
    return options[end], options[k]


def _nonzeros(options: Floats, inertia: Inertia, children: list[TreeAtom], length: float) -> list[int]:
    """Numbers that are not 0, or not 0 or ±1 where they multiply, if a body's frame is rotated so, of each option.

    They are those of the mass that stays with the body (`regrouped`), and of the axes and offsets of the children.
    Along z, offsets do not count: frames can slide.
    """
    places = [child.placement.position for child in children]
    axes = [child.placement.rotation @ _axis_of(child) for child in children]
    back = options.transpose(0, 2, 1)
    inertias = (back @ inertia.about_origin() @ options).tolist()
    vectors = (back @ np.column_stack([inertia.com, *places, *axes])).transpose(0, 2, 1).tolist()
    counts = []
    for I, (com, *turned) in zip(inertias, vectors, strict=True):
        count = _above((I[0][1], I[0][2], I[1][2]), (I[0][1], I[0][2], I[1][2], I[0][0] + I[1][1] + I[2][2]))
        count += _above(com[:2], com)
        count += sum(_above(place[:2], (*place, length)) for place in turned[: len(places)])
        counts.append(count + OF_CHILDREN * sum(_uneven([axis]) for axis in turned[len(places) :]))
    return counts


def _above(numbers: Sequence[float], sizes: Sequence[float]) -> int:
    """The count of numbers that exceed the round-off of the largest of the sizes."""
    least = ROUND_OFF * max(abs(size) for size in sizes)
    return sum(abs(x) >= least and x != 0.0 for x in numbers)


def _axis_of(joint: TreeAtom) -> Floats:
    """The axis of a joint; z where it has none."""
    return np.array([0.0, 0.0, 1.0]) if joint.atom.axis is None else joint.atom.axis


def _uneven(rows: list[list[float]]) -> int:
    """The count of numbers of a rotation, or of rows of one, that are neither 0 nor ±1, up to round-off."""
    there = [[abs(x) >= ROUND_OFF for x in row] for row in rows]
    in_rows, in_columns = [sum(row) for row in there], [sum(column) for column in zip(*there, strict=True)]
    return sum(
        there[i][k] and not (in_rows[i] == 1 and in_columns[k] == 1) and abs(x) != 1.0
        for i, row in enumerate(rows)
        for k, x in enumerate(row)
    )


def _slides(joints: list[TreeAtom], rotation: list[Floats], length: float) -> list[float]:
    """The shift of each frame along its z for which offsets between bodies have the fewest nonzeros.

    An offset is linear in the slides at its two ends: ``start + along slide - z slide_of_parent``. Children before
    parents and again, each body takes the best of the slides that zero a number of an offset it touches. Offsets from
    the world do not count: no inertia is carried over them, and they may be kilometers.
    """
    n = len(joints) + 1
    children: list[list[int]] = [[] for _ in range(n)]
    start, along = [[0.0] * 3], [[0.0] * 3]
    for i, joint in enumerate(joints, start=1):
        children[joint.parent].append(i)
        start.append((rotation[joint.parent].T @ joint.placement.position).tolist())
        along.append((rotation[joint.parent].T @ joint.placement.rotation @ rotation[i][:, 2]).tolist())
    slide = [0.0] * n

    def offset(i: int) -> list[float]:
        s, (x, y, z), (a, b, c) = slide[i], start[i], along[i]
        return [x + a * s, y + b * s, z + c * s - slide[joints[i - 1].parent]]

    def cost(i: int) -> int:
        touched = children[i] if joints[i - 1].parent == 0 else (i, *children[i])
        return sum(abs(x) > ROUND_OFF * length for k in touched for x in offset(k))

    for _ in range(3):
        for i in range(n - 1, 0, -1):
            if joints[i - 1].atom.kind not in SLIDES:
                continue
            before, now = slide[i], offset(i)
            options = [before, 0.0]
            if joints[i - 1].parent > 0:
                options += [before - now[k] / along[i][k] for k in range(3) if abs(along[i][k]) > LEAST_SLOPE]
            options += [before + offset(k)[2] for k in children[i]]
            scores = []
            for slide[i] in options:
                scores.append((cost(i), round(abs(slide[i]) / length, 9), slide[i]))
            slide[i] = min(scores)[2]
    return slide


def rounded(x: Floats, size: float = 0.0) -> Floats:
    """Numbers that are round-off of the largest one, or of ``size``, are zeros."""
    return np.where(np.abs(x) < ROUND_OFF * max(size, float(np.abs(x).max(initial=0.0))), 0.0, x)


def rounded_rotation(R: Floats) -> Floats:
    """The rotation, or part of one, with round-off of 0, 1 and -1 removed.

    About an axis of coordinates, it is a rotation to the last digit.
    """
    there = np.abs(R) >= ROUND_OFF
    alone = there
    for axis in range(R.ndim):
        alone = alone & (there.sum(axis=axis, keepdims=True) == 1)
    near: Floats = np.where(there, np.where(alone, np.rint(R), R), 0.0)
    if R.shape == (3, 3) and np.count_nonzero(near) == 5 and 1.0 in np.abs(near):
        near = near / np.linalg.norm(near, axis=1, keepdims=True)
    return near
