# SPDX-License-Identifier: BSD-3-Clause
"""Formulas of the documentation as MathML, made when the site is built: a hook of mkdocs (see mkdocs.yml).

Pages say ``$M a + c = \\tau$`` in a line and ``$$`` around a formula of its own, as on most hosts of Markdown. Browsers
show MathML themselves, so that no page needs a script or a font for it.
"""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from latex2mathml.converter import convert

FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<tex>.*?)\\[)\]]</(?P=tag)>',
    re.DOTALL,
)
"""What ``pymdownx.arithmatex`` makes of a formula: TeX between ``\\(`` and ``\\)``, or ``\\[`` and ``\\]``."""


def with_mathml(html: str) -> str:
    """A page with every formula in MathML."""

    def formula(match: re.Match[str]) -> str:
        made: str = convert(unescape(match["tex"]).strip(), display="block" if match["tag"] == "div" else "inline")
        return made

    return FORMULA.sub(formula, html)


def on_page_content(html: str, **_: Any) -> str:
    """Called by mkdocs with each page."""
    return with_mathml(html)
