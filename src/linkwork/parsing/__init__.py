# SPDX-License-Identifier: BSD-3-Clause
"""Model files to mechanisms: what changes the dynamics is read, or the load is an error."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike

from linkwork.errors import InputError, ModelError
from linkwork.inputs import named_options
from linkwork.mechanism import Mechanism
from linkwork.parsing.options import (
    Base,
    Contacts,
    Dependent,
    Document,
    Folders,
    Format,
    Inertias,
    LoadSettings,
    Loops,
    MediumOption,
    Mimic,
    check_option,
    expanded_template,
    is_file_name,
    model_path,
    read_file,
)
from linkwork.parsing.xml import root_tag

__all__ = ["load", "loads"]

_BY_EXTENSION: dict[str, Format | None] = {
    ".urdf": "urdf",
    ".sdf": "sdf",
    ".world": "sdf",
    ".mjcf": "mjcf",
    ".usd": "usd",
    ".usda": "usd",
    ".usdc": "usd",
    ".json": "json",
    ".xml": None,
}
_BY_ROOT: dict[str, Format] = {"robot": "urdf", "sdf": "sdf", "mujoco": "mjcf"}

_OPTIONS: dict[Format, tuple[str, ...]] = {
    "urdf": ("base", "mimic", "inertias", "loops", "dependent", "contacts", "srdf", "folders"),
    "sdf": ("base", "mimic", "inertias", "contacts", "folders"),
    "mjcf": ("inertias", "contacts", "medium", "folders"),
    "usd": ("base", "mimic", "inertias", "contacts"),
    "json": (),
}
"""Options that have a meaning for each format."""

TEXT = "<text>"
"""Name in messages of a model that comes from no file."""


@named_options()
def load(
    path: str | PathLike[str],
    base: Base | None = None,
    *,
    mimic: Mimic = "constrain",
    inertias: Inertias = "warn",
    loops: Loops = None,
    dependent: Dependent = "error",
    contacts: Contacts = None,
    medium: MediumOption = None,
    srdf: str | PathLike[str] | None = None,
    folders: Folders = (),
) -> Mechanism:
    """A mechanism from a model file: URDF, SDF, MJCF, USD or JSON, by its extension; ``.xml`` by its root element.

    A ``.xacro`` file is a template of URDF: it is expanded by the package ``xacro``, which evaluates expressions of
    the file as Python does, so that it must be trusted.

    In all formats angles of ``q`` are in radians, and quaternions in ``q`` are (x, y, z, w), however the file writes
    them; see docs/reference/files.md.

    Args:
        path: The file. For the text of a model, see `loads`.
        base: The root link is ``"fixed"`` to the world or ``"floating"`` on a `Free` joint called ``root_joint``. By
            default a URDF model is fixed, an SDF or USD model floats unless a joint holds it, as does a URDF model
            whose file names the world; an MJCF file says it itself.
        mimic: A joint that mimics another is bound by a constraint (``"constrain"``), or left free (``"ignore"``).
        inertias: Inertias that no distribution of mass has are a warning (``"warn"``), an error (``"check"``), or taken
            silently (``"trust"``).
        loops: A file that describes the loops of a URDF model (``robot.yaml``); by default the one in its folder, if
            there is one. False leaves open what elements of URDF do not close: loop file, pairs of frames, joints in
            ``<gazebo>``.
        dependent: URDF joints that are marked as dependent while nothing in the file ties them are an ``"error"``, or
            ``"free"``.
        contacts: Which shapes may touch (docs/how-to/contact.md): by default those that the file pairs, which MJCF does
            and the others do not. True or ``"ground"``: all that are for collision touch the ground, too, a plane
            z = 0 where the file has none, and each other where the file says so (``self_collide``). ``"all"``: and
            each other, but for neighbors. False: none.
        medium: ``"ignore"``: forces of air or water that an MJCF file has (``density``, ``viscosity``) do not act.
        srdf: An SRDF file of a URDF model: its states are poses, and links that it excludes from collision do not
            touch each other.
        folders: Where files that the model names are read from, besides its own folder: included files and attached
            models of MJCF, <include> of SDF, and packages (``package://name``), whose folder or the folder around it
            is given here. Variables such as ``ROS_PACKAGE_PATH`` and ``AMENT_PREFIX_PATH`` count for packages, too.
    """
    settings = LoadSettings(base, mimic, inertias, loops, dependent, contacts, medium, srdf, folders)
    file = model_path(path)
    extension = file.suffix.lower()
    if extension == ".xacro":
        return _read(Document(expanded_template(file), str(file), file), "urdf", settings)
    if extension not in _BY_EXTENSION:
        ending = f"ends in '{file.suffix}'" if file.suffix else "has no ending"
        raise ModelError(f"the file {ending}; models are {', '.join(_BY_EXTENSION)}, .xacro", file=file)
    return _read(Document(read_file(file), str(file), file), _BY_EXTENSION[extension], settings)


@named_options()
def loads(
    text: bytes | str,
    format: Format | None = None,
    *,
    base: Base | None = None,
    mimic: Mimic = "constrain",
    inertias: Inertias = "warn",
    loops: Loops = None,
    dependent: Dependent = "error",
    contacts: Contacts = None,
    medium: MediumOption = None,
    name: str = TEXT,
) -> Mechanism:
    """A mechanism from the text of a model file, as `load` makes it from the file.

    No other file is read, unless ``loops`` names one: an MJCF text that includes others is an error.

    Args:
        text: The document.
        format: ``"urdf"``, ``"sdf"``, ``"mjcf"``, ``"usd"`` (a text that begins with ``#usda``) or ``"json"``; by
            default what the root element, or the first line, says.
        base: As for `load`.
        mimic: As for `load`.
        inertias: As for `load`.
        loops: As for `load`.
        dependent: As for `load`.
        contacts: As for `load`.
        medium: As for `load`.
        name: Name of the text in messages.
    """
    if not isinstance(text, bytes | str):
        raise InputError(f"text is {type(text).__name__}; it is str or bytes (load(path) reads files)")
    if is_file_name(text):
        raise InputError(f"text is {text[:80]!r}, which is not XML; to read a file, use load(path)")
    check_option("format", format)
    return _read(Document(text, name), format, LoadSettings(base, mimic, inertias, loops, dependent, contacts, medium))


def _read(document: Document, format: Format | None, settings: LoadSettings) -> Mechanism:
    form = format or _format_of(document)
    settings.require_meaning(_OPTIONS[form], document, form)
    return _reader(form)(document, settings)


def _format_of(document: Document) -> Format:
    if document.text[:5] in ("#usda", b"#usda"):
        return "usd"
    if document.text.strip()[:1] in ("{", b"{"):
        return "json"
    tag = root_tag(document.text, document.name)
    if tag not in _BY_ROOT:
        roots = ", ".join(f"<{known}>" for known in _BY_ROOT)
        raise ModelError(f"a model file starts with one of {roots}", file=document.name, line=1, element=tag)
    return _BY_ROOT[tag]


def _reader(form: Format) -> Callable[[Document, LoadSettings], Mechanism]:
    """The reader of a format; its modules are imported when a file of the format is first read."""
    match form:
        case "urdf":
            from linkwork.parsing.urdf import read_urdf

            return read_urdf
        case "sdf":
            from linkwork.parsing.sdf import read_sdf

            return read_sdf
        case "mjcf":
            from linkwork.parsing.mjcf import read_mjcf

            return read_mjcf
        case "json":
            from linkwork.parsing.plain import read_plain

            return read_plain
        case "usd":
            from linkwork.parsing.usd import read_usd

            return read_usd
