# SPDX-License-Identifier: BSD-3-Clause
"""Docstrings and types of the public surface: parameters are listed, and words that have a few values say which."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Unpack, get_args, get_origin, get_type_hints

import pytest

import linkwork as lw
from linkwork import inputs as literals
from linkwork.dynamics import forward, inverse, operational
from linkwork.dynamics import impact as impulse
from linkwork.dynamics.delassus import batches
from linkwork.export import writing
from linkwork.model import parameters as robot_parameters
from linkwork.quantities import evaluator
from linkwork.simulation import stepper

FOUND = (
    lw.results.Solution,
    lw.contact.ContactSolution,
    lw.results.HybridSolution,
    lw.results.InverseSolution,
    lw.results.Impact,
    lw.results.DelassusOperator,
    lw.results.DampedInverse,
    lw.results.KKTFactor,
    lw.results.Energy,
    lw.export.CProgram,
    lw.export.CasadiProgram,
)
"""What functions give back: nobody makes these."""


def surface() -> Iterator[tuple[str, Any, type | None]]:
    """Public functions, classes and their methods by name, with the class that each belongs to."""
    for package in (lw, *(thing for name in lw.__all__ if inspect.ismodule(thing := getattr(lw, name)))):
        for name in package.__all__:
            thing = getattr(package, name)
            if inspect.isclass(thing):
                if "__init__" in vars(thing) and not issubclass(thing, FOUND):
                    yield name, thing, thing
                for member, value in vars(thing).items():
                    function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
                    if inspect.isfunction(function) and (not member.startswith("_") or member == "__call__"):
                        yield f"{name}.{member}", function, thing
            elif inspect.isfunction(thing):
                yield name, thing, None


SURFACE = {name: (thing, owner) for name, thing, owner in surface()}


def listed(docstring: str | None) -> dict[str, str]:
    """What the section ``Args:`` of a docstring says, by parameter."""
    _, _, section = inspect.cleandoc(docstring or "").partition("\nArgs:\n")
    section = section.split("\n\n")[0]
    items = re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", section, re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in items}


def explained_fields(kind: type) -> set[str]:
    """Fields of a dataclass with a docstring of their own."""
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0].body  # type: ignore[attr-defined]
    return {
        first.target.id
        for first, then in pairwise(body)
        if isinstance(first, ast.AnnAssign) and isinstance(first.target, ast.Name) and isinstance(then, ast.Expr)
    }


def known_parameters(name: str) -> set[str]:
    """Parameters that the docstring of a public name lists; a class may leave them to its bases and fields."""
    thing, _ = SURFACE[name]
    if not inspect.isclass(thing):
        return set(listed(thing.__doc__))
    own = [kind for kind in thing.__mro__ if kind.__module__.startswith("linkwork")]
    said = set().union(*(listed(kind.__doc__) for kind in own))
    return said | (set().union(*map(explained_fields, own)) if dataclasses.is_dataclass(thing) else set())


def parameters(thing: Any) -> set[str]:
    """Names of parameters; keywords of ``**options`` one by one, unless the docstring lists ``options``."""
    names = set(inspect.signature(thing).parameters) - {"self", "cls"}
    function = thing.__init__ if inspect.isclass(thing) else thing
    if "options" in names and "options" not in listed(thing.__doc__):
        hint = get_type_hints(function).get("options")
        if get_origin(hint) is Unpack:
            names = names - {"options"} | set(get_args(hint)[0].__annotations__)
    return names


@pytest.mark.parametrize("name", SURFACE)
def test_docstrings_list_all_parameters(name: str) -> None:
    thing, _ = SURFACE[name]
    missing = parameters(thing) - known_parameters(name)
    assert not missing, f"{name}: say in a section Args: what {', '.join(sorted(missing))} mean"


@pytest.mark.parametrize("name", SURFACE)
def test_docstrings_list_no_parameter_that_is_not_there(name: str) -> None:
    thing, _ = SURFACE[name]
    assert set(listed(thing.__doc__)) <= parameters(thing)


def test_a_parameter_that_is_not_listed_is_found() -> None:
    text = "Does it.\n\n    Args:\n        q: Where,\n            and when.\n        v: How fast.\n    "
    assert listed(text) == {"q": "Where, and when.", "v": "How fast."}
    assert listed("Does it.") == {}


# Words ---------------------------------------------------------------------------------------------------------

WORDS: Mapping[str, tuple[Any, Mapping[str, Any]]] = {
    "ForwardMethod": (literals.ForwardMethod, forward.METHODS),
    "ParameterName": (literals.ParameterName, robot_parameters.PARAMETERS),
    "InverseMethod": (literals.InverseMethod, inverse.METHODS),
    "ImpactMethod": (literals.ImpactMethod, impulse.METHODS),
    "DelassusMethod": (literals.DelassusMethod, batches.METHODS),
    "InertiaMethod": (literals.InertiaMethod, operational.METHODS),
    "Quantity": (literals.Quantity, evaluator.QUANTITIES),
    "Reference": (literals.Reference, evaluator.REFERENCES),
    "Integrator": (literals.Integrator, stepper.INTEGRATORS),
    "SimulationIntegrator": (literals.SimulationIntegrator, ("auto", *stepper.INTEGRATORS, "radau")),
    "Precision": (literals.Precision, writing.NUMBERS),
}


@pytest.mark.parametrize("name", WORDS)
def test_types_list_the_words_that_are_taken(name: str) -> None:
    words, table = WORDS[name]
    assert get_args(words) == tuple(table)


TAKEN: tuple[tuple[Callable[..., Any], str, Any], ...] = (
    (lw.ForwardDynamics.__init__, "method", forward.METHODS),
    (lw.InverseDynamics.__init__, "method", inverse.METHODS),
    (lw.ImpactDynamics.__init__, "method", impulse.METHODS),
    (lw.Delassus.__init__, "method", batches.METHODS),
    (lw.OperationalInertia.__init__, "method", operational.METHODS),
    (lw.Evaluator.__init__, "quantity", evaluator.QUANTITIES),
    (lw.Evaluator.__init__, "reference", evaluator.REFERENCES),
    (lw.frame_velocity, "reference", evaluator.REFERENCES),
    (lw.frame_acceleration, "reference", evaluator.REFERENCES),
    (lw.frame_jacobian, "reference", evaluator.REFERENCES),
    (lw.Stepper.__init__, "integrator", stepper.INTEGRATORS),
    (lw.simulate, "integrator", (*stepper.INTEGRATORS, "radau")),
    (lw.simulate, "method", forward.METHODS),
    (lw.rollouts, "integrator", stepper.INTEGRATORS),
    (lw.export.export_c, "dtype", writing.NUMBERS),
)


@pytest.mark.parametrize("function, name, table", TAKEN, ids=lambda x: getattr(x, "__qualname__", None))
def test_public_parameters_say_their_words(function: Callable[..., Any], name: str, table: Mapping[str, Any]) -> None:
    hint = get_type_hints(function)[name]
    words = {word for part in (hint, *get_args(hint)) for word in get_args(part) if isinstance(word, str)}
    assert set(table) <= words


def test_what_a_function_gives_can_be_given_to_another() -> None:
    """Types of results are the words as well: checkers accept ``ForwardDynamics(robot, best_method(robot))``."""
    assert get_type_hints(lw.methods.best_method)["return"] == literals.ForwardMethod
    assert get_args(get_type_hints(lw.methods.methods_for)["return"])[0] == literals.ForwardMethod
    assert get_args(get_type_hints(lw.methods.method_costs)["return"])[0] == literals.ForwardMethod
