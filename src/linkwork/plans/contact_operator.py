# SPDX-License-Identifier: BSD-3-Clause
"""Rows of a Delassus operator as those of a contact problem: which are contacts, which stand alone."""

from __future__ import annotations

import numpy.typing as npt

from linkwork.model.model import Model
from linkwork.plans.contact_rows import ROW_INTEGERS, ROW_SIZES, row_tables
from linkwork.plans.delassus import DAMPED_TREE, damped_tree
from linkwork.plans.tree import Tree

CONTACT_OPERATOR_TREE = DAMPED_TREE.extended("contact_operator", ("nrows", *ROW_SIZES), ROW_INTEGERS, {})
"""A mechanism whose constraints are rows of a contact problem, with the order of elimination of springs on them."""


def contact_operator_tree(model: Model, slot_rows: npt.ArrayLike, moving: bool) -> Tree:
    """The arrays of a mechanism whose constraints are rows of a contact problem.

    Args:
        model: The mechanism.
        slot_rows: The first row of each contact.
        moving: Whether frames of points are put elsewhere later, and turned.
    """
    return CONTACT_OPERATOR_TREE.build(damped_tree(model, moving), nrows=model.nc, **row_tables(model.nc, slot_rows))
