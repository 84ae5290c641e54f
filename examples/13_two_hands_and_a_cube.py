# SPDX-License-Identifier: BSD-3-Clause
"""A humanoid lifts a cube between its palms: 48 rows of rank 24, forces that squeeze, and none of them lost."""

from pathlib import Path

import numpy as np

import linkwork as lw

EDGE, MASS, SQUEEZE, LIFT, FRICTION = 0.2, 2.0, 10.0, 0.1, 0.5  # m, kg, N at each of eight points, m
RATE = 30.0  # rad/s: how fast errors of the joints fade

# The humanoid stands on eight points, and each palm touches the cube at four more.
box = lw.Inertia.box(MASS, (EDGE, EDGE, EDGE))
cube = lw.Builder("cube").body("cube", box).joint("free", lw.joints.Free(), "world", "cube").build()
corners = [(x, z) for x in (-0.04, 0.04) for z in (-0.015, 0.015)]
touch = []
for hand, y in (("left_hand", EDGE / 2), ("right_hand", -EDGE / 2)):
    for k, (x, z) in enumerate(corners):  # on the inner face of the hand, whose fingers point along its -z
        at, name = (z, -0.3 * y, -0.06 - x), f"{hand} {k}"
        touch.append(lw.constraints.Point("cube/cube", f"robot/{hand}", first_at=(x, y, z), second_at=at, name=name))
scene = lw.compose({"robot": lw.zoo.humanoid_standing(), "cube": cube}, name="two hands and a cube")
scene = scene.constrained(*touch)
outwards = np.repeat([1.0, -1.0], 4)  # along y of the cube: where each palm is pushed
soles = [c.name for c in scene.constraints if c.first == "world"]


def posed(height: float) -> np.ndarray:
    """Forearms level, the cube before the chest, and everything closed around it."""
    q = scene.poses["assembled"].copy()
    for side in ("left", "right"):
        q[scene.q_index(f"robot/{side}_elbow_joint")] = -1.5
    q[scene.q_slice("cube/free")] = [0.2, 0, height, 0, 0, 0, 1]
    return scene.assemble(q, fixed=["cube/free"])


low, high = posed(0.8), posed(0.8 + LIFT)
print(scene, "-", scene.mobility(low).dof, "degrees of freedom,", scene.mobility(low).rank, "rows would do")

motors = [scene.v_index(joint.name) for joint in scene.joints if joint.actuated]
normal = [scene.row_slice(c.name).start + 1 for c in touch]


def spread(q: np.ndarray, pull: np.ndarray, squeeze: float = 0.0) -> np.ndarray:
    """The smallest torques of motors, and forces, that do what ``pull`` does, palms pressing as hard as asked."""
    A = np.zeros((scene.nv + len(touch), len(motors) + scene.nc))
    A[motors, range(len(motors))] = 1.0
    A[: scene.nv, len(motors) :] = lw.constraint_jacobian(scene, q).T
    A[scene.nv + np.arange(len(touch)), len(motors) + np.array(normal)] = 1.0
    pressed = np.multiply.outer(squeeze * outwards, np.ones(pull.shape[1:]))
    torques = np.zeros((scene.nv, *pull.shape[1:]))
    torques[motors] = np.linalg.lstsq(A, np.concatenate([pull, pressed]), rcond=1e-9)[0][: len(motors)]
    return torques


# Held still: forward dynamics knows nothing of how torques were chosen, and finds the squeeze in them.
tau = spread(low, lw.gravity_forces(scene, low), SQUEEZE)
still = lw.ForwardDynamics(scene)(low, np.zeros(scene.nv), tau)
on_cube = -sum(still.forces[c.name] for c in touch)  # forces are those on the palms, in the axes of the cube
print(f"still to {np.abs(still.acceleration).max():.0e}: {still.iterations} iterations, rows miss {still.residual:.0e}")
print(f"palms carry {on_cube[2]:.4f} N, the cube weighs {9.81 * MASS:.4f} N")
print("palms are pushed apart at each point by", np.round([still.forces[c.name][1] for c in touch], 3), "N")
exact = lw.ForwardDynamics(scene, "kkt")(low, np.zeros(scene.nv), tau)
print(f"dense linear algebra differs by {np.abs(exact.acceleration - still.acceleration).max():.0e}")

# Lifted in a second: joints are led from one posture to the other, gains are those of the mass that they feel.
top, way = spread(high, lw.gravity_forces(scene, high), SQUEEZE), scene.difference(low, high)
gains = spread(low, lw.mass_matrix(scene, low))


def lift(time: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Torques that hold, between those of both ends, and some that lead."""
    s = min(time, 1.0)
    part, rate, push = s * s * (3 - 2 * s), 6 * s * (1 - s), (6 - 12 * s) * (time < 1.0)
    off, slip = scene.difference(scene.integrate(low, part * way), q), v - rate * way
    return tau + part * (top - tau) + gains @ (push * way - RATE**2 * off - 2 * RATE * slip)


run = lw.simulate(scene, low, seconds=1.5, controller=lift, record_every=10)
height = run.q[:, scene.q_slice("cube/free").start + 2]
press = np.array([outwards[k] * run.forces[c.name][1:, 1] for k, c in enumerate(touch)])
slide = np.array([np.hypot(run.forces[c.name][1:, 0], run.forces[c.name][1:, 2]) for c in touch])
least = min(run.forces[name][1:, 2].min() for name in soles)
print(f"lifted by {height[-1] - height[0]:.4f} m, loops open by {run.errors.max():.0e}, {run.ended or 'to the end'}")
print(f"each point presses with {press.min():.1f} to {press.max():.1f} N and slides with up to", end=" ")
print(f"{(slide / press).max():.2f} of it; points of the soles press with {least:.1f} N at least")
assert abs(height[-1] - height[0] - LIFT) < 2e-3 and press.min() > 0 and (slide < FRICTION * press).all() and least > 0

Path("out").mkdir(exist_ok=True)
run.picture("out/two_hands_and_a_cube.png", time=1.5)
print("out/two_hands_and_a_cube.png shows it")
