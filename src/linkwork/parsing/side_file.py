"""Loops described beside a URDF file, in the ``robot.yaml`` of Gepetto's example-parallel-robots.

```yaml
closed_loop: [[frame_a, frame_b], ...]      pairs of frames that are held together: links of the URDF, or joints (the
                                            frame of a joint is that of its child)
type: [6d, ...]                             of each pair: 6d (all of them, a Weld) or 3d (their origins, a Point)
name_mot: [joint, ...]                      the joints that motors drive; all others are passive
joint_name: [joint, ...]                    joints that are of another type than the URDF can say,
joint_type: [SPHERICAL, ...]                and that type: SPHERICAL, FIXED, UJOINT_XY (about x, then y), CARDAN (as XY)
```

The file is read without trust: of bounded size and depth, plain scalars only, no anchors, aliases or tags.
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import yaml

from linkwork.errors import ModelError, UnsupportedFeature
from linkwork.model.joints import Fixed, Joint, Spherical, Universal
from linkwork.parsing.options import model_path
from linkwork.parsing.xml import Mark

NAME = "robot.yaml"

_LARGEST = 1 << 18
_DEEPEST = 8
_PLAIN = "tag:yaml.org,2002:str"
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
    where: Mark


@dataclass(frozen=True)
class SideFile:
    """What a ``robot.yaml`` says."""

    file: str
    pairs: tuple[FramePair, ...]
    motors: dict[str, Mark] | None
    """The actuated joints; None where the file does not say."""
    types: dict[str, tuple[Joint, Mark]]
    """Joints that are of another type than in the URDF."""

    @property
    def frames(self) -> set[str]:
        """The frames that the loops name."""
        return {name for pair in self.pairs for name in (pair.first, pair.second)}


def find_side_file(model: Path) -> SideFile | None:
    """The ``robot.yaml`` in the folder of a model file, if it is there and describes loops."""
    file = model.parent / NAME
    if not file.is_file():
        return None
    if file.resolve().parent != model.parent.resolve():
        raise ModelError(
            f"the file beside '{model.name}' is a link that leads out of the folder: pass its path as loops=..., or "
            "loops=False to do without it",
            file=file,
        )
    text = _text_of(file)
    return parse_side_file(text, str(file)) if b"closed_loop" in text else None


def load_side_file(path: str | PathLike[str]) -> SideFile:
    """A ``robot.yaml``, wherever it is."""
    file = model_path(path)
    return parse_side_file(_text_of(file), str(file))


def _text_of(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            return stream.read(_LARGEST + 1)
    except OSError as e:
        raise ModelError(f"the file cannot be read: {e.strerror or e}", file=file) from None


def parse_side_file(text: bytes | str, file: str = "<text>") -> SideFile:
    """What the text of a ``robot.yaml`` says; ``file`` is its name in messages."""
    found = _sections(text, file)
    if "closed_loop" not in found:
        raise ModelError("there is no 'closed_loop': pairs of frames that are held together", file=file)
    loops, here = found["closed_loop"]
    kinds = [(word.lower(), where) for word, where in _words(found, "type", file)]
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
    motors = dict(_words(found, "name_mot", file)) if "name_mot" in found else None
    return SideFile(file, tuple(pairs), motors, _joint_types(found, file))


def _joint_types(found: dict[str, tuple[list[Any], Mark]], file: str) -> dict[str, tuple[Joint, Mark]]:
    names, kinds = _words(found, "joint_name", file), _words(found, "joint_type", file)
    if len(names) != len(kinds):
        where = names[0][1] if names else kinds[0][1]
        raise where.error(f"{len(names)} joint names and {len(kinds)} joint types: give one type for each joint")
    types: dict[str, tuple[Joint, Mark]] = {}
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


def _sections(text: bytes | str, file: str) -> dict[str, tuple[list[Any], Mark]]:
    """The list under each key, as nodes."""
    if len(text) > _LARGEST:
        raise ModelError(f"the file has more than {_LARGEST // 1024} KiB; a description of loops has not", file=file)
    try:
        root = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError as e:
        mark = getattr(e, "problem_mark", None)
        problem = getattr(e, "problem", None) or getattr(e, "reason", None) or "it cannot be read"
        line = None if mark is None else mark.line + 1
        raise ModelError(f"not readable as YAML: {problem}", file=file, line=line) from None
    if not isinstance(root, yaml.MappingNode):
        raise ModelError("the file is no list of keys such as 'closed_loop: ...'", file=file)
    found: dict[str, tuple[list[Any], Mark]] = {}
    for key, value in root.value:
        where = _mark(key, None, file)
        name = key.value if isinstance(key, yaml.ScalarNode) else "?"
        if name not in _KEYS:
            raise where.error(f"key '{name}' is none of {', '.join(_KEYS)}", UnsupportedFeature)
        if name in found:
            raise where.error(f"key '{name}' stands here a second time")
        if not isinstance(value, yaml.SequenceNode):
            raise where.error(f"'{name}' is a list: {name}: [...]")
        found[name] = (value.value, _mark(key, name, file))
    return found


def _words(found: dict[str, tuple[list[Any], Mark]], key: str, file: str) -> list[tuple[str, Mark]]:
    return [_name(node, key, file) for node in found.get(key, ([], None))[0]]


def _names(node: Any, key: str, file: str) -> list[tuple[str, Mark]]:
    if not isinstance(node, yaml.SequenceNode):
        raise _mark(node, key, file).error(f"'{key}' is a list of pairs: {key}: [[frame_a, frame_b], ...]")
    return [_name(part, key, file) for part in node.value]


def _name(node: Any, key: str, file: str) -> tuple[str, Mark]:
    where = _mark(node, key, file)
    if not isinstance(node, yaml.ScalarNode) or node.tag != _PLAIN or not node.value:
        raise where.error(f"'{key}' holds names, and this is none (put quotes around a name that looks like a number)")
    return str(node.value), where


def _mark(node: Any, key: str | None, file: str) -> Mark:
    return Mark(file, node.start_mark.line + 1, key)
