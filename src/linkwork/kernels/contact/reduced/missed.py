# SPDX-License-Identifier: BSD-3-Clause
"""Contact points that are not listed and would overlap after a step, as impacts change velocities by more than allowed.

Cost: linear in contact points of near pairs; in a warp, where each lane has one, in the joints between its bodies.
"""

from __future__ import annotations

from linkwork.kernels.contact.problem import SAME_GAP
from linkwork.kernels.contact.reduced.problem import NEAR
from linkwork.kernels.contact.reduced.rows import ReducedSettings, closing_velocity
from linkwork.kernels.elementary import largest_of, maximum
from linkwork.kernels.joints import dof_of
from linkwork.kernels.scalar import Array, Scalar, Vector, in_warp, kernel, prange, some_below, where
from linkwork.kernels.spatial import add, column, cross, dot, sub
from linkwork.kernels.thresholds import NO_CONTACT
from linkwork.kernels.tree.kinematics import velocities


@kernel
def find_missed(tree: Array, w: Array, v: Array, settings: ReducedSettings) -> Scalar:
    """One where points that are not listed overlap at velocities ``v``, and are to be listed now; else zero.

    Impacts may change velocities by more than `closing_distance` allows for. Overwrites velocities of bodies (not in a
    warp).
    """
    if not in_warp():
        velocities(tree, w, v)
    h = settings.dt
    for n in prange(w.counts[NEAR]):
        c = w.near[n]
        missing = 0.0
        for k in range(tree.contact_slots[c]):
            s = tree.contact_slot[c] + k
            apart = where(w.gap[s], NO_CONTACT, 1.0, 0.0) * where(w.missed_distance[s], 0.5 * NO_CONTACT, 1.0, 0.0)
            apart = apart * where(w.gap[s] - w.reach[s], 0.0, 0.0, 1.0)
            missed = 0.0
            if some_below(0.5 - apart, 0.0):
                gap = w.gap[s] + h * closing_rate(tree, w, c, s, v)
                missed = apart * where(gap, -(SAME_GAP * settings.tolerance * h), 1.0, 0.0)
            w.missed_distance[s] = where(0.5, missed, NO_CONTACT, w.missed_distance[s])
            missing = maximum(missing, missed)
        w.pair_missed[n] = missing
    return largest_of(w.pair_missed, w.counts[NEAR])


@kernel
def closing_rate(tree: Array, w: Array, c: int, s: int, v: Array) -> Scalar:
    """Rate of the gap of a contact point at joint velocities ``v``, which are those of bodies but in a warp."""
    rate = 0.0
    if in_warp():
        i = tree.contact_body_first[c]
        j = tree.contact_body_second[c]
        normal = column(w.contact_R[s], 2)
        while i != j:
            if i > j:
                rate = rate - joint_rate(tree, w, i, w.point[s], normal, v)
                i = tree.parent[i]
            else:
                rate = rate + joint_rate(tree, w, j, w.point[s], normal, v)
                j = tree.parent[j]
    else:
        rate = closing_velocity(tree, w, c, s)
    return rate


@kernel
def joint_rate(tree: Array, w: Array, i: int, point: Vector, normal: Vector, v: Array) -> Scalar:
    """Velocity of a point along ``normal`` that the joint of a body makes."""
    x = sub(point, w.body_o[i])
    rate = 0.0
    for o in range(tree.iv[i], tree.iv[i] + dof_of(tree.kind[i])):
        rate = rate + v[o] * dot(normal, add(w.axis_u[o], cross(w.axis_w[o], x)))
    return rate
