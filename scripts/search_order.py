# SPDX-License-Identifier: BSD-3-Clause
"""Which pages the search of the documentation prefers: a hook of mkdocs (see mkdocs.yml).

Pages that answer a question come before pages that list names or measurements.
"""

from __future__ import annotations

from typing import Any

BOOST = {"how-to": 4.0, "reference/api": 0.5, "reference": 3.0, "tutorials": 3.0, "concepts": 2.0, "internals": 0.5}
"""By folder, the first that fits: factors of the score of a page."""


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Called by mkdocs with the text of each page."""
    for folder, boost in BOOST.items():
        if page.file.src_uri.startswith(f"{folder}/"):
            page.meta.setdefault("search", {}).setdefault("boost", boost)
            break
    return markdown
