# SPDX-License-Identifier: BSD-3-Clause
"""Numbers that **delassus**, **lqr** and **proximal** give on their machines: who is faster, not how fast."""

from __future__ import annotations

from typing import NamedTuple


class Both(NamedTuple):
    """Matrix-free, and explicit (LTL-OSIM)."""

    free: float
    explicit: float

    @property
    def ratio(self) -> float:
        """How many times as fast, or small, matrix-free is."""
        return self.explicit / self.free


class Row(NamedTuple):
    """A row of **delassus** Table I: microseconds, memory in kB, and cache lines in thousands."""

    nv: int
    rows: int
    product: Both
    """First application of the operator."""
    product_memory: Both
    inverse: Both
    """First application of its damped inverse."""
    inverse_memory: Both
    further_product: Both
    """The operator on another vector."""
    further_inverse: Both
    further_damping: Both
    """The damped inverse with another damping."""
    product_lines: Both
    """Cache lines that the first application of the operator touches."""
    inverse_lines: Both


_TABLE = """
Go2 standing           | 18  12| 1.55 3.11   26   33| 1.64  3.65   29    32|0.369 0.027  0.389 0.135  1.112   0.402
Go2 standing, friction | 18  24| 1.61 4.64   28   47| 1.63  5.95   32    43|0.399 0.052  0.421 0.305  1.171   1.3
Go2 fallen             | 18  27| 1.74 5.89   38   62| 2.42  7.63   42    56|0.515 0.083  0.591 0.371  1.911   1.671
Go2 fallen, friction   | 18  42| 1.77 8.10   45   97| 2.44 12.00   49    81|0.567 0.147  0.62  0.601  1.88    3.791
Cassie                 | 32  24| 2.94 9.27   53   84| 4.26 10.40   69    88|0.77  0.052  0.854 0.30   3.444   1.34
Cassie, friction       | 32  50| 3.07 16.00  57  121| 4.51 21.72   72   143|0.805 0.20   0.894 0.718  3.604   5.798
G1 standing            | 35  24| 3.66 9.37   91  195| 3.58 10.60  110   235|0.919 0.051  0.906 0.297  2.426   1.327
G1 standing, friction  | 35  53| 3.96 18.53  94  254| 3.83 25.00  117   334|1.01  0.226  1.00  0.796  2.7     6.486
G1 fallen              | 35  69| 4.27 25.98  47   75| 6.22 37.88   62    80|1.43  0.379  1.46  1.08   5.1    11.48
G1 fallen, friction    | 35 101| 4.41 42.09  50  107| 7.33 70.40   65   127|1.45  0.89   1.62  1.80   6.06   29
Stack of boxes         |180 360| 9.47 1214  241 1400|31.38  2482  269  1850|5.22  9.51   7.58 14.1   30.58 1257.1
Box pyramid            |180 864|14.88 5925  755 9694|65.20 23092  826 15530|10.7  94.9  15.5  87.4   64.7 16822.4
Pyramid and robots     |285 324|20.34 1511  473 4533|37.12  2430  730  5630|6.84   7.36  8.72 12.6   32.02  906.6
"""

_LINES = """
Go2 standing           | 0.7 1.9 1.5 1.2
Go2 standing, friction | 0.7 2.7 1.6 1.6
Go2 fallen             | 0.7 3.0 2.2 1.9
Go2 fallen, friction   | 0.7 4.3 2.3 2.6
Cassie                 | 1.0 2.9 2.3 4.6
Cassie, friction       | 1.3 4.5 2.4 7.8
G1 standing            | 1.3 5.9 3.1 11.0
G1 standing, friction  | 1.3 8.0 3.1 16.1
G1 fallen              | 1.0 2.0 2.4 3.0
G1 fallen, friction    | 1.0 3.3 2.4 5.5
Stack of boxes         | 1.9 52.6 6.7 110.7
Box pyramid            | 3.4 347.5 15.9 941.6
Pyramid and robots     | 6.3 210.9 17.9 530.7
"""


def _pairs(words: str) -> list[Both]:
    """Numbers, matrix-free and explicit in turn."""
    numbers = [float(x) for x in words.replace("|", " ").split()]
    return [Both(*pair) for pair in zip(numbers[::2], numbers[1::2], strict=True)]


def _table() -> dict[str, Row]:
    found = {}
    for line, of_lines in zip(_TABLE.strip().splitlines(), _LINES.strip().splitlines(), strict=True):
        name, sizes, times = (part.strip() for part in line.split("|", 2))
        nv, rows = (int(x) for x in sizes.split())
        found[name] = Row(nv, rows, *_pairs(times), *_pairs(of_lines.split("|")[1]))
    return found


TABLE: dict[str, Row] = _table()
"""**delassus** Table I: sizes; times and memory of the operator and of its inverse; further times; cache lines."""

CROSSING = {10: 54}
"""Links of the stem from which on EFPA needs less than PV-OSIM, by branches at either end (**lqr** Fig. 2f)."""

MOST_WITHOUT = 8
"""The most branches with which PV-OSIM needs less for any stem (**lqr**); for 9 it does not say from where on."""

EXTRACTED = {"matrix": 4.0, "inverse": 7.0}
"""**proximal**: microseconds to extract ``D + mu`` (Fig. 6) and its inverse (Fig. 7) on Talos with 24 rows."""
