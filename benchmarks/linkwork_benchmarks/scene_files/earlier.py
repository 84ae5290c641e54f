# SPDX-License-Identifier: BSD-3-Clause
"""Times of a step as multiples of ``mj_step`` before contacts were lists of what is near.

They were measured at the end of the stage before, with steps by slots: the first two on the same files with steps of
5 ms from ``qpos0`` (795 µs for 29, 10 348 for 36), the Shadow hand as its file of MuJoCo Menagerie is, and another pile
of 30 mixed bodies (54 ms for 0.13).
"""

RATIOS = {
    "humanoid falls": 795 / 29,
    "g1 falls": 10348 / 36,
    "shadow hand, right": 7653.0,
    "pile of 30": 54e-3 / 0.13e-3,
}
