# SPDX-License-Identifier: BSD-3-Clause
"""Names of mesh files in a saved model."""

from __future__ import annotations

import os
from pathlib import Path

from linkwork.model.shapes import Mesh


def mesh_path(mesh: Mesh, folder: Path | None) -> str:
    """The path of a mesh as a file in a folder names it: relative to the folder, else absolute.

    A mesh whose file was not found keeps the name that it has.

    Args:
        mesh: The mesh.
        folder: Where the model is saved; None: nowhere, and paths are absolute.
    """
    if mesh.file is None:
        return mesh.name
    file = mesh.file.resolve()
    if folder is None:
        return file.as_posix()
    try:
        return Path(os.path.relpath(file, folder.resolve())).as_posix()
    except ValueError:  # another drive
        return file.as_posix()
