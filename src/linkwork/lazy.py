# SPDX-License-Identifier: BSD-3-Clause
"""Names of a package that are imported at first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy_names(package: str, modules: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package: imports a name from its module at first use; from then on the package has it.

    Args:
        package: The package's name.
        modules: Names that it has, by the modules that they come from; its own modules are names of the package itself.
    """
    origin = {name: module for module, names in modules.items() for name in names}

    def get(name: str) -> Any:
        if name not in origin:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        module = origin[name]
        value = import_module(f"{package}.{name}") if module == package else getattr(import_module(module), name)
        setattr(sys.modules[package], name, value)
        return value

    return get
