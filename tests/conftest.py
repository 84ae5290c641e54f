# SPDX-License-Identifier: BSD-3-Clause
"""What all tests share: the slow kinds, which `make quick` leaves out, and tests that need models from files."""

from __future__ import annotations

import gc
from fnmatch import fnmatch

import pytest
from hypothesis import settings

settings.register_profile("linkwork", deadline=None)  # no test has a time limit
settings.load_profile("linkwork")

KINDS: dict[str, tuple[str, ...]] = {
    "pages": ("test_catalog_pages", "test_docs", "test_examples", "test_notebooks", "test_pages", "test_readme"),
    "pictures": ("test_cli_view", "test_seeing"),
    "browser": ("test_viewer",),
    "benchmarks": ("test_benchmarks_*", "test_cli_bench"),
    "slow": (
        *("*_any_text", "test_bad_calls", "test_compilers_fuzz", "test_mjcf_random", "test_mutated_files"),  # random
        *("test_cache", "test_packaging", "test_simulation_methods"),  # many processes
        *("test_export", "test_portability"),  # other compilers, other processors
        *("test_sincos", "test_units"),  # many numbers, many robots
    ),
}
"""Files of which all tests are of a kind. Single tests of other files are marked where they stand."""


def kinds_of(file: str) -> list[str]:
    """The kinds of all tests of a file, by its name without ``.py``."""
    return [kind for kind, patterns in KINDS.items() if any(fnmatch(file, pattern) for pattern in patterns)]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Called by pytest with all tests that were found."""
    for item in items:
        for kind in kinds_of(item.path.stem):
            item.add_marker(kind)


def pytest_collection_finish() -> None:
    """Thousands of tests stay to the end: the garbage collector need not look at them again and again."""
    gc.collect()
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test marked ``models`` needs the folder of models: without it, it is skipped, and in CI it fails."""
    if item.get_closest_marker("models") is not None:
        from tests.support.robots import models_folder

        models_folder()
