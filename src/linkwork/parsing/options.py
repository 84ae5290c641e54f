"""What can be asked of a loader, checked once for all file formats."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path
from typing import Literal, get_args

from linkwork.errors import InputError, ModelError

Base = Literal["fixed", "floating"]
"""How the root link stands in the world."""
Mimic = Literal["error", "ignore"]
"""What to do with a joint that mimics another."""
Inertias = Literal["check", "trust"]
"""Whether inertias that no distribution of mass has are an error."""


def check_options(base: str, mimic: str, inertias: str) -> None:
    """Raise `InputError` for an option that is none of those known."""
    for name, value, known in (
        ("base", base, get_args(Base)),
        ("mimic", mimic, get_args(Mimic)),
        ("inertias", inertias, get_args(Inertias)),
    ):
        if value not in known:
            raise InputError(f"{name} is {value!r}; it is one of {', '.join(map(repr, known))}")


def model_path(path: str | PathLike[str]) -> Path:
    """The path of a file that exists."""
    try:
        file = Path(fspath(path))
        exists = file.is_file()
    except (TypeError, ValueError) as e:
        raise InputError(f"path {path!r} is no file name: {e}") from None
    if not exists:
        what = "this is a folder, not a file" if file.is_dir() else "there is no such file"
        raise ModelError(what, file=file)
    return file
