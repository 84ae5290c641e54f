# SPDX-License-Identifier: BSD-3-Clause
"""MJCF: random trees have MuJoCo's dynamics, and any text whatsoever is a mechanism or a `LinkworkError`."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import linkwork as lw
from linkwork.errors import LinkworkError
from tests.support.mangled import SAFE, with_words_exchanged
from tests.support.mjcf_texts import EQUALITIES, SITES, SOLID, TENDONS, agrees, chain, model

# Trees ---------------------------------------------------------------------------------------------

NUMBER = st.floats(-1, 1).map(lambda x: round(x, 3))
POSITIVE = st.floats(0.05, 1).map(lambda x: round(x, 3))


def numbers(count: int, each: st.SearchStrategy[float] = NUMBER) -> st.SearchStrategy[str]:
    return st.lists(each, min_size=count, max_size=count).map(lambda xs: " ".join(map(str, xs)))


DIRECTION = numbers(3).filter(lambda text: max(abs(float(x)) for x in text.split()) > 0.1)
QUATERNION = numbers(4).filter(lambda text: max(abs(float(x)) for x in text.split()) > 0.1)
TURN = st.one_of(
    st.just(""),
    QUATERNION.map(lambda x: f'quat="{x}"'),
    numbers(3).map(lambda x: f'euler="{x}"'),
    DIRECTION.map(lambda x: f'zaxis="{x}"'),
    st.tuples(DIRECTION, NUMBER).map(lambda x: f'axisangle="{x[0]} {x[1]}"'),
)
PLACE = st.tuples(numbers(3), TURN).map(lambda x: f'pos="{x[0]}" {x[1]}')
SHAPE = st.one_of(
    *(
        numbers(count, POSITIVE).map(lambda x, kind=kind: f'type="{kind}" size="{x}"')  # type: ignore[misc]
        for kind, count in (("sphere", 1), ("capsule", 2), ("cylinder", 2), ("ellipsoid", 3), ("box", 3))
    )
)
GEOM = st.tuples(SHAPE, PLACE, st.sampled_from(["", 'mass="0.7"', 'density="50"'])).map(
    lambda x: f"<geom {' '.join(x)}/>"
)
MATTER = st.one_of(st.just(SOLID), st.lists(GEOM, min_size=1, max_size=3).map("".join))
SCALAR = st.builds(
    lambda kind, axis, place, ref, armature: (
        f'<joint type="{kind}" axis="{axis}" pos="{place}" ref="{ref}" armature="{abs(armature)}"/>'
    ),
    st.sampled_from(["hinge", "slide"]),
    DIRECTION,
    numbers(3),
    NUMBER,
    st.just(0.0) | POSITIVE,
)
BALL = numbers(3).map(lambda place: f'<joint type="ball" pos="{place}"/>')
JOINTS = st.one_of(
    st.just(""), st.lists(SCALAR, min_size=1, max_size=3).map("".join), BALL, st.tuples(SCALAR, BALL).map("".join)
)


@st.composite
def bodies(draw: st.DrawFn, depth: int = 0) -> str:
    below = "".join(draw(st.lists(bodies(depth + 1), max_size=2))) if depth < 3 else ""
    joints = draw(JOINTS | st.just("<freejoint/>")) if depth == 0 else draw(JOINTS)
    text = f"<body {draw(PLACE)}>{joints}{draw(MATTER)}{below}</body>"
    return f"<frame {draw(PLACE)}>{text}</frame>" if draw(st.booleans()) else text


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(
    st.lists(bodies(), min_size=1, max_size=2), st.sampled_from(["xyz", "ZyX"]), st.sampled_from(["radian", "degree"])
)
def test_random_trees_have_mujocos_dynamics(world: list[str], sequence: str, angle: str) -> None:
    text = model("".join(world), f'<compiler eulerseq="{sequence}"/>', angle=angle)
    agrees(lw.loads(text, "mjcf", inertias="check"), text)


# Any text ------------------------------------------------------------------------------------------

SEED = model(
    SITES
    + chain("<freejoint/>", '<joint type="ball"/><joint type="slide"/>').replace('name="b', 'name="f')
    + '<frame euler="1 2 3" childclass="k"><body><joint/><geom type="box" size="1 2 3" mass="2"/>'
    '<geom type="ellipsoid" size="1 2 3" shellinertia="true"/>'
    '<geom type="capsule" size="1" fromto="0 0 0 1 1 1"/></body></frame>',
    '<compiler boundmass="0.1" boundinertia="0.1" balanceinertia="true" settotalmass="9"/>'
    '<default><joint armature="0.1"/><default class="k"><geom density="3"/></default></default>',
    f"{TENDONS}<equality>{''.join(EQUALITIES.values())}</equality>".replace('name="e"', "")
    + '<actuator><motor joint="x" gear="3" armature="0.1"/></actuator>'
    + '<keyframe><key name="k" qpos="1 0 0 0 1"/></keyframe>',
)


def only_linkwork_errors(text: bytes | str) -> None:
    for trusted in ("check", "trust"):
        try:
            robot = lw.loads(text, "mjcf", inertias=trusted)  # type: ignore[arg-type]
        except LinkworkError:
            continue
        assert np.isfinite(robot.poses["qpos0"]).all()
        assert all(np.isfinite(y.about_origin()).all() for y in robot.inertias.values())


def test_the_text_that_is_changed_is_a_model() -> None:
    assert lw.loads(SEED, "mjcf", inertias="check").nc > 30


@SAFE
@given(with_words_exchanged(SEED))
@pytest.mark.filterwarnings("error")
def test_files_with_exchanged_words_raise_only_linkwork_errors(text: str) -> None:
    only_linkwork_errors(text)


@settings(SAFE, max_examples=150)
@given(st.dictionaries(st.integers(0, 240), st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=5))
@pytest.mark.filterwarnings("error")
def test_any_numbers_raise_only_linkwork_errors(edits: dict[int, float]) -> None:
    """Few at a time: of many wild ones the first is the error."""
    count = iter(range(len(SEED)))
    text = re.sub(r"(?<=[\" ])-?[\d.]+(?=[\" ])", lambda m: repr(edits.get(next(count), m.group())).strip("'"), SEED)
    only_linkwork_errors(text)
