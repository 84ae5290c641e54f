# SPDX-License-Identifier: BSD-3-Clause
"""The plan of steps in time with contacts, beside that of one step (`contact_lcaba`): actuators, and their states.

Steps start from the forces of the step before. These come in with the settings of the solver, in one array, as do
contact points of pairs without kernel code; sums over all steps are at the end of the result.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy.typing as npt

from linkwork.model.model import Model
from linkwork.plans.actuation import actuated_layout, with_actuators
from linkwork.plans.contact_lcaba import CONTACT_CONSTANTS, CONTACT_LCABA_TREE, contact_lcaba_tree
from linkwork.plans.implicit_damping import ImplicitDamping, with_armature
from linkwork.plans.tree import Tree

TOTALS = 5
"""Numbers at the end of the result: energy lost by friction and by impacts of contacts, and by limits and dry friction
of joints; the largest residual; steps whose iterations did not reach the tolerance."""

CONTACT_STEPS_TREE = actuated_layout(
    CONTACT_LCABA_TREE.extended(
        "contact_steps",
        (
            "nheld",  # settings of the solver, forces to start from, contact points that are given
            "nfurther",  # the most iterations of a step after the first
            "nkept",  # a result and a state
        ),
        {},
        {},
    )
)
"""A mechanism with its contacts and actuators, for steps in time."""


CONTACT_PROGRAM_TREE = CONTACT_STEPS_TREE.extended(
    "contact_program",
    (),
    {},
    {
        **CONTACT_CONSTANTS,
        "joint_passive": ("nv", 7),  # passive parameters of joints, as `kernels.steps.stage_dynamics` has them
    },
)
"""The layout for a program of one step, in which parameters of steps are constants."""


def contact_program_tree(tree: Tree, settings: npt.ArrayLike, passive: npt.ArrayLike) -> Tree:
    """The arrays of a program of one step with these parameters.

    Args:
        tree: Arrays for steps with contacts.
        settings: Settings of the solver.
        passive: Passive parameters of joints.
    """
    return CONTACT_PROGRAM_TREE.build(tree, solver_settings=settings, joint_passive=passive)


def contact_steps_tree(
    model: Model,
    frames: Sequence[str],
    limited: Collection[str],
    iterations: int,
    stopped: Collection[int] = (),
    implicit: ImplicitDamping | None = None,
) -> Tree:
    """The arrays of a mechanism with its contacts and actuators, for steps of so many iterations at most.

    Args:
        model: The mechanism.
        frames: Frames that external wrenches act on.
        limited: Joints whose limits hold exactly.
        iterations: Of a step.
        stopped: Degrees of freedom whose limits are springs and dampers.
        implicit: Which dampers of actuators and tendons are implicit.
    """
    tree = with_armature(contact_lcaba_tree(model, frames, limited), stopped)
    return with_actuators(
        model,
        tree,
        CONTACT_STEPS_TREE,
        implicit,
        nresult=tree.nresult + TOTALS,
        nheld=tree.nsettings + tree.nstart + 7 * tree.ngiven,
        nfurther=max(iterations - 1, 0),
        nkept=tree.nresult + model.nq + model.nv,
    )
