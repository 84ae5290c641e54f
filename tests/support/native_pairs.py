# SPDX-License-Identifier: BSD-3-Clause
"""Pairs of general convex shapes against coal: ``python tests/support/native_pairs.py 100000`` pairs of each kind."""

from __future__ import annotations

import sys

import numpy as np

from tests.support.contact_pairs import NATIVE_PAIRS, TOUCH, compare, sample


def main(count: int) -> None:
    """Print how contact points of kinds that are native code alone differ from coal's, and from the best.

    Columns: pairs, and how many overlap; our gap against the separation along our normal; how fast that grows where the
    normal turns (`Sample.slope`); how much better coal's direction is at most; differences of gaps: the largest, and
    those where no smooth shape is in the pair and coal does not take it for touching, with the largest of normals there
    that are no other shortest ways.
    """
    names = ("pairs", "overlap", "own", "slope", "better", "gap", "polytopes", "gap", "normal")
    print(f"{'':19s}" + "".join(f"{name:>10s}" for name in names))
    for kinds in NATIVE_PAIRS:
        found = sample(kinds, count)
        against = compare(found)
        slope = found.slope().max() if kinds[0] != "plane" else 0.0
        own = np.abs(found.separation(found.normal) - found.gap).max()
        exact = np.abs(found.gap) > (np.inf if {"cylinder", "ellipsoid"} & set(kinds) else TOUCH)
        unique = exact & (np.abs(against.as_good) > 1e-12) | exact & (against.normal < 1e-5)
        numbers = [f"{count:10d}{(found.gap < 0).sum():10d}", f"{own:10.0e}{slope:10.0e}"]
        numbers.append(f"{-against.as_good.min():10.0e}{np.abs(against.distance).max():10.0e}{exact.sum():10d}")
        numbers.append(f"{np.abs(against.distance[exact]).max(initial=0):10.0e}")
        numbers.append(f"{against.normal[unique].max(initial=0):10.0e}")
        print(f"{':'.join(kinds):19s}" + "".join(numbers), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
