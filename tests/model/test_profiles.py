# SPDX-License-Identifier: BSD-3-Clause
"""Functions from data: series of tape variables, piecewise polynomials, motion profiles, and their rates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import Akima1DInterpolator, CubicSpline, PchipInterpolator, make_interp_spline

import linkwork as lw
from linkwork.errors import ModelError
from linkwork.model.motions import motion_at, motion_tape

RISES: dict[str, Callable[[Any], Any]] = {
    "trapezoid": lw.profiles.trapezoid(0.2, 1.5, 0.8, ramp=0.25, begin=0.1),
    "triangle": lw.profiles.trapezoid(0.2, 1.5, 0.8, ramp=0.5, begin=0.1),
    "cycloidal": lw.profiles.cycloidal(0.2, 1.5, 0.8, begin=0.1),
    "polynomial_345": lw.profiles.polynomial_345(0.2, 1.5, 0.8, begin=0.1),
    "modified_sine": lw.profiles.modified_sine(0.2, 1.5, 0.8, begin=0.1),
}
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], Callable[[Any], Any]]] = {
    "exp": (np.exp, np.exp, np.exp),
    "log": (lambda t: np.log(1 + t * t), lambda t: 2 * t / (1 + t * t), lambda t: (2 - 2 * t * t) / (1 + t * t) ** 2),
    "arctan": (np.arctan, lambda t: 1 / (1 + t * t), lambda t: -2 * t / (1 + t * t) ** 2),
    "arctan2": (
        lambda t: np.arctan2(np.sin(t), np.cos(t)),
        lambda t: np.ones_like(t),
        lambda t: np.zeros_like(t),
    ),
    "tanh": (np.tanh, lambda t: 1 - np.tanh(t) ** 2, lambda t: -2 * np.tanh(t) * (1 - np.tanh(t) ** 2)),
    "power": (
        lambda t: (1 + t * t) ** 1.3,
        lambda t: 2.6 * t * (1 + t * t) ** 0.3,
        lambda t: 2.6 * (1 + t * t) ** 0.3 + 1.56 * t * t * (1 + t * t) ** -0.7,
    ),
    "maximum": (lambda t: np.maximum(t, 0.5) ** 2, lambda t: 2 * t * (t > 0.5), lambda t: 2.0 * (t > 0.5)),
    "clip": (lambda t: np.clip(t, -1.0, 1.0), lambda t: 1.0 * (np.abs(t) < 1), lambda t: 0.0 * t),
    "abs": (np.abs, np.sign, lambda t: 0.0 * t),
}
TIMES = np.concatenate([-np.geomspace(1e-3, 5, 12)[::-1], np.geomspace(1e-3, 5, 12)])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_and_their_rates_are_exact_to_rounding(name: str) -> None:
    function, first, second = FUNCTIONS[name]
    found = [x[:, 0] for x in motion_at(motion_tape(function, name), TIMES)]
    for x, exact in zip(found, (function(TIMES), first(TIMES), second(TIMES)), strict=True):
        np.testing.assert_allclose(x, exact, rtol=3e-13, atol=3e-15)


def test_interp_is_that_of_numpy() -> None:
    at, to = [0.0, 0.5, 2.0, 3.0], [1.0, -1.0, 0.0, 4.0]
    t = np.linspace(-1, 4, 57)
    value = motion_at(motion_tape(lambda x: np.interp(x, at, to), "table"), t)[0][:, 0]
    np.testing.assert_allclose(value, np.interp(t, at, to), rtol=0, atol=1e-15)


@pytest.mark.parametrize("kind", [CubicSpline, PchipInterpolator, Akima1DInterpolator, make_interp_spline])
def test_curves_of_scipy_keep_values_and_derivatives(kind: Callable[..., Any]) -> None:
    x = np.array([0.0, 0.3, 0.7, 1.2, 2.0])
    curve = kind(x, np.sin(2 * x))
    t = np.linspace(0.01, 1.99, 41)
    for k, found in enumerate(motion_at(motion_tape(curve, "curve"), t)):
        np.testing.assert_allclose(found[:, 0], curve(t, k) if k else curve(t), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", RISES)
def test_profiles_begin_and_end_at_rest_and_rates_are_derivatives(name: str) -> None:
    tape = motion_tape(RISES[name], name)
    value, rate, second = motion_at(tape, np.array([0.0, 0.1, 0.9, 1.0]))
    np.testing.assert_allclose(value[:, 0], [0.2, 0.2, 1.5, 1.5], rtol=0, atol=1e-14)
    np.testing.assert_allclose(rate[[0, 3], 0], 0.0, atol=0)
    np.testing.assert_allclose(rate[[1, 2], 0], 0.0, atol=1e-14)
    if name in ("cycloidal", "polynomial_345", "modified_sine"):
        np.testing.assert_allclose(second[[1, 2], 0], 0.0, atol=1e-12)
    t, h = np.linspace(0.12, 0.88, 20), 1e-6
    before, at, after = (motion_at(tape, t + k * h) for k in (-1, 0, 1))
    np.testing.assert_allclose(at[1], (after[0] - before[0]) / (2 * h), rtol=0, atol=1e-8)
    np.testing.assert_allclose(at[2], (after[1] - before[1]) / (2 * h), rtol=0, atol=1e-6)
    np.testing.assert_allclose(RISES[name](t), at[0][:, 0], rtol=0, atol=1e-14)


def test_sequence_dwells_between_profiles() -> None:
    rise, back = lw.profiles.polynomial_345(0, 1, 1.0), lw.profiles.polynomial_345(1, 0, 0.5, begin=2.0)
    both = lw.profiles.sequence(rise, back)
    t = np.linspace(-0.5, 3, 36)
    exact = np.where(t < 1, rise(t), np.where(t < 2, 1.0, back(t)))
    np.testing.assert_allclose(both(t), exact, rtol=0, atol=1e-15)


def test_peaks_of_the_laws_of_cams_are_those_of_the_handbook() -> None:
    """Norton, Table 3-2: factors of velocity and acceleration of 3-4-5, cycloidal and modified sine."""
    t = np.linspace(0, 1, 4001)
    for name, peak, sharp in (
        ("polynomial_345", 1.875, 5.7735),
        ("cycloidal", 2.0, 2 * np.pi),
        ("modified_sine", 1.7596, 5.5280),
    ):
        _, rate, second = motion_at(motion_tape(getattr(lw.profiles, name)(0, 1, 1), name), t)
        np.testing.assert_allclose([np.abs(rate).max(), np.abs(second).max()], [peak, sharp], rtol=2e-5)


def test_a_periodic_law_repeats_and_keeps_what_it_gains() -> None:
    rise, back = lw.profiles.modified_sine(0, 0.3, 1.0, begin=0.5), lw.profiles.cycloidal(0.3, 0.1, 1.0, begin=3.0)
    law, t = lw.profiles.periodic(lw.profiles.sequence(rise, back), 5.0, begin=0.2), np.linspace(0.3, 5.1, 50)
    for turns in (-2, 0, 3):
        np.testing.assert_allclose(law(t + 5.0 * turns), law(t) + 0.1 * turns, rtol=0, atol=1e-14)
    tape = motion_tape(law, "law")
    np.testing.assert_allclose(motion_at(tape, t + 10.0)[0][:, 0], law(t + 10.0), rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: lw.profiles.table([0, 0, 1], [1, 2, 3]), "x increasing"),
        (lambda: lw.profiles.trapezoid(0, 1, 1, ramp=0.7), "<= 1/2"),
        (lambda: lw.profiles.cycloidal(0, 1, 0), "duration above 0"),
        (lambda: lw.Drive("crank", "fast"), "needs a function of time"),
        (lambda: lw.Drive("crank", lambda t: 1.0 if t < 1 else 2.0), "branches"),
        (lambda: lw.constraints.FrameDrive("tip", lambda t: (t, t)), "x, y and z"),
    ],
)
def test_bad_motions_are_refused_in_words(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(ModelError, match=words):
        make()
