# SPDX-License-Identifier: BSD-3-Clause
"""Height fields of MJCF: their heights in the file, in a binary file of MuJoCo's, or in an image.

MuJoCo scales what it reads so that the lowest point is at 0 and the highest at the third number of ``size``. Rows run
along y and columns along x; those of a file's text and of images from the far end, as on a map, those of a binary file
from the near one.
"""

from __future__ import annotations

import io
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.arrays import Floats
from linkwork.model.shapes import HeightField
from linkwork.parsing.appearance import MeshFinder
from linkwork.parsing.mjcf.document import MjcfDocument, asset_folder
from linkwork.parsing.options import read_file
from linkwork.parsing.xml import Node

_MOST = 4_000_000
"""Heights of one field."""


def read_height_fields(document: MjcfDocument, finder: MeshFinder) -> dict[str, HeightField]:
    """The height fields of a model by name; those that cannot be read are left out.

    Args:
        document: The model.
        finder: Finds files.
    """
    folder = asset_folder(document, "meshdir")
    fields: dict[str, HeightField] = {}
    for node in document.inside("asset", "hfield"):
        name = node.get("name") or Path(node.get("file") or "").stem
        try:
            fields[name] = _height_field(node, folder, finder)
        except ModelError:
            continue
    return fields


def _height_field(node: Node, folder: Path, finder: MeshFinder) -> HeightField:
    x, y, height, _ = node.numbers("size", 4) or (0.0, 0.0, 0.0, 0.0)
    name = node.get("file")
    if name:
        file = finder.find(str(folder / name))
        if file is None:
            raise node.error(f"file '{name}' of the height field was not found")
        data = _image(node, file) if file.suffix.lower() == ".png" else _binary(node, file)
    else:
        rows, columns = int(node.number("nrow", 0.0)), int(node.number("ncol", 0.0))
        count = rows * columns
        if not 4 <= count <= _MOST:
            raise node.error(f"a height field has at least 2 x 2 heights, and this one {rows} x {columns}")
        data = np.array(node.numbers("elevation", count) or np.zeros(count)).reshape(rows, columns)[::-1]
    single = data.astype(np.float32)  # MuJoCo keeps parts of the largest height, in single precision
    low, high = single.min(), single.max()
    scaled = ((single - low) / (high - low if high > low else np.float32(1))).astype(np.float64) * height
    return HeightField(tuple(map(tuple, scaled.T.tolist())), (2 * x, 2 * y))


def _binary(node: Node, file: Path) -> Floats:
    """Two integers, rows and columns, and heights in single precision."""
    content = read_file(file)
    rows, columns = (int(n) for n in np.frombuffer(content[:8], "<i4")) if len(content) >= 8 else (0, 0)
    if not (rows > 1 and columns > 1 and len(content) == 8 + 4 * rows * columns and rows * columns <= _MOST):
        raise node.error(f"file '{file.name}' is no height field of MuJoCo's")
    data: Floats = np.frombuffer(content[8:], "<f4").astype(np.float64).reshape(rows, columns)
    if not np.isfinite(data).all():
        raise node.error(f"file '{file.name}' has heights that are not finite")
    return data


def _image(node: Node, file: Path) -> Floats:
    if find_spec("PIL") is None:
        raise node.error(f"to read '{file.name}', install pillow")
    image: Any = import_module("PIL.Image")
    try:
        with image.open(io.BytesIO(read_file(file))) as opened:
            data: Floats = np.asarray(opened.convert("L"), dtype=np.float64)[::-1]
    except (OSError, ValueError, SyntaxError) as e:
        raise node.error(f"'{file.name}' cannot be read: {e}") from None
    return data
