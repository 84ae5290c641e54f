"""What can be asked of a loader, checked once for all file formats."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path
from typing import Literal, get_args

from linkwork.errors import InputError, ModelError

Base = Literal["fixed", "floating"]
"""How the root link stands in the world."""
Mimic = Literal["constrain", "ignore"]
"""What to do with a joint that mimics another."""
Inertias = Literal["warn", "check", "trust"]
"""Whether inertias that no distribution of mass has are a warning, an error, or nothing."""
Dependent = Literal["error", "free"]
"""What to do with joints that a file calls dependent without saying on what."""
Format = Literal["urdf", "sdf", "mjcf"]
"""How a model is written."""
Loops = str | PathLike[str] | Literal[False] | None
"""Where loops are described beside the file: look there (None), in this file, or nowhere (False)."""

EXPAND_XACRO = "expand it first: xacro robot.xacro > robot.urdf"
"""What to do with a template of URDF files."""

_KNOWN: dict[str, tuple[object, ...]] = {
    "base": (None, *get_args(Base)),
    "mimic": get_args(Mimic),
    "inertias": get_args(Inertias),
    "dependent": get_args(Dependent),
    "format": (None, *get_args(Format)),
}


def check_options(**given: str | None) -> None:
    """Raise `InputError` for an option that is none of those known."""
    for name, value in given.items():
        if not (value is None or isinstance(value, str)) or value not in _KNOWN[name]:
            known = ", ".join(repr(word) for word in _KNOWN[name] if word is not None)
            raise InputError(f"{name} is {value!r}; it is one of {known}")


def is_document(given: object) -> bool:
    """Whether this is the text of a document rather than the name of a file."""
    return isinstance(given, bytes | str) and given.strip()[:1] in ("<", b"<")


def model_path(path: str | PathLike[str]) -> Path:
    """The path of a file that exists."""
    if is_document(path):
        raise InputError("path is the text of a model, not the name of a file: use loads(text)")
    try:
        file = Path(fspath(path))
        exists = file.is_file()
    except (TypeError, ValueError, OSError) as e:
        raise InputError(f"path {str(path)[:200]!r} is no file name: {e}") from None
    if not exists:
        what = "this is a folder, not a file" if file.is_dir() else "there is no such file"
        raise ModelError(what, file=file)
    return file


def read_file(file: Path) -> bytes:
    """The bytes of a file."""
    try:
        return file.read_bytes()
    except OSError as e:
        raise ModelError(f"the file cannot be read: {e.strerror or e}", file=file) from None
