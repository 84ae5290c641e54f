# SPDX-License-Identifier: BSD-3-Clause
"""The report on a model, as plain values: computed once, then printed as tables or as JSON.

The fields of `ModelReport`, in their order, are the keys of ``linkwork info --json`` (docs/reference/cli.md): adding
one changes the command line's interface, renaming or dropping one breaks it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

NEUTRAL = "neutral"
"""The pose that every model has."""

CLOSED_TOLERANCE = 1e-6
"""A loop whose error (meters or radians) is at most this counts as closed, by default."""


@dataclass(frozen=True)
class JointReport:
    """One joint; a limit is None where there is none."""

    name: str
    type: str
    parent: str
    child: str
    q: tuple[int, int]
    """Where its numbers stand in q: from the first, up to but without the second."""
    v: tuple[int, int]
    lower: tuple[float | None, ...]
    upper: tuple[float | None, ...]
    velocity_limit: tuple[float | None, ...]
    effort_limit: tuple[float | None, ...]
    actuated: bool | None


@dataclass(frozen=True)
class ConstraintReport:
    """One constraint."""

    name: str
    type: str
    rows: int
    enabled: bool
    between: tuple[str, ...]
    """The bodies or frames that it binds, or else the joints."""
    bodies: tuple[str, ...]
    """The bodies that these stand on, or to which these joints lead."""
    root: str
    support: tuple[str, ...]
    """The joints that move it."""
    group: int
    """Its place in `ModelReport.groups`, from 0."""
    gap: float | None
    """Its largest error at the pose looked at first."""


@dataclass(frozen=True)
class GroupReport:
    """Constraints that share joints, directly or through others."""

    constraints: tuple[str, ...]
    joints: tuple[str, ...]
    shared: tuple[str, ...]
    """The joints that more than one of the constraints depends on."""
    top: str


@dataclass(frozen=True)
class PoseReport:
    """Where the mobility was plural."""

    start: str
    """The named pose looked at first."""
    start_gap: float
    """The largest error of an enabled constraint there."""
    assembled: bool
    """Whether the loops, open there, were closed."""
    gap: float
    """The largest error at ``q``."""
    failure: str | None
    """Why the loops could not be closed."""
    q: tuple[float, ...]


@dataclass(frozen=True)
class MobilityReport:
    """Degrees of freedom that the enabled constraints leave at `PoseReport.q`."""

    dof: int
    rows: int
    rank: int
    redundancy: int
    closed: bool
    redundant: dict[str, int]
    conflicting: dict[str, float]
    singular: int
    """Directions that are free at this pose and at none near it."""
    weak: int
    """Directions that are all but free: how much of the rank rests on singular values below `analysis.WEAK`."""


@dataclass(frozen=True)
class MethodReport:
    """The cost of a method of forward dynamics on this mechanism, in exact operations."""

    name: str
    first: int
    """Of the first iteration."""
    iteration: int
    """Of each further one; 0 for a method that does not iterate."""
    chosen: bool
    """Whether ``method="auto"`` takes it."""


@dataclass(frozen=True)
class ActuatorReport:
    """One motor or servo."""

    name: str
    joint: str
    """Or the tendon that it pulls."""
    gear: tuple[float, ...]
    gain: tuple[float, ...]
    bias: tuple[float, ...]
    also: dict[str, float]
    """Gears of further joints that it drives."""
    refused: str
    """Its kind, if its force is not modeled."""


@dataclass(frozen=True)
class SensorReport:
    """One sensor."""

    name: str
    type: str
    of: str
    """The part that it is on; empty for one of the whole robot."""
    refused: str
    """Why it is not computed; empty where it is."""


@dataclass(frozen=True)
class ContactReport:
    """Two shapes that may touch."""

    name: str
    shapes: tuple[str, str]
    """Their names."""
    solids: tuple[str, str]
    """Their kinds: Box, Sphere, and so on."""
    bodies: tuple[str, str]
    slots: int | None
    """Contact points; None: what the shapes need."""
    friction: float
    restitution: float
    compliance: float
    margin: float


@dataclass(frozen=True)
class NamedPoseReport:
    """A configuration that the file names, and how far its loops are open there."""

    name: str
    gap: float
    q: tuple[float, ...]


@dataclass(frozen=True)
class ModelReport:
    """All that ``linkwork info`` says."""

    linkwork: str
    """The version that found these report."""
    file: str
    format: str
    name: str
    bodies: int
    joints: int
    joint_types: dict[str, int]
    nq: int
    nv: int
    nc: int
    mass: float
    gravity: tuple[float, ...]
    coordinates: str
    """Units of q, and how quaternions stand in it."""
    read_as: str
    """The file's notation of angles and quaternions, which are these coordinates after loading."""
    dof: int
    """Degrees of freedom at the pose: nv less the rank of the constraints."""
    pose: PoseReport
    mobility: MobilityReport
    constraints: tuple[ConstraintReport, ...]
    groups: tuple[GroupReport, ...]
    methods: tuple[MethodReport, ...]
    joint_list: tuple[JointReport, ...]
    actuators: tuple[ActuatorReport, ...]
    tendons: tuple[str, ...]
    sensors: tuple[SensorReport, ...]
    poses: tuple[NamedPoseReport, ...]
    contacts: tuple[ContactReport, ...]
    """Pairs of shapes that may touch."""
    warnings: tuple[str, ...]
    """Warnings; ``linkwork check --strict`` treats each as an error."""
    notes: tuple[str, ...]
    """Notes."""

    def as_json(self) -> dict[str, Any]:
        """The report as dictionaries, lists and numbers."""
        return asdict(self)
