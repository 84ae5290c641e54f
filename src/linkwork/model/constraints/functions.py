# SPDX-License-Identifier: BSD-3-Clause
"""Constraints on joint coordinates by functions that users write in Python, recorded once as tapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

import numpy as np

from linkwork.conversions import converted_but
from linkwork.errors import ModelError
from linkwork.inputs import items
from linkwork.model.arrays import numbers
from linkwork.model.constraints.base import ConstraintOptions, Renaming
from linkwork.model.constraints.couplings import Coupling, Equation, Term
from linkwork.model.functions import Tape, record
from linkwork.model.profiles import curve_or_function


@converted_but("gains", "offset", "over")
@dataclass(frozen=True, eq=False)
class FunctionCoupling(Coupling):
    """A function of joint coordinates, written in Python, equals a value; each of its results is a row.

    ``FunctionCoupling(lambda crank, rod: 0.1 * np.sin(crank) + 0.4 * np.sin(rod), ["crank", "rod"])``: it may use +, -,
    *, /, powers, and NumPy's sin, cos, tan, arctan, arctan2, sqrt, exp, log, tanh, abs, sign, minimum, maximum, clip
    and interp. Its derivatives are computed by automatic differentiation.

    Args:
        function: Takes one coordinate of each joint, returns one number or several.
        over: The joints whose coordinates it takes, in its order.
        offset: The value: one number, or one for each row.
    """

    function: Callable[..., Any]
    over: Sequence[str]
    """The joints whose coordinates the function takes, in its order."""
    offset: float | Sequence[float] = 0.0

    def __post_init__(self) -> None:
        if callable(self.over):
            raise ModelError(f"{type(self).__name__} takes the function first, then the names of its joints")
        names = (
            (self.over,) if isinstance(self.over, str) else tuple(map(str, items(self.over, "over", "names of joints")))
        )
        if not names or len(set(names)) < len(names):
            raise ModelError(f"{type(self).__name__}: joints {list(names)}, needs at least one, and each once")
        self._set(over=names)
        tape = record(self._residual(), len(names))
        offset = numbers(self.offset, f"{type(self).__name__}: offset")
        if offset.ndim > 1 or (offset.ndim == 1 and offset.size != len(tape.outputs)):
            rows = len(tape.outputs)
            raise ModelError(
                f"{type(self).__name__}: offset is {self.offset!r}, needs one number for each of {rows} rows"
            )
        self._set(offset=tuple(np.broadcast_to(offset, len(tape.outputs)).tolist()))
        if not np.isfinite(self.offset).all():
            raise ModelError(f"{type(self).__name__}: offset must be finite, not {self.offset}")
        self._set(tape=tape)
        self._settle()

    tape: Tape = field(init=False, repr=False)
    """The operations of the function."""

    def equations(self) -> tuple[Equation, ...]:
        """One equation for each result; the values of its terms are computed by the tape."""
        terms = tuple(Term(name, (0.0, 0.0, 0.0, 0.0)) for name in self.over)
        values = np.atleast_1d(np.asarray(self.offset, dtype=np.float64))
        return tuple((terms, float(x)) for x in values)

    @property
    def function_takes(self) -> tuple[int, ...]:
        """Arguments of the function, see `recordings.recorded`."""
        return (1,) * len(self.over)

    def _residual(self) -> Callable[..., Any]:
        """The function of the coordinates of `over` that equals the offset."""
        return curve_or_function(self.function)

    def _renamed_fields(self, names: Renaming) -> dict[str, Any]:
        return {"over": [names.joint(name) for name in self.over]}


@converted_but("gains", "offset")
@dataclass(frozen=True, eq=False, init=False)
class Follows(FunctionCoupling):
    """One joint follows a function of others: ``q_follower = function(q_leader, ...) + offset``.

    Args:
        follower: Joint that follows.
        leaders: Joint or joints whose coordinates the function takes, in its order.
        function: Returns the follower's coordinate; see `FunctionCoupling`.
        offset: Added to the function's result.
        options: Those of `Constraint`: name, compliance, and more.
    """

    follower: str = field(kw_only=True)
    leaders: Sequence[str] = field(kw_only=True)
    over: Sequence[str] = field(init=False, repr=False)
    """The follower, then the leaders."""

    def __init__(
        self,
        follower: str,
        leaders: str | Sequence[str],
        function: Callable[..., Any],
        offset: float | Sequence[float] = 0.0,
        **options: Unpack[ConstraintOptions],
    ) -> None:
        names = (leaders,) if isinstance(leaders, str) else tuple(str(name) for name in leaders)
        self._set(follower=follower, leaders=names)
        super().__init__(function, (follower, *names), offset, **options)

    @property
    def function_takes(self) -> tuple[int, ...]:
        """Arguments of the function, see `recordings.recorded`."""
        return (1,) * len(self.leaders)

    def _residual(self) -> Callable[..., Any]:
        function = curve_or_function(self.function)
        return lambda q, *leading: q - function(*leading)

    def _renamed_fields(self, names: Renaming) -> dict[str, Any]:
        return {"follower": names.joint(self.follower), "leaders": [names.joint(name) for name in self.leaders]}
