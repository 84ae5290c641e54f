# SPDX-License-Identifier: BSD-3-Clause
"""Trajectories as tables: columns with names, data frames of pandas, datasets of xarray."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.errors import UnsupportedFeature
from linkwork.model.model import Model
from linkwork.quantities.arguments import Array

if TYPE_CHECKING:
    import pandas
    import xarray

Arrays = Mapping[str, Array]
"""Recorded quantities: times first."""

COMMANDS, CONTACTS, ACT, ENABLED = "commands", "contact_state", "act", "enabled"
OPTIONAL = (COMMANDS, CONTACTS, ACT, ENABLED)
"""Arrays that only trajectories under commands have, those with contacts, those of actuators with activations, and
those whose events switch constraints."""
PROBE = "probe."
"""Arrays with names that begin so are values of probes."""


def columns(arrays: Arrays, robot: Model | None) -> dict[str, Array]:
    """A row for each time, or for each robot at each time; columns are called after joints and constraints.

    Args:
        arrays: Recorded arrays.
        robot: The mechanism; None: it is not known, and columns are numbered.
    """
    batch = arrays["q"].shape[1:-1]
    many = int(np.prod(batch, dtype=np.int64))
    table = {"time": np.repeat(arrays["times"], many)}
    if batch:
        table["robot"] = np.tile(np.arange(many), len(arrays["times"]))
    for name in list(arrays)[1:]:
        width = arrays[name].shape[1 + len(batch) :]
        numbers = int(np.prod(width, dtype=np.int64))
        flat = arrays[name].reshape(len(table["time"]), numbers)
        called = [name] if not width else names_of(name, numbers, robot)
        table |= {one: flat[:, k] for k, one in enumerate(called)}
    return table


def names_of(array: str, width: int, robot: Model | None) -> list[str]:
    """Of the columns of an array.

    Args:
        array: Its name.
        width: Its length for each state.
        robot: The mechanism; None: it is not known.
    """
    if robot is None or array == CONTACTS or array.startswith(PROBE):
        return [f"{array}[{k}]" for k in range(width)]
    if array == "multipliers":
        parts = [(c.name, c.rows) for c in robot.constraints]
        return [f"force.{name}[{k}]" for name, rows in parts for k in range(rows)]
    if array == ACT:
        return [f"act.{state}" for actuator in robot.actuators for state in actuator.states]
    if array == ENABLED:
        return [f"enabled.{c.name}" for c in robot.constraints]
    if array == COMMANDS:
        return [f"command.{actuator.name}" for actuator in robot.actuators]
    sizes = [(j.name, j.type.nq if array == "q" else j.type.nv) for j in robot.joints]
    return [f"{array}.{name}" + (f"[{k}]" if n > 1 else "") for name, n in sizes for k in range(n)]


def data_frame(arrays: Arrays, robot: Model | None) -> pandas.DataFrame:
    """All columns as a data frame, indexed by time, and by robot where there are several.

    Args:
        arrays: Recorded arrays.
        robot: The mechanism.
    """
    try:
        import pandas
    except ImportError:
        raise UnsupportedFeature("data frames need pandas: pip install pandas") from None
    index = ["time", "robot"] if arrays["q"].ndim > 2 else "time"
    return pandas.DataFrame(columns(arrays, robot)).set_index(index)


def dataset(arrays: Arrays, robot: Model | None, settings: Mapping[str, Any]) -> xarray.Dataset:
    """All arrays as a dataset over time (and robot), columns with names.

    Args:
        arrays: Recorded arrays.
        robot: The mechanism.
        settings: Settings of the run; those that are numbers and words become attributes.
    """
    try:
        import xarray
    except ImportError:
        raise UnsupportedFeature("datasets need xarray: pip install xarray") from None
    lead = ["time", "robot"][: arrays["q"].ndim - 1]
    variables: dict[str, Any] = {}
    coordinates: dict[str, Any] = {"time": arrays["times"]}
    for name, array in list(arrays.items())[1:]:
        if array.ndim == len(lead):
            variables[name] = (lead, array)
            continue
        variables[name] = ([*lead, f"{name}_column"], array)
        coordinates[f"{name}_column"] = names_of(name, array.shape[-1], robot)
    about = {name: value for name, value in settings.items() if isinstance(value, (str, int, float))}
    return xarray.Dataset(variables, coordinates, about)
