# SPDX-License-Identifier: BSD-3-Clause
"""Models as plain data, and back: numbers, texts, lists and objects of JSON, from which the same model is made.

| plain                               | value                                                            |
|-------------------------------------|------------------------------------------------------------------|
| number, text, true, null            | itself; ``{"number": "inf"}`` where JSON has none                |
| ``[...]``                           | tuple                                                            |
| ``{"items": {...}}``                | mapping by name; ``{"pairs": [[key, value], ...]}`` by others    |
| ``{"array": [...], "shape": ...}``  | array; ``"base64"`` in place of ``"array"`` if it is large       |
| ``{"file": "..."}``                 | path, relative to the folder of the file                         |
| ``{"class": "Drive", ...}``         | object of `TYPES`; fields left out have their defaults           |
| ``{"same": 3}``                     | the object whose ``"id"`` is 3                                   |

Functions of Python are recordings (`recordings`). Floats are written so that they are read back to the last bit.
"""

from __future__ import annotations

import base64
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from linkwork.errors import ModelError
from linkwork.inputs import shown, suggest
from linkwork.model.contacts import ContactPairs
from linkwork.model.functions import Tape
from linkwork.model.mesh_files import Triangles
from linkwork.model.model import Model
from linkwork.model.profiles import curve_or_function
from linkwork.model.recordings import recorded

HEADER = "linkwork"
"""The first key of a file, whose value is the format."""
FORMAT = 1
"""Of these data; a later one may have more."""
LARGE = 1000
"""Arrays of more numbers are written in base64."""
MODULES = (
    *("activations", "contacts", "inertia", "joints", "machines.cams", "medium", "motors", "muscles"),
    *("networks", "parts", "placement", "profiles", "recordings", "sensors", "shapes", "soft_contact", "tendons"),
    "transmissions",
    *(f"constraints.{name}" for name in ("combinations", "couplings", "drives", "functions", "pairs", "tendons")),
    *(f"forces.{name}" for name in ("friction", "springs", "wrenches")),
)
"""Modules of the model whose data classes are parts of models."""
TUPLES: tuple[type, ...] = (Tape, Triangles)
"""Named tuples that are."""


@cache
def types() -> Mapping[str, type]:
    """Classes of the parts of models, by name."""
    classes: dict[str, type] = {one.__name__: one for one in (*TUPLES, ContactPairs)}
    for name in MODULES:
        module = import_module(f"linkwork.model.{name}")
        for one in vars(module).values():
            if (
                isinstance(one, type)
                and is_dataclass(one)
                and one.__module__ == module.__name__
                and one.__name__[0] != "_"
            ):
                classes[one.__name__] = one
    return MappingProxyType(classes)


def plain_model(model: Model, folder: Path | None = None) -> dict[str, Any]:
    """A model as plain data.

    Args:
        model: The model.
        folder: Folder that paths of files are relative to; by default they are absolute.
    """
    writer = _Writer(folder)
    return {name: writer.plain(getattr(model, name), name) for name in _given(Model)}


def model_fields(data: Mapping[str, Any], folder: Path | None = None) -> dict[str, Any]:
    """The fields of a model from plain data.

    Args:
        data: Result of `plain_model`.
        folder: Folder that paths of files are relative to.
    """
    known = _given(Model)
    for name in data:
        if name not in known:
            raise ModelError(f"a model has no field {shown(name)}{suggest(name, known)}")
    reader = _Reader(folder)
    return {name: reader.value(data[name], name) for name in known if name in data}


def _given(cls: type) -> tuple[str, ...]:
    """Fields of a class that its constructor takes."""
    return tuple(one.name for one in fields(cls) if one.init)


@cache
def _kept(cls: type) -> Mapping[str, Any]:
    """Fields of a class that are written, with their defaults; tapes of functions are recorded again."""
    if cls is ContactPairs:
        return dict.fromkeys(("shapes", "first", "second", "numbers", "kind", "names"), MISSING)
    if not is_dataclass(cls):
        return dict.fromkeys(cls._fields, MISSING)  # type: ignore[attr-defined]
    kept = (one for one in fields(cls) if one.init or one.name != "tape")
    return {one.name: one.default_factory() if callable(one.default_factory) else one.default for one in kept}


class _Writer:
    """Writes values; objects that come twice are written once."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.written: dict[int, tuple[Any, dict[str, Any]]] = {}
        self.shared = 0

    def plain(self, value: Any, where: str) -> Any:
        """A value as plain data.

        Args:
            value: The value.
            where: Name in errors.
        """
        match value:
            case None | bool() | str():
                return value
            case np.generic():
                return self.plain(value.item(), where)
            case int():
                return value
            case float():
                return value if math.isfinite(value) else {"number": str(value)}
            case Path():
                return {"file": self._path(value)}
            case np.ndarray():
                return _plain_array(value)
            case Mapping():
                return self._mapping(value, where)
            case _ if is_dataclass(value) or isinstance(value, (*TUPLES, ContactPairs)):
                return self._object(value, where)
            case tuple() | list():
                return [self.plain(one, f"{where}[{k}]") for k, one in enumerate(value)]
        raise ModelError(f"{where} is {type(value).__name__}, which cannot be saved")

    def _mapping(self, value: Mapping[Any, Any], where: str) -> dict[str, Any]:
        if all(isinstance(key, str) for key in value):
            return {"items": {key: self.plain(one, f"{where}['{key}']") for key, one in value.items()}}
        return {"pairs": [[self.plain(key, where), self.plain(one, f"{where}[{key}]")] for key, one in value.items()]}

    def _object(self, value: Any, where: str) -> dict[str, Any]:
        if id(value) in self.written:
            data = self.written[id(value)][1]
            if "id" not in data:
                data["id"] = self.shared
                self.shared += 1
            return {"same": data["id"]}
        cls: type = type(value)
        if types().get(cls.__name__) is not cls:
            raise ModelError(f"{where} is a {cls.__name__}, which is not a class of linkwork and cannot be saved")
        data = {"class": cls.__name__}
        self.written[id(value)] = (value, data)  # with the value, so that no other one has its id
        takes = getattr(value, "function_takes", (1,))
        for name, default in _kept(cls).items():
            part = getattr(value, name)
            if callable(part):
                part = recorded(curve_or_function(part), takes)
            if not _same(part, default):
                data[name] = self.plain(part, f"{where}.{name}")
        return data

    def _path(self, file: Path) -> str:
        whole = file.resolve()
        return whole.as_posix() if self.folder is None else Path(os.path.relpath(whole, self.folder)).as_posix()


def _same(value: Any, default: Any) -> bool:
    """Whether a field may be left out."""
    if isinstance(value, tuple) and isinstance(default, tuple):
        return len(value) == len(default) and all(map(_same, value, default))
    return type(value) is type(default) and isinstance(value, (type(None), bool, int, float, str)) and value == default


def _plain_array(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    kind = {} if array.dtype == np.float64 else {"of": array.dtype.name}
    if array.dtype.kind not in "fiub":
        raise ModelError(f"an array of {array.dtype.name}, which cannot be saved")
    shape = {} if array.ndim == 1 else {"shape": list(array.shape)}
    if array.size > LARGE:
        little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        return {"base64": base64.b64encode(little.tobytes()).decode(), **shape, **kind}
    numbers = [x if math.isfinite(x) else str(x) for x in array.ravel().tolist()]
    return {"array": numbers, **shape, **kind}


class _Reader:
    """Makes values from plain data."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.shared: dict[int, Any] = {}

    def value(self, data: Any, where: str) -> Any:
        """The value that data stand for.

        Args:
            data: As `_Writer.plain` returns them.
            where: Name in errors.
        """
        match data:
            case None | bool() | str() | int() | float():
                return data
            case list():
                return tuple(self.value(one, f"{where}[{k}]") for k, one in enumerate(data))
            case {"class": str(name)}:
                return self._object(data, name, where)
            case {"number": str(text)}:
                return float(text)
            case {"file": str(path)}:
                return Path(path) if self.folder is None else Path(os.path.normpath(self.folder / path))
            case {"items": dict(items)}:
                return {key: self.value(one, f"{where}['{key}']") for key, one in items.items()}
            case {"pairs": list(pairs)}:
                return {self.value(key, where): self.value(one, f"{where}[{key}]") for key, one in pairs}
            case {"array": _} | {"base64": _}:
                return _array(data, where)
            case {"same": int(number)} if number in self.shared:
                return self.shared[number]
        raise ModelError(f"{where} is {shown(data)}, which encodes no value")

    def _object(self, data: dict[str, Any], name: str, where: str) -> Any:
        cls = types().get(name)
        if cls is None:
            raise ModelError(f"{where}: linkwork has no class {shown(name)}{suggest(name, types())}")
        known = _kept(cls)
        parts = {}
        for key, part in data.items():
            if key in ("class", "id"):
                continue
            if key not in known:
                raise ModelError(f"{where}: {name} has no field {shown(key)}{suggest(key, known)}")
            parts[key] = self.value(part, f"{where}.{key}")
        for key, default in known.items():
            if key not in parts and default is MISSING:
                raise ModelError(f"{where}: {name} needs the field '{key}'")
            parts.setdefault(key, default)
        value = _made(cls, parts)
        if "id" in data:
            self.shared[int(data["id"])] = value
        return value


def _made(cls: type, parts: dict[str, Any]) -> Any:
    """An object with these fields. Those of data classes are set as they were, and checked by the class."""
    if not is_dataclass(cls):
        return cls(**parts)
    value = object.__new__(cls)
    for key, part in parts.items():
        object.__setattr__(value, key, part)
    check: Callable[[Any], None] | None = getattr(cls, "__post_init__", None)
    if check is not None:
        check(value)
    return value


def _array(data: dict[str, Any], where: str) -> np.ndarray[Any, Any]:
    try:
        kind = np.dtype(data.get("of", "float64"))
        if "base64" in data:
            flat = np.frombuffer(base64.b64decode(data["base64"], validate=True), kind.newbyteorder("<")).astype(kind)
        else:
            flat = np.array([float(x) if isinstance(x, str) else x for x in data["array"]], dtype=kind)
        array = flat.reshape(data.get("shape", flat.shape))
    except (ValueError, TypeError) as error:
        raise ModelError(f"{where} is no array: {error}") from None
    array.setflags(write=False)
    return array
