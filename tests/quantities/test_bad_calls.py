# SPDX-License-Identifier: BSD-3-Clause
"""Ten thousand odd and bad calls: each gives the right answer or an InputError, never anything else.

A call starts from good inputs, of which one or two are spoilt. ODD ways of passing numbers must give the right answer,
BAD ones an InputError; with EITHER the library may choose, but not answer wrongly. The oracle is the plain text.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.mechanism import Mechanism
from linkwork.quantities.evaluator import QUANTITIES, Evaluator

Rng = np.random.Generator
ODD, BAD, EITHER = "odd", "bad", "either"
LEADS: list[tuple[int, ...]] = [(), (), (1,), (3,), (2, 2), (1, 1), (9,), (0,)]
CALLS, SHARES = 10_000, 20


@cache
def robot() -> Mechanism:
    """Small, with every kind of number of unit length: a free base, a ball joint, a planar joint and a hinge."""
    build = lw.Builder("odd job")
    for k, joint in enumerate(
        (lw.joints.Free(), lw.joints.Spherical(), lw.joints.Planar("x"), lw.joints.Revolute((1, 2, 3)))
    ):
        build.body(f"body{k}", lw.Inertia.box(1.0 + k, (0.3, 0.2, 0.4), com=(0.1, 0, -0.1)))
        build.joint(f"joint{k}", joint, f"body{k - 1}" if k else "world", f"body{k}", at=(0.1, 0.2, 0.3))
    build.frame("tip", on="body3", at=(0, 0, 0.5))
    build.actuator("servo", "joint3", gain=(5, 0, 0), bias=(0, -5, -1)).actuator("spin", "joint1", gear=(1, 2, 3))
    return build.build()


@cache
def evaluator(quantity: str, way: str) -> Evaluator:
    made: Evaluator
    if quantity == "forward_dynamics":
        made = lw.ForwardDynamics(robot(), wrenches=["tip"])
    elif quantity == "inverse_dynamics":
        made = lw.InverseDynamics(robot(), wrenches=["tip"])
    else:
        takes_frames = quantity.startswith(("frame", "point")) or quantity == "bias_forces"
        made = Evaluator(robot(), quantity, ["tip"] if takes_frames else [])
    return {"plain": made.plain, "native": lambda: made, "specialized": lambda: made.compile(lanes=4)}[way]()


def good_inputs(quantity: str, rng: Rng, lead: tuple[int, ...]) -> dict[str, Any]:
    sizes = {"nq": robot().nq, "nv": robot().nv, "nf": 1, "ncommands": len(robot().actuators) + robot().na}
    found = {}
    for name, shape in QUANTITIES[quantity].inputs.items():
        tail = tuple(sizes[n] if isinstance(n, str) else n for n in shape)
        own = lead if name == "q" else lead[int(rng.integers(len(lead) + 1)) :]
        found[name] = rng.normal(size=(*own, *tail))
    return found


# Ways to spoil an array --------------------------------------------------------------------------------


class Mine(np.ndarray):
    """A subclass that would notice if arithmetic went through it."""

    def __array_ufunc__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("no arithmetic here")


def strided(x: Any, rng: Rng) -> Any:
    wide = np.full((*x.shape, 2), np.nan)
    wide[..., 0] = x
    return wide[..., 0]


def backwards(x: Any, rng: Rng) -> Any:
    return x[..., ::-1].copy()[..., ::-1]


def read_only(x: Any, rng: Rng) -> Any:
    x = x.copy()
    x.setflags(write=False)
    return x


def unaligned(x: Any, rng: Rng) -> Any:
    raw = np.zeros(x.nbytes + 1, dtype=np.uint8)[1:]
    y = raw.view(np.float64).reshape(x.shape)
    y[...] = x
    return y


def at_random_place(x: Any, rng: Rng, value: Any) -> Any:
    x = x.copy()
    if x.size:
        x.reshape(-1)[int(rng.integers(x.size))] = value
    return x


def with_units(x: Any, scale: float) -> Any:
    x = x.copy()
    at = robot().unit_slices()[1]
    x[..., at] *= scale
    return x


SPOIL: dict[str, tuple[str, Callable[[Any, Rng], Any]]] = {
    "list": (ODD, lambda x, rng: x.tolist() if x.size else x),
    "strided": (ODD, strided),
    "backwards": (ODD, backwards),
    "fortran": (ODD, lambda x, rng: np.asfortranarray(x)),
    "read-only": (ODD, read_only),
    "unaligned": (ODD, unaligned),
    "big-endian": (ODD, lambda x, rng: x.astype(">f8")),
    "long double": (ODD, lambda x, rng: x.astype(np.longdouble)),
    "subclass": (ODD, lambda x, rng: x.view(Mine)),
    "pickled": (ODD, lambda x, rng: pickle.loads(pickle.dumps(x))),
    "own dtype object": (ODD, lambda x, rng: x.astype(np.dtype("f8").newbyteorder("="))),
    "single": (ODD, lambda x, rng: x.astype(np.float32)),
    "half": (ODD, lambda x, rng: x.astype(np.float16)),
    "whole": (ODD, lambda x, rng: np.where(rng.random(x.shape) < 0.5, -2, 3)),
    "small unsigned": (ODD, lambda x, rng: np.full(x.shape, 2, dtype=np.uint8)),
    "broadcast": (ODD, lambda x, rng: np.broadcast_to(x, (1, *x.shape))),
    "other batch": (EITHER, lambda x, rng: np.broadcast_to(x, (4, *x.shape))),
    "short": (BAD, lambda x, rng: x[..., :-1]),
    "long": (BAD, lambda x, rng: np.concatenate([x, x[..., :1]], axis=-1)),
    "empty": (BAD, lambda x, rng: np.zeros(0)),
    "number": (BAD, lambda x, rng: 1.0),
    "0-d": (BAD, lambda x, rng: np.array(1.0)),
    "none": (EITHER, lambda x, rng: None),
    "text": (BAD, lambda x, rng: "q"),
    "texts": (BAD, lambda x, rng: np.full(x.shape, "1.0")),
    "bytes": (BAD, lambda x, rng: b"\0" * 8),
    "dictionary": (BAD, lambda x, rng: {"q": 1}),
    "function": (BAD, lambda x, rng: len),
    "ragged": (BAD, lambda x, rng: [[1.0], [1.0, 2.0]]),
    "complex": (BAD, lambda x, rng: x.astype(np.complex128)),
    "dates": (BAD, lambda x, rng: np.zeros(x.shape, dtype="M8[s]")),
    "record": (BAD, lambda x, rng: np.zeros(x.shape, dtype=[("a", "f8")])),
    "objects": (EITHER, lambda x, rng: x.astype(object)),
    "truths": (EITHER, lambda x, rng: np.ones(x.shape, dtype=bool)),
    "nan": (BAD, lambda x, rng: at_random_place(x, rng, np.nan)),
    "infinity": (BAD, lambda x, rng: at_random_place(x, rng, -np.inf)),
    "too large": (BAD, lambda x, rng: np.full(x.shape, np.longdouble("1e4000"))),
    "whole too large": (BAD, lambda x, rng: [10**400] * x.shape[-1]),
    "huge": (EITHER, lambda x, rng: x * 1e200),
    "tiny": (ODD, lambda x, rng: x * 1e-3),
}
UNITS: dict[str, tuple[str, Callable[[Any, Rng], Any]]] = {
    "zero quaternion": (BAD, lambda x, rng: with_units(x, 0.0)),
    "tiny quaternion": (BAD, lambda x, rng: with_units(x, 1e-9)),
    "long quaternion": (ODD, lambda x, rng: with_units(x, 1e6)),
    "huge quaternion": (EITHER, lambda x, rng: with_units(x, 1e200)),
    "all zero": (BAD, lambda x, rng: x * 0.0),
}
"""For q alone."""


def could_hold(x: Any, y: Any) -> bool:
    return type(x) is np.ndarray and x.shape == y.shape and x.dtype == y.dtype and x.flags.writeable


OUT: dict[str, tuple[str, Callable[[Any, dict[str, Any]], Any]]] = {
    "good": (ODD, lambda y, given: np.empty_like(y)),
    "fortran": (ODD, lambda y, given: np.empty_like(y, order="F")),
    "strided": (ODD, lambda y, given: np.empty((*y.shape, 3))[..., 1]),
    "overlapping": (ODD, lambda y, given: next((x for x in given.values() if could_hold(x, y)), np.empty_like(y))),
    "subclass": (EITHER, lambda y, given: np.empty_like(y).view(Mine)),
    "wrong shape": (BAD, lambda y, given: np.empty((*y.shape, 1))),
    "wrong dtype": (BAD, lambda y, given: np.empty(y.shape, np.float32)),
    "big-endian": (BAD, lambda y, given: np.empty(y.shape, ">f8")),
    "read-only": (BAD, lambda y, given: read_only(y, np.random.default_rng(0))),
    "list": (BAD, lambda y, given: y.tolist()),
    "number": (BAD, lambda y, given: 5),
}


def clean(name: str, x: Any) -> Any:
    """What an argument means: float64, C-contiguous, quaternions of unit length (and no overflow on the way)."""
    y = np.array(x, dtype=np.float64)
    if name == "q":
        for at in robot().unit_slices():
            y[..., at] /= np.abs(y[..., at]).max(axis=-1, keepdims=True)
            y[..., at] /= np.linalg.norm(y[..., at], axis=-1, keepdims=True)
    return y


@cache
def plain_answer(quantity: str, content: bytes, shapes: tuple[tuple[int, ...], ...]) -> list[Any]:
    flat, at, arrays = np.frombuffer(content), 0, []
    for shape in shapes:
        size = int(np.prod(shape, dtype=int))
        arrays.append(flat[at : at + size].reshape(shape))
        at += size
    return unpacked(evaluator(quantity, "plain")(*arrays))


def unpacked(found: Any) -> list[Any]:
    found = getattr(found, "acceleration", found)
    return list(found) if isinstance(found, tuple) else [found]


def right(quantity: str, given: dict[str, Any], found: list[Any], double: bool) -> bool:
    """Whether results are as they should be; in ``double`` precision where code or outputs are."""
    arrays = [clean(name, x) for name, x in given.items()]
    content = b"".join(a.tobytes() for a in arrays)
    expected = plain_answer(quantity, content, tuple(a.shape for a in arrays))
    pairs = zip(found, expected, strict=True)
    # 1e-11: 'huge' numbers are judged relative to the largest of the result as all others. Where all that was given is
    # in single precision, so is the result: it has the digits that the condition of the robot leaves of 6e-8.
    single = not double and all(getattr(x, "dtype", None) == np.float32 for x in given.values())
    if any(y.dtype != (np.float32 if single else np.float64) for y in found):
        return False
    allowed = 1e-3 if single else 1e-11
    return all(
        y.shape == e.shape and np.abs(y - e).max(initial=0) <= allowed * np.abs(e).max(initial=1e-3) for y, e in pairs
    )


def one_call(rng: Rng) -> str | None:
    """Make one call; what was wrong with its outcome, if anything."""
    quantity, way = str(rng.choice(list(QUANTITIES))), str(rng.choice(["native", "specialized"]))
    given = good_inputs(quantity, rng, LEADS[int(rng.integers(len(LEADS)))])
    verdict, story = ODD, [quantity, way]
    empty = any(np.size(x) == 0 for x in given.values())
    for name in rng.permutation(list(given))[: int(rng.integers(1, 3))].tolist():
        kinds = {**SPOIL, **UNITS} if name == "q" else SPOIL
        kind = str(rng.choice(list(kinds)))
        how, spoil = kinds[kind]
        with np.errstate(all="ignore"):
            given[name] = spoil(given[name], rng)
        story.append(f"{name} {kind}")
        how = EITHER if how == BAD and empty else how  # nothing to find in no states
        verdict = max(verdict, how, key=[ODD, EITHER, BAD].index)
    out: Any = None
    if rng.random() < 0.3 and verdict == ODD:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            shapes = unpacked(evaluator(quantity, "native")(*(clean(n, x) for n, x in given.items())))
        kind = str(rng.choice(list(OUT)))
        if kind == "wrong dtype" and all(getattr(x, "dtype", None) == np.float32 for x in given.values()):
            return None  # all in single precision: the right one
        verdict, make = OUT[kind]
        made = [make(shapes[0], given), *(np.empty_like(y) for y in shapes[1:])]
        out = made[0] if len(made) == 1 or kind == "number" else made
        story.append(f"out {kind}")
    meant = {name: np.copy(x) if isinstance(x, np.ndarray) else x for name, x in given.items()}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = unpacked(evaluator(quantity, way)(*given.values(), out=out))
    except lw.errors.InputError as error:
        if verdict == ODD:
            return f"{story}: refused, {error}"
        return None if len(str(error)) > 15 else f"{story}: says only '{error}'"
    except BaseException as error:
        return f"{story}: {type(error).__name__} {error}"
    if verdict == BAD:
        return f"{story}: accepted"
    if not all(np.isfinite(np.asarray(y)).all() for y in found):
        return f"{story}: NaN"
    if any("none" in part for part in story):
        meant = {name: np.zeros((1, 6)) if x is None else x for name, x in meant.items()}
    if any("huge" in part and "quaternion" not in part for part in story):
        return None  # finite, and as right as cancellation lets it be
    written = way != "native" or out is not None
    return None if right(quantity, meant, [np.asarray(y) for y in found], written) else f"{story}: wrong"


@pytest.mark.parametrize("share", range(SHARES))
def test_odd_calls_are_answered_and_bad_calls_refused(share: int) -> None:
    rng = np.random.default_rng([share, 4242])
    wrong = [problem for _ in range(CALLS // SHARES) if (problem := one_call(rng)) is not None]
    assert not wrong, "\n".join(sorted(set(wrong))[:40])
