# SPDX-License-Identifier: BSD-3-Clause
"""Inputs of users: words as types; arrays and numbers, checked."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from numbers import Integral, Real
from textwrap import shorten
from types import MappingProxyType
from typing import Any, Literal, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from linkwork.errors import InputError, LinkworkError, UnknownOption
from linkwork.names import close_names

P = ParamSpec("P")
T = TypeVar("T")


# Words that parameters take: editors complete them, and type checkers find those that are misspelled. Each lists the
# keys of a table that says what they mean (tests/docs/test_docstrings.py compares them).

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
]
"""Methods of forward dynamics: `dynamics.methods.METHODS`."""

SimulationMethod = ForwardMethod | Literal["auto", "minimal"]
"""Methods of `simulate`: those of forward dynamics, or minimal coordinates."""
StepMethod = Literal["auto", "minimal"]
"""Of compiled steps: forward dynamics of all joints, or minimal coordinates."""

InverseMethod = Literal["rnea", "cluster", "actuated", "least", "approximate"]
"""Methods of inverse dynamics: `dynamics.inverse.METHODS`."""

ImpactMethod = Literal["prox_bbo", "lcaba"]
"""Methods of impact dynamics: `dynamics.impact.METHODS`."""

DelassusMethod = Literal[
    "matrix_free", "ltl", "prox_ltl", "pv_osim", "pv_osimr", "pv_osim_fast", "kjr", "efpa", "cluster_efpa"
]
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
    "element_forces",
    "element_states",
]
"""Quantities of an `Evaluator`: `quantities.evaluator.QUANTITIES`."""

Reference = Literal["local", "aligned", "world"]
"""Axes of vectors at frames: `quantities.evaluator.REFERENCES`."""

Precision = Literal["float64", "float32"]
"""Numbers that machine code computes with."""

BackendName = Literal["plain", "native", "specialized", "cuda"]
"""Backends of programs: the Python code itself, machine code for every robot, machine code for one, those on a GPU."""

DeviceCode = Literal["specialized", "native"]
"""Machine code on a GPU: for one robot, or for every robot."""

DeviceName = Literal["cpu", "cuda"]
"""Where programs run."""

Lanes = Literal["auto", 1, 2, 4, 8, 16]
"""States that share one SIMD register."""

Integrator = Literal["euler", "rk4", "dopri5"]
"""Integrators of steps: `simulation.INTEGRATORS`."""

SimulationIntegrator = Literal["auto", "euler", "rk4", "dopri5", "radau"]
"""Integrators of `simulate`; ``"auto"`` chooses one of them for the robot."""

PageIntegrator = Literal["auto", "euler", "rk4"]
"""Integrators of live pages; ``"auto"`` is the choice of `simulate` among them."""

ContactSolver = Literal["newton", "admm", "pgs"]
"""Solvers of steps with contacts: `contact.step.SOLVERS`."""

JointProperty = Literal["limits", "damping", "friction"]
"""Properties that joints may lose where `Mechanism.optimized` cuts them: `mechanism.connections.PROPERTIES`."""

ContactStiffness = Literal["hard", "soft"]
"""Rigid contacts, or compliant ones as in MuJoCo."""

ContactLaw = bool | Literal["soft"] | None
"""Whether contact pairs touch, and whether they are soft; None: as the robot has them."""

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
    "time",
    "joint_position",
    "anchor_position",
    "length",
    "gains",
    "actuator_gain",
    "actuator_bias",
    "motor_stall",
    "motor_no_load",
    "motor_friction",
    "motor_stribeck",
    "motor_integral",
    "motor_delay",
    "motor_backlash",
    "motor_network",
    "contact_friction",
    "contact_size",
    "mocap",
]
"""Parameters of robots that can be inputs: `model.parameters.PARAMETERS`."""

TimeConstant = float | Literal["auto"] | None
"""Seconds in which open loops close again; None: they do not."""


LARGEST = 2**53
"""Whole numbers beyond it are taken for mistakes: floats do not represent them exactly."""

INNER = frozenset({"linkwork", "functools"})
"""Modules whose frames a warning does not point to: this package, and properties that are computed once."""

# Arrays and numbers ---------------------------------------------------------------------------------


REPLACED = {"lagrange": "ltl"}
"""Words that are no longer taken, and those that mean the same."""


def suggest(name: str, known: Iterable[str]) -> str:
    """The end of a message: the name that the user may have meant."""
    known = list(known)
    replacement = REPLACED.get(str(name))
    if replacement in known:
        return f"; use '{replacement}', which is the same method"
    close = close_names(str(name), known)
    return f"; did you mean {', '.join(repr(c) for c in close)}?" if close else ""


def among(name: Any, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the name that the user may have meant, or all names."""
    names = list(known)
    return suggest(name, names) or f"; there are {', '.join(names)}"


def plural(count: int, one: str, many: str | None = None) -> str:
    """A count with its noun: ``1 joint``, ``2 joints``."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def at_most_three(names: Sequence[str]) -> str:
    """The first three of some names, and how many more there are.

    Args:
        names: The names.
    """
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def were_given(count: int) -> str:
    """``1 argument was given``, ``2 arguments were given``."""
    return f"{plural(count, 'argument was', 'arguments were')} given"


def advised(x: float) -> str:
    """A number that a message advises to stay below, rounded down to two digits."""
    unit = 10.0 ** (math.floor(math.log10(x)) - 1)
    return f"{math.floor(x / unit * (1 + 1e-9)) * unit:.2g}"


def outer_level() -> int:
    """The ``stacklevel`` at which a warning points to the first caller outside of this package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in INNER:
        frame, level = frame.f_back, level + 1
    return level


def named_options(
    *further: type, renamed: Mapping[str, str] = MappingProxyType({})
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Let calls with a keyword that a function does not take raise `UnknownOption`, which lists the known ones.

    ``further`` are typed dictionaries of keywords that it takes besides its parameters, ``renamed`` are new names of
    keywords by the names that these had before.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        parameters = inspect.signature(function).parameters.values()
        known = [p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD) and p.name != "self"]
        known += [name for options in further for name in options.__annotations__]
        called = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]

        @wraps(function)
        def call(*arguments: P.args, **options: P.kwargs) -> T:
            for name in options:
                if name in renamed:
                    raise UnknownOption(f"{called} has no option '{name}': it is '{renamed[name]}' now")
                if name not in known:
                    near = suggest(name, known) or f"; it has {', '.join(dict.fromkeys(known))}"
                    raise UnknownOption(f"{called} has no option '{name}'{near}")
            return function(*arguments, **options)

        return call

    return decorate


def each_name(names: Iterable[Any], called: str) -> tuple[str, ...]:
    """Names that a method was given one by one; an `InputError` for anything else, such as one list of them."""
    listed = tuple(names)
    for name in listed:
        if not isinstance(name, str):
            example = f": {called}(*names)" if isinstance(name, list | tuple | set) else ""
            raise InputError(f"{called} takes names, not {name!r}{example}")
    return listed


def items(x: Any, name: str, needed: str) -> tuple[Any, ...]:
    """The items of ``x``; an `InputError` where it is not iterable."""
    try:
        return tuple(x)
    except Exception:  # an object of someone else's
        raise InputError(f"{name} is {shown(x)}, needs {needed}") from None


def batch_shape(size: Any) -> tuple[int, ...]:
    """The shape of a batch, from a whole number or several."""
    needed = "a whole number >= 0, or several"
    lead = (size,) if isinstance(size, Integral) else items(size, "size", needed)
    if not all(isinstance(n, Integral) and 0 <= int(n) <= LARGEST for n in lead):
        raise InputError(f"size is {shown(size)}, needs {needed}")
    return tuple(int(n) for n in lead)


def random_generator(seed: Any) -> np.random.Generator:
    """Random numbers from a seed, or the generator that was given."""
    whole = isinstance(seed, Integral) and not isinstance(seed, bool | np.bool_) and int(seed) >= 0
    if not whole and not isinstance(seed, np.random.Generator):
        raise InputError(f"seed is {shown(seed)}, needs a whole number >= 0, or a random generator")
    return np.random.default_rng(seed)


def shown(x: object) -> str:
    """``x`` as messages show it: in one line, and not at length."""
    try:
        words = " ".join(repr(x).split())
    except Exception:  # an object of someone else's
        words = f"<{type(x).__name__}>"
    return words if len(words) <= 80 else words[:77] + "..."


def real_array(x: Any, name: str, error: type[LinkworkError] = InputError) -> npt.NDArray[Any]:
    """``x`` as an array of real numbers of whatever type: the one conversion that all arguments go through.

    Args:
        x: Anything that NumPy makes an array of.
        name: Of the argument, for the error.
        error: Its type.
    """
    if type(x) is np.ndarray and x.dtype.kind in "fiu":
        return x
    if getattr(x, "requires_grad", False) is True:
        raise error(f"{name} requires gradients, which arrays do not keep: pass {name}.detach(), or use linkwork.torch")
    try:
        array = np.asarray(x)
        if array.dtype.kind == "O" and array.size and all(isinstance(y, Real) for y in array.flat):
            array = array.astype(np.float64)  # such as fractions, or whole numbers beyond 64 bits
    except Exception as reason:  # objects of other libraries raise whatever they like
        raise error(f"{name} is {shown(x)}, needs numbers ({shorten(str(reason), 160)})") from None
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        raise error(f"{name} has masked numbers")
    if array.dtype.kind not in "fiu":
        raise error(
            f"{name} has dtype {array.dtype}, needs real numbers"
            if array.ndim
            else f"{name} is {shown(x)}, needs numbers"
        )
    return array


def truths(x: Any, name: str) -> npt.NDArray[Any]:
    """``x`` as an array, as a mask is: of True and False, or an `InputError`."""
    try:
        array = np.asarray(x)
    except Exception as reason:  # objects of other libraries raise whatever they like
        raise InputError(f"{name} is {shown(x)}, needs True and False ({shorten(str(reason), 160)})") from None
    if array.dtype != np.bool_:
        raise InputError(f"{name} has shape {array.shape} of {array.dtype}, needs True and False")
    return array


def float_array(x: Any, name: str, error: type[LinkworkError] = InputError) -> npt.NDArray[np.float64]:
    """``x`` as an array of doubles, a new one unless it is one already."""
    array = real_array(x, name, error)
    if array.dtype == np.float64:
        return array
    with np.errstate(over="ignore"):  # of long doubles: infinity, which is an error by that name
        return array.astype(np.float64)


def finite_floats(x: Any, name: str, error: type[LinkworkError] = InputError) -> npt.NDArray[np.float64]:
    """``x`` as an array of doubles, none of which is NaN or infinity."""
    array = float_array(x, name, error)
    if not np.isfinite(array).all():
        raise error(f"{name} holds NaN or infinity")
    return array


def rows_of(x: Any, name: str, shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """``x`` as finite doubles, ``(..., *shape)``."""
    array = finite_floats(x, name)
    if array.ndim < len(shape) or array.shape[array.ndim - len(shape) :] != shape:
        raise InputError(f"{name} has shape {array.shape}, needs (..., {', '.join(map(str, shape))})")
    return array


def real_number(x: Any, name: str, error: type[LinkworkError] = InputError) -> float:
    """``x`` as one number."""
    if type(x) is float:
        return x
    if isinstance(x, str | bytes | bool | np.bool_):
        raise error(f"{name} is {shown(x)}, needs a number")
    array = float_array(x, name, error)
    if array.ndim:
        raise error(f"{name} has shape {array.shape}, needs one number")
    return float(array)


def above_zero(x: Any, name: str) -> float:
    """``x`` as a number above zero."""
    value = real_number(x, name)
    if not 0 < value < np.inf:
        raise InputError(f"{name} is {shown(x)}, needs a number above zero")
    return value


def count(x: Any, name: str) -> int:
    """``x`` as a whole number above zero."""
    if isinstance(x, bool | np.bool_) or not isinstance(x, Integral) or not 1 <= int(x) <= LARGEST:
        raise InputError(f"{name} is {shown(x)}, needs a whole number above zero")
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


def fresh_floats(x: npt.ArrayLike, name: str) -> npt.NDArray[np.float64]:
    """A new array of doubles. (Arrays that have been pickled have a type of their own that is merely equal.)"""
    array = real_array(x, name)
    copy = np.empty(array.shape)
    with np.errstate(over="ignore"):
        copy[...] = array
    return copy
