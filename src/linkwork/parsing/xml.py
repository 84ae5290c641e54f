# SPDX-License-Identifier: BSD-3-Clause
"""Model files as XML: read without trust, and every complaint says file, line and element.

The parser resolves no entities, opens no other file, uses no network, and refuses documents of absurd depth. What XML
forbids and TinyXML, which the formats' own tools use, takes is read with a warning: undeclared prefixes, and
comments with ``--`` in them, and XML declarations elsewhere than at the start or of other versions.
"""

from __future__ import annotations

import math
import re
import sys
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol

from lxml import etree

from linkwork.errors import ModelError, ModelWarning, UnsupportedFeature
from linkwork.model.thresholds import UNBOUNDED

DEEPEST = 500
"""Elements within each other: as many as TinyXML takes. (libxml2 stops at 256 unless told otherwise.)"""

ORIGIN = "{linkwork}file"
"""Attribute with the file that an element comes from, where it was copied into the tree of another."""

_SHOWN = 80

_FLAGS = {"true": True, "1": True, "false": False, "0": False}


class Location(Protocol):
    """A place in a file that complaints can name."""

    def error(self, message: str, kind: type[ModelError] = ModelError) -> ModelError:
        """An error that says where this is."""


@dataclass(frozen=True)
class LineLocation:
    """A line of a file, and the element or key it belongs to."""

    file: str
    line: int
    key: str | None = None

    def error(self, message: str, kind: type[ModelError] = ModelError) -> ModelError:
        """An error that says where this is."""
        return kind(message, file=self.file, line=self.line, element=self.key)


def warn(where: Location, message: str) -> None:
    """Issue a `ModelWarning` that names the place in the file, on the line of the user's call."""
    level, frame = 1, sys._getframe()
    while frame is not None and str(frame.f_globals.get("__name__", "")).split(".")[0] == "linkwork":
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    warnings.warn(str(where.error(message)), ModelWarning, stacklevel=level)


class Node:
    """An XML element that knows its file, so that what it lacks or holds wrongly is an error saying where."""

    __slots__ = ("_defaults", "_element", "_namespace", "file", "tag")

    def __init__(self, element: Any, file: str, namespace: str | None) -> None:
        self._element = element
        self._namespace = namespace
        self._defaults: Mapping[str, str] = {}
        self.file = element.get(ORIGIN) or file
        own, self.tag = _split(element.tag)
        """The name; with a prefix (``drake:joint``) when it belongs to another vocabulary than the root."""
        if own != namespace and ":" not in self.tag:  # a prefix that is not declared is part of the name already
            self.tag = f"{element.prefix or '{' + str(own) + '}'}:{self.tag}"

    @property
    def line(self) -> int | None:
        """Line in the file, from 1."""
        line = self._element.sourceline
        return None if line is None else int(line)

    @property
    def element(self) -> Any:
        """The element as lxml has it."""
        return self._element

    def error(self, message: str, kind: type[ModelError] = ModelError) -> ModelError:
        """An error that says where this element is."""
        name = self.get("name")
        element = self.tag if name is None else f'{self.tag} name="{_short(name)}"'
        return kind(message, file=self.file, line=self.line, element=element)

    # Children ------------------------------------------------------------------------------------

    def children(self, *tags: str) -> Iterator[Node]:
        """The elements directly inside, all or those called one of ``tags``."""
        for element in self._element:
            if isinstance(element.tag, str):
                node = Node(element, self.file, self._namespace)
                if not tags or node.tag in tags:
                    yield node

    def descendants(self, *tags: str) -> Iterator[Node]:
        """The elements called one of ``tags`` anywhere inside."""
        for element in self._element.iterdescendants():
            if isinstance(element.tag, str):
                node = Node(element, self.file, self._namespace)
                if node.tag in tags:
                    yield node

    def child(self, tag: str) -> Node | None:
        """The one element inside called ``tag``, or None; two are an error."""
        children = list(self.children(tag))
        if len(children) > 1:
            raise children[1].error(
                f"a <{self.tag}> holds at most one <{tag}>; the first is on line {children[0].line}"
            )
        return children[0] if children else None

    def need(self, tag: str) -> Node:
        """The one element inside called ``tag``; none is an error."""
        child = self.child(tag)
        if child is None:
            raise self.error(f"a <{self.tag}> needs a <{tag}> inside")
        return child

    def refuse_other_elements(self, known: Collection[str]) -> None:
        """Raise `UnsupportedFeature` for an element inside that is none of those that are read or known as harmless."""
        for child in self.children():
            if child.tag not in known:
                raise child.error(
                    f"<{child.tag}> inside <{self.tag}> is not understood, and it could change the dynamics; "
                    "if it does not, remove it from the file",
                    UnsupportedFeature,
                )

    # Text ----------------------------------------------------------------------------------------

    @property
    def content(self) -> str:
        """The text inside, stripped; comments are no part of it."""
        after_comments = [node.tail or "" for node in self._element if not isinstance(node.tag, str)]
        return "".join([self._element.text or "", *after_comments]).strip()

    def word(self) -> str:
        """The text inside, which must not be empty."""
        if not self.content:
            raise self.error(f"a <{self.tag}> holds a name, and this one is empty")
        return self.content

    def flag(self) -> bool:
        """The text inside as a truth value."""
        value = _FLAGS.get(self.content.lower())
        if value is None:
            raise self.error(f"'{_short(self.content)}' is neither true nor false")
        return value

    def values(self, *counts: int, largest: float = UNBOUNDED) -> tuple[float, ...]:
        """The text inside as numbers, as many as one of ``counts``."""
        entries = self._numbers("the text", self.content, largest)
        if len(entries) not in counts:
            wanted = " or ".join(map(str, counts))
            raise self.error(f"the text has {len(entries)} numbers, needs {wanted}: '{_short(self.content)}'")
        return tuple(entries)

    def value_of(self, tag: str, default: float | None = None, largest: float = UNBOUNDED) -> float:
        """The number that is the text of the element inside called ``tag``; without a default it must be there."""
        node = self.child(tag) if default is not None else self.need(tag)
        return node.values(1, largest=largest)[0] if node is not None else default  # type: ignore[return-value]

    # Attributes ----------------------------------------------------------------------------------

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the attributes, inherited ones too; those of other vocabularies left out."""
        names = dict.fromkeys([*self._element.keys(), *self._defaults])
        return tuple(name for name in names if not name.startswith("{") and ":" not in name)

    def inheriting(self, defaults: Mapping[str, str]) -> Node:
        """A copy of the element; absent attributes are those of ``defaults``."""
        node = Node(self._element, self.file, self._namespace)
        node._defaults = defaults
        return node

    def get(self, attribute: str) -> str | None:
        """An attribute as it is written, or None."""
        value = self._element.get(attribute)
        return self._defaults.get(attribute) if value is None else str(value)

    def completed(self, attribute: str, usual: tuple[float, ...]) -> tuple[float, ...]:
        """The numbers of an attribute; those at its end that it does not say are inherited, or else the usual ones.

        Args:
            attribute: Its name.
            usual: All numbers.
        """
        entries = self.numbers(attribute, *range(1, len(usual) + 1)) or ()
        inherited = self._numbers(f"attribute '{attribute}'", self._defaults.get(attribute) or "", UNBOUNDED)
        entries = (*entries, *inherited[len(entries) :])
        return (*entries, *usual[len(entries) :])[: len(usual)]

    def text(self, attribute: str) -> str:
        """An attribute that must be there and not be empty."""
        value = self.get(attribute)
        if not value:
            raise self.error(f"attribute '{attribute}' is {'missing' if value is None else 'empty'}")
        return value

    def number(self, attribute: str, default: float | None = None, largest: float = UNBOUNDED) -> float:
        """An attribute as one number; without a default it must be there."""
        if default is not None and self.get(attribute) is None:
            return default
        values = self._numbers(f"attribute '{attribute}'", self.text(attribute), largest)
        if len(values) != 1:
            raise self.error(f"attribute '{attribute}' is one number, not {len(values)}")
        return values[0]

    def numbers(self, attribute: str, *counts: int) -> tuple[float, ...] | None:
        """An attribute as numbers, as many as one of ``counts``; None where it is missing."""
        text = self.get(attribute)
        if text is None:
            return None
        values = self._numbers(f"attribute '{attribute}'", text, UNBOUNDED)
        if len(values) not in counts:
            wanted = " or ".join(map(str, counts)) if len(counts) < 4 else f"{counts[0]} to {counts[-1]}"
            raise self.error(f"attribute '{attribute}' has {len(values)} numbers, needs {wanted}: '{_short(text)}'")
        return tuple(values)

    def choice(self, attribute: str, known: Sequence[str], default: str) -> str:
        """An attribute that is one of some words."""
        value = self.get(attribute)
        if value is not None and value not in known:
            raise self.error(f"attribute '{attribute}' is '{_short(value)}'; it is one of {', '.join(known)}")
        return default if value is None else value

    def is_set(self, attribute: str) -> bool:
        """An attribute as a truth value; false where it is missing or empty."""
        text = self.get(attribute) or "false"
        value = _FLAGS.get(text.strip().lower())
        if value is None:
            raise self.error(f"attribute '{attribute}' is '{_short(text)}', neither true nor false")
        return value

    def vector(self, attribute: str, default: tuple[float, float, float]) -> tuple[float, float, float]:
        """An attribute as three numbers."""
        text = self.get(attribute)
        if text is None:
            return default
        values = self._numbers(f"attribute '{attribute}'", text, UNBOUNDED)
        if len(values) != 3:
            raise self.error(f"attribute '{attribute}' has {len(values)} numbers, needs 3: '{_short(text)}'")
        return values[0], values[1], values[2]

    def _numbers(self, what: str, text: str, largest: float) -> list[float]:
        values = []
        for word in text.split():
            try:
                # Python also reads digits of other scripts and '1_000'; model files do not mean them.
                value = float(word) if word.isascii() and "_" not in word else math.nan
            except ValueError:
                value = math.nan
            if math.isnan(value):
                raise self.error(f"{what}: '{_short(word)}' is not a number")
            if abs(value) > largest:
                raise self.error(f"{what}: {_short(word)} is beyond 1e30, and no number in SI units")
            values.append(value)
        return values


def read_xml(text: bytes | str, file: str) -> Node:
    """The root element of a document; what is not well-formed XML is a `ModelError`, or a warning (see above)."""
    root, complaints = _parsed(text, file)
    if complaints:
        says = dict.fromkeys(complaint for _, complaint in complaints)
        kept = "; read as TinyXML reads it, which the tools of these formats use"
        warn(LineLocation(file, min(line for line, _ in complaints)), f"not well-formed XML: {'; '.join(says)}{kept}")
    dtd = root.getroottree().docinfo.internalDTD
    if dtd is not None and any(True for _ in dtd.iterentities()):
        raise ModelError(
            "the document declares XML entities, which are not resolved; write their values out", file=file
        )
    return Node(root, file, _split(root.tag)[0])


def root_tag(text: bytes | str, file: str) -> str:
    """The name of the root element; errors as `read_xml`, no warnings."""
    return _split(_parsed(text, file)[0].tag)[1]


Complaint = tuple[int, str]
"""A line, and what is wrong there."""


def _parsed(text: bytes | str, file: str) -> tuple[Any, list[Complaint]]:
    """The root as lxml has it, and what is not XML but was read all the same."""
    encoding = None
    if isinstance(text, str):
        text, encoding = text.encode("utf-8", "surrogatepass"), "utf-8"
    try:
        return etree.fromstring(text, _parser(encoding)), []
    except etree.XMLSyntaxError as e:
        line, problem = e.lineno, e.msg
    except (etree.LxmlError, ValueError, LookupError) as e:
        raise ModelError(f"not readable as XML: {e}", file=file) from None
    wrong = _byte_beyond_utf8(text)
    if wrong is not None:
        root, complaints = _parsed(text.decode("latin-1"), file)
        return root, [(wrong, "bytes that are not UTF-8"), *complaints]
    if _may_be_read_again(text):
        comments: list[Complaint] = []
        parser = _parser("utf-8", deep=True, recover=True)
        with suppress(etree.XMLSyntaxError):  # nothing to recover
            root = etree.fromstring(_without_hyphens(_without_declaration(text, comments), comments), parser)
            undeclared = [e for e in parser.error_log if e.type == etree.ErrorTypes.NS_ERR_UNDEFINED_NAMESPACE]
            fatal = [e for e in parser.error_log if e.type != etree.ErrorTypes.NS_ERR_UNDEFINED_NAMESPACE]
            if root is not None and not fatal and _depth(root) <= DEEPEST:
                return root, [*comments, *((int(e.line), str(e.message).lower()) for e in undeclared)]
            if fatal:
                line, problem = fatal[0].line, fatal[0].message
            elif root is not None:
                line, problem = 0, f"elements are nested more than {DEEPEST} deep"
    raise ModelError(f"not well-formed XML: {problem}", file=file, line=line or None)


def _parser(encoding: str | None, deep: bool = False, recover: bool = False) -> etree.XMLParser:
    return etree.XMLParser(
        encoding=encoding,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        huge_tree=deep,
        recover=recover,
    )


_ENCODING = re.compile(rb"""<\?xml[^>]*encoding\s*=\s*["']([^"']*)""")


def _byte_beyond_utf8(text: bytes) -> int | None:
    """The line of the first byte that is not UTF-8, in a document that is said to be; other parsers pass over it."""
    said = _ENCODING.search(text[:_SHOWN])
    if said is not None and said[1].lower() not in (b"utf-8", b"utf8"):
        return None
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as e:
        return None if b"\0" in text else text.count(b"\n", 0, e.start) + 1
    return None


def _may_be_read_again(text: bytes) -> bool:
    """Whether a document can be parsed without bounds on its depth, which are also those on what entities expand to."""
    try:
        text.decode("utf-8")  # so that what is looked for below cannot hide in another encoding
    except UnicodeDecodeError:
        return False
    return b"<!DOCTYPE" not in text and b"\0" not in text


_COMMENT = re.compile(rb"<!\[CDATA\[.*?\]\]>|<!--(.*?)-->", re.DOTALL)


def _without_hyphens(text: bytes, complaints: list[Complaint]) -> bytes:
    """The text, of comments with ``--`` in them the lines alone; a comment ends at the first ``-->``."""

    def emptied(match: re.Match[bytes]) -> bytes:
        inside = match[1]
        if inside is None or (b"--" not in inside and not inside.endswith(b"-")):
            return match[0]
        complaints.append((text.count(b"\n", 0, match.start()) + 1, "'--' inside a comment"))
        return b"<!--" + b"\n" * inside.count(b"\n") + b"-->"

    return _COMMENT.sub(emptied, text)


_DECLARATION = re.compile(rb"(\s*+(?:(?><!--.*?-->)\s*+)*+)(<\?xml\b[^>]*\?>)", re.DOTALL)


def _without_declaration(text: bytes, complaints: list[Complaint]) -> bytes:
    """The text without an XML declaration that is not at its start, or not of a version of XML."""
    match = _DECLARATION.match(text)
    if match is None or (not match[1] and re.search(rb"""version\s*=\s*["']1\.""", match[2])):
        return text
    what = "an XML declaration that is not at the start" if match[1] else "an XML declaration of no version of XML"
    complaints.append((match[1].count(b"\n") + 1, what))
    return match[1] + b"\n" * match[2].count(b"\n") + text[match.end() :]


def _depth(root: Any) -> int:
    depth = deepest = 0
    for event, _ in etree.iterwalk(root, events=("start", "end")):
        depth += 1 if event == "start" else -1
        deepest = max(deepest, depth)
    return deepest


def _split(name: str) -> tuple[str | None, str]:
    """Namespace and name of a tag as lxml writes it."""
    namespace, brace, local = name.rpartition("}")
    return (namespace[1:], local) if brace else (None, name)


@contextmanager
def located(node: Location) -> Iterator[None]:
    """Give errors of the mechanism's builder the place in the file that they come from."""
    try:
        yield
    except ModelError as e:
        if e.file is not None:
            raise
        raise node.error(str(e), type(e)) from e


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
