# SPDX-License-Identifier: BSD-3-Clause
"""Dialects of URDF: what a saved file may hold beyond the standard, and where its loops are.

| dialect      | elements beyond the standard                                   | loops                            |
|--------------|----------------------------------------------------------------|----------------------------------|
| ``standard`` | none: what urdfdom, Pinocchio and ROS read                     | refused                          |
| ``pinocchio``| none                                                           | in a ``robot.yaml`` beside it    |
| ``urdfdom``  | none but the loops                                             | ``<constraint>`` of urdfdom#264  |
| ``linkwork`` | joints and shapes of Drake, armature, springs, surfaces        | ``<loop>`` and ``<coupling>``    |
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from linkwork.errors import InputError
from linkwork.inputs import shown, suggest
from linkwork.model.arrays import Floats
from linkwork.saving.report import Format

DialectName = Literal["standard", "pinocchio", "urdfdom", "linkwork"]
"""Names of dialects."""

Loops = Literal["refused", "robot.yaml", "constraint", "loop"]
"""Where a dialect has its loops."""


@dataclass(frozen=True)
class Dialect:
    """A dialect of URDF.

    Args:
        name: Its name.
        loops: Where it has loops.
        additions: Whether a file may hold joints, shapes and numbers that the standard has not.
    """

    name: DialectName
    loops: Loops
    additions: bool = False

    @property
    def shown(self) -> str:
        """Its name in messages."""
        return "URDF" if self.name == "standard" else f"URDF with dialect='{self.name}'"


STANDARD, LINKWORK = Dialect("standard", "refused"), Dialect("linkwork", "loop", additions=True)
DIALECTS = {
    dialect.name: dialect
    for dialect in (STANDARD, Dialect("pinocchio", "robot.yaml"), Dialect("urdfdom", "constraint"), LINKWORK)
}


@dataclass(frozen=True)
class Target:
    """Where and how a model is saved.

    Args:
        folder: The folder of the file; None: the text alone is wanted.
        drawn: Configuration in which it is drawn, ``(nq,)``.
        dialect: Of URDF.
        package: The package of ROS that meshes of URDF are in.
        alone: Whether no other file can be written beside it.
    """

    folder: Path | None
    drawn: Floats | None = None
    dialect: Dialect = STANDARD
    package: str | None = None
    alone: bool = True


def chosen_dialect(format: Format, strict: bool, dialect: str | None) -> Dialect:
    """The dialect that users ask for.

    Args:
        format: The format that is saved.
        strict: Whether URDF is that of the standard, where no dialect is named.
        dialect: The name of one.
    """
    if dialect is None:
        return STANDARD if strict else LINKWORK
    if format != "urdf":
        raise InputError(f"dialect='{dialect}' is one of URDF, and the format is '{format}'; leave it out")
    if dialect not in DIALECTS:
        names = get_args(DialectName)
        raise InputError(f"dialect is {shown(dialect)}; it is one of {', '.join(names)}{suggest(str(dialect), names)}")
    return DIALECTS[dialect]
