# SPDX-License-Identifier: BSD-3-Clause
"""One derivative: the same products from NumPy, torch, JAX and a CUDA device, loops closed, open and redundant.

Rows that no joint moves, rows that depend on others at all configurations, on open loops alone, or not at all; states
of one batch that need different branches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.quantities.coordinate_derivatives import CoordinateDerivatives
from tests.support import contact_scenes, linkages
from tests.support.cuda_on_host import use_host

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")

pytestmark = pytest.mark.filterwarnings("ignore::linkwork.errors.StateWarning")

AGREE = 1e-11
"""Relative to the largest number of a product: the same programs, whose states are chosen one by one. Iterations end
later where NumPy solves for the state itself, which rows of condition 100 show."""

OTHER_CODE = np.array([1e-11, 1e-7, 1e-7])
"""Of code that rounds otherwise, or iterations that end elsewhere: rounding over the regularization, where rows that
depend on others on closed loops do not on open ones."""

ZOO = ("four_bar", "watt", "jansen", "swimmer", "delta", "five_bar")
RANDOM = (3, 8, 24, 41, 60)
UNCONVERGED = (17, 33, 40, 55, 83, 86)
"""Random mechanisms with states whose iterations end before forces are exact, and one with a held center of mass."""
MECHANISMS: dict[str, Callable[[], Any]] = {
    **{name: getattr(lw.zoo, name) for name in ZOO},
    **{
        f"random {k}": lambda k=k: lw.zoo.random_loops(k, bodies=2 + k % 4, loops=1 + k % 2)
        for k in (*RANDOM, *UNCONVERGED)
    },
    "floating four-bar": lambda: linkages.made("floating four-bar"),
    "universal joints": lambda: linkages.made("universal joints"),
}


def states(robot: Any, rng: np.random.Generator) -> tuple[Any, Any]:
    """Configurations and velocities: loops closed, a little open, and far from closed, in one batch."""
    start = next(iter(robot.poses.values()), robot.neutral())
    closed = robot.assemble(robot.integrate(start, 0.1 * rng.normal(size=robot.nv)))
    opened = robot.integrate(closed, 0.05 * rng.normal(size=robot.nv))
    v = rng.normal(size=(3, robot.nv))
    v[0] = robot.project_velocity(closed, v[0])
    return np.array([closed, opened, robot.random(rng)]), v


def assert_agree(found: Any, expected: Any, agree: Any = AGREE) -> None:
    """The same arrays, state by state, relative to the largest number of the state's product."""
    size = np.maximum(np.max([np.abs(x).max(axis=-1) for x in expected], axis=0), 1.0)
    off = np.max([np.abs(np.asarray(x) - y).max(axis=-1) for x, y in zip(found, expected, strict=True)], axis=0)
    assert (off <= agree * size).all(), off / size


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    """JAX with float64."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


class Products:
    """Products of one mechanism in coordinates, by NumPy, and what others are called with."""

    def __init__(self, name: str) -> None:
        self.fd = lw.ForwardDynamics(MECHANISMS[name]())
        robot, rng = self.fd.robot, np.random.default_rng(0)
        maps = CoordinateDerivatives(robot)
        q, v = states(robot, rng)
        closed, opened = (np.linalg.matrix_rank(lw.constraint_jacobian(robot, x), 1e-9) for x in q[:2])
        self.agree: Any = OTHER_CODE if opened > closed else AGREE
        tau, dq, dv, dtau, y = rng.normal(size=(5, 3, robot.nv))
        self.inputs = q, v, tau
        self.tangents = maps.rate(q, dq), dv, dtau
        self.cotangents = y, rng.normal(size=(3, robot.nc))
        self.rates = self.fd.jvp(q, v, tau, dq, dv, dtau)
        gradient = self.fd.vjp(q, v, tau, y, forces=self.cotangents[1])
        self.gradient = maps.gradient(q, gradient[0]), *gradient[1:]


@pytest.mark.parametrize("name", MECHANISMS)
def test_jax_has_the_products_of_numpy(name: str) -> None:
    """Cotangents of accelerations alone and of forces alone, too."""
    known = Products(name)
    function = lw.jax.function(known.fd)
    _, rates = jax.jvp(lambda *x: tuple(function(*x)), known.inputs, known.tangents)
    assert_agree(rates, known.rates, known.agree)
    _, reverse = jax.vjp(lambda *x: tuple(function(*x)), *known.inputs)
    assert_agree(reverse(known.cotangents), known.gradient, known.agree)
    alone = [
        jax.grad(lambda *x, k=k, y=y: (function(*x)[k] * y).sum(), argnums=(0, 1, 2))(*known.inputs)
        for k, y in enumerate(known.cotangents)
    ]
    assert_agree([a + f for a, f in zip(*alone, strict=True)], known.gradient, known.agree)


@pytest.mark.parametrize("name", MECHANISMS)
def test_torch_has_the_products_of_numpy(name: str) -> None:
    """Cotangents of accelerations alone and of forces alone, too."""
    known = Products(name)
    function = lw.torch.function(known.fd)
    x, d, (y, y_forces) = (
        tuple(torch.tensor(np.array(z)) for z in part) for part in (known.inputs, known.tangents, known.cotangents)
    )
    _, rates = torch.func.jvp(lambda *z: tuple(function(*z)), x, d)
    assert_agree(rates, known.rates, known.agree)
    _, reverse = torch.func.vjp(lambda *z: tuple(function(*z)), *x)
    assert_agree([z.detach() for z in reverse((y, y_forces))], known.gradient, known.agree)
    leaves = [z.clone().requires_grad_() for z in x]
    of_a = torch.autograd.grad((function(*leaves).acceleration * y).sum(), leaves)
    of_f = torch.autograd.grad((function(*leaves).forces * y_forces).sum(), leaves)
    assert_agree([a + f for a, f in zip(of_a, of_f, strict=True)], known.gradient, known.agree)


FRICTION = ["contact_friction", "mass"]
STEPS: dict[str, Callable[[Any], Any]] = {
    "contact step": lambda robot: lw.contact.ContactStep(robot, 1e-3, parameters=FRICTION, tolerance=1e-12),
    "stepper": lambda robot: lw.Stepper(robot, dt=1e-3, parameters=FRICTION, tolerance=1e-12),
}


@pytest.mark.parametrize("name", STEPS)
def test_products_of_a_step_with_contacts_are_the_same_everywhere(name: str) -> None:
    """A tripod that slides, one that rests, and one above the ground, in one batch; by friction and mass, too.

    NumPy's steps have lists of contacts, JAX all slots: three feet have unique forces, and solutions agree.
    """
    (robot, start), rng = contact_scenes.tripod(), np.random.default_rng(0)
    step, maps = STEPS[name](robot), CoordinateDerivatives(robot)
    q = np.repeat(start[None], 3, axis=0)
    q[:, 2] += (-1e-4, -1e-4, 0.1)  # at a gap of zero, derivatives jump
    v, tau = np.zeros((3, 6)), 0.1 * rng.normal(size=(3, 6))
    v[0, :2] = 0.5, 0.2
    own = {"mass": np.array(step.parameters["mass"]), "contact_friction": np.array(step.parameters["contact_friction"])}
    dq, dv, dtau, y = rng.normal(size=(4, 3, 6))
    along = {key: rng.normal(size=(3, *x.shape)) for key, x in own.items()}
    after = step(q, v, tau)
    dq1, dv1 = step.jvp(q, v, tau, dq, dv, dtau, **{f"d{key}": d for key, d in along.items()})
    rates = maps.rate(after.q, dq1), dv1
    gradient = dict(zip(step.vjp.inputs, step.vjp(q, v, tau, np.zeros((3, 6)), y), strict=True))
    x = q, v, tau, *(np.repeat(one[None], 3, axis=0) for one in own.values())
    tangents = maps.rate(q, dq), dv, dtau, *along.values()
    expected = maps.gradient(q, gradient["q"]), *(gradient[key] for key in ("v", "tau", *own))

    def called(function: Any) -> Callable[..., tuple[Any, Any]]:
        return lambda q, v, tau, mass, mu: tuple(function(q, v, tau, mass=mass, contact_friction=mu))

    by_jax, by_torch = called(lw.jax.function(step)), called(lw.torch.function(step))
    _, found = jax.jvp(by_jax, x, tangents)
    assert_agree(found, rates)
    _, reverse = jax.vjp(by_jax, *x)
    assert_agree(reverse((np.zeros_like(q), y)), expected)
    tensors, directions = (tuple(torch.tensor(np.array(z)) for z in part) for part in (x, tangents))
    _, found = torch.func.jvp(by_torch, tensors, directions)
    assert_agree([z.detach() for z in found], rates)
    _, reverse = torch.func.vjp(by_torch, *tensors)
    assert_agree(
        [z.detach() for z in reverse((torch.zeros(3, robot.nq, dtype=torch.float64), torch.tensor(y)))], expected
    )


def assert_device(known: Products, device: Any, to: Callable[[Any], Any]) -> None:
    """Products of a function of tensors on a device, which runs all branches and chooses."""
    names = ("q", "v", "tau")
    x, d = (dict(zip(names, map(to, part), strict=True)) for part in (known.inputs, known.tangents))
    seeds = dict(zip(("acceleration", "forces"), map(to, known.cotangents), strict=True))
    outputs = device.value(x)
    assert_agree([z.cpu() for z in device.jvp(x, outputs, d)], known.rates, OTHER_CODE)
    assert_agree([z.cpu() for z in device.vjp(x, outputs, seeds)], known.gradient, OTHER_CODE)


@pytest.mark.parametrize("name", ["four_bar", "swimmer", "floating four-bar"])
def test_launches_on_the_host_have_the_products_of_numpy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from linkwork.torch import launches
    from linkwork.torch.device_functions import DeviceFunction

    known = Products(name)
    use_host(monkeypatch)
    monkeypatch.setattr(launches, "_raw_stream", lambda index: 0)
    device = DeviceFunction(known.fd, None, torch.device("cpu"), "float64")
    assert_device(known, device, lambda z: torch.tensor(np.array(z)))


@pytest.mark.gpu
@pytest.mark.parametrize("name", MECHANISMS)
def test_a_gpu_has_the_products_of_numpy(name: str) -> None:
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    from linkwork.torch.device_functions import DeviceFunction

    known = Products(name)
    device = DeviceFunction(known.fd, None, torch.device("cuda", 0), "float64")
    assert_device(known, device, lambda z: torch.tensor(np.array(z)).cuda())


@pytest.mark.parametrize("name", ["four_bar", "swimmer", "floating four-bar", "random 24"])
def test_a_state_has_its_products_whatever_its_neighbors(name: str) -> None:
    """Closed and open loops in one batch: each state as if it were alone."""
    known = Products(name)
    (q, v, tau), (y, y_forces) = known.inputs, known.cotangents
    whole = known.fd.vjp(q, v, tau, y, forces=y_forces)
    for k in range(3):
        alike = [np.repeat(x[k : k + 1], 3, axis=0) for x in (q, v, tau, y, y_forces)]
        for x, z in zip(whole, known.fd.vjp(*alike[:4], forces=alike[4]), strict=True):
            np.testing.assert_array_equal(x[k], z[k])
