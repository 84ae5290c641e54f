# SPDX-License-Identifier: BSD-3-Clause
"""Signatures of evaluators whose calls are machine code: what `inspect.signature` and `help` say of them."""

from __future__ import annotations

from collections.abc import Collection
from inspect import Parameter, Signature
from typing import Protocol


class Callee(Protocol):
    """What is called."""

    def call_signature(self) -> Signature:
        """Arguments of a call."""
        ...


class CallSignature:
    """``__signature__`` of evaluators: that of their calls. The class itself has that of its constructor."""

    def __get__(self, evaluator: Callee | None, owner: type) -> Signature:
        if evaluator is None:
            raise AttributeError("__signature__")
        return evaluator.call_signature()


def signature_of(given: Collection[str], held: Collection[str], parameters: Collection[str]) -> Signature:
    """The signature of a call of any program.

    Args:
        given: Names of inputs that callers give, in their order.
        held: Names of inputs that calls may leave out.
        parameters: Names of parameters of the robot that are inputs.
    """
    kind = Parameter.POSITIONAL_OR_KEYWORD
    arguments = [Parameter(name, kind, default=None if name in held else Parameter.empty) for name in given]
    further = [Parameter(name, Parameter.KEYWORD_ONLY, default=None) for name in ("out", *parameters)]
    return Signature([*arguments, *further])
