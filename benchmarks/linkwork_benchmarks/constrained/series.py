# SPDX-License-Identifier: BSD-3-Clause
"""Curves in the metrics of a result file."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

Curve = list[tuple[float, float]]


def names(metrics: Mapping[str, float], start: str, part: int) -> list[str]:
    """The words at one place of all dotted names that begin with ``start``, in the order of the file."""
    return list(dict.fromkeys(name.split(".")[part] for name in metrics if name.startswith(f"{start}.")))


def growth(metrics: Mapping[str, float], family: str, method: str, what: str) -> Curve:
    """A metric over the links of a family: ``what`` is ``operations`` or ``native.us``."""
    found = []
    for links in names(metrics, f"growth.{family}", 2):
        value = metrics.get(f"growth.{family}.{links}.{method}.{what}")
        if value is not None:
            found.append((float(links), value))
    return sorted(found)


def exponent(curve: Curve, least: float = 49, most: float = 500) -> float | None:
    """The power of n that fits a curve from 50 to 500 links best; None where it has fewer than three points there."""
    inside = [(n, y) for n, y in curve if least <= n <= most]
    if len(inside) < 3:
        return None
    n, y = np.log(np.array(inside)).T
    return float(np.polyfit(n, y, 1)[0])


def crossing(first: Curve, second: Curve) -> float | None:
    """The size from which on the first curve is below the second, if it is not from the start."""
    both = [(n, y, dict(second)[n]) for n, y in first if n in dict(second)]
    below = [n for n, y, z in both if y < z]
    if not below or both[-1][1] >= both[-1][2] or below[0] == both[0][0]:
        return None
    return below[0]
