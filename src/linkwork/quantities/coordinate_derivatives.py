# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives in coordinates of a configuration, from those in its tangent space and back.

Frameworks know arrays, not manifolds: to them a derivative by ``q`` has as many numbers as ``q`` (``nq``), where ours
have as many as ``v`` (``nv``). With ``T(q)`` the rates of coordinates of a tangent vector, and ``V(q)`` the tangent
vector of rates (`kernels.tree.tangent_space`)::

    direction   d (nq)  ->  V d            a rate of a result   x (nv)  ->  T x
    gradient    y (nv)  ->  V' y           a seed of a result   s (nq)  ->  T' s

``V' y`` is the gradient of the function extended to all of coordinates by normalizing quaternions and directions first:
``(V' y)' T d = y' d`` for every tangent vector ``d``, and it is zero along changes of length.
"""

from __future__ import annotations

from typing import Any, Self

from linkwork.compilers.program import Program
from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.tree.tangent_space import (
    COORDINATE_GRADIENTS,
    COORDINATE_RATES,
    TANGENT_GRADIENTS,
    VELOCITIES_OF_RATES,
)
from linkwork.model.model import Model
from linkwork.plans.tree import tree_of
from linkwork.quantities.base import BaseEvaluator
from linkwork.quantities.differentiable import Differentiated
from linkwork.quantities.product_attributes import differentiable


@differentiable
class CoordinateMap(BaseEvaluator):
    """A linear map at a configuration, whose coordinates are plain numbers to derivatives.

    Args:
        robot: The mechanism.
        algorithm: The map.
    """

    def __init__(self, robot: Model, algorithm: Algorithm) -> None:
        def program() -> Program:
            return Program.of_robot(robot, algorithm, tree_of(robot))

        super().__init__(robot, algorithm.name, program, {"robot": robot, "algorithm": algorithm})

    @property
    def differentiated(self) -> Differentiated:
        """Both inputs, as plain numbers."""
        algorithm = self.program.algorithm
        results = {name: (name, slice(None)) for name in algorithm.outputs}
        return Differentiated(tuple(algorithm.inputs), (), results, curved=())


class CoordinateDerivatives:
    """Derivatives in coordinates of the configurations of one robot: calls are ``(q, vector)``, with batch axes.

    Args:
        robot: The mechanism.
    """

    def __init__(self, robot: Model) -> None:
        self.direction = CoordinateMap(robot, VELOCITIES_OF_RATES)
        """``V d``: the tangent vector of a direction in coordinates."""
        self.rate = CoordinateMap(robot, COORDINATE_RATES)
        """``T x``: rates of coordinates of a tangent vector."""
        self.gradient = CoordinateMap(robot, COORDINATE_GRADIENTS)
        """``V' y``: the gradient by coordinates of one in the tangent space."""
        self.seed = CoordinateMap(robot, TANGENT_GRADIENTS)
        """``T' s``: the gradient in the tangent space of one by coordinates."""

    def on(self, convert: Any) -> Self:
        """A copy with evaluators made by ``convert``, as on another device.

        Args:
            convert: Makes an evaluator of each of these.
        """
        clone = object.__new__(type(self))
        for name, evaluator in vars(self).items():
            setattr(clone, name, convert(evaluator))
        return clone


def is_curved(robot: Model) -> bool:
    """Whether coordinates and tangent vectors of a robot differ: it has quaternions or directions.

    Args:
        robot: The mechanism.
    """
    return robot.nq != robot.nv
