# SPDX-License-Identifier: BSD-3-Clause
"""What users pass: the words that parameters take, as types; arrays and numbers, checked."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from numbers import Integral, Real
from typing import Any, Literal, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from linkwork.errors import InputError, UnknownOption

P = ParamSpec("P")
T = TypeVar("T")


# Words that parameters take: editors complete them, and type checkers find those that are misspelled. Each lists the
# keys of a table that says what they mean (tests/test_docstrings.py compares them).

Auto = Literal["auto"]
"""Whatever fits best."""

ForwardMethod = Literal[
    "aba",
    "kkt",
    "ltl",
    "prox_ltl",
    "pv",
    "prox_pv",
    "prox_bbo",
    "pv_early",
    "pv_soft",
    "constrained_aba",
    "lcaba",
    "cluster_lcaba",
    "cluster",
    "projection",
    "approximate",
    "lagrange",
]
"""Methods of forward dynamics: `dynamics.methods.METHODS`."""

SimulationMethod = ForwardMethod | Literal["auto", "minimal"]
"""The same for `simulate`, or minimal coordinates."""
StepMethod = Literal["auto", "minimal"]
"""Of compiled steps: forward dynamics of all joints, or minimal coordinates."""

InverseMethod = Literal["rnea", "cluster", "actuated", "least", "approximate"]
"""Methods of inverse dynamics: `dynamics.inverse.METHODS`."""

ImpactMethod = Literal["prox_bbo", "lcaba"]
"""Methods of impact dynamics: `dynamics.impact.METHODS`."""

DelassusMethod = Literal["matrix_free", "ltl", "prox_ltl", "pv_osim", "pv_osim_fast", "kjr", "efpa", "cluster_efpa"]
"""Ways to `Delassus` operators, without the matrix or with it: `dynamics.delassus.METHODS`."""

InertiaMethod = Literal["efpa", "projection", "approximate"]
"""Methods of `OperationalInertia`: `dynamics.operational.METHODS`."""

Quantity = Literal[
    "forward_dynamics",
    "inverse_dynamics",
    "mass_matrix",
    "inverse_mass_product",
    "inverse_mass_matrix",
    "bias_forces",
    "coriolis_matrix",
    "passive_forces",
    "gravity_forces",
    "frame_placement",
    "frame_velocity",
    "frame_acceleration",
    "frame_jacobian",
    "frame_jacobian_rate",
    "point_position",
    "point_velocity",
    "point_acceleration",
    "point_jacobian",
    "point_jacobian_rate",
    "center_of_mass",
    "center_of_mass_jacobian",
    "center_of_mass_jacobian_rate",
    "centroidal_momentum",
    "centroidal_momentum_matrix",
    "centroidal_momentum_matrix_rate",
    "energy",
    "terms",
    "integrate",
    "difference",
    "interpolate",
    "distance",
    "constraint_error",
    "constraint_jacobian",
    "constraint_bias",
    "constraint_target",
    "constraint_derivatives",
    "constraint_error_jacobian",
    "actuator_torques",
    "activations",
    "gravity_compensation",
    "tendon_length",
    "tendon_velocity",
    "tendon_jacobian",
    "tendon_forces",
]
"""What an `Evaluator` can compute: `quantities.evaluator.QUANTITIES`."""

Reference = Literal["local", "aligned", "world"]
"""Axes of vectors at frames: `quantities.evaluator.REFERENCES`."""

Precision = Literal["float64", "float32"]
"""Numbers that machine code computes with."""

BackendName = Literal["plain", "native", "specialized", "cuda"]
"""What runs a program: the Python text itself, machine code for every robot, machine code for one, those on a GPU."""

DeviceCode = Literal["specialized", "native"]
"""Machine code on a GPU: for one robot, or for every robot."""

DeviceName = Literal["cpu", "cuda"]
"""Where programs run."""

Lanes = Literal["auto", 1, 2, 4, 8, 16]
"""States that share one SIMD register."""

Integrator = Literal["euler", "rk4", "dopri5"]
"""How steps are made: `simulation.INTEGRATORS`."""

ContactSolver = Literal["newton", "admm", "pgs"]
"""Solvers of steps with contacts: `contact.step.SOLVERS`."""

JointProperty = Literal["limits", "damping", "friction"]
"""What joints may lose where `Mechanism.optimized` lets them close loops: `mechanism.connections.PROPERTIES`."""

JointLimits = bool | Literal["soft"] | Sequence[str]
"""Whether joint limits are stops; ``"soft"``: springs, also where they could hold exactly; or names of the joints whose
limits are springs, where those of others hold exactly."""

ParameterName = Literal[
    "mass",
    "com",
    "inertia",
    "inertial_parameters",
    "armature",
    "damping",
    "stiffness",
    "rest",
    "friction",
    "gravity",
    "joint_position",
    "anchor_position",
    "length",
    "gains",
    "actuator_gain",
    "actuator_bias",
    "contact_friction",
]
"""Parameters of robots that can be inputs: `model.parameters.PARAMETERS`."""

TimeConstant = float | Literal["auto"] | None
"""Seconds in which open loops close again; None: they do not."""


# Arrays and numbers ---------------------------------------------------------------------------------


def suggest(name: str, known: Iterable[str]) -> str:
    """The end of a message that says what the user may have meant."""
    from difflib import get_close_matches  # takes a moment, and is for mistakes alone

    names = {known_name.casefold(): known_name for known_name in reversed(list(known))}
    given = str(name).casefold()
    close = [names[match] for match in get_close_matches(given, names, n=3)]
    close = close or [names[other] for other in names if given and given in other][:3]
    return f"; did you mean {', '.join(repr(c) for c in close)}?" if close else ""


def named_options(*further: type) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Let calls with a keyword that a function does not take raise `UnknownOption`, which says what there is.

    ``further`` are typed dictionaries of keywords that it takes besides its parameters.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        parameters = inspect.signature(function).parameters.values()
        known = [p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD) and p.name != "self"]
        known += [name for options in further for name in options.__annotations__]
        called = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]

        @wraps(function)
        def call(*arguments: P.args, **options: P.kwargs) -> T:
            for name in options:
                if name not in known:
                    near = suggest(name, known) or f"; it has {', '.join(dict.fromkeys(known))}"
                    raise UnknownOption(f"{called} has no option '{name}'{near}")
            return function(*arguments, **options)

        return call

    return decorate


def each_name(names: Iterable[Any], called: str) -> tuple[str, ...]:
    """Names that a method was given one by one; an `InputError` for anything else, such as one list of them."""
    given = tuple(names)
    for name in given:
        if not isinstance(name, str):
            example = f": {called}(*names)" if isinstance(name, list | tuple | set) else ""
            raise InputError(f"{called} takes names, not {name!r}{example}")
    return given


def batch_shape(size: Any) -> tuple[int, ...]:
    """The shape of a batch, from a whole number or several."""
    given = (size,) if isinstance(size, Integral) else size
    try:
        lead = tuple(int(n) if isinstance(n, Integral) else -1 for n in given)
    except TypeError:
        lead = (-1,)
    if any(n < 0 for n in lead):
        raise InputError(f"size is {size!r}, needs a whole number that is not negative, or several")
    return lead


def above_zero(x: Any, name: str) -> float:
    """``x`` as a number above zero."""
    if isinstance(x, bool | np.bool_) or not isinstance(x, Real) or not 0 < float(x) < np.inf:
        raise InputError(f"{name} is {x!r}, needs a number above zero")
    return float(x)


def count(x: Any, name: str) -> int:
    """``x`` as a whole number above zero."""
    if isinstance(x, bool | np.bool_) or not isinstance(x, Integral) or x < 1:
        raise InputError(f"{name} is {x!r}, needs a whole number above zero")
    return int(x)


def not_negative(x: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    """``x`` as an array of numbers that are zero or more."""
    array = real_array(x, name)
    wrong = np.argwhere(~(array >= 0))
    if len(wrong):
        row = f"; row {', '.join(str(k) for k in wrong[0])} is" if array.ndim else ": it is"
        raise InputError(f"{name} must be >= 0{row} {array[tuple(wrong[0])]:g}")
    return array


def on_gpu(x: Any) -> bool:
    """Whether ``x`` is an array on a GPU, of whatever library."""
    where = getattr(x, "__dlpack_device__", None)
    return hasattr(x, "__cuda_array_interface__") if where is None else int(where()[0]) == 2


def real_array(x: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    """``x`` as an array of real numbers of whatever type; `InputError` names the argument if it is none."""
    if np.ma.isMaskedArray(x) and np.ma.is_masked(x):
        raise InputError(f"{name} has masked numbers")
    try:
        array = np.asarray(x)
    except (ValueError, TypeError) as error:
        raise InputError(f"{name} is not an array of numbers: {error}") from None
    if array.dtype.kind not in "fiu":
        raise InputError(f"{name} has dtype {array.dtype}, needs real numbers")
    return array


def fresh_floats(x: npt.ArrayLike, name: str) -> npt.NDArray[np.float64]:
    """A new array of doubles. (Arrays that have been pickled have a type of their own that is merely equal.)"""
    given = real_array(x, name)
    found = np.empty(given.shape)
    found[...] = given
    return found
