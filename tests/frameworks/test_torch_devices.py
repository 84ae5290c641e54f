# SPDX-License-Identifier: BSD-3-Clause
"""Functions of tensors on a CUDA device: what their launches compute, by the same modules compiled for the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwork as lw

torch = pytest.importorskip("torch")

from tests.support.cuda_on_host import use_host  # noqa: E402


def flying() -> Any:
    build = lw.Builder("flying")
    build.body("base", lw.Inertia.box(1.0, (0.1, 0.2, 0.3))).joint("free", lw.joints.Free(), "world", "base")
    return build.build()


CASES: dict[str, Callable[[], Any]] = {
    "tree": lambda: lw.ForwardDynamics(lw.zoo.pendulum(2), parameters=["mass"]),
    "free joint": lambda: lw.ForwardDynamics(flying()),
    "loop, iterated": lambda: lw.ForwardDynamics(lw.zoo.four_bar()),
    "loop, clusters": lambda: lw.ForwardDynamics(lw.zoo.four_bar(), "cluster"),
    "step": lambda: lw.Stepper(flying(), dt=1e-2),
    "matrix": lambda: lw.Evaluator(lw.zoo.pendulum(2), "mass_matrix"),
}


@pytest.fixture
def on_host(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], Any]:
    """Makes functions of tensors of a device, which is the host."""
    from linkwork.torch import launches
    from linkwork.torch.device_functions import DeviceFunction

    use_host(monkeypatch)
    monkeypatch.setattr(launches, "_raw_stream", lambda index: 0)
    return lambda evaluator: DeviceFunction(evaluator, None, torch.device("cpu"), "float64")


def inputs_of(function: Any, lead: tuple[int, ...], rng: np.random.Generator) -> dict[str, Any]:
    robot, shapes = function.evaluator.robot, function.shapes[0]
    q = np.broadcast_to(robot.poses.get("assembled", robot.random(rng)), (*lead, robot.nq))
    values = {name: rng.normal(size=(*lead, *shapes[name])) for name in function.inputs}
    values |= {name: np.array(function.evaluator.parameters[name]) for name in values if name == "mass"}
    return {name: torch.tensor(x) for name, x in {**values, "q": q.copy()}.items() if name != "wrenches"}


@pytest.mark.parametrize("case", CASES)
def test_launches_compute_what_the_cpu_does(case: str, on_host: Callable[[Any], Any]) -> None:
    evaluator, rng = CASES[case](), np.random.default_rng(0)
    function, device = lw.torch.function(evaluator), on_host(evaluator)
    x = inputs_of(function, (3,), rng)
    if "loop" in case:
        x["v"] = torch.zeros_like(x["v"])
    cpu, arrays = function.arrays, {name: y.numpy() for name, y in x.items()}
    f, g = cpu.value(arrays), device.value(x)
    seeds = {name: torch.tensor(rng.normal(size=y.shape)) for name, y in zip(cpu.results, f, strict=False)}
    along = {name: torch.tensor(rng.normal(size=y.shape)) for name, y in x.items() if name in cpu.by}
    s, d = ({name: y.numpy() for name, y in part.items()} for part in (seeds, along))
    pairs = [(f, g), (cpu.vjp(arrays, f, s), device.vjp(x, g, seeds))]
    pairs += [(cpu.jvp(arrays, f, d), device.jvp(x, g, along))]
    quick = device.positional_vjp(tuple(seeds))
    assert (quick is None) == (case in ("step", "loop, iterated"))  # configurations as results; several programs
    if quick is not None:
        only = {name: x[name] for name in device.given}
        expected = device.vjp(only, device.value(only), seeds)
        pairs += [([y.numpy() for y in expected], quick(*only.values(), *seeds.values()))]
    if case != "step":
        pairs += [(cpu.hvp(arrays, f, s, d), device.hvp(x, g, seeds, along))]
    for expected, found in pairs:
        for a, b in zip(expected, found, strict=True):
            assert np.allclose(a, b.numpy(), rtol=1e-9, atol=1e-9 * (1 + np.abs(a).max()))


@pytest.mark.parametrize("lead", [(), (1,), (4,), (2, 3), (0,)], ids=str)
def test_tensors_of_any_layout_are_rows_to_a_kernel(lead: tuple[int, ...], on_host: Callable[[Any], Any]) -> None:
    evaluator, rng = lw.Evaluator(lw.zoo.pendulum(2), "bias_forces"), np.random.default_rng(1)
    device, count = on_host(evaluator), int(np.prod(lead))
    q, v = rng.normal(size=(*lead, 2)), rng.normal(size=2)
    expected = evaluator(q, v) if count else np.zeros((0, 2))
    for laid_out in (
        torch.tensor(q),
        torch.tensor(np.stack([q, q], axis=-1))[..., 0],
        torch.tensor(q.T.copy()).T if q.ndim == 2 else torch.tensor(q),
    ):
        found = device.value({"q": laid_out, "v": torch.tensor(v)})[0]
        assert found.shape == expected.shape
        assert np.allclose(found.numpy(), expected, rtol=1e-12, atol=1e-12)
    if q.ndim == 2 and count > 1:
        major = device.value({"q": torch.tensor(q.T.copy()).T, "v": torch.tensor(v)})[0]
        assert major.stride() == (1, count)  # number-major in, number-major out


def test_parameters_that_an_evaluator_holds_may_differ_from_state_to_state(on_host: Callable[[Any], Any]) -> None:
    fd = lw.ForwardDynamics(lw.zoo.pendulum(2), parameters=["mass"])
    own = fd.with_parameters(mass=fd.parameters["mass"] * np.array([[1.0], [2.0], [3.0]]))
    rng = np.random.default_rng(2)
    q, v, tau = rng.normal(size=(3, 3, 2))
    found = on_host(own).value({"q": torch.tensor(q), "v": torch.tensor(v), "tau": torch.tensor(tau)})[0]
    assert np.allclose(found.numpy(), own(q, v, tau).acceleration, rtol=1e-11, atol=1e-11)


STEPS: dict[str, Callable[[], Any]] = {
    "contact step": lambda: lw.contact.ContactStep(lw.zoo.sliding_box(), 4e-3, tolerance=1e-11),
    "hopper": lambda: lw.Stepper(lw.zoo.hopper(), dt=4e-3, tolerance=1e-11, parameters=["mass"]),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("case", STEPS)
def test_steps_with_contacts_and_their_products(case: str, dtype: str, on_host: Callable[[Any], Any]) -> None:
    """Contacts stick, slide and separate; steps by forces of actuators; configurations with a quaternion."""
    from linkwork.torch.contact_device import ContactDeviceFunction
    from linkwork.torch.contact_functions import array_function

    evaluator, rng = STEPS[case](), np.random.default_rng(3)
    function, robot = lw.torch.function(evaluator), evaluator.robot
    cpu = function.arrays
    device = ContactDeviceFunction(cpu.evaluator, None, torch.device("cpu"), dtype)
    number = torch.float64 if dtype == "float64" else torch.float32
    v = 0.2 * rng.normal(size=(4, robot.nv))
    q = np.array([robot.integrate(robot.neutral(), 1e-3 * row) for row in v])
    named = {"q": q, "v": v, "tau": rng.normal(size=v.shape)}
    if "commands" in function.inputs:
        named["commands"] = rng.normal(size=(4, *function.shapes[0]["commands"]))
    x = {name: torch.tensor(y, dtype=number) for name, y in named.items()}
    arrays = {name: y.double().numpy() for name, y in x.items()}
    f, g = cpu.value(arrays), device.value(x)
    assert (np.abs(f[2]).max(axis=1) > 0).all()
    seeds = {name: rng.normal(size=y.shape) for name, y in zip(cpu.results, f, strict=False)}
    only = {"v1": seeds["v1"]}
    along = {name: rng.normal(size=y.shape) for name, y in arrays.items() if name in cpu.by}

    def tensors(values: dict[str, Any]) -> dict[str, Any]:
        return {name: torch.tensor(y, dtype=number) for name, y in values.items()}

    own = array_function(evaluator, None, None, lambda step: step.native(dtype))
    pairs = [(own.value({name: y.numpy() for name, y in x.items()})[:2], g[:2])]
    pairs += [(cpu.jvp(arrays, f, along), device.jvp(x, g, tensors(along)))]
    pairs += [(cpu.vjp(arrays, f, s), device.vjp(x, g, tensors(s))) for s in (seeds, only)]
    tolerance = 1e-7 if dtype == "float64" else 1e-4
    for expected, found in pairs:
        for a, b in zip(expected, found, strict=True):
            assert b.dtype == number
            assert np.allclose(a, b.numpy(), rtol=tolerance, atol=tolerance * (1 + np.abs(a).max()))


def test_smoothed_derivatives_are_for_the_cpu() -> None:
    from linkwork.torch.contact_device import ContactDeviceFunction

    step = lw.contact.ContactStep(lw.zoo.sliding_box())
    with pytest.raises(lw.errors.UnsupportedFeature, match="leave smoothing out"):
        ContactDeviceFunction(step, None, torch.device("cuda"), "float64", smoothing=1e-3)
