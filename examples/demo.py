# SPDX-License-Identifier: BSD-3-Clause
"""The dynamics of a humanoid in three ways: agreement, times, and a leap; then closed loops that walk.

Run by ``make demo``; writes out/demo.png, out/walk.png, out/walk.gif, and out/walk.html to be opened in a browser.

Pinocchio (for comparison), matplotlib (for plots) and viser (for the page) are used where they are installed.
"""

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import linkwork as lw

OUT, WALK, BATCH = Path("out") / "demo.png", Path("out") / "walk.png", 20_000


def main() -> None:
    robot = lw.zoo.humanoid()
    print(robot)
    moves, vs, taus = np.random.default_rng(0).uniform(-1, 1, (3, BATCH, robot.nv))
    qs = robot.integrate(robot.neutral(), moves)
    state, states = (qs[0], vs[0], taus[0]), (qs, vs, taus)

    with stage("native: machine code for any robot (seconds the first time, then kept on disk)"):
        fd = lw.ForwardDynamics(robot)
        fd(*state)
    with stage("specialized: a straight-line program for this robot"):
        fast = fd.compile(threads=1)
    print(f"  {lw.operation_count(fd).total} operations an evaluation")

    times = {}
    with stage("comparing answers and times"):
        plain = fd.plain()
        few = plain(qs[:5], vs[:5], taus[:5]).acceleration
        times["plain Python"] = microseconds(plain, *state)
        if importlib.util.find_spec("pinocchio"):
            import pinocchio as pin

            model = in_pinocchio(robot)
            data = model.createData()
            compare("Pinocchio", pin.aba(model, data, *state), few[0])
            times["Pinocchio"] = microseconds(pin.aba, model, data, *state)
        else:
            print("  pinocchio is not installed: no comparison with it (pip install pin)")
        compare("native", fd(*states).acceleration[:5], few)
        times["native"] = microseconds(fd, *state)
        times["native batch, one core"] = microseconds(fd.native(threads=1), *states, count=BATCH)
        compare("specialized", fast(*state).acceleration, few[0])
        times["specialized"] = microseconds(fast, *state)
        times["specialized, bound"] = microseconds(fast.bind(*state, out=np.empty(robot.nv)))
        compare("batch", fast(*states).acceleration[:5], few)
        times["batch, one core"] = microseconds(fast, *states, count=BATCH)
        times["batch, all cores"] = microseconds(fd.compile(), *states, count=BATCH)

    peer = "Pinocchio" if "Pinocchio" in times else "native"
    print(f"\n{'forward dynamics':<24}{'µs a state':>12}{'states a second':>18}{f'{peer} = 1':>18}")
    for name, us in times.items():
        print(f"{name:<24}{us:12.3f}{1e6 / us:18,.0f}{times[peer] / us:18.3g}")

    with stage("\na leap: 800 steps with the compiled dynamics"):
        t, path = leap(robot, fast)
        com = lw.center_of_mass(robot, path)[:, 2]
    parabola = com[0] + ((com[1] - com[0]) / t[1] + 9.81 / 2 * t[1]) * t - 9.81 / 2 * t**2
    print(f"  limbs flail, the center of mass keeps to a parabola within {np.abs(com - parabola).max():.0e} m")
    with stage("\nclosed loops: a leg of Jansen's beast walks for 4 s (steps in machine code, compiled once)"):
        walked = walk()
    if not importlib.util.find_spec("matplotlib"):
        print("  matplotlib is not installed: no plot (pip install matplotlib)")
        return
    with stage(f"plotting to {OUT}"):
        plot(times, t, {"pelvis": path[:, 2], "center of mass": com, "parabola": parabola})
    with stage(f"drawing the walk: {WALK} and {WALK.with_suffix('.gif')}"):
        walked.plot(WALK)
        walked.save_video(WALK.with_suffix(".gif"))
    if importlib.util.find_spec("viser"):
        with stage(f"the walk in space: open {WALK.with_suffix('.html')} in a browser"):
            walked.save_html(WALK.with_suffix(".html"))


@contextmanager
def stage(title: str) -> Iterator[None]:
    """Say what is being done, and how long it took."""
    print(f"{title} ...", flush=True)
    start = perf_counter()
    yield
    print(f"  done in {perf_counter() - start:.1f} s", flush=True)


def microseconds(call: Callable[..., object], *arguments: object, count: int = 1) -> float:
    """The best time per state over repeated calls of ``count`` states."""
    calls, best, end = 20 if count == 1 else 1, np.inf, perf_counter() + 0.3
    while perf_counter() < end:
        start = perf_counter()
        for _ in range(calls):
            call(*arguments)
        best = min(best, perf_counter() - start)
    return best / (calls * count) * 1e6


def compare(name: str, answer: Any, reference: Any) -> None:
    """Say how far an answer is from that of plain Python."""
    worst = np.abs(answer - reference).max() / np.abs(reference).max()
    print(f"  {name} differs from plain Python by {worst:.0e}, relative")


def in_pinocchio(robot: lw.Mechanism) -> Any:
    """The same robot as a Pinocchio model, joint by joint; q and v then mean the same in both."""
    import pinocchio as pin

    model = pin.Model()
    leads_to = {"world": 0}
    for joint in robot.joints:
        kind = pin.JointModelFreeFlyer()
        if isinstance(joint.type, lw.joints.Revolute):  # about x, y or z in this robot
            kind = (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ)[int(np.argmax(joint.type.axis))]()
        place = pin.SE3(joint.placement.rotation, joint.placement.position)
        leads_to[joint.child] = model.addJoint(leads_to[joint.parent], kind, place, joint.name)
        body = robot.inertias[joint.child]
        model.inertias[leads_to[joint.child]] = pin.Inertia(body.mass, body.com, body.rotational)
    model.armature = robot.armature
    return model


def leap(robot: lw.Mechanism, fast: lw.ForwardDynamics, seconds: float = 0.8, dt: float = 1e-3) -> tuple[Any, Any]:
    """Jump and tumble without torques, by the midpoint rule: times and configurations."""
    q, v, tau = robot.neutral(), np.random.default_rng(3).uniform(-8, 8, robot.nv), np.zeros(robot.nv)
    v[robot.v_slice("base")] = [0, 0, 4, 0, 3, 0]  # up, and pitching forward
    path = [q]
    for _ in range(round(seconds / dt)):
        middle = v + dt / 2 * fast(q, v, tau).acceleration
        v = v + dt * fast(robot.integrate(q, dt / 2 * v), middle, tau).acceleration
        q = robot.integrate(q, dt * middle)
        path.append(q)
    return dt * np.arange(len(path)), np.array(path)


def walk(seconds: float = 4.0) -> lw.Trajectory:
    """A leg of Jansen's beast: eleven bars, loops that share joints, a crank that is turned at a constant rate."""
    robot = lw.zoo.jansen()
    q = robot.poses["assembled"]
    crank = robot.v_index(robot.joints[0].name)
    v = robot.project_velocity(q, np.where(np.arange(robot.nv) == crank, 3.0, 0.0))

    def drive(time: float, q: Any, v: Any) -> Any:
        return np.where(np.arange(robot.nv) == crank, 20.0 * (3.0 - v[crank]), 0.0)

    run = lw.simulate(robot, q, v, seconds=seconds, controller=drive, control_every=5, record_every=20)
    print(f"  {robot}")
    turns = (run.q[-1] - run.q[0])[crank] / (2 * np.pi)
    print(f"  the crank turned {turns:.1f} times, loops opened by {run.errors.max():.0e} m")
    free = lw.simulate(robot, q, v, seconds=1.0, integrator="rk4", record_every=20)
    drift = np.ptp(free.energy["total"]) / free.energy["kinetic"].max()
    print(f"  let go, by Runge and Kutta's method, it keeps its energy to {drift:.0e}")
    return run


def plot(times: dict[str, float], t: Any, heights: dict[str, Any]) -> None:
    """Times beside the leap."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4.5), layout="tight")
    left, right = figure.subplots(1, 2)
    bars = left.barh(list(times), list(times.values()), color=["C7" if name == "Pinocchio" else "C0" for name in times])
    left.bar_label(bars, [f" {us:.3g} µs" if us < 1000 else f" {us:.0f} µs" for us in times.values()])
    left.set(xscale="log", xlabel="time per evaluation [µs]", title="forward dynamics of a humanoid")
    left.set(xlim=(min(times.values()) / 5, 20 * max(times.values())), ylim=(len(times) - 0.5, -0.5))
    for (name, height), style in zip(heights.items(), ("C1-", "C0-", "k--"), strict=True):
        right.plot(t, height, style, label=name)
    right.set(xlabel="time [s]", ylabel="height [m]", title="a leap with limp limbs")
    right.legend()
    OUT.parent.mkdir(exist_ok=True)
    figure.savefig(OUT, dpi=120)


if __name__ == "__main__":
    main()
