# SPDX-License-Identifier: BSD-3-Clause
"""`Completion`: all joints from the independent ones, in a bounded time, for controllers of parallel linkages."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from linkwork.closure.clusters import clustered
from linkwork.closure.minimal import check_pivots, evaluated
from linkwork.closure.thresholds import ROUNDED
from linkwork.compilers.program import Program
from linkwork.conversions import converted
from linkwork.errors import AssemblyError, UnsupportedFeature
from linkwork.inputs import count
from linkwork.kernels.clusters.completion import COMPLETION, ERROR, PIVOT
from linkwork.model.checks import check_robot
from linkwork.model.model import Model
from linkwork.quantities.arguments import Array
from linkwork.quantities.base import BaseEvaluator
from linkwork.quantities.differentiable import Differentiated
from linkwork.quantities.product_attributes import differentiable


class Completed(NamedTuple):
    """A configuration with closed loops, and how its joints follow the independent ones."""

    q: Array
    """Configuration, ``(..., nq)``."""
    G: Array
    """All joint velocities as a linear map of the free ones, ``(..., nv, ny)``; torques on these are ``G' tau``."""


@differentiable
class Completion(BaseEvaluator):
    """All joints from the independent ones: ``completion(q).q``, ``completion(q).G``, as `Minimal` gives them.

    Newton's method on the dependent joints, a fixed number of steps from ``q``: the independent joints where they are,
    the others near where they will be, as in the control step before. Each step squares the error. It takes the same
    time in every call, and can be bound, compiled and exported.

    Args:
        robot: The mechanism.
        max_iterations: Steps of Newton's method.
        threads: Threads that share a large batch; by default as many as there are cores.
    """

    @converted
    def __init__(self, robot: Model, *, max_iterations: int = 5, threads: int | None = None) -> None:
        check_robot(robot)
        self._most = count(max_iterations, "max_iterations")

        def program() -> Program:
            return Program.of_robot(robot, COMPLETION, clustered(robot, ()))

        arguments = {"robot": robot, "max_iterations": self._most}
        super().__init__(robot, "completion", program, arguments, (), threads)

    def held_inputs(self, dtype: np.dtype[Any]) -> dict[str, Array]:
        """Inputs that calls leave out: a tolerance that no error is below, and the number of steps plus one.

        Args:
            dtype: Type of the numbers.
        """
        return {"settings": np.array([-1.0, self._most + 1.0], dtype=dtype)}

    @property
    def differentiated(self) -> Differentiated:
        """Empty: the derivative of a closed configuration is ``G``."""
        raise UnsupportedFeature(
            "a completion has no derivatives of its own: velocities of all joints are v = G y, with its G"
        )

    def __call__(self, q: npt.ArrayLike) -> Completed:
        """The configuration near ``q`` with closed loops, its independent joints as they are, and ``G`` there.

        Args:
            q: Configuration, ``(..., nq)``; leading axes are batch axes.
        """
        closed, G, _ = evaluated(self, (q,), None, self._verify)
        return Completed(closed, G)

    def _verify(self, completion: Array) -> None:
        """An error where loops stay open, or the independent joints do not determine the others."""
        check_pivots(self.robot, completion[..., PIVOT])
        worst = float(np.max(completion[..., ERROR], initial=0.0))
        if not worst <= max(ROUNDED, 16 * float(np.sqrt(np.finfo(self.dtype).eps)) * (self.dtype != np.float64)):
            raise AssemblyError(
                f"robot '{self.robot.name}': after {self._most} steps loops are open by {worst:.3g}. Start nearer to a "
                "closed configuration, or take more steps: max_iterations",
                gap=worst,
            )
