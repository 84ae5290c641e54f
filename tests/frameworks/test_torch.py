# SPDX-License-Identifier: BSD-3-Clause
"""Evaluators as functions of torch tensors: values, derivatives by torch's own checkers, transforms, compilation."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkwork as lw

torch = pytest.importorskip("torch")

from torch.autograd import gradcheck, gradgradcheck  # noqa: E402
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vmap  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

Tensor = Any

FORWARD = lw.ForwardDynamics(lw.zoo.pendulum(2)).compile()
BIAS = lw.Evaluator(lw.zoo.pendulum(2), "bias_forces")
"""Native code, which computes in single precision where tensors are of it."""


def leaves(*arrays: Any) -> list[Tensor]:
    return [torch.tensor(np.array(x), dtype=torch.float64).requires_grad_() for x in arrays]


def tree_state(seed: int = 0, robot: Any = None, batch: tuple[int, ...] = ()) -> list[Tensor]:
    robot, rng = robot or lw.zoo.pendulum(2), np.random.default_rng(seed)
    q = robot.random(rng, batch) if batch else robot.random(rng)
    return leaves(q, rng.normal(size=(*batch, robot.nv)), rng.normal(size=(*batch, robot.nv)))


def loop_state(robot: Any, seed: int = 0) -> list[Tensor]:
    rng = np.random.default_rng(seed)
    return leaves(robot.poses["assembled"], np.zeros(robot.nv), rng.normal(size=robot.nv))


def flying() -> Any:
    """A free body that carries one on a planar joint."""
    build = lw.Builder("flying")
    build.body("base", lw.Inertia.box(1.0, (0.1, 0.2, 0.3))).joint("free", lw.joints.Free(), "world", "base")
    build.body("slider", lw.Inertia.sphere(0.5, 0.1)).joint(
        "plane", lw.joints.Planar(), "base", "slider", (0.1, 0.0, 0.0)
    )
    return build.build()


# Derivatives ---------------------------------------------------------------------------------------------------------


def test_gradcheck_of_a_tree_in_both_modes_and_twice() -> None:
    f = lw.torch.function(FORWARD)
    assert gradcheck(f, tree_state(batch=(2,)), check_forward_ad=True)
    assert gradgradcheck(f, tree_state(), check_fwd_over_rev=True)


def test_gradcheck_of_loops_and_by_parameters() -> None:
    robot = lw.zoo.four_bar()
    fd = lw.ForwardDynamics(robot, parameters=["mass"]).compile()
    f, masses = lw.torch.function(fd), leaves(fd.parameters["mass"])

    def accelerations(q: Tensor, v: Tensor, tau: Tensor, mass: Tensor) -> Tensor:
        return f(q, v, tau, mass=mass).acceleration

    assert gradcheck(accelerations, [*loop_state(robot), *masses], check_forward_ad=True)


def test_gradcheck_of_clusters_twice_and_of_their_forces() -> None:
    robot = lw.zoo.four_bar()
    f = lw.torch.function(lw.ForwardDynamics(robot, "cluster").compile(), by=["v", "tau"])
    q, v, tau = loop_state(robot)
    assert gradcheck(lambda v, tau: f(q, v, tau), (v, tau), check_forward_ad=True)
    assert gradgradcheck(lambda v, tau: f(q, v, tau).acceleration, (v, tau))


@pytest.mark.parametrize("length", [1.0, 1.3])
def test_gradients_by_a_configuration_are_those_of_the_function_that_normalizes(length: float) -> None:
    robot = flying()
    f = lw.torch.function(lw.ForwardDynamics(robot).compile())
    q, v, tau = tree_state(3, robot)
    with torch.no_grad():
        for unit in robot.unit_slices():
            q[unit] *= length
    assert gradcheck(f, (q, v, tau), check_forward_ad=True)
    assert gradgradcheck(f, (q, v, tau), check_fwd_over_rev=True)
    assert gradcheck(lambda q, v, tau: f(lw.torch.normalize(robot, q), v, tau), (q, v, tau))
    (g,) = torch.autograd.grad(f(q, v, tau).square().sum(), q)
    for unit in robot.unit_slices():
        assert abs(float(g[unit] @ q.detach()[unit])) < 1e-12 * float(g.norm())


def test_a_gradient_in_coordinates_and_one_in_the_tangent_space_do_the_same() -> None:
    """``g · d/dh integrate(q, h d) = y · d``, the definition."""
    robot = flying()
    fd = lw.ForwardDynamics(robot).compile()
    f, rng = lw.torch.function(fd), np.random.default_rng(1)
    q, v, tau = tree_state(2, robot)
    s, d, h = rng.normal(size=robot.nv), rng.normal(size=robot.nv), 1e-6
    (g,) = torch.autograd.grad(f(q, v, tau), q, torch.tensor(s))
    state = [x.detach().numpy() for x in (q, v, tau)]
    moved = (robot.integrate(state[0], h * d) - robot.integrate(state[0], -h * d)) / (2 * h)
    expected = fd.vjp(*state, s)[0] @ d
    assert abs(float(g.numpy() @ moved) - expected) < 1e-7 * (1 + abs(expected))


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_gradcheck_of_steps(integrator: Any) -> None:
    robot = flying()
    f = lw.torch.function(lw.Stepper(robot, integrator=integrator, dt=1e-2).compile())
    q, v, tau = tree_state(1, robot)
    assert gradcheck(f, (q, v, tau), check_forward_ad=True)
    found = f(q, v)  # torques may be left out
    assert torch.equal(found.q, f(q, v, torch.zeros_like(tau)).q)


def test_gradcheck_of_a_step_twice() -> None:
    f = lw.torch.function(lw.Stepper(lw.zoo.pendulum(1), dt=1e-2).compile())
    assert gradgradcheck(f, tree_state(robot=lw.zoo.pendulum(1)), check_fwd_over_rev=True)


def test_gradcheck_of_a_step_of_a_loop_by_masses() -> None:
    robot = lw.zoo.four_bar()
    stepper = lw.Stepper(robot, dt=1e-2, max_iterations=3, parameters=["mass"]).compile()
    f, masses = lw.torch.function(stepper), leaves(stepper.parameters["mass"])
    assert gradcheck(lambda *x: f(*x[:3], mass=x[3]), [*loop_state(robot), *masses], atol=1e-5)


def test_gradcheck_of_a_step_with_contacts() -> None:
    """A box that slides: friction acts against its velocity."""
    box = lw.zoo.sliding_box(friction=0.5)
    f = lw.torch.function(lw.contact.ContactStep(box, dt=1e-2), by=["v", "tau"])
    q = torch.tensor(box.poses["assembled"])
    v, tau = leaves([2.0, 0, 0, 0, 0, 0], np.zeros(6))
    (across,) = torch.autograd.grad(f(q, v, tau).v[1], v)
    assert abs(float(across[1]) - (1 - 0.5 * 9.81 * 1e-2 / 2.0)) < 1e-4
    assert gradcheck(lambda v: f(q, torch.cat((v, tau[2:])), tau).v[:2], (v.detach()[:2].requires_grad_(),), atol=1e-4)


def test_gradient_of_a_checkpointed_rollout_with_contacts() -> None:
    """Of a hopper that pushes off: the same bits as of a rollout whose states are all kept, and that of differences."""
    hopper = lw.zoo.running_hopper()
    step = lw.torch.function(lw.Stepper(hopper, dt=4e-3, tolerance=1e-10), by=["q", "v", "commands"])
    start = torch.tensor(hopper.poses["assembled"])
    servos = start[[hopper.q_index(name) for name in ("hip", "crank")]]

    def piece(q: Any, v: Any, commands: Any) -> Any:
        for _ in range(5):
            q, v = step(q, v, torch.zeros(hopper.nv, dtype=torch.float64), commands=commands)
        return q, v

    def height(commands: Any, kept: bool) -> Any:
        q, v = start, torch.zeros(hopper.nv, dtype=torch.float64)
        for k in range(4):
            q, v = piece(q, v, commands[k]) if kept else checkpoint(piece, q, v, commands[k], use_reentrant=False)
        return q[hopper.q_index("rail_z")]

    pushes = servos + torch.tensor([[0.0, 0.0], [0.1, 0.3], [0.0, 0.5], [0.1, 0.2]], dtype=torch.float64)
    commands = pushes.requires_grad_()
    gradients = [torch.autograd.grad(height(commands, kept), commands)[0] for kept in (True, False)]
    assert torch.equal(*gradients)
    assert gradients[0].abs().max() > 1e-3
    assert gradcheck(lambda commands: height(commands, False), commands, eps=1e-6, atol=1e-7, rtol=1e-4)


QUANTITIES: dict[str, Callable[[Any], Any]] = {
    "mass_matrix": lambda robot: lw.Evaluator(robot, "mass_matrix"),
    "energy": lambda robot: lw.Evaluator(robot, "energy"),
    "frame_placement": lambda robot: lw.Evaluator(robot, "frame_placement", frames=[robot.body_names[-1]]),
    "inverse_dynamics": lambda robot: lw.InverseDynamics(robot),
}


@pytest.mark.parametrize("name", QUANTITIES)
def test_gradcheck_of_quantities(name: str) -> None:
    robot = lw.zoo.pendulum(2)
    f = lw.torch.function(QUANTITIES[name](robot).compile())
    assert gradcheck(f, tree_state()[: len(f.inputs)], check_forward_ad=True)


def test_impacts_have_gradients() -> None:
    robot = lw.zoo.four_bar()
    f = lw.torch.function(lw.ImpactDynamics(robot).compile())
    q, v = leaves(robot.poses["assembled"], np.random.default_rng(0).normal(size=robot.nv))
    restitution = torch.full((robot.nc,), 0.5, dtype=torch.float64)
    assert gradcheck(lambda v: f(q, v, restitution).velocity, (v,))


def test_gradients_of_tensors_that_broadcast_are_sums() -> None:
    f = lw.torch.function(FORWARD)
    q, v, tau = tree_state(batch=(3,))
    one = v.detach()[0].clone().requires_grad_()
    (found,) = torch.autograd.grad(f(q, one, tau[:1]).sum(), one)
    each = [torch.autograd.grad(f(q[k], one, tau[0]).sum(), one)[0] for k in range(3)]
    assert torch.allclose(found, sum(each), rtol=1e-12, atol=1e-12)


def test_inputs_that_are_not_named_are_constants() -> None:
    f = lw.torch.function(FORWARD, by=["tau"])
    q, v, tau = tree_state()
    by_q, by_tau = torch.autograd.grad(f(q, v, tau).sum(), (q, tau), allow_unused=True)
    assert by_q is None and by_tau is not None
    assert f.differentiated_by == ("tau",)


# Transforms ----------------------------------------------------------------------------------------------------------


def test_transforms_of_torch_func_agree_with_jacobians() -> None:
    fd = FORWARD
    f, x = lw.torch.function(fd), [y.detach() for y in tree_state(batch=(4,))]
    expected = torch.tensor(fd.vjp(*(y.numpy()[:, None] for y in x), np.eye(2))[0])
    for transform in (jacrev, jacfwd):
        assert torch.allclose(vmap(transform(f))(*x), expected, rtol=1e-10, atol=1e-10)
    moved = jvp(f, tuple(x), (x[1], x[2], x[0]))[1]
    assert np.allclose(moved.numpy(), fd.jvp(*(y.numpy() for y in (*x, x[1], x[2], x[0]))), rtol=1e-12, atol=1e-12)


def test_mapped_axes_are_batch_axes_wherever_they_are() -> None:
    f = lw.torch.function(FORWARD)
    q, v, tau = (y.detach() for y in tree_state(batch=(3, 4)))
    expected = f(q, v, tau)
    assert torch.equal(vmap(vmap(f))(q, v, tau), expected)
    assert torch.equal(vmap(f, in_dims=(1, 1, 1), out_dims=1)(q, v, tau), expected)
    assert torch.equal(vmap(f, in_dims=(0, None, 0))(q, v[0], tau), f(q, v[0], tau))


def test_hessians_agree_however_they_are_made() -> None:
    f = lw.torch.function(FORWARD)
    q, v, tau = (y.detach() for y in tree_state())

    def loss(q: Tensor) -> Tensor:
        return f(q, v, tau).square().sum()

    first = hessian(loss)(q)
    for outer, inner in ((jacrev, jacrev), (jacrev, jacfwd), (jacfwd, jacfwd)):
        assert torch.allclose(outer(inner(loss))(q), first, rtol=1e-9, atol=1e-9)
    assert torch.allclose(first, first.T, rtol=1e-9, atol=1e-9)
    h = 1e-5 * torch.eye(2, dtype=torch.float64)
    differences = torch.stack([(grad(loss)(q + d) - grad(loss)(q - d)) / 2e-5 for d in h])
    assert torch.allclose(first, differences, rtol=1e-6, atol=1e-5)


def test_compiled_functions_have_one_graph_and_the_same_gradients() -> None:
    robot = lw.zoo.pendulum(2)
    fd = lw.ForwardDynamics(robot, parameters=["mass"]).compile()
    f, mass = lw.torch.function(fd), torch.tensor(np.array(fd.parameters["mass"]))

    def loss(q: Tensor, v: Tensor, tau: Tensor) -> Tensor:
        return f(q, v, torch.tanh(tau), mass=mass).square().sum(-1)

    compiled = torch.compile(loss, backend="aot_eager", fullgraph=True)
    q, v, tau = tree_state(batch=(3,))
    assert torch.equal(compiled(q, v, tau), loss(q, v, tau))
    found, expected = (torch.autograd.grad(made(q, v, tau).sum(), (q, tau)) for made in (compiled, loss))
    assert all(torch.equal(x, y) for x, y in zip(found, expected, strict=True))
    mapped = torch.compile(vmap(loss), backend="eager", fullgraph=True)
    assert torch.equal(mapped(q, v, tau), loss(q, v, tau))
    operator, key = torch.ops.linkwork.evaluate.default, "q,v,tau|acceleration"
    checks = ("test_schema", "test_faketensor", "test_autograd_registration")
    torch.library.opcheck(operator, ([q, v, tau], f.number, "value", key), test_utils=checks)


# Tensors -------------------------------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(
    st.lists(st.sampled_from([1, 2, 3]), max_size=2),
    st.tuples(st.booleans(), st.booleans()),
    st.booleans(),
    st.sampled_from(["float64", "float32"]),
)
def test_any_layout_of_a_batch_gives_what_numpy_gives(
    lead: list[int], single: tuple[bool, bool], transposed: bool, dtype: str
) -> None:
    rng = np.random.default_rng(len(lead))
    x = [rng.normal(size=(2,) if one else (*lead, 2)).astype(dtype) for one in single]
    tensors = [torch.tensor(y.T.copy()).T if transposed and y.ndim == 2 else torch.tensor(y) for y in x]
    found, expected = lw.torch.function(BIAS)(*tensors), BIAS(*x)
    assert found.dtype == getattr(torch, dtype) and tuple(found.shape) == expected.shape
    assert np.array_equal(found.numpy(), expected)


def test_single_precision_has_gradients_in_single_precision() -> None:
    f = lw.torch.function(BIAS)
    double = tree_state(batch=(2,))[:2]
    single = [x.detach().float().requires_grad_() for x in double]
    for x, y in zip(
        torch.autograd.grad(f(*single).sum(), single), torch.autograd.grad(f(*double).sum(), double), strict=True
    ):
        assert x.dtype == torch.float32
        assert torch.allclose(x.double(), y, rtol=1e-4, atol=1e-4)


def test_views_that_are_negated_lazily_are_read_right() -> None:
    f = lw.torch.function(FORWARD)
    q, v, tau = (x.detach() for x in tree_state())
    lazily = torch.complex(q, -q).conj().imag
    assert lazily.is_neg()
    assert torch.equal(f(lazily, v, tau), f(q, v, tau))


def test_results_have_names_where_there_are_several() -> None:
    robot = lw.zoo.four_bar()
    q, v, tau = (x.detach() for x in loop_state(robot))
    fd = lw.ForwardDynamics(robot, parameters=["mass"]).compile()
    found, solution = lw.torch.function(fd)(q, v, tau), fd(q.numpy(), v.numpy(), tau.numpy())
    assert found._fields == ("acceleration", "forces")
    assert np.array_equal(found.acceleration.numpy(), solution.acceleration)
    assert np.array_equal(found.forces.numpy(), solution.multipliers)


def test_functions_are_copied_and_pickled_by_their_evaluators() -> None:
    f = lw.torch.function(FORWARD, by=["q"])
    q, v, tau = (x.detach() for x in tree_state())
    for other in (copy.deepcopy(f), pickle.loads(pickle.dumps(f))):
        assert torch.equal(other(q, v, tau), f(q, v, tau))
        assert other.differentiated_by == ("q",) and other.number != f.number


# Errors --------------------------------------------------------------------------------------------------------------

T = torch.zeros(2, dtype=torch.float64)
MISTAKES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "shape": (lambda f: f(torch.zeros(3, dtype=torch.float64), T, T), "q has"),
    "tracked shape": (lambda f: f(torch.zeros(3).double().requires_grad_(), T, T), "q has"),
    "half": (lambda f: f(T.half(), T, T), "q is a tensor of torch.float16, needs float64 or float32"),
    "array": (lambda f: f(np.zeros(2), T, T), r"q is ndarray, needs a torch tensor: torch.as_tensor\(q\)"),
    "unknown": (lambda f: f(T, T, T, mas=T), "has no input 'mas'"),
    "missing": (lambda f: f(T, T), "takes q, v, tau; tau was not given"),
    "too many": (lambda f: f(T, T, T, T), "takes q, v, tau; 4 tensors were given"),
    "twice": (lambda f: f(T, T, T, q=T), "q is given twice"),
    "nan": (lambda f: f(T, T, T / 0), "tau holds NaN"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_errors_say_what_is_wrong(mistake: str) -> None:
    call, words = MISTAKES[mistake]
    with pytest.raises(lw.errors.InputError, match=words):
        call(lw.torch.function(FORWARD))


def test_what_there_is_not_is_said() -> None:
    with pytest.raises(lw.errors.InputError, match="found Builder"):
        lw.torch.function(lw.Builder("x"))
    with pytest.raises(lw.errors.InputError, match="no derivative by 'mass'"):
        lw.torch.function(FORWARD, by=["mass"])
    with pytest.raises(lw.errors.InputError, match="smoothing is for steps with contacts"):
        lw.torch.function(FORWARD, smoothing=0.1)
    with pytest.raises(lw.errors.InputError, match="needs"):
        lw.torch.normalize(flying(), T)
    f, (q, v, tau) = lw.torch.function(FORWARD), (x.detach() for x in tree_state())
    with pytest.raises(lw.errors.UnsupportedFeature, match="third derivatives"):
        jacrev(jacrev(jacrev(lambda q: f(q, v, tau))))(q)
    x = q.clone().requires_grad_()
    with pytest.raises(lw.errors.UnsupportedFeature, match="is_grads_batched"):
        torch.autograd.grad(f(x, v, tau), x, torch.eye(2, dtype=torch.float64), is_grads_batched=True)


LAZY = """
import sys
import linkwork as lw
assert "torch" not in sys.modules
sys.modules["torch"] = None
try:
    lw.torch
except lw.errors.LinkworkError as error:
    assert "pip install 'linkwork[torch]'" in str(error)
else:
    raise AssertionError
"""


def test_torch_is_imported_when_it_is_asked_for() -> None:
    subprocess.run([sys.executable, "-c", LAZY], check=True)
