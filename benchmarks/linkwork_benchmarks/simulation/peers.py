# SPDX-License-Identifier: BSD-3-Clause
"""The same motion in Pinocchio and in MuJoCo, in linkwork's coordinates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork_benchmarks.constrained import mujoco as in_mujoco
from linkwork_benchmarks.constrained import pinocchio as in_pinocchio
from linkwork_benchmarks.robots import Floats, States
from linkwork_benchmarks.simulation.systems import System

PROXIMAL = {"lcaba": (1e-2, 50), "constraintDynamics": (1e-6, 10)}
"""Damping and iterations with which Pinocchio's solvers are most exact: its `lcaba` loses digits with less damping."""
STIFF = (0.9999, 0.9999, 0.001, 0.5, 2.0)
"""MuJoCo's impedance of rows, as near to one as does any good."""


def with_pinocchio(given: System, solver: str, dt: float, steps: int) -> Floats:
    """Configurations after each step of Runge and Kutta's method, ``(steps + 1, nq)``."""
    import pinocchio as pin

    twin, robot = in_pinocchio.twin(given.robot), given.robot
    start = twin.states(States(given.q[None], given.v[None], np.zeros((1, robot.nv))))
    q, v, model, still = start.q[0], start.v[0], twin.model, np.zeros(robot.nv)
    damping, iterations = PROXIMAL[solver]
    settings = pin.ProximalSettings(0.0, damping, iterations)
    solve: Callable[..., Any] = getattr(pin, solver)

    def stage(x: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Rates of the place ``x``, seen from ``q``, and of the velocity ``v + y``."""
        memory, of_constraints = twin.prepared(solver)  # fresh: see `constrained.pinocchio`
        a = np.array(
            solve(model, memory, pin.integrate(model, q, x), v + y, still, twin.constraints, of_constraints, settings)
        )
        along = pin.dIntegrate(model, q, x, pin.ArgumentPosition.ARG1)
        return np.linalg.solve(along, v + y), a

    found = [q]
    for _ in range(steps):
        x1, a1 = stage(still, still)
        x2, a2 = stage(dt / 2 * x1, dt / 2 * a1)
        x3, a3 = stage(dt / 2 * x2, dt / 2 * a2)
        x4, a4 = stage(dt * x3, dt * a3)
        q = pin.integrate(model, q, dt / 6 * (x1 + 2 * x2 + 2 * x3 + x4))
        v = v + dt / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        found.append(q)
    kept: Floats = np.array(found)[:, twin.q_order]
    return kept


def with_mujoco(given: System, dt: float, every: int, records: int) -> tuple[Floats, float]:
    """Configurations every so many steps of MuJoCo's RK4 with stiff equalities, and the most that they opened.

    In the order of joints of the file.
    """
    import mujoco as mj

    twin = in_mujoco.twin(given.robot, given.file)
    model = twin.model
    model.opt.integrator, model.opt.timestep = mj.mjtIntegrator.mjINT_RK4, dt
    model.opt.solver, model.opt.tolerance, model.opt.iterations = mj.mjtSolver.mjSOL_NEWTON, 0.0, 100
    model.eq_solref[:], model.eq_solimp[:] = (2 * dt, 1.0), STIFF
    data, q = mj.MjData(model), twin.q(given.q[None])
    data.qpos[:] = twin.map.to_qpos(q)[0]
    data.qvel[:] = twin.map.to_qvel(q, given.v[None, twin.v_order])[0]
    found, gap = [], 0.0
    for _ in range(records):
        found.append(twin.map.from_qpos(data.qpos[None].copy())[0])
        for _ in range(every):
            mj.mj_step(model, data)
        gap = max(gap, float(np.abs(data.efc_pos).max(initial=0.0)))
    return np.array(found), gap


def mujoco_order(given: System, q: Floats) -> Floats:
    """Our configurations in the order of joints of the file."""
    return in_mujoco.twin(given.robot, given.file).q(q)


def mujoco_stepper(given: System, dt: float, states: int, steps: int) -> tuple[Callable[[], None], Callable[[], None]]:
    """``mj_step`` called from Python, and MuJoCo's own rollouts on one thread: so many steps of so many robots each.

    The model is as its file has it, with its loops, springs and limits, but without contacts.
    """
    import mujoco as mj
    from mujoco import rollout

    assert given.file is not None
    model = mj.MjModel.from_xml_path(str(given.file))
    model.opt.disableflags |= int(mj.mjtDisableBit.mjDSBL_CONTACT)
    model.opt.integrator, model.opt.timestep = mj.mjtIntegrator.mjINT_EULER, dt
    data = mj.MjData(model)
    data.qpos[:] = in_mujoco.twin(given.robot, given.file).map.to_qpos(given.q[None])[0]
    size = mj.mj_stateSize(model, mj.mjtState.mjSTATE_FULLPHYSICS)
    start = np.empty(size)
    mj.mj_getState(model, data, start, mj.mjtState.mjSTATE_FULLPHYSICS)
    batch = np.tile(start, (states, 1))

    def one_by_one() -> None:
        for state in batch:
            mj.mj_setState(model, data, state, mj.mjtState.mjSTATE_FULLPHYSICS)
            for _ in range(steps):
                mj.mj_step(model, data)

    def together() -> None:
        rollout.rollout(model, data, batch, nstep=steps)

    return one_by_one, together
