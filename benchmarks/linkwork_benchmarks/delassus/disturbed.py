# SPDX-License-Identifier: BSD-3-Clause
"""Rows whose times were disturbed: a scene and the same with joint friction take times as their operations do."""

from __future__ import annotations

from collections.abc import Mapping

from linkwork_benchmarks.delassus.bars import rows

FRICTION = ", friction"
MOST = 1.35
"""How much more a row may take for an operation than its twin."""


def disturbed(metrics: Mapping[str, float]) -> dict[str, float]:
    """Of each row that was disturbed, how many times as long an operation took as in its twin."""
    found: dict[str, float] = {}
    for row in rows(metrics):
        twin = row.removesuffix(FRICTION)
        if twin == row:
            continue
        for quantity in ("product", "inverse"):
            each = [
                (metrics.get(f"table.{r}.{quantity}.native.us"), metrics.get(f"table.{r}.{quantity}.operations"))
                for r in (row, twin)
            ]
            times = [us / operations for us, operations in each if us is not None and operations]
            if len(times) == 2:
                slower, ratio = (row, times[0] / times[1]) if times[0] > times[1] else (twin, times[1] / times[0])
                if ratio > MOST:
                    found[slower] = max(ratio, found.get(slower, 0.0))
    return found


def sentence(metrics: Mapping[str, float]) -> str:
    """Which rows are not to be read; empty where there are none."""
    found = disturbed(metrics)
    if not found:
        return ""
    shown = "; ".join(f"{row} ({ratio:.1f} times as long for an operation)" for row, ratio in found.items())
    return (
        f"**Disturbed while they were measured**, beside the same scene with or without joint friction: {shown}. Their "
        "times are not to be read."
    )
