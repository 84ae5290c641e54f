# SPDX-License-Identifier: BSD-3-Clause
"""JSON files that `Mechanism.save` writes, to mechanisms: `model.plain` says what is in them."""

from __future__ import annotations

import json

from linkwork.errors import ModelError
from linkwork.inputs import shown
from linkwork.mechanism import Mechanism
from linkwork.model.plain import FORMAT, HEADER, model_fields
from linkwork.parsing.options import Document, LoadSettings


def read_plain(document: Document, settings: LoadSettings) -> Mechanism:
    """The mechanism of a JSON file.

    Args:
        document: The text.
        settings: Options, none of which has a meaning.
    """
    try:
        data = json.loads(document.text)
    except ValueError as error:
        raise ModelError(f"the file is no JSON: {error}", file=document.name) from None
    if not isinstance(data, dict) or not isinstance(data.get(HEADER), int):
        raise ModelError(f"the file has no '{HEADER}': it is no robot that linkwork saved", file=document.name)
    if data.pop(HEADER) > FORMAT:
        raise ModelError("the file was saved by a later version of linkwork", file=document.name)
    for name in ("name", "joints", "inertias", "frames", "gravity"):
        if name not in data:
            raise ModelError(f"the file has no '{name}'", file=document.name)
    folder = None if document.path is None else document.path.parent.resolve()
    try:
        return Mechanism(**model_fields(data, folder))
    except ModelError as error:
        raise ModelError(str(error), file=document.name) from None
    except (TypeError, ValueError, AttributeError, KeyError) as error:  # values of other types than fields have
        raise ModelError(f"the file is damaged: {shown(str(error))}", file=document.name) from None
