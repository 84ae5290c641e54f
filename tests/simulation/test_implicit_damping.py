# SPDX-License-Identifier: BSD-3-Clause
"""Semi-implicit Euler takes damping of servos, tendons and stops implicitly: MuJoCo's ``implicitfast``."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest

import linkwork as lw
from linkwork.mechanism import Mechanism
from linkwork.peers import mujoco_map
from tests.support.states import Floats

DT, STEPS = 0.002, 400
BODIES = """<worldbody><site name="w0" pos=".3 .1 1.2"/>
  <body pos="0 0 1"><joint name="a" axis="0 1 0" damping="0.1"/><geom size=".05" pos=".3 0 0"/>
    <site name="a0" pos=".2 .05 .03"/>
    <body pos=".5 0 0"><joint name="b" axis="0 1 .3" armature=".01" {joint}/><geom size=".06" pos=".2 .1 0"/>
      <site name="b0" pos=".1 .02 .05"/>
      <body pos=".3 0 0"><joint name="c" type="slide" axis="1 0 0"/><geom size=".05"/>
        <body pos=".1 0 0"><joint name="d" type="ball"/><geom size=".05" pos=".05 .04 .02"/></body></body></body></body>
</worldbody>
<tendon><fixed name="t" {tendon}><joint joint="b" coef="1"/><joint joint="c" coef="-2"/></fixed>
  <spatial name="s" {spatial}><site site="w0"/><site site="a0"/><site site="b0"/></spatial></tendon>"""

SERVOS = {
    "joints": '<position joint="a" kp="300" kv="200"/><velocity joint="b" kv="50" gear="-3"/>',
    "force limits": '<position joint="a" kp="300" kv="90" forcerange="-8 8"/><velocity joint="b" kv="50"/>',
    "two on a joint": '<position joint="a" kp="300" kv="90"/><velocity joint="a" kv="30" gear="2"/>',
    "gain by velocity": '<damper joint="a" kv="70" ctrlrange="0 2"/><general joint="b" gaintype="affine" '
    'gainprm="5 1 -40" biastype="affine" biasprm="1 -2 -3"/>',
    "a fixed tendon": '<position tendon="t" kp="90" kv="70" gear="1.5"/>',
    "a spatial tendon": '<position tendon="s" kp="90" kv="80"/><velocity tendon="s" kv="20" gear="-2"/>',
    "two tendons and a joint": '<position tendon="t" kp="90" kv="70"/><position tendon="s" kp="90" kv="80"/>'
    '<position joint="a" kp="300" kv="200"/>',
    "a ball": '<velocity joint="d" kv="30" gear="1 -2 .5"/><velocity joint="d" kv="20" gear="0 0 1"/>',
    "activations": '<position joint="a" kp="300" kv="200" timeconst="0.02"/>'
    '<general joint="b" dyntype="integrator" gaintype="affine" gainprm="5 0 -60" actearly="true"/>',
}


def text(servos: str, joint: str = "", tendon: str = "", spatial: str = "", integrator: str = "implicitfast") -> str:
    option = f'<option timestep="{DT}" integrator="{integrator}"><flag contact="disable"/></option>'
    around = BODIES.format(joint=joint, tendon=tendon, spatial=spatial)
    return f"<mujoco>{option}{around}<actuator>{servos}</actuator></mujoco>"


def mujocos(words: str, commands: Floats, q: Floats, v: Floats, steps: int = STEPS) -> Floats:
    """Positions by ``mj_step``."""
    model = mujoco.MjModel.from_xml_string(words)
    data, convert = mujoco.MjData(model), mujoco_map(lw.loads(words, "mjcf"))
    data.qpos[:], data.qvel[:], data.ctrl[:] = convert.to_qpos(q), convert.to_qvel(q, v), commands
    found = []
    for _ in range(steps):
        mujoco.mj_step(model, data)
        found.append(convert.from_qpos(data.qpos))
    return np.array(found)


def state(robot: Mechanism, seed: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    return robot.integrate(robot.neutral(), 0.4 * rng.normal(size=robot.nv)), rng.normal(size=robot.nv)


def ours(robot: Mechanism, commands: Floats, q: Floats, v: Floats, **how: Any) -> lw.Trajectory:
    return lw.simulate(robot, q, v, seconds=STEPS * DT, dt=DT, commands=commands, **how)


@pytest.mark.parametrize("servos", SERVOS.values(), ids=SERVOS)
def test_stiff_servos_move_a_tree_as_implicitfast_does(servos: str) -> None:
    words = text(servos)
    robot = lw.loads(words, "mjcf")
    commands = np.array([0.7, 0.4, -0.3])[: len(robot.actuators)]
    q, v = state(robot)
    run = ours(robot, commands, q, v)
    assert np.abs(run.q[1:] - mujocos(words, commands, q, v)).max() < 1e-10
    compiled = lw.Stepper(robot, DT, "euler").compile()
    assert np.abs(compiled(q, v, commands=commands, steps=20).q - run.q[20]).max() < 1e-12
    many = lw.rollouts(robot, np.tile(q, (5, 1)), np.tile(v, (5, 1)), seconds=0.04, dt=DT, commands=commands)
    assert np.abs(many.q[-1] - run.q[20]).max() < 1e-12


def test_dampers_of_tendons_are_implicit() -> None:
    words = text(SERVOS["joints"], tendon='damping="60"', spatial='damping="90"')
    robot = lw.loads(words, "mjcf")
    q, v = state(robot)
    commands = np.array([0.7, 0.4])
    assert np.abs(ours(robot, commands, q, v).q[1:] - mujocos(words, commands, q, v)).max() < 1e-10


@pytest.mark.parametrize("servos", ["a fixed tendon", "two tendons and a joint", "a ball"])
def test_steps_with_rows_have_dampers_of_tendons_in_their_matrix(servos: str) -> None:
    """Limits that are not reached make them steps with contacts, whose damping is that of ``implicitfast``, too."""
    far = 'range="-1000 1000"'
    words = text(SERVOS[servos], joint=far, tendon='damping="60"', spatial='damping="90"')
    robot = lw.loads(words, "mjcf")
    commands = np.array([0.7, 0.4, -0.3])[: len(robot.actuators)]
    q, v = state(robot)
    run = ours(robot, commands, q, v, contact=True)
    assert np.abs(run.q[1:] - mujocos(words, commands, q, v)).max() < 1e-9
    assert run.contacts.missed[-1] == 0
    many = lw.rollouts(
        robot, np.tile(q, (9, 1)), np.tile(v, (9, 1)), seconds=0.04, dt=DT, commands=commands, contact=True
    )
    assert np.abs(many.q[-1] - run.q[20]).max() < 1e-10


def test_dampers_of_tendons_are_exact_beside_contacts() -> None:
    """A weight hangs on a tendon with a stiff damper over a second weight on the ground: both sink as the closed form
    says, with the rate ``m g / d (1 - exp(-d t / m))`` of semi-implicit steps."""
    build = lw.Builder("dashpot")
    for name in ("left", "right"):
        build.body(name, lw.Inertia.box(2.0, (0.1, 0.1, 0.1)))
        build.joint(f"{name} slide", lw.joints.Prismatic("z"), "world", name, at=(0.5 * (name == "right"), 0, 1))
    build.shape("right", lw.shapes.Box((0.1, 0.1, 0.1)), role="collision")
    build.tendon(lw.tendons.Tendon("rod", joints={"left slide": 1.0, "right slide": 1.0}, damping=500.0))
    build.contact("right")
    robot = build.build()
    q, v, dt, m, d = np.array([0.0, -0.95]), np.zeros(2), 0.002, 2.0, 500.0
    run = lw.simulate(robot, q, v, seconds=0.1, dt=dt)
    rate = 0.0  # m (r1 - r) / h = -m g - d r1: of the left weight, as the right one rests
    for k in range(len(run.v)):
        np.testing.assert_allclose(run.v[k], [rate, 0.0], rtol=0, atol=1e-8)
        rate = (rate - dt * 9.81) / (1.0 + dt * d / m)
    weight = run.contacts["ground:right"].total[-1]
    assert weight == pytest.approx(m * 9.81 + d * run.v[-1, 0], rel=1e-6)


def test_a_torque_at_the_limit_of_its_joint_has_no_damping() -> None:
    """With one actuator the same as a limit of its force."""
    q, v, commands = np.zeros(7), np.zeros(6), np.array([2.0])
    q[-1] = 1.0
    servo = '<position joint="b" kp="300" kv="50" {limit}/>'
    by_joint = lw.loads(text(servo.format(limit=""), joint='actuatorfrcrange="-3 3"'), "mjcf")
    by_force = lw.loads(text(servo.format(limit='forcerange="-3 3"')), "mjcf")
    runs = [ours(robot, commands, q, v).q for robot in (by_joint, by_force)]
    assert np.abs(runs[0] - runs[1]).max() < 1e-12


def random_arm(rng: np.random.Generator) -> str:
    """A chain of six hinges with servos whose damping times the step is many times the inertia."""
    bodies, servos = "", ""
    for k in range(6):
        axis, com = rng.normal(size=3), 0.1 * rng.normal(size=3)
        size = " ".join(f"{x:.3g}" for x in rng.uniform(0.02, 0.08, 3))
        bodies += (
            f'<body pos="{0.1 * rng.normal():.3f} 0 0.2"><joint name="j{k}" axis="{axis[0]} {axis[1]} {axis[2]}"/>'
        )
        bodies += (
            f'<geom type="box" size="{size}" pos="{com[0]} {com[1]} {com[2]}" mass="{rng.uniform(0.2, 3.0):.3f}"/>'
        )
        kp = 10 ** rng.uniform(2, 3.6)
        servos += f'<position joint="j{k}" kp="{kp:.4g}" kv="{kp * 10 ** rng.uniform(-1.3, -0.7):.4g}"/>'
    option = f'<option timestep="{DT}" integrator="implicitfast"><flag contact="disable"/></option>'
    return f"<mujoco>{option}<worldbody>{bodies}{'</body>' * 6}</worldbody><actuator>{servos}</actuator></mujoco>"


@pytest.mark.parametrize("seed", range(6))
def test_random_arms_with_stiff_servos_do_not_chatter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    words = random_arm(rng)
    robot = lw.loads(words, "mjcf")
    commands, q, v = rng.normal(size=6), np.zeros(6), np.zeros(6)
    damping = np.array([-actuator.bias[2] for actuator in robot.actuators])
    assert (DT * damping * np.diag(np.linalg.inv(lw.mass_matrix(robot, q)))).max() > 10
    run = lw.simulate(robot, q, v, seconds=5.0, dt=DT, commands=commands)
    assert np.abs(run.q[-1] - mujocos(words, commands, q, v, 2500)[-1]).max() < 1e-9
    late = run.v[-500:]
    assert np.abs(np.diff(late, 2, axis=0)).max() < 1e-3  # velocities turned around from step to step would be large


def parallelogram(tendon: bool) -> Mechanism:
    """A loop with a stiff servo on one joint, or over a tendon on two."""
    build = lw.Builder("parallelogram")
    rod = lw.Inertia.rod(0.2, (0, 0, 0), (0.3, 0, 0))
    for name, z in (("lower", 0.0), ("upper", 0.3)):
        build.body(name, rod)
        build.joint(name, lw.joints.Revolute("y"), "world", name, at=(0, 0, z))
    build.body("coupler", lw.Inertia.rod(0.2, (0, 0, 0), (0, 0, 0.3)))
    build.joint("corner", lw.joints.Revolute("y"), "lower", "coupler", at=(0.3, 0, 0))
    build.frame("top", "coupler", (0, 0, 0.3))
    build.frame("end", "upper", (0.3, 0, 0))
    build.constrain(lw.constraints.Point("top", "end"))
    build.tendon(lw.tendons.Tendon("both", joints={"lower": 0.5, "upper": 0.7}))
    servo: dict[str, Any] = {"gain": (400.0, 0, 0), "bias": (0, -400.0, -60.0)}
    if tendon:
        build.actuator("servo", tendon="both", **servo)
    else:
        build.actuator("servo", "lower", **servo)
    return build.build()


@pytest.mark.parametrize("method", ["auto", "minimal", "prox_ltl", "kkt"])
@pytest.mark.parametrize("tendon", [False, True])
def test_stiff_servos_do_not_chatter_in_loops(method: Any, tendon: bool) -> None:
    """Over a tendon, armature that bounds their damping: the motion is quiet, and that of short steps nearly."""
    robot = parallelogram(tendon)
    q = robot.assemble(robot.neutral())
    how: dict[str, Any] = {"commands": [0.6], "method": method}
    fine = lw.simulate(robot, q, dt=5e-5, seconds=0.4, commands=[0.6], record_every=2000)
    run = lw.simulate(robot, q, dt=0.002, seconds=0.4, **how)
    assert np.abs(run.q[::50] - fine.q).max() < 5e-3
    change = np.diff(run.v, axis=0)
    assert ((change[1:] * change[:-1] < -1e-12).sum(axis=0) < 5).all()


# Derivatives -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["joints", "gain by velocity", "two tendons and a joint", "a ball"])
def test_derivatives_of_steps_are_those_of_implicit_servos(kind: str) -> None:
    robot = lw.loads(text(SERVOS[kind], spatial='damping="9"'), "mjcf")
    q, v = state(robot)
    commands = np.array([0.7, 0.4, -0.3])[: len(robot.actuators)]
    assert_derivatives(lw.Stepper(robot, DT, "euler"), robot, q, v, commands)


def test_derivatives_of_steps_with_contacts_are_those_of_implicit_servos() -> None:
    build = lw.Builder("arm on the ground")
    rod = lw.Inertia.rod(1.0, (0, 0, 0), (0.4, 0, 0))
    for k, parent in enumerate(("world", "link0", "link1")):
        build.body(f"link{k}", rod)
        build.joint(
            f"joint{k}",
            lw.joints.Revolute("y"),
            parent,
            f"link{k}",
            at=(0.4 * (k > 0), 0, 0.62 * (k == 0)),
            damping=0.1,
        )
        build.actuator(f"servo{k}", f"joint{k}", gain=(200.0, 0, 0), bias=(0, -200.0, -60.0))
    build.shape("link2", lw.shapes.Sphere(0.05), at=(0.4, 0, 0), role="collision")
    build.contact("link2", friction=0.7)
    robot = build.build()
    q, v = np.array([0.7, 0.3, -0.55]), np.array([0.4, 0.2, 0.3])
    stepper, commands = lw.Stepper(robot, DT, "euler"), np.array([0.9, 0.3, -0.5])
    assert lw.simulate(robot, q, v, seconds=DT, dt=DT, commands=commands).contacts["ground:link2"].touching[-1].all()
    assert_derivatives(stepper, robot, q, v, commands)


def assert_derivatives(
    stepper: Any, robot: Mechanism, q: Floats, v: Floats, commands: Floats, tolerance: float = 1e-5
) -> None:
    """Derivatives against central differences, and products against these."""
    found, h = stepper.derivatives(q, v, commands=commands), 1e-6
    nv, rng = robot.nv, np.random.default_rng(1)
    for x in np.eye(nv):
        ahead, back = (stepper(q, v + s * h * x, commands=commands).v for s in (1, -1))
        np.testing.assert_allclose(found.dv1_dv @ x, (ahead - back) / (2 * h), rtol=0, atol=tolerance)
        ahead, back = (stepper(robot.integrate(q, s * h * x), v, commands=commands).v for s in (1, -1))
        scale = max(1.0, np.abs(found.dv1_dq).max())
        np.testing.assert_allclose(found.dv1_dq @ x, (ahead - back) / (2 * h), rtol=0, atol=tolerance * scale)
    for x in np.eye(len(commands)):
        ahead, back = (stepper(q, v, commands=commands + s * h * x).v for s in (1, -1))
        np.testing.assert_allclose(found.dv1_dcommands @ x, (ahead - back) / (2 * h), rtol=0, atol=tolerance)
    y = rng.normal(size=nv)
    gradient = dict(
        zip(stepper.vjp.inputs, stepper.vjp(q, v, np.zeros(nv), np.zeros(nv), y, commands=commands), strict=True)
    )
    np.testing.assert_allclose(gradient["v"], found.dv1_dv.T @ y, rtol=0, atol=1e-8 * max(1.0, np.abs(y).max()))
