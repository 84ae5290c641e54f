# SPDX-License-Identifier: BSD-3-Clause
"""Mechanisms whose loops close only to the rounding of a file: overconstrained ones, with numbers of seven digits."""

from __future__ import annotations

import numpy as np

import linkwork as lw
from linkwork.mechanism import Mechanism
from states import Floats


def rounded(x: Floats, digits: int | None) -> Floats:
    return x if digits is None else np.round(x, digits)


def wrist(digits: int | None = 7) -> Mechanism:
    """Three legs of three hinges whose axes meet in one point: the platform turns about it in three ways.

    Two of the legs are closed by hinges, ten rows of which four are independent.
    """
    build = lw.Builder("wrist")
    build.body("platform", lw.Inertia.box(0.4, (0.1, 0.1, 0.02), (0, 0, 0.1)))
    tops = []
    for k in range(3):
        turn = 2 * np.pi * k / 3 + 0.1
        base = np.array([np.cos(turn), np.sin(turn), -0.6])
        elbow = np.array([np.cos(turn + 0.9), np.sin(turn + 0.9), 0.1])
        tops.append(np.array([np.cos(turn + 0.3), np.sin(turn + 0.3), 0.9]))
        # every body frame stands at the common point; only directions of axes differ
        axes = [rounded(axis / np.linalg.norm(axis), digits) for axis in (base, elbow, tops[-1])]
        at = rounded(0.05 * base, digits)
        build.body(f"lower{k}", lw.Inertia.box(0.1, (0.02, 0.03, 0.04), 0.1 * (base + elbow)))
        build.joint(f"base{k}", lw.Revolute(axes[0]), "world", f"lower{k}", at, at)
        middle = rounded(0.07 * elbow, digits)
        build.body(f"upper{k}", lw.Inertia.box(0.1, (0.03, 0.02, 0.04), 0.1 * (elbow + tops[-1])))
        build.joint(f"elbow{k}", lw.Revolute(axes[1]), f"lower{k}", f"upper{k}", middle, middle)
        far = rounded(0.06 * tops[-1], digits)
        if k == 0:
            build.joint("top0", lw.Revolute(axes[2]), "upper0", "platform", far, far)
        else:
            build.constrain(
                lw.Hinge(f"upper{k}", "platform", axis=axes[2], first_at=far, second_at=far, name=f"top{k}")
            )
    return build.build()


def three_cranks(off: float = 1e-8) -> Mechanism:
    """Equal parallel cranks that carry one coupler: it moves as long as the third pivot is where it has to be."""
    build = lw.Builder("three cranks")
    build.body("coupler", lw.Inertia.rod(0.5, (0, 0, 0), (1, 0, 0)))
    for k, x in enumerate((0.0, 0.4, 1.0)):
        build.body(f"crank{k}", lw.Inertia.rod(0.2, (0, 0, 0), (0.2, 0, 0.25)))
        build.joint(f"pivot{k}", lw.Revolute("y"), "world", f"crank{k}", (x + (off if k == 2 else 0.0), 0, 0))
        top = {"first_at": (0.2, 0, 0.25), "second_at": (x, 0, 0), "name": f"pin{k}"}
        if k == 0:
            build.joint("pin0", lw.Revolute("y"), "crank0", "coupler", (0.2, 0, 0.25))
        else:
            build.constrain(lw.Hinge(f"crank{k}", "coupler", axis="y", **top))
    return build.build()
