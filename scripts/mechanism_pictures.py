# SPDX-License-Identifier: BSD-3-Clause
"""Films and plots of docs/how-to/mechanisms.md, by its own code: ``python scripts/mechanism_pictures.py [WORD]``."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "how-to" / "mechanisms.md"


def programs() -> tuple[str, dict[str, str]]:
    """What all programs begin with, and the programs by their headings."""
    parts = re.split(r"^## (.+)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    codes = ["\n".join(re.findall(r"```python\n(.*?)```", part, re.DOTALL)) for part in parts[::2]]
    return codes[0], dict(zip(parts[1::2], codes[1:], strict=True))


def main(words: list[str]) -> None:
    """Run the programs whose headings contain a word, in the folder of the pictures."""
    folder = PAGE.parents[1] / "pictures" / "mechanisms"
    folder.mkdir(exist_ok=True)
    os.chdir(folder)
    start, each = programs()
    for title, code in each.items():
        if not words or any(word.lower() in title.lower() for word in words):
            print(f"{title}: {len([line for line in code.splitlines() if line.strip()])} lines")
            exec(compile(start + code, title, "exec"), {})


if __name__ == "__main__":
    main(sys.argv[1:])
