# SPDX-License-Identifier: BSD-3-Clause
"""The simplex or polytope of the state in the lane before, as the start of that of the next state.

States that share lanes are alike, and so are the corners between which their shapes are nearest. Integers of work
arrays are common to lanes, so the numbers of these corners are there when the next lane begins. With its pose they are
points of its difference D again:

- a simplex that GJK begins with (`gjk`);
- a closed surface of triangles with corners in D. Where the origin is on the inner side of all their planes, it is in
  D, and no way out of D is shorter than the distance of the nearest plane: the polytope may grow from there (`epa`).

What is found is verified by supports as from any other start, so results differ by rounding alone.

| symbol           | meaning                                                                                    |
|------------------|--------------------------------------------------------------------------------------------|
| start            | points of the simplex, or `POLYTOPE`; zero: none                                           |
| simplex_i, simplex_j; polytope_i, polytope_j, facet | numbers of corners, as the lane before left them        |

Cost: 20 operations a corner, 35 a face of the polytope.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.contact.convex.epa import expand, nearest_facet, normal_of_facet, rounding_of, set_facet
from linkwork.kernels.contact.convex.gjk import nearest_in_simplex
from linkwork.kernels.contact.convex.normals import Normal
from linkwork.kernels.contact.convex.support import Corner, Pair, is_smooth
from linkwork.kernels.scalar import Array, Scalar, kernel, some_below
from linkwork.kernels.spatial import add, rotate, set_vector, sub
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.cores import BOX_CORE, HULL_CORE, POINT_CORE, SEGMENT_CORE, TRIANGLE_CORE

POLYTOPE = 5
"""The lane before ended with a polytope."""
MOST_RESTARTED = 64
"""Corners of a polytope that another state may begin with: it grows in each lane."""

COHERENCE_INTEGERS: dict[str, Shape] = {"start": (1,)}


@kernel
def forget_start(w: Array) -> None:
    """No start: before the first lane of a pair."""
    w.start[0] = 0


@kernel
def keep_start(w: Array, pair: Pair, count: int) -> None:
    """Let the next lane begin with ``count`` points of the simplex, or with `POLYTOPE`."""
    corners = is_smooth(pair.core) + is_smooth(pair.other) == 0 and pair.core != TRIANGLE_CORE
    w.start[0] = count if corners else 0


@kernel
def corner_of(tree: Array, s: int, core: int, number: int) -> Corner:
    """The corner of a core by its number, in its own axes."""
    if core == POINT_CORE:
        return Corner(0.0, 0.0, 0.0, 0)
    elif core == SEGMENT_CORE:
        half = tree.shape_size[s, 1]
        return Corner(0.0, 0.0, half if number == 1 else -half, number)
    elif core == BOX_CORE:
        h = tree.shape_size[s]
        return Corner(
            h[0] if number % 2 == 1 else -h[0],
            h[1] if number // 2 % 2 == 1 else -h[1],
            h[2] if number // 4 == 1 else -h[2],
            number,
        )
    elif core == HULL_CORE:
        x = tree.hull_vertex[tree.hull_point[tree.shape_hull[s]] + number]
        return Corner(x[0], x[1], x[2], number)
    return Corner(0.0, 0.0, 0.0, number)


@kernel
def place_corners(tree: Array, w: Array, pair: Pair, i: int, j: int, x: Array, y: Array, difference: Array) -> None:
    """Corners ``i, j`` of both cores, and their difference, with the pose of this state."""
    a = corner_of(tree, pair.first, pair.core, i)
    b = corner_of(tree, pair.second, pair.other, j)
    at = add(w.pose_t, rotate(w.pose_C, (b.x, b.y, b.z)))
    set_vector((a.x, a.y, a.z), x)
    set_vector(at, y)
    set_vector(sub(at, (a.x, a.y, a.z)), difference)


@kernel
def start_simplex(tree: Array, w: Array, pair: Pair, size: Scalar) -> int:
    """The simplex of the lane before with the pose of this state, reduced as by an iteration of GJK; its points."""
    count: int = w.start[0]
    if count == 0 or count == POLYTOPE:
        return 0
    for k in range(count):
        place_corners(tree, w, pair, w.simplex_i[k], w.simplex_j[k], w.simplex_x[k], w.simplex_y[k], w.simplex_w[k])
    w.simplex_l[0] = 1.0
    if count > 1:
        count = nearest_in_simplex(w, count, size)
    return count


@kernel
def grown_polytope(tree: Array, w: Array, pair: Pair, size: Scalar) -> Normal:
    """The normal along which two cores overlap least, from the polytope of the lane before; ``f`` is `UNBOUNDED` where
    the origin is not in it, or it has no more room."""
    none = Normal((0.0, 0.0, 1.0), UNBOUNDED)
    if w.start[0] != POLYTOPE or w.epa[0] < 4 or w.epa[0] > MOST_RESTARTED or w.epa[3] == 0:
        return none
    for k in range(w.epa[0]):
        place_corners(
            tree, w, pair, w.polytope_i[k], w.polytope_j[k], w.polytope_x[k], w.polytope_y[k], w.polytope_w[k]
        )
    for k in range(w.epa[1]):
        set_facet(w, k, size)
    tolerance = rounding_of(w, size)
    if not some_below(tolerance, w.facet_n[nearest_facet(w), 3]):
        return none
    near = expand(tree, w, pair, tolerance, size)
    depth = w.facet_n[near, 3]
    best = normal_of_facet(tree, w, pair, near, size)
    if w.epa[3] == 0 or not some_below(0.0, depth) or not some_below(-best.f - depth, 2.0 * tolerance):
        return none
    return best
