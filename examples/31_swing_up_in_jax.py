# SPDX-License-Identifier: BSD-3-Clause
"""Optimal control in JAX: a four-bar on a cart swings up by iLQR, one compiled function, and 64 others follow."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib import pyplot as plt

import linkwork as lw

jax.config.update("jax_enable_x64", True)
N, dt = 150, 0.01
robot = lw.zoo.four_bar_cart_pole()
joints = lw.Minimal(robot).index  # rail and crank; coupler and rocker follow by the loop, which every step closes
step = lw.jax.function(lw.Stepper(robot, dt=dt, method="minimal").compile(), on_error="nan")  # some forces are far off
hanging, upright = (jnp.asarray(robot.poses[name]) for name in ("assembled", "upright"))
drive = jnp.eye(robot.nv)[joints[0]]  # a force on the cart


def advance(x, u):
    """The state ``x = (q, v)`` after a step."""
    return jnp.concatenate(step(*jnp.split(x, 2), u * drive))


def rollout(start, control):
    """States of all steps, and forces; ``control(k, x)`` is the force of a step."""

    def body(x, k):
        return advance(x, control(k, x)), (x, control(k, x))

    end, (states, forces) = jax.lax.scan(body, start, jnp.arange(N))
    return jnp.concatenate([states, end[None]]), forces


def cost(states, forces):
    """Force and, at the end, what rail and crank and their velocities are off."""
    off = jnp.array([states[-1, joints] - upright[joints], states[-1, robot.nq + joints]])
    return 500.0 * jnp.sum(off**2) + 1e-3 * dt * forces @ forces


def improved(states, forces):
    """Riccati's recursion about a rollout: corrections of forces, and gains of states."""
    A, B = jax.vmap(jax.jacfwd(advance, argnums=(0, 1)))(states[:-1], forces)  # one batched call for all steps
    P, p = jax.hessian(cost)(states, forces)[-1, :, -1, :], jax.grad(cost)(states, forces)[-1]

    def body(carry, step):
        (P, p), (A, B, u) = carry, step
        curvature = 2e-3 * dt + B @ P @ B
        k, K = -(2e-3 * dt * u + B @ p) / curvature, -(B @ P @ A) / curvature
        C = A + jnp.outer(B, K)
        return (C.T @ P @ C + 2e-3 * dt * jnp.outer(K, K), C.T @ (p + P @ B * k) + 2e-3 * dt * (u + k) * K), (k, K)

    return jax.lax.scan(body, (P, p), (A, B, forces), reverse=True)[1]


def iteration(plan, _):
    """A step of iLQR: the best of ten lengths, all tried at once."""
    states, forces = plan
    corrections, gains = improved(states, forces)

    def follow(length):
        return rollout(states[0], lambda k, x: forces[k] + length * corrections[k] + gains[k] @ (x - states[k]))

    tried = jax.vmap(follow)(0.6 ** jnp.arange(10.0))
    best = jnp.nanargmin(costs := jax.vmap(cost)(*tried))
    return jax.tree.map(lambda new: new[best], tried), costs[best]


@jax.jit
def swing_up(forces):
    """Sixty iterations, each with 1500 steps and 150 Jacobians."""
    plan = rollout(jnp.concatenate([hanging, jnp.zeros(robot.nv)]), lambda k, x: forces[k])
    return jax.lax.scan(iteration, plan, None, length=60)


(states, forces), costs = swing_up(5.0 * jnp.sin(4.0 * dt * jnp.arange(N)))
off = jnp.abs(states[-1, joints] - upright[joints]).max()
print(
    f"60 iterations: from a cost of {costs[0]:.0f} to {costs[-1]:.2f}, forces of at most {jnp.abs(forces).max():.0f} N"
)
print(f"after {N * dt} s it is {jnp.abs(states[-1, joints] - upright[joints]).max():.0e} off upright")

# Others begin a little elsewhere, and follow the plan by the gains of the last iteration.
_, gains = jax.jit(improved)(states, forces)
q = robot.integrate(np.tile(hanging, (64, 1)), 0.05 * np.random.default_rng(0).normal(size=(64, robot.nv)))
starts = jnp.concatenate([robot.assemble(q, fixed=["rail", "A"]), jnp.zeros((64, robot.nv))], axis=1)
followed, _ = jax.jit(jax.vmap(lambda x: rollout(x, lambda k, x: forces[k] + gains[k] @ (x - states[k]))))(starts)
off = jnp.abs(followed[:, -1, joints] - upright[joints]).max(axis=1)
print(f"64 that begin up to {jnp.abs(starts - states[0]).max():.2f} rad elsewhere end within {off.max():.0e} rad of it")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
left.semilogy(costs)
right.plot(dt * np.arange(N + 1), followed[:, :, joints[1]].T, color="C0", lw=0.5)
right.plot(dt * np.arange(N + 1), states[:, joints[1]], color="C1")
left.set(xlabel="iteration", ylabel="cost"), right.set(xlabel="s", ylabel="crank in rad")
Path("out").mkdir(exist_ok=True)
figure.savefig("out/swing_up_in_jax.png")
