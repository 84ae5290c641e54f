# SPDX-License-Identifier: BSD-3-Clause
"""Trajectories in files: one ``.npz``, or one ``.parquet`` or ``.csv`` with a column for each number."""

from __future__ import annotations

import csv
import io
import json
import os
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.errors import InputError, LinkworkError, UnsupportedFeature
from linkwork.model.model import Model
from linkwork.quantities.arguments import Array
from linkwork.simulation.tables import CONTACTS, OPTIONAL, PROBE, Arrays, columns

FORMAT = 3
"""Of saved files. Since format 3, rows about contacts have lists of contact points."""
RENAMED = {
    "tolerance": "accuracy",
    "contact_tolerance": "tolerance",
    "contact_iterations": "max_iterations",
    "iterations": "max_iterations",
}
"""Names of settings since format 2, by those of format 1."""
BY_SLOTS = {"contact_rows": "slots"}
"""A setting of trajectories whose rows about contacts are by slots, as before format 3; a robot makes lists of them."""
KINDS = (".npz", ".parquet", ".csv")
"""Files that are written; the last holds numbers alone, and is not read again."""
ARRAYS = ("times", "q", "v", "tau", "multipliers")
WORDS = b"linkwork"
"""Key of a trajectory's metadata in a Parquet file."""


def write(path: str | os.PathLike[str], words: dict[str, Any], arrays: Arrays, robot: Model | None) -> Path:
    """Write a trajectory; an older file is replaced only when the new one is whole."""
    place = Path(path)
    if not place.name:
        raise InputError(f"path is {os.fspath(path)!r}, needs the name of a file")
    if not place.suffix:
        place = place.with_name(place.name + KINDS[0])
    if place.suffix.lower() not in KINDS:
        raise InputError(f"{place} ends in '{place.suffix}'; trajectories are saved as {', '.join(KINDS)}")
    words = {"format": FORMAT, **words}
    if place.suffix.lower() == ".csv":
        return _whole(place, lambda file: _write_csv(file, columns(arrays, robot)))
    if place.suffix.lower() == ".parquet":
        parquet = _parquet()  # or it is missed before a file is begun
        table = _table(words, arrays, robot)
        return _whole(place, lambda file: parquet.write_table(table, file, compression="zstd"))
    about: dict[str, Any] = {"about": json.dumps(words), **arrays}
    return _whole(place, lambda file: np.savez_compressed(file, **about))


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Metadata and arrays of a trajectory."""
    if Path(path).suffix.lower() == ".csv":
        raise InputError(
            f"{path} has numbers alone, for tools that read tables; save a trajectory that is to be loaded as .npz"
        )
    try:
        if Path(path).suffix.lower() == ".parquet":
            words, arrays = _from_table(_parquet().read_table(os.fspath(path)))
        elif Path(path).exists() and not zipfile.is_zipfile(path):
            raise ValueError("it is not a whole .npz file")
        else:
            with np.load(path, allow_pickle=False) as kept:
                words = json.loads(str(kept["about"]))
                arrays = {name: kept[name] for name in (*ARRAYS, *OPTIONAL) if name in kept or name in ARRAYS}
                arrays |= {name: kept[name] for name in kept if name.startswith(PROBE)}
    except (OSError, KeyError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"{path} is no saved trajectory: {error}") from None
    if words["format"] > FORMAT:
        raise InputError(f"{path} was saved by a later version of linkwork")
    if words["format"] < 2 and "integrator" in words["settings"]:
        words["settings"] = {RENAMED.get(name, name): value for name, value in words["settings"].items()}
    if words["format"] < 3 and CONTACTS in arrays:
        words["settings"] |= BY_SLOTS
    return words, arrays


def _whole(place: Path, put: Callable[[Any], object]) -> Path:
    temporary = place.with_name(f"{place.name}.{os.urandom(8).hex()}.part")
    try:
        with temporary.open("xb") as file:  # with the permissions of the umask
            put(file)
        temporary.replace(place)
    except OSError as error:
        raise LinkworkError(f"cannot save the trajectory to {place}: {error.strerror or error}") from None
    finally:
        with suppress(OSError):  # it was moved, or never made
            temporary.unlink()
    return place


# Tables ---------------------------------------------------------------------------------------------------


def _parquet() -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise UnsupportedFeature("Parquet files need pyarrow: pip install 'linkwork[parquet]'") from None
    return pyarrow.parquet


def _table(words: dict[str, Any], arrays: Arrays, robot: Model | None) -> Any:
    """Columns as Parquet keeps them, with the metadata of the trajectory."""
    import pyarrow

    shapes = {name: array.shape for name, array in arrays.items()}
    about = {WORDS: json.dumps({**words, "shapes": shapes}).encode()}
    return pyarrow.table(columns(arrays, robot)).replace_schema_metadata(about)


def _write_csv(file: Any, columns: dict[str, Array]) -> None:
    """A line of names, and a line for each row: numbers to the last digit, empty where there is none."""
    lines = io.TextIOWrapper(file, encoding="utf-8", newline="")
    table = csv.writer(lines)
    table.writerow(columns)
    for row in zip(*(column.tolist() for column in columns.values()), strict=True):
        table.writerow("" if x != x else x for x in row)
    lines.detach()


def _from_table(table: Any) -> tuple[dict[str, Any], dict[str, Array]]:
    words = json.loads((table.schema.metadata or {})[WORDS])
    shapes = words.pop("shapes")
    times, batch = shapes["times"][0], shapes["q"][1:-1]
    columns = [np.asarray(column) for column in table.columns]
    many = int(np.prod(batch, dtype=np.int64))
    arrays, at = {"times": columns[0][::many] if many else np.zeros(times)}, 2 if batch else 1
    for name in [name for name in shapes if name != "times"]:
        width = shapes[name][-1] if len(shapes[name]) > 1 + len(batch) else 1
        rows = np.stack(columns[at : at + width], axis=-1) if width else np.zeros(0)
        arrays[name], at = rows.reshape(shapes[name]), at + width
    return words, arrays
