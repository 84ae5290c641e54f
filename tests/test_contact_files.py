# SPDX-License-Identifier: BSD-3-Clause
"""Which pairs may touch: read from MJCF as MuJoCo decides it, from URDF and SDF, chosen in code, carried by mechanisms."""

from __future__ import annotations

import os
import pickle
import struct
import warnings
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import linkwork as lw
from linkwork.errors import InputError, ModelError, ModelWarning
from linkwork.model.contacts import contact_shapes

MODELS = Path(os.environ.get("LINKWORK_MODELS", "/nowhere"))
NOMESH = sorted(MODELS.glob("*/*_nomesh.xml"))


def names(robot: lw.Mechanism) -> list[str]:
    return [pair.name for pair in robot.contacts]


def quiet_load(path: Path, **options: Any) -> lw.Mechanism:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return lw.load(path, **options)


# MJCF against MuJoCo ------------------------------------------------------------------------------------------


def allowed(m: Any, mujoco: Any) -> set[frozenset[int]]:
    """Pairs of geoms that MuJoCo's collision driver lets touch, from the compiled model: its masks, exclusions, parents
    and explicit pairs."""
    excluded = {(int(s) >> 16, int(s) & 0xFFFF) for s in m.exclude_signature}
    flat = (mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_HFIELD)
    found = {frozenset((int(a), int(b))) for a, b in zip(m.pair_geom1, m.pair_geom2, strict=True)}
    weld, parent, body = m.body_weldid, m.body_parentid, m.geom_bodyid
    still = [_is_still(m, b) for b in range(m.nbody)]
    for a, b in combinations(range(m.ngeom), 2):
        masks = m.geom_contype[a] & m.geom_conaffinity[b] or m.geom_contype[b] & m.geom_conaffinity[a]
        one, other = weld[body[a]], weld[body[b]]
        near = one and other and (weld[parent[one]] == other or weld[parent[other]] == one)
        out = (body[a], body[b]) in excluded or (body[b], body[a]) in excluded
        ends = one == other or (still[body[a]] and still[body[b]])
        if masks and not (near or out or ends or (m.geom_type[a] in flat and m.geom_type[b] in flat)):
            found.add(frozenset((a, b)))
    return found


def _is_still(m: Any, body: int) -> bool:
    while body:
        if m.body_dofnum[body]:
            return False
        body = m.body_parentid[body]
    return True


def geom_labels(m: Any, robot: lw.Mechanism) -> dict[str, int]:
    """MuJoCo's numbers of the shapes in our contacts, by where they are: names first, placements where there are none."""
    mujoco = pytest.importorskip("mujoco")
    d = mujoco.MjData(m)
    mujoco.mj_kinematics(m, d)
    from linkwork.parsing.mjcf import mujoco_map

    q = mujoco_map(robot).from_qpos(d.qpos)
    found: dict[str, int] = {}
    for shape in contact_shapes(robot.contacts):
        number = mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_GEOM, shape.name)
        if number < 0:
            at = shape.placement
            if shape.body != "world":
                on = robot.frames[shape.body].placement.inverse() * shape.placement
                at = lw.frame_placement(robot, q, shape.body) * on
            apart = [np.linalg.norm(d.geom_xpos[g] - at.position) for g in range(m.ngeom)]
            number = next(int(g) for g in np.argsort(apart) if int(g) not in found.values())
            assert apart[number] < 1e-9
        found[shape.name] = number
    return found


@pytest.mark.parametrize("path", NOMESH, ids=lambda p: p.stem)
def test_pairs_of_a_file_are_those_of_mujoco(path: Path) -> None:
    """By MuJoCo's rules on its own compiled model: as many pairs, of the same geoms where these have names."""
    mujoco = pytest.importorskip("mujoco")
    try:
        m = mujoco.MjModel.from_xml_path(str(path))
    except ValueError as e:
        pytest.skip(f"MuJoCo does not load it: {e}")
    robot = quiet_load(path)
    assert len(robot.contacts) == len(allowed(m, mujoco))
    numbers = geom_labels(m, robot)
    ours = {frozenset((numbers[p.first.name], numbers[p.second.name])) for p in robot.contacts}
    assert ours == allowed(m, mujoco)


masks = st.sampled_from([0, 1, 1, 1, 2, 3, 5])


@st.composite
def scenes(draw: Any) -> str:
    """Bodies on each other, all at the origin, so that all geoms overlap."""
    count = draw(st.integers(1, 6))
    inside: dict[int, list[int]] = {k: [] for k in range(count + 1)}
    for k in range(1, count + 1):
        inside[draw(st.integers(0, k - 1))].append(k)
    numbers = iter(range(100))

    def geom(kinds: list[str]) -> str:
        number = next(numbers)
        kind = draw(st.sampled_from(kinds))
        size = {"plane": "1 1 1", "sphere": ".1", "capsule": ".1 .1"}[kind]
        said = [f'name="g{number}" type="{kind}" size="{size}" pos="0 {1e-3 * number} {-1e-3 * (kind == "plane")}"']
        for attribute, values in (
            ("contype", masks),
            ("conaffinity", masks),
            ("condim", st.sampled_from([1, 3, 3, 4, 6])),
            ("priority", st.integers(0, 1)),
            ("friction", st.sampled_from([".3", ".7 .01", "2 .1 .1", "0"])),
            ("margin", st.sampled_from([0, 0.01, 0.02])),
            ("gap", st.sampled_from([0, 0.003])),
            ("solref", st.sampled_from(["0.02 1", "-100 -1"])),
        ):
            if draw(st.booleans()):
                said.append(f'{attribute}="{draw(values)}"')
        return f"<geom {' '.join(said)}/>"

    def body(k: int, top: bool) -> str:
        kinds = ["hinge", "slide", "fixed", "two", *(["free", "mocap"] if top else [])]
        kind = draw(st.sampled_from(kinds))
        joints = {"hinge": "<joint/>", "slide": '<joint type="slide"/>', "free": "<freejoint/>"}
        joints["two"] = '<joint axis="1 0 0"/><joint axis="0 1 0"/>'
        mocap = ' mocap="true"' if kind == "mocap" else ""
        geoms = "".join(geom(["sphere", "capsule"]) for _ in range(draw(st.integers(0, 2))))
        mass = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
        below = "".join(body(other, False) for other in inside[k])
        return f'<body name="b{k}"{mocap}>{mass}{joints.get(kind, "")}{geoms}{below}</body>'

    world = "".join(geom(["plane", "plane", "sphere"]) for _ in range(draw(st.integers(0, 2))))
    world += "".join(body(k, True) for k in inside[0])
    used = next(numbers)
    contact = ""
    for _ in range(draw(st.integers(0, 2))):
        one, other = draw(st.integers(0, count)), draw(st.integers(0, count))
        if one != other:
            contact += f'<exclude body1="{f"b{one}" if one else "world"}" body2="{f"b{other}" if other else "world"}"/>'
    pairs = set()
    for _ in range(draw(st.integers(0, 2)) if used > 1 else 0):
        ends = sorted((draw(st.integers(0, used - 1)), draw(st.integers(0, used - 1))))
        if ends[0] != ends[1] and tuple(ends) not in pairs:
            pairs.add(tuple(ends))
            said = draw(st.sampled_from(["", 'friction=".4 .4"', 'condim="1"', 'margin=".05" gap=".01"', 'condim="6"']))
            contact += f'<pair geom1="g{ends[0]}" geom2="g{ends[1]}" {said}/>'
    flags = draw(st.sampled_from(["", "", "", 'filterparent="disable"', 'contact="disable"', 'constraint="disable"']))
    override = draw(st.booleans()) and draw(st.booleans())
    option = '<option o_margin=".04" o_friction=".9 .9"><flag override="enable"/></option>' if override else ""
    option += f"<option><flag {flags}/></option>" if flags else ""
    return f"<mujoco>{option}<worldbody>{world}</worldbody><contact>{contact}</contact></mujoco>"


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(scenes())
def test_contacts_are_those_that_mujoco_finds(xml: str) -> None:
    """In scenes where all geoms overlap: the same geoms, friction (0 where there is none), and margins."""
    mujoco = pytest.importorskip("mujoco")
    m = mujoco.MjModel.from_xml_string(xml)
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    theirs = {}
    for c in d.contact:
        weld = m.body_weldid[m.geom_bodyid[c.geom]]
        if weld[0] == weld[1] or all(_is_still(m, b) for b in m.geom_bodyid[c.geom]):
            continue  # a <pair> of what is one body, or fixed: its force moves nothing
        ends = frozenset(mujoco.mj_id2name(m, mujoco.mjtObj.mjOBJ_GEOM, g) for g in c.geom)
        friction = 0.0 if c.dim == 1 or c.friction[0] == 1e-5 else c.friction[0]  # 1e-5: MuJoCo's least
        theirs[ends] = (friction, c.includemargin)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        robot = lw.loads(xml)
    ours = {frozenset((p.first.name, p.second.name)): (p.friction, p.margin) for p in robot.contacts}
    assert ours.keys() == theirs.keys()
    for ends, numbers in theirs.items():
        assert ours[ends] == pytest.approx(numbers, abs=1e-15)
