# SPDX-License-Identifier: BSD-3-Clause
"""Values that are computed of a model once, on first use, and kept with it: plans, scales, evaluators.

A function marked `computed_once` is called once for a model (and for each choice of its further arguments); models that
differ in which constraints are enabled alone (`Model.switched`) share what was computed, since nothing of it depends on
that, but for what a function takes as an argument.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from linkwork.model.model import Model

P = ParamSpec("P")
T = TypeVar("T")


class Computed:
    """Results of functions of one model, by function and arguments."""

    def __init__(self) -> None:
        self.results: dict[tuple[Any, ...], Any] = {}
        self._said: set[str] = set()
        self._lock = threading.RLock()

    def result(self, function: Callable[..., T], arguments: tuple[Any, ...], compute: Callable[[], T]) -> T:
        """The result of a function, computed now if it was not before."""
        key = (function, arguments)
        with self._lock:
            if key not in self.results:
                self.results[key] = compute()
            return cast(T, self.results[key])

    def first_time(self, what: str) -> bool:
        """Whether this is the first call with ``what``: for warnings that are given once."""
        with self._lock:
            new = what not in self._said
            self._said.add(what)
        return new


def computed_once(function: Callable[Concatenate[Model, P], T]) -> Callable[Concatenate[Model, P], T]:
    """A function of a model that computes on first use and returns the same object from then on.

    Further arguments must be hashable.
    """

    @wraps(function)
    def kept(model: Model, /, *args: P.args, **kwargs: P.kwargs) -> T:
        arguments = (*args, *sorted(kwargs.items())) if kwargs else args
        kept_result: T | None = model.computed.results.get((function, arguments))
        if kept_result is not None:
            return kept_result
        return model.computed.result(function, arguments, lambda: function(model, *args, **kwargs))

    return kept
