"""The dynamics of a humanoid in three ways: agreement, times, and a leap. Run by ``make demo``; writes out/demo.png.

Pinocchio (for comparison) and matplotlib (for the plot) are used where they are installed.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import linkwork as lw

OUT = Path("out") / "demo.png"
BATCH = 20_000


@contextmanager
def stage(title: str) -> Iterator[None]:
    """Say what is being done, and how long it took."""
    print(f"{title} ...", flush=True)
    start = perf_counter()
    yield
    print(f"  done in {perf_counter() - start:.1f} s", flush=True)


def microseconds(call: Callable[..., object], *arguments: object, states: int = 1, seconds: float = 0.3) -> float:
    """The best time per state of repeated calls."""
    best, end = np.inf, perf_counter() + seconds
    while perf_counter() < end:
        start = perf_counter()
        for _ in range(20 if states == 1 else 1):
            call(*arguments)
        best = min(best, (perf_counter() - start) / (20 if states == 1 else states))
    return best * 1e6


def difference(a: Any, b: Any) -> float:
    """The largest difference of two arrays, relative to their largest number."""
    return float(np.abs(np.asarray(a) - b).max() / np.abs(b).max())


def in_pinocchio(robot: lw.Mechanism) -> Any:
    """The same robot as a Pinocchio model, joint by joint; q and v then mean the same in both."""
    import pinocchio as pin

    model = pin.Model()
    model.gravity.linear = robot.gravity
    leads_to = {"world": 0}
    for joint in robot.joints:
        if isinstance(joint.type, lw.Revolute):
            aligned = {(1, 0, 0): pin.JointModelRX(), (0, 1, 0): pin.JointModelRY(), (0, 0, 1): pin.JointModelRZ()}
            kind = aligned[tuple(joint.type.axis)]
        else:
            kind = pin.JointModelFreeFlyer()
        place = pin.SE3(joint.placement.rotation, joint.placement.position)
        leads_to[joint.child] = model.addJoint(leads_to[joint.parent], kind, place, joint.name)
        body = robot.inertias[joint.child]
        inertia = pin.Inertia(body.mass, body.com, body.rotational)
        model.appendBodyToJoint(leads_to[joint.child], inertia, pin.SE3.Identity())
    model.armature = robot.armature
    return model


def leap(robot: lw.Mechanism, fast: lw.ForwardDynamics, seconds: float = 0.8, dt: float = 1e-3) -> tuple[Any, Any]:
    """Jump, relax, and tumble freely: times and configurations, by the midpoint rule."""
    q, v, tau = robot.neutral(), np.random.default_rng(3).uniform(-4, 4, robot.nv), np.zeros(robot.nv)
    v[robot.v_slice("base")] = [0, 0, 4, 0, 3, 0]  # up, and pitching forward
    path = [q]
    for _ in range(round(seconds / dt)):
        middle = v + dt / 2 * fast(q, v, tau).acceleration
        a = fast(robot.integrate(q, dt / 2 * v), middle, tau).acceleration
        q, v = robot.integrate(q, dt * middle), v + dt * a
        path.append(q)
    return dt * np.arange(len(path)), np.array(path)


def plot(times: dict[str, float], t: Any, pelvis: Any, com: Any, parabola: Any) -> None:
    """Times beside the leap."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5))
    names, values = list(times)[::-1], list(times.values())[::-1]
    bars = left.barh(names, values, color=["tab:gray" if "Pinocchio" in name else "tab:blue" for name in names])
    left.bar_label(bars, [f" {x:.3g} µs" for x in values])
    left.set(xscale="log", xlabel="time per evaluation [µs]", title="forward dynamics of a humanoid, 37 DoF")
    left.margins(x=0.25)
    right.plot(t, pelvis, color="tab:orange", label="pelvis")
    right.plot(t, com, color="tab:blue", lw=3, label="centre of mass")
    right.plot(t, parabola, "k--", lw=1, label="parabola")
    right.set(xlabel="time [s]", ylabel="height [m]", title="a leap with limp limbs")
    right.legend()
    figure.tight_layout()
    OUT.parent.mkdir(exist_ok=True)
    figure.savefig(OUT, dpi=120)


def main() -> None:
    robot = lw.zoo.humanoid()
    print(robot)
    rng = np.random.default_rng(0)
    qs = robot.integrate(robot.neutral(), rng.uniform(-1, 1, (BATCH, robot.nv)))
    vs, taus = rng.normal(size=(BATCH, robot.nv)), rng.normal(size=(BATCH, robot.nv))
    q, v, tau = qs[0], vs[0], taus[0]

    with stage("native: machine code for any robot (10 to 30 s the first time, then kept on disk)"):
        fd = lw.ForwardDynamics(robot)
    with stage("specialised: a straight-line program for this robot"):
        fast = fd.compile(threads=1)
    print(f"  {lw.operation_count(fd).total} operations an evaluation")

    times, out = {}, np.empty(robot.nv)
    with stage("plain, native and specialised, on the same states"):
        plain = fd.plain()
        reference = np.array([plain(*x).acceleration for x in zip(qs[:10], vs[:10], taus[:10], strict=True)])
        print(f"  native differs from plain by      {difference(fd(qs, vs, taus).acceleration[:10], reference):.0e}")
        print(f"  specialised differs from plain by {difference(fast(qs, vs, taus).acceleration[:10], reference):.0e}")
        times["plain Python"] = microseconds(plain, q, v, tau)
        if importlib.util.find_spec("pinocchio"):
            import pinocchio as pin

            model = in_pinocchio(robot)
            data = model.createData()
            print(
                f"  Pinocchio differs from plain by   {difference(pin.aba(model, data, q, v, tau), reference[0]):.0e}"
            )
            times["Pinocchio"] = microseconds(pin.aba, model, data, q, v, tau)
        else:
            print("  pinocchio is not installed: no comparison (pip install pin)")
        times["native"] = microseconds(fd, q, v, tau)
        times["specialised"] = microseconds(fast, q, v, tau)
        times["specialised, bound"] = microseconds(fast.bind(q, v, tau, out=out))
        times["batch, one core"] = microseconds(fast, qs, vs, taus, states=BATCH)
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        times[f"batch, {cores} cores"] = microseconds(fd.compile(), qs, vs, taus, states=BATCH)

    peer = next(name for name in ("Pinocchio", "native") if name in times)
    print(f"\n{'':<22}{'µs a state':>12}{'states a second':>18}{f'against {peer}':>20}")
    for name, us in times.items():
        print(f"{name:<22}{us:12.3f}{1e6 / us:18,.0f}{times[peer] / us:18.2f} x")
    print()

    with stage("a leap: 800 steps with the compiled dynamics"):
        t, path = leap(robot, fast)
        com = lw.center_of_mass(robot, path)[:, 2]
    rise = (com[1] - com[0]) / (t[1] - t[0]) + 9.81 * t[1] / 2
    parabola = com[0] + rise * t - 9.81 / 2 * t**2
    print(
        f"  whatever the limbs do, the centre of mass keeps to a parabola within {np.abs(com - parabola).max():.0e} m"
    )
    if importlib.util.find_spec("matplotlib"):
        with stage(f"plot in {OUT}"):
            plot(times, t, path[:, 2], com, parabola)
    else:
        print("  matplotlib is not installed: no plot (pip install matplotlib)")


if __name__ == "__main__":
    main()
