# SPDX-License-Identifier: BSD-3-Clause
"""The description that package indexes show: README.md with links that work there. All else is in pyproject.toml."""

import sys
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "scripts"))

from repository import description, repository  # noqa: E402

setup(
    long_description=description((ROOT / "README.md").read_text(encoding="utf-8"), repository(ROOT / "pyproject.toml")),
    long_description_content_type="text/markdown",
)
