# SPDX-License-Identifier: BSD-3-Clause
"""Where the repository is, and links into it: on pages of the documentation, and in README as package indexes show it.

The address is said once, as ``Repository`` in ``[project.urls]`` of pyproject.toml. As long as it says none, pages link
to none, and what README says about files of the repository is text without links. `on_config` is a hook of mkdocs (see
mkdocs.yml); setup.py asks for the `description`.
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Any

LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?!https?:|#)(?P<path>[^)\s]+)\)")
"""A link, or a picture, that leads to a file of the repository."""


def repository(project: Path) -> str | None:
    """The address of the repository that a pyproject.toml says."""
    urls = tomllib.loads(project.read_text(encoding="utf-8"))["project"].get("urls", {})
    address: str | None = urls.get("Repository")
    return address


def description(readme: str, address: str | None) -> str:
    """README with absolute links in place of relative ones; with no address, text in their place and no pictures."""

    def linked(match: re.Match[str]) -> str:
        if address is None:
            return "" if match["picture"] else match["text"]
        kind = "raw" if match["picture"] else "blob"
        return f"{match['picture']}[{match['text']}]({address.rstrip('/')}/{kind}/HEAD/{match['path']})"

    return LINK.sub(linked, readme)


def on_config(config: Any) -> Any:
    """Called by mkdocs with its settings."""
    address = repository(Path(config.config_file_path).parent / "pyproject.toml")
    if address is not None:
        config.repo_url, config.repo_name = address, config.site_name
    if os.environ.get("MIKE_DOCS_VERSION"):  # set by mike, which publishes one site for each version
        config.extra["version"] = {"provider": "mike"}
    return config
