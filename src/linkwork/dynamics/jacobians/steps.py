# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of the state after a step in time by the state before it and by its inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from linkwork.errors import InputError
from linkwork.quantities.arguments import Array
from linkwork.quantities.jacobian_columns import column_blocks


@dataclass(frozen=True, eq=False)
class StepDerivatives:
    """Derivatives of the state after a step, in tangent spaces. Leading axes are those of the batch."""

    q1: Array
    """Configuration after the step, ``(..., nq)``."""
    v1: Array
    """Joint velocities after it, ``(..., nv)``."""
    dq1_dq: Array
    """``(..., nv, nv)``, as all of the following: derivative of ``q1`` by ``q``, both in their tangent spaces."""
    dq1_dv: Array
    dq1_dtau: Array
    dv1_dq: Array
    dv1_dv: Array
    dv1_dtau: Array
    dq1_dcommands: Array | None = None
    """``(..., nv, actuators)``; None where there are no actuators."""
    dv1_dcommands: Array | None = None

    @property
    def A(self) -> Array:
        """Of the state after the step by that before it, ``(..., 2 nv, 2 nv)``: ``dx1 = A dx + B dtau``."""
        return np.concatenate(
            [
                np.concatenate([self.dq1_dq, self.dq1_dv], axis=-1),
                np.concatenate([self.dv1_dq, self.dv1_dv], axis=-1),
            ],
            axis=-2,
        )

    @property
    def B(self) -> Array:
        """Of the state after the step by joint torques, ``(..., 2 nv, nv)``."""
        return np.concatenate([self.dq1_dtau, self.dv1_dtau], axis=-2)

    @property
    def B_commands(self) -> Array:
        """Of the state after the step by commands of the actuators, ``(..., 2 nv, actuators)``."""
        if self.dq1_dcommands is None or self.dv1_dcommands is None:
            raise InputError("the robot has no actuators: there are no commands to differentiate by")
        return np.concatenate([self.dq1_dcommands, self.dv1_dcommands], axis=-2)


def state_columns(rates: Sequence[Array], sizes: Mapping[str, int]) -> dict[str, Array]:
    """Blocks of `StepDerivatives` from rates ``(..., all numbers, nv)`` of q1 and v1 along `unit_directions`.

    Args:
        rates: Of q1 and of v1.
        sizes: Numbers of each array, by name.
    """
    chosen = {}
    for name, columns in zip(("q1", "v1"), rates, strict=True):
        for block, part in zip(sizes, column_blocks(columns, sizes), strict=True):
            chosen[f"d{name}_d{block}"] = part
    return chosen
