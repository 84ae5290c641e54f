# SPDX-License-Identifier: BSD-3-Clause
"""Andrews' squeezer at 0.03 s in 80-bit numbers: what the digits of the published solution are worth.

The equations are those of the DAE test set of Bari (Hairer, Wanner, section VII.7), independent of linkwork: mass
matrix, forces, constraint Jacobian and its rate in closed form, with index one; Dormand and Prince's method of eighth
order with two steps. Needs a processor whose `numpy.longdouble` has 64 bits of mantissa.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate._ivp import dop853_coefficients

L = np.longdouble


def lu_solve(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Gauss elimination with pivots, which NumPy has for 64-bit numbers alone."""
    A = A.copy()
    b = b.copy()
    n = len(b)
    for k in range(n):
        p = k + int(np.abs(A[k:, k]).argmax())
        if p != k:
            A[[k, p]] = A[[p, k]]
            b[[k, p]] = b[[p, k]]
        f = A[k + 1 :, k] / A[k, k]
        A[k + 1 :, k:] -= f[:, None] * A[k, k:]
        b[k + 1 :] -= f * b[k]
    for k in range(n - 1, -1, -1):
        b[k] = (b[k] - A[k, k + 1 :] @ b[k + 1 :]) / A[k, k]
    return b


def numbers(text: str) -> list[np.longdouble]:
    """Decimal numbers, all of their digits."""
    return [L(x) for x in text.split()]


m1, m2, m3, m4, m5, m6, m7 = numbers(".04325 .00365 .02373 .00706 .07050 .00706 .05498")
i1, i2, i3, i4, i5, i6, i7 = numbers("2.194e-6 4.410e-7 5.255e-6 5.667e-7 1.169e-5 5.667e-7 1.912e-5")
xa, ya, xb, yb, xc, yc = numbers("-.06934 -.00227 -.03635 .03273 .014 .072")
d, da, e, ea, zf, fa, rr, ra, ss, sa, sb, sc, sd = numbers(
    "28e-3 115e-4 2e-2 1421e-5 2e-2 1421e-5 7e-3 92e-5 35e-3 1874e-5 1043e-5 18e-3 2e-2"
)
ta, tb, u, ua, ub, zt, c0, lo, mom = numbers("2308e-5 916e-5 4e-2 1228e-5 449e-5 4e-2 4530 0.07785 .033")


def rates(y: np.ndarray) -> np.ndarray:
    """Rates of the seven angles and of their velocities."""
    q = y[:7]
    v = y[7:]
    be, th, ga, ph, de, om, ep = q
    bp, thp, gp, pp, dp, op, epp = v
    s, c = np.sin, np.cos
    M = np.zeros((7, 7), L)
    M[0, 0] = m1 * ra**2 + m2 * (rr**2 - 2 * da * rr * c(th) + da**2) + i1 + i2
    M[1, 0] = M[0, 1] = m2 * (da**2 - da * rr * c(th)) + i2
    M[1, 1] = m2 * da**2 + i2
    M[2, 2] = m3 * (sa**2 + sb**2) + i3
    M[3, 3] = m4 * (e - ea) ** 2 + i4
    M[4, 3] = M[3, 4] = m4 * ((e - ea) ** 2 + zt * (e - ea) * s(ph)) + i4
    M[4, 4] = m4 * (zt**2 + 2 * zt * (e - ea) * s(ph) + (e - ea) ** 2) + m5 * (ta**2 + tb**2) + i4 + i5
    M[5, 5] = m6 * (zf - fa) ** 2 + i6
    M[6, 5] = M[5, 6] = m6 * ((zf - fa) ** 2 - u * (zf - fa) * s(om)) + i6
    M[6, 6] = m6 * ((zf - fa) ** 2 - 2 * u * (zf - fa) * s(om) + u**2) + m7 * (ua**2 + ub**2) + i6 + i7
    xd = sd * c(ga) + sc * s(ga) + xb
    yd = sd * s(ga) - sc * c(ga) + yb
    lang = np.sqrt((xd - xc) ** 2 + (yd - yc) ** 2)
    force = -c0 * (lang - lo) / lang
    fx = force * (xd - xc)
    fy = force * (yd - yc)
    f = np.array(
        [
            mom - m2 * da * rr * thp * (thp + 2 * bp) * s(th),
            m2 * da * rr * bp**2 * s(th),
            fx * (sc * c(ga) - sd * s(ga)) + fy * (sd * c(ga) + sc * s(ga)),
            m4 * zt * (e - ea) * dp**2 * c(ph),
            -m4 * zt * (e - ea) * pp * (pp + 2 * dp) * c(ph),
            -m6 * u * (zf - fa) * epp**2 * c(om),
            m6 * u * (zf - fa) * op * (op + 2 * epp) * c(om),
        ],
        L,
    )
    G = np.zeros((6, 7), L)
    G[0, 0] = -rr * s(be) + d * s(be + th)
    G[0, 1] = d * s(be + th)
    G[0, 2] = -ss * c(ga)
    G[1, 0] = rr * c(be) - d * c(be + th)
    G[1, 1] = -d * c(be + th)
    G[1, 2] = -ss * s(ga)
    G[2, 0] = -rr * s(be) + d * s(be + th)
    G[2, 1] = d * s(be + th)
    G[2, 3] = -e * c(ph + de)
    G[2, 4] = -e * c(ph + de) + zt * s(de)
    G[3, 0] = rr * c(be) - d * c(be + th)
    G[3, 1] = -d * c(be + th)
    G[3, 3] = -e * s(ph + de)
    G[3, 4] = -e * s(ph + de) - zt * c(de)
    G[4, 0] = -rr * s(be) + d * s(be + th)
    G[4, 1] = d * s(be + th)
    G[4, 5] = zf * s(om + ep)
    G[4, 6] = zf * s(om + ep) - u * c(ep)
    G[5, 0] = rr * c(be) - d * c(be + th)
    G[5, 1] = -d * c(be + th)
    G[5, 5] = -zf * c(om + ep)
    G[5, 6] = -zf * c(om + ep) - u * s(ep)
    bt = bp + thp
    pd = pp + dp
    oe = op + epp
    g = np.array(
        [
            -rr * c(be) * bp**2 + d * c(be + th) * bt**2 + ss * s(ga) * gp**2,
            -rr * s(be) * bp**2 + d * s(be + th) * bt**2 - ss * c(ga) * gp**2,
            -rr * c(be) * bp**2 + d * c(be + th) * bt**2 + e * s(ph + de) * pd**2 + zt * c(de) * dp**2,
            -rr * s(be) * bp**2 + d * s(be + th) * bt**2 - e * c(ph + de) * pd**2 + zt * s(de) * dp**2,
            -rr * c(be) * bp**2 + d * c(be + th) * bt**2 + zf * c(om + ep) * oe**2 + u * s(ep) * epp**2,
            -rr * s(be) * bp**2 + d * s(be + th) * bt**2 + zf * s(om + ep) * oe**2 - u * c(ep) * epp**2,
        ],
        L,
    )
    K = np.zeros((13, 13), L)
    K[:7, :7] = M
    K[:7, 7:] = G.T
    K[7:, :7] = G
    x = lu_solve(K, np.concatenate([f, -g]))
    return np.concatenate([v, x[:7]])


PUBLISHED = (
    15.81077119629904,
    -15.75637105984298,
    0.04082224013073101,
    -0.5347301163226948,
    0.5244099658805304,
    0.5347301163226948,
    1.048080741042263,
)
START = (
    "-0.0617138900142764496358948458001",
    "0",
    "0.455279819163070380255912382449",
    "0.222668390165885884674473185609",
    "0.487364979543842550225598953530",
    "-0.222668390165885884674473185609",
    "1.23054744454982119249735015568",
)


def angles(steps: int) -> np.ndarray:
    """The angles at 0.03 s by so many steps."""
    A, B = dop853_coefficients.A[:12, :12].astype(L), dop853_coefficients.B.astype(L)
    y, h = np.concatenate([np.array([L(x) for x in START]), np.zeros(7, L)]), L("0.03") / steps
    for _ in range(steps):
        K = np.zeros((12, 14), L)
        for i in range(12):
            K[i] = rates(y + h * (A[i, :i] @ K[:i]))
        y = y + h * (B @ K)
    return y[:7]


if __name__ == "__main__":
    coarse, fine = angles(1000), angles(2000)
    print("angles", [f"{x:.17g}" for x in fine.astype(float)])
    print("difference of the two steps", np.abs(fine - coarse).max())
    print("minus published", (fine - np.array(PUBLISHED)).astype(float))
