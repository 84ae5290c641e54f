# SPDX-License-Identifier: BSD-3-Clause
"""Steps a second of MJX: ``python -m linkwork_benchmarks.gpu.mjx FILE WORLDS STEPS ITERATIONS``.

A scan of steps from the file's own state with small random velocities, in float32, contacts on. Needs mujoco-mjx.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from time import perf_counter
from typing import Any

TIME_STEP = 1e-3
SPEED = 0.1
ROUNDS = 3


def main(file: str, worlds: int, steps: int, iterations: int) -> str:
    """Steps a second, the version of MJX, and whether all states were finite at the end.

    Args:
        file: The model.
        worlds: How many are stepped at a time.
        steps: Of each.
        iterations: The most that the solver takes in a step.
    """
    import jax
    import jax.numpy as jnp
    import mujoco
    from mujoco import mjx

    model = mujoco.MjModel.from_xml_path(file)
    model.opt.timestep, model.opt.iterations = TIME_STEP, iterations
    there, begin = mjx.put_model(model), mujoco.MjData(model)
    mujoco.mj_forward(model, begin)
    first = mjx.put_data(model, begin)

    def roll(q: Any, v: Any) -> Any:
        def step(state: Any, _: Any) -> tuple[Any, None]:
            return mjx.step(there, state), None

        return jax.lax.scan(step, first.replace(qpos=q, qvel=v), None, length=steps)[0].qpos

    q = jnp.tile(jnp.asarray(begin.qpos), (worlds, 1))
    v = SPEED * jax.random.normal(jax.random.PRNGKey(0), (worlds, model.nv))
    rollouts = jax.jit(jax.vmap(roll))
    found = rollouts(q, v).block_until_ready()
    best = float("inf")
    for _ in range(ROUNDS):
        start = perf_counter()
        rollouts(q, v).block_until_ready()
        best = min(best, perf_counter() - start)
    return f"{worlds * steps / best} {version('mujoco-mjx')} {int(jnp.isfinite(found).all())}"


if __name__ == "__main__":
    print(main(sys.argv[1], *map(int, sys.argv[2:5])))
