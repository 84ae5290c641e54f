# SPDX-License-Identifier: BSD-3-Clause
"""Loading a model with the options of a command, and collecting the warnings on the way."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import linkwork as lw
from linkwork.cli.options import AssemblyOptions, LoadOptions
from linkwork.cli.report import NEUTRAL, ModelReport
from linkwork.cli.terminal import printable, slow_notice
from linkwork.errors import AssemblyError, InputError, LinkworkError, ModelError, ModelWarning, UnsupportedFeature
from linkwork.inputs import plural, suggest

if TYPE_CHECKING:
    from linkwork.mechanism import Mechanism
    from linkwork.model.arrays import Floats


class UsageError(InputError):
    """An option names a property that this file or its format lacks."""


def check_method(name: str, known: Sequence[str]) -> str:
    """The name of a method, or `UsageError` if it is none of those known."""
    if name not in known:
        raise UsageError(f"--method: no method '{name}'{suggest(name, known)} (there are {', '.join(known)})")
    return name


@dataclass(frozen=True)
class ModelRequest:
    """Options of loading a file, and the start pose."""

    load: LoadOptions
    pose: str | None = None
    assembly: AssemblyOptions = field(default_factory=AssemblyOptions)

    def check_pose(self, robot: Mechanism) -> None:
        """Raise `UsageError` for a pose that the robot does not have."""
        known = [NEUTRAL, *robot.poses]
        if self.pose is not None and self.pose not in known:
            near = suggest(self.pose, known)
            raise UsageError(f"--pose: '{robot.name}' has no pose '{self.pose}'{near} (there are {', '.join(known)})")


def analyze_file(file: Path, request: ModelRequest) -> ModelReport:
    """The report on a file."""
    from linkwork.cli.analysis import analyze

    robot, raised = load_model(file, request)
    request.check_pose(robot)
    notes = []
    if request.load.mimic == "ignore":
        notes.append(f"{plural(_count_mimics(file), 'tag')} <mimic> ignored: the joints are free")
    shapes = sum(shape.collides for shape in robot.shapes)
    if shapes and not robot.contacts and request.load.contacts is None:
        notes.append(f"{plural(shapes, 'shape')} for collision, and the file pairs none: see --contacts")
    soft = _softness(file) if robot.contacts else ()
    if soft:
        notes.append(f"contacts are rigid: {', '.join(soft)} of the file act with contact='soft' alone")
    with slow_notice(f"analyzing the loops of '{robot.name}'"):
        return analyze(robot, str(file), request.pose, request.assembly, warnings=raised, notes=notes)


def load_model(file: Path, request: ModelRequest) -> tuple[Mechanism, list[str]]:
    """The mechanism, and the warnings raised while it was loaded."""
    with warnings.catch_warnings(record=True) as caught, slow_notice(f"reading {file}"):
        warnings.simplefilter("always", ModelWarning)
        try:
            robot = lw.load(file, **request.load.arguments())
        except InputError as error:
            raise UsageError(str(error)) from None
    for warning in caught:
        if not issubclass(warning.category, ModelWarning):
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return robot, [str(w.message) for w in caught if issubclass(w.category, ModelWarning)]


def load_moving(file: Path, request: ModelRequest) -> Mechanism:
    """The mechanism, which must have joints."""
    robot, _ = load_model(file, request)
    if robot.nv == 0:
        raise UnsupportedFeature(f"'{robot.name}' has no joints")
    return robot


def start_configuration(robot: Mechanism, request: ModelRequest) -> Floats:
    """The chosen pose, or ``home``, or the first of the file, or the neutral one, with loops closed near it."""
    from linkwork.model.poses import HOME

    request.check_pose(robot)
    home = [HOME] if HOME in robot.poses else []
    candidates = [request.pose] if request.pose is not None else [*home, *robot.poses, NEUTRAL]
    *others, last = candidates
    for name in others:
        try:
            return _closed_near(robot, name, request)
        except AssemblyError:
            continue
    return _closed_near(robot, last, request)


def start_commands(robot: Mechanism, request: ModelRequest) -> Floats | None:
    """Commands of the pose that a simulation starts in, where its file has some."""
    from linkwork.model.poses import HOME

    return robot.commands.get(HOME if request.pose is None else request.pose)


def _closed_near(robot: Mechanism, pose: str, request: ModelRequest) -> Floats:
    q = robot.neutral() if pose == NEUTRAL else robot.poses[pose]
    return robot.assemble(q, limits=not request.assembly.ignore_limits) if robot.nc else robot.normalize(q)


def _softness(file: Path) -> tuple[str, ...]:
    """Attributes of an MJCF file that make contacts soft."""
    from lxml import etree

    said: dict[str, None] = {}
    for _, element in etree.iterparse(str(file), resolve_entities=False, no_network=True, recover=True):
        if element.tag in ("geom", "pair"):
            said |= dict.fromkeys(name for name in ("solref", "solimp", "gap") if name in element.attrib)
    return tuple(said)


def _count_mimics(file: Path) -> int:
    """The number of joints of a loaded file that mimic another."""
    from lxml import etree

    events = etree.iterparse(str(file), resolve_entities=False, no_network=True)
    return sum(str(element.tag).rpartition("}")[2] == "mimic" for _, element in events)


def located_message(file: Path, error: LinkworkError) -> str:
    """The message of an error, beginning with the file."""
    known = isinstance(error, ModelError) and error.file is not None
    return printable(str(error) if known else f"{file}: {error}")
