# SPDX-License-Identifier: BSD-3-Clause
"""Every element and attribute of MuJoCo's schema is read, has no effect on the dynamics, or is refused by its name."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import mujoco
import pytest

import linkwork as lw
from linkwork.model.sensors import SENSOR_TYPES
from linkwork.parsing.mjcf.sensors import NOT_COMPUTED
from linkwork.parsing.mjcf.vocabulary import ACTUATORS, IN_BODY, IN_DEFAULT, READ, SECTIONS, WITHOUT_EFFECT
from linkwork.parsing.xml import Node
from tests.support.mjcf_texts import EQUALITIES, HINGES, equality, model

LOOKS = """asset/texture asset/material asset/skin asset/model body/light default/texture default/material default/light
deformable/skin"""
APART = (
    *LOOKS.split(),
    "visual",
    "statistic",
    "size",
    "custom",
    "extension",
    "lengthrange",
    "plugin",
    "camera",
    "hfield",
)
"""Elements that have no effect on the dynamics whatever they say, that only sensors or height fields read, or that are
refused as a whole."""
REFUSED = ("flexcomp", "plugin", "flex", "flexstrain")
"""Elements that are refused by their names."""


def schema() -> dict[tuple[str, ...], list[str]]:
    """Attributes by path of elements."""
    elements: dict[tuple[str, ...], list[str]] = {}
    path: tuple[str, ...] = ()
    for line in mujoco.mj_printSchema(False, False).splitlines():
        element = re.match(r"^( *)(?:\(world\))?(\w+) \(.\) *(.*)$", line)
        if element:
            path = (*path[: len(element[1]) // 3], element[2])
            elements[path] = element[3].split()
        elif line.strip():
            elements[path] += line.split()
    return elements


SCHEMA = schema()


def kinds() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Kinds of elements in the vocabulary, with their paths in the schema."""
    for path in SCHEMA:
        if (
            path == ("mujoco", "default")
            or any(f"{a}/{b}" in APART for a, b in pairwise(path))
            or set(path) & {*APART, *REFUSED}
        ):
            continue
        around, tag = path[-2] if len(path) > 1 else "", path[-1]
        if around in ("fixed", "spatial"):
            yield f"{tag} of a tendon", path
        elif around == "equality" and "default" not in path and tag in ("joint", "tendon"):
            yield f"{tag} equality", path
        elif tag in ("fixed", "spatial"):
            yield "tendon", path
        elif around == "sensor":
            yield "sensor", path
        else:
            yield tag, path


@pytest.mark.parametrize(("kind", "path"), kinds(), ids=lambda at: at if isinstance(at, str) else "/".join(at[1:]))
def test_attributes_of_mujocos_schema_are_known(kind: str, path: tuple[str, ...]) -> None:
    if kind == "sensor" and path[-1] in NOT_COMPUTED:
        assert path[-1] not in SENSOR_TYPES
        return
    known = READ.get(kind, frozenset()) | WITHOUT_EFFECT.get(kind, frozenset())
    if kind == "equality":  # of a default class
        known = READ["connect"]
    assert set(SCHEMA[path]) <= known, f"{'/'.join(path)}: {sorted(set(SCHEMA[path]) - known)}"


def test_attributes_are_either_read_or_without_effect() -> None:
    assert [kind for kind in READ if READ[kind] & WITHOUT_EFFECT[kind]] == []


ACTUATED = {
    "general": "j0",
    "motor": "j0",
    "position": "j1",
    "velocity": "j2",
    "intvelocity": "j0",
    "pid": "j1",
    "damper": "j2",
    "cylinder": "j0",
    "muscle": "j1",
    "dcmotor": "j2",
    "orientation": "j0",
    "plugin": "j0",
}
MESH = 'vertex="0 0 0 1 0 0 0 1 0 0 0 1"'
TEXTS = [
    *(equality(text) for text in EQUALITIES.values()),
    model(HINGES, "", '<actuator><motor joint="j0"/></actuator><keyframe><key/></keyframe>'),
    model(
        HINGES,
        '<compiler assetdir="a" meshdir="b" settotalmass="9"/><option density="1"><flag override="enable"/></option>',
        f"""<actuator>{"".join(f'<{kind} joint="{joint}" ctrlrange="0 1"/>' for kind, joint in ACTUATED.items())}
<adhesion body="b0" ctrlrange="0 1"/><position site="s" refsite="s"/>
<motor cranksite="s" slidersite="s" cranklength="1"/><muscle joint="j0" lengthrange="0 1"/></actuator>
<sensor><jointpos joint="j0"/><magnetometer site="s"/><touch site="s"/>
<framepos objtype="site" objname="s" reftype="site" refname="s"/>
<actuatorpos actuator="a"/><tendonpos tendon="t"/><subtreecom body="b0"/><rangefinder site="s"/></sensor>
<tendon><spatial name="t"><site site="s"/><geom geom="g" sidesite="s"/><site site="s"/><pulley divisor="2"/>
<site site="s"/><site site="s"/></spatial></tendon><contact><pair geom1="g" geom2="h"/><exclude body1="b0" body2="b1"/>
</contact><keyframe><key mpos="0 0 0"/></keyframe>""",
    ).replace(
        "<worldbody>",
        f"""<asset><mesh name="m" {MESH} face="0 2 1 0 1 3 0 3 2 1 2 3"/>
<hfield name="t" nrow="2" ncol="2" size="1 1 1 1"/></asset><worldbody>
<site name="s"/><geom name="g" size="1" fluidshape="ellipsoid"/><frame><body mocap="true"/></frame>
<replicate count="2"><site name="r"/></replicate>
<body gravcomp=".5"><joint range="0 1" stiffness="1"/><geom size="1"/></body>
<geom type="hfield" hfield="t"/>
<body><freejoint/><geom name="h" type="box" mesh="m" fluidshape="ellipsoid" mass="1"/></body>""",
    ),
]


ATTACHED = """<mujoco><asset><model name="a" file="ball.xml"/></asset><worldbody><body><attach model="a" frame="f"
prefix="p_"/></body></worldbody></mujoco>"""
BALL = '<mujoco><worldbody><frame name="f"><body><joint/><geom size="1"/></body></frame></worldbody></mujoco>'


def test_attributes_that_are_read_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No name in the lists of what is read is there without code that reads it."""
    asked = defaultdict[str, set[str]](set)
    get = Node.get

    def noted(node: Node, attribute: str) -> str | None:
        asked[node.tag].add(attribute)
        return get(node, attribute)

    monkeypatch.setattr(Node, "get", noted)
    (tmp_path / "ball.xml").write_text(BALL)
    (tmp_path / "pair.xml").write_text(ATTACHED)
    assert lw.load(tmp_path / "pair.xml").nv == 1
    for text in TEXTS:
        lw.loads(text, "mjcf")
    of_actuators = set.union(*(asked[kind] for kind in ACTUATORS))
    for kind, names in READ.items():
        tags = {"tendon": ("fixed", "spatial"), "sensor": (*SENSOR_TYPES,)}.get(kind, (kind.split()[0],))
        seen = set.union(*(asked[tag] for tag in tags)) | (of_actuators if kind in ACTUATORS else set())
        assert names <= seen, f"{kind}: {sorted(names - seen)} are in the list of what is read"


def test_elements_of_mujocos_schema_are_known() -> None:
    for path in SCHEMA:
        if len(path) == 1:
            assert path == ("mujoco",)
        elif len(path) == 2:
            assert path[1] in SECTIONS | {"body", "deformable"}
        elif path[1] == "default" and len(path) == 3:
            assert path[2] in IN_DEFAULT
        elif path[1] == "body" and len(path) == 3:
            assert path[2] in IN_BODY | {"attach", "flexcomp", "plugin"}
        elif path[1] == "actuator" and len(path) == 3:
            assert path[2] in ACTUATORS
        elif path[1] == "sensor" and len(path) == 3:
            assert path[2] in {*SENSOR_TYPES, *NOT_COMPUTED}


PAGE = Path(__file__).parents[2] / "docs/reference/mjcf.md"


def test_the_page_lists_attributes_without_effect() -> None:
    rows = re.findall(r"^\| `<([\w ]+)>` \| (.+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    listed = {kind: frozenset(re.findall(r"`(\w+)`", names)) for kind, names in rows}
    shared = WITHOUT_EFFECT["motor"]
    named = {kind: names - shared if kind in ACTUATORS - {"motor"} else names for kind, names in WITHOUT_EFFECT.items()}
    assert listed == {kind: names for kind, names in named.items() if names}
