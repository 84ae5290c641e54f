# SPDX-License-Identifier: BSD-3-Clause
"""How each kind of scenario is measured: results are compared first, then times, contenders taking turns."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.dynamics.jacobians.constrained import ConstrainedDerivatives
from linkwork.dynamics.jacobians.trees import ForwardDerivatives, InverseDerivatives
from linkwork_benchmarks.contender import Contender
from linkwork_benchmarks.delassus import dense
from linkwork_benchmarks.derivatives.scenarios import Feet, Growth, HeldGrowth, Jacobians
from linkwork_benchmarks.peers import pinocchio_model, pinocchio_q
from linkwork_benchmarks.robots import ROBOTS, Floats, States, load, random_states
from linkwork_benchmarks.runner import Disagreement, Journal, Settings, best_times, measure_by_type, say

FULL = Settings(rounds=60, pass_seconds=0.002, clock=process_time)
QUICK = Settings(rounds=2, pass_seconds=0.0005, clock=process_time)

AGREEMENT = 1e-8
"""Largest difference of two results, relative to the largest number: condition numbers of M are below 1e7."""
LARGEST = 240_000
"""Operations of the largest straight-line program that is timed; `compile` by itself makes none beyond 120 000."""


def begin() -> Journal:
    """What a run writes to; one thread each."""
    dense.one_thread()
    return Journal()


def _theirs(scenario: Jacobians, states: States) -> tuple[Callable[..., Any], list[tuple[Any, ...]], list[Floats]]:
    """Pinocchio's function, its arguments for each state, and its results for the first in our order."""
    import pinocchio as pin

    model, order = pinocchio_model(scenario.robot)
    data = model.createData()
    function = pin.computeABADerivatives if scenario.dynamics == "forward" else pin.computeRNEADerivatives
    v, u = np.empty_like(states.v), np.empty_like(states.u)
    v[:, order], u[:, order] = states.v, states.u
    theirs = zip(pinocchio_q(scenario.robot, model, states.q), v, u, strict=True)
    arguments = [(model, data, *state) for state in theirs]
    results = [np.array(x)[np.ix_(order, order)] for x in function(*arguments[0])]
    if scenario.dynamics == "inverse":
        results[2] = np.triu(results[2]) + np.triu(results[2], 1).T
    return function, arguments, results


def _jacobians(scenario: Jacobians, settings: Settings, journal: Journal) -> None:
    if not ROBOTS[scenario.robot].path.is_file():
        raise FileNotFoundError(ROBOTS[scenario.robot].path)
    robot = load(scenario.robot)
    if scenario.dynamics == "forward":
        native: Any = ForwardDerivatives(robot, threads=1)
    else:
        native = InverseDerivatives(robot, passive=False, threads=1)
    states = random_states(robot, scenario.batch)
    call, arguments, expected = _theirs(scenario, states)
    found = native(states.q[0], states.v[0], states.u[0])
    worst = max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(found, expected, strict=False))
    if worst > AGREEMENT:
        raise Disagreement(f"{scenario.name}: results differ by {worst:.1e}")
    metrics, name = journal.metrics, scenario.name
    metrics[f"{name}.difference"] = worst
    metrics[f"{name}.nv"] = robot.nv
    metrics[f"{name}.operations"] = native.operation_count().total
    few = slice(0, min(8, scenario.batch))
    one_by_one = list(zip(states.q[few], states.v[few], states.u[few], strict=True))
    out = tuple(np.empty_like(x) for x in native(states.q, states.v, states.u))

    def fill() -> None:
        for x in out:
            x.fill(1.0)

    def unused() -> Floats:
        first: Floats = found[0]
        return first

    contenders = [
        Contender("pinocchio", call, arguments[few], len(one_by_one), unused),
        Contender("native", native, one_by_one, len(one_by_one), unused),
        Contender("batch", native.bind(*states, out=out), [()], scenario.batch, unused),
        Contender("stores", fill, [()], scenario.batch, unused),
    ]
    if scenario.compiled:
        program = native.compile(max_operations=LARGEST)
        contenders += [
            Contender("specialized", program, one_by_one, len(one_by_one), unused),
            Contender("specialized_batch", program.bind(*states, out=out), [()], scenario.batch, unused),
        ]
    for contender, seconds in zip(contenders, best_times(contenders, settings), strict=True):
        metrics[f"{name}.us.{contender.name}"] = seconds * 1e6
        say(f"  {contender.name:<24}{seconds * 1e6:12.2f} µs")


def _held(scenario: Feet, states: States) -> tuple[lw.Mechanism, States]:
    """The robot with its feet held where the first state has them, and states of which the first keeps them there."""
    robot = load(scenario.robot)
    kind = lw.constraints.Weld if scenario.rows == 6 else lw.constraints.Point
    bodies = [next(j.child for j in robot.joints if j.name == name) for name in scenario.joints]
    held = robot.constrained(*(kind("world", body, name=body) for body in bodies), at=states.q[0])
    J, v = lw.constraint_jacobian(held, states.q[0]), states.v.copy()
    v[0] -= np.linalg.pinv(J) @ (J @ v[0])
    return held, States(states.q, v, states.u)


def _their_feet(scenario: Feet, states: States) -> tuple[Callable[..., Any], list[tuple[Any, ...]], list[Floats]]:
    """Pinocchio's solution and its derivatives, the arguments of each state, and results for the first in our order."""
    import pinocchio as pin

    model, order = pinocchio_model(scenario.robot)
    data = model.createData()
    v, u = np.empty_like(states.v), np.empty_like(states.u)
    v[:, order], u[:, order] = states.v, states.u
    arguments = list(zip(pinocchio_q(scenario.robot, model, states.q), v, u, strict=True))
    pin.forwardKinematics(model, data, arguments[0][0])
    kind = pin.ContactType.CONTACT_6D if scenario.rows == 6 else pin.ContactType.CONTACT_3D
    contacts, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for name in scenario.joints:
        i = model.getJointId(name)
        here = pin.SE3.Identity()
        contacts.append(pin.RigidConstraintModel(kind, model, i, here, 0, data.oMi[i], pin.ReferenceFrame.LOCAL))
        datas.append(contacts[-1].createData())
    pin.initConstraintDynamics(model, data, contacts, datas)
    proximal = pin.ProximalSettings(1e-12, 0.0, 1)

    def solve(q: Floats, v: Floats, tau: Floats) -> None:
        pin.constraintDynamics(model, data, q, v, tau, contacts, datas, proximal)
        pin.computeConstraintDynamicsDerivatives(model, data, contacts, datas, proximal)

    solve(*arguments[0])
    results = [np.array(x)[np.ix_(order, order)] for x in (data.ddq_dq, data.ddq_dv, data.ddq_dtau)]
    return solve, arguments, results


def _feet(scenario: Feet, settings: Settings, journal: Journal) -> None:
    if not ROBOTS[scenario.robot].path.is_file():
        raise FileNotFoundError(ROBOTS[scenario.robot].path)
    held, states = _held(scenario, random_states(load(scenario.robot), scenario.batch))
    call, arguments, expected = _their_feet(scenario, states)
    native = ConstrainedDerivatives(held, threads=1)
    found = native(states.q[0], states.v[0], states.u[0])
    worst = max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(found[:3], expected, strict=True))
    if worst > AGREEMENT:
        raise Disagreement(f"{scenario.name}: results differ by {worst:.1e}")
    metrics, name = journal.metrics, scenario.name
    metrics[f"{name}.difference"] = worst
    metrics[f"{name}.nv"], metrics[f"{name}.nc"] = held.nv, held.nc
    metrics[f"{name}.operations"] = native.operation_count().total
    few = slice(0, min(8, scenario.batch))
    one_by_one = list(zip(states.q[few], states.v[few], states.u[few], strict=True))
    out = tuple(np.empty_like(x) for x in native(states.q, states.v, states.u))

    def unused() -> Floats:
        return found.da_dq

    contenders = [
        Contender("pinocchio", call, arguments[few], len(one_by_one), unused),
        Contender("native", native, one_by_one, len(one_by_one), unused),
        Contender("batch", native.bind(*states, out=out), [()], scenario.batch, unused),
    ]
    if scenario.compiled:
        program = native.compile(max_operations=LARGEST)
        contenders += [
            Contender("specialized", program, one_by_one, len(one_by_one), unused),
            Contender("specialized_batch", program.bind(*states, out=out), [()], scenario.batch, unused),
        ]
    for contender, seconds in zip(contenders, best_times(contenders, settings), strict=True):
        metrics[f"{name}.us.{contender.name}"] = seconds * 1e6
        say(f"  {contender.name:<24}{seconds * 1e6:12.2f} µs")


def branched_chain(size: int) -> lw.Mechanism:
    """A chain of half as many links, each with a second link at its end: deep, and branching everywhere.

    Args:
        size: Links in all.
    """
    rng, build, parent = np.random.default_rng(size), lw.Builder(f"branched chain of {size}"), "world"
    for k in range(size // 2):
        for name in (f"branch{k}", f"link{k}"):
            build.body(name, lw.Inertia.box(1.0, (0.1, 0.2, 0.3), com=tuple(rng.normal(size=3) / 10)))
            build.joint(name, lw.joints.Revolute("xyz"[k % 3]), parent, name, at=(0.1, 0.0, 0.3))
        parent = f"link{k}"
    return build.build()


def _growth(scenario: Growth, settings: Settings, journal: Journal) -> None:
    families: dict[str, Callable[[int], lw.Mechanism]] = {
        "chain": lw.zoo.serial_chain,
        "branched": branched_chain,
        "star": lambda size: lw.zoo.star_of_loops(size),
    }
    for size in scenario.sizes:
        robot = families[scenario.family](size)
        for name, evaluator in (("inverse", InverseDerivatives(robot)), ("forward", ForwardDerivatives(robot))):
            journal.metrics[f"{scenario.name}.{name}.{robot.nv}"] = evaluator.operation_count().total


def held_chain(size: int, rows: int) -> lw.Mechanism:
    """A chain whose tip is held where a bent posture has it.

    Args:
        size: Links.
        rows: 3 for a point, 6 for a weld.
    """
    chain, kind = lw.zoo.serial_chain(size), lw.constraints.Weld if rows == 6 else lw.constraints.Point
    return chain.constrained(kind("world", chain.body_names[-1], name="tip"), at=chain.neutral() + 0.3)


def _held_growth(scenario: HeldGrowth, settings: Settings, journal: Journal) -> None:
    for size in scenario.sizes:
        evaluator = ConstrainedDerivatives(held_chain(size, scenario.rows))
        journal.metrics[f"{scenario.name}.{size}"] = evaluator.operation_count().total


measure = measure_by_type({Jacobians: _jacobians, Growth: _growth, HeldGrowth: _held_growth, Feet: _feet})
