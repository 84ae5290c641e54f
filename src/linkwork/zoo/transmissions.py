"""Chains of links with their motors' rotors: gears and belts (**clusters** Figs. 8e, 8f, 11, 13).

The paper gives counts (12 links; 2 to 24 in Fig. 11); lengths, masses and ratios are chosen here.
"""

from __future__ import annotations

import numpy as np

from linkwork.builder import Builder
from linkwork.constraints import WORLD, Belt, Gear
from linkwork.errors import InputError
from linkwork.joints import Revolute
from linkwork.mechanism import Mechanism
from linkwork.rigid import Inertia
from linkwork.zoo.places import ASSEMBLED

LENGTH = 0.3


def geared_chain(links: int = 12, ratio: float = 6.0, rotor_mass: float = 0.2) -> Mechanism:
    """A chain of links, each turned through a gear by a rotor on the link before (**clusters** Fig. 8e).

    Axes change from joint to joint. ``2 links`` velocities, one row a gear, ``links`` degrees of freedom.
    """
    return _chain(f"geared chain of {links}", links, 1, ratio, 1.0, rotor_mass)


def belt_chain(
    links: int = 12, group: int = 2, ratio: float = 6.0, belt: float = 1.0, rotor_mass: float = 0.2
) -> Mechanism:
    """A chain of links turned by parallel belts, rotors of ``group`` joints before the first (**clusters** Fig. 8f).

    The belt of the second, third, ... joint of a group passes over the joints before it, so that its rotor turns
    ``ratio (belt q1 + belt² q2 + ...)``. A group of two is the knee and ankle of the MIT Humanoid. Axes of a group are
    parallel. ``2 links`` velocities, one row a belt, ``links`` degrees of freedom.
    """
    if links % group:
        raise InputError(f"{links} links are no whole number of groups of {group}")
    return _chain(f"belt chain of {links}", links, group, ratio, belt, rotor_mass)


def _chain(name: str, links: int, group: int, ratio: float, belt: float, rotor_mass: float) -> Mechanism:
    """Links in groups; the rotors of a group turn on the link before it."""
    if links < 1 or group < 1:
        raise InputError(f"links and group are at least 1, not {links} and {group}")
    build = Builder(name)
    angles = {f"joint{k}": 0.4 * float(np.sin(1.0 + k)) for k in range(links)}
    pose = dict(angles)
    for start in range(0, links, group):
        carrier = f"link{start - 1}" if start else WORLD
        axis = "zyx"[start // group % 3]
        top = (0.0, 0.0, LENGTH) if start else (0.0, 0.0, 0.0)
        for k in range(start, start + group):
            first = k == start
            build.body(f"link{k}", Inertia.rod(1.0, (0.02, 0.0, 0.0), (0.0, 0.0, LENGTH), radius=0.04))
            parent, at = (carrier, top) if first else (f"link{k - 1}", (0.0, 0.0, LENGTH))
            build.joint(f"joint{k}", Revolute(axis), parent, f"link{k}", at, independent=True)
        for k in range(start, start + group):
            build.body(f"rotor{k}", Inertia.box(rotor_mass, (0.04, 0.05, 0.06)))
            build.joint(f"rotor{k}", Revolute(axis), carrier, f"rotor{k}", top, actuated=True, independent=False)
            over = {f"joint{j}": ratio * belt ** (j - start + 1) for j in range(start, k + 1)}
            if group == 1:
                build.constrain(Gear(f"rotor{k}", f"joint{k}", ratio, name=f"gear{k}"))
            else:
                build.constrain(Belt(f"rotor{k}", over, name=f"belt{k}"))
            pose[f"rotor{k}"] = sum(r * angles[joint] for joint, r in over.items())
    return build.pose(ASSEMBLED, pose).build()
