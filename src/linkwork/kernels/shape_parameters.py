# SPDX-License-Identifier: BSD-3-Clause
"""Sizes of contact shapes and placements of mocap bodies as inputs: kernels that compute arrays of a tree from them.

As in `parameters`, arrays ``tree_*`` stand in place of those of the tree.

| symbol       | meaning                                                              |
|--------------|----------------------------------------------------------------------|
| mocap_R      | rotations of mocap bodies                                            |
| mocap_Q      | scratch of a rotation                                                |
| x            | user's parameters: sizes, ``(shapes, 3)``; placements, ``(mocap, 7)`` |
"""

from __future__ import annotations

from linkwork.kernels.elementary import maximum
from linkwork.kernels.joints import quaternion_rotation, quaternion_scale
from linkwork.kernels.scalar import Array, Scalar, kernel, sqrt
from linkwork.kernels.spatial import add, multiply, rotate, rotate_inverse, set_vector
from linkwork.plans.cores import BOX_CORE, CYLINDER_CORE, POINT_CORE, SEGMENT_CORE


@kernel
def begin_contact_size(tree: Array, w: Array) -> None:
    """Sizes of shapes, as planned."""
    for s in range(tree.nshapes):
        for j in range(3):
            w.tree_shape_size[s, j] = tree.shape_size[s, j]


@kernel
def set_contact_size(tree: Array, w: Array, x: Array) -> None:
    """Sizes of shapes."""
    for k in range(tree.contact_size_count):
        set_vector((x[k, 0], x[k, 1], x[k, 2]), w.tree_shape_size[tree.contact_size_shape[k]])


@kernel
def begin_bounded_size(tree: Array, w: Array) -> None:
    """Sizes of shapes and bounding spheres and boxes, as planned."""
    begin_contact_size(tree, w)
    for s in range(tree.nshapes):
        w.tree_shape_radius[s] = tree.shape_radius[s]
        for j in range(3):
            w.tree_box_half[s, j] = tree.box_half[s, j]
    for i in range(tree.n):
        w.tree_body_radius[i] = tree.body_radius[i]
    for n in range(tree.nnodes):
        w.tree_node_radius[n] = tree.node_radius[n]


@kernel
def set_bounded_size(tree: Array, w: Array, x: Array) -> None:
    """Sizes of shapes, and bounding spheres and boxes: those of bodies and parts grow by as much as shapes do."""
    set_contact_size(tree, w, x)
    for k in range(tree.contact_size_count):
        s = tree.contact_size_shape[k]
        radius, half = shape_bounds(tree.shape_core[s], x[k], tree.contact_size_margin[k])
        set_vector(half, w.tree_box_half[s])
        w.tree_shape_radius[s] = radius
        growth = maximum(radius - tree.shape_radius[s], 0.0)
        w.tree_body_radius[tree.shape_body[s]] += growth
        for n in range(tree.nnodes):
            if tree.node_body[n] == tree.shape_body[s]:
                w.tree_node_radius[n] += growth


@kernel
def shape_bounds(core: int, x: Array, margin: Scalar) -> tuple[Scalar, tuple[Scalar, Scalar, Scalar]]:
    """Radius of the bounding sphere and half edges of the bounding box of a shape of that size, with a margin."""
    if core == POINT_CORE:
        a = x[0] + margin
        return a, (a, a, a)
    if core == SEGMENT_CORE:
        a, b = x[0] + margin, x[0] + x[1] + margin
        return b, (a, a, b)
    if core == CYLINDER_CORE:
        return sqrt(x[0] * x[0] + x[1] * x[1]) + margin, (x[0] + margin, x[0] + margin, x[1] + margin)
    half = (x[0] + margin, x[1] + margin, x[2] + margin)
    if core == BOX_CORE:
        return sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]) + margin, half
    return maximum(x[0], maximum(x[1], x[2])) + margin, half


@kernel
def begin_mocap(tree: Array, w: Array) -> None:
    """Frames and pairs of constraints, as planned."""
    for f in range(tree.nframes):
        for j in range(3):
            w.tree_frame_position[f, j] = tree.frame_position[f, j]
            for k in range(3):
                w.tree_frame_rotation[f, j, k] = tree.frame_rotation[f, j, k]
    for p in range(tree.npairs):
        for j in range(3):
            w.tree_pair_lever[p, j] = tree.pair_lever[p, j]
            for k in range(3):
                w.tree_pair_axes[p, j, k] = tree.pair_axes[p, j, k]
                w.tree_pair_closed[p, j, k] = tree.pair_closed[p, j, k]


@kernel
def set_mocap(tree: Array, w: Array, x: Array) -> None:
    """Frames and pairs of constraints on mocap bodies."""
    for m in range(tree.mocap_count):
        quaternion_rotation(tree.P[0], x[m], 3, quaternion_scale(x[m], 3), w.mocap_Q, w.mocap_R[m])
    for k in range(tree.mocap_frames):
        m = tree.mocap_frame_of[k]
        f = tree.mocap_frame[k]
        at = rotate(w.mocap_R[m], tree.mocap_frame_position[k])
        multiply(w.mocap_R[m], tree.mocap_frame_rotation[k], w.tree_frame_rotation[f])
        set_vector(add(at, (x[m, 0], x[m, 1], x[m, 2])), w.tree_frame_position[f])
    for k in range(tree.mocap_pairs):
        p = tree.mocap_pair[k]
        first = w.tree_frame_rotation[tree.pair_first[p]]
        second = w.tree_frame_rotation[tree.pair_second[p]]
        if tree.mocap_pair_first[k] == 1:
            set_vector(rotate_inverse(first, w.tree_frame_position[tree.pair_first[p]]), w.tree_pair_lever[p])
            for i in range(3):
                for j in range(3):
                    w.tree_pair_axes[p, i, j] = first[i, j]
                    w.tree_pair_closed[p, i, j] = second[i, j]
        else:
            for i in range(3):
                for j in range(3):
                    w.tree_pair_closed[p, i, j] = (
                        second[i, 0] * first[j, 0] + second[i, 1] * first[j, 1] + second[i, 2] * first[j, 2]
                    )


@kernel
def begin_mocap_shapes(tree: Array, w: Array) -> None:
    """Frames, pairs and shapes, as planned."""
    begin_mocap(tree, w)
    for s in range(tree.nshapes):
        for j in range(3):
            w.tree_shape_position[s, j] = tree.shape_position[s, j]
            for k in range(3):
                w.tree_shape_rotation[s, j, k] = tree.shape_rotation[s, j, k]


@kernel
def set_mocap_shapes(tree: Array, w: Array, x: Array) -> None:
    """Frames, pairs and shapes on mocap bodies."""
    set_mocap(tree, w, x)
    for k in range(tree.mocap_shapes):
        m = tree.mocap_shape_of[k]
        s = tree.mocap_shape[k]
        at = rotate(w.mocap_R[m], tree.mocap_shape_position[k])
        multiply(w.mocap_R[m], tree.mocap_shape_rotation[k], w.tree_shape_rotation[s])
        set_vector(add(at, (x[m, 0], x[m, 1], x[m, 2])), w.tree_shape_position[s])
