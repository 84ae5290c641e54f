# SPDX-License-Identifier: BSD-3-Clause
"""Implicit dampers on several degrees of freedom in steps by the reduced matrix: limbs of their rows.

A damper ``d`` is an equality of the compliance ``1 / (h d)``: its block in the matrix is ``h d J' J``.
"""

from __future__ import annotations

from linkwork.model.model import Model
from linkwork.plans.bodies import BodyTable
from linkwork.plans.implicit_damping import ImplicitDamping, dofs_of_tendon
from linkwork.plans.layout import Integers, Shape
from linkwork.plans.tree import Tree

DAMPER_SIZES = ("ndamper_sides",)
DAMPER_INTEGERS: dict[str, Shape] = {
    "damper_side": ("ncoupled",),  # limbs that its rate depends on
    "damper_sides": ("ncoupled",),
    "damper_limb": ("ndamper_sides",),
}


def limbs_of_dampers(
    model: Model, tree: Tree, bodies: BodyTable, dof_limb: Integers, implicit: ImplicitDamping | None
) -> list[list[int]]:
    """Limbs that the rate of each damper depends on, those that are further from the root first.

    Args:
        model: The mechanism.
        tree: Its arrays.
        bodies: Its bodies.
        dof_limb: The limb of each degree of freedom.
        implicit: Which dampers there are.
    """
    limbs = list[list[int]]()
    for damper in implicit.coupled(model) if implicit is not None else ():
        if damper.tendon >= 0:
            dofs = dofs_of_tendon(model, tree, bodies, damper.tendon)
        else:
            driven = [model.v_slice(name) for name, _ in model.actuators[damper.actuator].gears]
            dofs = {k for at in driven for k in range(at.start, at.stop)}
        limbs.append(sorted({int(dof_limb[k]) for k in dofs}, reverse=True))
    return limbs
