# SPDX-License-Identifier: BSD-3-Clause
"""Contact forces of inverse dynamics: which generalized forces they have to balance, and torques that are chosen too.

An actuated degree of freedom that is independent supplies whatever its own row needs: the row is left out, and its
torque follows in the end. What is left are the rows of unactuated degrees of freedom (six of a humanoid), which contact
forces have to *balance*. A torque is *chosen* together with contact forces, and all rows of its cluster are balanced,
where actuators of a cluster drive dependent joints, so that many torques do the same; and where it is limited.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from linkwork.model.model import Model
from linkwork.plans.actuated import ACTUATED_TREE, actuated_tree
from linkwork.plans.clusters import DependentCoordinates
from linkwork.plans.contacts import CONTACT_FLOATS, CONTACT_INTEGERS, CONTACT_SIZES, contact_tables
from linkwork.plans.layout import ragged
from linkwork.plans.tree import Tree, build_tree

SETTINGS = 8
"""Numbers of the input ``settings`` before the limits of chosen torques."""
HEAD = 7
"""Numbers at the head of the last output: see `kernels.contact.forces`."""

CONTACT_FORCES_TREE = ACTUATED_TREE.extended(
    "contact_forces",
    sizes=(*CONTACT_SIZES, "nbalanced", "ndriven", "nchosen", "nentries", "nbalance_settings", "nprogress"),
    integers={
        **CONTACT_INTEGERS,
        "balanced_dof": ("nbalanced",),  # independent degrees of freedom whose rows are balanced
        "driven_dof": ("ndriven",),  # those whose torques follow
        "chosen_dof": ("nchosen",),  # degrees of freedom whose torques are chosen, and their columns:
        "chosen_start": ("nchosen",),  # rows (by degree of freedom) that they act on, first and count
        "chosen_count": ("nchosen",),
        "chosen_row": ("nentries",),
    },
    floats=CONTACT_FLOATS,
)
"""A mechanism with its constraints, by clusters, its contacts, and rows that contact forces balance."""


def contact_forces_tree(
    mechanism: Model,
    frames: Sequence[str],
    dependent: DependentCoordinates,
    actuated: Set[int],
    limited: Set[int],
) -> Tree:
    """The arrays of a mechanism by clusters, with its contacts; torques of ``limited`` degrees of freedom are chosen
    with contact forces."""
    tree = actuated_tree(mechanism, frames, dependent, actuated)
    _, bodies = build_tree(mechanism)
    balanced: list[int] = []
    driven: list[int] = []
    chosen: dict[int, list[int]] = {}
    for c in range(tree.nclusters):
        free = tree.ind_dof[tree.ind_start[c] : tree.ind_start[c] + tree.ind_count[c]].tolist()
        at = slice(tree.actuated_start[c], tree.actuated_start[c] + tree.actuated_count[c])
        motors = tree.actuated_dof[at].tolist()
        redundant = not set(motors) <= set(free)
        for k in motors:
            if redundant or k in limited:
                chosen[k] = [k] if k in free else free
        for k in free:
            (driven if k in motors and k not in chosen else balanced).append(k)
    entries = ragged(chosen.values())
    return CONTACT_FORCES_TREE.build(
        tree,
        nbalance_settings=SETTINGS + 2 * len(chosen),
        nprogress=HEAD + 2 * tree.nv + len(chosen),
        balanced_dof=balanced,
        driven_dof=driven,
        chosen_dof=list(chosen),
        chosen_start=entries.start,
        chosen_count=entries.count,
        chosen_row=entries.entries,
        **contact_tables(mechanism, bodies),
    )
