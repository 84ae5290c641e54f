# SPDX-License-Identifier: BSD-3-Clause
"""Model files that have gone wrong in every way: each is a mechanism of finite numbers or a `LinkworkError`.

Real files and small texts are cut, swapped, nested wrongly, filled with absurd numbers, entities and includes, written
to a folder of their own and loaded from there. ``LINKWORK_MUTATIONS=20000`` asks for more of them than a test run has.
"""

from __future__ import annotations

import os
import random
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pytest
from lxml import etree

import linkwork as lw
from tests.files.test_any_text import COUPLED, FRAMES, GAZEBO, GEARED, LOOPED, MIMIC, NESTED, TREE
from tests.files.test_loops_in_files import BALL, BODY, DRAKE, LINKAGE, SIDE, linkage
from tests.files.test_loops_in_files import LOOP as URDF_LOOP
from tests.files.test_mjcf_random import SEED as MJCF
from tests.support.robots import EXAMPLES, model_files

COUNT = int(os.environ.get("LINKWORK_MUTATIONS", "320"))
CHUNKS = 8


class Source(NamedTuple):
    """The files of a model: the first is loaded."""

    name: str
    files: dict[str, bytes]


OWN = {
    "tree.urdf": TREE.replace('<link name="tip"/>', f'<link name="tip">{BODY}</link>'),
    "mimic.urdf": MIMIC,
    "coupled.urdf": COUPLED,
    "gazebo.urdf": GAZEBO,
    "plus.urdf": linkage(URDF_LOOP.format("revolute")),
    "drake.urdf": linkage(BALL.format("bar", "2 0 0")).replace("<robot", f"<robot {DRAKE}", 1),
    "frames.sdf": FRAMES,
    "geared.sdf": GEARED,
    "nested.sdf": NESTED,
    "looped.sdf": LOOPED,
    "all.xml": MJCF,
}


@cache
def own_sources() -> tuple[Source, ...]:
    """Small texts that together say all that files can say."""
    found = [Source(name, {name: text.encode()}) for name, text in OWN.items()]
    found.append(Source("linkage.urdf + robot.yaml", {"linkage.urdf": LINKAGE.encode(), "robot.yaml": SIDE.encode()}))
    parts = {"parts.xml": MJCF.replace("<worldbody>", '<worldbody><include file="more/b.xml"/>').encode()}
    parts["more/b.xml"] = b'<x><body name="inc"><joint/><geom size="1"/><include file="c.xml"/></body></x>'
    parts["more/c.xml"] = b'<mujocoinclude><site name="included"/></mujocoinclude>'
    return (*found, Source("parts.xml + includes", parts))


@cache
def real_sources() -> tuple[Source, ...]:
    """Every model file that is there, few of the parallel chains."""
    found = []
    files = [path for kind in ("urdf", "xml", "sdf") for path in model_files(f"*.{kind}")]
    for path in [*files, *sorted(EXAMPLES.rglob("cassie*.sdf"))]:
        if "chains" in path.parent.name and "depth5" not in path.name:
            continue
        texts = {path.name: path.read_bytes()}
        if path.suffix == ".urdf" and (path.parent / "robot.yaml").is_file():
            texts["robot.yaml"] = (path.parent / "robot.yaml").read_bytes()
        found.append(Source(f"{path.parent.name}/{path.name}", texts))
    return tuple(found)


# What happens to the text ------------------------------------------------------------------------------

OUTSIDE = "outside.txt"
"""A file beside the folders of the models that no load may read."""

Change = Callable[[random.Random, bytes], bytes]

NUMBERS = (
    *("0", "-0", "-1", "1e-320", "1e-30", "1e29", "-1e30", "1e31", "1e308", "1e309"),
    *("nan", "-nan", "inf", "-inf", "1_0", "0x10", "--1", "1e", "1,5", "\u0661", ""),
)
NUMBER = re.compile(rb"(?<=[\"'> ])-?\d[\d.eE+-]*(?=[\"'< ])")
TEXT = re.compile(rb'"([^"<>]*)"')
WORDS = ("world", "", "__model__", "nowhere", "a::b", "../../x", "/", " ", "\u00e9", "root_joint", "universe", "\x01")


def cut_short(rng: random.Random, text: bytes) -> bytes:
    return text[: rng.randrange(len(text) + 1)]


def noisy(rng: random.Random, text: bytes) -> bytes:
    out = bytearray(text)
    for _ in range(rng.choice((1, 3, 20))):
        out[rng.randrange(len(out))] = rng.randrange(256)
    return bytes(out)


def a_piece_gone(rng: random.Random, text: bytes) -> bytes:
    start = rng.randrange(len(text))
    return text[:start] + text[start + rng.randrange(200) :]


def a_piece_elsewhere(rng: random.Random, text: bytes) -> bytes:
    start, to = rng.randrange(len(text)), rng.randrange(len(text))
    return text[:to] + text[start : start + rng.randrange(400)] + text[to:]


def wild_numbers(rng: random.Random, text: bytes) -> bytes:
    some = rng.choice((0.002, 0.02, 0.5))
    return NUMBER.sub(lambda m: rng.choice(NUMBERS).encode() if rng.random() < some else m.group(), text)


def names_mixed_up(rng: random.Random, text: bytes) -> bytes:
    """Two names become one, or a name that there is not: duplicate names, unknown joints."""
    found = [m.span() for m in TEXT.finditer(text)]
    for start, end in sorted(rng.sample(found, min(len(found), rng.choice((1, 2, 5)))), reverse=True):
        other = rng.choice(found)
        new = text[slice(*other)] if rng.random() < 0.7 else f'"{rng.choice(WORDS)}"'.encode()
        text = text[:start] + new + text[end:]
    return text


def with_entities(rng: random.Random, text: bytes) -> bytes:
    """Entity bombs, and entities and declarations that are other files."""
    laughs = "".join(f'<!ENTITY l{k + 1} "{f"&l{k};" * 10}">' for k in range(9))
    inside = rng.choice(
        (
            f'[<!ENTITY l0 "ha">{laughs}]',
            f'[<!ENTITY big "{"x" * 50_000}">]',
            '[<!ENTITY l0 SYSTEM "file:///etc/passwd">]',
            '[<!ENTITY l0 SYSTEM "../outside.txt">]',
            '[<!ENTITY % p SYSTEM "../outside.txt"> %p;]',
            'SYSTEM "../outside.txt"',
            '[<!ATTLIST link name CDATA "x">]',
            '[<!ENTITY a "&b;"><!ENTITY b "&a;">]',
        )
    )
    text = re.sub(rb"<\?xml.*?\?>", b"", text, count=1)
    root = re.search(rb"<(\w+)", text)
    name = root.group(1).decode() if root else "robot"
    use = rng.choice((b"&l9;", b"&l0;", b"&big;" * 2000, b"&a;"))
    at = text.find(b">", root.end() if root else 0) + 1
    if rng.random() < 0.5:
        text = text[:at] + use + text[at:]
    else:
        text = NUMBER.sub(lambda _: use[:50_000], text, count=1)
    return f"<!DOCTYPE {name} {inside}>".encode() + text


INCLUDES = (
    *(f'<include file="{f}"/>' for f in ("../outside.txt", "/etc/passwd", "model.xml", "more/b.xml", ".", "", "\x7f")),
    '<include file="a.xml"/>',
    "<include><uri>../outside.txt</uri></include>",
    "<include><uri>model://cassie</uri></include>",
    '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="../outside.txt" parse="text"/>',
    '<xacro:include xmlns:xacro="x" filename="../outside.txt"/>',
    '<asset><mesh file="../outside.txt"/></asset>',
    '<plugin name="p" filename="../outside.txt"/>',
)


def with_includes(rng: random.Random, text: bytes) -> bytes:
    """Includes of itself, of what includes it, and of files outside of the folder."""
    ends = [m.end() for m in re.finditer(rb"[^/?-]>", text)]
    for _ in range(rng.choice((1, 1, 3))):
        at = rng.choice(ends) if ends else 0
        text = text[:at] + rng.choice(INCLUDES).encode() + text[at:]
    return text


def nested_deeply(rng: random.Random, text: bytes) -> bytes:
    at, deep = rng.choice([m.start() for m in re.finditer(b"<", text)] or [0]), rng.choice((40, 250, 3000))
    tag = rng.choice((b"body", b"model", b"link", b"frame", b"default", b"x"))
    return text[:at] + (b"<%s>" % tag) * deep + (b"</%s>" % tag) * deep + text[at:]


TEXTUAL: tuple[Change, ...] = (
    *(cut_short, noisy, a_piece_gone, a_piece_elsewhere, wild_numbers, wild_numbers, names_mixed_up, names_mixed_up),
    *(with_entities, with_includes, nested_deeply),
)


# What happens to the elements ----------------------------------------------------------------------------


def of_elements(change: Callable[[random.Random, Any, list[Any]], None]) -> Change:
    """A change of the tree of elements as one of the text; a text that is no XML stays as it is."""

    def changed(rng: random.Random, text: bytes) -> bytes:
        try:
            root = etree.fromstring(text, etree.XMLParser(resolve_entities=False, huge_tree=False))
        except (etree.XMLSyntaxError, ValueError):
            return text
        inner = [e for e in root.iterdescendants() if isinstance(e.tag, str)]
        if inner:
            change(rng, rng.choice(inner), [root, *inner])
        return etree.tostring(root)

    changed.__name__ = change.__name__
    return changed


@of_elements
def deleted(rng: random.Random, element: Any, all: list[Any]) -> None:
    element.getparent().remove(element)


@of_elements
def doubled(rng: random.Random, element: Any, all: list[Any]) -> None:
    for _ in range(rng.choice((1, 1, 30))):
        element.addnext(etree.fromstring(etree.tostring(element, with_tail=False)))


@of_elements
def moved(rng: random.Random, element: Any, all: list[Any]) -> None:
    """Elements inside of others that do not hold such."""
    into = rng.choice(all)
    if element not in (into, *into.iterancestors()):
        into.append(element)


@of_elements
def renamed(rng: random.Random, element: Any, all: list[Any]) -> None:
    other = rng.choice(all)
    element.tag, other.tag = other.tag, element.tag


@of_elements
def attributes_lost(rng: random.Random, element: Any, all: list[Any]) -> None:
    for one in rng.sample(all, min(len(all), 3)):
        if one.attrib:
            del one.attrib[rng.choice(list(one.attrib))]


@of_elements
def attributes_exchanged(rng: random.Random, element: Any, all: list[Any]) -> None:
    other = rng.choice(all)
    if element.attrib and other.attrib:
        a, b = rng.choice(list(element.attrib)), rng.choice(list(other.attrib))
        element.attrib[a], other.attrib[b] = other.attrib[b], element.attrib[a]


STRUCTURAL: tuple[Change, ...] = (deleted, doubled, moved, renamed, attributes_lost, attributes_exchanged)


def other_yaml(rng: random.Random, text: bytes) -> bytes:
    bomb = b"a: &a [x, x]\n" + b"".join(b"%c: &%c [*%c, *%c]\n" % (c + 1, c + 1, c, c) for c in range(97, 110))
    patches = (
        b"[",
        b"]",
        b"{",
        b": ",
        b"\n  - ",
        b"*a",
        b"&a ",
        b"!!python/name:os.system ",
        b"null",
        bomb,
        b"[" * 3000,
    )
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(patches) + text[at:]


# Loading them --------------------------------------------------------------------------------------------

OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {},
    {"inertias": "check"},
    {"inertias": "trust"},
    {"base": "floating"},
    {"mimic": "ignore", "inertias": "trust"},
    {"dependent": "free", "loops": False},
)


def mutate(number: int, folder: Path) -> tuple[Path, str, dict[str, Any]]:
    """The files of one mutation, always the same for its number: what to load, what was done, and how to load it."""
    rng = random.Random(number)
    known = real_sources() if number % 2 and real_sources() else own_sources()
    source = known[number // 2 % len(known)]
    files = dict(source.files)
    done = []
    for _ in range(rng.choice((1, 1, 2, 4))):
        name = rng.choice(list(files))
        changes = (other_yaml, *TEXTUAL[:8]) if name.endswith(".yaml") else TEXTUAL + STRUCTURAL
        change = rng.choice(changes)
        if files[name]:
            files[name] = change(rng, files[name])
            done.append(f"{name}: {change.__name__}")
    home = folder / f"{number}"
    first = next(iter(files))
    if first.endswith(".xml") and rng.random() < 0.5:  # the includes above name this file and one another
        files = {"model.xml" if name == first else name: text for name, text in files.items()}
        files.setdefault("a.xml", b'<x><include file="model.xml"/></x>')
    elif rng.random() < 0.05:  # a file of another kind than its name says
        files = {f"{Path(first).stem}.{rng.choice(('urdf', 'sdf', 'xml', 'mjcf'))}": files[first]}
    there = os.fsencode(folder / OUTSIDE) if rng.random() < 0.5 else f"../{OUTSIDE}".encode()
    for name, text in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(text.replace(b"../outside.txt", there))
    return home / next(iter(files)), f"{source.name} ({'; '.join(done)})", rng.choice(OPTIONS)


_opened: list[str] | None = None


def _note_opened(event: str, arguments: tuple[Any, ...]) -> None:
    if _opened is not None and event == "open" and isinstance(arguments[0], str | bytes):
        _opened.append(os.fsdecode(arguments[0]))


@cache
def _listening() -> None:
    """Have Python say which files are opened; this cannot be undone, so it is done once."""
    sys.addaudithook(_note_opened)


@contextmanager
def opened_files() -> Iterator[list[str]]:
    """The files that Python opens within."""
    global _opened
    _listening()
    _opened = []
    try:
        yield _opened
    finally:
        _opened = None


INSTALLED = [Path(place).resolve() for place in (sys.prefix, sys.base_prefix, Path(lw.__file__).parent)]
"""Where modules are that Python may import meanwhile."""


def outside(folder: Path, opened: list[str]) -> list[str]:
    allowed = [folder.resolve(), *INSTALLED]
    return [name for name in opened if not any(Path(name).resolve().is_relative_to(place) for place in allowed)]


class Outcome(NamedTuple):
    """How a load ended: ``"loaded"`` or the name of an error, and how long it took."""

    ending: str
    seconds: float
    what: str


def outcome(number: int, folder: Path) -> Outcome:
    """Load one mutation; what is neither a `LinkworkError` nor a sound mechanism fails and says how to repeat it."""
    file, what, options = mutate(number, folder)
    repeat = f"mutation {number}: {what}, {options}, {file}"
    start = perf_counter()
    robot, ending = None, "loaded"
    try:
        with warnings.catch_warnings(), opened_files() as opened:
            warnings.simplefilter("ignore", lw.errors.ModelWarning)
            robot = lw.load(file, **options)
    except lw.errors.LinkworkError as e:
        ending = type(e).__name__
    except Exception as e:
        raise AssertionError(f"{repeat}: {type(e).__name__}: {e}") from e
    seconds = perf_counter() - start
    assert not outside(file.parent, opened), f"{repeat}: {outside(file.parent, opened)}"
    if robot is not None:
        M = lw.mass_matrix(robot, robot.neutral())
        assert M.shape == (robot.nv, robot.nv) and np.isfinite(M).all(), repeat
        assert all(np.isfinite(q).all() for q in robot.poses.values()), repeat
        if number % 2 == 0:  # of the small texts
            _compute(robot, repeat)
    return Outcome(ending, seconds, repeat)


def _compute(robot: lw.Mechanism, repeat: str) -> None:
    """Forward and inverse dynamics of whatever was loaded: numbers, or a `LinkworkError`."""
    q, still = robot.neutral(), np.zeros(robot.nv)
    for make in (lw.ForwardDynamics, lw.InverseDynamics):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                make(robot)(q, still, still)
        except lw.errors.LinkworkError:
            continue
        except Exception as e:
            raise AssertionError(f"{repeat}: {make.__name__}: {type(e).__name__}: {e}") from e


@pytest.fixture
def untouched(tmp_path: Path) -> Iterator[None]:
    """A file that is not read: an XML library opens files unseen by Python, so the time of access is watched."""
    file = tmp_path / OUTSIDE
    file.write_text("<x/>")
    os.utime(file, (1, 2))
    yield
    assert file.stat().st_atime == 1


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.usefixtures("untouched")
def test_a_mutated_file_is_a_mechanism_or_a_linkwork_error(chunk: int, tmp_path: Path) -> None:
    endings = Counter(outcome(number, tmp_path).ending for number in numbers(chunk))
    assert set(endings) <= {"loaded", "ModelError", "TopologyError", "UnsupportedFeature", "InputError"}
    assert endings["ModelError"] > endings.total() / 10  # or else nothing was mutated


def numbers(chunk: int) -> range:
    """The mutations of a chunk: a stretch of all, so that each has texts of both kinds."""
    return range(chunk * COUNT // CHUNKS, (chunk + 1) * COUNT // CHUNKS)


def test_own_texts_load_as_they_are(tmp_path: Path) -> None:
    """What is found wrong is then the mutation."""
    for source in own_sources():
        for name, text in source.files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes(text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lw.errors.ModelWarning)
            assert lw.load(tmp_path / next(iter(source.files))).nv > 0


def test_opened_files_are_seen(tmp_path: Path) -> None:
    (tmp_path / "seen.txt").write_text("x")
    with opened_files() as opened:
        (tmp_path / "seen.txt").read_bytes()
        os.close(os.open(tmp_path / "seen.txt", os.O_RDONLY))
    assert opened == [str(tmp_path / "seen.txt")] * 2
    assert outside(tmp_path / "below", opened) == opened
    assert outside(tmp_path, opened) == []


# Numbers that cannot be ----------------------------------------------------------------------------------

INERTIAL = '<inertial><mass value="{}"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="{}"/></inertial>'
ARM = """<robot name="arm"><link name="base"/>
<link name="upper">{}</link>
<link name="lower">{}</link>
<joint name="a" type="continuous"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/></joint>
<joint name="b" type="continuous"><parent link="upper"/><child link="lower"/>
<origin xyz="{} 0 0"/><axis xyz="0 0 1"/></joint></robot>"""
SDF = """<sdf version="1.9"><model name="arm">
<link name="upper"><inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>{zz}</izz></inertia></inertial></link>
<joint name="a" type="revolute"><parent>world</parent><child>upper</child><axis><xyz>0 0 1</xyz></axis></joint>
</model></sdf>"""
MJCF_ARM = """<mujoco><worldbody><body name="upper">
<inertial pos="0 0 0" mass="1" fullinertia="1 1 {zz} 0 0 0"/><joint name="a" axis="0 0 1"/></body>
</worldbody></mujoco>"""
TENDONS = """<mujoco><worldbody><body><joint name="a"/><geom size="1"/></body></worldbody>
<tendon><fixed name="t"><joint joint="a" coef="1"/></fixed></tendon>
<equality><tendon tendon2="t"/></equality></mujoco>"""


def arm(mass: float = 1.0, zz: float = 1.0, at: float = 1.0, upper: tuple[float, float] = (1.0, 1.0)) -> str:
    """Two links: mass and moment about the axis of the lower one, how far it is, and these of the upper one."""
    return ARM.format(INERTIAL.format(*upper), INERTIAL.format(mass, zz), at)


IMPOSSIBLE = {
    "a mass of 1e-30 kg beside 1 kg": (arm(mass=1e-30), 5, "1e-30 kg, which is rounding beside the 1 kg"),
    "a joint 1e15 m away": (arm(at=1e15), 5, "in a robot of 1e+15 m"),
    "a moment below zero about the joint, URDF": (arm(zz=-1.0), 5, "negative inertia about its axis"),
    "a moment below zero about the joint, SDF": (SDF.format(zz=-1.0), 3, "negative inertia about its axis"),
    "a moment below zero about the joint, MJCF": (MJCF_ARM.format(zz=-1.0), 2, "negative inertia about its axis"),
    "an equality without its first tendon": (TENDONS, 3, "'tendon1'"),
}


@pytest.mark.parametrize("what", IMPOSSIBLE)
@pytest.mark.parametrize("inertias", ["warn", "trust"])
def test_masses_and_inertias_that_cannot_be_are_refused_with_their_line(what: str, inertias: Any) -> None:
    text, line, message = IMPOSSIBLE[what]
    with pytest.raises(lw.errors.ModelError, match=re.escape(message)) as caught:
        lw.loads(text, inertias=inertias)
    assert caught.value.line == line


def test_negative_moments_that_nothing_makes_up_for_are_refused_with_their_line() -> None:
    """Of a body that carries another: a real robot has one where the mass matrix stays positive definite."""
    with pytest.raises(
        lw.errors.ModelError, match=r"negative moment of inertia, -3 .* negative kinetic energy"
    ) as caught:
        lw.loads(arm(upper=(1.0, -3.0)), inertias="trust")
    assert caught.value.line == 2
    robot = lw.loads(arm(upper=(1.0, -0.5)), inertias="trust")
    assert np.linalg.eigvalsh(lw.mass_matrix(robot, robot.neutral()))[0] > 0


def test_inertias_that_are_rounding_beside_others_are_an_error_of_the_dynamics() -> None:
    """Of a body that carries others, nobody can tell when the file is read."""
    robot = lw.loads(arm(upper=(2.4e14, 1.0)))
    with pytest.raises(lw.errors.SingularMassMatrix, match="rounding beside the largest masses"):
        lw.ForwardDynamics(robot).compile()(robot.neutral(), np.zeros(2), np.zeros(2))


def test_limits_from_zero_to_minus_zero_are_one_position() -> None:
    text = (
        arm()
        .replace('type="continuous"', 'type="revolute"')
        .replace("<axis", '<limit lower="0" upper="-0.0" effort="1" velocity="1"/><axis')
    )
    assert not lw.loads(text).random(0).any()
