# SPDX-License-Identifier: BSD-3-Clause
"""Contact problems of arrays for the solver of reduced steps: sets of rows, and one dense block of velocities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.plans.contact_reduced import PROBLEM_SIZES
from linkwork.plans.layout import Layout
from linkwork.plans.limbs import LIMB_INTEGERS, LIMB_SIZES

SET_LAYOUT = Layout(
    "contact_sets",
    ("n", "nv", *LIMB_SIZES, *PROBLEM_SIZES),
    {
        **LIMB_INTEGERS,
        "set_kind": ("nsets",),  # as in `kernels.contact.reduced.problem`
        "set_dim": ("nsets",),
        "set_row": ("nsets",),
    },
    {},
)
"""Rows of a contact problem, and the velocities that they depend on: all of them."""


class RowSet(NamedTuple):
    """Rows with one condition."""

    kind: int
    dim: int


def contact_sets(sets: Sequence[RowSet], nv: int) -> Any:
    """The arrays of a contact problem.

    Args:
        sets: Kinds and dimensions of its sets of rows, in their order.
        nv: The number of velocities.
    """
    dims = np.array([s.dim for s in sets], dtype=np.int64)
    return SET_LAYOUT.build(
        n=1,
        nv=nv,
        nlimbs=1,
        ndiagonal=nv * nv,
        nstatic=0,
        nblocks=0,
        limb_v=[0],
        limb_size=[nv],
        limb_parent=[-1],
        limb_diagonal=[0],
        limb_reach=[nv],
        limb_block=[0],
        body_limb=[-1],
        dof_limb=np.zeros(nv, dtype=np.int64),
        nsets=len(sets),
        nrows=int(dims.sum()),
        nsides=len(sets),
        nwidth=nv,
        nedges=1,
        nside_pairs=1,
        nlinks=1,
        set_kind=[s.kind for s in sets],
        set_dim=dims,
        set_row=np.cumsum(dims) - dims,
    )
