# SPDX-License-Identifier: BSD-3-Clause
"""Numbers of contacts in files: friction of all dimensions, moving surfaces, adhesion, softness; very many pairs."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

import linkwork as lw
from linkwork.dynamics.unmodeled_contacts import warn_unmodeled
from linkwork.errors import ModelWarning
from linkwork.model.contacts import NUMBERS, ContactPairs, contact_shapes
from tests.files.test_contact_files import FOUR, mjcf, names, sdf, urdf


@pytest.mark.filterwarnings("error")
def test_condim_says_which_coefficients_of_friction_count() -> None:
    geoms = "".join(f'<geom size=".1" condim="{k}" friction=".5 .02 .003"/>' for k in (1, 3, 4, 6))
    plane = '<geom type="plane" size="1 1 1" condim="1" friction="0 0 0"/>'
    text = f'<mujoco><worldbody>{plane}<body name="b"><freejoint/>{geoms}</body></worldbody></mujoco>'
    robot = lw.loads(text)
    assert names(robot) == ["ground:b_1", "ground:b_2", "ground:b_3", "ground:b_4"]
    found = [(p.dimension, p.friction, p.torsional_friction, p.rolling_friction) for p in robot.contacts]
    assert found == [(1, 0, 0, 0), (3, 0.5, 0, 0), (4, 0.5, 0.02, 0), (6, 0.5, 0.02, 0.003)]


def test_classes_inherit_the_numbers_that_they_do_not_say() -> None:
    """As in MuJoCo: the first numbers are the own ones, the others those of the class around."""
    text = """<mujoco><option impratio="7"/><default><geom friction="2 .5 .4" solimp=".1 .2 .3 .4 5" condim="6"/>
      <pair friction=".5 .5 .7 .8 .8" condim="6"/>
      <default class="a"><geom friction="7" solimp=".5"/></default></default>
      <worldbody><geom name="f" type="plane" size="1 1 1" friction=".3" solimp=".77 .78"/>
      <body><freejoint/><geom name="b" size=".1" class="a" priority="1"/><geom name="c" size=".1"/></body></worldbody>
      <contact><pair geom1="f" geom2="c" friction=".1 .1"/></contact></mujoco>"""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        explicit, strong = lw.loads(text).contacts
    assert (explicit.friction, explicit.torsional_friction, explicit.rolling_friction) == (0.1, 0.7, 0.8)
    assert (strong.friction, strong.torsional_friction, strong.rolling_friction) == (7.0, 0.5, 0.4)
    soft = lw.contact.SoftContact(impedance=(0.5, 0.2, 0.3, 0.4, 5.0), friction_ratio=7.0, pyramidal=True)
    assert strong.soft == soft


@pytest.mark.parametrize(
    ("geom", "says"),
    [('adhesion="1"', "adhesion"), ('surfacevel="1 0 0"', "the surface velocity"), ('condim="4"', "spinning")],
)
def test_what_a_step_leaves_out_is_a_warning_of_the_step(geom: str, says: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ModelWarning)
        robot = lw.loads(mjcf(f'size=".1" {geom}'))
    with pytest.warns(ModelWarning, match=f"leave out .*{says}.* of contact 'ground:ball'"):
        warn_unmodeled(robot, reduced=False)


def test_a_file_with_very_many_pairs_loads_all_of_them() -> None:
    bodies = "".join(f'<body name="b{k}"><freejoint/><geom size=".1"/></body>' for k in range(250))
    robot = lw.loads(f'<mujoco><worldbody><geom type="plane" size="1 1 1"/>{bodies}</worldbody></mujoco>')
    assert len(robot.contacts) == 31375
    first = [f"ground:b{k}" for k in range(250)] + ["b0:b1", "b0:b2"]
    assert [pair.name for pair in robot.contacts[:252]] == first
    assert robot.contacts[-1].name == "b248:b249" and len(contact_shapes(robot.contacts)) == 251
    fewer = robot.without_contacts("ground")
    assert len(fewer.contacts) == 31125
    copy = pickle.loads(pickle.dumps(robot))
    assert copy.contacts[500].name == robot.contacts[500].name and len(copy.contacts) == 31375


def test_pairs_as_arrays_are_the_same_pairs() -> None:
    """Of a scene with several numbers: the sequence of arrays and the tuple of objects agree."""
    geoms = "".join(f'<geom name="g{k}" size=".1" friction=".{k + 1}" condim="{3 + k % 2}"/>' for k in range(3))
    bodies = "".join(f'<body><freejoint/><geom name="h{k}" size=".1" adhesion="{k}"/></body>' for k in range(4))
    robot = lw.loads(f"<mujoco><worldbody><body><freejoint/>{geoms}</body>{bodies}</worldbody></mujoco>")
    arrays = ContactPairs.of(robot.contacts)
    assert len(arrays) == len(robot.contacts) == 18
    for one, other in zip(arrays, robot.contacts, strict=True):
        assert vars(one) == vars(other)
    some = arrays.only(np.arange(18) % 3 == 0)
    assert [pair.name for pair in some] == [pair.name for pair in robot.contacts[::3]]
    assert contact_shapes(some) == contact_shapes(robot.contacts[::3])


def test_friction_against_spinning_and_rolling_is_read_from_sdf_and_urdf() -> None:
    """Gazebo's patch under the pressure of Hertz has the mean lever 3 pi / 16 of its radius; Bullet's are lengths."""
    patch = "<torsional><coefficient>.5</coefficient><patch_radius>.02</patch_radius></torsional>"
    text = sdf(f"<surface><friction>{patch}<ode><mu>.7</mu></ode></friction></surface>")
    pair = lw.loads(text, contacts="all").contacts[0]
    assert (pair.friction, pair.dimension) == (0.7, 4)
    assert pair.torsional_friction == pytest.approx(3 * np.pi / 16 * 0.02 * 0.5, rel=1e-15)
    said = "<contact><spinning_friction value='.1'/><rolling_friction value='.01'/></contact>"
    pair = next(p for p in lw.loads(urdf(FOUR | {"c": said + FOUR["c"]}), contacts=True).contacts if "c" in p.name)
    assert (pair.torsional_friction, pair.rolling_friction, pair.dimension) == (0.1, 0.01, 6)


@pytest.mark.parametrize("format", ["sdf", "urdf"])
def test_friction_against_spinning_of_surfaces_is_saved(tmp_path: Path, format: str) -> None:
    surface = lw.shapes.Surface(0.6, torsional_friction=0.013)
    build = lw.Builder("ball").body("ball", lw.Inertia(1.0, rotational=np.eye(3)))
    build.shape("ball", lw.shapes.Sphere(0.1), role="collision", surface=surface)
    robot = build.joint("free", lw.joints.Free(), "world", "ball").build()
    dialect: Literal["linkwork"] | None = "linkwork" if format == "urdf" else None
    robot.save(tmp_path / f"ball.{format}", dialect=dialect)
    again = lw.load(tmp_path / f"ball.{format}", contacts=True)
    assert again.contacts[0].torsional_friction == pytest.approx(0.013, rel=1e-15)
    stuck = replace(robot, shapes=tuple(replace(s, surface=replace(surface, adhesion=3.0)) for s in robot.shapes))
    with pytest.warns(ModelWarning, match="has no adhesion"):
        stuck.save(tmp_path / f"stuck.{format}", dialect=dialect)
    if format == "urdf":
        with pytest.warns(ModelWarning, match="standard URDF has no friction"):
            robot.save(tmp_path / "standard.urdf")


def test_all_numbers_of_contacts_come_back_from_mjcf(tmp_path: Path) -> None:
    soft = lw.contact.SoftContact((0.01, 0.7), (0.8, 0.9, 0.002, 0.4, 3.0), (0.1, 0.2), 5.0)
    build = lw.Builder("ball").body("box0", lw.Inertia(1.0, rotational=np.eye(3)))
    robot = build.joint("free", lw.joints.Free(), "world", "box0").build()
    belt = lw.contact.ContactShape(
        "belt",
        "world",
        lw.shapes.Box((1, 1, 0.1)),
        surface_velocity=(0.1, 0.2, 0.3),
        surface_angular_velocity=(1, 2, 3),
    )
    ball = lw.contact.ContactShape("ball", "box0", lw.shapes.Sphere(0.1))
    pair = lw.contact.ContactPair(
        belt,
        ball,
        "grip",
        0.5,
        margin=0.01,
        torsional_friction=0.02,
        rolling_friction=0.003,
        gap=0.1,
        adhesion=7.0,
        soft=soft,
    )
    robot.with_contacts(pair).save(tmp_path / "robot.xml")
    (again,) = lw.load(tmp_path / "robot.xml").contacts
    for name in NUMBERS:
        assert getattr(again, name) == getattr(pair, name), name
    assert again.first.surface_velocity == (0.1, 0.2, 0.3)
    assert again.first.surface_angular_velocity == (1.0, 2.0, 3.0)
    other = replace(pair, name="other", soft=None)
    with pytest.raises(
        lw.errors.CannotSave, match="friction_ratio and pyramidal of soft contacts are the same for all"
    ):
        robot.with_contacts(pair, other).save(tmp_path / "robots.xml")
