# SPDX-License-Identifier: BSD-3-Clause
"""Models as JSON that says all of them: one line for each part, as `model.plain` has it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from linkwork.errors import CannotSave, ModelError
from linkwork.model.model import Model
from linkwork.model.plain import FORMAT, HEADER, plain_model


def plain_text(model: Model, folder: Path | None) -> str:
    """The text of a model; a part that is no part of linkwork is a `CannotSave`.

    Args:
        model: The model.
        folder: Folder that paths of meshes are relative to; by default they are absolute.
    """
    try:
        data = plain_model(model, folder)
    except ModelError as error:
        raise CannotSave(f"robot '{model.name}' cannot be saved as JSON: {error}", format="json") from None
    lines = [f"{_line(name)}: {_lines(value)}" for name, value in ({HEADER: FORMAT} | data).items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _lines(value: Any) -> str:
    """A value, with a line for each of its parts where it is a list or a mapping."""
    if isinstance(value, list) and value:
        return "[\n  " + ",\n  ".join(map(_line, value)) + "\n]"
    if isinstance(value, dict) and value.get("items"):
        items = (f"{_line(name)}: {_line(part)}" for name, part in value["items"].items())
        return '{"items": {\n  ' + ",\n  ".join(items) + "\n}}"
    return _line(value)


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
