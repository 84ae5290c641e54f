# SPDX-License-Identifier: BSD-3-Clause
"""How coefficients of friction act on a step with contacts: by its forces and velocities at the solution.

The equation of a contact (`kernels.contact.equation`) is ``F(z, w) = 0`` with ``f = T z``, ``T = diag(mu, mu, 1)`` and
``w = T y + (0, 0, |T y_t|)``; nothing else of it depends on ``mu``. So a change ``dmu`` acts as changes

    f_t dmu / mu    of the force at the same z            y_t dmu / mu    of y

of which `contact_sensitivity` has the effect. Dry friction of a joint, ``|f| <= h``, is ``f = h z`` in the same way.
Where a coefficient is zero, forces have one side alone: derivatives by it are taken to be zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linkwork.plans.contact_lcaba import HEAD
from linkwork.plans.tree import Tree
from linkwork.quantities.arguments import Array

FRICTION = ("contact_friction", "friction")
"""Parameters that act in this way."""


class FrictionRates:
    """Changes of forces and of ``y`` that changes of friction are worth, and gradients by friction.

    Args:
        tree: Arrays of the robot, with the places of its parameters.
        dt: Time of a step.
        names: Those of `FRICTION` that are inputs.
    """

    def __init__(self, tree: Tree, dt: float, names: tuple[str, ...]) -> None:
        ns, start = int(tree.nslots), HEAD + int(tree.nv)
        self.dt, self.names, self.nslots = dt, names, ns
        boxes = start + 7 * ns + int(tree.nc)
        self._slot = self._pair = self._box = np.zeros(0, np.int64)
        if "contact_friction" in names:
            self._slot, self._pair = np.asarray(tree.contact_friction_slot), np.asarray(tree.contact_friction_place)
        if "friction" in names:
            self._box = boxes + np.asarray(tree.friction_place)
        self._force = start + 3 * self._slot[:, None] + np.arange(2)
        self._velocity = self._force + 3 * ns

    def forward(
        self, result: Array, directions: Mapping[str, Any], values: Mapping[str, Any]
    ) -> tuple[Array, Array | float]:
        """Rates of the result's forces, and of ``y``.

        Args:
            result: The result of the step.
            directions: Of parameters, by name.
            values: Of all parameters, by name.
        """
        contact, joint = (self._relative(name, directions, values) for name in FRICTION)
        lead = np.broadcast_shapes(result.shape[:-1], *(np.shape(x)[:-1] for x in (contact, joint) if x is not None))
        rates, y = np.zeros((*lead, result.shape[-1])), np.zeros((*lead, self.nslots, 3))
        if contact is not None:
            each = contact[..., self._pair, None]
            rates[..., self._force] = each * result[..., self._force]
            y[..., self._slot, :2] = each * result[..., self._velocity] / self.dt
        if joint is not None:
            rates[..., self._box] = joint * result[..., self._box]
        return rates, y

    def reverse(self, result: Array, of_result: Array, of_y: Array, values: Mapping[str, Any]) -> dict[str, Array]:
        """Gradients by friction, by name, of gradients by the result and seeds of ``y``.

        Args:
            result: The result of the step.
            of_result: Gradient by its forces.
            of_y: Seeds of ``y``.
            values: Of all parameters, by name.
        """
        found: dict[str, Array] = {}
        if "contact_friction" in self.names:
            mu = np.asarray(values["contact_friction"], float)
            acts = (of_result[..., self._force] * result[..., self._force]).sum(axis=-1)
            acts = acts + (of_y[..., self._slot, :2] * result[..., self._velocity]).sum(axis=-1) / self.dt
            of_pairs = np.eye(mu.shape[-1])[self._pair]  # points of a pair have one coefficient
            found["contact_friction"] = _divided(acts @ of_pairs, mu)
        if "friction" in self.names:
            acts = of_result[..., self._box] * result[..., self._box]
            found["friction"] = _divided(acts, np.asarray(values["friction"], float))
        return found

    def _relative(self, name: str, directions: Mapping[str, Any], values: Mapping[str, Any]) -> Array | None:
        """``dmu / mu``."""
        if name not in self.names or directions.get(name) is None:
            return None
        return _divided(np.asarray(directions[name], float), np.asarray(values[name], float))


def _divided(x: Array, by: Array) -> Array:
    """A quotient; zero where the divisor is."""
    found: Array = np.where(by > 0, x / np.where(by > 0, by, 1.0), 0.0)
    return found
