# SPDX-License-Identifier: BSD-3-Clause
"""Torques of one leg that follows sines: exact, and by trees that leave out what rotors do (**clusters** Fig. 14)."""

from __future__ import annotations

import numpy as np

import linkwork as lw
from linkwork_benchmarks.clusters.robots import Leg
from linkwork_benchmarks.robots import Floats

DYNAMICS = ("exact", "unconstrained", "approximate")


def torques(leg: Leg, amplitude: float, frequency: float, time: Floats) -> dict[str, Floats]:
    """Torques of the link joints at each moment by each of `DYNAMICS`, ``(moments, joints)``.

    Every link joint follows ``amplitude sin(2 pi frequency t)``; rotors follow the links.
    """
    turn = 2 * np.pi * frequency
    joints = len(leg.joints)
    y, rate, second = (
        np.repeat(x[:, None], joints, axis=1)
        for x in (
            amplitude * np.sin(turn * time),
            amplitude * turn * np.cos(turn * time),
            -amplitude * turn**2 * np.sin(turn * time),
        )
    )
    at = lw.Minimal(leg.exact)
    q = np.zeros((len(time), leg.exact.nq))
    q[:, [leg.exact.q_index(name) for name in at.names]] = y
    q = at.complete(q)
    v = at.velocity(q, rate)
    a = at.acceleration(q, v, second)
    tau = lw.InverseDynamics(leg.exact, "cluster")(q, v, a)
    found = {"exact": tau[:, [leg.exact.v_index(name) for name in leg.joints]]}
    for name, tree in (("unconstrained", leg.still), ("approximate", leg.reflecting)):
        places = [tree.v_index(name) for name in leg.joints]
        found[name] = lw.InverseDynamics(tree, "rnea")(y, rate, second)[:, places]
    return found


def off(found: Floats, exact: Floats) -> Floats:
    """Root mean squares of what torques are off, ``(joints,)``."""
    missed: Floats = np.sqrt(np.mean((found - exact) ** 2, axis=0))
    return missed
