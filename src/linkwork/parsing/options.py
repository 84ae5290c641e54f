# SPDX-License-Identifier: BSD-3-Clause
"""Options of loading, checked once for all file formats, and the files that they are for."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, get_args

from linkwork.errors import InputError, ModelError

Base = Literal["fixed", "floating"]
"""Whether the root link is fixed to the world."""
Mimic = Literal["constrain", "ignore"]
"""Treatment of a joint that mimics another."""
Inertias = Literal["warn", "check", "trust"]
"""Whether inertias that no distribution of mass has are a warning, an error, or nothing."""
Dependent = Literal["error", "free"]
"""Treatment of joints that a file calls dependent without naming the leader."""
Format = Literal["urdf", "sdf", "mjcf", "usd", "json"]
"""The format of a model file."""
Loops = str | PathLike[str] | Literal[False] | None
"""The file that describes loops: the one beside the model (None), this one, or none (False)."""
Contacts = Literal["ground", "all"] | bool | None
"""Which pairs may touch: those that the file states (None), the ground too (True or ``"ground"``), all bodies but
neighbors too (``"all"``), none (False)."""

MediumOption = Literal["ignore"] | None
"""Whether density and viscosity of a medium act as the file says (None), or not."""
Folders = str | PathLike[str] | Sequence[str | PathLike[str]]
"""Folders that files may be read from."""

EXPAND_XACRO = "expand it first: xacro robot.xacro > robot.urdf"
"""Treatment of a template of URDF files."""

_ALLOWED: dict[str, tuple[object, ...]] = {
    "base": (None, *get_args(Base)),
    "mimic": get_args(Mimic),
    "inertias": get_args(Inertias),
    "dependent": get_args(Dependent),
    "medium": (None, "ignore"),
    "format": (None, *get_args(Format)),
}


def check_option(name: str, value: object) -> None:
    """Raise `InputError` for a value that the option does not take."""
    if not (value is None or isinstance(value, str)) or value not in _ALLOWED[name]:
        allowed = ", ".join(repr(word) for word in _ALLOWED[name] if word is not None)
        raise InputError(f"{name} is {value!r}; it is one of {allowed}")


@dataclass(frozen=True)
class LoadSettings:
    """Options of `linkwork.load`, checked; they are explained there."""

    base: Base | None = None
    mimic: Mimic = "constrain"
    inertias: Inertias = "warn"
    loops: Loops = None
    dependent: Dependent = "error"
    contacts: Contacts = None
    medium: MediumOption = None
    srdf: str | PathLike[str] | None = None
    folders: Any = ()
    """As `load` takes it; then a tuple of paths."""

    def __post_init__(self) -> None:
        paths = (self.folders,) if isinstance(self.folders, str | PathLike) else self.folders
        try:
            folders = tuple(Path(fspath(folder)) for folder in paths)
        except TypeError:
            raise InputError(f"folders is {self.folders!r}; it is a folder or several") from None
        for folder in folders:
            if not folder.is_dir():
                raise InputError(f"folders has {str(folder)!r}, which is no folder")
        object.__setattr__(self, "folders", folders)
        for name in ("base", "mimic", "inertias", "dependent", "medium"):
            check_option(name, getattr(self, name))
        if not (self.loops is None or self.loops is False or isinstance(self.loops, str | PathLike)):
            raise InputError(f"loops is {self.loops!r}; it is the path of a file, None, or False")
        if not (self.contacts is None or isinstance(self.contacts, bool) or str(self.contacts) in ("ground", "all")):
            raise InputError(f"contacts is {self.contacts!r}; it is True, False, 'ground', 'all' or None")

    def require_meaning(self, names: Collection[str], document: Document, form: Format) -> None:
        """Raise `InputError` for an option that is given and is none of ``names``, those of the file's format."""
        for option in fields(self):
            value = getattr(self, option.name)
            if option.name not in names and value != option.default:
                options = f"its options are {', '.join(names)}" if names else "it takes no options"
                where = f"{document.short_name}, a file in {form.upper()}"
                raise InputError(f"{option.name}={value!r} has no meaning for {where}; {options}")


@dataclass(frozen=True)
class Document:
    """The text of a model file."""

    text: bytes | str
    name: str
    """Its name in messages."""
    path: Path | None = None
    """Its file; None for a text that comes from no file, and which reads no other files."""

    @property
    def short_name(self) -> str:
        """The name without folders."""
        return self.name if self.path is None else self.path.name


def is_document(given: object) -> bool:
    """Whether this is the text of a document rather than the name of a file."""
    return isinstance(given, bytes | str) and given.strip()[:1] in ("<", b"<", "{", b"{")


def is_file_name(given: bytes | str) -> bool:
    """Whether this could be the name of a file rather than the text of a document."""
    text = given.decode("utf-8", "replace") if isinstance(given, bytes) else given
    return "<" not in text and "{" not in text and bool(text.strip()) and text.isprintable()


def model_path(path: str | PathLike[str]) -> Path:
    """The path of a file that exists."""
    if is_document(path):
        raise InputError("path is the text of a model, not the name of a file; use loads(text)")
    try:
        file = Path(fspath(path))
        exists = file.is_file()
    except (TypeError, ValueError, OSError) as e:
        raise InputError(f"path {str(path)[:200]!r} is not a file name: {getattr(e, 'strerror', None) or e}") from None
    if not exists:
        what = "this is a folder, not a file" if file.is_dir() else "there is no such file"
        raise ModelError(what, file=file)
    return file


def expanded_template(file: Path) -> str:
    """The URDF that a xacro file, a template, expands to; `ModelError` where ``xacro`` is not installed or fails."""
    try:
        xacro = import_module("xacro")
    except ImportError:
        raise ModelError(f"a xacro file is a template: pip install xacro, or {EXPAND_XACRO}", file=file) from None
    try:
        return str(xacro.process_file(str(file)).toxml())
    except Exception as error:  # expressions of the file raise what they like
        raise ModelError(f"xacro cannot expand the file: {type(error).__name__}: {error}", file=file) from None


def read_file(file: Path, most: int = -1) -> bytes:
    """The bytes of a file, at most so many if ``most`` is not negative."""
    try:
        with file.open("rb") as stream:
            return stream.read(most)
    except OSError as e:
        raise ModelError(f"the file cannot be read: {e.strerror or e}", file=file) from None
