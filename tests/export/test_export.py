# SPDX-License-Identifier: BSD-3-Clause
"""Programs as C: compiled without a warning, and equal to the evaluators that they were written from."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.compilers.trace import parts
from linkwork.export import CProgram
from linkwork.export.writing import identifier
from linkwork.simulation import Stepper
from tests.support import printed, robots
from tests.support.states import assert_close, random_state

COMPILER = shutil.which("cc")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler")
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-ffp-contract=off"]
RELATIVE = 1e-12

Call = Callable[..., list[Any]]


def built(program: CProgram, *flags: str) -> Call:
    """The function of a program, compiled and loaded: ``call(*inputs)`` gives its outputs."""
    library = program.source.with_suffix(".so")
    command = [
        str(COMPILER),
        *STRICT,
        *(flags or ("-O1",)),
        "-shared",
        "-fPIC",
        str(program.source),
        "-o",
        str(library),
    ]
    done = subprocess.run([*command, "-lm"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    function = getattr(ctypes.CDLL(str(library)), program.name)

    def call(*inputs: Any) -> list[Any]:
        given = [np.ascontiguousarray(x, dtype=program.dtype).ravel() for x in inputs]
        assert [x.size for x in given] == list(program.inputs.values())
        found = [np.full(size, np.nan, dtype=program.dtype) for size in program.outputs.values()]
        function(*(ctypes.c_void_p(x.ctypes.data) for x in (*given, *found)))
        return found

    return call


def closed_state(robot: lw.Mechanism, seed: int = 3) -> tuple[Any, Any, Any]:
    """Closed loops, velocities that keep them closed, torques."""
    rng = np.random.default_rng(seed)
    q = robot.assemble(robot.integrate(robot.neutral(), 0.2 * rng.normal(size=robot.nv)))
    J = lw.constraint_jacobian(robot, q)
    v = rng.normal(size=robot.nv)
    return q, v - np.linalg.pinv(J, rcond=1e-9) @ (J @ v), rng.normal(size=robot.nv)


def assert_same_solution(found: list[Any], wanted: lw.results.Solution) -> None:
    assert_close(found[0], wanted.acceleration, RELATIVE)
    if wanted.multipliers is not None:
        nc = len(wanted.multipliers)
        assert found[1][1] == wanted.iterations
        assert_close(found[1][2 : 2 + nc], wanted.multipliers, 1e-9)  # of redundant rows: the smallest, to iterations
        assert_close(found[1][2 + nc : 2 + 2 * nc], wanted.residuals, RELATIVE, scale=np.abs(wanted.acceleration).max())


# Trees ---------------------------------------------------------------------------------------------------

TREE = {
    "forward_dynamics": ("q", "v", "tau"),
    "inverse_dynamics": ("q", "v", "a"),
    "mass_matrix": ("q",),
    "inverse_mass_product": ("q", "tau"),
    "bias_forces": ("q", "v"),
    "gravity_forces": ("q",),
    "center_of_mass": ("q",),
    "centroidal_momentum": ("q", "v"),
    "energy": ("q", "v"),
}


@needs_compiler
@pytest.mark.parametrize("quantity", TREE)
def test_quantities_of_a_tree(tmp_path: Path, quantity: str) -> None:
    robot = zoo.humanoid()
    evaluator = lw.Evaluator(robot, quantity)
    state = random_state(robot, 1)
    inputs = [getattr(state, name) for name in TREE[quantity]]
    wanted = evaluator(*inputs)
    call = built(lw.export.export_c(evaluator, tmp_path / "tree.c"))
    for found, expected in zip(call(*inputs), wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        assert_close(found.reshape(expected.shape), expected, RELATIVE)


@needs_compiler
def test_frames_and_wrenches(tmp_path: Path) -> None:
    robot = zoo.humanoid()
    frames = robot.body_names[2:4]
    state = random_state(robot, 2)
    wrenches = np.random.default_rng(0).normal(size=(2, 6))
    fd = lw.ForwardDynamics(robot, wrenches=frames)
    pushed = lw.export.export_c(fd, tmp_path / "pushed.c")
    assert pushed.inputs == {"q": robot.nq, "v": robot.nv, "tau": robot.nv, "wrenches": 12}
    found = built(pushed)(state.q, state.v, state.tau, wrenches)
    assert_close(found[0], fd(state.q, state.v, state.tau, wrenches).acceleration, RELATIVE)
    jacobian = lw.Evaluator(robot, "frame_jacobian", frames, "world")
    (found_J,) = built(lw.export.export_c(jacobian, tmp_path / "jacobian.c"))(state.q)
    assert_close(found_J.reshape(2, 6, robot.nv), jacobian(state.q), RELATIVE)


@needs_compiler
def test_every_kind_of_joint(tmp_path: Path) -> None:
    robot = zoo.random_tree(5, bodies=20)
    assert len({type(joint.type) for joint in robot.joints}) == 7
    state = random_state(robot, 5)
    fd = lw.ForwardDynamics(robot)
    found = built(lw.export.export_c(fd, tmp_path / "joints.c"))(state.q, state.v, state.tau)
    assert_close(found[0], fd(state.q, state.v, state.tau).acceleration, RELATIVE)


@needs_compiler
def test_single_precision(tmp_path: Path) -> None:
    robot = zoo.humanoid()
    state = random_state(robot, 4)
    program = lw.export.export_c(lw.InverseDynamics(robot), tmp_path / "single.c", dtype="float32")
    text = program.source.read_text()
    assert (
        "double" not in text and re.search(r"= sinf\(", text) and not re.search(r"\d\.\d+(e[-+]\d+)?(?![\de.f])", text)
    )
    (found,) = built(program, "-O1", "-Wdouble-promotion")(state.q, state.v, state.a)
    assert_close(found, lw.InverseDynamics(robot)(state.q, state.v, state.a), 1e-4)


# Loops ---------------------------------------------------------------------------------------------------


@needs_compiler
@pytest.mark.parametrize("method", ["auto", "lcaba", "prox_bbo", "prox_pv", "prox_ltl", "cluster", "projection"])
def test_a_four_bar_with_redundant_rows(tmp_path: Path, method: str) -> None:
    robot = zoo.four_bar()
    fd = lw.ForwardDynamics(robot, method)
    program = lw.export.export_c(fd, tmp_path / "four_bar.c")
    call = built(program)
    for seed in range(3):
        state = closed_state(robot, seed)
        assert_same_solution(call(*state), fd(*state))
    assert list(program.inputs) == ["q", "v", "tau"] and list(program.outputs) == ["a", "result"]


@needs_compiler
def test_a_stretched_arm_by_early_elimination(tmp_path: Path) -> None:
    """The second text of a method that falls back to one is in the program: a stretched arm needs it."""
    robot = zoo.held_chain(7)
    fd = lw.ForwardDynamics(robot, "pv_early")
    call = built(lw.export.export_c(fd, tmp_path / "arm.c"))
    v, tau = np.zeros(robot.nv), np.arange(1.0, 8.0)
    counts = []
    for q in (robot.poses["assembled"], robot.neutral()):
        wanted = fd(q, v, tau)
        assert_same_solution(call(q, v, tau), wanted)
        counts.append(wanted.iterations)
    assert counts[0] == 1 and counts[1] > 1


@needs_compiler
def test_cassie(tmp_path: Path) -> None:
    path = robots.model_file("cassie/cassie_nomesh.xml")
    robot = lw.load(path)
    fd = lw.ForwardDynamics(robot)
    call = built(lw.export.export_c(fd, tmp_path / "cassie.c"))
    state = closed_state(robot)
    assert_same_solution(call(*state), fd(*state))
    assert fd(*state).iterations > 1


@needs_compiler
def test_settings_can_be_arguments(tmp_path: Path) -> None:
    """Starting forces, targets, damping and the number of iterations, given from outside."""
    robot = zoo.stewart()
    fd = lw.ForwardDynamics(robot, "lcaba", max_iterations=8)
    names = ["regularization", "target", "multipliers", "settings"]
    program = lw.export.export_c(fd, tmp_path / "stewart.c", arguments=names)
    assert list(program.inputs) == ["q", "v", "tau", *names]
    q, v, tau = closed_state(robot)
    rng = np.random.default_rng(1)
    damping, target, start = np.full(robot.nc, 1e-4), rng.normal(size=robot.nc), rng.normal(size=robot.nc)
    wanted = fd(q, v, tau, regularization=damping, target=target, multipliers=start)
    found = built(program)(q, v, tau, damping, target, start, fd.settings)
    assert found[1][1] == wanted.iterations > 1
    assert_close(found[0], wanted.acceleration, RELATIVE)
    free = lw.export.export_c(fd, tmp_path / "less.c")
    assert free.operations.total < program.operations.total


@needs_compiler
def test_a_step_in_time(tmp_path: Path) -> None:
    robot = zoo.four_bar()
    q, v, tau = closed_state(robot)
    stepper = Stepper(robot, 1e-2, "rk4")
    found = built(lw.export.export_c(stepper, tmp_path / "step.c"))(q, v, tau)
    wanted = stepper(q, v, tau)
    assert_close(found[0], wanted.q, RELATIVE)
    assert_close(found[1], wanted.v, RELATIVE)
    many = lw.export.export_c(stepper, tmp_path / "steps.c", arguments=["settings"])
    found = built(many)(q, v, tau, [0.0, 11.0])
    assert_close(found[0], stepper(q, v, tau, steps=10).q, 1e-10)


@needs_compiler
def test_gradients_and_jacobians(tmp_path: Path) -> None:
    robot = zoo.four_bar()
    q, v, tau = closed_state(robot)
    y, seeds = np.ones(robot.nv), np.zeros(robot.nc)
    fd, stepper = lw.ForwardDynamics(robot, "cluster"), Stepper(robot, 1e-2, "rk4")
    program = lw.export.export_c(fd.vjp, tmp_path / "gradient.c")
    assert list(program.outputs) == ["by_q", "by_v", "by_tau"]
    for found, wanted in zip(built(program)(q, v, tau, y, seeds), fd.vjp(q, v, tau, y), strict=True):
        assert_close(found, wanted, RELATIVE)
    rates = built(lw.export.export_c(stepper.jvp, tmp_path / "rates.c"))(q, v, tau, y, y, y)
    for found, wanted in zip(rates, stepper.jvp(q, v, tau, y, y, y), strict=True):
        assert_close(found, wanted, 1e-10)
    jacobians = built(lw.export.export_c(fd.derivatives, tmp_path / "jacobians.c"))(q, v, tau)
    assert_close(jacobians[0], fd.derivatives(q, v, tau).da_dq.ravel(), 1e-10)


@needs_compiler
def test_a_step_of_servos_and_their_torques(tmp_path: Path) -> None:
    build = lw.Builder("servo")
    build.body("arm", lw.Inertia.rod(1.0, (0, 0, 0), (0.5, 0, 0)), gravity_compensation=0.5)
    build.joint("joint", lw.joints.Revolute("y"), "world", "arm")
    build.actuator("servo", "joint", gain=(30, 0, 0), bias=(0, -30, -2), force_limits=(-9, 9))
    robot = build.build()
    q, v, tau = np.array([0.3]), np.array([-0.2]), np.array([0.1])
    stepper = Stepper(robot, wrenches=["arm"])
    push = np.arange(6.0).reshape(1, 6)
    for arguments, u in (([], None), (["commands"], np.array([0.4]))):
        program = lw.export.export_c(stepper, tmp_path / f"step{len(arguments)}.c", arguments=arguments)
        assert list(program.inputs) == ["q", "v", "tau", *arguments, "wrenches"]
        found = built(program)(q, v, tau, *(() if u is None else (u,)), push)
        wanted = stepper(q, v, tau, commands=u, wrenches=push)
        assert_close(found[0], wanted.q, RELATIVE)
        assert_close(found[1], wanted.v, RELATIVE)
    torques = built(lw.export.export_c(lw.Evaluator(robot, "actuator_torques"), tmp_path / "torques.c"))
    assert_close(torques(q, v, [0.4])[0], lw.actuators.actuator_torques(robot, q, v, [0.4]), RELATIVE)


@needs_compiler
def test_an_impact_and_the_inverse_with_loops(tmp_path: Path) -> None:
    robot = zoo.four_bar()
    q, v, a = closed_state(robot)
    impact = lw.ImpactDynamics(robot)
    v = v + 1.0
    found = built(lw.export.export_c(impact, tmp_path / "impact.c"))(q, v, np.zeros(robot.nc))
    assert_close(found[0], impact(q, v).velocity, RELATIVE)
    for method in ("cluster", "least"):
        inverse = lw.InverseDynamics(robot, method)
        found = built(lw.export.export_c(inverse, tmp_path / f"{method}.c"))(q, v, a)
        assert_close(found[0], inverse(q, v, a), RELATIVE)


@needs_compiler
def test_an_assembly_and_projected_velocities(tmp_path: Path) -> None:
    robot = zoo.four_bar()
    q, v, _ = closed_state(robot)
    assembly, projection = lw.loops.Assembly(robot, fixed=["A"]), lw.loops.VelocityProjection(robot)
    closed, search = built(lw.export.export_c(assembly, tmp_path / "assembly.c"))(q + 0.01)
    assert_close(closed, assembly(q + 0.01), RELATIVE)
    assert search[2] <= 1e-13
    allowed, uncertain = built(lw.export.export_c(projection, tmp_path / "projection.c"))(q, v + 1.0)
    assert_close(allowed, projection(q, v + 1.0), RELATIVE)
    assert uncertain == 0.0


# Parts ---------------------------------------------------------------------------------------------------


@needs_compiler
@pytest.mark.parametrize("length", [1, 7, 40])
def test_where_a_program_is_cut_makes_no_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    robot = zoo.four_bar()
    fd = lw.ForwardDynamics(robot, "lcaba")
    monkeypatch.setattr(parts, "LENGTH", length)
    call = built(lw.export.export_c(fd, tmp_path / "short.c"))
    state = closed_state(robot)
    assert_same_solution(call(*state), fd(*state))


def test_memory_between_parts_is_used_again(tmp_path: Path) -> None:
    """A chain needs little memory at a time however long it is."""
    short, long = (
        lw.export.export_c(lw.InverseDynamics(zoo.serial_chain(n)), tmp_path / f"chain{n}.c").stack for n in (40, 80)
    )
    assert long < 3 * short


PAGE = robots.REPOSITORY / "docs" / "how-to" / "export.md"


def test_the_page_about_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python prints what comments say; C names macros that the header has, and compiles and prints the same."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    results = [result for block in printed.blocks(PAGE) for result in printed.run(block, names)]
    claimed = [result for result in results if result.claimed]
    assert len(claimed) >= 6
    for result in claimed:
        assert result.true, f"{result.statement}\nprints {result.found!r}\nclaims {result.claimed!r}"
    page = PAGE.read_text(encoding="utf-8")
    macros = set(re.findall(r"FOUR_BAR_FD_\w+", page))
    assert macros and all(f"#define {macro} " in Path("four_bar_fd.h").read_text() for macro in macros)
    if COMPILER is None:
        pytest.skip("no C compiler")
    (main,) = (text for text in re.findall(r"```c\n(.*?)```", page, re.DOTALL) if "int main" in text)
    (command, output) = re.findall(r"^gcc (.*) && ./arm  # (.*)$", page, re.MULTILINE)[0]
    Path("main.c").write_text(main)
    subprocess.run([COMPILER, *command.split()], check=True)
    assert subprocess.run(["./arm"], capture_output=True, text=True, check=True).stdout.strip() == output


# Text ----------------------------------------------------------------------------------------------------


def test_the_header_says_what_there_is_to_know(tmp_path: Path) -> None:
    robot = zoo.four_bar()
    fd = lw.ForwardDynamics(robot, "prox_bbo")
    program = lw.export.export_c(fd, tmp_path / "bars.c", name="Bars")
    text = program.header.read_text()
    assert program.name == "Bars" and "void Bars(const double q[BARS_Q_SIZE]" in text
    assert f"forward dynamics of '{robot.name}', by prox_bbo" in text
    for joint in robot.joints:
        assert re.search(rf"^ \*   {joint.name} +revolute +\d +\d$", text, re.MULTILINE)
    for size, value in (("NQ", robot.nq), ("NV", robot.nv), ("NC", robot.nc), ("RESULT_SIZE", 4 + 2 * robot.nc)):
        assert f"#define BARS_{size} {value}\n" in text
    assert f"{program.operations.total} operations" in text
    assert f"each further iteration {program.operations.iteration}" in text
    assert program.operations.total <= fd.operation_count().total
    assert "malloc" not in program.source.read_text()
    assert re.findall(r"#include (.*)", program.source.read_text()) == ['"bars.h"', "<math.h>"]


@needs_compiler
def test_the_header_is_for_cplusplus_too(tmp_path: Path) -> None:
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    program = lw.export.export_c(lw.InverseDynamics(zoo.pendulum()), tmp_path / "swing.c")
    (tmp_path / "main.cpp").write_text(
        f'#include "{program.header.name}"\n'
        "int main() { double q[1] = {0.5}, v[1] = {0}, a[1] = {0}, tau[1]; swing(q, v, a, tau); "
        "return tau[0] == 0.0; }\n"
    )
    objects = ["-c", str(program.source), "-o", str(tmp_path / "swing.o")]
    subprocess.run([str(COMPILER), *STRICT, *objects], check=True)
    made = [str(tmp_path / "main.cpp"), str(tmp_path / "swing.o"), "-lm", "-o", str(tmp_path / "main")]
    subprocess.run([compiler, "-std=c++11", "-Wall", "-Werror", *made], check=True)
    assert subprocess.run([str(tmp_path / "main")]).returncode == 0


@needs_compiler
def test_names_in_comments_do_no_harm(tmp_path: Path) -> None:
    b = lw.Builder("*/ ??/ Größe\nmalloc() /*")
    b.body("a", lw.Inertia(1.0, (0.0, 0.1, 0.0), np.eye(3)))
    b.joint("*/ #error", lw.joints.Revolute("x"), "world", "a")
    built(lw.export.export_c(lw.InverseDynamics(b.build()), tmp_path / "odd.c"))


@pytest.mark.parametrize(
    ("text", "made"), [("Cassie v3.1", "cassie_v3_1"), ("2f85", "m_2f85"), ("", "model"), ("for", "m_for")]
)
def test_names_of_functions(text: str, made: str) -> None:
    assert identifier(text) == made


def test_what_cannot_be_exported_says_why(tmp_path: Path) -> None:
    tree, loop = zoo.serial_chain(4), zoo.four_bar()
    to = tmp_path / "x.c"
    with pytest.raises(lw.errors.InputError, match="needs an evaluator, such as ForwardDynamics"):
        lw.export.export_c(tree, to)  # type: ignore[arg-type]
    with pytest.raises(lw.errors.UnsupportedFeature, match="kkt"):
        lw.export.export_c(lw.ForwardDynamics(loop, "kkt"), to)
    with pytest.raises(lw.errors.UnsupportedFeature, match="vjp of forward_dynamics by a method that iterates"):
        lw.export.export_c(lw.ForwardDynamics(loop).vjp, to)
    with pytest.raises(lw.errors.UnsupportedFeature, match="export the jvp instead"):
        lw.export.export_c(lw.Stepper(tree).derivatives, to)
    with pytest.raises(lw.errors.InputError, match="float16"):
        lw.export.export_c(lw.ForwardDynamics(tree), to, dtype="float16")
    with pytest.raises(lw.errors.InputError, match=r"does not end in \.c"):
        lw.export.export_c(lw.ForwardDynamics(tree), tmp_path / "x.cpp")
    with pytest.raises(lw.errors.InputError, match="not a name of a C function; 'm_2_fast' is"):
        lw.export.export_c(lw.ForwardDynamics(tree), to, name="2 fast")
    with pytest.raises(lw.errors.InputError, match="all inputs as arguments"):
        lw.export.export_c(lw.ForwardDynamics(tree), to, arguments=["regularization"])
    with pytest.raises(lw.errors.InputError, match="no input 'q'"):
        lw.export.export_c(lw.ForwardDynamics(loop), to, arguments=["q"])
    with pytest.raises(lw.errors.ProgramTooLarge, match="100 operations"):
        lw.export.export_c(lw.ForwardDynamics(tree), to, max_operations=100)
    with pytest.raises(lw.errors.InputError, match="cannot write"):
        lw.export.export_c(lw.ForwardDynamics(tree), tmp_path / "none" / "x.c")
    assert not to.exists()


def test_what_is_too_large_says_what_makes_it_smaller(tmp_path: Path) -> None:
    with pytest.raises(lw.errors.UnsupportedFeature, match="with 1 contact pair are no straight-line program"):
        lw.export.export_c(Stepper(zoo.sliding_box()), tmp_path / "box.c")
    with pytest.raises(lw.errors.ProgramTooLarge, match=r"'humanoid' would .* raise max_operations"):
        lw.export.export_c(lw.ForwardDynamics(zoo.humanoid()), tmp_path / "fd.c", max_operations=50)
