# SPDX-License-Identifier: BSD-3-Clause
"""`Parameter`: the record of a parameter of robots (`parameters` has all of them)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.errors import InputError
from linkwork.model.arrays import Floats
from linkwork.model.model import Model


def _as_check(x: Any, name: str) -> None:
    """Stands for `Parameter.check`."""


@dataclass(frozen=True, eq=False)
class Parameter:
    """A parameter of robots."""

    of: str
    """Kind of parts that it has a row for."""
    shape: tuple[int, ...]
    """The shape of one row."""
    rows: Callable[[Model], Sequence[str]]
    """Names of the items, one for each row."""
    own: Callable[[Model], Any]
    """A robot's own values."""
    changes: Callable[[Model, Floats], dict[str, Any]]
    """Fields of a model in which the parameter has other values."""
    check: Callable[[Any, str], object] | None = None
    """Raises where values have no meaning, given also their name."""
    quick: Callable[[Any, str], object] | None = _as_check
    """Checks of calls; by default all."""
    most: Callable[[Model], Sequence[float]] | None = None
    """The largest value of each row; None: there is none."""

    def __post_init__(self) -> None:
        if self.quick is _as_check:
            object.__setattr__(self, "quick", self.check)


def check_above_zero(x: Any, name: str) -> None:
    """Raise unless all numbers are above zero.

    Args:
        x: The numbers.
        name: Their name in errors.
    """
    if not (np.asarray(x) > 0).all():
        raise InputError(f"{name} must be > 0; the least is {np.min(x):g}")
