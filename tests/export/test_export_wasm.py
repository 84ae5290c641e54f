# SPDX-License-Identifier: BSD-3-Clause
"""WebAssembly in Node: equal to the evaluators that it was compiled from, to the bit where nothing is contracted."""

from __future__ import annotations

import json
import math
import operator
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.compilers.trace import parts
from linkwork.compilers.trace.replay import replay, signed
from linkwork.compilers.wasm import binary
from linkwork.compilers.wasm import module as wasm
from linkwork.compilers.wasm.sincos import fma_of_sums, sincos_trace
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.export import export_wasm, wasm_text
from linkwork.export.writing import held_values
from linkwork.kernels.scalar import fma
from linkwork.model.expressions import COS, DIV, SELECT, SIN, SQRT
from linkwork.simulation import Stepper
from linkwork.zoo import ASSEMBLED
from tests.support import robots
from tests.support.node import called, needs_node
from tests.support.states import assert_close, random_state

RELATIVE = 1e-12
"""Of the largest number: sums of a few thousand terms."""


def closed_state(robot: lw.Mechanism, seed: int = 3) -> dict[str, Any]:
    """Closed loops, velocities that keep them closed, torques."""
    rng = np.random.default_rng(seed)
    q = robot.assemble(robot.poses.get(ASSEMBLED, robot.neutral()))
    return {"q": q, "v": robot.project_velocity(q, rng.normal(size=robot.nv)), "tau": rng.normal(size=robot.nv)}


# Functions of a state --------------------------------------------------------------------------------------


@needs_node
def test_functions_of_a_tree_share_their_inputs(tmp_path: Path) -> None:
    robot = zoo.random_tree(5, bodies=12)
    state = random_state(robot, 1)
    frames = robot.body_names[2:4]
    evaluators = {
        "forward": lw.ForwardDynamics(robot),
        "inverse": lw.InverseDynamics(robot),
        "mass": lw.Evaluator(robot, "mass_matrix"),
        "energy": lw.Evaluator(robot, "energy"),
        "frames": lw.Evaluator(robot, "frame_placement", frames),
        "jacobian": lw.Evaluator(robot, "frame_jacobian", frames, "world"),
    }
    program = export_wasm(evaluators, tmp_path / "tree")
    assert set(program.inputs) == {"q", "v", "tau", "a"}
    calls = [("forward", {"q": state.q, "v": state.v, "tau": state.tau}), ("inverse", {"a": state.a})]
    found = called(program.script, [*calls, *((name, {}) for name in list(evaluators)[2:])])
    wanted: list[Any] = [
        evaluators["forward"](state.q, state.v, state.tau).acceleration,
        evaluators["inverse"](state.q, state.v, state.a),
        evaluators["mass"](state.q),
        evaluators["energy"](state.q, state.v),
        evaluators["frames"](state.q),
        evaluators["jacobian"](state.q),
    ]
    for arrays, expected in zip(found, wanted, strict=True):
        several = expected if isinstance(expected, tuple) else (expected,)
        for x, y in zip(arrays.values(), several, strict=False):
            assert_close(x, np.ravel(y), RELATIVE)


@needs_node
@pytest.mark.parametrize("method", ["lcaba", "prox_bbo", "cluster", "projection"])
def test_iterations_are_loops(tmp_path: Path, method: str) -> None:
    robot = zoo.four_bar()
    state = closed_state(robot)
    fd = lw.ForwardDynamics(robot, method)  # type: ignore[arg-type]
    (found,) = called(export_wasm(fd, tmp_path / "loops").script, [("loops", state)])
    wanted = fd(*state.values())
    assert_close(found["a"], wanted.acceleration, 1e-9)  # iterations end at this part of what forces do
    assert wanted.multipliers is not None
    assert found["result"][1] == wanted.iterations
    assert_close(found["result"][2 : 2 + robot.nc], wanted.multipliers, 1e-8)


@needs_node
def test_loops_are_assembled_and_velocities_projected(tmp_path: Path) -> None:
    robot = zoo.four_bar()
    evaluators = {"assemble": lw.loops.Assembly(robot, ["A"]), "project": lw.loops.VelocityProjection(robot)}
    program = export_wasm(evaluators, tmp_path / "closure")
    rough = robot.poses[ASSEMBLED] + np.array([0.2, 0.05, -0.05])
    (assembled,) = called(program.script, [("assemble", {"q": rough})])
    assert assembled["closed"][0] == rough[0]
    assert np.abs(lw.constraint_error(robot, assembled["closed"])).max() < 1e-12
    v = np.array([1.0, 0.0, 0.0])
    (projected,) = called(program.script, [("project", {"q": assembled["closed"], "v": v})])
    assert_close(projected["allowed"], robot.project_velocity(assembled["closed"], v), 1e-9)


@needs_node
@pytest.mark.parametrize("kind", ["jvp", "vjp"])
def test_products_with_derivatives(tmp_path: Path, kind: str) -> None:
    robot = zoo.pendulum(3)
    rng = np.random.default_rng(2)
    product = getattr(lw.ForwardDynamics(robot), kind)
    program = export_wasm(product, tmp_path / "product")
    given = {name: rng.normal(size=3) for name in program.inputs}
    (found,) = called(program.script, [("product", given)])
    wanted = product(*given.values())
    for x, y in zip(found.values(), wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        assert_close(x, y, RELATIVE)


# Steps -------------------------------------------------------------------------------------------------------

STEPS: dict[str, Callable[[], Stepper]] = {
    "tree": lambda: Stepper(zoo.humanoid(), contact=False),
    "rk4": lambda: Stepper(zoo.pendulum(3), 1e-2, "rk4"),
    "loops": lambda: Stepper(zoo.four_bar()),
    "loops rk4": lambda: Stepper(zoo.four_bar(), 1e-3, "rk4"),
    "minimal": lambda: Stepper(zoo.four_bar(), method="minimal"),
    "gravity": lambda: Stepper(zoo.four_bar(), parameters=["gravity"]),
}


@needs_node
@pytest.mark.parametrize("kind", STEPS)
def test_steps_follow_native_ones(tmp_path: Path, kind: str) -> None:
    """Rounding grows with the condition of the rows' matrix, 1e-8 of regularization where they are redundant."""
    stepper = STEPS[kind]()
    robot = stepper.source
    state = closed_state(robot)
    program = export_wasm(stepper, tmp_path / "step", arguments=["settings"])
    tree = not robot.constraints
    for steps, tolerance in ((1, 1e-12 if tree else 1e-9), (1000, 1e-7 if tree else 1e-6)):
        (found,) = called(program.script, [("step", {**state, "settings": [0.0, 1.0 + steps]})])
        wanted = stepper(*state.values(), steps=steps)
        assert_close(found["q1"], wanted.q, tolerance)
        assert found["progress"].tolist() == [1.0, 1.0 + steps]


@needs_node
@pytest.mark.parametrize("kind", ["loops", "loops rk4", "tree"])
def test_steps_have_a_clock(tmp_path: Path, kind: str) -> None:
    """A drive and a brake by functions of time: the number of the first step is an input."""
    robot = zoo.four_bar().constrained(lw.Drive("A", lambda t: 0.3 * np.sin(3 * t) + 2 * t))
    if kind == "tree":
        robot = zoo.pendulum(2).with_forces(lw.forces.Friction("joint0", coulomb=lambda t: 5 * t))
    stepper = Stepper(robot, 1e-3, "rk4" if "rk4" in kind else "euler")
    program = export_wasm(stepper, tmp_path / "clock", arguments=["settings"])
    state = closed_state(robot)
    timing = [stepper.dt, 0.0, 70.0]
    (found,) = called(program.script, [("clock", {**state, "timing": timing, "settings": [0.0, 41.0]})])
    wanted = stepper(*state.values(), steps=40, time=0.07)
    assert_close(found["q1"], wanted.q, 1e-9)
    assert np.abs(wanted.q - stepper(*state.values(), steps=40).q).max() > 1e-3


@needs_node
@pytest.mark.parametrize("kind", ["belt_chain", "geared_chain"])
def test_differences_are_rounding_that_penalties_amplify(tmp_path: Path, kind: str) -> None:
    """Against the same step in extended precision, native code and WebAssembly are off alike: by the reciprocal of the
    regularization of rows."""
    if np.finfo(np.longdouble).eps > 1e-18:
        pytest.skip("no numbers of extended precision here")
    robot = getattr(zoo, kind)(6)
    state = closed_state(robot)
    apart = []
    for regularization in (1e-8, 1e-4):
        stepper = Stepper(robot, regularization=regularization)
        exact = extended_step(stepper, state)
        (found,) = called(export_wasm(stepper, tmp_path / f"{regularization:g}", name="s").script, [("s", state)])
        others = (found["v1"], stepper(*state.values()).v, stepper.compile()(*state.values()).v)
        apart.append([float(np.abs(v - exact).max() / np.abs(exact).max()) for v in others])
    assert max(apart[0]) < 1e-7 and max(apart[1]) < 1e-11
    assert min(apart[0]) > 300 * max(apart[1])


def extended_step(stepper: Stepper, state: dict[str, Any]) -> Any:
    """Velocities after a step, computed with 64 bits in place of 53."""
    trace = stepper.planned.single("float64").trace()
    held = zip(("commands", "wrenches", "passive", "regularization", "timing"), stepper.held(None), strict=True)
    given = {name: np.ravel(x).astype(np.longdouble) for name, x in (*held, *state.items())}
    arrays = [given[name] for name, _ in trace.inputs]
    chosen = lambda below, bound, then, otherwise: then if below < bound else otherwise  # noqa: E731
    actions = {SIN: np.sin, COS: np.cos, SQRT: np.sqrt, DIV: operator.truediv, SELECT: chosen}
    values = replay(trace, lambda array, place: arrays[array][place], actions)
    return np.array([signed(values, symbol) for symbol in dict(trace.outputs)["v1"]])


BITS = """
import json, sys
import numpy as np
import linkwork as lw
from linkwork import zoo

robot = {"tree": zoo.humanoid, "loops": zoo.stewart}[sys.argv[1]]()
state = json.load(sys.stdin)
q, v, tau = (np.array(x) for x in state)
after = lw.Stepper(robot, contact=False).compile()(q, v, tau, steps=20)
print(json.dumps([after.q.tolist(), after.v.tolist()]))
"""


@needs_node
@pytest.mark.parametrize("kind", ["tree", "loops"])
def test_bits_are_those_of_native_code_without_contraction(tmp_path: Path, kind: str) -> None:
    """A processor without fused multiply-adds runs the same program, all of its inputs given."""
    robot = {"tree": zoo.humanoid, "loops": zoo.stewart}[kind]()
    state = closed_state(robot)
    given = json.dumps([x.tolist() for x in state.values()])
    done = subprocess.run(
        [sys.executable, "-c", BITS, kind],
        input=given,
        capture_output=True,
        text=True,
        env={**os.environ, "LINKWORK_CPU": "x86-64"},
    )
    assert done.returncode == 0, done.stderr
    stepper = Stepper(robot, contact=False)
    trace = stepper.exported_program.trace()
    module = wasm.wasm_module([wasm.WasmFunction("bits", trace, tuple(dict(trace.inputs)))], held_values(stepper, ()))
    (tmp_path / "bits.wasm").write_bytes(module.binary)
    (tmp_path / "bits.mjs").write_text(wasm_text.script("bits", module))
    (found,) = called(tmp_path / "bits.mjs", [("bits", {**state, "settings": [0.0, 21.0]})])
    q, v = json.loads(done.stdout)
    assert found["q1"].tolist() == q and found["v1"].tolist() == v


@needs_node
def test_where_a_program_is_cut_makes_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stepper = Stepper(zoo.stewart())
    state = closed_state(stepper.source)
    results = []
    for length in (37, 800, 10**6):
        monkeypatch.setattr(wasm, "PART_LENGTH", length)
        program = export_wasm(stepper, tmp_path / f"cut{length}", name="cut")
        results.append(called(program.script, [("cut", state)])[0])
    for other in results[1:]:
        assert all(np.array_equal(other[name], results[0][name]) for name in other)
    assert parts.LENGTH == 800


@needs_node
def test_cassie_is_small(tmp_path: Path) -> None:
    cassie = lw.load(robots.model_file("cassie/cassie_nomesh.xml"), contacts=False)
    program = export_wasm(Stepper(cassie, contact=False), tmp_path / "cassie")
    assert program.size < 250_000


# Scalars ------------------------------------------------------------------------------------------------------


def test_fused_multiply_adds_of_sums_are_exact() -> None:
    rng = np.random.default_rng(0)
    for a, b in rng.normal(size=(2000, 2)):
        for c in (rng.normal(), -a * b, 1e6 * rng.normal(), 1e-9 * rng.normal(), 0.0):
            assert fma_of_sums(float(a), float(b), float(c)) == fma(float(a), float(b), float(c))


@needs_node
def test_sine_and_cosine_are_good_for_large_angles(tmp_path: Path) -> None:
    trace = sincos_trace()
    function = wasm.WasmFunction("sincos", trace, ("x",))
    module = wasm.wasm_module([function])
    (tmp_path / "sincos.wasm").write_bytes(module.binary)
    rng = np.random.default_rng(1)
    angles = np.concatenate([[0.0, 0.5 * math.pi, math.pi], *(rng.normal(size=50) * 10.0**k for k in range(-9, 13))])
    script = f"""
    const instance = new WebAssembly.Instance(new WebAssembly.Module(require("fs").readFileSync("sincos.wasm")));
    const memory = new Float64Array(instance.exports.memory.buffer);
    console.log(JSON.stringify({angles.tolist()}.map((x) => {{
      memory[{module.inputs["x"][0]}] = x; instance.exports.sincos();
      return [memory[{module.outputs["sincos"]["result0"][0]}], memory[{module.outputs["sincos"]["result1"][0]}]];
    }})))"""
    done = subprocess.run(["node", "-e", script], capture_output=True, text=True, cwd=tmp_path)
    found = np.array(json.loads(done.stdout))
    assert np.abs(found - np.stack([np.sin(angles), np.cos(angles)], axis=1)).max() < 4e-16


@pytest.mark.parametrize("n", [0, 1, 63, 64, 127, 128, 300, 65535, 2**31])
def test_integers_are_those_of_the_format(n: int) -> None:
    def value(code: bytes, signed: bool) -> int:
        total = sum((byte & 127) << 7 * k for k, byte in enumerate(code))
        return total - (1 << 7 * len(code)) if signed and code[-1] & 64 else total

    assert value(binary.unsigned(n), False) == n
    assert value(binary.signed(n), True) == n and value(binary.signed(-n), True) == -n


# What is refused ----------------------------------------------------------------------------------------------


def test_refusals_say_what_to_do(tmp_path: Path) -> None:
    robot = zoo.four_bar()
    fd = lw.ForwardDynamics(robot)
    with pytest.raises(UnsupportedFeature, match="kkt"):
        export_wasm(lw.ForwardDynamics(robot, "kkt"), tmp_path / "x")
    with pytest.raises(InputError, match="takes an evaluator"):
        export_wasm(robot, tmp_path / "x")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no function has an input 'speed'"):
        export_wasm(fd, tmp_path / "x", arguments=["speed"])
    with pytest.raises(InputError, match="'memory'"):
        export_wasm({"memory": fd}, tmp_path / "x")
    with pytest.raises(InputError, match="different modules"):
        export_wasm({"a": fd, "b": lw.ForwardDynamics(zoo.pendulum(1))}, tmp_path / "x")
    with pytest.raises(lw.errors.ProgramTooLarge):
        export_wasm(fd, tmp_path / "x", max_operations=10)


def test_an_npm_package_is_written(tmp_path: Path) -> None:
    program = export_wasm(lw.ForwardDynamics(zoo.four_bar()), tmp_path / "Four bar")
    package = json.loads((program.folder / "package.json").read_text())
    assert package["name"] == program.name == "four_bar"
    assert all((program.folder / file).is_file() for file in package["files"])
    types = (program.folder / package["types"]).read_text()
    assert "readonly tau: Float64Array" in types and "four_bar(inputs?" in types
    assert "rows" in (program.folder / "README.md").read_text()


@needs_node
def test_the_script_checks_lengths_and_names(tmp_path: Path) -> None:
    program = export_wasm(lw.ForwardDynamics(zoo.four_bar()), tmp_path / "bars")
    with pytest.raises(AssertionError, match="q has 2 numbers, needs 3"):
        called(program.script, [("bars", {"q": [0.0, 0.0]})])
    with pytest.raises(AssertionError, match="no input 'qq'"):
        called(program.script, [("bars", {"qq": [0.0]})])
