# SPDX-License-Identifier: BSD-3-Clause
"""Loops described beside a URDF file, in the ``robot.yaml`` of Gepetto's example-parallel-robots.

```yaml
closed_loop: [[frame_a, frame_b], ...]      pairs of frames that are held together: links of the URDF, or joints (the
                                            frame of a joint is that of its child)
type: [6d, ...]                             of each pair: 6d (all of them, a Weld) or 3d (their origins, a Point)
name_mot: [joint, ...]                      the joints that motors drive; all others are passive
joint_name: [joint, ...]                    joints that are of another type than the URDF can say,
joint_type: [SPHERICAL, ...]                and that type: SPHERICAL, FIXED, UJOINT_XY (about x, then y), CARDAN (as XY)
```

or in a ``loop_closures.yaml``: see `closure_file`.

The file is not trusted: it is of bounded size and depth, plain scalars only, no anchors, aliases or tags.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import yaml

from linkwork.errors import ModelError, UnsupportedFeature
from linkwork.model.joints import Fixed, Joint, Spherical, Universal
from linkwork.parsing.options import model_path, read_file
from linkwork.parsing.urdf.closure_file import FIELDS, KEYS, Closure, closure
from linkwork.parsing.urdf.closure_file import NAME as CLOSURES
from linkwork.parsing.xml import LineLocation, warn

NAME = "robot.yaml"

_LARGEST = 1 << 18
_DEEPEST = 8
_PLAIN = "tag:yaml.org,2002:str"
_FLOATS = {"tag:yaml.org,2002:float", "tag:yaml.org,2002:int"}
_KEYS = ("closed_loop", "type", "name_mot", "joint_name", "joint_type")
_PAIRS = ("3d", "6d")
_AXES = ("XY", "XZ", "YX", "YZ", "ZX", "ZY")
_JOINTS: dict[str, Joint] = {
    "SPHERICAL": Spherical(),
    "FIXED": Fixed(),
    "CARDAN": Universal("x", "y"),
    **{f"UJOINT_{axes}": Universal(axes[0].lower(), axes[1].lower()) for axes in _AXES},
}


@dataclass(frozen=True)
class FramePair:
    """Two frames that are held together: in position (``3d``) or altogether (``6d``)."""

    first: str
    second: str
    kind: str
    where: LineLocation


@dataclass(frozen=True)
class LoopFile:
    """The content of a ``robot.yaml``."""

    file: str
    pairs: tuple[FramePair, ...]
    motors: dict[str, LineLocation] | None
    """The actuated joints; None where the file does not list them."""
    types: dict[str, tuple[Joint, LineLocation]]
    """Joints that are of another type than in the URDF."""
    closures: tuple[Closure, ...] = ()
    """Hinges and ball joints of a ``loop_closures.yaml``."""
    independent: frozenset[str] = frozenset()
    """Joints that are minimal coordinates, where the file lists them."""
    dependent: frozenset[str] = frozenset()
    """Joints that the loops determine, where the file lists them: their mimics are approximations."""

    @property
    def frames(self) -> set[str]:
        """The frames that the loops name."""
        links = {link for loop in self.closures for link in loop.links}
        return links | {name for pair in self.pairs for name in (pair.first, pair.second)}


def find_loop_file(model: Path) -> LoopFile | None:
    """The file beside a model that describes loops, if there is one: a ``robot.yaml`` in its folder, or a
    ``loop_closures.yaml`` there, in the folder above, or in ``config`` beside its folder."""
    here = model.parent
    for file in (here / NAME, here / CLOSURES, here.parent / CLOSURES, here.parent / "config" / CLOSURES):
        if not file.is_file():
            continue
        if file.resolve().parent != file.parent.resolve():
            raise ModelError(
                f"the file beside '{model.name}' is a link that leads out of the folder: pass its path as loops=..., "
                "or loops=False to do without it",
                file=file,
            )
        text = read_file(file, _LARGEST + 1)
        if file.name == CLOSURES or b"closed_loop" in text:
            return parse_loop_file(text, str(file))
    return None


def load_loop_file(path: str | PathLike[str]) -> LoopFile:
    """A ``robot.yaml`` or ``loop_closures.yaml``, wherever it is."""
    file = model_path(path)
    return parse_loop_file(read_file(file, _LARGEST + 1), str(file))


def parse_loop_file(text: bytes | str, file: str = "<text>") -> LoopFile:
    """The content of a ``robot.yaml`` or ``loop_closures.yaml``; ``file`` is its name in messages."""
    sections = _sections(text, file)
    if not sections or set(sections) & set(KEYS):
        return _closures(sections, file)
    if "closed_loop" not in sections:
        raise ModelError("there is no 'closed_loop': pairs of frames that are held together", file=file)
    loops, here = sections["closed_loop"]
    kinds = [(word.lower(), where) for word, where in _words(sections, "type", file)]
    if len(kinds) != len(loops):
        raise here.error(f"{len(loops)} pairs of frames and {len(kinds)} types: give '3d' or '6d' for each pair")
    pairs = []
    for pair, (kind, where) in zip(loops, kinds, strict=True):
        if kind not in _PAIRS:
            raise where.error(f"type '{kind}' of a pair is none of {', '.join(_PAIRS)}", UnsupportedFeature)
        names = _names(pair, "closed_loop", file)
        if len(names) != 2:
            raise _mark(pair, "closed_loop", file).error(f"a loop is closed by two frames, not {len(names)}")
        pairs.append(FramePair(names[0][0], names[1][0], kind, names[0][1]))
    motors = dict(_words(sections, "name_mot", file)) if "name_mot" in sections else None
    return LoopFile(file, tuple(pairs), motors, _joint_types(sections, file))


def _closures(sections: dict[str, tuple[list[Any], LineLocation]], file: str) -> LoopFile:
    """The content of a ``loop_closures.yaml``."""
    for key in sections:
        if key not in KEYS:
            raise sections[key][1].error(f"key '{key}' is none of {', '.join(KEYS)}", UnsupportedFeature)
    loops = tuple(
        closure(kind, *_fields(node, kind, file)) for kind in FIELDS for node in sections.get(kind, ([], None))[0]
    )
    names = {loop.name for loop in loops}
    for k, loop in enumerate(loops):  # two hinges of the same links
        if any(loop.name == other.name for other in loops[:k]):
            free = next(name for n in range(2, k + 3) if (name := f"{loop.name}_{n}") not in names)
            loops = (*loops[:k], replace(loop, name=free), *loops[k + 1 :])
            names.add(free)
    balls: dict[str, tuple[Joint, LineLocation]] = {
        name: (Spherical(), where) for name, where in _words(sections, "ball_upgrades", file)
    }
    known = next((key for key in ("actuated_joints", "independent") if key in sections), None)
    motors = None if known is None else dict(_words(sections, known, file))
    marked = [frozenset(name for name, _ in _words(sections, key, file)) for key in ("independent", "dependent")]
    return LoopFile(file, (), motors, balls, loops, *marked)


def _fields(node: Any, kind: str, file: str) -> tuple[dict[str, Any], LineLocation]:
    """Names and vectors of one loop, and its line."""
    where = _mark(node, kind, file)
    if not isinstance(node, yaml.MappingNode):
        raise where.error(f"'{kind}' has loops, each with {', '.join(FIELDS[kind])}")
    fields: dict[str, Any] = {}
    for key, value in node.value:
        word = str(key.value)
        if word not in FIELDS[kind]:
            raise _mark(key, kind, file).error(f"'{word}' of a loop is none of {', '.join(FIELDS[kind])}")
        vector = word in ("point", "axis", "parent_xyz", "child_xyz")
        fields[word] = _vector(value, word, file) if vector else _name(value, word, file)[0]
    absent = [word for word in FIELDS[kind] if word not in fields]
    if absent:
        raise where.error(f"a loop has no {', '.join(map(repr, absent))}; it needs {', '.join(FIELDS[kind])}")
    return fields, where


def _vector(node: Any, key: str, file: str) -> tuple[float, ...]:
    parts = node.value if isinstance(node, yaml.SequenceNode) else []
    try:
        vector = tuple(float(part.value) for part in parts if part.tag in _FLOATS)
    except (TypeError, ValueError):
        vector = ()
    if len(vector) != 3 or len(parts) != 3 or not all(map(math.isfinite, vector)):
        raise _mark(node, key, file).error(f"'{key}' is three numbers: {key}: [x, y, z]")
    return vector


def _joint_types(
    sections: dict[str, tuple[list[Any], LineLocation]], file: str
) -> dict[str, tuple[Joint, LineLocation]]:
    names, kinds = _words(sections, "joint_name", file), _words(sections, "joint_type", file)
    if len(names) != len(kinds):
        where = names[0][1] if names else kinds[0][1]
        raise where.error(f"{len(names)} joint names and {len(kinds)} joint types: give one type for each joint")
    types: dict[str, tuple[Joint, LineLocation]] = {}
    for (name, where), (kind, at) in zip(names, kinds, strict=True):
        if kind not in _JOINTS:
            raise at.error(f"joint type '{kind}' is none of {', '.join(_JOINTS)}", UnsupportedFeature)
        if name in types:
            raise where.error(f"joint '{name}' is given a type twice; the first is on line {types[name][1].line}")
        types[name] = (_JOINTS[kind], where)
    return types


# YAML ----------------------------------------------------------------------------------------------


class _Loader(yaml.SafeLoader):
    """Nodes without anchors and aliases, of bounded depth."""

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """One node; called for each that it holds."""
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise yaml.MarkedYAMLError(problem="anchors and aliases are not read here", problem_mark=event.start_mark)
        if self.depth >= _DEEPEST:
            raise yaml.MarkedYAMLError(problem="lists are nested too deep", problem_mark=event.start_mark)
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def _sections(text: bytes | str, file: str) -> dict[str, tuple[list[Any], LineLocation]]:
    """The list under each key, as nodes."""
    if len(text) > _LARGEST:
        raise ModelError(f"the file has more than {_LARGEST // 1024} KiB; a description of loops is shorter", file=file)
    try:
        root = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError as e:
        mark = getattr(e, "problem_mark", None)
        problem = getattr(e, "problem", None) or getattr(e, "reason", None) or "it cannot be read"
        line = None if mark is None else mark.line + 1
        raise ModelError(f"not readable as YAML: {problem}", file=file, line=line) from None
    if not isinstance(root, yaml.MappingNode):
        raise ModelError("the file is no list of keys such as 'closed_loop: ...'", file=file)
    sections: dict[str, tuple[list[Any], LineLocation]] = {}
    for key, value in root.value:
        where = _mark(key, None, file)
        name = key.value if isinstance(key, yaml.ScalarNode) else "?"
        if name not in (*_KEYS, *KEYS):
            raise where.error(f"key '{name}' is none of {', '.join((*_KEYS, *KEYS))}", UnsupportedFeature)
        if name in sections:
            raise where.error(f"key '{name}' is given a second time")
        if name == "ball_limit_deg":
            warn(where, "limits of ball joints are not kept: 'ball_limit_deg' is passed over")
            continue
        if not isinstance(value, yaml.SequenceNode):
            raise where.error(f"'{name}' is a list: {name}: [...]")
        sections[name] = (value.value, _mark(key, name, file))
    return sections


def _words(sections: dict[str, tuple[list[Any], LineLocation]], key: str, file: str) -> list[tuple[str, LineLocation]]:
    return [_name(node, key, file) for node in sections.get(key, ([], None))[0]]


def _names(node: Any, key: str, file: str) -> list[tuple[str, LineLocation]]:
    if not isinstance(node, yaml.SequenceNode):
        raise _mark(node, key, file).error(f"'{key}' is a list of pairs: {key}: [[frame_a, frame_b], ...]")
    return [_name(part, key, file) for part in node.value]


def _name(node: Any, key: str, file: str) -> tuple[str, LineLocation]:
    where = _mark(node, key, file)
    if not isinstance(node, yaml.ScalarNode) or node.tag != _PLAIN or not node.value:
        raise where.error(
            f"'{key}' holds names, and this is not one (put quotes around a name that looks like a number)"
        )
    return str(node.value), where


def _mark(node: Any, key: str | None, file: str) -> LineLocation:
    return LineLocation(file, node.start_mark.line + 1, key)
