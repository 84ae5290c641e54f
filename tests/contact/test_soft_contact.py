# SPDX-License-Identifier: BSD-3-Clause
"""Soft contacts and moving surfaces beside MuJoCo's own rows: the same reference, regularization and problem."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.contact.softness import soft_weights
from linkwork.errors import ModelWarning
from linkwork.kernels.contact.reduced.soft import (
    SOFT_CONTACT_ROWS,
    impedance,
    real_power,
    soft_friction_compliance,
    soft_normal,
)
from linkwork.kernels.contact.reduced.surfaces import relative_surface_velocity
from linkwork.plans.contact_friction import FRICTION_FLOATS, FRICTION_INTEGERS, friction_tables, friction_tree
from linkwork.quantities.evaluator import ProgramEvaluator

mujoco = pytest.importorskip("mujoco")
mujoco.set_mju_user_warning(lambda message: None)  # of references that it replaces


def geom(rng: np.random.Generator) -> str:
    """Numbers of a geom: references of both kinds, flat impedances, powers that are no integers."""
    kinds = [f"{rng.uniform(0.001, 0.1)} {rng.uniform(0.2, 2)}", f"{-rng.uniform(10, 5000)} {-rng.uniform(1, 100)}"]
    solref = rng.choice([*kinds, kinds[0], "-10 2"])
    numbers = rng.uniform(0, 1, 2), rng.choice([0.0, rng.uniform(5e-4, 0.02)]), rng.uniform(0, 1)
    solimp = (*numbers[0], *numbers[1:], rng.choice([1.0, 2.0, 3.0, rng.uniform(1, 6)]))
    friction = rng.uniform(0, 2), rng.uniform(0, 0.1), rng.uniform(0, 0.01)
    surface = (*rng.normal(size=3), *rng.normal(size=3))
    said = {"solref": solref, "condim": rng.choice([1, 3, 4, 6]), "margin": rng.uniform(0, 0.01)}
    said |= {"adhesion": rng.choice([0, 3]), "solmix": rng.choice([0, 1, 2])}
    rows = {"solimp": solimp, "friction": friction, "surfacevel": surface}
    said |= {name: " ".join(map(repr, map(float, row))) for name, row in rows.items()}
    return " ".join(f'{name}="{value}"' for name, value in said.items())


def scene(seed: int) -> str:
    """A box or a ball that touches a plane, or that a <pair> says all of."""
    rng = np.random.default_rng(seed)
    pair = '<pair geom1="floor" geom2="body" condim="6" solreffriction=".05 .7"/>' if seed % 5 == 0 else ""
    option = f'timestep="{rng.choice([0.001, 0.002, 0.01])}" impratio="{rng.choice([1, 10, 0.3])}"'
    kind = rng.choice(['type="box" size=".1 .1 .1"', 'size=".1"'])
    turned = " ".join(map(repr, rng.normal(size=4).tolist())) if kind.startswith("size") else "1 0 0 0"
    return f"""<mujoco><option {option} cone="elliptic" jacobian="dense" tolerance="0" iterations="300"/><worldbody>
      <geom name="floor" type="plane" size="1 1 1" {geom(rng)}/>
      <body pos="0 0 {0.1 - rng.uniform(-0.005, 0.02)}" quat="{turned}"><freejoint/>
      <geom name="body" {kind} {geom(rng)}/></body></worldbody><contact>{pair}</contact></mujoco>"""


def moved(seed: int) -> tuple[Any, Any]:
    """MuJoCo's model and data of a scene in motion."""
    m = mujoco.MjModel.from_xml_string(scene(seed))
    d = mujoco.MjData(m)
    d.qvel[:] = np.random.default_rng(seed).normal(size=6)
    mujoco.mj_forward(m, d)
    return m, d


def loaded(seed: int) -> lw.Mechanism:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return lw.loads(scene(seed))


def tables(robot: lw.Mechanism) -> SimpleNamespace:
    """What kernels read, as numbers of Python."""
    return SimpleNamespace(**{name: np.asarray(x).tolist() for name, x in friction_tables(robot).items()})


@pytest.mark.parametrize("seed", range(60))
def test_rows_of_soft_contacts_are_those_of_mujoco(seed: int) -> None:
    """From the file to the rows: ``efc_aref``, ``efc_R`` and the impedance, to rounding."""
    m, d = moved(seed)
    tree, h = tables(loaded(seed)), m.opt.timestep
    for c in d.contact:
        if c.exclude:
            continue
        rows = slice(c.efc_address, c.efc_address + c.dim)
        u, r = d.efc_vel[rows], float(c.dist - c.includemargin)
        offset, R, kept = soft_normal(tree, 0, r, float(u[0]), h, float(d.efc_diagA[rows][0]))
        np.testing.assert_allclose(impedance(r, tree.soft_impedance[0]), d.efc_KBIP[rows][0, 2], rtol=1e-12)
        np.testing.assert_allclose(-(offset + u[0]) / h, d.efc_aref[rows][0], rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(R, d.efc_R[rows][0], rtol=1e-12)
        np.testing.assert_allclose(-(1 - kept) / h * u[1:], d.efc_aref[rows][1:], rtol=1e-10, atol=1e-10)
        mu = c.friction[: c.dim - 1]
        if c.dim > 1:
            C = soft_friction_compliance(tree, 0, float(mu[0]), R)
            np.testing.assert_allclose(C / mu**2, d.efc_R[rows][1:], rtol=1e-12)


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_forces_of_mujoco_solve_the_problem_of_the_step(seed: int) -> None:
    """``w = A v+ + c + C z`` and ``z`` are in the unit cone, and orthogonal: with impulses of MuJoCo's solver."""
    m, d = moved(seed)
    tree, h = tables(loaded(seed)), m.opt.timestep
    J = d.efc_J.reshape(-1, m.nv)
    after = d.qvel + h * d.qacc
    for c in d.contact:
        if c.exclude:
            continue
        rows = slice(c.efc_address, c.efc_address + c.dim)
        mu = np.array([1.0, *c.friction[: c.dim - 1]])
        A, z = mu[:, None] * J[rows], h * d.efc_force[rows] / mu
        u = d.efc_vel[rows]
        s = u - J[rows] @ d.qvel  # of surfaces
        offset, R, kept = soft_normal(
            tree, 0, float(c.dist - c.includemargin), float(u[0]), h, float(d.efc_diagA[rows][0])
        )
        row_c = mu * (s - np.array([0.0, *(kept * u[1:])]))
        row_c[0] += offset
        C = np.array([R, *[soft_friction_compliance(tree, 0, float(mu[1]), R)] * (c.dim - 1)]) if c.dim > 1 else [R]
        w = A @ after + row_c + C * z
        scale = np.abs(C * z).max() + np.abs(row_c).max()
        assert np.linalg.norm(z[1:]) - z[0] <= 1e-9 * np.abs(z).max()
        assert np.linalg.norm(w[1:]) - w[0] <= 1e-7 * scale
        assert abs(z @ w) <= 1e-7 * scale * np.abs(z).max() + 1e-30


@pytest.mark.parametrize("seed", range(30))
def test_surface_velocities_are_those_of_mujoco(seed: int) -> None:
    """At MuJoCo's contact points, in its axes."""
    m, d = moved(seed)
    robot = loaded(seed)
    (pair,) = robot.contacts
    number = {name: mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_GEOM, name) for name in ("floor", "body")}
    geoms = [number[pair.first.name], number[pair.second.name]]
    tree = tables(robot)
    tree.contact_first, tree.contact_second = [0], [1]
    w = SimpleNamespace(shape_R=d.geom_xmat[geoms].reshape(2, 3, 3), shape_p=d.geom_xpos[geoms])
    for c in d.contact:
        x, y, z = c.frame[3:6], c.frame[6:9], c.frame[:3]
        w.contact_R, w.point = np.array([np.column_stack([x, y, z])]), np.array([c.pos])
        found = relative_surface_velocity(tree, w, 0, 0)
        np.testing.assert_allclose(found, c.surfacevel, atol=1e-13)


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0, 2.0, np.e, 7.25, 100.1, 1023.9])
def test_powers_are_those_of_numpy(p: float) -> None:
    for x in (0.0, 1e-12, 0.1, 0.5, 0.999, 1.0):
        assert real_power(x, p) == pytest.approx(x**p, rel=1e-12, abs=1e-300)


def test_tables_of_friction_have_a_row_for_each_pair() -> None:
    robot = lw.loads(
        '<mujoco><worldbody><geom name="f" type="plane" size="1 1 1" surfacevel="1 2 3 4 5 6"/><body><freejoint/>'
        '<geom name="a" size=".1" condim="6" friction=".5 .2 .03" margin=".01" gap=".02" adhesion="4"/></body>'
        '<body><freejoint/><geom name="b" size=".1" condim="1"/></body></worldbody></mujoco>'
    )
    made = friction_tables(robot)
    assert made.keys() == FRICTION_INTEGERS.keys() | FRICTION_FLOATS.keys()
    named = {pair.name: k for k, pair in enumerate(robot.contacts)}
    a, b, both = named["f:a"], named["f:b"], named["a:b"]
    assert made["contact_dim"].tolist() == [6, 3, 6]
    np.testing.assert_array_equal(made["pair_friction"][[a, both]], [[1, 1, 0.2, 0.03, 0.03]] * 2)
    np.testing.assert_array_equal(made["pair_friction"][b], [1, 1, 0, 0, 0])
    assert (made["pair_margin"][a], made["pair_gap"][a], made["pair_adhesion"][a]) == (0.01, 0.02, 4.0)
    assert made["contact_moving"][[a, b, both]].tolist() == [True, True, False]
    assert made["shape_surface"][0].tolist() == [4, 5, 6, 1, 2, 3]
    assert made["soft_impedance"].shape == (3, 5)


def test_inverse_inertias_of_pairs_are_those_of_mujoco() -> None:
    """``efc_diagA`` of the normal: of free bodies and of an arm, with an axis through a center of mass."""
    text = """<mujoco><option cone="elliptic"/><worldbody><geom type="plane" size="1 1 1"/>
      <body name="arm" pos="0 0 .3"><joint axis="0 1 0" armature=".3"/>
      <geom name="a" type="capsule" fromto="0 0 0 0 0 -.25" size=".06"/>
      <body name="hand" pos="0 0 -.25"><joint axis="0 0 1"/><geom name="h" size=".07"/></body></body>
      <body pos=".1 0 .05"><freejoint/><geom name="b" size=".06"/></body></worldbody></mujoco>"""
    m = mujoco.MjModel.from_xml_string(text)
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    robot = lw.loads(text)
    ends_of = [frozenset((p.first.name, p.second.name)) for p in robot.contacts]
    ours = dict(zip(ends_of, soft_weights(robot), strict=True))
    assert d.ncon >= 3
    for c in d.contact:
        ends = frozenset(mujoco.mj_id2name(m, mujoco.mjtObj.mjOBJ_GEOM, g) or "ground" for g in c.geom)
        assert ours[ends] == pytest.approx(d.efc_diagA[c.efc_address], rel=1e-12)


PARTS = """<mujoco><option cone="elliptic"/><worldbody><geom name="f" type="plane" size="1 1 1"/>
  <body name="arm" pos="0 0 .3" euler="0 20 0"><joint axis="0 1 0" ref="40"/>
  <geom name="a" type="capsule" fromto="0 0 0 0 0 -.25" size=".06"/>
  <body name="tip" pos="0 0 -.3" euler="0 0 30"><geom name="t" type="box" size=".02 .03 .04" pos=".01 0 0"/>
  <body name="pad" pos="0 .05 0"><geom name="p" size=".03"/></body></body>
  <body name="finger" pos="0 .1 -.25"><joint type="slide" axis="0 0 1" ref=".02"/><geom name="g" size=".04"/></body>
  </body></worldbody></mujoco>"""
"""Parts on fixed joints, and joints that are not at zero where the model is drawn."""


def test_inverse_inertias_are_those_of_parts_where_they_are_drawn() -> None:
    """Contacts of a geom have the inverse inertia of its own body in the file, of those that fixed joints make one."""
    m, robot = mujoco.MjModel.from_xml_string(PARTS), lw.loads(PARTS)
    assert len(robot.contacts) == 4
    for scaled, mass in ((robot, 1.0), (robot.scaled(length=2.0, mass=3.0), 3.0)):
        for pair, ours in zip(scaled.contacts, soft_weights(scaled), strict=True):
            bodies = [m.geom(shape.name).bodyid[0] for shape in (pair.first, pair.second)]
            assert mass * ours == pytest.approx(m.body_invweight0[bodies, 0].sum(), rel=1e-12)


def test_native_code_of_soft_rows_is_the_text() -> None:
    """One state and lanes, with powers that are no integers."""
    rng = np.random.default_rng(3)
    geoms = "".join(
        f'<body><freejoint/><geom size=".1" solimp=".3 .9 .01 .4 {p}" solref="{r}"/></body>'
        for p, r in ((1, "0.02 1"), (2, "-50 -3"), (2.7, "0.1 0.5"))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        robot = lw.loads(f"<mujoco><worldbody>{geoms}</worldbody></mujoco>")
    evaluator = ProgramEvaluator(robot, "soft rows", SOFT_CONTACT_ROWS, lambda robot, _: friction_tree(robot))
    gaps, u = rng.uniform(-0.02, 0.0, (11, 3)), rng.normal(size=(11, 3))
    q, step, D = np.tile(robot.neutral(), (11, 1)), np.full((11, 1), 2e-3), rng.uniform(0.1, 9, (11, 3))
    plain = evaluator.plain()(q, gaps, u, step, D)
    np.testing.assert_allclose(evaluator(q, gaps, u, step, D), plain, rtol=1e-12)
    np.testing.assert_allclose(evaluator(q[0], gaps[0], u[0], step[0], D[0]), plain[0], rtol=1e-12)
