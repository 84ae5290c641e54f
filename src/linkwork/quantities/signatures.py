# SPDX-License-Identifier: BSD-3-Clause
"""Signatures of evaluators whose calls are machine code, for `inspect.signature` and `help`."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import Parameter, Signature, isfunction, signature
from typing import Any, Protocol

from linkwork.quantities.execution import Execution


class Callee(Protocol):
    """The called object: an evaluator."""

    execution: Execution

    @property
    def given_names(self) -> tuple[str, ...]:
        """Names of inputs that callers give, in their order."""
        ...

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the robot that are inputs."""
        ...


class CallSignature:
    """``__signature__`` of evaluators: that of their calls. The class itself has that of its constructor."""

    def __get__(self, evaluator: Callee | None, owner: Any) -> Signature:
        if evaluator is None:
            raise AttributeError("__signature__")
        if isfunction(owner.__call__):
            return signature(owner.__call__.__get__(evaluator))
        held, kind = evaluator.execution.held, Parameter.POSITIONAL_OR_KEYWORD
        parameters = [Parameter(x, kind, default=None if x in held else Parameter.empty) for x in evaluator.given_names]
        named = [Parameter(x, Parameter.KEYWORD_ONLY, default=None) for x in ("out", *evaluator.parameters)]
        return Signature([*parameters, *named])
