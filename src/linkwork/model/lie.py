# SPDX-License-Identifier: BSD-3-Clause
"""Lie groups of joint configurations: vector spaces, SO(3), SE(2), SE(3).

`integrate(q, v)` is ``q exp(v)``: the constant body velocity ``v`` for one second. `difference(q, p)` is
``log(q⁻¹ p)``: the velocity that leads from ``q`` to ``p`` along the shortest rotation. Leading axes are batch
axes. Quaternions are ``x y z w``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from linkwork.model.arrays import Floats
from linkwork.model.rotations import cross, quaternion_conjugate, quaternion_product, quaternion_rotate, unit


@dataclass(frozen=True)
class Group:
    """Operations of one group."""

    integrate: Callable[[Floats, Floats], Floats]
    difference: Callable[[Floats, Floats], Floats]
    random: Callable[[np.random.Generator, Floats, Floats, float, tuple[int, ...]], Floats]
    """Configurations from a generator, limits of q, half the width without them, and batch axes."""


def _versine(t: Floats) -> Floats:
    """(1 - cos t) / t²."""
    return 0.5 * np.sinc(t / (2 * np.pi)) ** 2


def _sine_rest(t: Floats) -> Floats:
    """(t - sin t) / t³."""
    s = t * t
    series = 1 / 6 - s / 120 * (1 - s / 42 * (1 - s / 72 * (1 - s / 110 * (1 - s / 156))))
    safe = np.where(t < 0.5, 1.0, t)
    return np.where(t < 0.5, series, (safe - np.sin(safe)) / safe**3)


def _half_cotangent(t: Floats) -> Floats:
    """(t / 2) cot(t / 2)."""
    return np.cos(t / 2) / np.sinc(t / (2 * np.pi))


def _cotangent_rest(t: Floats) -> Floats:
    """(1 - (t / 2) cot(t / 2)) / t²."""
    s = t * t
    series = 1 / 12 + s * (1 / 720 + s * (1 / 30240 + s * (1 / 1209600 + s * (1 / 47900160 + s / 1893127680))))
    safe = np.where(t < 0.5, 1.0, t)
    return np.where(t < 0.5, series, (1 - _half_cotangent(safe)) / safe**2)


def _so3_exp(w: Floats) -> Floats:
    half = np.linalg.norm(w, axis=-1, keepdims=True) / 2
    return np.concatenate([w * np.sinc(half / np.pi) / 2, np.cos(half)], axis=-1)


def _so3_log(q: Floats) -> Floats:
    q = np.where(q[..., 3:] < 0, -q, q)  # the shorter rotation
    sine = np.linalg.norm(q[..., :3], axis=-1, keepdims=True)
    angle = 2 * np.arctan2(sine, q[..., 3:])
    small = sine < 1e-9
    return q[..., :3] * np.where(small, 2 / np.where(small, q[..., 3:], 1.0), angle / np.where(small, 1.0, sine))


def _so3_integrate(q: Floats, v: Floats) -> Floats:
    return unit(quaternion_product(unit(q), _so3_exp(v)))


def _so3_difference(q: Floats, p: Floats) -> Floats:
    return _so3_log(quaternion_product(quaternion_conjugate(unit(q)), unit(p)))


def _se3_integrate(q: Floats, v: Floats) -> Floats:
    x, turn = q[..., :3], unit(q[..., 3:])
    u, w = v[..., :3], v[..., 3:]
    t = np.linalg.norm(w, axis=-1, keepdims=True)
    wu = cross(w, u)
    step = u + _versine(t) * wu + _sine_rest(t) * cross(w, wu)
    return np.concatenate([x + quaternion_rotate(turn, step), _so3_integrate(turn, w)], axis=-1)


def _se3_difference(q: Floats, p: Floats) -> Floats:
    turn = unit(q[..., 3:])
    w = _so3_difference(turn, p[..., 3:])
    step = quaternion_rotate(quaternion_conjugate(turn), p[..., :3] - q[..., :3])
    t = np.linalg.norm(w, axis=-1, keepdims=True)
    ws = cross(w, step)
    return np.concatenate([step - ws / 2 + _cotangent_rest(t) * cross(w, ws), w], axis=-1)


def _turn(c: Floats, s: Floats, x: Floats) -> Floats:
    return np.concatenate([c * x[..., :1] - s * x[..., 1:], s * x[..., :1] + c * x[..., 1:]], axis=-1)


def _se2_integrate(q: Floats, v: Floats) -> Floats:
    direction = unit(q[..., 2:])
    c, s = direction[..., :1], direction[..., 1:]
    t = v[..., 2:]
    step = _turn(np.sinc(t / np.pi), t * _versine(t), v[..., :2])
    return np.concatenate([q[..., :2] + _turn(c, s, step), unit(_turn(np.cos(t), np.sin(t), direction))], axis=-1)


def _se2_difference(q: Floats, p: Floats) -> Floats:
    direction = unit(q[..., 2:])
    c, s = direction[..., :1], direction[..., 1:]
    relative = _turn(c, -s, unit(p[..., 2:]))
    t = np.arctan2(relative[..., 1:], relative[..., :1])
    step = _turn(c, -s, p[..., :2] - q[..., :2])
    return np.concatenate([_turn(_half_cotangent(np.abs(t)), -t / 2, step), t], axis=-1)


def _bounded(rng: np.random.Generator, lower: Floats, upper: Floats, width: float, size: tuple[int, ...]) -> Floats:
    """Uniform between the limits; ``width`` either side of zero, or of the one limit, where there is none."""
    low = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper - 2 * width, -width))
    high = np.where(np.isfinite(upper), upper, np.where(np.isfinite(lower), lower + 2 * width, width))
    return rng.uniform(low + 0.0, high + 0.0, (*size, len(lower)))  # NumPy takes 0 to -0 for a range that is empty


def _random_turn(rng: np.random.Generator, size: tuple[int, ...]) -> Floats:
    return unit(rng.normal(size=size))


def _random_place(
    rng: np.random.Generator, lower: Floats, upper: Floats, width: float, size: tuple[int, ...]
) -> Floats:
    """A position within its limits, in the plane or in space, and any rotation."""
    n = len(lower) // 2  # x y and cos sin, or x y z and a quaternion
    position = _bounded(rng, lower[:n], upper[:n], width, size)
    return np.concatenate([position, _random_turn(rng, (*size, len(lower) - n))], axis=-1)


VECTOR = Group(
    integrate=lambda q, v: q + v,
    difference=lambda q, p: p - q,
    random=_bounded,
)
SO3 = Group(_so3_integrate, _so3_difference, lambda rng, lower, upper, width, size: _random_turn(rng, (*size, 4)))
SE2 = Group(_se2_integrate, _se2_difference, _random_place)
SE3 = Group(_se3_integrate, _se3_difference, _random_place)
