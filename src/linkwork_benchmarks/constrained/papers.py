# SPDX-License-Identifier: BSD-3-Clause
"""Numbers that the papers give, in microseconds on their machines: who is faster than whom, not how fast."""

from __future__ import annotations

LOOPS_TABLE: dict[str, dict[int, tuple[float, float, float]]] = {
    "AH-cube": {1: (4.1, 5.1, 4.4), 3: (5.6, 7.3, 5.9)},
    "AH²-cube": {1: (7.6, 15, 13), 3: (9.7, 21, 16)},
    "Hum-AH²-cube": {1: (13, 26, 25), 3: (15, 33, 28)},
    "Hum-AH²-cube, feet": {1: (13, 31, 32), 3: (16, 41, 37)},
    "Digit": {1: (9.1, 12, 25), 3: (12, 17, 30)},
    "Digit-cube": {1: (11, 14, 31), 3: (14, 20, 38)},
    "Digit²-cube": {1: (22, 37, 160), 3: (29, 50, 180)},
}
"""**loops** Table II: `lcaba`, `prox_bbo`, `prox_ltl` after one and three iterations."""

LOOPS_METHODS = ("lcaba", "prox_bbo", "prox_ltl")

LQR_TABLE: dict[str, tuple[float, float, float, float]] = {
    "Iiwa (H3)": (0.75, 0.61, 0.83, 0.61),
    "Iiwa (H)": (1.01, 1.09, 1.08, 0.63),
    "Go1 (1F3)": (1.88, 1.81, 1.96, 1.70),
    "Go1 (2F3)": (2.10, 1.98, 2.20, 1.76),
    "Go1 (3F3)": (2.32, 2.14, 2.48, 1.82),
    "Go1 (4F3)": (2.53, 2.33, 2.85, 1.90),
    "Atlas (F)": (4.59, 3.94, 5.88, 3.61),
    "Atlas (2F)": (6.09, 4.40, 7.52, 3.73),
    "Atlas (2F+H)": (7.37, 5.03, 8.69, 3.76),
    "Atlas (2F+2H)": (8.27, 5.52, 11.8, 3.82),
    "Talos (F)": (5.63, 5.48, 9.25, 4.96),
    "Talos (2F)": (6.72, 6.45, 10.9, 4.99),
    "Talos (2F+H)": (8.40, 7.06, 13.4, 5.08),
    "Talos (2F+2H)": (10.13, 7.40, 15.4, 5.11),
}
"""**lqr** Table II: `pv`, `pv_early`, `ltl`, `pv_soft`."""

LQR_METHODS = ("pv", "pv_early", "ltl", "pv_soft")

GROWTH = {
    "single_loop": "`lcaba` and `prox_bbo` alike and linear, `prox_ltl` superlinear",
    "chain_of_loops": "as the single loop, `prox_bbo` slightly faster than `lcaba`, `prox_ltl` slowest",
    "coupled_loops": "the worst case: all superlinear",
    "star_of_loops": "`lcaba` scales better than `prox_bbo`, and that better than `prox_ltl`",
    "held_chain": "PV, PV-early and PV-soft linear, LTL superlinear",
    "ladder": "PV-early and PV-soft linear; PV superlinear like LTL",
}
"""What the papers say of each family."""
