# SPDX-License-Identifier: BSD-3-Clause
"""Soft contacts as MuJoCo has them: what ``solref``, ``solimp`` and ``impratio`` say, in rows of a step.

MuJoCo's contacts (Todorov, "Convex and analytically-invertible dynamics with contacts and constraints", 2014) aim at a
reference acceleration, and give way in proportion to their force::

    K ∋ f ⟂ J a - a_ref + R f ∈ K*        a_ref = -b u - k d(r) r;    R = (1 - d) / d D

with the friction cone ``K``, the velocity ``u = J v + s`` before the step (``s``: surface velocities) and the gap ``r``
from the margin. There are rows where ``r < 0`` alone, and no term of De Saxcé. A step of the length ``h`` has impulses
``z = h f``; times ``h``, this is the problem of the reduced step, ``w = A v+ + c + C z``, with rows ``A = mu J`` and
impulses divided by the coefficients ``mu`` (one for the normal)::

    c_n = s_n - (1 - h b) u_n + h k d r           C_n = R
    c_t = mu_t (s_t - (1 - h b_t) u_t)            C_t = mu_t² R_t = mu_1² R / impratio

Adhesion, a force ``F`` that pulls at the contact, is part of the forces before the step, and moves the reference:
``a_ref = ... + R F``, so that it does not change the depth of what rests.

| symbol | meaning                                                                     |
|--------|-----------------------------------------------------------------------------|
| d      | impedance, 0 to 1, by the depth; ``most`` is that of the full depth          |
| k, b   | stiffness and damping of the reference, per unit of inertia                 |
| D      | inverse inertia of the normal; in MuJoCo that of the two bodies at ``qpos0`` |
| R      | regularization: compliance of an acceleration                               |
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.elementary import clamp, magnitude, maximum
from linkwork.kernels.scalar import Array, Scalar, any_below, kernel, sqrt, where
from linkwork.kernels.thresholds import LEAST_DENOMINATOR
from linkwork.plans.contact_friction import FRICTION_TREE

LEAST_IMPEDANCE, MOST_IMPEDANCE = 1e-4, 0.9999
"""MuJoCo's bounds of impedances, and of the midpoint of their curve."""
SAFE_STEPS = 2.0
"""The least time constant, in steps."""
WHOLE_BITS, FRACTION_BITS = 10, 52


@kernel
def real_power(x: Scalar, p: Scalar) -> Scalar:
    """``x`` to the power ``p``, for ``x`` in [0, 1] and ``p`` in [0, 1024): by the binary digits of ``p``."""
    unit = 512.0
    rest = p
    y = 1.0
    for _ in range(WHOLE_BITS):
        one = where(rest, unit, 0.0, 1.0)
        y = y * y * where(0.5, one, x, 1.0)
        rest = rest - one * unit
        unit = 0.5 * unit
    root = x
    for _ in range(FRACTION_BITS):
        root = sqrt(root)
        rest = 2.0 * rest
        one = where(rest, 1.0, 0.0, 1.0)
        y = y * where(0.5, one, root, 1.0)
        rest = rest - one
    return y


@kernel
def impedance(r: Scalar, solimp: Array) -> Scalar:
    """The impedance ``d`` of a contact at the gap ``r``; ``solimp`` as in MuJoCo, five numbers."""
    least = clamp(solimp[0], LEAST_IMPEDANCE, MOST_IMPEDANCE)
    most = clamp(solimp[1], LEAST_IMPEDANCE, MOST_IMPEDANCE)
    width = maximum(solimp[2], 0.0)
    middle = clamp(solimp[3], LEAST_IMPEDANCE, MOST_IMPEDANCE)
    power = maximum(solimp[4], 1.0)
    x = clamp(magnitude(r) / maximum(width, LEAST_DENOMINATOR), 0.0, 1.0)
    # middle (x / middle)^p up to the middle, mirrored from there on: the same power of another ratio
    ratio = where(middle, x, (1.0 - x) / (1.0 - middle), x / middle)
    part = ratio * ratio
    if any_below(-magnitude(power - 2.0), -LEAST_DENOMINATOR):
        part = where(magnitude(power - 2.0), LEAST_DENOMINATOR, part, real_power(ratio, power))
    y = where(middle, x, 1.0 - (1.0 - middle) * part, middle * part)
    return where(LEAST_DENOMINATOR, width, least + y * (most - least), 0.5 * (least + most))


@kernel
def reference_gains(solref: Array, most: Scalar, h: Scalar) -> tuple[Scalar, Scalar]:
    """Stiffness ``k`` and damping ``b`` of a reference: a time constant and a damping ratio or, both not positive, the
    two numbers themselves; ``most`` is the impedance at full depth.

    Time constants are at least two steps. One number that is positive and one that is not stand for MuJoCo's default.
    """
    first = where(0.0, solref[0], where(0.0, solref[1], solref[0], 0.02), where(0.0, solref[1], 0.02, solref[0]))
    second = where(0.0, solref[0], where(0.0, solref[1], solref[1], 1.0), where(0.0, solref[1], 1.0, solref[1]))
    time = maximum(first, SAFE_STEPS * h)
    swing = most * time * second
    k = where(
        0.0, first, 1.0 / maximum(swing * swing, LEAST_DENOMINATOR), -first / maximum(most * most, LEAST_DENOMINATOR)
    )
    b = where(0.0, first, 2.0 / maximum(most * time, LEAST_DENOMINATOR), -second / maximum(most, LEAST_DENOMINATOR))
    return k, b


@kernel
def soft_normal(tree: Array, c: int, r: Scalar, u: Scalar, h: Scalar, D: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """``c_n`` and ``C_n`` of a contact of pair ``c``, less its surface velocity, and the part ``1 - h b_t`` of its
    velocities of friction that remains.

    Args:
        tree: With `plans.contact_friction`.
        c: The pair.
        r: Gap, from the margin.
        u: Velocity of the normal before the step.
        h: Length of the step.
        D: Inverse inertia of the normal.
    """
    solimp = tree.soft_impedance[c]
    most = clamp(solimp[1], LEAST_IMPEDANCE, MOST_IMPEDANCE)
    d = impedance(r, solimp)
    k, b = reference_gains(tree.soft_reference[c], most, h)
    own = tree.soft_friction_reference[c]
    _, b_own = reference_gains(own, most, h)
    b_t = where(0.0, magnitude(own[0]) + magnitude(own[1]), b_own, b)
    R = maximum((1.0 - d) / d * D, LEAST_DENOMINATOR)
    pulled = h * R * tree.pair_adhesion[c]
    return h * k * d * r - (1.0 - h * b) * u - pulled, R, 1.0 - h * b_t


@kernel
def soft_row(
    solref: Array, solimp: Array, depth: Scalar, r: Scalar, u: Scalar, h: Scalar, D: Scalar
) -> tuple[Scalar, Scalar]:
    """``c`` and ``C`` of a row of a limit, of dry friction or of a constraint.

    Args:
        solref: As in MuJoCo.
        solimp: As in MuJoCo.
        depth: Argument of the impedance; of a constraint, the length of all its errors.
        r: Error of the row, from the margin; zero of dry friction, which has no stiffness.
        u: Its rate before the step.
        h: Length of the step.
        D: Inverse inertia of the row.
    """
    d = impedance(depth, solimp)
    k, b = reference_gains(solref, clamp(solimp[1], LEAST_IMPEDANCE, MOST_IMPEDANCE), h)
    return h * k * d * r - (1.0 - h * b) * u, maximum((1.0 - d) / d * D, LEAST_DENOMINATOR)


@kernel
def soft_friction_compliance(tree: Array, c: int, mu: Scalar, R: Scalar) -> Scalar:
    """``C_t`` of all directions of friction of pair ``c``, with the coefficient ``mu`` against sliding."""
    return mu * mu * R / tree.soft_ratio[c]


@kernel
def soft_contact_rows(
    tree: Array, w: Array, q: Array, gaps: Array, velocities: Array, step: Array, D: Array, rows: Array
) -> None:
    """Of each pair at a gap and a normal velocity: ``c_n``, ``C_n``, the part of velocities of friction that remains,
    and ``C_t``."""
    for c in range(tree.ncontacts):
        offset, R, kept = soft_normal(tree, c, gaps[c], velocities[c], step[0], D[c])
        rows[c, 0] = offset
        rows[c, 1] = R
        rows[c, 2] = kept
        rows[c, 3] = soft_friction_compliance(tree, c, tree.pair_friction[c, 0], R)


SOFT_CONTACT_ROWS = Algorithm(
    "soft_contact_rows",
    soft_contact_rows,
    {"q": ("nq",), "gaps": ("ncontacts",), "velocities": ("ncontacts",), "step": (1,), "D": ("ncontacts",)},
    {"rows": ("ncontacts", 4)},
    {},
    FRICTION_TREE,
)
"""MuJoCo's numbers of soft contacts in a step."""
