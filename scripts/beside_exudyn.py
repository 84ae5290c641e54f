# SPDX-License-Identifier: BSD-3-Clause
"""Times and errors of linkwork and Exudyn on two IFToMM benchmarks: N four-bars, and Andrews' squeezing mechanism.

``pip install --no-deps exudyn``, then ``python scripts/beside_exudyn.py`` in the repository. Exudyn has planar rigid
bodies with one revolute joint a pin and its generalized-alpha solver (spectral radius 0.9), on one thread; both start
in the same states. The best CPU time of three runs is printed.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import linkwork as lw
from tests.dynamics.test_published import ANDREWS_EXTENDED, ANDREWS_START
from tests.support.benchmark_mechanisms import ANDREWS_ANGLES, andrews, n_four_bar, n_four_bar_state

BEST_OF = 3
TORQUE = 0.033
"""Of the motor of Andrews' mechanism, in N m."""


def planar_system(robot: lw.Mechanism, q: Any, v: Any, watched: str, torque: float) -> tuple[Any, int]:
    """A mechanism in a plane in Exudyn, and the number of a sensor of the angle that a body has turned by.

    Args:
        robot: The mechanism; joints and points that close loops are pins.
        q: Configuration at the start.
        v: Joint velocities there.
        watched: The body that the sensor is on, and a torque.
        torque: In N m.
    """
    import exudyn
    from exudyn import itemInterface as item

    system = exudyn.SystemContainer().AddSystem()
    bodies, centers = {"world": system.AddObject(item.ObjectGround())}, {"world": np.zeros(3)}
    nodes = {}
    for name in robot.body_names:
        place, inertia = lw.frame_placement(robot, q, name), robot.inertias[name]
        twist = lw.frame_velocity(robot, q, v, name, "aligned")
        center = place.rotation @ inertia.com
        x, y, _ = place.position + center
        u, w, _ = twist[3:] + np.cross(twist[:3], center)
        angle = np.arctan2(place.rotation[1, 0], place.rotation[0, 0])
        nodes[name] = system.AddNode(
            item.NodeRigidBody2D(referenceCoordinates=[x, y, angle], initialVelocities=[u, w, twist[2]])
        )
        bodies[name] = system.AddObject(
            item.RigidBody2D(mass=inertia.mass, inertia=inertia.rotational[2, 2], nodeNumber=nodes[name])
        )
        centers[name] = np.array(inertia.com)
        weight = system.AddMarker(item.MarkerBodyPosition(bodyNumber=bodies[name]))
        system.AddLoad(item.Force(markerNumber=weight, loadVector=list(inertia.mass * robot.gravity)))

    def marker(body: str, at: Any) -> int:
        local = [float(x) for x in np.asarray(at) - centers[body]]
        number: int = system.AddMarker(item.MarkerBodyPosition(bodyNumber=bodies[body], localPosition=local))
        return number

    pins = [((j.parent, j.placement.position), (j.child, np.zeros(3))) for j in robot.joints]
    for constraint in robot.constraints:
        first, second = constraint.frames()  # type: ignore[attr-defined]
        pins.append(((constraint.places[0], first.position), (constraint.places[1], second.position)))
    for one, other in pins:
        system.AddObject(item.RevoluteJoint2D(markerNumbers=[marker(*one), marker(*other)]))
    for spring in robot.forces:
        (a, at), (b, to) = spring.places
        ends, k = [marker(a, at.position), marker(b, to.position)], spring.stiffness  # type: ignore[attr-defined]
        length = spring.free_length  # type: ignore[attr-defined]
        system.AddObject(item.SpringDamper(markerNumbers=ends, stiffness=k, referenceLength=length))
    turned = system.AddMarker(item.MarkerBodyRigid(bodyNumber=bodies[watched]))
    system.AddLoad(item.Torque(markerNumber=turned, loadVector=[0, 0, torque]))
    sensor = item.SensorNode(
        nodeNumber=nodes[watched], storeInternal=True, outputVariableType=exudyn.OutputVariableType.Coordinates
    )
    return system, system.AddSensor(sensor)


def exudyn_angle(robot: lw.Mechanism, q: Any, v: Any, body: str, torque: float, dt: float, seconds: float) -> Any:
    """CPU time of a run of Exudyn, times, and the angles that a body has turned by."""
    import exudyn

    system, sensor = planar_system(robot, q, v, body, torque)
    system.Assemble()
    settings = exudyn.SimulationSettings()
    settings.timeIntegration.numberOfSteps = round(seconds / dt)
    settings.timeIntegration.endTime = seconds
    settings.timeIntegration.generalizedAlpha.spectralRadius = 0.9
    settings.solutionSettings.writeSolutionToFile = False
    settings.solutionSettings.sensorsWritePeriod = seconds / 1000
    settings.linearSolverType = exudyn.LinearSolverType.EigenSparse
    settings.parallel.numberOfThreads = 1
    begin = time.process_time()
    system.SolveDynamic(settings, solverType=exudyn.DynamicSolverType.GeneralizedAlpha)
    spent = time.process_time() - begin
    data = system.GetSensorStoredData(sensor)
    return spent, data[:, 0], data[:, -1]


def own_angle(robot: lw.Mechanism, q: Any, v: Any, tau: Any, seconds: float, **how: Any) -> Any:
    """CPU time of a run of linkwork, times, and the angles of the first joint from its start."""
    begin = time.process_time()
    run = lw.simulate(robot, q, v, tau=tau, seconds=seconds, **how)
    spent = time.process_time() - begin
    return spent, run.times, run.q[:, 0] - q[0]


def report(name: str, run: Callable[[], Any], exact: Callable[[Any], Any]) -> None:
    """Print the best time of some runs, and the largest error of the angle."""
    runs = [run() for _ in range(BEST_OF)]
    _, times, angle = runs[0]
    print(f"{name:44s} {min(one[0] for one in runs):8.3f} s   {np.abs(angle - exact(times)).max():.1e} rad")


def four_bars(n: int) -> None:
    """N four-bars, 10 s at 1 ms."""
    robot, (q, v) = n_four_bar(n), n_four_bar_state(n, np.pi / 2, -1.0)
    pull = 9.81 * ((n + 1) / 2 + n) / ((n + 1) / 3 + n)

    def exact(times: Any) -> Any:
        at = np.clip(times, 0, 10)
        solution = solve_ivp(
            lambda _, y: [y[1], -pull * np.cos(y[0])], (0, 10), [np.pi / 2, -1], "DOP853", at, rtol=1e-13, atol=1e-14
        )
        return solution.y[0] - np.pi / 2

    still = np.zeros(robot.nv)
    report(f"{n} four-bars, Exudyn", lambda: exudyn_angle(robot, q, v, "rocker0", 0.0, 1e-3, 10.0), exact)
    for integrator in ("euler", "rk4"):
        report(
            f"{n} four-bars, linkwork {integrator}",
            lambda by=integrator: own_angle(robot, q, v, still, 10.0, dt=1e-3, integrator=by, record_every=10),
            exact,
        )


def squeezer() -> None:
    """Andrews' mechanism, 0.03 s."""
    robot = andrews()
    q, still, tau = np.zeros(robot.nq), np.zeros(robot.nv), np.zeros(robot.nv)
    for name, angle in zip(ANDREWS_ANGLES, ANDREWS_START, strict=True):
        q[robot.q_index(name)] = angle
    tau[robot.v_index("beta")] = TORQUE

    def at_end(spent: float, times: Any, angle: Any) -> Any:
        return spent, times[-1:], angle[-1:]

    def exact(_: Any) -> float:
        return ANDREWS_EXTENDED[0] - ANDREWS_START[0]

    for dt in (1e-5, 2e-6):
        report(
            f"Andrews, Exudyn {dt:.0e} s",
            lambda h=dt: at_end(*exudyn_angle(robot, q, still, "K1", TORQUE, h, 0.03)),
            exact,
        )
    report(
        "Andrews, linkwork rk4 1e-05 s",
        lambda: at_end(*own_angle(robot, q, still, tau, 0.03, dt=1e-5, integrator="rk4")),
        exact,
    )
    report(
        "Andrews, linkwork dopri5, accuracy 1e-9",
        lambda: at_end(*own_angle(robot, q, still, tau, 0.03, dt=3e-5, integrator="dopri5", accuracy=1e-9)),
        exact,
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore", DeprecationWarning)
    four_bars(2)
    four_bars(40)
    squeezer()
