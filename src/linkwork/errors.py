# SPDX-License-Identifier: BSD-3-Clause
"""Errors and warnings of linkwork. A message has the value, the requirement, and a remedy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

__all__ = [
    "AssemblyError",
    "CannotSave",
    "DeviceError",
    "InputError",
    "KernelError",
    "LinkworkError",
    "ModelError",
    "ModelWarning",
    "NotConverged",
    "NotFinite",
    "ProgramTooLarge",
    "SimulationWarning",
    "SingularConstraints",
    "SingularMassMatrix",
    "StateWarning",
    "TopologyError",
    "UnknownName",
    "UnknownOption",
    "UnsupportedFeature",
    "WrongOperand",
]


def __dir__() -> list[str]:
    return __all__


class LinkworkError(Exception):
    """Base of all errors raised by linkwork."""

    trajectory: Any = None
    """The `Trajectory` up to the error, where it ended a simulation or a sweep."""


class ModelError(LinkworkError):
    """A mechanism or a model file is wrong.

    Args:
        message: The mistake.
        file: The model file, if the mechanism comes from one.
        line: The line in it.
        element: The element in it.
        subject: Name of the body, joint or frame at fault, where there is one.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | Path | None = None,
        line: int | None = None,
        element: str | None = None,
        subject: str | None = None,
    ) -> None:
        self.file = str(file) if file is not None else None
        self.line = line
        self.element = element
        self.subject = subject
        where = ":".join(str(part) for part in (self.file, line) if part is not None)
        tag = f"<{element}>" if element else ""
        prefix = " ".join(part for part in (where, tag) if part)
        super().__init__(f"{prefix}: {message}" if prefix else message)


class UnsupportedFeature(ModelError):
    """A feature that changes the dynamics and that linkwork does not support."""


class CannotSave(ModelError):
    """A property of a mechanism that changes its dynamics and that a file format lacks; no file was written.

    Args:
        message: The property, its place, and formats that have it.
        format: The format.
        kinds: Kinds of properties that are refused: words of ``drop``, and joints, bodies, names.
        refused: Each of them: its kind, its place, and a description.
    """

    def __init__(
        self, message: str, *, format: str = "", kinds: tuple[str, ...] = (), refused: tuple[Any, ...] = ()
    ) -> None:
        super().__init__(message)
        self.format, self.kinds, self.refused = format, kinds, refused


class TopologyError(ModelError):
    """Bodies and joints do not form a valid kinematic graph."""


class InputError(LinkworkError, ValueError):
    """An argument of a call has the wrong shape, type or value."""


class UnknownOption(InputError, TypeError):
    """A call has a keyword that the function does not take."""


class WrongOperand(InputError, TypeError):
    """An operator such as ``*`` or ``+`` stands between objects that it does not combine."""


class UnknownName(InputError, KeyError):
    """A name that a mechanism does not have."""

    __str__ = Exception.__str__  # a KeyError shows its message in quotes


class NotFinite(InputError):
    """A result overflows floating-point numbers."""


class ProgramTooLarge(LinkworkError):
    """The straight-line program of a mechanism would exceed the maximum number of operations."""


class DeviceError(LinkworkError):
    """No GPU, no driver, or a failed call of the driver."""


class KernelError(LinkworkError):
    """Kernel code that is outside the kernel language.

    Args:
        message: The feature.
        kernel: Name of the function.
        file: Where it is.
        line: The line in that file.
        text: The line itself.
    """

    def __init__(
        self,
        message: str,
        *,
        kernel: str | None = None,
        file: str | None = None,
        line: int | None = None,
        text: str | None = None,
    ) -> None:
        self.kernel, self.file, self.line, self.text = kernel, file, line, text
        where = ":".join(str(part) for part in (file, line) if part is not None)
        inside = f" in kernel '{kernel}'" if kernel else ""
        shown = f"\n    {text}" if text else ""
        super().__init__(f"{where}{inside}: {message}{shown}" if where or inside else message)


class AssemblyError(LinkworkError):
    """The loops of a mechanism could not be closed.

    Args:
        message: The finding.
        constraint: Name of the constraint that is farthest from closed.
        gap: Its largest error.
        q: The best configuration found; of a batch, all states, those that were closed among them.
        closed: Of a batch, which states were closed.
        alone: Constraints that could not be closed even with all others left open, and how far off each of them
            stayed.
    """

    def __init__(
        self,
        message: str,
        *,
        constraint: str | None = None,
        gap: float | None = None,
        q: object = None,
        closed: object = None,
        alone: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        super().__init__(message)
        self.constraint = constraint
        self.gap = gap
        self.q = q
        self.closed = closed
        self.alone = dict(alone)


class SingularMassMatrix(LinkworkError):
    """The mass matrix is singular: a joint moves no mass, and its acceleration is undetermined.

    Args:
        message: The finding.
        joint: Name of the joint.
    """

    def __init__(self, message: str, joint: str | None = None) -> None:
        super().__init__(message)
        self.joint = joint


class SingularConstraints(LinkworkError):
    """Constraints are linearly dependent, and the method needs independent ones."""


class NotConverged(LinkworkError):
    """An iteration did not reach its tolerance (raised with ``strict=True`` only)."""


class StateWarning(UserWarning):
    """A state violates constraints, or a solution is not exact: open loops, unsolved contacts."""


class SimulationWarning(UserWarning):
    """A simulation ended early: its state became infinite or NaN."""


class ModelWarning(UserWarning):
    """A model has an implausible value, or a property that is not modeled."""
