# SPDX-License-Identifier: BSD-3-Clause
"""Which pairs may touch: in MJCF as MuJoCo decides it, from URDF and SDF, chosen in code, carried by mechanisms."""

from __future__ import annotations

import pickle
import struct
import warnings
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import linkwork as lw
from linkwork.errors import InputError, ModelError, ModelWarning
from linkwork.model.contacts import contact_shapes
from linkwork.model.soft_contact import USUAL
from linkwork.parsing.mjcf import mujoco_map
from tests.support.robots import model_file

NOMESH = [
    "booster_t1/T1_23dof_parallel",
    "cassie/cassie",
    "digit/digit-v3",
    "fourier_n1/n1",
    "iiwa14/iiwa14",
    "kangaroo/kangaroo",
    "kangaroo/kangaroo_grippers",
    "kangaroo/kangaroo_lower_body",
    "panda/panda",
    "reachy_mini/reachy_mini",
    "robotiq_2f85/2f85",
    "robotiq_2f85_v4/2f85",
]
"""MJCF files whose meshes were taken out."""


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
    """MuJoCo's numbers of the shapes in our contacts, by name, or by place where there is none."""
    mujoco = pytest.importorskip("mujoco")
    d = mujoco.MjData(m)
    mujoco.mj_kinematics(m, d)
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


@pytest.mark.parametrize("name", NOMESH)
def test_pairs_of_a_file_are_those_of_mujoco(name: str) -> None:
    """By MuJoCo's rules on its own compiled model."""
    mujoco = pytest.importorskip("mujoco")
    path = model_file(f"{name}_nomesh.xml")
    m = mujoco.MjModel.from_xml_path(str(path))
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
            ("solref", st.sampled_from(["0.02 1", "0.3 .5", "-100 -1", "-50 -7"])),
            ("solimp", st.sampled_from([".5 .6", ".1 .9 .01 .3 3", "0.8"])),
            ("solmix", st.sampled_from([0, 0, 1, 3.5])),
            ("adhesion", st.sampled_from([0, 2.5])),
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
            more = 'condim="4" friction=".4 .4 .3" solreffriction=".1 .2" solref=".3 2" adhesion="4"'
            known = ["", 'friction=".4 .4"', 'condim="1"', 'margin=".05" gap=".01"', 'condim="6"', more]
            said = draw(st.sampled_from(known))
            contact += f'<pair geom1="g{ends[0]}" geom2="g{ends[1]}" {said}/>'
    flags = draw(st.sampled_from(["", "", "", 'filterparent="disable"', 'contact="disable"', 'constraint="disable"']))
    override = draw(st.booleans()) and draw(st.booleans())
    said = 'o_margin=".04" o_friction=".9 .9 .2" o_solref=".3 2" o_solimp=".2 .3"'
    option = f'<option {said}><flag override="enable"/></option>' if override else ""
    option += f"<option><flag {flags}/></option>" if flags else ""
    return f"<mujoco>{option}<worldbody>{world}</worldbody><contact>{contact}</contact></mujoco>"


@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(scenes())
def test_contacts_are_those_that_mujoco_finds(xml: str) -> None:
    """In scenes where all geoms overlap: the same geoms, friction of all kinds (0 where there is none), margins,
    adhesion and softness."""
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
        spinning, rolling = (c.friction[k] if c.dim > k + 1 and c.friction[k] != 1e-5 else 0.0 for k in (2, 3))
        dist = friction, spinning, rolling, c.includemargin, c.adhesion
        theirs[ends] = (*dist, *c.solref, *c.solreffriction, *c.solimp)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        robot = lw.loads(xml)
    ours = {}
    for p in robot.contacts:
        said = p.soft or USUAL
        dist = p.friction, p.torsional_friction, p.rolling_friction, p.margin, p.adhesion
        soft = (*said.reference, *said.friction_reference, *said.impedance)
        ours[frozenset((p.first.name, p.second.name))] = (*dist, *soft)
    assert ours.keys() == theirs.keys()
    for ends, numbers in theirs.items():
        assert ours[ends] == pytest.approx(numbers, abs=1e-15)


# MJCF: what MuJoCo cannot be asked ---------------------------------------------------------------------------------

BALL = '<body name="ball"><freejoint/><geom {}/></body>'


def mjcf(geom: str, more: str = "") -> str:
    plane = '<geom type="plane" size="1 1 1"/>'
    return f"<mujoco><worldbody>{plane}{BALL.format(geom)}</worldbody>{more}</mujoco>"


def test_a_geom_that_cannot_be_read_is_a_warning() -> None:
    text = mjcf('size=".1" type="mesh" mesh="m" mass="1"').replace(
        "<geom size", '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><geom size'
    )
    with pytest.warns(ModelWarning, match=r"not used of what the file says of contacts.*\(m\)"):
        lw.loads(text)


def test_a_mesh_whose_file_is_missing_does_not_touch(tmp_path: Path) -> None:
    mass = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    text = (
        '<mujoco><asset><mesh name="m" file="m.stl"/></asset><worldbody><geom type="plane" size="1 1 1" name="p"/>'
        f'<body>{mass}<freejoint/><geom name="g" type="mesh" mesh="m"/></body></worldbody>'
        '<contact><pair geom1="p" geom2="g"/></contact></mujoco>'
    )
    with pytest.warns(ModelWarning, match="meshes whose files were not found"):
        assert lw.loads(text).contacts == ()
    (tmp_path / "m.stl").write_bytes(b"")
    (tmp_path / "m.xml").write_text(text)
    (pair,) = lw.load(tmp_path / "m.xml").contacts
    assert isinstance(pair.second.solid, lw.shapes.Mesh)
    box = SPHERE.format("", "").replace('<sphere radius=".1"/>', '<mesh filename="m.stl"/>')
    with pytest.warns(ModelWarning, match="meshes whose files were not found"):
        assert names(lw.loads(urdf(FOUR | {"b": box}), contacts=True)) == ["ground:c", "ground:d"]


@pytest.mark.filterwarnings("error")
def test_softness_is_said_only_where_contacts_are_asked_for() -> None:
    lw.loads(mjcf('size=".1" solref=".01 1"'))
    with pytest.warns(ModelWarning, match="'solref'"):
        lw.loads(mjcf('size=".1" solref=".01 1"'), contacts=True)


@pytest.mark.parametrize("contact", ['<exclude body1="ball" body2="bal"/>', '<pair geom1="a" geom2="b"/>'])
def test_contacts_of_what_the_file_does_not_have_are_a_warning(contact: str) -> None:
    with pytest.warns(ModelWarning, match="which is no (body|geom) of the model"):
        assert len(lw.loads(mjcf('name="a" size=".1"', f"<contact>{contact}</contact>")).contacts) == 1


@pytest.mark.parametrize("geom", ['condim="2"', 'contype="0.5"', 'friction="-1"', 'friction="a"', 'contype="a"'])
def test_wrong_numbers_of_contacts_are_errors_that_say_where(geom: str) -> None:
    with pytest.raises(ModelError, match="<text>:1 <geom"):
        lw.loads(mjcf(f'size=".1" {geom}'))


def test_contacts_can_be_left_out() -> None:
    assert lw.loads(mjcf('size=".1"'), contacts=False).contacts == ()
    assert len(lw.loads(mjcf('size=".1"')).contacts) == len(lw.loads(mjcf('size=".1"'), contacts=True).contacts) == 1


def test_a_file_without_ground_gets_one_where_it_is_asked_for() -> None:
    ball = BALL.format('size=".1" friction=".3"')
    text = f"<mujoco><worldbody>{ball}</worldbody></mujoco>"
    assert lw.loads(text).contacts == ()
    (pair,) = lw.loads(text, contacts=True).contacts
    assert pair.name == "ground:ball" and pair.friction == 0.3 and pair.first.placement.position[2] == 0


def test_height_fields_are_those_of_mujoco(tmp_path: Path) -> None:
    """From text, from a binary file and from an image: heights at the same places."""
    mujoco = pytest.importorskip("mujoco")
    data = np.random.default_rng(1).uniform(-1, 3, (4, 3)).astype(np.float32)
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "field.bin").write_bytes(struct.pack("<ii", 4, 3) + data.tobytes())
    said = ['file="field.bin"', f'nrow="4" ncol="3" elevation="{" ".join(map(str, data.ravel()))}"']
    try:
        from PIL import Image
    except ImportError:
        pass
    else:
        Image.fromarray((60 * (data + 1)).astype(np.uint8)).save(tmp_path / "assets" / "field.png")
        said.append('file="field.png"')
    ball = BALL.format('size=".1"')
    for k, attributes in enumerate(said):
        file = tmp_path / f"{k}.xml"
        file.write_text(
            f'<mujoco><compiler meshdir="assets"/><asset><hfield name="h" size="1 2 .5 .1" {attributes}/></asset>'
            f'<worldbody><geom type="hfield" hfield="h" pos="0 0 1"/>{ball}</worldbody></mujoco>'
        )
        m = mujoco.MjModel.from_xml_path(str(file))
        (pair,) = lw.load(file).contacts
        field = pair.first.solid
        assert isinstance(field, lw.shapes.HeightField) and field.size == (2.0, 4.0)
        theirs = m.hfield_data.reshape(4, 3).T * m.hfield_size[0, 2]
        np.testing.assert_allclose(field.heights, theirs, atol=1e-7)


# URDF and SDF ------------------------------------------------------------------------------------------------------

MASS = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
LINK = '<link name="{0}">' + MASS + "{1}</link>"
SPHERE = '<collision{0}><geometry><sphere radius=".1"/></geometry>{1}</collision>'
JOINT = (
    '<joint name="{0}_joint" type="{2}"><parent link="{1}"/><child link="{0}"/><origin xyz="0 0 -.5"/>'
    '<limit effort="1" velocity="1"/></joint>'
)


def urdf(links: dict[str, str], more: str = "", kind: str = "revolute") -> str:
    """A chain of links."""
    order = list(links)
    made = "".join(LINK.format(name, inside) for name, inside in links.items())
    made += "".join(JOINT.format(child, parent, kind) for parent, child in pairwise(order))
    return f'<robot name="r" xmlns:drake="http://drake.mit.edu">{made}{more}</robot>'


FOUR = {name: SPHERE.format("", "") for name in "abcd"}


def test_a_urdf_file_states_no_pairs() -> None:
    assert lw.loads(urdf(FOUR)).contacts == ()


@pytest.mark.parametrize(("contacts", "more"), [(True, []), ("ground", []), ("all", ["a:c", "a:d", "b:d"])])
def test_neighbors_in_urdf_do_not_touch(contacts: Any, more: list[str]) -> None:
    robot = lw.loads(urdf(FOUR), base="floating", contacts=contacts)
    assert names(robot) == [*(f"ground:{k}" for k in "abcd"), *more]


def test_a_base_that_is_fixed_to_the_world_is_part_of_the_robot() -> None:
    """Links touch it, but for the one that a joint connects; the ground does not."""
    robot = lw.loads(urdf(FOUR), contacts="all")
    assert names(robot) == ["ground:b", "ground:c", "a:c", "ground:d", "a:d", "b:d"]
    assert names(lw.loads(urdf(FOUR), contacts=True)) == ["ground:b", "ground:c", "ground:d"]
    assert names(lw.loads(urdf(FOUR)).with_contacts("a", "b", "c", ground=False)) == ["a:c"]


def test_a_link_fixed_to_another_touches_under_its_own_name() -> None:
    """It is part of the moving body, with its shape where the joint puts it, and touches no neighbor of that body."""
    robot = lw.loads(urdf(FOUR, kind="fixed"), base="floating", contacts="all")
    assert names(robot) == [f"ground:{k}" for k in "abcd"]
    last = robot.contacts[-1].second
    assert last.body == "a" and last.placement.position[2] == pytest.approx(-1.5)
    assert names(robot.without_contacts().with_contacts("d")) == ["ground:d"]


def test_gazebo_says_friction_and_self_collision() -> None:
    said = '<gazebo reference="{}"><mu1>0.4</mu1><mu2>0.4</mu2><kp>1e5</kp><selfCollide>true</selfCollide></gazebo>'
    robot = lw.loads(urdf(FOUR, said.format("a") + said.format("c")), base="floating", contacts=True)
    assert names(robot) == ["ground:a", "ground:b", "ground:c", "ground:d", "a:c"]
    numbers = {pair.name: (pair.friction, pair.compliance) for pair in robot.contacts}
    assert numbers["ground:a"] == (0.4, 1e-5) and numbers["ground:b"] == (1.0, 0.0)
    assert numbers["a:c"] == (0.4, pytest.approx(2e-5))  # two springs in series


def test_surfaces_stay_for_pairs_that_are_chosen_in_code() -> None:
    robot = lw.loads(urdf(FOUR, '<gazebo reference="b"><mu1 value="0.4"/></gazebo>'), base="floating")
    assert [pair.friction for pair in robot.with_contacts().contacts] == [1.0, 0.4, 1.0, 1.0]
    assert [pair.friction for pair in robot.with_contacts(friction=0.2).contacts] == [0.2] * 4


def test_drake_says_friction_and_filter_groups() -> None:
    """The friction of two of Drake's surfaces is their harmonic mean."""
    said = "<drake:proximity_properties><drake:mu_dynamic value='{}'/></drake:proximity_properties>"
    links = {name: SPHERE.format("", said.format(mu)) for name, mu in zip("abcd", (0.2, 0.4, 0.6, 0.8), strict=True)}
    group = (
        '<drake:collision_filter_group name="g"><drake:member link="a"/><drake:member link="d"/>'
        '<drake:ignored_collision_filter_group name="g"/></drake:collision_filter_group>'
    )
    robot = lw.loads(urdf(links, group), base="floating", contacts="all")
    frictions = {pair.name: pair.friction for pair in robot.contacts}
    assert "a:d" not in frictions and frictions["ground:a"] == 0.2
    assert frictions["a:c"] == pytest.approx(2 * 0.2 * 0.6 / 0.8)


def test_what_urdf_says_of_contacts_and_is_not_used_is_one_warning() -> None:
    said = (
        "<drake:proximity_properties><drake:mu_dynamic value='.5'/><drake:mu_static value='.7'/>"
        "<drake:hunt_crossley_dissipation value='1'/></drake:proximity_properties>"
    )
    links = FOUR | {"b": SPHERE.format("", said), "c": "<contact><contact_cfm value='1'/></contact>" + FOUR["c"]}
    text = urdf(links, '<gazebo reference="d"><mu1>1</mu1><mu2>2</mu2><kd>3</kd></gazebo>')
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lw.loads(text)
    with pytest.warns(ModelWarning) as found:
        lw.loads(text, contacts=True)
    (warning,) = found
    for what in ("mu_static", "hunt_crossley_dissipation", "contact_cfm", "<mu2>", "<kd>"):
        assert what in str(warning.message)


def sdf(inside: str, more: str = "") -> str:
    mass = "<inertial><mass>1</mass></inertial>"
    links = "".join(
        f'<link name="{name}"><pose>0 0 {k} 0 0 0</pose>{mass}<collision name="c"><geometry><sphere>'
        f"<radius>.1</radius></sphere></geometry>{inside}</collision></link>"
        for k, name in enumerate("abc")
    )
    joints = "".join(
        f'<joint name="{p}{c}" type="ball"><parent>{p}</parent><child>{c}</child></joint>' for p, c in ("ab", "bc")
    )
    return f'<sdf version="1.9" xmlns:drake="x"><model name="m">{links}{joints}{more}</model></sdf>'


@pytest.mark.filterwarnings("error")
def test_surfaces_of_sdf() -> None:
    surface = (
        "<surface><friction><ode><mu>.3</mu><mu2>.3</mu2></ode></friction><bounce><restitution_coefficient>.5"
        "</restitution_coefficient></bounce><contact><ode><kp>1000</kp></ode></contact></surface>"
    )
    robot = lw.loads(sdf(surface, "<self_collide>true</self_collide>"), contacts=True)
    assert names(robot) == ["ground:a_c", "ground:b_c", "ground:c_c", "a_c:c_c"]
    ground, itself = robot.contacts[0], robot.contacts[-1]
    assert (ground.friction, ground.restitution, ground.compliance) == (0.3, 0.5, 1e-3)
    assert (itself.friction, itself.restitution, itself.compliance) == (0.3, 0.5, 2e-3)
    assert lw.loads(sdf(surface)).contacts == ()


@pytest.mark.parametrize(
    "contact", ["<collide_bitmask>0</collide_bitmask>", "<collide_without_contact>1</collide_without_contact>"]
)
def test_shapes_of_sdf_that_do_not_touch(contact: str) -> None:
    with pytest.raises(InputError, match="contacts=True: no moving body"):
        lw.loads(sdf(f"<surface><contact>{contact}</contact></surface>"), contacts=True)


def test_what_sdf_says_of_contacts_and_is_not_used_is_one_warning() -> None:
    spin = "<torsional><coefficient>1</coefficient><use_patch_radius>false</use_patch_radius></torsional>"
    said = f"<surface><friction>{spin}<ode><mu>1</mu><slip1>1</slip1></ode></friction></surface>"
    with pytest.warns(ModelWarning, match="torsional.*slip1|slip1.*torsional") as found:
        lw.loads(sdf(said), contacts="all")
    assert len(found) == 1


@pytest.mark.parametrize("contacts", ["some", 1.5, "grund"])
def test_the_option_of_loading_is_checked(contacts: Any) -> None:
    with pytest.raises(InputError, match="contacts is"):
        lw.loads(urdf(FOUR), contacts=contacts)


# Chosen in code ------------------------------------------------------------------------------------------------


def boxes(count: int = 3, role: Any = "collision") -> lw.Builder:
    """Free boxes, and a foot that is fixed to the first."""
    build = lw.Builder("boxes")
    for k in range(count):
        build.body(f"box{k}", lw.Inertia(1.0, rotational=np.eye(3)))
        build.joint(f"joint{k}", lw.joints.Free(), "world", f"box{k}")
        build.shape(f"box{k}", lw.shapes.Box((1, 1, 1)), role=role)
    build.body("foot", lw.Inertia(1.0))
    build.joint("ankle", lw.joints.Fixed(), "box0", "foot", at=(0, 0, -1))
    build.shape("foot", lw.shapes.Sphere(0.1), role=role)
    return build


TIP = lw.contact.ContactShape("tip", "foot", lw.shapes.Sphere(0.2), lw.Placement((1, 0, 0)))


def test_contacts_by_body_shape_and_pair() -> None:
    robot = boxes().build()
    assert names(robot) == []
    assert names(robot.with_contacts()) == ["ground:box0", "ground:foot", "ground:box1", "ground:box2"]
    assert names(robot.with_contacts("box0")) == ["ground:box0", "ground:foot"]  # what is fixed to it is part of it
    assert names(robot.with_contacts("foot", "box2")) == ["ground:foot", "ground:box2"]
    assert names(robot.with_contacts(("foot", "box1"))) == ["foot:box1"]
    assert names(robot.with_contacts("box1", "box2", ground=False, self_collision=True)) == ["box1:box2"]
    (pair,) = robot.with_contacts(TIP, friction=0.3, restitution=0.2, compliance=1e-4, margin=0.01).contacts
    assert (pair.name, pair.second.body, pair.slots) == ("ground:tip", "box0", None)
    np.testing.assert_array_equal(pair.second.placement.position, [1, 0, -1])  # given in the frame of the foot
    assert (pair.friction, pair.restitution, pair.compliance, pair.margin) == (0.3, 0.2, 1e-4, 0.01)


def test_an_explicit_pair_keeps_its_numbers() -> None:
    wall = lw.contact.ContactShape("wall", "world", lw.shapes.Box((1, 1, 1)))
    given = lw.contact.ContactPair(TIP, wall, "touch", friction=0.1, slots=1)
    (pair,) = boxes().build().with_contacts(given, friction=0.9).contacts
    assert (pair.name, pair.friction, pair.slots, pair.bodies) == ("touch", 0.1, 1, ("box0", "world"))


@pytest.mark.parametrize(
    "ground",
    [
        (0, 0, -1),
        lw.Placement((0, 0, -1)),
        lw.contact.ContactShape("floor", "world", lw.shapes.Ground(), lw.Placement((0, 0, -1))),
    ],
)
def test_the_ground_may_be_elsewhere(ground: Any) -> None:
    (pair,) = boxes().build().with_contacts("box1", ground=ground).contacts
    assert isinstance(pair.first.solid, lw.shapes.Ground) and pair.first.placement.position[2] == -1


def test_the_ground_may_be_a_height_field() -> None:
    field = lw.shapes.HeightField(((0, 0), (1, 1)), (2, 2))
    robot = boxes().build().with_contacts("box1", ground=field).with_contacts("box2", ground=field)
    assert {pair.first for pair in robot.contacts} == {robot.contacts[0].first} and robot.contacts[
        0
    ].first.solid is field


def test_the_ground_that_a_robot_has_is_its_ground() -> None:
    robot = boxes().shape("world", lw.shapes.Ground(), at=(0, 0, -2)).build().with_contacts("box1")
    assert robot.contacts[0].first.placement.position[2] == -2
    assert len(contact_shapes(robot.with_contacts("box2").contacts)) == 3  # one ground


def test_shapes_of_the_world_touch_what_is_named() -> None:
    robot = boxes().shape("world", lw.shapes.Box((1, 1, 1)), role="collision", name="step").build()
    assert names(robot.with_contacts("world", "box1")) == ["ground:box1", "step:box1"]
    assert names(robot.with_contacts(("world", "box1"))) == ["step:box1"]


def test_visual_shapes_touch_only_where_asked_for() -> None:
    robot = boxes(role="visual").build()
    for call in (lambda: robot.with_contacts(), lambda: robot.with_contacts("box1")):
        with pytest.raises(InputError, match="visual=True"):
            call()
    assert names(robot.with_contacts("box1", visual=True)) == ["ground:box1"]


def test_neighbors_do_not_touch_each_other() -> None:
    """Of a closed loop of five links, also those that the constraint joins; a switched-off constraint joins nothing."""
    build = lw.Builder("loop")
    parent = "world"
    for k in range(5):
        build.body(f"l{k}", lw.Inertia(1.0, rotational=np.eye(3)))
        build.joint(f"j{k}", lw.joints.Free() if k == 0 else lw.joints.Revolute("y"), parent, f"l{k}")
        build.shape(f"l{k}", lw.shapes.Sphere(0.1), role="collision")
        parent = f"l{k}"
    build.constrain(lw.constraints.Hinge("l4", "l0", axis="y", name="closure"))
    robot = build.build()
    every = ["l0:l2", "l0:l3", "l1:l3", "l1:l4", "l2:l4"]
    assert names(robot.with_contacts(ground=False, self_collision=True)) == every
    opened = robot.switched({"closure": False}).with_contacts(ground=False, self_collision=True)
    assert sorted(names(opened)) == sorted([*every, "l0:l4"])


def test_joints_in_series_are_one_between_neighbors() -> None:
    """Bodies without mass and shape between two joints, as universal joints of files have them, separate nobody."""
    text = (
        '<mujoco><worldbody><body name="a"><freejoint/><geom size=".1"/><body name="b"><joint axis="1 0 0"/>'
        '<joint axis="0 1 0"/><geom size=".1"/></body></body></worldbody></mujoco>'
    )
    robot = lw.loads(text)
    assert robot.contacts == () and len(robot.joints) == 3
    assert names(robot.with_contacts(self_collision=True)) == ["ground:a", "ground:b"]


def test_contacts_are_taken_out_by_name_shape_or_body() -> None:
    robot = boxes().build().with_contacts(self_collision=True)
    assert robot.without_contacts().contacts == ()
    assert "box1:box2" not in names(robot.without_contacts("box1:box2"))
    assert names(robot.without_contacts("ground", "box0")) == ["box1:box2"]  # a body with all that is part of it
    with pytest.raises(InputError, match="no contact of 'grund'; did you mean 'ground'"):
        robot.without_contacts("grund")


def test_a_pair_takes_the_place_of_one_with_its_name() -> None:
    robot = boxes().build().with_contacts(friction=0.5).with_contacts("box1", friction=0.7)
    assert {pair.name: pair.friction for pair in robot.contacts}["ground:box1"] == 0.7 and len(robot.contacts) == 4


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda r: r.with_contacts("box9"), lw.errors.UnknownName, "did you mean 'box"),
        (lambda r: r.with_contacts(3), InputError, "neither a body's name"),
        (lambda r: r.with_contacts(("box0", "box1", "box2")), InputError, "tuple of two"),
        (lambda r: r.with_contacts(("box0", "foot")), ModelError, "both shapes are on body 'box0'"),
        (lambda r: r.with_contacts("box1", friction=-1), ModelError, "friction is -1"),
        (lambda r: r.with_contacts("box1", restitution=2), ModelError, "between 0 and 1"),
        (lambda r: boxes().contact("box1", fricton=1), lw.errors.UnknownOption, "did you mean 'friction'"),
        (lambda r: r.with_contacts("box1", fricton=1), lw.errors.UnknownOption, "did you mean 'friction'"),
        (lambda r: r.with_contacts("box1", friction="much"), InputError, "friction is 'much', needs a number"),
        (lambda r: r.with_contacts("box1", slots=1.5), InputError, "slots is 1.5"),
        (lambda r: r.with_contacts("box1", slots=0), ModelError, "slots is 0, must be >= 1"),
        (lambda r: r.with_contacts("box1", ground="floor"), lw.errors.LinkworkError, "position"),
        (
            lambda r: r.with_contacts(lw.contact.ContactShape("x", "leg", lw.shapes.Sphere(1))),
            lw.errors.UnknownName,
            "no frame 'leg'",
        ),
        (lambda r: setattr(r, "contacts", ()), AttributeError, "with_contacts"),
    ],
)
def test_wrong_contacts_say_what_is_wrong(call: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        call(boxes().build())


def test_contacts_of_a_builder_are_those_of_code() -> None:
    build = boxes().contact("box1", friction=0.3).contact(("box1", "box2")).contact(TIP)
    robot = build.build()
    assert names(robot) == ["ground:box1", "box1:box2", "ground:tip"]
    assert robot.contacts[0].friction == 0.3 and len(contact_shapes(robot.contacts)) == 4  # one ground, one box1


# Mechanisms from others ----------------------------------------------------------------------------------------


def scene() -> lw.Mechanism:
    return boxes().contact("box1").contact(TIP).contact(("box0", "box2")).build()


def test_parts_of_a_scene_share_the_ground() -> None:
    """Where their planes are one: at the same height, wherever they stand."""
    made = lw.compose({"a": scene(), "b": scene()}, at={"b": lw.Placement.rpy(0, 0, 1, (3, 1, 0))})
    assert names(made) == [f"{part}/{name}" for part in "ab" for name in names(scene())]
    grounds = {shape for shape in contact_shapes(made.contacts) if shape.body == "world"}
    assert [shape.name for shape in grounds] == ["ground"]
    bodies = {pair.name: pair.second.body for pair in made.contacts}
    assert bodies["b/ground:tip"] == "b/box0"
    apart = lw.compose({"a": scene(), "b": scene()}, at={"b": (0, 0, 1)})
    assert sorted(s.name for s in contact_shapes(apart.contacts) if s.body == "world") == ["b/ground", "ground"]


def test_a_part_on_a_body_touches_the_ground_of_the_whole() -> None:
    made = lw.attach(scene(), scene(), "box1", at=(0, 0, 1), prefix="c")
    grounds = [shape for shape in contact_shapes(made.contacts) if isinstance(shape.solid, lw.shapes.Ground)]
    assert [(s.name, s.body, s.placement.position[2]) for s in grounds] == [("ground", "world", 0)]
    assert "c/ground:tip" in names(made)
    left_behind = lw.attach(boxes().build(), scene(), "box1", prefix="c")
    assert names(left_behind) == ["c/box0:box2", "c/foot:box2"]


def test_what_becomes_one_body_does_not_touch_itself() -> None:
    build = lw.Builder("both").add_mechanism(scene(), "a").add_mechanism(scene(), "b")
    build.add_contacts(
        [
            lw.contact.ContactPair(
                lw.contact.ContactShape("x", "a/box0", lw.shapes.Sphere(1)),
                lw.contact.ContactShape("y", "b/box0", lw.shapes.Sphere(1)),
            )
        ]
    )
    before = len(build.build().contacts)
    build = lw.Builder("welded").add_mechanism(boxes(1).build().with_contacts("foot"), "a")
    build.body("plate", lw.Inertia(1.0, rotational=np.eye(3))).joint("weld", lw.joints.Fixed(), "a/box0", "plate")
    build.add_contacts(
        [
            lw.contact.ContactPair(
                lw.contact.ContactShape("x", "a/box0", lw.shapes.Sphere(1)),
                lw.contact.ContactShape("y", "plate", lw.shapes.Sphere(1)),
            )
        ]
    )
    assert before == 9 and names(build.build()) == ["a/ground:foot"]


def positions(robot: lw.Mechanism, q: Any) -> dict[str, Any]:
    """Where the shapes of contacts are in the world."""
    found = {}
    for shape in contact_shapes(robot.contacts):
        at = shape.placement
        if shape.body != "world":
            at = lw.frame_placement(robot, q, shape.body) * robot.frames[shape.body].placement.inverse() * at
        found[shape.name] = np.concatenate([at.position, at.rotation.ravel()])
    return found


@pytest.mark.parametrize("make", [lw.zoo.four_bar, lw.zoo.slider_crank, lw.zoo.watt], ids=lambda f: f.__name__)
def test_contacts_follow_bodies_to_another_spanning_tree(make: Any) -> None:
    """Shapes are where they were in the world, on bodies whose frames and carriers may have changed."""
    robot = make()
    random = np.random.default_rng(0)
    for k, body in enumerate(robot.body_names):
        at = lw.Placement.rpy(*random.uniform(-1, 1, 3), random.uniform(-1, 1, 3))
        robot = robot.with_contacts(lw.contact.ContactShape(f"s{k}", body, lw.shapes.Sphere(0.1), at), friction=0.1 * k)
    best = robot.optimized(root=True, ends=True, seconds=2, orders=False)
    assert names(best.robot) == names(robot) and (best.changes or make is not lw.zoo.slider_crank)
    q = robot.poses["assembled"]
    new_q, _ = best.to(q, np.zeros(robot.nv))
    before, after = positions(robot, q), positions(best.robot, new_q)
    for name, at in before.items():
        np.testing.assert_allclose(after[name], at, atol=1e-12)


def test_contacts_and_surfaces_survive_pickling() -> None:
    robot = lw.loads(urdf(FOUR, '<gazebo reference="b"><mu1 value="0.4"/></gazebo>'), base="floating", contacts=True)
    copy = pickle.loads(pickle.dumps(robot))
    assert names(copy) == names(robot) and [p.friction for p in copy.contacts] == [p.friction for p in robot.contacts]
    assert len(contact_shapes(copy.contacts)) == len(contact_shapes(robot.contacts))
    assert names(copy.with_contacts()) == names(robot)  # shapes are known again, and pairs not doubled


@pytest.mark.parametrize("name", NOMESH[:3])
def test_contacts_change_no_dynamics(name: str) -> None:
    path = model_file(f"{name}_nomesh.xml")
    robot, bare = quiet_load(path), quiet_load(path, contacts=False)
    q, v = robot.neutral(), np.ones(robot.nv)
    np.testing.assert_array_equal(lw.mass_matrix(robot, q), lw.mass_matrix(bare, q))
    np.testing.assert_array_equal(lw.bias_forces(robot, q, v), lw.bias_forces(bare, q, v))
    assert robot.nc == bare.nc and len(robot.contacts) > len(bare.contacts) == 0


def test_the_report_on_a_file_lists_contacts(tmp_path: Path) -> None:
    from linkwork.cli.loading import ModelRequest, analyze_file
    from linkwork.cli.options import LoadOptions

    file = tmp_path / "a.xml"
    file.write_text(mjcf('size=".1" friction="1.3" solref=".01 1"'))
    report = analyze_file(file, ModelRequest(LoadOptions()))
    (contact,) = report.contacts
    assert (contact.name, contact.solids, contact.friction) == ("ground:ball", ("Ground", "Sphere"), 1.3)
    assert any("solref of the file act with contact='soft' alone" in note for note in report.notes)
    file = tmp_path / "a.urdf"
    file.write_text(urdf(FOUR))
    assert any("4 shapes for collision" in note for note in analyze_file(file, ModelRequest(LoadOptions())).notes)
    assert len(analyze_file(file, ModelRequest(LoadOptions(contacts="all"))).contacts) == 6
    assert analyze_file(file, ModelRequest(LoadOptions(contacts="none"))).contacts == ()


def test_notebooks_show_contacts() -> None:
    assert "ground:tip" in scene()._repr_html_()
