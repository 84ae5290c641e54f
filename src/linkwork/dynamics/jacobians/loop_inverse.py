# SPDX-License-Identifier: BSD-3-Clause
"""Jacobians of inverse dynamics that honors loops, or springs of tendons: columns by the tangent of its own program.

Torques of the independent, or of the actuated, joints follow from those of the spanning tree by the explicit form of
the constraints, which depends on the configuration: all of it is differentiated, dependent accelerations included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from linkwork.compilers.program import Backend
from linkwork.dynamics.jacobians.trees import InverseDerivatives, InverseJacobians
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.quantities.arguments import Array
from linkwork.quantities.base import BaseEvaluator
from linkwork.quantities.counts import OperationCount
from linkwork.quantities.jacobian_columns import (
    column_blocks,
    columns_evaluator,
    columns_product,
    one_more_axis,
    unit_directions,
)
from linkwork.quantities.products import Product

if TYPE_CHECKING:
    from linkwork.dynamics.inverse import InverseDynamics


class LoopInverseDerivatives(BaseEvaluator):
    """Jacobians of inverse dynamics of a robot with loops, or with springs on tendons: ``id.derivatives(q, v, a)``.

    See `InverseJacobians`.

    Of ``a`` the accelerations of independent joints count: columns of the others are zero. Along directions that open
    loops, derivatives are those of the method's own formulas, as the products are.

    Args:
        function: Inverse dynamics by a method that honors constraints.
    """

    def __init__(self, function: InverseDynamics) -> None:
        if function.program.algorithm.iterate is not None:
            raise UnsupportedFeature(
                "inverse dynamics with contacts chooses forces within cones of friction, by iterations: it has no "
                "derivatives; those of a step with contacts are exact (lw.contact.ContactStep)"
            )
        self.function = function
        super().__init__(**columns_evaluator(function))

    def _adapted(self, backend: Backend) -> Backend:
        return backend.straight_line

    @property
    def columns(self) -> Product:
        """Products with the Jacobian, on the backend of this evaluator."""
        return self.keep("columns", lambda: columns_product(self.function).on(self.execution.backend))

    def operation_count(self) -> OperationCount:
        """Of one column, of which there are as many as inputs have numbers."""
        return self.columns.operation_count()

    def __call__(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        a: npt.ArrayLike,
        wrenches: npt.ArrayLike | None = None,
        *,
        out: Sequence[Array] | Array | None = None,
        **parameters: npt.ArrayLike,
    ) -> InverseJacobians:
        """Derivatives of torques, and these. Leading axes are batch axes and broadcast.

        Args:
            q: Configuration, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
            a: Joint accelerations, ``(..., nv)``.
            wrenches: External wrenches on the frames that were named, ``(..., frames, 6)``; by default none.
            out: Arrays to write ``dtau_dq, dtau_dv, dtau_da, tau`` to, or one for ``dtau_dq``; by default new ones.
            parameters: Parameters of the robot that are inputs, by name, ``(..., rows)``; by default the robot's own.
        """
        nv, inputs = self.robot.nv, cast(dict[str, Any], parameters)
        tau = self.function(q, v, a, wrenches, **inputs)
        ranks = {name: len(shape) for name, shape in self.function.parameter_inputs.shapes.items()}
        further: dict[str, Any] = {name: one_more_axis(x, ranks[name]) for name, x in inputs.items()}
        if wrenches is not None:
            further["wrenches"] = one_more_axis(wrenches, 2)
        sizes = {"q": nv, "v": nv, "a": nv}
        units = {name: x.astype(self.dtype) for name, x in unit_directions(sizes).items()}
        state = [one_more_axis(x) for x in (q, v, a)]
        rates = self.columns(*state, *units.values(), **further)
        derivatives = [*column_blocks(rates, sizes), tau]
        if out is None:
            return InverseJacobians(*map(np.ascontiguousarray, derivatives))
        arrays: list[Array] = list(out) if isinstance(out, tuple | list) else [cast(Array, out)]
        if len(arrays) not in (1, len(derivatives)):
            names = ", ".join(InverseJacobians._fields)
            raise InputError(f"out is an array for dtau_dq, or one for each of {names}; found {len(arrays)} arrays")
        for k, array in enumerate(arrays):
            array[...] = derivatives[k]
            derivatives[k] = array
        return InverseJacobians(*derivatives)

    def bind(self, *inputs: Array, out: Sequence[Array] | Array, **parameters: Array) -> Callable[[], None]:
        """A call without arguments that reads these arrays as they then are and writes ``out``.

        Args:
            inputs: Arrays as for a call.
            out: Arrays that every call writes.
            parameters: Parameters of the robot that are inputs, by name.
        """

        def run() -> None:
            self(*inputs, out=out, **parameters)

        return run


def inverse_derivatives(inverse: Any) -> InverseDerivatives | LoopInverseDerivatives:
    """The evaluator of the Jacobians of an `InverseDynamics`.

    Args:
        inverse: Inverse dynamics by any method.
    """
    if inverse.method != "rnea" or inverse.program.tree.nforce_elements:
        return LoopInverseDerivatives(inverse)
    return InverseDerivatives(
        inverse.robot, passive=inverse.passive, wrenches=inverse.frames, parameters=inverse.parameter_inputs
    )
