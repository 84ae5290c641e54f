# SPDX-License-Identifier: BSD-3-Clause
"""Mechanisms of published multibody benchmarks: IFToMM's library, and the DAE test set of the University of Bari."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import linkwork as lw
from linkwork.mechanism import Mechanism

THIN = 1e-6
"""Radius of a rod that is thin, in m."""


def andrews() -> Mechanism:
    """Andrews' squeezing mechanism (IFToMM A03): seven bodies in a plane, a motor of 0.033 N m, a spring."""
    build = lw.Builder("andrews", gravity=(0, 0, 0))
    # mass, moment of inertia, center of mass
    bodies = {
        "K1": (0.04325, 2.194e-6, (0.00092, 0)),
        "K2": (0.00365, 4.410e-7, (-0.0115, 0)),
        "K3": (0.02373, 5.255e-6, (0.01043, -0.01874)),
        "K4": (0.00706, 5.667e-7, (0, -(0.02 - 0.01421))),
        "K5": (0.07050, 1.169e-5, (0.00916, -0.02308)),
        "K6": (0.00706, 5.667e-7, (0.02 - 0.01421, 0)),
        "K7": (0.05498, 1.912e-5, (-0.00449, -0.01228)),
    }
    for name, (mass, moment, (x, y)) in bodies.items():
        build.body(name, lw.Inertia(mass, (x, y, 0), moment * np.diag([0.5, 0.5, 1.0])))
    A, B = (-0.06934, -0.00227, 0), (-0.03635, 0.03273, 0)
    turn = lw.joints.Revolute("z")
    build.joint("beta", turn, "world", "K1")
    build.joint("theta", turn, "K1", "K2", at=(0.007, 0, 0))
    build.joint("gamma", turn, "world", "K3", at=B)
    build.joint("delta", turn, "world", "K5", at=A)
    build.joint("phi", turn, "K5", "K4", at=(0.04, 0, 0))
    build.joint("epsilon", turn, "world", "K7", at=A)
    build.joint("omega", turn, "K7", "K6", at=(0, -0.04, 0))
    robot = build.build()
    end = (-0.028, 0, 0)
    robot = robot.constrained(
        lw.constraints.Point("K2", "K3", first_at=end, second_at=(0, -0.035, 0)),
        lw.constraints.Point("K2", "K4", first_at=end, second_at=(0, -0.02, 0)),
        lw.constraints.Point("K2", "K6", first_at=end, second_at=(0.02, 0, 0)),
    )
    spring = lw.Spring(("world", (0.014, 0.072, 0)), ("K3", (0.02, -0.018, 0)), 4530.0, free_length=0.07785)
    return robot.with_forces(spring)


ANDREWS_ANGLES = ("beta", "theta", "gamma", "phi", "delta", "omega", "epsilon")
"""Angles in the order of the test set."""


def n_four_bar(n: int) -> Mechanism:
    """N four-bars side by side (IFToMM A02): rods of 1 m and 1 kg, hinged on the ground a meter apart."""
    build = lw.Builder(f"{n}-four-bar", gravity=(0, -9.81, 0))
    turn, rod = lw.joints.Revolute("z"), lw.Inertia.rod(1.0, (0, 0, 0), (1, 0, 0), THIN)
    for k in range(n + 1):
        build.body(f"rocker{k}", rod)
        build.joint(f"pivot{k}", turn, "world", f"rocker{k}", at=(k, 0, 0))
    for k in range(n):
        build.body(f"coupler{k}", rod)
        build.joint(f"hinge{k}", turn, f"rocker{k}", f"coupler{k}", at=(1, 0, 0))
        build.joint(f"loop{k}", turn, f"coupler{k}", f"rocker{k + 1}", at=(1, 0, 0), child_at=(1, 0, 0), cut=True)
    return build.build()


def n_four_bar_state(n: int, angle: float, speed: float) -> tuple[np.ndarray, np.ndarray]:
    """The state of `n_four_bar` in which all rockers stand at one angle and couplers are level."""
    robot = n_four_bar(n)
    q, v = np.zeros(robot.nq), np.zeros(robot.nv)
    for k in range(n + 1):
        q[robot.q_index(f"pivot{k}")], v[robot.v_index(f"pivot{k}")] = angle, speed
    for k in range(n):
        q[robot.q_index(f"hinge{k}")], v[robot.v_index(f"hinge{k}")] = -angle, -speed
    return q, v


def bricard() -> Mechanism:
    """Bricard's closed chain (IFToMM A04): five rods of 1 m and 1 kg between six hinges, edges of a cube."""
    build = lw.Builder("bricard", gravity=(0, -9.81, 0))
    points = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], dtype=float)
    axes = ("z", "y", "x", "z", "y", "x")
    names = ["world", *(f"rod{k}" for k in range(5))]
    for k in range(5):
        build.body(names[k + 1], lw.Inertia.rod(1.0, (0, 0, 0), points[k + 1] - points[k], THIN))
    for k in range(6):
        parent, child = names[k], names[(k + 1) % 6]
        at = points[k] if parent == "world" else points[k] - points[k - 1]
        child_at = points[5] if child == "world" else (0, 0, 0)
        build.joint(f"hinge{k}", lw.joints.Revolute(axes[k]), parent, child, at=at, child_at=child_at, cut=k == 5)
    return build.build()


def governor() -> tuple[Mechanism, np.ndarray, np.ndarray]:
    """The stiff flyball governor (IFToMM A05) and its initial state: springs with dampers in place of the lower rods.

    Shaft and rods are 1 m by 1 cm by 1 cm, the slider is a cube of 0.1 m, all of 3000 kg/m³; a point mass of 5 kg is on
    the end of each rod. Rods start 30° below the horizontal, the shaft turns at 2 pi rad/s.
    """
    build, rod = lw.Builder("governor"), (1.0, 0.01, 0.01)
    build.body("shaft", lw.Inertia.box(0.3, rod[::-1], (0, 0, 0.5)))
    build.joint("spin", lw.joints.Revolute("z"), "world", "shaft")
    build.body("slider", lw.Inertia.box(3.0, (0.1, 0.1, 0.1)))
    build.joint("slide", lw.joints.Prismatic("z"), "shaft", "slider")
    springs = []
    for name, side in (("right", 1), ("left", -1)):
        ball = lw.Inertia(5.0, (side, 0, 0), np.zeros((3, 3)))
        build.body(name, lw.Inertia.box(0.3, rod, (side / 2, 0, 0)) + ball)
        build.joint(name, lw.joints.Revolute((0, side, 0)), "shaft", name, at=(0.05 * side, 0, 1))
        ends = ("slider", (0.05 * side, 0, 0)), (name, (side / 2, 0, 0))
        springs.append(lw.SpringDamper(*ends, 8e5, 4e4, free_length=0.5, name=f"{name}_spring"))
    robot = build.build().with_forces(*springs)
    q, v = np.zeros(robot.nq), np.zeros(robot.nv)
    q[robot.q_index("slide")], v[robot.v_index("spin")] = 0.5, 2 * np.pi
    q[robot.q_index("right")] = q[robot.q_index("left")] = np.pi / 6
    return robot, q, v


def governor_equations() -> tuple[Callable[[float, np.ndarray], list[float]], list[float]]:
    """Lagrange's equations of `governor` and their start: rates of spin, slide, angle a, slide', a', by symmetry.

    The moment of inertia J(a) about the shaft gives the speed, ``w = h / J(a)``, by the angular momentum h.
    """
    m, ball, slider, half, k, c = 0.3, 5.0, 3.0, 0.05, 8e5, 4e4
    along, across = m / 12 * 2e-4, m / 12 * 1.0001
    hinge = across + m / 4 + ball  # of a rod with its point mass, about its hinge

    def inertia(a: float) -> tuple[float, float]:
        """J(a), and half of its derivative by a."""
        cos, sin = np.cos(a), np.sin(a)
        rod = across * cos**2 + along * sin**2 + m * (half + cos / 2) ** 2 + ball * (half + cos) ** 2
        slope = (across - along) * cos * sin + m * (half + cos / 2) * sin / 2 + ball * (half + cos) * sin
        return along + slider * 0.02 / 12 + 2 * rod, -2 * slope

    start = [0.0, 0.5, np.pi / 6, 0.0, 0.0]
    momentum = inertia(start[2])[0] * 2 * np.pi

    def rates(t: float, y: np.ndarray) -> list[float]:
        _, slide, a, slide_rate, rate = y
        J, slope = inertia(a)
        speed = momentum / J
        x, z = np.cos(a) / 2, 1 - np.sin(a) / 2 - slide  # the spring, from the slider to the middle of the rod
        xa, za, length = -np.sin(a) / 2, -np.cos(a) / 2, np.hypot(x, z)
        tension = k * (length - 0.5) + c * (x * xa * rate + z * (za * rate - slide_rate)) / length
        pull = (m / 2 + ball) * 9.81 * np.cos(a) + slope / 2 * speed**2 - tension * (x * xa + z * za) / length
        return [speed, slide_rate, rate, 2 * tension * z / length / slider - 9.81, pull / hinge]

    return rates, start


def scissor_lift(bar: float) -> tuple[lw.Mechanism, np.ndarray]:
    """A table of 100 kg on three pairs of crossed bars of a mass, and an assembled configuration."""
    build, hinge, count, tilt = lw.Builder("lift", gravity=(0, -9.81, 0)), lw.joints.Revolute("z"), 3, 0.5
    build.body("slider", lw.Inertia.box(bar, (0.1, 0.1, 0.1)))
    for name in [f"{side}{k}" for k in range(count) for side in "ab"]:
        build.body(name, lw.Inertia.rod(bar, (0, 0, 0), (1, 0, 0)))
    build.joint("a0", hinge, "world", "a0").joint("slide", lw.joints.Prismatic("x"), "world", "slider")
    build.joint("b0", hinge, "slider", "b0")
    guess = {"a0": tilt, "slide": np.cos(tilt), "b0": np.pi - tilt, "top": tilt - np.pi}
    for k in range(count):
        build.joint(f"pin{k}", hinge, f"a{k}", f"b{k}", at=(0.5, 0, 0), child_at=(0.5, 0, 0), cut=True)
    for k in range(1, count):
        build.joint(f"a{k}", hinge, f"b{k - 1}", f"a{k}", at=(1, 0, 0))
        build.joint(f"b{k}", hinge, f"a{k - 1}", f"b{k}", at=(1, 0, 0))
        guess |= {f"a{k}": 2 * tilt - np.pi, f"b{k}": np.pi - 2 * tilt}
    build.body("table", lw.Inertia.box(100.0, (1, 0.1, 0.5))).joint("top", hinge, "b2", "table", at=(1, 0, 0))
    build.constrain(lw.constraints.PointOnLine("table", "a2", axis="x", second_at=(1, 0, 0), name="roller"))
    robot = build.build()
    return robot, robot.assemble(guess, fixed=["a0"])
