# SPDX-License-Identifier: BSD-3-Clause
"""A thousand arms, each with masses and friction of its own, under one controller; and what an arm carries."""

import numpy as np

import linkwork as lw

build = lw.Builder("arm")
parent, at = "world", (0.0, 0.0, 0.0)
for name, axis, length, mass in (("shoulder", "z", 0.1, 4.0), ("upper", "y", 0.4, 3.0), ("lower", "y", 0.4, 2.0)):
    link = lw.Inertia.rod(mass, (0, 0, 0), (0.0 if name == "shoulder" else length, 0, 0.1), radius=0.04)
    build.body(name, link).joint(
        f"{name} joint", lw.joints.Revolute(axis), parent, name, at, damping=0.5, armature=0.02
    )
    parent, at = name, (0.0, 0.0, 0.1) if name == "shoulder" else (length, 0.0, 0.0)
build.body("hand", lw.Inertia.sphere(0.5, 0.05)).joint(
    "wrist", lw.joints.Revolute("y"), "lower", "hand", at, damping=0.1, armature=0.02
)
arm = build.build()
print({name: arm.parameters[name].shape for name in ("mass", "com", "inertia", "damping", "gravity")})


# Every row of a batch has a robot of its own: masses and inertias, friction, and where the center of a link is.
@lw.kernel
def pd(time, q, v, kp, kd, target, tau):
    for k in range(4):
        tau[k] = kp[k] * (target[k] - q[k]) - kd[k] * v[k]


rng, count = np.random.default_rng(0), 1000
scale = rng.uniform(0.7, 1.3, (count, 4))
varied = {
    "mass": arm.parameters["mass"] * scale,
    "inertia": arm.parameters["inertia"] * scale[..., None],
    "com": arm.parameters["com"] + rng.normal(scale=0.01, size=(count, 4, 3)),
    "damping": arm.parameters["damping"] * rng.uniform(0.2, 3.0, (count, 4)),
}
target = np.array([0.5, -0.6, 0.9, 0.3])
start = np.zeros((count, 4))
for stiffness in (50.0, 400.0):
    kp = stiffness * np.array([1.0, 1.0, 0.6, 0.02])
    control = lw.Controller(pd, kp=kp, kd=0.2 * kp, target=target)
    runs = lw.rollouts(arm, start, seconds=2.0, dt=2e-3, controller=control, parameters=varied)
    one = lw.rollouts(arm, start[:1], seconds=2.0, dt=2e-3, controller=control)
    error, nominal = np.abs(runs.q[-1] - target).max(axis=-1), np.abs(one.q[-1] - target).max()
    print(
        f"kp = {stiffness:3g}: {np.degrees(nominal):4.1f}° off the target, the model alone; "
        f"{np.degrees(np.median(error)):4.1f}° in the middle of {count} arms, {np.degrees(error.max()):4.1f}° at worst"
    )

# The worst of them is a robot as any other.
worst = int(error.argmax())
rebuilt = arm.with_parameters(**{name: values[worst] for name, values in varied.items()})
alone = lw.simulate(rebuilt, start[0], seconds=2.0, dt=2e-3, controller=control)
print(f"simulated alone, it ends {np.abs(alone.q[-1] - runs.q[-1, worst]).max():.0e} rad from there")

# What does the arm carry? Mass and center of the hand from torques and accelerations, by gradients through the model.
forward = lw.ForwardDynamics(arm, parameters={"mass": ["hand"], "com": ["hand"]}).compile()
q, v, tau = rng.uniform(-1, 1, (50, 4)), rng.normal(size=(50, 4)), 5 * rng.normal(size=(50, 4))
true = {"mass": np.array([1.7]), "com": np.array([[0.08, 0.01, -0.02]])}
measured = forward(q, v, tau, **true).acceleration
guess = {name: values.copy() for name, values in forward.parameters.items()}
for _ in range(8):
    rest = measured - forward(q, v, tau, **guess).acceleration
    directions = np.eye(4)  # a column of the Jacobian each: of the mass, and of the center's three coordinates
    columns = [
        forward.jvp(q, v, tau, *np.zeros((3, 4)), **guess, dmass=d[:1], dcom=d[None, 1:]).ravel() for d in directions
    ]
    step = np.linalg.lstsq(np.stack(columns, axis=1), rest.ravel(), rcond=None)[0]
    guess = {"mass": guess["mass"] + step[:1], "com": guess["com"] + step[1:]}
off = max(np.abs(guess[name] - true[name]).max() for name in true)
print(f"the hand carries {guess['mass'][0]:.3f} kg at {np.round(guess['com'][0], 3)} m: off by {off:.0e}")
