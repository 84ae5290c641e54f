# SPDX-License-Identifier: BSD-3-Clause
"""The Delassus operator of a robot's constraints, ``D = J M^-1 J'``: accelerations of rows under unit forces on rows.

`Delassus` is made once per robot; ``at(q)`` gives an operator that SciPy's solvers take as it is. By default no matrix
is made: a product costs two sweeps over the bodies, `damped_inverse` eliminates springs once and then costs two sweeps
as well, and memory is linear in bodies and rows. Columns of a matrix are in SIMD lanes, on one factor. Explicit methods
compute the matrix. The damping ``R`` of ``(D + R)^-1`` is the inverse of the paper's, which is a stiffness.

Forces and accelerations may as well be impulses and changes of velocity: the numbers are the same. Rows are those of
the robot's enabled constraints, in their order.
"""

from __future__ import annotations

from linkwork.dynamics.delassus.batches import METHODS
from linkwork.dynamics.delassus.contacts import Contacts
from linkwork.dynamics.delassus.family import Delassus
from linkwork.dynamics.delassus.operators import DampedInverse, DelassusOperator

__all__ = ["METHODS", "Contacts", "DampedInverse", "Delassus", "DelassusOperator"]
