# SPDX-License-Identifier: BSD-3-Clause
"""Controllers that are kernel code: compiled with the steps, so that a run never returns to Python to be controlled.

A `Controller` is a kernel with its parameters; `Stepper.controlled` makes steps under it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.compilers.checks import check
from linkwork.compilers.lanes import Type
from linkwork.compilers.language.values import Source, source_of
from linkwork.compilers.program import Program
from linkwork.conversions import converted, texts
from linkwork.errors import InputError
from linkwork.inputs import fresh_floats
from linkwork.kernels.steps.control import Control, Slot, controller_torques, torque_kernel
from linkwork.model.model import Model
from linkwork.plans.tree import TREE, tree_of
from linkwork.quantities.arguments import Array

ARGUMENTS = ("time", "q", "v")
"""Arguments that every controller reads."""


class Controller:
    """A kernel that computes torques, with its parameters: ``Controller(pd, gains=[20.0, 2.0], target=q)``.

    The kernel is ``def pd(time, q, v, gains, target, tau)``, decorated with `kernel`: it sees the time in seconds and
    the state, ``q: (nq,)`` and ``v: (nv,)``, then its parameters in any order, floats or arrays, and writes torques of
    all joints, ``tau: (nv,)``. Torques that it does not write are zero. With ``tree`` before ``time`` it also sees
    sizes, as in ``for k in range(tree.nv)``.

    `simulate` and `rollouts` compile it with their steps. Values of parameters can change without compiling; their
    shapes belong to the code.

    Frozen: parameters are copied. Raises `KernelError`, with file and line, where the code is outside the language.

    Args:
        text: The kernel.
        per_robot: Names of parameters that have one more axis, which comes first: `rollouts` gives each robot a row.
        parameters: Values of the kernel's parameters, by name.
    """

    text: Callable[..., None]
    """The kernel."""
    parameters: Mapping[str, Array]
    """Values by name, in the order of the kernel's arguments; read-only."""
    per_robot: tuple[str, ...]
    """Parameters whose first axis is that of the batch."""
    control: Control
    """The kernel and the slots of its parameters, on which code depends."""

    __slots__ = ("control", "parameters", "per_robot", "text")

    def __init__(
        self, text: Callable[..., None], /, *, per_robot: str | Sequence[str] = (), **parameters: npt.ArrayLike
    ) -> None:
        names = _parameter_names(text)
        called = f"kernel '{text.__name__}'"
        own = (per_robot,) if isinstance(per_robot, str) else texts(per_robot, "per_robot")
        for argument, what in ((parameters, "parameter"), (own, "per_robot")):
            unknown = [name for name in argument if name not in names]
            if unknown:
                has = f"its parameters are {', '.join(names)}" if names else "it has none"
                raise InputError(f"{called} has no {what} '{unknown[0]}': {has}")
        missing = [name for name in names if name not in parameters]
        if missing:
            raise InputError(f"{called} needs parameter '{missing[0]}': Controller({text.__name__}, {missing[0]}=...)")
        values = {name: _value(parameters[name], name, name in own) for name in names}
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "parameters", MappingProxyType(values))
        object.__setattr__(self, "per_robot", own)
        object.__setattr__(self, "control", _control_of(text, values, own))
        _verify(text, tuple(self._shape(name) for name in names))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Controller is frozen: make another one with {name}=...")

    def __reduce__(self) -> Any:
        return _from_parameters, (self.text, dict(self.parameters), self.per_robot)

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name} {self._shape(name)}" for name in self.parameters)
        own = f", per robot: {', '.join(self.per_robot)}" if self.per_robot else ""
        return f"<Controller {self.text.__name__}({shapes}){own}>"

    def _shape(self, name: str) -> tuple[int, ...]:
        """Of a parameter as the kernel sees it."""
        return self.parameters[name].shape[name in self.per_robot :]

    def with_parameters(self, **changes: npt.ArrayLike) -> Controller:
        """A copy with other values for some parameters.

        Args:
            changes: New values by name.
        """
        return Controller(self.text, per_robot=self.per_robot, **{**self.parameters, **changes})

    def part(self, rows: slice) -> Controller:
        """The controller of some robots of a batch.

        Args:
            rows: Which robots.
        """
        if not self.per_robot:
            return self
        cut = {name: self.parameters[name][rows] for name in self.per_robot}
        return self.with_parameters(**cut)

    @converted
    def of_robot(self, index: int) -> Controller:
        """The controller of one robot of a batch.

        Args:
            index: Which robot.
        """
        own = {name: self.parameters[name][index] for name in self.per_robot}
        return Controller(self.text, **{**self.parameters, **own})

    @converted
    def check(self, robot: Model, robots: int | None = None) -> None:
        """Refuse parameters for another number of robots (None: for one robot), and a kernel that leaves its arrays.

        Args:
            robot: The mechanism.
            robots: Number of robots in the batch; None: one, and no batch.
        """
        for name in self.per_robot:
            rows = len(self.parameters[name])
            if robots is None:
                raise InputError(f"parameter '{name}' is per robot: that is for rollouts; use controller.of_robot(k)")
            if rows != robots:
                raise InputError(f"parameter '{name}' has {rows} rows, needs {robots}: one for each robot")
        _check_text(self.control, robot)

    def packed(self) -> tuple[Array, Array]:
        """Parameters as the steps take them: those that are shared ``(k,)``, and own ones ``(m,)`` or ``(n, m)``."""
        shared = [x.ravel() for name, x in self.parameters.items() if name not in self.per_robot]
        own = [self.parameters[name] for name in self.parameters if name in self.per_robot]
        own = [x.reshape(len(x), math.prod(x.shape[1:])) for x in own]
        nothing = np.zeros(0)
        return (
            fresh_floats(np.concatenate([nothing, *shared]), "parameters"),
            fresh_floats(np.concatenate(own, axis=1), "parameters") if own else nothing,
        )

    def plain(self, robot: Model) -> Callable[[float, Array, Array], Array]:
        """The kernel called as Python: ``function(time, q, v)`` gives torques.

        Args:
            robot: The mechanism.
        """
        self.check(robot)
        torques, tree, parameters = torque_kernel(self.control), tree_of(robot), self.packed()

        def function(time: float, q: Array, v: Array) -> Array:
            tau = np.empty(robot.nv)
            with np.errstate(all="ignore"):
                torques(tree, float(time), q, v, *parameters, tau)
            return tau

        return function


def as_controller(given: Any) -> Controller | None:
    """A `Controller` if that or a kernel is given; None for other functions."""
    if isinstance(given, Controller):
        return given
    return Controller(given) if getattr(given, "__kernel__", False) else None


def _from_parameters(text: Callable[..., None], parameters: dict[str, Array], per_robot: tuple[str, ...]) -> Controller:
    return Controller(text, per_robot=per_robot, **parameters)


def _source(text: Any) -> Source:
    if not getattr(text, "__kernel__", False):
        name = getattr(text, "__name__", type(text).__name__)
        raise InputError(f"{name} is not a kernel: decorate a function def {name}(time, q, v, ..., tau) with lw.kernel")
    return source_of(text)


def _takes_tree(text: Callable[..., None]) -> bool:
    return _source(text).tree.args.args[0].arg == "tree"


def _parameter_names(text: Callable[..., None]) -> list[str]:
    source = _source(text)
    names = [argument.arg for argument in source.tree.args.args]
    inner = names[1:] if names[:1] == ["tree"] else names
    if tuple(inner[:3]) != ARGUMENTS or inner[-1:] != ["tau"]:
        raise source.error(
            source.tree,
            f"a controller takes time, q, v, its parameters, tau (optionally tree first); "
            f"'{source.tree.name}' takes {', '.join(names) or 'nothing'}",
        )
    return inner[3:-1]


@lru_cache(maxsize=64)
def _verify(text: Callable[..., None], shapes: tuple[tuple[int, ...], ...]) -> None:
    """Raise a `KernelError` unless the code, with parameters of these shapes, is in the language of kernels."""
    from linkwork.compilers.language.lowering import Unit
    from linkwork.compilers.language.values import (
        STATE,
        Fixed,
        Float,
        array_type,
        tables,
    )  # not needed for other controllers

    tree, _ = tables(TREE, {})
    unit = Unit(Type("float64", 1), tree, len(tree.sizes) + len(tree.arrays))
    state = [array_type(STATE, (size,), writable=False) for size in ("nq", "nv")]
    types = [array_type(STATE, shape, writable=False) if shape else Float for shape in shapes]
    kinds = [Float, *state, *types, array_type(STATE, ("nv",), tag="tau")]
    lowered = unit.root(text, [Fixed(tree), *kinds] if _takes_tree(text) else kinds)
    if lowered.result is not None:
        source = source_of(text)
        raise source.error(source.tree, "a controller returns nothing: torques are written into tau")


def _value(given: npt.ArrayLike, name: str, own: bool) -> Array:
    value = fresh_floats(given, f"parameter '{name}'")
    if not np.isfinite(value).all():
        raise InputError(f"parameter '{name}' is not finite")
    if own and value.ndim == 0:
        raise InputError(f"parameter '{name}' is per robot, and a single number: needs a first axis, one row a robot")
    value.flags.writeable = False
    return value


def _control_of(text: Callable[..., None], values: Mapping[str, Array], own: Sequence[str]) -> Control:
    """The code with the slots of its parameters."""
    slots, sizes = list[Slot](), [0, 0]
    for name, value in values.items():
        which = int(name in own)
        shape = value.shape[which:]
        slots.append((which, sizes[which], shape))
        sizes[which] += math.prod(shape)
    return Control(text, _takes_tree(text), tuple(slots), sizes[0], sizes[1])


@lru_cache(maxsize=64)
def _check_text(control: Control, robot: Model) -> None:
    """Run a controller once with checks."""
    check(Program.of_robot(robot, controller_torques(control, TREE), tree_of(robot)))
