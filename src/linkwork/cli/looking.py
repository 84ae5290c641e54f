"""From a file to facts: loading with the options given, and catching the warnings that are raised on the way."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lxml import etree

import linkwork as lw
from linkwork.cli.facts import Facts
from linkwork.cli.finding import CLOSED_TO, NEUTRAL, counted, facts_of
from linkwork.cli.terminal import patience, printable
from linkwork.errors import AssemblyError, InputError, LinkworkError, ModelError, ModelWarning
from linkwork.inputs import suggest
from linkwork.mechanism import Mechanism
from linkwork.model.arrays import Floats


class Misused(InputError):
    """An option asks for what this file or its format does not have."""


@dataclass(frozen=True)
class Look:
    """How to load a file and where to look: options of `linkwork.load` (None: not given), and of `facts_of`."""

    given: Mapping[str, str | None]
    pose: str | None = None
    assemble: bool = True
    limits: bool = True
    tolerance: float = CLOSED_TO

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of `linkwork.load`: those given, so that its defaults are the defaults here."""
        found: dict[str, Any] = {name: word for name, word in self.given.items() if word is not None}
        if found.get("loops") == "none":
            found["loops"] = False
        return found


def look(file: Path, how: Look) -> Facts:
    """All there is to say about a file."""
    robot, raised = read(file, how)
    if how.pose is not None and how.pose != NEUTRAL and how.pose not in robot.poses:
        known = [NEUTRAL, *robot.poses]
        raise Misused(
            f"--pose: '{robot.name}' has no pose '{how.pose}'{suggest(how.pose, known)} (there are {', '.join(known)})"
        )
    notes = []
    if how.options.get("mimic") == "ignore":
        notes.append(f"{counted(_mimics(file), 'tag')} <mimic> ignored: the joints are free")
    with patience(f"looking at the loops of '{robot.name}'"):
        return facts_of(
            robot,
            str(file),
            pose=how.pose,
            assemble=how.assemble,
            limits=how.limits,
            tolerance=how.tolerance,
            warnings=raised,
            notes=notes,
        )


def read(file: Path, how: Look) -> tuple[Mechanism, list[str]]:
    """The mechanism, and the warnings that were raised on the way."""
    with warnings.catch_warnings(record=True) as caught, patience(f"reading {file}"):
        warnings.simplefilter("always", ModelWarning)
        try:
            robot = lw.load(file, **how.options)
        except InputError as error:
            raise Misused(str(error)) from None
    for warning in caught:
        if not issubclass(warning.category, ModelWarning):
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return robot, [str(w.message) for w in caught if issubclass(w.category, ModelWarning)]


def start_of(robot: Mechanism, how: Look) -> Floats:
    """The pose asked for, or the first of the file, or the neutral one, with loops closed near it."""
    known = [NEUTRAL, *robot.poses]
    if how.pose is not None and how.pose not in known:
        raise Misused(f"--pose: '{robot.name}' has no pose '{how.pose}'{suggest(how.pose, known)}")
    wanted = [how.pose] if how.pose is not None else [*robot.poses, NEUTRAL]
    last: AssemblyError | None = None
    for name in wanted:
        q = robot.neutral() if name == NEUTRAL else robot.poses[name]
        try:
            return robot.assemble(q, limits=how.limits) if robot.nc else robot.normalize(q)
        except AssemblyError as error:
            last = error
    assert last is not None
    raise last


def _mimics(file: Path) -> int:
    """How many joints of a file, which has been loaded, mimic another."""
    found = etree.iterparse(str(file), resolve_entities=False, no_network=True)
    return sum(str(element.tag).rpartition("}")[2] == "mimic" for _, element in found)


def placed(file: Path, error: LinkworkError) -> str:
    """The message of an error, beginning with the file."""
    known = isinstance(error, ModelError) and error.file is not None
    return printable(str(error) if known else f"{file}: {error}")
