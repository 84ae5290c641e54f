# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of a step with contacts by coefficients of friction: from its forces and velocities at the solution.

The equation of a contact (`kernels.contact.equation`) is ``F(z, w) = 0`` with ``f = T z``, ``T = diag(mu, mu, 1)`` and
``w = T y + (0, 0, |T y_t|)``; nothing else of it depends on ``mu``. So a change ``dmu`` acts as changes

    f_t dmu / mu    of the force at the same z            y_t dmu / mu    of y

of which `contact_sensitivity` has the effect. Dry friction of a joint, ``|f| <= h``, is ``f = h z`` in the same way.
Where a coefficient is zero, forces have one side alone: derivatives by it are taken to be zero.

Functions take a module of arrays, `numpy`, `torch` or `jax.numpy`, first: they are steps of pipelines.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.plans.contact_lcaba import HEAD
from linkwork.plans.tree import Tree

FRICTION = ("contact_friction", "friction")
"""Parameters that act in this way."""


class FrictionRates:
    """Changes of forces and of ``y`` that changes of a coefficient are worth, and gradients by it.

    Args:
        tree: Arrays of the robot, with the places of its parameters.
        dt: Time of a step.
        name: The parameter, one of `FRICTION`.
        count: Number of coefficients.
    """

    def __init__(self, tree: Tree, dt: float, name: str, count: int) -> None:
        ns, start = int(tree.nslots), HEAD + int(tree.nv)
        self.velocities = slice(start + 3 * ns, start + 6 * ns)
        """Velocities of contacts in the result of a step."""
        self._of_forces, self._of_y = np.zeros((count, int(tree.nresult))), np.zeros((count, 3 * ns))
        if name == "contact_friction":  # points of a pair have one coefficient
            pairs = np.asarray(tree.contact_friction_place)[:, None]
            tangential = 3 * np.asarray(tree.contact_friction_slot)[:, None] + np.arange(2)
            self._of_forces[pairs, start + tangential] = 1.0
            self._of_y[pairs, tangential] = 1.0 / dt
        else:
            self._of_forces[np.arange(count), start + 7 * ns + int(tree.nc) + np.asarray(tree.friction_place)] = 1.0
        self._slots = ns

    def forces(self, xp: Any, result: Any, mu: Any, dmu: Any) -> Any:
        """Rates of the result's forces.

        Args:
            xp: The module of arrays.
            result: The result of the step.
            mu: The coefficients.
            dmu: Their tangents.
        """
        return (_divided(xp, dmu, mu) @ xp.asarray(self._of_forces)) * result

    def y(self, xp: Any, result: Any, mu: Any, dmu: Any) -> Any:
        """Rates of ``y``.

        Args:
            xp: The module of arrays.
            result: The result of the step.
            mu: The coefficients.
            dmu: Their tangents.
        """
        rates = (_divided(xp, dmu, mu) @ xp.asarray(self._of_y)) * result[..., self.velocities]
        return rates.reshape((*rates.shape[:-1], self._slots, 3))

    def gradient(self, xp: Any, result: Any, of_result: Any, of_y: Any, mu: Any) -> Any:
        """The gradient by the coefficients, of gradients by the result and of cotangents of ``y``.

        Args:
            xp: The module of arrays.
            result: The result of the step.
            of_result: Gradient by its forces.
            of_y: Cotangents of ``y``.
            mu: The coefficients.
        """
        flat = of_y.reshape((*of_y.shape[:-2], 3 * self._slots))
        of_forces = (of_result * result) @ xp.asarray(self._of_forces.T)
        of_velocities = (flat * result[..., self.velocities]) @ xp.asarray(self._of_y.T)
        return _divided(xp, of_forces + of_velocities, mu)


def _divided(xp: Any, x: Any, by: Any) -> Any:
    """A quotient; zero where the divisor is."""
    return xp.where(by > 0, x / xp.where(by > 0, by, 1.0), 0.0)
