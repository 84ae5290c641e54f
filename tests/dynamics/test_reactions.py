# SPDX-License-Identifier: BSD-3-Clause
"""Reactions of joints and constraints: against Pinocchio, against Newton's and Euler's laws by hand, in motions."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import UnsupportedFeature
from linkwork.mechanism import Mechanism

G = 9.81


def four_bar(joint: str = "ankle") -> Mechanism:
    """A four-bar in a plane; the joint that closes the loop is cut, whichever it is."""
    build = lw.Builder("four-bar")
    for name, length in {"crank": 0.5, "coupler": 1.2, "rocker": 0.9}.items():
        build.body(name, lw.Inertia.rod(1.0, (0, 0, 0), (length, 0, 0)))
    build.joint("motor", lw.joints.Revolute("y"), "world", "crank", actuated=True, cut=joint == "motor")
    build.joint("knee", lw.joints.Revolute("y"), "crank", "coupler", at=(0.5, 0, 0), cut=joint == "knee")
    build.joint("hip", lw.joints.Revolute("y"), "world", "rocker", at=(1, 0, 0), cut=joint == "hip")
    build.joint(
        "ankle",
        lw.joints.Revolute("y"),
        "coupler",
        "rocker",
        at=(1.2, 0, 0),
        child_at=(0.9, 0, 0),
        cut=joint == "ankle",
    )
    return build.build()


def test_reactions_of_a_tree_are_those_of_pinocchio() -> None:
    pin = pytest.importorskip("pinocchio")
    model = pin.buildSampleModelHumanoid()
    robot, data = lw.peers.from_pinocchio(model), model.createData()
    rng = np.random.default_rng(0)
    q, v, a = robot.random(0), rng.standard_normal(robot.nv), rng.standard_normal(robot.nv)
    pin.rnea(model, data, q, v, a)
    found = lw.reactions(robot, q, v, a, axes="local")
    for joint in robot.joint_names:
        f = data.f[model.getJointId(joint)]
        expected = np.concatenate([f.angular, f.linear])
        np.testing.assert_allclose(found[joint], expected, rtol=0, atol=1e-10 * (1 + np.abs(expected).max()))


CHAIN = """
<mujoco><option gravity="0.3 -0.2 -9.81"/><worldbody>
  <body name="arm" pos="0.1 0 1" quat="0.9 0.1 -0.2 0.3"><joint name="hinge" axis="0 1 0.3" pos="0 0.02 0"/>
    <geom type="capsule" fromto="0 0 0 0.4 0 0.1" size="0.04"/>
    <body name="slide" pos="0.4 0 0.1"><joint name="slider" type="slide" axis="1 0 0"/>
      <geom type="box" size="0.1 0.05 0.03"/>
      <body name="hand" pos="0.1 0.1 0"><joint name="ball" type="ball"/>
        <geom type="sphere" size="0.07" pos="0 0.1 0"/></body>
    </body>
    <body name="tail" pos="-0.1 0 0"><joint name="wag" axis="0 0 1"/>
      <geom type="box" size="0.05 0.1 0.02" pos="0 0.1 0"/></body>
  </body>
</worldbody></mujoco>
"""


def test_reactions_of_a_tree_are_those_of_mujoco() -> None:
    """``cfrc_int``, about the center of mass of the tree in the world's axes, at accelerations of forward dynamics."""
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(CHAIN)
    data, rng = mujoco.MjData(model), np.random.default_rng(1)
    robot = lw.loads(CHAIN)
    across = lw.peers.mujoco_map(robot)
    q, v = robot.random(1), rng.standard_normal(robot.nv)
    data.qpos[:], data.qvel[:] = across.to_qpos(q), across.to_qvel(q, v)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    mujoco.mj_forward(model, data)
    mujoco.mj_rnePostConstraint(model, data)
    a = lw.ForwardDynamics(robot)(q, v, np.zeros(robot.nv)).acceleration
    robot = robot.with_frame("tree center", "world", tuple(data.subtree_com[1]))
    found = lw.reactions(robot, q, v, a).in_frame("tree center")
    for joint, body in {"hinge": "arm", "slider": "slide", "ball": "hand", "wag": "tail"}.items():
        expected = data.cfrc_int[model.body(body).id]
        np.testing.assert_allclose(found[joint], expected, rtol=0, atol=1e-10 * (1 + np.abs(expected).max()))


def test_reactions_in_a_frame_are_those_in_the_world_turned_and_moved() -> None:
    """The same wrench about another point, in other axes."""
    robot = four_bar()
    q = robot.assemble([0.3, 0.2, 0.9])
    v = robot.project_velocity(q, [1.0, 0, 0])
    solution = lw.ForwardDynamics(robot)(q, v, np.zeros(robot.nv))
    robot = robot.with_frame("sensor", "coupler", (0.3, 0.1, -0.2))
    found = lw.reactions(robot, q, v, solution.acceleration, solution.multipliers)
    placed, origin = lw.frame_placement(robot, q, "sensor"), lw.frame_placement(robot, q, "coupler").position
    moment, force = np.split(found.in_frame("sensor")["knee"], 2)
    m, f = np.split(found["knee"], 2)
    np.testing.assert_allclose(placed.rotation @ force, f, rtol=0, atol=1e-12)
    np.testing.assert_allclose(placed.rotation @ moment, m + np.cross(origin - placed.position, f), rtol=0, atol=1e-12)


def test_a_pendulum_by_hand() -> None:
    """A point mass on a massless arm: tension ``m g cos(angle) + m l w^2`` along it, nothing across."""
    build = lw.Builder("pendulum")
    build.body("bob", lw.Inertia(2.0, (0, 0, -0.7), 1e-9 * np.eye(3)))
    build.joint("pivot", lw.joints.Revolute("y"), "world", "bob")
    robot, angle, speed = build.build(), 0.4, 3.0
    a = lw.ForwardDynamics(robot)([angle], [speed], [0.0]).acceleration
    moment, force = np.split(lw.reactions(robot, [angle], [speed], a, axes="local")["pivot"], 2)
    np.testing.assert_allclose(force, [0, 0, 2 * (G * np.cos(angle) + 0.7 * speed**2)], rtol=0, atol=1e-8)
    np.testing.assert_allclose(moment, 0, rtol=0, atol=1e-8)


@pytest.mark.parametrize("cut", ["ankle", "knee", "hip"])
def test_pins_of_a_four_bar_by_newton_and_euler_whichever_is_cut(cut: str) -> None:
    """Twelve numbers of four pins from the equations of three bodies in a plane, solved by hand."""
    robot = four_bar(cut)
    names = list(robot.joint_names)
    start = np.zeros(robot.nq)
    q = robot.assemble(start + 0.4 * np.arange(1, robot.nq + 1))
    v = robot.project_velocity(q, np.full(robot.nv, 1.5))
    solution = lw.ForwardDynamics(robot)(q, v, np.zeros(robot.nv))
    found = solution.reactions(robot, q, v)
    # centers, accelerations and angular accelerations of the three rods in the plane x, z
    bodies, lengths = ("crank", "coupler", "rocker"), (0.5, 1.2, 0.9)
    place = {b: lw.frame_placement(robot, q, b) for b in bodies}
    twist = {b: lw.frame_velocity(robot, q, v, b, "aligned") for b in bodies}
    rate = {b: lw.frame_acceleration(robot, q, v, solution.acceleration, b, "aligned") for b in bodies}
    pins = {
        "motor": (("world", "crank"), place["crank"].position),
        "knee": (("crank", "coupler"), place["coupler"].position),
        "hip": (("world", "rocker"), place["rocker"].position),
        "ankle": (("coupler", "rocker"), place["rocker"].act(np.array([0.9, 0, 0]))),
    }
    A, y = np.zeros((9, 8)), np.zeros(9)
    for row, (body, length) in enumerate(zip(bodies, lengths, strict=True)):
        inertia = robot.inertias[body]
        center = place[body].act(np.array([length / 2, 0, 0]))
        arm, w, alpha = center - place[body].position, twist[body][:3], rate[body][:3]
        acceleration = rate[body][3:] + np.cross(alpha, arm) + np.cross(w, np.cross(w, arm))
        y[3 * row : 3 * row + 2] = (acceleration + np.array([0, 0, G]))[[0, 2]]
        y[3 * row + 2] = inertia.rotational[1, 1] * alpha[1]
        for k, ((first, second), at) in enumerate(pins.values()):
            sign = float(second == body) - float(first == body)
            lever = at - center
            A[3 * row, 2 * k] = A[3 * row + 1, 2 * k + 1] = sign
            A[3 * row + 2, 2 * k : 2 * k + 2] = sign * np.array([lever[2], -lever[0]])
    forces, miss, *_ = np.linalg.lstsq(A, y, rcond=None)
    assert miss.size == 0 or miss[0] < 1e-18
    for k, (name, ((first, second), _)) in enumerate(pins.items()):
        wrench = found[name]
        flipped = name in names and robot.joint(name).child == first
        on_second = -wrench[3:] if flipped else wrench[3:]
        np.testing.assert_allclose(
            on_second[[0, 2]], forces[2 * k : 2 * k + 2], rtol=0, atol=1e-8, err_msg=f"{name} {second}"
        )


def test_ground_is_the_rate_of_momentum_less_weight() -> None:
    robot = four_bar()
    q = robot.assemble([0.7, 0, 0], fixed=["motor"])
    v = robot.project_velocity(q, [2.0, 0, 0])
    solution = lw.ForwardDynamics(robot)(q, v, np.zeros(3))
    found = solution.reactions(robot, q, v)
    on_world = -(found["motor"][3:] + found["hip"][3:])
    np.testing.assert_allclose(found.ground[3:], on_world, rtol=0, atol=1e-9)
    about = [
        np.cross(lw.frame_placement(robot, q, b).position, found[j][3:]) + found[j][:3]
        for j, b in (("motor", "crank"), ("hip", "rocker"))
    ]
    np.testing.assert_allclose(found.ground[:3], -np.sum(about, axis=0), rtol=0, atol=1e-9)
    rest = lw.reactions(
        robot, q, np.zeros(3), np.zeros(3), lw.ForwardDynamics(robot)(q, np.zeros(3), np.zeros(3)).multipliers
    )
    np.testing.assert_allclose(rest.ground[3:], [0, 0, -3 * G], rtol=0, atol=1e-9)


def test_springs_and_external_wrenches_are_in_the_balance() -> None:
    build = lw.Builder("scale")
    build.body("pan", lw.Inertia.sphere(2.0, 0.1))
    build.joint("slide", lw.joints.Prismatic("z"), "world", "pan")
    robot = build.build().with_forces(lw.Spring(("world", (0.3, 0, 1)), ("pan", (0.3, 0, 0)), 100.0, free_length=0.5))
    a = lw.ForwardDynamics(robot, wrenches=["pan"])(
        [0.1], [0.0], lw.forces.element_forces(robot, [0.1], [0.0]), [[0, 0, 0, 5.0, 0, 1.0]]
    ).acceleration
    found = lw.reactions(robot, [0.1], [0.0], a, wrenches={"pan": [0, 0, 0, 5.0, 0, 1.0]})
    np.testing.assert_allclose(found["slide"][3:], [-5, 0, 0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found["slide"][:3], [0, 0.3 * 40, 0], rtol=0, atol=1e-12)


def test_power_of_drives_springs_and_dampers_is_the_rate_of_energy() -> None:
    robot = four_bar().constrained(lw.Drive("motor", lambda t: 0.7 + 2 * t + 0.3 * np.sin(3 * t)))
    robot = robot.with_forces(
        lw.SpringDamper(("world", (0, 0, 1)), ("rocker", (0.9, 0, 0)), 30.0, 2.0, free_length=0.3),
        lw.forces.TorsionSpring("hip", damping=0.3),
    )
    run = lw.simulate(robot, seconds=0.3, dt=1e-3, integrator="rk4")
    energy = run.energy["kinetic"] + run.energy["potential"]
    total = np.sum(list(run.power.values()), axis=0)
    rate = (energy[2:] - energy[:-2]) / 2e-3
    np.testing.assert_allclose(rate, total[1:-1], rtol=0, atol=2e-4 * np.abs(total).max())
    torque = lw.InverseDynamics(robot, "actuated").solve(run.q[50], run.v[50], run.acceleration[50]).torque[0]
    np.testing.assert_allclose(run.power["motor drive"][50], torque * run.v[50, 0], rtol=0, atol=1e-8)


def test_reactions_of_a_motion_and_of_inverse_dynamics_agree() -> None:
    robot = four_bar()
    q = robot.assemble([0.7, 0, 0], fixed=["motor"])
    run = lw.simulate(robot, q, seconds=0.05, dt=1e-3, integrator="rk4", project_every=1)
    k = 30
    solution = lw.InverseDynamics(robot, "cluster").solve(run.q[k], run.v[k], run.acceleration[k])
    for name in ("motor", "knee", "hip", "ankle"):
        np.testing.assert_allclose(run.reactions[name][k], solution.reactions[name], rtol=0, atol=1e-8)


def test_what_is_not_known_is_refused() -> None:
    robot = four_bar()
    found = lw.reactions(robot, np.zeros(3), np.zeros(3), np.zeros(3))
    with pytest.raises(KeyError, match="has no joint or constraint"):
        found["elbow"]
    pulled = robot.with_frame("top", "world", (0, 0, 1)).with_frame("end", "rocker", (0.9, 0, 0))
    pulled = pulled.with_tendons(lw.tendons.Tendon("cable", path=("top", "end"), stiffness=3.0))
    with pytest.raises(UnsupportedFeature, match="spatial tendon"):
        lw.reactions(pulled, np.zeros(3), np.zeros(3), np.zeros(3))


def test_grublers_count_stands_beside_the_true_mobility() -> None:
    robot = four_bar()
    found = robot.mobility(robot.assemble([0.7, 0, 0], fixed=["motor"]))
    assert (found.grubler, found.dof, found.redundancy) == (-2, 1, 3)
