# SPDX-License-Identifier: BSD-3-Clause
"""Names of mesh files in a saved model."""

from __future__ import annotations

import os
from pathlib import Path

from linkwork.errors import InputError
from linkwork.model.shapes import Mesh


def mesh_path(mesh: Mesh, folder: Path | None, package: str | None = None) -> str:
    """The path of a mesh as a file in a folder names it: relative to the folder or to a package, else absolute.

    A mesh whose file was not found keeps the name that it has.

    Args:
        mesh: The mesh.
        folder: Where the model is saved; None: nowhere, and paths are absolute.
        package: The package of ROS that it is in; None: paths are relative to the folder.
    """
    if mesh.file is None:
        return mesh.name
    file = mesh.file.resolve()
    if folder is None:
        return file.as_posix()
    if package is not None:
        return f"package://{package}/{_in_package(file, folder, package).as_posix()}"
    try:
        return Path(os.path.relpath(file, folder.resolve())).as_posix()
    except ValueError:  # another drive
        return file.as_posix()


def _in_package(file: Path, folder: Path, package: str) -> Path:
    """The path of a file in a package, whose folder is that of the model or above it."""
    home = package_folder(folder, package)
    try:
        return file.relative_to(home)
    except ValueError:
        raise InputError(
            f"mesh '{file}' is not in package '{package}', whose folder is '{home}'; copy it there, save the model in "
            "the package that has the mesh, or leave out package="
        ) from None


def package_folder(folder: Path, package: str) -> Path:
    """The folder of a package that a model is saved in: it has the package's name or a ``package.xml``, and is that of
    the model or above it; by default it is that of the model.

    Args:
        folder: Where the model is saved.
        package: Name of the package.
    """
    here = folder.resolve()
    for above in (here, *here.parents):
        if above.name == package or (above / "package.xml").is_file():
            return above
    return here
