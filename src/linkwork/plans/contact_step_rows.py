# SPDX-License-Identifier: BSD-3-Clause
"""The rows of a step with contacts for solvers on an explicit matrix: contacts, boxes, loops, coupling.

Two rows are coupled where some joint moves bodies, or joints, of both.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from linkwork.model.model import Model
from linkwork.plans.contact_lcaba import CONTACT_LCABA_TREE, contact_lcaba_tree
from linkwork.plans.contact_rows import DENSE_CONTACTS, dense_contacts
from linkwork.plans.tree import Tree

_OWN = [name for name in DENSE_CONTACTS.sizes if name not in CONTACT_LCABA_TREE.sizes]
CONTACT_ROWS_TREE = CONTACT_LCABA_TREE.extended(
    "contact_rows", tuple(_OWN), DENSE_CONTACTS.integers, DENSE_CONTACTS.floats
)
"""A mechanism with its constraints and contacts, and the rows of the matrix of all of them."""


def contact_admm_tree(
    model: Model, frames: Sequence[str] = (), limits: bool = True, joint_friction: bool = True
) -> Tree:
    """The arrays of a mechanism with its contacts, and room in the result for ADMM's numbers of each row."""
    tree = contact_lcaba_tree(model, frames, limits, joint_friction)
    return tree._replace(nresult=tree.nresult + 3 * tree.nslots + tree.nboxes)


def contact_rows_tree(
    model: Model, frames: Sequence[str] = (), limits: bool = True, joint_friction: bool = True
) -> Tree:
    """The arrays of a mechanism with its contacts, limits and dry friction of joints, and the rows of all of them."""
    tree = contact_lcaba_tree(model, frames, limits, joint_friction)
    rows = dense_contacts(_coupled(tree), 3 * np.arange(tree.nslots))
    return CONTACT_ROWS_TREE.build(tree, **{name: getattr(rows, name) for name in (*_OWN, *DENSE_CONTACTS.shapes)})


def _coupled(tree: Tree) -> npt.NDArray[np.bool_]:
    """Which rows are coupled, ``(rows, rows)``."""
    moved = np.zeros((tree.n, tree.n), dtype=bool)  # by which bodies' joints a body is moved
    for i in range(1, tree.n):
        moved[i] = moved[tree.parent[i]]
        moved[i, i] = True
    joint_of = np.zeros(tree.nv, dtype=np.int64)
    for i in range(1, tree.n):
        end = tree.iv[i + 1] if i + 1 < tree.n else tree.nv
        joint_of[tree.iv[i] : end] = i
    slots, boxes, loops = int(tree.nslots), int(tree.nboxes), int(tree.nc)
    support = np.zeros((3 * slots + boxes + loops, tree.n), dtype=bool)
    for s in range(slots):
        c = tree.slot_contact[s]
        support[3 * s : 3 * s + 3] = moved[tree.contact_body_first[c]] | moved[tree.contact_body_second[c]]
    for b in range(boxes):
        support[3 * slots + b, joint_of[tree.box_v[b]]] = True
    support[3 * slots + boxes :] = True  # loops: of whatever they tie, all of it
    coupled: npt.NDArray[np.bool_] = (support.astype(np.int64) @ support.T) > 0
    return coupled
