# SPDX-License-Identifier: BSD-3-Clause
"""Steps with contacts as WebAssembly: kernels through LLVM and our linker, in Node, against native code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.compilers.wasm.kernel_code import OUTSIDE, kernel_object
from linkwork.compilers.wasm.object_file import link, read_object
from linkwork.errors import LinkworkError
from linkwork.export import export_wasm
from linkwork.model.contacts import ContactShape
from linkwork.model.shapes import Cylinder, Sphere
from linkwork.pages.contacts import contact_description
from linkwork.simulation import Stepper
from linkwork.viewer.posing import start_of
from tests.support.node import called, needs_node
from tests.support.robots import model_file
from tests.support.states import assert_close

GIVEN: dict[str, Any] = {"parameters": ("gravity", "mass")}
"""Inputs that pages have: so the tests share one object with them."""


def capsule() -> lw.Mechanism:
    """A capsule that floats above the ground."""
    build = lw.Builder("capsule")
    build.body("stick", lw.Inertia.rod(1.0, (0, 0, -0.2), (0, 0, 0.2)))
    build.joint("free", lw.joints.Free(), "world", "stick")
    return build.build().with_contacts(ContactShape("stick", "stick", Cylinder(0.05, 0.4, rounded=True)), friction=0.6)


def humanoid() -> lw.Mechanism:
    """A humanoid that falls on its hands and feet, which are balls."""
    robot = zoo.small_humanoid()
    ends = [body for body in robot.body_names if not any(joint.parent == body for joint in robot.joints)]
    return robot.with_contacts(*(ContactShape(body, body, Sphere(0.05)) for body in ends), friction=0.8)


def rubbing_arm() -> lw.Mechanism:
    """A pendulum of two links with dry friction and limits, which hold exactly, and no contact pairs."""
    arm = zoo.pendulum(2)
    limits = [replace(j.limits, lower=np.array([-0.7]), upper=np.array([2.0])) for j in arm.joints]
    joints = [replace(j, limits=x, friction=np.array([0.3])) for j, x in zip(arm.joints, limits, strict=True)]
    return replace(arm, joints=tuple(joints))


ROBOTS: dict[str, Callable[[], lw.Mechanism]] = {
    "sphere": zoo.bouncing_ball,
    "box": zoo.sliding_box,
    "capsule": capsule,
    "stack": lambda: zoo.boxes(3),
    "limits and friction": rubbing_arm,
    "humanoid": humanoid,
    "Cassie": lambda: zoo.cassie_on_ground(lw.load(model_file("cassie/cassie_nomesh.xml"))),
}


def thrown(robot: lw.Mechanism) -> dict[str, Any]:
    """A state from which contacts close and slide."""
    q = start_of(robot)[0].copy()
    v = np.zeros(robot.nv)
    if isinstance(robot.joints[0].type, lw.joints.Free):
        q[2] += 0.02
        v[:3] = (1.0, 0.3, -0.5)
        v[5] = 0.4
    else:
        v[:] = 3.0
    v = robot.project_velocity(q, v) if robot.nc else v
    return {"q": q, "v": v, "tau": np.zeros(robot.nv)}


@needs_node
@pytest.mark.parametrize("kind", ROBOTS)
def test_steps_with_contacts_are_those_of_native_code(tmp_path: Path, kind: str) -> None:
    """To rounding, which contacts amplify: a hundred steps of landing, sliding, coming to rest."""
    robot = ROBOTS[kind]()
    state = thrown(robot)
    stepper = Stepper(robot, contact=True, **GIVEN)
    assert stepper.contact
    program = export_wasm(stepper, tmp_path / "step")
    plain = Stepper(robot, contact=True)
    counts = (1, 20, 100)
    found = called(program.script, [("step", {**state, "settings": [0.0, 1.0 + n]}) for n in counts])
    for n, after in zip(counts, found, strict=True):
        wanted = plain(*state.values(), steps=n)
        assert after["progress"].tolist() == [1.0, 1.0 + n]
        assert_close(after["q1"], wanted.q, 1e-8)
        assert_close(after["v1"], wanted.v, 1e-6)
    assert wanted.contacts is None or wanted.contacts.missed == 0


@needs_node
def test_a_step_may_start_from_the_forces_of_the_one_before(tmp_path: Path) -> None:
    """One step a call, as pages make them: the places that `contact_description` names are those of native rows."""
    robot = zoo.boxes(2)
    stepper = Stepper(robot, **GIVEN)
    program = export_wasm(stepper, tmp_path / "step")
    told = contact_description(stepper)
    assert told is not None
    state, native = thrown(robot), Stepper(robot)
    row, q, v = None, state["q"], state["v"]
    for _ in range(40):
        after = native(q, v, contact_state=row)
        q, v, row = after.q, after.v, after.contact_state
    start = stepper.held(None, contacts=row, q=q)[3]
    (found,) = called(program.script, [("step", {"q": q, "v": v, "regularization": start})])
    wanted = native(q, v, contact_state=row)
    assert_close(found["v1"], wanted.v, 1e-9)
    following = stepper.held(None, contacts=wanted.contact_state, q=wanted.q)[3]
    copied = np.array(start)
    for first, to, n in [*told["copies"], *told["kind"]]:
        copied[to : to + n] = found["result"][first : first + n]
    assert_close(copied, following, 1e-9)


def test_the_linker_says_what_is_missing() -> None:
    found = kernel_object(Stepper(zoo.sliding_box(), **GIVEN).program.algorithm)
    assert set(found.imported) - {"sin", "cos"} <= set(OUTSIDE)
    with pytest.raises(LinkworkError, match=r"calls .*fma"):
        link(found, 0, 0, {})
    with pytest.raises(LinkworkError, match="not an object file"):
        read_object(b"ELF")
