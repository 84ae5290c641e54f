# SPDX-License-Identifier: BSD-3-Clause
"""Probes: outputs of a simulation, declared once and evaluated along the run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.errors import InputError
from linkwork.quantities.arguments import Array
from linkwork.simulation.recorder import M


@dataclass(frozen=True, eq=False)
class Probe:
    """An output of simulations: a function of the recorded motion, whose values are kept with it.

    ``lw.Probe("height", lambda run: run.frame_path("tip")[..., 2], unit="m")`` is evaluated at all recorded states when
    the simulation has ended; `Trajectory.probes`, saved files, tables and data frames have it by name.

    Args:
        name: Its name.
        function: ``f(run)``, which returns a number, or a row of numbers, for each recorded state (and robot), such as
            ``run.joint_velocity("crank")``, ``run.reactions["pivot"][..., 3:]`` or ``run.energy["total"]``.
        unit: Of the values, for labels.
    """

    name: str
    function: Callable[[Any], npt.ArrayLike]
    unit: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InputError(f"the name of a probe is {self.name!r}, needs a text")
        if not callable(self.function):
            raise InputError(f"probe '{self.name}' has {self.function!r}, needs a function f(run)")

    def values(self, motion: Any) -> Array:
        """Values along a motion, ``(k, ...)``.

        Args:
            motion: A trajectory.
        """
        values = np.asarray(self.function(motion), dtype=np.float64)
        lead = motion.v.shape[:-1]
        if values.shape[: len(lead)] != lead or values.ndim > len(lead) + 1:
            raise InputError(
                f"probe '{self.name}' returned an array of shape {values.shape}, needs {lead} or {(*lead, 'size')}: "
                "a number or a row of numbers for each recorded state"
            )
        return values


def probes_of(given: Any) -> tuple[Probe, ...]:
    """Probes from the argument of users: probes, or functions by name.

    Args:
        given: Probes, or functions by name; None: none.
    """
    if given is None:
        return ()
    if isinstance(given, Mapping):
        return tuple(Probe(name, function) for name, function in given.items())
    probes = (given,) if isinstance(given, Probe) else tuple(given) if isinstance(given, Iterable) else (given,)
    for one in probes:
        if not isinstance(one, Probe):
            raise InputError(f"probes has {one!r}, needs lw.Probe(name, function)")
    names = [one.name for one in probes]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two probes are called '{name}': give each a name of its own")
    return probes


def probed(motion: M, probes: Iterable[Probe]) -> M:
    """A motion with the values of probes.

    Args:
        motion: The recorded motion.
        probes: Functions that are evaluated along it.
    """
    values = {probe.name: probe.values(motion) for probe in probes}
    units = {probe.name: probe.unit for probe in probes if probe.unit}
    settings = {**motion.settings, "probe_units": units} if units else motion.settings
    return replace(motion, probes=values, settings=settings) if values else motion
