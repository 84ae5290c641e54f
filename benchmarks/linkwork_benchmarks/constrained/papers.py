# SPDX-License-Identifier: BSD-3-Clause
"""Numbers that the papers give, in microseconds on their machines: who is faster than whom, not how fast."""

from __future__ import annotations

LOOPS_METHODS = ("lcaba", "prox_bbo", "prox_ltl")

LOOPS_TABLE: dict[str, dict[int, tuple[float, float, float]]] = {
    "AH-cube": {1: (4.1, 5.1, 4.4), 3: (5.6, 7.3, 5.9)},
    "AH²-cube": {1: (7.6, 15, 13), 3: (9.7, 21, 16)},
    "Hum-AH²-cube": {1: (13, 26, 25), 3: (15, 33, 28)},
    "Hum-AH²-cube, feet": {1: (13, 31, 32), 3: (16, 41, 37)},
    "Digit": {1: (9.1, 12, 25), 3: (12, 17, 30)},
    "Digit-cube": {1: (11, 14, 31), 3: (14, 20, 38)},
    "Digit²-cube": {1: (22, 37, 160), 3: (29, 50, 180)},
}
"""**loops** Table II: `LOOPS_METHODS` after one and three iterations."""

LOOPS_ABA = {
    "AH-cube": 2.0,
    "AH²-cube": 4.7,
    "Hum-AH²-cube": 9.0,
    "Hum-AH²-cube, feet": 9.0,
    "Digit": 5.3,
    "Digit-cube": 5.6,
    "Digit²-cube": 11.0,
}
"""**loops** Table II, last column: ABA of the same system without its constraints."""

LOOPS_TIMES = {system: dict(zip(LOOPS_METHODS, times[1], strict=True)) for system, times in LOOPS_TABLE.items()}
"""**loops** Table II, one iteration, by method."""

LQR_METHODS = ("pv", "pv_early", "ltl", "pv_soft")
"""Methods whose order is compared; LTL-s is compared with PV-soft and LTL alone."""

_LQR_TABLE = """
Iiwa (0D)     |  0.55 0.55  0.63  2.15 0.55  0.63  3.11
Iiwa (H3)     |  0.75 0.61  0.83  2.73 0.61  0.80  4.45
Iiwa (H)      |  1.01 1.09  1.08  3.53 0.63  0.89  4.88
Go1 (0D)      |  1.65 1.67  1.74  4.68 1.64  1.74  7.10
Go1 (1F3)     |  1.88 1.81  1.96  5.61 1.70  1.84  11.2
Go1 (2F3)     |  2.10 1.98  2.20  6.40 1.76  1.98  12.0
Go1 (3F3)     |  2.32 2.14  2.48  7.33 1.82  2.16  12.8
Go1 (4F3)     |  2.53 2.33  2.85  8.20 1.90  2.33  13.5
Atlas (0D)    |  3.44 3.47  4.64  12.3 3.47  4.64  15.9
Atlas (F)     |  4.59 3.94  5.88  15.4 3.61  5.58  31.5
Atlas (2F)    |  6.09 4.40  7.52  18.5 3.73  6.61  34.2
Atlas (2F+H)  |  7.37 5.03  8.69  22.3 3.76  6.93  36.5
Atlas (2F+2H) |  8.27 5.52  11.8  26.5 3.82  7.77  38.8
Talos (0D)    |  4.92 4.97  8.14  17.1 4.96  8.28  23.6
Talos (F)     |  5.63 5.48  9.25  21.1 4.96  8.65  51.3
Talos (2F)    |  6.72 6.45  10.9  25.2 4.99  9.21  54.3
Talos (2F+H)  |  8.40 7.06  13.4  30.0 5.08  10.6  57.0
Talos (2F+2H) | 10.13 7.40  15.4  34.7 5.11  11.9  59.4
"""
_LQR_COLUMNS = ("pv", "pv_early", "ltl", "pinocchio", "pv_soft", "ltl_soft", "mujoco")


def _read(line: str) -> tuple[str, dict[str, float]]:
    name, times = line.split("|")
    return name.strip(), dict(zip(_LQR_COLUMNS, map(float, times.split()), strict=True))


LQR_TABLE: dict[str, dict[str, float]] = dict(_read(line) for line in _LQR_TABLE.strip().splitlines())
"""**lqr** Table II, all columns; Pinocchio's and MuJoCo's are those of libraries, not of generated code."""

LQR_TIMES = {
    system: {method: times[method] for method in LQR_METHODS}
    for system, times in LQR_TABLE.items()
    if not system.endswith("(0D)")
}
"""**lqr** Table II, systems with rows, by method."""

GROWTH = {
    "single_loop": "`lcaba` and `prox_bbo` alike and linear, `prox_ltl` superlinear",
    "chain_of_loops": "as the single loop, `prox_bbo` slightly faster than `lcaba`, `prox_ltl` slowest",
    "chain_of_hinged_loops": "the same, closed by hinges",
    "coupled_loops": "the worst case: all superlinear",
    "star_of_loops": "`lcaba` scales better than `prox_bbo`, and that better than `prox_ltl`",
    "held_chain": "PV, PV-early and PV-soft linear, LTL and LTL-s superlinear",
    "ladder": "PV-early and PV-soft linear; PV superlinear like LTL and LTL-s",
}
"""What the papers say of each family."""
