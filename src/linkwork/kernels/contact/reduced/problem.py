# SPDX-License-Identifier: BSD-3-Clause
"""The problem of a step in generalized velocities: sets of rows of four kinds, in lists as long as a state needs.

Unknowns are the velocity ``v`` after the step and impulses ``z``::

    M v = p + A' z                                    p = M v_before + dt (tau - bias), with what is implicit in M
    K ∋ z ⟂ w ∈ K,  w = A v + c + C z + e_0 s         CONE: s = |(A v + c)_1..|, De Saxcé's term
    lower <= z <= upper,  w = A v + c                 BOX: w > 0 only at the lower end, w < 0 only at the upper
    A v + c + C z = 0                                 EQUALITY
    z = F(A v + c)                                    PYRAMID: soft contacts with pyramidal cones (`pyramid`)

``K`` is the unit second-order cone ``z_0 >= |z_1..|`` of dimension 1, 3, 4 or 6. Rows along the tangents are scaled by
their coefficients of friction, so that sliding, torsional and rolling friction have one cone; a limit of a joint and a
contact without friction are cones of one row.

A row has numbers for the limbs (`plans.limbs`) that it depends on, its *sides*: limb ``side_limb[k]`` has the columns
from ``side_column[k]`` on.

| symbol      | meaning                                                                                       |
|-------------|-----------------------------------------------------------------------------------------------|
| counts      | lengths of the lists, and whether one was too short                                            |
| cone_row    | first row of a set, and how many: ``cone_dim``; ``cone_kind``: CONE, BOX, ...                   |
| cone_side   | first side of a set, and how many: ``cone_sides``                                               |
| A, c, C     | rows of all sets; ``c`` is `row_c`, ``C`` `compliance`                                                 |
| z           | impulses, in the units of the rows                                                            |
| cone_D      | mean of the diagonal of ``A M⁻¹ A'`` of a set, as the robot's scales have it                  |
| cone_box    | number of the limit or dry friction of a set; -1 of others                                    |
| cone_sigma  | inertia of a set, weight of ``w`` against ``z``                                                |
| cone_mu     | coefficient of sliding friction                                                               |
| cone_unit   | what makes a velocity of a row: one, or a length of the robot for joints that turn             |
| removal     | part of ``c`` that removes penetration, at most zero                                          |
| yields      | part of ``compliance`` along the normal that slows this removal                               |
| cone_saxce  | factor of De Saxcé's term: one, or zero for contacts that are soft                             |
| row_R, row_unit | of loops: regularization, and what makes a velocity of a row                              |
| momentum    | ``p``                                                                                         |
| cone_G      | block of a set in ``M + A' G A``: row ``r`` has ``cone_dim`` numbers                           |
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.plans.contact_reduced import MAX_DIM

CONE, BOX, EQUALITY, PYRAMID = range(4)
"""Kinds of sets of rows."""

CONES, ROWS, SIDES, BLOCKS, EDGES, NEAR, POINTS, LOOPS, FULL, SYMMETRIC, ACTIVE = range(11)
"""Entries of ``counts``: lengths of lists; the first set of loops, -1 without them; one where a list was too short; one
where all blocks ``G`` are symmetric; limbs that take part in the factor."""

NUMBER, FORCE, MOMENT, VELOCITY, GAP = 0, 1, 4, 7, 10
"""Entries of a contact point in the result of a step."""

PROBLEM_INTEGERS: dict[str, Shape] = {
    "counts": (11,),
    "cone_row": ("nsets",),
    "cone_dim": ("nsets",),
    "cone_kind": ("nsets",),
    "cone_side": ("nsets",),
    "cone_sides": ("nsets",),
    "cone_box": ("nsets",),
    "side_limb": ("nsides",),
    "side_column": ("nsides",),
}
PROBLEM_ROWS: dict[str, Shape] = {
    "A": ("nrows", "nwidth"),
    "row_c": ("nrows",),
    "compliance": ("nrows",),
    "z": ("nrows",),
    "lower": ("nsets",),
    "upper": ("nsets",),
    "cone_D": ("nsets",),
    "cone_sigma": ("nsets",),
    "cone_mu": ("nsets",),
    "cone_unit": ("nsets",),
    "cone_saxce": ("nsets",),
    "removal": ("nsets",),
    "yields": ("nsets",),
    "row_R": ("nrows",),
    "row_unit": ("nrows",),
    "cone_G": ("nrows", MAX_DIM),
    "momentum": ("nv",),
    "v_next": ("nv",),
}
