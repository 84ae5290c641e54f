"""What all tests share: kinds that are slow, which `make quick` leaves out, and tests that need models from files."""

from __future__ import annotations

import pytest

KINDS: dict[str, tuple[str, ...]] = {}


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test marked ``models`` needs the folder of models: without it, it is skipped, and in CI it fails."""
    if item.get_closest_marker("models") is not None:
        from robots import models_folder

        models_folder()
