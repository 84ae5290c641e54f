# SPDX-License-Identifier: BSD-3-Clause
"""Markdown in lines of at most 120 characters: ``python -m linkwork_benchmarks.reflow [FILE...]`` rewrites wider ones.

Prose and lists are reflowed where a line is too long. Tables, code, formulas, pictures, HTML and blocks between
``<!-- name -->`` and ``<!-- /name -->``, which scripts write, stay unchanged; links, code and formulas in a line are
not broken. Pages made from result files are written through `reflowed`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WIDTH = 120

UNIT = re.compile(r"(?:!?\[[^\]]*\]\([^)\s]*\)(?:\{[^}]*\})?|`[^`]+`|\$[^$]+\$|\S)+")
"""What is not broken: words, with the links, code and formulas in them."""
ITEM = re.compile(r"^( *)([-*+]|\d+\.) +")
KEPT = re.compile(r"^ *(\||#|<|!!!|\?\?\?|===|!\[|\$\$|:::|\[[^\]]+\]: |\{:)")
"""Beginnings of lines that are no prose."""
CONSTRUCT = re.compile(r"^([-*+#>|=:]|\d+[.)])")
"""Words that would make something else of a line that begins with them."""


def pages() -> list[Path]:
    """The pages of the site, README.md and CONTRIBUTING.md."""
    return sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])


def reflowed(text: str) -> str:
    """The text with paragraphs of too long lines in lines that are short enough."""
    out: list[str] = []
    paragraph: list[str] = []
    closing: str | None = None  # the line that ends a block which stays as it is
    for line in [*text.split("\n"), ""]:
        if closing is not None:
            out.append(line)
            closing = None if line.strip() == closing else closing
            continue
        block = re.match(r"^ *(```|~~~|\$\$$)", line) or re.match(r"^<!-- ([\w .-]+) -->$", line)
        if block or not line.strip() or KEPT.match(line):
            out += _paragraph(paragraph)
            paragraph = []
            out.append(line)
            if block:
                name = block.group(1)
                closing = name if line.lstrip()[0] != "<" else f"<!-- /{name} -->"
        elif ITEM.match(line):
            out += _paragraph(paragraph)
            paragraph = [line]
        else:
            paragraph.append(line)
    return "\n".join(out[:-1])


def _paragraph(lines: list[str]) -> list[str]:
    if all(len(line) <= WIDTH for line in lines) or any(line.endswith(("  ", "\\")) for line in lines):
        return lines
    item = ITEM.match(lines[0])
    first = item.group(0) if item else re.match(" *", lines[0]).group(0)  # type: ignore[union-attr]
    if not item and len(first) >= 4:  # code, or the body of an admonition
        return lines
    words = UNIT.findall(" ".join([lines[0][len(first) :], *lines[1:]]))
    out, line = [], first + words[0]
    for word in words[1:]:
        if len(line) + 1 + len(word) > WIDTH and not CONSTRUCT.match(word):
            out.append(line)
            line = " " * len(first) + word
        else:
            line += f" {word}"
    return [*out, line]


def main(files: list[str]) -> None:
    """Rewrite files, by default all pages."""
    for file in map(Path, files) if files else pages():
        text = file.read_text(encoding="utf-8")
        if (new := reflowed(text)) != text:
            file.write_text(new, encoding="utf-8")
            print(file)


if __name__ == "__main__":
    main(sys.argv[1:])
