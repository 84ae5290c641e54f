# SPDX-License-Identifier: BSD-3-Clause
"""The language of kernels: all kernels of the package are in it, what is outside is refused in words, and what it
says means what it means in Python."""

from __future__ import annotations

import importlib
import importlib.util
import math
import pkgutil
import re
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

import linkwork
from linkwork.compilers import llvm, native, warm
from linkwork.compilers.cuda.warp_text import warp_kernel
from linkwork.compilers.entry import entry_point as entry
from linkwork.compilers.lanes import Type
from linkwork.compilers.language.lowering import Unit
from linkwork.compilers.language.values import Fixed, source_of
from linkwork.compilers.trace.tracing import trace
from linkwork.errors import KernelError, UnsupportedFeature
from linkwork.kernels.algorithm import ORDER, Algorithm
from linkwork.kernels.parametrized import parametrized
from linkwork.kernels.records import Entry, view_of
from linkwork.kernels.scalar import any_below, each_lane, fma, kernel, rint, sincos, some_below, sqrt, unpack, where
from linkwork.kernels.steps.rollouts import rollout
from linkwork.kernels.tree.hybrid import with_prescribed_rows
from linkwork.model.motor_parameters import MOTOR_PARAMETERS
from linkwork.plans.layout import Layout
from tests.support.kernel_backends import HEAD, SCALAR, compiled, plain, specialized, written

TYPES = [Type(dtype, lanes) for dtype in ("float64", "float32") for lanes in (1, 4)]

SMALL = Layout(
    "small",
    sizes=("n", "m", "zero", "minus"),
    integers={"parent": ("n",), "table": ("m", 2)},
    floats={"mass": ("n",), "axis": ("n", 3)},
)
INPUTS = {"q": ("n",), "r": ("n", 3)}
OUTPUTS = {"y": ("n",)}
WORK = {"a": ("n",), "b": ("n", 3), "c": ("n", "m")}


def algorithm(text: Any) -> Algorithm:
    return Algorithm("small", text, INPUTS, OUTPUTS, WORK, SMALL)


@cache
def small() -> Any:
    """Sizes 6, 3, 0 and -7."""
    n, m = 6, 3
    rng = np.random.default_rng(1)
    return SMALL.type(
        n, m, 0, -7, np.arange(n) - 1, np.array([[3, -2], [-7, 5], [0, 1]]), rng.normal(size=n), rng.normal(size=(n, 3))
    )


# The package ---------------------------------------------------------------------------------------------------------

ALGORITHMS = warm.all_algorithms()
PARAMETRIZED = [
    parametrized(ALGORITHMS["aba"], ("inertial_parameters", "gravity", "joint_position")),
    parametrized(ALGORITHMS["lcaba"], ("mass", "com", "inertia", "anchor_position", "length", "gains")),
    parametrized(
        ALGORITHMS["euler_aba_driven"], ("armature", "damping", "stiffness", "rest", "actuator_gain", "actuator_bias")
    ),
    parametrized(ALGORITHMS["euler_aba_driven"], tuple(MOTOR_PARAMETERS)),
    parametrized(ALGORITHMS["contact_newton"], ("friction", "contact_friction", "contact_size")),
    parametrized(ALGORITHMS["lcaba"], ("mocap",)),
    parametrized(ALGORITHMS["reduced_step"], ("contact_friction", "contact_size", "mocap", "time")),
]
"""Of all parameters that can be inputs."""


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_entry_point_is_well_formed(dtype: str) -> None:
    llvm.parsed(entry.module(dtype), llvm.machine())


def is_kernel(x: Any) -> bool:
    return isinstance(x, FunctionType) and getattr(x, "__kernel__", False)


@pytest.mark.slow
def test_every_algorithm_is_well_formed_and_every_kernel_of_the_package_is_part_of_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of one, or of an entry point: a kernel that is not would never be compiled, nor tested.

    Here in single precision; `linkwork.compilers.warm`, which `make test` runs first, compiles all algorithms in double
    precision, for single states and in lanes.
    """
    kernels = set()
    for module in pkgutil.walk_packages(linkwork.__path__, "linkwork."):
        if module.name.startswith("linkwork.rl."):
            continue  # each needs a library of its own, and has no kernels
        kernels |= {x for x in vars(importlib.import_module(module.name)).values() if is_kernel(x)}
    assert len(kernels) > 200
    reached = set()
    lower = Unit.function

    def function(self: Unit, called: Any, *rest: Any) -> Any:
        reached.add(called)
        return lower(self, called, *rest)

    monkeypatch.setattr(Unit, "function", function)
    machine = llvm.machine()
    single = Type("float32", 1)
    for one in (*ALGORITHMS.values(), *PARAMETRIZED, with_prescribed_rows(ALGORITHMS["lcaba"])):
        llvm.parsed(native.module(one, single), machine)
    for name in ("pv", "lcaba", "cluster_aba", "aba_derivatives", "reduced_step", "euler_reduced_step"):
        native.module(ALGORITHMS[name], Type("float64", 2))  # lines of four numbers and orders are text in lanes alone
    warp_kernel(rollout("euler", "reduced_step"), "float64", 32)  # products of dense matrices are for warps alone
    entry.module("float64")
    if importlib.util.find_spec("jax") is not None:
        importlib.import_module("linkwork.jax.cpu_code").module("float64")
    names = {f"{function.__module__}.{function.__qualname__}" for function in kernels - reached}
    assert not names


# What is refused -----------------------------------------------------------------------------------------------------


class Refused(NamedTuple):
    """Text outside the language, and what the error says of the line that ends in ``#!``."""

    body: str
    says: str
    before: str = ""


def helper(text: str) -> str:
    return f"@kernel\n{text}\n\n\n"


SAME = helper("def same(x):\n    return x")
PAIR = "from typing import NamedTuple\n\n\nclass Pair(NamedTuple):\n    first: float\n    second: object\n\n\n"

REFUSED = {
    # Numbers of the state decide nothing
    "floats compared": Refused("k = q[0] < 1.0  #!", r"floats are not compared.*where\("),
    "a float compared with an integer": Refused("k = q[0] < 1  #!", r"floats are not compared.*where\("),
    "a float as condition": Refused("if q[0]:  #!\n    y[0] = 1.0", r"number of the state cannot decide.*where\("),
    "a compared float as condition": Refused("if q[0] > 0.0:  #!\n    y[0] = 1.0", r"not compared.*where\("),
    "a float ends a loop": Refused("while q[0] > 0.0:  #!\n    y[0] = 1.0", r"not compared.*where\("),
    "a float chooses": Refused("y[0] = q[0] if q[0] < 0.0 else 1.0  #!", r"not compared.*where\("),
    "a float in and": Refused("if tree.n > 0 and q[0]:  #!\n    y[0] = 1.0", r"cannot decide"),
    "not of a float": Refused("k = not q[0]  #!", r"cannot decide"),
    "an integer as condition": Refused("if tree.n:  #!\n    y[0] = 1.0", "an integer is not a truth value: compare it"),
    "an array as condition": Refused("if q:  #!\n    y[0] = 1.0", "is not a truth value: compare it"),
    "a tuple as condition": Refused("if (1.0, 2.0):  #!\n    y[0] = 1.0", "is not a truth value: compare it"),
    # Arithmetic
    "a power": Refused("y[0] = q[0] ** 2  #!", "Pow is not part.*write products out"),
    "a power in place": Refused("y[0] = q[0]\ny[0] **= 2.0  #!", "Pow is not part.*write products out"),
    "a constant integer times a float": Refused("y[0] = 2 * q[0]  #!", r"2 is an integer.*write 2\.0"),
    "an integer plus a float": Refused("y[0] = q[0] + tree.n  #!", r"integers and floats do not mix.*float\(k\)"),
    "an integer into an array of floats": Refused("y[0] = tree.n  #!", r"float\(k\)"),
    "a constant integer into an array of floats": Refused("y[0] = 0  #!", r"write 0\.0"),
    "a quotient of integers": Refused("y[0] = float(tree.n / 2)  #!", r"/ of integers: use //"),
    "whole quotients of floats": Refused("y[0] = q[0] // 2.0  #!", "// and % are for integers"),
    "remainders of floats": Refused("y[0] = q[0] % 2.0  #!", "// and % are for integers"),
    "division by a constant zero": Refused("k = tree.n // 0  #!", "division by zero"),
    "a folded division by zero": Refused("y[0] = 1.0 / 0.0  #!", "division by zero"),
    "a matrix product": Refused("y[0] = q @ q  #!", "MatMult is not part"),
    "bits": Refused("k = tree.n & 1  #!", r"BitAnd is not part.*\+ - \* / // %"),
    "shifts": Refused("k = tree.n << 1  #!", "LShift is not part"),
    "complement": Refused("k = ~tree.n  #!", "Invert is not part"),
    "a plus sign": Refused("y[0] = +q[0]  #!", "UAdd is not part"),
    "a negative array": Refused("y[0] = -q  #!", "an array of state with 1 axis"),
    "a sum of arrays": Refused("y[0] = q + q  #!", "an array of state"),
    "a sum of tuples": Refused("t = (1.0, q[0]) + (2.0,)  #!", "a tuple of 2 where"),
    "a truth value in a sum": Refused("y[0] = q[0] + (tree.n > 0)  #!", "a truth value where a float is needed"),
    "a complex number": Refused("y[0] = 1j * q[0]  #!", "the constant 1j"),
    "text in a sum": Refused("y[0] = q[0] + 'one'  #!", "the constant 'one'"),
    "an integer of more than 64 bits": Refused("k = tree.n + 9223372036854775808  #!", "64 bits"),
    "chained comparison": Refused("k = 0 < tree.n < 3  #!", "one comparison at a time: write a < b and b < c"),
    "identity": Refused("k = tree.n is None  #!", "Is is not part.*== != < <= > >="),
    "membership": Refused("k = tree.n in (1, 2)  #!", "In is not part"),
    "truth values compared": Refused("k = (tree.n > 0) == (tree.m > 0)  #!", "a truth value where an integer"),
    # Expressions that are not there
    "a list": Refused("x = [q[0], 1.0]  #!", "List is not part.*use a tuple, or a work array"),
    "a comprehension": Refused("x = [z for z in q]  #!", "ListComp is not part.*a loop"),
    "a generator": Refused("y[0] = sum(z for z in q)  #!", "GeneratorExp is not part.*a loop"),
    "a dict": Refused("x = {0: q[0]}  #!", "Dict is not part.*tuple"),
    "a set": Refused("x = {q[0]}  #!", "Set is not part.*tuple"),
    "a lambda": Refused("f = lambda x: x  #!", "Lambda is not part.*def"),
    "an f-string": Refused("x = f'{tree.n}'  #!", "JoinedStr is not part"),
    "assignment inside an expression": Refused("y[0] = (x := q[0])  #!", "NamedExpr is not part.*own"),
    "yield": Refused("yield q[0]  #!", "Yield is not part"),
    # Statements that are not there
    "break": Refused("while tree.n > 0:\n    break  #!", "Break is not part.*return, or use while"),
    "continue": Refused("for k in range(tree.n):\n    continue  #!", "Continue is not part.*under an if"),
    "assert": Refused("assert tree.n > 0  #!", "Assert is not part.*before the kernel is called"),
    "raise": Refused("raise ValueError  #!", "Raise is not part.*before the kernel is called"),
    "try": Refused("try:  #!\n    y[0] = 1.0\nfinally:\n    y[0] = 2.0", "Try is not part.*before the kernel"),
    "with": Refused("with open('x'):  #!\n    y[0] = 1.0", "With is not part of the kernel language, which has"),
    "a def inside": Refused("def f(x):  #!\n    return x\ny[0] = f(q[0])", "FunctionDef is not part.*top of the file"),
    "a class inside": Refused("class A:  #!\n    pass", "ClassDef is not part"),
    "import inside": Refused("import math  #!", "Import is not part.*top of the file"),
    "del": Refused("x = 1.0\ndel x  #!", "Delete is not part"),
    "global": Refused("global X  #!\nX = 1.0", "Global is not part"),
    "match": Refused("match tree.n:  #!\n    case 1:\n        y[0] = 1.0", "Match is not part"),
    "else of a loop": Refused("for k in range(3):  #!\n    y[k] = 0.0\nelse:\n    y[0] = 1.0", "no else"),
    "else of a while": Refused("while tree.n < 0:  #!\n    y[0] = 0.0\nelse:\n    y[0] = 1.0", "no else"),
    "an endless while": Refused("while True:  #!\n    y[0] = 1.0", "needs a condition that integers decide"),
    "a variable without a value": Refused("x: float  #!", "needs a value"),
    # Loops
    "a loop over an array": Refused("for x in q:  #!\n    y[0] = x", r"for k in range\(\.\.\.\)"),
    "a loop over a tuple": Refused("for x in (1.0, 2.0):  #!\n    y[0] = x", r"for k in range\(\.\.\.\)"),
    "enumerate": Refused("for k, x in enumerate(q):  #!\n    y[k] = x", r"for k in range\(\.\.\.\)"),
    "range of nothing": Refused("for k in range():  #!\n    y[k] = 0.0", "one to three integers, not 0"),
    "range of four": Refused("for k in range(0, 1, 2, 3):  #!\n    y[k] = 0.0", "one to three integers, not 4"),
    "range of a float": Refused("for k in range(3.0):  #!\n    y[k] = 0.0", "a float where an integer is needed"),
    "a step that is computed": Refused("for k in range(0, 3, tree.n):  #!\n    y[k] = 0.0", "step.*constant"),
    "a step of zero": Refused("for k in range(0, 3, 0):  #!\n    y[k] = 0.0", "not zero"),
    # Calls
    "math.sqrt": Refused("y[0] = math.sqrt(q[0])  #!", "sqrt is not a kernel: use sqrt of linkwork.kernels.scalar"),
    "np.sin": Refused("y[0] = np.sin(q[0])  #!", r"sin is not a kernel: use sincos\(x\)"),
    "math.cos": Refused("y[0] = math.cos(q[0])  #!", r"cos is not a kernel: use sincos\(x\)"),
    "abs": Refused("y[0] = abs(q[0])  #!", r"abs is not a kernel: use where\(x, 0\.0, -x, x\)"),
    "min": Refused("y[0] = min(q[0], q[1])  #!", r"min is not a kernel: use where"),
    "max": Refused("y[0] = max(q[0], q[1])  #!", r"max is not a kernel: use where"),
    "int": Refused("k = int(q[0])  #!", "a float cannot become one"),
    "print": Refused("print(q[0])  #!", "run the kernel as plain Python"),
    "np.dot": Refused("y[0] = np.dot(q, q)  #!", "write the sum out"),
    "list()": Refused("x = list(q)  #!", "list is not a kernel"),
    "a function that is no kernel": Refused(
        "y[0] = f(q[0])  #!", "f is not a kernel: mark it with @kernel", "def f(x):\n    return x\n\n\n"
    ),
    "a method of a float": Refused("y[0] = q[0].sqrt()  #!", "a float has no attributes"),
    "a method of an array": Refused("y[0] = q.sum()  #!", "has no attributes"),
    "an integer called": Refused("y[0] = tree.n(1.0)  #!", "an integer cannot be called"),
    "an object that cannot be hashed, called": Refused("y[0] = X(1.0)  #!", "cannot be called", "X = [1.0]\n\n\n"),
    "too few arguments": Refused("y[0] = f()  #!", "f takes x", SAME.replace("same", "f")),
    "too many arguments": Refused("y[0] = same(q[0], q[1])  #!", "same takes x", SAME),
    "an unknown argument": Refused("y[0] = same(z=q[0])  #!", "same takes x", SAME),
    "an argument given twice": Refused("y[0] = same(q[0], x=q[1])  #!", "same takes x", SAME),
    "arguments from a dict": Refused("y[0] = same(**X)  #!", "same takes x", f"X = {{}}\n\n\n{SAME}"),
    "too few arguments of fma": Refused("y[0] = fma(q[0], q[1])  #!", "fma takes 3 arguments"),
    "too many arguments of sqrt": Refused("y[0] = sqrt(q[0], q[1])  #!", "sqrt takes 1 arguments"),
    "named arguments of sqrt": Refused("y[0] = sqrt(x=q[0])  #!", "have no names"),
    "sqrt of an integer": Refused("y[0] = sqrt(2)  #!", r"write 2\.0"),
    "where of integers": Refused("y[0] = where(tree.n, 1.0, q[0], q[1])  #!", r"float\(k\)"),
    "sincos of a tuple": Refused("s, c = sincos((q[0], q[1]))  #!", "a tuple of 2 where a float is needed"),
    "any_below of an integer": Refused("if any_below(tree.n, 1.0):  #!\n    y[0] = 1.0", r"float\(k\)"),
    "any_below of one": Refused("if any_below(q[0]):  #!\n    y[0] = 1.0", "any_below takes 2 arguments"),
    "unpack of one": Refused(
        "x = unpack(q)  #!", "unpack takes a tuple of arrays", "from linkwork.kernels.scalar import unpack\n\n\n"
    ),
    "unpack of an array": Refused(
        "x = unpack(q, q)  #!", "takes a tuple", "from linkwork.kernels.scalar import unpack\n\n\n"
    ),
    "len of an array": Refused("k = len(q)  #!", "len is for tuples.*sizes of tree"),
    "float of a float": Refused("y[0] = float(q[0])  #!", "float is for integers"),
    "float of two": Refused("y[0] = float(1, 2)  #!", "float takes one"),
    "float of a tuple": Refused("y[0] = float((1, 2))  #!", "a tuple of 2 where"),
    "recursion": Refused(
        "y[0] = f(q[0], 3)", "f calls itself.*use a loop", helper("def f(x, k):\n    return f(x, k - 1)  #!")
    ),
    "recursion by a detour": Refused(
        "y[0] = f(q[0])",
        "f calls itself.*use a loop",
        helper("def f(x):\n    return g(x)") + helper("def g(x):\n    return f(x)  #!"),
    ),
    "recursion on ever larger tuples": Refused(
        "y[0] = f((q[0], q[1]))", "f calls itself", helper("def f(t):\n    return f((t, t))  #!")
    ),
    # Arguments of kernels
    "gathered arguments by name": Refused(
        "y[0] = f(q[0], x=q[1])  #!", r"f takes a, \*x", helper("def f(a, *x):\n    return a")
    ),
    "any named arguments": Refused(
        "y[0] = f(x=q[0])", r"plain arguments and \*args only", helper("def f(**x):  #!\n    return 1.0")
    ),
    "arguments by name alone": Refused("y[0] = f(x=q[0])", "plain", helper("def f(*, x):  #!\n    return x")),
    "arguments by place alone": Refused("y[0] = f(q[0])", "plain", helper("def f(x, k=1, /):  #!\n    return x")),
    # Returns
    "no return on some paths": Refused(
        "y[0] = f(q[0], tree.n)",
        "some paths through the kernel end without a return",
        helper("def f(x, k):  #!\n    if k > 2:\n        return x"),
    ),
    "no return when a loop does not run": Refused(
        "y[0] = f(q[0], tree.n)",
        "some paths through the kernel end without a return",
        helper("def f(x, k):  #!\n    for j in range(k):\n        return x"),
    ),
    "a return without a value, then one with": Refused(
        "y[0] = f(q[0], tree.n)",
        "other returns have a value",
        helper("def f(x, k):\n    if k > 2:\n        return  #!\n    return x"),
    ),
    "a return with a value, then one without": Refused(
        "y[0] = f(q[0], tree.n)",
        "other returns have a value",
        helper("def f(x, k):\n    if k > 2:\n        return x\n    return  #!"),
    ),
    "returns of two types": Refused(
        "y[0] = f(q[0], tree.n)",
        "returns an integer, elsewhere a float: one type",
        helper("def f(x, k):\n    if k > 2:\n        return x\n    return 0  #!"),
    ),
    "the value of a kernel that returns none": Refused(
        "x = f(y)  #!", "x has no value.*returns none", helper("def f(y):\n    y[0] = 1.0")
    ),
    # Names
    "an unknown name": Refused("velocity = q[0]\ny[0] = velocty  #!", "no velocty; did you mean velocity"),
    "an unknown name like no other": Refused("y[0] = unheard_of  #!", "there is no unheard_of"),
    "an unknown name in a bound that is not needed": Refused("x = w.a[0:unheard_of]  #!", "there is no unheard_of"),
    "an unknown array of tree": Refused("y[0] = tree.mas[0]  #!", "tree has no mas; did you mean mass"),
    "an unknown work array": Refused("w.bb[0, 0] = 1.0  #!", r"w has no bb; did you mean b\?"),
    "an unknown attribute of a module": Refused("y[0] = math.tau_over_two  #!", "no attribute tau_over_two"),
    "no value on some paths": Refused(
        "if tree.n > 0:\n    x = q[0]\ny[0] = x  #!", "x has no value on some paths to this line: set it before"
    ),
    "no value before": Refused("y[0] = x  #!\nx = 1.0", "x is used before it has a value"),
    "no value before the loop comes round": Refused(
        "for k in range(3):\n    if k > 0:\n        y[k] = x  #!\n    x = q[k]", "x is used before it has a value"
    ),
    "two types on two ways": Refused(
        "if tree.n > 0:\n    x = 1.0\nelse:\n    x = 1\ny[0] = x  #!", "x has values of several types on the paths"
    ),
    "a name that a loop gives another type": Refused(
        "x = 1.0\nfor k in range(tree.n):  #!\n    x = k", "x has another type after the loop's body.*two names"
    ),
    "two types of one expression": Refused("x = 1.0 if tree.n > 0 else 1  #!", "a float if .* else an integer"),
    "two arrays of one expression": Refused("x = w.a if tree.n > 0 else y  #!", r"\(w.a\) if .* else an array"),
    "the variable of a loop after it": Refused(
        "for k in range(tree.n):\n    y[k] = 0.0\ny[k] = 1.0  #!", "k is set inside a loop that may not run"
    ),
    "what a loop sets, after it": Refused(
        "for k in range(tree.n):\n    x = q[k]\ny[0] = x  #!", "x is set inside a loop that may not run: set it before"
    ),
    "a constant that kernel code would change": Refused("X += 1.0  #!", "X is used before", "X = 1.0\n\n\n"),
    # Arrays and tuples
    "an array of tree written": Refused("tree.mass[0] = 1.0  #!", "read-only"),
    "an input written": Refused("q[0] = 1.0  #!", "read-only"),
    "an input written under another name": Refused("x = q\nx[0] = 1.0  #!", "read-only"),
    "an input written in place": Refused("q[0] += 1.0  #!", "read-only"),
    "an input written by a kernel": Refused("f(q)", "read-only", helper("def f(x):\n    x[0] = 1.0  #!")),
    "an attribute of tree assigned": Refused("tree.mass = q  #!", "only names and entries of arrays"),
    "an attribute of tree changed": Refused("tree.n += 1  #!", "only names and entries of arrays"),
    "an entry of a tuple assigned": Refused("t = (q[0], 1.0)\nt[0] = 2.0  #!", "a tuple of 2 cannot be assigned to"),
    "an entry of a tuple changed": Refused("t = (q[0], 1.0)\nt[0] += 2.0  #!", "a tuple of 2 cannot be assigned to"),
    "a row assigned": Refused("w.b[0] = 1.0  #!", "entries are written one by one"),
    "a slice assigned": Refused("y[0:2] = 1.0  #!", "slices are.*to read"),
    "too many indices": Refused("y[0] = q[0, 1]  #!", "2 indices for an array of state with 1 axis"),
    "too many indices to write": Refused("y[0, 1] = 1.0  #!", "2 indices for an array"),
    "no indices": Refused("y[0] = q[()]  #!", "0 indices for an array"),
    "a float as index": Refused("y[0] = q[1.0]  #!", "a float where an integer is needed"),
    "a float of the state as index": Refused("y[0] = q[q[0]]  #!", "a float where an integer is needed"),
    "an array as index": Refused("y[0] = q[tree.parent]  #!", "an array of integers.*where an integer is needed"),
    "an index from the end": Refused("y[-1] = 1.0  #!", "indices count from the start"),
    "an ellipsis": Refused("y[0] = q[...]  #!", "Ellipsis where an integer is needed"),
    "a slice with a step": Refused("x = w.b[0:4:2]  #!", "slices have no step"),
    "a slice of the second axis": Refused("x = w.b[0, 0:2]  #!", "first axis alone"),
    "a slice of a tuple with a step": Refused("t = (1.0, q[0], 2.0)[0:3:2]  #!", "constant bounds, and no step"),
    "a slice of a tuple up to an integer": Refused("t = (1.0, q[0], 2.0)[0 : tree.n]  #!", "constant bounds"),
    "a slice from a float": Refused("x = w.b[1.0:]  #!", "a float where an integer is needed"),
    "an entry of a float": Refused("y[0] = q[0][0]  #!", "a float has no entries"),
    "an entry of an integer": Refused("k = tree.n[0]  #!", "an integer has no entries"),
    "an entry beyond a tuple": Refused("y[0] = (q[0], q[1])[2]  #!", "no entry 2 of a tuple of 2"),
    "an integer chooses among two types": Refused("x = (q[0], 1)[tree.n]  #!", "entries have several types"),
    "a row where a float is needed": Refused("y[0] = w.b[0]  #!", "an array of state with 1 axis.*a float is needed"),
    "a table where a float is needed": Refused("y[0] = tree  #!", "tree where a float is needed"),
    "an array taken apart": Refused("a, b = q  #!", "cannot be unpacked into 2 names"),
    "too few names for a tuple": Refused("a, b = (q[0], q[1], 1.0)  #!", "a tuple of 3 cannot be unpacked into 2"),
    "a starred name": Refused("a, *b = (q[0], q[1])  #!", "only names and entries of arrays"),
    "an entry of a list of constants": Refused("y[0] = X[0]  #!", "has no entries", "X = [1.0]\n\n\n"),
    "an entry of an array of constants": Refused("y[0] = X[0]  #!", "has no entries", "X = np.ones(3)\n\n\n"),
    # Records
    "a field that is not there": Refused(
        "p = Pair(q[0], q)\ny[0] = p.frist  #!", "no field frist.*did you mean first", PAIR
    ),
    "a method of a record": Refused("p = Pair(q[0], q)\nk = p.index(1.0)  #!", "no field index of a Pair", PAIR),
    "too few fields": Refused("p = Pair(q[0])  #!", "Pair takes first, second", PAIR),
    "too many fields": Refused("p = Pair(q[0], q, q)  #!", "Pair takes first, second", PAIR),
    "a field twice": Refused("p = Pair(q[0], q, first=q[1])  #!", "Pair takes first, second", PAIR),
    "a field of no record": Refused("p = Pair(q[0], third=q)  #!", "Pair takes first, second", PAIR),
    "a field assigned": Refused("p = Pair(q[0], q)\np.first = 1.0  #!", "only names and entries of arrays", PAIR),
    "an entry of a record assigned": Refused("p = Pair(q[0], q)\np[0] = 1.0  #!", "a Pair cannot be assigned to", PAIR),
    "an input written through a record": Refused("p = Pair(q[0], q)\np.second[0] = 1.0  #!", "read-only", PAIR),
    "a record as condition": Refused("if Pair(q[0], q):  #!\n    y[0] = 1.0", "a Pair is not a truth value", PAIR),
    "a record where a float is needed": Refused("y[0] = Pair(q[0], q)  #!", "a Pair where a float is needed", PAIR),
    "records of two types": Refused(
        "p = Pair(q[0], 1) if tree.n > 0 else Pair(q[0], q)  #!", "both need one type", PAIR
    ),
    "a record and a tuple": Refused("p = Pair(q[0], q) if tree.n > 0 else (q[0], q)  #!", "both need one type", PAIR),
    "a part of a tuple replaced": Refused("p = (q[0], q)._replace(first=1.0)  #!", "_replace is for records"),
    "another field": Refused("p = Pair(q[0], q)._replace(third=1.0)  #!", "no field third of a Pair", PAIR),
    # The whole
    "a value from the text of an algorithm": Refused("y[0] = 1.0\nreturn q[0]", "returns no value.*an output"),
    "on the third line of an expression": Refused("y[0] = (\n    q[0]\n    + 2 * q[1]  #!\n)", r"write 2\.0"),
}


@pytest.mark.parametrize("t", [SCALAR, Type("float64", 4)], ids=["scalar", "lanes"])
@pytest.mark.parametrize("name", REFUSED)
def test_text_outside_the_language_is_refused_where_it_stands(name: str, t: Type, tmp_path: Path) -> None:
    body, says, before = REFUSED[name]
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    module = written(f"{before}@kernel\ndef text(tree, w, q, r, y):\n{lines}", tmp_path)
    with pytest.raises(KernelError) as caught:
        native.module(algorithm(module.text), t)
    error, text = caught.value, Path(str(module.__file__)).read_text().splitlines()
    [line] = [k for k, one in enumerate(text) if "#!" in one] or [text.index("def text(tree, w, q, r, y):")]
    assert (error.file, error.line, error.text) == (module.__file__, line + 1, text[line].strip())
    assert re.search(says, str(error)), str(error)
    assert str(error).startswith(f"{module.__file__}:{line + 1} in kernel '")
    assert str(error).endswith(f"\n    {text[line].strip()}")


def test_text_with_the_wrong_number_of_arguments_is_refused(tmp_path: Path) -> None:
    module = written("@kernel\ndef text(tree, w, q):\n    pass\n", tmp_path)
    with pytest.raises(KernelError, match="text takes 3 arguments, needs 5") as caught:
        native.module(algorithm(module.text), SCALAR)
    assert caught.value.line == HEAD.count("\n") + 2


def test_a_kernel_made_of_a_string_has_no_text() -> None:
    names: dict[str, Any] = {}
    exec("def text(tree, w, q, r, y):\n    y[0] = 1.0\n", names)
    with pytest.raises(KernelError, match=r"the code of text cannot be read.*def, in a file"):
        native.module(algorithm(names["text"]), SCALAR)


def test_a_lambda_is_no_kernel() -> None:
    text = lambda tree, w, q, r, y: None  # noqa: E731
    with pytest.raises(KernelError, match="is not a function defined with def"):
        native.module(algorithm(text), SCALAR)


@pytest.mark.parametrize("thing", [math.sin, np.sin, 3.0], ids=["builtin", "ufunc", "number"])
def test_what_is_no_python_function_is_no_kernel(thing: Any) -> None:
    with pytest.raises(KernelError, match="is not a Python function"):
        source_of(thing)


def test_a_constant_of_another_type_is_another_constant() -> None:
    """Functions and tables of constants are kept by them."""
    for one, other in (((1, 2), (1.0, 2.0)), ((0.0, 1.0), (-0.0, 1.0)), ((True, 2), (1, 2)), (((1,),), ((1.0,),))):
        assert one == other and Fixed(one) != Fixed(other)
    assert Fixed((1.0, (2, "x"))) == Fixed((1.0, (2, "x")))
    assert Fixed((math.nan,)) == Fixed((math.nan,))


# What it means -------------------------------------------------------------------------------------------------------

INPUT = np.random.default_rng(3).normal(size=(5, 6))
ROWS = np.random.default_rng(4).normal(size=(5, 6, 3))


def assert_means_the_same(text: Any, *backends: str, inputs: tuple[Any, Any] = (INPUT, ROWS)) -> Any:
    """In machine code, scalar and lanes, as in Python: to the last bit, signs of zeros included."""
    a, tree = algorithm(text), small()
    expected = plain(a, tree)(*inputs)[0]
    for t in (SCALAR, Type("float64", 4)):
        found = compiled(a, tree, t, contract=False)(*inputs)[0]
        np.testing.assert_array_equal(found.view(np.int64), expected.view(np.int64))
        if "specialized" in backends or not backends:
            np.testing.assert_allclose(specialized(a, tree, t)(*inputs)[0], expected, rtol=1e-14, atol=1e-14)
    return expected


VECTOR = (0.25, -1.5, 3.0)
COUNTS = (4, 0, -3)
SAME_COUNTS = (4.0, 0.0, -3.0)
MATRIX = ((1.0, 2.0, 3.0), (4.0, 5.0, 6.0))
INDEXED = ((1, 0), (2, 2), (0, 1))
NEGATIVE_ZERO, ZERO = (-0.0, 1.0), (0.0, 1.0)


@kernel
def affine(x: Any, scale: Any = 2.0, offset: Any = 0.5) -> Any:
    return scale * x + offset


@kernel
def first_larger(tree: Any, bound: int) -> int:
    for k in range(tree.n):
        if tree.parent[k] > bound:
            return k
        for j in range(tree.m):
            if tree.table[j, 0] == bound + 100:
                return -j
    return -1


@kernel
def swap(pair: Any) -> Any:
    (a, b), c = pair
    return (b, c), a


@kernel
def bump(a: Any) -> Any:
    a[0] = a[0] + 10.0
    return 1.0


@kernel
def pick(table: Any, k: int) -> Any:
    return table[k]


@kernel
def dot(a: Any, b: Any) -> Any:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


class Pair(NamedTuple):
    first: Any
    second: Any


class Body(NamedTuple):
    mass: Any
    axis: Any
    ends: Any = Pair(1, 2.0)


WEIGHTS = Pair(0.5, (1.0, 2.0, 4.0))


@kernel
def heavier(body: Any, by: Any) -> Any:
    return Body(body.mass + by, body.axis, body.ends)


@kernel
def swapped(pair: Any) -> Any:
    return Pair(pair.second, pair.first)


@kernel
def sum_of(first: Any, *others: Any) -> Any:
    total = first
    if len(others) > 0:
        total += others[0]
    if len(others) > 1:
        total += others[1] * 10.0
    return total


@kernel
def φ(x: Any) -> Any:
    return x * x


def test_quotients_and_remainders_round_down_as_in_python() -> None:
    @kernel
    def text(tree: Any, w: Any, q: Any, r: Any, y: Any) -> None:
        for k in range(6):
            a = tree.minus + 3 * k  # -7 to 8
            y[k] = float(a // 3) + 16.0 * float(a % 3) + 256.0 * float(a // (-3)) + 4096.0 * float(a % (-3))
            y[k] += 65536.0 * float(a // tree.minus) + 1048576.0 * float(a % tree.minus) + float(-a // tree.m)

    assert_means_the_same(text)


def test_and_and_or_look_no_further_than_they_must() -> None:
    """Entries that are far outside an array are not read: it would crash."""
    far = 1 << 60

    @kernel
    def text(tree: Any, w: Any, q: Any, r: Any, y: Any) -> None:
        for k in range(tree.n):
            y[k] = 0.0
            if tree.zero > 0 and tree.parent[far + k] > 0:
                y[k] += 1.0
            if tree.n > 0 or tree.parent[far + k] > 0:
                y[k] += 2.0
            if k > 2 and (k > 4 or k == 3) and not (tree.zero > 0 and tree.parent[far] > 1):
                y[k] += 4.0
            inside = k >= 1 and tree.parent[k - 1] >= 0
            if inside or k == 0:
                y[k] += 8.0
            if (True and k > 1 and True) or False:
                y[k] += 16.0

    expected = assert_means_the_same(text)
    np.testing.assert_array_equal(expected[0], [10.0, 2.0, 26.0, 30.0, 26.0, 30.0])


def test_while_ends_when_integers_say_so() -> None:
    @kernel
    def text(tree: Any, w: Any, q: Any, r: Any, y: Any) -> None:
        for k in range(tree.n):
            steps, x, at = 0, 1.0, k
            while at >= 0 and steps < 4:
                x = x * q[at]
                at = tree.parent[at]
                steps += 1
            while tree.zero > 0:
                x = 0.0
            y[k] = x + float(steps)

    assert_means_the_same(text)


def test_tuples_nest_and_are_taken_apart() -> None:
    @kernel
    def text(tree: Any, w: Any, q: Any, r: Any, y: Any) -> None:
        t = (q[0], q[1]), 2
        (a, b), k = t
        a, b = b, a
        (c, d), e = swap(((a, b), q[2]))
        y[k] = a
        y[0], (y[1], y[3]) = b, (c, d)
        y[4] = e * t[0][1]
        y[5] = ((1.0, q[3]), (2.0, q[4]))[1][1]

    assert_means_the_same(text)


def test_records_are_tuples_with_names() -> None:
    @kernel
    def text(tree: Any, w: Any, q: Any, r: Any, y: Any) -> None:
        for k in range(tree.n):
            body = Body(tree.mass[k], r[k], ends=Pair(w.a, q[k:]))
            body.ends.first[k] = 2.0 * body.mass
            grown = heavier(body, by=q[k])
            grown = grown._replace(mass=2.0 * grown.mass)
            mass, axis, ends = grown
            y[k] = dot(grown.axis, tree.axis[k]) * mass + ends.second[0] + axis[1] + w.a[k]
            y[k] += WEIGHTS.first * WEIGHTS.second[k % 3] + float(len(grown))
        pair = swapped(Pair(q[0], tree.n))
        y[pair[0] - 1] = pair[1]
        light = Body(q[1], q)
        y[4] = affine(*Pair(light.ends.second, q[1])) + float(light.ends[0])
        chosen = Pair(q[2], 1.0) if tree.n > 3 else Pair(0.0, q[3])
        y[3] = chosen.first - (Pair(q[1], 2.0), chosen)[tree.zero].second

    assert_means_the_same(text)


def test_a_record_that_is_assigned_twice_is_a_variable() -> None:
    @kernel
    def text(tree: Any, w: Any, q: Any, r: Any, y: Any) -> None:
        last = Pair(q[0], 1.0)
        for k in range(tree.n):
            y[k] = last.first * last.second
            last = Pair(last.second, q[k])

    assert_means_the_same(text)


def test_arguments_are_gathered_into_a_tuple() -> None:
    @kernel
    def text(tree: Any, w: Any, q: Any, r: Any, y: Any) -> None:
        y[0] = sum_of(q[0])
        y[1] = sum_of(q[0], q[1])
        y[2] = sum_of(q[0], *(q[1], 3.0))
        y[3] = sum_of(first=q[4])
        y[4] = sum_of(*VECTOR)
        y[5] = sum_of(*(q[0], q[1], q[2], q[3]))

    assert_means_the_same(text)


class Settings(NamedTuple):
    tolerance: Entry
    most: Entry
    unit: Any = 1.0


class Given(NamedTuple):
    q: Any
    rows: Any
    settings: Settings


class Sum(NamedTuple):
    progress: Annotated[Any, (1,)]
    iterations: Annotated[Any, (1,)]
    values: Annotated[Any, ("m",)]
    last: Annotated[Any, (1,)]


@kernel
def by_hand(tree: Any, q: Any, r: Any, settings: Any, y: Any) -> Any:
    return Given(q, r, Settings(settings[0], settings[1], 1.0)), Sum(y[0:1], y[1:2], y[2:5], y[5 : tree.n])


@pytest.mark.parametrize("view", [by_hand, view_of(Given, Sum)])
def test_an_algorithm_views_its_arrays_by_name(view: Any) -> None:
    """The kernel and its further iteration take records; every way to run them takes the flat arrays."""

    @kernel
    def text(tree: Any, w: Any, given: Any, result: Any) -> None:
        result.progress[0] = 1.0
        result.iterations[0] = 1.0
        for k in range(tree.m):
            w.a[k] = given.q[k] + given.rows[0, k % 3]
            result.values[k] = w.a[k]
        result.last[0] = given.settings.most * given.settings.unit

    @kernel
    def further(tree: Any, w: Any, given: Any, result: Any) -> None:
        result.progress[0] *= 0.5
        result.iterations[0] += 1.0
        for k in range(tree.m):
            result.values[k] += w.a[k] * given.settings.tolerance

    inputs = {**INPUTS, "settings": (2,)}
    viewing = Algorithm("viewing", text, inputs, OUTPUTS, WORK, SMALL, further, view=view)
    given = (INPUT, ROWS, np.array([0.1, 3.0]))
    expected = plain(viewing, small())(*given)[0]
    np.testing.assert_allclose(expected[:, 0], 0.25)
    np.testing.assert_allclose(expected[:, 2:5], (INPUT[:, :3] + ROWS[:, 0]) * (1 + 2 * 0.1))
    np.testing.assert_allclose(expected[:, 5], 3.0)
    for t in (SCALAR, Type("float64", 4)):
        for found in (compiled(viewing, small(), t), specialized(viewing, small(), t)):
            np.testing.assert_allclose(found(*given)[0], expected, rtol=1e-14, atol=1e-14)


def test_integers_choose_entries_of_tuples() -> None:
    @kernel
    def text(tree: Any, w: Any, q: Any, r: Any, y: Any) -> None:
        for k in range(tree.n):
            j = k % 3
            chosen = (q[0], q[1], 1.0)[j]
            pair = ((q[2], k), (q[3], 2 * k), (q[4], 3 * k))[j]
            y[k] = chosen + VECTOR[j] * pair[0] + float(pair[1]) + VECTOR[-1]
            y[k] += dot(((1.0, q[0], q[1]), (q[2], 2.0, q[3]))[k % 2], VECTOR)

    assert_means_the_same(text)


def test_constants_of_modules_and_closures_fold() -> None:
    scale, sizes = 0.75, (3, 1)

    @kernel
    def text(tree: Any, w: Any, q: Any, r: Any, y: Any) -> None:
        for k in range(tree.n):
            y[k] = math.pi * q[k] + scale * float(sizes[0] + len(VECTOR) + len(MATRIX[1])) - math.inf * 0.0
            if sizes[1] == 1:
                y[k] = 1.0 / 3.0 * q[k] + float(7 // 2) + 7 / 2 - float(-7 % 3)
            else:
                y[k] = nonsense  # noqa: F821

    assert_means_the_same(text)


def test_tuples_of_constants_are_indexed_by_integers() -> None:
    """Those that Python thinks equal are not the same in machine code: 4 and 4.0, 0.0 and -0.0."""

    @kernel
    def text(tree: Any, w: Any, q: Any, r: Any, y: Any) -> None:
        for k in range(tree.n):
            i, j = INDEXED[k % 3][0], INDEXED[k % 3][1]
            y[k] = MATRIX[k % 2][i] * q[j] + MATRIX[k // 3][j] + float(COUNTS[i]) + SAME_COUNTS[j]
            y[k] += pick(COUNTS, 0) * 1.0 if False else float(pick(COUNTS, i)) + pick(SAME_COUNTS, i)
        y[0] = NEGATIVE_ZERO[tree.zero]
        y[1] = ZERO[tree.zero]
        y[2] = pick(NEGATIVE_ZERO, tree.zero)
        y[3] = pick(ZERO, tree.zero)

    expected = assert_means_the_same(text)
    assert list(np.signbit(expected[0, :4])) == [True, False, True, False]


def test_arguments_have_defaults_and_names() -> None:
    @kernel
    def text(tree: Any, w: Any, q: Any, r: Any, y: Any) -> None:
        y[0] = affine(q[0])
        y[1] = affine(q[0], 3.0)
        y[2] = affine(q[0], offset=q[1])
        y[3] = affine(offset=1.0, x=q[2])
        y[4] = affine(q[0], q[1], q[2])
        y[5] = affine(scale=-1.0, x=affine(q[5]))

    assert_means_the_same(text)


def test_rows_and_slices_are_the_memory_itself() -> None:
    @kernel
    def text(tree: Any, w: Any, q: Any, r: Any, y: Any) -> None:
        for k in range(tree.n):
            row = w.b[k]
            for j in range(3):
                row[j] = r[k, j] + tree.axis[k, j]
            w.c[k, 0] = 1.0
            w.c[k][1] = q[k]
            w.c[k, tree.m - 1] = w.c[k, 1] * 2.0
        later = w.b[2:]
        for k in range(tree.n - 2):
            later[k, 0] = later[k, 0] + 100.0 * float(k)
            tail = q[k : tree.n]
            y[k] = dot(later[k], w.b[k]) + tail[2] + w.b[k:][1][2] + w.c[k:][2, 2]
        y[4] = w.b[1:3][1][0]
        y[5] = q[:3][2] * q[tree.n - 1 :][0]

    assert_means_the_same(text)


def test_assignment_in_place_reads_before_it_computes() -> None:
    @kernel
    def text(tree: Any, w: Any, q: Any, r: Any, y: Any) -> None:
        w.a[0] = q[0]
        w.a[0] += bump(w.a)  # bump changes the entry: what was there before counts
        x = q[1]
        x -= 0.5
        x *= x
        x /= 3.0
        k = 17
        k -= 20
        k //= 2
        k %= 5
        y[0] = w.a[0]
        y[1] = x
        y[2] = float(k)
        for k in range(3, 6):
            y[k] = 1.0
            y[k] *= q[k]
            y[k] -= x

    assert_means_the_same(text)


def test_integers_become_floats() -> None:
    @kernel
    def text(tree: Any, w: Any, q: Any, r: Any, y: Any) -> None:
        for k in range(tree.n):
            y[k] = float(k) * q[k] + float(tree.minus * k) + float(3) + float(9007199254740993 + k)

    assert_means_the_same(text)


def test_returns_leave_loops_at_once() -> None:
    @kernel
    def text(tree: Any, w: Any, q: Any, r: Any, y: Any) -> None:
        for k in range(tree.n):
            y[k] = float(first_larger(tree, k - 2)) + 100.0 * float(first_larger(tree, -107 + k))
        for k in range(tree.n):
            y[k] += 1000.0
            if k == 3:
                return
        y[0] = 0.0

    expected = assert_means_the_same(text)
    assert expected[0, 4] < 1000.0


def test_loops_count_up_and_down_and_may_not_run() -> None:
    @kernel
    def text(tree: Any, w: Any, q: Any, r: Any, y: Any) -> None:
        for k in range(tree.n - 1, -1, -1):
            y[k] = q[k]
        for k in range(1, tree.n, 2):
            y[k] += y[k - 1]
        for k in range(5, 2, -2):
            y[k] *= 2.0
        for k in range(tree.n, tree.m):
            y[k] = 0.0
        for _ in range(tree.zero):
            y[0] = 0.0
        last = 2
        for last in range(tree.m, tree.n):
            y[last] += float(last)
        y[last] += 0.5
        for last in range(tree.zero):  # the name keeps its value
            y[last] = 0.0
        y[last - 1] += 0.25

    assert_means_the_same(text)


def test_a_name_may_change_its_type_between_statements() -> None:
    @kernel
    def text(tree: Any, w: Any, q: Any, r: Any, y: Any) -> None:
        for k in range(tree.n):
            x = 1.0
            y[k] = x * q[k]
            x = k % 2
            y[k] += float(x)
            x = (q[0], x)
            y[k] += x[0] if x[1] == 1 else 2.0

    assert_means_the_same(text)


def test_a_branch_that_constants_decide_against_is_not_compiled() -> None:
    """It need not even be right for the types that come in."""

    @kernel
    def total(t: Any, x: Any) -> Any:
        if len(t) == 3:
            return x * t[2]
        elif len(t) > 3:
            return t[7]
        return t

    @kernel
    def text(tree: Any, w: Any, q: Any, r: Any, y: Any) -> None:
        for k in range(tree.n):
            y[k] = total(VECTOR, q[k])

    assert_means_the_same(text)


def test_names_of_kernels_may_be_greek() -> None:
    @kernel
    def text(tree: Any, w: Any, q: Any, r: Any, y: Any) -> None:
        for k in range(tree.n):
            θ = φ(q[k])
            y[k] = θ + φ(θ)

    assert_means_the_same(text)


def test_a_branch_that_only_saves_work_is_taken_for_all_lanes_or_none() -> None:
    """A lane in which the condition does not hold must not notice."""

    @kernel
    def text(tree: Any, w: Any, q: Any, r: Any, y: Any) -> None:
        for k in range(tree.n):
            y[k] = q[k]
            if any_below(q[k], -0.5):
                y[k] = where(q[k], -0.5, -0.5, y[k])
            if any_below(q[k], -1e9) or (tree.n > 0 and any_below(-q[k], -1e9)):
                y[k] = where(q[k] * q[k], 1e18, y[k], 0.0)

    expected = assert_means_the_same(text)
    np.testing.assert_array_equal(expected, np.maximum(INPUT, -0.5))


def test_parts_of_flat_arrays_are_the_memory_itself() -> None:
    places = ((0, 1, ()), (1, 2, (3,)), (0, 0, (2, 2)))

    @kernel
    def total(a: Any, b: Any, c: Any) -> Any:
        b[0] = 5.0
        return a + b[1] * c[1, 0] + c[0, 1]

    @kernel
    def text(tree: Any, w: Any, q: Any, r: Any, y: Any) -> None:
        for k in range(tree.n):
            w.a[k] = q[k]
            y[k] = q[k]
        y[5] = total(*unpack((w.a, y), places))

    expected = assert_means_the_same(text)
    np.testing.assert_array_equal(expected[:, 5], INPUT[:, 1] + INPUT[:, 3] * INPUT[:, 2] + INPUT[:, 1])


def test_scalar_functions_round_as_python_does() -> None:
    """Of signed zeros, too."""

    @kernel
    def text(tree: Any, w: Any, q: Any, r: Any, y: Any) -> None:
        y[0] = rint(q[0])
        y[1] = fma(q[0], q[1], q[2])
        y[2] = sqrt(q[3] * q[3] + 1.0)
        y[3] = -q[4]
        y[4] = rint(q[5] * 10.0) - rint(-q[5] * 0.1)
        y[5] = where(q[0], q[1], q[2], -q[3])

    special = np.array(
        [[0.0, -0.0, -0.0, 0.0, 0.0, 0.5], [-0.3, 0.0, -0.0, 1.5, -0.0, 0.25], [2.5, -0.0, 0.0, 0, 0, 5]]
    )
    for q in (INPUT, special, 1e5 * INPUT):
        assert_means_the_same(text, "native", inputs=(q, ROWS[: len(q)]))


@pytest.mark.parametrize("t", [*TYPES, Type("float64", 2)], ids=lambda t: f"{t.dtype}x{t.lanes}")
def test_angles_beyond_ten_thousand_are_those_of_the_c_library(t: Type) -> None:
    """Some lanes near, some far."""

    @kernel
    def text(tree: Any, w: Any, q: Any, r: Any, y: Any) -> None:
        for k in range(3):
            s, c = sincos(q[k])
            y[k] = s
            y[k + 3] = c

    q = np.array([[1e4, 1.0001e4, -3e5], [0.5, 1e8, 1e-3], [2e4, 2e5, 2e6], [0.0, 3.0, -1e22], [-1e4, 1.0, 9e4]])
    q = np.hstack([q, q])
    for made in (compiled, specialized):
        found = made(algorithm(text), small(), t)(q, ROWS)[0].astype(float)
        exact = q[:, :3].astype(t.dtype).astype(float)
        tolerance = 4 * float(np.finfo(t.dtype).eps)
        np.testing.assert_allclose(found[:, :3], np.sin(exact), rtol=0, atol=tolerance)
        np.testing.assert_allclose(found[:, 3:], np.cos(exact), rtol=0, atol=tolerance)


@pytest.mark.parametrize("t", TYPES, ids=lambda t: f"{t.dtype}x{t.lanes}")
def test_where_takes_the_last_argument_for_what_is_no_number(t: Type) -> None:
    """Comparing NaN is false, in every lane by itself."""

    @kernel
    def text(tree: Any, w: Any, q: Any, r: Any, y: Any) -> None:
        x = 1.0 + q[0]
        for _ in range(12):
            x = x * x
        nan = x - x  # infinity less itself for q[0] = 1, zero for q[0] = 0
        y[0] = where(nan, 1.0, 2.0, 3.0)
        y[1] = where(1.0, nan, 2.0, 3.0)
        y[2] = where(nan, nan, 2.0, 3.0)
        y[3] = where(q[1], 0.0, nan, 4.0)
        y[4] = where(q[1], 0.0, 4.0, 5.0)
        y[5] = where(0.0, -0.0, 1.0, 2.0)

    q = np.zeros((5, 6))
    q[::2, 0] = 1.0
    q[:, 1] = [1.0, -1.0, 1.0, 1.0, 2.0]
    expected = plain(algorithm(text), small())(q, ROWS)[0]
    np.testing.assert_array_equal(expected[:, 0], [3.0, 2.0, 3.0, 2.0, 3.0])
    np.testing.assert_array_equal(compiled(algorithm(text), small(), t)(q, ROWS)[0], expected)


@kernel
def negative_entries(tree: Any, w: Any, q: Any, r: Any, y: Any) -> None:
    count = 0
    for k in range(tree.n):
        y[k] = 0.0
        if some_below(q[k], 0.0):
            w.listed[count] = k
            count += 1
    k = 0
    while k < count and some_below(q[w.listed[k]], 5.0):
        y[k] = where(q[w.listed[k]], 0.0, q[w.listed[k]], 0.0) + float(w.listed[k])
        k += 1


LISTED = Algorithm("listed", negative_entries, INPUTS, OUTPUTS, WORK, SMALL, integers={"listed": ("n",)})


@pytest.mark.parametrize("t", TYPES)
def test_lists_of_integers_depend_on_the_state_and_are_common_to_the_lanes(t: Type) -> None:
    rng = np.random.default_rng(3)
    q, r = rng.normal(size=(8, 6)).astype(t.dtype), np.zeros((6, 3), t.dtype)
    (found,) = compiled(LISTED, small(), t)(q, r)
    for start in range(0, 8, t.lanes):
        block = q[start : start + t.lanes]
        listed = np.flatnonzero((block < 0).any(axis=0))
        expected = np.zeros_like(block)
        expected[:, : len(listed)] = np.minimum(block[:, listed], 0) + listed
        assert np.array_equal(found[start : start + t.lanes], expected.astype(t.dtype))
    (one,) = plain(LISTED, small())(q.astype(np.float64)[:1], r.astype(np.float64))
    assert np.allclose(one, compiled(LISTED, small(), SCALAR)(q.astype(np.float64)[:1], r.astype(np.float64))[0])


@kernel
def order_by_signs(tree: Any, key: Any, q: Any, r: Any, y: Any) -> None:
    for k in range(ORDER):
        key[k] = where(q[k], 0.0, -1.0, 1.0) if k < tree.n else 0.0


ORDERED = Algorithm(
    "ordered", negative_entries, INPUTS, OUTPUTS, WORK, SMALL, integers={"listed": ("n",)}, order=order_by_signs
)


@pytest.mark.parametrize("t", TYPES)
def test_states_with_the_same_key_share_lanes_in_any_order_of_the_batch(t: Type) -> None:
    """Eleven states of three kinds, whose lists differ: the last block of a kind has some of the next one."""
    rng = np.random.default_rng(3)
    signs = np.array([[-1, -1, 1, 1, 1, 1], [-1, 1, -1, 1, 1, -1], [1, 1, 1, 1, 1, 1]])[
        rng.permutation(np.arange(11) % 3)
    ]
    q, r = (signs * rng.uniform(0.1, 1, size=(11, 6))).astype(t.dtype), np.zeros((6, 3), t.dtype)
    (found,) = compiled(ORDERED, small(), t)(q, r)
    places = sorted(range(11), key=lambda k: (*signs[k], k)) if t.lanes > 1 else range(11)
    order = np.array(places)
    (sorted_before,) = compiled(LISTED, small(), t)(q[order], r)
    np.testing.assert_array_equal(found[order], sorted_before)


def test_text_that_decides_by_the_state_is_not_traced() -> None:
    with pytest.raises(UnsupportedFeature, match="no branches"):
        trace(LISTED, small())


@kernel
def root_of(tree: Any, w: Any, k: int) -> None:
    x = 1.0
    w.counted[0] = 0
    while w.counted[0] < 60 and some_below(1e-5, (x * x - w.x[k]) * (x * x - w.x[k])):
        x = 0.5 * (x + w.x[k] / x)
        w.counted[0] += 1
    w.x[k] = x + float(w.counted[0]) + sincos(x)[0] + (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)[k]


@kernel
def roots(tree: Any, w: Any, q: Any, r: Any, y: Any) -> None:
    for k in range(tree.n):
        w.x[k] = q[k] * q[k]
    for k in range(tree.n):
        each_lane(root_of, tree, w, k)
    for k in range(tree.n):
        y[k] = w.x[k]


ROOTS = Algorithm("roots", roots, INPUTS, OUTPUTS, {"x": ("n",)}, SMALL, integers={"counted": (1,)})


@pytest.mark.parametrize("t", TYPES)
def test_each_lane_takes_its_own_way(t: Type) -> None:
    """Iterations are those that each state needs, as if it were alone."""
    q, r = np.random.default_rng(4).uniform(0.5, 100.0, (8, 6)).astype(t.dtype), np.zeros((6, 3), t.dtype)
    (found,) = compiled(ROOTS, small(), t)(q, r)
    (alone,) = compiled(ROOTS, small(), Type(t.dtype, 1))(q, r)
    assert np.array_equal(found, alone)
    if t.dtype == "float64":
        np.testing.assert_allclose(found, plain(ROOTS, small())(q, r)[0], rtol=1e-14)
        counts = np.rint(found - q - np.sin(q) - np.arange(1, 7))
        assert len(np.unique(counts)) > 3


@kernel
def count_lane(tree: Any, w: Any, k: int) -> None:
    w.counted[k] += 1


@kernel
def count_lanes(tree: Any, w: Any, q: Any, r: Any, y: Any) -> None:
    for k in range(tree.n):
        w.counted[k] = k
        each_lane(count_lane, tree, w, k)
        y[k] = float(w.counted[k])


@pytest.mark.parametrize("t", TYPES)
def test_lanes_one_after_the_other_have_integers_in_common(t: Type) -> None:
    counted = Algorithm("counted", count_lanes, INPUTS, OUTPUTS, {}, SMALL, integers={"counted": ("n",)})
    (found,) = compiled(counted, small(), t)(np.zeros((8, 6), t.dtype), np.zeros((6, 3), t.dtype))
    np.testing.assert_array_equal(found, np.tile(np.arange(6.0) + t.lanes, (8, 1)))


def test_each_lane_passes_tables_and_integers_alone() -> None:
    @kernel
    def passes_a_number(tree: Any, w: Any, q: Any, r: Any, y: Any) -> None:
        each_lane(root_of, tree, w, q[0])

    with pytest.raises(KernelError, match="numbers of the state are in work arrays"):
        compiled(algorithm(passes_a_number), small(), SCALAR)
