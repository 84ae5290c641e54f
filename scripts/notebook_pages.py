# SPDX-License-Identifier: BSD-3-Clause
"""Notebooks of docs/tutorials/notebooks as pages of the site, with what they show: a hook of mkdocs (see mkdocs.yml).

``name.ipynb`` becomes the page ``name.md``, and links to the one lead to the other. The notebook
itself is beside it, to be downloaded.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

FOLDER = "tutorials/notebooks"
LINK = re.compile(r"\]\(((?:[\w.-]+/)*[\w-]+)\.ipynb\)")


def page(notebook: dict[str, Any], file: str) -> str:
    """A notebook as Markdown; pictures are part of the text.

    Args:
        notebook: What the file says.
        file: Name of the file, which the page links to.
    """
    parts = []
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(text)
        elif cell["cell_type"] == "code":
            parts += [f"```python\n{text}\n```", *map(_shown, cell["outputs"])]
    parts.insert(1, f"This page is a notebook: [{file}]({file}){{: download }}.")
    return "\n\n".join(parts) + "\n"


def _shown(output: dict[str, Any]) -> str:
    """What a cell shows, as Markdown."""
    data = output.get("data", {})
    if "image/png" in data:
        return f'<img alt="" src="data:image/png;base64,{data["image/png"].strip()}">'
    if "text/html" in data:
        return "<div>" + " ".join("".join(data["text/html"]).split("\n")) + "</div>"
    text = "".join(output.get("text", data.get("text/plain", [])))
    return f"```text\n{text.rstrip()}\n```"


def on_files(files: Files, config: Any) -> Files:
    """Called by mkdocs with the files of the site: adds a page for each notebook."""
    for path in sorted((Path(config.docs_dir) / FOLDER).glob("*.ipynb")):
        text = page(json.loads(path.read_text(encoding="utf-8")), path.name)
        files.append(File.generated(config, f"{FOLDER}/{path.stem}.md", content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by mkdocs with the text of each page: links to notebooks lead to their pages."""
    return LINK.sub(r"](\1.md)", markdown)
