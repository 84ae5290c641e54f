# SPDX-License-Identifier: BSD-3-Clause
"""Contact problems on a Delassus operator, without its matrix: ADMM on the damped inverse.

`Contacts` makes operators of contacts that are data, `Delassus` those of a robot's constraints.
"""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np

from linkwork.contact.thresholds import LEAST_DIAGONAL
from linkwork.dynamics.delassus import Delassus, DelassusOperator
from linkwork.dynamics.delassus.memory import Pool, Prepared
from linkwork.dynamics.delassus.operators import MatrixFree
from linkwork.errors import InputError
from linkwork.kernels.contact.admm import NPROGRESS
from linkwork.kernels.contact.operator import OPERATOR_ADMM
from linkwork.plans.contact_operator import contact_operator_tree
from linkwork.quantities.arguments import Array

_POOLS: WeakKeyDictionary[Delassus, dict[tuple[int, ...], Pool]] = WeakKeyDictionary()
"""Work arrays by family of operators and by rows of contacts."""


def operator_contacts(operator: DelassusOperator) -> list[int]:
    """The first rows of constraints with three rows: all points that are held, which contacts are."""
    robot = operator.robot
    return [robot.row_slice(c.name).start for c in robot.constraints if c.rows == 3]


def solve_on_operator(
    operator: DelassusOperator, contacts: Sequence[int], rows: Sequence[Array], settings: Array
) -> list[Array]:
    """Impulses, multipliers, velocities and progress of `kernels.contact.operator`.

    Args:
        operator: Without a matrix.
        contacts: The first row of each contact.
        rows: Free velocity, friction, compliance, bounds and guess, as kernels take them.
        settings: Of `kernels.contact.admm`.
    """
    if not isinstance(operator, MatrixFree):
        raise InputError(f"{operator!r} has a matrix: pass operator.toarray()")
    family, key = operator._family, tuple(int(r) for r in contacts)
    pools = _POOLS.setdefault(family, {})
    if key not in pools:
        tree = contact_operator_tree(family.robot, key, moving=bool(family._moving))
        pools[key] = Pool(family.robot, OPERATOR_ADMM, tree, (OPERATOR_ADMM,), family._moving)
    prepared: Prepared = operator._fresh(pools[key])
    nc = operator.robot.nc
    outputs = [np.empty(nc), np.empty(nc), np.empty(nc), np.empty(NPROGRESS)]
    D = _inverse_inertias(operator, key, rows[2])
    prepared.call(OPERATOR_ADMM.name, operator.q, D, *rows, settings, *outputs)
    return outputs


def _inverse_inertias(operator: DelassusOperator, contacts: Sequence[int], compliance: Array) -> Array:
    """The diagonal of the operator and compliance, its mean for the three rows of a contact."""
    D = operator.diagonal() + compliance
    for r in contacts:
        D[r : r + 3] = D[r : r + 3].mean()
    least = LEAST_DIAGONAL * float(D.max()) or 1.0
    result: Array = np.maximum(D, least)
    return result
