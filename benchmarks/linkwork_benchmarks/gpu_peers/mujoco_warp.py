# SPDX-License-Identifier: BSD-3-Clause
"""Steps a second of MuJoCo Warp: ``python -m linkwork_benchmarks.gpu_peers.mujoco_warp FILE`` with a line of JSON.

A graph of one step is replayed, as its own benchmark does, from states that are given. Needs mujoco-warp.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from time import perf_counter
from typing import Any

import numpy as np


def main(file: str, states: str, dt: float, contacts: int, rows: int, steps: int, phases: dict[str, int]) -> Any:
    """Steps a second of each phase, and what constraints miss at the end.

    Args:
        file: The model.
        states: A file of NumPy with configurations, ``(worlds, nq)``, in MuJoCo's order.
        dt: The time step.
        contacts: Room for contacts of a world.
        rows: Room for constraint rows of a world.
        steps: That are timed in each phase.
        phases: The step at which each begins.
    """
    import mujoco
    import mujoco_warp as mjw
    import warp as wp

    model = mujoco.MjModel.from_xml_path(file)
    model.opt.timestep = dt
    begin = mujoco.MjData(model)
    mujoco.mj_forward(model, begin)
    qpos = np.load(states)
    there = mjw.put_model(model)
    data = mjw.put_data(model, begin, nworld=len(qpos), nconmax=contacts, njmax=rows)
    data.qpos.assign(qpos.astype(np.float32))
    start = perf_counter()
    mjw.step(there, data)
    wp.synchronize()
    first = perf_counter() - start
    with wp.ScopedCapture() as capture:
        mjw.step(there, data)

    def replay(count: int) -> None:
        for _ in range(count):
            wp.capture_launch(capture.graph)
        wp.synchronize()

    done, rates = 1, dict[str, float]()
    for phase, at in phases.items():
        replay(max(at - done, 0))
        start = perf_counter()
        replay(steps)
        rates[phase] = len(qpos) * steps / (perf_counter() - start)
        done = max(at, done) + steps
    count = min(int(data.nacon.numpy()[0]), len(data.contact.dist.numpy()))
    overflowed = int((data.overflow.numpy() != 0).sum())
    loops = 0.0
    if model.neq:
        equalities = data.efc.type.numpy() == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)
        used = np.arange(equalities.shape[1]) < data.nefc.numpy()[:, None]
        loops = float(np.abs(np.where(equalities & used, data.efc.pos.numpy(), 0.0)).max())
    return {
        "version": version("mujoco-warp"),
        "first": first,
        "rates": rates,
        "iterations": float(data.solver_niter.numpy().mean()),
        "deepest": float(max(-data.contact.dist.numpy()[:count].min(initial=0.0), 0.0)),
        "loops": loops,
        "overflowed": overflowed,
        "lost": int((~np.isfinite(data.qpos.numpy())).any(axis=1).sum()),
    }


if __name__ == "__main__":
    print(json.dumps(main(**json.loads(sys.argv[1]))))
