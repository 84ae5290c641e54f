# SPDX-License-Identifier: BSD-3-Clause
"""Families that grow, to see how algorithms scale: the topologies of **loops** Figs. 6 to 9 and of **lqr** Figs. 2e, 4.

The papers show these as schemes and give the counts that the docstrings cite. They are silent on lengths, masses, joint
axes and postures. Here links are rods of 0.2 m and 0.5 kg on revolute joints about x, y, z in turn. A weld binds its
links as they stand in the pose ``"assembled"``, a posture that resembles the scheme.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from linkwork.conversions import converted
from linkwork.errors import InputError
from linkwork.mechanism import Mechanism
from linkwork.model.constraints import WORLD
from linkwork.model.placement import Placement
from linkwork.zoo.places import END, Sketch, at_least, turn

Closing = Literal["weld", "hinge"]
Tips = Literal["hub", "path", "ring"]


# loops ------------------------------------------------------------------------------------------------


@converted
def single_loop(links: int, floating: bool = True) -> Mechanism:
    """A cycle of ``links`` links, the last welded to the first by 6 rows (**loops** Fig. 6a).

    The first link floats (the paper's loops do not pass through the ground), or else turns on the world.

    Args:
        links: Number of links.
        floating: Whether the first link floats; else it turns on the world.
    """
    at_least(links, 3, "links")
    sketch = Sketch(f"loop of {links} links")
    first = _start(sketch, floating)
    bodies = sketch.chain("link", first, END, links - 1, "z", 2 * np.pi / links)
    sketch.weld("loop", bodies[-1], first)
    return sketch.finish()


@converted
def chain_of_loops(loops: int, links: int = 7, floating: bool = True, closing: Closing = "weld") -> Mechanism:
    """``loops`` loops in a row, each of seven links and closed by a weld or by a hinge (**loops** Fig. 7a).

    Neighbors share one link, opposite to the one that starts the loop: ``1 + 6 loops`` links (the paper does not say
    what they share). A weld holds the six joints of its loop still; with a hinge, of 5 rows, a loop is seven links on
    seven joints and moves with one degree of freedom.

    Args:
        loops: Number of loops.
        links: Links of each loop.
        floating: Whether the first link floats; else it turns on the world.
        closing: Constraint of a loop: ``"weld"`` or ``"hinge"``.
    """
    at_least(loops, 1, "loops")
    at_least(links, 3, "links")
    if closing not in ("weld", "hinge"):
        raise InputError(f"closing must be 'weld' or 'hinge', not '{closing}'")
    sketch = Sketch(f"chain of {loops} loops")
    shared = _start(sketch, floating)
    for k in range(loops):
        side = (-1) ** k  # a loop lies on the other side of the link that it shares
        bodies = sketch.chain(f"loop{k}_", shared, END, links - 1, "z", side * 2 * np.pi / links)
        (sketch.weld if closing == "weld" else sketch.hinge)(f"loop{k}", bodies[-1], shared)
        shared = bodies[(links - 1) // 2]
    return sketch.finish()


@converted
def coupled_loops(loops: int, spacing: int = 4, floating: bool = True) -> Mechanism:
    """The worst case: every loop has joints in common with every other (**loops** Fig. 8a).

    A chain wound up twice; ``loops`` welds, ``spacing`` links apart, bind the first winding to the second. Weld ``k``
    closes a loop over the joints ``k spacing + 1`` to ``(k + loops) spacing``, so that joint ``loops spacing`` is in
    all of them. The paper gives no counts; with ``spacing`` 4 there are more joints than rows.

    Args:
        loops: Number of loops.
        spacing: Links from weld to weld.
        floating: Whether the first link floats; else it turns on the world.
    """
    at_least(loops, 1, "loops")
    at_least(spacing, 1, "spacing")
    sketch = Sketch(f"{loops} coupled loops")
    first = _start(sketch, floating)
    winding = loops * spacing  # links once around
    bodies = [first, *sketch.chain("link", first, END, 2 * winding - spacing, "z", 2 * np.pi / winding)]
    for k in range(loops):
        sketch.weld(f"loop{k}", bodies[(k + loops) * spacing], bodies[k * spacing])
    return sketch.finish()


@converted
def star_of_loops(branches: int, links: int = 7, tips: Tips = "hub", floating: bool = True) -> Mechanism:
    """Branches from one link whose tips are welded to each other: favors LCABA over proxBBO (**loops** Fig. 9a).

    ``tips`` says which: all to the first (``"hub"``: eliminating leaves then never meets more than one neighbor, as
    the paper says of its mechanism), each to the next (``"path"``), or also the last to the first (``"ring"``). The
    paper says neither this nor how long the branches are. They are arcs toward a point above the middle.

    Args:
        branches: Number of branches.
        links: Links of each branch.
        tips: Which tips are welded to each other, see above.
        floating: Whether the first link floats; else it turns on the world.
    """
    at_least(branches, 2, "branches")
    at_least(links, 1, "links")
    if tips not in ("hub", "path", "ring"):
        raise InputError(f"tips '{tips}' are none of hub, path, ring")
    sketch = Sketch(f"star of {branches} branches")
    middle = _start(sketch, floating)
    last = []
    for k in range(branches):
        outwards = turn("z", 2 * np.pi * k / branches)
        last.append(sketch.chain(f"branch{k}_", middle, outwards, links, "y", -np.pi / links)[-1])
    pairs = [(0 if tips == "hub" else k - 1, k) for k in range(1, branches)]
    if tips == "ring" and branches > 2:
        pairs.append((branches - 1, 0))
    for a, b in pairs:
        sketch.weld(f"tips{a}_{b}", last[a], last[b])
    return sketch.finish()


# lqr --------------------------------------------------------------------------------------------------


@converted
def held_chain(links: int) -> Mechanism:
    """A chain on the world whose last link is held there too, by 6 rows (**lqr** Fig. 4a: 6 to 100 revolute joints).

    Args:
        links: Number of links.
    """
    at_least(links, 1, "links")
    sketch = Sketch(f"held chain of {links}")
    bodies = sketch.chain("link", WORLD, turn("y", -np.pi / 2), links, "y", np.pi / links)
    sketch.weld("hand", WORLD, bodies[-1])
    return sketch.finish()


@converted
def ladder(rungs: int, links: int = 7, segment: int = 3) -> Mechanism:
    """Rungs of seven links on a stile with three links from rung to rung; their far ends are held (**lqr** Fig. 4b).

    Rows grow with links: 6 for each rung. The paper does not say on what the ladder stands: here its stile starts on
    the world, three links below the first rung, so that there are ``10 rungs`` links.

    Args:
        rungs: Number of rungs.
        links: Links of each rung.
        segment: Links of the stile from rung to rung.
    """
    at_least(rungs, 1, "rungs")
    at_least(min(links, segment), 1, "links and segment")
    sketch = Sketch(f"ladder of {rungs} rungs")
    parent, start = WORLD, turn("y", -np.pi / 2)
    for k in range(rungs):
        parent = sketch.chain(f"stile{k}_", parent, start, segment)[-1]
        start = END
        rung = sketch.chain(f"rung{k}_", parent, END * turn("y", np.pi / 2), links)
        sketch.weld(f"rung{k}", WORLD, rung[-1])
    return sketch.finish()


@converted
def stalk(stem: int, branches: int, links: int = 7, floating: bool = True) -> Mechanism:
    """A long stem with ``branches`` chains of seven links at both ends, every tip held by 6 rows (**lqr** Fig. 2e).

    It has ``stem + 14 branches`` links: 194 for a stem of 54 with 10 branches. The first link of the stem floats, or
    else turns on the world.

    Args:
        stem: Links of the stem.
        branches: Chains at each end of it.
        links: Links of each chain.
        floating: Whether the first link floats; else it turns on the world.
    """
    at_least(stem, 1, "stem")
    at_least(branches, 0, "branches")
    at_least(links, 1, "links")
    sketch = Sketch(f"stalk of {stem} with {branches} branches")
    root = _start(sketch, floating)
    bodies = [root, *sketch.chain("stem", root, END, stem - 1)]
    for side, body, outwards in (("root", root, turn("z", np.pi)), ("top", bodies[-1], END)):
        for k in range(branches):
            around = outwards * turn("x", 2 * np.pi * k / branches) * turn("z", 0.5)
            chain = sketch.chain(f"{side}{k}_", body, around, links)
            sketch.weld(f"{side}{k}", WORLD, chain[-1])
    return sketch.finish()


def _start(sketch: Sketch, floating: bool) -> str:
    """The first link, in the air."""
    if floating:
        sketch.free("base", Placement.rpy(0.2, -0.1, 0.3, position=(0.1, 0.2, 0.5)))
    else:
        sketch.hinged("base", WORLD, Placement((0.1, 0.2, 0.5)))
    return "base"
