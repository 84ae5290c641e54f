# SPDX-License-Identifier: BSD-3-Clause
"""Straight-line programs of steps with contacts: the same motion as native code, in batches, restarted, controlled."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.compilers.trace.tracing import Trace, trace
from linkwork.kernels.scalar import kernel
from linkwork.model.expressions import ADD, CONST, COS, DIV, FMA, INPUT, MUL, NEG, RINT, SELECT, SIN, SQRT, SUB
from tests.support import contact_pairs, contact_scenes
from tests.support.states import assert_close

Q = np.ndarray[Any, Any]


def thrown(scene: lw.Mechanism, count: int, speed: float = 0.5, seed: int = 0) -> tuple[Q, Q]:
    """States about the assembled one, at different velocities; the first is at rest."""
    rng = np.random.default_rng(seed)
    v = speed * rng.normal(size=(count, scene.nv))
    v[0] = 0.0
    return np.tile(scene.poses[zoo.ASSEMBLED], (count, 1)), v


def assert_same_steps(one: Any, other: Any, tolerance: float = 1e-9) -> None:
    """States and all that is kept of contacts agree."""
    assert_close(one.q, other.q, tolerance, scale=1.0)
    assert_close(one.v, other.v, tolerance, scale=1.0)
    np.testing.assert_array_equal(one.steps, other.steps)
    a, b = one.contacts, other.contacts
    assert_close(a.forces, b.forces, 1e-5, scale=1.0 + np.abs(a.forces).max())
    np.testing.assert_array_equal(a.missed, b.missed)
    for name, energy in a.dissipated.items():
        assert_close(energy, b.dissipated[name], 1e-8, scale=1.0)


# Programs -----------------------------------------------------------------------------------------------------------


def run_trace(program: Trace, arrays: list[Q]) -> list[Q]:
    """Outputs of a straight-line program, node by node."""
    values: dict[int, float] = {}
    binary = {ADD: np.add, SUB: np.subtract, MUL: np.multiply, DIV: np.divide}
    unary = {SQRT: np.sqrt, SIN: np.sin, COS: np.cos, RINT: np.rint, NEG: np.negative}
    for i in program.needed():
        op, *parts = program.graph.nodes[i]
        if op is INPUT:
            values[i] = arrays[parts[0]].ravel()[parts[1]]
        elif op is CONST:
            values[i] = np.float64(parts[0])
        elif op is SELECT:
            below, bound, then, otherwise = (values[k] for k in parts)
            values[i] = then if below < bound else otherwise
        elif op is FMA:
            values[i] = values[parts[0]] * values[parts[1]] + values[parts[2]]
        else:
            values[i] = (binary.get(op) or unary[op])(*(values[k] for k in parts))
    return [np.array([-values[s.i] if s.minus else values[s.i] for s in symbols]) for symbols in program.results]


@pytest.mark.parametrize("kinds", contact_pairs.PAIRS, ids="-".join)
def test_the_program_of_a_step_is_its_text_for_every_pair(kinds: tuple[str, str]) -> None:
    rng = np.random.default_rng(3)
    scene = contact_pairs.pair_scene([tuple(contact_pairs.KINDS[kind](rng) for kind in kinds)])
    q, v = contact_pairs.random_poses(rng, 1, (0.2,))[0], rng.normal(size=12)
    step = lw.contact.ContactStep(scene, max_iterations=3).by_slots
    plain = step.plain()
    runner, arrays = plain.runner, [np.asarray(x, float) for x in plain.input_arrays([q, v])]
    expected = [np.empty(shape) for shape in runner.outputs]
    runner.run(arrays, expected, 1)
    traced = trace(step.traced_program.algorithm, step.traced_program.tree)
    with np.errstate(all="ignore"):
        *found, carry = run_trace(traced, arrays)
        while found[-1][0] > arrays[-1][0] and found[-1][1] < arrays[-1][1]:
            assert traced.iterate is not None
            found = run_trace(traced.iterate, [*arrays, *found, carry])[:-1]
    assert found[-1][1] == expected[-1][1]
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-7 * max(1.0, np.abs(y).max()))


SCENES = {
    "box": (lambda: zoo.sliding_box(friction=0.4), 0.5),
    "pinched capsule": (zoo.pinched_capsule, 0.01),
    "hopper": (zoo.hopper, 0.3),
}
"""A scene, and how fast it is thrown: face on ground; two pads on a capsule; a leg with loops and limits."""


@pytest.mark.parametrize("name", SCENES)
def test_compiled_steps_are_native_ones(name: str) -> None:
    make, speed = SCENES[name]
    scene = make()
    q, v = thrown(scene, 11, speed)
    native = lw.Stepper(scene).by_slots
    compiled = native.compile()
    assert_same_steps(compiled(q, v, steps=20), native(q, v, steps=20), 1e-7)
    assert_same_steps(compiled(q[3], v[3], steps=2), native(q[3], v[3], steps=2), 1e-8)


@pytest.fixture(scope="module")
def box() -> tuple[lw.Mechanism, lw.Stepper, lw.Stepper]:
    """A box on the ground; native and compiled steps."""
    scene = zoo.sliding_box(friction=0.4)
    native = lw.Stepper(scene).by_slots
    return scene, native, native.compile()


Box = tuple[lw.Mechanism, lw.Stepper, lw.Stepper]


def test_a_result_does_not_depend_on_its_neighbors(box: Box) -> None:
    """States that go on are gathered anew, in groups: any order, to the last bit."""
    scene, _, compiled = box
    q, v = thrown(scene, 4500)
    order = np.random.default_rng(1).permutation(4500)
    one, other = compiled(q, v, steps=2), compiled(q[order], v[order], steps=2)
    np.testing.assert_array_equal(one.v[order], other.v)
    assert one.contact_state is not None and other.contact_state is not None
    np.testing.assert_array_equal(one.contact_state[order], other.contact_state)
    assert len(np.unique(one.contacts.iterations)) > 3


def test_steps_go_on_exactly_from_what_was_kept(box: Box) -> None:
    scene, _, compiled = box
    q, v = thrown(scene, 9)
    whole, half = compiled(q, v, steps=30), compiled(q, v, steps=12)
    rest = compiled(half.q, half.v, steps=18, contact_state=half.contact_state)
    np.testing.assert_array_equal(whole.q, rest.q)
    np.testing.assert_array_equal(whole.v, rest.v)
    np.testing.assert_array_equal(whole.contacts.forces, rest.contacts.forces)


def test_bound_steps_move_on_their_own_arrays(box: Box) -> None:
    scene, native, compiled = box
    q, v = thrown(scene, 5)
    call = compiled.bind(q, v, steps=3)
    call()
    call()
    expected = native(*thrown(scene, 5), steps=6)
    assert_close(v, expected.v, 1e-8, scale=1.0)
    copied = pickle.loads(pickle.dumps(compiled))
    assert copied.backend == "specialized"


def test_robots_that_are_not_finite_are_left_behind(box: Box) -> None:
    scene, native, compiled = box
    q, v = thrown(scene, 20)
    v[7] = 1e200
    tau = np.zeros_like(v)
    out = []
    for stepper in (native, compiled):
        arrays = [q, v, tau, *stepper.held(None), stepper.held.repeats(5)]
        found = [np.empty((20, *shape)) for shape in stepper.runner.outputs]
        stepper.runner.run(arrays, found, 20)
        out.append(found)
    good = np.arange(20) != 7
    assert not np.isfinite(out[1][0][7]).all()
    assert out[1][3][7, 1] < 6
    np.testing.assert_array_equal(out[1][3][good, 1], 6.0)
    whole = native(q[good], v[good], steps=5)
    assert_close(out[1][1][good], whole.v, 1e-8, scale=1.0)


def test_looser_steps_are_solved_in_fewer_iterations() -> None:
    scene = zoo.bouncing_ball(0.0)
    q, v = thrown(scene, 12, 1.0)
    q[:, 2] -= q[:, 2].min()
    stepper = lw.Stepper(scene, tolerance=1e-3)
    exact, loose = lw.Stepper(scene)(q, v), stepper(q, v)
    tolerance = stepper.held.solver[0]  # in m/s
    assert loose.contacts.iterations.sum() < exact.contacts.iterations.sum() and not loose.contacts.missed.any()
    assert exact.contacts.residual.max() < loose.contacts.residual.max() <= tolerance
    for options in ({"tolerance": 0.0}, {"max_iterations": 0}):
        with pytest.raises(lw.errors.InputError, match=next(iter(options))):
            lw.Stepper(scene, **options)  # type: ignore[arg-type]


def test_steps_that_fail_are_solved_again_from_no_forces() -> None:
    """With two iterations at most, many do: native code and programs then have the same, better, result."""
    scene = zoo.bouncing_ball(0.0)
    q, v = thrown(scene, 12, 1.0)
    q[:, 2] -= q[:, 2].min()
    native = lw.Stepper(scene, max_iterations=2).by_slots
    one, other = native(q, v, steps=4), native.compile()(q, v, steps=4)
    assert one.contacts.missed.max() > 0
    np.testing.assert_array_equal(one.contacts.iterations, other.contacts.iterations)
    assert_same_steps(one, other, 1e-8)


# Simulation ---------------------------------------------------------------------------------------------------------


@kernel
def brake(time: Any, q: Any, v: Any, gain: Any, tau: Any) -> None:
    """Torques against motion along x, more and more."""
    tau[0] = -gain * (1.0 + time) * v[0]


def test_rollouts_under_a_controller_are_the_same() -> None:
    """A kernel in programs, and the same as a Python function between native steps; forces are unique."""
    scene, start = contact_scenes.tripod()
    q, v = np.tile(start, (9, 1)), 0.5 * np.random.default_rng(0).normal(size=(9, 6))
    gain = np.linspace(0.0, 20.0, 9)

    def function(time: float, q: Q, v: Q) -> Q:
        tau = np.zeros_like(v)
        tau[:, 0] = -gain * (1.0 + time) * v[:, 0]
        return tau

    controller = lw.Controller(brake, gain=gain, per_robot=["gain"])
    how: dict[str, Any] = {"seconds": 0.0205, "control_every": 3, "record_every": 5, "threads": 1}
    compiled = lw.rollouts(scene, q, v, controller=controller, compile=True, **how)
    native = lw.rollouts(scene, q, v, controller=function, **how)
    for name in ("times", "q", "v", "tau"):
        assert_close(getattr(compiled, name), getattr(native, name), 1e-7, scale=1.0)
    assert_close(compiled.contacts.forces, native.contacts.forces, 1e-4, scale=1.0)
    assert_close(compiled.contacts.dissipated["total"], native.contacts.dissipated["total"], 1e-8, scale=1.0)


def test_single_precision_slides_as_far() -> None:
    scene, v = zoo.sliding_box(friction=0.4), np.array([1.0, 0, 0, 0, 0, 0], dtype=np.float32)
    stepper = lw.Stepper(scene).compile(dtype="float32")
    at = stepper(np.tile(scene.poses[zoo.ASSEMBLED].astype(np.float32), (3, 1)), np.tile(v, (3, 1)), steps=400)
    assert at.q.dtype == np.float32
    assert np.abs(at.q[:, 0] - 1 / (2 * 0.4 * 9.81)).max() < 1e-3


def test_a_program_that_would_be_too_large_is_refused() -> None:
    with pytest.raises(lw.errors.ProgramTooLarge):
        lw.Stepper(zoo.sliding_box()).compile(max_operations=2000)
