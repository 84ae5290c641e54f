# SPDX-License-Identifier: BSD-3-Clause
"""Project Chrono's joint tests: models of MSC ADAMS (.adm) with one body, as mechanisms, and its printed results."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.mechanism import Mechanism

FOLDER = Path(os.environ.get("LINKWORK_VALIDATION", "../shared/validation")) / "adams"
CASES = {
    "Revolute_Case01": "revolute_joint",
    "Revolute_Case02": "revolute_joint",
    "Spherical_Case01": "spherical_joint",
    "Spherical_Case02": "spherical_joint",
    "Universal_Case01": "universal_joint",
    "Universal_Case02": "universal_joint",
    "Prismatic_Case01": "prismatic_joint",
    "Prismatic_Case02": "prismatic_joint",
    "Cylindrical_Case01": "cylindrical_joint",
    "Cylindrical_Case02": "cylindrical_joint",
    "Distance_Case01": "distance_constraint",
    "Distance_Case02": "distance_constraint",
}
"""Folders of results, by case: those whose model of ADAMS is there. The models of springs are not those of the results
of the same name."""


def printed(case: str, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Times and columns of a result."""
    table = np.loadtxt(FOLDER / CASES[case] / f"{case}_ADAMS_{what}.txt", skiprows=3)
    return table[:, 0], table[:, 1:]


def statements(case: str) -> dict[str, str]:
    """Statements of a model by their head, continuation lines joined."""
    text = (FOLDER / f"test_{case}.adm").read_text()
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("!")]
    joined = list[str]()
    for line in lines:
        if line.startswith(",") and joined:
            joined[-1] += line
        else:
            joined.append(line)
    heads = (re.match(r"(\w+)/\s*0*(\d*)", line) for line in joined)
    return {f"{m.group(1)}/{m.group(2)}": line for m, line in zip(heads, joined, strict=True) if m}


def _marker(statement: str) -> lw.Placement:
    """Where a marker is in the world at the start: QP, and Euler angles about z, x, z of the body."""

    def numbers(name: str) -> np.ndarray:
        found = re.search(rf"{name}\s*=\s*([-\d.eED]+)\s*,\s*([-\d.eED]+)\s*,\s*([-\d.eED]+)", statement)
        return np.zeros(3) if found is None else np.array([float(x.rstrip("D")) for x in found.groups()])

    a, b, c = np.radians(numbers("REULER"))
    turn = _about(2, a) @ _about(0, b) @ _about(2, c)
    return lw.Placement(numbers("QP"), turn)


def _about(axis: int, angle: float) -> np.ndarray:
    k, j = (axis + 1) % 3, (axis + 2) % 3
    R = np.eye(3)
    R[k, k] = R[j, j] = np.cos(angle)
    R[j, k] = np.sin(angle)
    R[k, j] = -R[j, k]
    return R


JOINTS: dict[str, Any] = {
    "REVOLUTE": lambda: lw.joints.Revolute("z"),
    "SPHERICAL": lw.joints.Spherical,
    "HOOKE": lambda: lw.joints.Universal("x", "y"),
    "TRANSLATIONAL": lambda: lw.joints.Prismatic("z"),
}


def model(case: str) -> tuple[Mechanism, np.ndarray]:
    """The mechanism of a case and where it starts; its body is ``"body"``, in the axes of its center of mass."""
    text = statements(case)
    moments = [float(x) for x in re.search(r"IP\s*=\s*([^,]+),([^,]+),([^,]+)", text["PART/2"]).groups()]  # type: ignore[union-attr]
    center = _marker(text["MARKER/201"])
    build = lw.Builder(case, gravity=(0, 0, -9.80665))
    joint = text.get("JOINT/1", "")
    kind = next((name for name in JOINTS if name in joint), "")
    second = _marker(text["MARKER/202"])
    if kind or "CYLINDRICAL" in joint:
        inner = second.inverse() * center
        build.body("body", lw.Inertia(1.0, (0, 0, 0), np.diag(moments)).moved(inner))
        if kind:
            build.joint("joint", JOINTS[kind](), "world", "body", at=second)
        else:  # a slider that turns on a slider
            build.body("slider", lw.Inertia.zero())
            build.joint("slide", lw.joints.Prismatic("z"), "world", "slider", at=second)
            build.joint("joint", lw.joints.Revolute("z"), "slider", "body")
        build.frame("center", "body", inner)
        robot = build.build(massless=True) if not kind else build.build()
        return robot, robot.neutral()
    build.body("body", lw.Inertia(1.0, (0, 0, 0), np.diag(moments)))
    build.joint("joint", lw.joints.Free(), "world", "body")
    build.frame("center", "body")
    robot = build.build()
    q = robot.neutral()
    q[:3] = center.position
    assert np.allclose(center.rotation, np.eye(3))
    end = (center.inverse() * second).position
    ground = _marker(text["MARKER/102"]).position
    return robot.constrained(
        lw.constraints.Rod("world", "body", first_at=ground, second_at=end, length=2.0, name="rod")
    ), q
