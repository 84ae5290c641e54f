# SPDX-License-Identifier: BSD-3-Clause
"""Free bodies that turn fast: their angular momentum is turned in place of being changed by its rate.

In axes of the body the angular momentum about the center of mass is ``L = I_c w``, and ``L' = -w x L`` without moments.
Taken at the start of a step, as everything that depends on velocities, ``-h w x L`` makes it longer in each step: spins
by large angles a step grow without bound. Turned by ``exp(-h w)`` its length stays, which bounds the spin by
``|L| / I_min``. Bodies that turn by less than `LEAST_TURN` in a step have the rate.
"""

from __future__ import annotations

from linkwork.kernels.elementary import maximum
from linkwork.kernels.joints import axis_of
from linkwork.kernels.scalar import Array, Scalar, kernel, sincos, sqrt, where
from linkwork.kernels.spatial import add, cross, dot, scale, sub, symmetric_product
from linkwork.kernels.thresholds import LEAST_DENOMINATOR
from linkwork.model.joints import FREE

LEAST_TURN = 0.3
"""In radians a step: the rate makes the momentum longer by 4 % then."""


@kernel
def turn_momenta(tree: Array, w: Array, h: Scalar) -> None:
    """Put the turn of the angular momentum in place of its rate in ``momentum``, for free bodies that turn fast."""
    for k in range(tree.nfree):
        i = tree.free_body[k]
        x = w.omega[i]
        rate = sqrt(dot(x, x))
        # I_c w = I w - m c x (w x c)
        c = scale(1.0 / tree.mass[i], tree.mc[i])
        L = sub(symmetric_product(tree.I[i], x), cross(tree.mc[i], cross(x, c)))
        sine, cosine = sincos(h * rate)
        n = scale(1.0 / maximum(rate, LEAST_DENOMINATOR), x)
        across = cross(n, L)
        turned = sub(scale(1.0 - cosine, cross(n, across)), scale(sine, across))
        change = add(turned, scale(h * rate, across))
        fast = where(LEAST_TURN, h * rate, 1.0, 0.0)
        for d in range(6):
            axis = axis_of(FREE, d)
            if axis < 3:
                w.momentum[tree.iv[i] + d] += fast * change[axis]
