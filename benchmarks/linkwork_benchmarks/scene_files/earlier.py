# SPDX-License-Identifier: BSD-3-Clause
"""Times of a step as multiples of ``mj_step`` before contacts were lists of what is near.

They were measured on the same files at the end of the stage before, with steps by slots: the first two with steps of
5 ms from ``qpos0`` (795 µs for 29, 10 348 for 36), the others as the files are.
"""

RATIOS = {
    "humanoid falls": 795 / 29,
    "g1 falls": 10348 / 36,
    "shadow hand, right": 7653.0,
    "pile of 30": 54e-3 / 0.13e-3,
}
