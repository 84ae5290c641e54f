# SPDX-License-Identifier: BSD-3-Clause
"""A digest of kernel code that is outside the package: of a function, all that it calls, and the constants it uses.

Text of the package itself is known by its files (`cache.source_digest`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import cache
from types import CodeType, FunctionType, ModuleType
from typing import Any

PACKAGE = __name__.split(".")[0]

DEEP = 8
"""Attributes of attributes that are followed: more than any text has, fewer than objects that lead to new ones."""


def fingerprint(function: Callable[..., Any]) -> str:
    """The digest of a kernel; empty for one of the package that closes over nothing but the package's own code."""
    digest = hashlib.sha256()
    foreign = False
    for text, own in _parts(function, (), 0, {}):
        foreign |= not own
        digest.update(text.encode())
        digest.update(b"\0")
    return digest.hexdigest() if foreign else ""


def foreign_kernels(function: Callable[..., Any]) -> list[Callable[..., Any]]:
    """The kernels outside the package among a kernel and all that it calls."""
    seen: dict[Any, tuple[int, Any]] = {}
    for _ in _parts(function, (), 0, seen):
        pass
    return [value for _, value in seen.values() if getattr(value, "__kernel__", False) is True and not is_own(value)]


@cache
def own_modules(function: Callable[..., Any]) -> tuple[str, ...]:
    """The modules of the package that a kernel is made of, but for those that these import."""
    seen: dict[Any, tuple[int, Any]] = {}
    for _ in _parts(function, (), 0, seen):
        pass
    functions = {value.__module__ for _, value in seen.values() if isinstance(value, FunctionType)}
    modules = {value.__name__ for _, value in seen.values() if isinstance(value, ModuleType)}
    return tuple(sorted(name for name in functions | modules if _belongs(name)))


def is_own(function: Any) -> bool:
    """Whether a function is one of the package."""
    return _belongs(getattr(function, "__module__", None))


def _parts(
    value: Any, names: tuple[str, ...], depth: int, seen: dict[Any, tuple[int, Any]]
) -> Iterator[tuple[str, bool]]:
    """The parts of a value, and whether each is text or a constant of the package.

    Of modules and other objects, the attributes with these ``names`` count: those that the code around may use.
    ``seen`` are objects that were met before, with their number (and the object, so that its ``id`` stays its own).
    """
    if isinstance(value, int | float | str | bytes | bool | None):
        yield repr(value), True
        return
    key = (id(value), () if isinstance(value, FunctionType) else names)
    if key in seen:
        yield f"number {seen[key][0]}", True
        return
    seen[key] = (len(seen), value)
    if isinstance(value, FunctionType):
        own = _belongs(value.__module__)
        yield f"def {value.__module__}.{value.__qualname__}", own
        code = value.__code__
        if not own:
            yield _code(code), False
        inner = () if own else tuple(sorted(code.co_names))
        cells = [cell.cell_contents for cell in value.__closure__ or () if _filled(cell)]
        for part in [*cells, *(value.__defaults__ or ())]:
            yield from _parts(part, inner, 0, seen)
        for name in inner:
            if name in value.__globals__:
                yield name, True
                yield from _parts(value.__globals__[name], inner, 0, seen)
    elif isinstance(value, tuple | list):
        yield f"{type(value).__name__} of {len(value)}", True
        for part in value:
            yield from _parts(part, names, depth, seen)
    elif isinstance(value, ModuleType) and _belongs(value.__name__):
        yield f"module {value.__name__}", True
    else:
        yield type(value).__qualname__, True
        for name in names if depth < DEEP else ():
            if hasattr(value, name):
                yield name, True
                yield from _parts(getattr(value, name), names, depth + 1, seen)


def _belongs(module: str | None) -> bool:
    """Whether a module is one of the package."""
    return (module or "").split(".")[0] == PACKAGE


def _filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def _code(code: CodeType) -> str:
    """The instructions of a function; line numbers and names of files do not count."""
    constants = [c for c in code.co_consts if not isinstance(c, CodeType)]
    return repr((code.co_code, constants, code.co_names, code.co_varnames))
